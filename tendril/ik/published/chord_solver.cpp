#include "tendril/ik/published/chord_solver.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tendril/ik/section_ik.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;
using std::numbers::pi;

constexpr double kOnAxis = 1e-12;          // sine of a chord angle without a bend plane
constexpr double kLimitRounding = 1e-12;   // [rad], a bend so little above its limit is inside
constexpr SectionIkOptions kShapeSolve{};  // length 1: tolerances 1e-9 of the length, 1e-10 rad

/// The shape with length 1 and this bend limit: its chords have the same directions.
SectionShape unit_shape(const Section& section, double bend_angle_limit, int index) {
  const auto copy = [](std::span<const double> weights) {
    return std::vector<double>(weights.begin(), weights.end());
  };
  const Section unit({.length = 1.0,
                      .bend_angle_limit = bend_angle_limit,
                      .length_weights = copy(section.length_weights()),
                      .angle_weights = copy(section.angle_weights())},
                     index);
  return SectionShape(unit);
}

}  // namespace

ChordSolver::ChordSolver(const ContinuumRobot& robot, const ChordOptions& options)
    : ReachingSolver(robot, options), links_(states_.size()), bounds_(states_.size()) {
  constexpr const char* kObject = "chord options";
  require_solver_options(kObject, options);
  const double A = options.tuning_divisor;
  if (A != 0.0 && !Range{.low = 3.0}.contains(A))
    refuse(kObject, "tuning_divisor", A, "finite and >= 3, or 0");
  if (!(options.tuning_gate > 0.0)) refuse(kObject, "tuning_gate", options.tuning_gate, "> 0");
  require(kObject, "shake_period", options.shake_period, {.low = 1});
  const int count = robot.section_count();
  tuning_divisor_ = A != 0.0 ? A : count <= 3 ? 10.0 : 3.0;
  for (int i = 0; i < count; ++i) {
    const Section& section = robot.section(i);
    shapes_.push_back(unit_shape(
        section, options.limit_bend_inside ? section.bend_angle_limit() : 2.0 * pi, i + 1));
  }
}

void ChordSolver::load() noexcept {
  double length = 0.0;
  for (int i = 0; i < robot_.section_count(); ++i) {
    const Section& section = robot_.section(i);
    Bounds& bounds = bounds_[i];
    bounds.length = section.length() + states_[i].extension;
    bounds.limit = section.bend_angle_limit_at(states_[i].extension);
    bounds.reach = options_.limit_bend_inside ? bounds.limit : 2.0 * pi;
    bounds.chords = Cone(bounds.reach / 2.0);
    length += bounds.length;
  }
  gate_ = options_.tuning_gate * length / static_cast<double>(links_.size());
}

void ChordSolver::place() noexcept {
  Eigen::Isometry3d X_BS = base_pose(base_state_);
  for (int i = 0; i < robot_.section_count(); ++i) {
    const SectionState& state = states_[i];
    const SectionShape::End shape = shapes_[i].end(state.theta);
    const double ratio = hypotenuse(shape.x, shape.z);
    // A vanished chord has the direction of the arc's middle.
    const double x = ratio > 0.0 ? shape.x / ratio : std::sin(state.theta / 2.0);
    const double z = ratio > 0.0 ? shape.z / ratio : std::cos(state.theta / 2.0);
    Link& link = links_[i];
    link.theta = state.theta;
    link.direction = X_BS.linear() * Vector3d(x * std::cos(state.phi), x * std::sin(state.phi), z);
    link.length = bounds_[i].length * ratio;
    X_BS = X_BS * section_end_pose(robot_.section(i), state);
    link.end = link.point = X_BS.translation();
    link.tangent = X_BS.linear().col(2);
  }
}

/// Steps 1 and 2, tip to base: the chords of the last pass as rigid links.
void ChordSolver::forward_reach() noexcept {
  links_.back().point = goal_.position;
  for (std::size_t i = links_.size() - 1; i-- > 0;) {
    const Link& next = links_[i + 1];
    Vector3d& P = links_[i].point;
    P = next.point + next.length * direction_of(P - next.point, -next.direction);
  }
}

