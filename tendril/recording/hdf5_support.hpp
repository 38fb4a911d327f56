#pragma once

// Read first: rollout_file.hpp.

#include <hdf5.h>

#include <filesystem>
#include <mutex>
#include <string>
#include <utility>

#include "tendril/recording/rollout_file.hpp"

namespace tendril::hdf5 {

/// Exclusive use of the HDF5 library, with its own error printing switched off. HDF5 is thread-safe
/// in some builds only, so every call of this process is made under one mutex.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  std::lock_guard<std::mutex> lock_;
  H5E_auto2_t printer_ = nullptr;
  void* printer_data_ = nullptr;
};

/// Throws RolloutError `file: what: reason`, with the reason of the innermost HDF5 error (such as
/// "No space left on device"). To be called right after the call that failed.
[[noreturn]] void fail(const std::filesystem::path& file, const std::string& what);

/// The same for a file that is read: RolloutDamageError, unless the operating system gave the
/// reason.
[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what);

/// Owner of an HDF5 identifier of any kind. Destroyed within a Session.
class Handle {
 public:
  Handle() = default;
  explicit Handle(hid_t id) : id_(id) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Handle() { reset(); }

  void reset() {
    if (id_ > 0) H5Idec_ref(id_);
    id_ = H5I_INVALID_HID;
  }
  /// Negative if closing fails, as it can when something is written then.
  [[nodiscard]] herr_t close() { return H5Idec_ref(std::exchange(id_, H5I_INVALID_HID)); }
  /// Gives the identifier up without closing it.
  void abandon() { id_ = H5I_INVALID_HID; }
  [[nodiscard]] bool valid() const { return id_ >= 0; }
  operator hid_t() const { return id_; }  // NOLINT: reads as the identifier it is

 private:
  hid_t id_ = H5I_INVALID_HID;
};

}  // namespace tendril::hdf5
