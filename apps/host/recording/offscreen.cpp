#include "apps/host/recording/offscreen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "apps/host/engine/engine.hpp"
#include "apps/host/recording/egl_context.hpp"
#include "tendril/model_error.hpp"

namespace tendril::host {
namespace {

constexpr int kSamples = 4;         // per pixel, for anti-aliasing
constexpr int kSlices = 16;         // of a cylinder
constexpr int kShadowSize = 2048;   // pixels of the shadow map
constexpr int kSceneGeoms = 10000;  // room for contact arrows and the lines that plugins draw

}  // namespace

void require_camera(const mjModel& model, const std::string& name) {
  if (name.empty() || mj_name2id(&model, mjOBJ_CAMERA, name.c_str()) >= 0) return;
  const std::string names = object_names(model, mjOBJ_CAMERA, static_cast<int>(model.ncam));
  throw ModelError(fmt::format("--camera: {}: must be a camera of the scene; {}", name,
                               names.empty() ? "it has none" : "it has " + names));
}

mjvCamera picture_camera(const mjModel& model, const std::string& name) {
  mjvCamera camera;
  mjv_defaultFreeCamera(&model, &camera);
  require_camera(model, name);
  int id = mj_name2id(&model, mjOBJ_CAMERA, name.empty() ? "report" : name.c_str());
  for (int i = 0; id < 0 && i < model.ncam; ++i) {
    if (model.cam_mode[i] == mjCAMLIGHT_FIXED) id = i;
  }
  if (id >= 0) {
    camera.type = mjCAMERA_FIXED;
    camera.fixedcamid = id;
  }
  return camera;
}

mjvOption picture_options() {
  mjvOption options;
  mjv_defaultOption(&options);
  options.flags[mjVIS_CONTACTFORCE] = 1;
  return options;
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
  const mjModel* model = nullptr;
  EglContext gl;
  mjrContext context;
  mjvScene scene;
  mjvOption options = picture_options();
  Image image;
  std::vector<std::uint8_t> bottom_up;

  Impl() {
    mjr_defaultContext(&context);
    mjv_defaultScene(&scene);
  }
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

OffscreenRenderer::OffscreenRenderer(const mjModel& model, int width, int height) {
  require_image_size(width, height);
  // Buffer size, samples and shadow map are those of the model; images use their own values.
  const std::unique_ptr<mjModel, void (*)(mjModel*)> view(mj_copyModel(nullptr, &model),
                                                          mj_deleteModel);
  if (!view) throw RenderError("picture: out of memory");
  view->vis.global.offwidth = width;
  view->vis.global.offheight = height;
  view->vis.quality.offsamples = std::max(view->vis.quality.offsamples, kSamples);
  view->vis.quality.shadowsize = std::max(view->vis.quality.shadowsize, kShadowSize);
  // Software rendering is bound by triangles: a tube is hundreds of capsules.
  view->vis.quality.numslices = std::min(view->vis.quality.numslices, kSlices);
  view->vis.quality.numstacks = std::min(view->vis.quality.numstacks, kSlices / 2);

  impl_ = std::make_unique<Impl>();
  impl_->model = &model;
  mjv_makeScene(&model, &impl_->scene, kSceneGeoms);
  mjr_makeContext(view.get(), &impl_->context, mjFONTSCALE_150);
  mjr_setBuffer(mjFB_OFFSCREEN, &impl_->context);
  const mjrRect buffer = mjr_maxViewport(&impl_->context);
  if (impl_->context.currentBuffer != mjFB_OFFSCREEN || buffer.width < width ||
      buffer.height < height) {
    throw RenderError(fmt::format("EGL: no offscreen buffer of {} x {} pixels", width, height));
  }
  const auto bytes = static_cast<std::size_t>(3 * width) * static_cast<std::size_t>(height);
  impl_->image = {.width = width, .height = height, .rgb = std::vector<std::uint8_t>(bytes)};
  impl_->bottom_up.resize(bytes);
}

OffscreenRenderer::~OffscreenRenderer() = default;

const Image& OffscreenRenderer::render(mjData& data, const mjvCamera& camera) {
  Impl& self = *impl_;
  self.gl.make_current();
  mjvCamera view = camera;
  mjv_updateScene(self.model, &data, &self.options, nullptr, &view, mjCAT_ALL, &self.scene);
  scale_force_arrows(*self.model, self.scene);
  self.scene.flags[mjRND_REFLECTION] = 0;  // draws everything twice
  const mjrRect viewport{0, 0, self.image.width, self.image.height};
  mjr_render(viewport, &self.scene, &self.context);
  mjr_readPixels(self.bottom_up.data(), nullptr, viewport, &self.context);
  const auto row = static_cast<std::ptrdiff_t>(3 * self.image.width);
  for (int y = 0; y < self.image.height; ++y) {
    std::copy_n(self.bottom_up.begin() + (self.image.height - 1 - y) * row, row,
                self.image.rgb.begin() + y * row);
  }
  return self.image;
}

}  // namespace tendril::host
