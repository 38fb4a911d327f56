// Robot and tube files, and the overrides of `--set`.

#include <string>

#include "simulation/engine/setting.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model/robot_description.hpp"
#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model_error.hpp"
#include "tests/fuzz/target.hpp"

namespace tendril::fuzz {
namespace {

constexpr const char* kArm = R"(kind = "continuum"
[base]
feed = 0.1
[[section]]
constant_length = 0.06
bend_limit = 1.745
links = 2
[[section]]
constant_length = 0.06
variable_length = 0.02
bend_limit = 1.745
links = 2
[controller]
plugin = "tendril.reach"
target = "target"
)";

/// The files that an input names.
std::string read_arm(const std::string&) { return kArm; }

void check_kinematics(const ContinuumDescription& arm) {
  const ContinuumRobot robot = arm.kinematics();
  require(tip_pose(robot, robot.straight()).matrix().allFinite(), "the straight arm has a tip");
}
void check_kinematics(const SnakeDescription& snake) { static_cast<void>(snake.kinematics()); }
void check_kinematics(const MobileDescription& robot) {
  static_cast<void>(robot.start_pose());
  if (robot.mounted)
    static_cast<void>(robot.continuum());
  else
    static_cast<void>(robot.kinematics());
}
void check_kinematics(const TubeDescription&) {}

template <class D>
void read_model(std::string_view input) {
  read_or_refuse<ModelError>([&] {
    const D description = parse_as<D>(input, "input.toml", {}, read_arm);
    check_kinematics(description);
    require(!model_mjcf(description).empty(), "a model has a document");
  });
}

/// One `--set` a line.
void read_overrides(std::string_view input) {
  constexpr std::size_t kMaxApplied = 4;  // of an input
  std::vector<Override> changes;
  while (!input.empty()) {
    const std::size_t end = input.find('\n');
    const std::string_view line = input.substr(0, end);
    input.remove_prefix(end == input.npos ? input.size() : end + 1);
    read_or_refuse<ModelError>([&] {
      Override change = simulation::parse_setting(line);
      const std::string text = change.value.text();
      const Value again = Value::parse(text);
      require(again.text() == text, "the text of a value's text is the same");
      require(again == change.value || text.find("nan") != text.npos,
              "a value's text reads back to the value");
      static_cast<void>(change.value.numbers());
      static_cast<void>(simulation::setting_word(change));
      if (change.key.starts_with("robot.")) change.key.erase(0, 6);
      if (changes.size() < kMaxApplied) changes.push_back(std::move(change));
    });
  }
  read_or_refuse<ModelError>(
      [&] { static_cast<void>(parse_model(kArm, "arm.toml", changes, read_arm)); });
}

const Target robot{"robot", ".toml", read_model<ContinuumDescription>};
const Target snake{"snake", ".toml", read_model<SnakeDescription>};
const Target mobile{"mobile", ".toml", read_model<MobileDescription>};
const Target tube{"tube", ".toml", read_model<TubeDescription>};
const Target overrides{"overrides", ".set", read_overrides};

}  // namespace
}  // namespace tendril::fuzz
