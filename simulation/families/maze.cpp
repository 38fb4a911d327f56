#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>

#include "simulation/families/ground_search.hpp"
#include "simulation/families/scene_text.hpp"

namespace tendril::simulation::generate {
namespace {

using Eigen::Vector2d;

/// A post (a cylinder) or a wall (a box of that half length about `at`).
struct Piece {
  Vector2d at;
  double radius = 0.0;       ///< of a post; half the thickness of a wall
  double half_length = 0.0;  ///< of a wall; 0: a post
  double yaw = 0.0;

  [[nodiscard]] double room(const Vector2d& p) const {
    const Vector2d local = Eigen::Rotation2Dd(-yaw) * (p - at);
    if (half_length == 0.0) return local.norm() - radius;
    const Vector2d out = (local.cwiseAbs() - Vector2d(half_length, radius)).cwiseMax(0.0);
    return out.norm();
  }
};

double room(const std::vector<Piece>& pieces, const Vector2d& p) {
  double least = std::numeric_limits<double>::infinity();
  for (const Piece& piece : pieces) least = std::min(least, piece.room(p));
  return least;
}

/// Locomotion of the snake: sideways, with room for its length, or head first on scales.
struct Mover {
  const char* gait;
  double speed;     ///< at least, on the way [m/s]
  double need;      ///< half the width that it takes [m]
  double distance;  ///< of the goal, at least [m]
  const char* more;
};
constexpr Mover kSidewinder{"sidewinding", 0.15, 0.56, 2.5,
                            "yaw = [0.6, 1.25, 0]\npitch = [0.25, 1.25, 1.5708]\n"};
constexpr Mover kScaled{"serpenoid", 0.2, 0.26, 1.8, "yaw = [0.6, -1.25, 0]\n"};

/// The task of a maze: who goes where.
struct Task {
  bool scaled;
  double distance, bearing;  ///< of the goal [m], [rad]
  Vector2d goal;
  double disc;  ///< radius of a disc that gets to the goal [m]

