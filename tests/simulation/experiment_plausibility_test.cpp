// Experiments that say what cannot be meant: each mistake is named, and nothing else is.

#include "simulation/experiment/experiment_plausibility.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "simulation/experiment/prepared_run.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tendril;
using namespace tendril::simulation;
using Catch::Contains;
using tendril::test::TemporaryFolder;

namespace {

/// An arm of two sections with this length in all [m], its mass that of rubber, and a target at
/// 80 % of its length.
void write_arm(const TemporaryFolder& folder, double length) {
  const double radius = 0.04 * length, mass = 1200.0 * 3.14 * radius * radius * length / 2.0;
  const double stiffness = 1e7 * 3.14 / 4.0 * radius * radius * radius * radius;
  std::string sections;
  for (int i = 0; i < 2; ++i) {
    sections += fmt::format(
        "[[section]]\nconstant_length = {}\nbend_limit = 2\nlinks = 4\nradius = {}\nmass = {}\n"
        "bending_stiffness = {}\nbend_torque_limit = {}\ndamping_time = 0.02\n",
        length / 2.0, radius, mass, stiffness, 20.0 * stiffness / length + 40.0 * mass * length);
  }
  folder.write("arm.toml", "kind = \"continuum\"\n" + sections +
                               "[controller]\nplugin = \"tendril.reach\"\ntarget = \"target\"\n");
  folder.write(
      "scene.xml",
      fmt::format(
          R"(<mujoco><option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10"
iterations="100"/><asset><model name="robot" file="arm.toml"/></asset><worldbody>
<attach model="robot" body="base" prefix="A_"/>
<body name="target" mocap="true" pos="{} 0 {}"/></worldbody></mujoco>)",
          0.3 * length, 0.8 * length));
}

std::vector<std::string> notices(const std::string& tables, double length = 0.2) {
  const TemporaryFolder folder;
  write_arm(folder, length);
  const auto file = folder.path() / "e.toml";
  const Experiment experiment =
      parse_experiment("scene = \"scene.xml\"\nduration = 10\n" + tables, file);
  std::vector<std::string> lines = prepare_run(experiment, {}).scene.notices;
  for (std::string& line : lines)
    if (const auto at = line.find("e.toml"); at != std::string::npos) line.erase(0, at);
  return lines;
}

std::string motion_table(const std::string& keys) {
  return "[[motion]]\nbody = \"target\"\n" + keys + "\n";
}
std::string fault_table(const std::string& keys) { return "[[fault]]\n" + keys + "\n"; }

}  // namespace

TEST_CASE("start: a robot inside a geom is named in a scene with keyframes too", "[experiment]") {
  const TemporaryFolder folder;
  write_arm(folder, 0.2);
  const auto scene = folder.write("in_table.xml", R"(<mujoco>
<option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10" iterations="100"/>
<asset><model name="robot" file="arm.toml"/></asset><worldbody>
<geom name="table" type="box" size="0.2 0.2 0.02" pos="0 0 0.2"/>
<geom name="shelf" type="box" size="0.2 0.2 0.005" pos="0 0 0.1"/>
<attach model="robot" body="base" prefix="A_"/>
<body name="target" mocap="true" pos="0.06 0 0.16"/></worldbody>
<keyframe><key name="here"/></keyframe></mujoco>)");
  for (const std::string& file :
       {scene, folder.write("e.toml", "scene = \"in_table.xml\"\nkeyframe = \"here\"\n")}) {
    const auto lines = prepare_run(load_experiment(file), {}).scene.notices;
    REQUIRE(lines.size() == 1);  // the deepest
    CHECK_THAT(lines[0], Contains("robot A_base starts inside a geom of the scene"));
    CHECK_THAT(lines[0], Contains("geom 'table'") && Contains("[start-inside]"));
  }
}

