"""What `tendril worlds` does."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import warp as wp

from tendril._progress import Line
from tendril._settings import parse_setting
from tendril.worlds.model import SOLVERS
from tendril.worlds.worlds import Worlds

_FAILED = 1  # exit code
_PART = 50  # steps between two looks at the clock


def run(options: argparse.Namespace) -> int:
    """The exit code of `tendril worlds`."""
    wp.config.log_level = wp.LOG_WARNING  # says nothing of each kernel
    settings = dict(parse_setting(text) for text in options.set)
    worlds = Worlds(
        options.experiment,
        options.count,
        options.device,
        options.seed,
        settings,
        contacts=options.contacts,
        constraints=options.constraints,
        duration=options.duration,
        solver=options.solver,
    )
    if options.judge:
        worlds.record(options.judge)
    rate = _run(worlds, options.quiet)
    diverged, overflowed = worlds.diverged.numpy() >= 0, worlds.overflow.numpy() != 0
    print(f"{worlds.count} worlds, {worlds.steps} steps each, on {worlds.device}: {rate:.3g} world steps/s")
    hint = "" if worlds.model.opt.solver == SOLVERS["cg"] else " (try --solver cg)"
    for flags, what in (
        (diverged, "diverged" + hint),
        (overflowed, "overflowed: need more room: --contacts, --constraints"),
    ):
        if flags.any():
            print(f"{flags.sum()} worlds {what}: {', '.join(map(str, np.flatnonzero(flags)[:10]))}")
    passes = not (diverged.any() or overflowed.any())
    for world in options.judge:
        passes &= _judge(worlds, world, options.out, options.check_in_c)
    return 0 if passes else _FAILED


def _run(worlds: Worlds, quiet: bool) -> float:
    """Steps to the end, and returns world steps a second, without the first step, which compiles."""
    line = Line(quiet)
    line.show("worlds: the first step compiles the kernels")
    worlds.step()
    wp.synchronize_device(worlds.device)
    start = time.perf_counter()
    for done in range(1, worlds.steps, _PART):
        line.show(f"worlds: step {done} of {worlds.steps}")
        worlds.step(min(_PART, worlds.steps - done))
        wp.synchronize_device(worlds.device)
    line.clear()
    return worlds.count * (worlds.steps - 1) / max(time.perf_counter() - start, 1e-9)


def _judge(worlds: Worlds, world: int, out: Path | None, checks_in_c: bool) -> bool:
    file = None
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        file = out / f"world{world}.h5"
    result = worlds.result(world, file)
    said = [f"world {world}, seed {result.summary['seed']}: {result.verdict if result.passes else 'fail'}"]
    for check in result.checks:
        value = "no value" if check["value"] is None else f"{check['value']:.4g}"
        said.append(f"{check['name'] or check['metric']} = {value}")
    if checks_in_c:
        said.append(f"{worlds.distance_from_c(world).max():.1e} from C")
    print("; ".join([*said, *([str(file)] if file else [])]))
    return result.passes
