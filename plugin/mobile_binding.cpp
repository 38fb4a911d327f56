#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "binding/mobile_controllers.hpp"
#include "binding/mobile_loop.hpp"
#include "controllers/interface/mobile_controller.hpp"
#include "plugin/bind_robot.hpp"
#include "plugin/bound_mechanism.hpp"
#include "plugin/drawing.hpp"
#include "plugin/joint_binding.hpp"
#include "plugin/model_scene.hpp"
#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model_error.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

/// An arm on a mobile platform, or the platform alone if it carries a continuum arm; then there are
/// no joints, and the tip is that of the arm. The joint ranges given to the controller are reduced
/// by the setting `limit_margin` at either end, so that the servos' overshoot remains within the
/// ranges of the robot.
class MobileBinding final : public BindingOf<MobileController, MobileMeasurement, MobileCommand> {
 public:
  MobileBinding(const InstanceContext& context, const MobileDescription& description,
                std::unique_ptr<MobileController> controller, ModelScene& scene);

  using Description = MobileDescription;
  using Interface = MobileController;
  [[nodiscard]] static std::unique_ptr<MobileController> make_controller(
      const InstanceContext& context, const MobileDescription& description, SceneQuery& scene);
  [[nodiscard]] static RobotSizes sizes(const MobileDescription& robot) {
    return MobileLoop::sizes(robot);
  }
  /// With x, y and heading of the platform.
  [[nodiscard]] static int coordinate_count(const MobileDescription& robot) {
    return static_cast<int>(MobileLoop::kPlatform) + sizes(robot).n;
  }
  [[nodiscard]] static int memory_size(const InstanceContext& context,
                                       const MobileDescription& robot,
                                       const MobileController& /*controller*/) {
    return MobileLoop::layout(robot, sees_sensors(context)).size();
  }

  [[nodiscard]] bool measure(const mjModel* m, const mjData* d,
                             std::span<const double> own) noexcept override;
  [[nodiscard]] bool command_is_finite() const noexcept override;
  void setpoints(std::span<double> next_own, std::span<double> setpoints) noexcept override;
  [[nodiscard]] int drive_reading_count() const noexcept override {
    return loop_->is_sensed() ? 0 : -1;
  }
  void exchange(const mjData* d, RemoteControl& remote, const Sensed& sensed,
                std::span<double> drives, std::span<double> setpoints,
                ControllerReport& report) noexcept override;
  [[nodiscard]] FollowingError following_error(int last_touched) const noexcept override;
  void forget_command() noexcept override;
  void common_values(const ControllerReport& report, double* out) const noexcept override;
  void draw(const mjData* d, std::span<const double> memory, const ControllerReport& report,
            mjvScene* scene) const override;
  void copy_scratch(const RobotBinding& source) noexcept override;

 private:
  static constexpr std::size_t kPlatform = MobileLoop::kPlatform;

  [[nodiscard]] bool sense(const Sensed& sensed, MobileMeasurement& seen) noexcept override;

  std::vector<JointLimits> limits_;  // of the arm's joints
  MobileSpeedLimits speeds_;
  int base_body_, tip_site_, target_mocap_;
  std::optional<SceneObstacles> obstacles_;  // if the controller asked for them
  std::vector<JointAddress> joints_;         // x, y, heading; yaw, hinges, roll
  std::optional<MobileLoop> loop_;

  // Scratch of the last step.
  Eigen::Isometry3d X_WB_ = Eigen::Isometry3d::Identity();
  std::vector<JointState> states_, seen_states_;
  double joint_margin_ = 0.0, speed_use_ = 0.0;
};

std::unique_ptr<MobileController> MobileBinding::make_controller(
    const InstanceContext& context, const MobileDescription& description, SceneQuery& scene) {
  return make_mobile_controller(context.kind, context.settings, description,
                                context.model->opt.timestep, scene);
}

MobileBinding::MobileBinding(const InstanceContext& context, const MobileDescription& description,
                             std::unique_ptr<MobileController> controller, ModelScene& scene)
    : BindingOf(context, std::move(controller), MobileMeasurement(sizes(description)),
                sees_sensors(context)),
      speeds_(description.speeds),
      base_body_(context.require(mjOBJ_BODY, names::kBase)),
      tip_site_(context.require(mjOBJ_SITE, description.mounted
                                                ? std::string(names::kArm) + "_" + names::kTip
                                                : std::string(names::kTip))),
      target_mocap_(-1),
      obstacles_(scene.release_obstacles()) {
  const mjModel* m = context.model;
  const int joints = sizes(description).n;
  for (int j = 0; j < joints; ++j) limits_.push_back(description.kinematics().joint_limits(j));
  const Mechanism mechanism = bound_mechanism(m, context.names);
  loop_.emplace(
      mechanism, description,
      MobileLoop::Options{
          .commands = controller_->commands(),
          .gravity = compensated_gravity(m, context.settings.flag("gravity_compensation")),
          .velocity_feed_forward = context.settings.flag("velocity_feed_forward"),
          .is_sensed = sees_sensors(context)});
  joints_ = addresses_of(m, mechanism, loop_->joints(), actuators_);
  require_no_more_joints(context, joints_);
  states_.resize(joints_.size());
  target_mocap_ = scene.target_mocap();
  if (sees_sensors(context)) loop_->use_sensors(mechanism, description);
  layout_ = loop_->layout();
  seen_states_ = states_;
}

bool MobileBinding::sense(const Sensed& sensed, MobileMeasurement& seen) noexcept {
  if (!loop_->is_sensed()) return false;
  std::ranges::copy(states_, seen_states_.begin());
  loop_->sense(sensed.readings, sensed.arrived, sensed.next_own, X_WB_, seen_states_, seen);
  return true;
}

