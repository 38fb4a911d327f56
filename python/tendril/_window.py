"""`tendril view` of the Python package, whose program has no window: MuJoCo's viewer."""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tendril._command import Parser, make_parser
from tendril._errors import ModelError
from tendril._python_command import load
from tendril._settings import parse_setting
from tendril.experiment import Experiment
from tendril.recording import Recording

_INSTALL = (
    'view: this program has no window: pip install "tendril-mujoco[view]" adds MuJoCo\'s viewer, tendril play writes a '
    "page for the browser, a program built from source has one"
)
EXIT_DIVERGED = 3
_FRAME = 1 / 60  # s
_LARGEST_DELAY = 0.1  # s of the wall clock that a slow simulation makes up for
_SPACE = 32  # key


class Clock:
    """Simulated time that should be reached now; the space bar stops it."""

    def __init__(self, start: float, speed: float) -> None:
        self._time, self._speed, self._last, self.paused = start, speed, time.monotonic(), False

    def restart(self, start: float) -> None:
        self._time = start

    def advance(self, reached: float) -> float:
        """Returns the time to reach now, from the time that has been reached."""
        now = time.monotonic()
        if not self.paused:
            self._time = min(self._time + self._speed * (now - self._last), reached + self._speed * _LARGEST_DELAY)
        self._last = now
        return self._time

    def on_key(self, key: int) -> None:
        if key == _SPACE:
            self.paused = not self.paused


def _parser() -> Parser:
    command = make_parser(
        "view",
        "Shows a running scene or a recording in MuJoCo's viewer. The space bar pauses.",
        "Example: tendril view scenes/reach/reach.xml\nExit codes: 0 closed, 2 bad input, 3 diverged, 4 no display",
    )
    command.add_argument("file", type=Path, help="experiment (.toml), scene (.xml), robot (.toml) or recording (.h5)")
    command.add_argument("--speed", default="1", help="simulated seconds per second, 1/64 to 64 [1]")
    command.add_argument("--seed", help="seed of [vary], integer >= 0 [that of the experiment, or 0]")
    command.add_argument("--set", action="append", default=[], metavar="key=value", help="a setting; may be repeated")
    command.add_argument(
        "--python", action="append", default=[], metavar="FILE", help="Python file with controllers; may be repeated"
    )
    command.add_argument("--controller", help="plugin for the robots, e.g. tendril.reach")
    return command


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = math.nan
    if not 1 / 64 <= speed <= 64:
        raise ModelError(f"--speed: {text}: must be in [1/64, 64]")
    return speed


def _seed(text: str | None) -> int | None:
    if text is not None and not text.isdecimal():
        raise ModelError(f"--seed: {text}: must be an integer >= 0")
    return None if text is None else int(text)


def _viewer() -> Any:
    """MuJoCo's viewer. Throws ModelError where it is not installed, OSError without a display."""
    if sys.platform == "darwin":  # where it wants another interpreter, and was never tried
        raise ModelError("view: this program has no window on macOS: tendril play writes a page for the browser")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of GLFW: the errors are lines of this program
        try:
            import glfw
            import mujoco.viewer
        except (ImportError, RuntimeError):
            raise ModelError(_INSTALL) from None
        ready = glfw.init()
    if not ready:
        raise OSError("no window: a window needs a display (over ssh: ssh -X); tendril play needs none")
    return mujoco.viewer


def _show_run(viewer: Any, experiment: Experiment, options: Any, speed: float) -> int:
    settings = dict(map(parse_setting, options.set))
    with experiment.start(_seed(options.seed), settings, options.controller) as run:
        for notice in run.notices:
            print(f"tendril: notice: {notice}", file=sys.stderr)
        clock = Clock(run.time, speed)
        with viewer.launch_passive(run.model, run.data, key_callback=clock.on_key) as window:
            while window.is_running():
                begin = time.monotonic()
                until = clock.advance(run.time)
                with window.lock():
                    while not run.done and run.time < until and time.monotonic() - begin < _FRAME:
                        run.step()
                window.sync()
                time.sleep(max(0.0, _FRAME - (time.monotonic() - begin)))
    if run.result.outcome == "diverged":
        print(f"tendril: {options.file}: {run.result.reason}", file=sys.stderr)
        return EXIT_DIVERGED
    return 0


def _show_recording(viewer: Any, file: Path, speed: float) -> int:
    import mujoco

    with Recording(file) as recording, recording.reading():
        recording.require_rows()
        model = recording.load_model(True)
        data = mujoco.MjData(model)
        times = recording.time
        clock = Clock(float(times[0]), speed)
        shown = -1
        with viewer.launch_passive(model, data, key_callback=clock.on_key) as window:
            while window.is_running():
                until = clock.advance(math.inf)
                if until > times[-1] + 1.0:  # from the start again
                    clock.restart(float(times[0]))
                row = int(np.clip(np.searchsorted(times, until, "right") - 1, 0, recording.rows - 1))
                if row != shown:
                    with window.lock():
                        _pose(mujoco, model, data, recording, row)
                    shown = row
                window.sync()
                time.sleep(_FRAME)
    return 0


def _pose(mujoco: Any, model: Any, data: Any, recording: Recording, row: int) -> None:
    """Moves the model as the row has it, without a step."""
    data.time, data.qpos[:] = recording.time[row], recording.qpos[row]
    data.mocap_pos[:], data.mocap_quat[:] = recording.mocap_pos[row], recording.mocap_quat[row]
    for update in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_camlight, mujoco.mj_tendon):
        update(model, data)


def main(words: Sequence[str]) -> int:
    """The exit code of `tendril view WORDS`."""
    options = _parser().parse_args(words)
    speed = _speed(options.speed)
    for file in options.python:
        load(file)
    is_recording = options.file.suffix == ".h5"
    if is_recording and (options.set or options.seed is not None or options.controller):
        raise ModelError(f"{options.file}: --set, --seed and --controller change a scene, not a recording")
    experiment = None if is_recording else Experiment(options.file)
    viewer = _viewer()
    if experiment is None:
        return _show_recording(viewer, options.file, speed)
    return _show_run(viewer, experiment, options, speed)
