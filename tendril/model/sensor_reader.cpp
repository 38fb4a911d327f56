#include "tendril/model/sensor_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "tendril/model/names.hpp"
#include "tendril/renamed.hpp"

namespace tendril {

namespace {

constexpr KeyInfo kKeys[]{
    {"kind", "", "what it measures ([kinds](#sensor))", "required"},
    {"name", "", "letters, digits and `_`, a letter first", "required"},
    {"noise", "unit of the kind",
     "standard deviation of white noise; two numbers where the kind has two quantities"},
    {"resolution", "unit of the kind", "readings are whole multiples of it; 0: no steps"},
    {"rate", "Hz", "of the samples; the period is rounded to whole timesteps", "every timestep"},
    {"delay", "s", "from the sample to its reading, rounded to whole timesteps"},
    {"dropout", "", "probability that a sample is lost: the reading remains the one before"}};

constexpr Range kPlaceRange{0.0, 1.0};
constexpr Range kProbability{0.0, 1.0};
constexpr Range kLongestDelay{0.0, 2.0};             // [s]
constexpr double kBiasTime = 3600.0;                 // in which an offset forgets itself [s]
constexpr Range kRate{0.0, 1e6, /*open_low=*/true};  // [Hz]

std::vector<KeyInfo> keys_of(const SensorTable& table) {
  std::vector<KeyInfo> keys(std::begin(kKeys), std::begin(kKeys) + 2);
  keys.insert(keys.end(), table.keys.begin(), table.keys.end());
  keys.insert(keys.end(), std::begin(kKeys) + 2, std::end(kKeys));
  return keys;
}

bool is_name(const std::string& text) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) != 0 &&
         std::all_of(text.begin(), text.end(), fits);
}

/// Reads a strength: one number, or one for each of two quantities.
std::vector<double> read_strength(const SensorTable& table, std::string_view key) {
  const Fields& fields = table.fields;
  if (table.quantities.empty()) return {fields.number(key, 0.0, kNotNegativeNumber)};
  fields.describe(key, 0.0);
  const toml::node* const node = fields.get(key);
  if (node == nullptr) return {0.0, 0.0};
  if (!node->is_array() || node->as_array()->size() != 2)
    fields.refuse(key, fmt::format("must be two numbers: {}", table.quantities));
  return fields.elements(key, *node, 2, kNotNegativeNumber);
}

void add_fault(EngineSensor& sensor, const std::string& name, const std::string& origin,
               decltype(fault::OfMeasurement::kind) kind) {
  sensor.imperfections.push_back(
      {.name = "sensor." + name,
       .robot = std::nullopt,
       .kind = fault::OfMeasurement{.channel = "q", .kind = std::move(kind)},
       .text = {},
       .origin = origin});
}

EngineSensor& add_sensor(RobotSensor& sensor, const std::string& name, const char* type,
                         std::vector<std::pair<std::string, std::string>> attributes) {
  return sensor.sensors.emplace_back(EngineSensor{
      .name = name, .type = type, .attributes = std::move(attributes), .imperfections = {}});
}

}  // namespace

std::vector<double> read_places(const Fields& fields) {
  fields.describe("places", "required", "each in [0, 1]");
  if (!fields.has("places")) fields.missing("places", "is missing, must be a list of numbers");
  return fields.numbers("places", kPlaceRange);
}

std::vector<std::string> read_names(const Fields& fields, std::string_view key,
                                    const std::vector<std::string>& known) {
  const toml::node* const node = fields.get(key);
  if (node == nullptr) return known;
  const std::vector<std::string_view> words(known.begin(), known.end());
  const toml::array* const array = node->as_array();
  if (array == nullptr || array->empty())
    fields.refuse(key, "must be a list of names: " + joined(words));
  std::vector<std::string> names;
  for (const toml::node& one : *array) {
    const auto name = one.value<std::string>().value_or("");
    if (std::find(known.begin(), known.end(), name) == known.end())
      fields.refuse(key, "must be names of " + joined(words) + meant_text(name, words));
    if (std::find(names.begin(), names.end(), name) != names.end())
      fields.refuse(key, name + " is there twice, must be once");
    names.push_back(name);
  }
  return names;
}

void add_element_sensor(RobotSensor& sensor, const std::string& element, const char* type,
                        const char* object) {
  add_sensor(sensor, sensor.name + "_" + element, type, {{object, element}});
}

void add_frame_sensor(RobotSensor& sensor, const std::string& name, const char* type,
                      const std::string& site) {
  EngineSensor& one = add_sensor(
      sensor, name, type,
      {{"objtype", "site"}, {"objname", site}, {"reftype", "xbody"}, {"refname", names::kBase}});
  one.is_orientation = std::string_view(type) == "framequat";
  one.width = one.is_orientation ? 4 : 3;
  one.quantity = one.is_orientation ? 1 : 0;
}

