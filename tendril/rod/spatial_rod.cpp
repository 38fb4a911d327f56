#include "tendril/rod/spatial_rod.hpp"

#include <algorithm>
#include <cmath>

#include "tendril/model_error.hpp"
#include "tendril/range.hpp"

namespace tendril {
namespace {

using Eigen::Index;
using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector2d;
using Eigen::Vector3d;
using Eigen::VectorXd;

constexpr int kMaxIterations = 12;
constexpr double kResidual = 1e-5;   // of the moment balance over EI [1/m]
constexpr double kSeries = 1e-4;     // [rad^2], below it functions of the bend are series
constexpr double kProbe = 1e-4;      // [m], of the curvature of an obstacle
constexpr double kEnd = 1e-4;        // of an arc: a contact there does not slide
constexpr double kFlat = 0.5;        // [1/m], least second derivative of a gap along an arc
constexpr double kLeastStep = 1e-5;  // of the line search
constexpr double kDecrease = 1e-4;   // of the energy, at least, over that of the slope
constexpr double kRounding = 1e-12;  // of the energy over EI [1/m]
constexpr ArcSearch kSearch{.tolerance = 1e-5};

/// Functions of the squared bend t = theta^2 of an arc.
struct BendTerms {
  double sine, versine, residue;   // sin(theta)/theta, (1 - cos(theta))/t, (1 - sine)/t
  double sine_rate, versine_rate;  // by t
};

BendTerms bend_terms(double t) noexcept {
  if (t <= kSeries)
    return {1.0 - t / 6.0, 0.5 - t / 24.0, 1.0 / 6.0 - t / 120.0, -1.0 / 6.0 + t / 60.0,
            -1.0 / 24.0 + t / 360.0};
  const double theta = std::sqrt(t), sine = std::sin(theta) / theta, cosine = std::cos(theta),
               versine = (1.0 - cosine) / t;
  return {sine, versine, (1.0 - sine) / t, 0.5 * (cosine - sine) / t, (0.5 * sine - versine) / t};
}

/// End and rotation of an arc in the frame of its start. docs/theory/elastic.md, "Elastic rod in
/// space".
struct Arc {
  Arc(const Vector2d& curvature, double length) noexcept
      : h(length), b(length * curvature), t(b.squaredNorm()), of(bend_terms(t)) {}

  [[nodiscard]] Vector3d end() const noexcept {
    return h * Vector3d(of.versine * b.x(), of.versine * b.y(), of.sine);
  }
  [[nodiscard]] Matrix3d rotation() const noexcept {
    const double across = -of.versine * b.x() * b.y();
    const Vector2d sine = of.sine * b;
    return (Matrix3d() << 1.0 - of.versine * b.x() * b.x(), across, sine.x(), across,
            1.0 - of.versine * b.y() * b.y(), sine.y(), -sine.x(), -sine.y(), 1.0 - of.versine * t)
        .finished();
  }
  /// Derivatives of the end and of the rotation vector by the curvatures.
  [[nodiscard]] Eigen::Matrix<double, 3, 2> end_rate() const noexcept {
    Eigen::Matrix<double, 3, 2> rates;
    for (int c = 0; c < 2; ++c) {
      Vector3d rate(2.0 * of.versine_rate * b.x() * b[c], 2.0 * of.versine_rate * b.y() * b[c],
                    2.0 * of.sine_rate * b[c]);
      rate[c] += of.versine;
      rates.col(c) = h * h * rate;
    }
    return rates;
  }
  [[nodiscard]] Eigen::Matrix<double, 3, 2> turn_rate() const noexcept {
    const double across = -of.residue * b.x() * b.y();
    Eigen::Matrix<double, 3, 2> rates;
    rates << across, of.residue * b.x() * b.x() - 1.0, 1.0 - of.residue * b.y() * b.y(), -across,
        -of.versine * b.y(), of.versine * b.x();
    return h * rates;
  }

