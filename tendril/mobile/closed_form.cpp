#include "tendril/mobile/closed_form.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "tendril/range.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

using mobile::PlaneCase;
using mobile::Problem;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kReachSlack = 1e-9;  // [m] rounding at a straight elbow
constexpr int kGoldenSteps = 40;      // 0.618^40: 1 mm becomes less than 1e-11 m

/// Abscissas at which something changes, in increasing order.
class Marks {
 public:
  explicit Marks(double reach) : reach_(reach) { add(-reach), add(reach); }
  void add(double dx) noexcept {
    if (std::isfinite(dx) && std::abs(dx) <= reach_) marks_[count_++] = dx;
  }
  [[nodiscard]] std::span<const double> sorted() noexcept {
    std::sort(marks_.begin(), marks_.begin() + count_);
    return {marks_.data(), static_cast<std::size_t>(count_)};
  }

 private:
  double reach_;
  std::array<double, 24> marks_{};
  int count_ = 0;
};

/// Height of the wrist over the shoulder.
double wrist_rise(const MobileRobotParameters& arm, const PlaneCase& plane,
                  const Problem& problem) noexcept {
  return problem.target->X_WG.translation().z() - arm.links[2].length * plane.last_cos -
         arm.shoulder_height;
}

/// Elbow straight or folded, each joint at each limit, the frozen base.
Marks interval_ends(const MobileRobotParameters& arm, const PlaneCase& plane,
                    const Problem& problem, double dz) noexcept {
  const double d2 = arm.links[0].length, d3 = arm.links[1].length, d4 = arm.links[2].length;
  const double reach = d2 + d3;
  Marks marks(std::sqrt(std::max(0.0, reach * reach - dz * dz)));
  const auto add_both = [&](double middle, double square) {
    if (square < 0.0) return;
    marks.add(middle + std::sqrt(square));
    marks.add(middle - std::sqrt(square));
  };
  const auto square = [](double x) { return x * x; };
  marks.add(0.0);
  add_both(0.0, square(d2 - d3) - dz * dz);
  for (const double q3 : {arm.links[1].limits.min, arm.links[1].limits.max})
    add_both(0.0, d2 * d2 + d3 * d3 + 2.0 * d2 * d3 * std::cos(q3) - dz * dz);
  for (const double q2 : {arm.links[0].limits.min, arm.links[0].limits.max})
    add_both(d2 * std::sin(q2), d3 * d3 - square(dz - d2 * std::cos(q2)));
  for (const double q4 : {arm.links[2].limits.min, arm.links[2].limits.max}) {
    const double b2 = plane.last_angle - q4;
    add_both(d3 * std::sin(b2), d2 * d2 - square(dz - d3 * std::cos(b2)));
  }
  if (problem.rule.frozen)
    marks.add(-d4 * plane.last_sin - arm.shoulder_offset - plane.start_abscissa);
  return marks;
}

}  // namespace

MobileClosedForm::MobileClosedForm(const MobileRobot& robot, const ClosedFormOptions& options)
    : robot_(robot),
      options_(options),
      start_(static_cast<std::size_t>(robot.joint_count())),
      joints_(start_.size()),
      best_(start_.size()) {
  const std::string name = "mobile closed form";
  if (robot.link_count() != 3) refuse(name, "link count", robot.link_count(), "3");
  require(name, "step", options.step, kPositive, "m");
  require(name, "position_tolerance", options.position_tolerance, kPositive, "m");
  require(name, "angle_tolerance", options.angle_tolerance, kPositive, "rad");
  require(name, "base_weight", options.cost.base_weight, kNotNegative, "1/m");
  const std::vector<double>& weights = options_.cost.joint_weights;
  if (!weights.empty() && weights.size() != start_.size()) {
    refuse(name, "joint_weights count", static_cast<double>(weights.size()),
           "0 or " + std::to_string(start_.size()));
  }
  for (const double weight : weights) require(name, "joint_weights", weight, kNotNegative, "1/rad");
  if (weights.empty()) options_.cost.joint_weights.assign(start_.size(), 1.0);
}

double MobileClosedForm::cost(const PlatformPose& from, JointAngles from_joints,
                              const PlatformPose& to, JointAngles to_joints) const noexcept {
  double sum = options_.cost.base_weight * hypotenuse(to.x - from.x, to.y - from.y);
  for (std::size_t j = 0; j < to_joints.size(); ++j)
    sum += options_.cost.joint_weights[j] * std::abs(to_joints[j] - from_joints[j]);
  return sum;
}

