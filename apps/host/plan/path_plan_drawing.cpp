#include "apps/host/plan/path_plan_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "apps/host/plan/svg_canvas.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"

namespace tendril::host {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

constexpr double kOnePanel = 720.0, kThreePanels = 430.0;  // px, the longer side of a panel
constexpr double kLeft = 60.0, kTop = 56.0, kBetween = 70.0, kRight = 24.0, kBelow = 60.0;
constexpr double kLine = 17.0;        // px, of words
constexpr double kMargin = 0.06;      // of the plot, round everything that is drawn
constexpr double kLabelSpace = 13.0;  // px between two labels
constexpr int kPointsPerSection = 24;
constexpr int kTipsPerStep = 12;
constexpr const char* kObstacle = "#c3c9cf";
constexpr const char* kGrey = "#8a8a8a";

struct Bounds {
  Vector3d low = Vector3d::Constant(1e300), high = Vector3d::Constant(-1e300);

  void add(const Vector3d& p, double around) {
    low = low.cwiseMin(p - Vector3d::Constant(around));
    high = high.cwiseMax(p + Vector3d::Constant(around));
  }
};

/// A colour between light blue (the first waypoint) and dark red (the last).
std::string colour(std::size_t i, std::size_t count) {
  const double t = count > 1 ? static_cast<double>(i) / static_cast<double>(count - 1) : 0.0;
  const auto mix = [&](double a, double b) { return static_cast<int>(a + t * (b - a)); };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(0x3f, 0xc0), mix(0x8f, 0x39), mix(0xd0, 0x2b));
}

class PathDrawing : SvgCanvas {
 public:
  PathDrawing(const PathPlan& plan, const PathPlanResult& solution)
      : plan_(plan), solution_(solution), robot_(plan.robot.kinematics()) {
    find_bounds();
  }

  std::string svg() {
    using Axes = std::array<int, 2>;
    const std::vector<Axes> views = plan_.options.planar
                                        ? std::vector<Axes>{{0, 2}}
                                        : std::vector<Axes>{{0, 2}, {1, 2}, {0, 1}};
    const Vector3d size = bounds_.high - bounds_.low;
    scale_ = (plan_.options.planar ? kOnePanel : kThreePanels) / size.maxCoeff();
    double x = kLeft, lowest = 0.0;
    for (const auto& [right, up] : views) {
      Panel panel;
      panel.right = right;
      panel.up = up;
      panel.corner = {x, kTop};
      panel.size = scale_ * Vector2d(size[right], size[up]);
      x += panel.size.x() + kBetween;
      lowest = std::max(lowest, panel.size.y());
      draw(panel);
    }
    const double y = kTop + lowest + kBelow;
    words(y);
    return document(std::max(x - kBetween + kRight, 640.0), y + 2.0 * kLine);
  }

 private:
  /// A view along one axis: coordinate `right` to the right, `up` upwards.
  struct Panel {
    int right = 0, up = 0;
    Vector2d corner = Vector2d::Zero();  // upper left [px]
    Vector2d size = Vector2d::Zero();    // [px]
  };

  [[nodiscard]] std::vector<Vector3d> body_points(SectionStates states) const {
    std::vector<Vector3d> points;
    Eigen::Isometry3d X_BS = base_pose(plan_.base);
    for (int i = 0; i < robot_.section_count(); ++i) {
      const SectionState& state = states[static_cast<std::size_t>(i)];
      for (int k = points.empty() ? 0 : 1; k <= kPointsPerSection; ++k) {
        const double fraction = static_cast<double>(k) / kPointsPerSection;
        points.push_back(
            (X_BS * section_pose_at(robot_.section(i), state, fraction)).translation());
      }
      X_BS = X_BS * section_end_pose(robot_.section(i), state);
    }
    return points;
  }

