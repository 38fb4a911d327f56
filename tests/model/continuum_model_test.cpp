#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model_error.hpp"
#include "tests/model/compiled_model.hpp"

using namespace tendril;
using namespace tendril::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

constexpr double kTotalsTolerance = 1e-9;  // rounding of twelve printed digits

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

TEST_CASE("link layout: links follow the lengths, bends follow the angle weights", "[mjcf]") {
  const Section section(
      {.length = 0.07, .length_weights = {20, 40, 10}, .angle_weights = {1, 0, 3}});
  const LinkLayout layout = link_layout(section, 14);
  REQUIRE(layout.length.size() == 14);
  REQUIRE(layout.bend_fraction.size() == 14);
  CHECK(sum(layout.length) == Approx(1.0).margin(1e-12));
  CHECK(sum(layout.bend_fraction) == Approx(1.0).margin(1e-12));
  for (const double length : layout.length) CHECK(length == Approx(1.0 / 14));
  // Four links share a quarter of the bend, the outer two 1/12 more than their part, their
  // neighbors as much less.
  const double part = 0.25 / 4;
  const double expected[14] = {
      part * 13 / 12, part * 11 / 12, part * 11 / 12, part * 13 / 12, 0, 0, 0, 0, 0, 0, 0, 0,
      0.75 / 2,       0.75 / 2};
  for (std::size_t j = 0; j < 14; ++j)
    CHECK(layout.bend_fraction[j] == Approx(expected[j]).margin(1e-15));
}

TEST_CASE("link layout: every sub-section has a link, however short", "[mjcf]") {
  const Section section({.length = 0.1, .length_weights = {1000, 1}, .angle_weights = {1, 1}});
  const LinkLayout layout = link_layout(section, 5);
  CHECK(layout.length.back() == Approx(1.0 / 1001));
  CHECK(layout.bend_fraction.back() == Approx(0.5));
  CHECK_THROWS_AS(link_layout(section, 1), ModelError);
}

TEST_CASE("continuum model: masses and lengths add up to the description", "[mjcf]") {
  const std::string file = GENERATE("models/arm_3x10.toml", "models/arm_mixed.toml");
  const ContinuumDescription robot = load_as<ContinuumDescription>(file);
  const std::string xml = continuum_mjcf(robot);
  CHECK_THAT(xml, StartsWith("<!-- Made from a robot file by: tendril model"));
  CHECK(xml == continuum_mjcf(load_as<ContinuumDescription>(file)));
  const Simulation simulation(xml);
  double length = 0.0, mass = 0.0;
  if (robot.base.feed_limit > 0.0) mass += robot.base_physics.carriage_mass;
  for (std::size_t i = 0; i < robot.sections.size(); ++i) {
    const SectionParameters& section = robot.sections[i];
    length += section.length + section.variable_length / 2.0;
    mass += robot.physics[i].mass;
    const std::string end = names::section_end(static_cast<int>(i) + 1);
    CHECK(simulation.site_pose(end).translation().z() == Approx(length).margin(kTotalsTolerance));
  }
  CHECK(simulation.site_pose(names::kTip).translation().z() ==
        Approx(length).margin(kTotalsTolerance));
  CHECK(simulation.total_mass() == Approx(mass).margin(kTotalsTolerance));
}

TEST_CASE("continuum model: hinge stiffnesses in series are the section's", "[mjcf]") {
  const ContinuumDescription robot = parse_as<ContinuumDescription>(R"(
[[section]]
constant_length = 0.1
variable_length = 0.1
bend_limit = 2
links = 9
bending_stiffness = 0.06
length_weights = [1, 2]
angle_weights = [3, 1]
)",
                                                                    "arm.toml");
  const Simulation simulation(continuum_mjcf(robot));
  double bend_compliance = 0.0, axial_compliance = 0.0;
  for (int j = 1; j <= 9; ++j) {
    const int hinge = simulation.id(mjOBJ_JOINT, names::hinge(1, j, 'x'));
    const int slide = simulation.id(mjOBJ_JOINT, names::slide(1, j));
    bend_compliance += 1.0 / simulation.model->jnt_stiffness[hinge];
    axial_compliance += 1.0 / simulation.model->jnt_stiffness[slide];
  }
  CHECK(1.0 / bend_compliance == Approx(0.06 / 0.15));
  CHECK(1.0 / axial_compliance == Approx(robot.physics[0].axial_stiffness));
}

