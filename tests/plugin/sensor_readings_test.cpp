// Readings of sensors: what the computer of a robot reads, against the sensors of the engine.

#include <Eigen/Core>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "tests/plugin/test_scenes.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace tendril::test;

namespace {

std::string table(const std::string& kind, const std::string& keys) {
  return "[[sensor]]\nkind = \"" + kind + "\"\nname = \"s\"\n" + keys;
}
std::string tracker(const std::string& keys) { return table("tip_tracker", keys); }

const std::string kNoisy =
    "noise = [1e-3, 0.01]\nresolution = [1e-4, 1e-3]\nrate = 50\n"
    "delay = 0.02\ndropout = 0.1\n";

/// An arm that follows a circle, and the sensor under test.
ModelPtr arm(const std::string& sensors, const std::string& settings = "") {
  return load_one_arm(reach_arm(settings) + sensors);
}

/// Runs an arm whose target moves on a circle; calls `look` after every step.
void run(const ModelPtr& model, const DataPtr& data, int steps,
         const std::function<void(int)>& look) {
  const int body = mj_name2id(model.get(), mjOBJ_BODY, "target");
  mjtNum* const p = data->mocap_pos + 3 * model->body_mocapid[body];
  for (int k = 0; k < steps; ++k) {
    p[1] = 0.03 * std::sin(0.01 * k);
    p[2] = 0.04 + 0.02 * std::cos(0.013 * k);
    mj_step(model.get(), data.get());
    look(k);
  }
}

/// Values of a sensor and of its reading in every step.
struct Series {
  std::vector<std::vector<double>> ideal, reading;
};
Series series(const ModelPtr& model, const std::string& name, int steps) {
  const DataPtr data = make_data(model);
  Series all;
  run(model, data, steps, [&](int) {
    all.ideal.push_back(sensor(model, data, "A_" + name));
    all.reading.push_back(sensor(model, data, "A_" + name + "_reading"));
  });
  return all;
}

}  // namespace

TEST_CASE("readings: without imperfections they are the sensors", "[plugin]") {
  const ModelPtr model = arm(tracker(""));
  for (const char* const name : {"s_position", "s_orientation"}) {
    const Series all = series(model, name, 300);
    CHECK(all.ideal == all.reading);
    CHECK(all.ideal.front() != all.ideal.back());
  }
}

TEST_CASE("readings: a tip tracker measures what controllers measure", "[plugin]") {
  const ModelPtr model = arm(tracker(""));
  const DataPtr data = make_data(model);
  run(model, data, 200, [&](int) {
    const auto tip = sensor(model, data, "A_measured_tip"),
               tracked = sensor(model, data, "A_s_position");
    for (std::size_t i = 0; i < 3; ++i) REQUIRE(tracked[i] == Approx(tip[i]).margin(1e-12));
  });
}

TEST_CASE("readings: noise has its standard deviation, no mean and no memory", "[plugin]") {
  constexpr double kNoise = 2e-3;
  constexpr int kSteps = 4000;
  const Series all = series(arm(tracker("noise = [2e-3, 0]\n")), "s_position", kSteps);
  double sum = 0.0, squares = 0.0, lagged = 0.0, before = 0.0;
  for (std::size_t k = 0; k < kSteps; ++k) {
    for (std::size_t i = 0; i < 3; ++i) {
      const double noise = (all.reading[k][i] - all.ideal[k][i]) / kNoise;
      sum += noise;
      squares += noise * noise;
      if (i == 0) lagged += before * noise, before = noise;
    }
  }
  // Within four standard deviations of each estimate.
  const double count = 3.0 * kSteps;
  CHECK(std::abs(sum / count) < 4.0 / std::sqrt(count));
  CHECK(squares / count == Approx(1.0).margin(4.0 * std::sqrt(2.0 / count)));
  CHECK(std::abs(lagged / kSteps) < 4.0 / std::sqrt(kSteps));
}

