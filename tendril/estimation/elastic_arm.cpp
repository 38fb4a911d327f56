#include "tendril/estimation/elastic_arm.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "tendril/kinematics/coordinates.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"
#include "tendril/range.hpp"

namespace tendril {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Eigen::VectorXd;

constexpr double kDifference = 1e-6;  // of a coordinate, in units of its scale
constexpr double kHeld = 1e-3;  // of its stiffness and damping that hold a section in the guide

void require_count(const char* field, std::size_t count, int wanted) {
  if (count != static_cast<std::size_t>(wanted))
    throw ModelError(std::string("elastic arm: ") + field + " has " + std::to_string(count) +
                     " values, must have " + std::to_string(wanted));
}

ElasticArmParameters checked(const ContinuumRobot& robot, ElasticArmParameters parameters) {
  require_count("springs", parameters.springs.size(), robot.coordinate_count());
  require_count("section_masses", parameters.section_masses.size(), robot.section_count());
  const auto complete = [&](const char* field, std::vector<double>& values) {
    if (values.empty()) values.resize(parameters.tendons.size());
    require_count(field, values.size(), static_cast<int>(parameters.tendons.size()));
  };
  complete("tendon_compliances", parameters.tendon_compliances);
  complete("tendon_stiffnesses", parameters.tendon_stiffnesses);
  complete("tendon_dampings", parameters.tendon_dampings);
  for (std::size_t k = 0; k < parameters.springs.size(); ++k) {
    const std::string object = "elastic arm: spring " + std::to_string(k + 1);
    require(object, "stiffness", parameters.springs[k].stiffness, kPositive, "N m/rad or N/m");
    require(object, "damping", parameters.springs[k].damping, kPositive, "N m s/rad or N s/m");
    require(object, "rest", parameters.springs[k].rest, kFinite, "rad or m");
  }
  if (!parameters.uneven_stiffnesses.empty())
    require_count("uneven_stiffnesses", parameters.uneven_stiffnesses.size(),
                  robot.section_count());
  for (const double stiffness : parameters.uneven_stiffnesses)
    require("elastic arm", "uneven_stiffnesses", stiffness, kPositive, "N m/rad");
  for (const double mass : parameters.section_masses)
    require("elastic arm", "section_masses", mass, kNotNegative, "kg");
  for (std::size_t t = 0; t < parameters.tendons.size(); ++t) {
    const double stiffness = parameters.tendon_stiffnesses[t];
    require("elastic arm", "tendon_stiffnesses", stiffness, kNotNegative, "N/m");
    require("elastic arm", "tendon_dampings", parameters.tendon_dampings[t], kNotNegative, "N s/m");
    require("elastic arm", "tendon_compliances", parameters.tendon_compliances[t],
            stiffness > 0.0 ? Range{0.0, 0.0} : kNotNegative, "m/N");
  }
  for (const double component : parameters.gravity)
    require("elastic arm", "gravity", component, kFinite, "m/s^2");
  require("elastic arm", "payload", parameters.payload, kNotNegative, "kg");
  require("elastic arm", "root_mass", parameters.root_mass, kNotNegative, "kg");
  require("elastic arm", "force_place.section", parameters.force_place.section,
          {-1.0, robot.section_count() - 1.0});
  require("elastic arm", "force_place.fraction", parameters.force_place.fraction, {0.0, 1.0});
  require("elastic arm", "guide_length", parameters.guide_length, kNotNegative, "m");
  for (int i = 0; i < robot.section_count() && parameters.guide_length > 0.0; ++i) {
    const Section& section = robot.section(i);
    if (section.is_extensible() ||
        !std::ranges::equal(section.length_weights(), section.angle_weights()))
      throw ModelError("elastic arm: guide_length: section " + std::to_string(i + 1) +
                       ": must be even and of one length");
  }
  return parameters;
}

/// sum_k [a]^k / (k + 1)!: the angular velocity of the rotation by the vector a is this times a'.
Matrix3d left_jacobian(const Vector3d& a) noexcept {
  const double angle = a.norm();
  const bool small = angle < 1e-4;
  const double b = small ? 0.5 : (1.0 - std::cos(angle)) / (angle * angle);
  const double c = small ? 1.0 / 6.0 : (angle - std::sin(angle)) / (angle * angle * angle);
  Matrix3d skew;
  skew << 0, -a.z(), a.y(), a.z(), 0, -a.x(), -a.y(), a.x(), 0;
  return Matrix3d::Identity() + b * skew + c * skew * skew;
}

}  // namespace

