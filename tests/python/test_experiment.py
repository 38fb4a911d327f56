"""An experiment is the same by the program and in Python: metrics and bits."""

import json
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import h5py
import mujoco
import numpy as np
import pytest

import tendril as td

SCENES = td.share / "scenes"
REACH = SCENES / "reach/reach.toml"
#: wall times
OF_THE_MACHINE = {"real_time_factor", "step_time_mean", "step_time_p999"}
FIELDS = (
    "step",
    "time",
    "qpos",
    "qvel",
    "ctrl",
    "act",
    "plugin_state",
    "sensordata",
    "mocap/pos",
    "mocap/quat",
    "contact/start",
    "contact/count",
    "contact/geom1",
    "contact/position",
    "contact/force",
    "integration/row",
    "integration/state",
)


def tendril(*arguments: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("tendril"), *map(str, arguments)],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin"},
    )


def same_rows(first: Path, second: Path) -> bool:
    with h5py.File(first) as a, h5py.File(second) as b:
        return all(a["rollout_0"][name][()].tobytes() == b["rollout_0"][name][()].tobytes() for name in FIELDS)


def test_both_doors_take_motions_vary_set_faults_and_checks(tmp_path: Path) -> None:
    experiment = tmp_path / "circle.toml"
    experiment.write_text(f'''
scene = "{SCENES / "reach/reach.xml"}"
seed = 3
[set]
"option.timestep" = 0.004
[[motion]]
body = "target"
kind = "circle"
center = [0.22, 0, 0]
radius = 0.06
normal = [1, 0, 0]
speed = 0.1
[[check]]
metric = "tip_error_end"
max = 0.1
[[check]]
metric = "settle_time"
threshold = 1e-9
max = 1
[[fault]]
kind = "noise"
channel = "tip"
sigma = 0.001
[[fault]]
kind = "gravity"
value = [0, 0, -5]
start = 0.2
end = 0.3
[vary]
"motion.target.radius" = {{ uniform = [0.02, 0.06] }}
"robot.section.1.bending_stiffness" = {{ uniform = [0.04, 0.06] }}
''')
    check_equality(
        tmp_path, experiment, seed=5, duration=0.5, set={"controller.integral_gain": 4, "motion.target.speed": 0.12}
    )


@pytest.mark.parametrize(
    ("experiment", "duration"),
    [
        ("tube_insertion/tube_insertion.toml", 0.6),
        ("snake_travel/serpenoid.toml", 0.8),
        ("youbot_targets/youbot_targets.toml", 0.5),
        ("mobile_arm/mobile_arm.toml", 0.2),
    ],
)
def test_both_doors(experiment: str, duration: float, tmp_path: Path) -> None:
    check_equality(tmp_path, SCENES / experiment, seed=2, duration=duration, set={})


def check_equality(folder: Path, experiment: Path, seed: int, duration: float, set: dict[str, Any]) -> None:
    program = tendril(
        "run",
        experiment,
        "--seed",
        seed,
        "--duration",
        duration,
        "--out",
        folder / "out",
        "--no-report",
        "--quiet",
        *(word for key, value in set.items() for word in ("--set", f"{key}={value}")),
    )
    assert program.returncode in (0, 1), program.stderr
    expected = json.loads((folder / "out/summary.json").read_text())
    result = td.Experiment(experiment).run(seed=seed, duration=duration, set=set, record=folder / "python.h5")

    assert same_rows(folder / "out/rollout.h5", folder / "python.h5")
    summary = dict(result.summary)
    for key in (
        "outcome",
        "verdict",
        "failures",
        "checks",
        "robots",
        "saturated_servos",
        "touched",
        "steps",
        "notices",
        "seed",
        "duration",
        "simulated_time",
    ):
        assert summary[key] == expected[key], key
    assert set_without_times(summary["metrics"]) == set_without_times(expected["metrics"])
    assert [(s["key"], s["value"]) for s in summary["settings"]] == [
        (s["key"], s["value"]) for s in expected["settings"]
    ]
    assert summary.keys() == expected.keys()
    for name, value in result.metrics.items():
        assert summary["metrics"][name] == (value if np.isfinite(value) else None)

    for command in "verify", "replay":
        said = tendril("rollout", command, folder / "python.h5")
        assert said.returncode == 0, said.stdout + said.stderr
    info = [
        json.loads(tendril("rollout", "info", file, "--json").stdout)
        for file in (folder / "out/rollout.h5", folder / "python.h5")
    ]
    assert set_of_names(info[0]) == set_of_names(info[1])