TEST_CASE("readings: orientations turn by the noise and remain unit quaternions", "[plugin]") {
  constexpr double kNoise = 0.02;
  constexpr int kSteps = 3000;
  const Series all = series(arm(tracker("noise = [0, 0.02]\n")), "s_orientation", kSteps);
  double squares = 0.0;
  for (std::size_t k = 0; k < kSteps; ++k) {
    double dot = 0.0, norm = 0.0;
    for (std::size_t i = 0; i < 4; ++i) {
      dot += all.reading[k][i] * all.ideal[k][i];
      norm += all.reading[k][i] * all.reading[k][i];
    }
    REQUIRE(norm == Approx(1.0).margin(1e-12));
    REQUIRE(dot > 0.0);
    squares += std::pow(2.0 * std::acos(std::min(1.0, dot)), 2);
  }
  // The rotation vector of the tip, up to 1.7 rad long, gets noise: between a half of its variance
  // across the vector and all of it along it.
  const double angle = std::sqrt(squares / (3.0 * kSteps));
  CHECK(angle < 1.05 * kNoise);
  CHECK(angle > 0.7 * kNoise);
}

TEST_CASE("readings: they are multiples of the resolution, the nearest ones", "[plugin]") {
  const Series all = series(arm(tracker("resolution = [1e-3, 0]\n")), "s_position", 300);
  for (std::size_t k = 0; k < all.ideal.size(); ++k) {
    for (std::size_t i = 0; i < 3; ++i) {
      const double steps = all.reading[k][i] / 1e-3;
      REQUIRE(steps == Approx(std::round(steps)).margin(1e-9));
      REQUIRE(std::abs(all.reading[k][i] - all.ideal[k][i]) <= 0.5e-3 * (1.0 + 1e-9));
    }
  }
}

TEST_CASE("readings: samples come at the rate, after the delay", "[plugin]") {
  // 50 Hz and 14 ms with a timestep of 2 ms: every 10th step, 7 steps later.
  const Series all = series(arm(tracker("rate = 50\ndelay = 0.014\n")), "s_position", 500);
  int changes = 0;
  for (std::size_t k = 10; k < all.ideal.size(); ++k) {
    const std::size_t sampled = (k - 7) / 10 * 10;
    REQUIRE(all.reading[k] == all.ideal[sampled]);
    changes += all.reading[k] != all.reading[k - 1] ? 1 : 0;
  }
  CHECK(changes == 49);
}

TEST_CASE("readings: a lost sample leaves the one before, of all quantities", "[plugin]") {
  constexpr int kSteps = 20000;
  const ModelPtr model = arm(tracker("rate = 100\ndropout = 0.2\n"));
  const DataPtr data = make_data(model);
  std::vector<double> sampled, before;
  int samples = 0, lost = 0;
  run(model, data, kSteps, [&](int k) {
    const auto seen = sensor(model, data, "A_s_position_reading");
    const bool turned =
        sensor(model, data, "A_s_orientation_reading") == sensor(model, data, "A_s_orientation");
    if (k % 5 == 0) {
      sampled = sensor(model, data, "A_s_position");
      ++samples;
      if (seen != sampled) {
        ++lost;
        REQUIRE(seen == before);
        REQUIRE_FALSE(turned);
      } else {
        REQUIRE(turned);
      }
    } else {
      REQUIRE(seen == before);  // nothing arrives between the samples
    }
    before = seen;
  });
  const double p = 0.2;
  CHECK(lost == Approx(p * samples).margin(4.0 * std::sqrt(p * (1.0 - p) * samples)));
}

