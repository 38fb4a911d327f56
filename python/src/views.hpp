#pragma once

// What Python sees of a struct that declares its fields (controllers/interface/fields.hpp).

#include <nanobind/stl/vector.h>

#include <array>
#include <cctype>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "controllers/interface/fields.hpp"
#include "python/src/arrays.hpp"
#include "python/src/robots.hpp"
#include "tendril/geometry/body_clearance.hpp"

namespace tendril::python {

enum class Access { Read, Write };

/// Numbers at a fixed place, and the NumPy array that shows them. The numbers live as long as the
/// array.
class FixedArray {
 public:
  FixedArray(const Shape& shape, Access access);

  [[nodiscard]] double* data() const noexcept { return numbers_; }
  [[nodiscard]] std::span<double> numbers() const noexcept { return {numbers_, size_}; }
  [[nodiscard]] const nb::object& array() const noexcept { return array_; }

 private:
  double* numbers_;
  std::size_t size_;
  nb::object array_;
};

// ---- arrays of the library: their shape, and their numbers by rows

template <class M>
[[nodiscard]] Shape shape_of(const Eigen::MatrixBase<M>& matrix) {
  if constexpr (M::ColsAtCompileTime == 1) return {static_cast<std::size_t>(matrix.size())};
  return {static_cast<std::size_t>(matrix.rows()), static_cast<std::size_t>(matrix.cols())};
}
[[nodiscard]] inline Shape shape_of(const Eigen::Isometry3d& /*X*/) { return {4, 4}; }
[[nodiscard]] inline Shape shape_of(const PlatformPose& /*pose*/) { return {kPlatform}; }

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class M>
void write_numbers(const Eigen::MatrixBase<M>& matrix, double* to) noexcept {
  Eigen::Map<RowMajor>(to, matrix.rows(), matrix.cols()) = matrix;
}
inline void write_numbers(const Eigen::Isometry3d& X, double* to) noexcept { write_pose(X, to); }
inline void write_numbers(const PlatformPose& pose, double* to) noexcept {
  write_platform(pose, to);
}
template <class M>
void read_numbers(std::span<const double> from, Eigen::PlainObjectBase<M>& matrix) noexcept {
  matrix = Eigen::Map<const RowMajor>(from.data(), matrix.rows(), matrix.cols());
}
inline void read_numbers(std::span<const double> from, Eigen::Isometry3d& X) noexcept {
  X = pose_of(from);
}
inline void read_numbers(std::span<const double> from, PlatformPose& pose) noexcept {
  pose = platform_of(from);
}

/// Moves obstacles to where others are. Precondition: the same shapes in the same order.
void follow(const Obstacles& from, Obstacles& to) noexcept;

// ---- copies of fields, by their types: the array, number, flag, list or obstacles

template <class T>
struct Shown {
  Shown(const T& example, Access /*access*/) : value(example) {}
  void set(const T& from) { value = from; }
  void get(T& to) const { to = value; }

  T value;
};

template <class T>
requires is_array<T>
struct Shown<T> {
  Shown(const T& example, Access access) : array(shape_of(example), access) { set(example); }
  void set(const T& from) noexcept { write_numbers(from, array.data()); }
  void get(T& to) const noexcept { read_numbers(array.numbers(), to); }

  FixedArray array;
};

template <class T>
requires is_list<T>
struct Shown<T> {
  Shown(const T& example, Access /*access*/) { set(example); }
  void set(const T& from) { value.assign(from.begin(), from.end()); }
  void get(T& to) const requires std::is_same_v<T, std::vector<typename T::value_type>> {
    to = value;
  }

  std::vector<typename T::value_type> value;
  const char* missing = nullptr;  ///< why it is not measured; null: it is
};

template <>
struct Shown<const Obstacles*> {
  Shown(const Obstacles* example, Access /*access*/) {
    if (example != nullptr) value = *example;
  }
  void set(const Obstacles* from) noexcept {
    if (value && from != nullptr) follow(*from, *value);
  }

  std::optional<Obstacles> value;
};

template <class S>
inline constexpr std::size_t kFields = std::tuple_size_v<decltype(S::fields())>;
template <class S, std::size_t i>
using FieldAt = FieldType<S, std::tuple_element_t<i, decltype(S::fields())>>;

/// A copy of the struct S for Python. The example has the right sizes, and the obstacles.
template <class S>
class View {
 public:
  View(const S& example, Access access) : View(example, access, Indices()) {}

  void set(const S& from) {
    each([&](auto& shown, const auto& field) { shown.set(field.of(from)); });
  }
  void get(S& to) const {
    each([&](const auto& shown, const auto& field) { shown.get(field.of(to)); });
  }
  /// Lists are not measured, for this reason.
  void set_missing(const char* reason) noexcept {
    each([&](auto& shown, const auto& /*field*/) {
      if constexpr (requires { shown.missing; }) shown.missing = reason;
    });
  }
  template <std::size_t i>
  [[nodiscard]] auto& shown() noexcept {
    return std::get<i>(shown_);
  }
  template <std::size_t i>
  [[nodiscard]] const auto& shown() const noexcept {
    return std::get<i>(shown_);
  }

