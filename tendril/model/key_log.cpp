#include "tendril/model/key_log.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tendril {
namespace {

thread_local KeyLog* present = nullptr;

/// "section" of the object "section 2".
std::string_view table_name(std::string_view object) {
  const std::size_t end = object.find_last_not_of("0123456789");
  const bool is_numbered = end != object.npos && end + 1 < object.size() && object[end] == ' ';
  return is_numbered ? object.substr(0, end) : object;
}

}  // namespace

KeyLog::KeyLog(std::string file_name) : file_name_(std::move(file_name)) { present = this; }
KeyLog::~KeyLog() { present = nullptr; }

KeyLog* KeyLog::of(std::string_view file_name) noexcept {
  return present != nullptr && present->file_name_ == file_name ? present : nullptr;
}

KeyLog::Table& KeyLog::table_of(std::string_view object) {
  const std::string_view name = table_name(object);
  const auto found = std::find_if(tables_.begin(), tables_.end(),
                                  [&](const Table& table) { return table.name == name; });
  return found != tables_.end() ? *found : tables_.emplace_back(Table{std::string(name), {}});
}

void KeyLog::know(std::string_view object, KeyRows rows) {
  Table& table = table_of(object);
  for (const KeyInfo& row : rows) {
    const auto has_name = [&](const KeyRecord& key) { return key.info.name == row.name; };
    if (std::none_of(table.keys.begin(), table.keys.end(), has_name))
      table.keys.push_back({row, std::string(row.default_text), std::string(row.allowed_text)});
  }
}

void KeyLog::note(std::string_view object, std::string_view key, std::string_view default_text,
                  std::string_view allowed) {
  for (KeyRecord& record : table_of(object).keys) {
    if (record.info.name != key) continue;
    if (record.default_text.empty()) record.default_text = default_text;
    if (record.allowed.empty()) record.allowed = allowed;
  }
}

const KeyLog::Table& KeyLog::table(std::string_view name) const {
  for (const Table& table : tables_)
    if (table.name == name) return table;
  throw std::out_of_range("no table " + std::string(name));
}

}  // namespace tendril
