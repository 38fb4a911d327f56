#include "tendril/recording/hdf5_support.hpp"

#include <cctype>
#include <string_view>

namespace tendril::hdf5 {
namespace {

std::mutex& library_mutex() {
  static std::mutex mutex;
  return mutex;
}

struct Reason {
  std::string innermost;  // what HDF5 says
  std::string system;     // what the operating system says, when it was asked
};

herr_t collect(unsigned position, const H5E_error2_t* error, void* client) {
  auto& reason = *static_cast<Reason*>(client);
  const std::string_view text = error->desc != nullptr ? error->desc : "";
  if (position == 0) reason.innermost = text;
  constexpr std::string_view kMark = "error message = '";
  const std::size_t start = text.find(kMark);
  if (start != std::string_view::npos) {
    const std::string_view rest = text.substr(start + kMark.size());
    reason.system = rest.substr(0, rest.find('\''));
  }
  return 0;
}

Reason innermost_reason() {
  Reason reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect, &reason);
  return reason;
}

std::string one_line(const std::filesystem::path& file, const std::string& what,
                     const Reason& reason) {
  const std::string& text = reason.system.empty() ? reason.innermost : reason.system;
  std::string message = file.string() + ": " + what + (text.empty() ? "" : ": " + text);
  for (char& c : message)
    if (std::iscntrl(static_cast<unsigned char>(c)) != 0) c = ' ';
  return message;
}

}  // namespace

Session::Session() : lock_(library_mutex()) {
  // A file given up after a failed write remains open; HDF5 would try it again at exit, and
  // complain.
  static const herr_t no_exit_handler = H5dont_atexit();
  static_cast<void>(no_exit_handler);
  H5Eget_auto2(H5E_DEFAULT, &printer_, &printer_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Session::~Session() { H5Eset_auto2(H5E_DEFAULT, printer_, printer_data_); }

void fail(const std::filesystem::path& file, const std::string& what) {
  throw RolloutError(one_line(file, what, innermost_reason()));
}

void refuse(const std::filesystem::path& file, const std::string& what) {
  const Reason reason = innermost_reason();
  if (!reason.system.empty()) throw RolloutError(one_line(file, what, reason));
  throw RolloutDamageError(one_line(file, what, reason));
}

}  // namespace tendril::hdf5
