#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "tendril/kinematics/random_states.hpp"
#include "tendril/mobile/mobile_body.hpp"
#include "tendril/mobile/mobile_configuration.hpp"

namespace tendril {

struct MobileWayOptions {     ///< every field has a working default
  int max_nodes = 96;         ///< of each of the two trees, >= 2
  int max_checks = 1200;      ///< configurations checked in one search, >= 1: bounds its work
  int max_line_checks = 120;  ///< on one straight line, >= 1; one that would need more is checked
                              ///< more coarsely
  int max_turns = 12;         ///< of a way, >= 1; a way with more of them is no answer
  double margin = 0.03;       ///< kept from obstacles [m], >= 0
  double own_margin = 0.002;  ///< kept between the arm and the floor or the platform [m], >= 0
  double resolution = 0.01;   ///< the body moves by so much between two checks where it is nearer
                              ///< than that to an obstacle [m], > 0
  double aside = 1.5;         ///< the platform makes detours this far [m], >= 0
};

/// A way for platform and arm from configuration to configuration among obstacles: straight lines
/// in x, y, heading and joints, found by two trees that grow towards each other (RRT-Connect:
/// Kuffner and LaValle 2000) and shortened. The first configurations tried have the arm stand
/// straight up where the platform stands and where it shall stand; then seeded random places with
/// the arm upright, folded or anyhow.
///
/// Options are validated in the constructor (ModelError). Nothing else allocates or throws; the
/// work of a call is bounded, and its result depends on its arguments only.
class MobileWay {
 public:
  MobileWay(const MobileBody& body, const MobileWayOptions& options = {});

  /// Whether the robot keeps `share` of both margins.
  [[nodiscard]] bool is_free(const MobileConfiguration& x, const Obstacles& obstacles,
                             double share = 1.0) noexcept;
  /// Whether configurations on the straight line from `a` to `b`, `b` included, are free. Where the
  /// margins are not kept at `a`, no more than there is asked for before `b`.
  [[nodiscard]] bool line_is_free(const MobileConfiguration& a, const MobileConfiguration& b,
                                  const Obstacles& obstacles, double share = 1.0) noexcept;

  /// Searches a way. Returns the number of its turns (see `turn`), 0 for a straight line; -1: none
  /// found.
  [[nodiscard]] int search(const MobileConfiguration& from, const MobileConfiguration& to,
                           const Obstacles& obstacles, std::uint64_t seed) noexcept;
  /// Turn i of the way found last.
  [[nodiscard]] Eigen::MatrixXd::ConstColXpr turn(int i) const noexcept { return turns_.col(i); }

  /// No point of the body moves farther than this between two configurations [m].
  [[nodiscard]] double distance(const MobileConfiguration& a,
                                const MobileConfiguration& b) const noexcept;

  [[nodiscard]] MobileBody& body() noexcept { return body_; }
  [[nodiscard]] const MobileWayOptions& options() const noexcept { return options_; }

 private:
  struct Tree {
    Eigen::MatrixXd nodes;  // a column each
    std::vector<int> parents;
    int count = 0;
  };
  /// Part of the distance that moves the arm against its own platform.
  [[nodiscard]] double own_distance(const MobileConfiguration& a,
                                    const MobileConfiguration& b) const noexcept;
  [[nodiscard]] int extend(Tree& tree, const Obstacles& obstacles) noexcept;
  [[nodiscard]] bool connect(Tree& tree, const Obstacles& obstacles) noexcept;
  void draw(int attempt, const MobileConfiguration& from, const MobileConfiguration& to,
            SplitMix64& random) noexcept;
  [[nodiscard]] int shorten(const Obstacles& obstacles) noexcept;

  MobileBody body_;
  MobileWayOptions options_;
  std::vector<double> reach_;  // how far each coordinate moves the body [m/rad]
  Tree first_, second_;
  Eigen::MatrixXd way_, turns_;  // a column each
  int way_count_ = 0;
  int checks_ = 0;
  Eigen::VectorXd aim_, middle_;
};

}  // namespace tendril
