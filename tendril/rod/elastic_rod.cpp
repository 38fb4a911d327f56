#include "tendril/rod/elastic_rod.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "tendril/model_error.hpp"
#include "tendril/range.hpp"

using Eigen::Matrix3d;
using Eigen::Matrix4d;
using Eigen::Vector2d;
using Eigen::Vector3d;
using Eigen::Vector4d;

namespace tendril {

namespace {

/// Stiffness of the penalty over EI [1/m^3]. The multipliers take the load, so it sets the speed of
/// convergence only.
constexpr double kPenalty = 4e6;
/// Gaps above this carry no load, whatever the multiplier [m].
constexpr double kSearchMargin = 1e-3;
/// Loads below this are no contacts [1/m^2], over EI.
constexpr double kMinForce = 1e-7;
/// Loads on neighboring elements this near, in elements, can be one contact at the joint.
constexpr double kSameContact = 0.25;
/// Smallest radius of curvature at which a corner is differentiated [m].
constexpr double kSharpestCorner = 1e-4;
constexpr double kCurvatureStep = 1e-6;  ///< for the curvature of the distance [m]
/// Overlap that renewed multipliers must bring down, else the body is bent a little [m, 1/m].
constexpr double kOverlap = 1e-4, kNudge = 1e-2;
constexpr double kRounding = 1e-12;     ///< of a gap, by far [m]
constexpr double kMaxDamping = 1e12;    ///< given up above
constexpr int kMaxHalvings = 30;        ///< of a Newton step
constexpr double kMinStepLimit = 2e-3;  ///< [m]
constexpr double kMinMove = 1e-11;      ///< a step that moves no point by more is none [m]

/// Rotation by a quarter, from a tangent to its lateral axis: the rate of a vector with heading.
Vector2d rotated(const Vector2d& v) { return {v.y(), -v.x()}; }

/// Mean position of the first `length` of an arc.
Vector2d arc_centroid(const PlanarArc& arc, double length) {
  const double u = arc.curvature * length;
  const bool small = std::abs(u) < 1e-2;
  const double x = small ? u / 6.0 * (1.0 - u * u / 20.0) : (1.0 - std::sin(u) / u) / u;
  const double half = 0.5 * u;
  const double z = small ? 0.5 * (1.0 - u * u / 12.0 * (1.0 - u * u / 30.0))
                         : 0.5 * std::pow(std::sin(half) / half, 2);
  return arc.start.to_world({length * x, length * z});
}

/// Integral over [from, to] of the curvature of consecutive pieces; the last one continues.
double total_curvature(std::span<const CurvaturePiece> pieces, double from, double to) {
  double sum = 0.0, begin = 0.0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const double end = i + 1 == pieces.size() ? std::max(to, begin) : begin + pieces[i].length;
    sum += pieces[i].curvature * std::max(0.0, std::min(end, to) - std::max(begin, from));
    begin = end;
  }
  return sum;
}

void check(const ElasticRodOptions& options) {
  constexpr char kName[] = "elastic rod options";
  constexpr double kMaxElements = 2000.0;
  require(kName, "bending_stiffness", options.bending_stiffness, kPositive, "N m^2");
  require(kName, "body_radius", options.body_radius, kNotNegative, "m");
  require(kName, "element_length", options.element_length, kPositive, "m");
  require(kName, "max_length", options.max_length, kPositive, "m");
  require(kName, "gap_tolerance", options.gap_tolerance, kPositive, "m");
  require(kName, "curvature_tolerance", options.curvature_tolerance, kPositive, "1/m");
  require(kName, "max_iterations", options.max_iterations, {.low = 1.0});
  require(kName, "max_evaluations", options.max_evaluations, {.low = 1.0});
  require(kName, "guide_clearance", options.guide_clearance, kNotNegative, "m");
  require(kName, "guide_length", options.guide_length, kPositive, "m");
  if (options.max_length / options.element_length > kMaxElements)
    refuse(kName, "element_length", options.element_length, ">= max_length/2000", "m");
}

}  // namespace

const char* to_string(RodStatus status) noexcept {
  switch (status) {
    case RodStatus::Equilibrium:
      return "equilibrium";
    case RodStatus::Unstable:
      return "unstable";
    case RodStatus::NoConvergence:
      return "no convergence";
    case RodStatus::InvalidInput:
      return "invalid input";
  }
  return "unknown";
}

double RodSolution::contact_force() const noexcept {
  return std::accumulate(contacts.begin(), contacts.end(), 0.0,
                         [](double sum, const RodContact& c) { return sum + c.force; });
}