  double h;
  Vector2d b;
  double t;
  BendTerms of;
};

constexpr const char* kName = "spatial body";

}  // namespace

double SpatialBody::length() const noexcept {
  double sum = 0.0;
  for (const SpatialSection& section : sections) sum += section.length;
  return sum;
}

SpatialRod::SpatialRod(const SpatialBody& body, Obstacles obstacles)
    : body_(body), obstacles_(std::move(obstacles)), count_(body.elements), total_(body.length()) {
  if (body.sections.empty()) throw ModelError("spatial body: sections: must be at least one");
  for (const SpatialSection& section : body.sections) {
    require(kName, "length", section.length, kPositive, "m");
    require(kName, "max_curvature", section.max_curvature, kPositive, "1/m");
    require(kName, "bending_stiffness", section.bending_stiffness, kPositive, "N m^2");
  }
  require(kName, "radius", body.radius, kNotNegative, "m");
  require(kName, "start_length", body.start_length, kPositive, "m");
  if (body.start_length > total_)
    refuse(kName, "start_length", body.start_length, "at most the length of the sections", "m");
  if (body.elements < 2) refuse(kName, "elements", body.elements, ">= 2", "");
  require(kName, "contact_layer", body.contact_layer, kPositive, "m");
  pressing_ = SpatialBody::kPressing / body_.contact_layer;
  const Index n = 2 * count_;
  stiffness_.resize(count_);
  share_.resize(count_, static_cast<Index>(body_.sections.size()));
  longer_share_ = share_;
  actuation_.setZero(actuation_size());
  for (VectorXd* const v : {&wanted_, &kappa_, &trial_, &gradient_, &step_}) v->setZero(n);
  hessian_.resize(n, n);
  columns_.resize(n, actuation_size());
  rates_.resize(3, actuation_size());
  factor_ = Eigen::LLT<MatrixXd>(n);
  node_.resize(static_cast<std::size_t>(count_) + 1, Vector3d::Zero());
  frame_.resize(static_cast<std::size_t>(count_) + 1, Matrix3d::Identity());
  for (Columns* const c : {&end_rate_, &turn_rate_, &at_rate_, &levers_}) c->resize(3, n);
  const auto most = static_cast<std::size_t>(count_) * static_cast<std::size_t>(obstacles_.count());
  contacts_.reserve(most);
  loads_.reserve(most);
}

SpatialActuation SpatialRod::reset() noexcept {
  kappa_.setZero();
  SpatialActuation actuation = SpatialActuation::Zero(actuation_size());
  actuation[actuation_size() - 1] = body_.start_length;
  return actuation;
}

/// Parts of the arcs that belong to each section.
void SpatialRod::share(double length, MatrixXd& shares) const noexcept {
  const double h = length / count_;
  double start = length - total_;  // of the section
  for (Index k = 0; k < shares.cols(); ++k) {
    const double end = start + body_.sections[static_cast<std::size_t>(k)].length;
    for (Index i = 0; i < count_; ++i) {
      const double a = static_cast<double>(i) * h;
      shares(i, k) = std::clamp((std::min(end, a + h) - std::max(start, a)) / h, 0.0, 1.0);
    }
    start = end;
  }
}

/// Spreads the actuation of the sections over the arcs.
void SpatialRod::spread(const SpatialActuation& actuation) noexcept {
  actuation_ = actuation;
  const double length = actuation[actuation.size() - 1];
  h_ = length / count_;
  share(length, share_);
  stiffness_.setZero();
  wanted_.setZero();
  for (Index k = 0; k < share_.cols(); ++k) {
    stiffness_ += share_.col(k) * (body_.sections[static_cast<std::size_t>(k)].bending_stiffness /
                                   body_.sections.front().bending_stiffness);
    for (Index i = 0; i < count_; ++i)
      wanted_.segment<2>(2 * i) += share_(i, k) * actuation.segment<2>(2 * k);
  }
}

/// Places the body; its energy over EI.
double SpatialRod::evaluate(const VectorXd& kappa) noexcept {
  Vector3d p = Vector3d::Zero();
  Matrix3d R = Matrix3d::Identity();
  double energy = 0.0;
  for (Index i = 0; i < count_; ++i) {
    const Arc arc(kappa.segment<2>(2 * i), h_);
    const auto at = static_cast<std::size_t>(i);
    node_[at] = p;
    frame_[at] = R;
    p += R * arc.end();
    R = R * arc.rotation();
    energy += 0.5 * stiffness_[i] * h_ *
              (kappa.segment<2>(2 * i) - wanted_.segment<2>(2 * i)).squaredNorm();
  }
  node_.back() = p;
  frame_.back() = R;
  trial_ = kappa;
  find_contacts();
  for (const SpatialContact& contact : contacts_) {
    const double depth = body_.contact_layer - contact.gap;
    energy += 0.5 * pressing_ * depth * depth;
  }
  return energy;
}

/// Sets the rates of the first arcs' ends, in end_rate_ and turn_rate_.
void SpatialRod::arc_rates(Index arcs) noexcept {
  for (Index i = 0; i < arcs; ++i) {
    const Arc arc(trial_.segment<2>(2 * i), h_);
    const Matrix3d& R = frame_[static_cast<std::size_t>(i)];
    end_rate_.middleCols<2>(2 * i) = R * arc.end_rate();
    turn_rate_.middleCols<2>(2 * i) = R * arc.turn_rate();
  }
}

void SpatialRod::find_contacts() noexcept {
  contacts_.clear();
  loads_.clear();
  coupled_ = 0;
  const double EI = body_.sections.front().bending_stiffness;
  const double near = body_.radius + body_.contact_layer;
  for (int i = 0; i < count_; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (!obstacles_.may_touch(0.5 * (node_[at] + node_[at + 1]), near + 0.5 * h_)) continue;
    const Vector2d k = trial_.segment<2>(2 * i);
    const double curvature = k.norm();
    BodyArc arc{.start = node_[at],
                .tangent = frame_[at].col(2),
                .curvature = curvature,
                .length = h_,
                .section = i};
    const Vector2d side = curvature > 1e-9 ? Vector2d(k / curvature) : Vector2d(1.0, 0.0);
    arc.side = frame_[at].leftCols<2>() * side;
    const auto found = [&](const Clearance& nearest) {
      const double gap = nearest.distance - body_.radius;
      contacts_.push_back({.obstacle = nearest.obstacle,
                           .arc_length = i * h_ + nearest.arc_length,
                           .gap = gap,
                           .force = EI * pressing_ * (body_.contact_layer - gap),
                           .point = nearest.point,
                           .normal = nearest.normal});
      const Vector3d tangent = arc.tangent_at(nearest.arc_length);
      const double turned = curvature * nearest.arc_length;
      loads_.push_back(
          {i, tangent, curvature * (std::cos(turned) * arc.side - std::sin(turned) * arc.tangent)});
      coupled_ = 2 * (i + 1);
    };
    obstacles_.for_each_nearer(arc, near, kSearch, found);
  }
}

/// Sets the rates of a contact's point by the curvatures up to its arc, in at_rate_.
void SpatialRod::point_rates(const SpatialContact& contact, int element) noexcept {
  const Index own = 2 * element;
  for (Index c = 0; c < own; ++c) {
    const Vector3d arm = contact.point - node_[static_cast<std::size_t>(c / 2 + 1)];
    at_rate_.col(c) = end_rate_.col(c) + turn_rate_.col(c).cross(arm);
  }
  const double s = std::max(contact.arc_length - element * h_, 0.0);
  at_rate_.middleCols<2>(own) =
      frame_[static_cast<std::size_t>(element)] * Arc(trial_.segment<2>(own), s).end_rate();
}

/// Second derivative of an obstacle's distance in a direction.
double SpatialRod::bulge(const SpatialContact& contact, const Vector3d& across) const noexcept {
  const auto& X = obstacles_.pose(contact.obstacle);
  const auto distance = [&](const Vector3d& p) {
    return obstacles_.shape(contact.obstacle)
        ->distance(X.linear().transpose() * (p - X.translation()));
  };
  const double second =
      (distance(contact.point + kProbe * across) + distance(contact.point - kProbe * across) -
       2.0 * distance(contact.point)) /
      (kProbe * kProbe);
  return std::clamp(second, 0.0, 1.0 / std::max(body_.radius, 1e-3));
}

/// Gradient and second derivatives of the energy at the placed shape.
void SpatialRod::differentiate() noexcept {
  for (Index i = 0; i < count_; ++i)
    gradient_.segment<2>(2 * i) =
        stiffness_[i] * h_ * (trial_.segment<2>(2 * i) - wanted_.segment<2>(2 * i));
  arc_rates(coupled_ / 2);
  auto H = hessian_.topLeftCorner(coupled_, coupled_);
  H.setZero();
  for (Index c = 0; c < coupled_; ++c) H(c, c) = stiffness_[c / 2] * h_;
  for (std::size_t j = 0; j < contacts_.size(); ++j) {
    const SpatialContact& contact = contacts_[j];
    const int element = loads_[j].element;
    const Index n = 2 * (element + 1);
    point_rates(contact, element);
    const double force = pressing_ * (body_.contact_layer - contact.gap);
    const Vector3d &tangent = loads_[j].tangent,
                   across = contact.normal.cross(tangent).normalized();
    const double bulge_across = bulge(contact, across), bulge_along = bulge(contact, tangent);
    const auto P = at_rate_.leftCols(n);
    auto rate = step_.head(n);
    rate.noalias() = P.transpose() * contact.normal;
    gradient_.head(n) -= force * rate;
    auto block = H.topLeftCorner(n, n).template selfadjointView<Eigen::Lower>();
    block.rankUpdate(rate, pressing_);
    rate.noalias() = P.transpose() * across;
    block.rankUpdate(rate, -force * bulge_across);
    rate.noalias() = P.transpose() * tangent;
    block.rankUpdate(rate, -force * bulge_along);
    // The point slides along the arc to where the gap is least.
    if (const double s = contact.arc_length - element * h_;
        s > kEnd * h_ && s < (1.0 - kEnd) * h_) {
      const double second = std::max(contact.normal.dot(loads_[j].bend) + bulge_along, kFlat);
      rate *= bulge_along;
      rate.noalias() += turn_rate_.leftCols(n).transpose() * tangent.cross(contact.normal);
      rate.tail<2>() += (s / h_ - 1.0) * turn_rate_.middleCols<2>(n - 2).transpose() *
                        tangent.cross(contact.normal);
      block.rankUpdate(rate, force / second);
    }
    // Everything past an arc turns with it, d2p = w_c x dp_r for c <= r; near enough for its own.
    auto levers = levers_.leftCols(n);
    for (Index c = 0; c < n; ++c) levers.col(c) = contact.normal.cross(turn_rate_.col(c));
    levers.rightCols<2>() *= std::max(contact.arc_length / h_ - element, 0.0);
    for (Index c = 0; c < n; c += 2)
      H.block(c, c, n - c, 2).noalias() -=
          force * P.rightCols(n - c).transpose() * levers.middleCols<2>(c);
  }
}

bool SpatialRod::factorize() noexcept {
  if (coupled_ == 0) return true;
  factor_.compute(hessian_.topLeftCorner(coupled_, coupled_));
  return factor_.info() == Eigen::Success;
}

void SpatialRod::solve_factored(Eigen::Ref<MatrixXd> x) const noexcept {
  if (coupled_ > 0) factor_.solveInPlace(x.topRows(coupled_));
  for (Index c = coupled_; c < 2 * count_; ++c) x.row(c) /= stiffness_[c / 2] * h_;
}

SpatialEquilibrium SpatialRod::solve(const SpatialActuation& actuation) noexcept {
  spread(actuation);
  SpatialEquilibrium result;
  double energy = evaluate(kappa_);
  for (; result.iterations < kMaxIterations; ++result.iterations) {
    differentiate();
    double damping = 0.0;
    while (!factorize()) {
      const double more = std::max(0.1 * h_, damping);
      hessian_.topLeftCorner(coupled_, coupled_).diagonal().array() += more;
      damping += more;
    }
    if (gradient_.cwiseAbs().maxCoeff() < kResidual * h_) {
      result.converged = damping == 0.0;
      break;
    }
    step_ = -gradient_;
    solve_factored(step_);
    const double slope = gradient_.dot(step_);
    double scale = 1.0;
    double next = evaluate(kappa_ + step_);
    while (next > energy + kDecrease * scale * slope + kRounding && scale > kLeastStep) {
      // Where the parabola through the slope and both energies is least; obstacles are stiff.
      const double least = -0.5 * slope * scale / (next - energy - slope * scale);
      scale *= std::clamp(least, 0.01, 0.5);
      next = evaluate(kappa_ + scale * step_);
    }
    if (scale <= kLeastStep) break;
    kappa_ += scale * step_;
    energy = next;
  }
  result.tip = node_.back();
  for (const SpatialContact& contact : contacts_)
    result.least_gap = std::min(result.least_gap, contact.gap);
  result.converged = result.converged && result.least_gap > 0.0;
  return result;
}

const MatrixXd& SpatialRod::tip_rates() noexcept {
  const Index n = 2 * count_, sections = share_.cols();
  arc_rates(count_);
  columns_.setZero();
  for (Index k = 0; k < sections; ++k) {
    for (Index c = 0; c < n; ++c)
      columns_(c, 2 * k + c % 2) = stiffness_[c / 2] * h_ * share_(c / 2, k);
  }
  // By the length: every arc becomes longer, and obstacles press against what moves towards them.
  const auto longer = [&](const Vector3d& point, double s) {
    Vector3d rate = Vector3d::Zero();
    for (Index i = 0; i < count_; ++i) {
      const double part = std::clamp(s / h_ - static_cast<double>(i), 0.0, 1.0);
      if (part <= 0.0) break;
      const auto at = static_cast<std::size_t>(i);
      const Vector3d end = part < 1.0 ? point : node_[at + 1];
      const Vector2d k = trial_.segment<2>(2 * i);
      const Vector3d along = frame_[at] * Arc(k, part * h_).rotation().col(2);
      const Vector3d turn = frame_[at] * Vector3d(-k.y(), k.x(), 0.0);
      rate += part * (along + turn.cross(point - end));
    }
    return Vector3d(rate / count_);
  };
  auto by_length = columns_.col(2 * sections);
  share(h_ * count_ + kProbe, longer_share_);  // and sections move along the body
  for (Index k = 0; k < sections; ++k) {
    for (Index c = 0; c < n; ++c)
      by_length[c] += stiffness_[c / 2] * h_ * actuation_[2 * k + c % 2] *
                      (longer_share_(c / 2, k) - share_(c / 2, k)) / kProbe;
  }
  for (std::size_t j = 0; j < contacts_.size(); ++j) {
    point_rates(contacts_[j], loads_[j].element);
    const Index m = 2 * (loads_[j].element + 1);
    const double moved =
        contacts_[j].normal.dot(longer(contacts_[j].point, contacts_[j].arc_length));
    by_length.head(m) -=
        pressing_ * moved * (at_rate_.leftCols(m).transpose() * contacts_[j].normal);
  }
  solve_factored(columns_);
  for (Index c = 0; c < n; ++c) {
    const Vector3d arm = node_.back() - node_[static_cast<std::size_t>(c / 2 + 1)];
    at_rate_.col(c) = end_rate_.col(c) + turn_rate_.col(c).cross(arm);
  }
  rates_.noalias() = at_rate_ * columns_;
  rates_.col(2 * sections) += longer(node_.back(), count_ * h_);
  return rates_;
}

}  // namespace tendril
