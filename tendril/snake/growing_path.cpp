#include "tendril/snake/growing_path.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

#include "tendril/kinematics/rotation.hpp"
#include "tendril/range.hpp"

namespace tendril {

struct PathView::Node {
  double s = 0.0;
  Eigen::Vector3d position = Eigen::Vector3d::Zero(), first = Eigen::Vector3d::UnitX(),
                  second = Eigen::Vector3d::Zero();
  Eigen::Vector3d z = Eigen::Vector3d::UnitZ();  // of the frame
};

namespace {

using Eigen::Map;
using Eigen::Matrix3d;
using Eigen::Vector3d;

// The memory, as `layout` describes it: number of nodes, index of the first one in the ring,
// whether a target waits, that target; then the ring of nodes.
constexpr std::size_t kCount = 0, kFirst = 1, kPending = 2, kWaiting = 3, kHeader = 6;
constexpr std::size_t kNodeSize = 13;

constexpr int kCurvatureSamples = 8;  // of a new piece

/// z carried from tangent to tangent by the smallest rotation.
Vector3d carried(const Vector3d& z, const Vector3d& from, const Vector3d& to) noexcept {
  const Vector3d a = from.normalized(), b = to.normalized();
  return rotation_between(a, b) * z;
}

/// Largest curvature of the quintic piece between two nodes.
template <class At>
double largest_curvature(const At& at, double s_begin, double s_end) noexcept {
  double largest = 0.0;
  for (int i = 0; i <= kCurvatureSamples; ++i)
    largest =
        std::max(largest, at(s_begin + (s_end - s_begin) * i / kCurvatureSamples).curvature());
  return largest;
}

CurvePoint quintic(double s_0, const CurvePoint& p_0, double s_1, const CurvePoint& p_1,
                   double s) noexcept {
  const double h = s_1 - s_0, u = (s - s_0) / h;
  const Vector3d d = p_1.position - p_0.position;
  const Vector3d v_0 = h * p_0.first, v_1 = h * p_1.first;
  const Vector3d a_0 = h * h * p_0.second, a_1 = h * h * p_1.second;
  const Vector3d c_3 = 10.0 * d - 6.0 * v_0 - 4.0 * v_1 - 1.5 * a_0 + 0.5 * a_1;
  const Vector3d c_4 = -15.0 * d + 8.0 * v_0 + 7.0 * v_1 + 1.5 * a_0 - a_1;
  const Vector3d c_5 = 6.0 * d - 3.0 * (v_0 + v_1) - 0.5 * (a_0 - a_1);
  CurvePoint point;
  point.position = p_0.position + u * (v_0 + u * (0.5 * a_0 + u * (c_3 + u * (c_4 + u * c_5))));
  point.first = (v_0 + u * (a_0 + u * (3.0 * c_3 + u * (4.0 * c_4 + u * 5.0 * c_5)))) / h;
  point.second = (a_0 + u * (6.0 * c_3 + u * (12.0 * c_4 + u * 20.0 * c_5))) / (h * h);
  return point;
}

}  // namespace

PathView::PathView(std::span<const double> memory) noexcept
    : memory_(memory),
      capacity_(memory.size() < kHeader ? 0
                                        : static_cast<int>((memory.size() - kHeader) / kNodeSize)) {
}

int PathView::node_count() const noexcept {
  return capacity_ == 0 ? 0 : to_index(memory_[kCount], 0, capacity_);
}

int PathView::first() const noexcept { return to_index(memory_[kFirst], 0, capacity_ - 1); }

std::size_t PathView::offset(int i) const noexcept {
  assert(i >= 0 && i < capacity_);
  const int at = first() + i;
  return kHeader + kNodeSize * static_cast<std::size_t>(at < capacity_ ? at : at - capacity_);
}

double PathView::node_parameter(int i) const noexcept { return memory_[offset(i)]; }

PathView::Node PathView::node(int i) const noexcept {
  const double* x = memory_.data() + offset(i);
  return {x[0], Map<const Vector3d>(x + 1), Map<const Vector3d>(x + 4), Map<const Vector3d>(x + 7),
          Map<const Vector3d>(x + 10)};
}

double PathView::begin() const noexcept { return node_count() > 0 ? node_parameter(0) : 0.0; }

double PathView::end() const noexcept {
  return node_count() > 0 ? std::max(begin(), node_parameter(node_count() - 1)) : 0.0;
}

int PathView::piece_at(double s) const noexcept {
  int low = 0, high = node_count() - 1;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (node_parameter(middle) <= s ? low : high) = middle;
  }
  return low;
}

