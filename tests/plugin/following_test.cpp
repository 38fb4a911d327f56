// A body that does not do what is commanded, and servos that cannot be driven.

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/plugin/test_scenes.hpp"

using namespace tendril::test;

namespace {

constexpr double kWorking = 0.0, kNotFollowing = 8.0, kServoLost = 9.0, kBlocked = 11.0;
constexpr int kArrived = 700, kSecond = 500;  // steps
constexpr double kPull = 30.0;                // on a tip [N]

double status(const ModelPtr& model, const DataPtr& data) {
  return sensor(model, data, "A_status")[0];
}

int actuator(const ModelPtr& model, const char* name) {
  const int id = mj_name2id(model.get(), mjOBJ_ACTUATOR, name);
  REQUIRE(id >= 0);
  return id;
}

int cut_tendon(const ModelPtr& model, const char* name) {
  const int tendon = mj_name2id(model.get(), mjOBJ_TENDON, name);
  REQUIRE(tendon >= 0);
  for (int i = 0; i < model->tendon_num[tendon]; ++i)
    model->wrap_prm[model->tendon_adr[tendon] + i] = 1e-9;
  return tendon;
}

/// An arm at rest at its target.
struct Arm {
  ModelPtr model;
  DataPtr data;
  explicit Arm(const std::string& settings = "")
      : model(load_one_arm(reach_arm(settings))), data(make_data(model)) {
    EngineWarnings::take();
    step(model, data, kArrived);
    CHECK(status(model, data) == kWorking);
    CHECK(sensor(model, data, "A_following_error")[0] < 0.01);
  }
};

}  // namespace

TEST_CASE("plugin: an arm that cannot do what is commanded says so, and when it can again",
          "[plugin]") {
  Arm arm;
  const auto [name, breaks] = GENERATE(values<std::pair<std::string, void (*)(const ModelPtr&)>>(
      {{"tendon", [](const ModelPtr& m) { cut_tendon(m, "A_s1_y"); }},
       {"mass",
        [](const ModelPtr& m) {
          for (int i = 0; i < m->nbody; ++i) m->body_mass[i] *= 100.0;
        }},
       {"force", [](const ModelPtr& m) {
          for (int i = 0; i < m->nu; ++i) {
            m->actuator_forcerange[2 * i] = -0.001;
            m->actuator_forcerange[2 * i + 1] = 0.001;
          }
        }}}));
  CAPTURE(name);
  const ModelPtr good(mj_copyModel(nullptr, arm.model.get()));
  breaks(arm.model);
  step(arm.model, arm.data, 2 * kSecond);
  CHECK(status(arm.model, arm.data) == kNotFollowing);
  CHECK(sensor(arm.model, arm.data, "A_following_error")[0] > 0.05);
  step(good, arm.data, 6 * kSecond);
  CHECK(status(good, arm.data) == kWorking);
  EngineWarnings::take();
}

TEST_CASE("plugin: an arm whose tip is pulled follows while its correction keeps the tip in place",
          "[plugin]") {
  const bool corrects = GENERATE(true, false);
  CAPTURE(corrects);
  Arm arm(corrects ? "" : "integral_gain = 0\n");
  const int tip = arm.model->nbody - 2;  // the last link; the target is the last body
  arm.data->xfrc_applied[6 * tip + 1] = kPull;
  step(arm.model, arm.data, 4 * kSecond);
  CHECK(sensor(arm.model, arm.data, "A_following_error")[0] > 0.05);
  CHECK((sensor(arm.model, arm.data, "A_tip_error")[0] < 1e-3) == corrects);
  CHECK(status(arm.model, arm.data) == (corrects ? kWorking : kNotFollowing));
  EngineWarnings::take();
}

TEST_CASE("plugin: tolerance and time of following are settings", "[plugin]") {
  const auto [settings, expected] =
      GENERATE(values<std::pair<std::string, double>>({{"following_time = 0.1\n", kNotFollowing},
                                                       {"following_time = 10\n", kWorking},
                                                       {"following_tolerance = 100\n", kWorking}}));
  Arm arm(settings);
  cut_tendon(arm.model, "A_s1_y");
  step(arm.model, arm.data, kSecond);
  CHECK(status(arm.model, arm.data) == expected);
}

TEST_CASE("plugin: an arm that is held back by a contact is known by its tip alone", "[plugin]") {
  load_tendril();
  const ModelPtr model =
      load_scene_text(one_arm_scene(R"(<body name="target" mocap="true" pos="0.07 0 0.07"/>
                       <geom type="box" pos="0.1 0 0.045" size="0.05 0.05 0.025"/>)"),
                      {{"arm.toml", reach_arm()}});
  const DataPtr data = make_data(model);
  step(model, data, 4 * kSecond);
  CAPTURE(sensor(model, data, "A_tip_error")[0], sensor(model, data, "A_following_error")[0]);
  CHECK(data->ncon > 0);
  CHECK(sensor(model, data, "A_following_error")[0] ==
        Approx(sensor(model, data, "A_tip_error")[0] / 0.05));
  CHECK(status(model, data) == kBlocked);  // says more than that it does not follow
}

