#include "tendril/rod/insertion.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>
#include <utility>

#include "tendril/model_error.hpp"

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;
using std::numbers::pi;

namespace tendril {

namespace {

constexpr double kSameLength = 1e-9;      ///< [m]
constexpr double kJointTolerance = 1e-6;  ///< planar arcs join to this [m, rad]
constexpr double kNoBend = 1e-12;         ///< a bend without direction [rad]
constexpr double kStraight = 1e-3;        ///< below this bend phi is not interpolated [rad]
constexpr int kPointsPerSection = 8;      ///< at which the deviation is measured
constexpr int kFitSteps = 8;

void require(bool valid, const char* field, double value, const char* allowed) {
  if (valid) return;
  std::ostringstream text;
  text << "insertion options: " << field << " = " << value << ", must be " << allowed;
  throw ModelError(text.str());
}

void require_options(const InsertionOptions& options) {
  const auto positive = [](const char* field, double value, bool finite) {
    require(value > 0.0 && (!finite || std::isfinite(value)), field, value,
            finite ? "finite and > 0" : "> 0");
  };
  const auto not_negative = [](const char* field, double value) {
    require(value >= 0.0 && std::isfinite(value), field, value, "finite and >= 0");
  };
  not_negative("body_radius", options.body_radius);
  positive("largest_step", options.largest_step, true);
  positive("largest_turn", options.largest_turn, true);
  not_negative("ramp", options.ramp);
  not_negative("start_length", options.start_length);
  positive("speed", options.speed, true);
  positive("acceleration", options.acceleration, true);
  positive("bend_rate", options.bend_rate, false);
  positive("curvature_rate", options.curvature_rate, false);
}

/// The path lengths of the rows: from the start to the end, at every joint and at `also`, with the
/// largest step and turn between.
std::vector<double> row_lengths(const InsertionPath& path, const InsertionOptions& options,
                                std::span<const double> also = {}) {
  require_options(options);
  require(options.start_length < path.length(), "start_length", options.start_length,
          "less than the path's length");
  std::vector<double> marks{options.start_length, path.length()};
  for (int i = 0; i < static_cast<int>(path.arcs().size()); ++i) marks.push_back(path.arc_end(i));
  marks.insert(marks.end(), also.begin(), also.end());
  std::sort(marks.begin(), marks.end());
  std::vector<double> rows{options.start_length};
  const double advance = options.body_radius > 0.0
                             ? std::min(options.largest_step, options.body_radius / 5.0)
                             : options.largest_step;
  for (const double mark : marks) {
    const double from = rows.back(), span = std::min(mark, path.length()) - from;
    if (span < kSameLength) continue;
    const double curvature =
        std::abs(path.arcs()[static_cast<std::size_t>(path.arc_at(from + 0.5 * span))].curvature);
    const double step = std::min(advance, options.largest_turn / std::max(curvature, 1e-9));
    const int count = std::max(1, static_cast<int>(std::ceil(span / step - 1e-9)));
    for (int i = 1; i < count; ++i) rows.push_back(from + span * i / count);
    rows.push_back(from + span);
  }
  return rows;
}

SectionCommand section_command(double curvature, double direction, double length) {
  const bool back = curvature < 0.0;
  return {.theta = std::abs(curvature) * length,
          .phi = back ? (direction > 0.0 ? direction - pi : direction + pi) : direction,
          .length = length};
}

Isometry3d section_pose(const SectionCommand& section, double s) {
  return arc_pose({.curvature = section.length > 0.0 ? section.theta / section.length : 0.0,
                   .direction = section.phi,
                   .length = section.length},
                  s);
}

/// Planar pose in the xz-plane of a pose in space.
PlanarPose planar(const Isometry3d& X) {
  const Vector3d t = X.linear().col(2);
  return {.position = {X.translation().x(), X.translation().z()},
          .heading = std::atan2(t.x(), t.z())};
}

/// Clearance of the first `length` of the path.
double path_clearance(const InsertionPath& path, double length, const InsertionOptions& options) {
  double clearance = std::numeric_limits<double>::infinity();
  if (options.scene == nullptr) return clearance;
  for (int i = 0; i < static_cast<int>(path.arcs().size()); ++i) {
    const double visible = std::min(path.arc_end(i), length) - path.arc_start(i);
    if (visible <= 0.0) break;
    const SpatialArc& arc = path.arcs()[static_cast<std::size_t>(i)];
    const PlanarArc flat{.start = planar(path.pose_at(path.arc_start(i))),
                         .curvature = arc.curvature * (std::cos(arc.direction) < 0.0 ? -1.0 : 1.0),
                         .length = visible};
    clearance = std::min(clearance, options.scene->clearance(flat, options.body_radius));
  }
  return clearance;
}

/// What all kinds of rows have in common, the tip being on the path.
InsertionStep row_on_path(const InsertionPath& path, double length,
                          const InsertionOptions& options) {
  InsertionStep row;
  row.path_length = length;
  row.inserted_length = length;
  row.stage = path.arc_at(length);
  row.X_WE = path.pose_at(length);
  row.clearance = path_clearance(path, length, options);
  for (int i = 0; i < row.stage && i < static_cast<int>(options.contacts.size()); ++i)
    row.contacts.push_back({.index = i,
                            .side = options.contacts[static_cast<std::size_t>(i)].side,
                            .arc_length = path.arc_end(i)});
  return row;
}

/// The laid part of the path, one section per arc; of length 0 where nothing is laid yet.
std::vector<SectionCommand> laid_arcs(const InsertionPath& path, double length) {
  std::vector<SectionCommand> sections;
  for (int i = 0; i < static_cast<int>(path.arcs().size()); ++i) {
    const SpatialArc& arc = path.arcs()[static_cast<std::size_t>(i)];
    const double laid = std::clamp(length - path.arc_start(i), 0.0, arc.length);
    sections.push_back(section_command(arc.curvature, arc.direction, laid));
  }
  return sections;
}

/// Body points at equal arc length against the path.
double body_deviation(const InsertionPath& path, std::span<const SectionCommand> sections) {
  double worst = 0.0, begin = 0.0;
  Isometry3d X = path.entry();
  for (const SectionCommand& section : sections) {
    for (int i = 1; i <= kPointsPerSection; ++i) {
      const double s = section.length * i / kPointsPerSection;
      const Vector3d p = (X * section_pose(section, s)).translation();
      worst = std::max(worst, (p - path.pose_at(begin + s).translation()).norm());
    }
    X = X * section_pose(section, section.length);
    begin += section.length;
  }
  return worst;
}

/// Changes the bends so that the squares of the body's distances from the path become least:
/// Levenberg-Marquardt in the bend vectors, derivatives by differences.
void fit_to_path(const InsertionPath& path, std::span<SectionCommand> sections) {
  const auto count = static_cast<Eigen::Index>(sections.size());
  const Eigen::Index rows = 3 * kPointsPerSection * count;
  constexpr double kStep = 1e-6;
  Eigen::VectorXd bends(2 * count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const SectionCommand& section = sections[static_cast<std::size_t>(i)];
    bends[2 * i] = section.theta * std::cos(section.phi);
    bends[2 * i + 1] = section.theta * std::sin(section.phi);
  }
  const auto with_bend = [&](Eigen::Index i, double u, double v) {
    SectionCommand section = sections[static_cast<std::size_t>(i)];
    section.theta = std::hypot(u, v);
    section.phi = section.theta > 0.0 ? std::atan2(v, u) : section.phi;
    return section;
  };
  Eigen::VectorXd desired(rows);
  double begin = 0.0;
  for (Eigen::Index i = 0, row = 0; i < count; ++i) {
    const double length = sections[static_cast<std::size_t>(i)].length;
    for (int j = 1; j <= kPointsPerSection; ++j, row += 3)
      desired.segment<3>(row) = path.pose_at(begin + length * j / kPointsPerSection).translation();
    begin += length;
  }
  /// Weighted by length, so that a short first section does not count as much as the others.
  Eigen::VectorXd weight(rows);
  for (Eigen::Index i = 0; i < count; ++i)
    weight.segment(3 * kPointsPerSection * i, 3 * kPointsPerSection)
        .setConstant(std::sqrt(sections[static_cast<std::size_t>(i)].length));
  std::vector<Isometry3d> start(sections.size() + 1);
  Eigen::VectorXd points(rows);
  const auto place = [&](const Eigen::VectorXd& y) {
    start[0] = path.entry();
    for (Eigen::Index i = 0; i < count; ++i) {
      const SectionCommand section = with_bend(i, y[2 * i], y[2 * i + 1]);
      const auto k = static_cast<std::size_t>(i);
      for (int j = 1; j <= kPointsPerSection; ++j)
        points.segment<3>(3 * (kPointsPerSection * i + j - 1)) =
            (start[k] * section_pose(section, section.length * j / kPointsPerSection))
                .translation();
      start[k + 1] = start[k] * section_pose(section, section.length);
    }
    return (weight.cwiseProduct(desired - points)).squaredNorm();
  };
  double cost = place(bends), damping = 1e-6;
  for (int iteration = 0; iteration < kFitSteps; ++iteration) {
    const Eigen::VectorXd residual = weight.cwiseProduct(desired - points);
    Eigen::MatrixXd jacobian = Eigen::MatrixXd::Zero(rows, 2 * count);
    for (Eigen::Index i = 0; i < count; ++i) {
      const auto k = static_cast<std::size_t>(i);
      for (int c = 0; c < 2; ++c) {
        const SectionCommand rotated = with_bend(i, bends[2 * i] + (c == 0 ? kStep : 0.0),
                                                 bends[2 * i + 1] + (c == 1 ? kStep : 0.0));
        const Isometry3d moved =
            start[k] * section_pose(rotated, rotated.length) * start[k + 1].inverse();
        for (Eigen::Index row = 3 * kPointsPerSection * i; row < rows; row += 3) {
          const int j = static_cast<int>(row / 3 - kPointsPerSection * i) + 1;
          const Vector3d p = points.segment<3>(row);
          const Vector3d q =
              j <= kPointsPerSection
                  ? (start[k] * section_pose(rotated, rotated.length * j / kPointsPerSection))
                        .translation()
                        .eval()
                  : (moved * p).eval();
          jacobian.col(2 * i + c).segment<3>(row) = weight[row] * (q - p) / kStep;
        }
      }
    }
    const Eigen::MatrixXd normal = jacobian.transpose() * jacobian;
    const Eigen::VectorXd slope = jacobian.transpose() * residual;
    bool better = false;
    for (int attempt = 0; attempt < 6 && !better; ++attempt) {
      Eigen::MatrixXd damped = normal;
      damped.diagonal().array() += damping * normal.diagonal().maxCoeff();
      const Eigen::VectorXd trial = bends + damped.ldlt().solve(slope);
      const double trial_cost = place(trial);
      better = trial_cost < cost;
      if (better) {
        const bool rested = cost - trial_cost < 1e-9 * cost;
        bends = trial;
        cost = trial_cost;
        damping *= 0.1;
        if (rested) iteration = kFitSteps;
      } else {
        damping *= 10.0;
      }
    }
    if (!better) break;
  }
  for (Eigen::Index i = 0; i < count; ++i)
    sections[static_cast<std::size_t>(i)] = with_bend(i, bends[2 * i], bends[2 * i + 1]);
}

/// A straight section has no direction of its own: it keeps that of the row before.
void hold_directions(InsertionList& list) {
  for (std::size_t r = 1; r < list.steps.size(); ++r) {
    auto& now = list.steps[r].sections;
    for (std::size_t i = 0; i < now.size(); ++i)
      if (now[i].theta < kNoBend) now[i].phi = list.steps[r - 1].sections[i].phi;
  }
}

void finish(InsertionList& list, const InsertionOptions& options) {
  list.status = InsertionStatus::Ready;
  for (const InsertionStep& step : list.steps)
    list.deviation = std::max(list.deviation, step.deviation);
  scale_time(list, options);
}

}  // namespace

Isometry3d arc_pose(const SpatialArc& arc, double s) noexcept {
  const PlanarPose flat =
      PlanarArc{.start = {}, .curvature = arc.curvature, .length = s}.pose_at(s);
  const double c = std::cos(arc.direction), d = std::sin(arc.direction);
  const Vector3d in_plane(c, d, 0.0), across(-d, c, 0.0);
  const double cosine = std::cos(flat.heading), sine = std::sin(flat.heading);
  Isometry3d X;
  X.linear() = Eigen::AngleAxisd(flat.heading, across).toRotationMatrix();
  X.linear().col(2) = sine * in_plane + cosine * Vector3d::UnitZ();
  X.translation() = flat.position.x() * in_plane + flat.position.y() * Vector3d::UnitZ();
  X.makeAffine();
  return X;
}

const char* to_string(InsertionStatus status) noexcept {
  switch (status) {
    case InsertionStatus::Ready:
      return "ready";
    case InsertionStatus::OutsideCorridor:
      return "outside corridor";
    case InsertionStatus::BeyondLimits:
      return "beyond limits";
  }
  return "unknown";
}

InsertionPath::InsertionPath(std::vector<SpatialArc> arcs, const Isometry3d& entry)
    : arcs_(std::move(arcs)) {
  if (arcs_.empty()) throw ModelError("insertion path: has no arcs");
  end_.push_back(0.0);
  start_.push_back(entry);
  for (std::size_t i = 0; i < arcs_.size(); ++i) {
    const SpatialArc& arc = arcs_[i];
    const auto refuse = [&](const char* field, double value, const char* allowed) {
      std::ostringstream text;
      text << "insertion path: arc " << i << ": " << field << " = " << value << ", must be "
           << allowed;
      throw ModelError(text.str());
    };
    if (!std::isfinite(arc.curvature)) refuse("curvature", arc.curvature, "finite");
    if (!std::isfinite(arc.direction)) refuse("direction", arc.direction, "finite");
    if (!std::isfinite(arc.length) || !(arc.length > 0.0))
      refuse("length", arc.length, "finite and > 0");
    end_.push_back(end_.back() + arc.length);
    if (i + 1 < arcs_.size()) start_.push_back(start_.back() * arc_pose(arc, arc.length));
  }
}

namespace {

std::vector<SpatialArc> spatial(std::span<const PlanarArc> plan) {
  std::vector<SpatialArc> arcs;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (i > 0) {
      const PlanarPose end = plan[i - 1].end();
      const double gap = (plan[i].start.position - end.position).norm();
      const double turn = std::abs(std::remainder(plan[i].start.heading - end.heading, 2.0 * pi));
      if (!(gap <= kJointTolerance && turn <= kJointTolerance))
        throw ModelError("insertion path: arc " + std::to_string(i) +
                         " does not start where the one before ends");
    }
    arcs.push_back({.curvature = plan[i].curvature, .direction = 0.0, .length = plan[i].length});
  }
  return arcs;
}

Isometry3d spatial_pose(std::span<const PlanarArc> plan) {
  Isometry3d X = Isometry3d::Identity();
  if (plan.empty()) return X;
  X.linear() = Eigen::AngleAxisd(plan[0].start.heading, Vector3d::UnitY()).toRotationMatrix();
  X.translation() = Vector3d(plan[0].start.position.x(), 0.0, plan[0].start.position.y());
  return X;
}

}  // namespace

