#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <variant>
#include <vector>

#include "simulation/families/scene_text.hpp"
#include "tendril/model/robot_description.hpp"
#include "tendril/path/least_deviation.hpp"

namespace tendril::simulation::generate {

namespace {

using Eigen::Vector3d;
using std::numbers::pi;

constexpr double kSpeed = 0.05;  // of the feed [m/s]

/// The arm and its task: sections, and the corners of the path of its tip.
struct Insertion {
  int sections;
  double feed, radius;              // [m]
  std::vector<Vector3d> waypoints;  // from the base to where the tip ends
  double clearance;                 // [m]
};

/// Points as lines of TOML arrays.
std::string list(const std::vector<Vector3d>& points) {
  std::string text;
  for (const Vector3d& p : points) text += (text.empty() ? "[" : ", ") + generate::list(p);
  return text + "]";
}

std::string arm_text(const Insertion& task) {
  return fmt::format(
             "# {} sections of 100 mm, fed along the path of their tip.\nkind = \"continuum\"\n"
             "name = \"arm\"\n\n[base]\nfeed = {:.6f}\nfeed_force_limit = 30\n\n",
             task.sections, task.feed + 0.001) +
         repeated(section_text(10, ""), task.sections) +
         fmt::format(
             "[controller]\nplugin = \"tendril.follow\"\nwaypoints = {}\n"
             "corner_radius = {:.6f}\nfit = \"body\"\nspeed = {:g}\n",
             list(task.waypoints), task.radius, kSpeed);
}

/// The distance from the path within which the sections cannot keep [m].
double least_distance(const std::string& arm, const Insertion& task) {
  const ContinuumRobot robot =
      std::get<ContinuumDescription>(parse_robot(arm, "arm.toml", {})).kinematics();
  return least_deviation(robot, rounded_path(task.waypoints, task.radius),
                         Advance(robot, Growth::None), task.feed)
      .distance;
}

/// The files of an insertion from the mouth of the tube to its end, which is past the last
/// waypoint.
std::vector<GeneratedFile> insertion(const char* family, const Insertion& task,
                                     const Vector3d& mouth, const Vector3d& end, double friction,
                                     const std::string& remark) {
  const std::string arm = arm_text(task);
  const double least = least_distance(arm, task);
  const bool roomy = task.clearance >= least + 0.001;
  std::vector<Vector3d> centerline = task.waypoints;
  centerline.front() = mouth;
  centerline.back() = end;
  const std::string pipe = fmt::format(
      "kind = \"tube\"\nname = \"pipe\"\ncenterline = {}\ncorner_radius = {:.6f}\n"
      "inner_radius = {:.6f}\nfriction = {:g}\n",
      list(centerline), task.radius, 0.008 + task.clearance, friction);
  const std::string world = fmt::format(
      "    <frame {}>\n      <attach model=\"arm\" body=\"base\" prefix=\"arm_\"/>\n"
      "      <attach model=\"pipe\" body=\"tube\" prefix=\"pipe_\"/>\n    </frame>\n",
      kHorizontalMount);
  return {
      {std::string(family) + ".toml",
       fmt::format("# An arm of {} sections follows its tip through a tube with {}, of {:.0f} mm\n"
                   "# radius, with {:.1f} mm of clearance. Its sections cannot keep "
                   "within {:.1f} mm of the tube's centerline.\n",
                   task.sections, remark, 1000.0 * task.radius, 1000.0 * task.clearance,
                   1000.0 * least) +
           experiment(std::ceil(task.feed / kSpeed + 4.0), "") +
           check("tip error at the end", "tip_error_end", "max = 0.002") +
           check("end of the path reached", "progress_end", "min = 0.999") +
           check("wall force, sum over all contacts", "wall_force_max",
                 roomy ? "max = 0.3" : "max = 5")},
      {"scene.xml", scene_xml(family, model_asset("arm") + model_asset("pipe"), world)},
      {"arm.toml", arm},
      {"pipe.toml", pipe}};
}

}  // namespace

std::vector<GeneratedFile> tube(RandomStream& draws, double difficulty) {
  const int sections = draws.integer(7, 9);
  const double length = 0.1 * sections;
  const double clearance = 0.010 - 0.008 * difficulty;
  const double radius = draws.uniform(0.115, 0.160);
  const double before = draws.uniform(0.05, 0.10), after = draws.uniform(0.03, 0.06);
  const double mouth = length + 0.02;
  // Segments between the corners of the polyline: each bend takes a radius of both segments next to
  // it.
  const double between = std::max(length - 0.03 - before - after - pi * radius, 0.02);
  const bool planar = draws.coin_flip();
  const Vector3d out(-1.0, 0.0, 0.0);
  const Vector3d last =
      planar ? Vector3d(0.0, 0.0, 1.0) : Vector3d(0.0, draws.coin_flip() ? 1.0 : -1.0, 0.0);
  const Vector3d start(0.0, 0.0, mouth);
  const Vector3d corner_1 = start + (before + radius) * Vector3d::UnitZ();
  const Vector3d corner_2 = corner_1 + (2.0 * radius + between) * out;
  const Vector3d end = corner_2 + (radius + after) * last;
  const double feed = 0.02 + before + after + between + pi * radius - 0.01;
  return insertion("tube",
                   {sections,
                    feed,
                    radius,
                    {Vector3d::Zero(), corner_1, corner_2, end - 0.01 * last},
                    clearance},
                   start, end, 0.3,
                   fmt::format("two right angles, {}", planar ? "in one plane" : "in two planes"));
}

std::vector<GeneratedFile> winding_tube(RandomStream& draws, double difficulty) {
  constexpr int kBends = 3;
  const int sections = draws.integer(7, 9);
  const double length = 0.1 * sections, mouth = length + 0.02;
  const double radius = draws.uniform(0.115, 0.160);
  const double before = draws.uniform(0.05, 0.10), after = draws.uniform(0.03, 0.06);
  double angles[kBends], straights[kBends], sum = 0.0, straight = 0.0;
  for (int i = 0; i < kBends; ++i) {
    sum += angles[i] = draws.uniform(0.25, 0.5) * pi;
    straights[i] = i + 1 < kBends ? draws.uniform(0.02, 0.06) : after;
    straight += straights[i];
  }
  // The base stays before the first bend, so the bends are no longer than the arm.
  const double room = (length - 0.03 - before - straight) / radius;
  const double scale = std::min(1.0, room / sum);
  std::vector<Vector3d> corners{Vector3d::Zero()};
  Eigen::Matrix3d R = Eigen::Matrix3d::Identity();
  Vector3d p(0.0, 0.0, mouth + before);  // at the beginning of a bend
  double azimuth = draws.angle();
  for (int i = 0; i < kBends; ++i) {
    const double half = 0.5 * scale * angles[i];
    const double corner = radius * std::tan(half);
    corners.emplace_back(p + corner * R.col(2));
    const Vector3d axis(-std::sin(azimuth), std::cos(azimuth), 0.0);
    R *= Eigen::AngleAxisd(2.0 * half, axis).toRotationMatrix();
    p = corners.back() + (corner + straights[i]) * R.col(2);
    azimuth += draws.uniform(pi / 3, 5 * pi / 3);  // not on in the same direction: it would coil
  }
  corners.emplace_back(p - 0.01 * R.col(2));
  const double feed = 0.02 + before + straight + scale * sum * radius - 0.01;
  return insertion("winding_tube", {sections, feed, radius, corners, 0.010 - 0.008 * difficulty},
                   Vector3d(0.0, 0.0, mouth), p, 0.3, "three bends in space");
}

}  // namespace tendril::simulation::generate
