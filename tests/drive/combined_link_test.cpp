#include "drive/combined_link.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "drive/arm_driver.hpp"
#include "drive/robot_message.hpp"
#include "drive/target_table.hpp"
#include "tendril/model_error.hpp"
#include "tests/drive/driven_arm.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Encoders of four bends, and a tracker, whose readings have three and four numbers.
ContinuumDescription arm() {
  return parse_as<ContinuumDescription>(
      servo_sections(2) + "[controller]\nplugin = \"tendril.reach\"\ntarget = \"target\"\n" +
          kEncoder + "[[sensor]]\nkind = \"tip_tracker\"\nname = \"tracker\"\n",
      "arm.toml");
}
constexpr std::size_t kEncoders = 4, kSensors = 6, kNumbers = 11;

/// A side of the robot that tells when it is told to.
class Side final : public RobotLink {
 public:
  explicit Side(const ArmDriver& driver)
      : packer(driver.ports()), message(packer.size()), commands(driver.ports().actuators.size()) {}

  bool send(Order order, double /*time*/, std::span<const double> /*commands*/) noexcept override {
    last = order;
    return can_send;
  }
  bool receive(std::span<double> out) noexcept override {
    if (!has_come) return false;
    has_come = false;
    std::ranges::copy(message, out.begin());
    return true;
  }
  [[nodiscard]] std::string summary() const override { return "summary"; }
  [[nodiscard]] bool has_failed() const noexcept override { return failed; }

  /// Readings of all sensors that are this number, of those that arrived.
  void tell(double number, const std::array<bool, kSensors>& arrived,
            const Eigen::Isometry3d* target = nullptr) {
    std::array<double, kNumbers> readings;
    std::size_t at = 0;
    for (std::size_t i = 0; i < kSensors; ++i)
      for (int k = 0; k < (i < kEncoders ? 1 : i == kEncoders ? 3 : 4); ++k)
        readings[at++] = arrived[i] ? number : kNaN;
    std::ranges::fill(commands, number);
    packer.pack(readings, arrived, {}, commands, target, message);
    has_come = true;
  }

  RobotMessage packer;
  std::vector<double> message, commands;
  bool has_come = false, can_send = true, failed = false;
  Order last = Order::Hello;
};

constexpr std::array<bool, kSensors> kOfServos{true, true, true, true, false, false};
constexpr std::array<bool, kSensors> kOfTracker{false, false, false, false, true, true};

struct Both {
  Both() {
    auto one = std::make_unique<Side>(driver), other = std::make_unique<Side>(driver);
    servos = one.get();
    tracker = other.get();
    std::vector<CombinedLink::Part> parts;
    parts.push_back({"servos", std::move(one)});
    parts.push_back({"tracker", std::move(other)});
    link = std::make_unique<CombinedLink>(driver.ports(), std::move(parts));
    numbers.resize(servos->message.size());
  }
  /// What the driver's side reads; nothing: no message.
  std::optional<DriveLoop::Message> receive() {
    if (!link->receive(numbers)) return std::nullopt;
    return reader.unpack(numbers);
  }

  ArmDriver driver{arm(), {}};
  Side *servos = nullptr, *tracker = nullptr;
  std::unique_ptr<CombinedLink> link;
  RobotMessage reader{driver.ports()};
  std::vector<double> numbers;
};

}  // namespace

TEST_CASE("combined link: each sensor's newest reading, from whichever side has it", "[drive]") {
  Both both;
  Random random(1);
  double of_servos = kNaN, of_tracker = kNaN;
  bool tracker_is_new = false;
  const AllocationCounter allocations;
  for (int i = 0; i < 200; ++i) {
    if (random.uniform(0.0, 1.0) < 0.3) {
      both.tracker->tell(of_tracker = 1000.0 + i, kOfTracker);
      tracker_is_new = true;
    }
    const bool any = random.uniform(0.0, 1.0) < 0.8;
    if (any) both.servos->tell(of_servos = i, kOfServos);
    const auto message = both.receive();
    REQUIRE(message.has_value() == any);
    if (!any) continue;
    for (std::size_t k = 0; k < kNumbers; ++k) {
      const double expected = k < kEncoders ? of_servos : of_tracker;
      REQUIRE((message->readings[k] == expected || (std::isnan(expected) && k >= kEncoders)));
    }
    for (std::size_t k = 0; k < kSensors; ++k)
      REQUIRE(message->arrived[k] == (k < kEncoders || tracker_is_new));
    for (const double command : both.reader.commands(both.numbers)) REQUIRE(command == of_servos);
    tracker_is_new = false;
  }
  CHECK(allocations.count() == 0);
}

TEST_CASE("combined link: a side that is lost", "[drive]") {
  Both both;
  SECTION("the tracker: its sensors stay as they are, and a line says so") {
    both.servos->tell(1.0, kOfServos);
    const auto message = both.receive();
    REQUIRE(message);
    CHECK_FALSE(message->arrived[kEncoders]);
    CHECK(std::isnan(message->readings[kEncoders]));
    CHECK(both.link->problem() == "tracker: nothing has come from there");
  }
  SECTION("the servos: nothing comes") {
    both.tracker->tell(1.0, kOfTracker);
    CHECK_FALSE(both.receive());
    CHECK(both.link->problem() == "servos: nothing has come from there");
  }
  SECTION("either has failed") {
    both.tracker->failed = true;
    CHECK(both.link->has_failed());
  }
}

TEST_CASE("combined link: orders go to all, a target comes from any", "[drive]") {
  Both both;
  const std::vector<double> commands(both.driver.ports().actuators.size(), 0.1);
  both.tracker->can_send = false;
  CHECK(both.link->send(Order::Command, 0.0, commands));
  CHECK(both.tracker->last == Order::Command);
  both.servos->can_send = false;
  CHECK_FALSE(both.link->send(Order::Hold, 0.0, commands));

  Eigen::Isometry3d target(Eigen::Translation3d(0.01, 0.02, 0.15));
  both.tracker->tell(1.0, kOfTracker, &target);
  both.servos->tell(1.0, kOfServos);
  auto message = both.receive();
  REQUIRE(message);
  REQUIRE(message->target != nullptr);
  CHECK(message->target->isApprox(target));
  both.servos->tell(2.0, kOfServos);  // which knows of none
  message = both.receive();
  REQUIRE(message);
  CHECK(message->target != nullptr);
}

TEST_CASE("target table: a row holds until the next, the first also before", "[drive]") {
  CHECK(TargetTable().at(0.0) == nullptr);
  const auto at = [](double x) { return Eigen::Isometry3d(Eigen::Translation3d(x, 0.0, 0.1)); };
  const TargetTable table({{1.0, at(0.01)}, {2.0, at(0.02)}, {4.0, at(0.04)}});
  for (const auto& [time, x] : {std::pair{0.0, 0.01},
                                {1.0, 0.01},
                                {1.99, 0.01},
                                {2.0, 0.02},
                                {3.9, 0.02},
                                {4.0, 0.04},
                                {100.0, 0.04}})
    CHECK(table.at(time)->translation().x() == x);
  CHECK_THROWS_AS(TargetTable({{1.0, at(0.0)}, {1.0, at(0.1)}}), ModelError);
  CHECK_THROWS_AS(TargetTable({{1.0, at(0.0)}, {std::nan(""), at(0.1)}}), ModelError);
}
