#include "links/dynamixel/servos.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tendril/model_error.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"

using namespace std::chrono_literals;
using namespace tendril;
using namespace tendril::dynamixel;
using test::Random;

namespace {

const std::string kHead = "port = \"/dev/ttyUSB0\"\n";
const std::string kServo = R"([[servo]]
id = 3
model = "xl330"
actuator = "t1"
radius = 0.01
zero = 3.14
)";

std::string error(const std::string& text) {
  try {
    static_cast<void>(parse_bus(text, "bus.toml"));
  } catch (const ModelError& refused) {
    return refused.what();
  }
  return "none";
}

/// A terminal with servo 1, which answers each sync read with an alert and 1, 2, ... in its bytes.
class AnsweringTerminal {
 public:
  AnsweringTerminal() {
    master_ = posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE(grantpt(master_) == 0);
    REQUIRE(unlockpt(master_) == 0);
    path_ = ptsname(master_);
    keep_open_ = open(path_.c_str(), O_RDWR | O_NOCTTY);
    thread_ = std::thread([this] { run(); });
  }
  ~AnsweringTerminal() {
    is_done_ = true;
    // A byte that wakes the thread.
    static_cast<void>(::write(keep_open_, "", 1));
    thread_.join();
    close(keep_open_);
    close(master_);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void run() {
    PacketParser parser;
    while (!is_done_) {
      const auto space = parser.space();
      const ssize_t count = ::read(master_, space.data(), space.size());
      if (count <= 0) return;
      parser.received(static_cast<std::size_t>(count));
      while (const auto packet = parser.next())
        if (packet->instruction == Instruction::SyncRead) answer(packet->parameters[2]);
    }
  }
  void answer(Byte length) const {
    std::array<Byte, 64> bytes{};
    bytes[0] = 0x80;
    for (Byte i = 1; i <= length; ++i) bytes[i] = i;
    std::array<Byte, 128> packet{};
    const auto sent =
        write_packet(1, Instruction::Status, std::span(bytes).first(length + 1u), packet);
    static_cast<void>(::write(master_, sent.data(), sent.size()));
  }

  int master_ = -1, keep_open_ = -1;
  std::string path_;
  std::atomic<bool> is_done_ = false;
  std::thread thread_;
};

}  // namespace

TEST_CASE("bus file: all keys are read", "[dynamixel]") {
  const BusDescription bus = read_bus_file("tests/links/bus.toml");
  CHECK(bus.port == "/dev/ttyUSB0");
  CHECK(bus.baud == 1000000);
  CHECK(bus.watchdog == 0.1);
  REQUIRE(bus.servos.size() == 2);
  const ServoDescription &tendon = bus.servos[0], &joint = bus.servos[1];
  CHECK(tendon.id == 1);
  CHECK(tendon.family.current_unit == 1e-3);
  CHECK(tendon.actuator == "t1");
  CHECK(tendon.is_tendon);
  CHECK(tendon.ratio == 0.01);
  CHECK(tendon.direction == 1);
  CHECK(tendon.zero == 3.0);
  CHECK(tendon.current_limit == 0.4);
  CHECK(tendon.torque_constant == 0.35);
  CHECK(joint.id == 2);
  CHECK(joint.family.current_unit == 2.69e-3);
  CHECK(joint.actuator == "wrist");
  CHECK_FALSE(joint.is_tendon);
  CHECK(joint.ratio == 1.0 / 3.0);
  CHECK(joint.direction == -1);
  CHECK_FALSE(joint.current_limit);
}

TEST_CASE("bus file: what is not in it is left open", "[dynamixel]") {
  const BusDescription bus = parse_bus(kHead + kServo, "bus.toml");
  CHECK(bus.baud == 1000000);
  CHECK(bus.watchdog == 0.1);
  CHECK(bus.servos.front().direction == 1);
  CHECK_FALSE(bus.servos.front().current_limit);
  CHECK_FALSE(bus.servos.front().torque_constant);
}

TEST_CASE("bus file: errors name key, value and what is allowed", "[dynamixel]") {
  const std::string head = kHead, servo = kServo;
  const auto with = [&](const std::string& line) { return error(head + servo + line + "\n"); };
  const auto without = [&](const std::string& key) {
    const std::size_t at = servo.find(key);
    return error(head + servo.substr(0, at) + servo.substr(servo.find('\n', at) + 1));
  };
  CHECK(error(head + servo) == "none");
  CHECK(error(servo) ==
        "bus.toml:1: port: is missing, must be a serial port, such as \"/dev/ttyUSB0\"");
  CHECK(error(head) == "bus.toml:1: 0 tables [[servo]]: must be 1 to 64");
  CHECK(error(head + "baud = 19200\n" + servo) ==
        "bus.toml:2: baud = 19200: must be one of: 9600, 57600, 115200, 1000000, 2000000, 3000000, "
        "4000000");
  CHECK(error(head + "watchdog = 3\n" + servo) ==
        "bus.toml:2: watchdog = 3: must be in [0.02, 2.54]");
  CHECK(without("id") == "bus.toml:2: servo 1: id: is missing, must be in [0, 252]");
  CHECK(without("model") ==
        "bus.toml:2: servo 1: model: is missing, must be one of: xl330, xc330, xm430, xm540");
  CHECK(without("radius") == "bus.toml:2: servo 1: must have one of: radius, gear");
  CHECK(without("zero") == "bus.toml:2: servo 1: zero: is missing, must be in [-1608.49, 1608.49]");
  CHECK(with("gear = 2") == "bus.toml:2: servo 1: radius and gear: must be one of them");
  CHECK(with("direction = 0") == "bus.toml:8: servo 1: direction = 0: must be 1 or -1");
  CHECK(with("torque_constant = 0") ==
        "bus.toml:8: servo 1: torque_constant = 0: must be in (0, 1e9]");
  CHECK(with("speed = 1")
            .starts_with("bus.toml:8: servo 1: unknown key 'speed', must be one of: id"));
  CHECK(with(servo) == "bus.toml:9: servo 2: id = 3: is that of servo 1 too");
}

