// The chain of links, driven by its native servos and settled without gravity, against the
// constant-curvature kinematics of tendril::core.

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tests/model/compiled_model.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kDegree = std::numbers::pi / 180.0;

// Twice to three times the servo's time constant of rest motion is left after this: 20 time
// constants of kv/kp = 0.05 s, taken in large steps that the implicit integrator damps.
constexpr double kSettlingTime = 1.5;  // [s]
constexpr double kRestSpeed = 1e-5;    // [rad/s]

/// Strong damping of the links' own vibrations: the tests look at the rest shape.
const std::string kDamped = "damping_time = 0.1\n";

std::string section_text(double length, int links, const std::string& more = "") {
  return "[[section]]\nconstant_length = " + std::to_string(length) +
         "\nbend_limit = 3.1415926\nlinks = " + std::to_string(links) + "\n" + kDamped + more;
}

/// Settles the robot on `states` in 0 g; the pose of `tip`.
Simulation settled(const ContinuumDescription& robot, SectionStates states,
                   const BaseState& base = {}) {
  Simulation simulation(continuum_mjcf(robot));
  simulation.set_gravity(Eigen::Vector3d::Zero());
  simulation.model->opt.timestep = 0.01;
  simulation.command(robot, states, base);
  simulation.run(kSettlingTime);
  CHECK(simulation.speed() < kRestSpeed);
  return simulation;
}

struct Deviation {
  double position = 0.0;   ///< part of the arm's length
  double direction = 0.0;  ///< angle of the tip directions [rad]
  double turn = 0.0;       ///< angle of the whole rotation between the tips, twist included [rad]
};

Deviation deviation(const ContinuumDescription& robot, SectionStates states) {
  const Simulation simulation = settled(robot, states);
  const ContinuumRobot kinematics = robot.kinematics();
  const Eigen::Isometry3d X_BE = tip_pose(kinematics, states);
  const Eigen::Isometry3d X_BT = simulation.site_pose(names::kTip);
  const Eigen::Vector3d z = X_BE.linear().col(2);
  const Eigen::Vector3d z_T = X_BT.linear().col(2);
  double length = 0.0;
  for (int i = 0; i < kinematics.section_count(); ++i) {
    length += kinematics.section(i).length() + states[static_cast<std::size_t>(i)].extension;
  }
  Deviation result;
  result.position = (X_BT.translation() - X_BE.translation()).norm() / length;
  result.direction = std::atan2(z.cross(z_T).norm(), z.dot(z_T));
  result.turn =
      Eigen::AngleAxisd(Eigen::Matrix3d(X_BE.linear().transpose() * X_BT.linear())).angle();
  return result;
}

// Tip distance from the arc in parts of the length, 60 to 90 deg, 10 and 20 links.
constexpr double kFidelity10 = 1.5e-3;
constexpr double kFidelity20 = 3.0e-4;

}  // namespace

TEST_CASE("arc fidelity: a settled section is the constant-curvature arc", "[mjcf]") {
  const int links = GENERATE(10, 20);
  const double budget = links == 10 ? kFidelity10 : kFidelity20;
  const double theta = GENERATE(60 * kDegree, 90 * kDegree);
  const std::string compliance = GENERATE("section", "link");
  const double phi = GENERATE(0.0, 90 * kDegree, 200 * kDegree);
  CAPTURE(links, theta, compliance, phi);
  const ContinuumDescription robot = parse_as<ContinuumDescription>(
      "compliance = \"" + compliance + "\"\n" + section_text(0.1, links), "arm.toml");
  const std::vector<SectionState> states{{.theta = theta, .phi = phi}};
  const Deviation d = deviation(robot, states);
  CAPTURE(d.position, d.direction, d.turn);
  CHECK(d.position < budget);
  CHECK(d.direction < 2.0 * budget);
  CHECK(d.turn < 2.0 * budget);
}

TEST_CASE("arc fidelity: twice the links, a quarter of the error", "[mjcf]") {
  const std::vector<SectionState> states{{.theta = 1.5, .phi = 0.6}};
  const auto error = [&](int links) {
    return deviation(parse_as<ContinuumDescription>(section_text(0.1, links), "arm.toml"), states)
        .position;
  };
  const double ratio = error(20) / error(40);
  CHECK(ratio == Approx(4.0).epsilon(0.1));
}

