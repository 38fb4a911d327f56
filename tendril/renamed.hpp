#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tendril {

/// A name in files of users that has another one now.
struct Renamed {
  std::string_view before, now;
};

/// Keys of files, settings and plugins of controllers, sensors, quantities and their metrics that
/// were renamed, for messages that refuse the old name. The table in CHANGELOG.md has them too.
[[nodiscard]] std::span<const Renamed> renamed() noexcept;

/// The present name of `before`; empty if there is none that the place knows. A word may be an old
/// name in one file and in use in another.
/// @param is_known  whether a name is accepted where `before` was written
template <class IsKnown>
[[nodiscard]] std::string_view present_name(std::string_view before, const IsKnown& is_known) {
  for (const Renamed& name : renamed())
    if (name.before == before && is_known(name.now)) return name.now;
  return {};
}

/// `max_ways: is called max_candidates now`.
[[nodiscard]] std::string renamed_text(std::string_view before, std::string_view now);

/// ` (did you mean bend_limit?)` for a misspelled name. Names the one that differs in the fewest
/// letters, at most a third of them and three; without such a name the shortest that shares a
/// prefix, such as `damping_time` for `damping`. Empty if no name is near.
[[nodiscard]] std::string meant_text(std::string_view misspelled,
                                     std::span<const std::string_view> names);
[[nodiscard]] std::string meant_text(std::string_view misspelled,
                                     std::span<const std::string> names);

}  // namespace tendril
