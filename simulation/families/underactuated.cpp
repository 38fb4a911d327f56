#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <variant>
#include <vector>

#include "simulation/engine/engine.hpp"
#include "simulation/families/scene_text.hpp"
#include "tendril/model/continuum/drive_values.hpp"
#include "tendril/model/names.hpp"
#include "tendril/model/robot_description.hpp"
#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model_error.hpp"

namespace tendril::simulation::generate {
namespace {

using Eigen::Vector3d;
using std::numbers::pi;

constexpr double kJump = 6.0, kEnd = 12.0;  // of the target; of the run [s]
constexpr double kSettleTime = 5.0;         // of the commands that show a reachable point [s]
constexpr double kRestSpeed = 0.02;         // of every joint then [rad/s], [m/s]
constexpr double kMaxForce = 0.9;           // of an actuator's limit
constexpr double kFarther = 0.1;            // from the resting tip, of the length

/// What of a robot nobody drives.
enum class Kind : std::uint8_t {
  PassiveBase,    ///< the first of three sections
  PassiveMiddle,  ///< the second one, which is bent by nature
  PassiveShaft,   ///< before a tip with four wires in sheaths
  Guided,         ///< the same, through a guide
  TwoWires,       ///< a catheter, bent in one plane; feed and spin
  OneWire,        ///< a catheter, bent to one side
  Coupled,        ///< two sections on the same four tendons
  TwoPlanes,      ///< two sections, each bent in a plane of its own
};
constexpr int kLastKind = static_cast<int>(Kind::TwoPlanes);
constexpr std::array kMeanings = {
    "its first section is passive",
    "its second section is passive and bent by nature",
    "a passive shaft before a tip with four wires",
    "a passive shaft in a guide before a tip with four wires",
    "a catheter that two wires bend in one plane",
    "a catheter that one wire bends to one side",
    "two sections that the same four tendons bend",
    "two sections, each bent in a plane of its own",
};

constexpr const char* kPassive = "bend_servo = false\n";

std::string section(RandomStream& draws, const std::string& more) {
  const double length = draws.uniform(0.06, 0.14), radius = draws.uniform(0.004, 0.008);
  return fmt::format(
      "[[section]]\nconstant_length = {:.4f}\nbend_limit = 3\nlinks = 8\nradius = {:.5f}\n"
      "mass = {:.5f}\nbending_stiffness = {:.5f}\ndamping_time = 0.1\n{}\n",
      length, radius, draws.uniform(0.05, 0.2) * length, draws.uniform(0.02, 0.06), more);
}

std::string natural_bend(RandomStream& draws) {
  return fmt::format("natural_bend = {:.4f}\nnatural_direction = {:.4f}\n", draws.uniform(0.2, 1.0),
                     draws.angle());
}

/// Tendons at equal angles from `first` on.
std::string tendons(const std::string& sections, int count, double first, bool tension) {
  std::string all;
  for (int i = 0; i < count; ++i)
    all += fmt::format(
        "[[tendon]]\nsection = {}\nangle = {:.4f}\ndistance = 0.004\nmax_tension = 60\n{}\n",
        sections, first + 2.0 * pi * i / count, tension ? "command = \"tension\"\n" : "");
  return all;
}

std::string base(double feed, bool spin, const std::string& more) {
  return fmt::format("[base]\nfeed = {:.4f}\n{}{}\n", feed, spin ? "spin = true\n" : "", more);
}

/// The robot's file but for its controller.
std::string robot_text(Kind kind, RandomStream& draws) {
  const bool tension = draws.coin_flip(), links = draws.coin_flip();
  const double feed = draws.uniform(0.05, 0.15), angle = draws.uniform(0.0, 0.8);
  const bool guided = kind == Kind::Guided;
  std::string text = fmt::format("# {}.\nkind = \"continuum\"\nname = \"arm\"\n{}\n",
                                 kMeanings[static_cast<std::size_t>(kind)],
                                 guided || links ? "compliance = \"link\"\n" : "");
  const std::string passive = kPassive;
  switch (kind) {
    case Kind::PassiveBase:
      return text + section(draws, passive) + section(draws, "") + section(draws, "");
    case Kind::PassiveMiddle:
      return text + section(draws, "") + section(draws, passive + natural_bend(draws)) +
             section(draws, "");
    case Kind::PassiveShaft:
      return text + base(feed, false, "") + section(draws, passive) + section(draws, "") +
             tendons("[2, 2]", 4, angle, tension);
    case Kind::Guided:
      return text + base(feed, false, "guide_length = 0.05\n") + section(draws, passive) +
             section(draws, "") + tendons("[2, 2]", 4, angle, tension);
    case Kind::TwoWires:
      return text + base(feed, true, "") + section(draws, passive) +
             tendons("1", 2, angle, tension);
    case Kind::OneWire:
      return text + base(feed, true, "") + section(draws, passive) +
             tendons("1", 1, draws.angle(), tension);
    case Kind::Coupled:
      return text + base(feed, false, "") + section(draws, passive) + section(draws, "") +
             tendons("2", 4, angle, tension);
    case Kind::TwoPlanes:
      return text + base(feed, false, "") + section(draws, passive) + section(draws, passive) +
             tendons("[1, 1]", 2, angle, tension) +
             tendons("[2, 2]", 2, angle + draws.uniform(0.8, 2.3), tension);
  }
  return text;
}

/// The robot alone, in the engine: where its tip rests with these commands.
class Trial {
 public:
  Trial(const ContinuumDescription& robot, const Eigen::Matrix3d& R_WB) : drives_(robot) {
    load_engine();
    char error[1024] = "";
    const SpecPtr spec(mj_parseXMLString(model_mjcf(robot).c_str(), nullptr, error, sizeof error));
    if (spec) model_.reset(mj_compile(spec.get(), nullptr));
    if (!model_) throw ModelError(std::string("underactuated: ") + error);
    const Eigen::Vector3d gravity = R_WB.transpose() * Vector3d(0.0, 0.0, -9.81);
    std::copy_n(gravity.data(), 3, model_->opt.gravity);
    data_ = make_data(*model_);
    tip_ = mj_name2id(model_.get(), mjOBJ_SITE, names::kTip);
  }