// Sub-sections with few links have no room for the end correction: parts of beta^2, beta being the
// largest bend of one link.
double compound_budget(double beta) { return beta * beta / 6.0; }

TEST_CASE("arc fidelity: three sections bent in three planes", "[mjcf]") {
  const int links = GENERATE(10, 20);
  const std::string compliance = GENERATE("section", "link");
  CAPTURE(links, compliance);
  std::string text = "compliance = \"" + compliance + "\"\n";
  for (int i = 0; i < 3; ++i) text += section_text(0.1, links);
  const std::vector<SectionState> states{{.theta = 60 * kDegree, .phi = 0.3},
                                         {.theta = 60 * kDegree, .phi = 2.4},
                                         {.theta = 60 * kDegree, .phi = -1.9}};
  const Deviation d = deviation(parse_as<ContinuumDescription>(text, "arm.toml"), states);
  CAPTURE(d.position, d.direction, d.turn);
  const double budget = links == 10 ? kFidelity10 : kFidelity20;
  CHECK(d.position < budget);
  CHECK(d.direction < 5.0 * budget);
  CHECK(d.turn < 5.0 * budget);
}

TEST_CASE("arc fidelity: sections that turn, and one that bends between them", "[mjcf]") {
  const std::string compliance = GENERATE("section", "link");
  const std::string turning = "rotation = \"turning\"\n";
  const ContinuumDescription robot = parse_as<ContinuumDescription>(
      "compliance = \"" + compliance + "\"\n" + section_text(0.1, 20, turning) +
          section_text(0.1, 20) + section_text(0.1, 20, turning),
      "arm.toml");
  // Not the same as a robot that bends everywhere: the tip's frame is turned by 2.1 rad more.
  std::vector<SectionState> states{{.theta = 60 * kDegree, .phi = 0.9},
                                   {.theta = 60 * kDegree, .phi = 2.4},
                                   {.theta = 60 * kDegree, .phi = 1.2}};
  to_untwisted(robot.kinematics(), states);
  const Deviation d = deviation(robot, states);
  CAPTURE(d.position, d.direction, d.turn);
  CHECK(d.position < kFidelity20);
  CHECK(d.direction < 5.0 * kFidelity20);
  CHECK(d.turn < 5.0 * kFidelity20);
}

TEST_CASE("arc fidelity: sub-section weights shape the chain", "[mjcf]") {
  const std::string compliance = GENERATE("section", "link");
  CAPTURE(compliance);
  const std::string weights =
      GENERATE("length_weights = [2, 4, 1]\nangle_weights = [1, 0.001, 0.5]\n",
               "length_weights = [1, 2, 1]\nangle_weights = [1, 0, 1]\n");
  const ContinuumDescription robot = parse_as<ContinuumDescription>(
      "compliance = \"" + compliance + "\"\n" + section_text(0.1, 28, weights), "arm.toml");
  const std::vector<SectionState> states{{.theta = 80 * kDegree, .phi = -0.7}};
  const Deviation d = deviation(robot, states);
  CAPTURE(d.position, d.turn);
  const LinkLayout layout = link_layout(robot.kinematics().section(0), 28);
  const double beta =
      states[0].theta * *std::max_element(layout.bend_fraction.begin(), layout.bend_fraction.end());
  CHECK(d.position < compound_budget(beta));
  CHECK(d.turn < 2.0 * compound_budget(beta));
  // The same bend spread evenly ends elsewhere: the weights matter in this test.
  const ContinuumRobot even({{.length = 0.1}});
  CHECK((tip_pose(even, states).translation() - tip_pose(robot.kinematics(), states).translation())
            .norm() > 2e-3);
}