/// Joints of the posture with shoulder-wrist abscissa dx and elbow sign, and its cost; infinite if
/// a limit, the floor or the platform's rule forbids it.
double MobileClosedForm::posture(const PlaneCase& plane, const Problem& problem, double dx,
                                 int elbow, std::span<double> joints) const noexcept {
  const MobileRobotParameters& arm = robot_.parameters();
  const double d2 = arm.links[0].length, d3 = arm.links[1].length, d4 = arm.links[2].length;
  const double dz = wrist_rise(arm, plane, problem);
  const double r_squared = dx * dx + dz * dz;
  const double cos_q3 = (r_squared - d2 * d2 - d3 * d3) / (2.0 * d2 * d3);
  if (std::abs(cos_q3) > 1.0 + kReachSlack / std::min(d2, d3)) return kInfinity;
  const double q3 = elbow * std::acos(std::clamp(cos_q3, -1.0, 1.0));
  const auto fitted3 = mobile::into_limits(q3, arm.links[1].limits, problem.joints[2]);
  if (!fitted3) return kInfinity;
  const double q2 = std::atan2(dx, dz) - std::atan2(d3 * std::sin(q3), d2 + d3 * std::cos(q3));
  const auto fitted2 = mobile::into_limits(q2, arm.links[0].limits, problem.joints[1]);
  if (!fitted2) return kInfinity;
  const auto fitted4 =
      mobile::into_limits(plane.last_angle - q2 - q3, arm.links[2].limits, problem.joints[3]);
  if (!fitted4) return kInfinity;
  const double abscissa = -d4 * plane.last_sin - dx - arm.shoulder_offset;
  if (problem.rule.frozen &&
      std::abs(abscissa - plane.start_abscissa) > 0.5 * options_.position_tolerance) {
    return kInfinity;
  }
  if (!mobile::allowed(plane, problem, abscissa)) return kInfinity;
  joints[0] = plane.yaw;
  joints[1] = *fitted2;
  joints[2] = *fitted3;
  joints[3] = *fitted4;
  joints[4] = plane.roll;
  if (options_.check_floor && !mobile::over_floor(robot_, joints)) return kInfinity;
  return cost(problem.base, problem.joints, mobile::base_at(plane, problem, abscissa), joints);
}

/// Sweeps the abscissa between the interval ends, in both elbow postures.
MobileClosedForm::Cheapest MobileClosedForm::sweep(const PlaneCase& plane, const Problem& problem,
                                                   std::span<const double> ends,
                                                   int& postures) const noexcept {
  Cheapest best{.cost = kInfinity};
  std::array<double, 5> trial{};
  const auto look_at = [&](double dx, double left, double right) {
    for (const int elbow : {1, -1}) {
      const double here = posture(plane, problem, dx, elbow, trial);
      ++postures;
      if (here < best.cost) best = {here, dx, left, right, elbow};
    }
  };
  for (std::size_t i = 0; i < ends.size(); ++i) {
    look_at(ends[i], ends[i], ends[i]);
    if (i + 1 == ends.size()) break;
    const double width = ends[i + 1] - ends[i];
    if (width <= 0.0) continue;
    const int pieces = std::max(2, static_cast<int>(std::ceil(width / options_.step)));
    // Closer together towards the ends, where the joints change with the root of the distance.
    const auto sample = [&](double k) {
      return ends[i] + 0.5 * width * (1.0 - std::cos(std::numbers::pi * k / pieces));
    };
    for (int k = 0; k < pieces; ++k)
      look_at(sample(k + 0.5), sample(std::max(0.0, k - 0.5)),
              sample(std::min<double>(pieces, k + 1.5)));
  }
  return best;
}

