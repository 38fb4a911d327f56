#pragma once

#include <fmt/format.h>
#include <mujoco/mujoco.h>

#include <string>

#include "tendril/model_error.hpp"

namespace tendril::simulation {

/// Files in memory that the engine reads instead of files on disk.
class VirtualFiles {
 public:
  VirtualFiles() { mj_defaultVFS(&vfs_); }
  ~VirtualFiles() { mj_deleteVFS(&vfs_); }
  VirtualFiles(const VirtualFiles&) = delete;
  VirtualFiles& operator=(const VirtualFiles&) = delete;

  /// Sets the text of a file, replacing an earlier one of that name. Throws ModelError.
  void set(const std::string& name, const std::string& text) {
    (void)mj_deleteFileVFS(&vfs_, name.c_str());
    if (mj_addBufferVFS(&vfs_, name.c_str(), text.data(), static_cast<int>(text.size())) != 0) {
      throw ModelError(fmt::format("{}: could not be handed to the engine", name));
    }
  }
  [[nodiscard]] const mjVFS* get() const noexcept { return &vfs_; }

 private:
  mjVFS vfs_;
};

}  // namespace tendril::simulation