CurvePoint PathView::at(double s, int piece) const noexcept {
  const Node a = node(piece);
  if (piece + 1 >= node_count()) return {a.position, a.first, a.second};
  const Node b = node(piece + 1);
  if (s == b.s) return {b.position, b.first, b.second};  // to the bit, as from the next piece
  return quintic(a.s, {a.position, a.first, a.second}, b.s, {b.position, b.first, b.second}, s);
}

CurvePoint PathView::at(double s) const noexcept {
  if (node_count() == 0) return {};
  const double inside = std::clamp(s, begin(), end());
  CurvePoint point = at(inside, piece_at(inside));
  if (s != inside) {
    point.position += (s - inside) * point.first;
    point.second.setZero();
  }
  return point;
}

Matrix3d PathView::frame(double s) const noexcept {
  if (node_count() == 0) return Matrix3d::Identity();
  const double inside = std::clamp(s, begin(), end());
  const int piece = piece_at(inside);
  const Node a = node(piece);
  const Vector3d tangent = at(inside, piece).first;
  return tangent_frame(tangent, carried(a.z, a.first, tangent));
}

const char* to_string(GrowStatus status) noexcept {
  switch (status) {
    case GrowStatus::Appended:
      return "appended";
    case GrowStatus::NotFinite:
      return "not finite";
    case GrowStatus::TooNear:
      return "too near: a repeated point";
    case GrowStatus::TooFar:
      return "too far";
    case GrowStatus::Behind:
      return "behind the head";
    case GrowStatus::TooTight:
      return "too tight";
    case GrowStatus::Full:
      return "no room";
  }
  return "unknown";
}

int GrowingPath::memory_size(int capacity) noexcept {
  return static_cast<int>(kHeader + kNodeSize * static_cast<std::size_t>(std::max(capacity, 2)));
}

MemoryLayout GrowingPath::layout(int capacity) {
  const int nodes = std::max(capacity, 2);
  MemoryLayout layout;
  layout.index(0, nodes);      // kCount
  layout.index(0, nodes - 1);  // kFirst
  layout.flag();               // kPending
  layout.numbers(kHeader - kWaiting);
  layout.numbers(kNodeSize * static_cast<std::size_t>(nodes));
  return layout;
}

GrowingPath::GrowingPath(std::span<double> memory, const GrowingPathOptions& options)
    : memory_(memory), options_(options) {
  constexpr char kName[] = "growing path";
  const GrowingPathOptions& o = options_;
  require(kName, "size of the memory", static_cast<double>(memory.size()),
          {.low = static_cast<double>(memory_size(2))});
  require(kName, "min_spacing", o.min_spacing, kPositive, "m");
  if (!(o.max_spacing > o.min_spacing))
    refuse(kName, "max_spacing", o.max_spacing, "> min_spacing", "m");
  require(kName, "max_turn", o.max_turn,
          {.low = 0.0, .high = std::numbers::pi, .open_low = true, .open_high = true}, "rad");
  if (!(o.max_curvature > 0.0)) refuse(kName, "max_curvature", o.max_curvature, "> 0", "1/m");
}

bool GrowingPath::pending() const noexcept { return memory_[kPending] > 0.0; }

Vector3d GrowingPath::waiting() const noexcept {
  return Map<const Vector3d>(memory_.data() + kWaiting);
}

void GrowingPath::write(int i, const Node& node) noexcept {
  double* x = memory_.data() + view().offset(i);
  x[0] = node.s;
  Map<Vector3d>(x + 1) = node.position;
  Map<Vector3d>(x + 4) = node.first;
  Map<Vector3d>(x + 7) = node.second;
  Map<Vector3d>(x + 10) = node.z;
}

GrowResult GrowingPath::start(const Vector3d& start, const Vector3d& direction, double length,
                              const Vector3d& z_reference) noexcept {
  const double norm = direction.norm();
  if (!start.allFinite() || !std::isfinite(norm) || !(norm > 0.0) || !(length > 0.0) ||
      !std::isfinite(length) || !z_reference.allFinite())
    return {};
  std::fill(memory_.begin(), memory_.begin() + kHeader, 0.0);
  const Vector3d tangent = direction / norm;
  const Vector3d z = tangent_frame(tangent, z_reference).col(2);
  write(0, {0.0, start, tangent, Vector3d::Zero(), z});
  write(1, {length, start + length * tangent, tangent, Vector3d::Zero(), z});
  memory_[kCount] = 2.0;
  return {.status = GrowStatus::Appended};
}

