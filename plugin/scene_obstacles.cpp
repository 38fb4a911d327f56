#include "plugin/scene_obstacles.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <utility>

#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using Eigen::Isometry3d;
using Eigen::Vector3d;
using ConstVector3 = Eigen::Map<const Vector3d>;
using ConstMatrix3 = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>;

Isometry3d to_pose(const mjtNum* p, const mjtNum* q) {
  Isometry3d X = Isometry3d::Identity();
  X.translation() = ConstVector3(p);
  X.linear() = Eigen::Quaterniond(q[0], q[1], q[2], q[3]).normalized().toRotationMatrix();
  return X;
}

/// Pose of a body in the world with every joint at its reference.
Isometry3d reference_pose(const mjModel* m, int body) {
  Isometry3d X = Isometry3d::Identity();
  for (; body > 0; body = m->body_parentid[body])
    X = to_pose(m->body_pos + 3 * body, m->body_quat + 4 * body) * X;
  return X;
}

bool is_below(const mjModel* m, int body, int top) {
  while (body > 0 && body != top) body = m->body_parentid[body];
  return body == top;
}

bool stands_still(const mjModel* m, int body) {
  for (; body > 0; body = m->body_parentid[body])
    if (m->body_jntnum[body] > 0 || m->body_mocapid[body] >= 0) return false;
  return true;
}

bool is_excluded(const mjModel* m, int a, int b) {
  const auto signature_of = [](int first, int second) {
    return static_cast<int>((static_cast<unsigned>(first) << 16) + static_cast<unsigned>(second));
  };
  const auto matches = [&](int signature) {
    return signature == signature_of(a, b) || signature == signature_of(b, a);
  };
  return std::any_of(m->exclude_signature, m->exclude_signature + m->nexclude, matches);
}

/// Tells whether the engine lets a geom collide with any geom of the arm.
bool can_touch(const mjModel* m, int geom, int base_body) {
  for (int own = 0; own < m->ngeom; ++own) {
    if (!is_below(m, m->geom_bodyid[own], base_body)) continue;
    const bool filter = (m->geom_contype[own] & m->geom_conaffinity[geom]) ||
                        (m->geom_contype[geom] & m->geom_conaffinity[own]);
    if (filter && !is_excluded(m, m->geom_bodyid[own], m->geom_bodyid[geom])) return true;
  }
  return false;
}

/// Geoms selected by the names, in the order of the model.
std::vector<int> named_geoms(const mjModel* m, int base_body, const SceneName& names) {
  std::vector<int> geoms;
  std::istringstream words{names.text};
  for (std::string name; words >> name;) {
    const auto refuse = [&](const char* reason) {
      throw ModelError(std::string(names.setting) + " = " + name + ": " + reason);
    };
    const int geom = mj_name2id(m, mjOBJ_GEOM, name.c_str());
    const int body = mj_name2id(m, mjOBJ_BODY, name.c_str());
    if (geom < 0 && body < 0) refuse("must be a geom or a body of the scene; there is none");
    if (geom >= 0) {
      if (is_below(m, m->geom_bodyid[geom], base_body)) refuse("is a part of the arm itself");
      geoms.push_back(geom);
      continue;
    }
    if (is_below(m, body, base_body)) refuse("is a part of the arm itself");
    const std::size_t before = geoms.size();
    for (int g = 0; g < m->ngeom; ++g) {
      if (is_below(m, m->geom_bodyid[g], body) && !is_below(m, m->geom_bodyid[g], base_body) &&
          can_touch(m, g, base_body))
        geoms.push_back(g);
    }
    if (geoms.size() == before) refuse("the body has no geom that the arm can touch");
  }
  std::sort(geoms.begin(), geoms.end());
  geoms.erase(std::unique(geoms.begin(), geoms.end()), geoms.end());
  return geoms;
}

/// Geoms selected by the names; all that the arm can touch without any.
std::vector<int> selected_geoms(const mjModel* m, int base_body, const SceneName& names) {
  if (names.text.find_first_not_of(" \t\n") != std::string::npos)
    return named_geoms(m, base_body, names);
  std::vector<int> geoms;
  for (int g = 0; g < m->ngeom; ++g) {
    if (!is_below(m, m->geom_bodyid[g], base_body) && can_touch(m, g, base_body))
      geoms.push_back(g);
  }
  return geoms;
}

