#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "tendril/notice.hpp"

namespace tendril {

// All that the program prints goes through these functions: names and texts of files and
// recordings must not be able to move the cursor, set the title of a window, or turn the direction
// of what follows (tendril/visible_text.hpp). Colors are of `print_colored` alone.

/// Prints text with escapes for hidden characters to stdout or stderr.
void write_shown(std::FILE* stream, std::string_view text);

/// Prints to stdout, as fmt::print.
template <class... Arguments>
void say(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_shown(stdout, fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// Prints a word of the program to stdout, on a terminal in a color, such as "32".
void print_colored(const char* color, const std::string& word);

/// Prints `tendril: <text>` as one line on stderr.
void complain(std::string_view text);

/// Prints `tendril: notice: <text> [code]` as one line on stderr.
void notice(NoticeCode code, std::string_view text);
/// The same of a text that `notice_text` has made.
void print_notice(std::string_view text);

/// Prints text for people to stdout. Throws OutputError unless all of it is written: a full disk
/// must not be reported as success.
void print_text(std::string_view text);

/// Prints text for other programs to stdout: unchanged, but on a terminal with escapes. Throws like
/// print_text.
void print_data(std::string_view text);

}  // namespace tendril
