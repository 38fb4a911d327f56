#include "simulation/files/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>

#include "simulation/files/output_error.hpp"
#include "tendril/model_error.hpp"

namespace tendril::simulation {
namespace {

namespace fs = std::filesystem;

/// Size, and a hash (FNV-1a) of the first and the last bytes: a recording may be large. Empty if
/// there is no such file.
std::string fingerprint_of(const fs::path& file) {
  constexpr std::uintmax_t kPart = 1 << 16;  // bytes
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  std::ifstream in(file, std::ios::binary);
  if (error || !in) return {};
  std::uint64_t hash = 0xcbf29ce484222325;
  std::array<char, kPart> bytes{};
  for (const std::uintmax_t begin : {std::uintmax_t{0}, size - std::min(size, kPart)}) {
    in.clear();
    in.seekg(static_cast<std::streamoff>(begin));
    in.read(bytes.data(), bytes.size());
    for (std::streamsize i = 0; i < in.gcount(); ++i)
      hash =
          (hash ^ static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)])) * 0x100000001b3;
  }
  return fmt::format("{} {:016x}", size, hash);
}

/// Fingerprint by name; empty if the file was not written to its end.
std::map<std::string, std::string> entries_of(const fs::path& folder) {
  std::map<std::string, std::string> entries;
  std::ifstream manifest(folder / kManifest);
  for (std::string line; std::getline(manifest, line);) {
    const std::size_t end = std::min(line.find('\t'), line.size());
    const std::string name = line.substr(0, end);
    const bool is_plain = name.find('/') == name.npos && name != "." && name != "..";
    if (!name.empty() && is_plain)
      entries[name] = end < line.size() ? line.substr(end + 1) : std::string();
  }
  return entries;
}

void write(const fs::path& folder, const std::string& text, std::ios::openmode mode) {
  std::ofstream manifest(folder / kManifest, mode);
  manifest << text << std::flush;
  if (!manifest)
    throw OutputError(fmt::format("{}: {}: could not be written", (folder / kManifest).string(),
                                  std::strerror(errno)));
}

}  // namespace

std::set<std::string> manifest_of(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& [name, fingerprint] : entries_of(folder)) {
    if (fingerprint.empty() || fingerprint == fingerprint_of(folder / name)) names.insert(name);
  }
  return names;
}

void add_to_manifest(const fs::path& folder, const std::string& name) {
  write(folder, name + '\n', std::ios::app);
}

void seal_manifest(const fs::path& folder) {
  std::string text;
  for (const auto& [name, fingerprint] : entries_of(folder)) {
    const std::string now = fingerprint.empty() ? fingerprint_of(folder / name) : fingerprint;
    if (!now.empty()) text += name + '\t' + now + '\n';
  }
  write(folder, text, std::ios::trunc);
}

void require_own(const fs::path& folder, const std::vector<std::string>& names) {
  const std::set<std::string> own = manifest_of(folder);
  std::error_code ignored;
  for (const std::string& name : names) {
    if (own.contains(name) || !fs::exists(folder / name, ignored)) continue;
    throw ModelError(fmt::format(
        "{}: is not what an earlier run has written: choose another folder with --out, or move it",
        (folder / name).string()));
  }
}

}  // namespace tendril::simulation
