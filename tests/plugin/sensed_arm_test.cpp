// Arms whose controllers see what an estimator makes of their sensors.

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <regex>

#include "binding/arm_controllers.hpp"
#include "binding/arm_model.hpp"
#include "binding/fundamental_mode.hpp"
#include "plugin/bound_mechanism.hpp"
#include "plugin/robot_binding.hpp"
#include "tendril/model/robot_description.hpp"
#include "tests/plugin/test_scenes.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"

using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;

namespace {

std::string table(const std::string& kind, const std::string& name, const std::string& keys = "") {
  return "[[sensor]]\nkind = \"" + kind + "\"\nname = \"" + name + "\"\n" + keys;
}
const std::string kTracker = table("tip_tracker", "tip");
const std::string kEncoder = table("bend_encoder", "bend");

/// An arm that sees its sensors.
ModelPtr sensed(const std::string& sensors, const std::string& more = "",
                const std::string& settings = "") {
  return load_one_arm(reach_arm("measured = \"sensors\"\n" + settings, more) + sensors);
}

std::vector<mjtNum> controls(const ModelPtr& model, const DataPtr& data) {
  return {data->ctrl, data->ctrl + model->nu};
}

/// The bends and lengths of the joints of both sections, as `measured` has them: in frames that do
/// not turn with the sections.
Eigen::VectorXd true_coordinates(const ModelPtr& model, const DataPtr& data, double half_length) {
  const int size = half_length > 0.0 ? 3 : 2;
  Eigen::VectorXd q = Eigen::VectorXd::Zero(2 * size);
  const std::regex pattern("A_s(\\d)_l\\d+_([xyz])");
  for (int j = 0; j < model->njnt; ++j) {
    std::cmatch match;
    if (!std::regex_match(mj_id2name(model.get(), mjOBJ_JOINT, j), match, pattern)) continue;
    const int section = std::stoi(match[1]) - 1;
    const char axis = *match[2].first;
    const double angle = data->qpos[model->jnt_qposadr[j]];
    q[size * section + (axis == 'y' ? 0 : axis == 'x' ? 1 : 2)] += axis == 'x' ? -angle : angle;
  }
  for (int i = 0; i < 2 && size == 3; ++i) q[3 * i + 2] += half_length;
  double turn = 0.0;
  for (int i = 0; i < 2; ++i) {
    const std::string name = "A_s" + std::to_string(i + 1) + "_turn";
    const int joint = mj_name2id(model.get(), mjOBJ_JOINT, name.c_str());
    if (joint < 0) continue;
    turn += data->qpos[model->jnt_qposadr[joint]];
    q.segment<2>(size * i) = Eigen::Rotation2Dd(turn) * Eigen::Vector2d(q.segment<2>(size * i));
  }
  return q;
}

Eigen::Map<Vector3d> target(const mjModel& model, const mjData& data) {
  const int body = mj_name2id(&model, mjOBJ_BODY, "target");
  return Eigen::Map<Vector3d>(data.mocap_pos + 3 * model.body_mocapid[body]);
}
Eigen::Map<Vector3d> target(const ModelPtr& model, const DataPtr& data) {
  return target(*model, *data);
}

std::string tendons(const std::string& keys) {
  std::string all;
  for (int i = 0; i < 6; ++i)
    all += "[[tendon]]\nname = \"t" + std::to_string(i) +
           "\"\nsection = " + std::to_string(1 + i / 3) +
           "\nangle = " + std::to_string(2.0944 * (i % 3) + 0.3 * (i / 3)) +
           "\ndistance = 0.006\nmax_tension = 200\npretension = 2\n" + keys;
  return all;
}

}  // namespace

