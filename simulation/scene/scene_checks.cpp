#include "simulation/scene/scene_checks.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <optional>

#include "simulation/engine/model_settings.hpp"
#include "tendril/model/plausibility.hpp"
#include "tendril/model/robot_mjcf.hpp"
#include "tendril/notice.hpp"

namespace tendril::simulation {
namespace {

/// Ten times the steps that the robots' contacts and servos are made for [s].
constexpr double kLongestTimestep = 0.02;

/// Below this ratio of frictional to normal impedance, contacts slip slowly under loads that
/// friction would hold.
constexpr double kFrictionImpedance = 10.0;

void check_needs(const mjOption& scene, const ModelFile& file, const std::string& scene_name,
                 std::vector<std::string>& notices) {
  const auto robot = file.robot();
  if (!robot) return;
  const EngineNeeds needs = engine_needs(*robot);
  const auto notice = [&](const std::string& what, const std::string& required) {
    notices.push_back(notice_text(
        "unsuitable-option",
        fmt::format("{}: option {}: {} needs {}; add <compiler conflict=\"merge\"/> to the scene, "
                    "or the option itself",
                    scene_name, what, file.name, required)));
  };
  if (scene.integrator != mjINT_IMPLICITFAST && scene.integrator != mjINT_DISCRETE) {
    notice(fmt::format("integrator = {}", integrator_name(scene.integrator)),
           "discrete or implicitfast");
  }
  if (scene.solver == mjSOL_PGS) notice("solver = PGS", "Newton or CG");
  if (scene.cone == mjCONE_PYRAMIDAL) notice("cone = pyramidal", "elliptic");
  if (scene.impratio < kFrictionImpedance) {
    notice(fmt::format("impratio = {:.3g}", scene.impratio),
           fmt::format("{:g}, or what friction holds creeps", kFrictionImpedance));
  }
  if (scene.iterations < needs.iterations) {
    notice(fmt::format("iterations = {}", scene.iterations),
           fmt::format("at least {}", needs.iterations));
  }
  if (needs.flat_contacts && (scene.disableflags & mjDSBL_MULTICCD) != 0)
    notice("flag multiccd = disable", "enable, or flat faces touch in one point and tilt off");
  if (const auto& medium = needs.medium) {
    const auto& [x, y, z] = medium->current;
    if (scene.density != medium->density || scene.viscosity != medium->viscosity)
      notice(fmt::format("density = {:.6g}, viscosity = {:.6g}", scene.density, scene.viscosity),
             fmt::format("{:.6g} and {:.6g}, its medium's", medium->density, medium->viscosity));
    if (scene.wind[0] != x || scene.wind[1] != y || scene.wind[2] != z)
      notice(
          fmt::format("wind = {:.6g} {:.6g} {:.6g}", scene.wind[0], scene.wind[1], scene.wind[2]),
          fmt::format("{:.6g} {:.6g} {:.6g}, its medium's current", x, y, z));
  }
  if (scene.timestep > kLongestTimestep) {
    notices.push_back(notice_text(
        "unsuitable-option",
        fmt::format("{}: option timestep = {:.6g} s: {} needs at most {} s, better 0.002 s",
                    scene_name, scene.timestep, file.name, kLongestTimestep)));
  }
}

/// Sections that `discrete` damps more than their files say.
void check_damping(ModelFile& file, const std::string& scene_name,
                   std::vector<std::string>& notices) {
  const ContinuumDescription* const arm = file.arm();
  if (arm == nullptr) return;
  for (std::size_t i = 0; i < arm->physics.size(); ++i) {
    const double time = arm->physics[i].damping_time;
    if (time >= arm->numerical_damping_time) continue;
    const double lag = arm->numerical_damping_time;
    notices.push_back(notice_text(
        "damping-under-timestep",
        fmt::format("{}: option timestep = {:.6g} s: {}: section {}: damping_time = {:.6g} s is "
                    "{:.6g} s with integrator discrete, which damps by a timestep: take a shorter "
                    "one, or implicitfast",
                    scene_name, lag, file.name, i + 1, time, lag)));
  }
}

}  // namespace

void check_options(const mjOption& scene, ModelFile& file, const std::string& scene_name,
                   std::vector<std::string>& notices) {
  check_needs(scene, file, scene_name, notices);
  check_damping(file, scene_name, notices);
}

void check_plausible(const ModelFile& file, double gravity, std::vector<std::string>& notices) {
  for (const std::string& warning : plausibility(file.model, gravity))
    notices.push_back(fmt::format("{}: {}", file.path.string(), warning));
}

}  // namespace tendril::simulation
