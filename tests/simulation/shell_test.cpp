// An arm in a lumen from an STL file.

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>

#include "simulation/rollout/run.hpp"
#include "tests/support/random.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tendril;
using namespace tendril::simulation;
using tendril::test::Random;
using tendril::test::TemporaryFolder;

namespace {

constexpr double kStart = 330.0, kStraight = 80.0, kBend = 160.0;  // of the lumen [mm]

/// The middle of the lumen at a length from its entrance: straight, then an arc [mm].
struct Middle {
  explicit Middle(double s)
      : angle(std::max(0.0, s - kStraight) / kBend),
        x(kBend * (1.0 - std::cos(angle))),
        z(kStart + std::min(s, kStraight) + kBend * std::sin(angle)) {}
  double angle, x, z;
};

/// The inner surface of a bent tube with folds, open at its ends, in mm.
std::string lumen_stl(double fold) {
  constexpr int kRings = 52, kAround = 16;
  constexpr double kLength = 260.0, kRadius = 12.0, kFold = 20.0;
  const auto vertex = [&](int k, int i) {
    const double s = kLength * k / kRings, a = 2.0 * std::numbers::pi * (i % kAround) / kAround;
    const Middle m(s);
    const double r = kRadius + fold * std::cos(2.0 * std::numbers::pi * s / kFold);
    return Eigen::Vector3d(m.x + r * std::cos(a) * std::cos(m.angle), r * std::sin(a),
                           m.z - r * std::cos(a) * std::sin(m.angle));
  };
  std::string bytes(80, '\0');
  const auto append = [&](auto number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  append(std::uint32_t{2 * kRings * kAround});
  const auto facet = [&](const std::array<Eigen::Vector3d, 3>& corners) {
    for (int i = 0; i < 3; ++i) append(0.0F);  // the normal, which nobody reads
    for (const Eigen::Vector3d& p : corners)
      for (const double x : p) append(static_cast<float>(x));
    append(std::uint16_t{0});
  };
  for (int k = 0; k < kRings; ++k)
    for (int i = 0; i < kAround; ++i) {
      facet({vertex(k, i), vertex(k, i + 1), vertex(k + 1, i + 1)});
      facet({vertex(k, i), vertex(k + 1, i + 1), vertex(k + 1, i)});
    }
  return bytes;
}

std::string arm() {
  std::string path;
  for (double s = 0.0; s <= 260.0; s += 10.0) {
    const Middle m(s);
    path += fmt::format(", [{:.6f}, 0, {:.6f}]", m.x / 1e3, m.z / 1e3);
  }
  std::string text = "kind = \"continuum\"\n[base]\nfeed = 0.37\n";
  for (int i = 0; i < 4; ++i)
    text +=
        "[[section]]\nconstant_length = 0.08\nbend_limit = 1.2\nlinks = 5\nradius = 0.006\n"
        "mass = 0.02\n";
  return text + "[controller]\nplugin = \"tendril.follow\"\nwaypoints = [[0, 0, 0]" + path +
         "]\ncorner_radius = 0.1\nfit = \"body\"\nspeed = 0.1\n";
}

/// A run into the lumen, displaced by `offset` [m]; `wall` is what the scene has for it.
RunResult insert(const std::string& assets, const std::string& wall, double fold,
                 const Eigen::Vector3d& offset = Eigen::Vector3d::Zero()) {
  const TemporaryFolder folder;
  folder.write("arm.toml", arm());
  folder.write("lumen.stl", lumen_stl(fold));
  folder.write("lumen.toml",
               "kind = \"shell\"\nfile = \"lumen.stl\"\nscale = 0.001\nencloses = \"lumen\"\n"
               "friction = 0.1\n");
  folder.write("scene.xml", fmt::format(R"(<mujoco><option timestep="0.004" integrator="discrete"
cone="elliptic" impratio="10" iterations="100"/><asset><model name="arm" file="arm.toml"/>{}</asset>
<worldbody><attach model="arm" body="base" prefix="arm_"/>
<frame pos="{} {} {}">{}</frame></worldbody></mujoco>)",
                                        assets, offset.x(), offset.y(), offset.z(), wall));
  return run_experiment(load_experiment(folder.write("e.toml",
                                                     "scene = \"scene.xml\"\nduration = 5.0\n"
                                                     "[[check]]\nmetric = \"progress_end\"\n"
                                                     "min = 1.0\n[[check]]\n"
                                                     "metric = \"wall_force_max\"\nmax = 0\n"
                                                     "[[check]]\nmetric = \"penetration_max\"\n"
                                                     "max = 0.001\n")),
                        {});
}

RunResult insert_into_shell(double fold, const Eigen::Vector3d& offset = Eigen::Vector3d::Zero()) {
  return insert(R"(<model name="lumen" file="lumen.toml"/>)",
                R"(<attach model="lumen" body="shell" prefix="lumen_"/>)", fold, offset);
}

double value(const RunResult& result, std::size_t check) { return result.checks.at(check).value; }

}  // namespace

TEST_CASE("shell: an arm enters the lumen of a mesh, which as a mesh geom is a solid", "[shell]") {
  const RunResult shell = insert_into_shell(1.0);
  CHECK(shell.passes());
  CHECK(shell.touched.empty());
  const RunResult solid = insert(R"(<mesh name="m" file="lumen.stl" scale="0.001 0.001 0.001"
inertia="shell"/>)",
                                 R"(<body name="lumen"><geom type="mesh" mesh="m"/></body>)", 1.0);
  CHECK(value(solid, 0) < 0.1);
  CHECK(value(solid, 1) > 1.0);
}

TEST_CASE("shell: a displaced lumen is touched, holds the arm, and repeats to the last bit",
          "[shell]") {
  const auto seed = GENERATE(range(0u, 2u));
  CAPTURE(seed);
  Random random(seed);
  const double a = random.angle();
  const Eigen::Vector3d offset = 0.007 * Eigen::Vector3d(std::cos(a), std::sin(a), 0.0);
  const RunResult first = insert_into_shell(0.5, offset), second = insert_into_shell(0.5, offset);
  CHECK(value(first, 1) > 0.0);
  CHECK(value(first, 2) < 0.001);
  REQUIRE_FALSE(first.touched.empty());
  for (const TouchedGeom& geom : first.touched) CHECK(geom.geom.starts_with("lumen_shell_"));
  for (std::size_t i = 0; i < first.checks.size(); ++i) CHECK(value(first, i) == value(second, i));
}
