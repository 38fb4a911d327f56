/* What Debian's headers and archives use and glibc 2.28 lacks. Linked by packaging/linux/libraries.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <sys/stat.h>
#include <time.h>

/* glibc 2.32. Reference counts of the C++ library are atomic unless it is true. */
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;

/* glibc 2.33. Before, these had a version of the structure as their first argument. */
#if defined __x86_64__
#define STAT_VERSION 1
#else
#define STAT_VERSION 0
#endif
int __xstat(int version, const char* path, struct stat* result);
int __lxstat(int version, const char* path, struct stat* result);
int __fxstat(int version, int file, struct stat* result);
int __fxstatat(int version, int folder, const char* path, struct stat* result, int flags);

int stat(const char* path, struct stat* result) { return __xstat(STAT_VERSION, path, result); }

int lstat(const char* path, struct stat* result) { return __lxstat(STAT_VERSION, path, result); }

int fstat(int file, struct stat* result) { return __fxstat(STAT_VERSION, file, result); }

int fstatat(int folder, const char* path, struct stat* result, int flags) {
  return __fxstatat(STAT_VERSION, folder, path, result, flags);
}

/* glibc 2.30. The time is carried over to the clock that pthread_cond_timedwait has. */
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  const long second = 1000000000;
  struct timespec end = *until;
  if (clock != CLOCK_REALTIME) {
    struct timespec now, there;
    clock_gettime(clock, &there);
    clock_gettime(CLOCK_REALTIME, &now);
    end.tv_sec += now.tv_sec - there.tv_sec;
    end.tv_nsec += now.tv_nsec - there.tv_nsec;
    if (end.tv_nsec >= second) {
      end.tv_sec += 1;
      end.tv_nsec -= second;
    } else if (end.tv_nsec < 0) {
      end.tv_sec -= 1;
      end.tv_nsec += second;
    }
  }
  return pthread_cond_timedwait(condition, mutex, &end);
}

/* glibc 2.34 runs a program's constructors itself if it is given no function for it; before, the
   program did. Linked with --wrap=__libc_start_main. */
typedef void (*constructor)(int, char**, char**);
extern constructor __preinit_array_start[], __preinit_array_end[], __init_array_start[],
    __init_array_end[];
typedef int (*main_function)(int, char**, char**);
int __real___libc_start_main(main_function main, int count, char** words, constructor init,
                             void (*fini)(void), void (*loader_fini)(void), void* stack);
int __wrap___libc_start_main(main_function main, int count, char** words, constructor init,
                             void (*fini)(void), void (*loader_fini)(void), void* stack);

static void construct(int count, char** words, char** environment) {
  for (constructor* each = __preinit_array_start; each != __preinit_array_end; ++each)
    (*each)(count, words, environment);
  for (constructor* each = __init_array_start; each != __init_array_end; ++each)
    (*each)(count, words, environment);
}

int __wrap___libc_start_main(main_function main, int count, char** words, constructor init,
                             void (*fini)(void), void (*loader_fini)(void), void* stack) {
  (void)init;
  return __real___libc_start_main(main, count, words, construct, fini, loader_fini, stack);
}
