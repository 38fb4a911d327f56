#include "tendril/robot_file/toml_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tendril/model_error.hpp"

namespace tendril::robot_file_detail {
namespace {

std::string shown(const toml::node& node) {
  if (const auto number = node.as_floating_point()) return fmt::format("{}", number->get());
  std::ostringstream stream;
  node.visit([&stream](const auto& value) { stream << value; });
  return stream.str();
}

}  // namespace

toml::table parse_toml(std::string_view text, const std::string& file_name) {
  try {
    return toml::parse(text, file_name);
  } catch (const toml::parse_error& error) {
    const auto& begin = error.source().begin;
    throw ModelError(
        fmt::format("{}:{}:{}: {}", file_name, begin.line, begin.column, error.description()));
  }
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  if (stream) text << stream.rdbuf();
  if (!stream || std::filesystem::is_directory(file)) {
    throw ModelError(fmt::format("{}: cannot be read", file.string()));
  }
  return text.str();
}

Fields::Fields(const toml::table& table, std::string file_name, std::string object, Lines lines)
    : table_(table), file_name_(std::move(file_name)), object_(std::move(object)), lines_(lines) {}

std::string Fields::place(const toml::node& node) const {
  std::string where = file_name_;
  if (lines_ == Lines::Named && node.source().begin.line > 0) {
    where += fmt::format(":{}", node.source().begin.line);
  }
  return object_.empty() ? where + ": " : fmt::format("{}: {}: ", where, object_);
}

void Fields::refuse(std::string_view key, std::string_view reason) const {
  const toml::node* node = table_.get(key);
  if (node == nullptr) throw ModelError(fmt::format("{}{}: {}", place(table_), key, reason));
  throw ModelError(fmt::format("{}{} = {}: {}", place(*node), key, shown(*node), reason));
}

void Fields::refuse_object(std::string_view reason) const {
  throw ModelError(place(table_) + std::string(reason));
}

void Fields::refuse_unknown(std::span<const std::string_view> known) const {
  for (const auto& [key, node] : table_) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
    throw ModelError(fmt::format("{}unknown key '{}', must be one of: {}", place(node), key.str(),
                                 joined(known)));
  }
}

double Fields::element(std::string_view key, const toml::node& node, const Allowed& allowed) const {
  if (!node.is_number()) refuse(key, "must be a number");
  const double value = node.is_integer() ? static_cast<double>(node.as_integer()->get())
                                         : node.as_floating_point()->get();
  if (!allowed.holds(value)) refuse(key, allowed.text);
  return value;
}

double Fields::number(std::string_view key, double fallback, const Allowed& allowed) const {
  const toml::node* node = table_.get(key);
  return node == nullptr ? fallback : element(key, *node, allowed);
}

double Fields::required_number(std::string_view key, const Allowed& allowed) const {
  const toml::node* node = table_.get(key);
  if (node == nullptr) refuse(key, fmt::format("is missing, {}", allowed.text));
  return element(key, *node, allowed);
}

int Fields::integer(std::string_view key, int fallback, int low, int high) const {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return fallback;
  const std::string allowed = fmt::format("must be an integer in [{}, {}]", low, high);
  const auto* value = node->as_integer();
  if (value == nullptr || value->get() < low || value->get() > high) refuse(key, allowed);
  return static_cast<int>(value->get());
}

bool Fields::boolean(std::string_view key, bool fallback) const {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return fallback;
  if (!node->is_boolean()) refuse(key, "must be true or false");
  return node->as_boolean()->get();
}

std::string Fields::text(std::string_view key, std::string_view fallback) const {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return std::string(fallback);
  if (!node->is_string() || node->as_string()->get().empty()) {
    refuse(key, "must be a string, not empty");
  }
  return node->as_string()->get();
}

std::vector<double> Fields::numbers(std::string_view key, const Allowed& each) const {
  std::vector<double> values;
  const toml::node* node = table_.get(key);
  if (node == nullptr) return values;
  const toml::array* array = node->as_array();
  if (array == nullptr || array->empty()) refuse(key, "must be a list of numbers, not empty");
  for (const toml::node& entry : *array) values.push_back(element(key, entry, each));
  return values;
}

const toml::table& sub_table(const Fields& top, std::string_view key) {
  static const toml::table empty;
  const toml::node* node = top.table().get(key);
  if (node == nullptr) return empty;
  if (!node->is_table()) top.refuse(key, fmt::format("must be a table, [{}]", key));
  return *node->as_table();
}

std::string joined(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

}  // namespace tendril::robot_file_detail
