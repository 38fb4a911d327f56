#include "tendril/snake/growing_path.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <numbers>

#include "tendril/model_error.hpp"
#include "tests/snake/snake_cases.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random_memory.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::Matrix3d;
using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;
using std::numbers::pi;

namespace {

constexpr double kModule = 0.14;  // [m], two links of 70 mm

/// The leader's path: straight along x up to 0, then weaving ever more, y and z out of step.
struct LeaderPath {
  double length = 10.0;
  [[nodiscard]] CurvePoint at(double s) const noexcept {
    if (s <= 0.0) return {{s, 0, 0}, {1, 0, 0}, {0, 0, 0}};
    const double fade = s < 1.0 ? s * s * s * (10.0 - 15.0 * s + 6.0 * s * s) : 1.0;
    const double y = 0.10 * fade * std::sin(2.0 * pi * s / 1.1);
    const double z = 0.08 * fade * std::sin(2.0 * pi * s / 0.9);
    return {{s, y, z}, {1, 0, 0}, {0, 0, 0}};  // derivatives are not asked for here
  }
  /// Returns the distance from a point near the parameter x; by golden section, as an oracle.
  [[nodiscard]] double distance(const Vector3d& p) const {
    double a = p.x() - 0.05, b = p.x() + 0.05;
    const double g = 0.5 * (std::sqrt(5.0) - 1.0);
    while (b - a > 1e-7) {
      const double c = b - g * (b - a), d = a + g * (b - a);
      ((at(c).position - p).squaredNorm() < (at(d).position - p).squaredNorm() ? b : a) =
          (at(c).position - p).squaredNorm() < (at(d).position - p).squaredNorm() ? d : c;
    }
    return (at(0.5 * (a + b)).position - p).norm();
  }
};

struct Grown {
  explicit Grown(int capacity, GrowingPathOptions options = {})
      : memory(static_cast<std::size_t>(GrowingPath::memory_size(capacity))),
        path(memory, options) {}
  std::vector<double> memory;
  GrowingPath path;
};

}  // namespace

TEST_CASE("growing path: the body passes where the leader passed, over ten meters", "[snake]") {
  constexpr double kDeviation = 0.3e-3;  // [m], even joints relative to the leader's true path
  const double step = GENERATE(0.01, 0.03, 0.06);
  CAPTURE(step);
  const SnakeChain chain = SnakeChain::uniform(12, 0.07);
  const LeaderPath leader;
  Grown grown(200);
  GrowingPath& path = grown.path;
  REQUIRE(path.start({-2.0, 0, 0}, {1, 0, 0}, 2.0).ok());
  MarchArrays arrays(chain);
  double worst = 0.0, worst_late = 0.0, unlike_path = 0.0;
  int most_nodes = 0, marches = 0;
  for (double s = step; s < leader.length; s += step) {
    REQUIRE(path.append(leader.at(s).position).ok());
    const PathView view = path.view();
    const double head = view.end();
    const MarchResult result =
        march_from_head(chain, view, head, view.frame(head), arrays.memory());
    INFO(describe(result));
    REQUIRE(result.ok());
    ++marches;
    std::vector<Vector3d> p(arrays.angles.size() + 1);
    snake_points(chain, result.X_WB, arrays.angles, p);
    for (std::size_t k = 0; k < arrays.parameters.size(); ++k) {
      const double off = leader.distance(p[2 * k]);
      worst = std::max(worst, off);
      if (s > leader.length - 1.0) worst_late = std::max(worst_late, off);
      unlike_path =
          std::max(unlike_path, (p[2 * k] - view.at(arrays.parameters[k]).position).norm());
    }
    most_nodes = std::max(most_nodes, view.node_count());
    path.drop_behind(arrays.parameters[0] - 0.05);
  }
  CHECK(worst < kDeviation);
  CHECK(worst_late < kDeviation);  // no drift
  CHECK(unlike_path < kAlgebraTolerance);
  CHECK(marches > 150);
  // Only what lies under the body and the length kept behind it, and the first straight.
  CHECK(most_nodes < (chain.length() + 0.2) * 1.3 / step + 4);
}

