#include "controllers/snake/snake_path_controller.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "controllers/snake/snake_modes.hpp"
#include "tendril/model_error.hpp"
#include "tests/controllers/test_report.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::AngleAxisd;
using Eigen::Isometry3d;
using Eigen::Vector3d;
using Texts = std::vector<std::pair<std::string, std::string>>;

namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kLink = 0.06;
constexpr double kTimestep = 0.002;
constexpr double kFeedLimit = 1.0;
constexpr double kBowLength = 0.948;      // [m], a little less than the body's
constexpr double kTrailSpacing = 0.0302;  // [m], the default, and 0.1 mm to be still to go

SnakeContext context(const Settings& settings, std::span<const double> lengths) {
  return {.link_lengths = lengths,
          .joint_limit = kPi / 2.0,
          .radius = 0.025,
          .is_free = false,
          .settings = settings,
          .timestep = kTimestep,
          .feed_limit = kFeedLimit};
}

std::vector<double> carriage_lengths(int joints) {
  std::vector<double> lengths(static_cast<std::size_t>(joints) + 1, kLink);
  lengths[0] = 0.0;
  return lengths;
}

SnakePathController make(Texts texts, int joints = 16) {
  const Settings settings(SnakePathController::settings(), std::move(texts));
  const std::vector<double> lengths = carriage_lengths(joints);
  return SnakePathController(context(settings, lengths));
}

/// A bow to the left that starts with no curvature: heading 0.7 (1 - cos(pi s))/2 over a meter
/// after `lead`, smallest radius 0.91 m. `side` -1: to the right; `plane` turns it about x.
Vector3d bow(double s, double lead, double side, double plane) {
  constexpr int kSteps = 400;
  Vector3d p(std::min(s, lead), 0.0, 0.0);
  const double h = std::max(0.0, s - lead) / kSteps;
  for (int i = 0; i < kSteps; ++i) {
    const double heading = 0.35 * (1.0 - std::cos(kPi * (i + 0.5) * h));
    p += h * Vector3d(std::cos(heading), side * std::sin(heading), 0.0);
  }
  return AngleAxisd(plane, Vector3d::UnitX()) * p;
}

std::string bow_waypoints(double side = 1.0, double plane = 0.0, int points = 25) {
  std::string text;
  char number[80];
  for (int i = 0; i < points; ++i) {
    const Vector3d p = bow(1.0 + kBowLength * i / (points - 1), 1.0, side, plane);
    std::snprintf(number, sizeof number, "%.9f %.9f %.9f ", p.x(), p.y(), p.z());
    text += number;
  }
  return text;
}

/// A snake without physics: joints and carriage are where they are commanded to be.
class PerfectSnake {
 public:
  explicit PerfectSnake(SnakePathController controller, int joints = 16)
      : measurement(joints),
        command(joints),
        links(static_cast<std::size_t>(joints), kLink),
        controller_(std::move(controller)),
        memory_(static_cast<std::size_t>(controller_.memory_size())),
        next_(memory_.size()) {
    controller_.reset(memory_);
    measurement.timestep = kTimestep;
    measurement.has_target = true;
    X_WB.translation() = Vector3d(0.3, -0.2, 0.5);  // the base is anywhere
    X_WB.linear() = AngleAxisd(0.4, Vector3d::UnitZ()).toRotationMatrix();
    place();
  }

  void step() {
    std::copy(memory_.begin(), memory_.end(), next_.begin());
    command = SnakeCommand(static_cast<int>(measurement.q.size()));
    report.clear();
    controller_.update(measurement, memory_, next_, command, report);
    memory_ = next_;
    fastest_joint =
        std::max(fastest_joint, (command.q - measurement.q).cwiseAbs().maxCoeff() / kTimestep);
    fastest_feed = std::max(fastest_feed, (command.feed - measurement.feed) / kTimestep);
    slowest_feed = std::min(slowest_feed, (command.feed - measurement.feed) / kTimestep);
    measurement.q = command.q;
    measurement.feed = command.feed;
    measurement.time += kTimestep;
    place();
  }
  template <class Each>
  void run(double duration, const Each& each) {
    const int steps = static_cast<int>(std::lround(duration / kTimestep));
    for (int i = 0; i < steps && report.status != ControllerStatus::Finished; ++i) {
      step();
      each();
    }
  }
  void run(double duration) {
    run(duration, [] {});
  }

