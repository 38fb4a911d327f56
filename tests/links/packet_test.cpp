#include "links/dynamixel/packet.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::dynamixel;
using test::Random;
using Bytes = std::vector<Byte>;

namespace {

struct Read {
  int id;
  Instruction instruction;
  Bytes parameters;
  bool operator==(const Read&) const = default;
};

Bytes written(Byte id, Instruction instruction, const Bytes& parameters) {
  std::array<Byte, kPacketSize> buffer{};
  const auto packet = write_packet(id, instruction, parameters, buffer);
  return {packet.begin(), packet.end()};
}

/// All packets in the bytes, given to the parser in parts of at most `part` bytes.
std::vector<Read> parsed(PacketParser& parser, std::span<const Byte> bytes,
                         std::size_t part = kPacketSize) {
  std::vector<Read> found;
  while (!bytes.empty()) {
    const auto space = parser.space();
    REQUIRE(!space.empty());
    const std::size_t count = std::min({part, bytes.size(), space.size()});
    std::copy_n(bytes.begin(), count, space.begin());
    parser.received(count);
    bytes = bytes.subspan(count);
    while (const auto packet = parser.next())
      found.push_back({packet->id,
                       packet->instruction,
                       {packet->parameters.begin(), packet->parameters.end()}});
  }
  return found;
}

std::vector<Read> parsed(const Bytes& bytes, std::size_t part = kPacketSize) {
  PacketParser parser;
  return parsed(parser, bytes, part);
}

Byte random_byte(Random& random) { return static_cast<Byte>(random.integer(0, 255)); }

/// Bytes that are often those of a header.
Bytes random_bytes(Random& random, int size) {
  constexpr Byte kOften[] = {0xFF, 0xFF, 0xFD, 0x00};
  Bytes bytes;
  for (int i = 0; i < size; ++i)
    bytes.push_back(random.uniform(0, 1) < 0.8 ? kOften[random.integer(0, 3)]
                                               : random_byte(random));
  return bytes;
}

Read random_packet(Random& random) {
  return {random.integer(0, kMaxId), Instruction::Status,
          random_bytes(random, random.integer(1, 40))};
}

Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Bytes written(const Read& packet) {
  return written(static_cast<Byte>(packet.id), packet.instruction, packet.parameters);
}

/// CRC as the remainder of a division of polynomials, bit by bit.
unsigned remainder(const Bytes& bytes) {
  unsigned rest = 0;
  for (std::size_t bit = 0; bit < 8 * (bytes.size() + 2); ++bit) {
    const Byte byte = bit / 8 < bytes.size() ? bytes[bit / 8] : Byte{0};
    rest = rest << 1 | ((byte >> (7 - bit % 8)) & 1u);
    if ((rest & 0x10000u) != 0) rest ^= 0x18005u;
  }
  return rest;
}

}  // namespace

TEST_CASE("dynamixel packet: the manual's examples", "[dynamixel]") {
  struct Case {
    const char* name;
    Byte id;
    Instruction instruction;
    Bytes parameters;
    Bytes packet;
  };
  // [Dynamixel2], "Instruction Details"
  const auto c = GENERATE(values<Case>({
      {"ping of 1", 1, Instruction::Ping, {}, {0xFF, 0xFF, 0xFD, 0, 1, 3, 0, 1, 0x19, 0x4E}},
      {"ping of all",
       0xFE,
       Instruction::Ping,
       {},
       {0xFF, 0xFF, 0xFD, 0, 0xFE, 3, 0, 1, 0x31, 0x42}},
      {"answer to ping",
       1,
       Instruction::Status,
       {0, 6, 4, 0x26},
       {0xFF, 0xFF, 0xFD, 0, 1, 7, 0, 0x55, 0, 6, 4, 0x26, 0x65, 0x5D}},
      {"read position",
       1,
       Instruction::Read,
       {0x84, 0, 4, 0},
       {0xFF, 0xFF, 0xFD, 0, 1, 7, 0, 2, 0x84, 0, 4, 0, 0x1D, 0x15}},
      {"answer to read",
       1,
       Instruction::Status,
       {0, 0xA6, 0, 0, 0},
       {0xFF, 0xFF, 0xFD, 0, 1, 8, 0, 0x55, 0, 0xA6, 0, 0, 0, 0x8C, 0xC0}},
      {"write goal",
       1,
       Instruction::Write,
       {0x74, 0, 0, 2, 0, 0},
       {0xFF, 0xFF, 0xFD, 0, 1, 9, 0, 3, 0x74, 0, 0, 2, 0, 0, 0xCA, 0x89}},
      {"sync read",
       0xFE,
       Instruction::SyncRead,
       {0x84, 0, 4, 0, 1, 2},
       {0xFF, 0xFF, 0xFD, 0, 0xFE, 9, 0, 0x82, 0x84, 0, 4, 0, 1, 2, 0xCE, 0xFA}},
      {"sync write",
       0xFE,
       Instruction::SyncWrite,
       {0x74, 0, 4, 0, 1, 0x96, 0, 0, 0, 2, 0xAA, 0, 0, 0},
       {0xFF, 0xFF, 0xFD, 0, 0xFE, 0x11, 0,    0x83, 0x74, 0, 4,    0,
        1,    0x96, 0,    0, 0,    2,    0xAA, 0,    0,    0, 0x82, 0x87}},
  }));
  DYNAMIC_SECTION(c.name) {
    CHECK(written(c.id, c.instruction, c.parameters) == c.packet);
    CHECK(parsed(c.packet) == std::vector<Read>{{c.id, c.instruction, c.parameters}});
  }
}

