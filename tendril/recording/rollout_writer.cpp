#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "tendril/recording/byte_planes.hpp"
#include "tendril/recording/hdf5_support.hpp"
#include "tendril/recording/rollout_file.hpp"
#include "tendril/recording/rollout_format.hpp"

namespace tendril {
namespace {

using hdf5::Handle;
using hdf5::Session;

constexpr std::size_t kBlockRows = format::kRowsPerChunk;
constexpr std::size_t kBlocks = 6;  // in memory: one being filled, the others on their way
constexpr std::size_t kContactsReserved = 16;  // per row; more make a block grow once
constexpr unsigned kDeflateLevel = 1;  // of texts and model; rows go through BytePlaneEncoder

struct FieldSource {
  const char* name;
  std::span<const double> RolloutRow::*values;
};

// The order of format::fields.
constexpr std::array<FieldSource, format::kFieldCount> kSources = {{
    {"qpos", &RolloutRow::qpos},
    {"qvel", &RolloutRow::qvel},
    {"ctrl", &RolloutRow::ctrl},
    {"act", &RolloutRow::act},
    {"sensordata", &RolloutRow::sensordata},
    {"plugin_state", &RolloutRow::plugin_state},
    {"mocap_pos", &RolloutRow::mocap_pos},
    {"mocap_quat", &RolloutRow::mocap_quat},
}};

// Rows on their way from the step loop to the file.
struct Block {
  std::size_t rows = 0;
  std::vector<std::int64_t> step;
  std::vector<double> time, step_time_us;
  std::array<std::vector<double>, format::kFieldCount> fields;
  std::vector<std::int32_t> contact_count;
  std::vector<ContactRow> contacts;
  std::vector<std::size_t> integration_rows;  // within the block
  std::vector<double> integration;

  void clear() {
    rows = 0;
    contacts.clear();
    integration_rows.clear();
    integration.clear();
  }
};

Handle checked(hid_t id, const std::filesystem::path& file, const std::string& what) {
  if (id < 0) hdf5::fail(file, what);
  return Handle(id);
}

void check(herr_t status, const std::filesystem::path& file, const std::string& what) {
  if (status < 0) hdf5::fail(file, what);
}

// A growing dataset of fixed chunks that are encoded here and handed to the file as they are.
class Column {
 public:
  Column(const std::filesystem::path& file, hid_t parent, const std::string& name, hid_t type,
         const std::vector<hsize_t>& row_shape, hsize_t chunk_rows)
      : name_(name), element_size_(H5Tget_size(type)), row_shape_(row_shape) {
    std::vector<hsize_t> size = {0};
    std::vector<hsize_t> limit = {H5S_UNLIMITED};
    std::vector<hsize_t> chunk = {chunk_rows};
    for (const hsize_t extent : row_shape) {
      elements_ *= extent;
      size.push_back(extent);
      // A dimension of size 0 (a model without the quantity) must be able to grow for HDF5 to take
      // it.
      limit.push_back(extent == 0 ? H5S_UNLIMITED : extent);
      chunk.push_back(std::max<hsize_t>(extent, 1));
    }
    const int rank = static_cast<int>(size.size());
    const Handle space = checked(H5Screate_simple(rank, size.data(), limit.data()), file, name);
    const Handle properties = checked(H5Pcreate(H5P_DATASET_CREATE), file, name);
    H5Pset_obj_track_times(properties, false);
    check(H5Pset_chunk(properties, rank, chunk.data()), file, name);
    check(H5Pset_shuffle(properties), file, name);
    check(H5Pset_deflate(properties, kDeflateLevel), file, name);
    Handle dataset = checked(
        H5Dcreate2(parent, name.c_str(), type, space, H5P_DEFAULT, properties, H5P_DEFAULT), file,
        name);
    check(dataset.close(), file, name);
  }

  // After SWMR writing has begun.
  void open(const std::filesystem::path& file, hid_t parent) {
    dataset_ = checked(H5Dopen2(parent, name_.c_str(), H5P_DEFAULT), file, name_);
  }

