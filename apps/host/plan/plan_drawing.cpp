#include "apps/host/plan/plan_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "apps/host/plan/svg_canvas.hpp"

namespace tendril::host {
namespace {

using Eigen::Vector2d;
using std::numbers::pi;

constexpr double kPlotSize = 760.0;  // px, the longer side
constexpr double kLeft = 64.0, kTop = 44.0, kRight = 24.0, kBelow = 56.0;
constexpr double kSmallestWidth = 620.0;  // px; room for the words
constexpr double kLine = 17.0;            // px, of words
constexpr double kMargin = 0.05;          // of the plot, round everything that is drawn
constexpr int kMostInWords = 8;           // solutions
constexpr int kMostLabels = 40;           // of refused arcs
constexpr std::array<const char*, 6> kColours{"#1f6fb4", "#e08214", "#2a9d5c",
                                              "#7b5ea7", "#c0392b", "#8c6d46"};

struct Bounds {
  Vector2d low = Vector2d::Constant(1e300), high = Vector2d::Constant(-1e300);

  void add(const Vector2d& p, double around = 0.0) {
    low = low.cwiseMin(p - Vector2d::Constant(around));
    high = high.cwiseMax(p + Vector2d::Constant(around));
  }
};

std::vector<Vector2d> points_of(const PlanarArc& arc) {
  const int pieces =
      std::clamp(static_cast<int>(std::ceil(std::max(std::abs(arc.bend()) / 0.02, 1.0))), 1, 400);
  std::vector<Vector2d> points;
  for (int i = 0; i <= pieces; ++i) points.push_back(arc.pose_at(arc.length * i / pieces).position);
  return points;
}

Bounds bounds_of(const PlanFile& plan, const PlanResult& solution) {
  const double r = plan.options.body_radius;
  Bounds bounds;
  bounds.add(plan.base.position, std::max(r, 0.01));
  if (plan.target) bounds.add(*plan.target, std::max(r, 0.01));
  for (int i = 0; i < plan.scene.size(); ++i) {
    const PlanarObstacle& obstacle = plan.scene.obstacle(i);
    if (const Disc* disc = std::get_if<Disc>(&obstacle)) bounds.add(disc->centre, disc->radius);
    if (const Polygon* polygon = std::get_if<Polygon>(&obstacle))
      for (const Vector2d& corner : polygon->corners) bounds.add(corner);
  }
  for (const ContactPoint& contact : plan.contacts)
    bounds.add(contact.disc.centre, contact.disc.radius);
  for (const ContactPath& way : solution.paths)
    for (const ContactStep& step : way.steps)
      for (const Vector2d& p : points_of(step.arc)) bounds.add(p, r);
  if (solution.paths.empty())
    for (const ContactStep& step : solution.deepest)
      for (const Vector2d& p : points_of(step.arc)) bounds.add(p, r);
  const double margin = kMargin * (bounds.high - bounds.low).maxCoeff();
  bounds.low.array() -= margin;
  bounds.high.array() += margin;
  return bounds;
}

class Drawing : SvgCanvas {
 public:
  Drawing(const PlanFile& plan, const PlanResult& solution, RefusedShown refused)
      : plan_(plan), solution_(solution), refused_(refused), bounds_(bounds_of(plan, solution)) {
    scale_ = kPlotSize / (bounds_.high - bounds_.low).maxCoeff();
    plot_width_ = scale_ * (bounds_.high.x() - bounds_.low.x());
    plot_height_ = scale_ * (bounds_.high.y() - bounds_.low.y());
    width_ = std::max(kLeft + plot_width_ + kRight, kSmallestWidth);
  }

  std::string svg() {
    axes();
    refused();
    obstacles();
    if (solution_.paths.empty()) {
      body(solution_.deepest, "#777777");
    } else {
      for (std::size_t i = solution_.paths.size(); i-- > 0;)  // the best one on top
        body(solution_.paths[i].steps, colour(i));
    }
    contacts();
    labels();
    ends();
    scale_bar();
    words();
    return document(width_, height_);
  }

