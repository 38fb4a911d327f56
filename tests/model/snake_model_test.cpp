#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model/snake/description.hpp"
#include "tendril/model_error.hpp"
#include "tendril/snake/gait.hpp"
#include "tests/model/compiled_model.hpp"

using namespace tendril;
using namespace tendril::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

constexpr double kEngineTolerance = 1e-9;  // twelve digits of the text
const std::string kSnake = "kind = \"snake\"\nlink_length = 0.06\n";

std::string refusal(const std::string& toml) {
  try {
    static_cast<void>(parse_as<SnakeDescription>(toml, "s.toml"));
  } catch (const ModelError& error) {
    return error.what();
  }
  return "accepted";
}

Simulation simulation(const std::string& toml, const std::string& world = "") {
  std::string xml = snake_mjcf(parse_as<SnakeDescription>(toml, "s.toml"));
  xml.insert(xml.find("</worldbody>"), world);
  return Simulation(xml);
}

void start(Simulation& simulation) {
  mj_resetDataKeyframe(simulation.model.get(), simulation.data.get(),
                       simulation.id(mjOBJ_KEY, "start"));
  mj_forward(simulation.model.get(), simulation.data.get());
}

Eigen::Vector3d geom_position(const Simulation& s, const std::string& name) {
  return Eigen::Map<const Eigen::Vector3d>(s.data->geom_xpos + 3 * s.id(mjOBJ_GEOM, name));
}

}  // namespace

