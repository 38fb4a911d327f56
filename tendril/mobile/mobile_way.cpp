#include "tendril/mobile/mobile_way.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tendril/mobile/mobile_support.hpp"

namespace tendril {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kStep = 0.6;             // [m] of the body: one step of a tree
constexpr double kTolerance = 2e-4;       // [m] this much too near still counts as free
constexpr double kFar = 0.25;             // [m] larger clearances are not told apart
constexpr double kShorteningShare = 0.3;  // of the checks, kept for shortening
constexpr int kFirstTries = 4;
// The folded arm: first hinge back, second forward, the others spread so that the tool points up.
constexpr double kFoldBack = -0.9, kFoldForward = 2.2;

}  // namespace

MobileWay::MobileWay(const MobileBody& body, const MobileWayOptions& options)
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
  require(options.max_turns >= 1, "max_turns", options.max_turns, ">= 1");
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
  for (Tree* tree : {&first_, &second_}) {
    tree->nodes.resize(n, options.max_nodes);
    tree->parents.resize(static_cast<std::size_t>(options.max_nodes));
  }
  way_.resize(n, 2 * options.max_nodes);
  turns_.resize(n, options.max_turns);
}

double MobileWay::distance(const MobileConfiguration& a,
                           const MobileConfiguration& b) const noexcept {
  double sum = std::hypot(a[0] - b[0], a[1] - b[1]);
  for (Eigen::Index k = 2; k < a.size(); ++k)
    sum += reach_[static_cast<std::size_t>(k)] * std::abs(a[k] - b[k]);
  return sum;
}

double MobileWay::own_distance(const MobileConfiguration& a,
                               const MobileConfiguration& b) const noexcept {
  double sum = 0.0;
  for (Eigen::Index k = kPlatformSize; k < a.size(); ++k)
    sum += reach_[static_cast<std::size_t>(k)] * std::abs(a[k] - b[k]);
  return sum;
}

bool MobileWay::is_free(const MobileConfiguration& x, const Obstacles& obstacles,
                        double share) noexcept {
  if (body_.own_clearance(joints_of(x)) < share * options_.own_margin - kTolerance) return false;
  const double needed = share * options_.margin - kTolerance;
  return obstacles.count() == 0 ||
         body_.clearance(platform_of(x), joints_of(x), obstacles, needed) >= needed;
}

bool MobileWay::line_is_free(const MobileConfiguration& a, const MobileConfiguration& b,
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
int MobileWay::extend(Tree& tree, const Obstacles& obstacles) noexcept {
  if (tree.count == options_.max_nodes) return -1;
  int nearest = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < tree.count; ++i) {
    if (const double d = distance(tree.nodes.col(i), aim_); d < least) {
      least = d;
      nearest = i;
    }
  }
  if (least == 0.0) return -1;
  const double share = std::min(1.0, kStep / least);
  auto grown = tree.nodes.col(tree.count);
  grown = tree.nodes.col(nearest) + share * (aim_ - tree.nodes.col(nearest));
  if (share == 1.0) grown = aim_;
  if (!line_is_free(tree.nodes.col(nearest), grown, obstacles)) return -1;
  tree.parents[static_cast<std::size_t>(tree.count)] = nearest;
  return tree.count++;
}

/// Grows the tree until it has aim_ as a node.
bool MobileWay::connect(Tree& tree, const Obstacles& obstacles) noexcept {
  while (checks_ < options_.max_checks) {
    const int grown = extend(tree, obstacles);
    if (grown < 0) return false;
    if (tree.nodes.col(grown) == aim_) return true;
  }
  return false;
}