 private:
  using Indices = std::make_index_sequence<kFields<S>>;
  template <std::size_t... i>
  static std::tuple<Shown<FieldAt<S, i>>...> tuple_of(std::index_sequence<i...>);
  using Tuple = decltype(tuple_of(Indices()));

  template <std::size_t... i>
  View(const S& example, Access access, std::index_sequence<i...>)
      : shown_(Shown<FieldAt<S, i>>(std::get<i>(kRows).of(example), access)...) {}
  template <class Use>
  void each(const Use& use) {
    each_of(*this, use, Indices());
  }
  template <class Use>
  void each(const Use& use) const {
    each_of(*this, use, Indices());
  }
  template <class Self, class Use, std::size_t... i>
  static void each_of(Self& self, const Use& use, std::index_sequence<i...>) {
    (use(std::get<i>(self.shown_), std::get<i>(kRows)), ...);
  }

  static constexpr auto kRows = S::fields();
  Tuple shown_;
};

// ---- classes

/// "(n,): joint angles, rad."
template <class T, class Field>
[[nodiscard]] std::string doc_of(const Field& field) {
  std::string text = shape_text<T>(field.shape), meaning = field.meaning;
  const std::string unit = field.unit;
  if (!meaning.empty()) {
    if (text.empty())
      meaning[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(meaning[0])));
    else
      text += ": ";
    text += meaning;
  }
  if (!unit.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    text.insert(end, (text.empty() ? "" : ", ") + unit);
  }
  return text + ".";
}

/// A property for the field i of S, of a class that is a View<S> or holds the fields itself.
template <std::size_t i, class S, class Owner>
void def_field(nb::class_<Owner>& type, Access access) {
  static constexpr auto kField = std::get<i>(S::fields());
  using T = FieldAt<S, i>;
  const std::string doc = doc_of<T>(kField);
  const std::string head = std::string("def ") + kField.name + "(self) -> ";
  const auto sig = [&](const char* result) { return head + result; };
  if constexpr (std::is_same_v<Owner, S>) {  // a copy of the numbers
    if constexpr (is_array<T>) {
      type.def_prop_ro(
          kField.name,
          [](const S& self) {
            const FixedArray copy(shape_of(kField.of(self)), Access::Write);
            write_numbers(kField.of(self), copy.data());
            return copy.array();
          },
          nb::sig(sig(TENDRIL_ARRAY).c_str()), doc.c_str());
    } else {
      type.def_prop_ro(
          kField.name, [](const S& self) -> T { return kField.of(self); }, doc.c_str());
    }
  } else if constexpr (is_array<T>) {
    type.def_prop_ro(
        kField.name,
        [](const Owner& self) -> nb::object { return self.template shown<i>().array.array(); },
        nb::sig(sig(TENDRIL_ARRAY).c_str()), doc.c_str());
  } else if constexpr (std::is_same_v<T, const Obstacles*>) {
    type.def_prop_ro(
        kField.name,
        [](const Owner& self) {
          const auto& obstacles = self.template shown<i>().value;
          return obstacles ? &*obstacles : nullptr;
        },
        nb::sig(sig("Obstacles | None").c_str()), doc.c_str());
  } else {
    const auto read = [](const Owner& self) {
      const auto& shown = self.template shown<i>();
      if constexpr (requires { shown.missing; })
        if (shown.missing != nullptr) throw nb::attribute_error(shown.missing);
      return shown.value;
    };
    if (access == Access::Read) {
      type.def_prop_ro(kField.name, read, doc.c_str());
    } else if constexpr (!is_list<T>) {
      type.def_prop_rw(
          kField.name, read,
          [](Owner& self, const T& value) { self.template shown<i>().value = value; }, doc.c_str());
    }
  }
}

/// The properties of all fields of S.
template <class S, class Owner>
void def_fields(nb::class_<Owner>& type, Access access = Access::Read) {
  [&]<std::size_t... i>(std::index_sequence<i...>) { (def_field<i, S>(type, access), ...); }
  (std::make_index_sequence<kFields<S>>());
}

/// The class of a View<S>, under the name of S.
template <class S>
nb::class_<View<S>> bind_view(nb::module_& module, Access access) {
  const std::string doc = std::string(S::kMeaning) +
                          "\n\nArrays are views, valid during the update, " +
                          (access == Access::Read ? "and cannot be written to."
                                                  : "to be written to: `command.q[:] = q`.");
  nb::class_<View<S>> type(module, S::kName, doc.c_str());
  def_fields<S>(type, access);
  return type;
}

/// The class of S itself, read only.
template <class S>
nb::class_<S> bind_values(nb::module_& module) {
  nb::class_<S> type(module, S::kName, S::kMeaning);
  def_fields<S>(type);
  return type;
}

}  // namespace tendril::python