InsertionPath::InsertionPath(std::span<const PlanarArc> plan)
    : InsertionPath(spatial(plan), spatial_pose(plan)) {}

int InsertionPath::arc_at(double s) const noexcept {
  int i = 0;
  while (i + 1 < static_cast<int>(arcs_.size()) && arc_end(i) < s - kSameLength) ++i;
  return i;
}

Isometry3d InsertionPath::pose_at(double s) const noexcept {
  const int i = arc_at(s);
  const auto k = static_cast<std::size_t>(i);
  return start_[k] * arc_pose(arcs_[k], s - end_[k]);
}

InsertionList extensible_insertion(const InsertionPath& path, const InsertionOptions& options) {
  std::vector<double> ramp_ends;
  for (int i = 0; i + 1 < static_cast<int>(path.arcs().size()); ++i)
    ramp_ends.push_back(
        path.arc_end(i) +
        std::min(options.ramp, path.arcs()[static_cast<std::size_t>(i) + 1].length));
  InsertionList list;
  for (const double length : row_lengths(path, options, ramp_ends)) {
    InsertionStep row = row_on_path(path, length, options);
    const auto k = static_cast<std::size_t>(row.stage);
    const SpatialArc& arc = path.arcs()[k];
    // The bend vector goes over from that of the arc before.
    Eigen::Vector2d bend =
        arc.curvature * Eigen::Vector2d(std::cos(arc.direction), std::sin(arc.direction));
    const double past = length - path.arc_start(row.stage);
    const double ramp = std::min(options.ramp, arc.length);
    if (k > 0 && past < ramp) {
      const SpatialArc& before = path.arcs()[k - 1];
      const Eigen::Vector2d old = before.curvature * Eigen::Vector2d(std::cos(before.direction),
                                                                     std::sin(before.direction));
      bend = old + past / ramp * (bend - old);
    }
    const Eigen::Vector2d along(std::cos(arc.direction), std::sin(arc.direction));
    row.actuation_curvature = bend.dot(along) < 0.0 ? -bend.norm() : bend.norm();
    row.sections = {
        {.theta = bend.norm() * length, .phi = std::atan2(bend.y(), bend.x()), .length = length}};
    list.steps.push_back(std::move(row));
  }
  hold_directions(list);
  finish(list, options);
  return list;
}

