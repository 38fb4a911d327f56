#include "plugin/controller_pool.hpp"

#include <algorithm>

namespace tendril {

std::vector<SceneRecord> ControllerPool::scenes(const std::string& configuration) {
  std::vector<SceneRecord> all;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, controller] : waiting_) {
    if (key.configuration == configuration &&
        std::find(all.begin(), all.end(), key.scene) == all.end())
      all.push_back(key.scene);
  }
  return all;
}

std::unique_ptr<Controller> ControllerPool::take(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                  [&](const auto& entry) { return entry.first == key; });
  if (found == waiting_.end()) return nullptr;
  std::unique_ptr<Controller> controller = std::move(found->second);
  waiting_.erase(found);
  return controller;
}

void ControllerPool::give(Key key, std::unique_ptr<Controller> controller) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() == kMax) waiting_.erase(waiting_.begin());
  waiting_.emplace_back(std::move(key), std::move(controller));
}

ControllerPool& controller_pool() {
  static ControllerPool controllers;
  return controllers;
}

}  // namespace tendril
