// Experiments, faults and plans.

#include <cstdint>
#include <limits>
#include <string>

#include "simulation/experiment/experiment.hpp"
#include "tendril/model/fault_file.hpp"
#include "tendril/model_error.hpp"
#include "tendril/plan_file/path_plan.hpp"
#include "tendril/plan_file/plan_file.hpp"
#include "tests/fuzz/target.hpp"

namespace tendril::fuzz {
namespace {

void read_experiment(std::string_view input) {
  read_or_refuse<ModelError>([&] {
    const simulation::Experiment read = simulation::parse_experiment(input, "input.toml");
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
      for (const simulation::Setting& setting : read.settings_for(seed)) {
        static_cast<void>(setting.value.text());
        static_cast<void>(setting.value.numbers());
      }
    }
    for (const simulation::Motion& motion : read.motions) {
      for (const double time : {0.0, 0.3, simulation::kLongestRun}) {
        static_cast<void>(motion.position(time, Eigen::Vector3d::Zero()));
        static_cast<void>(motion.orientation(time, Eigen::Quaterniond::Identity()));
      }
    }
  });
}

// As the text `faults` of a recording.
void read_faults(std::string_view input) {
  read_or_refuse<ModelError>([&] {
    const std::string text = faults_text(parse_faults(input, "faults"));
    require(faults_text(parse_faults(text, "text")) == text,
            "a text of faults reads back to the faults");
  });
}

void read_plan(std::string_view input) {
  read_or_refuse<ModelError>([&] { static_cast<void>(parse_plan(input, "input.toml")); });
}

// The files that it names are those of this folder.
void read_path_plan(std::string_view input) {
  read_or_refuse<ModelError>([&] {
    if (is_path_plan(input))
      static_cast<void>(parse_path_plan(input, TENDRIL_FUZZ_PLANS "/input.toml"));
  });
}

const Target experiment{"experiment", ".toml", read_experiment};
const Target faults{"faults", ".toml", read_faults};
const Target plan{"plan", ".toml", read_plan};
const Target path_plan{"path_plan", ".toml", read_path_plan};

}  // namespace
}  // namespace tendril::fuzz