void add_site_sensors(RobotSensor& sensor, const std::string& site, const char* first,
                      const char* second) {
  for (const char* const type : {first, second}) {
    EngineSensor& one =
        add_sensor(sensor, fmt::format("{}_{}", sensor.name, type), type, {{"site", site}});
    one.width = 3;
    one.quantity = type == second ? 1 : 0;
    one.is_late = true;
  }
}

void add_tip_tracker(RobotSensor& sensor) {
  add_frame_sensor(sensor, sensor.name + "_position", "framepos", names::kTip);
  add_frame_sensor(sensor, sensor.name + "_orientation", "framequat", names::kTip);
}

void add_platform_pose(RobotSensor& sensor, std::span<const std::string> joints) {
  for (const std::string& joint : joints) add_element_sensor(sensor, joint, "jointpos", "joint");
  sensor.sensors.back().quantity = 1;
}

void add_joint_encoder(const Fields& fields, const std::vector<std::string>& joints,
                       RobotSensor& sensor) {
  for (const std::string& joint : read_names(fields, "joints", joints))
    add_element_sensor(sensor, joint, "jointpos", "joint");
}

void add_motor_current(const Fields& fields, const std::vector<std::string>& actuators,
                       RobotSensor& sensor) {
  const double constant = fields.required_number("torque_constant", kPositiveNumber);
  for (const std::string& actuator : read_names(fields, "actuators", actuators)) {
    add_element_sensor(sensor, actuator, "actuatorfrc", "actuator");
    EngineSensor& one = sensor.sensors.back();
    one.is_late = true;
    add_fault(one, one.name, sensor.origin, fault::Scale{{1.0 / constant}});
  }
}

std::size_t sensor_kind(const Fields& fields, std::span<const std::string_view> kinds) {
  const std::string name = fields.required_text("kind", "must be one of " + joined(kinds));
  const auto found = std::find(kinds.begin(), kinds.end(), name);
  if (found == kinds.end())
    fields.refuse("kind", "must be one of " + joined(kinds) + ", which such a robot can have" +
                              meant_text(name, kinds));
  return static_cast<std::size_t>(found - kinds.begin());
}

RobotSensor read_head(const SensorTable& table, std::span<const RobotSensor> others) {
  const Fields& fields = table.fields;
  fields.refuse_unknown(keys_of(table));
  RobotSensor sensor;
  sensor.name = fields.required_text("name", "must be a name for the sensor");
  sensor.origin = fields.origin(*fields.get("name"));
  if (!is_name(sensor.name)) fields.refuse("name", "must be letters, digits and _, a letter first");
  for (const RobotSensor& other : others)
    if (other.name == sensor.name) fields.refuse("name", "another sensor has this name");
  return sensor;
}

void read_imperfections(const SensorTable& table, RobotSensor& sensor) {
  const Fields& fields = table.fields;
  const std::vector<double> noise = read_strength(table, "noise"),
                            resolution = read_strength(table, "resolution");
  const auto has = [&](const KeyInfo& own) {
    return std::any_of(table.keys.begin(), table.keys.end(),
                       [&](const KeyInfo& key) { return key.name == own.name; });
  };
  const std::vector<double> bias =
      has(sensor_key::kBias) ? read_strength(table, "bias") : std::vector{0.0, 0.0};
  const double backlash =
      has(sensor_key::kBacklash) ? fields.number("backlash", 0.0, kNotNegativeNumber) : 0.0;
  sensor.rate = fields.number("rate", kRate).value_or(0.0);
  sensor.delay = fields.number("delay", 0.0, kLongestDelay);
  const double dropout = fields.number("dropout", 0.0, kProbability);
  const double period = sensor.rate > 0.0 ? 1.0 / sensor.rate : 0.0;
  for (EngineSensor& one : sensor.sensors) {
    const auto quantity = static_cast<std::size_t>(one.quantity);
    const auto add = [&](const std::string& name, auto kind) {
      add_fault(one, name, sensor.origin, std::move(kind));
    };
    if (backlash > 0.0) add(one.name, fault::Backlash{{backlash}});
    if (bias[quantity] > 0.0) add(one.name + "_bias", fault::Noise{{bias[quantity]}, kBiasTime});
    if (noise[quantity] > 0.0) add(one.name, fault::Noise{{noise[quantity]}});
    if (resolution[quantity] > 0.0) add(one.name, fault::Quantize{{resolution[quantity]}});
    if (period > 0.0) add(one.name, fault::Rate{period});
    // One draw for all that the sensor measures.
    if (dropout > 0.0)
      add(sensor.name,
          fault::Dropout{.probability = dropout, .duration = period, .interval = period});
    if (sensor.delay > 0.0) add(one.name, fault::Delay{sensor.delay});
  }
}

}  // namespace tendril
