#include "tendril/model/snake_mjcf.hpp"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <string_view>

#include "tendril/kinematics/rotation.hpp"
#include "tendril/model/continuum_mjcf.hpp"
#include "tendril/model/medium_mjcf.hpp"
#include "tendril/model/mjcf_writer.hpp"
#include "tendril/snake/gait.hpp"
#include "tendril/snake/snake_chain.hpp"

namespace tendril {

namespace names {
std::string snake_link(int j) { return fmt::format("link_{}", j); }
std::string snake_joint(int j) { return fmt::format("joint_{}", j); }
}  // namespace names

namespace {

/// Writes the document; one function for each of its parts, in their order.
class Writer : MjcfWriter {
 public:
  explicit Writer(const SnakeDescription& snake) : snake_(snake) {}

  std::string document(std::span<const std::string> sensor_names) {
    constexpr int kIterations = 100;
    begin("robot", snake_.name, kIterations, "discrete", 0.002,
          snake_.medium ? fluid_options(*snake_.medium) : std::string());
    extension(snake_.controller, snake_.text);
    line("  <worldbody>");
    chain();
    line("  </worldbody>");
    contacts();
    actuators();
    sensors(snake_.controller, sensor_names);
    start();
    return end();
  }

 private:
  [[nodiscard]] bool is_free() const { return snake_.base == SnakeBase::Free; }

  /// The nested links. They are not indented: a chain of 400 would be wider than the screen.
  void chain() {
    if (is_free()) {
      line("    <body name=\"{}\" pos=\"0 0 {}\"{}>", names::kBase, snake_.radius, floats(0));
      controller_plugin(snake_.controller);
      line("      <freejoint/>");
      link_geom(0);
    } else {
      line("    <body name=\"{}\">", names::kBase);
      controller_plugin(snake_.controller);
      line("    <body name=\"{}\">", names::kCarriage);
      carriage_inertia(snake_.carriage_mass);
      line("      <joint name=\"{}\" type=\"slide\" axis=\"1 0 0\" range=\"0 {}\"/>", names::kFeed,
           snake_.feed_limit);
      line(  // only to be seen
          "      <geom name=\"{}\" type=\"box\" pos=\"0 0 -{}\" size=\"{} {} {}\" contype=\"0\" "
          "conaffinity=\"0\" rgba=\"0.25 0.27 0.30 1\"/>",
          names::kCarriage, 1.3 * snake_.radius, 1.5 * snake_.radius, 1.2 * snake_.radius,
          0.3 * snake_.radius);
    }
    line("      <site name=\"{}\" size=\"0.002\"/>", names::kTail);
    for (int j = 1; j <= snake_.joints; ++j) {
      line("      <body name=\"{}\" pos=\"{} 0 0\"{}>", names::snake_link(j), length(j - 1),
           floats(j));
      line(
          "        <joint name=\"{}\" axis=\"{}\" range=\"-{} {}\" damping=\"{}\" "
          "armature=\"{}\"/>",
          names::snake_joint(j), j % 2 == 1 ? "0 0 1" : "0 -1 0", snake_.joint_limit,
          snake_.joint_limit, snake_.joint_damping, snake_.armature);
      link_geom(j);
    }
    line("        <site name=\"{}\" pos=\"{} 0 0\" size=\"0.002\"/>", names::kTip,
         length(snake_.joints));
    raw("      ");
    for (int j = is_free() ? 0 : -1; j <= snake_.joints; ++j) raw("</body>");
    raw("\n");
  }

  [[nodiscard]] double length(int j) const {
    return snake_.link_lengths[static_cast<std::size_t>(j)];
  }

  void link_geom(int j) {
    const std::string place =
        snake_.shape == LinkShape::Capsule
            ? fmt::format("type=\"capsule\" fromto=\"0 0 0 {} 0 0\" size=\"{}\"",
                          number_text(length(j)), number_text(snake_.radius))
            : fmt::format("type=\"box\" pos=\"{0} 0 0\" size=\"{0} {1} {2}\"",
                          number_text(length(j) / 2.0), number_text(snake_.half_width),
                          number_text(snake_.radius));
    const bool head = j == snake_.joints;
    const char* color = head         ? "0.86 0.33 0.20 1"
                        : j % 2 == 0 ? "0.16 0.44 0.71 1"
                                     : "0.25 0.58 0.55 1";
    const int affinity = snake_.self_collision ? 3 : 2, type = snake_.self_collision ? 3 : 1;
    line(
        "        <geom name=\"{}\" {} mass=\"{}\" friction=\"{}\" condim=\"3\" contype=\"{}\" "
        "conaffinity=\"{}\" {} rgba=\"{}\"/>",
        names::snake_link(j), place, mass(j), snake_.friction, type, affinity, kStiffContact,
        color);
    if (snake_.medium) {
      line("        <geom pos=\"{} 0 0\" {}/>", length(j) / 2.0,
           fluid_geom(*snake_.medium, snake_.radius, length(j), false));
    }
  }

