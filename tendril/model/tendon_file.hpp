#pragma once

// Private to tendril/model: the [[tendon]] and [[chamber]] tables of an arm.

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "tendril/model/continuum_file.hpp"
#include "tendril/model/toml_fields.hpp"

namespace tendril {

/// Reads the tendons and chambers of an arm whose sections are read, and takes the bend servos from
/// the sections that they run through, and the length servos from those with chambers, where the
/// file does not ask for them. Throws ModelError.
void read_tendons(const Fields& top, ContinuumDescription& robot);

/// Throws ModelError naming a tendon whose friction a controller would have to simulate.
void refuse_friction(const Fields& top, const ContinuumDescription& robot);

/// Throws ModelError naming a section without servos that its tendons cannot bend in every
/// direction or whose length they do not set: a controller needs that.
void require_drives(const Fields& top, const ContinuumDescription& robot);

/// That section, from 0; the last one of several.
[[nodiscard]] std::optional<int> section_without_drive(const ContinuumDescription& robot);

/// A chamber that is no muscle.
[[nodiscard]] bool pushes(const Tendon& tendon);

/// Coordinates that only tendons and chambers hold: u and v (planar: u) of the sections without
/// bend servo, s of those without length servo.
[[nodiscard]] std::vector<Eigen::Index> coordinates_of_tendons(const ContinuumDescription& robot);

/// Moments and forces of unit tensions on these coordinates: coordinates x tendons [m], [1].
[[nodiscard]] Eigen::MatrixXd moments_of_tendons(const ContinuumDescription& robot);

}  // namespace tendril
