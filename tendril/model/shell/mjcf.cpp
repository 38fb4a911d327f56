#include "tendril/model/shell/mjcf.hpp"

#include <fmt/format.h>

#include "tendril/model/mjcf_document.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr const char* kSurface = "shell_surface";  // material, mesh and geom
constexpr const char* kPiece = "shell";            // class, and before the number of a piece

void append(const Vector3d& p, std::string& text) {
  text += fmt::format("{:.9g} {:.9g} {:.9g} ", p.x(), p.y(), p.z());
}

void add_surface(const TriangleMesh& mesh, MjcfDocument& mjcf, XmlNode& body) {
  std::string vertices, faces;
  for (const Vector3d& p : mesh.vertices) append(p, vertices);
  for (const auto& t : mesh.triangles) faces += fmt::format("{} {} {} ", t[0], t[1], t[2]);
  mjcf.asset.add("material", {{"name", kSurface}, {"rgba", "0.62 0.72 0.82 0.22"}});
  mjcf.asset.add("mesh",
                 {{"name", kSurface}, {"inertia", "shell"}, {"vertex", vertices}, {"face", faces}});
  body.add("geom", {{"name", kSurface},
                    {"type", "mesh"},
                    {"mesh", kSurface},
                    {"material", kSurface},
                    {"contype", 0},
                    {"conaffinity", 0},
                    {"mass", 0}});
}

void add_pieces(const ShellDescription& shell, MjcfDocument& mjcf, XmlNode& body) {
  mjcf.defaults.add("default", {{"class", kPiece}})
      .add("geom", {{"type", "mesh"},
                    {"contype", 2},
                    {"conaffinity", 1},
                    {"priority", 1},
                    {"friction", {shell.friction, 0.005, 0.0001}},
                    {"material", kSurface},
                    {"group", 3}})
      .set(stiff_contact());
  int number = 0;
  for (const ShellPiece& piece : shell_pieces(shell)) {
    const std::string name = fmt::format("{}_{}", kPiece, ++number);
    std::string vertices;
    for (const Vector3d& p : piece.front) append(p, vertices);
    for (const Vector3d& p : piece.back) append(p, vertices);
    mjcf.asset.add("mesh", {{"name", name}, {"inertia", "shell"}, {"vertex", vertices}});
    body.add("geom", {{"name", name}, {"class", kPiece}, {"mesh", name}});
  }
}

}  // namespace

std::string shell_mjcf(const ShellDescription& shell) {
  MjcfDocument mjcf("shell", shell.name);
  mjcf.set_options(0);
  XmlNode& body = mjcf.worldbody.add("body", {{"name", "shell"}});
  add_pieces(shell, mjcf, body);
  add_surface(shell.mesh, mjcf, body);
  return mjcf.text();
}

}  // namespace tendril
