// An experiment with checks, run from C++: load, run, read.
//     08_experiment scenes/reach/reach.toml
#include <cstdio>

#include "simulation/rollout/run.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: 08_experiment EXPERIMENT.toml\n"), 2;
  using namespace tendril::simulation;
  const Experiment experiment = load_experiment(argv[1]);
  const RunResult result = run_experiment(experiment, {.changes = {.duration = 1.0}});
  for (const auto& [metric, value] : result.metrics)
    std::printf("%-24s %g\n", metric.name.c_str(), value);
  for (const CheckResult& check : result.checks)
    std::printf("%s: %g %s\n", check.check.name.c_str(), check.value, check.unit.c_str());
  return result.outcome == Outcome::Done ? 0 : 1;
}
