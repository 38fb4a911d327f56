#include "tendril/rod/spatial_planner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tendril/range.hpp"

namespace tendril {
namespace {

using Eigen::Index;
using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector2d;
using Eigen::Vector3d;

constexpr double kLengthScale = 0.05;  // a change of the length by this weighs as 1 1/m [m]
constexpr double kDamping = 0.002;     // of a whole step [m]; of half of one, a quarter
constexpr double kLargestTurn = 1.5;   // change of a curvature in a step [1/m]
constexpr double kLeastGain = 0.1;     // of the desired approach to the aim
constexpr double kShortestStep = 0.1;  // of path_step
constexpr int kMaxRandomSteps = 10;
constexpr int kRounds = 3;  // of a step, each with the limits that the ones before have met

Vector3d point_in_ball(SplitMix64& random, const Vector3d& center, double radius) noexcept {
  while (true) {
    const double x = random.uniform(-1.0, 1.0), y = random.uniform(-1.0, 1.0),
                 z = random.uniform(-1.0, 1.0);
    if (x * x + y * y + z * z <= 1.0) return center + radius * Vector3d(x, y, z);
  }
}

/// The index of the first node for which `distance` is least; 0: none has a number.
template <class Node, class Distance>
int least(const std::vector<Node>& nodes, Distance distance) {
  std::size_t found = 0;
  double shortest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const double d = distance(nodes[i]);
    if (d >= shortest) continue;
    shortest = d;
    found = i;
  }
  return static_cast<int>(found);
}

constexpr const char* kName = "spatial planner options";

}  // namespace

const char* to_string(SpatialPlannerStatus status) noexcept {
  switch (status) {
    case SpatialPlannerStatus::Reached:
      return "reached";
    case SpatialPlannerStatus::NotReached:
      return "not_reached";
    case SpatialPlannerStatus::StartInObstacle:
      return "start_in_obstacle";
    case SpatialPlannerStatus::TargetInObstacle:
      return "target_in_obstacle";
    case SpatialPlannerStatus::OutOfReach:
      return "out_of_reach";
  }
  return "";
}

SpatialPlanner::SpatialPlanner(const SpatialBody& body, Obstacles obstacles,
                               const SpatialPlannerOptions& options)
    : rod_(body, std::move(obstacles)), options_(options) {
  require(kName, "position_tolerance", options.position_tolerance, kPositive, "m");
  require(kName, "path_step", options.path_step, kPositive, "m");
  if (!(options.largest_motion > 1.0))
    refuse(kName, "largest_motion", options.largest_motion, "> 1", "");
  if (options.max_equilibria < 1)
    refuse(kName, "max_equilibria", options.max_equilibria, ">= 1", "");
}

SpatialPlan SpatialPlanner::plan(const Vector3d& target) {
  const double reach = rod_.body().length(), radius = rod_.body().radius;
  SpatialPlan plan;
  nodes_.clear();
  equilibria_ = 0;
  SpatialPose start;
  start.actuation = rod_.reset();
  start.shape = rod_.shape();
  const SpatialEquilibrium straight = rod_.solve(start.actuation);
  start.tip = straight.tip;
  const auto ended = [&](SpatialPlannerStatus status) {
    plan.status = status;
    plan.equilibria = equilibria_;
    return plan;
  };
  if (!straight.converged) return ended(SpatialPlannerStatus::StartInObstacle);
  if (rod_.obstacles().nearest(target).distance < radius)
    return ended(SpatialPlannerStatus::TargetInObstacle);
  if (target.norm() > reach + options_.position_tolerance)
    return ended(SpatialPlannerStatus::OutOfReach);

  nodes_.push_back({std::move(start), -1});
  SplitMix64 random(options_.seed);
  int best = 0;
  const auto distance = [&](int i) {
    return (nodes_[static_cast<std::size_t>(i)].pose.tip - target).norm();
  };
  const auto approach = [&](int from) {
    const int end = steer(from, target, true);
    if (distance(end) < distance(best)) best = end;
  };
  approach(0);
  for (int round = 0; equilibria_ < options_.max_equilibria; ++round) {
    if (distance(best) <= options_.position_tolerance) break;
    if (round % 2 == 0) {
      const SpatialActuation actuation = drawn(random);
      approach(drive(nearest(actuation), actuation));
    } else {
      const Vector3d aim = point_in_ball(random, round % 4 == 1 ? target : Vector3d::Zero(),
                                         round % 4 == 1 ? 0.4 * reach : reach);
      approach(steer(nearest(aim), aim, false));
    }
  }
  plan.tip_error = distance(best);
  for (int i = best; i >= 0; i = nodes_[static_cast<std::size_t>(i)].parent)
    plan.poses.push_back(nodes_[static_cast<std::size_t>(i)].pose);
  std::reverse(plan.poses.begin(), plan.poses.end());
  return ended(plan.tip_error <= options_.position_tolerance ? SpatialPlannerStatus::Reached
                                                             : SpatialPlannerStatus::NotReached);
}

