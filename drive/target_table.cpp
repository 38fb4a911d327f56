#include "drive/target_table.hpp"

#include <algorithm>

#include "tendril/model_error.hpp"

namespace tendril {

TargetTable::TargetTable(std::vector<Row> rows) : rows_(std::move(rows)) {
  const auto is_late = [](const Row& a, const Row& b) { return !(b.time > a.time); };
  const auto found = std::ranges::adjacent_find(rows_, is_late);
  if (found != rows_.end())
    throw ModelError("target at " + std::to_string(std::next(found)->time) +
                     " s: must be later than the one before");
}

const Eigen::Isometry3d* TargetTable::at(double time) const noexcept {
  if (rows_.empty()) return nullptr;
  const auto later = std::ranges::upper_bound(rows_, time, {}, &Row::time);
  return &(later == rows_.begin() ? later : std::prev(later))->X_BG;
}

}  // namespace tendril
