#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <variant>
#include <vector>

#include "simulation/families/scene_text.hpp"
#include "tendril/ik/auto_solver.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model/robot_description.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril::simulation::generate {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;
using std::numbers::pi;

constexpr double kSpeed = 0.02;           // of the target along the surface [m/s]
constexpr double kStandOff = 0.03;        // of the target before it comes to the surface [m]
constexpr double kContactTime = 4.0;      // when it is there [s]
constexpr double kSlideTime = 6.5;        // when it begins to slide [s]
constexpr double kAllowedOffset = 0.005;  // of the tip from the target, along the surface [m]
constexpr double kClearance = 0.005;      // of the body from the surface [m]
constexpr double kMaxDeflection = 0.06;   // of the tip, by the force [m]
constexpr double kMaxBend = 1.5;          // of a section, of 1.9 allowed [rad]
constexpr int kPoints = 9;                // of the path

enum class Shape { Box, Cylinder, Sphere };

/// The surface of a wall, and a path on it; base frame.
struct Wall {
  Shape shape;
  Vector3d point, normal;  ///< where the path begins; the normal points to the arm
  Vector3d axis;           ///< of a cylinder, or of a box one of its sides
  Vector3d along;          ///< unit, of the path at its beginning
  double radius = 0.0;     ///< [m]

  [[nodiscard]] Vector3d center() const { return point - radius * normal; }
  [[nodiscard]] double distance(const Vector3d& p) const {
    if (shape == Shape::Box) return normal.dot(p - point);
    Vector3d from = p - center();
    if (shape == Shape::Cylinder) from -= axis.dot(from) * axis;
    return from.norm() - radius;
  }
  /// The pose at arc length s of the path: its z axis is the normal.
  [[nodiscard]] Isometry3d at(double s) const {
    Isometry3d pose = Isometry3d::Identity();
    const double straight = shape == Shape::Box        ? 1.0
                            : shape == Shape::Cylinder ? axis.dot(along)
                                                       : 0.0;
    const Vector3d ahead = shape == Shape::Box ? along : Vector3d(straight * axis);
    const Vector3d around = along - ahead;
    const double turn = radius > 0.0 ? around.norm() * s / radius : 0.0;
    const Vector3d about = normal.cross(around);
    const Matrix3d R = turn > 0.0 ? Eigen::AngleAxisd(turn, about.normalized()).toRotationMatrix()
                                  : Matrix3d::Identity();
    pose.translation() = center() + s * ahead + R * (point - center());
    pose.linear().col(2) = R * normal;
    return pose;
  }
};

struct Task {
  ContinuumRobot robot;
  Wall wall;
  Matrix3d tip;  ///< orientation of the tip in contact
  TipTask kind;
  double body_radius, depth, length;  ///< [m]
};

/// Where the tip is at arc length s of the path.
TipTarget touching(const Task& task, double s) {
  const Isometry3d pose = task.wall.at(s);
  TipTarget target;
  target.X_BG.linear() = task.tip;
  target.X_BG.translation() = pose.translation() + task.body_radius * pose.linear().col(2);
  target.task = task.kind;
  return target;
}

/// Least distance of the body from the wall, without the last three radii [m].
double clearance(const Task& task, SectionStates states) {
  constexpr int kPerSection = 12;
  const Vector3d tip = tip_pose(task.robot, states).translation();
  double least = 1.0;
  for (int i = 0; i < task.robot.section_count(); ++i) {
    for (int k = 0; k <= kPerSection; ++k) {
      const Vector3d p =
          backbone_pose(task.robot, states, {}, i, static_cast<double>(k) / kPerSection)
              .translation();
      if ((p - tip).norm() > 3.0 * task.body_radius)
        least = std::min(least, task.wall.distance(p) - task.body_radius);
    }
  }
  return least;
}

