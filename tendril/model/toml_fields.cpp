#include "tendril/model/toml_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "tendril/model/key_log.hpp"
#include "tendril/model_error.hpp"
#include "tendril/number_text.hpp"
#include "tendril/renamed.hpp"
#include "tendril/system/file_descriptor.hpp"

namespace tendril {
namespace {

constexpr std::size_t kLargestFile = std::size_t{64} << 20;  // bytes
constexpr std::size_t kReadAtOnce = std::size_t{1} << 16;    // bytes more than the size of the file
constexpr std::size_t kDeepest = 64;   // levels of tables and lists; toml++ recurses into each
constexpr std::size_t kShownKey = 40;  // bytes of a key in a message

/// The end of the TOML string that begins at `at` with a quotation mark.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char mark = text[at];
  const bool is_long = text.substr(at, 3) == std::string(3, mark);
  for (at += is_long ? 3 : 1; at < text.size(); ++at) {
    if (text[at] == '\\' && mark == '"') {
      ++at;
    } else if (text[at] == '\n' && !is_long) {
      return at;  // an error that the parser reports
    } else if (text[at] == mark && !is_long) {
      return at + 1;
    } else if (text[at] == mark && text.substr(at, 3) == std::string(3, mark)) {
      at += 3;
      for (int extra = 0; extra < 2 && at < text.size() && text[at] == mark; ++extra) ++at;
      return at;
    }
  }
  return text.size();
}

/// Refuses tables and lists nested so deep that the parser, which recurses, could exhaust the
/// stack: counts open brackets and the dots of the keys before them.
void refuse_deep(std::string_view text, const std::string& file_name) {
  std::vector<std::size_t> dots{0};  // of the present key at each level of brackets
  std::size_t depth = 0;             // brackets and dots
  std::size_t line = 1;
  for (std::size_t at = 0; at < text.size(); ++at) {
    switch (text[at]) {
      case '"':
      case '\'': {
        const std::size_t end = end_of_string(text, at);
        line += static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                                    text.begin() + static_cast<std::ptrdiff_t>(end),
                                                    '\n'));
        at = end - 1;
        break;
      }
      case '#':
        at = std::min(text.find('\n', at), text.size()) - 1;
        break;
      case '.':
        ++dots.back();
        ++depth;
        break;
      case '[':
      case '{':
        dots.push_back(0);
        ++depth;
        break;
      case ']':
      case '}':
        if (dots.size() == 1) return;  // an error that the parser reports
        depth -= dots.back() + 1;
        dots.pop_back();
        break;
      case '\n':
        ++line;
        [[fallthrough]];
      case ',':
        depth -= dots.back();
        dots.back() = 0;
        break;
      default:
        break;
    }
    if (depth > kDeepest)
      throw ModelError(fmt::format("{}:{}: must have at most {} levels of tables and lists",
                                   file_name, line, kDeepest));
  }
}

constexpr std::string_view kRequired = "required";

/// The range as tables show it: without the ends that every number has.
std::string shown(Range range) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (range.low <= -kLargestNumber) range.low = -kInfinity;
  if (range.high >= kLargestNumber) range.high = kInfinity;
  const std::string text = to_string(range);
  if (text == "finite") return {};
  return text.starts_with("in ") ? text.substr(3) : text;
}

std::string number_text(double value) {
  std::string text = fmt::format("{}", value);  // shortest text that reads back to the same bits
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

/// A TOML string on one line.
std::string string_text(std::string_view text) {
  std::string all = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      all += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7f) {
      all += fmt::format("\\u{:04x}", byte);
    } else {
      all += c;
    }
  }
  return all + '"';
}

std::string key_text(std::string_view key) {
  const bool is_bare = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  return is_bare ? std::string(key) : string_text(key);
}

/// The value as a TOML node whose source is the override's origin.
toml::table node_of(const Override& change, const std::string& file_name) {
  try {
    return toml::parse("value = " + change.value.text(), change.origin);
  } catch (const toml::parse_error& error) {
    throw ModelError(fmt::format("{}: {} = {}: {}", file_name, change.key, change.value.text(),
                                 error.description()));
  }
}

