"""Policies without learning for published tasks; docs/results/tasks.md has their returns.

policy = tendril.envs.baselines.make_policy(env)  # after env.reset
observation, reward, terminated, truncated, info = env.step(policy(observation))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from tendril.envs.dismech import DisMech, DisMech4D, DisMechFollow
from tendril.envs.elastica import Elastica, ElasticaObstacles
from tendril.envs.environments import VectorEnvironment
from tendril.envs.geometry import limited, overlap, rotation_vector, rotations, transported
from tendril.envs.guidewire import GuidewireArch
from tendril.envs.guidewire_control import GuidewireControl
from tendril.envs.hand_control import FingerGait, GripAndLift, PenControl
from tendril.envs.hands import AntipodalGrip, InHand, InHandInverted, PenSpinner
from tendril.envs.muscle_control import MuscleControl
from tendril.envs.muscle_plan import MusclePlan
from tendril.envs.planar import PlanarReach
from tendril.envs.planar_control import PlanarControl, Sidewinding
from tendril.envs.simulations import Floats, Simulations
from tendril.envs.tasks import SnakeRun
from tendril.envs.two_arm_control import TwoArmControl
from tendril.envs.two_arms import TwoArmBox

Policy = Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float32]]

_SECTIONS, _LINKS = 5, 4  # of the rod, and of a section
_LINK_LENGTH = 0.05  # m
_RADIUS = 0.05  # m
_BASE = np.diag([-1.0, -1.0, 1.0])  # frame of the rod at the origin
_AXES = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # of rotations by bends along the first and the second axis
_BENDING_STIFFNESS = 10e6 * np.pi / 4 * _RADIUS**4  # N m^2
_LINK_WEIGHT = 9.8 * 1000 * np.pi * _RADIUS**2 * _LINK_LENGTH  # N
_BEND_LIMIT = 2.0  # rad, of the natural bend of a section


def make_policy(
    env: gymnasium.Env[Any, Any] | VectorEnvironment, seed: int = 0, row: int = 0, remembers: bool = True
) -> Policy:
    """A policy for the episode that an environment has begun.

    :param seed: of the search among obstacles
    :param row: the simulation of a vector
    :param remembers: false: of a policy that has such a form, the one whose actions follow from the observation alone
    :raises ValueError: the task has no policy
    """
    task = env.unwrapped._simulations.task  # type: ignore[attr-defined]
    if isinstance(task, DisMechFollow):
        return RateControl(moves=True)
    if isinstance(task, DisMech4D):
        return RateControl(turns=True)
    if isinstance(task, DisMech):
        return Plan(task, seed, row)
    if isinstance(task, ElasticaObstacles):
        return MusclePlan(task, seed)
    if isinstance(task, Elastica):
        return MuscleControl(task, remembers)
    if isinstance(task, PlanarReach):
        return PlanarControl(task)
    if isinstance(task, SnakeRun):
        return Sidewinding(task, row)
    if isinstance(task, AntipodalGrip):
        return GripAndLift()
    if isinstance(task, InHandInverted):
        return FingerGait(last=2.8)  # the reward counts angles up to pi
    if isinstance(task, InHand):
        return FingerGait()
    if isinstance(task, PenSpinner):
        return PenControl()
    if isinstance(task, GuidewireArch):
        return GuidewireControl(task, row)
    if isinstance(task, TwoArmBox):
        return TwoArmControl(task)
    raise ValueError(f"env: {type(task).__name__}: must be a task that docs/results/tasks.md lists")


class RateControl:
    """Resolved-rate control of the tip on the observed shape, by damped least squares.

    Bends decay in the null space of the Jacobian, so that the rod stays near its straightest shape.
    """

    _PERIOD, _SCALE = 0.1, 0.05  # s, rad: of an action
    _DAMPING = 0.2
    _TURN_WEIGHT = 0.3  # m

    def __init__(self, moves: bool = False, turns: bool = False) -> None:
        self._moves, self._turns = moves, turns
        self._gain, self._turn_gain, self._decay = (4.0, 0.0, 1.0) if moves else (3.0, 2.0, 0.2)  # 1/s

    def __call__(self, observation: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        whole = observation.astype(np.float64)
        points, rest = whole[:30].reshape(10, 3), whole[60:]
        if self._turns:
            tip_rotation, natural, target, target_rotation = rest[:4], rest[4:19], rest[19:22], rest[22:26]
            jacobian = self._jacobian(points, natural[10:])
        else:
            natural, target = rest[:10], rest[10:13]
            jacobian = self._jacobian(points, np.zeros(_SECTIONS))[:3, :10]
        desired = limited(self._gain * (target - points[-1]), 1.0)
        if self._moves:
            desired = limited(self._gain * (target - points[-1]) + rest[13:16], 1.5)
        if self._turns:
            turn = limited(self._turn_gain * rotation_vector(target_rotation, tip_rotation, 3), 2.0)
            desired = np.concatenate((desired, self._TURN_WEIGHT * turn))
        damped = jacobian @ jacobian.T + self._DAMPING**2 * np.eye(len(desired))
        decay = -self._decay * natural
        rates = decay + jacobian.T @ np.linalg.solve(damped, desired - jacobian @ decay)
        action = rates * self._PERIOD / self._SCALE
        scaled: npt.NDArray[np.float32] = (action / max(1.0, np.abs(action).max())).astype(np.float32)
        return scaled

    def _jacobian(self, points: Floats, twists: Floats) -> Floats:
        """Velocity and weighted angular velocity of the tip for rates of the bends (10) and twists (5)."""
        frames = _frames_along(points)
        jacobian = np.zeros((6, 3 * _SECTIONS))
        turned = np.cumsum(twists) - twists / 2
        for i in range(_SECTIONS):
            middle = 2 * i  # of the section
            frame = (frames[middle] + frames[middle + 1]) / 2
            x, y, tangent = frame.T
            cos, sin = np.cos(turned[i]), np.sin(turned[i])
            axes = np.array([cos * y - sin * x, -cos * x - sin * y, tangent])  # of both bends and the twist
            columns = [2 * i, 2 * i + 1, 2 * _SECTIONS + i]
            jacobian[:3, columns] = np.cross(axes, points[-1] - points[middle]).T
            jacobian[3:, columns] = self._TURN_WEIGHT * axes.T
        return jacobian


class Plan:
    """Search for a motion of the rod around obstacles, with the simulation as the model.

    Shapes that reach the target with little overlap come from the kinematics. In space, so do motions to them. The
    natural bends of a shape are those that hold the weight of the rod. An evolution of the waypoints then maximizes the
    return.
    """

    _WAYPOINTS, _ELITE = 3, 8
    _GAPS = (6, 8, 10)  # steps of an action between waypoints
    _IN_PLANE, _IN_SPACE = (128, 7), (32, 3)  # motions in a generation, and generations
    _SEARCHES = 6  # until one reaches the target
    _STARTS = 8  # of the search in space that knows only the kinematics

    def __init__(self, task: DisMech, seed: int, row: int) -> None:
        self._step = 0
        rng = np.random.default_rng(seed)
        planar = len(task.axes) == 2
        count, generations = self._IN_PLANE if planar else self._IN_SPACE
        target, (obstacles, radius) = task.mocap_pos[row, 0].copy(), task.obstacles(row)
        reach = radius + _RADIUS
        simulations = Simulations(type(task), count, 0)
        self._return, self._actions = -np.inf, np.zeros((1, task.actions), dtype=np.float32)
        for _ in range(self._SEARCHES):
            shapes = _shapes(target, obstacles, reach, planar, rng)
            natural: Floats
            if planar:
                natural = _random_ways(_holding(shapes)[..., :1], count, self._WAYPOINTS, rng)
            else:
                found = [_clear_ways(shapes, obstacles, reach, self._WAYPOINTS, rng) for _ in range(self._STARTS)]
                ways = np.concatenate(found * (count // len(found)))
                natural = _holding(ways.reshape(-1, _SECTIONS, 2)).reshape(ways.shape)
            natural = natural.reshape(count, self._WAYPOINTS, -1)
            self._evolve(simulations.task, task.batch.state[row].copy(), natural, generations, rng)
            if self._return > 0.0:  # only at the target are rewards positive
                break

    def __call__(self, observation: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        action: npt.NDArray[np.float32] = self._actions[min(self._step, len(self._actions) - 1)]
        self._step += 1
        return action

    def _evolve(self, task: Any, state: Floats, ways: Floats, generations: int, rng: np.random.Generator) -> None:
        """Takes the motion with the largest return, if it is larger than before."""
        count = len(ways)
        gaps = rng.choice(self._GAPS, count)
        best: list[tuple[float, Floats, int, npt.NDArray[np.float32]]] = []
        for generation in range(generations):
            actions = self._motions(task, np.clip(ways, -_BEND_LIMIT, _BEND_LIMIT), gaps)
            returns = _returns(task, state, actions)
            best += [(returns[i], ways[i].copy(), gaps[i], actions[i]) for i in range(count)]
            best = sorted(best, key=lambda found: -found[0])[: self._ELITE]
            mothers, fathers = rng.integers(0, len(best), (2, count))
            inherited = rng.uniform(size=(count, self._WAYPOINTS, 1)) < 0.5
            old = np.array([found[1] for found in best])
            spread = 0.5 * 0.85**generation * rng.choice([0.1, 0.3, 1.0], (count, 1, 1))
            ways = np.where(inherited, old[mothers], old[fathers]) + spread * rng.normal(size=ways.shape)
            gaps = np.array([found[2] for found in best])[mothers]
        if best[0][0] > self._return:
            self._return, _, _, self._actions = best[0]

    @staticmethod
    def _motions(task: Any, ways: Floats, gaps: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Actions, (ways, steps, actions), which move natural bends through waypoints as fast as they may."""
        whole = np.concatenate((np.zeros_like(ways[:, :1]), ways), axis=1)
        rows, now = np.arange(len(ways)), np.zeros_like(ways[:, 0])
        actions = np.zeros((len(ways), task.steps, task.actions), dtype=np.float32)
        for step in range(task.steps):
            place = np.minimum((step + 1) / gaps, ways.shape[1])
            last = np.minimum(place.astype(np.int64), ways.shape[1] - 1)
            part = (place - last)[:, None]
            goal = (1.0 - part) * whole[rows, last] + part * whole[rows, last + 1]
            actions[:, step] = np.clip((goal - now) / task.scale, -1.0, 1.0)
            now += task.scale * actions[:, step]
        return actions