  /// Returns the joints in the base's frame; an oracle with Eigen's rotations.
  [[nodiscard]] std::vector<Vector3d> joints(Isometry3d* head = nullptr) const {
    Isometry3d X = Isometry3d::Identity();
    X.translation().x() = measurement.feed;
    std::vector<Vector3d> points{X.translation()};
    for (Eigen::Index j = 0; j < measurement.q.size(); ++j) {
      X.rotate(AngleAxisd(measurement.q[j], j % 2 == 0 ? Vector3d(0, 0, 1) : Vector3d(0, -1, 0)));
      X.translate(Vector3d(links[static_cast<std::size_t>(j)], 0.0, 0.0));
      points.push_back(X.translation());
    }
    if (head != nullptr) *head = X;
    return points;
  }
  [[nodiscard]] Vector3d head() const { return joints().back(); }
  void aim(const Vector3d& p_BG) { measurement.p_WG = X_WB * p_BG; }
  [[nodiscard]] std::span<const double> memory() const { return memory_; }
  [[nodiscard]] const SnakePathController& controller() const { return controller_; }

  Isometry3d X_WB = Isometry3d::Identity();
  SnakeMeasurement measurement;
  SnakeCommand command;
  std::vector<double> links;  ///< [m]
  TestReport report{SnakePathController::kQuantities};
  double fastest_joint = 0.0, fastest_feed = 0.0, slowest_feed = 0.0;

 private:
  void place() {
    measurement.X_WT = X_WB;
    measurement.X_WT.translation() += measurement.feed * X_WB.linear().col(0);
    Isometry3d X_BE;
    static_cast<void>(joints(&X_BE));
    measurement.X_WE = X_WB * X_BE;
  }

  SnakePathController controller_;
  std::vector<double> memory_, next_;
};

double distance_to(const std::vector<Vector3d>& polyline, const Vector3d& p) {
  double nearest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < polyline.size(); ++i) {
    const Vector3d a = polyline[i - 1], ab = polyline[i] - a;
    const double t = std::clamp((p - a).dot(ab) / ab.squaredNorm(), 0.0, 1.0);
    nearest = std::min(nearest, (p - a - t * ab).norm());
  }
  return nearest;
}

std::vector<Vector3d> dense_bow(double side, double plane) {
  std::vector<Vector3d> points{Vector3d::Zero(), {0.999, 0.0, 0.0}};
  for (int i = 0; i <= 480; ++i)
    points.push_back(bow(1.0 + kBowLength * i / 480, 1.0, side, plane));
  return points;
}

}  // namespace

TEST_CASE("snake path: what is refused names the setting, the point or the module",
          "[controllers]") {
  struct Case {
    std::string name;
    Texts settings;
    std::string text;
  };
  const auto c = GENERATE(values<Case>({
      {"nothing to follow", {}, "waypoints: missing"},
      {"numbers left over", {{"waypoints", "1 0 0 1"}}, "waypoints: 4 numbers: must be x y z"},
      {"one point",
       {{"waypoints", "1 0 0"}},
       "waypoints: 3 numbers: must be x y z of at least two"},
      {"NaN", {{"waypoints", "1 0 0 nan 0 0"}}, "waypoints = nan: must be"},
      {"off the axis", {{"waypoints", "1 0.1 0 2 0 0"}}, "waypoints: point 1 (1 0.1 0): must be"},
      {"behind the base", {{"waypoints", "-1 0 0 2 0 0"}}, "waypoints: point 1 (-1 0 0): must be"},
      {"repeated",
       {{"waypoints", "1 0 0 1.1 0 0 1.1 0 0 1.2 0 0"}},
       "waypoints: point 3 repeats point 2: 0 m apart, must be >= 0.001 m"},
      {"behind the head",
       {{"waypoints", "1 0 0 1.1 0 0 0.9 0 0.05"}},
       "waypoints: point 3 lies behind the head: the path would turn by 2.9 rad"},
      {"shorter than the body",
       {{"waypoints", "0.4 0 0 0.8 0 0"}},
       "waypoints: module 7: too short: 0.8 m, must be >= 0.96 m"},
      {"tighter than the chain can bend",
       {{"waypoints", "0.5 0 0 0.7 0 0 0.7 0.08 0 0.4 0.08 0"}, {"corner_radius", "0.03"}},
       "waypoints: at a feed of 0 m: module 7: joint limit: joint 13 would need"},
      {"corners that do not fit",
       {{"waypoints", "1 0 0 1.1 0 0 1.1 0.3 0"}, {"corner_radius", "0.2"}},
       "waypoints: "},
      {"speed", {{"speed", "0"}, {"target", "t"}}, "speed = 0: must be in (0, 10]"},
      {"look-ahead",
       {{"look_ahead", "0"}, {"target", "t"}},
       "look_ahead = 0: must be in [0.01, 10]"},
      {"joints", {{"joints", "odd"}, {"target", "t"}}, "joints = odd: must be one of all, even"},
      {"back to a target", {{"back", "true"}, {"target", "t"}}, "back: must not be given"},
      {"gravity", {{"gravity_factor", "-1"}, {"target", "t"}}, "gravity_factor = -1: must be"},
  }));
  DYNAMIC_SECTION(c.name) {
    CHECK_THROWS_WITH(make(c.settings), Catch::StartsWith(c.text));
    CHECK_THROWS_AS(make(c.settings), ModelError);
  }
}

