// A controller library that fails at 0.1 s: the programs must say so and not let the run pass.
#include <limits>
#include <stdexcept>

#include "plugin/controller_plugin.hpp"

namespace {

using namespace tendril;

class FailingController final : public ArmController {
 public:
  enum class Failure { Exception, NotFinite };

  static std::span<const SettingInfo> settings() {
    static constexpr SettingInfo kSettings[] = {
        setting::choice("failure", "exception nan", "what happens at 0.1 s")};
    return kSettings;
  }
  static constexpr Quantity kQuantities[] = {quantity::kTipError};

  explicit FailingController(const ArmContext& context)
      : failure_(context.settings.choice<Failure>("failure")) {}

  void update(const ArmMeasurement& measurement, std::span<const double> /*memory*/,
              std::span<double> /*next_memory*/, ArmCommand& command,
              ControllerReport& report) override {
    report.tip_error = 0.0;
    if (measurement.time < 0.1) return;
    if (failure_ == Failure::Exception) throw std::runtime_error("boom");
    command.q[0] = std::numeric_limits<double>::quiet_NaN();
  }

 private:
  Failure failure_;
};

}  // namespace

mjPLUGIN_LIB_INIT(failing_controller) {
  tendril::register_controller<FailingController>("test.failing", "fails at 0.1 s");
}
