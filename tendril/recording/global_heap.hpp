#pragma once

// Read first: rollout_file.hpp.

#include <cstdint>
#include <filesystem>
#include <span>

namespace tendril {

/// Whether the first `end` bytes of an HDF5 file hold no damaged global heap of texts. These heaps
/// hold attributes of variable length. They have no checksum, and HDF5 1.10 trusts their sizes: a
/// damaged one makes it read and write beyond its memory, or never end.
[[nodiscard]] bool has_sound_heaps(const std::filesystem::path& file, std::uint64_t end);

/// Whether a heap collection consists of objects one after the other, each a text without a zero
/// byte, and of free space. Source: HDF5 File Format Specification 3.0, III.E.
[[nodiscard]] bool is_sound_heap(std::span<const unsigned char> collection);

}  // namespace tendril
