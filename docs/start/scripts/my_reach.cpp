// The controller of my_reach.py in C++: `plugin = "my.reach_cpp"`.
#include <algorithm>
#include <vector>

#include "controllers/interface/arm_memory.hpp"
#include "plugin/controller_plugin.hpp"

namespace {

using namespace tendril;

class Reach final : public ArmController {
 public:
  static std::span<const SettingInfo> settings() {
    static constexpr SettingInfo kSettings[] = {
        setting::body_name("target", "target", "mocap body that the tip follows"),
        setting::number("gain", "1/s", "5", kPositive, "rate of the tip per error"),
        setting::number("damping", "m/rad", "0.005", kPositive, "of the least squares"),
        setting::number("rate_limit", "rad/s", "3", kPositive, "largest rate of a bend")};
    return kSettings;
  }
  static constexpr Quantity kQuantities[] = {quantity::kTipError};

  explicit Reach(const ArmContext& context)
      : robot_(context.robot),
        gain_(context.settings.number("gain")),
        damping_(context.settings.number("damping")),
        rate_limit_(context.settings.number("rate_limit")),
        states_(context.robot.straight().begin(), context.robot.straight().end()),
        q_(memory_.vector(context.robot.coordinate_count())),
        last_target_(memory_.matrix<Eigen::Vector3d>()) {
    context.scene.measure_target("target");
  }

  void update(const ArmMeasurement& m, std::span<const double> memory,
              std::span<double> next_memory, ArmCommand& command,
              ControllerReport& report) noexcept override {
    const Eigen::Vector3d target = m.X_BG.translation(), error = target - m.X_BE.translation();
    const Eigen::Vector3d last_target = last_target_(memory);
    Eigen::Vector3d tip_velocity = gain_ * error;
    if (!last_target.isZero(0.0)) tip_velocity += (target - last_target) / m.timestep;

    const auto J = m.tip_jacobian.topRows<3>().leftCols(command.q.size());
    const Eigen::Matrix3d squares =
        J * J.transpose() + damping_ * damping_ * Eigen::Matrix3d::Identity();
    const Eigen::Vector3d solved = squares.ldlt().solve(tip_velocity);
    command.q_rate.noalias() = J.transpose() * solved;
    const double largest = std::max(command.q_rate.lpNorm<Eigen::Infinity>(), 1e-9);
    command.q_rate *= std::min(1.0, rate_limit_ / largest);  // slower, same direction

    command.q = q_(memory) + command.q_rate * m.timestep;
    from_coordinates(robot_, command.q, states_);
    for (int i = 0; i < robot_.section_count(); ++i) {
      SectionState& state = states_[static_cast<std::size_t>(i)];
      state = robot_.clamped(i, state);
    }
    to_coordinates(robot_, states_, command.q);
    q_(next_memory) = command.q;
    last_target_(next_memory) = target;
    report.tip_error = error.norm();
  }

 private:
  ContinuumRobot robot_;
  double gain_, damping_, rate_limit_;
  std::vector<SectionState> states_;  // scratch
  MatrixSlot<Eigen::VectorXd> q_;     // what lasts from step to step: commanded coordinates
  MatrixSlot<Eigen::Vector3d> last_target_;
};

}  // namespace

mjPLUGIN_LIB_INIT(my_reach) { tendril::register_controller<Reach>("my.reach_cpp"); }
