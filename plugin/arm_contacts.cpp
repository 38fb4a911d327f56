#include "plugin/arm_contacts.hpp"

#include <algorithm>
#include <cmath>

namespace tendril {
namespace {

/// Tells whether no force moves a body: it is welded to the world, or its pose is given.
bool is_fixed(const mjModel* m, int body) noexcept {
  const int root = m->body_weldid[body];
  return root == 0 || m->body_mocapid[root] >= 0;
}

}  // namespace

ArmContacts::ArmContacts(const mjModel* m, const ArmMechanics& mechanics,
                         std::span<const JointAddress> joints, int base_body, std::size_t links)
    : response_(mechanics),
      base_body_(base_body),
      joints_up_to_body_(static_cast<std::size_t>(m->nbody), -1),
      arc_length_(static_cast<std::size_t>(m->nbody), 0.0),
      touches_(links, 0) {
  // The chain in its reference pose: bodies come after their parents.
  std::vector<double> joint_at(static_cast<std::size_t>(m->nbody), 0.0);  // arc length [m]
  const auto& chain = response_.chain();
  const auto body_of = [&](int i) { return joints[static_cast<std::size_t>(i)].body; };
  const int first = chain.empty() ? -1 : body_of(chain.front());
  first_link_ = std::max(first, 0);
  for (int body = first; body >= 0 && body < m->nbody; ++body) {
    const auto b = static_cast<std::size_t>(body);
    const auto parent = static_cast<std::size_t>(m->body_parentid[body]);
    if (body != first && joints_up_to_body_[parent] < 0) break;
    joint_at[b] = m->body_pos[3 * body + 2] + (body == first ? 0.0 : joint_at[parent]);
    arc_length_[b] = joint_at[b] + m->body_ipos[3 * body + 2];
    joints_up_to_body_[b] = static_cast<int>(
        std::count_if(chain.begin(), chain.end(), [&](int i) { return body_of(i) <= body; }));
  }
}

std::optional<ArmContacts::Touch> ArmContacts::touch(const mjModel* m,
                                                     const mjContact& contact) const noexcept {
  const auto is_arm = [&](int geom) {
    return joints_up_to_body_[static_cast<std::size_t>(m->geom_bodyid[geom])] >= 0;
  };
  if (contact.exclude != 0 || contact.geom[0] < 0 || contact.geom[1] < 0) return std::nullopt;
  const bool first_is_arm = is_arm(contact.geom[0]);
  if (first_is_arm == is_arm(contact.geom[1])) return std::nullopt;
  return Touch{contact.geom[first_is_arm ? 0 : 1], contact.geom[first_is_arm ? 1 : 0]};
}

ArmContacts::Geom ArmContacts::geom(const mjModel* m, int geom) const noexcept {
  const int body = m->geom_bodyid[geom];
  const auto b = static_cast<std::size_t>(body);
  if (joints_up_to_body_[b] < 0)
    return {.is_guide = body == base_body_, .is_fixed = is_fixed(m, body)};
  return {.link = static_cast<int>(link_of(m, geom)), .arc_length = arc_length_[b]};
}

std::size_t ArmContacts::link_of(const mjModel* m, int geom) const noexcept {
  // What is mounted past the last link counts as a part of it.
  const auto link = static_cast<std::size_t>(m->geom_bodyid[geom] - first_link_);
  return std::min(link, touches_.size() - 1);
}

void ArmContacts::read(const mjModel* m, const mjData* d,
                       std::span<const double> link_force) noexcept {
  response_.clear();
  std::fill(touches_.begin(), touches_.end(), 0);
  for (int c = 0; c < d->ncon; ++c) {
    if (const auto at = touch(m, d->contact[c])) ++touches_[link_of(m, at->own)];
  }
  for (int c = 0; c < d->ncon; ++c) {
    const mjContact& contact = d->contact[c];
    const auto at = touch(m, contact);
    if (!at) continue;
    const Geom own = geom(m, at->own), other = geom(m, at->other);
    const auto link = static_cast<std::size_t>(own.link);
    response_.add(
        {.position = ConstVector3(contact.pos),
         // The frame's x axis points from the first geom to the second.
         .normal = (at->own == contact.geom[0] ? -1.0 : 1.0) * ConstVector3(contact.frame),
         .depth = -contact.dist,
         .force = link_force[link] / touches_[link],
         .arc_length = own.arc_length,
         .joints = joints_up_to_body_[static_cast<std::size_t>(m->geom_bodyid[at->own])],
         .is_guide = other.is_guide,
         .is_fixed = other.is_fixed});
  }
}

void ArmContacts::read_forces(const mjModel* m, const mjData* d,
                              std::span<double> link_force) const noexcept {
  std::fill(link_force.begin(), link_force.end(), 0.0);
  for (int c = 0; c < d->ncon; ++c) {
    const auto at = touch(m, d->contact[c]);
    if (!at) continue;
    mjtNum wrench[6];
    mj_contactForce(m, d, c, wrench);
    if (std::isfinite(wrench[0])) link_force[link_of(m, at->own)] += wrench[0];
  }
}

}  // namespace tendril
