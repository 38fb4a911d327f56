#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tendril/recording/rollout_file.hpp"

namespace tendril::simulation {

/// Rows first … last of a recording.
struct RowRange {
  std::int64_t first = 0, last = 0;
};

/// "rows 0 to 255, 512 to 600", or "no rows"
[[nodiscard]] std::string to_string(const std::vector<RowRange>& ranges);

/// Result of reading a whole recording.
struct Verification {
  std::int64_t rows = 0;
  std::vector<RowRange> damaged;  ///< blocks of rows that cannot be read, in order
  std::string reason;             ///< of the first of them; else of the model, if that is damaged

  [[nodiscard]] bool whole() const noexcept { return reason.empty(); }
};

/// Called after every block with the number of rows that have been read.
using RowsRead = std::function<void(std::int64_t rows)>;

/// Reads every block of every dataset.
[[nodiscard]] Verification verify_recording(RolloutReader& reader,
                                            const RowsRead& on_progress = nullptr);

struct Recovery {
  std::int64_t rows = 0;       ///< that the damaged recording counts
  std::vector<RowRange> kept;  ///< of them
  std::int64_t kept_rows = 0;
  bool has_model = true;
  bool was_finished = true;
};

/// Writes what is readable of a recording to a new one: the rows of all blocks in which nothing is
/// damaged, and everything that describes the run. `out` appears when it is complete; an earlier
/// file is replaced. Throws ModelError if both are the same file, RolloutError. Tested by:
/// rollout_command_test.
Recovery recover_recording(const std::filesystem::path& file, const std::filesystem::path& out);

/// Refuses to write a file over the one that is read. Throws ModelError.
void refuse_same_file(const std::filesystem::path& file, const std::filesystem::path& out);

}  // namespace tendril::simulation
