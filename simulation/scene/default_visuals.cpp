#include "simulation/scene/default_visuals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "simulation/scene/robot_bodies.hpp"

namespace tendril::simulation {
namespace {

constexpr const char* kGround = "tendril_ground";  // material and texture
constexpr double kLevel = 0.99;                    // least cosine to the vertical of a floor

struct Pose {
  mjtNum position[3];
  mjtNum rotation[4];
};

/// Poses of the bodies before any joint moves, in the world frame.
std::vector<Pose> initial_poses(const mjModel& model) {
  std::vector<Pose> poses(static_cast<std::size_t>(model.nbody), {{0, 0, 0}, {1, 0, 0, 0}});
  for (int body = 1; body < model.nbody; ++body) {
    const Pose& parent = poses[static_cast<std::size_t>(model.body_parentid[body])];
    Pose& pose = poses[static_cast<std::size_t>(body)];
    mju_rotVecQuat(pose.position, model.body_pos + 3 * body, parent.rotation);
    mju_addTo3(pose.position, parent.position);
    mju_mulQuat(pose.rotation, parent.rotation, model.body_quat + 4 * body);
  }
  return poses;
}

bool has_skybox(mjSpec& spec) {
  for (mjsElement* e = mjs_firstElement(&spec, mjOBJ_TEXTURE); e; e = mjs_nextElement(&spec, e)) {
    if (mjs_asTexture(e)->type == mjTEXTURE_SKYBOX) return true;
  }
  return false;
}

void add_sky(mjSpec& spec) {
  mjsTexture* const sky = mjs_addTexture(&spec, nullptr);
  mjs_setName(sky->element, "tendril_sky");
  sky->type = mjTEXTURE_SKYBOX;
  sky->builtin = mjBUILTIN_GRADIENT;
  const double horizon[3] = {0.93, 0.95, 0.98}, zenith[3] = {0.70, 0.76, 0.84};
  std::copy_n(horizon, 3, sky->rgb1);
  std::copy_n(zenith, 3, sky->rgb2);
  sky->width = 64;
  sky->height = 6 * sky->width;
  const float haze[4] = {0.93f, 0.95f, 0.98f, 1.0f};
  std::copy_n(haze, 4, spec.visual.rgba.haze);
}

bool has_headlight_of_its_own(const mjSpec& spec) {
  mjVisual usual;
  mj_defaultVisual(&usual);
  const auto& light = spec.visual.headlight;
  const auto differ = [](const float(&a)[3], const float(&b)[3]) {
    return !std::equal(a, a + 3, b);
  };
  return differ(light.ambient, usual.headlight.ambient) ||
         differ(light.diffuse, usual.headlight.diffuse) ||
         differ(light.specular, usual.headlight.specular);
}

/// A matt headlight, weak compared with lights of the scene.
void soften_headlight(mjSpec& spec) {
  auto& light = spec.visual.headlight;
  const bool is_lit = mjs_firstElement(&spec, mjOBJ_LIGHT) != nullptr;
  std::fill_n(light.ambient, 3, 0.4f);
  std::fill_n(light.diffuse, 3, is_lit ? 0.1f : 0.35f);
  std::fill_n(light.specular, 3, 0.0f);
}

/// Light from above, obliquely, whose shadows fall behind the objects.
void add_light(mjSpec& spec, const mjModel& model) {
  mjsLight* const light = mjs_addLight(mjs_findBody(&spec, "world"), nullptr);
  light->type = mjLIGHT_DIRECTIONAL;
  light->castshadow = 1;
  const double direction[3] = {0.2, 0.4, -0.9};
  for (int i = 0; i < 3; ++i) {
    light->dir[i] = direction[i];
    light->pos[i] = model.stat.center[i] - 2.0 * model.stat.extent * direction[i];
  }
  std::fill_n(light->diffuse, 3, 0.5f);
  std::fill_n(light->specular, 3, 0.1f);
  // Shadows of all that is within six times the scene's size: at the edge, ground has false ones.
  spec.visual.map.shadowclip = std::max(spec.visual.map.shadowclip, 6.0f);
}

bool is_floor(const mjModel& model, int geom, const std::vector<Pose>& poses) {
  if (model.geom_type[geom] == mjGEOM_HFIELD) return true;
  if (model.geom_type[geom] != mjGEOM_PLANE) return false;
  mjtNum rotation[4], normal[3];
  const mjtNum up[3] = {0, 0, 1};
  const Pose& body = poses[static_cast<std::size_t>(model.geom_bodyid[geom])];
  mju_mulQuat(rotation, body.rotation, model.geom_quat + 4 * geom);
  mju_rotVecQuat(normal, up, rotation);
  return normal[2] > kLevel;
}

bool is_ground_needed(const mjModel& model, const std::vector<Pose>& poses) {
  const mjtNum* const gravity = model.opt.gravity;
  const bool falls = (model.opt.disableflags & mjDSBL_GRAVITY) == 0 && mju_norm3(gravity) > 0.0;
  if (falls && -gravity[2] < kLevel * mju_norm3(gravity)) return false;
  const RobotBodies robots(model);
  for (int joint = 0; falls && joint < model.njnt; ++joint) {
    const int type = model.jnt_type[joint];
    const bool is_robots = robots.base_of_body(model.jnt_bodyid[joint]) != 0;
    if (type == mjJNT_FREE || (type == mjJNT_SLIDE && !is_robots)) return false;
  }
  for (int geom = 0; geom < model.ngeom; ++geom) {
    if (is_floor(model, geom, poses)) return false;
  }
  return true;
}

/// Height of the lowest point of all geoms, wherever those that move turn around the first body of
/// their chain.
double lowest_point(const mjModel& model, const std::vector<Pose>& poses) {
  double lowest = std::numeric_limits<double>::infinity();
  for (int geom = 0; geom < model.ngeom; ++geom) {
    const int body = model.geom_bodyid[geom];
    const Pose& pose = poses[static_cast<std::size_t>(body)];
    mjtNum center[3];
    mju_rotVecQuat(center, model.geom_pos + 3 * geom, pose.rotation);
    mju_addTo3(center, pose.position);
    const double radius = model.geom_rbound[geom];
    lowest = std::min(lowest, center[2] - radius);
    if (model.body_weldid[body] != 0) {
      const auto root = static_cast<std::size_t>(model.body_rootid[body]);
      const mjtNum* const from = poses[root].position;
      lowest = std::min(lowest, from[2] - mju_dist3(from, center) - radius);
    }
  }
  return std::isfinite(lowest) ? lowest : 0.0;
}

/// The material of grounds, and of floors that have neither a material nor a color.
void add_ground_material(mjSpec& spec, const mjModel& model) {
  mjsTexture* const grid = mjs_addTexture(&spec, nullptr);
  mjs_setName(grid->element, kGround);
  grid->type = mjTEXTURE_2D;
  grid->builtin = mjBUILTIN_CHECKER;
  const double light[3] = {0.80, 0.82, 0.85}, dark[3] = {0.72, 0.745, 0.78};
  std::copy_n(light, 3, grid->rgb1);
  std::copy_n(dark, 3, grid->rgb2);
  grid->width = grid->height = 256;

  mjsMaterial* const material = mjs_addMaterial(&spec, nullptr);
  mjs_setName(material->element, kGround);
  mjs_setInStringVec(material->textures, mjTEXROLE_RGB, kGround);
  material->texuniform = 1;
  const double square = std::max(0.2 * model.stat.extent, 1e-6);
  std::fill_n(material->texrepeat, 2, static_cast<float>(0.5 / square));
  material->reflectance = material->specular = 0.0f;

  mjsGeom usual;
  mjs_defaultGeom(&usual);
  for (mjsElement* e = mjs_firstElement(&spec, mjOBJ_GEOM); e; e = mjs_nextElement(&spec, e)) {
    mjsGeom& geom = *mjs_asGeom(e);
    const bool is_bare = std::string_view(mjs_getString(geom.material)).empty() &&
                         std::equal(geom.rgba, geom.rgba + 4, usual.rgba);
    if (geom.type == mjGEOM_PLANE && is_bare) mjs_setString(geom.material, kGround);
  }
}

/// A ground without end that touches nothing.
void add_ground(mjSpec& spec, double height) {
  mjsGeom* const ground = mjs_addGeom(mjs_findBody(&spec, "world"), nullptr);
  ground->type = mjGEOM_PLANE;
  ground->size[0] = ground->size[1] = 0.0;
  ground->size[2] = 1.0;
  ground->pos[2] = height;
  ground->contype = ground->conaffinity = 0;
  mjs_setString(ground->material, kGround);
}

}  // namespace

bool add_default_visuals(mjSpec& spec, const mjModel& model) {
  if (has_skybox(spec)) return false;  // it has a custom look
  add_sky(spec);
  if (!has_headlight_of_its_own(spec)) {
    soften_headlight(spec);
    if (mjs_firstElement(&spec, mjOBJ_LIGHT) == nullptr) add_light(spec, model);
  }
  add_ground_material(spec, model);
  const std::vector<Pose> poses = initial_poses(model);
  if (is_ground_needed(model, poses)) {
    add_ground(spec, lowest_point(model, poses) - 0.02 * model.stat.extent);
  }
  // The ground must not change what is measured in parts of the scene's size.
  std::copy_n(model.stat.center, 3, spec.stat.center);
  spec.stat.extent = model.stat.extent;
  spec.visual.global.offwidth = std::max(spec.visual.global.offwidth, 1920);
  spec.visual.global.offheight = std::max(spec.visual.global.offheight, 1080);
  return true;
}

}  // namespace tendril::simulation
