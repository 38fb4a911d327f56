#include "controllers/arm/tendon_drive.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include "controllers/arm/servo.hpp"

using namespace tendril;

namespace {

constexpr double kDistance = 0.01, kStiffness = 2e4, kPretension = 2.0, kMax = 200.0;
constexpr double kBody = 0.5, kBodyDamping = 0.01;  // of each bend [N m/rad], [N m s/rad]
constexpr int kTendons = 6;

// Two spatial sections, three tendons each; those of the second run through the first.
Eigen::MatrixXd lengths_of_bends() {
  Eigen::MatrixXd J = Eigen::MatrixXd::Zero(kTendons, 4);
  for (int t = 0; t < kTendons; ++t) {
    const double angle = 2.0 * std::numbers::pi / 3.0 * t + (t >= 3 ? 0.5 : 0.0);
    for (int i = 0; i <= t / 3; ++i)
      J.row(t).segment<2>(2 * i) << -kDistance * std::cos(angle), -kDistance * std::sin(angle);
  }
  return J;
}

TendonDrive drive(bool takes_length, double offset = kPretension) {
  std::vector<ArmTendon> tendons(kTendons);
  for (ArmTendon& tendon : tendons)
    tendon = {.joints = {},
              .takes_length = takes_length,
              .stiffness = kStiffness,
              .damping = 100.0,
              .offset = offset,
              .min_tension = kPretension,
              .max_tension = kMax};
  std::vector<TendonDrive::Bend> bends;
  for (int k = 0; k < 4; ++k) bends.push_back({.coordinate = k, .body = {kBody, kBodyDamping}});
  return {std::move(tendons), lengths_of_bends(), std::move(bends)};
}

TendonDrive::Motion motion() {
  TendonDrive::Motion m(4);
  m.desired << 0.6, -0.3, 0.2, 0.7;
  m.rate << 0.1, 0.2, -0.3, 0.05;
  m.position = m.desired;
  m.speed = m.rate;
  m.load << -0.05, 0.02, 0.01, -0.03;
  return m;
}

}  // namespace

TEST_CASE("tendons: where the body is as commanded, the tensions hold it", "[controllers]") {
  const bool takes_length = GENERATE(true, false);
  TendonDrive tendons = drive(takes_length);
  const TendonDrive::Motion m = motion();
  const Eigen::MatrixXd J = lengths_of_bends();
  std::vector<TendonDrive::Length> now(kTendons);
  for (int t = 0; t < kTendons; ++t)
    now[static_cast<std::size_t>(t)] = {J.row(t).dot(m.position), J.row(t).dot(m.speed)};
  std::array<double, kTendons> commands{};
  tendons.commands(m, now, commands);
  Eigen::VectorXd tensions(kTendons);
  for (std::size_t t = 0; t < kTendons; ++t) {
    tensions[static_cast<Eigen::Index>(t)] =
        tendons.tendons()[t].tension(commands[t], now[t].value, now[t].speed);
    CHECK(tensions[static_cast<Eigen::Index>(t)] >= kPretension - 1e-9);
    CHECK(tensions[static_cast<Eigen::Index>(t)] <= kMax);
  }
  // Virtual work: the moments are minus the transpose of the lengths' derivatives.
  const Eigen::VectorXd moments = -J.transpose() * tensions;
  for (int k = 0; k < 4; ++k) {
    CHECK(moments[k] ==
          Approx(kBody * m.desired[k] + kBodyDamping * m.rate[k] - m.load[k]).margin(1e-6));
    CHECK(tendons.force_on(k) == Approx(moments[k]).margin(1e-6));
  }
}