def set_without_times(metrics: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in metrics.items() if name not in OF_THE_MACHINE}


def set_of_names(info: Any) -> list[str]:
    if not isinstance(info, dict):
        return []
    return sorted(info) + [name for key in sorted(info) for name in set_of_names(info[key])]


def test_a_custom_loop_has_the_bits_of_a_run(tmp_path: Path) -> None:
    experiment = td.Experiment(REACH)
    first = experiment.run(duration=0.3, record=tmp_path / "run.h5")
    with experiment.start(duration=0.3, record=tmp_path / "loop.h5") as run:
        assert isinstance(run.model, mujoco.MjModel) and isinstance(run.data, mujoco.MjData)
        steps = 0
        while not run.done:
            run.step()
            steps += 1
        run.step()  # none is left
    assert steps == run.result.summary["steps"] == 150 and run.time == pytest.approx(0.3)
    assert same_rows(tmp_path / "run.h5", tmp_path / "loop.h5")
    assert set_without_times(dict(first.metrics)) == set_without_times(dict(run.result.metrics))
    assert run.result is run.result


def test_what_the_loop_changes_is_in_force_and_replays(tmp_path: Path) -> None:
    with td.Experiment(SCENES / "reach/reach.xml").start(duration=0.4, record=tmp_path / "moved.h5") as run:
        home = run.data.mocap_pos.copy()
        while not run.done:
            run.data.mocap_pos[0] += [1e-4, 0, 0]
            run.step()
    with h5py.File(tmp_path / "moved.h5") as file:
        moved = file["rollout_0/mocap/pos"][:, 0, 0] - home[0, 0]
    assert np.allclose(moved, 1e-4 * np.arange(201))
    assert tendril("rollout", "replay", tmp_path / "moved.h5").returncode == 0


def test_a_stuck_actuator_keeps_the_setpoint_of_the_step_before(tmp_path: Path) -> None:
    (tmp_path / "scene.xml").write_text(
        '<mujoco><option timestep="0.002" integrator="discrete" cone="elliptic"/><worldbody><body name="b">'
        '<joint name="j"/><geom size="0.1" mass="1"/></body></worldbody>'
        '<actuator><position name="servo" joint="j" kp="10" kv="1"/></actuator></mujoco>'
    )
    (tmp_path / "stuck.toml").write_text(
        'scene = "scene.xml"\nduration = 0.5\n[[motion]]\nactuator = "servo"\nkind = "waypoints"\n'
        "times = [0, 0.5]\nvalues = [0, 1]\n"
        '[[fault]]\nkind = "actuator_stuck"\nactuator = "servo"\nstart = 0.1\nend = 0.3\n'
    )
    with td.Experiment(tmp_path / "stuck.toml").start(record=tmp_path / "stuck.h5") as run:
        for _ in range(60):
            before = run.data.ctrl.copy()
            run.step()
            if run.data.time < 0.103:
                held = before
        force = 10.0 * (held - run.data.qpos) - run.data.qvel
        mujoco.mj_forward(run.model, run.data)
        assert run.data.actuator_force == pytest.approx(force, abs=1e-12)  # N m
        run.run()
    with td.Recording(tmp_path / "stuck.h5") as recording:
        assert recording.replay().identical


