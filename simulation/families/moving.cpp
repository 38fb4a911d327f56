#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <variant>

#include "simulation/families/scene_text.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model/robot_description.hpp"

namespace tendril::simulation::generate {
namespace {

using Eigen::Vector3d;

constexpr double kBodyRadius = 0.008;
constexpr double kStart = 3.0, kEnd = 9.0;  // of the motion [s]
constexpr double kStay = 2.0;               // at a place, of a target that jumps [s]
constexpr double kStep = 0.02;              // between points of a smooth motion [s]

enum class Motion : std::uint8_t { Smooth, Corners, Jumps, Away };

using Pose = std::vector<SectionState>;

/// Poses of an arm over time: their tips are the points of the target.
struct Course {
  std::vector<double> times;  // [s]
  std::vector<Pose> poses;
};

std::string tendon_text(int sections) {
  std::string tendons;
  for (int i = 0; i < 3 * sections; ++i) {
    tendons += fmt::format(
        "[[tendon]]\nsection = {}\nangle = {:.4f}\ndistance = 0.007\nmax_tension = 300\n"
        "pretension = 2\n\n",
        i / 3 + 1, (i % 3 + i / 3 / 4.0) * 2.0 * std::numbers::pi / 3.0);
  }
  return tendons;
}

/// An arm of two to four sections, driven by a servo per section, a servo per link, or tendons.
std::string arm_text(RandomStream& draws) {
  const int sections = draws.integer(2, 4), drive = draws.integer(0, 2);
  return fmt::format(
             "# Sections of 100 mm whose tip follows a moving target.\nkind = \"continuum\"\n"
             "name = \"arm\"\n{}\n",
             drive == 1 ? "compliance = \"link\"\n" : "") +
         repeated(section_text(8, ""), sections) + (drive == 2 ? tendon_text(sections) : "") +
         "[controller]\nplugin = \"tendril.reach\"\ntarget = \"target\"\navoidance = true\n"
         "obstacle_margin = 0.006\n";
}

Pose random_pose(RandomStream& draws, std::size_t sections, double direction) {
  Pose pose(sections);
  for (SectionState& state : pose)
    state = {draws.uniform(0.3, 1.0), direction + draws.uniform(-0.6, 0.6), 0.0};
  return pose;
}

Pose between(Pose a, const Pose& b, double fraction) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i].theta += fraction * (b[i].theta - a[i].theta);
    a[i].phi += fraction * (b[i].phi - a[i].phi);
  }
  return a;
}

Vector3d tip(const ContinuumRobot& robot, const Pose& pose) {
  return horizontal_mount(tip_pose(robot, pose).translation());
}

/// All bends oscillate about a pose; the tip has this speed where it is fastest.
Course smooth_course(RandomStream& draws, const ContinuumRobot& robot, const Pose& middle,
                     double speed) {
  Pose amplitude = middle, phase = middle;
  for (std::size_t i = 0; i < middle.size(); ++i) {
    amplitude[i] = {draws.uniform(0.05, 0.25), draws.uniform(0.1, 0.5), 0.0};
    phase[i] = {draws.angle(), draws.angle(), 0.0};
  }
  const auto pose_at = [&](double angle) {
    Pose pose = middle;
    for (std::size_t i = 0; i < pose.size(); ++i) {
      pose[i].theta += amplitude[i].theta * std::sin(angle + phase[i].theta);
      pose[i].phi += amplitude[i].phi * std::sin(2.0 * angle + phase[i].phi);
    }
    return pose;
  };
  constexpr int kSamples = 400;
  constexpr double kAngle = 2.0 * std::numbers::pi / kSamples;
  double farthest = 0.0;  // from sample to sample
  for (int i = 0; i < kSamples; ++i) {
    const Vector3d from = tip(robot, pose_at(i * kAngle)),
                   to = tip(robot, pose_at((i + 1) * kAngle));
    farthest = std::max(farthest, (to - from).norm());
  }
  const double rate = speed * kAngle / farthest;  // [rad/s]
  Course course;
  for (double time = kStart; time <= kEnd; time += kStep) {
    course.times.push_back(time);
    course.poses.push_back(pose_at(rate * (time - kStart)));
  }
  return course;
}

/// From pose to pose at constant speed, without a rest at the corners.
Course cornered_course(const ContinuumRobot& robot, const std::vector<Pose>& poses, double speed) {
  constexpr int kPerLeg = 20;
  Course course{{kStart}, {poses.front()}};
  for (std::size_t leg = 0; course.times.back() < kEnd; ++leg) {
    for (int k = 1; k <= kPerLeg; ++k) {
      const Pose pose = between(poses[leg % poses.size()], poses[(leg + 1) % poses.size()],
                                static_cast<double>(k) / kPerLeg);
      const double distance = (tip(robot, pose) - tip(robot, course.poses.back())).norm();
      course.times.push_back(course.times.back() + std::max(distance, 1e-6) / speed);
      course.poses.push_back(pose);
    }
  }
  return course;
}

