#pragma once

#include <Eigen/Geometry>
#include <limits>
#include <span>
#include <vector>

#include "tendril/contact/planar_arc.hpp"
#include "tendril/contact/planar_scene.hpp"
#include "tendril/rod/elastic_correction.hpp"

namespace tendril {

/// A piece of constant curvature of a path in space, in the frame of its start: z along the path.
struct SpatialArc {
  double curvature = 0.0;  ///< [1/m], signed: the other sign is the opposite direction
  double direction = 0.0;  ///< phi of the bend [rad], from the x axis of the start frame
  double length = 0.0;     ///< [m], > 0
};

/// Pose of the arc's point at arc length `s` in the frame of its start: R = Rz(phi) Ry(k s)
/// Rz(-phi).
[[nodiscard]] Eigen::Isometry3d arc_pose(const SpatialArc& arc, double s) noexcept;

/// A path of arcs with continuous tangent, from the place where the robot enters. Frames along it
/// do not twist. A planar path lies in the xz-plane of the entry frame.
class InsertionPath {
 public:
  /// Throws ModelError `insertion path: arc 2: length = 0 m, must be ...` (from 0) for an empty
  /// path and numbers that are not finite or lengths <= 0; for planar arcs also where an arc does
  /// not start where the one before ends (1e-6 m, rad). Planar plane coordinates (x, z) become
  /// (x, 0, z).
  explicit InsertionPath(std::vector<SpatialArc> arcs,
                         const Eigen::Isometry3d& entry = Eigen::Isometry3d::Identity());
  explicit InsertionPath(std::span<const PlanarArc> plan);

  [[nodiscard]] double length() const noexcept { return end_.back(); }
  [[nodiscard]] std::span<const SpatialArc> arcs() const noexcept { return arcs_; }
  [[nodiscard]] double arc_start(int arc) const noexcept {
    return end_[static_cast<std::size_t>(arc)];
  }
  [[nodiscard]] double arc_end(int arc) const noexcept {
    return end_[static_cast<std::size_t>(arc) + 1];
  }
  /// The arc that holds arc length s; at a joint the one that ends there.
  [[nodiscard]] int arc_at(double s) const noexcept;
  /// Pose at arc length s in the world (that of the entry frame's parent); beyond the ends the end
  /// arcs go on.
  [[nodiscard]] Eigen::Isometry3d pose_at(double s) const noexcept;
  [[nodiscard]] const Eigen::Isometry3d& entry() const noexcept { return start_.front(); }

 private:
  std::vector<SpatialArc> arcs_;
  std::vector<double> end_;               ///< of the arc before; front() = 0
  std::vector<Eigen::Isometry3d> start_;  ///< poses, one per arc
};

/// What a section is told: bend and length of a constant-curvature section.
struct SectionCommand {
  double theta = 0.0;   ///< [rad], >= 0
  double phi = 0.0;     ///< [rad]; of a straight section that of the step before
  double length = 0.0;  ///< S, visible beyond the entry [m]
};

/// A contact that the plan has at this step.
struct ExpectedContact {
  int index = -1;  ///< of the planned contact: it ends arc `index` of the path
  BodySide side = BodySide::Positive;
  double arc_length = 0.0;  ///< from the entry [m]
};

/// One row of a list of commands.
struct InsertionStep {
  double time = 0.0;             ///< [s]
  double path_length = 0.0;      ///< arc length of the path that the tip has reached [m]
  double inserted_length = 0.0;  ///< L, of the body beyond the entry [m]
  double feed = 0.0;  ///< length pushed in at the base [m]; 0 for robots that grow by themselves
  /// One per section in every row, base first; of length 0 where it is not out yet.
  std::vector<SectionCommand> sections;
  /// Of the whole body (extensible section) or of the segment that is being laid (everting) [1/m],
  /// signed, in the direction of the current arc.
  double actuation_curvature = 0.0;
  int stage = 0;  ///< arc of the path on which the tip is, from 0
  std::vector<ExpectedContact> contacts;
  Eigen::Isometry3d X_WE = Eigen::Isometry3d::Identity();      ///< predicted tip pose
  double clearance = std::numeric_limits<double>::infinity();  ///< predicted [m]
  double deviation = 0.0;  ///< largest distance of the body from the path at equal arc length [m]
};

enum class InsertionStatus {
  Ready,
  OutsideCorridor,  ///< the body deviates from the path by more than allowed
  BeyondLimits      ///< sections too few, too short, or bent too far for the path
};
[[nodiscard]] const char* to_string(InsertionStatus status) noexcept;

struct InsertionList {
  InsertionStatus status = InsertionStatus::BeyondLimits;
  std::vector<InsertionStep> steps;  ///< by time; empty if BeyondLimits
  double deviation = 0.0;            ///< largest of all steps [m]