/// The node whose tip is nearest to the aim.
int SpatialPlanner::nearest(const Vector3d& aim) const {
  return least(nodes_, [&](const auto& node) { return (node.pose.tip - aim).norm(); });
}

/// Moves the tip from that of a node towards the aim, a node for each step; returns the last one.
int SpatialPlanner::steer(int from, const Vector3d& aim, bool is_target) {
  resume(from);
  for (int steps = 0; is_target || steps < kMaxRandomSteps; ++steps) {
    const MatrixXd rates = rod_.tip_rates();
    const SpatialPose before = nodes_[static_cast<std::size_t>(from)].pose;
    const double distance = (aim - before.tip).norm();
    if (distance <= options_.position_tolerance) break;
    bool moved = false;
    for (double part = 1.0; part >= kShortestStep && !moved; part *= 0.5) {
      if (equilibria_ >= options_.max_equilibria) return from;
      const double length = part * std::min(distance, options_.path_step);
      const Vector3d motion = (length / distance) * (aim - before.tip);
      moved = step(from, changed(before.actuation, rates, motion, part * part * kDamping),
                   {.aim = aim, .within = distance - kLeastGain * length});
    }
    if (!moved) break;
    from = static_cast<int>(nodes_.size()) - 1;
  }
  return from;
}

/// Moves the body from a node towards an actuation, a node for each step.
int SpatialPlanner::drive(int from, const SpatialActuation& aim) {
  resume(from);
  for (int steps = 0; steps < kMaxRandomSteps && equilibria_ < options_.max_equilibria; ++steps) {
    const SpatialPose& before = nodes_[static_cast<std::size_t>(from)].pose;
    const SpatialActuation change = aim - before.actuation;
    const double motion = (rod_.tip_rates() * change).norm() / options_.path_step;
    const double turn = change.head(change.size() - 1).cwiseAbs().maxCoeff() / kLargestTurn;
    const double feed = std::abs(change.tail<1>().value()) / (2.0 * options_.path_step);
    const double parts = std::max({1.0, motion, turn, feed});
    if (!step(from, before.actuation + change / parts, {})) break;
    from = static_cast<int>(nodes_.size()) - 1;
    if (parts == 1.0) break;
  }
  return from;
}

/// An actuation uniform within the limits.
SpatialActuation SpatialPlanner::drawn(SplitMix64& random) const {
  const SpatialBody& body = rod_.body();
  SpatialActuation drawn(rod_.actuation_size());
  for (std::size_t k = 0; k < body.sections.size(); ++k) {
    const double u = body.sections[k].max_curvature * std::sqrt(random.uniform());
    const double angle = random.uniform(0.0, 2.0 * std::numbers::pi);
    drawn.segment<2>(2 * static_cast<Index>(k)) = u * Vector2d(std::cos(angle), std::sin(angle));
  }
  drawn[drawn.size() - 1] = random.uniform(body.start_length, body.length());
  return drawn;
}