Course draw_course(RandomStream& draws, const ContinuumRobot& robot, Motion motion, double speed) {
  const double direction = draws.angle();
  std::vector<Pose> poses;
  for (int i = 0; i < 3; ++i)
    poses.push_back(random_pose(draws, static_cast<std::size_t>(robot.section_count()), direction));
  if (motion == Motion::Smooth) return smooth_course(draws, robot, poses.front(), speed);
  if (motion == Motion::Corners) return cornered_course(robot, poses, speed);
  if (motion == Motion::Away) poses.back() = poses.front();
  return {{0.0, kStart, kStart + kStay}, poses};
}

/// Points of the body along the course, and from the straight pose to each of its first poses.
std::vector<Vector3d> swept_points(const ContinuumRobot& robot, const Course& course) {
  constexpr std::size_t kApproached = 3;
  constexpr int kParts = 20;
  std::vector<Vector3d> swept;
  for (std::size_t i = 0; i < course.poses.size(); ++i) {
    for (int k = i < kApproached ? 0 : kParts; k <= kParts; ++k) {
      const auto points = backbone(robot, course.poses[i], static_cast<double>(k) / kParts);
      swept.insert(swept.end(), points.begin(), points.end());
    }
  }
  return swept;
}

std::string checks_of(Motion motion, double speed) {
  const auto following = [&](double lag) {
    return check("tip error while following", "tip_error_rms",
                 fmt::format("after = {}\nmax = {:.6f}", kStart + 2.0, 0.0001 + lag * speed));
  };
  const auto settled = [](double after, double before) {
    return check(fmt::format("settled to 1 mm from {} s on", after), "settle_time",
                 fmt::format("threshold = 0.001\nafter = {}\nbefore = {}\nmax = 1", after, before));
  };
  const std::string last = settled(kStart + kStay, kEnd);
  switch (motion) {
    case Motion::Smooth:
      return following(0.001);
    case Motion::Corners:
      return following(0.01);
    case Motion::Jumps:
      return settled(kStart, kStart + kStay) + last;
    case Motion::Away:
      return last + check("said while it is away", "status_max",
                          fmt::format("after = {}\nbefore = {}\nmin = 2\nmax = 2", kStart,
                                      kStart + kStay));
  }
  return {};
}

std::string motion_text(const Course& course, const std::vector<Vector3d>& points, bool jumps) {
  std::string times, places;
  for (std::size_t i = 0; i < points.size(); ++i) {
    times += fmt::format("{}{:.4f}", i > 0 ? ", " : "", course.times[i]);
    places += (i > 0 ? ", " : "") + list(points[i]);
  }
  return waypoints_text("target", jumps ? "step" : "linear", times, places);
}

}  // namespace

std::vector<GeneratedFile> moving(RandomStream& draws, double difficulty) {
  const std::string arm = arm_text(draws);
  const ContinuumRobot robot =
      std::get<ContinuumDescription>(parse_robot(arm, "arm.toml", {})).kinematics();
  const auto motion = static_cast<Motion>(draws.integer(0, 3));
  const bool jumps = motion == Motion::Jumps || motion == Motion::Away;
  const double speed = draws.uniform(0.02, 0.02 + 0.36 * difficulty);
  const Course course = draw_course(draws, robot, motion, speed);
  const double room = 0.022 - 0.016 * difficulty;  // next to the swept body
  const int count = draws.integer(2, 2 + static_cast<int>(std::lround(12.0 * difficulty)));
  const Spheres spheres =
      draw_spheres(draws, "moving", count, kBodyRadius + room, swept_points(robot, course));

  std::vector<Vector3d> points;
  for (const Pose& pose : course.poses) points.push_back(tip(robot, pose));
  if (motion == Motion::Away)
    points[1] = draws.coin_flip()
                    ? spheres.centers.front()
                    : Vector3d(points[0] * (2.0 * robot.max_length() / points[0].norm()));
  return {
      {"moving.toml",
       fmt::format("# An arm among {} spheres: its tip has to follow a target that {}, and touch "
                   "nothing. A way exists: the\n# target moves as the tip of a body that keeps "
                   "{:.1f} mm from all spheres or more.\n",
                   count,
                   motion == Motion::Away ? "leaves its reach and comes back"
                   : jumps                ? "jumps"
                                          : fmt::format("moves at up to {:.3f} m/s", speed),
                   1000.0 * room) +
           experiment(kEnd, "") + motion_text(course, points, jumps) + checks_of(motion, speed) +
           check("nothing is touched", "wall_force_max", "max = 0")},
      {"scene.xml", scene_xml("moving", model_asset("arm"), arm_among(spheres, points.front()))},
      {"arm.toml", arm}};
}

}  // namespace tendril::simulation::generate
