#include "controllers/arm/predictive_planner.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "controllers/interface/arm_memory.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Isometry3d;
using Eigen::Vector3d;
using Eigen::VectorXd;

namespace {

constexpr double kTimestep = 0.002;    // [s]
constexpr double kBodyRadius = 0.008;  // [m]
constexpr double kMargin = 0.008;      // [m]
constexpr double kRounding = 1e-12;

ContinuumRobot three_sections() {
  const SectionParameters section{.length = 0.1, .bend_angle_limit = 1.745};
  return ContinuumRobot({section, section, section});
}

PredictivePlannerOptions options_with(int seed) {
  return {.rollouts = {.rates = {}, .body_radius = kBodyRadius, .margin = kMargin}, .seed = seed};
}

constexpr double kAmplitude = 0.07;  // [m]

/// The cost of RolloutOptions without its weights of direction, from what is recorded.
class RecordedCost final : public PlanCost {
 public:
  explicit RecordedCost(const RolloutOptions& of) : options(of) {}

  RolloutRecord record(int samples, int steps) override {
    const auto rows = static_cast<std::size_t>(samples * steps);
    memory.assign(rows * (kCoordinates + 9) + static_cast<std::size_t>(samples + 6 * steps), 0.0);
    std::size_t used = 0;
    const auto take = [&](std::size_t size) {
      used += size;
      return std::span(memory).subspan(used - size, size);
    };
    const auto of_steps = static_cast<std::size_t>(3 * steps);
    return all = {.q = take(rows * kCoordinates),
                  .feed = take(rows),
                  .tips = take(3 * rows),
                  .directions = take(3 * rows),
                  .clearances = take(rows),
                  .rates = take(rows),
                  .costs = take(static_cast<std::size_t>(samples)),
                  .targets = take(of_steps),
                  .desired = take(of_steps)};
  }
  void evaluate(int first, int last, std::span<double> costs) noexcept override {
    for (int s = first; s < last; ++s) costs[static_cast<std::size_t>(s - first)] = cost(s);
  }
  [[nodiscard]] double cost(int sample) const {
    const int steps = options.steps;
    double sum = 0.0, distance = 0.0;
    for (int k = 0; k < steps; ++k) {
      const auto row = static_cast<std::size_t>(sample * steps + k);
      distance =
          (Vector3d(&all.tips[3 * row]) - Vector3d(&all.targets[static_cast<std::size_t>(3 * k)]))
              .norm() /
          kLength;
      const double missing = (options.margin - all.clearances[row]) / options.margin;
      sum += distance + options.obstacle_weight * std::clamp(missing, 0.0, 2.0) +
             options.rate_weight * all.rates[row] * all.rates[row];
    }
    return sum / steps + options.end_weight * distance;
  }

  static constexpr std::size_t kCoordinates = 6;  // of three_sections
  static constexpr double kLength = 0.3;
  RolloutOptions options;
  RolloutRecord all;
  std::vector<double> memory;
};

/// An arm that is where it is planned, and a bar along y that moves to and fro across it.
struct Crossing {
  Crossing(int seed, double of_bar, PlanCost* cost = nullptr)
      : speed(of_bar),
        obstacles({{capsule(0.06, 0.012), pose_at(0.0)}}),
        planner(robot, obstacles, 1, options_with(seed), cost),
        memory(static_cast<std::size_t>(planner.layout().size())),
        measurement(robot.coordinate_count()) {
    planner.layout().reset(memory);
    measurement.timestep = kTimestep;
    measurement.obstacles = &obstacles;
    target.X_BG.translation() = Vector3d(0.0, 0.03, 0.24);
  }

  [[nodiscard]] Isometry3d pose_at(double time) const {
    Isometry3d X = Isometry3d::Identity();
    X.translation() = Vector3d(-kAmplitude * std::cos(speed / kAmplitude * time), -0.04, 0.15);
    X.linear() = Eigen::AngleAxisd(1.5707963267948966, Vector3d::UnitX()).toRotationMatrix();
    return X;
  }

  PosePlanner::Step step() {
    measurement.time += kTimestep;
    obstacles.set_pose(0, pose_at(measurement.time));
    std::vector<double> next = memory;
    const VectorXd before = planner.pose(memory);
    const PosePlanner::Step done = planner.step(target, measurement, memory, next);
    memory = next;
    measurement.q = planner.pose(memory);
    measurement.q_rate = (measurement.q - before) / kTimestep;
    return done;
  }
  /// Of the arm's surface from the bar: 25 points a section, each by itself.
  [[nodiscard]] double clearance() const {
    std::vector<SectionState> states(robot.straight().begin(), robot.straight().end());
    from_coordinates(robot, measurement.q, states);
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < robot.section_count(); ++i)
      for (int k = 0; k <= 24; ++k)
        least = std::min(
            least, obstacles.nearest(backbone_pose(robot, states, {}, i, k / 24.0).translation())
                       .distance);
    return least - kBodyRadius;
  }

