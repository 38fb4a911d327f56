#include "tendril/robot_file/tendon_file.hpp"

#include <fmt/format.h>

#include <Eigen/QR>
#include <algorithm>
#include <array>
#include <cmath>

#include "tendril/kinematics/tension_distribution.hpp"

namespace tendril {
namespace {

constexpr std::array<std::string_view, 10> kTendonKeys{
    "name",        "section",    "angle",     "distance",     "command",
    "max_tension", "pretension", "stiffness", "damping_time", "friction"};
constexpr std::array<std::string_view, 3> kServoKeys{"bend_gain", "bend_damping_time",
                                                     "bend_torque_limit"};
constexpr int kMaxTendons = 100;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string read_name(const Fields& fields, std::size_t number, std::span<const Tendon> others) {
  const std::string name = fields.text("name", fmt::format("tendon_{}", number));
  if (name.empty() || !is_letter(name.front()) ||
      !std::all_of(name.begin(), name.end(),
                   [](char c) { return is_letter(c) || is_digit(c) || c == '_'; })) {
    fields.refuse("name", "must be letters, digits and _, a letter first");
  }
  const bool is_own = name == "feed" || name == "spin" ||
                      (name.size() > 1 && name[0] == 's' && is_digit(name[1]));
  if (is_own) fields.refuse("name", "is a name of the model's own: not feed, spin, s1 ...");
  for (const Tendon& other : others) {
    if (other.name == name) fields.refuse("name", "must not be that of another tendon");
  }
  return name;
}

TendonRoute read_route(const Fields& fields, const ContinuumDescription& robot) {
  const int sections = static_cast<int>(robot.sections.size());
  TendonRoute route;
  route.section = fields.integer("section", sections, 1, sections) - 1;
  route.angle = fields.required_number("angle", kAnyNumber);
  constexpr double kAcross = 1e-6;
  if (robot.planar && std::abs(std::cos(route.angle)) < kAcross)
    fields.refuse("angle", "must not be across the plane of a planar arm: it would not bend it");
  constexpr std::string_view kDistance =
      "must be > 0, or two such numbers [at the base, at its end]: a tendon in the axis bends nothing";
  const toml::node* const distance = fields.get("distance");
  if (distance == nullptr) fields.missing("distance", "is missing, from the backbone in m");
  if (distance->is_array()) {
    const std::vector<double> ends = fields.elements("distance", *distance, 2, kAnyNumber);
    route.base_distance = ends[0];
    route.end_distance = ends[1];
  } else {
    route.base_distance = route.end_distance = fields.required_number("distance", kAnyNumber);
  }
  if (route.base_distance <= 0.0 || route.end_distance <= 0.0) fields.refuse("distance", kDistance);
  return route;
}

Tendon read_tendon(const Fields& fields, std::size_t number, const ContinuumDescription& robot) {
  fields.refuse_unknown(kTendonKeys);
  Tendon tendon;
  tendon.name = read_name(fields, number, robot.tendons);
  tendon.route = read_route(fields, robot);
  tendon.command = fields.choice<TendonCommand>(
      "command", {{"length", TendonCommand::Length}, {"tension", TendonCommand::Tension}});
  tendon.max_tension = fields.number("max_tension", tendon.max_tension, kPositiveNumber);
  tendon.pretension =
      fields.number("pretension", std::min(tendon.pretension, tendon.max_tension / 2.0),
                    {.low = 0.0, .high = tendon.max_tension, .open_high = true});
  if (tendon.command == TendonCommand::Tension) {
    for (const char* key : {"stiffness", "damping_time"}) {
      if (fields.has(key))
        fields.refuse(key, "needs command = \"length\": a tension does not depend on the length");
    }
  }
  tendon.stiffness = fields.number("stiffness", tendon.stiffness, kPositiveNumber);
  tendon.damping_time = fields.number("damping_time", tendon.damping_time, kNotNegativeNumber);
  tendon.friction = fields.number("friction", tendon.friction, kNotNegativeNumber);
  return tendon;
}

}  // namespace

void read_tendons(const Fields& top, ContinuumDescription& robot) {
  const std::vector<Fields> tables = top.tables("tendon");
  for (const Fields& fields : tables) {
    if (robot.tendons.size() == kMaxTendons)
      fields.refuse_object(fmt::format("a robot may have {} tendons at most", kMaxTendons));
    robot.tendons.push_back(read_tendon(fields, robot.tendons.size() + 1, robot));
  }
  if (!tables.empty() && robot.base_physics.guide_length > 0.0) {
    tables.front().refuse_object(
        "an arm in a guide cannot have tendons: they would bend the links inside it");
  }
  const std::vector<Fields> sections = top.tables("section");
  for (std::size_t i = 0; i < sections.size(); ++i) {
    SectionPhysics& physics = robot.physics[i];
    const bool has_tendons =
        std::any_of(robot.tendons.begin(), robot.tendons.end(), [&](const Tendon& tendon) {
          return tendon.route.section >= static_cast<int>(i);
        });
    physics.bend_servo = sections[i].boolean("bend_servo", !has_tendons);
    if (physics.bend_servo) continue;
    for (const std::string_view key : kServoKeys) {
      if (sections[i].has(key))
        sections[i].refuse(key, has_tendons ? "the section is bent by its tendons; needs "
                                              "bend_servo = true, a servo besides them"
                                            : "needs bend_servo = true");
    }
  }
}

std::vector<Eigen::Index> coordinates_of_tendons(const ContinuumDescription& robot) {
  const ContinuumRobot kinematics = robot.kinematics();
  std::vector<Eigen::Index> rows;
  for (int i = 0; i < kinematics.section_count(); ++i) {
    if (robot.physics[static_cast<std::size_t>(i)].bend_servo) continue;
    rows.push_back(kinematics.coordinate_index(i));
    if (!robot.planar) rows.push_back(kinematics.coordinate_index(i) + 1);
  }
  return rows;
}

Eigen::MatrixXd moments_of_tendons(const ContinuumDescription& robot) {
  const TendonMap map(robot.kinematics(), tendon_routes(robot));
  return -map.jacobian()(Eigen::all, coordinates_of_tendons(robot)).transpose();
}

std::optional<int> section_without_drive(const ContinuumDescription& robot) {
  const Eigen::MatrixXd moments = moments_of_tendons(robot);
  const int rows_each = robot.planar ? 1 : 2;
  auto row = moments.rows();
  for (std::size_t i = robot.sections.size(); i-- > 0;) {
    if (robot.physics[i].bend_servo) continue;
    row -= rows_each;
    // Every moment is one of tensions > 0 if some of these make no moment and all ranks are there.
    const Eigen::MatrixXd beyond = moments.bottomRows(moments.rows() - row);
    const auto count = beyond.cols();
    if (count == 0 || beyond.fullPivHouseholderQr().rank() < beyond.rows())
      return static_cast<int>(i);
    constexpr double kMost = 1e4;
    TensionDistribution balance(beyond, Eigen::VectorXd::Ones(count),
                                Eigen::VectorXd::Constant(count, kMost));
    Eigen::VectorXd tensions(count);
    // In units of what a tendon at 1 makes.
    const double error = balance.distribute(Eigen::VectorXd::Zero(beyond.rows()), tensions).error;
    if (error > 1e-3 * beyond.cwiseAbs().maxCoeff()) return static_cast<int>(i);
  }
  return std::nullopt;
}

void require_drives(const Fields& top, const ContinuumDescription& robot) {
  const std::optional<int> section = section_without_drive(robot);
  if (!section) return;
  top.tables("section")[static_cast<std::size_t>(*section)].refuse_object(
      robot.planar ? "has no bend servo and cannot be bent both ways: a controller needs two tendons "
                     "on opposite sides"
                   : "has no bend servo and cannot be bent in every direction: a controller needs "
                     "at least three tendons around the backbone that end in it");
}

}  // namespace tendril
