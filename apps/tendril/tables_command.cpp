#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>

#include "apps/tendril/commands.hpp"
#include "apps/tendril/interrupt.hpp"
#include "apps/tendril/progress.hpp"
#include "apps/tendril/python_module.hpp"
#include "apps/tendril/robot_table.hpp"
#include "apps/tendril/terminal.hpp"
#include "bench/published/run_tables.hpp"
#include "bench/published/tables_report.hpp"
#include "simulation/files/file_kind.hpp"
#include "simulation/rollout/run.hpp"
#include "tendril/system/machine.hpp"
#include "tendril/system/process.hpp"
#include "tendril_commit.hpp"

namespace tendril {
namespace {

constexpr int kExitFalseClaim = 1;

struct TablesArguments {
  std::vector<std::string> names, methods;
  std::optional<std::int64_t> samples;
  bool full = false;
  int threads = 0;
  bool json = false, markdown = false, plot = false, fresh = false, quiet = false;
  std::string out = "out/tables";
  std::string robot;  ///< file; empty: the published experiments
  tables::Tolerances tolerances;
};

constexpr std::uint64_t kEmptyHash = 0xcbf29ce484222325u;

/// FNV-1a hash of a text behind others.
std::uint64_t hash_of(std::string_view text, std::uint64_t hash = kEmptyHash) {
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  return hash;
}

/// Hash of the program file: distinguishes builds of the same commit.
std::uint64_t build_number() {
  std::ifstream in(system::program_file(), std::ios::binary);
  std::uint64_t hash = kEmptyHash;
  std::array<char, 1 << 16> bytes{};
  while (in.read(bytes.data(), bytes.size()) || in.gcount() > 0)
    hash = hash_of({bytes.data(), static_cast<std::size_t>(in.gcount())}, hash);
  return hash;
}

/// Version and commit; also the build if the commit does not identify it.
std::string program_name() {
  constexpr std::string_view commit = TENDRIL_COMMIT;
  std::string name = simulation::version();
  if (!commit.empty()) name += fmt::format(" {}", commit);
  if (commit.empty() || commit.ends_with("-dirty")) name += fmt::format(" {:016x}", build_number());
  return name;
}

tables::Circumstances circumstances() {
  return {.command = command_line_text(),
          .processor = system::this_machine().processor,
          .cores = std::thread::hardware_concurrency(),
          .compiler = __VERSION__,
          .program = program_name(),
          .date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))};
}

std::int64_t false_claims(const tables::RunResult& run) {
  std::int64_t count = 0;
  for (const tables::TableResult& table : run.tables) {
    for (const tables::Record& record : table.records) {
      if (const auto* measurement = std::get_if<tables::Measurement>(&record.result))
        count += measurement->false_claims;
    }
  }
  return count;
}

void notice(const TablesArguments& arguments, NoticeCode code, const std::string& text) {
  if (!arguments.quiet) tendril::notice(code, text);
}

/// What is run: the published tables, or the solvers on the user's robot.
tables::RunOptions options_of(const TablesArguments& arguments) {
  tables::RunOptions options{.tables = arguments.names,
                             .methods = arguments.methods,
                             .samples = arguments.samples,
                             .full = arguments.full,
                             .threads = arguments.threads,
                             .folder = arguments.out,
                             .fresh = arguments.fresh,
                             .program = program_name()};
  if (arguments.robot.empty()) return options;
  simulation::require_kind(arguments.robot, "tables --robot", {simulation::FileKind::Robot});
  const RobotDescription robot = load_robot(arguments.robot);
  const ContinuumDescription& arm = continuum_of(robot, arguments.robot, "tables --robot");
  options.own =
      tables::compare_solvers(fmt::format("all solvers on {} ({})", arm.name, arguments.robot),
                              arm.kinematics(), arguments.tolerances);
  options.program += fmt::format(
      " robot {:016x}",
      hash_of(fmt::format("{} {}", arguments.tolerances.position, arguments.tolerances.angle),
              hash_of(arm.text)));
  return options;
}

