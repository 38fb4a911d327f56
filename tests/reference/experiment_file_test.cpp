// docs/reference/experiment_file.md and metrics.md: keys, signals and quantities are those of the
// code.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/controller_kind.hpp"
#include "controllers/interface/arm_controller.hpp"
#include "controllers/interface/mobile_controller.hpp"
#include "simulation/experiment/experiment.hpp"
#include "simulation/experiment/metric.hpp"
#include "tests/reference/key_table.hpp"

using namespace tendril;
using namespace tendril::simulation;
using namespace tendril::test;

namespace {

constexpr const char* kPage = "docs/reference/experiment_file.md";
constexpr const char* kMetrics = "docs/reference/metrics.md";

constexpr std::string_view kExperiment = R"(
scene = "scene.xml"
seed = 1
[[check]]
metric = "settle_time"
max = 1
threshold = 0.001
)";
constexpr std::string_view kFamily = R"(
family = "posts"
)";
constexpr std::string_view kLissajous = R"(
scene = "scene.xml"
[[motion]]
body = "target"
kind = "lissajous"
center = [0, 0, 0]
amplitude = [0, 0, 0]
frequency = [0, 0, 0]
phase = [0, 0, 0]
)";
constexpr std::string_view kCircle = R"(
scene = "scene.xml"
[[motion]]
body = "target"
kind = "circle"
center = [0, 0, 0]
normal = [0, 0, 1]
radius = 1
speed = 1
)";
constexpr std::string_view kWaypoints = R"(
scene = "scene.xml"
[[motion]]
body = "target"
kind = "waypoints"
times = [0, 1]
points = [[0, 0, 0], [1, 0, 0]]
angles_deg = [[0, 0, 0], [0, 0, 90]]
)";
constexpr std::string_view kActuator = R"(
scene = "scene.xml"
[[motion]]
actuator = "fan"
kind = "waypoints"
times = [0, 1]
values = [0, 1]
)";

/// The keys of [[motion]] that the file has.
std::string motion_table(std::string_view text) {
  const KeyLog log(kKeyLogFile);
  static_cast<void>(parse_experiment(text, kKeyLogFile));
  return key_table(log, "motion");
}

std::string signals_table() {
  MarkdownTable all{"signal", "unit", "summary", "meaning"};
  for (const SignalInfo& signal : signal_table())
    all.add({code(signal.name), signal.unit, signal.summary, signal.meaning});
  return all.text();
}

/// Quantities that are one number and no signal of the runner, and who reports them.
std::string quantities_table() {
  std::vector<Quantity> rows;
  std::map<std::string_view, std::string> reporters;
  for (const ControllerKind& kind : built_in_controllers()) {
    for (const Quantity& quantity : all_quantities(kind)) {
      if (quantity.width != 1 || find_signal(quantity.name) != nullptr) continue;
      std::string& names = reporters[quantity.name];
      if (names.empty()) rows.push_back(quantity);
      names += (names.empty() ? "" : ", ") + code(kind.name.substr(kind.name.find('.') + 1));
    }
  }
  MarkdownTable all{"quantity", "unit", "summary", "reported by", "meaning"};
  for (const Quantity& quantity : rows) {
    const std::string& names = reporters[quantity.name];
    const bool of_all = names == reporters[quantity::kStatus.name];
    all.add({code(quantity.name), quantity.unit, quantity.summary, of_all ? "all" : names,
             quantity.meaning});
  }
  return all.text();
}

}  // namespace

TEST_CASE("reference: keys of experiments are those of their reader", "[reference]") {
  const KeyLog log(kKeyLogFile);
  static_cast<void>(parse_experiment(kExperiment, kKeyLogFile));
  static_cast<void>(parse_experiment(kFamily, kKeyLogFile));
  check_generated(kPage, "experiment", key_table(log, ""));
  check_generated(kPage, "check", key_table(log, "check"));
}

TEST_CASE("reference: keys of motions are those of their reader", "[reference]") {
  check_generated(kPage, "lissajous", motion_table(kLissajous));
  check_generated(kPage, "circle", motion_table(kCircle));
  check_generated(kPage, "waypoints", motion_table(kWaypoints));
  check_generated(kPage, "actuator", motion_table(kActuator));
}

TEST_CASE("reference: metrics are the signals and quantities of the code", "[reference]") {
  check_generated(kMetrics, "signals", signals_table());
  check_generated(kMetrics, "quantities", quantities_table());
}
