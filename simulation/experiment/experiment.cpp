#include "simulation/experiment/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "tendril/mobile/kinematics.hpp"
#include "tendril/model/fault_file.hpp"
#include "tendril/model/file_extension.hpp"
#include "tendril/model/toml_fields.hpp"
#include "tendril/model_error.hpp"
#include "tendril/random_draws.hpp"
#include "tendril/renamed.hpp"

namespace tendril::simulation {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Range kTime{0.0, kLongestRun};

constexpr std::string_view kTable = "table";
constexpr KeyInfo kName{"name", "", "of the output folder `out/<name>-seed<seed>`",
                        "the file's name"};
constexpr KeyInfo kDescription{"description", "", "free text", "none"};
constexpr KeyInfo kFamily{
    "family", "",
    "[random scenes](../results/families.md) instead of a scene, another one for each seed, with "
    "their own duration, motions and checks. Only `name`, `description`, `seed`, `[set]`, "
    "`[[fault]]`, `[vary]` and `[sweep]` can be given with it",
    "required, or `scene`"};
constexpr KeyInfo kSeed{"seed", "", "of the random numbers of `[vary]`", "0", "integer >= 0"};
constexpr KeyInfo kSet{"set", "", kTable, kTable};
constexpr KeyInfo kMotion{"motion", "", kTable, kTable};
constexpr KeyInfo kFault{"fault", "", kTable, kTable};
constexpr KeyInfo kCheck{"check", "", kTable, kTable};
constexpr KeyInfo kVary{"vary", "", kTable, kTable};
constexpr KeyInfo kSweep{"sweep", "", kTable, kTable};
constexpr KeyInfo kFamilyKeys[]{kName, kDescription, kFamily, {"difficulty", "", "of the family"},
                                kSeed, kSet,         kFault,  kVary,
                                kSweep};
constexpr KeyInfo kSceneKeys[]{
    kName,
    kDescription,
    {"scene", "",
     "scene (`.xml`) or robot file (`.toml`), relative to the folder of the experiment",
     "required, or `family`"},
    kFamily,
    {"keyframe", "", "keyframe of the scene to start from", "the model's reference state"},
    {"duration", "s", "simulated time, rounded up to whole steps, at most 1e9 of them"},
    kSeed,
    kSet,
    kMotion,
    kFault,
    kCheck,
    kVary,
    kSweep};
constexpr KeyInfo kBody{"body", "", "mocap body", "required"};
constexpr KeyInfo kCenter{"center", "m", "`[x, y, z]`", "position of the body in the scene"};
constexpr KeyInfo kTimes{"times", "s", "increasing", "required"};
constexpr KeyInfo kLissajousKeys[]{kBody,
                                   {"kind", "", "`\"lissajous\"`", "required"},
                                   kCenter,
                                   {"amplitude", "m", "`[x, y, z]`", "required"},
                                   {"frequency", "Hz", "`[x, y, z]`", "required"},
                                   {"phase", "rad", "`[x, y, z]`", "`[0, 0, 0]`"},
                                   {"start", "s", "the body rests until then"}};
constexpr KeyInfo kCircleKeys[]{kBody,
                                {"kind", "", "`\"circle\"`", "required"},
                                kCenter,
                                {"radius", "m", "of the circle", "required"},
                                {"normal", "", "axis of rotation", "`[0, 0, 1]`"},
                                {"speed", "m/s", "negative: backwards", "required"},
                                {"start_after", "s", "the body rests until then"},
                                {"turns", "", "the body rotates with its path"}};
constexpr KeyInfo kActuatorKeys[]{
    {"actuator", "", "an actuator that no controller commands", "required"},
    {"kind", "", "`\"waypoints\"`", "required"},
    kTimes,
    {"values", "", "controls, one per time, within the control range", "required"},
    {"interpolation", "", "as for bodies"}};
constexpr KeyInfo kWaypointKeys[]{
    kBody,
    {"kind", "", "`\"waypoints\"`", "required"},
    kTimes,
    {"points", "m", "`[x, y, z]` for each time", "required"},
    {"angles_deg", "deg",
     "`[roll, pitch, yaw]` for each point: the orientation Rz(yaw) Ry(-pitch) Rx(roll)",
     "constant orientation"},
    {"interpolation", "",
     "`\"smooth\"`: at rest at every point (10 s^3 - 15 s^4 + 6 s^5). `\"step\"`: at a point until "
     "the next time"}};
constexpr KeyInfo kCheckKeys[]{
    {"name", "", "in tables and reports", "the metric"},
    {"metric", "", "what is measured ([metrics.md](metrics.md))"},
    {"min", "", "inclusive; `min`, `max` or both", "none"},
    {"max", "", "inclusive", "none"},
    {"after", "s", "only steps that start at this time or later count"},
    {"before", "s", "only steps that start at this time or earlier count", "the end"},
    {"threshold", "m", "for `settle_time` only: the tip error that must not be exceeded",
     "required with it"}};

/// Refuses keys that a motion of this kind does not have, and asks for those that it needs.
void check_motion_keys(const Fields& fields, MotionKind kind, bool of_actuator) {
  switch (kind) {
    case MotionKind::Lissajous:
      fields.refuse_unknown(kLissajousKeys);
      for (const char* key : {"amplitude", "frequency"}) {
        if (!fields.has(key)) fields.missing(key, "is missing, must be [x, y, z]");
      }
      break;
    case MotionKind::Circle:
      fields.refuse_unknown(kCircleKeys);
      for (const char* key : {"radius", "speed"}) {
        if (!fields.has(key)) fields.missing(key, "is missing, must be a number");
      }
      break;
    case MotionKind::Waypoints:
      fields.refuse_unknown(of_actuator ? KeyRows(kActuatorKeys) : KeyRows(kWaypointKeys));
      for (const char* key : {"times", of_actuator ? "values" : "points"}) {
        if (!fields.has(key)) fields.missing(key, "is missing, must be a list");
      }
      break;
  }
}

Motion parse_motion(const Fields& fields) {
  Motion motion;
  const bool of_actuator = fields.has("actuator");
  if (of_actuator) {
    motion.actuator = fields.required_text("actuator", "must be the name of an actuator");
  } else {
    motion.body = fields.required_text("body", "must be the name of a mocap body");
  }
  motion.origin = fields.origin(*fields.get(of_actuator ? "actuator" : "body"));
  if (!fields.has("kind")) fields.missing("kind", "is missing, must be the name of a motion");
  motion.kind = fields.choice<MotionKind>("kind", {{"lissajous", MotionKind::Lissajous},
                                                   {"circle", MotionKind::Circle},
                                                   {"waypoints", MotionKind::Waypoints}});
  if (of_actuator && motion.kind != MotionKind::Waypoints)
    fields.refuse("kind", "must be waypoints for an actuator");
  check_motion_keys(fields, motion.kind, of_actuator);
  motion.center = fields.vector("center", kMotionRange);
  for (const MotionVector& row : motion_vectors())
    motion.*row.member = fields.vector(row.name, row.range).value_or(motion.*row.member);
  for (const MotionNumber& row : motion_numbers())
    motion.*row.member = fields.number(row.name, motion.*row.member, row.range);
  motion.turns = fields.boolean("turns", false);
  motion.interpolation =
      fields.choice<Interpolation>("interpolation", {{"smooth", Interpolation::Smooth},
                                                     {"linear", Interpolation::Linear},
                                                     {"step", Interpolation::Step}});
  motion.times = fields.numbers("times", kMotionRange);
  motion.values = fields.numbers("values", kFinite);
  for (const std::vector<double>& p : fields.rows("points", 3, kMotionRange))
    motion.points.emplace_back(p[0], p[1], p[2]);
  constexpr double kDegree = std::numbers::pi / 180.0;
  for (const std::vector<double>& a : fields.rows("angles_deg", 3, kMotionRange)) {
    motion.angles_deg.emplace_back(a[0], a[1], a[2]);
    motion.orientations.emplace_back(
        tool_orientation(a[0] * kDegree, a[1] * kDegree, a[2] * kDegree));
  }
  if (const auto problem = motion.problem()) fields.refuse(problem->field, problem->reason);
  return motion;
}

Check parse_check(const Fields& fields) {
  fields.refuse_unknown(kCheckKeys);
  Check check;
  const std::string metric =
      fields.required_text("metric", "must be a metric of docs/reference/metrics.md");
  try {
    check.metric = parse_metric(metric);
  } catch (const ModelError& error) {
    fields.refuse("metric", error.what());
  }
  check.origin = fields.origin(*fields.get("metric"));
  check.name = fields.text("name", metric);
  check.min = fields.number("min", kFinite);
  check.max = fields.number("max", kFinite);
  if (!check.min && !check.max) fields.missing("max", "is missing: give max, min or both");
  if (check.min && check.max && *check.min > *check.max) fields.refuse("min", "must be <= max");
  check.window.after = fields.number("after", 0.0, kTime);
  check.window.before = fields.number("before", kFinite).value_or(kInfinity);
  if (!(check.window.before > check.window.after)) fields.refuse("before", "must be > after");
  const auto [lowest, highest] = possible_range(check.metric);
  const bool settles = check.metric.statistic == Statistic::SettleTime;
  if (settles && !check.max)
    fields.missing("max", "is missing: a tip that never settles would hold without it");
  if ((!check.min || *check.min <= lowest) && (!check.max || *check.max >= highest)) {
    fields.refuse(check.max ? "max" : "min",
                  fmt::format("{} is always in [{:.6g}, {:.6g}]: the check can never fail", metric,
                              lowest, highest));
  }
  if (settles && !fields.has("threshold"))
    fields.missing("threshold", "is missing: settle_time needs the tip error to stay below [m]");
  if (!settles && fields.has("threshold"))
    fields.refuse("threshold", "must go with the metric settle_time");
  check.threshold = fields.number("threshold", 0.0, kNotNegative);
  return check;
}

bool is_setting_key(const std::string& name) {
  return std::any_of(std::begin(kSettingPrefixes), std::end(kSettingPrefixes),
                     [&](std::string_view p) { return name.starts_with(p) && name != p; });
}

using KeyedNode = std::pair<std::string, const toml::node*>;

/// The keys of `[set]` and `[vary]`: `"a.b.c" = v`, or a.b.c = v, which TOML parses as nested
/// tables.
void collect_settings(const Fields& fields, const toml::table& table, const std::string& prefix,
                      std::vector<KeyedNode>& all) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    const toml::table* inner = node.as_table();
    if (inner != nullptr && !inner->is_inline()) {
      collect_settings(fields, *inner, name + ".", all);
      continue;
    }
    const bool names_keys = inner != nullptr && inner->contains("keys");  // in [vary]
    if (!names_keys && !is_setting_key(name)) {
      fields.refuse(name, node,
                    fmt::format("unknown key{}, must begin with {}",
                                meant_text(name.substr(0, name.find('.')) + ".", kSettingPrefixes),
                                joined(kSettingPrefixes)));
    }
    all.emplace_back(name, &node);
  }
}

