#pragma once

#include "apps/tendril/command_line.hpp"

// The commands of the program, each in the file with its name.
namespace tendril {

/// Of a program that is built without TENDRIL_DYNAMIXEL.
inline constexpr const char* kNoServos =
    "this program was built without servos: build it with -DTENDRIL_DYNAMIXEL=ON, on Linux";

/// `tendril run`. Exit code: 0 all checks hold, 1 a check failed, 3 diverged, 4 results, video or
/// report could not be written, 130 interrupted.
void add_run_command(CommandLine& line);

/// `tendril drive`: the controller of a robot file against a robot (docs/guide/drive.md). Exit
/// code: those of `tendril run`; with the log of a robot 0 all commands are bitwise equal, 1 some
/// differ; with a robot elsewhere 0 it was driven to the end, 1 it was not.
void add_drive_command(CommandLine& line);

/// `tendril servos`: the servos of a bus, and the zero angles of those that pull tendons
/// (docs/guide/dynamixel.md). Exit code 1: a tendon has no tension; 130: interrupted.
void add_servos_command(CommandLine& line);

/// `tendril view`. Exit code: 0 the window was closed, 3 the scene diverged before the screenshot,
/// 4 no display.
void add_view_command(CommandLine& line);

/// `tendril render`: a video or an image of a recording. Exit code 130: interrupted, nothing is
/// written.
void add_render_command(CommandLine& line);

/// `tendril model`: the MJCF of a robot, tube or shell file.
void add_model_command(CommandLine& line);

/// `tendril generate`: a random scene of a family (docs/results/families.md).
void add_generate_command(CommandLine& line);

/// `tendril new`: a folder with a robot, a scene and an experiment, from apps/templates.
void add_new_command(CommandLine& line);

/// `tendril explain`: what an error, a notice, a status or an exit code means.
void add_explain_command(CommandLine& line);

/// `tendril ik`: inverse kinematics of a table of targets (docs/guide/ik.md).
void add_ik_command(CommandLine& line);

/// `tendril fk`: forward kinematics of a table of states (docs/guide/ik.md).
void add_fk_command(CommandLine& line);

/// `tendril workspace`: what a robot's tip reaches, with dexterity and solve time over it
/// (docs/guide/workspace.md). Exit code 130: interrupted, nothing is written.
void add_workspace_command(CommandLine& line);

/// `tendril march`: joint angles of a snake along a path (docs/guide/snake.md).
void add_march_command(CommandLine& line);

/// `tendril plan`: paths among obstacles or with contact, printed and drawn
/// (docs/guide/plan_paths.md, docs/guide/plan_contact.md).
void add_plan_command(CommandLine& line);

/// `tendril rollout info FILE` and `tendril rollout replay FILE`. Exit code of replay: 0 every step
/// is bitwise identical, 1 one differs. ModelError for a file that is not a recording.
void add_rollout_command(CommandLine& line);

/// `tendril tables [NAME...]`: repeats the published experiments; prints measured and published
/// values. Exit code: 0 done, 1 a claimed solution is refuted by forward kinematics, 130
/// interrupted (finished results are kept).
void add_tables_command(CommandLine& line);

/// The commands of python/tendril/commands.txt: only their lines in `tendril --help`, see
/// `run_python_command`.
void add_python_commands(CommandLine& line);

/// Tells whether the command is one of the Python package, or has controllers in Python
/// (`--python`).
[[nodiscard]] bool is_python_command(int argc, char** argv);

/// Replaces this program by `python -m tendril ...` with the package of the build tree or the
/// installation, which gets to know where this program is (TENDRIL_PROGRAM). Throws
/// std::runtime_error.
void run_python_command(int argc, char** argv);

/// `tendril doctor`: reports found components, their versions, and remedies for missing ones. Exit
/// code 1 if a component required for simulation is missing; components used only for images and
/// reports are optional.
void add_doctor_command(CommandLine& line);

}  // namespace tendril
