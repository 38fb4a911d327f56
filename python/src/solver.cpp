#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "python/src/robots.hpp"
#include "python/src/section_map.hpp"
#include "tendril/ik/any_solver.hpp"
#include "tendril/ik/batch.hpp"
#include "tendril/ik/start_pose.hpp"
#include "tendril/kinematics/turning.hpp"
#include "tendril/mobile/any_solver.hpp"
#include "tendril/model_error.hpp"

namespace tendril::python {
namespace {

constexpr double kDirectionLengthSlack = 1e-3;  // as `tendril ik`

/// Results of a call of `solve`, target by target.
struct Result {
  Shape leading, state_shape;
  const char* (*status_name)(std::uint8_t) = nullptr;
  std::uint8_t status_count = 0;
  std::vector<std::uint8_t> status;
  std::vector<std::int32_t> iterations;
  std::vector<double> position_error, angle_error;
  std::vector<std::uint8_t> jumped;
  std::vector<double> states;
  std::vector<double> base;        ///< x, y, heading of each; empty: not on a platform
  std::vector<double> feed, spin;  ///< of an arm's base; empty: not an arm

  Result(Shape leading_axes, Shape state, std::size_t count)
      : leading(std::move(leading_axes)), state_shape(std::move(state)) {
    std::size_t size = count;
    for (const std::size_t axis : state_shape) size *= axis;
    status.resize(count);
    iterations.resize(count);
    position_error.resize(count);
    angle_error.resize(count);
    jumped.resize(count);
    states.resize(size);
  }

  void make_arm_base() {
    feed.resize(status.size());
    spin.resize(status.size());
  }
  void set_arm_base(std::size_t k, const BaseState& state) noexcept {
    feed[k] = state.feed;
    spin[k] = state.spin;
  }

  /// @param solved  BatchResult, IkResult, MobileResult or MobileContinuumResult
  template <class Solved>
  void set(std::size_t k, const Solved& solved) noexcept {
    status[k] = static_cast<std::uint8_t>(solved.status);
    iterations[k] = solved.iterations;
    position_error[k] = solved.position_error;
    angle_error[k] = solved.angle_error;
    if constexpr (requires { solved.jumped; }) jumped[k] = solved.jumped;
  }
};

/// The argument `targets`: positions (..., 3) or, for tools, positions and angles (..., 6); or
/// poses
/// (..., 4, 4).
class Targets {
 public:
  Targets(nb::handle value, std::size_t size)
      : input_("targets", value, Axes{kAny}), are_poses_(false) {
    if (input_.item_size() == size) return;
    const bool is_square =
        input_.item_size() == 4 && !input_.leading().empty() && input_.leading().back() == 4;
    if (!is_square)
      throw ModelError("targets: last axis = " + std::to_string(input_.item_size()) +
                       ", must be (..., " + std::to_string(size) + ") or (..., 4, 4)");
    input_ = Input("targets", value, Axes{4, 4});
    are_poses_ = true;
  }
  [[nodiscard]] const Shape& leading() const noexcept { return input_.leading(); }
  [[nodiscard]] std::size_t count() const noexcept { return input_.count(); }
  [[nodiscard]] bool are_poses() const noexcept { return are_poses_; }
  [[nodiscard]] std::span<const double> operator[](std::size_t k) const noexcept {
    return input_.item(k);
  }

