#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <limits>

#include "tendril/number_text.hpp"
#include "tendril/recording/hdf5_support.hpp"
#include "tendril/recording/rollout_file.hpp"
#include "tendril/recording/rollout_format.hpp"
#include "tendril/recording/tolerant_driver.hpp"

namespace tendril {
namespace {

using hdf5::Handle;
using hdf5::Session;

constexpr const char* kDamaged = "is truncated or damaged";

// Readings of a block of metadata until its checksum is right: a file that is being written can
// need more than one. HDF5 waits 1 ns after the first and twice as long after each further one,
// 0.5 s altogether, longer than a busy machine keeps the writer from running; its default of 100
// attempts would never end.
constexpr unsigned kReadAttempts = 29;
constexpr hsize_t kMaxBytes = 1u << 31;  // of one reading; more is damage, not a recording
constexpr hsize_t kFewBytes = 1u << 22;  // of one reading that needs no further check
constexpr hsize_t kExpansion = 1032;     // of deflate, at most
constexpr std::int64_t kMaxRows = std::int64_t{1} << 48;  // also of contacts
constexpr std::size_t kMaxAttribute = 1u << 16;           // bytes, HDF5's own limit
constexpr std::size_t kMaxText = 1u << 28;                // bytes

// Pieces of the datasets under /rollout_0. Every call within a Session.
class Source {
 public:
  std::filesystem::path file;
  Handle file_id, group;

  [[noreturn]] void damaged(const std::string& name) const {
    hdf5::refuse(file, std::string(kDamaged) + ": " + name);
  }

  // A dataset of the layout, with numbers of this type.
  [[nodiscard]] Handle open(const std::string& name, hid_t type) const {
    Handle dataset(H5Dopen2(group, name.c_str(), H5P_DEFAULT));
    const Handle found(dataset.valid() ? H5Dget_type(dataset) : H5I_INVALID_HID);
    if (!found.valid() || H5Tequal(found, type) <= 0) damaged(name);
    return dataset;
  }

  [[nodiscard]] std::vector<hsize_t> shape(hid_t dataset, const std::string& name) const {
    const Handle space(H5Dget_space(dataset));
    const int rank = space.valid() ? H5Sget_simple_extent_ndims(space) : -1;
    if (rank < 0) damaged(name);
    std::vector<hsize_t> size(static_cast<std::size_t>(rank));
    H5Sget_simple_extent_dims(space, size.data(), nullptr);
    return size;
  }

  // The extents of a dataset of this rank.
  [[nodiscard]] std::vector<hsize_t> shape(hid_t dataset, const std::string& name,
                                           std::size_t rank) const {
    const std::vector<hsize_t> size = shape(dataset, name);
    if (size.size() != rank) damaged(name);
    // A chunk is as wide as a row: damage that changes one of the two numbers is noticed.
    const Handle properties(H5Dget_create_plist(dataset));
    std::vector<hsize_t> chunk(rank);
    if (H5Pget_layout(properties) == H5D_CHUNKED) {
      if (H5Pget_chunk(properties, static_cast<int>(rank), chunk.data()) != static_cast<int>(rank))
        damaged(name);
      for (std::size_t i = 1; i < rank; ++i)
        if (chunk[i] != std::max<hsize_t>(size[i], 1)) damaged(name);
    }
    return size;
  }

  // Refuses chunks of the rows [first, first + count) that are not in the file, of which HDF5 would
  // give zeros, and those without the checksum that a compressed one has.
  void require_chunks(hid_t dataset, const std::string& name, hsize_t first, hsize_t count,
                      hsize_t chunk_rows, bool compressed) const {
    if (count == 0) return;
    for (hsize_t row = first - first % chunk_rows; row < first + count; row += chunk_rows) {
      const std::array<hsize_t, H5S_MAX_RANK> offset = {row};
      unsigned mask = 0;
      haddr_t address = HADDR_UNDEF;
      hsize_t size = 0;
      if (H5Dget_chunk_info_by_coord(dataset, offset.data(), &mask, &address, &size) < 0 ||
          address == HADDR_UNDEF || (compressed && mask != 0))
        damaged(name);
    }
  }

