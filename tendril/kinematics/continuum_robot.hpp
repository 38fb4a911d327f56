#pragma once

#include <initializer_list>
#include <vector>

#include "tendril/kinematics/section.hpp"

namespace tendril {

/// Parameters of the robot's base, as a user gives them.
struct BaseParameters {
  double feed_limit = 0.0;  ///< largest base shift hMax along the base axis [m], >= 0; 0: no feed
  bool spin = false;        ///< the base can turn about its own axis
};

/// Configuration of the base.
struct BaseState {
  double feed = 0.0;  ///< shift h along the base z axis [m], in [0, feed_limit]
  double spin = 0.0;  ///< omega0 about the base z axis [rad]
};

/// A continuum robot: sections in a row on a base. Read `section.hpp` first.
///
/// Smooth coordinates q of the robot: for each section u, v and, if it is extensible, s; in this
/// order. Immutable after construction. Source: [FABRIKx] sec. 2.2, (2.7).
class ContinuumRobot {
 public:
  /// Throws ModelError when there is no section, or more than kMaxSections, or a parameter is
  /// outside its range.
  explicit ContinuumRobot(const std::vector<SectionParameters>& sections,
                          const BaseParameters& base = {});
  ContinuumRobot(std::initializer_list<SectionParameters> sections);

  /// The same robot on a rail: its feed is a first section more, whose variable length is the shift
  /// of the base. It does not bend (kRailBend) and is no body that anything could touch; the base
  /// has no feed any more. So what plans with the lengths of sections plans with the feed, too.
  /// Without a feed, the robot itself. Its first three coordinates are 0, 0 and the shift [m].
  [[nodiscard]] ContinuumRobot on_rail() const;
  /// Sections before the body: 1 of a robot `on_rail`, else 0.
  [[nodiscard]] int rail_count() const noexcept { return rail_count_; }
  static constexpr double kRailBend = 1e-10;  ///< bend limit of a rail [rad]

  static constexpr int kMaxSections = 1000;

  [[nodiscard]] int section_count() const noexcept { return static_cast<int>(sections_.size()); }
  [[nodiscard]] const Section& section(int i) const noexcept {
    return sections_[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] const BaseParameters& base() const noexcept { return base_; }
  [[nodiscard]] double max_length() const noexcept { return max_length_; }  ///< sum of SC + SD [m]
  /// The last section that turns on its base; -1: none does.
  [[nodiscard]] int last_turning() const noexcept { return last_turning_; }

  /// Total number of smooth coordinates, and the index of the first one of section i.
  [[nodiscard]] int coordinate_count() const noexcept { return coordinate_count_; }
  [[nodiscard]] int coordinate_index(int i) const noexcept {
    return coordinate_index_[static_cast<std::size_t>(i)];
  }

  /// Every section straight, variable lengths at half of their range. Valid as long as the robot.
  [[nodiscard]] SectionStates straight() const noexcept { return straight_; }

  /// The state brought inside the limits: s into [0, SD], then theta into [0, limit at s]; a
  /// section that bends in one plane keeps its part of the bend. (2.24)-(2.26)
  [[nodiscard]] SectionState clamped(int i, SectionState state) const noexcept;

  /// Whether all sections bend in the x-z plane of the base alone.
  [[nodiscard]] bool is_planar() const noexcept;
  /// Whether every section bends in any plane.
  [[nodiscard]] bool bends_in_any_plane() const noexcept;

  /// Tells whether every state is finite and inside the limits, up to `tolerance` (rad and m).
  [[nodiscard]] bool within_limits(SectionStates states, double tolerance = 1e-12) const noexcept;

 private:
  void add(Section section);

  std::vector<Section> sections_;
  BaseParameters base_;
  std::vector<SectionState> straight_;
  std::vector<int> coordinate_index_;
  int coordinate_count_ = 0, last_turning_ = -1, rail_count_ = 0;
  double max_length_ = 0.0;
};

}  // namespace tendril
