#include "tendril/model/continuum/description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model/continuum/mjcf.hpp"
#include "tendril/model/continuum/sensors.hpp"
#include "tendril/model/readers.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr Range kTimestep{0.0, 0.1, true};  // [s]

constexpr std::string_view kTable = "table";
constexpr KeyInfo kKeys[]{
    {"kind", "", "`\"continuum\"`; `\"snake\"`, `\"mobile\"` and `\"tube\"` have other keys",
     "`\"continuum\"`"},
    {"name", "", "of the model"},
    {"compliance", "",
     "`\"section\"`: two servos per section, with equal moments along it. `\"link\"`: a servo on "
     "every hinge, which is stiffer, and cheaper with the integrator `discrete`"},
    {"planar", "",
     "the arm bends only in the x-z plane of its base: `bend_plane = \"xz\"` in every section. It "
     "halves the cost; the coordinates v stay 0"},
    {"self_collision", "",
     "links that are not neighbors collide. Two arms in one scene collide only if both have it"},
    {"integrator", "",
     "of the model when it is loaded alone, and the one that its "
     "[damping](#damping-and-the-integrator) is made for"},
    {"timestep", "s", "as `integrator`"},
    {"base", "", kTable, kTable},
    {"section", "", kTable, kTable},
    {"tendon", "", kTable, kTable},
    {"chamber", "", kTable, kTable},
    {"medium", "", kTable, kTable},
    {"sensor", "", kTable, kTable}};

void refuse_unknown_keys(const Fields& top) {
  std::vector<KeyInfo> keys(std::begin(kKeys), std::end(kKeys));
  for (const ArmPartKind* const kind : kArmPartKinds) {
    const auto has_name = [kind](const KeyInfo& key) { return key.name == kind->table; };
    if (std::none_of(keys.begin(), keys.end(), has_name))
      keys.push_back({kind->table, "", kTable, kTable});
  }
  keys.insert(keys.end(), {{"start", "", kTable, kTable}, {"controller", "", kTable, kTable}});
  top.refuse_unknown(keys);
  top.refuse_below({"compliance", "planar", "self_collision", "integrator", "timestep"});
}

void read_top(const Fields& top, ContinuumDescription& robot) {
  robot.name = top.text("name", robot.name);
  robot.compliance = top.choice<Compliance>(
      "compliance", {{"section", Compliance::Section}, {"link", Compliance::Link}});
  robot.self_collision = top.boolean("self_collision", robot.self_collision);
  robot.integrator = top.choice<Integrator>(
      "integrator",
      {{"discrete", Integrator::Discrete}, {"implicitfast", Integrator::ImplicitFast}});
  robot.timestep = top.number("timestep", robot.timestep, kTimestep);
  robot.numerical_damping_time = robot.integrator == Integrator::Discrete ? robot.timestep : 0.0;
}

void read_sections(const Fields& top, ContinuumDescription& robot) {
  const std::vector<Fields> tables = top.tables("section");
  if (tables.empty()) top.missing("section", "is missing, one [[section]] at least");
  const bool planar = top.boolean("planar", false);
  int links = 0;
  for (const Fields& fields : tables) {
    auto [section, physics] = read_section(fields, planar);
    links += physics.links;
    if (links > kMaxLinks) {
      fields.refuse_object(fmt::format(
          "links: the robot has {} up to here, must be at most {} in all", links, kMaxLinks));
    }
    robot.sections.push_back(std::move(section));
    robot.physics.push_back(std::move(physics));
  }
}

/// Requires that the natural shape is known: with servos without a gain it is where the commands
/// are 0, which no controller knows.
void require_known_rest(const Fields& top, const ContinuumDescription& robot) {
  const std::vector<Fields> sections = top.tables("section");
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const auto* const servo = std::get_if<ServoDrive>(&robot.physics[i].bend);
    if (servo && servo->gain == 0.0 && sections[i].has("natural_bend"))
      sections[i].refuse("natural_bend", "a controller needs bend_gain > 0 here, or tendons");
  }
}

void require_kinematics(const Fields& top, const ContinuumDescription& robot) {
  try {
    static_cast<void>(robot.kinematics());
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("{}: {}", top.file_name(), error.what()));
  }
}

/// Where the tip of an arm is whose sections are all bent by a quarter of their limit.
Eigen::Vector3d gently_bent_tip(const ContinuumRobot& robot) {
  std::vector<SectionState> states(robot.straight().begin(), robot.straight().end());
  for (std::size_t i = 0; i < states.size(); ++i)
    states[i].theta =
        0.25 * robot.section(static_cast<int>(i)).bend_angle_limit_at(states[i].extension);
  return tip_pose(robot, states).translation();
}

}  // namespace

bool ContinuumDescription::is_planar() const noexcept {
  return std::all_of(sections.begin(), sections.end(), [](const SectionParameters& section) {
    return section.bend_plane == BendPlane::XZ;
  });
}

double rest_length(const ContinuumDescription& robot) {
  double length = 0.0;
  for (const SectionParameters& section : robot.sections) length += rest_length(section);
  return length;
}

double rest_length(const ContinuumDescription& robot, const TendonRoute& route) {
  double length = 0.0;
  for (int i = route.first_section; i <= route.section; ++i)
    length += rest_length(robot.sections[static_cast<std::size_t>(i)]);
  return length;
}

double largest_radius(const ContinuumDescription& robot) {
  double radius = 0.0;
  for (const SectionPhysics& section : robot.physics)
    radius = std::max(radius, section.radius.largest());
  return radius;
}

ContinuumDescription ContinuumDescription::read(const FileContents& file) {
  const Fields& top = file.top;
  refuse_unknown_keys(top);
  ContinuumDescription robot;
  robot.text = file.text;
  read_top(top, robot);
  read_base(top.table("base"), robot);
  read_sections(top, robot);
  read_tendons(top, robot);
  read_chambers(top, robot);
  refuse_tendons_in_guide(top, robot);
  read_drives(top, robot);
  read_parts(file, robot);
  robot.sensors = read_arm_sensors(top, robot);
  if (top.has("medium")) robot.medium = read_medium(top.table("medium"));
  if (top.has("start")) robot.start = read_start(top.table("start"), robot);
  require_turning(top, robot);
  robot.controller = read_controller(file);
  require_kinematics(top, robot);
  if (!robot.controller.plugin.empty()) {
    require_drives(top, robot);
    require_known_rest(top, robot);
  } else if (!robot.controller.is_elsewhere) {
    refuse_friction(top, robot);
  }
  return robot;
}

EngineNeeds ContinuumDescription::engine_needs() const {
  const bool flat = std::any_of(parts.begin(), parts.end(),
                                [](const auto& part) { return part->has_flat_faces(); });
  return {.iterations = solver_iterations(*this), .medium = medium, .flat_contacts = flat};
}

Surroundings ContinuumDescription::surroundings() const {
  const ContinuumRobot robot = kinematics();
  return {.target = gently_bent_tip(robot), .reach = robot.max_length() + base.feed_limit};
}

}  // namespace tendril
