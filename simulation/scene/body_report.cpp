#include "simulation/scene/body_report.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string_view>

#include "simulation/engine/divergence.hpp"
#include "simulation/engine/engine.hpp"
#include "tendril/kinematics/tendon_map.hpp"
#include "tendril/model/continuum/mjcf.hpp"
#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model_error.hpp"

namespace tendril::simulation {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kGravity = 9.81;  // [m/s^2]
constexpr int kFrequencies = 3;

/// The compiled arm, z of its base straight on, and the forces on its joints.
class Body {
 public:
  explicit Body(const ContinuumDescription& robot) {
    load_engine();
    ContinuumDescription bare = robot;
    bare.controller = {};
    bare.base = {};  // held
    bare.guide = {};
    std::erase_if(bare.parts, [](const auto& part) { return part->has_joints(); });
    char error[1024] = "";
    const SpecPtr spec(mj_parseXMLString(model_mjcf(bare, std::vector<std::string>{}).c_str(),
                                         nullptr, error, sizeof error));
    for (const auto& part : robot.parts)
      if (spec && part->has_joints()) add_sphere(*spec, robot, *part);
    if (spec) model_.reset(mj_compile(spec.get(), nullptr));
    if (!model_) {
      throw ModelError(
          fmt::format("{}: {}", robot.name, one_line(spec ? mjs_getError(spec.get()) : error)));
    }
    disable_autoreset(*model_);
    model_->opt.disableflags |= mjDSBL_CONTACT;
    for (int j = 0; j < model_->njnt; ++j) {  // of the straight arm
      const int q = model_->jnt_qposadr[j];
      if (model_->jnt_type[j] == mjJNT_HINGE) model_->qpos_spring[q] = model_->qpos0[q];
    }
    data_ = make_data(*model_);
    tip_ = mj_name2id(model_.get(), mjOBJ_SITE, names::kTip);
    // The servos hold the arm as it is: force = gain u + b0 + b1 length = 0. With commands 0
    // tendons have their pretension.
    mj_forward(model_.get(), data_.get());
    const std::vector<std::string> tendons = tendon_names(robot);
    for (int i = 0; i < model_->nu; ++i) {
      const auto is_own = [&](const std::string& name) { return id(mjOBJ_ACTUATOR, name) == i; };
      if (std::any_of(tendons.begin(), tendons.end(), is_own)) continue;
      const mjtNum* const bias = model_->actuator_biasprm + mjNBIAS * i;
      const double gain = model_->actuator_gainprm[mjNGAIN * i];
      if (gain != 0.0) data_->ctrl[i] = -(bias[0] + bias[1] * data_->actuator_length[i]) / gain;
    }
  }

  mjModel& model() { return *model_; }
  mjData& data() { return *data_; }
  [[nodiscard]] int id(mjtObj type, const std::string& name) const {
    return mj_name2id(model_.get(), type, name.c_str());
  }
  [[nodiscard]] int size() const { return static_cast<int>(model_->nv); }

  /// Across the arm [m/s^2].
  void set_gravity(double gravity) {
    model_->opt.gravity[0] = gravity;
    model_->opt.gravity[1] = model_->opt.gravity[2] = 0.0;
  }
  void set_driven(bool driven) {
    if (driven)
      model_->opt.disableflags &= ~mjDSBL_ACTUATION;
    else
      model_->opt.disableflags |= mjDSBL_ACTUATION;
  }

  /// Forces on the joints at rest.
  VectorXd forces(const VectorXd& q) {
    std::copy_n(q.data(), size(), data_->qpos);
    std::fill_n(data_->qvel, size(), 0.0);
    mj_fwdPosition(model_.get(), data_.get());
    mj_fwdVelocity(model_.get(), data_.get());
    mj_fwdActuation(model_.get(), data_.get());
    const auto vector = [&](const mjtNum* x) { return Eigen::Map<const VectorXd>(x, size()); };
    return vector(data_->qfrc_passive) + vector(data_->qfrc_actuator) - vector(data_->qfrc_bias);
  }