/// Returns the settings in the order of the file, which a toml::table does not keep: later settings
/// override earlier ones.
std::vector<KeyedNode> settings_in_order(const Fields& fields) {
  std::vector<KeyedNode> all;
  collect_settings(fields, fields.toml(), "", all);
  std::sort(all.begin(), all.end(), [](const KeyedNode& a, const KeyedNode& b) {
    const toml::source_position& x = a.second->source().begin;
    const toml::source_position& y = b.second->source().begin;
    return x.line != y.line ? x.line < y.line : x.column < y.column;
  });
  return all;
}

/// Reads one entry of `[vary]`.
class VariationReader {
 public:
  VariationReader(const Fields& vary, const std::string& key, const toml::node& node)
      : vary_(vary), key_(key), node_(node) {}

  Variation read() {
    variation_.name = key_;
    variation_.keys = {key_};
    variation_.origin = vary_.origin(node_);
    const toml::table* const table = node_.as_table();
    if (table == nullptr) refuse(kAllowed);
    const std::string_view kind = kind_of(*table);
    read_keys(*table);
    const toml::array* const values = table->get(kind)->as_array();
    if (values == nullptr) refuse(kAllowed);
    if (kind == "choice")
      read_choices(*values);
    else
      read_distribution(kind, *values);
    return std::move(variation_);
  }

