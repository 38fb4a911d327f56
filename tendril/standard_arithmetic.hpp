#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif
#include <cmath>
#include <cstdint>

namespace tendril {

/// sqrt(x^2 + y^2) within 2 units of the last place, without overflow on the way. The same bits on
/// every machine: `std::hypot` rounds by the version of the C library.
[[nodiscard]] inline double hypotenuse(double x, double y) noexcept {
  const double square = x * x + y * y;
  if (square > 1e-280 && square < 1e280) return std::sqrt(square);
  const double a = std::abs(x), b = std::abs(y);
  const double larger = a < b ? b : a, smaller = a < b ? a : b;
  if (!(larger > 0.0)) return a + b;
  const double ratio = smaller / larger;
  return larger * std::sqrt(1.0 + ratio * ratio);
}

/// While it lives, this thread rounds to the nearest number and keeps denormal ones, whatever
/// another library has set: results have the same bits. Reads two registers if nothing is to
/// change. On machines other than x86-64 and ARM64 it does nothing.
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
  // Rounding, flush to zero and denormals are zero of the vector unit; above them the rounding of
  // the x87 unit, by which the C library reads and writes decimal numbers.
  static constexpr int kShift = 32;
  static constexpr std::uint64_t kMode = 0xe040 | std::uint64_t{0x0c00} << kShift;
  static std::uint64_t read() noexcept {
    std::uint16_t x87 = 0;
    asm volatile("fnstcw %0" : "=m"(x87));
    return _mm_getcsr() | std::uint64_t{x87} << kShift;
  }
  static void write(std::uint64_t value) noexcept {
    const auto x87 = static_cast<std::uint16_t>(value >> kShift);
    asm volatile("fldcw %0" ::"m"(x87));
    _mm_setcsr(static_cast<std::uint32_t>(value));
  }
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