  void set_rows(const std::filesystem::path& file, hsize_t rows) {
    std::vector<hsize_t> size = {rows};
    size.insert(size.end(), row_shape_.begin(), row_shape_.end());
    const Session session;
    check(H5Dset_extent(dataset_, size.data()), file, "writing " + name_);
  }

  // Puts out the whole chunk that begins at `first_row`; later rows of it may still be padding, and
  // then it is kept unfiltered: its size, and so its place in the file, do not change until it is
  // full.
  void write_chunk(const std::filesystem::path& file, BytePlaneEncoder& encoder, hsize_t first_row,
                   std::span<const std::byte> bytes, bool compress) {
    if (elements_ == 0) return;
    const BytePlaneEncoder::Chunk chunk =
        compress ? encoder.encode(bytes, elements_, element_size_)
                 : BytePlaneEncoder::Chunk{bytes, BytePlaneEncoder::kUnfiltered};
    std::array<hsize_t, 3> offset = {first_row, 0, 0};
    const Session session;
    check(H5Dwrite_chunk(dataset_, H5P_DEFAULT, chunk.filter_mask, offset.data(),
                         chunk.bytes.size(), chunk.bytes.data()),
          file, "writing " + name_);
  }

  Handle& dataset() { return dataset_; }

 private:
  std::string name_;
  std::size_t element_size_;
  std::size_t elements_ = 1;  // of a row
  std::vector<hsize_t> row_shape_;
  Handle dataset_;
};

Handle text_type(const std::filesystem::path& file, const std::string& name, std::size_t size) {
  Handle type = checked(H5Tcopy(H5T_C_S1), file, name);
  check(H5Tset_size(type, size), file, name);
  check(H5Tset_cset(type, H5T_CSET_UTF8), file, name);
  check(H5Tset_strpad(type, H5T_STR_NULLPAD), file, name);
  return type;
}

// A dataset of one compressed string of fixed length: attributes hold 64 KiB at most, and strings of
// variable length stand in heaps without a checksum, on which HDF5 crashes when they are damaged.
void write_text(const std::filesystem::path& file, hid_t group, const std::string& name,
                const std::string& text) {
  if (H5Lexists(group, name.c_str(), H5P_DEFAULT) > 0) return;  // "./a" beside "a": the same file
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

// One unfinished chunk of each contact dataset.
struct ContactChunk {
  static constexpr std::size_t kSize = format::kContactsPerChunk;
  std::size_t count = 0;
  bool in_file = false;  // put out, unfiltered, by an earlier block
  std::array<std::int32_t, kSize> geom1{}, geom2{};
  std::array<double, kSize> distance{};
  std::array<std::array<double, 3>, kSize> position{}, force{};

  void add(const ContactRow& contact) {
    geom1[count] = contact.geom1;
    geom2[count] = contact.geom2;
    distance[count] = contact.distance;
    std::copy_n(contact.position, 3, position[count].begin());
    std::copy_n(contact.force, 3, force[count].begin());
    ++count;
  }
  void start_next() {
    const std::size_t used = count;
    count = 0;
    in_file = false;
    std::fill_n(geom1.begin(), used, 0);
    std::fill_n(geom2.begin(), used, 0);
    std::fill_n(distance.begin(), used, 0.0);
    std::fill_n(position.begin(), used, std::array<double, 3>{});
    std::fill_n(force.begin(), used, std::array<double, 3>{});
  }
};

}  // namespace

struct RolloutWriter::Impl {
  // --- fixed at construction ---
  std::filesystem::path file;
  RolloutLayout layout;
  std::array<std::size_t, format::kFieldCount> widths{};

  // --- the step loop's side ---
  Block* current = nullptr;
  std::string outcome;
  bool closed = false;

  // --- between the two ---
  std::mutex mutex;
  std::condition_variable changed;
  std::array<Block, kBlocks> blocks;
  std::vector<Block*> free;
  std::deque<Block*> full;
  bool finishing = false;
  std::exception_ptr error;