TEST_CASE("readings: an encoder with backlash follows within its dead zone", "[plugin]") {
  constexpr double kWidth = 4e-4;
  const std::string tendons =
      "[[tendon]]\nname = \"t\"\nangle = 0\ndistance = 0.006\n[[tendon]]\nname = \"u\"\nangle = "
      "2.1\ndistance = 0.006\n[[tendon]]\nname = \"v\"\nangle = 4.2\ndistance = 0.006\n";
  const std::string arm = "kind = \"continuum\"\n" + small_sections("bend_servo = true\n") +
                          tendons + table("tendon_encoder", "backlash = 4e-4\n") +
                          "[controller]\nplugin = \"tendril.reach\"\n";
  const Series all = series(load_one_arm(arm), "s_t", 2000);
  double largest = 0.0;
  bool held = false;
  for (std::size_t k = 1; k < all.ideal.size(); ++k) {
    const double x = all.ideal[k][0], y = all.reading[k][0], y0 = all.reading[k - 1][0];
    // It stays where it is as long as the dead zone allows, and is dragged by its ends.
    REQUIRE(std::abs(y - x) <= 0.5 * kWidth * (1.0 + 1e-9));
    if (std::abs(y0 - x) <= 0.5 * kWidth) {
      REQUIRE(y == y0);
      held = held || all.ideal[k] != all.ideal[k - 1];
    } else {
      REQUIRE(std::abs(y - x) == Approx(0.5 * kWidth));
    }
    largest = std::max(largest, std::abs(x - all.ideal[0][0]));
  }
  CHECK(held);
  CHECK(largest > 4.0 * kWidth);
}

TEST_CASE("readings: a drum pays out what of its tendon is not stretched", "[plugin]") {
  // Tendons of 4000 N/m; a helix has a length of its own in the straight arm. A force on the tip,
  // one way and the other, makes some slack. A motor becomes weaker, which its controller does not
  // know: its drum is dragged.
  const bool is_helix = GENERATE(false, true);
  CAPTURE(is_helix);
  constexpr double kStiffness = 4000.0, kPretension = 1.0, kDamping = 0.003;
  std::string tendons;
  for (int i = 0; i < 6; ++i) {
    const std::string angle = std::to_string(2.1 * i + 0.3);
    tendons += "[[tendon]]\nname = \"t" + std::to_string(i) +
               "\"\nsection = " + std::to_string(1 + i / 3) + "\nangle = " +
               (is_helix ? "[" + angle + ", " + std::to_string(2.1 * i + 1.0) + "]" : angle) +
               "\ndistance = 0.006\nstiffness = 4000\nmax_tension = 20\n";
  }
  const ModelPtr model =
      load_one_arm("kind = \"continuum\"\n" + small_sections() + tendons +
                   table("drum_encoder", "") + "[controller]\nplugin = \"tendril.reach\"\n");
  const DataPtr data = make_data(model);
  const int tip = model->site_bodyid[mj_name2id(model.get(), mjOBJ_SITE, "A_tip")];
  int held = 0, slack = 0, dragged = 0;
  std::vector<std::vector<double>> before(6, {0.0});
  run(model, data, 1500, [&](int k) {
    for (int i = 0; i < 6; ++i) {
      const std::string name = "A_t" + std::to_string(i), drum_name = "A_s_t" + std::to_string(i);
      const int actuator = mj_name2id(model.get(), mjOBJ_ACTUATOR, name.c_str());
      const int tendon = mj_name2id(model.get(), mjOBJ_TENDON, name.c_str());
      const double drum = sensor(model, data, drum_name)[0];
      const double tension = sensor(model, data, name + "_tension")[0];
      const double length =
          sensor(model, data, name + "_length")[0] - model->tendon_length0[tendon];
      const double stretched =
          length + kDamping * data->ten_velocity[tendon] - (tension - kPretension) / kStiffness;
      if (tension > 0.0) REQUIRE(drum == Approx(stretched).margin(1e-12));
      const double most = model->actuator_forcerange[2 * actuator + 1];
      if (tension == 0.0) {
        REQUIRE(drum >= stretched);
        ++slack;
      } else if (tension == most) {
        ++dragged;
      }
      if (tension < most) {
        REQUIRE(drum == Approx(data->ctrl[model->actuator_ctrladr[actuator]]).margin(1e-12));
        ++held;
      }
      REQUIRE(sensor(model, data, drum_name + "_reading") == before[std::size_t(i)]);
      before[std::size_t(i)] = {drum};
    }
    if (k == 700)
      model->actuator_forcerange[2 * mj_name2id(model.get(), mjOBJ_ACTUATOR, "A_t4") + 1] = 2.0;
    data->xfrc_applied[6 * tip] = 1.5 * std::sin(0.02 * k);
  });
  CAPTURE(held, slack, dragged);
  CHECK(held > 1000);
  CHECK(slack > 100);
  CHECK(dragged > 100);
}

