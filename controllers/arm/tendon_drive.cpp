#include "controllers/arm/tendon_drive.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "controllers/arm/servo.hpp"
#include "tendril/kinematics/tendon_map.hpp"

namespace tendril {
namespace {

/// Weight of a length's force relative to the bends' moments, where not all can be made: both in
/// units of the effect of one tendon.
constexpr double kLengthWeight = 0.03;
/// Part of a length's force that rounding may miss.
constexpr double kMadeFraction = 1e-3;
constexpr double kMinGain = 1e-3;  ///< of a muscle, relative to that of the straight arm

}  // namespace

double ArmTendon::gain_at(double length) const noexcept {
  const double at = gain + gain_slope * length;
  // A muscle as short as it gets has no force left.
  return gain_slope > 0.0 ? std::max(at, kMinGain * gain) : at;
}

double ArmTendon::tension(double command, double length, double speed) const noexcept {
  const double tension = takes_length ? stiffness * (length - command) + offset + damping * speed
                                      : gain_at(length) * command;
  return std::clamp(tension, limit, max_tension);
}

TendonDrive::Motion::Motion(Eigen::Index n)
    : desired(Eigen::VectorXd::Zero(n)),
      rate(desired),
      position(desired),
      speed(desired),
      load(desired) {}

TendonDrive::TendonDrive(std::vector<ArmTendon> tendons, Eigen::MatrixXd jacobian,
                         std::vector<Bend> bends)
    : tendons_(std::move(tendons)), bends_(std::move(bends)), jacobian_(std::move(jacobian)) {
  const auto count = static_cast<Eigen::Index>(tendons_.size());
  const auto rows = static_cast<Eigen::Index>(bends_.size());
  Eigen::MatrixXd moments(rows, count);
  for (Eigen::Index i = 0; i < rows; ++i)
    moments.row(i) = -jacobian_.col(bends_[static_cast<std::size_t>(i)].coordinate).transpose();
  for (Eigen::Index i = 0; i + 1 < rows; ++i) {
    const Bend& u = bends_[static_cast<std::size_t>(i)];
    const Bend& v = bends_[static_cast<std::size_t>(i) + 1];
    if (u.is_length || v.is_length || v.coordinate != u.coordinate + 1) continue;  // no v
    drop_weak_direction(moments.middleRows<2>(i));
    ++i;
  }
  Eigen::VectorXd low(count), high(count);
  feeds_back_ = !tendons_.empty();
  for (Eigen::Index t = 0; t < count; ++t) {
    const ArmTendon& tendon = tendons_[static_cast<std::size_t>(t)];
    high[t] = Servo::kFractionOfLimit * tendon.max_tension;
    low[t] = std::min(tendon.min_tension, high[t]);
    feeds_back_ = feeds_back_ && !tendon.takes_length;
  }
  weight_ = Eigen::VectorXd::Ones(rows);
  double bending = 0.0;  // largest moment of a unit tension
  for (Eigen::Index i = 0; i < rows; ++i)
    if (!bends_[static_cast<std::size_t>(i)].is_length)
      bending = std::max(bending, moments.row(i).cwiseAbs().maxCoeff());
  for (Eigen::Index i = 0; i < rows; ++i) {
    Bend& bend = bends_[static_cast<std::size_t>(i)];
    bend.body.lag = 0.0;
    for (Eigen::Index t = 0; t < count; ++t) {
      if (moments(i, t) != 0.0)
        bend.body.lag =
            std::max(bend.body.lag, tendons_[static_cast<std::size_t>(t)].time_constant);
    }
    feeds_back_ = feeds_back_ && bend.body.largest_gain(1.0) >= 1.0;
    const double largest = moments.row(i).cwiseAbs().maxCoeff();
    if (bend.is_length && bending > 0.0 && largest > 0.0)
      weight_[i] = kLengthWeight * bending / largest;
  }
  moments = weight_.asDiagonal() * moments;
  distribution_ = TensionDistribution(std::move(moments), std::move(low), std::move(high));
  moments_ = Eigen::VectorXd::Zero(rows);
  tensions_ = Eigen::VectorXd::Zero(count);
  given_up_ = Eigen::VectorXd::Zero(rows);
}

void TendonDrive::commands(const Motion& motion, std::span<const Length> lengths,
                           std::span<double> commands) noexcept {
  for (std::size_t i = 0; i < bends_.size(); ++i) {
    const auto& [k, body, is_length] = bends_[i];
    const auto row = static_cast<Eigen::Index>(i);
    double moment = body.moment(motion.desired[k], motion.rate[k], motion.load[k]);
    if (feeds_back_) {
      moment += body.stiffness * (motion.desired[k] - motion.position[k]) +
                body.damping * (motion.rate[k] - motion.speed[k]);
    }
    moments_[row] = weight_[row] * moment;
  }
  distribute(lengths);
  for (std::size_t i = 0; i < bends_.size(); ++i) {
    const auto& [k, body, is_length] = bends_[i];
    if (!is_length) continue;
    const auto row = static_cast<Eigen::Index>(i);
    const double desired = moments_[row] / weight_[row], made = force_on(k);
    const bool is_made = std::abs(made - desired) <= kMadeFraction * std::abs(desired);
    const double held = body.moment(motion.desired[k], motion.rate[k], motion.load[k]);
    given_up_[row] = is_made ? 0.0 : (made - held) / body.stiffness;
  }
  for (std::size_t t = 0; t < tendons_.size(); ++t) {
    const ArmTendon& tendon = tendons_[t];
    const auto row = static_cast<Eigen::Index>(t);
    if (!tendon.takes_length) {
      commands[t] = tensions_[row] / tendon.gain_at(lengths[t].value);
      continue;
    }
    const double length = jacobian_.row(row).dot(motion.desired);
    const double speed = jacobian_.row(row).dot(motion.rate);
    const double desired =
        length + (tendon.damping * speed + tendon.offset - tensions_[row]) / tendon.stiffness;
    // Not more than the limit now: a tendon at its limit is integrated without its damping.
    const double shortest = lengths[t].value + (tendon.damping * lengths[t].speed + tendon.offset -
                                                Servo::kFractionOfLimit * tendon.max_tension) /
                                                   tendon.stiffness;
    commands[t] = std::max(desired, shortest);
  }
}

void TendonDrive::commands_of_moments(const Eigen::VectorXd& moments,
                                      std::span<const Length> lengths,
                                      std::span<double> commands) noexcept {
  for (std::size_t i = 0; i < bends_.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    moments_[row] = weight_[row] * moments[bends_[i].coordinate];
  }
  distribute(lengths);
  for (std::size_t t = 0; t < tendons_.size(); ++t)
    commands[t] = tensions_[static_cast<Eigen::Index>(t)] / tendons_[t].gain_at(lengths[t].value);
}

void TendonDrive::commands_of_tensions(const Eigen::VectorXd& tensions,
                                       std::span<const Length> lengths,
                                       std::span<double> commands) noexcept {
  for (std::size_t t = 0; t < tendons_.size(); ++t) {
    const ArmTendon& tendon = tendons_[t];
    const auto row = static_cast<Eigen::Index>(t);
    tensions_[row] = std::clamp(tensions[row], tendon.limit, tendon.max_tension);
    commands[t] = tensions_[row] / tendon.gain_at(lengths[t].value);
  }
}

double TendonDrive::length_given_up(Eigen::Index coordinate) const noexcept {
  for (std::size_t i = 0; i < bends_.size(); ++i)
    if (bends_[i].coordinate == coordinate) return given_up_[static_cast<Eigen::Index>(i)];
  return 0.0;
}

void TendonDrive::distribute(std::span<const Length> lengths) noexcept {
  for (std::size_t t = 0; t < tendons_.size(); ++t) {
    const ArmTendon& tendon = tendons_[t];
    if (tendon.gain_slope == 0.0) continue;
    const double fraction = tendon.gain_at(lengths[t].value) / tendon.gain;
    distribution_.set_high(static_cast<Eigen::Index>(t),
                           Servo::kFractionOfLimit * tendon.max_tension * std::min(fraction, 1.0));
  }
  distribution_.distribute(moments_, tensions_);
}

}  // namespace tendril