  /// -df/dq, symmetric at rest without gravity.
  MatrixXd stiffness(const VectorXd& q) {
    constexpr double kStep = 1e-6;
    MatrixXd K(size(), size());
    for (int i = 0; i < size(); ++i) {
      VectorXd p = q;
      p[i] += kStep;
      const VectorXd above = forces(p);
      p[i] -= 2.0 * kStep;
      K.col(i) = (forces(p) - above) / (2.0 * kStep);
    }
    (void)forces(q);
    return K;
  }

  MatrixXd inertia() {
    using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    Rows M(size(), size());
    mj_fullM(model_.get(), data_.get(), M.data());
    return M;
  }

  /// Returns the Jacobian of the tip across the arm.
  VectorXd tip_jacobian() {
    std::vector<mjtNum> J(static_cast<std::size_t>(3 * size()));
    mj_jacSite(model_.get(), data_.get(), J.data(), nullptr, tip_);
    return Eigen::Map<const VectorXd>(J.data(), size());  // the row of x
  }
  [[nodiscard]] bool is_twist(int dof) const {
    const char* const name = mj_id2name(model_.get(), mjOBJ_JOINT, model_->dof_jntid[dof]);
    return name != nullptr && std::string_view(name).ends_with("_twist");
  }
  [[nodiscard]] bool is_slide(int dof) const {
    return model_->jnt_type[model_->dof_jntid[dof]] == mjJNT_SLIDE;
  }
  /// Returns the stiffness of the twist hinges in series [N m/rad]; infinite without any.
  [[nodiscard]] double torsional_stiffness() const {
    double compliance = 0.0;
    for (int i = 0; i < size(); ++i)
      if (is_twist(i)) compliance += 1.0 / model_->jnt_stiffness[model_->dof_jntid[i]];
    return 1.0 / compliance;
  }
  Eigen::Vector3d tip() const { return Eigen::Vector3d::Map(data_->site_xpos + 3 * tip_); }
  VectorXd start() const { return Eigen::Map<const VectorXd>(model_->qpos0, size()); }

 private:
  /// Adds a sphere that represents a part of the arm.
  static void add_sphere(mjSpec& spec, const ContinuumDescription& robot, const ArmPart& part) {
    const auto section = robot.sections.size();
    const std::vector<double> lengths = link_layout(robot, section - 1).length;
    const double radius = robot.physics.back().radius.end;
    mjsBody* const link = mjs_findBody(
        &spec, names::link(static_cast<int>(section), static_cast<int>(lengths.size())).c_str());
    mjsBody* const body = mjs_addBody(link, nullptr);
    mjsGeom* const sphere = mjs_addGeom(body, nullptr);
    sphere->type = mjGEOM_SPHERE;
    sphere->size[0] = radius;
    const PartLoad load = part.load(radius);
    sphere->mass = load.mass;
    body->pos[2] = rest_length(robot.sections.back()) * lengths.back() / 2.0 + load.height;
  }

