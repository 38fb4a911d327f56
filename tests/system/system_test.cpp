#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>

#include "tendril/system/file_copy.hpp"
#include "tendril/system/file_descriptor.hpp"
#include "tendril/system/library.hpp"
#include "tendril/system/process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tendril::system {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find_first_of("\r\n"));
}

#if defined(_WIN32)
const std::vector<std::string> kCommand = {"cmd", "/c", "more& echo wrong>&2& exit 3"};
#else
const std::vector<std::string> kCommand = {"sh", "-c", "cat; echo wrong >&2; exit 3"};
#endif

}  // namespace

TEST_CASE("system: a child keeps the stream that is asked for, and its exit status", "[system]") {
  Process output(kCommand, Stream::Output);
  CHECK(output.write("right"));
  CHECK(output.wait() == 3);
  CHECK(first_line(output.messages()) == "right");
  Process error(kCommand);
  CHECK(error.wait() == 3);
  CHECK(first_line(error.messages()) == "wrong");
  CHECK_FALSE(error.write("late"));
  CHECK_THROWS_AS(Process({"tendril-no-such-program"}), std::system_error);
}

TEST_CASE("system: what a copy of this process does ends with it", "[system]") {
#if defined(_WIN32)
  CHECK_FALSE(run_in_copy(60));
#else
  const std::optional<int> status = run_in_copy(60);
  if (!status) std::_Exit(7);
  CHECK(*status == 7);
#endif
}

TEST_CASE("system: a folder is locked until the lock is closed", "[system]") {
  const test::TemporaryFolder folder;
  FileDescriptor lock = lock_folder(folder.path());
  CHECK(lock.is_open());
  CHECK_FALSE(lock_folder(folder.path()).is_open());
  CHECK(errno == EWOULDBLOCK);
  CHECK(lock.close());
  CHECK(lock_folder(folder.path()).is_open());
}

TEST_CASE("system: files are replaced, extended and read", "[system]") {
  const test::TemporaryFolder folder;
  const fs::path file = folder.path() / "file";
  CHECK_FALSE(status_of(open_file(file, Opening::Read)));
  CHECK(errno == ENOENT);
  CHECK(write_all(open_file(file, Opening::Append), "a"));
  CHECK(write_all(open_file(file, Opening::Append), "b"));
  CHECK(text_of(file) == "ab");
  CHECK(write_all(open_file(file, Opening::Replace), "cde"));
  const FileDescriptor input = open_file(file, Opening::Read);
  const auto status = status_of(input);
  REQUIRE(status);
  CHECK((status->is_regular && !status->is_folder && status->size == 3));
  std::string text(10, '\0');
  CHECK(read_some(input, text) == 3);
  CHECK(text.substr(0, 3) == "cde");
  CHECK(read_some(input, text) == 0);
  const auto of_folder = status_of(open_file(folder.path(), Opening::Read));
  CHECK((of_folder && of_folder->is_folder));
}

TEST_CASE("system: a file does not change with its copy", "[system]") {
  const test::TemporaryFolder folder;
  const fs::path file = folder.path() / "file";
  CHECK(FileCopy(file).bytes().empty());
  REQUIRE(write_all(open_file(file, Opening::Replace), "abc"));
  const FileCopy copy(file);
  REQUIRE(copy.bytes().size() == 3);
  copy.bytes()[1] = 'x';
  CHECK(copy.bytes()[1] == 'x');
  CHECK(text_of(file) == "abc");
}

TEST_CASE("system: symbols are found in their libraries", "[system]") {
  const auto own = reinterpret_cast<const void*>(&text_of);
  CHECK(fs::equivalent(file_with(own), program_file()));
  void* const known = symbol_in_process("malloc");
  REQUIRE(known != nullptr);
  const fs::path library = file_with(known);
  const auto loaded = loaded_libraries();
  CHECK(std::find(loaded.begin(), loaded.end(), library) != loaded.end());
  CHECK(symbol_in_loaded(library, "malloc") == known);
  CHECK(symbol_in_loaded("libtendril_no_such_library.so", "malloc") == nullptr);
  CHECK(load_library("libtendril_no_such_library.so") == nullptr);
  CHECK(library_problem().find("libtendril_no_such_library.so") != std::string::npos);
}

}  // namespace tendril::system
