#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <tuple>
#include <utility>

#include "python/src/robots.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/jacobian.hpp"
#include "tendril/kinematics/random_states.hpp"
#include "tendril/kinematics/turning.hpp"
#include "tendril/model_error.hpp"

namespace tendril::python {
namespace {

using Robot = PyContinuumRobot;
constexpr Axes kPose = {4, 4};

std::size_t count_of(const ContinuumRobot& robot) {
  return static_cast<std::size_t>(robot.section_count());
}

const char* name_of(SectionRotation rotation) {
  return rotation == SectionRotation::Turning ? "turning" : "bending";
}
SectionRotation rotation_of(const std::string& name) {
  for (const SectionRotation rotation : {SectionRotation::Bending, SectionRotation::Turning})
    if (name == name_of(rotation)) return rotation;
  throw ModelError("section 1: rotation = '" + name + "', must be 'bending' or 'turning'");
}

constexpr std::array kPlanes{std::pair("any", BendPlane::Any), std::pair("xz", BendPlane::XZ),
                             std::pair("yz", BendPlane::YZ)};
const char* name_of(BendPlane plane) { return kPlanes[static_cast<std::size_t>(plane)].first; }
BendPlane plane_of(const std::string& name) {
  for (const auto& [known, plane] : kPlanes)
    if (name == known) return plane;
  throw ModelError("section 1: bend_plane = '" + name + "', must be 'any', 'xz' or 'yz'");
}

/// The argument `states` of a robot's functions.
class States : public Input {
 public:
  States(const ContinuumRobot& robot, nb::handle value, const char* name = "states")
      : Input(name, value, Axes{count_of(robot), 3}), sections_(count_of(robot)) {
    if (robot.last_turning() < 0) return;
    const SectionStates given = states_of(all());
    untwisted_.assign(given.begin(), given.end());
    for (std::size_t k = 0; k < count(); ++k)
      to_untwisted(robot, std::span(untwisted_).subspan(k * sections_, sections_));
  }
  /// Throws ModelError for a number that is not finite, and for a bend above any section's.
  void require_bends() const { require_angles(0, 3, 2.0 * std::numbers::pi); }
  [[nodiscard]] SectionStates operator[](std::size_t k) const noexcept {
    return untwisted_.empty() ? states_of(item(k))
                              : SectionStates(untwisted_).subspan(k * sections_, sections_);
  }

 private:
  std::size_t sections_;
  std::vector<SectionState> untwisted_;  // where sections turn
};

/// The arguments `states`, `feed` and `spin`, all finite.
struct Configurations {
  States states;
  Numbers feed, spin;

