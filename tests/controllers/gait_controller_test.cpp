#include "controllers/snake/gait_controller.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "tendril/model_error.hpp"
#include "tests/controllers/test_report.hpp"
#include "tests/controllers/test_scene.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace tendril;
using namespace tendril::test;
using Texts = std::vector<std::pair<std::string, std::string>>;

namespace {

constexpr double kPi = std::numbers::pi;
constexpr int kJoints = 16;
constexpr double kTimestep = 0.005;

GaitController make(Texts texts, SceneQuery& scene = empty_scene()) {
  const Settings settings(GaitController::settings(), std::move(texts));
  const std::vector<double> lengths(kJoints + 1, 0.06);
  return GaitController({.link_lengths = lengths,
                         .joint_limit = kPi / 2.0,
                         .radius = 0.025,
                         .is_free = true,
                         .settings = settings,
                         .timestep = kTimestep,
                         .scene = scene});
}

/// A snake without physics: the joints are where they are commanded to be, and the body is a point
/// with a heading that moves as the gait's steering asks.
class PointSnake {
 public:
  explicit PointSnake(GaitController controller)
      : controller_(std::move(controller)),
        memory_(static_cast<std::size_t>(controller_.memory_size())),
        next_(memory_.size()) {
    controller_.reset(memory_);
  }

  void step() {
    measurement.timestep = kTimestep;
    measurement.X_WT.translation() = place - 0.4 * along();
    measurement.X_WE.translation() = place + 0.4 * along();
    measurement.center_of_mass = place;
    std::copy(memory_.begin(), memory_.end(), next_.begin());
    command = SnakeCommand(kJoints);
    report.clear();
    controller_.update(measurement, memory_, next_, command, report);
    memory_ = next_;
    largest_step = std::max(largest_step, (command.q - measurement.q).cwiseAbs().maxCoeff());
    measurement.q = command.q;
    measurement.time += kTimestep;
  }
  void run(double duration) {
    for (double t = 0.0; t < duration; t += kTimestep) step();
  }
  [[nodiscard]] Eigen::Vector3d along() const {
    return {std::cos(heading), std::sin(heading), 0.0};
  }
  /// Returns how much the first yaw joint moved in the last run [rad], by sampling.
  [[nodiscard]] double swing(double duration) {
    double low = 10.0, high = -10.0;
    for (double t = 0.0; t < duration; t += kTimestep) {
      step();
      low = std::min(low, command.q[0]);
      high = std::max(high, command.q[0]);
    }
    return high - low;
  }

  SnakeMeasurement measurement{kJoints};
  SnakeCommand command{kJoints};
  TestReport report{GaitController::kQuantities};
  Eigen::Vector3d place = Eigen::Vector3d::Zero();
  double heading = 0.0;
  double largest_step = 0.0;

 private:
  GaitController controller_;
  std::vector<double> memory_, next_;
};

}  // namespace

