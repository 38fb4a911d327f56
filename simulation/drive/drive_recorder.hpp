#pragma once

#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "drive/drive_loop.hpp"
#include "drive/real_time_loop.hpp"
#include "plugin/remote_control.hpp"
#include "simulation/experiment/prepared_run.hpp"
#include "simulation/experiment/run_recorder.hpp"

namespace tendril::simulation {

/// What besides the messages decides what a driver commands.
struct DriverSettings {
  std::string robot;  ///< text of the robot file
  ComputerOptions driver = {};
  DriveSafety safety = {};
  TargetTable targets = {};  ///< RealTimeOptions::targets
};
[[nodiscard]] std::string to_json(const DriverSettings& settings);
/// Throws ModelError for a text that is not one of `to_json`.
[[nodiscard]] DriverSettings driver_settings(const std::string& json);

/// Sensors of the log of a robot besides those of its model.
namespace log_sensor {
inline constexpr const char* kState = "driver_state";        ///< DriveState
inline constexpr const char* kLate = "driver_late";          ///< LoopStep::late [s]
inline constexpr const char* kReceived = "driver_received";  ///< 1: a message has come
inline constexpr const char* kTip = "driver_tip";  ///< where the driver knew it, base frame [m]
inline constexpr const char* kMessage = "driver_message";  ///< the last one (RobotMessage)
}  // namespace log_sensor

/// Writes what a driver does with a robot as a recording, the log of a robot: the model of the
/// robot file in the pose that the estimator finds, the readings as they came, and all that is
/// needed to make the steps again (`replay`). Rows begin with the first message. A thread of its
/// own writes them.
class DriveRecorder final : public RemoteControl {
 public:
  /// Creates the recording. `loop` must outlive it. Throws ModelError and RolloutError.
  /// @param link  the text `log` of the recording
  DriveRecorder(const std::filesystem::path& robot, const std::filesystem::path& recording,
                const std::string& link, const std::string& command_line, const DriveLoop& loop,
                const DriverSettings& settings);
  ~DriveRecorder() override;
  DriveRecorder(const DriveRecorder&) = delete;
  DriveRecorder& operator=(const DriveRecorder&) = delete;

  /// Waits until a step can be taken over without losing it.
  void wait_for_room() const;
  /// Takes over a step. Allocates nothing and waits for nothing.
  void take(const LoopStep& step) noexcept;
  /// Writes what is left and closes the file, or removes one without rows. Returns what went wrong;
  /// empty: nothing did.
  std::string close(const std::string& outcome);

  void exchange(const Sent& sent, std::span<double> commands) noexcept override;
  [[nodiscard]] Known known() const noexcept override;

 private:
  /// A step with what the driver knew after it.
  struct Entry {
    explicit Entry(const DriveLoop& loop);
    long number = 0;
    double time = 0.0, late = 0.0, duration = 0.0;
    bool received = false;
    DriveState state = DriveState::Waiting;
    bool has_estimate = false;
    std::vector<double> message, commands, own;
    std::vector<std::array<double, 2>> joints;
    RobotDriver::Places places;
    ControllerReport report;
    ControllerCopy copy;
  };
  /// Columns of `sensordata`.
  struct Columns {
    std::size_t first = 0, width = 0;
  };

  void write_all();
  void write(const Entry& entry);
  [[nodiscard]] Columns columns(const std::string& sensor) const;

  std::filesystem::path file_;
  const DriveLoop& loop_;
  Experiment experiment_;
  PreparedRun run_;
  RobotNames names_;
  std::unique_ptr<RunRecorder> recorder_;
  std::vector<std::array<int, 2>> joints_;  ///< addresses in qpos and qvel
  std::vector<int> controls_;               ///< in ctrl
  std::vector<int> activations_;            ///< in act, of the readings of actuators; -1: none
  std::vector<Columns> unknown_, readings_;
  Columns state_, late_, received_, tip_, message_;
  std::size_t sensor_numbers_ = 0;
  int base_ = -1, target_ = -1;  ///< body, mocap body
  int free_ = -1;                ///< address in qpos of a base that moves

  // One thread puts entries into the ring, the other takes them out.
  std::vector<Entry> ring_;
  std::atomic<std::size_t> put_ = 0, taken_ = 0;
  std::atomic<bool> ends_ = false;
  std::atomic<long> lost_ = 0;
  long steps_ = 0;
  bool has_begun_ = false;
  const Entry* shown_ = nullptr;  ///< in the thread that writes
  std::vector<double> last_message_;
  long rows_ = 0;
  std::string problem_;
  std::thread thread_;
};

}  // namespace tendril::simulation
