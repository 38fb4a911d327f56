#include "plugin/robot_cache.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace tendril {
namespace {

using Robot = std::shared_ptr<const RobotDescription>;

/// The most recent robots by their texts.
class Cache {
 public:
  Robot find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const auto& e) { return e.first == key; });
    return entry == entries_.end() ? nullptr : entry->second;
  }
  void keep(const std::string& key, Robot robot) {
    const std::lock_guard lock(mutex_);
    if (entries_.size() == kMax) entries_.erase(entries_.begin());
    entries_.emplace_back(key, std::move(robot));
  }

 private:
  static constexpr std::size_t kMax = 32;
  std::mutex mutex_;
  std::vector<std::pair<std::string, Robot>> entries_;
};

Cache& cache() {
  static Cache robots;
  return robots;
}

std::string key_of(const std::string& text, const std::string& arm_text) {
  return text + '\0' + arm_text;
}

}  // namespace

Robot cached_robot(const std::string& text, const std::string& arm_text) {
  const std::string key = key_of(text, arm_text);
  if (Robot known = cache().find(key)) return known;
  auto robot = std::make_shared<const RobotDescription>(parse_configured(text, arm_text));
  cache().keep(key, robot);
  return robot;
}

void remember_robot(const RobotDescription& robot) {
  const std::string& text =
      std::visit([](const auto& d) -> const std::string& { return d.text; }, robot);
  const auto* mobile = std::get_if<MobileDescription>(&robot);
  const bool mounted = mobile != nullptr && mobile->mounted;
  const std::string key = key_of(text, mounted ? mobile->mounted->robot.text : std::string());
  if (!cache().find(key)) cache().keep(key, std::make_shared<const RobotDescription>(robot));
}

}  // namespace tendril
