#include "simulation/plan/scene_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "controllers/arm/contact_plan_controller.hpp"
#include "plugin/scene_obstacles.hpp"
#include "simulation/scene/left_out_obstacles.hpp"
#include "tendril/model/continuum/mjcf.hpp"
#include "tendril/model_error.hpp"
#include "tendril/notice.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril::simulation {
namespace {

using Eigen::Isometry3d;
using Eigen::Vector3d;

constexpr int kRound = 32;  // corners of a drawn cylinder

struct Arm {
  RobotNames names;
  int base;  // body
  std::string target;
  bool uses_contacts;
  std::string obstacles;  // setting of one that does
  ContinuumDescription description;
};

/// The obstacles of a plan: those of the options, else those of a setting.
SceneName obstacles_of(const mjModel& model, const Arm& arm, const ScenePlanOptions& options,
                       const std::string& setting) {
  if (options.obstacles.empty()) return {"obstacles", scene_names(&model, arm.names, setting)};
  return {"--obstacles", scene_names(&model, arm.names, options.obstacles)};
}

Arm arm_of(const Scene& scene, const ScenePlanOptions& options, const std::string& name) {
  std::vector<Arm> arms;
  std::string names;
  for (const SceneRobot& robot : scene.robots) {
    const auto* const description = std::get_if<ContinuumDescription>(&robot.description);
    if (description == nullptr) continue;
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", robot.names.label());
    if (options.robot.empty() || options.robot == robot.names.label())
      arms.push_back({robot.names, robot.base, robot.target,
                      robot.controller == "tendril.contact_plan" && description->guide.exists(),
                      robot.config(*scene.model, "obstacles"), *description});
  }
  if (names.empty())
    throw ModelError(name + ": has no continuum arm with a controller: a plan is made for one");
  if (arms.empty())
    throw ModelError(fmt::format("--prefix: {}: must be one of {}", options.robot, names));
  if (arms.size() > 1)
    throw ModelError(fmt::format("{}: has several arms: name one with --prefix: {}", name, names));
  return std::move(arms.front());
}

Isometry3d pose_of(const mjtNum* position, const mjtNum* matrix) {
  Isometry3d X = Isometry3d::Identity();
  X.translation() = Eigen::Map<const Vector3d>(position);
  X.linear() = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(matrix);
  return X;
}

Vector3d target_of(const mjModel& model, const mjData& data, const Arm& arm,
                   const ScenePlanOptions& options, const std::string& name) {
  const std::string target =
      options.target.empty() ? arm.target : scene_name(&model, arm.names, options.target);
  if (target.empty())
    throw ModelError(name +
                     ": the arm's controller has no target: name a body or a site with --target");
  if (const int body = mj_name2id(&model, mjOBJ_BODY, target.c_str()); body >= 0)
    return Eigen::Map<const Vector3d>(data.xpos + 3 * body);
  if (const int site = mj_name2id(&model, mjOBJ_SITE, target.c_str()); site >= 0)
    return Eigen::Map<const Vector3d>(data.site_xpos + 3 * site);
  throw ModelError(fmt::format("--target: {}: must be a body or a site of the scene", target));
}

double position_of(const mjModel& model, const mjData& data, const std::string& joint) {
  const int id = mj_name2id(&model, mjOBJ_JOINT, joint.c_str());
  return id < 0 ? 0.0 : data.qpos[model.jnt_qposadr[id]];
}

/// The arcs with the sums of the hinges and slides of each section
/// (tendril/model/continuum/chain.hpp).
std::vector<SectionState> start_of(const mjModel& model, const mjData& data, const Arm& arm,
                                   const ContinuumRobot& robot) {
  std::vector<SectionState> states;
  double twist = 0.0;  // of the joints' frames, by the turns
  for (int i = 0; i < robot.section_count(); ++i) {
    const Section& section = robot.section(i);
    double u = 0.0, v = 0.0, s = section.variable_length() / 2.0;
    for (int j = 1; j <= arm.description.physics[static_cast<std::size_t>(i)].links; ++j) {
      u += position_of(model, data, arm.names(names::hinge(i + 1, j, 'y')));
      v -= position_of(model, data, arm.names(names::hinge(i + 1, j, 'x')));
      s += position_of(model, data, arm.names(names::slide(i + 1, j)));
    }
    SectionState state;
    state.extension = std::clamp(s, 0.0, section.variable_length());
    state.theta = std::min(hypotenuse(u, v), section.bend_angle_limit_at(state.extension));
    twist += position_of(model, data, arm.names(names::turn(i + 1)));
    state.phi = std::atan2(v, u) + twist;
    states.push_back(state);
  }
  return states;
}

PlanShape shape_of(const mjModel& model, int geom, const Isometry3d& X_BO) {
  const mjtNum* const size = model.geom_size + 3 * geom;
  PlanShape shape;
  const auto capsule = [&](double radius, double half_length) {
    const Vector3d z = half_length * X_BO.linear().col(2);
    shape = {.kind = PlanShape::Kind::Capsule,
             .outlines = {{X_BO.translation() - z, X_BO.translation() + z}},
             .radius = radius};
  };
  const auto prism = [&](const std::vector<Eigen::Vector2d>& corners, double half_height) {
    shape.outlines.resize(2);
    for (std::size_t i = 0; i < corners.size(); ++i) {
      const Eigen::Vector2d &a = corners[i], &b = corners[(i + 1) % corners.size()];
      const auto at = [&](const Eigen::Vector2d& p, double z) -> Vector3d {
        return X_BO * Vector3d(p.x(), p.y(), z);
      };
      shape.outlines[0].push_back(at(a, -half_height));
      shape.outlines[1].push_back(at(a, half_height));
      shape.outlines.push_back(
          {at(a, -half_height), at(b, -half_height), at(b, half_height), at(a, half_height)});
    }
  };
  switch (model.geom_type[geom]) {
    case mjGEOM_SPHERE:
      capsule(size[0], 0.0);
      break;
    case mjGEOM_CAPSULE:
      capsule(size[0], size[1]);
      break;
    case mjGEOM_PLANE:
      shape = {.kind = PlanShape::Kind::HalfSpace,
               .outlines = {{X_BO.translation()}},
               .normal = X_BO.linear().col(2)};
      break;
    case mjGEOM_BOX:
      prism({{-size[0], -size[1]}, {size[0], -size[1]}, {size[0], size[1]}, {-size[0], size[1]}},
            size[2]);
      break;
    case mjGEOM_CYLINDER: {
      std::vector<Eigen::Vector2d> corners;
      for (int k = 0; k < kRound; ++k) {
        const double angle = 2.0 * std::numbers::pi * k / kRound;
        corners.emplace_back(size[0] * std::cos(angle), size[0] * std::sin(angle));
      }
      prism(corners, size[1]);
      break;
    }
    default: {
      const CollisionMesh mesh = collision_mesh(&model, model.geom_dataid[geom]);
      for (const std::array<int, 3>& corners : mesh.triangles) {
        shape.outlines.emplace_back();
        for (const int i : corners)
          shape.outlines.back().push_back(X_BO * mesh.vertices[static_cast<std::size_t>(i)]);
      }
    }
  }
  return shape;
}

/// Returns the plan that the arm's controller makes when the model is loaded.
PlanFile contact_plan_of(const mjModel& model, const mjData& data, const Arm& arm,
                         const ScenePlanOptions& options, const std::string& name) {
  constexpr int kMaxContacts = 3;  // the controller's default
  if (options.margin != 0.0) throw ModelError("--margin: not for an arm that uses contacts");
  const Isometry3d X_BW = pose_of(data.xpos + 3 * arm.base, data.xmat + 9 * arm.base).inverse();
  ContactProblem problem = contact_problem(
      scene_solids(&model, arm.base, obstacles_of(model, arm, options, arm.obstacles)),
      X_BW * target_of(model, data, arm, options, name),
      fed_arm(arm.description.kinematics(), arm.description.guide.length,
              largest_radius(arm.description)),
      kMaxContacts);
  return {.name = name,
          .base = problem.base,
          .target = problem.target,
          .grasp = {},
          .options = problem.options,
          .scene = std::move(problem.scene),
          .contacts = std::move(problem.contacts)};
}

}  // namespace

