#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/host/experiment/metrics.hpp"
#include "apps/host/experiment/motion.hpp"
#include "apps/host/experiment/setting.hpp"

namespace tendril::host {

/// One `[[check]]`: a metric and the limits that it must keep.
struct Check {
  std::string name;    ///< shown in reports; the metric's name by default
  std::string origin;  ///< `file:line`
  Metric metric;
  Window window;
  double threshold = 0.0;  ///< settle_time only [m]
  std::optional<double> min;
  std::optional<double> max;

  /// False for NaN, whatever the limits are.
  [[nodiscard]] bool holds(double value) const noexcept;
};

/// One key of `[vary]` and what the seed draws for it.
struct Variation {
  enum class Kind { Uniform, Normal, Choice };
  std::string key;
  std::string origin;  ///< `file:line`
  Kind kind = Kind::Uniform;
  bool is_list = false;        ///< the value is a list; each number of it is drawn for itself
  std::vector<double> first;   ///< uniform: lower ends; normal: means
  std::vector<double> second;  ///< uniform: upper ends; normal: standard deviations
  std::vector<Value> choices;

  /// The setting that a seed draws. Depends on the seed and the key only, the same on every
  /// machine: splitmix64 of (seed, FNV-1a of the key, counter); the top 53 bits are a number in [0,
  /// 1). Normal: mean + sigma (sum of twelve uniforms - 6), so it never leaves 6 sigma.
  [[nodiscard]] Setting draw(std::uint64_t seed) const;
};

/// An experiment file, or the defaults for a scene without one.
struct Experiment {
  std::string name;             ///< of the output folder; the file's stem by default
  std::filesystem::path file;   ///< what the user named
  std::string text;             ///< TOML of the experiment; empty for a bare scene
  std::filesystem::path scene;  ///< MJCF or robot file, resolved against the experiment's folder
  std::string keyframe;         ///< initial state; empty: the model's reference state
  double duration = 10.0;       ///< of simulated time [s]
  std::uint64_t seed = 0;
  std::vector<Setting> settings;  ///< `[set]`
  std::vector<Motion> motions;
  std::vector<Check> checks;
  std::vector<Variation> variations;

  /// `[set]`, then what `[vary]` draws for the seed: later settings win.
  [[nodiscard]] std::vector<Setting> settings_for(std::uint64_t run_seed) const;
};

inline constexpr double kLongestRun = 1e6;  ///< s

/// Reads an experiment from TOML text. Throws ModelError
/// `file:line: object: key = value: what is allowed`.
[[nodiscard]] Experiment parse_experiment(std::string_view toml, const std::filesystem::path& file);

/// Reads what `tendril run` and `tendril view` take: an experiment (`.toml` with the key `scene`),
/// a robot file (`.toml` with the key `kind`) or a scene (`.xml`). Throws ModelError, also for a file
/// that cannot be read.
[[nodiscard]] Experiment load_experiment(const std::filesystem::path& file);

}  // namespace tendril::host
