#pragma once

#include "tendril/model/key_info.hpp"

namespace tendril {

class Fields;
struct ArmDocument;
struct ContinuumDescription;

/// A guide that the arm is fed through; the keys of [base] have the prefix `guide_`. It begins at
/// the base; the links inside are kept straight. Needs a feed and a servo on every hinge.
struct Guide {
  double length = 0.0;        ///< [m], >= 0; 0: none
  double clearance = 0.0005;  ///< between the body and each wall [m], >= 0

  [[nodiscard]] bool exists() const noexcept { return length > 0.0; }
};

/// Its keys in the table [base].
inline constexpr KeyInfo kGuideKeys[]{
    {"guide_length", "m",
     "length of a guide that begins at the base: frictionless walls, two for every bending axis. "
     "Links inside it are kept straight. Needs `feed` and `compliance = \"link\"`; 0: none"},
    {"guide_clearance", "m", "between the body and each wall"}};

/// Reads the guide of an arm whose base is read.
[[nodiscard]] Guide read_guide(const Fields& base, const ContinuumDescription& robot);

/// Adds frictionless walls on both sides of every axis of bending, from the base to the guide's
/// end: boxes `guide_x+`, `guide_x-` (`guide_y+`, `guide_y-`), fixed to the base.
void write_guide(ArmDocument& arm);

}  // namespace tendril
