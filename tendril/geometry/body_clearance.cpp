#include "tendril/geometry/body_clearance.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numbers>
#include <string>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using Eigen::Isometry3d;
using Eigen::Vector3d;

constexpr double kSeries = 1e-6;  // [rad], below it the point of an arc is taken from its series
constexpr double kStraight =
    1e-9;                        // [rad], bends below it count as none when the nearest is sought
constexpr double kRigid = 1e-6;  // error of R^T R that a pose may have
constexpr int kCoarse = 8;       // samples before the search along an arc is refined
constexpr int kRefine = 60;      // halvings

struct PlanePoint {
  double x, z;
};

/// Point of an arc in its bend plane, u = k s.
PlanePoint plane_point(double curvature, double s) noexcept {
  const double u = curvature * s;
  if (std::abs(u) < kSeries) return {0.5 * u * s * (1.0 - u * u / 12.0), s * (1.0 - u * u / 6.0)};
  const double half = std::sin(0.5 * u);
  return {2.0 * half * half / curvature, std::sin(u) / curvature};
}

/// The least distance of an arc from a shape without a closed form of it.
/// docs/theory/obstacles.md, "Distance of an arc".
class ArcMinimum {
 public:
  /// Looks for less than `least.distance` and replaces `least` by what it finds.
  ArcMinimum(const BodyArc& arc, const SignedDistance& shape, bool is_convex,
             const Isometry3d& X_BO, double growth, int obstacle, const ArcSearch& search,
             Clearance& least) noexcept
      : arc_(arc),
        shape_(shape),
        is_convex_(is_convex),
        X_BO_(X_BO),
        growth_(growth),
        obstacle_(obstacle),
        search_(search),
        least_(least) {}

  /// Tells whether something less was found.
  [[nodiscard]] bool find() noexcept {
    for (int i = 0; i <= kCoarse; ++i) {
      const Sample sample = at(arc_.length * i / kCoarse);
      samples_[static_cast<std::size_t>(i)] = sample;
      keep(sample);
      if (arc_.length == 0.0) return found_;
    }
    for (std::size_t i = 0; i < kCoarse; ++i) {
      const Sample &a = samples_[i], &b = samples_[i + 1];
      if (a.slope < 0.0 && b.slope > 0.0 && may_hold(a, b)) keep(local_minimum(a, b));
    }
    for (std::size_t i = 0; i < kCoarse; ++i) march(samples_[i], samples_[i + 1]);
    return found_;
  }

 private:
  struct Sample {
    double s, distance, slope;
    Vector3d point, normal;
  };

  [[nodiscard]] Sample at(double s) noexcept {
    ++evaluations_;
    const Vector3d p = arc_.point(s);
    const auto value = shape_.at(X_BO_.linear().transpose() * (p - X_BO_.translation()));
    const Vector3d normal = X_BO_.linear() * value.gradient;
    return {s, value.distance - growth_, normal.dot(arc_.tangent_at(s)), p, normal};
  }

  void keep(const Sample& sample) noexcept {
    if (!(sample.distance < least_.distance)) return;
    found_ = true;
    least_ = {.distance = sample.distance,
              .obstacle = obstacle_,
              .arc = least_.arc,
              .arc_length = sample.s,
              .point = sample.point,
              .normal = sample.normal};
  }

  /// Tells whether a relevant distance fits between two samples, which changes by no more than s
  /// does.
  [[nodiscard]] bool may_hold(const Sample& a, const Sample& b) const noexcept {
    return 0.5 * (a.distance + b.distance - (b.s - a.s)) < least_.distance - search_.tolerance;
  }

  /// Finds a minimum by halving, between a, where the distance falls, and b, where it rises.
  [[nodiscard]] Sample local_minimum(Sample a, Sample b) noexcept {
    const double resolution = 1e-9 + 0.01 * search_.tolerance;
    for (int i = 0; i < kRefine && b.s - a.s > resolution; ++i) {
      Sample middle = at(0.5 * (a.s + b.s));
      (middle.slope > 0.0 ? b : a) = middle;
    }
    return a.distance < b.distance ? a : b;
  }