def test_steps_of_another_engine_are_judged_and_recorded_but_not_replayed(tmp_path: Path) -> None:
    """The other engine here is MuJoCo itself: all rows and numbers are those of its own run."""
    own, other = tmp_path / "own.h5", tmp_path / "other.h5"
    made = td.Experiment(REACH).run(duration=0.1, record=own)
    with td.Recording(own) as rows, td.Experiment(REACH).start(duration=0.1) as run:
        run.record(other, "another engine")
        for i in range(1, rows.rows):
            inputs = (rows.mocap_pos[i].ravel(), rows.mocap_quat[i].ravel(), rows.ctrl[i])
            run.take(np.concatenate(inputs), np.concatenate((rows.qpos[i], rows.qvel[i], rows.act[i])))
        with pytest.raises(td.ModelError, match=r"state: shape = \(3,\), must be \(\.\.\., 120\)"):
            run.take(np.concatenate(inputs), np.zeros(3))
    assert same_rows(own, other)
    taken = run.result
    assert taken.outcome == "done"
    for name in set(made.metrics) - OF_THE_MACHINE:
        assert taken.metrics[name] == pytest.approx(made.metrics[name], nan_ok=True, abs=0), name
    with td.Recording(other) as recording:
        assert recording.seek(20).qpos.tobytes() == recording.qpos[20].tobytes()
        with pytest.raises(td.RecordingError, match="was stepped by another engine: replay needs steps of MuJoCo"):
            recording.replay()


def test_a_step_of_another_engine_may_leave_the_state_to_mujoco(tmp_path: Path) -> None:
    run, free = td.Experiment(REACH).start(), td.Experiment(REACH).start()
    for _ in range(20):
        free.step()
        data = free.data
        run.take(np.concatenate((data.mocap_pos.ravel(), data.mocap_quat.ravel(), data.ctrl)))
    assert run.data.qpos.tobytes() == free.data.qpos.tobytes()


@pytest.mark.parametrize("file", [REACH, SCENES / "mobile_arm/mobile_arm.toml"], ids=("arm", "arm on a platform"))
def test_a_plain_model_has_the_numbers_of_the_scene_and_no_controller(file: Path) -> None:
    run = td.Experiment(file).start()
    plain = run.plain_model()
    assert plain.nplugin == 0 and plain.nsensor < run.model.nsensor
    for name in ("nq", "nv", "na", "nu", "nbody", "ngeom", "nsite", "ntendon", "nmocap"):
        assert getattr(plain, name) == getattr(run.model, name), name
    for name in ("body_mass", "body_inertia", "actuator_gainprm", "actuator_biasprm", "dof_damping", "key_ctrl"):
        assert getattr(plain, name).tobytes() == getattr(run.model, name).tobytes(), name


def test_a_run_without_controllers() -> None:
    with pytest.raises(td.ModelError, match="tip_error_max: no controller of the scene reports"):
        td.Experiment(REACH).start(controller="none")
    lone = td.load_scene(SCENES / "reach/arm.toml", set={"controller.plugin": "none"})
    assert lone.model.nplugin == 0 and lone.model.nmocap == 1  # its target stays
    carried = td.load_scene(SCENES / "mobile_arm/robot.toml", set={"controller.plugin": "none"})
    assert carried.model.nplugin == 0


def test_a_loop_that_ends_early_is_interrupted_and_its_recording_whole(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), td.Experiment(REACH).start(record=tmp_path / "part.h5") as run:
        for _ in range(300):
            run.step()
        raise ZeroDivisionError
    assert run.result.outcome == "interrupted" and run.result.reason.startswith("interrupted at step 300, t = 0.6")
    with h5py.File(tmp_path / "part.h5") as file:
        assert file["rollout_0/rows"][()] == 301 and file["rollout_0"].attrs["outcome"].decode() == run.result.reason


def test_a_forgotten_run_closes_its_recording(tmp_path: Path) -> None:
    run = td.Experiment(REACH).start(record=tmp_path / "left.h5")
    run.step()
    del run
    with h5py.File(tmp_path / "left.h5") as file:
        assert file["rollout_0/rows"][()] == 2 and file["rollout_0"].attrs["outcome"] == b"aborted"


