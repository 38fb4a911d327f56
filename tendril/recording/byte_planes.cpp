#include "tendril/recording/byte_planes.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>

namespace tendril {
namespace {

static_assert(std::endian::native == std::endian::little, "the file format is little endian");

constexpr std::size_t kSampling = 8;  // one row in so many is compared with the row before
constexpr double kWorthwhile = 0.7;   // fraction of repeated bytes from which a block gets smaller
constexpr std::size_t kMinMatch = 3;  // RFC 1951, 3.2.5
constexpr std::size_t kMaxMatch = 258;
constexpr std::size_t kMaxDistance = 32768;
constexpr std::size_t kMaxStored = 65535;  // bytes in one stored block

using PlaneChoice = std::array<bool, 8>;

// Which byte planes repeat from row to row, judged on a sample of the rows.
template <class Word>
PlaneChoice repeating_planes(const std::byte* raw, std::size_t rows, std::size_t elements) {
  std::array<std::size_t, sizeof(Word)> repeats{};
  std::size_t compared = 0;
  for (std::size_t row = 1; row < rows; row += kSampling) {
    const std::byte* current = raw + row * elements * sizeof(Word);
    const std::byte* previous = current - elements * sizeof(Word);
    for (std::size_t i = 0; i < elements; ++i) {
      Word a;
      Word b;
      std::memcpy(&a, current + i * sizeof(Word), sizeof(Word));
      std::memcpy(&b, previous + i * sizeof(Word), sizeof(Word));
      const Word changed = a ^ b;
      for (std::size_t k = 0; k < sizeof(Word); ++k)
        repeats[k] += ((changed >> (8 * k)) & 0xff) == 0;
    }
    compared += elements;
  }
  PlaneChoice choice{};
  for (std::size_t k = 0; k < sizeof(Word); ++k)
    choice[k] = static_cast<double>(repeats[k]) > kWorthwhile * static_cast<double>(compared);
  return choice;
}

// Exchanges the bits of `a` under `mask << shift` with those of `b` under `mask`.
void exchange(std::uint64_t& a, std::uint64_t& b, int shift, std::uint64_t mask) {
  const std::uint64_t difference = ((a >> shift) ^ b) & mask;
  b ^= difference;
  a ^= difference << shift;
}

// Eight numbers in, eight bytes for each of the eight planes out: an 8 x 8 transpose of bytes.
void shuffle_8(const std::byte* raw, std::size_t count, unsigned char* planes) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    std::uint64_t w[8];
    std::memcpy(w, raw + i * 8, sizeof(w));
    for (int j : {0, 1, 2, 3}) exchange(w[j], w[j + 4], 32, 0x00000000ffffffffULL);
    for (int j : {0, 1, 4, 5}) exchange(w[j], w[j + 2], 16, 0x0000ffff0000ffffULL);
    for (int j : {0, 2, 4, 6}) exchange(w[j], w[j + 1], 8, 0x00ff00ff00ff00ffULL);
    for (std::size_t k = 0; k < 8; ++k) std::memcpy(planes + k * count + i, &w[k], 8);
  }
  for (; i < count; ++i)
    for (std::size_t k = 0; k < 8; ++k)
      planes[k * count + i] = static_cast<unsigned char>(raw[i * 8 + k]);
}

void shuffle_4(const std::byte* raw, std::size_t count, unsigned char* planes) {
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0; k < 4; ++k)
      planes[k * count + i] = static_cast<unsigned char>(raw[i * 4 + k]);
}

struct Code {
  std::uint32_t bits = 0;  // as they leave, first bit lowest
  int length = 0;
};

constexpr std::uint32_t reversed(std::uint32_t value, int length) {
  std::uint32_t result = 0;
  for (int i = 0; i < length; ++i) result |= ((value >> i) & 1u) << (length - 1 - i);
  return result;
}

// The fixed code of RFC 1951, 3.2.6, for symbol 0..287 of the literal/length alphabet.
constexpr Code fixed_code(std::uint32_t symbol) {
  if (symbol < 144) return {reversed(0x30 + symbol, 8), 8};
  if (symbol < 256) return {reversed(0x190 + symbol - 144, 9), 9};
  if (symbol < 280) return {reversed(symbol - 256, 7), 7};
  return {reversed(0xc0 + symbol - 280, 8), 8};
}

constexpr Code kEndOfBlock = fixed_code(256);

constexpr std::array<Code, 256> kLiterals = [] {
  std::array<Code, 256> codes;
  for (std::uint32_t value = 0; value < 256; ++value) codes[value] = fixed_code(value);
  return codes;
}();

// Code and extra bits of every match length (RFC 1951, 3.2.5: symbols 257..285).
constexpr std::array<Code, kMaxMatch + 1> kLengths = [] {
  std::array<Code, kMaxMatch + 1> codes;
  std::uint32_t length = kMinMatch;
  for (std::uint32_t symbol = 257; symbol < 285; ++symbol) {
    const int extra = symbol < 265 ? 0 : static_cast<int>((symbol - 261) / 4);
    const Code code = fixed_code(symbol);
    for (std::uint32_t i = 0; i < (1u << extra); ++i, ++length)
      codes[length] = {code.bits | i << code.length, code.length + extra};
  }
  codes[kMaxMatch] = fixed_code(285);
  return codes;
}();

