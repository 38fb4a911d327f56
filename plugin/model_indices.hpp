#pragma once

#include <mujoco/mujoco.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tendril {

/// An array of a binary model. Its bytes need not be aligned.
struct BinaryArray {
  std::string_view name;  ///< of the field of mjModel
  std::span<const std::byte> bytes;
  bool has_flags = false;  ///< of type mjtBool
};

/// Returns what is wrong with the indices and flags of a binary model, one line; empty if nothing
/// is. Every index that the engine follows without a look at it must be in range: it would read or
/// write memory that is not the model's. A flag must be 0 or 1: C++ leaves undefined what others
/// are.
/// @param sizes   the model's counts; its pointers are not read
/// @param arrays  all of the model
[[nodiscard]] std::string index_problem(const mjModel& sizes, std::span<const BinaryArray> arrays);

}  // namespace tendril
