#pragma once

#include <span>

// Tables of statuses. Names, documents and `tendril explain` are derived from them. That of
// controllers is in controllers/interface/controller_status.hpp.

namespace tendril {

/// One row of a table of statuses, in the order of their numbers.
struct StatusInfo {
  const char* name;     ///< "target not reached"
  const char* meaning;  ///< one or two sentences
  const char* what_to_do = "";
};

/// Rows of `IkStatus`.
[[nodiscard]] std::span<const StatusInfo> ik_statuses() noexcept;
/// Rows of `MobileStatus`.
[[nodiscard]] std::span<const StatusInfo> mobile_statuses() noexcept;

}  // namespace tendril
