#include "tendril/ik/section_reach.hpp"

#include <algorithm>
#include <cmath>

#include "tendril/kinematics/tangent_links.hpp"

namespace tendril {
namespace {

constexpr double kStraight = 1e-12;  // [rad], below it an arc is as long as its chord

}  // namespace

SectionReach::SectionReach(const Section& section, SectionSolve method,
                           const SectionIkOptions& options, const SectionMap& map, int index)
    : section_(section), shape_(section), method_(method), options_(options) {
  if (map.is_given()) {
    mapped_.emplace(section, map, index);
  } else if (method == SectionSolve::Polynomial) {
    polynomial_.emplace(shape_);
  }
}

PlacedSection SectionReach::place(const SectionBend& bend) const noexcept {
  if (mapped_) return placed(bend, mapped_->end(bend.theta, bend.extension));
  return placed(bend, shape_.end(bend.theta));
}

PlacedSection SectionReach::reach(double rho, double z, const SectionBend& from) const noexcept {
  if (mapped_) return place(mapped_->reach(rho, z, from));
  if (shape_.is_single_arc() && !(options_.feed_limit > 0.0)) return reach_with_arc(rho, z);
  const SectionIkResult solution = solve(rho, z, from.theta);
  PlacedSection section = placed({solution.theta, solution.extension}, solution.end);
  section.feed = solution.feed;
  return section;
}

SectionIkResult SectionReach::solve(double rho, double z, double theta_from) const noexcept {
  const bool is_fed = options_.feed_limit > 0.0;
  if (method_ == SectionSolve::Iterative) return solve_section_iterative(shape_, rho, z, options_);
  if (is_fed) return solve_section_with_feed(shape_, rho, z, options_);
  if (polynomial_) return polynomial_->solve(rho, z, options_);
  return solve_section_newton(shape_, rho, z, options_, theta_from);
}

/// One arc in closed form: theta = 2 alpha. Sine and cosine of theta/2 are the target's direction
/// itself.
PlacedSection SectionReach::reach_with_arc(double rho, double z) const noexcept {
  const double n = std::sqrt(rho * rho + z * z);
  double theta = 2.0 * std::atan2(rho, z);
  double cos_half = n > 0.0 ? z / n : 1.0, sin_half = n > 0.0 ? rho / n : 0.0;
  const auto bend_by = [&](double angle) {
    theta = angle;
    cos_half = std::cos(angle / 2.0);
    sin_half = std::sin(angle / 2.0);
  };
  const auto chord_ratio = [&] { return theta < kStraight ? 1.0 : sin_half / (theta / 2.0); };

  double extension = 0.0;
  if (shape_.is_extensible()) {
    if (theta > shape_.bend_angle_limit()) bend_by(shape_.bend_angle_limit());
    const double c = chord_ratio();
    extension = c > 0.0 ? std::clamp(n / c - shape_.length(), 0.0, shape_.variable_length())
                        : shape_.variable_length();
  }
  const double limit = shape_.bend_angle_limit_at(extension);
  if (theta > limit) bend_by(limit);

  const double C = (shape_.length() + extension) * chord_ratio();
  const double cos_quarter = theta > kLargestLinkBend ? std::cos(kLargestLinkBend / 2.0) : cos_half;
  const double link = C / (2.0 * cos_quarter);  // (2.31), (2.32) for alpha = theta/2
  return {.bend = {theta, extension},
          .x = C * sin_half,
          .z = C * cos_half,
          .cos_tangent = (cos_half - sin_half) * (cos_half + sin_half),
          .sin_tangent = 2.0 * sin_half * cos_half,
          .first = link,
          .second = link};
}

PlacedSection SectionReach::placed(const SectionBend& bend,
                                   const SectionShape::End& end) const noexcept {
  const double S = shape_.length() + bend.extension;
  PlacedSection section{.bend = bend,
                        .x = S * end.x,
                        .z = S * end.z,
                        .cos_tangent = end.cos_theta,
                        .sin_tangent = end.sin_theta,
                        .first = 0.0,
                        .second = 0.0};
  if (bend.theta >= kStraight && bend.theta <= kLargestLinkBend) {
    section.second = section.x / section.sin_tangent;  // `tangent_links` with the sine at hand
    section.first = section.z - section.second * section.cos_tangent;
  } else {
    const TangentLinks links = tangent_links(section_, bend.theta, S, {end.x, end.z});
    section.first = links.first;
    section.second = links.second;
  }
  return section;
}

PlacedSection SectionReach::placed(const SectionBend& bend, const SectionEnd& end) const noexcept {
  const TangentLinks links = mapped_->links(end);
  return {.bend = bend,
          .x = end.x,
          .z = end.z,
          .cos_tangent = std::cos(end.tangent),
          .sin_tangent = std::sin(end.tangent),
          .first = links.first,
          .second = links.second};
}

Eigen::Isometry3d SectionReach::end_pose(const SectionState& state) const noexcept {
  if (!mapped_) return section_end_pose(section_, state);
  return section_end_pose(mapped_->end(state.theta, state.extension), state.phi);
}

double SectionReach::largest_turn(double extension) const noexcept {
  const double limit = section_.bend_angle_limit_at(extension);
  return mapped_ ? mapped_->end(limit, extension).tangent : limit;
}

}  // namespace tendril
