#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/families/scene_text.hpp"
#include "tendril/model/tube/branch_wall.hpp"
#include "tendril/model_error.hpp"
#include "tendril/path/centerline_tree.hpp"

namespace tendril::simulation::generate {

namespace {

using Eigen::Vector3d;
using std::numbers::pi;

constexpr double kSheath = 0.33;         // length of the straight sheath around the arm [m]
constexpr double kSheathRadius = 0.002;  // [m]
constexpr double kOverlap = 0.002;       // of the sheath and the first vessel [m]
constexpr double kShaft = 0.28;          // length of the arm but for its tip [m]
constexpr double kWall = 0.001;          // radius of the staves [m]
constexpr double kSpacing = 0.003;       // of the points of a centerline [m]
constexpr double kSpeed = 0.03;          // of the feed [m/s]
constexpr double kDamping = 0.05;        // damping time of the joints, of a polymer in blood [s]

/// Bends the line of a vessel as it grows: the heading turns about an axis.
struct Growth {
  Vector3d position, heading;

  void bend(CenterlineBranch& branch, double length, const Vector3d& about, double angle,
            double last_radius) {
    const int steps = std::max(2, static_cast<int>(std::ceil(length / kSpacing)));
    const double first_radius = branch.radii.back();
    const Eigen::AngleAxisd turn(angle / steps / 2.0, about);
    for (int k = 1; k <= steps; ++k) {
      heading = turn * heading;
      position += length / steps * heading;
      heading = turn * heading;
      branch.points.push_back(position);
      branch.radii.push_back(first_radius + (last_radius - first_radius) * k / steps);
    }
  }
};

CenterlineBranch begin_branch(const char* name, const Growth& growth, double radius) {
  return {name, {growth.position}, {radius}};
}

/// A direction across another one.
Vector3d across(const Vector3d& direction, RandomStream& draws) {
  return Eigen::AngleAxisd(draws.angle(), direction) * direction.unitOrthogonal();
}

/// A vessel that leaves at a place of another one, and bends twice by up to `bend`.
CenterlineBranch side_branch(const char* name, Growth growth, double root, double radius,
                             double length, double bend, RandomStream& draws) {
  CenterlineBranch branch = begin_branch(name, growth, radius);
  growth.bend(branch, root, Vector3d::UnitX(), 0.0, radius);
  for (int i = 0; i < 2; ++i)
    growth.bend(branch, length / 2.0, across(growth.heading, draws), draws.uniform(-bend, bend),
                radius * draws.uniform(0.85, 1.0));
  return branch;
}

/// The aorta, from below over its arch, and the arteries that leave the top of it.
CenterlineTree arch(double difficulty, RandomStream& draws) {
  const double radius = draws.uniform(0.009, 0.012);
  const double bend_radius = draws.uniform(0.028, 0.038);
  const double bend = 0.4 + 0.8 * difficulty;
  Growth growth{Vector3d(0, 0, kSheath - kOverlap), Vector3d::UnitZ()};
  const Vector3d axis = across(growth.heading, draws);
  CenterlineBranch aorta = begin_branch("aorta", growth, radius);
  growth.bend(aorta, draws.uniform(0.04, 0.06), axis, 0.0, radius);
  CenterlineTree tree;
  // Left subclavian, left common carotid, brachiocephalic artery, in the order of the blood's way
  // back.
  const char* const names[] = {"LSA", "LCCA", "BCT"};
  const double ostia[] = {draws.uniform(0.9, 1.1), draws.uniform(1.5, 1.7),
                          draws.uniform(2.15, 2.4)};
  double turned = 0.0;
  for (int i = 0; i < 3; ++i) {
    growth.bend(aorta, bend_radius * (ostia[i] - turned), axis, ostia[i] - turned, radius);
    turned = ostia[i];
    Growth branch = growth;
    const Vector3d outward = axis.cross(growth.heading) * -1.0;
    const double lean = draws.uniform(-0.25, 0.25) - 0.3 * (1.0 - difficulty) * (i - 1);
    branch.heading = Eigen::AngleAxisd(lean, axis) *
                     Eigen::AngleAxisd(draws.uniform(-0.2, 0.2), growth.heading) * outward;
    const double narrow = i == 2 ? draws.uniform(0.005, 0.0065) : draws.uniform(0.0032, 0.0045);
    tree.push_back(
        side_branch(names[i], branch, radius, narrow, draws.uniform(0.05, 0.08), bend, draws));
  }
  growth.bend(aorta, bend_radius * (pi - turned) + 0.02, axis, pi - turned, radius);
  tree.insert(tree.begin(), aorta);
  // The brachiocephalic artery divides.
  const CenterlineBranch& trunk = tree.back();
  const Vector3d end = trunk.points.back();
  const Vector3d heading = (end - trunk.points[trunk.points.size() - 2]).normalized();
  const Vector3d about = across(heading, draws);
  for (const char* name : {"RCCA", "RSA"}) {
    const double sign = std::string_view(name) == "RSA" ? 1.0 : -1.0;
    const Growth half{end, Eigen::AngleAxisd(sign * draws.uniform(0.4, 0.6), about) * heading};
    tree.push_back(side_branch(name, half, 0.008, draws.uniform(0.003, 0.004),
                               draws.uniform(0.03, 0.05), bend, draws));
  }
  return tree;
}

/// A trunk that divides twice.
CenterlineTree forks(double difficulty, RandomStream& draws) {
  const double bend = 0.4 + 0.8 * difficulty;
  Growth growth{Vector3d(0, 0, kSheath - kOverlap), Vector3d::UnitZ()};
  const double radius = draws.uniform(0.004, 0.006);
  CenterlineBranch trunk = begin_branch("trunk", growth, radius);
  growth.bend(trunk, 0.02, Vector3d::UnitX(), 0.0, radius);
  growth.bend(trunk, draws.uniform(0.05, 0.08), across(growth.heading, draws),
              draws.uniform(-bend, bend), radius);
  CenterlineTree tree{trunk};
  const auto divide = [&](std::size_t parent, const char* first, const char* second) {
    const std::vector<Vector3d>& points = tree[parent].points;
    const Vector3d end = points.back();
    const Vector3d heading = (end - points[points.size() - 2]).normalized();
    const Vector3d about = across(heading, draws);
    const double wide = tree[parent].radii.back();
    const double share = draws.uniform(0.7, 0.85);
    for (const char* name : {first, second}) {
      const double sign = name == first ? 1.0 : -1.0;
      const Growth half{
          end,
          Eigen::AngleAxisd(sign * draws.uniform(0.35, 0.5 + 0.3 * difficulty), about) * heading};
      tree.push_back(side_branch(name, half, 2.0 * wide, std::max(0.003, share * wide),
                                 draws.uniform(0.04, 0.07), bend, draws));
    }
  };
  divide(0, "left", "right");
  divide(1, "left_1", "left_2");
  divide(2, "right_1", "right_2");
  return tree;
}

/// The vessels, a target in one of them, and the path to it.
struct Task {
  CenterlineTree tree;
  std::string branch;
  Vector3d target;
  double length = 0.0;  // of the path, from the base [m]
};

Task draw_task(double difficulty, RandomStream& draws) {
  Task task{draws.coin_flip() ? arch(difficulty, draws) : forks(difficulty, draws), {}, {}};
  CenterlineBranch sheath{"sheath", {}, {}};
  for (const double z : {0.01, kSheath}) {
    sheath.points.emplace_back(0, 0, z);
    sheath.radii.push_back(kSheathRadius);
  }
  task.tree.insert(task.tree.begin(), sheath);
  const CenterlineBranch& goal =
      task.tree[static_cast<std::size_t>(draws.integer(2, static_cast<int>(task.tree.size()) - 1))];
  const double fraction = draws.uniform(0.6, 0.95);
  task.branch = goal.name;
  task.target =
      goal.points[static_cast<std::size_t>(fraction * static_cast<double>(goal.points.size() - 1))];
  const std::vector<Vector3d> path = route(task.tree, task.branch, task.target);
  task.length = path.front().z();
  for (std::size_t i = 1; i < path.size(); ++i) task.length += (path[i] - path[i - 1]).norm();
  return task;
}

/// Vessels that may be built: they meet at their joints alone.
Task draw_valid_task(double difficulty, RandomStream& draws) {
  for (int i = 0; i < kMaxDraws; ++i) {
    Task task = draw_task(difficulty, draws);
    try {
      TubeDescription tube;
      tube.branches = task.tree;
      tube.wall_thickness = kWall;
      static_cast<void>(branch_staves(tube));
      return task;
    } catch (const ModelError&) {
    }
  }
  throw_no_scene_found("vessel");
}

std::string table(const CenterlineTree& tree) {
  std::string text = "branch,x,y,z,radius\n";
  for (const auto& [name, points, radii] : tree)
    for (std::size_t i = 0; i < points.size(); ++i)
      text += fmt::format("{},{:.6f},{:.6f},{:.6f},{:.6f}\n", name, points[i].x(), points[i].y(),
                          points[i].z(), radii[i]);
  return text;
}

std::string controller(const Task& task) {
  return fmt::format(
      "[controller]\nplugin = \"tendril.steer\"\ncenterline = {{ file = \"vessel.csv\" }}\n"
      "branch = \"{}\"\npath_end = {}\nspeed = {:g}\n",
      task.branch, list(task.target), kSpeed);
}

/// A catheter of 2 mm, whose tip four wires bend.
std::string catheter(const Task& task, RandomStream& draws) {
  const double shaft = draws.uniform(0.0003, 0.0008), tip = draws.uniform(0.00005, 0.0001);
  std::string text = fmt::format(
      "# A catheter: a passive shaft, and a tip of 25 mm that four wires bend.\n"
      "kind = \"continuum\"\nname = \"arm\"\n\n"
      "[base]\nfeed = {:.6f}\nfeed_force_limit = 3\n\n"
      "[[section]]\nconstant_length = {:g}\nbend_limit = 6.28\nlinks = 40\nradius = 0.001\n"
      "density = 2000\nbending_stiffness = {:.6g}\ndamping_time = {:g}\nbend_servo = false\n\n"
      "[[section]]\nconstant_length = 0.025\nbend_limit = 2.6\nlinks = 6\nradius = 0.001\n"
      "density = 2000\nbending_stiffness = {:.6g}\ndamping_time = {:g}\n\n",
      task.length - kShaft - 0.025 + 0.03, kShaft, shaft, kDamping, tip, kDamping);
  const char* const names[] = {"right", "up", "left", "down"};
  for (int i = 0; i < 4; ++i)
    text += fmt::format(
        "[[tendon]]\nname = \"{}\"\nsection = [2, 2]\nangle = {:.4f}\ndistance = 0.0007\n\n",
        names[i], i * pi / 2.0);
  return text + controller(task) + "tip_force_limit = 0.3\n";
}

/// A guidewire of 0.9 mm with a bent tip. It is one for these vessels: from the wall of the first
/// one its tip reaches past the middle.
std::string guidewire(const Task& task, RandomStream& draws) {
  const double shaft = draws.uniform(0.0002, 0.0005), tip = draws.uniform(0.00002, 0.00005);
  const double reach = draws.uniform(1.1, 1.5) * task.tree[1].radii.front();
  const double bend = draws.uniform(0.9, 1.4);
  const double length = reach * bend / (1.0 - std::cos(bend));
  return fmt::format(
             "# A guidewire with a bent tip: no drives but feed and turn at its base.\n"
             "kind = \"continuum\"\nname = \"arm\"\n\n"
             "[base]\nfeed = {:.6f}\nfeed_force_limit = 3\nspin = true\n\n"
             "[[section]]\nconstant_length = {:g}\nbend_limit = 6.28\nlinks = 40\n"
             "radius = 0.00045\ndensity = 6450\nbending_stiffness = {:.6g}\ndamping_time = {:g}\n"
             "torsional_stiffness = {:.6g}\nbend_servo = false\n\n"
             "[[section]]\nconstant_length = {:.6f}\nbend_limit = 2.6\nlinks = 6\n"
             "radius = 0.00045\ndensity = 6450\nbending_stiffness = {:.6g}\ndamping_time = {:g}\n"
             "torsional_stiffness = {:.6g}\nnatural_bend = {:.6f}\nbend_servo = false\n\n",
             task.length - kShaft - length + 0.03, kShaft, shaft, kDamping, shaft, length, tip,
             kDamping, tip, bend) +
         controller(task) + "tip_force_limit = 0.3\n";
}

}  // namespace

std::vector<GeneratedFile> vessel(RandomStream& draws, double difficulty) {
  const bool is_wire = draws.coin_flip();
  const Task task = draw_valid_task(difficulty, draws);
  const std::string arm = is_wire ? guidewire(task, draws) : catheter(task, draws);
  const std::string world = fmt::format(
      "    <frame {}>\n      <attach model=\"arm\" body=\"base\" prefix=\"arm_\"/>\n"
      "      <attach model=\"tree\" body=\"tube\" prefix=\"tree_\"/>\n"
      "      <site name=\"target\" pos=\"{}\" size=\"0.001\" rgba=\"0.9 0.2 0.2 1\"/>\n"
      "    </frame>\n",
      kHorizontalMount, text(task.target));
  constexpr const char* kSensor =
      "  <sensor>\n    <framepos name=\"to_target\" objtype=\"site\" objname=\"arm_tip\" "
      "reftype=\"site\" refname=\"target\"/>\n  </sensor>\n";
  std::string scene = scene_xml("vessel", model_asset("arm") + model_asset("tree"), world);
  scene.insert(scene.rfind("</mujoco>"), kSensor);
  return {{"vessel.toml",
           fmt::format("# A {} is steered to a target in {}.\n", is_wire ? "guidewire" : "catheter",
                       task.branch) +
               experiment(std::ceil(5.0 * (task.length - kShaft) / kSpeed), "") +
               check("target reached within 5 mm", "sensor:to_target:end", "max = 0.005") +
               check("force on the tip, mean", "tip_force_mean", "max = 0.15") +
               check("force on the tip", "tip_force_max", "max = 1.5")},
          {"scene.xml", scene},
          {"arm.toml", arm},
          {"vessel.csv", table(task.tree)},
          {"tree.toml",
           fmt::format("kind = \"tube\"\nname = \"tree\"\ncenterline = {{ file = \"vessel.csv\" "
                       "}}\nwall_thickness = {:g}\nfriction = {:g}\n",
                       kWall, 0.05)}};
}

}  // namespace tendril::simulation::generate