def test_contacts_of_many_blocks_are_those_of_the_program(tmp_path: Path) -> None:
    check_equality(tmp_path, SCENES / "wrap_button/wrap_button.toml", seed=1, duration=1.5, set={})


def test_a_divergence_is_a_result(tmp_path: Path) -> None:
    scene = tmp_path / "slide.xml"
    scene.write_text(
        '<mujoco><option timestep="0.01"/><worldbody><body><joint name="slide" type="slide" axis="1 0 0"/>'
        '<geom size="0.1" mass="1"/></body></worldbody><actuator><motor name="push" joint="slide"/></actuator></mujoco>'
    )
    with td.Experiment(scene).start(duration=1.0) as run:
        while not run.done:
            run.data.ctrl[0] = np.nan if run.time > 0.2 else 0.0
            run.step()
    assert run.result.outcome == "diverged"
    assert "\n" not in run.result.reason and run.result.reason.startswith("diverged at step ")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"seed": -1}, "seed: -1: must be an integer in [0, 2^63)"),
        ({"seed": 0.5}, "seed: 0.5: must be an integer in [0, 2^63)"),
        ({"duration": 0}, "duration: 0: must be a time in (0, 1e6] s"),
        ({"duration": float("nan")}, "duration: nan: must be a time in (0, 1e6] s"),
        ({"controller": "no.such"}, "controller.plugin = no.such: must be a loaded plugin: "),
        ({"set": {"motion.nobody.speed": 1}}, "set: motion.nobody.speed: 1: the experiment has no motion of this body"),
        ({"set": {"option.timestep": -1}}, "set: option.timestep: -1: must be"),
    ],
)
def test_wrong_arguments_are_one_line_and_nothing_is_written(
    arguments: dict[str, Any], line: str, tmp_path: Path
) -> None:
    with pytest.raises(td.ModelError) as error:
        td.Experiment(REACH).run(record=tmp_path / "rollout.h5", **arguments)
    assert line in str(error.value) and "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_errors_of_files_have_the_words_of_the_program(tmp_path: Path) -> None:
    for text in (
        'scene = "none.xml"',
        "scene = 3",
        "nothing = 1",
        f'scene = "{REACH.with_name("reach.xml")}"\nkeyframe = "k"',
    ):
        file = tmp_path / "experiment.toml"
        file.write_text(text)
        program = tendril("run", file, "--out", tmp_path / "out")
        with pytest.raises(td.ModelError) as error:
            td.Experiment(file).run()
        assert program.returncode == 2
        assert re.fullmatch(re.escape(f"tendril: {error.value}") + r" \[[a-z-]+\]\n", program.stderr)


def test_a_controller_that_refuses_the_scene_says_why(tmp_path: Path) -> None:
    text = (SCENES / "reach/reach.xml").read_text().replace('<body name="target"', '<body name="other"')
    (tmp_path / "arm.toml").write_text((SCENES / "reach/arm.toml").read_text())
    (tmp_path / "scene.xml").write_text(text)
    with pytest.raises(td.ModelError, match="target") as error:
        td.Experiment(tmp_path / "scene.xml").start()
    assert "\n" not in str(error.value)


def test_a_recording_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(td.RecordingError, match=r"none/rollout.h5: cannot be created: \S.*$") as error:
        td.Experiment(REACH).run(record=tmp_path / "none/rollout.h5")
    assert "\n" not in str(error.value)
    code = (
        "import resource, signal, sys, tendril as td\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))\n"
        "try: td.Experiment(sys.argv[1]).run(record=sys.argv[2])\n"
        "except td.RecordingError as error: print(error)"
    )
    full = tmp_path / "full.h5"
    result = subprocess.run([sys.executable, "-c", code, REACH, full], capture_output=True, text=True)
    assert result.stdout == f"{full}: writing: File too large\n" and result.stderr == ""
    said = tendril("rollout", "info", full, "--json")
    assert json.loads(said.stdout)["rows"] > 0, said.stderr


