#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <numbers>
#include <optional>
#include <vector>

#include "python/src/controllers.hpp"
#include "python/src/robots.hpp"
#include "tendril/mobile/body.hpp"
#include "tendril/model_error.hpp"

namespace tendril::python {
namespace {

nb::object poses(const Obstacles& obstacles) {
  Output all({}, Axes{static_cast<std::size_t>(obstacles.count()), 4, 4});
  for (int i = 0; i < obstacles.count(); ++i)
    write_pose(obstacles.pose(i), all.data() + 16 * static_cast<std::size_t>(i));
  return all.take();
}

nb::object nearest(const Obstacles& obstacles, nb::handle value) {
  const Input points("points", value, Axes{3});
  points.require_finite();
  Output distances(points.leading(), Axes{}), normals(points.leading(), Axes{3});
  for (std::size_t k = 0; k < points.count(); ++k) {
    const Clearance found = obstacles.nearest(Eigen::Vector3d(points.item(k).data()));
    distances.data()[k] = found.distance;
    std::copy_n(found.normal.data(), 3, normals.data() + 3 * k);
  }
  return nb::make_tuple(distances.take(), normals.take());
}

nb::object arm_clearance(const Obstacles& obstacles, const PyContinuumRobot& arm, nb::handle value,
                         double radius, double feed, double spin) {
  const Input states("states", value, Axes{static_cast<std::size_t>(arm.robot.section_count()), 3});
  states.require_angles(0, 3, 2.0 * std::numbers::pi);
  Output clearances(states.leading(), Axes{});
  BodyArcs body(arm.robot);
  for (std::size_t k = 0; k < states.count(); ++k)
    clearances.data()[k] = body_clearance(body, states_of(states.item(k)),
                                          {.feed = feed, .spin = spin}, obstacles, radius)
                               .distance;
  return clearances.take();
}

nb::object mobile_clearance(const Obstacles& obstacles, const PyMobileRobot& robot,
                            nb::handle value, std::optional<std::vector<BodyCapsule>> capsules) {
  const Input states("states", value,
                     Axes{kPlatform + static_cast<std::size_t>(robot.robot.joint_count())});
  states.require_angles(kPlatform, 1, 4.0 * std::numbers::pi);
  Output clearances(states.leading(), Axes{});
  MobileBody body(robot.robot, capsules ? std::move(*capsules) : standard_capsules(robot.robot));
  for (std::size_t k = 0; k < states.count(); ++k) {
    const std::span<const double> state = states.item(k);
    clearances.data()[k] = body.clearance(platform_of(state), state.subspan(kPlatform), obstacles);
  }
  return clearances.take();
}

nb::object vector(const Eigen::Vector3d& p) {
  Output numbers({}, Axes{3});
  std::copy_n(p.data(), 3, numbers.data());
  return numbers.take();
}

}  // namespace

void follow(const Obstacles& from, Obstacles& to) noexcept {
  for (int i = 0; i < from.count(); ++i)
    if (from.pose(i).matrix() != to.pose(i).matrix()) to.set_pose(i, from.pose(i));
}

void bind_obstacles(nb::module_& module) {
  nb::class_<BodyCapsule>(module, "BodyCapsule",
                          "A capsule that moves with a frame of `MobileRobot.frames`.")
      .def_ro("frame", &BodyCapsule::frame, "0: platform, 1: yaw joint, 2 ...: links.")
      .def_prop_ro(
          "start", [](const BodyCapsule& c) { return vector(c.start); },
          nb::sig("def start(self) -> " TENDRIL_ARRAY), "(3,): of its axis, in the frame, m.")
      .def_prop_ro(
          "end", [](const BodyCapsule& c) { return vector(c.end); },
          nb::sig("def end(self) -> " TENDRIL_ARRAY), "(3,): of its axis, in the frame, m.")
      .def_ro("radius", &BodyCapsule::radius, "m.")
      .def(
          "__repr__",
          [](const BodyCapsule& c) {
            nb::str text("<BodyCapsule of frame {}: radius {:g} m>");
            return text.attr("format")(c.frame, c.radius);
          },
          nb::sig("def __repr__(self) -> str"));

  nb::class_<Obstacles>(module, "Obstacles",
                        "The obstacles of a scene, as a controller sees them: in the frame of its "
                        "measurements, m.")
      .def("__len__", &Obstacles::count)
      .def_prop_ro("poses", &poses, nb::sig("def poses(self) -> " TENDRIL_ARRAY),
                   "(obstacles, 4, 4): those that may move come first.")
      .def("nearest", &nearest, nb::arg("points"),
           nb::sig("def nearest(self, points: " TENDRIL_LIKE ") -> tuple[" TENDRIL_ARRAY
                   ", " TENDRIL_ARRAY "]"),
           "Signed distances of points from the nearest obstacle, and the unit vectors away from "
           "it.\n\n"
           ":param points: (..., 3), m\n"
           ":returns: (...), m, negative inside, infinite without obstacles; (..., 3)\n"
           ":raises ModelError: wrong shape or type, a number that is not finite")
      .def("clearance", &arm_clearance, nb::arg("robot"), nb::arg("states"), nb::kw_only(),
           nb::arg("radius") = 0.0, nb::arg("feed") = 0.0, nb::arg("spin") = 0.0,
           nb::sig("def clearance(self, robot: tendril._core.ContinuumRobot, states: " TENDRIL_LIKE
                   ", *, radius: float = 0.0, feed: float = 0.0, spin: float = 0.0) "
                   "-> " TENDRIL_ARRAY),
           "Least distance of an arm's body from all obstacles.\n\n"
           ":param states: (..., sections, 3)\n"
           ":param radius: of the body, such as `context.body_radius`, m\n"
           ":param feed: of the base, m\n:param spin: of the base, rad\n"
           ":returns: (...), m, negative where they overlap, infinite without obstacles\n"
           ":raises ModelError: wrong shape or type, a number that is not finite\n\n"
           "Source: docs/theory/obstacles.md, \"Distance of an arc\".")
      .def("clearance", &mobile_clearance, nb::arg("robot"), nb::arg("states"), nb::kw_only(),
           nb::arg("capsules") = nb::none(),
           nb::sig("def clearance(self, robot: tendril._core.MobileRobot, states: " TENDRIL_LIKE
                   ", *, capsules: collections.abc.Sequence[BodyCapsule] | None = None) "
                   "-> " TENDRIL_ARRAY),
           "Least distance of a mobile robot, platform and arm, from all obstacles.\n\n"
           ":param states: (..., 3 + joints)\n"
           ":param capsules: of the arm, such as `context.capsules`; none: a column and one along "
           "each link, of 35 mm\n"
           ":returns: (...), m, infinite without obstacles\n"
           ":raises ModelError: wrong shape or type, a number that is not finite");
}

}  // namespace tendril::python