  double speed;
  ContinuumRobot robot = three_sections();
  Obstacles obstacles;
  PredictivePlanner planner;
  std::vector<double> memory;
  ArmMeasurement measurement;
  TipTarget target;
};

}  // namespace

TEST_CASE("path integral: weights sum to 1, fall with the cost, and ignore what all costs share",
          "[predictive]") {
  Random random(GENERATE(range(0u, 20u)));
  std::array<double, 16> costs{}, shifted{}, weights{}, others{};
  for (std::size_t i = 0; i < costs.size(); ++i) {
    costs[i] = random.uniform(0.0, 3.0);
    shifted[i] = costs[i] + 1000.0;
  }
  path_integral_weights(costs, 0.3, weights);
  path_integral_weights(shifted, 0.3, others);
  double sum = 0.0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    sum += weights[i];
    CHECK(weights[i] == Approx(others[i]).epsilon(1e-9));
    CHECK(std::log(weights[i] / weights[0]) == Approx((costs[0] - costs[i]) / 0.3).margin(1e-9));
  }
  CHECK(sum == Approx(1.0).margin(kRounding));
}

TEST_CASE("arcs of smooth coordinates are those of their section states", "[predictive]") {
  Random random(GENERATE(range(0u, 50u)));
  const ContinuumRobot robot({{.length = 0.1},
                              {.length = 0.05, .variable_length = 0.1, .bend_angle_limit = 2.0},
                              {.length = 0.08, .length_weights = {1, 2}, .angle_weights = {2, 1}}});
  VectorXd q(robot.coordinate_count());
  for (double& value : q) value = random.uniform(-1.0, 1.0);
  q[4] = random.uniform(0.0, 0.1);
  std::vector<SectionState> states(robot.straight().begin(), robot.straight().end());
  from_coordinates(robot, q, states);
  BodyArcs body(robot);
  const Vector3d end = body.at(q).back().end();
  CHECK((end - tip_pose(robot, states).translation()).norm() < kRounding);
}

TEST_CASE("an obstacle of constant velocity and rotation is foreseen where it will be",
          "[predictive]") {
  const Vector3d velocity(0.1, -0.2, 0.05), axis = Vector3d(1, 2, -1).normalized();
  const auto pose_at = [&](double t) {
    Isometry3d X = Isometry3d::Identity();
    X.translation() = velocity * t;
    X.linear() = Eigen::AngleAxisd(0.7 * t, axis).toRotationMatrix();
    return X;
  };
  Obstacles obstacles({{box({0.01, 0.02, 0.03}), pose_at(0.0)}});
  const ObstacleForecast forecast(1, kTimestep);
  std::vector<double> memory(static_cast<std::size_t>(forecast.layout().size()));
  forecast.layout().reset(memory);
  double time = 0.0;
  for (; time < 1.0; time += kTimestep) {
    obstacles.set_pose(0, pose_at(time));
    std::vector<double> next = memory;
    forecast.measure(obstacles, memory, next);
    memory = next;
  }
  forecast.place(0.5, memory, obstacles);
  CHECK((obstacles.pose(0).matrix() - pose_at(time - kTimestep + 0.5).matrix()).norm() < 1e-6);
  CHECK(obstacles.growth(0) ==
        Approx(ObstacleForecast::kDoubt * 0.5 * velocity.norm()).epsilon(1e-6));
}

TEST_CASE("a rollout keeps the rates, and staying at the target costs nothing", "[predictive]") {
  const ContinuumRobot robot = three_sections();
  const double rate = 2.0;
  const RolloutOptions options{.samples = 2, .rates = {.rate_limit = rate}};
  ArmRollouts rollouts(robot, options);
  Obstacles none;
  const ObstacleForecast forecast(0, kTimestep);
  std::vector<double> memory(static_cast<std::size_t>(forecast.layout().size()));
  const VectorXd start = straight_coordinates(robot);
  VectorXd far = start;
  far[0] = 3.0 * rate * options.horizon;  // out of the horizon's reach
  rollouts.set_direct(0, start);
  rollouts.set_direct(1, far);
  TipTarget target;
  target.X_BG = tip_pose(robot, robot.straight());
  rollouts.predict({.command = start,
                    .body = start,
                    .base = {},
                    .target = target,
                    .forecast = forecast,
                    .forecast_memory = memory},
                   0, 2, none);
  CHECK(rollouts.cost(0) == Approx(0.0).margin(kRounding));
  CHECK(rollouts.cost(1) > 0.0);
  for (int i = 0; i < ArmRollouts::kKnots; ++i)
    CHECK(rollouts.reached(1)(0, i) == Approx(rate * (i + 1) * rollouts.knot_time()));
}