TEST_CASE("arc fidelity: sections of variable length reach the commanded lengths", "[mjcf]") {
  constexpr double kLengthTolerance = 5e-5;  // [m]
  const std::string compliance = GENERATE("section", "link");
  CAPTURE(compliance);
  std::string text = "compliance = \"" + compliance + "\"\n";
  for (int i = 0; i < 3; ++i) text += section_text(0.05, 10, "variable_length = 0.1\n");
  const ContinuumDescription robot = parse_as<ContinuumDescription>(text, "arm.toml");
  const std::vector<SectionState> states{{.theta = 50 * kDegree, .phi = 0.3, .extension = 0.08},
                                         {.theta = 30 * kDegree, .phi = 2.4, .extension = 0.03},
                                         {.theta = 60 * kDegree, .phi = -1.9, .extension = 0.09}};
  const Simulation simulation = settled(robot, states);
  for (int i = 1; i <= 3; ++i) {
    CAPTURE(i);
    const double s = states[static_cast<std::size_t>(i - 1)].extension;
    CHECK(std::abs(simulation.sum_of_slides(i, 10) - (s - 0.05)) < kLengthTolerance);
  }
  const Eigen::Isometry3d X_BE = tip_pose(robot.kinematics(), states);
  const Eigen::Vector3d p_BT = simulation.site_pose(names::kTip).translation();
  CAPTURE((p_BT - X_BE.translation()).norm() / 0.35);
  CHECK((p_BT - X_BE.translation()).norm() < 1.5e-3 * 0.35);
}

TEST_CASE("arc fidelity: feed and spin move the base as the kinematics do", "[mjcf]") {
  const ContinuumDescription robot = parse_as<ContinuumDescription>(
      section_text(0.1, 10) + "[base]\nfeed = 0.2\nspin = true\n", "arm.toml");
  const std::vector<SectionState> states{{.theta = 1.0, .phi = 0.4}};
  const BaseState base{.feed = 0.12, .spin = 0.8};
  // At its force limit the feed servo needs a timestep below mass / kv = 4 ms.
  Simulation simulation(continuum_mjcf(robot));
  simulation.set_gravity(Eigen::Vector3d::Zero());
  simulation.command(robot, states, base);
  simulation.run(2.0);
  CHECK(simulation.speed() < 1e-3);
  const Eigen::Isometry3d X_BE = tip_pose(robot.kinematics(), states, base);
  CHECK((simulation.site_pose(names::kTip).translation() - X_BE.translation()).norm() < 1.5e-4);
}

TEST_CASE("servo: a step far above the torque limit settles", "[mjcf]") {
  // With all damping inside the limit the default arm oscillates between +3 and -3 N m
  // indefinitely.
  const std::string compliance = GENERATE("section", "link");
  const auto integrator = GENERATE(mjINT_DISCRETE, mjINT_IMPLICITFAST);
  CAPTURE(compliance, static_cast<int>(integrator));
  const ContinuumDescription robot = parse_as<ContinuumDescription>(
      "compliance = \"" + compliance + "\"\n[[section]]\nconstant_length = 0.1\nbend_limit = 3.1\n",
      "arm.toml");
  Simulation simulation(continuum_mjcf(robot));
  simulation.model->opt.integrator = integrator;
  const std::vector<SectionState> states{{.theta = 1.5, .phi = 0.5}};
  simulation.command(robot, states);
  simulation.run(2.0);
  CHECK(simulation.speed() < kRestSpeed);
}

TEST_CASE("statics: a passive horizontal arm sags like the linear beam", "[mjcf]") {
  constexpr double kGravity = 9.81, kStiffness = 0.2, kLength = 0.3, kMass = 0.21;
  const double beam = kMass * kGravity * std::pow(kLength, 3) / (8.0 * kStiffness);
  CHECK(beam == Approx(0.0348).margin(5e-5));
  std::string text;
  for (int i = 0; i < 3; ++i) text += section_text(0.1, 10, "bending_stiffness = 0.2\n");
  Simulation simulation(continuum_mjcf(parse_as<ContinuumDescription>(text, "arm.toml")));
  simulation.set_gravity({-kGravity, 0.0, 0.0});
  simulation.model->opt.disableflags |= mjDSBL_ACTUATION;
  simulation.model->opt.timestep = 0.01;
  simulation.run(4.0);
  CHECK(simulation.speed() < 1e-3);
  const double sag = -simulation.site_pose(names::kTip).translation().x();
  CAPTURE(sag, beam);
  CHECK(sag == Approx(beam).epsilon(0.02));  // the bend is large enough to shorten the lever by 1 %
}

