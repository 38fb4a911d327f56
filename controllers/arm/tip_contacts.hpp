#pragma once

#include <Eigen/Core>
#include <algorithm>

#include "controllers/interface/arm_controller.hpp"
#include "controllers/interface/arm_memory.hpp"

namespace tendril {

/// The contacts of an arm's tip: within three radii of the body, without those of a guide.
class TipContacts {
 public:
  static constexpr Quantity kForce{
      "tip_force", "N", "sum of the normal forces within three radii of the tip", 1, "max mean"};
  enum class With { AnyBody, FixedBodies };

  /// Selects the contacts with these bodies.
  explicit TipContacts(const ArmContext& context, With with = With::AnyBody)
      : from_(straight_length(context.robot) - kRadii * context.body_radius), with_(with) {}

  /// Number of the tip's contacts.
  [[nodiscard]] int count(const ArmMeasurement& measurement) const noexcept {
    return static_cast<int>(
        std::count_if(measurement.contacts.begin(), measurement.contacts.end(),
                      [this](const MeasuredContact& contact) { return is_at_tip(contact); }));
  }

  /// Sum of their normal forces [N].
  [[nodiscard]] double force(const ArmMeasurement& measurement) const noexcept {
    double force = 0.0;
    for (const MeasuredContact& contact : measurement.contacts)
      if (is_at_tip(contact)) force += contact.force;
    return force;
  }
  /// The same as a vector, towards the arm [N].
  [[nodiscard]] Eigen::Vector3d push(const ArmMeasurement& measurement) const noexcept {
    Eigen::Vector3d push = Eigen::Vector3d::Zero();
    for (const MeasuredContact& contact : measurement.contacts)
      if (is_at_tip(contact)) push += contact.force * contact.normal;
    return push;
  }
  /// A tip error without its parts into walls: no correction advances the tip against a wall, and
  /// integrating it would wind up the arm behind.
  [[nodiscard]] Eigen::Vector3d correctable(const ArmMeasurement& measurement,
                                            Eigen::Vector3d error) const noexcept {
    for (const MeasuredContact& contact : measurement.contacts) {
      const double into = contact.normal.dot(error);
      if (is_at_tip(contact) && into < 0.0) error -= into * contact.normal;
    }
    return error;
  }

 private:
  static constexpr double kRadii = 3.0;

  [[nodiscard]] bool is_at_tip(const MeasuredContact& contact) const noexcept {
    return !contact.is_guide && contact.arc_length > from_ &&
           (with_ == With::AnyBody || contact.is_fixed);
  }

  double from_;  // arc length [m]
  With with_;
};

}  // namespace tendril
