#include "apps/host/generate/families.hpp"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <numbers>
#include <queue>
#include <utility>

#include "apps/host/experiment/run.hpp"
#include "apps/host/python_script.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/rotation.hpp"
#include "tendril/mobile/mobile_kinematics.hpp"
#include "tendril/model_error.hpp"
#include "tendril/path/winding_path.hpp"
#include "tendril/random_draws.hpp"
#include "tendril/robot_file/robot_description.hpp"
#include "tendril/robot_file/toml_fields.hpp"

namespace tendril::host {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector2d;
using Eigen::Vector3d;
using std::numbers::pi;

constexpr int kMostDraws = 20'000;

class Draws {
 public:
  Draws(const std::string& family, std::uint64_t seed) : draws_(seed, "generate." + family) {}
  double uniform(double low, double high) { return low + (high - low) * draws_.uniform(count_++); }
  double angle() { return uniform(-pi, pi); }
  /// In [low, high].
  int integer(int low, int high) {
    return low + static_cast<int>(std::floor(uniform(0.0, high - low + 1.0)));
  }
  bool heads() { return uniform(0.0, 1.0) < 0.5; }

 private:
  RandomDraws draws_;
  std::uint64_t count_ = 0;
};

std::string text(const Vector3d& p) { return fmt::format("{:.6f} {:.6f} {:.6f}", p.x(), p.y(), p.z()); }
std::string list(const Vector3d& p) {
  return fmt::format("[{:.6f}, {:.6f}, {:.6f}]", p.x(), p.y(), p.z());
}

/// The pose of arms that lie along the world's x axis: z of the base along x, x of the base down.
constexpr const char* kLyingFrame = "euler=\"0 90 0\"";
Vector3d lying(const Vector3d& p) { return {p.z(), p.y(), -p.x()}; }

std::string scene_xml(const std::string& name, const std::string& assets, const std::string& world) {
  return fmt::format(
      "<mujoco model=\"{}\">\n"
      "  <option timestep=\"0.002\" integrator=\"discrete\" cone=\"elliptic\" iterations=\"100\"/>\n"
      "  <default>\n"
      "    <geom solref=\"0.004 1\" solimp=\"0.95 0.99 0.0005\"/>\n"
      "  </default>\n"
      "  <asset>\n{}  </asset>\n"
      "  <worldbody>\n{}  </worldbody>\n</mujoco>\n",
      name, assets, world);
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

[[noreturn]] void give_up(const std::string& family) {
  throw ModelError(fmt::format(
      "{}: no such scene found in {} draws: take another seed or a lower difficulty", family,
      kMostDraws));
}

// ---- an arm among balls --------------------------------------------------------------------------

/// The backbone of an arm whose bend angles have grown from 0 to a part of those at its goal.
std::vector<Vector3d> backbone(const ContinuumRobot& robot, std::vector<SectionState> states,
                               double part) {
  constexpr int kPerSection = 12;
  for (SectionState& state : states) state.theta *= part;
  std::vector<Vector3d> points;
  for (int i = 0; i < robot.section_count(); ++i) {
    for (int k = 1; k <= kPerSection; ++k) {
      const Isometry3d pose = backbone_pose(robot, states, {}, i, static_cast<double>(k) / kPerSection);
      points.push_back(lying(pose.translation()));
    }
  }
  return points;
}

std::vector<GeneratedFile> clutter(Draws& draws, double difficulty) {
  constexpr double kBodyRadius = 0.008;
  const std::string arm =
      "# Four sections of 100 mm whose tip reaches a target among balls.\nkind = \"continuum\"\n"
      "name = \"arm\"\n\n" +
      repeated(section_text(8, ""), 4) +
      "[controller]\nplugin = \"tendril.reach\"\ntarget = \"target\"\nrate_limit = 1.5\n"
      "avoidance = true\nobstacle_margin = 0.006\n";
  const RobotDescription description = parse_robot(arm, "arm.toml", {});
  const ContinuumRobot robot = std::get<ContinuumDescription>(description).kinematics();
  std::vector<SectionState> goal(robot.straight().begin(), robot.straight().end());
  for (SectionState& state : goal) {
    state.theta = draws.uniform(0.1, 1.2);
    state.phi = draws.angle();
  }
  std::vector<Vector3d> swept;
  for (int k = 0; k <= 20; ++k) {
    const std::vector<Vector3d> points = backbone(robot, goal, k / 20.0);
    swept.insert(swept.end(), points.begin(), points.end());
  }
  const double room = 0.022 - 0.016 * difficulty;  // beside the swept body
  const int count = draws.integer(4, 4 + static_cast<int>(std::lround(16.0 * difficulty)));
  std::string balls;
  for (int ball = 1, tries = 0; ball <= count; ++tries) {
    if (tries > kMostDraws) give_up("clutter");
    const double radius = draws.uniform(0.015, 0.035);
    const Vector3d centre(draws.uniform(0.03, 0.42), draws.uniform(-0.25, 0.25),
                          draws.uniform(-0.25, 0.25));
    const bool free = std::all_of(swept.begin(), swept.end(), [&](const Vector3d& p) {
      return (p - centre).norm() >= radius + kBodyRadius + room;
    });
    if (!free || centre.norm() < radius + 0.05) continue;
    balls += fmt::format("    <geom name=\"ball_{}\" pos=\"{}\" size=\"{:.6f}\" rgba=\"0.35 0.45 0.55 1\"/>\n",
                         ball, text(centre), radius);
    ++ball;
  }
  const Vector3d target = lying(tip_pose(robot, goal).translation());
  const std::string world = fmt::format(
      "    <frame {}>\n      <attach model=\"arm\" body=\"base\" prefix=\"arm_\"/>\n    </frame>\n{}"
      "    <body name=\"target\" mocap=\"true\" pos=\"{}\">\n"
      "      <geom size=\"0.009\" rgba=\"0.95 0.35 0.15 0.4\" contype=\"0\" conaffinity=\"0\"/>\n"
      "    </body>\n",
      kLyingFrame, balls, text(target));
  return {{"clutter.toml",
           fmt::format("# An arm among {} balls: its tip has to reach a target and touch nothing. A way exists: all\n"
                       "# sections bend evenly towards one pose, {:.1f} mm from the nearest ball or farther.\n",
                       count, 1000.0 * room) +
               experiment(8.0, "") + check("tip error at the end", "tip_error_end", "max = 0.0005") +
               check("nothing is touched", "wall_force_max", "max = 0")},
          {"scene.xml", scene_xml("clutter", model_asset("arm"), world)},
          {"arm.toml", arm}};
}

// ---- an arm through a bent tube ------------------------------------------------------------------

std::vector<GeneratedFile> tube(Draws& draws, double difficulty) {
  const int sections = draws.integer(7, 9);
  const double length = 0.1 * sections;
  const double play = 0.010 - 0.008 * difficulty;
  const double radius = draws.uniform(0.115, 0.160);
  const double before = draws.uniform(0.05, 0.10), after = draws.uniform(0.03, 0.06);
  const double mouth = length + 0.02;
  // Legs between the corners of the polyline: each bend takes a radius of both legs beside it.
  const double between = std::max(length - 0.03 - before - after - pi * radius, 0.02);
  const bool planar = draws.heads();
  const Vector3d out(-1.0, 0.0, 0.0);
  const Vector3d last = planar ? Vector3d(0.0, 0.0, 1.0)
                               : Vector3d(0.0, draws.heads() ? 1.0 : -1.0, 0.0);
  const Vector3d start(0.0, 0.0, mouth);
  const Vector3d corner_1 = start + (before + radius) * Vector3d::UnitZ();
  const Vector3d corner_2 = corner_1 + (2.0 * radius + between) * out;
  const Vector3d end = corner_2 + (radius + after) * last;
  const double feed = 0.02 + before + after + between + pi * radius - 0.01;
  constexpr double kSpeed = 0.05;

  const std::string centreline =
      fmt::format("[{}, {}, {}, {}]", list(start), list(corner_1), list(corner_2), list(end));
  const Vector3d tip = end - 0.01 * last;
  const std::string arm =
      fmt::format("# {} sections of 100 mm, fed along the path of their tip.\nkind = \"continuum\"\n"
                  "name = \"arm\"\n\n[base]\nfeed = {:.6f}\nfeed_force_limit = 30\n\n",
                  sections, feed + 0.001) +
      repeated(section_text(10, ""), sections) +
      fmt::format("[controller]\nplugin = \"tendril.follow\"\nwaypoints = [[0, 0, 0], {}, {}, {}]\n"
                  "corner_radius = {:.6f}\nfit = \"body\"\nspeed = {:g}\n",
                  list(corner_1), list(corner_2), list(tip), radius, kSpeed);
  const std::string pipe = fmt::format(
      "kind = \"tube\"\nname = \"pipe\"\ncentreline = {}\ncorner_radius = {:.6f}\n"
      "inner_radius = {:.6f}\nfriction = 0.3\n",
      centreline, radius, 0.008 + play);
  const std::string world = fmt::format(
      "    <frame {}>\n      <attach model=\"arm\" body=\"base\" prefix=\"arm_\"/>\n"
      "      <attach model=\"pipe\" body=\"tube\" prefix=\"pipe_\"/>\n    </frame>\n",
      kLyingFrame);
  return {{"tube.toml",
           fmt::format("# An arm of {} sections follows its tip through a tube with two right angles, {}, of {:.0f} mm\n"
                       "# radius, with {:.1f} mm of play. That a way free of contact exists is not said.\n",
                       sections, planar ? "in one plane" : "in two planes", 1000.0 * radius,
                       1000.0 * play) +
               experiment(std::ceil(feed / kSpeed + 4.0), "") +
               check("tip error at the end", "tip_error_end", "max = 0.002") +
               check("end of the path reached", "progress_end", "min = 0.999") +
               check("wall force, sum over all contacts", "wall_force_max", "max = 5")},
          {"scene.xml", scene_xml("tube", model_asset("arm") + model_asset("pipe"), world)},
          {"arm.toml", arm},
          {"pipe.toml", pipe}};
}

// ---- an arm coils around a post -------------------------------------------------------------------

std::vector<GeneratedFile> coil(Draws& draws, double difficulty) {
  constexpr double kBody = 0.008, kGap = 0.009, kDepth = 0.16;
  constexpr double kArm = 0.6, kFeed = 0.6, kExit = 0.1;
  const Vector3d base(-0.6, 0.0, 0.0);
  // In the base's frame, z along the world's x, x down.
  const auto in_base = [](const Vector3d& p) { return Vector3d(-p.z(), p.y(), p.x()); };
  double radius = 0.0, lean = 0.0, winding = 0.0;
  const double side = draws.heads() ? 1.0 : -1.0;
  Vector3d axis, foot;
  for (int tries = 0;; ++tries) {  // until the feed is long enough
    if (tries > kMostDraws) give_up("coil");
    radius = draws.uniform(0.030 - 0.020 * difficulty, 0.030 + 0.030 * difficulty);
    lean = draws.uniform(0.0, 80.0 * difficulty) * pi / 180.0;
    const double away = draws.uniform(0.06, 0.16);  // of the point where the arm passes the post
    const double aside = 0.02 * difficulty * draws.uniform(-1.0, 1.0);
    winding = std::min(5.3, 0.22 / (radius + kBody + 0.003));
    axis = {std::sin(lean), 0.0, std::cos(lean)};
    foot = {away - kDepth * std::tan(lean), side * (radius + kBody + kGap + aside), -kDepth};
    const double length = winding_path({.cylinder_point = in_base(foot - base),
                                        .cylinder_axis = in_base(axis),
                                        .cylinder_radius = radius,
                                        .radius = radius + kBody + kGap,
                                        .angle = winding,
                                        .exit_length = kExit})
                              .length();
    if (length > kArm + 0.05 && length < kArm + kFeed) break;
  }
  const Vector3d top = foot + 0.5 * axis;
  const std::string arm =
      "# Six sections of 100 mm with a servo on every hinge, fed while coiling around a post.\n"
      "kind = \"continuum\"\nname = \"arm\"\ncompliance = \"link\"\n\n[base]\nfeed = 0.6\n\n" +
      repeated("[[section]]\nconstant_length = 0.1\nbend_limit = 3.6\nlinks = 10\nradius = 0.008\n"
               "mass = 0.07\nbending_stiffness = 0.05\nbend_gain = 5\n\n",
               6) +
      fmt::format("[controller]\nplugin = \"tendril.coil\"\npost = \"post\"\nwinding = {:.6f}\n"
                  "exit_length = 0.1\n",
                  winding);
  const std::string world = fmt::format(
      "    <frame pos=\"{}\" {}>\n      <attach model=\"arm\" body=\"base\" prefix=\"arm_\"/>\n    </frame>\n"
      "    <geom name=\"post\" type=\"capsule\" fromto=\"{} {}\" size=\"{:.6f}\" contype=\"2\" conaffinity=\"1\" "
      "priority=\"1\" friction=\"0.3\" rgba=\"0.55 0.42 0.30 1\"/>\n",
      text(base), kLyingFrame, text(foot), text(top), radius);
  return {{"coil.toml",
           fmt::format("# An arm coils by {:.0f} deg around a post of {:.0f} mm radius that leans by {:.0f} deg, and holds it.\n",
                       winding * 180.0 / pi, 1000.0 * radius, lean * 180.0 / pi) +
               experiment(16.0, "") +
               check("wound as commanded, within 5 %", "winding:post:end",
                     fmt::format("{} = {:.6f}", side > 0.0 ? "max" : "min", -0.95 * side * winding)) +
               check("holds the post with 5 N, within 30 %", "wall_force_end",
                     "min = 3.5\nmax = 6.5") +
               check("force on the post", "wall_force_max", "max = 40") +
               check("finished", "status_end", "min = 1\nmax = 1")},
          {"scene.xml", scene_xml("coil", model_asset("arm"), world)},
          {"arm.toml", arm}};
}

// ---- snakes -----------------------------------------------------------------------------------------

std::string snake_text(const std::string& more) {
  return "kind = \"snake\"\nname = \"snake\"\njoints = 16\nlink_length = 0.06\nradius = 0.025\n"
         "link_mass = 0.15\n" +
         more;
}

std::vector<GeneratedFile> pole(Draws& draws, double difficulty) {
  const double radius = draws.uniform(0.031 - 0.018 * difficulty, 0.031 + 0.018 * difficulty);
  const double friction = draws.uniform(0.7 - 0.6 * difficulty, 0.8);
  const double up = draws.uniform(0.4, 0.8), down = draws.uniform(0.4, 0.7) * up;
  const std::string snake = snake_text(fmt::format(
      "gain = 20\ntorque_limit = 3\nfriction = {0:.6f}\n\n[start]\ncoil_radius = {1:.6f}\n"
      "position = [{2:.6f}, {3:.6f}, 0.001]\nheading = {4:.6f}\n\n[controller]\nplugin = \"tendril.snake\"\n"
      "gait = \"helix\"\npole_radius = {5:.6f}\ngrip = 0.2\nramp_time = 2\nheights = [{6:.6f}, {7:.6f}]\n"
      "hold_time = 5\n",
      friction, radius + 0.045, draws.uniform(-0.005, 0.005), draws.uniform(-0.005, 0.005),
      draws.angle(), radius, up, down));
  const std::string world = fmt::format(
      "    <geom name=\"floor\" type=\"plane\" size=\"0 0 1\" friction=\"{0:.6f}\"/>\n"
      "    <geom name=\"pole\" type=\"cylinder\" fromto=\"0 0 0 0 0 2\" size=\"{1:.6f}\" friction=\"{0:.6f}\" "
      "rgba=\"0.60 0.45 0.30 1\"/>\n    <attach model=\"snake\" body=\"base\" prefix=\"S_\"/>\n",
      friction, radius);
  return {{"pole.toml",
           fmt::format("# A snake climbs a pole of {:.0f} mm with friction {:.2f}, {:.2f} m up, and comes down to {:.2f} m.\n",
                       2000.0 * radius, friction, up, down) +
               experiment(45.0, "keyframe = \"S_start\"") +
               check("up", "sensor:S_rise:max", fmt::format("min = {:.6f}", up - 0.001)) +
               check("up and down again", "sensor:S_goals:end", "min = 2") +
               check("height at the end", "sensor:S_rise:end",
                     fmt::format("min = {:.6f}\nmax = {:.6f}", down - 0.02, down + 0.02)) +
               check("slip while holding", "sensor:S_slip:max", "max = 0.02")},
          {"scene.xml", scene_xml("pole", model_asset("snake"), world)},
          {"snake.toml", "# Loosely coiled around a pole at the start.\n" + snake}};
}

std::vector<GeneratedFile> path(Draws& draws, double difficulty) {
  constexpr double kStart = 1.0, kLength = 1.04, kStep = 0.001;
  const double tightest = 0.48 - 0.24 * difficulty;  // radius of the path
  const double bore = 0.060 - 0.016 * difficulty;    // radius of the rings' polygons
  // The curvature turns about the path at a random rate.
  Matrix3d frame;  // tangent and two normals that do not twist
  frame << 1, 0, 0, 0, 1, 0, 0, 0, 1;
  Vector3d at(kStart, 0.0, 0.0);
  double direction = draws.angle(), rate = 0.0, strength = 0.0;
  std::string waypoints, rings;
  for (int k = 0; k <= static_cast<int>(std::lround(kLength / kStep)); ++k) {
    if (k % 250 == 0) {
      rate = draws.uniform(-4.0, 4.0);
      strength = draws.uniform(0.6, 1.0);
    }
    if (k % 40 == 0) waypoints += "    " + list(at).substr(1, list(at).size() - 2) + ",\n";
    if (k % 220 == 110) {
      constexpr int kSides = 12;
      const auto corner = [&](int i) -> Vector3d {
        const double a = 2.0 * pi * i / kSides;
        return at + bore * (std::cos(a) * frame.col(1) + std::sin(a) * frame.col(2));
      };
      for (int i = 0; i < kSides; ++i) {
        rings += fmt::format(
            "    <geom type=\"capsule\" size=\"0.004\" friction=\"0.5\" rgba=\"0.60 0.45 0.30 1\" fromto=\"{} {}\"/>\n",
            text(corner(i)), text(corner(i + 1)));
      }
    }
    const double s = k * kStep;
    const double curvature = strength / tightest * std::min(1.0, s / 0.2);
    const Vector3d bend = curvature * kStep *
                          (std::cos(direction) * frame.col(1) + std::sin(direction) * frame.col(2));
    const Vector3d turned = (frame.col(0) + bend).normalized();
    frame = rotation_between(frame.col(0), turned).toRotationMatrix() * frame;
    at += kStep * turned;
    direction += rate * kStep;
  }
  const std::string snake = snake_text(
      "gain = 500\ntorque_limit = 12\n\n[base]\nkind = \"carriage\"\nfeed = 1.0\n\n[controller]\n"
      "plugin = \"tendril.snake\"\nmode = \"path\"\nspeed = 0.05\nwaypoints = [\n" +
      waypoints + "]\n");
  return {{"path.toml",
           fmt::format("# A snake on a carriage follows a random path, of {:.2f} m radius at least, through rings.\n",
                       tightest) +
               experiment(23.0, "") +
               check("every joint on the path", "sensor:S_path_error:max", "max = 0.006") +
               check("rings untouched", "contact_count_max", "max = 0") +
               check("end of the path reached", "progress_end", "min = 0.999")},
          {"scene.xml", scene_xml("path", model_asset("snake"),
                                  rings + "    <attach model=\"snake\" body=\"base\" prefix=\"S_\"/>\n")},
          {"snake.toml", "# On a carriage, fed along a path.\n" + snake}};
}

// ---- a mobile manipulator among posts -----------------------------------------------------------------

struct Post {
  Vector2d at;
  double radius;
};

/// Whether a disc gets from the origin to a point among posts, on a grid.
bool has_way(const std::vector<Post>& posts, const Vector2d& goal, double disc) {
  constexpr double kCell = 0.05, kHalf = 3.5;
  constexpr int kCells = static_cast<int>(2.0 * kHalf / kCell) + 1;
  const auto cell = [](double x) { return static_cast<int>(std::lround((x + kHalf) / kCell)); };
  const auto number = [](int x, int y) { return static_cast<std::size_t>(y * kCells + x); };
  std::vector<char> closed(number(0, kCells), 0);
  for (int y = 0; y < kCells; ++y) {
    for (int x = 0; x < kCells; ++x) {
      const Vector2d p(x * kCell - kHalf, y * kCell - kHalf);
      closed[number(x, y)] = std::any_of(posts.begin(), posts.end(), [&](const Post& post) {
        return (post.at - p).norm() < post.radius + disc;
      });
    }
  }
  std::queue<std::pair<int, int>> open;
  open.emplace(cell(0.0), cell(0.0));
  closed[number(cell(0.0), cell(0.0))] = 1;
  while (!open.empty()) {
    const auto [x, y] = open.front();
    open.pop();
    if (x == cell(goal.x()) && y == cell(goal.y())) return true;
    for (const auto& [dx, dy] : {std::pair{1, 0}, {-1, 0}, {0, 1}, {0, -1}}) {
      const int u = x + dx, v = y + dy;
      if (u < 0 || v < 0 || u >= kCells || v >= kCells || closed[number(u, v)] != 0) continue;
      closed[number(u, v)] = 1;
      open.emplace(u, v);
    }
  }
  return false;
}

std::vector<GeneratedFile> mobile_clutter(Draws& draws, double difficulty) {
  const std::filesystem::path model = find_script("models/youbot.toml");
  if (model.empty()) throw ModelError("models/youbot.toml is not found: install tendril again");
  const std::string robot_text = read_text_file(model) +
                                 "\n[controller]\nplugin = \"tendril.mobile\"\ntarget = \"target\"\n"
                                 "avoidance = true\n";
  const MobileRobot robot(youbot());
  // The platform at the goal: the tool in front of it, low or high, nothing near its arm.
  const double bearing = draws.angle(), distance = draws.uniform(1.0, 2.4);
  const PlatformPose base{distance * std::cos(bearing), distance * std::sin(bearing), draws.angle()};
  const std::vector<double> joints{draws.uniform(-0.8, 0.8), draws.uniform(0.2, 0.8),
                                   draws.uniform(0.4, 1.0), draws.uniform(0.0, 0.9),
                                   draws.uniform(-1.0, 1.0)};
  const Isometry3d tool = tool_pose(robot, base, joints);
  const Vector2d goal(base.x, base.y), tip = tool.translation().head<2>();
  constexpr double kDisc = 0.45;  // around the platform, with 0.1 m to spare
  const double arm_room = 0.25 - 0.1 * difficulty;
  const int count = draws.integer(3, 3 + static_cast<int>(std::lround(14.0 * difficulty)));
  std::vector<Post> posts;
  for (int tries = 0; static_cast<int>(posts.size()) < count; ++tries) {
    if (tries > kMostDraws) give_up("mobile_clutter");
    const Post post{{draws.uniform(-2.6, 2.6), draws.uniform(-2.6, 2.6)}, draws.uniform(0.04, 0.12)};
    const double t = std::clamp((post.at - goal).dot(tip - goal) / (tip - goal).squaredNorm(), 0.0, 1.0);
    const bool free = post.at.norm() > post.radius + kDisc + 0.25 &&
                      (post.at - goal).norm() > post.radius + kDisc &&
                      (post.at - goal - t * (tip - goal)).norm() > post.radius + arm_room;
    if (!free) continue;
    posts.push_back(post);
    if (!has_way(posts, goal, kDisc)) posts.pop_back();
  }
  std::string world =
      "    <geom name=\"floor\" type=\"plane\" size=\"0 0 1\"/>\n"
      "    <attach model=\"youbot\" body=\"base\" prefix=\"Y_\"/>\n";
  for (std::size_t i = 0; i < posts.size(); ++i) {
    world += fmt::format(
        "    <geom name=\"post_{}\" type=\"cylinder\" pos=\"{:.6f} {:.6f} 0.4\" size=\"{:.6f} 0.4\" "
        "rgba=\"0.45 0.50 0.60 1\"/>\n",
        i + 1, posts[i].at.x(), posts[i].at.y(), posts[i].radius);
  }
  const Eigen::Quaterniond q(tool.linear());
  world += fmt::format(
      "    <body name=\"target\" mocap=\"true\" pos=\"{}\" quat=\"{:.9f} {:.9f} {:.9f} {:.9f}\">\n"
      "      <geom size=\"0.012\" rgba=\"0.95 0.35 0.15 0.8\" contype=\"0\" conaffinity=\"0\"/>\n"
      "      <geom type=\"capsule\" fromto=\"0 0 0 -0.1 0 0\" size=\"0.005\" rgba=\"0.85 0.15 0.15 0.8\" "
      "contype=\"0\" conaffinity=\"0\"/>\n    </body>\n",
      text(tool.translation()), q.w(), q.x(), q.y(), q.z());
  return {{"mobile_clutter.toml",
           fmt::format("# The youBot reaches a tool pose {:.1f} m away among {} posts. A way exists: a disc of {:.2f} m gets to a\n"
                       "# place from which the pose is reached.\n",
                       tip.norm(), count, kDisc) +
               experiment(25.0, "keyframe = \"Y_start\"") +
               check("target reached", "sensor:Y_arrivals:end", "min = 1") +
               check("position error at the end", "tip_error_end", "max = 0.003") +
               check("nothing is touched", "contact_count_max", "max = 0") +
               check("no contact with itself", "self_contact_count_max", "max = 0")},
          {"scene.xml", scene_xml("mobile_clutter", model_asset("youbot"), world)},
          {"youbot.toml", robot_text}};
}

struct Generator {
  Family family;
  std::vector<GeneratedFile> (*make)(Draws&, double);
};

constexpr Generator kGenerators[] = {
    {{"clutter", "an arm reaches a target among balls"}, clutter},
    {{"coil", "an arm coils around a leaning post and holds it"}, coil},
    {{"mobile_clutter", "a mobile manipulator reaches a pose among posts"}, mobile_clutter},
    {{"path", "a snake on a carriage follows a path through rings"}, path},
    {{"pole", "a snake climbs a pole"}, pole},
    {{"tube", "an arm follows its tip through a tube with two bends"}, tube},
};

constexpr auto kFamilies = [] {
  std::array<Family, std::size(kGenerators)> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = kGenerators[i].family;
  return all;
}();

std::string family_names() {
  std::string names;
  for (const Family& family : kFamilies)
    names += (names.empty() ? "" : ", ") + std::string(family.name);
  return names;
}

}  // namespace

std::span<const Family> families() { return kFamilies; }

std::vector<GeneratedFile> generate_scene(const std::string& family, std::uint64_t seed,
                                          double difficulty) {
  if (!(difficulty >= 0.0 && difficulty <= 1.0))
    throw ModelError(fmt::format("--difficulty: {:g}: must be in [0, 1]", difficulty));
  for (const Generator& generator : kGenerators) {
    if (family == generator.family.name) {
      Draws draws(family, seed);
      return generator.make(draws, difficulty);
    }
  }
  throw ModelError(fmt::format("family: {}: must be one of {}", family, family_names()));
}

std::filesystem::path write_scene(const std::string& family, std::uint64_t seed, double difficulty,
                                  const std::filesystem::path& folder) {
  const std::vector<GeneratedFile> files = generate_scene(family, seed, difficulty);
  make_output_folder(folder);
  const std::string origin =
      fmt::format("# tendril generate {} --seed {} --difficulty {:g}\n", family, seed, difficulty);
  for (const auto& [name, text] : files)
    write_text_file(folder / name, &text == &files.front().text ? origin + text : text);
  return folder / files.front().name;
}

Experiment with_scene(Experiment experiment, std::uint64_t seed,
                      const std::filesystem::path& folder) {
  if (experiment.family.empty()) return experiment;
  if (std::none_of(kFamilies.begin(), kFamilies.end(),
                   [&](const Family& family) { return experiment.family == family.name; })) {
    throw ModelError(fmt::format("{}: family = {}: must be one of {}", experiment.file.string(),
                                 experiment.family, family_names()));
  }
  Experiment generated =
      load_experiment(write_scene(experiment.family, seed, experiment.difficulty, folder));
  experiment.scene = std::move(generated.scene);
  experiment.keyframe = std::move(generated.keyframe);
  experiment.keyframe_origin = std::move(generated.keyframe_origin);
  experiment.duration = generated.duration;
  experiment.motions = std::move(generated.motions);
  experiment.checks = std::move(generated.checks);
  experiment.settings.insert(experiment.settings.begin(), generated.settings.begin(),
                             generated.settings.end());
  return experiment;
}

}  // namespace tendril::host
