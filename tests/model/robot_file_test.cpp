#include <catch2/catch.hpp>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "tendril/model/robot_description.hpp"
#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model_error.hpp"

using namespace tendril;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

const std::string kSection = "[[section]]\nconstant_length = 0.1\nbend_limit = 2.0\n";

/// Tendons of the last section.
std::string tendons_at(const std::string& angles) {
  std::string text;
  std::istringstream words(angles);
  for (std::string angle; words >> angle;)
    text += "[[tendon]]\nangle = " + angle + "\ndistance = 0.01\n";
  return text;
}

std::string tendon(const std::string& name) {
  return "[[tendon]]\nname = \"" + name + "\"\nangle = 0\ndistance = 0.01\n";
}

std::string refusal(const std::string& toml) {
  try {
    static_cast<void>(parse_as<ContinuumDescription>(toml, "arm.toml"));
  } catch (const ModelError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("robot file: tendons may have the names that people choose", "[robot_file]") {
  for (const char* const name : {"s1t1", "s1", "s1_left", "s2_1", "seg1_x", "T1", "s1_tension"})
    CHECK(refusal(kSection + tendon(name)) == "accepted");
}

TEST_CASE("robot file: angles of tendons may be rounded, and must surround the backbone",
          "[robot_file]") {
  const std::string controller = "[controller]\nplugin = \"tendril.reach\"\n";
  const auto said = [&](const std::string& angles) {
    return refusal(kSection + tendons_at(angles) + controller);
  };
  for (const char* const angles : {"0 2.09 4.19", "0 2.1 4.2", "0 2 4.2", "0.5236 2.618 4.7124",
                                   "0 2.0944 -2.09", "0 1.57 3.14 4.71", "0 0.1 3.2", "1 2 3 5"}) {
    CAPTURE(angles);
    CHECK(said(angles) == "accepted");
  }
  for (const char* const angles : {"0 1 2", "0 0.1 3.1", "0 1.57 3.14", "0 3.1416"}) {
    CAPTURE(angles);
    CHECK_THAT(said(angles), Contains("cannot be bent in every direction"));
  }
}

TEST_CASE("robot file: what is refused, and how it is said", "[robot_file]") {
  struct Case {
    std::string name;
    std::string toml;
    std::string message;  ///< start of it
  };
  const auto section = [](const std::string& line) { return kSection + line + "\n"; };
  const auto c = GENERATE_COPY(values<Case>({
      {"not TOML", "name = \n" + kSection, "arm.toml:1:"},
      {"no section", "name = \"a\"\n", "arm.toml:1: section: is missing"},
      {"section without brackets", "[section]\nradius = 1\n", "arm.toml:1: section = "},
      {"unknown key", section("stiffness = 1"), "arm.toml:4: section 1: unknown key 'stiffness'"},
      {"unknown top key", "sectons = 1\n" + kSection, "arm.toml:1: unknown key 'sectons'"},
      {"a misspelled key", section("bending_limit = 1"),
       "arm.toml:4: section 1: unknown key 'bending_limit' (did you mean bend_limit?), must "
       "be one of"},
      {"a key of the file in a section", section("compliance = \"link\""),
       "arm.toml:4: section 1: compliance = 'link': is a key of the file, not of this table: must "
       "stand above the tables"},
      {"a key of the file in its last table", kSection + "[base]\nself_collision = true\n",
       "arm.toml:5: base: self_collision = true: is a key of the file"},
      {"unknown base key", kSection + "[base]\nlift = 1\n", "arm.toml:5: base: unknown key 'lift'"},
      {"snake", "kind = \"snake\"\n" + kSection,
       "arm.toml:1: kind = 'snake': this file is a snake, must be"},
      {"mobile", "kind = \"mobile\"\n", "arm.toml:1: kind = "},
      {"no length", "[[section]]\nbend_limit = 1.0\n", "arm.toml:1: section 1: constant_length"},
      {"no bend limit", "[[section]]\nconstant_length = 0.1\n",
       "arm.toml:1: section 1: bend_limit: is missing"},
      {"second section", kSection + "[[section]]\nconstant_length = 0.1\nbend_limit = 0\n",
       "arm.toml:6: section 2: bend_limit = 0: must be in (0, 2 pi]"},
      {"bend limit too large", "[[section]]\nconstant_length = 0.1\nbend_limit = 6.3\n",
       "arm.toml:3: section 1: bend_limit = 6.3: must be in (0, 2 pi]"},
      {"NaN", "[[section]]\nconstant_length = nan\nbend_limit = 1\n",
       "arm.toml:2: section 1: constant_length = nan: must be in"},
      {"infinity", section("mass = inf"), "arm.toml:4: section 1: mass = inf: must be in (0, 1e9]"},
      {"negative length", section("variable_length = -0.1"),
       "arm.toml:4: section 1: variable_length = -0.1: must be"},
      {"zero stiffness", section("bending_stiffness = 0"),
       "arm.toml:4: section 1: bending_stiffness = 0: must be in (0, 1e9]"},
      {"guide without feed", kSection + "[base]\nguide_length = 1\n",
       "arm.toml:5: base: guide_length = 1: needs feed > 0"},
      {"guide with section servos", kSection + "[base]\nfeed = 1\nguide_length = 1\n",
       "arm.toml:6: base: guide_length = 1: needs compliance = \"link\""},
      {"start outside the feed", kSection + "[start]\nfeed = 1\n",
       "arm.toml:5: start: feed = 1: must be"},
      {"odd arcs", kSection + "[start]\narcs = [1, 0.1, 2]\n", "arm.toml:5: start: arcs = "},
      {"arc without length", kSection + "[start]\narcs = [1, 0]\n", "arm.toml:5: start: arcs = "},
      {"no damping", section("damping_time = 0.0"),
       "arm.toml:4: section 1: damping_time = 0: must"},
      {"text for a number", section("radius = \"thick\""),
       "arm.toml:4: section 1: radius = 'thick': must be a number"},
      {"no links", section("links = 0"),
       "arm.toml:4: section 1: links = 0: must be an integer in [1, 200]"},
      {"too many links", section("links = 201"), "arm.toml:4: section 1: links = 201: must be"},
      {"a word of links", section("links = \"many\""),
       "arm.toml:4: section 1: links = 'many': must be an integer in [1, 200] or \"auto\""},
      {"accuracy of given links", section("links = 5\naccuracy = 0.01"),
       "arm.toml:5: section 1: accuracy = 0.01: needs links = \"auto\""},
      {"accuracy out of range", section("links = \"auto\"\naccuracy = 0"),
       "arm.toml:5: section 1: accuracy = 0: must be"},
      {"fractional links", section("links = 10.5"), "arm.toml:4: section 1: links = 10.5: must be"},
      {"too many links in all",
       section("links = 200") + section("links = 200") + section("links = 1"),
       "arm.toml:9: section 3: links: the robot has 401"},
      {"weights of different count", section("length_weights = [1, 2]\nangle_weights = [1]"),
       "arm.toml:5: section 1: angle_weights = [ 1 ]: length_weights and angle_weights must"},
      {"one list of weights", section("length_weights = [1, 2]"),
       "arm.toml:4: section 1: length_weights"},
      {"zero length weight", section("length_weights = [1, 0]\nangle_weights = [1, 1]"),
       "arm.toml:4: section 1: length_weights"},
      {"negative angle weight", section("length_weights = [1, 1]\nangle_weights = [1, -1]"),
       "arm.toml:5: section 1: angle_weights"},
      {"no angle weight", section("length_weights = [1, 1]\nangle_weights = [0, 0]"),
       "arm.toml:5: section 1: angle_weights"},
      {"fewer links than sub-sections",
       section("links = 1\nlength_weights = [1, 1]\nangle_weights = [1, 1]"),
       "arm.toml:4: section 1: links = 1: must be at least 2"},
      {"microscopic", section("radius = 1e-6\nmass = 1e-6"), "arm.toml:1: section 1: mass = "},
      {"timestep", "timestep = 0\n" + kSection, "arm.toml:1: timestep = 0: must be in (0, 0.1]"},
      {"integrator", "integrator = \"RK4\"\n" + kSection,
       "arm.toml:1: integrator = 'RK4': must be"},
      {"torsion of a planar arm", "planar = true\n" + section("torsional_stiffness = 0.04"),
       "arm.toml:5: section 1: torsional_stiffness = 0.04: a section that bends in one plane "
       "does not twist"},
      {"another plane", section("bend_plane = \"xy\""),
       "arm.toml:4: section 1: bend_plane = 'xy': must be \"any\", \"xz\" or \"yz\""},
      {"another plane of a planar arm", "planar = true\n" + section("bend_plane = \"yz\""),
       "arm.toml:5: section 1: bend_plane = 'yz': planar = true: must be \"xz\" or left out"},
      {"natural bend out of the y-z plane", section("bend_plane = \"yz\"\nnatural_bend = 1"),
       "arm.toml:5: section 1: natural_bend = 1: the section bends in the y-z plane: "
       "natural_direction must be pi/2"},
      {"arcs of a section that bends in the y-z plane",
       section("bend_plane = \"yz\"") + "[start]\narcs = [5, 0.1]\n",
       "arm.toml:6: start: arcs = [ 5, 0.1 ]: must be left out: they are in the x-z plane, and "
       "section 1 bends in the y-z plane alone"},
      {"torsion twice", section("torsional_stiffness = 0.04\npoisson_ratio = 0.3"),
       "arm.toml:5: section 1: poisson_ratio = 0.3: torsional_stiffness is given"},
      {"no Poisson's ratio", section("poisson_ratio = 0.6"),
       "arm.toml:4: section 1: poisson_ratio = 0.6: must be in (-1, 0.5]"},
      {"no torsional stiffness", section("torsional_stiffness = 0"),
       "arm.toml:4: section 1: torsional_stiffness = 0: must be"},
      {"modulus and stiffness", section("youngs_modulus = 1e6\nbending_stiffness = 0.05"),
       "arm.toml:4: section 1: youngs_modulus = 1000000: bending_stiffness is given, must be one"},
      {"density and mass", section("density = 1000\nmass = 0.05"),
       "arm.toml:4: section 1: density = 1000: mass is given, must be one of the two"},
      {"backbone without a modulus", section("backbone_radius = 0.001"),
       "arm.toml:4: section 1: backbone_radius = 0.001: needs youngs_modulus"},
      {"density around a backbone",
       section("backbone_radius = 0.001\nyoungs_modulus = 6e10\ndensity = 6450"),
       "arm.toml:6: section 1: density = 6450: backbone_radius is given"},
      {"bore wider than its radius", section("radius = 0.008\ninner_radius = [0.005, 0.008]"),
       "arm.toml:5: section 1: inner_radius = [ 0.005, 0.008 ]: must be less than radius"},
      {"three radii", section("radius = [0.008, 0.006, 0.004]"),
       "arm.toml:4: section 1: radius = [ 0.008, 0.006, 0.004 ]: must be 2 numbers"},
      {"cone with a point", section("radius = [0.008, 0]"),
       "arm.toml:4: section 1: radius = [ 0.008, 0 ]: must be in"},
      {"weights of a section whose stiffness tapers",
       section("bending_stiffness = [0.05, 0.01]\nlength_weights = [1, 1]\nangle_weights = [1, 2]"),
       "arm.toml:5: section 1: length_weights = [ 1, 1 ]: the stiffness tapers"},
      {"natural direction of nothing", section("natural_direction = 1"),
       "arm.toml:4: section 1: natural_direction = 1: needs natural_bend"},
      {"negative natural bend", section("natural_bend = -1"),
       "arm.toml:4: section 1: natural_bend = -1: must be in"},
      {"natural bend out of the plane",
       "planar = true\n" + section("natural_bend = 1\nnatural_direction = 1.57"),
       "arm.toml:6: section 1: natural_direction = 1.57: the section bends in the x-z plane"},
      {"natural bend that no controller knows",
       section("natural_bend = 1\nbend_gain = 0") + "[controller]\nplugin = \"tendril.reach\"\n",
       "arm.toml:4: section 1: natural_bend = 1: a controller needs bend_gain > 0"},
      {"color of two", section("color = [0.1, 0.2]"),
       "arm.toml:4: section 1: color = [ 0.1, 0.2 ]: must be red, green, blue"},
      {"color of 255", section("color = [255, 0, 0]"),
       "arm.toml:4: section 1: color = [ 255, 0, 0 ]: must be"},
      {"payload without mass", kSection + "[tip]\npayload = 0\n",
       "arm.toml:5: tip: payload = 0: must be"},
      {"radius of no payload", kSection + "[tip]\npayload_radius = 0.02\n",
       "arm.toml:5: tip: payload_radius = 0.02: needs payload"},
      {"suction that pushes", kSection + "[tip]\nsuction = -1\n",
       "arm.toml:5: tip: suction = -1: must be"},
      {"gripper without an opening", kSection + "[gripper]\nforce = 5\n",
       "arm.toml:4: gripper: opening: is missing"},
      {"gripper that does not press", kSection + "[gripper]\nopening = 0.04\nforce = 0\n",
       "arm.toml:6: gripper: force = 0: must be in (0, 1e9]"},
      {"gripper without friction", kSection + "[gripper]\nopening = 0.04\nfriction = 0\n",
       "arm.toml:6: gripper: friction = 0: must be in [1e-5, 100]"},
      {"gripper of no mass", kSection + "[gripper]\nopening = 0.04\nmass = 0\n",
       "arm.toml:6: gripper: mass = 0: must be in"},
      {"fingers of no length", kSection + "[gripper]\nopening = 0.04\nfinger_length = 0\n",
       "arm.toml:6: gripper: finger_length = 0: must be in"},
      {"unknown key of the gripper", kSection + "[gripper]\nopening = 0.04\nfingers = 3\n",
       "arm.toml:6: gripper: unknown key 'fingers'"},
      {"gripper and cup", kSection + "[tip]\nsuction = 5\n[gripper]\nopening = 0.04\n",
       "arm.toml:6: gripper: [tip] has a suction cup"},
      {"tendon called gripper",
       kSection + "[[tendon]]\nname = \"gripper\"\nangle = 0\ndistance = 0.01\n",
       "arm.toml:5: tendon 1: name = 'gripper': is a name of the model's own"},
      {"medium without density", kSection + "[medium]\ndensity = 0\n",
       "arm.toml:5: medium: density = 0: must be in (0, 1e9]"},
      {"unknown key of the medium", kSection + "[medium]\ndepth = 1\n",
       "arm.toml:5: medium: unknown key 'depth'"},
      {"current with two numbers", kSection + "[medium]\ncurrent = [1, 0]\n",
       "arm.toml:5: medium: current = [ 1, 0 ]: must be"},
      {"tendon without distance", kSection + "[[tendon]]\nangle = 0\n",
       "arm.toml:4: tendon 1: distance: is missing"},
      {"tendon in the axis", kSection + "[[tendon]]\nangle = 0\ndistance = 0\n",
       "arm.toml:6: tendon 1: distance = 0: must be > 0"},
      {"tendon that converges to the axis",
       kSection + "[[tendon]]\nangle = 0\ndistance = [0.01, 0]\n",
       "arm.toml:6: tendon 1: distance = [ 0.01, 0 ]: must be > 0"},
      {"tendon that goes through the axis",
       kSection + "[[tendon]]\nangle = 0\ndistance = [0.01, -0.01]\n",
       "arm.toml:6: tendon 1: distance = [ 0.01, -0.01 ]: must be > 0"},
      {"helix that converges to the axis",
       kSection + "[[tendon]]\nangle = [0, 1]\ndistance = [0.01, 0]\n",
       "arm.toml:6: tendon 1: distance = [ 0.01, 0 ]: must be > 0"},
      {"tendon of three angles", kSection + "[[tendon]]\nangle = [0, 1, 2]\ndistance = 0.01\n",
       "arm.toml:5: tendon 1: angle = [ 0, 1, 2 ]: must be"},
      {"tendon that turns too fast", kSection + "[[tendon]]\nangle = [0, 12]\ndistance = 0.005\n",
       "arm.toml:5: tendon 1: angle = [ 0, 12 ]: turns by 1.2 rad along a link of section 1: must "
       "be at most 1"},
      {"tendon that folds", kSection + "[[tendon]]\nangle = [0, 3]\ndistance = 0.03\n",
       "arm.toml:6: tendon 1: distance = 0.03: must be < 0.0"},
      {"helix through a section of variable length",
       section("variable_length = 0.02") + "[[tendon]]\nangle = [0, 3]\ndistance = 0.003\n",
       "arm.toml:6: tendon 1: angle = [ 0, 3 ]: must be one number: section 1 has a variable "
       "length"},
      {"helix in a plane",
       "planar = true\n" + kSection + "[[tendon]]\nangle = [0, 3]\ndistance = 0.003\n",
       "arm.toml:6: tendon 1: angle = [ 0, 3 ]: must be one number in a planar arm"},
      {"chamber that turns",
       kSection + "[[chamber]]\nsection = 1\nangle = [0, 1]\ndistance = 0.004\nradius = 0.003\n",
       "arm.toml:6: chamber 1: angle = [ 0, 1 ]: must be a number"},
      {"friction that pushes",
       kSection + "[[tendon]]\nangle = 0\ndistance = 0.01\nfriction_coefficient = -0.1\n",
       "arm.toml:7: tendon 1: friction_coefficient = -0.1: must be"},
      {"friction that nothing simulates",
       kSection + "[[tendon]]\nangle = 0\ndistance = 0.01\nfriction_coefficient = 0.1\n",
       "arm.toml:7: tendon 1: friction_coefficient = 0.1: needs [controller]"},
      {"friction of a helix",
       kSection + "[[tendon]]\nangle = [0, 1]\ndistance = 0.01\nfriction_coefficient = 0.1\n",
       "arm.toml:7: tendon 1: friction_coefficient = 0.1: needs one angle"},
      {"friction in a section of variable length",
       section("variable_length = 0.02") +
           "[[tendon]]\nangle = 0\ndistance = 0.01\nfriction_coefficient = 0.1\n",
       "arm.toml:8: tendon 1: friction_coefficient = 0.1: must be 0: section 1 has a variable "
       "length"},
      {"tendon of no section", kSection + "[[tendon]]\nsection = 2\nangle = 0\ndistance = 0.01\n",
       "arm.toml:5: tendon 1: section = 2: must be an integer in [1, 1]"},
      {"pretension above the largest tension",
       kSection + "[[tendon]]\nangle = 0\ndistance = 0.01\nmax_tension = 10\npretension = 10\n",
       "arm.toml:8: tendon 1: pretension = 10: must be in [0, 10)"},
      {"stiffness of a tension",
       kSection + "[[tendon]]\nangle = 0\ndistance = 0.01\ncommand = \"tension\"\nstiffness = 1\n",
       "arm.toml:8: tendon 1: stiffness = 1: needs command = \"length\""},
      {"too few tendons for a controller",
       kSection + "[[tendon]]\nangle = 0\ndistance = 0.01\n[[tendon]]\nangle = 2\ndistance = 0.01\n"
                  "[controller]\nplugin = \"tendril.reach\"\n",
       "arm.toml:1: section 1: has no bend servo and cannot be bent in every direction"},
      {"tendons at angles in degrees for a controller",
       kSection + tendons_at("0 120 240") + "[controller]\nplugin = \"tendril.reach\"\n",
       "arm.toml:1: section 1: has no bend servo and cannot be bent in every direction: a "
       "controller needs at least three tendons or chambers around the backbone that end in it; "
       "here end 3, angle = 0, 120, 240 rad: is the unit rad, not degrees?"},
      {"a section in which no tendon ends",
       kSection + kSection + tendons_at("0 2.1 4.2") + "[controller]\nplugin = \"tendril.reach\"\n",
       "arm.toml:1: section 1: has no bend servo and cannot be bent in every direction: a "
       "controller needs at least three tendons or chambers around the backbone that end in it; "
       "none ends here, and bend_servo = true would give it a servo"},
      {"a tendon with a name of sections", kSection + tendon("s1_x"),
       "arm.toml:5: tendon 1: name = 's1_x': is a name of section 1's own elements: must not end "
       "like s1_x, "},
      {"a tendon that ends like a link", kSection + tendon("left_s2_l3"),
       "arm.toml:5: tendon 1: name = 'left_s2_l3': is a name of section 2's own elements"},
      {"a tendon with the name of a friction", kSection + tendon("a") + tendon("a_friction_1"),
       "arm.toml:9: tendon 2: name = 'a_friction_1': must not be that of the friction of a tendon"},
      {"servo key along with tendons",
       section("bend_gain = 1") + "[[tendon]]\nangle = 0\ndistance = 0.01\n",
       "arm.toml:4: section 1: bend_gain = 1: the section is bent by its tendons"},
      {"chamber in no section",
       kSection + "[[chamber]]\nangle = 0\ndistance = 0.004\nradius = 0.003\n",
       "arm.toml:4: chamber 1: section: is missing"},
      {"chamber in a section that is not there",
       kSection + "[[chamber]]\nsection = [1, 2]\nangle = 0\ndistance = 0.004\nradius = 0.003\n",
       "arm.toml:5: chamber 1: section = [ 1, 2 ]: must be an integer in [1, 1] or two of them"},
      {"chamber without area", kSection + "[[chamber]]\nsection = 1\nangle = 0\ndistance = 0.004\n",
       "arm.toml:4: chamber 1: must have one of: radius, area"},
      {"chamber that does not fit into its section",
       kSection + "[[chamber]]\nsection = 1\nangle = 0\ndistance = 0.006\nradius = 0.003\n",
       "arm.toml:7: chamber 1: distance = 0.006: the chamber is not inside its section, must be at "
       "most "
       "0.005 m"},
      {"chamber with an area in mm^2",
       kSection + "[[chamber]]\nsection = 1\nangle = 0\ndistance = 0.006\narea = 30\n",
       "arm.toml:8: chamber 1: area = 30: must be at most 0.000201 m^2, the section's"},
      {"pressure below vacuum",
       kSection + "[[chamber]]\nsection = 1\nangle = 0\ndistance = 0.004\nradius = 0.003\n"
                  "min_pressure = -2e5\n",
       "arm.toml:9: chamber 1: min_pressure = -200000: must be in [-101325, 100000)"},
      {"volume that begins at its limit",
       kSection + "[[chamber]]\nsection = 1\nangle = 0\ndistance = 0.004\nradius = 0.003\n"
                  "volume_range = [0, 1e-6]\n",
       "arm.toml:9: chamber 1: volume_range = [ 0, 1e-06 ]: must be two changes of volume"},
      {"muscle without braid",
       kSection + "[[chamber]]\nsection = 1\nangle = 0\ndistance = 0.004\nradius = 0.003\n"
                  "kind = \"mckibben\"\n",
       "arm.toml:4: chamber 1: braid_angle: is missing"},
      {"braid that lengthens",
       kSection + "[[chamber]]\nsection = 1\nangle = 0\ndistance = 0.004\nradius = 0.003\n"
                  "kind = \"mckibben\"\nbraid_angle = 1\n",
       "arm.toml:10: chamber 1: braid_angle = 1: must be in (0, 0.955"},
      {"a name twice",
       kSection +
           "[[tendon]]\nname = \"a\"\nangle = 0\ndistance = 0.004\n"
           "[[chamber]]\nname = \"a\"\nsection = 1\nangle = 0\ndistance = 0.004\nradius = 0.003\n",
       "arm.toml:9: chamber 1: name = 'a': must not be that of another tendon or chamber"},
      {"chambers on one side for a controller",
       kSection + "[[chamber]]\nsection = 1\nangle = 0\ndistance = 0.004\nradius = 0.003\n"
                  "[controller]\nplugin = \"tendril.reach\"\n",
       "arm.toml:1: section 1: has no bend servo and cannot be bent in every direction"},
      {"length of a section that nothing sets",
       "[[section]]\nconstant_length = 0.1\nvariable_length = 0.02\nbend_limit = 2\n"
       "length_servo = false\n[controller]\nplugin = \"tendril.reach\"\n",
       "arm.toml:1: section 1: has no length servo, and nothing sets its length"},
      {"length servo of a fixed section", section("length_servo = false"),
       "arm.toml:4: section 1: length_servo = false: needs variable_length > 0"},
      {"gain of a motor", section("bend_command = \"moment\"\nbend_gain = 1"),
       "arm.toml:5: section 1: bend_gain = 1: needs bend_command = \"angle\": a motor has no "
       "gains"},
      {"motors on links", "compliance = \"link\"\n" + section("bend_command = \"moment\""),
       "arm.toml:5: section 1: bend_command = 'moment': needs compliance = \"section\""},
      {"force of a fixed length", section("length_command = \"force\""),
       "arm.toml:4: section 1: length_command = 'force': needs variable_length > 0"},
      {"a motor that tendons replace",
       section("bend_command = \"moment\"") + "[[tendon]]\nangle = 0\ndistance = 0.004\n",
       "arm.toml:4: section 1: bend_command = 'moment': the section is bent by its tendons"},
      {"unloaded length with a servo", section("variable_length = 0.02\nunloaded_length = 0.1"),
       "arm.toml:5: section 1: unloaded_length = 0.1: needs length_servo = false"},
      {"unloaded length out of range",
       section("variable_length = 0.02\nlength_servo = false\nunloaded_length = 0.2"),
       "arm.toml:6: section 1: unloaded_length = 0.2: must be in [0.1, 0.12]"},
      {"gain of a length servo that chambers replace",
       section("variable_length = 0.02\nlength_gain = 1") +
           "[[chamber]]\nsection = 1\nangle = 0\ndistance = 0.004\nradius = 0.003\n",
       "arm.toml:5: section 1: length_gain = 1: the section is lengthened by its chambers"},
      {"compliance", "compliance = \"soft\"\n" + kSection,
       "arm.toml:1: compliance = 'soft': must be"},
      {"spin", kSection + "[base]\nspin = 1\n",
       "arm.toml:5: base: spin = 1: must be true or false"},
      {"negative feed", kSection + "[base]\nfeed = -1\n",
       "arm.toml:5: base: feed = -1: must be in"},
      {"controller without plugin", kSection + "[controller]\ntarget = \"t\"\n",
       "arm.toml:4: controller: plugin: is missing"},
      {"reserved setting", kSection + "[controller]\nplugin = \"p\"\nrobot = \"r\"\n",
       "arm.toml:6: controller: robot = 'r': this key is reserved"},
      {"table in the controller", kSection + "[controller]\nplugin = \"p\"\nx = { y = 1 }\n",
       "arm.toml:6: controller: x = "},
      {"a command for a section that is not there", kSection + "[start]\nbends = [1, 1]\n",
       "arm.toml:5: start: bends = [ 1, 1 ]: must be one for each section, 1 in all"},
      {"a command outside the servo's range", kSection + "[start]\nbends = [-3.5]\n",
       "arm.toml:5: start: bends = [ -3.5 ]: that of section 1 must be in [-3, 3]"},
      {"another rotation", section("rotation = \"twisting\""),
       "arm.toml:4: section 1: rotation = 'twisting': must be \"bending\" or \"turning\""},
      {"the turn of a section that bends", section("turn_gain = 3"),
       "arm.toml:4: section 1: turn_gain = 3: needs rotation = \"turning\""},
      {"a planar arm that turns", "planar = true\n" + section("rotation = \"turning\""),
       "arm.toml:5: section 1: rotation = 'turning': the arm has sections that bend in one "
       "plane"},
      {"a turn with a motor", section("rotation = \"turning\"\nbend_command = \"moment\""),
       "arm.toml:4: section 1: rotation = 'turning': a servo must set the bend"},
      {"a turn in a guide",
       "compliance = \"link\"\n" + section("rotation = \"turning\"") +
           "[base]\nfeed = 0.2\nguide_length = 0.1\n",
       "arm.toml:5: section 1: rotation = 'turning': the arm has a guide"},
      {"a turn that starts bent", section("rotation = \"turning\"") + "[start]\nbends = [1]\n",
       "arm.toml:4: section 1: rotation = 'turning': the arm starts bent"},
      {"NaN in the controller", kSection + "[controller]\nplugin = \"p\"\nx = [1, nan]\n",
       "arm.toml:6: controller: x = "},
  }));
  DYNAMIC_SECTION(c.name) { CHECK_THAT(refusal(c.toml), StartsWith(c.message)); }
}

TEST_CASE("robot file: the kind decides who reads it", "[robot_file]") {
  CHECK_THAT(refusal("kind = \"mobile\"\n"), Contains("this file is a mobile robot"));
  CHECK_THAT(refusal("kind = \"tentacle\"\n"),
             StartsWith("arm.toml:1: kind = 'tentacle': must be \"continuum\""));
  CHECK(std::holds_alternative<ContinuumDescription>(parse_robot(kSection, "arm.toml")));
  CHECK(std::holds_alternative<SnakeDescription>(load_robot("scenes/snake_travel/snake.toml")));
  CHECK(std::holds_alternative<MobileDescription>(load_robot("scenes/mobile_arm/robot.toml")));
  CHECK(std::holds_alternative<TubeDescription>(load_model("scenes/tube_insertion/tube.toml")));
  CHECK_THROWS_WITH(
      load_robot("scenes/tube_insertion/tube.toml"),
      Contains(": kind = 'tube': this file is a tube, must be \"continuum\", \"snake\""));
}

TEST_CASE("robot file: a section of lengths and a limit has the documented defaults",
          "[robot_file]") {
  const ContinuumDescription robot = parse_as<ContinuumDescription>(kSection, "arm.toml");
  CHECK(robot.name == "arm");
  CHECK(robot.compliance == Compliance::Section);
  CHECK_FALSE(robot.self_collision);
  CHECK(robot.base.feed_limit == 0.0);
  CHECK_FALSE(robot.base.spin);
  CHECK(robot.controller.plugin.empty());
  CHECK(robot.text == kSection);
  REQUIRE(robot.sections.size() == 1);
  CHECK(robot.sections[0].length == 0.1);
  CHECK(robot.sections[0].variable_length == 0.0);
  CHECK(robot.sections[0].bend_angle_limit == 2.0);
  REQUIRE(robot.physics.size() == 1);
  CHECK(robot.physics[0].links == SectionPhysics{}.links);
  CHECK(robot.physics[0].bending_stiffness == SectionPhysics{}.bending_stiffness);
}

TEST_CASE("robot file: every key reaches its field", "[robot_file]") {
  const ContinuumDescription robot = parse_as<ContinuumDescription>(R"(
name = "a b"
compliance = "link"
self_collision = true
integrator = "implicitfast"
timestep = 0.05
[base]
feed = 1
spin = true
carriage_mass = 2
feed_gain = 3
feed_force_limit = 4
spin_gain = 5
spin_torque_limit = 6
[[section]]
constant_length = 0.5
variable_length = 0.25
bend_limit = 1.5
length_weights = [1, 2]
angle_weights = [3, 0]
links = 7
radius = 8
mass = 9
bending_stiffness = 10
torsional_stiffness = 8.5
damping_time = 11
axial_stiffness = 12
bend_gain = 13
bend_damping_time = 14
bend_torque_limit = 15
length_gain = 16
length_damping_time = 17
length_force_limit = 18
)",
                                                                    "arm.toml");
  CHECK(robot.name == "a b");
  CHECK(robot.compliance == Compliance::Link);
  CHECK(robot.self_collision);
  CHECK(robot.integrator == Integrator::ImplicitFast);
  CHECK(robot.timestep == 0.05);
  CHECK(robot.numerical_damping_time == 0.0);
  CHECK(robot.base.feed_limit == 1.0);
  CHECK(robot.base.spin);
  CHECK(robot.base_physics.carriage_mass == 2.0);
  CHECK(robot.base_physics.feed_gain == 3.0);
  CHECK(robot.base_physics.feed_force_limit == 4.0);
  CHECK(robot.base_physics.spin_gain == 5.0);
  CHECK(robot.base_physics.spin_torque_limit == 6.0);
  const SectionParameters& section = robot.sections.at(0);
  CHECK(section.length == 0.5);
  CHECK(section.variable_length == 0.25);
  CHECK(section.bend_angle_limit == 1.5);
  CHECK(section.length_weights == std::vector<double>{1, 2});
  CHECK(section.angle_weights == std::vector<double>{3, 0});
  const SectionPhysics& physics = robot.physics.at(0);
  CHECK(physics.links == 7);
  CHECK(physics.radius.start == 8.0);
  CHECK(physics.radius.end == 8.0);
  CHECK(physics.mass == 9.0);
  CHECK(physics.bending_stiffness == 10.0);
  CHECK(physics.torsional_stiffness == 8.5);
  CHECK(physics.damping_time == 11.0);
  CHECK(physics.axial_stiffness == 12.0);
  const ServoDrive bend = std::get<ServoDrive>(physics.bend);
  CHECK(bend.gain == 13.0);
  CHECK(bend.damping_time == 14.0);
  CHECK(bend.limit == 15.0);
  const ServoDrive length = std::get<ServoDrive>(physics.length_drive);
  CHECK(length.gain == 16.0);
  CHECK(length.damping_time == 17.0);
  CHECK(length.limit == 18.0);
}

TEST_CASE("robot file: material and radii make mass and stiffness", "[robot_file]") {
  constexpr double kPi = 3.141592653589793;
  const auto physics = [](const std::string& lines) {
    return parse_as<ContinuumDescription>(kSection + lines, "arm.toml").physics.at(0);
  };
  const SectionPhysics solid =
      physics("radius = 0.01\nyoungs_modulus = 2e6\ndensity = 1200\npoisson_ratio = 0.5");
  CHECK(solid.bending_stiffness == Approx(2e6 * kPi / 4.0 * 1e-8).epsilon(1e-12));
  CHECK(solid.torsional_stiffness == Approx(solid.bending_stiffness / 1.5).epsilon(1e-12));
  CHECK(solid.mass == Approx(1200 * kPi * 1e-4 * 0.1).epsilon(1e-12));
  CHECK(solid.compliance.empty());
  const SectionPhysics tube =
      physics("radius = 0.01\ninner_radius = 0.005\nyoungs_modulus = 2e6\ndensity = 1200");
  CHECK(tube.bending_stiffness == Approx(2e6 * kPi / 4.0 * (1e-8 - 0.0625e-8)).epsilon(1e-12));
  CHECK(tube.mass == Approx(1200 * kPi * 0.75e-4 * 0.1).epsilon(1e-12));
  const SectionPhysics disks =
      physics("radius = 0.01\nbackbone_radius = 0.001\nyoungs_modulus = 6e10\nmass = 0.03");
  CHECK(disks.bending_stiffness == Approx(6e10 * kPi / 4.0 * 1e-12).epsilon(1e-12));
  CHECK(disks.mass == 0.03);
  // Harmonic mean along a cone: L over the integral of 1/EI, a^3 b^3 3 (b - a) / (b^3 - a^3).
  const SectionPhysics cone = physics("radius = [0.01, 0.005]\nyoungs_modulus = 2e6");
  const double a = 0.01, b = 0.005;
  CHECK(cone.compliance.size() == static_cast<std::size_t>(cone.links));
  CHECK(cone.bending_stiffness ==
        Approx(2e6 * kPi / 4.0 * 3.0 * (a - b) / (1.0 / (b * b * b) - 1.0 / (a * a * a)))
            .epsilon(1e-9));
  const SectionPhysics given = physics("radius = [0.01, 0.005]\nbending_stiffness = [0.08, 0.005]");
  CHECK(given.bending_stiffness ==
        Approx(0.08 / (2e6 * kPi / 4.0 * 1e-8) * cone.bending_stiffness));
}

TEST_CASE("robot file: controller settings become config text in file order", "[robot_file]") {
  const ContinuumDescription robot = parse_as<ContinuumDescription>(kSection + R"(
[controller]
target = "goal"
plugin = "tendril.reach"
gain = 0.1
count = 3
path = [[0, 0.5, 1e-7], [1, 2, 3]]
active = true
)",
                                                                    "arm.toml");
  CHECK(robot.controller.plugin == "tendril.reach");
  struct Expected {
    std::string key, text;
    int line;
  };
  const std::vector<Expected> expected{{"target", "goal", 6},
                                       {"gain", "0.1", 8},
                                       {"count", "3", 9},
                                       {"path", "0 0.5 1e-07 1 2 3", 10},
                                       {"active", "true", 11}};
  REQUIRE(robot.controller.settings.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const ControllerConfig::Setting& setting = robot.controller.settings[i];
    CHECK(setting.key == expected[i].key);
    CHECK(setting.value == expected[i].text);
    CHECK(setting.origin == "arm.toml:" + std::to_string(expected[i].line));
  }
}