TEST_CASE("dynamics: a passive arm swings like the Euler-Bernoulli cantilever", "[mjcf]") {
  struct Case {
    int links;
    double tolerance;  // of the first three frequencies
  };
  const auto c = GENERATE(values<Case>({{10, 0.012}, {20, 0.003}, {40, 0.001}}));
  constexpr double kLength = 0.4, kMass = 0.08, kStiffness = 0.05, kRadius = 0.001;
  const std::string text =
      "planar = true\n" +
      section_text(kLength, c.links, "bending_stiffness = 0.05\nmass = 0.08\nradius = 0.001\n");
  Simulation simulation(continuum_mjcf(parse_as<ContinuumDescription>(text, "arm.toml")));
  const mjModel& model = *simulation.model;
  Eigen::MatrixXd mass(model.nv, model.nv);
  mj_fullM(&model, simulation.data.get(), mass.data());
  const Eigen::MatrixXd stiffness =
      Eigen::Map<const Eigen::VectorXd>(model.jnt_stiffness, model.nv).asDiagonal();
  const Eigen::VectorXd squared =
      Eigen::GeneralizedSelfAdjointEigenSolver<Eigen::MatrixXd>(stiffness, mass).eigenvalues();
  const double unit = std::sqrt(kStiffness * kLength / kMass) / (kLength * kLength);
  CHECK(kRadius < 0.01 * kLength);  // slender: no rotary inertia
  int mode = 0;
  for (const double root : {1.875104, 4.694091, 7.854757}) {
    CAPTURE(c.links, mode);
    CHECK(std::sqrt(squared[mode++]) == Approx(root * root * unit).epsilon(c.tolerance));
  }
}

TEST_CASE("dynamics: a released rod loses what damping_time says, with either integrator",
          "[mjcf]") {
  // The lowest mode, omega: from one swing to the next its amplitude falls by exp(-pi omega
  // damping_time), to second order in omega damping_time. Without what `discrete` adds taken off,
  // the exponent would be 1.5 times as large.
  constexpr double kLength = 0.4, kMass = 0.08, kStiffness = 0.05, kDampingTime = 0.004;
  const std::string integrator = GENERATE("discrete", "implicitfast");
  CAPTURE(integrator);
  const std::string text =
      "planar = true\ntimestep = 0.002\nintegrator = \"" + integrator +
      "\"\n[[section]]\nconstant_length = 0.4\nbend_limit = 3\nlinks = 20\nradius = 0.001\n"
      "mass = 0.08\nbending_stiffness = 0.05\nbend_gain = 0\ndamping_time = 0.004\n";
  Simulation simulation(continuum_mjcf(parse_as<ContinuumDescription>(text, "arm.toml")));
  simulation.set_gravity(Eigen::Vector3d::Zero());
  const mjModel& model = *simulation.model;
  CHECK((model.opt.integrator == mjINT_DISCRETE) == (integrator == "discrete"));
  for (int i = 0; i < model.nq; ++i)  // about the lowest mode, small
    simulation.data->qpos[i] = 0.005 * (1.0 - i / static_cast<double>(model.nq));
  const auto tip = [&] { return simulation.site_pose(names::kTip).translation().x(); };
  std::vector<double> peaks;  // of the tip's distance, one for each half swing
  double before = tip(), last = before;
  for (int k = 0; k < 1000; ++k) {
    mj_step(&model, simulation.data.get());
    mj_kinematics(&model, simulation.data.get());
    const double now = tip();
    if (std::abs(last) > std::abs(before) && std::abs(last) > std::abs(now))
      peaks.push_back(std::abs(last));
    before = last;
    last = now;
  }
  REQUIRE(peaks.size() > 6);
  const double omega =
      1.875104 * 1.875104 / (kLength * kLength) * std::sqrt(kStiffness * kLength / kMass);
  constexpr double kPi = std::numbers::pi;
  const double lost = std::log(peaks[2] / peaks[6]) / 2.0;  // in one swing
  CHECK(lost == Approx(kPi * omega * kDampingTime).epsilon(0.03));
}

