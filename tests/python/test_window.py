"""`tendril view` of the package: MuJoCo's viewer if it is there, else one line."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import mujoco
import numpy as np
import pytest

import tendril as td
from tendril import _window
from tendril._command import run_module

SCENE = td.share / "scenes/reach/reach.xml"


class Viewer:
    """Stands in for the handle of MuJoCo's viewer: is closed after some frames."""

    frames = 5

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self.model, self.data, self.shown, self.left = model, data, [], self.frames

    def __enter__(self) -> "Viewer":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def is_running(self) -> bool:
        self.left -= 1
        return self.left >= 0

    def lock(self) -> "Viewer":
        return self

    def sync(self) -> None:
        self.shown.append((self.data.time, self.data.qpos.copy()))


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> list[Viewer]:
    opened: list[Viewer] = []

    def launch(model: mujoco.MjModel, data: mujoco.MjData, key_callback: Callable[[int], None]) -> Viewer:
        opened.append(Viewer(model, data))
        return opened[-1]

    class Module(ModuleType):
        init = staticmethod(lambda: True)
        launch_passive = staticmethod(launch)

    monkeypatch.setitem(sys.modules, "glfw", Module("glfw"))
    monkeypatch.setitem(sys.modules, "mujoco.viewer", Module("mujoco.viewer"))
    monkeypatch.setattr(mujoco, "viewer", Module("mujoco.viewer"), raising=False)
    return opened


def view(*words: Any) -> int:
    return run_module("tendril._window", [str(word) for word in words])


def test_a_scene_steps_while_its_window_is_open(windows: list[Viewer]) -> None:
    assert view(SCENE, "--speed", "2", "--set", "option.timestep=0.001", "--controller", "tendril.reach") == 0
    times = [time for time, _ in windows[0].shown]
    assert windows[0].model.opt.timestep == 0.001
    assert len(times) == Viewer.frames and 0 < times[-1] < 1 and times == sorted(times)


def test_a_recording_shows_its_rows(windows: list[Viewer], tmp_path: Path) -> None:
    td.Experiment(SCENE).run(duration=0.1, record=tmp_path / "run.h5")
    assert view(tmp_path / "run.h5") == 0
    with td.Recording(tmp_path / "run.h5") as recording:
        for time, qpos in windows[0].shown:
            row = int(np.flatnonzero(recording.time == time)[0])
            assert np.array_equal(qpos, recording.qpos[row])
    assert windows[0].shown[-1][0] > 0


def test_the_space_bar_stops_the_clock() -> None:
    clock = _window.Clock(1.0, 1.0)
    clock.on_key(32)
    assert clock.advance(1.0) == 1.0 and clock.paused
    clock.on_key(32)
    assert clock.advance(1.0) >= 1.0


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["none.xml"], "none.xml"),
        ([SCENE, "--speed", "100"], "--speed: 100: must be in [1/64, 64]"),
        ([SCENE, "--set", "x"], "--set: x: must be key=value"),
        ([SCENE, "--seed", "-1"], "--seed"),
        (["none.h5", "--seed", "1"], "change a scene, not a recording"),
    ],
)
def test_wrong_input_is_one_line(
    windows: list[Viewer], words: list[Any], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert view(*words) == 2
    line = capsys.readouterr().err
    assert text in line and line.count("\n") == 1 and not windows


def test_without_a_viewer_the_line_says_what_shows_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "glfw", None)
    assert view(SCENE) == 2
    line = capsys.readouterr().err
    assert 'pip install "tendril-mujoco[view]"' in line and "tendril play" in line and line.count("\n") == 1


def test_without_a_display_the_exit_code_is_4(
    windows: list[Viewer], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.modules["glfw"], "init", lambda: False)
    assert view(SCENE) == 4 and "needs a display" in capsys.readouterr().err