TEST_CASE("continuum model: slides keep a telescopic link from vanishing", "[mjcf]") {
  const ContinuumDescription robot = parse_as<ContinuumDescription>(
      "[[section]]\nvariable_length = 0.2\nbend_limit = 2\nlinks = 5\n", "arm.toml");
  const Simulation simulation(continuum_mjcf(robot));
  const int slide = simulation.id(mjOBJ_JOINT, names::slide(1, 3));
  CHECK(simulation.model->jnt_range[2 * slide] == Approx(-0.02 * 0.98));
  CHECK(simulation.model->jnt_range[2 * slide + 1] == Approx(0.02));
}

TEST_CASE("continuum model: links without bend have no hinges", "[mjcf]") {
  const ContinuumDescription robot = parse_as<ContinuumDescription>(
      "[[section]]\nconstant_length = 0.1\nbend_limit = 2\nlinks = 4\n"
      "length_weights = [1, 1]\nangle_weights = [0, 1]\n",
      "arm.toml");
  const Simulation simulation(continuum_mjcf(robot));
  CHECK(simulation.model->njnt == 4);
  CHECK_FALSE(simulation.has(mjOBJ_JOINT, names::hinge(1, 2, 'x')));
  CHECK(simulation.has(mjOBJ_JOINT, names::hinge(1, 3, 'x')));
}

TEST_CASE("continuum model: the documented names exist", "[mjcf]") {
  const std::string compliance = GENERATE("section", "link");
  const ContinuumDescription robot = parse_as<ContinuumDescription>(
      "compliance = \"" + compliance +
          "\"\n[base]\nfeed = 0.1\nspin = true\n[[section]]\nvariable_length = "
          "0.1\nbend_limit = 2\n",
      "arm.toml");
  const Simulation simulation(continuum_mjcf(robot));
  for (const char* body : {names::kBase, names::kCarriage, "s1_l10"}) {
    CHECK(simulation.has(mjOBJ_BODY, body));
  }
  for (const char* actuator : {"feed", "spin", "s1_z"}) {
    CHECK(simulation.has(mjOBJ_ACTUATOR, actuator));
  }
  CHECK(simulation.has(mjOBJ_ACTUATOR, "s1_x") == (compliance == "section"));
  CHECK(simulation.has(mjOBJ_TENDON, "s1_y") == (compliance == "section"));
  CHECK(simulation.has(mjOBJ_ACTUATOR, "s1_l10_y") == (compliance == "link"));
  CHECK(simulation.has(mjOBJ_GEOM, "s1_l1"));
  CHECK(simulation.has(mjOBJ_SITE, "s1_end"));
  CHECK(simulation.has(mjOBJ_SITE, names::kTip));
}

TEST_CASE("continuum model: self-collision leaves out the links that always touch", "[mjcf]") {
  struct Case {
    int links;
    int reach;  ///< floor(1 + 2r/l)
  };
  const auto c = GENERATE(values<Case>({{10, 2}, {20, 4}}));
  CAPTURE(c.links);
  const ContinuumDescription robot = parse_as<ContinuumDescription>(
      "self_collision = true\n[[section]]\nconstant_length = 0.1\nbend_limit = 2\nlinks = " +
          std::to_string(c.links) + "\n",
      "arm.toml");
  const Simulation simulation(continuum_mjcf(robot));
  int expected = c.reach;  // of the part before the first joints
  for (int d = 1; d <= c.reach; ++d) expected += c.links - d;
  CHECK(simulation.model->nexclude == expected);
  CHECK(simulation.data->ncon == 0);
  CHECK(simulation.model->geom_contype[simulation.id(mjOBJ_GEOM, "s1_l1")] == 3);
}

