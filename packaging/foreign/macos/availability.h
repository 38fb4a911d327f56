// In front of libc++'s header of this name: what scripts/foreign_sysroot links from libc++'s
// sources may be used on systems whose libc++ does not have it, which are conversions of
// floating-point numbers.
#include_next <__configuration/availability.h>
#undef _LIBCPP_INTRODUCED_IN_LLVM_14_ATTRIBUTE
#define _LIBCPP_INTRODUCED_IN_LLVM_14_ATTRIBUTE
#undef _LIBCPP_INTRODUCED_IN_LLVM_20_ATTRIBUTE
#define _LIBCPP_INTRODUCED_IN_LLVM_20_ATTRIBUTE
