#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "binding/arm_model.hpp"
#include "binding/joint_commands.hpp"
#include "binding/sensed_mobile.hpp"
#include "controllers/interface/mobile_controller.hpp"
#include "plugin/bind_robot.hpp"
#include "plugin/bound_mechanism.hpp"
#include "plugin/drawing.hpp"
#include "plugin/joint_binding.hpp"
#include "plugin/model_scene.hpp"
#include "tendril/model/mobile/sensors.hpp"
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
    return robot.mounted ? 0 : robot.kinematics().joint_count();
  }
  /// With x, y and heading of the platform.
  [[nodiscard]] static int coordinate_count(const MobileDescription& robot) {
    return static_cast<int>(kPlatform) + sizes(robot).n;
  }
  [[nodiscard]] static int memory_size(const InstanceContext& context,
                                       const MobileDescription& robot,
                                       const MobileController& /*controller*/) {
    return sees_sensors(context) ? SensedMobile::Memory(coordinate_count(robot)).layout.size() : 0;
  }

  [[nodiscard]] bool measure(const mjModel* m, const mjData* d,
                             std::span<const double> own) noexcept override;
  [[nodiscard]] bool command_is_finite() const noexcept override;
  void setpoints(std::span<double> next_own, std::span<double> setpoints) noexcept override;
  [[nodiscard]] FollowingError following_error(int last_touched) const noexcept override;
  void forget_command() noexcept override;
  void common_values(const ControllerReport& report, double* out) const noexcept override;
  void draw(const mjData* d, std::span<const double> memory, const ControllerReport& report,
            mjvScene* scene) const override;
  void copy_scratch(const RobotBinding& source) noexcept override;

 private:
  static constexpr std::size_t kPlatform = 3;  // joints of the platform: x, y, heading

  void bind_sensors(const InstanceContext& context, const MobileDescription& description);
  [[nodiscard]] bool sense(const Sensed& sensed, MobileMeasurement& seen) noexcept override;
  /// Sets what follows from the states of the joints alone.
  void take(std::span<const JointState> states, MobileMeasurement& out) const noexcept;

  std::vector<JointLimits> limits_;  // of the arm's joints
  MobileSpeedLimits speeds_;
  int base_body_, tip_site_, target_mocap_;
  std::optional<SceneObstacles> obstacles_;  // if the controller asked for them
  bool velocity_feed_forward_;
  Eigen::Vector3d gravity_;
  std::vector<BoundJoint> joints_;  // x, y, heading; yaw, hinges, roll
  std::optional<SensedMobile> sensed_;

  // Scratch of the last step.
  Eigen::Isometry3d X_WB_ = Eigen::Isometry3d::Identity();
  std::vector<JointState> states_, seen_states_;
  double joint_margin_ = 0.0, speed_use_ = 0.0;
};

/// The robot with joint ranges reduced by the setting `limit_margin` at either end.
MobileRobot robot_with_margin(const MobileDescription& description, const Settings& settings) {
  const double margin = settings.number("limit_margin");
  MobileRobotParameters parameters = description.parameters;
  const auto shrink = [margin](JointLimits& limits) {
    if (limits.max - limits.min <= 2.0 * margin)
      throw ModelError("limit_margin: must be less than half of every joint's range");
    limits.min += margin;
    limits.max -= margin;
  };
  shrink(parameters.yaw);
  for (ArmLink& link : parameters.links) shrink(link.limits);
  shrink(parameters.roll);
  return MobileRobot(parameters);
}

