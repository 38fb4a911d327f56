#include "controllers/arm/contact_plan_controller.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "tendril/model_error.hpp"
#include "tests/controllers/kinematic_arm.hpp"
#include "tests/controllers/test_scene.hpp"
#include "tests/rod/elastic_cases.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector2d;
using Texts = std::vector<std::pair<std::string, std::string>>;

namespace {

constexpr double kTimestep = 0.01;
constexpr double kGuide = 1.2, kSection = 0.4, kRadius = 0.01, kPlay = 0.0005;
constexpr int kSections = 3;

ContinuumRobot rod_arm(double feed_limit = 1.2) {
  const SectionParameters section{.length = kSection, .bend_angle_limit = 6.28};
  return ContinuumRobot(std::vector<SectionParameters>(kSections, section),
                        {.feed_limit = feed_limit});
}

ContactPlan plan_of(const ElasticCase& c) {
  return {.base = {},
          .body_radius = kRadius,
          .arcs = c.plan(),
          .contacts = c.contacts,
          .scene = c.scene};
}

ContactPlanController make(const ContinuumRobot& robot, const ContactPlan& plan, Texts texts = {},
                           bool sees_contacts = true) {
  texts.emplace_back("plan", contact_plan_text(plan));
  const Settings settings(ContactPlanController::settings(), std::move(texts));
  ArmContext context{robot, settings, kTimestep, std::numeric_limits<double>::infinity()};
  context.guide_length = kGuide;
  context.guide_clearance = kPlay;
  context.body_radius = kRadius;
  context.bending_stiffness = 0.05;
  context.sees_contacts = sees_contacts;
  return ContactPlanController(context);
}

PlanarScene moved(const PlanarScene& scene, const Vector2d& shift) {
  PlanarScene result;
  for (int i = 0; i < scene.size(); ++i) {
    if (const auto* disc = std::get_if<Disc>(&scene.obstacle(i))) {
      result.add(Disc{disc->center + shift, disc->radius});
    } else {
      Polygon polygon = std::get<Polygon>(scene.obstacle(i));
      for (Vector2d& corner : polygon.corners) corner += shift;
      result.add(std::move(polygon));
    }
  }
  return result;
}

/// An elastic rod that is always at rest, as what the controller measures.
class RodAtRest {
 public:
  RodAtRest(const PlanarScene& scene, double play, int coordinates)
      : rod_(scene, {}, {.body_radius = kRadius, .max_length = 1.3, .guide_clearance = play}),
        measurement(coordinates) {
    measurement.timestep = kTimestep;
  }

  void obey(const ArmCommand& command) {
    measurement.time += kTimestep;
    const double length = command.base.feed + kSections * kSection - kGuide;
    if (length < 0.03) {
      measurement.X_BE.translation() = Eigen::Vector3d(0.0, 0.0, kGuide + length);
      return;
    }
    const RodSolution solution = rod_.solve(command.q[0] / kSection, length);
    const Vector2d tip = solution.tip.position;
    measurement.X_BE.translation() = Eigen::Vector3d(tip.x(), 0.0, kGuide + tip.y());
    measurement.contacts.clear();
    for (const RodContact& contact : solution.contacts) {
      const Vector2d point = contact.position - kRadius * contact.direction;
      MeasuredContact measured;
      measured.position = {point.x(), 0.0, kGuide + point.y()};
      measured.normal = {contact.direction.x(), 0.0, contact.direction.y()};
      measured.arc_length = contact.arc_length;
      measurement.contacts.push_back(measured);
    }
  }

 private:
  ElasticRod rod_;

