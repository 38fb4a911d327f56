#include "simulation/families/scene_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/jacobian.hpp"
#include "tendril/model_error.hpp"

namespace tendril::simulation::generate {

using Eigen::Vector3d;

double RandomStream::angle() { return uniform(-std::numbers::pi, std::numbers::pi); }

int RandomStream::integer(int low, int high) {
  return low + static_cast<int>(std::floor(uniform(0.0, high - low + 1.0)));
}

std::string text(const Vector3d& p) {
  return fmt::format("{:.6f} {:.6f} {:.6f}", p.x(), p.y(), p.z());
}
std::string list(const Vector3d& p) {
  return fmt::format("[{:.6f}, {:.6f}, {:.6f}]", p.x(), p.y(), p.z());
}

std::string scene_xml(const std::string& name, const std::string& assets, const std::string& world,
                      const std::string& more) {
  return fmt::format(
      "<mujoco model=\"{}\">\n"
      "  <option timestep=\"0.002\" integrator=\"discrete\" cone=\"elliptic\" impratio=\"10\" "
      "iterations=\"100\"/>\n"
      "  <default>\n"
      "    <geom solref=\"0.004 1\" solimp=\"0.95 0.99 0.0005\"/>\n"
      "  </default>\n"
      "  <asset>\n{}  </asset>\n"
      "  <worldbody>\n{}  </worldbody>\n{}</mujoco>\n",
      name, assets, world, more);
}

std::string model_asset(const char* name) {
  return fmt::format("    <model name=\"{0}\" file=\"{0}.toml\"/>\n", name);
}

std::string check(const std::string& name, const std::string& metric, const std::string& limits) {
  return fmt::format("[[check]]\nname = \"{}\"\nmetric = \"{}\"\n{}\n", name, metric, limits);
}

std::string experiment(double duration, const std::string& more) {
  return fmt::format("scene = \"scene.xml\"\nduration = {:g}\n{}\n", duration, more);
}

std::string section_text(int links, const char* more) {
  return fmt::format(
      "[[section]]\nconstant_length = 0.1\nbend_limit = 1.745\nlinks = {}\nradius = 0.008\n"
      "mass = 0.05\nbending_stiffness = 0.05\n{}\n",
      links, more);
}

std::string repeated(const std::string& part, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += part;
  return all;
}

ContactArm::ContactArm(RandomStream& draws)
    : sections(draws.integer(2, 4)),
      length(draws.uniform(0.08, 0.12)),
      radius(draws.uniform(0.006, 0.01)),
      stiffness(draws.uniform(0.05, 0.1)) {}

double ContactArm::deflection(const ContinuumRobot& robot, SectionStates states,
                              const Vector3d& direction, double force) const {
  constexpr double kServoStiffness = 3.7;  // of a section with its servo, to the section alone
  Eigen::Matrix<double, 6, Eigen::Dynamic> J(6, robot.coordinate_count());
  static_cast<void>(tip_jacobian(robot, states, {}, J));
  return (direction.transpose() * J.topRows<3>()).squaredNorm() * force *
         robot.section(0).length() / (kServoStiffness * stiffness);
}

std::string ContactArm::text(const char* task) const {
  return fmt::format(
             "# {} sections of {:.0f} mm that {}.\nkind = \"continuum\"\n"
             "name = \"arm\"\n\n",
             sections, 1000.0 * length, task) +
         repeated(fmt::format("[[section]]\nconstant_length = {:.6f}\nbend_limit = 1.9\n"
                              "links = 10\nradius = {:.6f}\nmass = {:.6f}\n"
                              "bending_stiffness = {:.6f}\n\n",
                              length, radius, 8000.0 * radius * radius * length, stiffness),
                  sections);
}

Spheres draw_spheres(RandomStream& draws, const std::string& family, int count, double clearance,
                     const std::vector<Vector3d>& points) {
  Spheres spheres;
  for (int sphere = 1, tries = 0; sphere <= count; ++tries) {
    if (tries > kMaxDraws) throw_no_scene_found(family);
    const double radius = draws.uniform(0.015, 0.035);
    const Vector3d center(draws.uniform(0.03, 0.42), draws.uniform(-0.25, 0.25),
                          draws.uniform(-0.25, 0.25));
    const bool free = std::all_of(points.begin(), points.end(), [&](const Vector3d& p) {
      return (p - center).norm() >= radius + clearance;
    });
    if (!free || center.norm() < radius + 0.05) continue;
    spheres.text += fmt::format(
        "    <geom name=\"ball_{}\" pos=\"{}\" size=\"{:.6f}\" rgba=\"0.35 0.45 0.55 1\"/>\n",
        sphere, text(center), radius);
    spheres.centers.push_back(center);
    ++sphere;
  }
  return spheres;
}

std::string arm_among(const Spheres& spheres, const Vector3d& target) {
  return fmt::format(
      "    <frame {}>\n      <attach model=\"arm\" body=\"base\" prefix=\"arm_\"/>\n    "
      "</frame>\n{}"
      "    <body name=\"target\" mocap=\"true\" pos=\"{}\">\n"
      "      <geom size=\"0.009\" rgba=\"0.95 0.35 0.15 0.4\" contype=\"0\" conaffinity=\"0\"/>\n"
      "    </body>\n",
      kHorizontalMount, spheres.text, text(target));
}

std::vector<Vector3d> backbone(const ContinuumRobot& robot, std::vector<SectionState> states,
                               double part, const Eigen::Isometry3d& X_WB) {
  for (SectionState& state : states) state.theta *= part;
  std::vector<Vector3d> points;
  for (int i = 0; i < robot.section_count(); ++i) {
    for (int k = 1; k <= kPointsPerSection; ++k) {
      const Eigen::Isometry3d pose =
          backbone_pose(robot, states, {}, i, static_cast<double>(k) / kPointsPerSection);
      points.emplace_back(X_WB * pose.translation());
    }
  }
  return points;
}

Eigen::Isometry3d horizontal_pose() {
  Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();
  for (int i = 0; i < 3; ++i) X_WB.linear().col(i) = horizontal_mount(Vector3d::Unit(i));
  return X_WB;
}

std::string waypoints_text(const std::string& body, const char* interpolation,
                           const std::string& times, const std::string& points) {
  return fmt::format(
      "[[motion]]\nbody = \"{}\"\nkind = \"waypoints\"\ninterpolation = \"{}\"\n"
      "times = [{}]\npoints = [{}]\n\n",
      body, interpolation, times, points);
}

void throw_no_scene_found(const std::string& family) {
  throw ModelError(
      fmt::format("{}: no such scene found in {} draws: take another seed or a lower difficulty",
                  family, kMaxDraws));
}

std::string snake_text(const std::string& more) {
  return "kind = \"snake\"\nname = \"snake\"\njoints = 16\nlink_length = 0.06\nradius = 0.025\n"
         "link_mass = 0.15\n" +
         more;
}

}  // namespace tendril::simulation::generate
