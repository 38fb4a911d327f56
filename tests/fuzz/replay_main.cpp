// Feeds files to the fuzz targets, without libFuzzer.
//
// usage: fuzz_replay [--reader NAME] PATH...
// PATH is a file or a folder. A file goes to the target named, or to that named like its folder, or
// to every target that reads files of its extension. No file may take more than 2 s of processor
// time.

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/target.hpp"

namespace tendril::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr double kLongest = 2.0;  // s

/// Returns whether the target reads this file: one of its extension, or of a folder named like it.
bool reads(const Target& target, const fs::path& file) {
  const std::string folder = file.parent_path().filename();
  if (Target::find(folder) != nullptr) return folder == target.name;
  const std::string known = std::string(target.extensions) + ' ';
  return file.has_extension() && known.find(file.extension().string() + ' ') != known.npos;
}

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
bool replay(const Target& target, const fs::path& file) {
  std::printf("%s %s\n", target.name.data(), file.c_str());
  std::fflush(stdout);  // the last line is the input of a crash
  std::ifstream stream(file, std::ios::binary);
  const std::string input{std::istreambuf_iterator<char>(stream), {}};
  require(stream.good() || stream.eof(), "the file can be read");
  const std::clock_t before = std::clock();
  target.read(input);
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
      for (const Target* const target : Target::all()) {
        if (name.empty() ? !reads(*target, file) : name != target->name) continue;
        ++inputs;
        if (!replay(*target, file)) ++slow;
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
