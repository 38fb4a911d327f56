#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <concepts>
#include <limits>
#include <span>

#include "tendril/memory_layout.hpp"

namespace tendril {

/// Requirements of RrtConnect on a configuration space. Configurations are vectors of `dimension`
/// numbers. A space counts the configurations that it has checked for collision.
template <class S>
concept ConfigurationSpace = requires(S& space, const Eigen::Ref<const Eigen::VectorXd>& a,
                                      const Eigen::Ref<const Eigen::VectorXd>& b, int attempt,
                                      Eigen::VectorXd& sample) {
  { space.distance(a, b) }
  noexcept->std::convertible_to<double>;
  { space.is_free(b) }
  noexcept->std::convertible_to<bool>;
  /// Tells whether the straight line from `a` to `b` is free; at least one check.
  { space.line_is_free(a, b) }
  noexcept->std::convertible_to<bool>;
  /// Writes the configuration that the trees grow towards in the attempt, from 0, of a search
  /// between `a` and `b`.
  { space.sample(attempt, a, b, sample) }
  noexcept;
  { space.checks() }
  noexcept->std::convertible_to<int>;
};

struct RrtConnectOptions {
  int dimension = 1;      ///< of a configuration, >= 1
  int max_nodes = 64;     ///< of each of the two trees, >= 2
  int max_samples = 320;  ///< of one search, >= 1
  int max_checks = 320;   ///< after so many no sample is drawn any more, >= 0
  int max_waypoints = 1;  ///< of a path, >= 1; a path with more of them is no solution
  double max_step = 0.1;  ///< between a node and its parent, in the space's distance, > 0
};

/// Path from a configuration to one of several by two trees that grow towards each other, then
/// shortened.
///
///     repeat: sample -> extend one tree by one step towards it
///             -> extend the other one towards the new node until it is there or blocked -> swap
///
/// A search may be spread over many calls: the trees are in memory that the caller owns. Whatever
/// that memory holds, no call reads or writes outside it, and every call ends: counts are brought
/// into their ranges, a node's parent comes before it, and each step of a search makes a check,
/// takes a sample or ends the growth of a tree. Nothing but the constructor allocates.
/// Source: [RRT-Connect]. Tested by: rrt_connect_test.
class RrtConnect {
 public:
  enum class Progress { Searching, Found, Failed };
  using Configuration = Eigen::Ref<const Eigen::VectorXd>;

  /// Precondition: options within their ranges.
  explicit RrtConnect(const RrtConnectOptions& options);

  /// Returns the layout of the memory of a search.
  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }

  /// Begins a search. Other free configurations `to` may be added at any time before it ends.
  void begin(const Configuration& from, const Configuration& to,
             std::span<double> memory) const noexcept;
  void add_goal(const Configuration& to, std::span<double> memory) const noexcept;

  /// Adds a configuration to which the line from reached configuration `parent` is free.
  void add_reached(const Configuration& q, int parent, std::span<double> memory) const noexcept;
  /// Counts the configurations known to be reached from `from`; below, configuration i of them.
  [[nodiscard]] int reached_count(std::span<const double> memory) const noexcept {
    return trees_[0].count(memory);
  }
  [[nodiscard]] auto reached(int i, std::span<const double> memory) const noexcept {
    return trees_[0].nodes(memory).col(i);
  }

  /// Continues it until the space has made `checks` more checks, and those of one line. The first
  /// call tries the straight line. Found: `shorten`, then `waypoint`.
  template <ConfigurationSpace Space>
  [[nodiscard]] Progress resume(Space& space, int checks, std::span<double> memory) noexcept;

  /// Leaves out waypoints of the path found that a free straight line makes needless, with at most
  /// `checks` more checks, and those of one line. False when too many are left.
  template <ConfigurationSpace Space>
  [[nodiscard]] bool shorten(Space& space, int checks) noexcept;

  /// Returns the end of the path found last. Precondition: Found.
  [[nodiscard]] Eigen::MatrixXd::ConstColXpr end() const noexcept {
    return path_.col(path_count_ - 1);
  }
  /// The path that was shortened last, without its ends; 0 waypoints: a straight line.
  [[nodiscard]] int waypoint_count() const noexcept { return waypoint_count_; }
  [[nodiscard]] Eigen::MatrixXd::ConstColXpr waypoint(int i) const noexcept {
    return waypoints_.col(i);
  }

 private:
  struct TreeSlots {
    MatrixSlot<Eigen::MatrixXd> nodes;  // a column each
    Block parents;
    Slot<int> count;
  };
  /// A tree in the memory of a search.
  class Tree {
   public:
    Tree(const TreeSlots& slots, bool has_roots, std::span<double> memory)
        : nodes(slots.nodes(memory)),
          parents_(slots.parents(memory)),
          count_(slots.count(memory)),
          size_(count_),
          has_roots_(has_roots) {}
    [[nodiscard]] int size() const noexcept { return size_; }
    [[nodiscard]] bool is_full() const noexcept { return size_ == nodes.cols(); }
    /// A node before node i; -1 of a root. Node 0 is a root; others, in a tree that has several,
    /// are their own parents.
    [[nodiscard]] int parent(int i) const noexcept {
      if (i == 0) return -1;
      const int parent = to_index(parents_[static_cast<std::size_t>(i)], 0, has_roots_ ? i : i - 1);
      return parent == i ? -1 : parent;
    }
    /// Makes the column after the last node a node; its index.
    int add(int parent) noexcept {
      parents_[static_cast<std::size_t>(size_)] = parent;
      count_ = size_ + 1;
      return size_++;
    }