/// Pose of a geom in the base's frame with every joint at its reference.
Isometry3d reference_geom_pose(const mjModel* m, int base_body, int geom) {
  return reference_pose(m, base_body).inverse() * reference_pose(m, m->geom_bodyid[geom]) *
         to_pose(m->geom_pos + 3 * geom, m->geom_quat + 4 * geom);
}

/// In place of a mesh while the engine compiles the model: it asks for the size of a controller's
/// memory before it has the vertices. Far away, where no plan depends on it.
Solid unknown_solid(const std::string& name) {
  constexpr double kFar = 1e6;  // [m]
  return {.name = name,
          .kind = Solid::Kind::Hull,
          .vertices = {{kFar, 0, 0}, {kFar + 1, 0, 0}, {kFar, 1, 0}, {kFar, 0, 1}},
          .triangles = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}}};
}

/// A geom in its own frame. Throws ModelError for a type that is no solid.
Solid geom_solid(const mjModel* m, int geom) {
  const std::string name = SceneObstacles::name_of(m, geom);
  const ConstVector3 size(m->geom_size + 3 * geom);
  switch (m->geom_type[geom]) {
    case mjGEOM_PLANE:
      return {.name = name, .kind = Solid::Kind::HalfSpace};
    case mjGEOM_SPHERE:
      return {.name = name, .kind = Solid::Kind::Sphere, .size = size};
    case mjGEOM_CAPSULE:
      return {.name = name, .kind = Solid::Kind::Capsule, .size = size};
    case mjGEOM_CYLINDER:
      return {.name = name, .kind = Solid::Kind::Cylinder, .size = size};
    case mjGEOM_BOX:
      return {.name = name, .kind = Solid::Kind::Box, .size = size};
    case mjGEOM_ELLIPSOID:
      return {.name = name, .kind = Solid::Kind::Ellipsoid, .size = size};
    case mjGEOM_MESH: {
      const int id = m->geom_dataid[geom];
      if (m->mesh_vertnum[id] == 0) return unknown_solid(name);
      CollisionMesh faces = collision_mesh(m, id);
      return {.name = name,
              .kind = m->mesh_graphadr[id] < 0 ? Solid::Kind::Mesh : Solid::Kind::Hull,
              .vertices = std::move(faces.vertices),
              .triangles = std::move(faces.triangles)};
    }
    default:
      throw ModelError(
          "its type cannot be an obstacle: must be sphere, capsule, cylinder, box, ellipsoid, "
          "plane or mesh");
  }
}

/// Makes the solids of a selection of geoms with `solid_of`; its errors name setting and geom.
template <class SolidOf>
std::vector<Solid> solids_from(const mjModel* m, const std::vector<int>& geoms,
                               const SceneName& names, const SolidOf& solid_of) {
  std::vector<Solid> solids;
  for (const int g : geoms) {
    try {
      solids.push_back(solid_of(g));
    } catch (const ModelError& error) {
      throw ModelError(std::string(names.setting) + ": " + SceneObstacles::name_of(m, g) + ": " +
                       error.what());
    }
  }
  return solids;
}

Obstacle obstacle_of(const Solid& solid, const char* setting) {
  try {
    return {shape_of(solid), solid.X_BO};
  } catch (const ModelError& error) {
    throw ModelError(std::string(setting) + ": " + solid.name + ": " + error.what());
  }
}

/// A geom in the base's frame.
Solid solid_in_base(const mjModel* m, int base_body, int geom) {
  Solid solid = geom_solid(m, geom);
  solid.X_BO = reference_geom_pose(m, base_body, geom);
  return solid;
}

}  // namespace

