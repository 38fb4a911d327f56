#include "tendril/snake/gait.hpp"

#include <Eigen/Dense>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <vector>

#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kAlgebraTolerance = 1e-12;
constexpr int kJoints = 16;
constexpr double kLink = 0.06;  // [m]

std::vector<double> angles_of(const Gait& gait, double phase, const GaitSteering& steering = {},
                              int joints = kJoints) {
  std::vector<double> angles(static_cast<std::size_t>(joints));
  gait_angles(gait, steering, phase, angles);
  return angles;
}

const auto kKinds = {GaitKind::VerticalWave, GaitKind::Serpenoid, GaitKind::Sidewinding,
                     GaitKind::Rolling,      GaitKind::Helix,     GaitKind::Anguilliform};

}  // namespace

TEST_CASE("gait: names and kinds belong together", "[snake]") {
  for (const GaitKind kind : kKinds) CHECK(gait_kind(to_string(kind)) == kind);
  CHECK_FALSE(gait_kind("crawl"));
  CHECK_FALSE(gait_kind(""));
}

TEST_CASE("gait: a wave runs along the body and repeats after a period", "[snake]") {
  const GaitKind kind = GENERATE(GaitKind::VerticalWave, GaitKind::Serpenoid, GaitKind::Sidewinding,
                                 GaitKind::Rolling, GaitKind::Helix);
  const Gait gait = standard_gait(kind, kJoints);
  const double phase = GENERATE(0.0, 0.7, -2.1);
  const std::vector<double> now = angles_of(gait, phase);
  const std::vector<double> later = angles_of(gait, phase + 2.0 * gait.lag);
  const std::vector<double> period = angles_of(gait, phase + 2.0 * kPi);
  for (std::size_t i = 0; i < now.size(); ++i) {
    CHECK(period[i] == Approx(now[i]).margin(kAlgebraTolerance));
    // Joint j + 2, of the same family, does what j did two lags before: with a positive lag the
    // wave runs to the head.
    if (i + 2 < now.size()) CHECK(later[i + 2] == Approx(now[i]).margin(kAlgebraTolerance));
  }
}

TEST_CASE("gait: the wave of a body that has rolled remains vertical", "[snake]") {
  constexpr double kSideways = 0.2;  // of the height: odd and even joints alternate
  const Gait gait = standard_gait(GaitKind::VerticalWave, kJoints);
  const SnakeChain chain = SnakeChain::uniform(kJoints / 2, kLink, kPi / 2.0, kLink);
  const double phase = GENERATE(0.0, 1.1, 2.9);
  const auto spread = [&](double roll) {  // of the links about their line [m]: sideways, upwards
    Eigen::Isometry3d X_WB(Eigen::AngleAxisd(roll, Eigen::Vector3d::UnitX()));
    std::vector<Eigen::Isometry3d> frames(kJoints + 1);
    snake_frames(chain, X_WB, angles_of(gait, phase, {.roll = roll}), frames);
    Eigen::MatrixX3d points(kJoints + 1, 3);
    Eigen::MatrixX2d line(kJoints + 1, 2);
    for (int i = 0; i <= kJoints; ++i) {
      points.row(i) = frames[static_cast<std::size_t>(i)].translation();
      line.row(i) << 1.0, points(i, 0);
    }
    const Eigen::MatrixX2d aside = points.rightCols<2>();
    const Eigen::MatrixX2d off = aside - line * line.colPivHouseholderQr().solve(aside);
    return Eigen::Vector2d(off.colwise().norm());
  };
  const double height = spread(0.0).y();
  CHECK(spread(kPi).y() == Approx(height).margin(kAlgebraTolerance));
  for (double roll = -3.0; roll < 3.1; roll += 0.3) {
    CAPTURE(roll, phase);
    CHECK(spread(roll).x() < kSideways * height);
    CHECK(spread(roll).y() > (1.0 - kSideways) * height);
  }
}

