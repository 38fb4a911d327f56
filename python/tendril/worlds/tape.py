"""The steps of some worlds, kept on the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt
import warp as wp


@wp.func
def _append(row: wp.array(dtype=float), first: int, numbers: wp.array(dtype=float)):
    for i in range(numbers.shape[0]):
        row[first + i] = numbers[i]
    return first + numbers.shape[0]


@wp.kernel(module="unique", enable_backward=False)
def _keep(
    chosen: wp.array(dtype=int),
    step: wp.array(dtype=int),
    mocap_pos: wp.array2d(dtype=wp.vec3),
    mocap_quat: wp.array2d(dtype=wp.quat),
    ctrl: wp.array2d(dtype=float),
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
    act: wp.array2d(dtype=float),
    tape: wp.array3d(dtype=float),  # (chosen, steps, numbers)
):
    k = wp.tid()
    world = chosen[k]
    if step[world] > tape.shape[1]:
        return
    row = tape[k, step[world] - 1]
    bodies = mocap_pos.shape[1]
    for i in range(bodies):
        for j in range(3):
            row[3 * i + j] = mocap_pos[world, i][j]
        for j in range(4):
            row[3 * bodies + 4 * i + j] = mocap_quat[world, i][j]
    first = _append(row, 7 * bodies, ctrl[world])
    first = _append(row, first, qpos[world])
    first = _append(row, first, qvel[world])
    first = _append(row, first, act[world])


class Tape:
    """What was in force during each step of some worlds, and the state after it."""

    def __init__(self, worlds: Sequence[int], steps: int, model: mujoco.MjModel) -> None:
        """On the present device; room for `steps` steps, later ones are not kept."""
        self.worlds = list(worlds)
        self._chosen = wp.array(self.worlds, dtype=int)
        self._inputs = 7 * model.nmocap + model.nu  # numbers of a step
        self._steps = steps
        self._numbers = wp.zeros((len(worlds), steps, self._inputs + model.nq + model.nv + model.na), dtype=float)

    def keep(self, data: Any, step: Any) -> None:
        """Launches the kernel that keeps the step that was made, of which `step` counts those of each world."""
        state = [data.mocap_pos, data.mocap_quat, data.ctrl, data.qpos, data.qvel, data.act]
        wp.launch(_keep, len(self.worlds), inputs=[self._chosen, step, *state, self._numbers])

    def rows(self, world: int, steps: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """The first steps of a world: mocap_pos, mocap_quat and ctrl; qpos, qvel and act; a row for each step."""
        rows = self._numbers[self.worlds.index(world)].numpy()[: min(steps, self._steps)].astype(np.float64)
        return rows[:, : self._inputs], rows[:, self._inputs :]
