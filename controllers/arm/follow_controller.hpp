#pragma once

#include <memory>
#include <span>
#include <vector>

#include "controllers/arm/body_deflection.hpp"
#include "controllers/arm/feed_drive.hpp"
#include "controllers/arm/follow_poses_controller.hpp"
#include "controllers/arm/tip_integral.hpp"
#include "controllers/interface/arm_controller.hpp"
#include "controllers/watch/jam_detector.hpp"
#include "tendril/path/path.hpp"
#include "tendril/path/shape_fit.hpp"

namespace tendril {

/// Follow-the-leader motion: the base feeds the arm along a path and the sections are fitted to it,
/// so that the body follows the path of the tip. The path is given by waypoints, or is the trail of
/// a dragged target body. Feed and section commands are synchronized: if a section would exceed its
/// rate limit, the whole motion slows down.
class FollowController final : public ArmController {
 public:
  static constexpr Quantity kQuantities[] = {
      quantity::kIterations,
      quantity::kTipError,
      quantity::kProgress,
      FollowPosesController::kQuantities[2],
      {.name = "least_deviation",
       .unit = "m",
       .meaning =
           "lower bound of the largest distance of this body from this path during the whole "
           "feed, whatever its bends; NaN: planned poses, or a trail"},
      {.name = "jams",
       .unit = "",
       .meaning = "times that the feed has been stopped by a jam and drawn back"}};
  /// Settings of `tendril.follow`, including those for planned poses.
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Throws ModelError naming the setting.
  explicit FollowController(const ArmContext& context);

  void update(const ArmMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, ArmCommand& command,
              ControllerReport& report) noexcept override;
  [[nodiscard]] int path(std::span<const double> memory,
                         std::span<Eigen::Vector3d> points) const noexcept override;
  /// Which way the wall pushes shows where to try again.
  [[nodiscard]] bool senses_contacts() const noexcept override { return retries_ > 0; }
  [[nodiscard]] bool senses_response() const noexcept override { return false; }

 private:
  static constexpr int kTrailRows = 4;             // x, y, z, arc length
  static constexpr double kLongestSettling = 5.0;  // [s] beyond the start delay
  static constexpr double kSettledTime = 0.25;     // for which the tip has been still [s]
  [[nodiscard]] Eigen::Vector3d curve(std::span<const double> memory, double s) const noexcept;
  [[nodiscard]] double curve_length(std::span<const double> memory) const noexcept;
  /// The curve with what the last jam has shown: from there on it is shifted.
  [[nodiscard]] Eigen::Vector3d shifted_curve(std::span<const double> memory,
                                              double s) const noexcept;
  void extend_trail(const ArmMeasurement& measurement, std::span<double> memory) const noexcept;
  /// What of a vector is across the path at its arc length `s`.
  [[nodiscard]] Eigen::Vector3d across(std::span<const double> memory, double s,
                                       const Eigen::Vector3d& v) const noexcept;
  [[nodiscard]] bool is_at_tip(const MeasuredContact& contact) const noexcept {
    return !contact.is_guide && contact.arc_length > arm_length_ - 3.0 * body_radius_;
  }
  /// Direction across the path at its arc length `s` in which walls push the tip; zero: none.
  [[nodiscard]] Eigen::Vector3d free_side(const ArmMeasurement& measurement,
                                          std::span<const double> memory, double s) const noexcept;

  ContinuumRobot robot_;
  double arm_length_, body_radius_, start_delay_;
  double feed_end_;  // of a fixed path; for a trail the limit of the feed
  JamDetector jam_;
  int retries_;
  bool trail_;
  double trail_spacing_;
  int trail_capacity_ = 0;
  Path path_;
  bool body_first_;  // track the fitted shape, not the path: less wall contact
  FeedDrive drive_;
  ShapeFit first_fit_;
  TipIntegral integral_;
  bool compensates_;
  BodyDeflection deflection_;
  double least_deviation_ = kUnknown;

  Slot<double> feed_, speed_;
  Slot<bool> started_;
  Slot<bool> feeding_;
  Slot<double> settled_time_;
  MatrixSlot<Eigen::VectorXd> still_tip_;  // since it has been still
  Block jam_memory_, states_memory_, integral_memory_;
  Slot<int> attempts_;       // after jams at one place
  Slot<int> jams_;           // in all
  Slot<bool> retreating_;    // to where the next attempt begins
  Slot<double> retreat_to_;  // [m] of feed
  Slot<double> jam_at_;      // arc length of the tip at the last jam [m]
  MatrixSlot<Eigen::VectorXd> shift_;
  Slot<int> trail_count_;
  MatrixSlot<Eigen::MatrixXd> trail_points_;

  std::vector<SectionState> states_, candidate_;  // scratch
  Eigen::VectorXd q_last_, q_candidate_;          // scratch
};

/// Quantities of `tendril.follow`: those of both controllers.
[[nodiscard]] std::span<const Quantity> follow_quantities();

/// Creates the controller `tendril.follow`: a FollowPosesController if the setting `poses` is
/// given, otherwise a FollowController. Throws ModelError naming the setting.
[[nodiscard]] std::unique_ptr<ArmController> make_follow_controller(const ArmContext& context);

}  // namespace tendril
