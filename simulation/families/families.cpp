#include "simulation/families/families.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "simulation/families/scene_text.hpp"
#include "simulation/files/manifest.hpp"
#include "simulation/rollout/run.hpp"
#include "tendril/model/toml_fields.hpp"
#include "tendril/model_error.hpp"
#include "tendril/renamed.hpp"

namespace tendril::simulation {
namespace generate {

/// A generator. It depends on the draws and the difficulty only.
using Generate = std::vector<GeneratedFile>(RandomStream& draws, double difficulty);
Generate cable, clutter, coil, maze, mobile_clutter, moving, path, pole, reach_around, shelf, touch,
    tube, two_arms, underactuated, vessel, winding_tube;

}  // namespace generate
namespace {

struct Generator {
  Family family;
  generate::Generate* make;
};

constexpr Generator kGenerators[] = {
    {{"cable", "an arm pulls the end of a cable to a place, or holds it taut with a force"},
     generate::cable},
    {{"clutter", "an arm reaches a target among spheres"}, generate::clutter},
    {{"coil", "an arm coils around a leaning post and holds it"}, generate::coil},
    {{"maze", "a free snake goes to a goal among posts and walls"}, generate::maze},
    {{"mobile_clutter", "a mobile manipulator reaches a pose among posts"},
     generate::mobile_clutter},
    {{"moving", "the tip of an arm follows a moving target among spheres"}, generate::moving},
    {{"path", "a snake on a carriage follows a path through rings"}, generate::path},
    {{"pole", "a snake climbs a pole"}, generate::pole},
    {{"reach_around", "an elastic rod reaches a target around boxes, in contact with them"},
     generate::reach_around},
    {{"shelf", "a continuum arm on a platform reaches into a shelf"}, generate::shelf},
    {{"touch", "an arm presses on a wall with a force and slides along it"}, generate::touch},
    {{"tube", "an arm follows its tip through a tube with two bends"}, generate::tube},
    {{"two_arms", "two arms reach for targets among each other"}, generate::two_arms},
    {{"underactuated", "an arm that is not driven everywhere reaches two points"},
     generate::underactuated},
    {{"vessel", "a catheter or a guidewire is steered to a target in a tree of vessels"},
     generate::vessel},
    {{"winding_tube", "an arm follows its tip through a tube with three bends in space"},
     generate::winding_tube},
};

constexpr auto kFamilies = [] {
  std::array<Family, std::size(kGenerators)> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = kGenerators[i].family;
  return all;
}();

/// `must be one of clutter, coil, ... (did you mean clutter?)`
std::string unknown_family(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Family& family : kFamilies) names.push_back(family.name);
  return fmt::format("must be one of {}{}", joined(names), meant_text(name, names));
}

}  // namespace

std::span<const Family> families() { return kFamilies; }

std::vector<GeneratedFile> generate_scene(const std::string& family, std::uint64_t seed,
                                          double difficulty) {
  if (!(difficulty >= 0.0 && difficulty <= 1.0))
    throw ModelError(fmt::format("--difficulty: {:g}: must be in [0, 1]", difficulty));
  for (const Generator& generator : kGenerators) {
    if (family == generator.family.name) {
      generate::RandomStream draws(family, seed);
      return generator.make(draws, difficulty);
    }
  }
  throw ModelError(fmt::format("family: {}: {}", family, unknown_family(family)));
}

std::filesystem::path write_scene(const std::string& family, std::uint64_t seed, double difficulty,
                                  const std::filesystem::path& folder) {
  const std::vector<GeneratedFile> files = generate_scene(family, seed, difficulty);
  make_output_folder(folder);
  const std::string origin =
      fmt::format("# tendril generate {} --seed {} --difficulty {:g}\n", family, seed, difficulty);
  std::vector<std::string> names;
  for (const GeneratedFile& file : files) names.push_back(file.name);
  require_own(folder, names);
  for (const auto& [name, text] : files) {
    add_to_manifest(folder, name);
    write_text_file(folder / name, &text == &files.front().text ? origin + text : text);
  }
  seal_manifest(folder);
  return folder / files.front().name;
}

Experiment with_scene(Experiment experiment, std::uint64_t seed,
                      const std::filesystem::path& folder) {
  if (experiment.family.empty()) return experiment;
  if (std::none_of(kFamilies.begin(), kFamilies.end(),
                   [&](const Family& family) { return experiment.family == family.name; })) {
    throw ModelError(fmt::format("{}: family = {}: {}", experiment.file.string(), experiment.family,
                                 unknown_family(experiment.family)));
  }
  Experiment generated =
      load_experiment(write_scene(experiment.family, seed, experiment.difficulty, folder));
  experiment.scene = std::move(generated.scene);
  experiment.keyframe = std::move(generated.keyframe);
  experiment.keyframe_origin = std::move(generated.keyframe_origin);
  experiment.duration = generated.duration;
  experiment.motions = std::move(generated.motions);
  experiment.checks = std::move(generated.checks);
  experiment.settings.insert(experiment.settings.begin(), generated.settings.begin(),
                             generated.settings.end());
  return experiment;
}

}  // namespace tendril::simulation