TEST_CASE("arm chain: joints, weights and the tip are where the engine has them", "[plugin]") {
  const auto seed = GENERATE(range(0u, 12u));
  CAPTURE(seed);
  Random random(seed);
  const std::string more = seed % 2 == 0 ? "" : "variable_length = 0.03\n";
  std::string arm = reach_arm("", more + (seed % 4 < 2   ? ""
                                          : seed % 8 < 4 ? "torsional_stiffness = 0.05\n"
                                                         : "rotation = \"turning\"\n"));
  if (seed % 3 == 1) arm += "[base]\nfeed = 0.1\nspin = true\n";
  if (seed % 3 == 2) arm += "[tip]\npayload = 0.02\n[gripper]\nopening = 0.04\n";
  const ModelPtr model = load_one_arm(arm);
  const mjModel* m = model.get();
  const DataPtr data = make_data(model);
  for (int i = 0; i < m->nq; ++i)
    data->qpos[i] += (m->jnt_type[i] == mjJNT_SLIDE ? 0.01 : 0.3) * random.uniform(-1.0, 1.0);
  const Mechanism mechanism = bound_mechanism(m, {"A_", ""});
  const ArmModel parts(mechanism, parse_as<ContinuumDescription>(arm, "arm.toml"), {});
  const auto address_of = [&](int joint) {
    return joint < 0 ? JointAddress()
                     : joint_address(m, mechanism.joints[static_cast<std::size_t>(joint)].id);
  };
  std::vector<JointAddress> joints;
  for (const int joint : parts.joints) joints.push_back(address_of(joint));
  std::vector<JointAddress> twists, turns;
  for (const int joint : parts.twists) twists.push_back(address_of(joint));
  for (const int joint : parts.turns) turns.push_back(address_of(joint));
  const JointAddress feed = address_of(parts.feed), spin = address_of(parts.spin);
  for (int j = 0; j < m->njnt; ++j) {  // those of the gripper stay where the model has them
    if (std::string(mj_id2name(m, mjOBJ_JOINT, j)).starts_with("A_s") || j == feed.joint ||
        j == spin.joint)
      continue;
    data->qpos[m->jnt_qposadr[j]] = m->qpos0[m->jnt_qposadr[j]];
  }
  mj_forward(m, data.get());
  const int base = mj_name2id(m, mjOBJ_BODY, "A_base"), tip = mj_name2id(m, mjOBJ_SITE, "A_tip");
  ArmChain chain = parts.chain(mechanism);
  ArmMechanics::State state, expected;
  state.joints.resize(joints.size());
  expected.joints.resize(joints.size());
  state.twists.hinges.resize(twists.size());
  expected.twists.hinges.resize(twists.size());
  state.turns.resize(turns.size());
  expected.turns.resize(turns.size());
  state.p_WB = ConstVector3(data->xpos + 3 * base);
  state.R_WB = ConstMatrix3(data->xmat + 9 * base);
  const auto copy = [&](const JointAddress& address, JointState& to, JointState& all) {
    if (address.joint < 0) return;
    address.read(data.get(), all);
    to.position = all.position;
  };
  for (std::size_t i = 0; i < joints.size(); ++i)
    copy(joints[i], state.joints[i], expected.joints[i]);
  for (std::size_t i = 0; i < twists.size(); ++i)
    copy(twists[i], state.twists.hinges[i], expected.twists.hinges[i]);
  for (std::size_t i = 0; i < turns.size(); ++i) copy(turns[i], state.turns[i], expected.turns[i]);
  copy(feed, state.feed, expected.feed);
  copy(spin, state.spin, expected.spin);
  chain.place(state);
  const auto check = [](const JointState& a, const JointState& b) {
    CHECK((a.axis - b.axis).norm() < 1e-12);
    CHECK((a.anchor - b.anchor).norm() < 1e-12);
    CHECK((a.center_of_mass - b.center_of_mass).norm() < 1e-12);
  };
  for (std::size_t i = 0; i < joints.size(); ++i) check(state.joints[i], expected.joints[i]);
  for (std::size_t i = 0; i < twists.size(); ++i)
    check(state.twists.hinges[i], expected.twists.hinges[i]);
  for (std::size_t i = 0; i < turns.size(); ++i) check(state.turns[i], expected.turns[i]);
  if (feed.joint >= 0) check(state.feed, expected.feed);
  if (spin.joint >= 0) check(state.spin, expected.spin);
  CHECK((state.p_WE - ConstVector3(data->site_xpos + 3 * tip)).norm() < 1e-12);
  CHECK((state.R_WE - ConstMatrix3(data->site_xmat + 9 * tip)).norm() < 1e-12);
  double mass = 0.0;
  for (const ArmChain::Mass& one : chain.masses()) mass += one.mass;
  CHECK(mass == Approx(m->body_subtreemass[base]).epsilon(1e-12));
}

