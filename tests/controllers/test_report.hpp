#pragma once

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/interface/controller.hpp"

namespace tendril::test {

/// A report with room for a controller's own quantities, as the plugin has it.
class TestReport : public ControllerReport {
 public:
  /// @param table  of the controller; must outlive the report
  explicit TestReport(std::span<const Quantity> table) : table_(table) {
    for (const Quantity& quantity : table)
      if (quantity.is_own()) values_.push_back(0.0);
    own = values_;
  }
  TestReport(const TestReport& other)
      : ControllerReport(other), table_(other.table_), values_(other.values_) {
    own = values_;
  }
  TestReport& operator=(const TestReport& other) {
    ControllerReport::operator=(other);
    table_ = other.table_;
    values_ = other.values_;
    own = values_;
    return *this;
  }

  /// Clears the report, as a controller gets it in each step.
  void clear() {
    ControllerReport::operator=({});
    std::fill(values_.begin(), values_.end(), 0.0);
    own = values_;
  }

  /// One of the controller's own quantities.
  [[nodiscard]] double operator[](std::string_view name) const {
    std::size_t index = 0;
    for (const Quantity& quantity : table_) {
      if (!quantity.is_own()) continue;
      if (name == quantity.name) return values_[index];
      ++index;
    }
    throw std::logic_error("the controller has no quantity " + std::string(name));
  }

 private:
  std::span<const Quantity> table_;
  std::vector<double> values_;
};

}  // namespace tendril::test
