#include "python/src/section_map.hpp"

#include <nanobind/stl/tuple.h>

#include <array>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "python/src/robots.hpp"
#include "tendril/model_error.hpp"

namespace tendril::python {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kRow = 4;  // theta, x, z, tangent

/// By a function of the user. Solves that call Python run in one thread, the caller's.
thread_local std::exception_ptr raised;

/// A function of the user and what it returns, numbers; NaN from the first exception on.
template <std::size_t kCount>
class UserFunction {
 public:
  using Numbers = std::array<double, kCount>;

  UserFunction(nb::object function, const char* name, const char* returned)
      : function_(std::move(function)), name_(name), returned_(returned) {}

  [[nodiscard]] Numbers operator()(double a, double b) const noexcept {
    Numbers numbers;
    numbers.fill(kNan);
    if (raised) return numbers;
    const nb::gil_scoped_acquire locked;
    try {
      numbers = numbers_of(function_(a, b));
    } catch (...) {
      raised = std::current_exception();
    }
    return numbers;
  }

 private:
  [[nodiscard]] Numbers numbers_of(const nb::object& result) const {
    Numbers numbers;
    std::size_t count = 0;
    if (nb::isinstance<nb::iterable>(result)) {
      for (const nb::handle item : result) {
        if (count < kCount && !nb::try_cast(item, numbers[count])) break;
        if (++count > kCount) break;
      }
    }
    if (count == kCount) return numbers;
    throw ModelError(std::string(name_) + " returned " + nb::cast<std::string>(nb::repr(result)) +
                     ", must return " + returned_);
  }

  nb::object function_;
  const char *name_, *returned_;
};

struct PySectionMap {
  nb::object forward, inverse, poses, name;  ///< of the constructors, None where not given
  SectionMap map;
  [[nodiscard]] bool calls_python() const { return !forward.is_none(); }
};

PySectionMap of_functions(nb::object forward, nb::object inverse) {
  PySectionMap made{forward, inverse, nb::none(), nb::none(), {}};
  const auto require_callable = [](const char* name, nb::handle function) {
    if (PyCallable_Check(function.ptr()) == 0)
      throw ModelError(std::string(name) + " = " + nb::cast<std::string>(nb::repr(function)) +
                       ", must be a function");
  };
  require_callable("forward", forward);
  made.map.forward = [call = std::make_shared<const UserFunction<3>>(
                          std::move(forward), "forward", "x, z, tangent")](double theta,
                                                                           double extension) {
    const auto [x, z, tangent] = (*call)(theta, extension);
    return SectionEnd{x, z, tangent};
  };
  if (inverse.is_none()) return made;
  require_callable("inverse", inverse);
  made.map.inverse = [call = std::make_shared<const UserFunction<2>>(
                          std::move(inverse), "inverse", "bend, extension")](double rho, double z) {
    const auto [theta, extension] = (*call)(rho, z);
    return SectionBend{theta, extension};
  };
  return made;
}

PySectionMap of_poses(nb::object poses, nb::object name) {
  const Input rows("poses", poses, Axes{kRow});
  if (rows.leading().size() != 1)
    throw ModelError("poses: leading axes must be (rows,): theta, x, z, tangent of each");
  std::vector<SectionPose> table;
  for (std::size_t k = 0; k < rows.count(); ++k) {
    const std::span<const double> row = rows.item(k);
    table.push_back({row[0], {row[1], row[2], row[3]}});
  }
  SectionMap map = section_table(table, nb::cast<std::string>(name));
  return {nb::none(), nb::none(), std::move(poses), std::move(name), std::move(map)};
}

std::tuple<double, double, double> end_of(const PySectionMap& self, double bend, double extension) {
  const SectionEnd end = self.map.forward(bend, extension);
  rethrow_raised();
  return {end.x, end.z, end.tangent};
}

using State = std::tuple<nb::object, nb::object, nb::object, nb::object>;

}  // namespace