TEST_CASE("twist: in no shape does it swing with less damping than is known", "[plugin]") {
  const auto seed = GENERATE(range(0u, 10u));
  CAPTURE(seed);
  Random random(seed);
  const std::string arm = reach_arm("", "torsional_stiffness = 0.02\n") + "[tip]\npayload = 0.02\n";
  const ModelPtr model = load_one_arm(arm);
  const mjModel* m = model.get();
  const DataPtr data = make_data(model);
  const Mechanism mechanism = bound_mechanism(m, {"A_", ""});
  const ArmModel parts(mechanism, parse_as<ContinuumDescription>(arm, "arm.toml"), {});
  const double bound = twist_damping(mechanism, parts);
  REQUIRE(parts.twists.size() == 8);
  std::vector<int> dofs;
  for (const int joint : parts.twists)
    dofs.push_back(m->jnt_dofadr[mechanism.joints[std::size_t(joint)].id]);
  const double bend = random.uniform(0.0, 0.8);  // all to one side, by up to 3 rad
  for (const int joint : parts.joints) {
    const int id = mechanism.joints[std::size_t(joint)].id;
    if (m->jnt_axis[3 * id + 1] != 0.0) data->qpos[m->jnt_qposadr[id]] = bend;
  }
  mj_forward(m, data.get());
  Eigen::MatrixXd all(m->nv, m->nv);  // symmetric
  mj_fullM(m, data.get(), all.data());
  const Eigen::Index n = std::ptrdiff_t(dofs.size());
  Eigen::MatrixXd M(n, n), K = Eigen::MatrixXd::Zero(n, n), C = K;
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < n; ++j) M(i, j) = all(dofs[std::size_t(i)], dofs[std::size_t(j)]);
    K(i, i) = mechanism.joints[std::size_t(parts.twists[std::size_t(i)])].stiffness;
    C(i, i) = mechanism.joint_damping(parts.twists[std::size_t(i)]);
  }
  const Eigen::GeneralizedSelfAdjointEigenSolver<Eigen::MatrixXd> modes(K, M);
  const Eigen::VectorXd slowest = modes.eigenvectors().col(0);  // of mass 1
  CAPTURE(bend, std::sqrt(modes.eigenvalues()[0]));
  CHECK(bound > 0.0);
  CHECK(slowest.dot(C * slowest) >= bound);
  if (bend > 0.35) CHECK(slowest.dot(C * slowest) < 30.0 * bound);  // and not for nothing
}

