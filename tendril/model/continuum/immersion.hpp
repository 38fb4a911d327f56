#pragma once

namespace tendril {

struct ArmDocument;

/// Puts the links of an arm into its medium: options of the engine, buoyancy, inertia of the fluid
/// that moves along, and geoms on which the engine's fluid forces act. Nothing without a medium.
/// Source: docs/theory/chain.md, "Medium". Tested by: medium_test.
void write_immersion(ArmDocument& arm);

}  // namespace tendril
