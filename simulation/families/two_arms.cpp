#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <variant>

#include "simulation/families/scene_text.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model/robot_description.hpp"

namespace tendril::simulation::generate {
namespace {

using Eigen::Vector3d;

constexpr double kBodyRadius = 0.008, kPeriod = 3.0;
constexpr int kMoves = 4;
constexpr std::array kPrefixes{"L", "R"};

struct Arm {
  Vector3d base;
  std::vector<SectionState> goal;
};
using Pair = std::array<Arm, 2>;

std::vector<SectionState> draw_pose(RandomStream& draws, const ContinuumRobot& robot) {
  std::vector<SectionState> states(robot.straight().begin(), robot.straight().end());
  for (SectionState& state : states) {
    state.theta = draws.uniform(0.1, 1.5);
    state.phi = draws.angle();
  }
  return states;
}

std::vector<Vector3d> body_of(const ContinuumRobot& robot, const Arm& arm, double part) {
  return backbone(robot, arm.goal, part, Eigen::Isometry3d(Eigen::Translation3d(arm.base)));
}

double distance(const std::vector<Vector3d>& a, const std::vector<Vector3d>& b) {
  double least = std::numeric_limits<double>::infinity();
  for (const Vector3d& p : a)
    for (const Vector3d& q : b) least = std::min(least, (p - q).norm());
  return least;
}

/// Tells whether the body past the first section comes near the table.
bool is_low(const std::vector<Vector3d>& points) {
  return std::any_of(points.begin() + kPointsPerSection, points.end(),
                     [](const Vector3d& p) { return p.z() < kBodyRadius + 0.01; });
}

/// Tells whether both arms, bent evenly from straight to their goals, stay this far apart and above
/// the table.
bool is_free(const ContinuumRobot& robot, const Pair& pair, double room) {
  for (int k = 0; k <= 20; ++k) {
    const std::vector<Vector3d> a = body_of(robot, pair[0], k / 20.0),
                                b = body_of(robot, pair[1], k / 20.0);
    if (is_low(a) || is_low(b) || distance(a, b) < 2.0 * kBodyRadius + room) return false;
  }
  return true;
}

/// Goals whose bodies come nearer to each other than the bases are, by half at least.
Pair draw_pair(RandomStream& draws, const ContinuumRobot& robot, double apart, double room) {
  for (int tries = 0; tries <= kMaxDraws; ++tries) {
    const Pair pair{Arm{{-apart / 2.0, 0.0, 0.0}, draw_pose(draws, robot)},
                    Arm{{apart / 2.0, 0.0, 0.0}, draw_pose(draws, robot)}};
    if (distance(body_of(robot, pair[0], 1.0), body_of(robot, pair[1], 1.0)) < apart / 2.0 &&
        is_free(robot, pair, room))
      return pair;
  }
  throw_no_scene_found("two_arms");
}

std::string world_text(double apart) {
  std::string world =
      "    <geom type=\"plane\" pos=\"0 0 -0.02\" size=\"1 1 0.1\" rgba=\"0.85 0.85 0.82 1\"/>\n";
  for (const char* const prefix : kPrefixes)
    world += fmt::format(
        "    <frame pos=\"{:.6f} 0 0\">\n"
        "      <attach model=\"arm\" body=\"base\" prefix=\"{}_\"/>\n    </frame>\n"
        "    <body name=\"{}_target\" mocap=\"true\">\n"
        "      <geom size=\"0.009\" rgba=\"0.95 0.35 0.15 0.4\" contype=\"0\" conaffinity=\"0\"/>\n"
        "    </body>\n",
        prefix == kPrefixes[0] ? -apart / 2.0 : apart / 2.0, prefix, prefix);
  return world;
}

}  // namespace

std::vector<GeneratedFile> two_arms(RandomStream& draws, double difficulty) {
  const std::string arm =
      "# Three sections of 100 mm.\nkind = \"continuum\"\nname = \"arm\"\nself_collision = "
      "true\n\n" +
      repeated(section_text(8, ""), 3) +
      "[controller]\nplugin = \"tendril.reach\"\ntarget = \"target\"\navoidance = true\n";
  const ContinuumRobot robot =
      std::get<ContinuumDescription>(parse_robot(arm, "arm.toml", {})).kinematics();
  const double room = 0.020 - 0.016 * difficulty;
  const double apart = draws.uniform(0.12, 0.22);
  std::array<std::string, 2> points;
  for (int move = 0; move < kMoves; ++move) {
    const Pair pair = draw_pair(draws, robot, apart, room);
    for (std::size_t i = 0; i < pair.size(); ++i)
      points[i] +=
          (move > 0 ? ", " : "") + list(pair[i].base + tip_pose(robot, pair[i].goal).translation());
  }
  std::string moves, checks;
  for (std::size_t i = 0; i < points.size(); ++i) {
    moves +=
        waypoints_text(fmt::format("{}_target", kPrefixes[i]), "step", "0, 3, 6, 9", points[i]);
    for (int move = 0; move < kMoves; ++move)
      checks += check(fmt::format("{} at target {}", kPrefixes[i], move + 1),
                      fmt::format("sensor:{}_tip_error:end", kPrefixes[i]),
                      fmt::format("before = {:g}\nmax = 0.0005", (move + 1) * kPeriod - 0.01));
  }
  return {
      {"two_arms.toml",
       fmt::format(
           "# Two arms {:.0f} mm apart reach for {} targets each, among each other, and do not "
           "touch. A way exists: from\n"
           "# one pair of targets to the next through the straight arms, which bend "
           "evenly, {:.1f} mm apart at least.\n",
           1000.0 * apart, kMoves, 1000.0 * room) +
           experiment(kMoves * kPeriod, "") + moves + checks +
           check("the arms never touch", "sensor:arms_touch:max", "max = 0")},
      {"scene.xml", scene_xml("two_arms", model_asset("arm"), world_text(apart),
                              "  <sensor>\n    <contact name=\"arms_touch\" subtree1=\"L_base\" "
                              "subtree2=\"R_base\" data=\"found\"/>\n  </sensor>\n")},
      {"arm.toml", arm}};
}

}  // namespace tendril::simulation::generate
