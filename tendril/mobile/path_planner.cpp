#include "tendril/mobile/path_planner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tendril/kinematics/random_states.hpp"
#include "tendril/range.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kStep = 0.6;        // [m] of the body: one step of a tree
constexpr double kTolerance = 2e-4;  // [m] this much too near still counts as free
constexpr double kFar = 0.25;        // [m] larger clearances are not distinguished
constexpr int kShorteningChecks = 600;
constexpr double kFartherDetour = 2.0;  // every other one
constexpr int kFirstTries = 6;
constexpr double kBackOff = 0.4;  // [m], of the platform, away from where the arm points
// The folded arm: first hinge back, second forward, the others spread so that the tool points up.
constexpr double kFoldBack = -0.9, kFoldForward = 2.2;

const MobilePathPlannerOptions& checked(const MobilePathPlannerOptions& options) {
  constexpr char kName[] = "mobile path planner";
  require(kName, "max_nodes", options.max_nodes, {.low = 2.0});
  require(kName, "max_checks", options.max_checks, {.low = 1.0});
  require(kName, "max_line_checks", options.max_line_checks, {.low = 1.0});
  require(kName, "max_waypoints", options.max_waypoints, {.low = 1.0});
  require(kName, "margin", options.margin, kNotNegative, "m");
  require(kName, "own_margin", options.own_margin, kNotNegative, "m");
  require(kName, "resolution", options.resolution, {.low = 1e-6}, "m");
  require(kName, "detour", options.detour, kNotNegative, "m");
  return options;
}

}  // namespace

struct MobilePathPlanner::Space {
  MobilePathPlanner& planner;
  const Obstacles& obstacles;
  int seed;

  [[nodiscard]] double distance(const MobileConfiguration& a,
                                const MobileConfiguration& b) const noexcept {
    return planner.distance(a, b);
  }
  [[nodiscard]] bool is_free(const MobileConfiguration& x) noexcept {
    return planner.is_free(x, obstacles);
  }
  [[nodiscard]] bool line_is_free(const MobileConfiguration& a,
                                  const MobileConfiguration& b) noexcept {
    return planner.line_is_free(a, b, obstacles);
  }
  [[nodiscard]] int checks() const noexcept { return planner.checks_; }

  /// Sets the first two hinges, the other joints to 0.
  void set_arm(double first, double second, Eigen::VectorXd& x) const noexcept {
    const MobileRobot& robot = planner.body_.robot();
    for (int j = 0; j < robot.joint_count(); ++j) {
      const JointLimits& limits = robot.joint_limits(j);
      const double desired = j == 1 ? first : (j == 2 ? second : 0.0);
      x[kPlatformSize + j] = std::clamp(desired, limits.min, limits.max);
    }
  }

  /// A sample counts as a check.
  void sample(int attempt, const MobileConfiguration& from, const MobileConfiguration& to,
              Eigen::VectorXd& x) noexcept {
    ++planner.checks_;
    if (attempt < kFirstTries) {
      first_sample(attempt, from, to, x);
    } else {
      random_sample(attempt, from, to, x);
    }
  }

  /// Near either end, with another arm or the platform backed off.
  void first_sample(int attempt, const MobileConfiguration& from, const MobileConfiguration& to,
                    Eigen::VectorXd& x) const noexcept {
    x = attempt % 2 == 0 ? from : to;
    if (attempt < 2) {
      set_arm(0.0, 0.0, x);
    } else if (attempt < 4) {
      const double azimuth = x[2] + x[kPlatformSize];
      x[0] -= kBackOff * std::cos(azimuth);
      x[1] -= kBackOff * std::sin(azimuth);
    } else {
      set_arm(kFoldBack, kFoldForward, x);
    }
  }

