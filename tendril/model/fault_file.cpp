#include "tendril/model/fault_file.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "tendril/model/toml_fields.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr Range kFaultTime{0.0, 1e6};     // [s]
constexpr Range kLongestDelay{0.0, 2.0};  // [s]
constexpr Range kProbability{0.0, 1.0};
constexpr Range kPart{0.0, 1.0};

using enum FaultKind;
constexpr std::array<std::pair<std::string_view, FaultKind>, 17> kKinds{
    {{"noise", Noise},
     {"bias", Bias},
     {"scale", Scale},
     {"drift", Drift},
     {"quantize", Quantize},
     {"rate", Rate},
     {"dropout", Dropout},
     {"freeze", Freeze},
     {"delay", Delay},
     {"actuator_loss", ActuatorLoss},
     {"actuator_stuck", ActuatorStuck},
     {"actuator_delay", ActuatorDelay},
     {"stiffness", Stiffness},
     {"friction", Friction},
     {"payload", Payload},
     {"gravity", Gravity},
     {"kick", Kick}}};
constexpr std::array<std::pair<std::string_view, FaultChannel>, kFaultChannels> kChannels{
    {{"q", FaultChannel::Q},
     {"feed", FaultChannel::Feed},
     {"base", FaultChannel::Base},
     {"tip", FaultChannel::Tip},
     {"tip_direction", FaultChannel::TipDirection},
     {"target", FaultChannel::Target},
     {"force", FaultChannel::Force},
     {"contacts", FaultChannel::Contacts},
     {"q_rate", FaultChannel::QRate},
     {"base_velocity", FaultChannel::BaseVelocity},
     {"moment", FaultChannel::Moment},
     {"gravity_moment", FaultChannel::GravityMoment},
     {"torque", FaultChannel::Torque},
     {"gravity_torque", FaultChannel::GravityTorque},
     {"tendon_length", FaultChannel::TendonLength},
     {"tendon_tension", FaultChannel::TendonTension}}};

template <class Words>
auto word(const Fields& fields, std::string_view key, const Words& words, std::string_view what) {
  const std::string text = fields.required_text(key, what);
  std::vector<std::string_view> names;
  for (const auto& [name, value] : words) {
    if (text == name) return value;
    names.push_back(name);
  }
  fields.refuse(key, "must be one of " + joined(names));
}

/// A number for all components, or a list of one for each.
std::vector<double> strength(const Fields& fields, std::string_view key, const Range& range) {
  const toml::node* const node = fields.get(key);
  if (node == nullptr) fields.missing(key, "is missing, must be a number or a list of numbers");
  if (node->is_array()) return fields.numbers(key, range);
  return {fields.element(key, *node, range)};
}

Eigen::Vector3d required_vector(const Fields& fields, std::string_view key) {
  const auto value = fields.vector(key);
  if (!value) fields.missing(key, "is missing, must be [x, y, z]");
  return *value;
}