TEST_CASE("gait controller: what is refused names the setting", "[controllers]") {
  struct Case {
    std::string name;
    Texts settings;
    std::string start;
  };
  const auto c = GENERATE(values<Case>({
      {"gait", {{"gait", "hop"}}, "gait = hop: must be one of sidewinding"},
      {"frequency", {{"frequency", "fast"}}, "frequency = fast: must be"},
      {"frequency too high", {{"frequency", "11"}}, "frequency = 11: must be in"},
      {"amplitude", {{"yaw_amplitude", "1.6"}}, "yaw_amplitude = 1.6: must be in"},
      {"waves", {{"waves", "9"}}, "waves = 9: must be in [-8, 8]"},
      {"goals", {{"goals", "1 2 3"}}, "goals: 3 numbers: must be x and y"},
      {"NaN goal", {{"goals", "1 nan"}}, "goals = nan: must be"},
      {"both targets", {{"goals", "1 2"}, {"target", "t"}}, "target: must not be given"},
      {"schedule without number", {{"schedule", "0 helix"}}, "schedule = 0 ..."},
      {"schedule of another gait", {{"schedule", "0 hop 1"}}, "schedule = ... hop"},
      {"schedule that begins late", {{"schedule", "1 helix 1"}}, "schedule = ... 1"},
      {"schedule too dense", {{"schedule", "0 helix 1 1 rolling 1"}}, "schedule = ... 1"},
      {"schedule and gait", {{"schedule", "0 helix 1"}, {"gait", "helix"}}, "gait: must not be"},
      {"pole for another gait", {{"pole_radius", "0.03"}}, "pole_radius: needs gait = helix"},
      {"pole too thick",
       {{"gait", "helix"}, {"pole_radius", "0.5"}},
       "pole_radius = 0.5: must be a radius around which links of 0.06 m can coil"},
      {"heights for another gait", {{"heights", "1"}}, "heights: needs gait = helix"},
      {"wrap without heights", {{"gait", "helix"}, {"wrap", "left"}}, "wrap: needs heights"},
      {"release without heights", {{"release_time", "3"}}, "release_time: needs heights"},
      {"tolerance", {{"goal_tolerance", "0"}}, "goal_tolerance = 0: must be > 0"},
      {"path of one point", {{"ground_path", "1 2"}}, "ground_path: 2 numbers: must be x and y"},
      {"path that rests", {{"ground_path", "1 2 1 2"}}, "ground_path: "},
      {"corner too tight",
       {{"ground_path", "0 0 1 0 1 0.1"}, {"corner_radius", "0.5"}},
       "ground_path: path: waypoint 2"},
      {"path and goals",
       {{"ground_path", "0 0 1 0"}, {"goals", "1 1"}},
       "ground_path: must not be given together with goals"},
      {"path by rolling",
       {{"ground_path", "0 0 1 0"}, {"gait", "rolling"}},
       "ground_path: needs gait"},
      {"path backwards",
       {{"ground_path", "0 0 1 0"}, {"gait", "serpenoid"}, {"frequency", "-1"}},
       "ground_path: needs gait"},
      {"path and schedule",
       {{"ground_path", "0 0 1 0"}, {"schedule", "0 serpenoid 1"}},
       "schedule: must not be given"},
      {"corner without path", {{"corner_radius", "0.5"}}, "corner_radius: needs ground_path"},
      {"margin without avoidance",
       {{"obstacle_margin", "0.1"}},
       "obstacle_margin: needs ground_path"},
  }));
  DYNAMIC_SECTION(c.name) {
    CHECK_THROWS_WITH(make(c.settings), Catch::StartsWith(c.start));
    CHECK_THROWS_AS(make(c.settings), ModelError);
  }
}

TEST_CASE("gait controller: a scene with nothing in it has no obstacles", "[controllers]") {
  CHECK_NOTHROW(make({{"avoidance", "true"}, {"goals", "1 1"}, {"gait", "serpenoid"}}));
  CHECK_THROWS_WITH(make({{"avoidance", "true"}, {"gait", "serpenoid"}}),
                    Catch::StartsWith("avoidance: needs a target"));
}

TEST_CASE("gait controller: an update allocates nothing, is pure and gives the same bits",
          "[controllers]") {
  GaitController controller = make({{"goals", "1 1 -1 2"}});
  std::vector<double> memory(static_cast<std::size_t>(controller.memory_size()));
  controller.reset(memory);
  SnakeMeasurement measurement(kJoints);
  measurement.timestep = kTimestep;
  measurement.X_WE.translation() << 1, 0, 0;
  std::vector<double> first = memory, second = memory;
  SnakeCommand a(kJoints), b(kJoints);
  TestReport report{GaitController::kQuantities};
  const AllocationCounter counter;
  controller.update(measurement, memory, first, a, report);
  controller.update(measurement, memory, second, b, report);
  CHECK(counter.count() == 0);
  CHECK(first == second);
  CHECK(a.q == b.q);
}

TEST_CASE("gait controller: the gait sets in gently from any pose", "[controllers]") {
  const std::string gait =
      GENERATE("vertical_wave", "serpenoid", "sidewinding", "rolling", "helix", "anguilliform");
  CAPTURE(gait);
  PointSnake snake(make({{"gait", gait}, {"ramp_time", "1"}}));
  for (int j = 0; j < kJoints; ++j) snake.measurement.q[j] = 0.3 * std::cos(j);
  snake.step();
  CHECK(snake.largest_step < 1e-6);
  snake.run(5.0);
  // 3 rad of difference at most, 1.875 of it a second in the middle of the fade, and the wave
  CHECK(snake.largest_step < (3.0 * 1.875 + 2.0 * kPi * 1.6) * kTimestep);
  CHECK(snake.command.q.cwiseAbs().maxCoeff() <= kPi / 2.0);
  CHECK(snake.report.status == ControllerStatus::Working);
}

