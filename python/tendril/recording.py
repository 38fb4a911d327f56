"""Recordings of runs: `rollout.h5` of `tendril run`, finished, being written or of a killed process."""

from __future__ import annotations

import json
import math
import os
import subprocess
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from tendril._errors import ModelError, RecordingError

if TYPE_CHECKING:
    import h5py
    import mujoco
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Integers = npt.NDArray[np.int32]

FORMAT_VERSION = 2


class Contacts(NamedTuple):
    """Contact points, one an entry."""

    row: Integers  #: of the recording
    geom1: Integers  #: geom numbers of the model
    geom2: Integers
    distance: Floats  #: m, negative: penetration
    position: Floats  #: (n, 3), m, world frame
    force: Floats  #: (n, 3), N, contact frame: normal, tangent 1, tangent 2


@dataclass(frozen=True)
class Replay:
    """What `tendril rollout replay --json` says."""

    identical: bool  #: every row bit for bit
    rows: int
    compared_steps: int
    first_difference: Mapping[str, Any] | None  #: step, field, index, recorded, replayed, reason


class Recording:
    """A recording, open for reading; a context manager.

    Row 0 is the state before the first step; row i the state after step i, and the controls, sensor values and contacts
    of step i. Numbers are SI, arrays have one row of the recording each and are read when first used.
    """

    def __init__(self, file: str | os.PathLike[str]) -> None:
        """Throws RecordingError, one line, for a file that is no recording."""
        import h5py

        self.file = Path(file)
        if not self.file.exists():
            raise RecordingError(f"{file}: no such file")
        if not self.file.is_file():
            raise RecordingError(f"{file}: is not a file")
        if self.file.suffix == ".part":
            raise RecordingError(f"{file}: is unfinished: its process ended before the first row")
        try:
            if not h5py.is_hdf5(self.file):
                raise RecordingError(f"{file}: is not a recording (not an HDF5 file)")
            try:  # a finished file; reading is faster than below
                self._file = h5py.File(self.file, "r")
            except OSError:  # being written, or its writer was killed
                self._file = h5py.File(self.file, "r", swmr=True, libver="latest")
        except RecordingError:
            raise
        except OSError as error:
            raise self._damaged(error) from None
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        group = self._file.get("rollout_0")
        if group is None:
            raise RecordingError(f"{self.file}: is not a recording (there is no group /rollout_0)")
        self._group: h5py.Group = group
        version = group.attrs.get("format_version")
        if version is None:
            raise RecordingError(f"{self.file}: is not a recording (/rollout_0 has no format_version)")
        if version != FORMAT_VERSION:
            raise RecordingError(f"{self.file}: format_version = {version}, this program reads {FORMAT_VERSION}")
        self.rows = int(self._read("rows", None))  #: complete rows when the file was opened, or `refresh` called
        self._arrays: dict[str, Any] = {}

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Recording({str(self.file)!r}, {self.rows} rows)"

    def refresh(self) -> int:
        """The rows that are there now, of a file that is being written."""
        self._group["rows"].id.refresh()
        self._open()
        return self.rows

    # ---- reading --------------------------------------------------------------------------------------------------

    def _damaged(self, error: Exception) -> RecordingError:
        return RecordingError(
            f"{self.file}: is damaged: {' '.join(str(error).split())}; tendril rollout recover saves what is readable"
        )

    def _read(self, name: str, rows: int | None) -> Any:
        try:
            dataset = self._group[name]
            if rows is None:
                return dataset[()]
            dataset.id.refresh()
            values = dataset[:rows]
        except (OSError, KeyError, TypeError, RuntimeError) as error:
            raise self._damaged(error) from None
        if len(values) < rows:
            raise self._damaged(ValueError(f"{name}: {len(values)} of {rows} rows"))
        return values

    def _rows_of(self, name: str) -> Any:
        if name not in self._arrays:
            self._arrays[name] = self._read(name, self.rows)
        return self._arrays[name]

    def _row_of(self, name: str, row: int) -> Any:
        """One row, without reading the others."""
        return self._arrays[name][row] if name in self._arrays else self._group[name][row]

    @property
    def step(self) -> npt.NDArray[np.int64]:
        """Numbers of the steps."""
        return self._rows_of("step")  # type: ignore[no-any-return]

    @property
    def time(self) -> Floats:
        """Simulated time, s."""
        return self._rows_of("time")  # type: ignore[no-any-return]

    @property
    def step_time_us(self) -> Floats:
        """Wall time of the steps, us."""
        return self._rows_of("step_time_us")  # type: ignore[no-any-return]

    @property
    def qpos(self) -> Floats:
        """(rows, nq), as in MjData."""
        return self._rows_of("qpos")  # type: ignore[no-any-return]

    @property
    def qvel(self) -> Floats:
        """(rows, nv), as in MjData."""
        return self._rows_of("qvel")  # type: ignore[no-any-return]

    @property
    def act(self) -> Floats:
        """(rows, na), as in MjData."""
        return self._rows_of("act")  # type: ignore[no-any-return]

    @property
    def ctrl(self) -> Floats:
        """(rows, nu): in force in the step that led to the row."""
        return self._rows_of("ctrl")  # type: ignore[no-any-return]

    @property
    def sensordata(self) -> Floats:
        """(rows, nsensordata): computed in the step that led to the row, from the state before it."""
        return self._rows_of("sensordata")  # type: ignore[no-any-return]

    @property
    def plugin_state(self) -> Floats:
        """(rows, npluginstate): memory of the controllers."""
        return self._rows_of("plugin_state")  # type: ignore[no-any-return]

    @property
    def mocap_pos(self) -> Floats:
        """(rows, nmocap, 3), m, in force in the step that led to the row."""
        return self._rows_of("mocap/pos")  # type: ignore[no-any-return]

    @property
    def mocap_quat(self) -> Floats:
        """(rows, nmocap, 4): w, x, y, z."""
        return self._rows_of("mocap/quat")  # type: ignore[no-any-return]

    def sensor(self, name: str) -> Floats:
        """Values of a sensor: (rows,), or (rows, dimension) if it has several. Throws ModelError for an unknown name."""
        for sensor in self.tables["sensors"]:
            if sensor["name"] == name:
                first, size = sensor["address"], sensor["dimension"]
                return self.sensordata[:, first] if size == 1 else self.sensordata[:, first : first + size]
        known = ", ".join(sensor["name"] for sensor in self.tables["sensors"] if sensor["name"])
        raise ModelError(f"{self.file}: sensor: {name}: must be one of {known or '(there are none)'}")

    @property
    def contact_count(self) -> Integers:
        """Contacts in every row."""
        return self._rows_of("contact/count")  # type: ignore[no-any-return]

    def contacts(self, row: int | None = None) -> Contacts:
        """Contacts of a row, or of all rows. Throws ModelError for a row that is not there."""
        import numpy as np

        start, count = self._rows_of("contact/start"), self.contact_count.astype(np.int64)
        first, last = (0, self.rows) if row is None else (self._index(row), self._index(row) + 1)
        count = count[first:last]
        rows = np.repeat(np.arange(first, last, dtype=np.int32), count)
        index = np.repeat(start[first:last] - np.cumsum(count) + count, count) + np.arange(count.sum())
        low, high = (int(index.min()), int(index.max()) + 1) if len(index) else (0, 0)
        columns = []
        for name in ("geom1", "geom2", "distance", "position", "force"):
            self._group["contact/" + name].id.refresh()
            columns.append(self._group["contact/" + name][low:high][index - low])
        return Contacts(rows, *columns)

    def robot_contacts(self) -> Contacts:
        """Those between a robot and its surroundings, which the metrics count."""
        import numpy as np

        found = self.contacts()
        is_robot = np.array([geom["robot"] for geom in self.tables["geoms"]] + [False])  # the last one: no geom
        wanted = is_robot[found.geom1] != is_robot[found.geom2]
        return Contacts(*(column[wanted] for column in found))

    def wall_force(self) -> Floats:
        """(rows,), N: sum of the normal forces between robots and their surroundings."""
        import numpy as np

        found = self.robot_contacts()
        return np.bincount(found.row, weights=found.force[:, 0], minlength=self.rows).astype(np.float64)

    @cached_property
    def attributes(self) -> dict[str, Any]:
        """Numbers and short texts: `seed`, `timestep`, `outcome`, `format_version`, `integration_interval`, …"""
        return {
            name: value.decode(errors="replace") if isinstance(value, bytes) else value.item()
            for name, value in self._group.attrs.items()
        }

    @cached_property
    def texts(self) -> dict[str, str]:
        """`model_xml`, `experiment`, `scene_files/<name>`, `command_line`, `plugins`, …"""
        import h5py

        found: dict[str, str] = {}

        def add(name: str, item: object) -> None:
            if isinstance(item, h5py.Dataset):
                found[name] = item[0].decode(errors="replace")

        try:
            if "texts" in self._group:
                self._group["texts"].visititems(add)
        except OSError as error:
            raise self._damaged(error) from None
        return found

    @cached_property
    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Names, by the model's numbers: `sensors`, `joints`, `actuators`, `bodies`, `geoms`, `robots`."""
        return {
            name: json.loads(self.texts.get(name, "[]"))
            for name in ("sensors", "joints", "actuators", "bodies", "geoms", "robots")
        }

    @cached_property
    def settings(self) -> list[dict[str, Any]]:
        """What was set, in order: `key`, `value`, `origin`."""
        return json.loads(self.texts.get("settings", "[]"))  # type: ignore[no-any-return]

    @cached_property
    def faults(self) -> list[dict[str, Any]]:
        """The `[[fault]]` tables of the experiment as they were in force, each with `start` and `end`, s."""
        faults = tomllib.loads(self.texts.get("faults", "")).get("fault", [])
        for fault in faults:
            fault.setdefault("start", 0.0)
            fault.setdefault("end", fault["start"] + fault["duration"] if fault["kind"] == "kick" else math.inf)
        return faults  # type: ignore[no-any-return]

    # ---- the engine -----------------------------------------------------------------------------------------------

    def _model(self, unknown_do_nothing: bool) -> mujoco.MjModel:
        from tendril import _binary_model

        try:
            return _binary_model.load(
                self._read("model_mjb", None).tobytes(), self.texts.get("plugins", ""), unknown_do_nothing
            )
        except ModelError as error:
            raise ModelError(f"{self.file}: {error}") from None
        except ValueError as error:
            import mujoco

            raise RecordingError(
                f"{self.file}: model_mjb: does not load (recorded with MuJoCo "
                f"{self.texts.get('mujoco_version', 'unknown')}, this is {mujoco.mj_versionString()}): "
                f"{' '.join(str(error).split())}"
            ) from None

    @cached_property
    def model(self) -> mujoco.MjModel:
        """The compiled model. Throws ModelError when a controller is not loaded, RecordingError when it does not load."""
        return self._model(False)

    def _index(self, row: int) -> int:
        if not 0 <= row < self.rows:
            raise ModelError(f"{self.file}: row {row}, must be in [0, {self.rows})")
        return row

    def seek(self, row: int) -> mujoco.MjData:
        """MjData of a row, bit for bit: the nearest full state before it, stepped on; row 0 after `mj_forward`.

        Its model is `data.model`: with faults, the one that they have changed.

        Throws ModelError for a row that is not there, RecordingError when the run is not repeated: rows are missing, or
        something acted that is not recorded, such as forces by hand.
        """
        import mujoco
        import numpy as np

        row = self._index(row)
        full = self._read("integration/row", None)
        place = max(int(np.searchsorted(full, row)) - 1, 0)
        model, faults = self.model, None
        if "faults" in self.texts:  # they change the model; how depends on what they saw since the start
            from tendril._sim import PhysicalFaults

            place, model = 0, self._model(False)
            faults = PhysicalFaults(self.texts["faults"], model)
        first = int(full[place])
        if self.step[row] - self.step[first] != row - first:
            raise RecordingError(f"{self.file}: row {row}: steps are missing before it")
        data = mujoco.MjData(model)
        state = self._group["integration/state"][place]
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
            if getattr(data, name).tobytes() != self._row_of(name, row).tobytes():
                raise RecordingError(
                    f"{self.file}: row {row}: {name}: not the one recorded: what acted is not in the "
                    "recording, or the versions differ"
                )
        return data

    def replay(self) -> Replay:
        """Steps the recording again with the program and compares every row, as `tendril rollout replay`."""
        from tendril._program import find_program

        result = subprocess.run(
            [find_program(), "rollout", "replay", "--json", "--quiet", str(self.file)], capture_output=True, text=True
        )
        if result.returncode not in (0, 1):
            line = result.stderr.strip().removeprefix("tendril: ")
            raise ModelError(line) if "recording: plugin" in line else RecordingError(line)
        found = json.loads(result.stdout)
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
        from tendril import _playback

        page = _playback.page(self, fps, start, end)
        if out is not None:
            _playback.write(Path(out), page)
        return page


__all__ = ["Contacts", "Recording", "Replay"]
