// What servos on a bus read: their file, and bytes from a port.

#include <algorithm>
#include <cmath>

#include "links/dynamixel/bus_file.hpp"
#include "links/dynamixel/packet.hpp"
#include "tendril/model_error.hpp"
#include "tests/fuzz/target.hpp"

namespace tendril::fuzz {
namespace {

void read_bus(std::string_view input) {
  read_or_refuse<ModelError>([&] {
    const dynamixel::BusDescription bus = dynamixel::parse_bus(input, "input.toml");
    require(!bus.servos.empty(), "a bus has a servo");
    for (const dynamixel::ServoDescription& servo : bus.servos)
      require(std::isfinite(1.0 / (servo.direction * servo.ratio)), "a servo can be commanded");
  });
}

void read_packets(std::string_view input) {
  dynamixel::PacketParser parser;
  std::size_t bytes = 0;
  while (!input.empty()) {
    const auto space = parser.space();
    require(!space.empty(), "the parser has space");
    const std::size_t count = std::min(space.size(), input.size());
    std::copy_n(input.begin(), count, space.begin());
    parser.received(count);
    bytes += count;
    input.remove_prefix(count);
    while (const auto packet = parser.next()) {
      require(packet->parameters.size() + 10 <= bytes, "a packet has no bytes but those read");
      bytes -= packet->parameters.size() + 10;
    }
  }
}

const Target bus{"bus", ".toml", read_bus};
const Target packets{"packets", ".packets", read_packets};

}  // namespace
}  // namespace tendril::fuzz
