#include "tendril/shell_pattern.hpp"

#include <cstddef>

namespace tendril {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

unsigned char byte_at(std::string_view text, std::size_t at) noexcept {
  return static_cast<unsigned char>(text[at]);
}

/// Whether a set of characters has one, and where the pattern goes on; kNone: it has no end.
struct SetMatch {
  bool matches = false;
  std::size_t end = kNone;
};

/// @param at  of the first character behind the bracket
SetMatch match_set(std::string_view pattern, std::size_t at, unsigned char character) noexcept {
  const bool is_negated = at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^');
  if (is_negated) ++at;
  const auto next = [&] {
    if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
    return byte_at(pattern, at++);
  };
  bool found = false;
  for (const std::size_t first = at; at < pattern.size();) {
    if (pattern[at] == ']' && at > first) return {found != is_negated, at + 1};
    const unsigned char low = next();
    const bool is_range = at + 1 < pattern.size() && pattern[at] == '-' && pattern[at + 1] != ']';
    if (is_range) ++at;
    const unsigned char high = is_range ? next() : low;
    found = found || (low <= character && character <= high);
  }
  return {};
}

/// Where the pattern goes on behind what represents one character, if it is this one; otherwise
/// kNone.
std::size_t match_one(std::string_view pattern, std::size_t at, unsigned char character) noexcept {
  if (pattern[at] == '?') return at + 1;
  if (pattern[at] == '[') {
    const SetMatch set = match_set(pattern, at + 1, character);
    if (set.end != kNone) return set.matches ? set.end : kNone;
  }
  if (pattern[at] == '\\' && ++at == pattern.size()) return kNone;
  return byte_at(pattern, at) == character ? at + 1 : kNone;
}

}  // namespace

bool matches_pattern(std::string_view name, std::string_view pattern) noexcept {
  std::size_t at = 0, i = 0;
  std::size_t star = kNone, taken = 0;  // behind the last star, and what of the name it represents
  while (i < name.size() || at < pattern.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = ++at;
      taken = i;
      continue;
    }
    const std::size_t next =
        at < pattern.size() && i < name.size() ? match_one(pattern, at, byte_at(name, i)) : kNone;
    if (next != kNone) {
      at = next;
      ++i;
    } else if (star != kNone && taken < name.size()) {
      at = star;
      i = ++taken;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace tendril