  [[nodiscard]] double duration() const noexcept { return steps.empty() ? 0.0 : steps.back().time; }
};

struct InsertionOptions {           ///< every field has a working default
  double body_radius = 0.01;        ///< r [m], >= 0
  double largest_step = 2e-3;       ///< advance per row [m], > 0; also held below r/5 if r > 0
  double largest_turn = 0.0174533;  ///< turn of the path per row [rad], > 0
  double ramp = 5e-3;         ///< length over which the actuation changes past a contact [m], >= 0
  double start_length = 0.0;  ///< inserted before the first row [m], >= 0
  double speed = 0.05;        ///< feed, dL/dt [m/s], > 0
  double acceleration = 0.2;  ///< of the feed [m/s^2], > 0
  double bend_rate = std::numeric_limits<double>::infinity();  ///< of a section [rad/s], > 0
  double curvature_rate =
      std::numeric_limits<double>::infinity();  ///< of the actuation [1/(m s)], > 0
  /// For predicted clearances and expected contacts of a planar path; contact i ends arc i.
  const PlanarScene* scene = nullptr;
  std::span<const PlannedContact> contacts{};
};

// All planners below throw ModelError `insertion options: field = value, must be ...`. Their rows
// begin at `start_length`, hit every joint of the path, and are timed by `scale_time`.

/// One extensible section and obstacles that hold what lies behind: on arc j the whole body is
/// actuated with its curvature; past the contact at its end the actuation changes linearly over
/// `ramp`. The section command is the actuation, (|k| L, phi, L); `X_WE` is the plan's tip, which
/// contacts hold on the path. An elastic body needs `elastic_insertion`. [WRAP] 4.1.
[[nodiscard]] InsertionList extensible_insertion(const InsertionPath& path,
                                                 const InsertionOptions& options = {});

/// The same for an elastic body: the actuation k and length L of `ElasticCorrection::follow`, as
/// functions of the path length. `states` must begin at the end of the first arc, rise in
/// path length and have one curvature each (ModelError otherwise).
[[nodiscard]] InsertionList elastic_insertion(const InsertionPath& path,
                                              std::span<const CorrectedState> states,
                                              const InsertionOptions& options = {});

/// Extensible sections that grow one after the other, each along one arc: theta_i = k_i S_i. Exact.
/// `longest` are the largest lengths of the sections [m], base first: arcs that are longer are
/// split in equal parts. BeyondLimits when that takes more sections than there are.
[[nodiscard]] InsertionList growing_sections_insertion(const InsertionPath& path,
                                                       std::span<const double> longest,
                                                       const InsertionOptions& options = {});

enum class SectionFit {
  Tangents,     ///< section ends point along the path
  LeastSquares  ///< and then the body is brought as near to the path as it can be
};

struct ShaftRobot {
  int section_count = 1;                        ///< K, >= 1
  double section_length = 0.1;                  ///< l [m], > 0
  double bend_angle_limit = 3.141592653589793;  ///< of a section [rad], > 0
};

/// A robot of sections of fixed length that is pushed through the entry: the joints of sections lie
/// at L - m l. A visible section bends from the path's tangent at its start to that at its end; it
/// does not twist. The body leaves the path where a section covers a change of curvature, by an
/// amount that falls with l^2; every row says by how much. OutsideCorridor when more than
/// `corridor` [m]; BeyondLimits when the robot is shorter than the path or bends too far.
[[nodiscard]] InsertionList shaft_insertion(const InsertionPath& path, const ShaftRobot& robot,
                                            SectionFit fit, double corridor,
                                            const InsertionOptions& options = {});

/// A tip-growing robot: what is laid does not move, so a row sets the curvature of the segment up
/// to its inserted length and locks the rest. Exact. BeyondLimits above `curvature_limit` [1/m].
[[nodiscard]] InsertionList everting_insertion(const InsertionPath& path, double curvature_limit,
                                               const InsertionOptions& options = {});

/// The same rows backwards: contacts are released in reverse order.
[[nodiscard]] InsertionList withdrawal(const InsertionList& insertion);

/// Times the rows: as fast as speed, acceleration and rates allow, at rest at both ends. Section
/// values stay as they are; it is the advance along the path that slows down. Between rows the
/// advance has constant acceleration.
void scale_time(InsertionList& list, const InsertionOptions& options);

/// The command at `time`, held beyond the ends: lengths, bends and curvature linear between rows;
/// phi on the shorter way round where both bends exceed 1e-3 rad, else that of the row before.
/// Time counts linearly between two rows. Discrete values are those of the row before; `list` must
/// have rows.
[[nodiscard]] InsertionStep command_at(const InsertionList& list, double time);

}  // namespace tendril
