#include "controllers/arm/tip_integral.hpp"

#include <Eigen/LU>
#include <catch2/catch.hpp>
#include <vector>

#include "tests/controllers/kinematic_arm.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;
using Eigen::VectorXd;
using Vector6 = Eigen::Matrix<double, 6, 1>;

namespace {

constexpr double kTimestep = 0.002;

/// Condition of the damped normal equations (|J|^2 / lambda^2, about 1e3) times rounding.
constexpr double kSolveTolerance = 1e-11;

ArmMeasurement bent_measurement(const ContinuumRobot& robot, Random& random) {
  KinematicArm arm(robot, kTimestep);
  VectorXd q(robot.coordinate_count());
  to_coordinates(robot, random_states(random, robot), q);
  arm.move_to(q, {});
  return arm.measurement;
}

VectorXd scales(const ContinuumRobot& robot) {
  VectorXd scale = VectorXd::Ones(robot.coordinate_count());
  for (int i = 0; i < robot.section_count(); ++i) {
    if (robot.section(i).is_extensible())
      scale[robot.coordinate_index(i) + 2] = TipIntegral::kLengthScale;
  }
  return scale;
}

/// Damped least squares from its definition: the minimum of |J S y - e|^2 + lambda^2 |y|^2 by
/// normal equations in the coordinates, q = S y.
VectorXd damped_least_squares(const Eigen::MatrixXd& J, const VectorXd& scale, const VectorXd& e,
                              double lambda) {
  const Eigen::MatrixXd JS = J * scale.asDiagonal();
  const Eigen::MatrixXd A =
      JS.transpose() * JS + lambda * lambda * Eigen::MatrixXd::Identity(JS.cols(), JS.cols());
  return scale.asDiagonal() * VectorXd(A.fullPivLu().solve(JS.transpose() * e));
}

struct Integral {
  Integral(const ContinuumRobot& robot, const TipIntegralOptions& options)
      : integral(robot, options, kTimestep),
        memory(static_cast<std::size_t>(integral.layout().size())),
        n(robot.coordinate_count()) {
    integral.layout().reset(memory);
  }
  VectorXd step(const ArmMeasurement& measurement, const Vector6& error, bool frozen = false) {
    std::vector<double> next = memory;
    VectorXd q = VectorXd::Zero(n);
    integral.update(measurement, error, frozen, memory, next, q);
    memory = next;
    return q;
  }
  TipIntegral integral;
  std::vector<double> memory;
  int n;
};

Vector6 position_error(const Vector3d& e) {
  Vector6 error = Vector6::Zero();
  error.head<3>() = e;
  return error;
}

}  // namespace

TEST_CASE("tip integral: one step is the damped inverse of the tip Jacobian", "[controllers]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = seed % 2 ? mixed_robot() : plain_robot();
  const int n = robot.coordinate_count();
  const TipIntegralOptions options{.gain = 4.0, .damping = 0.02};
  Integral integral(robot, options);
  const ArmMeasurement measurement = bent_measurement(robot, random);
  const Vector3d e = 0.005 * random.unit_vector();

  const VectorXd q = integral.step(measurement, position_error(e));
  const VectorXd expected = options.gain * kTimestep *
                            damped_least_squares(measurement.tip_jacobian.topLeftCorner(3, n),
                                                 scales(robot), e, options.damping);
  CHECK((q - expected).norm() < kSolveTolerance);
  // It adds up.
  CHECK((integral.step(measurement, position_error(e)) - 2.0 * expected).norm() < kSolveTolerance);
}

TEST_CASE("tip integral: with direction the rotation rows count as an arm of 50 mm",
          "[controllers]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = plain_robot();
  const TipIntegralOptions options{.gain = 4.0, .damping = 0.02, .direction = true};
  Integral integral(robot, options);
  const ArmMeasurement measurement = bent_measurement(robot, random);
  Vector6 error;
  error << 0.004 * random.unit_vector(), 0.05 * random.unit_vector();

  Eigen::MatrixXd J = measurement.tip_jacobian.leftCols(robot.coordinate_count());
  VectorXd e = error;
  J.bottomRows(3) *= 0.05;
  e.tail(3) *= 0.05;
  const VectorXd expected =
      options.gain * kTimestep * damped_least_squares(J, scales(robot), e, options.damping);
  CHECK((integral.step(measurement, error) - expected).norm() < kSolveTolerance);
}