TEST_CASE("robot file: the models of the repository load", "[robot_file]") {
  const std::string file = GENERATE("models/arm_3x10.toml", "models/arm_mixed.toml");
  CAPTURE(file);
  const ContinuumDescription robot = load_as<ContinuumDescription>(file);
  CHECK(robot.sections.size() == 3);
  CHECK_THROWS_WITH(
      load_as<ContinuumDescription>("models/none.toml"),
      Contains("models/none.toml: No such file or directory: must be a readable file"));
}

TEST_CASE("overrides: change what they name and nothing else", "[robot_file]") {
  const std::string text = "# comment\n" + kSection + kSection + "damping_time = 0.1\n";
  const std::vector<Override> overrides{
      {"section.*.links", {std::int64_t{20}}, "--set"},
      {"section.2.bending_stiffness", {0.123456789012345}, "--set"},
      {"base.feed", {0.3}, "--set"},
      {"compliance", {"link"}, "--set"},
      {"name", {"two words"}, "--set"},
      {"controller.plugin", {"tendril.reach"}, "--set"},
      {"controller.integral_gain", {std::int64_t{5}}, "--set"},
      {"controller.path", Value::parse("[[0, 0.5], [1, 2]]"), "--set"}};
  const auto robot = parse_as<ContinuumDescription>(text, "arm.toml", overrides);
  CHECK(robot.physics[0].links == 20);
  CHECK(robot.physics[1].links == 20);
  CHECK(robot.physics[0].bending_stiffness == SectionPhysics{}.bending_stiffness);
  CHECK(robot.physics[1].bending_stiffness == 0.123456789012345);
  CHECK(robot.physics[1].damping_time == 0.1);
  CHECK(robot.sections[0].bend_angle_limit == 2.0);
  CHECK(robot.base.feed_limit == 0.3);
  CHECK(robot.compliance == Compliance::Link);
  CHECK(robot.name == "two words");
  CHECK(robot.controller.plugin == "tendril.reach");
  REQUIRE(robot.controller.settings.size() == 2);
  CHECK(*robot.controller.find("integral_gain") == "5");
  CHECK(*robot.controller.find("path") == "0 0.5 1 2");
  CHECK(robot.controller.settings[0].origin.starts_with("--set"));
  // The text that goes with the model is that of the changed robot.
  CHECK(continuum_mjcf(parse_as<ContinuumDescription>(robot.text, "arm.toml")) ==
        continuum_mjcf(robot));
}

