#pragma once

// Fuzz targets: each feeds one input to a reader of files from outside. An input is read or refused
// with the documented error; everything else ends the program: another exception, a broken law of
// what was read, and what the sanitizers find.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

namespace tendril::fuzz {

void robot(std::string_view input);
void snake(std::string_view input);
void mobile(std::string_view input);
void tube(std::string_view input);
void experiment(std::string_view input);
void plan(std::string_view input);
void path_plan(std::string_view input);
void contact_plan(std::string_view input);
void csv(std::string_view input);
void pose_path(std::string_view input);
void mesh(std::string_view input);
void overrides(std::string_view input);  ///< one `--set` a line
void recording(std::string_view input);

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
