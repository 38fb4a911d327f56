#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/tendril/commands.hpp"
#include "apps/tendril/progress.hpp"
#include "apps/tendril/terminal.hpp"
#include "simulation/files/csv_table.hpp"
#include "simulation/files/file_kind.hpp"
#include "simulation/rollout/recover_recording.hpp"
#include "simulation/rollout/replay.hpp"
#include "simulation/rollout/run.hpp"
#include "tendril/model_error.hpp"
#include "tendril/recording/rollout_file.hpp"
#include "tendril/system/process.hpp"

namespace tendril {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kExitDifferent = 1;
constexpr int kExitDamaged = 1;
constexpr unsigned kRecoveryLimit = 60;  // s, and one more for every MB
constexpr const char* kAdvice = "; tendril rollout recover saves what is readable";
constexpr std::size_t kShownText = 100;  // bytes; `info` shows shorter attributes in full

struct RolloutArguments {
  std::string file;
  std::string out;
  std::string attribute;
  bool json = false;
  bool quiet = false;
};

std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Runs a command on a recording; a file that is not one is a user error.
template <class Work>
void with_recording(const std::string& file, Work&& work) {
  simulation::require_kind(file, "rollout", {simulation::FileKind::Recording});
  std::unique_ptr<RolloutReader> reader;
  try {
    reader = std::make_unique<RolloutReader>(file);
    work(*reader);
  } catch (const RolloutDamageError& error) {
    throw ModelError(error.what() + std::string(kAdvice));
  } catch (const RolloutFormatError& error) {
    const std::string text = error.what();
    throw ModelError(text.starts_with(file) ? text : file + ": " + text);
  }
}

struct Summary {
  std::string outcome;
  std::int64_t rows = 0;
  double duration = 0.0;  // s
  std::int64_t full_states = 0;
  std::uintmax_t file_size = 0;  // bytes
};

Summary summary_of(RolloutReader& reader, const std::string& file) {
  Summary summary;
  summary.rows = reader.row_count();
  if (summary.rows > 0) {
    const double start = reader.row(0).time;
    summary.duration = reader.row(summary.rows - 1).time - start;
  }
  summary.full_states = static_cast<std::int64_t>(reader.integration_rows().size());
  std::error_code ignored;
  summary.file_size = std::filesystem::file_size(file, ignored);
  const auto outcome = reader.attributes().find("outcome");
  if (outcome != reader.attributes().end()) summary.outcome = outcome->second;
  return summary;
}

Json sizes_json(const RolloutLayout& layout) {
  return {{"nq", layout.nq},
          {"nv", layout.nv},
          {"nu", layout.nu},
          {"na", layout.na},
          {"nsensordata", layout.nsensordata},
          {"npluginstate", layout.npluginstate},
          {"nmocap", layout.nmocap},
          {"nintegration", layout.nintegration}};
}

std::string info_json(RolloutReader& reader, const std::string& file) {
  const Summary summary = summary_of(reader, file);
  Json attributes = Json::object();
  for (const auto& [name, text] : reader.attributes()) attributes[name] = text;
  return json_text({{"file", file},
                    {"outcome", summary.outcome},
                    {"rows", summary.rows},
                    {"duration", summary.duration},
                    {"file_size", summary.file_size},
                    {"sizes", sizes_json(reader.layout())},
                    {"full_states", summary.full_states},
                    {"integration_interval", reader.layout().integration_interval},
                    {"attributes", attributes}});
}

std::string info_text(RolloutReader& reader, const std::string& file) {
  const Summary summary = summary_of(reader, file);
  const auto line = [](const std::string& name, const std::string& value) {
    return fmt::format("{:<22} {}\n", name, value);
  };
  const double bytes_per_row = static_cast<double>(summary.file_size) /
                               static_cast<double>(std::max<std::int64_t>(summary.rows, 1));
  std::string text = file + "\n";
  text += line("outcome", summary.outcome == "running"
                              ? "running: not finished, or its process was killed"
                              : summary.outcome);
  text +=
      line("rows", fmt::format("{}, {:.6g} s of simulated time", summary.rows, summary.duration));
  text +=
      line("file size", fmt::format("{:.2f} MB, {:.0f} bytes a row",
                                    1e-6 * static_cast<double>(summary.file_size), bytes_per_row));
  const RolloutLayout& layout = reader.layout();
  text += line("model",
               fmt::format("nq {}, nv {}, nu {}, na {}, nsensordata {}, npluginstate {}, nmocap {}",
                           layout.nq, layout.nv, layout.nu, layout.na, layout.nsensordata,
                           layout.npluginstate, layout.nmocap));
  text +=
      line("full states", fmt::format("{} of {} numbers, one every {} rows", summary.full_states,
                                      layout.nintegration, layout.integration_interval));
  for (const auto& [name, value] : reader.attributes()) {
    if (name == "outcome" || name == "format") continue;
    const bool short_enough = value.size() <= kShownText && value.find('\n') == std::string::npos;
    text += line(name, short_enough ? value : fmt::format("({} bytes of text)", value.size()));
  }
  return text;
}

void info(const RolloutArguments& arguments) {
  with_recording(arguments.file, [&](RolloutReader& reader) {
    if (!arguments.attribute.empty()) {
      const auto found = reader.attributes().find(arguments.attribute);
      if (found == reader.attributes().end()) {
        std::string names;
        for (const auto& [name, text] : reader.attributes())
          names += (names.empty() ? "" : ", ") + name;
        throw ModelError(fmt::format("{}: attribute: {}: must be one of {}", arguments.file,
                                     arguments.attribute, names));
      }
      print_data(found->second);
      return;
    }
    if (arguments.json)
      print_data(info_json(reader, arguments.file));
    else
      print_text(info_text(reader, arguments.file));
  });
}

std::string verdict(const simulation::ReplayResult& result) {
  if (result.identical()) return "identical";
  return result.first_difference->field == "engine" ? "engine failure" : "different";
}

Json replay_json(const simulation::ReplayResult& result, const std::string& file) {
  Json json = {
      {"file", file},
      {"verdict", verdict(result)},
      {"rows", result.rows},
      {"compared_steps", result.compared_steps},
      {"recorded_with", {{"mujoco", result.recorded_mujoco}, {"tendril", result.recorded_tendril}}},
      {"replayed_with",
       {{"mujoco", result.replaying_mujoco}, {"tendril", result.replaying_tendril}}},
      {"first_difference", nullptr}};
  if (result.first_difference) {
    const simulation::ReplayDifference& difference = *result.first_difference;
    // As text: JSON has no NaN, and all digits are needed.
    json["first_difference"] = {{"step", difference.step},
                                {"field", difference.field},
                                {"index", difference.index},
                                {"recorded", fmt::format("{}", difference.recorded)},
                                {"replayed", fmt::format("{}", difference.replayed)},
                                {"reason", difference.reason}};
  }
  return json;
}

std::string replay_text(const simulation::ReplayResult& result, const std::string& file) {
  std::string text;
  if (result.identical()) {
    text = fmt::format("{}: identical: {} steps, bit for bit\n", file, result.compared_steps);
  } else {
    const simulation::ReplayDifference& difference = *result.first_difference;
    if (difference.field == "engine") {
      text = fmt::format("{}: different: step {}: the engine stopped: {}\n", file, difference.step,
                         difference.reason);
    } else {
      text = fmt::format(
          "{}: different: step {}: {}[{}]: recorded {}, replayed {}; {} steps before it are "
          "identical\n",
          file, difference.step, difference.field, difference.index, difference.recorded,
          difference.replayed, result.compared_steps);
    }
  }
  if (!result.same_versions()) {
    text += fmt::format(
        "versions differ: recorded with MuJoCo {} and tendril {}, replayed with MuJoCo {} and "
        "tendril {}\n",
        result.recorded_mujoco, result.recorded_tendril, result.replaying_mujoco,
        result.replaying_tendril);
  }
  return text;
}

int replay(const RolloutArguments& arguments) {
  simulation::ReplayResult result;
  with_recording(arguments.file, [&](RolloutReader& reader) {
    ProgressBar bar(arguments.quiet || arguments.json);
    const std::int64_t rows = reader.row_count();
    const double start = rows > 0 ? reader.row(0).time : 0.0;
    const double duration = rows > 0 ? reader.row(rows - 1).time - start : 0.0;
    const auto begin = std::chrono::steady_clock::now();
    auto shown = begin;
    result = simulation::replay(reader, [&](std::int64_t, double time) {
      const auto now = std::chrono::steady_clock::now();
      if (now - shown < std::chrono::milliseconds(100)) return;
      shown = now;
      const double wall = std::chrono::duration<double>(now - begin).count();
      bar.show({time - start, duration, (time - start) / wall});
    });
  });
  if (arguments.json)
    print_data(json_text(replay_json(result, arguments.file)));
  else
    print_text(replay_text(result, arguments.file));
  return result.identical() ? 0 : kExitDifferent;
}

int verify(const RolloutArguments& arguments) {
  simulation::require_kind(arguments.file, "rollout", {simulation::FileKind::Recording});
  simulation::Verification found;
  bool is_finished = false;
  try {
    RolloutReader reader(arguments.file);
    is_finished = reader.is_finished();
    ProgressBar bar(arguments.quiet || arguments.json);
    const std::int64_t rows = reader.row_count();
    found = simulation::verify_recording(reader, [&](std::int64_t read) {
      bar.show(fmt::format("{} of {} rows", read, rows),
               static_cast<double>(read) / static_cast<double>(rows));
    });
  } catch (const RolloutDamageError& error) {
    found.reason = error.what();
  } catch (const RolloutFormatError& error) {
    throw ModelError(error.what());
  }
  if (arguments.json) {
    std::int64_t bad_rows = 0;
    for (const simulation::RowRange& range : found.damaged)
      bad_rows += range.last - range.first + 1;
    Json json = {{"file", arguments.file},   {"verdict", found.whole() ? "whole" : "damaged"},
                 {"finished", is_finished},  {"rows", found.rows},
                 {"first_bad_row", nullptr}, {"bad_rows", bad_rows},
                 {"reason", found.reason}};
    if (!found.damaged.empty()) json["first_bad_row"] = found.damaged.front().first;
    print_data(json_text(json));
  } else if (found.whole()) {
    print_text(fmt::format("{}: whole: {} rows{}\n", arguments.file, found.rows,
                           is_finished ? "" : ", not finished or its process was killed"));
  } else if (found.damaged.empty()) {
    print_text(found.reason + kAdvice + "\n");
  } else {
    print_text(fmt::format("{}: damaged from row {} on: {} of {} rows cannot be read: {}{}\n",
                           arguments.file, found.damaged.front().first, to_string(found.damaged),
                           found.rows, found.reason, kAdvice));
  }
  return found.whole() ? 0 : kExitDamaged;
}

int recover(const RolloutArguments& arguments) {
  simulation::require_kind(arguments.file, "rollout", {simulation::FileKind::Recording});
  simulation::refuse_same_file(arguments.file, arguments.out);
  std::error_code ignored;
  const std::uintmax_t size = std::filesystem::file_size(arguments.file, ignored);
  // HDF5 can crash or hang on metadata that is taken as it is.
  const auto limit = kRecoveryLimit + static_cast<unsigned>(ignored ? 0 : size >> 20);
  const std::optional<int> status = [&] {
    try {
      return system::run_in_copy(limit);
    } catch (const std::system_error& error) {
      throw simulation::InputError(arguments.file + ": " + error.code().message());
    }
  }();
  if (status && *status >= 0) return *status;
  if (status) {
    std::filesystem::remove(arguments.out + ".part", ignored);
    throw ModelError(arguments.file + ": is damaged in a way that HDF5 cannot read");
  }
  try {
    const simulation::Recovery found = while_waiting(
        "recover", [&] { return simulation::recover_recording(arguments.file, arguments.out); });
    std::string text = fmt::format("{}: {} of {} rows", arguments.out, found.kept_rows, found.rows);
    if (found.kept_rows < found.rows) text += ": " + to_string(found.kept);
    if (!found.has_model) text += "; the model cannot be read";
    print_text(text + "\n");
    return 0;
  } catch (const RolloutFormatError& error) {
    throw ModelError(error.what());
  }
}

}  // namespace