std::vector<std::string_view> split(std::string_view key) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t dot = key.find('.');
    parts.push_back(key.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    key.remove_prefix(dot + 1);
  }
}

/// The tables of `list` that `number` names: `*`, or an index from 1.
std::vector<toml::table*> list_tables(toml::array& list, std::string_view name,
                                      std::string_view number, const std::string& place) {
  std::vector<toml::table*> tables;
  for (toml::node& node : list) {
    if (!node.is_table()) throw ModelError(fmt::format("{}{} is no list of tables", place, name));
    tables.push_back(node.as_table());
  }
  if (number == "*") return tables;
  const std::size_t index = read_integer<std::size_t>(number).value_or(0);
  if (index < 1 || index > tables.size()) {
    throw ModelError(fmt::format("{}'{}' is no {}, must be * or in [1, {}]", place, number, name,
                                 tables.size()));
  }
  return {tables[index - 1]};
}

void apply_override(toml::table& top, const Override& change, const std::string& file_name) {
  const std::string place = fmt::format("{}{}{}: {}: ", change.origin,
                                        change.origin.empty() ? "" : ": ", file_name, change.key);
  const std::vector<std::string_view> parts = split(change.key);
  const std::string_view last = parts.back();
  if (last.empty()) throw ModelError(place + "the key is missing");
  if (parts.size() > kDeepest)
    throw ModelError(fmt::format("{}: {}...: has {} parts, must have at most {}", change.origin,
                                 change.key.substr(0, kShownKey), parts.size(), kDeepest));
  std::vector<toml::table*> tables{&top};
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    std::vector<toml::table*> inner;
    for (toml::table* const table : tables) {
      if (!table->contains(parts[i])) table->insert(parts[i], toml::table{});
      toml::node& node = *table->get(parts[i]);
      if (toml::array* const list = node.as_array()) {
        if (i + 2 >= parts.size())
          throw ModelError(
              fmt::format("{}must be {}.NUMBER.KEY or {}.*.KEY", place, parts[i], parts[i]));
        for (toml::table* const one : list_tables(*list, parts[i], parts[i + 1], place))
          inner.push_back(one);
      } else if (toml::table* const one = node.as_table()) {
        inner.push_back(one);
      } else {
        throw ModelError(fmt::format("{}{} is no table", place, parts[i]));
      }
    }
    if (top.get(parts[i]) != nullptr && top.get(parts[i])->is_array()) ++i;
    tables = std::move(inner);
  }
  const std::optional<double> scale = change.value.scale();
  for (toml::table* const table : tables) {
    Override here = change;
    if (scale) {
      const toml::node* const present = table->get(last);
      auto numbers = present ? to_value(*present).numbers() : std::nullopt;
      if (!numbers)
        throw ModelError(
            fmt::format("{}{}: the file has no number to scale here", place, change.value.text()));
      Value::List scaled;
      for (const double number : *numbers) scaled.push_back({*scale * number});
      here.value = present->is_array() ? Value{std::move(scaled)} : scaled.front();
    }
    toml::table value = node_of(here, file_name);
    table->insert_or_assign(last, std::move(*value.get("value")));
  }
}

}  // namespace

Value Value::parse(std::string_view text) {
  refuse_deep(text, std::string(text.substr(0, kShownKey)));
  try {
    const toml::table table = toml::parse("value = " + std::string(text));
    if (table.size() == 1) return to_value(*table.get("value"));
  } catch (const toml::parse_error&) {
    // Not a TOML value: bare words, if it looks like them.
  }
  const bool is_words = text.find_first_not_of(' ') != text.npos &&
                        text.find_first_of("\"'[]{}=#,\n\r\t") == text.npos;
  if (!is_words) {
    const bool could_be_quoted = text.find_first_of("\"'\n\r") == text.npos;
    throw ModelError(fmt::format("{}: must be a TOML value or bare words{}", text,
                                 could_be_quoted ? fmt::format(", such as '\"{}\"'", text) : ""));
  }
  return {std::string(text)};
}