TEST_CASE("sensed arm: with exact sensors it is where it says, however it is driven", "[plugin]") {
  struct Case {
    const char* name;
    std::string toml;
    double half_length = 0.0;
  };
  const std::string settings = "[controller]\nplugin = \"tendril.reach\"\nmeasured = \"sensors\"\n";
  const std::string head = "kind = \"continuum\"\n", encoders = table("tendon_encoder", "winch");
  const auto c = GENERATE_COPY(values<Case>({
      {"servos of sections", head + small_sections() + settings + kTracker + kEncoder},
      {"servos of links",
       "compliance = \"link\"\n" + head + small_sections() + settings + kTracker + kEncoder},
      {"variable length",
       head + small_sections("variable_length = 0.03\n") + settings + kTracker + kEncoder +
           table("length_encoder", "length"),
       0.015},
      {"tensions", head + small_sections() + tendons("command = \"tension\"\n") + settings +
                       kTracker + encoders},
      {"tendon lengths", head + small_sections() + tendons("") + settings + kTracker + encoders},
      {"measured tensions", head + small_sections() + tendons("") + settings + kTracker + encoders +
                                table("tendon_force", "cell")},
      {"drums and tensions", head + small_sections() + tendons("") + settings + kTracker +
                                 table("drum_encoder", "drum") + table("tendon_force", "cell")},
      {"drums",
       head + small_sections() + tendons("") + settings + kTracker + table("drum_encoder", "drum")},
      {"an imu before the rest", head + small_sections() + settings +
                                     table("imu", "imu", "places = [1]\n") + kTracker + kEncoder},
      {"a load on the base",
       head + small_sections() + settings + kTracker + kEncoder + table("base_force", "force")},
      {"gratings", head + small_sections() + settings + kTracker +
                       table("curvature", "fiber", "places = [0.1, 0.3, 0.6, 0.8]\n")},
      {"markers", head + small_sections() + settings + kTracker +
                      table("markers", "marker", "places = [0.25, 0.5, 0.75]\n")},
      {"one plane",
       head + small_sections("bend_plane = \"xz\"\n") + settings + kTracker + kEncoder},
      {"sections that turn", head + small_sections("rotation = \"turning\"\n") + settings +
                                 kTracker + kEncoder +
                                 table("curvature", "fiber", "places = [0.1, 0.3, 0.6, 0.8]\n")},
      {"links that twist",
       head + small_sections("torsional_stiffness = 0.05\n") + settings + kTracker + kEncoder},
      {"a guide", "compliance = \"link\"\n" + head + "[base]\nfeed = 0.06\nguide_length = 0.04\n" +
                      small_sections() + settings + kTracker + kEncoder},
      {"a payload",
       head + small_sections() + "[tip]\npayload = 0.02\n" + settings + kTracker + kEncoder},
  }));
  CAPTURE(c.name);
  const ModelPtr model = load_one_arm(c.toml);
  std::string by_truth = c.toml;
  by_truth.replace(by_truth.find("sensors\""), 8, "truth\"");
  const ModelPtr true_model = load_one_arm(by_truth);
  const DataPtr data = make_data(model), true_data = make_data(true_model);
  const Vector3d start = target(model, data);
  double worse = 0.0, seen_tip = 0.0;
  Eigen::VectorXd difference;
  for (int k = 0; k < 2500; ++k) {
    const double t = std::max(0.0, k - 1000.0) * 0.002;
    target(model, data) = start + 0.01 * std::sin(1.5 * t) * Vector3d::UnitZ();
    target(true_model, true_data) = target(model, data);
    mj_step(model.get(), data.get());
    mj_step(true_model.get(), true_data.get());
    if (k < 1000) continue;
    const auto seen = sensor(model, data, "A_measured"), at = sensor(model, data, "A_measured_tip"),
               truth = sensor(model, data, "A_tip_position");
    worse = std::max(worse, sensor(model, data, "A_tip_error")[0] -
                                sensor(true_model, true_data, "A_tip_error")[0]);
    seen_tip = std::max(seen_tip, (ConstVector3(at.data()) - ConstVector3(truth.data())).norm());
    difference = Eigen::Map<const Eigen::VectorXd>(seen.data(), std::ptrdiff_t(seen.size())) -
                 true_coordinates(model, data, c.half_length);
  }
  CAPTURE(worse, seen_tip, difference.transpose());
  CHECK(worse < 1e-3);
  CHECK(seen_tip < 1e-3);
  CHECK(difference.cwiseAbs().maxCoeff() < 0.02);
}

TEST_CASE("sensed arm: what no sensor has read does not change a command", "[plugin]") {
  // One reading in 0.2 s: a blow that bends the body at once is not known until the next one.
  const ModelPtr model = sensed(table("tip_tracker", "tip", "rate = 5\n"));
  const DataPtr data = make_data(model);
  step(model, data, 430);
  const DataPtr other(mj_copyData(nullptr, model.get(), data.get()));
  for (int i = 0; i < model->nq; ++i) other->qpos[i] += 0.02;
  int k = 430;
  for (; k < 500; ++k) {
    step(model, data, 1);
    step(model, other, 1);
    REQUIRE(controls(model, data) == controls(model, other));
  }
  step(model, data, 1);
  step(model, other, 1);
  CHECK(controls(model, data) != controls(model, other));
}

