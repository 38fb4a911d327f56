#pragma once

#include <mujoco/mujoco.h>

#include <string>
#include <vector>

namespace tendril {

/// A fault as chosen in the window. Strengths are those of docs/results/faults.md, relative to the
/// robot.
struct FaultChoice {
  std::string prefix;  ///< of the robot's elements
  int base = 0;        ///< its body; 0: the scene has no robot
  int kind = 0;        ///< of `fault_kinds`
  std::string servo;   ///< of the kinds of one servo
  int strength = 1;    ///< 0 weak, 1 medium, 2 strong
};

/// Names of the kinds, one a line.
[[nodiscard]] const char* fault_kinds();

struct ChosenFault {
  std::string toml;  ///< as LiveRun::inject takes it
  std::string text;  ///< "tip noise, 1 % of L"
};
/// Throws ModelError if the robot lacks what the fault needs.
[[nodiscard]] ChosenFault chosen_fault(const mjModel& model, const FaultChoice& choice);

}  // namespace tendril
