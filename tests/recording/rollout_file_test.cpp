#include "tendril/recording/rollout_file.hpp"

#include <hdf5.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "tests/recording/recording.hpp"

using namespace tendril;
using tendril::test::arm_layout;
using tendril::test::InventedRow;

namespace {

constexpr std::int64_t kBlockRows = 256;  // what the writer puts out at a time

// A folder that goes when the test ends.
struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "rollout_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

std::vector<std::byte> invented_model(std::size_t size) {
  std::vector<std::byte> model(size);
  for (std::size_t i = 0; i < size; ++i) model[i] = static_cast<std::byte>(i * i % 253);
  return model;
}

bool same_bits(std::span<const double> a, std::span<const double> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

bool same_contact(const ContactRow& a, const ContactRow& b) {
  return a.geom1 == b.geom1 && a.geom2 == b.geom2 && a.distance == b.distance &&
         std::equal(a.position, a.position + 3, b.position) &&
         std::equal(a.force, a.force + 3, b.force);
}

bool intact(const RolloutReader::Row& read, const RolloutRow& written) {
  return read.step == written.step && read.time == written.time &&
         read.step_time_us == written.step_time_us && same_bits(read.qpos, written.qpos) &&
         same_bits(read.qvel, written.qvel) && same_bits(read.ctrl, written.ctrl) &&
         same_bits(read.act, written.act) && same_bits(read.sensordata, written.sensordata) &&
         same_bits(read.plugin_state, written.plugin_state) &&
         same_bits(read.mocap_pos, written.mocap_pos) &&
         same_bits(read.mocap_quat, written.mocap_quat) &&
         same_bits(read.integration_state, written.integration_state) &&
         std::equal(read.contacts.begin(), read.contacts.end(), written.contacts.begin(),
                    written.contacts.end(), same_contact);
}

// How many rows from the first on are what InventedRow makes.
std::int64_t intact_rows(RolloutReader& reader) {
  InventedRow row(reader.layout());
  std::int64_t i = 0;
  while (i < reader.row_count() && intact(reader.row(i), row.make(i))) ++i;
  return i;
}

void write(const std::filesystem::path& file, const RolloutLayout& layout, std::int64_t rows) {
  RolloutWriter writer(file, layout, {}, invented_model(100));
  InventedRow row(layout);
  for (std::int64_t i = 0; i < rows; ++i) writer.append(row.make(i));
  writer.close("done");
}

// What the file says when it is read to its end, or nothing.
std::string reading_error(const std::filesystem::path& file) {
  try {
    RolloutReader reader(file);
    static_cast<void>(reader.model_mjb());
    for (std::int64_t i = 0; i < reader.row_count(); ++i) static_cast<void>(reader.row(i));
    return "";
  } catch (const RolloutError& error) {
    return error.what();
  }
}

// Runs `child` in a separate process.
template <class Function>
pid_t start(Function&& child) {
  const pid_t pid = fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    int code = 99;
    try {
      code = child();
    } catch (...) {
    }
    _exit(code);
  }
  return pid;
}

int wait_for(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("rollout file: every field of every row comes back bit for bit", "[rollout]") {
  const Folder folder;
  const std::int64_t rows = GENERATE(0, 1, 255, 256, 257, 1500);
  CAPTURE(rows);
  const RolloutLayout layout = arm_layout();
  const std::filesystem::path file = folder.path / "rollout.h5";
  const RolloutAttributes attributes = {{"model_xml", std::string(200'000, '<')},
                                        {"experiment", "seed = 1\n"},
                                        {"scene_files/tube.xml", "<mujoco/>"},
                                        {"robot", "Rüssel"},
                                        {"empty", ""},
                                        {"seed", std::int64_t{1} << 62},
                                        {"timestep", 0.1}};
  const std::vector<std::byte> model = invented_model(3'000'000);
  {
    RolloutWriter writer(file, layout, attributes, model);
    InventedRow row(layout);
    for (std::int64_t i = 0; i < rows; ++i) writer.append(row.make(i));
    writer.close("done");
  }
  RolloutReader reader(file);
  REQUIRE(reader.row_count() == rows);
  CHECK(intact_rows(reader) == rows);
  CHECK(reader.model_mjb() == model);
  for (const auto& [name, value] : attributes)
    if (const auto* text = std::get_if<std::string>(&value))
      CHECK(reader.attributes().at(name) == *text);
  CHECK(reader.attributes().at("seed") == "4611686018427387904");
  CHECK(reader.attributes().at("timestep") == "0.1");
  CHECK(reader.attributes().at("outcome") == "done");
  CHECK(reader.layout().nq == layout.nq);
  CHECK(reader.layout().nv == layout.nv);
  CHECK(reader.layout().nu == layout.nu);
  CHECK(reader.layout().na == layout.na);
  CHECK(reader.layout().nsensordata == layout.nsensordata);
  CHECK(reader.layout().npluginstate == layout.npluginstate);
  CHECK(reader.layout().nmocap == layout.nmocap);
  CHECK(reader.layout().nintegration == layout.nintegration);
  CHECK(reader.layout().integration_interval == layout.integration_interval);
  std::vector<std::int64_t> stored;
  for (std::int64_t i = 0; i < rows; i += layout.integration_interval) stored.push_back(i);
  CHECK(reader.integration_rows() == stored);
}

TEST_CASE("rollout file: any sizes, also zero, and a full state in every row", "[rollout]") {
  const Folder folder;
  const std::filesystem::path file = folder.path / "rollout.h5";
  const auto layout =
      GENERATE(RolloutLayout{.integration_interval = 1000},
               RolloutLayout{.nq = 1, .nv = 1, .nintegration = 5, .integration_interval = 1},
               RolloutLayout{.nq = 3,
                             .nv = 2,
                             .nu = 1,
                             .na = 4,
                             .nmocap = 3,
                             .nintegration = 9,
                             .integration_interval = 7});
  write(file, layout, 700);
  RolloutReader reader(file);
  CHECK(reader.row_count() == 700);
  CHECK(intact_rows(reader) == 700);
}

TEST_CASE("rollout file: rows can be read in any order", "[rollout]") {
  const Folder folder;
  const std::filesystem::path file = folder.path / "rollout.h5";
  write(file, arm_layout(), 1000);
  RolloutReader reader(file);
  InventedRow row(reader.layout());
  for (const std::int64_t i : {999, 0, 512, 511, 255, 256, 3, 999})
    CHECK(intact(reader.row(i), row.make(i)));
  CHECK_THROWS_AS(reader.row(1000), RolloutError);
  CHECK_THROWS_AS(reader.row(-1), RolloutError);
}

TEST_CASE("rollout file: numbers that are not finite and negative zero keep their bits",
          "[rollout]") {
  const Folder folder;
  const std::filesystem::path file = folder.path / "rollout.h5";
  const double values[] = {-0.0, std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::denorm_min()};
  {
    RolloutWriter writer(file, {.nq = 4}, {}, {});
    RolloutRow row;
    row.qpos = values;
    writer.append(row);
    writer.close("diverged: qpos[2] = nan");
  }
  RolloutReader reader(file);
  CHECK(same_bits(reader.row(0).qpos, values));
  CHECK(reader.attributes().at("outcome") == "diverged: qpos[2] = nan");
}

TEST_CASE("rollout file: a writer that goes without close leaves its rows and the word aborted",
          "[rollout]") {
  const Folder folder;
  const std::filesystem::path file = folder.path / "rollout.h5";
  {
    RolloutWriter writer(file, arm_layout(), {}, {});
    InventedRow row(arm_layout());
    for (std::int64_t i = 0; i < 300; ++i) writer.append(row.make(i));
  }
  RolloutReader reader(file);
  CHECK(intact_rows(reader) == 300);
  CHECK(reader.attributes().at("outcome") == "aborted");
}

TEST_CASE("rollout file: an outcome that is too long is cut between characters", "[rollout]") {
  const Folder folder;
  const std::filesystem::path file = folder.path / "rollout.h5";
  {
    RolloutWriter writer(file, {}, {}, {});
    std::string outcome = "x";
    for (int i = 0; i < 200; ++i) outcome += "ü";
    writer.close(outcome);
  }
  const std::string text = RolloutReader(file).attributes().at("outcome");
  CHECK(text.size() == 255);
  CHECK(text.substr(text.size() - 2) == "ü");
}

TEST_CASE("rollout file: a row of another size than the layout says is refused", "[rollout]") {
  const Folder folder;
  RolloutWriter writer(folder.path / "rollout.h5", {.nq = 2}, {}, {});
  const double values[] = {1, 2, 3};
  RolloutRow row;
  row.qpos = values;
  CHECK_THROWS_WITH(writer.append(row), Catch::Contains("qpos has 3 values, must have 2"));
}

TEST_CASE("rollout file: full blocks can be read while the writer is open", "[rollout]") {
  const Folder folder;
  const std::filesystem::path file = folder.path / "rollout.h5";
  int ready[2];
  int go[2];
  REQUIRE(pipe(ready) == 0);
  REQUIRE(pipe(go) == 0);
  const pid_t pid = start([&] {
    RolloutWriter writer(file, arm_layout(), {}, invented_model(1000));
    InventedRow row(arm_layout());
    for (std::int64_t i = 0; i < 1000; ++i) writer.append(row.make(i));
    char byte = 0;
    if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1) return 1;
    writer.close("done");
    return 0;
  });
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  std::int64_t rows = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (rows < 3 * kBlockRows && std::chrono::steady_clock::now() < deadline) {
    RolloutReader reader(file);
    rows = reader.row_count();
    CHECK(intact_rows(reader) == rows);
    if (rows > 0) CHECK(reader.attributes().at("outcome") == "running");
  }
  CHECK(rows == 3 * kBlockRows);
  CHECK(write(go[1], &byte, 1) == 1);
  CHECK(wait_for(pid) == 0);
  RolloutReader reader(file);
  CHECK(intact_rows(reader) == 1000);
  CHECK(reader.attributes().at("outcome") == "done");
  for (const int end : {ready[0], ready[1], go[0], go[1]}) ::close(end);
}

TEST_CASE("rollout file: kill -9 at any moment loses no row that a reader could see", "[rollout]") {
  const Folder folder;
  std::mt19937 random(2024);
  for (int round = 0; round < 10; ++round) {
    const auto delay = std::chrono::microseconds(random() % 150'000);
    CAPTURE(round, delay.count());
    const std::filesystem::path file = folder.path / ("killed" + std::to_string(round) + ".h5");
    const pid_t pid = start([&] {
      RolloutLayout layout = arm_layout();
      RolloutWriter writer(file, layout, {{"seed", "1"}}, invented_model(1000));
      InventedRow row(layout);
      for (std::int64_t i = 0;; ++i) writer.append(row.make(i));
      return 0;
    });
    // Wait until there is a recording, then until a moment drawn by chance; look, and kill.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!reading_error(file).empty() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(delay);
    const std::int64_t seen = RolloutReader(file).row_count();
    kill(pid, SIGKILL);
    CHECK(WIFSIGNALED(wait_for(pid)));
    RolloutReader reader(file);
    CHECK(reader.row_count() >= seen);
    CHECK(reader.row_count() % kBlockRows == 0);
    CHECK(intact_rows(reader) == reader.row_count());
    CHECK(reader.attributes().at("outcome") == "running");
  }
}

TEST_CASE("rollout file: a full disk is one error, and what was written remains readable",
          "[rollout]") {
  const Folder folder;
  const std::filesystem::path file = folder.path / "rollout.h5";
  const std::uintmax_t limit = GENERATE(1'000'000u, 1'234'567u, 2'000'000u);
  CAPTURE(limit);
  const pid_t pid = start([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit size{limit, limit};
    if (setrlimit(RLIMIT_FSIZE, &size) != 0) return 1;
    try {
      RolloutWriter writer(file, arm_layout(), {}, invented_model(1000));
      InventedRow row(arm_layout());
      for (std::int64_t i = 0; i < 100'000; ++i) writer.append(row.make(i));
      writer.close("done");
    } catch (const RolloutError& error) {
      const std::string text = error.what();
      return text.find(file.string()) == 0 && text.find("File too large") != std::string::npos ? 42
                                                                                               : 2;
    }
    return 3;
  });
  const int status = wait_for(pid);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 42);
  RolloutReader reader(file);
  CHECK(reader.row_count() >= kBlockRows);
  CHECK(intact_rows(reader) == reader.row_count());
}

TEST_CASE("rollout file: a disk that is full from the start is one error", "[rollout]") {
  const Folder folder;
  const std::filesystem::path file = folder.path / "rollout.h5";
  const std::uintmax_t limit = GENERATE(0u, 100u, 2000u, 20'000u, 50'000u);
  CAPTURE(limit);
  const pid_t pid = start([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit size{limit, limit};
    if (setrlimit(RLIMIT_FSIZE, &size) != 0) return 1;
    try {
      RolloutWriter writer(file, arm_layout(), {}, invented_model(100'000));
      InventedRow row(arm_layout());
      for (std::int64_t i = 0; i < 300; ++i) writer.append(row.make(i));
      writer.close("done");
    } catch (const RolloutError& error) {
      return std::string(error.what()).find(file.string()) == 0 ? 42 : 2;
    }
    return 3;
  });
  const int status = wait_for(pid);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 42);
}

TEST_CASE("rollout file: where nothing can be created the error names file and reason",
          "[rollout]") {
  const Folder folder;
  const auto creating = [](const std::filesystem::path& file) {
    RolloutWriter writer(file, {}, {}, {});
  };
  CHECK_THROWS_WITH(creating(folder.path / "no" / "rollout.h5"),
                    Catch::Contains("no/rollout.h5: cannot be created: No such file"));
  CHECK_THROWS_WITH(creating(folder.path), Catch::Contains("cannot be created"));
  CHECK_THROWS_WITH(creating("/proc/rollout.h5"), Catch::Contains("/proc/rollout.h5: cannot"));
  if (geteuid() != 0) {  // root may write anywhere
    std::filesystem::permissions(folder.path, std::filesystem::perms::owner_read);
    CHECK_THROWS_WITH(creating(folder.path / "rollout.h5"), Catch::Contains("Permission denied"));
  }
}

TEST_CASE("rollout file: what is not a recording is refused with one line", "[rollout]") {
  const Folder folder;
  CHECK_THAT(reading_error(folder.path / "none.h5"), Catch::Contains("none.h5: no such file"));
  CHECK_THAT(reading_error(folder.path), Catch::Contains("is not a file"));
  std::ofstream(folder.path / "empty.h5").flush();
  CHECK_THAT(reading_error(folder.path / "empty.h5"), Catch::Contains("not a recording"));
  std::ofstream(folder.path / "text.h5") << std::string(5000, 'a');
  CHECK_THAT(reading_error(folder.path / "text.h5"), Catch::Contains("not a recording"));
}

TEST_CASE("rollout file: a truncated file is one error, never a crash", "[rollout]") {
  const Folder folder;
  const std::filesystem::path file = folder.path / "rollout.h5";
  write(file, arm_layout(), 600);
  const std::uintmax_t size = std::filesystem::file_size(file);
  for (int part = 0; part < 40; ++part) {
    const std::filesystem::path copy = folder.path / "truncated.h5";
    std::filesystem::copy_file(file, copy, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(copy, size * static_cast<unsigned>(part) / 40);
    CAPTURE(part);
    const std::string error = reading_error(copy);
    CHECK_THAT(error, Catch::StartsWith(copy.string()));
    CHECK(error.find('\n') == std::string::npos);
  }
}

TEST_CASE("rollout file: damaged bytes are at most one error, never a crash", "[rollout]") {
  const Folder folder;
  const std::filesystem::path file = folder.path / "rollout.h5";
  write(file, arm_layout(), 600);
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(file));
  // In a separate process: HDF5 leaks a little when it meets metadata that it cannot decode.
  const pid_t pid = start([&] {
    std::mt19937_64 random(5);
    for (int round = 0; round < 100; ++round) {
      const std::filesystem::path copy = folder.path / "damaged.h5";
      std::filesystem::copy_file(file, copy, std::filesystem::copy_options::overwrite_existing);
      std::fstream stream(copy, std::ios::in | std::ios::out | std::ios::binary);
      // Half of them where most of the metadata are.
      const auto reach = static_cast<std::uint64_t>(round % 2 == 0 ? size : 20'000);
      stream.seekp(static_cast<std::streamoff>(random() % reach));
      for (int i = 0; i < 16; ++i) stream.put(static_cast<char>(random()));
      stream.close();
      const std::string error = reading_error(copy);
      if (!error.empty() && error.find(copy.string()) != 0) return round + 1;
    }
    return 0;
  });
  const int status = wait_for(pid);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("rollout file: a dataset of another shape than the layout is refused by name",
          "[rollout]") {
  struct Case {
    const char* name;
    std::vector<hsize_t> shape;
  };
  const auto c = GENERATE(values<Case>({{"mocap/pos", {300, 1, 2000}},
                                        {"mocap/pos", {300, 1}},
                                        {"mocap/quat", {300, 1, 9}},
                                        {"mocap/quat", {300, 2, 4}},
                                        {"qpos", {300, 61, 2}},
                                        {"qvel", {300, hsize_t{1} << 40}},
                                        {"time", {300, 2}},
                                        {"step", {}},
                                        {"rows", {1000}},
                                        {"contact/force", {900, 4}},
                                        {"contact/geom1", {900, 2}},
                                        {"integration/state", {3, 439, 2}},
                                        {"integration/row", {3, 2}},
                                        {"model_mjb", {10, 10}}}));
  CAPTURE(c.name, c.shape);
  const Folder folder;
  const std::filesystem::path path = folder.path / "shape.h5";
  write(path, arm_layout(), 300);
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t group = H5Gopen2(file, "rollout_0", H5P_DEFAULT);
  REQUIRE(H5Ldelete(group, c.name, H5P_DEFAULT) >= 0);
  const hid_t space = H5Screate_simple(static_cast<int>(c.shape.size()), c.shape.data(), nullptr);
  const hid_t type = std::string(c.name) == "model_mjb" ? H5T_STD_U8LE : H5T_STD_I64LE;
  const hid_t dataset =
      H5Dcreate2(group, c.name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  REQUIRE(dataset >= 0);
  H5Dclose(dataset);
  H5Sclose(space);
  H5Gclose(group);
  H5Fclose(file);
  CHECK_THAT(reading_error(path),
             Catch::Contains("truncated or damaged: ") && Catch::Contains(c.name));
}

TEST_CASE(
    "rollout file: damaged metadata is an error within 2 s of processor time, never repetition",
    "[rollout]") {
  const Folder folder;
  const bool killed = GENERATE(false, true);
  CAPTURE(killed);
  const std::filesystem::path file = folder.path / "rollout.h5";
  if (killed) {
    const pid_t pid = start([&] {
      RolloutWriter writer(file, arm_layout(), {{"seed", "1"}}, invented_model(100));
      InventedRow row(arm_layout());
      for (std::int64_t i = 0; i < 600; ++i) writer.append(row.make(i));
      pause();
      return 0;
    });
    while (!reading_error(file).empty() || RolloutReader(file).row_count() < 512)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    kill(pid, SIGKILL);
    CHECK(WIFSIGNALED(wait_for(pid)));
  } else {
    write(file, arm_layout(), 600);
  }

  // Bytes of the superblock, and one in each of the first blocks of metadata with a checksum.
  std::vector<std::size_t> offsets;
  for (std::size_t at = 9; at < 48; at += 3) offsets.push_back(at);
  std::ifstream whole(file, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(whole), {});
  for (const char* signature : {"OHDR", "FRHP", "FHDB", "EAHD", "EAIB", "BTHD"}) {
    std::size_t at = bytes.find(signature);
    for (int i = 0; i < 5 && at != bytes.npos; ++i) {
      offsets.push_back(at + 6);
      at = bytes.find(signature, at + 1);
    }
  }
  int refused = 0;
  for (const std::size_t at : offsets) {
    CAPTURE(at);
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    const std::filesystem::path copy = folder.path / "damaged.h5";
    std::ofstream(copy, std::ios::binary) << damaged;
    // In a separate process: HDF5 leaks a little when it meets metadata that it cannot decode.
    const int status = wait_for(start([&] {
      const rlimit two_seconds{2, 2};
      setrlimit(RLIMIT_CPU, &two_seconds);
      return reading_error(copy).empty() ? 0 : 1;
    }));
    CHECK(WIFEXITED(status));
    refused += WIFEXITED(status) && WEXITSTATUS(status) == 1 ? 1 : 0;
  }
  CHECK(refused > 15);
}
