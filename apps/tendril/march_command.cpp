#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "apps/tendril/commands.hpp"
#include "apps/tendril/terminal.hpp"
#include "simulation/files/csv_table.hpp"
#include "simulation/files/file_kind.hpp"
#include "tendril/model/robot_description.hpp"
#include "tendril/model/snake/mjcf.hpp"
#include "tendril/model_error.hpp"
#include "tendril/snake/head_pose.hpp"
#include "tendril/snake/path_march.hpp"

namespace tendril {
namespace {

constexpr double kLargestHeadAngle = 2.0 * std::numbers::pi;  // [rad]

struct MarchArguments {
  std::string robot, path, out, head;
  double step = 0.01, fold_angle = 0.0;
  std::optional<double> fold;
  std::string method = "kept", root = "newton", joints = "all";
  bool summary = false;
};

SnakeDescription load_snake(const std::string& file) {
  RobotDescription robot = load_robot(file);
  if (auto* snake = std::get_if<SnakeDescription>(&robot)) return std::move(*snake);
  throw ModelError(file + ": must be a robot of kind = \"snake\": tendril march takes snakes");
}

std::vector<Eigen::Vector3d> read_path(const std::string& file) {
  const simulation::CsvLayout layout{
      .columns = {{"x"}, {"y"}, {"z"}}, .ignored = {}, .allowed = "x,y,z"};
  simulation::CsvReader reader(file, layout);
  std::vector<Eigen::Vector3d> points;
  std::vector<double> row(3);
  while (reader.read(row)) points.emplace_back(row[0], row[1], row[2]);
  return points;
}

MarchBase base_of(const SnakeDescription& snake) {
  switch (snake.base) {
    case SnakeBase::Free:
      return MarchBase::Free;
    case SnakeBase::Fixed:
      return MarchBase::Fixed;
    case SnakeBase::Carriage:
      break;
  }
  return MarchBase::Carriage;
}

void require_word(const char* option, const std::string& value,
                  std::initializer_list<std::string_view> words) {
  if (std::find(words.begin(), words.end(), value) != words.end()) return;
  throw ModelError(fmt::format("{} = {}: must be one of {}", option, value,
                               fmt::join(words.begin(), words.end(), ", ")));
}

void check(const MarchArguments& arguments, const SnakeDescription& snake) {
  require_word("--path", arguments.method, {"kept", "refit"});
  require_word("--root", arguments.root, {"newton", "chord", "bisection"});
  require_word("--joints", arguments.joints, {"all", "even"});
  if (!(arguments.step > 0.0) || !std::isfinite(arguments.step))
    throw ModelError(fmt::format("--step = {}: must be > 0", arguments.step));
  if (!std::isfinite(arguments.fold_angle)) throw ModelError("--fold-angle: must be finite");
  if (arguments.fold && !(*arguments.fold >= 0.0))
    throw ModelError(fmt::format("--fold = {}: must be >= 0", *arguments.fold));
  if (arguments.fold && snake.base != SnakeBase::Fixed)
    throw ModelError("--fold: needs base.kind = \"fixed\"");
  if (arguments.method == "refit" && snake.base != SnakeBase::Free)
    throw ModelError("--path = refit: needs base.kind = \"free\": the root moves with the path");
}

/// Roll, pitch and yaw of `--head`.
std::optional<Eigen::Matrix3d> head_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  std::array<double, 3> angles{};
  const char* at = text.c_str();
  for (std::size_t i = 0; i < 3; ++i) {
    char* end = nullptr;
    angles[i] = std::strtod(at, &end);
    const bool is_last = i == 2;
    if (end == at || *end != (is_last ? '\0' : ',') || !(std::abs(angles[i]) <= kLargestHeadAngle))
      throw ModelError(fmt::format("--head = {}: must be ROLL,PITCH,YAW, rad", text));
    at = end + 1;
  }
  return head_orientation(angles[0], angles[1], angles[2]);
}

PathMarchOptions options_of(const MarchArguments& arguments, const SnakeDescription& snake) {
  PathMarchOptions options{
      .base = base_of(snake),
      .update = arguments.method == "refit" ? PathUpdate::Refitted : PathUpdate::Kept,
      .step = arguments.step,
      .feed_limit = snake.feed_limit,
      .fold = arguments.fold,
      .fold_angle = arguments.fold_angle};
  options.head = head_of(arguments.head);
  options.march.method = root_method(arguments.root).value_or(RootMethod::Newton);
  options.march.target =
      arguments.joints == "even" ? MarchTarget::EvenJoints : MarchTarget::AllJoints;
  return options;
}

/// Pose of the body `base` of the model in the world: of a free snake its tail end.
Eigen::Isometry3d base_pose(const PathMarchStep& step, double rear_length) {
  Eigen::Isometry3d X_WT = step.X_WB;
  X_WT.translate(Eigen::Vector3d(-rear_length, 0.0, 0.0));
  return X_WT;
}

void write_table(const MarchArguments& arguments, const SnakeDescription& snake,
                 std::span<const PathMarchStep> steps) {
  simulation::CsvWriter table(arguments.out);
  table.field(std::string_view("s"));
  if (snake.base == SnakeBase::Carriage) table.field(std::string_view(names::kFeed));
  if (snake.base == SnakeBase::Free) {
    for (const char* const name : {"x", "y", "z", "qw", "qx", "qy", "qz"})
      table.field(std::string_view(name));
  }
  for (int j = 1; j <= snake.joints; ++j) table.field(std::string_view(names::snake_joint(j)));
  for (const char* const name : {"even", "odd"}) table.field(std::string_view(name));
  table.end_row();
  for (const PathMarchStep& step : steps) {
    table.field(step.s);
    if (snake.base == SnakeBase::Carriage) table.field(step.feed);
    if (snake.base == SnakeBase::Free) {
      const Eigen::Isometry3d X_WT = base_pose(step, snake.link_lengths.front());
      const Eigen::Quaterniond q(X_WT.linear());
      for (const double value : X_WT.translation()) table.field(value);
      for (const double value : {q.w(), q.x(), q.y(), q.z()}) table.field(value);
    }
    for (const double angle : step.angles) table.field(angle);
    table.field(step.even);
    table.field(step.odd);
    table.end_row();
  }
  table.finish();
}

void print_summary(const MarchArguments& arguments, const SnakeDescription& snake,
                   std::span<const PathMarchStep> steps) {
  double even = 0.0, odd = 0.0, angle = 0.0, iterations = 0.0;
  for (const PathMarchStep& step : steps) {
    even = std::max(even, step.even);
    odd = std::max(odd, step.odd);
    iterations += step.iterations;
    for (const double q : step.angles) angle = std::max(angle, std::abs(q));
  }
  const double modules = static_cast<double>(steps.size()) * snake.joints / 2.0;
  print_data(
      fmt::format("{{\"robot\": \"{}\", \"march\": \"{}\", \"path\": \"{}\", \"root\": \"{}\", "
                  "\"steps\": {}, \"s_start\": {:.9g}, \"s_end\": {:.9g}, "
                  "\"even_max\": {:.4g}, \"odd_max\": {:.4g}, \"angle_max\": {:.6g}, "
                  "\"evaluations_per_module\": {:.3g}}}\n",
                  snake.name, snake.joint == SnakeJoint::Universal ? "sphere" : "torus",
                  arguments.method, arguments.root, steps.size(), steps.front().s, steps.back().s,
                  even, odd, angle, iterations / modules));
}

void run(const MarchArguments& arguments) {
  const SnakeDescription snake = load_snake(arguments.robot);
  check(arguments, snake);
  const std::vector<Eigen::Vector3d> points = read_path(arguments.path);
  std::vector<PathMarchStep> steps;
  try {
    steps = march_along(snake.kinematics(), points, options_of(arguments, snake));
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("{}: {}", arguments.path, error.what()));
  }
  if (arguments.summary)
    print_summary(arguments, snake, steps);
  else
    write_table(arguments, snake, steps);
}

}  // namespace

