#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <numbers>
#include <tuple>
#include <utility>

#include "python/src/robots.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/mobile/kinematics.hpp"

namespace tendril::python {
namespace {

std::size_t state_size(const PyMobileRobot& robot) {
  return kPlatform + static_cast<std::size_t>(robot.robot.joint_count());
}

nb::object tool_poses(const PyMobileRobot& robot, nb::handle value, int threads) {
  const Input states("states", value, Axes{state_size(robot)});
  states.require_angles(kPlatform, 1, 4.0 * std::numbers::pi);
  Output poses(states.leading(), Axes{4, 4});
  for_each(states.count(), threads, [&, to = poses.data()](std::size_t k) noexcept {
    const std::span<const double> state = states.item(k);
    write_pose(tool_pose(robot.robot, platform_of(state), state.subspan(kPlatform)), to + 16 * k);
  });
  return poses.take();
}

nb::object frames(const PyMobileRobot& robot, nb::handle value, int threads) {
  const Input states("states", value, Axes{state_size(robot)});
  states.require_angles(kPlatform, 1, 4.0 * std::numbers::pi);
  const auto count = static_cast<std::size_t>(frame_count(robot.robot));
  Output poses(states.leading(), Axes{count, 4, 4});
  for_each(states.count(), threads, [&, to = poses.data()](std::size_t k) noexcept {
    thread_local std::vector<Eigen::Isometry3d> X_WF;
    X_WF.resize(count);
    const std::span<const double> state = states.item(k);
    mobile_frames(robot.robot, platform_of(state), state.subspan(kPlatform), X_WF);
    for (std::size_t i = 0; i < count; ++i) write_pose(X_WF[i], to + 16 * (count * k + i));
  });
  return poses.take();
}

nb::object within(const PyMobileRobot& robot, nb::handle value, double tolerance) {
  const Input states("states", value, Axes{state_size(robot)});
  Output inside(states.leading(), Axes{}, "?");
  for (std::size_t k = 0; k < states.count(); ++k)
    inside.data<bool>()[k] =
        within_limits(robot.robot, states.item(k).subspan(kPlatform), tolerance);
  return inside.take();
}

nb::object joint_limits(const PyMobileRobot& robot) {
  Output limits({}, Axes{static_cast<std::size_t>(robot.robot.joint_count()), 2});
  for (int j = 0; j < robot.robot.joint_count(); ++j) {
    limits.data()[2 * j] = robot.robot.joint_limits(j).min;
    limits.data()[2 * j + 1] = robot.robot.joint_limits(j).max;
  }
  return limits.take();
}

nb::object start(const PyMobileRobot& robot) {
  Output state({}, Axes{robot.start.size()});
  std::copy(robot.start.begin(), robot.start.end(), state.data());
  return state.take();
}

nb::object orientations(nb::handle value) {
  const Input angles("angles", value, Axes{3});
  angles.require_finite();
  Output rotations(angles.leading(), Axes{3, 3});
  for (std::size_t k = 0; k < angles.count(); ++k) {
    const std::span<const double> a = angles.item(k);
    Eigen::Map<Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>{rotations.data() + 9 * k} =
        tool_orientation(a[0], a[1], a[2]);
  }
  return rotations.take();
}

nb::object arm_tip_poses(const PyMobileArm& robot, nb::handle base_value, nb::handle states_value,
                         int threads) {
  const auto sections = static_cast<std::size_t>(robot.arm.robot.section_count());
  const Input base("base", base_value, Axes{kPlatform});
  const Input states("states", states_value, Axes{sections, 3});
  base.require_finite();
  states.require_angles(0, 3, 2.0 * std::numbers::pi);
  base.require_leading(states.leading());
  const MobileContinuum mounted{robot.arm.robot, robot.X_PB};
  Output poses(states.leading(), Axes{4, 4});
  for_each(states.count(), threads, [&, to = poses.data()](std::size_t k) noexcept {
    const PlatformPose platform = platform_of(base.item(base.count() == 1 ? 0 : k));
    write_pose(arm_base_pose(mounted, platform) * tip_pose(mounted.arm, states_of(states.item(k))),
               to + 16 * k);
  });
  return poses.take();
}

/// A robot as plain numbers, for pickle.
using Limits = std::tuple<double, double>;
using PickledMobile =
    std::tuple<std::string, std::vector<double>, Limits, std::vector<std::tuple<double, Limits>>,
               Limits, std::vector<double>, std::vector<double>>;

PickledMobile pickled(const PyMobileRobot& robot) {
  const MobileRobotParameters& p = robot.robot.parameters();
  const auto limits = [](const JointLimits& l) { return Limits(l.min, l.max); };
  std::vector<std::tuple<double, Limits>> links;
  for (const ArmLink& link : p.links) links.emplace_back(link.length, limits(link.limits));
  return {robot.name,
          {p.mount_x, p.mount_y, p.shoulder_height, p.shoulder_offset, p.tool_tilt,
           p.platform_length, p.platform_width, p.platform_height},
          limits(p.yaw),
          std::move(links),
          limits(p.roll),
          p.priorities,
          robot.start};
}

PyMobileRobot unpickled(const PickledMobile& from) {
  const auto& [name, numbers, yaw, links, roll, priorities, start] = from;
  const auto limits = [](const Limits& l) {
    return JointLimits{.min = std::get<0>(l), .max = std::get<1>(l)};
  };
  const auto number = [&](std::size_t i) { return numbers.at(i); };
  MobileRobotParameters p{.mount_x = number(0),
                          .mount_y = number(1),
                          .shoulder_height = number(2),
                          .shoulder_offset = number(3),
                          .yaw = limits(yaw),
                          .priorities = priorities,
                          .roll = limits(roll),
                          .tool_tilt = number(4),
                          .platform_length = number(5),
                          .platform_width = number(6),
                          .platform_height = number(7)};
  for (const auto& [length, range] : links) p.links.push_back({length, limits(range)});
  return {name, MobileRobot(p), start};
}

#define TENDRIL_MOBILE_DOC                                                                    \
  ":param states: (..., 3 + joints): x, y, m, and heading, rad, of the platform, then the "   \
  "joints, "                                                                                  \
  "rad; limits are not checked\n"                                                             \
  ":param threads: of a batch; 0: as many as the machine has. The bits do not depend on it\n" \
  ":raises ModelError: wrong shape or type, a number that is not finite\n"
#define TENDRIL_MOBILE_SIGNATURE \
  "(self, states: " TENDRIL_LIKE ", *, threads: int = 0) -> " TENDRIL_ARRAY

}  // namespace

void PyMobileRobot::bind(nb::module_& module) {
  nb::class_<PyMobileRobot>(
      module, "MobileRobot",
      "An arm of in-plane links on a mobile platform: yaw joint, hinges, roll joint; `load_robot`\n"
      "makes it. Immutable. A state is x, y, m, and heading, rad, of the platform on the floor, "
      "then\n"
      "the joints, rad: all zero is straight up. docs/guide/mobile.md.")
      .def_ro("name", &PyMobileRobot::name, "As the robot file says.")
      .def_prop_ro(
          "joint_count", [](const PyMobileRobot& r) { return r.robot.joint_count(); },
          "Yaw, hinges, roll.")
      .def_prop_ro("joint_limits", &joint_limits,
                   nb::sig("def joint_limits(self) -> " TENDRIL_ARRAY),
                   "(joints, 2): smallest and largest angle, rad.")
      .def_prop_ro("start", &python::start, nb::sig("def start(self) -> " TENDRIL_ARRAY),
                   "(3 + joints,): the state that the robot file starts with.")
      .def_prop_ro(
          "reach", [](const PyMobileRobot& r) { return r.robot.reach(); },
          "Sum of the link lengths, m.")
      .def("__len__", [](const PyMobileRobot& r) { return r.robot.joint_count(); })
      .def("__getstate__", &pickled)
      .def("__setstate__",
           [](PyMobileRobot& self, const PickledMobile& state) {
             new (&self) PyMobileRobot(unpickled(state));
           })
      .def(
          "__repr__",
          [](const PyMobileRobot& r) {
            nb::str text("<MobileRobot {!r}: platform and {} joints>");
            return text.attr("format")(r.name, r.robot.joint_count());
          },
          nb::sig("def __repr__(self) -> str"))
      .def("tool_pose", &tool_poses, nb::arg("states"), nb::kw_only(), nb::arg("threads") = 0,
           nb::sig("def tool_pose" TENDRIL_MOBILE_SIGNATURE),
           "Poses of the tool in the world; the tool axis is their x axis.\n\n" TENDRIL_MOBILE_DOC
           ":returns: (..., 4, 4), m\n\nSource: docs/theory/mobile.md.")
      .def("frames", &frames, nb::arg("states"), nb::kw_only(), nb::arg("threads") = 0,
           nb::sig("def frames" TENDRIL_MOBILE_SIGNATURE),
           "Poses of platform, yaw joint, links and tool in the world. A link's origin is its "
           "hinge, "
           "its z axis the link, its y axis the hinge's axis.\n\n" TENDRIL_MOBILE_DOC
           ":returns: (..., joints + 1, 4, 4), m\n\nSource: docs/theory/mobile.md.")
      .def("within_limits", &within, nb::arg("states"), nb::kw_only(), nb::arg("tolerance") = 1e-12,
           nb::sig("def within_limits(self, states: " TENDRIL_LIKE
                   ", *, tolerance: float = 1e-12) -> numpy.typing.NDArray[numpy.bool_]"),
           "Whether all joints are finite and inside their limits.\n\n"
           ":param states: (..., 3 + joints)\n:param tolerance: rad\n:returns: (...), bool\n"
           ":raises ModelError: wrong shape or type");

  module.def("tool_orientation", &orientations, nb::arg("angles"),
             nb::sig("def tool_orientation(angles: " TENDRIL_LIKE ") -> " TENDRIL_ARRAY),
             "Rotations whose x axis, the tool axis of a mobile robot, points with azimuth yaw and "
             "elevation pitch (up is positive), rotated by roll about it: Rz(yaw) Ry(-pitch) "
             "Rx(roll).\n\n"
             ":param angles: (..., 3): roll, pitch, yaw, rad\n:returns: (..., 3, 3)\n"
             ":raises ModelError: wrong shape or type, a number that is not finite");
}

void PyMobileArm::bind(nb::module_& module) {
  nb::class_<PyMobileArm>(module, "MobileArm",
                          "A continuum arm on a mobile platform; `load_robot` makes it. Immutable. "
                          "docs/guide/mobile.md.")
      .def_ro("name", &PyMobileArm::name, "As the robot file says.")
      .def_ro("arm", &PyMobileArm::arm, "The arm, in its own base frame.")
      .def_prop_ro(
          "mount",
          [](const PyMobileArm& r) {
            Output pose({}, Axes{4, 4});
            write_pose(r.X_PB, pose.data());
            return pose.take();
          },
          nb::sig("def mount(self) -> " TENDRIL_ARRAY),
          "(4, 4): the arm's base frame in the platform's (on the floor, x forward, z up), m.")
      .def("__getstate__",
           [](const PyMobileArm& r) {
             std::vector<double> mount(16);
             write_pose(r.X_PB, mount.data());
             return std::tuple(r.name, r.arm, std::move(mount));
           })
      .def("__setstate__",
           [](PyMobileArm& self,
              const std::tuple<std::string, PyContinuumRobot, std::vector<double>>& state) {
             const auto& [name, arm, mount] = state;
             new (&self) PyMobileArm{name, arm, pose_of(mount)};
           })
      .def(
          "__repr__",
          [](const PyMobileArm& r) {
            nb::str text("<MobileArm {!r}: platform and an arm of {} sections>");
            return text.attr("format")(r.name, r.arm.robot.section_count());
          },
          nb::sig("def __repr__(self) -> str"))
      .def("tip_pose", &arm_tip_poses, nb::arg("base"), nb::arg("states"), nb::kw_only(),
           nb::arg("threads") = 0,
           nb::sig("def tip_pose(self, base: " TENDRIL_LIKE ", states: " TENDRIL_LIKE
                   ", *, threads: int = 0) -> " TENDRIL_ARRAY),
           "Poses of the arm's tip in the world.\n\n"
           ":param base: (3,) or (..., 3): x, y, m, and heading, rad, of the platform\n"
           ":param states: (..., sections, 3) of the arm\n"
           ":param threads: of a batch; 0: as many as the machine has. The bits do not depend on "
           "it\n"
           ":returns: (..., 4, 4), m\n"
           ":raises ModelError: wrong shape or type, a number that is not finite");
}

}  // namespace tendril::python
