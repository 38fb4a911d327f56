#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "apps/tendril/commands.hpp"
#include "apps/tendril/terminal.hpp"
#include "simulation/families/families.hpp"
#include "simulation/rollout/run.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

namespace fs = std::filesystem;

struct GenerateArguments {
  std::string family, out;
  std::int64_t seed = 0;
  int count = 1;
  double difficulty = 0.5;
};

int generate(const GenerateArguments& arguments) {
  const fs::path out =
      arguments.out.empty()
          ? fs::path("out") / fmt::format("{}-scene{}", arguments.family, arguments.seed)
          : fs::path(arguments.out);
  for (int i = 0; i < arguments.count; ++i) {
    const std::int64_t seed = arguments.seed + i;
    const fs::path folder =
        arguments.count == 1 ? out : out / fmt::format("{}_{:04}", arguments.family, seed);
    say("{}\n", simulation::write_scene(arguments.family, static_cast<std::uint64_t>(seed),
                                        arguments.difficulty, folder)
                    .string());
  }
  return 0;
}

}  // namespace

void add_generate_command(CommandLine& line) {
  const Command command = line.command("generate", "Writes a random scene to test controllers on");
  const auto arguments = std::make_shared<GenerateArguments>();
  std::string names;
  for (const simulation::Family& family : simulation::families())
    names += fmt::format("  {:<16}{}\n", family.name, family.text);
  command.option("family", arguments->family, "one of the families below").required();
  command.option("--seed", arguments->seed, "of the scene").not_negative();
  command
      .option("--count", arguments->count,
              "scenes with this and the following seeds, a folder each")
      .range(1, 1'000'000);
  command.option("--difficulty", arguments->difficulty,
                 "in [0, 1]; 0.5 is what docs/results/families.md shows");
  command.option("--out", arguments->out, "folder [out/FAMILY-sceneSEED]").output();
  command.footer("Families:\n" + names +
                 "Example: tendril generate clutter --seed 7 --out out/clutter && tendril run "
                 "out/clutter/clutter.toml");
  command.action([arguments] { return generate(*arguments); });
}

}  // namespace tendril
