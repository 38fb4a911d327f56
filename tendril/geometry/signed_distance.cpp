#include "tendril/geometry/signed_distance.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "tendril/model_error.hpp"
#include "tendril/range.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

using Eigen::Isometry3d;
using Eigen::Vector2d;
using Eigen::Vector3d;
using Value = SignedDistance::Value;

constexpr double kNoDirection = 1e-300;  // a vector this short gives no direction

Value from_core(const Vector3d& away, double radius, const Vector3d& otherwise) noexcept {
  const double length = away.norm();
  return {length - radius, length > kNoDirection ? Vector3d(away / length) : otherwise};
}

class Sphere final : public SignedDistance {
 public:
  explicit Sphere(double radius) : radius_(radius) {
    require("sphere", "radius", radius, kNotNegative, "m");
  }
  Value at(const Vector3d& p) const noexcept override {
    return from_core(p, radius_, Vector3d::UnitX());
  }
  BoundingSphere bounds() const noexcept override { return {Vector3d::Zero(), radius_}; }
  double sphere_radius() const noexcept override { return radius_; }

 private:
  double radius_;
};

class Capsule final : public SignedDistance {
 public:
  Capsule(double half_length, double radius) : half_length_(half_length), radius_(radius) {
    require("capsule", "radius", radius, kNotNegative, "m");
    require("capsule", "half_length", half_length, kNotNegative, "m");
  }
  Value at(const Vector3d& p) const noexcept override {
    const Vector3d core(0.0, 0.0, std::clamp(p.z(), -half_length_, half_length_));
    return from_core(p - core, radius_, Vector3d::UnitX());
  }
  BoundingSphere bounds() const noexcept override {
    return {Vector3d::Zero(), half_length_ + radius_};
  }

 private:
  double half_length_, radius_;
};

class Cylinder final : public SignedDistance {
 public:
  Cylinder(double half_length, double radius) : half_length_(half_length), radius_(radius) {
    require("cylinder", "radius", radius, kPositive, "m");
    require("cylinder", "half_length", half_length, kPositive, "m");
  }
  Value at(const Vector3d& p) const noexcept override {
    const double from_axis = hypotenuse(p.x(), p.y());
    const Vector3d out = from_axis > kNoDirection
                             ? Vector3d(p.x() / from_axis, p.y() / from_axis, 0.0)
                             : Vector3d::UnitX();
    const Vector3d cap(0.0, 0.0, std::copysign(1.0, p.z()));
    const double radial = from_axis - radius_, over = std::abs(p.z()) - half_length_;
    if (radial <= 0.0 || over <= 0.0) {
      if (over <= radial) return {radial, out};
      return {over, cap};
    }
    const double length = hypotenuse(radial, over);
    return {length, (radial * out + over * cap) / length};
  }
  BoundingSphere bounds() const noexcept override {
    return {Vector3d::Zero(), hypotenuse(half_length_, radius_)};
  }

 private:
  double half_length_, radius_;
};

class Box final : public SignedDistance {
 public:
  explicit Box(const Vector3d& half) : half_(half) {
    for (int i = 0; i < 3; ++i) require("box", "half extent", half[i], kPositive, "m");
  }
  Value at(const Vector3d& p) const noexcept override {
    const Vector3d over = p.cwiseAbs() - half_;
    const auto signed_axis = [&](int i) {
      return Vector3d(std::copysign(1.0, p[i]) * Vector3d::Unit(i));
    };
    int nearest = 0;
    const double deepest = over.maxCoeff(&nearest);
    if (deepest <= 0.0) return {deepest, signed_axis(nearest)};
    const Vector3d out = over.cwiseMax(0.0);
    const double length = out.norm();
    Vector3d gradient = out / length;
    for (int i = 0; i < 3; ++i) gradient[i] = std::copysign(gradient[i], p[i]);
    return {length, gradient};
  }
  BoundingSphere bounds() const noexcept override { return {Vector3d::Zero(), half_.norm()}; }

 private:
  Vector3d half_;
};

