#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "tendril/recording/hdf5_support.hpp"
#include "tendril/recording/rollout_blocks.hpp"
#include "tendril/recording/rollout_file.hpp"
#include "tendril/recording/rollout_format.hpp"
#include "tendril/system/file_descriptor.hpp"

namespace tendril {
namespace {

using hdf5::Handle;
using hdf5::Session;

constexpr std::size_t kBlocks = 6;     // in memory: one being filled, the others on their way
constexpr unsigned kDeflateLevel = 1;  // of texts and model; rows go through BytePlaneEncoder

Handle checked(hid_t id, const std::filesystem::path& file, const std::string& what) {
  if (id < 0) hdf5::fail(file, what);
  return Handle(id);
}

void check(herr_t status, const std::filesystem::path& file, const std::string& what) {
  if (status < 0) hdf5::fail(file, what);
}

hid_t type_of(const format::Column& column) {
  switch (column.type) {
    case format::Column::Type::Int64:
      return H5T_STD_I64LE;
    case format::Column::Type::Int32:
      return H5T_STD_I32LE;
    case format::Column::Type::Float64:
      break;
  }
  return H5T_IEEE_F64LE;
}

void create_column(const std::filesystem::path& file, hid_t parent, const format::Column& column) {
  std::vector<hsize_t> size = {0};
  std::vector<hsize_t> limit = {H5S_UNLIMITED};
  std::vector<hsize_t> chunk = {column.chunk_rows};
  for (const hsize_t extent : column.shape) {
    size.push_back(extent);
    // A dimension of size 0 (a model without the quantity) must be able to grow for HDF5 to take
    // it.
    limit.push_back(extent == 0 ? H5S_UNLIMITED : extent);
    chunk.push_back(std::max<hsize_t>(extent, 1));
  }
  const int rank = static_cast<int>(size.size());
  const std::string& name = column.path;
  const Handle space = checked(H5Screate_simple(rank, size.data(), limit.data()), file, name);
  const Handle properties = checked(H5Pcreate(H5P_DATASET_CREATE), file, name);
  H5Pset_obj_track_times(properties, false);
  check(H5Pset_chunk(properties, rank, chunk.data()), file, name);
  check(H5Pset_shuffle(properties), file, name);
  check(H5Pset_deflate(properties, kDeflateLevel), file, name);
  Handle dataset = checked(H5Dcreate2(parent, name.c_str(), type_of(column), space, H5P_DEFAULT,
                                      properties, H5P_DEFAULT),
                           file, name);
  check(dataset.close(), file, name);
}

Handle text_type(const std::filesystem::path& file, const std::string& name, std::size_t size) {
  Handle type = checked(H5Tcopy(H5T_C_S1), file, name);
  check(H5Tset_size(type, size), file, name);
  check(H5Tset_cset(type, H5T_CSET_UTF8), file, name);
  check(H5Tset_strpad(type, H5T_STR_NULLPAD), file, name);
  return type;
}

// A dataset of one compressed string of fixed length: attributes hold 64 KiB at most, and strings
// of variable length are in heaps without a checksum, on which HDF5 crashes when they are
// damaged.
void write_text(const std::filesystem::path& file, hid_t group, const std::string& name,
                const std::string& text) {
  if (H5Lexists(group, name.c_str(), H5P_DEFAULT) > 0) return;  // "./a" next to "a": the same file
  const hsize_t one = 1;
  const Handle links = checked(H5Pcreate(H5P_LINK_CREATE), file, name);
  check(H5Pset_create_intermediate_group(links, 1), file, name);
  const Handle properties = checked(H5Pcreate(H5P_DATASET_CREATE), file, name);
  H5Pset_obj_track_times(properties, false);
  check(H5Pset_chunk(properties, 1, &one), file, name);
  check(H5Pset_deflate(properties, kDeflateLevel), file, name);
  const Handle space = checked(H5Screate_simple(1, &one, nullptr), file, name);
  const Handle type = text_type(file, name, std::max<std::size_t>(text.size(), 1));
  Handle dataset = checked(
      H5Dcreate2(group, name.c_str(), type, space, links, properties, H5P_DEFAULT), file, name);
  check(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.c_str()), file,
        "writing " + name);
  check(dataset.close(), file, "writing " + name);
}

// `type` in the file, `memory_type` here.
void write_attribute(const std::filesystem::path& file, hid_t object, const std::string& name,
                     hid_t type, hid_t memory_type, const void* value) {
  const Handle scalar = checked(H5Screate(H5S_SCALAR), file, name);
  const Handle attribute =
      checked(H5Acreate2(object, name.c_str(), type, scalar, H5P_DEFAULT, H5P_DEFAULT), file, name);
  check(H5Awrite(attribute, memory_type, value), file, name);
}

void write_integer(const std::filesystem::path& file, hid_t object, const std::string& name,
                   std::int64_t value) {
  write_attribute(file, object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

void write_real(const std::filesystem::path& file, hid_t object, const std::string& name,
                double value) {
  write_attribute(file, object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}

void write_outcome(const std::filesystem::path& file, hid_t attribute, const std::string& text) {
  std::array<char, format::kOutcomeSize> buffer{};
  std::size_t size = std::min(text.size(), buffer.size());
  // Never half a character: step back over the continuation bytes of UTF-8.
  if (size < text.size())
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  std::copy_n(text.data(), size, buffer.data());
  check(H5Awrite(attribute, text_type(file, "outcome", buffer.size()), buffer.data()), file,
        "writing outcome");
}

void write_model(const std::filesystem::path& file, hid_t group, std::span<const std::byte> model) {
  const char* const name = "model_mjb";
  const hsize_t size = model.size();
  const Handle properties = checked(H5Pcreate(H5P_DATASET_CREATE), file, name);
  H5Pset_obj_track_times(properties, false);
  const Handle space = checked(H5Screate_simple(1, &size, nullptr), file, name);
  if (size > 0) {
    const hsize_t chunk = std::min<hsize_t>(size, hsize_t{1} << 20);
    check(H5Pset_chunk(properties, 1, &chunk), file, name);
    check(H5Pset_deflate(properties, kDeflateLevel), file, name);
  }
  Handle dataset =
      checked(H5Dcreate2(group, name, H5T_STD_U8LE, space, H5P_DEFAULT, properties, H5P_DEFAULT),
              file, name);
  if (size > 0)
    check(H5Dwrite(dataset, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, model.data()), file,
          "writing model_mjb");
  check(dataset.close(), file, "writing model_mjb");
}

}  // namespace

struct RolloutWriter::Impl final : ColumnFile {
  // --- fixed at construction ---
  std::filesystem::path file;
  RolloutLayout layout;

  // --- the step loop's side ---
  RowBlock* current = nullptr;
  std::string outcome;
  bool closed = false;

  // --- between the two ---
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<RowBlock> blocks;
  std::vector<RowBlock*> free;
  std::deque<RowBlock*> full;
  bool finishing = false;
  std::exception_ptr error;

  // --- the writer thread's side ---
  Handle file_id, group, outcome_attribute, rows_dataset;
  std::vector<format::Column> columns;
  std::vector<Handle> datasets;  // in this order
  BlockWriter writer;

  std::thread thread;

  Impl(std::filesystem::path path, const RolloutLayout& sizes)
      : file(std::move(path)),
        layout(sizes),
        columns(format::columns(layout)),
        writer(layout, *this) {
    for (std::size_t i = 0; i < kBlocks; ++i)
      free.push_back(&blocks.emplace_back(file.string(), layout));
    current = free.back();
    free.pop_back();
  }

  ~Impl() override {
    const Session session;
    close_objects();
    file_id.reset();
  }

  void create(const RolloutAttributes& attributes, std::span<const std::byte> model);
  void run() noexcept;
  void set_rows(std::size_t column, std::uint64_t rows) override;
  void write_chunk(std::size_t column, std::uint64_t first_row,
                   const BytePlaneEncoder::Chunk& chunk) override;
  void commit(std::int64_t rows) override;
  void finish();
  void hand_over();
  void stop(const std::string& text);

  // Closed one by one, because H5Fclose does not report what fails when it closes objects.
  void close_objects_checked() {
    for (Handle& dataset : datasets) check(dataset.close(), file, "closing");
    check(rows_dataset.close(), file, "closing");
    check(outcome_attribute.close(), file, "closing");
    check(group.close(), file, "closing");
  }

  void close_objects() {
    datasets.clear();
    rows_dataset.reset();
    outcome_attribute.reset();
    group.reset();
  }

  // After a failed write: closing would put out metadata that no longer belongs together, while the
  // file as it is looks like that of a killed process. So the identifiers are left open until the
  // process ends.
  void abandon_handles() {
    for (Handle& dataset : datasets) dataset.abandon();
    rows_dataset.abandon();
    outcome_attribute.abandon();
    group.abandon();
    file_id.abandon();
  }
};

// --- creation
// -------------------------------------------------------------------------------------

void RolloutWriter::Impl::create(const RolloutAttributes& attributes,
                                 std::span<const std::byte> model) {
  const Session session;
  const Handle access = checked(H5Pcreate(H5P_FILE_ACCESS), file, "creating");
  H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
  H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
  // A file with the final name is a recording, if only one without rows.
  const std::filesystem::path part =
      system::kRenamesOpenFiles ? file.string() + format::kPartSuffix : file.string();
  file_id = checked(H5Fcreate(part.string().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), file,
                    "cannot be created");

  const Handle group_properties = checked(H5Pcreate(H5P_GROUP_CREATE), file, "creating");
  // Attributes stay in the group's own header: SWMR can rewrite one in place there.
  H5Pset_attr_phase_change(group_properties, 0xffff, 0);
  // Links as well: fewer blocks of metadata that damage can hit.
  H5Pset_link_phase_change(group_properties, 0xffff, 0);
  H5Pset_obj_track_times(group_properties, false);
  group = checked(H5Gcreate2(file_id, format::kGroup, H5P_DEFAULT, group_properties, H5P_DEFAULT),
                  file, "creating");
  {
    Handle texts =
        checked(H5Gcreate2(group, format::kTexts, H5P_DEFAULT, group_properties, H5P_DEFAULT), file,
                format::kTexts);
    for (const auto& [name, value] : attributes) {
      if (name == "outcome" || name == "format") continue;
      if (const auto* text = std::get_if<std::string>(&value))
        write_text(file, texts, name, *text);
      else if (const auto* integer = std::get_if<std::int64_t>(&value))
        write_integer(file, group, name, *integer);
      else
        write_real(file, group, name, std::get<double>(value));
    }
    check(texts.close(), file, format::kTexts);
  }
  {
    const std::string_view name = format::kName;
    const Handle type = text_type(file, "format", name.size());
    write_attribute(file, group, "format", type, type, name.data());
  }
  write_integer(file, group, "format_version", format::kVersion);
  write_integer(file, group, "integration_interval", layout.integration_interval);
  {
    const Handle scalar = checked(H5Screate(H5S_SCALAR), file, "outcome");
    const Handle attribute =
        checked(H5Acreate2(group, "outcome", text_type(file, "outcome", format::kOutcomeSize),
                           scalar, H5P_DEFAULT, H5P_DEFAULT),
                file, "outcome");
    write_outcome(file, attribute, format::kRunning);
  }
  write_model(file, group, model);
  {
    const Handle scalar = checked(H5Screate(H5S_SCALAR), file, "rows");
    const Handle properties = checked(H5Pcreate(H5P_DATASET_CREATE), file, "rows");
    H5Pset_obj_track_times(properties, false);
    H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY);
    Handle dataset = checked(
        H5Dcreate2(group, "rows", H5T_STD_I64LE, scalar, H5P_DEFAULT, properties, H5P_DEFAULT),
        file, "rows");
    const std::int64_t none = 0;
    check(H5Dwrite(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &none), file, "rows");
    check(dataset.close(), file, "rows");
  }

  for (const char* name : {"contact", "integration", "mocap"})
    check(checked(H5Gcreate2(group, name, H5P_DEFAULT, group_properties, H5P_DEFAULT), file, name)
              .close(),
          file, name);
  for (const format::Column& column : columns) create_column(file, group, column);

  check(group.close(), file, "creating");
  check(H5Fstart_swmr_write(file_id), file, "starting to write");
  group = checked(H5Gopen2(file_id, format::kGroup, H5P_DEFAULT), file, "opening");
  for (const format::Column& column : columns)
    datasets.push_back(
        checked(H5Dopen2(group, column.path.c_str(), H5P_DEFAULT), file, column.path));
  rows_dataset = checked(H5Dopen2(group, "rows", H5P_DEFAULT), file, "rows");
  outcome_attribute = checked(H5Aopen(group, "outcome", H5P_DEFAULT), file, "outcome");
  std::error_code problem;
  if (part != file) std::filesystem::rename(part, file, problem);
  if (problem) throw RolloutError(file.string() + ": cannot be created: " + problem.message());
}

// --- the writer thread
// ----------------------------------------------------------------------------

void RolloutWriter::Impl::run() noexcept {
  for (;;) {
    RowBlock* block = nullptr;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [this] { return !full.empty() || finishing; });
      if (full.empty()) break;
      block = full.front();
      full.pop_front();
    }
    try {
      writer.write(*block);
    } catch (...) {
      const std::lock_guard lock(mutex);
      error = std::current_exception();
      changed.notify_all();
      abandon_handles();
      return;
    }
    block->clear();
    const std::lock_guard lock(mutex);
    free.push_back(block);
    changed.notify_all();
  }
  try {
    finish();
  } catch (...) {
    const std::lock_guard lock(mutex);
    error = std::current_exception();
    abandon_handles();
  }
}

