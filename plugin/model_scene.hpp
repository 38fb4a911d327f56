#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/interface/scene_query.hpp"
#include "plugin/carrier.hpp"
#include "plugin/instance_context.hpp"
#include "plugin/scene_obstacles.hpp"

namespace tendril {

/// Record of a controller's questions about its scene and of the answers: with its configuration,
/// all that it was made from.
struct SceneRecord {
  enum class Subject {
    Target,
    StandingTarget,
    MeasuredObstacles,
    StandingObstacles,
    Solids,
    Carrier,
    Geom,
    Position
  };
  struct Question {
    Subject subject;
    std::string setting;
    double margin = 0.0;  // of MeasuredObstacles [m]
    bool operator==(const Question&) const = default;
  };
  std::vector<Question> questions;
  std::string answers;  ///< their numbers as bytes, in order

  bool operator==(const SceneRecord&) const = default;
};

/// The scene of a model, for the controller of one instance. Keeps a record, and what is to be
/// measured in every step.
class ModelScene final : public SceneQuery {
 public:
  /// Both must outlive it.
  explicit ModelScene(const InstanceContext& context);

  void measure_target(const char* setting) override;
  [[nodiscard]] Eigen::Vector3d standing_target(const char* setting) override;
  [[nodiscard]] MeasuredObstacles measure_obstacles(const char* setting, double margin) override;
  [[nodiscard]] Obstacles standing_obstacles(const char* setting) override;
  [[nodiscard]] std::vector<Solid> solids(const char* setting) override;
  [[nodiscard]] const SerialChain& carrier() override;
  [[nodiscard]] Solid geom(const char* setting) override;
  [[nodiscard]] Eigen::Vector3d position(const char* setting) override;

  [[nodiscard]] const SceneRecord& record() const noexcept { return record_; }
  /// Asks the questions of a controller of the same configuration that was made for another scene.
  /// Returns whether the answers are the same.
  [[nodiscard]] bool answers_as(const SceneRecord& other);

  /// Index of the mocap body that is the target; -1: none was asked for. Throws ModelError if it
  /// is no mocap body: after what is wrong with the controller and its robot.
  [[nodiscard]] int target_mocap() const;
  /// The measured obstacles, if they were asked for; they are no longer here then.
  [[nodiscard]] std::optional<SceneObstacles> release_obstacles() noexcept;
  /// The joints that carry the base, if they were asked for.
  [[nodiscard]] const std::optional<Carrier>& carrier_joints() const noexcept { return carrier_; }

 private:
  [[nodiscard]] SceneName name(const char* setting, SettingInfo::Type type) const;
  void ask(const SceneRecord::Question& question);
  void note(SceneRecord::Subject subject, const char* setting, double margin = 0.0);
  void note(const Eigen::Vector3d& position);
  void note(const Solid& solid);

  const mjModel* model_;
  const Settings& settings_;
  const RobotNames& names_;
  int base_body_;
  StraightBody body_;
  SceneRecord record_;
  std::string target_setting_;  // empty: it is not asked for
  int standing_mocap_ = -1;     // of a standing target that is a mocap body
  std::optional<SceneObstacles> obstacles_;
  std::optional<Carrier> carrier_;
};

}  // namespace tendril