  /// In the frame of the base [m]; nothing if the arm does not come to rest, or only with forces
  /// near their limits.
  std::optional<Vector3d> tip(SectionStates states, const BaseState& base) {
    std::vector<double> values(drives_.drives().size());
    static_cast<void>(drives_.values(states, base, values));
    mj_resetData(model_.get(), data_.get());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const int actuator =
          mj_name2id(model_.get(), mjOBJ_ACTUATOR, drives_.drives()[i].name.c_str());
      data_->ctrl[actuator] = values[i];
    }
    while (data_->time < kSettleTime) mj_step(model_.get(), data_.get());
    const Eigen::Map<const Eigen::VectorXd> speed(data_->qvel, model_->nv);
    if (!(speed.lpNorm<Eigen::Infinity>() < kRestSpeed)) return std::nullopt;
    for (int i = 0; i < model_->nu; ++i) {
      const double limit = model_->actuator_forcerange[2 * i + 1];
      if (std::abs(data_->actuator_force[i]) > kMaxForce * limit) return std::nullopt;
    }
    return Vector3d(data_->site_xpos + 3 * tip_);
  }

 private:
  DriveValues drives_;
  ModelPtr model_;
  DataPtr data_;
  int tip_ = -1;
};

/// A point where random commands bring the tip to rest, farther than `distance` from all `others`.
/// @param max_bend  commanded to a section [rad]
Vector3d draw_point(Trial& trial, const ContinuumRobot& robot, RandomStream& draws,
                    const std::vector<Vector3d>& others, double distance, double max_bend) {
  for (int i = 0; i < kMaxDraws; ++i) {
    std::vector<SectionState> states(robot.straight().begin(), robot.straight().end());
    for (SectionState& state : states)
      state = {draws.uniform(0.0, max_bend), draws.angle(), state.extension};
    const BaseState base{.feed = draws.uniform(0.0, robot.base().feed_limit),
                         .spin = robot.base().spin ? draws.angle() : 0.0};
    const std::optional<Vector3d> tip = trial.tip(states, base);
    if (tip && std::ranges::all_of(others,
                                   [&](const Vector3d& p) { return (p - *tip).norm() > distance; }))
      return *tip;
  }
  throw_no_scene_found("underactuated");
}

}  // namespace

std::vector<GeneratedFile> underactuated(RandomStream& draws, double difficulty) {
  const auto kind = static_cast<Kind>(draws.integer(0, kLastKind));
  const std::string arm = robot_text(kind, draws);
  const auto description = std::get<ContinuumDescription>(parse_robot(arm, "arm.toml", {}));
  const ContinuumRobot robot = description.kinematics();
  const int tilt = draws.integer(0, 2);  // of the base: upwards, level, downwards
  const Eigen::Matrix3d R_WB =
      Eigen::AngleAxisd(tilt * pi / 2.0, Vector3d::UnitY()).toRotationMatrix();
  Trial trial(description, R_WB);
  std::vector<Vector3d> points;
  const std::optional<Vector3d> resting = trial.tip(robot.straight(), {});
  if (resting) points.push_back(*resting);
  for (int i = 0; i < 2; ++i)
    points.push_back(draw_point(trial, robot, draws, points, kFarther * robot.max_length(),
                                0.4 + 1.2 * difficulty));
  const Vector3d first = R_WB * points[points.size() - 2], second = R_WB * points.back();

  const std::string world = fmt::format(
      "    <frame euler=\"0 {} 0\">\n      <attach model=\"arm\" body=\"base\" prefix=\"arm_\"/>\n"
      "    </frame>\n"
      "    <body name=\"target\" mocap=\"true\" pos=\"{}\">\n"
      "      <geom size=\"0.006\" rgba=\"0.95 0.35 0.15 0.4\" contype=\"0\" conaffinity=\"0\"/>\n"
      "    </body>\n",
      90 * tilt, text(first));
  const auto settled = [](double after, double before) {
    return check(fmt::format("settled to 2 mm from {} s on", after), "settle_time",
                 fmt::format("threshold = 0.002\nafter = {}\nbefore = {}\nmax = 3", after, before));
  };
  return {{"underactuated.toml",
           fmt::format("# An arm that is not driven everywhere: {}. The tip has to reach two "
                       "points, at which random\n# commands brought it to rest.\n",
                       kMeanings[static_cast<std::size_t>(kind)]) +
               experiment(kEnd, "") +
               waypoints_text("target", "step", fmt::format("0, {}", kJump),
                              fmt::format("{}, {}", list(first), list(second))) +
               settled(0.0, kJump) + settled(kJump, kEnd)},
          {"scene.xml", scene_xml("underactuated", model_asset("arm"), world)},
          {"arm.toml", arm + "[controller]\nplugin = \"tendril.reach\"\ntarget = \"target\"\n"}};
}

}  // namespace tendril::simulation::generate