TEST_CASE("tip integral: long errors are shortened, fast corrections slowed down as a whole",
          "[controllers]") {
  Random random(3);
  const ContinuumRobot robot = plain_robot();
  const ArmMeasurement measurement = bent_measurement(robot, random);
  const Vector3d direction = random.unit_vector();

  SECTION("error limit") {
    Integral at_limit(robot, {}), past_limit(robot, {});
    const VectorXd q = at_limit.step(measurement, position_error(0.03 * direction));
    CHECK((past_limit.step(measurement, position_error(5.0 * direction)) - q).norm() <
          kSolveTolerance);
  }
  SECTION("rate limit") {
    Integral free(robot, {.gain = 1.0, .rate_limit = 1e9});
    Integral limited(robot, {.gain = 1.0, .rate_limit = 0.01});
    const VectorXd q = free.step(measurement, position_error(0.02 * direction));
    const VectorXd slow = limited.step(measurement, position_error(0.02 * direction));
    CHECK(slow.cwiseAbs().maxCoeff() == Approx(0.01 * kTimestep));
    CHECK((slow.normalized() - q.normalized()).norm() < kSolveTolerance);
  }
}

TEST_CASE("tip integral: no correction exceeds its limit, lengths scaled", "[controllers]") {
  Random random(5);
  const ContinuumRobot robot = mixed_robot();
  const TipIntegralOptions options{.gain = 50.0, .correction_limit = 0.1};
  Integral integral(robot, options);
  const ArmMeasurement measurement = bent_measurement(robot, random);
  VectorXd q;
  for (int i = 0; i < 2000; ++i) q = integral.step(measurement, position_error({0.03, 0.01, 0.03}));
  const VectorXd limit = options.correction_limit * scales(robot);
  CHECK((q.cwiseAbs() - limit).maxCoeff() <= 0.0);
  CHECK((q.cwiseAbs().array() / limit.array()).maxCoeff() == 1.0);
}

TEST_CASE("tip integral: a delay shifts the corrections by as many steps and changes nothing else",
          "[controllers]") {
  Random random(7);
  const ContinuumRobot robot = plain_robot();
  const ArmMeasurement measurement = bent_measurement(robot, random);
  constexpr int kDelaySteps = 5;
  Integral prompt(robot, {}), late(robot, {.delay = kDelaySteps * kTimestep});
  REQUIRE(late.memory.size() == prompt.memory.size() + 6 * kDelaySteps);

  std::vector<VectorXd> prompt_history;
  for (int k = 0; k < 40; ++k) {
    // Reference and measurement of one instant: the error of step k as a whole comes late.
    const Vector6 error = position_error(0.01 * random.unit_vector());
    prompt_history.push_back(prompt.step(measurement, error));
    const VectorXd q = late.step(measurement, error);
    if (k < kDelaySteps) {
      CHECK(q.isZero());
    } else {
      CHECK(q == prompt_history[static_cast<std::size_t>(k - kDelaySteps)]);
    }
  }
}

TEST_CASE("tip integral: frozen, or without gain, it keeps its correction", "[controllers]") {
  Random random(9);
  const ContinuumRobot robot = plain_robot();
  const ArmMeasurement measurement = bent_measurement(robot, random);
  const Vector6 error = position_error({0.01, 0, 0});
  Integral integral(robot, {});
  const VectorXd q = integral.step(measurement, error);
  CHECK(q.norm() > 0.0);
  CHECK(integral.step(measurement, error, true) == q);
  Integral without_gain(robot, {.gain = 0.0});
  CHECK(without_gain.step(measurement, error).isZero());
}

TEST_CASE("tip integral: a tip that swings by twist is moved along, against the swing",
          "[controllers]") {
  Random random(GENERATE(range(0u, 5u)));
  const ContinuumRobot robot = plain_robot();
  ArmMeasurement measurement = bent_measurement(robot, random);
  const Vector3d swing = 0.002 * random.unit_vector(), rest = 0.003 * random.unit_vector();
  // An error that is there without the swing, and the same but for the sign of the swing's part.
  const VectorXd expected = Integral(robot, {}).step(measurement, position_error(rest + swing));
  measurement.twist_swing.head<3>() = swing;
  const VectorXd q = Integral(robot, {}).step(measurement, position_error(rest - swing));
  CHECK((q - expected).norm() < kSolveTolerance);
}

