#include "tendril/model/continuum_mjcf.hpp"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <span>
#include <string_view>

#include "tendril/model/medium_mjcf.hpp"
#include "tendril/model/mjcf_writer.hpp"
#include "tendril/model/tendon_mjcf.hpp"
#include "tendril/model_error.hpp"

namespace tendril {

namespace names {
std::string section(int i) { return fmt::format("s{}", i); }
std::string link(int i, int j) { return fmt::format("s{}_l{}", i, j); }
std::string hinge(int i, int j, char axis) { return fmt::format("s{}_l{}_{}", i, j, axis); }
std::string twist(int i, int j) { return fmt::format("s{}_l{}_twist", i, j); }
std::string slide(int i, int j) { return fmt::format("s{}_l{}_z", i, j); }
std::string bend(int i, char axis) { return fmt::format("s{}_{}", i, axis); }
std::string length(int i) { return fmt::format("s{}_z", i); }
std::string tendon_length(const std::string& tendon) { return tendon + "_length"; }
std::string tendon_tension(const std::string& tendon) { return tendon + "_tension"; }
std::string tendon_friction(const std::string& tendon, int i) {
  return fmt::format("{}_friction_{}", tendon, i);
}
std::string chamber_pressure(const std::string& chamber) { return chamber + "_pressure"; }
std::string chamber_volume(const std::string& chamber) { return chamber + "_volume"; }
std::string finger(int i) { return fmt::format("gripper_finger_{}", i); }
std::string section_end(int i) { return fmt::format("s{}_end", i); }
}  // namespace names

namespace {

/// Axes of bending; the hinges of one axis sum to a coordinate of the section. Planar robots have
/// the last one alone.
constexpr std::array<char, 2> kBendAxes{'x', 'y'};

/// A telescopic link never gets shorter than this part of its rest length.
constexpr double kShortestLinkFraction = 0.02;

/// The part of a servo's damping that acts beside the servo, outside its force limit. The engine
/// treats a servo at its limit as a constant force; with all the damping inside the limit a light
/// section then swings between both limits for ever.
constexpr double kDampingOutside = 0.5;

/// Below this cosine a hinge does not change a tendon's length: it is that of a right angle,
/// rounded.
constexpr double kNoArm = 1e-12;

constexpr double kCupMass = 0.001;  // of a suction cup [kg]

constexpr double kSpinCommandLimit = 4.0 * std::numbers::pi;  // [rad]

constexpr std::array<std::string_view, 6> kSectionColors{"0.16 0.44 0.71 1", "0.93 0.55 0.14 1",
                                                         "0.20 0.60 0.38 1", "0.76 0.27 0.32 1",
                                                         "0.48 0.37 0.66 1", "0.55 0.55 0.55 1"};

/// One link of the chain in its rest pose. Its hinges are in its middle: what turns with them is
/// its second half and the next link's first one, the body of this name.
struct Link {
  int section = 0;  ///< from 1
  int index = 0;    ///< in its section, from 1
  double length = 0.0;
  double bend_fraction = 0.0;
  /// A half of the link, a homogeneous cylinder.
  struct Half {
    double mass = 0.0, radius = 0.0;
  };
  Half first_half, second_half;
  double radius = 0.0;                       ///< at its end
  double slide_low = 0.0, slide_high = 0.0;  ///< range of the slide [m]; both 0 without one
  double slide_rest = 0.0;                   ///< where its spring is without force [m]
  double axial_stiffness = 0.0;              ///< of the slide [N/m]
  double hinge_stiffness = 0.0;              ///< [N m/rad]; 0 without hinges
  double natural_x = 0.0, natural_y = 0.0;   ///< angles of the hinges without moments [rad]
  double torsional_stiffness = 0.0;  ///< of the hinge about its axis [N m/rad]; 0 without one
  bool twist_first = true;           ///< that hinge stands before the other two, else after them
  double damping_time = 0.0;         ///< of the joints, without what the integrator adds
  double servo_damping = 0.0;  ///< of the hinges, for link servos: beside the servo [N m s/rad]
  bool x_first = true;         ///< order of the two hinges
  bool slide_first = true;     ///< the slide stands before the hinges, else after them