TEST_CASE("growing path: fixed pieces never change by a bit", "[snake]") {
  Random random(1);
  Grown grown(400);
  GrowingPath& path = grown.path;
  REQUIRE(path.start({0, 0, 0}, {0, 0, 1}, 0.3, {1, 0, 0}).ok());
  Vector3d point(0, 0, 0.3), direction(0, 0, 1);
  std::vector<std::pair<double, Vector3d>> fixed;
  for (int i = 0; i < 300; ++i) {
    const double before = path.view().end();
    direction = (direction + 0.2 * random.unit_vector()).normalized();
    point += random.uniform(0.01, 0.03) * direction;
    REQUIRE(path.append(point).ok());
    if (random.uniform(0.0, 1.0) < 0.1) REQUIRE(path.finish().ok());
    for (double share : {0.0, 0.3, 0.8}) {
      const double s = before + share * (path.view().end() - before);
      fixed.emplace_back(s, path.view().at(s).position);
    }
  }
  path.drop_behind(1.0);
  int same = 0;
  for (const auto& [s, p] : fixed) {
    if (s < 1.0) continue;
    same += path.view().at(s).position == p ? 1 : -1000;
  }
  CHECK(same > 500);
}

TEST_CASE("growing path: position, tangent and curvature are continuous at the targets",
          "[snake]") {
  Random random(2);
  Grown grown(60);
  GrowingPath& path = grown.path;
  REQUIRE(path.start({0, 0, 0}, {1, 0, 0}, 0.3).ok());
  Vector3d point(0.3, 0, 0), direction(1, 0, 0);
  std::vector<Vector3d> targets;
  for (int i = 0; i < 40; ++i) {
    direction = (direction + 0.3 * random.unit_vector()).normalized();
    point += random.uniform(0.02, 0.06) * direction;
    REQUIRE(path.append(point).ok());
    targets.push_back(point);
  }
  REQUIRE(path.finish().ok());
  const PathView view = path.view();
  CHECK((view.at(view.end()).position - point).norm() < kAlgebraTolerance);
  double s = 0.3, jump = 0.0, off = 0.0;
  Vector3d before(0.3, 0, 0);
  for (const Vector3d& target : targets) {
    s += (target - before).norm();
    before = target;
    off = std::max(off, (view.at(s).position - target).norm());
    if (&target == &targets.back()) break;  // past it the path is straight
    const CurvePoint left = view.at(s - 1e-9), right = view.at(s + 1e-9);
    jump = std::max({jump, (left.first - right.first).norm(),
                     1e-3 * (left.second - right.second).norm(),
                     (view.frame(s - 1e-9) - view.frame(s + 1e-9)).norm()});
  }
  CHECK(off < 1e-9);
  CHECK(jump < 1e-6);
  // And the derivatives in between are those of the points.
  double wrong = 0.0;
  for (double at = 0.301; at < view.end() - 0.01; at += 0.00137) {
    const double h = 1e-6;
    const CurvePoint here = view.at(at);
    wrong = std::max(
        wrong,
        ((view.at(at + h).position - view.at(at - h).position) / (2.0 * h) - here.first).norm());
    wrong = std::max(
        wrong,
        1e-3 * ((view.at(at + h).first - view.at(at - h).first) / (2.0 * h) - here.second).norm());
  }
  CHECK(wrong < 1e-6);
}

TEST_CASE("growing path: back and forth ends in the same pose, wherever the snake has been",
          "[snake]") {
  const SnakeChain chain = SnakeChain::uniform(8, 0.07);
  const LeaderPath leader;
  Grown grown(400);
  REQUIRE(grown.path.start({-2.0, 0, 0}, {1, 0, 0}, 2.0).ok());
  for (double s = 0.02; s < 3.0; s += 0.02) REQUIRE(grown.path.append(leader.at(s).position).ok());
  const PathView view = grown.path.view();
  MarchArrays now(chain), before(chain);
  const double start = 1.5;
  REQUIRE(march_from_head(chain, view, start, view.frame(start), before.memory()).ok());
  const std::vector<double> at_start = before.angles;
  double s = start, change = 0.0;
  for (const double goal : {4.0, 1.2, 2.7, 1.5}) {
    for (int i = 0; i < 4000 && s != goal; ++i) {
      const double desired = goal > s ? std::min(s + 0.01, goal) : std::max(s - 0.01, goal);
      const FollowStep step =
          follow_path(chain, view, MarchDirection::HeadToBase, view.frame(desired), s, desired,
                      0.01, before.angles, now.memory());
      REQUIRE(step.march.ok());
      REQUIRE(step.s != s);
      change = std::max(change, step.largest_change);
      s = step.s;
      before.angles = now.angles;
    }
    REQUIRE(s == goal);
  }
  CHECK(change <= 0.01);
  CHECK(change > 0.005);  // the limit did slow the leader down
  CHECK(before.angles == at_start);
}

