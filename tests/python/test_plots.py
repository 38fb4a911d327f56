"""Plots of recordings: numbers, units and names are those of the recording; wrong requests are one line."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import tendril as td

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

from tendril.report import STYLE, figure, labels  # noqa: E402

PROGRAM = Path(sys.executable).with_name("tendril")


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A recording of 0.2 s of an experiment of the package."""

    @cache
    def recorded(file: str, name: str = "run") -> Path:
        out: Path = tmp_path_factory.mktemp("plots") / name / "rollout.h5"
        out.parent.mkdir()
        td.Experiment(td.share / "scenes" / file).run(duration=0.2, record=out)
        return out

    return recorded


@pytest.fixture(autouse=True)
def close() -> Iterator[None]:
    yield
    pyplot.close("all")


SOFT, TENDONS = "soft_arm_pressure/soft_arm_pressure.toml", "tendon_arm/reach.toml"


def lines(axes: Any) -> dict[str, Any]:
    return {line.get_label(): np.asarray(line.get_ydata()) for line in axes.get_lines()}


def test_a_line_has_the_numbers_of_the_sensor_in_the_unit_of_its_axis(record: Callable[..., Path]) -> None:
    with td.Recording(record(SOFT)) as recording:
        (axes,) = recording.plot("arm_tip_error")
        assert axes.get_ylabel() == "arm_tip_error [mm]" and axes.get_xlabel() == "time [s]"
        assert np.array_equal(lines(axes)["arm_tip_error"], 1e3 * recording.sensor("arm_tip_error"), equal_nan=True)


def test_each_unit_has_a_panel_and_chambers_have_pressures(record: Callable[..., Path]) -> None:
    with td.Recording(record(SOFT)) as recording:
        pressures, angles, lengths = recording.plot("arm_c*_pressure", "arm_command")
        assert pressures.get_ylabel() == "[kPa]" and list(lines(pressures)) == [
            f"arm_c{i}_pressure" for i in range(1, 7)
        ]
        assert list(lines(angles)) == [f"arm_command: section {s}, {c}" for s in (1, 2) for c in "uv"]
        assert list(lines(lengths)) == [f"arm_command: section {s}, length change" for s in (1, 2)]


def test_tensions_and_pressures_are_those_of_their_sensors_by_name(record: Callable[..., Path]) -> None:
    for file, kind, names in ((TENDONS, "tension", "t"), (SOFT, "pressure", "c")):
        with td.Recording(record(file)) as recording:
            (robot,) = labels.drives(recording, kind).items()
            count = 9 if kind == "tension" else 6
            assert robot[0] == "arm_" and [drive.name for drive in robot[1]] == [
                f"{names}{i + 1}" for i in range(count)
            ]
            for i, drive in enumerate(robot[1]):
                assert np.array_equal(drive.measured, recording.sensor(f"arm_{drive.name}_{kind}"))
                assert np.array_equal(drive.command, recording.ctrl[:, i])


def test_recordings_are_compared_in_one_panel_with_names_that_tell_them_apart(record: Callable[..., Path]) -> None:
    with td.Recording(record(SOFT, "before")) as first, td.Recording(record(SOFT, "after")) as second:
        (axes,) = first.plot("arm_tip_error", compare=[second])
        assert [name.rpartition("/")[2] for name in lines(axes)] == ["before", "after"]


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["a/x.h5"], ["x"]),
        (["a/x.h5", "a/y.h5"], ["x", "y"]),
        (["a/rollout.h5", "b/rollout.h5"], ["a", "b"]),
        (["a/x.h5", "a/x.h5"], ["a/x", "a/x"]),
    ],
)
def test_names_of_files_are_as_short_as_they_differ(files: list[str], names: list[str]) -> None:
    assert figure.distinct([Path(file) for file in files]) == names


def test_contacts_are_plotted_as_in_reports(record: Callable[..., Path]) -> None:
    with td.Recording(record("tube_insertion/tube_insertion.toml")) as recording:
        (axes,) = recording.plot("wall_force")
        assert axes.get_ylabel().startswith("wall_force [") and len(lines(axes)["wall_force"]) == recording.rows


