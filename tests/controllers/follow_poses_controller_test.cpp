#include "controllers/arm/follow_poses_controller.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "controllers/arm/follow_controller.hpp"
#include "tendril/model_error.hpp"
#include "tests/controllers/kinematic_arm.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/reference_robots.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;
using Eigen::VectorXd;
using std::numbers::pi;
using Texts = std::vector<std::pair<std::string, std::string>>;

namespace {

constexpr double kTimestep = 0.002;
constexpr double kAlgebraTolerance = 1e-12;  // rounding
constexpr double kDigitTolerance = 1e-9;     // of the table's nine digits
constexpr double kTimeTolerance = 1.5 * kTimestep;

/// One section of fixed length and one of 50 to 100 mm, on a base with 0.1 m of feed.
ContinuumRobot robot_of_two() {
  return ContinuumRobot({{.length = 0.1, .bend_angle_limit = 2.0},
                         {.length = 0.05, .variable_length = 0.05, .bend_angle_limit = 2.0}},
                        {.feed_limit = 0.1});
}

constexpr const char* kTable =
    "waypoint,theta_1,phi_1,s_1,theta_2,phi_2,s_2,h\n"
    "0,0.1,0,0,0,0,0.02,0\n"
    "1,0.5,1.5,0,0.4,-1,0.03,0.02\n"
    "1.5,0.6,1.5,0,0.4,0.5,0.04,0.03\n"
    "2,0.9,1.2,0,0.3,0.5,0.01,0.05\n";

FollowPosesController make(const ContinuumRobot& robot, Texts more, const char* poses = kTable,
                           double feed_force_limit = std::numeric_limits<double>::infinity()) {
  more.emplace_back("poses", poses);
  if (!Settings(FollowController::settings(), more).has("integral_gain"))
    more.emplace_back("integral_gain", "0");
  const Settings settings(FollowController::settings(), std::move(more));
  return FollowPosesController({robot, settings, kTimestep, feed_force_limit});
}

VectorXd coordinates(const ContinuumRobot& robot, const PathPose& pose) {
  VectorXd q(robot.coordinate_count());
  to_coordinates(robot, pose.states, q);
  return q;
}

}  // namespace

TEST_CASE("follow poses: a table that was written is read back", "[controllers]") {
  const ContinuumRobot robot = robot_of_two();
  const PosePath path = parse_pose_path(kTable, robot);
  REQUIRE(path.size() == 4);
  CHECK(path[2].waypoint == 1.5);
  CHECK(path[1].states[1].phi == -1.0);
  CHECK(path[1].base.feed == 0.02);
  std::string text = pose_path_csv(robot, path);
  for (const bool in_attribute : {false, true}) {  // where line ends become spaces
    if (in_attribute) std::replace(text.begin(), text.end(), '\n', ' ');
    const PosePath again = parse_pose_path(text, robot);
    REQUIRE(again.size() == path.size());
    for (std::size_t i = 0; i < path.size(); ++i) {
      CHECK(again[i].waypoint == path[i].waypoint);
      CHECK((coordinates(robot, again[i]) - coordinates(robot, path[i])).norm() < kDigitTolerance);
      CHECK(std::abs(again[i].base.feed - path[i].base.feed) < kDigitTolerance);
    }
  }
}

TEST_CASE("follow poses: a state at its limit survives the rounding of its digits",
          "[controllers]") {
  const ContinuumRobot robot({{.length = 0.1, .bend_angle_limit = 2.0 / 3.0}});
  const PosePath path{{0.0, {{0.0, 0.0, 0.0}}, {}}, {1.0, {{2.0 / 3.0, 0.0, 0.0}}, {}}};
  const PosePath again = parse_pose_path(pose_path_csv(robot, path), robot);  // 0.666666667
  CHECK(again[1].states[0].theta == 2.0 / 3.0);
}