TEST_CASE("dynamixel packet: what is written is read back, split anywhere", "[dynamixel]") {
  const auto seed = GENERATE(range(0u, 200u));
  CAPTURE(seed);
  Random random(seed);
  const Read packet = random_packet(random);
  const Bytes bytes = written(packet);
  CHECK(remainder({bytes.begin(), bytes.end() - 2}) == (bytes.end()[-1] * 256u + bytes.end()[-2]));
  for (std::size_t part = 1; part <= bytes.size(); ++part)
    CHECK(parsed(bytes, part) == std::vector{packet});
}

TEST_CASE("dynamixel packet: a changed bit is found, and the next packet is read", "[dynamixel]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  Random random(seed);
  const Bytes bytes = written(random_packet(random));
  const Read next = random_packet(random);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    CAPTURE(bit);
    Bytes changed = bytes;
    changed[bit / 8] = static_cast<Byte>(changed[bit / 8] ^ 1u << bit % 8);
    PacketParser parser;
    CHECK(parsed(parser, changed + written(next)) == std::vector{next});
    if (bit >= 8 * 4) CHECK(parser.damaged() > 0);  // with its header intact
  }
}

TEST_CASE("dynamixel packet: found between garbage and packets that are cut off", "[dynamixel]") {
  const auto seed = GENERATE(range(0u, 200u));
  CAPTURE(seed);
  Random random(seed);
  Bytes stream;
  std::vector<Read> sent;
  for (int i = 0; i < 20; ++i) {
    const Read cut = random_packet(random);
    Bytes begin = written(cut);
    // Three bytes at least are lost: the next header can have those of a CRC.
    begin.resize(static_cast<std::size_t>(random.integer(0, static_cast<int>(begin.size()) - 3)));
    Bytes garbage;
    for (int j = random.integer(0, 30); j > 0; --j) garbage.push_back(random_byte(random));
    sent.push_back(random_packet(random));
    stream = stream + garbage + begin + written(sent.back());
  }
  CHECK(parsed(stream, static_cast<std::size_t>(random.integer(1, 100))) == sent);
}

TEST_CASE("dynamixel packet: any bytes leave the parser with space", "[dynamixel]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  Random random(seed);
  PacketParser parser;
  parsed(parser, random_bytes(random, 5000), static_cast<std::size_t>(random.integer(1, 2000)));
  // Nothing that has been there keeps the largest packet from being found.
  const Read last{1, Instruction::Status, Bytes(kPacketSize - 10, 7)};
  const Bytes bytes = written(last);
  REQUIRE(bytes.size() == kPacketSize);
  const auto found = parsed(parser, bytes + bytes);
  CHECK(std::count(found.begin(), found.end(), last) == 2);
}

TEST_CASE("dynamixel packet: one that does not fit is not written", "[dynamixel]") {
  std::array<Byte, 20> buffer{};
  buffer.back() = 99;
  for (std::size_t size = 0; size < 20; ++size) {
    const Bytes stuffed(Bytes{0xFF, 0xFF, 0xFD});
    Bytes parameters;
    while (parameters.size() < size) parameters = parameters + stuffed;
    const auto out = std::span(buffer).first(19);
    const auto packet = write_packet(1, Instruction::Write, parameters, out);
    CHECK(packet.size() <= out.size());
    CHECK(packet.empty() == (10 + parameters.size() + parameters.size() / 3 > out.size()));
    CHECK(buffer.back() == 99);
  }
}