/// Golden section on the cost, between the neighbors of the best.
void MobileClosedForm::refine(const PlaneCase& plane, const Problem& problem, Cheapest& best,
                              int& postures) const noexcept {
  std::array<double, 5> trial{};
  double low = best.low, high = best.high;
  const double golden = 0.5 * (std::sqrt(5.0) - 1.0);
  double left = high - golden * (high - low), right = low + golden * (high - low);
  double cost_left = posture(plane, problem, left, best.elbow, trial);
  double cost_right = posture(plane, problem, right, best.elbow, trial);
  postures += 2;
  for (int k = 0; k < kGoldenSteps && high - low > 0.0; ++k, ++postures) {
    if (cost_left <= cost_right) {
      high = right;
      right = left;
      cost_right = cost_left;
      left = high - golden * (high - low);
      cost_left = posture(plane, problem, left, best.elbow, trial);
    } else {
      low = left;
      left = right;
      cost_left = cost_right;
      right = low + golden * (high - low);
      cost_right = posture(plane, problem, right, best.elbow, trial);
    }
  }
  for (const double dx : {left, right}) {
    const double here = posture(plane, problem, dx, best.elbow, trial);
    if (here < best.cost) {
      best.cost = here;
      best.dx = dx;
    }
  }
}

bool MobileClosedForm::best_in_plane(const PlaneCase& plane, const Problem& problem,
                                     PlatformPose& base, std::span<double> joints, double& cost,
                                     int& postures) const noexcept {
  const MobileRobotParameters& arm = robot_.parameters();
  const double dz = wrist_rise(arm, plane, problem);
  if (std::abs(dz) > arm.links[0].length + arm.links[1].length + kReachSlack) return false;
  Marks ends = interval_ends(arm, plane, problem, dz);
  Cheapest best = sweep(plane, problem, ends.sorted(), postures);
  if (!std::isfinite(best.cost)) return false;
  refine(plane, problem, best, postures);
  cost = posture(plane, problem, best.dx, best.elbow, joints);
  base = mobile::base_at(plane, problem,
                         -arm.links[2].length * plane.last_sin - best.dx - arm.shoulder_offset);
  return true;
}

MobileResult MobileClosedForm::solve(const ToolTarget& target, const PlatformPose& base,
                                     JointAngles joints, const PlatformRule& rule) noexcept {
  MobileResult result{.position_error = kInfinity, .angle_error = kInfinity, .base = base};
  result.status = mobile::begin(robot_, target, base, joints, options_.check_floor, start_);
  best_ = start_;
  result.joints = best_;
  if (result.status == MobileStatus::InvalidStart) result.base = {};  // it may not be finite
  if (result.status != MobileStatus::Converged) return result;
  const Problem problem{.target = &target, .base = base, .joints = start_, .rule = rule};
  const mobile::PlaneCases planes =
      mobile::plane_cases(robot_, problem, options_.position_tolerance, false);
  double best_cost = kInfinity;
  PlatformPose best_base = base;
  bool tried = false;
  for (const PlaneCase& plane : planes.view()) {
    if (plane.refusal != MobileStatus::Converged) continue;
    tried = true;
    ++result.attempts;
    PlatformPose here = base;
    double cost_here = kInfinity;
    if (!best_in_plane(plane, problem, here, joints_, cost_here, result.iterations)) continue;
    if (cost_here >= best_cost) continue;  // equal: the plane named first
    best_cost = cost_here;
    best_base = here;
    best_ = joints_;
    result.plane = plane.plane;
  }
  if (std::isfinite(best_cost)) {
    mobile::evaluate(robot_, problem, best_base, best_, result);
    const bool met = result.position_error <= options_.position_tolerance &&
                     result.angle_error <= options_.angle_tolerance;
    result.status = met ? MobileStatus::Converged : MobileStatus::Stalled;
    return result;
  }
  mobile::evaluate(robot_, problem, base, best_, result);
  if (!tried) {
    result.status = mobile::common_refusal(planes.view());
    return result;
  }
  // Would it be reached if every base pose were allowed?
  result.status = MobileStatus::UnreachableLimits;
  if (rule.frozen || rule.allows != nullptr) {
    const Problem free{.target = &target, .base = base, .joints = start_, .rule = {}};
    const mobile::PlaneCases free_planes =
        mobile::plane_cases(robot_, free, options_.position_tolerance, false);
    for (const PlaneCase& plane : free_planes.view()) {
      PlatformPose here = base;
      double cost_here = kInfinity;
      if (plane.refusal == MobileStatus::Converged &&
          best_in_plane(plane, free, here, joints_, cost_here, result.iterations)) {
        result.status = MobileStatus::BaseBlocked;
        break;
      }
    }
  }
  return result;
}

}  // namespace tendril
