// Arms whose base is attached to a body that moves.

#include <Eigen/Geometry>
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/plugin/test_scenes.hpp"

using namespace tendril::test;
using Eigen::Isometry3d;
using Eigen::Quaterniond;
using Eigen::Vector3d;

namespace {

const std::string kOpenLoop = "integral_gain = 0\ndeflection_compensation = false\n";
const Vector3d kTarget(0.1, 0.0, 0.04);  // of the arm that lies along x of its carrier

std::string heavy(std::string toml) {
  for (std::size_t at; (at = toml.find("mass = 0.03")) != std::string::npos;)
    toml.replace(at, 11, "mass = 0.3");
  return toml;
}

/// `carrier` opens the body on which the arm lies along x.
ModelPtr load_carried(const std::string& toml, const std::string& carrier,
                      const std::string& more = "") {
  load_tendril();
  return load_scene_text(
      R"(<mujoco><option timestep="0.002" integrator="discrete" cone="elliptic"
      impratio="10" iterations="100"/><asset><model name="arm" file="arm.toml"/></asset><worldbody>)" +
          carrier +
          R"(<frame euler="0 90 0"><attach model="arm" body="base" prefix="A_"/></frame>
      </body><body name="target" mocap="true"/></worldbody>)" +
          more + "</mujoco>",
      {{"arm.toml", toml}});
}

const std::string kMocap = R"(<body name="carrier" mocap="true">)";

void put(const ModelPtr& model, const DataPtr& data, const char* name, const Isometry3d& X) {
  const int body = mj_name2id(model.get(), mjOBJ_BODY, name);
  REQUIRE(body >= 0);
  const int mocap = model->body_mocapid[body];
  REQUIRE(mocap >= 0);
  const Quaterniond q(X.linear());
  Vector3d::Map(data->mocap_pos + 3 * mocap) = X.translation();
  const double wxyz[4] = {q.w(), q.x(), q.y(), q.z()};
  std::copy_n(wxyz, 4, data->mocap_quat + 4 * mocap);
}

Isometry3d pose_of(const ModelPtr& model, const DataPtr& data, const char* name) {
  const int body = mj_name2id(model.get(), mjOBJ_BODY, name);
  REQUIRE(body >= 0);
  Isometry3d X = Isometry3d::Identity();
  X.translation() = Vector3d::Map(data->xpos + 3 * body);
  X.linear() =
      Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(data->xmat + 9 * body);
  return X;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

double off_command(const ModelPtr& model, const DataPtr& data) {
  return distance(sensor(model, data, "A_command"), sensor(model, data, "A_measured"));
}

}  // namespace

TEST_CASE(
    "moving base: where the base is turned the arm does what it does with gravity turned back",
    "[plugin]") {
  const Vector3d axis = GENERATE(Vector3d(0, 1, 0), Vector3d(1, 0, 0), Vector3d(0.6, 0.48, 0.64));
  const double angle = GENERATE(0.7, 2.4);
  CAPTURE(axis.transpose(), angle);
  const ModelPtr model = load_carried(heavy(reach_arm()), kMocap);
  const Isometry3d X = Eigen::Translation3d(0.3, -0.2, 0.5) * Eigen::AngleAxisd(angle, axis);
  const auto run = [&](const Isometry3d& X_WC, const Vector3d& gravity) {
    Vector3d::Map(model->opt.gravity) = gravity;  // read when data is made
    const DataPtr data = make_data(model);
    put(model, data, "carrier", X_WC);
    put(model, data, "target", X_WC * Eigen::Translation3d(kTarget));
    step(model, data, 700);
    CHECK(sensor(model, data, "A_tip_error")[0] < 1e-4);
    return sensor(model, data, "A_measured");
  };
  const Vector3d g(0.0, 0.0, -9.81);
  const auto turned = run(X, g), straight = run(Isometry3d::Identity(), X.linear().transpose() * g);
  CHECK(distance(turned, straight) < 1e-9);
}

