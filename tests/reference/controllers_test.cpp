// docs/reference/controllers.md: settings and quantities are those of the code.

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/controller_kind.hpp"
#include "controllers/interface/arm_controller.hpp"
#include "controllers/interface/mobile_controller.hpp"
#include "controllers/interface/snake_controller.hpp"
#include "tests/support/generated_document.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr const char* kPage = "docs/reference/controllers.md";
constexpr std::size_t kFewest = 3;  // controllers with a row that is shown once

/// Returns what the setting may be.
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
      for (std::string word; words >> word;) all += (all.empty() ? "" : ", ") + code(word);
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

std::string size_of(const Quantity& quantity) {
  return quantity.width == kPerCoordinate ? "n" : std::to_string(quantity.width);
}

/// A row of either table; the cells say all of it.
using Row = std::vector<std::string>;
Row row(const SettingInfo& info) {
  return {code(info.name), info.unit, code(default_text(info)), allowed(info), info.meaning};
}
Row row(const Quantity& quantity) {
  return {code(quantity.name), size_of(quantity), quantity.unit, quantity.meaning};
}

MarkdownTable table_of(const SettingInfo& /*kind of rows*/) {
  return MarkdownTable{"setting", "unit", "default", "range", "meaning"};
}
MarkdownTable table_of(const Quantity& /*kind of rows*/) {
  return MarkdownTable{"quantity", "size", "unit", "meaning"};
}
void add(MarkdownTable& table, const Row& cells) {
  if (cells.size() == 4)
    table.add({cells[0], cells[1], cells[2], cells[3]});
  else
    table.add({cells[0], cells[1], cells[2], cells[3], cells[4]});
}

/// Rows of a span as a table, without those in `shown`.
template <class T>
std::string table(std::span<const T> infos, const std::set<Row>& shown = {}) {
  MarkdownTable all = table_of(T{});
  for (const T& info : infos)
    if (!shown.contains(row(info))) add(all, row(info));
  return all.text();
}

/// "`a`, `b`" of the rows that are in `shown`.
template <class T>
std::string names_in(std::span<const T> infos, const std::set<Row>& shown) {
  std::string names;
  for (const T& info : infos)
    if (shown.contains(row(info))) names += (names.empty() ? "" : ", ") + code(info.name);
  return names;
}

std::string sentence(std::string text) {
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text + ".";
}

std::string robots_of(const ControllerKind& kind) {
  if (kind.make.of<ArmContext>() != nullptr) return "arms";
  return kind.make.of<SnakeContext>() != nullptr ? "snakes" : "mobile robots";
}

/// Rows that every span has.
template <class T>
std::set<Row> rows_of_all(std::initializer_list<std::span<const T>> spans) {
  std::map<Row, std::size_t> count;
  for (const std::span<const T> infos : spans)
    for (const T& info : infos) ++count[row(info)];
  std::set<Row> rows;
  for (const auto& [cells, times] : count)
    if (times == spans.size()) rows.insert(cells);
  return rows;
}

/// The own rows of all kinds that at least `kFewest` of them have.
template <class T>
std::set<Row> shared_rows(std::span<const T> ControllerKind::*rows_of) {
  std::map<Row, std::size_t> count;
  for (const ControllerKind& kind : built_in_controllers())
    for (const T& info : kind.*rows_of) ++count[row(info)];
  std::erase_if(count, [](const auto& entry) { return entry.second < kFewest; });
  std::set<Row> rows;
  for (const auto& [cells, times] : count) rows.insert(cells);
  return rows;
}

std::string list_of_kinds() {
  MarkdownTable list{"controller", "robots", "task"};
  for (const ControllerKind& kind : built_in_controllers()) {
    std::string anchor;
    for (const char c : kind.name)
      if (c != '.') anchor += c;
    list.add({"[" + code(kind.name) + "](#" + anchor + ")", robots_of(kind), kind.meaning});
  }
  return list.text();
}

/// The rows that all controllers have, or all of one kind of robots.
template <class T>
std::string common_tables(std::span<const T> arm, std::span<const T> snake,
                          std::span<const T> mobile) {
  const std::set<Row> all = rows_of_all<T>({arm, snake, mobile});
  MarkdownTable of_all = table_of(T{});
  for (const T& info : arm)
    if (all.contains(row(info))) add(of_all, row(info));
  return "All controllers:\n\n" + of_all.text() + "Controllers of arms:\n\n" + table(arm, all) +
         "Controllers of snakes:\n\n" + table(snake, all) + "Controllers of mobile robots:\n\n" +
         table(mobile, all);
}

/// The rows that several controllers have.
template <class T>
std::string shared_table(std::span<const T> ControllerKind::*rows_of, const std::set<Row>& shared) {
  MarkdownTable all = table_of(T{});
  std::set<Row> shown;
  for (const ControllerKind& kind : built_in_controllers())
    for (const T& info : kind.*rows_of)
      if (shared.contains(row(info)) && shown.insert(row(info)).second) add(all, row(info));
  return all.text();
}

