#include "tendril/model/continuum/skin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "tendril/model/continuum/arm_document.hpp"
#include "tendril/model/continuum/chain.hpp"
#include "tendril/model/continuum/disks.hpp"
#include "tendril/model/readers.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr std::size_t kMaxTriangles = 100'000;
constexpr Range kColor{0.0, 1.0};
// Extent of the mesh, for a probable mistake of units or axes.
constexpr double kShortest = 0.01, kLongest = 2.0;  // along z, of the arm's length
constexpr double kWidest = 10.0;                    // from the z axis, of the arm's largest radius

constexpr KeyInfo kKeys[]{
    {"file", "",
     "mesh, `.stl` or `.obj`, on the straight arm in the frame of its base, variable lengths at "
     "half their range ([skin](#disks-and-skin))",
     "required"},
    {"scale", "", "m for a unit of the file: 0.001 for millimeters"},
    {"color", "",
     "`[red, green, blue]`, optionally with opacity; an opaque skin hides the links inside",
     "beige"}};

/// Refuses a mesh that is not on the straight arm.
void require_on_arm(const Fields& fields, const TriangleMesh& mesh,
                    const ContinuumDescription& robot) {
  double low = INFINITY, high = -INFINITY, width = 0.0;
  for (const auto& triangle : mesh.triangles) {
    for (const int vertex : triangle) {
      const Vector3d& p = mesh.vertices[static_cast<std::size_t>(vertex)];
      low = std::min(low, p.z());
      high = std::max(high, p.z());
      width = std::max(width, p.head<2>().norm());
    }
  }
  const double length = rest_length(robot), radius = largest_radius(robot);
  const bool fits = low < length && high > 0.0 && high - low >= kShortest * length &&
                    high - low <= kLongest * length && width <= kWidest * radius;
  if (!fits)
    fields.refuse(
        "file",
        fmt::format("its surface is at z = {:.3g} to {:.3g} m, up to {:.3g} m from the z axis, the "
                    "straight arm at z = 0 to {:.3g} m with a radius of {:.3g} m: must be on the "
                    "arm, in its base's frame; scale = 0.001 for millimeters",
                    low, high, width, length, radius));
}

std::shared_ptr<const ArmPart> read(const Fields& table, const ContinuumDescription& robot,
                                    const FileContents& file) {
  auto skin = std::make_shared<Skin>();
  const std::string name = table.required_text("file", "must name an .stl or .obj file");
  try {
    skin->mesh = merged(parse_mesh(file.read(name), name));
  } catch (const ModelError& error) {
    table.refuse("file", error.what());
  }
  const double scale = table.number("scale", 1.0, kPositiveNumber);
  for (Vector3d& p : skin->mesh.vertices) p *= scale;
  require_on_arm(table, skin->mesh, robot);
  int links = 0;
  for (const SectionPhysics& section : robot.physics) links += section.links;
  skin->mesh = divided(std::move(skin->mesh), rest_length(robot) / links);
  if (skin->mesh.triangles.size() > kMaxTriangles)
    table.refuse("file", fmt::format("has {} triangles no longer than a link, must have at most "
                                     "{}: simplify the mesh",
                                     skin->mesh.triangles.size(), kMaxTriangles));
  if (const std::vector<double> color = table.numbers("color", kColor); !color.empty()) {
    if (color.size() != 3 && color.size() != 4)
      table.refuse("color", "must be red, green, blue and, if there are four, opacity, in [0, 1]");
    std::copy(color.begin(), color.end(), skin->color.begin());
  }
  return skin;
}

/// The vertices that follow a body of the chain, with their weights.
struct Bone {
  std::string vertices, weights;

  void add(std::size_t vertex, double weight) {
    if (weight == 0.0) return;
    vertices += fmt::format("{} ", vertex);
    weights += fmt::format("{:.6g} ", weight);
  }
};

/// Of each body of the chain. In a bent arm the middles of bodies, at the ends of the links, are
/// where the arcs are.
std::vector<Bone> bones_of(const TriangleMesh& mesh, const std::vector<Link>& links) {
  std::vector<double> middle{0.0};
  for (const Link& link : links) middle.push_back(middle.back() + link.length);
  std::vector<Bone> bones(middle.size());
  for (std::size_t v = 0; v < mesh.vertices.size(); ++v) {
    const double z = std::clamp(mesh.vertices[v].z(), 0.0, middle.back());
    const auto above = std::upper_bound(middle.begin(), middle.end() - 1, z);
    const auto k = static_cast<std::size_t>(above - middle.begin());  // >= 1
    const double weight = (z - middle[k - 1]) / (middle[k] - middle[k - 1]);
    bones[k - 1].add(v, 1.0 - weight);
    bones[k].add(v, weight);
  }
  return bones;
}

