"""Copies of scenes, also for other processes: `copy` and `pickle` of `tendril.Scene`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tendril import _binary_model, _sim


def reduced_scene(scene: _sim.Scene) -> tuple[Any, ...]:
    """What `pickle` keeps of a scene: its compiled model as bytes, and its texts."""
    import mujoco

    mjb = np.empty(mujoco.mj_sizeModel(scene.model), np.uint8)
    mujoco.mj_saveModel(scene.model, None, mjb)
    plugins = _sim.plugin_names(scene.model)
    return _restored_scene, (mjb.tobytes(), plugins, scene.notices, scene.source_files, scene.model_xml)


def _restored_scene(
    mjb: bytes, plugins: str, notices: list[str], source_files: dict[str, str], model_xml: str
) -> _sim.Scene:
    """Throws ModelError for a controller that this process has not."""
    scene: _sim.Scene = _sim.make_scene(_binary_model.load(mjb, plugins), notices, source_files, model_xml)
    return scene
