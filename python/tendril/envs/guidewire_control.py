"""A policy without learning for the guidewire: its tip turns to the path ahead, and aside after it has missed it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tendril.envs.guidewire import GuidewireArch
from tendril.envs.simulations import Floats


class GuidewireControl:
    """The steps of the controller `tendril.steer` for a wire, with the pose of the tip and the centerline in space.

    The base turns until the bend of the tip points to the path ahead, and feeds meanwhile. When the tip presses, or the
    feed makes no progress, the wire is withdrawn to the path, farther at each attempt at a place, and turned aside.
    """

    _TIP, _SPACING = 0.02, 0.001  # m, length of the bent tip, spacing of the points of the path
    _AHEAD, _WINDOW = 20, 15  # points of the path: in a length of the tip, and around the last place on it
    _LOST = 100  # points behind that place, where a tip that has left the path may be on it again
    _TURN_GAIN, _LEAST_AIMED = 4.0, 0.2  # 1/s, of the feed's speed while the wire turns
    _ON_PATH = 1.5  # radii from the path: the tip is in its lumen
    _FORCE, _PRESSED, _JAM = 0.3, 0.9, 0.3  # N; of it, and s: a jam
    _MISSED = 0.5  # tip lengths, fed without progress
    _ASIDE, _RETREATS, _RETREAT = 1.0, 4, 0.5  # rad; longer and longer ones; tip lengths

    def __init__(self, task: GuidewireArch, row: int) -> None:
        self._task, self._row = task, row
        drawn = task.vessels(row)
        coarse = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(drawn.path, axis=0), axis=1))))
        s = np.arange(0.0, coarse[-1], self._SPACING)
        self._path = np.stack([np.interp(s, coarse, axis) for axis in drawn.path.T], axis=1)
        self._radii = np.array([drawn.radii[drawn.nearest(place)] for place in self._path])
        self._head = self._near(task.sensors[row, :3], 0, len(s))
        self._on_path, self._farthest, self._fed, self._pressed = True, self._head, 0.0, 0.0
        self._tries, self._missed_at, self._back_to = 0, -self._AHEAD, -1.0

    def __call__(self, observation: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        task = self._task
        sensors, feed = task.sensors[self._row], float(task.ctrl[self._row, 0])
        force = float(np.linalg.norm(sensors[14:17]))
        self._locate(sensors[:3])
        turning, aimed = self._turn(sensors[:3], sensors[6:9], sensors[9:12])
        self._judge(feed, force)
        slow = max(0.0, 1.0 - force / self._FORCE)
        rate = -max(self._LEAST_AIMED, slow) if self._back_to >= 0.0 else slow * aimed
        action: npt.NDArray[np.float32] = np.array([rate, turning / task.rates[1]]).clip(-1.0, 1.0).astype(np.float32)
        return action

    def _near(self, place: Floats, first: int, last: int) -> int:
        return first + int(np.argmin(((self._path[first:last] - place) ** 2).sum(axis=1)))

    def _locate(self, tip: Floats) -> None:
        """Where the tip is on the path, if it is in its lumen."""
        behind = self._WINDOW if self._on_path else self._LOST
        near = self._near(tip, max(0, self._head - behind), self._head + self._WINDOW)
        self._on_path = bool(np.linalg.norm(tip - self._path[near]) < self._ON_PATH * self._radii[near])
        if self._on_path:
            self._head = near

    def _turn(self, tip: Floats, start: Floats, tangent: Floats) -> tuple[float, float]:
        """Turn rate, and the part of the feed's speed that the angle which is left allows."""
        ahead = self._path[min(self._head + self._AHEAD, len(self._path) - 1)] - start
        bent, desired = (one - tangent * (tangent @ one) for one in (tip - start, ahead))
        again = self._tries if self._head < self._missed_at + self._AHEAD else 0
        aside = self._ASIDE * ((again + 1) // 2) * (1.0 if again % 2 else -1.0)
        angle = float(np.arctan2(tangent @ np.cross(bent, desired), bent @ desired)) + aside
        angle = (angle + np.pi) % (2 * np.pi) - np.pi
        return self._TURN_GAIN * angle, max(self._LEAST_AIMED, float(np.cos(angle)))

    def _judge(self, feed: float, force: float) -> None:
        """Begins and ends retreats."""
        advances = self._head > self._farthest
        is_back = feed <= self._back_to and (self._on_path or feed <= 0.0)
        if self._back_to >= 0.0 and (is_back or advances):
            self._back_to, advances = -1.0, True  # progress counts from here
        if advances:
            self._farthest, self._fed = self._head, feed
        self._pressed = self._pressed + self._task.period if force > self._PRESSED * self._FORCE else 0.0
        if self._back_to >= 0.0:
            return
        if self._pressed > self._JAM or feed > self._fed + self._MISSED * self._TIP:
            same = self._farthest < self._missed_at + self._AHEAD
            self._tries = self._tries + 1 if same else 1
            self._missed_at, self._pressed = self._farthest, 0.0
            length = 1 + (self._tries - 1) % self._RETREATS
            self._back_to = max(0.0, min(feed, self._fed) - length * self._RETREAT * self._TIP)
