#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tendril/robot_file/continuum_file.hpp"

namespace tendril::host {

/// What the numbers of a robot file amount to, measured on its compiled model, straight, its base
/// held, without its controller.
struct BodyReport {
  double length;  ///< [m], variable lengths as at the start
  double mass;    ///< of the sections [kg]

  /// With servos that hold the straight pose, and of the body alone, its servos without force.
  struct Response {
    double tip_stiffness;                   ///< against a force across the tip, small [N/m]
    std::vector<double> frequencies;        ///< the lowest natural ones in bending, without damping [Hz]
    std::optional<double> sag;              ///< of the tip, held out level at 1 g [m]; none: it falls
  };
  Response driven, body;

  /// Of the tip about its axis; none: all sections are rigid in torsion.
  struct Torsion {
    double stiffness;  ///< [N m/rad]
    double frequency;  ///< the lowest natural one [Hz]
  };
  std::optional<Torsion> torsion;

  struct SectionBend {
    double limit;  ///< [rad]
    double held;   ///< what its torque limit holds against its own stiffness [rad]
    double held_level;  ///< the same with all that is beyond it held out level at 1 g [rad], >= 0
  };
  std::vector<SectionBend> bends;

  /// Largest of 0.5, 1, 2, 4, 8 and 16 ms with which the arm, held out level, bends by half of its
  /// limits in one step of the commands and comes to rest [s]; none: not with 0.5 ms.
  std::optional<double> timestep;
};

/// Throws ModelError if the model is refused by the engine.
[[nodiscard]] BodyReport report_body(const ContinuumDescription& robot);

/// As a table, a line each.
[[nodiscard]] std::string body_report_text(const std::string& name, const BodyReport& report);

}  // namespace tendril::host