TEST_CASE("moving base: gravity is compensated while the base turns over", "[plugin]") {
  const auto worst = [](const std::string& settings) {
    const ModelPtr model = load_carried(heavy(reach_arm(kOpenLoop + settings)), kMocap);
    const DataPtr data = make_data(model);
    double largest = 0.0;
    for (int k = 0; k < 4000; ++k) {  // half a turn in 6 s
      const double angle = std::clamp(k - 1000, 0, 3000) / 3000.0 * 3.14159265;
      const Isometry3d X(Eigen::AngleAxisd(angle, Vector3d::UnitY()));
      put(model, data, "carrier", X);
      put(model, data, "target", X * Eigen::Translation3d(kTarget));
      step(model, data, 1);
      if (k > 900) largest = std::max(largest, off_command(model, data));
    }
    return largest;
  };
  const double on = worst(""), off = worst("gravity_compensation = false\n");
  CAPTURE(on, off);
  CHECK(off > 0.005);
  CHECK(on < 0.001 * off);
}

TEST_CASE("moving base: the tip remains at its target while a mocap base goes in circles and turns",
          "[plugin]") {
  const ModelPtr model = load_carried(reach_arm(), kMocap);
  const DataPtr data = make_data(model);
  // The arm is upright; measured: 0.12 mm.
  constexpr double kRadius = 0.03, kRate = 2.0;  // [rad/s]
  double worst = 0.0, missed = 0.0;
  for (int k = 0; k < 4000; ++k) {
    const double phase = kRate * 0.002 * k;
    const Isometry3d X =
        Eigen::Translation3d(kRadius * std::cos(phase), kRadius * std::sin(phase), 0.0) *
        Eigen::AngleAxisd(phase, Vector3d::UnitZ()) *
        Eigen::AngleAxisd(0.2 * std::sin(2.0 * phase), Vector3d::UnitX()) *
        Eigen::AngleAxisd(-1.57079633, Vector3d::UnitY());
    put(model, data, "carrier", X);
    put(model, data, "target", Isometry3d(Eigen::Translation3d(0.0, 0.0, 0.108)));
    step(model, data, 1);
    if (k < 500) continue;
    worst = std::max(worst, sensor(model, data, "A_tip_error")[0]);
    missed += sensor(model, data, "A_status")[0];
  }
  CAPTURE(worst);
  CHECK(worst < 0.0003);
  CHECK(missed == 0.0);
}

TEST_CASE(
    "moving base: on a turntable the tip remains at a target in the world, and at one that turns",
    "[plugin]") {
  const bool turns = GENERATE(false, true);
  CAPTURE(turns);
  const ModelPtr model = load_carried(
      reach_arm(),
      R"(<body name="carrier" pos="-0.02 0 0"><joint name="table" axis="0 0 1"/>
         <geom type="cylinder" size="0.1 0.01" pos="0 0 -0.05" mass="5" contype="0" conaffinity="0"/>)",
      R"(<actuator><position name="table" joint="table" kp="200" dampratio="1"/></actuator>)");
  const DataPtr data = make_data(model);
  const int table = mj_name2id(model.get(), mjOBJ_ACTUATOR, "table");
  double worst = 0.0;
  for (int k = 0; k < 4000; ++k) {
    const double time = 0.002 * k;
    data->ctrl[table] = turns ? 0.8 * std::max(time - 1.0, 0.0) : 0.5 * std::sin(1.5 * time);
    mj_forward(model.get(), data.get());
    const Isometry3d X =
        turns ? pose_of(model, data, "carrier") : Isometry3d(Eigen::Translation3d(-0.02, 0.0, 0.0));
    put(model, data, "target", X * Eigen::Translation3d(kTarget));
    step(model, data, 1);
    if (k > 500) worst = std::max(worst, sensor(model, data, "A_tip_error")[0]);
  }
  CAPTURE(worst);
  CHECK(worst < 0.0003);  // measured: 0.08 mm
}

TEST_CASE("moving base: an arm on a free body in 0 g reaches, and the body recoils", "[plugin]") {
  const ModelPtr model = load_carried(reach_arm(), R"(<body name="carrier"><freejoint/>
         <geom type="box" size="0.05 0.05 0.05" pos="-0.1 0 0" mass="0.5" contype="0" conaffinity="0"/>)");
  Vector3d::Map(model->opt.gravity).setZero();
  const DataPtr data = make_data(model);
  put(model, data, "target", Isometry3d(Eigen::Translation3d(kTarget)));
  mj_forward(model.get(), data.get());
  const Vector3d center = Vector3d::Map(data->subtree_com);
  step(model, data, 3000);
  CHECK(sensor(model, data, "A_tip_error")[0] < 1e-4);
  mj_forward(model.get(), data.get());
  CHECK((Vector3d::Map(data->subtree_com) - center).norm() < 2e-4);
  CHECK(pose_of(model, data, "carrier").translation().norm() > 5e-3);
}
