#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/tendril/commands.hpp"
#include "apps/tendril/terminal.hpp"
#include "simulation/rollout/run.hpp"
#include "tendril/model/toml_fields.hpp"
#include "tendril/model_error.hpp"
#include "tendril/renamed.hpp"

namespace tendril {
namespace {

namespace fs = std::filesystem;

/// A file of apps/templates, KIND/FILE. `{{name}}` in it stands for the name that the user gives.
struct Template {
  std::string_view path, text;
  [[nodiscard]] std::string_view kind() const { return path.substr(0, path.find('/')); }
  [[nodiscard]] std::string_view file() const { return path.substr(path.find('/') + 1); }
};
constexpr Template kTemplates[] = {
#include "templates.inc"
};

struct Kind {
  std::string_view name, text;
  bool is_arm;  ///< has a controller in Python
};
constexpr Kind kKinds[] = {{"continuum", "an arm of two sections with servos", true},
                           {"tendon", "an arm of two sections with six tendons", true},
                           {"pneumatic", "a soft arm of two sections with six chambers", true},
                           {"snake", "a snake that sidewinds to a place", false},
                           {"mobile", "a platform with an arm of five joints", false}};

struct NewArguments {
  std::string name, kind = "continuum", out;
  bool controller = false;
};

const Kind& kind_of(const NewArguments& arguments) {
  std::vector<std::string_view> names;
  for (const Kind& kind : kKinds) {
    if (kind.name == arguments.kind) return kind;
    names.push_back(kind.name);
  }
  throw ModelError(fmt::format("--kind: {}: must be one of {}{}", arguments.kind, joined(names),
                               meant_text(arguments.kind, names)));
}

void require_name(const std::string& name) {
  const auto is_allowed = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; };
  if (std::isalpha(static_cast<unsigned char>(name.front())) == 0 ||
      !std::all_of(name.begin(), name.end(), is_allowed))
    throw ModelError(
        fmt::format("name: {}: must be letters, digits, _ and -, a letter first", name));
}

/// Refuses a folder in which a person may have written.
void require_new(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return;
  if (!fs::is_directory(folder, error) || !fs::is_empty(folder, error))
    throw ModelError(fmt::format(
        "{}: exists: must be a new or empty folder; --out names another one", folder.string()));
}

std::string with_name(std::string_view text, const std::string& name) {
  constexpr std::string_view kPlace = "{{name}}";
  std::string all(text);
  for (std::size_t at = 0; (at = all.find(kPlace, at)) != all.npos; at += name.size())
    all.replace(at, kPlace.size(), name);
  return all;
}

/// Writes the files of a kind of template; the experiment gets the user's name.
void write_templates(std::string_view kind, const std::string& name, const fs::path& folder) {
  for (const Template& one : kTemplates) {
    if (one.kind() != kind) continue;
    const std::string file =
        one.file() == "experiment.toml" ? name + ".toml" : std::string(one.file());
    simulation::write_text_file(folder / file, with_name(one.text, name));
    say("{}\n", (folder / file).string());
  }
}

int make_new(const NewArguments& arguments) {
  const Kind& kind = kind_of(arguments);
  require_name(arguments.name);
  if (arguments.controller && !kind.is_arm)
    throw ModelError("--controller: must go with --kind continuum, tendon or pneumatic");
  const fs::path folder(arguments.out.empty() ? arguments.name : arguments.out);
  require_new(folder);
  simulation::make_output_folder(folder);
  write_templates(kind.name, arguments.name, folder);
  if (arguments.controller) write_templates("arm_controller", arguments.name, folder);

  const std::string experiment = (folder / (arguments.name + ".toml")).string();
  say("\nNext:\n  tendril view {0}\n  tendril run {0} --video\n", experiment);
  if (arguments.controller)
    say("  tendril run {} --python {} --controller my.reach\n", experiment,
        (folder / "controller.py").string());
  else
    say("  tendril sweep {} --seeds 20\n", experiment);
  return 0;
}

}  // namespace

void add_new_command(CommandLine& line) {
  const Command command =
      line.command("new", "Writes a robot, a scene and an experiment to start from");
  const auto arguments = std::make_shared<NewArguments>();
  command.option("name", arguments->name, "name of the experiment and of its folder").required();
  command.option("--kind", arguments->kind, "of the robot, one of those below [continuum]");
  command.flag("--controller", arguments->controller,
               "also writes a controller in Python, of an arm");
  command.option("--out", arguments->out, "folder, new or empty [NAME]").output();
  std::string kinds;
  for (const Kind& kind : kKinds) kinds += fmt::format("  {:<16}{}\n", kind.name, kind.text);
  command.footer("Kinds:\n" + kinds +
                 "Example: tendril new my_arm --kind tendon && tendril run my_arm/my_arm.toml");
  command.action([arguments] { return make_new(*arguments); });
}

}  // namespace tendril
