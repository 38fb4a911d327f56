#include "simulation/families/scene_text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "tendril/model_error.hpp"

namespace tendril::simulation::generate {

using Eigen::Vector3d;

double RandomStream::angle() { return uniform(-std::numbers::pi, std::numbers::pi); }

int RandomStream::integer(int low, int high) {
  return low + static_cast<int>(std::floor(uniform(0.0, high - low + 1.0)));
}

std::string text(const Vector3d& p) {
  return fmt::format("{:.6f} {:.6f} {:.6f}", p.x(), p.y(), p.z());
}
std::string list(const Vector3d& p) {
  return fmt::format("[{:.6f}, {:.6f}, {:.6f}]", p.x(), p.y(), p.z());
}

std::string scene_xml(const std::string& name, const std::string& assets, const std::string& world,
                      const std::string& more) {
  return fmt::format(
      "<mujoco model=\"{}\">\n"
      "  <option timestep=\"0.002\" integrator=\"discrete\" cone=\"elliptic\" impratio=\"10\" "
      "iterations=\"100\"/>\n"
      "  <default>\n"
      "    <geom solref=\"0.004 1\" solimp=\"0.95 0.99 0.0005\"/>\n"
      "  </default>\n"
      "  <asset>\n{}  </asset>\n"
      "  <worldbody>\n{}  </worldbody>\n{}</mujoco>\n",
      name, assets, world, more);
}

std::string model_asset(const char* name) {
  return fmt::format("    <model name=\"{0}\" file=\"{0}.toml\"/>\n", name);
}

std::string check(const std::string& name, const std::string& metric, const std::string& limits) {
  return fmt::format("[[check]]\nname = \"{}\"\nmetric = \"{}\"\n{}\n", name, metric, limits);
}

std::string experiment(double duration, const std::string& more) {
  return fmt::format("scene = \"scene.xml\"\nduration = {:g}\n{}\n", duration, more);
}

std::string section_text(int links, const char* more) {
  return fmt::format(
      "[[section]]\nconstant_length = 0.1\nbend_limit = 1.745\nlinks = {}\nradius = 0.008\n"
      "mass = 0.05\nbending_stiffness = 0.05\n{}\n",
      links, more);
}

std::string repeated(const std::string& part, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += part;
  return all;
}

void throw_no_scene_found(const std::string& family) {
  throw ModelError(
      fmt::format("{}: no such scene found in {} draws: take another seed or a lower difficulty",
                  family, kMaxDraws));
}

std::string snake_text(const std::string& more) {
  return "kind = \"snake\"\nname = \"snake\"\njoints = 16\nlink_length = 0.06\nradius = 0.025\n"
         "link_mass = 0.15\n" +
         more;
}

}  // namespace tendril::simulation::generate