TEST_CASE("gait controller: a schedule fades from gait to gait", "[controllers]") {
  PointSnake snake(make({{"schedule", "0 vertical_wave 1 4 serpenoid 0.5 9 sidewinding -1"}}));
  snake.run(3.0);
  CHECK(snake.swing(0.9) == 0.0);  // the vertical wave has no yaw
  snake.run(2.5);
  CHECK(snake.swing(2.0) == Approx(1.2).margin(0.01));
  snake.run(6.0);
  CHECK(snake.swing(1.0) == Approx(1.2).margin(0.01));
  CHECK(snake.largest_step < (1.0 * 1.875 + 2.0 * kPi * 0.7) * kTimestep);
}

TEST_CASE("gait controller: the sign of the frequency is that of the wave", "[controllers]") {
  // Two waves on 16 joints: from pitch joint to pitch joint a quarter of a period.
  const double frequency = GENERATE(1.0, -1.0);
  PointSnake snake(make({{"gait", "vertical_wave"}, {"frequency", std::to_string(frequency)}}));
  snake.run(4.0);
  const Eigen::VectorXd now = snake.command.q;
  snake.run(0.25);
  const int nearer = frequency > 0.0 ? 3 : 5, further = frequency > 0.0 ? 5 : 3;
  CHECK(snake.command.q[further] == Approx(now[nearer]).margin(1e-9));
  CHECK(std::abs(now[further] - now[nearer]) > 0.01);
}

TEST_CASE("gait controller: goals are counted, then it stops", "[controllers]") {
  PointSnake snake(make({{"goals", "1 0 1 1"}, {"goal_tolerance", "0.1"}}));
  snake.run(2.0);
  CHECK(snake.report["goals"] == 0);
  CHECK(snake.report.target.x() == 1.0);
  snake.place << 0.5, 0.2, 0.0;
  snake.step();
  CHECK(snake.report.progress == Approx(0.5 * (1.0 - std::hypot(0.5, 0.2))));
  CHECK(snake.report["path_error"] == Approx(0.2));  // off the line from the start to the goal
  snake.place << 0.95, 0, 0;
  snake.step();
  CHECK(snake.report["goals"] == 1);
  CHECK(snake.report.target.y() == 1.0);
  snake.place << 1, 0.95, 0;
  snake.step();
  CHECK(snake.report["goals"] == 2);
  CHECK(snake.report.status == ControllerStatus::Finished);
  CHECK(snake.report.progress == 1.0);
  snake.run(1.0);
  const Eigen::VectorXd still = snake.command.q;
  snake.run(1.0);
  CHECK((snake.command.q - still).norm() == 0.0);
}

TEST_CASE("gait controller: steers to the side of the goal", "[controllers]") {
  // A mirrored goal has a mirrored solution.
  const std::string gait = GENERATE("serpenoid", "vertical_wave");
  PointSnake left(make({{"gait", gait}, {"goals", "2 1"}}));
  PointSnake right(make({{"gait", gait}, {"goals", "2 -1"}}));
  left.run(3.0);
  right.run(3.0);
  double mean_left = 0.0, mean_right = 0.0;
  for (int j = 0; j < kJoints; j += 2) {
    mean_left += left.command.q[j] / 8.0;
    mean_right += right.command.q[j] / 8.0;
  }
  CHECK(mean_left - mean_right == Approx(2.0 * 0.42 * std::atan2(1.0, 2.0)).margin(1e-6));
}

TEST_CASE("gait controller: a vertical wave turns with a body that rolls, but not at its goal",
          "[controllers]") {
  const auto roll = [](PointSnake& snake, double angle) {
    const Eigen::AngleAxisd R(angle, Eigen::Vector3d::UnitX());
    snake.measurement.X_WT.linear() = snake.measurement.X_WE.linear() = R.toRotationMatrix();
  };
  const Texts texts{{"gait", "vertical_wave"}, {"goals", "5 0"}};
  PointSnake level(make(texts)), over(make(texts));
  roll(over, kPi);
  level.run(3.0);
  over.run(3.0);
  CHECK(level.command.q.norm() > 0.5);
  CHECK(over.command.q.isApprox(-level.command.q, 1e-9));
  over.place = Eigen::Vector3d(5.0, 0.0, 0.0);
  over.run(2.0);
  REQUIRE(over.report.status == ControllerStatus::Finished);
  const Eigen::VectorXd at_rest = over.command.q;
  roll(over, 2.0);
  over.run(1.0);
  CHECK(over.command.q == at_rest);
}

