#include "simulation/files/manifest.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "simulation/files/output_error.hpp"

namespace tendril::simulation {

std::set<std::string> manifest_of(const std::filesystem::path& folder) {
  std::set<std::string> names;
  std::ifstream manifest(folder / kManifest);
  for (std::string name; std::getline(manifest, name);) {
    const bool is_plain = name.find('/') == name.npos && name != "." && name != "..";
    if (!name.empty() && is_plain) names.insert(name);
  }
  return names;
}

void add_to_manifest(const std::filesystem::path& folder, const std::string& name) {
  if (manifest_of(folder).contains(name)) return;
  std::ofstream manifest(folder / kManifest, std::ios::app);
  manifest << name << '\n' << std::flush;
  if (!manifest)
    throw OutputError(fmt::format("{}: {}: could not be written", (folder / kManifest).string(),
                                  std::strerror(errno)));
}

}  // namespace tendril::simulation