InsertionList elastic_insertion(const InsertionPath& path, std::span<const CorrectedState> states,
                                const InsertionOptions& options) {
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
  InsertionList list;
  const SpatialArc& first = path.arcs()[0];
  for (const double length : row_lengths(path, options, marks)) {
    if (length > states.back().path_length + kSameLength) break;
    InsertionStep row = row_on_path(path, length, options);
    row.actuation_curvature = first.curvature;
    if (length > states.front().path_length) {
      const auto after = std::lower_bound(
          states.begin(), states.end(), length - kSameLength,
          [](const CorrectedState& state, double l) { return state.path_length < l; });
      const auto before = after == states.begin() ? after : after - 1;
      const double span = after->path_length - before->path_length;
      const double share = span > 0.0 ? std::min(1.0, (length - before->path_length) / span) : 1.0;
      row.actuation_curvature = std::lerp(before->curvatures[0], after->curvatures[0], share);
      row.inserted_length = std::lerp(before->length, after->length, share);
    }
    row.sections = {section_command(row.actuation_curvature, first.direction, row.inserted_length)};
    list.steps.push_back(std::move(row));
  }
  hold_directions(list);
  finish(list, options);
  return list;
}

InsertionList growing_sections_insertion(const InsertionPath& path, std::span<const double> longest,
                                         const InsertionOptions& options) {
  // Arcs that are too long for their section are split; every part has a section.
  std::vector<SpatialArc> parts;
  for (const SpatialArc& arc : path.arcs()) {
    const std::size_t used = parts.size();
    std::size_t count = 1;
    const auto fits = [&] {
      for (std::size_t i = used; i < used + count; ++i)
        if (longest[i] < arc.length / static_cast<double>(count) - kSameLength) return false;
      return true;
    };
    while (used + count <= longest.size() && !fits()) ++count;
    if (used + count > longest.size()) {
      require_options(options);
      return {};
    }
    SpatialArc part = arc;
    part.length = arc.length / static_cast<double>(count);
    parts.insert(parts.end(), count, part);
  }
  const InsertionPath split(std::move(parts), path.entry());
  InsertionList list;
  for (const double length : row_lengths(split, options)) {
    InsertionStep row = row_on_path(path, length, options);
    row.sections = laid_arcs(split, length);
    row.actuation_curvature = path.arcs()[static_cast<std::size_t>(row.stage)].curvature;
    list.steps.push_back(std::move(row));
  }
  finish(list, options);
  return list;
}

