#pragma once

namespace tendril {
/// First words of a model that `tendril model` has written.
inline constexpr const char* kMadeFrom = "<!-- Made from a ";
}  // namespace tendril

namespace tendril::names {

// Names of elements that models of several kinds of robots have. A part of a robot declares its own
// in its header. An attach prefix comes before every name.
inline constexpr const char* kBase = "base";              ///< root body, to be attached
inline constexpr const char* kCarriage = "carriage";      ///< body that feeds and spins
inline constexpr const char* kFeed = "feed";              ///< slide joint and its actuator
inline constexpr const char* kTip = "tip";                ///< site at the tip
inline constexpr const char* kPayload = "payload";        ///< body and geom at the tip
inline constexpr const char* kController = "controller";  ///< plugin instance
inline constexpr const char* kRobot = "robot";  ///< tuple that names the base: this is a robot
inline constexpr const char* kStart = "start";  ///< keyframe of the file's start pose

}  // namespace tendril::names
