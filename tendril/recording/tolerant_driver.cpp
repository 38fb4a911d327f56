#include "tendril/recording/tolerant_driver.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "tendril/system/file_copy.hpp"

namespace tendril::hdf5 {
namespace {

// What HDF5 writes for version 3 with its default creation properties, up to the consistency flags;
// then follow base address 0, no extension, the end of the file, and the root group.
constexpr std::array<unsigned char, 12> kSuperblockStart = {0x89, 'H',  'D', 'F', '\r', '\n',
                                                            0x1a, '\n', 3,   8,   8,    0};
constexpr std::size_t kSuperblockSize = 48;
constexpr std::uint64_t kNone = ~std::uint64_t{0};
constexpr std::uint64_t kRootGroup = kSuperblockSize;
constexpr std::size_t kChecksumSize = 4;

std::uint64_t number(const unsigned char* bytes, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value |= std::uint64_t{bytes[i]} << (8 * i);
  return value;
}

void put(unsigned char* bytes, std::size_t size, std::uint64_t value) {
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(value >> (8 * i));
}

// The checksum of HDF5's metadata. Source: Bob Jenkins, lookup3.c, hashlittle with initval 0.
std::uint32_t checksum(const unsigned char* bytes, std::size_t size) {
  const auto word = [](const unsigned char* at, std::size_t count) {
    return static_cast<std::uint32_t>(number(at, count));
  };
  std::uint32_t a = 0xdeadbeef + static_cast<std::uint32_t>(size);
  std::uint32_t b = a;
  std::uint32_t c = a;
  if (size == 0) return c;
  for (; size > 12; bytes += 12, size -= 12) {
    a += word(bytes, 4);
    b += word(bytes + 4, 4);
    c += word(bytes + 8, 4);
    a -= c, a ^= std::rotl(c, 4), c += b;
    b -= a, b ^= std::rotl(a, 6), a += c;
    c -= b, c ^= std::rotl(b, 8), b += a;
    a -= c, a ^= std::rotl(c, 16), c += b;
    b -= a, b ^= std::rotl(a, 19), a += c;
    c -= b, c ^= std::rotl(b, 4), b += a;
  }
  a += word(bytes, std::min<std::size_t>(size, 4));
  if (size > 4) b += word(bytes + 4, std::min<std::size_t>(size - 4, 4));
  if (size > 8) c += word(bytes + 8, size - 8);
  c ^= b, c -= std::rotl(b, 14);
  a ^= c, a -= std::rotl(c, 11);
  b ^= a, b -= std::rotl(a, 25);
  c ^= b, c -= std::rotl(b, 16);
  a ^= c, a -= std::rotl(c, 4);
  b ^= a, b -= std::rotl(a, 14);
  c ^= b, c -= std::rotl(b, 24);
  return c;
}

// A file of which HDF5 sees a copy whose checksums are right.
struct TolerantFile {
  H5FD_t base{};  // HDF5's part comes first
  system::FileCopy copy;
  unsigned char* bytes;
  std::size_t size;
  haddr_t end = 0;  // of the addresses in use

  explicit TolerantFile(const char* file)
      : copy(file), bytes(copy.bytes().data()), size(copy.bytes().size()) {}

  void renew_superblock() {
    std::copy(kSuperblockStart.begin(), kSuperblockStart.end(), bytes);
    put(bytes + 12, 8, 0);
    put(bytes + 20, 8, kNone);
    put(bytes + 28, 8, size);
    put(bytes + 36, 8, kRootGroup);
    renew_checksum(0, kSuperblockSize);
  }

  // Of a block that ends with its checksum: makes that of what is there, as a process that was
  // killed in the middle of writing the block has left it.
  void renew_checksum(std::size_t at, std::size_t length) {
    if (length <= kChecksumSize || at > size || length > size - at) return;
    const std::size_t covered = length - kChecksumSize;
    put(bytes + at + covered, kChecksumSize, checksum(bytes + at, covered));
  }

  // A block of metadata that HDF5 reads; of the object headers, which it reads in two parts, this
  // may be the beginning.
  void renew(std::size_t at, std::size_t length) {
    if (length < 8 || at > size || length > size - at) return;
    const std::string_view signature(reinterpret_cast<const char*>(bytes + at), 4);
    constexpr std::array<std::string_view, 5> kWhole = {"OCHK", "EAHD", "EAIB", "EASB", "EADB"};
    if (std::find(kWhole.begin(), kWhole.end(), signature) != kWhole.end()) {
      renew_checksum(at, length);
    } else if (signature == "OHDR") {
      const unsigned flags = bytes[at + 5];
      const std::size_t before = 6 + ((flags & 0x20) != 0 ? 16 : 0) + ((flags & 0x10) != 0 ? 4 : 0);
      const std::size_t width = std::size_t{1} << (flags & 3);
      if (before + width > size - at) return;
      const std::uint64_t messages = number(bytes + at + before, width);
      if (messages < size) renew_checksum(at, before + width + messages + kChecksumSize);
    }
  }
};

H5FD_t* open_file(const char* name, unsigned flags, hid_t, haddr_t) {
  if ((flags & H5F_ACC_RDWR) != 0) return nullptr;
  auto file = std::make_unique<TolerantFile>(name);
  if (file->size <= kSuperblockSize) return nullptr;
  file->renew_superblock();
  return &file.release()->base;
}

TolerantFile& image_of(H5FD_t* file) { return *reinterpret_cast<TolerantFile*>(file); }

herr_t close_file(H5FD_t* file) {
  delete &image_of(file);
  return 0;
}

haddr_t end_of_addresses(const H5FD_t* file, H5FD_mem_t) {
  return reinterpret_cast<const TolerantFile*>(file)->end;
}

herr_t set_end_of_addresses(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  image_of(file).end = end;
  return 0;
}

haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t) {
  return reinterpret_cast<const TolerantFile*>(file)->size;
}

herr_t read_bytes(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t at, std::size_t size,
                  void* buffer) {
  TolerantFile& image = image_of(file);
  if (at > image.size || size > image.size - at) return -1;
  if (type != H5FD_MEM_DRAW) image.renew(at, size);
  std::memcpy(buffer, image.bytes + at, size);
  return 0;
}

herr_t write_bytes(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, const void*) { return -1; }

hid_t driver() {
  static const H5FD_class_t description = [] {
    H5FD_class_t c{};
    c.name = "tendril_tolerant";
    c.maxaddr = haddr_t{1} << 62;
    c.fc_degree = H5F_CLOSE_STRONG;
    c.open = open_file;
    c.close = close_file;
    c.get_eoa = end_of_addresses;
    c.set_eoa = set_end_of_addresses;
    c.get_eof = end_of_file;
    c.read = read_bytes;
    c.write = write_bytes;
    for (H5FD_mem_t& type : c.fl_map) type = H5FD_MEM_DEFAULT;
    return c;
  }();
  static const hid_t id = H5FDregister(&description);
  return id;
}

}  // namespace

Handle tolerant_access() {
  Handle access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
  H5Pset_driver(access, driver(), nullptr);
  return access;
}

}  // namespace tendril::hdf5
