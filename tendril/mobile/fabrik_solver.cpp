#include "tendril/mobile/fabrik_solver.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "tendril/mobile/support.hpp"
#include "tendril/range.hpp"

namespace tendril {
namespace {

using mobile::PlaneCase;
using mobile::Problem;

constexpr double kPi = std::numbers::pi;
constexpr double kDegree = kPi / 180.0;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kStallFloor = 1e-9;      // [m] changes of the error below it are none
constexpr double kMinShift = 1e-6;        // [m]
constexpr double kToleranceRatio = 0.99;  // of a tolerance, leaves room for rounding
constexpr double kVerySmall = 1e-12;      // [m] two points are one

/// Elbow postures that attempts begin with: angles of the first and the last but one link from the
/// vertical, those between are spread evenly; the last link continues the one before.
struct Seed {
  double first, last;  // [rad]
  double side;         // the wrist is this side of the target: sign of the abscissa
};
constexpr std::array kSeeds = {Seed{20.0 * kDegree, 80.0 * kDegree, -1.0},
                               Seed{-20.0 * kDegree, -80.0 * kDegree, 1.0},
                               Seed{60.0 * kDegree, -10.0 * kDegree, -1.0}};
/// Starts with the links up to the wrist in line, tried after the seeds, leaning forward or back
/// such that the wrist has its height: near full extension the other starts converge too slowly.
constexpr std::array kTilts = {1.0, -1.0};
constexpr int kStarts = 1 + static_cast<int>(kSeeds.size() + kTilts.size());
constexpr double kSeedTilt = 0.5, kSeedAside = 0.2;  // of the arm's length
constexpr double kNudge = 0.04;      // of the arm's length: shift that frees a limit
constexpr double kSearchStep = 0.1;  // of the arm's length: between base poses
constexpr int kSearchSteps = 60;
constexpr int kHalvings = 10;  // of a shift that the platform's rule forbids

double dot(double ax, double az, double bx, double bz) { return ax * bx + az * bz; }

}  // namespace

MobileFabrikSolver::MobileFabrikSolver(const MobileRobot& robot, const MobileFabrikOptions& options)
    : robot_(robot),
      options_(options),
      points_(static_cast<std::size_t>(robot.link_count()) + 1),
      directions_(static_cast<std::size_t>(robot.link_count())),
      start_(static_cast<std::size_t>(robot.joint_count())),
      joints_(start_.size()),
      trial_(start_.size()) {
  const std::string name = "mobile fabrik options";
  require(name, "max_iterations", options.max_iterations, {.low = 1.0});
  require(name, "max_stalls", options.max_stalls, kNotNegative);
  require(name, "position_tolerance", options.position_tolerance, kPositive, "m");
  require(name, "angle_tolerance", options.angle_tolerance, kPositive, "rad");
  require(name, "stall_ratio", options.stall_ratio,
          {.low = 0.0, .high = 1.0, .open_low = true, .open_high = true});
  const std::size_t count = directions_.size();
  if (options.polish && count != 3) refuse(name, "polish", 1.0, "off unless the arm has 3 links");
  if (count == 3 && (options.fallback || options.polish)) {
    closed_form_.emplace(robot, ClosedFormOptions{.position_tolerance = options.position_tolerance,
                                                  .angle_tolerance = options.angle_tolerance,
                                                  .check_floor = options.check_floor,
                                                  .cost = options.cost});
  }
  priorities_ = robot.parameters().priorities;
  priorities_.resize(count, 1.0);
  for (int i = 0; i < robot.link_count(); ++i) {
    const ArmLink& link = robot.link(i);
    lengths_.push_back(link.length);
    const double middle = 0.5 * (link.limits.min + link.limits.max);
    const double half = 0.5 * (link.limits.max - link.limits.min);
    const auto direction = [](double a) { return Point{std::sin(a), std::cos(a)}; };
    sectors_.push_back({.whole_turn = half >= kPi,
                        .middle = direction(middle),
                        .low = direction(link.limits.min),
                        .high = direction(link.limits.max),
                        .cos_half = std::cos(std::min(half, kPi))});
  }
}

MobileResult MobileFabrikSolver::solve(const ToolTarget& target, const PlatformPose& base,
                                       JointAngles joints, const PlatformRule& rule) noexcept {
  MobileResult result{.position_error = kInfinity, .angle_error = kInfinity, .base = base};
  // The start may be the joints of the previous solution, which are in `joints_`.
  result.status = mobile::begin(robot_, target, base, joints, options_.check_floor, start_);
  joints_ = start_;
  result.joints = joints_;
  if (result.status == MobileStatus::InvalidStart) result.base = {};  // it may not be finite
  if (result.status != MobileStatus::Converged) return result;
  const Problem problem{.target = &target, .base = base, .joints = start_, .rule = rule};

  mobile::evaluate(robot_, problem, base, joints_, result);
  const bool met = result.position_error <= options_.position_tolerance &&
                   result.angle_error <= options_.angle_tolerance;
  if (met && (rule.frozen || rule(base))) return result;

  const bool nearest_first = options_.planes != PlaneOrder::FacingFirst;
  const mobile::PlaneCases planes =
      mobile::plane_cases(robot_, problem, options_.position_tolerance, nearest_first);
  const bool one_plane =
      !options_.features.second_plane || options_.planes == PlaneOrder::NearestOnly;
  const std::span<const PlaneCase> tried = planes.view().first(one_plane ? 1 : planes.count);
  if (attempt_all(tried, problem, result)) return result;
  const bool admissible = std::any_of(tried.begin(), tried.end(), [](const PlaneCase& plane) {
    return plane.refusal == MobileStatus::Converged;
  });
  if (!admissible) {
    result.status = mobile::common_refusal(tried);
    return result;
  }
  result.status = MobileStatus::Stalled;
  if (!options_.fallback || !closed_form_) return result;
  if (one_plane) {
    result.fallback = cheapest_in_plane(tried.front(), problem, result);
    return result;
  }
  return fall_back(problem, result);
}

/// Attempts from every start in every plane. Whether one meets the target.
bool MobileFabrikSolver::attempt_all(std::span<const PlaneCase> planes, const Problem& problem,
                                     MobileResult& result) noexcept {
  const PlatformRule& rule = problem.rule;
  const MobileFabrikFeatures& features = options_.features;
  const int starts = features.starts ? kStarts : 1;
  // First with shifts to the other side, then with shifts that bring the joint just above the one
  // before it. A frozen base does not shift.
  const bool both_shifts = features.mirror_shift && features.starts && !rule.frozen;
  for (const double gamma : {features.mirror_shift ? 2.0 : 1.0, 1.0}) {
    for (const PlaneCase& plane : planes) {
      if (plane.refusal != MobileStatus::Converged) continue;
      for (int start = 0; start < starts; ++start) {
        double desired = start_posture(plane, problem, start);
        if (rule.frozen) desired = plane.start_abscissa;
        const std::optional<double> abscissa = nearest_allowed(plane, problem, desired);
        if (!abscissa) continue;
        ++result.attempts;
        if (attempt(plane, problem, *abscissa, gamma, result) == Outcome::Met) {
          finish(plane, problem, result);
          return true;
        }
        keep_if_nearer(plane, problem, result);
      }
    }
    if (!both_shifts) break;
  }
  return false;
}

/// The closed form's result, with the counts of the attempts that failed.
MobileResult MobileFabrikSolver::fall_back(const Problem& problem,
                                           const MobileResult& attempts) noexcept {
  MobileResult exact =
      closed_form_->solve(*problem.target, problem.base, problem.joints, problem.rule);
  exact.iterations += attempts.iterations;
  exact.attempts += attempts.attempts;
  exact.base_shifts = attempts.base_shifts;
  exact.limit_shifts = attempts.limit_shifts;
  exact.fallback = exact.converged();
  if (!exact.converged()) {  // the pose nearest to the target is that of the attempts
    exact.plane = attempts.plane;
    exact.base = attempts.base;
    exact.joints = attempts.joints;
    exact.position_error = attempts.position_error;
    exact.angle_error = attempts.angle_error;
    exact.base_travel = attempts.base_travel;
    exact.heading_change = attempts.heading_change;
  }
  return exact;
}

/// [Mobile] lines 1.1 to 1.52, corrected: one start in one plane.
MobileFabrikSolver::Outcome MobileFabrikSolver::attempt(const PlaneCase& plane,
                                                        const Problem& problem, double abscissa,
                                                        double gamma,
                                                        MobileResult& result) noexcept {
  const double height = problem.target->X_WG.translation().z();
  const double tolerance = kToleranceRatio * options_.position_tolerance;
  const double cos_tolerance = std::cos(std::min(kToleranceRatio * options_.angle_tolerance, kPi));
  const bool test_orientation = options_.features.orientation_test;
  place(abscissa);
  limit_joint_ = -1;
  double previous = kInfinity, nudge = kNudge * robot_.reach();
  int stalls = 0;
  for (int iteration = 0;; ++iteration) {
    // Errors of the present iterate (1.5, 1.6).
    const double ex = -points_.back().x, ez = height - points_.back().z;
    const double error = std::sqrt(ex * ex + ez * ez);
    const Point& last = directions_.back();
    const bool along = dot(last.x, last.z, plane.last_sin, plane.last_cos) >= cos_tolerance;
    if (error < tolerance && (along || !test_orientation) && accept(plane, problem, result))
      return Outcome::Met;
    if (iteration == options_.max_iterations) return Outcome::Failed;

    // The error stalls: the base helps (1.10 to 1.24).
    if (error > previous ||
        std::abs(error - previous) < options_.stall_ratio * error + kStallFloor) {
      if (++stalls > options_.max_stalls || problem.rule.frozen) return Outcome::Failed;
      if (std::abs(ex) > 0.5 * tolerance && shift(plane, problem, ex, points_.size() - 1)) {
        ++result.base_shifts;
      } else if (limit_joint_ >= 0) {
        const auto m = static_cast<std::size_t>(limit_joint_);
        double distance = gamma * (points_[m].x - (m == 0 ? foot_ : points_[m - 1].x));
        if (std::abs(distance) < kMinShift) {
          distance = nudge;
          nudge = -nudge;
        }
        if (!shift(plane, problem, distance, m)) return Outcome::Failed;
        ++result.limit_shifts;
        limit_joint_ = -1;
      } else {
        return Outcome::Failed;
      }
    }

    forward_pass(plane, height);
    backward_pass(plane);
    previous = error;
    ++result.iterations;
  }
}

/// Reaches from the target towards the base (1.27 to 1.35). The first link and the base are put
/// back by the backward pass, so the points before the third need no step.
void MobileFabrikSolver::forward_pass(const PlaneCase& plane, double height) noexcept {
  const std::size_t n = directions_.size();
  Point next_old = points_[n];
  points_[n] = {0.0, height};
  for (std::size_t i = n - 1; i >= 1; --i) {
    const Point old = points_[i];
    if (i == n - 1 && options_.features.orientation_forward) {
      points_[i] = {-lengths_[i] * plane.last_sin, height - lengths_[i] * plane.last_cos};
    } else {
      double ax = next_old.x - old.x, az = next_old.z - old.z;
      const double a = std::sqrt(ax * ax + az * az);
      const double keep = a > kVerySmall ? priorities_[i] * lengths_[i] / a : 0.0;
      const double bx = points_[i + 1].x - (next_old.x - keep * ax);
      const double bz = points_[i + 1].z - (next_old.z - keep * az);
      const double b = std::sqrt(bx * bx + bz * bz);
      if (b > kVerySmall) {
        points_[i] = {points_[i + 1].x - lengths_[i] * bx / b,
                      points_[i + 1].z - lengths_[i] * bz / b};
      } else {  // the desired point is the next one: the old direction
        points_[i] = {points_[i + 1].x - lengths_[i] * directions_[i].x,
                      points_[i + 1].z - lengths_[i] * directions_[i].z};
      }
    }
    next_old = old;
  }
}

/// Reaches from the base towards the tool, each hinge kept in its range (1.36 to 1.51).
void MobileFabrikSolver::backward_pass(const PlaneCase& plane) noexcept {
  const std::size_t n = directions_.size();
  points_[0] = {foot_ + robot_.parameters().shoulder_offset, robot_.parameters().shoulder_height};
  limit_joint_ = -1;
  Point before{0.0, 1.0};  // the vertical
  for (std::size_t i = 0; i < n; ++i) {
    Point desired{plane.last_sin, plane.last_cos};
    if (i + 1 < n) {
      const double ax = points_[i + 1].x - points_[i].x, az = points_[i + 1].z - points_[i].z;
      const double a = std::sqrt(ax * ax + az * az);
      desired = a > kVerySmall ? Point{ax / a, az / a} : directions_[i];
    }
    // Sine and cosine of the hinge angle, and whether its range holds it.
    const Point hinge{desired.x * before.z - desired.z * before.x,
                      desired.x * before.x + desired.z * before.z};
    const Sector& sector = sectors_[i];
    if (!sector.whole_turn &&
        dot(hinge.x, hinge.z, sector.middle.x, sector.middle.z) < sector.cos_half) {
      const bool above = hinge.x * sector.middle.z - hinge.z * sector.middle.x > 0.0;
      const Point& limit = above ? sector.high : sector.low;
      desired = {before.x * limit.z + before.z * limit.x, before.z * limit.z - before.x * limit.x};
      limit_joint_ = static_cast<int>(i);
    }
    directions_[i] = desired;
    points_[i + 1] = {points_[i].x + lengths_[i] * desired.x,
                      points_[i].z + lengths_[i] * desired.z};
    before = desired;
  }
}

/// Moves the base and the first `points` points along the plane, as far as the platform is allowed
/// to. False if it may not move at all.
bool MobileFabrikSolver::shift(const PlaneCase& plane, const Problem& problem, double distance,
                               std::size_t points) noexcept {
  double moved = distance;
  for (int k = 0; !mobile::allowed(plane, problem, foot_ + moved); ++k) {
    if (k == kHalvings) return false;
    moved *= 0.5;
  }
  foot_ += moved;
  for (std::size_t i = 0; i < points; ++i) points_[i].x += moved;
  return true;
}

/// The allowed abscissa nearest to the desired one.
std::optional<double> MobileFabrikSolver::nearest_allowed(const PlaneCase& plane,
                                                          const Problem& problem,
                                                          double abscissa) const noexcept {
  if (mobile::allowed(plane, problem, abscissa)) return abscissa;
  const double step = kSearchStep * robot_.reach();
  for (int k = 1; k <= kSearchSteps; ++k) {
    for (const double there : {abscissa + k * step, abscissa - k * step})
      if (mobile::allowed(plane, problem, there)) return there;
  }
  return std::nullopt;
}

/// Directions of the links at a start, and the abscissa of its base: 0 the joints as given, then
/// the seeds, then the leaning ones.
double MobileFabrikSolver::start_posture(const PlaneCase& plane, const Problem& problem,
                                         int start) noexcept {
  const std::size_t last = directions_.size() - 1;
  if (start == 0) {
    double b = 0.0;
    for (std::size_t i = 0; i <= last; ++i) {
      b += problem.joints[i + 1];
      directions_[i] = {std::sin(b), std::cos(b)};
    }
    return plane.start_abscissa;
  }
  const auto k = static_cast<std::size_t>(start - 1);
  if (k < kSeeds.size()) {
    const Seed& seed = kSeeds[k];
    for (std::size_t i = 0; i < last; ++i) {
      const double ratio = last > 1 ? static_cast<double>(i) / static_cast<double>(last - 1) : 0.0;
      const double b = seed.first + ratio * (seed.last - seed.first);
      directions_[i] = {std::sin(b), std::cos(b)};
    }
    directions_[last] = directions_[last - 1];
    return robot_.reach() * (-kSeedTilt * plane.last_sin + kSeedAside * seed.side);
  }
  const double wrist_height =
      problem.target->X_WG.translation().z() - lengths_[last] * plane.last_cos;
  const double cosine = std::clamp(
      (wrist_height - robot_.parameters().shoulder_height) / robot_.wrist_reach(), -1.0, 1.0);
  const double sine = kTilts[k - kSeeds.size()] * std::sqrt(1.0 - cosine * cosine);
  std::fill(directions_.begin(), directions_.end() - 1, Point{sine, cosine});
  directions_[last] = {plane.last_sin, plane.last_cos};
  return -lengths_[last] * plane.last_sin - robot_.wrist_reach() * sine -
         robot_.parameters().shoulder_offset;
}

/// The points of the links' directions on a base at the given abscissa.
void MobileFabrikSolver::place(double abscissa) noexcept {
  foot_ = abscissa;
  points_[0] = {foot_ + robot_.parameters().shoulder_offset, robot_.parameters().shoulder_height};
  for (std::size_t i = 0; i < directions_.size(); ++i) {
    points_[i + 1] = {points_[i].x + lengths_[i] * directions_[i].x,
                      points_[i].z + lengths_[i] * directions_[i].z};
  }
}

/// Reads the joints off the links into `trial_` and evaluates them by forward kinematics. False if
/// a limit or the floor forbids them.
bool MobileFabrikSolver::read_joints(const PlaneCase& plane, const Problem& problem,
                                     MobileResult& evaluated) noexcept {
  trial_.front() = plane.yaw;
  trial_.back() = plane.roll;
  double before = 0.0;
  for (std::size_t i = 0; i < directions_.size(); ++i) {
    const double b = std::atan2(directions_[i].x, directions_[i].z);
    const std::optional<double> q = mobile::into_limits(
        b - before, robot_.link(static_cast<int>(i)).limits, problem.joints[i + 1]);
    if (!q) return false;
    trial_[i + 1] = *q;
    before = b;
  }
  if (options_.check_floor && !mobile::over_floor(robot_, trial_)) return false;
  mobile::evaluate(robot_, problem, mobile::base_at(plane, problem, foot_), trial_, evaluated);
  return true;
}

void MobileFabrikSolver::keep(const PlaneCase& plane, const MobileResult& evaluated,
                              MobileResult& result) noexcept {
  joints_ = trial_;
  result = evaluated;
  result.joints = joints_;
  result.plane = plane.plane;
}

/// Keeps the present iterate as the solution, with the status, if it meets the target.
bool MobileFabrikSolver::accept(const PlaneCase& plane, const Problem& problem,
                                MobileResult& result) noexcept {
  MobileResult evaluated = result;
  if (!read_joints(plane, problem, evaluated)) return false;
  if (!(evaluated.position_error <= options_.position_tolerance)) return false;
  const bool right_orientation = evaluated.angle_error <= options_.angle_tolerance;
  if (!right_orientation && options_.features.orientation_test) return false;
  evaluated.status = right_orientation ? MobileStatus::Converged : MobileStatus::WrongOrientation;
  keep(plane, evaluated, result);
  return true;
}

/// Keeps the end of a failed attempt if it is nearer to the target than what there was.
void MobileFabrikSolver::keep_if_nearer(const PlaneCase& plane, const Problem& problem,
                                        MobileResult& result) noexcept {
  const auto score = [&](const MobileResult& r) {
    return std::max(r.position_error / options_.position_tolerance,
                    r.angle_error / options_.angle_tolerance);
  };
  MobileResult evaluated = result;
  if (read_joints(plane, problem, evaluated) && score(evaluated) < score(result))
    keep(plane, evaluated, result);
}

/// Polish: the cheapest pose in the plane found, if it is cheaper.
void MobileFabrikSolver::finish(const PlaneCase& plane, const Problem& problem,
                                MobileResult& result) noexcept {
  if (!options_.polish || !result.converged()) return;
  const double found = closed_form_->cost(problem.base, problem.joints, result.base, joints_);
  (void)cheapest_in_plane(plane, problem, result, found);
}

/// Takes the closed form's pose in the plane if there is one that costs less. False if not.
bool MobileFabrikSolver::cheapest_in_plane(const PlaneCase& plane, const Problem& problem,
                                           MobileResult& result, double less_than) noexcept {
  PlatformPose base;
  double cost = kInfinity;
  if (!closed_form_->best_in_plane(plane, problem, base, trial_, cost, result.iterations) ||
      !(cost < less_than)) {
    return false;
  }
  MobileResult evaluated = result;
  mobile::evaluate(robot_, problem, base, trial_, evaluated);
  if (!(evaluated.position_error <= options_.position_tolerance &&
        evaluated.angle_error <= options_.angle_tolerance)) {
    return false;
  }
  evaluated.status = MobileStatus::Converged;
  keep(plane, evaluated, result);
  return true;
}

}  // namespace tendril
