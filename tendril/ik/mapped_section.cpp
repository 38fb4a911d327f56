#include "tendril/ik/mapped_section.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>
#include <utility>

#include "tendril/ik/false_position.hpp"
#include "tendril/model_error.hpp"
#include "tendril/range.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

constexpr int kSamples = 64;         // intervals of the bend's range
constexpr double kRounding = 1e-9;   // [m], [rad]: of a straight section, and ratio of limits
constexpr double kSmallBend = 1e-4;  // ratio of the limit at which alpha/tangent is its limit
constexpr double kNoTangent = 1e-6;  // [rad], below it links are those of the limit

bool is_finite(const SectionBend& bend) noexcept {
  return std::isfinite(bend.theta) && std::isfinite(bend.extension);
}

std::string section_name(int index) { return "section " + std::to_string(index); }

/// `section 2: forward(0.3, 0)`
std::string sample_name(int index, double theta, double extension) {
  std::ostringstream text;
  text << section_name(index) << ": forward(" << theta << ", " << extension << ')';
  return text.str();
}

}  // namespace

MappedSection::MappedSection(const Section& section, SectionMap map, int index)
    : section_(section), map_(std::move(map)), index_(index) {
  const double limit = section.bend_angle_limit();
  if (!(limit <= map_.largest_bend * (1.0 + kRounding)))
    refuse(section_name(index), "bend limit", limit,
           to_string(Range{.high = map_.largest_bend}) + ", the largest bend of its map", "rad");
  if (!map_.inverse && section.is_extensible())
    throw ModelError(section_name(index) +
                     ": inverse: is missing, must be given for a section of variable length");
  for (int k = 0; k <= kSamples; ++k) {
    const double part = static_cast<double>(k) / kSamples;
    check_sample(part * limit, part * section.variable_length());
  }
  const SectionEnd small = map_.forward(kSmallBend * limit, section.variable_length());
  small_bend_chord_ratio_ = chord_angle(small.x, small.z) / small.tangent;
  if (!map_.inverse) sample_chord_angles();
}

void MappedSection::check_sample(double theta, double extension) const {
  const SectionEnd end = map_.forward(theta, extension);
  const std::string object = sample_name(index_, theta, extension);
  require(object, "x", end.x, kFinite, "m");
  require(object, "z", end.z, kFinite, "m");
  if (theta > 0.0) {
    require(object, "tangent", end.tangent,
            {.low = 0.0, .high = 2.0 * std::numbers::pi, .open_low = true}, "rad");
    return;
  }
  constexpr const char* kAllowed = "0: a section is straight at bend 0";
  if (!(std::abs(end.x) <= kRounding)) refuse(object, "x", end.x, kAllowed, "m");
  if (!(std::abs(end.tangent) <= kRounding))
    refuse(object, "tangent", end.tangent, kAllowed, "rad");
}

void MappedSection::sample_chord_angles() {
  for (int k = 0; k <= kSamples; ++k) {
    const double theta = section_.bend_angle_limit() * k / kSamples;
    const SectionEnd end = map_.forward(theta, 0.0);
    const double alpha = chord_angle(end.x, end.z);
    if (k > 0 && !(alpha > chord_angles_.back()))
      refuse(sample_name(index_, theta, 0.0), "chord angle", alpha,
             to_string(Range{.low = chord_angles_.back(), .open_low = true}) +
                 ", that of a smaller bend: give an inverse, or a smaller bend limit",
             "rad");
    chord_angles_.push_back(alpha);
  }
}

SectionBend MappedSection::reach(double rho, double z, const SectionBend& from) const noexcept {
  if (!map_.inverse) return {bend_with_chord_angle(chord_angle(rho, z)), 0.0};
  const SectionBend found = map_.inverse(rho, z);
  if (!is_finite(found)) return from;
  const double extension = std::clamp(found.extension, 0.0, section_.variable_length());
  return {std::clamp(found.theta, 0.0, section_.bend_angle_limit_at(extension)), extension};
}

/// The bend whose chord angle is alpha, by false position between two samples; the limit
/// where alpha is larger.
double MappedSection::bend_with_chord_angle(double alpha) const noexcept {
  if (alpha >= chord_angles_.back()) return section_.bend_angle_limit();
  const auto above = std::upper_bound(chord_angles_.begin() + 1, chord_angles_.end() - 1, alpha);
  const double step = section_.bend_angle_limit() / kSamples;
  const double b = step * static_cast<double>(above - chord_angles_.begin()), a = b - step;
  const double f_a = *(above - 1) - alpha, f_b = *above - alpha;
  if (f_a >= 0.0) return a;
  const auto excess = [&](double theta) {
    const SectionEnd end = map_.forward(theta, 0.0);
    return chord_angle(end.x, end.z) - alpha;
  };
  return false_position(excess, a, f_a, b, f_b);
}

TangentLinks MappedSection::links(const SectionEnd& end) const noexcept {
  const double C = hypotenuse(end.x, end.z);
  if (end.tangent < kNoTangent)
    return {C * (1.0 - small_bend_chord_ratio_), C * small_bend_chord_ratio_};
  if (end.tangent <= kLargestLinkBend) {
    const double second = end.x / std::sin(end.tangent);
    return {end.z - second * std::cos(end.tangent), second};
  }
  const double alpha = chord_angle(end.x, end.z) * kLargestLinkBend / end.tangent;
  const double sine = std::sin(kLargestLinkBend);
  return {C * std::sin(kLargestLinkBend - alpha) / sine, C * std::sin(alpha) / sine};
}

}  // namespace tendril