  ModelPtr model_;
  DataPtr data_;
  int tip_ = -1;
};

/// Moves q to rest, by Newton's method with bounded steps; false: it finds none.
bool come_to_rest(Body& body, VectorXd& q) {
  constexpr double kLargestStep = 0.2;  // of a joint [rad or m]
  constexpr double kRest = 1e-9;
  constexpr int kIterations = 30;
  for (int k = 0; k < kIterations; ++k) {
    const MatrixXd K = body.stiffness(q);
    VectorXd step = K.partialPivLu().solve(body.forces(q));
    if (!step.allFinite()) return false;
    const double size = step.cwiseAbs().maxCoeff();
    if (size > kLargestStep) step *= kLargestStep / size;
    q += step;
    if (size < kRest) return true;
  }
  return false;
}

/// The tip's path from rest at 0 g to rest at 1 g across the arm, which grows from 0. No value
/// where it finds no rest.
std::optional<double> sag(Body& body) {
  constexpr int kParts = 10;          // of gravity
  constexpr double kRounding = 1e-9;  // [m]
  VectorXd q = body.start();
  bool resting = come_to_rest(body, q);
  (void)body.forces(q);
  const Eigen::Vector3d unloaded = body.tip();
  for (int part = 1; part <= kParts && resting; ++part) {
    body.set_gravity(kGravity * part / kParts);
    resting = come_to_rest(body, q);
  }
  (void)body.forces(q);
  const double moved = (body.tip() - unloaded).norm();
  body.set_gravity(0.0);
  if (!resting) return std::nullopt;
  return moved < kRounding ? 0.0 : moved;
}

BodyReport::Response response(Body& body, bool driven, BodyReport::Torsion* torsion = nullptr) {
  body.set_driven(driven);
  body.set_gravity(0.0);
  const VectorXd start = body.start();
  const MatrixXd K = body.stiffness(start);
  const MatrixXd symmetric = 0.5 * (K + K.transpose());
  const VectorXd J = body.tip_jacobian();
  BodyReport::Response result;
  result.tip_stiffness = 1.0 / J.dot(symmetric.ldlt().solve(J));
  const MatrixXd M = body.inertia();
  const Eigen::GeneralizedSelfAdjointEigenSolver<MatrixXd> modes(symmetric, M);
  for (Eigen::Index k = 0; k < modes.eigenvalues().size(); ++k) {
    const double value = modes.eigenvalues()[k];
    if (!(value > 0.0)) continue;
    const double frequency = std::sqrt(value) / (2.0 * std::numbers::pi);
    const VectorXd x = modes.eigenvectors().col(k), Mx = M * x;
    double twisting = 0.0, lengthening = 0.0;
    for (int i = 0; i < body.size(); ++i) {
      if (body.is_twist(i)) twisting += x[i] * Mx[i];
      if (body.is_slide(i)) lengthening += x[i] * Mx[i];
    }
    if (twisting > 0.5 * x.dot(Mx)) {
      if (torsion && torsion->frequency == 0.0) torsion->frequency = frequency;
      continue;
    }
    if (lengthening > 0.5 * x.dot(Mx)) continue;
    if (std::ssize(result.frequencies) == kFrequencies) continue;
    // Bending across x and y has equal frequencies.
    if (!result.frequencies.empty() && frequency < 1.001 * result.frequencies.back()) continue;
    result.frequencies.push_back(frequency);
  }
  result.sag = sag(body);
  return result;
}

enum class StepResponse { Diverges, Moves, Rests };
constexpr double kResponseTime = 3.0;  // [s]

/// Returns what the arm does after a step of its commands.
StepResponse step_response(const ContinuumDescription& robot, double timestep) {
  constexpr double kRestSpeed = 0.2;  // of every joint [rad/s or m/s]
  ContinuumDescription stepped = robot;
  stepped.timestep = timestep;
  if (robot.integrator == Integrator::Discrete) stepped.numerical_damping_time = timestep;
  Body body(stepped);
  body.set_gravity(kGravity);
  mjModel& model = body.model();
  mjData& data = body.data();
  stepped.start.emplace();
  for (std::size_t i = 0; i < robot.sections.size(); ++i) {
    const SectionPhysics& physics = robot.physics[i];
    const int section = static_cast<int>(i) + 1;
    const double bend = 0.5 * robot.sections[i].bend_angle_limit;
    stepped.start->bends.push_back(bend);
    const auto command = [&](const std::string& name, double value) {
      const int actuator = body.id(mjOBJ_ACTUATOR, name);
      if (actuator >= 0) data.ctrl[actuator] += value;
    };
    const double moment = bend * physics.bending_stiffness / physics.unloaded_length;
    const bool is_yz = robot.sections[i].bend_plane == BendPlane::YZ;
    const char axis = is_yz ? 'x' : 'y';
    const double sign = is_yz ? -1.0 : 1.0;  // of the hinges
    command(names::bend(section, axis), sign * (is_motor(physics.bend) ? moment : bend));
    for (int k = 1; k <= physics.links; ++k)
      command(names::hinge(section, k, axis), sign * bend / physics.links);
  }
  const std::vector<double> commands = tendon_start_commands(stepped);
  const std::vector<std::string> tendons = tendon_names(robot);
  for (std::size_t t = 0; t < commands.size(); ++t)
    data.ctrl[body.id(mjOBJ_ACTUATOR, tendons[t])] = commands[t];
  const DivergenceMonitor monitor(data);
  bool sound = true;
  for (int k = 0; sound && k * timestep < kResponseTime; ++k) {
    mj_step(&model, &data);
    sound = monitor.healthy(model, data);
  }
  if (!sound) return StepResponse::Diverges;
  const bool rests = std::all_of(data.qvel, data.qvel + model.nv,
                                 [](mjtNum speed) { return std::abs(speed) < kRestSpeed; });
  return rests ? StepResponse::Rests : StepResponse::Moves;
}

/// Sets the largest timesteps with which the arm rests, and with which it does not diverge.
void find_timesteps(const ContinuumDescription& robot, BodyReport& report) {
  bool rests = true;
  for (const double timestep : {0.0005, 0.001, 0.002, 0.004, 0.008, 0.016}) {
    const StepResponse response = step_response(robot, timestep);
    rests = rests && response == StepResponse::Rests;
    if (rests) report.timestep = timestep;
    if (response == StepResponse::Diverges) return;
    report.bounded_timestep = timestep;
    if (!rests && report.timestep) return;
  }
}

using DrivenBy = BodyReport::DrivenBy;

DrivenBy drive_of(const ContinuumDescription& robot, int section) {
  const Drive& drive = robot.physics[static_cast<std::size_t>(section)].bend;
  if (is_driven(drive)) return is_motor(drive) ? DrivenBy::Motor : DrivenBy::Servo;
  const auto runs_through = [section](const auto& one) { return one.route.runs_through(section); };
  if (std::any_of(robot.chambers.begin(), robot.chambers.end(), runs_through))
    return DrivenBy::Chambers;
  return std::any_of(robot.tendons.begin(), robot.tendons.end(), runs_through) ? DrivenBy::Tendons
                                                                               : DrivenBy::Nothing;
}

/// Largest moment that tendons and chambers hold on a section in every direction [N m], >= 0: the
/// least distance of a side of the polygon of their moments.
double moment_of_tendons(const ContinuumDescription& robot, const Eigen::MatrixXd& lengths,
                         int section) {
  const Eigen::Index column = robot.kinematics().coordinate_index(section);
  const std::vector<TendonRoute> routes = tendon_routes(robot);
  const std::vector<std::pair<double, double>> ranges = tension_ranges(robot);
  const auto ends_here = [&](const TendonRoute& route) { return route.section == section; };
  const bool all = std::none_of(routes.begin(), routes.end(), ends_here);
  const std::span<const int> directions =
      bend_directions(robot.sections[static_cast<std::size_t>(section)]);
  const bool both = directions.size() == 2;
  struct Pull {
    Eigen::Vector2d moment;  // of 1 N
    double low, high;
  };
  std::vector<Pull> pulls;
  for (std::size_t t = 0; t < routes.size(); ++t) {
    if (!routes[t].runs_through(section)) continue;
    auto [low, high] = ranges[t];
    if (!all && !ends_here(routes[t])) low = high = std::clamp(0.0, low, high);
    Eigen::Vector2d moment = -lengths.block<1, 2>(static_cast<Eigen::Index>(t), column).transpose();
    if (!both) moment[1 - directions.front()] = 0.0;
    pulls.push_back({moment, low, high});
  }
  const auto largest_along = [&](const Eigen::Vector2d& direction) {
    double sum = 0.0;
    for (const Pull& pull : pulls) {
      const double moment = pull.moment.dot(direction);
      sum += std::max(pull.low * moment, pull.high * moment);
    }
    return sum;
  };
  double held = std::numeric_limits<double>::infinity();
  const auto consider = [&](const Eigen::Vector2d& direction) {
    held = std::min({held, largest_along(direction), largest_along(-direction)});
  };
  if (!both) {
    consider(Eigen::Vector2d::Unit(directions.front()));
  } else {
    for (const Pull& pull : pulls)
      if (const double size = pull.moment.norm(); size > 0.0)
        consider(Eigen::Vector2d(-pull.moment.y(), pull.moment.x()) / size);
  }
  return std::isfinite(held) ? std::max(held, 0.0) : 0.0;
}

/// Weight at 1 g in the robot's medium [N].
double weight_of(const ContinuumDescription& robot, std::size_t section) {
  const SectionPhysics& physics = robot.physics[section];
  double mass = physics.mass;
  if (robot.medium) {
    const Taper& r = physics.radius;
    const double squared = (r.start * r.start + r.start * r.end + r.end * r.end) / 3.0;  // its mean
    mass -= robot.medium->displaced_mass(std::sqrt(squared), rest_length(robot.sections[section]));
  }
  return kGravity * mass;
}

std::vector<BodyReport::SectionBend> bends(const ContinuumDescription& robot) {
  std::vector<BodyReport::SectionBend> all(robot.sections.size());
  const Eigen::MatrixXd lengths = TendonMap(robot.kinematics(), tendon_routes(robot)).jacobian();
  // Of what is past a section's start, held horizontally.
  double weight = 0.0, moment = 0.0;
  for (const auto& part : robot.parts) {
    const PartLoad load = part->load(robot.physics.back().radius.end);
    weight += kGravity * load.mass;
    moment += kGravity * load.mass * load.height;
  }
  for (std::size_t i = all.size(); i-- > 0;) {
    const double length = rest_length(robot.sections[i]);
    const SectionPhysics& physics = robot.physics[i];
    const double own = weight_of(robot, i);
    moment += weight * length + own * length / 2.0;
    weight += own;
    const DrivenBy drive = drive_of(robot, static_cast<int>(i));
    double torque = 0.0;
    if (is_driven(physics.bend))
      torque = limit_of(physics.bend);
    else if (drive != DrivenBy::Nothing)
      torque = moment_of_tendons(robot, lengths, static_cast<int>(i));
    const double limit = robot.sections[i].bend_angle_limit;
    const double per_torque = length / physics.bending_stiffness;
    all[i] = {.drive = drive,
              .limit = limit,
              .held = std::min(limit, torque * per_torque),
              .held_level = std::clamp((torque - std::abs(moment)) * per_torque, 0.0, limit)};
  }
  return all;
}

std::string_view name_of(DrivenBy drive) {
  switch (drive) {
    case DrivenBy::Servo:
      return "servo";
    case DrivenBy::Motor:
      return "motor";
    case DrivenBy::Tendons:
      return "tendons";
    case DrivenBy::Chambers:
      return "chambers";
    case DrivenBy::Nothing:
      break;
  }
  return "nothing";
}

}  // namespace