  [[nodiscard]] bool has_hinges() const { return bend_fraction > 0.0; }
  [[nodiscard]] double natural(char axis) const { return axis == 'x' ? natural_x : natural_y; }
  [[nodiscard]] bool has_twist() const { return torsional_stiffness > 0.0; }
  [[nodiscard]] bool has_slide() const { return slide_high > slide_low; }
};

/// EI/L: the moment that bends the whole unloaded section by 1 rad.
double section_stiffness(const ContinuumDescription& robot, std::size_t i) {
  return robot.physics[i].bending_stiffness / robot.physics[i].unloaded_length;
}

constexpr double kOrderBends[] = {1.0, 2.0};  // of a section, halfway between x and y [rad]

/// How far a bent section's tip is from where links that bend about one axis would bring it: sum of
/// squares of parts of the length and of radians, to leading order.
double order_error(const LinkLayout& layout, const std::vector<bool>& x_first) {
  const auto x = Eigen::Vector3d::UnitX(), y = Eigen::Vector3d::UnitY();
  const Eigen::Vector3d both = (x + y).normalized();
  double error = 0.0;
  for (const double bend : kOrderBends) {
    Eigen::Isometry3d tip = Eigen::Isometry3d::Identity(), exact = tip;
    for (std::size_t j = 0; j < x_first.size(); ++j) {
      const double angle = bend * layout.bend_fraction[j], part = angle / std::numbers::sqrt2;
      const Eigen::Vector3d half(0.0, 0.0, layout.length[j] / 2.0);
      const Eigen::AngleAxisd first(part, x_first[j] ? x : y), second(part, x_first[j] ? y : x);
      tip.translate(half).rotate(first).rotate(second).translate(half);
      exact.translate(half).rotate(Eigen::AngleAxisd(angle, both)).translate(half);
    }
    error += (tip.translation() - exact.translation()).squaredNorm() +
             (tip.linear() - exact.linear()).squaredNorm() / 2.0;
  }
  return error;
}

/// Whether each link has its x hinge first. Two hinges twist what follows by +-u v b^2 / 2, by
/// their order (docs/derivations.md, "Two hinges per link"). The last links have the order of least
/// error; those before them keep the twist and its sum over the links small.
std::vector<bool> hinge_orders(const LinkLayout& layout) {
  constexpr std::size_t kSearched = 8;
  const std::vector<double>& bend = layout.bend_fraction;
  const std::size_t before = bend.size() - std::min(bend.size(), kSearched);
  std::vector<bool> x_first(bend.size());
  double twist = 0.0, twist_sum = 0.0;
  for (std::size_t j = 0; j < before; ++j) {
    x_first[j] = twist / 2.0 + twist_sum <= 0.0;
    twist += (x_first[j] ? 1.0 : -1.0) * bend[j] * bend[j];
    twist_sum += twist;
  }
  std::vector<bool> best;
  double least = std::numeric_limits<double>::infinity();
  for (unsigned code = 0; code < 1U << (bend.size() - before); ++code) {
    for (std::size_t j = before; j < bend.size(); ++j)
      x_first[j] = (code >> (j - before) & 1U) == 0;
    const double error = order_error(layout, x_first);
    if (error >= least * (1.0 - 1e-9)) continue;  // less, but not by rounding
    least = error;
    best = x_first;
  }
  return best;
}

std::vector<Link> section_links(const ContinuumDescription& robot, std::size_t i) {
  const SectionParameters& section = robot.sections[i];
  const SectionPhysics& physics = robot.physics[i];
  const int number = static_cast<int>(i) + 1;
  const LinkLayout layout = link_layout(robot, i);
  const double lowest_part = section.length > 0.0 ? 1.0 : 1.0 - kShortestLinkFraction;

  std::vector<Link> links(layout.length.size());
  const std::vector<bool> x_first = hinge_orders(layout);
  double start = 0.0;  // of the link, part of the section's length
  const bool is_even = physics.radius.is_even() && physics.inner_radius.is_even();
  for (std::size_t j = 0; j < links.size(); ++j) {
    Link& link = links[j];
    const double share = layout.length[j];
    link.section = number;
    link.index = static_cast<int>(j) + 1;
    link.length = rest_length(section) * share;
    link.bend_fraction = layout.bend_fraction[j];
    link.radius = physics.radius.at(start + share);
    const auto half = [&](double from) -> Link::Half {
      const double mass = is_even ? physics.mass * share / 2.0
                                  : physics.mass * volume_part(physics, from, from + share / 2.0);
      return {mass, physics.radius.at(from + share / 4.0)};
    };
    link.first_half = half(start);
    link.second_half = half(start + share / 2.0);
    start += share;
    link.damping_time = std::max(physics.damping_time - robot.numerical_damping_time, 0.0);
    if (section.variable_length > 0.0) {
      const double half_stroke = section.variable_length / 2.0 * share;
      link.slide_low = -half_stroke * lowest_part;
      link.slide_high = half_stroke;
      link.slide_rest = (physics.unloaded_length - rest_length(section)) * share;
      link.axial_stiffness = physics.axial_stiffness / share;
      link.slide_first = j % 2 == 0;
    }
    if (link.has_hinges()) {
      link.hinge_stiffness = section_stiffness(robot, i) / link.bend_fraction;
      link.natural_x = -physics.natural_bend[1] * link.bend_fraction;
      link.natural_y = physics.natural_bend[0] * link.bend_fraction;
      const double part = physics.torsion_tapers ? physics.compliance[j] : share;
      link.torsional_stiffness = physics.torsional_stiffness / (rest_length(section) * part);
      link.twist_first = j % 2 == 0;
      if (robot.compliance == Compliance::Link && physics.bend_servo) {
        link.servo_damping =
            kDampingOutside * physics.bend_damping_time * physics.bend_gain / link.bend_fraction;
      }
      link.x_first = x_first[j];
    }
  }
  return links;
}

bool has_length_servo(const ContinuumDescription& robot, std::size_t i) {
  return robot.sections[i].variable_length > 0.0 && robot.physics[i].length_servo;
}

int tendon_count(const ContinuumDescription& robot) {
  int count = static_cast<int>(robot.tendons.size());
  for (std::size_t i = 0; i < robot.sections.size(); ++i) {
    const bool servos = robot.compliance == Compliance::Section && robot.physics[i].bend_servo;
    count += (servos ? (robot.planar ? 1 : 2) : 0) + (has_length_servo(robot, i) ? 1 : 0);
  }
  return count;
}

/// Distance from the chain's start to the middle of each link, where its joints are, when the chain
/// is straight and at its shortest [m].
std::vector<double> shortest_joints(const std::vector<Link>& chain) {
  std::vector<double> joints;
  double end = 0.0;
  for (const Link& link : chain) {
    joints.push_back(end + link.slide_low + link.length / 2.0);
    end = joints.back() + link.length / 2.0;
  }
  return joints;
}

/// Writes the document; one function for each of its parts, in their order.
class Writer : MjcfWriter {
 public:
  explicit Writer(const ContinuumDescription& robot) : robot_(robot) {
    for (std::size_t i = 0; i < robot.sections.size(); ++i) {
      const std::vector<Link> links = section_links(robot, i);
      chain_.insert(chain_.end(), links.begin(), links.end());
    }
    for (const Tendon& tendon : robot.tendons)
      sites_.push_back(tendon.route.turn == 0.0 ? std::vector<TendonSite>()
                                                : sites_of(tendon.route));
  }

