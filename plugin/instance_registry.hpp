#pragma once

#include <mujoco/mujoco.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "plugin/instance.hpp"

namespace tendril {

/// The instances that live, and whose they are. `plugin_data` holds a number of this table and no
/// address: an mjData that was pickled and restored, in this process or another one, brings a
/// number that may represent nothing or the instance of another mjData.
///
/// `find` takes no lock; the other functions do, and call nothing of the instances under it.
class InstanceRegistry {
 public:
  /// Takes the instance number `instance` of `d`. Returns its number in the table, never 0. Throws
  /// std::length_error if the table is full.
  std::uintptr_t add(const mjModel* m, const mjData* d, int instance,
                     std::unique_ptr<Instance> owned);
  /// The instance of this number, if it is the one of `d`; null: it is not.
  [[nodiscard]] Instance* find(std::uintptr_t number, const mjData* d, int instance) const noexcept;
  /// The same for the one whose state is at `plugin_state`.
  [[nodiscard]] Instance* find(std::uintptr_t number, const mjtNum* plugin_state) const noexcept;
  /// Number of the instance of `d`, whatever is in its plugin_data; 0: there is none.
  [[nodiscard]] std::uintptr_t number_of(const mjData* d, int instance) const;
  /// Gives up the instance of `d`; null: there is none.
  [[nodiscard]] std::unique_ptr<Instance> remove(const mjData* d, int instance);
  [[nodiscard]] std::size_t count() const;

 private:
  struct Entry {
    std::atomic<const mjData*> data;
    std::atomic<const mjtNum*> state;
    std::atomic<Instance*> instance;
    std::atomic<int> index;  ///< among those of the mjData
  };
  static constexpr std::size_t kChunk = 256, kChunks = 4096;
  using Chunk = std::array<Entry, kChunk>;

  [[nodiscard]] Entry* entry(std::uintptr_t number) const noexcept;
  /// Finds a free number. Needs the lock.
  [[nodiscard]] std::uintptr_t free_number();

  std::array<std::atomic<Chunk*>, kChunks> chunks_{};
  mutable std::mutex mutex_;
  std::map<std::pair<const mjData*, int>, std::uintptr_t> numbers_;
  std::vector<std::uintptr_t> free_;
  std::uintptr_t made_ = 0;
};

/// Returns the registry of this library.
[[nodiscard]] InstanceRegistry& instance_registry() noexcept;

}  // namespace tendril
