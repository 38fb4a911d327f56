#include <nanobind/stl/filesystem.h>

#include <filesystem>
#include <memory>
#include <string>

#include "python/src/driver.hpp"
#include "python/src/sim.hpp"
#include "simulation/drive/drive_recorder.hpp"

namespace tendril::python {
namespace {

class DriveLog final : public StepLog {
 public:
  DriveLog(const std::filesystem::path& robot, const std::filesystem::path& file,
           const DriveLoop& loop, const simulation::DriverSettings& settings)
      : recorder_(robot, file, "td.Driver", "", loop, settings) {}

  void take(const LoopStep& step) override {
    recorder_.wait_for_room();
    recorder_.take(step);
  }
  std::string close(const std::string& outcome) override { return recorder_.close(outcome); }

 private:
  simulation::DriveRecorder recorder_;
};

}  // namespace

void bind_drive_log(nb::module_& module) {
  module.def("_use_log", [](const nb::capsule& capsule, const std::filesystem::path& file) {
    mujoco();
    auto& driver = *static_cast<PyDriver*>(capsule.data());
    driver.use_log(std::make_unique<DriveLog>(
        driver.file(), file, driver.loop(),
        simulation::DriverSettings{.robot = driver.loop().driver().text(),
                                   .driver = driver.options(),
                                   .safety = driver.safety()}));
  });
}

}  // namespace tendril::python
