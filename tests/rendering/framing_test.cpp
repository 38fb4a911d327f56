#include "rendering/framing.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include "rendering/render_recording.hpp"
#include "simulation/rollout/run.hpp"
#include "tests/support/random.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tendril;
using namespace tendril::simulation;
using tendril::test::Random;
using tendril::test::TemporaryFolder;

namespace {

constexpr double kFloat = 1e-4;  // of the image: cameras of the engine have single precision

/// Projection of a point into the image of the scene that the engine would draw: -1 to 1 in x and y
/// if it is inside; infinite if it is nearer or farther than what is drawn.
struct Projection {
  double x, y;
  [[nodiscard]] double largest() const { return std::max(std::abs(x), std::abs(y)); }
};

class Frame {
 public:
  Frame(const mjModel& model, mjData& data, mjvCamera camera, double aspect) : aspect_(aspect) {
    mjv_defaultScene(&scene_);
    mjv_makeScene(&model, &scene_, 2000);
    const mjvOption options = image_options();
    mjv_updateScene(&model, &data, &options, nullptr, &camera, mjCAT_ALL, &scene_);
  }
  ~Frame() { mjv_freeScene(&scene_); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  [[nodiscard]] Projection operator()(const Eigen::Vector3d& point) const {
    const mjvGLCamera eye = mjv_averageCamera(&scene_.camera[0], &scene_.camera[1]);
    const Eigen::Vector3d forward(eye.forward[0], eye.forward[1], eye.forward[2]);
    const Eigen::Vector3d up(eye.up[0], eye.up[1], eye.up[2]);
    const Eigen::Vector3d away = point - Eigen::Vector3d(eye.pos[0], eye.pos[1], eye.pos[2]);
    const double depth = away.dot(forward);
    if (depth < eye.frustum_near || depth > eye.frustum_far) return {HUGE_VAL, HUGE_VAL};
    const double height = depth * eye.frustum_top / eye.frustum_near;  // from the middle
    return {away.dot(forward.cross(up)) / (aspect_ * height), away.dot(up) / height};
  }

 private:
  mjvScene scene_;
  double aspect_;
};

/// Points of a geom's surface that are its extremes along its axes, or the vertices of its mesh.
std::vector<Eigen::Vector3d> surface_points(const mjModel& model, const mjData& data, int geom) {
  using Vector = Eigen::Vector3d;
  const Vector center(data.geom_xpos + 3 * geom);
  const Eigen::Matrix3d turn =
      Eigen::Matrix<double, 3, 3, Eigen::RowMajor>(data.geom_xmat + 9 * geom);
  const mjtNum* const size = model.geom_size + 3 * geom;
  std::vector<Vector> local;
  const int type = model.geom_type[geom];
  if (type == mjGEOM_MESH) {
    const int mesh = model.geom_dataid[geom];
    for (int i = 0; i < model.mesh_vertnum[mesh]; ++i) {
      const float* const vertex = model.mesh_vert + 3 * (model.mesh_vertadr[mesh] + i);
      local.emplace_back(vertex[0], vertex[1], vertex[2]);
    }
  } else if (type == mjGEOM_BOX) {
    for (int i = 0; i < 8; ++i) {
      local.emplace_back((i & 1) != 0 ? size[0] : -size[0], (i & 2) != 0 ? size[1] : -size[1],
                         (i & 4) != 0 ? size[2] : -size[2]);
    }
  } else {
    const bool is_long = type == mjGEOM_CAPSULE || type == mjGEOM_CYLINDER;
    const double end = type == mjGEOM_CAPSULE    ? size[1] + size[0]
                       : type == mjGEOM_CYLINDER ? size[1]
                       : type == mjGEOM_SPHERE   ? size[0]
                                                 : size[2];
    const double side = is_long || type == mjGEOM_SPHERE ? size[0] : size[1];
    for (const double sign : {-1.0, 1.0}) {
      const double middle = is_long ? sign * size[1] : 0.0;
      local.insert(local.end(), {Vector(0, 0, sign * end), Vector(size[0], 0, middle),
                                 Vector(-size[0], 0, middle), Vector(0, side, middle),
                                 Vector(0, -side, middle)});
    }
  }
  for (Vector& point : local) point = center + turn * point;
  return local;
}

/// The largest coordinate of the robots' surface in the images drawn at some times.
double largest_coordinate(RecordedScene& scene, const mjvCamera& camera, double aspect,
                          const std::vector<double>& times) {
  double largest = 0.0;
  const std::vector<int> geoms = geoms_to_show(scene.model());
  REQUIRE_FALSE(geoms.empty());
  for (const double time : times) {
    scene.show(scene.row_at(time));
    const Frame frame(scene.model(), scene.data(), camera, aspect);
    for (const int geom : geoms) {
      for (const Eigen::Vector3d& point : surface_points(scene.model(), scene.data(), geom))
        largest = std::max(largest, frame(point).largest());
    }
  }
  return largest;
}

std::filesystem::path recorded(const TemporaryFolder& folder, const std::filesystem::path& file,
                               double duration) {
  RunOptions options;
  options.recording = folder.path() / "rollout.h5";
  options.changes.duration = duration;
  static_cast<void>(run_experiment(load_experiment(file), options));
  return options.recording;
}

/// A robot that flies away at 4 m/s in front of a camera that soon loses it.
std::string flying_robot(const std::string& more) {
  return "<mujoco><option timestep='0.01' gravity='0 0 0'/><custom><tuple name='robot'><element "
         "objtype='body' objname='base'/></tuple></custom><worldbody>" +
         more +
         "<body name='base'><joint name='slide' type='slide' axis='1 0.2 0.1'/><geom "
         "type='capsule' size='.05 .2' euler='0 90 0'/></body></worldbody>"
         "<keyframe><key name='start' qvel='4'/></keyframe></mujoco>";
}

std::filesystem::path recorded_flight(const TemporaryFolder& folder, const std::string& more) {
  folder.write("scene.xml", flying_robot(more));
  return recorded(folder, folder.write("flight.toml", "scene = 'scene.xml'\nkeyframe = 'start'\n"),
                  1.0);
}

}  // namespace

TEST_CASE("framing: all points are in the image, and no nearer camera shows them", "[view]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  Random random(seed);
  const TemporaryFolder folder;
  const Scene scene =
      load_scene(folder.write("s.xml", "<mujoco><worldbody><geom size='1'/></worldbody></mujoco>"));
  const DataPtr data = make_data(*scene.model);
  mj_forward(scene.model.get(), data.get());
  mjvCamera like;
  mjv_defaultFreeCamera(scene.model.get(), &like);
  like.azimuth = 180.0 / std::numbers::pi * random.angle();
  // Straight down and up included.
  like.elevation = seed % 10 == 0 ? -90.0 : seed % 10 == 1 ? 90.0 : random.uniform(-89.0, 89.0);
  const double aspect = random.uniform(0.3, 3.0);

  std::vector<Eigen::Vector3d> points;
  const Eigen::Vector3d middle = 3.0 * random.unit_vector();
  for (int i = random.integer(1, 30); i > 0; --i)
    points.push_back(middle + random.uniform(0.0, 2.0) * random.unit_vector());
  Framing framing(*scene.model, *data, like, aspect);
  for (const Eigen::Vector3d& point : points) framing.add(point.data());
  const auto camera = framing.camera();
  REQUIRE(camera);
  CHECK(std::abs(std::remainder(camera->azimuth - like.azimuth, 360.0)) < 1e-3);
  CHECK(camera->elevation == Approx(like.elevation).margin(1e-3));

  const Frame frame(*scene.model, *data, *camera, aspect);
  Eigen::Array2d lowest(HUGE_VAL, HUGE_VAL), highest = -lowest;
  for (const Eigen::Vector3d& point : points) {
    const Projection p = frame(point);
    CHECK(p.largest() <= 0.92 + kFloat);
    lowest = lowest.min(Eigen::Array2d(p.x, p.y));
    highest = highest.max(Eigen::Array2d(p.x, p.y));
  }
  // Opposite sides are touched: whichever way a camera goes that is nearer, it loses a point.
  if (points.size() > 1)
    CHECK((highest.min(-lowest)).maxCoeff() == Approx(0.92).margin(10 * kFloat));
}

TEST_CASE("recording camera: robots of the scenes are inside all images", "[view]") {
  struct Case {
    const char* file;
    double duration;
  };
  const auto c = GENERATE(values<Case>({{"reach/reach", 3.0},
                                        {"tube_insertion/tube_insertion", 0.2},
                                        {"wrap_reach/fed_case_1_long", 0.1},
                                        {"wrap_button/wrap_button", 0.1},
                                        {"snake_path/snake_path", 0.5},
                                        {"snake_obstacles/no_pegs", 1.0},
                                        {"mobile_arm/mobile_arm", 0.3},
                                        {"youbot_track/line", 2.0}}));
  CAPTURE(c.file);
  const TemporaryFolder folder;
  RecordedScene scene(
      recorded(folder, std::filesystem::path(TENDRIL_TEST_SCENES) / (std::string(c.file) + ".toml"),
               c.duration));
  const ImageOptions options;
  const std::vector<double> times =
      frame_times(scene.start_time(), scene.end_time(), {.frame_rate = 10.0});
  const mjvCamera camera =
      recording_camera(scene, options, scene.start_time(), scene.end_time(), times);
  CHECK(largest_coordinate(scene, camera, 960.0 / 540.0, times) <= 1.0 + kFloat);
}

TEST_CASE("recording camera: a robot that flies out of the scene's camera is followed", "[view]") {
  const TemporaryFolder folder;
  const std::string own = "<camera name='report' pos='0 -2 0' xyaxes='1 0 0 0 0 1'/>";
  for (const std::string& more : {own, std::string()}) {
    RecordedScene scene(recorded_flight(folder, more));
    const ImageOptions options{.width = 200, .height = 400};
    const double end = scene.end_time();
    const std::vector<double> times = evenly_spread(0.0, end, 7);
    const mjvCamera camera = recording_camera(scene, options, 0.0, end, times);
    CHECK(camera.type == mjCAMERA_FREE);
    const double largest = largest_coordinate(scene, camera, 0.5, times);
    CHECK(largest <= 1.0 + kFloat);
    CHECK(largest > 0.5);  // and not lost in the distance

    if (more.empty()) continue;
    // The scene's camera loses the robot; it is kept if it is named or shows all that is asked for.
    CHECK(largest_coordinate(scene, image_camera(scene.model()), 0.5, times) > 1.0);
    CHECK(recording_camera(scene, {.camera = "report"}, 0.0, end, times).fixedcamid == 0);
    const mjvCamera first = recording_camera(scene, {}, 0.0, 0.1);
    CHECK(first.type == mjCAMERA_FIXED);
    // Moved back, the camera still shows what it showed: the edges of its image at the center.
    CHECK(camera.azimuth == Approx(90.0).margin(1e-3));
  }
}

TEST_CASE("complete camera: the scene's unless it loses a robot", "[view]") {
  const TemporaryFolder folder;
  const Scene scene = load_scene(folder.write(
      "scene.xml", flying_robot("<camera name='report' pos='0 -2 0' xyaxes='1 0 0 0 0 1'/>")));
  const mjModel& model = *scene.model;
  const DataPtr data = make_data(model);
  const mjvCamera own = image_camera(model);
  constexpr double kAspect = 1.5;
  for (const double place : {0.0, 0.3, 3.0, -5.0}) {
    CAPTURE(place);
    data->qpos[0] = place;
    mj_forward(&model, data.get());
    const mjvCamera camera = complete_camera(model, *data, own, kAspect);
    CHECK((camera.type == mjCAMERA_FIXED) == (std::abs(place) < 1.0));
    const Frame frame(model, *data, camera, kAspect);
    for (const int geom : geoms_to_show(model)) {
      for (const Eigen::Vector3d& point : surface_points(model, *data, geom))
        CHECK(frame(point).largest() <= 1.0);
    }
    // What the scene's camera shows 2 m in front of it.
    const double half = 2.0 * std::tan(0.5 * 45.0 * std::numbers::pi / 180.0);
    CHECK(frame({-kAspect * half, 0.0, half}).largest() <= 1.0 + kFloat);
    CHECK(frame({kAspect * half, 0.0, -half}).largest() <= 1.0 + kFloat);
  }
}

TEST_CASE(
    "following cameras: robots that travel are shown from nearby, others from where they were",
    "[view]") {
  const TemporaryFolder folder;
  RecordedScene scene(recorded_flight(folder, std::string()));
  const ImageOptions options{.width = 300, .height = 200};
  const std::vector<double> times = evenly_spread(0.0, scene.end_time(), 5);
  const mjvCamera whole = recording_camera(scene, options, 0.0, scene.end_time(), times);
  const std::vector<mjvCamera> cameras = following_cameras(scene, options, whole, times);
  REQUIRE(cameras.size() == times.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    CAPTURE(i);
    CHECK(cameras[i].distance == cameras[0].distance);
    CHECK(cameras[i].azimuth == Approx(whole.azimuth).margin(1e-3));
    CHECK(cameras[i].elevation == Approx(whole.elevation).margin(1e-3));
    const double largest = largest_coordinate(scene, cameras[i], 1.5, {times[i]});
    CHECK(largest <= 1.0 + kFloat);
    CHECK(largest > 0.5);
  }
  CHECK(cameras[0].distance < 0.5 * whole.distance);

  // On a short path nothing changes, and a camera of the scene is kept.
  const std::vector<double> few = evenly_spread(0.0, 0.05, 3);
  const mjvCamera near = recording_camera(scene, options, 0.0, 0.05, few);
  for (const mjvCamera& camera : following_cameras(scene, options, near, few))
    CHECK(camera.lookat[0] == near.lookat[0]);
  mjvCamera fixed = whole;
  fixed.type = mjCAMERA_FIXED;
  for (const mjvCamera& camera : following_cameras(scene, options, fixed, times))
    CHECK(camera.type == mjCAMERA_FIXED);
}

TEST_CASE("recording camera: an unknown name is refused with the names that there are", "[view]") {
  const TemporaryFolder folder;
  RecordedScene scene(recorded_flight(
      folder, "<camera name='front' pos='0 -9 0'/><camera name='top' pos='0 0 9'/>"));
  CHECK_THROWS_WITH(recording_camera(scene, {.camera = "back"}, 0.0, 1.0),
                    "--camera: back: must be a camera of the scene; it has front, top");
}

TEST_CASE("subject: robots, what they go to and what they come near to, not the room", "[view]") {
  const TemporaryFolder folder;
  // A robot that has slid 2 m towards a shelf in which the target is, with a sphere that rolls
  // about.
  const Scene scene = load_scene(folder.write("scene.xml", R"(<mujoco>
      <custom><tuple name="robot"><element objtype="body" objname="base"/></tuple></custom>
      <worldbody>
        <geom name="ground" type="plane" size="0 0 1"/>
        <geom name="slab" type="box" pos="0 0 -0.1" size="5 5 0.1"/>
        <geom name="wall" type="box" pos="3.5 0 1" size="0.1 5 1"/>
        <geom name="peg" type="cylinder" pos="1 0.3 0.1" size="0.05 0.1"/>
        <geom name="far peg" type="cylinder" pos="1 -3 0.1" size="0.05 0.1"/>
        <body name="base" pos="0 0 0.2"><joint type="slide" axis="1 0 0"/>
          <geom name="arm" type="capsule" size="0.05 0.2" euler="0 90 0"/></body>
        <body name="shelf" pos="3 0 0">
          <geom name="board" type="box" pos="0 0 0.2" size="0.2 0.3 0.01"/>
          <geom name="top" type="box" pos="0 0 1.0" size="0.2 0.3 0.01"/></body>
        <body name="far shelf" pos="0 4 0"><geom name="far board" type="box" size="0.2 0.3 0.01"/></body>
        <body name="target" mocap="true" pos="3 0 0.3"><geom name="goal" size="0.02"/></body>
        <body name="ball" pos="1 1 0.1"><freejoint/><geom name="ball" size="0.1"/></body>
      </worldbody></mujoco>)"));
  const mjModel& model = *scene.model;
  const DataPtr data = make_data(model);
  Subject subject(model);
  for (const double place : {0.0, 1.0, 2.0}) {
    data->qpos[0] = place;
    mj_forward(&model, data.get());
    subject.add(*data);
  }
  std::vector<std::string> names;
  for (const int geom : subject.surroundings(*data))
    names.emplace_back(mj_id2name(&model, mjOBJ_GEOM, geom));
  CHECK(names == std::vector<std::string>{"peg", "board", "top"});

  constexpr double kAspect = 16.0 / 9.0;
  const mjvCamera like = image_camera(model);
  Framing framing(model, *data, like, kAspect);
  subject.add_to(framing, *data);
  const mjvCamera camera = framing.camera().value();
  const Frame frame(model, *data, camera, kAspect);
  const auto largest = [&](const char* name) {
    double coordinate = 0.0;
    for (const Eigen::Vector3d& point :
         surface_points(model, *data, mj_name2id(&model, mjOBJ_GEOM, name)))
      coordinate = std::max(coordinate, frame(point).largest());
    return coordinate;
  };
  for (const char* const name : {"arm", "goal", "ball", "peg", "board", "top"}) {
    CAPTURE(name);
    CHECK(largest(name) <= 1.0);
  }
  CHECK(largest("far peg") > 1.0);

  // As it is before a run: with the peg on the way to the target, and room for the robot to
  // move.
  data->qpos[0] = 0.0;
  mj_forward(&model, data.get());
  const mjvCamera first = scene_camera(model, *data, like, kAspect);
  const Frame now(model, *data, first, kAspect);
  for (const char* const name : {"arm", "goal", "ball", "peg", "board", "top"}) {
    CAPTURE(name);
    for (const Eigen::Vector3d& point :
         surface_points(model, *data, mj_name2id(&model, mjOBJ_GEOM, name)))
      CHECK(now(point).largest() <= 1.0);
  }
  for (const double aside : {-0.4, 0.4}) CHECK(now({-0.3, aside, 0.2}).largest() <= 1.0);
}

TEST_CASE("scene camera: that of the scene where nothing is to be shown", "[view]") {
  const TemporaryFolder folder;
  const Scene scene =
      load_scene(folder.write("s.xml", "<mujoco><worldbody><geom size='1'/></worldbody></mujoco>"));
  const DataPtr data = make_data(*scene.model);
  mj_forward(scene.model.get(), data.get());
  const mjvCamera own = image_camera(*scene.model);
  const mjvCamera camera = scene_camera(*scene.model, *data, own, 1.0);
  CHECK(camera.distance == own.distance);
  CHECK(camera.azimuth == own.azimuth);
}
