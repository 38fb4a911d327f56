#pragma once

#include <filesystem>
#include <string>

namespace tendril {

/// Returns the extension of a file in lower case: ".toml", also of `ARM.TOML`.
[[nodiscard]] inline std::string extension_of(const std::filesystem::path& file) {
  std::string extension = file.extension().string();
  for (char& c : extension)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return extension;
}

}  // namespace tendril
