#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tendril {

/// A character of a text, or a byte that is not part of one.
struct TextPiece {
  std::size_t size = 1;   ///< bytes
  char32_t code = 0;      ///< of Unicode; of an invalid byte the byte
  bool is_valid = false;  ///< whether it is UTF-8
};

/// Returns the first character of a text that is not empty.
[[nodiscard]] TextPiece first_piece(std::string_view text) noexcept;

/// Tells whether a terminal does something else with a character than show it: control characters
/// but line breaks and tabs, those that turn the direction of text or have no width, line and
/// paragraph separators, bytes that are no text.
[[nodiscard]] bool is_hidden(const TextPiece& piece) noexcept;

/// Writes a hidden character as `\u001b`, an invalid byte as `\xff`, into `out`, which has room for
/// kLongestEscape characters. Returns the size.
inline constexpr std::size_t kLongestEscape = 11;
std::size_t write_escape(const TextPiece& piece, char* out) noexcept;

/// Calls write(std::string_view) with the parts of a text in which hidden characters are escaped.
/// Does not allocate.
template <class Write>
void write_visible(std::string_view text, Write&& write) {
  std::size_t shown = 0;  // bytes before `at` that are not yet written
  for (std::size_t at = 0; at < text.size();) {
    const TextPiece piece = first_piece(text.substr(at));
    if (is_hidden(piece)) {
      write(text.substr(at - shown, shown));
      char escape[kLongestEscape];
      write(std::string_view(escape, write_escape(piece, escape)));
      shown = 0;
    } else {
      shown += piece.size;
    }
    at += piece.size;
  }
  write(text.substr(text.size() - shown));
}

/// Returns the text with escapes for hidden characters.
[[nodiscard]] std::string visible(std::string_view text);

}  // namespace tendril