 public:
  ArmMeasurement measurement;
};

/// Feeds the arm along the whole path.
void run_until_fed(ControllerRun& run, RodAtRest& arm) {
  for (int step = 0; step < 4000 && run.report.progress < 1.0; ++step) {
    run.update(arm.measurement);
    run.advance();
    arm.obey(run.command);
  }
}

std::string refusal(const ContactPlan& plan, const Texts& texts, double feed_limit = 1.2) {
  try {
    static_cast<void>(make(rod_arm(feed_limit), plan, texts));
  } catch (const ModelError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("wrap: finds the target though obstacles and play are not what was planned",
          "[controllers]") {
  constexpr double kTolerance = 1e-3;  // m
  constexpr int kFirst = 0, kThird = 4;
  struct Case {
    int index;
    Vector2d shift;
    double play;
    const char* clearance;
  };
  const auto c = GENERATE(values<Case>(
      {{kFirst, {0.002, -0.002}, 0.0007, "0.004"}, {kThird, {-0.002, 0.002}, 0.0003, "0.008"}}));
  const ElasticCase elastic = elastic_cases()[static_cast<std::size_t>(c.index)];
  CAPTURE(elastic.name);
  const ContinuumRobot robot = rod_arm();
  ContactPlanController controller =
      make(robot, plan_of(elastic), {{"passing_clearance", c.clearance}});
  ControllerRun run(controller, robot);
  RodAtRest arm(moved(elastic.scene, c.shift), c.play, robot.coordinate_count());

  double feed_end = 0.0;
  int most_expected = 0, expected_before = 0;
  for (int step = 0; step < 4000; ++step) {
    run.update(arm.measurement);
    run.advance();
    arm.obey(run.command);
    CHECK(run.report["contacts_expected"] >= expected_before);  // the tip does not go back
    expected_before = static_cast<int>(run.report["contacts_expected"]);
    most_expected = std::max(most_expected, expected_before);
    if (run.report.progress >= 1.0 && feed_end == 0.0) feed_end = arm.measurement.time;
    if (feed_end > 0.0 && arm.measurement.time > feed_end + 10.0) break;
  }
  CHECK(feed_end > 0.0);
  CHECK(most_expected == static_cast<int>(elastic.contacts.size()));
  CHECK(run.report["contacts_made"] >= 1);
  CHECK(run.report.tip_error <= kTolerance);
  CHECK(run.report.status == ControllerStatus::Finished);
}

TEST_CASE("wrap: where no sensor tells of contacts it works by those of its model",
          "[controllers]") {
  struct Case {
    int index;
    Vector2d shift;
    double play;
    const char* force_limit;
    int failure;
  };
  const auto c = GENERATE(values<Case>({{0, {0.002, -0.002}, 0.0007, "30", 0},
                                        {2, {0.0, 0.002}, 0.0005, "30", 0},
                                        {4, {-0.002, 0.002}, 0.0003, "30", 0},
                                        {4, {0.0, 0.0}, 0.0005, "0.1", 3}}));
  const ElasticCase elastic = elastic_cases()[static_cast<std::size_t>(c.index)];
  CAPTURE(elastic.name, c.failure);
  const ContinuumRobot robot = rod_arm();
  ContactPlanController controller =
      make(robot, plan_of(elastic), {{"force_limit", c.force_limit}}, false);
  ControllerRun run(controller, robot);
  RodAtRest arm(moved(elastic.scene, c.shift), c.play, robot.coordinate_count());
  std::size_t touching = 0;
  double most_made = 0.0;
  for (int step = 0; step < 4000; ++step) {
    arm.measurement.contacts.clear();
    run.update(arm.measurement);
    run.advance();
    arm.obey(run.command);
    touching = arm.measurement.contacts.size();
    most_made = std::max(most_made, run.report["contacts_made"]);
  }
  CHECK(most_made >= 1);
  CHECK(run.report["failure_reason"] == c.failure);
  if (c.failure != 0) return;
  CHECK(run.report["contacts_made"] == double(touching));
  CHECK(run.report.tip_error <= 1e-3);
  CHECK(run.report.status == ControllerStatus::Finished);
}

TEST_CASE("wrap: without feedback it misses by what it otherwise finds", "[controllers]") {
  constexpr int kThird = 4;
  const ElasticCase elastic = elastic_cases()[kThird];
  const ContinuumRobot robot = rod_arm();
  ContactPlanController controller = make(robot, plan_of(elastic), {{"feedback", "none"}});
  ControllerRun run(controller, robot);
  RodAtRest arm(moved(elastic.scene, {-0.002, 0.002}), 0.0003, robot.coordinate_count());
  run_until_fed(run, arm);
  CHECK(run.report.progress == 1.0);
  CHECK(run.report.tip_error > 0.001);
  CHECK(run.report.tip_error < 0.05);
}

TEST_CASE("wrap: the correction pauses where the tip rests, and resumes when it is moved away",
          "[controllers]") {
  constexpr int kThird = 4, kMore = 1500;
  const ElasticCase elastic = elastic_cases()[kThird];
  const ContinuumRobot robot = rod_arm();
  ContactPlanController controller = make(robot, plan_of(elastic));
  ControllerRun run(controller, robot);
  RodAtRest arm(elastic.scene, kPlay, robot.coordinate_count());
  run_until_fed(run, arm);
  const auto pushed_by = [&](double offset) {  // the tip, away from where the body has it [m]
    for (int i = 0; i < kMore; ++i) {
      run.update(arm.measurement);
      run.advance();
      arm.obey(run.command);
      arm.measurement.X_BE.translation().x() += offset;
    }
  };
  pushed_by(0.0);
  REQUIRE(run.report.tip_error < 0.0006);
  const double feed = run.command.base.feed, bend = run.command.q[0];
  pushed_by(run.report.tip_error < 0.0003 ? 0.0002 : -0.0002);
  CHECK(run.command.base.feed == Approx(feed).margin(1e-9));
  CHECK(run.command.q[0] == Approx(bend).margin(1e-6));
  pushed_by(0.003);
  CHECK(std::abs(run.command.base.feed - feed) + std::abs(run.command.q[0] - bend) > 1e-3);
  CHECK(run.report.tip_error < 0.001);
}

TEST_CASE("wrap: an update is a function of measurement and memory, and allocates nothing",
          "[controllers]") {
  const ElasticCase elastic = elastic_cases()[4];
  const ContinuumRobot robot = rod_arm();
  ContactPlanController controller = make(robot, plan_of(elastic));
  ContactPlanController other = make(robot, plan_of(elastic));
  ControllerRun run(controller, robot), twin(other, robot);
  RodAtRest arm(elastic.scene, kPlay, robot.coordinate_count());
  long allocations = 0;
  for (int step = 0; step < 2200; ++step) {
    const AllocationCounter counter;
    run.update(arm.measurement);
    allocations += counter.count();
    if (step % 100 == 0) {  // another controller, given the memory, continues alike
      twin.memory = run.memory;
      twin.update(arm.measurement);
      CHECK(twin.next == run.next);
      CHECK(twin.command.q == run.command.q);
      CHECK(twin.command.base.feed == run.command.base.feed);
    }
    run.advance();
    arm.obey(run.command);
  }
  CHECK(run.report.progress == 1.0);
  CHECK(allocations == 0);
}

TEST_CASE("wrap: too much feed force for too long stops the feed for good", "[controllers]") {
  const ElasticCase elastic = elastic_cases()[4];
  const ContinuumRobot robot = rod_arm();
  ContactPlanController controller =
      make(robot, plan_of(elastic), {{"jam_feed_force", "20"}, {"max_candidates", "1"}});
  ControllerRun run(controller, robot);
  RodAtRest arm(elastic.scene, kPlay, robot.coordinate_count());
  double feed = 0.0;
  for (int step = 0; step < 1000; ++step) {
    arm.measurement.feed_force = step >= 600 && step < 650 ? 25.0 : 2.0;
    run.update(arm.measurement);
    run.advance();
    arm.obey(run.command);
    if (step == 660) feed = run.command.base.feed;
  }
  CHECK(run.report.status == ControllerStatus::Jammed);
  CHECK(feed > 0.1);
  CHECK(run.command.base.feed == Approx(feed).margin(1e-3));
}

TEST_CASE("wrap: a path that fails is withdrawn from, and the next one is tried", "[controllers]") {
  const ElasticCase elastic = elastic_cases()[4];
  const ContinuumRobot robot = rod_arm();
  ContactPlanController controller = make(robot, plan_of(elastic), {{"jam_feed_force", "20"}});
  ControllerRun run(controller, robot);
  RodAtRest arm(elastic.scene, kPlay, robot.coordinate_count());
  bool withdrew = false;
  double most = 0.0;
  for (int step = 0; step < 6500; ++step) {
    arm.measurement.feed_force = step >= 600 && step < 650 ? 25.0 : 2.0;
    run.update(arm.measurement);
    run.advance();
    arm.obey(run.command);
    if (run.report.status == ControllerStatus::NoProgress) {
      most = std::max(most, run.report.progress);
      withdrew = withdrew || run.command.base.feed < 0.01;
    }
  }
  CHECK(most > 0.1);
  CHECK(withdrew);
  CHECK(run.report["candidate"] == 2);
  CHECK(run.report["failure_reason"] == 4);
  CHECK(run.report.status == ControllerStatus::Finished);
}

TEST_CASE("wrap: every path that fails has its reason, and at the end it does not say working",
          "[controllers]") {
  constexpr double kFailedForSure = 400.0;  // of all paths [s]
  const ElasticCase elastic = elastic_cases()[4];
  const ContinuumRobot robot = rod_arm();
  struct Case {
    const char* name;
    Vector2d shift;  // of all obstacles
    double force;    // of a contact
    double offset;   // of the tip, once it is fed [m]
    int failure;
  };
  const auto c = GENERATE(values<Case>({{"obstacles elsewhere", {-0.1, 0.05}, 0.5, 0.0, 1},
                                        {"force", {0.0, 0.0}, 40.0, 0.0, 3},
                                        {"the tip is held", {0.0, 0.0}, 0.5, 0.02, 5}}));
  CAPTURE(c.name);
  ContactPlanController controller =
      make(robot, plan_of(elastic), {{"max_candidates", "2"}, {"stall_timeout", "2"}});
  ControllerRun run(controller, robot);
  RodAtRest arm(moved(elastic.scene, c.shift), kPlay, robot.coordinate_count());
  bool tried_all = false;
  for (int step = 0; step * kTimestep < kFailedForSure; ++step) {
    for (MeasuredContact& contact : arm.measurement.contacts) contact.force = c.force;
    run.update(arm.measurement);
    run.advance();
    arm.obey(run.command);
    if (c.offset > 0.0 && run.report.progress >= 1.0)
      arm.measurement.X_BE.translation() = run.report.target + Eigen::Vector3d(c.offset, 0.0, 0.0);
    tried_all = tried_all || run.report["candidate"] == 2;
    if (tried_all && run.report.status == ControllerStatus::NoProgress &&
        run.command.base.feed < 1e-6)
      break;
  }
  CHECK(tried_all);
  CHECK(run.report["failure_reason"] == c.failure);
  CHECK(run.report.status == ControllerStatus::NoProgress);
}

TEST_CASE("wrap: executes plans without contacts and plans as they are", "[controllers]") {
  const ContinuumRobot robot = rod_arm();
  ContactPlan free{.base = {}, .body_radius = kRadius, .arcs = {}, .contacts = {}, .scene = {}};
  free.arcs.push_back({{}, 2.0, 0.5});
  const ElasticCase elastic = elastic_cases()[3];
  struct Case {
    ContactPlan plan;
    Texts texts;
  };
  const std::vector<Case> cases = {
      {free, {}},
      {free, {{"elastic", "false"}}},
      {plan_of(elastic), {{"elastic", "false"}, {"feedback", "none"}}}};
  for (const Case& c : cases) {
    ContactPlanController controller = make(robot, c.plan, c.texts);
    ControllerRun run(controller, robot);
    RodAtRest arm(c.plan.scene, 0.0, robot.coordinate_count());
    double curvature = 0.0, length = 0.0;
    for (int step = 0; step < 4000; ++step) {
      run.update(arm.measurement);
      run.advance();
      arm.obey(run.command);
      if (run.report.progress >= 1.0 && length == 0.0) {
        length = run.command.base.feed + kSections * kSection - kGuide;
        curvature = run.command.q[0] / kSection;
      }
    }
    CHECK(run.report.progress == 1.0);
    CHECK(run.report.status != ControllerStatus::Jammed);
    if (c.texts.empty()) {
      CHECK(run.report.tip_error < 1e-3);
      continue;
    }
    // As planned: the last arc's curvature, the length of all arcs.
    double planned = 0.0;
    for (const PlanarArc& arc : c.plan.arcs) planned += arc.length;
    CHECK(length == Approx(planned).margin(1e-3));
    CHECK(curvature == Approx(c.plan.arcs.back().curvature).margin(1e-6));
  }
}

TEST_CASE("wrap: plans its paths among the solids of a scene", "[controllers]") {
  const ContinuumRobot robot = rod_arm();
  TestScene scene;
  scene.target = {0.35, 0.0, kGuide + 0.64};
  const double boxes[][4] = {{.15, .21, .31, .51}, {-.03, .19, .58, .78}, {.36, .42, .08, .24}};
  for (const auto& b : boxes) {  // case 2
    Solid box{.name = "box", .kind = Solid::Kind::Box};
    box.size = {0.5 * (b[1] - b[0]), 0.03, 0.5 * (b[3] - b[2])};
    box.X_BO.translation() =
        Eigen::Vector3d(0.5 * (b[0] + b[1]), 0.0, kGuide + 0.5 * (b[2] + b[3]));
    scene.all.push_back(box);
  }
  const auto planned = [&](Texts texts) {
    texts.emplace_back("target", "target");
    const Settings settings(ContactPlanController::settings(), std::move(texts));
    return ContactPlanController({.robot = robot,
                                  .settings = settings,
                                  .timestep = kTimestep,
                                  .guide_length = kGuide,
                                  .body_radius = kRadius,
                                  .bending_stiffness = 0.05,
                                  .scene = scene});
  };
  ContactPlanController controller = planned({});
  ControllerRun run(controller, robot);
  RodAtRest arm(elastic_cases()[2].scene, kPlay, robot.coordinate_count());
  run_until_fed(run, arm);
  for (int step = 0; step < 1000; ++step) {
    run.update(arm.measurement);
    run.advance();
    arm.obey(run.command);
  }
  CHECK(run.report["candidate"] == 1);
  CHECK(run.report.status == ControllerStatus::Finished);
  CHECK((run.report.target - scene.target).norm() < 1e-9);

  CHECK_THROWS_WITH(planned({{"max_contacts", "0"}}),
                    "target = target: no path found with at most 0 contacts");
  CHECK_THROWS_WITH(planned({{"elastic", "false"}}), Catch::Contains("elastic: must be true"));
  scene.target.x() = 0.18;
  CHECK_THROWS_WITH(planned({}), Catch::Contains("target: is inside box"));
}

TEST_CASE("wrap: what is refused, and how it is said", "[controllers]") {
  const ContactPlan plan = plan_of(elastic_cases()[4]);
  CHECK_THROWS_WITH(make(rod_arm(), plan, {{"feedback", "contact"}}, false),
                    "measured = sensors: feedback = contact works by the contacts of the body, of "
                    "which no sensor tells: must be model or none");
  CHECK_THROWS_WITH(make(rod_arm(), plan, {{"elastic", "false"}}, false),
                    "measured = sensors: elastic = false works by the contacts of the body, of "
                    "which no sensor tells: must be true, or feedback = none");
  CHECK_NOTHROW(make(rod_arm(), plan, {{"elastic", "false"}, {"feedback", "none"}}, false));
  CHECK(refusal(plan, {}) == "accepted");
  CHECK_THAT(refusal(plan, {{"feedback", "some"}}),
             Catch::Contains("feedback = some: must be one of"));
  CHECK_THAT(refusal(plan, {{"elastic", "false"}, {"feedback", "model"}}),
             Catch::Contains("feedback = model: needs elastic = true"));
  CHECK_THAT(refusal(plan, {{"speed", "0"}}), Catch::Contains("speed = 0: must be"));
  CHECK_THAT(refusal(plan, {}, 0.5), Catch::Contains("plan: needs a length of"));
  ContactPlan thick = plan;
  thick.body_radius = 0.02;
  CHECK_THAT(refusal(thick, {}),
             Catch::Contains("body_radius = 0.02 m: must be that of the arm, 0.01 m"));
}
