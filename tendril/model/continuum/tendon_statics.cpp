#include "tendril/model/continuum/tendon_statics.hpp"

#include <fmt/format.h>

#include <Eigen/QR>
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <tuple>

#include "tendril/kinematics/tension_distribution.hpp"
#include "tendril/model/continuum/description.hpp"
#include "tendril/model/toml_fields.hpp"

namespace tendril {
namespace {

/// Collects a value of every tendon and then of every chamber.
template <class OfTendon, class OfChamber>
auto collect(const ContinuumDescription& robot, const OfTendon& of_tendon,
             const OfChamber& of_chamber) {
  std::vector<decltype(of_tendon(robot.tendons.front()))> all;
  for (const Tendon& tendon : robot.tendons) all.push_back(of_tendon(tendon));
  for (const Chamber& chamber : robot.chambers) all.push_back(of_chamber(chamber));
  return all;
}

/// Tells whether only tendons and chambers set the length of a section.
bool has_free_length(const ContinuumDescription& robot, std::size_t section) {
  return robot.sections[section].variable_length > 0.0 &&
         !is_driven(robot.physics[section].length_drive);
}

/// Tells whether these moments of unit forces can be had by forces > 0 in every direction: that is
/// so if some of these make no moment and all ranks are there.
bool balance(const Eigen::MatrixXd& moments) {
  constexpr double kTolerance = 1e-3;  // of what a tendon at 1 makes
  const auto count = moments.cols();
  // Small limits first: the forces are as exact as a part of their largest.
  return std::ranges::any_of(std::array{10.0, 1e2, 1e3, 1e4}, [&](double most) {
    TensionDistribution distribution(moments, Eigen::VectorXd::Ones(count),
                                     Eigen::VectorXd::Constant(count, most));
    Eigen::VectorXd forces(count);
    const auto result = distribution.distribute(Eigen::VectorXd::Zero(moments.rows()), forces);
    return result.error <= kTolerance * moments.cwiseAbs().maxCoeff();
  });
}

/// The rank; an angle that was rounded to pi makes none.
Eigen::Index rank(const Eigen::MatrixXd& moments) {
  constexpr double kRounded = 1e-5;
  Eigen::FullPivHouseholderQR<Eigen::MatrixXd> decomposition(moments);
  decomposition.setThreshold(kRounded);
  return decomposition.rank();
}

/// Moments and forces of the body against coordinates.
Eigen::VectorXd body_moments(const ContinuumDescription& robot, const ContinuumRobot& kinematics,
                             const Eigen::VectorXd& q) {
  Eigen::VectorXd moments = Eigen::VectorXd::Zero(q.size());
  for (int i = 0; i < kinematics.section_count(); ++i) {
    const auto section = static_cast<std::size_t>(i);
    const int k = kinematics.coordinate_index(i);
    const SectionPhysics& physics = robot.physics[section];
    for (int axis = 0; axis < 2; ++axis) {
      moments[k + axis] = (q[k + axis] - physics.natural_bend[static_cast<std::size_t>(axis)]) *
                          physics.bending_stiffness / physics.unloaded_length;
    }
    if (kinematics.section(i).is_extensible())
      moments[k + 2] = physics.axial_stiffness *
                       (robot.sections[section].length + q[k + 2] - physics.unloaded_length);
  }
  return moments;
}

/// The pressure that gives a chamber this tension; of a muscle, contracted by its length.
double command_of(const ContinuumDescription& robot, const Chamber& chamber, double length,
                  double tension) {
  double gain = chamber.tension_per_pressure();
  if (!chamber.pushes())
    gain *= 1.0 + length / (rest_length(robot, chamber.route) * chamber.free_contraction());
  return tension / gain;
}

/// @param length  that the bends give it
/// @param tension  that it has
double command_of(const Tendon& tendon, double length, double tension) {
  return tendon.command == TendonCommand::Tension
             ? tension
             : length - (tension - tendon.pretension) / tendon.stiffness;
}

}  // namespace

int tendon_count(const ContinuumDescription& robot) {
  return static_cast<int>(robot.tendons.size() + robot.chambers.size());
}

std::vector<std::string> tendon_names(const ContinuumDescription& robot) {
  const auto name = [](const auto& one) { return one.name; };
  return collect(robot, name, name);
}

std::vector<TendonRoute> tendon_routes(const ContinuumDescription& robot) {
  const auto route = [](const auto& one) { return one.route; };
  return collect(robot, route, route);
}

std::vector<std::pair<double, double>> tension_ranges(const ContinuumDescription& robot) {
  return collect(
      robot, [](const Tendon& t) { return std::pair(t.pretension, t.max_tension); },
      [](const Chamber& c) {
        const double gain = c.tension_per_pressure();
        const auto [low, high] = std::minmax({gain * c.min_pressure, gain * c.max_pressure});
        return std::pair(low, high);
      });
}

bool is_passive(const ContinuumDescription& robot, std::size_t section) {
  const std::vector<TendonRoute> routes = tendon_routes(robot);
  return robot.physics[section].gives_way &&
         std::none_of(routes.begin(), routes.end(), [&](const TendonRoute& route) {
           return static_cast<std::size_t>(route.section) == section;
         });
}

std::vector<Eigen::Index> coordinates_of_tendons(const ContinuumDescription& robot) {
  const ContinuumRobot kinematics = robot.kinematics();
  std::vector<Eigen::Index> rows;
  for (int i = 0; i < kinematics.section_count(); ++i) {
    const auto section = static_cast<std::size_t>(i);
    const bool is_free = !is_driven(robot.physics[section].bend) && !is_passive(robot, section);
    const int k = kinematics.coordinate_index(i);
    if (is_free)
      for (const int direction : bend_directions(robot.sections[section]))
        rows.push_back(k + direction);
    if (has_free_length(robot, section)) rows.push_back(k + 2);
  }
  return rows;
}

namespace {

/// Moments of unit tensions on all coordinates.
Eigen::MatrixXd all_moments(const ContinuumDescription& robot, const ContinuumRobot& kinematics) {
  Eigen::MatrixXd moments = -TendonMap(kinematics, tendon_routes(robot)).jacobian().transpose();
  for (int i = 0; i < kinematics.section_count(); ++i) {
    const int k = kinematics.coordinate_index(i);
    switch (kinematics.section(i).bend_plane()) {
      case BendPlane::Any:
        drop_weak_direction(moments.middleRows<2>(k));
        break;
      case BendPlane::XZ:
        moments.row(k + 1).setZero();
        break;
      case BendPlane::YZ:
        moments.row(k).setZero();
    }
  }
  return moments;
}

}  // namespace

Eigen::MatrixXd moments_of_tendons(const ContinuumDescription& robot) {
  return all_moments(robot, robot.kinematics())(coordinates_of_tendons(robot), Eigen::all);
}

namespace {

/// The last section that its tendons and chambers cannot bend in every direction, or whose length
/// they do not set, of those that `needs_bend`.
template <class NeedsBend>
std::optional<int> undriven_section(const ContinuumDescription& robot,
                                    const NeedsBend& needs_bend) {
  Eigen::MatrixXd moments = moments_of_tendons(robot);
  // Of the forces in the direction in which each acts.
  for (std::size_t c = 0; c < robot.chambers.size(); ++c)
    if (robot.chambers[c].pushes())
      moments.col(static_cast<Eigen::Index>(robot.tendons.size() + c)) *= -1.0;
  auto row = moments.rows();
  std::vector<Eigen::Index> bends, needed;  // rows
  for (std::size_t i = robot.sections.size(); i-- > 0;) {
    const bool has_length = !has_free_length(robot, i);
    if (!has_length) needed.push_back(--row);
    const bool has_rows = !is_driven(robot.physics[i].bend) && !is_passive(robot, i);
    const bool has_bend = is_driven(robot.physics[i].bend) || !needs_bend(i);
    if (!has_bend && !has_rows) return static_cast<int>(i);  // passive
    for (std::size_t k = bend_directions(robot.sections[i]).size(); has_rows && k > 0; --k) {
      --row;
      if (has_bend) continue;
      bends.push_back(row);
      needed.push_back(row);
    }
    if (has_bend && has_length) continue;
    const Eigen::MatrixXd after = moments(needed, Eigen::all);
    if (after.cols() == 0 || rank(after) < after.rows()) return static_cast<int>(i);
    // A length goes back by itself.
    if (!bends.empty() && !balance(moments(bends, Eigen::all))) return static_cast<int>(i);
  }
  return std::nullopt;
}

}  // namespace

std::optional<int> section_without_drive(const ContinuumDescription& robot) {
  return undriven_section(robot, [&](std::size_t i) { return !robot.physics[i].gives_way; });
}

std::optional<int> section_driven_in_part(const ContinuumDescription& robot) {
  return undriven_section(robot, [](std::size_t) { return true; });
}

namespace {

/// What ends in section `i`, for the message that it is not enough.
std::string routes_text(const ContinuumDescription& robot, std::size_t i) {
  std::string angles;
  int count = 0;
  bool exceeds_turn = false;
  for (const TendonRoute& route : tendon_routes(robot)) {
    if (static_cast<std::size_t>(route.section) != i) continue;
    angles += fmt::format("{}{:.4g}", count++ == 0 ? "" : ", ", route.angle);
    exceeds_turn = exceeds_turn || std::abs(route.angle) > 2.0 * std::numbers::pi;
  }
  if (count == 0)
    return "; none ends here, and bend_servo = true would give it a servo, false let it be passive";
  return fmt::format(
      "; here end {}, angle = {} rad{}", count, angles,
      exceeds_turn ? ": is the unit rad, not degrees?" : "; bend_servo = false allows that");
}

/// Refuses passive sections with a controller of this project that commands every section. A
/// controller that an experiment names instead says so itself.
void refuse_passive(const Fields& top, const ContinuumDescription& robot) {
  const std::string& plugin = robot.controller.plugin;
  if (!plugin.starts_with("tendril.") || plugin == "tendril.steer" || plugin == "tendril.reach" ||
      plugin == "tendril.follow")
    return;
  for (std::size_t i = 0; i < robot.sections.size(); ++i)
    if (is_passive(robot, i))
      top.tables("section")[i].refuse(
          "bend_servo",
          fmt::format("the section is passive and cannot be bent by {}: must be true, or the "
                      "controller tendril.reach, tendril.steer, tendril.follow or one of your own",
                      plugin));
}

}  // namespace

void require_drives(const Fields& top, const ContinuumDescription& robot) {
  refuse_passive(top, robot);
  const std::optional<int> section = section_without_drive(robot);
  if (!section) return;
  const auto i = static_cast<std::size_t>(*section);
  const std::string reason =
      is_driven(robot.physics[i].bend)
          ? "has no length servo, and nothing sets its length: a controller needs one, or a chamber"
      : has_free_length(robot, i)
          ? "has no servos and cannot be bent in every direction and lengthened: a controller "
            "needs "
            "at least three chambers or tendons around the backbone that end in it"
      : robot.sections[i].bend_plane != BendPlane::Any
          ? "has no bend servo and cannot be bent both ways: a controller needs two tendons or "
            "chambers on opposite sides"
          : "has no bend servo and cannot be bent in every direction: a controller needs at least "
            "three tendons or chambers around the backbone that end in it";
  top.tables("section")[i].refuse_object(
      is_driven(robot.physics[i].bend) ? reason : reason + routes_text(robot, i));
}

void refuse_tendons_in_guide(const Fields& top, const ContinuumDescription& robot) {
  if (!robot.guide.exists()) return;
  const auto refuse = [&](const char* table, std::size_t i, const TendonRoute& route) {
    double start = 0.0;  // of the first section that it bends
    for (int k = 0; k < route.first_section; ++k)
      start += rest_length(robot.sections[static_cast<std::size_t>(k)]);
    if (start >= robot.guide.length) return;
    top.tables(table)[i].refuse_object(
        fmt::format("would bend links inside the guide: the first section that it bends begins "
                    "{:.4g} m from the base, must begin past guide_length = {:.4g} m",
                    start, robot.guide.length));
  };
  for (std::size_t i = 0; i < robot.tendons.size(); ++i)
    refuse("tendon", i, robot.tendons[i].route);
  for (std::size_t i = 0; i < robot.chambers.size(); ++i)
    refuse("chamber", i, robot.chambers[i].route);
}

TendonCommands tendon_commands(const ContinuumDescription& robot, const Eigen::VectorXd& q) {
  const auto count = static_cast<Eigen::Index>(tendon_count(robot));
  const ContinuumRobot kinematics = robot.kinematics();
  const TendonMap map(kinematics, tendon_routes(robot));
  const Eigen::VectorXd moments = body_moments(robot, kinematics, q);
  Eigen::VectorXd low(count), high(count), tensions(count), lengths(count);
  const std::vector<std::pair<double, double>> ranges = tension_ranges(robot);
  for (Eigen::Index t = 0; t < count; ++t)
    std::tie(low[t], high[t]) = ranges[static_cast<std::size_t>(t)];
  TensionDistribution distribution(moments_of_tendons(robot), low, high);
  const auto found = distribution.distribute(moments(coordinates_of_tendons(robot)), tensions);
  map.lengths(q, lengths);
  Eigen::Index t = -1;
  return {.values = collect(
              robot,
              [&](const Tendon& tendon) {
                ++t;
                return command_of(tendon, lengths[t], tensions[t]);
              },
              [&](const Chamber& chamber) {
                ++t;
                return command_of(robot, chamber, lengths[t], tensions[t]);
              }),
          .reached = found.reached};
}

namespace {

/// Stiffness of the body against each coordinate [N m/rad], [N/m].
Eigen::VectorXd body_stiffness(const ContinuumDescription& robot,
                               const ContinuumRobot& kinematics) {
  Eigen::VectorXd stiffness(kinematics.coordinate_count());
  for (int i = 0; i < kinematics.section_count(); ++i) {
    const SectionPhysics& physics = robot.physics[static_cast<std::size_t>(i)];
    const int k = kinematics.coordinate_index(i);
    stiffness.segment<2>(k).setConstant(physics.bend_stiffness());
    if (kinematics.section(i).is_extensible()) stiffness[k + 2] = physics.axial_stiffness;
  }
  return stiffness;
}

/// A coordinate that a servo moves, and its range.
struct ServoCoordinate {
  Eigen::Index coordinate;
  double low, high;
};

std::vector<ServoCoordinate> servo_coordinates(const ContinuumDescription& robot,
                                               const ContinuumRobot& kinematics) {
  std::vector<ServoCoordinate> all;
  for (int i = 0; i < kinematics.section_count(); ++i) {
    const SectionPhysics& physics = robot.physics[static_cast<std::size_t>(i)];
    const Section& section = kinematics.section(i);
    const int k = kinematics.coordinate_index(i);
    const double limit = section.bend_angle_limit();
    if (is_driven(physics.bend))
      for (const int direction : bend_directions(robot.sections[static_cast<std::size_t>(i)]))
        all.push_back({k + direction, -limit, limit});
    if (section.is_extensible() && is_driven(physics.length_drive))
      all.push_back({k + 2, section.retracted(), section.variable_length()});
  }
  return all;
}

/// Tells whether tensions move a coordinate both ways.
bool is_balanced(const Eigen::MatrixXd& moments, Eigen::Index coordinate) {
  return (moments.row(coordinate).array() > 0.0).any() &&
         (moments.row(coordinate).array() < 0.0).any();
}

}  // namespace

Actuation actuation(const ContinuumDescription& robot) {
  const ContinuumRobot kinematics = robot.kinematics();
  if (kinematics.bends_in_any_plane() && !section_driven_in_part(robot)) return {};
  const Eigen::Index n = kinematics.coordinate_count();
  const std::vector<ServoCoordinate> servos = servo_coordinates(robot, kinematics);
  const Eigen::VectorXd stiffness = body_stiffness(robot, kinematics);
  Eigen::MatrixXd moments = all_moments(robot, kinematics);
  for (const ServoCoordinate& servo : servos) moments.row(servo.coordinate).setZero();
  const Eigen::MatrixXd bends = stiffness.cwiseInverse().asDiagonal() * moments;

  Actuation actuation;
  actuation.driven = Eigen::MatrixXd::Zero(n, n);
  actuation.rest = -body_moments(robot, kinematics, Eigen::VectorXd::Zero(n));
  actuation.rest.array() /= stiffness.array();
  actuation.compliance = stiffness.cwiseInverse();
  for (int i = 0; i < kinematics.section_count(); ++i) {
    const SectionParameters& section = robot.sections[static_cast<std::size_t>(i)];
    if (section.bend_plane != BendPlane::Any)
      actuation.compliance[kinematics.coordinate_index(i) + 1 - first_direction(section)] = 0.0;
  }
  std::vector<Eigen::VectorXd> columns;
  std::vector<double> low, high;
  for (const ServoCoordinate& servo : servos) {
    columns.push_back(Eigen::VectorXd::Unit(n, servo.coordinate));
    low.push_back(servo.low);
    high.push_back(servo.high);
    actuation.driven(servo.coordinate, servo.coordinate) = 1.0;
    actuation.rest[servo.coordinate] = actuation.compliance[servo.coordinate] = 0.0;
  }
  const std::vector<std::pair<double, double>> ranges = tension_ranges(robot);
  for (Eigen::Index t = 0; t < bends.cols(); ++t) {
    const double size = bends.col(t).norm();
    if (size == 0.0) continue;  // it bends sections with servos alone
    columns.emplace_back(bends.col(t) / size);
    low.push_back(size * ranges[static_cast<std::size_t>(t)].first);
    high.push_back(size * ranges[static_cast<std::size_t>(t)].second);
  }
  const auto count = static_cast<Eigen::Index>(columns.size());
  actuation.directions.resize(n, count);
  for (Eigen::Index j = 0; j < count; ++j)
    actuation.directions.col(j) = columns[static_cast<std::size_t>(j)];
  actuation.low = Eigen::Map<const Eigen::VectorXd>(low.data(), count);
  actuation.high = Eigen::Map<const Eigen::VectorXd>(high.data(), count);

  // The tensions of least squares that TendonDrive finds for moments, and the bends that they make.
  const std::vector<Eigen::Index> rows = coordinates_of_tendons(robot);
  if (!rows.empty() && moments.cols() > 0) {
    const Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> decomposition(
        moments(rows, Eigen::all));
    actuation.driven(Eigen::all, rows) +=
        bends * decomposition.pseudoInverse() * stiffness(rows).asDiagonal();
  }
  for (Eigen::Index k = 0; k < n; ++k) {
    const bool alone = actuation.driven.row(k).isApprox(Eigen::RowVectorXd::Unit(n, k), 1e-6);
    const bool by_servo = moments.row(k).isZero(0.0);
    actuation.independent.push_back(alone && (by_servo || is_balanced(moments, k)));
  }
  return actuation;
}

std::vector<double> tendon_start_commands(const ContinuumDescription& robot) {
  const auto count = static_cast<std::size_t>(tendon_count(robot));
  if (count == 0 || !robot.start || robot.start->bends.empty())
    return std::vector<double>(count, 0.0);
  const ContinuumRobot kinematics = robot.kinematics();
  Eigen::VectorXd q = Eigen::VectorXd::Zero(kinematics.coordinate_count());
  for (int i = 0; i < kinematics.section_count(); ++i) {
    const int k = kinematics.coordinate_index(i);
    const auto section = static_cast<std::size_t>(i);
    q[k + first_direction(robot.sections[section])] = robot.start->bends[section];
    if (kinematics.section(i).is_extensible())  // the start pose's lengths are at half their range
      q[k + 2] = kinematics.section(i).variable_length() / 2.0;
  }
  return tendon_commands(robot, q).values;
}

}  // namespace tendril