  /// Marches from a to b in steps so short that nothing below least.distance - tolerance fits in.
  void march(Sample a, const Sample& b) noexcept {
    while (a.s < b.s && may_hold(a, b)) {
      const double step = safe_step(a, b);
      if (a.s + step >= b.s) break;
      Sample next = at(a.s + step);
      const bool is_better = next.distance < least_.distance - search_.tolerance;
      keep(next);
      if (is_better && next.slope < 0.0) keep(local_minimum(next, b));
      a = next;
    }
  }

  /// Returns a step over which nothing relevant is missed. On a convex shape the distance bends
  /// down by no more than the arc does.
  [[nodiscard]] double safe_step(const Sample& a, const Sample& b) const noexcept {
    const double above = std::max(0.0, a.distance - least_.distance) + search_.tolerance;
    double step = above;
    if (is_convex_) {
      const double k = std::abs(arc_.curvature);
      const double root = std::sqrt(a.slope * a.slope + 2.0 * k * above);
      const double safe = a.slope >= 0.0 ? (k > 0.0 ? (a.slope + root) / k : b.s - a.s)
                                         : 2.0 * above / (root - a.slope);
      step = std::max(step, safe);
    }
    if (evaluations_ > search_.most_steps) step = std::max(step, (b.s - a.s) / 4.0 + 1e-6);
    return step;
  }

  const BodyArc& arc_;
  const SignedDistance& shape_;
  bool is_convex_;
  const Isometry3d& X_BO_;
  double growth_;
  int obstacle_;
  const ArcSearch& search_;
  Clearance& least_;
  std::array<Sample, kCoarse + 1> samples_;
  int evaluations_ = 0;
  bool found_ = false;
};

/// The same in closed form; the sphere's radius is that with its growth.
bool nearer_sphere(const BodyArc& arc, const Vector3d& center, double radius, int obstacle,
                   Clearance& least) noexcept {
  const double s = nearest_arc_length(arc, center);
  const Vector3d p = arc.point(s), away = p - center;
  const double far = away.norm();
  if (far - radius >= least.distance) return false;
  least = {.distance = far - radius,
           .obstacle = obstacle,
           .arc = least.arc,
           .arc_length = s,
           .point = p,
           .normal = far > 1e-12 ? Vector3d(away / far) : arc.side};
  return true;
}

}  // namespace

Vector3d BodyArc::point(double s) const noexcept {
  const PlanePoint p = plane_point(curvature, s);
  return start + p.x * side + p.z * tangent;
}

Vector3d BodyArc::tangent_at(double s) const noexcept {
  const double u = curvature * s;
  return std::cos(u) * tangent + std::sin(u) * side;
}

double nearest_arc_length(const BodyArc& arc, const Vector3d& p) noexcept {
  const Vector3d d = p - arc.start;
  const double x = d.dot(arc.side), z = d.dot(arc.tangent);
  const double k = arc.curvature;
  if (std::abs(k) * arc.length < kStraight) return std::clamp(z, 0.0, arc.length);
  double angle = std::copysign(1.0, k) * std::atan2(k * z, 1.0 - k * x);
  if (angle < 0.0) angle += 2.0 * std::numbers::pi;
  const double s = angle / std::abs(k);
  if (s <= arc.length) return s;
  const PlanePoint end = plane_point(k, arc.length);
  const double from_end = (x - end.x) * (x - end.x) + (z - end.z) * (z - end.z);
  return x * x + z * z <= from_end ? 0.0 : arc.length;
}

Obstacles::Obstacles(std::vector<Obstacle> obstacles) {
  placed_.reserve(obstacles.size());
  for (std::size_t i = 0; i < obstacles.size(); ++i) {
    Obstacle& obstacle = obstacles[i];
    const std::string name = "obstacle " + std::to_string(i + 1);
    if (!obstacle.shape) throw ModelError(name + ": it has no shape");
    const Eigen::Matrix3d R = obstacle.X_BO.linear();
    if (!obstacle.X_BO.matrix().allFinite() ||
        (R.transpose() * R - Eigen::Matrix3d::Identity()).cwiseAbs().maxCoeff() > kRigid ||
        R.determinant() < 0.0)
      throw ModelError(name + ": its pose is not a finite rigid motion");
    Placed placed{.shape = std::move(obstacle.shape),
                  .X_BO = obstacle.X_BO,
                  .center = Vector3d::Zero(),
                  .bounding_radius = 0.0,
                  .growth = 0.0,
                  .is_sphere = false,
                  .is_convex = false,
                  .index = static_cast<int>(i)};
    update(placed);
    placed_.push_back(std::move(placed));
  }
  position_of_.resize(placed_.size());
  sort();
}

