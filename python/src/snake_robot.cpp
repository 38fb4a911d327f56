#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <numbers>
#include <tuple>
#include <utility>

#include "python/src/robots.hpp"

namespace tendril::python {
namespace {

std::size_t joints_of(const PySnake& snake) {
  return static_cast<std::size_t>(snake.chain.joint_count());
}

/// Joint angles (..., joints) and the pose of body 0, one or one for each item.
struct Postures {
  Input angles, base;

  Postures(const PySnake& snake, nb::handle angles_value, nb::handle base_value)
      : angles("angles", angles_value, Axes{joints_of(snake)}),
        base("base", base_value.is_none() ? numpy("eye")(4) : nb::borrow(base_value), Axes{4, 4}) {
    angles.require_angles(0, 1, 2.0 * std::numbers::pi);
    base.require_finite();
    base.require_leading(angles.leading());
  }
  [[nodiscard]] Eigen::Isometry3d X_WB(std::size_t k) const noexcept {
    return pose_of(base.item(base.count() == 1 ? 0 : k));
  }
};

nb::object points(const PySnake& snake, nb::handle angles, nb::handle base, int threads) {
  const Postures all(snake, angles, base);
  const std::size_t count = joints_of(snake) + 1;
  Output lines(all.angles.leading(), Axes{count, 3});
  for_each(all.angles.count(), threads, [&, to = lines.data()](std::size_t k) noexcept {
    static_assert(sizeof(Eigen::Vector3d) == 3 * sizeof(double));
    snake_points(snake.chain, all.X_WB(k), all.angles.item(k),
                 {reinterpret_cast<Eigen::Vector3d*>(to + 3 * count * k), count});
  });
  return lines.take();
}

nb::object frames(const PySnake& snake, nb::handle angles, nb::handle base, int threads) {
  const Postures all(snake, angles, base);
  const std::size_t count = joints_of(snake) + 1;
  Output poses(all.angles.leading(), Axes{count, 4, 4});
  for_each(all.angles.count(), threads, [&, to = poses.data()](std::size_t k) noexcept {
    thread_local std::vector<Eigen::Isometry3d> X_WL;
    X_WL.resize(count);
    snake_frames(snake.chain, all.X_WB(k), all.angles.item(k), X_WL);
    for (std::size_t i = 0; i < count; ++i) write_pose(X_WL[i], to + 16 * (count * k + i));
  });
  return poses.take();
}

nb::object within(const PySnake& snake, nb::handle value) {
  const Input angles("angles", value, Axes{joints_of(snake)});
  Output inside(angles.leading(), Axes{}, "?");
  for (std::size_t k = 0; k < angles.count(); ++k)
    inside.data<bool>()[k] = snake.chain.within_limits(angles.item(k));
  return inside.take();
}

/// A number of each joint.
template <class Value>
nb::object of_joints(const PySnake& snake, const Value& value) {
  Output numbers({}, Axes{joints_of(snake)});
  for (int j = 1; j <= snake.chain.joint_count(); ++j) numbers.data()[j - 1] = value(j);
  return numbers.take();
}

}  // namespace

void PySnake::bind(nb::module_& module) {
  nb::class_<PySnake>(module, "Snake",
                      "A chain of links with hinges whose axes alternate: odd joints (counted from "
                      "1) yaw about z,\n"
                      "even ones pitch about -y of the body before. Body 0 is the tail link or the "
                      "carriage; link j\n"
                      "goes from the point B_(j-1) to B_j, along x of body j. Immutable.\n"
                      "Source: [Torus] (3)-(10); docs/theory/snakes.md, \"The chain\".")
      .def(
          "__init__",
          [](PySnake* self, std::vector<double> link_lengths, double joint_limit,
             double rear_length, std::string name) {
            SnakeChain chain({.link_lengths = std::move(link_lengths),
                              .joint_limit = joint_limit,
                              .rear_length = rear_length});
            new (self) PySnake{std::move(name), std::move(chain)};
          },
          nb::arg("link_lengths"), nb::kw_only(), nb::arg("joint_limit") = std::numbers::pi / 2.0,
          nb::arg("rear_length") = 0.0, nb::arg("name") = "snake",
          nb::sig("def __init__(self, link_lengths: collections.abc.Sequence[float], *, "
                  "joint_limit: float = 1.5707963267948966, rear_length: float = 0.0, name: str = "
                  "'snake') -> None"),
          ":param link_lengths: from the base to the head, m, each > 0, an even number\n"
          ":param joint_limit: of every joint in both directions, rad, in (0, pi/2]\n"
          ":param rear_length: of body 0 behind joint 1, m, >= 0\n"
          ":raises ModelError: a parameter outside its range")
      .def_ro("name", &PySnake::name, "As the robot file says.")
      .def_prop_ro(
          "joint_count", [](const PySnake& s) { return s.chain.joint_count(); },
          "As many as links.")
      .def_prop_ro(
          "length", [](const PySnake& s) { return s.chain.length(); },
          "From joint 1 to the end of the head when straight, m.")
      .def_prop_ro(
          "rear_length", [](const PySnake& s) { return s.chain.rear_length(); },
          "Of body 0 behind joint 1, m.")
      .def_prop_ro(
          "link_lengths",
          [](const PySnake& s) {
            return of_joints(s, [&](int j) { return s.chain.link_length(j); });
          },
          nb::sig("def link_lengths(self) -> " TENDRIL_ARRAY), "(joints,): m.")
      .def_prop_ro(
          "joint_limits",
          [](const PySnake& s) {
            return of_joints(s, [&](int j) { return s.chain.joint_limit(j); });
          },
          nb::sig("def joint_limits(self) -> " TENDRIL_ARRAY),
          "(joints,): in both directions, rad.")
      .def_prop_ro(
          "curvature_limits",
          [](const PySnake& s) {
            return of_joints(s, [&](int j) { return s.chain.curvature_limit(j); });
          },
          nb::sig("def curvature_limits(self) -> " TENDRIL_ARRAY),
          "(joints,): largest curvature of a steady arc in the joint's plane that it can follow, "
          "1/m.\n\nSource: docs/theory/snakes.md, \"Steady arcs\".")
      .def("__len__", [](const PySnake& s) { return s.chain.joint_count(); })
      .def("__getstate__",
           [](const PySnake& s) {
             std::vector<double> lengths, limits;
             for (int j = 1; j <= s.chain.joint_count(); ++j) {
               lengths.push_back(s.chain.link_length(j));
               limits.push_back(s.chain.joint_limit(j));
             }
             return std::tuple(s.name, std::move(lengths), std::move(limits),
                               s.chain.rear_length());
           })
      .def("__setstate__",
           [](PySnake& self, const std::tuple<std::string, std::vector<double>, std::vector<double>,
                                              double>& state) {
             const auto& [name, lengths, limits, rear_length] = state;
             new (&self) PySnake{name, SnakeChain({.link_lengths = lengths,
                                                   .joint_limits = limits,
                                                   .rear_length = rear_length})};
           })
      .def(
          "__repr__",
          [](const PySnake& s) {
            nb::str text("<Snake {!r}: {} joints, {:g} m>");
            return text.attr("format")(s.name, s.chain.joint_count(), s.chain.length());
          },
          nb::sig("def __repr__(self) -> str"))
#define TENDRIL_SNAKE_SIGNATURE                             \
  "(self, angles: " TENDRIL_LIKE ", *, base: " TENDRIL_LIKE \
  " | None = None, threads: int = 0) -> " TENDRIL_ARRAY
#define TENDRIL_SNAKE_DOC                                                                       \
  ":param angles: (..., joints), rad; limits are not checked\n"                                 \
  ":param base: (4, 4) or (..., 4, 4): pose of body 0 in the world, its origin at joint 1, m; " \
  "none: the identity\n"                                                                        \
  ":param threads: of a batch; 0: as many as the machine has. The bits do not depend on it\n"   \
  ":raises ModelError: wrong shape or type, a number that is not finite\n"
      .def("points", &points, nb::arg("angles"), nb::kw_only(), nb::arg("base") = nb::none(),
           nb::arg("threads") = 0, nb::sig("def points" TENDRIL_SNAKE_SIGNATURE),
           "The points B_0 ... B_N of the chain in the world.\n\n" TENDRIL_SNAKE_DOC
           ":returns: (..., joints + 1, 3), m\n\nSource: [Torus] (3)-(10).")
      .def("frames", &frames, nb::arg("angles"), nb::kw_only(), nb::arg("base") = nb::none(),
           nb::arg("threads") = 0, nb::sig("def frames" TENDRIL_SNAKE_SIGNATURE),
           "Poses of the bodies 0 ... N in the world, each with its origin at "
           "B_j.\n\n" TENDRIL_SNAKE_DOC
           ":returns: (..., joints + 1, 4, 4), m\n\nSource: [Torus] (3)-(10).")
      .def("within_limits", &within, nb::arg("angles"),
           nb::sig("def within_limits(self, angles: " TENDRIL_LIKE
                   ") -> numpy.typing.NDArray[numpy.bool_]"),
           "Whether all joints are inside their limits.\n\n"
           ":param angles: (..., joints), rad\n:returns: (...), bool\n"
           ":raises ModelError: wrong shape or type");
}

}  // namespace tendril::python
