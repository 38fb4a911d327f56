#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tendril/fault.hpp"
#include "tendril/model/value.hpp"

namespace tendril {

/// The `[[fault]]` tables of an experiment. `overrides` have keys `fault.<name>.<field>`, where the
/// name may be a shell pattern. Throws ModelError `file:line: fault 1: key = value: must be ...`,
/// also for an override of no fault.
[[nodiscard]] std::vector<Fault> parse_faults(std::string_view toml, const std::string& file_name,
                                              std::span<const Override> overrides = {});

/// The faults as TOML that reads back to the same list.
[[nodiscard]] std::string faults_text(std::span<const Fault> faults);

/// The faults of measurements as one setting of a controller, `measurement_faults`, and back.
[[nodiscard]] std::string measurement_faults_text(std::span<const Fault> faults,
                                                  std::uint64_t seed);
struct MeasurementFaultList {
  std::vector<Fault> faults;
  std::uint64_t seed = 0;
};
/// Throws ModelError `measurement_faults: ...`.
/// @param label  of a robot, whose faults they are to be; none: of all
[[nodiscard]] MeasurementFaultList parse_measurement_faults(
    std::string_view text, std::optional<std::string_view> label = std::nullopt);

}  // namespace tendril
