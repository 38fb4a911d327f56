#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace tendril::simulation {

/// Name of the file that lists what runs, their reports and `tendril generate` have written into a
/// folder: a line per file, its name before it is written, and size and fingerprint once it is.
inline constexpr const char* kManifest = ".tendril-results";

/// Returns the names that the manifest of a folder lists and whose files are as they were written;
/// none without one.
[[nodiscard]] std::set<std::string> manifest_of(const std::filesystem::path& folder);

/// Notes that a file of this name is about to be written. Throws OutputError.
void add_to_manifest(const std::filesystem::path& folder, const std::string& name);

/// Notes that the files of the manifest are written, and forgets those that are not there. Throws
/// OutputError.
void seal_manifest(const std::filesystem::path& folder);

/// Throws ModelError for a file of one of these names that the manifest of the folder does not
/// list.
void require_own(const std::filesystem::path& folder, const std::vector<std::string>& names);

}  // namespace tendril::simulation
