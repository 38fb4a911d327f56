#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <numbers>
#include <string>
#include <variant>
#include <vector>

#include "python/src/robots.hpp"
#include "tendril/kinematics/turning.hpp"
#include "tendril/model/continuum/drive_values.hpp"
#include "tendril/model_error.hpp"

namespace tendril::python {
namespace {

struct PyDrives {
  ContinuumRobot robot;
  DriveValues drives;
};

PyDrives load(const std::filesystem::path& file) {
  const RobotDescription description = load_robot(file);
  const auto* const arm = std::get_if<ContinuumDescription>(&description);
  if (arm == nullptr) throw ModelError(file.string() + ": kind: must be a continuum robot");
  PyDrives drives{arm->kinematics(), DriveValues(*arm)};
  if (drives.drives.drives().empty())
    throw ModelError(file.string() +
                     ": section: nothing drives the arm, must have servos, tendons or chambers");
  return drives;
}

template <std::string DriveValues::Drive::*kText>
std::vector<std::string> texts(const PyDrives& self) {
  std::vector<std::string> all;
  for (const DriveValues::Drive& drive : self.drives.drives()) all.push_back(drive.*kText);
  return all;
}

nb::object values(PyDrives& self, nb::handle states_value, nb::handle feed_value,
                  nb::handle spin_value) {
  const auto sections = static_cast<std::size_t>(self.robot.section_count());
  const Input states("states", states_value, Axes{sections, 3});
  states.require_angles(0, 3, 2.0 * std::numbers::pi);
  const Numbers feed("feed", feed_value, states.leading());
  const Numbers spin("spin", spin_value, states.leading());
  const std::size_t count = self.drives.drives().size();
  Output numbers(states.leading(), Axes{count});
  Output held(states.leading(), {}, "?");
  for (std::size_t k = 0; k < states.count(); ++k) {
    const SectionStates own = states_of(states.item(k));
    std::vector<SectionState> untwisted(own.begin(), own.end());
    to_untwisted(self.robot, untwisted);
    held.data<bool>()[k] = self.drives.values(untwisted, {.feed = feed[k], .spin = spin[k]},
                                              {numbers.data() + count * k, count});
  }
  return nb::make_tuple(numbers.take(), held.take());
}

}  // namespace

void bind_drives(nb::module_& module) {
  nb::class_<PyDrives>(
      module, "Drives",
      "What to send to the drives of a continuum arm for given states of its sections, without "
      "physics:\n"
      "the commands for which its model rests in them without gravity. As `tendril ik --drives`.")
      .def(
          "__init__",
          [](PyDrives* self, const std::filesystem::path& file) {
            new (self) PyDrives(load(file));
          },
          nb::arg("file"), nb::sig("def __init__(self, file: str | os.PathLike[str]) -> None"),
          ":param file: robot file of a continuum arm\n"
          ":raises ModelError: another file, or an arm that nothing drives")
      .def_prop_ro("names", &texts<&DriveValues::Drive::name>,
                   nb::sig("def names(self) -> list[str]"),
                   "Of the drives, as the model's actuators: feed, spin, servos and motors of the "
                   "sections, tendons, chambers.")
      .def_prop_ro("units", &texts<&DriveValues::Drive::unit>,
                   nb::sig("def units(self) -> list[str]"), "m, rad, N, N m or Pa.")
      .def("values", &values, nb::arg("states"), nb::kw_only(), nb::arg("feed") = 0.0,
           nb::arg("spin") = 0.0,
           nb::sig("def values(self, states: " TENDRIL_LIKE ", *, feed: " TENDRIL_LIKE
                   " = 0.0, spin: " TENDRIL_LIKE " = 0.0) -> tuple[" TENDRIL_ARRAY
                   ", numpy.typing.NDArray[numpy.bool_]]"),
           "Values of all drives, and whether tensions and pressures within their limits hold the "
           "state.\n\n"
           ":param states: (..., sections, 3): theta, phi, rad, and extension, m\n"
           ":param feed: shift of the base, m; a number, or one for each item\n"
           ":param spin: of the base, rad; likewise\n"
           ":returns: (..., drives) and (...)\n"
           ":raises ModelError: wrong shape or type, a number that is not finite");
}

}  // namespace tendril::python
