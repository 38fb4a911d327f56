#include "rendering/offscreen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "rendering/changed_region.hpp"
#include "rendering/drive_routes.hpp"
#include "rendering/offscreen_context.hpp"
#include "rendering/shadow_volume.hpp"
#include "rendering/smooth_body.hpp"
#include "simulation/engine/engine.hpp"
#include "tendril/model/continuum/disks.hpp"
#include "tendril/model_error.hpp"

namespace tendril::simulation {
namespace {

constexpr int kSamples = 4;  // per pixel, for anti-aliasing
constexpr int kSlices = 16;  // of a cylinder
constexpr int kShadowSize =
    2048;  // pixels of the shadow map; with the engine's 4096 half of a frame
constexpr int kFullHd = 1920 * 1080;  // pixels of an image up to which that is fine enough
constexpr int kDraftShadow = 1024;
constexpr double kNearest = 0.05;   // that a camera on a moving body shows, of its smallest geom
constexpr int kSceneGeoms = 10000;  // room for contact arrows and the lines that plugins draw

bool is_floor(const mjvGeom& geom) {
  return geom.objtype == mjOBJ_GEOM && (geom.type == mjGEOM_PLANE || geom.type == mjGEOM_HFIELD);
}

/// A white wall behind all that is drawn.
void add_backdrop(mjvScene& scene) {
  if (scene.ngeom >= scene.maxgeom) return;
  const mjvGLCamera eye = mjv_averageCamera(scene.camera, scene.camera + 1);
  const float white[4] = {1.0F, 1.0F, 1.0F, 1.0F};
  constexpr double kDepth = 0.9, kWide = 10.0;  // in distances of the farthest point drawn
  mjtNum position[3], towards[3], rotation[4], matrix[9];
  for (int i = 0; i < 3; ++i) {
    position[i] = eye.pos[i] + kDepth * eye.frustum_far * eye.forward[i];
    towards[i] = -eye.forward[i];
  }
  mju_quatZ2Vec(rotation, towards);
  mju_quat2Mat(matrix, rotation);
  const mjtNum half = kWide * eye.frustum_far;
  const mjtNum size[3] = {half, half, 1e-3 * eye.frustum_far};
  mjvGeom& wall = scene.geoms[scene.ngeom++];
  mjv_initGeom(&wall, mjGEOM_BOX, size, position, matrix, white);
  wall.category = mjCAT_DECOR;
  wall.emission = 1.0F;
}

}  // namespace

void require_camera(const mjModel& model, const std::string& name) {
  if (name.empty() || mj_name2id(&model, mjOBJ_CAMERA, name.c_str()) >= 0) return;
  const std::string names = object_names(model, mjOBJ_CAMERA, static_cast<int>(model.ncam));
  throw ModelError(fmt::format("--camera: {}: must be a camera of the scene; {}", name,
                               names.empty() ? "it has none" : "it has " + names));
}

mjvCamera image_camera(const mjModel& model, const std::string& name) {
  mjvCamera camera;
  mjv_defaultFreeCamera(&model, &camera);
  require_camera(model, name);
  int id = mj_name2id(&model, mjOBJ_CAMERA, name.empty() ? "report" : name.c_str());
  for (int i = 0; id < 0 && i < model.ncam; ++i) {
    const bool stands = model.body_weldid[model.cam_bodyid[i]] == 0;
    if (stands && model.cam_mode[i] == mjCAMLIGHT_FIXED) id = i;
  }
  if (id >= 0) {
    camera.type = mjCAMERA_FIXED;
    camera.fixedcamid = id;
  }
  return camera;
}

mjvOption image_options() {
  mjvOption options;
  mjv_defaultOption(&options);
  options.flags[mjVIS_CONTACTFORCE] = 1;
  return options;
}

bool is_shown(const mjModel& model, int geom) {
  const int type = model.geom_type[geom];
  if (type == mjGEOM_PLANE || type == mjGEOM_HFIELD || !(model.geom_rgba[4 * geom + 3] > 0.0F))
    return false;
  const int group = std::clamp(model.geom_group[geom], 0, mjNGROUP - 1);
  if (image_options().geomgroup[group] != 0) return true;
  const int* const bones = model.skin_bonebodyid;
  return group == kCollisionGroup && model.geom_contype[geom] != 0 &&
         std::find(bones, bones + model.nskinbone, model.geom_bodyid[geom]) !=
             bones + model.nskinbone;
}

void see_from_body(const mjModel& model, const mjvCamera& camera, mjvScene& scene) noexcept {
  if (camera.type != mjCAMERA_FIXED) return;
  const int body = model.cam_bodyid[camera.fixedcamid], first = model.body_geomadr[body];
  if (model.body_weldid[body] == 0) return;
  for (mjvGLCamera& eye : scene.camera) {
    double near = eye.frustum_near;
    for (int i = 0; i < model.body_geomnum[body]; ++i)
      near = std::min(near, kNearest * model.geom_rbound[first + i]);
    const auto ratio = static_cast<float>(near / eye.frustum_near);
    if (!(ratio > 0.0F)) continue;
    for (float* const side : {&eye.frustum_near, &eye.frustum_center, &eye.frustum_width,
                              &eye.frustum_bottom, &eye.frustum_top})
      *side *= ratio;
  }
  mjvGeom* const end = scene.geoms + scene.ngeom;
  const auto is_decor = [](const mjvGeom& geom) { return geom.category == mjCAT_DECOR; };
  scene.ngeom = static_cast<int>(std::remove_if(scene.geoms, end, is_decor) - scene.geoms);
  for (int i = 0; i < scene.ngeom; ++i)
    if (scene.geoms[i].category == mjCAT_STATIC) scene.geoms[i].rgba[3] = 1.0F;
}

void scale_force_arrows(const mjModel& model, mjvScene& scene) noexcept {
  constexpr double kSlimness = 0.03;  // half width of an arrow relative to its length
  const double length_per_newton = model.vis.map.force / model.stat.meanmass;
  if (!(length_per_newton > 0.0) || !(model.stat.extent > 0.0)) return;
  for (int i = 0; i < scene.ngeom; ++i) {
    mjvGeom& geom = scene.geoms[i];
    const bool is_arrow =
        geom.type == mjGEOM_ARROW || geom.type == mjGEOM_ARROW1 || geom.type == mjGEOM_ARROW2;
    if (!is_arrow || geom.category != mjCAT_DECOR) continue;
    const double small = kArrowPerNewton * geom.size[2] / length_per_newton;
    const double length = model.stat.extent * small / (1.0 + small / kLongestArrow);
    const auto width = static_cast<float>(kSlimness * length);
    geom.size[0] = std::min(geom.size[0], width);
    geom.size[1] = std::min(geom.size[1], width);
    geom.size[2] = static_cast<float>(length);
  }
}

struct OffscreenRenderer::Impl {
  const mjModel* model;
  OffscreenContext gl;
  mjrContext context;
  mjvScene scene;
  mjvOption options = image_options();
  Drawing drawing;
  SmoothBody smooth_body;
  DriveRoutes drive_routes;
  ShadowVolume shadows;
  Image image;
  std::vector<std::uint8_t> bottom_up;

