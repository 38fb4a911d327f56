#include "tendril/avoidance/obstacle_descent.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr DescentRule kRule{.least_damping = 1e-10, .least_progress = 1e-2};
constexpr double kContactWeight = 3.0;  // of a clearance against the tip's position
constexpr ArcSearch kSearch{.tolerance = 1e-4, .most_steps = 40};  // shapes without closed form

}  // namespace

ObstacleDescent::ObstacleDescent(const ContinuumRobot& robot)
    : TipDescent(robot, {}), robot_(robot), velocities_(coordinates_.size()) {
  for (int i = 0; i < robot.section_count(); ++i) {
    first_arc_.push_back(arcs_.size());
    arcs_.resize(arcs_.size() + robot.section(i).length_weights().size(), BodyArc{.section = i});
  }
  first_arc_.push_back(arcs_.size());
}

void ObstacleDescent::around(const Obstacles* obstacles, double safety_distance,
                             double margin) noexcept {
  obstacles_ = obstacles;
  safety_distance_ = safety_distance;
  margin_ = margin;
}

DescentEnd ObstacleDescent::run(int& iterations, int max_iterations) noexcept {
  return descend(kRule, iterations, max_iterations);
}

/// The arcs of section i from its frame.
void ObstacleDescent::place_arcs(std::size_t i) noexcept {
  const Coordinates& q = coordinates_[i];
  const Frame& frame = frames_[i];
  const double theta = std::sqrt(q.u * q.u + q.v * q.v), length = maps_[i].length + q.s;
  const Vector3d side = theta > kUndeterminedBend ? Vector3d(frame.radial / theta) : frame.x;
  place_section_arcs(robot_.section(static_cast<int>(i)), start_of(i), frame.z, side, theta, length,
                     std::span(arcs_).subspan(first_arc_[i], first_arc_[i + 1] - first_arc_[i]));
}

void ObstacleDescent::keep_contact(const Contact& contact) noexcept {
  if (contact_count_ < contacts_.size()) {
    contacts_[contact_count_++] = contact;
    return;
  }
  auto least =
      std::min_element(contacts_.begin(), contacts_.end(),
                       [](const Contact& a, const Contact& b) { return a.excess < b.excess; });
  if (least->excess < contact.excess) *least = contact;
}

/// Tip pose, contacts, residual and cost of coordinates_.
double ObstacleDescent::evaluate() noexcept {
  double cost = evaluate_tip(tip_residual());
  contact_count_ = 0;
  depth_ = -margin_;
  if (obstacles_ != nullptr) {
    const double near = safety_distance_ + margin_;
    for (auto i = static_cast<std::size_t>(robot_.rail_count()); i < coordinates_.size(); ++i) {
      place_arcs(i);
      for (std::size_t j = first_arc_[i]; j < first_arc_[i + 1]; ++j) {
        obstacles_->for_each_nearer(arcs_[j], near, kSearch, [&](const Clearance& c) {
          const double excess = near - c.distance;
          cost += kContactWeight * kContactWeight * excess * excess;
          depth_ = std::max(depth_, safety_distance_ - c.distance);
          keep_contact({i, arcs_[j].fraction(c.arc_length), excess, c.point, c.normal});
        });
      }
    }
  }
  for (std::size_t k = 0; k < contact_count_; ++k)
    residual_[tip_rows() + k] = kContactWeight * contacts_[k].excess;
  return cost;
}

/// Columns of the tip and of the contacts, the directions that are free at the limits, and the
/// normal matrix.
void ObstacleDescent::differentiate() noexcept {
  step_rows_ = tip_rows() + contact_count_;
  clear_directions();
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    velocities_[i] = velocities(i);
    set_tip_columns(i, velocities_[i]);
  }
  for (std::size_t k = 0; k < contact_count_; ++k) set_contact_row(tip_rows() + k, contacts_[k]);
  for (std::size_t i = 0; i < coordinates_.size(); ++i) add_free_directions(i, step_rows_);
  multiply(step_rows_);
}

void ObstacleDescent::step(double damping) noexcept {
  move(solve(damping, previous_residual_, step_rows_), step_rows_);
}

/// d(clearance)/dq at a point of the body that keeps its fraction of its section.
void ObstacleDescent::set_contact_row(std::size_t row, const Contact& contact) noexcept {
  const Vector3d g = kContactWeight * contact.normal;
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    auto& [column_u, column_v, column_s] = columns_[i];
    if (i > contact.section) {
      column_u[row] = column_v[row] = column_s[row] = 0.0;
    } else if (i < contact.section) {
      const Velocities& v = velocities_[i];
      const Vector3d torque = (contact.point - frames_[i].end).cross(g);
      column_u[row] = g.dot(v.translation_u) + v.rotation_u.dot(torque);
      column_v[row] = g.dot(v.translation_v) + v.rotation_v.dot(torque);
      column_s[row] = g.dot(v.translation_s);
    } else {
      const Frame& f = frames_[i];
      const Coordinates& q = coordinates_[i];
      const double theta = std::sqrt(q.u * q.u + q.v * q.v), S = maps_[i].length + q.s;
      const PlanarPoint point =
          robot_.section(static_cast<int>(i)).point_at(theta, contact.fraction);
      const bool straight = theta < kUndeterminedBend;
      const double cp = straight ? 1.0 : q.u / theta, sp = straight ? 0.0 : q.v / theta;
      const double ge = g.dot(cp * f.x + sp * f.y), gn = g.dot(cp * f.y - sp * f.x),
                   gz = g.dot(f.z);
      const double radial = S * (point.dx * ge + point.dz * gz);
      const double across = S * (straight ? point.dx : point.x / theta) * gn;
      column_u[row] = cp * radial - sp * across;
      column_v[row] = sp * radial + cp * across;
      column_s[row] = point.x * ge + point.z * gz;
    }
  }
}

}  // namespace tendril
