// Writes recordings for the target `recording`: recording_seeds FOLDER. Recordings are kept out of
// the repository.

#include <hdf5.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <string>

#include "tests/recording/recording.hpp"

namespace {

namespace fs = std::filesystem;
using namespace tendril;

constexpr RolloutLayout kSmall{.nq = 3,
                               .nv = 3,
                               .nu = 1,
                               .na = 0,
                               .nsensordata = 2,
                               .npluginstate = 1,
                               .nmocap = 1,
                               .nintegration = 12,
                               .integration_interval = 100};

void write(const fs::path& file, int rows, bool killed = false) {
  const std::byte model[] = {std::byte{1}, std::byte{2}, std::byte{3}};
  RolloutWriter writer(file, kSmall,
                       {{"seed", std::int64_t{7}}, {"timestep", 0.002}, {"model_xml", "<mujoco/>"}},
                       model);
  test::InventedRow row(kSmall);
  for (int i = 0; i < rows; ++i) writer.append(row.make(i));
  if (killed) {
    while (true) pause();
  }
  writer.close("done");
}

/// A recording whose process was killed when `visible` rows could be read.
void write_killed(const fs::path& file, int rows, std::int64_t visible) {
  const pid_t child = fork();
  if (child == 0) write(file, rows, true);
  for (std::int64_t read = -1; read < visible;) {
    try {
      read = RolloutReader(file).row_count();
    } catch (const RolloutError&) {
      usleep(1000);  // not yet there
    }
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

void replace(const fs::path& file, const char* name, std::initializer_list<hsize_t> shape) {
  const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const std::string path = std::string("/rollout_0/") + name;
  const hid_t old = H5Dopen2(id, path.c_str(), H5P_DEFAULT);
  const hid_t type = H5Dget_type(old);
  H5Dclose(old);
  H5Ldelete(id, path.c_str(), H5P_DEFAULT);
  const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.begin(), nullptr);
  // A contiguous dataset without storage: it has a shape and no numbers.
  H5Dclose(H5Dcreate2(id, path.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Sclose(space);
  H5Tclose(type);
  H5Fclose(id);
}

/// A recording in which one dataset has another shape and no storage.
void write_reshaped(const fs::path& file, const char* name, std::initializer_list<hsize_t> shape) {
  write(file, 5);
  replace(file, name, shape);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: recording_seeds FOLDER\n");
    return 2;
  }
  const fs::path folder = argv[1];
  fs::create_directories(folder);
  write(folder / "empty.h5", 0);
  write(folder / "five.h5", 5);
  write(folder / "blocks.h5", 300);
  write_killed(folder / "killed_early.h5", 5, 0);
  write_killed(folder / "killed.h5", 300, 256);
  write_reshaped(folder / "wide.h5", "qpos", {5, hsize_t{1} << 25});
  write_reshaped(folder / "model.h5", "model_mjb", {hsize_t{1} << 30});
  write_reshaped(folder / "states.h5", "integration/state", {1, hsize_t{1} << 27});
  write_reshaped(folder / "contacts.h5", "contact/geom1", {hsize_t{1} << 60});
  write_reshaped(folder / "mocap.h5", "mocap/pos", {5, 1, 2000});
  return 0;
}
