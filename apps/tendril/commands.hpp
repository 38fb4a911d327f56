#pragma once

#include "apps/tendril/command_line.hpp"

// The commands of the program, each in a file of its name.
namespace tendril {

/// `tendril run`. Exit code: 0 done and all checks hold, 1 a check failed, 3 diverged, 130
/// interrupted.
void add_run_command(CommandLine& line);

/// `tendril view`. Exit code: 0 the window was closed, 3 the scene diverged before the time of the
/// screenshot, 4 no display.
void add_view_command(CommandLine& line);

/// `tendril model`: the MJCF that a robot or tube file stands for.
void add_model_command(CommandLine& line);

/// `tendril ik`: states that bring the tip to a table of targets (docs/ik.md).
void add_ik_command(CommandLine& line);

/// `tendril fk`: tip poses of a table of states (docs/ik.md).
void add_fk_command(CommandLine& line);

/// `tendril plan`: paths among obstacles or with contact, printed and drawn (docs/planning.md).
void add_plan_command(CommandLine& line);

/// `tendril rollout info FILE` and `tendril rollout replay FILE`. Exit code of replay: 0 every step
/// is the same bit for bit, 1 one differs. A file that is no recording: ModelError.
void add_rollout_command(CommandLine& line);

/// `tendril tables [NAME...]`: the published experiments, measured beside published. Exit code: 0
/// done, 1 a solution was claimed that forward kinematics refutes, 130 interrupted (what was
/// finished is kept).
void add_tables_command(CommandLine& line);

/// `tendril doctor`: what is found, loaded, in which version, and what to do about what is not.
/// Exit code 1 when something that simulation needs is missing; what only pictures and reports need
/// is a remark.
void add_doctor_command(CommandLine& line);

}  // namespace tendril
