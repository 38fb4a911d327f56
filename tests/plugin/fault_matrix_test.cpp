// All controllers in all their modes against faults of state, target, servos and time: no crash, no
// false success, nothing left of the fault when it has ended.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "tests/plugin/test_scenes.hpp"

using namespace tendril::test;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(),
                 kInfinity = std::numeric_limits<double>::infinity();
constexpr double kWorking = 0.0, kFinished = 1.0, kInvalidTarget = 4.0, kFault = 5.0,
                 kNotFollowing = 8.0, kServoLost = 9.0, kNoProgress = 10.0;
constexpr int kStart = 20, kSteps = 4;

/// A controller of a scene.
struct Controlled {
  std::string prefix, plugin, target;
  int mocap = -1;  // of its target
};

std::vector<Controlled> controllers_of(const ModelPtr& model) {
  std::vector<Controlled> all;
  for (int i = 0; i < model->nplugin; ++i) {
    const std::string_view suffix = "controller";
    const std::string name = mj_id2name(model.get(), mjOBJ_PLUGIN, i);
    REQUIRE(std::string_view(name).ends_with(suffix));
    Controlled one{name.substr(0, name.size() - suffix.size()),
                   mjp_getPluginAtSlot(model->plugin[i])->name, "", -1};
    const char* const target = mj_getPluginConfig(model.get(), i, "target");
    one.target = target ? target : "";
    const int body = mj_name2id(model.get(), mjOBJ_BODY, one.target.c_str());
    if (body >= 0) one.mocap = model->body_mocapid[body];
    all.push_back(std::move(one));
  }
  REQUIRE_FALSE(all.empty());
  return all;
}

/// The value of a quantity; nothing if the controller does not report it.
std::optional<double> quantity(const ModelPtr& model, const DataPtr& data, const Controlled& one,
                               const char* name) {
  const int id = mj_name2id(model.get(), mjOBJ_SENSOR, (one.prefix + name).c_str());
  if (id < 0) return std::nullopt;
  return data->sensordata[model->sensor_adr[id]];
}

double status(const ModelPtr& model, const DataPtr& data, const Controlled& one) {
  return quantity(model, data, one, "status").value();
}

bool all_finite(const mjtNum* values, mjtSize count) {
  return std::all_of(values, values + count, [](double value) { return std::isfinite(value); });
}

/// Checks what holds after every step, whatever the fault.
void check_honest(const ModelPtr& model, const DataPtr& data,
                  const std::vector<Controlled>& controllers) {
  for (mjtSize i = 0; i < model->nu; ++i) {
    CAPTURE(i);
    CHECK(mju_isBad(data->ctrl[i]) == 0);
  }
  for (const Controlled& one : controllers) {
    CAPTURE(one.prefix, one.plugin);
    const double said = status(model, data, one);
    CHECK(said == std::floor(said));
    CHECK(said >= 0.0);
    CHECK(said <= kNoProgress);
    if (said != kWorking && said != kFinished) continue;
    for (const char* name : {"tip_error", "angle_error", "following_error", "progress"}) {
      CAPTURE(name);
      CHECK(std::isfinite(quantity(model, data, one, name).value_or(0.0)));
    }
    // A tip error that is said is the tip's.
    const int site = mj_name2id(model.get(), mjOBJ_SITE, (one.prefix + "tip").c_str());
    const auto error = quantity(model, data, one, "tip_error");
    if (model->opt.integrator == mjINT_RK4) continue;  // sensors are those of its last stage
    if (!error || one.plugin != "tendril.reach" || site < 0) continue;
    const double distance = mju_dist3(data->site_xpos + 3 * site, data->mocap_pos + 3 * one.mocap);
    CHECK(*error == Approx(distance).margin(1e-9));
  }
}

void expect(const ModelPtr& model, const DataPtr& data, const std::vector<Controlled>& controllers,
            double status_of_all) {
  for (const Controlled& one : controllers) {
    CAPTURE(one.prefix, one.plugin);
    CHECK(status(model, data, one) == status_of_all);
  }
}

bool follows_target(const Controlled& one) {
  return one.mocap >= 0 && (one.plugin == "tendril.reach" || one.plugin == "tendril.mobile" ||
                            one.plugin == "tendril.base_placement");
}

struct Fault {
  const char* name;
  /// Does it to the model or to the state.
  std::function<void(mjModel&, mjData&)> begin;
  /// Check of what the controllers must say, in addition to `check_honest`.
  std::function<void(const ModelPtr&, const DataPtr&, const std::vector<Controlled>&)> told = {};
};