/// The nearest point of the surface is half^2 p / (t + half^2) in each coordinate, with the largest
/// root t of sum (half p / (t + half^2))^2 = 1, found by Newton's method on the inverse square root
/// of the sum, which is nearly straight and concave: it comes from below ([Eberly]).
class Ellipsoid final : public SignedDistance {
 public:
  explicit Ellipsoid(const Vector3d& half) : half_(half) {
    for (int i = 0; i < 3; ++i) require("ellipsoid", "half axis", half[i], kPositive, "m");
    half.minCoeff(&shortest_);
  }
  Value at(const Vector3d& p) const noexcept override {
    const Vector3d scaled = p.cwiseAbs().cwiseProduct(half_);
    const double pole = -half_[shortest_] * half_[shortest_];
    double t = pole + scaled[shortest_];
    for (int i = 0; i < kMaxIterations; ++i) {
      double sum = 0.0, slope = 0.0;
      for (int k = 0; k < 3; ++k) {
        if (scaled[k] == 0.0) continue;
        const double shifted = t + half_[k] * half_[k], ratio = scaled[k] / shifted;
        sum += ratio * ratio;
        slope += ratio * ratio / shifted;
      }
      if (!(sum > 1.0) || !std::isfinite(slope)) break;
      const double next = t + sum * (std::sqrt(sum) - 1.0) / slope;
      if (!(next > t)) break;
      t = next;
    }
    Vector3d normal;  // of the surface at the nearest point, times that point over half^2
    double rest = 1.0;
    for (int k = 0; k < 3; ++k) {
      const double shifted = t + half_[k] * half_[k];
      const double x = scaled[k] == 0.0 ? 0.0 : half_[k] * scaled[k] / shifted;
      normal[k] = std::copysign(x / (half_[k] * half_[k]), p[k]);
      rest -= x / half_[k] * (x / half_[k]);
    }
    if (t == pole && scaled[shortest_] == 0.0)  // in the middle: two nearest points
      normal[shortest_] = std::sqrt(std::max(0.0, rest)) / half_[shortest_];
    const double length = normal.norm();
    return {t * length, normal / length};
  }
  BoundingSphere bounds() const noexcept override { return {Vector3d::Zero(), half_.maxCoeff()}; }

 private:
  static constexpr int kMaxIterations = 50;
  Vector3d half_;
  int shortest_ = 0;
};

double cross(const Vector2d& a, const Vector2d& b) noexcept {
  return a.x() * b.y() - a.y() * b.x();
}

/// Tells whether the closed segments a-b and c-d have a point in common.
bool segments_meet(const Vector2d& a, const Vector2d& b, const Vector2d& c,
                   const Vector2d& d) noexcept {
  const double c_side = cross(b - a, c - a), d_side = cross(b - a, d - a);
  const double a_side = cross(d - c, a - c), b_side = cross(d - c, b - c);
  if (((c_side > 0.0) != (d_side > 0.0) || c_side == 0.0 || d_side == 0.0) &&
      ((a_side > 0.0) != (b_side > 0.0) || a_side == 0.0 || b_side == 0.0)) {
    if (c_side != 0.0 || d_side != 0.0 || a_side != 0.0 || b_side != 0.0) return true;
    const Vector2d along = b - a;  // on one line: do the ranges overlap?
    const double from = along.dot(c - a), to = along.dot(d - a);
    return std::max(from, to) >= 0.0 && std::min(from, to) <= along.squaredNorm();
  }
  return false;
}

class Polygon final : public SignedDistance {
 public:
  Polygon(std::span<const Vector2d> vertices, double half_height)
      : vertices_(vertices.begin(), vertices.end()), half_height_(half_height) {
    const std::size_t n = vertices_.size();
    require("polygon", "number of vertices", static_cast<double>(n), {.low = 3.0});
    if (!(half_height > 0.0)) refuse("polygon", "half_height", half_height, "> 0", "m");
    double twice_area = 0.0;
    Vector2d low = vertices_[0], high = vertices_[0];
    for (std::size_t i = 0; i < n; ++i) {
      const Vector2d &a = vertices_[i], &b = vertices_[(i + 1) % n];
      if (!a.allFinite()) throw ModelError("polygon: vertex " + number(i) + " is not finite");
      if (a == b)
        throw ModelError("polygon: vertices " + number(i) + " and " + number((i + 1) % n) +
                         " are the same point");
      twice_area += cross(a, b);
      low = low.cwiseMin(a);
      high = high.cwiseMax(a);
    }
    if (!(std::abs(twice_area) > 1e-12 * (high - low).squaredNorm()))
      throw ModelError("polygon: it has no area");
    require_simple();
    if (twice_area < 0.0) std::reverse(vertices_.begin(), vertices_.end());
    for (std::size_t i = 0; i < n; ++i) {
      const Vector2d first = vertices_[(i + 1) % n] - vertices_[i];
      if (cross(first, vertices_[(i + 2) % n] - vertices_[(i + 1) % n]) < 0.0) is_convex_ = false;
    }
    center_ = 0.5 * (low + high);
    for (const Vector2d& v : vertices_) radius_ = std::max(radius_, (v - center_).norm());
    radius_ = hypotenuse(radius_, half_height_);
  }

