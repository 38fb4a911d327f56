#include "apps/tendril/message_kinds.hpp"

#include <algorithm>
#include <iterator>

namespace tendril {
namespace {

constexpr ErrorKind kErrorKinds[] = {
    {{"not-loaded", "MuJoCo, a plugin or a Python package is missing, or has another version.",
      "Run the command that the line names, or `tendril doctor`."},
     {"libmujoco", "libtendril", "pip install"}},
    {{"renamed", "A key, setting, metric or controller has another name now.",
      "Write the name that the line gives."},
     {"is called"}},
    {{"unknown-command", "The program has no such command.", "Run `tendril --help`."},
     {"unknown command"}},
    {{"unknown-option", "The command has no such option.", "Run the command with `--help`."},
     {"not expected", "unrecognized arguments"}},
    {{"missing-option", "The command needs an option or argument that was not given.",
      "Add what the line names; the command's `--help` has an example."},
     {"is required", "are required", "must be given"}},
    {{"unknown-key", "A file or setting has a key that is not known in that place.",
      "Correct the spelling, or move the key to the table that has it. The line lists the known "
      "keys."},
     {"unknown key", "the option must be", "the field must be"}},
    {{"key-in-wrong-table", "A key of the whole file was written below the header of a table.",
      "Move the key above the first table."},
     {"must stand above the tables"}},
    {{"missing-key", "A file lacks a required key.", "Add the key that the line names."},
     {"is missing"}},
    {{"missing-file", "A file does not exist or cannot be read.",
      "Correct the path. Paths in a file are relative to that file."},
     {"No such file", "no such file", "must be a readable file", "is not a file"}},
    {{"syntax", "A file is not valid TOML or XML.", "Correct the line and column that are named."},
     {"Error while parsing", "must be in quotes", "mismatched element"}},
    {{"wrong-kind-of-file", "The command cannot use a file of this kind.",
      "Give the kind of file that the line names; the command's `--help` lists them."},
     {"must be a robot", "must be an experiment", "must be a continuum robot", "is not a recording",
      "is the folder of one run"}},
    {{"no-such-element",
      "A setting, fault, motion or metric names an element that the scene lacks.",
      "Correct the name. Names of robots' elements begin with the prefix of `<attach>`."},
     {"no such", "the scene has no", "must be a mocap body"}},
    {{"unknown-controller", "No loaded library has this controller.",
      "Correct `plugin`, or load its library with `--plugin` or `--python`."},
     {"must be a loaded plugin"}},
    {{"unknown-metric", "A check names a metric that does not exist or that nothing reports.",
      "Take a metric of docs/reference/experiment_file.md."},
     {"must be SIGNAL", "no controller of the scene reports"}},
    {{"checks-switched-off",
      "A check would hold whatever happens, because what it measures is switched off.",
      "Remove the flag that the line names, or the check."},
     {"switched off", "can never fail", "can touch", "cannot touch"}},
    {{"robot-not-drivable", "A controller cannot drive the robot as its file describes it.",
      "Add what the line names: servos, tendons, chambers or limits."},
     {"a controller needs"}},
    {{"output-exists", "An output would replace a file that Tendril has not written.",
      "Name another output, or remove the file."},
     {": exists", "has not written it", "an input of this command"}},
    {{"wrong-type", "A value has another type than the key takes.",
      "Write a number, a list, a text in quotes, or true or false, as the line says."},
     {"must be a number", "must be a string", "must be true or false", "must be a list"}},
    {{"out-of-range", "A value is not allowed.",
      "Take a value in the range that the line gives. Units are SI: m, rad, s, N, kg, Pa."},
     {"must be"}},
    {{"bad-input", "An input cannot be used as it is, for a reason that no other row has.",
      "Correct what the line names."}},
    {{"input-output",
      "A file, image or video could not be read or written, or memory is exhausted.",
      "Check space and permissions, and run `tendril doctor`."},
     {},
     kExitInputOutput},
};

constexpr MessageKind kExitKinds[] = {
    {"exit-0", "Done. All checks hold.", "Nothing."},
    {"exit-1",
     "A check failed, or a robot ended with a fault, jammed or without reaching its target. "
     "Of `rollout replay`: a step differs.",
     "Read the table of checks and the lines below it."},
    {"exit-2", "Bad input or wrong usage.", "Correct what the line names."},
    {"exit-3", "The simulation diverged.",
     "Shorten `option.timestep`, or look for stiff contacts and light bodies near the time that is "
     "printed."},
    {"exit-4", "A file, image, video or report could not be read or written.",
     "Check space and permissions, and run `tendril doctor`."},
    {"exit-5", "Runs of a sweep ended without a result.",
     "Run `tendril sweep status`, then the same command with `--retry-failed`."},
    {"exit-130", "Interrupted by Ctrl-C or a signal.", "Finished results are kept: run it again."},
};

constexpr std::string_view kHead =
    R"(<!-- Made by: tendril explain --markdown > docs/reference/messages.md -->
# Messages: errors, notices and exit codes

`tendril explain CODE` prints one row of this page, offline; `tendril explain` lists all codes. It
also explains [statuses](statuses.md), by number or name.

    tendril explain implausible-size
    tendril explain 8
    tendril explain exit-3
)";

constexpr std::string_view kTexts[][2] = {
    {"Notices",
     "A notice is one line on stderr that ends with its code in brackets. It does not stop the "
     "program. `--quiet` hides notices; `summary.json` and `report.html` keep those of a run."},
    {"Errors",
     "An error is one line on stderr that ends with its code in brackets: `file:line: object: key "
     "= value: what is allowed [code]`. In Python, exceptions have the text without the code: give "
     "`tendril explain` the whole line in quotes."},
    {"Exit codes", "Every command ends with one of these codes."},
};

}  // namespace

std::span<const ErrorKind> error_kinds() noexcept { return kErrorKinds; }
std::span<const MessageKind> exit_kinds() noexcept { return kExitKinds; }

const MessageKind& error_kind_of(std::string_view text, int exit_code) noexcept {
  const ErrorKind* found = nullptr;
  for (const ErrorKind& kind : kErrorKinds) {
    const bool has_words = std::any_of(kind.words.begin(), kind.words.end(), [&](auto words) {
      return !words.empty() && text.find(words) != text.npos;
    });
    if (has_words) return kind.message;
    if (kind.words[0].empty() && kind.exit_code == exit_code) found = &kind;
  }
  return found != nullptr ? found->message : std::end(kErrorKinds)[-1].message;
}

std::string_view message_page_head() noexcept { return kHead; }

std::string_view message_page_text(std::string_view heading) noexcept {
  for (const auto& [title, text] : kTexts)
    if (title == heading) return text;
  return {};
}

}  // namespace tendril