TEST_CASE("plugin: a body that rests on something far from its plan is not following", "[plugin]") {
  // The tip touches, so that no joint counts; the target moves on, so that the command never
  // arrives: only the distance from the plan tells.
  load_tendril();
  const ModelPtr model =
      load_scene_text(one_arm_scene(R"(<body name="target" mocap="true" pos="0.1 0 0.04"/>
                       <body name="plate" mocap="true" pos="0.1 0 -0.1"><geom type="box" size="0.03 0.2 0.02"/></body>)"),
                      {{"arm.toml", reach_arm("rate_limit = 0.2\n")}});
  const DataPtr data = make_data(model);
  step(model, data, kArrived);
  CHECK(status(model, data) == kWorking);
  double contacts = 0.0;
  for (int i = 0; i < 4 * kSecond; ++i) {
    data->mocap_pos[5] = std::min(0.08, data->mocap_pos[5] + 0.0005);  // lifts the arm
    data->mocap_pos[1] = 0.04 * std::sin(0.01 * i);
    step(model, data, 1);
    contacts += data->ncon > 0 ? 1.0 : 0.0;
  }
  CAPTURE(sensor(model, data, "A_following_error")[0], sensor(model, data, "A_tip_error")[0]);
  CHECK(contacts > 2 * kSecond);
  CHECK(status(model, data) == kNotFollowing);
}

TEST_CASE("plugin: a fed snake that leaves its path is not following", "[plugin]") {
  // Every joint is within 0.05 rad of its command all the time.
  const ModelPtr model = load_file("scenes/snake_path/snake_path.xml");
  const auto weak = GENERATE(false, true);
  const DataPtr data = make_data(model);
  const auto status = [&] { return sensor(model, data, "S_status")[0]; };
  step(model, data, 5 * kSecond);
  CHECK(status() == kWorking);
  if (weak) model->body_mass[mj_name2id(model.get(), mjOBJ_BODY, "S_link_16")] += 0.4;
  int off = 0, steps = 0;
  for (; steps < 18 * kSecond; ++steps) {
    step(model, data, 1);
    off += status() == kNotFollowing ? 1 : 0;
  }
  CAPTURE(off, sensor(model, data, "S_following_error")[0]);
  CHECK((off > kSecond) == weak);
  CHECK((off == 0) == !weak);
  EngineWarnings::take();
}

TEST_CASE("plugin: a servo that cannot be driven is lost alone, and said once", "[plugin]") {
  Arm arm;
  const int lost = actuator(arm.model, GENERATE("A_s1_x", "A_s2_y"));
  const auto how = GENERATE(range(0, 4));
  CAPTURE(lost, how);
  const ModelPtr good(mj_copyModel(nullptr, arm.model.get()));
  mjtNum* const gain = arm.model->actuator_gainprm + lost * mjNGAIN;
  if (how == 0) *gain = 0.0;
  if (how == 1) *gain = -1.0;
  if (how == 2)
    arm.model->actuator_forcerange[2 * lost] = arm.model->actuator_forcerange[2 * lost + 1] = 0.0;
  if (how == 3) {
    arm.model->actuator_group[lost] = 3;
    arm.model->opt.disableactuator = 1 << 3;
  }
  arm.data->mocap_pos[1] += 0.02;
  const std::vector<mjtNum> before(arm.data->ctrl, arm.data->ctrl + arm.model->nu);
  step(arm.model, arm.data, 50);
  CHECK(status(arm.model, arm.data) == kServoLost);
  CHECK(arm.data->warning[mjWARN_BADCTRL].number == 0);
  int moved = 0;
  for (int i = 0; i < arm.model->nu; ++i)
    moved += arm.data->ctrl[i] != before[static_cast<std::size_t>(i)];
  CHECK(moved >= 3);
  const auto warnings = EngineWarnings::take();
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::Contains("instance 'A_controller': servo ") &&
                              Catch::Contains(mj_id2name(arm.model.get(), mjOBJ_ACTUATOR, lost)) &&
                              Catch::Contains(" is lost"));
  step(good, arm.data, 4 * kSecond);
  CHECK(status(good, arm.data) == kWorking);
  CHECK(sensor(good, arm.data, "A_tip_error")[0] < 1e-4);
}

TEST_CASE("plugin: a setpoint that the engine would refuse loses its servo, not the arm",
          "[plugin]") {
  // A refused control zeroes all of them. The gains are those of the model when data is made.
  const double gain = GENERATE(0.0, 1e-300, 1e-12, std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::infinity());
  CAPTURE(gain);
  const ModelPtr model = load_one_arm(reach_arm());
  model->actuator_gainprm[mjNGAIN * actuator(model, "A_s2_x")] = gain;
  const DataPtr data = make_data(model);
  data->mocap_pos[1] += 0.03;
  EngineWarnings::take();
  step(model, data, 20);
  CHECK(status(model, data) == kServoLost);
  CHECK(data->warning[mjWARN_BADCTRL].number == 0);
  CHECK(data->ctrl[actuator(model, "A_s1_y")] != 0.0);
  for (int i = 0; i < model->nu; ++i) CHECK(mju_isBad(data->ctrl[i]) == 0);
  EngineWarnings::take();
}
