// plugin/README.md says what is so: its tables of settings and quantities and its minimal scene.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <variant>

#include "controllers/controller_kind.hpp"
#include "tests/plugin/test_scenes.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

std::string readme() {
  std::ifstream file("plugin/README.md");  // tests run in the source root
  std::ostringstream text;
  text << file.rdbuf();
  REQUIRE_FALSE(text.str().empty());
  return text.str();
}

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

/// What the setting may be, as the table shows it.
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
  if (std::holds_alternative<ControllerKind::MakeArm>(kind.make))
    return "### All controllers of arms";
  if (std::holds_alternative<ControllerKind::MakeSnake>(kind.make)) return "### `tendril.snake`";
  return "### `tendril.mobile`";
}

/// Replaces the row of the same name and number of columns in a section of the file.
void update_row(const std::string& heading, const std::string& row) {
  std::string text = readme();
  const std::string start = "\n" + row.substr(0, row.find('|', 2) + 1);
  const auto columns = [](const std::string& line) {
    return std::count(line.begin(), line.end(), '|');
  };
  std::size_t at = text.find("\n" + heading + "\n");
  while ((at = text.find(start, at)) != std::string::npos) {
    const std::string line = text.substr(at + 1, text.find('\n', at + 1) - at);
    if (columns(line) == columns(row)) {
      text.replace(at + 1, line.size(), row);
      std::ofstream("plugin/README.md") << text;
      return;
    }
    ++at;
  }
}

/// TENDRIL_UPDATE_DOCS=1 in the environment writes the rows instead of comparing them.
template <class T>
void check_rows(const std::string& heading, std::span<const T> infos) {
  for (const T& info : infos) {
    if (std::getenv("TENDRIL_UPDATE_DOCS") != nullptr) update_row(heading, row(info));
    CHECK_THAT(section(readme(), heading), Catch::Contains(row(info)));
  }
}

}  // namespace

TEST_CASE("plugin README: has every setting and quantity as its row says", "[plugin]") {
  for (const ControllerKind& kind : built_in_controllers()) {
    INFO(kind.name);
    check_rows("### `" + kind.name + "`", kind.settings);
    check_rows("### `" + kind.name + "`", kind.quantities);
    check_rows(common_section(kind), common_settings(kind));
    check_rows(common_section(kind), common_quantities(kind));
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