TEST_CASE(
    "snake path: a joint limit that the path exceeds is reported with module, joint and curvature",
    "[controllers]") {
  const Settings settings(SnakePathController::settings(),
                          {{"waypoints", "1 0 0 1.3 0 0 1.3 0.6 0"}, {"corner_radius", "0.2"}});
  const std::vector<double> lengths = carriage_lengths(16);
  SnakeContext weak = context(settings, lengths);
  weak.joint_limit = 0.62;  // an arc of 0.2 m takes 2 asin(0.06/0.2) = 0.61 rad, its entry more
  const auto make_weak = [&] { return SnakePathController(weak); };
  CHECK_THROWS_WITH(make_weak(),
                    Catch::Contains("waypoints: at a feed of") &&
                        Catch::Contains("module 8: joint limit: joint 15 would need") &&
                        Catch::Contains("limit 0.62 rad (curvature"));
}

TEST_CASE("snake modes: settings of the other mode and free snakes are refused", "[controllers]") {
  const std::vector<double> lengths = carriage_lengths(16);
  const auto make_mode = [&](Texts texts, bool is_free) {
    const Settings settings(snake_settings(), std::move(texts));
    SnakeContext any = context(settings, lengths);
    any.is_free = is_free;
    return make_snake_controller(any);
  };
  CHECK_NOTHROW(make_mode({{"gait", "helix"}}, true));
  CHECK_NOTHROW(make_mode({{"mode", "path"}, {"target", "t"}, {"speed", "0.1"}}, false));
  CHECK_THROWS_WITH(make_mode({{"mode", "path"}, {"target", "t"}}, true),
                    "mode = path: needs base.kind = \"carriage\" or \"fixed\"");
  CHECK_THROWS_WITH(make_mode({{"mode", "path"}, {"target", "t"}, {"fold", "0.1"}}, false),
                    "fold: needs base.kind = \"fixed\"");
  CHECK_THROWS_WITH(make_mode({{"mode", "path"}, {"target", "t"}, {"gait", "helix"}}, false),
                    "gait: needs mode = gait");
  CHECK_THROWS_WITH(make_mode({{"look_ahead", "1"}}, false), "look_ahead: needs mode = path");
  CHECK_THROWS_WITH(make_mode({{"mode", "swim"}}, false), "mode = swim: must be one of gait, path");
}

namespace {

/// 0.4 m straight, a quarter of a circle of 0.4 m up, and straight on: 1.15 m.
std::vector<Vector3d> knee() {
  constexpr double kRadius = 0.4, kStraight = 0.4, kAfter = 0.12;
  std::vector<Vector3d> points{{kStraight, 0.0, 0.0}};
  for (int i = 1; i <= 30; ++i) {
    const double angle = kPi / 2.0 * i / 30;
    points.emplace_back(kStraight + kRadius * std::sin(angle), 0.0,
                        kRadius * (1.0 - std::cos(angle)));
  }
  for (int i = 1; i <= 6; ++i) points.push_back(points[30] + Vector3d(0.0, 0.0, kAfter * i / 6));
  return points;
}

std::string text_of(const std::vector<Vector3d>& points) {
  std::string text;
  char number[80];
  for (const Vector3d& p : points) {
    std::snprintf(number, sizeof number, "%.9f %.9f %.9f ", p.x(), p.y(), p.z());
    text += number;
  }
  return text;
}

/// 20 links of 60 mm with hinges, or 10 of 120 mm with universal joints, on a fixed base.
SnakePathController make_fixed(bool universal, Texts texts) {
  std::vector<double> lengths = carriage_lengths(20);
  for (std::size_t j = 1; universal && j <= 20; ++j) lengths[j] = j % 2 == 0 ? 2.0 * kLink : 0.0;
  const Settings settings(SnakePathController::settings(), std::move(texts));
  SnakeContext fixed = context(settings, lengths);
  fixed.feed_limit = 0.0;
  return SnakePathController(fixed);
}

}  // namespace

