#include "bench/published/measurement.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tendril/kinematics/forward_kinematics.hpp"

namespace tendril::tables {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kRounding = 1e-9;  // relative tolerance for rounding errors due to another
                                    // order of operations

Json bins(const std::vector<std::int64_t>& counts) {
  Json list = Json::array();
  for (std::size_t bin = 0; bin < counts.size(); ++bin) {
    if (counts[bin] != 0) list.push_back({bin, counts[bin]});
  }
  return list;
}

/// A list of [count, least, most].
Json ranges(const RangeByCount& values) {
  Json list = Json::array();
  for (std::size_t count = 0; count < values.ends().size(); ++count) {
    const RangeByCount::Ends& ends = values.ends()[count];
    if (!ends.empty()) list.push_back({count, ends.least, ends.most});
  }
  return list;
}

template <class Add>
void read_bins(const Json& list, Add&& add) {
  for (const Json& pair : list) add(pair.at(0).get<int>(), pair.at(1).get<std::int64_t>());
}

LogHistogram log_histogram(const Json& list) {
  LogHistogram histogram;
  read_bins(list, [&](int bin, std::int64_t count) { histogram.add_bin(bin, count); });
  return histogram;
}

}  // namespace

bool within(const Tolerances& tolerances, double position_error, double angle_error) noexcept {
  return position_error <= tolerances.position * (1.0 + kRounding) &&
         angle_error <= tolerances.angle * (1.0 + kRounding);
}

void Measurement::add(const Outcome& outcome) {
  ++samples;
  if (outcome.claimed && !outcome.verified) ++false_claims;
  if (outcome.success()) {
    ++successes;
    time_sum += outcome.time_for_mean;
    times.add(outcome.time);
    iterations.add(outcome.iterations);
    times_by_iterations.add(outcome.iterations, outcome.time);
  } else {
    position_errors.add(outcome.position_error);
    angle_errors.add(outcome.angle_error);
  }
}

void Measurement::merge(const Measurement& other) {
  samples += other.samples;
  successes += other.successes;
  false_claims += other.false_claims;
  time_sum += other.time_sum;
  times.merge(other.times);
  iterations.merge(other.iterations);
  times_by_iterations.merge(other.times_by_iterations);
  position_errors.merge(other.position_errors);
  angle_errors.merge(other.angle_errors);
  if (other.solutions) solutions = other.solutions;
}

double Measurement::success() const {
  return static_cast<double>(successes) / static_cast<double>(samples);
}

double Measurement::mean_time() const { return time_sum / static_cast<double>(successes); }

Interval success_interval(const Measurement& measurement) {
  constexpr double z = 1.96;
  const auto n = static_cast<double>(measurement.samples);
  const double p = measurement.success();
  const double middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
  const double half = z / (1.0 + z * z / n) * std::sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n));
  return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

Json to_json(const Measurement& measurement) {
  Json json = {{"samples", measurement.samples},
               {"successes", measurement.successes},
               {"false_claims", measurement.false_claims},
               {"time_sum", measurement.time_sum},
               {"times", bins(measurement.times.counts())},
               {"iterations", bins(measurement.iterations.counts())},
               {"times_by_iterations", ranges(measurement.times_by_iterations)},
               {"position_errors", bins(measurement.position_errors.counts())},
               {"angle_errors", bins(measurement.angle_errors.counts())}};
  if (measurement.solutions) json["solutions"] = *measurement.solutions;
  return json;
}

Measurement measurement_from_json(const Json& json) {
  Measurement measurement;
  json.at("samples").get_to(measurement.samples);
  json.at("successes").get_to(measurement.successes);
  json.at("false_claims").get_to(measurement.false_claims);
  json.at("time_sum").get_to(measurement.time_sum);
  measurement.times = log_histogram(json.at("times"));
  read_bins(json.at("iterations"),
            [&](int value, std::int64_t count) { measurement.iterations.add(value, count); });
  for (const Json& entry : json.at("times_by_iterations"))
    measurement.times_by_iterations.add(entry.at(0).get<int>(),
                                        {entry.at(1).get<double>(), entry.at(2).get<double>()});
  measurement.position_errors = log_histogram(json.at("position_errors"));
  measurement.angle_errors = log_histogram(json.at("angle_errors"));
  if (json.contains("solutions")) measurement.solutions = json["solutions"].get<int>();
  return measurement;
}

void verify(const ContinuumRobot& robot, SectionStates states, const BaseState& base,
            const TipTarget& target, const Tolerances& tolerances, Outcome& outcome) noexcept {
  const Eigen::Isometry3d X_BE = tip_pose(robot, states, base);
  outcome.position_error = position_error(X_BE, target);
  outcome.angle_error = angle_error(X_BE, target);
  outcome.verified = within(tolerances, outcome.position_error, outcome.angle_error) &&
                     robot.within_limits(states) && base.feed >= 0.0 &&
                     base.feed <= robot.base().feed_limit;
}

}  // namespace tendril::tables
