#include <fmt/format.h>

#include <Eigen/Core>
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
  double feed, radius;  // [m]
  Vector3d corner_1, corner_2, tip;
};

std::string arm_text(const Insertion& task) {
  return fmt::format(
             "# {} sections of 100 mm, fed along the path of their tip.\nkind = \"continuum\"\n"
             "name = \"arm\"\n\n[base]\nfeed = {:.6f}\nfeed_force_limit = 30\n\n",
             task.sections, task.feed + 0.001) +
         repeated(section_text(10, ""), task.sections) +
         fmt::format(
             "[controller]\nplugin = \"tendril.follow\"\nwaypoints = [[0, 0, 0], {}, {}, {}]\n"
             "corner_radius = {:.6f}\nfit = \"body\"\nspeed = {:g}\n",
             list(task.corner_1), list(task.corner_2), list(task.tip), task.radius, kSpeed);
}

/// The distance from the path within which the sections cannot keep [m].
double least_distance(const std::string& arm, const Insertion& task) {
  const ContinuumRobot robot =
      std::get<ContinuumDescription>(parse_robot(arm, "arm.toml", {})).kinematics();
  const std::vector<Vector3d> corners{Vector3d::Zero(), task.corner_1, task.corner_2, task.tip};
  return least_deviation(robot, rounded_path(corners, task.radius), Advance(robot, Growth::None),
                         task.feed)
      .distance;
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
  const std::string centerline =
      fmt::format("[{}, {}, {}, {}]", list(start), list(corner_1), list(corner_2), list(end));
  const Insertion task{sections, feed, radius, corner_1, corner_2, end - 0.01 * last};
  const std::string arm = arm_text(task);
  const double least = least_distance(arm, task);
  const bool roomy = clearance >= least + 0.001;
  const std::string pipe = fmt::format(
      "kind = \"tube\"\nname = \"pipe\"\ncenterline = {}\ncorner_radius = {:.6f}\n"
      "inner_radius = {:.6f}\nfriction = 0.3\n",
      centerline, radius, 0.008 + clearance);
  const std::string world = fmt::format(
      "    <frame {}>\n      <attach model=\"arm\" body=\"base\" prefix=\"arm_\"/>\n"
      "      <attach model=\"pipe\" body=\"tube\" prefix=\"pipe_\"/>\n    </frame>\n",
      kHorizontalMount);
  return {
      {"tube.toml", fmt::format("# An arm of {} sections follows its tip through a tube with "
                                "two right angles, {}, of {:.0f} mm\n"
                                "# radius, with {:.1f} mm of clearance. Its sections cannot keep "
                                "within {:.1f} mm of the tube's centerline.\n",
                                sections, planar ? "in one plane" : "in two planes",
                                1000.0 * radius, 1000.0 * clearance, 1000.0 * least) +
                        experiment(std::ceil(feed / kSpeed + 4.0), "") +
                        check("tip error at the end", "tip_error_end", "max = 0.002") +
                        check("end of the path reached", "progress_end", "min = 0.999") +
                        check("wall force, sum over all contacts", "wall_force_max",
                              roomy ? "max = 0.3" : "max = 5")},
      {"scene.xml", scene_xml("tube", model_asset("arm") + model_asset("pipe"), world)},
      {"arm.toml", arm},
      {"pipe.toml", pipe}};
}

}  // namespace tendril::simulation::generate
