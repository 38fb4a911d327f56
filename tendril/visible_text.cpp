#include "tendril/visible_text.hpp"

#include <algorithm>
#include <iterator>

namespace tendril {
namespace {

struct CodeRange {
  char32_t first, last;
};

// Besides those below U+0020, of which line break and tab are shown.
constexpr CodeRange kHidden[] = {
    {0x7f, 0x9f},        // delete, C1 controls
    {0xad, 0xad},        // soft hyphen
    {0x61c, 0x61c},      // Arabic letter mark
    {0x180e, 0x180e},    // Mongolian vowel separator
    {0x200b, 0x200f},    // without width; direction marks
    {0x2028, 0x202e},    // separators; embeddings and overrides of direction
    {0x2060, 0x206f},    // without width; isolates of direction
    {0xfeff, 0xfeff},    // byte order mark
    {0xfff9, 0xfffb},    // annotations
    {0xe0000, 0xe007f},  // tags
};

bool is_continuation(char c) noexcept { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

TextPiece first_piece(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text.front());
  const TextPiece invalid{.code = lead};
  if (lead < 0x80) return {.code = lead, .is_valid = true};
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return invalid;
  char32_t code = lead & (0x7fu >> size);
  for (const char c : text.substr(1, size - 1)) {
    if (!is_continuation(c)) return invalid;
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3fu);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[size] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
    return invalid;
  return {.size = size, .code = code, .is_valid = true};
}

bool is_hidden(const TextPiece& piece) noexcept {
  if (!piece.is_valid) return true;
  if (piece.code < 0x20) return piece.code != '\n' && piece.code != '\t';
  if (piece.code < 0x7f) return false;
  return std::any_of(std::begin(kHidden), std::end(kHidden), [&](const CodeRange& range) {
    return piece.code >= range.first && piece.code <= range.last;
  });
}

std::size_t write_escape(const TextPiece& piece, char* out) noexcept {
  const std::size_t digits = !piece.is_valid ? 2 : piece.code > 0xffff ? 8 : 4;
  out[0] = '\\';
  out[1] = digits == 2 ? 'x' : digits == 4 ? 'u' : 'U';
  for (std::size_t i = 0; i < digits; ++i)
    out[2 + i] = "0123456789abcdef"[piece.code >> (4 * (digits - 1 - i)) & 0xf];
  return 2 + digits;
}

std::string visible(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  write_visible(text, [&](std::string_view part) { shown += part; });
  return shown;
}

}  // namespace tendril