TEST_CASE("snake path: on a fixed base the head follows the path as the body unfolds",
          "[controllers]") {
  const bool universal = GENERATE(false, true);
  constexpr double kNear = 2e-3, kFold = 0.25;  // [m]
  const std::vector<Vector3d> waypoints = knee();
  std::vector<Vector3d> path{Vector3d::Zero()};
  path.insert(path.end(), waypoints.begin(), waypoints.end());
  PerfectSnake snake(
      make_fixed(universal, {{"waypoints", text_of(waypoints)}, {"fold", std::to_string(kFold)}}),
      20);
  if (universal) {
    for (std::size_t j = 0; j < 20; ++j) snake.links[j] = j % 2 == 0 ? 0.0 : 2.0 * kLink;
  }
  double last_head = 0.0, worst_head = 0.0, worst_body = 0.0, worst_step = 0.0, start = 0.0;
  snake.run(20.0, [&] {
    if (snake.measurement.time < 1.1) return;  // it moves onto the path first
    const std::vector<Vector3d> joints = snake.joints();
    worst_head = std::max(worst_head, distance_to(path, joints.back()));
    for (const Vector3d& p : joints)
      if (p.x() > 0.5) worst_body = std::max(worst_body, distance_to(path, p));
    CHECK(snake.command.feed == 0.0);
    const double head = joints.back().z();  // grows along the path
    if (start == 0.0) start = joints.back().z();
    worst_step = std::max(worst_step, last_head - head);
    last_head = head;
  });
  CHECK(snake.report.status == ControllerStatus::Finished);
  CHECK(snake.report.progress == Approx(1.0).margin(2e-3));
  CHECK(worst_head < kNear);
  CHECK(worst_body < 0.5 * (universal ? 4.0 : 1.0) * kLink * kLink / 0.4 + kNear);  // a^2/2r
  CHECK(worst_step < 1e-6);
  CHECK((snake.head() - waypoints.back()).norm() < kNear);
  CHECK(waypoints.back().z() - start > 0.15);
  CHECK(snake.fastest_joint < 3.0 + 1e-9);
}

TEST_CASE("snake path: at the end of the path the head turns to its orientation and stays there",
          "[controllers]") {
  const bool universal = GENERATE(false, true);
  PerfectSnake snake(make_fixed(universal, {{"waypoints", text_of(knee())},
                                            {"fold", "0.25"},
                                            {"head_orientation", "0 1 0.3"}}),
                     20);
  if (universal) {
    for (std::size_t j = 0; j < 20; ++j) snake.links[j] = j % 2 == 0 ? 0.0 : 2.0 * kLink;
  }
  snake.run(20.0);
  CHECK(snake.report.status == ControllerStatus::Finished);
  Isometry3d X_BE;
  static_cast<void>(snake.joints(&X_BE));
  const Vector3d x = X_BE.linear().col(0);
  CHECK(x.isApprox(
      Vector3d(std::cos(1.0) * std::cos(0.3), std::cos(1.0) * std::sin(0.3), std::sin(1.0)), 1e-6));
  CHECK(std::abs(X_BE.linear().col(1).z()) < 1e-6);  // no roll
  CHECK((X_BE.translation() - knee().back()).norm() < 2e-3);
  CHECK(snake.report["head_angle_error"] < 1e-6);
  CHECK(snake.fastest_joint < 3.0 + 1e-9);
}

TEST_CASE("snake path: what is refused on a fixed base", "[controllers]") {
  struct Case {
    std::string name;
    Texts settings;
    std::string text;
  };
  const auto c = GENERATE(values<Case>({
      {"not at the base",
       {{"waypoints", "0.3 0.1 0 0.6 0.1 0"}},
       "waypoints: point 1 (0.3 0.1 0): must be (x 0 0) with x >= 0: the path begins at the fixed"},
      {"out of reach",
       {{"waypoints", "0.5 0 0 1.3 0 0"}},
       "waypoints: point (1.3 0 0): leaves the reach of the fixed base: 1.3 m from it, the body is "
       "1.2 m long"},
      {"two angles",
       {{"waypoints", "0.5 0 0 1 0 0"}, {"head_orientation", "0 1"}},
       "head_orientation: 2 numbers: must be roll, pitch and yaw"},
      {"turned head and a target",
       {{"target", "t"}, {"fold", "0.1"}, {"head_orientation", "0 1 0"}},
       "head_orientation: must not be given together with target"},
      {"target alone", {{"target", "t"}}, "fold: missing: a fixed base needs it"},
      {"too much to fold",
       {{"waypoints", "0.2 0 0 0.5 0 0"}},
       "fold: 0.724 m: does not fit on the path's straight beginning of 0.2 m, must be <= 0.344 m"},
      {"too tight a fold",
       {{"waypoints", "0.16 0 0 1 0 0"}},
       "waypoints: at a feed of 0 m from the fold: module 2: joint limit: joint 3 would need"},
      {"too little folded",
       {{"waypoints", "0.5 0 0 1 0 0"}, {"fold", "0.1"}},
       "waypoints: at a feed of 0 m from the fold: module 10: path too short"},
      {"fold along the path",
       {{"waypoints", "0 0 0 0 0.5 0"}, {"target", "t"}},
       "fold_angle: must not be along the straight beginning"},
  }));
  DYNAMIC_SECTION(c.name) {
    CHECK_THROWS_WITH(make_fixed(false, c.settings), Catch::StartsWith(c.text));
  }
  const Settings gait(snake_settings(), {});
  const std::vector<double> lengths = carriage_lengths(16);
  SnakeContext fixed = context(gait, lengths);
  fixed.feed_limit = 0.0;
  CHECK_THROWS_WITH(make_snake_controller(fixed),
                    "mode = gait: needs base.kind = \"free\": a fixed base does not move");
}

