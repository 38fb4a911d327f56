#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "simulation/families/scene_text.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model/robot_description.hpp"

namespace tendril::simulation::generate {
namespace {

using Eigen::Vector3d;

constexpr int kEdges = 20;            // of the cable
constexpr double kPlug = 0.02;        // of the plug before the tip [m]
constexpr double kStartTime = 1.5;    // when the target begins to move [s]
constexpr double kSpeed = 0.02;       // of the target [m/s]
constexpr double kSettleTime = 10.0;  // after it has stopped [s]
constexpr double kMinDeflection = 0.003, kMaxDeflection = 0.06;  // of the tip, by the force [m]
constexpr double kAllowedOffset = 0.005;                         // of the tip from the place [m]
// Of all joints: hard in spite of the small masses, and slow enough not to ring with the timestep.
constexpr const char* kJoint = "solref=\"0.01 1\" solimp=\"0.999 0.999 0.001\"";
constexpr double kMargin = 0.02;  // of a cable that is too short [m]

/// An arm that hangs, z of its base down, and a cable from its straight tip to an anchor; base
/// frame [m].
struct Task {
  std::vector<SectionState> states;  ///< at the place
  /// Of the tip; of the cable's other end.
  Vector3d start = Vector3d::Zero(), place = start, anchor = start;
  double length = 0.0;   ///< of the cable
  bool reaches = false;  ///< the cable is long enough
};

/// A point of the base's frame in the world.
Vector3d hanging(const Vector3d& p) { return {p.x(), -p.y(), -p.z()}; }

/// Points of a cable that hangs in an arc from a to b, in the plane of both and the vertical.
std::vector<Vector3d> arc(const Vector3d& a, const Vector3d& b, double length) {
  const double chord = (b - a).norm();
  double low = 1e-3, high = 3.0;  // half of the angle: sin(x) / x is the chord over the length
  for (int i = 0; i < 60; ++i) {
    const double x = 0.5 * (low + high);
    (std::sin(x) / x > chord / length ? low : high) = x;
  }
  const Vector3d along = (b - a) / chord;
  const Vector3d down = (along.z() * along - Vector3d::UnitZ()).normalized();
  const double radius = length / (2.0 * low);
  std::vector<Vector3d> points;
  for (int k = 0; k <= kEdges; ++k) {
    const double angle = low * (2.0 * k / kEdges - 1.0);
    points.push_back(a + (0.5 * chord + radius * std::sin(angle)) * along +
                     radius * (std::cos(angle) - std::cos(low)) * down);
  }
  return points;
}

Task draw_task(RandomStream& draws, const ContinuumRobot& robot) {
  Task task{.states = {robot.straight().begin(), robot.straight().end()}};
  task.start = tip_pose(robot, task.states).translation();
  const double phi = draws.angle();
  for (SectionState& state : task.states) {
    state.theta = draws.uniform(0.15, 0.9);
    state.phi = phi + draws.uniform(-0.6, 0.6);
  }
  task.place = tip_pose(robot, task.states).translation();
  const double turn = draws.uniform(-0.6, 0.6), rise = draws.uniform(-0.3, 0.3);
  Vector3d back = task.start - task.place;
  back.z() = 0.0;
  back = Eigen::AngleAxisd(turn, Vector3d::UnitZ()) * back.normalized();
  task.anchor = task.start + draws.uniform(0.15, 0.35) * (back + rise * Vector3d::UnitZ());
  task.reaches = draws.coin_flip();
  const double first = (task.anchor - task.start).norm() + kPlug;
  const double last = (task.anchor - task.place).norm();
  task.length = task.reaches ? std::max(first, last + kPlug) * draws.uniform(1.05, 1.3)
                             : first * draws.uniform(1.02, 1.2);
  return task;
}

/// Tells whether the cable is longer than it must be, and where it is too short, by how much.
bool can_be_done(const ContinuumRobot& robot, const Task& task, const ContactArm& body,
                 double force) {
  const double by_force =
      body.deflection(robot, task.states, (task.anchor - task.place).normalized(), force);
  if (by_force < kMinDeflection || by_force > kMaxDeflection) return false;
  return task.reaches ||
         (task.anchor - task.place).norm() > task.length + kPlug + by_force + kMargin;
}

std::string cable_text(const Task& task, RandomStream& draws) {
  const double radius = draws.uniform(0.001, 0.003);
  const double young = std::pow(10.0, draws.uniform(5.0, 7.5));
  const double mass = task.length * draws.uniform(0.01, 0.06);
  const Vector3d end = task.start + kPlug * Vector3d::UnitZ();
  std::string points, elements;
  for (const Vector3d& p : arc(hanging(end), hanging(task.anchor), task.length))
    points += (points.empty() ? "" : " ") + text(p);
  for (int k = 0; k < kEdges; ++k) elements += fmt::format("{} {} ", k, k + 1);
  elements.pop_back();
  return fmt::format(
      "    <flexcomp name=\"cable\" type=\"direct\" dim=\"1\" radius=\"{:.6f}\" mass=\"{:.6f}\" "
      "rgba=\"0.15 0.3 0.7 1\"\n      point=\"{}\"\n      element=\"{}\">\n"
      "      <edge equality=\"true\" {}/>\n"
      "      <elasticity young=\"{:.0f}\" damping=\"0.05\"/>\n"
      "      <contact contype=\"0\" conaffinity=\"0\" selfcollide=\"none\"/>\n"
      "    </flexcomp>\n",
      radius, mass, points, elements, kJoint, young);
}

std::string world_text(const Task& task, RandomStream& draws) {
  return fmt::format(
             "    <frame euler=\"180 0 0\">\n"
             "      <attach model=\"arm\" body=\"base\" prefix=\"arm_\"/>\n    </frame>\n"
             "    <body name=\"anchor\" pos=\"{}\">\n"
             "      <geom size=\"0.006\" contype=\"0\" conaffinity=\"0\"/>\n    </body>\n"
             "    <body name=\"plug\" pos=\"{}\">\n      <freejoint/>\n"
             "      <geom name=\"plug\" size=\"0.006\" mass=\"0.004\" contype=\"0\" "
             "conaffinity=\"0\" rgba=\"0.93 0.55 0.14 1\"/>\n"
             "      <body name=\"boot\">\n"
             "        <geom size=\"0.003\" mass=\"0.001\" contype=\"0\" conaffinity=\"0\"/>\n"
             "        <site name=\"boot\" size=\"0.001\"/>\n      </body>\n    </body>\n"
             "    <body name=\"target\" mocap=\"true\" pos=\"{}\">\n"
             "      <geom size=\"0.004\" rgba=\"0.95 0.35 0.15 0.4\" contype=\"0\" "
             "conaffinity=\"0\"/>\n    </body>\n"
             "    <site name=\"place\" pos=\"{}\" size=\"0.002\"/>\n",
             text(hanging(task.anchor)), text(hanging(task.start + kPlug * Vector3d::UnitZ())),
             text(hanging(task.start)), text(hanging(task.place))) +
         cable_text(task, draws);
}

/// The tip holds the plug; between plug and boot is the tension of the cable.
std::string joined_text(int sections) {
  return fmt::format(
      "  <equality>\n"
      "    <weld body1=\"arm_s{}_l10\" body2=\"plug\" {}/>\n"
      "    <connect body1=\"cable_0\" body2=\"boot\" anchor=\"0 0 0\" {}/>\n"
      "    <connect body1=\"cable_{}\" body2=\"anchor\" anchor=\"0 0 0\" {}/>\n"
      "  </equality>\n"
      "  <sensor>\n    <force name=\"tension\" site=\"boot\"/>\n"
      "    <framepos name=\"off\" objtype=\"site\" objname=\"arm_tip\" reftype=\"site\" "
      "refname=\"place\"/>\n  </sensor>\n",
      sections, kJoint, kJoint, kEdges, kJoint);
}

}  // namespace

std::vector<GeneratedFile> cable(RandomStream& draws, double difficulty) {
  for (int draw = 0; draw < kMaxDraws; ++draw) {
    const ContactArm body(draws);
    const double force = draws.uniform(0.5, 1.0 + 2.0 * difficulty);
    const std::string arm =
        body.text("pull a cable") +
        fmt::format(
            "[controller]\nplugin = \"tendril.pull\"\ntarget = \"target\"\nend = \"plug\"\n"
            "rate_limit = 2\nforce = {:.3f}\n",
            force);
    const ContinuumRobot robot =
        std::get<ContinuumDescription>(parse_robot(arm, "arm.toml", {})).kinematics();
    const Task task = draw_task(draws, robot);
    if (!can_be_done(robot, task, body, force)) continue;

    const double arrival = kStartTime + (task.place - task.start).norm() / kSpeed;
    const double end = std::ceil(arrival + kSettleTime);
    const auto between = [](double after, double low, double high) {
      return fmt::format("after = {:g}\nmin = {:.4f}\nmax = {:.4f}", after, low, high);
    };
    const std::string checks =
        task.reaches
            ? check("tip at the place", "sensor:off:end", fmt::format("max = {}", kAllowedOffset)) +
                  check("largest tension", "sensor:tension:max", between(1.0, 0.0, 1.2 * force)) +
                  check("finished (status 1)", "status_end", "min = 1\nmax = 1")
            : check("mean tension", "sensor:tension:mean",
                    between(end - 2.0, 0.9 * force, 1.1 * force)) +
                  check("largest tension", "sensor:tension:max", between(1.0, 0.0, 1.25 * force)) +
                  check("blocked (status 11)", "status_end", "min = 11\nmax = 11");
    return {
        {"cable.toml",
         fmt::format("# The tip pulls the end of a cable of {:.0f} mm with at most {:.2f} N to a "
                     "place that the cable {}.\n",
                     1000.0 * task.length, force, task.reaches ? "reaches" : "does not reach") +
             experiment(end,
                        waypoints_text(
                            "target", "linear", fmt::format("{:g}, {:.4f}", kStartTime, arrival),
                            list(hanging(task.start)) + ", " + list(hanging(task.place)))) +
             checks},
        {"scene.xml", scene_xml("cable", model_asset("arm"), world_text(task, draws),
                                joined_text(body.sections))},
        {"arm.toml", arm}};
  }
  throw_no_scene_found("cable");
}

}  // namespace tendril::simulation::generate
