#include "controllers/watch/following_watch.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <limits>

#include "controllers/interface/common_rows.hpp"

using namespace tendril;

namespace {

constexpr std::array kRows{common::following_tolerance("0.05"), common::kFollowingTime};
constexpr double kStep = 0.01;  // [s]

/// A watch of 0.1 rad and 0.2 s, and its memory.
struct Watched {
  FollowingWatch watch{
      Settings(kRows, {{"following_tolerance", "0.1"}, {"following_time", "0.2"}})};
  std::array<double, 1> memory{};

  bool step(double error, double error_of_all, int steps) {
    bool follows = true;
    for (int i = 0; i < steps; ++i) {
      std::array<double, 1> next = memory;
      follows = watch.step(error, error_of_all, kStep, memory, next);
      memory = next;
    }
    return follows;
  }
};

}  // namespace

TEST_CASE("following watch: tells an error that lasts, and no other", "[controllers]") {
  Watched watched;
  CHECK(watched.step(0.1, 0.1, 1000));
  CHECK(watched.step(0.11, 0.11, 19));
  CHECK(watched.step(0.0, 0.0, 1));
  CHECK(watched.step(0.11, 0.11, 19));
  CHECK_FALSE(watched.step(0.11, 0.11, 2));
  CHECK_FALSE(watched.step(0.11, 0.11, 1000));
  CHECK(watched.step(0.1, 0.1, 1));  // and is well again immediately
}

TEST_CASE("following watch: what a contact holds back is no error", "[controllers]") {
  Watched watched;
  CHECK(watched.step(0.0, 2.0, 1000));
  // A contact that comes and goes hides an error no longer than half of the time.
  bool follows = true;
  for (int i = 0; i < 100; ++i) follows = watched.step(0.0, 2.0, 6) && watched.step(2.0, 2.0, 4);
  CHECK(follows);
  for (int i = 0; i < 100; ++i) {
    (void)watched.step(0.0, 2.0, 4);
    follows = watched.step(2.0, 2.0, 6);
  }
  CHECK_FALSE(follows);
}

TEST_CASE("following watch: an error that is not known is none", "[controllers]") {
  Watched watched;
  CHECK(watched.step(std::numeric_limits<double>::quiet_NaN(), 0.0, 1000));
}
