// Datagrams against a robot that this file writes itself, on the loopback.

#include "drive/udp_link.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <thread>
#include <vector>

#include "drive/arm_driver.hpp"
#include "drive/real_time_loop.hpp"
#include "drive/robot_message.hpp"
#include "tendril/model_error.hpp"
#include "tests/drive/driven_arm.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr int kDeadline = 20000;  // ms, for what takes microseconds

ContinuumDescription arm() {
  return parse_as<ContinuumDescription>(
      servo_sections(1) + "[controller]\nplugin = \"tendril.reach\"\ntarget = \"target\"\n" +
          kEncoder,
      "arm.toml");
}

/// Bit by bit, as IEEE 802.3 defines it.
std::uint32_t checksum(const std::vector<char>& bytes, std::size_t count) {
  std::uint32_t c = 0xFFFFFFFFU;
  for (std::size_t i = 0; i < count; ++i)
    for (int bit = 0; bit < 8; ++bit) {
      const std::uint32_t in = (static_cast<unsigned char>(bytes[i]) >> bit) & 1U;
      c = ((c ^ in) & 1U) != 0 ? (c >> 1) ^ 0xEDB88320U : c >> 1;
    }
  return ~c;
}

class Robot {
 public:
  Robot() : socket_(socket(AF_INET, SOCK_DGRAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    socklen_t size = sizeof address;
    REQUIRE(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    name = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~Robot() { close(socket_); }
  Robot(const Robot&) = delete;
  Robot& operator=(const Robot&) = delete;

  /// Waits for a datagram of the computer: its numbers after the header.
  std::vector<double> wait(std::uint32_t* signature = nullptr) {
    pollfd file{socket_, POLLIN, 0};
    REQUIRE(poll(&file, 1, kDeadline) == 1);
    std::vector<char> bytes(1000);
    peer_size_ = sizeof peer_;
    const ssize_t size = recvfrom(socket_, bytes.data(), bytes.size(), 0,
                                  reinterpret_cast<sockaddr*>(&peer_), &peer_size_);
    REQUIRE(size >= 28);
    bytes.resize(static_cast<std::size_t>(size));
    CHECK(std::string(bytes.data(), 4) == "TDL1");
    std::uint32_t sum = 0;
    std::memcpy(&sum, bytes.data() + size - 4, 4);
    CHECK(sum == checksum(bytes, bytes.size() - 4));
    if (signature != nullptr) std::memcpy(signature, bytes.data() + 4, 4);
    std::vector<double> numbers((bytes.size() - 28) / 8);
    std::memcpy(numbers.data(), bytes.data() + 24, numbers.size() * 8);
    return numbers;
  }

  static std::vector<char> datagram(std::uint32_t signature, std::uint64_t number,
                                    const std::vector<double>& numbers) {
    std::vector<char> bytes(28 + 8 * numbers.size());
    std::memcpy(bytes.data(), "TDL1", 4);
    std::memcpy(bytes.data() + 4, &signature, 4);
    std::memcpy(bytes.data() + 8, &number, 8);
    std::memcpy(bytes.data() + 24, numbers.data(), 8 * numbers.size());
    const std::uint32_t sum = checksum(bytes, bytes.size() - 4);
    std::memcpy(bytes.data() + bytes.size() - 4, &sum, 4);
    return bytes;
  }
  void send(const std::vector<char>& bytes) {
    CHECK(sendto(socket_, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&peer_),
                 peer_size_) == static_cast<ssize_t>(bytes.size()));
  }

  std::string name;

 private:
  int socket_;
  sockaddr_storage peer_{};
  socklen_t peer_size_ = 0;
};

/// Receives until something new has come; the loopback brings datagrams in order.
bool wait_for(UdpLink& link, std::vector<double>& message) {
  for (int ms = 0; ms < kDeadline; ++ms) {
    if (link.receive(message)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace

TEST_CASE("udp link: what one side sends the other has, and nothing else", "[drive]") {
  const ArmDriver driver(arm(), {});
  Robot robot;
  UdpLink link(robot.name, driver.ports());
  const std::vector<double> commands{0.25, -0.5};
  REQUIRE(link.send(Order::Command, 1.5, commands));
  std::uint32_t signature = 0;
  CHECK(robot.wait(&signature) == std::vector<double>{1.0, 0.25, -0.5});
  CHECK(signature == UdpLink::signature(driver.ports()));
  const std::string names = "bend_s1_y 1\nbend_s1_x 1\n\ns1_y\ns1_x\n";
  CHECK(signature == checksum({names.begin(), names.end()}, names.size()));

  const std::size_t size = RobotMessage(driver.ports()).size();
  std::vector<double> sent(size), got(size);
  const auto fill = [&](double start) {
    for (std::size_t i = 0; i < size; ++i) sent[i] = start + static_cast<double>(i);
  };
  fill(10.0);
  const std::vector<char> first = Robot::datagram(signature, 5, sent);
  robot.send(first);
  REQUIRE(wait_for(link, got));
  CHECK(got == sent);

  // Every damaged bit is noticed; what is of another robot, cut, late or again is dropped.
  std::vector<double> untouched(size, -1.0);
  got = untouched;
  long damaged = 0;
  for (std::size_t bit = 0; bit < 8 * first.size(); bit += 13) {
    std::vector<char> bad = Robot::datagram(signature, 6, sent);
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    robot.send(bad);
    ++damaged;
  }
  std::vector<char> cut = first;
  cut.resize(cut.size() - 8);
  robot.send(cut);
  robot.send({});
  std::vector<double> longer = sent;
  longer.push_back(0.0);
  robot.send(Robot::datagram(signature, 7, longer));
  robot.send(Robot::datagram(signature + 1, 8, sent));
  robot.send(Robot::datagram(signature, 4, sent));
  robot.send(first);
  fill(20.0);
  robot.send(Robot::datagram(signature, 9, sent));
  REQUIRE(wait_for(link, got));
  CHECK(got == sent);
  CHECK(link.counts().damaged == damaged + 3);
  CHECK(link.counts().strange == 1);
  CHECK(link.counts().overtaken == 2);
  CHECK(link.counts().missing == 3);
  CHECK(link.counts().received == 2);
}

TEST_CASE("udp link: a robot that has gone stops nothing, and is heard when it is back",
          "[drive]") {
  const ArmDriver driver(arm(), {});
  std::string name;
  std::vector<double> got(RobotMessage(driver.ports()).size());
  {
    const Robot gone;
    name = gone.name;
  }
  UdpLink link(name, driver.ports());
  for (int i = 0; i < 10; ++i) {
    (void)link.send(Order::Hello, 0.0, std::vector<double>(2));
    CHECK_FALSE(link.receive(got));
  }
}

TEST_CASE("udp link: sending and receiving allocate nothing", "[drive]") {
  const ArmDriver driver(arm(), {});
  Robot robot;
  UdpLink link(robot.name, driver.ports());
  const std::vector<double> commands(2);
  std::vector<double> got(RobotMessage(driver.ports()).size());
  const AllocationCounter counter;
  for (int i = 0; i < 20; ++i) {
    (void)link.send(Order::Command, 0.0, commands);
    (void)link.receive(got);
  }
  CHECK(counter.count() == 0);
}

TEST_CASE("udp link: addresses that cannot be are refused in one line", "[drive]") {
  const ArmDriver driver(arm(), {});
  for (const char* const bad :
       {"7400", ":7400", "localhost:", "localhost:http", "no.such.host.invalid:1"})
    CHECK_THROWS_WITH(UdpLink(bad, driver.ports()),
                      Catch::StartsWith(std::string("link: udp:") + bad));
}

TEST_CASE("real time loop: asks for messages, commands, and lets the robot hold at the end",
          "[drive]") {
  ArmDriver driver(arm(), {.timestep = 0.002});
  DriveLoop loop(driver, {.speed_limit = 1.0});
  Robot robot;
  UdpLink link(robot.name, driver.ports());
  std::atomic<bool> stop = false;
  LoopTimes times;
  std::thread computer(
      [&] { times = run_real_time(loop, link, {.timestep = 0.002, .stop = &stop}); });
  CHECK(robot.wait()[0] == 0.0);  // hello
  RobotMessage message(driver.ports());
  std::vector<double> numbers(message.size());
  Eigen::Isometry3d target = Eigen::Isometry3d::Identity();
  target.translation() << 0.03, 0.0, 0.09;
  const bool arrived[2] = {true, true};
  const std::vector<double> in_force{0.3, 0.1};
  message.pack(std::vector<double>{0.3, -0.1}, arrived, {}, in_force, &target, numbers);
  robot.send(Robot::datagram(UdpLink::signature(driver.ports()), 1, numbers));
  std::vector<double> order = robot.wait();
  while (order[0] == 0.0) order = robot.wait();
  CHECK(order[0] == 1.0);
  // From where the actuators are, not from 0: one step of the speed limit.
  for (const std::size_t i : {0u, 1u}) {
    const auto& [low, high] = driver.ports().actuators[i].range;
    CHECK(std::abs(order[1 + i] - in_force[i]) <= 0.002 * (high - low) * (1 + 1e-9));
  }
  while (order[0] == 1.0) order = robot.wait();  // no more messages: it holds
  CHECK(order[0] == 2.0);
  stop = true;
  computer.join();
  CHECK(times.steps > 0);
  CHECK(loop.state() == DriveState::Stale);
}
