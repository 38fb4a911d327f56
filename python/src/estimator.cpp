#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "drive/arm_observer.hpp"
#include "python/src/robot_readings.hpp"

namespace tendril::python {
namespace {

/// The estimator of a robot file, with the newest readings and commands.
class PyEstimator {
 public:
  PyEstimator(const std::filesystem::path& file, const ComputerOptions& options)
      : observer_(load_as<ContinuumDescription>(file), options),
        readings_(observer_.computer().ports()),
        commands_(observer_.computer().ports().actuators.size(), 0.0) {}

  [[nodiscard]] const RobotReadings& readings() const noexcept { return readings_; }
  const ArmEstimate& estimate() { return observer_.estimate(); }

  void step(const std::optional<nb::dict>& readings, nb::handle commands) {
    if (!commands.is_none()) RobotReadings::read_commands(commands, commands_);
    if (readings)
      readings_.take(*readings, is_first_);
    else
      readings_.take_none();
    is_first_ = is_first_ && !readings;
    observer_.step(readings_.values(), readings_.arrived(), commands_);
  }
  void reset() {
    observer_.reset();
    is_first_ = true;
  }

 private:
  ArmObserver observer_;
  RobotReadings readings_;
  std::vector<double> commands_;
  bool is_first_ = true;
};

template <class Vector>
nb::object vector(const Vector& numbers) {
  return array({numbers.data(), static_cast<std::size_t>(numbers.size())});
}

/// A symmetric matrix.
template <class Matrix>
nb::object square(const Matrix& matrix) {
  const auto n = static_cast<std::size_t>(matrix.rows());
  Output out({}, Axes{n, n});
  std::copy_n(matrix.data(), matrix.size(), out.data());
  return out.take();
}

}  // namespace

void bind_estimator(nb::module_& module) {
  nb::class_<PyEstimator>(
      module, "Estimator",
      "The shape of a continuum arm and the force on its tip, from the sensors of its robot\n"
      "file and what its actuators are told: a Kalman filter with the elastic body of the arm in\n"
      "it, as `td.Driver` has one. It needs neither controller nor engine. Equations: the page\n"
      "Estimation of the theory.")
      .def(
          "__init__",
          [](PyEstimator* self, const std::filesystem::path& file, double timestep,
             nb::object orientation, nb::object gravity) {
            new (self) PyEstimator(file, computer_options(timestep, 0.0, orientation, gravity));
          },
          nb::arg("file"), nb::kw_only(), nb::arg("timestep"), nb::arg("orientation") = nb::none(),
          nb::arg("gravity") = nb::none(),
          nb::sig("def __init__(self, file: str | os.PathLike[str], *, timestep: float, "
                  "orientation: " TENDRIL_LIKE " | None = None, gravity: " TENDRIL_LIKE
                  " | None = None) -> None"),
          ":param file: robot file of a continuum arm with sensors\n"
          ":param timestep: of the steps, s\n"
          ":param orientation: (3, 3): of the base in the world; default: upright\n"
          ":param gravity: (3,): in the world, m/s^2; default: 0, 0, -9.81\n"
          ":raises ModelError: another file, or an arm whose sensors do not tell its shape")
      .def_prop_ro(
          "readings", [](const PyEstimator& self) { return self.readings().names(); },
          nb::sig("def readings(self) -> list[str]"), "Names, as those of `td.Driver`.")
      .def_prop_ro(
          "widths", [](const PyEstimator& self) { return self.readings().widths(); },
          nb::sig("def widths(self) -> list[int]"),
          "Numbers of each reading; an orientation is a quaternion w, x, y, z.")
      .def_prop_ro(
          "actuators", [](const PyEstimator& self) { return self.readings().actuators(); },
          nb::sig("def actuators(self) -> list[str]"), "Names, in the order of the commands.")
      .def_prop_ro(
          "ranges", [](const PyEstimator& self) { return self.readings().ranges(); },
          nb::sig("def ranges(self) -> " TENDRIL_ARRAY),
          "(actuators, 2): limits of the commands; infinite: none.")
      .def("step", &PyEstimator::step, nb::arg("readings") = nb::none(),
           nb::arg("commands") = nb::none(),
           nb::sig("def step(self, readings: dict[str, " TENDRIL_LIKE
                   "] | None = None, commands: " TENDRIL_LIKE " | None = None) -> None"),
           "Advances by a timestep.\n\n"
           ":param readings: those that have come since the last step; None: none has\n"
           ":param commands: (actuators,): that the actuators have had since then; None: the same\n"
           "    as in the step before, 0 at first\n"
           ":raises ModelError: a name that is no reading, a wrong shape")
      .def("reset", &PyEstimator::reset, nb::sig("def reset(self) -> None"),
           "Back to rest, where the robot file starts the arm; commands stay.")
      .def_prop_ro(
          "q", [](PyEstimator& self) { return vector(self.estimate().q); },
          nb::sig("def q(self) -> " TENDRIL_ARRAY),
          "(n,): coordinates u, v (and s) of the sections, rad, m; all 0 before the first step.")
      .def_prop_ro(
          "q_rate", [](PyEstimator& self) { return vector(self.estimate().q_rate); },
          nb::sig("def q_rate(self) -> " TENDRIL_ARRAY), "(n,): their rates, rad/s, m/s.")
      .def_prop_ro(
          "tip",
          [](PyEstimator& self) {
            Output out({}, Axes{4, 4});
            write_pose(self.estimate().X_BE, out.data());
            return out.take();
          },
          nb::sig("def tip(self) -> " TENDRIL_ARRAY), "(4, 4): pose of the tip, base frame.")
      .def_prop_ro(
          "force", [](PyEstimator& self) { return vector(self.estimate().force); },
          nb::sig("def force(self) -> " TENDRIL_ARRAY),
          "(3,): external force on the tip, base frame, N; an unknown payload's weight is in it.")
      .def_prop_ro(
          "friction", [](PyEstimator& self) { return vector(self.estimate().friction); },
          nb::sig("def friction(self) -> " TENDRIL_ARRAY),
          "(tendons,): share of each tendon's tension that friction adds.")
      .def_prop_ro(
          "covariance", [](PyEstimator& self) { return square(self.estimate().covariance); },
          nb::sig("def covariance(self) -> " TENDRIL_ARRAY),
          "(m, m) of q, q_rate, force and friction, one after the other: m = 2 n + 3 + tendons. "
          "Of\n"
          "an arm in a guide of its n loads by contacts and the offset of its tip too.")
      .def_prop_ro(
          "tip_covariance",
          [](PyEstimator& self) { return square(self.estimate().tip_covariance); },
          nb::sig("def tip_covariance(self) -> " TENDRIL_ARRAY),
          "(6, 6) of the tip's position, m, and of its direction z.");
}

}  // namespace tendril::python
