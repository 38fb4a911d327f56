#include "controllers/interface/measurement_faults.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "tendril/kinematics/rotation.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

/// Steps of `time` [s], to the nearest.
double steps_of(double time, double timestep) { return std::round(time / timestep); }

/// Counter of the first draw of a step.
std::uint64_t first_draw(int step) noexcept {
  constexpr std::uint64_t kDrawsPerStep = 65536;
  return kDrawsPerStep * static_cast<std::uint64_t>(step);
}

}  // namespace

/// Lays out the memory of a fault.
struct MeasurementFaults::Adder {
  MemoryLayout& layout;
  Entry& entry;
  std::size_t width;
  double timestep;

  [[noreturn]] void refuse(const std::string& what) const {
    throw ModelError(entry.fault.origin + ": fault " + entry.fault.name + ": " + what);
  }
  void remember(double samples) const {
    const double numbers = samples * static_cast<double>(width);
    if (!(numbers <= static_cast<double>(kMaxMemory))) {
      refuse("would have to remember " + std::to_string(numbers) + " numbers: must be at most " +
             std::to_string(kMaxMemory));
    }
    entry.sample = layout.numbers(static_cast<std::size_t>(numbers));
  }
  [[nodiscard]] int whole_steps(double time) const {
    return static_cast<int>(std::clamp(steps_of(time, timestep), 1.0, 2e9));
  }

  void operator()(const fault::Noise& noise) const {
    if (!(noise.correlation_time > 0.0)) return;
    entry.keep = std::exp(-timestep / noise.correlation_time);
    entry.renew = std::sqrt(1.0 - entry.keep * entry.keep);
    entry.began = layout.flag();
    remember(1);
  }
  void operator()(const fault::Backlash& /*backlash*/) const {
    entry.began = layout.flag();
    remember(1);
  }
  void operator()(const fault::Rate& rate) const {
    entry.steps = whole_steps(rate.period);
    remember(1);
  }
  void operator()(const fault::Dropout& dropout) const {
    entry.steps = whole_steps(dropout.duration);
    entry.interval = whole_steps(dropout.interval);
    entry.remaining = layout.counter();
    remember(1);
  }
  void operator()(const fault::Freeze& /*freeze*/) const { remember(1); }
  void operator()(const fault::Delay& delay) const {
    remember(steps_of(delay.time, timestep));
    entry.steps = static_cast<int>(steps_of(delay.time, timestep));
  }
  /// The others act on the value of the step alone.
  template <class Other>
  void operator()(const Other& /*kind*/) const {}
};

/// Effect of a fault on the numbers of its channel in one step.
struct MeasurementFaults::Effect {
  const Entry& entry;
  const Step& step;
  std::span<double> x;
  bool active;
  bool differs = false;

  void see(std::size_t i, double value) noexcept {
    differs |= value != x[i];
    x[i] = value;
  }
  void see_all(std::span<const double> values) noexcept {
    for (std::size_t i = 0; i < x.size(); ++i) see(i, values[i]);
  }
  void remember() const noexcept { std::copy(x.begin(), x.end(), entry.sample(step.next).begin()); }