TEST_CASE("gait: each gait moves the joints that it should", "[snake]") {
  const auto largest = [](GaitKind kind, std::size_t first) {
    double value = 0.0;
    for (int k = 0; k < 50; ++k) {
      const auto angles = angles_of(standard_gait(kind, kJoints), 0.13 * k);
      for (std::size_t i = first; i < angles.size(); i += 2)
        value = std::max(value, std::abs(angles[i]));
    }
    return value;
  };
  CHECK(largest(GaitKind::VerticalWave, 0) == 0.0);
  CHECK(largest(GaitKind::VerticalWave, 1) > 0.4);
  CHECK(largest(GaitKind::Serpenoid, 0) > 0.5);
  CHECK(largest(GaitKind::Serpenoid, 1) == 0.0);
  CHECK(largest(GaitKind::Sidewinding, 0) > 0.5);
  CHECK(largest(GaitKind::Sidewinding, 1) > 0.2);
}

TEST_CASE("gait: an eel's wave runs to the tail and grows on its way", "[snake]") {
  const Gait gait = standard_gait(GaitKind::Anguilliform, kJoints);
  std::vector<double> largest(kJoints, 0.0);
  for (int k = 0; k < 400; ++k) {
    const auto angles = angles_of(gait, 2.0 * kPi * k / 400);
    for (std::size_t i = 0; i < angles.size(); ++i)
      largest[i] = std::max(largest[i], std::abs(angles[i]));
  }
  CHECK(gait.lag < 0.0);
  CHECK(largest[0] == Approx(gait.yaw_amplitude).epsilon(1e-3));  // at the tail
  for (std::size_t i = 2; i < largest.size(); i += 2) CHECK(largest[i] < largest[i - 2]);
  const double head = 1.0 - gait.growth * (kJoints - 2.0) / (kJoints - 1.0);
  CHECK(largest[kJoints - 2] == Approx(head * gait.yaw_amplitude).epsilon(1e-3));
  for (std::size_t i = 1; i < largest.size(); i += 2) CHECK(largest[i] == 0.0);
}

TEST_CASE("gait: steering adds to the yaw joints and weighs the pitch joints", "[snake]") {
  const Gait gait = standard_gait(GaitKind::Sidewinding, kJoints);
  const double phase = 0.9;
  const auto plain = angles_of(gait, phase);
  const auto offset = angles_of(gait, phase, {.yaw_offset = 0.2});
  const auto mirrored = angles_of(gait, phase, {.side = -1.0});
  const auto twisted = angles_of(gait, phase, {.side = 0.0, .twist = 1.0});
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const bool yaw = i % 2 == 0;
    CHECK(offset[i] - plain[i] == Approx(yaw ? 0.2 : 0.0).margin(kAlgebraTolerance));
    CHECK(mirrored[i] == Approx(yaw ? plain[i] : -plain[i]).margin(kAlgebraTolerance));
    const double c = (2.0 * static_cast<double>(i + 1) - kJoints - 1.0) / kJoints;
    if (!yaw) CHECK(twisted[i] == Approx(c * plain[i]).margin(kAlgebraTolerance));
  }
}

TEST_CASE("gait: rolling turns a bow of constant bend about itself", "[snake]") {
  const Gait gait = standard_gait(GaitKind::Rolling, kJoints);
  for (int k = 0; k < 8; ++k) {
    const auto angles = angles_of(gait, 0.7 * k);
    for (std::size_t i = 0; i + 1 < angles.size(); i += 2)
      CHECK(std::hypot(angles[i], angles[i + 1]) ==
            Approx(gait.yaw_amplitude).margin(kAlgebraTolerance));
  }
}

TEST_CASE("gait: angles cost no allocation, and the same phase gives the same bits", "[snake]") {
  const Gait gait = standard_gait(GaitKind::Helix, kJoints);
  std::vector<double> a(kJoints), b(kJoints);
  const AllocationCounter counter;
  gait_angles(gait, {.twist = 0.3}, 1.234, a);
  gait_angles(gait, {.twist = 0.3}, 1.234, b);
  CHECK(counter.count() == 0);
  CHECK(a == b);
}

