#include "controllers/arm/predictive_controller.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "controllers/arm/driven_part.hpp"
#include "controllers/arm/predictive_planner.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr SettingInfo kOwnSettings[] = {
    setting::number("horizon", "s", "0.8", {0.0, 10.0, true}, "duration of a prediction"),
    setting::integer("horizon_steps", "40", ArmRollouts::kKnots, 1000, "of a prediction"),
    setting::integer("samples", "64", 16, 10000, "predicted plans in a planning step"),
    setting::number("plan_period", "s", "0.02", {0.0, 1.0, true},
                    "from plan to plan; at most a fifth of the horizon, rounded to time steps"),
    setting::number("sample_noise", "rad", "0.5", kPositive,
                    "standard deviation of the sampled poses; 5 cm of length count as 1 rad"),
    setting::number("temperature", "", "0.02", kPositive,
                    "of the path integral: costs that differ by it have weights of ratio e"),
    setting::number("obstacle_weight", "", "50", kNotNegative,
                    "cost of a clearance that is less than obstacle_margin by all of it"),
    setting::number("rate_weight", "", "0.02", kNotNegative, "cost of commands at rate_limit"),
    setting::number("end_weight", "", "1", kNotNegative,
                    "cost of the tip's distance at the end, in arm lengths; during the prediction "
                    "it has the mean cost 1"),
    setting::integer("seed", "0", 0, 1000000000, "of the samples"),
    setting::flag("straight_first", true,
                  "a straight motion to the solution that stays clear is taken without samples"),
};

constexpr std::string_view kNotTaken[] = {"solver", "avoidance", "wait_for_base"};

}  // namespace

std::span<const SettingInfo> predictive_settings() {
  static const std::vector<SettingInfo> kAll = [] {
    std::vector<SettingInfo> all = joined({ReachController::settings(), kOwnSettings});
    std::erase_if(all, [](const SettingInfo& row) {
      return std::find(std::begin(kNotTaken), std::end(kNotTaken), row.name) != std::end(kNotTaken);
    });
    for (SettingInfo& row : all) {
      if (row.name != std::string_view("task")) continue;
      row.choices = "position direction";
      row.meaning = "position; direction: position and the tip's z axis along the target's";
    }
    return all;
  }();
  return kAll;
}

std::unique_ptr<ArmController> make_predictive_controller(const ArmContext& context,
                                                          PlanCost* cost) {
  require_driven(context);
  const Settings& settings = context.settings;
  const double margin = settings.number("obstacle_margin"), horizon = settings.number("horizon"),
               period = settings.number("plan_period");
  if (margin <= 0.0) throw ModelError(fmt::format("obstacle_margin = {}: must be > 0", margin));
  if (period > horizon / ArmRollouts::kKnots)
    throw ModelError(fmt::format("plan_period = {}: must be at most a fifth of horizon = {}",
                                 settings.text("plan_period"), settings.text("horizon")));
  const MeasuredObstacles measured = context.scene.measure_obstacles("obstacles", margin);
  const PredictivePlannerOptions options{
      .rollouts = {.samples = settings.integer("samples"),
                   .steps = settings.integer("horizon_steps"),
                   .horizon = horizon,
                   .rates = read_rates(settings),
                   .body_radius = context.body_radius,
                   .margin = margin,
                   .obstacle_weight = settings.number("obstacle_weight"),
                   .rate_weight = settings.number("rate_weight"),
                   .end_weight = settings.number("end_weight")},
      .period = period,
      .noise = settings.number("sample_noise"),
      .temperature = settings.number("temperature"),
      .seed = settings.integer("seed"),
      .max_iterations = settings.integer("max_iterations"),
      .position_tolerance = settings.number("position_tolerance"),
      .angle_tolerance = settings.number("angle_tolerance"),
      .timestep = context.timestep,
      .straight_first = settings.flag("straight_first")};
  return std::make_unique<ReachController>(
      context, std::make_unique<PredictivePlanner>(context.robot.on_rail(), measured.obstacles,
                                                   measured.moving_count, options, cost));
}

}  // namespace tendril