 private:
  using Kind = Variation::Kind;
  static constexpr const char* kAllowed =
      "must be { uniform = [low, high] }, log_uniform, scale, { normal = [mean, sigma] } or "
      "{ choice = [value, ...] }, with or without keys = [\"...\"] and each = true";

  [[noreturn]] void refuse(std::string_view reason) const { vary_.refuse(key_, node_, reason); }

  /// The only key apart from `keys` and `each`.
  [[nodiscard]] std::string_view kind_of(const toml::table& table) const {
    std::string_view kind;
    for (const auto& [field, value] : table) {
      if (field == "keys" || field == "each") continue;
      if (!kind.empty()) refuse(kAllowed);
      kind = field.str();
    }
    if (kind.empty()) refuse(kAllowed);
    return kind;
  }

  void read_keys(const toml::table& table) {
    if (const toml::node* const keys = table.get("keys")) {
      variation_.keys.clear();
      const toml::array* const list = keys->as_array();
      for (std::size_t i = 0; list != nullptr && i < list->size(); ++i)
        variation_.keys.push_back(list->get(i)->value<std::string>().value_or(""));
      const bool known =
          std::all_of(variation_.keys.begin(), variation_.keys.end(), is_setting_key);
      if (variation_.keys.empty() || !known)
        refuse("keys must be a list of settings such as \"geom.floor.friction\"");
    }
    if (const toml::node* const each = table.get("each")) {
      if (!each->is_boolean() || !table.contains("keys"))
        refuse("each must be true or false, with keys");
      variation_.each = *each->value<bool>();
    }
  }

