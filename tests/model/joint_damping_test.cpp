// Damping and armature of an arm's joints.

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "tests/model/compiled_model.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

Simulation compiled(const std::string& integrator, double timestep, const std::string& robot) {
  const std::string text =
      "integrator = \"" + integrator + "\"\ntimestep = " + std::to_string(timestep) + "\n" + robot;
  return Simulation(continuum_mjcf(parse_as<ContinuumDescription>(text, "arm.toml")));
}

/// What resists a degree of freedom per speed, if it alone moves: of its joint, and of the tendons
/// and actuators on it.
double damping_of(const Simulation& simulation, int dof) {
  const mjModel& m = *simulation.model;
  const auto lever = [&](int tendon) {
    for (int w = m.tendon_adr[tendon]; w < m.tendon_adr[tendon] + m.tendon_num[tendon]; ++w)
      if (m.jnt_dofadr[m.wrap_objid[w]] == dof) return m.wrap_prm[w];
    return 0.0;
  };
  double damping = m.dof_damping[dof];
  for (int t = 0; t < m.ntendon; ++t) damping += m.tendon_damping[t] * std::pow(lever(t), 2);
  for (int a = 0; a < m.nu; ++a) {
    const int moved = m.actuator_trnid[2 * a];
    const double arm = m.actuator_trntype[a] == mjTRN_TENDON ? lever(moved)
                       : m.jnt_dofadr[moved] == dof          ? 1.0
                                                             : 0.0;
    damping -= m.actuator_biasprm[a * mjNBIAS + 2] * arm * arm;
  }
  return damping;
}

constexpr const char* kSection = "[[section]]\nconstant_length = 0.1\nbend_limit = 2\nlinks = 6\n";

}  // namespace

TEST_CASE("joint damping: the armature is a timestep of all damping that a joint sees",
          "[joint_damping]") {
  const std::string section = kSection;
  const std::string robot =
      GENERATE_COPY(section + section, "compliance = \"link\"\n" + section,
                    section + "variable_length = 0.05\ntorsional_stiffness = 0.1\n",
                    section + "length_weights = [1, 2]\nangle_weights = [1, 0]\n",
                    section + "bend_gain = 0\ndamping_time = 0.3\n",
                    section + "rotation = \"turning\"\nbend_damping_time = 0.2\n",
                    section + "[gripper]\nopening = 0.04\n");
  const double timestep = GENERATE(0.001, 0.004);
  CAPTURE(robot, timestep);
  const Simulation fast = compiled("implicitfast", timestep, robot);
  int damped = 0;
  for (int dof = 0; dof < fast.model->nv; ++dof) {
    CAPTURE(dof);
    const double damping = damping_of(fast, dof);
    damped += damping > 0.0 ? 1 : 0;
    CHECK(fast.model->dof_armature[dof] == Approx(timestep * damping).epsilon(1e-9));
  }
  CHECK(damped == fast.model->nv);
  const Simulation discrete = compiled("discrete", timestep, robot);
  for (int dof = 0; dof < discrete.model->nv; ++dof)
    CHECK(discrete.model->dof_armature[dof] == 0.0);
}

TEST_CASE("joint damping: the armature of a rod lowers its frequency as derived",
          "[joint_damping]") {
  // Without a servo the armature is timestep x damping_time K, so a mode with the frequency w has
  // the inertia M (1 + timestep damping_time w^2) (docs/theory/chain.md, "Armature"). The period is
  // measured, far above what the timestep resolves; M is that of the Euler-Bernoulli cantilever.
  constexpr double kLength = 0.4, kMass = 0.08, kStiffness = 0.5, kDampingTime = 0.004;
  constexpr double kTimestep = 0.01;
  Simulation simulation =
      compiled("implicitfast", kTimestep,
               "planar = true\n[[section]]\nconstant_length = 0.4\nbend_limit = 3\nlinks = 20\n"
               "radius = 0.001\nmass = 0.08\nbending_stiffness = 0.5\nbend_gain = 0\n"
               "damping_time = 0.004\n");
  simulation.set_gravity(Eigen::Vector3d::Zero());
  const mjModel& model = *simulation.model;
  const double free =
      1.875104 * 1.875104 / (kLength * kLength) * std::sqrt(kStiffness * kLength / kMass);
  const double expected = free / std::sqrt(1.0 + kTimestep * kDampingTime * free * free);
  REQUIRE(expected < 0.98 * free);
  simulation.model->opt.timestep = 1e-4;  // of the integration; the armature is that of 10 ms
  for (int i = 0; i < model.nq; ++i)
    simulation.data->qpos[i] = 0.005 * (1.0 - i / static_cast<double>(model.nq));
  const auto tip = [&] { return simulation.site_pose(names::kTip).translation().x(); };
  double first = 0.0, last = 0.0, before = tip();  // upward crossings of zero [s]
  int swings = -1;
  while (simulation.data->time < 1.0) {
    mj_step(&model, simulation.data.get());
    mj_kinematics(&model, simulation.data.get());
    const double now = tip();
    if (before < 0.0 && now >= 0.0) {
      last = simulation.data->time - model.opt.timestep * now / (now - before);
      if (++swings == 0) first = last;
    }
    before = now;
  }
  REQUIRE(swings >= 3);
  const double omega = 2.0 * std::numbers::pi * swings / (last - first);
  const double damped = expected * std::sqrt(1.0 - std::pow(expected * kDampingTime / 2.0, 2));
  CHECK(omega == Approx(damped).epsilon(0.003));
}