  // --- the writer thread's side ---
  Handle file_id, group, outcome_attribute, rows_dataset;
  std::vector<Column> columns;  // step, time, step_time_us, then the fields
  std::vector<Column> contact_columns, contact_row_columns, integration_columns;
  BytePlaneEncoder encoder;
  ContactChunk contact_chunk;
  std::vector<std::int64_t> contact_start;
  hsize_t rows = 0, contacts = 0, integrations = 0;
  std::vector<std::int64_t> integration_row_chunk;

  std::thread thread;

  ~Impl() {
    const Session session;
    close_objects();
    file_id.reset();
  }

  void create(const RolloutAttributes& attributes, std::span<const std::byte> model);
  void allocate();
  void run() noexcept;
  void write(Block& block);
  void write_rows(Block& block);
  void write_contacts(const Block& block);
  void write_integration(const Block& block);
  void put_contact_chunk();
  void commit();
  void finish();
  void hand_over();
  void stop(const std::string& text);

  // Closed one by one, because H5Fclose does not report what fails when it closes objects.
  void close_objects_checked() {
    for (auto* list : {&columns, &contact_columns, &contact_row_columns, &integration_columns})
      for (Column& column : *list) check(column.dataset().close(), file, "closing");
    check(rows_dataset.close(), file, "closing");
    check(outcome_attribute.close(), file, "closing");
    check(group.close(), file, "closing");
  }

  void close_objects() {
    columns.clear();
    contact_columns.clear();
    contact_row_columns.clear();
    integration_columns.clear();
    rows_dataset.reset();
    outcome_attribute.reset();
    group.reset();
  }

