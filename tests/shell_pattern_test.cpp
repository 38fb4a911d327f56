#include "tendril/shell_pattern.hpp"

#include <fnmatch.h>

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/random.hpp"

namespace tendril {
namespace {

using test::Random;

char random_character(Random& random) { return "ab-c.]"[random.integer(0, 5)]; }

std::string random_set(Random& random) {
  std::string set = "[";
  if (random.integer(0, 2) == 0) set += "!^"[random.integer(0, 1)];
  if (random.integer(0, 4) == 0) set += ']';
  for (int i = random.integer(1, 3); i > 0; --i) {
    const char low = "abc."[random.integer(0, 3)];
    set += random.integer(0, 3) == 0 ? std::string{'\\', low} : std::string{low};
    if (random.integer(0, 2) == 0) set += std::string{'-', static_cast<char>(low + 1)};
  }
  if (random.integer(0, 4) == 0) set += '-';
  return set + "]";
}

std::string random_pattern(Random& random) {
  std::string pattern;
  for (int i = random.integer(0, 5); i > 0; --i) {
    switch (random.integer(0, 5)) {
      case 0:
        pattern += '*';
        break;
      case 1:
        pattern += '?';
        break;
      case 2:
        pattern += random_set(random);
        break;
      case 3:
        pattern += std::string{'\\', "*?[\\a"[random.integer(0, 4)]};
        break;
      default:
        pattern += random_character(random);
    }
  }
  return pattern;
}

}  // namespace

TEST_CASE("shell pattern: names match as those of files in a shell", "[pattern]") {
  constexpr int kCount = 100000;
  Random random(1);
  int matching = 0;
  for (int i = 0; i < kCount; ++i) {
    const std::string pattern = random_pattern(random);
    std::string name;
    for (int k = random.integer(0, 5); k > 0; --k) name += random_character(random);
    const bool expected = fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
    matching += expected ? 1 : 0;
    if (matches_pattern(name, pattern) == expected) continue;
    CAPTURE(pattern, name);
    CHECK(matches_pattern(name, pattern) == expected);
  }
  CHECK(matching > kCount / 20);
}

TEST_CASE("shell pattern: a bracket that is not closed represents itself", "[pattern]") {
  CHECK(matches_pattern("a[b", "a[b"));
  CHECK_FALSE(matches_pattern("ab", "a[b"));
}

}  // namespace tendril
