#include "python/src/controllers.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "controllers/arm/predictive_controller.hpp"
#include "plugin/controller_plugin.hpp"
#include "python/src/robots.hpp"
#include "tendril/mobile/body.hpp"
#include "tendril/model_error.hpp"

namespace tendril::python {
namespace {

// ---- the interpreter

/// End of the interpreter, from which on no object of Python exists for controllers.
std::atomic<bool> interpreter_is_gone = false;

/// State that Python keeps of a thread that is not its own, such as those of mujoco.rollout: made
/// at the first update and kept, because making it takes longer than an update.
class ThreadState {
 public:
  /// Keeps the state of this thread, which may have one already: then that serves.
  static void keep() {
    thread_local ThreadState own;
    static_cast<void>(own);
  }
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;

 private:
  ThreadState() {
    if (PyGILState_GetThisThreadState() != nullptr) return;
    static_cast<void>(PyGILState_Ensure());  // never released
    state_ = PyEval_SaveThread();
  }
  ~ThreadState() {
    if (state_ == nullptr || interpreter_is_gone) return;
    // A thread that ends must not wait for the interpreter lock, which whoever joins it may hold.
    try {
      std::thread([state = state_] {
        PyEval_AcquireThread(state);
        PyThreadState_Clear(state);
        PyEval_ReleaseThread(state);
        PyThreadState_Delete(state);
      }).detach();
    } catch (const std::system_error&) {  // it is kept
    }
  }

  PyThreadState* state_ = nullptr;
};

/// Holds the interpreter lock; from any thread, with or without it. Throws std::runtime_error when
/// the interpreter is gone.
class InterpreterLock {
 public:
  InterpreterLock() {
    require_interpreter();
    ThreadState::keep();
    lock_.emplace();
    require_interpreter();
  }

