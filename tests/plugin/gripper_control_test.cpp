// A gripper at the tip of an arm with a controller.

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/plugin/test_scenes.hpp"

using namespace tendril::test;

namespace {

const std::string kOpenLoop = "integral_gain = 0\ndeflection_compensation = false\n";
const std::string kGripper = "[gripper]\nopening = 0.04\nmass = 0.1\nforce = 8\n";

std::string arm(const std::string& settings, bool link = false) {
  return (link ? "compliance = \"link\"\n" : "") + reach_arm(settings + kGripper);
}

double off_command(const ModelPtr& model, const DataPtr& data) {
  const auto command = sensor(model, data, "A_command"),
             measured = sensor(model, data, "A_measured");
  double worst = 0.0;
  for (std::size_t i = 0; i < command.size(); ++i)
    worst = std::max(worst, std::abs(command[i] - measured[i]));
  return worst;
}

void tell_gripper(const ModelPtr& model, const DataPtr& data, double opening) {
  const int actuator = mj_name2id(model.get(), mjOBJ_ACTUATOR, "A_gripper");
  REQUIRE(actuator >= 0);
  data->ctrl[actuator] = opening;
}

}  // namespace

TEST_CASE("gripper: gravity compensation carries it, open and closed", "[plugin]") {
  const bool link = GENERATE(false, true);
  CAPTURE(link);
  const auto sag = [&](const std::string& settings) {
    const ModelPtr model = load_one_arm(arm(kOpenLoop + settings, link));
    const DataPtr data = make_data(model);
    step(model, data, 1500);
    const double closed = off_command(model, data);
    tell_gripper(model, data, 0.04);
    step(model, data, 1000);
    CHECK(sensor(model, data, "A_gripper_opening")[0] == Approx(0.04).epsilon(0.01));
    return std::max(closed, off_command(model, data));
  };
  const double on = sag(""), off = sag("gravity_compensation = false\n");
  CAPTURE(on, off);
  CHECK(off > 0.002);
  CHECK(on < 0.01 * off);
}

TEST_CASE("gripper: the controller neither drives it nor is disturbed by it", "[plugin]") {
  const ModelPtr model = load_one_arm(arm(""));
  const DataPtr data = make_data(model);
  step(model, data, 1000);
  CHECK(sensor(model, data, "A_tip_error")[0] < 1e-4);
  double worst = 0.0, off = 0.0;
  for (const double opening : {0.04, 0.01, 0.03, 0.0}) {
    tell_gripper(model, data, opening);
    for (int k = 0; k < 400; ++k) {
      step(model, data, 1);
      worst = std::max(worst, sensor(model, data, "A_tip_error")[0]);
      off = std::max(off, off_command(model, data));
    }
    CHECK(sensor(model, data, "A_gripper_opening")[0] == Approx(opening).margin(5e-4));
    CHECK(data->ctrl[mj_name2id(model.get(), mjOBJ_ACTUATOR, "A_gripper")] == opening);
  }
  CAPTURE(worst, off);
  CHECK(worst < 1e-4);
  CHECK(sensor(model, data, "A_status")[0] == 0.0);
}