 private:
  static const char* colour(std::size_t way) { return kColours[way % kColours.size()]; }

  [[nodiscard]] Vector2d pixel(const Vector2d& p) const {
    return {kLeft + scale_ * (p.x() - bounds_.low.x()), kTop + scale_ * (bounds_.high.y() - p.y())};
  }
  [[nodiscard]] bool is_inside(const Vector2d& p) const {
    return (p.array() >= bounds_.low.array()).all() && (p.array() <= bounds_.high.array()).all();
  }

  /// In coordinates of the plane.
  void plane_curve(const char* element, const std::vector<Vector2d>& points,
                   const std::string& style) {
    std::vector<Vector2d> pixels;
    for (const Vector2d& p : points) pixels.push_back(pixel(p));
    curve(element, pixels, style);
  }

  void axes() {
    const double step = nice_step((bounds_.high - bounds_.low).maxCoeff() / 8.0);
    const int digits = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
    const Vector2d corner(kLeft, kTop + plot_height_);
    for (double x = std::ceil(bounds_.low.x() / step) * step; x <= bounds_.high.x(); x += step) {
      const double at = pixel({x, 0.0}).x();
      line({at, kTop}, {at, corner.y()}, "#eeeeee", 1.0);
      text({at, corner.y() + 16.0}, fmt::format("{:.{}f}", x + 0.0, digits), 11, "#444444",
           "middle");
    }
    for (double z = std::ceil(bounds_.low.y() / step) * step; z <= bounds_.high.y(); z += step) {
      const double at = pixel({0.0, z}).y();
      line({kLeft, at}, {kLeft + plot_width_, at}, "#eeeeee", 1.0);
      text({kLeft - 6.0, at + 4.0}, fmt::format("{:.{}f}", z + 0.0, digits), 11, "#444444", "end");
    }
    rect({kLeft, kTop}, {plot_width_, plot_height_}, "fill=\"none\" stroke=\"#999999\"");
    text({kLeft + plot_width_, corner.y() + 34.0}, "x [m]", 12, "#222222", "end");
    text({kLeft - 50.0, kTop - 10.0}, "z [m]", 12, "#222222");
    text({kLeft, 24.0}, fmt::format("{}: {}", plan_.name, to_string(solution_.status)), 15,
         "#222222");
  }

  void obstacles() {
    for (int i = 0; i < plan_.scene.size(); ++i) {
      const PlanarObstacle& obstacle = plan_.scene.obstacle(i);
      const bool held = plan_.grasp && plan_.grasp->object == i;
      const std::string style = fmt::format("fill=\"{}\" stroke=\"#555555\" stroke-width=\"1\"",
                                            held ? "#f3d9a4" : "#cfd4d9");
      Vector2d middle = Vector2d::Zero();
      if (const Disc* disc = std::get_if<Disc>(&obstacle)) {
        middle = disc->centre;
        circle(pixel(middle), scale_ * disc->radius, style);
      } else {
        const auto& corners = std::get<Polygon>(obstacle).corners;
        for (const Vector2d& corner : corners)
          middle += corner / static_cast<double>(corners.size());
        plane_curve("polygon", corners, style);
      }
      text(pixel(middle) + Vector2d(0.0, 5.0), std::to_string(i), 14, "#333333", "middle");
    }
  }

  void contacts() {
    for (std::size_t i = 0; i < plan_.contacts.size(); ++i) {
      const Disc& disc = plan_.contacts[i].disc;
      const Vector2d at = pixel(disc.centre);
      if (disc.radius > 0.0) {
        circle(at, scale_ * disc.radius, "fill=\"none\" stroke=\"#b03060\" stroke-width=\"2\"");
      } else {
        circle(at, 3.0, "fill=\"#b03060\"");
      }
      // Posts: below the obstacle's own number.
      text(at + (disc.radius > 0.0 ? Vector2d(-10.0, 20.0) : Vector2d(5.0, -5.0)),
           fmt::format("c{}", i), 11, "#b03060");
    }
  }

