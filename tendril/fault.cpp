#include "tendril/fault.hpp"

namespace tendril {
namespace {

/// The strength of a kind, empty if it has none.
struct StrengthOf {
  using Numbers = std::vector<double>;
  const Numbers& operator()(const fault::Noise& noise) const { return noise.sigma; }
  const Numbers& operator()(const fault::Bias& bias) const { return bias.value; }
  const Numbers& operator()(const fault::Scale& scale) const { return scale.factor; }
  const Numbers& operator()(const fault::Drift& drift) const { return drift.rate; }
  const Numbers& operator()(const fault::Backlash& backlash) const { return backlash.width; }
  const Numbers& operator()(const fault::Quantize& quantize) const { return quantize.step; }
  template <class Other>
  const Numbers& operator()(const Other& /*none*/) const {
    static const Numbers none;
    return none;
  }
};

}  // namespace

const std::vector<double>& fault::OfMeasurement::strength() const noexcept {
  return std::visit(StrengthOf{}, kind);
}

}  // namespace tendril
