#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "simulation/families/ground_search.hpp"
#include "simulation/families/scene_text.hpp"
#include "simulation/files/python_module.hpp"
#include "tendril/mobile/kinematics.hpp"
#include "tendril/model/toml_fields.hpp"
#include "tendril/model_error.hpp"

namespace tendril::simulation::generate {
namespace {

using Eigen::Isometry3d;
using Eigen::Vector2d;

struct Post {
  Vector2d at;
  double radius;
};

/// Distance from the nearest post.
double room(const std::vector<Post>& posts, const Vector2d& p) {
  double least = std::numeric_limits<double>::infinity();
  for (const Post& post : posts) least = std::min(least, (post.at - p).norm() - post.radius);
  return least;
}

}  // namespace

std::vector<GeneratedFile> mobile_clutter(RandomStream& draws, double difficulty) {
  const std::filesystem::path model = find_data_file("models/youbot.toml");
  if (model.empty()) throw ModelError("models/youbot.toml is not found: install tendril again");
  const std::string robot_text =
      read_text_file(model) +
      "\n[controller]\nplugin = \"tendril.mobile\"\ntarget = \"target\"\n"
      "avoidance = true\n";
  const MobileRobot robot(youbot());
  // The platform at the goal: the tool in front of it, low or high, nothing near its arm.
  const double bearing = draws.angle(), distance = draws.uniform(1.0, 2.4);
  const PlatformPose base{distance * std::cos(bearing), distance * std::sin(bearing),
                          draws.angle()};
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
    if (tries > kMaxDraws) throw_no_scene_found("mobile_clutter");
    const Post post{{draws.uniform(-2.6, 2.6), draws.uniform(-2.6, 2.6)},
                    draws.uniform(0.04, 0.12)};
    const double t =
        std::clamp((post.at - goal).dot(tip - goal) / (tip - goal).squaredNorm(), 0.0, 1.0);
    const bool free = post.at.norm() > post.radius + kDisc + 0.25 &&
                      (post.at - goal).norm() > post.radius + kDisc &&
                      (post.at - goal - t * (tip - goal)).norm() > post.radius + arm_room;
    if (!free) continue;
    posts.push_back(post);
    const auto of_posts = [&](const Vector2d& p) { return room(posts, p); };
    if (!has_path(of_posts, goal, kDisc, 3.5)) posts.pop_back();
  }
  std::string world =
      "    <geom name=\"floor\" type=\"plane\" size=\"0 0 1\"/>\n"
      "    <attach model=\"youbot\" body=\"base\" prefix=\"Y_\"/>\n";
  for (std::size_t i = 0; i < posts.size(); ++i) {
    world += fmt::format(
        "    <geom name=\"post_{}\" type=\"cylinder\" pos=\"{:.6f} {:.6f} 0.4\" size=\"{:.6f} "
        "0.4\" "
        "rgba=\"0.45 0.50 0.60 1\"/>\n",
        i + 1, posts[i].at.x(), posts[i].at.y(), posts[i].radius);
  }
  const Eigen::Quaterniond q(tool.linear());
  world += fmt::format(
      "    <body name=\"target\" mocap=\"true\" pos=\"{}\" quat=\"{:.9f} {:.9f} {:.9f} {:.9f}\">\n"
      "      <geom size=\"0.012\" rgba=\"0.95 0.35 0.15 0.8\" contype=\"0\" conaffinity=\"0\"/>\n"
      "      <geom type=\"capsule\" fromto=\"0 0 0 -0.1 0 0\" size=\"0.005\" rgba=\"0.85 0.15 0.15 "
      "0.8\" "
      "contype=\"0\" conaffinity=\"0\"/>\n    </body>\n",
      text(tool.translation()), q.w(), q.x(), q.y(), q.z());
  return {{"mobile_clutter.toml",
           fmt::format("# The youBot reaches a tool pose {:.1f} m away among {} posts. A way "
                       "exists: a disc of {:.2f} m gets to a\n"
                       "# place from which the pose is reached.\n",
                       tip.norm(), count, kDisc) +
               experiment(25.0, "keyframe = \"Y_start\"") +
               check("target reached", "sensor:Y_targets_reached:end", "min = 1") +
               check("position error at the end", "tip_error_end", "max = 0.003") +
               check("nothing is touched", "contact_count_max", "max = 0") +
               check("no contact with itself", "self_contact_count_max", "max = 0")},
          {"scene.xml", scene_xml("mobile_clutter", model_asset("youbot"), world)},
          {"youbot.toml", robot_text}};
}

}  // namespace tendril::simulation::generate
