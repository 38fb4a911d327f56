#pragma once

namespace tendril::test {

/// Counts what the calling thread takes from the heap during its life: operator new and, because
/// Eigen does not use it, malloc, calloc and realloc. Works with and without AddressSanitizer.
///
///     AllocationCounter counter;
///     solver.solve(target, start);
///     CHECK(counter.count() == 0);
class AllocationCounter {
 public:
  AllocationCounter() noexcept;
  [[nodiscard]] long count() const noexcept;

 private:
  long at_start_;
};

}  // namespace tendril::test
