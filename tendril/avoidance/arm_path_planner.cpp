#include "tendril/avoidance/arm_path_planner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr double kStepPart = 0.25;    // of the robot's length: one step of a tree
constexpr double kDifference = 1e-6;  // [rad], [m]
constexpr double kTolerance = 1e-4;   // [m], of a check; this deep is still free
constexpr double kSlopeTolerance = 1e-7;
constexpr int kMostSteps = 60;            // along an arc
constexpr double kFar = 0.05;             // [m], larger clearances are not told apart
constexpr double kLeastSlope = 1e-3;      // [m/rad]: no direction in which to move away
constexpr double kShorteningShare = 0.3;  // of the checks, kept for shortening

void require(const char* field, double value, double low, const char* allowed) {
  if (!(value >= low) || !std::isfinite(value))
    throw ModelError(std::string("pose way: ") + field + " = " + std::to_string(value) +
                     ", must be " + allowed);
}

}  // namespace

ArmPathPlanner::ArmPathPlanner(const ContinuumRobot& robot, const ArmPathPlannerOptions& options)
    : robot_(robot),
      options_(options),
      reach_(static_cast<std::size_t>(robot.section_count())),
      body_(robot),
      states_(robot.straight().begin(), robot.straight().end()),
      aim_(robot.coordinate_count()),
      middle_(robot.coordinate_count()) {
  require("max_nodes", options.max_nodes, 2, ">= 2");
  require("max_checks", options.max_checks, 1, ">= 1");
  require("max_line_checks", options.max_line_checks, 1, ">= 1");
  require("max_waypoints", options.max_waypoints, 1, ">= 1");
  require("safety_distance", options.safety_distance, 0.0, "finite and >= 0 m");
  require("resolution", options.resolution, std::numeric_limits<double>::min(), "finite and > 0 m");
  double beyond = 0.0;
  for (int i = robot.section_count() - 1; i >= 0; --i)
    reach_[static_cast<std::size_t>(i)] = beyond += robot.section(i).max_length();
  const int n = robot.coordinate_count();
  for (Tree* tree : {&first_, &second_}) {
    tree->poses.resize(n, options.max_nodes);
    tree->parents.resize(static_cast<std::size_t>(options.max_nodes));
  }
  way_.resize(n, 2 * options.max_nodes);
  turns_.resize(n, options.max_waypoints);
}

void ArmPathPlanner::load(const Pose& q) noexcept {
  for (int i = 0; i < robot_.section_count(); ++i) {
    const int k = robot_.coordinate_index(i);
    SectionState& state = states_[static_cast<std::size_t>(i)];
    state = state_from_bend_vector(q[k], q[k + 1], robot_.section(i).is_extensible() ? q[k + 2] : 0,
                                   state.phi);
  }
}

bool ArmPathPlanner::is_free(const Pose& q, const Obstacles& obstacles,
                             const BaseState& base) noexcept {
  load(q);
  const ArcSearch search{.tolerance = kTolerance,
                         .below = options_.safety_distance - kTolerance,
                         .most_steps = kMostSteps};
  return body_clearance(body_, states_, base, obstacles, 0.0, search).obstacle < 0;
}

double ArmPathPlanner::clearance(const Pose& q, const Obstacles& obstacles,
                                 const BaseState& base) noexcept {
  load(q);
  return body_clearance(body_, states_, base, obstacles, options_.safety_distance,
                        {.tolerance = kSlopeTolerance, .most_steps = kMostSteps})
      .distance;
}

double ArmPathPlanner::distance(const Pose& a, const Pose& b) const noexcept {
  double sum = 0.0;
  for (int i = 0; i < robot_.section_count(); ++i) {
    const int k = robot_.coordinate_index(i);
    sum += reach_[static_cast<std::size_t>(i)] * std::hypot(a[k] - b[k], a[k + 1] - b[k + 1]);
    if (robot_.section(i).is_extensible()) sum += std::abs(a[k + 2] - b[k + 2]);
  }
  return sum;
}

bool ArmPathPlanner::line_is_free(const Pose& a, const Pose& b, const Obstacles& obstacles,
                                  const BaseState& base) noexcept {
  const double length = distance(a, b);
  ++checks_;
  if (!is_free(b, obstacles, base)) return false;  // the end first: it is the likeliest to collide
  const double least_step = std::max(options_.resolution, length / options_.max_line_checks);
  for (double way = least_step; way < length;) {
    middle_.noalias() = a + (way / length) * (b - a);
    ++checks_;
    // No pose nearer than its clearance collides.
    load(middle_);
    const ArcSearch search{.tolerance = kTolerance,
                           .below = options_.safety_distance + kFar,
                           .most_steps = kMostSteps};
    const double distance = body_clearance(body_, states_, base, obstacles, 0.0, search).distance -
                            options_.safety_distance;
    if (distance < -kTolerance) return false;
    way += std::max(least_step, distance);
  }
  return true;
}

/// Grows the tree from its nearest node by one step towards aim_. Its new node, or -1.
int ArmPathPlanner::extend(Tree& tree, const Obstacles& obstacles, const BaseState& base) noexcept {
  if (tree.count == options_.max_nodes) return -1;
  int nearest = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < tree.count; ++i) {
    if (const double d = distance(tree.poses.col(i), aim_); d < least) {
      least = d;
      nearest = i;
    }
  }
  if (least == 0.0) return -1;
  const double share = std::min(1.0, kStepPart * robot_.max_length() / least);
  auto grown = tree.poses.col(tree.count);
  grown = tree.poses.col(nearest) + share * (aim_ - tree.poses.col(nearest));
  if (share == 1.0) grown = aim_;
  if (!line_is_free(tree.poses.col(nearest), grown, obstacles, base)) return -1;
  tree.parents[static_cast<std::size_t>(tree.count)] = nearest;
  return tree.count++;
}

