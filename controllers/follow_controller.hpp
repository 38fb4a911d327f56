#pragma once

#include <memory>
#include <span>
#include <vector>

#include "controllers/controller.hpp"
#include "controllers/tip_integral.hpp"
#include "tendril/path/path.hpp"
#include "tendril/path/shape_fit.hpp"

namespace tendril {

/// Follow-the-leader: the base feeds the arm along a path and the sections are laid on it, so that
/// the body passes where the tip passed. The path is given by waypoints, or is the trail of a
/// dragged target body. Feed and section commands share one time scale: where a section would have
/// to bend faster than its rate limit, the whole motion slows down.
///
/// Memory: feed, its speed, time blocked, jam flag, section states (theta, phi, extension), the tip
/// integral's memory, and for a trail its points (count, then x y z s each).
class FollowController final : public Controller {
 public:
  /// Of `tendril.follow`, the ones for planned poses included.
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Throws ModelError naming the setting.
  explicit FollowController(const ControllerContext& context);

  [[nodiscard]] int memory_size() const noexcept override;
  void reset(std::span<double> memory) const noexcept override;
  void update(const ArmMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, ArmCommand& command,
              ControllerReport& report) noexcept override;
  [[nodiscard]] int path(std::span<const double> memory,
                         std::span<Eigen::Vector3d> points) const noexcept override;

 private:
  [[nodiscard]] Eigen::Vector3d curve(std::span<const double> trail, double s) const noexcept;
  [[nodiscard]] double curve_length(std::span<const double> trail) const noexcept;
  void extend_trail(const ArmMeasurement& measurement, std::span<double> trail) const noexcept;

  ContinuumRobot robot_;
  double arm_length_;
  double speed_, acceleration_, rate_limit_, start_delay_;
  double feed_end_;  // of a fixed path; for a trail the feed's limit
  double jam_tip_error_, jam_feed_force_, jam_time_;
  bool trail_;
  double trail_spacing_;
  int trail_capacity_ = 0;
  Path path_;
  bool body_first_;  // the tip is held where the fit has it, to spare the walls
  ShapeFit fit_, first_fit_;
  TipIntegral integral_;
  std::vector<SectionState> states_, candidate_;  // scratch
  Eigen::VectorXd q_last_, q_candidate_;          // scratch
};

/// What `tendril.follow` is: a FollowPosesController with the setting `poses`, otherwise a
/// FollowController. Throws ModelError naming the setting.
[[nodiscard]] std::unique_ptr<Controller> make_follow_controller(const ControllerContext& context);

}  // namespace tendril
