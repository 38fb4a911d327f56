"""Simulations of one task, stepped by MuJoCo's Batch: one for an environment, several for a vector of them.

Both are the same code on arrays with one row a simulation, so that they have the same numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import mujoco
import numpy as np
import numpy.typing as npt
from mujoco.batch import Batch, SimulationError

from tendril import ModelError, _sim
from tendril.worlds import require_warp

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Processor = int | str  #: threads of the CPU (0: all), or the name of a device of Warp
Rows = npt.NDArray[np.intp] | slice  #: simulations; all of them as a slice, which is faster

CONTROL_PERIOD = 0.02  # s, of an environment step of most tasks
DIVERGED = -10.0  # reward
LARGEST = 1e10  # of a position or velocity of a run that has not diverged
PICTURE = (640, 480)
SMALL = (64, 64)  # pixels of images in observations, width and height
_STAGE = int(mujoco.mjtStage.mjSTAGE_VEL)


def make_batch(model: mujoco.MjModel, count: int, processor: Processor) -> Any:
    """MuJoCo's simulations of a model, or those of MuJoCo Warp."""
    if isinstance(processor, int):
        return Batch(model, count, processor)
    require_warp()
    from tendril.worlds.device_batch import DeviceBatch

    return DeviceBatch(model, count, processor)


def require_threads(processor: Processor, difference: str) -> None:
    """Refuses a device for simulations that differ."""
    if not isinstance(processor, int):
        raise ModelError(f"device: {processor}: must be None: simulations of this task differ in {difference}")


class Task(ABC):
    """Task of an environment. Arrays have one row a simulation; `rows` are the simulations a call is about.

    Of a slice `array[rows]` is a view, of an array of numbers a copy.
    """

    scene: ClassVar[str]  #: a file of the folder `scenes`, or its whole path
    actions: ClassVar[int]
    observations: ClassVar[int]
    steps: ClassVar[int]  #: after which an episode is truncated
    rates: Floats = np.zeros(0)  #: largest ones of the setpoints, a second, for `advance`
    period: float = CONTROL_PERIOD  #: s, of an environment step, which a whole number of timesteps makes
    parts: ClassVar[int] = 1  #: of an environment step: setpoints move to those of the action in as many equal ones
    varied: ClassVar[tuple[str, ...]] = ()  #: fields of the model of which each simulation has its own, drawn by `draw`

    def __init__(self, count: int, processor: Processor) -> None:
        self.processor = processor
        self.model = self.load()
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
        if self.varied:
            require_threads(processor, self.varied[0])
        self.batch = make_batch(self.model, count, processor)
        self.own: dict[str, Floats] = {name: self.batch.expand(name) for name in self.varied}  #: (count, ...)
        self.count = count
        self.substeps = max(1, round(self.period / self.parts / self.model.opt.timestep))  #: of a part
        self.period = self.parts * self.substeps * self.model.opt.timestep
        self.ctrl: Floats = self.batch.bind("ctrl")
        self.motion: Floats = self.batch.state[:, : 1 + self.model.nq + self.model.nv]  #: time, positions, velocities
        self.mocap_pos: Floats = self.batch.bind("mocap_pos")
        self.mocap_quat: Floats = self.batch.bind("mocap_quat")
        self.sensors: Floats = self.batch.bind("sensordata")
        limits = np.where(
            self.model.actuator_ctrllimited[:, None] != 0, self.model.actuator_ctrlrange, [-np.inf, np.inf]
        )
        self._low, self._high = limits[:, 0].copy(), limits[:, 1].copy()
        self._strides = self.period * self.rates
        self.within = np.zeros(count, dtype=np.int64)  #: steps at the goal in a row

    def __getstate__(self) -> dict[str, Any]:
        """States of the simulations, and what the task remembers of them: a copy continues with the same numbers."""
        state = self.batch.state
        own = {
            name: value.copy()
            for name, value in vars(self).items()
            if isinstance(value, np.ndarray) and value.flags.writeable and not np.shares_memory(value, state)
        }
        varied = {name: value.copy() for name, value in self.own.items()}
        return {"count": self.count, "processor": self.processor, "state": state.copy(), "own": own, "varied": varied}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__init__(kept["count"], kept["processor"])  # type: ignore[misc]
        self.batch.state[:] = kept["state"]
        for name, value in kept["own"].items():
            getattr(self, name)[...] = value
        for name, value in kept["varied"].items():
            self.own[name][...] = value
        self.derive(np.arange(self.count))

    def derive(self, rows: npt.NDArray[np.intp]) -> None:
        """Computes what follows from the simulations' own fields of the model."""
        if self.varied:
            self.batch.set_const(rows)

    def model_of(self, row: int, last: mujoco.MjModel | None) -> mujoco.MjModel:
        """The model of a simulation, in place of the last one that was returned."""
        return self.batch.get_model(row, last) if self.varied else self.model

    @classmethod
    def compiled(cls) -> _sim.Scene:
        """The scene of the folder `scenes`."""
        return _sim.load_scene(Path(__file__).with_name("scenes") / cls.scene)

    def load(self) -> mujoco.MjModel:
        """The model of the task: that of its scene."""
        return self.compiled().model

    @abstractmethod
    def draw(self, row: int, rng: np.random.Generator) -> None:
        """Writes the start of an episode into the state of a simulation that was reset, and its own fields."""

    @abstractmethod
    def begin(self, rows: Rows) -> None:
        """Remembers what rewards of the first step compare with; sensors are those of the start."""

    @abstractmethod
    def act(self, rows: Rows, actions: Floats) -> None:
        """Writes the setpoints for actions in [-1, 1]."""

    @abstractmethod
    def observe(self, rows: Rows) -> Floats:
        """The observations, (rows, observations)."""

    @abstractmethod
    def judge(self, rows: Rows, actions: Floats) -> tuple[Floats, Flags, dict[str, Any]]:
        """Rewards, whether episodes end, and infos, each of one entry a row."""

    def advance(self, rows: Rows, actions: Floats) -> None:
        """Moves setpoints at parts of the largest rates, within what the servos take."""
        moved = self.ctrl[rows] + self._strides * actions
        self.ctrl[rows] = np.minimum(np.maximum(moved, self._low), self._high)

    def step(self, rows: Rows, numbers: npt.NDArray[np.intp], actions: Floats, times: int = 1) -> list[int]:
        """Steps simulations by the period, or by `times` periods with the same setpoints; returns those that failed."""
        before = self.ctrl[rows].copy()
        self.act(rows, actions)
        after, failed = self.ctrl[rows].copy(), []
        for left in reversed(range(self.parts)):
            if self.parts > 1:
                self.ctrl[rows] = after - left / self.parts * (after - before)
            try:
                self.batch.step(numbers, times * self.substeps, _STAGE)  # sensors are those of the new state
            except SimulationError as error:
                failed.extend(error.ids)
        return failed

    def lasting(self, rows: Rows, good: Flags, seconds: float) -> Flags:
        """Tells whether something has been so for a time."""
        self.within[rows] = (self.within[rows] + 1) * good
        long_enough: Flags = self.within[rows] >= round(seconds / self.period)
        return long_enough


