#include "controllers/arm/coil_controller.hpp"

#include <Eigen/Geometry>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tendril/model_error.hpp"
#include "tests/controllers/kinematic_arm.hpp"
#include "tests/controllers/test_scene.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/reference_robots.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;
using Texts = std::vector<std::pair<std::string, std::string>>;

namespace {

constexpr double kTimestep = 0.004;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kBody = 0.008;
constexpr int kPointsPerSection = 10;

ContinuumRobot long_arm(double feed_limit = 0.6) {
  const SectionParameters section{.length = 0.1, .bend_angle_limit = 2.4};
  return ContinuumRobot(std::vector<SectionParameters>(6, section), {.feed_limit = feed_limit});
}

/// A post across the feed axis, which passes its axis at `distance`, 0.6 m from the base and a
/// little more; it leans along the feed by `lean`.
Post post_at(double distance, double radius = 0.03, double lean = 0.4, double along = 0.7) {
  const Vector3d axis(-std::cos(lean), 0.0, std::sin(lean));
  Post post{.radius = radius, .half_length = 0.25};
  post.X_BO.translation() = Vector3d(0.0, distance, along) + 0.05 * axis;
  post.X_BO.linear() =
      Eigen::Quaterniond::FromTwoVectors(Vector3d::UnitZ(), axis).toRotationMatrix();
  return post;
}

Texts quick(Texts more = {}) {
  more.insert(more.end(), {{"winding", "4.5"}, {"start_delay", "0.1"}, {"speed", "0.3"}});
  return more;
}

/// By moments it sees the springs of the body and no contacts.
CoilController make(const ContinuumRobot& robot, const Post* post, Texts texts,
                    std::span<const BodySpring> springs = {}) {
  TestScene scene;
  if (post != nullptr) {
    texts.emplace_back("post", "pole");
    scene.post = {.name = "geom pole",
                  .kind = Solid::Kind::Capsule,
                  .X_BO = post->X_BO,
                  .size = {post->radius, post->half_length, 0.0}};
  }
  std::vector<SettingInfo> known(CoilController::settings().begin(),
                                 CoilController::settings().end());
  known.push_back(common::kGravityCompensation);
  const Settings settings(known, std::move(texts));
  return CoilController({.robot = robot,
                         .settings = settings,
                         .timestep = kTimestep,
                         .feed_force_limit = kInfinity,
                         .body_radius = kBody,
                         .springs = springs,
                         .sees_contacts = springs.empty(),
                         .scene = scene});
}

double distance_from(const Post& post, const Vector3d& p) {
  return (post.X_BO.inverse() * p).head<2>().norm();
}

/// The post as springs: it does not move the arm, but each of its points that is inside is a
/// contact. Returns its load on the coordinates.
Eigen::VectorXd touch(KinematicArm& arm, const ContinuumRobot& robot, const Post& post,
                      double stiffness) {
  Eigen::VectorXd load = Eigen::VectorXd::Zero(robot.coordinate_count());
  Eigen::Matrix<double, 6, Eigen::Dynamic> J(6, robot.coordinate_count());
  std::vector<SectionState> states(robot.straight().begin(), robot.straight().end());
  from_coordinates(robot, arm.measurement.q, states);
  arm.measurement.contacts.clear();
  for (int i = 0; i < robot.section_count(); ++i) {
    for (int k = 1; k <= kPointsPerSection; ++k) {
      const Vector3d p = backbone_jacobian(robot, states, arm.measurement.base, i,
                                           static_cast<double>(k) / kPointsPerSection, J)
                             .translation();
      const double depth = post.radius + kBody - distance_from(post, p);
      if (depth <= 0.0) continue;
      MeasuredContact contact;
      contact.position = p;
      contact.depth = depth;
      contact.force = stiffness * depth;
      arm.measurement.contacts.push_back(contact);
      Vector3d away = post.X_BO.inverse() * p;
      away.z() = 0.0;
      load += J.topRows<3>().transpose() * (post.X_BO.linear() * away.normalized()) * contact.force;
    }
  }
  return load;
}

double smallest_distance(const KinematicArm& arm, const ContinuumRobot& robot, const Post& post) {
  std::vector<SectionState> states(robot.straight().begin(), robot.straight().end());
  from_coordinates(robot, arm.measurement.q, states);
  double least = 1.0;
  for (int i = 0; i < robot.section_count(); ++i) {
    for (int k = 0; k <= kPointsPerSection; ++k) {
      least = std::min(least,
                       distance_from(post, backbone_pose(robot, states, arm.measurement.base, i,
                                                         static_cast<double>(k) / kPointsPerSection)
                                               .translation()));
    }
  }
  return least;
}

}  // namespace

