#include "tendril/system/machine.hpp"

#include <sys/utsname.h>
#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace tendril::system {
namespace {

std::string processor() {
#if defined(__APPLE__)
  char name[256] = "";
  std::size_t size = sizeof name - 1;
  return sysctlbyname("machdep.cpu.brand_string", name, &size, nullptr, 0) == 0 ? name : "";
#else
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("model name"))
      return line.substr(std::min(line.size(), line.find(':') + 2));
  }
  return {};
#endif
}

}  // namespace

Machine this_machine() {
  utsname found{};
  uname(&found);
  return {.host = found.nodename,
          .system = std::string(found.sysname) + " " + found.release + " " + found.machine,
          .processor = processor()};
}

std::optional<std::array<double, 3>> load_average() noexcept {
  std::array<double, 3> load{};
  if (getloadavg(load.data(), 3) != 3) return std::nullopt;
  return load;
}

}  // namespace tendril::system
