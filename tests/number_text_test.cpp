#include "tendril/number_text.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>

namespace tendril {
namespace {

TEST_CASE("numbers: what is written is read with the same bits", "[text]") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const auto value = std::bit_cast<double>(random());
    const std::string text = shortest_text(value);
    const std::optional<double> read = read_number(text);
    INFO(text);
    REQUIRE(read.has_value() == std::isfinite(value));
    if (read) REQUIRE(std::bit_cast<std::uint64_t>(*read) == std::bit_cast<std::uint64_t>(value));
  }
}

TEST_CASE("numbers: the text is the shortest", "[text]") {
  CHECK(shortest_text(0.1) == "0.1");
  CHECK(shortest_text(-2.0) == "-2");
  CHECK(shortest_text(1e300) == "1e+300");
  std::string line = "x";
  append_number(line += ' ', 0.25);
  CHECK(line == "x 0.25");
}

TEST_CASE("numbers: a text with anything else is none", "[text]") {
  for (const char* const text :
       {"", " ", "1 ", " 1", "+1", "1,5", "0x10", "1e", "1e999", "nan", "inf", "-inf", "1.0.0"})
    CHECK(read_number(text) == std::nullopt);
  for (const char* const text : {"", "1.0", "+1", "2147483648", "1 "})
    CHECK(read_integer<int>(text) == std::nullopt);
  CHECK(read_number("-1.5e-3") == -1.5e-3);
  CHECK(read_integer<int>("-7") == -7);
}

}  // namespace
}  // namespace tendril
