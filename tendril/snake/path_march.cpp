#include "tendril/snake/path_march.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>
#include <string>

#include "tendril/model_error.hpp"
#include "tendril/snake/cubic_spline.hpp"
#include "tendril/snake/folded_path.hpp"
#include "tendril/snake/head_pose.hpp"
#include "tendril/snake/snake_fit.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kOffBase = 1e-6;     // [m], of the first point, and of points in line
constexpr double kMinSpacing = 1e-6;  // [m], between points
constexpr double kFoldMargin = 0.02;  // of the body, folded more than the path is shorter
constexpr int kBisections = 50;
constexpr double kTurnStep = 0.02;     // [rad], of the head
constexpr double kLargestCount = 1e6;  // of steps

template <class... Values>
std::string printed(const char* format, const Values&... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

/// Throws `point I (x y z): reason`.
[[noreturn]] void refuse_point(std::size_t i, const Vector3d& p, const std::string& reason) {
  throw ModelError(printed("point %zu (%g %g %g): ", i + 1, p.x(), p.y(), p.z()) + reason);
}

/// Marches one chain along one path.
class PathMarch {
 public:
  PathMarch(const SnakeChain& chain, std::span<const Vector3d> points,
            const PathMarchOptions& options)
      : chain_(chain),
        points_(points),
        options_(options),
        memory_(static_cast<std::size_t>(
            GrowingPath::memory_size(static_cast<int>(points.size()) + 2))),
        angles_(static_cast<std::size_t>(chain.joint_count())),
        parameters_(static_cast<std::size_t>(chain.module_count()) + 1) {
    check_points();
    grow();
  }

  std::vector<PathMarchStep> steps() {
    std::vector<PathMarchStep> all =
        options_.base == MarchBase::Free ? free_steps() : mounted_steps();
    if (options_.head) turn_head(*options_.head, all);
    return all;
  }

 private:
  [[nodiscard]] PathView path() const noexcept { return PathView(memory_); }
  [[nodiscard]] MarchMemory out() noexcept { return {angles_, parameters_}; }

  void check_points() const {
    if (!(options_.step > 0.0) || !std::isfinite(options_.step))
      throw ModelError(printed("step = %g m, must be > 0", options_.step));
    if (points_.size() < 2)
      throw ModelError(printed("%zu points: must be at least two", points_.size()));
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (!points_[i].allFinite()) refuse_point(i, points_[i], "must be finite");
    }
    if (options_.base == MarchBase::Free) return;
    if (points_[0].norm() > kOffBase)
      refuse_point(0, points_[0], "must be 0 0 0: the path begins at the base");
    const Vector3d& second = points_[1];
    if (options_.base == MarchBase::Carriage &&
        (hypotenuse(second.y(), second.z()) > kOffBase || second.x() <= 0.0))
      refuse_point(1, second, "must be x 0 0 with x > 0: the carriage needs a straight path");
    for (std::size_t i = 0; i < points_.size() && options_.base == MarchBase::Fixed; ++i) {
      if (points_[i].norm() <= chain_.length()) continue;
      refuse_point(i, points_[i],
                   printed("leaves the reach of the fixed base: %.4g m from it, must be <= %.4g m, "
                           "the body's length",
                           points_[i].norm(), chain_.length()));
    }
  }

  /// Makes the path: straight as far as the points are in line, then through all others.
  void grow() {
    GrowingPath path(memory_, {.min_spacing = kMinSpacing,
                               .max_spacing = std::numeric_limits<double>::infinity(),
                               .max_turn = std::numbers::pi / 2.0});
    const Vector3d start = points_[0], first = points_[1] - start;
    if (first.norm() < kMinSpacing) refuse_point(1, points_[1], "repeats point 1");
    const Vector3d along = first.normalized();
    std::size_t last = 1;  // in line
    straight_ = first.norm();
    while (last + 1 < points_.size()) {
      const Vector3d next = points_[last + 1] - start;
      if (next.cross(along).norm() > kOffBase || !(next.dot(along) > straight_)) break;
      straight_ = next.dot(along);
      ++last;
    }
    path.start(start, along, straight_);
    for (std::size_t i = last + 1; i < points_.size(); ++i) {
      const GrowResult grown = path.append(points_[i]);
      if (grown.ok()) continue;
      const bool behind = grown.status == GrowStatus::Behind;
      refuse_point(i, points_[i],
                   printed(behind ? "turns back: by %.3g rad, must be <= %.3g rad"
                                  : "repeats the point before: %.3g m from it, must be >= %.3g m",
                           grown.value, grown.limit));
    }
    if (!path.finish().ok()) throw ModelError("the last point cannot be reached");
  }

  /// March of a fixed or carried chain at a feed.
  MarchResult march_at(double feed) noexcept {
    const bool fixed = options_.base == MarchBase::Fixed;
    return march_from_base(chain_, body_path(feed), fixed ? 0.0 : feed, Matrix3d::Identity(), out(),
                           options_.march);
  }
  [[nodiscard]] double stored(double feed) const noexcept {
    return options_.base == MarchBase::Fixed ? fold_ - feed : 0.0;
  }
  const FoldedPath& body_path(double feed) noexcept {
    return folded_.emplace(view_.emplace(path()), folding_, stored(feed), aside_);
  }

  void choose_fold() {
    const double length = chain_.length(), margin = kFoldMargin * length;
    aside_ = Eigen::AngleAxisd(options_.fold_angle, Vector3d::UnitX()) * Vector3d::UnitY();
    const Vector3d along = path().at(0.0).first;
    if (along.cross(aside_).norm() < kOffBase) aside_ = along.unitOrthogonal();
    fold(options_.fold.value_or(std::max(0.0, length + margin - path().end())));
    // The chords of a chain are shorter than the arcs of its fold.
    while (!options_.fold && fold_ > 0.0 && march_at(0.0).status == MarchStatus::PathTooShort)
      fold(fold_ + margin);
  }

  /// Folds this length of the body [m].
  void fold(double length) {
    fold_ = length;
    folding_ = std::min(straight_, chain_.length() - fold_);
    const double largest = folding_ > 0.0 ? FoldedPath::largest(folding_) : 0.0;
    if (fold_ >= 0.0 && fold_ <= largest) return;
    throw ModelError(printed(
        "is %.4g m long, the body %.4g m: must be longer, or begin with a straight piece on "
        "which %.3g m can be folded; that of %.3g m takes %.3g m",
        path().end(), chain_.length(), fold_, straight_, largest));
  }

  /// Refuses a march that failed for another reason than the path's end.
  void require_march(const MarchResult& march, const char* what, double at) const {
    if (march.ok()) return;
    throw ModelError(printed("with %s %.4g m: ", what, at) + describe(march));
  }

  std::vector<PathMarchStep> mounted_steps() {
    if (options_.update == PathUpdate::Refitted)
      throw ModelError("a refitted path needs a free base: the root moves with it");
    const bool fixed = options_.base == MarchBase::Fixed;
    if (fixed)
      choose_fold();
    else
      folding_ = straight_;
    const double end = fixed ? fold_ : std::min(options_.feed_limit, straight_);
    require_count(end);
    std::vector<PathMarchStep> steps;
    double reached = 0.0;
    for (int i = 0;; ++i) {
      const double feed = std::min(i * options_.step, end);
      const MarchResult march = march_at(feed);
      if (i > 0 && march.status == MarchStatus::PathTooShort) {
        add_mounted(last_feed(reached, feed), steps);
        return steps;
      }
      require_march(march, fixed ? "an unfolded length of" : "a feed of", feed);
      add_mounted(feed, steps);
      reached = feed;
      if (feed >= end) return steps;
    }
  }

  /// Finds the feed at which the head is at the path's end.
  double last_feed(double reached, double missed) noexcept {
    for (int i = 0; i < kBisections; ++i) {
      const double middle = 0.5 * (reached + missed);
      (march_at(middle).ok() ? reached : missed) = middle;
    }
    return reached;
  }

  void add_mounted(double feed, std::vector<PathMarchStep>& steps) {
    const MarchResult march = march_at(feed);
    const CurveDeviation off = curve_deviation(chain_, *folded_, march.X_WB, angles_, parameters_);
    const double s = parameters_.back() - stored(feed);
    if (!steps.empty() && s <= steps.back().s) return;
    steps.push_back({s, feed, march.X_WB, angles_, off.even, off.odd, march.iterations});
  }

  /// Adds a step in which the head has the orientation R.
  void turn_head(const Matrix3d& R, std::vector<PathMarchStep>& steps) {
    PathMarchStep turned = steps.back();
    std::vector<Isometry3d> frames(angles_.size() + 1);
    snake_frames(chain_, turned.X_WB, turned.angles, frames);
    const Isometry3d from = frames.back();
    const Eigen::AngleAxisd turn(Matrix3d(from.linear().transpose() * R));
    HeadPose head(chain_);
    HeadPoseResult result;
    const int count = 1 + static_cast<int>(turn.angle() / kTurnStep);
    for (int i = 1; i <= count; ++i) {
      Isometry3d X = from;
      X.rotate(Eigen::AngleAxisd(turn.angle() * i / count, turn.axis()));
      result = head.reach(turned.X_WB, X, turned.angles);
    }
    if (!result.converged) {
      throw ModelError(
          printed("the head cannot take the orientation at the path's end: %.3g m and "
                  "%.3g rad are missing",
                  result.position_error, result.angle_error));
    }
    const PathView view = path();
    const CurveRef curve = folded_ ? CurveRef(*folded_) : CurveRef(view);
    const CurveDeviation off =
        curve_deviation(chain_, curve, turned.X_WB, turned.angles, parameters_);
    turned.even = off.even;
    turned.odd = off.odd;
    turned.iterations = 0;
    steps.push_back(turned);
  }

  void require_count(double travel) const {
    if (travel / options_.step <= kLargestCount) return;
    throw ModelError(printed("step = %g m, must be >= %g m for a path of %.4g m", options_.step,
                             travel / kLargestCount, travel));
  }

  MarchResult march_head(double s) noexcept {
    const PathView view = path();
    return march_from_head(chain_, view, s, view.frame(s), out(), options_.march);
  }

  std::vector<PathMarchStep> free_steps() {
    const double end = path().end();
    require_count(end);
    double missed = 0.0, reached = end;  // of the head where the whole body is on the path
    require_march(march_head(end), "the head at", end);
    const double body = chain_.length() + chain_.rear_length();
    for (double s = body; s < end; s += 0.1 * body) {
      const MarchResult march = march_head(s);
      if (march.status == MarchStatus::PathTooShort) {
        missed = s;
        continue;
      }
      require_march(march, "the head at", s);
      reached = s;
      break;
    }
    for (int i = 0; i < kBisections; ++i) {
      const double middle = 0.5 * (reached + missed);
      (march_head(middle).status == MarchStatus::PathTooShort ? missed : reached) = middle;
    }
    std::vector<PathMarchStep> steps;
    for (int i = 0; steps.empty() || steps.back().s < end; ++i) {
      const double s = std::min(reached + i * options_.step, end);
      const bool refit = options_.update == PathUpdate::Refitted && i > 0;
      const MarchResult march = refit ? refitted(steps.back(), s) : march_head(s);
      require_march(march, "the head at", s);
      add_free(s, march, steps);
    }
    return steps;
  }

  /// [Torus] section 3: the spline through the present {B_2k}, and B_0's rear end, and the head's
  /// next point; its march from there.
  MarchResult refitted(const PathMarchStep& before, double s) {
    std::vector<Vector3d> all(angles_.size() + 1), nodes;
    snake_points(chain_, before.X_WB, before.angles, all);
    if (chain_.rear_length() > 0.0)
      nodes.push_back(before.X_WB * Vector3d(-chain_.rear_length(), 0.0, 0.0));
    for (std::size_t j = 0; j < all.size(); j += 2) nodes.push_back(all[j]);
    const PathView view = path();
    nodes.push_back(view.at(s).position);
    const CubicSpline spline(nodes);
    return march_from_head(chain_, spline, spline.end(), view.frame(s), out(), options_.march);
  }

  void add_free(double s, const MarchResult& march, std::vector<PathMarchStep>& steps) {
    const PathView view = path();
    const double head = parameters_.back();
    for (double& parameter : parameters_)  // a spline's begin elsewhere
      parameter = std::clamp(s - (head - parameter), view.begin(), view.end());
    const CurveDeviation off = curve_deviation(chain_, view, march.X_WB, angles_, parameters_);
    steps.push_back({s, 0.0, march.X_WB, angles_, off.even, off.odd, march.iterations});
  }

  const SnakeChain& chain_;
  std::span<const Vector3d> points_;
  PathMarchOptions options_;
  std::vector<double> memory_, angles_, parameters_;
  double straight_ = 0.0;  // length of the path's straight beginning
  double fold_ = 0.0,
         folding_ = 1.0;  // of a fixed base: what is folded at first, over which length
  Vector3d aside_ = Vector3d::UnitY();
  std::optional<PathView> view_;  // what folded_ refers to
  std::optional<FoldedPath> folded_;
};

}  // namespace

std::vector<PathMarchStep> march_along(const SnakeChain& chain, std::span<const Vector3d> points,
                                       const PathMarchOptions& options) {
  return PathMarch(chain, points, options).steps();
}

std::optional<RootMethod> root_method(std::string_view name) noexcept {
  if (name == "newton") return RootMethod::Newton;
  if (name == "chord") return RootMethod::FalsePosition;
  if (name == "bisection") return RootMethod::Bisection;
  return std::nullopt;
}

}  // namespace tendril