TEST_CASE("coil: feeds clear of the post and holds it with the force asked for", "[controllers]") {
  constexpr double kLimit = 0.3;  // of the force
  const ContinuumRobot robot = long_arm();
  const double distance = GENERATE(0.047, -0.047, 0.035, -0.058);
  // Stiffness of a point [N/m]; how far the post is from where it is expected [m].
  const auto [stiffness, expected_aside] =
      GENERATE(table<double, double>({{300.0, 0.0}, {3000.0, 0.0}, {300.0, 0.003}}));
  CAPTURE(distance, stiffness, expected_aside);
  const Post post = post_at(distance);
  const Post expected = post_at(distance + expected_aside);
  CoilController controller = make(robot, &expected, quick());
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  double last_progress = 0.0;
  for (int k = 0; k < 6000 && run.report.status != ControllerStatus::Finished; ++k) {
    run.step(arm);
    touch(arm, robot, post, stiffness);
    REQUIRE(run.command.q.allFinite());
    REQUIRE(run.command.base.feed >= 0.0);
    REQUIRE(run.command.base.feed <= robot.base().feed_limit);
    REQUIRE(run.report.status != ControllerStatus::NoProgress);
    if (run.report.progress < 0.5) {
      REQUIRE(smallest_distance(arm, robot, post) > post.radius + kBody - 1e-9);
      REQUIRE(run.report.progress >= last_progress - 1e-12);
      last_progress = run.report.progress;
    }
  }
  REQUIRE(run.report.status == ControllerStatus::Finished);
  for (int k = 0; k < 1000; ++k) {  // and continues holding it
    run.step(arm);
    touch(arm, robot, post, stiffness);
  }
  double force = 0.0;
  for (const MeasuredContact& contact : arm.measurement.contacts) force += contact.force;
  CHECK(force == Approx(5.0).epsilon(kLimit));
  CHECK(run.report.status == ControllerStatus::Finished);
}

TEST_CASE("coil: by moments it holds the post as by contacts", "[controllers]") {
  constexpr double kLimit = 0.4;  // of the force
  const ContinuumRobot robot = long_arm();
  const std::vector<BodySpring> springs(std::size_t(robot.coordinate_count()),
                                        {.stiffness = 0.5, .damping = 0.05});
  const double distance = GENERATE(0.047, -0.035);
  const Post post = post_at(distance), expected = post_at(distance + 0.003);
  CoilController controller = make(robot, &expected, quick(), springs);
  CHECK(controller.needs_contacts() == ContactNeed::Grip);
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  double force = 0.0;
  const auto step = [&] {
    run.step(arm);
    const Eigen::VectorXd load = touch(arm, robot, post, 300.0);
    force = 0.0;
    for (const MeasuredContact& contact : arm.measurement.contacts) force += contact.force;
    arm.measurement.contacts.clear();
    for (int k = 0; k < robot.coordinate_count(); ++k)
      arm.measurement.moment[k] =
          springs[std::size_t(k)].moment(arm.measurement.q[k], arm.measurement.q_rate[k], 0.0) -
          load[k];
  };
  for (int k = 0; k < 6000 && run.report.status != ControllerStatus::Finished; ++k) step();
  REQUIRE(run.report.status == ControllerStatus::Finished);
  for (int k = 0; k < 1000; ++k) step();
  CAPTURE(distance);
  CHECK(force == Approx(5.0).epsilon(kLimit));
  CHECK(run.report.status == ControllerStatus::Finished);

  CHECK_THROWS_WITH(make(robot, &expected, quick({{"gravity_compensation", "false"}}), springs),
                    Catch::Contains("gravity_compensation = false"));
}

TEST_CASE("coil: a post that is not there is not held, and that is said", "[controllers]") {
  const ContinuumRobot robot = long_arm();
  const Post post = post_at(0.047);
  CoilController controller = make(robot, &post, quick({{"tighten_time", "5"}}));
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  bool finished = false;
  for (int k = 0; k < 3000; ++k) {
    run.step(arm);
    finished = finished || run.report.status == ControllerStatus::Finished;
  }
  CHECK(!finished);
  CHECK(run.report.status == ControllerStatus::NoProgress);
}

TEST_CASE("coil: a force that is lost is reported", "[controllers]") {
  const ContinuumRobot robot = long_arm();
  const Post post = post_at(0.047);
  CoilController controller = make(robot, &post, quick());
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  for (int k = 0; k < 6000 && run.report.status != ControllerStatus::Finished; ++k) {
    run.step(arm);
    touch(arm, robot, post, 1000.0);
  }
  REQUIRE(run.report.status == ControllerStatus::Finished);
  arm.measurement.contacts.clear();
  for (int k = 0; k < 1000; ++k) run.step(arm);
  CHECK(run.report.status == ControllerStatus::NoProgress);
}

