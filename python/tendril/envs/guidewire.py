"""A guidewire through random vessels to a target, in the way of stEVE; docs/guide/environments.md."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from tendril.envs.simulations import Flags, Floats, Processor, Rows, Task, norm, require_threads
from tendril.envs.vessels import Vessels, vessels


class GuidewireArch(Task):
    """The bent tip of a wire, which is fed and turned at its base, to a target. Each episode has other vessels."""

    scene, actions, observations, steps = "guidewire_arch.xml", 2, 10, 300
    period, parts = 0.132, 11  # s: 7.6 images a second
    rates = np.array([0.035, 3.14])  # m/s, rad/s
    _REACHED = 0.005  # m
    _STEP_COST, _ARRIVAL, _APPROACH = 0.005, 1.0, 1.0  # 1, 1, 1/m
    _SEEDS = 2**31

    def __init__(self, count: int, processor: Processor) -> None:
        require_threads(processor, "vessels")
        super().__init__(count, processor)
        self._seeds, self._vessels = np.zeros(count, dtype=np.int64), [_vessels_of(0)[1]] * count
        self._action, self._left = np.zeros((count, 2)), np.zeros(count)

    def load(self) -> mujoco.MjModel:
        return _vessels_of(0)[1].model

    def draw(self, row: int, rng: np.random.Generator) -> None:
        self._seeds[row], drawn = _vessels_of(int(rng.integers(self._SEEDS)))
        self.mocap_pos[row, 0] = drawn.target

    def derive(self, rows: npt.NDArray[np.intp]) -> None:
        for row in rows:
            self._vessels[row] = _vessels_of(int(self._seeds[row]))[1]
        self.batch.set_models([one.model for one in self._vessels])

    def model_of(self, row: int, last: mujoco.MjModel | None) -> mujoco.MjModel:
        return self._vessels[row].model

    def vessels(self, row: int) -> Vessels:
        """The vessels of a simulation."""
        return self._vessels[row]

    def begin(self, rows: Rows) -> None:
        self._action[rows] = 0.0
        self._left[rows] = self._path_lengths(rows)

    def _path_lengths(self, rows: Rows) -> Floats:
        """From the tip along the centerlines to the target."""
        tips = zip(np.arange(self.count)[rows], self.sensors[rows, :3], strict=True)
        return np.array([one.left[one.nearest(tip)] for one, tip in ((self._vessels[i], tip) for i, tip in tips)])

    def act(self, rows: Rows, actions: Floats) -> None:
        self._action[rows] = actions
        self.advance(rows, actions)

    def observe(self, rows: Rows) -> Floats:
        planes = np.array([self._vessels[i].plane for i in np.arange(self.count)[rows]])
        points = np.concatenate((self.sensors[rows, :9], self.mocap_pos[rows, 0]), axis=1).reshape(-1, 4, 3)
        image = points @ planes.transpose(0, 2, 1)
        return np.concatenate((image.reshape(-1, 8), self._action[rows]), axis=1)

    def judge(self, rows: Rows, actions: Floats) -> tuple[Floats, Flags, dict[str, Any]]:
        sensors = self.sensors[rows]
        distance, left = norm(sensors[:, :3] - self.mocap_pos[rows, 0]), self._path_lengths(rows)
        success = distance < self._REACHED
        reward = self._APPROACH * (self._left[rows] - left) - self._STEP_COST + self._ARRIVAL * success
        self._left[rows] = left
        return (
            reward,
            success,
            {"is_success": success, "tip_error": distance, "path_left": left, "tip_force": norm(sensors[:, 14:17])},
        )


def _vessels_of(seed: int) -> tuple[int, Vessels]:
    """The vessels of the first seed from this one on that has some."""
    while (found := vessels(seed)) is None:
        seed += 1
    return seed, found
