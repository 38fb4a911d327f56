#include "tendril/model/plausibility.hpp"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tendril/model/continuum/tendon_statics.hpp"
#include "tendril/notice.hpp"

namespace tendril {
namespace {

/// Densities between which a body can be made [kg/m^3]: of the lightest structural foams, and of
/// osmium. A length in mm or a mass in g, a factor of 1000, is outside for every material.
constexpr double kLightest = 10.0, kHeaviest = 22600.0;
/// Young's moduli between which a rod can be made [Pa]: of the softest gels, and of diamond.
constexpr double kSoftest = 10.0, kStiffest = 1.1e12;
/// Largest pressures between which soft actuators work [Pa]: above that of a breath, below that of
/// hydraulics. One in kPa, bar or MPa is outside.
constexpr double kBreath = 1e3, kHydraulics = 1e8;
/// The least that a file is believed to mean as a material's.
constexpr double kSoftestMaterial = 1000.0;
constexpr const char *kLighter = "less than any foam", *kHeavier = "more than any metal";
/// Damping times of servos and materials [s].
constexpr double kLongestDamping = 1.0;
constexpr double kLongestLag = 10.0;  // of a pressure [s]
constexpr double kTurn = 2.0 * std::numbers::pi;
/// Angular speed of drives, three turns in a second [rad/s].
constexpr double kFastestDrive = 3.0 * kTurn;
/// What a robot travels, feeds and carries, in its lengths and masses.
constexpr double kLongestTravel = 200.0, kLongestFeed = 100.0, kFastestTravel = 20.0,
                 kHeaviestLoad = 10.0;

class PlausibilityWarnings {
 public:
  explicit PlausibilityWarnings(double gravity) : gravity_(gravity) {}

  void operator()(const ContinuumDescription& robot) {
    sensors(robot);
    double weight = 0.0, moment = 0.0;  // of what is past a section's start, held horizontally
    std::vector<double> moments(robot.sections.size());
    for (std::size_t i = robot.sections.size(); i-- > 0;) {
      const double length = rest_length(robot.sections[i]), own = gravity_ * robot.physics[i].mass;
      moment += weight * length + own * length / 2.0;
      weight += own;
      moments[i] = moment;
    }
    for (std::size_t i = 0; i < robot.sections.size(); ++i) {
      const std::string name = fmt::format("section {}", i + 1);
      if (!thickness(name, robot.physics[i].radius.largest(), rest_length(robot)))
        section(name, robot.sections[i], robot.physics[i], moments[i]);
      flag(name, "damping_time", robot.physics[i].damping_time, "s", longest_damping(robot), "ms");
    }
    tendons(robot);
    loads(robot);
  }

  void operator()(const SnakeDescription& snake) {
    sensors(snake);
    links(snake);
    if (snake.start) start(*snake.start, snake.surroundings().reach);
  }

  void operator()(const MobileDescription& robot) {
    sensors(robot);
    const PlatformPhysics& platform = robot.platform;
    const MobileRobotParameters& size = robot.parameters;
    density("platform", "mass", platform.mass, size.platform_length,
            size.platform_width * size.platform_height, "length", "its width and height");
    flag("platform", "damping_time", platform.damping_time, "s", kLongestDamping, "ms");
    flag("platform", "speed_limit", robot.speeds.platform_speed, "m/s",
         kFastestTravel * size.platform_length, "mm/s");
    flag("platform", "turn_speed_limit", robot.speeds.turn_speed, "rad/s", kFastestDrive, "deg/s");
    if (robot.start) {
      place("start", "heading", robot.start->base.heading);
      flag("start", "x", robot.start->base.x, "m", kLongestTravel * size.platform_length, "mm");
      flag("start", "y", robot.start->base.y, "m", kLongestTravel * size.platform_length, "mm");
    }
    if (robot.mounted) {
      (*this)(robot.mounted->robot);
      return;
    }
    flag("arm", "speed_limit", robot.speeds.joint_speed, "rad/s", kFastestDrive, "deg/s");
    for (std::size_t i = 0; i < robot.links.size(); ++i) {
      const std::string name = fmt::format("link {}", i + 1);
      const ArmPartPhysics& link = robot.links[i];
      const double length = size.links[i].length;
      flag(name, "damping_time", link.joint.damping_time, "s", kLongestDamping, "ms");
      if (!thickness(name, link.radius, robot.surroundings().reach))
        density(name, "mass", link.mass, length, std::numbers::pi * link.radius * link.radius,
                "length");
    }
  }

  void operator()(const ShellDescription& shell) {
    constexpr double kLargest = 10.0;   // [m]
    constexpr double kThickWall = 0.1;  // of the whole shell
    Eigen::AlignedBox3d box;
    for (const Eigen::Vector3d& p : shell.mesh.vertices) box.extend(p);
    const double size = box.diagonal().norm();
    if (size <= kLargest && shell.wall_thickness <= kThickWall * size) return;
    say("implausible-size",
        fmt::format("the mesh is {:.3g} m across, and its wall_thickness {:.3g} m: must scale be "
                    "{}?",
                    size, shell.wall_thickness,
                    size > kLargest ? "0.001, for a file in mm" : "larger"));
  }

