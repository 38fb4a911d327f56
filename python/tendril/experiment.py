"""Experiments: a scene that is run, with motions, checks and metrics, as by `tendril run`."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tendril import _sim
from tendril._files import refuse_inputs
from tendril._reading import parse_json
from tendril.report import notebook

if TYPE_CHECKING:
    import mujoco
    import numpy.typing as npt


@dataclass(frozen=True)
class Result:
    """Result of a run."""

    outcome: str  #: "done", "diverged" or "interrupted"
    reason: str  #: of a divergence: one line that names joint, value, step and time
    verdict: str  #: "pass", "fail", or "none" without checks
    checks: Sequence[Mapping[str, Any]]  #: `name`, `metric`, `value`, `unit`, `min`, `max`, `holds`, ...
    metrics: Mapping[str, float]  #: by name; SI units
    statuses: Sequence[Mapping[str, Any]]  #: of each robot: `robot`, `end`, `statuses`
    failures: Sequence[str]  #: why a run fails whose checks hold, one line each
    notices: Sequence[str]  #: what the user should know, one line each
    summary: Mapping[str, Any]  #: the content of `summary.json`; docs/reference/experiment_file.md

    @property
    def passes(self) -> bool:
        """Tells whether the run came to its end, all checks hold and nothing else failed."""
        return self.outcome == "done" and self.verdict != "fail"

    def _repr_html_(self) -> str:
        """What a notebook shows: checks, failures, notices and metrics."""
        return notebook.of_result(self.summary, self.metrics)


class Run:
    """An experiment under way, for a custom loop; a context manager.

    `model` and `data` are MuJoCo's own objects. Every `step` moves what the experiment moves, and counts in metrics,
    checks and recording. What a caller changes between two steps (targets, controls, forces) is in force in the next.
    """

    def __init__(self, run: _sim.Run) -> None:
        self._run = run
        self._result: Result | None = None
        self.model: mujoco.MjModel = run.model
        self.data: mujoco.MjData = run.data

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return float(self.data.time)

    @property
    def done(self) -> bool:
        """Tells whether no step is left: the duration is over, or the run has diverged."""
        return self._run.done

    @property
    def notices(self) -> Sequence[str]:
        """Notices so far, one line each."""
        return self._run.notices

    @property
    def drivers(self) -> Sequence[str]:
        """The controller that drives each actuator of the model, such as "tendril.reach of A"; "": none."""
        return self._run.drivers

    @property
    def faults(self) -> str:
        """TOML of the faults with the numbers of this run, as recordings have it."""
        return self._run.faults

    def plain_model(self, faults: bool = True) -> mujoco.MjModel:
        """MuJoCo's model of the scene with the settings of the run, without controllers and their sensors.

        :param faults: those of the body that act at the start are in its numbers; those that begin later never are
        """
        import mujoco

        model = self._run.plain_model()
        if faults:
            _sim.PhysicalFaults(self.faults, model).apply(model, mujoco.MjData(model))
        return model

    def move(self, time: float) -> None:
        """Writes what the motions say of a time, s, to the data: for a program that steps it by itself."""
        self._run.move(time)

    def step(self) -> None:
        """One step of the engine; none when the run is done.

        :raises RecordingError: the recording cannot be written
        """
        self._run.step()

    def take(self, inputs: npt.ArrayLike, state: npt.ArrayLike | None = None) -> None:
        """One step that another engine has made, to count it in metrics, checks and recording.

        :param inputs: mocap_pos, mocap_quat and ctrl during the step; controllers of the scene overwrite their ctrl
        :param state: qpos, qvel and act after it; none: MuJoCo's own
        :raises RecordingError: the recording cannot be written
        """
        self._run.take(inputs, state)

    def record(self, file: str | os.PathLike[str], other_engine: str = "") -> None:
        """Begins a recording, before the first step.

        :param other_engine: that makes the steps: see `take`; the recording then cannot be replayed
        :raises RecordingError: the recording cannot be created
        """
        from tendril import _recording_file

        self._run.record(partial(_recording_file.create, file), other_engine)

    def run(self) -> None:
        """The remaining steps, without the interpreter lock.

        :raises KeyboardInterrupt: Ctrl-C, which ends the run; its recording is whole
        :raises RecordingError: the recording cannot be written
        """
        self._run.run()

    def finish(self) -> Result:
        """Closes the recording; before the end of the run its outcome is `interrupted`."""
        if self._result is None:
            self._run.finish()
            summary = parse_json(self._run.summary, "summary")
            self._result = Result(
                outcome=summary["outcome"],
                reason=summary["reason"],
                verdict=summary["verdict"],
                checks=summary["checks"],
                metrics=self._run.metrics,
                statuses=summary["robots"],
                failures=summary["failures"],
                notices=summary["notices"],
                summary=summary,
            )
        return self._result

    @property
    def result(self) -> Result:
        """Finishes the run; see `finish`."""
        return self.finish()

    def __reduce__(self) -> Any:
        raise TypeError("a run under way cannot be copied or pickled: start another one of its experiment")

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish()


class Experiment:
    """Input of `tendril run`: an experiment (`.toml`), a scene (`.xml`) or a robot file (`.toml`)."""

    def __init__(self, file: str | os.PathLike[str]) -> None:
        """
        :raises ModelError: the program's line `file:line: field: value: what is allowed`
        """
        self._file = _sim.load_experiment(Path(file))
        self.name = self._file.name  #: the file's stem by default
        self.file = self._file.file
        self.scene = self._file.scene
        self.family = self._file.family  #: of random scenes, a scene for each seed; "" with a custom scene
        self.duration = self._file.duration  #: of simulated time, s; of a family that of its scenes is in force
        self.seed = self._file.seed
        self.varies = self._file.varies  #: whether runs of different seeds differ

    def __repr__(self) -> str:
        return f"Experiment({str(self.file)!r})"

    def input_files(self, set: Mapping[str, Any] = {}) -> list[Path]:
        """Returns the files that a run may read: experiment, scene, what the engine reads for it, robot files and what
        these name, files that settings name. Sorted; without the files of controllers in Python and of libraries.

        :param set: settings by key, as of `start`
        :raises ModelError: a file that cannot be read
        """
        return _sim.input_files(self._file, set)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, also in another process, reads the file."""
        return type(self), (Path(self.file).absolute(),)

    def start(
        self,
        seed: int | None = None,
        set: Mapping[str, Any] = {},
        controller: str | None = None,
        duration: float | None = None,
        record: str | os.PathLike[str] | None = None,
    ) -> Run:
        """The run before its first step.

        :param seed: of `[vary]`, integer >= 0; default: that of the file
        :param set: settings by key, applied last, such as {"option.timestep": 0.004}
        :param controller: for every robot file, such as "tendril.reach", or "none"; default: as in the files
        :param duration: simulated time, s, in (0, 1e6]; default: that of the file
        :param record: file to record to, in place of an earlier one; docs/guide/recordings.md
        :raises ModelError: the program's line
        :raises RecordingError: the recording cannot be created
        """
        if record is not None:
            refuse_inputs(Path(record), *self.input_files(set))
        with tempfile.TemporaryDirectory(prefix="tendril-") if self.family else nullcontext("") as folder:
            run = Run(_sim.Run(self._file, seed, set, controller, duration, shlex.join(sys.orig_argv), folder))
        if record is not None:
            run.record(record)
        return run

    def run(
        self,
        seed: int | None = None,
        set: Mapping[str, Any] = {},
        controller: str | None = None,
        duration: float | None = None,
        record: str | os.PathLike[str] | None = None,
    ) -> Result:
        """Runs the experiment: the metrics and the bits of `tendril run`. Parameters and errors are those of `start`.

        :raises KeyboardInterrupt: Ctrl-C; the recording is closed and whole
        """
        with self.start(seed, set, controller, duration, record) as run:
            run.run()
        return run.result
