#include "tendril/recording/byte_planes.hpp"

#include <zlib.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

using tendril::BytePlaneEncoder;

namespace {

// Undoes the filters with zlib's inflate and the definition of shuffle.
std::vector<std::byte> decoded(const BytePlaneEncoder::Chunk& chunk, std::size_t size,
                               std::size_t element_size) {
  REQUIRE(chunk.filter_mask == 0);
  std::vector<std::byte> planes(size);
  uLongf length = size;
  const int status =
      uncompress(reinterpret_cast<Bytef*>(planes.data()), &length,
                 reinterpret_cast<const Bytef*>(chunk.bytes.data()), chunk.bytes.size());
  REQUIRE(status == Z_OK);
  REQUIRE(length == size);
  std::vector<std::byte> raw(size);
  const std::size_t count = size / element_size;
  for (std::size_t i = 0; i < size; ++i)
    raw[i] = planes[i % element_size * count + i / element_size];
  return raw;
}

// Numbers whose top bytes change rarely; `noise` is the relative change from row to row.
std::vector<std::byte> smooth_rows(std::mt19937_64& random, std::size_t rows, std::size_t elements,
                                   double noise) {
  std::normal_distribution<double> normal;
  std::vector<double> state(elements);
  for (double& value : state) value = normal(random);
  std::vector<double> values;
  for (std::size_t i = 0; i < rows; ++i)
    for (double& value : state) values.push_back(value *= 1.0 + noise * normal(random));
  std::vector<std::byte> raw(values.size() * sizeof(double));
  std::memcpy(raw.data(), values.data(), raw.size());
  return raw;
}

}  // namespace

TEST_CASE("byte planes: what zlib inflates is the chunk, whatever its shape", "[rollout]") {
  const auto seed = GENERATE(range(0u, 60u));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const std::size_t rows = 1 + random() % 300;
  const std::size_t elements = seed % 7 == 0 ? 1 : 1 + random() % 200;
  const double noise = std::pow(10.0, -static_cast<double>(random() % 12));
  CAPTURE(rows, elements, noise);
  const std::vector<std::byte> raw = smooth_rows(random, rows, elements, noise);
  BytePlaneEncoder encoder;
  CHECK(decoded(encoder.encode(raw, elements, 8), raw.size(), 8) == raw);
  CHECK(decoded(encoder.encode(raw, 2 * elements, 4), raw.size(), 4) == raw);
}

TEST_CASE("byte planes: a constant chunk shrinks to less than a fiftieth", "[rollout]") {
  const std::size_t elements = GENERATE(1u, 2u, 3u, 7u, 61u, 5000u, 32768u);
  CAPTURE(elements);
  const std::size_t rows = 512;
  std::vector<std::byte> raw(rows * elements * 8);
  for (std::size_t i = 0; i < raw.size(); ++i)
    raw[i] = static_cast<std::byte>(i % (elements * 8) * 31 % 251);
  BytePlaneEncoder encoder;
  const auto chunk = encoder.encode(raw, elements, 8);
  CHECK(chunk.filter_mask == 0);
  CHECK(chunk.bytes.size() * 50 < raw.size());
  CHECK(decoded(chunk, raw.size(), 8) == raw);
}

TEST_CASE("byte planes: noise grows by less than a thousandth", "[rollout]") {
  std::mt19937_64 random(1);
  std::vector<std::byte> raw(256 * 61 * 8);
  for (std::byte& value : raw) value = static_cast<std::byte>(random());
  BytePlaneEncoder encoder;
  const auto chunk = encoder.encode(raw, 61, 8);
  CHECK(chunk.bytes.size() < raw.size() + raw.size() / 1000);
  CHECK(decoded(chunk, raw.size(), 8) == raw);
}

TEST_CASE("byte planes: rows wider than deflate can look back are stored", "[rollout]") {
  const std::vector<std::byte> raw(3 * 32769 * 8);
  BytePlaneEncoder encoder;
  CHECK(decoded(encoder.encode(raw, 32769, 8), raw.size(), 8) == raw);
}

TEST_CASE("byte planes: a changed byte is noticed", "[rollout]") {
  const auto seed = GENERATE(range(0u, 40u));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const std::vector<std::byte> raw = smooth_rows(random, 30, 5, seed % 2 == 0 ? 1e-9 : 1.0);
  BytePlaneEncoder encoder;
  const auto chunk = encoder.encode(raw, 5, 8);
  std::vector<std::byte> damaged(chunk.bytes.begin(), chunk.bytes.end());
  damaged[2 + random() % (damaged.size() - 2)] ^= std::byte{1} << random() % 8;
  std::vector<std::byte> planes(raw.size());
  uLongf length = planes.size();
  const int status = uncompress(reinterpret_cast<Bytef*>(planes.data()), &length,
                                reinterpret_cast<const Bytef*>(damaged.data()), damaged.size());
  CHECK(status != Z_OK);
}
