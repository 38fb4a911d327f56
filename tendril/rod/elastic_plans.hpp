#pragma once

#include <limits>
#include <span>
#include <vector>

#include "tendril/contact/contact_plan.hpp"
#include "tendril/rod/elastic_correction.hpp"

namespace tendril {

/// A path of an elastic body to a target in contact with obstacles: a plan, what the tip follows,
/// and the actuation that makes it do so.
struct ElasticPlan {
  ContactPlan plan;
  double passing_clearance = 0.0;      ///< of the tip to the planned contacts [m]
  std::vector<PlanarArc> tip_path;     ///< the plan's arcs, led past the contacts at that clearance
  std::vector<CorrectedState> states;  ///< along the tip's path, the last one at the target

  [[nodiscard]] double path_length() const noexcept;    ///< of the tip's path [m]
  [[nodiscard]] double largest_force() const noexcept;  ///< sum over the contacts, on the way [N]
};

/// The path of a tip past the planned contacts at a distance of `clearance` from each, to the
/// target. Empty if there is none.
[[nodiscard]] std::vector<PlanarArc> passing_path(const PlanarPose& base,
                                                  std::span<const PlannedContact> contacts,
                                                  const Eigen::Vector2d& target, double clearance);

struct CorrectedPlansOptions {
  ElasticRodOptions rod{};           ///< max_length and element_length follow from the paths
  double passing_clearance = 0.008;  ///< largest; less where there is less room [m], >= 0
  double max_length = std::numeric_limits<double>::infinity();  ///< of the body [m]
  int max_candidates = 3;                                       ///< kept, >= 1
  int max_corrections = 12;  ///< tried: the bound of the work, >= 1
};

struct CorrectedPlans {
  std::vector<ElasticPlan> plans;
  CorrectionStatus last = CorrectionStatus::InvalidInput;  ///< of the correction tried last
  ElasticRodOptions rod{};                                 ///< of all of them
};

/// The plans for which an elastic correction exists, in their order, each passing its contacts at
/// the clearance that leaves most room; then the same at the other ones. All plans have one base,
/// target and scene. Deterministic. Throws as the correction does.
[[nodiscard]] CorrectedPlans corrected_plans(std::span<const ContactPlan> plans,
                                             const CorrectedPlansOptions& options = {});

}  // namespace tendril