/// The configuration that the trees grow towards next, in aim_.
void MobileWay::draw(int attempt, const MobileConfiguration& from, const MobileConfiguration& to,
                     SplitMix64& random) noexcept {
  const MobileRobot& robot = body_.robot();
  const auto set_arm = [&](double first, double second) {
    for (int j = 0; j < robot.joint_count(); ++j) {
      const JointLimits& limits = robot.joint_limits(j);
      const double wanted = j == 1 ? first : (j == 2 ? second : 0.0);
      aim_[kPlatformSize + j] = std::clamp(wanted, limits.min, limits.max);
    }
  };
  if (attempt < kFirstTries) {
    aim_ = attempt % 2 == 0 ? from : to;
    attempt < 2 ? set_arm(0.0, 0.0) : set_arm(kFoldBack, kFoldForward);
    return;
  }
  for (Eigen::Index k = 0; k < 2; ++k) {
    aim_[k] = random.uniform(std::min(from[k], to[k]) - options_.aside,
                             std::max(from[k], to[k]) + options_.aside);
  }
  const double heading = random.uniform();
  aim_[2] = attempt % 3 == 0 ? from[2] + kPi * (2.0 * heading - 1.0)
                             : from[2] + heading * (to[2] - from[2]);
  switch (attempt % 4) {
    case 0:
      for (int j = 0; j < robot.joint_count(); ++j) {
        const JointLimits& limits = robot.joint_limits(j);
        aim_[kPlatformSize + j] = random.uniform(limits.min, limits.max);
      }
      break;
    case 1:
      set_arm(kFoldBack, kFoldForward);
      break;
    default:
      set_arm(0.0, 0.0);
  }
}

int MobileWay::search(const MobileConfiguration& from, const MobileConfiguration& to,
                      const Obstacles& obstacles, std::uint64_t seed) noexcept {
  checks_ = 0;
  way_count_ = 0;
  if (line_is_free(from, to, obstacles)) return 0;
  if (!is_free(to, obstacles)) return -1;
  SplitMix64 random(seed);
  first_.nodes.col(0) = from;
  second_.nodes.col(0) = to;
  first_.parents[0] = second_.parents[0] = -1;
  first_.count = second_.count = 1;
  Tree *tree = &first_, *other = &second_;
  const int budget = static_cast<int>((1.0 - kShorteningShare) * options_.max_checks);
  for (int attempt = 0; checks_ < budget; ++attempt) {
    if (first_.count == options_.max_nodes || second_.count == options_.max_nodes) break;
    draw(attempt, from, to, random);
    const int grown = extend(*tree, obstacles);
    if (grown >= 0) {
      aim_ = tree->nodes.col(grown);
      if (connect(*other, obstacles)) {
        // From the first tree's root to where they meet, and on to the second one's.
        const int at_first = tree == &first_ ? grown : first_.count - 1;
        const int at_second = tree == &first_ ? second_.count - 1 : grown;
        for (int i = at_first; i >= 0; i = first_.parents[static_cast<std::size_t>(i)])
          way_.col(way_count_++) = first_.nodes.col(i);
        for (int i = 0; i < way_count_ / 2; ++i) way_.col(i).swap(way_.col(way_count_ - 1 - i));
        for (int i = second_.parents[static_cast<std::size_t>(at_second)]; i >= 0;
             i = second_.parents[static_cast<std::size_t>(i)])
          way_.col(way_count_++) = second_.nodes.col(i);
        return shorten(obstacles);
      }
    }
    std::swap(tree, other);
  }
  return -1;
}

/// Leaves out what a free straight line makes needless; the turns that are left, or -1 when they
/// are too many.
int MobileWay::shorten(const Obstacles& obstacles) noexcept {
  int turns = 0;
  for (int at = 0; at < way_count_ - 1;) {
    int next = at + 1;
    for (int far = way_count_ - 1; far > at + 1 && checks_ < options_.max_checks; --far) {
      if (line_is_free(way_.col(at), way_.col(far), obstacles)) {
        next = far;
        break;
      }
    }
    if (next < way_count_ - 1) {
      if (turns == options_.max_turns) return -1;
      turns_.col(turns++) = way_.col(next);
    }
    at = next;
  }
  return turns;
}

}  // namespace tendril
