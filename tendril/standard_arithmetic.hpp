#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif
#include <cstdint>

namespace tendril {

/// While it lives, this thread rounds to the nearest number and keeps denormal ones, whatever
/// another library has set: results have the same bits. Reads one register if nothing is to change.
/// On machines other than x86-64 and ARM64 it does nothing.
class StandardArithmetic {
 public:
  StandardArithmetic() noexcept : before_(read()) {
    if ((before_ & kMode) != 0) write(before_ & ~kMode);
  }
  ~StandardArithmetic() {
    if ((before_ & kMode) != 0) write((read() & ~kMode) | (before_ & kMode));
  }
  StandardArithmetic(const StandardArithmetic&) = delete;
  StandardArithmetic& operator=(const StandardArithmetic&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr std::uint64_t kMode = 0xe040;  // rounding, flush to zero, denormals are zero
  static std::uint64_t read() noexcept { return _mm_getcsr(); }
  static void write(std::uint64_t value) noexcept { _mm_setcsr(static_cast<std::uint32_t>(value)); }
#elif defined(__aarch64__)
  static constexpr std::uint64_t kMode = 0x1c00000;  // rounding, flush to zero
  static std::uint64_t read() noexcept {
    std::uint64_t value = 0;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void write(std::uint64_t value) noexcept { asm volatile("msr fpcr, %0" ::"r"(value)); }
#else
  static constexpr std::uint64_t kMode = 0;
  static std::uint64_t read() noexcept { return 0; }
  static void write(std::uint64_t /*value*/) noexcept {}
#endif

  std::uint64_t before_;
};

}  // namespace tendril
