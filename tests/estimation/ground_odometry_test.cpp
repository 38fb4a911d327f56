#include "tendril/estimation/ground_odometry.hpp"

#include <catch2/catch.hpp>
#include <numbers>

#include "tendril/kinematics/rotation.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"

using Eigen::Matrix3d;
using Eigen::Vector2d;
using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kLink = 0.06, kStep = 0.002;
constexpr int kJoints = 8;

GroundBody body() {
  return {.link_lengths = std::vector<double>(kJoints + 1, kLink),
          .link_masses = std::vector<double>(kJoints + 1, 0.15)};
}

struct Shape {
  std::vector<double> angles = std::vector<double>(kJoints, 0.0), rates = angles;
};

std::vector<double> memory_of(const GroundOdometry& odometry) {
  return std::vector<double>(std::size_t(odometry.layout().size()));
}

}  // namespace

TEST_CASE("ground odometry: a curved snake that follows its own circle comes back",
          "[estimation]") {
  // Links without side slip: their wheels roll along the circle. Inertia is next to nothing.
  const double bend = GENERATE(0.15, 0.3, -0.4);
  CAPTURE(bend);
  GroundBody wheels = body();
  wheels.link_lengths[0] = wheels.link_masses[0] = 0.0;
  wheels.friction_along = 0.0;
  wheels.gravity = 1e6;
  GroundOdometry odometry(wheels, {.stiffness = 1e9, .slip_speed = 1e-9});
  std::vector<double> memory = memory_of(odometry);
  Shape shape;
  for (std::size_t j = 0; j < kJoints; j += 2) shape.angles[j] = bend;
  // Pairs of links are the sides of a regular polygon: their middles touch the circle, and the ends
  // of a side slip sideways by as much in opposite directions.
  const double radius = kLink / std::tan(bend / 2.0), speed = 0.3, turn = speed / radius;
  const int steps = int(std::lround(2.0 * std::numbers::pi / std::abs(turn) / kStep));
  const double h = 2.0 * std::numbers::pi / std::abs(turn) / steps;
  odometry.start(memory, {turn * radius, turn * kLink});
  Vector2d head = Vector2d::Zero();
  double length = 0.0, worst = 0.0;
  for (int k = 0; k < steps; ++k) {
    const double heading = turn * h * (k + 0.5);
    const GroundOdometry::Result now = odometry.step(memory,
                                                     {.R_WH = rotation_by({0.0, 0.0, heading}),
                                                      .rate = {0.0, 0.0, turn},
                                                      .angles = shape.angles,
                                                      .angle_rates = shape.rates},
                                                     h);
    // The head is a link ahead of the middle of its side.
    const Vector2d expected = Eigen::Rotation2Dd(heading) * Vector2d(turn * radius, turn * kLink);
    worst = std::max(worst, (now.velocity - expected).norm());
    head += h * now.velocity;
    length += h * now.velocity.norm();
  }
  CAPTURE(radius, worst);
  CHECK(worst < 1e-3 * speed);
  CHECK(head.norm() < 1e-3 * length);
}

TEST_CASE("ground odometry: sliding bodies are braked by their friction", "[estimation]") {
  GroundBody scales = body();
  scales.friction_along = 0.1;
  scales.friction_across = 0.6;
  const bool is_along = GENERATE(true, false);
  CAPTURE(is_along);
  GroundOdometry odometry(scales, {.slip_speed = 1e-6});
  std::vector<double> memory = memory_of(odometry);
  const Vector2d start = is_along ? Vector2d(0.5, 0.0) : Vector2d(0.0, 0.5);
  odometry.start(memory, start);
  const Shape shape;
  const double friction = is_along ? 0.1 : 0.6;
  for (int k = 1; k <= 30; ++k) {
    const GroundOdometry::Result now = odometry.step(memory,
                                                     {.R_WH = Matrix3d::Identity(),
                                                      .rate = Vector3d::Zero(),
                                                      .angles = shape.angles,
                                                      .angle_rates = shape.rates},
                                                     kStep);
    const double speed = 0.5 - friction * 9.81 * kStep * k;
    CHECK((now.velocity - speed * start.normalized()).norm() < 1e-5);
  }
}

TEST_CASE("ground odometry: a snake that rolls moves by the arc of its links", "[estimation]") {
  GroundOdometry odometry(body());
  std::vector<double> memory = memory_of(odometry);
  constexpr double kRate = 2.0;
  odometry.start(memory, {0.0, -kRate * 0.025});
  Shape straight;
  for (int k = 0; k < 100; ++k) {
    const GroundOdometry::Result now =
        odometry.step(memory,
                      {.R_WH = rotation_by({kRate * kStep * k, 0.0, 0.0}),
                       .rate = {kRate, 0.0, 0.0},
                       .angles = straight.angles,
                       .angle_rates = straight.rates},
                      kStep);
    CHECK((now.velocity - Vector2d(0.0, -kRate * 0.025)).norm() < 1e-9);
    CHECK(now.head_height == Approx(0.025).margin(1e-6));
  }
}