bool MobileBinding::measure(const mjModel* m, const mjData* d,
                            std::span<const double> /*own*/) noexcept {
  X_WB_.translation() = ConstVector3(d->xpos + 3 * base_body_);
  X_WB_.linear() = ConstMatrix3(d->xmat + 9 * base_body_);
  MobileMeasurement& out = measurement_;
  out.time = d->time;
  out.timestep = m->opt.timestep;
  for (std::size_t j = 0; j < joints_.size(); ++j) joints_[j].read(d, states_[j]);
  loop_->measure(states_, out);
  joint_margin_ = limits_.empty() ? 0.0 : std::numeric_limits<double>::infinity();
  double joint_speed = 0.0;
  for (std::size_t j = 0; j < limits_.size(); ++j) {
    const JointState& state = states_[kPlatform + j];
    joint_margin_ =
        std::min({joint_margin_, state.position - limits_[j].min, limits_[j].max - state.position});
    joint_speed = std::max(joint_speed, std::abs(state.velocity));
  }
  speed_use_ =
      std::max({hypotenuse(out.base_velocity.x, out.base_velocity.y) / speeds_.platform_speed,
                std::abs(out.base_velocity.heading) / speeds_.turn_speed,
                joint_speed / speeds_.joint_speed});

  const ConstVector3 p_WE(d->site_xpos + 3 * tip_site_);
  const ConstMatrix3 R_WE(d->site_xmat + 9 * tip_site_);
  out.X_WE.translation().noalias() = X_WB_.linear().transpose() * (p_WE - X_WB_.translation());
  out.X_WE.linear().noalias() = X_WB_.linear().transpose() * R_WE;
  if (obstacles_) {
    obstacles_->refresh(d);
    out.obstacles = &obstacles_->obstacles();
  }
  out.has_target = target_mocap_ >= 0;
  if (out.has_target) read_mocap_pose(d, target_mocap_, base_body_, out.X_WG);
  return out.q.allFinite() && out.X_WE.matrix().allFinite();
}

bool MobileBinding::command_is_finite() const noexcept { return is_finite(command_); }

void MobileBinding::setpoints(std::span<double> /*next_own*/,
                              std::span<double> setpoints) noexcept {
  loop_->setpoints(seen(), command_, setpoints);
}

void MobileBinding::exchange(const mjData* d, RemoteControl& remote, const Sensed& sensed,
                             std::span<double> /*drives*/, std::span<double> setpoints,
                             ControllerReport& report) noexcept {
  const MobileMeasurement& true_now = measurement_;
  remote.exchange({.time = d->time,
                   .readings = sensed.readings,
                   .arrived = sensed.arrived,
                   .drives = {},
                   .target = true_now.has_target ? &true_now.X_WG : nullptr},
                  setpoints);
  const RemoteControl::Known known = remote.known();
  if (!take_known(known, report)) forget(command_, CommandKind::Setpoints, true_now);
  if (known.model_is_seen || !true_now.has_target) return;
  // The tip's errors are the true ones.
  const TipAndTarget places = true_now.tip_and_target();
  if (std::isfinite(report.tip_error)) report.tip_error = (places.tip - places.target).norm();
  if (std::isfinite(report.angle_error)) report.angle_error = places.angle;
}

FollowingError MobileBinding::following_error(int last_touched) const noexcept {
  const std::array<double, kPlatform> positions{command_.base.x, command_.base.y,
                                                command_.base.heading};
  FollowingError error;
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const double desired =
        j < kPlatform ? positions[j] : command_.q[static_cast<Eigen::Index>(j - kPlatform)];
    add_joint(error, joints_[j], loop_->joints()[j].is_slide, states_[j], desired, last_touched);
  }
  return error;
}

void MobileBinding::forget_command() noexcept {
  forget(command_, controller_->commands(), loop_->is_sensed() ? seen() : measurement_);
}

void MobileBinding::common_values(const ControllerReport& /*report*/, double* out) const noexcept {
  const auto configuration = [&out](const PlatformPose& base, const Eigen::VectorXd& q) {
    *out++ = base.x;
    *out++ = base.y;
    *out++ = base.heading;
    out = std::copy_n(q.data(), q.size(), out);
  };
  configuration(command_.base, command_.q);
  configuration(seen().base, seen().q);
  out = std::copy_n(seen().X_WE.translation().data(), 3, out);
  *out++ = joint_margin_;
  *out = speed_use_;
}

void MobileBinding::copy_scratch(const RobotBinding& other) noexcept {
  const auto& source = static_cast<const MobileBinding&>(other);
  measurement_ = source.measurement_;
  if (obstacles_) measurement_.obstacles = &obstacles_->obstacles();
  copy_seen(source);
  command_ = source.command_;
  joint_margin_ = source.joint_margin_;
  speed_use_ = source.speed_use_;
}

void MobileBinding::draw(const mjData* d, std::span<const double> /*memory*/,
                         const ControllerReport& /*report*/, mjvScene* scene) const {
  constexpr float kColor[4] = {0.95f, 0.35f, 0.15f, 0.7f};
  constexpr double kRadius = 0.004, kShortest = 0.01;  // [m]
  if (target_mocap_ < 0) return;
  const Eigen::Vector3d ends[2] = {ConstVector3(d->site_xpos + 3 * tip_site_),
                                   ConstVector3(d->mocap_pos + 3 * target_mocap_)};
  if ((ends[1] - ends[0]).norm() > kShortest) draw_line(scene, ends, kRadius, kColor);
}

}  // namespace

const RobotBinder& mobile_binder() noexcept { return kBinder<MobileBinding>; }

}  // namespace tendril
