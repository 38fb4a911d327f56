#include "tendril/recording/global_heap.hpp"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <vector>

namespace tendril {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kSignature = "GCOL\1\0\0\0"sv;
constexpr std::size_t kHeader = 16;  // bytes, of a collection and of an object
constexpr std::size_t kPadding = 8;  // bytes, of which an object takes a multiple
constexpr std::size_t kScanned = std::size_t{1} << 20;  // bytes at once

std::uint64_t little_endian(std::span<const unsigned char> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

/// Up to `count` bytes from `offset`.
std::vector<unsigned char> read(std::ifstream& stream, std::uint64_t offset, std::uint64_t count) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(count));
  stream.clear();
  stream.seekg(static_cast<std::streamoff>(offset));
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(count));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  return bytes;
}

}  // namespace

bool is_sound_heap(std::span<const unsigned char> collection) {
  std::size_t at = kHeader;
  while (at + kHeader <= collection.size()) {
    const auto object = collection.subspan(at);
    const std::uint64_t index = little_endian(object.first(2));
    const std::uint64_t size = little_endian(object.subspan(8, 8));
    const std::size_t room = object.size();
    if (size > room) return false;
    if (index == 0) {  // free space, its header included
      if (size < kHeader) return false;
      at += static_cast<std::size_t>(size);
      continue;
    }
    const std::size_t padded = (static_cast<std::size_t>(size) + kPadding - 1) / kPadding * kPadding;
    if (padded > room - kHeader || little_endian(object.subspan(4, 4)) != 0) return false;
    const auto text = object.subspan(kHeader, static_cast<std::size_t>(size));
    if (std::find(text.begin(), text.end(), 0) != text.end()) return false;
    at += kHeader + padded;
  }
  return true;
}

bool has_sound_heaps(const std::filesystem::path& file, std::uint64_t end) {
  std::ifstream stream(file, std::ios::binary);
  std::uint64_t at = 0;
  while (at < end) {
    const std::vector<unsigned char> bytes = read(stream, at, std::min<std::uint64_t>(kScanned, end - at));
    const auto found = std::search(bytes.begin(), bytes.end(), kSignature.begin(), kSignature.end());
    if (found == bytes.end()) {
      if (bytes.size() < kScanned) return true;
      at += bytes.size() - kSignature.size();
      continue;
    }
    at += static_cast<std::uint64_t>(found - bytes.begin());
    const std::vector<unsigned char> header = read(stream, at, kHeader);
    if (header.size() < kHeader) return false;
    const std::uint64_t size = little_endian(std::span(header).subspan(8));
    if (size < kHeader || size > end - at) return false;
    const std::vector<unsigned char> collection = read(stream, at, size);
    if (collection.size() != size || !is_sound_heap(collection)) return false;
    at += size;
  }
  return true;
}

}  // namespace tendril
