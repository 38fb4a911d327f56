// Measurements of contacts, of deflections and of the fundamental mode that an arm's controller
// gets, against the physics. The tip response: the tip at rest, for a command a little more, moves
// by it.

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "plugin/controller_plugin.hpp"
#include "tests/plugin/test_scenes.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

/// Command of the controller below, and its last measurement.
struct Probe {
  double bend = 0.0, across = 0.0, feed = 0.0;
  Eigen::Matrix<double, 6, Eigen::Dynamic> response;
  std::vector<MeasuredContact> contacts;
  Eigen::Vector3d tip, deflection, end_deflection;
  double tip_twist;
  double fundamental_mode_damping;
};
Probe probe;

/// Bends all sections alike, those after the first across the plane too, and holds the feed.
class ProbeController : public ArmController {
 public:
  static std::span<const SettingInfo> settings() {
    static constexpr std::array<SettingInfo, 0> kNone{};
    return kNone;
  }
  static constexpr Quantity kQuantities[] = {quantity::kProgress};

  explicit ProbeController(const ArmContext& context) : sections_(context.robot.section_count()) {}
  void update(const ArmMeasurement& measurement, std::span<const double> /*memory*/,
              std::span<double> /*next_memory*/, ArmCommand& command,
              ControllerReport& /*report*/) override {
    for (int i = 0; i < sections_; ++i) {
      command.q[2 * i] = probe.bend;
      if (i > 0) command.q[2 * i + 1] = probe.across;
    }
    command.base.feed = probe.feed;
    probe.response = measurement.tip_response;
    probe.contacts = measurement.contacts;
    probe.tip = measurement.X_BE.translation();
    probe.deflection = measurement.gravity_deflection;
    probe.end_deflection = measurement.uneven_deflection.rowwise().sum();
    probe.tip_twist = measurement.tip_twist;
    probe.fundamental_mode_damping = measurement.fundamental_mode_damping;
  }
  [[nodiscard]] bool senses_contacts() const noexcept override { return true; }

 private:
  int sections_;
};

struct Arm {
  std::string name, toml, scene;
  double bend, feed;
};

/// A post is on the +x side, so that an arm that bends there lies on it.
std::string post_scene(const std::string& x) {
  return R"(<mujoco model="post">
  <option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10" iterations="100" gravity="0 0 0"/>
  <default><geom solref="-300000 -1100" solimp="0.99 0.999 0.0005"/></default>
  <asset><model name="arm" file="arm.toml"/></asset>
  <worldbody>
    <attach model="arm" body="base" prefix="A_"/>
    <geom name="post" type="capsule" fromto=")" +
         x + " -0.05 0.1 " + x + R"( 0.05 0.1" size="0.02" contype="2" conaffinity="1"
      priority="1" friction="0"/>
  </worldbody>
</mujoco>)";
}

std::string section(const std::string& more) {
  return "[[section]]\nconstant_length = 0.1\nbend_limit = 3\nlinks = 10\nradius = 0.008\nmass = "
         "0.03\n"
         "bending_stiffness = 0.05\ndamping_time = 0.2\n" +
         more;
}

void register_probe() {
  [[maybe_unused]] static const bool registered = [] {
    load_tendril();
    register_controller<ProbeController>("test.probe");
    return true;
  }();
}
constexpr const char* kProbe = "[controller]\nplugin = \"test.probe\"\n";

DataPtr settled(const ModelPtr& model, double bend, double feed) {
  probe.bend = bend;
  probe.feed = feed;
  DataPtr data = make_data(model);
  step(model, data, 4000);
  return data;
}

}  // namespace

