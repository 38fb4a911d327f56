#include "tendril/contact/grasp.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tendril/contact/contact_tree.hpp"
#include "tendril/range.hpp"

namespace tendril {
namespace {

using Eigen::Vector2d;
using std::numbers::pi;

constexpr double kSelfTolerance = 1e-9;  // [m]
constexpr double kMarchRatio = 0.02;     // smallest step, in body radii
constexpr int kBisections = 40;
constexpr double kAngleTolerance = 1e-9;  // [rad]
constexpr std::size_t kStepsPerSolution = 16;

double cross(const Vector2d& a, const Vector2d& b) { return a.x() * b.y() - a.y() * b.x(); }

/// 1: counter-clockwise in the (x, z) plane, -1: clockwise, 0: not convex.
int convex_orientation(const Polygon& polygon) {
  const auto& corners = polygon.corners;
  const std::size_t n = corners.size();
  int orientation = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double bend =
        cross(corners[(i + 1) % n] - corners[i], corners[(i + 2) % n] - corners[(i + 1) % n]);
    if (bend == 0.0) continue;
    const int sign = bend > 0.0 ? 1 : -1;
    if (orientation != 0 && sign != orientation) return 0;
    orientation = sign;
  }
  return orientation;
}

void check(const PlanarScene& scene, const GraspGoal& goal) {
  if (goal.object < 0 || goal.object >= scene.size())
    refuse("grasp", "object", goal.object,
           "the index of an obstacle, below " + std::to_string(scene.size()));
  const Polygon* polygon = std::get_if<Polygon>(&scene.obstacle(goal.object));
  if (polygon != nullptr && convex_orientation(*polygon) == 0)
    refuse("grasp", "object", goal.object, "a disc or a convex polygon");
  require("grasp", "wrap_angle", goal.wrap_angle,
          {.low = 0.0, .high = 2.0 * pi, .open_low = true, .open_high = true}, "rad");
}

/// A disc that holds all backbones of a body in contact with the object.
Disc surroundings(const PlanarObstacle& object, double body_radius) {
  const Polygon* polygon = std::get_if<Polygon>(&object);
  Disc around = polygon == nullptr ? std::get<Disc>(object) : Disc{polygon->corners[0], 0.0};
  if (polygon != nullptr)
    for (const Vector2d& corner : polygon->corners)
      around.radius = std::max(around.radius, (corner - around.center).norm());
  around.radius += body_radius;
  return around;
}

/// Distance of the body's point at arc length `s` of its last arc from the rest of the body,
/// without the portion that leads to it, back to where that is first 2 r away. Infinite without
/// such a rest.
double self_distance(std::span<const ContactStep> steps, double s, double body_radius) noexcept {
  const PlanarArc& last = steps.back().arc;
  const Vector2d point = last.pose_at(s).position;
  const double apart = 2.0 * body_radius;
  const double march = std::max(kMarchRatio * body_radius, kSelfTolerance);
  double nearest = std::numeric_limits<double>::infinity();
  bool away = false;  // past the portion that leads to the point
  for (std::size_t i = steps.size(); i-- > 0;) {
    PlanarArc arc = steps[i].arc;
    if (i + 1 == steps.size()) arc.length = s;
    while (!away) {  // shorten the arc from its end until that is 2 r away
      const double d = (arc.end().position - point).norm();
      if (d >= apart) {
        away = true;
      } else if (arc.length <= 0.0) {
        break;
      } else {
        arc.length = std::max(0.0, arc.length - std::max(apart - d, march));
      }
    }
    if (away) nearest = std::min(nearest, arc.distance(point));
  }
  return nearest;
}

}  // namespace

double self_clear_length(std::span<const ContactStep> steps, double body_radius) noexcept {
  const double length = steps.back().arc.length, apart = 2.0 * body_radius - kSelfTolerance;
  if (body_radius <= 0.0) return length;
  const double march = kMarchRatio * body_radius;
  double clear = 0.0;
  for (double s = 0.0;; s = std::min(length, s)) {
    const double d = self_distance(steps, s, body_radius);
    if (d < apart) {
      double overlaps = s;
      for (int i = 0; i < kBisections; ++i) {
        const double middle = 0.5 * (clear + overlaps);
        (self_distance(steps, middle, body_radius) < apart ? overlaps : clear) = middle;
      }
      return clear;
    }
    clear = s;
    if (s >= length) return length;
    s += std::max(std::isfinite(d) ? d - apart : 0.0, march);
  }
}

