"""Search for a motion among obstacles with muscles, for the last two cases of Elastica."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from tendril.envs.elastica import BENDING_STIFFNESS, LINK_LENGTH, LINKS, RADIUS, ElasticaObstacles
from tendril.envs.geometry import overlap, rotations
from tendril.envs.simulations import Floats


class MusclePlan:
    """Motion through waypoints of the activations, found at the start of the episode and not corrected afterwards.

    In the plane, evolution finds it with the simulation as the model. In space, evolution first finds motions by the
    kinematics, through shapes with little overlap to one with the tip at the target; the simulation picks among these.
    """

    _WAYPOINTS = 4
    _ATTEMPTS = 4  # at most; until a motion reaches the target
    _COUNT, _ELITE = 48, 10  # in the plane: motions in a generation
    _GENERATIONS, _REFINING = 20, 2  # at most; after one in which a motion reaches the target
    _STARTS, _DURATION = 4, 0.3  # in space: motions for the simulation, and s from waypoint to waypoint
    _FORESIGHT = 0.4  # part of the episode that is simulated in the plane
    _CHUNK = 20  # steps of the simulation between looks

    def __init__(self, task: ElasticaObstacles, seed: int) -> None:
        self._step, self._period = 0, task.period
        self._motion = self._found(type(task), seed)

    def __call__(self, observation: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        self._step += 1
        now: npt.NDArray[np.float32] = _at(self._motion[None], self._step * self._period)[0].astype(np.float32)
        return now

    @classmethod
    @functools.cache  # nothing differs between episodes
    def _found(cls, kind: type[ElasticaObstacles], seed: int) -> Floats:
        task, rng = kind(1, 1), np.random.default_rng(seed)
        search = cls._simulated if task.axes == 1 else cls._kinematic
        found: list[tuple[float, Floats]] = []
        while len(found) < cls._ATTEMPTS and not any(total > 0.0 for total, _ in found):  # only at the target it is
            found.append(search(task, rng))
        return max(found, key=lambda one: one[0])[1]

    @classmethod
    def _kinematic(cls, task: ElasticaObstacles, rng: np.random.Generator) -> tuple[float, Floats]:
        """Return and motion of a search in space."""
        kinematics = _Kinematics(task)
        found = np.array([kinematics.motion(cls._WAYPOINTS, rng) for _ in range(cls._STARTS)])
        durations = np.full((len(found), cls._WAYPOINTS, 1), cls._DURATION)
        motions = np.concatenate((found, durations), axis=2)
        returns = cls._returns(type(task)(len(motions), 1), motions, 1.0)
        best = int(np.argmax(returns))
        return float(returns[best]), motions[best]

    @classmethod
    def _simulated(cls, task: ElasticaObstacles, rng: np.random.Generator) -> tuple[float, Floats]:
        """Return and motion of a search in the plane."""
        model, shape = type(task)(cls._COUNT, 1), (cls._COUNT, cls._WAYPOINTS)
        waypoints = 0.4 * rng.normal(size=(*shape, task.actions)).cumsum(axis=1)
        motions = np.concatenate((np.clip(waypoints, -1.0, 1.0), np.exp(rng.uniform(-2.3, -0.2, (*shape, 1)))), axis=2)
        best: list[tuple[float, Floats]] = []
        refined = 0
        for generation in range(cls._GENERATIONS):
            returns = cls._returns(model, motions, cls._FORESIGHT)
            best = sorted([*best, *zip(returns, motions, strict=True)], key=lambda found: -found[0])[: cls._ELITE]
            refined += best[0][0] > 0.0  # only at the target are rewards positive
            if refined > cls._REFINING:
                break
            old = np.array([motion for _, motion in best])
            mothers, fathers = rng.integers(0, cls._ELITE, (2, cls._COUNT))
            motions = np.where(rng.uniform(size=(*shape, 1)) < 0.5, old[mothers], old[fathers])
            spread = 0.5 * 0.93**generation * rng.choice([0.05, 0.2, 0.6], (cls._COUNT, 1, 1))
            change = spread * rng.normal(size=motions.shape)
            waypoints = np.clip(motions[:, :, :-1] + change[:, :, :-1], -1.0, 1.0)
            durations = np.clip(motions[:, :, -1:] * np.exp(change[:, :, -1:]), 0.05, 1.2)
            motions = np.concatenate((waypoints, durations), axis=2)
        return best[0]

    @classmethod
    def _returns(cls, model: ElasticaObstacles, motions: Floats, part: float) -> Floats:
        """Returns of motions, (n, waypoints, activations and duration), in a part of an episode of the simulation."""
        numbers, returns = np.arange(model.count), np.zeros(model.count)
        model.batch.reset(numbers, -1, 0)
        model.batch.forward(numbers)
        model.begin(slice(None))
        for chunk in range(int(part * model.steps) // cls._CHUNK):
            actions = _at(motions, (chunk + 0.5) * cls._CHUNK * model.period)
            failed = model.step(slice(None), numbers, actions, cls._CHUNK)
            rewards = model.judge(slice(None), actions)[0]
            rewards[failed] = np.nan
            returns += np.where(np.isfinite(rewards), rewards, -10.0)
        return returns


def _at(motions: Floats, time: float) -> Floats:
    """Activations of motions at a time; they begin at zero and change evenly from waypoint to waypoint."""
    activations, ends = motions[:, :, :-1], motions[:, :, -1].cumsum(axis=1)
    whole = np.concatenate((np.zeros_like(activations[:, :1]), activations), axis=1)
    begins = np.concatenate((np.zeros_like(ends[:, :1]), ends[:, :-1]), axis=1)
    parts = np.clip((time - begins) / (ends - begins), 0.0, 1.0)[:, :, None]
    now: Floats = (parts * np.diff(whole, axis=1)).sum(axis=1)
    return now


class _Kinematics:
    """Motions through shapes at rest.

    At rest, the bend of a hinge follows from the couples beyond it, because all of them turn with the rod.
    """

    _PARTS = 6  # shapes that are looked at on the way to a waypoint
    _COUNT, _ELITE, _GENERATIONS = 160, 20, 60
    _LARGEST = 0.5  # activation

    def __init__(self, task: ElasticaObstacles) -> None:
        self._target, self._axes, self._actions = task.mocap_pos[0, 0].copy(), task.muscle_axes(), task.actions
        self._obstacles, radius = task.obstacles()
        self._reach = radius + RADIUS
        beyond = task.couples().reshape(LINKS, task.axes, -1)[::-1].cumsum(axis=0)[::-1]
        self._angles = beyond * LINK_LENGTH / BENDING_STIFFNESS  # of hinges for activations, (links, axes, actions)

    def shapes(self, activations: Floats) -> Floats:
        """Ends of links at rest, (n, links, 3)."""
        angles = np.einsum("lxa,na->nlx", self._angles, activations) @ self._axes
        frame, point = np.tile(np.eye(3), (len(angles), 1, 1)), np.zeros((len(angles), 3))
        ends = np.empty((len(angles), LINKS, 3))
        for link in range(LINKS):
            point = point + LINK_LENGTH / 2 * frame[:, :, 2]
            frame = frame @ rotations(angles[:, link])
            point = point + LINK_LENGTH / 2 * frame[:, :, 2]
            ends[:, link] = point
        return ends

    def motion(self, waypoints: int, rng: np.random.Generator) -> Floats:
        """Activations at waypoints, (waypoints, actions)."""
        shape = self._COUNT, waypoints, self._actions
        motions = np.clip(0.15 * rng.normal(size=shape).cumsum(axis=1), -1.0, 1.0)
        costs = self._costs(motions)
        for generation in range(self._GENERATIONS):
            order = np.argsort(costs)[: self._ELITE]
            motions, costs = motions[order], costs[order]
            mothers, fathers = rng.integers(0, self._ELITE, (2, self._COUNT))
            inherited = rng.uniform(size=(self._COUNT, waypoints, 1)) < 0.5
            spread = 0.2 * 0.95**generation * rng.choice([0.03, 0.1, 0.3, 1.0], (self._COUNT, 1, 1))
            young = np.where(inherited, motions[mothers], motions[fathers])
            young = np.clip(young + spread * rng.normal(size=shape), -self._LARGEST, self._LARGEST)
            motions, costs = np.concatenate((motions, young)), np.concatenate((costs, self._costs(young)))
        best: Floats = motions[np.argmin(costs)]
        return best

    def _costs(self, motions: Floats) -> Floats:
        whole = np.concatenate((np.zeros_like(motions[:, :1]), motions), axis=1)
        change = np.diff(whole, axis=1)
        parts = (np.arange(self._PARTS) + 1.0)[:, None] / self._PARTS
        path = whole[:, :-1, None] + parts * change[:, :, None]
        ends = self.shapes(path.reshape(-1, self._actions))
        deep = overlap(ends, self._obstacles, self._reach).reshape(len(motions), -1)
        last = ends.reshape(len(motions), -1, LINKS, 3)[:, -1, -1]
        miss = ((last - self._target) ** 2).sum(axis=1)
        costs: Floats = 300.0 * (deep**2).sum(axis=1) + 100.0 * miss + 0.2 * (change**2).sum(axis=(1, 2))
        return costs
