#include "tendril/estimation/elastic_arm.hpp"

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
      scale_(VectorXd::Ones(robot.coordinate_count())),
      stiffness_(robot.coordinate_count()),
      damping_(robot.coordinate_count()),
      rest_(robot.coordinate_count()),
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
  for (int i = 0; i < robot.section_count(); ++i) {
    const int k = robot.coordinate_index(i);
    if (!robot.section(i).bends_u()) scale_[k] = 0.0;
    if (!robot.section(i).bends_v()) scale_[k + 1] = 0.0;
    if (robot.section(i).is_extensible()) scale_[k + 2] = robot.section(i).max_length();
    const double half = parameters.section_masses[static_cast<std::size_t>(i)] / 2.0;
    if (half == 0.0) continue;
    for (const double side : {-1.0, 1.0})
      masses_.push_back({{i, 0.5 + side / std::sqrt(12.0)}, half});
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
    uneven_[static_cast<std::size_t>(i)] = {compliance, mean, square - mean * mean,
                                            beyond + mass / 2.0};
    beyond += mass;
  }
  const Eigen::MatrixXd& by_q = tendons_.jacobian();
  for (Eigen::Index t = 0; t < held_.size(); ++t)
    held_[t] = parameters_.tendon_stiffnesses[static_cast<std::size_t>(t)];
  const Eigen::Map<const VectorXd> dampings(parameters_.tendon_dampings.data(), held_.size());
  held_stiffness_ = by_q.transpose() * held_.asDiagonal() * by_q;
  held_damping_ = by_q.transpose() * dampings.asDiagonal() * by_q;
  balance_ = {VectorXd::Zero(n), Eigen::MatrixXd::Zero(n, n), Eigen::MatrixXd::Zero(n, n),
              Eigen::MatrixXd::Zero(n, 3), Eigen::MatrixXd::Zero(n, tendon_count())};
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

void ElasticArm::set_states(const Eigen::Ref<const VectorXd>& q) noexcept {
  for (SectionState& state : states_) state.phi = 0.0;  // what was computed before does not matter
  from_coordinates(robot_, q, states_);
}

Eigen::Isometry3d ElasticArm::pose(const Eigen::Ref<const VectorXd>& q, const BaseState& base,
                                   BodyPlace place, JacobianRef jacobian) noexcept {
  set_states(q);
  place = on_arm(place);
  return backbone_jacobian(robot_, states_, base, place.section, place.fraction, jacobian);
}

Vector3d ElasticArm::position(const VectorXd& x, const BaseState& base, BodyPlace place,
                              Eigen::Ref<Eigen::Matrix<double, 3, Eigen::Dynamic>> by_q,
                              Matrix3d& by_force) noexcept {
  place = on_arm(place);
  Vector3d p = pose(x.head(coordinate_count()), base, place, jacobian_).translation();
  by_q = jacobian_.topRows<3>();
  by_force.setZero();
  for (int i = 0; i <= place.section; ++i) {
    const UnevenBend& uneven = uneven_[static_cast<std::size_t>(i)];
    const Section& section = robot_.section(i);
    const double c = i < place.section ? 1.0 : place.fraction;
    const double L = section.length() + states_[static_cast<std::size_t>(i)].extension;
    const double compliance = uneven.variance * uneven.compliance * L * L * c * c * (3.0 - 2.0 * c);
    const Vector3d F =
        uneven.mass * parameters_.gravity + force_share(i) * x.segment<3>(2 * coordinate_count());
    const Vector3d t = backbone_jacobian(robot_, states_, base, i, 0.5, jacobian_).linear().col(2);
    const Vector3d across = F - t * t.dot(F);
    p += compliance * across;
    by_force += compliance * force_share(i) * (Matrix3d::Identity() - t * t.transpose());
    by_q.noalias() -= compliance * (t.dot(F) * Matrix3d::Identity() + t * F.transpose()) *
                      jacobian_.bottomRows<3>();
    if (section.is_extensible())
      by_q.col(robot_.coordinate_index(i) + 2) += 2.0 * compliance / L * across;
  }
  return p;
}