BodyReport report_body(const ContinuumDescription& robot) {
  Body body(robot);
  BodyReport report;
  report.length = rest_length(robot);
  report.mass = 0.0;
  for (const SectionPhysics& physics : robot.physics) report.mass += physics.mass;
  report.bends = bends(robot);
  find_timesteps(robot, report);
  if (const double stiffness = body.torsional_stiffness(); std::isfinite(stiffness))
    report.torsion = {.stiffness = stiffness, .frequency = 0.0};
  report.body = response(body, false, report.torsion ? &*report.torsion : nullptr);
  report.has_servos =
      std::any_of(robot.physics.begin(), robot.physics.end(), [](const SectionPhysics& physics) {
        const auto* const servo = std::get_if<ServoDrive>(&physics.bend);
        return servo != nullptr && servo->gain > 0.0;
      });
  report.has_tendons = std::any_of(robot.tendons.begin(), robot.tendons.end(), [](const Tendon& t) {
    return t.command == TendonCommand::Length;
  });
  if (report.has_servos || report.has_tendons) report.driven = response(body, true);
  return report;
}

namespace {

std::string timestep_text(const BodyReport& report) {
  if (report.timestep)
    return fmt::format("largest stable timestep of 0.5 to 16 ms: {:g} ms\n",
                       1e3 * *report.timestep);
  if (report.bounded_timestep)
    return fmt::format(
        "with timesteps of 0.5 to {:g} ms it does not diverge, but still moves {:g} s after a step "
        "of its commands: it buckles, sags or swings\n",
        1e3 * *report.bounded_timestep, kResponseTime);
  return "it diverges with every timestep from 0.5 ms on\n";
}

}  // namespace

