#include "tendril/rod/contact_state.hpp"

#include <cmath>

namespace tendril {
namespace {

/// A rod contact belongs to a planned one if the backbone passes the disc's rim this close [m].
constexpr double kSamePlace = 1e-3;

}  // namespace

ContactState contact_state(const ElasticRod& rod, const RodSolution& solution,
                           const PlannedContact& contact, int* index) noexcept {
  ContactState state;
  int found = -1;
  for (std::size_t i = 0; i < solution.contacts.size(); ++i) {
    const RodContact& rod_contact = solution.contacts[i];
    const double off = (rod_contact.position - contact.center).norm() - contact.radius;
    if (rod_contact.side != contact.side || std::abs(off) > kSamePlace) continue;
    if (state.loaded && rod_contact.force <= state.force) continue;
    found = static_cast<int>(i);
    state = {.loaded = true,
             .force = rod_contact.force,
             .gap = off,
             .arc_length = rod_contact.arc_length};
  }
  if (index != nullptr) *index = found;
  if (state.loaded) return state;
  double begin = 0.0;
  rod.visit_elements([&](const PlanarArc& arc) {
    const double s = arc.nearest_parameter(contact.center);
    const double gap = (arc.pose_at(s).position - contact.center).norm() - contact.radius;
    if (gap < state.gap) {
      state.gap = gap;
      state.arc_length = begin + s;
    }
    begin += arc.length;
  });
  return state;
}

}  // namespace tendril