  Impl(const mjModel& shown, const Drawing& desired)
      : model(&shown), drawing(desired), smooth_body(shown), drive_routes(shown) {
    options.flags[mjVIS_CONTACTFORCE] = drawing.forces ? 1 : 0;
    mjr_defaultContext(&context);
    mjv_defaultScene(&scene);
  }
  ChangedRegion changed;
  void draw(std::vector<std::uint8_t>& rgb, const std::vector<mjrRect>& parts);
  ~Impl() {
    mjv_freeScene(&scene);
    try {
      // Another renderer may have become current; its objects have the same numbers.
      gl.make_current();
      mjr_freeContext(&context);
    } catch (const RenderError&) {  // the context is lost together with its objects
    }
  }
};

OffscreenRenderer::OffscreenRenderer(const mjModel& model, int width, int height,
                                     const Drawing& drawing) {
  require_image_size(width, height);
  // Buffer size, samples and shadow map are those of the model; images use their own values.
  const std::unique_ptr<mjModel, void (*)(mjModel*)> view(mj_copyModel(nullptr, &model),
                                                          mj_deleteModel);
  if (!view) throw RenderError("image: out of memory");
  view->vis.global.offwidth = width;
  view->vis.global.offheight = height;
  view->vis.quality.offsamples =
      drawing.draft ? 0 : std::max(view->vis.quality.offsamples, kSamples);
  view->vis.quality.shadowsize =
      drawing.draft ? kDraftShadow : (width * height <= kFullHd ? 1 : 2) * kShadowSize;
  // Software rendering is bound by triangles: a tube is hundreds of capsules.
  view->vis.quality.numslices = std::min(view->vis.quality.numslices, kSlices);
  view->vis.quality.numstacks = std::min(view->vis.quality.numstacks, kSlices / 2);

  impl_ = std::make_unique<Impl>(model, drawing);
  mjv_makeScene(&model, &impl_->scene, kSceneGeoms);
  mjr_makeContext(view.get(), &impl_->context, mjFONTSCALE_150);
  mjr_setBuffer(mjFB_OFFSCREEN, &impl_->context);
  const mjrRect buffer = mjr_maxViewport(&impl_->context);
  if (impl_->context.currentBuffer != mjFB_OFFSCREEN || buffer.width < width ||
      buffer.height < height) {
    throw RenderError(fmt::format("EGL: no offscreen buffer of {} x {} pixels", width, height));
  }
  const auto pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  impl_->image = {.width = width,
                  .height = height,
                  .rgb = std::vector<std::uint8_t>(3 * pixels),
                  .alpha = std::vector<std::uint8_t>(drawing.transparent ? pixels : 0)};
  impl_->bottom_up.resize(3 * pixels);
}

OffscreenRenderer::~OffscreenRenderer() = default;

/// Draws parts of the scene's image into `rgb`, rows from the top.
void OffscreenRenderer::Impl::draw(std::vector<std::uint8_t>& rgb,
                                   const std::vector<mjrRect>& parts) {
  if (parts.empty()) return;
  const mjrRect around = rectangle_around(parts);
  const std::array<mjvGLCamera, 2> whole{scene.camera[0], scene.camera[1]};
  for (mjvGLCamera& eye : scene.camera) eye = part_of(eye, around, image.width, image.height);
  const mjrRect viewport{0, 0, around.width, around.height};
  if (parts.size() > 1) {
    mjr_setBuffer(mjFB_OFFSCREEN, &context);
    gl.draw_only(parts, around);
  }
  mjr_render(viewport, &scene, &context);
  gl.draw_everywhere();
  std::copy(whole.begin(), whole.end(), scene.camera);
  mjr_readPixels(bottom_up.data(), nullptr, viewport, &context);
  for (const mjrRect& part : parts) {
    for (int y = part.bottom; y < part.bottom + part.height; ++y) {
      const auto from =
          (static_cast<std::ptrdiff_t>(y - around.bottom) * around.width + part.left - around.left);
      const auto to = static_cast<std::ptrdiff_t>(image.height - 1 - y) * image.width + part.left;
      std::copy_n(bottom_up.begin() + 3 * from, 3 * part.width, rgb.begin() + 3 * to);
    }
  }
}

void OffscreenRenderer::expect(const mjData& data) { impl_->shadows.add(*impl_->model, data); }

const Image& OffscreenRenderer::render(mjData& data, const mjvCamera& camera,
                                       std::span<const mjvGeom> more) {
  Impl& self = *impl_;
  self.gl.make_current();
  mjvCamera view = camera;
  mjvScene& scene = self.scene;
  mjv_updateScene(self.model, &data, &self.options, nullptr, &view, mjCAT_ALL, &scene);
  see_from_body(*self.model, view, scene);
  if (!self.drawing.links) self.smooth_body.draw(scene);
  self.drive_routes.draw(*self.model, data, scene);
  scale_force_arrows(*self.model, scene);
  if (!self.shadows.empty()) {
    self.shadows.add(*self.model, data);
    self.shadows.aim(*self.model, scene, self.context);
  }
  const auto room = static_cast<std::size_t>(scene.maxgeom - scene.ngeom);
  const std::size_t count = std::min(more.size(), room);
  std::copy_n(more.begin(), count, scene.geoms + scene.ngeom);
  scene.ngeom += static_cast<int>(count);
  scene.flags[mjRND_REFLECTION] = 0;  // draws everything twice
  if (!self.drawing.transparent) {
    self.draw(self.image.rgb, self.changed.update(scene, self.image.width, self.image.height));
    return self.image;
  }

  // Color c with opacity a is a c in front of black, and a c + 1 - a in front of white.
  mjvGeom* const end = std::remove_if(scene.geoms, scene.geoms + scene.ngeom, is_floor);
  scene.ngeom = static_cast<int>(end - scene.geoms);
  scene.flags[mjRND_SKYBOX] = scene.flags[mjRND_HAZE] = scene.flags[mjRND_FOG] = 0;
  const std::vector<mjrRect> whole{{0, 0, self.image.width, self.image.height}};
  std::vector<std::uint8_t>& rgb = self.image.rgb;
  std::vector<std::uint8_t> before_white(rgb.size());
  self.draw(rgb, whole);
  add_backdrop(scene);
  self.draw(before_white, whole);
  for (std::size_t i = 0; i < self.image.alpha.size(); ++i) {
    int background = 255;  // what is seen of it
    for (std::size_t k = 3 * i; k < 3 * i + 3; ++k)
      background = std::min(background, std::max(0, before_white[k] - rgb[k]));
    const int opacity = 255 - background;
    self.image.alpha[i] = static_cast<std::uint8_t>(opacity);
    for (std::size_t k = 3 * i; opacity > 0 && k < 3 * i + 3; ++k)
      rgb[k] = static_cast<std::uint8_t>(std::min(255, (rgb[k] * 255 + opacity / 2) / opacity));
  }
  return self.image;
}

std::vector<mjvGeom> OffscreenRenderer::geoms(mjData& data, const std::vector<bool>& chosen) {
  Impl& self = *impl_;
  mjvCamera any;
  mjv_defaultFreeCamera(self.model, &any);
  mjvOption options = self.options;
  options.geomgroup[kCollisionGroup] = 1;  // the links in a skin
  mjv_updateScene(self.model, &data, &options, nullptr, &any, mjCAT_ALL, &self.scene);
  if (!self.drawing.links) self.smooth_body.draw(self.scene);
  std::vector<mjvGeom> found;
  std::copy_if(self.scene.geoms, self.scene.geoms + self.scene.ngeom, std::back_inserter(found),
               [&](const mjvGeom& geom) {
                 const auto id = static_cast<std::size_t>(geom.objid);
                 return geom.objtype == mjOBJ_GEOM && id < chosen.size() && chosen[id];
               });
  return found;
}

}  // namespace tendril::simulation