/// Hides the links whose middles are in the range of heights.
void hide_links(const ArmDocument& arm, double low, double high) {
  const std::vector<double> starts = arm.body_starts();
  for (std::size_t k = 0; k < arm.bodies.size(); ++k) {
    const double end = k + 1 < starts.size() ? starts[k + 1] : starts[k] + arm.tip_height();
    const double middle = 0.5 * (starts[k] + end);
    if (middle < low || middle > high) continue;
    const std::string name =
        k == 0 ? names::kRoot : names::link(arm.links[k - 1].section, arm.links[k - 1].index);
    for (const auto& child : arm.bodies[k]->children()) {
      const std::string* const own = child->tag() == "geom" ? child->find("name") : nullptr;
      if (own != nullptr && *own == name) child->set("group", kCollisionGroup);
    }
  }
}

}  // namespace

constinit const ArmPartKind kSkinKind{.table = "skin", .keys = kKeys, .actuator = {}, .read = read};

TriangleMesh divided(TriangleMesh mesh, double length) {
  const auto z = [&](int vertex) { return mesh.vertices[static_cast<std::size_t>(vertex)].z(); };
  std::map<std::pair<int, int>, int> middles;
  const auto middle = [&](int a, int b) {  // -1: the edge is short enough
    if (std::abs(z(a) - z(b)) <= length) return -1;
    const auto [entry, is_new] =
        middles.try_emplace(std::minmax(a, b), static_cast<int>(mesh.vertices.size()));
    if (is_new)
      mesh.vertices.push_back(0.5 * (mesh.vertices[static_cast<std::size_t>(a)] +
                                     mesh.vertices[static_cast<std::size_t>(b)]));
    return entry->second;
  };
  // The list grows at its end by the parts of a triangle, which are divided in turn.
  for (std::size_t i = 0; i < mesh.triangles.size() && mesh.triangles.size() <= kMaxTriangles;) {
    auto [a, b, c] = mesh.triangles[i];
    // A long edge from a to b, the longest one for good shapes; all its triangles divide it.
    const double ab = std::abs(z(a) - z(b)), bc = std::abs(z(b) - z(c)), ca = std::abs(z(c) - z(a));
    if (bc > std::max(ab, ca))
      std::tie(a, b, c) = std::tuple(b, c, a);
    else if (ca > ab)
      std::tie(a, b, c) = std::tuple(c, a, b);
    const int m = middle(a, b);
    if (m < 0) {
      ++i;
      continue;
    }
    mesh.triangles[i] = {a, m, c};
    mesh.triangles.push_back({m, b, c});
  }
  return mesh;
}

void Skin::write(ArmDocument& arm) const {
  std::string vertices, faces;
  double low = INFINITY, high = -INFINITY;
  for (const Vector3d& p : mesh.vertices) {
    vertices += fmt::format("{:.9g} {:.9g} {:.9g} ", p.x(), p.y(), p.z());
    low = std::min(low, p.z());
    high = std::max(high, p.z());
  }
  for (const auto& t : mesh.triangles) faces += fmt::format("{} {} {} ", t[0], t[1], t[2]);
  XmlNode& skin = arm.mjcf.deformable.add("skin", {{"name", names::kSkin},
                                                   {"rgba", std::span<const double>(color)},
                                                   {"vertex", vertices},
                                                   {"face", faces}});
  const std::vector<Bone> bones = bones_of(mesh, arm.links);
  const std::vector<double> starts = arm.body_starts();
  for (std::size_t k = 0; k < bones.size(); ++k) {
    if (bones[k].vertices.empty()) continue;
    skin.add("bone", {{"body", *arm.bodies[k]->find("name")},
                      {"bindpos", {0, 0, starts[k]}},
                      {"bindquat", {1, 0, 0, 0}},
                      {"vertid", bones[k].vertices},
                      {"vertweight", bones[k].weights}});
  }
  if (color[3] == 1.0) hide_links(arm, low, high);
}

PartLoad Skin::load(double /*tip_radius*/) const { return {}; }

}  // namespace tendril
