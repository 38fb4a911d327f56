// Errors and cost of ArmEstimator by sensors, beside a simulated arm with an unknown payload, an
// unknown force at the tip and friction of its tendons (tests/support/simulated_arm.hpp), and those
// of ContactEstimator with the force at a drawn place: tables in Markdown.
// docs/theory/estimation.md.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "tests/support/contact_run.hpp"

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

/// Of contacts, by the sensors of the shape.
void print_contacts(int first, int seeds) {
  const std::vector<Row> rows{{"encoders", {kEncoders}},
                              {"encoders, tip tracker", {kEncoders, kTracker}}};
  std::printf(
      "| sensors of the shape | place, mm | within a link | within 3 deviations | force, %% | "
      "within 10 %% | step, us |\n|---|---|---|---|---|---|---|\n");
  for (const Row& row : rows) {
    std::vector<double> place, force, time;
    double linked = 0.0, sure = 0.0, right = 0.0;
    for (int seed = first; seed < first + seeds; ++seed) {
      const ContactErrors errors = run_contact(static_cast<unsigned>(seed), row.sensors);
      place.push_back(10.0 * errors.place);  // of `print`: 1e3 / 100
      force.push_back(errors.force);
      time.push_back(1e6 * errors.seconds / errors.steps);
      linked += errors.place < kLink ? 1.0 : 0.0;
      sure += errors.place < 3.0 * errors.place_deviation ? 1.0 : 0.0;
      right += errors.force < 0.1 ? 1.0 : 0.0;
    }
    std::printf("| %s |", row.name);
    print(place, 1);
    std::printf(" %.0f of %d | %.0f of %d |", linked, seeds, sure, seeds);
    print(force, 1);
    std::printf(" %.0f of %d | %.0f |\n", right, seeds, median(time));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int seeds = 10, first = 0;
  bool contacts = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--seeds") == 0 && i + 1 < argc && std::atoi(argv[i + 1]) > 0) {
      seeds = std::atoi(argv[++i]);
      continue;
    }
    if (std::strcmp(argv[i], "--first") == 0 && i + 1 < argc && std::atoi(argv[i + 1]) >= 0) {
      first = std::atoi(argv[++i]);
      continue;
    }
    if (std::strcmp(argv[i], "--contacts") == 0) {
      contacts = true;
      continue;
    }
    const bool help = std::strcmp(argv[i], "--help") == 0;
    std::fprintf(
        help ? stdout : stderr,
        "usage: estimation [--seeds N] [--first SEED] [--contacts]\nErrors of the estimate "
        "of a tendon-driven arm by its sensors: median and largest of N seeds (10) from "
        "SEED (0) on. --contacts: of the place and the force of a contact.\n");
    return help ? 0 : 2;
  }
  if (contacts) {
    print_contacts(first, seeds);
    return 0;
  }
  std::printf(
      "| sensors | tip, %% of length | shape, %% of length | force, %% | step, us |\n"
      "|---|---|---|---|---|\n");
  for (const Row& row : rows()) {
    std::vector<double> tip, shape, force, time;
    for (int seed = first; seed < first + seeds; ++seed) {
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
