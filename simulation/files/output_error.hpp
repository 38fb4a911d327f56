#pragma once

#include <stdexcept>

namespace tendril::simulation {

/// Thrown if results cannot be written; the message names the file and the reason. Exit code 4.
class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tendril::simulation
