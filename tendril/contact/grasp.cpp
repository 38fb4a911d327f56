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
constexpr double kMarchShare = 0.02;     // smallest step, in body radii
constexpr int kBisections = 40;
constexpr double kAngleTolerance = 1e-9;  // [rad]
constexpr std::size_t kStepsPerSolution = 16;

double cross(const Vector2d& a, const Vector2d& b) { return a.x() * b.y() - a.y() * b.x(); }

/// 1: counter-clockwise in the (x, z) plane, -1: clockwise, 0: not convex.
int convex_turn(const Polygon& polygon) {
  const auto& corners = polygon.corners;
  const std::size_t n = corners.size();
  int turn = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double bend =
        cross(corners[(i + 1) % n] - corners[i], corners[(i + 2) % n] - corners[(i + 1) % n]);
    if (bend == 0.0) continue;
    const int sign = bend > 0.0 ? 1 : -1;
    if (turn != 0 && sign != turn) return 0;
    turn = sign;
  }
  return turn;
}

/// How far the body at arc length `s` of its last arc is from the rest of itself, but for the part
/// that leads to it: up to where that is first 2 r away. Infinite when there is no such rest.
double self_distance(std::span<const ContactStep> steps, double s, double body_radius) noexcept {
  const PlanarArc& last = steps.back().arc;
  const Vector2d point = last.pose_at(s).position;
  const double apart = 2.0 * body_radius;
  const double march = std::max(kMarchShare * body_radius, kSelfTolerance);
  double nearest = std::numeric_limits<double>::infinity();
  bool away = false;  // whether the part looked at is beyond the one that leads to the point
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
  const double march = kMarchShare * body_radius;
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

int GraspPlanner::lay(int chain, const PlanarArc& arc, BodySide side, double rotated,
                      bool waive_bend, bool& full) {
  ContactTree& tree = *tree_;
  PlanarArc laid = arc;
  laid.length = std::min(arc.length, options().max_length - tree.length(chain));
  full = laid.length == arc.length;
  const int sigma = static_cast<int>(side);
  const int longer =
      tree.try_arc(chain, laid, kWrapped, sigma,
                   waive_bend ? ContactTree::BendLimit::Waived : ContactTree::BendLimit::Applies);
  if (longer < 0) return -1;
  body_.clear();
  tree.append_steps(longer, body_);
  const double clear = self_clear_length(body_, options().body_radius);
  if (clear >= laid.length) return longer;
  tree.refuse(chain, laid, kWrapped, sigma, ContactRefusal::SelfContact);
  largest_wrap_angle_ = std::max(largest_wrap_angle_, rotated + sigma * laid.curvature * clear);
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
  const int hug = lay(at_object, {pose, sign_of(side) / c, c * wrap_angle}, side, 0.0, true, full);
  if (hug < 0) return;
  const double laid = tree.length(hug) - tree.length(at_object);
  keep({hug, tree.step_count(at_object), full ? wrap_angle : laid / c,
        full ? GraspEnd::Complete : GraspEnd::LengthLimit});
}

void GraspPlanner::reach_polygon(int chain, const Polygon& polygon, BodySide side,
                                 double wrap_angle) {
  ContactTree& tree = *tree_;
  const std::size_t n = polygon.corners.size();
  const double sigma = sign_of(side);
  // With the polygon on its right (sigma = +1) the body goes round it clockwise.
  const std::size_t next = convex_turn(polygon) * sigma > 0.0 ? n - 1 : 1;
  for (std::size_t first = 0; first < n && !tree.exhausted(); ++first) {
    const int at_object =
        tree.try_tangent(chain, {polygon.corners[first], 0.0}, kObjectContact, side);
    int hug = at_object;
    double rotated = 0.0;
    bool full = true;
    for (std::size_t corner = (first + next) % n; hug >= 0; corner = (corner + next) % n) {
      const PlanarPose pose = tree.end_pose(hug);
      const auto k = tangency_curvature(pose, polygon.corners[corner], options().body_radius, side);
      PlanarArc arc{pose, k.value_or(0.0), 0.0};
      if (!k || !(sigma * *k > 0.0)) {  // it would turn away from the object
        tree.refuse(hug, arc, kWrapped, static_cast<int>(side), ContactRefusal::NoArc);
        hug = -1;
        break;
      }
      arc.length = 2.0 * pi / std::abs(*k);
      arc.length = arc.nearest_parameter(polygon.corners[corner]);
      const double desired = (wrap_angle - rotated) / std::abs(*k);
      const bool ends = desired <= arc.length;
      if (ends) arc.length = desired;
      const double before = tree.length(hug);
      hug = lay(hug, arc, side, rotated, false, full);
      if (hug < 0) break;
      rotated += std::abs(*k) * (tree.length(hug) - before);
      if (ends || !full || wrap_angle - rotated < kAngleTolerance) break;
    }
    if (hug < 0) continue;
    keep({hug, tree.step_count(at_object), full ? wrap_angle : rotated,
          full ? GraspEnd::Complete : GraspEnd::LengthLimit});
  }
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
  if (goal.object < 0 || goal.object >= scene.size())
    refuse("grasp", "object", goal.object,
           "the index of an obstacle, below " + std::to_string(scene.size()));
  const PlanarObstacle& object = scene.obstacle(goal.object);
  const Polygon* polygon = std::get_if<Polygon>(&object);
  if (polygon != nullptr && convex_turn(*polygon) == 0)
    refuse("grasp", "object", goal.object, "a disc or a convex polygon");
  require("grasp", "wrap_angle", goal.wrap_angle,
          {.low = 0.0, .high = 2.0 * pi, .open_low = true, .open_high = true}, "rad");
  Disc around = polygon == nullptr ? std::get<Disc>(object) : Disc{polygon->corners[0], 0.0};
  if (polygon != nullptr)
    for (const Vector2d& corner : polygon->corners)
      around.radius = std::max(around.radius, (corner - around.centre).norm());
  around.radius += options().body_radius;
  tree.begin(scene, contacts, base, around);
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
