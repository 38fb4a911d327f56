"""Models for engines without Tendril's plugin: the compiled scene without its controllers."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import mujoco
import mujoco_warp as mjw
import numpy as np
import numpy.typing as npt
import warp as wp

from tendril import ModelError

Numbers = dict[str, npt.NDArray[Any]]  #: by the names of fields
GRAVITY = "gravity"  #: of the options, as a field

_NO_NOSLIP = "noslip_iterations > 0 with integrator = discrete"
#: methods of the engine's constraint solver
SOLVERS = {"newton": mujoco.mjtSolver.mjSOL_NEWTON, "cg": mujoco.mjtSolver.mjSOL_CG}
_STIFFEST = 50.0  # friction across a pair's first direction, of the normal direction, that Newton's method bears
_CG_ITERATIONS = 400  # at least


def refusal(model: mujoco.MjModel) -> str:
    """Why MuJoCo Warp cannot step the model, one line; empty: it can."""
    if model.opt.noslip_iterations > 0 and model.opt.integrator == mujoco.mjtIntegrator.mjINT_DISCRETE:
        return f"{_NO_NOSLIP}: not supported by MuJoCo Warp: must be 0"
    if model.nplugin > 0:
        return "has a plugin: not supported by MuJoCo Warp"
    if model.nflex > 0 and np.any(model.flex_rigid):
        return "has a rigid flex (a shell): not supported by MuJoCo Warp: a tube has walls of capsules"
    return ""


def use_solver(model: mujoco.MjModel, solver: str | None) -> None:
    """Sets the method of the constraint solver.

    MuJoCo Warp's Newton method factors a matrix in float32. Friction that is much stiffer than the contact makes it
    indefinite, and the numbers NaN. Conjugate gradients factor nothing, and take more iterations.

    :param solver: "newton" or "cg"; default: cg where friction across a pair's first direction is as stiff as that
    :raises ModelError: another one
    """
    if solver is not None and solver not in SOLVERS:
        raise ModelError(f"solver: {solver}: must be {' or '.join(SOLVERS)}")
    along, across = model.pair_friction[model.pair_dim >= 3, :2].T
    ratio = float(np.max(across / np.maximum(along, mujoco.mjMINVAL), initial=1.0))
    too_stiff = ratio > 1.0 and model.opt.impratio * ratio**2 > _STIFFEST
    if solver is not None or too_stiff:
        model.opt.solver = SOLVERS[solver or "cg"]
    if model.opt.solver == mujoco.mjtSolver.mjSOL_CG:
        model.opt.iterations = max(model.opt.iterations, _CG_ITERATIONS)


def differing(models: Sequence[mujoco.MjModel], fields: Sequence[str]) -> Numbers:
    """The fields whose numbers differ between the models, with one row for each model.

    :param fields: those that may differ
    :raises ModelError: another one does
    """
    first = models[0]
    for name in dir(first):
        value = getattr(first, name)
        if name.startswith("_") or not isinstance(value, np.ndarray):
            continue
        others = [getattr(model, name) for model in models]
        if any(other.shape != value.shape for other in others):
            raise ModelError(f"[vary]: {name} has another size in another world: worlds must have the same elements")
        if np.issubdtype(value.dtype, np.integer) and name not in fields:
            if not all(np.array_equal(other, value) for other in others):
                raise ModelError(f"[vary]: {name} differs between worlds: worlds must have the same elements")
    for option in ("timestep", "impratio", "density", "viscosity", "wind", "integrator"):
        if any(np.any(getattr(model.opt, option) != getattr(first.opt, option)) for model in models):
            raise ModelError(f"[vary]: option.{option} differs between worlds: must be the same")
    return what_differs([numbers_of(model, fields) for model in models])


def what_differs(numbers: Sequence[Numbers]) -> Numbers:
    """The fields that are not the same in all of them, with one row for each."""
    rows = {name: [one[name] for one in numbers] for name in numbers[0]}
    return {name: np.stack(row) for name, row in rows.items() if any(not np.array_equal(one, row[0]) for one in row)}


def numbers_of(model: mujoco.MjModel, fields: Sequence[str]) -> Numbers:
    """Views of those fields that MuJoCo's model has, and of gravity."""
    return {name: getattr(model, name) for name in fields if hasattr(model, name)} | {GRAVITY: model.opt.gravity}


_FLAT = (mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_CYLINDER, mujoco.mjtGeom.mjGEOM_MESH)
_ROWS = {mujoco.mjtEq.mjEQ_CONNECT: 3, mujoco.mjtEq.mjEQ_WELD: 6}  # of an equality; others: 1


