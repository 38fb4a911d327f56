#include "rendering/offscreen.hpp"

#include <png.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "rendering/changed_region.hpp"
#include "rendering/video_writer.hpp"
#include "simulation/experiment/experiment_run.hpp"
#include "simulation/scene/scene.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tendril::simulation;
using tendril::test::TemporaryFolder;

namespace {

constexpr int kWidth = 200, kHeight = 100;
constexpr double kPixelTolerance =
    1.5;  // of a disc's center: anti-aliasing and the disc's perspective

/// A glowing red sphere of radius 5 cm at (x, 0, z) seen from 1 m along +y, without lights and
/// shadows.
std::string sphere_scene(double x, double z) {
  return "<mujoco><visual><headlight ambient='1 1 1' diffuse='0 0 0' specular='0 0 "
         "0'/></visual><worldbody>"
         "<camera name='other' pos='0 0 5'/><camera name='report' pos='0 -1 0' xyaxes='1 0 0 0 0 "
         "1' fovy='60'/>"
         "<geom size='0.05' rgba='1 0 0 1' pos='" +
         std::to_string(x) + " 0 " + std::to_string(z) + "'/></worldbody></mujoco>";
}

struct Loaded {
  ModelPtr model;
  DataPtr data;
};

Loaded load(const std::string& xml) {
  char error[1000] = "";
  mjSpec* const spec = mj_parseXMLString(xml.c_str(), nullptr, error, sizeof error);
  INFO(error);
  REQUIRE(spec != nullptr);
  Loaded loaded{ModelPtr(mj_compile(spec, nullptr)), nullptr};
  mj_deleteSpec(spec);
  REQUIRE(loaded.model);
  loaded.data = make_data(*loaded.model);
  mj_forward(loaded.model.get(), loaded.data.get());
  return loaded;
}

/// No value on a machine without OpenGL.
std::unique_ptr<OffscreenRenderer> renderer_of(const mjModel& model, int width = kWidth,
                                               int height = kHeight) {
  try {
    return std::make_unique<OffscreenRenderer>(model, width, height);
  } catch (const RenderError& error) {
    WARN(error.what());
    return nullptr;
  }
}

}  // namespace

TEST_CASE("offscreen: a sphere appears where a pinhole camera puts it, x to the right and z up",
          "[view]") {
  const double x = GENERATE(-0.3, 0.0, 0.2), z = GENERATE(-0.15, 0.1);
  const Loaded scene = load(sphere_scene(x, z));
  const auto renderer = renderer_of(*scene.model);
  if (!renderer) return;
  const Image& image = renderer->render(*scene.data, image_camera(*scene.model));
  double sum_u = 0.0, sum_v = 0.0, count = 0.0;
  for (int v = 0; v < kHeight; ++v) {
    for (int u = 0; u < kWidth; ++u) {
      const std::uint8_t* const pixel = image.rgb.data() + 3 * (v * kWidth + u);
      if (pixel[0] < 100 || pixel[1] > 60) continue;
      sum_u += u + 0.5;
      sum_v += v + 0.5;
      ++count;
    }
  }
  REQUIRE(count > 0.0);
  const double focal = 0.5 * kHeight / std::tan(mjPI / 6.0);  // pixels
  CHECK(sum_u / count == Approx(0.5 * kWidth + focal * x).margin(kPixelTolerance));
  CHECK(sum_v / count == Approx(0.5 * kHeight - focal * z).margin(kPixelTolerance));
}

TEST_CASE("offscreen: frames of a video are like images that are drawn alone, shadows included",
          "[view]") {
  struct Case {
    const char* name;
    int width, frames;  // large images are drawn in several parts, see ChangedRegion
  };
  const auto [name, width, frames] =
      GENERATE(values<Case>({{"reach/reach", kWidth, 6},
                             {"tube_insertion/tube_insertion", kWidth, 6},
                             {"snake_path/snake_path", kWidth, 6},
                             {"snake_path/snake_path", 960, 3},
                             {"snake_obstacles/snake_obstacles", 960, 2}}));
  const PreparedRun run =
      prepare_run(load_experiment(TENDRIL_TEST_SCENES + ("/" + std::string(name) + ".toml")), {});
  const mjModel& model = *run.scene.model;
  const auto film = renderer_of(model, width, width / 2);
  if (!film) return;
  const mjvCamera camera = image_camera(model);
  for (int frame = 0; frame < frames; ++frame) {
    const std::vector<std::uint8_t> one = film->render(*run.data, camera).rgb;
    const std::vector<std::uint8_t> alone =
        renderer_of(model, width, width / 2)->render(*run.data, camera).rgb;
    std::size_t different = 0;
    for (std::size_t i = 0; i < one.size(); ++i) different += std::abs(one[i] - alone[i]) > 24;
    INFO(name << ", " << width << " pixels wide, frame " << frame);
    CHECK(different <= one.size() / 2000);  // samples at edges, rounded otherwise
    for (int step = 0; step < 150; ++step) {
      run.motions.apply(*run.data, run.data->time);
      mj_step(&model, run.data.get());
    }
  }
}

