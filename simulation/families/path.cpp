#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "simulation/families/scene_text.hpp"
#include "tendril/kinematics/rotation.hpp"

namespace tendril::simulation::generate {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using std::numbers::pi;

std::vector<GeneratedFile> path(RandomStream& draws, double difficulty) {
  constexpr double kStart = 1.0, kLength = 1.04, kStep = 0.001;
  const double tightest = 0.48 - 0.24 * difficulty;  // radius of the path
  const double bore = 0.060 - 0.016 * difficulty;    // radius of the rings' polygons
  // The curvature turns about the path at a random rate.
  Matrix3d frame;  // tangent and two normals that do not twist
  frame << 1, 0, 0, 0, 1, 0, 0, 0, 1;
  Vector3d at(kStart, 0.0, 0.0);
  double direction = draws.angle(), rate = 0.0, strength = 0.0;
  std::string waypoints, rings;
  for (int k = 0; k <= static_cast<int>(std::lround(kLength / kStep)); ++k) {
    if (k % 250 == 0) {
      rate = draws.uniform(-4.0, 4.0);
      strength = draws.uniform(0.6, 1.0);
    }
    if (k % 40 == 0) waypoints += "    " + list(at).substr(1, list(at).size() - 2) + ",\n";
    if (k % 220 == 110) {
      constexpr int kSides = 12;
      const auto corner = [&](int i) -> Vector3d {
        const double a = 2.0 * pi * i / kSides;
        return at + bore * (std::cos(a) * frame.col(1) + std::sin(a) * frame.col(2));
      };
      for (int i = 0; i < kSides; ++i) {
        rings += fmt::format(
            "    <geom type=\"capsule\" size=\"0.004\" friction=\"0.5\" rgba=\"0.60 0.45 0.30 1\" "
            "fromto=\"{} {}\"/>\n",
            text(corner(i)), text(corner(i + 1)));
      }
    }
    const double s = k * kStep;
    const double curvature = strength / tightest * std::min(1.0, s / 0.2);
    const Vector3d bend = curvature * kStep *
                          (std::cos(direction) * frame.col(1) + std::sin(direction) * frame.col(2));
    const Vector3d turned = (frame.col(0) + bend).normalized();
    frame = rotation_between(frame.col(0), turned).toRotationMatrix() * frame;
    at += kStep * turned;
    direction += rate * kStep;
  }
  const std::string snake = snake_text(
      "gain = 500\ntorque_limit = 12\n\n[base]\nkind = \"carriage\"\nfeed = 1.0\n\n[controller]\n"
      "plugin = \"tendril.snake\"\nmode = \"path\"\nspeed = 0.05\nwaypoints = [\n" +
      waypoints + "]\n");
  return {
      {"path.toml", fmt::format("# A snake on a carriage follows a random path, of {:.2f} m radius "
                                "at least, through rings.\n",
                                tightest) +
                        experiment(23.0, "") +
                        check("every joint on the path", "sensor:S_path_error:max", "max = 0.006") +
                        check("rings untouched", "contact_count_max", "max = 0") +
                        check("end of the path reached", "progress_end", "min = 0.999")},
      {"scene.xml",
       scene_xml("path", model_asset("snake"),
                 rings + "    <attach model=\"snake\" body=\"base\" prefix=\"S_\"/>\n")},
      {"snake.toml", "# On a carriage, fed along a path.\n" + snake}};
}

}  // namespace tendril::simulation::generate
