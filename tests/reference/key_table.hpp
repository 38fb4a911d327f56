#pragma once

#include <string>
#include <string_view>

#include "tendril/model/key_log.hpp"
#include "tests/support/generated_document.hpp"

namespace tendril::test {

/// Name of the files whose keys are recorded.
inline constexpr const char* kKeyLogFile = "recorded.toml";

/// A default as tables show it.
inline std::string default_cell(const std::string& text) {
  const bool is_value = text.starts_with('"') || text == "true" || text == "false";
  return is_value ? code(text) : text;
}

/// The keys of a table of a file that have been recorded. Every key must have been read.
inline std::string key_table(const KeyLog& log, std::string_view name) {
  MarkdownTable all{"key", "unit", "default", "range", "meaning"};
  for (const KeyRecord& key : log.table(name).keys) {
    if (key.info.meaning == "table") continue;  // has a section of its own
    INFO("key " << key.info.name << " of table [" << name
                << "]: no example of this test reads it, or its row says no default");
    CHECK_FALSE(key.default_text.empty());
    all.add({code(key.info.name), key.info.unit, default_cell(key.default_text), key.allowed,
             key.info.meaning});
  }
  return all.text();
}

}  // namespace tendril::test
