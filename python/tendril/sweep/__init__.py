"""Sweeps: one experiment with many seeds, settings and controllers, resumed where it stopped."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tendril._program import find_program
from tendril._toml import plain_value, toml
from tendril.sweep.dataset import Dataset
from tendril.sweep.driver import Options
from tendril.sweep.engine import run_sweep
from tendril.sweep.plan import default_folder
from tendril.sweep.table import CommandLineOverrides, make_plan


class Sweep:
    """A sweep of a file with a table `[sweep]`, or of the content of such a table.

    data = td.Sweep("circle.toml").run("out/circle", jobs=4)
    data.success(), data.compare()
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Mapping[str, Any],
        *,
        seeds: int | Sequence[int] | None = None,
        settings: Mapping[str, Any] | None = None,
        program: str | None = None,
    ) -> None:
        """Throws ModelError.

        @param seeds, settings  instead of those of the file, as `--seeds` and `--set`
        @param program          the program `tendril` [see `find_program`]
        """
        self.program = program or find_program()
        texts = tuple(f"{key}={toml(value)}" for key, value in (settings or {}).items())
        where = plain_value(source) if isinstance(source, Mapping) else Path(source)
        self.plan = make_plan(where, self.program, CommandLineOverrides(plain_value(seeds), texts))

    def run(
        self,
        out: str | os.PathLike[str] | None = None,
        engine: str = "local",
        jobs: int = 0,
        retry_failed: bool = False,
        address: str = "",
    ) -> Dataset:
        """Runs what is not yet done in the folder `out`, and reports on all runs.

        @param engine   "local", or "ray" with the extra `ray`
        @param jobs     processes at a time; 0: one per core
        @param address  of a Ray cluster, "auto" for the one of this machine; without one it has its own for the time
        being Throws ModelError for bad input, OSError when results cannot be written or another sweep runs in the
        folder, KeyboardInterrupt.
        """
        folder = Path(out) if out is not None else default_folder(self.plan.name)
        result = run_sweep(
            self.plan,
            folder,
            self.program,
            Options(jobs=jobs, engine=engine, address=address, retry_failed=retry_failed),
        )
        if result.interrupted:
            raise KeyboardInterrupt
        return Dataset(folder)


__all__ = ["Dataset", "Sweep"]
