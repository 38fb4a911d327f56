#include "apps/host/engine/body_report.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>

#include "apps/host/engine/divergence.hpp"
#include "apps/host/engine/engine.hpp"
#include "tendril/model_error.hpp"
#include "tendril/robot_file/continuum_mjcf.hpp"
#include "tendril/robot_file/robot_mjcf.hpp"

namespace tendril::host {
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
    char error[1024] = "";
    const SpecPtr spec(
        mj_parseXMLString(model_mjcf(bare, std::vector<std::string>{}).c_str(), nullptr, error, sizeof error));
    if (spec) model_.reset(mj_compile(spec.get(), nullptr));
    if (!model_) {
      throw ModelError(fmt::format("{}: {}", robot.name,
                                   one_line(spec ? mjs_getError(spec.get()) : error)));
    }
    disable_autoreset(*model_);
    model_->opt.disableflags |= mjDSBL_CONTACT;
    for (int j = 0; j < model_->njnt; ++j) {  // of the straight arm
      const int q = model_->jnt_qposadr[j];
      if (model_->jnt_type[j] == mjJNT_HINGE) model_->qpos_spring[q] = model_->qpos0[q];
    }
    data_ = make_data(*model_);
    tip_ = mj_name2id(model_.get(), mjOBJ_SITE, names::kTip);
    // The servos hold the arm as it is: force = gain u + b0 + b1 length = 0.
    mj_forward(model_.get(), data_.get());
    for (int i = 0; i < model_->nu; ++i) {
      const mjtNum* const bias = model_->actuator_biasprm + mjNBIAS * i;
      const double gain = model_->actuator_gainprm[mjNGAIN * i];
      if (gain != 0.0) data_->ctrl[i] = -(bias[0] + bias[1] * data_->actuator_length[i]) / gain;
    }
  }

  mjModel& model() { return *model_; }
  mjData& data() { return *data_; }
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

  /// Of the tip across the arm.
  VectorXd tip_jacobian() {
    std::vector<mjtNum> J(static_cast<std::size_t>(3 * size()));
    mj_jacSite(model_.get(), data_.get(), J.data(), nullptr, tip_);
    return Eigen::Map<const VectorXd>(J.data(), size());  // the row of x
  }
  [[nodiscard]] bool is_twist(int dof) const {
    const char* const name = mj_id2name(model_.get(), mjOBJ_JOINT, model_->dof_jntid[dof]);
    return name != nullptr && std::string_view(name).ends_with("_twist");
  }
  /// Of the twist hinges in series [N m/rad]; infinite without any.
  [[nodiscard]] double torsional_stiffness() const {
    double compliance = 0.0;
    for (int i = 0; i < size(); ++i)
      if (is_twist(i)) compliance += 1.0 / model_->jnt_stiffness[model_->dof_jntid[i]];
    return 1.0 / compliance;
  }
  Eigen::Vector3d tip() const { return Eigen::Vector3d::Map(data_->site_xpos + 3 * tip_); }
  VectorXd start() const { return Eigen::Map<const VectorXd>(model_->qpos0, size()); }

 private:
  ModelPtr model_;
  DataPtr data_;
  int tip_ = -1;
};

/// The tip's way from the straight pose to rest at 1 g across the arm, which grows from 0: Newton's
/// method with bounded steps. No value where it finds no rest.
std::optional<double> sag(Body& body) {
  constexpr int kParts = 10;           // of gravity
  constexpr double kLargestStep = 0.2;  // of a joint [rad or m]
  constexpr double kRest = 1e-9;
  constexpr int kIterations = 30;
  VectorXd q = body.start();
  (void)body.forces(q);
  const Eigen::Vector3d straight = body.tip();
  bool resting = true;
  for (int part = 1; part <= kParts && resting; ++part) {
    body.set_gravity(kGravity * part / kParts);
    resting = false;
    for (int k = 0; k < kIterations && !resting; ++k) {
      const MatrixXd K = body.stiffness(q);
      VectorXd step = K.partialPivLu().solve(body.forces(q));
      if (!step.allFinite()) break;
      const double size = step.cwiseAbs().maxCoeff();
      if (size > kLargestStep) step *= kLargestStep / size;
      q += step;
      resting = size < kRest;
    }
  }
  (void)body.forces(q);
  const double moved = (body.tip() - straight).norm();
  body.set_gravity(0.0);
  if (!resting) return std::nullopt;
  return moved;
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
    if (!(value > 0.0)) continue;  // a base that nothing holds
    const double frequency = std::sqrt(value) / (2.0 * std::numbers::pi);
    const VectorXd x = modes.eigenvectors().col(k), Mx = M * x;
    double twisting = 0.0;
    for (int i = 0; i < body.size(); ++i)
      if (body.is_twist(i)) twisting += x[i] * Mx[i];
    if (twisting > 0.5 * x.dot(Mx)) {
      if (torsion && torsion->frequency == 0.0) torsion->frequency = frequency;
      continue;
    }
    if (std::ssize(result.frequencies) == kFrequencies) continue;
    // Bending across x and y has equal frequencies.
    if (!result.frequencies.empty() && frequency < 1.001 * result.frequencies.back()) continue;
    result.frequencies.push_back(frequency);
  }
  result.sag = sag(body);
  return result;
}

