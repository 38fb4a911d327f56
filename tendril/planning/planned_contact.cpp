#include "tendril/planning/planned_contact.hpp"

#include <cmath>
#include <string>

#include "tendril/model_error.hpp"

namespace tendril {
namespace {

/// A rod contact belongs to a planned one if the centreline passes the disc's rim this close [m].
constexpr double kSamePlace = 1e-3;

}  // namespace

std::vector<PlanarArc> planned_arcs(std::span<const WrapStep> steps) {
  std::vector<PlanarArc> arcs;
  for (const WrapStep& step : steps) arcs.push_back(step.arc);
  return arcs;
}

std::vector<PlannedContact> planned_contacts(std::span<const WrapStep> steps,
                                             std::span<const ContactPoint> points,
                                             double body_radius) {
  std::vector<PlannedContact> contacts;
  for (const WrapStep& step : steps) {
    if (step.contact == kTargetContact) continue;
    if (step.contact < 0 || static_cast<std::size_t>(step.contact) >= points.size())
      throw ModelError("planned contacts: contact " + std::to_string(step.contact) +
                       " is not among the contact points");
    const Disc& disc = points[static_cast<std::size_t>(step.contact)].disc;
    contacts.push_back({.centre = disc.centre,
                        .radius = disc.radius + body_radius,
                        .side = step.side > 0 ? BodySide::Positive : BodySide::Negative});
  }
  return contacts;
}

int contact_obstacle(const PlanarScene& scene, const PlannedContact& contact,
                     double body_radius) noexcept {
  int best = -1;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < scene.size(); ++i) {
    const double off =
        std::abs(scene.obstacle_distance(i, contact.centre) + contact.radius - body_radius);
    if (off >= least) continue;
    least = off;
    best = i;
  }
  return best;
}

ContactState contact_state(const ElasticRod& rod, const RodSolution& solution,
                           const PlannedContact& contact, int* index) noexcept {
  ContactState state;
  int found = -1;
  for (std::size_t i = 0; i < solution.contacts.size(); ++i) {
    const RodContact& rod_contact = solution.contacts[i];
    const double off = (rod_contact.position - contact.centre).norm() - contact.radius;
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
    const double s = arc.nearest_parameter(contact.centre);
    const double gap = (arc.pose_at(s).position - contact.centre).norm() - contact.radius;
    if (gap < state.gap) {
      state.gap = gap;
      state.arc_length = begin + s;
    }
    begin += arc.length;
  });
  return state;
}

}  // namespace tendril
