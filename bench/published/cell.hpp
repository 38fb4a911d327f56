#pragma once

#include <cstdint>
#include <memory>
#include <variant>

#include "bench/published/experiments.hpp"
#include "bench/published/record.hpp"

namespace tendril::tables {

/// One method on one row, as independent blocks of work: any thread may run any block, and the
/// result, except times, does not depend on the threads.
class Cell {
 public:
  virtual ~Cell() = default;
  [[nodiscard]] virtual std::int64_t block_count() const = 0;
  /// Thread-safe. Throws ModelError if the method refuses the row.
  virtual void run_block(std::int64_t block) = 0;
  /// Returns the result; to be called after all blocks.
  [[nodiscard]] virtual std::variant<Measurement, Coverage> result() = 0;
};

/// Data common to the methods of a row: nothing, or the Monte-Carlo part of a coverage row.
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

/// Stride of the evaluated cells of the half-plane: 1 for 50 000 samples or more; larger for fewer,
/// which would leave most cells empty.
[[nodiscard]] int coverage_stride(std::int64_t samples) noexcept;

}  // namespace tendril::tables
