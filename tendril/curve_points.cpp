#include "tendril/curve_points.hpp"

#include <cstdio>
#include <string>

#include "tendril/model_error.hpp"
#include "tendril/range.hpp"

namespace tendril {
namespace {

constexpr double kApart = 1e-9;  // [m], nearer points count as one

}  // namespace

void check_curve_points(std::span<const Eigen::Vector3d> points, std::string_view curve,
                        std::string_view name) {
  require(curve, "number of " + std::string(name) + "s", static_cast<double>(points.size()),
          {.low = 2.0});
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Eigen::Vector3d& p = points[i];
    const bool finite = p.allFinite();
    if (finite && (i == 0 || (p - points[i - 1]).norm() > kApart)) continue;
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, ": (%.9g, %.9g, %.9g) m, must ", p.x(), p.y(), p.z());
    const std::string called(name);
    throw ModelError(std::string(curve) + ": " + called + " " + std::to_string(i + 1) + numbers +
                     (finite ? "lie apart from " + called + " " + std::to_string(i) : "be finite"));
  }
}

}  // namespace tendril
