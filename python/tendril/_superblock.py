"""The first bytes of an HDF5 file (format specification, II.A, version 3): is it whole, is it open for writing."""

from __future__ import annotations

from pathlib import Path

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_SIZE = 48  # with addresses of 8 bytes
_MASK = 0xFFFFFFFF
_WRITTEN = 0x5  # open for writing, or by a writer with readers


def is_open_for_writing(file: Path) -> bool:
    """Tells whether a writer has the file open, or was killed with it open.

    Throws OSError for a file whose first block is damaged, or that is shorter than this says: HDF5 would try to read
    it a hundred times, waiting for its writer.
    """
    with file.open("rb") as stream:
        block = stream.read(_SIZE)
        size = stream.seek(0, 2)
    if len(block) < _SIZE or block[:8] != _SIGNATURE or block[8] != 3 or block[9] != 8:
        raise OSError("the superblock is damaged or of another version")
    if _lookup3(block[:44]) != int.from_bytes(block[44:], "little"):
        raise OSError("the superblock is damaged: its checksum differs")
    end = int.from_bytes(block[28:36], "little")
    if size < end:
        raise OSError(f"is truncated: has {size} of {end} bytes")
    return bool(block[11] & _WRITTEN)


def _rotated(x: int, k: int) -> int:
    return ((x << k) | (x >> (32 - k))) & _MASK


def _lookup3(data: bytes) -> int:
    """Jenkins' hash as HDF5 has it (H5_checksum_lookup3), of at least one byte."""
    words = [
        int.from_bytes(data[at : at + 4].ljust(4, b"\0"), "little") for at in range(0, len(data) + -len(data) % 12, 4)
    ]
    a = b = c = (0xDEADBEEF + len(data)) & _MASK
    for at in range(0, len(words), 3):
        a, b, c = ((x + word) & _MASK for x, word in zip((a, b, c), words[at : at + 3], strict=True))
        if at + 3 == len(words):
            break
        for k in (4, 6, 8, 16, 19, 4):
            # a -= c; a ^= rot(c, k); c += b, and so on around
            a = ((a - c) & _MASK) ^ _rotated(c, k)
            c = (c + b) & _MASK
            a, b, c = b, c, a
    for k in (14, 11, 25, 16, 4, 14, 24):
        # c ^= b; c -= rot(b, k), and so on around
        c = ((c ^ b) - _rotated(b, k)) & _MASK
        a, b, c = b, c, a
    return b