 private:
  Input input_;
  bool are_poses_;
};

/// @param roll  poses are met with their roll
TipTarget tip_target(const Targets& targets, std::size_t k, bool roll = false) {
  TipTarget target;
  if (!targets.are_poses()) {
    target.X_BG.translation() = Eigen::Map<const Eigen::Vector3d>(targets[k].data());
    return target;
  }
  target.X_BG = pose_of(targets[k]);
  target.task = TipTask::PositionAndDirection;
  const double length = target.direction().norm();
  if (!std::isfinite(length)) return target;  // InvalidTarget
  if (std::abs(length - 1.0) > kDirectionLengthSlack)
    throw ModelError("targets: length of the z axis of pose " + std::to_string(k) + " = " +
                     std::to_string(length) + ", must be 1 (within 0.001)");
  const Eigen::Vector3d z = target.direction() / length;
  if (roll) {
    const Eigen::Matrix3d& R = target.X_BG.linear();
    if (!(R.transpose() * R - Eigen::Matrix3d::Identity()).isZero(kDirectionLengthSlack) ||
        R.determinant() < 0.0)
      throw ModelError("targets: the axes of pose " + std::to_string(k) +
                       ": must be at right angles and right-handed (within 0.001)");
    const Eigen::Vector3d across = (R.col(0) - R.col(0).dot(z) * z).normalized();
    target.X_BG.linear() << across, z.cross(across), z;
    target.task = TipTask::Pose;
    return target;
  }
  const Eigen::Vector3d x = z.unitOrthogonal();  // the spin about z is free
  target.X_BG.linear() << x, z.cross(x), z;
  return target;
}

ToolTarget tool_target_of(const Targets& targets, std::size_t k) noexcept {
  const std::span<const double> t = targets[k];
  if (targets.are_poses()) return {.X_WG = pose_of(t)};
  return tool_target({t[0], t[1], t[2]}, t[3], t[4], t[5]);
}

/// The arguments `start`, `base`, `feed` and `spin` of `solve`.
struct Starts {
  nb::handle states;
  nb::handle base;        ///< of the platform; None: at the origin
  nb::handle feed, spin;  ///< of an arm's base; None: 0
};

/// Start of an arm's base: feed and spin for every target.
class ArmBase {
 public:
  ArmBase(const ContinuumRobot& robot, const Starts& starts, const Targets& targets)
      : feed_("feed", or_zero(starts.feed), targets.leading()),
        spin_("spin", or_zero(starts.spin), targets.leading()) {
    const double limit = robot.base().feed_limit;
    for (std::size_t k = 0; k < targets.count(); ++k) {
      if (feed_[k] >= 0.0 && feed_[k] <= limit) continue;
      throw ModelError("feed = " + std::to_string(feed_[k]) + " m, must be in [0, " +
                       std::to_string(limit) + "], the robot's feed_limit");
    }
  }
  [[nodiscard]] BaseState operator[](std::size_t k) const noexcept {
    return {.feed = feed_[k], .spin = spin_[k]};
  }

 private:
  [[nodiscard]] static nb::object or_zero(nb::handle value) {
    return value.is_none() ? nb::object(nb::float_(0.0)) : nb::borrow(value);
  }
  Numbers feed_, spin_;
};

class Solving {
 public:
  Solving() = default;
  Solving(const Solving&) = delete;
  Solving& operator=(const Solving&) = delete;
  virtual ~Solving() = default;
  [[nodiscard]] virtual Result solve(nb::handle targets, const Starts& starts, int threads) = 0;
};

/// Solves all targets, in chunks with a copy of the solver each: `solve_one(solver, k)`.
template <class Solver, class SolveOne>
void solve_in_chunks(const Solver& solver, std::size_t count, int threads,
                     const SolveOne& solve_one) {
  constexpr std::size_t kChunk = 32;
  const auto work = [&](std::size_t chunk) noexcept {
    Solver own = solver;
    for (std::size_t k = chunk * kChunk; k < std::min(count, (chunk + 1) * kChunk); ++k)
      solve_one(own, k);
  };
  for_each((count + kChunk - 1) / kChunk, threads, work, 1);
}

/// An argument of one item, or of one for each target; none if it is None.
std::optional<Input> item_of_each(const char* name, nb::handle value, const Axes& axes,
                                  const Targets& targets) {
  if (value.is_none()) return {};
  std::optional<Input> input(std::in_place, name, value, axes);
  input->require_leading(targets.leading());
  return input;
}
std::span<const double> item_for(const Input& input, std::size_t k) noexcept {
  return input.item(input.count() == 1 ? 0 : k);
}

class TipSolving final : public Solving {
 public:
  /// @param calls_python  the solver calls functions of the user
  TipSolving(AnySolver solver, bool roll, bool calls_python)
      : fresh_(std::move(solver)),
        used_(fresh_),
        roll_(roll),
        calls_python_(calls_python),
        sections_(static_cast<std::size_t>(fresh_.robot().section_count())),
        start_(sections_) {}