void add_march_command(CommandLine& line) {
  const Command command = line.command("march", "Joint angles of a snake along a path");
  const auto arguments = std::make_shared<MarchArguments>();
  command.option("robot", arguments->robot, "robot file (.toml) of kind = \"snake\"").required();
  command
      .option("path", arguments->path,
              "CSV file (-: stdin) with the columns x,y,z, m: points of the path, in the frame of "
              "the base; free base: in the world")
      .required();
  command
      .option(
          "-o,--output", arguments->out,
          "CSV file to write instead of stdout: s[,feed][,x,y,z,qw,qx,qy,qz],joint_1,...,even,odd")
      .output();
  command.option(
      "--step", arguments->step,
      "of the feed or of the length unfolded, free base: of the head along the path, m [0.01]");
  command.option(
      "--path", arguments->method,
      "kept: the path stays as it is; refit: in every step a new spline through the joints "
      "and the head's next point, as the article has it (free base) [kept]");
  command.option("--root", arguments->root,
                 "how the next joint is found on the path: newton, chord or bisection [newton]");
  command.option(
      "--joints", arguments->joints,
      "all: all joints as near to the path as possible; even: every second one exactly on "
      "it; universal joints are all on it; free base: even [all]");
  command.option(
      "--fold", arguments->fold,
      "fixed base: length of the body that is folded aside at first, m [as much as the path is "
      "shorter than the body]");
  command.option("--fold-angle", arguments->fold_angle,
                 "fixed base: direction of the fold, from y about x, rad [0]");
  command.option("--head", arguments->head,
                 "ROLL,PITCH,YAW of the head, rad: a last row in which it has this orientation at "
                 "the path's end");
  command.flag("--summary", arguments->summary,
               "print a line of JSON instead: steps, largest distances from the path");
  command.footer(
      "Example: tendril march scenes/snake_unfold/snake.toml scenes/snake_unfold/path.csv "
      "--fold 0.5\n"
      "Exit codes: 0 done, 2 bad input, 4 input/output");
  command.action([arguments] {
    simulation::require_kind(arguments->robot, "march", {simulation::FileKind::Robot});
    simulation::require_kind(arguments->path, "march ROBOT", {simulation::FileKind::Table});
    run(*arguments);
    return 0;
  });
}

}  // namespace tendril
