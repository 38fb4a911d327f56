#include "tendril/geometry/rrt_connect.hpp"

#include <cassert>

namespace tendril {

RrtConnect::RrtConnect(const RrtConnectOptions& options)
    : options_(options),
      checks_(layout_.index(0, options.max_checks)),
      samples_(layout_.index(0, options.max_samples)),
      growing_(layout_.index(0, 1)),
      connecting_(layout_.flag()),
      node_(layout_.index(0, options.max_nodes - 1)),
      aim_(options.dimension),
      path_(options.dimension, 2 * options.max_nodes),
      waypoints_(options.dimension, options.max_waypoints) {
  assert(options.dimension >= 1 && options.max_nodes >= 2 && options.max_samples >= 1 &&
         options.max_waypoints >= 1);
  for (TreeSlots& tree : trees_) {
    tree.nodes = layout_.matrix<Eigen::MatrixXd>(options.dimension, options.max_nodes);
    tree.parents =
        layout_.indices(static_cast<std::size_t>(options.max_nodes), 0, options.max_nodes - 1);
    tree.count = layout_.index(1, options.max_nodes);
  }
}

void RrtConnect::begin(const Configuration& from, const Configuration& to,
                       std::span<double> memory) const noexcept {
  layout_.reset(memory);
  trees_[0].nodes(memory).col(0) = from;
  trees_[1].nodes(memory).col(0) = to;
}

/// The first tree grows towards it immediately.
void RrtConnect::add_goal(const Configuration& to, std::span<double> memory) const noexcept {
  Tree goals = trees_in(memory)[1];
  if (goals.is_full()) return;
  goals.nodes.col(goals.size()) = to;
  const int node = goals.add(goals.size());
  growing_(memory) = 1;
  connecting_(memory) = true;
  node_(memory) = node;
}

/// The second tree grows towards it immediately.
void RrtConnect::add_reached(const Configuration& q, int parent,
                             std::span<double> memory) const noexcept {
  Tree tree = trees_in(memory)[0];
  if (tree.is_full()) return;
  tree.nodes.col(tree.size()) = q;
  const int node = tree.add(std::min(parent, tree.size() - 1));
  growing_(memory) = 0;
  connecting_(memory) = true;
  node_(memory) = node;
}

/// Writes path_, from the first tree's root to where the trees meet, and on to the second one's.
void RrtConnect::join(const Tree& first, int at_first, const Tree& second, int at_second) noexcept {
  for (int i = at_first; i >= 0; i = first.parent(i)) path_.col(path_count_++) = first.nodes.col(i);
  for (int i = 0; i < path_count_ / 2; ++i) path_.col(i).swap(path_.col(path_count_ - 1 - i));
  for (int i = at_second; i >= 0; i = second.parent(i)) {
    // Where the trees meet is a node of both.
    if (i == at_second && second.nodes.col(i) == path_.col(path_count_ - 1)) continue;
    path_.col(path_count_++) = second.nodes.col(i);
  }
}

}  // namespace tendril
