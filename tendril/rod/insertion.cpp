#include "tendril/rod/insertion.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "tendril/model_error.hpp"
#include "tendril/range.hpp"

namespace tendril {
namespace {

constexpr double kSameLength = 1e-9;      // [m]
constexpr double kJointTolerance = 1e-6;  // arcs join to this [m, rad]
constexpr char kOptions[] = "insertion options";

void check(const InsertionOptions& options) {
  require(kOptions, "body_radius", options.body_radius, kNotNegative, "m");
  require(kOptions, "largest_step", options.largest_step, kPositive, "m");
  require(kOptions, "largest_turn", options.largest_turn, kPositive, "rad");
  require(kOptions, "ramp", options.ramp, kNotNegative, "m");
  require(kOptions, "start_length", options.start_length, kNotNegative, "m");
  require(kOptions, "speed", options.speed, kPositive, "m/s");
  require(kOptions, "acceleration", options.acceleration, kPositive, "m/s^2");
  if (!(options.curvature_rate > 0.0))  // infinite: no limit
    refuse(kOptions, "curvature_rate", options.curvature_rate, "> 0", "1/(m s)");
}

void check(std::span<const PlanarArc> plan) {
  if (plan.empty()) throw ModelError("insertion path: has no arcs");
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const std::string arc = "insertion path: arc " + std::to_string(i);
    require(arc, "curvature", plan[i].curvature, kFinite, "1/m");
    require(arc, "length", plan[i].length, kPositive, "m");
    if (i == 0) continue;
    const PlanarPose end = plan[i - 1].end();
    const double gap = (plan[i].start.position - end.position).norm();
    const double kink =
        std::abs(std::remainder(plan[i].start.heading - end.heading, 2.0 * std::numbers::pi));
    if (!(gap <= kJointTolerance && kink <= kJointTolerance))
      throw ModelError(arc + " does not start where the one before ends");
  }
}

/// A checked plan by arc length.
class ArcLengths {
 public:
  explicit ArcLengths(std::span<const PlanarArc> plan) : plan_(plan), end_{0.0} {
    for (const PlanarArc& arc : plan) end_.push_back(end_.back() + arc.length);
  }
  [[nodiscard]] double total() const noexcept { return end_.back(); }
  [[nodiscard]] double start_of(std::size_t arc) const noexcept { return end_[arc]; }
  [[nodiscard]] double end_of(std::size_t arc) const noexcept { return end_[arc + 1]; }
  /// The arc that holds arc length s; at a joint the one that ends there.
  [[nodiscard]] std::size_t arc_at(double s) const noexcept {
    std::size_t i = 0;
    while (i + 1 < plan_.size() && end_of(i) < s - kSameLength) ++i;
    return i;
  }

