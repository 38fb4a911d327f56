#include "tendril/geometry/rrt_connect.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"
#include "tests/support/random_memory.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::VectorXd;
using Progress = RrtConnect::Progress;

namespace {

constexpr double kRadius = 0.25, kCheckSpacing = 0.02;  // [m]

/// A point in the square [-1, 1]^2 among discs; a stream of samples for each attempt.
struct Plane {
  std::vector<Eigen::Vector2d> discs;
  std::uint64_t seed = 1;
  bool useless_samples = false;  // the start itself
  int made = 0, samples = 0;

  using Point = Eigen::Ref<const VectorXd>;
  [[nodiscard]] double distance(const Point& a, const Point& b) const noexcept {
    return (a - b).norm();
  }
  [[nodiscard]] bool is_clear(const Eigen::Vector2d& p) const noexcept {
    for (const Eigen::Vector2d& disc : discs)
      if ((p - disc).norm() < kRadius) return false;
    return true;
  }
  [[nodiscard]] bool is_free(const Point& p) const noexcept { return is_clear({p[0], p[1]}); }
  [[nodiscard]] bool line_is_free(const Point& a, const Point& b) noexcept {
    const double length = distance(a, b);
    ++made;
    if (!is_free(b)) return false;
    const double step = std::max(kCheckSpacing, length / 100.0);
    for (double s = step; s < length; s += step) {
      ++made;
      if (!is_clear(a + s / length * (b - a))) return false;
    }
    return true;
  }
  void sample(int attempt, const Point& from, const Point&, VectorXd& p) noexcept {
    ++samples;
    Random random(1000 * seed + static_cast<std::uint64_t>(attempt));
    p = from;
    if (!useless_samples) p << random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0);
  }
  [[nodiscard]] int checks() const noexcept { return made; }
};

/// A wall of discs across x = 0 with a gap at y > 0.5.
Plane wall(std::uint64_t seed) {
  Plane plane;
  plane.seed = seed;
  for (double y = -1.2; y < 0.4; y += 0.1) plane.discs.emplace_back(0.0, y);
  return plane;
}

VectorXd point(double x, double y) { return Eigen::Vector2d(x, y); }

const VectorXd kFrom = point(-0.8, -0.5), kTo = point(0.8, -0.5);
constexpr RrtConnectOptions kOptions{.dimension = 2,
                                     .max_nodes = 80,
                                     .max_samples = 4000,
                                     .max_checks = 4000,
                                     .max_waypoints = 8,
                                     .max_step = 0.2};

struct Search {
  explicit Search(const RrtConnectOptions& options = kOptions)
      : planner(options), memory(static_cast<std::size_t>(planner.layout().size())) {}
  Progress run(Plane& plane, int checks) {
    planner.begin(kFrom, kTo, memory);
    Progress progress = Progress::Searching;
    for (calls = 0; progress == Progress::Searching; ++calls)
      progress = planner.resume(plane, checks, memory);
    return progress;
  }
  RrtConnect planner;
  std::vector<double> memory;
  int calls = 0;
};

}  // namespace

TEST_CASE("rrt connect: a path around a wall is free, and shortened", "[geometry]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Plane plane = wall(seed);
    Search search;
    REQUIRE_FALSE(plane.line_is_free(kFrom, kTo));
    REQUIRE(search.run(plane, 50) == Progress::Found);
    REQUIRE(search.planner.shorten(plane, 1000));
    std::vector<VectorXd> path{kFrom};
    for (int i = 0; i < search.planner.waypoint_count(); ++i)
      path.emplace_back(search.planner.waypoint(i));
    path.push_back(kTo);
    REQUIRE(path.size() > 2);
    for (std::size_t i = 1; i < path.size(); ++i) {
      for (int k = 0; k <= 400; ++k) {
        const VectorXd p = path[i - 1] + k / 400.0 * (path[i] - path[i - 1]);
        for (const Eigen::Vector2d& disc : plane.discs)
          REQUIRE((p - disc).norm() > kRadius - kCheckSpacing);
      }
      if (i > 1) CHECK_FALSE(plane.line_is_free(path[i - 2], path.back()));
    }
  }
}

TEST_CASE("rrt connect: a search does not depend on how it is divided into calls", "[geometry]") {
  std::vector<double> memory;
  int waypoints = 0;
  for (const int checks : {1, 7, 50, 100000}) {
    Plane plane = wall(3);
    Search search;
    REQUIRE(search.run(plane, checks) == Progress::Found);
    REQUIRE(search.planner.shorten(plane, 1000));
    CHECK((search.calls > 1) == (checks < 100));
    if (memory.empty()) {
      memory = search.memory;
      waypoints = search.planner.waypoint_count();
    }
    CHECK(search.planner.waypoint_count() == waypoints);
    // The trees; what comes before them counts calls.
    const std::size_t tree = 5;
    CHECK(std::equal(search.memory.begin() + tree, search.memory.end(), memory.begin() + tree));
  }
}

