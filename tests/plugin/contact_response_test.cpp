// The tip response of an arm in contact against the physics: the tip at rest, for a command a
// little more, moves by it.

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "plugin/controller_plugin.hpp"
#include "tests/plugin/test_scenes.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

/// What the controller below commands, and what it was shown last.
struct Probe {
  double bend = 0.0, feed = 0.0;
  Eigen::Matrix<double, 6, Eigen::Dynamic> response;
  std::vector<MeasuredContact> contacts;
  Eigen::Vector3d tip;
};
Probe probe;

/// Bends all sections alike and holds the feed.
class ProbeController : public ArmController {
 public:
  static std::span<const SettingInfo> settings() {
    static constexpr std::array<SettingInfo, 0> kNone{};
    return kNone;
  }
  static constexpr Quantity kQuantities[] = {quantity::kProgress};

  explicit ProbeController(const ArmContext& context)
      : sections_(context.robot.section_count()) {}
  void update(const ArmMeasurement& measurement, std::span<const double> /*memory*/,
              std::span<double> /*next_memory*/, ArmCommand& command,
              ControllerReport& /*report*/) override {
    for (int i = 0; i < sections_; ++i) command.q[2 * i] = probe.bend;
    command.base.feed = probe.feed;
    probe.response = measurement.tip_response;
    probe.contacts = measurement.contacts;
    probe.tip = measurement.X_BE.translation();
  }
  [[nodiscard]] bool senses_contacts() const noexcept override { return true; }

 private:
  int sections_;
};

struct Arm {
  std::string name, toml, scene;
  double bend, feed;
};

/// A post stands on the +x side, so that an arm that bends there lies on it.
std::string post_scene(const std::string& x) {
  return R"(<mujoco model="post">
  <option timestep="0.002" integrator="discrete" cone="elliptic" iterations="100" gravity="0 0 0"/>
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
  [[maybe_unused]] static const bool registered = [] {
    load_tendril();
    register_controller<ProbeController>("test.probe");
    return true;
  }();
  const std::string controller = "[controller]\nplugin = \"test.probe\"\n";
  const auto arm = GENERATE_COPY(values<Arm>({
      {"servos on links",
       "compliance = \"link\"\n" + section("bend_gain = 1\n") + section("bend_gain = 1\n") +
           controller,
       post_scene("0.05"), 0.5, 0.0},
      {"servos on sections",
       section("bend_gain = 0.5\n") + section("bend_gain = 0.5\n") + controller, post_scene("0.05"),
       0.5, 0.0},
      {"elastic, fed through a guide",
       "compliance = \"link\"\nplanar = true\n[base]\nfeed = 0.1\nguide_length = "
       "0.05\nguide_clearance "
       "= 0.0001\n" +
           section("bend_gain = 0\n") + section("bend_gain = 0\n") + controller,
       post_scene("0.034"), 0.6, 0.0333},
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