  // Refuses a dataset that claims to hold more bytes than its part of the file can give.
  void require_stored(hid_t dataset, const std::string& name, hsize_t bytes) const {
    if (bytes <= kFewBytes || bytes / kExpansion <= H5Dget_storage_size(dataset)) return;
    throw RolloutDamageError(file.string() + ": " + kDamaged + ": " + name + ": " +
                             std::to_string(bytes) + " bytes, must have at most " +
                             std::to_string(kExpansion) + " times the bytes stored");
  }

  // Rows [first, first + count) of `dataset`, all their elements.
  template <class Number>
  void read(hid_t dataset, const std::string& name, hid_t memory_type, hsize_t first, hsize_t count,
            std::vector<Number>& values) const {
    std::vector<hsize_t> size = shape(dataset, name);
    if (size.empty() || first > size[0] || count > size[0] - first) damaged(name);
    if (count > kMaxBytes / sizeof(Number)) damaged(name);
    std::size_t total = static_cast<std::size_t>(count);
    for (std::size_t i = 1; i < size.size(); ++i) {
      if (size[i] != 0 && total > kMaxBytes / sizeof(Number) / size[i]) damaged(name);
      total *= static_cast<std::size_t>(size[i]);
    }
    require_stored(dataset, name, total * sizeof(Number));
    values.resize(total);
    if (total == 0) return;
    std::vector<hsize_t> offset(size.size(), 0);
    offset[0] = first;
    size[0] = count;
    const Handle file_space(H5Dget_space(dataset));
    const Handle memory_space(
        H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr));
    if (H5Sselect_hyperslab(file_space, H5S_SELECT_SET, offset.data(), nullptr, size.data(),
                            nullptr) < 0 ||
        H5Dread(dataset, memory_type, memory_space, file_space, H5P_DEFAULT, values.data()) < 0)
      damaged(name);
  }
};

bool is_scalar(hid_t attribute) {
  const Handle space(H5Aget_space(attribute));
  return space.valid() && H5Sget_simple_extent_npoints(space) == 1;
}

// A text of fixed length. Those of variable length are in heaps without a checksum, on which HDF5
// crashes when they are damaged.
template <class Read>
bool read_text(const Handle& type, std::size_t most, std::string& text, const Read& read) {
  if (!type.valid() || H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0)
    return false;
  const std::size_t size = H5Tget_size(type);
  if (size == 0 || size > most) return false;
  std::string buffer(size, '\0');
  if (read(buffer.data()) < 0) return false;
  text = buffer.substr(0, buffer.find('\0'));
  return true;
}

template <class Number>
bool read_value(hid_t attribute, hid_t memory_type, std::string& text) {
  Number number{};
  if (!is_scalar(attribute) || H5Aread(attribute, memory_type, &number) < 0) return false;
  if constexpr (std::is_floating_point_v<Number>) {
    text = shortest_text(number);
  } else {
    text = std::to_string(number);
  }
  return true;
}

// An attribute of any type that a recording has, as text.
bool read_attribute(hid_t attribute, std::string& text) {
  const Handle type(H5Aget_type(attribute));
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return read_value<std::int64_t>(attribute, H5T_NATIVE_INT64, text);
    case H5T_FLOAT:
      return read_value<double>(attribute, H5T_NATIVE_DOUBLE, text);
    default:
      return is_scalar(attribute) && read_text(type, kMaxAttribute, text, [&](char* buffer) {
               return H5Aread(attribute, type, buffer);
             });
  }
}

herr_t add_attribute_name(hid_t, const char* name, const H5A_info_t*, void* client) {
  static_cast<std::vector<std::string>*>(client)->emplace_back(name);
  return 0;
}