TEST_CASE("changed region: a rectangle for each of two spheres far apart that move", "[view]") {
  const Loaded scene = load(
      "<mujoco><worldbody><camera name='report' pos='0 0 3'/><light pos='0 0 2' dir='0 0 -1'/>"
      "<geom type='plane' size='0 0 1'/><geom pos='0 0 0.1' size='0.02'/>"
      "<body pos='-0.8 0.5 0.1'><freejoint/><geom size='0.02'/></body>"
      "<body pos='0.8 -0.5 0.1'><freejoint/><geom size='0.02'/></body></worldbody></mujoco>");
  constexpr int kLarge = 600;
  mjvScene drawn;
  mjv_defaultScene(&drawn);
  mjv_makeScene(scene.model.get(), &drawn, 100);
  mjvCamera camera = image_camera(*scene.model);
  const mjvOption options = image_options();
  ChangedRegion changed;
  const auto update = [&] {
    mj_forward(scene.model.get(), scene.data.get());
    mjv_updateScene(scene.model.get(), scene.data.get(), &options, nullptr, &camera, mjCAT_ALL,
                    &drawn);
    return changed.update(drawn, kLarge, kLarge);
  };
  const auto pixels = [](const std::vector<mjrRect>& parts) {
    int sum = 0;
    for (const mjrRect& part : parts) sum += part.width * part.height;
    return sum;
  };
  CHECK(pixels(update()) == kLarge * kLarge);
  CHECK(update().empty());
  for (const int sphere : {0, 7}) scene.data->qpos[sphere] += 0.01;
  const std::vector<mjrRect> parts = update();
  CHECK(parts.size() >= 2);
  CHECK(pixels(parts) < kLarge * kLarge / 10);
  const mjrRect around = rectangle_around(parts);
  CHECK(around.width * around.height > kLarge * kLarge / 10);
  // The sphere that does not move is not drawn again; the ground is.
  int spheres = 0, planes = 0;
  for (int i = 0; i < drawn.ngeom; ++i) {
    spheres += drawn.geoms[i].type == mjGEOM_SPHERE ? 1 : 0;
    planes += drawn.geoms[i].type == mjGEOM_PLANE ? 1 : 0;
  }
  CHECK(spheres == 2);
  CHECK(planes == 1);
  mjv_freeScene(&drawn);
}

TEST_CASE("offscreen: without background a sphere keeps its color and its opacity", "[view]") {
  const double opacity = GENERATE(1.0, 0.4);
  Loaded scene = load(sphere_scene(0.0, 0.0));
  scene.model->geom_rgba[3] = static_cast<float>(opacity);
  if (!renderer_of(*scene.model)) return;
  OffscreenRenderer renderer(*scene.model, kWidth, kHeight, {.transparent = true});
  const Image& image = renderer.render(*scene.data, image_camera(*scene.model));
  REQUIRE(image.alpha.size() == std::size_t{kWidth * kHeight});
  const auto pixel = [&](int x, int y) { return static_cast<std::size_t>(y * kWidth + x); };
  constexpr double kRounding = 2.0;  // of 255, twice
  const std::size_t middle = pixel(kWidth / 2, kHeight / 2);
  // The line of sight passes its surface twice.
  const double expected = 1.0 - (1.0 - opacity) * (1.0 - opacity);
  CHECK(image.alpha[middle] == Approx(255.0 * expected).margin(kRounding));
  CHECK(image.rgb[3 * middle] > 250);
  CHECK(image.rgb[3 * middle + 1] < 5);
  CHECK(image.alpha[pixel(0, 0)] == 0);
  CHECK(image.alpha[pixel(kWidth - 1, kHeight - 1)] == 0);
}