CollisionMesh collision_mesh(const mjModel* m, int mesh_id) {
  const float* vertex = m->mesh_vert + 3 * m->mesh_vertadr[mesh_id];
  const auto point = [&](int i) {
    return Vector3d(vertex[3 * i], vertex[3 * i + 1], vertex[3 * i + 2]);
  };
  CollisionMesh made;
  auto& [vertices, triangles] = made;
  if (m->mesh_graphadr[mesh_id] < 0) {
    // Meshes such as STL repeat the vertices of every face: merge equal ones.
    std::vector<int> order(static_cast<std::size_t>(m->mesh_vertnum[mesh_id]));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    const auto before = [&](int a, int b) {
      return std::lexicographical_compare(vertex + 3 * a, vertex + 3 * a + 3, vertex + 3 * b,
                                          vertex + 3 * b + 3);
    };
    std::sort(order.begin(), order.end(), before);
    std::vector<int> one(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i == 0 || before(order[i - 1], order[i])) vertices.push_back(point(order[i]));
      one[static_cast<std::size_t>(order[i])] = static_cast<int>(vertices.size()) - 1;
    }
    const int* face = m->mesh_face + 3 * m->mesh_faceadr[mesh_id];
    for (int f = 0; f < m->mesh_facenum[mesh_id]; ++f) {
      std::array<int, 3> corners{};
      for (std::size_t k = 0; k < 3; ++k)
        corners[k] = one[static_cast<std::size_t>(face[3 * f + static_cast<int>(k)])];
      triangles.push_back(corners);
    }
    return made;
  }
  // The hull: counts, two arrays of its vertices, its edges, its faces (mjmodel.h, mesh_graph).
  const int* graph = m->mesh_graph + m->mesh_graphadr[mesh_id];
  const int vertex_count = graph[0], face_count = graph[1];
  const int* global = graph + 2 + vertex_count;
  const int* faces = global + vertex_count + vertex_count + 3 * face_count;
  Vector3d inside = Vector3d::Zero();
  for (int i = 0; i < vertex_count; ++i) {
    vertices.push_back(point(global[i]));
    inside += vertices.back() / vertex_count;
  }
  for (int f = 0; f < face_count; ++f) {
    std::array<int, 3> corners{};
    for (std::size_t k = 0; k < 3; ++k) {
      const int id = faces[3 * f + static_cast<int>(k)];
      corners[k] = static_cast<int>(std::find(global, global + vertex_count, id) - global);
    }
    const Vector3d &a = vertices[static_cast<std::size_t>(corners[0])],
                   &b = vertices[static_cast<std::size_t>(corners[1])],
                   &c = vertices[static_cast<std::size_t>(corners[2])];
    if ((b - a).cross(c - a).dot(inside - a) > 0.0) std::swap(corners[1], corners[2]);
    triangles.push_back(corners);
  }
  return made;
}

std::string SceneObstacles::name_of(const mjModel* m, int geom) {
  const char* name = mj_id2name(m, mjOBJ_GEOM, geom);
  if (name && *name) return std::string("geom ") + name;
  const char* body = mj_id2name(m, mjOBJ_BODY, m->geom_bodyid[geom]);
  return "geom " + std::to_string(geom) + " (no name, body " + (body ? body : "") + ")";
}

SceneObstacles::SceneObstacles(const mjModel* m, int base_body, const SceneName& names,
                               const StraightBody& body, double margin)
    : base_body_(base_body), geoms_(selected_geoms(m, base_body, names)) {
  const auto moves = [&](int g) {
    return m->body_weldid[m->geom_bodyid[g]] != m->body_weldid[base_body];
  };
  const auto first_still = std::stable_partition(geoms_.begin(), geoms_.end(), moves);
  moving_count_ = static_cast<int>(first_still - geoms_.begin());

  const std::vector<Solid> solids =
      solids_from(m, geoms_, names, [&](int g) { return solid_in_base(m, base_body, g); });
  const std::vector<int> geoms = std::exchange(geoms_, {});
  std::vector<Obstacle> obstacles;
  for (std::size_t i = 0; i < solids.size(); ++i) {
    Obstacle obstacle = obstacle_of(solids[i], names.setting);
    if (static_cast<int>(i) >= moving_count_)
      obstacle = with_room_at_base(std::move(obstacle), body, margin);
    if (!obstacle.shape) {
      left_out_ += (left_out_.empty() ? "" : ", ") + solids[i].name;
      continue;
    }
    geoms_.push_back(geoms[i]);
    solids_.push_back(solids[i]);
    obstacles.push_back(std::move(obstacle));
  }
  obstacles_ = Obstacles(std::move(obstacles));
}

