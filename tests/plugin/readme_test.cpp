// docs/reference/plugin.md says what is so: its tables of settings and quantities and its minimal
// scene.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <variant>

#include "controllers/controller_kind.hpp"
#include "controllers/interface/arm_controller.hpp"
#include "controllers/interface/mobile_controller.hpp"
#include "controllers/interface/snake_controller.hpp"
#include "tests/plugin/test_scenes.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

std::string text_of(const std::string& name) {
  std::ifstream file(name);  // tests run in the source root
  std::ostringstream text;
  text << file.rdbuf();
  REQUIRE_FALSE(text.str().empty());
  return text.str();
}

std::string readme() { return text_of("docs/reference/plugin.md"); }

std::string code_block(const std::string& text, const std::string& language) {
  const std::string fence = "```" + language + "\n";
  const auto begin = text.find(fence);
  REQUIRE(begin != std::string::npos);
  const auto code = begin + fence.size();
  return text.substr(code, text.find("```", code) - code);
}

std::string section(const std::string& text, const std::string& heading) {
  const auto begin = text.find("\n" + heading + "\n");
  REQUIRE(begin != std::string::npos);
  const std::string level = heading.substr(0, heading.find(' ') + 1);
  return text.substr(begin, text.find("\n" + level, begin + heading.size()) - begin);
}

/// Returns what the setting may be, as the table shows it.
std::string allowed(const SettingInfo& info) {
  switch (info.type) {
    case SettingInfo::Type::Number:
    case SettingInfo::Type::Integer: {
      const std::string range = to_string(info.range);
      return range.starts_with("in ") ? range.substr(3) : range;
    }
    case SettingInfo::Type::Numbers:
      return "finite numbers";
    case SettingInfo::Type::Flag:
      return "`true`, `false`";
    case SettingInfo::Type::Choice: {
      std::istringstream words(info.choices);
      std::string all;
      for (std::string word; words >> word;) all += (all.empty() ? "`" : ", `") + word + "`";
      return all;
    }
    case SettingInfo::Type::GeomName:
      return "name of a geom";
    case SettingInfo::Type::BodyName:
      return "name of a body";
    case SettingInfo::Type::ObstacleNames:
      return "names of geoms or bodies";
    case SettingInfo::Type::Text:
      break;
  }
  return {};
}

std::string row(const SettingInfo& info) {
  const std::string by_default = default_text(info);
  std::ostringstream out;
  out << "| `" << info.name << "` | " << info.unit << " | ";
  if (!by_default.empty()) out << '`' << by_default << '`';
  out << " | " << allowed(info) << " | " << info.meaning << " |\n";
  return out.str();
}

std::string row(const Quantity& quantity) {
  std::ostringstream out;
  out << "| `" << quantity.name << "` | ";
  if (quantity.width == kPerCoordinate)
    out << 'n';
  else
    out << quantity.width;
  out << " | " << quantity.unit << " | " << quantity.meaning << " |\n";
  return out.str();
}

/// Heading of the section with what all controllers of such a robot have.
std::string common_section(const ControllerKind& kind) {
  if (kind.make.of<ArmContext>() != nullptr) return "### All controllers of arms";
  const bool is_platform = kind.make.of<PlatformContext>() != nullptr;
  return "### `" + (is_platform ? "tendril.mobile" : kind.name) + "`";
}

const char* head_of(const SettingInfo& /*row*/) {
  return "| setting | unit | default | range | meaning |\n|---|---|---|---|---|\n";
}
const char* head_of(const Quantity& /*row*/) {
  return "| quantity | size | unit | meaning |\n|---|---|---|---|\n";
}

/// "| `target` |" of a row.
std::string first_cell(const std::string& row) { return row.substr(0, row.find('|', 2) + 1); }

/// Replaces the rows of the table of a section that begins with one of these, and adds section and
/// table if they are missing.
template <class T>
void update_table(const std::string& heading, const std::string& meaning,
                  std::span<const T> infos) {
  if (infos.empty()) return;
  std::string text = readme(), rows;
  std::set<std::string> cells;
  for (const T& info : infos) {
    rows += row(info);
    cells.insert(first_cell(row(info)));
  }
  if (text.find("\n" + heading + "\n") == std::string::npos)  // before what comes after all of them
    text.insert(text.find("\n### Status\n"),
                "\n" + heading + "\n\nIn one line: " + meaning + ".\n");
  const std::size_t begin = text.find("\n" + heading + "\n"), end = text.find("\n##", begin + 2);
  const std::string rule = std::strchr(head_of(infos.front()), '\n');  // under the head
  for (std::size_t at = begin; (at = text.find(rule, at)) < end; at += rule.size()) {
    const std::size_t first = at + rule.size();
    if (!cells.contains(first_cell(text.substr(first, text.find('\n', first) - first)))) continue;
    std::size_t last = first;
    while (text[last] == '|') last = text.find('\n', last) + 1;
    text.replace(first, last - first, rows);
    std::ofstream("docs/reference/plugin.md") << text;
    return;
  }
  text.insert(end, "\n" + (head_of(infos.front()) + rows));
  std::ofstream("docs/reference/plugin.md") << text;
}