void Obstacles::update(Placed& placed) noexcept {
  const double sphere_radius = placed.shape->sphere_radius();
  const BoundingSphere bounds = placed.shape->bounds();
  placed.is_sphere = sphere_radius >= 0.0;
  placed.is_convex = placed.shape->is_convex();
  placed.center = placed.X_BO * bounds.center;
  placed.bounding_radius = (placed.is_sphere ? sphere_radius : bounds.radius) + placed.growth;
}

void Obstacles::sort() noexcept {
  std::sort(placed_.begin(), placed_.end(), [](const Placed& a, const Placed& b) {
    for (int i = 0; i < 3; ++i) {
      if (a.center[i] != b.center[i]) return a.center[i] < b.center[i];
    }
    if (a.bounding_radius != b.bounding_radius) return a.bounding_radius < b.bounding_radius;
    return a.index < b.index;
  });
  for (std::size_t i = 0; i < placed_.size(); ++i)
    position_of_[static_cast<std::size_t>(placed_[i].index)] = static_cast<int>(i);
}

void Obstacles::set_pose(int i, const Isometry3d& X_BO) noexcept {
  assert(i >= 0 && i < count());
  Placed& moved = placed_[static_cast<std::size_t>(position_of_[static_cast<std::size_t>(i)])];
  moved.X_BO = X_BO;
  update(moved);
  sort();
}

void Obstacles::set_growth(int i, double growth) noexcept {
  assert(i >= 0 && i < count() && growth >= 0.0);
  Placed& grown = placed_[static_cast<std::size_t>(position_of_[static_cast<std::size_t>(i)])];
  grown.growth = growth;
  update(grown);
  sort();
}

const Isometry3d& Obstacles::pose(int i) const noexcept {
  assert(i >= 0 && i < count());
  return placed(i).X_BO;
}

Clearance Obstacles::nearest(const Vector3d& p, double least_known) const noexcept {
  Clearance least;
  least.distance = least_known;
  for (const Placed& placed : placed_) {
    if ((p - placed.center).norm() - placed.bounding_radius >= least.distance) continue;
    const auto value =
        placed.shape->at(placed.X_BO.linear().transpose() * (p - placed.X_BO.translation()));
    if (value.distance - placed.growth < least.distance) {
      least.distance = value.distance - placed.growth;
      least.obstacle = placed.index;
      least.normal = placed.X_BO.linear() * value.gradient;
      least.point = p;
    }
  }
  return least;
}

Clearance Obstacles::nearest(std::span<const BodyArc> arcs,
                             const ArcSearch& search) const noexcept {
  Clearance least;
  least.distance = search.below;
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    const Vector3d middle = arcs[i].chord_middle();
    for (const Placed& placed : placed_) {
      if (nearer(arcs[i], middle, placed, search, least)) least.arc = static_cast<int>(i);
    }
  }
  return least;
}

Clearance Obstacles::nearest_of(int i, std::span<const BodyArc> arcs,
                                const ArcSearch& search) const noexcept {
  Clearance least;
  least.distance = search.below;
  for (std::size_t k = 0; k < arcs.size(); ++k) {
    if (nearer(arcs[k], arcs[k].chord_middle(), placed(i), search, least))
      least.arc = static_cast<int>(k);
  }
  return least;
}

std::optional<Obstacles::SphereAt> Obstacles::sphere(int i) const noexcept {
  if (!placed(i).is_sphere) return std::nullopt;
  return SphereAt{placed(i).center, placed(i).bounding_radius};
}

bool Obstacles::nearer(const BodyArc& arc, const Vector3d& middle, const Placed& placed,
                       const ArcSearch& search, Clearance& least) noexcept {
  if (!placed.may_touch(middle, 0.5 * arc.length + least.distance)) return false;

  if (placed.is_sphere)
    return nearer_sphere(arc, placed.center, placed.bounding_radius, placed.index, least);

  // Most shapes turn out to be far away after one distance: long ones have a wide bounding sphere.
  const auto at_middle = placed.shape->distance(placed.X_BO.linear().transpose() *
                                                (middle - placed.X_BO.translation()));
  if (at_middle - placed.growth - 0.5 * arc.length >= least.distance) return false;
  return ArcMinimum(arc, *placed.shape, placed.is_convex, placed.X_BO, placed.growth, placed.index,
                    search, least)
      .find();
}

