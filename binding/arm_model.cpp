#include "binding/arm_model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tendril/model/continuum/drives.hpp"
#include "tendril/model/continuum/links.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

const Mechanism::Joint& joint_at(const Mechanism& m, int index) {
  return m.joints[static_cast<std::size_t>(index)];
}
const Mechanism::Actuator& actuator_at(const Mechanism& m, int index) {
  return m.actuators[static_cast<std::size_t>(index)];
}

Eigen::Isometry3d pose(const Vector3d& position, const Eigen::Quaterniond& orientation) {
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  X.translation() = position;
  X.linear() = orientation.normalized().toRotationMatrix();
  return X;
}

/// dl/dq of the joints of an arm, in its straight pose: of a tendon over joints its coefficients,
/// of one through sites what its straight pieces past each joint do.
std::vector<double> lengths_per_joint(const Mechanism& m, const Mechanism::Tendon& tendon,
                                      std::span<const int> joints) {
  const auto position = [&](int body) {
    Vector3d p = Vector3d::Zero();  // the frames of straight links are parallel
    for (; body > 0; body = m.bodies[static_cast<std::size_t>(body)].parent)
      p += m.bodies[static_cast<std::size_t>(body)].position;
    return p;
  };
  const auto site_position = [&](const Mechanism::Site& site) -> Vector3d {
    return position(site.body) + site.position;
  };
  std::vector<double> lengths(joints.size(), 0.0);
  for (std::size_t w = 0; w < tendon.path.size(); ++w) {
    const Mechanism::Tendon::Point& point = tendon.path[w];
    if (!point.is_joint && w == 0) continue;
    for (std::size_t i = 0; i < joints.size(); ++i) {
      if (point.is_joint) {
        if (point.index == joints[i]) lengths[i] = point.coefficient;
        continue;
      }
      // Consecutive sites lie on one body, or before and after the joints of the second one's.
      const Mechanism::Site& site = m.sites[static_cast<std::size_t>(point.index)];
      const Mechanism::Site& before = m.sites[static_cast<std::size_t>(tendon.path[w - 1].index)];
      const Mechanism::Joint& joint = joint_at(m, joints[i]);
      if (joint.body != site.body || before.body == site.body) continue;
      const Vector3d end = site_position(site);
      const Vector3d direction = (end - site_position(before)).normalized();
      lengths[i] = direction.dot(joint.axis.cross(end - position(site.body)));
    }
  }
  return lengths;
}

/// Collects the elements of an arm in a mechanism.
class Builder {
 public:
  Builder(const Mechanism& mechanism, const ContinuumDescription& description, ArmModel& model)
      : m_(mechanism), description_(description), robot_(description.kinematics()), model_(model) {}

  ArmMechanics mechanics(ArmMechanics::Options options) {
    options.guide_length = description_.guide.length;
    add_sections();
    SectionTurns turns = add_turns();
    SectionTwists twists = add_twists();
    const ArmBaseJoint feed = add_base(robot_.base().feed_limit > 0.0, names::kFeed, model_.feed);
    const ArmBaseJoint spin = add_base(robot_.base().spin, names::kSpin, model_.spin);
    std::vector<ArmTendon> tendons;
    for (const Tendon& tendon : description_.tendons) tendons.push_back(add_tendon(tendon));
    for (const Chamber& chamber : description_.chambers) tendons.push_back(add_chamber(chamber));
    return {std::move(coordinates_),
            feed,
            spin,
            std::move(servos_),
            options,
            std::move(tendons),
            std::move(turns),
            std::move(twists)};
  }

 private:
  int add_servo(int actuator, double passive_damping) {
    model_.actuators.push_back(actuator);
    servos_.push_back(
        servo_of(actuator_at(m_, actuator), m_.numerical_damping_time, passive_damping));
    return static_cast<int>(servos_.size()) - 1;
  }

  ArmBaseJoint add_base(bool is_there, const char* name, int& joint) {
    if (!is_there) return {};
    joint = m_.joint(name);
    return {.servo = add_servo(m_.actuator(name), 0.0),
            .mass = m_.weighing_mass(joint_at(m_, joint).body)};
  }

  void add_sections() {
    double section_start = 0.0;
    for (int i = 0; i < robot_.section_count(); ++i) {
      const auto index = static_cast<std::size_t>(i);
      const Section& section = robot_.section(i);
      const SectionPhysics& physics = description_.physics[index];
      const LinkLayout layout = link_layout(description_, index);
      const std::size_t first = coordinates_.size();
      const bool passive = is_passive(description_, index);
      const auto add = [&](char axis, const Drive& drive, const std::vector<double>& fractions) {
        coordinates_.push_back(coordinate(i + 1, axis, drive, passive && axis != 'z', fractions));
      };
      for (const char axis : {'y', 'x'}) {  // u, v
        const std::span<const char> axes = bend_axes(description_.sections[index]);
        if (std::find(axes.begin(), axes.end(), axis) != axes.end())
          add(axis, physics.bend, layout.bend_fraction);
        else
          coordinates_.emplace_back();  // without joints
      }
      if (section.is_extensible()) {
        add('z', physics.length_drive, layout.length);
        coordinates_.back().offset = section.variable_length() / 2;
      }
      const double rest_length = section.length() + section.variable_length() / 2.0;
      for (std::size_t k = first; k < coordinates_.size(); ++k) {
        double start = section_start;
        auto joint = coordinates_[k].joints.begin();
        for (int j = 0; j < physics.links; ++j) {
          const double length = layout.length[static_cast<std::size_t>(j)] * rest_length;
          if (joint != coordinates_[k].joints.end() && joint->link == j) {
            joint->start = start;
            joint->length = length;
            ++joint;
          }
          start += length;
        }
      }
      section_start += rest_length;
    }
  }

