"""Content of a recording, finished, being written or of a killed process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from tendril import _binary_model
from tendril import _recording_layout as layout
from tendril._errors import ModelError, OutputError, RecordingError
from tendril._meant import meant
from tendril._superblock import is_open_for_writing

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


class RecordedRun:
    """The rows, names and texts of a recording, open for reading; a context manager.

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
                if not is_open_for_writing(self.file):
                    raise
                self._file = h5py.File(self.file, "r", swmr=True, libver="latest")
        except RecordingError:
            raise
        except OSError as error:
            raise self._damaged(error) from None
        try:
            with self.reading():
                self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        import h5py

        group = self._file.get("rollout_0")
        if not isinstance(group, h5py.Group) or group.file.filename != self._file.filename:
            raise RecordingError(f"{self.file}: is not a recording (there is no group /rollout_0)")
        self._group: h5py.Group = group
        version = group.attrs.get("format_version")
        if version is None:
            raise RecordingError(f"{self.file}: is not a recording (/rollout_0 has no format_version)")
        if version != FORMAT_VERSION:
            raise RecordingError(f"{self.file}: format_version = {version}, this program reads {FORMAT_VERSION}")
        self.__dict__.pop("attributes", None)  # `outcome` changes
        with self._checking():
            layout.require_attributes(self.attributes)
        rows = int(self._read("rows", None))
        if not 0 <= rows <= layout.MOST_ROWS:
            raise ValueError(f"rows = {rows}")
        self.rows = rows  #: complete rows when the file was opened, or `refresh` called
        self._arrays: dict[str, Any] = {}

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.file)!r}, {self.rows} rows)"

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, also in another process, opens the file."""
        return type(self), (self.file.absolute(),)

    def require_rows(self) -> None:
        """Throws RecordingError for a recording without any."""
        if self.rows == 0:
            raise RecordingError(
                f"{self.file}: has no rows: its process was killed, or has not yet written its first block"
            )

    def copy_to(self, file: h5py.File) -> None:
        """Copies rows, names and texts to another file."""
        file.copy(self._group, "rollout_0")

    def refresh(self) -> int:
        """The rows that are there now, of a file that is being written."""
        with self.reading():
            self._group["rows"].id.refresh()
            self._open()
        return self.rows

    # ---- reading --------------------------------------------------------------------------------------------------

    def _damaged(self, error: BaseException) -> RecordingError:
        what = " ".join(str(error).split()) or type(error).__name__
        return RecordingError(f"{self.file}: is damaged: {what}; tendril rollout recover saves what is readable")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turns what content that no recording has leads to into RecordingError: what h5py, NumPy and the engine find
        wrong."""
        try:
            yield
        except (ModelError, OutputError, RecordingError, ImportError):
            raise
        except OSError as error:
            if error.errno:  # of another file, or of the disk
                raise
            raise self._damaged(error) from None
        except (ArithmeticError, LookupError, MemoryError, RuntimeError, TypeError, ValueError) as error:
            raise self._damaged(error) from None

    def _dataset(self, name: str) -> h5py.Dataset:
        dataset = layout.require_dataset(self._group.get(name), name)
        if dataset.file.filename != self._file.filename:
            raise ValueError(f"{name}: is kept in another file")
        return dataset

    def _read(self, name: str, rows: int | None) -> Any:
        try:
            dataset = self._dataset(name)
            if rows is None:
                return dataset[()]
            dataset.id.refresh()
            values = dataset[:rows]
        except (OSError, KeyError, MemoryError, TypeError, RuntimeError, ValueError) as error:
            raise self._damaged(ValueError(f"{name}: {str(error).removeprefix(name + ': ')}")) from None
        if len(values) < rows:
            raise self._damaged(ValueError(f"{name}: {len(values)} of {rows} rows"))
        return values

    def _rows_of(self, name: str) -> Any:
        if name not in self._arrays:
            self._arrays[name] = self._read(name, self.rows)
        return self._arrays[name]

    def row_of(self, name: str, row: int) -> Any:
        """One row, without reading the others."""
        if name in self._arrays:
            return self._arrays[name][row]
        with self.reading():
            return self._dataset(name)[row]

    @property
    def step(self) -> npt.NDArray[np.int64]:
        """Numbers of the steps."""
        return self._rows_of("step")  # type: ignore[no-any-return]

    @property
    def time(self) -> Floats:
        """Simulated time, s."""
        if "time" not in self._arrays:
            self._require_times(self._rows_of("time"))
        return self._arrays["time"]  # type: ignore[no-any-return]

    def _require_times(self, time: Floats) -> None:
        """Throws RecordingError for times that no run has."""
        import numpy as np

        if not (np.abs(time) <= layout.LATEST).all():
            del self._arrays["time"]
            raise self._damaged(ValueError(f"time: must be in [{-layout.LATEST:g}, {layout.LATEST:g}] s"))

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
        """Values of a sensor: (rows,), or (rows, dimension) if it has several. Throws ModelError for an unknown
        name."""
        for sensor in self.tables["sensors"]:
            if sensor["name"] == name:
                first, size = sensor["address"], sensor["dimension"]
                return self.sensordata[:, first] if size == 1 else self.sensordata[:, first : first + size]
        known = [sensor["name"] for sensor in self.tables["sensors"] if sensor["name"]]
        allowed = ", ".join(known) or "(there are none)"
        raise ModelError(f"{self.file}: sensor: {name}: must be one of {allowed}{meant(name, known)}")

    def sensors_of(self, quantity: str) -> list[tuple[dict[str, Any], Floats]]:
        """Row of the table and values, (rows, dimension), of the sensors that show a quantity."""
        return [
            (sensor, self.sensordata[:, sensor["address"] : sensor["address"] + sensor["dimension"]])
            for sensor in self.tables["sensors"]
            if sensor["quantity"] == quantity
        ]

    def lines_of(self, quantity: str) -> list[tuple[str, Floats]]:
        """Name and values, (rows,), of the sensors that show a quantity; of a vector its length."""
        import numpy as np

        return [
            (sensor["name"], values[:, 0] if sensor["dimension"] == 1 else np.linalg.norm(values, axis=1))
            for sensor, values in self.sensors_of(quantity)
        ]

    @property
    def has_tables(self) -> bool:
        """Tells whether it names sensors, actuators, bodies and geoms; older recordings do not."""
        return "sensors" in self.texts

    @property
    def is_log(self) -> bool:
        """Tells whether it is the log of a robot: without contacts, and of states with those alone that are in it."""
        return "log" in self.texts

    @property
    def due_time(self) -> Floats:
        """(rows,), s: times; in the log of `tendril drive`, whose clock is not exact, those at which steps were due."""
        import numpy as np

        if "driver" not in self.texts:
            return self.time
        timestep = float(self.attributes["timestep"])
        due = self.time - self.sensor("driver_late")
        return np.asarray(np.rint(due / timestep) * timestep)

    @property
    def has_robot_contacts(self) -> bool:
        return not self.is_log and any(geom["robot"] for geom in self.tables["geoms"])

    def require_states(self, rows: npt.NDArray[Any]) -> None:
        """Throws ModelError for a log without positions of joints at these rows."""
        import numpy as np

        if not self.is_log:
            return
        unknown = np.isnan(self.qpos[rows])
        for joint in self.tables["joints"]:
            if (at := unknown[:, joint["qpos_address"]]).any():
                raise ModelError(
                    f"{self.file}: joint {joint['name']}: the log has no position at {self.time[rows][at][0]:.6g} s: "
                    "showing it needs messages of all joints"
                )

    @property
    def contact_count(self) -> Integers:
        """Contacts in every row."""
        return self._rows_of("contact/count")  # type: ignore[no-any-return]

    def contacts(self, row: int | None = None) -> Contacts:
        """Contacts of a row, or of all rows. Throws ModelError for a row that is not there."""
        import numpy as np

        start, count = self._contact_rows()
        first, last = (0, self.rows) if row is None else (self._index(row), self._index(row) + 1)
        count = count[first:last]
        rows = np.repeat(np.arange(first, last, dtype=np.int32), count)
        index = np.repeat(start[first:last] - np.cumsum(count) + count, count) + np.arange(count.sum())
        low, high = (int(index.min()), int(index.max()) + 1) if len(index) else (0, 0)
        columns = []
        with self.reading():
            for name in ("geom1", "geom2", "distance", "position", "force"):
                dataset = self._dataset("contact/" + name)
                dataset.id.refresh()
                columns.append(dataset[low:high][index - low])
        found = Contacts(rows, *columns)
        geoms = len(self.tables["geoms"]) if self.has_tables else np.inf
        for numbers in (found.geom1, found.geom2):
            if len(numbers) and not -1 <= numbers.min() <= numbers.max() < geoms:
                raise self._damaged(ValueError("contact: a geom is none of the model"))
        return found

    def _contact_rows(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Returns where the contacts of every row begin, and how many they are. Throws RecordingError for others than
        one row's after the other's."""
        import numpy as np

        start, count = self._rows_of("contact/start"), self.contact_count.astype(np.int64)
        with self.reading():
            dataset = self._dataset("contact/geom1")
            dataset.id.refresh()
            stored = len(dataset)
        ends = np.append(start[1:], stored)
        if not ((start >= 0) & (count >= 0) & (count <= stored) & (start <= ends - count)).all():
            raise self._damaged(ValueError("contact: the rows are not one after the other"))
        return start, count

    def contact_columns(self) -> dict[str, npt.NDArray[Any]]:
        """All contacts as they are stored: `start` and `count` of every row, and the columns that these point into."""
        start, count = self._contact_rows()
        total = int(start[-1]) + int(count[-1])
        columns: dict[str, npt.NDArray[Any]] = {"start": start, "count": self.contact_count}
        return columns | {name: self._read(f"contact/{name}", total) for name in Contacts._fields[1:]}

    def robot_contacts(self) -> Contacts:
        """Returns the contacts between a robot and its surroundings, which the metrics count. Throws ModelError for a
        log."""
        import numpy as np

        if self.is_log:
            raise ModelError(f"{self.file}: is the log of a robot: has no contacts, wall forces and penetrations")
        found = self.contacts()
        is_robot = np.array([geom["robot"] for geom in self.tables["geoms"]] + [False])  # the last one: no geom
        selected = is_robot[found.geom1] != is_robot[found.geom2]
        return Contacts(*(column[selected] for column in found))

    def penetration(self) -> Floats:
        """(rows,), m: deepest overlap of a robot with its surroundings."""
        import numpy as np

        found = self.robot_contacts()
        depth = np.zeros(self.rows)
        np.maximum.at(depth, found.row, -found.distance)
        return depth

    def wall_force(self) -> Floats:
        """(rows,), N: sum of the normal forces between robots and their surroundings."""
        import numpy as np

        found = self.robot_contacts()
        return np.bincount(found.row, weights=found.force[:, 0], minlength=self.rows).astype(np.float64)

    @cached_property
    def attributes(self) -> dict[str, Any]:
        """Numbers and short texts: `seed`, `timestep`, `outcome`, `format_version`, `integration_interval`, …"""
        return {name: layout.plain_attribute(value) for name, value in self._group.attrs.items()}

    @cached_property
    def texts(self) -> dict[str, str]:
        """`model_xml`, `experiment`, `scene_files/<name>`, `command_line`, `plugins`, …"""
        import h5py

        found: dict[str, str] = {}

        def add(name: str, item: object) -> None:
            if isinstance(item, h5py.Dataset):
                found[name] = layout.require_dataset(item, f"texts/{name}")[0].decode(errors="replace")

        with self.reading():
            group = self._group.get("texts")
            if isinstance(group, h5py.Group) and group.file.filename == self._file.filename:
                group.visititems(add)
        return found

    @cached_property
    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Names, by the model's numbers: `sensors`, `joints`, `actuators`, `bodies`, `geoms`, `robots`."""
        with self.reading():
            sizes = {name: self._dataset(name).shape[1] for name in ("sensordata", "ctrl", "qpos", "qvel")}
        with self._checking():
            return layout.read_tables(self.texts, sizes)

    @cached_property
    def settings(self) -> list[dict[str, Any]]:
        """Returns what was set, in order: `key`, `value`, `origin`."""
        with self._checking():
            return layout.read_settings(self.texts.get("settings", "[]"))

    @cached_property
    def faults(self) -> list[dict[str, Any]]:
        """The `[[fault]]` tables of the experiment as they were in force, each with `start` and `end`, s."""
        with self._checking():
            return layout.read_faults(self.texts.get("faults", ""))

    @contextmanager
    def _checking(self) -> Iterator[None]:
        try:
            yield
        except ModelError as error:
            raise self._damaged(error) from None

    def _index(self, row: int) -> int:
        if not 0 <= row < self.rows:
            raise ModelError(f"{self.file}: row {row}, must be in [0, {self.rows})")
        return row

    def load_model(self, unknown_do_nothing: bool) -> mujoco.MjModel:
        model = self._loaded_model(unknown_do_nothing)
        geoms = len(self.tables["geoms"]) if self.has_tables else model.ngeom
        for size, name, own in (
            (model.nq, "qpos", self.qpos.shape[1]),
            (model.nv, "qvel", self.qvel.shape[1]),
            (model.na, "act", self.act.shape[1]),
            (model.nu, "ctrl", self.ctrl.shape[1]),
            (model.nsensordata, "sensordata", self.sensordata.shape[1]),
            (model.npluginstate, "plugin_state", self._dataset("plugin_state").shape[1]),
            (model.nmocap, "mocap/pos", self._dataset("mocap/pos").shape[1]),
            (model.nmocap, "mocap/quat", self._dataset("mocap/quat").shape[1]),
            (model.ngeom, "geoms", geoms),
        ):
            if size != own:
                raise self._damaged(ValueError(f"{name}: has {own} numbers, the model {size}"))
        return model

    def _loaded_model(self, unknown_do_nothing: bool) -> mujoco.MjModel:
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
