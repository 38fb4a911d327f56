#pragma once

#include <array>
#include <optional>
#include <string>

namespace tendril::system {

/// This computer. A text is empty where the system does not tell.
struct Machine {
  std::string host;
  std::string system;     ///< name, release and architecture of the operating system
  std::string processor;  ///< as `Intel(R) Core(TM) i7-9700 CPU @ 3.00GHz`
};
[[nodiscard]] Machine this_machine();

/// Processes that ran or were ready to, averaged over 1, 5 and 15 minutes.
[[nodiscard]] std::optional<std::array<double, 3>> load_average() noexcept;

}  // namespace tendril::system
