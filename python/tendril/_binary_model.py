"""The compiled model of a recording, in this process."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from tendril._errors import ModelError
from tendril._program import find_library


@cache
def _library() -> ctypes.CDLL:
    import mujoco  # noqa: F401  # the engine comes first

    library = ctypes.CDLL(str(find_library()))
    library.tendril_bind_plugins.restype = ctypes.c_char_p
    library.tendril_bind_plugins.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_int)
    return library


def load(mjb: bytes, plugins: str, unknown_do_nothing: bool = False) -> Any:
    """The `mujoco.MjModel` of a binary model of any process.

    `plugins` names the plugins of its instances. One that is not loaded raises ModelError, or does nothing. Throws
    ValueError, one line, when the model cannot be one of this version of MuJoCo.
    """
    import mujoco

    buffer = ctypes.create_string_buffer(mjb, len(mjb))
    reason = _library().tendril_bind_plugins(buffer, len(mjb), plugins.encode(), int(unknown_do_nothing)).decode()
    if reason.startswith("recording: "):
        raise ModelError(reason)
    if reason:
        raise ValueError(reason)
    return mujoco.MjModel.from_binary_path("model.mjb", {"model.mjb": buffer.raw})