TEST_CASE("growing path: a fed base pushes the chain along it", "[snake]") {
  const SnakeChain chain = SnakeChain::uniform(6, 0.07);
  Grown grown(200);
  REQUIRE(grown.path.start({-1.0, 0, 0}, {1, 0, 0}, 1.0).ok());
  const LeaderPath leader;
  for (double s = 0.03; s < 1.5; s += 0.03) REQUIRE(grown.path.append(leader.at(s).position).ok());
  const PathView view = grown.path.view();
  MarchArrays now(chain), before(chain);
  double s = 0.1;
  while (s < 0.9) {
    const FollowStep step =
        follow_path(chain, view, MarchDirection::BaseToHead, Matrix3d::Identity(), s, s + 0.002,
                    0.05, before.angles, now.memory());
    REQUIRE(step.march.ok());
    CHECK(step.march.X_WB.translation().x() == Approx(step.s - 1.0).margin(1e-12));
    CHECK(step.march.X_WB.linear() == Matrix3d::Identity());
    s = step.s;
    before.angles = now.angles;
  }
}

TEST_CASE("growing path: a step that cannot be made is shortened, or refused with the reason",
          "[snake]") {
  const SnakeChain chain = SnakeChain::uniform(2, 0.07);
  Grown grown(20);
  REQUIRE(grown.path.start({0, 0, 0}, {1, 0, 0}, 1.0).ok());
  const PathView view = grown.path.view();
  MarchArrays now(chain), before(chain);
  const FollowStep step = follow_path(chain, view, MarchDirection::BaseToHead, Matrix3d::Identity(),
                                      0.7, 0.74, 0.1, before.angles, now.memory());
  CHECK(step.march.ok());
  CHECK(step.s == Approx(0.72));  // 0.28 m of body on 1 m of path
  const FollowStep stuck =
      follow_path(chain, view, MarchDirection::BaseToHead, Matrix3d::Identity(), 0.725, 0.74, 0.1,
                  before.angles, now.memory());
  CHECK(stuck.s == 0.725);
  CHECK(stuck.march.status == MarchStatus::PathTooShort);
  CHECK(now.angles == before.angles);
}

TEST_CASE("growing path: bad targets are refused with the reason and change nothing", "[snake]") {
  Grown grown(4, {.max_spacing = 0.2, .max_curvature = 10.0});
  GrowingPath& path = grown.path;
  REQUIRE(path.start({0, 0, 0}, {1, 0, 0}, 0.3).ok());
  REQUIRE(path.append({0.35, 0, 0}).ok());
  const std::vector<double> before = grown.memory;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(path.append({nan, 0, 0}).status == GrowStatus::NotFinite);
  CHECK(path.append({0.35, 0, 0}).status == GrowStatus::TooNear);
  CHECK(path.append({0.8, 0, 0}).status == GrowStatus::TooFar);
  const GrowResult behind = path.append({0.3, 0, 0});
  CHECK(behind.status == GrowStatus::Behind);
  CHECK(behind.value == Approx(pi));
  CHECK(behind.limit == 1.0);
  const GrowResult tight = path.append({0.40, 0.05, 0});
  CHECK(tight.status == GrowStatus::TooTight);
  CHECK(tight.value > 10.0);
  CHECK(grown.memory == before);
  CHECK(path.append({0.40, 0, 0}).ok());
  CHECK(path.append({0.45, 0, 0}).ok());
  CHECK(path.append({0.50, 0, 0}).status == GrowStatus::Full);
  path.drop_behind(0.32);
  CHECK(path.append({0.50, 0, 0}).ok());
  CHECK(path.start({0, 0, 0}, {0, 0, 0}, 0.3).status == GrowStatus::NotFinite);
}

TEST_CASE("growing path: bad options are named", "[snake]") {
  std::vector<double> memory(static_cast<std::size_t>(GrowingPath::memory_size(2)));
  CHECK_THROWS_WITH(GrowingPath(memory, {.min_spacing = 0.0}),
                    "growing path: min_spacing = 0 m, must be > 0");
  CHECK_THROWS_WITH(GrowingPath(memory, {.min_spacing = 0.1, .max_spacing = 0.05}),
                    "growing path: max_spacing = 0.05 m, must be > min_spacing");
  CHECK_THROWS_WITH(GrowingPath(memory, {.max_turn = 4.0}),
                    "growing path: max_turn = 4 rad, must be in (0, pi)");
  CHECK_THROWS_WITH(GrowingPath(memory, {.max_curvature = -1.0}),
                    "growing path: max_curvature = -1 1/m, must be > 0");
  CHECK_THROWS_AS(GrowingPath(std::span(memory).first(3), {}), ModelError);
}

