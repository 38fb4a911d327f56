#include "controllers/arm/turned_frames.hpp"

namespace tendril {

TurnedFrames::TurnedFrames(const std::vector<Eigen::Index>& bends) {
  for (const Eigen::Index bend : bends) frames_.push_back({.bend = bend});
}

void TurnedFrames::reset() noexcept {
  for (Frame& frame : frames_) frame = {.bend = frame.bend};
}

void TurnedFrames::add(std::size_t section, double angle, double rate) noexcept {
  Frame& frame = frames_[section];
  frame.angle += angle;
  frame.rate += rate;
  frame.c = std::cos(frame.angle);
  frame.s = std::sin(frame.angle);
}

void TurnedFrames::untwist(Eigen::Ref<Eigen::VectorXd> q,
                           Eigen::Ref<Eigen::VectorXd> q_rate) const noexcept {
  for (const auto& [k, angle, rate, c, s] : frames_) {
    rotate(c, s, q[k], q[k + 1]);
    rotate(c, s, q_rate[k], q_rate[k + 1]);
    q_rate[k] -= rate * q[k + 1];
    q_rate[k + 1] += rate * q[k];
  }
}

void TurnedFrames::twist(Eigen::Ref<Eigen::VectorXd> q,
                         Eigen::Ref<Eigen::VectorXd> q_rate) const noexcept {
  for (const auto& [k, angle, rate, c, s] : frames_) {
    q_rate[k] += rate * q[k + 1];
    q_rate[k + 1] -= rate * q[k];
    rotate(c, -s, q[k], q[k + 1]);
    rotate(c, -s, q_rate[k], q_rate[k + 1]);
  }
}

void TurnedFrames::untwist_moments(Eigen::Ref<Eigen::VectorXd> moments) const noexcept {
  for (const Frame& frame : frames_)
    rotate(frame.c, frame.s, moments[frame.bend], moments[frame.bend + 1]);
}

void TurnedFrames::twist_moments(Eigen::Ref<Eigen::VectorXd> moments) const noexcept {
  for (const Frame& frame : frames_)
    rotate(frame.c, -frame.s, moments[frame.bend], moments[frame.bend + 1]);
}

}  // namespace tendril
