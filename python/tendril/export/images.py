"""Images of the states of a recording, as cameras of its scene see them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tendril.export.steps import Steps
from tendril.playback.scene import RecordedScene


def images(steps: Steps, camera: str, rows: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.uint8]]:
    """Draws rows of the recording: RGB, (height, width, 3).

    :param camera: empty: that of pictures
    :raises ModelError: the scene has no such camera
    :raises OSError: nothing draws here
    """
    import mujoco

    from tendril import _sim

    scene = RecordedScene(steps.recording, rows[:1])
    try:
        renderer = _sim.Renderer(scene.model, *steps.choice.size, camera)
    except RuntimeError as error:
        raise OSError(str(error)) from None
    for row in rows:
        scene.place(int(row))
        mujoco.mj_fwdPosition(scene.model, scene.data)
        yield renderer.render(scene.data)
