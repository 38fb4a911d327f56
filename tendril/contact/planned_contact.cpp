#include "tendril/contact/planned_contact.hpp"

#include <cmath>
#include <string>

#include "tendril/model_error.hpp"

namespace tendril {
std::vector<PlanarArc> planned_arcs(std::span<const ContactStep> steps) {
  std::vector<PlanarArc> arcs;
  for (const ContactStep& step : steps) arcs.push_back(step.arc);
  return arcs;
}

std::vector<PlannedContact> planned_contacts(std::span<const ContactStep> steps,
                                             std::span<const ContactPoint> points,
                                             double body_radius) {
  std::vector<PlannedContact> contacts;
  for (const ContactStep& step : steps) {
    if (step.contact == kTargetContact) continue;
    if (step.contact < 0 || static_cast<std::size_t>(step.contact) >= points.size())
      throw ModelError("planned contacts: contact " + std::to_string(step.contact) +
                       " is not among the contact points");
    const Disc& disc = points[static_cast<std::size_t>(step.contact)].disc;
    contacts.push_back({.center = disc.center,
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
        std::abs(scene.obstacle_distance(i, contact.center) + contact.radius - body_radius);
    if (off >= least) continue;
    least = off;
    best = i;
  }
  return best;
}

}  // namespace tendril