  void read_choices(const toml::array& values) {
    variation_.kind = Kind::Choice;
    if (values.empty()) refuse("choice must have at least one value");
    for (const toml::node& value : values) variation_.choices.push_back(to_value(value));
  }

  void read_distribution(std::string_view kind, const toml::array& values) {
    constexpr std::pair<std::string_view, Kind> kKinds[] = {{"uniform", Kind::Uniform},
                                                            {"log_uniform", Kind::LogUniform},
                                                            {"normal", Kind::Normal},
                                                            {"scale", Kind::Scale}};
    const auto* const found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                           [&](const auto& one) { return one.first == kind; });
    if (found == std::end(kKinds) || values.size() != 2) refuse(kAllowed);
    variation_.kind = found->second;
    variation_.first = numbers(*values.get(0));
    variation_.second = numbers(*values.get(1));
    variation_.is_list = values.get(0)->is_array();
    if (variation_.is_list != values.get(1)->is_array() ||
        variation_.first.size() != variation_.second.size()) {
      refuse("must be two numbers, or two lists of the same length");
    }
    if (variation_.kind == Kind::Scale && variation_.is_list) refuse("scale must be two numbers");
    for (std::size_t i = 0; i < variation_.first.size(); ++i)
      check_range(variation_.first[i], variation_.second[i]);
  }

  [[nodiscard]] std::vector<double> numbers(const toml::node& end) const {
    const auto found = to_value(end).numbers();
    if (!found || found->empty())
      refuse("must be two finite numbers, or two lists of as many finite numbers");
    return *found;
  }

  void check_range(double low, double high) const {
    if (variation_.kind == Kind::Normal) {
      if (high < 0.0) refuse("sigma must be >= 0");
    } else if (low > high) {
      refuse("low must be <= high");
    } else if (variation_.kind == Kind::LogUniform && !(low > 0.0)) {
      refuse("low must be > 0");
    }
  }

  const Fields& vary_;
  const std::string& key_;
  const toml::node& node_;
  Variation variation_;
};

}  // namespace

bool Check::holds(double value) const noexcept {
  return !std::isnan(value) && (!min || value >= *min) && (!max || value <= *max);
}

Value Variation::drawn(const std::string& draw_key, std::uint64_t seed) const {
  const RandomDraws draws(seed, draw_key);
  if (kind == Kind::Choice) {
    const auto count = static_cast<double>(choices.size());
    const auto index = static_cast<std::size_t>(draws.uniform(0) * count);
    return choices[std::min(index, choices.size() - 1)];
  }
  Value::List numbers;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double a = first[i], b = second[i];
    double value = a + draws.uniform(i) * (b - a);
    if (kind == Kind::Normal) value = a + b * draws.normal(RandomDraws::kPerNormal * i);
    if (kind == Kind::LogUniform) value = a * std::pow(b / a, draws.uniform(i));
    numbers.push_back({value});
  }
  if (kind == Kind::Scale) return {Value::Table{{"scale", numbers.front()}}};
  return is_list ? Value{std::move(numbers)} : numbers.front();
}

std::vector<Setting> Variation::draw(std::uint64_t seed) const {
  std::vector<Setting> settings;
  for (const std::string& key : keys)
    settings.push_back({key, drawn(each ? key : name, seed), origin});
  return settings;
}

std::vector<Setting> Experiment::settings_for(std::uint64_t run_seed) const {
  std::vector<Setting> all = settings;
  for (const Variation& variation : variations) {
    const std::vector<Setting> drawn = variation.draw(run_seed);
    all.insert(all.end(), drawn.begin(), drawn.end());
  }
  return all;
}

