#pragma once

#include <Eigen/Core>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

namespace tendril {

// Memory between steps is a flat array of doubles that somebody else owns, saves and restores (in
// MuJoCo: plugin_state). A MemoryLayout says what is where in it, with types:
//
//   MemoryLayout layout;
//   const auto feed = layout.number();                    // double, starts at 0
//   const auto stage = layout.choice(Stage::Settle, Stage::Hold);   // an enum; starts at the first
//   const auto goal = layout.index(0, goal_count);        // int in [0, goal_count]
//   const auto pose = layout.vector(n);                   // Eigen::VectorXd
//   ...
//   if (stage(memory) == Stage::Settle) feed(next_memory) += 0.1;
//
// An array from elsewhere (an older file, a damaged one) is tested as a whole by `is_valid`; what a
// slot reads is in its range even if nobody did.

/// Converts what should be an integer of [low, high]; anything else becomes the nearest end. NaN
/// becomes `low`.
[[nodiscard]] inline int to_index(double value, int low, int high) noexcept {
  if (!(value > low)) return low;
  return value >= high ? high : static_cast<int>(value);
}

/// A place for one T: `slot(memory)` reads it, `slot(memory) = value` writes it.
template <class T>
requires std::is_arithmetic_v<T> || std::is_enum_v<T>
class Slot {
 public:
  Slot() = default;

  [[nodiscard]] T operator()(std::span<const double> memory) const noexcept {
    return read(memory[offset_]);
  }
  /// Reference to a value in the array, to be read, assigned or changed.
  class Reference {
   public:
    Reference(const Slot& slot, double& element) noexcept : slot_(slot), element_(element) {}
    operator T() const noexcept { return slot_.read(element_); }  // NOLINT: reads as a T
    const Reference& operator=(T value) const noexcept {
      element_ = static_cast<double>(value);
      return *this;
    }
    const Reference& operator=(const Reference& other) const noexcept { return *this = T(other); }
    Reference(const Reference&) = default;
    const Reference& operator+=(T value) const noexcept requires std::is_arithmetic_v<T> {
      return *this = static_cast<T>(T(*this) + value);
    }

   private:
    const Slot& slot_;
    double& element_;
  };
  [[nodiscard]] Reference operator()(std::span<double> memory) const noexcept {
    return {*this, memory[offset_]};
  }

 private:
  friend class MemoryLayout;
  Slot(std::size_t offset, int low, int high) : offset_(offset), low_(low), high_(high) {}
  [[nodiscard]] T read(double value) const noexcept {
    if constexpr (std::is_floating_point_v<T>) {
      return value;
    } else {
      return static_cast<T>(to_index(value, low_, high_));
    }
  }

  std::size_t offset_ = 0;
  int low_ = 0, high_ = 0;
};

/// A place for several numbers.
class Block {
 public:
  Block() = default;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<const double> operator()(std::span<const double> memory) const noexcept {
    return memory.subspan(offset_, size_);
  }
  [[nodiscard]] std::span<double> operator()(std::span<double> memory) const noexcept {
    return memory.subspan(offset_, size_);
  }

 private:
  friend class MemoryLayout;
  Block(std::size_t offset, std::size_t size) : offset_(offset), size_(size) {}
  std::size_t offset_ = 0, size_ = 0;
};

/// A place for a vector or matrix of Eigen (column-major), of fixed or of run-time size.
template <class M>
class MatrixSlot {
 public:
  MatrixSlot() = default;
  [[nodiscard]] Eigen::Map<const M> operator()(std::span<const double> memory) const noexcept {
    assert(offset_ + static_cast<std::size_t>(rows_ * columns_) <= memory.size());
    return {memory.data() + offset_, rows_, columns_};
  }
  [[nodiscard]] Eigen::Map<M> operator()(std::span<double> memory) const noexcept {
    assert(offset_ + static_cast<std::size_t>(rows_ * columns_) <= memory.size());
    return {memory.data() + offset_, rows_, columns_};
  }

 private:
  friend class MemoryLayout;
  MatrixSlot(std::size_t offset, Eigen::Index rows, Eigen::Index columns)
      : offset_(offset), rows_(rows), columns_(columns) {}
  std::size_t offset_ = 0;
  Eigen::Index rows_ = 0, columns_ = 0;
};

/// Layout of values in a flat array of doubles. Places follow one another in the order in which
/// they are added; adding allocates, everything else does not.
class MemoryLayout {
 public:
  [[nodiscard]] int size() const noexcept { return static_cast<int>(start_.size()); }

  /// A finite number that starts at `start`.
  Slot<double> number(double start = 0.0);
  Slot<bool> flag(bool start = false);
  /// An integer of [low, high]; starts at the one nearest to `start`.
  Slot<int> index(int low, int high, int start = 0);
  /// A count of events, without an upper end that matters.
  Slot<int> counter() { return index(0, std::numeric_limits<int>::max()); }
  /// One of the enumerators from `first` to `last`.
  template <class E>
  requires std::is_enum_v<E> Slot<E> choice(E first, E last, E start) {
    const int low = static_cast<int>(first), high = static_cast<int>(last);
    return Slot<E>(add(1, static_cast<int>(start), &low, &high), low, high);
  }
  template <class E>
  requires std::is_enum_v<E> Slot<E> choice(E first, E last) { return choice(first, last, first); }
  /// Finite numbers that start at `start`.
  Block numbers(std::size_t count, double start = 0.0);
  Block numbers(std::span<const double> start);
  /// Integers of [low, high].
  Block indices(std::size_t count, int low, int high);
  /// A matrix of finite numbers that start at 0.
  template <class M>
  MatrixSlot<M> matrix(Eigen::Index rows = M::RowsAtCompileTime,
                       Eigen::Index columns = M::ColsAtCompileTime) {
    const Block block = numbers(static_cast<std::size_t>(rows * columns));
    return MatrixSlot<M>(block.offset_, rows, columns);
  }
  /// The same with start values.
  template <class M>
  MatrixSlot<M> matrix(const M& start) {
    const Block block = numbers({start.data(), static_cast<std::size_t>(start.size())});
    return MatrixSlot<M>(block.offset_, start.rows(), start.cols());
  }
  MatrixSlot<Eigen::VectorXd> vector(Eigen::Index size) { return matrix<Eigen::VectorXd>(size, 1); }
  /// All that `part` describes, in its order.
  Block part(const MemoryLayout& part);

  /// Writes the start values; `memory` has `size()` numbers.
  void reset(std::span<double> memory) const noexcept;
  /// Tells whether every number is finite and every flag, index and enumerator one of its kind.
  [[nodiscard]] bool is_valid(std::span<const double> memory) const noexcept;

 private:
  /// Places that hold integers of [low, high].
  struct Integers {
    std::size_t offset, count;
    int low, high;
  };
  std::size_t add(std::size_t count, double start, const int* low, const int* high);

  std::vector<double> start_;
  std::vector<Integers> integers_;
};

}  // namespace tendril
