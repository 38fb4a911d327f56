#include "drive/arm_observer.hpp"

#include <utility>

#include "tendril/model/continuum/tendon_statics.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {

ArmObserver::ArmObserver(ContinuumDescription robot, const ComputerOptions& options)
    : robot_(ArmComputer::prepared(std::move(robot), options)),
      measurement_(RobotSizes{robot_.kinematics().coordinate_count(), tendon_count(robot_)}) {
  computer_.emplace(robot_, options, ArmMechanics::Options{.gravity = options.gravity},
                    ContactNeed::None, measurement_);
  memory_.resize(static_cast<std::size_t>(computer_->loop().layout().size()));
  estimate_ = computer_->loop().empty_estimate();
  reset();
}

void ArmObserver::reset() noexcept {
  computer_->reset(memory_);
  is_current_ = false;
}

void ArmObserver::step(std::span<const double> readings, std::span<const bool> arrived,
                       std::span<const double> commands) noexcept {
  const StandardArithmetic standard;
  computer_->keep(commands, memory_);
  computer_->sense(readings, arrived, memory_, memory_);
  is_current_ = false;
}

const ArmEstimate& ArmObserver::estimate() noexcept {
  const StandardArithmetic standard;
  if (!is_current_) computer_->loop().estimate(memory_, estimate_);
  is_current_ = true;
  return estimate_;
}

}  // namespace tendril