TEST_CASE("overrides: a scale multiplies what is in the file", "[robot_file]") {
  const std::string text =
      kSection + "bending_stiffness = 0.25\n" + kSection + "bending_stiffness = 0.5\n";
  const std::vector<Override> overrides{
      {"section.*.bending_stiffness", Value::parse("{ scale = 2 }"), "--set"},
      {"section.1.bending_stiffness", Value::parse("{ scale = 3 }"), "--set"}};
  const auto robot = parse_as<ContinuumDescription>(text, "arm.toml", overrides);
  CHECK(robot.physics[0].bending_stiffness == 1.5);
  CHECK(robot.physics[1].bending_stiffness == 1.0);
  for (const char* key : {"section.1.damping_time", "name", "section.1.nonsense"}) {
    CAPTURE(key);
    const std::vector<Override> wrong{{key, Value::parse("{ scale = 2 }"), "--set"}};
    CHECK_THROWS_WITH(parse_as<ContinuumDescription>(text + "\n", "arm.toml", wrong),
                      Contains("{ scale = 2 }: the file has no number to scale here"));
  }
}

TEST_CASE("overrides: none leaves the robot as it is", "[robot_file]") {
  const auto robot = load_as<ContinuumDescription>("models/arm_mixed.toml");
  CHECK(continuum_mjcf(parse_as<ContinuumDescription>(robot.text, "a.toml", {})) ==
        continuum_mjcf(robot));
}

