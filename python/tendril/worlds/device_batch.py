"""What environments need of `mujoco.batch.Batch`, with MuJoCo Warp as the engine."""

from __future__ import annotations

from typing import Any

import mujoco
import mujoco_warp as mjw
import numpy as np
import numpy.typing as npt
import warp as wp

from tendril.worlds.model import memory_told, on_device, require_fit
from tendril.worlds.worlds import NO_ROOM, device_of

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]


class DeviceBatch:
    """Simulations of one model on a device; its arrays are on the host, with the numbers of the device's float32."""

    def __init__(self, model: mujoco.MjModel, count: int, device: str) -> None:
        """
        :param device: such as "cpu" or "cuda:0"
        :raises ModelError: one line, for a device that is not there, and for what has no equal on a device
        """
        self._device, self._count = device_of(device), count
        room = require_fit(model, count, self._device, "num_envs")
        with wp.ScopedDevice(self._device), memory_told("num_envs", count, self._device):
            self._host, self._model, self._data = on_device([model], count, room)
        self._start = mujoco.MjData(self._host)
        shapes = {
            "time": (),
            "qpos": (model.nq,),
            "qvel": (model.nv,),
            "act": (model.na,),
            "ctrl": (model.nu,),
            "mocap_pos": (model.nmocap, 3),
            "mocap_quat": (model.nmocap, 4),
            "sensordata": (model.nsensordata,),
        }
        sizes = [int(np.prod(shape)) for shape in shapes.values()]
        #: all of them in a row for each simulation; `bind` has views
        self.state: Floats = np.zeros((count, sum(sizes)))
        parts = np.split(self.state, np.cumsum(sizes)[:-1], axis=1)
        self._views = {
            name: part.reshape(count, *shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)
        }
        self._graphs: dict[int, Any] = {}

    def bind(self, name: str) -> Floats:
        """A view of a part of the state, a row for each simulation."""
        return self._views[name]

    def reset(self, rows: Numbers, key: int, stage: int = 0) -> None:
        """Sets simulations to a keyframe, or to the start of the model (-1)."""
        if key < 0:
            mujoco.mj_resetData(self._host, self._start)
        else:
            mujoco.mj_resetDataKeyframe(self._host, self._start, key)
        for name, view in self._views.items():
            view[rows] = getattr(self._start, name)
        chosen = np.zeros(self._count, dtype=bool)
        chosen[rows] = True
        with wp.ScopedDevice(self._device):
            mjw.reset_data(self._model, self._data, wp.array(chosen, dtype=bool))

    def forward(self, rows: Numbers) -> None:
        """Computes the sensors of simulations."""
        self._upload(rows)
        with wp.ScopedDevice(self._device):
            mjw.forward(self._model, self._data)
        self._views["sensordata"][rows] = self._data.sensordata.numpy()[rows]

    def step(self, rows: Numbers, steps: int, stage: int = 0) -> None:
        """Steps simulations; sensors of positions and velocities are then those of the new state.

        What contacts did not fit makes a simulation's numbers NaN.
        """
        self._upload(rows)
        with wp.ScopedDevice(self._device):
            self._advance(steps)
        for name in ("time", "qpos", "qvel", "act", "sensordata"):
            self._views[name][rows] = getattr(self._data, name).numpy()[rows]
        self._views["qpos"][rows[self._data.overflow.numpy()[rows] & int(NO_ROOM) != 0]] = np.nan

    def _upload(self, rows: Numbers) -> None:
        """Sends the states of simulations, from the first to the last of these."""
        if len(rows) == 0:
            return
        sent = slice(int(rows.min()), int(rows.max()) + 1)
        for name, view in self._views.items():
            if name != "sensordata" and view.size > 0:
                getattr(self._data, name)[sent].assign(view[sent].astype(np.float32))

    def _advance(self, steps: int) -> None:
        if not self._device.is_cuda:
            self._launch(steps)
        elif steps in self._graphs:
            wp.capture_launch(self._graphs[steps])
        else:
            self._launch(steps)  # compiles
            with wp.ScopedCapture() as capture:
                self._launch(steps)
            self._graphs[steps] = capture.graph

    def _launch(self, steps: int) -> None:
        model, data = self._model, self._data
        for _ in range(steps):
            mjw.step(model, data)
        mjw.fwd_position(model, data)
        mjw.sensor_pos(model, data)
        mjw.fwd_velocity(model, data)
        mjw.sensor_vel(model, data)

    def get_data(self, row: int, data: mujoco.MjData | None = None) -> mujoco.MjData:
        """MuJoCo's data with the state of a simulation, for a picture."""
        data = data or mujoco.MjData(self._host)
        data.time = self._views["time"][row]
        for name, view in self._views.items():
            if name != "time":
                getattr(data, name)[:] = view[row]
        return data
