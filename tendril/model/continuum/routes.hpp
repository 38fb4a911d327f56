#pragma once

// Private to tendril/model: what tendons and chambers have in common.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tendril/kinematics/tendon_map.hpp"

namespace tendril {

class Fields;
struct ArmDocument;
struct ContinuumDescription;

/// Reads the name of a tendon or chamber, which no other one and no element of the model may have.
[[nodiscard]] std::string read_route_name(const Fields& fields, const std::string& fallback,
                                          const ContinuumDescription& robot);

/// Reads angle and distance of a route, all but its sections.
/// @param may_turn  the angle may be two numbers
[[nodiscard]] TendonRoute read_route(const Fields& fields, const ContinuumDescription& robot,
                                     bool may_turn);

/// Reads `section` of a route, a number or two: the section that it ends in, and the one that it
/// begins in, by default the same. From 0.
[[nodiscard]] std::pair<int, int> read_sections(const Fields& fields, std::size_t count);

/// A joint along a route: the length of the route changes by `coefficient` with its coordinate.
struct RouteJoint {
  std::string joint;
  double coefficient;
  int section;  ///< from 0
};
/// The hinges that change the length of a route that does not turn and the slides that it runs
/// past, each at the middle of its link.
[[nodiscard]] std::vector<RouteJoint> joints_along(const ArmDocument& arm,
                                                   const TendonRoute& route);

}  // namespace tendril
