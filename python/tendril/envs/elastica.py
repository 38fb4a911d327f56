"""The four cases of Naughton et al. (doi 10.1109/LRA.2021.3063698) on our bodies; docs/guide/environments.md.

Muscles apply couples along a passive rod. Their density about an axis of the rod is a cubic spline, which is zero at
both ends and has the values of the action at control points.
"""

from __future__ import annotations

from typing import Any, ClassVar

import mujoco
import numpy as np

from tendril.envs.simulations import Flags, Floats, Processor, Rows, Task, norm

LINKS = 20
LINK_LENGTH = 1.0 / LINKS  # m
RADIUS = 0.05  # m
BENDING_STIFFNESS = 10e6 * np.pi / 4 * RADIUS**4  # N m^2
_POINTS = 10  # of the rod that are observed beside its base, 0.1 m apart; the last one is the tip
_NEAR = 0.05  # m
DRAG = 30.0  # for each m of the rod: N m s/rad against its turning in the world, N s/m against its motion
MUSCLE = 75.0  # N m, of a published element
_BOX = np.array([[-0.6, 0.6], [-0.6, 0.6], [0.3, 0.9]])  # m, of targets
_EVEN = {count: tuple(np.arange(1, count + 1) / (count + 1)) for count in (4, 6)}  # control points


def spline_weights(points: tuple[float, ...], places: Floats) -> Floats:
    """Values at `places`, in [0, 1], of the cubic splines that are 1 at one of `points` and 0 at the others and at the
    ends, (places, points); not-a-knot."""
    whole = np.array([0.0, *points, 1.0])

    def basis(x: Floats) -> Floats:
        cubes = np.maximum(x[:, None] - whole[2:-2], 0.0) ** 3
        return np.concatenate((x[:, None] ** np.arange(4), cubes), axis=1)

    weights: Floats = basis(places) @ np.linalg.inv(basis(whole))[:, 1:-1]
    return weights


class Elastica(Task):
    """A clamped rod with muscles. Actions are the activations of the control points, one axis after the other."""

    period = 0.0014
    axes: ClassVar[int]  #: of a link, about which muscles act: the first ones of x, y and the tangent
    points: ClassVar[tuple[float, ...]]  #: places of the control points on the rod
    elements: ClassVar[int] = 20  #: of the published rod, each with a muscle
    change: ClassVar[float] = np.inf  #: largest one of an activation in a step
    signs: ClassVar[tuple[float, ...]] = (1.0, 1.0, 1.0)  #: of the axes
    order: ClassVar[tuple[int, ...]] = (
        0,
        1,
        2,
    )  #: the axes of the link that are the published normal, binormal, tangent

    def __init__(self, count: int, processor: Processor) -> None:
        super().__init__(count, processor)
        self._activation = np.zeros((count, self.actions))
        self._couples = self.couples()

    @classmethod
    def spans(cls) -> tuple[Floats, Floats]:
        """Middles and lengths of the parts of the rod that links are, which begin at the middles of published ones."""
        middles: Floats = (np.arange(LINKS, dtype=np.float64) + 1.0) * LINK_LENGTH
        lengths: Floats = np.full(LINKS, LINK_LENGTH)
        middles[-1], lengths[-1] = 1.0 - LINK_LENGTH / 4, LINK_LENGTH / 2
        return middles, lengths

    @classmethod
    def couples(cls) -> Floats:
        """Couples on the links about their axes for activations, N m, (links x axes, actions)."""
        middles, lengths = cls.spans()
        along = MUSCLE * cls.elements * lengths[:, None] * spline_weights(cls.points, middles)
        return np.concatenate([np.kron(along, np.eye(cls.axes)[:, [axis]]) for axis in range(cls.axes)], axis=1)

    @classmethod
    def muscle_axes(cls) -> Floats:
        """Axes of a link about which muscles act, (axes, 3)."""
        axes: Floats = np.array(cls.signs)[:, None] * np.eye(3)[list(cls.order)]
        return axes[: cls.axes]

    def load(self) -> mujoco.MjModel:
        """The scene, with muscles and drag of the links, and sensors of the points."""
        spec, axes = mujoco.MjSpec.from_string(self.compiled().model_xml), self.muscle_axes()
        for link, length in enumerate(self.spans()[1]):
            body = spec.body(f"rod_s1_l{link + 1}")
            body.add_site(name=f"link_{link + 1}", group=4)
            for axis in range(self.axes):
                motor = spec.add_actuator(
                    name=f"muscle_{link + 1}_{axis}",
                    target=f"link_{link + 1}",
                    trntype=mujoco.mjtTrn.mjTRN_SITE,
                    biastype=mujoco.mjtBias.mjBIAS_AFFINE,
                )
                motor.gear[:] = [0.0, 0.0, 0.0, *axes[axis]]
                motor.biasprm[2] = -DRAG * length
        for point in range(1, _POINTS + 1):
            place = 2 * point if point < _POINTS else LINKS
            site = spec.body(f"rod_s1_l{place}").add_site(name=f"point_{point}", pos=[0, 0, LINK_LENGTH / 2], group=4)
            spec.add_sensor(type=mujoco.mjtSensor.mjSENS_FRAMEPOS, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=site.name)
        for kind in (mujoco.mjtSensor.mjSENS_FRAMELINVEL, mujoco.mjtSensor.mjSENS_FRAMEQUAT):
            spec.add_sensor(type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=site.name)
        return spec.compile()

    def draw(self, row: int, rng: np.random.Generator) -> None:
        pass

    def begin(self, rows: Rows) -> None:
        self._activation[rows] = 0.0

    def act(self, rows: Rows, actions: Floats) -> None:
        now = self._activation[rows]
        self._activation[rows] = now + np.minimum(np.maximum(actions - now, -self.change), self.change)
        self.ctrl[rows] = np.add.reduce(self._activation[rows][:, None] * self._couples, axis=2)

    def observe(self, rows: Rows) -> Floats:
        sensors = self.sensors[rows]
        rod = sensors[:, : 3 * _POINTS]
        velocity = sensors[:, 3 * _POINTS : 3 * _POINTS + 3]
        return np.concatenate(
            (np.zeros((len(rod), 3)), rod, _speed_and_direction(velocity), *self.targets(rows)), axis=1
        )

    def targets(self, rows: Rows) -> tuple[Floats, ...]:
        """What is observed beside the rod."""
        return (self.mocap_pos[rows, 0],)

    def distance(self, rows: Rows) -> Floats:
        """From the tip to the target."""
        return norm(self.sensors[rows, 3 * _POINTS - 3 : 3 * _POINTS] - self.mocap_pos[rows, 0])

    def judge(self, rows: Rows, actions: Floats) -> tuple[Floats, Flags, dict[str, Any]]:
        distance = self.distance(rows)
        reward = -(distance**2) + 0.5 * (distance <= 2 * _NEAR) + 1.5 * (distance <= _NEAR)
        return (
            reward,
            np.zeros(len(actions), dtype=bool),
            {"is_success": distance <= _NEAR, "tip_error": distance},
        )


