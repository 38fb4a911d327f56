#include "tendril/memory_layout.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <vector>

namespace tendril {
namespace {

enum class Stage { Settle, Feed, Hold };

TEST_CASE("memory layout: slots do not overlap and start where they should", "[memory]") {
  MemoryLayout inner;
  const auto count = inner.index(0, 3);
  const auto pose = inner.vector(2);

  MemoryLayout layout;
  const auto feed = layout.number(0.25);
  const auto jammed = layout.flag();
  const auto stage = layout.choice(Stage::Settle, Stage::Hold);
  const auto from = layout.index(-1, 4);
  const auto part = layout.part(inner);
  const auto goal = layout.matrix<Eigen::Matrix<double, 3, 4>>();
  const auto rest = layout.numbers(2, 7.0);
  REQUIRE(layout.size() == 4 + 3 + 12 + 2);

  std::vector<double> memory(static_cast<std::size_t>(layout.size()), -3.0);
  layout.reset(memory);
  const std::span<const double> read(memory);
  CHECK(layout.is_valid(read));
  CHECK(feed(read) == 0.25);
  CHECK_FALSE(jammed(read));
  CHECK(stage(read) == Stage::Settle);
  CHECK(from(read) == 0);
  CHECK(rest(read)[1] == 7.0);

  const std::span<double> write(memory);
  feed(write) = 1.0;
  feed(write) += 0.5;
  jammed(write) = true;
  stage(write) = Stage::Hold;
  from(write) = -1;
  count(part(write)) = 2;
  pose(part(write)) << 4.0, 5.0;
  goal(write).col(3).setConstant(6.0);
  rest(write)[0] = 8.0;
  CHECK(memory ==
        std::vector<double>{1.5, 1, 2, -1, 2, 4, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 6, 6, 8, 7});
  CHECK(layout.is_valid(read));
  CHECK(stage(write) == Stage::Hold);  // a writable array reads the same
}

TEST_CASE("memory layout: foreign numbers are found, and read as something in range", "[memory]") {
  MemoryLayout layout;
  const auto number = layout.number();
  const auto flag = layout.flag();
  const auto stage = layout.choice(Stage::Settle, Stage::Hold);
  const auto index = layout.index(-1, 4);
  const auto list = layout.indices(3, 0, 9);
  std::vector<double> good(static_cast<std::size_t>(layout.size()));
  layout.reset(good);
  REQUIRE(layout.is_valid(good));

  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t offset = 0; offset < good.size(); ++offset) {
    for (const double value : {kNan, kInfinity, -kInfinity, 1e300, -1e300, 0.5, -2.0, 10.0}) {
      CAPTURE(offset, value);
      std::vector<double> memory = good;
      memory[offset] = value;
      const bool is_number = offset == 0;
      CHECK(layout.is_valid(memory) == (is_number && std::isfinite(value)));
      const std::span<const double> read(memory);
      CHECK((flag(read) || !flag(read)));
      CHECK(static_cast<int>(stage(read)) >= 0);
      CHECK(static_cast<int>(stage(read)) <= 2);
      CHECK(index(read) >= -1);
      CHECK(index(read) <= 4);
      if (std::isfinite(value)) CHECK(std::isfinite(number(read)));
    }
  }
  CHECK_FALSE(layout.is_valid(std::span(good).first(3)));
  CHECK(list.size() == 3);
}

}  // namespace
}  // namespace tendril