 private:
  static void require_interpreter() {
    if (interpreter_is_gone) throw std::runtime_error("the Python interpreter has ended");
  }
  std::optional<nb::gil_scoped_acquire> lock_;
};

/// Python objects of a controller. All of it is destroyed at the end of the interpreter, which an
/// mjData may survive.
struct PythonObjects {
  PythonObjects() = default;
  PythonObjects(const PythonObjects&) = delete;
  PythonObjects& operator=(const PythonObjects&) = delete;
  virtual ~PythonObjects() = default;
};

/// Returns the live objects. Needs the interpreter lock.
std::map<const PythonObjects*, std::unique_ptr<PythonObjects>>& live_objects() {
  static auto* const all = new std::map<const PythonObjects*, std::unique_ptr<PythonObjects>>();
  return *all;
}

// ---- kinds

constexpr const char* kReturned =
    "update returned a value: must return nothing, and write the command: command.q[:] = ...";

/// A setting as Python gives it: name, type, unit, default, low, high, choices, meaning.
using SettingRow =
    std::tuple<std::string, std::string, std::string, std::string, std::optional<double>,
               std::optional<double>, std::string, std::string>;
/// An own quantity: name, unit, meaning.
using QuantityRow = std::tuple<std::string, std::string, std::string>;

/// Registration of a name, and the class that is behind it now. Never destroyed: the engine
/// keeps plugins.
struct PythonKind {
  std::string name, robot, source;
  std::vector<SettingRow> setting_rows;
  std::vector<QuantityRow> quantity_rows;
  bool is_cost = false;  // a function that says what the plans of tendril.predictive cost
  std::vector<SettingInfo> settings;
  std::vector<Quantity> quantities;
  // With the interpreter lock:
  PyObject* type = nullptr;      // the class or function
  PyObject* rollouts = nullptr;  // of a cost: the class of its argument
  PyObject* describe = nullptr;  // of an exception, in one line
};

SettingInfo::Type type_of(const std::string& word) {
  if (word == "number") return SettingInfo::Type::Number;
  if (word == "integer") return SettingInfo::Type::Integer;
  if (word == "numbers") return SettingInfo::Type::Numbers;
  if (word == "flag") return SettingInfo::Type::Flag;
  if (word == "body") return SettingInfo::Type::BodyName;
  if (word == "obstacles") return SettingInfo::Type::ObstacleNames;
  return word == "choice" ? SettingInfo::Type::Choice : SettingInfo::Type::Text;
}

void make_tables(PythonKind& kind) {
  if (kind.is_cost) {
    for (SettingInfo row : predictive_settings()) {
      if (row.name == std::string_view("straight_first")) row.default_value = "false";
      kind.settings.push_back(row);
    }
  }
  for (const auto& [name, type, unit, standard, low, high, choices, meaning] : kind.setting_rows) {
    Range range;
    if (low) range.low = *low;
    if (high) range.high = *high;
    kind.settings.push_back({name.c_str(), type_of(type), unit.c_str(), standard.c_str(), range,
                             choices.c_str(), meaning.c_str()});
  }
  kind.quantities = {quantity::kIterations, quantity::kTipError, quantity::kAngleError,
                     quantity::kProgress};
  for (const auto& [name, unit, meaning] : kind.quantity_rows)
    kind.quantities.push_back({name.c_str(), unit.c_str(), meaning.c_str()});
}

/// Returns the kinds by name. Needs the interpreter lock.
std::map<std::string, PythonKind*, std::less<>>& python_kinds() {
  static auto* const all = new std::map<std::string, PythonKind*, std::less<>>();
  return *all;
}

void end_of_interpreter() {
  interpreter_is_gone = true;
  live_objects().clear();
  for (const auto& [name, kind] : python_kinds()) {
    Py_CLEAR(kind->type);
    Py_CLEAR(kind->rollouts);
    Py_CLEAR(kind->describe);
  }
}

/// The error of Python code as the text of a warning. With the interpreter lock.
std::string text_of(const PythonKind& kind, nb::python_error& error) {
  std::string text = "an error in Python";
  try {
    const nb::object where = error.traceback();
    text = nb::cast<std::string>(nb::handle(kind.describe)(
        error.value(), where.is_valid() ? where : nb::none(), nb::handle(kind.type)));
  } catch (const std::exception&) {  // it has no text
  }
  // Ctrl-C while the controller ran: for the program, when it comes back from the engine.
  if (error.matches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
  return text;
}

/// Values of the kind's own settings.
nb::dict settings_of(const PythonKind& kind, const Settings& settings) {
  nb::dict values;
  for (const SettingInfo& row : std::span(kind.settings).last(kind.setting_rows.size())) {
    nb::object value;
    switch (row.type) {
      case SettingInfo::Type::Number:
        value = nb::cast(settings.number(row.name));
        break;
      case SettingInfo::Type::Integer:
        value = nb::cast(settings.integer(row.name));
        break;
      case SettingInfo::Type::Numbers:
        value = nb::cast(settings.numbers(row.name));
        break;
      case SettingInfo::Type::Flag:
        value = nb::cast(settings.flag(row.name));
        break;
      case SettingInfo::Type::Choice: {
        static_cast<void>(settings.choice_index(row.name));  // refuses other words
        const std::string_view word = settings.text(row.name);
        value = nb::cast(word.empty() ? default_text(row) : std::string(word));
        break;
      }
      case SettingInfo::Type::GeomName:
      case SettingInfo::Type::BodyName:
      case SettingInfo::Type::ObstacleNames:
      case SettingInfo::Type::Text:
        value = nb::cast(std::string(settings.text(row.name)));
        break;
    }
    values[row.name] = value;
  }
  return values;
}

// ---- contexts

/// Asks the scene for what `tendril.controller` lets a class have of it: its target, and obstacles.
std::optional<MeasuredObstacles> ask_scene(const PythonKind& kind, const Settings& settings,
                                           SceneQuery& scene) {
  std::optional<MeasuredObstacles> measured;
  for (const SettingInfo& row : kind.settings) {
    if (row.type == SettingInfo::Type::BodyName) scene.measure_target(row.name);
    if (row.type == SettingInfo::Type::ObstacleNames && settings.flag("avoidance"))
      measured.emplace(scene.measure_obstacles(row.name));
  }
  return measured;
}

using MaybeObstacles = std::optional<MeasuredObstacles>;

template <class Context>
nb::object context_of(const PythonKind& kind, const Context& from, const MaybeObstacles& measured) {
  auto context = std::make_unique<PyContext<Context>>(from);
  context->robot = nb::cast(python_robot(from));
  context->settings = settings_of(kind, from.settings);
  if (measured) {
    context->obstacles = measured->obstacles;
    context->moving_obstacles = measured->moving_count;
  }
  return nb::cast(context.release(), nb::rv_policy::take_ownership);
}

/// A measurement with the right sizes and obstacles.
template <class Measurement>
Measurement example_of(const RobotSizes& sizes, const MaybeObstacles& measured) {
  Measurement example(sizes);
  if constexpr (requires { example.obstacles; })
    if (measured) example.obstacles = &measured->obstacles;
  return example;
}

// ---- the controller

constexpr int kLargestMemory = 1'000'000;

/// An instance of a class in Python, instead of a controller.
template <class Base>
class PythonController final : public Base {
 public:
  using Measurement = typename Base::Measurement;
  using Command = typename Base::Command;

  template <class Context>
  PythonController(const PythonKind& kind, const Context& context) : kind_(kind) {
    const InterpreterLock lock;
    try {
      const nb::object type = nb::borrow(kind.type);  // may be replaced meanwhile
      const MaybeObstacles measured = ask_scene(kind, context.settings, context.scene);
      const nb::object self = type(context_of(kind, context, measured));
      const int size = memory_size(self);
      commands_ = command_kind(self);
      const RobotSizes sizes = context.sizes();
      auto made = std::make_unique<Python>(self, size, example_of<Measurement>(sizes, measured),
                                           Command(sizes), kind);
      this->memory_.numbers(static_cast<std::size_t>(size));
      python_ = made.get();
      senses_contacts_ = made->senses_contacts;
      has_path_ = made->has_path;
      live_objects().emplace(python_, std::move(made));
    } catch (nb::python_error& error) {
      throw ModelError(text_of(kind, error));
    }
  }
  ~PythonController() override {
    try {
      const InterpreterLock lock;
      live_objects().erase(python_);
    } catch (const std::exception&) {  // the interpreter is gone, and its objects with it
    }
  }

  void reset(std::span<double> memory) const noexcept override {
    Controller::reset(memory);
    reset_error_.clear();
    try {
      const InterpreterLock lock;
      if (!python_->has_reset) return;
      const std::span<double> numbers = python_->next_memory.numbers();
      std::copy(memory.begin(), memory.end(), numbers.begin());
      try {
        python_->reset(python_->next_memory.array());
        std::copy(numbers.begin(), numbers.end(), memory.begin());
      } catch (nb::python_error& error) {
        reset_error_ = text_of(kind_, error);
      }
    } catch (const std::exception& error) {
      reset_error_ = error.what();
    }
  }

  void update(const Measurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, Command& command, ControllerReport& report) override {
    if (!reset_error_.empty()) throw std::runtime_error(reset_error_);
    const InterpreterLock lock;
    Python& python = *python_;
    python.measurement->set(measurement);
    python.command->set(command);
    python.report->clear();
    std::copy(memory.begin(), memory.end(), python.memory.data());
    std::copy(next_memory.begin(), next_memory.end(), python.next_memory.data());
    try {
      const nb::object returned =
          python.update(python.measurement_object, python.memory.array(),
                        python.next_memory.array(), python.command_object, python.report_object);
      if (!returned.is_none()) throw std::runtime_error(kReturned);
    } catch (nb::python_error& error) {
      throw std::runtime_error(text_of(kind_, error));
    }
    python.command->get(command);
    python.report->get(report);
    std::copy_n(python.next_memory.data(), next_memory.size(), next_memory.begin());
  }

  // These override functions of the base classes, of which one or the other may lack them.
  [[nodiscard]] bool senses_contacts() const noexcept { return senses_contacts_; }
  [[nodiscard]] CommandKind commands() const noexcept { return commands_; }
  [[nodiscard]] int path(std::span<const double> memory,
                         std::span<Eigen::Vector3d> points) const noexcept {
    return draw_path(memory, points);
  }
  [[nodiscard]] int path(const Measurement& measurement, std::span<const double> memory,
                         std::span<Eigen::Vector3d> points) const noexcept {
    return draw_path(memory, points, measurement);
  }

 private:
  struct Python final : PythonObjects {
    Python(const nb::object& self, int memory_size, const Measurement& measurement_example,
           const Command& command_example, const PythonKind& kind)
        : update(self.attr("update")),
          has_reset(nb::hasattr(self, "reset")),
          has_path(nb::hasattr(self, "path")),
          senses_contacts(nb::cast<bool>(nb::getattr(self, "senses_contacts", nb::bool_(false)))),
          memory({static_cast<std::size_t>(memory_size)}, Access::Read),
          next_memory({static_cast<std::size_t>(memory_size)}, Access::Write),
          measurement(new View<Measurement>(measurement_example, Access::Read)),
          command(new View<Command>(command_example, Access::Write)),
          report(new PyControllerReport(own_names(kind))),
          measurement_object(nb::cast(measurement, nb::rv_policy::take_ownership)),
          command_object(nb::cast(command, nb::rv_policy::take_ownership)),
          report_object(nb::cast(report, nb::rv_policy::take_ownership)) {
      if (!senses_contacts)
        measurement->set_missing(
            "contacts: are not measured: set senses_contacts = True in the class");
      if (has_reset) reset = self.attr("reset");
      if (has_path) path = self.attr("path");
    }
    static std::vector<std::string> own_names(const PythonKind& kind) {
      std::vector<std::string> names;
      for (const QuantityRow& row : kind.quantity_rows) names.push_back(std::get<0>(row));
      return names;
    }

    nb::object update, reset, path;
    bool has_reset, has_path, senses_contacts;
    FixedArray memory, next_memory;
    View<Measurement>* measurement;
    View<Command>* command;
    PyControllerReport* report;
    nb::object measurement_object, command_object, report_object;  // own the three
  };

  /// Points of the path of the class in Python; of too many, evenly chosen ones. An error is
  /// reported once, and nothing is drawn from then on.
  template <class... Measured>
  int draw_path(std::span<const double> memory, std::span<Eigen::Vector3d> points,
                const Measured&... measured) const noexcept {
    if (!has_path_ || points.empty()) return 0;
    try {
      const InterpreterLock lock;
      Python& python = *python_;
      (python.measurement->set(measured), ...);
      std::copy(memory.begin(), memory.end(), python.memory.data());
      try {
        nb::object line;
        if constexpr (sizeof...(Measured) > 0)
          line = python.path(python.measurement_object, python.memory.array());
        else
          line = python.path(python.memory.array());
        const Input found("path", line, Axes{3});
        found.require_finite();
        const std::size_t all = found.count(), count = std::min(all, points.size());
        for (std::size_t i = 0; i < count; ++i)
          points[i] =
              Eigen::Vector3d(found.item(count < 2 ? 0 : i * (all - 1) / (count - 1)).data());
        return static_cast<int>(count);
      } catch (nb::python_error& error) {
        throw std::runtime_error(text_of(kind_, error));
      }
    } catch (const std::exception& error) {
      has_path_ = false;
      mju_warning("%s: path: %s", kind_.name.c_str(), error.what());
    }
    return 0;
  }

  static int memory_size(const nb::object& self) {
    const nb::object given = nb::getattr(self, "memory_size", nb::int_(0));
    int size = -1;
    if (!nb::try_cast(given, size, false) || size < 0 || size > kLargestMemory)
      throw ModelError("memory_size = " + nb::cast<std::string>(nb::repr(given)) +
                       ": must be an integer in [0, " + std::to_string(kLargestMemory) + "]");
    return size;
  }

  /// Returns the kind that the attribute `commands` names; throws ModelError.
  static CommandKind command_kind(const nb::object& self) {
    const nb::object given = nb::getattr(self, "commands", nb::str("setpoints"));
    const auto text = nb::cast<std::string>(nb::str(given));
    if (text == "setpoints") return CommandKind::Setpoints;
    std::string allowed = "\"setpoints\"";
    if constexpr (std::is_same_v<Base, ArmController>) {
      if (text == "moments") return CommandKind::Moments;
      if (text == "tensions") return CommandKind::Tensions;
      allowed += ", \"moments\" or \"tensions\"";
    } else {
      if (text == "torques") return CommandKind::Moments;
      allowed += " or \"torques\"";
    }
    throw ModelError("commands = " + nb::cast<std::string>(nb::repr(given)) + ": must be " +
                     allowed);
  }

  const PythonKind& kind_;
  CommandKind commands_ = CommandKind::Setpoints;
  Python* python_ = nullptr;  // one of live_objects
  bool senses_contacts_ = false;
  mutable bool has_path_ = false;
  mutable std::string reset_error_;  // of the last reset; the next update fails with it
};

// ---- a cost of tendril.predictive

/// Predictions of plans, and the function in Python that says what they cost.
class PythonCost final : public PlanCost {
 public:
  PythonCost(const PythonKind& kind, const ArmContext& context)
      : kind_(kind), context_(&context), coordinates_(size_of(context.robot.coordinate_count())) {}
  ~PythonCost() override {
    try {
      const InterpreterLock lock;
      live_objects().erase(python_);
    } catch (const std::exception&) {  // the interpreter is gone, and its objects with it
    }
  }
  PythonCost(const PythonCost&) = delete;
  PythonCost& operator=(const PythonCost&) = delete;

  RolloutRecord record(int samples, int steps) override {
    const InterpreterLock lock;
    try {
      const MeasuredObstacles obstacles = context_->scene.measure_obstacles(
          "obstacles", context_->settings.number("obstacle_margin"));
      auto made = std::make_unique<Python>(
          kind_, size_of(samples), size_of(steps), coordinates_,
          example_of<ArmMeasurement>(context_->sizes(), MaybeObstacles(obstacles)));
      made->share(settings_of(kind_, context_->settings),
                  context_->settings.number("horizon") / steps);
      python_ = made.get();
      live_objects().emplace(python_, std::move(made));
    } catch (nb::python_error& failed) {
      throw ModelError(text_of(kind_, failed));
    }
    context_ = nullptr;  // it is valid only now
    return python_->record();
  }

  void evaluate(int first, int last, std::span<double> costs) noexcept override {
    std::fill(costs.begin(), costs.end(), 0.0);
    if (!error.empty()) return;
    try {
      const InterpreterLock lock;
      try {
        python_->measurement->set(*measurement);
        const nb::object found =
            nb::handle(kind_.type)(python_->rollouts(first, last), python_->measurement_object);
        const Input numbers("cost", found, Axes{costs.size()});
        numbers.require_leading({});
        numbers.require_finite();
        std::copy_n(numbers.all().begin(), costs.size(), costs.begin());
      } catch (nb::python_error& failed) {
        error = text_of(kind_, failed);
      }
    } catch (const std::exception& failed) {
      error = failed.what();
    }
  }

  const ArmMeasurement* measurement = nullptr;  ///< of the update that is in progress
  std::string error;                            ///< of the function in that update; empty: none

 private:
  static std::size_t size_of(int count) { return static_cast<std::size_t>(count); }

  struct Python final : PythonObjects {
    Python(const PythonKind& kind, std::size_t samples, std::size_t steps, std::size_t n,
           const ArmMeasurement& example)
        : type(nb::borrow(kind.rollouts)),
          q({samples, steps, n}, Access::Read),
          feed({samples, steps}, Access::Read),
          tips({samples, steps, 3}, Access::Read),
          directions({samples, steps, 3}, Access::Read),
          clearances({samples, steps}, Access::Read),
          rates({samples, steps}, Access::Read),
          costs({samples}, Access::Read),
          targets({steps, 3}, Access::Read),
          desired({steps, 3}, Access::Read),
          measurement(new View<ArmMeasurement>(example, Access::Read)),
          measurement_object(nb::cast(measurement, nb::rv_policy::take_ownership)) {}
    /// What all predictions have in common.
    void share(const nb::dict& settings, double step) {
      shared["targets"] = targets.array();
      shared["target_directions"] = desired.array();
      shared["settings"] = settings;
      shared["timestep"] = step;
    }
    [[nodiscard]] RolloutRecord record() const {
      return {q.numbers(),          feed.numbers(),       tips.numbers(),
              directions.numbers(), clearances.numbers(), rates.numbers(),
              costs.numbers(),      targets.numbers(),    desired.numbers()};
    }
    /// The plans [first, last), by the class of the argument.
    [[nodiscard]] nb::object rollouts(int first, int last) const {
      const nb::slice part(first, last);
      nb::dict fields;
      for (const auto& [name, array] : {std::pair{"q", &q},
                                        {"feed", &feed},
                                        {"tips", &tips},
                                        {"directions", &directions},
                                        {"clearances", &clearances},
                                        {"rates", &rates},
                                        {"costs", &costs}})
        fields[name] = array->array()[part];
      fields.update(shared);
      return type(**fields);
    }

    nb::object type;
    FixedArray q, feed, tips, directions, clearances, rates, costs, targets, desired;
    nb::dict shared;
    View<ArmMeasurement>* measurement;
    nb::object measurement_object;  // owns it
  };

  const PythonKind& kind_;
  const ArmContext* context_;
  std::size_t coordinates_;
  Python* python_ = nullptr;  // one of live_objects
};

/// `tendril.predictive` with a cost in Python, an error of which stops it.
class CostedController final : public ArmController {
 public:
  CostedController(const PythonKind& kind, const ArmContext& context)
      : cost_(kind, context), controller_(make_predictive_controller(context, &cost_)) {
    memory_ = controller_->memory_layout();
  }

  void update(const ArmMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, ArmCommand& command,
              ControllerReport& report) override {
    cost_.measurement = &measurement;
    cost_.error.clear();
    controller_->update(measurement, memory, next_memory, command, report);
    if (!cost_.error.empty()) throw std::runtime_error(cost_.error);
  }
  [[nodiscard]] bool senses_contacts() const noexcept override {
    return controller_->senses_contacts();
  }
  [[nodiscard]] bool senses_response() const noexcept override {
    return controller_->senses_response();
  }

 private:
  PythonCost cost_;
  std::unique_ptr<ArmController> controller_;
};

/// Makes instances of the class in Python for robots of its kind.
AnyMake maker_of(const PythonKind& kind) {
  if (kind.is_cost)
    return Make<ArmContext>([&kind](const ArmContext& context) {
      return std::make_unique<CostedController>(kind, context);
    });
  std::optional<AnyMake> make;
  std::string kinds;
  for_each_robot([&]<class Robot>(std::type_identity<Robot>) {
    using Context = typename Robot::Context;
    kinds += (kinds.empty() ? "" : ", ") + std::string(Context::kKind);
    if (kind.robot != Context::kKind) return;
    make = Make<Context>([&kind](const Context& context) {
      return std::make_unique<PythonController<typename Context::Interface>>(kind, context);
    });
  });
  if (!make)
    throw ModelError(kind.name + ": kind = \"" + kind.robot + "\": must be one of " + kinds);
  return *std::move(make);
}

ControllerKind controller_kind_of(const PythonKind& kind) {
  return {.name = kind.name,
          .meaning = "in Python",
          .settings = kind.settings,
          .quantities = kind.quantities,
          .make = maker_of(kind),
          .source = kind.source};
}

void refuse_names_of_every_controller(const PythonKind& kind, const ControllerKind& made) {
  for (const SettingInfo& common : made.make.common_settings())
    for (const SettingInfo& own : kind.settings)
      if (std::string_view(common.name) == own.name)
        throw ModelError(kind.name + ": settings: " + own.name +
                         ": must not be a setting of every controller");
  for (std::size_t i = 0; i < kind.settings.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (std::string_view(kind.settings[i].name) == kind.settings[j].name)
        throw ModelError(kind.name + ": settings: " + kind.settings[i].name +
                         ": must not be a setting of tendril.predictive");
  const std::vector<Quantity> all = all_quantities(made);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (std::string_view(all[i].name) == all[j].name)
        throw ModelError(kind.name + ": quantities: " + all[i].name +
                         ": must not be a quantity of every controller");
}

void register_controller_class(std::string name, std::string robot, nb::object type,
                               std::vector<SettingRow> settings,
                               std::vector<QuantityRow> quantities, std::string source,
                               nb::object describe, nb::object rollouts) {
  auto& known = python_kinds();
  if (const auto found = known.find(name); found != known.end()) {
    PythonKind& kind = *found->second;
    if (kind.robot != robot || kind.is_cost == rollouts.is_none() ||
        kind.setting_rows != settings || kind.quantity_rows != quantities)
      throw ModelError(name +
                       ": kind, settings and quantities: must be those with which the name was "
                       "registered first: choose another name, or start again");
    Py_XDECREF(std::exchange(kind.type, type.release().ptr()));
    return;
  }
  if (name.empty() || name.find_first_of(" \t\r\n") != std::string::npos)
    throw ModelError("name = \"" + name + "\": must be a word");
  if (is_plugin(name))
    throw ModelError("name = \"" + name + "\": must not be the name of another plugin");
  auto kind = std::make_unique<PythonKind>();
  kind->name = std::move(name);
  kind->robot = std::move(robot);
  kind->setting_rows = std::move(settings);
  kind->quantity_rows = std::move(quantities);
  kind->source = std::move(source);
  kind->is_cost = !rollouts.is_none();
  make_tables(*kind);
  try {  // the defaults
    static_cast<void>(settings_of(*kind, Settings(kind->settings)));
  } catch (const ModelError& error) {
    throw ModelError(kind->name + ": settings: " + error.what());
  }
  const ControllerKind made = controller_kind_of(*kind);
  refuse_names_of_every_controller(*kind, made);
  kind->type = type.release().ptr();
  kind->describe = describe.release().ptr();
  if (kind->is_cost) kind->rollouts = rollouts.release().ptr();
  register_controller_kind(made);
  known.emplace(kind->name, kind.get());
  static_cast<void>(kind.release());
}

}  // namespace

void bind_controllers(nb::module_& module) {
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&end_of_interpreter));
  nb::module_::import_("tendril._core");  // the classes of robots
  nb::enum_<ControllerStatus>(module, "ControllerStatus", nb::is_arithmetic(),
                              "What a controller says of its task; docs/reference/statuses.md.")
      .value("WORKING", ControllerStatus::Working)
      .value("FINISHED", ControllerStatus::Finished, "The task is done and held.")
      .value("NOT_REACHED", ControllerStatus::NotReached, "The nearest pose is commanded.")
      .value("JAMMED", ControllerStatus::Jammed, "The feed is stopped.")
      .value("INVALID_TARGET", ControllerStatus::InvalidTarget, "The last command is held.")
      .value("FAULT", ControllerStatus::Fault, "No more commands are given.")
      .value("TARGET_BEHIND", ControllerStatus::TargetBehind)
      .value("PATH_TOO_TIGHT", ControllerStatus::PathTooTight)
      .value("NOT_FOLLOWING", ControllerStatus::NotFollowing)
      .value("SERVO_LOST", ControllerStatus::ServoLost)
      .value("NO_PROGRESS", ControllerStatus::NoProgress)
      .value("BLOCKED", ControllerStatus::Blocked)
      .value("NO_CONTACT", ControllerStatus::NoContact)
      .value("SWINGING", ControllerStatus::Swinging);
  bind_controller_views(module);
  module.def(
      "register_controller", &register_controller_class, nb::arg("name"), nb::arg("kind"),
      nb::arg("type"), nb::arg("settings"), nb::arg("quantities"), nb::arg("source"),
      nb::arg("describe"), nb::arg("rollouts").none() = nb::none(),
      nb::sig("def register_controller(name: str, kind: str, type: "
              "collections.abc.Callable[..., typing.Any], settings: "
              "list[tuple[str, str, str, str, float | None, float | None, str, str]], "
              "quantities: list[tuple[str, str, str]], source: str, describe: "
              "collections.abc.Callable[[BaseException, typing.Any], str], rollouts: type | None "
              "= None) -> None"));
}

}  // namespace tendril::python