  void body(const std::vector<ContactStep>& steps, const char* colour) {
    if (steps.empty()) return;
    std::vector<Vector2d> points;
    for (const ContactStep& step : steps) {
      const auto arc = points_of(step.arc);
      points.insert(points.end(), arc.begin(), arc.end());
    }
    const double width = 2.0 * scale_ * plan_.options.body_radius;
    plane_curve(
        "polyline", points,
        fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"{:.2f}\" stroke-opacity=\"0.30\" "
                    "stroke-linecap=\"round\" stroke-linejoin=\"round\"",
                    colour, std::max(width, 1.0)));
    plane_curve("polyline", points,
                fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\" stroke-opacity=\"1\"",
                            colour));
    for (const ContactStep& step : steps) {
      if (step.side == 0) continue;
      const PlanarPose end = step.arc.end();
      // Where the body's side touches.
      const Vector2d touch = end.position + step.side * plan_.options.body_radius * end.lateral();
      circle(pixel(end.position), 2.5, fmt::format("fill=\"{}\"", colour));
      if (step.contact != kWrapped) line(pixel(end.position), pixel(touch), colour, 1.6);
    }
  }

  /// Whether the arc goes on from the base or from the first contacts of a solution.
  [[nodiscard]] bool is_near(const RefusedPath& way) const {
    const ContactRefusal reason = way.arc.reason;
    if (reason != ContactRefusal::Obstacle && reason != ContactRefusal::Rule &&
        reason != ContactRefusal::SelfContact && reason != ContactRefusal::Slack)
      return false;
    if (way.chain.empty()) return true;
    return std::any_of(
        solution_.paths.begin(), solution_.paths.end(), [&](const ContactPath& solution) {
          return way.chain.size() <= solution.steps.size() &&
                 std::equal(way.chain.begin(), way.chain.end(), solution.steps.begin(),
                            [](const ContactStep& a, const ContactStep& b) {
                              return a.contact == b.contact && a.side == b.side;
                            });
        });
  }