/// Grows the tree until it has aim_ as a node.
bool ArmPathPlanner::connect(Tree& tree, const Obstacles& obstacles,
                             const BaseState& base) noexcept {
  while (checks_ < options_.max_checks) {
    const int grown = extend(tree, obstacles, base);
    if (grown < 0) return false;
    if (tree.poses.col(grown) == aim_) return true;
  }
  return false;
}

/// The pose that the trees grow towards next, in aim_.
void ArmPathPlanner::draw(int attempt, const Pose& from, const Pose& to,
                          SplitMix64& random) noexcept {
  const auto write = [&](SectionStates states) {
    for (int i = 0; i < robot_.section_count(); ++i) {
      const SectionState& state = states[static_cast<std::size_t>(i)];
      const int k = robot_.coordinate_index(i);
      aim_.segment<2>(k) = bend_vector(state);
      if (robot_.section(i).is_extensible()) aim_[k + 2] = state.extension;
    }
  };
  if (attempt == 0) {
    write(robot_.straight());
  } else if (attempt <= 2) {
    write(robot_.straight());
    aim_ = 0.5 * (aim_ + (attempt == 1 ? from : to));
  } else {
    random_states(robot_, random, states_);
    write(states_);
    // Poses that are bent less collide less; some are near the straight line between both ends.
    const double bend = random.uniform();
    for (int i = 0; i < robot_.section_count(); ++i)
      aim_.segment<2>(robot_.coordinate_index(i)) *= bend;
    if (attempt % 2 == 1) {
      const double share = random.uniform();
      aim_ = 0.3 * aim_ + 0.7 * (from + share * (to - from));
    }
  }
}

int ArmPathPlanner::search(const Pose& from, const Pose& to, const Obstacles& obstacles,
                           const BaseState& base, std::uint64_t seed) noexcept {
  checks_ = 0;
  way_count_ = 0;
  if (line_is_free(from, to, obstacles, base)) return 0;
  if (!is_free(to, obstacles, base)) return -1;
  SplitMix64 random(seed);
  first_.poses.col(0) = from;
  second_.poses.col(0) = to;
  first_.parents[0] = second_.parents[0] = -1;
  first_.count = second_.count = 1;
  Tree *tree = &first_, *other = &second_;
  const int budget = static_cast<int>((1.0 - kShorteningShare) * options_.max_checks);
  for (int attempt = 0; checks_ < budget; ++attempt) {
    if (first_.count == options_.max_nodes || second_.count == options_.max_nodes) break;
    draw(attempt, from, to, random);
    const int grown = extend(*tree, obstacles, base);
    if (grown >= 0) {
      aim_ = tree->poses.col(grown);
      if (connect(*other, obstacles, base)) {
        // From the first tree's root to where they meet, and on to the second one's.
        const int at_first = tree == &first_ ? grown : first_.count - 1;
        const int at_second = tree == &first_ ? second_.count - 1 : grown;
        for (int i = at_first; i >= 0; i = first_.parents[static_cast<std::size_t>(i)])
          way_.col(way_count_++) = first_.poses.col(i);
        for (int i = 0; i < way_count_ / 2; ++i) way_.col(i).swap(way_.col(way_count_ - 1 - i));
        for (int i = second_.parents[static_cast<std::size_t>(at_second)]; i >= 0;
             i = second_.parents[static_cast<std::size_t>(i)])
          way_.col(way_count_++) = second_.poses.col(i);
        return shorten(obstacles, base);
      }
    }
    std::swap(tree, other);
  }
  return -1;
}

/// Leaves out what a free straight line makes needless; the turns that are left, or -1 when they
/// are too many.
int ArmPathPlanner::shorten(const Obstacles& obstacles, const BaseState& base) noexcept {
  int turns = 0;
  const int budget = options_.max_checks;
  for (int at = 0; at < way_count_ - 1;) {
    int next = at + 1;
    for (int far = way_count_ - 1; far > at + 1 && checks_ < budget; --far) {
      if (line_is_free(way_.col(at), way_.col(far), obstacles, base)) {
        next = far;
        break;
      }
    }
    if (next < way_count_ - 1) {
      if (turns == options_.max_waypoints) return -1;
      turns_.col(turns++) = way_.col(next);
    }
    at = next;
  }
  return turns;
}

void ArmPathPlanner::away(const Pose& q, const Obstacles& obstacles, const BaseState& base,
                          Eigen::Ref<Eigen::VectorXd> direction) noexcept {
  const double here = clearance(q, obstacles, base);
  middle_ = q;
  for (Eigen::Index k = 0; k < q.size(); ++k) {
    middle_[k] = q[k] + kDifference;
    direction[k] = (clearance(middle_, obstacles, base) - here) / kDifference;
    middle_[k] = q[k];
  }
  const double slope = direction.squaredNorm();
  if (!(slope > kLeastSlope * kLeastSlope) || !std::isfinite(slope)) {
    direction.setZero();
  } else {
    direction /= slope;
  }
}

}  // namespace tendril