namespace {

const std::string kNothing = table("tip_tracker", "tip", "noise = [10, 100]\n");

/// Tip error of the estimate, root of the mean square over the last second of 4 s, of an arm that
/// nothing tells of the force on its tip [m].
/// @param act  called before each step
double tip_error(const std::string& sensors, unsigned seed,
                 const std::function<void(int, mjModel&, mjData&)>& act) {
  const ModelPtr model = load_one_arm(
      "kind = \"continuum\"\n" + small_sections() + tendons("stiffness = 5000\n") +
      "[controller]\nplugin = \"tendril.reach\"\nmeasured = \"sensors\"\nsensor_seed = " +
      std::to_string(seed) + "\n" + sensors);
  const DataPtr data = make_data(model);
  const int tip = mj_name2id(model.get(), mjOBJ_SITE, "A_tip"),
            base = mj_name2id(model.get(), mjOBJ_BODY, "A_base");
  double squares = 0.0;
  for (int k = 0; k < 2000; ++k) {
    act(k, *model, *data);
    mj_step(model.get(), data.get());
    const Vector3d p_WE = ConstVector3(data->site_xpos + 3 * tip),
                   p_WB = ConstVector3(data->xpos + 3 * base);
    const Vector3d p_BE = ConstMatrix3(data->xmat + 9 * base).transpose() * (p_WE - p_WB);
    const auto seen = sensor(model, data, "A_measured_tip");
    if (k >= 1500) squares += (ConstVector3(seen.data()) - p_BE).squaredNorm() / 500.0;
  }
  return std::sqrt(squares);
}

/// The same over eight seeds, each with another force of 0.3 to 1 N.
double tip_error_under_loads(const std::string& sensors) {
  double squares = 0.0;
  for (unsigned seed = 0; seed < 8; ++seed) {
    Random random(seed);
    const double size = random.uniform(0.3, 1.0);
    const Vector3d force = size * random.unit_vector();
    const double error = tip_error(sensors, seed, [&](int k, mjModel& model, mjData& data) {
      const int tip = model.site_bodyid[mj_name2id(&model, mjOBJ_SITE, "A_tip")];
      if (k == 500) Eigen::Map<Vector3d>(data.xfrc_applied + 6 * tip) = force;
    });
    squares += error * error / 8.0;
  }
  return std::sqrt(squares);
}

const std::string kDrums = table("drum_encoder", "drum", "resolution = 1e-5\n");

}  // namespace

TEST_CASE("sensed arm: drums with tensions tell as much as lengths of the tendons", "[plugin]") {
  // Tendons of 5000 N/m. 0.1 N of noise are 20 um of length.
  const std::string cells = table("tendon_force", "cell", "noise = 0.1\n"),
                    exact = table("tendon_force", "cell");
  const double drums = tip_error_under_loads(kDrums + cells),
               lengths = tip_error_under_loads(table("tendon_encoder", "winch", "noise = 2e-5\n") +
                                               cells),
               exact_drums = tip_error_under_loads(kDrums + exact),
               exact_lengths = tip_error_under_loads(
                   table("tendon_encoder", "winch", "resolution = 1e-5\n") + exact),
               alone = tip_error_under_loads(kDrums);
  CAPTURE(drums, lengths, exact_drums, exact_lengths, alone);
  CHECK(exact_drums < 1.1 * exact_lengths);
  CHECK(drums < 1.4 * lengths);
  // A drum alone does not move when a load stretches its tendon.
  CHECK(alone > 4.0 * drums);
  CHECK(alone < 0.005);
}

TEST_CASE("sensed arm: drums alone tell of a servo that is stuck", "[plugin]") {
  // While the target moves on. A tracker of next to no information leaves the arm to its commands.
  const auto wait = [](int, mjModel&, mjData&) {};
  const auto stick = [](int k, mjModel& model, mjData& data) {
    if (k != 700) return;
    const int a = mj_name2id(&model, mjOBJ_ACTUATOR, "A_t4");
    mjtNum& gain = model.actuator_gainprm[mjNGAIN * a];
    model.actuator_biasprm[mjNBIAS * a] += gain * data.ctrl[model.actuator_ctrladr[a]];
    gain = 0.0;
    target(model, data) += Vector3d(0.0, 0.03, -0.02);
  };
  const double drums = tip_error(kDrums, 1, stick), well = tip_error(kDrums, 1, wait),
               commands = tip_error(kNothing, 1, stick);
  CAPTURE(drums, well, commands);
  CHECK(well < 1e-3);
  CHECK(drums < 1e-3);
  CHECK(commands > 5.0 * drums);
}

