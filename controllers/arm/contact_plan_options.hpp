#pragma once

#include <optional>
#include <span>

#include "controllers/interface/settings.hpp"

namespace tendril {

/// Options of ContactPlanController. Its settings have the same names; their table has defaults,
/// units and meanings.
struct ContactPlanOptions {
  enum class Feedback { Auto, None, Contact, Model };

  // Plans.
  int max_contacts = 3, max_candidates = 3;
  bool elastic = true, inserted = false;
  double passing_clearance = 0.008, guide_clearance = 0.0005;  // [m]

  // Feed.
  double speed = 0.05, acceleration = 0.03;  // [m/s], [m/s^2]
  double curvature_rate = 10.0;              // [1/(m s)]
  double ramp = 0.05;                        // [m]
  double start_delay = 0.5;                  // [s]

  // Correction.
  Feedback feedback = Feedback::Model;         // as settings: never Auto
  double gain = 1.0, feed_gain = 0.5;          // [1/s]
  double locate_gain = 0.2;                    // [1]
  double rate_time = 0.8, rate_filter = 0.85;  // [s], the second is larger
  double rate_damping_limit = 0.3;             // [1/m]
  double damping = 0.002;                      // [m]
  double period = 0.05;                        // [s]
  double error_limit = 0.03;                   // [m]
  double step_limit = 0.02;                    // [1/m], kLengthScale
  double tolerance = 0.001;                    // [m]

  // Monitor.
  double contact_distance = 0.01;        // [m]
  std::optional<double> jam_feed_force;  // [N]
  double jam_time = 0.2;                 // [s]
  double tracking_tolerance = 0.06;      // [m]
  double force_limit = 30.0;             // [N]
  double stall_timeout = 10.0;           // [s]

  [[nodiscard]] static std::span<const SettingInfo> settings();
  /// Reads the settings; feedback is resolved. Throws ModelError naming the setting.
  [[nodiscard]] static ContactPlanOptions from(const Settings& settings);
};

}  // namespace tendril
