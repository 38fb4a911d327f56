#include <fmt/format.h>

#include "simulation/families/scene_text.hpp"

namespace tendril::simulation::generate {

std::vector<GeneratedFile> pole(RandomStream& draws, double difficulty) {
  const double radius = draws.uniform(0.031 - 0.018 * difficulty, 0.031 + 0.018 * difficulty);
  const double friction = draws.uniform(0.7 - 0.6 * difficulty, 0.8);
  const double up = draws.uniform(0.4, 0.8), down = draws.uniform(0.4, 0.7) * up;
  const std::string snake = snake_text(fmt::format(
      "gain = 20\ntorque_limit = 3\nfriction = {0:.6f}\n\n[start]\ncoil_radius = {1:.6f}\n"
      "position = [{2:.6f}, {3:.6f}, 0.001]\nheading = {4:.6f}\n\n[controller]\nplugin = "
      "\"tendril.snake\"\n"
      "gait = \"helix\"\npole_radius = {5:.6f}\ngrip = 0.2\nramp_time = 2\nheights = [{6:.6f}, "
      "{7:.6f}]\n"
      "hold_time = 5\n",
      friction, radius + 0.045, draws.uniform(-0.005, 0.005), draws.uniform(-0.005, 0.005),
      draws.angle(), radius, up, down));
  const std::string world = fmt::format(
      "    <geom name=\"floor\" type=\"plane\" size=\"0 0 1\" friction=\"{0:.6f}\"/>\n"
      "    <geom name=\"pole\" type=\"cylinder\" fromto=\"0 0 0 0 0 2\" size=\"{1:.6f}\" "
      "friction=\"{0:.6f}\" "
      "rgba=\"0.60 0.45 0.30 1\"/>\n    <attach model=\"snake\" body=\"base\" prefix=\"S_\"/>\n",
      friction, radius);
  return {
      {"pole.toml", fmt::format("# A snake climbs a pole of {:.0f} mm with friction {:.2f}, {:.2f} "
                                "m up, and comes down to {:.2f} m.\n",
                                2000.0 * radius, friction, up, down) +
                        experiment(45.0, "keyframe = \"S_start\"") +
                        check("up", "sensor:S_rise:max", fmt::format("min = {:.6f}", up - 0.001)) +
                        check("up and down again", "sensor:S_goals:end", "min = 2") +
                        check("height at the end", "sensor:S_rise:end",
                              fmt::format("min = {:.6f}\nmax = {:.6f}", down - 0.02, down + 0.02)) +
                        check("slip while holding", "sensor:S_slip:max", "max = 0.02")},
      {"scene.xml", scene_xml("pole", model_asset("snake"), world)},
      {"snake.toml", "# Loosely coiled around a pole at the start.\n" + snake}};
}

}  // namespace tendril::simulation::generate