TEST_CASE("gait controller: sidewinding takes the side on which the goal is", "[controllers]") {
  // Weight of the pitch wave: +1 moves to the left, -1 to the right.
  const auto weight = [](const char* goal) {
    PointSnake snake(make({{"goals", goal}}));
    snake.run(6.0);
    const Gait gait = standard_gait(GaitKind::Sidewinding, kJoints);
    // Recover the phase from yaw joints 1 and 5, then the weight from the pitch joints.
    std::vector<double> angles(kJoints);
    double best = 1e9, side = 0.0;
    for (int k = 0; k < 3600; ++k) {
      for (const double sign : {1.0, -1.0}) {
        gait_angles(gait, {.side = sign}, 2.0 * kPi * k / 3600, angles);
        double distance = 0.0;
        for (int j = 0; j < kJoints; ++j)
          distance += std::pow(angles[static_cast<std::size_t>(j)] - snake.command.q[j], 2);
        if (distance < best) best = distance, side = sign;
      }
    }
    CHECK(best < 1e-4);
    return side;
  };
  CHECK(weight("0 5") == 1.0);
  CHECK(weight("0 -5") == -1.0);
}

TEST_CASE("gait controller: a target that is not finite stops the snake", "[controllers]") {
  PointSnake snake(make({{"target", "goal"}}));
  snake.measurement.has_target = true;
  snake.measurement.p_WG << 1, 1, 0;
  snake.run(2.0);
  CHECK(snake.report.status == ControllerStatus::Working);
  snake.measurement.p_WG << std::nan(""), 0, 0;
  snake.run(1.0);
  CHECK(snake.report.status == ControllerStatus::InvalidTarget);
  CHECK(snake.command.q.allFinite());
  snake.measurement.p_WG << 0.02, 0, 0;
  snake.run(1.0);
  CHECK(snake.report.status == ControllerStatus::Finished);
}

TEST_CASE("gait controller: keeps a speed by its frequency", "[controllers]") {
  // A body whose stride is 0.36 m a period, told to go at a third of its full speed.
  PointSnake snake(make({{"speed", "0.12"}}));
  double before = 0.0;
  for (double t = 0.0; t < 40.0; t += kTimestep) {
    snake.step();
    // phase of the first yaw joint is hidden; its rate is what moves the body
    const double rate = std::abs(snake.command.q[0] - before) / (4.0 * 0.6);  // of a period
    before = snake.command.q[0];
    snake.place.y() += 0.36 * rate;
  }
  CHECK(snake.report["speed"] == Approx(0.12).epsilon(0.1));
}

TEST_CASE("gait controller: climbs to its heights and holds", "[controllers]") {
  PointSnake snake(make(
      {{"gait", "helix"}, {"pole_radius", "0.03"}, {"heights", "0.3 0.1"}, {"hold_time", "2"}}));
  snake.run(1.5);
  const Eigen::VectorXd tight = snake.command.q;
  snake.run(0.3);
  CHECK((snake.command.q - tight).norm() == 0.0);  // closed, waits
  double rotated = 0.0, before = snake.command.q[0];
  for (double t = 0.0; t < 8.0; t += kTimestep) {
    snake.step();
    rotated += std::abs(snake.command.q[0] - before);
    before = snake.command.q[0];
    if (snake.report["goals"] == 0) snake.place.z() += 0.065 * kTimestep;
  }
  CHECK(rotated > 1.0);
  CHECK(snake.report["goals"] == 1);
  CHECK(snake.report.progress == 0.5);
  for (double t = 0.0; t < 15.0; t += kTimestep) {
    snake.step();
    if (snake.report["goals"] == 1 && snake.place.z() > 0.0 && t > 2.0)
      snake.place.z() -= 0.065 * kTimestep;
  }
  CHECK(snake.report["goals"] == 2);
  CHECK(snake.report.status == ControllerStatus::Finished);
}

