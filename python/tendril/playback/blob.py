"""Arrays as text in a page."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Blob:
    """Arrays as bytes: planes of the bytes of their differences, which deflate well, and how to read them."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.table: dict[str, list[Any]] = {}

    def add(self, name: str, values: Array, order: int = 0) -> None:
        """`values` of shape (channels, n), unsigned or float32; `order`: how often to take differences along n."""
        width = values.dtype.itemsize
        kind = np.dtype(f"<u{width}")
        whole = np.ascontiguousarray(values).view(kind) if values.dtype.kind == "f" else values.astype(kind)
        for _ in range(order):
            whole = np.diff(whole, axis=1, prepend=kind.type(0))
        if order:  # small negative differences become small numbers
            signed = whole.view(f"<i{width}")
            whole = ((signed << 1) ^ (signed >> (8 * width - 1))).view(kind)
        planes = whole.reshape(-1, 1).view(np.uint8)
        self.parts.append(planes.T.tobytes())
        self.table[name] = [values.dtype.kind + str(width), *values.shape, order]

    def add_smaller(self, name: str, values: Array) -> None:
        """Adds an array with first or second differences, whichever deflates better."""
        sizes = []
        for order in (1, 2):
            trial = Blob()
            trial.add(name, values, order)
            sizes.append(len(zlib.compress(trial.parts[0], 1)))
        self.add(name, values, 1 + int(sizes[1] < sizes[0]))

    def packed(self, content: dict[str, Any]) -> str:
        """Everything, deflated, as base64."""
        text = json.dumps(content | {"arrays": self.table}, separators=(",", ":"), allow_nan=False).encode()
        whole = len(text).to_bytes(4, "little") + text + b"".join(self.parts)
        return base64.b64encode(zlib.compress(whole, 9)).decode()


def quantized(values: Array, low: Array | float, high: Array | float, levels: int = 65535) -> Array:
    """(…) in [low, high] as integers in [0, levels]."""
    span = np.where(np.greater(high, low), np.subtract(high, low), 1.0)
    return np.clip(np.rint((values - low) / span * levels), 0, levels).astype(np.uint16)


def rounded(values: Array) -> list[Any]:
    return [float(f"{value:.7g}") for value in np.asarray(values, float).ravel()]