std::string body_report_text(const std::string& name, const BodyReport& report) {
  const auto millimeters = [](double x) {
    return x < 1.0 ? fmt::format("{:.3g}", 1e3 * x) : fmt::format("{:.0f}", 1e3 * x);
  };
  const auto response = [&](const BodyReport::Response& r) {
    std::string frequencies;
    for (const double f : r.frequencies)
      frequencies += fmt::format("{}{:.3g}", frequencies.empty() ? "" : ", ", f);
    return fmt::format(
        "  tip stiffness across     {:.3g} N/m\n"
        "  natural frequencies      {} Hz\n"
        "  sag, held out level      {}\n",
        r.tip_stiffness, frequencies,
        r.sag ? fmt::format("{} mm", millimeters(*r.sag)) : "it finds no rest at 1 g");
  };
  std::string text = fmt::format("{}: {:.3g} m, {:.3g} kg\n", name, report.length, report.mass);
  if (report.driven) {
    const char* const holding = !report.has_tendons ? "servos hold the straight arm"
                                : !report.has_servos
                                    ? "tendons hold the straight arm by their lengths"
                                    : "servos and tendons hold the straight arm";
    text += fmt::format(
        "{}:\n{}the body alone ({:.3g} times softer):\n{}", holding, response(*report.driven),
        report.driven->tip_stiffness / report.body.tip_stiffness, response(report.body));
  } else {
    text += fmt::format("the body, which no servo and no tendon's length stiffens:\n{}",
                        response(report.body));
  }
  text +=
      report.torsion
          ? fmt::format("  tip stiffness in twist   {:.3g} N m/rad, natural frequency {:.3g} Hz\n",
                        report.torsion->stiffness, report.torsion->frequency)
          : std::string("  tip stiffness in twist   rigid\n");
  const auto is_driven = [](const BodyReport::SectionBend& b) {
    return b.drive != DrivenBy::Nothing;
  };
  if (std::any_of(report.bends.begin(), report.bends.end(), is_driven))
    text +=
        "largest bends that are held, rad: against the body's stiffness; held out level at 1 g\n";
  for (std::size_t i = 0; i < report.bends.size(); ++i) {
    const auto& b = report.bends[i];
    const std::string by = fmt::format("section {}, {}", i + 1, name_of(b.drive));
    text += is_driven(b) ? fmt::format("  {:<24} {:.3g}; {:.3g} of {:.3g}\n", by, b.held,
                                       b.held_level, b.limit)
                         : fmt::format("  section {}: nothing drives it\n", i + 1);
  }
  return text + timestep_text(report);
}

}  // namespace tendril::simulation