  std::string document(std::span<const std::string> sensor_names) {
    begin("robot", robot_.name, solver_iterations(robot_),
          robot_.integrator == Integrator::Discrete ? "discrete" : "implicitfast", robot_.timestep,
          robot_.medium ? fluid_options(*robot_.medium) : std::string());
    extension(robot_.controller, robot_.text);
    line("  <worldbody>");
    base();
    line("  </worldbody>");
    contacts();
    tendons();
    gripper_equality();
    actuators();
    sensors(robot_.controller, sensor_names);
    write_tendon_sensors(*this, robot_);
    gripper_sensors();
    start();
    return end();
  }

 private:
  [[nodiscard]] bool section_servos() const { return robot_.compliance == Compliance::Section; }
  [[nodiscard]] bool has_guide() const { return robot_.base_physics.guide_length > 0.0; }
  /// Those that the robot has.
  [[nodiscard]] std::span<const char> bend_axes() const {
    return std::span(kBendAxes).subspan(robot_.planar ? 1 : 0);
  }
  [[nodiscard]] bool has_feed() const { return robot_.base.feed_limit > 0.0; }
  [[nodiscard]] bool has_carriage() const { return has_feed() || robot_.base.spin; }

  void base() {
    line("    <body name=\"{}\">", names::kBase);
    controller_plugin(robot_.controller);
    if (has_guide()) guide();
    if (has_carriage()) carriage();
    mount();
    chain();
    if (has_carriage()) line("    </body>");
    line("    </body>");
  }

  void carriage() {
    line("    <body name=\"{}\">", names::kCarriage);
    carriage_inertia(robot_.base_physics.carriage_mass + chain_.front().first_half.mass);
    if (has_feed()) {
      line("      <joint name=\"{}\" type=\"slide\" axis=\"0 0 1\" range=\"0 {}\"/>", names::kFeed,
           robot_.base.feed_limit);
    }
    if (robot_.base.spin) {
      line("      <joint name=\"{}\" type=\"hinge\" axis=\"0 0 1\"/>", names::kSpin);
    }
  }

  /// Frictionless walls on both sides of every axis of bending, from the base to the guide's end.
  void guide() {
    const BasePhysics& physics = robot_.base_physics;
    const double radius = largest_radius(robot_);
    const double inside = radius + physics.guide_clearance;
    const double half_wall = radius / 2.0;
    const double half_length = physics.guide_length / 2.0;
    for (const char axis : bend_axes()) {
      for (const double side : {1.0, -1.0}) {
        const double place = side * (inside + half_wall);
        line(
            "      <geom name=\"guide_{}{}\" type=\"box\" pos=\"{} {} {}\" size=\"{} {} {}\" "
            "contype=\"2\" conaffinity=\"1\" priority=\"1\" friction=\"0\" solref=\"0.004 1\" "
            "solimp=\"0.95 0.99 0.0005\" group=\"1\" rgba=\"0.25 0.25 0.28 0.5\"/>",
            axis == 'y' ? 'x' : 'y', side > 0.0 ? '+' : '-', axis == 'y' ? place : 0.0,
            axis == 'y' ? 0.0 : place, half_length, axis == 'y' ? half_wall : inside,
            axis == 'y' ? inside : half_wall, half_length);
      }
    }
  }

  /// What the eye sees of the base: a short plinth behind the first section, without mass or
  /// contact.
  void mount() {
    const double radius = robot_.physics.front().radius.start;
    line(
        "      <geom type=\"cylinder\" fromto=\"0 0 {} 0 0 0\" size=\"{}\" mass=\"0\" "
        "contype=\"0\" "
        "conaffinity=\"0\" group=\"1\" rgba=\"0.25 0.25 0.28 1\"/>",
        -radius, 1.6 * radius);
  }

  /// The first half of the first link moves with the base, or the carriage.
  void root() {
    Link first = chain_.front();
    first.radius = robot_.physics.front().radius.start;
    capsule(names::kRoot, first, 0.0, first.length / 2.0,
            has_carriage() ? "" : fmt::format(" mass=\"{}\"", number_text(first.first_half.mass)));
    tendon_sites(0);
  }

  /// The nested links. They are not indented: a chain of 400 would be wider than the screen.
  void chain() {
    root();
    double joint_offset = 0.0;  // from the frame of the body before to the start of this link
    for (std::size_t k = 0; k < chain_.size(); ++k) {
      const Link& link = chain_[k];
      const bool last_of_section = k + 1 == chain_.size() || chain_[k + 1].section != link.section;
      body(k, joint_offset + link.length / 2.0);
      joint_offset = link.length / 2.0;
      if (!last_of_section) continue;
      site(names::section_end(link.section), link);
      if (k + 1 == chain_.size()) site(names::kTip, link);
    }
    tip(chain_.back());
    raw("      ");
    for (std::size_t k = 0; k < chain_.size(); ++k) raw("</body>");
    raw("\n");
  }

