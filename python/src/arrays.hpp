#pragma once

// Arrays between NumPy and the library: float64, C order, any leading axes.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tendril/kinematics/section.hpp"

namespace tendril::python {

namespace nb = nanobind;

using Shape = std::vector<std::size_t>;

/// The last axes of an array, of each item.
using Axes = std::initializer_list<std::size_t>;
/// Size of an axis that may be anything.
inline constexpr std::size_t kAny = static_cast<std::size_t>(-1);

/// The argument of a function: numbers with fixed last axes behind any leading axes.
class Input {
 public:
  /// Anything that NumPy makes an array of real numbers of. Throws ModelError
  /// `<name>: shape = (2, 4), must be (..., 3, 3)`.
  Input(const char* name, nb::handle value, Axes last);

  [[nodiscard]] const Shape& leading() const noexcept { return leading_; }
  /// Items: product of the leading axes.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// Numbers of an item.
  [[nodiscard]] std::size_t item_size() const noexcept { return item_size_; }
  [[nodiscard]] std::span<const double> item(std::size_t k) const noexcept {
    return {array_.data() + k * item_size_, item_size_};
  }
  [[nodiscard]] std::span<const double> all() const noexcept {
    return {array_.data(), count_ * item_size_};
  }
  /// Throws ModelError `<name>[2, 0, 1] = nan, must be finite`.
  void require_finite() const;
  /// Throws ModelError `<name>[2, 0, 0] = 90 rad, must be ...: in degrees?` for a number that is
  /// not finite, and for an angle above `most`: each item's numbers `first`, `first + step`, ...
  void require_angles(std::size_t first, std::size_t step, double most) const;
  /// Throws ModelError unless the leading axes are these, or none.
  void require_leading(const Shape& leading) const;

 private:
  [[nodiscard]] std::string place_of(const double* number) const;  ///< "states[2, 0, 1]"

  using Array = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
  const char* name_;
  Array array_;
  Shape leading_;
  std::size_t count_ = 1, item_size_ = 1;
};

/// A number for every item, or one for all.
class Numbers {
 public:
  /// `value` is a number or an array of the shape `leading`. Throws ModelError.
  Numbers(const char* name, nb::handle value, const Shape& leading);
  [[nodiscard]] double operator[](std::size_t k) const noexcept {
    return all_.empty() ? one_ : all_[k];
  }

 private:
  double one_ = 0.0;
  std::vector<double> all_;
};

/// A new NumPy array.
class Output {
 public:
  /// @param type  of NumPy, such as "d"
  Output(const Shape& leading, Axes last, const char* type = "d");
  template <class T = double>
  [[nodiscard]] T* data() const noexcept {
    return static_cast<T*>(array_.data_handle());
  }
  [[nodiscard]] nb::object take() { return std::move(object_); }

 private:
  nb::object object_;
  nb::ndarray<nb::device::cpu> array_;
};

/// `numpy.<name>`, remembered.
[[nodiscard]] nb::handle numpy(const char* name);

/// The numbers of a row of states (sections, 3).
static_assert(sizeof(SectionState) == 3 * sizeof(double) &&
              std::is_standard_layout_v<SectionState>);
[[nodiscard]] inline SectionStates states_of(std::span<const double> numbers) noexcept {
  return {reinterpret_cast<const SectionState*>(numbers.data()), numbers.size() / 3};
}

[[nodiscard]] inline Eigen::Isometry3d pose_of(std::span<const double> numbers) noexcept {
  Eigen::Isometry3d X;
  X.matrix() = Eigen::Map<const Eigen::Matrix<double, 4, 4, Eigen::RowMajor>>(numbers.data());
  return X;
}
inline void write_pose(const Eigen::Isometry3d& X, double* to) noexcept {
  Eigen::Map<Eigen::Matrix<double, 4, 4, Eigen::RowMajor>>{to} = X.matrix();
}

/// Returns an integer of Python or NumPy; nothing for another object, or one of more than 64 bits.
[[nodiscard]] std::optional<long long> integer_of(nb::handle value);

/// Returns a truth value of Python or NumPy. Throws ModelError `<name>: 2, must be True or False`.
[[nodiscard]] bool flag_of(const char* name, nb::handle value);

/// Throws ModelError `threads = -1, must be >= 0`.
void require_threads(int threads);

/// Calls work(k) for k < count, with the interpreter lock released, on `threads` threads (0: as
/// many as the machine has), fewer when there is little to do. A thread takes `chunk` items at a
/// time, and eight chunks are worth a thread. One item is done immediately, with the lock held.
template <class Work>
void for_each(std::size_t count, int threads, const Work& work, std::size_t chunk = 256) {
  require_threads(threads);
  if (count == 1) return work(0);
  const nb::gil_scoped_release unlocked;
  const std::size_t desired = threads > 0 ? static_cast<std::size_t>(threads)
                                          : std::max(1u, std::thread::hardware_concurrency());
  std::atomic<std::size_t> next = 0;
  const auto run = [&]() noexcept {
    for (std::size_t begin = next.fetch_add(chunk); begin < count; begin = next.fetch_add(chunk))
      for (std::size_t k = begin; k < std::min(count, begin + chunk); ++k) work(k);
  };
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < std::min(desired, count / (8 * chunk) + 1); ++i)
    others.emplace_back(run);
  run();
}

}  // namespace tendril::python