InsertionList shaft_insertion(const InsertionPath& path, const ShaftRobot& robot, SectionFit fit,
                              double corridor, const InsertionOptions& options) {
  require(robot.section_count >= 1, "section_count", robot.section_count, ">= 1");
  require(std::isfinite(robot.section_length) && robot.section_length > 0.0, "section_length",
          robot.section_length, "finite and > 0");
  require(robot.bend_angle_limit > 0.0, "bend_angle_limit", robot.bend_angle_limit, "> 0");
  require(corridor >= 0.0, "corridor", corridor, ">= 0");
  const double l = robot.section_length;
  const std::vector<double> lengths = row_lengths(path, options);
  if (path.length() > l * robot.section_count + kSameLength) return {};

  InsertionList list;
  for (const double length : lengths) {
    InsertionStep row = row_on_path(path, length, options);
    row.feed = length;
    row.sections.resize(static_cast<std::size_t>(robot.section_count));
    const int visible = static_cast<int>(std::ceil(length / l - kSameLength));
    const auto body = std::span(row.sections).last(static_cast<std::size_t>(visible));
    Isometry3d X = path.entry();
    for (int m = visible - 1; m >= 0; --m) {
      const double a = std::max(0.0, length - (m + 1) * l), b = length - m * l;
      const Vector3d t = X.linear().transpose() * path.pose_at(b).linear().col(2);
      const double across = std::hypot(t.x(), t.y());
      SectionCommand& section = body[static_cast<std::size_t>(visible - 1 - m)];
      section = {.theta = std::atan2(across, t.z()),
                 .phi = across > kNoBend ? std::atan2(t.y(), t.x()) : 0.0,
                 .length = b - a};
      X = X * section_pose(section, section.length);
    }
    if (fit == SectionFit::LeastSquares && visible > 0) fit_to_path(path, body);
    X = path.entry();
    for (const SectionCommand& section : body) {
      if (section.theta > robot.bend_angle_limit) return {};
      X = X * section_pose(section, section.length);
    }
    row.X_WE = X;
    row.deviation = body_deviation(path, body);
    if (options.scene != nullptr) {
      row.clearance = std::numeric_limits<double>::infinity();
      Isometry3d X_WS = path.entry();
      for (const SectionCommand& section : body) {
        const double sign = std::cos(section.phi) < 0.0 ? -1.0 : 1.0;
        const PlanarArc flat{.start = planar(X_WS),
                             .curvature = sign * section.theta / section.length,
                             .length = section.length};
        row.clearance =
            std::min(row.clearance, options.scene->clearance(flat, options.body_radius));
        X_WS = X_WS * section_pose(section, section.length);
      }
    }
    row.actuation_curvature = path.arcs()[static_cast<std::size_t>(row.stage)].curvature;
    list.steps.push_back(std::move(row));
  }
  hold_directions(list);
  finish(list, options);
  if (list.deviation > corridor) list.status = InsertionStatus::OutsideCorridor;
  return list;
}