def test_faults_are_shaded_in_a_single_recording(record: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "fault.toml").write_text(
        f'scene = "{td.share / "scenes/reach/reach.xml"}"\nduration = 0.3\n'
        '[[fault]]\nkind = "gravity"\nvalue = [0, 1, -5]\nstart = 0.1\nend = 0.2\n'
    )
    td.Experiment(tmp_path / "fault.toml").run(record=tmp_path / "fault.h5")
    with td.Recording(tmp_path / "fault.h5") as recording:
        (axes,) = recording.plot("arm_tip_error")
        assert [text for text in axes.get_legend_handles_labels()[1] if text.startswith("fault: ")]
        (axes,) = recording.plot("arm_tip_error", shade=False)
        assert len(axes.get_legend_handles_labels()[1]) == 1


def test_spans_of_statuses_that_are_not_well() -> None:
    time = np.arange(8) * 0.1
    found = list(figure._spans(time, np.array([0, 8, 8, 1, 1, 2, 2, 2.0])))
    assert [(round(a, 3), round(b, 3), status) for a, b, status in found] == [(0.1, 0.3, 8), (0.5, 0.7, 2)]


def test_a_picture_is_written_in_the_style_of_reports(record: Callable[..., Path], tmp_path: Path) -> None:
    with td.Recording(record(SOFT)) as recording:
        for ending in figure.ENDINGS:
            (axes,) = recording.plot("arm_tip_error", out=tmp_path / f"plot{ending}")
            assert (tmp_path / f"plot{ending}").stat().st_size > 1000
        with matplotlib.style.context(STYLE):
            color = matplotlib.rcParams["axes.prop_cycle"].by_key()["color"][0]
        assert axes.get_lines()[0].get_color() == color == "#0072b2" and not axes.spines["top"].get_visible()
        _, own = pyplot.subplots()
        assert recording.plot("arm_tip_error", axes=own) == [own]


def test_wrong_requests_are_one_line(record: Callable[..., Path], tmp_path: Path) -> None:
    file = record(SOFT)
    with td.Recording(file) as recording:
        for arguments, options, text in (
            (["nothing"], {}, "sensor: nothing: must match one of arm_status, "),
            (["arm_tip_error", "arm_status"], {"axes": pyplot.subplots()[1]}, "axes: sensors have the units m, "),
            (["arm_tip_error"], {"out": tmp_path / "x.gif"}, 'extension: ".gif": must be one of .png, .svg, .pdf'),
            (["arm_tip_error"], {"out": file.with_suffix(".h5")}, 'extension: ".h5"'),
        ):
            with pytest.raises(td.ModelError) as caught:
                recording.plot(*arguments, **options)
            assert text in str(caught.value) and "\n" not in str(caught.value)
        with pytest.raises(OSError, match="could not be written"):
            recording.plot(out=tmp_path / "none" / "x.png")


def test_names_of_strangers_are_texts_and_bounded(record: Callable[..., Path], tmp_path: Path) -> None:
    hostile = tmp_path / "hostile.h5"
    hostile.write_bytes(record(SOFT).read_bytes())
    name = "_$\\frac{\u202e\x1b[2J" + "x" * 500
    with h5py.File(hostile, "r+") as file:
        text = file["rollout_0/texts/sensors"][0].decode()
        del file["rollout_0/texts/sensors"]
        rows = json.loads(text)
        rows[2]["name"] = name
        data = json.dumps(rows).encode()
        file["rollout_0/texts"].create_dataset("sensors", data=np.array([data], dtype=f"S{len(data)}"))
    with td.Recording(hostile) as recording:
        (axes,) = recording.plot("_$*", out=tmp_path / "hostile.png")
        label = axes.get_lines()[0].get_label()
        assert len(label) <= 62 and "\x1b" not in label and "\u202e" not in label


