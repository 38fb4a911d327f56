#include "tendril/snake/path_march.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include "tendril/model_error.hpp"
#include "tendril/snake/head_pose.hpp"
#include "tests/snake/snake_cases.hpp"

using Eigen::Vector3d;
using namespace tendril;
using std::numbers::pi;

namespace {

constexpr double kSample = 2e-4;  // [m], the path's curve against the arcs that its points lie on

/// 0.4 m along x, a quarter of a circle of radius 0.4 m to the left, straight on for `after`.
std::vector<Vector3d> bend(double after) {
  std::vector<Vector3d> points{{0, 0, 0}};
  for (int i = 1; i <= 8; ++i) points.emplace_back(0.05 * i, 0.0, 0.0);
  for (int i = 1; i <= 24; ++i) {
    const double angle = pi / 2.0 * i / 24;
    points.emplace_back(0.4 + 0.4 * std::sin(angle), 0.4 * (1.0 - std::cos(angle)), 0.0);
  }
  for (int i = 1; i <= 10; ++i) points.emplace_back(0.8, 0.4 + after * i / 10, 0.0);
  return points;
}

/// Distance from the exact line, arc and line.
double off_bend(const Vector3d& p) {
  double flat = 0.0;
  if (p.x() <= 0.4)
    flat = p.y();
  else if (p.y() <= 0.4)
    flat = std::hypot(p.x() - 0.4, p.y() - 0.4) - 0.4;
  else
    flat = p.x() - 0.8;
  return std::hypot(flat, p.z());
}

std::vector<Vector3d> points_of(const SnakeChain& chain, const PathMarchStep& step) {
  std::vector<Vector3d> p(step.angles.size() + 1);
  snake_points(chain, step.X_WB, step.angles, p);
  return p;
}

SnakeChain chain_of(bool universal, double rear) {
  std::vector<double> lengths(16, 0.06);
  for (std::size_t j = 0; universal && j < 16; ++j) lengths[j] = j % 2 == 0 ? 0.0 : 0.12;
  return SnakeChain({.link_lengths = lengths, .rear_length = rear});
}

}  // namespace

TEST_CASE("path march: joints lie on the path, the head goes to its end, on every base",
          "[snake]") {
  const bool universal = GENERATE(false, true);
  const MarchBase base = GENERATE(MarchBase::Fixed, MarchBase::Carriage, MarchBase::Free);
  const double rear = base == MarchBase::Free ? (universal ? 0.12 : 0.06) : 0.0;
  const SnakeChain chain = chain_of(universal, rear);
  // 1.03 m for the fixed base, whose body is 0.96 m long: the head ends where the body does.
  const std::vector<Vector3d> points = bend(base == MarchBase::Fixed ? 0.002 : 0.3);
  const std::vector<PathMarchStep> steps =
      march_along(chain, points, {.base = base, .march = {.target = MarchTarget::EvenJoints}});
  REQUIRE(!steps.empty());
  CHECK(steps.size() == (base == MarchBase::Fixed ? 1 : steps.size()));
  if (base != MarchBase::Fixed) CHECK(steps.size() > 20);
  for (const PathMarchStep& step : steps) {
    const std::vector<Vector3d> p = points_of(chain, step);
    for (std::size_t j = 0; j < p.size(); j += 2) CHECK(off_bend(p[j]) < kSample);
    CHECK(step.even < 1e-9);
    CHECK(chain.within_limits(step.angles));
    if (base == MarchBase::Carriage)
      CHECK((step.X_WB.translation() - Vector3d(step.feed, 0, 0)).norm() < 1e-12);
    if (base == MarchBase::Fixed) CHECK(step.X_WB.isApprox(Eigen::Isometry3d::Identity()));
    if (base == MarchBase::Free && universal)
      CHECK(off_bend(step.X_WB * Vector3d(-rear, 0, 0)) < kSample);
  }
  if (base != MarchBase::Fixed)
    CHECK((points_of(chain, steps.back()).back() - points.back()).norm() < 1e-6);
}

TEST_CASE("path march: a fixed base folds what the path lacks and unfolds it", "[snake]") {
  const bool universal = GENERATE(false, true);
  const SnakeChain chain = chain_of(universal, 0.0);
  std::vector<Vector3d> points = bend(0.1);
  points.resize(25);  // 0.81 m: to the middle of the arc
  const std::vector<PathMarchStep> steps =
      march_along(chain, points, {.fold = 0.25, .march = {.target = MarchTarget::EvenJoints}});
  REQUIRE(steps.size() > 8);
  double s = 0.0;
  for (const PathMarchStep& step : steps) {
    const std::vector<Vector3d> p = points_of(chain, step);
    CHECK(p.front().norm() == 0.0);
    CHECK(off_bend(p.back()) < kSample);
    for (std::size_t j = 0; j < p.size(); j += 2) {
      CHECK(p[j].y() >= -kSample);
      if (p[j].x() > 0.401) CHECK(off_bend(p[j]) < kSample);
    }
    CHECK(step.s > s);
    s = step.s;
  }
  CHECK((points_of(chain, steps.back()).back() - points.back()).norm() < 1e-6);
}

TEST_CASE("path march: without a number as much is folded as the path is too short", "[snake]") {
  const SnakeChain chain = SnakeChain::uniform(4, 0.1);
  const std::vector<PathMarchStep> steps =
      march_along(chain, std::vector<Vector3d>{{0, 0, 0}, {0.3, 0, 0}, {0.7, 0, 0}}, {});
  CHECK((points_of(chain, steps.back()).back() - Vector3d(0.7, 0, 0)).norm() < 1e-6);
  CHECK(steps.front().s > 0.6);
}