/// Tells whether the tip reaches the whole path while the body stays clear, and even bends lead to
/// where it begins.
bool can_be_done(const Task& task, std::vector<SectionState> states) {
  for (int k = 0; k <= 10; ++k) {
    std::vector<SectionState> part = states;
    for (SectionState& state : part) state.theta *= k / 10.0;
    if (clearance(task, part) < kClearance) return false;
    const double above = task.wall.distance(tip_pose(task.robot, part).translation());
    if (k < 10 && above < task.body_radius + 0.2 * kStandOff) return false;
  }
  AutoSolver solver(task.robot, {.max_restarts = 0});
  for (int k = 0; k < kPoints; ++k) {
    const IkResult result = solver.solve(touching(task, task.length * k / (kPoints - 1)), states);
    const bool bends_less = std::all_of(result.states.begin(), result.states.end(),
                                        [](const SectionState& s) { return s.theta < kMaxBend; });
    if (!result.converged() || !bends_less || clearance(task, result.states) < kClearance)
      return false;
    states.assign(result.states.begin(), result.states.end());
  }
  return true;
}

std::string wall_text(const Wall& wall, double friction) {
  constexpr double kThickness = 0.01, kSize = 0.15;  // half of them [m]
  const Vector3d z = wall.shape == Shape::Cylinder ? wall.axis : wall.normal;
  const Eigen::Quaterniond q = Eigen::Quaterniond::FromTwoVectors(Vector3d::UnitZ(), z);
  const Vector3d center =
      wall.shape == Shape::Box ? Vector3d(wall.point - kThickness * wall.normal) : wall.center();
  const std::string size =
      wall.shape == Shape::Box ? fmt::format("type=\"box\" size=\"{0} {0} {1}\"", kSize, kThickness)
      : wall.shape == Shape::Cylinder
          ? fmt::format("type=\"cylinder\" size=\"{:.6f} {}\"", wall.radius, kSize)
          : fmt::format("size=\"{:.6f}\"", wall.radius);
  return fmt::format(
      "      <geom name=\"wall\" {} pos=\"{}\" quat=\"{:.6f} {:.6f} {:.6f} {:.6f}\" "
      "friction=\"{:.3f}\" priority=\"1\" solref=\"0.02 1\" rgba=\"0.35 0.45 0.55 1\"/>\n",
      size, text(center), q.w(), q.x(), q.y(), q.z(), friction);
}

/// The target comes to the surface, slides along it, and back.
std::string motion_text(const Task& task) {
  std::string times = "0, 2.5", points;
  const auto add = [&](double s, double depth) {
    const Isometry3d pose = task.wall.at(s);
    points += (points.empty() ? "" : ", ") +
              list(horizontal_mount(pose.translation() - depth * pose.linear().col(2)));
  };
  const auto add_at = [&](double time, double s) {
    times += fmt::format(", {:.4f}", time);
    add(s, task.depth);
  };
  add(0.0, -task.body_radius - kStandOff);
  add(0.0, -task.body_radius - kStandOff);
  add_at(kContactTime, 0.0);
  for (int k = 0; k < 2 * kPoints - 1; ++k) {
    const int there = k < kPoints ? k : 2 * (kPoints - 1) - k;
    const double step = task.length / (kPoints - 1);
    add_at(kSlideTime + k * step / kSpeed, there * step);
  }
  return waypoints_text("target", "linear", times, points);
}

}  // namespace