TEST_CASE("continuum model: the largest robot that a file may ask for compiles", "[mjcf][slow]") {
  std::string text = "[base]\nfeed = 0.1\n";
  for (int i = 0; i < 2; ++i) {
    text += "[[section]]\nconstant_length = 1.0\nbend_limit = 2\nlinks = 200\n";
  }
  const SpecPtr spec = parse_spec(continuum_mjcf(parse_as<ContinuumDescription>(text, "arm.toml")));
  CHECK(mjs_findBody(spec.get(), "s2_l200") != nullptr);
}

TEST_CASE("continuum model: two arms attach to one scene", "[mjcf]") {
  const ContinuumDescription robot = load_as<ContinuumDescription>("models/arm_mixed.toml");
  const std::string xml = continuum_mjcf(robot);
  const SpecPtr scene = parse_spec(
      "<mujoco><option integrator=\"discrete\" cone=\"elliptic\" impratio=\"10\"/><worldbody>"
      "<frame name=\"left\" pos=\"-1 0 0\"/><frame name=\"right\" pos=\"1 0 0\"/>"
      "</worldbody></mujoco>");
  const SpecPtr left = parse_spec(xml), right = parse_spec(xml);
  for (const auto& [spec, name, prefix] :
       {std::tuple(left.get(), "left", "A_"), std::tuple(right.get(), "right", "B_")}) {
    mjsFrame* frame = mjs_findFrame(scene.get(), name);
    mjsBody* base = mjs_findBody(spec, names::kBase);
    REQUIRE((frame != nullptr && base != nullptr));
    REQUIRE(mjs_attach(frame->element, base->element, prefix, "") != nullptr);
  }
  Simulation simulation(scene.get());
  const Simulation alone(xml);
  CHECK(simulation.model->nv == 2 * alone.model->nv);
  CHECK(simulation.model->nu == 2 * alone.model->nu);
  CHECK(simulation.model->ntendon == 2 * alone.model->ntendon);

  simulation.set_gravity(Eigen::Vector3d::Zero());
  const std::vector<SectionState> bent{{.theta = 0.8, .phi = 0.2, .extension = 0.02},
                                       {.theta = 0.5, .phi = 1.0, .extension = 0.05},
                                       {.theta = 0.3, .phi = -2.0}};
  const std::vector<SectionState> straight{
      {.extension = 0.0125}, {.extension = 0.06}, {.extension = 0.0}};
  simulation.model->opt.timestep = 0.01;
  simulation.command(robot, bent, {}, "A_");
  simulation.command(robot, straight, {}, "B_");
  simulation.run(1.0);
  const Eigen::Vector3d a = simulation.site_pose("A_tip").translation();
  const Eigen::Vector3d b = simulation.site_pose("B_tip").translation();
  CHECK((b - alone.site_pose("tip").translation() - Eigen::Vector3d(1, 0, 0)).norm() < 1e-5);
  CHECK((a + b).head<2>().norm() > 0.02);
}

TEST_CASE("continuum model: the controller travels as a plugin instance with its sensors",
          "[mjcf]") {
  const std::string text =
      "# a < b & \"c\"\n[[section]]\nconstant_length = 0.1\nbend_limit = 2\n"
      "[controller]\nplugin = \"tendril.reach\"\ntarget = \"target\"\ngain = [1, 2.5]\n";
  const std::vector<std::string> sensors{"status", "tip_error", "command"};
  const std::string xml = continuum_mjcf(parse_as<ContinuumDescription>(text, "arm.toml"), sensors);
  CHECK_THAT(xml,
             Contains("<plugin plugin=\"tendril.reach\">\n      <instance name=\"controller\">"));
  CHECK_THAT(
      xml,
      Contains(
          "<config key=\"robot\" value=\"# a &lt; b &amp; &quot;c&quot;&#10;[[section]]&#10;"));
  CHECK_THAT(xml, Contains("<config key=\"target\" value=\"target\"/>"));
  CHECK_THAT(xml, Contains("<config key=\"gain\" value=\"1 2.5\"/>"));
  CHECK_THAT(xml, Contains("<body name=\"base\">\n      <plugin plugin=\"tendril.reach\" "
                           "instance=\"controller\"/>"));
  for (const std::string& sensor : sensors) {
    CHECK_THAT(xml, Contains("<plugin name=\"" + sensor +
                             "\" plugin=\"tendril.reach\" instance=\"controller\"/>"));
  }
  CHECK_THAT(continuum_mjcf(load_as<ContinuumDescription>("models/arm_3x10.toml")),
             !Contains("plugin"));
}