void add_rollout_command(CommandLine& line) {
  const Command command =
      line.command("rollout", "Inspects, checks, recovers and replays recordings");
  command.footer("Example: tendril rollout info runs/tube_insertion/rollout.h5");
  const auto arguments = std::make_shared<RolloutArguments>();
  const auto add_file = [&](const Command& subcommand) {
    subcommand.option("file", arguments->file, "recording (.h5)").required();
  };
  const auto add_json = [&](const Command& subcommand) {
    subcommand.flag("--json", arguments->json, "print JSON");
  };

  const Command info_command =
      command.command("info", "Prints the contents of a recording: rows, sizes, versions, outcome");
  add_file(info_command);
  add_json(info_command);
  info_command.option("--attribute", arguments->attribute,
                      "print the whole text of one attribute, such as model_xml or experiment");
  info_command.footer(
      "Example: tendril rollout info rollout.h5\n"
      "         tendril rollout info rollout.h5 --attribute model_xml > scene.xml");
  info_command.action([arguments] {
    info(*arguments);
    return 0;
  });

  const Command replay_command = command.command(
      "replay", "Steps a recording again and reports the first step that is not bit-identical");
  add_file(replay_command);
  add_json(replay_command);
  replay_command.flag("-q,--quiet", arguments->quiet, "no progress bar");
  replay_command.footer(
      "Exit code: 0 every step is identical, 1 one differs.\n"
      "Example: tendril rollout replay rollout.h5");
  replay_command.action([arguments] { return replay(*arguments); });

  const Command verify_command = command.command(
      "verify", "Reads every block of a recording and names the first row that is damaged");
  add_file(verify_command);
  add_json(verify_command);
  verify_command.flag("-q,--quiet", arguments->quiet, "no progress bar");
  verify_command.footer(
      "Exit code: 0 everything is readable, 1 something is damaged, 2 not a recording.\n"
      "Example: tendril rollout verify rollout.h5");
  verify_command.action([arguments] { return verify(*arguments); });

  const Command recover_command = command.command(
      "recover", "Writes what is readable of a damaged or unfinished recording to a new one");
  add_file(recover_command);
  recover_command.option("out", arguments->out, "new recording (.h5)").required();
  recover_command.footer("Example: tendril rollout recover rollout.h5 recovered.h5");
  recover_command.action([arguments] { return recover(*arguments); });

  const Command export_command = command.command("export", "Now `tendril export`");
  const auto words = std::make_shared<std::vector<std::string>>();
  export_command.option("words", *words, "ignored");
  export_command.action([words]() -> int {
    throw ModelError("rollout export: is now: tendril export FILE --to csv|npz -o OUT");
  });
}

}  // namespace tendril