/// The fields of a kind beside name, kind, robot, start and end, and how they are read.
void read_kind(const Fields& fields, Fault& fault) {
  std::vector<std::string_view> known{"name", "kind", "robot", "start", "end"};
  const auto knows = [&](std::initializer_list<std::string_view> keys) {
    known.insert(known.end(), keys);
    if (is_of_measurement(fault.kind)) known.push_back("channel");
    fields.refuse_unknown(known);
  };
  const auto pattern = [&](std::string_view key) {
    return fields.required_text(key, "must be a name or a shell pattern of names");
  };
  switch (fault.kind) {
    case Noise:
      knows({"sigma", "correlation_time"});
      fault.strength = strength(fields, "sigma", kNotNegativeNumber);
      fault.correlation_time = fields.number("correlation_time", 0.0, kFaultTime);
      break;
    case Bias:
      knows({"value"});
      fault.strength = strength(fields, "value", kAnyNumber);
      break;
    case Scale:
      knows({"factor"});
      fault.strength = strength(fields, "factor", kAnyNumber);
      break;
    case Drift:
      knows({"rate"});
      fault.strength = strength(fields, "rate", kAnyNumber);
      break;
    case Quantize:
      knows({"step"});
      fault.strength = strength(fields, "step", kPositiveNumber);
      break;
    case Rate:
      knows({"period"});
      fault.period = fields.required_number("period", kFaultTime);
      break;
    case Dropout:
      knows({"probability", "duration", "mode"});
      fault.probability = fields.required_number("probability", kProbability);
      fault.duration = fields.number("duration", 0.0, kFaultTime);
      fault.gives_zero = fields.choice<bool>("mode", {{"hold", false}, {"zero", true}});
      break;
    case Freeze:
      knows({});
      break;
    case Delay:
      knows({"time"});
      fault.time = fields.required_number("time", kLongestDelay);
      break;
    case ActuatorLoss:
      knows({"actuator", "factor"});
      fault.actuator = pattern("actuator");
      fault.factor = fields.required_number("factor", kPart);
      break;
    case ActuatorStuck:
      knows({"actuator"});
      fault.actuator = pattern("actuator");
      break;
    case ActuatorDelay:
      knows({"actuator", "time"});
      fault.actuator = pattern("actuator");
      fault.time = fields.required_number("time", kLongestDelay);
      for (const char* key : {"start", "end"})
        if (fields.has(key))
          fields.refuse(key, "must not be given: this delay is of the whole run");
      break;
    case Stiffness: {
      knows({"sections", "factor", "damping_factor"});
      fault.factor = fields.required_number("factor", kPositiveNumber);
      fault.damping_factor = fields.number("damping_factor", 1.0, kNotNegativeNumber);
      for (const double number : fields.numbers("sections", {1.0, 1000.0})) {
        if (number != std::floor(number)) fields.refuse("sections", "must be integers from 1 on");
        fault.sections.push_back(static_cast<int>(number));
      }
      break;
    }
    case Friction:
      knows({"geom", "factor", "value"});
      fault.geom = pattern("geom");
      if (fields.one_of({"factor", "value"}) == "factor") {
        fault.factor = fields.required_number("factor", kNotNegativeNumber);
      } else {
        fault.friction = strength(fields, "value", kNotNegativeNumber);
        if (fault.friction.size() > 3)
          fields.refuse("value", "must be one to three numbers: sliding, torsional, rolling");
      }
      break;
    case Payload:
      knows({"body", "mass"});
      fault.body = pattern("body");
      fault.mass = fields.required_number("mass", kAnyNumber);
      break;
    case Gravity:
      knows({"value"});
      fault.gravity = required_vector(fields, "value");
      break;
    case Kick:
      knows({"body", "force", "torque", "duration"});
      fault.body = pattern("body");
      fault.force = required_vector(fields, "force");
      fault.torque = fields.vector("torque").value_or(Eigen::Vector3d::Zero());
      fault.duration =
          fields.required_number("duration", {0.0, kFaultTime.high, /*open_low=*/true});
      if (fields.has("end")) fields.refuse("end", "must not be given: a kick has a duration");
      break;
  }
}

Fault read_fault(const Fields& fields, const std::string& default_name) {
  Fault fault;
  fault.name = fields.text("name", default_name);
  if (fault.name.empty() || fault.name.find_first_of(".*?[] \t\n") != std::string::npos)
    fields.refuse("name", "must be a word without dots, blanks and the characters * ? [ ]");
  fault.kind = word(fields, "kind", kKinds, "must be a kind of fault");
  if (is_of_measurement(fault.kind))
    fault.channel = word(fields, "channel", kChannels, "must be a channel of the measurement");
  read_kind(fields, fault);
  if (fault.channel == FaultChannel::Contacts && fault.kind != Dropout)
    fields.refuse("channel", "contacts have only the kind dropout");
  if (fields.has("robot")) fault.robot = fields.text("robot", "");
  fault.start = fields.number("start", 0.0, kFaultTime);
  if (fault.kind == Kick)
    fault.end = fault.start + fault.duration;
  else if (const auto end = fields.number("end", kFaultTime))
    fault.end = *end;
  if (!(fault.start < fault.end)) fields.refuse("end", "must be > start");
  fault.origin = fields.origin(*fields.get("kind"));
  return fault;
}