  void operator()(const fault::Noise& /*noise*/) noexcept {
    if (!active) return;
    const std::uint64_t first = first_draw(step.number);
    const bool is_white = entry.keep == 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (entry.strength[i] == 0.0) continue;
      double noise = entry.strength[i] * entry.draws.normal(first + RandomDraws::kPerNormal * i);
      if (!is_white) {
        if (entry.began(step.memory))
          noise = entry.keep * entry.sample(step.memory)[i] + entry.renew * noise;
        entry.sample(step.next)[i] = noise;
      }
      see(i, x[i] + noise);
    }
    if (!is_white) entry.began(step.next) = true;
  }
  void operator()(const fault::Bias& /*bias*/) noexcept {
    for (std::size_t i = 0; active && i < x.size(); ++i)
      if (entry.strength[i] != 0.0) see(i, x[i] + entry.strength[i]);
  }
  void operator()(const fault::Scale& /*scale*/) noexcept {
    for (std::size_t i = 0; active && i < x.size(); ++i) see(i, entry.strength[i] * x[i]);
  }
  void operator()(const fault::Drift& /*drift*/) noexcept {
    for (std::size_t i = 0; active && i < x.size(); ++i)
      if (entry.strength[i] != 0.0)
        see(i, x[i] + entry.strength[i] * (step.time - entry.fault.start));
  }
  void operator()(const fault::Backlash& /*backlash*/) noexcept {
    const bool began = entry.began(step.memory);
    for (std::size_t i = 0; active && i < x.size(); ++i) {
      const double half = entry.strength[i] / 2.0;
      if (began) see(i, std::clamp(entry.sample(step.memory)[i], x[i] - half, x[i] + half));
    }
    entry.began(step.next) = active;
    remember();
  }
  void operator()(const fault::Quantize& /*quantize*/) noexcept {
    for (std::size_t i = 0; active && i < x.size(); ++i)
      if (entry.strength[i] != 0.0)
        see(i, entry.strength[i] * std::floor(x[i] / entry.strength[i] + 0.5));
  }
  void operator()(const fault::Rate& /*rate*/) noexcept {
    if (step.number % entry.steps == 0)
      remember();
    else if (active)
      see_all(entry.sample(step.memory));
  }
  void operator()(const fault::Dropout& dropout) noexcept {
    if (step.number == 0) remember();
    if (!drops_out(entry, step)) {
      remember();
      return;
    }
    const std::span<const double> held = entry.sample(std::span<const double>(step.next));
    for (std::size_t i = 0; i < x.size(); ++i) see(i, dropout.gives_zero ? 0.0 : held[i]);
  }
  void operator()(const fault::Freeze& /*freeze*/) noexcept {
    if (step.time < entry.fault.start || step.number == 0)
      remember();
    else if (active)
      see_all(entry.sample(step.memory));
  }
  void operator()(const fault::Delay& /*delay*/) noexcept {
    if (entry.steps == 0) return;
    const std::size_t offset = static_cast<std::size_t>(step.number % entry.steps) * x.size();
    const std::size_t old = step.number < entry.steps ? 0 : offset;
    const std::span<const double> before = entry.sample(step.memory);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double now = x[i];
      if (active && step.number > 0) see(i, before[old + i]);
      entry.sample(step.next)[offset + i] = now;
    }
  }
};

void MeasurementFaults::add(const Fault& fault, std::size_t width, double timestep,
                            std::uint64_t seed, bool stamp) {
  const fault::OfMeasurement& seen = *fault.of_measurement();
  Entry entry{
      .fault = fault, .channel = seen.channel, .draws = RandomDraws(seed, "fault." + fault.name)};
  const Adder adder{layout_, entry, width, timestep};
  const std::vector<double>& strength = seen.strength();
  entry.strength = strength;
  if (strength.size() == 1) entry.strength.assign(width, strength.front());
  if (stamp && !strength.empty())
    entry.strength.back() = std::holds_alternative<fault::Scale>(seen.kind) ? 1.0 : 0.0;
  if (!strength.empty() && entry.strength.size() != width) {
    adder.refuse("has a list of " + std::to_string(strength.size()) + " numbers: must have 1 or " +
                 std::to_string(width) + ", as many as the channel");
  }
  std::visit(adder, seen.kind);
  faults_.push_back(std::move(entry));
}

void MeasurementFaults::sort() {
  const auto stage = [](const Entry& entry) {
    constexpr std::size_t kLastOfValue = 4;  // Backlash
    static_assert(std::is_same_v<
                  std::variant_alternative_t<kLastOfValue, decltype(fault::OfMeasurement::kind)>,
                  fault::Backlash>);
    const std::size_t kind = entry.fault.of_measurement()->kind.index();
    return kind <= kLastOfValue ? 0 : kind;
  };
  std::stable_sort(faults_.begin(), faults_.end(), [&](const Entry& a, const Entry& b) {
    return std::pair(a.channel, stage(a)) < std::pair(b.channel, stage(b));
  });
}

bool MeasurementFaults::drops_out(const Entry& entry, const Step& step) noexcept {
  int left = 0;
  if (entry.fault.is_active(step.time)) {
    left = entry.remaining(step.memory);
    const std::uint64_t last = first_draw(step.number + 1) - 1;
    const auto* const dropout = std::get_if<fault::Dropout>(&entry.fault.of_measurement()->kind);
    if (left == 0 && dropout != nullptr && step.number % entry.interval == 0 &&
        entry.draws.uniform(last) < dropout->probability)
      left = entry.steps;
  }
  entry.remaining(step.next) = std::max(0, left - 1);
  return left > 0;
}

bool MeasurementFaults::apply(const Entry& entry, const Step& step, std::span<double> x) noexcept {
  Effect effect{entry, step, x, entry.fault.is_active(step.time)};
  std::visit(effect, entry.fault.of_measurement()->kind);
  return effect.differs;
}

bool MeasurementFaults::apply(const Entry& entry, const Step& step, Eigen::Isometry3d& X) noexcept {
  Eigen::Vector3d vector = rotation_vector(X.linear());
  if (!apply(entry, step, std::span<double>(vector.data(), 3))) return false;
  X.linear() = rotation_by(vector);
  return true;
}

}  // namespace tendril
