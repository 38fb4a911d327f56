#include "tendril/model/snake/mjcf.hpp"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string_view>

#include "tendril/kinematics/rotation.hpp"
#include "tendril/model/mjcf_document.hpp"
#include "tendril/snake/gait.hpp"
#include "tendril/snake/snake_chain.hpp"

namespace tendril {

namespace names {
std::string snake_link(int j) { return fmt::format("link_{}", j); }
std::string snake_joint(int j) { return fmt::format("joint_{}", j); }
}  // namespace names

namespace {

/// Writes the elements of a snake; one function for each group of them.
class Writer {
 public:
  Writer(const SnakeDescription& snake, MjcfDocument& mjcf)
      : snake_(snake), mjcf_(mjcf), angles_(start_angles(snake)) {}

  void write(std::span<const std::string> sensors) {
    mjcf_.set_options(100);
    if (snake_.medium) write_medium(*snake_.medium, mjcf_.option);
    XmlNode& base = mjcf_.worldbody.add("body", {{"name", names::kBase}});
    mjcf_.add_controller(snake_.controller, base, snake_.text, sensors);
    chain(first_body(base));
    excludes();
    if (snake_.scales) scales(*snake_.scales);
    write_sensors(snake_.sensors, snake_.controller.plugin, mjcf_);
    mjcf_.declare_robot();
    if (snake_.start) mjcf_.keyframe = Keyframe::PositionsAndCommands;
  }

 private:
  [[nodiscard]] bool is_free() const { return snake_.base == SnakeBase::Free; }
  [[nodiscard]] bool is_universal() const { return snake_.joint == SnakeJoint::Universal; }

  /// Makes or adds the body that carries the first joint.
  XmlNode& first_body(XmlNode& base) {
    switch (snake_.base) {
      case SnakeBase::Free:
        return tail(base);
      case SnakeBase::Fixed:
        return pedestal(base);
      case SnakeBase::Carriage:
        break;
    }
    return carriage(base);
  }

  /// Makes the base the last link of a free snake.
  XmlNode& tail(XmlNode& base) {
    base.set("pos", {0, 0, snake_.radius});
    const Eigen::Isometry3d X_W0 = start_pose(snake_);
    const Eigen::Vector3d p = X_W0.translation();
    const Eigen::Quaterniond q(X_W0.linear());
    mjcf_.add_free_joint(base, {p.x(), p.y(), p.z(), q.w(), q.x(), q.y(), q.z()});
    link(0, base);
    return base;
  }

  /// Gives a fixed base a box under joint 1, without mass, only to be seen.
  XmlNode& pedestal(XmlNode& base) {
    const double radius = snake_.radius;
    base.add("geom", {{"name", names::kBase},
                      {"type", "box"},
                      {"pos", {-0.4 * radius, 0, 0}},
                      {"size", {0.4 * radius, 1.5 * radius, 1.5 * radius}},
                      {"mass", 0},
                      {"contype", 0},
                      {"conaffinity", 0},
                      {"rgba", "0.25 0.27 0.30 1"}});
    return base;
  }

  /// Adds a carriage that is fed along x.
  XmlNode& carriage(XmlNode& base) {
    const double feed = snake_.start ? snake_.start->feed : 0.0, radius = snake_.radius;
    XmlNode& body = base.add("body", {{"name", names::kCarriage}});
    add_carriage_inertia(body, snake_.carriage_mass);
    mjcf_.add_joint(body,
                    {{"name", names::kFeed},
                     {"type", "slide"},
                     {"axis", {1, 0, 0}},
                     {"range", {0, snake_.feed_limit}}},
                    feed);
    mjcf_.add_joint_servo(names::kFeed, snake_.feed_gain, snake_.feed_force_limit, feed)
        .set("dampratio", 1)
        .set("ctrlrange", {0, snake_.feed_limit});
    body.add("geom", {{"name", names::kCarriage},  // only to be seen
                      {"type", "box"},
                      {"pos", {0, 0, -1.3 * radius}},
                      {"size", {1.5 * radius, 1.2 * radius, 0.3 * radius}},
                      {"contype", 0},
                      {"conaffinity", 0},
                      {"rgba", "0.25 0.27 0.30 1"}});
    return body;
  }

