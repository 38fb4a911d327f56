#include "apps/host/experiment/experiment.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <numbers>
#include <sstream>
#include <utility>

#include "tendril/mobile/mobile_kinematics.hpp"
#include "tendril/model_error.hpp"

namespace tendril::host {
namespace {

std::string as_text(const toml::node& node) {
  std::ostringstream out;
  node.visit([&](const auto& value) { out << value; });
  std::string text = out.str();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// A table of the file, with messages that name file, line and field.
class Table {
 public:
  Table(const toml::table& table, std::string file, std::string path)
      : table_(table), file_(std::move(file)), path_(std::move(path)) {}

  [[nodiscard]] std::string field(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  }

  [[noreturn]] void refuse(const toml::node& node, std::string_view name,
                           std::string_view allowed) const {
    throw ModelError(fmt::format("{}: {}: {}: {}", origin(node), name, as_text(node), allowed));
  }
  [[noreturn]] void refuse(std::string_view key, std::string_view allowed) const {
    refuse(*table_.get(key), field(key), allowed);
  }

  [[nodiscard]] std::string origin(const toml::node& node) const {
    return fmt::format("{}:{}", file_, node.source().begin.line);
  }

  [[noreturn]] void missing(std::string_view key, std::string_view allowed) const {
    throw ModelError(fmt::format("{}: {}: missing: {}", origin(table_), field(key), allowed));
  }

  void only(std::initializer_list<std::string_view> known) const {
    for (const auto& [key, node] : table_) {
      if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
      std::string names;
      for (const std::string_view k : known)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", k);
      throw ModelError(fmt::format("{}:{}: {}: unknown key: must be one of {}", file_,
                                   key.source().begin.line, field(key.str()), names));
    }
  }

  [[nodiscard]] const toml::node* get(std::string_view key) const { return table_.get(key); }

  [[nodiscard]] std::string text(std::string_view key, std::string otherwise = {}) const {
    const toml::node* node = get(key);
    if (node == nullptr) return otherwise;
    const auto value = node->value<std::string>();
    if (!value || value->empty()) refuse(key, "must be a non-empty string");
    return *value;
  }

  [[nodiscard]] std::optional<double> number(std::string_view key, double low, double high,
                                             std::string_view allowed) const {
    const toml::node* node = get(key);
    if (node == nullptr) return std::nullopt;
    const auto value = node->value<double>();
    if (!node->is_number() || !value || !(*value >= low) || !(*value <= high)) refuse(key, allowed);
    return value;
  }

  [[nodiscard]] std::vector<double> numbers(const toml::node& node, std::string_view name,
                                            std::optional<std::size_t> count,
                                            std::string_view allowed) const {
    std::vector<double> values;
    const toml::array* array = node.as_array();
    if (array == nullptr || (count && array->size() != *count)) refuse(node, name, allowed);
    for (const toml::node& element : *array) {
      const auto value = element.value<double>();
      if (!element.is_number() || !value || !std::isfinite(*value)) refuse(node, name, allowed);
      values.push_back(*value);
    }
    return values;
  }

  [[nodiscard]] std::optional<Eigen::Vector3d> vector(std::string_view key) const {
    const toml::node* node = get(key);
    if (node == nullptr) return std::nullopt;
    const auto v = numbers(*node, field(key), 3, "must be a list of three finite numbers");
    return Eigen::Vector3d(v[0], v[1], v[2]);
  }

  [[nodiscard]] const toml::table& toml() const { return table_; }
  [[nodiscard]] const std::string& file() const { return file_; }

 private:
  const toml::table& table_;
  std::string file_;
  std::string path_;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kHuge = std::numeric_limits<double>::max();

/// Calls `use(Table)` for every element of an array of tables.
template <class Use>
void for_each_table(const Table& root, std::string_view key, Use use) {
  const toml::node* node = root.get(key);
  if (node == nullptr) return;
  const toml::array* array = node->as_array();
  const std::string allowed = fmt::format("must be tables, written [[{}]]", key);
  if (array == nullptr) root.refuse(key, allowed);
  int index = 0;
  for (const toml::node& element : *array) {
    ++index;
    if (!element.is_table()) root.refuse(key, allowed);
    use(Table(*element.as_table(), root.file(), fmt::format("{} {}", key, index)));
  }
}

/// `angles_deg`: roll, pitch and yaw of each waypoint, as `tool_orientation` has them.
void parse_orientations(const Table& table, Motion& motion) {
  constexpr double kDegree = std::numbers::pi / 180.0;
  const toml::node* angles = table.get("angles_deg");
  if (angles == nullptr) return;
  if (!angles->is_array())
    table.refuse("angles_deg", "must be a list of [roll, pitch, yaw] in deg");
  for (const toml::node& entry : *angles->as_array()) {
    const auto a = table.numbers(entry, table.field("angles_deg"), 3,
                                 "every entry must be three finite numbers: roll, pitch, yaw");
    motion.orientations.emplace_back(
        tool_orientation(a[0] * kDegree, a[1] * kDegree, a[2] * kDegree));
  }
}

Motion parse_motion(const Table& table) {
  Motion motion;
  motion.body = table.text("body");
  if (motion.body.empty()) table.missing("body", "must be the name of a mocap body");
  const std::string kind = table.text("kind");
  const auto time = [&](std::string_view key) {
    return table.number(key, 0.0, kLongestRun, "must be a time >= 0 s").value_or(0.0);
  };
  if (kind == "lissajous") {
    motion.kind = MotionKind::Lissajous;
    table.only({"body", "kind", "center", "amplitude", "frequency", "phase", "start"});
    motion.amplitude = table.vector("amplitude").value_or(Eigen::Vector3d::Zero());
    motion.frequency = table.vector("frequency").value_or(Eigen::Vector3d::Zero());
    motion.phase = table.vector("phase").value_or(Eigen::Vector3d::Zero());
    motion.start = time("start");
    if (table.get("amplitude") == nullptr) table.missing("amplitude", "must be [x, y, z] in m");
    if (table.get("frequency") == nullptr) table.missing("frequency", "must be [x, y, z] in Hz");
  } else if (kind == "circle") {
    motion.kind = MotionKind::Circle;
    table.only({"body", "kind", "center", "radius", "normal", "speed", "start_after", "turns"});
    motion.radius = table.number("radius", -kHuge, kHuge, "must be a length > 0 m").value_or(0.0);
    motion.normal = table.vector("normal").value_or(Eigen::Vector3d::UnitZ());
    motion.speed =
        table.number("speed", -kHuge, kHuge, "must be a finite speed in m/s").value_or(0.0);
    motion.start_after = time("start_after");
    if (const toml::node* turns = table.get("turns")) {
      if (!turns->is_boolean()) table.refuse("turns", "must be true or false");
      motion.turns = turns->as_boolean()->get();
    }
    if (table.get("radius") == nullptr) table.missing("radius", "must be a length > 0 m");
    if (table.get("speed") == nullptr) table.missing("speed", "must be a finite speed in m/s");
  } else if (kind == "waypoints") {
    motion.kind = MotionKind::Waypoints;
    table.only({"body", "kind", "times", "points", "angles_deg", "interpolation"});
    const toml::node* times = table.get("times");
    const toml::node* points = table.get("points");
    if (times == nullptr) table.missing("times", "must be a list of increasing times in s");
    if (points == nullptr || !points->is_array()) {
      table.missing("points", "must be a list of points [x, y, z] in m");
    }
    motion.times = table.numbers(*times, table.field("times"), std::nullopt,
                                 "must be a list of increasing times in s");
    for (const toml::node& point : *points->as_array()) {
      const auto p = table.numbers(point, table.field("points"), 3,
                                   "every point must be a list of three finite numbers");
      motion.points.emplace_back(p[0], p[1], p[2]);
    }
    parse_orientations(table, motion);
    const std::string interpolation = table.text("interpolation", "smooth");
    if (interpolation == "linear") {
      motion.interpolation = Interpolation::Linear;
    } else if (interpolation == "step") {
      motion.interpolation = Interpolation::Step;
    } else if (interpolation != "smooth") {
      table.refuse("interpolation", "must be \"smooth\", \"linear\" or \"step\"");
    }
  } else if (kind.empty()) {
    table.missing("kind", "must be \"lissajous\", \"circle\" or \"waypoints\"");
  } else {
    table.refuse("kind", "must be \"lissajous\", \"circle\" or \"waypoints\"");
  }
  motion.center = table.vector("center");
  if (const std::string why = motion.problem(); !why.empty()) {
    throw ModelError(fmt::format("{}: {}", table.origin(table.toml()), table.field(why)));
  }
  return motion;
}

Check parse_check(const Table& table) {
  table.only({"name", "metric", "min", "max", "after", "before", "threshold"});
  Check check;
  const std::string metric = table.text("metric");
  if (metric.empty()) table.missing("metric", "must be a metric of docs/experiment_file.md");
  try {
    check.metric = parse_metric(metric);
  } catch (const ModelError& error) {
    throw ModelError(
        fmt::format("{}: {}", table.origin(*table.get("metric")), table.field(error.what())));
  }
  check.name = table.text("name", metric);
  const char* finite = "must be a finite number";
  check.min = table.number("min", -kHuge, kHuge, finite);
  check.max = table.number("max", -kHuge, kHuge, finite);
  if (!check.min && !check.max) table.missing("max", "give max, min or both");
  if (check.min && check.max && *check.min > *check.max) table.refuse("min", "must be <= max");
  check.window.after =
      table.number("after", 0.0, kLongestRun, "must be a time >= 0 s").value_or(0.0);
  check.window.before =
      table.number("before", 0.0, kHuge, "must be a time > after").value_or(kInfinity);
  if (!(check.window.before > check.window.after)) table.refuse("before", "must be a time > after");
  const bool settles = check.metric.statistic == Statistic::SettleTime;
  const auto threshold = table.number("threshold", 0.0, kHuge, "must be a tip error >= 0 m");
  if (settles && !threshold)
    table.missing("threshold", "settle_time needs the tip error in m to stay below");
  if (!settles && threshold) table.refuse("threshold", "is only for the metric settle_time");
  check.threshold = threshold.value_or(0.0);
  return check;
}

/// A number or a list of numbers.
std::vector<double> one_or_more(const Table& table, const toml::node& node, std::string_view name,
                                bool& is_list) {
  constexpr const char* kAllowed =
      "must be two finite numbers, or two lists of as many finite numbers";
  is_list = node.is_array();
  if (is_list) return table.numbers(node, name, std::nullopt, kAllowed);
  const auto value = node.value<double>();
  if (!node.is_number() || !value || !std::isfinite(*value)) table.refuse(node, name, kAllowed);
  return {*value};
}

Variation parse_variation(const Table& vary, std::string_view key, const toml::node& node) {
  constexpr const char* kAllowed =
      "must be { uniform = [low, high] }, { normal = [mean, sigma] } or { choice = [value, …] }";
  const std::string name = vary.field(key);
  Variation variation;
  variation.key = key;
  variation.origin = vary.origin(node);
  const toml::table* table = node.as_table();
  if (table == nullptr || table->size() != 1) vary.refuse(node, name, kAllowed);
  const std::string kind(table->begin()->first.str());
  const toml::array* values = table->begin()->second.as_array();
  if (values == nullptr) vary.refuse(node, name, kAllowed);
  if (kind == "choice") {
    variation.kind = Variation::Kind::Choice;
    if (values->empty()) vary.refuse(node, name, "choice must have at least one value");
    for (const toml::node& value : *values) variation.choices.push_back(as_text(value));
    return variation;
  }
  if ((kind != "uniform" && kind != "normal") || values->size() != 2)
    vary.refuse(node, name, kAllowed);
  variation.kind = kind == "uniform" ? Variation::Kind::Uniform : Variation::Kind::Normal;
  bool second_is_list = false;
  variation.first = one_or_more(vary, *values->get(0), name, variation.is_list);
  variation.second = one_or_more(vary, *values->get(1), name, second_is_list);
  if (variation.is_list != second_is_list || variation.first.size() != variation.second.size()) {
    vary.refuse(node, name, "must be two numbers, or two lists of the same length");
  }
  for (std::size_t i = 0; i < variation.first.size(); ++i) {
    if (kind == "uniform" && variation.first[i] > variation.second[i]) {
      vary.refuse(node, name, "low must be <= high");
    }
    if (kind == "normal" && variation.second[i] < 0.0)
      vary.refuse(node, name, "sigma must be >= 0");
  }
  return variation;
}

using KeyedNode = std::pair<std::string, const toml::node*>;

/// The keys of `[set]` and `[vary]`: `"a.b.c" = v`, and also a.b.c = v, which TOML reads as nested
/// tables.
void collect_settings(const toml::table& table, const std::string& prefix,
                      std::vector<KeyedNode>& all) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    const toml::table* inner = node.as_table();
    if (inner != nullptr && !inner->is_inline()) {
      collect_settings(*inner, name + ".", all);
    } else {
      all.emplace_back(name, &node);
    }
  }
}

/// In the order of the file, which a toml::table does not keep: later settings win.
std::vector<KeyedNode> settings_in_order(const toml::table& table) {
  std::vector<KeyedNode> all;
  collect_settings(table, "", all);
  std::sort(all.begin(), all.end(), [](const KeyedNode& a, const KeyedNode& b) {
    const toml::source_position& x = a.second->source().begin;
    const toml::source_position& y = b.second->source().begin;
    return x.line != y.line ? x.line < y.line : x.column < y.column;
  });
  return all;
}

constexpr const char* kPrefixes[] = {"robot.", "controller.", "option.",
                                     "body.",  "geom.",       "motion."};

void check_key(const Table& table, const std::string& key, const toml::node& node) {
  for (const char* prefix : kPrefixes) {
    if (key.starts_with(prefix) && key.size() > std::strlen(prefix)) return;
  }
  throw ModelError(fmt::format(
      "{}: {}: unknown key: must begin with robot., controller., option., body., geom. or motion.",
      table.origin(node), table.field(key)));
}

std::uint64_t mixed(std::uint64_t x) {  // splitmix64's output function
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::uint64_t hash(std::string_view text) {  // FNV-1a
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

/// Numbers in [0, 1) that depend on seed and key only.
class Draws {
 public:
  Draws(std::uint64_t seed, std::string_view key) : state_(mixed(mixed(seed) ^ hash(key))) {}
  double uniform() { return static_cast<double>(mixed(state_ + counter_++) >> 11) * 0x1.0p-53; }
  double normal() {
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }

 private:
  std::uint64_t state_;
  std::uint64_t counter_ = 0;
};

}  // namespace

bool Check::holds(double value) const noexcept {
  return !std::isnan(value) && (!min || value >= *min) && (!max || value <= *max);
}

Setting Variation::draw(std::uint64_t seed) const {
  Draws draws(seed, key);
  Setting setting{.key = key, .value = {}, .origin = origin};
  if (kind == Kind::Choice) {
    const auto count = static_cast<double>(choices.size());
    const auto index = static_cast<std::size_t>(draws.uniform() * count);
    setting.value = choices[std::min(index, choices.size() - 1)];
    return setting;
  }
  std::string text;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double value = kind == Kind::Uniform ? first[i] + draws.uniform() * (second[i] - first[i])
                                               : first[i] + second[i] * draws.normal();
    std::string number =
        fmt::format("{}", value);  // shortest text that reads back to the same bits
    if (number.find_first_of(".en") == std::string::npos) number += ".0";
    text += (i == 0 ? "" : ", ") + number;
  }
  setting.value = is_list ? "[" + text + "]" : text;
  return setting;
}

std::vector<Setting> Experiment::settings_for(std::uint64_t run_seed) const {
  std::vector<Setting> all = settings;
  for (const Variation& variation : variations) all.push_back(variation.draw(run_seed));
  return all;
}

Experiment parse_experiment(std::string_view toml, const std::filesystem::path& file) {
  toml::table document;
  try {
    document = toml::parse(toml);
  } catch (const toml::parse_error& error) {
    throw ModelError(fmt::format("{}:{}: {}", file.string(), error.source().begin.line,
                                 std::string(error.description())));
  }
  const Table root(document, file.string(), "");
  root.only({"name", "description", "scene", "keyframe", "duration", "seed", "set", "motion",
             "check", "vary"});

  Experiment experiment;
  experiment.file = file;
  experiment.text = toml;
  experiment.name = root.text("name", file.stem().string());
  if (experiment.name.find('/') != std::string::npos) root.refuse("name", "must not contain '/'");
  const std::string scene = root.text("scene");
  if (scene.empty()) root.missing("scene", "must be a scene (.xml) or robot (.toml) file");
  (void)root.text("description");
  experiment.scene = file.parent_path() / scene;
  experiment.keyframe = root.text("keyframe");
  constexpr double kSmallest = std::numeric_limits<double>::min();
  experiment.duration =
      root.number("duration", kSmallest, kLongestRun, "must be a time in (0, 1e6] s")
          .value_or(10.0);
  if (const toml::node* seed = root.get("seed")) {
    const auto value = seed->value<std::int64_t>();
    if (!seed->is_integer() || !value || *value < 0) root.refuse("seed", "must be an integer >= 0");
    experiment.seed = static_cast<std::uint64_t>(*value);
  }

  for (const char* name : {"set", "vary"}) {
    const toml::node* node = root.get(name);
    if (node == nullptr) continue;
    const toml::table* inner = node->as_table();
    if (inner == nullptr) root.refuse(name, fmt::format("must be a table, written [{}]", name));
    const Table table(*inner, file.string(), name);
    const bool vary = std::string_view(name) == "vary";
    for (const auto& [key, value] : settings_in_order(*inner)) {
      check_key(table, key, *value);
      if (vary) {
        experiment.variations.push_back(parse_variation(table, key, *value));
      } else {
        experiment.settings.push_back(
            {.key = key, .value = as_text(*value), .origin = table.origin(*value)});
      }
    }
  }
  for_each_table(root, "motion",
                 [&](const Table& t) { experiment.motions.push_back(parse_motion(t)); });
  for_each_table(root, "check",
                 [&](const Table& t) { experiment.checks.push_back(parse_check(t)); });
  return experiment;
}

std::string read_text_file(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    throw ModelError(fmt::format("{}: is a folder: must be a readable file", file.string()));
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    throw ModelError(
        fmt::format("{}: {}: must be a readable file", file.string(), std::strerror(errno)));
  }
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad()) throw ModelError(fmt::format("{}: could not be read to its end", file.string()));
  return text;
}

Experiment load_experiment(const std::filesystem::path& file) {
  const std::string text = read_text_file(file);
  const std::string extension = file.extension().string();
  if (extension == ".toml") {
    bool is_robot = false;
    try {
      is_robot = toml::parse(text).contains("kind");
    } catch (const toml::parse_error&) {
      // reported by parse_experiment
    }
    if (!is_robot) return parse_experiment(text, file);
  } else if (extension != ".xml" && extension != ".mjcf") {
    throw ModelError(
        fmt::format("{}: {}: must be an experiment (.toml), a robot (.toml) or a scene (.xml)",
                    file.string(), extension.empty() ? "no extension" : extension));
  }
  Experiment experiment;
  experiment.file = experiment.scene = file;
  experiment.name = file.stem().string();
  return experiment;
}

}  // namespace tendril::host