  /// What the last link carries.
  void tip(const Link& last) {
    const TipLoad& load = robot_.tip;
    if (load.payload > 0.0) {
      line(
          "        <body name=\"{0}\" pos=\"0 0 {1}\"><geom name=\"{0}\" type=\"sphere\" "
          "size=\"{2}\" "
          "mass=\"{3}\" contype=\"0\" conaffinity=\"0\" rgba=\"0.35 0.35 0.38 1\"/></body>",
          names::kPayload, last.length / 2.0, load.payload_radius, load.payload);
    }
    if (load.suction > 0.0) {
      // A cup as wide as the tip, half of it beyond the body's round end, so that it alone touches.
      constexpr double kThickness = 0.25;  // of the radius
      const double radius = last.radius;
      line(
          "        <body name=\"{0}\" pos=\"0 0 {1}\"><geom name=\"{0}\" type=\"cylinder\" "
          "size=\"{2} {3}\" mass=\"{4}\" contype=\"1\" conaffinity=\"2\" {5} condim=\"4\" "
          "friction=\"1 0.01 0.0001\" rgba=\"0.15 0.15 0.17 1\"/></body>",
          names::kSuction, last.length / 2.0 + radius, radius, kThickness * radius, kCupMass,
          kStiffContact);
    }
    if (robot_.gripper) gripper(last);
  }

  /// The palm, a box from the tip to the fingers, and two fingers that touch each other where it is
  /// closed.
  void gripper(const Link& last) {
    const Gripper& g = *robot_.gripper;
    const double palm = Gripper::palm_height(last.radius);
    const int bits = robot_.self_collision ? 3 : 1;
    const std::string contact = fmt::format("contype=\"{}\" conaffinity=\"{}\" {}", bits,
                                            robot_.self_collision ? 3 : 2, kStiffContact);
    line("        <body name=\"{}\" pos=\"0 0 {}\"{}>", names::kGripper, last.length / 2.0,
         g.angle == 0.0 ? "" : fmt::format(" euler=\"0 0 {}\"", number_text(g.angle)));
    line(
        "          <geom name=\"{}\" type=\"box\" pos=\"0 0 {}\" size=\"{} {} {}\" mass=\"{}\" {} "
        "rgba=\"0.25 0.25 0.28 1\"/>",
        names::kGripper, palm / 2.0, g.opening / 2.0 + g.finger_thickness, g.finger_width / 2.0,
        palm / 2.0, g.palm_mass(), contact);
    line("          <site name=\"{}\" pos=\"0 0 {}\" size=\"0.002\"/>", names::kGrasp,
         palm + g.finger_length / 2.0);
    for (const int i : {1, 2}) {
      const double side = i == 1 ? 1.0 : -1.0;
      line("          <body name=\"{}\" pos=\"0 0 {}\">", names::finger(i),
           palm + g.finger_length / 2.0);
      line(
          "            <joint name=\"{}\" type=\"slide\" axis=\"{} 0 0\" range=\"0 {}\" "
          "damping=\"{}\"/>",
          names::finger(i), side, g.opening / 2.0, 2.0 * g.force / g.speed);
      line(
          "            <geom name=\"{}\" type=\"box\" pos=\"{} 0 0\" size=\"{} {} {}\" mass=\"{}\" "
          "{} "
          "condim=\"4\" priority=\"1\" friction=\"{} 0.005 0.0001\" rgba=\"0.15 0.15 0.17 1\"/>",
          names::finger(i), side * g.finger_thickness / 2.0, g.finger_thickness / 2.0,
          g.finger_width / 2.0, g.finger_length / 2.0, g.finger_mass(), contact, g.friction);
      line("          </body>");
    }
    line("        </body>");
  }

  void gripper_tendon() {
    line("    <fixed name=\"{}\">", names::kGripper);
    for (const int i : {1, 2}) line("      <joint joint=\"{}\" coef=\"1\"/>", names::finger(i));
    line("    </fixed>");
  }

  void gripper_equality() {
    if (!robot_.gripper) return;
    line("  <equality>\n    <joint joint1=\"{}\" joint2=\"{}\" {}/>\n  </equality>",
         names::finger(1), names::finger(2), kStiffContact);
  }

  void gripper_sensors() {
    if (!robot_.gripper) return;
    line("  <sensor>");
    line("    <tendonpos name=\"{}\" tendon=\"{}\"/>", names::kGripperOpening, names::kGripper);
    line("    <actuatorfrc name=\"{}\" actuator=\"{}\"/>", names::kGripperForce, names::kGripper);
    line("  </sensor>");
  }

  /// From the joints of link k to the next ones, or to the tip [m].
  [[nodiscard]] double length_to_next(std::size_t k) const {
    return (chain_[k].length + (k + 1 < chain_.size() ? chain_[k + 1].length : 0.0)) / 2.0;
  }

  /// Opens the body of link k: its frame lies at the joints.
  void body(std::size_t k, double offset) {
    const Link& link = chain_[k];
    const Link* const next = k + 1 < chain_.size() ? &chain_[k + 1] : nullptr;
    line("      <body name=\"{}\" pos=\"0 0 {}\"{}>", names::link(link.section, link.index), offset,
         robot_.medium ? fmt::format(" gravcomp=\"{}\"", number_text(floating(link, next))) : "");
    inertia(link, next);
    if (link.slide_first) slide(link);
    if (link.twist_first) twist(link);
    if (link.has_hinges() && robot_.planar) {
      hinge(link, 'y');
    } else if (link.has_hinges()) {
      hinge(link, link.x_first ? 'x' : 'y');
      hinge(link, link.x_first ? 'y' : 'x');
    }
    if (!link.twist_first) twist(link);
    if (!link.slide_first) slide(link);
    // To the next joints with one radius: where the next section is wider its caps stand back.
    capsule(names::link(link.section, link.index), link, -link.slide_high, length_to_next(k));
    tendon_sites(static_cast<int>(k) + 1);
    if (robot_.medium) {
      const double length = length_to_next(k);
      line("        <geom pos=\"0 0 {}\" {}/>", length / 2.0,
           fluid_geom(*robot_.medium, link.radius, length, true));
    }
  }

