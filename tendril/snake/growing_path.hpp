#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "tendril/memory_layout.hpp"
#include "tendril/snake/march_start.hpp"

namespace tendril {

/// A path that grows at its end, read from the memory it lives in: C2 pieces of degree five between
/// nodes, each fixed for good by position, first and second derivative at its ends. A
/// ParametricCurve; s is about the arc length [m] and only ever grows, whatever is dropped behind.
/// Past its ends it continues straight. Whatever the memory holds, nothing is read outside it.
/// docs/theory/snakes.md, "Growing path".
class PathView {
 public:
  explicit PathView(std::span<const double> memory) noexcept;

  [[nodiscard]] CurvePoint at(double s) const noexcept;
  [[nodiscard]] double begin() const noexcept;
  [[nodiscard]] double end() const noexcept;

  /// Frame with x along the path and z carried along it from node to node by the smallest rotation:
  /// the roll of a head at s, a property of the path alone. The identity for a path without nodes.
  [[nodiscard]] Eigen::Matrix3d frame(double s) const noexcept;

  [[nodiscard]] int node_count() const noexcept;
  [[nodiscard]] int capacity() const noexcept { return capacity_; }

 private:
  friend class GrowingPath;
  struct Node;
  [[nodiscard]] Node node(int i) const noexcept;
  [[nodiscard]] double node_parameter(int i) const noexcept;
  /// Index of the node at which the piece that holds s begins.
  [[nodiscard]] int piece_at(double s) const noexcept;
  /// Index of the first node in the ring.
  [[nodiscard]] int first() const noexcept;
  /// Returns the index in the memory at which node i begins.
  [[nodiscard]] std::size_t offset(int i) const noexcept;
  [[nodiscard]] CurvePoint at(double s, int piece) const noexcept;

  std::span<const double> memory_;
  int capacity_;  // nodes that the memory has room for
};

enum class GrowStatus : std::uint8_t {
  Appended,
  NotFinite,
  TooNear,   ///< nearer than min_spacing to the last target: a repeated point
  TooFar,    ///< further than max_spacing from the last target
  Behind,    ///< turns by more than max_turn relative to the path's end: behind the head
  TooTight,  ///< the new piece would bend more than max_curvature
  Full,      ///< no room: nothing has been dropped behind
};
[[nodiscard]] const char* to_string(GrowStatus status) noexcept;

struct GrowingPathOptions {
  double min_spacing = 1e-3;  ///< [m], > 0
  double max_spacing = 0.15;  ///< [m], > min_spacing; at most a module's length
  double max_turn = 1.0;  ///< of a segment between targets relative to the path before it [rad], in
                          ///< (0, pi)
  double max_curvature = std::numeric_limits<double>::infinity();  ///< [1/m], > 0
};

/// Result of an attempt to append.
struct GrowResult {
  GrowStatus status = GrowStatus::NotFinite;
  double value = 0.0;  ///< the distance [m], angle [rad] or curvature [1/m] that decided
  double limit = 0.0;  ///< and its limit
  [[nodiscard]] bool ok() const noexcept { return status == GrowStatus::Appended; }
};

/// Writes a growing path into memory that the caller owns: everything is there, so a copy of the
/// memory is a copy of the path. Old pieces never change. `append` gives the target before the
/// newest one its derivatives (central differences), so the path ends one target short of the
/// newest; `finish` takes it in too. All functions but the constructor are noexcept and allocate
/// nothing. Whatever the memory holds, nothing is read or written outside it.
class GrowingPath {
 public:
  /// Memory for `capacity` nodes, >= 2, and its size.
  [[nodiscard]] static MemoryLayout layout(int capacity);
  [[nodiscard]] static int memory_size(int capacity) noexcept;

  /// Takes a memory of at least memory_size(2) doubles; what they hold is taken as it is (all 0: an
  /// empty path). Throws ModelError naming the option.
  GrowingPath(std::span<double> memory, const GrowingPathOptions& options);