/// Whether the arm comes to rest after a step of its commands.
bool comes_to_rest(const ContinuumDescription& robot, double timestep) {
  constexpr double kTime = 3.0;       // [s]
  constexpr double kRestSpeed = 0.2;  // of every joint [rad/s or m/s]
  ContinuumDescription stepped = robot;
  stepped.timestep = timestep;
  if (robot.integrator == Integrator::Discrete) stepped.numerical_damping_time = timestep;
  Body body(stepped);
  body.set_gravity(kGravity);
  mjModel& model = body.model();
  mjData& data = body.data();
  for (int i = 0; i < static_cast<int>(robot.sections.size()); ++i) {
    const double bend = 0.5 * robot.sections[static_cast<std::size_t>(i)].bend_angle_limit;
    const int links = robot.physics[static_cast<std::size_t>(i)].links;
    const auto command = [&](const std::string& name, double value) {
      const int actuator = mj_name2id(&model, mjOBJ_ACTUATOR, name.c_str());
      if (actuator >= 0) data.ctrl[actuator] += value;
    };
    command(names::bend(i + 1, 'x'), bend);
    for (int k = 1; k <= links; ++k) command(names::hinge(i + 1, k, 'x'), bend / links);
  }
  const DivergenceMonitor monitor(data);
  bool sound = true;
  for (int k = 0; sound && k * timestep < kTime; ++k) {
    mj_step(&model, &data);
    sound = monitor.healthy(model, data);
  }
  for (int i = 0; sound && i < model.nv; ++i) sound = std::abs(data.qvel[i]) < kRestSpeed;
  return sound;
}

std::optional<double> stable_timestep(const ContinuumDescription& robot) {
  std::optional<double> stable;
  for (const double timestep : {0.0005, 0.001, 0.002, 0.004, 0.008, 0.016}) {
    if (!comes_to_rest(robot, timestep)) break;
    stable = timestep;
  }
  return stable;
}

std::vector<BodyReport::SectionBend> bends(const ContinuumDescription& robot) {
  std::vector<BodyReport::SectionBend> all(robot.sections.size());
  double weight = 0.0, moment = 0.0;  // of what is beyond a section's start, held out level
  for (std::size_t i = all.size(); i-- > 0;) {
    const double length = rest_length(robot.sections[i]);
    const SectionPhysics& physics = robot.physics[i];
    const double own = kGravity * physics.mass;
    moment += weight * length + own * length / 2.0;
    weight += own;
    const double limit = robot.sections[i].bend_angle_limit;
    const double per_torque = length / physics.bending_stiffness;
    all[i] = {.limit = limit,
              .held = std::min(limit, physics.bend_torque_limit * per_torque),
              .held_level = std::clamp((physics.bend_torque_limit - moment) * per_torque, 0.0, limit)};
  }
  return all;
}

}  // namespace

BodyReport report_body(const ContinuumDescription& robot) {
  Body body(robot);
  BodyReport report;
  report.length = rest_length(robot);
  report.mass = 0.0;
  for (const SectionPhysics& physics : robot.physics) report.mass += physics.mass;
  report.bends = bends(robot);
  report.timestep = stable_timestep(robot);
  if (const double stiffness = body.torsional_stiffness(); std::isfinite(stiffness))
    report.torsion = {.stiffness = stiffness, .frequency = 0.0};
  report.body = response(body, false, report.torsion ? &*report.torsion : nullptr);
  report.driven = response(body, true);
  return report;
}

std::string body_report_text(const std::string& name, const BodyReport& report) {
  const auto response = [](const BodyReport::Response& r) {
    std::string frequencies;
    for (const double f : r.frequencies)
      frequencies += fmt::format("{}{:.3g}", frequencies.empty() ? "" : ", ", f);
    return fmt::format(
        "  tip stiffness across     {:.3g} N/m\n"
        "  natural frequencies      {} Hz\n"
        "  sag, held out level      {}\n",
        r.tip_stiffness, frequencies,
        r.sag ? fmt::format("{:.3g} mm", 1e3 * *r.sag) : "it finds no rest at 1 g");
  };
  std::string text = fmt::format("{}: {:.3g} m, {:.3g} kg\nservos hold the straight arm:\n{}", name,
                                 report.length, report.mass, response(report.driven));
  text += fmt::format("the body alone, servos without force ({:.3g} times softer):\n{}",
                      report.driven.tip_stiffness / report.body.tip_stiffness, response(report.body));
  text += report.torsion
              ? fmt::format("  tip stiffness in twist   {:.3g} N m/rad, natural frequency {:.3g} Hz\n",
                            report.torsion->stiffness, report.torsion->frequency)
              : std::string("  tip stiffness in twist   rigid\n");
  text += "bends that the torque limits hold, rad: against the body's stiffness; held out level at 1 g\n";
  for (std::size_t i = 0; i < report.bends.size(); ++i) {
    const auto& b = report.bends[i];
    text += fmt::format("  section {:<16} {:.3g}; {:.3g} of {:.3g}\n", i + 1, b.held, b.held_level, b.limit);
  }
  text += report.timestep
              ? fmt::format("largest stable timestep of 0.5 to 16 ms: {:g} ms\n", 1e3 * *report.timestep)
              : std::string("no timestep from 0.5 ms on is stable\n");
  return text;
}

}  // namespace tendril::host