  template <class Other>
  void operator()(const Other& /*model*/) {}

  std::vector<std::string> lines;

 private:
  void say(NoticeCode code, const std::string& text) { lines.push_back(notice_text(code, text)); }

  template <class Robot>
  void sensors(const Robot& robot) {
    if (robot.sensors.empty() || !robot.controller.plugin.empty()) return;
    say("sensors-not-read",
        fmt::format("sensor {}: the robot has no controller: the model has the ideal sensors, and "
                    "no readings with noise, rate or delay",
                    robot.sensors.front().name));
  }

  /// Adds a line for a number whose size is above what is plausible; tells whether it is.
  bool flag(const std::string& name, const char* key, double value, const char* unit, double most,
            const char* instead) {
    if (std::abs(value) <= most) return false;
    say("implausible-size",
        fmt::format("{}: {} = {:.6g} {}, more than {:.3g} {}: is the unit {}, not {}?", name, key,
                    value, unit, most, unit, unit, instead));
    return true;
  }

  /// A time that damps the slowest oscillation of an arm, that of a beam of its softest section,
  /// twice as much as critically.
  static double longest_damping(const ContinuumDescription& robot) {
    constexpr double kFirstMode = 3.516;  // of a clamped beam
    double mass = 0.0, stiffness = std::numeric_limits<double>::infinity();
    for (const SectionPhysics& physics : robot.physics) {
      mass += physics.mass;
      stiffness = std::min(stiffness, physics.bending_stiffness);
    }
    const double length = rest_length(robot);
    const double rate = kFirstMode * std::sqrt(stiffness / (mass * std::pow(length, 3)));
    return std::max(kLongestDamping, 4.0 / rate);
  }

  /// An angle of a place, of which a turn and more is the same.
  void place(const std::string& name, const char* key, double angle) {
    flag(name, key, angle, "rad", kTurn * (1.0 + 1e-9), "degrees");
  }

  /// A body that is thicker than the whole robot is long.
  bool thickness(const std::string& name, double radius, double length) {
    if (radius <= length) return false;
    say("thicker-than-long",
        fmt::format("{}: radius = {:.6g} m, {:.3g} times the robot's length of {:.3g} m: is the "
                    "unit m, not mm?",
                    name, radius, radius / length, length));
    return true;
  }

  void start(const SnakeStart& start, double length) {
    const std::string name = "start";
    place(name, "heading", start.heading);
    place(name, "roll", start.roll);
    place(name, "pitch_angle", start.pitch_angle);
    flag(name, "phase of yaw", start.yaw.phase, "rad", 2.0 * kTurn, "degrees");
    flag(name, "phase of pitch", start.pitch.phase, "rad", 2.0 * kTurn, "degrees");
    for (const double x : start.position)
      if (flag(name, "position", x, "m", kLongestTravel * length, "mm")) break;
  }

  void links(const SnakeDescription& snake) {
    if (thickness("links", snake.radius, snake.surroundings().reach)) return;
    const double width = snake.shape == LinkShape::Box ? 2.0 * snake.half_width
                                                       : std::numbers::pi / 2.0 * snake.radius;
    for (std::size_t j = 0; j < snake.link_lengths.size(); ++j) {
      const double length = snake.link_lengths[j];
      if (length > 0.0 && density("links", "link_mass", snake.link_mass, length,
                                  width * 2.0 * snake.radius, "link_length"))
        return;
    }
  }

  void section(const std::string& name, const SectionParameters& section,
               const SectionPhysics& physics, double moment) {
    const double length = rest_length(section);
    material(name, section, physics);
    if (!is_driven(physics.bend)) return;
    const double limit = limit_of(physics.bend);
    const double bend = limit * length / physics.bending_stiffness;
    if (bend < section.bend_angle_limit) {
      say("bend-limit-not-held",
          fmt::format(
              "{}: can hold {:.3g} of its bend_limit of {:.3g} rad: bend_torque_limit = {:.3g} N m",
              name, bend, section.bend_angle_limit, limit));
    }
    if (moment > limit) {
      say("weight-not-held",
          fmt::format("{}: cannot be held out level: its weight and that of the sections after it "
                      "need {:.3g} N m, bend_torque_limit = {:.3g} N m",
                      name, moment, limit));
    }
  }