void RolloutWriter::Impl::set_rows(std::size_t column, std::uint64_t rows) {
  std::vector<hsize_t> size = {rows};
  size.insert(size.end(), columns[column].shape.begin(), columns[column].shape.end());
  const Session session;
  check(H5Dset_extent(datasets[column], size.data()), file, "writing " + columns[column].path);
}

void RolloutWriter::Impl::write_chunk(std::size_t column, std::uint64_t first_row,
                                      const BytePlaneEncoder::Chunk& chunk) {
  const std::array<hsize_t, 3> offset = {first_row, 0, 0};
  const Session session;
  check(H5Dwrite_chunk(datasets[column], H5P_DEFAULT, chunk.filter_mask, offset.data(),
                       chunk.bytes.size(), chunk.bytes.data()),
        file, "writing " + columns[column].path);
}

// First everything that the rows consist of, then their number.
void RolloutWriter::Impl::commit(std::int64_t rows) {
  const Session session;
  check(H5Fflush(file_id, H5F_SCOPE_LOCAL), file, "writing");
  check(H5Dwrite(rows_dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &rows), file,
        "writing rows");
  check(H5Dflush(rows_dataset), file, "writing rows");
}

void RolloutWriter::Impl::finish() {
  const Session session;
  write_outcome(file, outcome_attribute, outcome);
  check(H5Fflush(file_id, H5F_SCOPE_LOCAL), file, "writing");
  close_objects_checked();
  check(file_id.close(), file, "closing");
}