ElasticRod::ElasticRod(PlanarScene scene, const PlanarPose& base, const ElasticRodOptions& options)
    : scene_(std::move(scene)),
      base_(base),
      options_(options),
      guide_{.clearance = options.guide_clearance, .length = options.guide_length} {
  check(options);
  if (!base.position.allFinite() || !std::isfinite(base.heading))
    throw ModelError("elastic rod: base pose must be finite");

  const auto most = static_cast<std::size_t>(options.max_length / options.element_length) + 2;
  const auto rows = static_cast<Eigen::Index>(most);
  const std::size_t most_loads = 4 * most;
  h_.resize(most);
  start_.resize(most);
  kappa_.assign(most, 0.0);
  trial_.resize(most);
  actuation_.resize(most);
  moved_by_.resize(most);
  node_.resize(most + 1);
  before_.resize(most + 1);
  centroid_.resize(most);
  shift_.assign(static_cast<std::size_t>(scene_.size()), Vector2d::Zero());
  multiplier_.assign(most * static_cast<std::size_t>(scene_.size()), 0.0);
  saved_kappa_ = kappa_;
  saved_multiplier_ = multiplier_;
  loads_.reserve(most_loads);
  contacts_.reserve(most_loads);
  contact_of_load_.reserve(most_loads);
  own_.resize(most);
  sweep_.resize(most);
  gradient_.setZero(rows);
  step_.setZero(rows);
  scratch_.setZero(rows);
  rate_.setZero(rows);
  node_[0] = base_;
}

double ElasticRod::obstacle_distance(int obstacle, const Vector2d& point,
                                     Vector2d* gradient) const noexcept {
  return scene_.obstacle_distance(obstacle, point - obstacle_shift(obstacle), gradient);
}

void ElasticRod::set_obstacle_shift(int obstacle, const Vector2d& shift) noexcept {
  shift_[static_cast<std::size_t>(obstacle)] = shift;
}

int ElasticRod::multipliers(std::span<RodMultiplier> out) const noexcept {
  const auto obstacles = static_cast<std::size_t>(scene_.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count_) * obstacles; ++i) {
    if (!(multiplier_[i] > 0.0)) continue;
    const RodMultiplier entry{.element = static_cast<int>(i / obstacles),
                              .obstacle = static_cast<int>(i % obstacles),
                              .force = multiplier_[i]};
    if (count < out.size()) {
      out[count++] = entry;
      continue;
    }
    const auto least = std::min_element(
        out.begin(), out.end(),
        [](const RodMultiplier& a, const RodMultiplier& b) { return a.force < b.force; });
    if (least != out.end() && least->force < entry.force) *least = entry;
  }
  return static_cast<int>(count);
}

void ElasticRod::set_multipliers(std::span<const RodMultiplier> multipliers) noexcept {
  std::fill(multiplier_.begin(), multiplier_.end(), 0.0);
  for (const RodMultiplier& entry : multipliers) {
    if (entry.element < 0 || entry.element >= most_elements() || entry.obstacle < 0 ||
        entry.obstacle >= scene_.size() || !(entry.force > 0.0))
      continue;
    multiplier_of(entry.element, entry.obstacle) = entry.force;
  }
}

void ElasticRod::set_shape(std::span<const PlanarArc> chain) noexcept {
  const double h = options_.element_length;
  for (std::size_t j = 0; j < kappa_.size(); ++j) {
    const double from = static_cast<double>(j) * h, to = from + h;
    double sum = 0.0, begin = 0.0;
    for (std::size_t i = 0; i < chain.size(); ++i) {
      const double end = i + 1 == chain.size() ? std::max(to, begin) : begin + chain[i].length;
      sum += chain[i].curvature * std::max(0.0, std::min(end, to) - std::max(begin, from));
      begin = end;
    }
    kappa_[j] = sum / h;
  }
  count_ = static_cast<int>(kappa_.size());
  angle_ = 0.0;
  std::fill(multiplier_.begin(), multiplier_.end(), 0.0);
}

void ElasticRod::set_curvatures(std::span<const double> curvatures, double exit_angle) noexcept {
  const std::size_t count = std::min(curvatures.size(), kappa_.size());
  std::copy_n(curvatures.begin(), count, kappa_.begin());
  count_ = static_cast<int>(count);
  angle_ = guide_.clearance > 0.0 ? exit_angle : 0.0;
  std::fill(multiplier_.begin(), multiplier_.end(), 0.0);
}

void ElasticRod::save() noexcept {
  saved_kappa_ = kappa_;
  saved_multiplier_ = multiplier_;
  saved_count_ = count_;
  saved_angle_ = angle_;
}

void ElasticRod::restore() noexcept {
  kappa_ = saved_kappa_;
  multiplier_ = saved_multiplier_;
  count_ = saved_count_;
  angle_ = saved_angle_;
}

RodShape ElasticRod::shape() const {
  RodShape shape{.curvatures = {kappa_.begin(), kappa_.begin() + count_},
                 .exit_angle = angle_,
                 .multipliers = {}};
  shape.multipliers.resize(static_cast<std::size_t>(
      std::count_if(multiplier_.begin(), multiplier_.end(), [](double m) { return m > 0.0; })));
  multipliers(shape.multipliers);
  return shape;
}

