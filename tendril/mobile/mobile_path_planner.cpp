#include "tendril/mobile/mobile_path_planner.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tendril/kinematics/random_states.hpp"
#include "tendril/mobile/mobile_support.hpp"

namespace tendril {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kStep = 0.6;        // [m] of the body: one step of a tree
constexpr double kTolerance = 2e-4;  // [m] this much too near still counts as free
constexpr double kFar = 0.25;        // [m] larger clearances are not told apart
constexpr int kShorteningChecks = 600;
constexpr double kFartherAside = 2.0;  // of the detours: every other one
constexpr int kFirstTries = 6;
constexpr double kBackOff = 0.4;  // [m], of the platform, away from where the arm points
// The folded arm: first hinge back, second forward, the others spread so that the tool points up.
constexpr double kFoldBack = -0.9, kFoldForward = 2.2;

// Memory of a search: these, then nodes and parents of the first tree, then of the second.
enum Slot : std::size_t {
  kSeed,
  kAttempt,
  kChecks,   // so far; 0: not even the straight line
  kGrowing,  // the tree whose turn it is
  kNode,     // of that tree, that the other one grows towards; -1: none
  kCounts,   // nodes of both trees
  kTrees = kCounts + 2
};

}  // namespace

MobilePathPlanner::MobilePathPlanner(const MobileBody& body,
                                     const MobilePathPlannerOptions& options)
    : body_(body),
      options_(options),
      aim_(configuration_size(body.robot())),
      middle_(configuration_size(body.robot())) {
  const auto require = [](bool good, const char* field, double value, const char* allowed) {
    if (!good) mobile::refuse_option("mobile way", field, value, allowed);
  };
  const auto at_least = [](double value, double low) {
    return std::isfinite(value) && value >= low;
  };
  require(options.max_nodes >= 2, "max_nodes", options.max_nodes, ">= 2");
  require(options.max_checks >= 1, "max_checks", options.max_checks, ">= 1");
  require(options.max_line_checks >= 1, "max_line_checks", options.max_line_checks, ">= 1");
  require(options.max_waypoints >= 1, "max_waypoints", options.max_waypoints, ">= 1");
  require(at_least(options.margin, 0.0), "margin", options.margin, "finite and >= 0 m");
  require(at_least(options.own_margin, 0.0), "own_margin", options.own_margin, "finite and >= 0 m");
  require(at_least(options.resolution, 1e-6), "resolution", options.resolution, ">= 1e-6 m");
  require(at_least(options.aside, 0.0), "aside", options.aside, "finite and >= 0 m");

  const MobileRobot& robot = body_.robot();
  const MobileRobotParameters& p = robot.parameters();
  const double mount = std::hypot(p.mount_x, p.mount_y);
  const double arm = p.shoulder_offset + robot.reach();
  const double corner = 0.5 * std::hypot(p.platform_length, p.platform_width);
  reach_ = {1.0, 1.0, std::max(corner, mount + arm), arm};
  double beyond = robot.reach();
  for (int i = 0; i < robot.link_count(); ++i) {
    reach_.push_back(beyond);
    beyond -= robot.link(i).length;
  }
  reach_.push_back(0.0);  // roll: the capsules lie on its axis
  const Eigen::Index n = configuration_size(robot);
  way_.resize(n, 2 * options.max_nodes);
  turns_.resize(n, options.max_waypoints);
}

int MobilePathPlanner::memory_size() const noexcept {
  const auto columns = static_cast<std::size_t>(2 * options_.max_nodes);
  return static_cast<int>(kTrees + columns * (static_cast<std::size_t>(aim_.size()) + 1));
}

MobilePathPlanner::Tree MobilePathPlanner::tree(std::span<double> memory,
                                                int which) const noexcept {
  const auto nodes = static_cast<std::size_t>(options_.max_nodes);
  const std::size_t size = nodes * (static_cast<std::size_t>(aim_.size()) + 1);
  double* at = memory.data() + kTrees + static_cast<std::size_t>(which) * size;
  return {.nodes = {at, aim_.size(), options_.max_nodes},
          .parents = {at + nodes * static_cast<std::size_t>(aim_.size()), options_.max_nodes},
          .count = memory[kCounts + static_cast<std::size_t>(which)]};
}

double MobilePathPlanner::distance(const MobileConfiguration& a,
                                   const MobileConfiguration& b) const noexcept {
  double sum = std::hypot(a[0] - b[0], a[1] - b[1]);
  for (Eigen::Index k = 2; k < a.size(); ++k)
    sum += reach_[static_cast<std::size_t>(k)] * std::abs(a[k] - b[k]);
  return sum;
}

