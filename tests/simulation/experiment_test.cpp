#include "simulation/experiment/experiment.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "tendril/model_error.hpp"

using namespace tendril;
using namespace tendril::simulation;

namespace {

Experiment parse(const std::string& toml) { return parse_experiment(toml, "folder/try.toml"); }

std::vector<double> numbers(const Setting& setting) { return setting_numbers(setting, 1, 9, ""); }

const Setting* find(const std::vector<Setting>& settings, const std::string& key) {
  for (const Setting& s : settings) {
    if (s.key == key) return &s;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("experiment: all keys are read", "[experiment]") {
  const Experiment e = parse(R"(
name = "tube"
scene = "scene.xml"
duration = 12
seed = 3
keyframe = "home"
[set]
"option.timestep" = 0.004
"body.tube.offset" = [0, 0.005, 0]
[[motion]]
body = "target"
kind = "circle"
center = [0, 0, 1]
radius = 0.06
speed = 0.1
[[check]]
metric = "tip_error_end"
max = 0.0005
[[check]]
name = "quick"
metric = "settle_time"
threshold = 0.001
max = 2
after = 1
before = 4
[vary]
"geom.*.friction" = { uniform = [0.1, 0.3] }
)");
  CHECK(e.name == "tube");
  CHECK(e.scene == std::filesystem::path("folder/scene.xml"));
  CHECK(e.duration == 12.0);
  CHECK(e.seed == 3);
  CHECK(e.keyframe == "home");
  REQUIRE(e.settings.size() == 2);
  CHECK(e.settings[0].key == "option.timestep");
  CHECK(e.settings[0].origin == "folder/try.toml:8");
  CHECK(numbers(e.settings[1]) == std::vector<double>{0.0, 0.005, 0.0});
  REQUIRE(e.motions.size() == 1);
  CHECK(e.motions[0].kind == MotionKind::Circle);
  CHECK(e.motions[0].radius == 0.06);
  REQUIRE(e.checks.size() == 2);
  CHECK(e.checks[0].name == "tip_error_end");
  CHECK(e.checks[1].window.after == 1.0);
  CHECK(e.checks[1].window.before == 4.0);
  REQUIRE(e.variations.size() == 1);
}

TEST_CASE("experiment: draws on a log scale, relative ones, one for several keys or one for each",
          "[experiment]") {
  const Experiment e = parse(R"(
scene = "a.xml"
[vary]
"geom.a.friction" = { log_uniform = [0.01, 100] }
"robot.section.*.bending_stiffness" = { scale = [0.5, 2] }
mass = { uniform = [1, 3], keys = ["body.a.mass", "body.b.mass"] }
each = { uniform = [1, 3], keys = ["body.c.mass", "body.d.mass"], each = true }
)");
  int below = 0;
  constexpr int kSeeds = 2000;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::vector<Setting> s = e.settings_for(seed);
    REQUIRE(s.size() == 6);
    const auto of = [&](const char* key) {
      return *std::find_if(s.begin(), s.end(), [&](const Setting& one) { return one.key == key; });
    };
    const double friction = numbers(of("geom.a.friction"))[0];
    REQUIRE((friction >= 0.01 && friction < 100.0));
    below += friction < 1.0 ? 1 : 0;
    const auto scale = of("robot.section.*.bending_stiffness").value.scale();
    REQUIRE((scale && *scale >= 0.5 && *scale < 2.0));
    CHECK(numbers(of("body.a.mass")) == numbers(of("body.b.mass")));
    CHECK(numbers(of("body.c.mass")) != numbers(of("body.d.mass")));
  }
  CHECK(std::abs(below - kSeeds / 2) <
        4 * std::sqrt(kSeeds / 4.0));  // half of them on each side of 1
  // The name of an entry with `each` is not part of its draws.
  const Experiment single =
      parse("scene = \"a.xml\"\n[vary]\n\"body.c.mass\" = { uniform = [1, 3] }");
  const std::vector<Setting> all = e.settings_for(5);
  CHECK(std::any_of(all.begin(), all.end(), [&](const Setting& one) {
    return one.key == "body.c.mass" && one.value == single.settings_for(5)[0].value;
  }));

  for (const char* wrong : {"mass = { uniform = [1, 3] }", "mass = { uniform = [1, 3], keys = [] }",
                            "mass = { uniform = [1, 3], keys = [\"mass\"] }",
                            "\"body.a.mass\" = { log_uniform = [0, 1] }",
                            "\"body.a.mass\" = { scale = [[1, 1], [2, 2]] }",
                            "\"body.a.mass\" = { uniform = [1, 2], each = true }",
                            "\"body.a.mass\" = { uniform = [1, 2], scale = [1, 2] }",
                            "\"body.a.mass\" = { keys = [\"body.b.mass\"] }"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(parse("scene = \"a.xml\"\n[vary]\n" + std::string(wrong)), ModelError);
  }
}

TEST_CASE("experiment: the table of tendril sweep changes nothing", "[experiment]") {
  const Experiment e = parse(
      "scene = \"a.xml\"\n[set]\n\"body.b.mass\" = 3\n[sweep]\nseeds = 50\n"
      "[sweep.grid]\n\"body.b.mass\" = [1, 2]\n[[sweep.variant]]\nname = \"x\"");
  REQUIRE(e.settings_for(7).size() == 1);
  CHECK(numbers(e.settings_for(7).front()) == std::vector<double>{3.0});
}

TEST_CASE("experiment: orientations of waypoints are roll, pitch upwards and yaw in degrees",
          "[experiment]") {
  const Experiment e = parse(R"(
scene = "scene.xml"
[[motion]]
body = "t"
kind = "waypoints"
times = [0, 1]
points = [[0, 0, 0], [1, 0, 0]]
angles_deg = [[0, 90, 0], [10, -30, 90]]
interpolation = "step"
)");
  REQUIRE(e.motions.size() == 1);
  const Motion& motion = e.motions[0];
  CHECK(motion.interpolation == Interpolation::Step);
  REQUIRE(motion.orientations.size() == 2);
  const Eigen::Vector3d up = motion.orientations[0] * Eigen::Vector3d::UnitX();
  CHECK((up - Eigen::Vector3d::UnitZ()).norm() < 1e-12);
  const Eigen::Vector3d down = motion.orientations[1] * Eigen::Vector3d::UnitX();
  CHECK((down - Eigen::Vector3d(0, std::sqrt(0.75), -0.5)).norm() < 1e-12);
}

TEST_CASE("experiment: only the scene is needed", "[experiment]") {
  const Experiment e = parse("scene = \"a.xml\"");
  CHECK(e.name == "try");
  CHECK(e.duration == 10.0);
  CHECK(e.seed == 0);
  CHECK(e.checks.empty());
}

TEST_CASE("experiment: settings may be written with bare dots and keep the order of the file",
          "[experiment]") {
  const Experiment e = parse(
      "scene = \"a.xml\"\n[set]\nrobot.name = \"x\"\noption.timestep = 0.001\nbody.b.mass = 2\n");
  REQUIRE(e.settings.size() == 3);
  CHECK(e.settings[0].key == "robot.name");
  CHECK(setting_word(e.settings[0]) == "x");
  CHECK(e.settings[1].key == "option.timestep");
  CHECK(e.settings[2].key == "body.b.mass");
}

TEST_CASE("experiment: errors name file, line, field, value and what is allowed", "[experiment]") {
  struct Case {
    const char* toml;
    const char* message;
  };
  const auto c = GENERATE(values<Case>({
      {"scene = \"a.xml\"\nduratoin = 3",
       "folder/try.toml:2: unknown key 'duratoin' (did you mean duration?), must be one of: name,"},
      {"scene = 3", "folder/try.toml:1: scene = 3: must be a string, not empty"},
      {"duration = 3", "scene: is missing, must be a scene"},
      {"scene = \"a.xml\"\nduration = -1", "folder/try.toml:2: duration = -1: must be in (0, 1e6]"},
      {"scene = \"a.xml\"\nduration = nan", "folder/try.toml:2: duration = nan: must be"},
      {"scene = \"a.xml\"\nduration = true", "folder/try.toml:2: duration = true: must be"},
      {"scene = \"a.xml\"\nseed = -4", "folder/try.toml:2: seed = -4: must be an integer >= 0"},
      {"scene = \"a.xml\"\nseed = 1.5", "folder/try.toml:2: seed = 1.5: must be an integer >= 0"},
      {"scene = \"a.xml\"\nname = \"../x\"", "name = '../x': must not contain '/'"},
      {"scene = \"a.xml\"\n[set]\nspeed = 1",
       "folder/try.toml:3: set: speed = 1: unknown key, must begin with robot."},
      {"scene = \"a.xml\"\n[[check]]\nmetric = \"tip_error_end\"\nmax = 1\nduration = 3",
       "folder/try.toml:5: check 1: duration = 3: is a key of the file, not of this table"},
      {"scene = \"a.xml\"\n[[check]]\nmax = 1", "check 1: metric: is missing"},
      {"scene = \"a.xml\"\n[[check]]\nmetric = \"tip_error\"\nmax = 1",
       "folder/try.toml:3: check 1: metric = 'tip_error': must be SIGNAL_("},
      {"scene = \"a.xml\"\n[[check]]\nmetric = \"tip_error_end\"",
       "check 1: max: is missing: give max, min or both"},
      {"scene = \"a.xml\"\n[[check]]\nmetric = \"tip_error_end\"\nmax = inf",
       "check 1: max = inf: must be finite"},
      {"scene = \"a.xml\"\n[[check]]\nmetric = \"tip_error_end\"\nmin = 2\nmax = 1",
       "check 1: min = 2: must be <= max"},
      {"scene = \"a.xml\"\n[[check]]\nmetric = \"tip_error_end\"\nmax = 1\nthreshold = 1",
       "check 1: threshold = 1: must go with the metric settle_time"},
      {"scene = \"a.xml\"\n[[check]]\nmetric = \"settle_time\"\nmax = 1",
       "check 1: threshold: is missing"},
      {"scene = \"a.xml\"\n[[check]]\nmetric = \"tip_error_end\"\nmax = 1\nafter = 2\nbefore = 1",
       "check 1: before = 1: must be > after"},
      {"scene = \"a.xml\"\n[check]\nmetric = \"tip_error_end\"",
       "must be tables, each headed [[check]]"},
      {"scene = \"a.xml\"\n[[motion]]\nbody = \"t\"", "motion 1: kind: is missing"},
      {"scene = \"a.xml\"\n[[motion]]\nbody = \"t\"\nkind = \"square\"",
       "motion 1: kind = 'square': must be"},
      {"scene = \"a.xml\"\n[[motion]]\nbody = \"t\"\nkind = \"circle\"\nradius = 0\nspeed = 1",
       "motion 1: radius = 0: must be in (0, 1e6]"},
      {"scene = \"a.xml\"\n[[motion]]\nbody = \"t\"\nkind = \"circle\"\nradius = 1\nspeed = "
       "1\nnormal = [0, 0, 0]",
       "motion 1: normal = [ 0, 0, 0 ]: must not be zero"},
      {"scene = \"a.xml\"\n[[motion]]\nbody = \"t\"\nkind = \"waypoints\"\ntimes = [0, 0]\npoints "
       "= [[0, 0, 0], [1, 1, 1]]",
       "motion 1: times = [ 0, 0 ]: 0 after 0: must increase"},
      {"scene = \"a.xml\"\n[[motion]]\nbody = \"t\"\nkind = \"waypoints\"\ntimes = [0]\npoints = "
       "[[0, 0]]",
       "motion 1: points = [ 0, 0 ]: row 1 must be 3 numbers"},
      {"scene = \"a.xml\"\n[[motion]]\nbody = \"t\"\nkind = \"circle\"\nradius = 1\nspeed = "
       "1\nturns = 1",
       "motion 1: turns = 1: must be true or false"},
      {"scene = \"a.xml\"\n[[motion]]\nbody = \"t\"\nkind = \"waypoints\"\ntimes = [0]\npoints = "
       "[[0, 0, 0]]\nangles_deg = [[1, 2]]",
       "motion 1: angles_deg = [ 1, 2 ]: row 1 must be 3 numbers"},
      {"scene = \"a.xml\"\n[[motion]]\nbody = \"t\"\nkind = \"waypoints\"\ntimes = [0]\npoints = "
       "[[0, 0, 0]]\ninterpolation = \"cubic\"",
       "motion 1: interpolation = 'cubic': must be \"smooth\", \"linear\" or \"step\""},
      {"scene = \"a.xml\"\n[[motion]]\nbody = \"t\"\nkind = \"lissajous\"\nfrequency = [1, 1, 1]",
       "motion 1: amplitude: is missing"},
      {"scene = \"a.xml\"\n[vary]\n\"body.b.mass\" = 3",
       "folder/try.toml:3: vary: body.b.mass = 3: must be { uniform"},
      {"scene = \"a.xml\"\n[vary]\n\"body.b.mass\" = { uniform = [2, 1] }", "low must be <= high"},
      {"scene = \"a.xml\"\n[vary]\n\"body.b.mass\" = { uniform = [0.004, 0.002] }",
       "body.b.mass = { uniform = [ 0.004, 0.002 ] }: low must be <= high"},
      {"scene = \"a.xml\"\n[vary]\n\"body.b.mass\" = { normal = [2, -1] }", "sigma must be >= 0"},
      {"scene = \"a.xml\"\n[vary]\n\"body.b.offset\" = { uniform = [[0, 0, 0], [1, 1]] }",
       "two lists of the same length"},
      {"scene = \"a.xml\"\n[vary]\n\"body.b.mass\" = { choice = [] }",
       "choice must have at least one value"},
      {"scene = \"a.xml", "folder/try.toml:1:15: "},
  }));
  DYNAMIC_SECTION(c.toml) {
    CHECK_THROWS_WITH(parse(c.toml),
                      Catch::Contains(c.message) && Catch::StartsWith("folder/try.toml:"));
  }
}

TEST_CASE("vary: a seed draws the same on every machine", "[experiment]") {
  const Experiment e = parse("scene = \"a.xml\"\n[vary]\n\"body.b.mass\" = { uniform = [0, 1] }\n");
  // Reference: splitmix64 and FNV-1a written down separately, in Python, in
  // docs/reference/experiment_file.md.
  CHECK(numbers(e.settings_for(0).front()).front() == 0.9509357714024341);
  CHECK(numbers(e.settings_for(7).front()).front() == 0.8318497585861212);
}

TEST_CASE("vary: runs of different seeds differ by draws, families and random faults",
          "[experiment]") {
  const std::string scene = "scene = \"scene.xml\"\n", fault = scene + "[[fault]]\nkind = ";
  const auto varies = [](const std::string& text) { return parse(text).varies(); };
  CHECK_FALSE(varies(scene));
  CHECK_FALSE(varies(fault + "\"bias\"\nchannel = \"tip\"\nvalue = 1\n"));
  CHECK_FALSE(varies(fault + "\"payload\"\nbody = \"tip\"\nmass = 1\n"));
  CHECK(varies(fault + "\"noise\"\nchannel = \"tip\"\nsigma = 1\n"));
  CHECK(varies(fault + "\"dropout\"\nchannel = \"tip\"\nprobability = 1\nduration = 1\n"));
  CHECK(varies(scene + "[vary]\n\"body.b.mass\" = { uniform = [0, 1] }\n"));
  CHECK(varies("family = \"coil\"\n"));
}

TEST_CASE("vary: what one key draws does not depend on the other keys", "[experiment]") {
  const std::string one = "\"body.b.mass\" = { normal = [1, 0.1] }\n";
  const std::string other = "\"body.a.offset\" = { uniform = [[0, 0, 0], [1, 1, 1]] }\n";
  const auto seed = GENERATE(range(0u, 20u));
  const auto alone = parse("scene = \"a.xml\"\n[vary]\n" + one).settings_for(seed);
  const auto both = parse("scene = \"a.xml\"\n[vary]\n" + other + one).settings_for(seed);
  CHECK(find(alone, "body.b.mass")->value == find(both, "body.b.mass")->value);
}

TEST_CASE("vary: distributions have their range, mean and spread", "[experiment]") {
  const Experiment e = parse(R"(scene = "a.xml"
[vary]
"body.u.mass" = { uniform = [2, 4] }
"body.n.mass" = { normal = [5, 0.5] }
"option.integrator" = { choice = ["Euler", "discrete", "implicit"] }
"body.v.offset" = { uniform = [[-1, 0, 5], [1, 0, 6]] }
)");
  constexpr int kSamples = 4000;
  double uniform_sum = 0.0, normal_sum = 0.0, normal_squares = 0.0;
  std::map<std::string, int> choices;
  for (int seed = 0; seed < kSamples; ++seed) {
    const auto settings = e.settings_for(static_cast<std::uint64_t>(seed));
    const double u = numbers(*find(settings, "body.u.mass")).front();
    CHECK((u >= 2.0 && u < 4.0));
    uniform_sum += u;
    const double n = numbers(*find(settings, "body.n.mass")).front();
    normal_sum += n;
    normal_squares += (n - 5.0) * (n - 5.0);
    choices[setting_word(*find(settings, "option.integrator"))]++;
    const auto v = numbers(*find(settings, "body.v.offset"));
    REQUIRE(v.size() == 3);
    CHECK((std::abs(v[0]) <= 1.0 && v[1] == 0.0 && v[2] >= 5.0 && v[2] < 6.0));
  }
  // Five standard deviations of the sample mean: 5 * 0.577 / sqrt(4000), 5 * 0.5 / sqrt(4000).
  CHECK(uniform_sum / kSamples == Approx(3.0).margin(0.046));
  CHECK(normal_sum / kSamples == Approx(5.0).margin(0.04));
  CHECK(std::sqrt(normal_squares / kSamples) == Approx(0.5).epsilon(0.06));
  REQUIRE(choices.size() == 3);
  for (const auto& [name, count] : choices) CHECK(count == Approx(kSamples / 3.0).margin(150));
}

TEST_CASE("setting: key=value is split, numbers and words are read strictly", "[experiment]") {
  const Setting s = parse_setting(" option.gravity = [0, 0, -9.81] ");
  CHECK(s.key == "option.gravity");
  CHECK(setting_numbers(s, 3, 3, "") == std::vector<double>{0, 0, -9.81});
  CHECK_THROWS_AS(setting_numbers(s, 1, 2, "two"), ModelError);
  CHECK(setting_word(parse_setting("k=discrete")) == "discrete");
  CHECK(setting_word(parse_setting("controller.obstacles = post rock ")) == "post rock");
  CHECK(setting_word(parse_setting("k=\"discrete\"")) == "discrete");
  for (const char* text : {"novalue", "=3", "key=", ""})
    CHECK_THROWS_AS(parse_setting(text), ModelError);
  for (const char* value : {"1 2", "0.1x", "nan", "inf", "\"1\"", "true", "[1, nan]", "1\nw = 2"}) {
    CAPTURE(value);
    CHECK_THROWS_AS(setting_number(parse_setting("k=" + std::string(value)), {-10.0, 10.0}),
                    ModelError);
  }
}

TEST_CASE("check: limits are inclusive and NaN never holds", "[experiment]") {
  Check check;
  check.min = 1.0;
  check.max = 2.0;
  CHECK(check.holds(1.0));
  CHECK(check.holds(2.0));
  CHECK_FALSE(check.holds(0.999));
  CHECK_FALSE(check.holds(2.001));
  CHECK_FALSE(check.holds(std::nan("")));
  CHECK_FALSE(check.holds(INFINITY));
}