  /// Adds the nested links to the body that carries the first joint.
  void chain(XmlNode& first) {
    first.add("site", {{"name", names::kTail}, {"size", 0.002}});
    XmlNode* body = &first;
    for (int k = 1; k <= snake_.link_count(); ++k) {
      body = &body->add(
          "body", {{"name", names::snake_link(k)}, {"pos", {snake_.link_length(k - 1), 0, 0}}});
      if (is_universal()) {
        joint(2 * k - 1, *body);
        joint(2 * k, *body);
      } else {
        joint(k, *body);
      }
      link(k, *body);
    }
    const double head = snake_.link_length(snake_.link_count());
    body->add("site", {{"name", names::kTip}, {"pos", {head, 0, 0}}, {"size", 0.002}});
    if (snake_.payload)
      add_payload(*body, {head, 0, 0}, snake_.payload->mass, snake_.payload->radius);
  }

  /// Adds joint j with its servo or motor.
  void joint(int j, XmlNode& body) {
    const std::string name = names::snake_joint(j);
    const double angle = angles_[static_cast<std::size_t>(j - 1)], limit = snake_.joint_limit;
    mjcf_.add_joint(body,
                    {{"name", name},
                     {"axis", j % 2 == 1 ? "0 0 1" : "0 -1 0"},
                     {"range", {-limit, limit}},
                     {"damping", snake_.joint_damping},
                     {"armature", snake_.armature}},
                    angle);
    if (snake_.joint_motors)
      mjcf_.add_motor(name, "joint", snake_.torque_limit, 0.0);
    else
      mjcf_.add_joint_servo(name, snake_.gain, snake_.torque_limit, angle)
          .set("dampratio", snake_.damping_ratio)
          .set("ctrlrange", {-limit, limit});
  }

  /// Adds what link k is made of, with the fluid that moves along.
  void link(int k, XmlNode& body) {
    double mass = snake_.link_mass;
    const double length = snake_.link_length(k);
    if (snake_.medium) {
      const double displaced = snake_.medium->displaced_mass(snake_.radius, length);
      write_buoyancy(*snake_.medium, mass, displaced, body);
      mass += snake_.medium->added_mass * displaced;
    }
    XmlNode& geom = body.add("geom", {{"name", names::snake_link(k)},
                                      {"mass", mass},
                                      {"friction", snake_.friction},
                                      {"condim", 3},
                                      {"contype", snake_.self_collision ? 3 : 1},
                                      {"conaffinity", snake_.self_collision ? 3 : 2},
                                      {"rgba", color(k)}});
    geom.set(stiff_contact());
    if (snake_.shape == LinkShape::Capsule) {
      geom.set("type", "capsule").set("fromto", {0, 0, 0, length, 0, 0}).set("size", snake_.radius);
    } else {
      geom.set("type", "box")
          .set("pos", {length / 2.0, 0, 0})
          .set("size", {length / 2.0, snake_.half_width, snake_.radius});
    }
    if (snake_.medium) add_fluid_geom(*snake_.medium, snake_.radius, length, 'x', body);
  }

  [[nodiscard]] const char* color(int k) const {
    if (k == snake_.link_count()) return "0.86 0.33 0.20 1";  // the head
    return k % 2 == 0 ? "0.16 0.44 0.71 1" : "0.25 0.58 0.55 1";
  }

  [[nodiscard]] static std::string body_name(int link) {
    return link == 0 ? names::kBase : names::snake_link(link);
  }

  /// Excludes neighbors, and links whose round ends overlap because those between are short.
  void excludes() {
    const double thickness = snake_.shape == LinkShape::Capsule ? 2.0 * snake_.radius : 0.0;
    const int first = is_free() ? 0 : 1;
    for (int k = first + 1; k <= snake_.link_count(); ++k) {
      double between = 0.0;
      for (int i = k - 1; i >= first && (i == k - 1 || between < thickness); --i) {
        mjcf_.exclude(body_name(i), names::snake_link(k));
        between += snake_.link_length(i);
      }
    }
  }

  void scales(const SnakeScales& scales) {
    for (int k = is_free() ? 0 : 1; k <= snake_.link_count(); ++k) {
      mjcf_.contact
          .add("pair", {{"geom1", scales.floor},
                        {"geom2", names::snake_link(k)},
                        {"condim", 3},
                        {"friction", {scales.along, scales.across, 0.005, 0.0001, 0.0001}}})
          .set(stiff_contact());
    }
  }

