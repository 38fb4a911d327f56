#include "bench/published/result_store.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "tendril/system/file_descriptor.hpp"

namespace tendril::tables {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& file, const std::string& reason) {
  throw std::runtime_error(file.string() + ": " + reason);
}

}  // namespace

ResultStore::ResultStore(const fs::path& folder) : file_(folder / "results.jsonl") {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(folder, error.message());
  if (!fs::exists(file_, error)) return;
  std::ifstream in(file_);
  if (!in) fail(file_, "could not be read");
  for (std::string line; std::getline(in, line);) {
    ends_inside_line_ = in.eof();
    if (line.empty()) continue;
    try {
      Record record = record_from_json(nlohmann::ordered_json::parse(line));
      RecordKey key = record.key;
      records_.insert_or_assign(std::move(key), std::move(record));
    } catch (const std::exception&) {
      ++unreadable_lines_;
    }
  }
  if (in.bad()) fail(file_, "could not be read");
}

const Record* ResultStore::find(const RecordKey& key) const {
  const auto found = records_.find(key);
  return found == records_.end() ? nullptr : &found->second;
}

void ResultStore::append(const Record& record) {
  std::string line = to_json(record).dump() + "\n";
  if (ends_inside_line_) line.insert(line.begin(), '\n');
  system::FileDescriptor file = system::open_file(file_, system::Opening::Append);
  if (!file.is_open() || !system::write_all(file, line) || !file.close())
    fail(file_, std::strerror(errno));
  ends_inside_line_ = false;
  records_.insert_or_assign(record.key, record);
}

}  // namespace tendril::tables