const char* to_string(GraspEnd end) noexcept {
  return end == GraspEnd::Complete ? "complete" : "length_limit";
}

GraspPlanner::GraspPlanner(const ContactPlannerOptions& options)
    : tree_(std::make_unique<ContactTree>("grasp", options)) {
  const auto count = static_cast<std::size_t>(options.max_solutions);
  holds_.reserve(count);
  solutions_.reserve(count);
  steps_.reserve(count * kStepsPerSolution);
}

GraspPlanner::~GraspPlanner() = default;
GraspPlanner::GraspPlanner(GraspPlanner&&) noexcept = default;
GraspPlanner& GraspPlanner::operator=(GraspPlanner&&) noexcept = default;

const ContactPlannerOptions& GraspPlanner::options() const noexcept { return tree_->options(); }

std::vector<ContactStep> GraspPlanner::chain_steps(int chain) const {
  std::vector<ContactStep> steps;
  tree_->append_steps(chain, steps);
  return steps;
}

void GraspPlanner::keep(const Hold& hold) {
  if (holds_.size() == static_cast<std::size_t>(options().max_solutions)) {
    tree_->set_exhausted();
    return;
  }
  holds_.push_back(hold);
}

int GraspPlanner::try_wrap(int chain, const PlanarArc& arc, BodySide side, double wrapped,
                           bool waive_bend, bool& full) {
  ContactTree& tree = *tree_;
  PlanarArc added = arc;
  added.length = std::min(arc.length, options().max_length - tree.length(chain));
  full = added.length == arc.length;
  const int sigma = static_cast<int>(side);
  const int longer =
      tree.try_arc(chain, added, kWrapped, sigma,
                   waive_bend ? ContactTree::BendLimit::Waived : ContactTree::BendLimit::Applies);
  if (longer < 0) return -1;
  body_.clear();
  tree.append_steps(longer, body_);
  const double clear = self_clear_length(body_, options().body_radius);
  if (clear >= added.length) return longer;
  tree.refuse(chain, added, kWrapped, sigma, ContactRefusal::SelfContact);
  largest_wrap_angle_ = std::max(largest_wrap_angle_, wrapped + sigma * added.curvature * clear);
  return -1;
}

void GraspPlanner::reach_disc(int chain, const Disc& disc, BodySide side, double wrap_angle) {
  ContactTree& tree = *tree_;
  const int at_object = tree.try_tangent(chain, disc, kObjectContact, side);
  if (at_object < 0) return;
  const double c = disc.radius + options().body_radius;
  const PlanarPose pose = tree.end_pose(at_object);
  if (!(c > 0.0)) {
    tree.refuse(at_object, {pose, 0.0, 0.0}, kWrapped, static_cast<int>(side),
                ContactRefusal::Curvature);
    return;
  }
  bool full = false;
  const int chain_end =
      try_wrap(at_object, {pose, sign_of(side) / c, c * wrap_angle}, side, 0.0, true, full);
  if (chain_end < 0) return;
  const double length = tree.length(chain_end) - tree.length(at_object);
  keep({chain_end, tree.step_count(at_object), full ? wrap_angle : length / c,
        full ? GraspEnd::Complete : GraspEnd::LengthLimit});
}

