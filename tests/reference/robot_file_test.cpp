// docs/reference/robot_file.md: keys, defaults and ranges are those of the readers.

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "tendril/model/key_log.hpp"
#include "tendril/model/robot_description.hpp"
#include "tests/reference/key_table.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr const char* kPage = "docs/reference/robot_file.md";

/// What readers ask of files that give every key whose range they do not look at otherwise.
void read(std::initializer_list<std::string_view> files, const FileReader& others = {}) {
  for (const std::string_view text : files)
    static_cast<void>(parse_model(text, kKeyLogFile, {}, others));
}

constexpr std::string_view kArm = R"(
[base]
[[section]]
constant_length = 0.1
variable_length = 0.05
bend_limit = 1
length_weights = [1]
angle_weights = [1]
radius = 0.008
inner_radius = 0.001
bending_stiffness = 0.05
color = [1, 1, 1]
disks = 10
disk_radius = 0.008
disk_thickness = 0.001
[skin]
file = "skin.obj"
[tip]
payload = 0.1
[medium]
[start]
arcs = [0, 0.01]
)";
constexpr std::string_view kOtherArm = R"(
[[section]]
constant_length = 0.1
bend_limit = 1
youngs_modulus = 1e9
backbone_radius = 0.001
poisson_ratio = 0.3
[gripper]
opening = 0.05
[start]
bends = [0]
)";
constexpr std::string_view kSoftLength = R"(
[[section]]
variable_length = 0.1
bend_limit = 1
length_servo = false
density = 1000
[tip]
suction = 5
)";
constexpr std::string_view kTendonArm = R"(
[[section]]
constant_length = 0.1
bend_limit = 1
[[tendon]]
angle = 0
distance = 0.005
)";
constexpr std::string_view kChamberArm = R"(
[[section]]
constant_length = 0.1
bend_limit = 1
[[chamber]]
section = 1
angle = 0
distance = 0.004
radius = 0.002
volume_range = [-1e-6, 1e-6]
[[chamber]]
section = 1
angle = 1
distance = 0.004
area = 1e-6
kind = "mckibben"
braid_angle = 0.4
)";

constexpr std::string_view kSensorArm = R"(
[[section]]
constant_length = 0.1
bend_limit = 1
[[tendon]]
angle = 0
distance = 0.005
[[sensor]]
kind = "tip_tracker"
name = "a"
[[sensor]]
kind = "tendon_encoder"
name = "b"
[[sensor]]
kind = "markers"
name = "c"
places = [0.5]
)";
constexpr std::string_view kSensorSnake = R"(
kind = "snake"
link_length = 0.06
[[sensor]]
kind = "imu"
name = "unit"
[[sensor]]
kind = "joint_encoder"
name = "a"
[[sensor]]
kind = "motor_current"
name = "b"
torque_constant = 2
)";

constexpr std::string_view kFreeSnake = R"(
kind = "snake"
link_length = 0.06
[head]
payload = 0.1
[scales]
floor = "floor"
[start]
coil_radius = 0.075
)";
constexpr std::string_view kCarriageSnake = R"(
kind = "snake"
joints = 2
link_lengths = [0.1, 0.1]
[base]
kind = "carriage"
feed = 1
[start]
yaw = [0]
pitch = [0]
angles = [0, 0]
)";

constexpr std::string_view kMobile = R"(
kind = "mobile"
[platform]
length = 0.58
width = 0.38
height = 0.14
[arm]
mount = [0.1, 0]
shoulder_height = 0.245
[yaw]
limits = [-2.9, 2.9]
[[link]]
length = 0.155
limits = [-1.1, 1.5]
[[link]]
length = 0.2
limits = [-2.5, 2.5]
[tool]
length = 0.08
limits = [-2.9, 2.9]
[start]
joints = [0, 0, 0, 0]
)";
constexpr std::string_view kMounted = R"(
kind = "mobile"
[platform]
length = 0.58
width = 0.38
height = 0.14
[arm]
file = "arm.toml"
mount = [0.1, 0, 0.2]
angles = [0, 0, 0]
)";

constexpr std::string_view kTube = R"(
kind = "tube"
centerline = [[0, 0, 0.3], [0, 0, 0.5]]
inner_radius = 0.014
)";

constexpr std::string_view kShell = R"(
kind = "shell"
file = "triangle.obj"
encloses = "wall"
)";
constexpr std::string_view kSkin = "v 0 0 0\nv 0 0 0.1\nv 0.01 0 0.1\nf 1 2 3\n";
constexpr std::string_view kTriangle = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

}  // namespace

TEST_CASE("reference: keys of arms are those of their readers", "[reference]") {
  const KeyLog log(kKeyLogFile);
  read({kArm, kOtherArm, kSoftLength, kTendonArm, kChamberArm},
       [](const std::string& /*name*/) { return std::string(kSkin); });
  check_generated(kPage, "arm", key_table(log, ""));
  for (const char* const table :
       {"section", "tendon", "chamber", "base", "tip", "gripper", "skin", "medium", "start"})
    check_generated(kPage, std::string("arm ") + table, key_table(log, table));
}

TEST_CASE("reference: keys of sensors are those of their readers", "[reference]") {
  const KeyLog log(kKeyLogFile);
  read({kSensorArm, kSensorSnake});
  check_generated(kPage, "sensor", key_table(log, "sensor"));
}

TEST_CASE("reference: keys of snakes are those of their readers", "[reference]") {
  const KeyLog log(kKeyLogFile);
  read({kFreeSnake, kCarriageSnake});
  check_generated(kPage, "snake", key_table(log, ""));
  for (const char* const table : {"base", "head", "scales", "start"})
    check_generated(kPage, std::string("snake ") + table, key_table(log, table));
}

TEST_CASE("reference: keys of mobile robots are those of their readers", "[reference]") {
  const KeyLog log(kKeyLogFile);
  read({kMobile});
  check_generated(kPage, "mobile", key_table(log, ""));
  for (const char* const table : {"platform", "arm", "link", "start"})
    check_generated(kPage, std::string("mobile ") + table, key_table(log, table));
}

TEST_CASE("reference: keys of a mounted arm are those of their readers", "[reference]") {
  const KeyLog log(kKeyLogFile);
  read({kMounted}, [](const std::string& /*name*/) { return std::string(kTendonArm); });
  check_generated(kPage, "mounted arm", key_table(log, "arm"));
}

TEST_CASE("reference: keys of tubes are those of their readers", "[reference]") {
  const KeyLog log(kKeyLogFile);
  read({kTube});
  check_generated(kPage, "tube", key_table(log, ""));
}

TEST_CASE("reference: keys of shells are those of their readers", "[reference]") {
  const KeyLog log(kKeyLogFile);
  read({kShell}, [](const std::string& /*name*/) { return std::string(kTriangle); });
  check_generated(kPage, "shell", key_table(log, ""));
}
