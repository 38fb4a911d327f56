"""Recordings of runs: `rollout.h5` of `tendril run`, finished, being written or of a killed process."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tendril import _program
from tendril._errors import ModelError, RecordingError
from tendril._files import refuse_inputs
from tendril._reading import parse_json
from tendril._recorded import Contacts, RecordedRun
from tendril.playback import page as playback
from tendril.report import figure, notebook

if TYPE_CHECKING:
    import mujoco
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Replay:
    """Result of `tendril rollout replay --json`."""

    identical: bool  #: every row is bitwise identical
    rows: int
    compared_steps: int
    first_difference: Mapping[str, Any] | None  #: step, field, index, recorded, replayed, reason


class Recording(RecordedRun):
    """A recording, open for reading; a context manager.

    Row 0 is the state before the first step; row i the state after step i, and the controls, sensor values and contacts
    of step i. Numbers are SI, arrays have one row of the recording each and are read when first used.
    """

    @cached_property
    def model(self) -> mujoco.MjModel:
        """The compiled model. Throws ModelError when a controller is not loaded, RecordingError when it does not
        load."""
        return self.load_model(False)

    def seek(self, row: int) -> mujoco.MjData:
        """MjData of a row, bitwise identical: the nearest full state before it, stepped on; row 0 after `mj_forward`.

        Its model is `data.model`: with faults, the one that they have changed.

        Throws ModelError for a row that is not there, RecordingError when the run is not repeated: rows are missing, or
        something acted that is not recorded, such as forces by hand, or the recording is the log of a robot.
        """
        row = self._index(row)
        if self.is_log:
            raise RecordingError(f"{self.file}: is the log of a robot: has no states of the engine")
        with self.reading():
            return self._data_of(row)

    def _data_of(self, row: int) -> mujoco.MjData:
        import mujoco
        import numpy as np

        if {"stepped_by", "driven_by"} & self.texts.keys():  # by something else: as it is recorded
            return self._shown_data(row)
        full = self._read("integration/row", None)
        index = max(int(np.searchsorted(full, row)) - 1, 0)
        model, faults = self.model, None
        if "faults" in self.texts:  # they change the model; how depends on what they saw since the start
            index, model = 0, self.load_model(False)
            from tendril._sim import PhysicalFaults  # compiled: not in a build tree

            faults = PhysicalFaults(self.texts["faults"], model)
        first = int(full[index])
        if not 0 <= first <= row:
            raise ValueError("integration/row: is none of the recording's")
        if self.step[row] - self.step[first] != row - first:
            raise RecordingError(f"{self.file}: row {row}: steps are missing before it")
        data = mujoco.MjData(model)
        state = self._dataset("integration/state")[index]
        mujoco.mj_setState(model, data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
        if row == 0:
            mujoco.mj_forward(model, data)
            mujoco.mj_setState(model, data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
        for i in range(first + 1, row + 1):
            if faults is not None:
                faults.apply(model, data)
            data.mocap_pos[:], data.mocap_quat[:] = self.mocap_pos[i], self.mocap_quat[i]
            data.ctrl[:] = self.ctrl[i]
            mujoco.mj_step(model, data)
        for name in ("qpos", "qvel", "act", "ctrl", "plugin_state", "sensordata"):
            if getattr(data, name).tobytes() != self.row_of(name, row).tobytes():
                raise RecordingError(
                    f"{self.file}: row {row}: {name}: not the one recorded: what acted is not in the "
                    "recording, or the versions differ"
                )
        return data

    def _shown_data(self, row: int) -> mujoco.MjData:
        import mujoco

        data = mujoco.MjData(self.model)
        data.mocap_pos[:], data.mocap_quat[:] = self.mocap_pos[row], self.mocap_quat[row]
        for name in ("qpos", "qvel", "act", "ctrl"):
            getattr(data, name)[:] = self.row_of(name, row)
        mujoco.mj_forward(self.model, data)
        data.time = self.time[row]
        for name in ("ctrl", "plugin_state", "sensordata"):
            getattr(data, name)[:] = self.row_of(name, row)
        return data

    def replay(self) -> Replay:
        """Steps the recording again and compares every row, as `tendril rollout replay`: with the program, or, of
        controllers that this process has registered, in it."""
        if _program.registered.intersection(self.texts.get("plugins", "").split()):
            from tendril import _sim

            return Replay(**_sim.replay(self.file))
        command = [_program.find_program(), "rollout", "replay", "--json", "--quiet", str(self.file)]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode not in (0, 1):
            line = result.stderr.strip().removeprefix("tendril: ")
            raise ModelError(line) if "recording: plugin" in line else RecordingError(line)
        found = parse_json(result.stdout, "tendril rollout replay")
        return Replay(
            found["verdict"] == "identical", found["rows"], found["compared_steps"], found["first_difference"]
        )

    def to_html(
        self,
        out: str | os.PathLike[str] | None = None,
        fps: float = 50.0,
        start: float | None = None,
        end: float | None = None,
    ) -> str:
        """The page of `tendril play`; also written to `out`. Times in s; throws ModelError for those out of range."""
        if out is not None:
            refuse_inputs(Path(out), self.file)
        with self.reading():
            page = playback.page(self, fps, start, end)
        if out is not None:
            playback.write(Path(out), page)
        return page

    def plot(
        self,
        *sensors: str,
        compare: Sequence[RecordedRun] = (),
        axes: Axes | None = None,
        shade: bool = True,
        out: str | os.PathLike[str] | None = None,
    ) -> list[Axes]:
        """Draws sensors over time, one panel for each unit, in the style of reports; needs the extra `report`.

        The units are those of reports: mm, deg, kPa where they read better. A vector has a line for each number.

        :param sensors: names or patterns such as "arm_*_pressure"; also "wall_force" [N] and "penetration" [m], of the
            contacts between robots and surroundings; default: tip and path errors
        :param compare: more recordings, drawn in other colors; nothing is shaded then
        :param axes: draws into this Axes, in place of a new figure; the sensors must have one unit
        :param shade: marks times of faults, and of statuses other than 0 and 1
        :param out: also writes the figure, .png, .svg or .pdf
        :return: one Axes for each unit; their figure is `axes[0].figure`
        :raises ModelError: no sensor matches, too many do, or several units for one Axes
        :raises ImportError: Matplotlib is missing; the line names the command that installs it
        """
        return figure.plot([self, *compare], sensors, axes, shade, out)

    def show(
        self,
        height: int = 600,
        fps: float = 50.0,
        start: float | None = None,
        end: float | None = None,
        largest: float = 20e6,
    ) -> notebook.Frame:
        """Returns the page of `tendril play` in a frame, for the last line of a notebook's cell.

        The notebook keeps the page, whose script cannot reach the notebook.

        :param height: pixels, in [100, 10000]
        :param fps: frames per second of the run; start, end: times in s; as of `to_html`
        :param largest: bytes that the page may have
        :raises ModelError: times out of range, or a larger page
        """
        return notebook.frame(self.to_html(fps=fps, start=start, end=end), height, largest, self.file)

    def _repr_html_(self) -> str:
        """What a notebook shows: rows, times, sensors and faults."""
        with self.reading():
            return notebook.of_recording(self)


__all__ = ["Contacts", "Recording", "Replay"]
