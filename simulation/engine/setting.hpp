#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tendril/model/value.hpp"
#include "tendril/range.hpp"

namespace tendril::simulation {

/// One setting that changes a scene before or after it is compiled, or a motion of an experiment.
/// Its key is one of
///
///     robot.<key>, controller.<key>       overrides in every robot file of the scene
///     robot.<prefix>.<key>, controller.<prefix>.<key>  in that of the robot attached with <prefix>
///     option.<name>                       an option of the compiled model: timestep, gravity, ...
///     body.<name>.offset = [x, y, z]      shifts a static or mocap body in its parent's frame [m]
///     body.<name>.mass                    mass [kg]; the inertia is scaled with it
///     geom.<name>.friction                one (sliding) to three numbers
///     joint.<name>.start                  position at the start, and setpoint of its servos
///     motion.<body>.<field>               a number or list of a [[motion]] table
///     fault.<name>.<field>                a field of a [[fault]] table
///
/// where <name> may be a shell pattern (`*`, `?`, `[a-z]`). The full list is
/// docs/reference/experiment_file.md. An override of a robot file has the key without `robot.`.
using Setting = Override;

/// What the key of a setting begins with.
inline constexpr std::string_view kSettingPrefixes[] = {
    "robot.", "controller.", "option.", "body.", "geom.", "joint.", "motion.", "fault."};

/// Splits `key=value`; the origin is `--set`. Throws ModelError when there is no `=` or nothing
/// before or after it.
[[nodiscard]] Setting parse_setting(std::string_view text);

/// Throws ModelError `origin: key: value: allowed`.
[[noreturn]] void refuse(const Setting& setting, std::string_view allowed);

/// Returns the value as finite numbers: one number, or a list of `min_count` to `max_count` of
/// them. Anything else is refused.
[[nodiscard]] std::vector<double> setting_numbers(const Setting& setting, std::size_t min_count,
                                                  std::size_t max_count, std::string_view allowed);

/// Returns the value as one number in the range; anything else is refused.
[[nodiscard]] double setting_number(const Setting& setting, const Range& range);

/// Returns the value as text: a string, or what it is written as.
[[nodiscard]] std::string setting_word(const Setting& setting);

/// Returns the setting with the present numbers scaled if its value is `{ scale = 1.2 }`; else as
/// it is.
[[nodiscard]] Setting resolved(const Setting& setting, std::span<const double> present);

/// Returns whether `name` matches the shell pattern `pattern` (fnmatch).
[[nodiscard]] bool matches(const std::string& pattern, const std::string& name);

}  // namespace tendril::simulation
