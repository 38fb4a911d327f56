#pragma once

#include <mujoco/mujoco.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rendering/render_recording.hpp"
#include "simulation/engine/divergence.hpp"
#include "simulation/experiment/experiment.hpp"
#include "simulation/experiment/metrics.hpp"
#include "simulation/experiment/run_recorder.hpp"
#include "simulation/rollout/run.hpp"
#include "simulation/scene/robot_bodies.hpp"

namespace tendril::simulation {

/// The quantities shown in a window at every instant.
class ViewSignals {
 public:
  explicit ViewSignals(const mjModel& model);

  /// Largest value of the sensors with this name ending; NaN if there is none.
  [[nodiscard]] double sensor(const char* ending, std::span<const double> sensordata) const;
  /// Sum of the normal forces between robots and other objects [N]; NaN without a robot.
  [[nodiscard]] double wall_force(const mjData& data) const noexcept;
  [[nodiscard]] double wall_force(std::span<const ContactRow> contacts) const noexcept;

 private:
  const mjModel& model_;
  RobotBodies robots_;
};

/// Largest tip error and wall force in each interval of time, for plots; the oldest intervals are
/// dropped.
class ViewHistory {
 public:
  struct Point {
    double time = 0.0;        ///< of the first value in the interval [s]
    double tip_error = 0.0;   ///< [m], NaN: unknown
    double wall_force = 0.0;  ///< [N], NaN: unknown
  };

  /// @param stretch   length of an interval [s], > 0
  /// @param capacity  number of intervals kept, >= 1
  ViewHistory(double stretch, std::size_t capacity) : stretch_(stretch), capacity_(capacity) {}

  /// Adds an instant. A time before the last one clears the history.
  void add(const Point& point);
  void clear() { points_.clear(); }
  [[nodiscard]] const std::deque<Point>& points() const noexcept { return points_; }

 private:
  double stretch_;
  std::size_t capacity_;
  std::deque<Point> points_;
};

/// A check of an experiment while it runs.
struct LiveCheck {
  Check check;
  std::string unit;
  double value = 0.0;  ///< so far
  bool holds = false;
};

class LiveRun;

/// The source of a window: a running scene or a recording. What only a running scene can do does
/// nothing in a recording.
class ViewSource {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~ViewSource() = default;
  [[nodiscard]] virtual const mjModel& model() const = 0;
  [[nodiscard]] virtual mjData& data() = 0;
  [[nodiscard]] virtual const ViewHistory& history() const = 0;
  [[nodiscard]] virtual const ViewSignals& signals() const = 0;

  /// Advances by simulated time, but computes no longer than `budget`. A remainder below one step
  /// is kept for the next call; time over the budget is dropped. Returns the simulated time that
  /// passed [s].
  virtual double advance(double seconds, Clock::duration budget) = 0;
  /// Advances by single steps or rows; backwards only in a recording.
  virtual void step(int count) = 0;
  /// Returns to the start.
  virtual void reset() = 0;
  /// Recomputes poses and contacts after a change of mocap bodies while paused.
  virtual void refresh() = 0;

  /// Why it cannot continue: divergence, or the end of the recording. Empty while it can.
  [[nodiscard]] virtual std::string stopped() const = 0;

  /// First and last time of a recording [s]; nothing for a running scene.
  [[nodiscard]] virtual std::optional<std::pair<double, double>> range() const {
    return std::nullopt;
  }
  /// Goes to a time of the recording.
  virtual void seek(double /*time*/) {}

  /// Tells whether this is a running scene, in which bodies can be moved.
  [[nodiscard]] bool is_live() const { return !range(); }
  /// The running scene, to be commanded; null for a recording.
  [[nodiscard]] virtual LiveRun* live_run() { return nullptr; }

  using StepAction = std::function<void(const mjModel&, mjData&)>;
  /// Sets what is called before each step, after the motions: applies forces of the mouse.
  virtual void act_before_steps(StepAction /*action*/) {}

  /// Tells whether an experiment moves mocap bodies here, and whether it does so now.
  [[nodiscard]] virtual bool has_motions() const { return false; }
  [[nodiscard]] virtual bool motions_on() const { return false; }
  virtual void switch_motions(bool /*on*/) {}

  [[nodiscard]] virtual std::vector<LiveCheck> checks() const { return {}; }

  /// Records from now on; a reset, an injected fault of a measurement and the end of this object
  /// end the recording. Throws RolloutError.
  virtual void start_recording(const std::filesystem::path& /*file*/) {}
  virtual void end_recording() {}
  /// Returns when the present recording began [s]; nothing if there is none.
  [[nodiscard]] virtual std::optional<double> recorded_since() const { return std::nullopt; }
  /// Why rows of a recording could not be written, once; empty otherwise.
  [[nodiscard]] virtual std::string take_recording_error() { return {}; }

  /// The camera to start with: that of images (image_camera) if it shows all of the robots
  /// (complete_camera), or a free one that shows the scene as it is (scene_camera), or a
  /// recording's whole motion (recording_camera).
  [[nodiscard]] virtual mjvCamera start_camera(const ImageOptions& options);
};

/// A scene that is stepped, with the motions, faults and checks of its experiment. What is changed
/// by hand, commands and faults, lasts until it is given back or the run is reset.
class LiveRun final : public ViewSource {
 public:
  /// Prepares the run (prepare_run). The checks are evaluated all the time; those of a run's times
  /// are left out. Throws ModelError.
  explicit LiveRun(Experiment experiment, RunChanges changes = {}, std::string command_line = {});
  ~LiveRun() override;
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;

