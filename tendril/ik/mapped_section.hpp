#pragma once

#include <vector>

#include "tendril/ik/section_map.hpp"
#include "tendril/kinematics/section.hpp"
#include "tendril/kinematics/tangent_links.hpp"

namespace tendril {

/// The validated form of a SectionMap: with the limits of its section, its tangent links and, where
/// the user gave none, its inverse. For the sources of solvers.
class MappedSection {
 public:
  /// Samples the map over its range. Throws ModelError `section 2: forward(0.3, 0): x = nan m, must
  /// be finite` where it is not one of a section, and where it has no inverse and none can be
  /// found.
  /// @param index  of the section in messages, from 1
  MappedSection(const Section& section, SectionMap map, int index);

  [[nodiscard]] SectionEnd end(double theta, double extension) const noexcept {
    return map_.forward(theta, extension);
  }
  /// Bend inside the limits for the end at (rho, z) [m]; `from` where the user's inverse has none.
  [[nodiscard]] SectionBend reach(double rho, double z, const SectionBend& from) const noexcept;

  /// Links of an end, (2.31)-(2.33) with the tangent angle that the map gives in place of theta.
  [[nodiscard]] TangentLinks links(const SectionEnd& end) const noexcept;

 private:
  [[nodiscard]] double bend_with_chord_angle(double alpha) const noexcept;
  void check_sample(double theta, double extension) const;
  void sample_chord_angles();

  Section section_;
  SectionMap map_;
  int index_;
  double small_bend_chord_ratio_;     // lim chord angle / tangent
  std::vector<double> chord_angles_;  // of bends at equal distances over [0, limit]; or none
};

}  // namespace tendril