  /// Mass of the fluid in the place of half a link [kg].
  [[nodiscard]] double displaced(const Link& link, const Link::Half& half) const {
    return displaced_mass(*robot_.medium, half.radius, link.length / 2.0);
  }
  /// `buoyancy` of the body from the joint of a link to the next one.
  [[nodiscard]] double floating(const Link& link, const Link* next) const {
    double mass = link.second_half.mass, fluid = displaced(link, link.second_half);
    if (next) {
      mass += next->first_half.mass;
      fluid += displaced(*next, next->first_half);
    }
    return buoyancy(*robot_.medium, mass, fluid);
  }

  /// Of half a link and half of the next one, each a homogeneous cylinder.
  void inertia(const Link& link, const Link* next) {
    struct Half {
      double mass, length, radius, center;
    };
    std::array<Half, 2> halves{
        {{link.second_half.mass, link.length / 2.0, link.second_half.radius, link.length / 4.0},
         {}}};
    if (next) {
      halves[1] = {next->first_half.mass, next->length / 2.0, next->first_half.radius,
                   link.length / 2.0 + next->length / 4.0};
    }
    const double mass = halves[0].mass + halves[1].mass;
    const double center =
        (halves[0].mass * halves[0].center + halves[1].mass * halves[1].center) / mass;
    double across = 0.0, along = 0.0, with_fluid = mass;
    for (Half& half : halves) {
      const double r2 = half.radius * half.radius, d = half.center - center;
      along += half.mass * r2 / 2.0;
      if (robot_.medium) {  // the fluid around it moves along
        const double added =
            robot_.medium->added_mass * displaced_mass(*robot_.medium, half.radius, half.length);
        half.mass += added;
        with_fluid += added;
      }
      across += half.mass * ((3.0 * r2 + half.length * half.length) / 12.0 + d * d);
    }
    line("        <inertial pos=\"0 0 {0}\" mass=\"{1}\" diaginertia=\"{2} {2} {3}\"/>", center,
         with_fluid, across, along);
  }

  void capsule(const std::string& name, const Link& link, double from, double to,
               const std::string& more = {}) {
    const int bits = robot_.self_collision ? 3 : 1;
    line(
        "        <geom name=\"{}\" type=\"capsule\" fromto=\"0 0 {} 0 0 {}\" size=\"{}\" "
        "contype=\"{}\" conaffinity=\"{}\" {} rgba=\"{}\"{}/>",
        name, from, to, link.radius, bits, robot_.self_collision ? 3 : 2, kStiffContact,
        color_of(link.section), more);
  }

  [[nodiscard]] std::string color_of(int section) const {
    const auto i = static_cast<std::size_t>(section - 1);
    const std::vector<double>& color = robot_.physics[i].color;
    if (color.empty()) return std::string(kSectionColors[i % kSectionColors.size()]);
    std::string text;
    for (const double part : color) append(text, part);
    return color.size() == 4 ? text : text + " 1";
  }

  void hinge(const Link& link, char axis) {
    const double natural = link.natural(axis);
    line("        <joint name=\"{}\" axis=\"{}\" stiffness=\"{}\" damping=\"{}\"{}/>",
         names::hinge(link.section, link.index, axis), axis == 'x' ? "1 0 0" : "0 1 0",
         link.hinge_stiffness, link.damping_time * link.hinge_stiffness + link.servo_damping,
         natural == 0.0 ? "" : fmt::format(" springref=\"{}\"", number_text(natural)));
  }

  void twist(const Link& link) {
    if (!link.has_twist()) return;
    line("        <joint name=\"{}\" axis=\"0 0 1\" stiffness=\"{}\" damping=\"{}\"/>",
         names::twist(link.section, link.index), link.torsional_stiffness,
         link.damping_time * link.torsional_stiffness);
  }

  void slide(const Link& link) {
    if (!link.has_slide()) return;
    line(
        "        <joint name=\"{}\" type=\"slide\" axis=\"0 0 1\" range=\"{} {}\" stiffness=\"{}\" "
        "springref=\"{}\" damping=\"{}\"/>",
        names::slide(link.section, link.index), link.slide_low, link.slide_high,
        link.axial_stiffness, link.slide_rest, link.damping_time * link.axial_stiffness);
  }

  void site(const std::string& name, const Link& link) {
    line("        <site name=\"{}\" pos=\"0 0 {}\" size=\"0.002\"/>", name, link.length / 2.0);
  }

  void contacts() {
    if (!robot_.self_collision) return;
    // Left out: pairs whose capsules touch already in the straight chain at its shortest. Equal
    // links of length l and radius r: all |a - b| <= 1 + 2 r/l.
    constexpr double kRounding = 1e-9;  // [m]
    struct Piece {
      std::string body;
      double start, end, radius;  // along the chain [m]
    };
    std::vector<Piece> pieces;
    const std::vector<double> joint = shortest_joints(chain_);
    pieces.push_back({has_carriage() ? names::kCarriage : names::kBase, 0.0,
                      chain_.front().length / 2.0, robot_.physics.front().radius.start});
    for (std::size_t k = 0; k < chain_.size(); ++k) {
      pieces.push_back({names::link(chain_[k].section, chain_[k].index),
                        joint[k] - chain_[k].slide_high, joint[k] + length_to_next(k),
                        chain_[k].radius});
    }
    line("  <contact>");
    for (std::size_t a = 0; a < pieces.size(); ++a) {
      for (std::size_t b = a + 1; b < pieces.size(); ++b) {
        const double gap = pieces[b].start - pieces[a].end;
        if (gap <= pieces[a].radius + pieces[b].radius + kRounding)
          exclude(pieces[a].body, pieces[b].body);
      }
    }
    if (robot_.gripper) {  // and with the palm and the fingers, as wide as they are
      const Gripper& g = *robot_.gripper;
      const double reach = std::hypot(g.opening / 2.0 + g.finger_thickness, g.finger_width / 2.0);
      const double end = pieces.back().end;
      for (const Piece& piece : pieces) {
        if (end - piece.end > reach) continue;
        exclude(piece.body, names::kGripper);
        for (const int i : {1, 2}) exclude(piece.body, names::finger(i));
      }
      exclude(names::finger(1), names::finger(2));
    }
    line("  </contact>");
  }