TEST_CASE("continuum model: inner iterations suffice for the tendons", "[mjcf]") {
  std::string text;
  for (int i = 0; i < 20; ++i) {
    text += "[[section]]\nconstant_length = 0.1\nbend_limit = 2\nlinks = 2\n";
  }
  const Simulation simulation(continuum_mjcf(parse_as<ContinuumDescription>(text, "arm.toml")));
  CHECK(simulation.model->opt.iterations >= 4 * simulation.model->ntendon);
  CHECK(simulation.model->opt.integrator == mjINT_DISCRETE);
  CHECK(simulation.model->opt.cone == mjCONE_ELLIPTIC);
}

TEST_CASE("continuum model: an elastic arm remains in the start pose that it is commanded to keep",
          "[mjcf]") {
  const std::string compliance = GENERATE("section", "link");
  const std::string planar = GENERATE("true", "false");
  CAPTURE(compliance, planar);
  const std::string section = "[[section]]\nconstant_length = 0.1\nbend_limit = 3\nbend_gain = 0\n";
  const ContinuumDescription robot = parse_as<ContinuumDescription>(
      "compliance = \"" + compliance + "\"\nplanar = " + planar + "\n" + section + section +
          "[base]\nfeed = 0.2\n[start]\nfeed = 0.05\narcs = [10, 0.1, -20, 0.1]\n"
          "bends = [1, -2]\n",
      "arm.toml");
  Simulation simulation(continuum_mjcf(robot));
  simulation.set_gravity(Eigen::Vector3d::Zero());
  const int key = simulation.id(mjOBJ_KEY, names::kStart);
  mj_resetDataKeyframe(simulation.model.get(), simulation.data.get(), key);
  mj_forward(simulation.model.get(), simulation.data.get());
  // Heading after one arc is 1 rad, after both -1 rad.
  for (const auto& [site, heading] : {std::pair{"s1_end", 1.0}, std::pair{"s2_end", -1.0}}) {
    const Eigen::Vector3d z = simulation.site_pose(site).linear().col(2);
    CHECK(std::atan2(z.x(), z.z()) == Approx(heading).margin(kTotalsTolerance));
  }
  const Eigen::Vector3d start = simulation.site_pose(names::kTip).translation();
  simulation.run(3.0);
  // The file's arcs turn alike in every link, at rest the first and last turn by 1/12 more: 0.2 mm.
  constexpr double kShape = 3e-4;  // [m]
  CHECK((simulation.site_pose(names::kTip).translation() - start).norm() < kShape);
  CHECK(simulation.speed() < 1e-3);
}

