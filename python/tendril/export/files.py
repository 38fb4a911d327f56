"""Files and folders that appear when they are whole."""

from __future__ import annotations

import errno
import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy.typing as npt

from tendril._errors import OutputError

Array = npt.NDArray[Any]


@contextmanager
def atomic(out: Path) -> Iterator[Path]:
    """A path to write to, which gets its name when it is whole."""
    part = out.with_name(out.name + ".part")
    _remove(part)
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield part
        os.replace(part, out)
    except OSError as error:
        if error.errno is None:
            raise
        raise OutputError(f"{out}: could not be written: {os.strerror(error.errno)}") from None
    finally:
        _remove(part)


def has_mark(file: Path, begin: bytes, token: bytes = b"") -> bool:
    """Tells whether a file begins so, and has the token among the first or last 64 KiB."""
    looked_at = 1 << 16
    with open(file, "rb") as stream:
        first = stream.read(looked_at)
        stream.seek(max(0, stream.seek(0, 2) - looked_at))
        return first.startswith(begin) and (token in first or token in stream.read())


class _Storage:
    """A file that h5py writes to. The first error is kept, and HDF5, which crashes after one, does not see it."""

    def __init__(self, stream: io.FileIO) -> None:
        self._stream = stream
        self.error: OSError | None = None
        self.seek, self.tell, self.read, self.readinto = stream.seek, stream.tell, stream.read, stream.readinto

    def write(self, data: Any) -> int:
        rest = memoryview(data).cast("B")
        size = len(rest)
        while len(rest) and self.error is None:
            try:
                rest = rest[self._stream.write(rest) :]
            except OSError as error:
                self.error = error
        return size

    def truncate(self, size: int) -> int:
        try:
            return self._stream.truncate(size)
        except OSError as error:
            self.error = self.error or error
            return size

    def flush(self) -> None:
        pass


@contextmanager
def atomic_hdf5(out: Path) -> Iterator[tuple[Any, Callable[[], None]]]:
    """An h5py.File for writing, which gets its name when it is whole, and a function that throws OSError when something
    could not be written."""
    import h5py

    with atomic(out) as part, open(part, "w+b", buffering=0) as stream:
        storage = _Storage(stream)

        def check() -> None:
            if storage.error is not None:
                raise OutputError(f"{out}: could not be written: {os.strerror(storage.error.errno or errno.EIO)}")

        with h5py.File(storage, "w") as file:
            yield file, check
        check()


def in_child(work: Callable[[], None]) -> None:
    """Does what writes with HDF5 in another library in a child process: HDF5 crashes, at the latest when the process
    ends, when a write has failed. Windows has no such process. Throws OSError."""
    if sys.platform == "win32":
        work()
        return
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # HDF5 repeats itself there
            work()
            os._exit(0)
        except BaseException as error:
            os.write(writer, f"{getattr(error, 'errno', None) or 0} {' '.join(str(error).split())[:500]}".encode())
        finally:
            os._exit(1)
    os.close(writer)
    with open(reader, "rb") as said:
        number, _, text = said.read().decode(errors="replace").partition(" ")
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        raise OSError(int(number or 0) or errno.EIO, text or os.strerror(errno.EIO))


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