TEST_CASE("dynamixel: a counter of 32 bits is continued over its wrap", "[dynamixel]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  Random random(seed);
  std::int64_t exact = random.integer(-1000, 1000), position = exact;
  const int drift = random.integer(-1'000'000'000, 1'000'000'000);
  for (int i = 0; i < 100; ++i) {
    exact += drift + random.integer(-1'000'000'000, 1'000'000'000);
    const auto counter = static_cast<std::int32_t>(static_cast<std::uint32_t>(exact));
    position = continued(position, counter);
    CHECK(position == exact);
  }
}

TEST_CASE("dynamixel: integers keep their sign in 1, 2 and 4 bytes", "[dynamixel]") {
  for (const int size : {1, 2, 4})
    for (const int value : {0, 1, -1, 127, -128}) {
      std::array<Byte, 4> bytes{9, 9, 9, 9};
      put_integer(value, size, bytes);
      CHECK(integer_in(bytes, size) == value);
      if (size < 4) CHECK(bytes[3] == 9);
    }
}

TEST_CASE("dynamixel bus: errors name port and value", "[dynamixel]") {
  CHECK_THROWS_WITH(DynamixelBus("/dev/null", 1234),
                    Catch::StartsWith("/dev/null: baud = 1234: must be one of: 9600, "));
  CHECK_THROWS_WITH(DynamixelBus("/dev/null", 57600), "/dev/null: Inappropriate ioctl for device");
  CHECK_THROWS_WITH(DynamixelBus("/dev/no_port", 57600), "/dev/no_port: No such file or directory");
}

TEST_CASE("dynamixel bus: a loop does not allocate, with and without answers", "[dynamixel]") {
  const AnsweringTerminal terminal;
  DynamixelBus bus(terminal.path(), 1000000);
  const std::array<Byte, 2> ids{2, 1};
  std::array<Byte, 8> data{};
  std::array<Answer, 2> answers{};
  const test::AllocationCounter counter;
  for (int i = 0; i < 6; ++i) {
    // Servo 1 alone: the answer is the end of the wait.
    const auto late = DynamixelBus::Clock::now() + 60s;
    CHECK(bus.sync_read(std::span(ids).last(1), {132, 4}, std::span(data).last(4),
                        std::span(answers).last(1), late) == 1);
    CHECK(DynamixelBus::Clock::now() < late);
    CHECK(answers[1].is_new);
    CHECK(answers[1].alert);
    // Its last bytes are those asked for, after as many more as this is the request modulo 8.
    CHECK(data[4] == 1 + (2 * i + 1) % 8);
    CHECK(data[7] == data[4] + 3);
    // Servo 2 is silent.
    const auto soon = DynamixelBus::Clock::now() + 50ms;
    CHECK(bus.sync_read(ids, {132, 4}, data, answers, soon) <= 1);
    CHECK(DynamixelBus::Clock::now() >= soon);
    CHECK_FALSE(answers[0].is_new);
    CHECK(integer_in(data, 4) == 0);
    CHECK(bus.sync_write(ids, 116, 4, data, late));
  }
  CHECK(counter.count() == 0);
}

TEST_CASE("bus file: other zero angles, and all else as it was", "[dynamixel]") {
  const std::string second =
      "[[servo]]\nid = 4\nmodel = \"xm430\"\nzero=-1e-1 # turned\nactuator = \"t2\"\ngear = 2\n";
  const std::string text = "# of a robot\n" + kHead + kServo + "\n" + second;
  const std::string changed = with_zeros(text, "bus.toml", std::array{1.25, 6.5});
  const BusDescription bus = parse_bus(changed, "bus.toml");
  CHECK(bus.servos[0].zero == 1.25);
  CHECK(bus.servos[1].zero == 6.5);
  CHECK(with_zeros(changed, "bus.toml", std::array{3.14, -0.1}).size() ==
        with_zeros(text, "bus.toml", std::array{3.14, -0.1}).size());
  std::string back = changed;
  back.replace(back.find("1.25000"), 7, "3.14");
  back.replace(back.find("6.50000"), 7, "-1e-1");
  CHECK(back == text);
}