TEST_CASE("path march: in a last step the head takes an orientation where it is", "[snake]") {
  const MarchBase base = GENERATE(MarchBase::Fixed, MarchBase::Free);
  const SnakeChain chain = chain_of(base == MarchBase::Free, base == MarchBase::Free ? 0.12 : 0.0);
  std::vector<Vector3d> points = bend(0.3);
  if (base == MarchBase::Fixed) points.resize(25);
  PathMarchOptions options{.base = base};
  const std::size_t count = march_along(chain, points, options).size();
  options.head = head_orientation(0.0, 0.3, 1.2);
  const std::vector<PathMarchStep> steps = march_along(chain, points, options);
  REQUIRE(steps.size() == count + 1);
  std::vector<Eigen::Isometry3d> frames(17);
  snake_frames(chain, steps.back().X_WB, steps.back().angles, frames);
  CHECK(frames.back().linear().col(0).isApprox(
      Vector3d(std::cos(0.3) * std::cos(1.2), std::cos(0.3) * std::sin(1.2), std::sin(0.3)), 1e-8));
  CHECK(frames.back().linear().isApprox(*options.head, 1e-8));
  CHECK((frames.back().translation() - points_of(chain, steps[count - 1]).back()).norm() < 1e-8);
  CHECK(steps.back().X_WB.isApprox(steps[count - 1].X_WB));
  CHECK(chain.within_limits(steps.back().angles));
  options.head = head_orientation(0.0, 0.0, -2.5);
  CHECK_THROWS_WITH(march_along(chain, points, options),
                    Catch::StartsWith("the head cannot take the orientation at the path's end"));
}

TEST_CASE("path march: the article's refitted spline creeps off the leader's path, ours stays",
          "[snake]") {
  const SnakeChain chain({.link_lengths = std::vector<double>(16, 0.07), .rear_length = 0.07});
  std::vector<Vector3d> points;
  for (int i = 0; i <= 110; ++i) {
    const double x = 0.05 * i, w = x < 1.3 ? 0.0 : 1.0 - std::cos(2.0 * pi * (x - 1.3) / 1.4);
    points.emplace_back(x, 0.08 * w, 0.05 * w);
  }
  PathMarchOptions options{.base = MarchBase::Free};
  double kept = 0.0, refitted = 0.0;
  for (const PathMarchStep& step : march_along(chain, points, options))
    kept = std::max(kept, step.even);
  options.update = PathUpdate::Refitted;
  for (const PathMarchStep& step : march_along(chain, points, options))
    refitted = std::max(refitted, step.even);
  CHECK(kept < 1e-9);
  CHECK(refitted > 2e-3);
  CHECK(refitted < 5e-2);
}

TEST_CASE("path march: what is refused names the point or the place", "[snake]") {
  const SnakeChain chain = chain_of(false, 0.0);
  const auto march = [&](const std::vector<Vector3d>& points, MarchBase base) {
    return march_along(chain, points, {.base = base}).size();
  };
  using Catch::StartsWith;
  CHECK_THROWS_WITH(march({{0, 0, 0}}, MarchBase::Free), StartsWith("1 points: must be at least"));
  CHECK_THROWS_WITH(march({{0, 0, 0.1}, {1, 0, 0}}, MarchBase::Fixed),
                    StartsWith("point 1 (0 0 0.1): must be 0 0 0: the path begins at the base"));
  CHECK_THROWS_WITH(march({{0, 0, 0}, {0.5, 0, 0}, {1.0, 0, 0}}, MarchBase::Fixed),
                    StartsWith("point 3 (1 0 0): leaves the reach of the fixed base: 1 m from it, "
                               "must be <= 0.96 m"));
  CHECK_THROWS_WITH(march({{0, 0, 0}, {0.1, 0, 0}, {0.2, 0.01, 0}}, MarchBase::Fixed),
                    StartsWith("is 0.2005 m long, the body 0.96 m: must be longer, or begin"));
  CHECK_THROWS_WITH(march({{0, 0, 0}, {0.5, 0.1, 0}}, MarchBase::Carriage),
                    StartsWith("point 2 (0.5 0.1 0): must be x 0 0 with x > 0"));
  CHECK_THROWS_WITH(march({{0, 0, 0}, {0.5, 0, 0}}, MarchBase::Carriage),
                    StartsWith("with a feed of 0 m: module 5: path too short"));
  CHECK_THROWS_WITH(march({{0, 0, 0}, {0.5, 0, 0}}, MarchBase::Free),
                    StartsWith("with the head at 0.5 m: module 4: path too short"));
  CHECK_THROWS_WITH(march({{0, 0, 0}, {1, 0, 0}, {0.5, 0, 0}}, MarchBase::Free),
                    StartsWith("point 3 (0.5 0 0): turns back: by 3.14 rad"));
  CHECK_THROWS_WITH(march({{0, 0, 0}, {1, 0, 0}, {1, 0, 0}}, MarchBase::Free),
                    StartsWith("point 3 (1 0 0): repeats the point before"));
  CHECK_THROWS_WITH(
      march({{0, 0, 0}, {0.4, 0, 0}, {0.4, 0.1, 0}, {0, 0.1, 0}, {0, 0.9, 0}}, MarchBase::Carriage),
      StartsWith("with a feed of"));
  CHECK_THROWS_AS(march_along(chain, bend(0.1), {.update = PathUpdate::Refitted}), ModelError);
  CHECK_THROWS_AS(march_along(chain, bend(0.1), {.step = 0.0}), ModelError);
}
