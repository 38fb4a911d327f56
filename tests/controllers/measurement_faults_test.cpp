#include "controllers/interface/measurement_faults.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "controllers/interface/arm_controller.hpp"
#include "controllers/interface/mobile_controller.hpp"
#include "controllers/interface/snake_controller.hpp"
#include "tendril/model_error.hpp"

using namespace tendril;

namespace {

constexpr double kStep = 0.01;  // [s]
constexpr std::uint64_t kSeed = 7;

template <class Kind>
Fault fault_of(const Kind& kind, FaultChannel channel = "q") {
  Fault f;
  f.name = "f";
  f.kind = fault::OfMeasurement{channel, kind};
  return f;
}

/// Returns what is seen of the coordinates 1 + k and -2 k in the steps k = 0, 1, ...
std::vector<Eigen::Vector2d> seen(const std::vector<Fault>& faults, int steps) {
  const MeasurementFaults chain(faults, ArmMeasurement(2), kStep, kSeed);
  const auto size = static_cast<std::size_t>(chain.layout().size());
  std::vector<double> memory(size), next(size);
  chain.layout().reset(memory);
  std::vector<Eigen::Vector2d> all;
  for (int k = 0; k < steps; ++k) {
    ArmMeasurement m(2);
    m.time = k * kStep;
    m.q << 1.0 + k, -2.0 * k;
    const Eigen::VectorXd truth = m.q;
    // A step may be evaluated several times: memory alone counts.
    for (int i = 0; i < 2; ++i) {
      m.q = truth;
      next = memory;
      const bool differs = chain.apply(m, memory, next);
      CHECK(differs == (m.q != truth));
    }
    all.push_back(m.q);
    memory = next;
    CHECK(chain.layout().is_valid(memory));
  }
  return all;
}

Eigen::Vector2d truth(int k) { return {1.0 + k, -2.0 * k}; }

}  // namespace

TEST_CASE("measurement faults: values are changed as their formulas say, between start and end",
          "[faults]") {
  Fault bias = fault_of(fault::Bias{{0.5, 0.25}}), scale = fault_of(fault::Scale{{3.0}}),
        drift = fault_of(fault::Drift{{2.0}}), quantize = fault_of(fault::Quantize{{0.4}});
  for (Fault* f : {&bias, &scale, &drift, &quantize}) {
    f->start = 0.025;
    f->end = 0.06;
  }
  for (int k = 0; k < 10; ++k) {
    const double t = k * kStep;
    const bool on = t >= 0.025 && t < 0.06;
    CAPTURE(k);
    const Eigen::Vector2d x = truth(k);
    CHECK(seen({bias}, 10)[static_cast<std::size_t>(k)] ==
          (on ? Eigen::Vector2d(x[0] + 0.5, x[1] + 0.25) : x));
    CHECK(seen({scale}, 10)[static_cast<std::size_t>(k)] == (on ? Eigen::Vector2d(3.0 * x) : x));
    CHECK((seen({drift}, 10)[static_cast<std::size_t>(k)] -
           (on ? Eigen::Vector2d(x.array() + 2.0 * (t - 0.025)) : x))
              .norm() < 1e-12);
    const auto rounded = [](double v) { return 0.4 * std::floor(v / 0.4 + 0.5); };
    CHECK(seen({quantize}, 10)[static_cast<std::size_t>(k)] ==
          (on ? Eigen::Vector2d(rounded(x[0]), rounded(x[1])) : x));
    // In the order of the list; quantize comes after every value fault.
    CHECK(seen({quantize, bias, scale}, 10)[static_cast<std::size_t>(k)] ==
          (on ? Eigen::Vector2d(rounded(3.0 * (x[0] + 0.5)), rounded(3.0 * (x[1] + 0.25))) : x));
  }
}

TEST_CASE("measurement faults: samples are those of earlier steps", "[faults]") {
  Fault rate = fault_of(fault::Rate{0.03}), freeze = fault_of(fault::Freeze{}),
        delay = fault_of(fault::Delay{0.04});
  delay.start = 0.02;
  freeze.start = 0.045;
  freeze.end = 0.08;
  const auto rated = seen({rate}, 12), frozen = seen({freeze}, 12), delayed = seen({delay}, 12);
  for (int k = 0; k < 12; ++k) {
    CAPTURE(k);
    const auto i = static_cast<std::size_t>(k);
    CHECK(rated[i] == truth(k - k % 3));
    CHECK(frozen[i] == truth(k >= 5 && k < 8 ? 4 : k));
    CHECK(delayed[i] == (k < 2 ? truth(k) : truth(std::max(0, k - 4))));
  }
  const Fault from_start = fault_of(fault::Freeze{});
  CHECK(seen({from_start}, 3)[2] == truth(0));
}

