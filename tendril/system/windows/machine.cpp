#include "tendril/system/machine.hpp"

#include <iterator>

#include "tendril/system/windows/windows.hpp"

namespace tendril::system {
namespace {

constexpr const char* kVersion = "SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion";
constexpr const char* kProcessor = "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0";

/// A text of the registry; empty if there is none.
std::string registered(const char* key, const char* value) {
  char text[256] = "";
  DWORD size = sizeof text;
  const LSTATUS status =
      RegGetValueA(HKEY_LOCAL_MACHINE, key, value, RRF_RT_REG_SZ, nullptr, text, &size);
  return status == ERROR_SUCCESS ? text : "";
}

}  // namespace

Machine this_machine() {
  char host[256] = "";
  DWORD size = sizeof host;
  GetComputerNameExA(ComputerNameDnsHostname, host, &size);
  return {.host = host,
          .system = "Windows " + registered(kVersion, "CurrentBuildNumber") + " x86_64",
          .processor = registered(kProcessor, "ProcessorNameString")};
}

std::optional<std::array<double, 3>> load_average() noexcept { return std::nullopt; }

}  // namespace tendril::system