 private:
  std::span<const PlanarArc> plan_;
  std::vector<double> end_;  // of the arc before; front() = 0
};

/// The path lengths of the rows: from the start to the end, at every joint and at `also`, with the
/// largest step and change of heading between.
std::vector<double> row_lengths(std::span<const PlanarArc> plan, const ArcLengths& lengths,
                                const InsertionOptions& options, std::span<const double> also) {
  check(options);
  if (!(options.start_length < lengths.total()))
    refuse(kOptions, "start_length", options.start_length, "less than the path's length", "m");
  std::vector<double> marks{options.start_length, lengths.total()};
  for (std::size_t i = 0; i < plan.size(); ++i) marks.push_back(lengths.end_of(i));
  marks.insert(marks.end(), also.begin(), also.end());
  std::sort(marks.begin(), marks.end());
  std::vector<double> rows{options.start_length};
  const double advance = options.body_radius > 0.0
                             ? std::min(options.largest_step, options.body_radius / 5.0)
                             : options.largest_step;
  for (const double mark : marks) {
    const double from = rows.back(), span = std::min(mark, lengths.total()) - from;
    if (span < kSameLength) continue;
    const double curvature = std::abs(plan[lengths.arc_at(from + 0.5 * span)].curvature);
    const double step = std::min(advance, options.largest_turn / std::max(curvature, 1e-9));
    const int count = std::max(1, static_cast<int>(std::ceil(span / step - 1e-9)));
    for (int i = 1; i < count; ++i) rows.push_back(from + span * i / count);
    rows.push_back(from + span);
  }
  return rows;
}

/// Times the rows: it is the advance along the path that slows down where a limit is reached, the
/// commands stay as they are.
void scale_time(std::span<InsertionRow> rows, const InsertionOptions& options) {
  if (rows.empty()) return;
  const std::size_t segments = rows.size() - 1;
  // Largest speed of the advance u on every segment: rates are (change over the segment / du)
  // du/dt.
  std::vector<double> advance(segments), limit(segments), speed(rows.size(), 0.0);
  for (std::size_t i = 0; i < segments; ++i) {
    const InsertionRow &a = rows[i], &b = rows[i + 1];
    advance[i] = std::max(std::abs(b.path_length - a.path_length), std::abs(b.length - a.length));
    advance[i] = std::max(advance[i], kSameLength);
    limit[i] = options.speed;
    const double change = std::abs(b.curvature - a.curvature);
    if (change > 0.0) limit[i] = std::min(limit[i], options.curvature_rate * advance[i] / change);
  }
  for (std::size_t i = 1; i < segments; ++i) speed[i] = std::min(limit[i - 1], limit[i]);
  const auto reach = [&](double from, std::size_t segment) {
    return std::sqrt(from * from + 2.0 * options.acceleration * advance[segment]);
  };
  for (std::size_t i = 1; i < segments; ++i)
    speed[i] = std::min(speed[i], reach(speed[i - 1], i - 1));
  for (std::size_t i = segments; i-- > 1;) speed[i] = std::min(speed[i], reach(speed[i + 1], i));
  for (std::size_t i = 0; i < segments; ++i) {
    // A single segment, stationary at both ends, speeds up and slows down within it.
    const double peak = std::min(limit[i], std::sqrt(options.acceleration * advance[i]));
    const double duration = segments == 1 ? advance[i] / peak + peak / options.acceleration
                                          : 2.0 * advance[i] / (speed[i] + speed[i + 1]);
    rows[i + 1].time = rows[i].time + duration;
  }
}

}  // namespace

std::vector<InsertionRow> extensible_insertion(std::span<const PlanarArc> plan,
                                               const InsertionOptions& options) {
  check(plan);
  const ArcLengths lengths(plan);
  std::vector<double> ramp_ends;
  for (std::size_t i = 0; i + 1 < plan.size(); ++i)
    ramp_ends.push_back(lengths.end_of(i) + std::min(options.ramp, plan[i + 1].length));
  std::vector<InsertionRow> rows;
  for (const double length : row_lengths(plan, lengths, options, ramp_ends)) {
    const std::size_t arc = lengths.arc_at(length);
    const double past = length - lengths.start_of(arc);
    const double ramp = std::min(options.ramp, plan[arc].length);
    double curvature = plan[arc].curvature;
    if (arc > 0 && past < ramp) {
      const double before = plan[arc - 1].curvature;
      curvature = before + past / ramp * (curvature - before);
    }
    rows.push_back({.path_length = length, .length = length, .curvature = curvature});
  }
  scale_time(rows, options);
  return rows;
}

std::vector<InsertionRow> elastic_insertion(std::span<const PlanarArc> plan,
                                            std::span<const CorrectedState> states,
                                            const InsertionOptions& options) {
  check(plan);
  if (states.empty()) throw ModelError("elastic insertion: no corrected states");
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i].curvatures.size() != 1)
      throw ModelError("elastic insertion: state " + std::to_string(i) +
                       " must have one curvature");
    if (i > 0 && !(states[i].path_length > states[i - 1].path_length))
      throw ModelError("elastic insertion: states must rise in path length");
  }
  std::vector<double> marks;
  for (const CorrectedState& state : states) marks.push_back(state.path_length);
  std::vector<InsertionRow> rows;
  for (const double length : row_lengths(plan, ArcLengths(plan), options, marks)) {
    if (length > states.back().path_length + kSameLength) break;
    InsertionRow row{.path_length = length, .length = length, .curvature = plan[0].curvature};
    if (length > states.front().path_length) {
      const auto after = std::lower_bound(
          states.begin(), states.end(), length - kSameLength,
          [](const CorrectedState& state, double l) { return state.path_length < l; });
      const auto before = after == states.begin() ? after : after - 1;
      const double span = after->path_length - before->path_length;
      const double ratio = span > 0.0 ? std::min(1.0, (length - before->path_length) / span) : 1.0;
      row.curvature = std::lerp(before->curvatures[0], after->curvatures[0], ratio);
      row.length = std::lerp(before->length, after->length, ratio);
    }
    rows.push_back(row);
  }
  scale_time(rows, options);
  return rows;
}

}  // namespace tendril
