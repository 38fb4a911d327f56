#pragma once

#include <string>

#include "tendril/mjcf/robot_file.hpp"

namespace tendril {

/// Names of the elements of a continuum robot's MJCF. Sections and links are counted from 1. An attach prefix stands before
/// every one of them; the controller's plugin instance is `controller`.
namespace names {
inline constexpr const char* kBase = "base";               ///< root body, to be attached
inline constexpr const char* kCarriage = "carriage";       ///< body that feeds and spins (only with feed or spin)
inline constexpr const char* kFeed = "feed";               ///< slide joint and its actuator
inline constexpr const char* kSpin = "spin";               ///< hinge joint and its actuator
inline constexpr const char* kTip = "tip";                 ///< site at the tip, z along the backbone
inline constexpr const char* kController = "controller";   ///< plugin instance
std::string section(int i);                                ///< "s1"
std::string link(int i, int j);                            ///< body "s1_l1"
std::string hinge(int i, int j, char axis);                ///< joint "s1_l1_x", axis 'x' or 'y'; with link servos also the actuator
std::string slide(int i, int j);                           ///< joint "s1_l1_z"
std::string bend(int i, char axis);                        ///< tendon and actuator "s1_x", "s1_y"
std::string length(int i);                                 ///< tendon and actuator "s1_z"
std::string section_end(int i);                            ///< site "s1_end"
}  // namespace names

/// How one section is divided into links; computed from the sub-section weights.
struct LinkLayout {
  std::vector<double> length;      ///< fraction of the section's length, sum 1
  std::vector<double> bend_share;  ///< fraction of the section's bend angle at each link's joint, sum 1
};
[[nodiscard]] LinkLayout link_layout(const Section& section, int links);

/// The MJCF document a robot stands for: sections as chains of mid-jointed links with two hinges each in alternating axis
/// order, servos, telescopic slides, feed under a carriage, excludes, explicit inertias, the controller's plugin instance
/// with its sensors, and the recommended options. Complete: it loads alone and attaches by its body `base`.
///
/// Sign convention: the sum of a section's y hinges is u = theta cos(phi), the sum of its x hinges is -v = -theta sin(phi).
/// Rest length of a section in the model: SC + SD/2; the slides of a section sum to s - SD/2.
/// Source: docs/derivations.md, "Links for a section". Held by: continuum_model_test, arc_fidelity_test.
[[nodiscard]] std::string continuum_mjcf(const RobotDescription& robot);

}  // namespace tendril