double MobilePathPlanner::own_distance(const MobileConfiguration& a,
                                       const MobileConfiguration& b) const noexcept {
  double sum = 0.0;
  for (Eigen::Index k = kPlatformSize; k < a.size(); ++k)
    sum += reach_[static_cast<std::size_t>(k)] * std::abs(a[k] - b[k]);
  return sum;
}

bool MobilePathPlanner::is_free(const MobileConfiguration& x, const Obstacles& obstacles,
                                double share) noexcept {
  if (body_.own_clearance(joints_of(x)) < share * options_.own_margin - kTolerance) return false;
  const double needed = share * options_.margin - kTolerance;
  return obstacles.count() == 0 ||
         body_.clearance(platform_of(x), joints_of(x), obstacles, needed) >= needed;
}

bool MobilePathPlanner::line_is_free(const MobileConfiguration& a, const MobileConfiguration& b,
                                     const Obstacles& obstacles, double share) noexcept {
  ++checks_;
  if (!is_free(b, obstacles, share)) return false;  // the end first: it is the likeliest to collide
  const double length = distance(a, b), own_length = own_distance(a, b);
  if (length == 0.0) return true;
  const auto clearances = [&](const MobileConfiguration& x, double& own, double& around) {
    own = body_.own_clearance(joints_of(x)) - share * options_.own_margin;
    around =
        body_.clearance(platform_of(x), joints_of(x), obstacles, share * options_.margin + kFar) -
        share * options_.margin;
  };
  // Steps as parts of the line: no configuration nearer than its clearance collides.
  const double least =
      std::max(options_.resolution / length, 1.0 / static_cast<double>(options_.max_line_checks));
  const auto step = [&](double own, double around) {
    const double part = std::min(own_length > 0.0 ? own / own_length : 1.0, around / length);
    return std::max(least, part);
  };
  double own = 0.0, around = 0.0;
  clearances(a, own, around);
  const double least_own = std::min(own, 0.0) - kTolerance;
  const double least_around = std::min(around, 0.0) - kTolerance;
  for (double s = step(own, around); s < 1.0; s += step(own, around)) {
    middle_.noalias() = a + s * (b - a);
    ++checks_;
    clearances(middle_, own, around);
    if (own < least_own || around < least_around) return false;
  }
  return true;
}

/// Grows the tree from its nearest node by one step towards aim_. Its new node, or -1.
int MobilePathPlanner::extend(Tree& tree, const Obstacles& obstacles) noexcept {
  if (tree.size() == options_.max_nodes) return -1;
  int nearest = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < tree.size(); ++i) {
    if (const double d = distance(tree.nodes.col(i), aim_); d < least) {
      least = d;
      nearest = i;
    }
  }
  if (least == 0.0) return -1;
  const double share = std::min(1.0, kStep / least);
  const int added = tree.size();
  auto grown = tree.nodes.col(added);
  grown = tree.nodes.col(nearest) + share * (aim_ - tree.nodes.col(nearest));
  if (share == 1.0) grown = aim_;
  if (!line_is_free(tree.nodes.col(nearest), grown, obstacles)) return -1;
  tree.parents[added] = nearest;
  tree.count = added + 1;
  return added;
}

/// The configuration that the trees grow towards next, in aim_.
void MobilePathPlanner::draw(int attempt, int seed, const MobileConfiguration& from,
                             const MobileConfiguration& to) noexcept {
  // A stream for each attempt: nothing but its number is remembered.
  SplitMix64 random((static_cast<std::uint64_t>(seed) << 32) + static_cast<std::uint64_t>(attempt));
  const MobileRobot& robot = body_.robot();
  const auto set_arm = [&](double first, double second) {
    for (int j = 0; j < robot.joint_count(); ++j) {
      const JointLimits& limits = robot.joint_limits(j);
      const double desired = j == 1 ? first : (j == 2 ? second : 0.0);
      aim_[kPlatformSize + j] = std::clamp(desired, limits.min, limits.max);
    }
  };
  if (attempt < kFirstTries) {
    aim_ = attempt % 2 == 0 ? from : to;
    if (attempt < 2) {
      set_arm(0.0, 0.0);
    } else if (attempt < 4) {
      const double azimuth = aim_[2] + aim_[kPlatformSize];
      aim_[0] -= kBackOff * std::cos(azimuth);
      aim_[1] -= kBackOff * std::sin(azimuth);
    } else {
      set_arm(kFoldBack, kFoldForward);
    }
    return;
  }
  const double aside = options_.aside * (attempt % 2 == 0 ? 1.0 : kFartherAside);
  for (Eigen::Index k = 0; k < 2; ++k) {
    aim_[k] = random.uniform(std::min(from[k], to[k]) - aside, std::max(from[k], to[k]) + aside);
  }
  const double heading = random.uniform();
  aim_[2] = attempt % 3 == 0 ? from[2] + kPi * (2.0 * heading - 1.0)
                             : from[2] + heading * (to[2] - from[2]);
  const auto arm = [&](const MobileConfiguration& x) {
    aim_.tail(aim_.size() - kPlatformSize) = x.tail(x.size() - kPlatformSize);
  };
  switch (attempt % 6) {
    case 0:
      for (int j = 0; j < robot.joint_count(); ++j) {
        const JointLimits& limits = robot.joint_limits(j);
        aim_[kPlatformSize + j] = random.uniform(limits.min, limits.max);
      }
      break;
    case 1:
      set_arm(kFoldBack, kFoldForward);
      break;
    case 2:
      arm(from);
      break;
    case 3:
      arm(to);
      break;
    default:
      set_arm(0.0, 0.0);
  }
}