TEST_CASE("readings: a drum whose servo is stuck stays there", "[plugin]") {
  std::string tendons;
  for (int i = 0; i < 3; ++i)
    tendons += "[[tendon]]\nname = \"t" + std::to_string(i) +
               "\"\nangle = " + std::to_string(2.1 * i) + "\ndistance = 0.006\n";
  const ModelPtr model =
      load_one_arm("kind = \"continuum\"\n" + small_sections("bend_servo = true\n") + tendons +
                   table("drum_encoder", "") + "[controller]\nplugin = \"tendril.reach\"\n");
  const DataPtr data = make_data(model);
  const int a = mj_name2id(model.get(), mjOBJ_ACTUATOR, "A_t0");
  double stuck = 0.0, moved = 0.0;
  run(model, data, 600, [&](int k) {
    const double drum = sensor(model, data, "A_s_t0")[0];
    mjtNum &gain = model->actuator_gainprm[mjNGAIN * a],
           &control = data->ctrl[model->actuator_ctrladr[a]];
    if (k == 300) {  // as a fault of the experiment does it
      stuck = control;
      model->actuator_biasprm[mjNBIAS * a] += gain * stuck;
      gain = 0.0;
    }
    if (k <= 300) return;
    REQUIRE(drum == Approx(stuck).margin(1e-12));
    moved = std::max(moved, std::abs(control - stuck));
  });
  CHECK(moved > 1e-4);
}

TEST_CASE("readings: forces and accelerations are those of the step before", "[plugin]") {
  const auto kind =
      GENERATE(values<std::pair<const char*, const char*>>({{"base_force", "s_force"},
                                                            {"base_force", "s_torque"},
                                                            {"imu", "s_accelerometer"},
                                                            {"imu", "s_gyro"}}));
  const std::string keys = std::string(kind.first) == "imu" ? "places = [0.7]\n" : "";
  const Series all = series(arm(table(kind.first, keys)), kind.second, 200);
  CHECK(all.reading[0] == std::vector<double>{0.0, 0.0, 0.0});
  for (std::size_t k = 1; k < all.ideal.size(); ++k) REQUIRE(all.reading[k] == all.ideal[k - 1]);
}

TEST_CASE("readings: a motor's current is its force over the constant", "[plugin]") {
  load_tendril();
  const std::string snake = "kind = \"snake\"\nlink_length = 0.06\njoints = 8\n" +
                            table("motor_current", "torque_constant = 4\n") +
                            "[controller]\nplugin = \"tendril.snake\"\n";
  const ModelPtr model = load_scene_text(
      R"(<mujoco><asset><model name="snake" file="snake.toml"/></asset><worldbody>
           <geom type="plane" size="3 3 0.1"/><attach model="snake" body="base" prefix="A_"/>
         </worldbody></mujoco>)",
      {{"snake.toml", snake}});
  const DataPtr data = make_data(model);
  double before = 0.0;  // a force is read one step later
  for (int k = 0; k < 100; ++k) {
    mj_step(model.get(), data.get());
    REQUIRE(4.0 * sensor(model, data, "A_s_joint_3_reading")[0] == Approx(before));
    before = sensor(model, data, "A_s_joint_3")[0];
  }
  CHECK(before != 0.0);
  EngineWarnings::take();
}