  [[nodiscard]] const mjModel& model() const override { return *now().scene.model; }
  [[nodiscard]] mjData& data() override { return *now().data; }
  [[nodiscard]] const ViewHistory& history() const override { return history_; }
  [[nodiscard]] const ViewSignals& signals() const override { return signals_; }
  [[nodiscard]] const Scene& scene() const noexcept { return run_.scene; }
  double advance(double seconds, Clock::duration budget) override;
  void step(int count) override;
  void reset() override;
  void refresh() override;
  [[nodiscard]] std::string stopped() const override { return stopped_; }

  [[nodiscard]] LiveRun* live_run() override { return this; }
  void act_before_steps(StepAction action) override { before_step_ = std::move(action); }
  [[nodiscard]] bool has_motions() const override { return !experiment_.motions.empty(); }
  [[nodiscard]] bool motions_on() const override { return motions_on_; }
  void switch_motions(bool on) override { motions_on_ = on; }
  [[nodiscard]] std::vector<LiveCheck> checks() const override;

  /// One per control: where `by_hand`, the control is `command` instead of what its controller
  /// writes, which computes on.
  struct Control {
    double command = 0.0;
    bool by_hand = false;
  };
  std::vector<Control> controls;

  /// A fault from now on. One of a measurement recreates the controllers, with the memory that
  /// they have: `model` and `data` are others then. Throws ModelError; then nothing has changed.
  /// @param kind_and_fields  TOML of a `[[fault]]` without name, start and end
  void inject(const std::string& kind_and_fields);
  /// Takes back all faults that were injected.
  void take_back();
  /// Returns the faults under way.
  [[nodiscard]] const std::vector<Fault>& injected() const noexcept { return injected_; }

  void start_recording(const std::filesystem::path& file) override;
  void end_recording() override;
  [[nodiscard]] std::optional<double> recorded_since() const override {
    return recorder_ ? std::optional(recorded_since_) : std::nullopt;
  }
  [[nodiscard]] std::string take_recording_error() override {
    return std::exchange(recording_error_, {});
  }

 private:
  bool step_once();
  void record();
  void start_checks();
  void set_measurement_faults();
  const PreparedRun& now() const noexcept { return with_faults_ ? *with_faults_ : run_; }

  Experiment experiment_;
  RunChanges changes_;
  std::string command_line_;
  PreparedRun run_;
  std::optional<PreparedRun> with_faults_;  // of measurements, injected; instead of run_
  std::optional<Metrics> metrics_;          // of the checks, in their order
  PhysicalFaults faults_;
  StepAction before_step_;
  bool motions_on_ = true;
  std::vector<Fault> injected_;
  int injections_ = 0;
  DataPtr start_;
  ViewSignals signals_;
  ViewHistory history_;
  DivergenceMonitor monitor_;
  double due_ = 0.0;  ///< simulated time not yet stepped [s]
  long steps_ = 0;
  std::string stopped_;
  std::unique_ptr<RunRecorder> recorder_;
  long recorded_rows_ = 0;
  double recorded_since_ = 0.0;
  std::string recording_error_;
};

/// A recording; its history covers the whole recording from the start.
class Playback final : public ViewSource {
 public:
  explicit Playback(const std::filesystem::path& file);

  [[nodiscard]] const mjModel& model() const override { return scene_.model(); }
  [[nodiscard]] mjData& data() override { return scene_.data(); }
  [[nodiscard]] const ViewHistory& history() const override { return history_; }
  [[nodiscard]] const ViewSignals& signals() const override { return signals_; }
  double advance(double seconds, Clock::duration budget) override;
  void step(int count) override;
  void reset() override { go_to(0); }
  void refresh() override {}
  [[nodiscard]] std::string stopped() const override;
  [[nodiscard]] std::optional<std::pair<double, double>> range() const override;
  void seek(double time) override;
  [[nodiscard]] mjvCamera start_camera(const ImageOptions& options) override;

  [[nodiscard]] std::int64_t row() const noexcept { return row_; }
  [[nodiscard]] std::int64_t row_count() const noexcept { return scene_.row_count(); }
  /// Outcome of the recording: `done`, `diverged at …`, `running` if the writer was killed.
  [[nodiscard]] std::string outcome();

 private:
  void go_to(std::int64_t row);

  RecordedScene scene_;
  ViewSignals signals_;
  ViewHistory history_;
  std::int64_t row_ = 0;
  double time_ = 0.0;  ///< playback time, between rows [s]
};

/// Centerlines of the robots of a scene: for each robot, the polyline through the origins of the
/// longest chain of bodies below its base, up to its tip.
class Centerlines {
 public:
  explicit Centerlines(const mjModel& model);

  struct Robot {
    std::vector<int> bodies;  ///< from below the base to the end of the longest chain
    int tip_site = -1;        ///< the robot's `tip`, if it has one
    double radius = 0.0;      ///< of the last link's geom [m]
  };
  [[nodiscard]] const std::vector<Robot>& robots() const noexcept { return robots_; }

  /// Appends capsules along the centerlines to a scene; stops when it is full.
  void draw(const mjData& data, mjvScene& scene, const float color[4]) const noexcept;

 private:
  std::vector<Robot> robots_;
};

}  // namespace tendril::simulation
