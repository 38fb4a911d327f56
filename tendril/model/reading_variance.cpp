#include "tendril/model/reading_variance.hpp"

namespace tendril {

double reading_variance(const EngineSensor& sensor) {
  double sum = 0.0;
  for (const Fault& fault : sensor.imperfections) {
    const auto& kind = fault.of_measurement()->kind;
    constexpr double kUniform = 1.0 / 12.0;  // variance of a uniform distribution of width 1
    if (const auto* const noise = std::get_if<fault::Noise>(&kind);
        noise != nullptr && noise->correlation_time == 0.0)
      sum += noise->sigma.front() * noise->sigma.front();
    if (const auto* const steps = std::get_if<fault::Quantize>(&kind))
      sum += kUniform * steps->step.front() * steps->step.front();
    if (const auto* const backlash = std::get_if<fault::Backlash>(&kind))
      sum += kUniform * backlash->width.front() * backlash->width.front();
  }
  return sum;
}

double reading_bias(const EngineSensor& sensor) {
  for (const Fault& fault : sensor.imperfections) {
    const auto* const noise = std::get_if<fault::Noise>(&fault.of_measurement()->kind);
    if (noise != nullptr && noise->correlation_time > 0.0) return noise->sigma.front();
  }
  return 0.0;
}

}  // namespace tendril