  void tendons() {
    if (tendon_count(robot_) == 0 && !robot_.gripper) return;
    line("  <tendon>");
    for (std::size_t i = 0; i < robot_.sections.size(); ++i) {
      const SectionPhysics& physics = robot_.physics[i];
      const int section = static_cast<int>(i) + 1;
      for (const char axis : bend_axes()) {
        if (!section_servos() || !physics.bend_servo) break;
        open_tendon(names::bend(section, axis),
                    physics.bend_motor ? 0.0 : physics.bend_damping_time * physics.bend_gain);
        for (const Link& link : chain_) {
          if (link.section != section || !link.has_hinges()) continue;
          line("      <joint joint=\"{}\" coef=\"1\"/>", names::hinge(section, link.index, axis));
        }
        line("    </fixed>");
      }
      if (has_length_servo(robot_, i)) {
        open_tendon(names::length(section),
                    physics.length_motor ? 0.0 : physics.length_damping_time * physics.length_gain);
        for (const Link& link : chain_) {
          if (link.section != section) continue;
          line("      <joint joint=\"{}\" coef=\"1\"/>", names::slide(section, link.index));
        }
        line("    </fixed>");
      }
    }
    for (std::size_t t = 0; t < sites_.size(); ++t) {
      if (sites_[t].empty())
        write_tendon(*this, robot_.tendons[t], joints_of(robot_.tendons[t]));
      else
        write_tendon(*this, robot_.tendons[t], sites_[t]);
    }
    for (const Tendon& tendon : robot_.tendons) {
      if (tendon.friction_coefficient > 0.0) friction_tendons(tendon);
    }
    if (robot_.gripper) gripper_tendon();
    line("  </tendon>");
  }

  /// In the middle of a section the tendon slides by half of its change of length there and all
  /// beyond.
  void friction_tendons(const Tendon& tendon) {
    for (int i = tendon.route.first_section; i <= tendon.route.section; ++i) {
      line("    <fixed name=\"{}\" frictionloss=\"1e-9\" {}>",
           names::tendon_friction(tendon.name, i + 1), kFrictionThatHolds);
      for (const TendonJoint& joint : joints_of(tendon)) {
        if (joint.section < i) continue;
        line("      <joint joint=\"{}\" coef=\"{}\"/>", joint.joint,
             joint.section == i ? joint.coefficient / 2.0 : joint.coefficient);
      }
      line("    </fixed>");
    }
  }

  /// The hinges that change a tendon's length and the slides that it runs past, each at the middle
  /// of its link.
  [[nodiscard]] std::vector<TendonJoint> joints_of(const Tendon& tendon) const {
    const TendonRoute& route = tendon.route;
    std::vector<TendonJoint> joints;
    double way = 0.0, middle = 0.0;
    for (const Link& link : chain_)
      if (route.runs_through(link.section - 1)) way += link.length;
    for (const Link& link : chain_) {
      if (!route.runs_through(link.section - 1)) continue;
      const double distance = route.distance_at((middle + link.length / 2.0) / way);
      middle += link.length;
      for (const char axis : bend_axes()) {
        if (!link.has_hinges()) break;
        const double arm = axis == 'y' ? -std::cos(route.angle) : std::sin(route.angle);
        if (std::abs(arm) < kNoArm) continue;
        joints.push_back(
            {names::hinge(link.section, link.index, axis), distance * arm, link.section - 1});
      }
      if (link.has_slide())
        joints.push_back({names::slide(link.section, link.index), 1.0, link.section - 1});
    }
    return joints;
  }

  /// From the base through two sites at every joint to the end of the last section.
  [[nodiscard]] std::vector<TendonSite> sites_of(const TendonRoute& route) const {
    const double way = rest_length(robot_, route);
    std::vector<TendonSite> sites;
    double frame = 0.0;  // of the body, along the backbone
    const auto add = [&](int body, double s) {
      const Eigen::Vector2d offset = route.offset_at(s / way);
      sites.push_back({body, {offset.x(), offset.y(), s - frame}, {offset.x(), offset.y(), s}});
    };
    add(0, 0.0);
    double start = 0.0;  // of the link
    int body = 0;
    for (const Link& link : chain_) {
      if (!route.runs_through(link.section - 1)) break;
      const double joint = start + link.length / 2.0, away = kSiteDistance * link.length;
      add(body++, joint - away);
      frame = joint;
      add(body, joint + away);
      start += link.length;
    }
    add(body, start);
    return sites;
  }

  /// Those of all tendons on a body.
  void tendon_sites(int body) {
    for (std::size_t t = 0; t < sites_.size(); ++t) {
      for (std::size_t i = 0; i < sites_[t].size(); ++i) {
        const TendonSite& site = sites_[t][i];
        if (site.body != body) continue;
        line("        <site name=\"{}\" pos=\"{} {} {}\" size=\"0.001\" group=\"4\"/>",
             site_name(robot_.tendons[t], i + 1), site.p_link.x(), site.p_link.y(),
             site.p_link.z());
      }
    }
  }

  void open_tendon(const std::string& name, double servo_damping) {
    line("    <fixed name=\"{}\" damping=\"{}\">", name, kDampingOutside * servo_damping);
  }

