#include "tendril/ik/workspace.hpp"

#include <nanobind/stl/optional.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "python/src/robots.hpp"
#include "tendril/kinematics/section_workspace.hpp"
#include "tendril/kinematics/turning.hpp"
#include "tendril/model_error.hpp"

namespace tendril::python {
namespace {

struct PyWorkspace {
  Workspace set;
  std::size_t sections = 0;
};

/// An array with a number of each cell: `number(cell)`.
template <class T, class Number>
nb::object column(const PyWorkspace& self, const char* type, const Number& number) {
  Output all({self.set.cells.size()}, {}, type);
  T* to = all.data<T>();
  for (const WorkspaceCell& cell : self.set.cells) *to++ = static_cast<T>(number(cell));
  return all.take();
}
nb::object numbers(const PyWorkspace& self, double WorkspaceCell::*value) {
  return column<double>(self, "d", [&](const WorkspaceCell& cell) { return cell.*value; });
}
nb::object flags(const PyWorkspace& self, bool WorkspaceCell::*value) {
  return column<bool>(self, "?", [&](const WorkspaceCell& cell) { return cell.*value; });
}

nb::object states_of_cells(const PyWorkspace& self) {
  Output all({self.set.cells.size()}, Axes{self.sections, 3});
  auto* to = reinterpret_cast<SectionState*>(all.data());
  for (const WorkspaceCell& cell : self.set.cells)
    to = std::copy(cell.states.begin(), cell.states.end(), to);
  return all.take();
}

nb::object tips(const PyWorkspace& self) {
  Output all({self.set.cells.size()}, Axes{3});
  double* to = all.data();
  for (const WorkspaceCell& cell : self.set.cells)
    to = std::copy(cell.tip.begin(), cell.tip.end(), to);
  return all.take();
}

/// An array (points, 2).
nb::object points(const std::vector<Eigen::Vector2d>& from) {
  Output all({from.size()}, Axes{2});
  double* to = all.data();
  for (const Eigen::Vector2d& point : from) to = std::copy(point.begin(), point.end(), to);
  return all.take();
}

struct PySectionWorkspace {
  SectionWorkspace set;
  std::optional<double> critical;
  double invertible;  // [rad]
};

nb::object bends(const PySectionWorkspace& self, double BentSection::*value) {
  Output all({self.set.bends.size()}, {});
  double* to = all.data();
  for (const BentSection& bend : self.set.bends) *to++ = bend.*value;
  return all.take();
}

PyWorkspace workspace(const PyContinuumRobot& robot, const WorkspaceOptions& options,
                      std::optional<int> max_iterations) {
  WorkspaceOptions all = options;
  if (max_iterations && *max_iterations < 1)
    throw ModelError("max_iterations = " + std::to_string(*max_iterations) + ", must be >= 1");
  all.solving.max_iterations = max_iterations.value_or(0);
  require_threads(options.threads);
  const nb::gil_scoped_release unlocked;
  PyWorkspace found{workspace_of(robot.robot, all),
                    static_cast<std::size_t>(robot.robot.section_count())};
  for (WorkspaceCell& cell : found.set.cells) to_own_frames(robot.robot, cell.states);
  return found;
}

void bind_whole(nb::module_& module) {
  using W = PyWorkspace;
  const auto whole = [](auto member) { return [member](const W& w) { return w.set.*member; }; };
  nb::class_<W>(module, "Workspace",
                "Positions that an arm's tip reaches: square cells of the half-plane beside the "
                "base axis, which make\nup a body of revolution. Arrays have one item for each "
                "reached cell. docs/guide/workspace.md")
      .def_prop_ro(
          "cell_edge", [](const W& w) { return w.set.grid.edge; }, "Of a cell, m.")
      .def_prop_ro("rows", whole(&Workspace::rows), "Of the smallest window with all cells.")
      .def_prop_ro("columns", whole(&Workspace::columns), "From the axis outwards.")
      .def_prop_ro("area", whole(&Workspace::area), "Of the set in the half-plane, m².")
      .def_prop_ro("volume", whole(&Workspace::volume), "Of the body of revolution, m³.")
      .def_prop_ro(
          "row",
          [](const W& w) {
            return column<std::int32_t>(
                w, "i", [&](const WorkspaceCell& cell) { return cell.cell.row - w.set.first_row; });
          },
          nb::sig("def row(self) -> numpy.typing.NDArray[numpy.int32]"),
          "Of each cell, 0 is the lowest: `image[w.row, w.column] = w.dexterity`.")
      .def_prop_ro(
          "column",
          [](const W& w) {
            return column<std::int32_t>(w, "i",
                                        [](const WorkspaceCell& cell) { return cell.cell.column; });
          },
          nb::sig("def column(self) -> numpy.typing.NDArray[numpy.int32]"), "Of each cell.")
      .def_prop_ro(
          "rho",
          [](const W& w) {
            return column<double>(w, "d", [&](const WorkspaceCell& cell) {
              return w.set.grid.rho(cell.cell.column);
            });
          },
          nb::sig("def rho(self) -> " TENDRIL_ARRAY),
          "Distance of each cell's center from the base axis, m.")
      .def_prop_ro(
          "z",
          [](const W& w) {
            return column<double>(
                w, "d", [&](const WorkspaceCell& cell) { return w.set.grid.z(cell.cell.row); });
          },
          nb::sig("def z(self) -> " TENDRIL_ARRAY), "Of each cell's center, m.")
      .def_prop_ro(
          "sampled", [](const W& w) { return flags(w, &WorkspaceCell::sampled); },
          nb::sig("def sampled(self) -> numpy.typing.NDArray[numpy.bool_]"),
          "A random pose has its tip in the cell.")
      .def_prop_ro(
          "solved", [](const W& w) { return flags(w, &WorkspaceCell::solved); },
          nb::sig("def solved(self) -> numpy.typing.NDArray[numpy.bool_]"),
          "The solver put the tip into the cell.")
      .def_prop_ro(
          "converged", [](const W& w) { return flags(w, &WorkspaceCell::converged); },
          nb::sig("def converged(self) -> numpy.typing.NDArray[numpy.bool_]"),
          "And met a target in the cell.")
      .def_prop_ro(
          "center", [](const W& w) { return flags(w, &WorkspaceCell::center); },
          nb::sig("def center(self) -> numpy.typing.NDArray[numpy.bool_]"),
          "That target was the cell's center.")
      .def_prop_ro(
          "dexterity", [](const W& w) { return numbers(w, &WorkspaceCell::dexterity); },
          nb::sig("def dexterity(self) -> " TENDRIL_ARRAY),
          "Part of the tried directions that the tip can have; 0 if none was tried.")
      .def_prop_ro(
          "iterations",
          [](const W& w) {
            return column<std::int32_t>(w, "i",
                                        [](const WorkspaceCell& cell) { return cell.iterations; });
          },
          nb::sig("def iterations(self) -> numpy.typing.NDArray[numpy.int32]"),
          "Of the solve; 0 where none converged.")
      .def_prop_ro(
          "time", [](const W& w) { return numbers(w, &WorkspaceCell::time); },
          nb::sig("def time(self) -> " TENDRIL_ARRAY),
          "Of the solve, s; 0 where none converged, or without `measure_time`.")
      .def_prop_ro("tip", &tips, nb::sig("def tip(self) -> " TENDRIL_ARRAY),
                   "(cells, 3): of a pose with the tip in the cell, m, in the base frame.")
      .def_prop_ro("states", &states_of_cells, nb::sig("def states(self) -> " TENDRIL_ARRAY),
                   "(cells, sections, 3): that pose, inside the limits.")
      .def_prop_ro(
          "feed",
          [](const W& w) {
            return column<double>(w, "d", [](const WorkspaceCell& cell) { return cell.base.feed; });
          },
          nb::sig("def feed(self) -> " TENDRIL_ARRAY), "Of the base in that pose, m.")
      .def(
          "__repr__",
          [](const W& w) {
            nb::str text("<Workspace: {} cells of {:.3g} m, {:.3g} m³>");
            return text.attr("format")(w.set.cells.size(), w.set.grid.edge, w.set.volume);
          },
          nb::sig("def __repr__(self) -> str"));
  module.def(
      "workspace",
      [](const PyContinuumRobot& robot, int cells, std::int64_t samples, int directions,
         std::string solver, double position_tolerance, double angle_tolerance,
         std::optional<int> max_iterations, std::uint64_t seed, int threads, bool measure_time) {
        return workspace(robot,
                         {.cells = cells,
                          .samples = samples,
                          .directions = directions,
                          .solver = std::move(solver),
                          .solving = {.position_tolerance = position_tolerance,
                                      .angle_tolerance = angle_tolerance},
                          .seed = seed,
                          .threads = threads,
                          .measure_time = measure_time},
                         max_iterations);
      },
      nb::arg("robot"), nb::kw_only(), nb::arg("cells") = WorkspaceOptions{}.cells,
      nb::arg("samples") = WorkspaceOptions{}.samples,
      nb::arg("directions") = WorkspaceOptions{}.directions, nb::arg("solver") = "auto",
      nb::arg("position_tolerance") = SolverOptions{}.position_tolerance,
      nb::arg("angle_tolerance") = SolverOptions{}.angle_tolerance,
      nb::arg("max_iterations") = nb::none(), nb::arg("seed") = 1, nb::arg("threads") = 0,
      nb::arg("measure_time") = false,
      "Finds the positions that the tip of an arm reaches, with its base's feed, as `tendril "
      "workspace`.\n\n"
      ":param cells: along the longer side of the set, in [4, 2000]\n"
      ":param samples: random poses that begin the search, in [100, 1e9]\n"
      ":param directions: of the tip, tried in every cell; 0: no dexterity\n"
      ":param solver: a name that `Solver` takes\n"
      ":param position_tolerance: m, > 0\n"
      ":param angle_tolerance: rad, > 0\n"
      ":param max_iterations: of a solve, >= 1; none: the solver's own, 500 with a direction\n"
      ":param seed: of the random poses\n"
      ":param threads: 0: as many as the machine has. The bits, except times, do not depend on it\n"
      ":param measure_time: fill `Workspace.time`\n"
      ":raises ModelError: an option outside its range, an unknown solver\n\n"
      "Source: [FABRIKx] sec. 3.1.2, table 3.5, figures 3.8, 3.9.");
}

void bind_section(nb::module_& module) {
  using S = PySectionWorkspace;
  const auto bend = [](double BentSection::*value) {
    return [value](const S& s) { return bends(s, value); };
  };
  nb::class_<S>(module, "SectionWorkspace",
                "Points that the end of a section reaches alone: a curve or a region of its bend "
                "plane, turned about its\nbase axis.")
      .def_prop_ro("theta", bend(&BentSection::theta), nb::sig("def theta(self) -> " TENDRIL_ARRAY),
                   "(bends,): from 0 to the bend limit, rad.")
      .def_prop_ro("chord_angle", bend(&BentSection::chord_angle),
                   nb::sig("def chord_angle(self) -> " TENDRIL_ARRAY),
                   "(bends,): alpha, between the base axis and the chord, rad; may exceed pi.")
      .def_prop_ro("ratio", bend(&BentSection::ratio), nb::sig("def ratio(self) -> " TENDRIL_ARRAY),
                   "(bends,): k = theta / alpha, 2 for constant curvature; infinite where alpha "
                   "vanishes.")
      .def_prop_ro(
          "end",
          [](const S& s) {
            std::vector<Eigen::Vector2d> ends;
            for (const BentSection& one : s.set.bends) ends.push_back(one.end);
            return points(ends);
          },
          nb::sig("def end(self) -> " TENDRIL_ARRAY),
          "(bends, 2): x, z of the end at the largest length, m.")
      .def_prop_ro(
          "outline", [](const S& s) { return points(s.set.outline); },
          nb::sig("def outline(self) -> " TENDRIL_ARRAY),
          "(points, 2): x, z of the boundary, m; closed if the section is extensible.")
      .def_prop_ro(
          "critical_bend", [](const S& s) { return s.critical; },
          "First bend at which the chord angle stops growing, rad; None if there is none below the "
          "limit.")
      .def_prop_ro(
          "invertible_bend", [](const S& s) { return s.invertible; },
          "Bend up to which the chord angle grows and remains below pi, at most the limit, rad.")
      .def_prop_ro(
          "surface", [](const S& s) { return s.set.surface; },
          "Area of the surface of revolution of a fixed length, m²; else 0.")
      .def_prop_ro(
          "area", [](const S& s) { return s.set.area; },
          "Of the set in the half-plane, m²; 0 for a fixed length.")
      .def_prop_ro(
          "volume", [](const S& s) { return s.set.volume; },
          "Of the body of revolution, m³; 0 for a fixed length.")
      .def(
          "__repr__",
          [](const S& s) {
            nb::str text("<SectionWorkspace: {} bends>");
            return text.attr("format")(s.set.bends.size());
          },
          nb::sig("def __repr__(self) -> str"));
  module.def(
      "section_workspace",
      [](const SectionParameters& parameters, int count) {
        const Section section(parameters);
        return S{section_workspace(section, count), critical_bend_angle(section),
                 section.invertible_bend_angle()};
      },
      nb::arg("section"), nb::kw_only(), nb::arg("bends") = 181,
      "Points that the end of a section reaches alone, chord angle and ratio k over its bend.\n\n"
      ":param bends: at equal distances, >= 2\n"
      ":raises ModelError: fewer bends\n\n"
      "Source: [FABRIKx] sec. 2.3.1, (2.13), figures 1.3, 2.2, 2.3, 3.14.");
}

}  // namespace

void bind_workspace(nb::module_& module) {
  bind_whole(module);
  bind_section(module);
}

}  // namespace tendril::python