// An oracle that knows no Bessel function: the smooth body line of slope alpha sin(2 pi s /
// Lambda), held where it touches the ground, advances by what its arc is longer than its base in
// each wave.
TEST_CASE("gait: the thin wave's speed is what its arc is longer than its base", "[snake]") {
  const double waves = GENERATE(1.5, 2.0, 3.0), amplitude = GENERATE(0.25, 0.45, 0.8);
  Gait gait = standard_gait(GaitKind::VerticalWave, kJoints);
  gait.lag = lag_of_waves(waves, kJoints);
  gait.pitch_amplitude = amplitude;
  gait.frequency = 0.5;
  const double arc = 2.0 * kPi / gait.lag * kLink;  // joints of a wave times their distance
  const double slope = amplitude / (2.0 * std::sin(gait.lag));
  constexpr int kPieces = 100000;
  double base = 0.0;
  for (int k = 0; k < kPieces; ++k)
    base += std::cos(slope * std::sin(2.0 * kPi * (k + 0.5) / kPieces)) * arc / kPieces;
  const WaveSpeed speed = vertical_wave_speed(gait, kLink, 0.025);
  CHECK(speed.thin == Approx(0.5 * (arc - base)).margin(1e-10));
  CHECK(speed.thick - speed.thin == Approx(2.0 * kPi * 0.5 * slope * 0.025));

  gait.frequency = -0.5;  // tail first
  CHECK(vertical_wave_speed(gait, kLink, 0.025).thick == Approx(-speed.thick));
  gait.frequency = 0.5;
  gait.lag = -gait.lag;
  CHECK(vertical_wave_speed(gait, kLink, 0.025).thin == Approx(-speed.thin));
}

TEST_CASE("gait: a cylinder through points of a helix is that of the helix", "[snake]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  Random random(seed);
  const double radius = random.uniform(0.02, 0.5), rise = random.uniform(0.01, 0.2);
  const Eigen::Quaterniond turn = Eigen::Quaterniond(random.uniform(-1, 1), random.uniform(-1, 1),
                                                     random.uniform(-1, 1), random.uniform(0.1, 1))
                                      .normalized();
  const Eigen::Vector3d shift(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1));
  std::vector<Eigen::Vector3d> points;
  for (int i = 0; i < 17; ++i) {
    const double a = 0.35 * i;
    points.push_back(turn * Eigen::Vector3d(radius * std::cos(a), radius * std::sin(a), rise * a) +
                     shift);
  }
  const CylinderFit fit = fit_cylinder(points);
  CHECK(fit.radius == Approx(radius).epsilon(1e-6));
  CHECK((fit.axis - turn * Eigen::Vector3d::UnitZ()).norm() < 1e-6);
  CHECK((fit.point - shift).cross(fit.axis).norm() < 1e-6);
  CHECK(std::isinf(fit_cylinder(std::vector<Eigen::Vector3d>{
                                    {0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}, {4, 0, 0}})
                       .radius));
}

TEST_CASE("gait: the amplitude for a pole lays the links on it", "[snake]") {
  constexpr double kOnCylinder =
      0.005;  // [m], straight links between fixed joints miss by 4.7 mm at most
  const double radius = GENERATE(0.055, 0.064, 0.082, 0.097);
  const double lag = -0.3;
  const auto amplitude = helix_amplitude(radius, lag, kLink, kJoints);
  REQUIRE(amplitude);
  CHECK(helix_radius(*amplitude, lag, kLink, kJoints) == Approx(radius).epsilon(1e-9));
  // A coil that turns the other way has the same radius.
  CHECK(helix_radius(*amplitude, -lag, kLink, kJoints) == Approx(radius).epsilon(1e-6));

  Gait gait = standard_gait(GaitKind::Helix, kJoints);
  gait.yaw_amplitude = gait.pitch_amplitude = *amplitude;
  gait.lag = lag;
  const SnakeChain chain = SnakeChain::uniform(kJoints / 2, kLink, kPi / 2.0, kLink);
  const auto phase = GENERATE(0.0, 1.0, 2.0);
  const auto middles = link_middles(chain, angles_of(gait, phase));
  REQUIRE(middles.size() == kJoints + 1);
  const CylinderFit fit = fit_cylinder(middles);
  CHECK(fit.radius == Approx(radius).margin(kOnCylinder));
  for (const Eigen::Vector3d& p : middles)
    CHECK((p - fit.point).cross(fit.axis).norm() == Approx(fit.radius).margin(kOnCylinder));
}

