"""What the controllers of snakes have in common on a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tendril.worlds.sensed_snake import SensedSnake
from tendril.worlds.tables import BoundRobot, Table


class BoundSnake(BoundRobot):
    """One snake in all worlds."""

    def __init__(self, tables: Sequence[Table], model: Any, count: int, device: Any) -> None:
        """
        :param tables: of the snake, from `tendril._sim.controlled_robots`: one, or one for each world
        :raises ModelError: a sensor that worlds do not have
        """
        super().__init__(tables, count, device)
        self._sensed = SensedSnake(self, model) if "sensed" in tables[0] else None

    def reset(self, chosen: Any) -> None:
        """Forgets what the sensors told of the chosen worlds, (count,) of bool."""
        if self._sensed is not None:
            self._sensed.reset(chosen)

    def seen(self, model: Any, data: Any) -> Any:
        """The data of this step as the controller sees them: the true ones, or what sensors tell."""
        return data if self._sensed is None else self._sensed.sense(model, data)

    def read_forces(self, data: Any) -> None:
        """At the end of a step."""
        if self._sensed is not None:
            self._sensed.end_step(data)
