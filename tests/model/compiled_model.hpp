#pragma once

#include <mujoco/mujoco.h>

#include <Eigen/Geometry>
#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <span>
#include <string>

#include "tendril/kinematics/turning.hpp"
#include "tendril/model/robot_description.hpp"
#include "tendril/model/robot_mjcf.hpp"

namespace tendril::test {

struct SpecDeleter {
  void operator()(mjSpec* spec) const noexcept { mj_deleteSpec(spec); }
};
struct ModelDeleter {
  void operator()(mjModel* model) const noexcept { mj_deleteModel(model); }
};
struct DataDeleter {
  void operator()(mjData* data) const noexcept { mj_deleteData(data); }
};
using SpecPtr = std::unique_ptr<mjSpec, SpecDeleter>;
using ModelPtr = std::unique_ptr<mjModel, ModelDeleter>;
using DataPtr = std::unique_ptr<mjData, DataDeleter>;

inline SpecPtr parse_spec(const std::string& xml) {
  std::array<char, 1000> error{};
  SpecPtr spec(mj_parseXMLString(xml.c_str(), nullptr, error.data(), error.size()));
  INFO(error.data());
  REQUIRE(spec);
  return spec;
}

/// A compiled document and its data.
struct Simulation {
  explicit Simulation(const std::string& xml) : Simulation(parse_spec(xml).get()) {}
  explicit Simulation(mjSpec* spec) : model(mj_compile(spec, nullptr)) {
    INFO(mjs_getError(spec));
    REQUIRE(model);
    data.reset(mj_makeData(model.get()));
    mj_forward(model.get(), data.get());
  }

  [[nodiscard]] int id(mjtObj type, const std::string& name) const {
    const int found = mj_name2id(model.get(), type, name.c_str());
    INFO(name);
    REQUIRE(found >= 0);
    return found;
  }
  [[nodiscard]] bool has(mjtObj type, const std::string& name) const {
    return mj_name2id(model.get(), type, name.c_str()) >= 0;
  }

  void set_ctrl(const std::string& actuator, double value) {
    data->ctrl[model->actuator_ctrladr[id(mjOBJ_ACTUATOR, actuator)]] = value;
  }

  /// Commands the section states (and the base) through the native servos.
  void command(const ContinuumDescription& robot, SectionStates states, const BaseState& base = {},
               const std::string& prefix = "") {
    const ContinuumRobot kinematics = robot.kinematics();
    if (robot.base.feed_limit > 0.0) set_ctrl(prefix + names::kFeed, base.feed);
    if (robot.base.spin) set_ctrl(prefix + names::kSpin, base.spin);
    const std::vector<SectionState> own = in_own_frames(kinematics, states);
    for (int i = 1; i <= kinematics.section_count(); ++i) {
      const SectionState& state = own[static_cast<std::size_t>(i - 1)];
      const Section& section = kinematics.section(i - 1);
      const Eigen::Vector2d uv =
          section.turns() ? Eigen::Vector2d(state.theta, 0.0) : bend_vector(state);
      if (section.turns()) set_ctrl(prefix + names::turn(i), state.phi);
      if (section.is_extensible()) {
        set_ctrl(prefix + names::length(i), state.extension - section.variable_length() / 2.0);
      }
      if (robot.compliance == Compliance::Section) {
        set_ctrl(prefix + names::bend(i, 'y'), uv.x());
        set_ctrl(prefix + names::bend(i, 'x'), -uv.y());
        continue;
      }
      const LinkLayout layout = link_layout(robot, static_cast<std::size_t>(i - 1));
      for (std::size_t j = 0; j < layout.bend_fraction.size(); ++j) {
        const double share = layout.bend_fraction[j];
        if (share == 0.0) continue;
        const int link = static_cast<int>(j) + 1;
        set_ctrl(prefix + names::hinge(i, link, 'y'), share * uv.x());
        set_ctrl(prefix + names::hinge(i, link, 'x'), -share * uv.y());
      }
    }
  }

  void set_gravity(const Eigen::Vector3d& gravity) {
    Eigen::Map<Eigen::Vector3d>(model->opt.gravity) = gravity;
  }

  void run(double duration) {
    const double end = data->time + duration;
    while (data->time < end) mj_step(model.get(), data.get());
    mj_forward(model.get(), data.get());
  }

  /// Largest joint speed [rad/s or m/s].
  [[nodiscard]] double speed() const {
    return Eigen::Map<const Eigen::VectorXd>(data->qvel, model->nv).cwiseAbs().maxCoeff();
  }

  [[nodiscard]] double total_mass() const { return mj_getTotalmass(model.get()); }

  [[nodiscard]] double sum_of_slides(int section, int links, const std::string& prefix = "") const {
    double sum = 0.0;
    for (int j = 1; j <= links; ++j) {
      const int joint = id(mjOBJ_JOINT, prefix + names::slide(section, j));
      sum += data->qpos[model->jnt_qposadr[joint]];
    }
    return sum;
  }

  [[nodiscard]] Eigen::Isometry3d site_pose(const std::string& name) const {
    using Rotation = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
    const int site = id(mjOBJ_SITE, name);
    Eigen::Isometry3d pose = Eigen::Isometry3d::Identity();
    pose.translation() = Eigen::Map<const Eigen::Vector3d>(data->site_xpos + 3 * site);
    pose.linear() = Eigen::Map<const Rotation>(data->site_xmat + 9 * site);
    return pose;
  }

  ModelPtr model;
  DataPtr data;
};

}  // namespace tendril::test
