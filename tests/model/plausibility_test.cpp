#include "tendril/model/plausibility.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <optional>

#include "tendril/model_error.hpp"

using namespace tendril;
using Catch::Contains;

namespace {

std::vector<std::string> plausibility_warnings(const std::string& section, double gravity = 9.81) {
  return plausibility(
      parse_model("kind = \"continuum\"\n[[section]]\nconstant_length = 0.1\nbend_limit "
                  "= 1.2\n[[section]]\nbend_limit = 1.2\n" +
                      section,
                  "arm.toml"),
      gravity);
}

}  // namespace

TEST_CASE("plausibility: no model of the project gives any", "[robot_file]") {
  int models = 0;
  for (const char* folder : {"models", "scenes", "apps/examples"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".toml") continue;
      std::optional<ModelDescription> model;
      try {
        model = load_model(entry.path());
      } catch (const ModelError&) {
        continue;  // an experiment or a plan
      }
      CAPTURE(entry.path());
      CHECK(plausibility(*model).empty());
      ++models;
    }
  }
  CHECK(models >= 30);
}

TEST_CASE("plausibility: a density or stiffness of no material names what it comes from",
          "[robot_file]") {
  struct Case {
    std::string name, section, message;
  };
  const auto c = GENERATE(values<Case>({
      {"grams", "constant_length = 0.1\nmass = 70",
       "section 2: mass = 70 kg, length = 0.1 m and the radius make 3.48e+06 kg/m^3, more than any "
       "metal"},
      {"millimeters", "constant_length = 100", "section 2: mass = 0.07 kg, length = 100 m"},
      {"radius in millimeters", "constant_length = 0.1\nradius = 8",
       "section 2: radius = 8 m, 40 times the robot's length of 0.2 m: is the unit m, not mm?"},
      {"radius in km", "constant_length = 0.1\nradius = 8e-6", "more than any metal"},
      {"N mm^2", "constant_length = 0.1\nbending_stiffness = 1e-9",
       "section 2: bending_stiffness = 1e-09 N m^2 and the radius make a Young's modulus of 0.311 "
       "Pa, less than any gel"},
      {"g/cm^3", "constant_length = 0.1\ndensity = 1.1\nradius = 0.01",
       "section 2: density = 1.1 kg/m^3, less than any foam: is the unit kg/m^3?"},
      {"GPa", "constant_length = 0.1\nyoungs_modulus = 70\nbend_torque_limit = 1e6",
       "section 2: youngs_modulus = 70 Pa, less than any gel that keeps its shape: is the unit "
       "Pa?"},
      {"too stiff", "constant_length = 0.1\nyoungs_modulus = 2e12\nbend_torque_limit = 1e6",
       "section 2: youngs_modulus = 2e+12 Pa, more than diamond: is the unit Pa?"},
  }));
  DYNAMIC_SECTION(c.name) {
    const auto lines = plausibility_warnings(c.section, 0.0);
    REQUIRE(lines.size() == 1);
    CHECK_THAT(lines[0], Contains(c.message));
  }
}

TEST_CASE("plausibility: what a section can hold is told where it is less than its limit",
          "[robot_file]") {
  const std::string section =
      "constant_length = 0.1\nbending_stiffness = 0.5\nbend_torque_limit = ";
  CHECK(plausibility_warnings(section + "6.01").empty());  // EI theta / L = 6 N m
  const auto lines = plausibility_warnings(section + "4.05");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] ==
        "section 2: can hold 0.81 of its bend_limit of 1.2 rad: bend_torque_limit = 4.05 N m");
}

TEST_CASE("plausibility: an arm too heavy for its servos is told, unless nothing is heavy",
          "[robot_file]") {
  // Held out level: 0.07 g 0.05 + 0.2 g 0.15 at section 1, 0.2 g 0.05 at section 2.
  const std::string section =
      "constant_length = 0.1\nmass = 0.2\nbending_stiffness = 0.001\n"
      "bend_torque_limit = 0.09";
  const auto lines = plausibility_warnings(section);
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines[0], Contains("section 2: cannot be held out level") && Contains("0.0981 N m"));
  CHECK(plausibility_warnings(section, 0.0).empty());
}