herr_t add_text_name(hid_t texts, const char* name, const H5L_info_t* link, void* client) {
  if (link->type != H5L_TYPE_HARD) return 0;
  H5O_info_t object;
  if (H5Oget_info_by_name(texts, name, &object, H5P_DEFAULT) < 0) return -1;
  if (object.type == H5O_TYPE_DATASET)
    static_cast<std::vector<std::string>*>(client)->emplace_back(name);
  return 0;
}

}  // namespace

struct RolloutReader::Impl {
  Source source;
  Damage damage = Damage::Refuse;
  RolloutLayout layout;
  std::map<std::string, std::string> attributes;
  std::int64_t rows = 0;
  std::vector<std::int64_t> integration_rows;

  struct FieldColumn {
    std::string name;
    Handle dataset;
    std::size_t width = 0;
    std::vector<double> values;
    std::vector<double> Row::*target;
  };
  Handle step_id, time_id, step_time_id, contact_start_id, contact_count_id, geom1_id, geom2_id,
      distance_id, position_id, force_id, state_id;
  std::array<FieldColumn, format::kFieldCount> fields;
  hsize_t contact_total = 0;

  // The datasets with one number a row.
  [[nodiscard]] std::array<std::pair<const char*, hid_t>, 5> scalars() const {
    return {{{"step", step_id},
             {"time", time_id},
             {"step_time_us", step_time_id},
             {"contact/start", contact_start_id},
             {"contact/count", contact_count_id}}};
  }

  // The block in memory.
  std::int64_t block = -1;
  std::vector<std::int64_t> step, contact_start;
  std::vector<double> time, step_time, distance, position, force;
  std::vector<std::int32_t> contact_count, geom1, geom2;
  std::int64_t first_contact = 0;
  Row row;

  ~Impl() {
    const Session session;
    for (FieldColumn& field : fields) field.dataset.reset();
    for (Handle* handle : {&step_id, &time_id, &step_time_id, &contact_start_id, &contact_count_id,
                           &geom1_id, &geom2_id, &distance_id, &position_id, &force_id, &state_id,
                           &source.group, &source.file_id})
      handle->reset();
  }

  void open(const std::filesystem::path& file);
  void read_attributes();
  void read_texts();
  void read_layout();
  std::int64_t open_scalars();
  void open_fields();
  int width_of(hsize_t extent, const std::string& name) const;
  void limit_rows(hsize_t extent);
  void count_contacts();
  void check_row_counts(std::int64_t count);
  void read_integration_rows();
  void load(std::int64_t desired_block);
};

void RolloutReader::Impl::open(const std::filesystem::path& file) {
  source.file = file;
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) throw RolloutFormatError(file.string() + ": no such file");
  if (!std::filesystem::is_regular_file(status))
    throw RolloutFormatError(file.string() + ": is not a file");
  if (file.extension() == format::kPartSuffix)
    throw RolloutFormatError(file.string() +
                             ": is unfinished: its process ended before the first row");
  if (damage == Damage::Tolerate) {
    source.file_id =
        Handle(H5Fopen(file.string().c_str(), H5F_ACC_RDONLY, hdf5::tolerant_access()));
  } else {
    const htri_t is_hdf5 = H5Fis_hdf5(file.string().c_str());
    if (is_hdf5 < 0) hdf5::refuse(file, "cannot be read");
    if (is_hdf5 == 0)
      throw RolloutFormatError(file.string() + ": is not a recording (not an HDF5 file)");
    const Handle access(H5Pcreate(H5P_FILE_ACCESS));
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    H5Pset_metadata_read_attempts(access, kReadAttempts);
    // A finished file opens as it is; one that is being written, or whose writer was killed, only
    // as the second.
    source.file_id = Handle(H5Fopen(file.string().c_str(), H5F_ACC_RDONLY, access));
    if (!source.file_id.valid())
      source.file_id =
          Handle(H5Fopen(file.string().c_str(), H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, access));
  }
  if (!source.file_id.valid()) hdf5::refuse(file, kDamaged);
  source.group = Handle(H5Gopen2(source.file_id, format::kGroup, H5P_DEFAULT));
  if (!source.group.valid())
    throw RolloutFormatError(file.string() + ": is not a recording (there is no group /rollout_0)");
}

