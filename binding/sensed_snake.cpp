#include "binding/sensed_snake.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "tendril/kinematics/rotation.hpp"
#include "tendril/model_error.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector2d;
using Eigen::Vector3d;

namespace {

// What the odometry does not know, chosen on the seeds 100 to 103 (docs/theory/estimation.md).
constexpr double kSlip = 0.1;              // deviation of its velocity, of the links' speed
constexpr double kLostSlip = 1.0;          // without an inertial unit
constexpr double kLeastSlip = 1e-3;        // [m/s]
constexpr double kSlipTime = 0.1;          // in which the slip forgets itself [s]
constexpr double kHeightDeviation = 5e-3;  // of the height of the head above level ground [m]
// Of an inertial unit: links that strike the ground turn and accelerate the head in a few
// milliseconds, of which its samples have points.
constexpr double kRateModel = 0.2;    // [rad/s]
constexpr double kForceModel = 10.0;  // [m/s^2]

[[noreturn]] void refuse(const std::string& what) {
  throw ModelError("measured = sensors: " + what + ": must be \"truth\"");
}

std::vector<double> deviations(const SensedSnake::Parameters& parameters) {
  std::vector<double> all;
  for (const auto& encoder : parameters.observations.joints.encoders) {
    if (!encoder)
      refuse("the robot file has no joint_encoder of joint_" + std::to_string(all.size() + 1));
    all.push_back(encoder->deviation);
  }
  return all;
}

Vector3d axis_of(std::size_t joint) {
  return joint % 2 == 0 ? Vector3d::UnitZ() : Vector3d(-Vector3d::UnitY());
}

}  // namespace

SensedSnake::Memory::Memory(int joint_count, Base base)
    : began(layout.flag()),
      joints(layout.part(
          JointFilter(std::vector(static_cast<std::size_t>(joint_count), 1.0)).layout())) {
  if (base == Base::Measured) {
    head = layout.part(HeadEstimator({}, 1.0).layout());
    odometry = layout.part(GroundOdometry({.link_lengths = {1.0}, .link_masses = {1.0}}).layout());
    rate = layout.matrix<Vector3d>();
    force = layout.matrix<Vector3d>();
  } else if (base == Base::Unknown) {
    start_rotation = layout.matrix<Matrix3d>();
    start_center = layout.matrix<Vector3d>();
  }
}

SensedSnake::SensedSnake(Parameters parameters)
    : parameters_(std::move(parameters)),
      joints_(static_cast<int>(parameters_.link_lengths.size()) - 1),
      filter_(deviations(parameters_), {.timestep = parameters_.timestep}),
      memory_(joints_, parameters_.base) {
  const SnakeObservations& observations = parameters_.observations;
  for (const double mass : parameters_.link_masses) total_mass_ += mass;
  if (parameters_.base == Base::Measured) {
    if (!observations.imu) refuse("the robot file has no imu, which tells the pose");
    const SnakeObservations::Imu& imu = *observations.imu;
    const Vector3d& g = parameters_.gravity;
    if (!(g.z() < 0.0) || g.head<2>().norm() > 1e-9 * g.norm())
      refuse("no gravity holds the snake on level ground");
    HeadEstimatorOptions options;
    options.gravity = g;
    options.rate_noise = hypotenuse(imu.rate_deviation, kRateModel);
    options.force_noise = hypotenuse(imu.force_deviation, kForceModel);
    options.start_bias = imu.rate_bias;
    head_.emplace(options, parameters_.timestep);
    odometry_.emplace(GroundBody{.link_lengths = parameters_.link_lengths,
                                 .link_masses = parameters_.link_masses,
                                 .radius = parameters_.radius,
                                 .friction_along = parameters_.friction_along,
                                 .friction_across = parameters_.friction_across,
                                 .gravity = -g.z()});
  }
  for (const auto& encoder : observations.joints.encoders) {
    to_now_.push_back(JointFilter::transition(encoder->delay, filter_.options()));
    const double to_unit = observations.imu ? encoder->delay - observations.imu->delay : 0.0;
    to_unit_.push_back(JointFilter::transition(to_unit, filter_.options()));
  }
  values_.resize(static_cast<std::size_t>(joints_));
  angles_ = rates_ = values_;
  frames_.resize(parameters_.link_lengths.size());
}

void SensedSnake::begin(std::span<double> next, const SnakeMeasurement& seen) noexcept {
  memory_.began(next) = true;
  filter_.start(memory_.joints(next), {seen.q.data(), static_cast<std::size_t>(joints_)});
  if (head_) {
    head_->start(memory_.head(next), seen.X_WE);
    odometry_->start(memory_.odometry(next));
  } else if (parameters_.base == Base::Unknown) {
    memory_.start_rotation(next) = seen.X_WT.linear();
    memory_.start_center(next) = seen.center_of_mass;
  }
}

bool SensedSnake::read_unit(std::span<const double> readings, std::span<const bool> arrived,
                            std::span<double> next) noexcept {
  using Part = SnakeObservations::Part;
  bool has_rate = false, has_force = false;
  const auto take = [&](std::size_t i, int joint, std::span<const double> numbers) {
    const Part part = parameters_.observations.parts[i];
    if (joint >= 0) return;
    if (part == Part::Rate) {
      memory_.rate(next) = Vector3d::Map(numbers.data());
      has_rate = true;
    } else if (part == Part::Force) {
      memory_.force(next) = Vector3d::Map(numbers.data());
      has_force = true;
    }
  };
  parameters_.observations.joints.for_each_new(readings, arrived, take);
  return has_rate && has_force;
}