def test_a_killed_run_leaves_what_it_had_written(tmp_path: Path) -> None:
    file = tmp_path / "killed.h5"
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, tendril as td\ntd.Experiment(sys.argv[1]).run(duration=1000, record=sys.argv[2])",
            REACH,
            file,
        ]
    )
    try:
        wait_for_rows(process, file, 1024)
    finally:
        process.kill()
        process.wait()
    assert tendril("rollout", "verify", file).returncode == 0
    assert tendril("rollout", "replay", file).returncode == 0


def wait_for_rows(process: "subprocess.Popen[str] | subprocess.Popen[bytes]", file: Path, rows: int) -> None:
    until = time.monotonic() + 120
    while not (file.exists() and rows_of(file) >= rows):
        assert process.poll() is None, "the run has ended"
        assert time.monotonic() < until, f"no {rows} rows after two minutes"
        time.sleep(0.02)


def rows_of(file: Path) -> int:
    try:
        with h5py.File(file, "r", swmr=True, libver="latest") as recording:
            return int(recording["rollout_0/rows"][()])
    except OSError:  # between two writes
        return 0


def test_ctrl_c_raises_and_closes_the_recording(tmp_path: Path) -> None:
    file = tmp_path / "stopped.h5"
    code = (
        "import sys, tendril as td\n"
        "try: td.Experiment(sys.argv[1]).run(duration=1000, record=sys.argv[2])\n"
        "except KeyboardInterrupt: print('stopped')"
    )
    process = subprocess.Popen([sys.executable, "-c", code, REACH, file], stdout=subprocess.PIPE, text=True)
    try:
        wait_for_rows(process, file, 256)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[0] == "stopped\n"
    finally:
        process.kill()
        process.wait()
    with h5py.File(file) as recording:
        assert recording["rollout_0"].attrs["outcome"].startswith(b"interrupted at step ")
    assert tendril("rollout", "replay", file).returncode == 0


def test_other_threads_work_during_a_run() -> None:
    looks: list[float] = []
    running = True

    def look() -> None:
        while running:
            time.sleep(0.001)
            looks.append(time.perf_counter())

    thread = threading.Thread(target=look)
    thread.start()
    try:
        result = td.Experiment(REACH).run(duration=3.0)
    finally:
        end = time.perf_counter()
        running = False
        thread.join()
    part = result.summary["wall_time"] / 5
    for i in range(5):  # not only when the lock is released once
        assert any(end - (i + 1) * part < look < end - i * part for look in looks), i


def test_runs_on_two_threads_have_the_bits_of_one(tmp_path: Path) -> None:
    def run(name: str) -> None:
        td.Experiment(REACH).run(duration=0.5, record=tmp_path / name)

    threads = [threading.Thread(target=run, args=(name,)) for name in ("a.h5", "b.h5")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run("c.h5")
    assert same_rows(tmp_path / "a.h5", tmp_path / "b.h5") and same_rows(tmp_path / "a.h5", tmp_path / "c.h5")


def test_a_family_has_a_scene_for_each_seed(tmp_path: Path) -> None:
    experiment = td.Experiment(SCENES / "families/clutter.toml")
    assert experiment.family == "clutter"
    results = [experiment.run(seed=seed, duration=0.5, set={"robot.section.*.links": 4}) for seed in (1, 2, 1)]
    errors = [result.metrics["tip_error_end"] for result in results]
    assert errors[0] == errors[2] != errors[1]
    assert results[1].summary["scene"] == "tendril generate clutter --seed 2 --difficulty 0.5"
    ran = tendril(
        "run",
        experiment.file,
        "--seed",
        2,
        "--duration",
        0.5,
        "--set",
        "robot.section.*.links=4",
        "--json",
        "--no-record",
        "--out",
        tmp_path / "out",
    )
    assert json.loads(ran.stdout)["metrics"]["tip_error_end"] == errors[1]
    assert (tmp_path / "out/scene/clutter.toml").is_file()