void MobilePathPlanner::begin(const MobileConfiguration& from, const MobileConfiguration& to,
                              int seed, std::span<double> memory) const noexcept {
  std::fill_n(memory.begin(), memory_size(), 0.0);
  memory[kSeed] = seed;
  memory[kNode] = -1.0;
  for (int which = 0; which < 2; ++which) {
    Tree tree = this->tree(memory, which);
    tree.nodes.col(0) = which == 0 ? from : to;
    tree.parents[0] = -1.0;
    tree.count = 1.0;
  }
}

MobilePathPlanner::Progress MobilePathPlanner::resume(const Obstacles& obstacles, int checks,
                                                      std::span<double> memory) noexcept {
  checks_ = waypoint_count_ = way_count_ = 0;
  Tree trees[2] = {tree(memory, 0), tree(memory, 1)};
  const auto from = trees[0].nodes.col(0), to = trees[1].nodes.col(0);
  if (memory[kChecks] == 0.0) {
    if (line_is_free(from, to, obstacles)) return Progress::Found;
    if (!is_free(to, obstacles)) return Progress::Failed;
  }
  while (checks_ < checks) {
    const int growing = static_cast<int>(memory[kGrowing]);
    Tree &tree = trees[growing], &other = trees[1 - growing];
    const int node = static_cast<int>(memory[kNode]);
    if (node >= 0) {  // the other tree grows towards the node, until it is there or blocked
      aim_ = tree.nodes.col(node);
      const int grown = extend(other, obstacles);
      if (grown >= 0 && other.nodes.col(grown) == aim_) {
        if (growing == 0) {
          join(tree, node, other, grown);
        } else {
          join(other, grown, tree, node);
        }
        return shorten(obstacles) ? Progress::Found : Progress::Failed;
      }
      if (grown >= 0) continue;
      memory[kNode] = -1.0;
      memory[kGrowing] = 1 - growing;
      continue;
    }
    if (trees[0].size() == options_.max_nodes || trees[1].size() == options_.max_nodes ||
        memory[kChecks] + checks_ >= options_.max_checks) {
      return Progress::Failed;
    }
    draw(static_cast<int>(memory[kAttempt]), static_cast<int>(memory[kSeed]), from, to);
    memory[kAttempt] += 1.0;
    const int grown = extend(tree, obstacles);
    ++checks_;  // ends even where the trees have nothing to grow towards
    memory[kNode] = grown;
    if (grown < 0) memory[kGrowing] = 1 - growing;
  }
  memory[kChecks] += checks_;
  return Progress::Searching;
}

/// From the first tree's root to where they meet, and on to the second one's: way_.
void MobilePathPlanner::join(const Tree& first, int at_first, const Tree& second,
                             int at_second) noexcept {
  const auto parent = [](const Tree& tree, int i) { return static_cast<int>(tree.parents[i]); };
  for (int i = at_first; i >= 0; i = parent(first, i)) way_.col(way_count_++) = first.nodes.col(i);
  for (int i = 0; i < way_count_ / 2; ++i) way_.col(i).swap(way_.col(way_count_ - 1 - i));
  for (int i = parent(second, at_second); i >= 0; i = parent(second, i))
    way_.col(way_count_++) = second.nodes.col(i);
}

/// Leaves out what a free straight line makes needless. False when too many turns are left.
bool MobilePathPlanner::shorten(const Obstacles& obstacles) noexcept {
  checks_ = 0;
  for (int at = 0; at < way_count_ - 1;) {
    int next = at + 1;
    for (int far = way_count_ - 1; far > at + 1 && checks_ < kShorteningChecks; --far) {
      if (line_is_free(way_.col(at), way_.col(far), obstacles)) {
        next = far;
        break;
      }
    }
    if (next < way_count_ - 1) {
      if (waypoint_count_ == options_.max_waypoints) return false;
      turns_.col(waypoint_count_++) = way_.col(next);
    }
    at = next;
  }
  return true;
}

}  // namespace tendril
