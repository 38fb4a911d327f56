#pragma once

#include <cstdint>
#include <memory>
#include <variant>

#include "bench/published/experiments.hpp"
#include "bench/published/record.hpp"

namespace tendril::tables {

/// One method on one row, as independent blocks of work: any thread may run any block, and the
/// result does not depend on which thread ran what, times apart.
class Cell {
 public:
  virtual ~Cell() = default;
  [[nodiscard]] virtual std::int64_t block_count() const = 0;
  /// Thread-safe. Throws ModelError when the method refuses the row.
  virtual void run_block(std::int64_t block) = 0;
  /// After all blocks.
  [[nodiscard]] virtual std::variant<Measurement, Coverage> result() = 0;
};

/// What the methods of a row share: nothing, or the Monte-Carlo side of a coverage row.
class SharedRow;
[[nodiscard]] std::shared_ptr<SharedRow> share_row(const Row& row, std::int64_t samples);

/// `row` outlives the cell.
[[nodiscard]] std::unique_ptr<Cell> make_cell(const Row& row, const Method& method,
                                              std::int64_t samples,
                                              const std::shared_ptr<SharedRow>& shared);

/// Targets `first` to `first + targets.size()` of a row; `first` is a multiple of kBlock. Those of
/// a small sample are the first ones of a large one.
inline constexpr std::int64_t kBlock = 128;
void draw_targets(const TipProblem& problem, std::uint64_t seed, std::int64_t first,
                  std::span<TipTarget> targets);

/// Every so many cells of the half-plane are looked at: all with 50 000 samples and more, fewer
/// with fewer, as the samples would leave most of them empty.
[[nodiscard]] int coverage_stride(std::int64_t samples) noexcept;

}  // namespace tendril::tables