tables::RunResult run_with_bar(const TablesArguments& arguments) {
  tables::RunOptions options = options_of(arguments);
  ProgressBar bar(arguments.quiet);
  const InterruptRequest interrupt;
  options.stop = &interrupt.flag();
  options.on_progress = [&](const std::string& text, double part) { bar.show(text, part); };
  return tables::run_tables(options);
}

int run(const TablesArguments& arguments) {
  const tables::RunResult run = run_with_bar(arguments);
  if (run.unreadable_lines > 0) {
    notice(arguments, "lines-ignored",
           fmt::format("{}/results.jsonl: {} lines are not results and were ignored", arguments.out,
                       run.unreadable_lines));
  }
  if (run.interrupted) {
    complain(fmt::format(
        "tables: interrupted; {} results are kept in {}, repeat the command to continue",
        run.computed + run.restored, arguments.out));
    return kExitInterrupted;
  }

  const std::filesystem::path out = arguments.out;
  const std::string json = tables::tables_json(run, circumstances());
  simulation::write_text_file(out / "tables.json", json);
  const std::string text = arguments.json       ? json
                           : arguments.markdown ? tables::tables_markdown(run, circumstances())
                                                : tables::tables_text(run);
  print_data(text);
  if (arguments.plot) {
    if (const auto problem = run_module("tendril.report.tables", {out.string()}))
      notice(arguments, "no-plots", "no plots: " + *problem);
  }
  if (!arguments.quiet) {
    write_shown(stderr, fmt::format("{} results computed, {} taken from {}, in {:.1f} s\n",
                                    run.computed, run.restored, arguments.out, run.wall_time));
  }
  const std::int64_t wrong = false_claims(run);
  if (wrong > 0) {
    complain(fmt::format("tables: {} claimed solutions are refuted by forward kinematics", wrong));
    return kExitFalseClaim;
  }
  return 0;
}

}  // namespace

void add_tables_command(CommandLine& line) {
  const Command command = line.command(
      "tables",
      "Repeats the published inverse-kinematics experiments; prints measured and published values. "
      "Compares all solvers on your robot");
  const auto arguments = std::make_shared<TablesArguments>();
  const Option names = command.option(
      "name", arguments->names,
      fmt::format("one or more of {} [all]", fmt::join(tables::table_names(), ", ")));
  const Option robot = command.option(
      "--robot", arguments->robot,
      "robot file (.toml): compare all solvers on it instead, and say which to take");
  robot.excludes(names);
  command
      .option("--position-tolerance", arguments->tolerances.position,
              fmt::format("of --robot, m [{:g}]", arguments->tolerances.position))
      .needs(robot);
  command
      .option("--angle-tolerance", arguments->tolerances.angle,
              fmt::format("of --robot, rad [{:g}]", arguments->tolerances.angle))
      .needs(robot);
  const Option samples = command.option("--samples", arguments->samples,
                                        "targets per row [small: a minute for all tables]");
  command.flag("--full", arguments->full, "as many targets as published: hours for all tables")
      .excludes(samples);
  command.option("--method", arguments->methods,
                 "only this method, e.g. fabrikx; may be repeated [all of each table]");
  command.option("--threads", arguments->threads, "number of threads [one per core]");
  const Option json = command.flag("--json", arguments->json, "print JSON: every row and cell");
  command.flag("--markdown", arguments->markdown, "print a Markdown page").excludes(json);
  command.flag("--plot", arguments->plot, "draw the tables as PNG files in the folder");
  command
      .option("--out", arguments->out,
              "folder of the results: results.jsonl, tables.json, plots [out/tables]")
      .output();
  command.flag("--fresh", arguments->fresh, "recompute results that are in the folder");
  command.flag("--quiet", arguments->quiet, "no progress bar, no notices");
  command.footer(
      "Example: tendril tables 3.9 --samples 1000 --plot\n"
      "         tendril tables --robot models/arm_mixed.toml\n"
      "Finished rows are stored in the folder and reused when the same program is run again, also "
      "after an interruption.\n"
      "Exit codes: 0 done, 1 a claimed solution is refuted by forward kinematics, 2 bad usage, 4 "
      "input/output, 130 interrupted");
  command.action([arguments] { return run(*arguments); });
}

}  // namespace tendril
