#include "python/src/driver.hpp"

namespace tendril::python {

void bind_driver(nb::module_& module) {
  nb::class_<PyDriver>(
      module, "Driver",
      "The controller of a robot file on the robot's own computer: readings in, commands of the\n"
      "actuators out, once in a step. As `tendril drive` and `tendril::DriveLoop`; without the\n"
      "engine.")
      .def(
          "__init__",
          [](PyDriver* self, const std::filesystem::path& file, double timestep, double link_delay,
             double stale_after, std::optional<double> speed_limit, nb::object orientation,
             nb::object position, nb::object gravity,
             const std::optional<std::filesystem::path>& log) {
            DriveSafety safety{.stale_after = stale_after};
            if (speed_limit) safety.speed_limit = *speed_limit;
            ComputerOptions options = computer_options(timestep, link_delay, orientation, gravity);
            options.p_WB = optional_vector("position", position);
            new (self) PyDriver(file, options, safety);
            if (!log) return;
            try {
              nb::module_::import_("tendril._sim").attr("_use_log")(nb::capsule(self), *log);
            } catch (...) {
              self->~PyDriver();
              throw;
            }
          },
          nb::arg("file"), nb::kw_only(), nb::arg("timestep"), nb::arg("link_delay") = 0.0,
          nb::arg("stale_after") = 0.1, nb::arg("speed_limit") = 1.0,
          nb::arg("orientation") = nb::none(), nb::arg("position") = nb::none(),
          nb::arg("gravity") = nb::none(), nb::arg("log") = nb::none(),
          nb::sig("def __init__(self, file: str | os.PathLike[str], *, timestep: float, "
                  "link_delay: float = 0.0, stale_after: float = 0.1, speed_limit: float | None = "
                  "1.0, orientation: " TENDRIL_LIKE " | None = None, position: " TENDRIL_LIKE
                  " | None = None, gravity: " TENDRIL_LIKE
                  " | None = None, log: str | os.PathLike[str] | None = None) -> None"),
          ":param file: robot file with sensors and a controller\n"
          ":param timestep: of the steps, s\n"
          ":param link_delay: from a reading to when its command acts: the link's, both ways, s\n"
          ":param stale_after: commands are held without a message for so long, s\n"
          ":param speed_limit: largest speed of a command, ranges of its actuator per second;\n"
          "    None: none\n"
          ":param orientation: (3, 3): of the base in the world, of a free snake at the start;\n"
          "    default: upright, of a free snake as the robot file says\n"
          ":param position: (3,): likewise, m; default: the origin, of a free snake as the robot\n"
          "    file says\n"
          ":param gravity: (3,): in the world, m/s^2; default: 0, 0, -9.81\n"
          ":param log: recording that the steps are written to, as by `tendril drive`, from the\n"
          "    first message on; it is whole after `close`; None: none\n"
          ":raises ModelError: another file, or a controller that needs a scene or contacts")
      .def_prop_ro(
          "readings", [](const PyDriver& self) { return self.readings().names(); },
          nb::sig("def readings(self) -> list[str]"),
          "Names: of the sensors as in recordings, then of what the actuators tell: feed, "
          "feed_rate, spin, spin_rate, pressures of chambers.")
      .def_prop_ro(
          "widths", [](const PyDriver& self) { return self.readings().widths(); },
          nb::sig("def widths(self) -> list[int]"),
          "Numbers of each reading; an orientation is a quaternion w, x, y, z.")
      .def_prop_ro(
          "actuators", [](const PyDriver& self) { return self.readings().actuators(); },
          nb::sig("def actuators(self) -> list[str]"), "Names, in the order of the commands.")
      .def_prop_ro(
          "ranges", [](const PyDriver& self) { return self.readings().ranges(); },
          nb::sig("def ranges(self) -> " TENDRIL_ARRAY),
          "(actuators, 2): limits of the commands; infinite: none.")
      .def_prop_rw("commands", &PyDriver::commands, &PyDriver::set_commands,
                   nb::for_getter(nb::sig("def commands(self) -> " TENDRIL_ARRAY)),
                   nb::for_setter(nb::sig("def commands(self, value: " TENDRIL_LIKE ") -> None")),
                   "(actuators,): in force. To be set to where the actuators are before the first "
                   "step.")
      .def_prop_ro("q", &PyDriver::q, nb::sig("def q(self) -> " TENDRIL_ARRAY),
                   "As estimated, rad, m: coordinates u, v (and s) of the sections of a continuum "
                   "arm, angles of the joints of others.")
      .def_prop_ro("tip", &PyDriver::tip, nb::sig("def tip(self) -> " TENDRIL_ARRAY),
                   "(4, 4): pose of the tip as estimated, base frame; of a free snake world frame.")
      .def_prop_ro("state", &PyDriver::state, nb::sig("def state(self) -> str"),
                   "\"running\", \"waiting for the robot\", \"stopped\", or why commands are held.")
      .def_prop_ro("status", &PyDriver::status, nb::sig("def status(self) -> str"),
                   "What the controller says of its task: \"working\", \"finished\", ...")
      .def("step", &PyDriver::step, nb::arg("time"), nb::arg("readings") = nb::none(),
           nb::arg("target") = nb::none(),
           nb::sig("def step(self, time: float, readings: dict[str, " TENDRIL_LIKE
                   "] | None = None, target: " TENDRIL_LIKE " | None = None) -> " TENDRIL_ARRAY),
           "Makes a step.\n\n"
           ":param time: s, from any start\n"
           ":param readings: those that have come since the last step; None: no message has\n"
           ":param target: (4, 4): its pose in the frame of `tip`; None: as before\n"
           ":returns: (actuators,): the commands, held where the state is not \"running\"\n"
           ":raises ModelError: a name that is no reading, a wrong shape")
      .def("stop", &PyDriver::stop, nb::sig("def stop(self) -> None"),
           "Emergency stop: commands are held until a reset.")
      .def("reset", &PyDriver::reset, nb::sig("def reset(self) -> None"),
           "Back to before the first step; commands stay. Not with a log.")
      .def("close", &PyDriver::close, nb::sig("def close(self) -> None"),
           "Ends the log; the driver goes on without one.\n\n"
           ":raises RecordingError: it is not whole, or no message has come and there is none");
}

}  // namespace tendril::python
