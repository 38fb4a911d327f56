#include "tendril/rod/elastic_correction.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <utility>

#include "tendril/range.hpp"

using Eigen::Index;
using Eigen::Vector2d;
using Eigen::VectorXd;

namespace tendril {

namespace {

/// A change of length that weighs as much as a change of curvature by 1/m [m].
constexpr double kLengthWeight = 0.1;
/// Largest change of a curvature in one Newton step [1/m] and of the length [m].
constexpr double kCurvatureStep = 2.0, kLengthStep = 0.05;
/// Contacts get slightly more than the least force, so that rounding does not undo it.
constexpr double kForceReserve = 1.01;
constexpr double kSameLength = 1e-9;  ///< [m]
/// Steps along the path that are tried, in largest steps. Next to a new contact a larger step can
/// be the easier one: the force has a longer lever.
constexpr double kStepRatios[] = {1.0, 0.5, 0.25, 2.0, 4.0, 0.1, 0.05, 0.02};
constexpr double kCoarse = 4.0;  ///< steps where only the end counts, in those of `follow`
constexpr int kForceSteps = 8;   ///< in which a desired contact force is raised

void check(const ElasticCorrectionOptions& options) {
  constexpr char kName[] = "elastic correction options";
  require(kName, "position_tolerance", options.position_tolerance, kPositive, "m");
  require(kName, "path_step", options.path_step, kPositive, "m");
  require(kName, "least_path_step", options.least_path_step, kPositive, "m");
  require(kName, "curvature_limit", options.curvature_limit, kPositive, "1/m");
  require(kName, "least_contact_force", options.least_contact_force, kNotNegative, "N");
  require(kName, "max_iterations", options.max_iterations, {.low = 1.0});
  double begin = 0.0;
  for (const double end : options.section_ends) {
    require(kName, "section_ends", end, {.low = begin, .open_low = true}, "m");
    begin = end;
  }
}

double total_length(std::span<const PlanarArc> plan) {
  double sum = 0.0;
  for (const PlanarArc& arc : plan) sum += arc.length;
  return sum;
}

/// The plan's arc that holds arc length `l`; at a joint the one that ends there.
std::size_t arc_at(std::span<const PlanarArc> plan, double l, double& begin) {
  begin = 0.0;
  std::size_t i = 0;
  while (i + 1 < plan.size() && begin + plan[i].length < l) begin += plan[i++].length;
  return i;
}

}  // namespace

const char* to_string(CorrectionStatus status) noexcept {
  switch (status) {
    case CorrectionStatus::Corrected:
      return "corrected";
    case CorrectionStatus::NotReached:
      return "not reached";
    case CorrectionStatus::WeakContact:
      return "weak contact";
    case CorrectionStatus::NoEquilibrium:
      return "no equilibrium";
    case CorrectionStatus::InvalidInput:
      return "invalid input";
  }
  return "unknown";
}

ElasticCorrection::ElasticCorrection(PlanarScene scene, const PlanarPose& base,
                                     const ElasticRodOptions& rod,
                                     const ElasticCorrectionOptions& options)
    : rod_(std::move(scene), base, rod), options_(options) {
  check(options);
  sections_ = static_cast<Index>(options.section_ends.size()) + 1;
  double begin = 0.0;
  for (const double end : options.section_ends) {
    actuation_.push_back({.length = end - begin});
    begin = end;
  }
  actuation_.push_back({.length = rod.max_length});
  weight_.setOnes(sections_ + 1);
  weight_[sections_] = kLengthWeight;
}

RodSolution ElasticCorrection::equilibrium(const VectorXd& unknowns) noexcept {
  for (Index i = 0; i < sections_; ++i)
    actuation_[static_cast<std::size_t>(i)].curvature = unknowns[i];
  return rod_.solve(actuation_, unknowns[sections_]);
}

/// Residuals and their derivatives with respect to curvatures and length: tip first, then the
/// contacts that press too little. Forces count as the deflection that they would cause at the
/// tip of a cantilever of the contact's arc length; an open contact counts its gap as well.
int ElasticCorrection::linearize(const RodSolution& solution, const Vector2d& target,
                                 std::span<const PlannedContact> passed) {
  const Index most = 2 + static_cast<Index>(passed.size());
  jacobian_.setZero(most, sections_ + 1);
  residual_.setZero(most);
  residual_.head<2>() = target - solution.tip.position;
  int rows = 2;
  struct Row {
    int index;
    ContactState state;
    double compliance;
    Vector2d away;
  };
  std::vector<Row> weak;
  if (desired_force_ > 0.0) {
    for (const PlannedContact& contact : passed) {
      Row row{};
      row.state = contact_state(rod_, solution, contact, &row.index);
      if (row.state.force > desired_force_) continue;
      row.compliance = std::pow(std::max(row.state.arc_length, 0.01), 3) /
                       (3.0 * rod_.options().bending_stiffness);
      row.away = (rod_.pose_at(row.state.arc_length).position - contact.center).normalized();
      residual_[2 + static_cast<Index>(weak.size())] =
          row.compliance * (kForceReserve * desired_force_ - row.state.force) +
          (row.index < 0 ? row.state.gap : 0.0);
      weak.push_back(row);
    }
    rows += static_cast<int>(weak.size());
  }
  double begin = 0.0;
  for (Index i = 0; i < sections_; ++i) {
    const double end =
        i + 1 < sections_ ? options_.section_ends[static_cast<std::size_t>(i)] : rod_.length();
    rod_.differentiate(begin, end);
    jacobian_.col(i).head<2>() = rod_.position_rate(rod_.length());
    for (std::size_t w = 0; w < weak.size(); ++w)
      jacobian_(2 + static_cast<Index>(w), i) =
          weak[w].index >= 0 ? weak[w].compliance * rod_.force_rate(weak[w].index)
                             : -weak[w].away.dot(rod_.position_rate(weak[w].state.arc_length));
    begin = end;
  }
  jacobian_.col(sections_).head<2>() = solution.tip.tangent();
  return rows;
}

/// Newton's method from the rod's present shape: least-norm steps in the weighted unknowns, halved
/// until the residual falls.
CorrectedState ElasticCorrection::reach(VectorXd& unknowns, const Vector2d& target,
                                        std::span<const PlannedContact> passed) {
  CorrectedState state;
  state.target = target;
  RodSolution solution = equilibrium(unknowns);
  state.iterations = 1;
  const auto weak = [&](int rows) {
    return rows > 2 && residual_.segment(2, rows - 2).maxCoeff() > 0.0;
  };
  bool forces_met = true;
  int rows = 2;
  if (solution.converged()) {
    rows = linearize(solution, target, passed);
    double norm = residual_.head(rows).norm();
    for (int i = 0; i < options_.max_iterations; ++i) {
      forces_met = !weak(rows);
      const double position_error = residual_.head<2>().norm();
      if (position_error <= options_.position_tolerance && forces_met) break;

      const Eigen::MatrixXd scaled = jacobian_.topRows(rows) * weight_.asDiagonal();
      Eigen::MatrixXd normal = scaled * scaled.transpose();
      normal.diagonal().array() += 1e-12 * normal.trace();
      VectorXd step =
          weight_.asDiagonal() * (scaled.transpose() * normal.ldlt().solve(residual_.head(rows)));
      const double largest = std::max(step.head(sections_).cwiseAbs().maxCoeff() / kCurvatureStep,
                                      std::abs(step[sections_]) / kLengthStep);
      if (!std::isfinite(largest)) break;
      double scale = std::min(1.0, 1.0 / largest);
      rod_.save();
      bool accepted = false;
      VectorXd trial;
      for (int half = 0; half < 8 && !accepted; ++half, scale *= 0.5) {
        if (half > 0) rod_.restore();
        trial = unknowns + scale * step;
        if (trial.head(sections_).cwiseAbs().maxCoeff() > options_.curvature_limit) continue;
        solution = equilibrium(trial);
        ++state.iterations;
        if (!solution.converged()) continue;
        rows = linearize(solution, target, passed);
        accepted = residual_.head(rows).norm() < norm;
      }
      if (!accepted) {
        rod_.restore();
        solution = equilibrium(unknowns);
        rows = linearize(solution, target, passed);
        break;
      }
      unknowns = trial;
      norm = residual_.head(rows).norm();
    }
    forces_met = !weak(rows);
  }
  state.length = unknowns[sections_];
  state.curvatures.assign(unknowns.begin(), unknowns.begin() + sections_);
  state.tip = solution.tip;
  state.tip_error = (solution.tip.position - target).norm();
  state.contact_force = solution.contact_force();
  state.stability = rod_.stability();
  for (const PlannedContact& contact : passed)
    state.contacts.push_back(contact_state(rod_, solution, contact));
  state.shape = rod_.shape();
  state.status = !solution.converged()                           ? CorrectionStatus::NoEquilibrium
                 : state.tip_error > options_.position_tolerance ? CorrectionStatus::NotReached
                 : !forces_met                                   ? CorrectionStatus::WeakContact
                                                                 : CorrectionStatus::Corrected;
  return state;
}

std::vector<CorrectedState> ElasticCorrection::follow(std::span<const PlanarArc> plan,
                                                      std::span<const PlannedContact> contacts) {
  return advance(plan, contacts, options_.path_step);
}

std::vector<CorrectedState> ElasticCorrection::advance(std::span<const PlanarArc> plan,
                                                       std::span<const PlannedContact> contacts,
                                                       double path_step) {
  std::vector<CorrectedState> states;
  const double total = total_length(plan);
  if (plan.empty() || !kPositive.contains(total) || !(total < rod_.options().max_length))
    return states;
  for (const PlanarArc& arc : plan)
    if (!std::isfinite(arc.curvature) || !kPositive.contains(arc.length)) return states;

  // The first arc is free: the plan is exact.
  rod_.set_shape(plan.first(1));
  VectorXd unknowns = VectorXd::Constant(sections_ + 1, plan[0].curvature);
  double l = plan[0].length;
  unknowns[sections_] = l;
  VectorXd previous = unknowns;
  const auto passed_at = [&](double length) {
    double begin = 0.0;
    const std::size_t passed = arc_at(plan, length, begin);
    return contacts.first(std::min(passed, contacts.size()));
  };
  const auto target_at = [&](double length) {
    double begin = 0.0;
    const std::size_t i = arc_at(plan, length, begin);
    return plan[i].pose_at(length - begin).position;
  };
  states.push_back(reach(unknowns, target_at(l), passed_at(l)));
  states.back().path_length = l;
  previous = unknowns;

  double last_step = 0.0;
  while (l < total && states.back().corrected()) {
    const VectorXd here = unknowns;
    const RodShape shape = states.back().shape;
    double begin = 0.0;
    const std::size_t stage = arc_at(plan, l + kSameLength, begin);
    CorrectedState state;
    double step = 0.0;
    for (const double ratio : kStepRatios) {
      step = std::min(ratio * path_step, total - l);
      if (step < options_.least_path_step && step < total - l) break;
      rod_.set_curvatures(shape.curvatures, shape.exit_angle);
      // Predictor: the length grows by the step; the curvatures continue as before or, where a
      // contact has just been made, follow beam theory for a tip that is little ahead of its prop.
      unknowns = here;
      unknowns[sections_] = std::min(unknowns[sections_] + step, rod_.options().max_length);
      if (last_step > 0.0) {
        unknowns.head(sections_) += step / last_step * (here - previous).head(sections_);
      } else if (stage > 0) {
        const double lead = 2.0 * step / (plan[stage - 1].length + 2.0 * step);
        for (Index i = 0; i < sections_; ++i)
          unknowns[i] += lead * (plan[stage].curvature - unknowns[i]);
      }
      state = reach(unknowns, target_at(l + step), passed_at(l + step));
      if (state.corrected()) break;
      last_step = 0.0;
    }
    l += step;
    state.path_length = l;
    // The curvature changes its trend at a joint of the plan: no extrapolation across it.
    last_step = begin + plan[stage].length > l + kSameLength ? step : 0.0;
    previous = here;
    states.push_back(std::move(state));
  }
  if (options_.least_contact_force > 0.0 && states.back().corrected()) {
    for (int i = 1; i <= kForceSteps; ++i) {
      desired_force_ = options_.least_contact_force * i / kForceSteps;
      states.back() = reach(unknowns, target_at(total), passed_at(total));
      if (!states.back().corrected()) break;
    }
    desired_force_ = 0.0;
    states.back().path_length = total;
  }
  return states;
}

CorrectedState ElasticCorrection::solve(std::span<const PlanarArc> plan,
                                        std::span<const PlannedContact> contacts) {
  std::vector<CorrectedState> states = advance(plan, contacts, kCoarse * options_.path_step);
  if (!states.empty() && !states.back().corrected()) states = follow(plan, contacts);
  return states.empty() ? CorrectedState{} : std::move(states.back());
}

}  // namespace tendril