TEST_CASE(
    "growing path: the loop of a leader allocates nothing, and a copy of the memory "
    "continues alike",
    "[snake]") {
  const SnakeChain chain = SnakeChain::uniform(4, 0.07);
  const LeaderPath leader;
  Grown grown(100);
  REQUIRE(grown.path.start({-2.0, 0, 0}, {1, 0, 0}, 2.0).ok());
  MarchArrays arrays(chain), again(chain);
  std::vector<double> copy = grown.memory;
  GrowingPath copied(copy, {});
  AllocationCounter counter;
  bool ok = true;
  for (double s = 0.02; s < 3.0; s += 0.02) {
    for (GrowingPath* path : {&grown.path, &copied}) {
      MarchArrays& to = path == &copied ? again : arrays;
      ok = ok && path->append(leader.at(s).position).ok();
      const PathView view = path->view();
      ok = ok && march_from_head(chain, view, view.end(), view.frame(view.end()), to.memory()).ok();
      path->drop_behind(to.parameters[0]);
    }
  }
  CHECK(counter.count() == 0);
  CHECK(ok);
  CHECK(arrays.angles == again.angles);
  CHECK(grown.memory == copy);
}

TEST_CASE("growing path: its memory is what the layout says", "[snake]") {
  for (const int capacity : {0, 2, 17}) {
    const MemoryLayout layout = GrowingPath::layout(capacity);
    REQUIRE(layout.size() == GrowingPath::memory_size(capacity));
    std::vector<double> memory(static_cast<std::size_t>(layout.size()));
    layout.reset(memory);
    CHECK(layout.is_valid(memory));
    GrowingPath path(memory, {});
    CHECK(path.view().node_count() == 0);
    CHECK(path.view().capacity() == std::max(capacity, 2));
    REQUIRE(path.start({0, 0, 0}, {1, 0, 0}, 0.3).ok());
    for (double x = 0.35; x < 2.0; x += 0.05) {
      (void)path.append({x, 0.01 * std::sin(x), 0.0});
      path.drop_behind(x - 0.4);
      CHECK(layout.is_valid(memory));
    }
  }
}

TEST_CASE("growing path: whatever its memory holds, nothing is read or written outside it",
          "[snake]") {
  constexpr int kCapacity = 12;
  const SnakeChain chain = SnakeChain::uniform(3, 0.07);
  MarchArrays before(chain), after(chain);
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Grown grown(kCapacity);
    if (seed % 3 != 0) {  // a path, some of it damaged
      REQUIRE(grown.path.start({0, 0, 0}, {1, 0, 0}, 0.5).ok());
      for (int i = 1; i < 8; ++i) (void)grown.path.append({0.5 + 0.05 * i, 0.0, 0.0});
    }
    damage(random, grown.memory, seed % 3 == 0 ? 1.0 : (seed % 3 == 1 ? 0.3 : 0.03));
    const PathView view = grown.path.view();
    CHECK(view.node_count() >= 0);
    CHECK(view.node_count() <= kCapacity);
    for (int i = 0; i < 12; ++i) {
      const double s = random.integer(0, 3) == 0 ? random_number(random) : random.uniform(-1, 2);
      const Vector3d target(s, random.uniform(-0.1, 0.1), random_number(random));
      (void)view.at(s);
      (void)view.frame(s);
      switch (random.integer(0, 3)) {
        case 0:
          (void)grown.path.append(target);
          break;
        case 1:
          (void)grown.path.finish();
          break;
        case 2:
          grown.path.drop_behind(s);
          break;
        default:
          (void)grown.path.append(view.at(view.end()).position + Vector3d(0.05, 0.0, 0.0));
      }
      CHECK(view.node_count() <= kCapacity);
      CHECK_FALSE(view.end() < view.begin());
    }
    for (const MarchDirection direction : {MarchDirection::BaseToHead, MarchDirection::HeadToBase})
      (void)follow_path(chain, view, direction, view.frame(0.6), 0.5, 0.6, 0.1, before.angles,
                        after.memory());
    REQUIRE(grown.path.start({0, 0, 0}, {1, 0, 0}, 0.3).ok());  // it recovers
    CHECK(grown.path.view().node_count() == 2);
  }
}