GrowResult GrowingPath::push(const Vector3d& position, double s, const Vector3d& first,
                             const Vector3d& second) noexcept {
  const int count = view().node_count();
  const Node last = view().node(count - 1);
  const CurvePoint from{last.position, last.first, last.second}, to{position, first, second};
  const double curvature =
      largest_curvature([&](double at) { return quintic(last.s, from, s, to, at); }, last.s, s);
  if (!(curvature <= options_.max_curvature))
    return {GrowStatus::TooTight, curvature, options_.max_curvature};
  if (count == view().capacity())
    return {GrowStatus::Full, static_cast<double>(count), static_cast<double>(count)};
  write(count, {s, position, first, second, carried(last.z, last.first, first)});
  memory_[kCount] = count + 1;
  return {.status = GrowStatus::Appended};
}

GrowResult GrowingPath::append(const Vector3d& target) noexcept {
  if (!target.allFinite() || view().node_count() == 0) return {};
  const Node last = view().node(view().node_count() - 1);
  const Vector3d from = pending() ? waiting() : last.position;
  const Vector3d before = pending() ? Vector3d(from - last.position) : last.first;
  const Vector3d segment = target - from;
  const double h = segment.norm();
  if (h < options_.min_spacing) return {GrowStatus::TooNear, h, options_.min_spacing};
  if (h > options_.max_spacing) return {GrowStatus::TooFar, h, options_.max_spacing};
  const double angle = std::atan2(before.cross(segment).norm(), before.dot(segment));
  if (angle > options_.max_turn) return {GrowStatus::Behind, angle, options_.max_turn};
  if (pending()) {
    // Derivatives of the parabola through the three points at its middle one.
    const double h_0 = before.norm();
    const Vector3d c_0 = before / h_0, c_1 = segment / h;
    const Vector3d second = 2.0 * (c_1 - c_0) / (h_0 + h);
    const GrowResult pushed = push(from, last.s + h_0, c_0 + 0.5 * h_0 * second, second);
    if (!pushed.ok()) return pushed;
  }
  memory_[kPending] = 1.0;
  Map<Vector3d>(memory_.data() + kWaiting) = target;
  return {.status = GrowStatus::Appended};
}

GrowResult GrowingPath::finish() noexcept {
  if (!pending()) return {.status = GrowStatus::Appended};
  const int count = view().node_count();
  if (count == 0) return {};
  const Node last = view().node(count - 1);
  const Vector3d segment = waiting() - last.position;
  const double h = segment.norm();
  const Vector3d c_1 = segment / h;
  // Derivatives at the end of the parabola through the last three points.
  Vector3d second = Vector3d::Zero();
  if (count >= 2) {
    const Node earlier = view().node(count - 2);
    const double h_0 = last.s - earlier.s;
    second = 2.0 * (c_1 - (last.position - earlier.position) / h_0) / (h_0 + h);
  }
  const GrowResult pushed = push(waiting(), last.s + h, c_1 + 0.5 * h * second, second);
  if (pushed.ok()) memory_[kPending] = 0.0;
  return pushed;
}

void GrowingPath::drop_behind(double s) noexcept {
  const PathView path = view();
  for (int count = path.node_count(); count > 2 && path.node_parameter(1) <= s;) {
    memory_[kFirst] = (path.first() + 1) % path.capacity();
    memory_[kCount] = --count;
  }
}

FollowStep follow_path(const SnakeChain& chain, const PathView& path, MarchDirection direction,
                       const Matrix3d& R, double s, double desired, double largest_change,
                       std::span<const double> before, MarchMemory out,
                       const MarchOptions& options) noexcept {
  assert(before.size() == out.angles.size() && before.data() != out.angles.data());
  const auto march_at = [&](double at, int trial) noexcept {
    if (direction == MarchDirection::BaseToHead)
      return march_from_base(chain, path, at, R, out, options);
    return march_from_head(chain, path, at, trial > 0 ? path.frame(at) : R, out, options);
  };
  return follow_marches(march_at, s, desired, largest_change, before, out.angles);
}

}  // namespace tendril