// --- the step loop
// --------------------------------------------------------------------------------

// Passes the current block on and waits for a free one.
void RolloutWriter::Impl::hand_over() {
  std::unique_lock lock(mutex);
  if (error) std::rethrow_exception(error);
  full.push_back(current);
  current = nullptr;
  changed.notify_all();
  changed.wait(lock, [this] { return !free.empty() || error; });
  if (error) std::rethrow_exception(error);
  current = free.back();
  free.pop_back();
}

void RolloutWriter::Impl::stop(const std::string& text) {
  closed = true;
  {
    const std::lock_guard lock(mutex);
    outcome = text;
    if (current != nullptr && !current->empty()) full.push_back(current);
    current = nullptr;
    finishing = true;
    changed.notify_all();
  }
  thread.join();
  if (error) std::rethrow_exception(error);
}

RolloutWriter::RolloutWriter(const std::filesystem::path& file, const RolloutLayout& layout,
                             const RolloutAttributes& attributes,
                             std::span<const std::byte> model_mjb)
    : impl_(std::make_unique<Impl>(file, layout)) {
  try {
    impl_->create(attributes, model_mjb);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(file.string() + format::kPartSuffix, ignored);
    throw;
  }
  impl_->thread = std::thread([impl = impl_.get()] { impl->run(); });
}

RolloutWriter::~RolloutWriter() {
  if (impl_->closed) return;
  try {
    impl_->stop("aborted");
  } catch (const std::exception&) {
    // Whoever desired to know called `close`.
  }
}

void RolloutWriter::append(const RolloutRow& row) {
  Impl& impl = *impl_;
  if (impl.current == nullptr) {
    const std::lock_guard lock(impl.mutex);
    if (impl.error) std::rethrow_exception(impl.error);
    throw RolloutError(impl.file.string() + ": is closed");
  }
  impl.current->append(row);
  if (impl.current->full()) impl.hand_over();
}

void RolloutWriter::close(const std::string& outcome) {
  if (!impl_->closed) impl_->stop(outcome);
}

}  // namespace tendril