InsertionList everting_insertion(const InsertionPath& path, double curvature_limit,
                                 const InsertionOptions& options) {
  require(curvature_limit >= 0.0, "curvature_limit", curvature_limit, ">= 0");
  const std::vector<double> lengths = row_lengths(path, options);
  for (const SpatialArc& arc : path.arcs())
    if (std::abs(arc.curvature) > curvature_limit) return {};
  InsertionList list;
  for (const double length : lengths) {
    InsertionStep row = row_on_path(path, length, options);
    row.sections = laid_arcs(path, length);
    row.actuation_curvature = path.arcs()[static_cast<std::size_t>(row.stage)].curvature;
    list.steps.push_back(std::move(row));
  }
  finish(list, options);
  return list;
}

InsertionList withdrawal(const InsertionList& insertion) {
  InsertionList list = insertion;
  std::reverse(list.steps.begin(), list.steps.end());
  for (InsertionStep& step : list.steps) step.time = insertion.duration() - step.time;
  return list;
}

void scale_time(InsertionList& list, const InsertionOptions& options) {
  require_options(options);
  auto& rows = list.steps;
  if (rows.empty()) return;
  const std::size_t legs = rows.size() - 1;
  // Largest speed of the advance u on every leg: rates are (change over the leg / du) du/dt.
  std::vector<double> advance(legs), limit(legs), speed(rows.size(), 0.0);
  for (std::size_t i = 0; i < legs; ++i) {
    const InsertionStep &a = rows[i], &b = rows[i + 1];
    advance[i] = std::max(std::abs(b.path_length - a.path_length),
                          std::abs(b.inserted_length - a.inserted_length));
    advance[i] = std::max(advance[i], kSameLength);
    limit[i] = options.speed;
    const auto slow = [&](double change, double rate) {
      if (std::abs(change) > 0.0)
        limit[i] = std::min(limit[i], rate * advance[i] / std::abs(change));
    };
    slow(b.actuation_curvature - a.actuation_curvature, options.curvature_rate);
    for (std::size_t s = 0; s < a.sections.size(); ++s) {
      const auto bend = [](const SectionCommand& c) {
        return Eigen::Vector2d(c.theta * std::cos(c.phi), c.theta * std::sin(c.phi));
      };
      slow((bend(b.sections[s]) - bend(a.sections[s])).norm(), options.bend_rate);
    }
  }
  for (std::size_t i = 1; i < legs; ++i) speed[i] = std::min(limit[i - 1], limit[i]);
  const auto reach = [&](double from, std::size_t leg) {
    return std::sqrt(from * from + 2.0 * options.acceleration * advance[leg]);
  };
  for (std::size_t i = 1; i < legs; ++i) speed[i] = std::min(speed[i], reach(speed[i - 1], i - 1));
  for (std::size_t i = legs; i-- > 1;) speed[i] = std::min(speed[i], reach(speed[i + 1], i));
  rows[0].time = 0.0;
  for (std::size_t i = 0; i < legs; ++i) {
    // A single leg between two rests speeds up and slows down within it.
    const double peak = std::min(limit[i], std::sqrt(options.acceleration * advance[i]));
    const double duration = legs == 1 ? advance[i] / peak + peak / options.acceleration
                                      : 2.0 * advance[i] / (speed[i] + speed[i + 1]);
    rows[i + 1].time = rows[i].time + duration;
  }
}