void RolloutReader::Impl::read_attributes() {
  const auto integer = [&](const char* name, std::int64_t& value) {
    if (H5Aexists(source.group, name) <= 0) return false;
    const Handle attribute(H5Aopen(source.group, name, H5P_DEFAULT));
    return attribute.valid() && is_scalar(attribute) &&
           H5Aread(attribute, H5T_NATIVE_INT64, &value) >= 0;
  };
  std::int64_t version = 0;
  if (!integer("format_version", version))
    throw RolloutFormatError(source.file.string() +
                             ": is not a recording (/rollout_0 has no format_version)");
  if (version != format::kVersion)
    throw RolloutFormatError(source.file.string() +
                             ": format_version = " + std::to_string(version) +
                             ", this program reads " + std::to_string(format::kVersion));
  std::int64_t interval = 0;
  if (!integer("integration_interval", interval) || interval < 1 ||
      interval > std::numeric_limits<int>::max())
    source.damaged("integration_interval");
  layout.integration_interval = static_cast<int>(interval);

  std::vector<std::string> names;
  if (H5Aiterate2(source.group, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, add_attribute_name,
                  &names) < 0 &&
      damage == Damage::Refuse)
    source.damaged("attributes");
  for (const std::string& name : names) {
    // These two describe the file, not the run.
    if (name == "format_version" || name == "integration_interval") continue;
    const Handle attribute(H5Aopen(source.group, name.c_str(), H5P_DEFAULT));
    std::string text;
    if (attribute.valid() && read_attribute(attribute, text))
      attributes[name] = text;
    else if (damage == Damage::Refuse)
      source.damaged("attribute " + name);
  }
}

void RolloutReader::Impl::read_texts() {
  const Handle texts(H5Gopen2(source.group, format::kTexts, H5P_DEFAULT));
  std::vector<std::string> names;
  if ((!texts.valid() ||
       H5Lvisit(texts, H5_INDEX_NAME, H5_ITER_NATIVE, add_text_name, &names) < 0) &&
      damage == Damage::Refuse)
    source.damaged(format::kTexts);
  for (const std::string& name : names) {
    const Handle dataset(H5Dopen2(texts, name.c_str(), H5P_DEFAULT));
    const Handle type(dataset.valid() ? H5Dget_type(dataset) : H5I_INVALID_HID);
    const Handle space(dataset.valid() ? H5Dget_space(dataset) : H5I_INVALID_HID);
    std::string text;
    const bool is_there = space.valid() && H5Sget_simple_extent_npoints(space) == 1 &&
                          H5Dget_storage_size(dataset) > 0;
    if (is_there && read_text(type, kMaxText, text, [&](char* buffer) {
          return H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer);
        }))
      attributes[name] = text;
    else if (damage == Damage::Refuse)
      source.damaged("texts/" + name);
  }
}

// A finished recording has the same number of rows everywhere. While one is written, and after its
// process was killed, datasets may be longer than `rows`, or longer than when they were opened
// here.
void RolloutReader::Impl::check_row_counts(std::int64_t count) {
  for (const auto& [name, dataset] : scalars())
    if (static_cast<std::int64_t>(source.shape(dataset, name, 1)[0]) != count) source.damaged(name);
  for (const FieldColumn& field : fields)
    if (static_cast<std::int64_t>(source.shape(field.dataset, field.name)[0]) != count)
      source.damaged(field.name);
}

