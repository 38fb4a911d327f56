#pragma once

#include <Eigen/Core>
#include <vector>

#include "tendril/mobile/configuration.hpp"
#include "tendril/mobile/fabrik_solver.hpp"
#include "tendril/mobile/support.hpp"

namespace tendril {

struct MobilePosturesOptions {   ///< every field has a working default
  int headings = 9;              ///< of the platform, evenly around from the present one, >= 1
  int distances = 11;            ///< of the platform from the target, >= 1
  double platform_weight = 4.0;  ///< cost of 1 m of the platform, in rad of a joint, >= 0
  double heading_weight = 1.0;   ///< of 1 rad of the heading, >= 0
};

/// The free parameters of a target as a list of configurations that meet it: the arm's plane, the
/// elbow, distance and heading of the platform. For a choice among obstacles.
///
/// A robot with three in-plane links has them in closed form (as MobileClosedForm). For others
/// MobileFabrikSolver gives them, from the present joints and from mirrored ones.
/// Options are validated in the constructor (ModelError). Nothing else allocates or throws.
class MobilePostures {
 public:
  explicit MobilePostures(const MobileRobot& robot, const MobilePosturesOptions& options = {});

  /// Prepares the list for a target. Costs and headings count from the configuration `from`.
  /// Returns its length, 0 for a target that is refused.
  int begin(const ToolTarget& target, const MobileConfiguration& from) noexcept;
  /// Configuration number `i` of the list; false if there is none: out of reach or outside a limit.
  /// The cost is the travel of platform and joints, with a surcharge near limits and for straight
  /// elbows.
  [[nodiscard]] bool at(int i, Eigen::Ref<Eigen::VectorXd> x, double& cost) noexcept;

 private:
  [[nodiscard]] bool closed_form(int i, Eigen::Ref<Eigen::VectorXd> x) noexcept;
  [[nodiscard]] bool reached(int i, Eigen::Ref<Eigen::VectorXd> x) noexcept;

  MobileRobot robot_;
  MobilePosturesOptions options_;
  MobileFabrikSolver solver_;
  ToolTarget target_;
  mobile::PlaneCases planes_;
  Eigen::VectorXd from_;
  std::vector<double> joints_;
};

}  // namespace tendril