TEST_CASE("snake file: what is refused, and how it is said", "[mjcf]") {
  struct Case {
    std::string name;
    std::string toml;
    std::string message;  ///< start of it
  };
  const auto c = GENERATE_COPY(values<Case>({
      {"no kind", "link_length = 1\n", "s.toml:1: kind: is missing, must be \"snake\""},
      {"no length", "kind = \"snake\"\n", "s.toml:1: link_length: one of"},
      {"both lengths", kSnake + "link_lengths = [1]\n", "s.toml:3: link_lengths = [ 1 ]: one of"},
      {"negative length", "kind = \"snake\"\nlink_length = -0.06\n",
       "s.toml:2: link_length = -0.06: must be in [0.0001, 1000]"},
      {"one negative length", "kind = \"snake\"\njoints = 2\nlink_lengths = [0.1, -0.1, 0.1]\n",
       "s.toml:3: link_lengths = "},
      {"NaN length", "kind = \"snake\"\nlink_length = nan\n", "s.toml:2: link_length = nan: must"},
      {"odd joints", kSnake + "joints = 15\n",
       "s.toml:3: joints = 15: must be an even integer in [2, 400]"},
      {"no joints", kSnake + "joints = 0\n", "s.toml:3: joints = 0: must be an even"},
      {"500 modules", kSnake + "joints = 1000\n", "s.toml:3: joints = 1000: must be an even"},
      {"half a joint", kSnake + "joints = 4.0\n", "s.toml:3: joints = 4: must be an even"},
      {"lengths of another count", "kind = \"snake\"\njoints = 2\nlink_lengths = [1, 1]\n",
       "s.toml:3: link_lengths = [ 1, 1 ]: must be 3 lengths"},
      {"unknown key", kSnake + "modules = 8\n", "s.toml:3: unknown key 'modules'"},
      {"shape", kSnake + "shape = \"sphere\"\n", "s.toml:3: shape = 'sphere': must be"},
      {"width of a capsule", kSnake + "half_width = 0.1\n", "s.toml:3: half_width = 0.1: needs"},
      {"limit above 90 deg", kSnake + "joint_limit = 1.6\n",
       "s.toml:3: joint_limit = 1.6: must be in (0, pi/2]"},
      {"negative gain", kSnake + "gain = -1\n", "s.toml:3: gain = -1: must be in (0, 1e9]"},
      {"base", kSnake + "[base]\nkind = \"wheels\"\n", "s.toml:4: base: kind = 'wheels': must be"},
      {"feed of a free base", kSnake + "[base]\nfeed = 1\n", "s.toml:4: base: feed = 1: needs"},
      {"base by name", kSnake + "base = \"carriage\"\n",
       "s.toml:3: base = 'carriage': must be \"free\" or \"fixed\""},
      {"feed of a fixed base", kSnake + "[base]\nkind = \"fixed\"\nfeed = 1\n",
       "s.toml:5: base: feed = 1: needs kind = \"carriage\""},
      {"start of a fixed base", kSnake + "base = \"fixed\"\n[start]\nheading = 1\n",
       "s.toml:5: start: heading = 1: needs base.kind = \"free\""},
      {"start feed of a fixed base", kSnake + "base = \"fixed\"\n[start]\nfeed = 1\n",
       "s.toml:5: start: feed = 1: needs base.kind = \"carriage\""},
      {"lengths of a fixed base",
       "kind = \"snake\"\nbase = \"fixed\"\njoints = 2\nlink_lengths = [1, 1, 1]\n",
       "s.toml:4: link_lengths = [ 1, 1, 1 ]: must be 2 lengths, from the base: one for each "
       "joint"},
      {"joint", kSnake + "joint = \"ball\"\n", "s.toml:3: joint = 'ball': must be"},
      {"universal joints without limit", kSnake + "joint = \"universal\"\n",
       "s.toml:1: joint_limit: is missing: joint = \"universal\""},
      {"lengths of universal joints",
       "kind = \"snake\"\njoint = \"universal\"\njoints = 4\nlink_lengths = [1, 1]\n",
       "s.toml:4: link_lengths = [ 1, 1 ]: must be 3 lengths, from the tail: one for each pair of "
       "joints and one more"},
      {"coil of universal joints",
       kSnake + "joint = \"universal\"\njoint_limit = 1\n[start]\ncoil_radius = 0.08\n",
       "s.toml:6: start: coil_radius = 0.08: needs joint = \"hinge\""},
      {"head without payload", kSnake + "[head]\npayload_radius = 0.1\n",
       "s.toml:3: head: payload: is missing"},
      {"payload without mass", kSnake + "[head]\npayload = 0\n",
       "s.toml:4: head: payload = 0: must be in [1e-6, 1e9]"},
      {"carriage without feed", kSnake + "[base]\nkind = \"carriage\"\n",
       "s.toml:3: base: feed: is missing"},
      {"scales without floor", kSnake + "[scales]\nalong = 0.1\n",
       "s.toml:3: scales: floor: is missing"},
      {"scales on boxes", kSnake + "shape = \"box\"\n[scales]\nfloor = \"f\"\n",
       "s.toml:4: scales: needs shape = \"capsule\""},
      {"start angles", kSnake + "[start]\nangles = [1]\n",
       "s.toml:4: start: angles = [ 1 ]: must be 16 angles"},
      {"start outside the limit", kSnake + "[start]\nyaw = [34]\n",
       "s.toml:4: start: yaw = [ 34 ]: 34 rad exceeds the joints' limit of 1.5708 rad: in "
       "degrees?"},
      {"sum above the limit",
       kSnake + "joints = 2\n[start]\nyaw = [1, 0, 1.5708]\nangles = [1, 0]\n",
       "s.toml:6: start: angles = [ 1, 0 ]: with the wave joint 1 is at 2 rad"},
      {"start wave", kSnake + "[start]\nyaw = [1, 2, 3, 4]\n", "s.toml:4: start: yaw = "},
      {"start position", kSnake + "[start]\nposition = [1, 2]\n", "s.toml:4: start: position = "},
      {"coil too wide", kSnake + "[start]\ncoil_radius = 0.5\n",
       "s.toml:4: start: coil_radius = 0.5: must be a radius to which links of 0.06 m can coil"},
      {"coil of two joints", kSnake + "joints = 2\n[start]\ncoil_radius = 0.08\n",
       "s.toml:5: start: coil_radius = 0.08: needs at least 4 joints"},
      {"coil and wave", kSnake + "[start]\ncoil_radius = 0.08\nroll = 1\n",
       "s.toml:5: start: roll = 1: must not be given together"},
      {"controller without plugin", kSnake + "[controller]\ngait = \"helix\"\n",
       "s.toml:3: controller: plugin: is missing"},
  }));
  DYNAMIC_SECTION(c.name) {
    CHECK_THAT(refusal(c.toml), StartsWith(c.message));
    CHECK_THAT(refusal(c.toml), !Contains("\n"));
  }
}