  Value at(const Vector3d& p) const noexcept override {
    const Flat flat = flat_distance(p.head<2>());
    const Vector3d flat_gradient(flat.gradient.x(), flat.gradient.y(), 0.0);
    const double over = std::abs(p.z()) - half_height_;
    const Vector3d cap(0.0, 0.0, std::copysign(1.0, p.z()));
    if (flat.distance <= 0.0 || over <= 0.0) {
      if (over <= flat.distance) return {flat.distance, flat_gradient};
      return {over, cap};
    }
    const double length = hypotenuse(flat.distance, over);
    return {length, (flat.distance * flat_gradient + over * cap) / length};
  }
  bool is_convex() const noexcept override { return is_convex_; }
  BoundingSphere bounds() const noexcept override {
    return {Vector3d(center_.x(), center_.y(), 0.0), radius_};
  }

 private:
  struct Flat {
    double distance;
    Vector2d gradient;
  };
  static std::string number(std::size_t i) { return std::to_string(i + 1); }

  void require_simple() const {
    const std::size_t n = vertices_.size();
    for (std::size_t i = 0; i < n; ++i) {
      const Vector2d &a = vertices_[i], &b = vertices_[(i + 1) % n], &c = vertices_[(i + 2) % n];
      if (cross(b - a, c - b) == 0.0 && (b - a).dot(c - b) < 0.0)
        throw ModelError("polygon: edge " + number(i) + " is run through backwards");
      for (std::size_t k = i + 2; k < n; ++k) {
        if ((k + 1) % n == i) continue;
        if (segments_meet(a, b, vertices_[k], vertices_[(k + 1) % n]))
          throw ModelError("polygon: edges " + number(i) + " and " + number(k) + " meet");
      }
    }
  }

  /// Distance in the plane; vertices run counterclockwise.
  [[nodiscard]] Flat flat_distance(const Vector2d& p) const noexcept {
    double least = std::numeric_limits<double>::infinity();
    Vector2d away = Vector2d::UnitX(), edge = Vector2d::UnitX();
    bool inside = false;
    Vector2d a = vertices_.back();
    for (const Vector2d& b : vertices_) {
      const Vector2d side = b - a;
      const double fraction = std::clamp(side.dot(p - a) / side.squaredNorm(), 0.0, 1.0);
      const Vector2d d = p - (a + fraction * side);
      if (const double squared = d.squaredNorm(); squared < least) {
        least = squared;
        away = d;
        edge = side;
      }
      if ((a.y() > p.y()) != (b.y() > p.y()) && (cross(side, p - a) > 0.0) == (b.y() > a.y()))
        inside = !inside;
      a = b;
    }
    const double distance = std::sqrt(least), sign = inside ? -1.0 : 1.0;
    const Vector2d gradient = distance > kNoDirection
                                  ? Vector2d(sign / distance * away)
                                  : Vector2d(Vector2d(edge.y(), -edge.x()).normalized());
    return {sign * distance, gradient};
  }

  std::vector<Vector2d> vertices_;
  double half_height_, radius_ = 0.0;
  Vector2d center_;
  bool is_convex_ = true;
};

class HalfSpace final : public SignedDistance {
 public:
  Value at(const Vector3d& p) const noexcept override { return {p.z(), Vector3d::UnitZ()}; }
  BoundingSphere bounds() const noexcept override { return {}; }
};

