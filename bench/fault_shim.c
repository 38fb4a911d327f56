// Faults in the system calls on one file, for LD_PRELOAD; used by bench/crash_recording.
//
//   FAULT_FILE  calls on paths that contain this text are counted, from 1
//   FAULT_CALL  number of the call at which the fault happens; 0: none
//   FAULT_KIND  error: fails with EIO        full: this call and all later ones fail with ENOSPC
//               short: writes half, continues  torn: writes half, then the process is killed
//               kill: the process is killed before the call
//   FAULT_LOG   file to which the name of every counted call is appended
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define REAL(result, name, ...)              \
  static result (*real)(__VA_ARGS__) = NULL; \
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, #name)

enum Action { kPass, kFail, kHalf };

static int is_path(const char* path) {
  const char* file = getenv("FAULT_FILE");
  return file && path && strstr(path, file);
}

static int is_descriptor(int descriptor) {
  char link[64];
  char path[4096];
  const int saved = errno;
  snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
  const ssize_t size = readlink(link, path, sizeof(path) - 1);
  errno = saved;
  if (size <= 0) return 0;
  path[size] = 0;
  return is_path(path);
}

static void die(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

static void log_call(const char* name) {
  const char* log = getenv("FAULT_LOG");
  if (!log) return;
  REAL(FILE*, fopen, const char*, const char*);
  FILE* stream = real(log, "a");
  if (!stream) return;
  fprintf(stream, "%s\n", name);
  fclose(stream);
}

// What happens to the next call; errno is set for kFail.
static enum Action next_call(const char* name, int is_write) {
  static long count = 0;
  const char* call = getenv("FAULT_CALL");
  const char* kind = getenv("FAULT_KIND");
  const long number = __sync_add_and_fetch(&count, 1);
  const long requested = call ? atol(call) : 0;
  log_call(name);
  if (requested <= 0 || !kind) return kPass;
  if (!strcmp(kind, "full") && number >= requested) {
    errno = ENOSPC;
    return kFail;
  }
  if (number != requested) return kPass;
  if (!strcmp(kind, "kill") || (!strcmp(kind, "torn") && !is_write)) die();
  if (!strcmp(kind, "error")) {
    errno = EIO;
    return kFail;
  }
  return is_write ? kHalf : kPass;
}

static void after_half(void) {
  const char* kind = getenv("FAULT_KIND");
  if (kind && !strcmp(kind, "torn")) die();
}

#define WRITER(name, parameters, types, whole, half)    \
  ssize_t name parameters {                             \
    REAL(ssize_t, name, types);                         \
    if (!is_descriptor(file)) return real whole;        \
    const enum Action action = next_call(#name, 1);     \
    if (action == kFail) return -1;                     \
    if (action == kPass || size < 2) return real whole; \
    const ssize_t written = real half;                  \
    after_half();                                       \
    return written;                                     \
  }
#define TYPES(...) __VA_ARGS__
WRITER(write, (int file, const void* bytes, size_t size), TYPES(int, const void*, size_t),
       (file, bytes, size), (file, bytes, size / 2))
WRITER(pwrite, (int file, const void* bytes, size_t size, off_t at),
       TYPES(int, const void*, size_t, off_t), (file, bytes, size, at), (file, bytes, size / 2, at))
WRITER(pwrite64, (int file, const void* bytes, size_t size, off64_t at),
       TYPES(int, const void*, size_t, off64_t), (file, bytes, size, at),
       (file, bytes, size / 2, at))

#define CALL(result, failure, name, parameters, types, arguments, matches) \
  result name parameters {                                                 \
    REAL(result, name, types);                                             \
    if ((matches) && next_call(#name, 0) == kFail) return failure;         \
    return real arguments;                                                 \
  }
CALL(ssize_t, -1, read, (int file, void* bytes, size_t size), TYPES(int, void*, size_t),
     (file, bytes, size), is_descriptor(file))
CALL(ssize_t, -1, pread, (int file, void* bytes, size_t size, off_t at),
     TYPES(int, void*, size_t, off_t), (file, bytes, size, at), is_descriptor(file))
CALL(ssize_t, -1, pread64, (int file, void* bytes, size_t size, off64_t at),
     TYPES(int, void*, size_t, off64_t), (file, bytes, size, at), is_descriptor(file))
CALL(off_t, -1, lseek, (int file, off_t at, int from), TYPES(int, off_t, int), (file, at, from),
     is_descriptor(file))
CALL(int, -1, ftruncate, (int file, off_t size), TYPES(int, off_t), (file, size),
     is_descriptor(file))
CALL(int, -1, ftruncate64, (int file, off64_t size), TYPES(int, off64_t), (file, size),
     is_descriptor(file))
CALL(int, -1, fsync, (int file), TYPES(int), (file), is_descriptor(file))
CALL(int, -1, flock, (int file, int operation), TYPES(int, int), (file, operation),
     is_descriptor(file))
CALL(int, -1, rename, (const char* from, const char* to), TYPES(const char*, const char*),
     (from, to), is_path(from) || is_path(to))

int close(int file) {
  REAL(int, close, int);
  if (is_descriptor(file) && next_call("close", 0) == kFail) {
    const int error = errno;
    real(file);  // as the system does
    errno = error;
    return -1;
  }
  return real(file);
}

#define OPEN(name)                                                \
  int name(const char* path, int flags, ...) {                    \
    REAL(int, name, const char*, int, ...);                       \
    mode_t mode = 0;                                              \
    if (flags & (O_CREAT | O_TMPFILE)) {                          \
      va_list rest;                                               \
      va_start(rest, flags);                                      \
      mode = va_arg(rest, mode_t);                                \
      va_end(rest);                                               \
    }                                                             \
    if (is_path(path) && next_call(#name, 0) == kFail) return -1; \
    return real(path, flags, mode);                               \
  }
OPEN(open)
OPEN(open64)