@dataclasses.dataclass(frozen=True)
class Room:
    """For contacts and constraint rows of a world; None: as of `enough`."""

    contacts: int | None = None
    constraints: int | None = None

    def enough(self, model: mujoco.MjModel) -> Room:
        """What is not given by the model, on the present device, and at least the engine's own estimate.

        Each geom that moves may lie on a plane, a capsule by both ends, one with faces by four corners, and touch
        another one. All limits and friction count.
        """
        estimate = mjw.make_data(model, nworld=1)
        collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
        collides[model.pair_geom1] = collides[model.pair_geom2] = True
        moves = collides & (model.body_weldid[model.geom_bodyid] != 0)
        contacts = self.contacts
        if contacts is None:
            corners = 3 * np.sum(moves) + 2 * np.sum(moves & np.isin(model.geom_type, _FLAT))
            contacts = max(int(estimate.naconmax), int(corners))
        dimension = max(model.geom_condim[collides].max(initial=1), model.pair_dim.max(initial=1))
        rows = dimension if model.opt.cone == mujoco.mjtCone.mjCONE_ELLIPTIC else max(1, 2 * (dimension - 1))
        equalities = sum(_ROWS.get(mujoco.mjtEq(kind), 1) for kind in model.eq_type)
        friction = np.sum(model.dof_frictionloss > 0.0) + np.sum(model.tendon_frictionloss > 0.0)
        limits = np.sum(model.jnt_limited) + np.sum(model.tendon_limited)
        constraints = max(int(estimate.njmax), int(equalities + friction + limits + rows * contacts))
        return Room(contacts, constraints if self.constraints is None else self.constraints)


def require_fit(model: mujoco.MjModel, count: int, device: Any, option: str, room: Room = Room()) -> Room:
    """Returns the room that worlds get.

    :param option: that gives the count, for messages
    :raises ModelError: what the engine cannot step, and worlds that do not fit into the memory
    """
    if line := refusal(model):
        raise ModelError(line)
    with wp.ScopedDevice(device), memory_told(option, 1, device):
        room = room.enough(model)
        one = _size(mjw.make_data(model, nworld=1, nconmax=room.contacts, njmax=room.constraints))
    free = _free_memory(device)
    if free is not None and count * one > free:
        raise ModelError(
            f"{option}: {count}: needs {count * one / 1e9:.3g} GB, {one / 1e6:.3g} MB a world, but {device} has "
            f"{free / 1e9:.3g} GB free: must be at most {free // one}"
        )
    return room


def on_device(
    models: Sequence[mujoco.MjModel],
    count: int,
    room: Room,
    changing: Collection[str] = (),
    solver: str | None = None,
) -> tuple[mujoco.MjModel, Any, Any]:
    """The first model as it is stepped, MuJoCo Warp's of it on the present device, and data of `count` worlds.

    :param models: one, or one for each world
    :param changing: fields that get a row for each world
    :param solver: as of `use_solver`
    """
    model = copy.copy(models[0])
    use_solver(model, solver)
    model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)  # which Warp has not
    fields = batched_fields(mjw.Model)
    rows = differing(models, fields)
    own = numbers_of(model, fields)
    rows |= {name: np.stack([own[name]] * count) for name in changing if name not in rows}
    sizes = {name: len(value) for name, value in rows.items() if name != GRAVITY}
    put = mjw.put_model(model, batch_sizes=sizes)
    for name in sizes:
        getattr(put, name).assign(rows[name])
    if GRAVITY in rows:  # of the options, which put_model leaves alone
        put.opt.gravity = wp.array(rows[GRAVITY], dtype=wp.vec3)
        put.opt.gravity._is_batched = True
    put.opt.warn_overflow = 0  # Data.overflow tells
    return model, put, mjw.make_data(model, nworld=count, nconmax=room.contacts, njmax=room.constraints)


@contextmanager
def memory_told(option: str, count: int, device: Any) -> Iterator[None]:
    """Makes one line of what Warp raises where memory runs out, or where the engine lacks something."""
    try:
        yield
    except NotImplementedError as error:
        raise ModelError(f"device: {device}: {error}") from None
    except RuntimeError as error:
        if "allocate" not in str(error):
            raise
        raise ModelError(f"{option}: {count}: does not fit into the memory of {device}: {error}") from None


def _size(data: Any) -> int:
    """Bytes of the arrays of a structure."""
    if isinstance(data, wp.array):
        return int(data.capacity)
    return sum(_size(getattr(data, field.name)) for field in dataclasses.fields(data)) if _is_struct(data) else 0


def _is_struct(data: Any) -> bool:
    return dataclasses.is_dataclass(data) and not isinstance(data, type)


def _free_memory(device: Any) -> int | None:
    """Bytes; None: unknown."""
    if device.is_cuda:
        return int(device.free_memory)
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            return next(1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return None


def batched_fields(model_type: Any) -> list[str]:
    """The fields of MuJoCo Warp's Model that may have a row for each world."""
    names = []
    for field in dataclasses.fields(model_type):
        shape = getattr(field.type, "shape", ())
        if shape and shape[0] == "*":
            names.append(field.name)
    return names


def flat(array: Any, count: int) -> Any:
    """The numbers of an array of numbers, vectors or matrices, a row for each of `count` worlds: a view."""
    assert array.shape[0] == count and array.is_contiguous
    number = getattr(array.dtype, "_wp_scalar_type_", array.dtype)
    width = array.size * wp.types.type_size_in_bytes(array.dtype) // wp.types.type_size_in_bytes(number) // count
    view = wp.array(ptr=array.ptr, dtype=number, shape=(count, width), device=array.device)
    view._ref = array  # which it keeps alive
    return view