void ElasticRod::resume(const RodShape& shape) noexcept {
  set_curvatures(shape.curvatures, shape.exit_angle);
  set_multipliers(shape.multipliers);
}

RodSolution ElasticRod::solve(double curvature, double length) noexcept {
  const CurvaturePiece whole{.length = length, .curvature = curvature};
  return solve(std::span(&whole, 1), length);
}

RodSolution ElasticRod::solve(std::span<const CurvaturePiece> actuation, double length) noexcept {
  bool valid =
      std::isfinite(length) && length > 0.0 && length <= options_.max_length && !actuation.empty();
  for (const CurvaturePiece& piece : actuation)
    valid = valid && std::isfinite(piece.curvature) && piece.length > 0.0;
  if (!valid) return {};

  const int known = count_;
  divide(length);
  for (int j = 0; j < count_; ++j) {
    const auto i = static_cast<std::size_t>(j);
    actuation_[i] = total_curvature(actuation, start_[i], start_[i] + h_[i]) / h_[i];
    if (j >= known) kappa_[i] = actuation_[i];
  }
  const auto used = static_cast<std::ptrdiff_t>(count_) * scene_.size();
  std::fill(multiplier_.begin() + used, multiplier_.end(), 0.0);
  return minimize();
}

/// Elements of equal length from the base on, the last one between half and one and a half
/// of it: what lies near the base does not change with the length.
void ElasticRod::divide(double length) noexcept {
  const double h = options_.element_length;
  length_ = length;
  count_ = std::max(1, static_cast<int>(std::lround(length / h)));
  for (int j = 0; j < count_; ++j) {
    const auto i = static_cast<std::size_t>(j);
    start_[i] = j * h;
    h_[i] = j + 1 < count_ ? h : length - start_[i];
  }
}

PlanarArc ElasticRod::element_arc(int element) const noexcept {
  const auto i = static_cast<std::size_t>(element);
  return {.start = node_[i], .curvature = trial_[i], .length = h_[i]};
}

void ElasticRod::place(std::span<const double> curvatures, double angle) noexcept {
  trial_angle_ = angle;
  node_[0].heading = base_.heading + angle;
  if (curvatures.data() != trial_.data()) std::copy_n(curvatures.begin(), count_, trial_.begin());
  for (int j = 0; j < count_; ++j) node_[static_cast<std::size_t>(j) + 1] = element_arc(j).end();
}

/// The point of the element nearest to the obstacle: where the distance falls at the start and
/// rises at the end, it is stationary between them (Illinois rule on its slope), else it is an end.
/// An element that bends around a polygon has minima next to that, nearest to corners.
/// A gap above `enough` is not searched for: the result is then some point with such a gap.
ElasticRod::Nearest ElasticRod::nearest_on_element(int element, int obstacle,
                                                   double enough) const noexcept {
  const PlanarArc arc = element_arc(element);
  const auto look = [&](double s, double& slope) {
    const PlanarPose at = arc.pose_at(s);
    Vector2d direction;
    const double distance = obstacle_distance(obstacle, at.position, &direction);
    slope = direction.dot(at.tangent());
    return distance - options_.body_radius;
  };
  double slope_a = 0.0, slope_b = 0.0;
  const double gap_a = look(0.0, slope_a), gap_b = look(arc.length, slope_b);
  const Nearest end = gap_a <= gap_b ? Nearest{element, 0.0, gap_a, false}
                                     : Nearest{element, arc.length, gap_b, false};
  // The gap changes by no more than the arc length.
  if (0.5 * (gap_a + gap_b - arc.length) > enough + kRounding) return end;
  Nearest nearest = end;
  if (slope_a < 0.0 && slope_b > 0.0) {
    double a = 0.0, b = arc.length;
    int kept = 0;
    for (int i = 0; i < 60; ++i) {
      const double s = (a * slope_b - b * slope_a) / (slope_b - slope_a);
      double slope = 0.0;
      nearest = {element, s, look(s, slope), true};
      if (std::abs(slope) < 1e-13 || b - a < 1e-13) break;
      if (slope < 0.0) {
        a = s;
        slope_a = slope;
        if (kept < 0) slope_b *= 0.5;
        kept = -1;
      } else {
        b = s;
        slope_b = slope;
        if (kept > 0) slope_a *= 0.5;
        kept = 1;
      }
    }
  }
  if (const Polygon* polygon = std::get_if<Polygon>(&scene_.obstacle(obstacle))) {
    const Vector2d middle = arc.pose_at(0.5 * arc.length).position - obstacle_shift(obstacle);
    const double reach = 0.5 * arc.length + options_.body_radius + std::min(enough, nearest.gap);
    for (const Vector2d& corner : polygon->corners) {
      if ((corner - middle).squaredNorm() > reach * reach) continue;
      const double s = arc.nearest_parameter(corner + obstacle_shift(obstacle));
      if (!(s > 0.0 && s < arc.length)) continue;
      double slope = 0.0;
      const double gap = look(s, slope);
      const bool outside = gap > -options_.body_radius;  // inside, an edge is nearer
      if (outside && gap < nearest.gap) nearest = {element, s, gap, true};
    }
  }
  return nearest;
}