class Hollowed final : public SignedDistance {
 public:
  Hollowed(Shape shape, const Vector3d& a, const Vector3d& b, double radius)
      : shape_(std::move(shape)), a_(a), along_(b - a), radius_(radius) {
    if (!shape_) throw ModelError("hollowed: it has no shape");
    require("hollowed", "radius", radius, kPositive, "m");
  }
  Value at(const Vector3d& p) const noexcept override {
    const Value outer = shape_->at(p);
    const double squared_length = along_.squaredNorm();
    const double fraction =
        squared_length > 0.0 ? std::clamp((p - a_).dot(along_) / squared_length, 0.0, 1.0) : 0.0;
    const Value core = from_core(a_ + fraction * along_ - p, radius_, Vector3d::UnitX());
    return outer.distance >= -core.distance ? outer : Value{-core.distance, core.gradient};
  }
  bool is_convex() const noexcept override { return false; }
  BoundingSphere bounds() const noexcept override { return shape_->bounds(); }

 private:
  Shape shape_;
  Vector3d a_, along_;
  double radius_;
};

/// Length of the straight body up to where it keeps `room` to an obstacle; more than `length` if it
/// nowhere does.
double covered_length(const Obstacle& obstacle, double room, double length) {
  constexpr double kLeastStep = 1e-4;  // of the length
  double s = 0.0;
  while (s <= length) {
    const double missing =
        room - obstacle.shape->distance(obstacle.X_BO.inverse() * Vector3d(0.0, 0.0, s));
    if (missing <= 0.0) break;
    s += std::max(missing, kLeastStep * length);  // the distance grows by no more than s
  }
  return s;
}

/// A rotation whose z axis is the unit vector `z`.
Eigen::Matrix3d frame_with_z(const Vector3d& z) {
  const Vector3d x = z.unitOrthogonal();
  Eigen::Matrix3d R;
  R << x, z.cross(x), z;
  return R;
}

}  // namespace

Shape sphere(double radius) { return std::make_shared<Sphere>(radius); }
Shape capsule(double half_length, double radius) {
  return std::make_shared<Capsule>(half_length, radius);
}
Shape cylinder(double half_length, double radius) {
  return std::make_shared<Cylinder>(half_length, radius);
}
Shape box(const Vector3d& half_extents) { return std::make_shared<Box>(half_extents); }
Shape ellipsoid(const Vector3d& half_axes) { return std::make_shared<Ellipsoid>(half_axes); }
Shape polygon(std::span<const Vector2d> vertices, double half_height) {
  return std::make_shared<Polygon>(vertices, half_height);
}
Shape half_space() { return std::make_shared<HalfSpace>(); }
Shape hollowed(Shape shape, const Vector3d& a, const Vector3d& b, double radius) {
  return std::make_shared<Hollowed>(std::move(shape), a, b, radius);
}

Obstacle with_room_at_base(Obstacle obstacle, const StraightBody& body, double margin) {
  constexpr double kBendRoom = 1.5;
  const Isometry3d X_OB = obstacle.X_BO.inverse();
  const double room = body.radius + margin, at_base = obstacle.shape->distance(X_OB.translation());
  if (at_base >= room) return obstacle;
  const bool touches = at_base < body.radius;
  if (touches && covered_length(obstacle, body.radius, body.length) > body.length) return {};
  const double covered = covered_length(obstacle, room, body.length);
  if (touches || covered <= body.length)
    obstacle.shape = hollowed(obstacle.shape, X_OB.translation(),
                              X_OB * Vector3d(0.0, 0.0, covered), kBendRoom * room);
  return obstacle;
}

Obstacle sphere_at(const Vector3d& center, double radius) {
  Obstacle obstacle{sphere(radius)};
  obstacle.X_BO.translation() = center;
  return obstacle;
}

Obstacle capsule_between(const Vector3d& a, const Vector3d& b, double radius) {
  const double length = (b - a).norm();
  Obstacle obstacle{capsule(0.5 * length, radius)};
  if (length > 0.0) obstacle.X_BO.linear() = frame_with_z((b - a) / length);
  obstacle.X_BO.translation() = 0.5 * (a + b);
  return obstacle;
}

Obstacle half_space_at(const Vector3d& point, const Vector3d& normal) {
  const double length = normal.norm();
  require("half space", "length of the normal", length, kPositive);
  Obstacle obstacle{half_space()};
  obstacle.X_BO.linear() = frame_with_z(normal / length);
  obstacle.X_BO.translation() = point;
  return obstacle;
}

Obstacle polygon_xz(std::span<const Vector2d> vertices) {
  Obstacle obstacle{polygon(vertices)};
  obstacle.X_BO.linear() << 1.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 1.0, 0.0;
  return obstacle;
}

}  // namespace tendril
