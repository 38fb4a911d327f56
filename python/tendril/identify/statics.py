"""Equilibria of arms in free space: Newton's method with the exact tangent, on a compiled model.

Hinges and slides with linear springs; actuators on joints and fixed tendons. Contact, friction and limits of joints
play no part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Point = tuple[int, Array]  #: body, and place in its frame, m
_MOST_STEPS = 60


def _cross(a: Array, b: Array) -> Array:
    """numpy.cross of (n, 3) and (n, 3) or (3), which takes ten times as long."""
    x, y, z = a.T
    u, v, w = b.T
    return np.stack((y * w - z * v, z * u - x * w, x * v - y * u), axis=1)


class Statics:
    """Equilibria of a model under gravity, commands, and dead forces and moments at points of it."""

    def __init__(self, model: Any, points: Sequence[Point], most_parts: int = 200) -> None:
        """`most_parts`: into how many parts loads are divided before it gives up.

        Raises ValueError for what it cannot hold: other joints, spatial tendons, springs of tendons, equalities."""
        self.model, self.data, self.points, self.most_parts = model, mujoco.MjData(model), list(points), most_parts
        m, hinge, slide = model, int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)
        if not np.isin(m.jnt_type, (hinge, slide)).all():
            raise ValueError("must have hinges and slides alone")
        if m.neq or np.any(m.tendon_stiffness) or np.any(m.wrap_type != int(mujoco.mjtWrap.mjWRAP_JOINT)):
            raise ValueError("must have no equalities, no springs of tendons and no spatial tendons")
        self.bodies = np.asarray(m.jnt_bodyid)
        self.is_slide = np.asarray(m.jnt_type == slide)
        self.applied = np.zeros(m.nv)  # constant torques of the joints
        moves = np.zeros((m.nv, m.nbody), dtype=bool)  # whether a joint moves a body
        for body in range(1, m.nbody):
            moves[:, body] = moves[:, m.body_parentid[body]] | (self.bodies == body)
        self.moves = moves
        order = np.arange(m.nv)
        self.earlier: npt.NDArray[np.bool_] = moves[:, self.bodies] & (order[:, None] <= order[None, :])
        self._read_actuators()

    def _read_actuators(self) -> None:
        m, d = self.model, self.data
        mujoco.mj_forward(m, d)
        self.arms = np.zeros((m.nu, m.nv))  # of the actuators' lengths by the joints
        if m.nu:
            mujoco.mju_sparse2dense(self.arms, d.actuator_moment, d.moment_rownnz, d.moment_rowadr, d.moment_colind)
        self.length0 = np.array(d.actuator_length) - self.arms @ m.qpos0
        low_high = np.asarray(m.actuator_forcerange)
        limited = np.asarray(m.actuator_forcelimited, dtype=bool)
        self.lowest = np.where(limited, low_high[:, 0], -np.inf)
        self.highest = np.where(limited, low_high[:, 1], np.inf)
        is_servo = (self.lowest < 0) & (self.highest > 0)
        self.tendon_limits = np.where(
            is_servo, [[-np.inf], [np.inf]], [self.lowest, self.highest]
        )  # of what only pulls or pushes

    def place(self, k: int) -> Array:
        """Returns the position of a point, m, in the world's frame."""
        body, local = self.points[k]
        return np.asarray(self.data.xpos[body] + self.data.xmat[body].reshape(3, 3) @ local)

    def places(self) -> Array:
        """(points, 3)"""
        return np.array([self.place(k) for k in range(len(self.points))]).reshape(-1, 3)

    def frame(self, k: int) -> Array:
        return np.asarray(self.data.xmat[self.points[k][0]]).reshape(3, 3)

    def move_to(self, q: Array) -> None:
        self.data.qpos[:] = q
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)

    def _motions(self, weights: Array | float, levers: Array) -> Array:
        """(nv, 3): of points that lie by `levers` / weight from the joints, per joint, times the weight."""
        axis = self.data.xaxis
        return np.where(self.is_slide[:, None], np.multiply(axis.T, weights).T, _cross(axis, levers))

    def jacobian(self, k: int) -> Array:
        """(3, nv) of a point, where the model is."""
        moved = self.moves[:, self.points[k][0], None]
        return np.asarray(np.where(moved, self._motions(1.0, self.place(k) - self.data.xanchor), 0.0).T)

    def residual_and_tangent(
        self,
        q: Array,
        fraction: float,
        gravity: Array,
        forces: Sequence[Array],
        moments: Sequence[Array],
        ctrl: Array | None = None,
        with_tangent: bool = True,
        servos_limited: bool = True,
    ) -> tuple[Array, Array]:
        """Generalized forces (nv) and their derivative by q (nv, nv); `fraction` multiplies the constant torques and
        the commands."""
        m, d = self.model, self.data
        self.move_to(q)
        axis, anchor = np.asarray(d.xaxis), np.asarray(d.xanchor)
        turning = np.where(self.is_slide[:, None], 0.0, axis)
        mass = np.asarray(m.body_subtreemass)[self.bodies]
        weight = self._motions(mass, mass[:, None] * (d.subtree_com[self.bodies] - anchor))
        generalized = fraction * self.applied - m.jnt_stiffness * (q - m.qpos_spring) + weight @ gravity
        loads = [(gravity, weight)]
        moment = np.zeros((m.nv, 3))
        for k, (force, torque) in enumerate(zip(forces, moments, strict=True)):
            if np.any(force):
                motion = self.jacobian(k).T
                loads.append((force, motion))
                generalized = generalized + motion @ force
            moment += np.where(self.moves[:, self.points[k][0], None], torque, 0.0)
        turned_by_moment = bool(np.any(moment))
        if turned_by_moment:
            generalized = generalized + np.einsum("ij,ij->i", turning, moment)
        softening = np.zeros(m.nu)
        if ctrl is not None:
            force = (
                m.actuator_gainprm[:, 0] * (fraction * ctrl)
                + m.actuator_biasprm[:, 0]
                + m.actuator_biasprm[:, 1] * (self.arms @ q + self.length0)
            )
            lowest, highest = (self.lowest, self.highest) if servos_limited else self.tendon_limits
            softening = np.where((force > lowest) & (force < highest), m.actuator_biasprm[:, 1], 0.0)
            generalized = generalized + np.clip(force, lowest, highest) @ self.arms
        if not with_tangent:
            return generalized, np.empty((0, 0))
        # Of a load f at a point: f . (a_i x c_j) with c_j the motion of the point by joint j, i before j: symmetric.
        tangent = np.zeros((m.nv, m.nv))
        for force, motion in loads:
            if np.any(force):
                block = _cross(turning, -force) @ motion.T  # f . (a x c) = (f x a) . c
                tangent += np.where(self.earlier, block, np.where(self.earlier.T, block.T, 0.0))
        if turned_by_moment:  # a_i m, with a_i turned by the joints before it
            turn = np.einsum("jik,ik->ij", np.cross(turning[:, None, :], turning[None, :, :]), moment)
            tangent += np.where(self.earlier.T, turn, 0.0)
        if np.any(softening):
            tangent += self.arms.T @ (softening[:, None] * self.arms)
        np.fill_diagonal(tangent, tangent.diagonal() - m.jnt_stiffness)
        return generalized, tangent

    def _step(self, tangent: Array, residual: Array) -> Array:
        try:
            return np.asarray(np.linalg.solve(tangent, -residual), dtype=np.float64)
        except np.linalg.LinAlgError:  # what a saturated actuator held is free: as if it were not saturated
            servos = self.arms.T @ (self.model.actuator_biasprm[:, 1, None] * self.arms)
            return np.asarray(np.linalg.lstsq(tangent + servos, -residual)[0], dtype=np.float64)

    def solve(
        self,
        gravity: Array,
        forces: Sequence[Array],
        moments: Sequence[Array],
        ctrl: Array | None = None,
        start: Array | None = None,
        parts: int = 8,
        tolerance: float = 1e-10,
        largest: float = 0.3,
    ) -> Array:
        """Coordinates (nv) under loads and commands that grow from 0, or from `start` under all of them at once.

        Raises ArithmeticError where Newton's method fails.
        """
        q = np.array(self.model.qpos0 if start is None else start, dtype=np.float64)
        scale = float(np.max(self.model.jnt_stiffness, initial=1e-12))
        # Servos that begin at their limits do not say where to go: they are limited at last.
        stages = [(part / parts, False) for part in range(1, parts + 1)] if start is None else []
        for fraction, limited in [*stages, (1.0, True)]:
            scaled = (
                fraction,
                fraction * gravity,
                [fraction * f for f in forces],
                [fraction * t for t in moments],
                ctrl,
                True,
                limited,
            )
            residual, tangent = self.residual_and_tangent(q, *scaled)
            for _ in range(_MOST_STEPS):
                size = np.abs(residual).max()
                if size < tolerance * scale:
                    break
                step = self._step(tangent, residual)
                step *= min(1.0, largest / max(float(np.abs(step).max()), 1e-300))
                for _ in range(4):
                    new = self.residual_and_tangent(q + step, *scaled)
                    if ctrl is None or np.abs(new[0]).max() < size:
                        break
                    step = step / 2  # tendons that become taut or slack
                q, (residual, tangent) = q + step, new
            else:
                if parts < self.most_parts:
                    return self.solve(
                        gravity, forces, moments, ctrl, None, 4 * parts if start is None else 8, tolerance, largest
                    )
                raise ArithmeticError("no equilibrium found")
        if not np.isfinite(q).all():
            raise ArithmeticError("no equilibrium found")
        return q