std::unique_ptr<MobileController> make_joint_controller(const InstanceContext& context,
                                                        const MobileDescription& description,
                                                        const Make<MobileContext>& make,
                                                        SceneQuery& scene) {
  if (description.mounted)
    throw ModelError(
        "robot: its arm is a continuum arm: use a controller such as tendril.base_placement");
  const MobileRobot robot = robot_with_margin(description, context.settings);
  std::vector<BodyCapsule> capsules = description.capsules();
  if (capsules.empty()) capsules = standard_capsules(robot);
  const MobileStart pose = description.start_pose();
  std::vector<double> start{pose.base.x, pose.base.y, pose.base.heading};
  start.insert(start.end(), pose.joints.begin(), pose.joints.end());
  auto controller = make({.robot = robot,
                          .limits = description.speeds,
                          .capsules = capsules,
                          .settings = context.settings,
                          .timestep = context.model->opt.timestep,
                          .name = description.name,
                          .start = start,
                          .scene = scene});
  require_joint_commands(context.kind.name, "[arm] joint_command", description.joint_motors,
                         controller->commands());
  return controller;
}

/// Of a platform that carries a continuum arm.
std::unique_ptr<MobileController> make_platform_controller(const InstanceContext& context,
                                                           const MobileDescription& description,
                                                           const Make<PlatformContext>& make,
                                                           SceneQuery& scene) {
  if (!description.mounted)
    throw ModelError("robot: its arm has discrete joints: use a controller such as tendril.mobile");
  const MobileContinuum robot = description.continuum();
  auto controller = make({.robot = robot,
                          .limits = description.speeds,
                          .platform_length = description.parameters.platform_length,
                          .platform_width = description.parameters.platform_width,
                          .settings = context.settings,
                          .timestep = context.model->opt.timestep,
                          .name = description.name,
                          .platform_height = description.parameters.platform_height,
                          .arm_radius = largest_radius(description.mounted->robot),
                          .scene = scene});
  if (controller->commands() != CommandKind::Setpoints)
    throw ModelError("robot: its platform takes setpoints: " + context.kind.name +
                     " commands torques");
  return controller;
}

