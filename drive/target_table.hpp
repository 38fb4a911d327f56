#pragma once

#include <Eigen/Geometry>
#include <vector>

namespace tendril {

/// Targets in the frame of the base over time. Each holds until the next, the first also before.
class TargetTable {
 public:
  struct Row {
    double time = 0.0;  ///< [s], of the loop
    Eigen::Isometry3d X_BG = Eigen::Isometry3d::Identity();
  };
  TargetTable() = default;
  /// Throws ModelError for a row that is not later than the one before.
  explicit TargetTable(std::vector<Row> rows);

  [[nodiscard]] const std::vector<Row>& rows() const noexcept { return rows_; }
  /// Null: there is none.
  [[nodiscard]] const Eigen::Isometry3d* at(double time) const noexcept;

 private:
  std::vector<Row> rows_;
};

}  // namespace tendril