/// TENDRIL_UPDATE_DOCS=1 in the environment writes the tables instead of comparing them.
template <class T>
void check_rows(const std::string& heading, const std::string& meaning, std::span<const T> infos) {
  if (std::getenv("TENDRIL_UPDATE_DOCS") != nullptr) update_table(heading, meaning, infos);
  for (const T& info : infos) CHECK_THAT(section(readme(), heading), Catch::Contains(row(info)));
}

/// The fields of a struct as a table.
template <class S>
std::string fields_table() {
  std::ostringstream out;
  out << "\n#### `" << S::kName << "`\n\n"
      << S::kMeaning << "\n\n| field | shape | unit | channel | meaning |\n|---|---|---|---|---|\n";
  for_each_field<S>([&](const auto& field) {
    using T = FieldType<S, std::remove_cvref_t<decltype(field)>>;
    const std::string shape = shape_text<T>(field.shape);
    out << "| `" << field.name << "` | " << (shape.empty() ? "" : '`' + shape + '`') << " | "
        << field.unit << " | ";
    if (field.channel) out << '`' << field.channel->name() << '`';
    if (field.direction) out << ", `" << field.direction->name() << '`';
    out << " | " << field.meaning << " |\n";
  });
  return out.str();
}

/// Returns the meaning of a channel in the measurement S, or nothing.
template <class S>
std::string channel_meaning(FaultChannel channel) {
  std::string text;
  for_each_field<S>([&](const auto& field) {
    if (field.channel == channel) text = '`' + std::string(field.name) + '`';
    if (field.direction == channel)
      text = "orientation of `" + std::string(field.name) + "`, as a rotation vector";
  });
  return text;
}

/// The channels of faults as a table.
std::string channels_table() {
  std::ostringstream out;
  out << "| channel | arm | snake | mobile |\n|---|---|---|---|\n";
  for (const std::string_view name : kFaultChannels) {
    const FaultChannel channel = *FaultChannel::find(name);
    out << "| `" << name << "` | " << channel_meaning<ArmMeasurement>(channel) << " | "
        << channel_meaning<SnakeMeasurement>(channel) << " | "
        << channel_meaning<MobileMeasurement>(channel) << " |\n";
  }
  return out.str();
}

/// Compares what is between two comments of a document, or writes it (TENDRIL_UPDATE_DOCS=1).
void check_generated(const std::string& file, const std::string& what, const std::string& table) {
  const std::string begin = "<!-- " + what + ": written by readme_test -->\n",
                    end = "<!-- end of " + what + " -->";
  std::string text = text_of(file);
  REQUIRE(text.find(begin) != std::string::npos);
  const std::size_t from = text.find(begin) + begin.size();
  REQUIRE(text.find(end, from) != std::string::npos);
  if (std::getenv("TENDRIL_UPDATE_DOCS") != nullptr) {
    text.replace(from, text.find(end, from) - from, table);
    std::ofstream(file) << text;
  }
  CHECK(text.substr(from, text.find(end, from) - from) == table);
}

}  // namespace

TEST_CASE("documents: the fields of measurements and commands are those of the code", "[plugin]") {
  check_generated("docs/reference/plugin.md", "fields",
                  fields_table<ArmMeasurement>() + fields_table<MeasuredContact>() +
                      fields_table<ArmCommand>() + fields_table<SnakeMeasurement>() +
                      fields_table<SnakeCommand>() + fields_table<MobileMeasurement>() +
                      fields_table<MobileCommand>() + "\n");
  check_generated("docs/reference/experiment_file.md", "channels", channels_table());
}

TEST_CASE("fields: every channel of faults is a field of some measurement", "[plugin]") {
  for (const std::string_view name : kFaultChannels) {
    const FaultChannel channel = *FaultChannel::find(name);
    CAPTURE(name);
    CHECK_FALSE((channel_meaning<ArmMeasurement>(channel) +
                 channel_meaning<SnakeMeasurement>(channel) +
                 channel_meaning<MobileMeasurement>(channel))
                    .empty());
  }
}

TEST_CASE("plugin README: has every setting and quantity as its row says", "[plugin]") {
  for (const ControllerKind& kind : built_in_controllers()) {
    INFO(kind.name);
    check_rows("### `" + kind.name + "`", kind.meaning, kind.settings);
    check_rows("### `" + kind.name + "`", kind.meaning, kind.quantities);
    check_rows(common_section(kind), kind.meaning, kind.make.common_settings());
    check_rows(common_section(kind), kind.meaning, kind.make.common_quantities());
  }
}

TEST_CASE("plugin README: the minimal scene loads as written and reaches its target", "[plugin]") {
  load_tendril();
  const std::string text = readme();
  const ModelPtr model =
      load_scene_text(code_block(text, "xml"), {{"arm.toml", code_block(text, "toml")}});
  const DataPtr data = make_data(model);
  step(model, data, 1500);
  CHECK(sensor(model, data, "A_status")[0] == 0.0);
  CHECK(sensor(model, data, "A_tip_error")[0] < 1e-4);
}
