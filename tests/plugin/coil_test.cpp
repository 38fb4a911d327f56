// Coils around posts that are not round, judged from the engine's contacts and positions alone.

#include <Eigen/Geometry>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "tests/plugin/test_scenes.hpp"

using namespace tendril::test;
using Eigen::Vector2d;
using Eigen::Vector3d;

namespace {

constexpr double kWinding = 4.0;       // [rad], as commanded
constexpr double kForce = 5.0;         // [N], by default
constexpr double kForceLimit = 0.3;    // relative, of the controller
constexpr double kLeastWinding = 0.9;  // of the command: a link is up to half of it short
constexpr double kMostForce = 40.0;    // on the post at any time [N]
constexpr int kMostSteps = 12000, kSteps = 500;

std::string coiling_arm() {
  std::string text =
      "kind = \"continuum\"\nname = \"arm\"\ncompliance = \"link\"\n"
      "[base]\nfeed = 0.6\n";
  for (int i = 0; i < 6; ++i)
    text +=
        "[[section]]\nconstant_length = 0.1\nbend_limit = 3.6\nlinks = 10\nradius = 0.008\n"
        "mass = 0.07\nbending_stiffness = 0.05\nbend_gain = 5\n";
  return text +
         "[controller]\nplugin = \"tendril.coil\"\npost = \"post\"\nwinding = 4\n"
         "exit_length = 0.1\nspeed = 0.1\n";
}

ModelPtr load_post(const std::string& post) {
  load_tendril();
  return load_scene_text(
      R"(<mujoco><option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10"
      iterations="100" tolerance="1e-6"/>
      <default><geom solref="0.004 1" solimp="0.95 0.99 0.0005"/></default>
      <asset><model name="arm" file="arm.toml"/></asset><worldbody>
      <frame pos="-0.6 0 0" euler="0 90 0"><attach model="arm" body="base" prefix="A_"/></frame>
      <geom name="post" contype="2" conaffinity="1" priority="1" friction="0.3" )" +
          post + "/></worldbody></mujoco>",
      {{"arm.toml", coiling_arm()}});
}

/// Sum of the normal forces on the post [N].
double force_on(const ModelPtr& model, const DataPtr& data, int post) {
  double sum = 0.0;
  for (int i = 0; i < data->ncon; ++i) {
    if (data->contact[i].geom[0] != post && data->contact[i].geom[1] != post) continue;
    std::array<mjtNum, 6> force{};
    mj_contactForce(model.get(), data.get(), i, force.data());
    sum += force[0];
  }
  return sum;
}

/// Angle about the axis of the post [rad], from body to body of the arm where both are within
/// `near` of it.
double winding_of(const ModelPtr& model, const DataPtr& data, int post, int axis, double near) {
  const auto R =
      Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(data->geom_xmat + 9 * post);
  const auto aside = [&](int body) {
    const Vector3d p = R.transpose() * (Vector3d::Map(data->xipos + 3 * body) -
                                        Vector3d::Map(data->geom_xpos + 3 * post));
    return Vector2d(p[(axis + 1) % 3], p[(axis + 2) % 3]);
  };
  double angle = 0.0;
  for (int body = 2; body < model->nbody; ++body) {
    const Vector2d a = aside(body - 1), b = aside(body);
    if (a.norm() < near && b.norm() < near)
      angle += std::atan2(a.x() * b.y() - a.y() * b.x(), a.dot(b));
  }
  return std::abs(angle);
}

}  // namespace

TEST_CASE("coil: posts that are not round are wound and held with the force", "[plugin]") {
  struct Case {
    const char* post;
    int axis;     // of the post
    double near;  // its farthest surface, and twice the arm's radius [m]
  };
  const auto c = GENERATE(values<Case>({
      {R"(type="box" size="0.030 0.026 0.25" pos="0.06 -0.046 0" euler="0 20 0")", 2, 0.056},
      {R"(type="ellipsoid" size="0.040 0.30 0.034" pos="0.06 0.055 0" euler="80 0 0")", 1, 0.056},
  }));
  CAPTURE(c.post);
  const ModelPtr model = load_post(c.post);
  const DataPtr data = make_data(model);
  const int post = mj_name2id(model.get(), mjOBJ_GEOM, "post");
  double most = 0.0;
  for (int k = 0; k < kMostSteps && sensor(model, data, "A_status")[0] != 1.0; ++k) {
    step(model, data, 1);
    most = std::max(most, force_on(model, data, post));
  }
  REQUIRE(sensor(model, data, "A_status")[0] == 1.0);
  double mean = 0.0;
  for (int k = 0; k < kSteps; ++k) {  // and is held on
    step(model, data, 1);
    mean += force_on(model, data, post) / kSteps;
  }
  CHECK(mean == Approx(kForce).epsilon(kForceLimit));
  CHECK(most < kMostForce);
  CHECK(winding_of(model, data, post, c.axis, c.near) > kLeastWinding * kWinding);
  CHECK(sensor(model, data, "A_status")[0] == 1.0);
}