TEST_CASE("follow poses: tables that are no path of the robot are refused with row and column",
          "[controllers]") {
  const ContinuumRobot robot = robot_of_two();
  const std::string header = "waypoint,theta_1,phi_1,s_1,theta_2,phi_2,s_2,h\n";
  const std::string start = "0,0,0,0,0,0,0,0\n";
  struct Case {
    std::string name, table, message;
  };
  const auto c = GENERATE_COPY(values<Case>({
      {"no rows", header, "poses: rows: 0 poses: must be at least a start and a waypoint"},
      {"a start alone", header + start,
       "poses: rows: 1 poses: must be at least a start and a waypoint"},
      {"columns of another robot", "waypoint,theta_1,phi_1,s_1\n0,0,0,0\n",
       "poses: row 1, header = waypoint,theta_1,phi_1,s_1: must be " +
           header.substr(0, header.size() - 1)},
      {"a column short", header + start + "1,0,0,0,0,0,0\n", "poses: row 3, 7 columns: must be 8"},
      {"a column more", header + start + "1,0,0,0,0,0,0,0,0\n",
       "poses: row 3, 9 columns: must be 8"},
      {"NaN", header + start + "1,0,0,0,nan,0,0,0\n",
       "poses: row 3, column theta_2 = nan: must be a finite number, at most 1e6"},
      {"infinity", header + start + "1,0,inf,0,0,0,0,0\n",
       "poses: row 3, column phi_1 = inf: must be a finite number, at most 1e6"},
      {"not a number", header + start + "1,0,0,0,0.1x,0,0,0\n",
       "poses: row 3, column theta_2 = 0.1x: must be a finite number, at most 1e6"},
      {"empty", header + start + "1,,0,0,0,0,0,0\n",
       "poses: row 3, column theta_1 = : must be a finite number, at most 1e6"},
      {"a bend above its limit", header + start + "1,2.1,0,0,0,0,0,0\n",
       "poses: row 3, column theta_1 = 2.1: must be in [0, 2]"},
      {"a bend above the limit at its length", header + start + "1,0,0,0,1.1,0,0.025,0\n",
       "poses: row 3, column theta_2 = 1.1: must be in [0, 1]"},
      {"a negative bend", header + start + "1,-0.1,0,0,0,0,0,0\n",
       "poses: row 3, column theta_1 = -0.1: must be in [0, 2]"},
      {"a length above its limit", header + start + "1,0,0,0,0,0,0.06,0\n",
       "poses: row 3, column s_2 = 0.06: must be in [0, 0.05]"},
      {"a feed above its limit", header + start + "1,0,0,0,0,0,0,0.2\n",
       "poses: row 3, column h = 0.2: must be in [0, 0.1]"},
      {"no start", header + "1,0,0,0,0,0,0,0\n2,0,0,0,0,0,0,0\n",
       "poses: row 2, column waypoint = 1: must be 0: the start"},
      {"waypoints that do not increase", header + start + "2,0,0,0,0,0,0,0\n2,0,0,0,0,0,0,0\n",
       "poses: row 4, column waypoint = 2: must be greater than in the row before"},
      {"an end on the way", header + start + "0.5,0,0,0,0,0,0,0\n",
       "poses: row 3, column waypoint = 0.5: must be a whole number: the last row reaches a "
       "waypoint"},
  }));
  DYNAMIC_SECTION(c.name) {
    CHECK_THROWS_AS(make(robot, {}, c.table.c_str()), ModelError);
    CHECK_THROWS_WITH(make(robot, {}, c.table.c_str()), c.message);
  }
}

TEST_CASE("follow poses: refused settings name the setting and its range", "[controllers]") {
  struct Case {
    std::string name, text, message;
  };
  const auto c = GENERATE_COPY(values<Case>({
      {"waypoint_time", "0", "waypoint_time = 0: must be in (0, 10000]"},
      {"waypoint_time", "nan", "waypoint_time = nan: must be in (0, 10000]"},
      {"hold_time", "-1", "hold_time = -1: must be in [0, 10000]"},
      {"rate_limit", "0", "rate_limit = 0: must be in (0, 1000]"},
      {"start_delay", "-1", "start_delay = -1: must be >= 0"},
      {"waypoints", "0 0 0 0 0 1",
       "poses and waypoints: must be one of them: only one path can be followed"},
      {"target", "sphere", "poses and target: must be one of them: only one path can be followed"},
  }));
  DYNAMIC_SECTION(c.name << " = " << c.text) {
    CHECK_THROWS_WITH(make(robot_of_two(), {{c.name, c.text}}), c.message);
  }
}

TEST_CASE("follow poses: the setting poses chooses what tendril.follow is", "[controllers]") {
  const ContinuumRobot robot = robot_of_two();
  const Settings poses(FollowController::settings(), Texts{{"poses", kTable}});
  const Settings path(FollowController::settings(), Texts{{"waypoints", "0 0 0  0 0 0.5"}});
  const auto a = make_follow_controller({robot, poses, kTimestep, 30.0});
  const auto b = make_follow_controller({robot, path, kTimestep, 30.0});
  CHECK(dynamic_cast<FollowPosesController*>(a.get()) != nullptr);
  CHECK(dynamic_cast<FollowController*>(b.get()) != nullptr);
}

