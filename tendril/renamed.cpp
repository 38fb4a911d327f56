#include "tendril/renamed.hpp"

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

}  // namespace

std::span<const Renamed> renamed() noexcept { return kRenamed; }

std::string renamed_text(std::string_view before, std::string_view now) {
  return std::string(before) + ": is called " + std::string(now) + " now";
}

}  // namespace tendril
