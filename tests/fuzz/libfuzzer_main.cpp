// The target TENDRIL_FUZZ_READER as a program of libFuzzer: scripts/fuzz.

#include <cstddef>
#include <cstdint>
#include <ctime>

#include "tests/fuzz/readers.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tendril::fuzz::TENDRIL_FUZZ_READER({reinterpret_cast<const char*>(data), size});
  return 0;
}

/// HDF5 reads damaged metadata again and again with pauses, for a writer that may still be at it
/// (rollout_reader.cpp). There is none here: without the pauses a damaged recording takes
/// milliseconds instead of 0.07 s.
extern "C" __attribute__((visibility("default"))) int nanosleep(const struct timespec*,
                                                                struct timespec*) {
  return 0;
}