  /// Density and Young's modulus, given or made up by mass, stiffness and radius.
  void material(const std::string& name, const SectionParameters& section,
                const SectionPhysics& physics) {
    if (physics.density && !(*physics.density >= kLightest && *physics.density <= kHeaviest)) {
      say("implausible-material",
          fmt::format("{}: density = {:.6g} kg/m^3, {}: is the unit kg/m^3?", name,
                      *physics.density, *physics.density < kLightest ? kLighter : kHeavier));
    }
    if (physics.youngs_modulus &&
        !(*physics.youngs_modulus >= kSoftestMaterial && *physics.youngs_modulus <= kStiffest)) {
      say("implausible-material", fmt::format("{}: youngs_modulus = {:.6g} Pa, {}: is the unit Pa?",
                                              name, *physics.youngs_modulus,
                                              *physics.youngs_modulus < kSoftestMaterial
                                                  ? "less than any gel that keeps its shape"
                                                  : "more than diamond"));
    }
    const double radius = physics.radius.at(0.5);
    const double area = std::numbers::pi * radius * radius;
    if (!physics.density &&
        density(name, "mass", physics.mass, rest_length(section), area, "length"))
      return;
    if (!physics.youngs_modulus) modulus(name, physics);
  }

  void tendons(const ContinuumDescription& robot) {
    for (const Tendon& tendon : robot.tendons) {
      const std::string name = "tendon " + tendon.name;
      place(name, "angle", tendon.route.angle);
      flag(name, "damping_time", tendon.damping_time, "s", kLongestDamping, "ms");
      for (int i = 0; i <= tendon.route.section; ++i) {
        const double radius = robot.physics[static_cast<std::size_t>(i)].radius.largest();
        const double farthest = std::max(tendon.route.base_distance, tendon.route.end_distance);
        if (farthest <= radius) continue;
        say("tendon-outside-body",
            fmt::format("tendon {}: distance = {:.3g} m from the backbone, outside section {}, "
                        "whose radius is {:.3g} m{}",
                        tendon.name, farthest, i + 1, radius,
                        farthest > rest_length(robot) ? ": is the unit m, not mm?" : ""));
        break;
      }
    }
    for (const Chamber& one : robot.chambers) chamber(one);
    if (const std::optional<int> section = section_without_drive(robot)) {
      say("section-without-drive",
          fmt::format("section {}: has no servo, and its tendons or chambers cannot drive it in "
                      "every direction",
                      *section + 1));
    }
  }

  /// What the arm feeds and carries.
  void loads(const ContinuumDescription& robot) {
    flag("base", "feed", robot.base.feed_limit, "m", kLongestFeed * rest_length(robot), "mm");
    const auto* const payload = robot.part<Payload>();
    if (payload == nullptr) return;
    double mass = 0.0;
    for (const SectionPhysics& physics : robot.physics) mass += physics.mass;
    if (payload->mass > kHeaviestLoad * mass)
      say("payload-heavy",
          fmt::format("tip: payload = {:.4g} kg, {:.3g} times the arm's mass ({:.3g} kg): is the "
                      "unit kg, not g?",
                      payload->mass, payload->mass / mass, mass));
  }

  void chamber(const Chamber& chamber) {
    const std::string name = "chamber " + chamber.name;
    place(name, "angle", chamber.route.angle);
    flag(name, "time_constant", chamber.time_constant, "s", kLongestLag, "ms");
    const double pressure = chamber.max_pressure;
    if (pressure >= kBreath && pressure <= kHydraulics) return;
    say("implausible-pressure",
        fmt::format("chamber {}: max_pressure = {:.6g} Pa, {}, makes {:.3g} N: is the unit Pa?",
                    chamber.name, pressure,
                    pressure < kBreath ? "less than a breath" : "more than hydraulics",
                    pressure * std::abs(chamber.tension_per_pressure())));
  }

  bool density(const std::string& name, const char* mass_key, double mass, double length,
               double area, const char* length_key, const char* across = "the radius") {
    const double value = mass / (length * area);
    if (value >= kLightest && value <= kHeaviest) return false;
    say("implausible-material",
        fmt::format("{}: {} = {:.6g} kg, {} = {:.6g} m and {} make {:.3g} kg/m^3, {}: are the "
                    "units kg and m?",
                    name, mass_key, mass, length_key, length, across, value,
                    value < kLightest ? kLighter : kHeavier));
    return true;
  }

  void modulus(const std::string& name, const SectionPhysics& physics) {
    const double value =
        4.0 * physics.bending_stiffness / (std::numbers::pi * std::pow(physics.radius.at(0.5), 4));
    if (value >= kSoftest && value <= kStiffest) return;
    say("implausible-material",
        fmt::format("{}: bending_stiffness = {:.6g} N m^2 and the radius make a Young's modulus of "
                    "{:.3g} Pa, "
                    "{}: is the unit N m^2?",
                    name, physics.bending_stiffness, value,
                    value < kSoftest ? "less than any gel" : "more than diamond"));
  }

  double gravity_;
};

}  // namespace

std::vector<std::string> plausibility(const ModelDescription& model, double gravity) {
  PlausibilityWarnings plausibility(gravity);
  std::visit(plausibility, model);
  return std::move(plausibility.lines);
}

}  // namespace tendril
