#include "bench/published/mobile_cell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tendril/mobile/closed_form.hpp"
#include "tendril/mobile/fabrik_solver.hpp"
#include "tendril/mobile/youbot_targets.hpp"
#include "tendril/model_error.hpp"

namespace tendril::tables {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSourceStallRatio = 1e-3;  // of the methods before `fabrik`
constexpr double kCoarseStep = 1.0;  // [m] longer than any interval: two postures per interval
constexpr int kRepeats = 100;        // forward kinematics between two readings of the clock
constexpr int kTimings = 2;          // of a solve; the shorter is taken because of other programs

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

/// The printed algorithm with the corrections up to the one named by the method.
MobileFabrikOptions options_of(std::string_view method) {
  MobileFabrikOptions options{.fallback = method == "fabrik"};
  if (method == "fabrik" || method == "fabrik-alone") return options;
  options.stall_ratio = kSourceStallRatio;
  constexpr std::array kSteps = {"printed",      "orientation-test", "orientation-forward",
                                 "second-plane", "mirror-shift",     "starts"};
  const std::string_view name = method == "printed-claims" ? "printed" : method;
  const auto step = std::find(kSteps.begin(), kSteps.end(), name);
  if (step == kSteps.end())
    throw ModelError(fmt::format("tables: {}: unknown method of the mobile robot", method));
  const auto count = step - kSteps.begin();
  options.features = {.orientation_test = count >= 1,
                      .orientation_forward = count >= 2,
                      .second_plane = count >= 3,
                      .mirror_shift = count >= 4,
                      .starts = count >= 5};
  return options;
}

class MobileCell final : public Cell {
 public:
  MobileCell(const MobileRow& row, const Method& method, std::uint64_t seed, std::int64_t samples)
      : row_(row),
        method_(method.name),
        seed_(seed),
        samples_(row.listed ? std::min<std::int64_t>(samples, static_cast<std::int64_t>(
                                                                  listed_youbot_targets().size()))
                            : samples),
        robot_(youbot()) {}

  std::int64_t block_count() const override { return (samples_ + kBlock - 1) / kBlock; }

  void run_block(std::int64_t block) override {
    Measurement measurement;
    if (method_ == "forward-kinematics") {
      measure_forward_kinematics(block, measurement);
    } else if (method_ == "closed-form" || method_ == "closed-form-coarse") {
      ClosedFormOptions options;
      if (method_ == "closed-form-coarse") options.step = kCoarseStep;
      MobileClosedForm solver(robot_, options);
      measure(block, measurement, [&](const ToolTarget& target) {
        return solver.solve(target, {}, youbot_start_joints());
      });
    } else {
      MobileFabrikSolver solver(robot_, options_of(method_));
      measure(block, measurement, [&](const ToolTarget& target) {
        return solver.solve(target, {}, youbot_start_joints());
      });
    }
    const std::scoped_lock lock(mutex_);
    measurement_.merge(measurement);
  }

  std::variant<Measurement, Coverage> result() override { return std::move(measurement_); }

 private:
  [[nodiscard]] ToolTarget target_of(std::int64_t k) const {
    if (row_.listed) return tool_target(listed_youbot_targets()[static_cast<std::size_t>(k)]);
    return random_youbot_target(robot_, seed_, static_cast<std::uint64_t>(k));
  }

  template <class Solve>
  void measure(std::int64_t block, Measurement& measurement, Solve&& solve) const {
    // The success criterion of the printed algorithm is the position only.
    const bool claims_only = method_ == "printed-claims";
    const Tolerances tolerances{.position = row_.tolerances.position,
                                .angle = claims_only ? std::numbers::pi : row_.tolerances.angle};
    const std::int64_t end = std::min(samples_, (block + 1) * kBlock);
    for (std::int64_t k = block * kBlock; k < end; ++k) {
      const ToolTarget target = target_of(k);
      MobileResult result;
      double time = 0.0;
      for (int i = 0; i < kTimings; ++i) {
        const Clock::time_point begin = Clock::now();
        result = solve(target);
        const double here = seconds(Clock::now() - begin);
        time = i == 0 ? here : std::min(time, here);
      }
      Outcome outcome{.claimed = result.converged() ||
                                 (claims_only && result.status == MobileStatus::WrongOrientation),
                      .iterations = result.iterations,
                      .time = time,
                      .time_for_mean = time};
      verify(target, result.base, result.joints, tolerances, outcome);
      measurement.add(outcome);
    }
  }

  void verify(const ToolTarget& target, const PlatformPose& base, JointAngles joints,
              const Tolerances& tolerances, Outcome& outcome) const {
    const Eigen::Isometry3d X_WE = tool_pose(robot_, base, joints);
    outcome.position_error = (X_WE.translation() - target.X_WG.translation()).norm();
    outcome.angle_error = rotation_angle(X_WE.linear(), target.X_WG.linear());
    outcome.verified = within(tolerances, outcome.position_error, outcome.angle_error) &&
                       within_limits(robot_, joints);
  }

  /// Forward kinematics of poses found by the closed form: the unit of the other methods' times.
  void measure_forward_kinematics(std::int64_t block, Measurement& measurement) const {
    MobileClosedForm solver(robot_);
    const std::int64_t end = std::min(samples_, (block + 1) * kBlock);
    for (std::int64_t k = block * kBlock; k < end; ++k) {
      const ToolTarget target = target_of(k);
      const MobileResult pose = solver.solve(target, {}, youbot_start_joints());
      std::vector<double> joints(pose.joints.begin(), pose.joints.end());
      double time = 0.0, checksum = 0.0;
      for (int i = 0; i < kTimings; ++i) {
        const Clock::time_point begin = Clock::now();
        for (int r = 0; r < kRepeats; ++r) {
          joints[0] = pose.joints[0] + 1e-9 * r;  // varies, so that it is not computed only once
          checksum += tool_pose(robot_, pose.base, joints).translation().x();
        }
        const double here = seconds(Clock::now() - begin) / kRepeats;
        time = i == 0 ? here : std::min(time, here);
      }
      Outcome outcome{.claimed = pose.converged() && std::isfinite(checksum),
                      .iterations = 1,
                      .time = time,
                      .time_for_mean = time};
      verify(target, pose.base, pose.joints, row_.tolerances, outcome);
      measurement.add(outcome);
    }
  }

  const MobileRow& row_;
  std::string method_;
  std::uint64_t seed_;
  std::int64_t samples_;
  MobileRobot robot_;
  std::mutex mutex_;
  Measurement measurement_;
};

}  // namespace

std::unique_ptr<Cell> make_mobile_cell(const MobileRow& row, const Method& method,
                                       std::uint64_t seed, std::int64_t samples) {
  return std::make_unique<MobileCell>(row, method, seed, samples);
}

}  // namespace tendril::tables
