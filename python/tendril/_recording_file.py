"""Writes recordings by h5py (docs/reference/recording_file.md); C++ encodes what goes into them."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from h5py import h5a, h5d, h5f, h5g, h5p, h5s, h5t

from tendril._errors import RecordingError

_DEFLATE_LEVEL = 1
_MODEL_CHUNK = 1 << 20


class RecordingFile:
    """A recording open for writing: one writer, any readers (SWMR)."""

    def __init__(self, file: str | os.PathLike[str], content: dict[str, Any]) -> None:
        """Creates the file; `content` is what does not change. Raises RecordingError."""
        self.name = os.fspath(file)
        part = self.name + content["part_suffix"]
        try:
            self._file = self._create(part, content)
            os.rename(part, self.name)
        except Exception as error:
            if hasattr(self, "_file"):
                self._file.close()
            Path(part).unlink(missing_ok=True)
            raise self.failure("cannot be created", error) from None

    def _create(self, part: str, content: dict[str, Any]) -> h5f.FileID:
        access = h5p.create(h5p.FILE_ACCESS)
        access.set_libver_bounds(h5f.LIBVER_V110, h5f.LIBVER_V110)
        access.set_fclose_degree(h5f.CLOSE_STRONG)
        file = h5f.create(os.fsencode(part), h5f.ACC_TRUNC, fapl=access)
        group = h5g.create(file, content["group"].encode(), gcpl=_group_properties())
        for name in "texts", "contact", "integration", "mocap":
            h5g.create(group, name.encode(), gcpl=_group_properties())
        links = h5p.create(h5p.LINK_CREATE)
        links.set_create_intermediate_group(1)
        texts = h5g.open(group, b"texts")
        for name, text in content["texts"].items():
            if name.encode() not in texts:  # "./a" next to "a": the same file
                _write_text(texts, name, text, links)
        scalar = h5s.create(h5s.SCALAR)
        for name, number in content["numbers"].items():
            value = np.array(number, dtype="<i8" if isinstance(number, int) else "<f8")
            h5a.create(group, name.encode(), h5t.py_create(value.dtype), scalar).write(value)
        for name, text, size in (
            ("format", content["format"], len(content["format"])),
            ("outcome", content["outcome"], content["outcome_size"]),
        ):
            h5a.create(group, name.encode(), _text_type(size), scalar).write(_padded(text, size), _text_type(size))
        _write_model(group, content["model"])
        early = h5p.create(h5p.DATASET_CREATE)
        early.set_obj_track_times(False)
        early.set_alloc_time(h5d.ALLOC_TIME_EARLY)
        rows = np.zeros((), dtype="<i8")
        h5d.create(group, b"rows", h5t.STD_I64LE, scalar, dcpl=early).write(h5s.ALL, h5s.ALL, rows)
        for path, dtype, shape, chunk in content["columns"]:
            _create_column(group, path, dtype, shape, chunk)
        del group, texts
        file.start_swmr_write()
        self._group = h5g.open(file, content["group"].encode())
        #: one a column, in order
        self.datasets = [h5d.open(self._group, column[0].encode()) for column in content["columns"]]
        #: how many rows readers may read, and what is written there
        self.rows, self.row_count = h5d.open(self._group, b"rows"), rows
        self._outcome = h5a.open(self._group, b"outcome")
        self._outcome_size = content["outcome_size"]
        #: puts out what has been written
        self.flush: Callable[[], None] = partial(h5f.flush, file, h5f.SCOPE_LOCAL)
        return file

    def close(self, outcome: str) -> None:
        """Says how the run ended and closes the file. Raises RecordingError."""
        self._outcome.write(_padded(outcome, self._outcome_size), _text_type(self._outcome_size))
        self.flush()
        del self.flush
        self.datasets.clear()
        del self.rows, self._outcome, self._group
        self._file.close()

    def abandon(self) -> None:
        """Leaves the file as it is: what HDF5 writes from now on, at the end of the process too, goes nowhere."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, self._file.get_vfd_handle(), inheritable=False)
        os.close(nowhere)

    def failure(self, what: str, error: Exception) -> RecordingError:
        """One line, with the reason of the operating system if there is one."""
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number else " ".join(str(error).split())
        return RecordingError(f"{self.name}: {what}: {reason}")


def create(file: str | os.PathLike[str], content: dict[str, Any]) -> RecordingFile:
    """A new recording, which replaces an earlier one."""
    return RecordingFile(file, content)


def _group_properties() -> h5p.PropGCID:
    properties = h5p.create(h5p.GROUP_CREATE)
    properties.set_attr_phase_change(0xFFFF, 0)  # attributes stay where SWMR can rewrite one in place
    properties.set_obj_track_times(False)
    return properties


def _text_type(size: int) -> h5t.TypeStringID:
    kind = h5t.C_S1.copy()
    kind.set_size(max(size, 1))
    kind.set_cset(h5t.CSET_UTF8)
    kind.set_strpad(h5t.STR_NULLPAD)
    return kind


def _padded(text: str, size: int) -> np.ndarray[Any, Any]:
    data = text.encode(errors="replace")[:size]
    return np.array(data.decode(errors="ignore").encode(), dtype=f"S{max(size, 1)}")  # never half a character


def _filtered(chunk: tuple[int, ...], shuffle: bool = False) -> h5p.PropDCID:
    properties = h5p.create(h5p.DATASET_CREATE)
    properties.set_obj_track_times(False)
    properties.set_chunk(chunk)
    if shuffle:
        properties.set_shuffle()
    properties.set_deflate(_DEFLATE_LEVEL)
    return properties


def _write_text(group: h5g.GroupID, name: str, text: str, links: h5p.PropLCID) -> None:
    data = text.encode(errors="surrogateescape")
    kind = _text_type(len(data))
    dataset = h5d.create(group, name.encode(), kind, h5s.create_simple((1,)), dcpl=_filtered((1,)), lcpl=links)
    dataset.write(h5s.ALL, h5s.ALL, np.array([data], dtype=f"S{max(len(data), 1)}"), kind)


def _write_model(group: h5g.GroupID, model: memoryview) -> None:
    dataset = h5d.create(
        group,
        b"model_mjb",
        h5t.STD_U8LE,
        h5s.create_simple((len(model),)),
        dcpl=_filtered((min(len(model), _MODEL_CHUNK),)),
    )
    dataset.write(h5s.ALL, h5s.ALL, np.frombuffer(model, dtype=np.uint8))


def _create_column(group: h5g.GroupID, path: str, dtype: str, shape: tuple[int, ...], chunk: int) -> None:
    limits = tuple(extent or h5s.UNLIMITED for extent in shape)  # of size 0: must be able to grow for HDF5 to take it
    space = h5s.create_simple((0, *shape), (h5s.UNLIMITED, *limits))
    properties = _filtered((chunk, *(max(extent, 1) for extent in shape)), shuffle=True)
    h5d.create(group, path.encode(), h5t.py_create(np.dtype(dtype)), space, dcpl=properties)