    Eigen::Map<Eigen::MatrixXd> nodes;

   private:
    std::span<double> parents_;
    Slot<int>::Reference count_;
    int size_;
    bool has_roots_;
  };
  [[nodiscard]] std::array<Tree, 2> trees_in(std::span<double> memory) const noexcept {
    return {Tree(trees_[0], false, memory), Tree(trees_[1], true, memory)};
  }

  /// Grows the tree from its nearest node by one step towards aim_. Its new node, or the one that
  /// is there; -1: none.
  template <ConfigurationSpace Space>
  [[nodiscard]] int extend(Space& space, Tree& tree) noexcept;
  void join(const Tree& first, int at_first, const Tree& second, int at_second) noexcept;

  static constexpr int kAimPeriod = 4;

  RrtConnectOptions options_;
  MemoryLayout layout_;
  Slot<int> checks_, samples_;  // so far, at most the largest; 0 checks: not even the straight line
  Slot<int> growing_;           // the tree that the next sample is for
  Slot<bool> connecting_;       // the other tree grows towards `node_` of that one
  Slot<int> node_;
  std::array<TreeSlots, 2> trees_;
  Eigen::VectorXd aim_;
  Eigen::MatrixXd path_, waypoints_;  // a column each
  int path_count_ = 0, waypoint_count_ = 0;
};

template <ConfigurationSpace Space>
RrtConnect::Progress RrtConnect::resume(Space& space, int checks,
                                        std::span<double> memory) noexcept {
  path_count_ = waypoint_count_ = 0;
  std::array<Tree, 2> trees = trees_in(memory);
  const auto from = trees[0].nodes.col(0), to = trees[1].nodes.col(0);
  const int first_check = space.checks(), checks_before = checks_(memory);
  const auto made = [&] { return space.checks() - first_check; };
  if (checks_before == 0) {
    if (space.line_is_free(from, to)) {
      join(trees[0], 0, trees[1], 0);
      return Progress::Found;
    }
    if (!space.is_free(to)) return Progress::Failed;
  }
  while (made() < checks) {
    int growing = growing_(memory);
    if (connecting_(memory)) {
      Tree &tree = growing == 0 ? trees[0] : trees[1], &other = growing == 0 ? trees[1] : trees[0];
      const int node = std::min<int>(node_(memory), tree.size() - 1);
      aim_ = tree.nodes.col(node);
      const int grown = extend(space, other);
      if (grown >= 0 && other.nodes.col(grown) == aim_) {
        if (growing == 0) {
          join(tree, node, other, grown);
        } else {
          join(other, grown, tree, node);
        }
        return Progress::Found;
      }
      if (grown >= 0) continue;
      connecting_(memory) = false;
      growing_(memory) = 1 - growing;
      continue;
    }
    if (trees[static_cast<std::size_t>(growing)].is_full()) growing = 1 - growing;
    Tree &tree = growing == 0 ? trees[0] : trees[1], &other = growing == 0 ? trees[1] : trees[0];
    const int attempt = samples_(memory);
    if (tree.is_full() || attempt >= options_.max_samples ||
        made() >= options_.max_checks - checks_before) {
      return Progress::Failed;
    }
    if (attempt % kAimPeriod == kAimPeriod - 1) {  // at the other tree
      aim_ = other.nodes.col(attempt / kAimPeriod % other.size());
    } else {
      space.sample(attempt, from, to, aim_);
    }
    samples_(memory) = attempt + 1;
    const int grown = extend(space, tree);
    connecting_(memory) = grown >= 0;
    growing_(memory) = grown >= 0 ? growing : 1 - growing;
    if (grown >= 0) node_(memory) = grown;
  }
  checks_(memory) = std::min(made(), options_.max_checks - checks_before) + checks_before;
  return Progress::Searching;
}

template <ConfigurationSpace Space>
int RrtConnect::extend(Space& space, Tree& tree) noexcept {
  int nearest = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < tree.size(); ++i) {
    if (const double d = space.distance(tree.nodes.col(i), aim_); d < least) {
      least = d;
      nearest = i;
    }
  }
  if (tree.nodes.col(nearest) == aim_) return nearest;
  if (tree.is_full()) return -1;
  const double fraction = least > 0.0 ? std::min(1.0, options_.max_step / least) : 1.0;
  auto grown = tree.nodes.col(tree.size());
  grown = tree.nodes.col(nearest) + fraction * (aim_ - tree.nodes.col(nearest));
  if (fraction == 1.0) grown = aim_;
  if (!space.line_is_free(tree.nodes.col(nearest), grown)) return -1;
  return tree.add(nearest);
}

template <ConfigurationSpace Space>
bool RrtConnect::shorten(Space& space, int checks) noexcept {
  const int first_check = space.checks();
  for (int at = 0; at < path_count_ - 1;) {
    int next = at + 1;
    for (int far = path_count_ - 1; far > at + 1 && space.checks() - first_check < checks; --far) {
      if (space.line_is_free(path_.col(at), path_.col(far))) {
        next = far;
        break;
      }
    }
    if (next < path_count_ - 1) {
      if (waypoint_count_ == options_.max_waypoints) return false;
      waypoints_.col(waypoint_count_++) = path_.col(next);
    }
    at = next;
  }
  return true;
}

}  // namespace tendril