TEST_CASE("tip integral: the sag's prediction moves the tip back", "[controllers]") {
  const auto seed = GENERATE(range(0u, 10u));
  Random random(seed);
  const ContinuumRobot robot = plain_robot();
  ArmMeasurement measurement = bent_measurement(robot, random);
  measurement.gravity_deflection = 0.003 * random.unit_vector();
  const TipIntegralOptions options{.damping = 0.005};
  Integral integral(robot, options);
  VectorXd q = VectorXd::Ones(robot.coordinate_count());
  integral.integral.compensate_gravity_deflection(measurement, q);
  const VectorXd expected =
      damped_least_squares(measurement.tip_jacobian.topLeftCorner(3, robot.coordinate_count()),
                           scales(robot), -measurement.gravity_deflection, options.damping);
  CHECK((q - VectorXd::Ones(q.size()) - expected).norm() < 10 * kSolveTolerance);

  Integral off(robot, {.damping = 0.005, .deflection_compensation = false});
  q.setOnes();
  off.integral.compensate_gravity_deflection(measurement, q);
  CHECK(q == VectorXd::Ones(q.size()));
}

TEST_CASE("tip integral: allocates nothing", "[controllers]") {
  Random random(11);
  const ContinuumRobot robot = mixed_robot();
  ArmMeasurement measurement = bent_measurement(robot, random);
  measurement.gravity_deflection = {0, 0, 0.001};
  for (const bool direction : {false, true}) {
    Integral integral(robot, {.delay = 3 * kTimestep, .direction = direction});
    std::vector<double> next = integral.memory;
    VectorXd q = VectorXd::Zero(robot.coordinate_count());
    AllocationCounter counter;
    integral.integral.update(measurement, Vector6::Constant(1e-3), false, integral.memory, next, q);
    integral.integral.compensate_gravity_deflection(measurement, q);
    CHECK(counter.count() == 0);
  }
}

TEST_CASE("tip integral: refused settings name the setting and its range", "[controllers]") {
  struct Case {
    std::string name, text, message;
  };
  const auto c = GENERATE_COPY(values<Case>({
      {"integral_gain", "-1", "integral_gain = -1: must be in [0, 100]"},
      {"integral_damping", "0", "integral_damping = 0: must be in (0, 1]"},
      {"integral_limit", "4", "integral_limit = 4: must be in (0, 3]"},
      {"sensor_delay", "2.5", "sensor_delay = 2.5: must be at most 1000 time steps"},
      {"deflection_compensation", "on", "deflection_compensation = on: must be true or false"},
  }));
  DYNAMIC_SECTION(c.name) {
    const Settings settings(tip_integral_settings(), {{c.name, c.text}});
    CHECK_THROWS_WITH(read_tip_integral(settings, kTimestep), c.message);
  }
}

TEST_CASE("tip integral: the slowest swing decays for any gain", "[controllers]") {
  // The tip is on an oscillator that the correction drives, x'' + c x' + w^2 x = w^2 u, u = -q_I:
  // with the gain K it is stable for K < c.
  const double frequency = GENERATE(5.0, 10.0, 40.0), damping = GENERATE(0.02, 0.2) * frequency;
  CAPTURE(frequency, damping);
  const ContinuumRobot robot({{.length = 0.3}});
  const auto largest_at_the_end = [&](double known_damping) {
    TipIntegralOptions options;
    options.gain = 100.0;
    options.damping = 1e-6;
    Integral loop(robot, options);
    KinematicArm arm(robot, kTimestep);
    arm.measurement.fundamental_mode_damping = known_damping;
    const Vector3d rate = arm.measurement.tip_jacobian.col(0).head<3>();
    double x = 0.001, speed = 0.0, largest = 0.0;
    const int steps = static_cast<int>(20.0 / damping / kTimestep);
    for (int k = 0; k < steps; ++k) {
      const double u =
          loop.step(arm.measurement, position_error(-x * rate.normalized()))[0] * rate.norm();
      speed += kTimestep * (frequency * frequency * (u - x) - damping * speed);
      x += kTimestep * speed;
      if (k > steps / 2) largest = std::max(largest, std::abs(x));
    }
    return largest;
  };
  CHECK(largest_at_the_end(damping) < 0.0005);
  CHECK(largest_at_the_end(std::numeric_limits<double>::infinity()) > 0.001);
}
