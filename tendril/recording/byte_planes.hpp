#pragma once

// Read first: rollout_file.hpp.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tendril {

/// Compresses the chunks of a dataset into what HDF5's own filters `shuffle` + `deflate` undo, at a
/// twentieth of the time that those filters take.
///
/// Shuffle sorts a chunk into planes, one per byte of the number. The low mantissa bytes of
/// simulated quantities are noise, on which deflate spends its time for nothing; the top bytes
/// mostly repeat those of the row before. So the stream holds noisy planes as *stored* blocks, at
/// the speed of a copy, and the others as blocks of the fixed Huffman code whose only matches reach
/// back by exactly one row. The stream ends with a checksum, so that damage is noticed in noise
/// too. Source: RFC 1950 (zlib stream), RFC 1951 (deflate).
class BytePlaneEncoder {
 public:
  struct Chunk {
    std::span<const std::byte> bytes;  ///< valid until the next `encode`, or a view of the input
    std::uint32_t filter_mask = 0;     ///< bit i set: the dataset's filter i was not applied
  };

  /// The `filter_mask` of a chunk stored as it is: filters 0 (shuffle) and 1 (deflate) masked out.
  static constexpr std::uint32_t kUnfiltered = 3;

  /// @param raw           whole rows of numbers, little endian, row by row, not empty
  /// @param row_elements  numbers in a row, > 0
  /// @param element_size  bytes of a number, 4 or 8
  /// Tested by: byte_planes_test.
  Chunk encode(std::span<const std::byte> raw, std::size_t row_elements, std::size_t element_size);

 private:
  std::vector<unsigned char> planes_;
  std::vector<unsigned char> encoded_;
};

}  // namespace tendril