void to_targets(mjModel& model, mjData& data, double x, double quaternion) {
  for (int i = 0; i < model.nplugin; ++i) {
    const char* const target = mj_getPluginConfig(&model, i, "target");
    const int body = mj_name2id(&model, mjOBJ_BODY, target ? target : "");
    if (body < 0) continue;
    const int mocap = model.body_mocapid[body];
    data.mocap_pos[3 * mocap] = x;
    std::fill_n(data.mocap_quat + 4 * mocap, 4, quaternion);
  }
}

void scale_servos(mjModel& model, mjtSize first, mjtSize last, double scale) {
  for (mjtSize i = first; i < last; ++i)
    for (int k = 0; k < 3; ++k) {
      model.actuator_gainprm[i * mjNGAIN + k] *= scale;
      model.actuator_biasprm[i * mjNBIAS + k] *= scale;
    }
}

const std::vector<Fault>& faults() {
  const auto invalid_target = [](const ModelPtr& m, const DataPtr& d, const auto& controllers) {
    for (const Controlled& one : controllers) {
      CAPTURE(one.prefix, one.plugin);
      if (follows_target(one)) CHECK(status(m, d, one) == kInvalidTarget);
    }
  };
  const auto not_following = [](const ModelPtr& m, const DataPtr& d, const auto& controllers) {
    expect(m, d, controllers, kNotFollowing);
  };
  const auto all_lost = [](const ModelPtr& m, const DataPtr& d, const auto& controllers) {
    expect(m, d, controllers, kServoLost);
  };
  const auto one_lost = [](const ModelPtr& m, const DataPtr& d, const auto& controllers) {
    CHECK(std::count_if(controllers.begin(), controllers.end(), [&](const Controlled& one) {
            return status(m, d, one) == kServoLost;
          }) == 1);
  };
  static const std::vector<Fault> all{
      {"target not a number", [](mjModel& m, mjData& d) { to_targets(m, d, kNaN, 0.5); },
       invalid_target},
      {"target infinite", [](mjModel& m, mjData& d) { to_targets(m, d, kInfinity, 0.5); },
       invalid_target},
      {"target too large for numbers", [](mjModel& m, mjData& d) { to_targets(m, d, 1e200, 0.5); }},
      {"target without direction", [](mjModel& m, mjData& d) { to_targets(m, d, 0.1, kNaN); }},
      {"target far", [](mjModel& m, mjData& d) { to_targets(m, d, 10.0, 0.5); }},
      {"target at the origin", [](mjModel& m, mjData& d) { to_targets(m, d, 0.0, 0.5); }},
      // The engine would let everything collide with everything.
      {"state not a number",
       [](mjModel& m, mjData& d) {
         m.opt.disableflags |= mjDSBL_CONTACT;
         std::fill_n(d.qpos, m.nq, kNaN);
       },
       not_following},
      {"speed infinite",
       [](mjModel& m, mjData& d) {
         m.opt.disableflags |= mjDSBL_CONTACT;
         std::fill_n(d.qvel, m.nv, kInfinity);
       },
       not_following},
      {"kick",
       [](mjModel& m, mjData& d) {
         for (mjtSize i = 0; i < m.nv; ++i) d.qvel[i] += i % 2 == 0 ? 20.0 : -20.0;
       }},
      {"robot elsewhere",
       [](mjModel& m, mjData& d) {
         for (mjtSize i = 0; i < m.nq; ++i) d.qpos[i] += i % 2 == 0 ? 0.3 : -0.3;
       }},
      {"first servo dead", [](mjModel& m, mjData&) { scale_servos(m, 0, 1, 0.0); }, one_lost},
      {"last servo dead", [](mjModel& m, mjData&) { scale_servos(m, m.nu - 1, m.nu, 0.0); },
       one_lost},
      {"all servos dead", [](mjModel& m, mjData&) { scale_servos(m, 0, m.nu, 0.0); }, all_lost},
      {"servos weak", [](mjModel& m, mjData&) { scale_servos(m, 0, m.nu, 1e-6); }},
      {"no actuation", [](mjModel& m, mjData&) { m.opt.disableflags |= mjDSBL_ACTUATION; },
       all_lost},
      {"heavy",
       [](mjModel& m, mjData&) {
         for (mjtSize i = 0; i < m.nbody; ++i) m.body_mass[i] *= 100.0;
       }},
      {"gravity turned over", [](mjModel& m, mjData&) { m.opt.gravity[2] *= -3.0; }},
      {"gravity not a number", [](mjModel& m, mjData&) { m.opt.gravity[2] = kNaN; }},  // none
      {"step doubled", [](mjModel& m, mjData&) { m.opt.timestep *= 2.0; }},
      {"step quartered", [](mjModel& m, mjData&) { m.opt.timestep /= 4.0; }},
      {"time ahead", [](mjModel&, mjData& d) { d.time += 1e6; }},
      {"time back", [](mjModel&, mjData& d) { d.time = -1e6; }},
      {"other integrator", [](mjModel& m, mjData&) { m.opt.integrator = mjINT_RK4; }},
  };
  return all;
}

}  // namespace

