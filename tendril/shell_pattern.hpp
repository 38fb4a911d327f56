#pragma once

#include <string_view>

namespace tendril {

/// Tells whether a name is one of a shell pattern: `*` represents any text, `?` a character,
/// `[a-cx]` one of those, `[!a-cx]` another one, and `\*` the character itself. Of bytes, as POSIX
/// says for fnmatch; without classes as `[:alpha:]`. Tested by: shell_pattern_test, against
/// fnmatch.
[[nodiscard]] bool matches_pattern(std::string_view name, std::string_view pattern) noexcept;

}  // namespace tendril