TEST_CASE("dynamics: a bend lags behind a ramp by what its servo says, with either integrator",
          "[mjcf]") {
  // M q'' + (kp T + K T_K) q' + (kp + K) q = (kp + K) c: on the ramp c = w t the bend is behind by
  // the times weighed by the stiffnesses. Without what `discrete` adds taken off, a timestep more.
  const std::string compliance = GENERATE("section", "link");
  const std::string integrator = GENERATE("discrete", "implicitfast");
  const std::string timestep = GENERATE("0.001", "0.004");
  CAPTURE(compliance, integrator, timestep);
  constexpr double kGain = 20.0, kServoTime = 0.03, kStiffness = 0.5 / 0.1, kBodyTime = 0.02;
  const std::string text = "planar = true\ncompliance = \"" + compliance + "\"\nintegrator = \"" +
                           integrator + "\"\ntimestep = " + timestep +
                           "\n[[section]]\nconstant_length = 0.1\nbend_limit = 3\nlinks = 8\n"
                           "bending_stiffness = 0.5\nbend_gain = 20\nbend_damping_time = 0.03\n"
                           "damping_time = 0.02\n";
  Simulation simulation(continuum_mjcf(parse_as<ContinuumDescription>(text, "arm.toml")));
  simulation.set_gravity(Eigen::Vector3d::Zero());
  const mjModel& model = *simulation.model;
  mjData& data = *simulation.data;
  constexpr double kRate = 1.0;  // [rad/s]
  double lag = 0.0;
  while (data.time < 0.5) {
    const double bend = kRate * data.time;
    for (int i = 0; i < model.nu; ++i) data.ctrl[i] = bend / model.nu;
    lag = data.time;
    for (int i = 0; i < model.nq; ++i) lag -= data.qpos[i] / kRate;
    mj_step(&model, &data);
  }
  const double expected = (kGain * kServoTime + kStiffness * kBodyTime) / (kGain + kStiffness);
  CHECK(lag == Approx(expected).epsilon(0.01));
}

TEST_CASE("statics: a cone bends as its radius says", "[mjcf]") {
  // Under a force F at the tip a cone gives way by F L^3 / (3 E (pi/4) r0^3 r1): the integral of
  // (L - s)^2 / EI(s).
  struct Case {
    int links;
    double compliance, tip;  // tolerances: relative, and of the length
  };
  const auto c =
      GENERATE(values<Case>({{10, 0.0029, 2.2e-3}, {20, 0.0012, 3.2e-4}, {40, 4e-4, 4.5e-5}}));
  constexpr double kPi = std::numbers::pi, kLength = 0.3, kModulus = 2e6, kDensity = 1100.0;
  constexpr double r0 = 0.012, r1 = 0.006;
  const ContinuumDescription robot = parse_as<ContinuumDescription>(
      section_text(kLength, c.links,
                   "radius = [0.012, 0.006]\nyoungs_modulus = 2e6\ndensity = 1100\n"
                   "poisson_ratio = 0.5\n"),
      "arm.toml");
  Simulation simulation(continuum_mjcf(robot));
  const mjModel& model = *simulation.model;

  std::vector<mjtNum> J(static_cast<std::size_t>(3 * model.nv));
  mj_jacSite(&model, simulation.data.get(), J.data(), nullptr,
             simulation.id(mjOBJ_SITE, names::kTip));
  double compliance = 0.0, twist = 0.0;
  for (int i = 0; i < model.nv; ++i) {
    const double across = J[static_cast<std::size_t>(model.nv + i)];
    const double stiffness = model.jnt_stiffness[model.dof_jntid[i]];
    compliance += across * across / stiffness;
    if (model.jnt_axis[3 * model.dof_jntid[i] + 2] == 1.0) twist += 1.0 / stiffness;
  }
  const double unit = 3.0 * kModulus * kPi / 4.0;
  const double cone = std::pow(kLength, 3) / (unit * std::pow(r0, 3) * r1);
  CAPTURE(c.links, compliance / cone - 1.0);
  CHECK(compliance == Approx(cone).epsilon(c.compliance));
  // Twist of the tip under a unit torque: the integral of 1/GJ, GJ = EI / 1.5.
  const double bend =
      kLength * (1.0 / std::pow(r1, 3) - 1.0 / std::pow(r0, 3)) / (unit * (r0 - r1));
  CHECK(twist == Approx(1.5 * bend).epsilon(1e-6));

  const double volume = kPi * kLength * (r0 * r0 + r0 * r1 + r1 * r1) / 3.0;
  CHECK(simulation.total_mass() == Approx(kDensity * volume).epsilon(1e-9));
  // Center of mass of the frustum, from its wide end.
  const double center =
      kLength / 4.0 * (r0 * r0 + 2.0 * r0 * r1 + 3.0 * r1 * r1) / (r0 * r0 + r0 * r1 + r1 * r1);
  CHECK(simulation.data->subtree_com[2] == Approx(center).epsilon(2e-3));

  // Bent by one moment along it, its curvature goes with 1/EI: the curve, the arcs of the
  // kinematics and the chain end at one place.
  constexpr double kBend = kPi / 2.0;
  Eigen::Vector2d curve = Eigen::Vector2d::Zero();
  constexpr int kSteps = 20000;
  for (int i = 0; i < kSteps; ++i) {
    const double r = r0 + (r1 - r0) * (i + 0.5) / kSteps;
    const double angle =
        kBend * (std::pow(r, -3) - std::pow(r0, -3)) / (std::pow(r1, -3) - std::pow(r0, -3));
    curve += kLength / kSteps * Eigen::Vector2d(std::sin(angle), std::cos(angle));
  }
  const SectionState state{.theta = kBend};
  const Eigen::Vector3d arcs = section_end_pose(robot.kinematics().section(0), state).translation();
  simulation.set_gravity(Eigen::Vector3d::Zero());
  simulation.command(robot, {&state, 1});
  simulation.run(4.0);
  const Eigen::Vector3d tip = simulation.site_pose(names::kTip).translation();
  const double off_arcs = (Eigen::Vector2d(arcs.x(), arcs.z()) - curve).norm() / kLength;
  const double off = (Eigen::Vector2d(tip.x(), tip.z()) - curve).norm() / kLength;
  CAPTURE(off_arcs, off);
  CHECK(off_arcs < 9e-4);  // ten arcs, however many links
  CHECK(off < c.tip);
}

