#include "apps/tendril/terminal.hpp"

#include "apps/tendril/progress.hpp"
#include "simulation/files/output_error.hpp"
#include "tendril/system/file_descriptor.hpp"
#include "tendril/visible_text.hpp"

namespace tendril {

void write_shown(std::FILE* stream, std::string_view text) {
  write_visible(text,
                [&](std::string_view part) { std::fwrite(part.data(), 1, part.size(), stream); });
}

void print_colored(const char* color, const std::string& word) {
  if (wants_color())
    fmt::print("\033[{}m{}\033[0m", color, word);
  else
    say("{}", word);
}

void complain(std::string_view text) {
  std::string line = "tendril: ";
  for (const char c : text) line += c == '\n' ? ' ' : c;
  while (line.back() == ' ') line.pop_back();
  write_shown(stderr, line + '\n');
}

void print_notice(std::string_view text) { complain(std::string("notice: ").append(text)); }

void notice(NoticeCode code, std::string_view text) { print_notice(notice_text(code, text)); }

void print_text(std::string_view text) {
  write_shown(stdout, text);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw simulation::OutputError("stdout: could not be written");
}

void print_data(std::string_view text) {
  if (system::is_terminal(system::Stream::Output)) return print_text(text);
  std::fwrite(text.data(), 1, text.size(), stdout);
  print_text("");
}

}  // namespace tendril
