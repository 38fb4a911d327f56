// Recordings, as every command reads them.

#include "tests/recording/recording.hpp"

#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tendril/recording/rollout_file.hpp"
#include "tests/fuzz/input_file.hpp"
#include "tests/fuzz/target.hpp"

namespace tendril::fuzz {
namespace {

constexpr std::int64_t kRows = 300;  // read at the beginning; more than a block

void check_row(RolloutReader& reader, std::int64_t index) {
  const RolloutLayout& layout = reader.layout();
  const RolloutReader::Row& row = reader.row(index);
  const auto has = [](const auto& values, int count) {
    return values.size() == static_cast<std::size_t>(count);
  };
  require(has(row.qpos, layout.nq) && has(row.qvel, layout.nv) && has(row.ctrl, layout.nu) &&
              has(row.act, layout.na) && has(row.sensordata, layout.nsensordata) &&
              has(row.plugin_state, layout.npluginstate) && has(row.mocap_pos, 3 * layout.nmocap) &&
              has(row.mocap_quat, 4 * layout.nmocap),
          "a row has the sizes of the layout");
  require(row.integration_state.empty() || has(row.integration_state, layout.nintegration),
          "a full state has the size of the layout");
}

/// A recording of a few rows.
std::string small_recording() {
  constexpr RolloutLayout kLayout{.nq = 3,
                                  .nv = 3,
                                  .nu = 1,
                                  .na = 0,
                                  .nsensordata = 2,
                                  .npluginstate = 1,
                                  .nmocap = 1,
                                  .nintegration = 12,
                                  .integration_interval = 2};
  const std::string name = "/dev/shm/tendril-fuzz-" + std::to_string(getpid()) + ".h5";
  const std::byte model[16] = {};
  RolloutWriter writer(
      name, kLayout,
      {{"seed", std::int64_t{7}}, {"timestep", 0.002}, {"model_xml", "<mujoco/>"}, {"faults", ""}},
      model);
  test::InventedRow row(kLayout);
  for (int i = 0; i < 5; ++i) writer.append(row.make(i));
  writer.close("done");
  std::ifstream file(name, std::ios::binary);
  std::string image{std::istreambuf_iterator<char>(file), {}};
  unlink(name.c_str());
  return image;
}

void read_recording(std::string_view input) {
  static InputFile file;
  file.write(input);
  read_or_refuse<RolloutError>([&] {
    RolloutReader reader(file.path());
    const std::int64_t rows = reader.row_count();
    read_or_refuse<RolloutError>([&] { static_cast<void>(reader.model_mjb()); });
    for (std::int64_t i = 0; i < std::min(rows, kRows); ++i) check_row(reader, i);
    if (rows > kRows) check_row(reader, rows - 1);
  });
}

/// The numbers and texts that an input consists of; zeros and nothing after its end.
class Bytes {
 public:
  explicit Bytes(std::string_view input) : rest_(input) {}
  [[nodiscard]] bool empty() const { return rest_.empty(); }
  template <class Number>
  Number number() {
    Number value{};
    const std::string_view bytes = text(sizeof value);
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  std::string_view text(std::size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }

 private:
  std::string_view rest_;
};

/// A recording in memory that HDF5 changes as an input says. Bytes that are changed in a file are
/// refused for a checksum; what is behind the checksums is reached so.
class EditedRecording {
 public:
  EditedRecording() {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, 1 << 16, false);
    H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
    std::string& image = original();
    H5Pset_file_image(access, image.data(), image.size());
    file_ = H5Fopen("edited", H5F_ACC_RDWR, access);
    H5Pclose(access);
    require(file_ >= 0, "the recording opens");
    group_ = H5Gopen2(file_, "rollout_0", H5P_DEFAULT);
  }
  ~EditedRecording() {
    H5Gclose(group_);
    H5Fclose(file_);
  }
  EditedRecording(const EditedRecording&) = delete;
  EditedRecording& operator=(const EditedRecording&) = delete;

  void edit(Bytes& input) {
    const auto change = input.number<std::uint8_t>();
    const std::string& name = names()[input.number<std::uint8_t>() % names().size()];
    switch (change % 7) {
      case 0:
        return set_value(name, input);
      case 1:
        return set_rows(name, input.number<std::uint8_t>());
      case 2:
        return set_shape(name, input);
      case 3:
        H5Ldelete(group_, name.c_str(), H5P_DEFAULT);
        return;
      case 4:
        return set_text(name, std::string(input.text(input.number<std::uint8_t>())));
      case 5:
        return set_attribute(input);
      default:
        return set_alias(name, names()[input.number<std::uint8_t>() % names().size()]);
    }
  }

  [[nodiscard]] std::string bytes() const {
    H5Fflush(file_, H5F_SCOPE_LOCAL);
    std::string image(static_cast<std::size_t>(H5Fget_file_image(file_, nullptr, 0)), '\0');
    H5Fget_file_image(file_, image.data(), image.size());
    return image;
  }

