#include "tendril/model/snake/description.hpp"

#include <fmt/format.h>

#include <numbers>
#include <numeric>

#include "tendril/model/medium.hpp"
#include "tendril/model/readers.hpp"
#include "tendril/model/snake/sensors.hpp"
#include "tendril/snake/gait.hpp"

namespace tendril {
namespace {

constexpr std::string_view kTable = "table";
constexpr KeyInfo kTopKeys[]{
    {"kind", "", "`\"snake\"`", "required"},
    {"name", "", "of the model"},
    {"joints", "",
     "yaw and pitch joints, from the tail, or from the base; a universal joint counts as two"},
    {"joint", "",
     "`\"hinge\"`: one axis a joint, neighbors a link apart. `\"universal\"`: the axes of joints 1 "
     "and 2, 3 and 4, ... meet, a link follows each such pair"},
    {"link_length", "m", "of all links", "required, or `link_lengths`"},
    {"link_lengths", "m",
     "of each link, tail first: `joints` (universal: half as many), and one more with a free base",
     "none"},
    {"shape", "", "`\"box\"` does not roll over"},
    {"radius", "m", "of a capsule; half the height of a box"},
    {"half_width", "m", "of a box"},
    {"link_mass", "kg", "of each link"},
    {"joint_limit", "rad",
     "of every joint, in both directions; required with `joint = \"universal\"`"},
    {"gain", "N m/rad", "of the position servos"},
    {"damping_ratio", "", "of the position servos"},
    {"torque_limit", "N m", "of each joint"},
    {"joint_damping", "N m s/rad", "of each joint"},
    {"armature", "kg m^2", "of each joint"},
    {"friction", "", "of the links"},
    {"self_collision", "",
     "links collide that are not neighbors, and farther apart along the body than it is thick"},
    {"base", "", kTable, kTable},
    {"head", "", kTable, kTable},
    {"scales", "", kTable, kTable},
    {"start", "", kTable, kTable},
    {"controller", "", kTable, kTable},
    {"medium", "", kTable, kTable},
    {"sensor", "", kTable, kTable},
    {"joint_command", "",
     "`\"torque\"`: motors instead of servos, whose commands are torques in N m ([moments and "
     "torques](#moments-and-torques))"}};
constexpr KeyInfo kBaseKeys[]{{"kind", "",
                               "`\"free\"`: the tail link moves freely. `\"fixed\"`: joint 1 is on "
                               "the base. `\"carriage\"`: it is on a carriage that slides along x"},
                              {"feed", "m", "carriage: length of the slide"},
                              {"carriage_mass", "kg", "carriage"},
                              {"feed_gain", "N/m", "carriage"},
                              {"feed_force_limit", "N", "carriage"}};
constexpr KeyInfo kHeadKeys[]{
    {"payload", "kg",
     "mass of a sphere around the end of the head that touches nothing; gravity compensation "
     "includes it"},
    {"payload_radius", "m", "of the sphere"}};
constexpr KeyInfo kScaleKeys[]{
    {"floor", "", "name of the plane geom in the scene, as written there"},
    {"along", "", "friction along the links"},
    {"across", "", "friction across the links"}};
constexpr KeyInfo kStartKeys[]{
    {"yaw", "",
     "`[amplitude, waves, phase]`: yaw joint j has the angle amplitude sin(phase - 2 pi waves j / "
     "joints). Start a snake of round links in the shape of its gait",
     "none"},
    {"pitch", "", "the same for pitch joints", "none"},
    {"angles", "rad", "one for each joint, added to the waves", "none"},
    {"position", "m", "free base: x and y of the middle of the links, z of the lowest point",
     "`[0, 0, 0]`"},
    {"roll", "rad",
     "free base: of the tail link, about x, then y (`pitch_angle`), then z (`heading`)"},
    {"heading", "rad", "free base"},
    {"pitch_angle", "rad", "free base"},
    {"feed", "m", "carriage"},
    {"coil_radius", "m",
     "replaces waves, `roll` and `pitch_angle`: the middles of the links lie on a vertical "
     "cylinder of this radius through `position`, tail down",
     "none"},
    {"coil_waves", "",
     "waves of that coil on the body, as the setting `waves` of a gait; the opposite sign coils in "
     "the other direction",
     "-0.3 rad a joint"}};

constexpr Range kJointLimit{0.0, std::numbers::pi / 2.0, true};
constexpr Range kLength{1e-4, 1e3};
constexpr Range kFriction{1e-5, 1e9};

void read_chain(const Fields& top, SnakeDescription& snake) {
  const std::string allowed = fmt::format(
      "must be an even integer in [2, {}]: yaw and pitch joints come in pairs", kMaxSnakeJoints);
  top.describe("joints", std::to_string(snake.joints), "even, 2 to 400");
  if (top.has("joints")) {
    const auto* value = top.get("joints")->as_integer();
    if (value == nullptr || value->get() < 2 || value->get() > kMaxSnakeJoints ||
        value->get() % 2 != 0) {
      top.refuse("joints", allowed);
    }
    snake.joints = static_cast<int>(value->get());
  }
  snake.joint = top.choice<SnakeJoint>(
      "joint", {{"hinge", SnakeJoint::Hinge}, {"universal", SnakeJoint::Universal}});
  if (top.has("link_length") == top.has("link_lengths")) {
    top.refuse(top.has("link_lengths") ? "link_lengths" : "link_length",
               "one of link_length and link_lengths must be given");
  }
  const bool is_free = snake.base == SnakeBase::Free;
  const int links = snake.link_count() + (is_free ? 1 : 0);
  if (top.has("link_length")) {
    snake.link_lengths.assign(static_cast<std::size_t>(links),
                              top.required_number("link_length", kLength));
  } else {
    snake.link_lengths = top.numbers("link_lengths", kLength);
    if (static_cast<int>(snake.link_lengths.size()) != links) {
      top.refuse("link_lengths",
                 fmt::format("must be {} lengths, from the {}: one for each {}{}", links,
                             is_free ? "tail" : "base",
                             snake.joint == SnakeJoint::Hinge ? "joint" : "pair of joints",
                             is_free ? " and one more" : ""));
    }
  }
  if (!is_free) snake.link_lengths.insert(snake.link_lengths.begin(), 0.0);
  if (snake.joint == SnakeJoint::Hinge) return;
  for (int k = 0; k < snake.joints / 2; ++k)
    snake.link_lengths.insert(snake.link_lengths.begin() + 2 * k + 1, 0.0);
}

void read_physics(const Fields& top, SnakeDescription& snake) {
  const auto number = [&top](std::string_view key, double& value, const Range& allowed) {
    value = top.number(key, value, allowed);
  };
  snake.shape =
      top.choice<LinkShape>("shape", {{"capsule", LinkShape::Capsule}, {"box", LinkShape::Box}});
  if (snake.shape == LinkShape::Capsule && top.has("half_width")) {
    top.refuse("half_width", "needs shape = \"box\"");
  }
  number("radius", snake.radius, kLength);
  number("half_width", snake.half_width, kLength);
  number("link_mass", snake.link_mass, kMass);
  if (snake.joint == SnakeJoint::Universal && !top.has("joint_limit"))
    top.missing("joint_limit", "is missing: joint = \"universal\" needs it, in (0, pi/2] rad");
  number("joint_limit", snake.joint_limit, kJointLimit);
  snake.joint_motors = top.choice<bool>("joint_command", {{"angle", false}, {"torque", true}});
  for (const char* key : {"gain", "damping_ratio"}) {
    if (snake.joint_motors && top.has(key))
      top.refuse(key, "needs joint_command = \"angle\": a motor has no gains");
  }
  number("gain", snake.gain, kPositiveNumber);
  number("damping_ratio", snake.damping_ratio, kNotNegativeNumber);
  number("torque_limit", snake.torque_limit, kPositiveNumber);
  number("joint_damping", snake.joint_damping, kNotNegativeNumber);
  number("armature", snake.armature, kNotNegativeNumber);
  number("friction", snake.friction, kNotNegativeNumber);
  snake.self_collision = top.boolean("self_collision", snake.self_collision);
}

void read_base(const Fields& top, SnakeDescription& snake) {
  if (const toml::node* node = top.get("base"); node != nullptr && node->is_string()) {
    snake.base =
        top.choice<SnakeBase>("base", {{"free", SnakeBase::Free}, {"fixed", SnakeBase::Fixed}});
    return;
  }
  const Fields base = top.table("base");
  base.refuse_unknown(kBaseKeys);
  snake.base = base.choice<SnakeBase>(
      "kind",
      {{"free", SnakeBase::Free}, {"fixed", SnakeBase::Fixed}, {"carriage", SnakeBase::Carriage}});
  if (snake.base != SnakeBase::Carriage) {
    for (const auto& [key, node] : base.toml()) {
      if (key.str() != "kind") base.refuse(key.str(), "needs kind = \"carriage\"");
    }
    return;
  }
  snake.feed_limit = base.required_number("feed", kPositiveNumber);
  snake.carriage_mass = base.number("carriage_mass", snake.carriage_mass, kMass);
  snake.feed_gain = base.number("feed_gain", snake.feed_gain, kPositiveNumber);
  snake.feed_force_limit = base.number("feed_force_limit", snake.feed_force_limit, kPositiveNumber);
}

std::optional<HeadPayload> read_head(const Fields& head) {
  head.refuse_unknown(kHeadKeys);
  HeadPayload payload;
  payload.mass = head.required_number("payload", kMass);
  payload.radius = head.number("payload_radius", payload.radius, kPositiveNumber);
  return payload;
}

SnakeScales read_scales(const Fields& fields, const SnakeDescription& snake) {
  fields.refuse_unknown(kScaleKeys);
  SnakeScales scales;
  scales.floor = fields.required_text("floor", "must name the plane geom of the scene");
  if (snake.shape != LinkShape::Capsule) {
    fields.refuse_object("needs shape = \"capsule\": a box has no first tangent along the link");
  }
  scales.along = fields.number("along", scales.along, kFriction);
  scales.across = fields.number("across", scales.across, kFriction);
  return scales;
}

StartWave read_wave(const Fields& fields, std::string_view key) {
  const std::vector<double> numbers = fields.numbers(key, kAnyNumber);
  if (numbers.empty()) return {};
  if (numbers.size() > 3) fields.refuse(key, "must be [amplitude, waves, phase]");
  const auto at = [&](std::size_t i) { return i < numbers.size() ? numbers[i] : 0.0; };
  return {.amplitude = at(0), .waves = at(1), .phase = at(2)};
}

void read_coil(const Fields& fields, const SnakeDescription& snake, SnakeStart& start) {
  for (const std::string_view key : {"yaw", "pitch", "roll", "pitch_angle"}) {
    if (fields.has(key)) fields.refuse(key, "must not be given together with coil_radius");
  }
  if (snake.joints < 4) fields.refuse("coil_radius", "needs at least 4 joints");
  if (snake.joint != SnakeJoint::Hinge) fields.refuse("coil_radius", "needs joint = \"hinge\"");
  start.coil_radius = fields.required_number("coil_radius", kPositiveNumber);
  const double usual =
      standard_gait(GaitKind::Helix, snake.joints).lag * snake.joints / (2.0 * std::numbers::pi);
  start.coil_waves = fields.number("coil_waves", usual, kAnyNumber);
  const double lag = lag_of_waves(start.coil_waves, snake.joints);
  const double length = snake.link_lengths.back();
  if (!helix_amplitude(start.coil_radius, lag, length, snake.joints)) {
    fields.refuse("coil_radius",
                  fmt::format("must be a radius to which links of {} m can coil with {:.3g} waves",
                              length, start.coil_waves));
  }
}

/// Refuses angles whose sum with the waves exceeds the joints' limit.
void require_sums(const Fields& fields, const SnakeDescription& snake, const SnakeStart& start) {
  for (int j = 1; j <= snake.joints && !start.angles.empty(); ++j) {
    const double angle = (j % 2 == 1 ? start.yaw : start.pitch).at(j, snake.joints) +
                         start.angles[static_cast<std::size_t>(j - 1)];
    if (std::abs(angle) <= snake.joint_limit) continue;
    fields.refuse("angles", fmt::format("with the wave joint {} is at {:.6g} rad, outside the "
                                        "joints' limit of {:.6g} rad",
                                        j, angle, snake.joint_limit));
  }
}

SnakeStart read_start(const Fields& fields, const SnakeDescription& snake) {
  fields.refuse_unknown(kStartKeys);
  SnakeStart start;
  start.yaw = read_wave(fields, "yaw");
  start.pitch = read_wave(fields, "pitch");
  const auto require_limit = [&](std::string_view key, double angle) {
    if (std::abs(angle) <= snake.joint_limit) return;
    fields.refuse(key,
                  fmt::format("{:.6g} rad exceeds the joints' limit of {:.6g} rad{}", angle,
                              snake.joint_limit,
                              std::abs(angle) > 2.0 * std::numbers::pi ? ": in degrees?" : ""));
  };
  require_limit("yaw", start.yaw.amplitude);
  require_limit("pitch", start.pitch.amplitude);
  start.angles = fields.numbers("angles", kAnyNumber);
  for (const double angle : start.angles) require_limit("angles", angle);
  if (!start.angles.empty() && start.angles.size() != static_cast<std::size_t>(snake.joints)) {
    fields.refuse("angles", fmt::format("must be {} angles, one for each joint", snake.joints));
  }
  require_sums(fields, snake, start);
  const bool is_free = snake.base == SnakeBase::Free;
  for (const std::string_view key :
       {"position", "roll", "pitch_angle", "heading", "coil_radius", "coil_waves"}) {
    if (!is_free && fields.has(key)) fields.refuse(key, "needs base.kind = \"free\"");
  }
  if (snake.base != SnakeBase::Carriage && fields.has("feed"))
    fields.refuse("feed", "needs base.kind = \"carriage\"");
  if (const auto position = fields.vector("position")) start.position = *position;
  start.roll = fields.number("roll", 0.0, kAnyNumber);
  start.pitch_angle = fields.number("pitch_angle", 0.0, kAnyNumber);
  start.heading = fields.number("heading", 0.0, kAnyNumber);
  start.feed = fields.number("feed", 0.0, kNotNegativeNumber);
  if (start.feed > snake.feed_limit) {
    fields.refuse("feed", fmt::format("must be in [0, {}], the base's feed", snake.feed_limit));
  }
  if (fields.has("coil_radius")) read_coil(fields, snake, start);
  return start;
}

}  // namespace

SnakeDescription SnakeDescription::read(const FileContents& file) {
  const Fields& top = file.top;
  top.refuse_unknown(kTopKeys);
  top.refuse_below({"joints", "link_length", "link_lengths", "radius", "link_mass", "joint_limit",
                    "torque_limit", "self_collision"},
                   "sensor");  // whose joints are names
  SnakeDescription snake;
  snake.text = file.text;
  snake.name = top.text("name", snake.name);
  read_base(top, snake);
  read_chain(top, snake);
  read_physics(top, snake);
  if (top.has("head")) snake.payload = read_head(top.table("head"));
  if (top.has("scales")) snake.scales = read_scales(top.table("scales"), snake);
  if (top.has("medium")) {
    const Fields medium = top.table("medium");
    if (snake.shape != LinkShape::Capsule) medium.refuse_object("needs shape = \"capsule\"");
    snake.medium = read_medium(medium);
  }
  if (top.has("start")) snake.start = read_start(top.table("start"), snake);
  snake.sensors = read_snake_sensors(top, snake);
  snake.controller = read_controller(file);
  return snake;
}

double StartWave::at(int joint, int joints) const noexcept {
  return amplitude * std::sin(phase - 2.0 * std::numbers::pi * waves * joint / joints);
}

SnakeChain SnakeDescription::kinematics() const {
  return SnakeChain({.link_lengths = {link_lengths.begin() + 1, link_lengths.end()},
                     .joint_limit = joint_limit,
                     .joint_limits = {},
                     .rear_length = link_lengths.front()});
}

EngineNeeds SnakeDescription::engine_needs() const { return {.medium = medium}; }

Surroundings SnakeDescription::surroundings() const {
  const double length = std::accumulate(link_lengths.begin(), link_lengths.end(), feed_limit);
  Surroundings around{.target = {2.0 * length, length, 0.0}, .reach = length};
  if (base == SnakeBase::Fixed) around.target = {0.9 * length, 0.1 * length, 0.0};
  if (scales)
    around.floor = scales->floor;
  else if (base == SnakeBase::Free)
    around.floor = "floor";
  return around;
}

}  // namespace tendril
