#include "tendril/renamed.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace tendril {
namespace {

constexpr Renamed kRenamed[] = {
    // Keys of tube and robot files.
    {"centreline", "centerline"},
    {"colour", "color"},
    {"guide_play", "guide_clearance"},  // also a setting
    // Settings of controllers.
    {"max_ways", "max_candidates"},
    {"way_tolerance", "tracking_tolerance"},
    {"patience", "stall_timeout"},
    {"calming_limit", "rate_damping_limit"},
    {"sag_compensation", "deflection_compensation"},
    // Controllers.
    {"tendril.wrap", "tendril.contact_plan"},
    {"tendril.wind", "tendril.coil"},
    {"tendril.carry", "tendril.base_placement"},
    // Sensors and the quantities of metrics.
    {"way", "candidate"},
    {"way_failure", "failure_reason"},
    {"seen_tip", "measured_tip"},
    {"speed_use", "speed_utilization"},
    {"wound_angle", "wrap_angle"},
    {"arrivals", "targets_reached"},
    {"reason", "ik_status"},
    {"iterations", "ik_iterations"},
    {"solver_iterations", "ik_iterations"},
    {"flips", "branch_switches"},
    {"rest_speed", "speed_end"},  // a metric
};

/// The fewest letters to be inserted, removed or replaced to make one word of the other.
std::size_t count_changes(std::string_view one, std::string_view other) {
  std::vector<std::size_t> counts(other.size() + 1);  // of the first letters of `one`
  std::iota(counts.begin(), counts.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = std::exchange(counts[0], i + 1);
    for (std::size_t k = 0; k < other.size(); ++k) {
      const std::size_t replaced = diagonal + (one[i] == other[k] ? 0 : 1);
      diagonal = counts[k + 1];
      counts[k + 1] = std::min({replaced, diagonal + 1, counts[k] + 1});
    }
  }
  return counts.back();
}

}  // namespace

std::span<const Renamed> renamed() noexcept { return kRenamed; }

std::string renamed_text(std::string_view before, std::string_view now) {
  return std::string(before) + ": is called " + std::string(now) + " now";
}

std::string meant_text(std::string_view misspelled, std::span<const std::string_view> names) {
  std::string_view nearest;
  std::size_t least = misspelled.size() / 3 + 1;
  for (const std::string_view name : names) {
    const std::size_t changes = count_changes(misspelled, name);
    if (changes >= least) continue;
    least = changes;
    nearest = name;
  }
  return nearest.empty() ? "" : " (is " + std::string(nearest) + " meant?)";
}

}  // namespace tendril
