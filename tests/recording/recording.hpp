#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "tendril/recording/rollout_file.hpp"

namespace tendril::test {

/// The sizes of a 3 x 10 arm with a controller.
inline RolloutLayout arm_layout() {
  return {.nq = 61,
          .nv = 61,
          .nu = 7,
          .na = 0,
          .nsensordata = 60,
          .npluginstate = 60,
          .nmocap = 1,
          .nintegration = 439,
          .integration_interval = 100};
}

/// Row `step` of an invented rollout: a function of the layout and the number alone, so that a
/// reader can tell whether what it gets is what was written.
class InventedRow {
 public:
  explicit InventedRow(const RolloutLayout& layout)
      : layout_(layout),
        values_{vector(layout.nq),         vector(layout.nv),          vector(layout.nu),
                vector(layout.na),         vector(layout.nsensordata), vector(layout.npluginstate),
                vector(3 * layout.nmocap), vector(4 * layout.nmocap)},
        integration_(vector(layout.nintegration)) {}

  const RolloutRow& make(std::int64_t step) {
    std::mt19937_64 random(static_cast<std::uint64_t>(step) * 977 + 5);
    const auto number = [&random] { return static_cast<double>(random() >> 11) * 0x1p-53 + 1.0; };
    for (auto& values : values_)
      for (double& value : values) value = number();
    contacts_.resize(static_cast<std::size_t>(random() % 7));
    for (ContactRow& contact : contacts_) {
      contact.geom1 = static_cast<std::int32_t>(random() % 50);
      contact.geom2 = static_cast<std::int32_t>(random() % 50);
      contact.distance = -number();
      for (double& value : contact.position) value = number();
      for (double& value : contact.force) value = number();
    }
    row_ = {.step = step,
            .time = 0.002 * static_cast<double>(step),
            .step_time_us = number(),
            .qpos = values_[0],
            .qvel = values_[1],
            .ctrl = values_[2],
            .act = values_[3],
            .sensordata = values_[4],
            .plugin_state = values_[5],
            .mocap_pos = values_[6],
            .mocap_quat = values_[7],
            .contacts = contacts_,
            .integration_state = {}};
    if (step % layout_.integration_interval == 0) {
      for (double& value : integration_) value = number();
      row_.integration_state = integration_;
    }
    return row_;
  }

 private:
  static std::vector<double> vector(int size) {
    return std::vector<double>(static_cast<std::size_t>(size));
  }

  RolloutLayout layout_;
  std::vector<double> values_[8];
  std::vector<double> integration_;
  std::vector<ContactRow> contacts_;
  RolloutRow row_;
};

}  // namespace tendril::test
