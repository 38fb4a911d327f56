// A complete custom controller: the tip moves on a circle around the base axis. Built as
// example_controller.so, which any MuJoCo program can load in addition to libtendril.so:
//     tendril run --plugin build/release/lib/example_controller.so SCENE.xml
// Selected in a robot file by
//     [controller]
//     plugin = "example.circle"
//     radius = 0.05
#include <cmath>
#include <numbers>
#include <vector>

#include "controllers/interface/arm_memory.hpp"
#include "plugin/controller_plugin.hpp"
#include "tendril/ik/fabrikx_solver.hpp"

namespace {

using namespace tendril;
constexpr double kTurn = 2.0 * std::numbers::pi;

class CircleController final : public ArmController {
 public:
  static std::span<const SettingInfo> settings() {
    static constexpr SettingInfo kSettings[] = {
        setting::number("radius", "m", "0.05", kPositive, "of the circle around the base axis"),
        setting::number("height", "m", "0.2", kPositive, "of the circle above the base"),
        setting::number("period", "s", "4", kPositive, "of one revolution")};
    return kSettings;
  }
  static constexpr Quantity kQuantities[] = {quantity::kIterations, quantity::kTipError};

  explicit CircleController(const ArmContext& context)
      : radius_(context.settings.number("radius")),
        height_(context.settings.number("height")),
        period_(context.settings.number("period")),
        solver_(context.robot),
        start_(context.robot.straight().begin(), context.robot.straight().end()),
        phase_(memory_.number()) {
    // Start from a small bend: the bending direction of a straight arm is undefined.
    for (SectionState& state : start_) state.theta = 0.3;
  }

  void update(const ArmMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, ArmCommand& command,
              ControllerReport& report) noexcept override {
    const double phase = phase_(memory);
    phase_(next_memory) = std::fmod(phase + kTurn * measurement.timestep / period_, kTurn);

    TipTarget target;
    target.X_BG.translation() = point_at(phase);
    for (SectionState& state : start_) state.phi = phase;
    const IkResult ik = solver_.solve(target, start_, measurement.base);
    to_coordinates(solver_.robot(), ik.states, command.q);
    // The whole shape turns about the base axis. Servos that know no rate are late.
    for (int i = 0; i < command.q.size(); i += 2)
      command.q_rate.segment<2>(i) =
          kTurn / period_ * Eigen::Vector2d(-command.q[i + 1], command.q[i]);
    command.plan = command.q;

    report.status = ik.converged() ? ControllerStatus::Working : ControllerStatus::NotReached;
    report.iterations = ik.iterations;
    report.target = target.position();
    report.tip_error = position_error(measurement.X_BE, target);
  }

  int path(std::span<const double>, std::span<Eigen::Vector3d> points) const noexcept override {
    const auto count = static_cast<double>(points.size());
    for (std::size_t i = 0; i < points.size(); ++i)
      points[i] = point_at(kTurn * static_cast<double>(i) / (count - 1.0));
    return static_cast<int>(points.size());
  }

 private:
  Eigen::Vector3d point_at(double phase) const noexcept {
    return {radius_ * std::cos(phase), radius_ * std::sin(phase), height_};
  }

  double radius_, height_, period_;
  FabrikxSolver solver_;
  std::vector<SectionState> start_;  // scratch: phi is set in every step
  Slot<double> phase_;  // all that lasts: saving, restoring, copying the simulation takes it along
};

}  // namespace

mjPLUGIN_LIB_INIT(example_controller) {
  tendril::register_controller<CircleController>("example.circle");
}
