#pragma once

#include <mujoco/mujoco.h>

#include <optional>
#include <span>
#include <vector>

#include "controllers/arm/contact_response.hpp"
#include "plugin/robot_binding.hpp"

namespace tendril {

/// The contacts of an arm with other bodies in a model.
class ArmContacts {
 public:
  /// @param mechanics  must outlive it
  /// @param joints     of the mechanics' state
  /// @param links      of all sections
  ArmContacts(const mjModel* m, const ArmMechanics& mechanics, std::span<const JointAddress> joints,
              int base_body, std::size_t links);

  /// What a geom of the model is to the contacts.
  struct Geom {
    int link = -1;            ///< of all sections, from 0; -1: not of the arm
    double arc_length = 0.0;  ///< of its body's middle along the arm, from its root [m]
    bool is_guide = false;    ///< feeds the arm
    bool is_fixed = false;    ///< no force moves it
  };
  [[nodiscard]] Geom geom(const mjModel* m, int geom) const noexcept;

  /// Reads the contacts of this step.
  /// @param link_force  normal force on every link in the last step [N]
  void read(const mjModel* m, const mjData* d, std::span<const double> link_force) noexcept;
  [[nodiscard]] ContactResponse& response() noexcept { return response_; }
  /// Normal force on every link at the end of this step [N].
  void read_forces(const mjModel* m, const mjData* d, std::span<double> link_force) const noexcept;

 private:
  /// A contact of the arm with something else: the arm's geom and the other one.
  struct Touch {
    int own, other;
  };
  [[nodiscard]] std::optional<Touch> touch(const mjModel* m,
                                           const mjContact& contact) const noexcept;
  /// Index of the link of a geom of the arm.
  [[nodiscard]] std::size_t link_of(const mjModel* m, int geom) const noexcept;

  ContactResponse response_;
  int base_body_;
  int first_link_ = 0;                  // body
  std::vector<int> joints_up_to_body_;  // -1: the body is not part of the arm
  std::vector<double> arc_length_;      // per body of the model
  std::vector<int> touches_;            // scratch: contacts of every link
};

}  // namespace tendril