SectionMaps section_maps_of(nb::handle value) {
  SectionMaps all;
  if (value.is_none()) return all;
  if (!nb::isinstance<nb::sequence>(value))
    throw ModelError("section_maps = " + nb::cast<std::string>(nb::repr(value)) +
                     ", must be a sequence of SectionMap or None");
  for (const nb::handle item : value) {
    PySectionMap* map = nullptr;
    if (item.is_none()) {
      all.maps.emplace_back();
    } else if (nb::try_cast(item, map, false) && map != nullptr) {
      all.maps.push_back(map->map);
      all.calls_python = all.calls_python || map->calls_python();
    } else {
      throw ModelError("section_maps[" + std::to_string(all.maps.size()) + "] = " +
                       nb::cast<std::string>(nb::repr(item)) + ", must be a SectionMap or None");
    }
  }
  return all;
}

void rethrow_raised() {
  if (raised) std::rethrow_exception(std::exchange(raised, nullptr));
}

void bind_section_map(nb::module_& module) {
  nb::class_<PySectionMap>(
      module, "SectionMap",
      "Kinematics of one section in its bend plane, in place of its arcs: `Solver(..., "
      "section_maps=...)`, docs/guide/ik.md.\n"
      "x points towards the bend and z along the section's base, m; tangent is the angle of the "
      "last tangent from z towards x, rad. At bend 0 the section is straight.")
      .def(
          "__init__",
          [](PySectionMap* self, nb::object forward, nb::object inverse) {
            new (self) PySectionMap(of_functions(std::move(forward), std::move(inverse)));
          },
          nb::arg("forward"), nb::arg("inverse") = nb::none(),
          nb::sig(
              "def __init__(self, forward: collections.abc.Callable[[float, float], "
              "collections.abc.Sequence[float]], inverse: "
              "collections.abc.Callable[[float, float], collections.abc.Sequence[float]] | None "
              "= None) -> None"),
          "Solves call the functions, in the thread that called `solve`; what they raise, `solve` "
          "raises.\n\n"
          ":param forward: of bend, rad, and extension, m: x, z, tangent\n"
          ":param inverse: of x >= 0 and z: bend and extension whose end is there, or near it; "
          "clamped to the limits. None: the bend whose chord points there, found from `forward`; "
          "of "
          "sections of fixed length\n"
          ":raises ModelError: no functions")
      .def_static(
          "from_poses", &of_poses, nb::arg("poses"), nb::arg("name") = "section table",
          nb::sig("def from_poses(poses: " TENDRIL_LIKE
                  ", name: str = 'section table') -> SectionMap"),
          "The map of measured poses of a section of fixed length, a cubic between the rows.\n\n"
          ":param poses: (rows, 4): theta, x, z, tangent; the first row is the straight section, "
          "theta, rad, is the bend commanded; it and the chord angle grow from row to row\n"
          ":param name: of the table in messages, e.g. its file\n"
          ":raises ModelError: fewer than four rows, or a wrong one; the message names it, counted "
          "from 1")
      .def("end", &end_of, nb::arg("bend"), nb::arg("extension") = 0.0,
           nb::sig("def end(self, bend: float, extension: float = 0.0) -> tuple[float, float, "
                   "float]"),
           "x, z, m, and tangent, rad, of the section's end.")
      .def("__getstate__",
           [](const PySectionMap& s) { return State(s.forward, s.inverse, s.poses, s.name); })
      .def("__setstate__",
           [](PySectionMap& self, const State& state) {
             const auto& [forward, inverse, poses, name] = state;
             new (&self) PySectionMap(forward.is_none() ? of_poses(poses, name)
                                                        : of_functions(forward, inverse));
           })
      .def(
          "__repr__",
          [](const PySectionMap& s) {
            nb::str text("<SectionMap of {!r}>");
            return text.attr("format")(s.calls_python() ? s.forward : s.name);
          },
          nb::sig("def __repr__(self) -> str"));
}

}  // namespace tendril::python