TEST_CASE("snake path: an update allocates nothing, is pure and gives the same bits",
          "[controllers]") {
  SnakePathController controller = make({{"waypoints", bow_waypoints()}, {"target", "t"}});
  std::vector<double> memory(static_cast<std::size_t>(controller.memory_size()));
  controller.reset(memory);
  SnakeMeasurement measurement(16);
  measurement.timestep = kTimestep;
  measurement.has_target = true;
  measurement.p_WG << 3.0, 1.0, 0.2;
  SnakeCommand a(16), b(16);
  TestReport report{SnakePathController::kQuantities};
  for (int i = 0; i < 1000; ++i) {
    std::vector<double> first = memory, second = memory;
    {
      const AllocationCounter counter;
      controller.update(measurement, memory, first, a, report);
      controller.update(measurement, memory, second, b, report);
      REQUIRE(counter.count() == 0);
    }
    REQUIRE(first == second);
    REQUIRE(a.q == b.q);
    REQUIRE(a.feed == b.feed);
    memory = first;
    measurement.q = a.q;
    measurement.feed = a.feed;
    measurement.X_WT.translation().x() = a.feed;
    measurement.time += kTimestep;
  }
}

TEST_CASE("snake path: all joints stay near the waypoints' curve, and the head comes to its end",
          "[controllers]") {
  const double plane = GENERATE(0.0, 0.8, kPi / 2.0);
  CAPTURE(plane);
  const std::vector<Vector3d> curve = dense_bow(1.0, plane);
  PerfectSnake snake(make({{"waypoints", bow_waypoints(1.0, plane)},
                           {"speed", "0.1"},
                           {"rate_limit", "0.5"},
                           {"start_delay", "0.2"}}));
  // On a steady arc a^2/4r = 1.0 mm; 3/8 a^2/r = 1.5 mm in the last module, whose head is exact.
  constexpr double kOffCurve = 1.6e-3;
  double worst = 0.0, reported = 0.0;
  int step = 0;
  snake.run(14.0, [&] {
    reported = std::max(reported, snake.report["path_error"]);
    if (++step % 25 != 0) return;
    for (const Vector3d& p : snake.joints()) worst = std::max(worst, distance_to(curve, p));
  });
  CHECK(snake.report.status == ControllerStatus::Finished);
  CHECK((snake.head() - curve.back()).norm() < 2e-4);
  CHECK(worst < kOffCurve);
  CHECK(reported == Approx(worst).margin(2e-4));
  CHECK(snake.report.progress == Approx(1.0).margin(1e-3));
  CHECK(snake.fastest_feed < 0.1 * 1.001);
  CHECK(snake.slowest_feed > -1e-9);
  CHECK(snake.fastest_joint < 0.5 * 1.001);
  CHECK(snake.command.gravity_factor == 1.0);
  CHECK((snake.report.target - snake.X_WB * curve.back()).norm() < 2e-4);
}

TEST_CASE("snake path: joints that may only turn slowly slow the feed down", "[controllers]") {
  const auto time = [](const char* rate) {
    PerfectSnake snake(make({{"waypoints", bow_waypoints()},
                             {"speed", "0.2"},
                             {"rate_limit", rate},
                             {"start_delay", "0"}}));
    snake.run(60.0);
    CHECK(snake.report.status == ControllerStatus::Finished);
    CHECK(snake.fastest_joint < std::stod(rate) * 1.001);
    return snake.measurement.time;
  };
  CHECK(time("0.03") > 1.5 * time("3"));
}