TEST_CASE("overrides: what is refused names the override", "[robot_file]") {
  struct Case {
    std::string key, value, message;
  };
  const auto c = GENERATE(values<Case>({
      {"section.3.links", "5",
       "--set: arm.toml: section.3.links: '3' is no section, must be * or in [1, 2]"},
      {"section.0.links", "5", "--set: arm.toml: section.0.links: '0' is no section"},
      {"section.1.stiffness", "5", "--set: arm.toml: section 1: unknown key 'stiffness'"},
      {"section.1", "5", "--set: arm.toml: section.1: must be section.NUMBER.KEY"},
      {"base.lift", "5", "--set: arm.toml: base: unknown key 'lift'"},
      {"speed", "5", "--set: arm.toml: unknown key 'speed'"},
      {"section", "5", "--set: arm.toml: section = 5: must be"},
      {"arm.x", "5", "arm.toml: unknown key 'arm'"},
      {"name.x", "5", "--set: arm.toml: name.x: name is no table"},
      {"section.1.links", "0",
       "--set: arm.toml: section 1: links = 0: must be an integer in [1, 200]"},
      {"section.2.links", "many", "--set: arm.toml: section 2: links = 'many': must be an integer"},
  }));
  CAPTURE(c.key, c.value);
  const std::vector<Override> overrides{{c.key, Value::parse(c.value), "--set"}};
  CHECK_THROWS_WITH(parse_robot("name = 'a'\n" + kSection + kSection, "arm.toml", overrides),
                    StartsWith(c.message));
}

