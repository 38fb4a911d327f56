#include "tendril/renamed.hpp"

#include <algorithm>
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

/// The fewest letters to be inserted, removed, replaced or exchanged with the next one to make one
/// word of the other (optimal string alignment).
std::size_t count_changes(std::string_view one, std::string_view other) {
  const std::size_t width = other.size() + 1;
  std::vector<std::size_t> counts((one.size() + 1) * width);  // of the first i and k letters
  const auto count = [&](std::size_t i, std::size_t k) -> std::size_t& {
    return counts[i * width + k];
  };
  for (std::size_t k = 0; k < width; ++k) count(0, k) = k;
  for (std::size_t i = 1; i <= one.size(); ++i) {
    count(i, 0) = i;
    for (std::size_t k = 1; k < width; ++k) {
      const std::size_t replaced = count(i - 1, k - 1) + (one[i - 1] == other[k - 1] ? 0 : 1);
      count(i, k) = std::min({replaced, count(i - 1, k) + 1, count(i, k - 1) + 1});
      if (i > 1 && k > 1 && one[i - 1] == other[k - 2] && one[i - 2] == other[k - 1])
        count(i, k) = std::min(count(i, k), count(i - 2, k - 2) + 1);
    }
  }
  return counts.back();
}

/// The first of the names that differs least, in at most a third of the letters and three.
std::string_view least_changed(std::string_view misspelled,
                               std::span<const std::string_view> names) {
  constexpr std::size_t kMaxChanges = 3, kMaxNameSize = 100;
  std::string_view nearest;
  if (misspelled.size() > kMaxNameSize) return nearest;
  std::size_t least = std::min(misspelled.size() / 3, kMaxChanges) + 1;
  for (const std::string_view name : names) {
    if (name.size() > kMaxNameSize) continue;
    const std::size_t changes = count_changes(misspelled, name);
    if (changes >= least) continue;
    least = changes;
    nearest = name;
  }
  return nearest;
}

/// The shortest of the names that continues the word, or that the word continues.
std::string_view with_shared_prefix(std::string_view misspelled,
                                    std::span<const std::string_view> names) {
  constexpr std::size_t kMinPrefix = 3;
  std::string_view nearest;
  for (const std::string_view name : names) {
    const bool is_shared = std::min(name.size(), misspelled.size()) >= kMinPrefix &&
                           (name.starts_with(misspelled) || misspelled.starts_with(name));
    if (is_shared && (nearest.empty() || name.size() < nearest.size())) nearest = name;
  }
  return nearest;
}

}  // namespace

std::span<const Renamed> renamed() noexcept { return kRenamed; }

std::string renamed_text(std::string_view before, std::string_view now) {
  return std::string(before) + ": is called " + std::string(now) + " now";
}

std::string meant_text(std::string_view misspelled, std::span<const std::string_view> names) {
  std::string_view nearest = least_changed(misspelled, names);
  if (nearest.empty()) nearest = with_shared_prefix(misspelled, names);
  return nearest.empty() ? "" : " (did you mean " + std::string(nearest) + "?)";
}

std::string meant_text(std::string_view misspelled, std::span<const std::string> names) {
  return meant_text(misspelled, std::vector<std::string_view>(names.begin(), names.end()));
}

}  // namespace tendril
