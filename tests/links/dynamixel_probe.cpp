// Drives a Dynamixel bus by lines of the standard input; writes a line for each.
//   usage: dynamixel_probe PORT SETUP_MILLISECONDS
//   ping ID | read ID REGISTER | write ID REGISTER VALUE | sync_read MILLISECONDS ID ...
//   set_up FILE | torque on|off | read_servos MILLISECONDS | command VALUE ... | dropped

#include <algorithm>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include "links/dynamixel/servos.hpp"

using namespace tendril::dynamixel;
using Clock = DynamixelBus::Clock;

namespace {

constexpr std::array kRegisters{
    registers::kModelNumber,     registers::kReturnDelay,    registers::kOperatingMode,
    registers::kTorqueEnable,    registers::kHardwareError,  registers::kWatchdog,
    registers::kGoalCurrent,     registers::kGoalPosition,   registers::kPresentCurrent,
    registers::kPresentVelocity, registers::kPresentPosition};

Clock::time_point deadline(std::istream& in) {
  int milliseconds = 0;
  in >> milliseconds;
  return Clock::now() + std::chrono::milliseconds(milliseconds);
}

struct Probe {
  DynamixelBus bus;
  std::unique_ptr<Servos> servos;

  void sync_read(std::istream& in) {
    const auto until = deadline(in);
    std::vector<Byte> ids;
    for (int id = 0; in >> id;) ids.push_back(static_cast<Byte>(id));
    std::vector<Byte> data(4 * ids.size());
    std::vector<Answer> answers(ids.size());
    std::cout << bus.sync_read(ids, {registers::kPresentPosition.address, 4}, data, answers, until);
    std::cout << (Clock::now() < until ? " early" : " late");
    for (std::size_t i = 0; i < ids.size(); ++i)
      std::cout << ' ' << answers[i].is_new << ' ' << answers[i].alert << ' '
                << int{answers[i].error} << ' ' << integer_in(std::span(data).subspan(4 * i), 4);
  }

  void read_servos(std::istream& in) {
    std::cout << servos->read(deadline(in));
    for (const ServoReading& r : servos->readings())
      std::cout << ' ' << r.is_new << ' ' << r.is_stopped << ' ' << int{r.hardware_error} << ' '
                << r.value << ' ' << r.rate << ' ' << r.force;
  }

  void obey(const std::string& word, std::istream& in) {
    int id = 0, value = 0;
    std::string text;
    if (word == "sync_read") return sync_read(in);
    if (word == "read_servos") return read_servos(in);
    if (word == "command") {
      std::vector<double> commands;
      while (in >> text) commands.push_back(std::stod(text));
      const WriteResult result = servos->write(commands, Clock::now() + std::chrono::minutes(1));
      std::cout << result.is_sent << ' ' << result.limited;
    } else if (word == "set_up") {
      in >> text;
      servos = std::make_unique<Servos>(read_bus_file(text), bus);
      std::cout << "ok";
    } else if (word == "torque") {
      in >> text;
      text == "on" ? servos->torque_on() : servos->torque_off();
      std::cout << "ok";
    } else if (word == "dropped") {
      std::cout << bus.dropped().damaged << ' ' << bus.dropped().unexpected << ' ' << bus.is_open();
    } else if (word == "ping") {
      in >> id;
      const auto device = bus.ping(id);
      device ? std::cout << device->model_number << ' ' << device->firmware : std::cout << "none";
    } else {
      in >> id >> text >> value;
      const auto found = std::find_if(kRegisters.begin(), kRegisters.end(),
                                      [&](const Register& r) { return r.name == text; });
      word == "read" ? std::cout << bus.read(id, *found)
                     : (bus.write(id, *found, value), std::cout << "ok");
    }
  }
};

}  // namespace

int main(int, char** arguments) {
  Probe probe{.bus = {arguments[1], 1000000, std::chrono::milliseconds(std::stoi(arguments[2]))},
              .servos = {}};
  std::cout.precision(17);
  for (std::string line, word; std::getline(std::cin, line); std::cout << std::endl) {
    std::istringstream in(line);
    in >> word;
    try {
      probe.obey(word, in);
    } catch (const std::exception& error) {
      std::cout << "error: " << error.what();
    }
  }
}