  /// Of a link, with that of the fluid that moves along.
  [[nodiscard]] double mass(int j) const {
    if (!snake_.medium) return snake_.link_mass;
    return snake_.link_mass +
           snake_.medium->added_mass * displaced_mass(*snake_.medium, snake_.radius, length(j));
  }
  [[nodiscard]] std::string floats(int j) const {
    if (!snake_.medium) return {};
    const double fluid = displaced_mass(*snake_.medium, snake_.radius, length(j));
    return fmt::format(" gravcomp=\"{}\"",
                       number_text(buoyancy(*snake_.medium, snake_.link_mass, fluid)));
  }

  void contacts() {
    line("  <contact>");
    for (int j = is_free() ? 1 : 2; j <= snake_.joints; ++j) {
      exclude(j == 1 ? names::kBase : names::snake_link(j - 1), names::snake_link(j));
    }
    if (snake_.scales) {
      for (int j = is_free() ? 0 : 1; j <= snake_.joints; ++j) {
        line(
            "    <pair geom1=\"{}\" geom2=\"{}\" condim=\"3\" friction=\"{} {} 0.005 0.0001 "
            "0.0001\" {}/>",
            xml_escaped(snake_.scales->floor), names::snake_link(j), snake_.scales->along,
            snake_.scales->across, kStiffContact);
      }
    }
    line("  </contact>");
  }

  void actuators() {
    line("  <actuator>");
    if (!is_free()) {
      position_servo(
          names::kFeed, snake_.feed_gain, snake_.feed_force_limit,
          fmt::format("dampratio=\"1\" ctrlrange=\"0 {}\"", number_text(snake_.feed_limit)));
    }
    const std::string range =
        fmt::format("dampratio=\"{0}\" ctrlrange=\"-{1} {1}\"", number_text(snake_.damping_ratio),
                    number_text(snake_.joint_limit));
    for (int j = 1; j <= snake_.joints; ++j) {
      if (snake_.joint_motors) {
        line(
            "    <motor name=\"{0}\" joint=\"{0}\" ctrlrange=\"-{1} {1}\" forcerange=\"-{1} "
            "{1}\"/>",
            names::snake_joint(j), snake_.torque_limit);
      } else {
        position_servo(names::snake_joint(j), snake_.gain, snake_.torque_limit, range);
      }
    }
    line("  </actuator>");
  }

  /// Where the tail's frame is at the start of a free snake.
  [[nodiscard]] Eigen::Isometry3d start_pose(const std::vector<double>& angles) const {
    const SnakeStart& start = *snake_.start;
    Eigen::Isometry3d X_W0 = Eigen::Isometry3d::Identity();
    const SnakeChain chain = snake_.kinematics();
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
      const Eigen::Matrix3d& R = frames[j].linear();
      const double down =
          snake_.shape == LinkShape::Capsule
              ? snake_.radius
              : snake_.radius * std::abs(R(2, 2)) + snake_.half_width * std::abs(R(2, 1));
      const Eigen::Vector3d tail = frames[j] * Eigen::Vector3d(-snake_.link_lengths[j], 0.0, 0.0);
      lowest = std::min({lowest, frames[j].translation().z() - down, tail.z() - down});
    }
    X_W0.translation() = start.position - Eigen::Vector3d(center.x(), center.y(), lowest);
    X_W0.translate(Eigen::Vector3d(-snake_.link_lengths.front(), 0.0, 0.0));  // to the tail end
    return X_W0;
  }

  void start() {
    if (!snake_.start) return;
    const std::vector<double> angles = start_angles(snake_);
    std::string qpos, ctrl;
    const auto add = [](std::string& numbers, double value) {
      fmt::format_to(std::back_inserter(numbers), "{}{}", numbers.empty() ? "" : " ",
                     number_text(value));
    };
    if (is_free()) {
      const Eigen::Isometry3d X_W0 = start_pose(angles);
      const Eigen::Quaterniond q(X_W0.linear());
      for (const double value : {X_W0.translation().x(), X_W0.translation().y(),
                                 X_W0.translation().z(), q.w(), q.x(), q.y(), q.z()}) {
        add(qpos, value);
      }
    } else {
      add(qpos, snake_.start->feed);
      add(ctrl, snake_.start->feed);
    }
    for (const double angle : angles) {
      add(qpos, angle);
      add(ctrl, snake_.joint_motors ? 0.0 : angle);
    }
    keyframe(qpos, ctrl);
  }

  const SnakeDescription& snake_;
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
    angle += wave.amplitude *
             std::sin(wave.phase - 2.0 * std::numbers::pi * wave.waves * j / snake.joints);
    if (!start.angles.empty()) angle += start.angles[static_cast<std::size_t>(j - 1)];
    angles.push_back(std::clamp(angle, -snake.joint_limit, snake.joint_limit));
  }
  return angles;
}

std::string snake_mjcf(const SnakeDescription& snake, std::span<const std::string> sensors) {
  return Writer(snake).document(sensors);
}

}  // namespace tendril