def plain_actions(actions: npt.ArrayLike) -> Floats:
    """Actions as an array; one that is not a number, or masked, raises ValueError."""
    if isinstance(actions, np.ma.MaskedArray) and np.ma.getmaskarray(actions).any():
        raise ValueError("action: must not be masked")
    numbers: Floats = np.asarray(actions, dtype=np.float64)
    if not np.logical_and.reduce(np.isfinite(numbers), axis=None):
        raise ValueError("action: must be finite")
    return numbers


class Clip:
    """Limits actions to [-1, 1], and warns of the first that it changes."""

    def __init__(self) -> None:
        self._told = False

    def __call__(self, actions: Floats) -> Floats:
        clipped = np.minimum(np.maximum(actions, -1.0), 1.0)
        if not self._told and (clipped != actions).any():
            self._told = True
            gymnasium.logger.warn(f"action = {np.abs(actions).max():.3g}: is clipped to [-1, 1]; told once")
        return clipped


class Eye:
    """Images of a camera as observations, by EGL."""

    def __init__(self, model: mujoco.MjModel, camera: str, size: tuple[int, int]) -> None:
        names = [model.camera(i).name for i in range(model.ncam)]
        if camera not in names:
            raise ModelError(f"camera: {camera}: must be a camera of the scene: {', '.join(filter(None, names))}")
        self._camera, self._size = camera, size
        self._model, self._renderer = model, _sim.Renderer(model, *size, camera)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_model": None, "_renderer": None}

    def space(self, state: gymnasium.spaces.Box) -> gymnasium.Space[Any]:
        """The space of observations with images; those without numbers are the images alone."""
        width, height = self._size
        image = gymnasium.spaces.Box(0, 255, (height, width, 3), np.uint8)
        return gymnasium.spaces.Dict({"image": image, "state": state}) if state.shape[0] > 0 else image

    def look(self, model: mujoco.MjModel, data: mujoco.MjData) -> npt.NDArray[np.uint8]:
        """The image of a state whose positions are computed, (height, width, 3)."""
        if model is not self._model:
            self._model, self._renderer = model, _sim.Renderer(model, *self._size, self._camera)
        return self._renderer.render(data)


