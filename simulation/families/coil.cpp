#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "simulation/families/scene_text.hpp"
#include "tendril/path/winding_path.hpp"

namespace tendril::simulation::generate {

using Eigen::Vector3d;
using std::numbers::pi;

std::vector<GeneratedFile> coil(RandomStream& draws, double difficulty) {
  constexpr double kBody = 0.008, kGapWidth = 0.009, kDepth = 0.16;
  constexpr double kArm = 0.6, kFeed = 0.6, kExit = 0.1;
  const Vector3d base(-0.6, 0.0, 0.0);
  // In the base's frame, z along the world's x, x down.
  const auto in_base = [](const Vector3d& p) { return Vector3d(-p.z(), p.y(), p.x()); };
  double radius = 0.0, lean = 0.0, winding = 0.0;
  const double side = draws.coin_flip() ? 1.0 : -1.0;
  Vector3d axis, foot;
  for (int tries = 0;; ++tries) {  // until the feed is long enough
    if (tries > kMaxDraws) throw_no_scene_found("coil");
    radius = draws.uniform(0.030 - 0.020 * difficulty, 0.030 + 0.030 * difficulty);
    lean = draws.uniform(0.0, 80.0 * difficulty) * pi / 180.0;
    const double away = draws.uniform(0.06, 0.16);  // of the point where the arm passes the post
    const double aside = 0.02 * difficulty * draws.uniform(-1.0, 1.0);
    winding = std::min(5.3, 0.22 / (radius + kBody + 0.003));
    axis = {std::sin(lean), 0.0, std::cos(lean)};
    foot = {away - kDepth * std::tan(lean), side * (radius + kBody + kGapWidth + aside), -kDepth};
    const double length = winding_path({.cylinder_point = in_base(foot - base),
                                        .cylinder_axis = in_base(axis),
                                        .cylinder_radius = radius,
                                        .radius = radius + kBody + kGapWidth,
                                        .angle = winding,
                                        .exit_length = kExit})
                              .length();
    if (length > kArm + 0.05 && length < kArm + kFeed) break;
  }
  const Vector3d top = foot + 0.5 * axis;
  const std::string arm =
      "# Six sections of 100 mm with a servo on every hinge, fed while coiling around a post.\n"
      "kind = \"continuum\"\nname = \"arm\"\ncompliance = \"link\"\n\n[base]\nfeed = 0.6\n\n" +
      repeated(
          "[[section]]\nconstant_length = 0.1\nbend_limit = 3.6\nlinks = 10\nradius = 0.008\n"
          "mass = 0.07\nbending_stiffness = 0.05\nbend_gain = 5\n\n",
          6) +
      fmt::format(
          "[controller]\nplugin = \"tendril.coil\"\npost = \"post\"\nwinding = {:.6f}\n"
          "exit_length = 0.1\n",
          winding);
  const std::string world = fmt::format(
      "    <frame pos=\"{}\" {}>\n      <attach model=\"arm\" body=\"base\" prefix=\"arm_\"/>\n    "
      "</frame>\n"
      "    <geom name=\"post\" type=\"capsule\" fromto=\"{} {}\" size=\"{:.6f}\" contype=\"2\" "
      "conaffinity=\"1\" "
      "priority=\"1\" friction=\"0.3\" rgba=\"0.55 0.42 0.30 1\"/>\n",
      text(base), kHorizontalMount, text(foot), text(top), radius);
  return {
      {"coil.toml",
       fmt::format("# An arm coils by {:.0f} deg around a post of {:.0f} mm radius that leans by "
                   "{:.0f} deg, and holds it.\n",
                   winding * 180.0 / pi, 1000.0 * radius, lean * 180.0 / pi) +
           experiment(16.0, "") +
           check("wound as commanded, within 5 %", "winding:post:end",
                 fmt::format("{} = {:.6f}", side > 0.0 ? "max" : "min", -0.95 * side * winding)) +
           check("holds the post with 5 N, within 30 %", "wall_force_end", "min = 3.5\nmax = 6.5") +
           check("force on the post", "wall_force_max", "max = 40") +
           check("finished", "status_end", "min = 1\nmax = 1")},
      {"scene.xml", scene_xml("coil", model_asset("arm"), world)},
      {"arm.toml", arm}};
}

}  // namespace tendril::simulation::generate
