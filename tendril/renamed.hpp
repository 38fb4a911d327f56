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

/// ` (is bend_limit meant?)`: of the names that differ from a misspelled one in at most a third of
/// its letters the first that differs least; empty if there is none.
[[nodiscard]] std::string meant_text(std::string_view misspelled,
                                     std::span<const std::string_view> names);

}  // namespace tendril
