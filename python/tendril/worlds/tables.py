"""What the tables of controllers, from `tendril._sim.controlled_robots`, have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tendril as td

Table = dict[str, Any]


def robot_name(table: Table) -> str:
    return str(table["prefix"]).rstrip("_") or "robot"


def require(table: Table, allowed: Mapping[str, Sequence[str]]) -> None:
    """:raises ModelError: a setting has a value that its controller does not know on a device"""
    for key, texts in allowed.items():
        text = table["settings"].get(key, "")
        if text not in texts:
            wanted = "must be " + " or ".join(texts) if texts[0] else "must not be given"
            raise td.ModelError(f"{robot_name(table)}: {key} = {text}: {wanted} in worlds")


def require_same(tables: Sequence[Table], key: str, sizes: Sequence[int]) -> None:
    """:raises ModelError: tables of worlds whose sizes differ"""
    if len(set(sizes)) > 1:
        raise td.ModelError(f"{robot_name(tables[0])}: {key}: their number differs between worlds: must be the same")
