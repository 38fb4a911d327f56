#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <optional>

#include "simulation/families/scene_text.hpp"
#include "tendril/geometry/body_clearance.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model/robot_description.hpp"

namespace tendril::simulation::generate {
namespace {

using Eigen::Isometry3d;
using Eigen::Vector2d;
using Eigen::Vector3d;

constexpr double kForward = 0.2, kHeight = 0.42;  // of the arm's mount on the platform [m]
constexpr double kReach = 0.6, kRadius = 0.012;   // of the arm [m]
constexpr double kWall = 0.01;                    // half thickness [m]
constexpr double kDisc = 0.45;                    // around the platform [m]

struct Box {
  Vector3d center, half;
};

/// The base's frame of the arm where the platform is at the origin.
Isometry3d mount() {
  Isometry3d X = Isometry3d::Identity();
  X.linear() = Eigen::AngleAxisd(0.5 * 3.141592653589793, Vector3d::UnitY()).toRotationMatrix();
  X.translation() << kForward, 0.0, kHeight;
  return X;
}

std::string arm_text() {
  return "# Three sections of 200 mm whose tip follows the target and whose body avoids the "
         "shelf.\n"
         "kind = \"continuum\"\nname = \"arm\"\n\n" +
         repeated(
             "[[section]]\nconstant_length = 0.2\nbend_limit = 1.745\nlinks = 10\nradius = "
             "0.012\nmass = 0.08\n"
             "bending_stiffness = 0.2\nbend_gain = 60\nbend_torque_limit = 8\n\n",
             3) +
         "[controller]\nplugin = \"tendril.reach\"\ntarget = \"target\"\nrate_limit = "
         "1\navoidance = true\n"
         "obstacle_margin = 0.01\nwait_for_base = true\n";
}

constexpr const char* kPlatformText =
    "# A continuum arm on a platform, pointing forwards.\nkind = \"mobile\"\nname = "
    "\"mobile_arm\"\n\n"
    "[platform]\nlength = 0.58\nwidth = 0.38\nheight = 0.14\nspeed_limit = "
    "0.5\nacceleration_limit = 0.5\n\n"
    "[arm]\nfile = \"arm.toml\"\nmount = [0.2, 0, 0.42]\nangles = [0, 1.5707963267948966, 0]\n\n"
    "[controller]\nplugin = \"tendril.base_placement\"\ntarget = \"target\"\navoidance = true\n"
    "obstacle_margin = 0.012\n";

/// A shelf where the platform is at the origin, the arm straight in its opening.
struct Shelf {
  std::vector<Box> boxes;
  double front;  // x of its front [m]
};

/// Draws a shelf; nothing if a part of it would be too small. `room`: next to the arm [m].
std::optional<Shelf> draw_shelf(RandomStream& draws, double difficulty, double room) {
  const double inside = draws.uniform(0.25, 0.42);  // of the straight arm, past the front
  const double front = kForward + kReach - inside;
  if (front < 0.29 + 0.06) return std::nullopt;  // of the platform
  const double depth = inside + draws.uniform(0.06, 0.15);
  const double half_width = draws.uniform(0.20, 0.32), below = draws.uniform(0.12, 0.22),
               above = draws.uniform(0.10, 0.20);
  const double hole = draws.uniform(0.10, 0.14) - 0.05 * difficulty;  // half of the opening
  const double aside = draws.uniform(-1.0, 1.0) * std::min(0.5 * hole, hole - kRadius - room);
  const double x = front + kWall, middle = front + 2.0 * kWall + 0.5 * depth;
  const double low = kHeight - below, high = kHeight + above;
  std::vector<Box> boxes;
  const auto add = [&](const Vector3d& from, const Vector3d& to) {
    boxes.push_back({0.5 * (from + to), 0.5 * (to - from)});
  };
  // The front with its opening, down to the floor; bottom, top, back and sides.
  add({front, -half_width, 0.0}, {front + 2.0 * kWall, half_width, kHeight - hole});
  add({front, -half_width, kHeight + hole}, {front + 2.0 * kWall, half_width, high});
  add({front, -half_width, kHeight - hole}, {front + 2.0 * kWall, aside - hole, kHeight + hole});
  add({front, aside + hole, kHeight - hole}, {front + 2.0 * kWall, half_width, kHeight + hole});
  const double back = x + kWall + depth;
  add({x + kWall, -half_width, low - 2.0 * kWall}, {back, half_width, low});
  add({x + kWall, -half_width, high - 2.0 * kWall}, {back, half_width, high});
  add({back, -half_width, 0.0}, {back + 2.0 * kWall, half_width, high});
  for (const double side : {-1.0, 1.0}) {
    boxes.push_back({{middle, side * (half_width + kWall), 0.5 * (low + high)},
                     {0.5 * depth, kWall, 0.5 * (high - low)}});
  }
  if (std::any_of(boxes.begin(), boxes.end(),
                  [](const Box& box) { return box.half.minCoeff() < 0.004; }))
    return std::nullopt;
  return Shelf{std::move(boxes), front};
}

/// Draws the bends of the arm at its target.
void draw_goal(RandomStream& draws, std::vector<SectionState>& goal) {
  for (SectionState& state : goal) {
    state.theta = draws.uniform(0.05, 0.9);
    state.phi = draws.angle();
  }
  goal.front().theta *= 0.3;  // it is in the opening
}

/// Tells whether the arm gets to its goal when all sections bend evenly, this far from the shelf.
bool can_bend(BodyArcs& body, const std::vector<SectionState>& goal, const Shelf& shelf,
              double room) {
  std::vector<Obstacle> obstacles;
  for (const Box& box : shelf.boxes) {
    Obstacle obstacle{tendril::box(box.half)};
    obstacle.X_BO = mount().inverse() * Eigen::Translation3d(box.center);
    obstacles.push_back(obstacle);
  }
  const Obstacles around(obstacles);
  for (int k = 0; k <= 20; ++k) {
    std::vector<SectionState> states = goal;
    for (SectionState& state : states) state.theta *= k / 20.0;
    if (!(body_clearance(body, states, {}, around, kRadius).distance >= room)) return false;
  }
  return true;
}

/// Draws shelf and goal until the target is in the shelf and there is a path to it.
Shelf draw_task(RandomStream& draws, double difficulty, double room, const ContinuumRobot& robot,
                std::vector<SectionState>& goal) {
  BodyArcs body(robot);
  for (int tries = 0;; ++tries) {
    if (tries > kMaxDraws) throw_no_scene_found("shelf");
    std::optional<Shelf> drawn = draw_shelf(draws, difficulty, room);
    if (!drawn) continue;
    draw_goal(draws, goal);
    // Not a target that is reached from outside.
    if (can_bend(body, goal, *drawn, room) &&
        (mount() * tip_pose(robot, goal)).translation().x() > drawn->front + 0.1)
      return std::move(*drawn);
  }
}

/// The platform's pose at the goal, and with it the shelf's, in the world.
struct Place {
  Vector2d foot;
  double heading;
  Isometry3d X_WP = Isometry3d::Identity();
};

/// Turns the place about the start until that is free: no wall within the platform's and the
/// straight arm's reach.
Place find_place(const std::vector<Box>& boxes, double bearing, double away, double heading) {
  for (int tries = 0;; ++tries) {
    if (tries > 200) throw_no_scene_found("shelf");
    Place place{away * Vector2d(std::cos(bearing + 0.05 * tries), std::sin(bearing + 0.05 * tries)),
                heading};
    Isometry3d& X_WP = place.X_WP;
    X_WP.linear() = Eigen::AngleAxisd(heading, Vector3d::UnitZ()).toRotationMatrix();
    X_WP.translation() << place.foot, 0.0;
    const bool free = std::all_of(boxes.begin(), boxes.end(), [&](const Box& box) {
      const Vector3d p = X_WP.inverse() * Vector3d(0.0, 0.0, kHeight);
      return ((p - box.center).cwiseAbs() - box.half).cwiseMax(0.0).head<2>().norm() > 1.0;
    });
    if (free) return place;
  }
}

/// Draws low posts, under the arm, off the straight path in and off the start: x, y, radius.
std::vector<Vector3d> draw_posts(RandomStream& draws, int count, const Place& place) {
  std::vector<Vector3d> posts;
  const Vector2d forward(std::cos(place.heading), std::sin(place.heading));
  for (int tries = 0; static_cast<int>(posts.size()) < count; ++tries) {
    if (tries > kMaxDraws) throw_no_scene_found("shelf");
    const Vector3d post(draws.uniform(-2.5, 2.5), draws.uniform(-2.5, 2.5),
                        draws.uniform(0.04, 0.10));
    const Vector2d from_foot = post.head<2>() - place.foot;
    const double along = std::clamp(-from_foot.dot(forward), 0.0, 0.8);
    const bool free = post.head<2>().norm() > post.z() + kDisc + 0.25 &&
                      (from_foot + along * forward).norm() > post.z() + kDisc;
    const bool apart = std::all_of(posts.begin(), posts.end(), [&](const Vector3d& other) {
      return (other - post).head<2>().norm() > other.z() + post.z() + 2.0 * kDisc;
    });
    if (free && apart) posts.push_back(post);
  }
  return posts;
}

std::string world_text(const std::vector<Box>& boxes, const Place& place,
                       const std::vector<Vector3d>& posts, const Vector3d& target) {
  std::string shelf_text;
  for (const Box& box : boxes) {
    shelf_text +=
        fmt::format("      <geom type=\"box\" pos=\"{}\" size=\"{}\" rgba=\"0.60 0.66 0.58 1\"/>\n",
                    text(box.center), text(box.half));
  }
  std::string world = fmt::format(
      "    <geom name=\"floor\" type=\"plane\" size=\"0 0 1\"/>\n"
      "    <attach model=\"robot\" body=\"base\" prefix=\"M_\"/>\n"
      "    <body name=\"shelf\" pos=\"{:.6f} {:.6f} 0\" quat=\"{:.9f} 0 0 {:.9f}\">\n{}    "
      "</body>\n",
      place.foot.x(), place.foot.y(), std::cos(0.5 * place.heading), std::sin(0.5 * place.heading),
      shelf_text);
  for (std::size_t i = 0; i < posts.size(); ++i) {
    world += fmt::format(
        "    <geom name=\"post_{}\" type=\"cylinder\" pos=\"{:.6f} {:.6f} 0.1\" size=\"{:.6f} "
        "0.1\" "
        "rgba=\"0.45 0.50 0.60 1\"/>\n",
        i + 1, posts[i].x(), posts[i].y(), posts[i].z());
  }
  return world + fmt::format(
                     "    <body name=\"target\" mocap=\"true\" pos=\"{}\">\n"
                     "      <geom size=\"0.015\" rgba=\"0.95 0.35 0.15 0.5\" contype=\"0\" "
                     "conaffinity=\"0\"/>\n  "
                     "  </body>\n",
                     text(target));
}

}  // namespace

/// Everything is drawn where the platform is at the origin with the arm straight in the
/// opening, then placed in the world. The path: in from 0.8 m before it, then all sections bend
/// evenly.
std::vector<GeneratedFile> shelf(RandomStream& draws, double difficulty) {
  const std::string arm = arm_text();
  const RobotDescription description = parse_robot(arm, "arm.toml", {});
  const ContinuumRobot robot = std::get<ContinuumDescription>(description).kinematics();
  const double room = 0.030 - 0.012 * difficulty;  // next to the arm
  std::vector<SectionState> goal(robot.straight().begin(), robot.straight().end());
  const std::vector<Box> boxes = draw_task(draws, difficulty, room, robot, goal).boxes;

  // Where the platform is at the end: the shelf in the world.
  const double bearing = draws.angle(), away = draws.uniform(1.2, 2.2);
  const double heading = draws.angle();
  const int count = draws.integer(0, static_cast<int>(std::lround(8.0 * difficulty)));
  const Place place = find_place(boxes, bearing, away, heading);
  const std::vector<Vector3d> posts = draw_posts(draws, count, place);
  const Vector3d target = place.X_WP * (mount() * tip_pose(robot, goal)).translation();
  const std::string world = world_text(boxes, place, posts, target);
  return {{"shelf.toml", fmt::format("# A continuum arm on a platform reaches a target in a shelf "
                                     "{:.1f} m away, past {} posts. A way exists: the\n"
                                     "# platform drives 0.8 m straight in with the arm straight, "
                                     "then all sections bend evenly, {:.0f} mm from the\n"
                                     "# shelf or farther.\n",
                                     target.head<2>().norm(), count, 1000.0 * room) +
                             experiment(30.0, "") +
                             check("tip error at the end", "tip_error_end", "max = 0.002") +
                             check("target reached", "sensor:M_targets_reached:end", "min = 1") +
                             check("nothing is touched", "contact_count_max", "max = 0")},
          {"scene.xml", scene_xml("shelf", model_asset("robot"), world)},
          {"robot.toml", kPlatformText},
          {"arm.toml", arm}};
}

}  // namespace tendril::simulation::generate