TEST_CASE("sensed arm: what is reported of the tip is true", "[plugin]") {
  const ModelPtr model = sensed(table("tip_tracker", "tip", "noise = [0.02, 0.1]\n"));
  const DataPtr data = make_data(model);
  double apart = 0.0;
  for (int k = 0; k < 500; ++k) {
    mj_step(model.get(), data.get());
    const auto tip = sensor(model, data, "A_tip_position"),
               seen = sensor(model, data, "A_measured_tip"), goal = sensor(model, data, "A_target");
    const Vector3d p = ConstVector3(tip.data());
    apart = std::max(apart, (p - ConstVector3(seen.data())).norm());
    REQUIRE(sensor(model, data, "A_tip_error")[0] ==
            Approx((p - ConstVector3(goal.data())).norm()).margin(1e-12));
  }
  CHECK(apart > 1e-3);
}

TEST_CASE("sensed arm: a copy, a restored state and a reset continue bit for bit", "[plugin]") {
  const ModelPtr model =
      sensed(table("tip_tracker", "tip",
                   "noise = [1e-3, 0.01]\nrate = 50\ndelay = 0.02\ndropout = 0.1\n") +
             table("bend_encoder", "bend", "noise = 1e-3\n") + table("base_force", "force"));
  check_continues(model, {"A_measured", "A_measured_tip"});
}

TEST_CASE("sensed arm: a step allocates nothing", "[plugin]") {
  const ModelPtr model =
      sensed(table("tip_tracker", "tip", "rate = 40\ndelay = 0.02\n") + kEncoder +
             table("curvature", "fiber", "places = [0.2, 0.8]\n") + table("base_force", "force"));
  const DataPtr data = make_data(model);
  step(model, data, 50);
  const AllocationCounter counter;
  step(model, data, 200);
  CHECK(counter.count() == 0);
}

TEST_CASE("sensed arm: what no estimator describes is refused", "[plugin]") {
  struct Case {
    const char* name;
    std::string toml;
    const char* message;
  };
  const std::string settings = "measured = \"sensors\"\n";
  const auto c = GENERATE_COPY(values<Case>({
      {"no sensors", reach_arm(settings), "the robot file has no [[sensor]] that tells the shape"},
      {"an imu alone", reach_arm(settings) + table("imu", "imu", "places = [1]\n"),
       "the robot file has no [[sensor]] that tells the shape"},
      {"a task of contacts in a guide",
       "kind = \"continuum\"\ncompliance = \"link\"\n[base]\nfeed = 0.1\nguide_length = 0.05\n" +
           small_sections() + "[controller]\nplugin = \"tendril.touch\"\n" + settings + kTracker +
           table("base_force", "force"),
       "the controller works by contacts, and the arm has a guide, which it touches"},
      {"a task of contacts",
       "kind = \"continuum\"\n" + small_sections() + "[controller]\nplugin = \"tendril.touch\"\n" +
           settings + kTracker,
       "tendril.touch works by the force at the tip, of which a [[sensor]] of kind = "},
      {"a word", reach_arm("measured = \"both\"\n") + kTracker, "must be one of"},
  }));
  CAPTURE(c.name);
  load_tendril();
  std::string error;
  const ModelPtr model = try_load_scene(one_arm_scene(), {{"arm.toml", c.toml}}, error);
  const DataPtr data(model ? mj_makeData(model.get()) : nullptr);
  CHECK_FALSE(data);
  std::string all = error;
  for (const std::string& warning : EngineWarnings::take()) all += warning;
  CHECK_THAT(all, Catch::Contains(c.message));
}

TEST_CASE("sensed arm: a grip needs encoders of driven bends", "[plugin]") {
  const ControllerKind& coil =
      *std::ranges::find(built_in_controllers(), "tendril.coil", &ControllerKind::name);
  const auto requires_sensors = [&](const std::string& more, const std::string& sensors) {
    require_sensed_contacts(
        coil, ContactNeed::Grip,
        parse_as<ContinuumDescription>(
            "kind = \"continuum\"\nname = \"arm\"\n" + small_sections(more) + sensors, "arm.toml"));
  };

  CHECK_NOTHROW(requires_sensors("", kEncoder));
  const char* const message =
      "tendril.coil works by the moments of servos, of which a [[sensor]] of kind = "
      "\"bend_encoder\" would tell";
  CHECK_THROWS_WITH(requires_sensors("", kTracker), Catch::Contains(message));
  CHECK_THROWS_WITH(requires_sensors("bend_servo = false\n", kTracker), Catch::Contains(message));
}