TEST_CASE("plugin: the tip response is the derivative of the tip at rest, contacts kept",
          "[plugin]") {
  register_probe();
  const std::string controller = kProbe;
  const auto arm = GENERATE_COPY(values<Arm>({
      {"servos on links",
       "compliance = \"link\"\n" + section("bend_gain = 1\n") + section("bend_gain = 1\n") +
           controller,
       post_scene("0.05"), 0.5, 0.0},
      {"servos on sections",
       section("bend_gain = 0.5\n") + section("bend_gain = 0.5\n") + controller, post_scene("0.05"),
       0.5, 0.0},
      // Where a joint leaves the guide the derivative jumps: not near there.
      {"elastic, fed through a guide",
       "compliance = \"link\"\nplanar = true\n[base]\nfeed = 0.1\nguide_length = "
       "0.05\nguide_clearance "
       "= 0.0001\n" +
           section("bend_gain = 0\n") + section("bend_gain = 0\n") + controller,
       post_scene("0.033"), 0.6, 0.0333},
      {"the same, fed farther",
       "compliance = \"link\"\nplanar = true\n[base]\nfeed = 0.1\nguide_length = "
       "0.05\nguide_clearance "
       "= 0.0001\n" +
           section("bend_gain = 0\n") + section("bend_gain = 0\n") + controller,
       post_scene("0.035"), 0.6, 0.036},
  }));
  CAPTURE(arm.name);
  const ModelPtr model = load_scene_text(arm.scene, {{"arm.toml", arm.toml}});

  (void)settled(model, arm.bend, arm.feed);
  const Probe at = probe;
  const bool touches = std::any_of(at.contacts.begin(), at.contacts.end(),
                                   [](const MeasuredContact& c) { return !c.is_guide; });
  REQUIRE(touches);
  for (const MeasuredContact& contact : at.contacts) {
    CHECK(contact.normal.norm() == Approx(1.0));
    if (!contact.is_guide) CHECK(contact.normal.x() < -0.5);  // the post pushes the arm to -x
    CHECK(contact.depth >= 0.0);
  }

  constexpr double kBendStep = 0.01, kFeedStep = 5e-4;
  (void)settled(model, arm.bend + kBendStep, arm.feed);
  const Eigen::Vector3d bend_rate = (probe.tip - at.tip) / kBendStep;
  const Eigen::Vector3d expected = (at.response.col(0) + at.response.col(2)).head<3>();
  CAPTURE(bend_rate.transpose(), expected.transpose());
  CHECK((bend_rate - expected).norm() < 0.1 * bend_rate.norm());

  if (arm.feed > 0.0) {
    (void)settled(model, arm.bend, arm.feed + kFeedStep);
    const Eigen::Vector3d feed_rate = (probe.tip - at.tip) / kFeedStep;
    const Eigen::Vector3d by_response = at.response.col(at.response.cols() - 1).head<3>();
    CAPTURE(feed_rate.transpose(), by_response.transpose());
    CHECK((feed_rate - by_response).norm() < 0.15 * feed_rate.norm());
  }
}

TEST_CASE("plugin: a contact tells whether a force moves what is touched", "[plugin]") {
  register_probe();
  struct Post {
    std::string before, after;
    bool is_fixed;
  };
  const auto post = GENERATE(
      values<Post>({{"", "", true},
                    {R"(<body mocap="true">)", "</body>", true},
                    {R"(<body><joint type="slide" axis="1 0 0" stiffness="1000" damping="10"/>)",
                     "</body>", false}}));
  CAPTURE(post.before);
  std::string scene = post_scene("0.05");
  const std::size_t begin = scene.find("<geom name");
  scene.insert(scene.find("/>", begin) + 2, post.after);
  scene.insert(begin, post.before);
  const std::string arm = section("bend_gain = 0.5\n") + section("bend_gain = 0.5\n") + kProbe;
  (void)settled(load_scene_text(scene, {{"arm.toml", arm}}), 0.5, 0.0);
  REQUIRE(!probe.contacts.empty());
  for (const MeasuredContact& contact : probe.contacts) CHECK(contact.is_fixed == post.is_fixed);
}

