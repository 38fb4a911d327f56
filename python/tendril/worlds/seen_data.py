"""The engine's data as they would be if a robot were where its sensors tell."""

from __future__ import annotations

import dataclasses
from typing import Any

import mujoco_warp as mjw
import warp as wp

#: what a controller measures, and what `place` computes
_OWN = ("qpos", "qvel", "xpos", "xquat", "xmat", "xanchor", "xaxis", "xipos", "ximat", "subtree_com", "cinert", "cdof")
_OWN += ("geom_xpos", "geom_xmat", "site_xpos", "site_xmat", "flexvert_xpos", "ten_length", "ten_velocity")


class SeenData:
    def __init__(self) -> None:
        self.data: Any = None  #: mujoco_warp.Data, whose other arrays are those of the true data

    def copy(self, true: Any) -> Any:
        """Makes them those of the true data, and returns them."""
        if self.data is None:
            self.data = dataclasses.replace(true, **{key: wp.empty_like(getattr(true, key)) for key in _OWN})
        for key in _OWN:
            wp.copy(getattr(self.data, key), getattr(true, key))
        return self.data

    def place(self, model: Any) -> None:
        """Places all bodies by `qpos`."""
        mjw.kinematics(model, self.data)
        mjw.com_pos(model, self.data)