  // After a failed write: closing would put out metadata that no longer belongs together, while the
  // file as it stands is that of a killed process. So the identifiers are left open until the
  // process ends.
  void abandon_handles() {
    for (auto* list : {&columns, &contact_columns, &contact_row_columns, &integration_columns})
      for (Column& column : *list) column.dataset().abandon();
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
  const std::filesystem::path part = file.string() + format::kPartSuffix;
  file_id = checked(H5Fcreate(part.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), file,
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
    Handle texts = checked(
        H5Gcreate2(group, format::kTexts, H5P_DEFAULT, group_properties, H5P_DEFAULT), file,
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
        checked(H5Acreate2(group, "outcome", text_type(file, "outcome", format::kOutcomeSize), scalar,
                           H5P_DEFAULT, H5P_DEFAULT),
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
  const auto add = [&](std::vector<Column>& list, const std::string& name, hid_t type,
                       const std::vector<hsize_t>& shape,
                       hsize_t chunk) { list.emplace_back(file, group, name, type, shape, chunk); };
  add(columns, "step", H5T_STD_I64LE, {}, kBlockRows);
  add(columns, "time", H5T_IEEE_F64LE, {}, kBlockRows);
  add(columns, "step_time_us", H5T_IEEE_F64LE, {}, kBlockRows);
  const auto fields = format::fields(layout);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    std::vector<hsize_t> shape(fields[i].shape.begin(), fields[i].shape.end());
    widths[i] = fields[i].width();
    add(columns, fields[i].path, H5T_IEEE_F64LE, shape, kBlockRows);
  }
  add(contact_row_columns, "contact/start", H5T_STD_I64LE, {}, kBlockRows);
  add(contact_row_columns, "contact/count", H5T_STD_I32LE, {}, kBlockRows);
  add(contact_columns, "contact/geom1", H5T_STD_I32LE, {}, ContactChunk::kSize);
  add(contact_columns, "contact/geom2", H5T_STD_I32LE, {}, ContactChunk::kSize);
  add(contact_columns, "contact/distance", H5T_IEEE_F64LE, {}, ContactChunk::kSize);
  add(contact_columns, "contact/position", H5T_IEEE_F64LE, {3}, ContactChunk::kSize);
  add(contact_columns, "contact/force", H5T_IEEE_F64LE, {3}, ContactChunk::kSize);
  add(integration_columns, "integration/state", H5T_IEEE_F64LE,
      {static_cast<hsize_t>(layout.nintegration)}, 1);
  add(integration_columns, "integration/row", H5T_STD_I64LE, {}, format::kIntegrationsPerChunk);

  check(group.close(), file, "creating");
  check(H5Fstart_swmr_write(file_id), file, "starting to write");
  group = checked(H5Gopen2(file_id, format::kGroup, H5P_DEFAULT), file, "opening");
  for (auto* list : {&columns, &contact_columns, &contact_row_columns, &integration_columns})
    for (Column& column : *list) column.open(file, group);
  rows_dataset = checked(H5Dopen2(group, "rows", H5P_DEFAULT), file, "rows");
  outcome_attribute = checked(H5Aopen(group, "outcome", H5P_DEFAULT), file, "outcome");
  if (std::rename(part.c_str(), file.c_str()) != 0)
    throw RolloutError(file.string() + ": cannot be created: " + std::strerror(errno));
}

void RolloutWriter::Impl::allocate() {
  for (Block& block : blocks) {
    block.step.resize(kBlockRows);
    block.time.resize(kBlockRows);
    block.step_time_us.resize(kBlockRows);
    for (std::size_t i = 0; i < widths.size(); ++i) block.fields[i].resize(kBlockRows * widths[i]);
    block.contact_count.resize(kBlockRows);
    block.contacts.reserve(kBlockRows * kContactsReserved);
    const std::size_t states =
        kBlockRows / static_cast<std::size_t>(layout.integration_interval) + 1;
    block.integration_rows.reserve(states);
    block.integration.reserve(states * static_cast<std::size_t>(layout.nintegration));
    free.push_back(&block);
  }
  contact_start.resize(kBlockRows);
  integration_row_chunk.resize(format::kIntegrationsPerChunk);
  current = free.back();
  free.pop_back();
}

// --- the writer thread
// ----------------------------------------------------------------------------

void RolloutWriter::Impl::run() noexcept {
  for (;;) {
    Block* block = nullptr;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [this] { return !full.empty() || finishing; });
      if (full.empty()) break;
      block = full.front();
      full.pop_front();
    }
    try {
      write(*block);
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

void RolloutWriter::Impl::write(Block& block) {
  write_contacts(block);
  write_rows(block);
  write_integration(block);
  rows += block.rows;
  commit();
}

// A short block is the last: `hand_over` sends full ones only, `stop` the rest.
void RolloutWriter::Impl::write_rows(Block& block) {
  const std::size_t used = block.rows;
  const auto put = [&](Column& column, auto& values, std::size_t width) {
    std::fill(values.begin() + static_cast<std::ptrdiff_t>(used * width), values.end(), 0);
    column.set_rows(file, rows + used);
    column.write_chunk(file, encoder, rows, std::as_bytes(std::span(values)), true);
  };
  put(columns[0], block.step, 1);
  put(columns[1], block.time, 1);
  put(columns[2], block.step_time_us, 1);
  for (std::size_t i = 0; i < widths.size(); ++i) put(columns[3 + i], block.fields[i], widths[i]);
  auto next = static_cast<std::int64_t>(contacts - block.contacts.size());
  for (std::size_t i = 0; i < used; ++i) {
    contact_start[i] = next;
    next += block.contact_count[i];
  }
  put(contact_row_columns[0], contact_start, 1);
  put(contact_row_columns[1], block.contact_count, 1);
}

void RolloutWriter::Impl::write_contacts(const Block& block) {
  if (block.contacts.empty()) return;
  for (Column& column : contact_columns) column.set_rows(file, contacts + block.contacts.size());
  for (const ContactRow& contact : block.contacts) {
    contact_chunk.add(contact);
    ++contacts;
    if (contact_chunk.count == ContactChunk::kSize) {
      put_contact_chunk();
      contact_chunk.start_next();
    }
  }
  if (contact_chunk.count > 0) put_contact_chunk();
}

void RolloutWriter::Impl::put_contact_chunk() {
  ContactChunk& chunk = contact_chunk;
  const hsize_t first = contacts - chunk.count;
  const bool compress = chunk.count == ContactChunk::kSize && !chunk.in_file;
  const auto put = [&](Column& column, const auto& values) {
    column.write_chunk(file, encoder, first, std::as_bytes(std::span(values)), compress);
  };
  put(contact_columns[0], chunk.geom1);
  put(contact_columns[1], chunk.geom2);
  put(contact_columns[2], chunk.distance);
  put(contact_columns[3], chunk.position);
  put(contact_columns[4], chunk.force);
  chunk.in_file = true;
}

void RolloutWriter::Impl::write_integration(const Block& block) {
  if (block.integration_rows.empty()) return;
  const auto width = static_cast<std::size_t>(layout.nintegration);
  for (Column& column : integration_columns)
    column.set_rows(file, integrations + block.integration_rows.size());
  const auto put_rows = [&] {  // the chunk of row numbers that holds the newest state
    const hsize_t first = (integrations - 1) / format::kIntegrationsPerChunk;
    integration_columns[1].write_chunk(file, encoder, first * format::kIntegrationsPerChunk,
                                       std::as_bytes(std::span(integration_row_chunk)), false);
  };
  for (std::size_t i = 0; i < block.integration_rows.size(); ++i) {
    const auto state = std::span(block.integration).subspan(i * width, width);
    integration_columns[0].write_chunk(file, encoder, integrations, std::as_bytes(state), true);
    integration_row_chunk[integrations % format::kIntegrationsPerChunk] =
        static_cast<std::int64_t>(rows + block.integration_rows[i]);
    ++integrations;
    if (integrations % format::kIntegrationsPerChunk == 0) put_rows();
  }
  if (integrations % format::kIntegrationsPerChunk != 0) put_rows();
}

// First everything that the rows consist of, then their number.
void RolloutWriter::Impl::commit() {
  const Session session;
  check(H5Fflush(file_id, H5F_SCOPE_LOCAL), file, "writing");
  const auto count = static_cast<std::int64_t>(rows);
  check(H5Dwrite(rows_dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &count), file,
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
    if (current != nullptr && current->rows > 0) full.push_back(current);
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
    : impl_(std::make_unique<Impl>()) {
  impl_->file = file;
  impl_->layout = layout;
  if (layout.integration_interval < 1)
    throw RolloutError(file.string() + ": integration_interval = " +
                       std::to_string(layout.integration_interval) + ", must be >= 1");
  try {
    impl_->create(attributes, model_mjb);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(file.string() + format::kPartSuffix, ignored);
    throw;
  }
  impl_->allocate();
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
  for (std::size_t i = 0; i < kSources.size(); ++i) {
    const std::size_t size = (row.*kSources[i].values).size();
    if (size != impl.widths[i])
      throw RolloutError(impl.file.string() + ": row " + std::to_string(row.step) + ": " +
                         kSources[i].name + " has " + std::to_string(size) + " values, must have " +
                         std::to_string(impl.widths[i]));
  }
  const std::size_t state_size = row.integration_state.size();
  if (state_size != 0 && state_size != static_cast<std::size_t>(impl.layout.nintegration))
    throw RolloutError(impl.file.string() + ": row " + std::to_string(row.step) +
                       ": integration_state has " + std::to_string(state_size) +
                       " values, must have 0 or " + std::to_string(impl.layout.nintegration));

  Block& block = *impl.current;
  const std::size_t i = block.rows;
  block.step[i] = row.step;
  block.time[i] = row.time;
  block.step_time_us[i] = row.step_time_us;
  for (std::size_t k = 0; k < kSources.size(); ++k) {
    const std::span<const double> values = row.*kSources[k].values;
    std::copy(values.begin(), values.end(), block.fields[k].data() + i * values.size());
  }
  block.contact_count[i] = static_cast<std::int32_t>(row.contacts.size());
  block.contacts.insert(block.contacts.end(), row.contacts.begin(), row.contacts.end());
  if (state_size != 0) {
    block.integration_rows.push_back(i);
    block.integration.insert(block.integration.end(), row.integration_state.begin(),
                             row.integration_state.end());
  }
  if (++block.rows == kBlockRows) impl.hand_over();
}

void RolloutWriter::close(const std::string& outcome) {
  if (!impl_->closed) impl_->stop(outcome);
}

}  // namespace tendril
