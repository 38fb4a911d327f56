#include "controllers/interface/controller.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace tendril {

double Quantity::of(const ControllerReport& report) const noexcept {
  switch (field) {
    case Field::Status:
      return static_cast<double>(report.status);
    case Field::Iterations:
      return static_cast<double>(report.iterations);
    case Field::TipError:
      return report.tip_error;
    case Field::AngleError:
      return report.angle_error;
    case Field::Progress:
      return report.progress;
    case Field::ReportedTipError:
      return report.reported_tip_error;
    case Field::ReportedAngleError:
      return report.reported_angle_error;
    case Field::Own:
      break;
  }
  return kUnknown;
}

std::vector<Quantity> joined_quantities(std::initializer_list<std::span<const Quantity>> tables) {
  std::vector<Quantity> all;
  for (const std::span<const Quantity> table : tables) {
    std::vector<std::string_view> own;  // of the table, in its order
    for (const Quantity& row : table) {
      if (row.is_own()) own.emplace_back(row.name);
      const bool known = std::any_of(all.begin(), all.end(), [&](const Quantity& other) {
        return std::string_view(row.name) == other.name;
      });
      if (!known) all.push_back(row);
    }
    std::size_t next = 0;
    for (const Quantity& row : all) {
      if (!row.is_own() || next == own.size()) continue;
      if (row.name != own[next++])
        throw std::logic_error("quantity " + std::string(row.name) +
                               ": must have the same index in all tables");
    }
  }
  return all;
}

}  // namespace tendril