/// The node with the actuation nearest to the aim.
int SpatialPlanner::nearest(const SpatialActuation& aim) const {
  const Index last = aim.size() - 1;
  return least(nodes_, [&](const auto& node) {
    const SpatialActuation away = aim - node.pose.actuation;
    return away.head(last).squaredNorm() + away[last] * away[last] / (kLengthScale * kLengthScale);
  });
}

void SpatialPlanner::resume(int node) {
  const SpatialPose& pose = nodes_[static_cast<std::size_t>(node)].pose;
  rod_.set_shape(pose.shape);
  rod_.solve(pose.actuation);
  ++equilibria_;
  before_.assign(rod_.nodes().begin(), rod_.nodes().end());
}

/// Changes the actuation of a node; adds a node if it is a valid one, with its tip near the aim.
bool SpatialPlanner::step(int from, const SpatialActuation& actuation, const Approach& approach) {
  SpatialPose pose;
  pose.actuation = actuation;
  rod_.set_shape(nodes_[static_cast<std::size_t>(from)].pose.shape);
  const SpatialEquilibrium found = rod_.solve(actuation);
  ++equilibria_;
  if (!found.converged || (approach.aim - found.tip).norm() > approach.within) return false;
  double largest = 0.0;
  for (std::size_t i = 0; i < before_.size(); ++i)
    largest = std::max(largest, (rod_.nodes()[i] - before_[i]).norm());
  if (largest > options_.largest_motion * options_.path_step) return false;
  pose.shape = rod_.shape();
  pose.tip = found.tip;
  for (const SpatialContact& contact : rod_.contacts()) pose.contact_force += contact.force;
  pose.contacts = static_cast<int>(rod_.contacts().size());
  nodes_.push_back({std::move(pose), from});
  before_.assign(rod_.nodes().begin(), rod_.nodes().end());
  return true;
}

/// The least change of the actuation, within the limits, that should move the tip by `motion`.
SpatialActuation SpatialPlanner::changed(const SpatialActuation& actuation, const MatrixXd& rates,
                                         const Vector3d& motion, double damping) const {
  const std::vector<SpatialSection>& sections = rod_.body().sections;
  const Index last = actuation.size() - 1;
  MatrixXd weights = MatrixXd::Identity(last + 1, last + 1);
  weights(last, last) = kLengthScale * kLengthScale;
  SpatialActuation next = actuation;
  for (int round = 0; round < kRounds; ++round) {
    const Vector3d missing = motion - rates * (next - actuation);
    const Matrix3d normal =
        rates * weights * rates.transpose() + damping * damping * Matrix3d::Identity();
    Eigen::VectorXd change = weights * rates.transpose() * normal.ldlt().solve(missing);
    const double turn = change.head(last).cwiseAbs().maxCoeff() / kLargestTurn;
    const double feed = std::abs(change[last]) / (2.0 * options_.path_step);
    next += change / std::max({1.0, turn, feed});
    bool limited = false;
    const double length = std::clamp(next[last], rod_.body().start_length, rod_.body().length());
    if (length != next[last]) {
      next[last] = length;
      weights(last, last) = 0.0;
      limited = true;
    }
    for (std::size_t k = 0; k < sections.size(); ++k) {
      auto u = next.segment<2>(2 * static_cast<Index>(k));
      if (u.norm() <= sections[k].max_curvature) continue;
      const Vector2d along = u.normalized();
      u = sections[k].max_curvature * along;
      weights.block<2, 2>(2 * static_cast<Index>(k), 2 * static_cast<Index>(k)) -=
          along * along.transpose() *
          (along.transpose() *
           weights.block<2, 2>(2 * static_cast<Index>(k), 2 * static_cast<Index>(k)) * along)
              .value();
      limited = true;
    }
    if (!limited) break;
  }
  return next;
}

}  // namespace tendril