TEST_CASE("snake path: a mirrored path gives mirrored yaw joints and the same pitch joints",
          "[controllers]") {
  PerfectSnake left(make({{"waypoints", bow_waypoints(1.0)}})),
      right(make({{"waypoints", bow_waypoints(-1.0)}}));
  left.run(10.0);
  right.run(10.0);
  CHECK(left.measurement.feed == right.measurement.feed);
  CHECK(left.measurement.q.cwiseAbs().maxCoeff() > 0.05);
  CHECK((left.measurement.q + right.measurement.q).cwiseAbs().maxCoeff() < 1e-12);
}

TEST_CASE("snake path: with joints = even every second joint lies on the curve", "[controllers]") {
  const std::vector<Vector3d> curve = dense_bow(1.0, 0.0);
  PerfectSnake snake(
      make({{"waypoints", bow_waypoints()}, {"joints", "even"}, {"start_delay", "0"}}));
  snake.run(15.0);
  const std::vector<Vector3d> points = snake.joints();
  double even = 0.0, odd = 0.0;
  for (std::size_t j = 0; j < points.size(); ++j)
    (j % 2 == 0 ? even : odd) = std::max(j % 2 == 0 ? even : odd, distance_to(curve, points[j]));
  CHECK(even < 5e-5);  // the waypoints are 40 mm apart
  CHECK(odd > 1e-3);   // a^2/2r = 2.0 mm
}

TEST_CASE("snake path: the body comes to lie on the path before it is fed", "[controllers]") {
  PerfectSnake snake(make({{"waypoints", bow_waypoints()}, {"start_delay", "1"}}));
  for (int j = 0; j < 16; ++j) snake.measurement.q[j] = 0.1 * std::cos(j);
  snake.step();
  CHECK(snake.fastest_joint < 1e-3);
  snake.run(0.99);
  CHECK(snake.measurement.feed == 0.0);
  CHECK(snake.measurement.q.cwiseAbs().maxCoeff() < 1e-3);
}

TEST_CASE(
    "snake path: the trail of a target continues the path, the body passes where the head did",
    "[controllers]") {
  PerfectSnake snake(make({{"target", "t"}, {"speed", "0.1"}, {"start_delay", "0"}}));
  std::vector<Vector3d> coin_flip{Vector3d::Zero(), snake.head()};
  // The target weaves ahead of the head, slowly enough to stay within the look-ahead.
  const auto target = [](double t) {
    return Vector3d(0.98 + 0.1 * t, 0.03 * (1.0 - std::cos(t)), 0.02 * (1.0 - std::cos(0.7 * t)));
  };
  double worst = 0.0;
  int step = 0;
  snake.aim(target(0.0));
  snake.run(8.0, [&] {
    snake.aim(target(std::min(snake.measurement.time, 7.0)));
    if (++step % 10 != 0) return;
    coin_flip.push_back(snake.head());
    for (const Vector3d& p : snake.joints()) worst = std::max(worst, distance_to(coin_flip, p));
  });
  CHECK(snake.report.status != ControllerStatus::TargetBehind);
  CHECK(snake.measurement.feed > 0.5);
  // The sharpest turn of a trail is 5.3 1/m: 3/8 a^2 kappa = 7.2 mm.
  CHECK(worst < 0.0075);
  snake.run(5.0);
  CHECK(snake.report.status == ControllerStatus::Finished);
  CHECK((snake.head() - target(7.0)).norm() < kTrailSpacing);
}

TEST_CASE(
    "snake path: targets that the path cannot continue to have a status, and a better one helps",
    "[controllers]") {
  PerfectSnake snake(make({{"target", "t"}, {"speed", "0.1"}, {"start_delay", "0"}}));
  snake.aim({1.2, 0.0, 0.0});
  snake.run(1.0);
  CHECK(snake.report.status == ControllerStatus::Working);
  SECTION("behind the head") {
    snake.aim({0.5, 0.05, 0.0});
    snake.run(6.0);
    CHECK(snake.report.status == ControllerStatus::TargetBehind);
  }
  SECTION("next to the head: too tight") {
    snake.aim({1.21, 0.12, 0.0});  // within the circle of the sharpest turn
    snake.run(6.0);
    CHECK(snake.report.status == ControllerStatus::PathTooTight);
  }
  SECTION("not a number") {
    snake.aim({std::numeric_limits<double>::quiet_NaN(), 0.0, 0.0});
    snake.run(6.0);
    CHECK(snake.report.status == ControllerStatus::InvalidTarget);
  }
  const double feed = snake.measurement.feed;
  CHECK(feed > 0.1);  // it went to the end of the path that it had
  CHECK(snake.measurement.q.allFinite());
  snake.run(0.5);
  CHECK(snake.measurement.feed == Approx(feed).margin(1e-4));
  snake.aim({1.5, 0.0, 0.0});
  snake.run(10.0);
  CHECK(snake.report.status == ControllerStatus::Finished);
  CHECK((snake.head() - Vector3d(1.5, 0.0, 0.0)).norm() < kTrailSpacing);
}