def _speed_and_direction(velocity: Floats) -> Floats:
    speed = norm(velocity)[:, None]
    return np.concatenate((speed, velocity / np.where(speed > 0.0, speed, 1.0)), axis=1)


class ElasticaTrack(Elastica):
    """Case 1: the tip to a target that moves at 0.5 m/s and takes a new direction every 0.7 s.

    The target turns back at the faces of the box. As in the public code, one that begins less than its radius from a
    face does not move across it.
    """

    scene, actions, observations, steps = "elastica_track.xml", 12, 44, 7142
    axes, points = 2, _EVEN[6]
    _SPEED = 0.5  # m/s
    _RADIUS = 0.05  # m, of the target, which the box contains
    _TURN = 500  # steps

    def __init__(self, count: int, processor: Processor) -> None:
        super().__init__(count, processor)
        self._velocity, self._free = np.zeros((count, 3)), np.zeros((count, 3), dtype=bool)
        self._directions = np.zeros((count, self.steps // self._TURN + 1, 3))
        self._step = np.zeros(count, dtype=np.int64)

    def draw(self, row: int, rng: np.random.Generator) -> None:
        a, b = rng.uniform(0.0, 2 * np.pi, (2, self._directions.shape[1]))
        self._directions[row] = np.stack((np.cos(b), np.cos(a) * np.sin(b), np.sin(a) * np.sin(b)), axis=1)
        self.mocap_pos[row, 0] = rng.uniform(*_BOX.T)
        self._free[row] = self._within(self.mocap_pos[row, 0])
        self._velocity[row] = self._SPEED * self._directions[row, 0]
        self._step[row] = 0

    def _within(self, positions: Floats) -> Flags:
        inside: Flags = (positions >= _BOX[:, 0] + self._RADIUS) & (positions <= _BOX[:, 1] - self._RADIUS)
        return inside

    def act(self, rows: Rows, actions: Floats) -> None:
        super().act(rows, actions)
        before, velocity = self.mocap_pos[rows, 0], self._velocity[rows]
        after = before + self.period * velocity
        free, within = self._free[rows], self._within(after)
        self.mocap_pos[rows, 0] = np.where(free & within, after, before)
        velocity = np.where(free & ~within, -velocity, velocity)
        step = self._step[rows] + 1
        turned = self._SPEED * self._directions[np.arange(self.count)[rows], step // self._TURN]
        self._velocity[rows] = np.where((step % self._TURN == 0)[:, None], turned, velocity)
        self._step[rows] = np.minimum(step, self.steps)

    def targets(self, rows: Rows) -> tuple[Floats, ...]:
        return self.mocap_pos[rows, 0], _speed_and_direction(self._velocity[rows])


class ElasticaOrient(Elastica):
    """Case 2: the tip to a point, upright, with a yaw; muscles twist the rod too."""

    scene, actions, observations, steps = "elastica_orient.xml", 18, 52, 1428
    axes, points = 3, _EVEN[6]
    _LARGEST_YAW = np.pi / 2

    def draw(self, row: int, rng: np.random.Generator) -> None:
        self.mocap_pos[row, 0] = rng.uniform(*_BOX.T)
        half = rng.uniform(-self._LARGEST_YAW, self._LARGEST_YAW) / 2
        self.mocap_quat[row, 0] = np.cos(half), 0.0, 0.0, np.sin(half)

    def targets(self, rows: Rows) -> tuple[Floats, ...]:
        at_rest = np.zeros((len(self.mocap_pos[rows]), 4))
        return self.sensors[rows, -4:], self.mocap_pos[rows, 0], at_rest, self.mocap_quat[rows, 0]

    def judge(self, rows: Rows, actions: Floats) -> tuple[Floats, Flags, dict[str, Any]]:
        _, ended, infos = super().judge(rows, actions)
        distance = infos["tip_error"]
        off = 1.0 - np.add.reduce(self.sensors[rows, -4:] * self.mocap_quat[rows, 0], axis=1) ** 2
        reward = (
            -(distance**2)
            - 0.5 * off**2
            + 0.5 * (distance <= 2 * _NEAR) * (2.0 - off + (off <= 0.1))
            + 1.5 * (distance <= _NEAR) * (2.0 - off + (off <= 0.05))
        )
        infos["is_success"] &= off <= 0.05
        return reward, ended, infos | {"angle_error": 2.0 * np.arcsin(np.sqrt(np.clip(off, 0.0, 1.0)))}


class ElasticaObstacles(Elastica):
    """The tip past obstacles that are the same in every episode; activations change by at most 100 a second."""

    elements, change = 50, 0.14
    order, signs = (1, 0, 2), (1.0, -1.0, 1.0)
    _SEEN = 5  # points of an obstacle

    def obstacles(self) -> tuple[Floats, float]:
        """Ends of the axes of the obstacles, (n, 2, 3), and their radius, m."""
        geoms = np.flatnonzero((self.model.geom_type == mujoco.mjtGeom.mjGEOM_CAPSULE) & (self.model.geom_bodyid == 0))
        half = np.zeros((len(geoms), 3))
        for place, geom in zip(half, geoms, strict=True):
            mujoco.mju_rotVecQuat(
                place, np.array([0.0, 0.0, self.model.geom_size[geom, 1]]), self.model.geom_quat[geom]
            )
        middles = self.model.geom_pos[geoms]
        return np.stack((middles - half, middles + half), axis=1), float(self.model.geom_size[geoms[0], 0])

    def targets(self, rows: Rows) -> tuple[Floats, ...]:
        target = self.mocap_pos[rows, 0]
        return target, np.broadcast_to(self._seen, (len(target), len(self._seen)))

    def __init__(self, count: int, processor: Processor) -> None:
        super().__init__(count, processor)
        ends = self.obstacles()[0]
        part = np.linspace(0.0, 1.0, self._SEEN)[:, None]
        self._seen = (ends[:, :1] + part * (ends[:, 1:] - ends[:, :1])).ravel()


class ElasticaWall(ElasticaObstacles):
    """Case 3: in the plane, the tip through the gap of a wall of discs, with four control points."""

    scene, actions, observations, steps = "elastica_wall.xml", 4, 160, 3571
    axes, points = 1, _EVEN[4]


class ElasticaNest(ElasticaObstacles):
    """Case 4: the tip through a nest of twelve rods, with two control points."""

    scene, actions, observations, steps = "elastica_nest.xml", 4, 220, 3571
    axes, points = 2, (0.4, 0.9)