  void find_bounds() {
    const double r = plan_.options.body_radius;
    bounds_.add(base_pose(plan_.base).translation(), std::max(r, 0.01));
    for (const Vector3d& p : body_points(plan_.start)) bounds_.add(p, r);
    for (const TipTarget& waypoint : plan_.waypoints) bounds_.add(waypoint.position(), r);
    for (const WaypointResult& at : solution_.waypoints) {
      for (const Vector3d& p : body_points(at.states)) bounds_.add(p, r);
    }
    // Obstacles may be far larger than the rest: they widen the picture by at most its half.
    Bounds wide = bounds_;
    for (const PlanObstacle& obstacle : plan_.obstacles) {
      if (obstacle.segment)
        for (const Vector3d& p : *obstacle.segment) wide.add(p, obstacle.radius);
      for (const std::vector<Vector3d>& face : obstacle.faces)
        for (const Vector3d& p : face) wide.add(p, 0.0);
    }
    const double most = 0.5 * (bounds_.high - bounds_.low).maxCoeff();
    bounds_.low = wide.low.cwiseMax(bounds_.low - Vector3d::Constant(most));
    bounds_.high = wide.high.cwiseMin(bounds_.high + Vector3d::Constant(most));
    const double margin = kMargin * (bounds_.high - bounds_.low).maxCoeff();
    bounds_.low.array() -= margin;
    bounds_.high.array() += margin;
  }

  [[nodiscard]] Vector2d pixel(const Panel& panel, const Vector3d& p) const {
    return panel.corner + scale_ * Vector2d(p[panel.right] - bounds_.low[panel.right],
                                            bounds_.high[panel.up] - p[panel.up]);
  }
  [[nodiscard]] std::vector<Vector2d> pixels(const Panel& panel,
                                             const std::vector<Vector3d>& points) const {
    std::vector<Vector2d> found;
    for (const Vector3d& p : points) found.push_back(pixel(panel, p));
    return found;
  }

  void draw(const Panel& panel) {
    grid(panel);
    for (const PlanObstacle& obstacle : plan_.obstacles) {
      if (plan_.options.planar) {
        slice(panel, obstacle);
      } else {
        shadow(panel, obstacle);
      }
    }
    frame(panel);
    for (std::size_t i = 0; i < solution_.waypoints.size(); ++i) {
      const WaypointResult& at = solution_.waypoints[i];
      if (!at.reached) body(panel, at.states, kGrey, 0.12);
    }
    body(panel, plan_.start, "#444444", 0.18);
    for (std::size_t i = 0; i < solution_.waypoints.size(); ++i) {
      const WaypointResult& at = solution_.waypoints[i];
      if (at.reached) body(panel, at.states, colour(i, solution_.waypoints.size()), 0.22);
    }
    tip_way(panel);
    base(panel);
    waypoints(panel);
  }

  void grid(const Panel& panel) {
    const double step = nice_step((bounds_.high - bounds_.low).maxCoeff() / 8.0);
    const int digits = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
    const Vector2d end = panel.corner + panel.size;
    for (const bool is_right : {true, false}) {
      const int axis = is_right ? panel.right : panel.up;
      for (double v = std::ceil(bounds_.low[axis] / step) * step; v <= bounds_.high[axis];
           v += step) {
        Vector3d p = bounds_.low;
        p[axis] = v;
        const Vector2d at = pixel(panel, p);
        const std::string words = fmt::format("{:.{}f}", std::abs(v) < 1e-12 ? 0.0 : v, digits);
        if (is_right) {
          line({at.x(), panel.corner.y()}, {at.x(), end.y()}, "#eeeeee", 1.0);
          text({at.x(), end.y() + 15.0}, words, 10, "#444444", "middle");
        } else {
          line({panel.corner.x(), at.y()}, {end.x(), at.y()}, "#eeeeee", 1.0);
          text({panel.corner.x() - 5.0, at.y() + 4.0}, words, 10, "#444444", "end");
        }
      }
    }
    text({end.x(), end.y() + 31.0}, fmt::format("{} [m]", "xyz"[panel.right]), 12, "#222222",
         "end");
    text(panel.corner - Vector2d(40.0, 8.0), fmt::format("{} [m]", "xyz"[panel.up]), 12, "#222222");
  }

  void frame(const Panel& panel) {
    rect(panel.corner, panel.size, "fill=\"none\" stroke=\"#999999\"");
  }

  /// Clips a polygon to the panel (Sutherland-Hodgman).
  [[nodiscard]] static std::vector<Vector2d> clipped(const Panel& panel,
                                                     std::vector<Vector2d> polygon) {
    for (int side = 0; side < 4 && !polygon.empty(); ++side) {
      const int axis = side % 2;
      const double sign = side < 2 ? 1.0 : -1.0;
      const double limit = side < 2 ? panel.corner[axis] : panel.corner[axis] + panel.size[axis];
      std::vector<Vector2d> kept;
      for (std::size_t i = 0; i < polygon.size(); ++i) {
        const Vector2d &a = polygon[i], &b = polygon[(i + 1) % polygon.size()];
        const double da = sign * (a[axis] - limit), db = sign * (b[axis] - limit);
        if (da >= 0.0) kept.push_back(a);
        if ((da >= 0.0) != (db >= 0.0)) kept.emplace_back(a + (b - a) * (da / (da - db)));
      }
      polygon = std::move(kept);
    }
    return polygon;
  }