TEST_CASE(
    "gait controller: after its last hold it lets go of the pole, head first, and remains straight",
    "[controllers]") {
  constexpr double kRelease = 3.0;  // [s]
  PointSnake snake(make({{"gait", "helix"},
                         {"pole_radius", "0.03"},
                         {"heights", "0.3"},
                         {"hold_time", "1"},
                         {"release_time", "3"}}));
  const auto held = [&] { return snake.command.q.tail(4).norm() > 0.1; };
  for (double t = 0.0; t < 12.0 && (snake.report["goals"] == 0 || held()); t += kTimestep) {
    if (snake.report["goals"] == 0) snake.place.z() += 0.065 * kTimestep;
    snake.step();
    CHECK(snake.report.status != ControllerStatus::Finished);
  }
  REQUIRE_FALSE(held());
  CHECK(snake.command.q.head(4).norm() > 0.5);  // the tail holds on
  snake.place.z() = 0.2;                        // it may fall
  snake.run(kRelease);
  CHECK(snake.command.q.norm() == 0.0);
  CHECK(snake.report.status == ControllerStatus::Finished);
  CHECK(snake.report.progress == 1.0);
}

TEST_CASE("gait controller: a snake that comes no nearer to its goal says so, until it does",
          "[controllers]") {
  PointSnake snake(make({{"goals", "2 0"}}));
  snake.run(2.5);
  CHECK(snake.report.status == ControllerStatus::Working);
  snake.run(3.0);
  CHECK(snake.report.status == ControllerStatus::NoProgress);
  for (double t = 0.0; t < 1.0; t += kTimestep) {
    snake.place.x() += 0.1 * kTimestep;
    snake.step();
  }
  CHECK(snake.report.status == ControllerStatus::Working);
}

TEST_CASE("gait controller: a goal that was reached can be lost", "[controllers]") {
  PointSnake snake(make({{"goals", "0.05 0"}}));
  snake.run(1.0);
  CHECK(snake.report.status == ControllerStatus::Finished);
  snake.place.y() += 0.3;
  snake.step();
  CHECK(snake.report.status == ControllerStatus::NoProgress);
}

TEST_CASE("gait controller: a snake that falls from its pole, or does not climb, says so",
          "[controllers]") {
  PointSnake snake(
      make({{"gait", "helix"}, {"pole_radius", "0.03"}, {"heights", "0.5"}, {"hold_time", "2"}}));
  for (double t = 0.0; t < 6.0; t += kTimestep) {
    snake.step();
    if (t > 2.0) snake.place.z() += 0.065 * kTimestep;
  }
  CHECK(snake.report.status == ControllerStatus::Working);
  SECTION("while it climbs") {
    snake.place.z() -= 0.15;
    snake.step();
  }
  SECTION("after it has reached its height") {
    snake.place.z() = 0.51;
    snake.run(1.0);
    CHECK(snake.report.progress == 1.0);
    snake.place.z() = 0.0;
    snake.run(5.0);
  }
  SECTION("it does not move") { snake.run(11.0); }
  CHECK(snake.report.status == ControllerStatus::NoProgress);
}

namespace {

/// A snake without physics that slides along its own direction and turns as its yaw joints bend on
/// average; or that does not move.
class SlidingSnake : public PointSnake {
 public:
  explicit SlidingSnake(GaitController controller, bool moves = true)
      : PointSnake(std::move(controller)), moves_(moves) {}

  void step() {
    // Its tail's frame such that the mean heading of the links is that of the body.
    double mean = 0.0, sum = 0.0;
    for (int j = 0; j < kJoints; ++j) {
      if (j % 2 == 0) sum += measurement.q[j];
      mean += sum / (kJoints + 1);
    }
    measurement.X_WT.linear() =
        Eigen::AngleAxisd(heading - mean, Eigen::Vector3d::UnitZ()).toRotationMatrix();
    PointSnake::step();
    double bend = 0.0;
    for (int j = 0; j < kJoints; j += 2) bend += command.q[j] / (kJoints / 2);
    if (moves_) {
      heading += kSpeed * kTimestep * bend / 0.12;
      place += kSpeed * kTimestep * along();
    }
  }

  void run(double duration) {
    for (double t = 0.0; t < duration; t += kTimestep) step();
  }

  static constexpr double kSpeed = 0.3;  // [m/s]