TEST_CASE("plausibility: a number of an experiment in another unit is named with its key",
          "[experiment]") {
  struct Case {
    std::string name, tables, message;
  };
  const auto c = GENERATE(values<Case>({
      {"times in ms",
       motion_table(
           "kind = \"waypoints\"\ntimes = [0, 500]\npoints = [[0, 0, 0.15], [0.05, 0, 0.15]]"),
       "e.toml:4: motion of target: times = [0, 500] s, 50 times the duration of the run (10 s): "
       "is "
       "the unit s, not ms?"},
      {"begins after the end",
       motion_table("kind = \"circle\"\nradius = 0.02\nspeed = 0.02\nstart_after = 20"),
       "start_after = 20 s: the run ends at 10 s"},
      {"points in mm",
       motion_table("kind = \"waypoints\"\ntimes = [0, 5]\npoints = [[0, 0, 0.15], [50, 0, 150]]"),
       "points = [50, 0, 150] m"},
      {"center in mm",
       motion_table("kind = \"circle\"\nradius = 0.02\nspeed = 0.02\ncenter = [20, 0, 150]"),
       "center = [20, 0, 150] m"},
      {"radius in mm", motion_table("kind = \"circle\"\nradius = 20\nspeed = 0.02"),
       "radius = 20 m"},
      {"speed in mm/s", motion_table("kind = \"circle\"\nradius = 0.02\nspeed = 20"),
       "speed = 20 m/s"},
      {"quick on a small circle", motion_table("kind = \"circle\"\nradius = 0.01\nspeed = 3"),
       "speed / radius = 300 rad/s"},
      {"amplitude in mm",
       motion_table("kind = \"lissajous\"\namplitude = [20, 0, 0]\nfrequency = [1, 1, 1]"),
       "amplitude = [20, 0, 0] m"},
      {"phase in degrees",
       motion_table(
           "kind = \"lissajous\"\namplitude = [0.02, 0, 0]\nfrequency = [1, 1, 1]\nphase = [90, "
           "0, 0]"),
       "phase = [90, 0, 0] rad"},
      {"angles in rad",
       motion_table(
           "kind = \"waypoints\"\ntimes = [0, 5]\npoints = [[0, 0, 0.15], [0.05, 0, 0.15]]\n"
           "angles_deg = [[0, 0, 0], [0, 1.5708, 0]]"),
       "angles_deg = [0, 1.5708, 0], parts of pi: is the unit degrees, not rad?"},
      {"noise in mm", fault_table("kind = \"noise\"\nchannel = \"tip\"\nsigma = 0.5"),
       "sigma = 0.5 m"},
      {"bias in degrees", fault_table("kind = \"bias\"\nchannel = \"q\"\nvalue = 10"),
       "value = 10 rad"},
      {"factor in percent", fault_table("kind = \"scale\"\nchannel = \"q\"\nfactor = 90"),
       "factor = 90: is it in percent?"},
      {"fault in ms", fault_table("kind = \"freeze\"\nchannel = \"tip\"\nstart = 500"),
       "start = 500 s"},
      {"payload in g", fault_table("kind = \"payload\"\nbody = \"A_s2_l4\"\nmass = 20"),
       "mass = 20 kg"},
      {"kick in mN",
       fault_table(
           "kind = \"kick\"\nbody = \"A_s2_l4\"\nforce = [5000, 0, 0]\nduration = 0.1\nstart = 1"),
       "force = [5000, 0, 0] N"},
      {"gravity in mm/s^2", "[set]\n\"option.gravity\" = [0, 0, -9810]\n",
       "option: gravity = [0, 0, -9810] m/s^2, 1e+03 times that of Earth: is the unit m/s^2, not "
       "mm/s^2?"},
      {"gravity in feet", "[set]\n\"option.gravity\" = [0, 0, -32.2]\n", "ft/s^2"},
      {"shift in mm", "[set]\n\"body.target.offset\" = [50, 0, 0]\n", "offset = [50, 0, 0] m"},
      {"limit in mm", "[[check]]\nmetric = \"tip_error_end\"\nmax = 1\n", "max = 1 m, "},
      {"angle in degrees", "[[check]]\nmetric = \"angle_error_end\"\nmax = 3\n", "max = 3 rad"},
      {"settle time in ms", "[[check]]\nmetric = \"settle_time\"\nthreshold = 0.001\nmax = 500\n",
       "max = 500 s"},
  }));
  DYNAMIC_SECTION(c.name) {
    const std::vector<std::string> lines = notices(c.tables);
    CAPTURE(lines);
    CHECK(std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.find(c.message) != std::string::npos;
    }));
  }
}

TEST_CASE("plausibility: arms of any size, in space and under water, run without a notice",
          "[experiment]") {
  const double length = GENERATE(0.01, 0.2, 2.0, 10.0);
  const char* const gravity =
      GENERATE("[0, 0, 0]", "[0, 0, -1e-5]", "[0, 0, -1.62]", "[0, 0, -9.81]", "[0, 0, -98.1]");
  CAPTURE(length, gravity);
  const auto number = [&](double part) { return fmt::format("{:g}", part * length); };
  const std::string tables =
      fmt::format("[set]\n\"option.gravity\" = {}\n", gravity) +
      motion_table(fmt::format(
          "kind = \"circle\"\nradius = {}\nspeed = {}\nstart_after = 2\ncenter = [0, 0, {}]",
          number(0.2), number(0.3), number(0.8))) +
      fault_table(fmt::format("kind = \"noise\"\nchannel = \"tip\"\nsigma = {}", number(0.05))) +
      fault_table("kind = \"bias\"\nchannel = \"q\"\nvalue = 0.2\nstart = 5") +
      fmt::format("[[check]]\nmetric = \"tip_error_end\"\nmax = {}\n", number(0.1));
  const std::vector<std::string> lines = notices(tables, length);
  CAPTURE(lines);
  for (const std::string& line : lines) CHECK_THAT(line, !Contains("is the unit"));
}
