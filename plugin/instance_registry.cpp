#include "plugin/instance_registry.hpp"

#include <stdexcept>

namespace tendril {

InstanceRegistry::Entry* InstanceRegistry::entry(std::uintptr_t number) const noexcept {
  const std::uintptr_t index = number - 1;
  if (index >= kChunk * kChunks) return nullptr;
  Chunk* const chunk = chunks_[index / kChunk].load(std::memory_order_acquire);
  return chunk == nullptr ? nullptr : &(*chunk)[index % kChunk];
}

// Only the thread that works with an mjData makes and destroys its instances: an entry that names
// this mjData is not being written.

Instance* InstanceRegistry::find(std::uintptr_t number, const mjData* d,
                                 int instance) const noexcept {
  const Entry* const found = entry(number);
  const bool own = found != nullptr && found->data.load(std::memory_order_acquire) == d &&
                   found->index.load(std::memory_order_relaxed) == instance;
  return own ? found->instance.load(std::memory_order_relaxed) : nullptr;
}

Instance* InstanceRegistry::find(std::uintptr_t number, const mjtNum* plugin_state) const noexcept {
  const Entry* const found = entry(number);
  const bool own = found != nullptr && found->state.load(std::memory_order_acquire) == plugin_state;
  return own ? found->instance.load(std::memory_order_relaxed) : nullptr;
}

std::uintptr_t InstanceRegistry::free_number() {
  if (!free_.empty()) {
    const std::uintptr_t number = free_.back();
    free_.pop_back();
    return number;
  }
  if (made_ == kChunk * kChunks) throw std::length_error("too many controllers in this process");
  if (made_ % kChunk == 0)
    chunks_[made_ / kChunk].store(new Chunk(), std::memory_order_release);  // kept for good
  free_.reserve(made_ + 1);  // so that remove does not allocate
  return ++made_;
}

std::uintptr_t InstanceRegistry::add(const mjModel* m, const mjData* d, int instance,
                                     std::unique_ptr<Instance> owned) {
  std::unique_ptr<Instance> older;  // destroyed after the lock
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = numbers_.try_emplace({d, instance}, 0);
  if (is_new) {
    try {
      found->second = free_number();
    } catch (...) {
      numbers_.erase(found);
      throw;
    }
  }
  Entry& made = *entry(found->second);
  older.reset(made.instance.exchange(owned.release(), std::memory_order_relaxed));
  made.index.store(instance, std::memory_order_relaxed);
  made.state.store(d->plugin_state + m->plugin_stateadr[instance], std::memory_order_release);
  made.data.store(d, std::memory_order_release);
  return found->second;
}

std::uintptr_t InstanceRegistry::number_of(const mjData* d, int instance) const {
  const std::lock_guard lock(mutex_);
  const auto found = numbers_.find({d, instance});
  return found == numbers_.end() ? 0 : found->second;
}

std::unique_ptr<Instance> InstanceRegistry::remove(const mjData* d, int instance) {
  const std::lock_guard lock(mutex_);
  const auto found = numbers_.find({d, instance});
  if (found == numbers_.end()) return nullptr;
  Entry& given = *entry(found->second);
  given.data.store(nullptr, std::memory_order_release);
  given.state.store(nullptr, std::memory_order_release);
  free_.push_back(found->second);
  numbers_.erase(found);
  return std::unique_ptr<Instance>(given.instance.exchange(nullptr, std::memory_order_relaxed));
}

std::size_t InstanceRegistry::count() const {
  const std::lock_guard lock(mutex_);
  return numbers_.size();
}

InstanceRegistry& instance_registry() noexcept {
  static auto* const all = new InstanceRegistry();  // outlives every mjData, those of globals too
  return *all;
}

}  // namespace tendril
