#include <algorithm>
#include <type_traits>

#include "controllers/controller_kind.hpp"
#include "python/src/controllers.hpp"

namespace tendril::python {

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

// ---- reports

PyControllerReport::PyControllerReport(std::vector<std::string> names)
    : target({3}, Access::Write), own_names(std::move(names)), own_values(own_names.size()) {}

void PyControllerReport::clear() {
  report = {};
  write_numbers(report.target, target.data());
  std::fill(own_values.begin(), own_values.end(), 0.0);
}

void PyControllerReport::get(ControllerReport& to) const noexcept {
  const std::span<double> own = to.own;
  to = report;
  to.own = own;
  read_numbers(target.numbers(), to.target);
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

template <class Robot>
void bind_context(nb::module_& module) {
  using Context = typename Robot::Context;
  using C = PyContext<Context>;
  const std::string robot = std::string("def robot(self) -> tendril._core.") + Robot::kName;
  nb::class_<C> type(module, Context::kName, Context::kMeaning);
  type.def_prop_ro(
          "robot", [](const C& self) -> nb::object { return self.robot; }, nb::sig(robot.c_str()))
      .def_prop_ro(
          "settings", [](const C& self) -> nb::object { return self.settings; },
          nb::sig("def settings(self) -> dict[str, typing.Any]"),
          "Those of the controller, by name, with the types of their defaults.");
  def_fields<Context>(type);
  if constexpr (requires(typename Context::Interface::Measurement m) { m.obstacles; }) {
    type.def_prop_ro(
            "obstacles", [](const C& self) { return self.obstacles ? &*self.obstacles : nullptr; },
            nb::sig("def obstacles(self) -> Obstacles | None"),
            "At their present poses; None unless the setting `avoidance` is on "
            "(`tendril.controller(..., obstacles=True)`).")
        .def_prop_ro(
            "moving_obstacles", [](const C& self) { return self.moving_obstacles; },
            "This many of the obstacles, from the first, may move in the base frame.");
  }
}

/// Binds what a controller measures and commands; several kinds of robots may have the same
/// interface.
template <class Interface>
void bind_interface(nb::module_& module) {
  using Measurement = typename Interface::Measurement;
  if (nb::type<View<Measurement>>().is_valid()) return;
  bind_view<Measurement>(module, Access::Read);
  bind_view<typename Interface::Command>(module, Access::Write);
}

void bind_speed_limits(nb::module_& module) {
  nb::class_<MobileSpeedLimits>(module, "MobileSpeedLimits", "Largest speeds of a mobile robot.")
      .def_ro("platform_speed", &MobileSpeedLimits::platform_speed, "m/s.")
      .def_ro("platform_acceleration", &MobileSpeedLimits::platform_acceleration, "m/s^2.")
      .def_ro("turn_speed", &MobileSpeedLimits::turn_speed, "rad/s.")
      .def_ro("turn_acceleration", &MobileSpeedLimits::turn_acceleration, "rad/s^2.")
      .def_ro("joint_speed", &MobileSpeedLimits::joint_speed, "rad/s.")
      .def_ro("joint_acceleration", &MobileSpeedLimits::joint_acceleration, "rad/s^2.");
}

}  // namespace

void bind_controller_views(nb::module_& module) {
  bind_obstacles(module);
  bind_values<MeasuredContact>(module);
  bind_values<BodySpring>(module);
  bind_speed_limits(module);
  for_each_robot([&]<class Robot>(std::type_identity<Robot>) {
    bind_interface<typename Robot::Context::Interface>(module);
    bind_context<Robot>(module);
  });
  bind_report(module);
}

}  // namespace tendril::python
