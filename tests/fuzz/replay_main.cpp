// Feeds files to the fuzz targets, without libFuzzer.
//
// usage: fuzz_replay [--reader NAME] PATH...
// PATH is a file or a folder. A file goes to every target that reads files of its extension, or to
// the one named. No file may take more than 2 s of processor time.

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/readers.hpp"

namespace tendril::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr double kLongest = 2.0;  // s

/// A target and the files that it reads.
struct Reader {
  const char* name;
  void (*read)(std::string_view input);
  std::string_view extension;
};

constexpr Reader kReaders[] = {
    {"robot", robot, ".toml"},
    {"snake", snake, ".toml"},
    {"mobile", mobile, ".toml"},
    {"tube", tube, ".toml"},
    {"experiment", experiment, ".toml"},
    {"plan", plan, ".toml"},
    {"path_plan", path_plan, ".toml"},
    {"contact_plan", contact_plan, ".plan"},
    {"csv", csv, ".csv"},
    {"pose_path", pose_path, ".csv"},
    {"mesh", mesh, ".obj"},
    {"mesh", mesh, ".stl"},
    {"overrides", overrides, ".set"},
    {"recording", recording, ".h5"},
};

std::vector<fs::path> files_below(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Returns whether it took no longer than allowed.
bool replay(const Reader& reader, const fs::path& file) {
  std::printf("%s %s\n", reader.name, file.c_str());
  std::fflush(stdout);  // the last line is the input of a crash
  std::ifstream stream(file, std::ios::binary);
  const std::string input{std::istreambuf_iterator<char>(stream), {}};
  require(stream.good() || stream.eof(), "the file can be read");
  const std::clock_t before = std::clock();
  reader.read(input);
  const double time = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  if (time <= kLongest) return true;
  std::printf("    took %.1f s of processor time, at most %.1f s\n", time, kLongest);
  return false;
}

int run(std::vector<std::string> arguments) {
  std::string name;
  if (arguments.size() >= 2 && arguments[0] == "--reader") {
    name = arguments[1];
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  }
  int inputs = 0, slow = 0;
  for (const std::string& path : arguments) {
    for (const fs::path& file : files_below(path)) {
      for (const Reader& reader : kReaders) {
        if (name.empty() ? file.extension() != reader.extension : name != reader.name) continue;
        ++inputs;
        if (!replay(reader, file)) ++slow;
        if (!name.empty()) break;
      }
    }
  }
  std::printf("%d inputs, %d slow\n", inputs, slow);
  if (inputs == 0) {
    std::fprintf(stderr, "usage: fuzz_replay [--reader NAME] PATH...\n");
    return 2;
  }
  return slow == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tendril::fuzz

int main(int argc, char** argv) {
  return tendril::fuzz::run(std::vector<std::string>(argv + 1, argv + argc));
}