  /// Begins from scratch, straight from `start` along `direction` for `length` [m], > 0; z of the
  /// frames as near to `z_reference` as possible. Appended, or NotFinite (also for a length or
  /// direction of 0).
  GrowResult start(const Eigen::Vector3d& start, const Eigen::Vector3d& direction, double length,
                   const Eigen::Vector3d& z_reference = Eigen::Vector3d::UnitZ()) noexcept;

  /// A new target for the leading link; refused targets leave the path as it was. NotFinite, too,
  /// for a path that has not been started.
  GrowResult append(const Eigen::Vector3d& target) noexcept;

  /// Takes the newest target in, with derivatives from the targets behind it alone; the path may
  /// continue from there. Appended also if there was nothing to take in.
  GrowResult finish() noexcept;

  /// Drops the nodes that are not needed from s on.
  void drop_behind(double s) noexcept;

  [[nodiscard]] PathView view() const noexcept { return PathView(memory_); }
  /// Tells whether a target waits to be taken in.
  [[nodiscard]] bool pending() const noexcept;

 private:
  using Node = PathView::Node;
  GrowResult push(const Eigen::Vector3d& position, double s, const Eigen::Vector3d& first,
                  const Eigen::Vector3d& second) noexcept;
  void write(int i, const Node& node) noexcept;
  [[nodiscard]] Eigen::Vector3d waiting() const noexcept;

  std::span<double> memory_;
  GrowingPathOptions options_;
};

/// One move of a chain along a path.
struct FollowStep {
  double s = 0.0;               ///< of the head or the base after it
  double largest_change = 0.0;  ///< of a joint angle relative to `before` [rad]
  MarchResult march;
};

/// Moves from s towards `desired` as far as no joint moves by more than `largest_change` [rad]
/// relative to the angles `before`: the leader slows down, angles are not clipped.
/// `march_at(s, trial)` marches into `angles`. If the march to `desired` fails, the step is tried
/// shorter. If no step is possible, s is unchanged, `angles` holds `before`, and `march` is that of
/// the first trial: the reason of its failure, or Ok if `before` is further from the path than
/// `largest_change`. Precondition: as many angles as before, not the same memory.
template <class MarchAt>
FollowStep follow_marches(const MarchAt& march_at, double s, double desired, double largest_change,
                          std::span<const double> before, std::span<double> angles) noexcept {
  constexpr int kTrials = 6;
  constexpr double kAim = 0.95;  // of the allowed change
  FollowStep step{.s = s, .march = {}};
  double fraction = 1.0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const double at = s + fraction * (desired - s);
    const MarchResult march = march_at(at, trial);
    if (trial == 0) step.march = march;
    if (!march.ok()) {
      fraction *= 0.5;
      continue;
    }
    double change = 0.0;
    for (std::size_t j = 0; j < before.size(); ++j)
      change = std::max(change, std::abs(angles[j] - before[j]));
    if (change <= largest_change) return {.s = at, .largest_change = change, .march = march};
    fraction *= std::min(0.9, kAim * largest_change / change);
  }
  std::copy(before.begin(), before.end(), angles.begin());
  return step;
}

/// Moves the chain along the path from the head's parameter s to `desired` (the whole body slides,
/// base included; HeadToBase) or with s that of the base point B_0 (a fed base; BaseToHead), as
/// `follow_marches` does. R: of the base (BaseToHead) or the head's frame at `desired` (HeadToBase;
/// path.frame(desired)). Allocates nothing. Precondition: N angles before, not out.angles itself.
FollowStep follow_path(const SnakeChain& chain, const PathView& path, MarchDirection direction,
                       const Eigen::Matrix3d& R, double s, double desired, double largest_change,
                       std::span<const double> before, MarchMemory out,
                       const MarchOptions& options = {}) noexcept;

}  // namespace tendril