void place_section_arcs(const Section& section, const Vector3d& start, const Vector3d& tangent,
                        const Vector3d& side, double theta, double length,
                        std::span<BodyArc> arcs) noexcept {
  const auto W = section.length_weights(), w = section.angle_weights();
  assert(arcs.size() == W.size());
  Vector3d p = start, t = tangent, e = side;
  double fraction = 0.0;
  for (std::size_t j = 0; j < arcs.size(); ++j) {
    BodyArc& arc = arcs[j];
    const double angle = w[j] * theta;
    arc.start = p;
    arc.tangent = t;
    arc.side = e;
    arc.length = W[j] * length;
    arc.curvature = arc.length > 0.0 ? angle / arc.length : 0.0;
    arc.first_fraction = fraction;
    fraction = j + 1 == arcs.size() ? 1.0 : fraction + W[j];
    arc.last_fraction = fraction;
    if (fraction == 1.0) return;
    p = arc.end();
    const double c = std::cos(angle), s = std::sin(angle);
    const Vector3d before = t;
    t = c * before + s * e;
    e = c * e - s * before;
  }
}

BodyArcs::BodyArcs(const ContinuumRobot& robot) : robot_(robot) {
  for (int i = 0; i < robot.section_count(); ++i)
    arcs_.resize(arcs_.size() + robot.section(i).length_weights().size(), BodyArc{.section = i});
}

template <class BendOf>
std::span<const BodyArc> BodyArcs::place(const BaseState& base, const BendOf& bend_of) noexcept {
  const Isometry3d X_BS = base_pose(base);
  Vector3d x = X_BS.linear().col(0), y = X_BS.linear().col(1), z = X_BS.linear().col(2);
  Vector3d p = X_BS.translation();
  std::size_t first = 0;
  for (int i = 0; i < robot_.section_count(); ++i) {
    const Section& section = robot_.section(i);
    const Bend bend = bend_of(i);
    const double cp = bend.cos_phi, sp = bend.sin_phi;
    const Vector3d e = cp * x + sp * y, n = cp * y - sp * x;
    const std::size_t count = section.length_weights().size();
    place_section_arcs(section, p, z, e, bend.theta, section.length() + bend.extension,
                       std::span(arcs_).subspan(first, count));
    first += count;
    p = arcs_[first - 1].end();
    const double c = std::cos(bend.theta), s = std::sin(bend.theta);
    const Vector3d rotated = c * e - s * z;
    z = c * z + s * e;
    x = cp * rotated - sp * n;
    y = sp * rotated + cp * n;
  }
  return std::span<const BodyArc>(arcs_).subspan(static_cast<std::size_t>(robot_.rail_count()));
}

std::span<const BodyArc> BodyArcs::at(SectionStates states, const BaseState& base) noexcept {
  assert(static_cast<int>(states.size()) == robot_.section_count());
  return place(base, [&](int i) {
    const SectionState& state = states[static_cast<std::size_t>(i)];
    return Bend{state.theta, std::cos(state.phi), std::sin(state.phi), state.extension};
  });
}

std::span<const BodyArc> BodyArcs::at(const Eigen::Ref<const Eigen::VectorXd>& q,
                                      const BaseState& base) noexcept {
  assert(q.size() == robot_.coordinate_count());
  return place(base, [&](int i) {
    const int k = robot_.coordinate_index(i);
    const double extension = robot_.section(i).is_extensible() ? q[k + 2] : 0.0;
    const double theta = std::sqrt(q[k] * q[k] + q[k + 1] * q[k + 1]);
    if (theta < kStraight) return Bend{0.0, 1.0, 0.0, extension};
    return Bend{theta, q[k] / theta, q[k + 1] / theta, extension};
  });
}

Clearance body_clearance(BodyArcs& body, SectionStates states, const BaseState& base,
                         const Obstacles& obstacles, double body_radius,
                         const ArcSearch& search) noexcept {
  Clearance clearance = obstacles.nearest(body.at(states, base), search);
  clearance.distance -= body_radius;
  return clearance;
}

}  // namespace tendril