/// The point of an element nearest to the obstacle. Where that is the end next to a nearer element,
/// an owner of a multiplier has slid over the joint and takes the point there; without a multiplier
/// the contact is that element's, and this one has none.
std::optional<ElasticRod::Nearest> ElasticRod::contact_of(int element, int obstacle, bool is_owner,
                                                          double enough) const noexcept {
  const Nearest own = nearest_on_element(element, obstacle, enough);
  if (own.interior || (!is_owner && own.gap >= 0.0)) return own;
  const int neighbor = own.s > 0.0 ? element + 1 : element - 1;
  if (neighbor < 0 || neighbor >= count_) return own;
  const Nearest there = nearest_on_element(neighbor, obstacle, enough);
  if (!(there.gap < own.gap)) return own;
  return is_owner ? std::optional(there) : std::nullopt;
}

/// Collects the constraints with a force: multiplier - penalty gap > 0. Along the body the distance
/// changes by no more than the arc length, so elements that cannot be near are skipped. A contact
/// counts once: where an owner of a multiplier has slid to an element without one, the owner's
/// does.
void ElasticRod::find_loads() noexcept {
  loads_.clear();
  const double pitch = 1.5 * options_.element_length, reach = 2.0 * pitch;
  for (int o = 0; o < scene_.size(); ++o) {
    const Disc& bound = scene_.bound(o);
    const Vector2d center = bound.center + obstacle_shift(o);
    int next = 0;
    while (next < count_) {
      const int j = next++;
      const auto i = static_cast<std::size_t>(j);
      const double apart = options_.body_radius + kSearchMargin;
      double free = (node_[i].position - center).norm() - bound.radius - apart;
      if (free <= reach) free = obstacle_distance(o, node_[i].position) - apart;
      if (free > reach) {
        next = j + static_cast<int>(std::min(free / pitch - 1.0, static_cast<double>(count_)));
        continue;
      }
      const double multiplier = multiplier_of(j, o);
      const bool is_owner = multiplier > 0.0;
      const double enough = multiplier / kPenalty;
      if (free + kSearchMargin - (is_owner ? reach : h_[i]) > enough + kRounding) continue;

      const Load* const last =
          !loads_.empty() && loads_.back().obstacle == o ? &loads_.back() : nullptr;
      if (!is_owner && last != nullptr && last->element == j) continue;
      const std::optional<Nearest> nearest = contact_of(j, o, is_owner, enough);
      if (!nearest) continue;
      if (nearest->element < j && last != nullptr && last->element == nearest->element &&
          !(multiplier_of(last->owner, o) > 0.0))
        loads_.pop_back();
      const double force = multiplier - kPenalty * nearest->gap;
      if (!(force > 0.0) || loads_.size() == loads_.capacity()) continue;
      Load load{.element = nearest->element,
                .owner = j,
                .obstacle = o,
                .s = nearest->s,
                .gap = nearest->gap,
                .force = force,
                .interior = nearest->interior,
                .normal = Vector2d::Zero(),
                .at = element_arc(nearest->element).pose_at(nearest->s)};
      obstacle_distance(o, load.at.position, &load.normal);
      loads_.push_back(load);
    }
  }
  coupled_ = 0;
  for (const Load& load : loads_) coupled_ = std::max(coupled_, load.element + 1);
}

/// Augmented Lagrangian at these curvatures, less a constant; leaves nodes and loads.
double ElasticRod::evaluate(std::span<const double> curvatures, double angle) noexcept {
  place(curvatures, angle);
  find_loads();
  double sum = guide_.at(angle).energy;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i)
    sum += 0.5 * h_[i] * (trial_[i] - actuation_[i]) * (trial_[i] - actuation_[i]);
  for (const Load& load : loads_) sum += 0.5 * load.force * load.force / kPenalty;
  return sum;
}

/// Returns the vector from the mean position of what an element moves to the loaded point, times
/// its length: rotated by a quarter it is the motion of the point per curvature of the element.
Vector2d ElasticRod::lever(int element, const Load& load) const noexcept {
  const auto i = static_cast<std::size_t>(element);
  if (element == load.element)
    return load.s * (load.at.position - arc_centroid(element_arc(element), load.s));
  return h_[i] * (load.at.position - centroid_[i]);
}

