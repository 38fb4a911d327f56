#pragma once

// For the readers of plan files, beside tendril/robot_file/toml_fields.hpp.

#include <Eigen/Core>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "tendril/robot_file/toml_fields.hpp"

namespace tendril::host {

using PlanKeys = std::span<const std::string_view>;

inline constexpr robot_file_detail::Allowed kPlanCoordinate{-robot_file_detail::kLargestNumber,
                                                            robot_file_detail::kLargestNumber, true,
                                                            "must be in [-1e9, 1e9]"};

/// The inline table under `key`, with the keys that it may have.
[[nodiscard]] robot_file_detail::Fields plan_sub_table(const robot_file_detail::Fields& fields,
                                                       std::string_view key,
                                                       const std::string& file,
                                                       const std::string& object, PlanKeys keys);

/// The one of `kinds` that the table has.
[[nodiscard]] std::string_view plan_kind_of(const robot_file_detail::Fields& fields,
                                            PlanKeys kinds);

/// Calls `add` with each table of the list [[key]] and its name, "obstacle 3", counted from
/// `first`.
void for_each_plan_table(
    const robot_file_detail::Fields& fields, std::string_view key, const std::string& file,
    int first,
    const std::function<void(const robot_file_detail::Fields&, const std::string& object)>& add);

}  // namespace tendril::host