  void random_sample(int attempt, const MobileConfiguration& from, const MobileConfiguration& to,
                     Eigen::VectorXd& x) const noexcept {
    // A stream for each attempt: nothing but its number is in the memory.
    SplitMix64 random((static_cast<std::uint64_t>(seed) << 32) +
                      static_cast<std::uint64_t>(attempt));
    const MobileRobot& robot = planner.body_.robot();
    const double detour = planner.options_.detour * (attempt % 2 == 0 ? 1.0 : kFartherDetour);
    for (Eigen::Index k = 0; k < 2; ++k) {
      x[k] = random.uniform(std::min(from[k], to[k]) - detour, std::max(from[k], to[k]) + detour);
    }
    const double heading = random.uniform();
    x[2] = attempt % 3 == 0 ? from[2] + kPi * (2.0 * heading - 1.0)
                            : from[2] + heading * (to[2] - from[2]);
    const auto copy_arm = [&](const MobileConfiguration& other) {
      x.tail(x.size() - kPlatformSize) = other.tail(other.size() - kPlatformSize);
    };
    switch (attempt % 6) {
      case 0:
        for (int j = 0; j < robot.joint_count(); ++j) {
          const JointLimits& limits = robot.joint_limits(j);
          x[kPlatformSize + j] = random.uniform(limits.min, limits.max);
        }
        break;
      case 1:
        set_arm(kFoldBack, kFoldForward, x);
        break;
      case 2:
        copy_arm(from);
        break;
      case 3:
        copy_arm(to);
        break;
      default:
        set_arm(0.0, 0.0, x);
    }
  }
};

MobilePathPlanner::MobilePathPlanner(const MobileBody& body,
                                     const MobilePathPlannerOptions& options)
    : body_(body),
      options_(checked(options)),
      search_({.dimension = static_cast<int>(configuration_size(body.robot())),
               .max_nodes = options.max_nodes,
               .max_samples = options.max_checks,
               .max_checks = options.max_checks,
               .max_waypoints = options.max_waypoints,
               .max_step = kStep}),
      seed_(layout_.index(0, std::numeric_limits<int>::max())),
      trees_(layout_.part(search_.layout())),
      middle_(configuration_size(body.robot())) {
  const MobileRobot& robot = body_.robot();
  const MobileRobotParameters& p = robot.parameters();
  const double mount = hypotenuse(p.mount_x, p.mount_y);
  const double arm = p.shoulder_offset + robot.reach();
  const double corner = 0.5 * hypotenuse(p.platform_length, p.platform_width);
  reach_ = {1.0, 1.0, std::max(corner, mount + arm), arm};
  double remaining = robot.reach();
  for (int i = 0; i < robot.link_count(); ++i) {
    reach_.push_back(remaining);
    remaining -= robot.link(i).length;
  }
  reach_.push_back(0.0);  // roll: the capsules lie on its axis
}

double MobilePathPlanner::distance(const MobileConfiguration& a,
                                   const MobileConfiguration& b) const noexcept {
  double sum = hypotenuse(a[0] - b[0], a[1] - b[1]);
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
                                double margin_ratio) noexcept {
  if (body_.own_clearance(joints_of(x)) < margin_ratio * options_.own_margin - kTolerance)
    return false;
  const double needed = margin_ratio * options_.margin - kTolerance;
  return obstacles.count() == 0 ||
         body_.clearance(platform_of(x), joints_of(x), obstacles, needed) >= needed;
}

bool MobilePathPlanner::line_is_free(const MobileConfiguration& a, const MobileConfiguration& b,
                                     const Obstacles& obstacles, double margin_ratio) noexcept {
  ++checks_;
  if (!is_free(b, obstacles, margin_ratio))
    return false;  // the end first: it is the likeliest to collide
  const double length = distance(a, b), own_length = own_distance(a, b);
  if (length == 0.0) return true;
  const auto clearances = [&](const MobileConfiguration& x, double& own, double& around) {
    own = body_.own_clearance(joints_of(x)) - margin_ratio * options_.own_margin;
    around = body_.clearance(platform_of(x), joints_of(x), obstacles,
                             margin_ratio * options_.margin + kFar) -
             margin_ratio * options_.margin;
  };
  // Steps as fractions of the line: no configuration nearer than its clearance collides.
  const double least =
      std::max(options_.resolution / length, 1.0 / static_cast<double>(options_.max_line_checks));
  const auto step = [&](double own, double around) {
    const double fraction = std::min(own_length > 0.0 ? own / own_length : 1.0, around / length);
    return std::max(least, fraction);
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

void MobilePathPlanner::begin(const MobileConfiguration& from, const MobileConfiguration& to,
                              int seed, std::span<double> memory) const noexcept {
  seed_(memory) = seed;
  search_.begin(from, to, trees_(memory));
}

MobilePathPlanner::Progress MobilePathPlanner::resume(const Obstacles& obstacles, int checks,
                                                      std::span<double> memory) noexcept {
  checks_ = 0;
  Space space{*this, obstacles, seed_(memory)};
  const Progress progress = search_.resume(space, checks, trees_(memory));
  if (progress != Progress::Found) return progress;
  return search_.shorten(space, kShorteningChecks) ? Progress::Found : Progress::Failed;
}

}  // namespace tendril