TEST_CASE("plugin: the contacts of a link bear the force of the step before", "[plugin]") {
  register_probe();
  const ModelPtr model = load_scene_text(
      post_scene("0.05"), {{"arm.toml", "compliance = \"link\"\n" + section("bend_gain = 1\n") +
                                            section("bend_gain = 1\n") + kProbe}});
  probe.bend = 0.5;
  probe.feed = 0.0;
  const DataPtr data = make_data(model);
  double last = 0.0, largest = 0.0;
  for (int k = 0; k < 2000; ++k) {
    mj_step(model.get(), data.get());
    double told = 0.0;
    for (const MeasuredContact& contact : probe.contacts) told += contact.force;
    // Nothing is measured of a link that has lost its last contact.
    if (!probe.contacts.empty()) {
      REQUIRE(told <= last * (1.0 + 1e-12));
      if (k > 1500) REQUIRE(told == Approx(last));
    }
    last = 0.0;
    for (int c = 0; c < data->ncon; ++c) {
      mjtNum force[6];
      mj_contactForce(model.get(), data.get(), c, force);
      last += force[0];
    }
    largest = std::max(largest, last);
  }
  CHECK(last > 0.1);
  CHECK(largest < 1e3);
}

TEST_CASE("plugin: the ends of the sections are displaced as the uneven deflection tells",
          "[plugin]") {
  register_probe();
  constexpr const char* kScene = R"(<mujoco model="sag">
  <option timestep="0.002" integrator="discrete" iterations="100" gravity="0 98.1 0"/>
  <asset><model name="arm" file="arm.toml"/></asset>
  <worldbody><attach model="arm" body="base" prefix="A_"/></worldbody>
</mujoco>)";
  const std::string plane = GENERATE("", "bend_plane = \"yz\"\n");
  CAPTURE(plane);
  const std::string servo = "bend_gain = 60\nbend_torque_limit = 8\n";
  const ModelPtr model = load_scene_text(
      kScene, {{"arm.toml", section(servo) + section(servo + plane) + section(servo) + kProbe}});
  probe.across = 0.5;
  const DataPtr data = settled(model, 0.9, 0.0);
  probe.across = 0.0;
  const auto joint = [&](int section, int link, char axis) {
    const std::string name =
        "A_s" + std::to_string(section) + "_l" + std::to_string(link) + "_" + axis;
    return mj_name2id(model.get(), mjOBJ_JOINT, name.c_str());
  };
  const auto end = [&] {
    return Eigen::Vector3d(
        Eigen::Map<const Eigen::Vector3d>(&data->xanchor[3 * joint(3, 10, 'y')]));
  };
  const Eigen::Vector3d sagged = end();
  // The same bends, of which each joint has its fraction.
  for (int section = 1; section <= 3; ++section) {
    for (const char axis : {'x', 'y'}) {
      if (joint(section, 1, axis) < 0) continue;  // it bends in the other plane alone
      double bend = 0.0, compliance = 0.0;
      for (int link = 1; link <= 10; ++link) {
        const int j = joint(section, link, axis);
        bend += data->qpos[model->jnt_qposadr[j]];
        compliance += 1.0 / model->jnt_stiffness[j];
      }
      for (int link = 1; link <= 10; ++link) {
        const int j = joint(section, link, axis);
        data->qpos[model->jnt_qposadr[j]] = bend / model->jnt_stiffness[j] / compliance;
      }
    }
  }
  mj_kinematics(model.get(), data.get());
  const Eigen::Vector3d moved = sagged - end();
  CAPTURE(moved.transpose(), probe.end_deflection.transpose());
  CHECK(moved.norm() > 0.003);
  CHECK((probe.end_deflection - moved).norm() < 0.1 * moved.norm());
}

TEST_CASE("plugin: commands of an arm that twists bring it to where it was without twist",
          "[plugin]") {
  register_probe();
  const std::string compliance = GENERATE("", "compliance = \"link\"\n");
  CAPTURE(compliance);
  constexpr const char* kScene = R"(<mujoco model="across">
  <option timestep="0.002" integrator="discrete" iterations="100" gravity="0 9.81 0"/>
  <asset><model name="arm" file="arm.toml"/></asset>
  <worldbody><attach model="arm" body="base" prefix="A_"/></worldbody>
</mujoco>)";
  const auto held = [&](const std::string& torsion) {  // bent by 90 degrees across gravity
    const std::string toml = compliance + section(torsion) + section(torsion) + kProbe;
    (void)settled(load_scene_text(kScene, {{"arm.toml", toml}}), 0.785, 0.0);
    return probe;
  };
  const Probe rigid = held(""), twisted = held("torsional_stiffness = 0.02\n");
  const Eigen::Vector3d moved = twisted.tip - rigid.tip;
  const Eigen::Vector3d predicted = twisted.deflection - rigid.deflection;
  CAPTURE(moved.transpose(), predicted.transpose(), twisted.tip_twist);
  // What the whole twist would do; only what it does within the sections is left, as predicted.
  const double whole = std::abs(twisted.tip_twist) * rigid.tip.head<2>().norm();
  CHECK(std::abs(twisted.tip_twist) > 0.05);
  CHECK(moved.norm() < 0.1 * whole);
  CHECK((moved - predicted).norm() < 0.02 * whole);
  // The last section's end, in its last joint, is half a link before the tip.
  const Eigen::Vector3d of_end = twisted.end_deflection - rigid.end_deflection;
  CHECK((of_end - predicted).norm() < 0.02 * whole);
}