  /// Coordinate of a section, from 1: the sum of its hinges about x or y, or of its slides, 'z'.
  /// @param fractions  of each link, of the coordinate
  ArmCoordinate coordinate(int section, char axis, const Drive& drive, bool is_passive,
                           std::span<const double> fractions) {
    ArmCoordinate coordinate;
    coordinate.sign = axis == 'x' ? -1.0 : 1.0;
    coordinate.is_slide = axis == 'z';
    coordinate.is_passive = is_passive;
    coordinate.has_tendons = !is_driven(drive) && !is_passive;
    coordinate.is_motor = is_motor(drive);
    const bool has_servo = is_driven(drive);
    const int of_section = has_servo
                               ? m_.find_actuator(coordinate.is_slide ? names::length(section)
                                                                      : names::bend(section, axis))
                               : -1;
    double compliance = 0.0;
    int j = 0;  // link
    for (const double fraction : fractions) {
      ++j;
      if (fraction == 0.0) continue;  // a rigid link has no hinges
      const std::string name =
          coordinate.is_slide ? names::slide(section, j) : names::hinge(section, j, axis);
      const int index = m_.joint(name);
      const Mechanism::Joint& joint = joint_at(m_, index);
      const double damping = m_.joint_damping(index);
      compliance += 1.0 / damping;
      ArmJoint& bound =
          coordinate.joints.emplace_back(ArmJoint{.fraction = fraction,
                                                  .mass = m_.weighing_mass(joint.body),
                                                  .stiffness = joint.stiffness,
                                                  .rest = joint.rest,
                                                  .link = j - 1,
                                                  .chain_position = static_cast<double>(index)});
      if (of_section < 0 && has_servo) bound.servo = add_servo(m_.actuator(name), damping);
      model_.joints.push_back(index);
    }
    if (of_section >= 0) {
      const int tendon = actuator_at(m_, of_section).tendon;
      const double damping =
          tendon < 0 ? 0.0 : m_.tendons[static_cast<std::size_t>(tendon)].damping;
      coordinate.servo = add_servo(of_section, 1.0 / compliance + damping);
    }
    if (compliance > 0.0) coordinate.damping = 1.0 / compliance;
    return coordinate;
  }

  SectionTurns add_turns() {
    if (robot_.last_turning() < 0) return {};
    std::vector<TurningSection> sections;
    for (int i = 0; i < robot_.section_count(); ++i) {
      TurningSection section{.bend = robot_.coordinate_index(i)};
      if (robot_.section(i).turns()) {
        const std::string name = names::turn(i + 1);
        const int joint = m_.joint(name);
        model_.turns.push_back(joint);
        section.servo = add_servo(m_.actuator(name), m_.joint_damping(joint));
        section.mass = m_.weighing_mass(joint_at(m_, joint).body);
      }
      sections.push_back(section);
    }
    return SectionTurns(std::move(sections));
  }

  SectionTwists add_twists() {
    std::vector<TwistingSection> twists(static_cast<std::size_t>(robot_.section_count()));
    for (int i = 0; i < robot_.section_count(); ++i)
      twists[static_cast<std::size_t>(i)].bend = robot_.coordinate_index(i);
    for (const Link& link : chain_links(description_)) {
      if (!link.has_twist()) continue;
      const int joint = m_.joint(names::twist(link.section, link.index));
      model_.twists.push_back(joint);
      twists[static_cast<std::size_t>(link.section - 1)].hinges.push_back(
          {.mass = m_.weighing_mass(joint_at(m_, joint).body),
           .stiffness = joint_at(m_, joint).stiffness,
           .damping = m_.joint_damping(joint)});
    }
    if (model_.twists.empty()) return {};
    return SectionTwists(std::move(twists));
  }

  const Mechanism::Tendon& add_elements(const std::string& name) {
    const int tendon = m_.tendon(name);
    model_.tendons.push_back(tendon);
    model_.actuators.push_back(m_.actuator(name));
    return m_.tendons[static_cast<std::size_t>(tendon)];
  }

