#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tendril/fault.hpp"
#include "tendril/mobile/robot.hpp"

// A struct that controllers read or set declares its fields once, in `static constexpr auto
// fields()`: a tuple of rows; `kName` and `kMeaning` say what it is. The views of controllers in
// Python, the channels of measurement faults, the sizes of vectors and the tables of
// docs/reference/controllers.md come from the rows.

namespace tendril {

/// Numbers on which the lengths of vectors depend.
struct RobotSizes {
  constexpr RobotSizes(int coordinates, int tendons = 0)  // NOLINT: from a number of coordinates
      : n(coordinates), t(tendons) {}

  int n;  ///< coordinates or joints
  int t;  ///< tendons and chambers
};

/// Number of rows or columns of a field: a number, n or t, or `n + 2`.
struct Extent {
  enum class Of { Nothing, Coordinates, Tendons };

  constexpr Extent(int number) : more(number) {}  // NOLINT: from a number
  constexpr explicit Extent(Of what, int number = 0) : of_what(what), more(number) {}

  [[nodiscard]] constexpr int of(const RobotSizes& sizes) const noexcept {
    return more + (of_what == Of::Coordinates ? sizes.n : of_what == Of::Tendons ? sizes.t : 0);
  }
  [[nodiscard]] std::string text() const {
    if (of_what == Of::Nothing) return std::to_string(more);
    const std::string name = of_what == Of::Coordinates ? "n" : "t";
    return more == 0 ? name : name + " + " + std::to_string(more);
  }

  Of of_what = Of::Nothing;
  int more = 0;
};
constexpr Extent operator+(const Extent& extent, int number) noexcept {
  return Extent(extent.of_what, extent.more + number);
}
namespace extent {
inline constexpr Extent n{Extent::Of::Coordinates};  ///< one for each coordinate or joint
inline constexpr Extent t{Extent::Of::Tendons};      ///< one for each tendon and chamber
}  // namespace extent

/// Shape of a field whose type does not tell it: a vector of `rows`, or a matrix.
struct FieldShape {
  Extent rows{0}, columns{1};
};

/// One field of a struct, of which `Access` is a pointer to the member, or a function from the
/// struct to a part of a member.
template <class Access>
struct Field {
  const char* name;  ///< in Python and in tables
  Access access;
  FieldShape shape;
  const char* unit;
  const char* meaning;
  /// The faults that change it: of numbers, of the position of a pose.
  std::optional<FaultChannel> channel = std::nullopt;
  /// The faults that change the orientation of a pose.
  std::optional<FaultChannel> direction = std::nullopt;

  /// The field of a struct; a reference.
  template <class Struct>
  [[nodiscard]] constexpr decltype(auto) of(Struct& owner) const {
    return std::invoke(access, owner);
  }
  [[nodiscard]] constexpr Field with_channel(FaultChannel its_channel) const {
    Field field = *this;
    field.channel = its_channel;
    return field;
  }
  [[nodiscard]] constexpr Field with_direction(FaultChannel its_channel) const {
    Field field = *this;
    field.direction = its_channel;
    return field;
  }
};

template <class Access>
[[nodiscard]] constexpr Field<Access> field(const char* name, Access access, const char* unit,
                                            const char* meaning) {
  return {name, access, {}, unit, meaning};
}
/// A vector or matrix whose size depends on the robot.
template <class Access>
[[nodiscard]] constexpr Field<Access> field(const char* name, Access access,
                                            const FieldShape& shape, const char* unit,
                                            const char* meaning) {
  return {name, access, shape, unit, meaning};
}

/// Type of a field of the struct S.
template <class S, class F>
using FieldType = std::remove_cvref_t<decltype(std::declval<const F&>().of(std::declval<S&>()))>;

/// Calls `use` with each field of the struct S, in order.
template <class S, class Use>
constexpr void for_each_field(Use&& use) {
  std::apply([&](const auto&... fields) { (use(fields), ...); }, S::fields());
}

/// Test whether T is a vector or matrix whose size depends on the robot.
template <class T>
inline constexpr bool is_sized = false;
template <int rows>
inline constexpr bool is_sized<Eigen::Matrix<double, rows, Eigen::Dynamic>> = true;
template <>
inline constexpr bool is_sized<Eigen::VectorXd> = true;

/// Test whether T is a list of items.
template <class T>
inline constexpr bool is_list = false;
template <class Item>
inline constexpr bool is_list<std::vector<Item>> = true;
template <class Item>
inline constexpr bool is_list<std::span<const Item>> = true;

/// Test whether T is an array of numbers.
template <class T>
inline constexpr bool is_array =
    is_sized<T> || std::is_same_v<T, Eigen::Isometry3d> || std::is_same_v<T, Eigen::Vector3d> ||
    std::is_same_v<T, PlatformPose>;

/// "(n,)", "(6, n + 2)", "(4, 4)" of an array; empty: a number, or anything else.
template <class T>
[[nodiscard]] std::string shape_text(const FieldShape& shape) {
  if constexpr (is_sized<T>) {
    const bool is_vector = T::ColsAtCompileTime == 1;
    return "(" + shape.rows.text() + (is_vector ? "," : ", " + shape.columns.text()) + ")";
  } else if constexpr (std::is_same_v<T, Eigen::Isometry3d>) {
    return "(4, 4)";
  } else if constexpr (is_array<T>) {
    return "(3,)";
  } else {
    return {};
  }
}

/// Gives vectors and matrices their sizes, filled with zeros.
template <class S>
void set_sizes(S& owner, const RobotSizes& sizes) {
  for_each_field<S>([&](const auto& field) {
    using T = FieldType<S, std::remove_cvref_t<decltype(field)>>;
    if constexpr (is_sized<T>)
      field.of(owner) = T::Zero(field.shape.rows.of(sizes), field.shape.columns.of(sizes));
  });
}

}  // namespace tendril
