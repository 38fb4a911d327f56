#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/tendril/commands.hpp"
#include "apps/tendril/message_kinds.hpp"
#include "apps/tendril/terminal.hpp"
#include "controllers/interface/controller.hpp"
#include "tendril/model_error.hpp"
#include "tendril/renamed.hpp"

namespace tendril {
namespace {

struct ExplainArguments {
  std::string code;
  bool markdown = false;
};

/// `not_following`, `not following` and `not-following` are one code.
std::string with_dashes(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '_' || c == ' '; }, '-');
  return text;
}

/// The code at the end of a printed notice, `[code]`; else the text itself.
std::string code_in(const std::string& text) {
  const std::size_t begin = text.rfind('[');
  if (begin == text.npos || !text.ends_with(']')) return text;
  return text.substr(begin + 1, text.size() - begin - 2);
}

/// A code and what it means.
struct Row {
  std::string code;
  std::string_view meaning, what_to_do;
};

struct Group {
  const char* title;
  std::vector<Row> rows;
  bool is_of_statuses = false;  ///< its rows have numbers, and a page of their own
};

std::vector<Row> statuses() {
  std::vector<Row> rows;
  for (const StatusInfo& status : controller_statuses())
    rows.push_back({with_dashes(status.name), status.meaning, status.what_to_do});
  return rows;
}

Row row_of(const MessageKind& kind) {
  return {std::string(kind.code), kind.meaning, kind.what_to_do};
}

std::vector<Group> groups() {
  Group notices{"Notices", {}}, errors{"Errors", {}}, exits{"Exit codes", {}};
  for (const MessageKind& kind : kNoticeKinds) notices.rows.push_back(row_of(kind));
  for (const ErrorKind& kind : error_kinds()) errors.rows.push_back(row_of(kind.message));
  for (const MessageKind& kind : exit_kinds()) exits.rows.push_back(row_of(kind));
  return {notices, errors, {"Statuses", statuses(), true}, exits};
}

void print_row(const std::string& title, const Row& row) {
  say("{} ({})\n  {}\n  {}\n", row.code, title, row.meaning,
      row.what_to_do.empty() ? "Nothing needs to be done." : row.what_to_do);
}

/// Prints the explanation of a code, a status or a whole printed line.
void explain(const std::string& text) {
  const std::string code = with_dashes(code_in(text));
  const std::vector<Group> all = groups();
  std::vector<std::string_view> known;
  for (const Group& group : all)
    for (std::size_t i = 0; i < group.rows.size(); ++i) {
      const Row& row = group.rows[i];
      known.push_back(row.code);
      if (row.code != code && !(group.is_of_statuses && code == std::to_string(i))) continue;
      return print_row(group.is_of_statuses ? fmt::format("status {}", i) : group.title, row);
    }
  if (text.find(": ") != text.npos)
    return print_row("Errors", row_of(error_kind_of(text, kExitUsage)));
  throw ModelError(
      fmt::format("{}: unknown code{}; tendril explain lists all", text, meant_text(code, known)));
}

void print_list() {
  for (const Group& group : groups()) {
    say("{}:\n", group.title);
    for (std::size_t i = 0; i < group.rows.size(); ++i) {
      const std::string number = group.is_of_statuses ? fmt::format("{:>2} ", i) : "";
      say("  {}{:<26}{}\n", number, group.rows[i].code, group.rows[i].meaning);
    }
  }
}

void print_page() {
  say("{}", message_page_head());
  for (const Group& group : groups()) {
    if (group.is_of_statuses) continue;
    say("\n## {}\n\n{}\n\n", group.title, message_page_text(group.title));
    say("| code | meaning | what to do |\n|---|---|---|\n");
    for (const Row& row : group.rows)
      say("| `{}` | {} | {} |\n", row.code, row.meaning, row.what_to_do);
  }
}

}  // namespace

void add_explain_command(CommandLine& line) {
  const Command command = line.command(
      "explain", "Says what an error, a notice, a status or an exit code means, and what to do");
  const auto arguments = std::make_shared<ExplainArguments>();
  command.option("code", arguments->code,
                 "code, number or name of a status, exit-N, or a whole printed line in quotes; "
                 "without it, all codes are listed");
  command.flag("--markdown", arguments->markdown, "all codes as docs/reference/messages.md");
  command.footer("Example: tendril explain not_following");
  command.action([arguments] {
    if (arguments->markdown)
      print_page();
    else if (arguments->code.empty())
      print_list();
    else
      explain(arguments->code);
    return 0;
  });
}

}  // namespace tendril
