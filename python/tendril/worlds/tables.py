"""What the tables of controllers, from `tendril._sim.controlled_robots`, have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import warp as wp

import tendril as td

Table = dict[str, Any]


def robot_name(table: Table) -> str:
    return str(table["prefix"]).rstrip("_") or "robot"


def require(table: Table, allowed: Mapping[str, Sequence[str]]) -> None:
    """:raises ModelError: a setting has a value that its controller does not know on a device"""
    for key, texts in allowed.items():
        text = table["settings"].get(key, "")
        if text not in texts:
            wrong = f"{key} = {text}: must be {' or '.join(texts)}" if texts[0] else f"{key}: must not be given"
            raise td.ModelError(f"{robot_name(table)}: {wrong} in worlds")


def require_same(tables: Sequence[Table], key: str, sizes: Sequence[int]) -> None:
    """:raises ModelError: tables of worlds whose sizes differ"""
    if len(set(sizes)) > 1:
        raise td.ModelError(f"{robot_name(tables[0])}: {key}: their number differs between worlds: must be the same")


def stacked(items: Sequence[Any]) -> Any:
    """A row for each world, the shorter ones continued by their last item; one row where all are the same."""
    if all(np.array_equal(one, items[0]) for one in items):
        items = items[:1]
    longest = max(len(one) for one in items)

    def padded(item: Any) -> Any:
        widths = [(0, longest - len(item))] + [(0, 0)] * (item.ndim - 1)
        return np.pad(item, widths, mode="edge")

    return np.stack([padded(one) for one in items])


class BoundRobot:
    """One robot in all worlds: its tables, and arrays on its device."""

    def __init__(self, tables: Sequence[Table], count: int, device: Any) -> None:
        """
        :param tables: of the robot, from `tendril._sim.controlled_robots`: one, or one for each world
        """
        self.name, self.tables, self.count, self.device = robot_name(tables[0]), tables, count, device

    def require(self, allowed: Mapping[str, Sequence[str]]) -> None:
        """:raises ModelError: a setting of a world has a value that its controller does not know on a device"""
        for table in self.tables:
            require(table, allowed)

    def same(self, key: str) -> Any:
        """What the tables of all worlds have.

        :raises ModelError: it differs between worlds
        """
        value = self.tables[0][key]
        if any(one[key] != value for one in self.tables):
            raise td.ModelError(f"{self.name}: {key} differs between the worlds: must be the same")
        return value

    def setting(self, key: str) -> str:
        """The text of a setting.

        :raises ModelError: it differs between worlds
        """
        text: str = self.tables[0]["settings"][key]
        if any(one["settings"][key] != text for one in self.tables):
            raise td.ModelError(f"{self.name}: {key} differs between the worlds: must be the same")
        return text

    def integers(self, values: Any) -> Any:
        return wp.array(np.asarray(values, dtype=np.int32), dtype=int, device=self.device)

    def numbers(self, values: Any, kind: Any = wp.float64) -> Any:
        return wp.array(np.asarray(values, dtype=np.float64), dtype=kind, device=self.device)

    def zeros(self, *shape: int, kind: Any = wp.float64) -> Any:
        """A row for each world."""
        return wp.zeros((self.count, *shape), dtype=kind, device=self.device)

    def read_forces(self, data: Any) -> None:
        """At the end of a step; nothing is kept of it."""

    def launch(self, kernel: Any, inputs: list[Any]) -> None:
        """One thread for each world."""
        wp.launch(kernel, self.count, inputs=inputs, device=self.device)