TEST_CASE("snake path: a path to targets anywhere ahead can be followed to the carriage's end",
          "[controllers]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  Random random(seed);
  PerfectSnake snake(make({{"target", "t"}, {"speed", "0.3"}, {"start_delay", "0"}}));
  double worst = 0.0;
  for (int i = 0; i < 40 && snake.report.status != ControllerStatus::Finished; ++i) {
    // Within 75 degrees of where the head points, far enough to be rotated to.
    const std::vector<Vector3d> joints = snake.joints();
    const Vector3d along = (joints[16] - joints[15]).normalized();
    const Vector3d axis = along.cross(random.unit_vector()).normalized();
    snake.aim(joints[16] + 0.6 * (AngleAxisd(random.uniform(0.0, 1.3), axis) * along));
    for (int k = 0; k < 100; ++k) {
      snake.step();
      worst = std::max(worst, snake.report["path_error"]);
    }
  }
  CHECK(snake.measurement.feed == Approx(16 * kLink + 0.03).margin(1e-3));  // the straight piece
  CHECK(worst < 0.02);
}

TEST_CASE("snake path: on the way back the body takes the poses of the way there",
          "[controllers]") {
  PerfectSnake snake(make({{"waypoints", bow_waypoints()}, {"back", "true"}, {"speed", "0.1"}}));
  std::vector<std::pair<double, Eigen::VectorXd>> there;
  double furthest = 0.0, last_progress = 0.0, worst = 0.0;
  int compared = 0;
  snake.run(40.0, [&] {
    CHECK(snake.report.progress >= last_progress - 1e-12);
    last_progress = snake.report.progress;
    const double feed = snake.measurement.feed;
    if (feed > furthest) {
      furthest = feed;
      if (there.empty() || feed > there.back().first + 0.05)
        there.emplace_back(feed, snake.measurement.q);
    } else if (!there.empty() && feed < furthest - 1e-3 && feed < there.back().first + 1e-4) {
      // At 0.1 m/s a step is 0.2 mm of feed, and a joint turns by 2 mrad a millimeter at most.
      worst = std::max(worst, (snake.measurement.q - there.back().second).cwiseAbs().maxCoeff());
      there.pop_back();
      ++compared;
    }
  });
  CHECK(compared > 15);
  CHECK(worst < 1e-3);
  CHECK(furthest == Approx(snake.controller().feed_end()).margin(2e-4));
  CHECK(snake.report.status == ControllerStatus::Finished);
  CHECK(snake.report.progress == Approx(1.0).margin(1e-3));
  CHECK(snake.measurement.feed < 2e-4);
  CHECK(snake.fastest_feed < 0.1 * 1.001);
  CHECK(snake.slowest_feed > -0.1 * 1.001);
}

TEST_CASE("snake path: behind the waypoints the trail of the target continues", "[controllers]") {
  PerfectSnake snake(make({{"waypoints",
                            "0.5 0 0 0.6 0 0 0.7 0.005 0 0.8 0.02 0 0.9 0.045 0 "
                            "1.0 0.08 0 1.1 0.125 0 1.2 0.18 0"},
                           {"target", "t"},
                           {"speed", "0.2"},
                           {"start_delay", "0.5"}}));
  const Vector3d end(1.38, 0.3, 0.05);
  snake.aim(end);
  double nearest = 1.0;  // of the head to the last waypoint
  snake.run(20.0,
            [&] { nearest = std::min(nearest, (snake.head() - Vector3d(1.2, 0.18, 0.0)).norm()); });
  CHECK(snake.report.status == ControllerStatus::Finished);
  CHECK(nearest < 1e-3);
  CHECK((snake.head() - end).norm() < kTrailSpacing);
}

