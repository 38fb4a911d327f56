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
from tendril.envs.simulations import CONTROL_PERIOD, DIVERGED, PICTURE, Clip, plain_actions

_STATE = ("time", "qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat")


class ExperimentEnv(gymnasium.Env[npt.NDArray[np.float32], npt.NDArray[np.float32]]):
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
        size = len(self._observe())
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)
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
        return np.concatenate(parts).astype(np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        self._begin(int(self.np_random.integers(2**31)))
        self._last = self._observe()
        return self._last.copy(), self._info()

    def step(
        self, action: npt.NDArray[np.float32]
    ) -> tuple[npt.NDArray[np.float32], SupportsFloat, bool, bool, dict[str, Any]]:
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
        diverged = run.done and run.result.outcome == "diverged"
        if run.done:
            info["result"] = run.result
        info["diverged"] = diverged
        observation = self._observe()
        if np.isfinite(observation).all():
            self._last = observation
        return (
            self._last.copy(),
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
        self._renderer = None
        self._run.finish()