TEST_CASE("tip: a payload hangs at the tip, and a suction cup holds what it touches", "[mjcf]") {
  const std::string arm = section_text(0.1, 5, "mass = 0.05\n");
  const ContinuumDescription robot =
      parse_as<ContinuumDescription>(arm + "[tip]\npayload = 0.02\nsuction = 3\n", "arm.toml");
  Simulation simulation(continuum_mjcf(robot));
  CHECK(simulation.total_mass() == Approx(0.05 + 0.02 + 0.001));
  const int payload = simulation.id(mjOBJ_BODY, names::kPayload);
  CHECK(simulation.data->xipos[3 * payload + 2] == Approx(0.1));

  // A sphere of 0.1 kg, 0.98 N, under the cup of the hanging arm: held with 3 N, lost with 0.3 N.
  const double part = GENERATE(1.0, 0.1);
  const SpecPtr spec = parse_spec(continuum_mjcf(robot));
  mjsBody* const sphere = mjs_addBody(mjs_findBody(spec.get(), "world"), nullptr);
  mjs_setName(sphere->element, "ball");
  mjs_addFreeJoint(sphere);
  mjsGeom* const geom = mjs_addGeom(sphere, nullptr);
  geom->type = mjGEOM_SPHERE;
  geom->size[0] = 0.02;
  geom->mass = 0.1;
  sphere->pos[2] = 0.1 + 0.008 + 0.25 * 0.008 + 0.02;
  geom->contype = 2;
  geom->conaffinity = 1;
  Simulation grasp(spec.get());
  grasp.set_gravity({0.0, 0.0, 9.81});
  grasp.set_ctrl(names::kSuction, part);
  grasp.run(1.0);
  const int body = grasp.id(mjOBJ_BODY, "ball");
  const double fallen = grasp.data->xpos[3 * body + 2] - sphere->pos[2];
  CAPTURE(part, fallen);
  if (part == 1.0)
    CHECK(std::abs(fallen) < 0.001);
  else
    CHECK(fallen > 1.0);
}