void ElasticRod::compute_gradient() noexcept {
  for (int j = 0; j < count_; ++j) {
    const auto i = static_cast<std::size_t>(j);
    centroid_[i] = arc_centroid(element_arc(j), h_[i]);
    gradient_[j] = h_[i] * (trial_[i] - actuation_[i]);
    moved_by_[i].setZero();
  }
  // Every load bends its own element; those before it feel force and moment from the distal part.
  for (const Load& load : loads_) {
    const auto e = static_cast<std::size_t>(load.element);
    const Vector2d force = load.force * load.normal;
    gradient_[load.element] -= force.dot(rotated(lever(load.element, load)));
    moved_by_[e] += Vector3d(force.x(), force.y(), force.dot(rotated(load.at.position)));
  }
  Vector3d distal = Vector3d::Zero();
  for (int j = coupled_ - 1; j >= 0; --j) {
    const auto i = static_cast<std::size_t>(j);
    gradient_[j] -= h_[i] * (distal.z() - distal.head<2>().dot(rotated(centroid_[i])));
    distal += moved_by_[i];
  }
  angle_gradient_ = guide_.at(trial_angle_).moment;
  if (guide_.clearance > 0.0)
    angle_gradient_ -= distal.z() - distal.head<2>().dot(rotated(base_.position));
}

double ElasticRod::residual() const noexcept {
  double worst = std::abs(angle_gradient_);
  for (int j = 0; j < count_; ++j)
    worst = std::max(worst, std::abs(gradient_[j]) / h_[static_cast<std::size_t>(j)]);
  return worst;
}

/// Second derivatives of the augmented Lagrangian, element by element, with respect to displacement
/// and rotation of its start and its own curvature. docs/theory/elastic.md, "Newton's method".
void ElasticRod::compute_hessian() noexcept {
  // Of the body's own length `reach` under `force` at its end or past it: the force does work on
  // int (rotation)^2 t ds.
  const auto add_geometric = [&](Matrix4d& own, int element, double reach, const Vector2d& force,
                                 const Vector2d& at) {
    const PlanarArc arc = element_arc(element);
    const double along = force.dot(at - arc.start.position);
    const double mixed = reach * force.dot(at - arc_centroid(arc, reach));
    const double bent =
        reach * reach * reach / 3.0 * force.dot(arc.pose_at(0.75 * reach).tangent());
    own(2, 2) += along;
    own(2, 3) += mixed;
    own(3, 2) += mixed;
    own(3, 3) += bent;
  };
  for (int j = 0; j < coupled_; ++j) {
    const auto i = static_cast<std::size_t>(j);
    own_[i].setZero();
    own_[i](3, 3) = h_[i];
    moved_by_[i].setZero();
    Sweep& sweep = sweep_[i];
    const Vector2d rotation = rotated(node_[i + 1].position - node_[i].position);
    const Vector2d bend = h_[i] * rotated(node_[i + 1].position - centroid_[i]);
    sweep.rotation << rotation, 0.0;
    sweep.bend << bend, h_[i];
  }
  for (const Load& load : loads_) {
    const auto e = static_cast<std::size_t>(load.element);
    Matrix4d& own = own_[e];
    const Vector2d along = rotated(load.normal);
    const Vector2d tangent = load.at.tangent();

    // Curvature of the distance along the obstacle: of a convex one between 0 and 1/distance.
    Vector2d ahead, behind;
    const double distance =
        obstacle_distance(load.obstacle, load.at.position + kCurvatureStep * along, &ahead);
    obstacle_distance(load.obstacle, load.at.position - kCurvatureStep * along, &behind);
    const double curvature = std::clamp(along.dot(ahead - behind) / (2.0 * kCurvatureStep), 0.0,
                                        1.0 / std::max(distance, kSharpestCorner));
    const double side = load.normal.dot(load.at.lateral());
    const double stationarity = curvature * std::pow(along.dot(tangent), 2) + side * trial_[e];

    // Rates of the loaded point, across and along the obstacle, and of its heading.
    const Vector2d rotation = rotated(load.at.position - node_[e].position);
    const Vector2d bend = rotated(lever(load.element, load));
    Vector4d across, sideways, slope;
    across << load.normal, load.normal.dot(rotation), load.normal.dot(bend);
    sideways << along, along.dot(rotation), along.dot(bend);
    own += kPenalty * across * across.transpose();
    own -= (load.force * curvature) * sideways * sideways.transpose();
    if (load.interior && stationarity > 0.0) {
      slope = curvature * along.dot(tangent) * sideways;  // of the gap along the body
      slope[2] += side;
      slope[3] += side * load.s;
      own += (load.force / stationarity) * slope * slope.transpose();
    }
    const Vector2d force = load.force * load.normal;
    add_geometric(own, load.element, load.s, force, load.at.position);
    moved_by_[e] += Vector3d(force.x(), force.y(), 0.0);
  }
  Vector2d distal = Vector2d::Zero();
  for (int j = coupled_ - 1; j >= 0; --j) {
    const auto i = static_cast<std::size_t>(j);
    add_geometric(own_[i], j, h_[i], distal, node_[i + 1].position);
    distal += moved_by_[i].head<2>();
  }
}

