#include <nanobind/stl/vector.h>

#include <algorithm>

#include "python/src/controllers.hpp"
#include "python/src/robots.hpp"

namespace tendril::python {
namespace {

using Access = FixedArray::Access;

Shape vector(int n) { return {static_cast<std::size_t>(n)}; }
Shape matrix(int rows, int columns) {
  return {static_cast<std::size_t>(rows), static_cast<std::size_t>(columns)};
}
PlatformPose platform_pose(const FixedArray& a) noexcept {
  return {.x = a.data()[0], .y = a.data()[1], .heading = a.data()[2]};
}

}  // namespace

FixedArray::FixedArray(const Shape& shape, Access access) : size_(1) {
  for (const std::size_t length : shape) size_ *= length;
  numbers_ = new double[std::max<std::size_t>(size_, 1)]();
  const nb::capsule owner(numbers_, [](void* p) noexcept { delete[] static_cast<double*>(p); });
  if (access == Access::Read) {
    array_ =
        nb::cast(nb::ndarray<nb::numpy, const double>(numbers_, shape.size(), shape.data(), owner));
  } else {
    array_ = nb::cast(nb::ndarray<nb::numpy, double>(numbers_, shape.size(), shape.data(), owner));
  }
}

// ---- arms

PyArmMeasurement::PyArmMeasurement(int n, const Senses& senses)
    : senses_contacts(senses.contacts),
      q(vector(n), Access::Read),
      q_rate(vector(n), Access::Read),
      moment(vector(n), Access::Read),
      gravity_moment(vector(n), Access::Read),
      tendon_length(vector(senses.tendons), Access::Read),
      tendon_tension(vector(senses.tendons), Access::Read),
      tip(matrix(4, 4), Access::Read),
      target(matrix(4, 4), Access::Read),
      tip_jacobian(matrix(6, n + 2), Access::Read),
      gravity_deflection(vector(3), Access::Read),
      tip_response(matrix(6, n + 1), Access::Read) {
  if (senses.obstacles != nullptr) obstacles = *senses.obstacles;
}

void PyArmMeasurement::set(const ArmMeasurement& from) {
  time = from.time;
  timestep = from.timestep;
  feed = from.base.feed;
  spin = from.base.spin;
  feed_force = from.feed_force;
  has_target = from.has_target;
  q = from.q;
  q_rate = from.q_rate;
  moment = from.moment;
  gravity_moment = from.gravity_moment;
  tendon_length = from.tendon_length;
  tendon_tension = from.tendon_tension;
  tip = from.X_BE;
  target = from.X_BG;
  tip_jacobian = from.tip_jacobian;
  gravity_deflection = from.gravity_deflection;
  if (obstacles && from.obstacles != nullptr) follow(*from.obstacles, *obstacles);
  if (!senses_contacts) return;
  tip_response = from.tip_response;
  contacts = from.contacts;
}

PyArmCommand::PyArmCommand(int n, const Senses& senses)
    : q(vector(n), Access::Write),
      q_rate(vector(n), Access::Write),
      moment(vector(n), Access::Write),
      tension(vector(senses.tendons), Access::Write),
      plan(vector(n), Access::Write) {}

void PyArmCommand::set(const ArmCommand& from) {
  q = from.q;
  q_rate = from.q_rate;
  moment = from.moment;
  tension = from.tension;
  plan = from.plan;
  has_plan = from.has_plan;
  feed = from.base.feed;
  spin = from.base.spin;
  feed_rate = from.feed_rate;
}

void PyArmCommand::get(ArmCommand& to) const noexcept {
  to.q = q.vector();
  to.q_rate = q_rate.vector();
  to.moment = moment.vector();
  to.tension = tension.vector();
  to.plan = plan.vector();
  to.has_plan = has_plan;
  to.base = {.feed = feed, .spin = spin};
  to.feed_rate = feed_rate;
}

// ---- snakes

PySnakeMeasurement::PySnakeMeasurement(int n, const Senses& /*none*/)
    : q(vector(n), Access::Read),
      q_rate(vector(n), Access::Read),
      torque(vector(n), Access::Read),
      gravity_torque(vector(n), Access::Read),
      tail(matrix(4, 4), Access::Read),
      tip(matrix(4, 4), Access::Read),
      center_of_mass(vector(3), Access::Read),
      target(vector(3), Access::Read) {}

void PySnakeMeasurement::set(const SnakeMeasurement& from) {
  time = from.time;
  timestep = from.timestep;
  feed = from.feed;
  upright = from.upright;
  has_target = from.has_target;
  q = from.q;
  q_rate = from.q_rate;
  torque = from.torque;
  gravity_torque = from.gravity_torque;
  tail = from.X_WT;
  tip = from.X_WE;
  center_of_mass = from.center_of_mass;
  target = from.p_WG;
}

PySnakeCommand::PySnakeCommand(int n, const Senses& /*none*/)
    : q(vector(n), Access::Write),
      q_rate(vector(n), Access::Write),
      torque(vector(n), Access::Write) {}

void PySnakeCommand::set(const SnakeCommand& from) {
  q = from.q;
  q_rate = from.q_rate;
  torque = from.torque;
  feed = from.feed;
  feed_rate = from.feed_rate;
  gravity_factor = from.gravity_factor;
}

void PySnakeCommand::get(SnakeCommand& to) const noexcept {
  to.q = q.vector();
  to.q_rate = q_rate.vector();
  to.torque = torque.vector();
  to.feed = feed;
  to.feed_rate = feed_rate;
  to.gravity_factor = gravity_factor;
}

// ---- mobile robots

PyMobileMeasurement::PyMobileMeasurement(int n, const Senses& senses)
    : base(vector(3), Access::Read),
      base_velocity(vector(3), Access::Read),
      q(vector(n), Access::Read),
      q_velocity(vector(n), Access::Read),
      gravity_torque(vector(n), Access::Read),
      tip(matrix(4, 4), Access::Read),
      target(matrix(4, 4), Access::Read) {
  if (senses.obstacles != nullptr) obstacles = *senses.obstacles;
}

void PyMobileMeasurement::set(const MobileMeasurement& from) {
  time = from.time;
  timestep = from.timestep;
  has_target = from.has_target;
  base = from.base;
  base_velocity = from.base_velocity;
  q = from.q;
  q_velocity = from.q_velocity;
  gravity_torque = from.gravity_torque;
  tip = from.X_WE;
  target = from.X_WG;
  if (obstacles && from.obstacles != nullptr) follow(*from.obstacles, *obstacles);
}

PyMobileCommand::PyMobileCommand(int n, const Senses& /*none*/)
    : base(vector(3), Access::Write),
      base_rate(vector(3), Access::Write),
      q(vector(n), Access::Write),
      q_rate(vector(n), Access::Write),
      torque(vector(n), Access::Write) {}

void PyMobileCommand::set(const MobileCommand& from) {
  base = from.base;
  base_rate = from.base_rate;
  q = from.q;
  q_rate = from.q_rate;
  torque = from.torque;
}

void PyMobileCommand::get(MobileCommand& to) const noexcept {
  to.base = platform_pose(base);
  to.base_rate = platform_pose(base_rate);
  to.q = q.vector();
  to.q_rate = q_rate.vector();
  to.torque = torque.vector();
}

// ---- reports

PyControllerReport::PyControllerReport(std::vector<std::string> names)
    : target(vector(3), Access::Write), own_names(std::move(names)), own_values(own_names.size()) {}

void PyControllerReport::clear() {
  report = {};
  target = report.target;
  std::fill(own_values.begin(), own_values.end(), 0.0);
}

void PyControllerReport::get(ControllerReport& to) const noexcept {
  const std::span<double> own = to.own;
  to = report;
  to.own = own;
  to.target = target.vector();
  std::copy_n(own_values.begin(), std::min(own.size(), own_values.size()), own.begin());
}

double& PyControllerReport::own(const std::string& name) {
  const auto found = std::find(own_names.begin(), own_names.end(), name);
  if (found == own_names.end()) throw nb::key_error(name.c_str());
  return own_values[static_cast<std::size_t>(found - own_names.begin())];
}

// ---- classes

namespace {

/// A property that gives an array.
template <auto member, class Owner>
void def_array(nb::class_<Owner>& type, const char* name, const char* doc) {
  const std::string signature = std::string("def ") + name + "(self) -> " TENDRIL_ARRAY;
  type.def_prop_ro(
      name, [](const Owner& self) -> nb::object { return (self.*member).array(); },
      nb::sig(signature.c_str()), doc);
}

/// The property `obstacles`.
template <class Owner, class... Options>
void def_obstacles(nb::class_<Owner, Options...>& type) {
  type.def_prop_ro(
      "obstacles", [](const Owner& self) { return self.obstacles ? &*self.obstacles : nullptr; },
      nb::sig("def obstacles(self) -> Obstacles | None"),
      "At their present poses; None unless the setting `avoidance` is on "
      "(`tendril.controller(..., obstacles=True)`).");
}

void bind_arm(nb::module_& module) {
  nb::class_<MeasuredContact>(module, "MeasuredContact",
                              "A point where the arm touches another body; base frame.")
      .def_prop_ro(
          "position",
          [](const MeasuredContact& c) {
            Output p({}, Axes{3});
            std::copy_n(c.position.data(), 3, p.data());
            return p.take();
          },
          nb::sig("def position(self) -> " TENDRIL_ARRAY), "(3,), m.")
      .def_prop_ro(
          "normal",
          [](const MeasuredContact& c) {
            Output p({}, Axes{3});
            std::copy_n(c.normal.data(), 3, p.data());
            return p.take();
          },
          nb::sig("def normal(self) -> " TENDRIL_ARRAY), "(3,), unit, towards the arm.")
      .def_ro("depth", &MeasuredContact::depth, "Overlap, m.")
      .def_ro(
          "force", &MeasuredContact::force,
          "Normal force, N: its link's in the previous step, in equal parts for the contacts of "
          "the link.")
      .def_ro("arc_length", &MeasuredContact::arc_length,
              "Of the touching link's middle along the arm, from its root, m.")
      .def_ro("is_guide", &MeasuredContact::is_guide, "With the guide that feeds the arm.");

  using M = PyArmMeasurement;
  nb::class_<M> m(module, "ArmMeasurement",
                  "What a controller measures of a continuum arm in one step: in the frame of its "
                  "base, SI units.\n\nn: the robot's `coordinate_count`. Arrays are views, valid "
                  "during the update, and cannot be written to.");
  m.def_ro("time", &M::time, "Simulated time, s.")
      .def_ro("timestep", &M::timestep, "s.")
      .def_ro("feed", &M::feed, "Of the base, m.")
      .def_ro("spin", &M::spin, "Of the base, rad.")
      .def_ro("feed_force", &M::feed_force, "Of the feed servo, N; 0 without a feed.")
      .def_ro("has_target", &M::has_target, "A target body is configured.")
      .def_prop_ro(
          "contacts", [](const M& self) { return nb::cast(self.contacts); },
          nb::sig("def contacts(self) -> list[MeasuredContact]"),
          "Ordered by arc length; only of a controller with `senses_contacts = True`.");
  def_obstacles(m);
  def_array<&M::q>(m, "q", "(n,): smooth coordinates u, v (and s) of each section, rad, m.");
  def_array<&M::q_rate>(m, "q_rate", "(n,): their rates, rad/s, m/s.");
  def_array<&M::moment>(
      m, "moment",
      "(n,): of all actuators on the coordinates, N m, N; of servos and motors in the last step.");
  def_array<&M::gravity_moment>(
      m, "gravity_moment",
      "(n,): of gravity on the coordinates, N m, N; 0 without the setting `gravity_compensation`.");
  def_array<&M::tendon_length>(
      m, "tendon_length",
      "(t,): changes from the straight arm of tendons and then chambers, in the order of the robot "
      "file, m.");
  def_array<&M::tendon_tension>(
      m, "tendon_tension",
      "(t,): at the last commands, N; of a chamber that pushes minus pressure times area.");
  def_array<&M::tip>(m, "tip", "(4, 4): pose of the tip.");
  def_array<&M::target>(m, "target", "(4, 4): pose of the target body.");
  def_array<&M::tip_jacobian>(
      m, "tip_jacobian",
      "(6, n + 2): derivative of tip position and tip rotation vector with respect to q, feed and "
      "spin, of the measured shape.");
  def_array<&M::gravity_deflection>(
      m, "gravity_deflection",
      "(3,): of the tip, what the servos of whole sections cannot compensate, m.");
  def_array<&M::tip_response>(
      m, "tip_response",
      "(6, n + 1): derivative of the tip pose in equilibrium with respect to the commanded q and "
      "the feed, contacts kept; only of a controller with `senses_contacts = True`.");

  using C = PyArmCommand;
  nb::class_<C> c(
      module, "ArmCommand",
      "What a controller commands in one step; zeros on entry, but q the measured one of a "
      "controller that commands moments or tensions. Arrays are views, valid "
      "during the update, to be written to: `command.q[:] = q`.");
  def_array<&C::q>(c, "q", "(n,): smooth coordinates, corrections included, rad, m.");
  def_array<&C::q_rate>(c, "q_rate", "(n,): their planned rates, 1/s.");
  def_array<&C::moment>(c, "moment",
                        "(n,): with `commands = \"moments\"`, on the coordinates, N m, N.");
  def_array<&C::tension>(
      c, "tension", "(t,): with `commands = \"tensions\"`, as `measurement.tendon_tension`, N.");
  def_array<&C::plan>(c, "plan", "(n,): the pose without corrections; only for drawing.");
  c.def_rw("has_plan", &C::has_plan, "`plan` is to be drawn.")
      .def_rw("feed", &C::feed, "Of the base, m.")
      .def_rw("spin", &C::spin, "Of the base, rad.")
      .def_rw("feed_rate", &C::feed_rate, "m/s.");
}

void bind_snake_views(nb::module_& module) {
  using M = PySnakeMeasurement;
  nb::class_<M> m(module, "SnakeMeasurement",
                  "What a controller measures of a snake in one step: world frame, SI units.\n\n"
                  "n: number of joints. Arrays are views, valid during the update, and cannot be "
                  "written to.");
  m.def_ro("time", &M::time, "Simulated time, s.")
      .def_ro("timestep", &M::timestep, "s.")
      .def_ro("feed", &M::feed, "Of the carriage, m; 0 without one.")
      .def_ro("upright", &M::upright,
              "Mean over the links of the cosine between their z axes and the world's.")
      .def_ro("has_target", &M::has_target, "A target body is configured.");
  def_array<&M::q>(m, "q", "(n,): joint angles, rad.");
  def_array<&M::q_rate>(m, "q_rate", "(n,): rad/s.");
  def_array<&M::torque>(m, "torque", "(n,): of the joints' actuators in the last step, N m.");
  def_array<&M::gravity_torque>(
      m, "gravity_torque", "(n,): of gravity on what each joint moves, towards the head, N m.");
  def_array<&M::tail>(m, "tail", "(4, 4): pose of the tail end of link 0, x forward.");
  def_array<&M::tip>(m, "tip", "(4, 4): pose of the head end of the last link.");
  def_array<&M::center_of_mass>(m, "center_of_mass", "(3,), m.");
  def_array<&M::target>(m, "target", "(3,): position of the target body, m.");

  using C = PySnakeCommand;
  nb::class_<C> c(
      module, "SnakeCommand",
      "What a controller commands in one step; zeros on entry, but q the measured one of a "
      "controller that commands torques. Arrays are views, valid "
      "during the update, to be written to.");
  def_array<&C::q>(c, "q", "(n,): joint angles, rad.");
  def_array<&C::q_rate>(c, "q_rate", "(n,): planned rates, rad/s; 0: no lag compensation.");
  def_array<&C::torque>(c, "torque",
                        "(n,): with `commands = \"torques\"`, N m, within the torque limit.");
  c.def_rw("feed", &C::feed, "Of the carriage, m.")
      .def_rw("feed_rate", &C::feed_rate, "m/s.")
      .def_rw("gravity_factor", &C::gravity_factor,
              "Fraction of the links' gravity load that is compensated.");
}

void bind_mobile_views(nb::module_& module) {
  using M = PyMobileMeasurement;
  nb::class_<M> m(module, "MobileMeasurement",
                  "What a controller measures of a robot on a platform in one step: in the frame "
                  "that the platform moves in, SI units.\n\nn: number of the arm's joints, 0 of a "
                  "platform with a continuum arm. Arrays are views, valid during the update, and "
                  "cannot be written to.");
  m.def_ro("time", &M::time, "Simulated time, s.")
      .def_ro("timestep", &M::timestep, "s.")
      .def_ro("has_target", &M::has_target, "A target body is configured.");
  def_obstacles(m);
  def_array<&M::base>(m, "base", "(3,): x, y, m, heading, rad, not wrapped.");
  def_array<&M::base_velocity>(m, "base_velocity", "(3,): m/s, rad/s.");
  def_array<&M::q>(m, "q", "(n,): joint angles, rad.");
  def_array<&M::q_velocity>(m, "q_velocity", "(n,): rad/s.");
  def_array<&M::gravity_torque>(m, "gravity_torque",
                                "(n,): of gravity on what each joint moves, N m; 0 without the "
                                "setting gravity_compensation.");
  def_array<&M::tip>(m, "tip", "(4, 4): pose of the tool, its axis along x.");
  def_array<&M::target>(m, "target", "(4, 4): pose of the target body.");

  using C = PyMobileCommand;
  nb::class_<C> c(module, "MobileCommand",
                  "What a controller commands in one step; on entry the measured configuration. "
                  "Arrays are views, valid during the update, to be written to.");
  def_array<&C::base>(c, "base", "(3,): x, y, m, heading, rad, continuous with the measured one.");
  def_array<&C::base_rate>(c, "base_rate", "(3,): planned rates, m/s, rad/s.");
  def_array<&C::q>(c, "q", "(n,): joint angles inside their limits, rad.");
  def_array<&C::q_rate>(c, "q_rate", "(n,): planned rates, rad/s.");
  def_array<&C::torque>(c, "torque",
                        "(n,): with `commands = \"torques\"`, N m, within the torque limits.");
}

void bind_report(nb::module_& module) {
  using R = PyControllerReport;
  nb::class_<R> r(module, "ControllerReport",
                  "What a controller reports of one step, as sensors and metrics. Own quantities "
                  "by their names: `report[\"phase\"] = 0.1`; 0 on entry.");
  def_array<&R::target>(
      r, "target",
      "(3,): desired tip position now, m: base frame of an arm, world frame of a snake.");
  r.def_prop_rw(
       "status", [](const R& self) { return static_cast<int>(self.report.status); },
       [](R& self, int status) {
         if (status < 0 || status >= kStatusCount)
           throw nb::value_error(("status = " + std::to_string(status) + ": must be in [0, " +
                                  std::to_string(kStatusCount - 1) + "]")
                                     .c_str());
         self.report.status = static_cast<ControllerStatus>(status);
       },
       "One of `tendril.ControllerStatus`; 0, working, on entry.")
      .def_prop_rw(
          "iterations", [](const R& self) { return self.report.iterations; },
          [](R& self, int count) { self.report.iterations = count; },
          "Of the inverse kinematics in this step.")
      .def_prop_rw(
          "tip_error", [](const R& self) { return self.report.tip_error; },
          [](R& self, double error) { self.report.tip_error = error; },
          "Distance of the measured tip from its desired position now, m; NaN: unknown.")
      .def_prop_rw(
          "angle_error", [](const R& self) { return self.report.angle_error; },
          [](R& self, double error) { self.report.angle_error = error; },
          "Angle between measured and desired direction or orientation, rad; NaN: unknown.")
      .def_prop_rw(
          "progress", [](const R& self) { return self.report.progress; },
          [](R& self, double progress) { self.report.progress = progress; }, "Of the task, 0 to 1.")
      .def_prop_rw(
          "arrived", [](const R& self) { return self.report.arrived; },
          [](R& self, bool arrived) { self.report.arrived = arrived; },
          "The command has the tip where it is desired now: what is left of tip_error is the "
          "body's.")
      .def_prop_rw(
          "deviation", [](const R& self) { return self.report.deviation; },
          [](R& self, double deviation) { self.report.deviation = deviation; },
          "Distance of the measured tip from where the plan has it now, over the length of the "
          "body "
          "that bends, rad; NaN: unknown.")
      .def("__getitem__", [](R& self, const std::string& name) { return self.own(name); })
      .def("__setitem__",
           [](R& self, const std::string& name, double value) { self.own(name) = value; });
}

template <class Context>
auto bind_context(nb::module_& module, const char* name, const char* doc, const char* robot) {
  const std::string signature = std::string("def robot(self) -> ") + robot;
  nb::class_<Context> context(module, name, doc);
  context.def_prop_ro(
      "robot", [](const Context& self) -> nb::object { return self.robot; },
      nb::sig(signature.c_str()));
  context.def_prop_ro(
      "settings", [](const Context& self) -> nb::object { return self.settings; },
      nb::sig("def settings(self) -> dict[str, typing.Any]"),
      "Those of the controller, by name, with the types of their defaults.");
  context.def_prop_ro(
      "timestep", [](const Context& self) { return self.timestep; }, "Of the simulation, s.");
  return context;
}

void bind_contexts(nb::module_& module) {
  nb::class_<MobileSpeedLimits>(module, "MobileSpeedLimits", "Largest speeds of a mobile robot.")
      .def_ro("platform_speed", &MobileSpeedLimits::platform_speed, "m/s.")
      .def_ro("platform_acceleration", &MobileSpeedLimits::platform_acceleration, "m/s^2.")
      .def_ro("turn_speed", &MobileSpeedLimits::turn_speed, "rad/s.")
      .def_ro("turn_acceleration", &MobileSpeedLimits::turn_acceleration, "rad/s^2.")
      .def_ro("joint_speed", &MobileSpeedLimits::joint_speed, "rad/s.")
      .def_ro("joint_acceleration", &MobileSpeedLimits::joint_acceleration, "rad/s^2.");

  nb::class_<BodySpring>(module, "BodySpring",
                         "What the body does against a bend or the length of a section: the moment "
                         "stiffness (q - rest) + damping q' holds it.")
      .def_ro("stiffness", &BodySpring::stiffness, "N m/rad, N/m.")
      .def_ro("damping", &BodySpring::damping, "N m s/rad, N s/m.")
      .def_ro("rest", &BodySpring::rest, "rad, m.")
      .def_ro("lag", &BodySpring::lag,
              "With which moments follow their commands, of the slowest chamber, s.");
  auto arm =
      bind_context<PyArmContext>(module, "ArmContext", "What a controller of an arm is made with.",
                                 "tendril._core.ContinuumRobot");
  def_obstacles(arm);
  arm.def_ro("feed_force_limit", &PyArmContext::feed_force_limit,
             "Of the feed servo, N; infinite without one.")
      .def_ro("guide_length", &PyArmContext::guide_length,
              "Of the guide that the arm is fed through, m; 0: none.")
      .def_ro("guide_clearance", &PyArmContext::guide_clearance,
              "Between body and guide on each side, m.")
      .def_ro("body_radius", &PyArmContext::body_radius, "Largest of the sections, m.")
      .def_ro("bending_stiffness", &PyArmContext::bending_stiffness,
              "EI of the last section, N m^2.")
      .def_ro("tendon_count", &PyArmContext::tendon_count, "Tendons and chambers.")
      .def_prop_ro(
          "springs", [](const PyArmContext& self) { return nb::cast(self.springs); },
          nb::sig("def springs(self) -> list[BodySpring]"),
          "What the body does against each coordinate.")
      .def_ro("moving_obstacles", &PyArmContext::moving_obstacles,
              "This many of the obstacles, from the first, may move in the base frame.");
  bind_context<PySnakeContext>(module, "SnakeContext", "What a controller of a snake is made with.",
                               "tendril._core.Snake")
      .def_ro("radius", &PySnakeContext::radius, "Of the links, m.")
      .def_ro("feed_limit", &PySnakeContext::feed_limit, "Of the carriage, m.")
      .def_ro("is_free", &PySnakeContext::is_free, "No carriage.");
  auto mobile = bind_context<PyMobileContext>(module, "MobileContext",
                                              "What a controller of a mobile robot is made with.",
                                              "tendril._core.MobileRobot");
  def_obstacles(mobile);
  mobile.def_ro("limits", &PyMobileContext::limits)
      .def_prop_ro(
          "capsules", [](const PyMobileContext& self) { return self.capsules; },
          "The arm's body, for `Obstacles.clearance`.");
  auto platform = bind_context<PyPlatformContext>(
      module, "PlatformContext",
      "What a controller of a platform with a continuum arm is made "
      "with.",
      "tendril._core.MobileArm");
  def_obstacles(platform);
  platform.def_ro("limits", &PyPlatformContext::limits)
      .def_ro("platform_length", &PyPlatformContext::platform_length, "m.")
      .def_ro("platform_width", &PyPlatformContext::platform_width, "m.")
      .def_ro("platform_height", &PyPlatformContext::platform_height, "m.")
      .def_ro("arm_radius", &PyPlatformContext::arm_radius, "Of the arm's body, m.");
}

}  // namespace

void bind_controller_views(nb::module_& module) {
  bind_obstacles(module);
  bind_arm(module);
  bind_snake_views(module);
  bind_mobile_views(module);
  bind_report(module);
  bind_contexts(module);
}

}  // namespace tendril::python