TEST_CASE("snake file: overrides change what they name and nothing unknown", "[mjcf]") {
  const auto changed = [](const std::string& key, const std::string& value) {
    const Override change{key, Value::parse(value), "--set"};
    return parse_as<SnakeDescription>(kSnake, "s.toml", std::span(&change, 1));
  };
  CHECK(changed("gain", "7").gain == 7.0);
  CHECK(changed("start.roll", "0.2").start->roll == 0.2);
  CHECK(changed("scales.floor", "ground").scales->floor == "ground");
  CHECK(changed("joints", "4").joints == 4);
  for (const char* key :
       {"gains", "start.rol", "segments.count", "start", "section.1.links", "controller."}) {
    CAPTURE(key);
    CHECK_THROWS_AS(changed(key, "1"), ModelError);
  }
  CHECK_THROWS_WITH(changed("joints", "3"),
                    StartsWith("--set: s.toml: joints = 3: must be an even"));
  CHECK_THAT(changed("gain", "7").text, Contains("gain = 7"));
}

TEST_CASE("snake model: one module and the longest chain compile", "[mjcf]") {
  const int joints = GENERATE(2, 16, kMaxSnakeJoints);
  const std::string text = kSnake + "joints = " + std::to_string(joints) + "\n";
  const Simulation free = simulation(text);
  CHECK(free.model->nv == joints + 6);
  CHECK(free.model->nu == joints);
  CHECK(free.total_mass() == Approx(0.15 * (joints + 1)));
  const Simulation fed = simulation(text + "[base]\nkind = \"carriage\"\nfeed = 1.0\n");
  CHECK(fed.model->nv == joints + 1);
  CHECK(fed.model->nu == joints + 1);
}

TEST_CASE("snake model: the engine's chain is the library's", "[mjcf]") {
  const std::string lengths = "kind = \"snake\"\njoints = 4\nlink_lengths = ";
  const bool is_free = GENERATE(true, false);
  const SnakeDescription snake = parse_as<SnakeDescription>(
      is_free ? lengths + "[0.05, 0.06, 0.07, 0.08, 0.09]\n"
              : lengths + "[0.06, 0.07, 0.08, 0.09]\n[base]\nkind = \"carriage\"\nfeed = 1\n",
      "s.toml");
  const Simulation s(snake_mjcf(snake));
  const std::vector<double> angles{0.3, -0.5, 0.7, 0.4};
  for (int j = 1; j <= 4; ++j) {
    const int joint = s.id(mjOBJ_JOINT, names::snake_joint(j));
    s.data->qpos[s.model->jnt_qposadr[joint]] = angles[static_cast<std::size_t>(j - 1)];
  }
  mj_forward(s.model.get(), s.data.get());
  const Eigen::Isometry3d X_WT = s.site_pose(names::kTail);
  Eigen::Isometry3d X_WB = X_WT;
  X_WB.translate(Eigen::Vector3d(snake.link_lengths.front(), 0, 0));
  std::vector<Eigen::Isometry3d> frames(5);
  snake_frames(snake.kinematics(), X_WB, angles, frames);
  CHECK(s.site_pose(names::kTip).isApprox(frames[4], kEngineTolerance));
  for (int j = 1; j <= 4; ++j) {
    const Eigen::Vector3d middle = frames[static_cast<std::size_t>(j)] *
                                   Eigen::Vector3d(-0.5 * snake.kinematics().link_length(j), 0, 0);
    CHECK((geom_position(s, names::snake_link(j)) - middle).norm() < kEngineTolerance);
  }
}