Eigen::Vector2d ElasticArm::curvature(const VectorXd& x, const BaseState& base, BodyPlace place,
                                      Eigen::Ref<Eigen::Matrix<double, 3, Eigen::Dynamic>> by_q,
                                      Matrix3d& by_force) noexcept {
  place = on_arm(place);
  const Section& section = robot_.section(place.section);
  const UnevenBend& uneven = uneven_[static_cast<std::size_t>(place.section)];
  const auto lengths = section.length_weights(), bends = section.angle_weights();
  std::size_t j = 0;  // the sub-section at the place
  double end = lengths[0];
  while (j + 1 < lengths.size() && end < place.fraction) end += lengths[++j];
  const double ratio = bends[j] / lengths[j];
  const double share = force_share(place.section);
  const double compliance = ratio * uneven.compliance * (uneven.mean - place.fraction);
  const Vector3d F =
      uneven.mass * parameters_.gravity + share * x.segment<3>(2 * coordinate_count());

  const Matrix3d R_PB =
      pose(x.head(coordinate_count()), base, place, jacobian_).linear().transpose();
  rotation_jacobian(x.head(coordinate_count()), base, place, by_q);
  for (Eigen::Index k = 0; k < by_q.cols(); ++k)  // the frame turns by w, the force in it by -w
    by_q.col(k) = compliance * (R_PB * F.cross(Vector3d(by_q.col(k))));
  by_force = compliance * share * R_PB;
  const int k = robot_.coordinate_index(place.section);
  const double S = section.length() + states_[static_cast<std::size_t>(place.section)].extension;
  const Eigen::Vector2d even = ratio / S * x.segment<2>(k);
  by_q(0, k) += ratio / S;
  by_q(1, k + 1) += ratio / S;
  if (section.is_extensible()) by_q.col(k + 2).head<2>() -= even / S;
  return even + compliance * (R_PB * F).head<2>();
}

void ElasticArm::rotation_jacobian(
    const Eigen::Ref<const VectorXd>& q, const BaseState& base, BodyPlace place,
    Eigen::Ref<Eigen::Matrix<double, 3, Eigen::Dynamic>> jacobian) noexcept {
  set_states(q);
  place = on_arm(place);
  jacobian.setZero();
  Matrix3d R = base_pose(base).linear();
  for (int i = 0; i <= place.section; ++i) {
    const SectionState& state = states_[static_cast<std::size_t>(i)];
    const double fraction = i < place.section ? 1.0 : place.fraction;
    const double ratio = robot_.section(i).point_at(state.theta, fraction).tangent_ratio;
    const int k = robot_.coordinate_index(i);
    // The section turns by the rotation vector ratio (-v, u, 0).
    const Matrix3d J = ratio * R * left_jacobian(ratio * Vector3d(-q[k + 1], q[k], 0.0));
    jacobian.col(k) = J.col(1);
    jacobian.col(k + 1) = -J.col(0);
    R = R * section_pose_at(robot_.section(i), state, fraction).linear();
  }
}

void ElasticArm::load(const VectorXd& q, const BaseState& base, const Vector3d& force,
                      VectorXd& moment, bool with_mass) noexcept {
  set_states(q);
  moment.setZero();
  const auto at = [&](const BodyPlace& place) {
    backbone_jacobian(robot_, states_, base, place.section, place.fraction, jacobian_);
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
  balance_.moment = input.moment + load_ - stiffness_.cwiseProduct(q_ - rest_) +
                    balance_.by_friction.rowwise().sum();
  balance_.moment.noalias() += balance_.by_friction * x.tail(t);
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
  balance_.by_q.diagonal() -= stiffness_;
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
  step_.diagonal() += h * damping_ + h * h * stiffness_;
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
