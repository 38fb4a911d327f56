"""An environment of any experiment file."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
import numpy.typing as npt

import tendril as td
from tendril import _sim
from tendril.envs.environments import Environment, require_mode
from tendril.envs.simulations import CONTROL_PERIOD, DIVERGED, PICTURE, SMALL, Clip, Eye, plain_actions

_STATE = ("time", "qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat")


class ExperimentEnv(gymnasium.Env[Any, npt.NDArray[np.float32]]):
    """An experiment whose actuators an agent drives; motions, faults, metrics and checks are those of the file.

    An episode is a run with its own seed: `[vary]` and faults are drawn again, and the scene is compiled. It is
    truncated after the experiment's duration. `info` has every named sensor of the scene under its name, `time`, and at
    the end `result`, a tendril.Result.
    """

    metadata: dict[str, Any] = Environment.metadata

    def __init__(
        self,
        file: str | os.PathLike[str],
        action: Sequence[str],
        observation: Sequence[str],
        reward: Callable[[Mapping[str, Any]], float],
        rate: float | None = None,
        set: Mapping[str, Any] = {},
        render_mode: str | None = None,
        camera: str | None = None,
        size: tuple[int, int] = SMALL,
    ) -> None:
        """
        :param file: an experiment, a scene or a robot file
        :param action: actuators, or shell patterns of them; an action is in [-1, 1] for each
        :param observation: sensors, or shell patterns of them, and `time`, `qpos`, `qvel`, `act`, `ctrl`, `mocap_pos`,
            `mocap_quat`
        :param reward: a function of `info`
        :param rate: an action moves the setpoint by this part of a second's change, in its unit a second; default: an
            action is the setpoint, -1 and 1 being the limits of the actuator
        :param set: settings, as of tendril.Experiment.run
        :param camera: of the scene; an observation is then a dictionary of `image`, (height, width, 3) bytes, and
            `state`, or the image alone if `observation` is empty
        :param size: of the image: width, height
        :raises ModelError: one line
        """
        require_mode(render_mode)
        self.render_mode = render_mode
        self._experiment = td.Experiment(file)
        self._set, self._reward, self._rate = set, reward, rate
        self._action, self._observation = action, observation
        self._renderer: _sim.Renderer | None = None
        self._clip = Clip()
        self._begin(self._experiment.seed)
        if not self._shown and camera is None:
            raise td.ModelError("observation: is empty: must name sensors, or camera must be given")
        state = gymnasium.spaces.Box(-np.inf, np.inf, (len(self._observe()),), np.float32)
        self._eye = None if camera is None else Eye(self._run.model, camera, size)
        self.observation_space = state if self._eye is None else self._eye.space(state)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (len(self._ids),), np.float32)

    def _begin(self, seed: int) -> None:
        self._run = self._experiment.start(seed, self._set)
        self._renderer = None
        model = self._run.model
        self._substeps = max(1, round(CONTROL_PERIOD / model.opt.timestep))
        actuators = [model.actuator(i).name for i in range(model.nactuator)]
        self._ids = np.array(
            [i for pattern in self._action for i in self._matches(pattern, actuators, "action", "an actuator")]
        )
        drivers = self._run.drivers
        if driven := [i for i in self._ids if drivers[i]]:
            raise td.ModelError(
                f"action: {actuators[driven[0]]}: is driven by {drivers[driven[0]]}: must be an actuator that no "
                "controller drives; take [controller] out of the robot file"
            )
        self._limits = model.actuator_ctrlrange[self._ids]
        self._limited = model.actuator_ctrllimited[self._ids].astype(bool)
        if self._rate is None and not self._limited.all():
            name = actuators[self._ids[np.flatnonzero(~self._limited)[0]]]
            raise td.ModelError(f"action: {name}: has no limits: give rate, or ctrlrange to the actuator")
        self._sensors = {
            name: model.sensor(i).adr[0] + np.arange(model.sensor(i).dim[0])
            for i in range(model.nsensor)
            if (name := model.sensor(i).name)
        }
        self._shown = [
            name if name in _STATE else list(self._sensors)[i]
            for name in self._observation
            for i in (
                [0]
                if name in _STATE
                else self._matches(name, list(self._sensors), "observation", f"a sensor, or one of {', '.join(_STATE)}")
            )
        ]

    @staticmethod
    def _matches(pattern: str, names: Sequence[str], what: str, kind: str) -> list[int]:
        found = [i for i, name in enumerate(names) if fnmatch.fnmatchcase(name, pattern)]
        if not found:
            raise td.ModelError(f"{what}: {pattern}: must be {kind} of the scene: {', '.join(filter(None, names))}")
        return found

    @property
    def run(self) -> td.Run:
        """The run of this episode."""
        return self._run

    def _info(self) -> dict[str, Any]:
        values = self._run.data.sensordata
        return {"time": self._run.time, **{name: values[place].copy() for name, place in self._sensors.items()}}

    def _observe(self) -> npt.NDArray[np.float32]:
        data = self._run.data
        parts = [
            np.ravel(getattr(data, name)) if name in _STATE else data.sensordata[self._sensors[name]]
            for name in self._shown
        ]
        return np.concatenate([np.empty(0), *parts]).astype(np.float32)

    def _observed(self) -> Any:
        """The observation; of a state that is not finite the last one before."""
        state = self._observe()
        if np.isfinite(state).all():
            self._last = state
        if self._eye is None:
            return self._last.copy()
        if not self._is_diverged():
            self._image = self._eye.look(self._run.model, self._run.data)
        image = self._image.copy()
        return {"image": image, "state": self._last.copy()} if self._shown else image

    def _is_diverged(self) -> bool:
        return bool(self._run.done and self._run.result.outcome == "diverged")

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._begin(int(self.np_random.integers(2**31)))
        return self._observed(), self._info()

    def step(self, action: npt.NDArray[np.float32]) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        action = self._clip(plain_actions(action))
        run, low, high = self._run, self._limits[:, 0], self._limits[:, 1]
        if self._rate is None:
            target = low + 0.5 * (action + 1.0) * (high - low)
        else:
            target = run.data.ctrl[self._ids] + action * self._rate * self._substeps * run.model.opt.timestep
            target = np.where(self._limited, np.clip(target, low, high), target)
        for _ in range(self._substeps):
            run.data.ctrl[self._ids] = target
            run.step()
        info = self._info()
        diverged = self._is_diverged()
        if run.done:
            info["result"] = run.result
        info["diverged"] = diverged
        return (
            self._observed(),
            DIVERGED if diverged else float(self._reward(info)),
            diverged,
            run.done and not diverged,
            info,
        )

    def render(self) -> npt.NDArray[np.uint8] | None:
        if self.render_mode != "rgb_array":
            return None
        if self._renderer is None:
            self._renderer = _sim.Renderer(self._run.model, *PICTURE)
        return self._renderer.render(self._run.data)

    def close(self) -> None:
        self._renderer = self._eye = None
        self._run.finish()