/// Opens the datasets apart from the fields; returns what `rows` says.
std::int64_t RolloutReader::Impl::open_scalars() {
  step_id = source.open("step", H5T_STD_I64LE);
  time_id = source.open("time", H5T_IEEE_F64LE);
  step_time_id = source.open("step_time_us", H5T_IEEE_F64LE);
  contact_start_id = source.open("contact/start", H5T_STD_I64LE);
  contact_count_id = source.open("contact/count", H5T_STD_I32LE);
  geom1_id = source.open("contact/geom1", H5T_STD_I32LE);
  geom2_id = source.open("contact/geom2", H5T_STD_I32LE);
  distance_id = source.open("contact/distance", H5T_IEEE_F64LE);
  position_id = source.open("contact/position", H5T_IEEE_F64LE);
  force_id = source.open("contact/force", H5T_IEEE_F64LE);
  state_id = source.open("integration/state", H5T_IEEE_F64LE);

  const Handle rows_id = source.open("rows", H5T_STD_I64LE);
  std::int64_t count = 0;
  if (!source.shape(rows_id, "rows").empty() ||
      H5Dread(rows_id, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &count) < 0 || count < 0)
    source.damaged("rows");
  rows = count;
  for (const auto& [name, dataset] : scalars()) limit_rows(source.shape(dataset, name, 1)[0]);
  if (rows > kMaxRows) source.damaged("rows");
  source.require_stored(step_id, "step", static_cast<hsize_t>(rows) * sizeof(std::int64_t));
  return count;
}

void RolloutReader::Impl::limit_rows(hsize_t extent) {
  rows = static_cast<std::int64_t>(std::min(static_cast<hsize_t>(rows), extent));
}

int RolloutReader::Impl::width_of(hsize_t extent, const std::string& name) const {
  if (extent > kMaxBytes / sizeof(double)) source.damaged(name);
  return static_cast<int>(extent);
}

/// Opens the fields of a row; their widths are the sizes of the layout.
void RolloutReader::Impl::open_fields() {
  const std::array<std::pair<int*, std::vector<double> Row::*>, format::kFieldCount> targets = {{
      {&layout.nq, &Row::qpos},
      {&layout.nv, &Row::qvel},
      {&layout.nu, &Row::ctrl},
      {&layout.na, &Row::act},
      {&layout.nsensordata, &Row::sensordata},
      {&layout.npluginstate, &Row::plugin_state},
      {&layout.nmocap, &Row::mocap_pos},
      {&layout.nmocap, &Row::mocap_quat},
  }};
  const auto described = format::fields(layout);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    FieldColumn& field = fields[i];
    field.name = described[i].path;
    field.target = targets[i].second;
    field.dataset = source.open(field.name, H5T_IEEE_F64LE);
    const auto shape = source.shape(field.dataset, field.name, described[i].shape.size() + 1);
    limit_rows(shape[0]);
    *targets[i].first = width_of(shape[1], field.name);
    for (std::size_t k = 2; k < shape.size(); ++k)
      if (shape[k] != described[i].shape[k - 1]) source.damaged(field.name);
  }
}

void RolloutReader::Impl::count_contacts() {
  contact_total = source.shape(geom1_id, "contact/geom1", 1)[0];
  const struct {
    const char* name;
    hid_t dataset;
    std::size_t rank;
  } others[] = {{"contact/geom2", geom2_id, 1},
                {"contact/distance", distance_id, 1},
                {"contact/position", position_id, 2},
                {"contact/force", force_id, 2}};
  for (const auto& other : others) {
    const auto shape = source.shape(other.dataset, other.name, other.rank);
    if (other.rank == 2 && shape[1] != 3) source.damaged(other.name);
    contact_total = std::min(contact_total, shape[0]);
  }
}

void RolloutReader::Impl::read_layout() {
  const std::int64_t count = open_scalars();
  open_fields();
  if (damage == Damage::Refuse && attributes["outcome"] != format::kRunning)
    check_row_counts(count);
  const FieldColumn& pos = fields[format::kFieldCount - 2];
  const FieldColumn& quat = fields[format::kFieldCount - 1];
  if (source.shape(pos.dataset, pos.name)[1] != source.shape(quat.dataset, quat.name)[1])
    source.damaged("mocap/quat");
  const auto sized = format::fields(layout);
  for (std::size_t i = 0; i < fields.size(); ++i) fields[i].width = sized[i].width();
  layout.nintegration =
      width_of(source.shape(state_id, "integration/state", 2)[1], "integration/state");
  count_contacts();
}

