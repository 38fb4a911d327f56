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

/// Tells whether `text` is the number of a status, or its words, such as "target not reached".
bool is_status(std::size_t number, std::string_view text) {
  return text == std::to_string(number) || text == to_string(static_cast<ControllerStatus>(number));
}

/// `not_following` and `not-following` are one code.
std::string with_dashes(std::string text) {
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

/// The code at the end of a printed notice, `[code]`; else the text itself.
std::string code_in(const std::string& text) {
  const std::size_t begin = text.rfind('[');
  if (begin == text.npos || !text.ends_with(']')) return text;
  return text.substr(begin + 1, text.size() - begin - 2);
}

/// The kind of error whose words a printed line has; null: none.
const MessageKind* error_in(std::string_view line) {
  for (const ErrorKind& kind : error_kinds())
    for (const std::string_view words : kind.words)
      if (!words.empty() && line.find(words) != line.npos) return &kind.message;
  return nullptr;
}

std::vector<MessageKind> errors() {
  std::vector<MessageKind> all;
  for (const ErrorKind& kind : error_kinds()) all.push_back(kind.message);
  return all;
}

struct Group {
  const char* title;
  std::vector<MessageKind> kinds;
  bool is_numbered;  ///< a kind has its position as a second name
};

std::vector<Group> groups() {
  const auto all = [](std::span<const MessageKind> kinds) {
    return std::vector<MessageKind>(kinds.begin(), kinds.end());
  };
  return {{"Notices", all(kNoticeKinds), false},
          {"Errors", errors(), false},
          {"Statuses", all(status_kinds()), true},
          {"Exit codes", all(exit_kinds()), false}};
}

void print_kind(const std::string& title, const MessageKind& kind) {
  say("{} ({})\n  {}\n  {}\n", kind.code, title, kind.meaning, kind.what_to_do);
}

/// Prints the explanation of a code, a status or a whole printed line.
void explain(const std::string& text) {
  const std::string code = with_dashes(code_in(text));
  std::vector<std::string_view> known;
  const std::vector<Group> all = groups();
  for (const Group& group : all)
    for (std::size_t i = 0; i < group.kinds.size(); ++i) {
      known.push_back(group.kinds[i].code);
      if (group.kinds[i].code != code && !(group.is_numbered && is_status(i, text))) continue;
      return print_kind(group.is_numbered ? fmt::format("status {}", i) : group.title,
                        group.kinds[i]);
    }
  if (const MessageKind* const error = error_in(text)) return print_kind("Errors", *error);
  throw ModelError(
      fmt::format("{}: unknown code{}; tendril explain lists all", text, meant_text(code, known)));
}

void print_list() {
  for (const Group& group : groups()) {
    say("{}:\n", group.title);
    for (std::size_t i = 0; i < group.kinds.size(); ++i) {
      const MessageKind& kind = group.kinds[i];
      const std::string number = group.is_numbered ? fmt::format("{:>2} ", i) : "";
      say("  {}{:<26}{}\n", number, kind.code, kind.meaning);
    }
  }
}

void print_page() {
  say("{}", message_page_head());
  for (const Group& group : groups()) {
    say("\n## {}\n\n{}\n\n", group.title, message_page_text(group.title));
    const char* const number = group.is_numbered ? "number | " : "";
    say("| {}code | meaning | what to do |\n|{}---|---|---|\n", number,
        group.is_numbered ? "---|" : "");
    for (std::size_t i = 0; i < group.kinds.size(); ++i) {
      const MessageKind& kind = group.kinds[i];
      say("| {}`{}` | {} | {} |\n", group.is_numbered ? fmt::format("{} | ", i) : "", kind.code,
          kind.meaning, kind.what_to_do);
    }
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