TEST_CASE("snake path: it may begin anywhere on the carriage's way", "[controllers]") {
  PerfectSnake snake(make({{"waypoints", bow_waypoints()}, {"start_delay", "1"}}));
  snake.measurement.feed = 0.5;
  snake.run(0.99);
  CHECK(snake.measurement.feed == Approx(0.5).margin(1e-12));
  const std::vector<Vector3d> curve = dense_bow(1.0, 0.0);
  for (const Vector3d& p : snake.joints()) CHECK(distance_to(curve, p) < 1.6e-3);
  CHECK(snake.fastest_joint < 1.0);
  snake.run(30.0);
  CHECK(snake.report.status == ControllerStatus::Finished);
}

TEST_CASE("snake path: longer time steps than the period lay the chain in every step",
          "[controllers]") {
  const Settings settings(SnakePathController::settings(),
                          {{"waypoints", bow_waypoints()}, {"period", "0"}});
  const std::vector<double> lengths = carriage_lengths(16);
  SnakePathController controller(context(settings, lengths));
  std::vector<double> memory(static_cast<std::size_t>(controller.memory_size()));
  controller.reset(memory);
  SnakeMeasurement measurement(16);
  measurement.timestep = kTimestep;
  SnakeCommand command(16);
  TestReport report{SnakePathController::kQuantities};
  double feed = 0.0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> next = memory;
    controller.update(measurement, memory, next, command, report);
    memory = next;
    if (i > 1500) CHECK(command.feed - feed == Approx(0.05 * kTimestep));
    measurement.feed = feed = command.feed;
    measurement.q = command.q;
    measurement.X_WT.translation().x() = feed;
    measurement.time += kTimestep;
  }
  CHECK(report["path_error"] < 1.6e-3);
}

TEST_CASE("snake path: the feed stops for good when a joint is far off the path", "[controllers]") {
  PerfectSnake snake(make({{"waypoints", bow_waypoints()}, {"jam_path_error", "0.02"}}));
  snake.run(6.0);
  REQUIRE(snake.report.status == ControllerStatus::Working);
  const double feed = snake.measurement.feed;
  snake.measurement.q[0] += 0.1;  // the head is 0.1 rad * 0.9 m off
  for (int i = 0; i < 5; ++i) snake.step();
  snake.run(2.0);
  CHECK(snake.report.status == ControllerStatus::Jammed);
  CHECK(snake.measurement.feed == Approx(feed).margin(2e-3));
  CHECK(snake.report["speed"] == Approx(0.0).margin(1e-9));
}

TEST_CASE("snake path: its distance from the path is reported in terms of what is allowed",
          "[controllers]") {
  PerfectSnake snake(make({{"waypoints", bow_waypoints()}, {"path_tolerance", "0.005"}}));
  snake.run(0.9);
  CHECK(std::isnan(snake.report.path_excess));  // it still moves onto the path
  snake.run(5.1, [&] {
    if (snake.measurement.time > 1.1)
      REQUIRE(snake.report.path_excess == Approx(snake.report["path_error"] / 0.005));
  });
  CHECK(snake.report.path_excess < 1.0);
  snake.measurement.q[0] += 0.02;  // the head is 0.02 rad * 0.9 m off
  for (int i = 0; i < 20 && !(snake.report.path_excess > 1.0); ++i) snake.step();
  CHECK(snake.report.path_excess > 3.0);
  CHECK(snake.report.status == ControllerStatus::Working);
}

TEST_CASE("snake path: one module, and an even chain of 40", "[controllers]") {
  const int joints = GENERATE(2, 40);
  CAPTURE(joints);
  const std::string waypoints = joints == 2
                                    ? "0.2 0 0 0.3 0 0 0.4 0.01 0 0.5 0.04 0"
                                    : "1.0 0 0 2.3 0 0 2.5 0.005 0 2.7 0.04 0.01 2.9 0.1 0.03";
  PerfectSnake snake(
      make({{"waypoints", waypoints}, {"speed", "0.2"}, {"start_delay", "0"}}, joints), joints);
  snake.run(10.0);
  CHECK(snake.report.status == ControllerStatus::Finished);
  CHECK(snake.measurement.feed == Approx(snake.controller().feed_end()).margin(2e-4));
}

TEST_CASE("snake path: what is drawn runs from the carriage to the end of the path",
          "[controllers]") {
  PerfectSnake snake(make({{"waypoints", bow_waypoints()}}));
  std::vector<Vector3d> points(32);
  CHECK(snake.controller().path(snake.measurement, snake.memory(), points) == 0);
  snake.run(30.0);
  REQUIRE(snake.controller().path(snake.measurement, snake.memory(), points) == 32);
  CHECK((points.front() - snake.measurement.X_WT.translation()).norm() < 1e-9);
  CHECK((points.back() - snake.X_WB * bow(1.0 + kBowLength, 1.0, 1.0, 0.0)).norm() < 1e-4);
}