TEST_CASE("coil: holding, the tip's goal moves by `press`", "[controllers]") {
  constexpr double kTipDeviation = 0.002;
  const ContinuumRobot robot = long_arm();
  const Post post = post_at(0.047);
  CoilController controller =
      make(robot, &post, quick({{"press", "0.01 0 0"}, {"press_sections", "3"}}));
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  Vector3d end = Vector3d::Zero();  // of the path drawn to the post
  for (int k = 0; k < 6000 && run.report.status != ControllerStatus::Finished; ++k) {
    run.step(arm);
    if (end.isZero() && run.report.progress == 0.75) end = run.report.target;
    touch(arm, robot, post, 1000.0);
  }
  REQUIRE(run.report.status == ControllerStatus::Finished);
  for (int k = 0; k < 2000; ++k) {
    run.step(arm);
    touch(arm, robot, post, 1000.0);
  }
  CHECK((arm.measurement.X_BE.translation() - end - Vector3d(0.01, 0, 0)).norm() < kTipDeviation);
}

TEST_CASE(
    "coil: a post that comes along is pulled back by `withdraw`, one that remains behind is "
    "reported",
    "[controllers]") {
  constexpr double kBackwards = 0.12;  // [m]
  constexpr double kDrawn = 0.03;      // by which the base moves, drawing tight [m]
  const bool comes_along = GENERATE(true, false);
  CAPTURE(comes_along);
  const ContinuumRobot robot = long_arm();
  Post post = post_at(0.047);
  CoilController controller =
      make(robot, &post, quick({{"withdraw", "0.12"}, {"withdraw_time", "2"}}));
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  const double home = post.X_BO.translation().z();
  double held_feed = 0.0;  // when the coil begins to move back
  for (int k = 0; k < 8000; ++k) {
    const double feed = arm.measurement.base.feed;
    if (run.report.progress <= 0.75) held_feed = feed;
    run.step(arm);
    if (comes_along && held_feed > 0.0)
      post.X_BO.translation().z() = home - std::max(0.0, held_feed - arm.measurement.base.feed);
    touch(arm, robot, post, 1000.0);
    if (comes_along && run.report.progress >= 0.75)
      REQUIRE(run.report.status != ControllerStatus::NoProgress);
  }
  CHECK(run.report.status ==
        (comes_along ? ControllerStatus::Finished : ControllerStatus::NoProgress));
  if (comes_along) CHECK(std::abs(held_feed - arm.measurement.base.feed - kBackwards) < kDrawn);
}

TEST_CASE("coil: an update is a pure function of its arguments and allocates nothing",
          "[controllers]") {
  const ContinuumRobot robot = long_arm();
  const Post post = post_at(0.047);
  CoilController controller = make(robot, &post, quick());
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  for (int k = 0; k < 1500; ++k) {
    run.update(arm.measurement);
    const Eigen::VectorXd q = run.command.q;
    const std::vector<double> next = run.next;
    AllocationCounter counter;
    run.update(arm.measurement);
    if (k % 100 == 0) REQUIRE(counter.count() == 0);
    REQUIRE(run.command.q == q);
    REQUIRE(run.next == next);
    run.step(arm);
    touch(arm, robot, post, 1000.0);
  }
}

TEST_CASE("coil: what cannot be coiled around is refused with the reason", "[controllers]") {
  const ContinuumRobot robot = long_arm();
  const auto refused = [&](const ContinuumRobot& arm, const Post& post, Texts texts,
                           const char* reason) {
    CHECK_THROWS_WITH(make(arm, &post, quick(std::move(texts))), Catch::Contains(reason));
  };
  const Post good = post_at(0.047);
  CHECK_NOTHROW(make(robot, &good, quick()));
  CHECK_THROWS_WITH(make(robot, nullptr, quick()), Catch::Contains("post: missing"));
  refused(robot, good, {{"press", "1 2"}}, "press");
  refused(robot, good, {{"press_sections", "7"}}, "press_sections");
  refused(robot, good, {{"press", "0.01 0 0"}, {"withdraw", "0.1"}}, "withdraw: must not be");
  refused(robot, good, {{"withdraw", "0.7"}}, "withdraw = 700 mm: must be at most");
  refused(long_arm(0.1), good, {}, "post = pole: the path around it is");
  refused(long_arm(0.0), good, {}, "base.feed");
  refused(robot, post_at(0.047, 0.03, 0.4, -0.2), {}, "post = pole");   // behind the base
  refused(robot, post_at(0.047, 0.03, 1.55), {}, "post = pole");        // along the feed axis
  refused(robot, post_at(0.15), {}, "passes the feed axis at 150 mm");  // too far aside
  refused(robot, post_at(0.0, 0.03, 0.4, 0.62), {}, "20 mm past the straight arm's tip");
  Post short_post = good;
  short_post.half_length = 0.045;
  refused(robot, short_post, {}, "the winding leaves it");
}
