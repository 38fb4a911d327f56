#pragma once

#include <limits>

#include "tendril/contact/planned_contact.hpp"
#include "tendril/rod/elastic_rod.hpp"

namespace tendril {

/// State of a planned contact.
struct ContactState {
  bool loaded = false;                                   ///< otherwise it is open
  double force = 0.0;                                    ///< [N]
  double gap = std::numeric_limits<double>::infinity();  ///< between body and obstacle [m]
  double arc_length = 0.0;  ///< of the body's point nearest to it, from the base [m]
};

/// The body's point nearest to the contact's disc and, if they are in contact, the force. `index`
/// becomes that of the solution's contact, or -1.
[[nodiscard]] ContactState contact_state(const ElasticRod& rod, const RodSolution& solution,
                                         const PlannedContact& contact,
                                         int* index = nullptr) noexcept;

}  // namespace tendril
