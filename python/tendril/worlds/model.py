"""Models for engines without Tendril's plugin: the compiled scene without its controllers."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from tendril import ModelError

_NO_NOSLIP = "noslip_iterations > 0 with integrator = discrete"


def refusal(model: mujoco.MjModel) -> str:
    """Why MuJoCo Warp cannot step the model, one line; empty: it can."""
    if model.opt.noslip_iterations > 0 and model.opt.integrator == mujoco.mjtIntegrator.mjINT_DISCRETE:
        return f"{_NO_NOSLIP}: not supported by MuJoCo Warp: must be 0"
    if model.nplugin > 0:
        return "has a plugin: not supported by MuJoCo Warp"
    if model.nflex > 0 and np.any(model.flex_rigid):
        return "has a rigid flex (a shell): not supported by MuJoCo Warp: a tube has walls of capsules"
    return ""


def differing(models: Sequence[mujoco.MjModel], fields: Sequence[str]) -> dict[str, np.ndarray]:
    """The fields whose numbers differ between the models, with one row for each model.

    :param fields: those that may differ
    :raises ModelError: another one does
    """
    first = models[0]
    found = {}
    for name in dir(first):
        value = getattr(first, name)
        if name.startswith("_") or not isinstance(value, np.ndarray):
            continue
        others = [getattr(model, name) for model in models]
        if any(other.shape != value.shape for other in others):
            raise ModelError(f"[vary]: {name} has another size in another world: worlds must have the same elements")
        if all(np.array_equal(other, value) for other in others):
            continue
        if name in fields:
            found[name] = np.stack(others)
        elif np.issubdtype(value.dtype, np.integer):
            raise ModelError(f"[vary]: {name} differs between worlds: worlds must have the same elements")
    for option in ("timestep", "gravity", "impratio", "density", "viscosity", "wind", "integrator"):
        if any(np.any(getattr(model.opt, option) != getattr(first.opt, option)) for model in models):
            raise ModelError(f"[vary]: option.{option} differs between worlds: must be the same")
    return found


def batched_fields(model_type: Any) -> list[str]:
    """The fields of MuJoCo Warp's Model that may have a row for each world."""
    names = []
    for field in dataclasses.fields(model_type):
        shape = getattr(field.type, "shape", ())
        if shape and shape[0] == "*":
            names.append(field.name)
    return names
