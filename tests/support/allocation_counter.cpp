#include "tests/support/allocation_counter.hpp"

#include <cstddef>

namespace {

thread_local long allocations = 0;

}  // namespace

#if defined(__SANITIZE_ADDRESS__)

// The sanitizer owns malloc and operator new; it tells about every call.
// (Declared here as in <sanitizer/allocator_interface.h>, which GCC's packages leave out.)
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*,
                                                                           std::size_t),
                                                         void (*on_free)(const volatile void*));

namespace {

[[maybe_unused]] const int hooks_installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, std::size_t) { ++allocations; }, [](const volatile void*) {});

}  // namespace

#else

// These take the place of the C library's functions in the test executable; its operator new calls
// malloc.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);

void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}

void* realloc(void* block, std::size_t size) {
  ++allocations;
  return __libc_realloc(block, size);
}
}

#endif

namespace tendril::test {

AllocationCounter::AllocationCounter() noexcept : at_start_(allocations) {}

long AllocationCounter::count() const noexcept { return allocations - at_start_; }

}  // namespace tendril::test