def norm(vectors: Floats) -> Floats:
    """Lengths of vectors (n, 3)."""
    squares = vectors * vectors
    lengths: Floats = np.sqrt(squares[:, 0] + squares[:, 1] + squares[:, 2])
    return lengths


class Simulations:
    """Episodes of a task in each of `count` simulations."""

    def __init__(
        self,
        task: type[Task],
        count: int,
        processor: Processor,
        camera: str | None = None,
        size: tuple[int, int] = SMALL,
    ) -> None:
        self.task = task(count, processor)
        state = gymnasium.spaces.Box(-np.inf, np.inf, (task.observations,), np.float32)
        self._eye = None if camera is None else Eye(self.task.model, camera, size)
        self.observation_space = state if self._eye is None else self._eye.space(state)
        self._images = np.zeros((0 if camera is None else count, size[1], size[0], 3), dtype=np.uint8)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (task.actions,), np.float32)
        self.elapsed = np.zeros(count, dtype=np.int64)
        self.observation = np.zeros((count, task.observations), dtype=np.float32)
        self._clip = Clip()
        self._renderer: _sim.Renderer | None = None
        self._model: mujoco.MjModel | None = None  # of the simulation that was drawn last
        self._shown: mujoco.MjData | None = None

    def reset(self, rows: npt.NDArray[np.intp], generators: Sequence[np.random.Generator]) -> None:
        """Begins episodes, each with the draws of its generator."""
        if len(rows) == 0:
            return
        task = self.task
        task.batch.reset(rows, 0 if task.model.nkey > 0 else -1, int(mujoco.mjtStage.mjSTAGE_NONE))
        for row, rng in zip(rows, generators, strict=True):
            task.draw(int(row), rng)
        task.derive(rows)
        task.batch.forward(rows)
        task.begin(rows)
        task.within[rows] = 0
        self.elapsed[rows] = 0
        self.observation[rows] = task.observe(rows)
        self._look(rows)

    def step(
        self, numbers: npt.NDArray[np.intp], actions: npt.NDArray[Any]
    ) -> tuple[Floats, Flags, Flags, dict[str, Any]]:
        """Rewards, terminated, truncated and infos of one step of `plain_actions`."""
        actions = self._clip(actions)
        task = self.task
        if actions.shape != (len(numbers), task.actions):
            raise ValueError(f"action: shape = {actions.shape[1:]}, must be ({task.actions},)")
        rows: Rows = slice(None) if len(numbers) == task.count else numbers
        failed = task.step(rows, numbers, actions)
        motion = np.abs(task.motion[rows])
        self.elapsed[rows] += 1
        truncated = self.elapsed[rows] >= task.steps
        if len(failed) == 0 and np.maximum.reduce(motion, axis=None) < LARGEST:
            rewards, terminated, infos = task.judge(rows, actions)
            self.observation[rows] = task.observe(rows)
            self._look(numbers)
            infos["diverged"] = np.zeros(len(numbers), dtype=bool)
            return rewards, terminated, truncated, infos
        healthy = (motion < LARGEST).all(axis=1) & ~np.isin(numbers, failed)
        with np.errstate(all="ignore"):
            rewards, terminated, infos = task.judge(rows, actions)
            observation = task.observe(rows)
        self.observation[numbers[healthy]] = observation[healthy]
        self._look(numbers[healthy])
        infos = {name: np.where(healthy, values, np.zeros_like(values)) for name, values in infos.items()}
        infos["diverged"] = ~healthy
        return np.where(healthy, rewards, DIVERGED), terminated | ~healthy, truncated, infos

    def observed(self, rows: Any) -> Any:
        """Copies of the observations of some simulations."""
        state = self.observation[rows].copy()
        return state if self._eye is None else {"image": self._images[rows].copy(), "state": state}

    def _look(self, rows: npt.NDArray[np.intp]) -> None:
        if self._eye is not None:
            for row in rows:
                self._images[row] = self._eye.look(*self._show(int(row)))

    def _show(self, row: int) -> tuple[mujoco.MjModel, mujoco.MjData]:
        batch = self.task.batch
        self._model = self.task.model_of(row, self._model)
        self._shown = batch.get_data(row, self._shown)
        mujoco.mj_forward(self._model, self._shown)
        return self._model, self._shown

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_renderer": None, "_shown": None, "_model": None}

    def render(self, row: int) -> npt.NDArray[np.uint8]:
        """An image of one simulation, by EGL."""
        model, data = self._show(row)
        if self._renderer is None:
            self._renderer = _sim.Renderer(model, *PICTURE)
        return self._renderer.render(data)

    def close(self) -> None:
        self._renderer = self._eye = None