def test_the_command_draws_what_the_method_draws(record: Callable[..., Path], tmp_path: Path) -> None:
    def tendril(*words: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run([PROGRAM, "plot", *words], capture_output=True, text=True)

    file, out = record(SOFT), tmp_path / "plot.svg"
    done = tendril(file, "arm_c*_pressure", "--compare", file, "-o", out)
    assert done.returncode == 0 and done.stdout.strip() == str(out), done.stderr
    assert "arm_c6_pressure" in out.read_text() and "[kPa]" in out.read_text()
    for words in ([file, "nothing"], [tmp_path / "none.h5"], [file, "-o", tmp_path / "x.gif"]):
        done = tendril(*words)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and done.stderr.startswith("tendril: ")


def test_without_matplotlib_the_command_that_installs_it_is_named(record: Callable[..., Path]) -> None:
    program = (
        "import sys; sys.modules['matplotlib'] = None\nimport tendril as td\n"
        "try:\n    td.Recording(sys.argv[1]).plot()\n"
        "except ImportError as error:\n    print(error)\n"
        "from tendril._command import run\nsys.exit(run('plot', [sys.argv[1]]))\n"
    )
    done = subprocess.run([sys.executable, "-c", program, record(SOFT)], capture_output=True, text=True)
    assert 'pip install "tendril-mujoco[report]"' in done.stdout
    assert 'pip install matplotlib, or with all others "tendril-mujoco[report]"' in done.stderr
    assert done.returncode == 2


def test_too_many_lines_are_refused(record: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure, "MOST_LINES", 5)
    with td.Recording(record(SOFT)) as recording:
        assert len(recording.plot("arm_target")) == 1
        with pytest.raises(td.ModelError, match="more than 5 lines"):
            recording.plot("arm_c*_pressure")


@pytest.mark.parametrize(
    ("actuator", "sensor", "robot", "name", "kind"),
    [
        ("arm_t1", "arm_t1_tension", "arm_", "t1", "tension"),
        ("t1", "t1_tension", "", "t1", "tension"),
        ("left_arm_c_1_right", "left_arm_c_1_pressure_right", "left_arm__right", "c_1", "pressure"),
        ("arm_s1_tension", "arm_s1_tension_tension", "arm_", "s1_tension", "tension"),
    ],
)
def test_drives_are_found_by_their_actuators(actuator: str, sensor: str, robot: str, name: str, kind: str) -> None:
    robots = [{"prefix": "arm_"}, {"prefix": "left_arm_", "suffix": "_right"}, {"prefix": "left_"}]
    tables: Any = {"robots": robots, "actuators": [{"name": actuator, "address": 0}]}
    assert labels.drive_of({actuator}, {"name": sensor}) == (actuator, kind)
    assert labels._robot_and_name(tables, actuator) == (robot, name)
    assert labels.unit_of({actuator}, {"name": sensor, "unit": ""}) == labels.DRIVES[kind]
    assert labels.unit_of({actuator}, {"name": "other_" + sensor, "unit": "s"}) == "s"


def test_a_report_shows_tensions_pressures_and_limits_with_units(record: Callable[..., Path]) -> None:
    from tendril.report import run, run_plots

    servo = {"actuator": "arm_c1", "limit": 200000.0, "steps": 1, "first": 0.0, "last": 0.1}
    summary = {"saturated_servos": [servo, servo | {"actuator": "arm_t1", "limit": 20.0}], "steps": 10}
    for file, title, unit, limit in (
        (TENDONS, "Tensions of arm", "N", "20\u00a0N"),
        (SOFT, "Pressures of arm", "kPa", "200\u00a0kPa"),
    ):
        with td.Recording(record(file)) as recording:
            plots = {title: drawn for title, drawn, _ in run_plots.RunPlots(recording, {}).all()}
            assert len([text for text in plots if text.startswith(("Tensions", "Pressures"))]) == 1
            name = "t1" if unit == "N" else "c1"
            assert f">{name} [{unit}]<" in plots[title]
            assert ("commanded" in plots[title]) == (unit == "kPa")
            sections = plots["Sections of arm: commanded and measured"]
            assert ">section 1, u [rad]<" in sections and f">{name} [" not in sections
            assert f"at its limit of {limit}" in run.robots_section(summary, recording)
