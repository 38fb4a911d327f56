#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace tendril::simulation {

/// Name of the file that lists what runs and their reports have written into a folder of results.
inline constexpr const char* kManifest = ".tendril-results";

/// Returns the names that the manifest of a folder lists; none without one.
[[nodiscard]] std::set<std::string> manifest_of(const std::filesystem::path& folder);

/// Notes that a file of this name is about to be written. Throws OutputError.
void add_to_manifest(const std::filesystem::path& folder, const std::string& name);

}  // namespace tendril::simulation
