#pragma once

#include <array>
#include <chrono>
#include <filesystem>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "apps/tendril/progress.hpp"
#include "simulation/files/csv_table.hpp"
#include "tendril/kinematics/continuum_robot.hpp"
#include "tendril/mobile/kinematics.hpp"
#include "tendril/model/continuum/drive_values.hpp"
#include "tendril/model/robot_description.hpp"
#include "tendril/model_error.hpp"

// Common parts of the tables of `tendril ik` and `tendril fk`. Format: docs/guide/ik.md.
namespace tendril {

/// Reads a robot file and calls `use` with the description of a continuum or mobile robot; other
/// kinds are refused. Throws ModelError.
template <class Use>
void visit_kinematics(const std::filesystem::path& file, const Use& use) {
  std::visit(
      [&]<class D>(const D& description) {
        if constexpr (std::is_same_v<D, ContinuumDescription> ||
                      std::is_same_v<D, MobileDescription>) {
          use(description);
        } else {
          throw ModelError(file.string() + ": is " + D::kWhat +
                           ": tendril ik and fk take continuum and mobile robots");
        }
      },
      load_robot(file));
}

/// The continuum robot of a file; ModelError for one of another kind.
/// @param command  that takes it: `workspace`
[[nodiscard]] const ContinuumDescription& continuum_of(const RobotDescription& robot,
                                                       const std::string& file,
                                                       const char* command);

/// Columns of the output of `tendril ik` before the states.
inline constexpr std::array<const char*, 5> kResultColumns = {
    "status", "iterations", "position_error", "angle_error", "time_us"};

/// Columns of the output of `tendril workspace` before the states.
inline constexpr std::array<const char*, 8> kWorkspaceColumns = {
    "rho", "z", "sampled", "solved", "converged", "dexterity", "iterations", "time_us"};

/// Tip positions, directions and rolls (`roll_angle`): input of `tendril ik`, output of `tendril
/// fk`.
inline constexpr std::array<const char*, 7> kTipColumns = {"x", "y", "z", "zx", "zy", "zz", "roll"};

/// Tool poses of a mobile robot, angles as `tool_orientation`: input of `tendril ik`, output of
/// `tendril fk`.
inline constexpr std::array<const char*, 6> kToolColumns = {"x", "y", "z", "roll", "pitch", "yaw"};

/// base_x, base_y, base_heading, q_1 ... of a mobile robot.
[[nodiscard]] std::vector<simulation::CsvColumn> pose_columns(const MobileRobot& robot);

/// theta_1, phi_1, s_1, theta_2, ... of all sections, then h if the base feeds and omega0 if it
/// spins. A table must have theta and phi of all sections and s of extensible ones.
[[nodiscard]] std::vector<simulation::CsvColumn> state_columns(const ContinuumRobot& robot);

/// Column "drive NAME [unit]" of a table of states.
[[nodiscard]] std::string drive_column(const DriveValues::Drive& drive);

/// Appends the fields of `state_columns`.
void write_state(simulation::CsvWriter& table, const ContinuumRobot& robot, SectionStates states,
                 const BaseState& base);

/// Reads states and base from a row of `state_columns`.
void read_state(std::span<const double> row, const ContinuumRobot& robot,
                std::span<SectionState> states, BaseState& base);

/// Progress bar of a long table, by bytes: shown only if the size of the input is known and the
/// rows are not written to the terminal.
class TableProgress {
 public:
  TableProgress(bool quiet, const std::string& out);
  void show(const simulation::CsvReader& reader, long rows);
  void finish() { bar_.finish(); }

 private:
  ProgressBar bar_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace tendril