  void actuators() {
    const BasePhysics& base = robot_.base_physics;
    line("  <actuator>");
    if (has_feed()) {
      position_servo(
          names::kFeed, base.feed_gain, base.feed_force_limit,
          fmt::format("dampratio=\"1\" ctrlrange=\"0 {}\"", number_text(robot_.base.feed_limit)));
    }
    if (robot_.base.spin) {
      const std::string range = number_text(kSpinCommandLimit);
      position_servo(names::kSpin, base.spin_gain, base.spin_torque_limit,
                     fmt::format("dampratio=\"1\" ctrlrange=\"-{0} {0}\"", range));
    }
    for (std::size_t i = 0; i < robot_.sections.size(); ++i) section_actuators(i);
    const std::vector<double> ranges = tendon_ranges(robot_);
    for (std::size_t t = 0; t < ranges.size(); ++t)
      write_tendon_actuator(*this, robot_.tendons[t], ranges[t],
                            rest_length(robot_, robot_.tendons[t].route), length_of(sites_[t]));
    if (robot_.tip.suction > 0.0) {
      line("    <adhesion name=\"{0}\" body=\"{0}\" ctrlrange=\"0 1\" gain=\"{1}\"/>",
           names::kSuction, robot_.tip.suction);
    }
    if (robot_.gripper) {
      const Gripper& g = *robot_.gripper;
      line(
          "    <position name=\"{0}\" tendon=\"{0}\" kp=\"{1}\" ctrlrange=\"0 {2}\" "
          "forcerange=\"-{3} {3}\"/>",
          names::kGripper, g.gain, g.opening, g.force);
    }
    line("  </actuator>");
  }

  void section_actuators(std::size_t i) {
    const SectionPhysics& physics = robot_.physics[i];
    const int section = static_cast<int>(i) + 1;
    const double range = bend_command_limit(robot_.sections[i]);
    if (!physics.bend_servo) {
      // Its tendons bend it.
    } else if (physics.bend_motor) {
      for (const char axis : bend_axes())
        motor(names::bend(section, axis), physics.bend_torque_limit);
    } else if (section_servos()) {
      for (const char axis : bend_axes()) {
        const std::string name = names::bend(section, axis);
        const double natural = axis == 'x' ? -physics.natural_bend[1] : physics.natural_bend[0];
        servo(name, "tendon", physics.bend_gain, section_stiffness(robot_, i),
              physics.bend_damping_time, range, physics.bend_torque_limit, natural);
      }
    } else {
      for (const Link& link : chain_) {
        if (link.section != section || !link.has_hinges()) continue;
        for (const char axis : bend_axes()) {
          servo(names::hinge(section, link.index, axis), "joint",
                physics.bend_gain / link.bend_fraction, link.hinge_stiffness,
                physics.bend_damping_time, range * link.bend_fraction, physics.bend_torque_limit,
                link.natural(axis));
        }
      }
    }
    if (has_length_servo(robot_, i) && physics.length_motor) {
      motor(names::length(section), physics.length_force_limit);
    } else if (has_length_servo(robot_, i)) {
      servo(names::length(section), "tendon", physics.length_gain, physics.axial_stiffness,
            physics.length_damping_time, robot_.sections[i].variable_length / 2.0,
            physics.length_force_limit);
    }
  }

  /// Its command is the moment or force on a section's tendon.
  void motor(const std::string& name, double limit) {
    line("    <motor name=\"{0}\" tendon=\"{0}\" ctrlrange=\"-{1} {1}\" forcerange=\"-{1} {1}\"/>",
         name, limit);
  }

  /// Position servo with the stiffness of what it bends fed forward; half of its damping is in the
  /// tendon or joint:
  ///     F = (kp + stiffness) ctrl - kp q - (1 - kDampingOutside) damping_time kp q'
  /// and less by stiffness `natural`, so that the command is the bend; without a gain it adds to
  /// the natural one.
  void servo(const std::string& name, std::string_view transmission, double kp, double stiffness,
             double damping_time, double range, double limit, double natural = 0.0) {
    const double constant = kp > 0.0 ? 0.0 - stiffness * natural : 0.0;
    line(
        "    <general name=\"{0}\" {1}=\"{0}\" gaintype=\"fixed\" biastype=\"affine\" "
        "gainprm=\"{2}\" biasprm=\"{7} -{3} -{4}\" ctrlrange=\"-{5} {5}\" forcerange=\"-{6} "
        "{6}\"/>",
        name, transmission, kp + stiffness, kp, (1.0 - kDampingOutside) * damping_time * kp, range,
        limit, constant);
  }

  /// Keyframe `start`: every hinge takes the turn of the arcs along its link, every servo the
  /// commands that the file gives.
  void start() {
    if (!robot_.start) return;
    if (robot_.start->bends.empty())
      keyframe(start_positions(), "");
    else
      keyframe(start_positions(), start_commands(), start_pressures());
  }

  static void append(std::string& numbers, double value) {
    fmt::format_to(std::back_inserter(numbers), "{}{}", numbers.empty() ? "" : " ",
                   number_text(value));
  }

  std::string start_positions() const {
    std::string qpos;
    const auto add = [&qpos](double value) { append(qpos, value); };
    if (has_feed()) add(robot_.start->feed);
    if (robot_.base.spin) add(0.0);
    // Of the link's start, from where the arcs begin [m].
    double place = has_guide() ? robot_.start->feed - robot_.base_physics.guide_length : 0.0;
    for (const Link& link : chain_) {
      const double turn = turn_of_start(place + link.length) - turn_of_start(place);
      place += link.length;
      if (link.has_slide() && link.slide_first) add(0.0);
      if (link.has_twist() && link.twist_first) add(0.0);
      if (link.has_hinges() && robot_.planar) {
        add(turn);
      } else if (link.has_hinges()) {
        add(link.x_first ? 0.0 : turn);
        add(link.x_first ? turn : 0.0);
      }
      if (link.has_twist() && !link.twist_first) add(0.0);
      if (link.has_slide() && !link.slide_first) add(0.0);
    }
    for (int i = 0; robot_.gripper && i < 2; ++i) add(0.0);  // fingers
    return qpos;
  }