TEST_CASE("continuum model: an arm keeps the lengths that it starts with", "[mjcf]") {
  const std::string section = "[[section]]\nbend_limit = 3\nvariable_length = 0.2\n";
  const std::string text = section + "constant_length = 0.1\n" + section + "[start]\n";
  Simulation simulation(continuum_mjcf(
      parse_as<ContinuumDescription>(text + "variable_lengths = [0.05, 0.002]\n", "arm.toml")));
  simulation.set_gravity(Eigen::Vector3d::Zero());
  mj_resetDataKeyframe(simulation.model.get(), simulation.data.get(),
                       simulation.id(mjOBJ_KEY, names::kStart));
  mj_forward(simulation.model.get(), simulation.data.get());
  for (const double time : {0.0, 1.0}) {
    simulation.run(time);
    CHECK(simulation.site_pose("s1_end").translation().z() == Approx(0.15).margin(1e-4));
    CHECK(simulation.site_pose(names::kTip).translation().z() == Approx(0.152).margin(1e-4));
  }
  const auto refused = [&](const char* lengths) {
    (void)parse_as<ContinuumDescription>(text + "variable_lengths = " + lengths, "arm.toml");
  };
  CHECK_THROWS_WITH(refused("[0.1]"), Contains("must be one for each section, 2 in all"));
  CHECK_THROWS_WITH(refused("[0.3, 0.1]"), Contains("that of section 1 must be in [0, 0.2]"));
  CHECK_THROWS_WITH(refused("[0.1, 0]"), Contains("that of section 2 must be in [0.002, 0.2]"));
}

TEST_CASE("continuum model: a start pose without commands leaves them at 0", "[mjcf]") {
  const ContinuumDescription robot = parse_as<ContinuumDescription>(
      "[[section]]\nconstant_length = 0.1\nbend_limit = 3\n[start]\narcs = [10, 0.1]\n",
      "arm.toml");
  Simulation simulation(continuum_mjcf(robot));
  mj_resetDataKeyframe(simulation.model.get(), simulation.data.get(),
                       simulation.id(mjOBJ_KEY, names::kStart));
  for (int i = 0; i < simulation.model->nu; ++i) CHECK(simulation.data->ctrl[i] == 0.0);
}

TEST_CASE("continuum model: a planar arm bends in one plane only and starts along its arcs",
          "[mjcf]") {
  constexpr double kCurvature = 5.0, kBent = 0.15, kFeed = 0.05, kGuide = 0.1, kLength = 0.3;
  const std::string section =
      "[[section]]\nconstant_length = 0.15\nbend_limit = 3\nlinks = 30\nradius = 0.01\nbend_gain = "
      "0\n";
  const Simulation arm(continuum_mjcf(parse_as<ContinuumDescription>(
      "planar = true\ncompliance = \"link\"\n[base]\nfeed = 0.3\nguide_length = 0.1\n"
      "guide_clearance = 0.001\n" +
          section + section + "[start]\nfeed = 0.05\narcs = [5, 0.15]\n",
      "arm.toml")));
  CHECK(arm.model->njnt == 61);  // the feed, and one hinge a link
  for (int j = 1; j < arm.model->njnt; ++j) CHECK(arm.model->jnt_axis[3 * j + 1] == 1.0);
  for (const char* wall : {"guide_x+", "guide_x-"}) {
    const int geom = arm.id(mjOBJ_GEOM, wall);
    const double inside = std::abs(arm.model->geom_pos[3 * geom]) - arm.model->geom_size[3 * geom];
    CHECK(inside == Approx(0.011));
    CHECK(arm.model->geom_pos[3 * geom + 2] + arm.model->geom_size[3 * geom + 2] == Approx(kGuide));
    CHECK(arm.model->geom_friction[3 * geom] == 0.0);
  }

  // What is in the guide is straight; then the arc, then straight on. Where the tip is then:
  mj_resetDataKeyframe(arm.model.get(), arm.data.get(), arm.id(mjOBJ_KEY, "start"));
  mj_forward(arm.model.get(), arm.data.get());
  const double turn = kCurvature * kBent, rest = kLength + kFeed - kGuide - kBent;
  REQUIRE(rest > 0.0);
  const double x = (1.0 - std::cos(turn)) / kCurvature + rest * std::sin(turn);
  const double z = kGuide + std::sin(turn) / kCurvature + rest * std::cos(turn);
  const mjtNum* tip = arm.data->site_xpos + 3 * arm.id(mjOBJ_SITE, "tip");
  constexpr double kLinks = 1e-4;  // of second order in the length of a link
  CHECK(tip[0] == Approx(x).margin(kLinks));
  CHECK(tip[2] == Approx(z).margin(kLinks));
}