  Result solve(nb::handle targets_value, const Starts& starts, int threads) override {
    if (!starts.base.is_none())
      throw ModelError("base: must be None: only a MobileArm has a platform");
    const Targets targets(targets_value, 3);
    const auto start_value = item_of_each("start", starts.states, Axes{sections_, 3}, targets);
    const std::vector<SectionState> start = untwisted(start_value);
    const ArmBase base(fresh_.robot(), starts, targets);
    require_threads(threads);
    if (roll_ && !targets.are_poses())
      throw ModelError("targets: must be poses (..., 4, 4) for a solver with roll = True");
    Result result(targets.leading(), {sections_, 3}, targets.count());
    result.make_arm_base();
    result.status_name = [](std::uint8_t status) { return to_string(IkStatus{status}); };
    result.status_count = static_cast<std::uint8_t>(IkStatus::InvalidStart) + 1;
    if (targets.leading().empty()) {
      solve_one(tip_target(targets, 0, roll_), start, base[0], result);
    } else {
      solve_all(targets, start, base, calls_python_ ? 1 : threads, result);
    }
    rethrow_raised();
    auto* const states = reinterpret_cast<SectionState*>(result.states.data());
    for (std::size_t k = 0; k < targets.count(); ++k)
      to_own_frames(fresh_.robot(), {states + k * sections_, sections_});
    return result;
  }

 private:
  /// States of the argument `start`, one or one for each target; none if it is None.
  [[nodiscard]] std::vector<SectionState> untwisted(const std::optional<Input>& start) const {
    if (!start) return {};
    const SectionStates given = states_of(start->all());
    std::vector<SectionState> states(given.begin(), given.end());
    for (std::size_t k = 0; k < start->count(); ++k)
      to_untwisted(fresh_.robot(), std::span(states).subspan(k * sections_, sections_));
    return states;
  }

  void solve_one(const TipTarget& target, SectionStates start, const BaseState& base,
                 Result& result) {
    const nb::gil_scoped_release unlocked;
    const std::lock_guard lock(mutex_);
    if (start.empty()) {
      straight_start(used_.robot(), target, base, start_);
      start = start_;
    }
    const IkResult solved = used_.solve(target, start, base);
    result.set(0, solved);
    result.set_arm_base(0, solved.base);
    std::copy(solved.states.begin(), solved.states.end(),
              reinterpret_cast<SectionState*>(result.states.data()));
  }

  void solve_all(const Targets& targets, SectionStates start, const ArmBase& base, int threads,
                 Result& result) const {
    std::vector<TipTarget> goals(targets.count());
    std::vector<BaseState> bases(goals.size());
    for (std::size_t k = 0; k < goals.size(); ++k) {
      goals[k] = tip_target(targets, k, roll_);
      bases[k] = base[k];
    }
    const nb::gil_scoped_release unlocked;
    std::vector<SectionState> repeated;
    BatchOptions options{.threads = threads, .bases = bases};
    if (start.size() == goals.size() * sections_) {
      options.starts = start;
    } else if (!start.empty()) {
      for (std::size_t k = 0; k < goals.size(); ++k)
        repeated.insert(repeated.end(), start.begin(), start.end());
      options.starts = repeated;
    }
    std::vector<BatchResult> solved(goals.size());
    solve_batch(fresh_, goals, solved,
                {reinterpret_cast<SectionState*>(result.states.data()), goals.size() * sections_},
                options);
    for (std::size_t k = 0; k < solved.size(); ++k) {
      result.set(k, solved[k]);
      result.set_arm_base(k, solved[k].base);
    }
  }

  const AnySolver fresh_;  // batches copy it
  AnySolver used_;         // by one call at a time
  bool roll_, calls_python_;
  std::size_t sections_;
  std::vector<SectionState> start_;
  std::mutex mutex_;
};

class MobileSolving final : public Solving {
 public:
  MobileSolving(AnyMobileSolver solver, std::vector<double> start)
      : solver_(std::move(solver)), start_(std::move(start)) {}

  Result solve(nb::handle targets_value, const Starts& starts, int threads) override {
    if (!starts.base.is_none())
      throw ModelError("base: must be None: the platform is part of start");
    if (!starts.feed.is_none() || !starts.spin.is_none())
      throw ModelError("feed, spin: must be None: a MobileRobot has joints only");
    const Targets targets(targets_value, 6);
    const auto start = item_of_each("start", starts.states, Axes{start_.size()}, targets);
    Result result(targets.leading(), {start_.size()}, targets.count());
    result.base.resize(kPlatform * targets.count());
    result.status_name = [](std::uint8_t status) { return to_string(MobileStatus{status}); };
    result.status_count = static_cast<std::uint8_t>(MobileStatus::BaseBlocked) + 1;
    solve_in_chunks(solver_, targets.count(), threads,
                    [&](AnyMobileSolver& solver, std::size_t k) noexcept {
                      solve_one(solver, tool_target_of(targets, k),
                                start ? item_for(*start, k) : start_, k, result);
                    });
    return result;
  }

