#pragma once

// Fuzz targets: each feeds one input to a reader of files from outside. An input is read or refused
// with the documented error; everything else ends the program: another exception, a broken law of
// what was read, and what the sanitizers find.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <vector>

namespace tendril::fuzz {

/// A target, known by being defined: `const Target mesh{"mesh", ".obj .stl", read_mesh};`.
class Target {
 public:
  using Read = void (*)(std::string_view input);
  /// @param endings  of the files that it reads, separated by blanks
  Target(std::string_view title, std::string_view endings, Read reader)
      : name(title), extensions(endings), read(reader) {
    all().push_back(this);
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  /// Returns the targets of this program.
  static std::vector<const Target*>& all() {
    static std::vector<const Target*> targets;
    return targets;
  }
  /// Returns null if there is none of this name.
  static const Target* find(std::string_view name) {
    for (const Target* target : all())
      if (target->name == name) return target;
    return nullptr;
  }

  const std::string_view name, extensions;
  const Read read;
};

/// Ends the program if a law does not hold.
inline void require(bool holds, const char* law) {
  if (holds) return;
  std::fprintf(stderr, "broken law: %s\n", law);
  std::abort();
}

/// Calls `read`; an error of one of these types is a refusal.
template <class... Errors, class Read>
void read_or_refuse(Read&& read) {
  try {
    read();
  } catch (const std::exception& error) {
    if ((... || (dynamic_cast<const Errors*>(&error) != nullptr))) return;
    std::fprintf(stderr, "unexpected error: %s\n", error.what());
    std::abort();
  }
}

}  // namespace tendril::fuzz