TEST_CASE("readings: the seed alone decides their noise", "[plugin]") {
  const auto noise = [](const std::string& seed) {
    return series(arm(tracker(kNoisy), seed), "s_position", 100).reading;
  };
  CHECK(noise("sensor_seed = 7\n") == noise("sensor_seed = 7\n"));
  CHECK(noise("sensor_seed = 7\n") != noise("sensor_seed = 8\n"));
  CHECK(noise("") == noise("sensor_seed = 0\n"));
}

TEST_CASE("readings: a copy, a restored state and a reset continue bit for bit", "[plugin]") {
  const ModelPtr model =
      arm(tracker(kNoisy) +
          "[[sensor]]\nkind = \"base_force\"\nname = \"f\"\nnoise = [0.1, 0.01]\n"
          "delay = 0.01\n");
  check_continues(model, {"A_s_position_reading", "A_s_orientation_reading", "A_f_force_reading",
                          "A_f_torque_reading"});
}

TEST_CASE("readings: they do not change the robot, and a step allocates nothing", "[plugin]") {
  const ModelPtr model = arm(tracker(kNoisy) +
                             "[[sensor]]\nkind = \"curvature\"\nname = \"c\"\n"
                             "places = [0.2, 0.8]\nnoise = 0.1\n"),
                 bare = arm("");
  const DataPtr data = make_data(model), alone = make_data(bare);
  step(model, data, 50);
  {
    const AllocationCounter counter;
    step(model, data, 500);
    CHECK(counter.count() == 0);
  }
  step(bare, alone, 550);
  CHECK(std::equal(data->qpos, data->qpos + model->nq, alone->qpos));
}

TEST_CASE("readings: a rate above that of the steps is refused", "[plugin]") {
  load_tendril();
  std::string error;
  const ModelPtr model = try_load_scene(
      one_arm_scene(), {{"arm.toml", reach_arm() + tracker("rate = 1000\n")}}, error);
  const DataPtr data(model ? mj_makeData(model.get()) : nullptr);
  CHECK_FALSE(data);
  EngineWarnings::take();
}

TEST_CASE("readings: a marker behind a geom is not seen", "[plugin]") {
  // A wall goes up and down between a camera at the side and an arm that moves.
  const std::string marker = table("markers", "places = [0.5]\ncamera = [1.0, 0, 0.15]\n");
  struct Case {
    const char* name;
    std::string geom;
    bool hides;
  };
  const auto c = GENERATE_COPY(values<Case>({
      {"wall", "", true},
      {"what nothing touches", " contype=\"0\" conaffinity=\"0\"", false},
  }));
  CAPTURE(c.name);
  load_tendril();
  std::string xml = one_arm_scene();
  const std::string wall =
      "<body name=\"wall\" mocap=\"true\" pos=\"0 0 -5\"><geom type=\"box\" "
      "size=\"0.2 0.2 0.2\"" +
      c.geom + "/></body></worldbody>";
  xml.replace(xml.find("</worldbody>"), 12, wall);
  const ModelPtr model = load_scene_text(xml, {{"arm.toml", reach_arm() + marker}});
  const DataPtr data = make_data(model);
  const int base = mj_name2id(model.get(), mjOBJ_BODY, "A_base"),
            body = mj_name2id(model.get(), mjOBJ_BODY, "wall");
  mjtNum* const place = data->mocap_pos + 3 * model->body_mocapid[body];
  std::vector<double> held;
  bool was_hidden = false;
  run(model, data, 600, [&](int k) {
    const auto ideal = sensor(model, data, "A_s_1"), reading = sensor(model, data, "A_s_1_reading");
    // The readings of this step are from before the wall moved.
    if (was_hidden && c.hides)
      REQUIRE(reading == held);
    else
      REQUIRE(reading == ideal);
    held = reading;
    was_hidden = k >= 200 && k < 400;
    // In the base's frame: 0.7 m to the side of the arm.
    const Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>> R(data->xmat + 9 * base);
    const Eigen::Vector3d center = R * Eigen::Vector3d(was_hidden ? 0.7 : 5.0, 0.0, 0.15);
    for (int i = 0; i < 3; ++i) place[i] = data->xpos[3 * base + i] + center[i];
  });
}
