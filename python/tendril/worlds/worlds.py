"""Many worlds of one experiment at once, stepped by MuJoCo Warp."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import mujoco
import mujoco_warp as mjw
import numpy as np
import numpy.typing as npt
import warp as wp

import tendril as td
from tendril import _sim
from tendril.worlds.computed_moment import ComputedMoment
from tendril.worlds.follow import Follow
from tendril.worlds.gait import Gait
from tendril.worlds.model import Room, memory_told, on_device, require_fit
from tendril.worlds.physical_faults import FORCES, PhysicalFaults, Spans
from tendril.worlds.poses import FollowPoses
from tendril.worlds.reach import Reach
from tendril.worlds.snake_path import SnakePath
from tendril.worlds.tape import Tape

LARGEST = 1e10  # of a position or velocity of a world that has not diverged
LARGEST_TABLE = 1 << 30  # numbers of what motions write, over all steps


def _snake(tables: Sequence[Mapping[str, Any]], *rest: Any) -> Gait | SnakePath:
    return (SnakePath if tables[0]["settings"]["mode"] == "path" else Gait)(tables, *rest)


def _follow(tables: Sequence[Mapping[str, Any]], *rest: Any) -> Follow | FollowPoses:
    return (FollowPoses if "poses" in tables[0] else Follow)(tables, *rest)


CONTROLLERS: Mapping[str, Any] = {
    "tendril.reach": Reach,
    "tendril.computed_moment": ComputedMoment,
    "tendril.follow": _follow,
    "tendril.snake": _snake,
}
#: of the bits of an overflow: contacts or constraints that did not fit, not iterations of the solver
NO_ROOM = wp.constant(int(~(mjw.OverflowType.ITERATIONS | mjw.OverflowType.LS_ITERATIONS)))
_STATE = ("qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat")


@wp.kernel(module="unique", enable_backward=False)
def _move(
    step: wp.array(dtype=int),
    table: wp.array3d(dtype=float),  # (1 or worlds, steps, entries)
    place: wp.array(dtype=int),  # of each entry: in mocap_pos, then mocap_quat, then ctrl
    bodies: int,
    mocap_pos: wp.array2d(dtype=wp.vec3),
    mocap_quat: wp.array2d(dtype=wp.quat),
    ctrl: wp.array2d(dtype=float),
):
    world, entry = wp.tid()
    row, at = world % table.shape[0], wp.min(step[world], table.shape[1] - 1)
    value, i = table[row, at, entry], place[entry]
    if i >= 7 * bodies:
        ctrl[world, i - 7 * bodies] = value
    elif i >= 3 * bodies:
        j = i - 3 * bodies
        mocap_quat[world, j // 4][j % 4] = value
    else:
        mocap_pos[world, i // 3][i % 3] = value


@wp.func
def _is_wild(numbers: wp.array(dtype=float)):
    for i in range(numbers.shape[0]):
        if not (wp.abs(numbers[i]) < LARGEST):
            return True
    return False


@wp.func
def _copy(source: wp.array(dtype=float), to: wp.array(dtype=float)):
    for i in range(to.shape[0]):
        to[i] = source[i]


@wp.kernel(module="unique", enable_backward=False)
def _watch(
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
    step: wp.array(dtype=int),
    diverged: wp.array(dtype=int),
    overflow: wp.array(dtype=int),
):
    world = wp.tid()
    step[world] = step[world] + 1
    overflow[world] = overflow[world] & NO_ROOM
    if diverged[world] < 0 and (_is_wild(qpos[world]) or _is_wild(qvel[world])):
        diverged[world] = step[world]


@wp.kernel(module="unique", enable_backward=False)
def _restart(
    chosen: wp.array(dtype=bool),
    qpos0: wp.array2d(dtype=float),
    qvel0: wp.array2d(dtype=float),
    act0: wp.array2d(dtype=float),
    ctrl0: wp.array2d(dtype=float),
    mocap_pos0: wp.array2d(dtype=wp.vec3),
    mocap_quat0: wp.array2d(dtype=wp.quat),
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
    act: wp.array2d(dtype=float),
    ctrl: wp.array2d(dtype=float),
    mocap_pos: wp.array2d(dtype=wp.vec3),
    mocap_quat: wp.array2d(dtype=wp.quat),
    step: wp.array(dtype=int),
    diverged: wp.array(dtype=int),
    overflow: wp.array(dtype=int),
):
    world = wp.tid()
    if not chosen[world]:
        return
    row = world % qpos0.shape[0]
    _copy(qpos0[row], qpos[world])
    _copy(qvel0[row], qvel[world])
    _copy(act0[row], act[world])
    _copy(ctrl0[row], ctrl[world])
    for i in range(mocap_pos.shape[1]):
        mocap_pos[world, i] = mocap_pos0[row, i]
        mocap_quat[world, i] = mocap_quat0[row, i]
    step[world] = 0
    diverged[world] = -1
    overflow[world] = 0


class Start:
    """What a world is before its first step, of one seed."""

    def __init__(
        self,
        experiment: td.Experiment,
        seed: int,
        changes: Mapping[str, Any],
        place: npt.NDArray[np.intp] | None = None,
    ) -> None:
        run = experiment.start(seed, **changes)
        self.model = run.plain_model(faults=False)
        self.steps = round((changes["duration"] or experiment.duration) / self.model.opt.timestep)  #: of a run
        self.spans = Spans(run.faults, self.model)
        self.state = {name: getattr(run.data, name).copy() for name in _STATE}
        self.robots, self.drivers = _sim.controlled_robots(run.model, run.data), run.drivers
        self._run: td.Run | None = run
        if place is not None:
            self.motion = self._moved(place)

    def find_motions(self, driven: npt.NDArray[np.bool_], seeds: int) -> npt.NDArray[np.intp]:
        """The entries of mocap_pos, mocap_quat and ctrl, in this order, that motions write.

        :param driven: controls that controllers write
        :param seeds: that the experiment is started with
        :raises ModelError: over all steps they are more than LARGEST_TABLE numbers
        """
        everything = np.arange(7 * self.model.nmocap + self.model.nu)
        moved = self._moved(everything)
        place = everything[(moved != moved[0]).any(axis=0)]
        place = place[~np.r_[np.zeros(7 * self.model.nmocap, dtype=bool), driven][place]]
        if seeds * self.steps * len(place) > LARGEST_TABLE:
            raise td.ModelError(f"motion: {seeds} worlds of {self.steps} steps do not fit: must be fewer, or shorter")
        self.motion = moved[:, place]
        return place

    def _moved(self, place: npt.NDArray[np.intp]) -> npt.NDArray[np.float32]:
        """What the motions write there, a row for each step; of a run that is needed no longer."""
        assert self._run is not None
        run, self._run = self._run, None
        table = np.empty((self.steps + 1, len(place)), dtype=np.float32)
        for step in range((self.steps if len(place) > 0 else 0) + 1):
            run.move(step * self.model.opt.timestep)
            data = run.data
            table[step] = np.concatenate((data.mocap_pos.ravel(), data.mocap_quat.ravel(), data.ctrl))[place]
        return table


class Worlds:
    """`count` runs of an experiment side by side, on a CPU or a GPU.

    World i has the draws of the seed `seed + i`, as `tendril run --seed` has them; without `[vary]` and faults all
    worlds are the same until their controls differ. Motions move what they move; `tendril.reach` runs on the device.
    Numbers are float32. On a GPU a run is not the same to the bit from one time to the next.

    `qpos`, `qvel`, `ctrl`, `time`, `sensordata`, `mocap_pos` and `mocap_quat` are Warp's arrays with a row for each
    world. They are the engine's own: what is written there holds in the next step, and `wp.to_torch`, `wp.to_jax` and
    `numpy()` (on a CPU) show them without a copy.
    """

    def __init__(
        self,
        file: str | os.PathLike[str],
        count: int,
        device: str | None = None,
        seed: int | None = None,
        set: Mapping[str, Any] = {},
        controllers: bool = True,
        contacts: int | None = None,
        constraints: int | None = None,
        duration: float | None = None,
        solver: str | None = None,
    ) -> None:
        """
        :param file: an experiment, a scene or a robot file
        :param count: of worlds, >= 1
        :param device: such as "cpu" or "cuda:0"; default: a GPU if there is one
        :param seed: of the first world; default: that of the file
        :param set: settings by key, as of tendril.Experiment.run
        :param controllers: false: those of the scene are left out, and all of `ctrl` is the caller's
        :param contacts: room for contacts in each world; default: by the number of geoms that move
        :param constraints: likewise, for constraint rows
        :param duration: simulated time, s, over which motions move and steps are recorded; default: that of the file
        :param solver: of constraints, "newton" or "cg", conjugate gradients; default: newton, but cg for a snake with
            scales
        :raises ModelError: one line, for a device that is not there, and for what has no equal on a device
        """
        if count < 1:
            raise td.ModelError(f"count: {count}: must be >= 1")
        self.count, self.device = count, device_of(device)
        experiment = td.Experiment(file)
        self.name = experiment.name
        if experiment.family:
            raise td.ModelError(
                f"{experiment.file}: is a family of scenes: must be one scene: `tendril generate` makes it"
            )
        first_seed = experiment.seed if seed is None else seed
        self._experiment, self._changes = experiment, {"set": set, "duration": duration}
        starts = [Start(experiment, first_seed, self._changes)]
        #: of each world, or one of all
        varies = experiment.varies or any("sensed" in robot for robot in starts[0].robots)
        self.seeds = seeds = range(first_seed, first_seed + (count if varies else 1))
        self.model: mujoco.MjModel = starts[0].model  #: MuJoCo's model of the first world, without controllers
        try:
            room = require_fit(self.model, count, self.device, "count", Room(contacts, constraints))
        except td.ModelError as error:
            raise td.ModelError(f"{experiment.file}: {error}") from None
        self.timestep: float = self.model.opt.timestep
        self.steps = starts[0].steps
        driven = self._driven(starts[0]) if controllers else np.zeros(self.model.nu, dtype=bool)
        place = starts[0].find_motions(driven, len(seeds))
        starts += [Start(experiment, one, self._changes, place) for one in seeds[1:]]
        with wp.ScopedDevice(self.device), memory_told("count", count, self.device):
            models, spans = [start.model for start in starts], [start.spans for start in starts]
            changing = {name for one in spans for name in one.changes} - {FORCES}
            self.model, self._model, self._data = on_device(models, count, room, changing, solver)
            self._faults = PhysicalFaults(spans, self._model, self._data)
            self._show()
            self._start(starts, place)
            self.controllers = [
                CONTROLLERS[tables[0]["controller"]](tables, self.model, count, self.device)
                for tables in zip(*(start.robots for start in starts if controllers), strict=True)
            ]
        if not controllers and any(starts[0].drivers):
            self._changes["controller"] = "none"  # of runs in C
        self._graph: Any = None
        self._tape: Tape | None = None
        self.reset()

    def _show(self) -> None:
        data = self._data
        self.qpos, self.qvel, self.ctrl, self.time = data.qpos, data.qvel, data.ctrl, data.time
        self.sensordata, self.mocap_pos, self.mocap_quat = data.sensordata, data.mocap_pos, data.mocap_quat
        #: bits of mujoco_warp.OverflowType, of each world: something did not fit, and the world is wrong from there on
        self.overflow = data.overflow
        self._step = wp.zeros(self.count, dtype=int)
        #: the step in which a world got numbers that are not finite or beyond 1e10; -1: it did not
        self.diverged = wp.full(self.count, -1, dtype=int)

    def _start(self, starts: Sequence[Start], place: npt.NDArray[np.intp]) -> None:
        def rows(name: str, kind: Any) -> Any:
            return wp.array(np.stack([start.state[name] for start in starts]).astype(np.float32), dtype=kind)

        self._initial = [rows(name, float) for name in ("qpos", "qvel", "act", "ctrl")]
        self._initial += [rows("mocap_pos", wp.vec3), rows("mocap_quat", wp.quat)]
        table = np.stack([start.motion for start in starts])
        self._table = wp.array(table, dtype=float), wp.array(place.astype(np.int32), dtype=int)

    def _driven(self, start: Start) -> npt.NDArray[np.bool_]:
        """Controls that controllers write."""
        driven = np.zeros(self.model.nu, dtype=bool)
        for actuator, driver in enumerate(start.drivers):
            if driver and driver.partition(" of ")[0] not in CONTROLLERS:
                raise td.ModelError(
                    f"{driver}: must be {' or '.join(CONTROLLERS)} in worlds, or the robot file must have no controller"
                )
            if driver:
                driven[self.model.actuator_ctrladr[actuator]] = True
        return driven

    def reset(self, worlds: Any = None) -> None:
        """Sets worlds to their start.

        :param worlds: truth values, (count,), NumPy's or Warp's on the device; none: all
        """
        chosen = np.ones(self.count, dtype=bool) if worlds is None else worlds
        if not isinstance(chosen, wp.array):
            chosen = np.asarray(chosen)
            if chosen.shape != (self.count,) or chosen.dtype != np.bool_:
                raise td.ModelError(f"worlds: must be {self.count} truth values")
            chosen = wp.array(chosen, dtype=bool, device=self.device)
        data = self._data
        with wp.ScopedDevice(self.device):
            mjw.reset_data(self._model, data, chosen)
            state = [data.qpos, data.qvel, data.act, data.ctrl, data.mocap_pos, data.mocap_quat]
            flags = [self._step, self.diverged, self.overflow]
            wp.launch(_restart, self.count, inputs=[chosen, *self._initial, *state, *flags])
            for controller in self.controllers:
                controller.reset(chosen)

    def step(self, steps: int = 1) -> None:
        """Steps all worlds; returns before a GPU is done.

        A world that has diverged (`diverged`) does not stop the others.
        """
        with wp.ScopedDevice(self.device):
            if not self.device.is_cuda:
                for _ in range(steps):
                    self._one_step()
                return
            if self._graph is None:
                self._one_step()  # compiles
                steps -= 1
                with wp.ScopedCapture() as capture:
                    self._one_step()
                self._graph = capture.graph
            for _ in range(steps):
                wp.capture_launch(self._graph)

    def _one_step(self) -> None:
        model, data = self._model, self._data
        table, place = self._table
        self._faults.begin_step(self._step)
        if len(place) > 0:
            inputs = [self._step, table, place, self.model.nmocap, data.mocap_pos, data.mocap_quat, data.ctrl]
            wp.launch(_move, (self.count, len(place)), inputs=inputs)
        mjw.step1(model, data)
        for controller in self.controllers:
            controller.before_actuation(model, data)
        self._faults.before_actuation(self._step)
        mjw.step2(model, data)
        for controller in self.controllers:
            controller.after_step(data)
        self._faults.end_step()
        wp.launch(_watch, self.count, inputs=[data.qpos, data.qvel, self._step, self.diverged, self.overflow])
        if self._tape is not None:
            self._tape.keep(data, self._step)

    def record(self, worlds: Sequence[int]) -> None:
        """Keeps the steps that some worlds make from their next reset on, for `result` and `distance_from_c`.

        Resets them. Keeps as many steps as a run has.

        :raises ModelError: no such world, or more numbers than the memory holds
        """
        for world in worlds:
            self._check(world)
        with wp.ScopedDevice(self.device):
            try:
                self._tape = Tape(worlds, self.steps, self.model)
            except RuntimeError as error:
                raise td.ModelError(f"record: {len(worlds)} worlds do not fit into the memory: {error}") from None
        self._graph = None
        self.reset(np.isin(np.arange(self.count), worlds))

    def result(self, world: int, record: str | os.PathLike[str] | None = None) -> td.Result:
        """Metrics, checks and verdict of a recorded world, as `tendril run` has them, and its recording.

        Every state is that of the device. Contacts, sensors and statuses of controllers are those of the step that the
        C engine makes from the state before. The recording is for `tendril play`, `render`, `rollout verify` and the
        like. It cannot be replayed.

        :param world: one of `record`
        :param record: file to record to
        :raises ModelError: a world that was not recorded, has made no step, or in which contacts did not fit
        :raises RecordingError: the recording cannot be written
        """
        inputs, states = self._kept(world)
        with self._start_in_c(world) as run:
            if record is not None:
                run.record(record, f"mujoco_warp {mjw.__version__} on {self.device}")
            for before, after in zip(inputs, states, strict=True):
                run.take(before, after)
        return run.result

    def distance_from_c(self, world: int) -> npt.NDArray[np.float64]:
        """The largest distance of a position (`qpos`) of a recorded world from the C engine, after each step, (steps,).

        The C engine makes the run of the same seed from its start: with its own controllers, and what else was written
        to `ctrl`, `mocap_pos` and `mocap_quat`.

        :raises ModelError: as of `result`
        """
        inputs, states = self._kept(world)
        distances = np.empty(len(inputs))
        with self._start_in_c(world) as run:
            for step, before in enumerate(inputs):
                run.take(before)
                distances[step] = np.abs(run.data.qpos - states[step, : self.model.nq]).max()
        return distances

    def _start_in_c(self, world: int) -> td.Run:
        return self._experiment.start(self.seeds[world % len(self.seeds)], **self._changes)

    def _kept(self, world: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Inputs and states of the steps of a world."""
        self._check(world)
        if self._tape is None or world not in self._tape.worlds:
            raise td.ModelError(f"world: {world}: was not recorded: `record` says which are")
        if bits := int(self.overflow.numpy()[world]):
            raise td.ModelError(
                f"world: {world}: contacts or constraints did not fit (overflow = {bits}): must have more room"
            )
        if (steps := int(self._step.numpy()[world])) == 0:
            raise td.ModelError(f"world: {world}: has made no step")
        return self._tape.rows(world, steps)

    def _check(self, world: int) -> None:
        if not 0 <= world < self.count:
            raise td.ModelError(f"world: {world}: must be in [0, {self.count})")

    def sensor(self, name: str) -> Any:
        """The columns of `sensordata` of a sensor, (count, dimension): a view.

        :raises ModelError: the scene has none of this name; those of controllers are not there
        """
        found = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_SENSOR, name)
        if found < 0:
            names = [self.model.sensor(i).name for i in range(self.model.nsensor)]
            raise td.ModelError(f"sensor: {name}: must be a sensor of the scene: {', '.join(filter(None, names))}")
        first = self.model.sensor_adr[found]
        return self.sensordata[:, first : first + self.model.sensor_dim[found]]


def device_of(name: str | None) -> Any:
    """:raises ModelError: Warp has no such device."""
    wp.init()
    try:
        return wp.get_device(name) if name else wp.get_preferred_device()
    except (ValueError, RuntimeError):
        known = ", ".join(device.alias for device in wp.get_devices())
        raise td.ModelError(f"device: {name}: must be one of {known}") from None
