// The target TENDRIL_FUZZ_READER as a program of libFuzzer: scripts/fuzz.

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/readers.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tendril::fuzz::TENDRIL_FUZZ_READER({reinterpret_cast<const char*>(data), size});
  return 0;
}