void RolloutReader::Impl::read_integration_rows() {
  const char* const name = "integration/row";
  const Handle row_id = source.open(name, H5T_STD_I64LE);
  const hsize_t count =
      std::min(source.shape(state_id, "integration/state", 2)[0], source.shape(row_id, name, 1)[0]);
  source.read(row_id, name, H5T_NATIVE_INT64, 0, count, integration_rows);
  const auto end = std::find_if(integration_rows.begin(), integration_rows.end(),
                                [this](std::int64_t index) { return index >= rows; });
  integration_rows.erase(end, integration_rows.end());
  if (!std::is_sorted(integration_rows.begin(), integration_rows.end()) ||
      (!integration_rows.empty() && integration_rows.front() < 0))
    source.damaged("integration/row");
}

void RolloutReader::Impl::load(std::int64_t desired_block) {
  block = -1;
  const auto chunk = static_cast<std::int64_t>(format::kRowsPerChunk);
  const std::int64_t first_row = desired_block * chunk;
  const auto first = static_cast<hsize_t>(first_row);
  const auto count = static_cast<hsize_t>(std::min(chunk, rows - first_row));
  const auto read = [&](hid_t dataset, const std::string& name, hid_t type, auto& values) {
    source.require_chunks(dataset, name, first, count, format::kRowsPerChunk, true);
    source.read(dataset, name, type, first, count, values);
  };
  read(step_id, "step", H5T_NATIVE_INT64, step);
  read(time_id, "time", H5T_NATIVE_DOUBLE, time);
  read(step_time_id, "step_time_us", H5T_NATIVE_DOUBLE, step_time);
  for (FieldColumn& field : fields)
    if (field.width > 0) read(field.dataset, field.name, H5T_NATIVE_DOUBLE, field.values);
  read(contact_start_id, "contact/start", H5T_NATIVE_INT64, contact_start);
  read(contact_count_id, "contact/count", H5T_NATIVE_INT32, contact_count);

  // The contacts of consecutive rows come one after the other.
  first_contact = contact_start.front();
  std::int64_t next = first_contact;
  bool consistent = first_contact >= 0 && first_contact <= kMaxRows;
  for (std::size_t i = 0; i < contact_start.size(); ++i) {
    consistent = consistent && contact_start[i] == next && contact_count[i] >= 0;
    next += contact_count[i];
  }
  if (!consistent || static_cast<hsize_t>(next) > contact_total) source.damaged("contact/start");
  const auto contact_first = static_cast<hsize_t>(first_contact);
  const auto contacts = static_cast<hsize_t>(next - first_contact);
  const auto read_contacts = [&](hid_t dataset, const std::string& name, hid_t type, auto& values) {
    source.require_chunks(dataset, name, contact_first, contacts, format::kContactsPerChunk, false);
    source.read(dataset, name, type, contact_first, contacts, values);
  };
  read_contacts(geom1_id, "contact/geom1", H5T_NATIVE_INT32, geom1);
  read_contacts(geom2_id, "contact/geom2", H5T_NATIVE_INT32, geom2);
  read_contacts(distance_id, "contact/distance", H5T_NATIVE_DOUBLE, distance);
  read_contacts(position_id, "contact/position", H5T_NATIVE_DOUBLE, position);
  read_contacts(force_id, "contact/force", H5T_NATIVE_DOUBLE, force);
  block = desired_block;
}

RolloutReader::RolloutReader(const std::filesystem::path& file, Damage damage)
    : impl_(std::make_unique<Impl>()) {
  const Session session;
  impl_->damage = damage;
  impl_->open(file);
  impl_->read_attributes();
  impl_->read_texts();
  impl_->read_layout();
  impl_->read_integration_rows();
}

