#include "controllers/arm/section_turns.hpp"

#include <cmath>
#include <numbers>

#include "tendril/kinematics/turning.hpp"
#include "tendril/kinematics/wrap_angle.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

constexpr double kNoDirection = 1e-4;  // [rad], a smaller bend keeps its turn
constexpr double kLeastBend = 0.05;    // [rad], for the rate of a turn

}  // namespace

SectionTurns::SectionTurns(std::vector<TurningSection> sections) : sections_(std::move(sections)) {
  for (const TurningSection& section : sections_) {
    if (section.servo < 0) continue;
    servos_.push_back(section.servo);
    masses_.push_back(section.mass);
  }
}

std::vector<Eigen::Index> SectionTurns::bends() const {
  std::vector<Eigen::Index> bends;
  if (!empty())
    for (const TurningSection& section : sections_) bends.push_back(section.bend);
  return bends;
}

void SectionTurns::measure(std::span<const JointState> turns, TurnedFrames& frames) const noexcept {
  std::size_t turn = 0;
  double psi = 0.0, rate = 0.0;
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    if (sections_[i].servo >= 0) {
      psi += turns[turn].position;
      rate += turns[turn].velocity;
      ++turn;
    }
    frames.add(i, psi, rate);
  }
}

void SectionTurns::twist(Eigen::Ref<Eigen::VectorXd> q, Eigen::Ref<Eigen::VectorXd> q_rate,
                         std::span<double> turns, std::span<double> rates) const noexcept {
  double psi = 0.0, psi_rate = 0.0;
  std::size_t turn = 0;
  for (const TurningSection& section : sections_) {
    double &u = q[section.bend], &v = q[section.bend + 1];
    double &u_rate = q_rate[section.bend], &v_rate = q_rate[section.bend + 1];
    if (section.servo >= 0) {
      const double theta = hypotenuse(u, v);
      double &angle = turns[turn], &rate = rates[turn];
      ++turn;
      rate = 0.0;
      if (theta > kNoDirection) {
        angle += wrap_angle(std::atan2(v, u) - psi - angle);
        if (std::abs(angle) > kTurnLimit) angle -= std::copysign(2.0 * std::numbers::pi, angle);
        const double bend = std::max(theta, kLeastBend);
        rate = (u * v_rate - v * u_rate) / (bend * bend) - psi_rate;
      }
      psi += angle;
      psi_rate += rate;
    }
    const double c = std::cos(psi), s = std::sin(psi);
    u_rate += psi_rate * v;
    v_rate -= psi_rate * u;
    TurnedFrames::rotate(c, -s, u, v);
    TurnedFrames::rotate(c, -s, u_rate, v_rate);
    if (section.servo >= 0) v = v_rate = 0.0;
  }
}

}  // namespace tendril