  const SnakeDescription& snake_;
  MjcfDocument& mjcf_;
  std::vector<double> angles_;  // of the joints at the start
};

}  // namespace

std::vector<double> start_angles(const SnakeDescription& snake) {
  const SnakeStart start = snake.start.value_or(SnakeStart{});
  Gait coil = standard_gait(GaitKind::Helix, snake.joints);
  std::vector<double> helix(static_cast<std::size_t>(snake.joints));
  if (start.coil_radius > 0.0) {
    coil.lag = lag_of_waves(start.coil_waves, snake.joints);
    coil.yaw_amplitude = coil.pitch_amplitude =
        helix_amplitude(start.coil_radius, coil.lag, snake.link_lengths.back(), snake.joints)
            .value_or(0.0);
    gait_angles(coil, {}, 0.0, helix);
  }
  std::vector<double> angles;
  for (int j = 1; j <= snake.joints; ++j) {
    const StartWave& wave = j % 2 == 1 ? start.yaw : start.pitch;
    double angle = helix[static_cast<std::size_t>(j - 1)];
    angle += wave.at(j, snake.joints);
    if (!start.angles.empty()) angle += start.angles[static_cast<std::size_t>(j - 1)];
    angles.push_back(std::clamp(angle, -snake.joint_limit, snake.joint_limit));
  }
  return angles;
}

Eigen::Isometry3d start_pose(const SnakeDescription& snake) {
  Eigen::Isometry3d X_W0 = Eigen::Isometry3d::Identity();
  if (snake.base != SnakeBase::Free) return X_W0;
  if (!snake.start) {
    X_W0.translation().z() = snake.radius;
    return X_W0;
  }
  const SnakeStart& start = *snake.start;
  const std::vector<double> angles = start_angles(snake);
  const SnakeChain chain = snake.kinematics();
  Eigen::Vector3d center = Eigen::Vector3d::Zero();  // of the body, or a point of the coil's axis
  X_W0.linear() = (Eigen::AngleAxisd(start.heading, Eigen::Vector3d::UnitZ()) *
                   Eigen::AngleAxisd(start.pitch_angle, Eigen::Vector3d::UnitY()) *
                   Eigen::AngleAxisd(start.roll, Eigen::Vector3d::UnitX()))
                      .toRotationMatrix();
  const std::vector<Eigen::Vector3d> middles = link_middles(chain, angles);
  if (start.coil_radius > 0.0) {
    const CylinderFit coil = fit_cylinder(middles);
    const Eigen::Matrix3d upright =
        rotation_between(coil.axis, Eigen::Vector3d::UnitZ()).toRotationMatrix();
    X_W0.linear() *= upright;
    center = X_W0 * coil.point;
  } else {
    for (const Eigen::Vector3d& p : middles)
      center += X_W0 * p / static_cast<double>(middles.size());
  }
  double lowest = std::numeric_limits<double>::infinity();
  std::vector<Eigen::Isometry3d> frames(angles.size() + 1);  // origins at the head ends
  snake_frames(chain, X_W0, angles, frames);
  for (std::size_t j = 0; j < frames.size(); ++j) {
    if (snake.link_lengths[j] == 0.0) continue;  // between the axes of a universal joint
    const Eigen::Matrix3d& R = frames[j].linear();
    const double down =
        snake.shape == LinkShape::Capsule
            ? snake.radius
            : snake.radius * std::abs(R(2, 2)) + snake.half_width * std::abs(R(2, 1));
    const Eigen::Vector3d tail = frames[j] * Eigen::Vector3d(-snake.link_lengths[j], 0.0, 0.0);
    lowest = std::min({lowest, frames[j].translation().z() - down, tail.z() - down});
  }
  X_W0.translation() = start.position - Eigen::Vector3d(center.x(), center.y(), lowest);
  X_W0.translate(Eigen::Vector3d(-snake.link_lengths.front(), 0.0, 0.0));  // to the tail end
  return X_W0;
}

void SnakeDescription::write(MjcfDocument& mjcf, std::span<const std::string> quantities) const {
  Writer(*this, mjcf).write(quantities);
}

std::string snake_mjcf(const SnakeDescription& snake, std::span<const std::string> sensors) {
  MjcfDocument mjcf("robot", snake.name);
  snake.write(mjcf, sensors);
  return mjcf.text();
}

}  // namespace tendril