std::variant<PathPlan, PlanFile> plan_of_scene(const Scene& scene, const mjData& data,
                                               const ScenePlanOptions& options,
                                               const std::string& name,
                                               std::vector<std::string>& notices) {
  const mjModel& model = *scene.model;
  Arm arm = arm_of(scene, options, name);
  if (arm.uses_contacts) return contact_plan_of(model, data, arm, options, name);
  const ContinuumRobot robot = arm.description.kinematics();
  const Isometry3d X_BW = pose_of(data.xpos + 3 * arm.base, data.xmat + 9 * arm.base).inverse();

  PathPlan plan;
  plan.name = name;
  plan.options.position_tolerance = 1e-4;
  plan.options.body_radius = largest_radius(arm.description);
  plan.options.margin = options.margin;
  plan.start = start_of(model, data, arm, robot);
  plan.base.feed =
      std::clamp(position_of(model, data, arm.names(names::kFeed)), 0.0, robot.base().feed_limit);
  if (robot.base().spin) plan.base.spin = position_of(model, data, arm.names(names::kSpin));
  TipTarget target;
  target.X_BG.translation() = X_BW * target_of(model, data, arm, options, name);
  plan.waypoints.push_back(target);

  SceneObstacles obstacles(&model, arm.base, obstacles_of(model, arm, options, ""),
                           straight_body(arm.description), plan.options.margin);
  obstacles.refresh(&data);
  for (int i = 0; i < obstacles.obstacles().count(); ++i) {
    const int geom = obstacles.geom(i);
    const Isometry3d& X_BO = obstacles.obstacles().pose(i);
    plan.obstacles.push_back(
        {SceneObstacles::name_of(&model, geom), {obstacles.obstacles().shape(i), X_BO}});
    plan.shapes.push_back(shape_of(model, geom, X_BO));
  }
  if (!obstacles.left_out().empty())
    notices.push_back(
        notice_text("obstacle-left-out", fmt::format("{}: {}", name, left_out_text(obstacles))));
  if (obstacles.moving_count() > 0)
    notices.push_back(notice_text(
        "obstacles-move",
        fmt::format("{}: {} obstacles can move relative to the arm's base: the plan has them where "
                    "they are now",
                    name, obstacles.moving_count())));
  plan.robot = std::move(arm.description);
  return plan;
}

}  // namespace tendril::simulation