TEST_CASE("plugin: the damping of the slowest swing is that of the engine's equations",
          "[plugin]") {
  register_probe();
  const std::string compliance = GENERATE("", "compliance = \"link\"\n");
  const std::string toml = compliance + "[base]\nfeed = 0.1\n" + section("bend_gain = 0.5\n") +
                           section("bend_gain = 0.3\nvariable_length = 0.02\n") + kProbe;
  const ModelPtr model = load_scene_text(post_scene("0.3"), {{"arm.toml", toml}});
  const DataPtr data = make_data(model);
  mj_step(model.get(), data.get());
  mj_resetData(model.get(), data.get());
  mj_forward(model.get(), data.get());

  // x' (K, C) y by differences of the forces, with the feed held.
  const int n = static_cast<int>(model->nv);
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> M(n, n);
  mj_fullM(model.get(), data.get(), M.data());
  model->opt.disableflags |= mjDSBL_CONTACT | mjDSBL_GRAVITY;
  const std::vector<double> held(data->ctrl, data->ctrl + model->nu);
  const auto forces = [&](const Eigen::VectorXd& q, const Eigen::VectorXd& v) -> Eigen::VectorXd {
    std::copy_n(q.data(), n, data->qpos);
    std::copy_n(v.data(), n, data->qvel);
    mj_fwdPosition(model.get(), data.get());
    mj_fwdVelocity(model.get(), data.get());
    std::copy(held.begin(), held.end(), data->ctrl);  // the servos' commands rest
    mj_fwdActuation(model.get(), data.get());
    return Eigen::Map<const Eigen::VectorXd>(data->qfrc_passive, n) +
           Eigen::Map<const Eigen::VectorXd>(data->qfrc_actuator, n);
  };
  const Eigen::VectorXd start = Eigen::Map<const Eigen::VectorXd>(model->qpos0, n);
  const Eigen::VectorXd rest = Eigen::VectorXd::Zero(n);
  constexpr double kStep = 1e-5;
  Eigen::MatrixXd K(n, n), C(n, n);
  for (int i = 0; i < n; ++i) {
    const Eigen::VectorXd e = kStep * Eigen::VectorXd::Unit(n, i);
    K.col(i) = (forces(start - e, rest) - forces(start + e, rest)) / (2.0 * kStep);
    C.col(i) = (forces(start, -e) - forces(start, e)) / (2.0 * kStep);
  }
  // `discrete` damps a spring or servo by its stiffness times the timestep.
  REQUIRE(model->opt.integrator == mjINT_DISCRETE);
  C += model->opt.timestep * K;
  const int feed =
      static_cast<int>(model->jnt_dofadr[mj_name2id(model.get(), mjOBJ_JOINT, "A_feed")]);
  K.row(feed).setZero();
  K.col(feed).setZero();
  K(feed, feed) = 1e9;
  const Eigen::GeneralizedSelfAdjointEigenSolver<Eigen::MatrixXd> modes(0.5 * (K + K.transpose()),
                                                                        Eigen::MatrixXd(M));
  const Eigen::VectorXd mode = modes.eigenvectors().col(0);  // mode' M mode = 1
  CHECK(probe.fundamental_mode_damping == Approx(mode.dot(C * mode)).epsilon(1e-4));
}
