#include "plugin/arm_binding.hpp"
#include "plugin/drawing.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"

namespace tendril {

using Eigen::Vector3d;

void ArmBinding::draw(const mjData* d, std::span<const double> memory,
                      const ControllerReport& report, mjvScene* scene) const {
  constexpr float kTargetColor[4] = {0.95f, 0.35f, 0.15f, 0.9f};
  constexpr float kPathColor[4] = {0.95f, 0.75f, 0.1f, 0.8f};
  constexpr float kPlanColor[4] = {0.1f, 0.45f, 0.95f, 0.9f};
  constexpr int kPathPoints = 60, kPointsPerSection = 8;
  constexpr double kLineRadius = 0.0012, kTargetRadius = 0.004;
  const ConstVector3 p_WB(d->xpos + 3 * base_body_);
  const ConstMatrix3 R_WB(d->xmat + 9 * base_body_);
  const auto to_world = [&](const Vector3d& p_B) -> Vector3d { return p_WB + R_WB * p_B; };

  std::vector<Vector3d> line(kPathPoints);
  line.resize(static_cast<std::size_t>(controller_->path(memory, line)));
  for (Vector3d& p : line) p = to_world(p);
  draw_line(scene, line, kLineRadius, kPathColor);
  draw_sphere(scene, to_world(report.target), kTargetRadius, kTargetColor);
  if (!command_.has_plan) return;

  std::vector<SectionState> states(static_cast<std::size_t>(robot().section_count()));
  for (int i = 0; i < robot().section_count(); ++i) {
    const int k = robot().coordinate_index(i);
    const double extension = robot().section(i).is_extensible() ? command_.plan[k + 2] : 0.0;
    states[static_cast<std::size_t>(i)] =
        state_from_bend_vector(command_.plan[k], command_.plan[k + 1], extension);
  }
  line.clear();
  for (int i = 0; i < robot().section_count(); ++i) {
    for (int j = i == 0 ? 0 : 1; j <= kPointsPerSection; ++j) {
      line.push_back(to_world(backbone_pose(robot(), states, measurement_.base, i,
                                            static_cast<double>(j) / kPointsPerSection)
                                  .translation()));
    }
  }
  draw_line(scene, line, kLineRadius, kPlanColor);
}

}  // namespace tendril
