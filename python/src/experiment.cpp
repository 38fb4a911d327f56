#include "simulation/experiment/experiment.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "python/src/arrays.hpp"
#include "python/src/recording_sink.hpp"
#include "python/src/settings.hpp"
#include "python/src/sim.hpp"
#include "simulation/engine/engine_log.hpp"
#include "simulation/experiment/experiment_run.hpp"
#include "simulation/experiment/input_files.hpp"
#include "simulation/experiment/summary.hpp"
#include "simulation/families/families.hpp"
#include "tendril/model/fault_file.hpp"
#include "tendril/model_error.hpp"

namespace tendril::python {
namespace {

constexpr auto kSignalInterval = std::chrono::milliseconds(20);

simulation::RunChanges changes_of(nb::handle seed, nb::handle set, nb::handle controller,
                                  nb::handle duration) {
  simulation::RunChanges changes;
  const auto text = [](nb::handle object) { return nb::cast<std::string>(nb::repr(object)); };
  if (!seed.is_none()) {
    long long number = -1;
    const nb::object index = nb::steal(PyNumber_Index(seed.ptr()));
    if (index.is_valid()) number = PyLong_AsLongLong(index.ptr());
    PyErr_Clear();
    if (number < 0) throw ModelError("seed: " + text(seed) + ": must be an integer in [0, 2^63)");
    changes.seed = static_cast<std::uint64_t>(number);
  }
  if (!duration.is_none()) {
    const double number = PyFloat_AsDouble(duration.ptr());
    PyErr_Clear();
    if (!(number > 0.0) || !(number <= simulation::kLongestRun))
      throw ModelError("duration: " + text(duration) + ": must be a time in (0, 1e6] s");
    changes.duration = number;
  }
  if (!controller.is_none()) {
    if (!nb::isinstance<nb::str>(controller))
      throw ModelError("controller: " + text(controller) + ": must be the name of a controller");
    changes.settings.push_back(
        {"controller.plugin", {nb::cast<std::string>(controller)}, "controller"});
  }
  for (simulation::Setting& setting : settings_of(set))
    changes.settings.push_back(std::move(setting));
  return changes;
}

/// MuJoCo's data of a model; a controller that refuses it says why.
nb::object mujoco_data(const nb::object& model, const mjModel& compiled) {
  try {
    return mujoco().attr("MjData")(model);
  } catch (const nb::python_error&) {
    static_cast<void>(simulation::take_engine_warnings());
    const simulation::DataPtr data = simulation::make_data(compiled);  // throws ModelError
    throw;
  }
}

/// An experiment under way, on MuJoCo's own model and data.
class PyRun {
 public:
  PyRun(std::shared_ptr<const simulation::Experiment> experiment, nb::handle seed, nb::handle set,
        nb::handle controller, nb::handle duration, std::string command_line,
        const std::string& folder)
      : experiment_(std::move(experiment)) {
    mujoco();
    const simulation::RunChanges changes = changes_of(seed, set, controller, duration);
    const simulation::EngineLog log;
    {
      const nb::gil_scoped_release unlocked;
      if (!experiment_->family.empty()) {
        experiment_ = std::make_shared<simulation::Experiment>(
            simulation::with_scene(*experiment_, changes.seed.value_or(experiment_->seed), folder));
      }
      prepared_.emplace(simulation::compile_run(*experiment_, changes));
    }
    mjModel& model = *prepared_->scene.model;
    model_ = mujoco_model(std::move(prepared_->scene.model));
    data_ = mujoco_data(model_, model);
    mjData& data = native<mjData>(data_);
    const nb::gil_scoped_release unlocked;
    simulation::set_start(*experiment_, *prepared_, model, data);
    run_.emplace(*experiment_, *prepared_, model, data, changes, std::move(command_line));
  }

  void record(nb::object create, const std::string& other_engine) {
    const auto open = python_recording(std::move(create));
    const nb::gil_scoped_release unlocked;
    const simulation::EngineLog log;
    run_->record(open, other_engine.empty() ? RolloutAttributes()
                                            : RolloutAttributes{{"stepped_by", other_engine}});
  }

  void step() {
    const nb::gil_scoped_release unlocked;
    const simulation::EngineLog log;
    run_->step();
  }

  /// A step with mocap_pos, mocap_quat and ctrl of `inputs`, and if given with qpos, qvel and act
  /// of another engine after it.
  void take(nb::handle inputs, nb::handle state) {
    const auto& model = native<const mjModel>(model_);
    const auto size = [](mjtSize count) { return static_cast<std::size_t>(count); };
    const std::size_t mocap = size(model.nmocap), nq = size(model.nq), nv = size(model.nv);
    const Input before("inputs", inputs, {7 * mocap + size(model.nu)});
    std::optional<Input> after;
    if (!state.is_none()) after.emplace("state", state, Axes{nq + nv + size(model.na)});
    before.require_leading({});
    if (after) after->require_leading({});
    const std::span<const double> in = before.all();
    const std::span<const double> out = after ? after->all() : std::span<const double>();
    const simulation::ForeignStep other{in.first(3 * mocap),
                                        in.subspan(3 * mocap, 4 * mocap),
                                        in.subspan(7 * mocap),
                                        after ? out.first(nq) : out,
                                        after ? out.subspan(nq, nv) : out,
                                        after ? out.subspan(nq + nv) : out};
    const nb::gil_scoped_release unlocked;
    const simulation::EngineLog log;
    run_->step(&other);
  }