  void refused() {
    if (refused_ == RefusedShown::None) return;
    for (const RefusedPath& way : solution_.refused) {
      if (refused_ == RefusedShown::Near && !is_near(way)) continue;
      std::vector<Vector2d> points;
      for (const Vector2d& p : points_of(way.arc.arc)) {
        if (!is_inside(p)) break;
        points.push_back(p);
      }
      if (points.size() < 2) continue;
      const bool to_target = way.arc.contact == kTargetContact;
      plane_curve(
          "polyline", points,
          fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"1\" stroke-opacity=\"{}\" "
                      "stroke-dasharray=\"4,3\"",
                      to_target ? "#777777" : "#999999", to_target ? "0.9" : "0.6"));
      std::string words = to_string(way.arc.reason);
      if (way.arc.obstacle >= 0) words += fmt::format(" {}", way.arc.obstacle);
      place(words, points);
    }
  }

  /// Notes a label beside the curve where it is free of obstacles and of the labels before.
  void place(const std::string& words, const std::vector<Vector2d>& points) {
    if (labels_.size() >= static_cast<std::size_t>(kMostLabels)) return;
    for (const double share : {0.6, 0.4, 0.8, 0.2}) {
      const Vector2d& p =
          points[static_cast<std::size_t>(share * static_cast<double>(points.size()))];
      const Vector2d at = pixel(p);
      const bool is_free = std::none_of(labels_.begin(), labels_.end(), [&](const Label& other) {
        return std::abs(other.at.x() - at.x()) < 60.0 && std::abs(other.at.y() - at.y()) < 12.0;
      });
      if (!is_free || plan_.scene.distance(p) * scale_ < 6.0) continue;
      labels_.push_back({at, words});
      return;
    }
  }

  void labels() {
    for (const Label& label : labels_) text(label.at, label.words, 9, "#707070");
  }

  void ends() {
    const Vector2d at = pixel(plan_.base.position), along = plan_.base.tangent();
    const Vector2d side(along.y(), along.x());  // on paper, where z points up
    const Vector2d ahead(along.x(), -along.y());
    line(at - 14.0 * Vector2d(side.x(), side.y()), at + 14.0 * Vector2d(side.x(), side.y()),
         "#222222", 3.0);
    line(at, at + 18.0 * ahead, "#222222", 1.5);
    text(at + Vector2d(8.0, 16.0), "base", 11, "#222222");
    if (!plan_.target) return;
    const Vector2d target = pixel(*plan_.target);
    line(target - Vector2d(7, 7), target + Vector2d(7, 7), "#c0392b", 2.0);
    line(target - Vector2d(7, -7), target + Vector2d(7, -7), "#c0392b", 2.0);
    text(target + Vector2d(10.0, -6.0), "target", 11, "#c0392b");
  }

  void scale_bar() {
    const double length = nice_step((bounds_.high - bounds_.low).maxCoeff() / 8.0);
    const Vector2d from(kLeft, kTop + plot_height_ + 30.0);
    const Vector2d to = from + Vector2d(scale_ * length, 0.0);
    line(from, to, "#222222", 2.0);
    for (const Vector2d& end : {from, to})
      line(end - Vector2d(0, 4), end + Vector2d(0, 4), "#222222", 2.0);
    text(to + Vector2d(8.0, 4.0),
         fmt::format("{:g} mm; body {:g} mm wide", 1e3 * length, 2e3 * plan_.options.body_radius),
         11, "#222222");
  }

  void words() {
    double y = kTop + plot_height_ + kBelow;
    const auto add = [&](const std::string& words, const char* fill) {
      text({kLeft - 40.0, y += kLine}, words, 11, fill);
    };
    for (std::size_t i = 0; i < solution_.paths.size() && i < kMostInWords; ++i) {
      const ContactPath& way = solution_.paths[i];
      std::string words = fmt::format("{}  L {:.4f} m", i + 1, way.length);
      if (way.wrap_angle)
        words += fmt::format(", {:.0f} deg round the object", *way.wrap_angle * 180.0 / pi);
      add(words, colour(i));
      std::string arcs = "    ";
      for (std::size_t j = 0; j < way.steps.size(); ++j) {
        const ContactStep& step = way.steps[j];
        arcs +=
            fmt::format("{}{}: k {:+.4f}, S {:.4f}", j == 0 ? "" : ";  ",
                        step_name(step.contact, step.side), step.arc.curvature, step.arc.length);
        if (j % 3 == 2 && j + 1 < way.steps.size()) {
          add(arcs, colour(i));
          arcs = "    ";
        }
      }
      add(arcs, colour(i));
    }
    if (solution_.paths.size() > kMostInWords)
      add(fmt::format("and {} more", solution_.paths.size() - kMostInWords), "#444444");
    if (solution_.paths.empty() && !solution_.deepest.empty())
      add("no solution; in grey the chain with most contacts", "#444444");
    std::string counts;
    for (int i = 0; i < kContactRefusalCount; ++i) {
      const long count = solution_.refusal_counts[static_cast<std::size_t>(i)];
      if (count > 0)
        counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ",
                              to_string(static_cast<ContactRefusal>(i)), count);
    }
    if (!counts.empty()) add(fmt::format("refused arcs: {}", counts), "#808080");
    height_ = y + kLine;
  }

  struct Label {
    Vector2d at;
    std::string words;
  };

  const PlanFile& plan_;
  const PlanResult& solution_;
  RefusedShown refused_;
  Bounds bounds_;
  double scale_ = 1.0;  // px per m
  double plot_width_ = 0.0, plot_height_ = 0.0, width_ = 0.0, height_ = 0.0;
  std::vector<Label> labels_;  // of refused arcs
};

}  // namespace

std::string plan_svg(const PlanFile& plan, const PlanResult& solution, RefusedShown refused) {
  return Drawing(plan, solution, refused).svg();
}

}  // namespace tendril::host