def _returns(task: Any, state: Floats, actions: npt.NDArray[np.float32]) -> Floats:
    """Returns of actions, (simulations, steps, actions), from a state."""
    rows = np.arange(task.count)
    task.batch.state[:] = state
    returns = np.zeros(task.count)
    for step in range(task.steps):
        now = actions[:, step].astype(np.float64)
        failed = task.step(slice(None), rows, now)
        rewards = task.judge(slice(None), now)[0]
        rewards[failed] = np.nan
        returns += np.where(np.isfinite(rewards), rewards, -10.0)
    return returns


def _shapes(target: Floats, obstacles: Floats, reach: float, planar: bool, rng: np.random.Generator) -> Floats:
    """Bends of shapes, (12, 5, 2), whose tip is at a target and whose axis is `reach` away from axes of obstacles.

    The cross-entropy method from random shapes; the best of twice as many.
    """
    count, samples = 24, 64
    free = np.array([1.0, 0.0]) if planar else np.ones(2)
    mean = free * 0.7 * rng.normal(size=(count, _SECTIONS, 2))
    spread = np.broadcast_to(0.6 * free, mean.shape)
    for _ in range(60):
        tried = mean[:, None] + spread[:, None] * rng.normal(size=(count, samples, _SECTIONS, 2))
        tried = np.clip(tried, -_BEND_LIMIT, _BEND_LIMIT)
        costs = _cost(tried.reshape(-1, _SECTIONS, 2), target, obstacles, reach).reshape(count, samples)
        elite = np.take_along_axis(tried, np.argsort(costs, axis=1)[:, :8, None, None], axis=1)
        mean = 0.8 * elite.mean(axis=1) + 0.2 * mean
        spread = 0.8 * elite.std(axis=1) + 0.2 * spread + 0.003 * free
    return mean[np.argsort(_cost(mean, target, obstacles, reach))[: count // 2]]


def _cost(bends: Floats, target: Floats, obstacles: Floats, reach: float) -> Floats:
    ends = _chain(bends)[0]
    cost: Floats = (
        100.0 * ((ends[:, -1] - target) ** 2).sum(axis=1)
        + 100.0 * (overlap(ends, obstacles, reach + 0.01) ** 2).sum(axis=1)
        + 0.01 * (bends**2).sum(axis=(1, 2))
    )
    return cost


def _random_ways(shapes: Floats, count: int, waypoints: int, rng: np.random.Generator) -> Floats:
    """Waypoints, (count, waypoints, 5, 2): random shapes, the last but one halfway to the last, which is given."""
    ways = rng.normal(size=(count, waypoints, *shapes.shape[1:]))
    ways[:, -1] = shapes[np.arange(count) % len(shapes)]
    ways[:, -2] = (ways[:, -2] + ways[:, -1]) / 2
    return ways


def _clear_ways(shapes: Floats, obstacles: Floats, reach: float, waypoints: int, rng: np.random.Generator) -> Floats:
    """Waypoints of a short motion from the straight rod to a shape with little overlap, (1, waypoints, 5, 2)."""
    count, elite, parts, longest = 128, 16, 10, 1.4
    between = (np.arange(parts) + 1)[:, None, None] / parts

    def cost(ways: Floats) -> Floats:
        whole = np.concatenate((np.zeros_like(ways[:, :1]), ways), axis=1)
        change = whole[:, 1:] - whole[:, :-1]
        path = whole[:, :-1, None] + between * change[:, :, None]
        deep = overlap(_chain(path.reshape(-1, _SECTIONS, 2))[0], obstacles, reach).reshape(len(ways), -1)
        beyond = np.maximum(np.abs(change).max(axis=(2, 3)) - longest, 0.0)
        total: Floats = (
            1000.0 * (deep**2).sum(axis=1) + 0.5 * (beyond**2).sum(axis=1) + 0.002 * (change**2).sum(axis=(1, 2, 3))
        )
        return total

    ways = _random_ways(shapes, count, waypoints, rng)
    costs = cost(ways)
    for generation in range(30):
        order = np.argsort(costs)[:elite]
        ways, costs = ways[order], costs[order]
        mothers, fathers = rng.integers(0, elite, (2, count))
        inherited = rng.uniform(size=(count, waypoints, 1, 1)) < 0.5
        spread = 0.5 * 0.96**generation * rng.choice([0.03, 0.1, 0.3, 1.0], (count, 1, 1, 1))
        young = np.where(inherited, ways[mothers], ways[fathers])
        young[:, :-1] += spread * rng.normal(size=young[:, :-1].shape)
        young = np.clip(young, -_BEND_LIMIT, _BEND_LIMIT)
        ways, costs = np.concatenate((ways, young)), np.concatenate((costs, cost(young)))
    return ways[np.argsort(costs)[:1]]


def _chain(bends: Floats) -> tuple[Floats, Floats, Floats]:
    """Ends of links, (shapes, 21, 3), hinges, (shapes, 20, 3), and axes of both bends there, (shapes, 20, 2, 3)."""
    frame, point = np.tile(_BASE, (len(bends), 1, 1)), np.zeros((len(bends), 3))
    ends, hinges, axes = [point], [], []
    for section in range(_SECTIONS):
        turn = rotations(bends[:, section] @ _AXES / _LINKS)
        for _ in range(_LINKS):
            point = point + _LINK_LENGTH / 2 * frame[:, :, 2]
            hinges.append(point)
            axes.append(np.stack((frame[:, :, 1], -frame[:, :, 0]), axis=1))
            frame = frame @ turn
            point = point + _LINK_LENGTH / 2 * frame[:, :, 2]
            ends.append(point)
    return np.stack(ends, axis=1), np.stack(hinges, axis=1), np.stack(axes, axis=1)


def _holding(bends: Floats) -> Floats:
    """Natural bends with which the rod rests in a shape under its weight."""
    ends, hinges, axes = _chain(bends)
    middles = (ends[:, 1:] + ends[:, :-1]) / 2
    natural = bends.copy()
    for hinge in range(_SECTIONS * _LINKS):
        arms = middles[:, hinge:] - hinges[:, hinge, None]
        moment = np.cross(arms, [0.0, 0.0, -_LINK_WEIGHT]).sum(axis=1)
        natural[:, hinge // _LINKS] -= (
            np.einsum("nkj,nj->nk", axes[:, hinge], moment) * _LINK_LENGTH / _BENDING_STIFFNESS
        )
    return np.clip(natural, -_BEND_LIMIT, _BEND_LIMIT)


def _frames_along(points: Floats) -> list[Floats]:
    """Frames without twist that end at points of the rod."""
    ways = np.diff(points, axis=0, prepend=0.0)
    return transported(_BASE, (way / np.linalg.norm(way) for way in ways))
