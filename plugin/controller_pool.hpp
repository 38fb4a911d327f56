#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "controllers/interface/controller.hpp"
#include "plugin/model_scene.hpp"

namespace tendril {

/// Unused controllers, for the next instance that would make the same: the construction of a
/// controller may be expensive, and the engine creates instances several times while loading a
/// model. All functions may be called from any thread.
class ControllerPool {
 public:
  /// Identity of a controller: all that it is made from.
  struct Key {
    std::string configuration;
    SceneRecord scene;
    bool operator==(const Key&) const = default;
  };

  /// The scenes for which there are controllers of this configuration, each once.
  [[nodiscard]] std::vector<SceneRecord> scenes(const std::string& configuration);
  /// Null: there is none.
  [[nodiscard]] std::unique_ptr<Controller> take(const Key& key);
  void give(Key key, std::unique_ptr<Controller> controller);

 private:
  static constexpr std::size_t kMax = 16;
  std::mutex mutex_;
  std::vector<std::pair<Key, std::unique_ptr<Controller>>> waiting_;
};

/// Returns the pool of this library.
[[nodiscard]] ControllerPool& controller_pool();

}  // namespace tendril
