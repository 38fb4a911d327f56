#pragma once

#include <string>

namespace tendril {

/// Returns "4.0.0" for 4000000, as mj_version() and mjVERSION_HEADER count.
[[nodiscard]] std::string version_text(int version);

/// Why the process cannot use this library: it runs another version of MuJoCo than the one this
/// library was built for. Empty if it runs that one alone. A program with another version, such as
/// Python with `mujoco` 4.0.0, gets two: its own, and the one that is loaded with this library,
/// where the program never looks.
[[nodiscard]] std::string engine_version_mismatch();

/// Tells whether the engine is of the right version; prints what is wrong on stderr the first time.
[[nodiscard]] bool engine_version_matches();

}  // namespace tendril