TEST_CASE("offscreen: geoms of another instant are drawn too", "[view]") {
  Loaded scene = load(sphere_scene(0.0, 0.0));
  const auto renderer = renderer_of(*scene.model);
  if (!renderer) return;
  const auto red = [&](const Image& image) {
    std::ptrdiff_t count = 0;
    for (std::size_t i = 0; i < image.rgb.size(); i += 3)
      count += image.rgb[i] > 100 && image.rgb[i + 1] < 60 ? 1 : 0;
    return count;
  };
  const std::vector<mjvGeom> sphere = renderer->geoms(*scene.data, {true});
  REQUIRE(sphere.size() == 1);
  CHECK(renderer->geoms(*scene.data, {false}).empty());
  scene.data->geom_xpos[0] += 0.25;
  const std::ptrdiff_t one = red(renderer->render(*scene.data, image_camera(*scene.model)));
  const std::ptrdiff_t two = red(renderer->render(*scene.data, image_camera(*scene.model), sphere));
  REQUIRE(one > 20);
  CHECK(two ==
        Approx(2.0 * static_cast<double>(one)).epsilon(0.2));  // the one next to it is an ellipse
}

TEST_CASE("offscreen: two renderers of one process do not disturb each other", "[view]") {
  const Loaded left = load(sphere_scene(-0.3, 0.0)), right = load(sphere_scene(0.3, 0.0));
  auto one = renderer_of(*left.model);
  if (!one) return;
  const Image before = one->render(*left.data, image_camera(*left.model));
  const auto two = renderer_of(*right.model);
  const Image other = two->render(*right.data, image_camera(*right.model));
  CHECK(other.rgb != before.rgb);
  CHECK(one->render(*left.data, image_camera(*left.model)).rgb == before.rgb);
  one.reset();
  CHECK(two->render(*right.data, image_camera(*right.model)).rgb == other.rgb);
}

TEST_CASE("offscreen: the camera report is preferred, then the first fixed one, then a free one",
          "[view]") {
  const Loaded scene = load(sphere_scene(0, 0));
  CHECK(image_camera(*scene.model).fixedcamid == 1);
  CHECK(image_camera(*scene.model, "other").fixedcamid == 0);
  CHECK_THROWS_WITH(image_camera(*scene.model, "none"), Catch::Contains("none"));
  const Loaded unnamed = load("<mujoco><worldbody><camera/><geom size='1'/></worldbody></mujoco>");
  CHECK(image_camera(*unnamed.model).type == mjCAMERA_FIXED);
  const Loaded on_robot = load(
      "<mujoco><worldbody><body><freejoint/><camera/><geom size='1'/></body></worldbody></mujoco>");
  CHECK(image_camera(*on_robot.model).type == mjCAMERA_FREE);
  const Loaded bare = load("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>");
  CHECK(image_camera(*bare.model).type == mjCAMERA_FREE);
}

TEST_CASE("offscreen: two images side by side keep their pixels", "[view]") {
  const Image left{.width = 1, .height = 2, .rgb = {1, 2, 3, 4, 5, 6}};
  const Image right{
      .width = 2, .height = 2, .rgb = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21}};
  const Image both = side_by_side(left, right);
  CHECK(both.width == 3);
  CHECK(both.height == 2);
  CHECK(both.rgb == std::vector<std::uint8_t>{1, 2, 3, 10, 11, 12, 13, 14, 15,  //
                                              4, 5, 6, 16, 17, 18, 19, 20, 21});
  CHECK(both.alpha.empty());
}

TEST_CASE("offscreen: invalid image sizes are refused", "[view]") {
  const Loaded scene = load(sphere_scene(0, 0));
  CHECK_THROWS_AS(OffscreenRenderer(*scene.model, 0, 100), RenderError);
  CHECK_THROWS_AS(OffscreenRenderer(*scene.model, 100, 100000), RenderError);
}

TEST_CASE("offscreen: a force arrow grows with the force and remains within the scene", "[view]") {
  // A sphere of known weight on the floor; the light second body only lowers the mean mass.
  double before = 0.0;
  for (const double mass : {0.01, 0.1, 1.0, 100.0}) {
    const Loaded scene = load(
        "<mujoco><statistic extent='2'/><worldbody><geom type='plane' size='1 1 .1'/><body pos='0 "
        "0 .1'><freejoint/>"
        "<geom size='.1' mass='" +
        std::to_string(mass) +
        "'/></body><body pos='0 0 1'><geom size='.01' mass='0.001'/>"
        "</body></worldbody></mujoco>");
    for (int i = 0; i < 2000; ++i) mj_step(scene.model.get(), scene.data.get());
    mjvScene view;
    mjv_defaultScene(&view);
    mjv_makeScene(scene.model.get(), &view, 100);
    const mjvOption options = image_options();
    mjvCamera camera = image_camera(*scene.model);
    mjv_updateScene(scene.model.get(), scene.data.get(), &options, nullptr, &camera, mjCAT_ALL,
                    &view);
    scale_force_arrows(*scene.model, view);
    std::optional<double> length;
    for (int i = 0; i < view.ngeom; ++i) {
      if (view.geoms[i].type == mjGEOM_ARROW) length = view.geoms[i].size[2];
    }
    mjv_freeScene(&view);
    REQUIRE(length);
    const double force = 9.81 * mass, share = kArrowPerNewton * force;
    CHECK(*length == Approx(2.0 * share / (1.0 + share / kLongestArrow)).epsilon(0.01));
    CHECK(*length > before);
    CHECK(*length < 2.0 * kLongestArrow);
    before = *length;
  }
}

