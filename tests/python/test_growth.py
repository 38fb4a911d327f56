"""Sweeps of many runs: memory that does not grow with them, a report that remains small. bench/sweep_growth: 100 000
runs."""

import gc
import tracemalloc

import numpy as np
import pytest

from tendril.sweep import Dataset, journal
from tendril.sweep import report as sweep_report
from tendril.sweep.driver import Options
from tendril.sweep.engine import run_sweep
from tendril.sweep.runs import read_entries
from tendril.sweep.table import make_plan

EXPERIMENT = """scene = "scene.xml"
[[check]]
metric = "tip_error_rms"
max = 0.008
[sweep]
seeds = {seeds}
{more}
[[sweep.variant]]
name = "first"
[[sweep.variant]]
name = "second"
set = {{ "option.timestep" = 0.001 }}
"""
# In place of `tendril`: `run FILE --seed S ... --out FOLDER --quiet --no-record`.
PROGRAM = """#!/bin/sh
[ "$1" = --version ] && echo "tendril 0.0.0, MuJoCo 0.0.0" && exit
while [ "$1" != --out ]; do shift; done
echo '{"outcome": "done", "verdict": "pass", "checks": [{"name": "tip_error_rms", "metric": "tip_error_rms",
"value": 0.001, "unit": "m", "max": 0.008, "holds": true}], "metrics": {"tip_error_rms": 0.001}}' > $2/summary.json
"""
METRICS = ["tip_error_rms", *(f"metric_{i}" for i in range(20))]
MEBIBYTE = 2**20


@pytest.fixture
def plan(tmp_path):
    def make(seeds, more=""):
        (tmp_path / "scene.xml").write_text("<mujoco/>")
        (tmp_path / "e.toml").write_text(EXPERIMENT.format(seeds=seeds, more=more))
        program = tmp_path / "program"
        program.write_text(PROGRAM)
        program.chmod(0o755)
        return make_plan(tmp_path / "e.toml", str(program)), str(program)

    return make


@pytest.fixture
def finished(plan, tmp_path):
    """A folder of a sweep of which all runs are done."""

    def make(seeds, more=""):
        made, program = plan(seeds, more)
        folder = tmp_path / "out"
        run_sweep(made, folder, program, Options(shard=(999_999, 1_000_000)))  # no run, but the folder
        random = np.random.default_rng(1)
        writer = journal.Writer(folder / "journal")
        for run in made.runs():
            metrics = dict(zip(METRICS, random.lognormal(-6, size=len(METRICS)).tolist(), strict=True))
            error = metrics["tip_error_rms"]
            writer.append(
                {
                    "id": run.id,
                    "outcome": "done",
                    "verdict": "pass" if error <= 0.008 else "fail",
                    "metrics": metrics,
                    "checks": [
                        {
                            "name": "tip_error_rms",
                            "metric": "tip_error_rms",
                            "value": error,
                            "unit": "m",
                            "holds": error <= 0.008,
                        }
                    ],
                    "failures": [],
                    "drawn": {},
                    "machine": "here",
                    "error": "",
                }
            )
        writer.close()
        return folder

    return make


def peak(work):
    """Returns what `work` returns, and the most memory that it takes."""
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_memory_of_the_driver_does_not_grow_with_the_runs(plan, tmp_path):
    made, program = plan(seeds=300)
    taken = np.zeros(601)

    def progress(done, planned, failed):
        gc.collect()
        taken[done] = tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        assert run_sweep(made, tmp_path / "out", program, Options(jobs=2, on_progress=progress)).done == 600
    finally:
        tracemalloc.stop()
    # What is allocated once, as by a thread that starts late, is no growth: most stretches of 30 runs must add nothing.
    least = taken[1:].reshape(20, 30).min(axis=1)
    assert np.median(np.diff(least)) < 30 * 40  # bytes a run; the line of one has 300


def test_memory_of_a_finished_sweep(finished):
    runs = 4000
    folder = finished(seeds=runs // 2)
    lines, memory = peak(lambda: read_entries(folder))
    assert len(lines) == runs
    assert memory < 600 * runs
    data, memory = peak(lambda: Dataset(folder))
    assert memory < 1600 * runs
    _, memory = peak(data.write)
    assert memory < 4 * MEBIBYTE


def test_the_report_of_many_seeds_is_small(finished):
    data = Dataset(finished(seeds=6000))
    sweep_report.write(data)
    assert (data.folder / "report.html").stat().st_size < 0.25e6


def test_the_report_of_many_cells_is_small(finished):
    frictions = [round(0.1 + 0.001 * i, 3) for i in range(600)]
    data = Dataset(finished(seeds=3, more=f'[sweep.grid]\n"geom.post.friction" = {frictions}'))
    sweep_report.write(data)
    page = (data.folder / "report.html").read_text()
    assert len(page) < 0.5e6
    assert "700 more rows are in summary.json" in page
