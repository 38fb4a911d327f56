#include "controllers/tendon_drive.hpp"

#include <catch2/catch.hpp>
#include <array>
#include <cmath>
#include <numbers>

#include "controllers/servo.hpp"

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
    tendon = {.joints = {}, .takes_length = takes_length, .stiffness = kStiffness, .damping = 100.0,
              .offset = offset, .min_tension = kPretension, .max_tension = kMax};
  std::vector<TendonDrive::Bend> bends;
  for (int k = 0; k < 4; ++k) bends.push_back({k, kBody, kBodyDamping});
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

TEST_CASE("tendons: tensions feed the bends' errors back, lengths do so themselves", "[controllers]") {
  const bool takes_length = GENERATE(true, false);
  TendonDrive tendons = drive(takes_length);
  CHECK(tendons.feeds_back() == !takes_length);
  TendonDrive::Motion m = motion();
  m.rate.setZero();
  m.speed.setZero();
  m.position[0] -= 0.01;
  const Eigen::MatrixXd J = lengths_of_bends();
  std::vector<TendonDrive::Length> now(kTendons);
  for (int t = 0; t < kTendons; ++t) now[static_cast<std::size_t>(t)] = {J.row(t).dot(m.position), 0.0};
  std::array<double, kTendons> commands{};
  tendons.commands(m, now, commands);
  Eigen::VectorXd tensions(kTendons);
  for (std::size_t t = 0; t < kTendons; ++t)
    tensions[static_cast<Eigen::Index>(t)] = tendons.tendons()[t].tension(commands[t], now[t].value, 0.0);
  const double moment = -J.col(0).dot(tensions);
  CHECK(moment > kBody * m.desired[0] - m.load[0] + 0.5 * kBody * 0.01);  // it is driven back
}

TEST_CASE("tendons: no tension is asked for beyond the limit", "[controllers]") {
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