TEST_CASE("tendons: tensions feed the bends' errors back, lengths do so themselves",
          "[controllers]") {
  const bool takes_length = GENERATE(true, false);
  TendonDrive tendons = drive(takes_length);
  CHECK(tendons.feeds_back() == !takes_length);
  TendonDrive::Motion m = motion();
  m.rate.setZero();
  m.speed.setZero();
  m.position[0] -= 0.01;
  const Eigen::MatrixXd J = lengths_of_bends();
  std::vector<TendonDrive::Length> now(kTendons);
  for (int t = 0; t < kTendons; ++t)
    now[static_cast<std::size_t>(t)] = {J.row(t).dot(m.position), 0.0};
  std::array<double, kTendons> commands{};
  tendons.commands(m, now, commands);
  Eigen::VectorXd tensions(kTendons);
  for (std::size_t t = 0; t < kTendons; ++t)
    tensions[static_cast<Eigen::Index>(t)] =
        tendons.tendons()[t].tension(commands[t], now[t].value, 0.0);
  const double moment = -J.col(0).dot(tensions);
  CHECK(moment > kBody * m.desired[0] - m.load[0] + 0.5 * kBody * 0.01);  // it is driven back
}

TEST_CASE("tendons: no tension is asked for above the limit", "[controllers]") {
  const bool takes_length = GENERATE(true, false);
  TendonDrive tendons = drive(takes_length);
  TendonDrive::Motion m = motion();
  m.desired *= 10.0;
  m.rate.setZero();
  m.position.setZero();
  m.speed.setZero();
  const std::vector<TendonDrive::Length> straight(kTendons);
  std::array<double, kTendons> commands{};
  tendons.commands(m, straight, commands);
  double largest = 0.0;
  for (std::size_t t = 0; t < kTendons; ++t) {
    const double tension = takes_length ? kStiffness * -commands[t] + kPretension : commands[t];
    CHECK(tension <= Servo::kFractionOfLimit * kMax + 1e-9);
    largest = std::max(largest, tension);
  }
  CHECK(largest == Approx(Servo::kFractionOfLimit * kMax));
}

namespace {

constexpr double kArea = 1e-4, kPressure = 2e5, kAxial = 2000.0, kAxialDamping = 60.0;

/// One extensible section with three chambers, which push; coordinates u, v, s.
TendonDrive chambers(double time_constant = 0.0, double damping = kBodyDamping) {
  std::vector<ArmTendon> tendons(3);
  Eigen::MatrixXd J(3, 3);
  for (int t = 0; t < 3; ++t) {
    const double angle = 2.0 * std::numbers::pi / 3.0 * t;
    J.row(t) << -kDistance * std::cos(angle), -kDistance * std::sin(angle), 1.0;
    tendons[static_cast<std::size_t>(t)] = {.joints = {},
                                            .takes_length = false,
                                            .min_tension = -kArea * kPressure,
                                            .max_tension = 0.0,
                                            .limit = -kArea * kPressure,
                                            .gain = -kArea,
                                            .time_constant = time_constant};
  }
  return {
      std::move(tendons),
      std::move(J),
      {{0, {kBody, damping}}, {1, {kBody, damping}}, {2, {kAxial, kAxialDamping, -0.005}, true}}};
}

/// Generalized forces of pressures, from virtual work.
Eigen::Vector3d forces(const std::array<double, 3>& pressures) {
  Eigen::Vector3d sum = Eigen::Vector3d::Zero();
  for (int t = 0; t < 3; ++t) {
    const double angle = 2.0 * std::numbers::pi / 3.0 * t;
    const double force = kArea * pressures[static_cast<std::size_t>(t)];
    sum += force * Eigen::Vector3d(-kDistance * std::cos(angle), -kDistance * std::sin(angle), 1.0);
  }
  return sum;
}

}  // namespace

TEST_CASE("chambers: pressures hold bends and length against body and load", "[controllers]") {
  TendonDrive drive = chambers();
  TendonDrive::Motion m(3);
  m.desired << 0.1, -0.05, 0.004;
  m.rate << 0.2, 0.1, -0.01;
  m.position = m.desired;
  m.speed = m.rate;
  m.load << 0.01, 0.02, -0.5;
  std::array<double, 3> commands{};
  drive.commands(m, std::vector<TendonDrive::Length>(3), commands);
  const Eigen::Vector3d expected(0.1 * kBody + 0.2 * kBodyDamping - 0.01,
                                 -0.05 * kBody + 0.1 * kBodyDamping - 0.02,
                                 0.009 * kAxial - 0.01 * kAxialDamping + 0.5);  // rest at -5 mm
  CHECK((forces(commands) - expected).cwiseAbs().maxCoeff() < 1e-4 * expected.norm());
  for (const double pressure : commands) CHECK((pressure >= 0.0 && pressure <= kPressure));
}

