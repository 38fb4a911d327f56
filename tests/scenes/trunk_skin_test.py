#!/usr/bin/env python3
"""The skin of scenes/trunk is that of its program, closed, and just around the body of its robot file."""

import collections
import math
import pathlib
import struct
import subprocess
import sys
import tomllib
import unittest

SCENE = pathlib.Path(__file__).resolve().parents[2] / "scenes/trunk"
THINNEST, THICKEST = 0.0, 0.0042  # between body and skin [m]; a wrinkle is 4 mm deep


def triangles(data):
    (count,) = struct.unpack_from("<I", data, 80)
    assert len(data) == 84 + 50 * count
    for k in range(count):
        numbers = struct.unpack_from("<12f", data, 84 + 50 * k)
        yield [tuple(numbers[3 + 3 * i : 6 + 3 * i]) for i in range(3)]


class TrunkSkin(unittest.TestCase):
    def setUp(self):
        self.data = (SCENE / "trunk.stl").read_bytes()

    def test_it_is_what_its_program_writes(self):
        written = subprocess.run([sys.executable, SCENE / "skin"], capture_output=True, check=True).stdout
        self.assertEqual(written, self.data)

    def test_it_is_open_only_at_the_base_and_turned_outwards(self):
        edges = collections.Counter()
        volume = 0.0
        for a, b, c in triangles(self.data):
            edges.update([(a, b), (b, c), (c, a)])
            volume += sum(a[i] * (b[(i + 1) % 3] * c[(i + 2) % 3] - b[(i + 2) % 3] * c[(i + 1) % 3]) for i in range(3))
        self.assertGreater(volume, 0.0)
        for (a, b), count in edges.items():
            self.assertEqual(count, 1)
            if (b, a) not in edges:
                self.assertEqual((a[2], b[2]), (0.0, 0.0))

    def test_it_is_around_the_body(self):
        sections = tomllib.loads((SCENE / "arm.toml").read_text())["section"]
        whole = sum(section["constant_length"] for section in sections)
        for corner in {corner for face in triangles(self.data) for corner in face}:
            start = 0.0
            for section in sections:
                length, (at_start, at_end) = section["constant_length"], section["radius"]
                fraction = (corner[2] - start) / length
                if -1e-6 <= fraction <= 1 + 1e-6:
                    gap = math.hypot(*corner[:2]) - (at_start + fraction * (at_end - at_start))
                    self.assertGreaterEqual(gap, THINNEST - 1e-6)
                    self.assertLessEqual(gap, THICKEST)
                start += length
            self.assertLess(corner[2], whole + 0.01)


if __name__ == "__main__":
    unittest.main()
