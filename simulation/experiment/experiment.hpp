#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/engine/setting.hpp"
#include "simulation/experiment/metric.hpp"
#include "simulation/experiment/motion.hpp"
#include "tendril/fault.hpp"

namespace tendril::simulation {

/// One `[[check]]`: a metric and its limits.
struct Check {
  std::string name;    ///< shown in reports; the metric's name by default
  std::string origin;  ///< `file:line`
  Metric metric;
  Window window;
  double threshold = 0.0;  ///< settle_time only [m]
  std::optional<double> min;
  std::optional<double> max;

  /// Returns whether a value is within the limits; false for NaN.
  [[nodiscard]] bool holds(double value) const noexcept;
};

/// One entry of `[vary]`: the settings that are drawn, and their distribution.
struct Variation {
  enum class Kind { Uniform, LogUniform, Normal, Scale, Choice };
  std::string name;               ///< the key of the draw: the setting's, or the entry's
  std::vector<std::string> keys;  ///< of the settings
  bool each = false;              ///< one draw for each of the keys, with the setting's key
  std::string origin;             ///< `file:line`
  Kind kind = Kind::Uniform;
  bool is_list = false;        ///< the value is a list; its numbers are drawn independently
  std::vector<double> first;   ///< lower ends; normal: means
  std::vector<double> second;  ///< upper ends; normal: standard deviations
  std::vector<Value> choices;

  /// Returns the settings drawn by a seed. They depend on the seed and the key of the draw only
  /// (RandomDraws). Normal: mean + sigma (sum of twelve uniforms - 6). Scale: a factor on the value
  /// that is there.
  [[nodiscard]] std::vector<Setting> draw(std::uint64_t seed) const;

 private:
  [[nodiscard]] Value drawn(const std::string& draw_key, std::uint64_t seed) const;
};

/// An experiment file, or the defaults for a bare scene.
struct Experiment {
  std::string name;             ///< of the output folder; the file's stem by default
  std::filesystem::path file;   ///< given by the user
  std::string text;             ///< TOML of the experiment; empty for a bare scene
  std::filesystem::path scene;  ///< MJCF or robot file, resolved against the experiment's folder
  std::string family;  ///< of random scenes, instead of a scene: see with_scene of families.hpp
  double difficulty = 0.5;      ///< of the family's scenes
  std::string keyframe;         ///< initial state; empty: the model's reference state
  std::string keyframe_origin;  ///< `file:line`
  double duration = 10.0;       ///< of simulated time [s]
  std::uint64_t seed = 0;
  std::vector<Setting> settings;  ///< `[set]`
  std::vector<Motion> motions;
  std::vector<Fault> faults;  ///< as in the file; `faults_for` has the settings
  std::vector<Check> checks;
  std::vector<Variation> variations;

  /// Returns `[set]`, then the settings that `[vary]` draws for the seed: later settings override
  /// earlier ones.
  [[nodiscard]] std::vector<Setting> settings_for(std::uint64_t run_seed) const;

  /// Tells whether runs of different seeds differ: by `[vary]`, a family, or faults that are drawn.
  [[nodiscard]] bool varies() const noexcept;

  /// Returns the scene's name in summaries and recordings, of a family's how it is made again.
  [[nodiscard]] std::string scene_name(std::uint64_t run_seed) const;

  /// Returns the faults after the settings `fault.<name>.<field>` among these. Throws ModelError.
  [[nodiscard]] std::vector<Fault> faults_for(std::span<const Setting> settings_of_run) const;
};

inline constexpr double kLongestRun = 1e6;  ///< s

/// Reads an experiment from TOML text. Throws ModelError
/// `file:line: object: key = value: what is allowed`.
[[nodiscard]] Experiment parse_experiment(std::string_view toml, const std::filesystem::path& file);

/// Reads the input of `tendril run` and `tendril view`: an experiment (`.toml` with the key
/// `scene`), a robot file (`.toml` with the key `kind`) or a scene (`.xml`). Throws ModelError,
/// also for a file that cannot be read.
[[nodiscard]] Experiment load_experiment(const std::filesystem::path& file);

}  // namespace tendril::simulation
