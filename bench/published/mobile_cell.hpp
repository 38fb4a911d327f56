#pragma once

#include <cstdint>
#include <memory>

#include "bench/published/cell.hpp"

namespace tendril::tables {

/// One method on targets of the youBot. Methods: those of the table `mobile`. `row` outlives
/// the cell. A block of another method throws ModelError.
[[nodiscard]] std::unique_ptr<Cell> make_mobile_cell(const MobileRow& row, const Method& method,
                                                     std::uint64_t seed, std::int64_t samples);

}  // namespace tendril::tables