/// Steps 3 to 6, base to tip: every section with its chord aimed at its point. Returns the largest
/// distance by which a section end moved.
double ChordSolver::backward_reach() noexcept {
  Vector3d P(0.0, 0.0, base_state_.feed);
  Vector3d Z = Vector3d::UnitZ();
  double moved_squared = 0.0;
  inside_limits_ = true;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    Link& link = links_[i];
    const Vector3d end = link.end;
    link.direction = direction_of(link.point - P, link.direction);
    if (shapes_[i].is_single_arc()) {
      set_arc(i, P, Z);
    } else {
      set_shaped(i, P, Z);
    }
    if (link.theta > bounds_[i].limit + kLimitRounding) inside_limits_ = false;
    moved_squared = std::max(moved_squared, (link.end - end).squaredNorm());
    link.point = link.end;
    P = link.end;
    Z = link.tangent;
  }
  return std::sqrt(moved_squared);
}

/// One arc from P with tangent Z along its `direction`: half its bend lies between tangent and
/// chord, and the chord reflects one end tangent into the other.
void ChordSolver::set_arc(std::size_t i, const Vector3d& P, const Vector3d& Z) noexcept {
  Link& link = links_[i];
  const Bounds& bounds = bounds_[i];
  Vector3d& c = link.direction;
  double cos_half = c.dot(Z);
  double sin_half = (c - cos_half * Z).norm();
  double half = std::atan2(sin_half, cos_half);
  if (2.0 * half > bounds.reach) {
    c = bounds.chords.cosine * Z + bounds.chords.sine * unit_perpendicular(c, Z);
    half = bounds.reach / 2.0;
    cos_half = bounds.chords.cosine;
    sin_half = bounds.chords.sine;
  }
  link.theta = 2.0 * half;
  link.length = half > 0.0 ? bounds.length * (sin_half / half) : bounds.length;
  link.end = P + link.length * c;
  link.tangent = 2.0 * cos_half * c - Z;
}

/// The same for a section with several sub-sections, by the bend that belongs to its chord angle.
void ChordSolver::set_shaped(std::size_t i, const Vector3d& P, const Vector3d& Z) noexcept {
  Link& link = links_[i];
  const Bounds& bounds = bounds_[i];
  const double along = link.direction.dot(Z);
  const Vector3d lateral = link.direction - along * Z;
  const double rho = lateral.norm();
  const Vector3d e =
      rho > kOnAxis ? Vector3d(lateral / rho) : unit_perpendicular(link.direction, Z);
  const SectionIkResult solution =
      solve_section_newton(shapes_[i], rho, along, kShapeSolve, link.theta);
  link.theta = std::min(solution.theta, bounds.reach);
  const SectionShape::End shape =
      link.theta < solution.theta ? shapes_[i].end(link.theta) : solution.end;
  const Vector3d chord = shape.x * e + shape.z * Z;  // per unit length
  const double ratio = chord.norm();
  if (ratio > 0.0) link.direction = chord / ratio;
  link.length = bounds.length * ratio;
  link.end = P + bounds.length * chord;
  link.tangent = shape.cos_theta * Z + shape.sin_theta * e;
}

bool ChordSolver::shakes(int iteration) const noexcept {
  return iteration % options_.shake_period == 0;
}

bool ChordSolver::is_at_rest(double moved, int iteration) const noexcept {
  const bool last_resort = !goal_.has_direction || (iteration > 1 && shakes(iteration - 1));
  return moved <= kReachingAtRest * robot_.max_length() && last_resort;
}

/// Steps 8 to 10: the last joint (near the goal) or all of them (every C iterations) rotated about
/// the tip by a fraction of the missing angle, so that the next pass leaves the tip nearer to its
/// direction.
void ChordSolver::prepare_next(int iteration) noexcept {
  if (!goal_.has_direction) return;
  const Link& tip = links_.back();
  const bool shake = shakes(iteration);
  if (!shake && !((tip.end - goal_.position).norm() < gate_)) return;
  const Vector3d normal = tip.tangent.cross(goal_.direction);
  const double sine = normal.norm();
  const double missing = std::atan2(sine, tip.tangent.dot(goal_.direction));  // dO
  if (!shake && missing < options_.angle_tolerance) return;
  const Vector3d w = sine > 0.0 ? Vector3d(normal / sine) : tip.tangent.unitOrthogonal();
  const double angle = missing / tuning_divisor_;
  const double c = std::cos(angle), s = std::sin(angle);
  const std::size_t last = links_.size() - 1;
  for (std::size_t i = shake ? 0 : std::max<std::size_t>(last, 1) - 1; i < last; ++i) {
    const Vector3d d = links_[i].end - tip.end;
    links_[i].point = tip.end + c * d + s * w.cross(d) + (1.0 - c) * w.dot(d) * w;
  }
}

}  // namespace tendril