  /// In the order of `actuators`.
  std::string start_commands() const {
    std::string ctrl;
    const auto add_bend = [&](double bend) {
      for (const char axis : bend_axes()) append(ctrl, axis == 'y' ? bend : 0.0);
    };
    if (has_feed()) append(ctrl, robot_.start->feed);
    if (robot_.base.spin) append(ctrl, 0.0);
    for (std::size_t i = 0; i < robot_.sections.size(); ++i) {
      if (!robot_.physics[i].bend_servo) {
        // Its tendons come last.
      } else if (robot_.physics[i].bend_motor) {
        const auto& natural = robot_.physics[i].natural_bend;
        const double stiffness = section_stiffness(robot_, i);
        for (const char axis : bend_axes()) {
          append(ctrl,
                 stiffness * (axis == 'y' ? robot_.start->bends[i] - natural[0] : natural[1]));
        }
      } else if (section_servos()) {
        add_bend(robot_.start->bends[i]);
      } else {
        for (const Link& link : chain_) {
          if (link.section != static_cast<int>(i) + 1 || !link.has_hinges()) continue;
          add_bend(robot_.start->bends[i] * link.bend_fraction);
        }
      }
      if (has_length_servo(robot_, i)) append(ctrl, 0.0);
    }
    for (const double command : tendon_start_commands(robot_)) append(ctrl, command);
    if (robot_.tip.suction > 0.0 || robot_.gripper) append(ctrl, 0.0);
    return ctrl;
  }

  /// Of the chambers whose pressure takes time.
  std::string start_pressures() const {
    const std::vector<double> commands = tendon_start_commands(robot_);
    std::string pressures;
    for (std::size_t t = 0; t < commands.size(); ++t) {
      const std::optional<Chamber>& chamber = robot_.tendons[t].chamber;
      if (chamber && chamber->time_constant > 0.0) append(pressures, commands[t]);
    }
    return pressures;
  }

  /// Heading of the start pose's arcs at arc length s [rad]; 0 before them, constant beyond them.
  [[nodiscard]] double turn_of_start(double s) const {
    double turn = 0.0;
    for (const auto& [curvature, length] : robot_.start->arcs) {
      turn += curvature * std::clamp(s, 0.0, length);
      s -= length;
    }
    return turn;
  }

  const ContinuumDescription& robot_;
  std::vector<Link> chain_;
  std::vector<std::vector<TendonSite>> sites_;  // of each tendon; none of one that does not turn
};

constexpr double kEndPart = 1.0 / 12.0;

/// Weight of the bend at joint k of n in a piece of constant curvature: the first joint turns by
/// 1/12 more than its part and the next one by as much less, the last two the same way round. That
/// cancels the term of second order in the bend of a link (docs/derivations.md, "Shape: joints at
/// mid-link"); two links or one have no room for it.
double end_correction(int k, int n) {
  if (n < 3) return 1.0;
  const int from_end = std::min(k, n - 1 - k);
  double weight = 1.0;
  if (from_end == 0) weight += kEndPart;
  if (k == 1) weight -= kEndPart;
  if (k == n - 2) weight -= kEndPart;
  return weight;
}

}  // namespace

LinkLayout link_layout(const Section& section, int links) {
  const auto lengths = section.length_weights();
  const auto angles = section.angle_weights();
  const std::size_t parts = lengths.size();
  if (links < static_cast<int>(parts)) {
    throw ModelError(fmt::format("links = {}: must be at least {}, one link for each sub-section",
                                 links, parts));
  }
  std::vector<int> count(parts, 1);
  for (int placed = static_cast<int>(parts); placed < links; ++placed) {
    std::size_t longest = 0;
    for (std::size_t j = 1; j < parts; ++j) {
      if (lengths[j] * count[longest] > lengths[longest] * count[j]) longest = j;
    }
    ++count[longest];
  }
  LinkLayout layout;
  for (std::size_t j = 0; j < parts; ++j) {
    for (int k = 0; k < count[j]; ++k) {
      layout.length.push_back(lengths[j] / count[j]);
      layout.bend_fraction.push_back(angles[j] / count[j] * end_correction(k, count[j]));
    }
  }
  return layout;
}

LinkLayout link_layout(const ContinuumDescription& robot, std::size_t section) {
  const SectionPhysics& physics = robot.physics[section];
  if (physics.compliance.empty()) {
    return link_layout(Section(robot.sections[section], static_cast<int>(section) + 1),
                       physics.links);
  }
  LinkLayout layout{.length = std::vector<double>(physics.compliance.size(), 1.0 / physics.links),
                    .bend_fraction = physics.compliance};
  // As `end_correction` does for equal bends.
  if (std::vector<double>& bend = layout.bend_fraction; bend.size() >= 3) {
    const std::size_t last = bend.size() - 1;
    const double first_part = kEndPart * bend[0], last_part = kEndPart * bend[last];
    bend[0] += first_part;
    bend[1] -= first_part;
    bend[last - 1] -= last_part;
    bend[last] += last_part;
  }
  return layout;
}

int solver_iterations(const ContinuumDescription& robot) {
  return std::max(100, 4 * tendon_count(robot));
}

std::string continuum_mjcf(const ContinuumDescription& robot,
                           std::span<const std::string> sensors) {
  return Writer(robot).document(sensors);
}

}  // namespace tendril
