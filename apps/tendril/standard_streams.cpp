// A static libhdf5.a of a distribution may address these two directly, which only a program allows:
// in a library it gets them from here (linker option --wrap).
#include <cstdio>

extern "C" {
extern FILE *__real_stdout, *__real_stderr;  // NOLINT: names of the linker
__attribute__((visibility("hidden"))) FILE *__wrap_stdout, *__wrap_stderr;

__attribute__((constructor(101))) static void take_standard_streams() {
  __wrap_stdout = __real_stdout;
  __wrap_stderr = __real_stderr;
}
}
