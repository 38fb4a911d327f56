#include "simulation/experiment/prepared_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "simulation/engine/divergence.hpp"
#include "simulation/engine/engine_log.hpp"
#include "simulation/engine/model_settings.hpp"
#include "simulation/experiment/experiment_plausibility.hpp"
#include "simulation/experiment/settings_json.hpp"
#include "simulation/scene/model_tables.hpp"
#include "simulation/scene/start_checks.hpp"
#include "tendril/model/fault_file.hpp"
#include "tendril/model_error.hpp"
#include "tendril/notice.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril::simulation {

namespace {

constexpr double kMaxSteps = 1e9;

/// Refuses a shift of a body whose motion says itself where it is.
void refuse_offset(const Setting& setting, std::span<const Motion> motions) {
  constexpr std::string_view kBody = "body.", kOffset = ".offset";
  const std::string& key = setting.key;
  if (!key.starts_with(kBody) || !key.ends_with(kOffset) ||
      key.size() <= kBody.size() + kOffset.size())
    return;
  const std::string pattern = key.substr(kBody.size(), key.size() - kBody.size() - kOffset.size());
  for (const Motion& motion : motions) {
    if (motion.body.empty() || !matches(pattern, motion.body)) continue;
    if (motion.kind != MotionKind::Waypoints && !motion.center) continue;
    refuse(setting, fmt::format("the [[motion]] of {} gives its position: shift the {} of that",
                                motion.body, motion.center ? "center" : "points"));
  }
}

}  // namespace

PreparedRun compile_run(const Experiment& experiment, const RunChanges& changes) {
  const StandardArithmetic standard;
  std::vector<Setting> settings = experiment.settings_for(changes.seed.value_or(experiment.seed));
  if (!changes.controller.empty()) {
    settings.push_back(
        {.key = "controller.plugin", .value = {changes.controller}, .origin = "--controller"});
  }
  settings.insert(settings.end(), changes.settings.begin(), changes.settings.end());

  std::vector<Motion> motions = experiment.motions;
  for (const Setting& setting : settings) {
    if (!setting.key.starts_with("motion.")) continue;
    bool applied = false;
    for (Motion& motion : motions) applied = motion.apply(setting) || applied;
    if (!applied) refuse(setting, "the experiment has no motion of this body that has this field");
  }
  for (const Setting& setting : settings) refuse_offset(setting, motions);

  std::vector<Fault> faults = experiment.faults_for(settings);
  Scene scene = load_scene(experiment.scene, settings, faults,
                           changes.seed.value_or(experiment.seed), changes.sensors);
  disable_autoreset(*scene.model);
  const mjModel& model = *scene.model;
  MotionSet motion_set(model, motions, scene.robots);
  const double timestep = model.opt.timestep;
  const double duration = changes.duration.value_or(experiment.duration);
  const double steps = std::ceil(duration / timestep - 1e-6);
  if (!(steps <= kMaxSteps)) {
    throw ModelError(fmt::format("{}: duration: {} s: is more than 1e9 steps of {} s",
                                 experiment.file.string(), duration, timestep));
  }
  for (std::string& line :
       experiment_plausibility({experiment, scene, motions, faults, settings, duration}))
    scene.notices.push_back(std::move(line));
  return {std::move(scene),
          nullptr,
          std::move(motion_set),
          std::move(faults),
          std::move(settings),
          timestep,
          std::max(1L, static_cast<long>(steps))};
}

void set_start(const Experiment& experiment, PreparedRun& run, const mjModel& model, mjData& data) {
  const StandardArithmetic standard;
  if (!experiment.keyframe.empty()) {
    const int key = mj_name2id(&model, mjOBJ_KEY, experiment.keyframe.c_str());
    if (key < 0) {
      const std::string names = object_names(model, mjOBJ_KEY, static_cast<int>(model.nkey));
      throw ModelError(fmt::format("{}: keyframe = {}: must be a keyframe of the scene; {}",
                                   experiment.keyframe_origin, experiment.keyframe,
                                   names.empty() ? "it has none" : "it has " + names));
    }
    if (const auto unlike = run.scene.unlike_keyframes.find(experiment.keyframe);
        unlike != run.scene.unlike_keyframes.end())
      throw ModelError(fmt::format("{}: {}", experiment.keyframe_origin, unlike->second));
    mj_resetDataKeyframe(&model, &data, key);
  }
  apply_start_settings(run.settings, model, data);
  run.motions.apply(data, data.time);
  const std::string error = guarded([&] { mj_forward(&model, &data); });
  if (!error.empty()) {
    throw ModelError(fmt::format("{}: initial state: {}", experiment.scene.string(), error));
  }

  for (const std::string& line : distant_targets(model, data, run.scene.robots))
    run.scene.notices.push_back(
        notice_text("target-out-of-reach", fmt::format("{}: {}", experiment.scene.string(), line)));
  for (const std::string& line : start_warnings(model, data))
    run.scene.notices.push_back(fmt::format("{}: {}", experiment.scene.string(), line));
}

PreparedRun prepare_run(const Experiment& experiment, const RunChanges& changes) {
  PreparedRun run = compile_run(experiment, changes);
  run.data = make_data(*run.scene.model);
  set_start(experiment, run, *run.scene.model, *run.data);
  return run;
}

RolloutAttributes recording_attributes(const Experiment& experiment, const PreparedRun& run,
                                       const mjModel& model, std::uint64_t seed,
                                       const std::string& command_line,
                                       std::vector<std::string>& notices) {
  RolloutAttributes attributes{{"model_xml", flattened(run.scene, model, notices)},
                               {"experiment", experiment.text},
                               {"experiment_name", experiment.name},
                               {"scene", experiment.scene_name(seed)},
                               {"command_line", command_line},
                               {"seed", static_cast<std::int64_t>(seed)},
                               {"settings", settings_json(run.settings).dump()},
                               {"timestep", run.timestep},
                               {"tendril_version", version()},
                               {"mujoco_version", mj_versionString()},
                               {"plugins", plugin_names(model)}};
  if (!run.faults.empty()) attributes["faults"] = faults_text(run.faults);
  attributes.merge(model_tables(model));
  for (const auto& [name, text] : run.scene.source_files) attributes["scene_files/" + name] = text;
  for (const std::string& warning : take_engine_warnings())
    notices.push_back(notice_text(
        "engine-warning", fmt::format("{}: {}", experiment.scene.string(), one_line(warning))));
  return attributes;
}

}  // namespace tendril::simulation
