#include "drive/simulated_link.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "tendril/model_error.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {
constexpr double kStep = 0.002;
constexpr int kSteps = 5000;
}  // namespace

TEST_CASE("simulated link: messages arrive after the delay, in order, the newest alone",
          "[drive]") {
  const LinkFaults faults{.delay = 0.01, .jitter = 0.02, .loss = 0.2, .seed = 3};
  SimulatedLink link(1, faults, kStep, "up");
  double last = -1.0, oldest = 0.0, newest = 1.0;
  int received = 0;
  for (int k = 0; k < kSteps; ++k) {
    const double now = k * kStep;
    link.send(now, std::vector<double>{now});
    std::vector<double> got{-1.0};
    if (!link.receive(now, got)) continue;
    ++received;
    CHECK(got[0] > last);
    last = got[0];
    oldest = std::max(oldest, now - got[0]);
    newest = std::min(newest, now - got[0]);
  }
  CHECK(newest >= 0.01 - 1e-9);
  CHECK(newest <= 0.01 + kStep);
  CHECK(oldest <= 0.03 + kStep + 1e-9);
  CHECK(received > kSteps / 4);
  CHECK(received < kSteps);
}

TEST_CASE("simulated link: so many messages are lost, the same for the same seed", "[drive]") {
  const auto loss = GENERATE(0.0, 0.1, 0.5, 1.0);
  const auto count = [&](std::uint64_t seed, std::vector<int>& which) {
    SimulatedLink link(1, {.loss = loss, .seed = seed}, kStep, "down");
    std::vector<double> got(1);
    for (int k = 0; k < kSteps; ++k) {
      link.send(k * kStep, std::vector<double>{0.0});
      if (link.receive(k * kStep, got)) which.push_back(k);
    }
  };
  std::vector<int> a, b, c;
  count(1, a);
  count(1, b);
  count(2, c);
  CHECK(a == b);
  if (loss > 0.0 && loss < 1.0) CHECK(a != c);
  // Five standard deviations of a binomial distribution.
  const double expected = kSteps * (1.0 - loss), deviation = std::sqrt(expected * loss);
  CHECK(std::abs(static_cast<double>(a.size()) - expected) <= 5.0 * deviation);
}

TEST_CASE("simulated link: a step of it allocates nothing", "[drive]") {
  SimulatedLink link(7, {.delay = 0.01, .jitter = 0.01, .loss = 0.1}, kStep, "up");
  std::vector<double> numbers(7, 1.0);
  const AllocationCounter counter;
  for (int k = 0; k < 1000; ++k) {
    link.send(k * kStep, numbers);
    (void)link.receive(k * kStep, numbers);
  }
  CHECK(counter.count() == 0);
}

TEST_CASE("simulated link: numbers that make no link are refused", "[drive]") {
  CHECK_THROWS_WITH(SimulatedLink(1, {.delay = -1.0}, kStep, ""),
                    Catch::Contains("delay") && Catch::Contains("must be in [0, 10] s"));
  CHECK_THROWS_WITH(SimulatedLink(1, {.jitter = 11.0}, kStep, ""), Catch::Contains("jitter"));
  CHECK_THROWS_WITH(SimulatedLink(1, {.loss = 1.5}, kStep, ""),
                    Catch::Contains("loss") && Catch::Contains("must be in [0, 1]"));
}
