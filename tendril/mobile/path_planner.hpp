#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "tendril/geometry/rrt_connect.hpp"
#include "tendril/memory_layout.hpp"
#include "tendril/mobile/body.hpp"
#include "tendril/mobile/configuration.hpp"

namespace tendril {

struct MobilePathPlannerOptions {  ///< every field has a working default
  int max_nodes = 128;             ///< of each of the two trees, >= 2
  int max_checks = 10000;          ///< configurations checked in one search, >= 1
  int max_line_checks = 120;  ///< on one straight line, >= 1; one that would need more is checked
                              ///< more coarsely
  int max_waypoints = 12;     ///< of a path, >= 1; a path with more of them is no solution
  double margin = 0.03;       ///< kept from obstacles [m], >= 0
  double own_margin = 0.002;  ///< kept between the arm and the floor or the platform [m], >= 0
  double resolution = 0.01;   ///< the body moves by so much between two checks where it is nearer
                              ///< than that to an obstacle [m], >= 1e-6
  double detour = 1.5;        ///< half of the detours tried go no farther aside than this [m], the
                              ///< others twice as far; >= 0
};

/// Collision-free path of platform and arm from configuration to configuration: straight lines in
/// x, y, heading and joints, found by RrtConnect. The first configurations tried have the arm
/// upright or folded, or the platform backed off, at either end; then seeded random base poses with
/// such arms.
///
/// A search may be spread over many calls: its memory is the caller's and may hold anything.
/// Options are validated in the constructor (ModelError). Nothing else allocates or throws; the
/// work of a call is bounded, and its result depends on its arguments only.
class MobilePathPlanner {
 public:
  MobilePathPlanner(const MobileBody& body, const MobilePathPlannerOptions& options = {});

  /// Tells whether the robot keeps both margins, times `margin_ratio`.
  [[nodiscard]] bool is_free(const MobileConfiguration& x, const Obstacles& obstacles,
                             double margin_ratio = 1.0) noexcept;
  /// Tells whether configurations on the straight line from `a` to `b`, `b` included, are free.
  /// Where the margins are not kept at `a`, no more than the clearance at `a` is required before
  /// `b`.
  [[nodiscard]] bool line_is_free(const MobileConfiguration& a, const MobileConfiguration& b,
                                  const Obstacles& obstacles, double margin_ratio = 1.0) noexcept;

  using Progress = RrtConnect::Progress;
  /// Returns the layout of the memory of a search.
  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }
  [[nodiscard]] int memory_size() const noexcept { return layout_.size(); }
  /// Begins a search. The same seed, >= 0, finds the same path.
  void begin(const MobileConfiguration& from, const MobileConfiguration& to, int seed,
             std::span<double> memory) const noexcept;
  /// Continues it, for about `checks` more configurations. Found: see `waypoint_count` and
  /// `waypoint`.
  [[nodiscard]] Progress resume(const Obstacles& obstacles, int checks,
                                std::span<double> memory) noexcept;
  /// The path found last, without its ends; 0 waypoints: a straight line.
  [[nodiscard]] int waypoint_count() const noexcept { return search_.waypoint_count(); }
  [[nodiscard]] Eigen::MatrixXd::ConstColXpr waypoint(int i) const noexcept {
    return search_.waypoint(i);
  }

  /// No point of the body moves farther than this between two configurations [m].
  [[nodiscard]] double distance(const MobileConfiguration& a,
                                const MobileConfiguration& b) const noexcept;

  [[nodiscard]] MobileBody& body() noexcept { return body_; }
  [[nodiscard]] const MobilePathPlannerOptions& options() const noexcept { return options_; }

 private:
  struct Space;  // of one search
  /// Returns the part of the distance that moves the arm relative to its own platform.
  [[nodiscard]] double own_distance(const MobileConfiguration& a,
                                    const MobileConfiguration& b) const noexcept;

  MobileBody body_;
  MobilePathPlannerOptions options_;
  std::vector<double> reach_;  // how far each coordinate moves the body [m/rad]
  RrtConnect search_;
  MemoryLayout layout_;
  Slot<int> seed_;
  Block trees_;
  int checks_ = 0;  // of the running call
  Eigen::VectorXd middle_;
};

}  // namespace tendril