TEST_CASE("values: TOML text and back, to the last bit", "[robot_file]") {
  for (const char* text : {"5", "-3", "0.1", "1e-07", "true", "\"two words\"", "[1, 2.5, [true]]",
                           "{ file = \"x.plan\" }", "0.30000000000000004", "6.02e+23",
                           R"("two\nlines and a \"")", R"({ "two words" = 1, "" = "\u007f" })"}) {
    CAPTURE(text);
    const Value value = Value::parse(text);
    CHECK(Value::parse(value.text()) == value);
  }
  CHECK(std::get<std::string>(Value::parse("word").data) == "word");
  CHECK(std::get<std::string>(Value::parse("two words").data) == "two words");
  CHECK(std::get<double>(Value::parse(Value{1.0}.text()).data) == 1.0);  // not the integer 1
  for (const char* text : {"", "[1, 2", "1\nradius = 2", "a = b"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(Value::parse(text), ModelError);
  }
}

TEST_CASE("robot file: a setting can be the text of a file next to it", "[robot_file]") {
  const std::string text = kSection + "[controller]\nplugin = \"p\"\nspeed = 2\nplan = { file = ";
  const auto read = [](const std::string& name) -> std::string {
    if (name == "arc.plan") return "arc 1 0.2\n# two\n";
    throw ModelError(name + ": No such file or directory");
  };
  const auto robot =
      parse_as<ContinuumDescription>(text + "\"arc.plan\" }\n", "arm.toml", {}, read);
  CHECK(*robot.controller.find("plan") == "arc 1 0.2\n# two\n");
  CHECK_THROWS_WITH(parse_robot(text + "\"no.plan\" }\n", "arm.toml", {}, read),
                    StartsWith("arm.toml:7: controller: plan = { file = 'no.plan' }: ") &&
                        Contains("No such file"));
}
