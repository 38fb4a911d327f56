// What the environments of tendril.envs need apart from MuJoCo's own package.

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "python/src/arrays.hpp"
#include "python/src/sim.hpp"
#include "rendering/offscreen.hpp"
#include "tendril/path/path.hpp"
#include "tendril/system/process.hpp"

namespace tendril::python {
namespace {

/// The process that was the first to draw, of this one and those that it is a fork of: EGL does not
/// survive a fork, and drawing would wait indefinitely.
int drawing_process = 0;

void require_own_drawing() {
  if (drawing_process == 0) drawing_process = system::process_id();
  if (drawing_process != system::process_id())
    throw std::runtime_error(
        "render: the process that this one is a fork of has drawn, which EGL does not survive: "
        "start processes with forkserver or spawn");
}

class Renderer {
 public:
  Renderer(nb::object model, int width, int height, const std::string& camera)
      : model_(std::move(model)),
        camera_(simulation::image_camera(native<const mjModel>(model_), camera)) {
    require_own_drawing();
    renderer_ = std::make_unique<simulation::OffscreenRenderer>(native<const mjModel>(model_),
                                                                width, height);
  }
  ~Renderer() {
    if (drawing_process != system::process_id()) static_cast<void>(renderer_.release());
  }
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  nb::object render(const nb::object& data) {
    require_own_drawing();
    const simulation::Image& image = renderer_->render(native<mjData>(data), camera_);
    const auto size = [](int n) { return static_cast<std::size_t>(n); };
    const nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<3>> view(
        image.rgb.data(), {size(image.height), size(image.width), 3}, nb::handle());
    return nb::cast(view, nb::rv_policy::copy);
  }

 private:
  nb::object model_;
  mjvCamera camera_;
  std::unique_ptr<simulation::OffscreenRenderer> renderer_;
};

std::vector<std::array<double, 3>> path_points(const std::vector<std::array<double, 3>>& waypoints,
                                               double corner_radius, double spacing) {
  std::vector<Eigen::Vector3d> corners;
  for (const auto& p : waypoints) corners.emplace_back(p[0], p[1], p[2]);
  const Path path = rounded_path(corners, corner_radius, spacing);
  const int count = static_cast<int>(path.length() / spacing);
  std::vector<std::array<double, 3>> points;
  for (int i = 0; i <= count; ++i) {
    const Eigen::Vector3d p = path.position(path.length() * i / count);
    points.push_back({p.x(), p.y(), p.z()});
  }
  return points;
}

/// Numbers of the rows of `table` (k, 3) that are nearest to `points` (n, 3); of equal ones the
/// first.
nb::object nearest_rows(nb::handle table_value, nb::handle points_value) {
  const Input table("table", table_value, Axes{kAny, 3}), points("points", points_value, Axes{3});
  const std::span<const double> rows = table.all();
  Output nearest(points.leading(), Axes{}, "q");
  for (std::size_t k = 0; k < points.count(); ++k) {
    const std::span<const double> p = points.item(k);
    double least = std::numeric_limits<double>::infinity();
    std::int64_t found = 0;
    for (std::size_t i = 0; i + 2 < rows.size(); i += 3) {
      const double x = rows[i] - p[0], y = rows[i + 1] - p[1], z = rows[i + 2] - p[2];
      const double square = x * x + y * y + z * z;
      if (square < least) {
        least = square;
        found = static_cast<std::int64_t>(i / 3);
      }
    }
    nearest.data<std::int64_t>()[k] = found;
  }
  return nearest.take();
}

}  // namespace

void bind_envs(nb::module_& module) {
  nb::class_<Renderer>(module, "Renderer",
                       "Draws states of a model without a window, by EGL, as the images of "
                       "reports. For the thread that made it.")
      .def(nb::init<nb::object, int, int, const std::string&>(), nb::arg("model"), nb::arg("width"),
           nb::arg("height"), nb::arg("camera") = "",
           nb::sig("def __init__(self, model: mujoco.MjModel, width: int, height: int, camera: str "
                   "= '') -> None"))
      .def("render", &Renderer::render, nb::arg("data"),
           nb::sig("def render(self, data: mujoco.MjData) -> numpy.typing.NDArray[numpy.uint8]"),
           "RGB, (height, width, 3), of data whose positions are computed (mj_forward).");
  module.def(
      "nearest_rows", &nearest_rows, nb::arg("table"), nb::arg("points"),
      nb::sig("def nearest_rows(table: numpy.typing.ArrayLike, points: "
              "numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.int64]"),
      "Numbers of the rows of `table`, (k, 3), that are nearest to `points`, (..., 3); of equal "
      "ones the first.");
  module.def("path_points", &path_points, nb::arg("waypoints"), nb::arg("corner_radius"),
             nb::arg("spacing"),
             "Points at equal distances, about `spacing`, along the polyline with rounded corners, "
             "m.");
}

}  // namespace tendril::python
