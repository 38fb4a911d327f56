#include "tendril/model/fault_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "tendril/model/toml_fields.hpp"
#include "tendril/model_error.hpp"
#include "tendril/renamed.hpp"
#include "tendril/shell_pattern.hpp"

namespace tendril {
namespace {

constexpr Range kFaultTime{0.0, 1e6};     // [s]
constexpr Range kLongestDelay{0.0, 2.0};  // [s]
constexpr Range kProbability{0.0, 1.0};
constexpr Range kPart{0.0, 1.0};

/// The value of the name that is in a field.
template <class Find>
auto word(const Fields& fields, std::string_view key, std::string_view what,
          std::span<const std::string_view> names, const Find& find) {
  const std::string name = fields.required_text(key, what);
  const auto found = find(name);
  if (!found) fields.refuse(key, "must be one of " + joined(names) + meant_text(name, names));
  return *found;
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

std::string pattern(const Fields& fields, std::string_view key) {
  return fields.required_text(key, "must be a name or a shell pattern of names");
}

// ---- readers of the kinds

void read(const Fields& fields, fault::Noise& noise) {
  noise.sigma = strength(fields, "sigma", kNotNegativeNumber);
  noise.correlation_time = fields.number("correlation_time", 0.0, kFaultTime);
}

void read(const Fields& fields, fault::Bias& bias) {
  bias.value = strength(fields, "value", kAnyNumber);
}

void read(const Fields& fields, fault::Scale& scale) {
  scale.factor = strength(fields, "factor", kAnyNumber);
}

void read(const Fields& fields, fault::Drift& drift) {
  drift.rate = strength(fields, "rate", kAnyNumber);
}

void read(const Fields& fields, fault::Backlash& backlash) {
  backlash.width = strength(fields, "width", kNotNegativeNumber);
}

void read(const Fields& fields, fault::Quantize& quantize) {
  quantize.step = strength(fields, "step", kPositiveNumber);
}

void read(const Fields& fields, fault::Rate& rate) {
  rate.period = fields.required_number("period", kFaultTime);
}

void read(const Fields& fields, fault::Dropout& dropout) {
  dropout.probability = fields.required_number("probability", kProbability);
  dropout.duration = fields.number("duration", 0.0, kFaultTime);
  dropout.gives_zero = fields.choice<bool>("mode", {{"hold", false}, {"zero", true}});
}

void read(const Fields& /*fields*/, fault::Freeze& /*freeze*/) {}

void read(const Fields& fields, fault::Delay& delay) {
  delay.time = fields.required_number("time", kLongestDelay);
}

void read(const Fields& fields, fault::ActuatorLoss& loss) {
  loss.actuator = pattern(fields, "actuator");
  loss.factor = fields.required_number("factor", kPart);
}

void read(const Fields& fields, fault::ActuatorStuck& stuck) {
  stuck.actuator = pattern(fields, "actuator");
}

void read(const Fields& fields, fault::ActuatorDelay& delay) {
  delay.actuator = pattern(fields, "actuator");
  delay.time = fields.required_number("time", kLongestDelay);
  for (const char* key : {"start", "end"})
    if (fields.has(key)) fields.refuse(key, "must not be given: this delay is of the whole run");
}

void read(const Fields& fields, fault::Stiffness& stiffness) {
  stiffness.factor = fields.required_number("factor", kPositiveNumber);
  stiffness.damping_factor = fields.number("damping_factor", 1.0, kNotNegativeNumber);
  for (const double number : fields.numbers("sections", {1.0, 1000.0})) {
    if (number != std::floor(number)) fields.refuse("sections", "must be integers from 1 on");
    stiffness.sections.push_back(static_cast<int>(number));
  }
}

void read(const Fields& fields, fault::Friction& friction) {
  friction.geom = pattern(fields, "geom");
  if (fields.one_of({"factor", "value"}) == "factor") {
    friction.factor = fields.required_number("factor", kNotNegativeNumber);
    return;
  }
  friction.value = strength(fields, "value", kNotNegativeNumber);
  if (friction.value.size() > 3)
    fields.refuse("value", "must be one to three numbers: sliding, torsional, rolling");
}

void read(const Fields& fields, fault::Payload& payload) {
  payload.body = pattern(fields, "body");
  payload.mass = fields.required_number("mass", kAnyNumber);
}

void read(const Fields& fields, fault::Gravity& gravity) {
  gravity.value = required_vector(fields, "value");
}

void read(const Fields& fields, fault::Kick& kick) {
  kick.body = pattern(fields, "body");
  kick.force = required_vector(fields, "force");
  kick.torque = fields.vector("torque").value_or(Eigen::Vector3d::Zero());
  kick.duration = fields.required_number("duration", {0.0, kFaultTime.high, /*open_low=*/true});
  if (fields.has("end")) fields.refuse("end", "must not be given: a kick has a duration");
}

/// One kind in a file.
struct Kind {
  std::string_view name;
  std::string_view keys;  ///< its own, separated by blanks
  bool is_of_measurement;
  void (*read)(const Fields& fields, Fault& fault);
};

template <class K>
constexpr Kind of_measurement(std::string_view name, std::string_view keys) {
  return {name, keys, true, [](const Fields& fields, Fault& fault) {
            read(fields, std::get<fault::OfMeasurement>(fault.kind).kind.emplace<K>());
          }};
}

template <class K>
constexpr Kind of_body(std::string_view name, std::string_view keys) {
  return {name, keys, false,
          [](const Fields& fields, Fault& fault) { read(fields, fault.kind.emplace<K>()); }};
}

constexpr Kind kKinds[] = {of_measurement<fault::Noise>("noise", "sigma correlation_time"),
                           of_measurement<fault::Bias>("bias", "value"),
                           of_measurement<fault::Scale>("scale", "factor"),
                           of_measurement<fault::Drift>("drift", "rate"),
                           of_measurement<fault::Backlash>("backlash", "width"),
                           of_measurement<fault::Quantize>("quantize", "step"),
                           of_measurement<fault::Rate>("rate", "period"),
                           of_measurement<fault::Dropout>("dropout", "probability duration mode"),
                           of_measurement<fault::Freeze>("freeze", ""),
                           of_measurement<fault::Delay>("delay", "time"),
                           of_body<fault::ActuatorLoss>("actuator_loss", "actuator factor"),
                           of_body<fault::ActuatorStuck>("actuator_stuck", "actuator"),
                           of_body<fault::ActuatorDelay>("actuator_delay", "actuator time"),
                           of_body<fault::Stiffness>("stiffness", "sections factor damping_factor"),
                           of_body<fault::Friction>("friction", "geom factor value"),
                           of_body<fault::Payload>("payload", "body mass"),
                           of_body<fault::Gravity>("gravity", "value"),
                           of_body<fault::Kick>("kick", "body force torque duration")};

std::vector<std::string_view> known_keys(const Kind& kind) {
  std::vector<std::string_view> known{"name", "kind", "robot", "start", "end"};
  for (std::string_view rest = kind.keys; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    known.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (kind.is_of_measurement) known.push_back("channel");
  return known;
}

const Kind& read_kind(const Fields& fields) {
  std::vector<std::string_view> names;
  for (const Kind& kind : kKinds) names.push_back(kind.name);
  return *word(fields, "kind", "must be a kind of fault", names,
               [](std::string_view name) -> std::optional<const Kind*> {
                 for (const Kind& kind : kKinds)
                   if (kind.name == name) return &kind;
                 return std::nullopt;
               });
}

Fault read_fault(const Fields& fields, const std::string& default_name) {
  Fault fault;
  fault.name = fields.text("name", default_name);
  if (fault.name.empty() || fault.name.find_first_of(".*?[] \t\n") != std::string::npos)
    fields.refuse("name", "must be a word without dots, blanks and the characters * ? [ ]");
  const Kind& kind = read_kind(fields);
  if (kind.is_of_measurement)
    fault.kind = fault::OfMeasurement{
        .channel = word(fields, "channel", "must be a channel of the measurement", kFaultChannels,
                        &FaultChannel::find),
        .kind = {}};
  fields.refuse_unknown(known_keys(kind));
  kind.read(fields, fault);
  if (const auto* const seen = fault.of_measurement();
      seen != nullptr && seen->channel == FaultChannel("contacts") &&
      !std::holds_alternative<fault::Dropout>(seen->kind))
    fields.refuse("channel", "contacts have only the kind dropout");
  if (fields.has("robot")) fault.robot = fields.text("robot", "");
  fault.start = fields.number("start", 0.0, kFaultTime);
  if (const auto* const kick = std::get_if<fault::Kick>(&fault.kind))
    fault.end = fault.start + kick->duration;
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
      if (!matches_pattern(names[i], pattern)) continue;
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
    if (fault.of_measurement() != nullptr) list += (list.empty() ? "" : ", ") + fault.text;
  }
  return list.empty() ? list : fmt::format("{{ seed = {}, fault = [ {} ] }}", seed, list);
}

MeasurementFaultList parse_measurement_faults(std::string_view text,
                                              std::optional<std::string_view> label) {
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
    if (fault.of_measurement() == nullptr)
      throw ModelError(fmt::format("{}: {}: must be a fault of a measurement", name, fault.name));
  }
  std::erase_if(list.faults,
                [&](const Fault& fault) { return label && fault.robot && *fault.robot != *label; });
  return list;
}

}  // namespace tendril
