// Tendons that turn about the backbone in the MJCF of an arm, against the curve that they
// represent.

#include <Eigen/Geometry>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <string>

#include "tendril/model/continuum/mjcf.hpp"
#include "tests/model/compiled_model.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector2d;
using Eigen::Vector3d;

namespace {

constexpr double kLength = 0.2, kBending = 0.05, kTorsion = 0.04;  // [m], EI, GJ [N m^2]
constexpr int kLinks = 40;

std::string list(double a, double b) {
  return "[" + std::to_string(a) + ", " + std::to_string(b) + "]";
}

/// An arm of one section with one tendon.
Simulation arm(const std::string& angle, const std::string& distance, const std::string& more,
               const std::string& torsion = "") {
  const std::string text =
      "[[section]]\nconstant_length = 0.2\nbend_limit = 2\nlinks = " + std::to_string(kLinks) +
      "\nradius = 0.011\nmass = 0.02\nbending_stiffness = 0.05\ndamping_time = 0.1\n" + torsion +
      "[[tendon]]\nname = \"t\"\nangle = " + angle + "\ndistance = " + distance + "\n" + more;
  Simulation s(continuum_mjcf(parse_as<ContinuumDescription>(text, "arm.toml")));
  s.set_gravity(Vector3d::Zero());
  return s;
}

const std::string kTension = "command = \"tension\"\nmax_tension = 100\n";

double tendon_length(const Simulation& s) { return s.data->ten_length[s.id(mjOBJ_TENDON, "t")]; }

/// Returns the length of the curve r(s) (cos a(s), sin a(s)) next to a backbone of constant
/// curvature without twist, from the base to the end; r and a change evenly.
double curve_length(const Vector2d& distance, const Vector2d& angle, const Vector2d& bend) {
  constexpr int kPieces = 20'000;
  const double da = (angle[1] - angle[0]) / kLength, dr = (distance[1] - distance[0]) / kLength;
  double length = 0.0;
  for (int i = 0; i < kPieces; ++i) {
    const double s = kLength * (i + 0.5) / kPieces;
    const double r = distance[0] + dr * s, a = angle[0] + da * s;
    const double along = 1.0 - r * Vector2d(std::cos(a), std::sin(a)).dot(bend) / kLength;
    length += std::hypot(dr, r * da, along) * kLength / kPieces;
  }
  return length;
}

}  // namespace

TEST_CASE("turning tendons: lengths are those of a helix along an arc", "[mjcf][tendons]") {
  struct Case {
    Vector2d distance, angle, bend;
  };
  const auto c = GENERATE(Case{{0.008, 0.008}, {0.0, 2.0 * std::numbers::pi}, {1.0, 0.0}},
                          Case{{0.008, 0.008}, {0.3, 3.0}, {-0.6, 0.9}},
                          Case{{0.010, 0.004}, {1.0, -2.5}, {0.5, 1.0}},
                          Case{{0.010, 0.010}, {0.0, 9.0}, {0.0, -1.2}});
  CAPTURE(c.distance, c.angle, c.bend);
  Simulation s = arm(list(c.angle[0], c.angle[1]), list(c.distance[0], c.distance[1]), "");
  const double straight = tendon_length(s);
  const double helix = curve_length(c.distance, c.angle, Vector2d::Zero());
  // Between the sites, half a link apart, it is straight.
  CHECK(straight == Approx(helix).epsilon(5e-4));
  for (int j = 1; j <= kLinks; ++j) {
    s.data->qpos[s.model->jnt_qposadr[s.id(mjOBJ_JOINT, names::hinge(1, j, 'y'))]] =
        c.bend[0] / kLinks;
    s.data->qpos[s.model->jnt_qposadr[s.id(mjOBJ_JOINT, names::hinge(1, j, 'x'))]] =
        -c.bend[1] / kLinks;
  }
  mj_forward(s.model.get(), s.data.get());
  const double change = curve_length(c.distance, c.angle, c.bend) - helix;
  CHECK(tendon_length(s) - straight ==
        Approx(change).margin(0.003 * c.distance.maxCoeff() * c.bend.norm()));
}