TEST_CASE("rrt connect: a search ends, within its budgets", "[geometry]") {
  Plane closed = wall(1);
  for (double y = 0.4; y < 1.2; y += 0.1) closed.discs.emplace_back(0.0, y);
  Search search;
  CHECK(search.run(closed, 50) == Progress::Failed);
  CHECK(closed.made <= kOptions.max_checks + 200);

  // Nothing to grow towards: no check, no node.
  Plane useless = wall(1);
  useless.useless_samples = true;
  CHECK(search.run(useless, 50) == Progress::Failed);
  CHECK(useless.samples <= kOptions.max_samples);

  Plane inside = wall(1);
  inside.discs.emplace_back(kTo[0], kTo[1]);
  CHECK(search.run(inside, 50) == Progress::Failed);
  CHECK(inside.samples == 0);

  Plane empty;
  CHECK(search.run(empty, 50) == Progress::Found);
  REQUIRE(search.planner.shorten(empty, 100));
  CHECK(search.planner.waypoint_count() == 0);

  RrtConnectOptions options = kOptions;
  options.max_waypoints = 1;  // too few for the path around the wall
  Search few(options);
  Plane plane = wall(1);
  REQUIRE(few.run(plane, 50) == Progress::Found);
  CHECK_FALSE(few.planner.shorten(plane, 0));
}

TEST_CASE("rrt connect: of several goals, also such that come later, the path ends at one",
          "[geometry]") {
  Plane closed = wall(1);  // no path to kTo
  for (double y = 0.4; y < 1.2; y += 0.1) closed.discs.emplace_back(0.0, y);
  Search search;
  search.planner.begin(kFrom, kTo, search.memory);
  CHECK(search.planner.resume(closed, 200, search.memory) == Progress::Searching);
  const VectorXd unreachable = point(0.8, 0.8), reachable = point(-0.9, 0.9);
  search.planner.add_goal(unreachable, search.memory);
  CHECK(search.planner.resume(closed, 200, search.memory) == Progress::Searching);
  search.planner.add_goal(reachable, search.memory);
  Progress progress = Progress::Searching;
  while (progress == Progress::Searching)
    progress = search.planner.resume(closed, 50, search.memory);
  REQUIRE(progress == Progress::Found);
  CHECK(search.planner.end() == reachable);
}

TEST_CASE("rrt connect: its memory is what the layout says, and nothing is allocated",
          "[geometry]") {
  Plane plane = wall(2);
  Search search;
  search.planner.begin(kFrom, kTo, search.memory);
  CHECK(search.planner.layout().is_valid(search.memory));
  AllocationCounter counter;
  Progress progress = Progress::Searching;
  bool valid = true;
  while (progress == Progress::Searching) {
    progress = search.planner.resume(plane, 20, search.memory);
    valid = valid && search.planner.layout().is_valid(search.memory);
  }
  CHECK(search.planner.shorten(plane, 1000));
  CHECK(counter.count() == 0);
  CHECK(valid);
}

TEST_CASE("rrt connect: whatever its memory holds, every call ends and remains inside it",
          "[geometry]") {
  constexpr int kChecks = 20, kMaxCalls = 2000;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Plane plane = wall(1 + seed % 5);
    Search search;
    if (seed % 3 != 0) {  // a search that is under way, some of it damaged
      search.planner.begin(kFrom, kTo, search.memory);
      for (int i = 0; i < 4; ++i) (void)search.planner.resume(plane, kChecks, search.memory);
    }
    damage(random, search.memory, seed % 3 == 0 ? 1.0 : (seed % 3 == 1 ? 0.3 : 0.02));
    Progress progress = Progress::Searching;
    int calls = 0;
    while (progress == Progress::Searching && calls++ < kMaxCalls) {
      const int before = plane.made;
      progress = search.planner.resume(plane, kChecks, search.memory);
      REQUIRE(plane.made - before <= kChecks + 2 * 101);
    }
    REQUIRE(progress != Progress::Searching);
    if (progress == Progress::Found) (void)search.planner.shorten(plane, 100);
    CHECK(search.planner.waypoint_count() <= kOptions.max_waypoints);
  }
}

TEST_CASE("rrt connect: parents that lead in circles lead to the root", "[geometry]") {
  Plane plane = wall(1);
  Search search;
  search.planner.begin(kFrom, kTo, search.memory);
  Progress progress = Progress::Searching;
  while (progress == Progress::Searching) {
    progress = search.planner.resume(plane, 5, search.memory);
    // Of both trees: each node its own parent. The layout: 5 numbers, then nodes, parents, count.
    const std::size_t nodes = static_cast<std::size_t>(kOptions.max_nodes);
    for (const std::size_t tree : {std::size_t{0}, std::size_t{1}}) {
      const std::size_t parents = 5 + tree * (3 * nodes + 1) + 2 * nodes;
      for (std::size_t i = 0; i < nodes; ++i) search.memory[parents + i] = static_cast<double>(i);
    }
  }
  CHECK(progress == Progress::Found);
}
