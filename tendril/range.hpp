#pragma once

#include <limits>
#include <string>
#include <string_view>

namespace tendril {

/// Range of a number: an interval with open or closed ends. Without ends: any finite number.
/// NaN and infinity are in no range.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool open_low = false;   ///< `low` itself is not allowed
  bool open_high = false;  ///< `high` itself is not allowed

  [[nodiscard]] bool contains(double value) const noexcept;
};

inline constexpr Range kFinite{};
inline constexpr Range kPositive{.low = 0.0, .open_low = true};
inline constexpr Range kNotNegative{.low = 0.0};

/// The range in words that follow "must be": `in (0, 2 pi]`, `> 0`, `>= 1`, `finite`.
/// Multiples of pi are written as such.
[[nodiscard]] std::string to_string(const Range& range);

/// Checks an option where it enters the library. Throws ModelError
/// `<object>: <field> = <value> <unit>, must be <range>`, for instance
/// `section 2: bend_angle_limit = -0.4 rad, must be in (0, 2 pi]`.
void require(std::string_view object, std::string_view field, double value, const Range& range,
             std::string_view unit = {});

/// Throws the same error where the rule is not a range: `<object>: <field> = <value> <unit>, must
/// be <allowed>`.
[[noreturn]] void refuse(std::string_view object, std::string_view field, double value,
                         std::string_view allowed, std::string_view unit = {});

}  // namespace tendril