ElasticArm::ElasticArm(const ContinuumRobot& robot, const ElasticArmParameters& parameters)
    : robot_(robot),
      parameters_(checked(robot, parameters)),
      tendons_(robot, parameters.tendons),
      states_(robot.straight().begin(), robot.straight().end()),
      exposure_(VectorXd::Ones(robot.coordinate_count())),
      scale_(VectorXd::Ones(robot.coordinate_count())),
      stiffness_(robot.coordinate_count()),
      damping_(robot.coordinate_count()),
      rest_(robot.coordinate_count()),
      bent_(robot.coordinate_count()),
      q_(robot.coordinate_count()),
      load_(robot.coordinate_count()),
      shifted_load_(robot.coordinate_count()),
      held_(tendons_.tendon_count()),
      tension_(tendons_.tendon_count()),
      jacobian_(6, robot.coordinate_count()) {
  const Eigen::Index n = coordinate_count();
  for (Eigen::Index k = 0; k < n; ++k) {
    const CoordinateSpring& spring = parameters.springs[static_cast<std::size_t>(k)];
    stiffness_[k] = spring.stiffness;
    damping_[k] = spring.damping;
    rest_[k] = spring.rest;
  }
  double root = 0.0;
  for (int i = 0; i < robot.section_count(); ++i) {
    const int k = robot.coordinate_index(i);
    if (!robot.section(i).bends_u()) scale_[k] = 0.0;
    if (!robot.section(i).bends_v()) scale_[k + 1] = 0.0;
    if (robot.section(i).is_extensible()) scale_[k + 2] = robot.section(i).max_length();
    starts_.push_back(root);
    root += robot.section(i).length();
    const double half = parameters.section_masses[static_cast<std::size_t>(i)] / 2.0;
    if (half == 0.0) continue;
    for (const double side : {-1.0, 1.0})
      masses_.push_back({{i, 0.5 + side / std::sqrt(12.0)}, half});
    if (parameters.guide_length > 0.0) masses_.push_back({{i, 0.0}, 0.0});  // in the guide
  }
  if (parameters.root_mass > 0.0) masses_.push_back({{0, 0.0}, parameters.root_mass});
  if (parameters.payload > 0.0) masses_.push_back({on_arm({}), parameters.payload});
  parameters_.force_place = on_arm(parameters.force_place);
  uneven_.resize(parameters.section_masses.size());
  double beyond = parameters.payload;
  for (int i = robot.section_count() - 1; i >= 0; --i) {
    const Section& section = robot.section(i);
    const double mass = parameters.section_masses[static_cast<std::size_t>(i)];
    double start = 0.0, mean = 0.0, square = 0.0;
    for (std::size_t j = 0; j < section.length_weights().size(); ++j) {
      const double W = section.length_weights()[j], middle = start + W / 2.0;
      mean += section.angle_weights()[j] * middle;
      square += section.angle_weights()[j] * (middle * middle + W * W / 12.0);
      start += W;
    }
    const int k = robot.coordinate_index(i);
    const double compliance =
        parameters.uneven_stiffnesses.empty()
            ? (1.0 / stiffness_[k] + 1.0 / stiffness_[k + 1]) / 2.0
            : 1.0 / parameters.uneven_stiffnesses[static_cast<std::size_t>(i)];
    uneven_[static_cast<std::size_t>(i)] = {compliance, mean, square - mean * mean, mass, beyond};
    beyond += mass;
  }
  const Eigen::MatrixXd& by_q = tendons_.jacobian();
  for (Eigen::Index t = 0; t < held_.size(); ++t)
    held_[t] = parameters_.tendon_stiffnesses[static_cast<std::size_t>(t)];
  const Eigen::Map<const VectorXd> dampings(parameters_.tendon_dampings.data(), held_.size());
  held_stiffness_ = by_q.transpose() * held_.asDiagonal() * by_q;
  held_damping_ = by_q.transpose() * dampings.asDiagonal() * by_q;
  balance_ = {VectorXd::Zero(n),
              Eigen::MatrixXd::Zero(n, n),
              Eigen::MatrixXd::Zero(n, n),
              Eigen::MatrixXd::Zero(n, 3),
              Eigen::MatrixXd::Zero(n, tendon_count()),
              Eigen::MatrixXd::Zero(n, load_count())};
  step_.setIdentity(n, n);
  factor_.compute(step_);
}

BodyPlace ElasticArm::on_arm(BodyPlace place) const noexcept {
  if (place.section < 0) place.section = robot_.section_count() - 1;
  return place;
}

/// Of the external force, in the mean shear force of a section.
double ElasticArm::force_share(int section) const noexcept {
  const BodyPlace& pushed = parameters_.force_place;
  if (section == pushed.section) return pushed.fraction;
  return section < pushed.section ? 1.0 : 0.0;
}