 private:
  bool moves_;
};

double distance(const Eigen::Vector3d& p, const std::vector<Eigen::Vector2d>& line) {
  double least = 1e9;
  for (std::size_t i = 1; i < line.size(); ++i) {
    const Eigen::Vector2d a = line[i - 1], b = line[i] - a;
    const double t = std::clamp((p.head<2>() - a).dot(b) / b.squaredNorm(), 0.0, 1.0);
    least = std::min(least, (p.head<2>() - a - t * b).norm());
  }
  return least;
}

}  // namespace

TEST_CASE("gait controller: along a path, from off the path, to its end", "[controllers]") {
  const double aside = GENERATE(-0.25, 0.0, 0.25);
  CAPTURE(aside);
  SlidingSnake snake(
      make({{"gait", "serpenoid"}, {"ground_path", "0 0 2 0 2 2 3 2"}, {"corner_radius", "0.6"}}));
  snake.place << -0.6, aside, 0.0;
  const std::vector<Eigen::Vector2d> line{{-1, 0}, {2, 0}, {2, 2}, {3.5, 2}};
  double worst = 0.0;
  int steps = 0;
  for (; steps < 8000 && snake.report.status != ControllerStatus::Finished; ++steps) {
    snake.step();
    // A corner of 0.6 m lies 0.25 m off the polyline's; the mean of the body 0.06 m inside.
    if (snake.place.x() > 0.8) worst = std::max(worst, distance(snake.place, line));
  }
  CHECK(snake.report.status == ControllerStatus::Finished);
  CHECK(worst < 0.35);
  CHECK(std::hypot(snake.place.x() - 2.55, snake.place.y() - 2.0) <
        0.15);  // the head is at the end
  CHECK(snake.report["path_error"] < 0.1);
}

TEST_CASE("gait controller: a mirrored path has a mirrored motion", "[controllers]") {
  SlidingSnake left(make({{"gait", "serpenoid"}, {"ground_path", "0 0 1 0.2 2 1"}}));
  SlidingSnake right(make({{"gait", "serpenoid"}, {"ground_path", "0 0 1 -0.2 2 -1"}}));
  // The wave is not mirrored, so the motions agree on average only.
  for (int k = 0; k < 1200; ++k) {
    left.step();
    right.step();
  }
  CHECK(left.place.x() == Approx(right.place.x()).margin(0.05));
  CHECK(left.place.y() == Approx(-right.place.y()).margin(0.05));
  CHECK(left.place.y() > 0.3);
}

TEST_CASE("gait controller: a snake that is carried off its path says so", "[controllers]") {
  SlidingSnake snake(make({{"gait", "serpenoid"}, {"ground_path", "0 0 4 0"}}));
  snake.run(2.0);
  CHECK(snake.report.path_excess < 0.5);
  snake.place.y() += 0.5;
  snake.step();
  CHECK(snake.report.path_excess > 1.0);
}

TEST_CASE("gait controller: a snake that does not move along its path says so", "[controllers]") {
  SlidingSnake snake(make({{"gait", "serpenoid"}, {"ground_path", "0 0 4 0"}}), false);
  snake.run(2.0);
  CHECK(snake.report.status == ControllerStatus::Working);
  snake.run(4.0);
  CHECK(snake.report.status == ControllerStatus::NoProgress);
}

namespace {

void add_wall_with_gap(TestScene& scene, double gap) {
  const auto wall = [](double y, double half) {
    Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
    X.translation() << 1.5, y, 0.0;
    return Obstacle{box({0.03, half, 0.3}), X};
  };
  // From y = -3 to 3, the gap about y = 1.
  scene.standing = Obstacles({half_space_at(Eigen::Vector3d::Zero(), Eigen::Vector3d::UnitZ()),
                              wall(0.5 * (-3.0 + 1.0 - gap / 2.0), 0.5 * (4.0 - gap / 2.0)),
                              wall(0.5 * (3.0 + 1.0 + gap / 2.0), 0.5 * (2.0 - gap / 2.0))});
  scene.target = {3.0, 0.0, 0.0};
}

}  // namespace