  Configurations(const Robot& robot, nb::handle states_value, nb::handle feed_value,
                 nb::handle spin_value)
      : states(robot.robot, states_value),
        feed("feed", feed_value, states.leading()),
        spin("spin", spin_value, states.leading()) {
    states.require_bends();
  }
  [[nodiscard]] BaseState base(std::size_t k) const noexcept {
    return {.feed = feed[k], .spin = spin[k]};
  }
};

/// Returns what `make` gives; an error's message has the name that the parameter has in Python and
/// in robot files.
template <class Make>
auto with_python_names(const Make& make) {
  try {
    return make();
  } catch (const ModelError& error) {
    constexpr std::string_view kName = "bend_angle_limit";
    std::string text = error.what();
    if (const std::size_t at = text.find(kName); at != std::string::npos)
      text.replace(at, kName.size(), "bend_limit");
    throw ModelError(text);
  }
}

nb::object tip_poses(const Robot& robot, nb::handle states, nb::handle feed, nb::handle spin,
                     int threads) {
  const Configurations all(robot, states, feed, spin);
  Output poses(all.states.leading(), kPose);
  for_each(all.states.count(), threads, [&, to = poses.data()](std::size_t k) noexcept {
    write_pose(tip_pose(robot.robot, all.states[k], all.base(k)), to + 16 * k);
  });
  return poses.take();
}

nb::object section_poses(const Robot& robot, nb::handle states, nb::handle feed, nb::handle spin,
                         int threads) {
  const Configurations all(robot, states, feed, spin);
  const std::size_t sections = count_of(robot.robot);
  Output poses(all.states.leading(), Axes{sections, 4, 4});
  for_each(all.states.count(), threads, [&, to = poses.data()](std::size_t k) noexcept {
    Eigen::Isometry3d X_BE = base_pose(all.base(k));
    double twist = 0.0;  // by the sections that turn
    for (std::size_t i = 0; i < sections; ++i) {
      const Section& section = robot.robot.section(static_cast<int>(i));
      X_BE = X_BE * section_end_pose(section, all.states[k][i]);
      if (section.turns()) twist = all.states[k][i].phi;
      Eigen::Isometry3d twisted = X_BE;
      if (twist != 0.0) twisted.rotate(Eigen::AngleAxisd(twist, Eigen::Vector3d::UnitZ()));
      write_pose(twisted, to + 16 * (sections * k + i));
    }
  });
  return poses.take();
}

/// Points at equal distances along the backbone, the first at the base, the last at the tip.
void write_backbone(const ContinuumRobot& robot, SectionStates states, const BaseState& base,
                    std::size_t points, double* to) noexcept {
  double length = 0.0;
  for (std::size_t i = 0; i < states.size(); ++i)
    length += robot.section(static_cast<int>(i)).length() + states[i].extension;
  Eigen::Isometry3d X_BS = base_pose(base);
  std::size_t section = 0;
  double before = 0.0;  // length of the sections before
  for (std::size_t k = 0; k < points; ++k) {
    const double at = length * static_cast<double>(k) / static_cast<double>(points - 1);
    const auto length_of = [&] {
      return robot.section(static_cast<int>(section)).length() + states[section].extension;
    };
    while (section + 1 < states.size() && at > before + length_of()) {
      before += length_of();
      X_BS = X_BS * section_end_pose(robot.section(static_cast<int>(section)), states[section]);
      ++section;
    }
    const double fraction = k + 1 == points ? 1.0 : (at - before) / length_of();
    const Eigen::Isometry3d X_SP =
        section_pose_at(robot.section(static_cast<int>(section)), states[section], fraction);
    Eigen::Map<Eigen::Vector3d>(to + 3 * k) = X_BS * X_SP.translation();
  }
}

nb::object backbones(const Robot& robot, nb::handle states, int points, nb::handle feed,
                     nb::handle spin, int threads) {
  if (points < 2) throw ModelError("points = " + std::to_string(points) + ", must be >= 2");
  const Configurations all(robot, states, feed, spin);
  const auto count = static_cast<std::size_t>(points);
  Output lines(all.states.leading(), Axes{count, 3});
  for_each(all.states.count(), threads, [&, to = lines.data()](std::size_t k) noexcept {
    write_backbone(robot.robot, all.states[k], all.base(k), count, to + 3 * count * k);
  });
  return lines.take();
}

nb::object tip_jacobians(const Robot& robot, nb::handle states, nb::handle feed, nb::handle spin,
                         int threads) {
  const Configurations all(robot, states, feed, spin);
  const auto columns = static_cast<std::size_t>(robot.robot.coordinate_count());
  Output jacobians(all.states.leading(), Axes{6, columns});
  for_each(all.states.count(), threads, [&, to = jacobians.data()](std::size_t k) noexcept {
    // The library's matrix stores columns, the array stores rows.
    thread_local Eigen::Matrix<double, 6, Eigen::Dynamic> jacobian;
    jacobian.resize(6, static_cast<Eigen::Index>(columns));
    tip_jacobian(robot.robot, all.states[k], all.base(k), jacobian);
    Eigen::Map<Eigen::Matrix<double, 6, Eigen::Dynamic, Eigen::RowMajor>>(
        to + 6 * columns * k, 6, static_cast<Eigen::Index>(columns)) = jacobian;
  });
  return jacobians.take();
}

nb::object clamped(const Robot& robot, nb::handle value) {
  const States states(robot.robot, value);
  states.require_finite();
  const std::size_t sections = count_of(robot.robot);
  Output inside(states.leading(), Axes{sections, 3});
  auto* const to = reinterpret_cast<SectionState*>(inside.data());
  for (std::size_t k = 0; k < states.count(); ++k)
    for (std::size_t i = 0; i < sections; ++i)
      to[sections * k + i] = robot.robot.clamped(static_cast<int>(i), states_of(states.item(k))[i]);
  return inside.take();
}

nb::object within(const Robot& robot, nb::handle value, double tolerance) {
  const States states(robot.robot, value);
  Output inside(states.leading(), {}, "?");
  for (std::size_t k = 0; k < states.count(); ++k)
    inside.data<bool>()[k] = robot.robot.within_limits(states[k], tolerance);
  return inside.take();
}

nb::object coordinates(const Robot& robot, nb::handle value) {
  const States states(robot.robot, value);
  states.require_bends();
  const auto size = static_cast<std::size_t>(robot.robot.coordinate_count());
  Output q(states.leading(), Axes{size});
  double* to = q.data();
  for (std::size_t k = 0; k < states.count(); ++k) {
    for (int i = 0; i < robot.robot.section_count(); ++i) {
      const SectionState& state = states[k][static_cast<std::size_t>(i)];
      const Eigen::Vector2d bend = bend_vector(state);
      *to++ = bend.x();
      *to++ = bend.y();
      if (robot.robot.section(i).is_extensible()) *to++ = state.extension;
    }
  }
  return q.take();
}

nb::object coordinates_without_extension(nb::handle value) {
  const Input states("states", value, Axes{kAny, 3});
  states.require_angles(0, 3, 2.0 * std::numbers::pi);
  const std::size_t sections = states.item_size() / 3;
  Output q(states.leading(), Axes{2 * sections});
  double* to = q.data();
  for (std::size_t k = 0; k < states.count(); ++k) {
    for (const SectionState& state : states_of(states.item(k))) {
      if (state.extension != 0.0)
        throw ModelError(
            "states: extension = " + std::to_string(state.extension) +
            " m, must be 0: of an arm of variable length use ContinuumRobot.coordinates");
      const Eigen::Vector2d bend = bend_vector(state);
      *to++ = bend.x();
      *to++ = bend.y();
    }
  }
  return q.take();
}

nb::object states_from(const Robot& robot, nb::handle value) {
  const Input q("q", value, Axes{static_cast<std::size_t>(robot.robot.coordinate_count())});
  q.require_finite();
  const std::size_t sections = count_of(robot.robot);
  Output states(q.leading(), Axes{sections, 3});
  auto* to = reinterpret_cast<SectionState*>(states.data());
  for (std::size_t k = 0; k < q.count(); ++k) {
    const std::span<const double> row = q.item(k);
    for (int i = 0; i < robot.robot.section_count(); ++i) {
      const auto at = static_cast<std::size_t>(robot.robot.coordinate_index(i));
      const double extension = robot.robot.section(i).is_extensible() ? row[at + 2] : 0.0;
      *to++ = state_from_bend_vector(row[at], row[at + 1], extension);
    }
    to_own_frames(robot.robot, {to - sections, sections});
  }
  return states.take();
}

nb::object draw(const Robot& robot, nb::handle count, nb::handle rng) {
  nb::object seed = nb::borrow(rng);
  if (nb::hasattr(rng, "integers"))
    seed = rng.attr("integers")(0, UINT64_MAX, nb::arg("dtype") = "uint64",
                                nb::arg("endpoint") = true);
  const std::uint64_t number = PyLong_AsUnsignedLongLong(nb::object(nb::int_(seed)).ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw ModelError("rng = " + nb::cast<std::string>(nb::repr(rng)) +
                     ", must be a numpy.random.Generator or a seed in [0, 2^64)");
  }
  const long long rows = integer_of(count).value_or(-1);
  if (rows < 0)
    throw ModelError("n = " + nb::cast<std::string>(nb::repr(count)) + ", must be >= 0");
  const std::size_t sections = count_of(robot.robot);
  Output states(Shape{static_cast<std::size_t>(rows)}, Axes{sections, 3});
  SplitMix64 random(number);
  auto* const to = reinterpret_cast<SectionState*>(states.data());
  for (std::size_t k = 0; k < static_cast<std::size_t>(rows); ++k)
    random_states(robot.robot, random, {to + sections * k, sections});
  return states.take();
}

}  // namespace

void PyContinuumRobot::bind(nb::module_& module) {
  nb::class_<SectionParameters>(
      module, "Section",
      "A section of a continuum robot: an arc whose length may vary. Lengths in m, angles in "
      "rad.\n\n"
      "Fixed length: variable_length = 0. Telescopic: length = 0. Variable length: both positive.\n"
      "The weights divide it into sub-sections of unlike length and curvature; only ratios "
      "matter.\n"
      "Source: [FABRIKx] sec. 2.1-2.2.")
      .def(
          "__init__",
          [](SectionParameters* self, double length, double variable_length, double bend_limit,
             std::vector<double> length_weights, std::vector<double> angle_weights,
             const std::string& rotation, const std::string& bend_plane) {
            SectionParameters parameters{.length = length,
                                         .variable_length = variable_length,
                                         .bend_angle_limit = bend_limit,
                                         .length_weights = std::move(length_weights),
                                         .angle_weights = std::move(angle_weights),
                                         .rotation = rotation_of(rotation),
                                         .bend_plane = plane_of(bend_plane)};
            with_python_names([&] { return Section(parameters); });
            new (self) SectionParameters(std::move(parameters));
          },
          nb::kw_only(), nb::arg("length") = 0.0, nb::arg("variable_length") = 0.0,
          nb::arg("bend_limit") = std::numbers::pi,
          nb::arg("length_weights") = std::vector<double>(),
          nb::arg("angle_weights") = std::vector<double>(), nb::arg("rotation") = "bending",
          nb::arg("bend_plane") = "any",
          nb::sig("def __init__(self, *, length: float = 0.0, variable_length: float = 0.0, "
                  "bend_limit: float = 3.141592653589793, length_weights: "
                  "collections.abc.Sequence[float] = (), angle_weights: "
                  "collections.abc.Sequence[float] = (), rotation: str = 'bending', "
                  "bend_plane: str = 'any') -> None"),
          ":param length: constant part of the length, m\n"
          ":param variable_length: largest variable part, m\n"
          ":param bend_limit: largest bend angle, rad, in (0, 2 pi]; at full variable length\n"
          ":param length_weights: of the sub-sections, each > 0; empty: one sub-section\n"
          ":param angle_weights: of the sub-sections, each >= 0, as many\n"
          ":param rotation: \"bending\": it bends in every plane; \"turning\": in one plane of its "
          "own, which turns with it on its base\n"
          ":param bend_plane: \"any\", \"xz\" or \"yz\": the plane of its base frame in which "
          "alone it "
          "bends\n"
          ":raises ModelError: a parameter outside its range")
      .def_ro("length", &SectionParameters::length, "Constant part of the length, m.")
      .def_ro("variable_length", &SectionParameters::variable_length,
              "Largest variable part of the length, m.")
      .def_ro("bend_limit", &SectionParameters::bend_angle_limit, "Largest bend angle, rad.")
      .def_prop_ro(
          "length_weights", [](const SectionParameters& s) { return s.length_weights; },
          "Lengths of the sub-sections; only ratios matter.")
      .def_prop_ro(
          "angle_weights", [](const SectionParameters& s) { return s.angle_weights; },
          "Bend angles of the sub-sections; only ratios matter.")
      .def_prop_ro(
          "rotation", [](const SectionParameters& s) { return name_of(s.rotation); },
          "\"bending\" or \"turning\".")
      .def_prop_ro(
          "bend_plane", [](const SectionParameters& s) { return name_of(s.bend_plane); },
          "\"any\", \"xz\" or \"yz\".")
      .def(
          "__eq__",
          [](const SectionParameters& a, nb::handle other) {
            SectionParameters* b = nullptr;
            return nb::try_cast(other, b) && b != nullptr && a.length == b->length &&
                   a.variable_length == b->variable_length &&
                   a.bend_angle_limit == b->bend_angle_limit &&
                   a.length_weights == b->length_weights && a.angle_weights == b->angle_weights &&
                   a.rotation == b->rotation && a.bend_plane == b->bend_plane;
          },
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__getstate__",
           [](const SectionParameters& s) {
             return std::tuple(s.length, s.variable_length, s.bend_angle_limit, s.length_weights,
                               s.angle_weights, std::string(name_of(s.rotation)),
                               std::string(name_of(s.bend_plane)));
           })
      .def("__setstate__",
           [](SectionParameters& self,
              const std::tuple<double, double, double, std::vector<double>, std::vector<double>,
                               std::string, std::string>& state) {
             const auto& [length, variable_length, bend_limit, length_weights, angle_weights,
                          rotation, plane] = state;
             new (&self) SectionParameters{length,         variable_length, bend_limit,
                                           length_weights, angle_weights,   rotation_of(rotation),
                                           plane_of(plane)};
           })
      .def(
          "__repr__",
          [](const SectionParameters& s) {
            nb::str text("Section(length={}, variable_length={}, bend_limit={})");
            return text.attr("format")(s.length, s.variable_length, s.bend_angle_limit);
          },
          nb::sig("def __repr__(self) -> str"));
#define TENDRIL_BASE_ARGUMENTS \
  "feed: " TENDRIL_LIKE " = 0.0, spin: " TENDRIL_LIKE " = 0.0, threads: int = 0"
#define TENDRIL_BASE_DOC                                                                      \
  ":param states: (..., sections, 3): theta, phi, rad, and extension, m, of each section; "   \
  "limits are not checked\n"                                                                  \
  ":param feed: shift of the base along its z axis, m; a number, or one for each item\n"      \
  ":param spin: of the base about its z axis, rad; likewise\n"                                \
  ":param threads: of a batch; 0: as many as the machine has. The bits do not depend on it\n" \
  ":raises ModelError: wrong shape or type, a number that is not finite\n"

  nb::class_<Robot>(module, "ContinuumRobot",
                    "Sections in a row on a base. Immutable; may be used by several threads.\n\n"
                    "A state of a section is theta (bend angle, rad, >= 0), phi (bend direction in "
                    "the xy-plane of\n"
                    "the section's base, rad; 0 leans the end towards +x; of a section that turns, "
                    "the angle by\n"
                    "which it has turned on its base) and extension (current "
                    "variable length,\n"
                    "m). Poses are in the base frame, whose z axis is the straight arm.\n"
                    "Source: [FABRIKx] sec. 2.2, (2.7).")
      .def(
          "__init__",
          [](Robot* self, std::vector<SectionParameters> sections, double feed_limit,
             nb::handle spin, std::string name) {
            const BaseParameters options{.feed_limit = feed_limit, .spin = flag_of("spin", spin)};
            ContinuumRobot robot =
                with_python_names([&] { return ContinuumRobot(sections, options); });
            new (self) Robot{std::move(name), std::move(sections), std::move(robot)};
          },
          nb::arg("sections"), nb::kw_only(), nb::arg("feed_limit") = 0.0, nb::arg("spin") = false,
          nb::arg("name") = "arm",
          nb::sig("def __init__(self, sections: collections.abc.Sequence[Section], *, feed_limit: "
                  "float = 0.0, spin: bool = False, name: str = 'arm') -> None"),
          ":param sections: from the base to the tip, 1 to 1000\n"
          ":param feed_limit: largest shift of the base along its z axis, m; 0: no feed\n"
          ":param spin: the base can turn about its z axis\n"
          ":raises ModelError: a parameter outside its range")
      .def_ro("name", &Robot::name, "As the robot file says.")
      .def_prop_ro(
          "sections", [](const Robot& r) { return r.sections; }, "From the base to the tip.")
      .def_prop_ro(
          "feed_limit", [](const Robot& r) { return r.robot.base().feed_limit; },
          "Largest shift of the base along its z axis, m.")
      .def_prop_ro(
          "spin", [](const Robot& r) { return r.robot.base().spin; },
          "Whether the base can turn about its z axis.")
      .def_prop_ro(
          "max_length", [](const Robot& r) { return r.robot.max_length(); },
          "Sum of the largest section lengths, m.")
      .def_prop_ro(
          "coordinate_count", [](const Robot& r) { return r.robot.coordinate_count(); },
          "Number of smooth coordinates: u, v of each section, and s of those of variable length.")
      .def("__len__", [](const Robot& r) { return r.robot.section_count(); })
      .def("__getstate__",
           [](const Robot& r) {
             return std::tuple(r.name, r.sections, r.robot.base().feed_limit, r.robot.base().spin);
           })
      .def("__setstate__",
           [](Robot& self,
              const std::tuple<std::string, std::vector<SectionParameters>, double, bool>& state) {
             const auto& [name, sections, feed_limit, spin] = state;
             new (&self) Robot{name, sections,
                               ContinuumRobot(sections, {.feed_limit = feed_limit, .spin = spin})};
           })
      .def(
          "__repr__",
          [](const Robot& r) {
            nb::str text("<ContinuumRobot {!r}: {} sections, {:g} m>");
            return text.attr("format")(r.name, r.robot.section_count(), r.robot.max_length());
          },
          nb::sig("def __repr__(self) -> str"))
      .def_prop_ro(
          "straight",
          [](const Robot& r) {
            Output states({}, Axes{count_of(r.robot), 3});
            std::copy(r.robot.straight().begin(), r.robot.straight().end(),
                      reinterpret_cast<SectionState*>(states.data()));
            return states.take();
          },
          nb::sig("def straight(self) -> " TENDRIL_ARRAY),
          "(sections, 3): every section straight, variable lengths at half of their range.")
      .def(
          "tip_pose", &tip_poses, nb::arg("states"), nb::kw_only(), nb::arg("feed") = 0.0,
          nb::arg("spin") = 0.0, nb::arg("threads") = 0,
          nb::sig("def tip_pose(self, states: " TENDRIL_LIKE ", *, " TENDRIL_BASE_ARGUMENTS
                  ") -> " TENDRIL_ARRAY),
          "Poses of the tip in the base frame.\n\n" TENDRIL_BASE_DOC
          ":returns: (..., 4, 4), m; the tip's z axis is the backbone's tangent\n\n"
          "Source: [FABRIKx] (2.7) without its last factor, which only turns the tip about its own "
          "axis.")
      .def("section_poses", &section_poses, nb::arg("states"), nb::kw_only(), nb::arg("feed") = 0.0,
           nb::arg("spin") = 0.0, nb::arg("threads") = 0,
           nb::sig("def section_poses(self, states: " TENDRIL_LIKE ", *, " TENDRIL_BASE_ARGUMENTS
                   ") -> " TENDRIL_ARRAY),
           "Poses of the ends of all sections in the base frame.\n\n" TENDRIL_BASE_DOC
           ":returns: (..., sections, 4, 4), m; the last one is the tip's\n\n"
           "Source: [FABRIKx] (2.6), (2.7).")
      .def(
          "backbone", &backbones, nb::arg("states"), nb::arg("points") = 50, nb::kw_only(),
          nb::arg("feed") = 0.0, nb::arg("spin") = 0.0, nb::arg("threads") = 0,
          nb::sig("def backbone(self, states: " TENDRIL_LIKE
                  ", points: int = 50, *, " TENDRIL_BASE_ARGUMENTS ") -> " TENDRIL_ARRAY),
          "Points of the backbone in the base frame, at equal distances along it: the first at the "
          "base, the last at the tip.\n\n" TENDRIL_BASE_DOC
          ":param points: of each line, >= 2\n"
          ":returns: (..., points, 3), m\n\n"
          "Source: docs/theory/kinematics.md, \"Planar shape of a section\".")
      .def("tip_jacobian", &tip_jacobians, nb::arg("states"), nb::kw_only(), nb::arg("feed") = 0.0,
           nb::arg("spin") = 0.0, nb::arg("threads") = 0,
           nb::sig("def tip_jacobian(self, states: " TENDRIL_LIKE ", *, " TENDRIL_BASE_ARGUMENTS
                   ") -> " TENDRIL_ARRAY),
           "Derivatives of the tip's position and direction with respect to the smooth "
           "coordinates.\n\n" TENDRIL_BASE_DOC
           ":returns: (..., 6, coordinate_count): rows 0-2 position, m, rows 3-5 the tip's z axis; "
           "base frame; columns as `coordinates`\n\n"
           "Source: docs/theory/kinematics.md, \"Tip Jacobian in u, v, s\".")
      .def("coordinates", &coordinates, nb::arg("states"),
           nb::sig("def coordinates(self, states: " TENDRIL_LIKE ") -> " TENDRIL_ARRAY),
           "Smooth coordinates of states: u = theta cos(phi), v = theta sin(phi), rad, and, for a "
           "section of variable length, s, m.\n\n"
           ":param states: (..., sections, 3)\n"
           ":returns: (..., coordinate_count)\n"
           ":raises ModelError: wrong shape or type, a number that is not finite")
      .def("states", &states_from, nb::arg("q"),
           nb::sig("def states(self, q: " TENDRIL_LIKE ") -> " TENDRIL_ARRAY),
           "States with these smooth coordinates; phi is 0 below a bend of 1e-12 rad.\n\n"
           ":param q: (..., coordinate_count)\n"
           ":returns: (..., sections, 3)\n"
           ":raises ModelError: wrong shape or type, a number that is not finite")
      .def("clamp", &clamped, nb::arg("states"),
           nb::sig("def clamp(self, states: " TENDRIL_LIKE ") -> " TENDRIL_ARRAY),
           "The states brought inside the limits: the extension, then the bend angle.\n\n"
           ":param states: (..., sections, 3)\n"
           ":returns: the same shape\n"
           ":raises ModelError: wrong shape or type, a number that is not finite\n\n"
           "Source: [FABRIKx] (2.24)-(2.26).")
      .def("within_limits", &within, nb::arg("states"), nb::kw_only(), nb::arg("tolerance") = 1e-12,
           nb::sig("def within_limits(self, states: " TENDRIL_LIKE
                   ", *, tolerance: float = 1e-12) -> numpy.typing.NDArray[numpy.bool_]"),
           "Whether all sections are finite and inside the limits.\n\n"
           ":param states: (..., sections, 3)\n"
           ":param tolerance: rad and m\n"
           ":returns: (...), bool\n"
           ":raises ModelError: wrong shape or type")
      .def(
          "random_states", &draw, nb::arg("n"), nb::arg("rng"),
          nb::sig("def random_states(self, n: int, rng: numpy.random.Generator | int) "
                  "-> " TENDRIL_ARRAY),
          "States inside the limits: extension uniform in its range, theta uniform below the limit "
          "(and below the bend where the chord angle ceases to determine it), phi uniform in "
          "[-pi, pi).\n\n"
          ":param n: how many\n"
          ":param rng: a seed, for the numbers of the C++ library, or a generator that one seed is "
          "drawn from\n"
          ":returns: (n, sections, 3)\n\n"
          "Source: [FABRIKx] sec. 3.1.");
  module.def("coordinates", &coordinates_without_extension, nb::arg("states"),
             nb::sig("def coordinates(states: " TENDRIL_LIKE ") -> " TENDRIL_ARRAY),
             "Smooth coordinates of the states of an arm whose sections all have a fixed length: u "
             "= theta cos(phi), v = theta sin(phi), rad.\n\n"
             ":param states: (..., sections, 3), extensions 0\n"
             ":returns: (..., 2 sections), as `ContinuumRobot.coordinates`\n"
             ":raises ModelError: wrong shape or type, a number that is not finite, an extension "
             "other than 0");
}

}  // namespace tendril::python