TEST_CASE("measurement faults: dropouts have their share and length", "[faults]") {
  fault::Dropout dropout{.probability = 0.05, .duration = 0.03};
  constexpr int kSteps = 20000;
  const auto held = seen({fault_of(dropout)}, kSteps);
  dropout.gives_zero = true;
  const auto zero = seen({fault_of(dropout)}, kSteps);
  int begun = 0, free = 0, lost = 0, last_good = 0, length = 0;
  for (int k = 0; k < kSteps; ++k) {
    const auto i = static_cast<std::size_t>(k);
    const bool is_lost = zero[i] == Eigen::Vector2d::Zero();
    REQUIRE(is_lost == (held[i] != truth(k) || (k == 0 && is_lost)));
    if (is_lost) {
      if (length % 3 == 0) ++begun;  // one may begin in the step after another
      ++length, ++lost;
      REQUIRE(held[i] == truth(last_good));
    } else {
      REQUIRE(length % 3 == 0);
      length = 0, ++free, last_good = k;
    }
  }
  // Of the steps in which one may begin, 5 %: within four standard deviations.
  const double chances = free + begun;
  CHECK(std::abs(begun / chances - 0.05) < 4.0 * std::sqrt(0.05 * 0.95 / chances));
}

TEST_CASE("measurement faults: noise is that of its key, with its deviation and correlation",
          "[faults]") {
  fault::Noise noise{.sigma = {0.3}};
  constexpr int kSteps = 20000;
  const auto deviations = [&](const fault::Noise& kind) {
    const auto all = seen({fault_of(kind)}, kSteps);
    std::vector<double> n;
    for (int k = 0; k < kSteps; ++k) n.push_back(all[static_cast<std::size_t>(k)][0] - truth(k)[0]);
    return n;
  };
  const auto mean_product = [&](const std::vector<double>& n, int lag) {
    double sum = 0.0;
    for (std::size_t i = 0; i + static_cast<std::size_t>(lag) < n.size(); ++i)
      sum += n[i] * n[i + static_cast<std::size_t>(lag)];
    return sum / static_cast<double>(n.size());
  };
  const std::vector<double> white = deviations(noise);
  // The formula of the documentation.
  const RandomDraws draws(kSeed, "fault.f");
  double sum = -6.0;
  for (std::uint64_t j = 0; j < 12; ++j) sum += draws.uniform(65536 * 5 + j);
  CHECK(white[5] == Approx(0.3 * sum).margin(1e-12));
  CHECK(std::sqrt(mean_product(white, 0)) == Approx(0.3).epsilon(0.02));
  CHECK(std::abs(mean_product(white, 1)) < 0.003);

  noise.correlation_time = 0.05;
  const std::vector<double> colored = deviations(noise);
  CHECK(std::sqrt(mean_product(colored, 0)) == Approx(0.3).epsilon(0.06));
  CHECK(mean_product(colored, 5) / mean_product(colored, 0) == Approx(std::exp(-1.0)).margin(0.05));

  noise.sigma = {0.0};
  for (const double n : deviations(noise)) REQUIRE(n == 0.0);
}

TEST_CASE(
    "measurement faults: directions stay rotations, contacts get lost, targets need to be there",
    "[faults]") {
  const Fault tilt = fault_of(fault::Bias{{0.0, 0.1, 0.0}}, "tip_direction");
  const Fault blind = fault_of(fault::Dropout{.probability = 1.0}, "contacts");
  const Fault moved = fault_of(fault::Bias{{1.0}}, "target");
  const std::vector<Fault> all{tilt, blind, moved};
  const MeasurementFaults chain(all, ArmMeasurement(2), kStep, kSeed);
  std::vector<double> memory(static_cast<std::size_t>(chain.layout().size())), next(memory);
  chain.layout().reset(memory);
  ArmMeasurement m(2);
  m.contacts.resize(3);
  CHECK(chain.apply(m, memory, next));
  const Eigen::Matrix3d expected =
      Eigen::AngleAxisd(0.1, Eigen::Vector3d::UnitY()).toRotationMatrix();
  CHECK((m.X_BE.linear() - expected).norm() < 1e-12);
  CHECK(m.contacts.empty());
  CHECK(m.X_BG.translation() == Eigen::Vector3d::Zero());
  m.has_target = true;
  (void)chain.apply(m, memory, next);
  CHECK(m.X_BG.translation() == Eigen::Vector3d::Ones());

  // Neither a snake nor a mobile robot measures these.
  const std::vector<Fault> of_arm{tilt, blind};
  CHECK(MeasurementFaults(of_arm, SnakeMeasurement(4), kStep, kSeed).empty());
  CHECK(MeasurementFaults(of_arm, MobileMeasurement(4), kStep, kSeed).empty());
}

