#include "drive/arm_observer.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "drive/arm_driver.hpp"
#include "tests/drive/driven_arm.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kStep = 0.002;

const std::string kTracker =
    "[[sensor]]\nkind = \"tip_tracker\"\nname = \"tracker\"\nnoise = [1e-4, 1e-3]\ndelay = 0.01\n";
const std::string kReach = "[controller]\nplugin = \"tendril.reach\"\ntarget = \"target\"\n";

ContinuumDescription arm(const std::string& more) {
  return parse_as<ContinuumDescription>(servo_sections(2) + more, "arm.toml");
}

/// Readings of an arm whose encoders show a wave, and whose tracker shows nothing.
struct Readings {
  explicit Readings(const RobotPorts& ports)
      : values(ports.reading_count, std::numeric_limits<double>::quiet_NaN()),
        arrived(std::make_unique<bool[]>(ports.sensor_count)),
        count(ports.sensor_count) {}
  void show(double time) {
    for (std::size_t i = 0; i < 4; ++i) {
      values[i] = 0.4 * std::sin(3.0 * time + static_cast<double>(i));
      arrived[i] = true;
    }
  }
  [[nodiscard]] std::span<const bool> flags() const { return {arrived.get(), count}; }

  std::vector<double> values;
  std::unique_ptr<bool[]> arrived;
  std::size_t count;
};

}  // namespace

TEST_CASE("observer: it estimates what the driver of the same arm does") {
  ArmDriver driver(arm(kEncoder + kTracker + kReach), {.timestep = kStep});
  ArmObserver observer(arm(kEncoder + kTracker), {.timestep = kStep});
  Readings readings(driver.ports());
  std::vector<double> commands(driver.ports().actuators.size(), 0.0);
  Eigen::Isometry3d target = Eigen::Isometry3d::Identity();
  target.translation() << 0.06, 0.03, 0.17;
  for (int k = 0; k < 300; ++k) {
    readings.show(k * kStep);
    observer.step(readings.values, readings.flags(), commands);
    REQUIRE(driver.step(k * kStep, readings.values, readings.flags(), &target, commands));
    const ArmEstimate& estimate = observer.estimate();
    REQUIRE((driver.seen().q - estimate.q).norm() < 1e-12);
    REQUIRE(driver.seen().X_BE.isApprox(estimate.X_BE, 1e-12));
  }
  REQUIRE(commands != std::vector<double>(commands.size(), 0.0));
}

TEST_CASE("observer: its deviations shrink by readings, and a reset forgets them") {
  ArmObserver observer(arm(kEncoder), {.timestep = kStep});
  Readings readings(observer.computer().ports());
  const std::vector<double> commands(observer.computer().ports().actuators.size(), 0.0);
  observer.step(readings.values, readings.flags(), commands);  // nothing has come
  const Eigen::MatrixXd without = observer.estimate().covariance;
  const Eigen::VectorXd at_rest = observer.estimate().q;
  observer.reset();
  for (double& value : readings.values) value = 0.2;
  std::fill_n(readings.arrived.get(), readings.count, true);
  observer.step(readings.values, readings.flags(), commands);
  const Eigen::MatrixXd with = observer.estimate().covariance;
  REQUIRE(with.rows() == 2 * 4 + 3);
  for (int i = 0; i < 4; ++i) REQUIRE(with(i, i) < 0.01 * without(i, i));
  const Eigen::VectorXd bent = observer.estimate().q;
  observer.reset();
  std::fill_n(readings.arrived.get(), readings.count, false);
  observer.step(readings.values, readings.flags(), commands);
  REQUIRE(observer.estimate().covariance == without);
  REQUIRE(observer.estimate().q == at_rest);
  REQUIRE(bent.norm() > 0.1);
}

TEST_CASE("observer: a step takes no memory from the heap") {
  ArmObserver observer(arm(kEncoder + kTracker), {.timestep = kStep});
  Readings readings(observer.computer().ports());
  const std::vector<double> commands(observer.computer().ports().actuators.size(), 0.1);
  const AllocationCounter counter;
  for (int k = 0; k < 20; ++k) {
    readings.show(k * kStep);
    observer.step(readings.values, readings.flags(), commands);
    (void)observer.estimate();
  }
  REQUIRE(counter.count() == 0);
}