  ArmTendon add_tendon(const Tendon& tendon) {
    const Mechanism::Tendon& element = add_elements(tendon.name);
    const Mechanism::Actuator& actuator = actuator_at(m_, model_.actuators.back());
    ArmTendon bound{.joints = lengths_per_joint(m_, element, model_.joints),
                    .takes_length = tendon.command == TendonCommand::Length,
                    .min_tension = tendon.pretension,
                    .max_tension = actuator.force_range ? (*actuator.force_range)[1] : 0.0};
    if (bound.takes_length) {
      bound.stiffness = -actuator.bias[1];
      bound.offset = actuator.bias[0] + bound.stiffness * element.length;
      bound.damping = m_.numerical_damping_time * bound.stiffness - actuator.bias[2];
    }
    return bound;
  }

  ArmTendon add_chamber(const Chamber& chamber) {
    const Mechanism::Tendon& element = add_elements(chamber.name);
    const Mechanism::Actuator& actuator = actuator_at(m_, model_.actuators.back());
    ArmTendon bound{.joints = lengths_per_joint(m_, element, model_.joints), .takes_length = false};
    bound.gain = -actuator.gear * actuator.gain[0];
    if (actuator.is_affine) bound.gain_slope = -actuator.gear * actuator.gear * actuator.gain[1];
    const auto [low, high] = std::minmax(
        {bound.gain * actuator.command_range[0], bound.gain * actuator.command_range[1]});
    bound.limit = bound.min_tension = low;
    bound.max_tension = high;
    bound.time_constant = chamber.time_constant;
    return bound;
  }

  const Mechanism& m_;
  const ContinuumDescription& description_;
  ContinuumRobot robot_;
  ArmModel& model_;
  std::vector<ArmCoordinate> coordinates_;
  std::vector<Servo> servos_;
};

}  // namespace

ArmModel::ArmModel(const Mechanism& mechanism, const ContinuumDescription& description,
                   ArmMechanics::Options options)
    : tip(mechanism.site(names::kTip)) {
  mechanics = Builder(mechanism, description, *this).mechanics(std::move(options));
}

ArmChain ArmModel::chain(const Mechanism& m) const {
  return chain_of(m, joints, tip, feed, spin, turns, twists);
}

ArmChain chain_of(const Mechanism& m, std::span<const int> coordinates, int tip, int feed, int spin,
                  std::span<const int> turns, std::span<const int> twists) {
  using Role = ArmChain::Role;
  std::vector<ArmChain::Body> bodies;
  for (const Mechanism::Body& body : m.bodies)
    bodies.push_back({.parent = body.parent,
                      .X_PB = pose(body.position, body.orientation),
                      .joints = {},
                      .mass = body.mass * (1.0 - body.gravity_compensation),
                      .center = body.center});
  for (std::size_t j = 0; j < m.joints.size(); ++j) {
    const Mechanism::Joint& joint = m.joints[j];
    ArmChain::Joint& out = bodies[static_cast<std::size_t>(joint.body)].joints.emplace_back(
        ArmChain::Joint{.is_slide = joint.is_slide,
                        .axis = joint.axis,
                        .anchor = joint.anchor,
                        .zero = joint.zero});
    const int index = static_cast<int>(j);
    const auto is_in = [&](std::span<const int> list, Role role) {
      const auto at = std::ranges::find(list, index);
      if (at == list.end()) return false;
      out.role = role;
      out.index = static_cast<int>(at - list.begin());
      return true;
    };
    if (is_in(coordinates, Role::Coordinate) || is_in(turns, Role::Turn) ||
        is_in(twists, Role::Twist))
      continue;
    if (index == feed) {
      out.role = Role::Feed;
    } else if (index == spin) {
      out.role = Role::Spin;
    }
  }
  const Mechanism::Site& site = m.sites[static_cast<std::size_t>(tip)];
  return {std::move(bodies), site.body, pose(site.position, site.orientation)};
}

Eigen::VectorXd ArmModel::start(const Mechanism& m) const {
  const std::span<const ArmCoordinate> coordinates = mechanics.coordinates();
  Eigen::VectorXd q(static_cast<Eigen::Index>(coordinates.size()));
  auto joint = joints.begin();
  for (std::size_t k = 0; k < coordinates.size(); ++k) {
    double& value = q[static_cast<Eigen::Index>(k)];
    value = coordinates[k].offset;
    for (std::size_t j = 0; j < coordinates[k].joints.size(); ++j)
      value += coordinates[k].sign * joint_at(m, *joint++).start;
  }
  return q;
}

Servo servo_of(const Mechanism::Actuator& actuator, double numerical_damping_time,
               double passive_damping) {
  Servo servo{.gain = actuator.gain[0],
              .stiffness = -actuator.bias[1],
              .damping = numerical_damping_time * -actuator.bias[1] - actuator.bias[2],
              .passive_damping = passive_damping,
              .offset = actuator.bias[0]};
  if (actuator.force_range) {
    servo.min_force = (*actuator.force_range)[0];
    servo.max_force = (*actuator.force_range)[1];
  }
  return servo;
}

}  // namespace tendril