Vector3d ElasticArm::mean_shear_force(int section, const VectorXd& x) const noexcept {
  const UnevenBend& uneven = uneven_[static_cast<std::size_t>(section)];
  const double outside = exposure_[robot_.coordinate_index(section)];
  return (uneven.beyond + outside * uneven.own / 2.0) * parameters_.gravity +
         force_share(section) * x.segment<3>(2 * coordinate_count());
}

double ElasticArm::acting(Eigen::Index k) const noexcept { return std::max(exposure_[k], kHeld); }

const VectorXd& ElasticArm::exposure(const BaseState& base) noexcept {
  feed_ = base.feed;
  base_ = base;
  if (parameters_.guide_length <= 0.0) return exposure_;
  double inside = 0.0;
  for (int i = 0; i < robot_.section_count(); ++i) {
    const double L = robot_.section(i).length();
    const double out = feed_ + starts_[static_cast<std::size_t>(i)] + L - parameters_.guide_length;
    const double e = std::clamp(out / L, 0.0, 1.0);
    exposure_.segment<2>(robot_.coordinate_index(i)).setConstant(e);
    inside += (1.0 - e) * L;
  }
  base_.feed += inside;
  return exposure_;
}

/// Puts the sections where q bends them; what of them is in the guide has no length there.
void ElasticArm::set_states(const Eigen::Ref<const VectorXd>& q, const BaseState& base) noexcept {
  for (SectionState& state : states_) state.phi = 0.0;  // what was computed before does not matter
  (void)exposure(base);
  if (parameters_.guide_length <= 0.0) {
    from_coordinates(robot_, q, states_);
    return;
  }
  bent_ = exposure_.cwiseProduct(q);
  from_coordinates(robot_, bent_, states_);
  for (int i = 0; i < robot_.section_count(); ++i)
    states_[static_cast<std::size_t>(i)].extension =
        (exposure_[robot_.coordinate_index(i)] - 1.0) * robot_.section(i).length();
  spread_masses();
}

/// Puts the masses of a section's part outside the guide at its two points, and that inside at its
/// middle.
void ElasticArm::spread_masses() noexcept {
  auto point = masses_.begin();
  for (int i = 0; i < robot_.section_count(); ++i) {
    const double mass = parameters_.section_masses[static_cast<std::size_t>(i)];
    if (mass == 0.0) continue;
    const double e = exposure_[robot_.coordinate_index(i)];
    for (const double side : {-1.0, 1.0})
      *point++ = {{i, 1.0 - e * (0.5 - side / std::sqrt(12.0))}, e * mass / 2.0};
    *point++ = {{i, (1.0 - e) / 2.0}, (1.0 - e) * mass};
  }
}

/// The fraction of its section's part outside the guide.
std::optional<double> ElasticArm::outside(const BodyPlace& place) const noexcept {
  const double e = exposure_[robot_.coordinate_index(place.section)];
  if (e == 1.0) return place.fraction;
  const double past = place.fraction - (1.0 - e);
  if (past <= 0.0) return std::nullopt;
  return past / e;
}

/// Pose and Jacobian of a place, for `states_`.
Eigen::Isometry3d ElasticArm::place_pose(const BodyPlace& place,
                                         JacobianRef jacobian) const noexcept {
  const std::optional<double> fraction = outside(place);
  if (!fraction) {
    jacobian.setZero();
    const double along = starts_[static_cast<std::size_t>(place.section)] +
                         place.fraction * robot_.section(place.section).length();
    return base_pose({feed_ + along, base_.spin});
  }
  const Eigen::Isometry3d pose =
      backbone_jacobian(robot_, states_, base_, place.section, *fraction, jacobian);
  for (Eigen::Index k = 0; k < exposure_.size(); ++k) jacobian.col(k) *= exposure_[k];
  return pose;
}

Eigen::Isometry3d ElasticArm::pose(const Eigen::Ref<const VectorXd>& q, const BaseState& base,
                                   BodyPlace place, JacobianRef jacobian) noexcept {
  set_states(q, base);
  return place_pose(on_arm(place), jacobian);
}

