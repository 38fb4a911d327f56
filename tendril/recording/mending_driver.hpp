#pragma once

// Read first: rollout_file.hpp.

#include "tendril/recording/hdf5_support.hpp"

namespace tendril::hdf5 {

/// Access properties with which HDF5 reads a damaged recording as far as it goes: the superblock,
/// which is the same in every recording, is replaced; in blocks of metadata with a wrong checksum a
/// single wrong bit is put right, and others are taken as they are. A block that was only half
/// written when its process ended then holds old and new values, which differ in no row that `rows`
/// counts. The file itself is not changed. Within a Session. Tested by: rollout_command_test.
[[nodiscard]] Handle mending_access();

}  // namespace tendril::hdf5