std::vector<GeneratedFile> touch(RandomStream& draws, double difficulty) {
  for (int draw = 0; draw < kMaxDraws; ++draw) {
    const ContactArm body(draws);
    const double friction = draws.uniform(0.05, 0.4 + 0.4 * difficulty);
    const double force = draws.uniform(0.2, 2.0);
    const TipTask kind = body.sections > 2 ? TipTask::PositionAndDirection : TipTask::Position;
    const std::string arm = body.text("press on a wall") +
                            fmt::format(
                                "[controller]\nplugin = \"tendril.touch\"\ntarget = \"target\"\n"
                                "rate_limit = 2\ntask = \"{}\"\nforce = {:.3f}\n",
                                kind == TipTask::Position ? "position" : "direction", force);
    const ContinuumRobot robot =
        std::get<ContinuumDescription>(parse_robot(arm, "arm.toml", {})).kinematics();
    std::vector<SectionState> states(robot.straight().begin(), robot.straight().end());
    const double phi = draws.angle();
    for (SectionState& state : states) {
      state.theta = draws.uniform(0.15, 0.9);
      state.phi = phi + draws.uniform(-0.6, 0.6);
    }
    const Isometry3d tip = tip_pose(robot, states);
    const double lean = draws.uniform(0.0, 0.6), lean_to = draws.angle();
    const Vector3d side = tip.linear() * Vector3d(std::cos(lean_to), std::sin(lean_to), 0.0);
    const Vector3d normal = Eigen::AngleAxisd(lean, side) * -tip.linear().col(2);
    const Vector3d t1 = normal.unitOrthogonal(), t2 = normal.cross(t1);
    const double axis = draws.angle(), way = draws.angle();
    const auto shape = static_cast<Shape>(draws.integer(0, 2));
    const Task task{.robot = robot,
                    .wall = {.shape = shape,
                             .point = tip.translation() - body.radius * normal,
                             .normal = normal,
                             .axis = std::cos(axis) * t1 + std::sin(axis) * t2,
                             .along = std::cos(way) * t1 + std::sin(way) * t2,
                             .radius = shape == Shape::Box ? 0.0 : draws.uniform(0.05, 0.12)},
                    .tip = tip.linear(),
                    .kind = kind,
                    .body_radius = body.radius,
                    .depth = draws.uniform(0.001, 0.004),
                    .length = draws.uniform(0.03, 0.06)};
    if (body.deflection(robot, states, task.wall.normal, force) > kMaxDeflection) continue;
    if (!can_be_done(task, states)) continue;

    const Eigen::Quaterniond q(task.tip);
    const std::string world = fmt::format(
        "    <frame {}>\n      <attach model=\"arm\" body=\"base\" prefix=\"arm_\"/>\n{}"
        "      <body name=\"target\" mocap=\"true\" pos=\"{}\" quat=\"{:.6f} {:.6f} {:.6f} "
        "{:.6f}\">\n"
        "        <geom size=\"0.004\" rgba=\"0.95 0.35 0.15 0.4\" contype=\"0\" "
        "conaffinity=\"0\"/>\n      </body>\n    </frame>\n",
        kHorizontalMount, wall_text(task.wall, friction),
        text(task.wall.point + (body.radius + kStandOff) * normal), q.w(), q.x(), q.y(), q.z());
    const double end = kSlideTime + 2.0 * task.length / kSpeed;
    const std::string window = fmt::format("after = {:g}\n", kSlideTime);
    const auto limits = [&](double low, double high) {
      return fmt::format("{}min = {:.4f}\nmax = {:.4f}", window, low, high);
    };
    const char* const shapes[] = {"a box", "a cylinder", "a sphere"};
    std::string scene = scene_xml("touch", model_asset("arm"), world);
    scene.insert(scene.rfind("</mujoco>"),
                 "  <sensor>\n    <framepos name=\"offset\" objtype=\"site\" objname=\"arm_tip\" "
                 "reftype=\"body\" refname=\"target\"/>\n  </sensor>\n");
    return {{"touch.toml",
             fmt::format("# The tip presses on {} with {:.2f} N and slides along it after its "
                         "target, {:.0f} mm and back.\n",
                         shapes[static_cast<int>(shape)], force, 1000.0 * task.length) +
                 experiment(std::ceil(end + 0.5), motion_text(task)) +
                 check("mean force", "wall_force_mean", limits(0.9 * force, 1.1 * force)) +
                 check("force, rms", "wall_force_rms",
                       fmt::format("{}max = {:.4f}", window, 1.1 * force)) +
                 check("largest force", "wall_force_max",
                       fmt::format("{}max = {:.4f}", window, 2.0 * force)) +
                 check("tip along the surface", "sensor:offset:max",
                       fmt::format("{}max = {:.6f}", window,
                                   hypotenuse(body.radius + task.depth, kAllowedOffset)))},
            {"scene.xml", scene},
            {"arm.toml", arm}};
  }
  throw_no_scene_found("touch");
}

}  // namespace tendril::simulation::generate