std::optional<double> Value::scale() const {
  const auto* const table = std::get_if<Table>(&data);
  if (table == nullptr || table->size() != 1 || table->begin()->first != "scale")
    return std::nullopt;
  const auto numbers = table->begin()->second.numbers();
  if (!numbers || numbers->size() != 1) return std::nullopt;
  return numbers->front();
}

std::string Value::text() const {
  struct Writer {
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return number_text(value); }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(const std::string& value) const { return string_text(value); }
    std::string operator()(const List& list) const {
      std::string all;
      for (const Value& value : list) all += (all.empty() ? "" : ", ") + value.text();
      return "[" + all + "]";
    }
    std::string operator()(const Table& table) const {
      std::string all;
      for (const auto& [key, value] : table)
        all += fmt::format("{}{} = {}", all.empty() ? " " : ", ", key_text(key), value.text());
      return "{" + all + " }";
    }
  };
  return std::visit(Writer{}, data);
}

Value to_value(const toml::node& node) {
  if (const auto integer = node.as_integer()) return {integer->get()};
  if (const auto number = node.as_floating_point()) return {number->get()};
  if (const auto boolean = node.as_boolean()) return {boolean->get()};
  if (const auto text = node.as_string()) return {text->get()};
  if (const toml::array* array = node.as_array()) {
    Value::List list;
    for (const toml::node& element : *array) list.push_back(to_value(element));
    return {std::move(list)};
  }
  if (const toml::table* table = node.as_table()) {
    Value::Table entries;
    for (const auto& [key, value] : *table) entries.emplace(key.str(), to_value(value));
    return {std::move(entries)};
  }
  return {to_text(node)};  // dates and times
}