// Code and extra bits of a distance in 1..32768 (RFC 1951, 3.2.5: 30 symbols of five bits).
Code distance_code(std::size_t distance) {
  const auto d = static_cast<std::uint32_t>(distance - 1);
  if (d < 4) return {reversed(d, 5), 5};
  const int extra = std::bit_width(d) - 2;
  const std::uint32_t symbol = 2u * static_cast<std::uint32_t>(extra) + (d >> extra);
  return {reversed(symbol, 5) | (d & ((1u << extra) - 1u)) << 5, 5 + extra};
}

// A growing deflate stream in memory that the caller has made large enough.
class BitStream {
 public:
  explicit BitStream(unsigned char* out) : out_(out) {}

  void put(Code code) {
    pending_ |= static_cast<std::uint64_t>(code.bits) << count_;
    count_ += code.length;
    while (count_ >= 32) {
      std::memcpy(out_, &pending_, 4);
      out_ += 4;
      pending_ >>= 32;
      count_ -= 32;
    }
  }

  void align() {
    for (; count_ > 0; count_ -= 8) {
      *out_++ = static_cast<unsigned char>(pending_);
      pending_ >>= 8;
    }
    pending_ = 0;
    count_ = 0;
  }

  void copy(const unsigned char* bytes, std::size_t size) {
    std::memcpy(out_, bytes, size);
    out_ += size;
  }

  [[nodiscard]] unsigned char* position() const { return out_; }

 private:
  unsigned char* out_;
  std::uint64_t pending_ = 0;
  int count_ = 0;
};

// RFC 1951, 3.2.4: blocks without compression.
void put_stored(BitStream& stream, const unsigned char* bytes, std::size_t size, bool last) {
  while (size > 0) {
    const std::size_t length = std::min(size, kMaxStored);
    const auto count = static_cast<std::uint32_t>(length);
    stream.put({last && length == size ? 1u : 0u, 3});
    stream.align();
    stream.put({count, 16});
    stream.put({~count & 0xffffu, 16});
    stream.copy(bytes, length);
    bytes += length;
    size -= length;
  }
}

// How many bytes from `bytes` on repeat those `distance` earlier, at most `limit`.
std::size_t repeat_length(const unsigned char* bytes, std::size_t distance, std::size_t limit) {
  std::size_t length = 0;
  for (; length + 8 <= limit; length += 8) {
    std::uint64_t a;
    std::uint64_t b;
    std::memcpy(&a, bytes + length, 8);
    std::memcpy(&b, bytes + length - distance, 8);
    if (a != b) return length + static_cast<std::size_t>(std::countr_zero(a ^ b)) / 8;
  }
  while (length < limit && bytes[length] == *(bytes + length - distance)) ++length;
  return length;
}

// RFC 1951, 3.2.6: one block of the fixed code, matching the row before only.
void put_repeating(BitStream& stream, const unsigned char* bytes, std::size_t size, std::size_t row,
                   bool last) {
  const Code distance = distance_code(row);
  stream.put({last ? 3u : 2u, 3});
  std::size_t i = 0;
  for (; i < std::min(row, size); ++i) stream.put(kLiterals[bytes[i]]);
  while (i < size) {
    const std::size_t length = repeat_length(bytes + i, row, std::min(size - i, kMaxMatch));
    if (length >= kMinMatch) {
      stream.put(kLengths[length]);
      stream.put(distance);
      i += length;
    } else {
      // The byte that ended the match is a literal as well, unless the chunk ends here.
      const std::size_t end = std::min(size, i + length + 1);
      for (; i < end; ++i) stream.put(kLiterals[bytes[i]]);
    }
  }
  stream.put(kEndOfBlock);
}

}  // namespace

BytePlaneEncoder::Chunk BytePlaneEncoder::encode(std::span<const std::byte> raw,
                                                 std::size_t row_elements,
                                                 std::size_t element_size) {
  assert(element_size == 4 || element_size == 8);
  const std::size_t count = raw.size() / element_size;
  const std::size_t rows = count / row_elements;
  PlaneChoice repeating{};
  if (row_elements <= kMaxDistance)
    repeating = element_size == 8 ? repeating_planes<std::uint64_t>(raw.data(), rows, row_elements)
                                  : repeating_planes<std::uint32_t>(raw.data(), rows, row_elements);
  planes_.resize(raw.size());
  (element_size == 8 ? shuffle_8 : shuffle_4)(raw.data(), count, planes_.data());

  // At worst nine bits for every byte, and per plane the ends of its blocks.
  encoded_.resize(raw.size() + raw.size() / 8 + 64 * (raw.size() / kMaxStored + element_size + 1));
  unsigned char* const begin = encoded_.data();
  begin[0] = 0x78;  // RFC 1950: deflate with a window of 32 KiB
  begin[1] = 0x01;
  BitStream stream(begin + 2);
  for (std::size_t k = 0; k < element_size;) {
    std::size_t end = k + 1;
    if (repeating[k]) {
      put_repeating(stream, planes_.data() + k * count, count, row_elements, end == element_size);
    } else {
      while (end < element_size && !repeating[end]) ++end;
      put_stored(stream, planes_.data() + k * count, (end - k) * count, end == element_size);
    }
    k = end;
  }
  stream.align();
  const auto checksum =
      static_cast<std::uint32_t>(adler32_z(adler32_z(0, nullptr, 0), planes_.data(), raw.size()));
  for (const int shift : {24, 16, 8, 0}) stream.put({(checksum >> shift) & 0xffu, 8});
  stream.align();

  const auto size = static_cast<std::size_t>(stream.position() - begin);
  return {std::as_bytes(std::span(encoded_)).first(size), 0};
}

}  // namespace tendril