RolloutReader::~RolloutReader() = default;

const RolloutLayout& RolloutReader::layout() const { return impl_->layout; }

const std::map<std::string, std::string>& RolloutReader::attributes() const {
  return impl_->attributes;
}

const std::filesystem::path& RolloutReader::file() const { return impl_->source.file; }

std::int64_t RolloutReader::row_count() const { return impl_->rows; }

bool RolloutReader::is_finished() const {
  const auto outcome = impl_->attributes.find("outcome");
  return outcome != impl_->attributes.end() && outcome->second != format::kRunning;
}

void RolloutReader::require_rows() const {
  if (impl_->rows > 0) return;
  throw RolloutFormatError(
      impl_->source.file.string() + ": has no rows" +
      (is_finished() ? ""
                     : ": its process was killed, or has not yet written its first block of " +
                           std::to_string(kBlockRows) + " rows"));
}

std::vector<std::int64_t> RolloutReader::integration_rows() const {
  return impl_->integration_rows;
}

std::vector<std::byte> RolloutReader::model_mjb() const {
  const Session session;
  const Source& source = impl_->source;
  std::vector<std::uint8_t> bytes;
  const char* const name = "model_mjb";
  const Handle dataset = source.open(name, H5T_STD_U8LE);
  const hsize_t size = source.shape(dataset, name, 1)[0];
  if (size > 0 && H5Dget_storage_size(dataset) == 0) source.damaged(name);
  source.read(dataset, name, H5T_NATIVE_UINT8, 0, size, bytes);
  std::vector<std::byte> model(bytes.size());
  if (!bytes.empty()) std::memcpy(model.data(), bytes.data(), bytes.size());
  return model;
}

const RolloutReader::Row& RolloutReader::row(std::int64_t index) {
  Impl& impl = *impl_;
  if (index < 0 || index >= impl.rows)
    throw RolloutError(impl.source.file.string() + ": row " + std::to_string(index) +
                       ", must be in [0, " + std::to_string(impl.rows) + ")");
  const auto chunk = static_cast<std::int64_t>(format::kRowsPerChunk);
  if (index / chunk != impl.block) {
    const Session session;
    impl.load(index / chunk);
  }
  const auto i = static_cast<std::size_t>(index % chunk);
  Row& row = impl.row;
  row.step = impl.step[i];
  row.time = impl.time[i];
  row.step_time_us = impl.step_time[i];
  for (const Impl::FieldColumn& field : impl.fields) {
    const auto begin = field.values.begin() + static_cast<std::ptrdiff_t>(i * field.width);
    (row.*field.target).assign(begin, begin + static_cast<std::ptrdiff_t>(field.width));
  }
  row.contacts.resize(static_cast<std::size_t>(impl.contact_count[i]));
  auto from = static_cast<std::size_t>(impl.contact_start[i] - impl.first_contact);
  for (ContactRow& contact : row.contacts) {
    contact.geom1 = impl.geom1[from];
    contact.geom2 = impl.geom2[from];
    contact.distance = impl.distance[from];
    std::copy_n(&impl.position[3 * from], 3, contact.position);
    std::copy_n(&impl.force[3 * from], 3, contact.force);
    ++from;
  }
  row.integration_state.clear();
  const auto& states = impl.integration_rows;
  const auto found = std::lower_bound(states.begin(), states.end(), index);
  if (found != states.end() && *found == index) {
    const Session session;
    const auto at = static_cast<hsize_t>(found - states.begin());
    const char* const name = "integration/state";
    if (impl.layout.nintegration > 0)
      impl.source.require_chunks(impl.state_id, name, at, 1, 1, true);
    impl.source.read(impl.state_id, name, H5T_NATIVE_DOUBLE, at, 1, row.integration_state);
  }
  return row;
}

}  // namespace tendril
