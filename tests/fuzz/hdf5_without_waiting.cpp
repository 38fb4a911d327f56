// HDF5 reads damaged metadata again and again with pauses, for a writer that may still be at it
// (rollout_reader.cpp). A fuzzer has no writer: one reading is enough, and no pause.

#include <hdf5.h>

#include <ctime>

extern "C" {

herr_t __real_H5Pset_metadata_read_attempts(hid_t properties, unsigned attempts);
herr_t __wrap_H5Pset_metadata_read_attempts(hid_t properties, unsigned attempts);

herr_t __wrap_H5Pset_metadata_read_attempts(hid_t properties, unsigned) {
  return __real_H5Pset_metadata_read_attempts(properties, 1);
}

__attribute__((visibility("default"))) int nanosleep(const struct timespec*, struct timespec*) {
  return 0;
}
}