TEST_CASE("turning tendons: a helix bends and twists a rod as its energy says", "[mjcf][tendons]") {
  // Per length of the rod the energy is EI k^2 / 2 + GJ t^2 / 2 + T l'(k, t) with the bend k
  // towards the tendon and the twist t, the same all along: the tendon is everywhere in the same
  // place in the frame that turns with it.
  const double turn = GENERATE(3.0, -4.5);
  constexpr double kDistance = 0.009, kPull = 30.0, kStart = 0.4;
  const double a1 = turn / kLength;
  double k = 0.0, t = 0.0;
  for (int i = 0; i < 200; ++i) {
    const double across = kDistance * (a1 + t), along = 1.0 - kDistance * k;
    const double slope = std::hypot(across, along);
    k = kPull * kDistance * along / slope / kBending;
    t = -kPull * kDistance * across / slope / kTorsion;
  }
  Eigen::Matrix3d R = Eigen::Matrix3d::Identity();
  Vector3d p = Vector3d::Zero();
  constexpr int kPieces = 4000;
  for (int i = 0; i < kPieces; ++i) {
    const double step = kLength / kPieces, a = kStart + a1 * (i + 0.5) * step;
    const Vector3d rate(-k * std::sin(a), k * std::cos(a), t);
    const Eigen::Matrix3d half = R * Eigen::AngleAxisd(rate.norm() * step / 2.0, rate.normalized());
    p += step * half.col(2);
    R = R * Eigen::AngleAxisd(rate.norm() * step, rate.normalized());
  }
  CAPTURE(turn, k, t);
  REQUIRE(std::abs(t) * kLength > 0.1);
  REQUIRE(p.head<2>().norm() > 0.1 * kLength);

  Simulation s = arm(list(kStart, kStart + turn), std::to_string(kDistance), kTension,
                     "torsional_stiffness = 0.04\n");
  s.set_ctrl("t", kPull);
  s.run(2.0);
  REQUIRE(s.speed() < 1e-3);
  const Eigen::Isometry3d tip = s.site_pose(names::kTip);
  CAPTURE(tip.translation().transpose(), p.transpose());
  CHECK((tip.translation() - p).norm() < 0.005 * kLength);
  CHECK(Eigen::AngleAxisd(tip.linear().transpose() * R).angle() < 0.01);
}

TEST_CASE("turning tendons: one that hardly turns does what a parallel or converging one does",
          "[mjcf][tendons]") {
  const std::string distance = GENERATE("0.009", "[0.009, 0.009]", "[0.010, 0.005]");
  CAPTURE(distance);
  Simulation turning = arm("[0.5, 0.5001]", distance, kTension),
             other = arm("0.5", distance, kTension);
  REQUIRE(turning.has(mjOBJ_SITE, "t_1"));
  REQUIRE_FALSE(other.has(mjOBJ_SITE, "t_1"));
  for (Simulation* s : {&turning, &other}) {
    s->set_ctrl("t", 30.0);
    s->run(2.0);
  }
  const Vector3d a = turning.site_pose(names::kTip).translation();
  const Vector3d b = other.site_pose(names::kTip).translation();
  REQUIRE(b.head<2>().norm() > 0.2 * kLength);
  CHECK((a - b).norm() < 0.01 * b.head<2>().norm());
}

TEST_CASE("turning tendons: told a length, they have the tension of their stretch",
          "[mjcf][tendons]") {
  Simulation s =
      arm("[0.0, 3.0]", "0.009", "stiffness = 20000\npretension = 2\nmax_tension = 80\n");
  const double straight = tendon_length(s);
  mj_forward(s.model.get(), s.data.get());
  const int actuator = s.id(mjOBJ_ACTUATOR, "t");
  CHECK(s.data->actuator_force[actuator] == Approx(2.0).epsilon(1e-6));
  constexpr double kShorter = -0.002;
  s.set_ctrl("t", kShorter);
  s.run(2.0);
  const double stretch = tendon_length(s) - straight - kShorter;
  CHECK(s.data->actuator_force[actuator] == Approx(20'000.0 * stretch + 2.0).epsilon(1e-3));
  CHECK(s.data->actuator_force[actuator] > 5.0);
  // Slack when it is commanded to be longer than it is.
  s.set_ctrl("t", 0.004);
  s.run(2.0);
  CHECK(s.data->actuator_force[actuator] == 0.0);
}
