#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
constexpr double kStep = 0.02;              // between points of a smooth motion [s]
using Pose = std::vector<SectionState>;

enum class Motion { Smooth, Corners, Jumps, Away };

std::string tendon_text(int sections) {
  std::string tendons;
  for (int i = 0; i < 3 * sections; ++i) {
    tendons += fmt::format(
        "[[tendon]]\nsection = {}\nangle = {:.4f}\ndistance = 0.007\nmax_tension = 300\n"
        "pretension = 2\n\n",
        i / 3 + 1, (i % 3 + i / 3 / 3.0) * 2.0 * std::numbers::pi / 3.0);
  }
  return tendons;
}

std::string arm_text(RandomStream& draws) {
  const int sections = draws.integer(2, 4), drive = draws.integer(0, 2);
  return fmt::format("kind = \"continuum\"\nname = \"arm\"\n{}\n",
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

Pose between(const Pose& a, const Pose& b, double fraction) {
  Pose pose = a;
  for (std::size_t i = 0; i < a.size(); ++i) {
    pose[i].theta += fraction * (b[i].theta - a[i].theta);
    pose[i].phi += fraction * (b[i].phi - a[i].phi);
  }
  return pose;
}

/// Poses of an arm over time: the tips are the points of the target.
struct Course {
  std::vector<double> times;  // [s]
  std::vector<Pose> poses;
};

class Tips {
 public:
  explicit Tips(const ContinuumRobot& robot) : robot_(robot) {}

  [[nodiscard]] Vector3d tip(const Pose& pose) const {
    return horizontal_mount(tip_pose(robot_, pose).translation());
  }
  /// Points of the body on the way from the straight pose by even bends.
  void sweep(const Pose& goal, int steps, std::vector<Vector3d>& points) const {
    constexpr int kPerSection = 12;
    for (int step = steps > 0 ? 0 : 1; step <= std::max(steps, 1); ++step) {
      Pose pose = goal;
      for (SectionState& state : pose) state.theta *= static_cast<double>(step) / std::max(steps, 1);
      for (int i = 0; i < robot_.section_count(); ++i) {
        for (int k = 1; k <= kPerSection; ++k)
          points.push_back(horizontal_mount(
              backbone_pose(robot_, pose, {}, i, static_cast<double>(k) / kPerSection)
                  .translation()));
      }
    }
  }

 private:
  const ContinuumRobot& robot_;
};

/// All bends swing about a pose; the fastest tip has the speed.
Course smooth_course(RandomStream& draws, const Tips& tips, const Pose& middle, double speed) {
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
  double fastest = 0.0;
  for (int i = 0; i < kSamples; ++i)
    fastest = std::max(
        fastest, (tips.tip(pose_at((i + 1) * kAngle)) - tips.tip(pose_at(i * kAngle))).norm());
  const double rate = speed * kAngle / fastest;  // [rad/s]
  Course course;
  for (double time = kStart; time <= kEnd; time += kStep) {
    course.times.push_back(time);
    course.poses.push_back(pose_at(rate * (time - kStart)));
  }
  return course;
}

/// From pose to pose at constant speed, without rest at the corners.
Course cornered_course(const Tips& tips, const std::vector<Pose>& poses, double speed) {
  constexpr int kPerLeg = 20;
  Course course{{kStart}, {poses.front()}};
  for (std::size_t leg = 0; course.times.back() < kEnd; ++leg) {
    for (int k = 1; k <= kPerLeg; ++k) {
      const Pose pose = between(poses[leg % poses.size()], poses[(leg + 1) % poses.size()],
                                static_cast<double>(k) / kPerLeg);
      const double way = (tips.tip(pose) - tips.tip(course.poses.back())).norm();
      course.times.push_back(course.times.back() + std::max(way, 1e-6) / speed);
      course.poses.push_back(pose);
    }
  }
  return course;
}

std::string settled(int number, double after, double before) {
  return check(fmt::format("move {}: settled to 1 mm", number), "settle_time",
               fmt::format("threshold = 0.001\nafter = {}\nbefore = {}\nmax = 1.5", after, before));
}

}  // namespace

std::vector<GeneratedFile> moving(RandomStream& draws, double difficulty) {
  const std::string arm = arm_text(draws);
  const ContinuumRobot robot =
      std::get<ContinuumDescription>(parse_robot(arm, "arm.toml", {})).kinematics();
  const Tips tips(robot);
  const auto sections = static_cast<std::size_t>(robot.section_count());
  const auto motion = static_cast<Motion>(draws.integer(0, 3));
  const double speed = draws.uniform(0.02, 0.02 + 0.36 * difficulty), direction = draws.angle();
  std::vector<Pose> poses;
  for (int i = 0; i < 3; ++i) poses.push_back(random_pose(draws, sections, direction));

  Course course;
  std::string checks;
  if (motion == Motion::Smooth) {
    course = smooth_course(draws, tips, poses.front(), speed);
    checks = check("tip error while following", "tip_error_rms",
                   fmt::format("after = {}\nmax = {:.6f}", kStart + 2.0, 0.0001 + 0.003 * speed));
  } else if (motion == Motion::Corners) {
    course = cornered_course(tips, poses, speed);
    checks = check("tip error while following", "tip_error_rms",
                   fmt::format("after = {}\nmax = {:.6f}", kStart + 2.0, 0.0001 + 0.015 * speed));
  } else {
    course = {{0.0, kStart, kStart + 2.0}, poses};
    if (motion == Motion::Away) course.poses[2] = poses[0];
    for (int i = motion == Motion::Away ? 2 : 1; i < 3; ++i)
      checks += settled(i, course.times[static_cast<std::size_t>(i)], i == 1 ? kStart + 2.0 : kEnd);
  }

  std::vector<Vector3d> swept, points;
  for (const Pose& pose : poses) tips.sweep(pose, 20, swept);
  for (const Pose& pose : course.poses) {
    tips.sweep(pose, 0, swept);
    points.push_back(tips.tip(pose));
  }
  tips.sweep(course.poses.front(), 20, swept);
  if (motion == Motion::Away) {
    points[1] *= 2.0 * robot.max_length() / points[1].norm();
    checks += check("away: said", "status_max",
                    fmt::format("after = {}\nbefore = {}\nmin = 2\nmax = 2", kStart, kStart + 2.0));
  }

  const double room = 0.022 - 0.016 * difficulty;  // next to the swept body
  const int count = draws.integer(2, 2 + static_cast<int>(std::lround(12.0 * difficulty)));
  std::string spheres;
  for (int sphere = 1, tries = 0; sphere <= count; ++tries) {
    if (tries > kMaxDraws) throw_no_scene_found("moving");
    const double radius = draws.uniform(0.015, 0.035);
    const Vector3d center(draws.uniform(0.03, 0.42), draws.uniform(-0.25, 0.25),
                          draws.uniform(-0.25, 0.25));
    const bool free = std::all_of(swept.begin(), swept.end(), [&](const Vector3d& p) {
      return (p - center).norm() >= radius + kBodyRadius + room;
    });
    if (!free || center.norm() < radius + 0.05) continue;
    spheres += fmt::format(
        "    <geom name=\"ball_{}\" pos=\"{}\" size=\"{:.6f}\" rgba=\"0.35 0.45 0.55 1\"/>\n",
        sphere, text(center), radius);
    ++sphere;
  }

  std::string times, places;
  for (std::size_t i = 0; i < points.size(); ++i) {
    times += fmt::format("{}{:.4f}", i > 0 ? ", " : "", course.times[i]);
    places += (i > 0 ? ", " : "") + list(points[i]);
  }
  const bool steps = motion == Motion::Jumps || motion == Motion::Away;
  const std::string world = fmt::format(
      "    <frame {}>\n      <attach model=\"arm\" body=\"base\" prefix=\"arm_\"/>\n    "
      "</frame>\n{}"
      "    <body name=\"target\" mocap=\"true\" pos=\"{}\">\n"
      "      <geom size=\"0.009\" rgba=\"0.95 0.35 0.15 0.4\" contype=\"0\" conaffinity=\"0\"/>\n"
      "    </body>\n",
      kHorizontalMount, spheres, text(points.front()));
  return {
      {"moving.toml",
       fmt::format("# The tip of an arm among {} spheres follows a target that {}. A way exists: "
                   "all\n# sections bend evenly, {:.1f} mm from the nearest sphere or farther.\n",
                   count,
                   motion == Motion::Away    ? "leaves its reach and comes back"
                   : motion == Motion::Jumps ? "jumps"
                                             : fmt::format("moves at up to {:.3f} m/s", speed),
                   1000.0 * room) +
           experiment(kEnd, "") +
           fmt::format("[[motion]]\nbody = \"target\"\nkind = \"waypoints\"\ninterpolation = "
                       "\"{}\"\ntimes = [{}]\npoints = [{}]\n\n",
                       steps ? "step" : "linear", times, places) +
           checks + check("nothing is touched", "wall_force_max", "max = 0")},
      {"scene.xml", scene_xml("moving", model_asset("arm"), world)},
      {"arm.toml", arm}};
}

}  // namespace tendril::simulation::generate
