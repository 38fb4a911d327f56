#include "tendril/avoidance/arm_path_planner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tendril/kinematics/random_states.hpp"
#include "tendril/range.hpp"

namespace tendril {
namespace {

constexpr double kStepRatio = 0.25;       // of the robot's length: one step of a tree
constexpr double kDifference = 1e-6;      // [rad], [m]
constexpr double kTolerance = 1e-4;       // [m], of a check; this deep is still free
constexpr double kSlopeTolerance = 1e-7;  // [m]
constexpr int kMaxSteps = 60;             // along an arc
constexpr double kFar = 0.015;            // [m], larger clearances are not distinguished
constexpr double kMinSlope = 1e-3;        // [m/rad]: no direction in which to move away
constexpr int kShorteningChecks = 100;

const ArmPathPlannerOptions& checked(const ArmPathPlannerOptions& options) {
  constexpr char kName[] = "arm path planner";
  require(kName, "max_nodes", options.max_nodes, {.low = 2.0});
  require(kName, "max_checks", options.max_checks, {.low = 1.0});
  require(kName, "max_line_checks", options.max_line_checks, {.low = 1.0});
  require(kName, "max_waypoints", options.max_waypoints, {.low = 1.0});
  require(kName, "safety_distance", options.safety_distance, kNotNegative, "m");
  require(kName, "resolution", options.resolution, kPositive, "m");
  return options;
}

}  // namespace

/// The first samples are the straight arm and the ends of the path bent half as much; then random
/// poses that are bent less, as these collide less.
struct ArmPathPlanner::Space {
  ArmPathPlanner& planner;
  const Obstacles& obstacles;
  const BaseState& base;
  int seed;

  [[nodiscard]] double distance(const Pose& a, const Pose& b) const noexcept {
    return planner.distance(a, b);
  }
  [[nodiscard]] bool is_free(const Pose& q) noexcept { return planner.is_free(q, obstacles, base); }
  [[nodiscard]] bool line_is_free(const Pose& a, const Pose& b) noexcept {
    return planner.line_is_free(a, b, obstacles, base);
  }
  [[nodiscard]] int checks() const noexcept { return planner.checks_; }