TEST_CASE("ground odometry: links in the air move, those on the ground do not", "[estimation]") {
  // The front half is raised and sways; the rear half bears the weight.
  GroundOdometry odometry(body());
  std::vector<double> memory = memory_of(odometry);
  odometry.start(memory);
  Shape shape;
  shape.angles[0] = shape.angles[2] = 0.8;  // it rests on an arc
  shape.angles[5] = 0.4;
  double slip = 0.0;
  for (int k = 0; k < 1000; ++k) {
    const double t = kStep * k;
    shape.angles[6] = 0.3 * (1.0 - std::cos(4.0 * t));
    shape.rates[6] = 1.2 * std::sin(4.0 * t);
    // The rear half is fixed: orientation and velocity of the head follow from the joints.
    const Matrix3d R_raised = rotation_by({0.0, -0.4, 0.0});
    const Matrix3d R = R_raised * rotation_by({0.0, 0.0, shape.angles[6]});
    const Vector3d rate = shape.rates[6] * R_raised.col(2);
    const Vector3d arm = 2.0 * kLink * R.col(0);  // links 7 and 8
    const GroundOdometry::Result now = odometry.step(
        memory, {.R_WH = R, .rate = rate, .angles = shape.angles, .angle_rates = shape.rates},
        kStep);
    slip = std::max(slip, (now.velocity - rate.cross(arm).head<2>()).norm());
    CHECK(now.head_height == Approx(0.025 + kLink * R_raised(2, 0) + arm.z()).margin(5e-3));
  }
  // Friction below slip_speed grows with the speed: the raised links, accelerated by less than a
  // fifth of what friction holds, move the rear half by less than a fifth of it.
  CHECK(slip < 0.2 * 0.005);
}

TEST_CASE("ground odometry: a turned and a mirrored snake", "[estimation]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  Random random(seed);
  GroundBody scales = body();
  scales.friction_along = 0.2;
  GroundOdometry odometry(scales), other(scales), mirrored(scales);
  std::vector<double> a = memory_of(odometry), b = memory_of(other), c = memory_of(mirrored);
  odometry.start(a);
  other.start(b);
  mirrored.start(c);
  const Matrix3d turn = rotation_by({0.0, 0.0, random.angle()});
  Shape shape, mirror;
  for (int k = 0; k < 5; ++k) {
    for (std::size_t j = 0; j < kJoints; ++j) {
      shape.angles[j] = random.uniform(-0.5, 0.5);
      shape.rates[j] = random.uniform(-3.0, 3.0);
      const double sign = j % 2 == 0 ? -1.0 : 1.0;
      mirror.angles[j] = sign * shape.angles[j];
      mirror.rates[j] = sign * shape.rates[j];
    }
    const Vector3d tilt = 0.1 * random.unit_vector(), rate = random.unit_vector();
    const GroundOdometry::Result x = odometry.step(a,
                                                   {.R_WH = rotation_by(tilt),
                                                    .rate = rate,
                                                    .angles = shape.angles,
                                                    .angle_rates = shape.rates},
                                                   kStep);
    const GroundOdometry::Result y = other.step(b,
                                                {.R_WH = turn * rotation_by(tilt),
                                                 .rate = turn * rate,
                                                 .angles = shape.angles,
                                                 .angle_rates = shape.rates},
                                                kStep);
    const GroundOdometry::Result z =
        mirrored.step(c,
                      {.R_WH = rotation_by({-tilt.x(), tilt.y(), -tilt.z()}),
                       .rate = {-rate.x(), rate.y(), -rate.z()},
                       .angles = mirror.angles,
                       .angle_rates = mirror.rates},
                      kStep);
    // The plane is found to a millionth of the weight.
    CHECK((turn.topLeftCorner<2, 2>() * x.velocity - y.velocity).norm() < 1e-4);
    CHECK((Vector2d(x.velocity.x(), -x.velocity.y()) - z.velocity).norm() < 1e-4);
    CHECK(x.link_speed == Approx(y.link_speed).margin(1e-4));
  }
}

TEST_CASE("ground odometry: a step allocates nothing, wrong bodies are refused", "[estimation]") {
  GroundOdometry odometry(body());
  std::vector<double> memory = memory_of(odometry);
  const Shape shape;
  {
    const AllocationCounter counter;
    odometry.start(memory);
    for (int k = 0; k < 10; ++k)
      (void)odometry.step(memory, {.angles = shape.angles, .angle_rates = shape.rates}, kStep);
    CHECK(counter.count() == 0);
  }
  GroundBody wrong = body();
  wrong.friction_across = 0.0;
  CHECK_THROWS_WITH(GroundOdometry(wrong), Catch::Contains("friction_across"));
  wrong = body();
  wrong.link_masses.pop_back();
  CHECK_THROWS_WITH(GroundOdometry(wrong), Catch::Contains("link_masses"));
}