std::unique_ptr<MobileController> MobileBinding::make_controller(
    const InstanceContext& context, const MobileDescription& description, SceneQuery& scene) {
  if (const auto* const make = context.kind.make.of<MobileContext>())
    return make_joint_controller(context, description, *make, scene);
  if (const auto* const make = context.kind.make.of<PlatformContext>())
    return make_platform_controller(context, description, *make, scene);
  return nullptr;
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
      obstacles_(scene.release_obstacles()),
      velocity_feed_forward_(context.settings.flag("velocity_feed_forward")),
      gravity_(compensated_gravity(context.model, context.settings.flag("gravity_compensation"))) {
  const int joints = sizes(description).n;
  for (int j = 0; j < joints; ++j) limits_.push_back(description.kinematics().joint_limits(j));
  for (const char* name : {names::kPlatformX, names::kPlatformY, names::kHeading})
    joints_.push_back(bind_joint(context, name, actuators_));
  for (int j = 1; j <= joints; ++j)
    joints_.push_back(bind_joint(context, names::arm_joint(j), actuators_));
  require_no_more_joints(context, joints_);
  states_.resize(joints_.size());
  target_mocap_ = scene.target_mocap();
  if (sees_sensors(context)) bind_sensors(context, description);
}

void MobileBinding::bind_sensors(const InstanceContext& context,
                                 const MobileDescription& description) {
  if (description.mounted)
    throw ModelError("measured = sensors: its arm is a continuum arm: must be \"truth\"");
  const Mechanism mechanism = bound_mechanism(context.model, context.names);
  std::vector<std::string> joints{names::kPlatformX, names::kPlatformY, names::kHeading};
  for (std::size_t j = 1; j <= limits_.size(); ++j)
    joints.push_back(names::arm_joint(static_cast<int>(j)));
  std::vector<int> coordinates;
  for (const std::string& joint : joints) coordinates.push_back(mechanism.joint(joint));
  const double timestep = context.model->opt.timestep;
  sensed_.emplace(SensedMobile::Parameters{
      .observations = mobile_observations(description, timestep),
      .joints = joints,
      .limits = description.speeds,
      .timestep = timestep,
      .chain = chain_of(mechanism, coordinates, mechanism.site(names::kTip))});
  layout_ = SensedMobile::Memory(static_cast<int>(joints.size())).layout;
  seen_states_ = states_;
}

bool MobileBinding::sense(const Sensed& sensed, MobileMeasurement& seen) noexcept {
  if (!sensed_) return false;
  std::ranges::copy(states_, seen_states_.begin());
  sensed_->sense(sensed.readings, sensed.arrived, sensed.next_own, X_WB_, seen_states_, seen.X_WE);
  take(seen_states_, seen);
  return true;
}

void MobileBinding::take(std::span<const JointState> states,
                         MobileMeasurement& out) const noexcept {
  out.base = {states[0].position, states[1].position, states[2].position};
  out.base_velocity = {states[0].velocity, states[1].velocity, states[2].velocity};
  for (std::size_t j = 0; j < limits_.size(); ++j) {
    const JointState& state = states[kPlatform + j];
    const BoundJoint& joint = joints_[kPlatform + j];
    const auto k = static_cast<Eigen::Index>(j);
    out.q[k] = state.position;
    out.q_velocity[k] = state.velocity;
    out.gravity_torque[k] = gravity_load(state, joint.mass, gravity_, joint.is_slide);
  }
}

bool MobileBinding::measure(const mjModel* m, const mjData* d,
                            std::span<const double> /*own*/) noexcept {
  X_WB_.translation() = ConstVector3(d->xpos + 3 * base_body_);
  X_WB_.linear() = ConstMatrix3(d->xmat + 9 * base_body_);
  MobileMeasurement& out = measurement_;
  out.time = d->time;
  out.timestep = m->opt.timestep;
  for (std::size_t j = 0; j < joints_.size(); ++j) joints_[j].read(d, states_[j]);
  take(states_, out);
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

bool MobileBinding::command_is_finite() const noexcept {
  const auto finite = [](const PlatformPose& pose) {
    return std::isfinite(pose.x) && std::isfinite(pose.y) && std::isfinite(pose.heading);
  };
  return finite(command_.base) && finite(command_.base_rate) && command_.q.allFinite() &&
         command_.q_rate.allFinite() && command_.torque.allFinite();
}

void MobileBinding::setpoints(std::span<double> /*next_own*/,
                              std::span<double> setpoints) noexcept {
  const PlatformPose &base = command_.base, &rate = command_.base_rate;
  const std::array<double, kPlatform> positions{base.x, base.y, base.heading},
      rates{rate.x, rate.y, rate.heading};
  const double feed_forward = velocity_feed_forward_ ? 1.0 : 0.0;
  const bool torques = controller_->commands() != CommandKind::Setpoints;
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const BoundJoint& joint = joints_[j];
    if (j < kPlatform) {
      setpoints[j] = joint.servo.setpoint(positions[j], feed_forward * rates[j], 0.0);
      continue;
    }
    const auto k = static_cast<Eigen::Index>(j - kPlatform);
    setpoints[j] =
        torques ? std::clamp(command_.torque[k], joint.servo.min_force, joint.servo.max_force)
                : joint.servo.setpoint(command_.q[k], feed_forward * command_.q_rate[k],
                                       seen().gravity_torque[k]);
  }
}

FollowingError MobileBinding::following_error(int last_touched) const noexcept {
  const std::array<double, kPlatform> positions{command_.base.x, command_.base.y,
                                                command_.base.heading};
  FollowingError error;
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const double desired =
        j < kPlatform ? positions[j] : command_.q[static_cast<Eigen::Index>(j - kPlatform)];
    add_joint(error, joints_[j], states_[j], desired, last_touched);
  }
  return error;
}

void MobileBinding::forget_command() noexcept {
  const MobileMeasurement& known = sensed_ ? seen() : measurement_;
  command_.base = known.base;
  command_.base_rate = {};
  command_.q = known.q;
  command_.q_rate.setZero();
  command_.torque.setZero();
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
