// Errors and cost of ArmEstimator by sensors, beside a simulated arm with an unknown payload, an
// unknown force at the tip and friction of its tendons (tests/support/simulated_arm.hpp): a table
// in Markdown. docs/theory/estimation.md.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "tests/support/simulated_arm.hpp"

namespace {

using namespace tendril;
using namespace tendril::test;

struct Row {
  const char* name;
  std::vector<TimedSensor> sensors;
};

std::vector<Row> rows() {
  std::vector<TimedSensor> gratings, markers;
  for (int i = 0; i < 3; ++i) {
    for (const double middle : {0.375, 0.625})  // of arcs of the body
      gratings.push_back({{SensorKind::Curvature, 0.1, {i, middle}}});
    markers.push_back({{SensorKind::Position, 1e-3, {i, 1.0}, 0.02}, 5});
  }
  std::vector<Row> rows{
      {"encoders", {kEncoders}},
      {"tip tracker", {kTracker}},
      {"encoders, tip tracker", {kEncoders, kTracker}},
      {"encoders, tip tracker and its direction", {kEncoders, kTracker, kDirection}},
      {"encoders, force on the base", {kEncoders, kBaseForce}},
      {"encoders, force and moment on the base", {kEncoders, kBaseForce, kBaseMoment}},
      {"all of these", {kEncoders, kTracker, kDirection, kBaseForce, kBaseMoment}},
      {"two gratings in each section", gratings},
      {"a marker at the end of each section", markers}};
  return rows;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

/// Median and largest, in percent.
void print(const std::vector<double>& values, int digits) {
  std::printf(" %.*f (%.*f) |", digits, 100.0 * median(values), digits,
              100.0 * *std::max_element(values.begin(), values.end()));
}

/// Time of a step with readings of all sensors at their rates [us]; the median of the seeds.
double step_us(const RunErrors& errors) { return 1e6 * errors.seconds / errors.steps; }

}  // namespace

int main(int argc, char** argv) {
  int seeds = 10;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--seeds") == 0 && i + 1 < argc && std::atoi(argv[i + 1]) > 0) {
      seeds = std::atoi(argv[++i]);
      continue;
    }
    const bool help = std::strcmp(argv[i], "--help") == 0;
    std::fprintf(help ? stdout : stderr,
                 "usage: estimation [--seeds N]\nErrors of the estimate of a tendon-driven arm by "
                 "its sensors: median and largest of N seeds (10).\n");
    return help ? 0 : 2;
  }
  std::printf(
      "| sensors | tip, %% of length | shape, %% of length | force, %% | step, us |\n"
      "|---|---|---|---|---|\n");
  for (const Row& row : rows()) {
    std::vector<double> tip, shape, force, time;
    for (int seed = 0; seed < seeds; ++seed) {
      const RunErrors errors =
          run_estimator(static_cast<unsigned>(seed), row.sensors, kSimulatedArmOptions);
      tip.push_back(errors.tip);
      shape.push_back(errors.shape);
      force.push_back(errors.force);
      time.push_back(step_us(errors));
    }
    std::printf("| %s |", row.name);
    print(tip, 2);
    print(shape, 2);
    print(force, 0);
    std::printf(" %.0f |\n", median(time));
    std::fflush(stdout);
  }
}