std::string to_text(const toml::node& node) {
  if (const auto number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto text = node.as_string(); text && text->get().find('\n') != std::string::npos)
    return string_text(text->get());
  if (const toml::array* const array = node.as_array(); array != nullptr && !array->empty()) {
    std::string list;
    for (const toml::node& element : *array) list += (list.empty() ? "" : ", ") + to_text(element);
    return "[ " + list + " ]";
  }
  if (const toml::table* const table = node.as_table(); table != nullptr && !table->empty()) {
    std::string entries;
    for (const auto& [key, value] : *table)
      entries += fmt::format("{}{} = {}", entries.empty() ? "" : ", ", key_text(key.str()),
                             to_text(value));
    return "{ " + entries + " }";
  }
  std::ostringstream stream;
  node.visit([&stream](const auto& value) { stream << value; });
  std::string text = stream.str();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::optional<std::vector<double>> Value::numbers() const {
  const auto one = [](const Value& value) -> std::optional<double> {
    if (const auto* integer = std::get_if<std::int64_t>(&value.data))
      return static_cast<double>(*integer);
    const auto* number = std::get_if<double>(&value.data);
    if (number == nullptr || !std::isfinite(*number)) return std::nullopt;
    return *number;
  };
  std::vector<double> all;
  const auto* list = std::get_if<List>(&data);
  for (const Value& value :
       list ? std::span<const Value>(*list) : std::span<const Value>(this, 1)) {
    const std::optional<double> number = one(value);
    if (!number) return std::nullopt;
    all.push_back(*number);
  }
  return all;
}

toml::table parse_toml(std::string_view text, const std::string& file_name) {
  refuse_deep(text, file_name);
  try {
    return toml::parse(text, file_name);
  } catch (const toml::parse_error& error) {
    const auto& begin = error.source().begin;
    const bool is_bare_word = error.description().ends_with("could not determine value type");
    throw ModelError(fmt::format("{}:{}:{}: {}{}", file_name, begin.line, begin.column,
                                 error.description(),
                                 is_bare_word ? "; a text must be in quotes" : ""));
  }
}

std::string read_text_file(const std::filesystem::path& file) {
  const auto refuse = [&](const std::string& what) {
    throw ModelError(fmt::format("{}: {}: must be a readable file", file.string(), what));
  };
  const system::FileDescriptor input = system::open_file(file, system::Opening::Read);
  const auto status = system::status_of(input);
  if (!status) refuse(std::strerror(errno));
  if (status->is_folder) refuse("is a folder");
  if (!status->is_regular) refuse("is a device or a pipe");

  const auto refuse_size = [&] { refuse(fmt::format("has more than {} MiB", kLargestFile >> 20)); };
  if (status->size > kLargestFile) refuse_size();

  std::string text(static_cast<std::size_t>(status->size), '\0');
  std::size_t size = 0;
  for (;;) {
    if (size == text.size()) text.resize(size + kReadAtOnce);
    const std::ptrdiff_t count = system::read_some(input, std::span(text).subspan(size));
    if (count < 0)
      throw std::runtime_error(fmt::format("{}: byte {}: could not be read: {}", file.string(),
                                           size, std::strerror(errno)));
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
    if (size > kLargestFile) refuse_size();
  }
  text.resize(size);
  return text;
}

void apply_overrides(toml::table& top, std::span<const Override> overrides,
                     const std::string& file_name) {
  for (const Override& change : overrides) apply_override(top, change, file_name);
}

// ---- fields

Fields::Fields(const toml::table& table, std::string file_name, std::string object)
    : table_(&table), file_name_(std::move(file_name)), object_(std::move(object)) {}

std::string Fields::origin(const toml::node& node) const {
  const toml::source_region& source = node.source();
  if (source.path && *source.path != file_name_) {
    return source.path->empty() ? file_name_ : fmt::format("{}: {}", *source.path, file_name_);
  }
  return source.begin.line > 0 ? fmt::format("{}:{}", file_name_, source.begin.line) : file_name_;
}

std::string Fields::place(const toml::node& node) const {
  return object_.empty() ? origin(node) + ": " : fmt::format("{}: {}: ", origin(node), object_);
}

void Fields::refuse(std::string_view key, std::string_view reason) const {
  const toml::node* node = get(key);
  if (node == nullptr) missing(key, reason);
  refuse(key, *node, reason);
}

void Fields::refuse(std::string_view key, const toml::node& node, std::string_view reason) const {
  throw ModelError(fmt::format("{}{} = {}: {}", place(node), key, to_text(node), reason));
}

void Fields::missing(std::string_view key, std::string_view what) const {
  throw ModelError(fmt::format("{}{}: {}", place(*table_), key, what));
}

void Fields::refuse_object(std::string_view reason) const {
  throw ModelError(place(*table_) + std::string(reason));
}

void Fields::refuse_unknown(Keys known) const {
  const auto is_known = [&](std::string_view key) {
    return std::find(known.begin(), known.end(), key) != known.end();
  };
  for (const auto& [key, node] : *table_) {
    if (is_known(key.str())) continue;
    if (const std::string_view now = present_name(key.str(), is_known); !now.empty())
      throw ModelError(place(node) + renamed_text(key.str(), now));
    throw ModelError(fmt::format("{}unknown key '{}'{}, must be one of: {}", place(node), key.str(),
                                 meant_text(key.str(), known), joined(known)));
  }
}

void Fields::refuse_below(std::initializer_list<std::string_view> of_head,
                          std::string_view except) const {
  const auto look_at = [&](const Fields& below) {
    for (const std::string_view key : of_head)
      if (below.has(key))
        below.refuse(key, "is a key of the file, not of this table: must stand above the tables");
  };
  for (const auto& [key, node] : *table_) {
    if (key == except) continue;
    if (node.is_table()) look_at(table(key.str()));
    if (!node.is_array_of_tables()) continue;
    for (const Fields& one : tables(key.str())) look_at(one);
  }
}

void Fields::refuse_unknown(KeyRows known) const {
  if (KeyLog* const log = KeyLog::of(file_name_)) log->know(object_, known);
  std::vector<std::string_view> names;
  for (const KeyInfo& row : known) names.push_back(row.name);
  refuse_unknown(Keys(names));
}

void Fields::describe(std::string_view key, std::string_view default_text,
                      std::string_view allowed) const {
  if (KeyLog* const log = KeyLog::of(file_name_)) log->note(object_, key, default_text, allowed);
}

void Fields::describe(std::string_view key, double fallback) const {
  if (KeyLog::of(file_name_) != nullptr) describe(key, fmt::format("{:.6g}", fallback));
}

double Fields::element(std::string_view key, const toml::node& node, const Range& range) const {
  if (KeyLog::of(file_name_) != nullptr) describe(key, "", shown(range));
  if (!node.is_number()) refuse(key, "must be a number");
  const double value = node.is_integer() ? static_cast<double>(node.as_integer()->get())
                                         : node.as_floating_point()->get();
  if (!range.contains(value)) refuse(key, "must be " + to_string(range));
  return value;
}

std::vector<double> Fields::elements(std::string_view key, const toml::node& node,
                                     std::size_t count, const Range& each) const {
  const toml::array* const array = node.as_array();
  if (array == nullptr || array->size() != count)
    refuse(key, fmt::format("must be {} numbers", count));
  std::vector<double> values;
  for (const toml::node& entry : *array) values.push_back(element(key, entry, each));
  return values;
}

double Fields::number(std::string_view key, double fallback, const Range& range) const {
  describe(key, fallback);
  return number(key, range).value_or(fallback);
}

std::optional<double> Fields::number(std::string_view key, const Range& range) const {
  if (KeyLog::of(file_name_) != nullptr) describe(key, "", shown(range));
  const toml::node* node = get(key);
  if (node == nullptr) return std::nullopt;
  return element(key, *node, range);
}

double Fields::required_number(std::string_view key, const Range& range) const {
  describe(key, kRequired);
  const toml::node* node = get(key);
  if (node == nullptr) missing(key, "is missing, must be " + to_string(range));
  return element(key, *node, range);
}

int Fields::integer(std::string_view key, int fallback, int low, int high) const {
  if (KeyLog::of(file_name_) != nullptr)
    describe(key, std::to_string(fallback), fmt::format("integer in [{}, {}]", low, high));
  const toml::node* node = get(key);
  if (node == nullptr) return fallback;
  const auto* value = node->as_integer();
  if (value == nullptr || value->get() < low || value->get() > high)
    refuse(key, fmt::format("must be an integer in [{}, {}]", low, high));
  return static_cast<int>(value->get());
}

bool Fields::boolean(std::string_view key, bool fallback) const {
  describe(key, fallback ? "true" : "false", "`true`, `false`");
  const toml::node* node = get(key);
  if (node == nullptr) return fallback;
  if (!node->is_boolean()) refuse(key, "must be true or false");
  return node->as_boolean()->get();
}

std::string Fields::text(std::string_view key, std::string_view fallback) const {
  if (KeyLog::of(file_name_) != nullptr)
    describe(key, fallback.empty() ? "" : fmt::format("\"{}\"", fallback));
  const toml::node* node = get(key);
  if (node == nullptr) return std::string(fallback);
  if (!node->is_string() || node->as_string()->get().empty())
    refuse(key, "must be a string, not empty");
  return node->as_string()->get();
}

std::string Fields::required_text(std::string_view key, std::string_view what) const {
  describe(key, kRequired);
  if (!has(key)) missing(key, fmt::format("is missing, {}", what));
  return text(key, "");
}

std::ptrdiff_t Fields::choice_index(std::string_view key,
                                    std::span<const std::string_view> names) const {
  if (KeyLog::of(file_name_) != nullptr)
    describe(key, fmt::format("\"{}\"", names.front()),
             fmt::format("`\"{}\"`", fmt::join(names, "\"`, `\"")));
  if (!has(key)) return 0;
  const toml::node& node = *get(key);
  const auto found = std::find(names.begin(), names.end(),
                               node.is_string() ? node.as_string()->get() : std::string());
  if (found != names.end()) return found - names.begin();
  std::string allowed;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const char* const before = i == 0 ? "" : i + 1 == names.size() ? " or " : ", ";
    allowed += fmt::format("{}\"{}\"", before, names[i]);
  }
  refuse(key, "must be " + allowed);
}

