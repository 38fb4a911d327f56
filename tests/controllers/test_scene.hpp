#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controllers/interface/scene_query.hpp"

namespace tendril::test {

/// A scene whose answers a test gives, and what was asked.
struct TestScene final : SceneQuery {
  Obstacles measured, standing;
  int moving_count = 0;
  std::vector<Solid> all;
  Solid post;
  Eigen::Vector3d target = Eigen::Vector3d::Zero();
  SerialChain chain;
  std::set<std::string> asked;

  void measure_target(const char* setting) override { asked.insert(setting); }
  [[nodiscard]] Eigen::Vector3d standing_target(const char* setting) override {
    asked.insert(setting);
    return target;
  }
  [[nodiscard]] MeasuredObstacles measure_obstacles(const char* setting,
                                                    double /*margin*/) override {
    asked.insert(setting);
    return {measured, moving_count};
  }
  [[nodiscard]] Obstacles standing_obstacles(const char* setting) override {
    asked.insert(setting);
    return standing;
  }
  [[nodiscard]] std::vector<Solid> solids(const char* setting) override {
    asked.insert(setting);
    return all;
  }
  [[nodiscard]] const SerialChain& carrier() override { return chain; }
  [[nodiscard]] Solid geom(const char* setting) override {
    asked.insert(setting);
    return post;
  }
  [[nodiscard]] Eigen::Vector3d position(const char* setting) override {
    asked.insert(setting);
    return target;
  }
};

}  // namespace tendril::test