TEST_CASE("statics: a rod held at both ends that are brought together bears Euler's load",
          "[mjcf]") {
  // 4 pi^2 EI / L^2 for clamped ends, and a little more above it.
  constexpr double kPi = std::numbers::pi, kLength = 0.4, kStiffness = 0.05, kShortening = 0.002;
  const ContinuumDescription robot = parse_as<ContinuumDescription>(
      "planar = true\n" +
          section_text(kLength, 40, "bending_stiffness = 0.05\nbend_servo = false\n"),
      "rod.toml");
  const SpecPtr spec = parse_spec(continuum_mjcf(robot));
  mjsBody* const hand = mjs_addBody(mjs_findBody(spec.get(), "world"), nullptr);
  mjs_setName(hand->element, "hand");
  hand->mocap = 1;
  hand->pos[2] = kLength;
  mjsEquality* const held = mjs_addEquality(spec.get(), nullptr);
  held->type = mjEQ_WELD;
  held->objtype = mjOBJ_BODY;
  held->solref[0] = 0.004;
  held->solimp[0] = held->solimp[1] = 0.9999;
  mjs_setString(held->name1, names::link(1, 40).c_str());
  mjs_setString(held->name2, "hand");
  Simulation simulation(spec.get());
  simulation.set_gravity(Eigen::Vector3d::Zero());
  for (int i = 0; i < simulation.model->nq; ++i)  // a hump, so that it knows which way to go
    simulation.data->qpos[i] = -0.01 * std::cos(2.0 * kPi * (i + 0.5) / 40.0);
  simulation.data->mocap_pos[2] -= kShortening;
  simulation.run(10.0);
  CHECK(simulation.speed() < 1e-4);
  const mjData& data = *simulation.data;
  REQUIRE(data.ne == 6);
  const double load = Eigen::Map<const Eigen::Vector3d>(data.efc_force).norm();
  const double euler = 4.0 * kPi * kPi * kStiffness / (kLength * kLength);
  CAPTURE(load / euler);
  CHECK(load == Approx(euler).epsilon(0.02));
}

TEST_CASE("statics: a section bent by nature rests as an arc, and servos hold it as commanded",
          "[mjcf]") {
  constexpr double kBend = 1.2, kDirection = 0.7, kLength = 0.1;
  const std::string natural = "natural_bend = 1.2\nnatural_direction = 0.7\n";
  struct Case {
    std::string name, keys;
    double theta, phi;  // at rest
  };
  const auto c = GENERATE_COPY(
      values<Case>({{"without a servo", "bend_servo = false\n", kBend, kDirection},
                    {"servo without a gain, commands 0", "bend_gain = 0\n", kBend, kDirection},
                    {"servos, told another bend", "", 0.8, -0.4}}));
  const std::string compliance = GENERATE("section", "link");
  CAPTURE(c.name, compliance);
  const ContinuumDescription robot = parse_as<ContinuumDescription>(
      "compliance = \"" + compliance + "\"\n" + section_text(kLength, 20, natural + c.keys),
      "arm.toml");
  Simulation simulation(continuum_mjcf(robot));
  simulation.set_gravity(Eigen::Vector3d::Zero());
  simulation.model->opt.timestep = 0.01;
  if (c.keys.empty()) {
    const SectionState state{.theta = c.theta, .phi = c.phi};
    simulation.command(robot, {&state, 1});
  }
  simulation.run(3.0);
  CHECK(simulation.speed() < kRestSpeed);
  const double radius = kLength / c.theta, across = radius * (1.0 - std::cos(c.theta));
  const Eigen::Vector3d arc(across * std::cos(c.phi), across * std::sin(c.phi),
                            radius * std::sin(c.theta));
  const Eigen::Vector3d tip = simulation.site_pose(names::kTip).translation();
  CAPTURE((tip - arc).norm() / kLength);
  CHECK((tip - arc).norm() < 3e-4 * kLength);
}