std::string Experiment::scene_name(std::uint64_t run_seed) const {
  return family.empty() ? scene.string()
                        : fmt::format("tendril generate {} --seed {} --difficulty {:g}", family,
                                      run_seed, difficulty);
}

bool Experiment::varies() const noexcept {
  return !variations.empty() || !family.empty() ||
         std::ranges::any_of(faults, [](const Fault& fault) {
           return fault.of_measurement() != nullptr && fault.of_measurement()->is_random();
         });
}

std::vector<Fault> Experiment::faults_for(std::span<const Setting> settings_of_run) const {
  std::vector<Setting> of_faults;
  for (const Setting& setting : settings_of_run)
    if (setting.key.starts_with("fault.")) of_faults.push_back(setting);
  return of_faults.empty() ? faults : parse_faults(text, file.string(), of_faults);
}

Experiment parse_experiment(std::string_view toml, const std::filesystem::path& file) {
  const std::string file_name = file.string();
  const toml::table document = parse_toml(toml, file_name);
  const Fields root(document, file_name);
  const bool of_family = document.contains("family");
  if (of_family) {
    root.refuse_unknown(kFamilyKeys);
  } else {
    root.refuse_unknown(kSceneKeys);
    root.refuse_below({"scene", "keyframe", "seed"});
    root.refuse_below({"duration"}, "fault");
  }

  Experiment experiment;
  experiment.file = file;
  experiment.text = toml;
  experiment.name = root.text("name", file.stem().string());
  if (experiment.name.find('/') != std::string::npos) root.refuse("name", "must not contain '/'");
  (void)root.text("description", "");
  if (of_family) {
    experiment.family = root.text("family", "");
    experiment.difficulty = root.number("difficulty", 0.5, {0.0, 1.0});
  } else {
    experiment.scene = file.parent_path() /
                       root.required_text("scene", "must be a scene (.xml) or robot (.toml) file");
  }
  experiment.keyframe = root.text("keyframe", "");
  if (const toml::node* const keyframe = root.get("keyframe"))
    experiment.keyframe_origin = root.origin(*keyframe);
  experiment.duration = root.number("duration", 10.0, {0.0, kLongestRun, true});
  if (const toml::node* seed = root.get("seed")) {
    const auto value = seed->value<std::int64_t>();
    if (!seed->is_integer() || !value || *value < 0) root.refuse("seed", "must be an integer >= 0");
    experiment.seed = static_cast<std::uint64_t>(*value);
  }

  const Fields set = root.table("set"), vary = root.table("vary");
  for (const auto& [key, node] : settings_in_order(set))
    experiment.settings.push_back({key, to_value(*node), set.origin(*node)});
  for (const auto& [key, node] : settings_in_order(vary))
    experiment.variations.push_back(VariationReader(vary, key, *node).read());
  experiment.faults = parse_faults(toml, file_name);
  for (const Fields& motion : root.tables("motion"))
    experiment.motions.push_back(parse_motion(motion));
  for (const Fields& check : root.tables("check")) {
    experiment.checks.push_back(parse_check(check));
    if (const double begin = experiment.checks.back().window.after; begin >= experiment.duration)
      check.refuse("after", fmt::format("the run ends at {} s, the window begins at {} s",
                                        experiment.duration, begin));
  }
  return experiment;
}

Experiment load_experiment(const std::filesystem::path& file) {
  const std::string extension = extension_of(file);
  if (std::filesystem::is_directory(file)) {
    throw ModelError(fmt::format(
        "{}: is a folder: must be an experiment (.toml), a robot (.toml) or a scene (.xml)",
        file.string()));
  }
  const bool is_toml = extension == ".toml";
  if (!is_toml && extension != ".xml" && extension != ".mjcf") {
    throw ModelError(
        fmt::format("{}: {}: must be an experiment (.toml), a robot (.toml) or a scene (.xml)",
                    file.string(), extension.empty() ? "no extension" : extension));
  }
  const std::string text = read_text_file(file);
  const toml::table top = is_toml ? parse_toml(text, file.string()) : toml::table{};
  if (is_toml && !top.contains("kind")) {
    Experiment experiment = parse_experiment(text, file);
    std::error_code ignored;
    if (experiment.family.empty() && !std::filesystem::exists(experiment.scene, ignored))
      Fields(top, file.string()).refuse("scene", "No such file or directory");
    return experiment;
  }
  Experiment experiment;
  experiment.file = experiment.scene = file;
  experiment.name = file.stem().string();
  return experiment;
}

}  // namespace tendril::simulation