/// Factor of the Hessian with (1 + damping) times the element lengths in it, eliminated from the
/// last load to the base; false when it is not positive definite.
bool ElasticRod::factorize(double damping) noexcept {
  Matrix3d rest = Matrix3d::Zero();  // what is distal, minimized over its curvatures
  for (int j = coupled_ - 1; j >= 0; --j) {
    const auto i = static_cast<std::size_t>(j);
    Sweep& sweep = sweep_[i];
    const Vector3d on_rotation = rest * sweep.rotation, on_bend = rest * sweep.bend;
    Matrix4d form = own_[i];
    form.topLeftCorner<3, 3>() += rest;
    form.block<3, 1>(0, 2) += on_rotation;
    form.block<1, 3>(2, 0) += on_rotation.transpose();
    form(2, 2) += sweep.rotation.dot(on_rotation);
    form.block<3, 1>(0, 3) += on_bend;
    form(2, 3) += sweep.rotation.dot(on_bend);
    form(3, 3) += sweep.bend.dot(on_bend);
    const double pivot = form(3, 3) + damping * h_[i];
    if (!(pivot > 1e-12 * h_[i])) return false;
    sweep.pivot = pivot;
    sweep.gain = form.block<3, 1>(0, 3);
    rest = form.topLeftCorner<3, 3>() - sweep.gain * (sweep.gain.transpose() / pivot);
  }
  if (guide_.clearance == 0.0) return true;
  angle_pivot_ = guide_.at(trial_angle_).stiffness + damping / guide_.length + rest(2, 2);
  return angle_pivot_ > 1e-12 / guide_.length;
}

void ElasticRod::solve_factored(Eigen::Ref<Eigen::VectorXd> x, double& angle) const noexcept {
  Vector3d rest = Vector3d::Zero();
  for (int j = coupled_ - 1; j >= 0; --j) {
    const Sweep& sweep = sweep_[static_cast<std::size_t>(j)];
    x[j] += sweep.bend.dot(rest);
    rest.z() += sweep.rotation.dot(rest);
    rest -= (x[j] / sweep.pivot) * sweep.gain;
  }
  angle = guide_.clearance > 0.0 ? (angle + rest.z()) / angle_pivot_ : 0.0;
  Vector3d moved(0.0, 0.0, angle);
  for (int j = 0; j < coupled_; ++j) {
    const Sweep& sweep = sweep_[static_cast<std::size_t>(j)];
    x[j] = (x[j] - sweep.gain.dot(moved)) / sweep.pivot;
    moved += moved.z() * sweep.rotation + x[j] * sweep.bend;
  }
  for (int j = coupled_; j < count_; ++j) x[j] /= h_[static_cast<std::size_t>(j)];
}

/// Takes the forces as multipliers; returns the largest gap error that this leaves [m]. Where the
/// joint of two elements is nearest for one and the other has a nearer point next to it, both are
/// one contact: the other takes the force.
double ElasticRod::keep_multipliers() noexcept {
  for (std::size_t l = 1; l < loads_.size(); ++l) {
    Load &a = loads_[l - 1], &b = loads_[l];
    if (a.obstacle != b.obstacle || a.element + 1 != b.element) continue;
    const double h = h_[static_cast<std::size_t>(a.element)];
    if (h - a.s + b.s > kSameContact * h) continue;
    Load& joint = a.s >= h ? a : b;
    Load& other = a.s >= h ? b : a;
    if (joint.interior) continue;
    other.force += std::exchange(joint.force, 0.0);
  }
  double change = 0.0;
  for (const Load& load : loads_) {
    double& own = multiplier_of(load.owner, load.obstacle);
    change = std::max(change, std::abs(load.force - std::exchange(own, 0.0)) / kPenalty);
  }
  for (double& left : multiplier_) {
    change = std::max(change, left / kPenalty);
    left = 0.0;
  }
  for (const Load& load : loads_) multiplier_of(load.element, load.obstacle) += load.force;
  return change;
}

bool ElasticRod::is_finite(double value) const noexcept {
  return std::isfinite(value) && node_[static_cast<std::size_t>(count_)].position.allFinite();
}

double ElasticRod::largest_move() const noexcept {
  double squared = 0.0;
  for (std::size_t j = 1; j <= static_cast<std::size_t>(count_); ++j)
    squared = std::max(squared, (node_[j].position - before_[j].position).squaredNorm());
  return std::sqrt(squared);
}

/// Augmented Lagrangian method: Newton steps until the shape is stationary for the multipliers,
/// then new multipliers, until these do not change any more.
RodSolution ElasticRod::minimize() noexcept {
  RodSolution solution;
  solution.status = RodStatus::NoConvergence;
  solution.evaluations = 1;
  Minimization run{.value = evaluate(kappa_, angle_)};
  while (is_finite(run.value)) {
    compute_gradient();
    if (residual() <= run.tolerance) {
      if (!renew_multipliers(run, solution)) break;
      continue;
    }
    if (solution.iterations == options_.max_iterations ||
        solution.evaluations >= options_.max_evaluations)
      break;
    ++solution.iterations;
    if (!newton_step(run, solution)) break;
  }
  report(run.value, solution);
  return solution;
}

