#pragma once

#include <stdexcept>
#include <string>

namespace tendril {

/// Thrown while something is loaded, parsed or constructed, never in the step loop.
/// The message names object, field, value and what is allowed:
/// `section 2: bend_angle_limit = -0.4 rad, must be in (0, 2 pi]`.
class ModelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tendril