std::vector<Fault> read_faults(const toml::table& top, const std::string& file_name) {
  std::vector<Fault> faults;
  std::set<std::string> names;
  for (const Fields& fields : Fields(top, file_name).tables("fault")) {
    faults.push_back(read_fault(fields, std::to_string(faults.size() + 1)));
    Fault& fault = faults.back();
    if (!names.insert(fault.name).second)
      fields.refuse_object("name = " + fault.name + ": another fault has this name");
    toml::table table = fields.toml();
    table.insert_or_assign("name", fault.name);
    fault.text = to_text(table);
  }
  return faults;
}

}  // namespace

std::vector<Fault> parse_faults(std::string_view toml, const std::string& file_name,
                                std::span<const Override> overrides) {
  toml::table top = parse_toml(toml, file_name);
  if (overrides.empty()) return read_faults(top, file_name);

  std::vector<std::string> names;
  if (const toml::array* const list = top["fault"].as_array()) {
    for (const toml::node& node : *list) {
      const toml::table* const table = node.as_table();
      const auto name = table ? (*table)["name"].value<std::string>() : std::nullopt;
      names.push_back(name.value_or(std::to_string(names.size() + 1)));
    }
  }
  // Tables of a list are named by their number in overrides.
  std::vector<Override> numbered;
  for (const Override& setting : overrides) {
    const std::size_t first = setting.key.find('.'), last = setting.key.rfind('.');
    const std::string pattern =
        last > first ? setting.key.substr(first + 1, last - first - 1) : std::string();
    const std::string field = setting.key.substr(last + 1);
    const std::size_t before = numbered.size();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (fnmatch(pattern.c_str(), names[i].c_str(), 0) != 0) continue;
      numbered.push_back({fmt::format("fault.{}.{}", i + 1, field), setting.value, setting.origin});
    }
    if (numbered.size() > before) continue;
    throw ModelError(fmt::format(
        "{}: {}: must be fault.<name>.<field>; the experiment has {}", setting.origin, setting.key,
        names.empty() ? "no [[fault]]" : fmt::format("the faults {}", fmt::join(names, ", "))));
  }
  apply_overrides(top, numbered, file_name);
  return read_faults(top, file_name);
}

std::string faults_text(std::span<const Fault> faults) {
  std::string text = "fault = [";
  for (const Fault& fault : faults) text += (text.back() == '[' ? "\n  " : ",\n  ") + fault.text;
  return text + "\n]\n";
}

std::string measurement_faults_text(std::span<const Fault> faults, std::uint64_t seed) {
  std::string list;
  for (const Fault& fault : faults) {
    if (is_of_measurement(fault.kind)) list += (list.empty() ? "" : ", ") + fault.text;
  }
  return list.empty() ? list : fmt::format("{{ seed = {}, fault = [ {} ] }}", seed, list);
}

MeasurementFaultList parse_measurement_faults(std::string_view text) {
  MeasurementFaultList list;
  if (text.empty()) return list;
  const std::string name = "measurement_faults";
  const toml::table top = parse_toml(fmt::format("f = {}", text), name);
  const Fields all = Fields(top, name).required_table("f", {"seed", "fault"});
  const auto seed = all.toml()["seed"].value<std::int64_t>();
  if (!seed || *seed < 0) all.missing("seed", "is missing, must be an integer >= 0");
  list.seed = static_cast<std::uint64_t>(*seed);
  list.faults = read_faults(all.toml(), name);
  for (const Fault& fault : list.faults) {
    if (!is_of_measurement(fault.kind))
      throw ModelError(fmt::format("{}: {}: must be a fault of a measurement", name, fault.name));
  }
  return list;
}

std::string_view fault_kind_name(FaultKind kind) noexcept {
  return kKinds[static_cast<std::size_t>(kind)].first;
}

std::string_view fault_channel_name(FaultChannel channel) noexcept {
  return kChannels[static_cast<std::size_t>(channel)].first;
}

}  // namespace tendril
