#pragma once

#include <optional>
#include <span>
#include <vector>

#include "controllers/arm/feed_drive.hpp"
#include "controllers/arm/tip_integral.hpp"
#include "controllers/interface/arm_controller.hpp"
#include "tendril/estimation/grip_estimator.hpp"
#include "tendril/path/path.hpp"
#include "tendril/path/shape_fit.hpp"
#include "tendril/path/winding_path.hpp"

namespace tendril {

/// A cylinder or capsule of the scene, or the cylinder around a box or an ellipsoid; base frame.
struct Post {
  Eigen::Isometry3d X_BO = Eigen::Isometry3d::Identity();  ///< its middle; its axis is z
  double radius = 0.0, half_length = 0.0;                  ///< [m]
};

/// The arm coils around a post, holds it with a force, and presses with its tip past it. The post
/// is a geom of the scene: its position, axis and radius give the path. The controller has four
/// consecutive stages:
///
/// 1. Feed: follow-the-leader along a helical path clear of the post, with feedback of the measured
///    tip.
/// 2. Tighten: the sections move to the helical path of an ever smaller radius, and the base with
///    them, then the base alone moves back, until the measured contact force on the post is
///    `force`. The corrections are held. The post then supports the arm.
/// 3. Press: the goal of the tip moves by `press`. Only the last sections are corrected on the
///    measured tip, so that they do not act against the post.
///    With `withdraw` the base moves back instead, and the post with it: it is expected to
///    follow.
/// 4. Hold, while pressing; without `press` the force on the post is kept.
///
/// Status: working until the force and the measured angle of the winding are reached; no progress
/// when they are not within `tighten_time`, or are lost later.
///
/// Feeding in contact with the post is not possible: sections of constant curvature deviate from a
/// helix by some millimeters, the error becomes contact force, and the integral winds up. Source:
/// docs/theory/obstacles.md, "Coiling around a post".
class CoilController final : public ArmController {
 public:
  static constexpr Quantity kQuantities[] = {
      quantity::kIterations,
      quantity::kTipError,
      quantity::kProgress,
      {"post_force", "N", "sum of the normal forces on the post", 1, "end max"},
      {"wrap_angle", "rad", "of the arm around the post, as measured"}};
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Throws ModelError naming the setting.
  explicit CoilController(const ArmContext& context);

  void update(const ArmMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, ArmCommand& command,
              ControllerReport& report) noexcept override;
  [[nodiscard]] bool senses_contacts() const noexcept override { return true; }
  [[nodiscard]] ContactNeed needs_contacts() const noexcept override { return ContactNeed::Grip; }
  [[nodiscard]] bool senses_response() const noexcept override { return false; }
  [[nodiscard]] int path(std::span<const double> memory,
                         std::span<Eigen::Vector3d> points) const noexcept override;

 private:
  enum class Stage { Settle, Feed, Tighten, Press, Hold };

  /// Grip of the arm on the post, as measured.
  struct Grip {
    double force;       ///< mean of the force on the post [N]
    double excess;      ///< of that force over the desired one, relative
    double wrap_angle;  ///< [rad]
    bool is_wound;      ///< nearly the whole winding is measured
  };
  /// Outcome of a stage in one step, besides the command.
  struct Action {
    bool feeding = false;  ///< the tip integral of all sections is active
    bool pressing = false, no_progress = false;
    double progress = 0.0;
    Eigen::Vector3d goal = Eigen::Vector3d::Zero();  ///< of the tip, while pressing
  };

  void use_moments(const ArmContext& context);
  void plan_path(const ArmContext& context);
  void choose_radius(const ArmContext& context);
  void require_long_post(const ArmContext& context) const;
  void plan_tightening();

  void enter(Stage stage, std::span<double> next) const noexcept;
  Grip measure_grip(const ArmMeasurement& measurement, std::span<const double> memory,
                    std::span<double> next) noexcept;
  Action act(const ArmMeasurement& measurement, const Grip& grip, std::span<const double> memory,
             std::span<double> next, ArmCommand& command) noexcept;
  Action settle(std::span<const double> memory, std::span<double> next,
                ArmCommand& command) noexcept;
  Action feed(double h, std::span<const double> memory, std::span<double> next,
              ArmCommand& command) noexcept;
  Action tighten(double h, const Grip& grip, std::span<const double> memory, std::span<double> next,
                 ArmCommand& command) const noexcept;
  Action press(double h, const Grip& grip, std::span<const double> memory, std::span<double> next,
               ArmCommand& command) const noexcept;
  void tighten_to_force(double h, const Grip& grip, std::span<const double> memory,
                        std::span<double> next, ArmCommand& command) const noexcept;
  [[nodiscard]] Eigen::Vector3d tip_goal(const Action& action, const ArmCommand& command) noexcept;
  void correct(const ArmMeasurement& measurement, const Eigen::Vector3d& tip_error,
               const Action& action, std::span<const double> memory, std::span<double> next,
               ArmCommand& command) noexcept;

  /// Commands the pose at `distance` [m] along the tightening motion, moving at `rate` [m/s].
  void tightened(double distance, double rate, ArmCommand& command) const noexcept;
  /// Returns by how much the coil has moved back with the post [m].
  [[nodiscard]] double withdrawn_at(std::span<const double> memory) const noexcept;
  [[nodiscard]] Eigen::Vector3d post_position(double withdrawn) const noexcept;
  /// Distance of the backbone from its axis within which it is at the post [m].
  [[nodiscard]] double near() const noexcept { return post_.radius + 2.0 * body_radius_; }
  [[nodiscard]] double post_force(const ArmMeasurement& measurement,
                                  double withdrawn) const noexcept;
  /// The same by the moments of the actuators.
  [[nodiscard]] double sensed_force(const ArmMeasurement& measurement, double withdrawn,
                                    std::span<double> next) noexcept;
  /// Returns the angle around the post of the backbone with the measured bends [rad].
  [[nodiscard]] double wrap_angle(const ArmMeasurement& measurement, double withdrawn) noexcept;

  ContinuumRobot robot_;
  Post post_;
  double body_radius_;
  double arm_length_, start_delay_;
  double winding_, force_, tighten_time_, press_time_;
  Eigen::Vector3d press_;
  double withdraw_, withdraw_time_;
  Winding loose_winding_;
  double brace_length_ = 0.0;  // of the paths, before the helix [m]
  Path loose_, tight_;
  double feed_end_ = 0.0;
  FeedDrive drive_;
  TipIntegral integral_, press_integral_;
  // Tightening motion, at equal distances of kTightenStep: first the helix loses radius, then the
  // base moves back.
  std::vector<Eigen::VectorXd> tighten_q_;
  std::vector<double> tighten_feed_;
  Eigen::Vector3d tight_tip_ = Eigen::Vector3d::Zero();  // planned tip of a tight winding

  Slot<Stage> stage_ = memory_.choice(Stage::Settle, Stage::Hold);
  Slot<double> stage_time_ = memory_.number(), feed_ = memory_.number(), speed_ = memory_.number(),
               tightened_ = memory_.number(), mean_force_ = memory_.number(),
               held_time_ = memory_.number(), lost_time_ = memory_.number();
  Block states_memory_, integral_memory_, press_memory_, grip_memory_;

  std::vector<BodySpring> springs_;
  std::optional<GripEstimator> grip_;  // if it sees no contacts

  std::vector<SectionState> states_, candidate_;  // scratch
  Eigen::VectorXd q_last_, load_;                 // scratch
};

}  // namespace tendril