namespace {

/// Of an arm that is fed against an inclined wall and buckles: the largest force on the wall and
/// that at the end [N], and the largest depth [m].
struct Push {
  double largest = 0.0, last = 0.0, depth = 0.0;
};
Push push(const std::string& integrator, bool has_armature = true) {
  const std::string text = "integrator = \"" + integrator + "\"\n[base]\nfeed = 0.1\n" +
                           "[[section]]\nconstant_length = 0.1\nbend_limit = 3\nlinks = 10\n"
                           "radius = 0.004\nmass = 0.02\n";
  std::string document = continuum_mjcf(parse_as<ContinuumDescription>(text, "arm.toml"));
  const std::string end = "</worldbody>";
  REQUIRE(document.find(end) != std::string::npos);
  document.insert(document.find(end),
                  R"(<geom type="plane" size="1 1 1" pos="0 0 0.12" zaxis="0.34 0 -0.94"/>)");
  Simulation simulation(document);
  mjModel& model = *simulation.model;
  mjData& data = *simulation.data;
  if (!has_armature) {
    for (int dof = 0; dof < model.nv; ++dof) model.dof_armature[dof] = 0.0;
    mj_setConst(&model, &data);
  }
  Push result;
  while (data.time < 1.5) {
    simulation.set_ctrl(names::kFeed, 0.08 * std::min(1.0, data.time / 0.5));
    mj_step(&model, &data);
    result.last = 0.0;
    for (int c = 0; c < data.ncon; ++c) {
      std::array<mjtNum, 6> force{};
      mj_contactForce(&model, &data, c, force.data());
      result.last += force[0];
      result.depth = std::max(result.depth, -data.contact[c].dist);
    }
    result.largest = std::max(result.largest, result.last);
  }
  return result;
}

}  // namespace

TEST_CASE("joint damping: with the armature light links meet a wall as with discrete",
          "[joint_damping]") {
  const Push discrete = push("discrete"), fast = push("implicitfast");
  CAPTURE(discrete.largest, fast.largest, discrete.depth, fast.depth);
  REQUIRE(discrete.last > 10.0);
  CHECK(fast.last == Approx(discrete.last).epsilon(0.02));
  CHECK(fast.largest == Approx(discrete.largest).epsilon(0.15));
  CHECK(fast.depth < 2.0 * discrete.depth);
  // Without it the links sink in and are thrown out again.
  const Push without = push("implicitfast", false);
  CAPTURE(without.largest, without.depth);
  CHECK(without.largest > 3.0 * discrete.largest);
  CHECK(without.depth > 5.0 * discrete.depth);
}

TEST_CASE("joint damping: with the armature a moved arm stays near small steps",
          "[joint_damping]") {
  // The tip of an arm that bends back and forth at 1 Hz, against steps of 0.1 ms without armature.
  const std::string robot = std::string(kSection) + kSection + kSection;
  const auto tips = [&](const std::string& integrator, double timestep, bool has_armature) {
    Simulation simulation = compiled(integrator, timestep, robot);
    mjData& data = *simulation.data;
    if (!has_armature) {
      for (int dof = 0; dof < simulation.model->nv; ++dof)
        simulation.model->dof_armature[dof] = 0.0;
      mj_setConst(simulation.model.get(), &data);
    }
    std::vector<Eigen::Vector3d> tip;
    const int every = static_cast<int>(std::lround(0.02 / timestep));
    for (int k = 0; k < 100 * every; ++k) {
      for (int a = 0; a < simulation.model->nu; ++a)
        data.ctrl[a] = 0.3 * std::cos(2.0 * std::numbers::pi * k * timestep + a / 2);
      mj_step(simulation.model.get(), &data);
      if ((k + 1) % every != 0 || k < 50 * every) continue;  // the second second
      mj_kinematics(simulation.model.get(), &data);
      tip.push_back(simulation.site_pose(names::kTip).translation());
    }
    return tip;
  };
  const auto right = tips("implicitfast", 1e-4, false);
  const auto error = [&](const std::vector<Eigen::Vector3d>& tip) {
    double squares = 0.0;
    for (std::size_t i = 0; i < tip.size(); ++i) squares += (tip[i] - right[i]).squaredNorm();
    return std::sqrt(squares / static_cast<double>(tip.size()));
  };
  const double at_2_ms = error(tips("implicitfast", 0.002, true));
  const double at_1_ms = error(tips("implicitfast", 0.001, true));
  const double discrete = error(tips("discrete", 0.002, true));
  CAPTURE(at_2_ms, at_1_ms, discrete);
  CHECK(at_2_ms < 2.0 * discrete);
  CHECK(at_2_ms < 0.002 * 0.3);                          // of the length
  CHECK(at_2_ms / at_1_ms == Approx(2.0).epsilon(0.2));  // of first order
}