void SceneObstacles::refresh(const mjData* d) noexcept {
  const ConstVector3 p_WB(d->xpos + 3 * base_body_);
  const ConstMatrix3 R_WB(d->xmat + 9 * base_body_);
  for (int i = 0; i < obstacles_.count(); ++i) {
    const int g = geom(i);
    const ConstVector3 p_WO(d->geom_xpos + 3 * g);
    const ConstMatrix3 R_WO(d->geom_xmat + 9 * g);
    Isometry3d X_BO = Isometry3d::Identity();
    X_BO.translation().noalias() = R_WB.transpose() * (p_WO - p_WB);
    X_BO.linear().noalias() = R_WB.transpose() * R_WO;
    if (X_BO.matrix() != obstacles_.pose(i).matrix()) obstacles_.set_pose(i, X_BO);
  }
}

StraightBody straight_body(const ContinuumDescription& arm) {
  return {.radius = largest_radius(arm), .length = arm.kinematics().max_length()};
}

Obstacles obstacles_of(const std::vector<Solid>& solids, const char* setting) {
  std::vector<Obstacle> obstacles;
  for (const Solid& solid : solids) obstacles.push_back(obstacle_of(solid, setting));
  return Obstacles(std::move(obstacles));
}

std::vector<Solid> standing_solids(const mjModel* m, int base_body, const SceneName& names) {
  std::vector<int> geoms = selected_geoms(m, base_body, names);
  std::erase_if(geoms, [&](int g) { return !stands_still(m, m->geom_bodyid[g]); });
  return solids_from(m, geoms, names, [&](int g) {
    Solid solid = geom_solid(m, g);
    solid.X_BO =
        reference_pose(m, m->geom_bodyid[g]) * to_pose(m->geom_pos + 3 * g, m->geom_quat + 4 * g);
    return solid;
  });
}

std::vector<Solid> scene_solids(const mjModel* m, int base_body, const SceneName& names) {
  return solids_from(m, selected_geoms(m, base_body, names), names,
                     [&](int g) { return solid_in_base(m, base_body, g); });
}

Solid scene_geom(const mjModel* m, int base_body, const SceneName& name) {
  const auto refuse = [&](const char* reason) {
    throw ModelError(std::string(name.setting) + " = " + name.text + ": " + reason);
  };
  const int geom = mj_name2id(m, mjOBJ_GEOM, name.text.c_str());
  if (geom < 0) refuse("must be a geom of the scene; there is none of this name");
  if (is_below(m, m->geom_bodyid[geom], base_body)) refuse("is a part of the arm itself");
  Solid solid;
  try {
    solid = geom_solid(m, geom);
  } catch (const ModelError& error) {
    refuse(error.what());
  }
  solid.X_BO = reference_geom_pose(m, base_body, geom);
  return solid;
}

int scene_mocap_body(const mjModel* m, const SceneName& name) {
  const std::string &text = name.text, subject = name.setting + (" = " + text);
  const int body = mj_name2id(m, mjOBJ_BODY, text.c_str());
  if (body < 0) {
    std::string others;
    for (int i = 0; i < m->nbody; ++i) {
      const char* const other = m->body_mocapid[i] >= 0 ? mj_id2name(m, mjOBJ_BODY, i) : nullptr;
      if (other != nullptr) others += (others.empty() ? "" : ", ") + std::string(other);
    }
    throw ModelError(subject +
                     ": must be the name of a mocap body of the scene; there is no such body" +
                     (others.empty() ? "" : ", it has " + others));
  }
  if (m->body_mocapid[body] < 0)
    throw ModelError(subject + ": must be a mocap body (mocap=\"true\")");
  return body;
}

Vector3d scene_position(const mjModel* m, int base_body, int body) {
  return reference_pose(m, base_body).inverse() * reference_pose(m, body).translation();
}

Vector3d standing_target(const mjModel* m, const SceneName& name) {
  const std::string &text = name.text, subject = name.setting + (" = " + text);
  const int body = mj_name2id(m, mjOBJ_BODY, text.c_str());
  const int site = body < 0 ? mj_name2id(m, mjOBJ_SITE, text.c_str()) : -1;
  if (body < 0 && site < 0)
    throw ModelError(subject + ": must be a body or a site of the scene; there is none");
  const int of = body >= 0 ? body : m->site_bodyid[site];
  if (m->body_mocapid[of] < 0 && !stands_still(m, of))
    throw ModelError(subject + ": must be stationary, or be a mocap body");
  const Isometry3d X = reference_pose(m, of);
  return body >= 0 ? Vector3d(X.translation()) : Vector3d(X * ConstVector3(m->site_pos + 3 * site));
}

}  // namespace tendril