TEST_CASE("follow poses: is at rest at every pose, on the straight lines between them",
          "[controllers]") {
  const ContinuumRobot robot = robot_of_two();
  const PosePath path = parse_pose_path(kTable, robot);
  FollowPosesController controller = make(robot, {{"waypoint_time", "1"},
                                                  {"hold_time", "0.25"},
                                                  {"start_delay", "0.5"},
                                                  {"rate_limit", "100"}});
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  std::vector<bool> passed(path.size(), false);
  std::vector<double> held(path.size(), 0.0);
  VectorXd last = arm.measurement.q;
  while (run.report.status == ControllerStatus::Working && arm.measurement.time < 10.0) {
    run.step(arm);
    const VectorXd& q = run.command.q;
    // Rates are what the commands do.
    REQUIRE((run.command.q_rate - (q - last) / kTimestep).norm() < 0.05);
    if (arm.measurement.time > 0.5 + kTimeTolerance) {
      // On one of the segments: bends, lengths and feed with the same fraction.
      double nearest = 1.0;
      for (std::size_t i = 0; i + 1 < path.size(); ++i) {
        VectorXd a(q.size() + 1), b(q.size() + 1), p(q.size() + 1);
        a << coordinates(robot, path[i]), path[i].base.feed;
        b << coordinates(robot, path[i + 1]), path[i + 1].base.feed;
        p << q, run.command.base.feed;
        const double share = std::clamp((p - a).dot(b - a) / (b - a).squaredNorm(), 0.0, 1.0);
        nearest = std::min(nearest, (p - a - share * (b - a)).norm());
      }
      REQUIRE(nearest < kAlgebraTolerance);
    }
    for (std::size_t i = 0; i < path.size(); ++i) {
      if ((q - coordinates(robot, path[i])).norm() > 1e-6) continue;
      passed[i] = true;
      held[i] += kTimestep;
      CHECK(run.command.q_rate.norm() < 0.01);
    }
    last = q;
  }
  CHECK(run.report.status == ControllerStatus::Finished);
  CHECK(run.report.progress == 1.0);
  for (std::size_t i = 0; i < path.size(); ++i) {
    CAPTURE(i);
    CHECK(passed[i]);
    const bool is_waypoint = path[i].waypoint == std::floor(path[i].waypoint);
    CHECK(held[i] == Approx(is_waypoint ? 0.25 : 0.0).margin(0.03));
  }
  // start_delay, three holds, two segments
  CHECK(arm.measurement.time == Approx(0.5 + 3 * 0.25 + 2.0).margin(2 * kTimeTolerance));
  CHECK(controller.schedule().duration() == Approx(3 * 0.25 + 2.0));
}

TEST_CASE("follow poses: where something would change too fast the whole segment slows down",
          "[controllers]") {
  const ContinuumRobot robot = robot_of_two();
  const char* limit = GENERATE("0.2", "1", "5");
  CAPTURE(limit);
  FollowPosesController controller = make(
      robot,
      {{"waypoint_time", "0.1"}, {"hold_time", "0"}, {"start_delay", "0"}, {"rate_limit", limit}});
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  VectorXd last = arm.measurement.q;
  double fastest = 0.0;
  while (run.report.status != ControllerStatus::Finished && arm.measurement.time < 60.0) {
    const double feed = run.command.base.feed;
    run.step(arm);
    fastest =
        std::max({fastest, largest_change(robot, run.command.q, last, kPoseLengthScale) / kTimestep,
                  std::abs(run.command.base.feed - feed) / kPoseLengthScale / kTimestep});
    last = run.command.q;
  }
  CHECK(run.report.status == ControllerStatus::Finished);
  CHECK(fastest <= std::stod(limit) * (1 + 1e-9));
  CHECK(fastest >= 0.9 * std::stod(limit));  // no slower than it must be
}

