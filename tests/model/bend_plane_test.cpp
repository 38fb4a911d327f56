// Sections that bend in one plane, against beams and products of rotations.
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "tests/model/compiled_model.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::AngleAxisd;
using Eigen::Vector3d;

namespace {

constexpr double kFirst = 0.12, kSecond = 0.08, kLength = kFirst + kSecond;  // [m]
constexpr double kStiffness = 0.05;                                          // EI [N m^2]

std::string section(double length, const std::string& plane, const std::string& more) {
  return "[[section]]\nconstant_length = " + std::to_string(length) +
         "\nbend_limit = 2\nlinks = 20\nradius = 0.008\nmass = 0.02\nbending_stiffness = 0.05\n"
         "damping_time = 0.1\nbend_plane = \"" +
         plane + "\"\n" + more;
}

Simulation arm(const std::string& text) {
  Simulation simulation(continuum_mjcf(parse_as<ContinuumDescription>(text, "arm.toml")));
  simulation.set_gravity(Vector3d::Zero());
  return simulation;
}

/// Deflection of the tip of a cantilever by a force across its end, of sections that are rigid
/// where they do not bend: the integral of (L - s)^2 / EI over those that do.
double cantilever(double force, bool first_bends, bool second_bends) {
  const double all = std::pow(kLength, 3), last = std::pow(kSecond, 3);
  return force / (3.0 * kStiffness) *
         ((first_bends ? all - last : 0.0) + (second_bends ? last : 0.0));
}

}  // namespace

TEST_CASE("bend plane: a force bends the sections in whose plane it is, as a cantilever",
          "[mjcf]") {
  constexpr double kForce = 0.2;       // [N]: it deflects the tip by 5 % of the length
  constexpr double kTolerance = 0.01;  // of links, and of slopes that are not small
  const std::string first = GENERATE("any", "xz", "yz"), second = GENERATE("any", "xz", "yz");
  const std::string drive = GENERATE("bend_servo = false\n", "bend_gain = 0\n");
  const std::string compliance = GENERATE("section", "link");
  const int axis = GENERATE(0, 1);
  CAPTURE(first, second, drive, compliance, axis);
  Simulation s = arm("compliance = \"" + compliance + "\"\n" + section(kFirst, first, drive) +
                     section(kSecond, second, drive));
  const int body = s.id(mjOBJ_BODY, names::link(2, 20));
  const Vector3d tip = s.site_pose(names::kTip).translation();
  Vector3d force = Vector3d::Zero();
  force[axis] = kForce;
  // At the tip, which is off the center of mass of the last link.
  const Vector3d center = Eigen::Map<const Vector3d>(s.data->xipos + 3 * body);
  const Vector3d moment = (tip - center).cross(force);
  Eigen::Map<Vector3d>(s.data->xfrc_applied + 6 * body) = force;
  Eigen::Map<Vector3d>(s.data->xfrc_applied + 6 * body + 3) = moment;
  s.run(2.0);
  CHECK(s.speed() < 1e-4);
  const auto bends = [axis](const std::string& plane) {
    return plane == "any" || plane == (axis == 0 ? "xz" : "yz");
  };
  const double expected = cantilever(kForce, bends(first), bends(second));
  const Vector3d moved = s.site_pose(names::kTip).translation() - tip;
  CHECK(moved[axis] == Approx(expected).epsilon(kTolerance).margin(1e-12));
  CHECK(moved[1 - axis] == Approx(0.0).margin(1e-9));
}

TEST_CASE("bend plane: a section has one hinge a link and one servo, about the axis of its plane",
          "[mjcf]") {
  const std::string plane = GENERATE("any", "xz", "yz");
  const Simulation s = arm(section(kFirst, "any", "") + section(kSecond, plane, ""));
  const bool has_x = plane != "xz", has_y = plane != "yz";
  CHECK(s.model->njnt == 40 + 20 * (has_x + has_y));
  CHECK(s.model->nu == 2 + has_x + has_y);
  CHECK(s.has(mjOBJ_ACTUATOR, names::bend(2, 'x')) == has_x);
  CHECK(s.has(mjOBJ_ACTUATOR, names::bend(2, 'y')) == has_y);
}

TEST_CASE("bend plane: a wrist turns its end by one rotation after the other", "[mjcf]") {
  constexpr double kPitch = 0.7, kYaw = -1.1;  // [rad]
  Simulation s = arm(section(kFirst, "xz", "") + section(kSecond, "yz", ""));
  s.set_ctrl(names::bend(1, 'y'), kPitch);
  s.set_ctrl(names::bend(2, 'x'), -kYaw);
  s.run(3.0);
  const Eigen::Matrix3d end =
      (AngleAxisd(kPitch, Vector3d::UnitY()) * AngleAxisd(-kYaw, Vector3d::UnitX()))
          .toRotationMatrix();
  CHECK((s.site_pose(names::kTip).linear() - end).norm() < 1e-6);
}

TEST_CASE("bend plane: a start bends each section in its plane", "[mjcf]") {
  const std::string compliance = GENERATE("section", "link");
  Simulation s = arm("compliance = \"" + compliance + "\"\n" + section(kFirst, "xz", "") +
                     section(kSecond, "yz", "") + "[start]\nbends = [0.7, -1.1]\n");
  mj_resetDataKeyframe(s.model.get(), s.data.get(), s.id(mjOBJ_KEY, names::kStart));
  s.run(3.0);
  const Vector3d direction =
      AngleAxisd(0.7, Vector3d::UnitY()) * Vector3d(0.0, std::sin(-1.1), std::cos(-1.1));
  CHECK((s.site_pose(names::kTip).linear().col(2) - direction).norm() < 1e-6);
}

TEST_CASE("bend plane: planar = true is the x-z plane in every section", "[mjcf]") {
  const auto text = [](const std::string& plane) {
    return section(kFirst, plane, "") + section(kSecond, plane, "");
  };
  const auto written = [](const std::string& toml) {
    return continuum_mjcf(parse_as<ContinuumDescription>(toml, "arm.toml"));
  };
  std::string whole = text("xz");
  const std::string key = "bend_plane = \"xz\"\n";
  for (std::size_t at; (at = whole.find(key)) != std::string::npos;) whole.erase(at, key.size());
  CHECK(written("planar = true\n" + whole) == written(text("xz")));
}