TEST_CASE("png: the file unpacks to the same pixels", "[view]") {
  const TemporaryFolder folder;
  const bool has_alpha = GENERATE(false, true);
  Image image{.width = 7, .height = 3, .rgb = {}};
  for (int i = 0; i < 3 * 7 * 3; ++i) image.rgb.push_back(static_cast<std::uint8_t>(i * 37));
  for (int i = 0; has_alpha && i < 7 * 3; ++i)
    image.alpha.push_back(static_cast<std::uint8_t>(i * 91));
  const auto file = folder.path() / "image.png";
  write_png(file, image);
  png_image read{};
  read.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_file(&read, file.c_str()) != 0);
  CHECK(read.width == 7);
  CHECK(read.height == 3);
  REQUIRE(read.format == (has_alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB));
  std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(read));
  REQUIRE(png_image_finish_read(&read, nullptr, pixels.data(), 0, nullptr) != 0);
  std::vector<std::uint8_t> expected;
  for (std::size_t i = 0; i < 7 * 3; ++i) {
    for (std::size_t k = 0; k < 3; ++k) expected.push_back(image.rgb[3 * i + k]);
    if (has_alpha) expected.push_back(image.alpha[i]);
  }
  CHECK(pixels == expected);
  CHECK_THROWS_AS(write_png(folder.path() / "no" / "such.png", image), RenderError);
}

TEST_CASE("video: without ffmpeg the message says what to install", "[view]") {
  const TemporaryFolder folder;
  const char* const variable = std::getenv("PATH");
  const std::string path = variable == nullptr ? "" : variable;
  setenv("PATH", folder.path().c_str(), 1);
  CHECK_THROWS_WITH(VideoWriter(folder.path() / "film.mp4", 64, 64, 25.0),
                    Catch::Contains("apt install ffmpeg"));
  setenv("PATH", path.c_str(), 1);
}

TEST_CASE("video: a film that cannot be written fails with ffmpeg's own words", "[view]") {
  const TemporaryFolder folder;
  const auto write = [&] {
    VideoWriter writer(folder.path() / "no" / "film.mp4", 64, 64, 25.0);
    const Image frame{.width = 64, .height = 64, .rgb = std::vector<std::uint8_t>(3 * 64 * 64)};
    for (int i = 0; i < 200; ++i) writer.write(frame);
    writer.close();
  };
  CHECK_THROWS_WITH(write(), Catch::Contains("film.mp4") || Catch::Contains("ffmpeg"));
  CHECK_THROWS_AS(VideoWriter(folder.path() / "film.mp4", 64, 64, 0.0), tendril::ModelError);
}

TEST_CASE("offscreen: a camera on a moving body sees the wall before it, and through no wall",
          "[view]") {
  // A wall 10 mm before the camera in a scene of 20 m, whose near plane is 0.2 m away.
  const double opacity = GENERATE(1.0, 0.3);
  const Loaded scene = load(
      "<mujoco><statistic extent='20'/><visual><headlight ambient='1 1 1' diffuse='0 0 0' "
      "specular='0 0 0'/></visual><worldbody>"
      "<geom type='box' size='0.05 0.05 0.001' pos='0 0 -0.011' rgba='1 0 0 " +
      std::to_string(opacity) +
      "'/><geom type='box' size='9 9 0.1' pos='0 0 -1' rgba='0 1 0 1'/>"
      "<body><freejoint/><camera name='eye'/><geom size='0.004' pos='0 0 0.01'/></body>"
      "</worldbody></mujoco>");
  const auto renderer = renderer_of(*scene.model);
  if (!renderer) return;
  const Image& image = renderer->render(*scene.data, image_camera(*scene.model, "eye"));
  const std::size_t middle = 3 * static_cast<std::size_t>(kHeight / 2 * kWidth + kWidth / 2);
  CHECK(image.rgb[middle] > 200);
  CHECK(image.rgb[middle + 1] < 50);
}
