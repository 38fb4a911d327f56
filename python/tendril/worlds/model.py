"""Models for engines without Tendril's plugin: the compiled scene without its controllers."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np

from tendril import ModelError

_FOLDERS = ("meshdir", "texturedir", "assetdir")
_NO_NOSLIP = "noslip_iterations > 0 with integrator = discrete"


def plain_model(mjcf: str, folder: Path) -> mujoco.MjModel:
    """The model of an MJCF text without controllers and their sensors; all other elements keep their numbers.

    :param folder: of the scene, for files that it names
    """
    root = ElementTree.fromstring(mjcf)
    for parent in list(root.iter()):
        for child in list(parent):
            is_controller = child.tag == "plugin" and parent.tag in ("body", "sensor")
            if is_controller or (parent is root and child.tag == "extension"):
                parent.remove(child)
    compiler = root.find("compiler")
    if compiler is None:
        compiler = ElementTree.SubElement(root, "compiler")
    if "assetdir" not in compiler.attrib:
        for key in _FOLDERS[:2]:
            compiler.set(key, str(folder.absolute() / compiler.get(key, "")))
    else:
        compiler.set("assetdir", str(folder.absolute() / compiler.attrib["assetdir"]))
    return mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))


def refusal(model: mujoco.MjModel) -> str:
    """Why MuJoCo Warp cannot step the model, one line; empty: it can."""
    if model.opt.noslip_iterations > 0 and model.opt.integrator == mujoco.mjtIntegrator.mjINT_DISCRETE:
        return f"{_NO_NOSLIP}: not supported by MuJoCo Warp: must be 0"
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
