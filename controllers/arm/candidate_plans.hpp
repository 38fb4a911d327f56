#pragma once

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "controllers/arm/contact_plan_options.hpp"
#include "controllers/interface/arm_controller.hpp"
#include "tendril/contact/contact_plan.hpp"
#include "tendril/contact/contact_problem.hpp"
#include "tendril/rod/elastic_plans.hpp"
#include "tendril/rod/elastic_replanner.hpp"
#include "tendril/rod/insertion.hpp"

namespace tendril {

/// Returns the arm as contact plans have it: without variable lengths.
[[nodiscard]] FedArm fed_arm(const ContinuumRobot& robot, double guide_length, double body_radius);

/// Desired curvature [1/m], length past the guide [m] and their rates.
struct PlanActuation {
  double curvature = 0.0, length = 0.0, curvature_rate = 0.0, length_rate = 0.0;
};

/// Frame of planar plans: the xz-plane of the arm's base, with the origin at the end of the guide.
struct PlanFrame {
  PlanarPose base;  ///< of the plans
  double guide_length = 0.0;

  [[nodiscard]] Eigen::Vector3d to_base(const Eigen::Vector2d& point) const noexcept;
  [[nodiscard]] Eigen::Vector2d to_plan(const Eigen::Vector3d& p_B) const noexcept;
};

/// A plan with its command list, and the elastic model that corrects it.
struct CandidatePlan {
  /// A row of the command list.
  struct Row {
    double time, length, curvature, path_length;
    unsigned pressing;  ///< bit i: contact i presses, by the elastic model
  };

  ContactPlan plan;
  std::vector<PlanarArc> tip_path;
  std::vector<Row> list;
  std::optional<ElasticReplanner> replanner;
  CorrectedState start_state;  ///< of the replanner: at the first contact, or at the end

  /// Interpolates the command list; past its ends it is constant.
  [[nodiscard]] PlanActuation actuation_at(double time) const noexcept;
  [[nodiscard]] double path_length_at(double time) const noexcept;
  [[nodiscard]] Eigen::Vector2d planned_tip(double path_length) const noexcept;
  /// Contacts that press when the tip has moved by `path_length`, one bit for each.
  [[nodiscard]] unsigned pressing_at(double path_length) const noexcept;
};

/// The plans that the controller tries, one after the other: the one that is given, or those that
/// lead to the target among the geoms of the scene, each with its command list.
class CandidatePlans {
 public:
  /// Plans. Throws ModelError naming the setting.
  CandidatePlans(const ArmContext& context, const ContactPlanOptions& options);

  [[nodiscard]] int size() const noexcept { return static_cast<int>(candidates_.size()); }
  [[nodiscard]] CandidatePlan& operator[](int i) noexcept {
    return candidates_[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] const CandidatePlan& operator[](int i) const noexcept {
    return candidates_[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] const CandidatePlan& first() const noexcept { return candidates_.front(); }
  [[nodiscard]] const PlanFrame& frame() const noexcept { return frame_; }
  /// Largest number of contacts of a plan.
  [[nodiscard]] std::size_t max_contacts() const noexcept;

 private:
  [[nodiscard]] std::vector<ContactPlan> read_or_plan(const ArmContext& context) const;
  void add_elastic(const ArmContext& context, const std::vector<ContactPlan>& plans,
                   const InsertionOptions& insertion);
  void add(const ContactPlan& plan, const std::vector<PlanarArc>& tip_path,
           const std::vector<InsertionRow>& list);
  void require_length() const;

  ContactPlanOptions options_;
  FedArm arm_;
  PlanFrame frame_;
  std::vector<CandidatePlan> candidates_;
};

}  // namespace tendril