TEST_CASE("snake model: universal joints and fixed bases by the formula of the documents",
          "[mjcf]") {
  // R_k = R_{k-1} Rot(z, q_{2k-1}) Rot(-y, q_2k), p_k = p_{k-1} + L_k R_k e_x.
  const std::string base = GENERATE("free", "fixed");
  const bool is_free = base == "free";
  const std::string toml =
      "kind = \"snake\"\njoints = 6\njoint = \"universal\"\njoint_limit = 1.2\n"
      "base = \"" +
      base + "\"\nlink_lengths = " + (is_free ? "[0.05, 0.06, 0.07, 0.08]" : "[0.06, 0.07, 0.08]") +
      "\n[head]\npayload = 0.25\n";
  const SnakeDescription snake = parse_as<SnakeDescription>(toml, "s.toml");
  const Simulation s(snake_mjcf(snake));
  CHECK(s.model->nv == 6 + (is_free ? 6 : 0));
  CHECK(s.model->nu == 6);
  CHECK(s.total_mass() == Approx(0.15 * (is_free ? 4 : 3) + 0.25));
  const std::vector<double> q{0.3, -0.5, 0.7, 0.4, -0.9, 0.2}, L{0.06, 0.07, 0.08};
  for (int j = 1; j <= 6; ++j) {
    const int joint = s.id(mjOBJ_JOINT, names::snake_joint(j));
    s.data->qpos[s.model->jnt_qposadr[joint]] = q[static_cast<std::size_t>(j - 1)];
    CHECK(s.model->jnt_range[2 * joint + 1] == 1.2);
  }
  mj_forward(s.model.get(), s.data.get());
  const Eigen::Isometry3d X_WT = s.site_pose(names::kTail);
  if (!is_free) CHECK(X_WT.isApprox(Eigen::Isometry3d::Identity()));
  Eigen::Matrix3d R = X_WT.linear();
  Eigen::Vector3d p = X_WT * Eigen::Vector3d(is_free ? 0.05 : 0.0, 0.0, 0.0);
  Eigen::Isometry3d X_WB = X_WT;
  X_WB.translation() = p;
  for (std::size_t k = 0; k < 3; ++k) {
    R = R * Eigen::AngleAxisd(q[2 * k], Eigen::Vector3d::UnitZ()) *
        Eigen::AngleAxisd(q[2 * k + 1], -Eigen::Vector3d::UnitY());
    CHECK(
        (geom_position(s, names::snake_link(static_cast<int>(k) + 1)) - (p + 0.5 * L[k] * R.col(0)))
            .norm() < kEngineTolerance);
    p += L[k] * R.col(0);
  }
  CHECK((s.site_pose(names::kTip).translation() - p).norm() < kEngineTolerance);
  CHECK(s.site_pose(names::kTip).linear().isApprox(R, kEngineTolerance));
  CHECK((geom_position(s, names::kPayload) - p).norm() < kEngineTolerance);
  std::vector<Eigen::Isometry3d> frames(7);
  snake_frames(snake.kinematics(), X_WB, q, frames);
  CHECK(s.site_pose(names::kTip).isApprox(frames[6], kEngineTolerance));
}

TEST_CASE("snake model: positive yaw turns the nose left, positive pitch up", "[mjcf]") {
  const Simulation s = simulation(kSnake + "joints = 2\n");
  const int yaw = s.id(mjOBJ_JOINT, "joint_1"), pitch = s.id(mjOBJ_JOINT, "joint_2");
  const Eigen::Vector3d straight = s.site_pose("tip").translation();
  s.data->qpos[s.model->jnt_qposadr[yaw]] = 0.3;
  mj_forward(s.model.get(), s.data.get());
  CHECK(s.site_pose("tip").translation().y() > straight.y() + 0.01);
  s.data->qpos[s.model->jnt_qposadr[yaw]] = 0.0;
  s.data->qpos[s.model->jnt_qposadr[pitch]] = 0.3;
  mj_forward(s.model.get(), s.data.get());
  CHECK(s.site_pose("tip").translation().z() > straight.z() + 0.01);
}

TEST_CASE("snake model: neighbors do not collide, others do when asked to", "[mjcf]") {
  // Bent to a ring, head on tail.
  const std::string ring = kSnake +
                           "joints = 8\n[start]\nangles = [1.5, 0, 1.5, 0, 1.5, 0, 1.5, 0]\n"
                           "position = [0, 0, 1]\n";
  Simulation touching = simulation(ring);
  start(touching);
  CHECK(touching.data->ncon > 0);
  Simulation straight = simulation(kSnake + "[start]\nposition = [0, 0, 1]\n");
  start(straight);
  CHECK(straight.data->ncon == 0);
  Simulation ghost = simulation("self_collision = false\n" + ring);
  start(ghost);
  CHECK(ghost.data->ncon == 0);
}

TEST_CASE("snake model: links shorter than the body is thick collide with none that they overlap",
          "[mjcf]") {
  // Round ends reach into the next but one from a length of twice the radius on, and so on.
  const double length = GENERATE(0.049, 0.04, 0.024, 0.016);
  const std::string snake =
      "kind = \"snake\"\nradius = 0.025\njoints = 16\nlink_length = " + std::to_string(length) +
      "\n";
  Simulation straight = simulation(snake + "[start]\nposition = [0, 0, 1]\n");
  start(straight);
  CHECK(straight.data->ncon == 0);
  // Head on tail, they collide.
  Simulation ring = simulation(snake +
                               "[start]\nangles = [0.8, 0, 0.8, 0, 0.8, 0, 0.8, 0, 0.8, 0, 0.8, 0, "
                               "0.8, 0, 0.8, 0]\nposition = [0, 0, 1]\n");
  start(ring);
  CHECK(ring.data->ncon > 0);
}

