#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "controllers/arm/body_deflection.hpp"
#include "controllers/arm/feed_drive.hpp"
#include "controllers/arm/follow_poses_controller.hpp"
#include "controllers/arm/steered_tip.hpp"
#include "controllers/arm/tip_contacts.hpp"
#include "controllers/arm/tip_integral.hpp"
#include "controllers/interface/arm_controller.hpp"
#include "controllers/interface/arm_memory.hpp"
#include "controllers/watch/jam_detector.hpp"
#include "tendril/path/advance.hpp"
#include "tendril/path/path.hpp"
#include "tendril/path/shape_fit.hpp"

namespace tendril {

/// Follow-the-leader motion: the arm advances along a path and the sections are fitted to it, so
/// that the body follows the path of the tip. The path is given by waypoints or arcs, or is the
/// trail of a dragged target body. The base feeds the arm, or its sections grow (Advance). Advance
/// and section commands are synchronized: if a section would exceed its rate limit, the whole
/// motion slows down.
///
/// Of an arm with a passive shaft the driven sections are fitted to the path ahead of where they
/// begin, as measured, and the feed is corrected until the tip is at its arc length: the shaft
/// takes what way the walls give it.
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
           "advance, whatever its bends; NaN: planned poses, or a trail"},
      {.name = "jams",
       .unit = "",
       .meaning = "times that the feed has been stopped by a jam and the arm retracted"}};
  /// Settings of `tendril.follow`, including those for planned poses.
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Throws ModelError naming the setting.
  explicit FollowController(const ArmContext& context);

  void update(const ArmMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, ArmCommand& command,
              ControllerReport& report) noexcept override;
  [[nodiscard]] int path(std::span<const double> memory,
                         std::span<Eigen::Vector3d> points) const noexcept override;
  /// The direction in which the wall pushes shows where to try again.
  [[nodiscard]] bool senses_contacts() const noexcept override { return retries_ > 0; }
  [[nodiscard]] bool senses_response() const noexcept override { return false; }

  /// Length of the path that is given, as far as the tip advances on it [m]; 0 if the path is a
  /// trail.
  [[nodiscard]] double given_length() const noexcept { return trail_ ? 0.0 : head(advance_end_); }
  /// How the end of the arm advances along it.
  [[nodiscard]] const Advance& advancing() const noexcept { return advance_; }
  [[nodiscard]] const ContinuumRobot& robot() const noexcept { return robot_; }

 private:
  static constexpr int kTrailRows = 4;             // x, y, z, arc length
  static constexpr double kMaxSettlingTime = 5.0;  // after the start delay [s]
  static constexpr double kSettledTime = 0.25;     // for which the tip has been still [s]

  /// Advance in one step.
  struct Motion {
    double advance;         ///< as commanded last, then in this step [m]
    double end;             ///< up to which the path is known [m]
    bool retracted = true;  ///< lengths are those of the advance
    double goal = 0.0;      ///< of this step's motion [m]
    bool moves = false;     ///< towards the goal
    bool begun = false;     ///< the arm has settled once
    bool retreating = false, jammed = false;
    double speed = 0.0;  ///< [m/s]
    int iterations = 0;  ///< of the fit
  };

  void plan_path(const Settings& settings);
  void begin_trail(const Settings& settings);
  void extend_trail(const ArmMeasurement& measurement, std::span<double> memory) const noexcept;
  [[nodiscard]] Eigen::Vector3d curve(std::span<const double> memory, double s) const noexcept;
  [[nodiscard]] double curve_length(std::span<const double> memory) const noexcept;
  /// Returns the curve with what the last jam has shown: from there on it is shifted.
  [[nodiscard]] Eigen::Vector3d shifted_curve(std::span<const double> memory,
                                              double s) const noexcept;
  /// Returns the component of a vector across the path at its arc length `s`.
  [[nodiscard]] Eigen::Vector3d across(std::span<const double> memory, double s,
                                       const Eigen::Vector3d& v) const noexcept;
  [[nodiscard]] double head(double advance) const noexcept {  // arc length of the tip on the path
    return advance + advance_.start_length();
  }
  [[nodiscard]] bool has_waited(const ArmMeasurement& measurement) const noexcept {
    return measurement.time >= start_delay_ + kMaxSettlingTime;
  }
  /// Direction across the path at its arc length `s` in which walls push the tip; zero: none.
  [[nodiscard]] Eigen::Vector3d free_side(const ArmMeasurement& measurement,
                                          std::span<const double> memory, double s) const noexcept;
  [[nodiscard]] Eigen::Vector3d reference(std::span<const SectionState> states, double advance,
                                          std::span<const double> memory) const noexcept;

  bool load_shape(const ArmMeasurement& measurement, std::span<const double> memory,
                  std::span<double> next) noexcept;
  void watch_jam(const ArmMeasurement& measurement, std::span<const double> memory,
                 std::span<double> next, Motion& motion) const noexcept;
  bool settle(const ArmMeasurement& measurement, double deviation, std::span<const double> memory,
              std::span<double> next) const noexcept;
  void begin_retreat(const ArmMeasurement& measurement, std::span<const double> memory,
                     std::span<double> next) const noexcept;
  void advance(double h, std::span<const double> memory, std::span<double> next, Motion& motion,
               ArmCommand& command) noexcept;
  void advance_tip(const ArmMeasurement& measurement, std::span<const double> memory,
                   std::span<double> next, Motion& motion, ArmCommand& command) noexcept;
  void correct_tip(const ArmMeasurement& measurement, const Motion& motion,
                   std::span<const double> memory, std::span<double> next,
                   ArmCommand& command) noexcept;
  [[nodiscard]] double measured_advance(const ArmMeasurement& measurement,
                                        std::span<const double> memory) const noexcept;
  void correct(const ArmMeasurement& measurement, const Motion& motion,
               std::span<const double> memory, std::span<double> next,
               ArmCommand& command) noexcept;
  void report_motion(const ArmMeasurement& measurement, const Motion& motion,
                     std::span<const double> memory, ControllerReport& report) const noexcept;

  ContinuumRobot robot_;
  std::optional<SteeredTip> steered_;  // behind a passive shaft; absent if all sections are driven
  Advance advance_;
  double speed_limit_, body_radius_, start_delay_;
  TipContacts tip_contacts_;
  double advance_end_;  // of a fixed path; for a trail the limit of the advance
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
  double feed_gain_;  // of the correction of the feed, with a passive shaft [1/s]
  bool compensates_;
  BodyDeflection deflection_;
  double least_deviation_ = kUnknown;

  Slot<double> advanced_ = memory_.number(), speed_ = memory_.number();
  Slot<bool> started_ = memory_.flag(), feeding_ = memory_.flag();
  Slot<double> settled_time_ = memory_.number();
  MatrixSlot<Eigen::VectorXd> still_tip_ = memory_.vector(3);  // since it has been still
  Block jam_memory_ = memory_.part(jam_.layout());
  Block states_memory_ = add_states(memory_, robot_);
  Block integral_memory_ = memory_.part(integral_.layout());
  Slot<int> attempts_ = memory_.counter();      // after jams at one place
  Slot<int> jams_ = memory_.counter();          // in all
  Slot<bool> retreating_ = memory_.flag();      // to where the next attempt begins
  Slot<double> retreat_to_ = memory_.number();  // advance [m]
  Slot<double> jam_at_ = memory_.number();      // arc length of the tip at the last jam [m]
  MatrixSlot<Eigen::VectorXd> shift_ = memory_.vector(3);
  Slot<double> slack_ = memory_.number();  // feed less advance, of a passive shaft [m]
  Block steered_memory_;
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