  void fill(const Panel& panel, const std::vector<Vector2d>& points) {
    const std::vector<Vector2d> inside = clipped(panel, points);
    if (inside.size() < 3) return;
    curve("polygon", inside,
          fmt::format("fill=\"{0}\" stroke=\"{0}\" stroke-width=\"0.5\"", kObstacle));
  }

  void disc(const Panel& panel, const Vector3d& center, double radius) {
    const Vector2d at = pixel(panel, center);
    std::vector<Vector2d> points;
    for (int k = 0; k < 40; ++k) {
      const double angle = 2.0 * M_PI * k / 40.0;
      points.emplace_back(at + scale_ * radius * Vector2d(std::cos(angle), std::sin(angle)));
    }
    fill(panel, points);
  }

  /// What an obstacle covers when it is looked at along the view's axis.
  void shadow(const Panel& panel, const PlanObstacle& obstacle) {
    for (const std::vector<Vector3d>& face : obstacle.faces) fill(panel, pixels(panel, face));
    if (!obstacle.segment) return;
    const auto& [a, b] = *obstacle.segment;
    disc(panel, a, obstacle.radius);
    disc(panel, b, obstacle.radius);
    const Vector2d from = pixel(panel, a), to = pixel(panel, b);
    if ((to - from).norm() < 1e-9) return;
    const Vector2d along = (to - from).normalized();
    const Vector2d across = scale_ * obstacle.radius * Vector2d(-along.y(), along.x());
    fill(panel, {from + across, to + across, to - across, from - across});
  }

  /// Where an obstacle cuts the plane y = 0: line by line of pixels, marched along with steps that
  /// the signed distance makes safe.
  void slice(const Panel& panel, const PlanObstacle& obstacle) {
    constexpr double kSmallestStep = 0.2;  // px
    const SignedDistance& shape = *obstacle.obstacle.shape;
    if (shape.sphere_radius() >= 0.0) {
      const Vector3d center = obstacle.obstacle.X_BO.translation();
      const double squared = obstacle.radius * obstacle.radius - center.y() * center.y();
      if (squared > 0.0) disc(panel, center, std::sqrt(squared));
      return;
    }
    const Eigen::Isometry3d X_OB = obstacle.obstacle.X_BO.inverse();
    const BoundingSphere sphere = shape.bounds();
    const Vector2d center = pixel(panel, obstacle.obstacle.X_BO * sphere.center);
    const double reach = scale_ * sphere.radius + 1.0;
    const double top = std::max(panel.corner.y(), center.y() - reach);
    const double bottom = std::min(panel.corner.y() + panel.size.y(), center.y() + reach);
    const double left = std::max(panel.corner.x(), center.x() - reach);
    const double right = std::min(panel.corner.x() + panel.size.x(), center.x() + reach);
    const auto distance = [&](double x, double y) {
      const Vector3d p(bounds_.low.x() + (x - panel.corner.x()) / scale_, 0.0,
                       bounds_.high.z() - (y - panel.corner.y()) / scale_);
      return scale_ * shape.distance(X_OB * p);
    };
    for (double y = std::floor(top) + 0.5; y < bottom; y += 1.0) {
      double entered = -1.0;
      for (double x = left; x <= right;) {
        const double d = distance(x, y);
        if (d <= 0.0 && entered < 0.0) entered = x;
        if (d > 0.0 && entered >= 0.0) run(entered, x, y), entered = -1.0;
        x += std::max(std::abs(d), kSmallestStep);
      }
      if (entered >= 0.0) run(entered, right, y);
    }
  }
  void run(double from, double to, double y) {
    rect({from, y - 0.6}, {to - from, 1.2}, fmt::format("fill=\"{}\"", kObstacle));
  }