TEST_CASE("snake model: the start is at its height and about its place", "[mjcf]") {
  const std::string shape = GENERATE("capsule", "box");
  Simulation s = simulation(kSnake + "shape = \"" + shape +
                                "\"\n[start]\nyaw = [0.6, 1.25, 0]\npitch = [0.25, 1.25, 1.57]\n"
                                "roll = 0.2\nheading = 2.0\nposition = [0.4, -0.3, 0.01]\n",
                            "<geom name=\"floor\" type=\"plane\" size=\"3 3 0.1\" margin=\"1\"/>");
  start(s);
  double nearest = 1.0;
  const int floor = s.id(mjOBJ_GEOM, "floor");
  for (int i = 0; i < s.data->ncon; ++i) {
    const mjContact& contact = s.data->contact[i];
    if (contact.geom[0] == floor || contact.geom[1] == floor)
      nearest = std::min(nearest, contact.dist);
  }
  CHECK(nearest == Approx(0.01).margin(1e-6));
  Eigen::Vector3d mean = Eigen::Vector3d::Zero();
  for (int j = 0; j <= 16; ++j) mean += geom_position(s, names::snake_link(j)) / 17.0;
  CHECK(mean.x() == Approx(0.4).margin(1e-6));
  CHECK(mean.y() == Approx(-0.3).margin(1e-6));
}

TEST_CASE("snake model: a coil at the start lies around its pole", "[mjcf]") {
  constexpr double kOnCylinder = 0.003;  // [m], flat links miss the cylinder by this much
  Simulation s = simulation(
      kSnake + "[start]\ncoil_radius = 0.08\nheading = 1.0\nposition = [0.2, 0.1, 0.001]\n");
  start(s);
  double before = -1.0;
  for (int j = 0; j <= 16; ++j) {
    const Eigen::Vector3d p = geom_position(s, names::snake_link(j));
    CHECK((p - Eigen::Vector3d(0.2, 0.1, 0)).head<2>().norm() == Approx(0.08).margin(kOnCylinder));
    if (j >= 2) CHECK(p.z() > before);  // it rises, link by link but for the first
    before = p.z();
  }
}

TEST_CASE("snake model: scales turn with their link", "[mjcf]") {
  Simulation s = simulation(kSnake +
                                "joints = 2\n[scales]\nfloor = \"floor\"\nalong = 0.1\n"
                                "across = 0.7\n[start]\nheading = 0.5\n"
                                "position = [0, 0, -0.0005]\n",
                            "<geom name=\"floor\" type=\"plane\" size=\"3 3 0.1\"/>");
  start(s);
  CHECK(s.data->ncon >= 3);
  for (int i = 0; i < s.data->ncon; ++i) {
    const mjContact& contact = s.data->contact[i];
    CHECK(contact.friction[0] == 0.1);
    CHECK(contact.friction[1] == 0.7);
    const Eigen::Vector3d first(contact.frame[3], contact.frame[4], contact.frame[5]);
    CHECK(std::abs(first.dot(Eigen::Vector3d(std::cos(0.5), std::sin(0.5), 0))) ==
          Approx(1.0).margin(kEngineTolerance));
  }
}

TEST_CASE("snake model: servos hold the start against gravity", "[mjcf]") {
  Simulation s = simulation(kSnake +
                            "[base]\nkind = \"carriage\"\nfeed = 0.5\n[start]\n"
                            "yaw = [0.2, 1, 0]\nfeed = 0.3\n");
  start(s);
  s.set_gravity(Eigen::Vector3d::Zero());
  s.run(1.0);
  const std::vector<double> angles =
      start_angles(parse_as<SnakeDescription>(kSnake + "[start]\nyaw = [0.2, 1, 0]\n", "s.toml"));
  for (int j = 1; j <= 16; ++j) {
    const int joint = s.id(mjOBJ_JOINT, names::snake_joint(j));
    CHECK(s.data->qpos[s.model->jnt_qposadr[joint]] ==
          Approx(angles[static_cast<std::size_t>(j - 1)]).margin(1e-6));
  }
  CHECK(s.data->qpos[0] == Approx(0.3).margin(1e-6));
}