Vector3d ElasticArm::position(const VectorXd& x, const BaseState& base, BodyPlace place,
                              Eigen::Ref<Eigen::Matrix<double, 3, Eigen::Dynamic>> by_q,
                              Matrix3d& by_force) noexcept {
  place = on_arm(place);
  Vector3d p = pose(x.head(coordinate_count()), base, place, jacobian_).translation();
  by_q = jacobian_.topRows<3>();
  by_force.setZero();
  const std::optional<double> fraction = outside(place);
  for (int i = 0; i <= place.section && fraction; ++i) {
    const UnevenBend& uneven = uneven_[static_cast<std::size_t>(i)];
    const Section& section = robot_.section(i);
    const int k = robot_.coordinate_index(i);
    const double e = exposure_[k], c = i < place.section ? 1.0 : *fraction;
    if (e == 0.0) continue;
    const double L = section.length() + states_[static_cast<std::size_t>(i)].extension;
    const double compliance =
        uneven.variance * e * uneven.compliance * L * L * c * c * (3.0 - 2.0 * c);
    const Vector3d F = mean_shear_force(i, x);
    const Vector3d t = place_pose({i, 1.0 - 0.5 * e}, jacobian_).linear().col(2);
    const Vector3d across = F - t * t.dot(F);
    p += compliance * across;
    by_force += compliance * force_share(i) * (Matrix3d::Identity() - t * t.transpose());
    by_q.noalias() -= compliance * (t.dot(F) * Matrix3d::Identity() + t * F.transpose()) *
                      jacobian_.bottomRows<3>();
    if (section.is_extensible()) by_q.col(k + 2) += 2.0 * compliance / L * across;
  }
  return p;
}

Eigen::Vector2d ElasticArm::curvature(const VectorXd& x, const BaseState& base, BodyPlace place,
                                      Eigen::Ref<Eigen::Matrix<double, 3, Eigen::Dynamic>> by_q,
                                      Matrix3d& by_force) noexcept {
  place = on_arm(place);
  const Section& section = robot_.section(place.section);
  const UnevenBend& uneven = uneven_[static_cast<std::size_t>(place.section)];
  const Matrix3d R_PB =
      pose(x.head(coordinate_count()), base, place, jacobian_).linear().transpose();
  const std::optional<double> fraction = outside(place);
  if (!fraction) {
    by_q.setZero();
    by_force.setZero();
    return Eigen::Vector2d::Zero();
  }
  const auto lengths = section.length_weights(), bends = section.angle_weights();
  std::size_t j = 0;  // the sub-section at the place
  double end = lengths[0];
  while (j + 1 < lengths.size() && end < place.fraction) end += lengths[++j];
  const double ratio = bends[j] / lengths[j];
  const int k = robot_.coordinate_index(place.section);
  const double share = force_share(place.section), e = exposure_[k];
  const double compliance = ratio * e * uneven.compliance * (uneven.mean - *fraction);
  const Vector3d F = mean_shear_force(place.section, x);

  rotation_jacobian(x.head(coordinate_count()), base, place, by_q);
  for (Eigen::Index c = 0; c < by_q.cols(); ++c)  // the frame turns by w, the force in it by -w
    by_q.col(c) = compliance * (R_PB * F.cross(Vector3d(by_q.col(c))));
  by_force = compliance * share * R_PB;
  const double S = section.length() + states_[static_cast<std::size_t>(place.section)].extension;
  const Eigen::Vector2d even = ratio * e / S * x.segment<2>(k);
  by_q(0, k) += ratio * e / S;
  by_q(1, k + 1) += ratio * e / S;
  if (section.is_extensible()) by_q.col(k + 2).head<2>() -= even / S;
  return even + compliance * (R_PB * F).head<2>();
}

void ElasticArm::rotation_jacobian(
    const Eigen::Ref<const VectorXd>& q, const BaseState& base, BodyPlace place,
    Eigen::Ref<Eigen::Matrix<double, 3, Eigen::Dynamic>> jacobian) noexcept {
  set_states(q, base);
  place = on_arm(place);
  jacobian.setZero();
  const std::optional<double> at = outside(place);
  if (!at) return;
  Matrix3d R = base_pose(base).linear();
  for (int i = 0; i <= place.section; ++i) {
    const SectionState& state = states_[static_cast<std::size_t>(i)];
    const double fraction = i < place.section ? 1.0 : *at;
    const double ratio = robot_.section(i).point_at(state.theta, fraction).tangent_ratio;
    const int k = robot_.coordinate_index(i);
    const double bend = ratio * exposure_[k];
    // The section turns by the rotation vector bend (-v, u, 0).
    const Matrix3d J = bend * R * left_jacobian(bend * Vector3d(-q[k + 1], q[k], 0.0));
    jacobian.col(k) = J.col(1);
    jacobian.col(k + 1) = -J.col(0);
    R = R * section_pose_at(robot_.section(i), state, fraction).linear();
  }
}