  void body(const Panel& panel, SectionStates states, const std::string& paint, double opacity) {
    const std::vector<Vector2d> points = pixels(panel, body_points(states));
    curve("polyline", points,
          fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"{:.2f}\" stroke-opacity=\"{}\" "
                      "stroke-linecap=\"round\" stroke-linejoin=\"round\"",
                      paint, std::max(2.0 * scale_ * plan_.options.body_radius, 1.0), opacity));
    curve("polyline", points,
          fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"1.2\" stroke-opacity=\"0.9\"",
                      paint));
    for (std::size_t i = kPointsPerSection; i + 1 < points.size(); i += kPointsPerSection)
      circle(points[i], 2.0, fmt::format("fill=\"{}\"", paint));  // where sections meet
  }

  void tip_way(const Panel& panel) {
    std::vector<Vector2d> points;
    std::vector<SectionState> between(plan_.start.size());
    for (std::size_t i = 0; i + 1 < solution_.path.size(); ++i) {
      for (int k = i == 0 ? 0 : 1; k <= kTipsPerStep; ++k) {
        interpolate_pose(robot_, solution_.path[i].states, solution_.path[i + 1].states,
                         static_cast<double>(k) / kTipsPerStep, between);
        points.push_back(pixel(panel, tip_pose(robot_, between, plan_.base).translation()));
      }
    }
    if (points.size() > 1)
      curve("polyline", points,
            "fill=\"none\" stroke=\"#222222\" stroke-width=\"1\" stroke-opacity=\"0.8\" "
            "stroke-dasharray=\"3,3\"");
  }

  void base(const Panel& panel) {
    const Eigen::Isometry3d X_BS = base_pose(plan_.base);
    const Vector3d p = X_BS.translation();
    const double half = std::max(1.6 * plan_.options.body_radius, 0.006);
    for (const Vector3d& across : {Vector3d(half, 0.0, 0.0), Vector3d(0.0, half, 0.0)})
      line(pixel(panel, p - across), pixel(panel, p + across), "#222222", 3.0);
    text(pixel(panel, p) + Vector2d(8.0, 16.0), "base", 11, "#222222");
  }

  void waypoints(const Panel& panel) {
    std::vector<Vector2d> labels;
    for (std::size_t i = 0; i < plan_.waypoints.size(); ++i) {
      const bool reached = solution_.waypoints[i].reached;
      const std::string paint = reached ? "#1d1d1d" : kGrey;
      const Vector2d at = pixel(panel, plan_.waypoints[i].position());
      circle(at, 2.6, fmt::format("fill=\"{0}\" stroke=\"{0}\"", reached ? "#ffffff" : kGrey));
      circle(at, 2.6, fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"1.2\"", paint));
      const Vector2d label = at + Vector2d(7.0, -4.0);
      const bool is_crowded = std::any_of(labels.begin(), labels.end(), [&](const Vector2d& other) {
        return std::abs(other.x() - label.x()) < 2.0 * kLabelSpace &&
               std::abs(other.y() - label.y()) < kLabelSpace;
      });
      if (is_crowded && reached) continue;
      labels.push_back(label);
      std::string words = std::to_string(i + 1);
      if (!reached) words += ' ' + solution_.waypoints[i].status;
      text(label, words, 10, paint.c_str());
    }
  }

  void words(double y) {
    text({kLeft - 40.0, 24.0},
         fmt::format("{}: {} of {} waypoints reached", plan_.name, solution_.reached,
                     solution_.waypoints.size()),
         15, "#222222");
    std::string about = fmt::format("body {:g} mm wide", 2e3 * plan_.options.body_radius);
    if (std::isfinite(solution_.min_clearance))
      about += fmt::format(", least clearance on the way {:.2f} mm (margin {:g} mm)",
                           1e3 * solution_.min_clearance, 1e3 * plan_.options.margin);
    about += plan_.options.planar ? "; obstacles are cut at y = 0" : "";
    text({kLeft - 40.0, y}, about, 11, "#222222");
    text({kLeft - 40.0, y + kLine},
         "dark: start; blue to red: first to last waypoint; dashed: way of the tip; grey: not "
         "reached",
         11, "#222222");
  }

  const PathPlan& plan_;
  const PathPlanResult& solution_;
  ContinuumRobot robot_;
  Bounds bounds_;
  double scale_ = 1.0;  // px per m
};

}  // namespace

std::string path_plan_svg(const PathPlan& plan, const PathPlanResult& solution) {
  return PathDrawing(plan, solution).svg();
}

}  // namespace tendril::host