std::vector<double> Fields::numbers(std::string_view key, const Range& each) const {
  std::vector<double> values;
  const toml::node* node = get(key);
  if (node == nullptr) return values;
  const toml::array* array = node->as_array();
  if (array == nullptr || array->empty()) refuse(key, "must be a list of numbers, not empty");
  for (const toml::node& entry : *array) values.push_back(element(key, entry, each));
  return values;
}

std::optional<std::vector<double>> Fields::numbers(std::string_view key, std::size_t count,
                                                   const Range& each) const {
  const toml::node* node = get(key);
  if (node == nullptr) return std::nullopt;
  return elements(key, *node, count, each);
}

std::vector<std::vector<double>> Fields::rows(std::string_view key, std::size_t count,
                                              const Range& each) const {
  std::vector<std::vector<double>> all;
  const toml::node* node = get(key);
  if (node == nullptr) return all;
  const toml::array* array = node->as_array();
  if (array == nullptr || array->empty())
    refuse(key, fmt::format("must be a list, not empty, of lists of {} numbers", count));
  for (const toml::node& entry : *array) {
    const toml::array* const row = entry.as_array();
    if (row == nullptr || row->size() != count)
      refuse(key, entry, fmt::format("row {} must be {} numbers", all.size() + 1, count));
    all.push_back(elements(key, entry, count, each));
  }
  return all;
}

