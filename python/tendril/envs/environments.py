"""The classes behind `gymnasium.make` and `gymnasium.make_vec`."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, SupportsFloat

import gymnasium
import mujoco
import numpy as np
import numpy.typing as npt
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils import seeding
from gymnasium.vector.utils import batch_space

from tendril.envs.simulations import CONTROL_PERIOD, SMALL, Flags, Simulations, plain_actions
from tendril.envs.tasks import TASKS


class Environment(gymnasium.Env[Any, npt.NDArray[np.float32]]):
    """One simulation of a task, by its name; made by `gymnasium.make`.

    With a `camera` of its scene, observations are dictionaries: `state` and `image`, of `size` (width, height).
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": round(1 / CONTROL_PERIOD)}

    def __init__(
        self, task: str, render_mode: str | None = None, camera: str | None = None, size: tuple[int, int] = SMALL
    ) -> None:
        require_mode(render_mode)
        self.render_mode = render_mode
        self._simulations = Simulations(TASKS[task], 1, 1, camera, size)
        self.metadata = {**self.metadata, "render_fps": round(1 / self._simulations.task.period)}
        self._rows = np.zeros(1, dtype=np.intp)
        self.observation_space = self._simulations.observation_space
        self.action_space = self._simulations.action_space

    @property
    def model(self) -> mujoco.MjModel:
        """MuJoCo's model of the episode."""
        return self._simulations.task.model_of(0, None)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._simulations.reset(self._rows, [self.np_random])
        return self._simulations.observed(0), {}

    def step(self, action: npt.NDArray[np.float32]) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        rewards, terminated, truncated, infos = self._simulations.step(self._rows, plain_actions(action)[None])
        return (
            self._simulations.observed(0),
            float(rewards[0]),
            bool(terminated[0]),
            bool(truncated[0]),
            {name: values[0].item() for name, values in infos.items()},
        )

    def render(self) -> npt.NDArray[np.uint8] | None:
        return self._simulations.render(0) if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        self._simulations.close()


class VectorEnvironment(gymnasium.vector.VectorEnv[Any, npt.NDArray[np.float32], npt.NDArray[Any]]):
    """Simulations of a task on `threads` threads (0: as many as the machine has), or on a `device` of Warp, such as
    "cuda:0"; a finished one starts again in the next step.

    Made by `gymnasium.make_vec`, or of the name of a task: `VectorEnvironment("Reach", num_envs=64)`.
    """

    metadata: dict[str, Any] = {**Environment.metadata, "autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}
    spec: EnvSpec | None = None

    def __init__(
        self,
        task: str,
        num_envs: int = 1,
        threads: int = 0,
        render_mode: str | None = None,
        camera: str | None = None,
        size: tuple[int, int] = SMALL,
        device: str | None = None,
    ) -> None:
        require_mode(render_mode)
        self.render_mode = render_mode
        self.num_envs = num_envs
        self._simulations = Simulations(TASKS[task], num_envs, device or threads, camera, size)
        self.metadata = {**self.metadata, "render_fps": round(1 / self._simulations.task.period)}
        self.single_observation_space = self._simulations.observation_space
        self.single_action_space = self._simulations.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._generators: list[np.random.Generator] = []
        self._over = np.zeros(num_envs, dtype=bool)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """A number seeds simulation i with seed + i. Of `options["reset_mask"]`, truth values for the simulations,
        only those that are true begin again."""
        mask = self._mask_of(options)
        for i, own in enumerate(self._seeds_of(seed)):
            if i == len(self._generators):
                self._generators.append(seeding.np_random(own)[0])
            elif own is not None and mask[i]:
                self._generators[i] = seeding.np_random(own)[0]
        self._over[mask] = False
        rows = np.flatnonzero(mask)
        self._simulations.reset(rows, [self._generators[i] for i in rows])
        return self._simulations.observed(slice(None)), {}

    def _seeds_of(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if hasattr(seed, "__index__") and not isinstance(seed, np.ndarray):
            return [operator.index(seed) + i for i in range(self.num_envs)]
        seeds = [None if one is None else operator.index(one) for one in seed]
        if len(seeds) != self.num_envs:
            raise ValueError(f"seed: has {len(seeds)} numbers, must have {self.num_envs}")
        return seeds

    def _mask_of(self, options: dict[str, Any] | None) -> Flags:
        """The simulations that begin again, as gymnasium's own vectors have it."""
        if options is None or "reset_mask" not in options:
            return np.ones(self.num_envs, dtype=bool)
        mask = options["reset_mask"]
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise TypeError(f"options: reset_mask = {mask!r}, must be an array of truth values")
        if mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(f"options: reset_mask = {mask!r}, must have {self.num_envs} values, one of them True")
        if len(self._generators) < self.num_envs and not mask.all():
            raise ValueError("options: reset_mask: must not be given before the first reset")
        return mask

    def step(
        self, actions: npt.NDArray[np.float32]
    ) -> tuple[Any, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        new, going = np.flatnonzero(self._over), np.flatnonzero(~self._over)
        rewards = np.zeros(self.num_envs)
        terminated, truncated = np.zeros(self.num_envs, dtype=bool), np.zeros(self.num_envs, dtype=bool)
        all_infos: dict[str, Any] = {}
        if len(going) > 0:
            rewards[going], terminated[going], truncated[going], infos = self._simulations.step(
                going, plain_actions(actions)[going]
            )
            for name, values in infos.items():
                all_infos[name] = np.zeros(self.num_envs, dtype=values.dtype)
                all_infos[name][going] = values
                all_infos["_" + name] = ~self._over
        self._simulations.reset(new, [self._generators[i] for i in new])
        self._over = terminated | truncated
        return self._simulations.observed(slice(None)), rewards, terminated, truncated, all_infos

    def render(self) -> tuple[npt.NDArray[np.uint8], ...] | None:
        if self.render_mode != "rgb_array":
            return None
        return tuple(self._simulations.render(i) for i in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        self._simulations.close()


def require_mode(render_mode: str | None) -> None:
    if render_mode not in (None, "rgb_array"):
        raise ValueError(f"render_mode: {render_mode}: must be rgb_array or None")
