#include "plugin/model_scene.hpp"

#include <utility>
#include <variant>

#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;
using Subject = SceneRecord::Subject;
using Type = SettingInfo::Type;

/// A mobile robot's base is only a frame on the floor: it may lie within an obstacle.
StraightBody body_at_base(const RobotDescription& robot) {
  const auto* const arm = std::get_if<ContinuumDescription>(&robot);
  return arm != nullptr ? straight_body(*arm) : StraightBody();
}

template <class T>
void append(std::string& bytes, const T* numbers, std::size_t count) {
  bytes.append(reinterpret_cast<const char*>(numbers), count * sizeof *numbers);
}

}  // namespace

ModelScene::ModelScene(const InstanceContext& context)
    : model_(context.model),
      settings_(context.settings),
      names_(context.names),
      base_body_(context.require(mjOBJ_BODY, names::kBase)),
      body_(body_at_base(context.robot)) {}

SceneName ModelScene::name(const char* setting, Type type) const {
  const std::string_view written = settings_.scene_name(setting, type);
  return {setting, type == Type::ObstacleNames ? scene_names(model_, names_, written)
                                               : scene_name(model_, names_, written)};
}

void ModelScene::note(Subject subject, const char* setting, double margin) {
  record_.questions.push_back({subject, setting, margin});
}

void ModelScene::note(const Vector3d& position) { append(record_.answers, position.data(), 3); }

void ModelScene::note(const Solid& solid) {
  std::string& bytes = record_.answers;
  bytes += solid.name + '\0' + static_cast<char>(solid.kind);
  append(bytes, solid.X_BO.data(), 16);
  append(bytes, solid.size.data(), 3);
  const std::size_t counts[] = {solid.vertices.size(), solid.triangles.size()};
  append(bytes, counts, 2);
  append(bytes, solid.vertices.data(), solid.vertices.size());
  append(bytes, solid.triangles.data(), solid.triangles.size());
}

void ModelScene::measure_target(const char* setting) {
  note(Subject::Target, setting);
  if (!name(setting, Type::BodyName).text.empty()) target_setting_ = setting;
}

int ModelScene::target_mocap() const {
  if (target_setting_.empty()) return standing_mocap_;
  const SceneName target = name(target_setting_.c_str(), Type::BodyName);
  return model_->body_mocapid[scene_mocap_body(model_, target)];
}

Vector3d ModelScene::standing_target(const char* setting) {
  note(Subject::StandingTarget, setting);
  const SceneName target = name(setting, Type::BodyName);
  const Vector3d position = tendril::standing_target(model_, target);
  const int body = mj_name2id(model_, mjOBJ_BODY, target.text.c_str());
  if (body >= 0) standing_mocap_ = model_->body_mocapid[body];
  note(position);
  return position;
}

MeasuredObstacles ModelScene::measure_obstacles(const char* setting, double margin) {
  note(Subject::MeasuredObstacles, setting, margin);
  const SceneName selection = name(setting, Type::ObstacleNames);
  obstacles_.emplace(model_, base_body_, selection, body_, margin);
  for (const Solid& solid : obstacles_->solids()) note(solid);
  const int moving = obstacles_->moving_count();
  append(record_.answers, &moving, 1);
  return {obstacles_->obstacles(), moving};
}

Obstacles ModelScene::standing_obstacles(const char* setting) {
  note(Subject::StandingObstacles, setting);
  const std::vector<Solid> standing =
      standing_solids(model_, base_body_, name(setting, Type::ObstacleNames));
  for (const Solid& solid : standing) note(solid);
  return obstacles_of(standing, setting);
}

std::vector<Solid> ModelScene::solids(const char* setting) {
  note(Subject::Solids, setting);
  std::vector<Solid> solids = scene_solids(model_, base_body_, name(setting, Type::ObstacleNames));
  for (const Solid& solid : solids) note(solid);
  return solids;
}

const SerialChain& ModelScene::carrier() {
  note(Subject::Carrier, "");
  const SerialChain& chain = carrier_.emplace(model_, base_body_).chain;
  for (int j = 0; j < chain.joint_count(); ++j) {
    const ChainJoint& joint = chain.joint(j);
    append(record_.answers, joint.X_PJ.data(), 16);
    append(record_.answers, joint.axis.data(), 3);
    const double numbers[] = {joint.is_slide ? 1.0 : 0.0, joint.zero, joint.min, joint.max};
    append(record_.answers, numbers, 4);
  }
  append(record_.answers, chain.end().data(), 16);
  return chain;
}

Solid ModelScene::geom(const char* setting) {
  note(Subject::Geom, setting);
  Solid solid = scene_geom(model_, base_body_, name(setting, Type::GeomName));
  note(solid);
  return solid;
}

Vector3d ModelScene::position(const char* setting) {
  note(Subject::Position, setting);
  const int body = scene_mocap_body(model_, name(setting, Type::BodyName));
  const Vector3d position = scene_position(model_, base_body_, body);
  note(position);
  return position;
}

void ModelScene::ask(const SceneRecord::Question& question) {
  const char* const setting = question.setting.c_str();
  switch (question.subject) {
    case Subject::Target:
      return measure_target(setting);
    case Subject::StandingTarget:
      return static_cast<void>(standing_target(setting));
    case Subject::MeasuredObstacles:
      return static_cast<void>(measure_obstacles(setting, question.margin));
    case Subject::StandingObstacles:
      return static_cast<void>(standing_obstacles(setting));
    case Subject::Solids:
      return static_cast<void>(solids(setting));
    case Subject::Carrier:
      return static_cast<void>(carrier());
    case Subject::Geom:
      return static_cast<void>(geom(setting));
    case Subject::Position:
      return static_cast<void>(position(setting));
  }
}

bool ModelScene::answers_as(const SceneRecord& other) {
  try {
    for (const SceneRecord::Question& question : other.questions) ask(question);
  } catch (const ModelError&) {  // which the controller that is made then says
    return false;
  }
  return record_ == other;
}

std::optional<SceneObstacles> ModelScene::release_obstacles() noexcept {
  return std::exchange(obstacles_, std::nullopt);
}

}  // namespace tendril
