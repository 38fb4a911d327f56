#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/variant.h>
#include <nanobind/typing.h>

#include <filesystem>
#include <string>
#include <variant>

#include "python/src/robots.hpp"
#include "tendril/model/robot_description.hpp"
#include "tendril/model_error.hpp"

namespace tendril::python {
namespace {

nb::object load(const std::filesystem::path& file) {
  const RobotDescription description = [&] {
    const nb::gil_scoped_release unlocked;
    return tendril::load_robot(file);
  }();
  return std::visit([](const auto& d) { return nb::cast(python_robot(d)); }, description);
}

nb::object load_as(const std::filesystem::path& file, nb::handle kind) {
  nb::object robot = load(file);
  const auto name_of = [](nb::handle type) {
    return nb::cast<std::string>(nb::str(type.attr("__name__")));
  };
  if (!robot.type().is(kind))
    throw ModelError(file.string() + ": kind: is a " + name_of(robot.type()) + ", must be a " +
                     name_of(kind));
  return robot;
}

}  // namespace

void bind_load_robot(nb::module_& module) {
  module.attr("Robot") = nb::type_var("Robot");
  module.def(
      "load_robot", &load, nb::arg("file"),
      nb::sig("def load_robot(file: str | os.PathLike[str]) -> typing.Any"),
      "The robot that a robot file (docs/reference/robot_file.md) describes: a ContinuumRobot, "
      "Snake, "
      "MobileRobot or MobileArm, by its `kind`.\n\n"
      ":param file: TOML\n"
      ":raises ModelError: a file that cannot be read, or is no robot file; the message is the "
      "program's, `file:line: object: key = value: what is allowed`");
  module.def("load_robot", &load_as, nb::arg("file"), nb::arg("kind"),
             nb::sig("def load_robot(file: str | os.PathLike[str], kind: type[Robot]) -> Robot"),
             "The same where only robots of one class will do; type checkers know which.\n\n"
             ":param kind: such as ContinuumRobot");
}

}  // namespace tendril::python