/// The shape is stationary: takes the forces as multipliers and tightens the tolerance. False when
/// nothing is left to do (Equilibrium), or too many times.
bool ElasticRod::renew_multipliers(Minimization& run, RodSolution& solution) noexcept {
  const bool last = run.tolerance <= options_.curvature_tolerance;
  const double change = keep_multipliers();
  if (last && change <= options_.gap_tolerance) {
    solution.status = RodStatus::Equilibrium;
    return false;
  }
  if (++run.renewals > options_.max_iterations) return false;
  if (change > kOverlap && change > 0.5 * run.last_change) {
    // The forces grow and nothing yields: the body is pushed on end. Let it give way.
    std::fill(multiplier_.begin(), multiplier_.end(), 0.0);
    for (int j = 0; j < count_; ++j) kappa_[static_cast<std::size_t>(j)] += kNudge;
  }
  run.last_change = change;
  run.tolerance = std::max(options_.curvature_tolerance, 1e-3 * run.tolerance);
  ++solution.evaluations;
  run.value = evaluate(kappa_, angle_);
  return true;
}

/// One damped Newton step of the shape. False when no damping helps.
bool ElasticRod::newton_step(Minimization& run, RodSolution& solution) noexcept {
  compute_hessian();
  while (!factorize(run.damping) && run.damping < kMaxDamping)
    run.damping = std::max(10.0 * run.damping, 1e-3);
  if (run.damping >= kMaxDamping) return false;
  step_.head(count_) = -gradient_.head(count_);
  angle_step_ = -angle_gradient_;
  solve_factored(step_, angle_step_);
  const double slope =
      gradient_.head(count_).dot(step_.head(count_)) + angle_gradient_ * angle_step_;
  if (!search_line(slope, run, solution)) {
    ++solution.evaluations;
    run.value = evaluate(kappa_, angle_);
    if (run.damping > 1e6) return false;
    run.damping = std::max(10.0 * run.damping, 1e-3);
    return true;
  }
  std::copy_n(trial_.begin(), count_, kappa_.begin());
  angle_ = trial_angle_;
  run.damping = run.damping > 1e-3 ? 0.1 * run.damping : 0.0;
  return true;
}

/// Shortens the step until the potential falls and the body moves by no more than its radius. False
/// when there is no such step.
bool ElasticRod::search_line(double slope, Minimization& run, RodSolution& solution) noexcept {
  const double step_limit = std::max(options_.body_radius, kMinStepLimit);
  const double rounding = 1e-13 * (1.0 + std::abs(run.value));
  std::copy_n(node_.begin(), count_ + 1, before_.begin());
  double scale = 1.0;
  // One evaluation is kept in reserve, for the return to the shape before.
  for (int i = 0; i < kMaxHalvings && solution.evaluations + 1 < options_.max_evaluations; ++i) {
    for (int j = 0; j < count_; ++j) {
      const auto k = static_cast<std::size_t>(j);
      trial_[k] = kappa_[k] + scale * step_[j];
    }
    ++solution.evaluations;
    const double value = evaluate(trial_, angle_ + scale * angle_step_);
    const double move = largest_move();
    if (move <= step_limit && value <= run.value + 1e-4 * scale * slope + rounding) {
      run.value = value;
      return true;
    }
    if (move < kMinMove) break;
    scale *= move > step_limit ? std::max(0.1, 0.9 * step_limit / move) : 0.5;
  }
  return false;
}

/// Stability, contacts, energy and reactions of the present shape.
void ElasticRod::report(double value, RodSolution& solution) noexcept {
  compute_hessian();
  stable_ = is_finite(value) && factorize(0.0);
  if (!stable_ && solution.status == RodStatus::Equilibrium) solution.status = RodStatus::Unstable;
  if (!stable_)
    for (double shift = 1e-6; !factorize(shift) && shift < kMaxDamping;) shift *= 10.0;

  collect_contacts();
  solution.exit = node_[0];
  solution.tip = node_[static_cast<std::size_t>(count_)];
  solution.contacts = contacts_;
  solution.energy = options_.bending_stiffness * guide_.at(angle_).energy;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i)
    solution.energy +=
        0.5 * options_.bending_stiffness * h_[i] * std::pow(kappa_[i] - actuation_[i], 2);
  for (const Load& load : loads_) {
    solution.penetration = std::max(solution.penetration, -load.gap);
    const Vector2d force = options_.bending_stiffness * load.force * load.normal;
    const Vector2d arm = load.at.position - base_.position;
    solution.base_force -= force;
    solution.base_moment -= force.dot(rotated(arm));
  }
}

