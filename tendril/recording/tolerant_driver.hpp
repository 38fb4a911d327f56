#pragma once

// Read first: rollout_file.hpp.

#include "tendril/recording/hdf5_support.hpp"

namespace tendril::hdf5 {

/// Access properties with which HDF5 reads a recording as far as it goes that was cut off, or whose
/// process was killed in the middle of a write: the superblock, which is the same in every
/// recording, is replaced, and blocks of metadata with a wrong checksum are taken as they are. Such
/// a block holds old and new values, which differ in no row that `rows` counts. The file itself is
/// not changed. Within a Session. Tested by: rollout_command_test, bench/crash_recording.
[[nodiscard]] Handle tolerant_access();

}  // namespace tendril::hdf5