TEST_CASE("follow poses: the measured tip is brought to where the plan has it, lengths included",
          "[controllers]") {
  // The arm bends 10 % less and reaches 5 % less far out than commanded.
  const ContinuumRobot robot = robot_of_two();
  const char* gain = GENERATE("0", "5");
  FollowPosesController controller = make(robot, {{"hold_time", "1"},
                                                  {"integral_gain", gain},
                                                  {"integral_damping", "0.003"},
                                                  {"jam_tip_error", "1"}});
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  double worst = 0.0, length_correction = 0.0;
  while (run.report.status != ControllerStatus::Finished && arm.measurement.time < 20.0) {
    run.update(arm.measurement);
    run.advance();
    VectorXd q = 0.9 * run.command.q;
    q[4] = 0.95 * run.command.q[4];
    arm.move_to(q, run.command.base);
    arm.pass_time();
    worst = std::max(worst, run.report["waypoint_error"]);
    length_correction =
        std::max(length_correction, std::abs((run.command.q - run.command.plan)[4]));
  }
  REQUIRE(run.report.status == ControllerStatus::Finished);
  CAPTURE(gain, worst);
  if (std::string(gain) == "0") {
    CHECK(worst > 5 * kMillimeter);
    CHECK(length_correction == 0.0);
  } else {
    CHECK(worst < 0.3 * kMillimeter);  // e^-5 of what is there when a hold begins
    CHECK(length_correction > 0.1 * kMillimeter);
  }
}

TEST_CASE("follow poses: the waypoint error is the tip error at the end of the hold",
          "[controllers]") {
  const ContinuumRobot robot = robot_of_two();
  FollowPosesController controller = make(robot, {{"waypoint_time", "0.1"},
                                                  {"hold_time", "0.1"},
                                                  {"start_delay", "0"},
                                                  {"rate_limit", "100"},
                                                  {"jam_tip_error", "1"}});
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  const VectorXd still = arm.measurement.q;
  const double begins = 0.1;  // the hold at the start
  double before = 0.0;
  for (int i = 0; i < 300; ++i) {
    run.update(arm.measurement);
    run.advance();
    arm.pass_time();  // the arm does not move
    const double changed = run.report["waypoint_error"];
    if (arm.measurement.time < begins + 0.2 - kTimeTolerance) CHECK(changed == 0.0);
    if (changed != before) {
      const double in_leg = std::fmod(arm.measurement.time - begins + kTimestep / 4, 0.2);
      CHECK(in_leg < kTimeTolerance + kTimestep);
      CHECK(changed == run.report.tip_error);
      before = changed;
    }
  }
  const Vector3d desired =
      tip_pose(robot, parse_pose_path(kTable, robot).back().states, {.feed = 0.05}).translation();
  CHECK(run.report["waypoint_error"] ==
        Approx((desired - arm.measurement.X_BE.translation()).norm()).epsilon(1e-6));
}

TEST_CASE("follow poses: a blocked arm stops the schedule for good", "[controllers]") {
  const ContinuumRobot robot = robot_of_two();
  FollowPosesController controller = make(robot, {{"jam_time", "0.04"}, {"start_delay", "0.1"}});
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  for (int i = 0; i < 200; ++i) run.step(arm);
  while (run.report.status == ControllerStatus::Working && arm.measurement.time < 3.0) {
    run.update(arm.measurement);
    run.advance();
    arm.pass_time();
  }
  REQUIRE(run.report.status == ControllerStatus::Jammed);
  const VectorXd stopped = run.command.q;
  for (int i = 0; i < 100; ++i) run.step(arm);
  CHECK(run.report.status == ControllerStatus::Jammed);
  CHECK(run.command.q == stopped);
  CHECK(run.command.q_rate.norm() == 0.0);
  CHECK(run.command.feed_rate == 0.0);
}

TEST_CASE("follow poses: the memory is everything that a controller knows", "[controllers]") {
  const ContinuumRobot robot = robot_of_two();
  const Texts texts{{"integral_gain", "5"}, {"sensor_delay", "0.01"}, {"start_delay", "0.2"}};
  FollowPosesController one = make(robot, texts), other = make(robot, texts);
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(one, robot), continued(other, robot);
  const int steps = GENERATE(20, 500);  // on the way to the first pose, and later
  for (int i = 0; i < steps; ++i) run.step(arm);
  continued.memory = run.memory;
  for (int i = 0; i < 50; ++i) {
    run.update(arm.measurement);
    const std::vector<double> next = run.next;
    run.update(arm.measurement);  // pure: again, the same
    continued.update(arm.measurement);
    REQUIRE(run.next == next);
    REQUIRE(continued.next == next);
    REQUIRE(run.command.q == continued.command.q);
    continued.advance();
    run.step(arm);
  }
}

TEST_CASE("follow poses: allocates nothing in a step", "[controllers]") {
  const ContinuumRobot robot = robot_of_two();
  FollowPosesController controller = make(robot, {{"integral_gain", "5"}});
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  std::vector<Vector3d> points(20);
  AllocationCounter counter;
  controller.update(arm.measurement, run.memory, run.next, run.command, run.report);
  CHECK(controller.path(run.next, points) == 20);
  CHECK(counter.count() == 0);
}