TEST_CASE("plugin: no fault is taken for success, and none leaves a trace", "[plugin]") {
  const char* const file = GENERATE(from_range(kControllerScenes));
  CAPTURE(file);
  const ModelPtr model = load_file(file);
  model->opt.disableflags |= mjDSBL_AUTORESET;  // a state that is not finite would be reset
  const DataPtr data = make_data(model);
  if (model->nkey > 0) mj_resetDataKeyframe(model.get(), data.get(), 0);
  const std::vector<Controlled> controllers = controllers_of(model);
  step(model, data, kStart);
  check_honest(model, data, controllers);
  EngineWarnings::take();
  const std::vector<mjtNum> good = full_state(model, data);
  step(model, data, kSteps);
  const std::vector<mjtNum> undisturbed = full_state(model, data);

  for (const Fault& fault : faults()) {
    CAPTURE(fault.name);
    const ModelPtr broken(mj_copyModel(nullptr, model.get()));
    mj_setState(model.get(), data.get(), good.data(), mjSTATE_INTEGRATION);
    fault.begin(*broken, *data);
    for (int i = 0; i < kSteps; ++i) {
      CAPTURE(i);
      mj_step(broken.get(), data.get());
      check_honest(broken, data, controllers);
      for (const Controlled& one : controllers) CHECK(status(broken, data, one) != kFault);
    }
    if (fault.told) fault.told(broken, data, controllers);

    // Back in the good state the run continues as if nothing had been.
    mj_setState(model.get(), data.get(), good.data(), mjSTATE_INTEGRATION);
    step(model, data, kSteps);
    check_honest(model, data, controllers);
    CHECK(same_bits(full_state(model, data), undisturbed));
  }
  EngineWarnings::take();
}

TEST_CASE("plugin: a snake that is taken off its pole is not well again", "[plugin]") {
  const ModelPtr model = load_file("scenes/snake_pole/snake_pole.xml");
  const DataPtr data = make_data(model);
  mj_resetDataKeyframe(model.get(), data.get(), 0);
  const std::vector<Controlled> controllers = controllers_of(model);
  constexpr int kClimbs = 2000, kFalls = 400;
  step(model, data, kClimbs);
  expect(model, data, controllers, kWorking);
  data->qpos[0] += 0.5;
  data->qpos[2] += 0.5;
  step(model, data, kFalls);
  expect(model, data, controllers, kNoProgress);
}

TEST_CASE("plugin: a target that was invalid is followed again at once", "[plugin]") {
  const char* const file = GENERATE(from_range(kControllerScenes));
  CAPTURE(file);
  const ModelPtr model = load_file(file);
  const DataPtr data = make_data(model);
  const std::vector<Controlled> controllers = controllers_of(model);
  step(model, data, kStart);
  const std::vector<mjtNum> positions(data->mocap_pos, data->mocap_pos + 3 * model->nmocap);
  std::fill_n(data->mocap_pos, 3 * model->nmocap, kNaN);
  step(model, data, kSteps);
  std::copy(positions.begin(), positions.end(), data->mocap_pos);
  step(model, data, kSteps);
  check_honest(model, data, controllers);
  for (const Controlled& one : controllers) {
    CAPTURE(one.prefix, one.plugin);
    CHECK(status(model, data, one) != kInvalidTarget);
    CHECK(status(model, data, one) != kFault);
  }
  CHECK(all_finite(data->qpos, model->nq));
  EngineWarnings::take();
}

TEST_CASE("plugin: after a reset nothing is left of any fault", "[plugin]") {
  const char* const file = GENERATE(from_range(kControllerScenes));
  CAPTURE(file);
  const ModelPtr model = load_file(file);
  const DataPtr fresh = make_data(model), used = make_data(model);
  step(model, fresh, kSteps);
  step(model, used, kSteps);
  for (mjtSize i = 0; i < model->nmocap; ++i) used->mocap_pos[3 * i] += 0.3;
  for (mjtSize i = 0; i < model->nv; ++i) used->qvel[i] += 10.0;
  std::fill_n(used->plugin_state, model->npluginstate, kNaN);
  step(model, used, kSteps);
  mj_resetData(model.get(), used.get());
  step(model, used, kSteps);
  CHECK(same_bits(full_state(model, used), full_state(model, fresh)));
  EngineWarnings::take();
}
