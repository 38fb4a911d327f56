#include "tendril/ik/section_map.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

#include "tendril/range.hpp"

namespace tendril {
namespace {

/// x, z and tangent of an end.
using Values = Eigen::Array3d;

Values values_of(const SectionEnd& end) { return {end.x, end.z, end.tangent}; }

/// Rows with the slopes of a cubic Hermite interpolation.
class PoseTable {
 public:
  explicit PoseTable(std::span<const SectionPose> rows) {
    nodes_.reserve(rows.size());
    for (const SectionPose& row : rows)
      nodes_.push_back({row.theta, values_of(row.end), Values::Zero()});
    const std::size_t last = nodes_.size() - 1;
    for (std::size_t i = 0; i <= last; ++i)
      nodes_[i].slope = slope_at(nodes_[i].theta, std::clamp<std::size_t>(i, 1, last - 1));
  }

  [[nodiscard]] SectionEnd end(double theta) const noexcept {
    theta = std::clamp(theta, 0.0, nodes_.back().theta);
    const auto after = std::upper_bound(nodes_.begin() + 1, nodes_.end() - 1, theta,
                                        [](double t, const Node& node) { return t < node.theta; });
    const Node &a = *(after - 1), &b = *after;
    const double h = b.theta - a.theta, t = (theta - a.theta) / h;
    const double to_b = t * t * (3.0 - 2.0 * t);
    const Values value = a.value + to_b * (b.value - a.value) +
                         h * t * (1.0 - t) * ((1.0 - t) * a.slope - t * b.slope);
    return {value[0], value[1], value[2]};
  }

 private:
  struct Node {
    double theta;
    Values value, slope;
  };

  /// Slope at `theta` of the parabola through the rows around row i.
  [[nodiscard]] Values slope_at(double theta, std::size_t i) const {
    const Node &a = nodes_[i - 1], &b = nodes_[i], &c = nodes_[i + 1];
    const Values first = (b.value - a.value) / (b.theta - a.theta);
    const Values second = (c.value - b.value) / (c.theta - b.theta);
    return first + (second - first) * (2.0 * theta - a.theta - b.theta) / (c.theta - a.theta);
  }

  std::vector<Node> nodes_;
};

void check_row(const std::string& object, const SectionPose& row) {
  require(object, "theta", row.theta, kNotNegative, "rad");
  require(object, "x", row.end.x, kFinite, "m");
  require(object, "z", row.end.z, kFinite, "m");
  require(object, "tangent", row.end.tangent, {.low = 0.0, .high = 2.0 * std::numbers::pi}, "rad");
}

void check_straight(const std::string& object, const SectionPose& row) {
  constexpr const char* kAllowed = "0: the first row is the straight section";
  if (row.theta != 0.0) refuse(object, "theta", row.theta, kAllowed, "rad");
  if (row.end.x != 0.0) refuse(object, "x", row.end.x, kAllowed, "m");
  if (row.end.tangent != 0.0) refuse(object, "tangent", row.end.tangent, kAllowed, "rad");
  require(object, "z", row.end.z, kPositive, "m");
}

void check_growth(const std::string& object, const SectionPose& before, const SectionPose& row) {
  const auto require_growth = [&](const char* field, double value, double earlier) {
    if (!(value > earlier))
      refuse(object, field, value,
             to_string(Range{.low = earlier, .open_low = true}) + ", that of the row before",
             "rad");
  };
  require_growth("theta", row.theta, before.theta);
  require_growth("chord angle", chord_angle(row.end.x, row.end.z),
                 chord_angle(before.end.x, before.end.z));
  require(object, "tangent", row.end.tangent, kPositive, "rad");
}

}  // namespace

Eigen::Isometry3d section_end_pose(const SectionEnd& end, double phi) noexcept {
  const double c = std::cos(phi), s = std::sin(phi);
  const Eigen::AngleAxisd bend(end.tangent, Eigen::Vector3d(-s, c, 0.0));
  Eigen::Isometry3d X_SE = Eigen::Isometry3d::Identity();
  X_SE.linear() = bend.toRotationMatrix();
  X_SE.translation() = Eigen::Vector3d(end.x * c, end.x * s, end.z);
  return X_SE;
}

double chord_angle(double x, double z) noexcept {
  const double angle = std::atan2(x, z);
  return angle < -std::numbers::pi / 2.0 ? angle + 2.0 * std::numbers::pi : angle;
}

SectionMap section_table(std::span<const SectionPose> rows, const std::string& name) {
  require(name, "rows", static_cast<double>(rows.size()), {.low = kFewestPoses});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string object = name + ": row " + std::to_string(i + 1);
    check_row(object, rows[i]);
    if (i == 0) {
      check_straight(object, rows[0]);
    } else {
      check_growth(object, rows[i - 1], rows[i]);
    }
  }
  const auto table = std::make_shared<const PoseTable>(rows);
  return {.forward = [table](double theta, double) { return table->end(theta); },
          .largest_bend = rows.back().theta};
}

}  // namespace tendril
