#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tendril/model/continuum/description.hpp"

namespace tendril::simulation {

/// Properties that a robot file amounts to, measured on its compiled model, straight, its base
/// held, without its controller.
struct BodyReport {
  double length;  ///< [m], variable lengths as at the start
  double mass;    ///< of the sections [kg]

  struct Response {
    double tip_stiffness;             ///< against a force across the tip, small [N/m]
    std::vector<double> frequencies;  ///< the lowest natural ones in bending, without damping [Hz]
    /// Sag of the tip from its rest at 0 g, held horizontally at 1 g [m]; none: it falls.
    std::optional<double> sag;
  };
  Response body;  ///< alone, its actuators without force
  /// Response with servos and tendons that hold the straight pose; none: they do not stiffen it, as
  /// tensions, pressures and moments do not.
  std::optional<Response> driven;
  bool has_servos;   ///< that bend sections; motors do not count
  bool has_tendons;  ///< that are commanded in length

  /// Torsion of the tip about its axis; none: all sections are rigid in torsion.
  struct Torsion {
    double stiffness;  ///< [N m/rad]
    double frequency;  ///< the lowest natural one [Hz]
  };
  std::optional<Torsion> torsion;

  enum class DrivenBy { Servo, Motor, Tendons, Chambers, Nothing };
  /// Bend that a section's torque limit holds, or in every direction the tendons or chambers that
  /// end in it, those that run on at their least tension.
  struct SectionBend {
    DrivenBy drive;
    double limit;       ///< [rad]
    double held;        ///< against its own stiffness [rad], >= 0
    double held_level;  ///< the same with all that is past it held horizontally at 1 g [rad], >= 0
  };
  std::vector<SectionBend> bends;

  /// Largest of 0.5, 1, 2, 4, 8 and 16 ms with which the arm, held horizontally, bends by half of
  /// its limits in one step of the commands and comes to rest [s]; none: not with 0.5 ms.
  std::optional<double> timestep;
  /// Largest of the same with which it does not diverge, whether it rests or still moves after 3 s;
  /// none: it diverges with 0.5 ms.
  std::optional<double> bounded_timestep;
};

/// Throws ModelError if the model is refused by the engine.
[[nodiscard]] BodyReport report_body(const ContinuumDescription& robot);

/// Returns the report as a table, one line each.
[[nodiscard]] std::string body_report_text(const std::string& name, const BodyReport& report);

}  // namespace tendril::simulation
