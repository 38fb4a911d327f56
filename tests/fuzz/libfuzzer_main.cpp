// The targets of one file as a program of libFuzzer; the variable TENDRIL_FUZZ_TARGET names the one
// that runs: scripts/fuzz.

#include <signal.h>

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/target.hpp"

namespace {
tendril::fuzz::Target::Read read_input = nullptr;
}

extern "C" {

int LLVMFuzzerInitialize(int*, char***);
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerInitialize(int*, char***) {
  const char* const name = std::getenv("TENDRIL_FUZZ_TARGET");
  const tendril::fuzz::Target* const target = tendril::fuzz::Target::find(name ? name : "");
  if (target == nullptr) {
    std::fprintf(stderr, "TENDRIL_FUZZ_TARGET must be one of");
    for (const tendril::fuzz::Target* const known : tendril::fuzz::Target::all())
      std::fprintf(stderr, " %s", known->name.data());
    std::fprintf(stderr, "\n");
    std::exit(2);
  }
  read_input = target->read;
  // An input that overflows the stack is saved, too.
  static char stack[1 << 16];
  const stack_t alternative{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  sigaltstack(&alternative, nullptr);
  return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
}
