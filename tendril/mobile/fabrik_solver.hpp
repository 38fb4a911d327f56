#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "tendril/mobile/closed_form.hpp"
#include "tendril/mobile/platform_rule.hpp"
#include "tendril/mobile/result.hpp"

namespace tendril {

/// Features of the solver that extend the printed algorithm. All off: the algorithm as printed, its
/// syntax repaired, as a baseline (docs/theory/mobile.md). Each builds on those before
/// it.
struct MobileFabrikFeatures {
  bool orientation_test =
      true;  ///< success asks for the orientation too; off: for the position only
  bool orientation_forward = true;  ///< the forward pass puts the last link along the desired axis
  bool second_plane = true;         ///< the opposite arm plane, and any plane for a vertical tool
  bool mirror_shift = true;  ///< a limit shift goes to the other side (factor 2), as the text
                             ///< of the source says; off: factor 1, as its formula does
  bool starts = true;        ///< attempts from seeded elbow postures, and with factor 1
};

/// Order in which arm planes are tried.
enum class PlaneOrder : std::uint8_t {
  FacingFirst,   ///< the tool axis' own azimuth, then the other side
  NearestFirst,  ///< the plane nearest to the arm's at the start, then the other
  NearestOnly,   ///< for tracking: no branch switches
};

struct MobileFabrikOptions {         ///< every field has a working default
  int max_iterations = 100;          ///< of an attempt, >= 1
  double position_tolerance = 1e-4;  ///< [m], > 0
  double angle_tolerance = 1e-3;     ///< [rad], > 0
  int max_stalls = 40;               ///< of an attempt, >= 0
  double stall_ratio = 3e-2;  ///< an iteration that takes less of the error stalls, in (0, 1)
  PlaneOrder planes = PlaneOrder::FacingFirst;
  bool check_floor = true;  ///< refuse targets, and solutions, with the arm under the floor
  /// The closed form where every attempt fails; robots of three in-plane links only, others have
  /// none.
  bool fallback = true;
  /// Search, after success, for the cheapest pose in the plane found over the free base distance
  /// (`cost`). Needs three in-plane links.
  bool polish = false;
  MobileCost cost{};  ///< of `polish` and `fallback`
  MobileFabrikFeatures features{};
};

/// Forward and backward reaching for an arm on a mobile platform: tool position and full
/// orientation, joint limits, a base that shifts when the error stalls or a joint is at its limit.
///
/// The arm lies in a vertical plane, which the target's orientation determines up to its side; in
/// it the problem is planar: abscissa and height. The first attempt that meets the target, among
/// all planes and starts, is the solution. Deterministic; no random numbers.
///
/// Options are validated in the constructor (ModelError); `solve` allocates and throws nothing and
/// its result depends on its arguments only. The robot is copied.
/// Source: [Mobile]. Differs: see MobileFabrikFeatures and docs/theory/mobile.md.
class MobileFabrikSolver {
 public:
  explicit MobileFabrikSolver(const MobileRobot& robot, const MobileFabrikOptions& options = {});

  /// Reaches for `target` from the platform pose `base` and `joints` (clamped to their limits
  /// first; may be the previous solution's). Converged with 0 iterations, unchanged, if the start
  /// meets the target already. `rule` says which base poses are allowed.
  ///
  /// A shift that the rule forbids is clipped; a frozen base is not shifted at all.
  [[nodiscard]] MobileResult solve(const ToolTarget& target, const PlatformPose& base,
                                   JointAngles joints, const PlatformRule& rule = {}) noexcept;

  [[nodiscard]] const MobileRobot& robot() const noexcept { return robot_; }
  [[nodiscard]] const MobileFabrikOptions& options() const noexcept { return options_; }

 private:
  struct Point {
    double x, z;
  };
  /// Range of a hinge as directions: inside if within `cos_half` of the middle.
  struct Sector {
    bool whole_turn;
    Point middle, low, high;  // (sin, cos)
    double cos_half;
  };
  enum class Outcome : std::uint8_t { Met, Failed };

  [[nodiscard]] bool attempt_all(std::span<const mobile::PlaneCase> planes,
                                 const mobile::Problem& problem, MobileResult& result) noexcept;
  [[nodiscard]] MobileResult fall_back(const mobile::Problem& problem,
                                       const MobileResult& attempts) noexcept;
  [[nodiscard]] Outcome attempt(const mobile::PlaneCase& plane, const mobile::Problem& problem,
                                double abscissa, double gamma, MobileResult& result) noexcept;
  [[nodiscard]] double start_posture(const mobile::PlaneCase& plane, const mobile::Problem& problem,
                                     int start) noexcept;
  void place(double abscissa) noexcept;
  void forward_pass(const mobile::PlaneCase& plane, double height) noexcept;
  void backward_pass(const mobile::PlaneCase& plane) noexcept;
  [[nodiscard]] bool shift(const mobile::PlaneCase& plane, const mobile::Problem& problem,
                           double distance, std::size_t points) noexcept;
  [[nodiscard]] std::optional<double> nearest_allowed(const mobile::PlaneCase& plane,
                                                      const mobile::Problem& problem,
                                                      double abscissa) const noexcept;
  [[nodiscard]] bool read_joints(const mobile::PlaneCase& plane, const mobile::Problem& problem,
                                 MobileResult& evaluated) noexcept;
  void keep(const mobile::PlaneCase& plane, const MobileResult& evaluated,
            MobileResult& result) noexcept;
  void keep_if_nearer(const mobile::PlaneCase& plane, const mobile::Problem& problem,
                      MobileResult& result) noexcept;
  [[nodiscard]] bool accept(const mobile::PlaneCase& plane, const mobile::Problem& problem,
                            MobileResult& result) noexcept;
  [[nodiscard]] bool cheapest_in_plane(
      const mobile::PlaneCase& plane, const mobile::Problem& problem, MobileResult& result,
      double less_than = std::numeric_limits<double>::infinity()) noexcept;
  void finish(const mobile::PlaneCase& plane, const mobile::Problem& problem,
              MobileResult& result) noexcept;

  MobileRobot robot_;
  MobileFabrikOptions options_;
  std::optional<MobileClosedForm> closed_form_;
  std::vector<double> lengths_, priorities_;  // one per link
  std::vector<Sector> sectors_;               // one per hinge

  // Buffers of the running solve; sized in the constructor.
  double foot_ = 0.0;              // abscissa of the yaw axis
  std::vector<Point> points_;      // hinges, then the tool point
  std::vector<Point> directions_;  // of the links
  int limit_joint_ = -1;           // hinge that the last backward pass clamped
  std::vector<double> start_, joints_, trial_;
};

}  // namespace tendril