  [[nodiscard]] const Mover& mover() const { return scaled ? kScaled : kSidewinder; }
};

/// Draws the posts and walls; a path to the goal remains, and room to turn at the start.
std::vector<Piece> draw_pieces(RandomStream& draws, const Task& task, int count) {
  const double half = task.distance + 1.0;
  const double start_room = task.disc + (task.scaled ? 0.35 : 0.1);
  std::vector<Piece> pieces;
  // The first is in between.
  pieces.push_back({task.goal * draws.uniform(0.45, 0.55), 0.03,
                    task.mover().distance * draws.uniform(0.15, 0.35),
                    task.bearing + 1.5708 + draws.uniform(-0.4, 0.4)});
  for (int tries = 0; static_cast<int>(pieces.size()) < count; ++tries) {
    if (tries > kMaxDraws / 10) throw_no_scene_found("maze");
    const Vector2d at(draws.uniform(-half, half), draws.uniform(-half, half));
    const bool post = draws.coin_flip();
    pieces.push_back(
        post ? Piece{at, draws.uniform(0.04, 0.15)}
             : Piece{at, 0.03, task.mover().distance * draws.uniform(0.1, 0.3), draws.angle()});
    const auto of_pieces = [&](const Vector2d& p) { return room(pieces, p); };
    if (pieces.back().room(Vector2d::Zero()) < start_room ||
        pieces.back().room(task.goal) < task.disc ||
        !has_path(of_pieces, task.goal, task.disc, half + 0.5)) {
      pieces.pop_back();
    }
  }
  return pieces;
}

std::string robot_text(const Task& task, double friction, double along, double heading) {
  std::string snake = snake_text(fmt::format("gain = 20\nfriction = {:.6f}\n", friction));
  if (task.scaled)
    snake += fmt::format("\n[scales]\nfloor = \"floor\"\nalong = {:.6f}\nacross = {:.6f}\n", along,
                         friction);
  return snake + fmt::format(
                     "\n[start]\n{}position = [0, 0, 0.001]\nheading = {:.6f}\n\n[controller]\n"
                     "plugin = \"tendril.snake\"\ngait = \"{}\"\ntarget = \"goal\"\navoidance = "
                     "true\n",
                     task.mover().more, heading, task.mover().gait);
}

std::string piece_text(const Piece& piece, std::size_t number) {
  const std::string place =
      piece.half_length == 0.0
          ? fmt::format("name=\"post_{}\" type=\"cylinder\" size=\"{:.6f} 0.15\"", number,
                        piece.radius)
          : fmt::format(
                "name=\"wall_{}\" type=\"box\" euler=\"0 0 {:.6f}\" size=\"{:.6f} {:.6f} 0.15\"",
                number, piece.yaw * 180.0 / 3.14159265358979, piece.half_length, piece.radius);
  return fmt::format("      <geom {} pos=\"{:.6f} {:.6f} 0.15\" rgba=\"0.45 0.50 0.60 1\"/>\n",
                     place, piece.at.x(), piece.at.y());
}

std::string maze_xml(const Task& task, const std::vector<Piece>& pieces, double friction) {
  std::string world = fmt::format(
      "    <geom name=\"floor\" type=\"plane\" size=\"0 0 1\" friction=\"{:.6f}\"/>\n"
      "    <site name=\"goal\" pos=\"{:.6f} {:.6f} 0\" size=\"0.05\" rgba=\"0.95 0.35 0.15 "
      "0.6\"/>\n"
      "    <body name=\"maze\">\n",
      friction, task.goal.x(), task.goal.y());
  for (std::size_t i = 0; i < pieces.size(); ++i) world += piece_text(pieces[i], i + 1);
  world += "    </body>\n    <attach model=\"snake\" body=\"base\" prefix=\"S_\"/>\n";
  const std::string sensors = fmt::format(
      "  <sensor>\n"
      "    <framepos name=\"goal_distance\" objtype=\"{}\" objname=\"{}\" reftype=\"site\" "
      "refname=\"goal\"/>\n"
      "    <contact name=\"maze_force\" subtree1=\"maze\" data=\"force\" reduce=\"netforce\"/>\n"
      "  </sensor>\n",
      task.scaled ? "site" : "xbody", task.scaled ? "S_tip" : "S_link_8");
  std::string xml = scene_xml("maze", model_asset("snake"), world);
  xml.insert(xml.rfind("</mujoco>"), sensors);
  return xml;
}

}  // namespace

std::vector<GeneratedFile> maze(RandomStream& draws, double difficulty) {
  Task task{};
  task.scaled = draws.coin_flip();
  const Mover& mover = task.mover();
  const double friction = draws.uniform(0.7 - 0.6 * difficulty, 0.8);
  const double along = draws.uniform(0.6, 1.0) * friction / 7.0;
  task.disc = mover.need + 0.08 - 0.06 * difficulty;
  task.distance = mover.distance * draws.uniform(1.0, 1.6);
  task.bearing = draws.angle();
  task.goal = {task.distance * std::cos(task.bearing), task.distance * std::sin(task.bearing)};
  const double heading = draws.angle();
  const int count = draws.integer(4, 4 + static_cast<int>(std::lround(16.0 * difficulty)));
  const std::vector<Piece> pieces = draw_pieces(draws, task, count);
  return {{"maze.toml",
           fmt::format("# A free snake goes {:.1f} m to a goal among {} posts and walls, by {}. A "
                       "way exists: a disc of\n"
                       "# {:.2f} m gets there.\n",
                       task.distance, count, mover.gait, task.disc) +
               experiment(std::ceil(2.5 * task.distance / mover.speed), "keyframe = \"S_start\"") +
               check("finished", "status_end", "min = 1\nmax = 1") +
               check("at the goal", "sensor:goal_distance:end", "max = 0.3") +
               check("nothing is touched", "sensor:maze_force:max", "max = 0")},
          {"scene.xml", maze_xml(task, pieces, friction)},
          {"snake.toml", "# Free on the ground.\n" + robot_text(task, friction, along, heading)}};
}

}  // namespace tendril::simulation::generate
