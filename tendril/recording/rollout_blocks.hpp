#pragma once

// Read first: rollout_file.hpp.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tendril/recording/byte_planes.hpp"
#include "tendril/recording/rollout_file.hpp"
#include "tendril/recording/rollout_format.hpp"

namespace tendril {

/// The growing datasets of an open recording; a column is an index into format::columns.
class ColumnFile {
 public:
  virtual ~ColumnFile() = default;
  ColumnFile() = default;
  ColumnFile(const ColumnFile&) = delete;
  ColumnFile& operator=(const ColumnFile&) = delete;

  virtual void set_rows(std::size_t column, std::uint64_t rows) = 0;
  /// Puts a whole chunk that begins at `first_row` into the file as it is.
  virtual void write_chunk(std::size_t column, std::uint64_t first_row,
                           const BytePlaneEncoder::Chunk& chunk) = 0;
  /// Puts out what has been written, and then the number of complete rows.
  virtual void commit(std::int64_t rows) = 0;
};

/// Rows on their way from the step loop to the file.
class RowBlock {
 public:
  /// @param file  shown in messages
  RowBlock(std::string file, const RolloutLayout& layout);

  /// Throws RolloutError `<file>: row 3: qpos has 2 values, must have 3`.
  void append(const RolloutRow& row);
  [[nodiscard]] bool empty() const noexcept { return rows_ == 0; }
  [[nodiscard]] bool full() const noexcept { return rows_ == format::kRowsPerChunk; }
  void clear();

 private:
  friend class BlockWriter;
  std::string file_;
  std::size_t state_size_;  // of an integration state
  std::array<std::size_t, format::kFieldCount> widths_{};
  std::size_t rows_ = 0;
  std::vector<std::int64_t> step_;
  std::vector<double> time_, step_time_us_;
  std::array<std::vector<double>, format::kFieldCount> fields_;
  std::vector<std::int32_t> contact_count_;
  std::vector<ContactRow> contacts_;
  std::vector<std::size_t> integration_rows_;  // within the block
  std::vector<double> integration_;
};

/// Encodes blocks of rows, one after the other, into the chunks of a file.
class BlockWriter {
 public:
  /// `file` must outlive the writer.
  BlockWriter(const RolloutLayout& layout, ColumnFile& file);

  /// All blocks but the last are full.
  void write(RowBlock& block);

 private:
  /// The unfinished chunk of each contact dataset.
  struct ContactChunk {
    static constexpr std::size_t kSize = format::kContactsPerChunk;
    std::size_t count = 0;
    bool in_file = false;  // put out, unfiltered, by an earlier block
    std::array<std::int32_t, kSize> geom1{}, geom2{};
    std::array<double, kSize> distance{};
    std::array<std::array<double, 3>, kSize> position{}, force{};

    void add(const ContactRow& contact);
    void start_next();
  };

  void write_rows(RowBlock& block);
  void write_contacts(const RowBlock& block);
  void write_integration(const RowBlock& block);
  void put_contact_chunk();
  /// Later rows of the chunk may still be padding, and then it is kept unfiltered: its size, and so
  /// its place in the file, do not change until it is full.
  void put(std::size_t column, std::uint64_t first_row, std::span<const std::byte> bytes,
           bool compress);

  ColumnFile& file_;
  std::vector<format::Column> columns_;
  BytePlaneEncoder encoder_;
  ContactChunk contact_chunk_;
  std::vector<std::int64_t> contact_start_, integration_row_chunk_;
  std::uint64_t rows_ = 0, contacts_ = 0, integrations_ = 0;
};

}  // namespace tendril
