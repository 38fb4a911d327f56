#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "tendril/memory_layout.hpp"
#include "tendril/mobile/mobile_body.hpp"
#include "tendril/mobile/mobile_configuration.hpp"

namespace tendril {

struct MobilePathPlannerOptions {  ///< every field has a working default
  int max_nodes = 128;             ///< of each of the two trees, >= 2
  int max_checks = 10000;          ///< configurations checked in one search, >= 1
  int max_line_checks = 120;  ///< on one straight line, >= 1; one that would need more is checked
                              ///< more coarsely
  int max_waypoints = 12;     ///< of a way, >= 1; a way with more of them is no solution
  double margin = 0.03;       ///< kept from obstacles [m], >= 0
  double own_margin = 0.002;  ///< kept between the arm and the floor or the platform [m], >= 0
  double resolution = 0.01;   ///< the body moves by so much between two checks where it is nearer
                              ///< than that to an obstacle [m], > 0
  double aside = 1.5;         ///< half of the detours tried go no farther aside than this [m], the
                              ///< others twice as far; >= 0
};

/// A way for platform and arm from configuration to configuration among obstacles: straight lines
/// in x, y, heading and joints, found by two trees that grow towards each other (RRT-Connect:
/// Kuffner and LaValle 2000) and shortened. The first configurations tried have the arm upright or
/// folded, or the platform backed off, at either end; then seeded random places with such arms.
///
/// A search may be spread over many calls: the trees are in memory that the caller owns. Options
/// are validated in the constructor (ModelError). Nothing else allocates or throws; the work of a
/// call is bounded, and its result depends on its arguments only.
class MobilePathPlanner {
 public:
  MobilePathPlanner(const MobileBody& body, const MobilePathPlannerOptions& options = {});

  /// Whether the robot keeps `share` of both margins.
  [[nodiscard]] bool is_free(const MobileConfiguration& x, const Obstacles& obstacles,
                             double share = 1.0) noexcept;
  /// Whether configurations on the straight line from `a` to `b`, `b` included, are free. Where the
  /// margins are not kept at `a`, no more than there is asked for before `b`.
  [[nodiscard]] bool line_is_free(const MobileConfiguration& a, const MobileConfiguration& b,
                                  const Obstacles& obstacles, double share = 1.0) noexcept;

  enum class Progress { Searching, Found, Failed };
  /// Numbers that a search needs.
  [[nodiscard]] int memory_size() const noexcept;
  [[nodiscard]] MemoryLayout layout() const {
    MemoryLayout layout;
    static_cast<void>(layout.numbers(static_cast<std::size_t>(memory_size())));
    return layout;
  }
  /// Begins a search. The same seed finds the same way.
  void begin(const MobileConfiguration& from, const MobileConfiguration& to, int seed,
             std::span<double> memory) const noexcept;
  /// Goes on with it, for about `checks` more configurations. Found: see `waypoint_count` and
  /// `turn`.
  [[nodiscard]] Progress resume(const Obstacles& obstacles, int checks,
                                std::span<double> memory) noexcept;
  /// The way found last, without its ends; 0 turns: a straight line.
  [[nodiscard]] int waypoint_count() const noexcept { return waypoint_count_; }
  [[nodiscard]] Eigen::MatrixXd::ConstColXpr waypoint(int i) const noexcept { return turns_.col(i); }

  /// No point of the body moves farther than this between two configurations [m].
  [[nodiscard]] double distance(const MobileConfiguration& a,
                                const MobileConfiguration& b) const noexcept;

  [[nodiscard]] MobileBody& body() noexcept { return body_; }
  [[nodiscard]] const MobilePathPlannerOptions& options() const noexcept { return options_; }

 private:
  /// A tree in the memory of a search.
  struct Tree {
    Eigen::Map<Eigen::MatrixXd> nodes;  // a column each
    Eigen::Map<Eigen::VectorXd> parents;
    double& count;
    [[nodiscard]] int size() const noexcept { return static_cast<int>(count); }
  };
  [[nodiscard]] Tree tree(std::span<double> memory, int which) const noexcept;
  /// Part of the distance that moves the arm against its own platform.
  [[nodiscard]] double own_distance(const MobileConfiguration& a,
                                    const MobileConfiguration& b) const noexcept;
  [[nodiscard]] int extend(Tree& tree, const Obstacles& obstacles) noexcept;
  void draw(int attempt, int seed, const MobileConfiguration& from,
            const MobileConfiguration& to) noexcept;
  void join(const Tree& first, int at_first, const Tree& second, int at_second) noexcept;
  [[nodiscard]] bool shorten(const Obstacles& obstacles) noexcept;

  MobileBody body_;
  MobilePathPlannerOptions options_;
  std::vector<double> reach_;    // how far each coordinate moves the body [m/rad]
  Eigen::MatrixXd way_, turns_;  // a column each
  int way_count_ = 0, waypoint_count_ = 0;
  int checks_ = 0;  // of the running call
  Eigen::VectorXd aim_, middle_;
};

}  // namespace tendril