/// Returns the least eigenvalue of the Hessian, scaled to 1 for a free rod, by inverse iteration.
double ElasticRod::stability() noexcept {
  if (!stable_) return 0.0;
  if (coupled_ == 0) return 1.0;
  double value = 1.0;
  auto x = scratch_.head(count_);
  x.setOnes();
  for (int i = 0; i < 12; ++i) {
    x.normalize();
    rate_.head(count_) = x;
    for (int j = 0; j < count_; ++j) x[j] *= std::sqrt(h_[static_cast<std::size_t>(j)]);
    double angle = 0.0;
    solve_factored(scratch_, angle);
    for (int j = 0; j < count_; ++j) x[j] *= std::sqrt(h_[static_cast<std::size_t>(j)]);
    value = 1.0 / x.dot(rate_.head(count_));
  }
  return value;
}

/// Loads of one obstacle on neighboring elements, less than half an element apart, are one
/// contact.
void ElasticRod::collect_contacts() noexcept {
  contacts_.clear();
  contact_of_load_.clear();
  const double h = options_.element_length;
  for (const Load& load : loads_) {
    contact_of_load_.push_back(-1);
    if (load.force < kMinForce) continue;
    const double force = options_.bending_stiffness * load.force;
    const double s = start_[static_cast<std::size_t>(load.element)] + load.s;
    if (!contacts_.empty() && contacts_.back().obstacle == load.obstacle &&
        s - contacts_.back().arc_length < 0.5 * h) {
      RodContact& same = contacts_.back();
      const double fraction = force / (same.force + force);
      same.arc_length += fraction * (s - same.arc_length);
      same.position += fraction * (load.at.position - same.position);
      same.direction = (same.force * same.direction + force * load.normal).normalized();
      same.force += force;
    } else {
      contacts_.push_back({.obstacle = load.obstacle,
                           .arc_length = s,
                           .force = force,
                           .position = load.at.position,
                           .direction = load.normal,
                           .side = load.normal.dot(load.at.lateral()) < 0.0 ? BodySide::Positive
                                                                            : BodySide::Negative});
    }
    contact_of_load_.back() = static_cast<int>(contacts_.size()) - 1;
  }
}

void ElasticRod::differentiate(double from, double to) noexcept {
  for (int j = 0; j < count_; ++j) {
    const auto i = static_cast<std::size_t>(j);
    rate_[j] = std::max(0.0, std::min(to, start_[i] + h_[i]) - std::max(from, start_[i]));
  }
  angle_rate_ = 0.0;
  solve_factored(rate_, angle_rate_);
}

Vector2d ElasticRod::position_rate(double arc_length) const noexcept {
  Vector2d sum = Vector2d::Zero();
  const Vector2d point = pose_at(arc_length).position;
  sum += angle_rate_ * rotated(point - base_.position);
  for (int j = 0; j < count_; ++j) {
    const auto i = static_cast<std::size_t>(j);
    const double reach = std::min(h_[i], arc_length - start_[i]);
    if (reach <= 0.0) break;
    const PlanarArc arc{.start = node_[i], .curvature = kappa_[i], .length = h_[i]};
    sum += rate_[j] * reach * rotated(point - arc_centroid(arc, reach));
  }
  return sum;
}

double ElasticRod::force_rate(int index) const noexcept {
  double sum = 0.0;
  for (std::size_t l = 0; l < loads_.size(); ++l)
    if (contact_of_load_[l] == index)
      sum -= kPenalty * loads_[l].normal.dot(position_rate(
                            start_[static_cast<std::size_t>(loads_[l].element)] + loads_[l].s));
  return options_.bending_stiffness * sum;
}

PlanarPose ElasticRod::pose_at(double arc_length) const noexcept {
  if (count_ == 0) return base_;
  const double s = std::clamp(arc_length, 0.0, length_);
  const int j = std::clamp(static_cast<int>(s / options_.element_length), 0, count_ - 1);
  const auto i = static_cast<std::size_t>(j);
  const PlanarArc arc{.start = node_[i], .curvature = kappa_[i], .length = h_[i]};
  return arc.pose_at(s - start_[i]);
}

double ElasticRod::curvature_at(double arc_length) const noexcept {
  const int j = static_cast<int>(arc_length / options_.element_length);
  return kappa_[static_cast<std::size_t>(std::clamp(j, 0, std::max(0, count_ - 1)))];
}

double ElasticRod::potential(std::span<const double> curvatures,
                             std::span<double> gradient) noexcept {
  const double value = evaluate(curvatures, angle_);
  compute_gradient();
  for (std::size_t i = 0; i < gradient.size(); ++i)
    gradient[i] = gradient_[static_cast<Eigen::Index>(i)];
  return value;
}

std::span<const double> ElasticRod::curvatures() const noexcept {
  return std::span(kappa_).first(static_cast<std::size_t>(count_));
}

}  // namespace tendril