 private:
  static std::string& original() {
    static std::string image = small_recording();
    return image;
  }
  static const std::vector<std::string>& names() {
    static const std::vector<std::string> all = [] {
      std::vector<std::string> found;
      H5Ovisit_by_name2(
          EditedRecording().group_, ".", H5_INDEX_NAME, H5_ITER_INC,
          [](hid_t, const char* name, const H5O_info_t* object, void* client) {
            if (object->type == H5O_TYPE_DATASET)
              static_cast<std::vector<std::string>*>(client)->emplace_back(name);
            return 0;
          },
          &found, H5O_INFO_BASIC, H5P_DEFAULT);
      return found;
    }();
    return all;
  }

  void set_value(const std::string& name, Bytes& input) {
    const auto index = input.number<std::uint16_t>();
    const auto value = input.number<std::uint64_t>();
    with_dataset(name, [&](hid_t dataset, hid_t type) {
      const hid_t space = H5Dget_space(dataset);
      const auto count =
          static_cast<std::size_t>(std::max<hssize_t>(H5Sget_simple_extent_npoints(space), 0));
      const std::size_t size = H5Tget_size(type);
      if (count > 0 && count * size < (1u << 20) && size <= sizeof value) {
        std::vector<char> values(count * size);
        H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
        std::memcpy(&values[index % count * size], &value, size);
        H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
      }
      H5Sclose(space);
    });
  }

  void set_rows(const std::string& name, hsize_t rows) {
    with_dataset(name, [&](hid_t dataset, hid_t) {
      hsize_t extent[H5S_MAX_RANK] = {};
      const hid_t space = H5Dget_space(dataset);
      if (H5Sget_simple_extent_dims(space, extent, nullptr) > 0) {
        extent[0] = rows;
        H5Dset_extent(dataset, extent);
      }
      H5Sclose(space);
    });
  }

  /// A dataset of another shape, without storage: it has no numbers.
  void set_shape(const std::string& name, Bytes& input) {
    hsize_t extent[4] = {};
    const int rank = input.number<std::uint8_t>() % 4;
    for (int i = 0; i < rank; ++i)
      extent[i] = hsize_t{input.number<std::uint8_t>()} << (input.number<std::uint8_t>() % 56);
    hid_t type = H5I_INVALID_HID;
    with_dataset(name, [&](hid_t, hid_t old) { type = H5Tcopy(old); });
    if (type < 0) return;
    create(name, type, H5Screate_simple(rank, extent, nullptr));
    H5Tclose(type);
  }

  void set_text(const std::string& name, const std::string& text) {
    const hid_t type = text_type(text.size());  // of at least one byte, as the text with its end
    const hsize_t one = 1;
    create(name, type, H5Screate_simple(1, &one, nullptr), text.data());
    H5Tclose(type);
  }

  void set_attribute(Bytes& input) {
    constexpr const char* kNames[] = {"format_version", "integration_interval", "outcome", "seed",
                                      "another"};
    const char* const name = kNames[input.number<std::uint8_t>() % std::size(kNames)];
    const auto kind = input.number<std::uint8_t>();
    const std::string value(input.text(kind % 2 == 0 ? 8 : kind));
    H5Adelete(group_, name);
    const hid_t type = kind % 4 == 0   ? H5Tcopy(H5T_STD_I64LE)
                       : kind % 4 == 2 ? H5Tcopy(H5T_IEEE_F64LE)
                                       : text_type(value.size());
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t attribute = H5Acreate2(group_, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute >= 0) {
      std::string padded = value;
      padded.resize(std::max<std::size_t>(H5Tget_size(type), value.size()));
      H5Awrite(attribute, type, padded.data());
      H5Aclose(attribute);
    }
    H5Sclose(space);
    H5Tclose(type);
  }

  void set_alias(const std::string& name, const std::string& other) {
    if (name == other) return;
    H5Ldelete(group_, name.c_str(), H5P_DEFAULT);
    H5Lcreate_hard(group_, other.c_str(), group_, name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
  }

  template <class Use>
  void with_dataset(const std::string& name, const Use& use) {
    const hid_t dataset = H5Dopen2(group_, name.c_str(), H5P_DEFAULT);
    if (dataset < 0) return;  // deleted by an earlier edit
    const hid_t type = H5Dget_type(dataset);
    use(dataset, type);
    H5Tclose(type);
    H5Dclose(dataset);
  }

  /// Replaces a dataset; closes the space.
  void create(const std::string& name, hid_t type, hid_t space, const char* values = nullptr) {
    H5Ldelete(group_, name.c_str(), H5P_DEFAULT);
    const hid_t dataset =
        H5Dcreate2(group_, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (dataset >= 0) {
      if (values != nullptr) H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
      H5Dclose(dataset);
    }
    H5Sclose(space);
  }

  static hid_t text_type(std::size_t size) {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, std::max<std::size_t>(size, 1));
    return type;
  }

  hid_t file_, group_;
};

void read_edited_recording(std::string_view input) {
  static const herr_t quiet = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  static_cast<void>(quiet);
  constexpr int kMaxEdits = 8;
  EditedRecording recording;
  Bytes bytes(input);
  for (int i = 0; i < kMaxEdits && !bytes.empty(); ++i) recording.edit(bytes);
  read_recording(recording.bytes());
}

const Target recording{"recording", ".h5", read_recording};
const Target recording_edits{"recording_edits", ".edits", read_edited_recording};

}  // namespace
}  // namespace tendril::fuzz