TEST_CASE("predictive planner: the same seed plans the same bits, another seed others",
          "[predictive]") {
  Crossing a(1, 0.3), b(1, 0.3), c(2, 0.3);
  bool differs = false;
  for (int i = 0; i < 3000; ++i) {
    a.step();
    b.step();
    c.step();
    REQUIRE(a.memory == b.memory);
    differs = differs || a.memory != c.memory;
  }
  CHECK(differs);
}

TEST_CASE("predictive planner: a bar that crosses the arm to and fro never touches it",
          "[predictive]") {
  const int seed = GENERATE(range(0, 6));
  Crossing scene(seed, 0.15 + 0.05 * seed);
  CAPTURE(seed);
  double least = std::numeric_limits<double>::infinity();
  PosePlanner::Step last;
  for (int i = 0; i < 3000; ++i) {
    last = scene.step();
    REQUIRE(scene.planner.layout().is_valid(scene.memory));
    least = std::min(least, scene.clearance());
  }
  CHECK(least > 0.0);
  CHECK(last.reached);
}

TEST_CASE("predictive planner: a record is what the arm does in its plans", "[predictive]") {
  RecordedCost cost(options_with(0).rollouts);
  Crossing scene(0, 0.3, &cost);
  for (int i = 0; i < 200; ++i) scene.step();
  const int steps = cost.options.steps;
  std::vector<SectionState> states(scene.robot.straight().begin(), scene.robot.straight().end());
  for (int row = 0; row < (cost.options.samples + 1) * steps; ++row) {
    const auto at = static_cast<std::size_t>(row);
    from_coordinates(scene.robot, VectorXd::Map(&cost.all.q[6 * at], 6), states);
    const Isometry3d tip = tip_pose(scene.robot, states);
    REQUIRE((tip.translation() - Vector3d(&cost.all.tips[3 * at])).norm() < kRounding);
    REQUIRE((tip.linear().col(2) - Vector3d(&cost.all.directions[3 * at])).norm() < kRounding);
    REQUIRE(cost.all.clearances[at] <= kMargin);
    REQUIRE(cost.all.rates[at] <= 1.0 + kRounding);
  }
  for (int s = 0; s <= cost.options.samples; ++s)
    REQUIRE(cost.cost(s) == Approx(cost.all.costs[static_cast<std::size_t>(s)]).epsilon(1e-12));
}

TEST_CASE("predictive planner: the same cost from outside plans the same", "[predictive]") {
  RecordedCost cost(options_with(1).rollouts);
  Crossing inside(1, 0.3), outside(1, 0.3, &cost);
  double moved = 0.0, apart = 0.0;
  for (int i = 0; i < 1500; ++i) {
    const VectorXd before = inside.measurement.q;
    inside.step();
    outside.step();
    moved += (inside.measurement.q - before).norm();
    apart = std::max(apart, (inside.measurement.q - outside.measurement.q).norm());
  }
  CHECK(moved > 1.0);
  CHECK(apart < 1e-9);
}

TEST_CASE("predictive planner: a step allocates nothing", "[predictive]") {
  Crossing scene(0, 0.3);
  std::vector<double> next = scene.memory;
  for (int i = 0; i < 300; ++i) {
    scene.step();
    next = scene.memory;
    const AllocationCounter counter;
    scene.planner.step(scene.target, scene.measurement, scene.memory, next);
    REQUIRE(counter.count() == 0);
  }
}

TEST_CASE("predictive planner: the lag of the body is learnt", "[predictive]") {
  const double lag = 0.08;
  Crossing scene(0, 0.0);
  VectorXd q = scene.measurement.q;
  for (int i = 0; i < 10000; ++i) {
    const double t = i * kTimestep;
    scene.target.X_BG.translation() =
        Vector3d(0.08 * std::sin(3.0 * t), 0.08 * std::cos(2.0 * t), 0.22);
    scene.step();
    const VectorXd plan = scene.planner.pose(scene.memory);
    scene.measurement.q_rate = (plan - q) / lag;
    q += kTimestep * scene.measurement.q_rate;
    scene.measurement.q = q;
  }
  CHECK(scene.planner.lag(scene.memory) == Approx(lag).epsilon(0.1));
}