  /// Writes what the motions say of a time to the data, for programs that step it themselves.
  void move(double time) { prepared_->motions.apply(native<mjData>(data_), time); }

  /// MuJoCo's model of the scene with the same settings and delays of actuators, without
  /// controllers; the other faults are in `faults`.
  [[nodiscard]] nb::object plain_model() const {
    const simulation::EngineLog log;
    std::vector<simulation::Setting> settings = prepared_->settings;
    if (!prepared_->scene.robots.empty())
      settings.push_back({"controller.plugin", {"elsewhere"}, "plain model"});
    std::vector<Fault> delays;
    for (const Fault& fault : prepared_->faults)
      if (std::holds_alternative<fault::ActuatorDelay>(fault.kind)) delays.push_back(fault);
    return mujoco_model(simulation::load_scene(experiment_->scene, settings, delays).model);
  }
  [[nodiscard]] std::string faults() const { return faults_text(prepared_->faults); }

  /// Runs to the end. A signal handler that raises, such as that of Ctrl-C, interrupts the run.
  void run() {
    const nb::gil_scoped_release unlocked;
    const simulation::EngineLog log;
    using Clock = std::chrono::steady_clock;
    for (Clock::time_point looked = Clock::now(); !run_->done();) {
      run_->step();
      if (Clock::now() - looked < kSignalInterval) continue;
      const nb::gil_scoped_acquire locked;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      looked = Clock::now();
    }
  }

  void finish() {
    const nb::gil_scoped_release unlocked;
    run_->finish();
  }

  [[nodiscard]] bool done() const { return run_->done(); }
  [[nodiscard]] const nb::object& model() const { return model_; }
  [[nodiscard]] const nb::object& data() const { return data_; }
  /// Controller that drives each actuator; empty: none.
  [[nodiscard]] std::vector<std::string> drivers() const {
    return simulation::drivers_of(native<const mjModel>(model_), prepared_->scene.robots);
  }
  [[nodiscard]] const std::vector<std::string>& notices() const { return run_->result().notices; }

  [[nodiscard]] std::string summary() const {
    return simulation::summary_json(*experiment_, run_->result());
  }
  [[nodiscard]] nb::dict metrics() const {
    nb::dict metrics;
    for (const auto& [metric, value] : run_->result().metrics) metrics[metric.name.c_str()] = value;
    return metrics;
  }

 private:
  std::shared_ptr<const simulation::Experiment> experiment_;
  std::optional<simulation::PreparedRun> prepared_;
  nb::object model_, data_;
  std::optional<simulation::ExperimentRun> run_;
};

}  // namespace

void bind_experiment(nb::module_& module) {
  nb::class_<simulation::Experiment>(module, "ExperimentFile", "What an experiment file says.")
      .def_ro("name", &simulation::Experiment::name)
      .def_ro("file", &simulation::Experiment::file, nb::sig("def file(self) -> pathlib.Path"))
      .def_ro("scene", &simulation::Experiment::scene, nb::sig("def scene(self) -> pathlib.Path"))
      .def_ro("family", &simulation::Experiment::family)
      .def_ro("duration", &simulation::Experiment::duration)
      .def_ro("seed", &simulation::Experiment::seed)
      .def_prop_ro("varies", &simulation::Experiment::varies);
  module.def(
      "load_experiment",
      [](const std::filesystem::path& file) {
        const nb::gil_scoped_release unlocked;
        return std::make_shared<simulation::Experiment>(simulation::load_experiment(file));
      },
      nb::arg("file"),
      nb::sig("def load_experiment(file: str | os.PathLike[str]) -> ExperimentFile"));
  module.def(
      "input_files",
      [](const simulation::Experiment& experiment, nb::handle set) {
        const std::vector<simulation::Setting> settings = settings_of(set);
        const nb::gil_scoped_release unlocked;
        return simulation::input_files(experiment, settings);
      },
      nb::arg("experiment"), nb::arg("set"),
      nb::sig("def input_files(experiment: ExperimentFile, set: collections.abc.Mapping[str, "
              "object]) -> list[pathlib.Path]"));
  nb::class_<PyRun>(module, "Run", "An experiment under way; see tendril.experiment.")
      .def(nb::init<std::shared_ptr<const simulation::Experiment>, nb::handle, nb::handle,
                    nb::handle, nb::handle, std::string, const std::string&>(),
           nb::arg("experiment"), nb::arg("seed").none(), nb::arg("set"),
           nb::arg("controller").none(), nb::arg("duration").none(), nb::arg("command_line"),
           nb::arg("folder"))
      .def("record", &PyRun::record, nb::arg("create"), nb::arg("other_engine") = "")
      .def("step", &PyRun::step)
      .def("take", &PyRun::take, nb::arg("inputs"), nb::arg("state").none())
      .def("move", &PyRun::move, nb::arg("time"))
      .def("plain_model", &PyRun::plain_model, nb::sig("def plain_model(self) -> mujoco.MjModel"))
      .def_prop_ro("faults", &PyRun::faults)
      .def("run", &PyRun::run)
      .def("finish", &PyRun::finish)
      .def_prop_ro("done", &PyRun::done)
      .def_prop_ro("model", &PyRun::model)
      .def_prop_ro("data", &PyRun::data)
      .def_prop_ro("notices", &PyRun::notices)
      .def_prop_ro("drivers", &PyRun::drivers)
      .def_prop_ro("summary", &PyRun::summary)
      .def_prop_ro("metrics", &PyRun::metrics, nb::sig("def metrics(self) -> dict[str, float]"));
}

}  // namespace tendril::python