 private:
  static void solve_one(AnyMobileSolver& solver, const ToolTarget& target,
                        std::span<const double> start, std::size_t k, Result& result) noexcept {
    const MobileResult solved = solver.solve(target, platform_of(start), start.subspan(kPlatform));
    result.set(k, solved);
    double* const to = result.states.data() + k * start.size();
    std::copy(start.begin(), start.end(), to);
    if (solved.joints.size() + kPlatform == start.size()) {  // else refused: the start
      write_platform(solved.base, to);
      std::copy(solved.joints.begin(), solved.joints.end(), to + kPlatform);
    }
    std::copy_n(to, kPlatform, result.base.data() + kPlatform * k);
  }

  const AnyMobileSolver solver_;
  const std::vector<double> start_;
};

class MobileArmSolving final : public Solving {
 public:
  explicit MobileArmSolving(MobileContinuumSolver solver)
      : solver_(std::move(solver)),
        sections_(static_cast<std::size_t>(solver_.robot().arm.section_count())) {}

  Result solve(nb::handle targets_value, const Starts& starts, int threads) override {
    const Targets targets(targets_value, 3);
    const auto start = item_of_each("start", starts.states, Axes{sections_, 3}, targets);
    const auto base = item_of_each("base", starts.base, Axes{kPlatform}, targets);
    const ArmBase arm_base(solver_.robot().arm, starts, targets);
    Result result(targets.leading(), {sections_, 3}, targets.count());
    result.make_arm_base();
    result.base.resize(kPlatform * targets.count());
    result.status_name = [](std::uint8_t status) { return to_string(MobileStatus{status}); };
    result.status_count = static_cast<std::uint8_t>(MobileStatus::BaseBlocked) + 1;
    std::vector<TipTarget> goals(targets.count());
    for (std::size_t k = 0; k < goals.size(); ++k) goals[k] = tip_target(targets, k);
    solve_in_chunks(
        solver_, goals.size(), threads, [&](MobileContinuumSolver& solver, std::size_t k) noexcept {
          solve_one(solver, goals[k], base ? platform_of(item_for(*base, k)) : PlatformPose{},
                    start ? states_of(item_for(*start, k)) : solver.robot().arm.straight(),
                    arm_base[k], k, result);
        });
    return result;
  }

 private:
  static void solve_one(MobileContinuumSolver& solver, const TipTarget& target,
                        const PlatformPose& base, SectionStates start, const BaseState& arm_base,
                        std::size_t k, Result& result) noexcept {
    const MobileContinuumResult solved = solver.solve(target, base, start, {}, arm_base);
    result.set(k, solved);
    result.set_arm_base(k, solved.states.empty() ? arm_base : solved.arm_base);
    const SectionStates states =
        solved.states.empty() ? start : solved.states;  // refused: the start
    std::copy(states.begin(), states.end(),
              reinterpret_cast<SectionState*>(result.states.data()) + k * states.size());
    write_platform(solved.base, result.base.data() + kPlatform * k);
  }

