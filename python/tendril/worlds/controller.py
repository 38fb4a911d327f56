"""What the controllers of worlds have in common."""

from __future__ import annotations

from typing import Any

import warp as wp

from tendril.worlds.tables import BoundRobot


@wp.struct
class Engine:
    """Arrays of the engine that a measurement reads."""

    qpos_address: wp.array(dtype=int)
    dof_address: wp.array(dtype=int)
    joint_body: wp.array(dtype=int)
    qpos: wp.array2d(dtype=float)
    qvel: wp.array2d(dtype=float)
    xanchor: wp.array2d(dtype=wp.vec3)
    xaxis: wp.array2d(dtype=wp.vec3)
    subtree_com: wp.array2d(dtype=wp.vec3)
    xpos: wp.array2d(dtype=wp.vec3)
    xmat: wp.array2d(dtype=wp.mat33)
    site_xpos: wp.array2d(dtype=wp.vec3)
    site_xmat: wp.array2d(dtype=wp.mat33)
    geom_xpos: wp.array2d(dtype=wp.vec3)
    geom_xmat: wp.array2d(dtype=wp.mat33)
    ten_length: wp.array2d(dtype=float)
    ten_velocity: wp.array2d(dtype=float)
    mocap_pos: wp.array2d(dtype=wp.vec3)
    mocap_quat: wp.array2d(dtype=wp.quat)


def engine_of(model: Any, data: Any) -> Any:
    """The arrays of a model and its data on a device."""
    engine = Engine()
    engine.qpos_address, engine.dof_address = model.jnt_qposadr, model.jnt_dofadr
    engine.joint_body = model.jnt_bodyid
    for key in ("qpos", "qvel", "xanchor", "xaxis", "subtree_com", "xpos", "xmat"):
        setattr(engine, key, getattr(data, key))
    for key in ("site_xpos", "site_xmat", "geom_xpos", "geom_xmat", "ten_length", "ten_velocity"):
        setattr(engine, key, getattr(data, key))
    engine.mocap_pos, engine.mocap_quat = data.mocap_pos, data.mocap_quat
    return engine


class Controller:
    """A controller of one robot in all worlds; `before_actuation` is called between the halves of a step."""

    _bound: BoundRobot
    _told: Any  #: what it reports, a row for each world: `status`, and `progress` and `tip_error` where it has them

    @property
    def name(self) -> str:
        """Of its robot."""
        return self._bound.name

    @property
    def status(self) -> Any:
        """Of each world, (count,): tendril.ControllerStatus."""
        return self._told.status

    def after_step(self, data: Any) -> None:
        """Reads the forces of this step."""
        self._bound.read_forces(data)


class ControllerOfPath(Controller):
    """One with a path, a plan or a task that ends."""

    @property
    def progress(self) -> Any:
        """Of each world on it, (count,), 0 to 1."""
        return self._told.progress
