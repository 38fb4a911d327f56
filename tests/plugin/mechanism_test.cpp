// What the library computes of a robot's bodies is what the engine compiles from its document.

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "plugin/bound_mechanism.hpp"
#include "tendril/model/robot_mjcf.hpp"
#include "tests/plugin/test_scenes.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

/// All robot files of the tree that are arms.
std::vector<std::string> arm_files() {
  std::vector<std::string> files;
  for (const char* const folder : {"models", "scenes", "apps/templates"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".toml") continue;
      std::ifstream in(entry.path());
      const std::string text(std::istreambuf_iterator<char>(in), {});
      if (text.find("kind = \"continuum\"") != std::string::npos)
        files.push_back(entry.path().string());
    }
  }
  std::ranges::sort(files);
  return files;
}

void check_near(double a, double b, double scale = 1.0) {
  CHECK(std::abs(a - b) <= 1e-9 * std::max(scale, std::abs(b)));
}

void check_near(const Eigen::Vector3d& a, const Eigen::Vector3d& b, double scale = 1.0) {
  CHECK((a - b).norm() <= 1e-9 * std::max(scale, b.norm()));
}

Eigen::Matrix3d tensor(const Mechanism::Body& body) {
  const Eigen::Matrix3d R = body.inertia_axes.normalized().toRotationMatrix();
  return R * body.inertia.asDiagonal() * R.transpose();
}

void check_same(const Mechanism& a, const Mechanism& b) {
  REQUIRE(a.bodies.size() == b.bodies.size());
  for (std::size_t i = 0; i < a.bodies.size(); ++i) {
    const Mechanism::Body &x = a.bodies[i], &y = b.bodies[i];
    CAPTURE(y.name);
    CHECK(x.name == y.name);
    CHECK(x.parent == y.parent);
    if (i > 0) check_near(x.position, y.position);
    if (i > 0) CHECK(x.orientation.angularDistance(y.orientation) < 1e-7);
    check_near(x.mass, y.mass);
    check_near(x.gravity_compensation, y.gravity_compensation);
    check_near(x.center, y.center);
    CHECK((tensor(x) - tensor(y)).norm() <= 1e-9 * tensor(y).norm());
  }
  REQUIRE(a.joints.size() == b.joints.size());
  for (std::size_t i = 0; i < a.joints.size(); ++i) {
    const Mechanism::Joint &x = a.joints[i], &y = b.joints[i];
    CAPTURE(y.name);
    CHECK(x.name == y.name);
    CHECK(x.body == y.body);
    CHECK(x.is_slide == y.is_slide);
    check_near(x.axis, y.axis);
    check_near(x.anchor, y.anchor);
    check_near(x.zero, y.zero);
    check_near(x.start, y.start);
    check_near(x.stiffness, y.stiffness);
    check_near(x.rest, y.rest);
    check_near(x.damping, y.damping);
    check_near(x.armature, y.armature);
  }
  REQUIRE(a.tendons.size() == b.tendons.size());
  for (std::size_t i = 0; i < a.tendons.size(); ++i) {
    const Mechanism::Tendon &x = a.tendons[i], &y = b.tendons[i];
    CAPTURE(y.name);
    CHECK(x.name == y.name);
    check_near(x.length, y.length);
    check_near(x.stiffness, y.stiffness);
    check_near(x.damping, y.damping);
    REQUIRE(x.path.size() == y.path.size());
    for (std::size_t k = 0; k < x.path.size(); ++k) {
      CHECK(x.path[k].is_joint == y.path[k].is_joint);
      CHECK(x.path[k].index == y.path[k].index);
      check_near(x.path[k].coefficient, y.path[k].coefficient);
    }
  }
  REQUIRE(a.actuators.size() == b.actuators.size());
  for (std::size_t i = 0; i < a.actuators.size(); ++i) {
    const Mechanism::Actuator &x = a.actuators[i], &y = b.actuators[i];
    CAPTURE(y.name);
    CHECK(x.name == y.name);
    CHECK(x.joint == y.joint);
    CHECK(x.tendon == y.tendon);
    CHECK(x.is_affine == y.is_affine);
    CHECK(x.is_slow == y.is_slow);
    check_near(x.gear, y.gear);
    for (std::size_t k = 0; k < 2; ++k) {
      check_near(x.gain[k], y.gain[k]);
      check_near(x.command_range[k], y.command_range[k]);
    }
    for (std::size_t k = 0; k < 3; ++k) check_near(x.bias[k], y.bias[k]);
    REQUIRE(x.force_range.has_value() == y.force_range.has_value());
    if (!x.force_range) continue;
    check_near((*x.force_range)[0], (*y.force_range)[0]);
    check_near((*x.force_range)[1], (*y.force_range)[1]);
  }
  check_near(a.timestep, b.timestep);
  check_near(a.numerical_damping_time, b.numerical_damping_time);
}

}  // namespace

TEST_CASE("mechanism: of every arm of the tree it is the engine's", "[plugin]") {
  load_tendril();
  int compared = 0;
  for (const std::string& file : arm_files()) {
    CAPTURE(file);
    const RobotDescription robot = load_robot(file);
    ContinuumDescription plain = std::get<ContinuumDescription>(robot);
    plain.controller.plugin.clear();  // some name bodies of their scene
    char error[1000] = "";
    mjVFS* const no_files = nullptr;
    mjSpec* const spec =
        mj_parseXMLString(model_mjcf(plain).c_str(), no_files, error, sizeof error);
    REQUIRE(spec != nullptr);
    mjModel* const m = mj_compile(spec, no_files);
    REQUIRE(m != nullptr);
    check_same(robot_mechanism(plain), bound_mechanism(m, {"", ""}));
    ++compared;
    mj_deleteModel(m);
    mj_deleteSpec(spec);
  }
  CHECK(compared > 30);
}

TEST_CASE("mechanism: the inertia of the joints is the engine's", "[plugin]") {
  load_tendril();
  const std::string toml = "kind = \"continuum\"\n[base]\nfeed = 0.1\nspin = true\n" +
                           small_sections() + "[tip]\npayload = 0.02\n[gripper]\nopening = 0.04\n";
  const auto arm = parse_as<ContinuumDescription>(toml, "arm.toml");
  const Mechanism mechanism = robot_mechanism(arm);
  char error[1000] = "";
  mjSpec* const spec = mj_parseXMLString(model_mjcf(arm).c_str(), nullptr, error, sizeof error);
  REQUIRE(spec != nullptr);
  mjModel* const m = mj_compile(spec, nullptr);
  REQUIRE(m != nullptr);
  mjData* const d = mj_makeData(m);
  mj_forward(m, d);
  std::vector<int> chain(mechanism.joints.size());
  std::iota(chain.begin(), chain.end(), 0);
  const Eigen::MatrixXd M = mechanism.inertia(chain);
  std::vector<mjtNum> full(static_cast<std::size_t>(m->nv * m->nv));
  mj_fullM(m, d, full.data());
  for (std::size_t i = 0; i < chain.size(); ++i)
    for (std::size_t j = 0; j < chain.size(); ++j) {
      const double expected = full[static_cast<std::size_t>(chain[i] * m->nv + chain[j])];
      const auto a = static_cast<Eigen::Index>(i), b = static_cast<Eigen::Index>(j);
      CHECK(std::abs(M(a, b) - expected) <= 1e-9 * std::sqrt(M(a, a) * M(b, b)));
    }
  mj_deleteData(d);
  mj_deleteModel(m);
  mj_deleteSpec(spec);
}