TEST_CASE("measurement faults: lists of the wrong length and endless memories are refused",
          "[faults]") {
  const Fault bias = fault_of(fault::Bias{{1.0, 2.0, 3.0}});
  CHECK_THROWS_WITH(seen({bias}, 1), Catch::Contains("must have 1 or 2, as many as the channel"));
  const std::vector<Fault> delays{fault_of(fault::Delay{2.0})};
  CHECK_THROWS_AS(MeasurementFaults(delays, ArmMeasurement(2), 1e-6, kSeed), ModelError);
}

TEST_CASE("measurement faults: backlash follows at the ends of its dead zone", "[faults]") {
  // Coordinate 0 grows by 1 in a step, coordinate 1 falls by 2: after the first steps they drag.
  const auto dragged = seen({fault_of(fault::Backlash{{3.0}})}, 8);
  for (int k = 0; k < 8; ++k) {
    CAPTURE(k);
    const Eigen::Vector2d held = truth(0), end = truth(k) + Eigen::Vector2d(-1.5, 1.5);
    CHECK(dragged[static_cast<std::size_t>(k)] ==
          Eigen::Vector2d(std::max(held[0], end[0]), std::min(held[1], end[1])));
  }
  // It begins anew from the truth of the step in which it starts.
  Fault late = fault_of(fault::Backlash{{3.0, 0.0}});
  late.start = 0.035;
  const auto later = seen({late}, 8);
  CHECK(later[3] == truth(3));
  CHECK(later[4] == truth(4));
  CHECK(later[5] == Eigen::Vector2d(truth(4)[0], truth(5)[1]));
}

TEST_CASE("measurement faults: a dropout with an interval begins in its steps alone", "[faults]") {
  const fault::Dropout sample{.probability = 0.3, .duration = 0.05, .interval = 0.05};
  const auto held = seen({fault_of(sample)}, 5000);
  int lost = 0;
  for (int k = 5; k < 5000; k += 5) {
    const bool is_lost = held[static_cast<std::size_t>(k)] != truth(k);
    lost += is_lost ? 1 : 0;
    for (int i = 1; i < 5; ++i)  // all of the interval or none of it
      REQUIRE((held[static_cast<std::size_t>(k + i)] != truth(k + i)) == is_lost);
  }
  CHECK(lost == Approx(0.3 * 999).margin(4.0 * std::sqrt(0.3 * 0.7 * 999)));
}

TEST_CASE("measurement faults: a stamp tells when what is seen was measured", "[faults]") {
  // The value grows by 10 in a step, so that one that is seen tells its step, too.
  const std::vector<Fault> faults{
      fault_of(fault::Scale{{3.0}}), fault_of(fault::Quantize{{0.5}}), fault_of(fault::Rate{0.03}),
      fault_of(fault::Dropout{.probability = 0.2, .duration = 0.03, .interval = 0.03}),
      fault_of(fault::Delay{0.02})};
  const MeasurementFaults chain(faults, 2, kStep, kSeed, true);
  std::vector<double> memory(static_cast<std::size_t>(chain.layout().size())), next(memory);
  chain.layout().reset(memory);
  int new_ones = 0, last = -1;
  for (int k = 0; k < 600; ++k) {
    REQUIRE(chain.step(memory) == k);
    std::array<double, 2> numbers{10.0 * k, double(k)};
    next = memory;
    (void)chain.apply(numbers, kStep * k, memory, next);
    memory = next;
    REQUIRE(numbers[0] == 30.0 * numbers[1]);
    const int sample = int(numbers[1]);
    REQUIRE(sample % 3 == 0);             // at the rate
    if (k > 2) REQUIRE(sample <= k - 2);  // late
    new_ones += sample != last ? 1 : 0;
    last = sample;
  }
  CHECK(new_ones == Approx(0.8 * 200).margin(4.0 * std::sqrt(0.2 * 0.8 * 200)));
}