TEST_CASE("chambers: where not all can be had, the bend goes before the length", "[controllers]") {
  TendonDrive drive = chambers();
  TendonDrive::Motion m(3);
  m.desired << 0.2, 0.0, -0.005;  // a bend without lengthening
  m.position = m.desired;
  std::array<double, 3> commands{};
  drive.commands(m, std::vector<TendonDrive::Length>(3), commands);
  for (const double pressure : commands) CHECK((pressure >= 0.0 && pressure <= kPressure));
  const Eigen::Vector3d made = forces(commands);
  CHECK(made[0] == Approx(0.2 * kBody).epsilon(0.01));
  CHECK(made[2] >= 0.2 * kBody / kDistance * 0.95);  // a chamber alone lengthens as it bends
  // The length at which the body holds what was made, from its rest at -5 mm.
  CHECK(m.desired[2] + drive.length_given_up(2) == Approx(made[2] / kAxial - 0.005));
  CHECK(drive.length_given_up(0) == 0.0);
  m.desired[2] = 0.01;  // enough for both
  m.position = m.desired;
  drive.commands(m, std::vector<TendonDrive::Length>(3), commands);
  CHECK(drive.length_given_up(2) == 0.0);
}

TEST_CASE("chambers: a lag is fed forward, and errors are fed back where that is stable",
          "[controllers]") {
  constexpr double kLag = 0.05;
  CHECK(chambers(0.0).feeds_back());
  CHECK(chambers(kLag, kBody * kLag / 1.9).feeds_back());
  CHECK_FALSE(chambers(kLag, kBody * kLag / 2.1).feeds_back());
  TendonDrive now = chambers(0.0), late = chambers(kLag, kBodyDamping);
  TendonDrive::Motion m(3);
  m.desired << 0.05, 0.02, 0.004;
  m.rate << 0.1, -0.2, 0.01;
  m.position = m.desired;
  m.speed = m.rate;
  std::array<double, 3> commands{}, later{};
  now.commands(m, std::vector<TendonDrive::Length>(3), commands);
  late.commands(m, std::vector<TendonDrive::Length>(3), later);
  const Eigen::Vector3d more(kLag * kBody * 0.1, kLag * kBody * -0.2, kLag * kAxial * 0.01);
  CHECK((forces(later) - forces(commands) - more).cwiseAbs().maxCoeff() < 1e-4);
}

TEST_CASE("muscles: as a muscle contracts its pressure rises for the same moment",
          "[controllers]") {
  constexpr double kGain = 5e-4, kFree = 0.03;  // [m^2]; contraction without force [m]
  std::vector<ArmTendon> muscles(2);
  for (ArmTendon& muscle : muscles)
    muscle = {.joints = {},
              .takes_length = false,
              .max_tension = kGain * kPressure,
              .gain = kGain,
              .gain_slope = kGain / kFree};
  Eigen::MatrixXd J(2, 1);
  J << -kDistance, kDistance;
  TendonDrive drive(std::move(muscles), J, {{0, {kBody, kBodyDamping}}});
  TendonDrive::Motion m(1);
  m.desired << 0.3;
  m.position = m.desired;
  std::array<double, 2> commands{};
  for (const double contraction : {0.0, 0.01, 0.015}) {
    const std::vector<TendonDrive::Length> lengths{{-contraction, 0.0}, {contraction, 0.0}};
    drive.commands(m, lengths, commands);
    const double tension = kGain * (1.0 - contraction / kFree) * commands[0];
    CHECK(kDistance * tension == Approx(0.3 * kBody).epsilon(1e-5));
    CHECK(commands[1] == Approx(0.0).margin(1.0));
  }
  // No more is asked for than there is at that length.
  m.desired << 10.0;
  drive.commands(m, std::vector<TendonDrive::Length>{{-0.015, 0.0}, {0.015, 0.0}}, commands);
  CHECK(commands[0] <= kPressure);
}
