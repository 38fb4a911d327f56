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

#include "controllers/arm_memory.hpp"
#include "plugin/controller_plugin.hpp"
#include "tendril/ik/fabrikx_solver.hpp"

namespace {

using namespace tendril;

class CircleController final : public Controller {
 public:
  static std::span<const SettingInfo> settings() {
    static constexpr SettingInfo kSettings[] = {
        {"radius", "m", "0.05", "of the circle around the base axis"},
        {"height", "m", "0.2", "of the circle above the base"},
        {"period", "s", "4", "of one turn"},
    };
    return kSettings;
  }

  explicit CircleController(const ControllerContext& context)
      : radius_(context.settings.number("radius", 0.05, {.low = 0.0, .open_low = true})),
        height_(context.settings.number("height", 0.2, {.low = 0.0, .open_low = true})),
        period_(context.settings.number("period", 4.0, {.low = 0.0, .open_low = true})),
        solver_(context.robot),
        start_(context.robot.straight().begin(), context.robot.straight().end()) {
    // Start from a small bend: the bending direction of a straight arm is undefined.
    for (SectionState& state : start_) state.theta = 0.3;
  }

  // The only state kept between steps is the phase. It is part of MuJoCo's plugin_state, so that it
  // is saved, restored and copied with the simulation.
  int memory_size() const noexcept override { return 1; }
  void reset(std::span<double> memory) const noexcept override { memory[0] = 0.0; }

  void update(const ArmMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, ArmCommand& command,
              ControllerReport& report) noexcept override {
    const double phase = memory[0];
    next_memory[0] = phase + 2.0 * std::numbers::pi * measurement.timestep / period_;

    TipTarget target;
    target.X_BG.translation() = point_at(phase);
    for (SectionState& state : start_) state.phi = phase;
    const IkResult ik = solver_.solve(target, start_, measurement.base);
    to_coordinates(solver_.robot(), ik.states, command.q);
    command.plan = command.q;

    report.status = ik.converged() ? ControllerStatus::Working : ControllerStatus::NotReached;
    report.iterations = ik.iterations;
    report.target = target.position();
    report.tip_error = position_error(measurement.X_BE, target);
  }

  int path(std::span<const double>, std::span<Eigen::Vector3d> points) const noexcept override {
    const auto count = static_cast<double>(points.size());
    for (std::size_t i = 0; i < points.size(); ++i)
      points[i] = point_at(2.0 * std::numbers::pi * static_cast<double>(i) / (count - 1.0));
    return static_cast<int>(points.size());
  }

 private:
  Eigen::Vector3d point_at(double phase) const noexcept {
    return {radius_ * std::cos(phase), radius_ * std::sin(phase), height_};
  }

  double radius_, height_, period_;
  FabrikxSolver solver_;
  std::vector<SectionState> start_;  // scratch: only phi changes, and is set in every step
};

}  // namespace

mjPLUGIN_LIB_INIT(example_controller) {
  tendril::register_controller<CircleController>("example.circle");
}