  void sample(int attempt, const Pose& from, const Pose& to, Eigen::VectorXd& q) noexcept {
    const ContinuumRobot& robot = planner.robot_;
    const auto write = [&](SectionStates states) {
      for (int i = 0; i < robot.section_count(); ++i) {
        const SectionState& state = states[static_cast<std::size_t>(i)];
        const int k = robot.coordinate_index(i);
        q.segment<2>(k) = bend_vector(state);
        if (robot.section(i).is_extensible()) q[k + 2] = state.extension;
      }
    };
    if (attempt == 0) {
      write(robot.straight());
    } else if (attempt <= 2) {
      write(robot.straight());
      q = 0.5 * (q + (attempt == 1 ? from : to));
    } else {
      // A stream for each attempt: nothing but its number is in the memory.
      SplitMix64 random((static_cast<std::uint64_t>(seed) << 32) +
                        static_cast<std::uint64_t>(attempt));
      random_states(robot, random, planner.states_);
      write(planner.states_);
      const double bend = random.uniform();
      for (int i = 0; i < robot.section_count(); ++i)
        q.segment<2>(robot.coordinate_index(i)) *= bend;
    }
  }
};

ArmPathPlanner::ArmPathPlanner(const ContinuumRobot& robot, const ArmPathPlannerOptions& options)
    : robot_(robot),
      options_(checked(options)),
      reach_(static_cast<std::size_t>(robot.section_count())),
      body_(robot),
      states_(robot.straight().begin(), robot.straight().end()),
      search_({.dimension = robot.coordinate_count(),
               .max_nodes = options.max_nodes,
               .max_samples = options.max_checks,
               .max_checks = options.max_checks,
               .max_waypoints = options.max_waypoints,
               .max_step = kStepRatio * robot.max_length()}),
      seed_(layout_.index(0, std::numeric_limits<int>::max())),
      trees_(layout_.part(search_.layout())),
      middle_(robot.coordinate_count()) {
  double total = 0.0;
  for (int i = robot.section_count() - 1; i >= 0; --i)
    reach_[static_cast<std::size_t>(i)] = total += robot.section(i).max_length();
}

void ArmPathPlanner::load(const Pose& q) noexcept {
  for (int i = 0; i < robot_.section_count(); ++i) {
    const int k = robot_.coordinate_index(i);
    SectionState& state = states_[static_cast<std::size_t>(i)];
    state = state_from_bend_vector(q[k], q[k + 1], robot_.section(i).is_extensible() ? q[k + 2] : 0,
                                   state.phi);
  }
}

bool ArmPathPlanner::is_free(const Pose& q, const Obstacles& obstacles, const BaseState& base,
                             double slack) noexcept {
  load(q);
  const ArcSearch search{.tolerance = kTolerance,
                         .below = options_.safety_distance - slack - kTolerance,
                         .most_steps = kMaxSteps};
  return body_clearance(body_, states_, base, obstacles, 0.0, search).obstacle < 0;
}

double ArmPathPlanner::clearance(const Pose& q, const Obstacles& obstacles,
                                 const BaseState& base) noexcept {
  load(q);
  return body_clearance(body_, states_, base, obstacles, options_.safety_distance,
                        {.tolerance = kSlopeTolerance, .most_steps = kMaxSteps})
      .distance;
}

double ArmPathPlanner::distance(const Pose& a, const Pose& b) const noexcept {
  double sum = 0.0;
  for (int i = 0; i < robot_.section_count(); ++i) {
    const int k = robot_.coordinate_index(i);
    sum += reach_[static_cast<std::size_t>(i)] * std::sqrt((a - b).segment<2>(k).squaredNorm());
    if (robot_.section(i).is_extensible()) sum += std::abs(a[k + 2] - b[k + 2]);
  }
  return sum;
}

bool ArmPathPlanner::line_is_free(const Pose& a, const Pose& b, const Obstacles& obstacles,
                                  const BaseState& base, double slack) noexcept {
  const double length = distance(a, b);
  ++checks_;
  if (!is_free(b, obstacles, base, slack)) return false;  // first: it is the likeliest to collide
  const double least_step = std::max(options_.resolution, length / options_.max_line_checks);
  for (double traveled = least_step; traveled < length;) {
    middle_.noalias() = a + (traveled / length) * (b - a);
    ++checks_;
    // No pose nearer than its clearance collides.
    load(middle_);
    const ArcSearch search{
        .tolerance = kTolerance, .below = options_.safety_distance + kFar, .most_steps = kMaxSteps};
    const double distance = body_clearance(body_, states_, base, obstacles, 0.0, search).distance -
                            options_.safety_distance + slack;
    if (distance < -kTolerance && distance < clearance(a, obstacles, base) + slack - kTolerance)
      return false;
    traveled += std::max(least_step, distance);
  }
  return true;
}

void ArmPathPlanner::begin(const Pose& from, const Pose& to, int seed,
                           std::span<double> memory) const noexcept {
  seed_(memory) = seed;
  search_.begin(from, to, trees_(memory));
}

ArmPathPlanner::Progress ArmPathPlanner::resume(const Obstacles& obstacles, const BaseState& base,
                                                int checks, std::span<double> memory) noexcept {
  checks_ = 0;
  Space space{*this, obstacles, base, seed_(memory)};
  const Progress progress = search_.resume(space, checks, trees_(memory));
  if (progress != Progress::Found) return progress;
  return search_.shorten(space, kShorteningChecks) ? Progress::Found : Progress::Failed;
}

void ArmPathPlanner::away(const Pose& q, const Obstacles& obstacles, const BaseState& base,
                          Eigen::Ref<Eigen::VectorXd> direction) noexcept {
  const double here = clearance(q, obstacles, base);
  middle_ = q;
  const Eigen::Index stiff = 2 * robot_.rail_count();  // coordinates: a rail does not bend
  direction.head(stiff).setZero();
  for (Eigen::Index k = stiff; k < q.size(); ++k) {
    middle_[k] = q[k] + kDifference;
    direction[k] = (clearance(middle_, obstacles, base) - here) / kDifference;
    middle_[k] = q[k];
  }
  const double slope = direction.squaredNorm();
  if (!(slope > kMinSlope * kMinSlope) || !std::isfinite(slope)) {
    direction.setZero();
  } else {
    direction /= slope;
  }
}

}  // namespace tendril
