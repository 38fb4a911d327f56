#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "simulation/experiment/experiment.hpp"

namespace tendril::simulation {

/// A family of random scenes on which controllers are tested: each seed is another scene, with its
/// robot and an experiment whose checks say what success is.
struct Family {
  const char* name;
  const char* text;  ///< what the robot has to do, in one line
};

[[nodiscard]] std::span<const Family> families();

struct GeneratedFile {
  std::string name;
  std::string text;
};

/// Returns the files of a scene: `FAMILY.toml` (the experiment), `scene.xml` and the robot's. The
/// same arguments give the same text on every machine.
/// @param difficulty  in [0, 1]: 0.5 as documented in docs/results/families.md
/// Throws ModelError for an unknown family, and where no scene is found in many draws.
[[nodiscard]] std::vector<GeneratedFile> generate_scene(const std::string& family,
                                                        std::uint64_t seed, double difficulty);

/// Writes them into a folder, which is made. Returns the experiment's file. Throws OutputError too.
std::filesystem::path write_scene(const std::string& family, std::uint64_t seed, double difficulty,
                                  const std::filesystem::path& folder);

/// Returns the experiment with the scene of a seed, whose files are written into the folder, and
/// with that scene's duration, motions and checks. Only of one that names a family; others stay as
/// they are. Throws ModelError and OutputError.
[[nodiscard]] Experiment with_scene(Experiment experiment, std::uint64_t seed,
                                    const std::filesystem::path& folder);

}  // namespace tendril::simulation