TEST_CASE("statics: a quarter circle pushed out of its plane bends and twists as a thin beam",
          "[mjcf]") {
  // Servos without gain hold the bend by a constant torque, so the forces on the joints vanish and
  // the compliance at the tip is the sum over the joints of J^2 / k. The beam:
  // R^3 ((pi/4) / EI + (3 pi/4 - 2) / GJ).
  struct Case {
    int links;
    double tolerance;
  };
  const auto c = GENERATE(values<Case>({{10, 0.017}, {20, 0.0045}, {40, 0.0012}}));
  constexpr double kPi = std::numbers::pi, kLength = 0.1, kStiffness = 0.05,
                   kTorsion = kStiffness / 1.3;
  const ContinuumDescription robot = parse_as<ContinuumDescription>(
      section_text(kLength, c.links,
                   "bending_stiffness = 0.05\npoisson_ratio = 0.3\nbend_gain = 0\n"),
      "arm.toml");
  CHECK(robot.physics[0].torsional_stiffness == Approx(kTorsion));
  const Simulation simulation(continuum_mjcf(robot));
  const mjModel& model = *simulation.model;
  CHECK(model.nv == 3 * c.links);
  const LinkLayout layout = link_layout(robot.kinematics().section(0), c.links);
  for (int j = 1; j <= c.links; ++j) {
    const int joint = simulation.id(mjOBJ_JOINT, names::hinge(1, j, 'y'));
    simulation.data->qpos[model.jnt_qposadr[joint]] =
        layout.bend_fraction[static_cast<std::size_t>(j - 1)] * kPi / 2.0;
  }
  mj_forward(&model, simulation.data.get());
  std::vector<mjtNum> J(static_cast<std::size_t>(3 * model.nv));
  mj_jacSite(&model, simulation.data.get(), J.data(), nullptr,
             simulation.id(mjOBJ_SITE, names::kTip));
  double compliance = 0.0;
  for (int i = 0; i < model.nv; ++i) {
    const double across = J[static_cast<std::size_t>(model.nv + i)];  // y, out of the plane
    compliance += across * across / model.jnt_stiffness[model.dof_jntid[i]];
  }
  const double radius = kLength / (kPi / 2.0);
  const double beam =
      std::pow(radius, 3) * (kPi / 4.0 / kStiffness + (3.0 * kPi / 4.0 - 2.0) / kTorsion);
  CAPTURE(c.links, compliance / beam - 1.0);
  CHECK(compliance == Approx(beam).epsilon(c.tolerance));
}

TEST_CASE("statics: a torque about the axis twists the tip by T L / GJ and bends nothing",
          "[mjcf]") {
  constexpr double kLength = 0.15, kTorsion = 0.03, kTorque = 0.1;
  const ContinuumDescription robot = parse_as<ContinuumDescription>(
      section_text(0.1, 5, "torsional_stiffness = 0.03\n") +
          section_text(0.05, 4,
                       "torsional_stiffness = 0.03\nlength_weights = [1, 2]\n"
                       "angle_weights = [2, 1]\n"),
      "arm.toml");
  Simulation simulation(continuum_mjcf(robot));
  simulation.set_gravity(Eigen::Vector3d::Zero());
  simulation.data->xfrc_applied[6 * simulation.id(mjOBJ_BODY, names::link(2, 4)) + 5] = kTorque;
  simulation.run(kSettlingTime);
  const Eigen::Isometry3d X_BT = simulation.site_pose(names::kTip);
  CHECK(std::atan2(X_BT(1, 0), X_BT(0, 0)) == Approx(kTorque * kLength / kTorsion).epsilon(1e-6));
  CHECK((X_BT.translation() - Eigen::Vector3d(0.0, 0.0, kLength)).norm() < 1e-9);
}

TEST_CASE("arc fidelity: the capsules of a bent section lie along its arc", "[mjcf]") {
  constexpr double kLength = 0.1, kBend = 2.0;
  constexpr int kLinks = 10;
  const Simulation simulation =
      settled(parse_as<ContinuumDescription>(section_text(kLength, kLinks), "arm.toml"),
              {{{kBend, 0.0, 0.0}}});
  // The arc turns about the y axis, its center at x = R. A chord of it is l^2/8R inside; joints are
  // on tangents, which cross l^2/8R outside.
  const double radius = kLength / kBend, link = kLength / kLinks;
  const double allowed = 1.1 * link * link / (8.0 * radius) + 1e-5;
  const mjModel& model = *simulation.model;
  for (int geom = 0; geom < model.ngeom; ++geom) {
    if (model.geom_type[geom] != mjGEOM_CAPSULE) continue;
    for (const double side : {-1.0, 0.0, 1.0}) {
      const Eigen::Vector3d center(simulation.data->geom_xpos + 3 * geom);
      const double* const R = simulation.data->geom_xmat + 9 * geom;
      const Eigen::Vector3d p =
          center + side * model.geom_size[3 * geom + 1] * Eigen::Vector3d(R[2], R[5], R[8]);
      const double off = std::hypot(p.x() - radius, p.z()) - radius;
      CAPTURE(geom, side, off);
      CHECK(std::abs(off) < allowed);
    }
  }
}