InsertionStep command_at(const InsertionList& list, double time) {
  const auto after =
      std::upper_bound(list.steps.begin(), list.steps.end(), time,
                       [](double t, const InsertionStep& step) { return t < step.time; });
  if (after == list.steps.begin()) return list.steps.front();
  const InsertionStep& a = *(after - 1);
  if (after == list.steps.end()) return a;
  const InsertionStep& b = *after;
  const double share = (time - a.time) / (b.time - a.time);
  InsertionStep step = a;
  const auto mix = [&](double from, double to) { return from + share * (to - from); };
  step.time = time;
  step.path_length = mix(a.path_length, b.path_length);
  step.inserted_length = mix(a.inserted_length, b.inserted_length);
  step.feed = mix(a.feed, b.feed);
  step.actuation_curvature = mix(a.actuation_curvature, b.actuation_curvature);
  step.X_WE.translation() =
      a.X_WE.translation() + share * (b.X_WE.translation() - a.X_WE.translation());
  step.X_WE.linear() = Eigen::Quaterniond(a.X_WE.linear())
                           .slerp(share, Eigen::Quaterniond(b.X_WE.linear()))
                           .toRotationMatrix();
  for (std::size_t i = 0; i < a.sections.size(); ++i) {
    const SectionCommand &from = a.sections[i], &to = b.sections[i];
    step.sections[i].theta = mix(from.theta, to.theta);
    step.sections[i].length = mix(from.length, to.length);
    if (from.theta > kStraight && to.theta > kStraight)
      step.sections[i].phi =
          std::remainder(from.phi + share * std::remainder(to.phi - from.phi, 2.0 * pi), 2.0 * pi);
  }
  return step;
}

}  // namespace tendril