void ElasticArm::load(const VectorXd& q, const BaseState& base, const Vector3d& force,
                      VectorXd& moment, bool with_mass) noexcept {
  set_states(q, base);
  moment.setZero();
  const auto at = [&](const BodyPlace& place) {
    (void)place_pose(place, jacobian_);
    return jacobian_.topRows<3>();
  };
  for (const MassPoint& point : masses_) {
    const auto J = at(point.place);
    moment.noalias() += J.transpose() * (point.mass * parameters_.gravity);
    if (with_mass) balance_.mass.noalias() += point.mass * J.transpose() * J;
  }
  const auto J = at(parameters_.force_place);
  moment.noalias() += J.transpose() * force;
  if (with_mass) balance_.by_force = J.transpose();
}

const ElasticArm::Balance& ElasticArm::balance(const VectorXd& x, const ArmInput& input) noexcept {
  const Eigen::Index n = coordinate_count(), t = tendon_count();
  balance_.mass.setZero();
  q_ = x.head(n);
  load(q_, input.base, x.segment<3>(2 * n), load_, true);
  tendons_.lengths(q_, tension_);
  tension_ = input.tension + held_.cwiseProduct(tension_);
  balance_.by_friction.noalias() = -tendons_.jacobian().transpose() * tension_.asDiagonal();
  balance_.moment = input.moment + load_ + balance_.by_friction.rowwise().sum();
  for (Eigen::Index k = 0; k < n; ++k)
    balance_.moment[k] -= acting(k) * stiffness_[k] * (q_[k] - rest_[k]);
  balance_.moment.noalias() += balance_.by_friction * x.segment(2 * n + 3, t);
  balance_.by_load.diagonal() =
      exposure_.cwiseProduct(stiffness_).cwiseProduct(scale_).head(load_count());
  balance_.moment.noalias() += balance_.by_load * x.segment(2 * n + 3 + t, load_count());
  for (Eigen::Index k = 0; k < n; ++k) {
    if (moves(k)) continue;
    balance_.moment[k] = -stiffness_[k] * q_[k];
    balance_.mass.row(k).setZero();
    balance_.mass.col(k).setZero();
    balance_.by_force.row(k).setZero();
    balance_.by_friction.row(k).setZero();
  }
  return balance_;
}

const ElasticArm::Balance& ElasticArm::linearize(const VectorXd& x,
                                                 const ArmInput& input) noexcept {
  (void)balance(x, input);
  for (Eigen::Index k = 0; k < coordinate_count(); ++k) {
    balance_.by_q.col(k).setZero();
    if (!moves(k)) continue;
    const double step = kDifference * scale_[k], q = q_[k];
    q_[k] = q + step;
    load(q_, input.base, x.segment<3>(2 * coordinate_count()), shifted_load_, false);
    q_[k] = q;
    balance_.by_q.col(k) = (shifted_load_ - load_) / step;
  }
  for (Eigen::Index k = 0; k < stiffness_.size(); ++k)
    balance_.by_q(k, k) -= acting(k) * stiffness_[k];
  for (Eigen::Index t = 0; t < held_.size(); ++t) {
    const auto by_q = tendons_.jacobian().row(t);
    const double stiffness = held_[t] * (1.0 + x[2 * coordinate_count() + 3 + t]);
    if (stiffness != 0.0) balance_.by_q.noalias() -= stiffness * by_q.transpose() * by_q;
  }
  for (Eigen::Index k = 0; k < coordinate_count(); ++k)
    if (!moves(k)) balance_.by_q.row(k) = -stiffness_[k] * Eigen::RowVectorXd::Unit(q_.size(), k);
  return balance_;
}

const Eigen::LLT<Eigen::MatrixXd>& ElasticArm::step_factor(double h) noexcept {
  step_ = balance_.mass + h * held_damping_ + h * h * held_stiffness_;
  for (Eigen::Index k = 0; k < coordinate_count(); ++k)
    step_(k, k) += acting(k) * (h * damping_[k] + h * h * stiffness_[k]);
  for (Eigen::Index k = 0; k < coordinate_count(); ++k) {
    if (moves(k)) continue;
    const double own = step_(k, k);
    step_.row(k).setZero();
    step_.col(k).setZero();
    step_(k, k) = own;
  }
  factor_.compute(step_);
  return factor_;
}

void ElasticArm::advance(double h, VectorXd& x, const ArmInput& input) noexcept {
  const Eigen::Index n = coordinate_count();
  (void)balance(x, input);
  q_.noalias() = balance_.mass * x.segment(n, n);
  q_ += h * balance_.moment;
  step_factor(h).solveInPlace(q_);
  x.segment(n, n) = q_;
  x.head(n) += h * q_;
}

}  // namespace tendril