  const MobileContinuumSolver solver_;
  const std::size_t sections_;
};

struct PySolver {
  nb::object robot;
  std::string name;
  SolverOptions options;
  bool roll;
  nb::object section_maps;
  std::unique_ptr<Solving> solving;
};

/// Refuses a roll that the solver does not take.
void require_roll(const std::string& solver, bool is_arm) {
  if (!is_arm) throw ModelError("roll: must be False: only a ContinuumRobot takes it");
  if (!solver_info(solver).meets_roll)
    throw ModelError("roll: solver = \"" + solver + "\" meets none, must be auto or levenberg");
}

/// A solver that may call functions of the user while it is made: what they raise comes out.
AnySolver make_tip_solver(const std::string& name, const ContinuumRobot& robot,
                          const SolverOptions& options) {
  try {
    AnySolver solver = make_solver(name, robot, options);
    rethrow_raised();
    return solver;
  } catch (const ModelError&) {
    rethrow_raised();
    throw;
  }
}

std::unique_ptr<Solving> make_solving(nb::handle robot, const std::string& name,
                                      SolverOptions options, bool roll, nb::handle section_maps) {
  PyContinuumRobot* arm = nullptr;
  const bool is_arm = nb::try_cast(robot, arm, false) && arm != nullptr;
  if (roll) require_roll(name, is_arm);
  SectionMaps maps = section_maps_of(section_maps);
  if (is_arm) {
    options.section_maps = std::move(maps.maps);
    return std::make_unique<TipSolving>(make_tip_solver(name, arm->robot, options), roll,
                                        maps.calls_python);
  }
  if (!maps.maps.empty())
    throw ModelError("section_maps: must be None: only a ContinuumRobot takes them");
  PyMobileRobot* mobile = nullptr;
  if (nb::try_cast(robot, mobile, false) && mobile != nullptr)
    return std::make_unique<MobileSolving>(make_mobile_solver(name, mobile->robot, options),
                                           mobile->start);
  PyMobileArm* mounted = nullptr;
  if (nb::try_cast(robot, mounted, false) && mounted != nullptr)
    return std::make_unique<MobileArmSolving>(
        make_mobile_solver(name, MobileContinuum{mounted->arm.robot, mounted->X_PB}, options));
  throw ModelError("robot = " + nb::cast<std::string>(nb::repr(robot)) +
                   ", must be a ContinuumRobot, a MobileRobot or a MobileArm");
}

void make_py_solver(PySolver* self, nb::object robot, std::string name,
                    const SolverOptions& options, bool roll, nb::object section_maps) {
  auto solving = make_solving(robot, name, options, roll, section_maps);
  new (self) PySolver{std::move(robot),        std::move(name),   options, roll,
                      std::move(section_maps), std::move(solving)};
}

/// A view of a result's numbers, which lives as long as the view.
template <class Stored, class Shown>
nb::object view(nb::handle owner, std::vector<Stored> Result::*numbers, Shape shape) {
  static_assert(sizeof(Stored) == sizeof(Shown));
  auto& result = nb::cast<Result&>(owner);
  return nb::cast(
      nb::ndarray<nb::numpy, Shown>((result.*numbers).data(), shape.size(), shape.data(), owner));
}
template <class Stored, class Shown = Stored>
auto getter(std::vector<Stored> Result::*numbers) {
  return [numbers](nb::handle_t<Result> self) {
    return view<Stored, Shown>(self, numbers, nb::cast<Result&>(self).leading);
  };
}

nb::object states_view(nb::handle_t<Result> self) {
  const auto& result = nb::cast<Result&>(self);
  Shape shape = result.leading;
  shape.insert(shape.end(), result.state_shape.begin(), result.state_shape.end());
  return view<double, double>(self, &Result::states, shape);
}

nb::object base_view(nb::handle_t<Result> self) {
  const auto& result = nb::cast<Result&>(self);
  if (result.base.empty() && !result.status.empty())
    throw nb::attribute_error("base: only of robots on a platform");
  Shape shape = result.leading;
  shape.push_back(kPlatform);
  return view<double, double>(self, &Result::base, shape);
}

template <std::vector<double> Result::*numbers>
nb::object arm_base_view(nb::handle_t<Result> self) {
  const auto& result = nb::cast<Result&>(self);
  if ((result.*numbers).empty() && !result.status.empty())
    throw nb::attribute_error("feed, spin: only of continuum arms");
  return view<double, double>(self, numbers, result.leading);
}

nb::object converged(const Result& result) {
  Output all(result.leading, Axes{}, "?");
  std::transform(result.status.begin(), result.status.end(), all.data<bool>(),
                 [](std::uint8_t status) { return status == 0; });
  return all.take();
}

nb::object status_names(nb::handle_t<Result> self) {
  const auto& result = nb::cast<Result&>(self);
  nb::list names;
  for (std::uint8_t status = 0; status < result.status_count; ++status)
    names.append(result.status_name(status));
  const nb::object codes = view<std::uint8_t, std::uint8_t>(self, &Result::status, result.leading);
  return numpy("asarray")(numpy("take")(names, codes));
}

}  // namespace

void bind_solver(nb::module_& module) {
  static_assert(static_cast<int>(IkStatus::Converged) == 0 &&
                static_cast<int>(MobileStatus::Converged) == 0);
  nb::class_<Result>(
      module, "IkResult",
      "What `Solver.solve` found. Every array has the leading axes of the targets: none "
      "for one target. The errors are recomputed from `states` by forward kinematics.")
      .def_prop_ro(
          "states", &states_view, nb::sig("def states(self) -> " TENDRIL_ARRAY),
          "Best states found, inside the limits: (..., sections, 3) of a ContinuumRobot or a "
          "MobileArm, (..., 3 + joints) of a MobileRobot.")
      .def_prop_ro(
          "base", &base_view, nb::sig("def base(self) -> " TENDRIL_ARRAY),
          "(..., 3): x, y, m, and heading, rad, of the platform; only of a MobileRobot or a "
          "MobileArm.")
      .def_prop_ro("feed", &arm_base_view<&Result::feed>,
                   nb::sig("def feed(self) -> " TENDRIL_ARRAY),
                   "Shift of the arm's base along its z axis, m; not of a MobileRobot.")
      .def_prop_ro("spin", &arm_base_view<&Result::spin>,
                   nb::sig("def spin(self) -> " TENDRIL_ARRAY),
                   "Of the arm's base about its z axis, rad; not of a MobileRobot.")
      .def_prop_ro("converged", &converged,
                   nb::sig("def converged(self) -> numpy.typing.NDArray[numpy.bool_]"),
                   "Both errors are within tolerance, the limits hold.")
      .def_prop_ro("status", &status_names,
                   nb::sig("def status(self) -> numpy.typing.NDArray[numpy.str_]"),
                   "\"converged\" or the solver's reason, as in the tables of `tendril ik` "
                   "(docs/guide/ik.md, docs/guide/mobile.md).")
      .def_prop_ro("iterations", getter(&Result::iterations),
                   nb::sig("def iterations(self) -> numpy.typing.NDArray[numpy.int32]"),
                   "Iterations that ran.")
      .def_prop_ro("position_error", getter(&Result::position_error),
                   nb::sig("def position_error(self) -> " TENDRIL_ARRAY),
                   "m; infinite where the target was refused.")
      .def_prop_ro("angle_error", getter(&Result::angle_error),
                   nb::sig("def angle_error(self) -> " TENDRIL_ARRAY),
                   "rad; 0 where the direction is free.")
      .def_prop_ro(
          "jumped", getter<std::uint8_t, bool>(&Result::jumped),
          nb::sig("def jumped(self) -> numpy.typing.NDArray[numpy.bool_]"),
          "The solution need not be near the start (docs/guide/ik.md). Never of a mobile robot.")
      .def(
          "__repr__",
          [](const Result& r) {
            nb::str text("<IkResult: {} of {} converged>");
            return text.attr("format")(std::count(r.status.begin(), r.status.end(), 0),
                                       r.status.size());
          },
          nb::sig("def __repr__(self) -> str"));

  nb::class_<PySolver>(
      module, "Solver",
      "Inverse kinematics of a robot, by any of the solvers of `tendril ik --help`; "
      "docs/guide/ik.md.\n"
      "May be used by several threads; single solves wait for each other, batches do not.")
      .def(
          "__init__",
          [](PySolver* self, nb::object robot, std::string name, double position_tolerance,
             double angle_tolerance, std::optional<int> max_iterations,
             std::optional<int> max_restarts, bool feed_base, bool roll, nb::object section_maps) {
            if (max_iterations && *max_iterations < 1)
              throw ModelError("max_iterations = " + std::to_string(*max_iterations) +
                               ", must be >= 1");
            make_py_solver(self, std::move(robot), std::move(name),
                           {.max_iterations = max_iterations.value_or(0),
                            .position_tolerance = position_tolerance,
                            .angle_tolerance = angle_tolerance,
                            .max_restarts = max_restarts,
                            .feed_base = feed_base},
                           roll, std::move(section_maps));
          },
          nb::arg("robot"), nb::arg("name") = "auto", nb::kw_only(),
          nb::arg("position_tolerance") = SolverOptions{}.position_tolerance,
          nb::arg("angle_tolerance") = SolverOptions{}.angle_tolerance,
          nb::arg("max_iterations") = nb::none(), nb::arg("max_restarts") = nb::none(),
          nb::arg("feed_base") = true, nb::arg("roll") = false,
          nb::arg("section_maps") = nb::none(),
          nb::sig("def __init__(self, robot: ContinuumRobot | MobileRobot | MobileArm, name: str = "
                  "'auto', *, position_tolerance: float = 1e-05, angle_tolerance: float = 0.001, "
                  "max_iterations: int | None = None, max_restarts: int | None = None, feed_base: "
                  "bool = True, roll: bool = False, section_maps: "
                  "collections.abc.Sequence[SectionMap | None] | None = None) -> None"),
          ":param robot: the spin of its base remains that of the start, but with `roll`\n"
          ":param name: \"auto\", or another name\n"
          ":param position_tolerance: m, > 0\n"
          ":param angle_tolerance: rad, > 0\n"
          ":param max_iterations: of one target, >= 1; none: the solver's own\n"
          ":param max_restarts: from other poses, >= 0; 0 for tracking; none: the solver's own\n"
          ":param feed_base: a base that feeds is solved for too; False: it keeps the feed of the "
          "start\n"
          ":param roll: targets are poses that are met with all their axes; the spin of the base "
          "is "
          "solved for too. Only of \"auto\" and \"levenberg\"\n"
          ":param section_maps: one for each section, None where it keeps its arcs: kinematics of "
          "your own. Only of \"fabrikx\", \"fabrikx-iterative\" and \"fabrikx-polynomial\"\n"
          ":raises ModelError: an unknown name (the message lists them), an option outside its "
          "range")
      .def_ro("robot", &PySolver::robot,
              nb::sig("def robot(self) -> ContinuumRobot | MobileRobot | MobileArm"))
      .def_ro("name", &PySolver::name)
      .def("__getstate__",
           [](const PySolver& s) {
             return std::tuple(s.robot, s.name, s.options.max_iterations,
                               s.options.position_tolerance, s.options.angle_tolerance,
                               s.options.max_restarts, s.options.feed_base, s.roll, s.section_maps);
           })
      .def("__setstate__",
           [](PySolver& self, const std::tuple<nb::object, std::string, int, double, double,
                                               std::optional<int>, bool, bool, nb::object>& state) {
             const auto& [robot, name, iterations, position, angle, restarts, feed_base, roll,
                          section_maps] = state;
             make_py_solver(&self, robot, name,
                            {.max_iterations = iterations,
                             .position_tolerance = position,
                             .angle_tolerance = angle,
                             .max_restarts = restarts,
                             .feed_base = feed_base},
                            roll, section_maps);
           })
      .def(
          "__repr__",
          [](const PySolver& s) {
            nb::str text("<Solver {!r} of {!r}>");
            return text.attr("format")(s.name, s.robot);
          },
          nb::sig("def __repr__(self) -> str"))
      .def(
          "solve",
          [](PySolver& self, nb::handle targets, nb::handle start, int threads, nb::handle base,
             nb::handle feed, nb::handle spin) {
            return self.solving->solve(targets, {start, base, feed, spin}, threads);
          },
          nb::arg("targets"), nb::arg("start") = nb::none(), nb::arg("threads") = 0, nb::kw_only(),
          nb::arg("base") = nb::none(), nb::arg("feed") = nb::none(), nb::arg("spin") = nb::none(),
          nb::sig("def solve(self, targets: " TENDRIL_LIKE ", start: " TENDRIL_LIKE
                  " | None = None, threads: int = 0, *, base: " TENDRIL_LIKE
                  " | None = None, feed: " TENDRIL_LIKE " | None = None, spin: " TENDRIL_LIKE
                  " | None = None) -> IkResult"),
          "States that bring the tip, or the tool, to the targets. A target's solution does not "
          "depend on the others: a batch has the bits of single calls.\n\n"
          ":param targets: of a ContinuumRobot, in its base frame, or a MobileArm, in the world: "
          "positions (..., 3), m, or poses "
          "(..., 4, 4), of which position and z axis, with `roll` all axes, are met; of a "
          "MobileRobot, in the world: "
          "poses "
          "(..., 4, 4), whose x axis is the tool's, or (..., 6): x, y, z, m, roll, pitch, yaw, "
          "rad, as "
          "`tool_orientation`\n"
          ":param start: states, one or one for each target; none: the straight arm, or the state "
          "that "
          "the robot file starts with\n"
          ":param threads: of a batch; 0: as many as the machine has. The bits do not depend on "
          "it\n"
          ":param base: of a MobileArm, where the platform starts, (3,) or one for each target: x, "
          "y, m, and heading, rad; none: all zero\n"
          ":param feed: where an arm's base starts, m, in [0, feed_limit]; a number, or one for "
          "each target\n"
          ":param spin: likewise, rad, which the solution keeps without `roll`\n"
          ":raises ModelError: wrong shape or type; a target that is not finite has a status "
          "instead");
}

}  // namespace tendril::python
