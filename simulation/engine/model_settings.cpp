#include "simulation/engine/model_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "simulation/engine/engine.hpp"
#include "simulation/engine/engine_log.hpp"
#include "tendril/model/toml_fields.hpp"
#include "tendril/model_error.hpp"
#include "tendril/renamed.hpp"

namespace tendril::simulation {
namespace {

struct Integrator {
  const char* name;
  mjtIntegrator value;
};
constexpr Integrator kIntegrators[] = {{"Euler", mjINT_EULER},
                                       {"RK4", mjINT_RK4},
                                       {"implicit", mjINT_IMPLICIT},
                                       {"implicitfast", mjINT_IMPLICITFAST},
                                       {"discrete", mjINT_DISCRETE}};

struct NumberOption {
  const char* name;
  mjtNum mjOption::*member;
  Range range;
};
constexpr double kTiny = 1e-9;
constexpr double kHuge = 1e9;
constexpr NumberOption kNumberOptions[] = {
    {"timestep", &mjOption::timestep, {kTiny, 1.0}},  // s
    {"impratio", &mjOption::impratio, {kTiny, kHuge}},
    {"tolerance", &mjOption::tolerance, {0.0, 1.0}},
    {"ls_tolerance", &mjOption::ls_tolerance, {0.0, 1.0}},
    {"density", &mjOption::density, {0.0, kHuge}},      // kg/m^3
    {"viscosity", &mjOption::viscosity, {0.0, kHuge}},  // Pa s
};
struct CountOption {
  const char* name;
  int mjOption::*member;
  int low;
};
constexpr CountOption kCountOptions[] = {{"iterations", &mjOption::iterations, 1},
                                         {"ls_iterations", &mjOption::ls_iterations, 1},
                                         {"noslip_iterations", &mjOption::noslip_iterations, 0},
                                         {"ccd_iterations", &mjOption::ccd_iterations, 1}};
constexpr double kMaxIterations = 100000;

void apply_option(const Setting& setting, mjOption& present) {
  const std::string name = setting.key.substr(std::string("option.").size());
  for (const NumberOption& option : kNumberOptions) {
    if (name != option.name) continue;
    mjtNum& value = present.*option.member;
    value = setting_number(resolved(setting, {&value, 1}), option.range);
    return;
  }
  for (const CountOption& option : kCountOptions) {
    if (name != option.name) continue;
    const Range range{static_cast<double>(option.low), kMaxIterations};
    const double value = setting_number(setting, range);
    if (value != std::floor(value)) refuse(setting, "must be an integer " + to_string(range));
    present.*option.member = static_cast<int>(value);
    return;
  }
  if (name == "gravity") {
    const auto g = setting_numbers(resolved(setting, present.gravity), 3, 3,
                                   "must be three finite numbers in m/s^2");
    std::copy_n(g.begin(), 3, present.gravity);
    return;
  }
  if (name == "integrator") {
    const std::string word = setting_word(setting);
    for (const Integrator& integrator : kIntegrators) {
      if (word != integrator.name) continue;
      present.integrator = integrator.value;
      return;
    }
    refuse(setting, "must be Euler, RK4, implicit, implicitfast or discrete");
  }
  if (name == "cone") {
    const std::string word = setting_word(setting);
    if (word != "pyramidal" && word != "elliptic") refuse(setting, "must be pyramidal or elliptic");
    present.cone = word == "elliptic" ? mjCONE_ELLIPTIC : mjCONE_PYRAMIDAL;
    return;
  }
  std::vector<std::string_view> names{"gravity", "integrator", "cone"};
  for (const NumberOption& option : kNumberOptions) names.push_back(option.name);
  for (const CountOption& option : kCountOptions) names.push_back(option.name);
  refuse(setting,
         fmt::format("the option must be one of: {}{}", joined(names), meant_text(name, names)));
}

/// The fields of bodies and geoms that a setting may name.
constexpr std::string_view kBodyFields[] = {"offset", "mass"};
constexpr std::string_view kGeomFields[] = {"friction"};
constexpr std::string_view kJointFields[] = {"start"};

[[noreturn]] void refuse_field(const Setting& setting, std::string_view field,
                               std::span<const std::string_view> known) {
  refuse(setting,
         fmt::format("the field must be one of: {}{}", joined(known), meant_text(field, known)));
}

[[noreturn]] void refuse_prefix(const Setting& setting) {
  const std::string first = setting.key.substr(0, setting.key.find('.')) + ".";
  refuse(setting, fmt::format("unknown key{}, must begin with {}",
                              meant_text(first, kSettingPrefixes), joined(kSettingPrefixes)));
}

/// Splits `body.<pattern>.<field>`.
std::pair<std::string, std::string> pattern_and_field(const Setting& setting) {
  const std::size_t first = setting.key.find('.');
  const std::size_t last = setting.key.rfind('.');
  if (last == first) {
    refuse(setting, fmt::format("must be {}.<name>.<field>", setting.key.substr(0, first)));
  }
  return {setting.key.substr(first + 1, last - first - 1), setting.key.substr(last + 1)};
}

std::vector<int> matching(const mjModel& model, mjtObj type, int count,
                          const std::string& pattern) {
  std::vector<int> found;
  for (int i = 0; i < count; ++i) {
    const char* name = mj_id2name(&model, type, i);
    if (name != nullptr && name[0] != '\0' && matches(pattern, name)) found.push_back(i);
    if (pattern == "*" && (name == nullptr || name[0] == '\0')) found.push_back(i);
  }
  return found;
}

void apply_body(const Setting& setting, mjModel& model) {
  const auto [pattern, field] = pattern_and_field(setting);
  const std::vector<int> bodies =
      matching(model, mjOBJ_BODY, static_cast<int>(model.nbody), pattern);
  if (bodies.empty())
    refuse(setting,
           "the scene has no such body" + meant_object(model, mjOBJ_BODY, model.nbody, pattern));
  if (field == "offset") {
    const auto shift = setting_numbers(setting, 3, 3, "must be three finite numbers in m");
    for (const int body : bodies) {
      if (body == 0 || (model.body_weldid[body] != 0 && model.body_mocapid[body] < 0)) {
        refuse(setting, fmt::format("body '{}' must be static or mocap, it moves by joints",
                                    mj_id2name(&model, mjOBJ_BODY, body)));
      }
      const auto move = [&](mjtNum* position) {
        for (int k = 0; k < 3; ++k) position[k] += shift[static_cast<std::size_t>(k)];
      };
      move(model.body_pos + 3 * body);
      if (model.body_mocapid[body] < 0) continue;
      for (int key = 0; key < model.nkey; ++key)  // which would put it back
        move(model.key_mpos + 3 * (key * model.nmocap + model.body_mocapid[body]));
    }
  } else if (field == "mass") {
    for (const int body : bodies) {
      const double mass =
          setting_number(resolved(setting, {model.body_mass + body, 1}), {kTiny, kHuge});
      if (!(model.body_mass[body] > 0.0)) {
        refuse(setting,
               fmt::format("body '{}' has no mass to scale", mj_id2name(&model, mjOBJ_BODY, body)));
      }
      const double scale = mass / model.body_mass[body];
      model.body_mass[body] = mass;
      for (int k = 0; k < 3; ++k) model.body_inertia[3 * body + k] *= scale;
    }
  } else {
    refuse_field(setting, field, kBodyFields);
  }
}

void apply_geom(const Setting& setting, mjModel& model) {
  const auto [pattern, field] = pattern_and_field(setting);
  if (field != "friction") refuse_field(setting, field, kGeomFields);
  const std::vector<int> geoms =
      matching(model, mjOBJ_GEOM, static_cast<int>(model.ngeom), pattern);
  if (geoms.empty())
    refuse(setting,
           "the scene has no such geom" + meant_object(model, mjOBJ_GEOM, model.ngeom, pattern));
  constexpr const char* kAllowed = "must be one to three numbers >= 0: sliding, torsional, rolling";
  for (const int geom : geoms) {
    mjtNum* const present = model.geom_friction + 3 * geom;
    const auto friction = setting_numbers(resolved(setting, {present, 3}), 1, 3, kAllowed);
    if (std::any_of(friction.begin(), friction.end(), [](double f) { return f < 0.0; }))
      refuse(setting, kAllowed);
    std::copy(friction.begin(), friction.end(), present);
  }
}

void apply_joint(const Setting& setting, const mjModel& model, mjData& data) {
  const auto [pattern, field] = pattern_and_field(setting);
  if (field != "start") refuse_field(setting, field, kJointFields);
  const std::vector<int> joints =
      matching(model, mjOBJ_JOINT, static_cast<int>(model.njnt), pattern);
  if (joints.empty())
    refuse(setting,
           "the scene has no such joint" + meant_object(model, mjOBJ_JOINT, model.njnt, pattern));
  for (const int joint : joints) {
    if (model.jnt_type[joint] != mjJNT_HINGE && model.jnt_type[joint] != mjJNT_SLIDE)
      refuse(setting, fmt::format("joint '{}' must be a hinge or a slide",
                                  mj_id2name(&model, mjOBJ_JOINT, joint)));
    Range range;
    if (model.jnt_limited[joint] != 0)
      range = {model.jnt_range[2 * joint], model.jnt_range[2 * joint + 1]};
    mjtNum& position = data.qpos[model.jnt_qposadr[joint]];
    position = setting_number(resolved(setting, {&position, 1}), range);
    for (int i = 0; i < model.nu; ++i) {
      if (model.actuator_trntype[i] == mjTRN_JOINT && model.actuator_trnid[2 * i] == joint &&
          model.actuator_biasprm[i * mjNBIAS + 1] < 0.0)  // a position servo
        data.ctrl[model.actuator_ctrladr[i]] = position;
    }
  }
}

}  // namespace

void apply_start_settings(std::span<const Setting> settings, const mjModel& model, mjData& data) {
  for (const Setting& setting : settings)
    if (setting.key.starts_with("joint.")) apply_joint(setting, model, data);
}

void apply_model_settings(std::span<const Setting> settings, mjModel& model) {
  bool constants_changed = false;
  for (const Setting& setting : settings) {
    if (setting.key.starts_with("option.")) {
      apply_option(setting, model.opt);
    } else if (setting.key.starts_with("geom.")) {
      apply_geom(setting, model);
    } else if (setting.key.starts_with("body.")) {
      apply_body(setting, model);
      constants_changed = true;
    } else if (!setting.key.starts_with("robot.") && !setting.key.starts_with("controller.") &&
               !setting.key.starts_with("joint.") && !setting.key.starts_with("motion.") &&
               !setting.key.starts_with("fault.")) {
      const bool is_option =
          setting.origin == "--set" &&
          (setting.key == "duration" || setting.key == "seed" || setting.key == "controller");
      if (!is_option) refuse_prefix(setting);
      refuse(setting, fmt::format("is no setting: must be given as --{} {}", setting.key,
                                  setting.value.text()));
    }
  }
  if (constants_changed) {
    const DataPtr data = make_data(model);
    const std::string error = guarded([&] { mj_setConst(&model, data.get()); });
    if (!error.empty()) throw ModelError(fmt::format("mj_setConst: {}", one_line(error)));
  }
}

mjOption option_with(std::span<const Setting> settings, mjOption option) {
  for (const Setting& setting : settings)
    if (setting.key.starts_with("option.")) apply_option(setting, option);
  return option;
}

const char* integrator_name(int integrator) noexcept {
  for (const Integrator& known : kIntegrators) {
    if (integrator == known.value) return known.name;
  }
  return "unknown";
}

}  // namespace tendril::simulation