TEST_CASE("gait: a pole that no coil fits has no amplitude", "[snake]") {
  CHECK_FALSE(helix_amplitude(0.5, -0.3, kLink, kJoints));
  CHECK_FALSE(helix_amplitude(0.01, -0.3, kLink, kJoints));
  CHECK_FALSE(helix_amplitude(std::nan(""), -0.3, kLink, kJoints));
}

TEST_CASE("gait: the footprint of a body that lies still is the body's", "[snake]") {
  const SnakeChain chain = SnakeChain::uniform(kJoints / 2, kLink, kPi / 2.0, kLink);
  Gait gait = standard_gait(GaitKind::Serpenoid, kJoints);
  gait.yaw_amplitude = gait.pitch_amplitude = 0.0;
  const GaitFootprint straight = gait_footprint(gait, chain);
  CHECK(straight.length == Approx(17.0 * kLink));
  CHECK(straight.reach == Approx(8.5 * kLink));
  CHECK(straight.width == Approx(0.0).margin(1e-12));
}

TEST_CASE("gait: every shape of a gait lies in its footprint", "[snake]") {
  const GaitKind kind =
      GENERATE(GaitKind::Serpenoid, GaitKind::Sidewinding, GaitKind::VerticalWave);
  const Gait gait = standard_gait(kind, kJoints);
  const GaitFootprint footprint =
      gait_footprint(gait, SnakeChain::uniform(kJoints / 2, kLink, kPi / 2.0, kLink));
  CHECK(footprint.width <= footprint.reach);
  CHECK(2.0 * footprint.reach >= footprint.length);
  // Another computation, at other phases: the planar body whose links' headings are the sums of the
  // yaw angles, with mean heading 0.
  double width = 0.0, reach = 0.0;
  for (int k = 0; k < 100; ++k) {
    const std::vector<double> angles = angles_of(gait, 0.07 + 2.0 * kPi * k / 100);
    std::vector<double> headings{0.0};
    for (int j = 0; j < kJoints; ++j)
      headings.push_back(headings.back() +
                         (j % 2 == 0 ? angles[static_cast<std::size_t>(j)] : 0.0));
    double mean = 0.0;
    for (const double h : headings) mean += h / (kJoints + 1);
    std::vector<Eigen::Vector2d> ends{Eigen::Vector2d::Zero()};
    Eigen::Vector2d center = Eigen::Vector2d::Zero();
    for (const double h : headings) {
      ends.push_back(ends.back() + kLink * Eigen::Vector2d(std::cos(h - mean), std::sin(h - mean)));
      center += 0.5 * (ends.back() + ends[ends.size() - 2]) / (kJoints + 1);
    }
    for (const Eigen::Vector2d& end : ends) {
      width = std::max(width, std::abs(end.y() - center.y()));
      reach = std::max(reach, (end - center).norm());
    }
  }
  // Pitch joints lift links off the plane, by up to 0.45 rad.
  const double margin = gait.pitch_amplitude == 0.0 ? 1e-3 : 0.1;
  CHECK(footprint.width == Approx(width).epsilon(margin).margin(1e-9));
  CHECK(footprint.reach == Approx(reach).epsilon(margin));
}
