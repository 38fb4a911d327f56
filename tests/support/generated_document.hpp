#pragma once

// Generated parts of docs/reference. A part is between two comments of a page:
//     <!-- NAME: generated -->
//     <!-- end of NAME -->

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>

namespace tendril::test {

/// Returns the text of a file of the source root, where tests run.
inline std::string text_of(const std::string& name) {
  std::ifstream file(name);
  std::ostringstream text;
  text << file.rdbuf();
  REQUIRE_FALSE(text.str().empty());
  return text.str();
}

/// Compares a generated part with `expected`. With TENDRIL_UPDATE_DOCS in the environment it is
/// written before (scripts/reference).
inline void check_generated(const std::string& page, const std::string& name,
                            const std::string& expected) {
  const std::string begin = "<!-- " + name + ": generated -->\n",
                    end = "<!-- end of " + name + " -->";
  std::string text = text_of(page);
  INFO(page << " is not that of the code: run scripts/reference");
  CAPTURE(begin);
  REQUIRE(text.find(begin) != std::string::npos);
  const std::size_t from = text.find(begin) + begin.size();
  REQUIRE(text.find(end, from) != std::string::npos);
  if (std::getenv("TENDRIL_UPDATE_DOCS") != nullptr) {
    text.replace(from, text.find(end, from) - from, expected);
    std::ofstream(page) << text;
  }
  CHECK(text.substr(from, text.find(end, from) - from) == expected);
}

/// A table of Markdown.
class MarkdownTable {
 public:
  explicit MarkdownTable(std::initializer_list<std::string_view> head) {
    add(head);
    for (std::size_t i = 0; i < head.size(); ++i) text_ += "|---";
    text_ += "|\n";
    head_ = text_.size();
  }
  void add(std::initializer_list<std::string_view> cells) {
    for (const std::string_view cell : cells)
      text_ += "| " + escaped(cell) + (cell.empty() ? "" : " ");
    text_ += "|\n";
  }
  /// Returns the table, or nothing without rows.
  [[nodiscard]] std::string text() const { return text_.size() == head_ ? "" : text_ + "\n"; }

 private:
  static std::string escaped(std::string_view cell) {
    std::string text;
    for (const char c : cell) text += c == '|' ? "\\|" : std::string(1, c);
    return text;
  }

  std::string text_;
  std::size_t head_ = 0;
};

/// Returns the word as code, or nothing.
inline std::string code(std::string_view word) {
  return word.empty() ? "" : '`' + std::string(word) + '`';
}

}  // namespace tendril::test