void SensedSnake::read_angles(std::span<const double> readings, std::span<const bool> arrived,
                              Eigen::VectorXd& q) noexcept {
  parameters_.observations.joints.collect(readings, arrived, values_);
  for (int j = 0; j < joints_; ++j) {
    const double value = values_[static_cast<std::size_t>(j)];
    if (std::isfinite(value))
      q[j] = std::clamp(value, -parameters_.joint_limit, parameters_.joint_limit);
  }
}

void SensedSnake::move_head(std::span<double> next, bool has_sample) noexcept {
  const std::span<double> own = memory_.head(next);
  const ImuSample sample{memory_.rate(next), memory_.force(next)};
  const double advanced = head_->step(own, has_sample ? &sample : nullptr);
  if (advanced == 0.0) return;
  for (std::size_t j = 0; j < angles_.size(); ++j) {
    const Vector3d x = to_unit_[j] * filter_.state(memory_.joints(next), static_cast<int>(j));
    angles_[j] = std::clamp(x[0], -parameters_.joint_limit, parameters_.joint_limit);
    rates_[j] = x[1];
  }
  const GroundOdometry::Result result = odometry_->step(memory_.odometry(next),
                                                        {.R_WH = head_->orientation(own),
                                                         .rate = head_->angular_velocity(own),
                                                         .angles = angles_,
                                                         .angle_rates = rates_},
                                                        advanced);
  // White noise as strong as what is correlated over kSlipTime.
  const double strength = std::sqrt(std::max(1.0, 2.0 * kSlipTime / advanced));
  const double slip = (head_->has_unit(own) ? kSlip : kLostSlip) * result.link_speed;
  head_->correct_velocity(own, result.velocity, strength * hypotenuse(slip, kLeastSlip));
  head_->correct_height(own, result.head_height, strength * kHeightDeviation);
}

Isometry3d SensedSnake::tail_from_head(std::span<const double> next,
                                       const SnakeMeasurement& seen) const noexcept {
  const std::span<const double> own = memory_.head(next);
  const double age = parameters_.observations.imu->delay + head_->age(own);
  Isometry3d X = Isometry3d::Identity();
  X.linear() = rotation_by(age * head_->angular_velocity(own)) * head_->orientation(own);
  X.translation() = head_->position(own) + age * head_->velocity(own);
  for (auto k = static_cast<std::size_t>(joints_); k > 0; --k) {
    X.translation() -= parameters_.link_lengths[k] * X.linear().col(0);
    X.linear() =
        X.linear() * Eigen::AngleAxisd(-seen.q[static_cast<Eigen::Index>(k) - 1], axis_of(k - 1))
                         .toRotationMatrix();
  }
  X.translation() -= parameters_.link_lengths[0] * X.linear().col(0);
  return X;
}

void SensedSnake::place(const Isometry3d& X_WT, SnakeMeasurement& seen,
                        std::span<JointState> states) noexcept {
  Isometry3d X = X_WT;
  double upright = 0.0;
  int links = 0;
  for (std::size_t k = 0; k < frames_.size(); ++k) {
    if (k > 0) {
      const auto j = static_cast<Eigen::Index>(k) - 1;
      JointState& joint = states[k - 1];
      joint.axis = X.linear() * axis_of(k - 1);
      joint.anchor = X.translation();
      joint.position = seen.q[j];
      joint.velocity = seen.q_rate[j];
      X.linear() = X.linear() * Eigen::AngleAxisd(seen.q[j], axis_of(k - 1)).toRotationMatrix();
    }
    frames_[k] = X;
    if (parameters_.link_lengths[k] > 0.0) {
      upright += X.linear()(2, 2);
      ++links;
    }
    X.translation() += parameters_.link_lengths[k] * X.linear().col(0);
  }
  seen.X_WT = X_WT;
  seen.X_WE = X;
  seen.upright = upright / links;
  double mass = 0.0;
  Vector3d moment = Vector3d::Zero();
  for (std::size_t k = frames_.size(); k-- > 0;) {
    mass += parameters_.link_masses[k];
    moment += parameters_.link_masses[k] * (frames_[k] * parameters_.link_centers[k]);
    if (k > 0 && mass > 0.0) states[k - 1].center_of_mass = moment / mass;
  }
  if (mass > 0.0) seen.center_of_mass = moment / mass;
}

void SensedSnake::sense(std::span<const double> readings, std::span<const bool> arrived,
                        std::span<double> next, SnakeMeasurement& seen,
                        std::span<JointState> states) noexcept {
  if (!memory_.began(next)) begin(next, seen);
  parameters_.observations.joints.collect(readings, arrived, values_);
  const bool has_sample = head_ && read_unit(readings, arrived, next);
  (void)filter_.step(memory_.joints(next), values_);
  for (int j = 0; j < joints_; ++j) {
    const Vector3d x =
        to_now_[static_cast<std::size_t>(j)] * filter_.state(memory_.joints(next), j);
    seen.q[j] = std::clamp(x[0], -parameters_.joint_limit, parameters_.joint_limit);
    seen.q_rate[j] = x[1];
  }
  switch (parameters_.base) {
    case Base::Known:
      place(seen.X_WT, seen, states);
      break;
    case Base::Measured:
      move_head(next, has_sample);
      place(tail_from_head(next, seen), seen, states);
      break;
    case Base::Unknown: {
      Isometry3d X = Isometry3d::Identity();
      X.linear() = memory_.start_rotation(next);
      place(X, seen, states);
      X.translation() = Vector3d(memory_.start_center(next)) - seen.center_of_mass;
      place(X, seen, states);
      break;
    }
  }
}

}  // namespace tendril