void GraspPlanner::reach_polygon(int chain, const Polygon& polygon, BodySide side,
                                 double wrap_angle) {
  ContactTree& tree = *tree_;
  const std::size_t n = polygon.corners.size();
  const double sigma = sign_of(side);
  // With the polygon on its right (sigma = +1) the body runs around it clockwise.
  const std::size_t next = convex_orientation(polygon) * sigma > 0.0 ? n - 1 : 1;
  for (std::size_t first = 0; first < n && !tree.exhausted(); ++first) {
    const int at_object =
        tree.try_tangent(chain, {polygon.corners[first], 0.0}, kObjectContact, side);
    int chain_end = at_object;
    double wrapped = 0.0;
    bool full = true;
    for (std::size_t corner = (first + next) % n; chain_end >= 0; corner = (corner + next) % n) {
      const PlanarPose pose = tree.end_pose(chain_end);
      const auto k = tangency_curvature(pose, polygon.corners[corner], options().body_radius, side);
      PlanarArc arc{pose, k.value_or(0.0), 0.0};
      if (!k || !(sigma * *k > 0.0)) {  // it would bend away from the object
        tree.refuse(chain_end, arc, kWrapped, static_cast<int>(side), ContactRefusal::NoArc);
        chain_end = -1;
        break;
      }
      arc.length = 2.0 * pi / std::abs(*k);
      arc.length = arc.nearest_parameter(polygon.corners[corner]);
      const double desired = (wrap_angle - wrapped) / std::abs(*k);
      const bool ends = desired <= arc.length;
      if (ends) arc.length = desired;
      const double before = tree.length(chain_end);
      chain_end = try_wrap(chain_end, arc, side, wrapped, false, full);
      if (chain_end < 0) break;
      wrapped += std::abs(*k) * (tree.length(chain_end) - before);
      if (ends || !full || wrap_angle - wrapped < kAngleTolerance) break;
    }
    if (chain_end < 0) continue;
    keep({chain_end, tree.step_count(at_object), full ? wrap_angle : wrapped,
          full ? GraspEnd::Complete : GraspEnd::LengthLimit});
  }
}

/// The holds as solutions, sorted.
void GraspPlanner::collect_solutions(const PlanarScene& scene) {
  ContactTree& tree = *tree_;
  for (const Hold& hold : holds_) {
    const std::size_t first = steps_.size();
    const auto count = static_cast<std::size_t>(tree.step_count(hold.chain));
    if (first + count > steps_.capacity()) {  // the earlier solutions view this memory
      tree.set_exhausted();
      break;
    }
    tree.append_steps(hold.chain, steps_);
    GraspSolution solution{.steps = {steps_.data() + first, count},
                           .approach_steps = hold.approach_steps,
                           .wrap_angle = hold.wrap_angle,
                           .end = hold.end,
                           .length = tree.length(hold.chain),
                           .max_curvature = tree.max_curvature(hold.chain),
                           .min_clearance = std::numeric_limits<double>::infinity()};
    for (const ContactStep& step : solution.steps)
      solution.min_clearance =
          std::min(solution.min_clearance, scene.clearance(step.arc, options().body_radius));
    solutions_.push_back(solution);
  }
  std::sort(solutions_.begin(), solutions_.end(),
            [](const GraspSolution& a, const GraspSolution& b) {
              return solution_before(a.steps, a.length, a.max_curvature, b.steps, b.length,
                                     b.max_curvature);
            });
}

const GraspResult& GraspPlanner::plan(const PlanarScene& scene,
                                      std::span<const ContactPoint> contacts,
                                      const PlanarPose& base, const GraspGoal& goal) {
  ContactTree& tree = *tree_;
  result_ = {};
  holds_.clear();
  solutions_.clear();
  steps_.clear();
  largest_wrap_angle_ = 0.0;
  check(scene, goal);
  const PlanarObstacle& object = scene.obstacle(goal.object);
  const Polygon* polygon = std::get_if<Polygon>(&object);
  tree.begin(scene, contacts, base, surroundings(object, options().body_radius));
  if (scene.distance(base.position) < options().body_radius - options().tolerance) {
    result_.status = ContactPlannerStatus::BaseInObstacle;
    return result_;
  }

  tree.grow([&](int chain) {
    if (tree.step_count(chain) < options().min_contacts) return;
    for (const BodySide side : {BodySide::Positive, BodySide::Negative}) {
      if (goal.side && *goal.side != side) continue;
      if (polygon != nullptr) {
        reach_polygon(chain, *polygon, side, goal.wrap_angle);
      } else {
        reach_disc(chain, std::get<Disc>(object), side, goal.wrap_angle);
      }
    }
  });

  collect_solutions(scene);
  result_.solutions = solutions_;
  result_.refused = tree.refused();
  result_.refusal_counts = tree.refusal_counts();
  result_.arcs_tried = tree.arcs_tried();
  result_.chains = tree.chains();
  result_.largest_wrap_angle = largest_wrap_angle_;
  result_.status = tree.exhausted()     ? ContactPlannerStatus::Partial
                   : solutions_.empty() ? ContactPlannerStatus::NoSolution
                                        : ContactPlannerStatus::Solved;
  return result_;
}

}  // namespace tendril