std::string common_part() {
  std::ostringstream out;
  out << "\n### Common settings\n\n"
      << common_tables<SettingInfo>(ArmController::kCommonSettings,
                                    SnakeController::kCommonSettings,
                                    MobileController::kCommonSettings)
      << "Settings of several controllers:\n\n"
      << shared_table(&ControllerKind::settings, shared_rows(&ControllerKind::settings))
      << "### Common quantities\n\n"
      << common_tables<Quantity>(ArmController::kCommonQuantities,
                                 SnakeController::kCommonQuantities,
                                 MobileController::kCommonQuantities)
      << "Quantities of several controllers:\n\n"
      << shared_table(&ControllerKind::quantities, shared_rows(&ControllerKind::quantities));
  return out.str();
}

/// An earlier kind all of whose settings this one has, or null.
const ControllerKind* extended(const ControllerKind& kind) {
  std::set<Row> own;
  for (const SettingInfo& info : kind.settings) own.insert(row(info));
  for (const ControllerKind& other : built_in_controllers()) {
    if (other.name == kind.name) return nullptr;
    if (std::all_of(other.settings.begin(), other.settings.end(),
                    [&](const SettingInfo& info) { return own.contains(row(info)); }))
      return &other;
  }
  return nullptr;
}

std::string also(const std::string& settings, const std::string& quantities) {
  std::string text;
  if (!settings.empty()) text += "Common settings: " + settings + ".\n";
  if (!quantities.empty()) text += "Common quantities: " + quantities + ".\n";
  return text.empty() ? "" : text + "\n";
}

std::string part_of(const ControllerKind& kind) {
  std::set<Row> settings = shared_rows(&ControllerKind::settings);
  std::set<Row> quantities = shared_rows(&ControllerKind::quantities);
  std::ostringstream out;
  out << sentence(kind.meaning) << "\n\n";
  if (const ControllerKind* const other = extended(kind)) {
    for (const SettingInfo& info : other->settings) settings.insert(row(info));
    for (const Quantity& info : other->quantities) quantities.insert(row(info));
    out << "It has all settings and quantities of " << code(other->name) << ", and these:\n\n";
  } else {
    out << also(names_in(kind.settings, settings), names_in(kind.quantities, quantities));
  }
  out << table(kind.settings, settings) << table(kind.quantities, quantities);
  return out.str();
}

/// The fields of a struct as a table.
template <class S>
std::string fields_table() {
  std::ostringstream out;
  out << "\n#### `" << S::kName << "`\n\n" << S::kMeaning << "\n\n";
  MarkdownTable all{"field", "shape", "unit", "channel", "meaning"};
  for_each_field<S>([&](const auto& field) {
    using T = FieldType<S, std::remove_cvref_t<decltype(field)>>;
    std::string channel = field.channel ? code(field.channel->name()) : "";
    if (field.direction) channel += ", " + code(field.direction->name());
    all.add(
        {code(field.name), code(shape_text<T>(field.shape)), field.unit, channel, field.meaning});
  });
  std::string text = all.text();
  text.pop_back();
  return out.str() + text;
}

/// Returns the meaning of a channel in the measurement S, or nothing.
template <class S>
std::string channel_meaning(FaultChannel channel) {
  std::string text;
  for_each_field<S>([&](const auto& field) {
    if (field.channel == channel) text = code(field.name);
    if (field.direction == channel)
      text = "orientation of " + code(field.name) + ", as a rotation vector";
  });
  return text;
}

/// The channels of faults as a table.
std::string channels_table() {
  MarkdownTable all{"channel", "arm", "snake", "mobile"};
  for (const std::string_view name : kFaultChannels) {
    const FaultChannel channel = *FaultChannel::find(name);
    all.add({code(name), channel_meaning<ArmMeasurement>(channel),
             channel_meaning<SnakeMeasurement>(channel),
             channel_meaning<MobileMeasurement>(channel)});
  }
  return all.text();
}

}  // namespace

TEST_CASE("reference: every controller has its settings and quantities", "[reference]") {
  check_generated(kPage, "controllers", list_of_kinds());
  check_generated(kPage, "common rows", common_part());
  for (const ControllerKind& kind : built_in_controllers())
    check_generated(kPage, kind.name, part_of(kind));
}

TEST_CASE("reference: the fields of measurements and commands are those of the code",
          "[reference]") {
  check_generated(kPage, "fields",
                  fields_table<ArmMeasurement>() + fields_table<MeasuredContact>() +
                      fields_table<ArmCommand>() + fields_table<SnakeMeasurement>() +
                      fields_table<SnakeCommand>() + fields_table<MobileMeasurement>() +
                      fields_table<MobileCommand>() + "\n");
  check_generated("docs/reference/experiment_file.md", "channels", channels_table());
}

TEST_CASE("fields: every channel of faults is a field of some measurement", "[reference]") {
  for (const std::string_view name : kFaultChannels) {
    const FaultChannel channel = *FaultChannel::find(name);
    CAPTURE(name);
    CHECK_FALSE((channel_meaning<ArmMeasurement>(channel) +
                 channel_meaning<SnakeMeasurement>(channel) +
                 channel_meaning<MobileMeasurement>(channel))
                    .empty());
  }
}