std::optional<Eigen::Vector3d> Fields::vector(std::string_view key, const Range& each) const {
  const auto values = numbers(key, 3, each);
  if (!values) return std::nullopt;
  return Eigen::Vector3d((*values)[0], (*values)[1], (*values)[2]);
}

Fields Fields::table(std::string_view key) const {
  static const toml::table empty;
  const std::string object =
      object_.empty() ? std::string(key) : fmt::format("{}: {}", object_, key);
  const toml::node* node = get(key);
  if (node == nullptr) return {empty, file_name_, object};
  if (!node->is_table()) refuse(key, fmt::format("must be a table, [{}]", key));
  return {*node->as_table(), file_name_, object};
}

Fields Fields::required_table(std::string_view key,
                              std::initializer_list<std::string_view> known) const {
  const Keys keys(known.begin(), known.size());
  if (!has(key) || !get(key)->is_table()) refuse(key, "must be a table of " + joined(keys));
  Fields inner = table(key);
  inner.refuse_unknown(keys);
  return inner;
}

std::string_view Fields::one_of(std::initializer_list<std::string_view> keys) const {
  std::string_view found;
  for (const std::string_view key : keys) {
    if (!has(key)) continue;
    if (!found.empty()) refuse_object(fmt::format("{} and {}: must be one of them", found, key));
    found = key;
  }
  if (found.empty()) refuse_object("must have one of: " + joined(Keys(keys.begin(), keys.size())));
  return found;
}

std::vector<Fields> Fields::tables(std::string_view key, int first) const {
  std::vector<Fields> all;
  const toml::node* node = get(key);
  if (node == nullptr) return all;
  const toml::array* list = node->as_array();
  const std::string allowed = fmt::format("must be tables, each headed [[{}]]", key);
  if (list == nullptr) refuse(key, allowed);
  for (const toml::node& element : *list) {
    if (!element.is_table()) refuse(key, allowed);
    all.emplace_back(*element.as_table(), file_name_,
                     fmt::format("{} {}", key, static_cast<int>(all.size()) + first));
  }
  return all;
}

std::string joined(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

}  // namespace tendril