TEST_CASE("gait controller: among obstacles it goes where there is a way", "[controllers]") {
  TestScene scene;
  add_wall_with_gap(scene, 0.7);
  SlidingSnake snake(make({{"gait", "serpenoid"}, {"target", "t"}, {"avoidance", "true"}}, scene));
  snake.heading = GENERATE(0.0, 2.0, -2.0);
  double clearance = 1e9;
  for (int k = 0; k < 10000 && snake.report.status != ControllerStatus::Finished; ++k) {
    snake.step();
    for (int i = 1; i < 3; ++i) {  // the walls
      const Eigen::Vector3d p = scene.standing.pose(i).inverse() * snake.place;
      clearance = std::min(clearance, scene.standing.shape(i)->distance(p));
    }
  }
  CHECK(snake.report.status == ControllerStatus::Finished);
  CHECK(snake.report["goals"] == 1);
  CHECK(clearance > 0.15);
  CHECK((snake.place + 0.45 * snake.along() - Eigen::Vector3d(3, 0, 0)).norm() < 0.15);
}

TEST_CASE("gait controller: what is refused among obstacles", "[controllers]") {
  const Texts texts{{"gait", "serpenoid"}, {"target", "t"}, {"avoidance", "true"}};
  TestScene scene;
  add_wall_with_gap(scene, 0.3);
  CHECK_NOTHROW(make(texts, scene));  // around the wall
  add_wall_with_gap(scene, 0.7);
  CHECK_NOTHROW(make(texts, scene));
  scene.target.x() = 1.5;
  CHECK_THROWS_WITH(make(texts, scene), "target = t: must not be in an obstacle");
  scene.target.x() = 1.65;
  CHECK_THROWS_WITH(make(texts, scene), Catch::StartsWith("target = t: is 0.1"));
  CHECK_THROWS_WITH(make({{"avoidance", "true"}}, scene),
                    Catch::StartsWith("avoidance: needs a target"));
  // Sidewinding is wider than a ring around the goal leaves room for.
  std::vector<Obstacle> posts;
  for (int k = 0; k < 8; ++k) {
    const double a = 2.0 * kPi * k / 8;
    posts.push_back(sphere_at({3.0 + 0.9 * std::cos(a), 0.9 * std::sin(a), 0.0}, 0.05));
  }
  scene.standing = Obstacles(posts);
  CHECK_THROWS_WITH(make({{"avoidance", "true"}, {"goals", "3 0"}}, scene),
                    Catch::StartsWith("goals: goal 1: there is no path that is 1."));
  CHECK_NOTHROW(make({{"avoidance", "true"}, {"goals", "3 0"}, {"gait", "serpenoid"}}, scene));
}

TEST_CASE("gait controller: an update on a way allocates nothing and is pure", "[controllers]") {
  TestScene scene;
  add_wall_with_gap(scene, 0.7);
  GaitController controller =
      make({{"gait", "serpenoid"}, {"target", "t"}, {"avoidance", "true"}}, scene);
  std::vector<double> memory(static_cast<std::size_t>(controller.memory_size()));
  controller.reset(memory);
  SnakeMeasurement measurement(kJoints);
  measurement.timestep = kTimestep;
  measurement.X_WE.translation() << 1, 0, 0;
  std::vector<double> first = memory, second = memory;
  SnakeCommand a(kJoints), b(kJoints);
  TestReport report{GaitController::kQuantities};
  const AllocationCounter counter;
  controller.update(measurement, memory, first, a, report);
  controller.update(measurement, memory, second, b, report);
  CHECK(counter.count() == 0);
  CHECK(first == second);
  CHECK(a.q == b.q);
}

TEST_CASE("gait controller: around a pole on the other side it winds as in a mirror",
          "[controllers]") {
  const auto wrapping = [](const char* side) {
    return make({{"gait", "helix"},
                 {"pole_radius", "0.03"},
                 {"heights", "0.5"},
                 {"wrap", side},
                 {"ramp_time", "6"}});
  };
  PointSnake left(wrapping("left")), right(wrapping("right"));
  for (double t = 0.0; t < 9.0; t += kTimestep) {  // until it rolls
    left.step();
    right.step();
    for (int j = 0; j < kJoints; j += 2) {
      REQUIRE(left.command.q[j] == Approx(-right.command.q[j]).margin(1e-9));
      REQUIRE(left.command.q[j + 1] == Approx(right.command.q[j + 1]).margin(1e-9));
    }
  }
  // The middle bends most, towards the pole.
  PointSnake snake(wrapping("left"));
  snake.run(3.0);
  CHECK(snake.command.q[8] > 0.3);
  CHECK(snake.largest_step < 0.02);
}
