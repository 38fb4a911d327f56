"""Controllers in Python: those of C++ with the class in another language."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import mujoco.batch
import mujoco.rollout
import numpy as np
import pytest

import tendril as td
import tendril._python_command

FULL = mujoco.mjtState.mjSTATE_INTEGRATION
_numbers = itertools.count()

ARM = (td.share / "models/arm_3x10.toml").read_text().split("[controller]")[0]
SCENE = """
<mujoco>
  <option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10" iterations="100"/>
  <asset><model name="robot" file="robot.toml"/></asset>
  <worldbody>
    <attach model="robot" body="base" prefix="R_"/>
    <body name="target" mocap="true" pos="0.1 0.05 0.22"/>
  </worldbody>
</mujoco>
"""


def load(plugin: str, settings: str = "", robot: str = ARM) -> mujoco.MjModel:
    text = f'{robot}\n[controller]\nplugin = "{plugin}"\n{settings}'
    return mujoco.MjModel.from_xml_string(SCENE, {"robot.toml": text.encode()})


def write_scene(folder: Path, plugin: str) -> None:
    """Writes scene.xml, and its robot with the controller."""
    (folder / "robot.toml").write_text(f'{ARM}\n[controller]\nplugin = "{plugin}"\n')
    (folder / "scene.xml").write_text(SCENE)


def new_name() -> str:
    return f"test.controller_{next(_numbers)}"


def register(update: Callable[..., None], **options: Any) -> str:
    """A controller without memory, from its update alone."""

    class Made:
        def __init__(self, context: Any) -> None:
            self.context = context

    Made.update = update  # type: ignore[attr-defined]
    name = new_name()
    td.controller(name, **{"kind": "continuum", **options})(Made)
    return name


def state_of(model: mujoco.MjModel, data: mujoco.MjData) -> bytes:
    state = np.empty(mujoco.mj_stateSize(model, FULL))
    mujoco.mj_getState(model, data, state, FULL)
    return state.tobytes() + data.sensordata.tobytes()


def run(model: mujoco.MjModel, steps: int) -> mujoco.MjData:
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, steps)
    return data


@td.controller("test.reach", kind="continuum", settings={"gain": (5.0, "1/s", "of the integral")})
class Reach:
    memory_size = 3

    def __init__(self, context):
        self.solver, self.gain = td.Solver(context.robot, max_iterations=50), context.settings["gain"]

    def update(self, m, memory, next_memory, command, report):
        error = m.target[:3, 3] - m.tip[:3, 3]
        next_memory[:] = np.clip(memory + self.gain * m.timestep * error, -0.02, 0.02)
        command.q[:] = td.coordinates(self.solver.solve(m.target[:3, 3] + memory).states)
        report.tip_error = np.linalg.norm(error)


@td.controller("test.track", kind="continuum", settings={"rate_limit": (1000.0, "rad/s", "", (0, 1000))})
class Track:
    """Controller that does what tendril.reach does with its own solver, without integral action."""

    def __init__(self, context):
        self.robot, self.step = context.robot, context.settings["rate_limit"] * context.timestep
        self.solver = td.Solver(
            context.robot, "levenberg", max_iterations=50, position_tolerance=1e-6, angle_tolerance=1e-4
        )
        self.sections = len(context.robot)
        self.memory_size = 3 * self.sections + context.robot.coordinate_count

    def reset(self, memory):
        memory[: 3 * self.sections] = self.robot.straight.ravel()
        memory[3 * self.sections :] = self.robot.coordinates(self.robot.straight)

    def update(self, m, memory, next_memory, command, report):
        states, last = memory[: 3 * self.sections].reshape(-1, 3), memory[3 * self.sections :]
        result = self.solver.solve(m.target[:3, 3], states)
        q = self.robot.coordinates(result.states)
        bends = (q - last).reshape(-1, 2)
        change = np.sqrt(bends[:, 0] ** 2 + bends[:, 1] ** 2).max()
        q = last + min(1.0, self.step / max(change, 1e-12)) * (q - last)
        next_memory[: 3 * self.sections], next_memory[3 * self.sections :] = result.states.ravel(), q
        command.q[:] = command.plan[:] = q
        command.q_rate[:] = (q - last) / m.timestep
        report.iterations = int(result.iterations)
        report.tip_error = np.linalg.norm(m.target[:3, 3] - m.tip[:3, 3])


# ---- what they do


def test_the_tip_reaches_the_target() -> None:
    data = run(load("test.reach"), 1500)
    assert data.sensor("R_status").data[0] == 0
    assert data.sensor("R_tip_error").data[0] < 1e-8


def test_the_same_arithmetic_has_the_bits_of_the_controller_in_cpp() -> None:
    own = load("test.track", "rate_limit = 4\n")
    cpp = load(
        "tendril.reach",
        'solver = "levenberg"\nrate_limit = 4\nmax_iterations = 50\n'
        "integral_gain = 0\ndeflection_compensation = false\n",
    )
    a, b = mujoco.MjData(own), mujoco.MjData(cpp)
    for k in range(600):
        for data in (a, b):
            data.mocap_pos[0] = [0.1 * math.cos(0.004 * k), 0.1 * math.sin(0.004 * k), 0.22]
        mujoco.mj_step(own, a)
        mujoco.mj_step(cpp, b)
        for field in ("qpos", "qvel", "ctrl"):
            assert np.array_equal(getattr(a, field), getattr(b, field)), (k, field)
        for quantity in ("R_command", "R_ik_iterations", "R_status"):
            assert np.array_equal(a.sensor(quantity).data, b.sensor(quantity).data), (k, quantity)


def test_set_points_that_are_held_need_no_memory() -> None:
    held = []

    def update(self, m, memory, next_memory, command, report):
        command.q[:] = 0.2
        held.append((memory.shape, next_memory.shape))

    data = run(load(register(update, target=None)), 10)
    assert np.array_equal(data.sensor("R_command").data, np.full(6, 0.2))
    assert set(held) == {((0,), (0,))}


def test_own_quantities_are_sensors() -> None:
    def update(self, m, memory, next_memory, command, report):
        report["phase"], report["count"] = m.time, report["count"] + 2
        report.target[:] = 1, 2, 3
        report.status, report.progress, report.angle_error = td.ControllerStatus.FINISHED, 0.5, 0.25

    model = load(register(update, quantities={"phase": ("rad", "of it"), "count": ("", "of it")}))
    data = run(model, 3)
    got = {
        name: data.sensor(f"R_{name}").data.tolist()
        for name in ("phase", "count", "target", "progress", "reported_angle_error")
    }
    assert got == {
        "phase": [0.004],
        "count": [2],
        "target": [1, 2, 3],
        "progress": [0.5],
        "reported_angle_error": [0.25],
    }
    assert math.isnan(data.sensor("R_reported_tip_error").data[0])


def lying(report: Any) -> None:
    report.tip_error = report.angle_error = 0.0
    report.status, report.progress = td.ControllerStatus.FINISHED, 1.0
    report.arrived = True


CLAIMS: dict[str, Callable[[Any], None]] = {
    "nothing": lambda report: None,
    "done": lying,
    "zero": lambda report: setattr(report, "tip_error", 0.0),
    "negative": lambda report: setattr(report, "tip_error", -5.0),
    "infinite": lambda report: setattr(report, "tip_error", math.inf),
    "elsewhere": lambda report: report.target.__setitem__(slice(None), (9, 9, 9)),
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_errors_and_arrival_are_measured_whatever_a_controller_says(claim: str) -> None:
    def update(self, m, memory, next_memory, command, report):
        CLAIMS[claim](report)

    model = load(register(update))
    data = run(model, 1000)  # 2 s: it does not move
    tip = data.site("R_tip")
    distance = np.linalg.norm(tip.xpos - data.mocap_pos[0])
    assert distance > 0.05
    assert data.sensor("R_tip_error").data[0] == pytest.approx(distance, abs=1e-6)
    expected = td.ControllerStatus.NOT_FOLLOWING if claim == "done" else td.ControllerStatus.NOT_REACHED
    assert data.sensor("R_status").data[0] == expected.value
    if claim == "done":
        angle = math.acos(tip.xmat[8])  # the target's axis is the world's
        assert data.sensor("R_angle_error").data[0] == pytest.approx(angle, abs=1e-6)
    else:
        assert math.isnan(data.sensor("R_angle_error").data[0])  # the task has no direction


def test_without_a_target_the_error_is_to_where_the_controller_wants_its_tip() -> None:
    def update(self, m, memory, next_memory, command, report):
        report.target[:] = m.tip[:3, 3] + (0.03, 0, 0.04)
        report.tip_error = 0.0

    data = run(load(register(update, target=None)), 5)
    assert data.sensor("R_tip_error").data[0] == pytest.approx(0.05)
    assert data.sensor("R_reported_tip_error").data[0] == 0

    def silent(self, m, memory, next_memory, command, report):
        report.tip_error = 0.0

    assert math.isnan(run(load(register(silent, target=None)), 5).sensor("R_tip_error").data[0])


def test_what_is_measured_is_what_the_scene_has_and_cannot_be_written_to() -> None:
    seen: list[Any] = []

    def update(self, m, memory, next_memory, command, report):
        for name in ("q", "tip", "target", "tip_jacobian", "gravity_deflection", "tip_response"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(m, name)[...] = 1
            with pytest.raises(AttributeError):
                setattr(m, name, getattr(m, name))
        for name in ("time", "timestep", "feed", "feed_force", "has_target", "contacts"):
            with pytest.raises(AttributeError):
                setattr(m, name, 1)
        with pytest.raises(ValueError, match="read-only"):
            memory[...] = 1
        with pytest.raises(KeyError):
            report["unknown"] = 1
        with pytest.raises(
            ValueError, match=rf"status = {len(td.ControllerStatus)}: must be in \[0, {len(td.ControllerStatus) - 1}\]"
        ):
            report.status = len(td.ControllerStatus)
        with pytest.raises(AttributeError):
            command.q = m.q
        command.q[:] = 0.3
        seen.append(
            (
                m.time,
                m.timestep,
                m.has_target,
                m.q.copy(),
                m.tip.copy(),
                m.target.copy(),
                m.tip_jacobian.copy(),
            )
        )

    model = load(register(update))
    data = run(model, 200)
    assert data.sensor("R_status").data[0] != 5
    mujoco.mj_forward(model, data)
    time, timestep, has_target, q, tip, target, jacobian = seen[-1]
    assert (time, timestep, has_target) == (data.time, 0.002, True)
    assert np.array_equal(q, data.sensor("R_measured").data)
    assert np.array_equal(tip[:3, 3], data.site("R_tip").xpos)
    assert np.array_equal(tip[:3, :3].ravel(), data.site("R_tip").xmat)
    assert np.array_equal(target[:3, 3], [0.1, 0.05, 0.22])
    robot = td.ContinuumRobot([td.Section(length=0.1)] * 3)
    assert jacobian.shape == (6, 8) and jacobian[:3, :6] == pytest.approx(
        robot.tip_jacobian(robot.states(q))[:3, :6], abs=0.02
    )


def test_context() -> None:
    seen = {}

    class Made:
        def __init__(self, context: td.ArmContext) -> None:
            seen.update(
                context.settings,
                robot=context.robot,
                timestep=context.timestep,
                limit=context.feed_force_limit,
                radius=context.body_radius,
            )

        def update(self, *arguments: Any) -> None:
            pass

    name = new_name()
    td.controller(
        name,
        kind="continuum",
        settings={
            "gain": (5.0, "1/s", "of it", (0, None)),
            "count": (3, "", "of it", (1, 9)),
            "on": (True, "", "of it"),
            "mode": ("slow", "", "of it", ("slow", "fast")),
            "text": ("a b", "", "of it"),
            "points": ([], "m", "of them"),
        },
    )(Made)
    load(name, 'gain = 2\ncount = 4\non = false\nmode = "fast"\npoints = [1, 2.5, 3]\n')
    robot = seen.pop("robot")
    assert isinstance(robot, td.ContinuumRobot) and len(robot) == 3 and robot.name == "arm_3x10"
    assert robot.sections == td.load_robot(td.share / "models/arm_3x10.toml", td.ContinuumRobot).sections
    assert seen.pop("radius") > 0
    assert seen == {
        "gain": 2.0,
        "count": 4,
        "on": False,
        "mode": "fast",
        "text": "a b",
        "points": [1.0, 2.5, 3.0],
        "target": "target",
        "timestep": 0.002,
        "limit": math.inf,
    }


def test_contacts_of_a_controller_that_senses_them() -> None:
    seen: list[Any] = []

    class Made:
        senses_contacts = True

        def __init__(self, context: td.ArmContext) -> None:
            pass

        def update(
            self, m: td.ArmMeasurement, memory: Any, next_memory: Any, command: td.ArmCommand, report: Any
        ) -> None:
            command.q[0::2] = min(0.5, 2 * m.time)
            seen.append([(c.position, c.normal, c.depth, c.arc_length, c.is_guide) for c in m.contacts])
            assert m.tip_response.shape == (6, 7)

    name = new_name()
    td.controller(name, kind="continuum")(Made)
    text = f'{ARM}\n[controller]\nplugin = "{name}"\n'
    post = '<geom type="capsule" fromto="0.06 -0.1 0.2 0.06 0.1 0.2" size="0.02"/></worldbody>'
    model = mujoco.MjModel.from_xml_string(SCENE.replace("</worldbody>", post), {"robot.toml": text.encode()})
    data = run(model, 500)
    assert data.sensor("R_status").data[0] != 5
    position, normal, depth, arc_length, is_guide = seen[-1][0]
    assert position.shape == (3,) and np.linalg.norm(normal) == pytest.approx(1) and normal[0] < 0
    assert abs(depth) < 0.005 and 0.1 < arc_length < 0.3 and is_guide is False


@pytest.mark.parametrize(
    ("kind", "file", "robot", "fields"),
    [
        ("snake", "scenes/snake_travel/snake.toml", td.Snake, ("q", "tail", "tip", "center_of_mass", "target")),
        ("mobile", "models/youbot.toml", td.MobileRobot, ("base", "base_velocity", "q", "q_velocity", "tip", "target")),
    ],
)
def test_other_robots(kind: str, file: str, robot: type, fields: tuple[str, ...]) -> None:
    seen: list[Any] = []

    def update(self, m, memory, next_memory, command, report):
        seen.append((self.context, {name: getattr(m, name).copy() for name in fields}))
        command.q[:] = m.q
        command.q[0] = 0.1
        command.q_rate[:] = 0

    text = (td.share / file).read_text().split("[controller]")[0]
    data = run(load(register(update, kind=kind), robot=text), 300)
    context, measured = seen[-1]
    assert isinstance(context.robot, robot)
    assert np.isfinite(np.concatenate([array.ravel() for array in measured.values()])).all()
    assert data.sensor("R_status").data[0] != 5
    joint = 0 if kind == "snake" else 3
    assert data.sensor("R_command").data[joint] == 0.1
    assert abs(data.sensor("R_measured").data[joint] - 0.1) < 0.02


def test_platform_with_a_continuum_arm(tmp_path: Path) -> None:
    seen: list[Any] = []

    def update(self, m, memory, next_memory, command, report):
        seen.append((self.context, m.q.shape, m.obstacles))
        command.base[:] = m.time * 0.1, 0, 0

    name = register(update, kind="platform", target=None, obstacles=True)
    folder = shutil.copytree(td.share / "scenes/mobile_arm", tmp_path / "scene")
    text = (folder / "robot.toml").read_text()
    (folder / "robot.toml").write_text(text.split("[controller]")[0] + f'[controller]\nplugin = "{name}"\n')
    data = run(td.load_scene(folder / "mobile_arm.xml").model, 500)
    context, q_shape, obstacles = seen[-1]
    assert isinstance(context.robot, td.MobileArm) and q_shape == (0,)
    assert context.platform_height > context.arm_radius > 0
    assert len(context.obstacles) == len(obstacles) > 0 and np.isfinite(obstacles.nearest([[0, 0, 0]])[0]).all()
    assert context.platform_length > context.platform_width > 0 and context.limits.platform_speed > 0
    assert data.sensor("M_command").data.tolist() == pytest.approx([0.1 * 0.998, 0, 0])
    assert abs(data.sensor("M_measured").data[0] - 0.1) < 0.02
    assert data.sensor("M_arm_status").data[0] != 5


# ---- states, copies, threads


def test_all_memory_is_in_the_state() -> None:
    model = load("test.reach")
    data = run(model, 100)
    state = np.empty(mujoco.mj_stateSize(model, FULL))
    mujoco.mj_getState(model, data, state, FULL)
    assert not np.array_equal(data.plugin_state[:3], np.zeros(3))
    others = [copy.copy(data), pickle.loads(pickle.dumps(data)), run(model, 33)]
    mujoco.mj_setState(model, others[-1], state, FULL)
    mujoco.mj_step(model, data, 100)
    for other in others:
        mujoco.mj_step(model, other, 100)
        assert state_of(model, other) == state_of(model, data)
    mujoco.mj_resetData(model, data)
    mujoco.mj_step(model, data, 100)
    mujoco.mj_setState(model, others[0], state, FULL)
    assert np.array_equal(data.qpos, run(model, 100).qpos)


def test_rollout_and_batch_have_the_same_bits_on_threads() -> None:
    model = load("test.reach")
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    start = np.empty((6, mujoco.mj_stateSize(model, full)))
    data = [mujoco.MjData(model) for _ in range(2)]
    for i, row in enumerate(start):
        mujoco.mj_resetData(model, data[0])
        mujoco.mj_step(model, data[0], 1 + 7 * i)
        mujoco.mj_getState(model, data[0], row, full)
    one = mujoco.rollout.rollout(model, data[:1], start, nstep=40)
    two = mujoco.rollout.rollout(model, data, start, nstep=40)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(one, two, strict=True))

    states = []
    for threads in (1, 2):
        batch = mujoco.batch.Batch(model, nsim=6, nthread=threads)
        batch.bind("mocap_pos")[:, 0, 0] += np.linspace(0, 0.02, 6)
        for _ in range(4):
            batch.step(nstep=10)
        states.append((batch.bind("qpos").copy(), batch.bind("plugin_state").copy()))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(*states, strict=True))
    single = mujoco.MjData(model)
    single.mocap_pos[0, 0] += np.linspace(0, 0.02, 6)[3]
    mujoco.mj_step(model, single, 40)
    assert np.array_equal(states[0][0][3], single.qpos)


def test_scenes_are_loaded_run_and_freed_on_threads_at_once() -> None:
    ends: list[bytes] = []

    def work() -> None:
        for _ in range(3):
            model = load("test.reach")
            ends.append(run(model, 30).qpos.tobytes())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert len(ends) == 12 and len(set(ends)) == 1


# ---- errors

PRELUDE = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_controllers import *
"""


def python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    file = folder / "my_ctrl.py"
    file.write_text(PRELUDE + code)
    return subprocess.run([sys.executable, str(file)], capture_output=True, text=True, cwd=folder)


FAILING = """
@td.controller("my.failing", kind="continuum")
class Failing:
    def __init__(self, context): pass
    def update(self, m, memory, next_memory, command, report):
        command.q[:] = 0.1 + m.time
        if m.time >= 0.05:
            {failure}

model = load("my.failing")
data = run(model, 20)
mujoco.mj_step(model, data, 10)
held = data.ctrl.copy()
mujoco.mj_step(model, data, 100)
print(data.sensor("R_status").data[0], np.array_equal(data.ctrl, held), np.isfinite(data.qpos).all())
mujoco.mj_resetData(model, data)
mujoco.mj_step(model, data)
print(data.sensor("R_status").data[0])
"""


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        ("raise ValueError('no\\nway')", "my_ctrl.py:12: ValueError: no way"),
        ("np.linalg.inv(np.zeros((2, 2)))", "my_ctrl.py:12: LinAlgError: Singular matrix"),
        ("command.q[:] = np.nan", "the controller's command is not finite"),
        ("command.q = command.q", "has no setter: an array is written by its numbers, such as command.q[:] = ..."),
        ("return command.q", "update returned a value: must return nothing, and write the command: command.q[:] = ..."),
        ("next_memory[:] = 1; report.status = 14", "my_ctrl.py:12: ValueError: status = 14: must be in [0, 13]"),
    ],
)
def test_a_failing_controller_is_told_once_and_its_servos_hold(failure: str, told: str, tmp_path: Path) -> None:
    result = python(FAILING.format(failure=failure), tmp_path)
    assert result.stdout == "5.0 True True\n0.0\n", result.stderr
    warnings = [line for line in result.stderr.splitlines() if line]
    assert len(warnings) == 1
    assert warnings[0].startswith("WARNING: my.failing, instance 'R_controller': ")
    assert warnings[0].endswith(told)


def test_a_reset_that_fails_is_a_fault(tmp_path: Path) -> None:
    result = python(
        """
@td.controller("my.reset", kind="continuum")
class Failing:
    def __init__(self, context): pass
    def reset(self, memory): raise RuntimeError("no start")
    def update(self, *arguments): pass

data = run(load("my.reset"), 5)
print(data.sensor("R_status").data[0])
""",
        tmp_path,
    )
    assert result.stdout == "5.0\n"
    assert "my_ctrl.py:9: RuntimeError: no start" in result.stderr


def test_an_interrupt_reaches_the_program(tmp_path: Path) -> None:
    result = python(
        """
@td.controller("my.interrupted", kind="continuum")
class Interrupted:
    def __init__(self, context): pass
    def update(self, m, *arguments):
        if m.time > 0: raise KeyboardInterrupt

data = run(load("my.interrupted"), 1)
try:
    mujoco.mj_step(data.model, data)
    print("continues")
except KeyboardInterrupt:
    print("interrupted")
""",
        tmp_path,
    )
    assert result.stdout == "interrupted\n"


def test_a_process_ends_with_controllers_alive(tmp_path: Path) -> None:
    result = python(
        """
import threading
models = [load("test.reach") for _ in range(3)]
data = [run(model, 3) for model in models]
test_rollout_and_batch_have_the_same_bits_on_threads()
""",
        tmp_path,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("context.nothing", "AttributeError: 'ArmContext' object has no attribute 'nothing'"),
        ("self.memory_size = -1", "memory_size = -1: must be an integer in [0, 1000000]"),
        ("self.memory_size = 2.5", "memory_size = 2.5: must be an integer in [0, 1000000]"),
        ("raise td.ModelError('scene: wrong')", "ModelError: scene: wrong"),
    ],
)
def test_a_failing_construction_refuses_the_scene(code: str, told: str, tmp_path: Path) -> None:
    class Made:
        def __init__(self, context: Any) -> None:
            exec(code)

        def update(self, *arguments: Any) -> None:
            pass

    name = new_name()
    td.controller(name, kind="continuum")(Made)
    write_scene(tmp_path, name)
    with pytest.raises(td.ModelError) as error:
        td.load_scene(tmp_path / "scene.xml")
    assert "\n" not in str(error.value) and told in str(error.value) and name in str(error.value)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("gain = -1", "gain = -1: must be >= 0"),
        ('mode = "x"', "mode = x: must be one of slow, fast"),
        ("count = 2.5", "count = 2.5: must be an integer"),
        ("unknown = 1", "unknown"),
        ('target = "nobody"', "target = nobody: must be the name of a mocap body"),
    ],
)
def test_wrong_settings_of_a_robot_file(settings: str, told: str, tmp_path: Path) -> None:
    name = register(
        lambda *arguments: None,
        settings={
            "gain": (1.0, "", "", (0, None)),
            "count": (1, "", "", (0, 5)),
            "mode": ("slow", "", "", ("slow", "fast")),
        },
    )
    (tmp_path / "robot.toml").write_text(f'{ARM}\n[controller]\nplugin = "{name}"\n{settings}\n')
    (tmp_path / "scene.xml").write_text(SCENE)
    with pytest.raises(td.ModelError) as error:
        td.load_scene(tmp_path / "scene.xml")
    assert "\n" not in str(error.value) and told in str(error.value)


def decorate(**options: Any) -> None:
    class Made:
        def update(self, *arguments: Any) -> None:
            pass

    td.controller(**{"name": new_name(), "kind": "continuum", **options})(Made)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"kind": "robot"}, 'kind = "robot": must be one of continuum, snake, mobile, platform'),
        ({"name": "tendril.reach"}, 'name = "tendril.reach": must not be the name of another plugin'),
        ({"name": "two words"}, 'name = "two words": must be a word'),
        ({"settings": {"gain": 5.0}}, "settings: gain = 5.0: must be (default, unit, meaning)"),
        ({"settings": {"gain": ({}, "", "")}}, "settings: gain = {}: must be a number"),
        ({"settings": {"gain": (-1.0, "", "", (0, 5))}}, "settings: gain = -1.0: must be in [0, 5]"),
        (
            {"settings": {"mode": ("x", "", "", ("slow", "fast"))}},
            "settings: mode = 'x': must be the first of the words",
        ),
        ({"settings": {"robot": ("x", "", "")}}, "settings: robot: must not be a setting of every controller"),
        ({"quantities": {"phase": "rad"}}, "quantities: phase = 'rad': must be (unit, meaning)"),
        ({"quantities": {"measured": ("", "")}}, "quantities: measured: must not be a quantity of every controller"),
        ({"quantities": {"tip_error": ("", "")}}, "quantities: tip_error: must not be a quantity of every controller"),
    ],
)
def test_wrong_declarations(options: dict[str, Any], told: str) -> None:
    with pytest.raises(td.ModelError) as error:
        decorate(**options)
    assert told in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def update(self, m, memory, next_memory, command): pass", "too many positional arguments"),
        ("def update(m, memory, next_memory, command, report): pass", "too many positional arguments"),
        (
            "def update(self, m, memory, next_memory, command, report, more): pass",
            "missing a required argument: 'more'",
        ),
        ("def update(self, *, m): pass", "too many positional arguments"),
        ("def update(self, *all): pass\n    def __init__(self): pass", "__init__(self, context): too many"),
        ("def update(self, *all): pass\n    def reset(self): pass", "reset(self, memory): too many"),
        ("def update(self, *all): pass\n    def path(self): pass", "path(self, memory): too many"),
    ],
)
def test_a_wrong_signature_is_refused_with_its_place(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "my_ctrl.py").write_text(
        f'import tendril as td\n\n@td.controller("my.{new_name()}", kind="continuum")\nclass Made:\n    {text}\n'
    )
    with pytest.raises(td.ModelError) as error:
        tendril._python_command.load(tmp_path / "my_ctrl.py")
    place = r"my_ctrl\.py:\d+: my\.\S+: Made\.(update|__init__|reset|path)\(.*\): must be "
    assert re.search(place, str(error.value)) and told in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("decorator", ["@staticmethod", "@classmethod", ""])
def test_functions_may_be_of_any_sort(decorator: str) -> None:
    first = {"@staticmethod": "", "@classmethod": "cls, ", "": "self, "}[decorator]
    names: dict[str, Any] = {}
    exec(f"class Made:\n    {decorator}\n    def update({first}a, b, c, d, e=None, **more): pass", names)
    td.controller(new_name(), kind="continuum")(names["Made"])


def test_an_error_without_a_line_names_the_class(tmp_path: Path) -> None:
    class Made:  # object's constructor takes no context
        def update(self, *arguments: Any) -> None:
            pass

    name = new_name()
    td.controller(name, kind="continuum")(Made)
    write_scene(tmp_path, name)
    with pytest.raises(td.ModelError, match=r"test_controllers\.py:\d+: TypeError: Made\(\) takes no arguments"):
        td.load_scene(tmp_path / "scene.xml")


def test_contacts_that_are_not_measured_raise() -> None:
    seen: list[str] = []

    def update(self: Any, m: Any, *others: Any) -> None:
        with pytest.raises(AttributeError, match="set senses_contacts = True in the class") as error:
            print(m.contacts)
        seen.append(str(error.value))

    run(load(register(update)), 1)
    assert seen


def test_a_class_without_update() -> None:
    with pytest.raises(td.ModelError, match="must be a class with the function update"):
        td.controller(new_name(), kind="continuum")(object)


def test_registering_again_replaces_the_class_for_data_made_later() -> None:
    name = new_name()

    def declare(value: float, **options: Any) -> None:
        class Made:
            def __init__(self, context: Any) -> None:
                pass

            def update(self, m: Any, memory: Any, next_memory: Any, command: Any, report: Any) -> None:
                command.q[:] = value

        td.controller(name, kind="continuum", **options)(Made)

    declare(0.1, settings={"gain": (1.0, "", "")})
    model = load(name)
    first = run(model, 1)
    declare(0.2, settings={"gain": (1.0, "", "")})
    second = run(model, 1)
    mujoco.mj_step(model, first)
    assert first.sensor("R_command").data[0] == 0.1
    assert second.sensor("R_command").data[0] == 0.2
    for other in (
        {"settings": {"gain": (2.0, "", "")}},
        {},
        {"settings": {"gain": (1.0, "", "")}, "target": None},
        {"settings": {"gain": (1.0, "", "")}, "quantities": {"phase": ("", "")}},
    ):
        with pytest.raises(td.ModelError, match=f"{name}: kind, settings and quantities: must be those with which"):
            declare(0.3, **other)
    assert run(model, 1).sensor("R_command").data[0] == 0.2


def test_coordinates() -> None:
    robot = td.ContinuumRobot([td.Section(length=0.1)] * 3)
    states = robot.random_states(5, rng=1)
    assert np.array_equal(td.coordinates(states), robot.coordinates(states))
    with pytest.raises(td.ModelError, match=r"states: extension = 0.010000 m, must be 0"):
        td.coordinates([[0.1, 0, 0.01]])
    with pytest.raises(td.ModelError, match="states: shape"):
        td.coordinates([0.1, 0.2])


# ---- obstacles, body and path

CLUTTER = SCENE.replace(
    "</worldbody>",
    """
  <geom name="ball" type="sphere" size="0.05" pos="0.2 0.1 0.3"/>
  <body name="cart" pos="-0.2 0 0.2"><joint name="slide" type="slide" axis="0 1 0" damping="0.1"/>
    <geom name="box" type="box" size="0.03 0.04 0.05" mass="1"/></body>
  <geom name="far" type="sphere" size="0.1" pos="0 0 3"/>
</worldbody>""",
).replace('cone="elliptic" impratio="10"', 'cone="elliptic" gravity="0 0 0"')


def scene_of(name: str, text: str, settings: str = "", robot: str = ARM) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(
        text, {"robot.toml": f'{robot}\n[controller]\nplugin = "{name}"\n{settings}'.encode()}
    )


def test_obstacles_are_where_the_scene_has_them() -> None:
    seen: list[Any] = []

    def update(self, m, memory, next_memory, command, report):
        points = m.tip[:3, 3] + np.array([[0, 0, 0], [0.05, 0, 0], [0, 0, 0.1]])
        seen.append((m.obstacles.poses, points, m.obstacles.nearest(points), self.context))

    model = scene_of(register(update, obstacles=True), CLUTTER, 'obstacles = "ball cart"')
    data = mujoco.MjData(model)
    for y in (0.0, 0.3):
        data.joint("slide").qpos = y
        mujoco.mj_forward(model, data)
        poses, points, (distances, normals), context = seen[-1]
        base = data.body("R_base")
        to_base = np.linalg.inv(np.block([[base.xmat.reshape(3, 3), base.xpos[:, None]], [np.zeros(3), 1]]))
        assert len(poses) == len(context.obstacles) == 2 and context.moving_obstacles == 1
        for pose, name in zip(poses, ("box", "ball"), strict=True):  # what moves comes first
            expected = to_base @ [*data.geom(name).xpos, 1]
            assert np.allclose(pose[:3, 3], expected[:3], atol=1e-12)
        world = np.linalg.inv(to_base)
        for k, point in enumerate(points):
            p = (world @ [*point, 1])[:3]
            ball = np.linalg.norm(p - data.geom("ball").xpos) - 0.05
            box = np.linalg.norm(np.maximum(np.abs(p - data.geom("box").xpos) - [0.03, 0.04, 0.05], 0))
            assert distances[k] == pytest.approx(min(ball, box), abs=1e-9)
            step = 1e-6 * normals[k]
            assert context.obstacles is not None and np.linalg.norm(normals[k]) == pytest.approx(1)
            assert ball < box and np.linalg.norm(p + world[:3, :3] @ step - data.geom("ball").xpos) > ball + 0.05
    assert all(count == 2 for count in map(len, (entry[0] for entry in seen)))


def test_the_clearance_of_an_arm_is_that_of_its_backbone() -> None:
    seen: list[Any] = []

    def update(self, m, memory, next_memory, command, report):
        robot, radius = self.context.robot, self.context.body_radius
        states = robot.random_states(20, 5)
        sampled = m.obstacles.nearest(robot.backbone(states, 400, feed=0.01))[0].min(axis=1)
        seen.append((m.obstacles.clearance(robot, states, radius=radius, feed=0.01), sampled - radius))

    model = scene_of(register(update, obstacles=True), CLUTTER)
    mujoco.mj_forward(model, mujoco.MjData(model))
    clearance, sampled = seen[-1]
    assert np.all(clearance <= sampled + 1e-9) and np.allclose(clearance, sampled, atol=1e-4)


def test_obstacles_are_seen_on_request_only() -> None:
    seen: list[Any] = []

    def update(self, m, memory, next_memory, command, report):
        seen.append((m.obstacles, self.context.obstacles))

    name = register(update, obstacles=False)
    for settings, expected in (("", False), ("avoidance = true", True)):
        model = scene_of(name, CLUTTER, settings)
        mujoco.mj_forward(model, mujoco.MjData(model))
        assert all((one is not None) is expected for one in seen[-1])
    model = scene_of(register(update), CLUTTER)
    mujoco.mj_forward(model, mujoco.MjData(model))
    assert seen[-1] == (None, None)
    with pytest.raises(td.ModelError, match='obstacles = True: must be None for kind = "snake"'):
        register(update, kind="snake", obstacles=True)


def test_a_mobile_robot_has_capsules_and_a_clearance() -> None:
    seen: list[Any] = []

    def update(self, m, memory, next_memory, command, report):
        command.base[:], command.q[:] = m.base, m.q
        seen.append(
            (
                m.obstacles.clearance(self.context.robot, [*m.base, *m.q], capsules=self.context.capsules),
                m.obstacles,
                self.context,
            )
        )

    robot = (td.share / "models/youbot.toml").read_text().split("[controller]")[0]
    post = SCENE.replace("</worldbody>", '<geom name="post" type="sphere" size="0.1" pos="2 0 0.12"/></worldbody>')
    model = scene_of(register(update, kind="mobile", obstacles=True), post, 'obstacles = "post"', robot)
    mujoco.mj_forward(model, mujoco.MjData(model))
    measured, obstacles, context = seen[-1]
    robot, joints = context.robot, np.zeros(len(context.robot))  # straight up
    assert np.isfinite(measured) and measured > 0
    assert all(
        c.frame <= len(robot) and c.radius > 0 and c.start.shape == c.end.shape == (3,) for c in context.capsules
    )
    far, near, inside = (obstacles.clearance(robot, [x, 0, 0, *joints]) for x in (0.0, 0.5, 2.0))
    # The front of the platform, a box of 0.58 m, is as high as the middle of the post.
    assert far == pytest.approx(2 - 0.1 - 0.29, abs=1e-3) and near == pytest.approx(far - 0.5, abs=1e-3) and inside < 0


@pytest.mark.parametrize("kind", ["continuum", "snake"])
def test_the_path_is_drawn(kind: str) -> None:
    def drawn(path: Any) -> int:
        def update(self, m, memory, next_memory, command, report):
            command.q[:] = m.q
            if kind == "continuum":
                command.has_plan = False

        name = new_name()
        body: dict[str, Any] = {"__init__": lambda self, context: None, "update": update}
        td.controller(name, kind=kind)(type("Made", (), body | ({"path": path} if path else {})))  # type: ignore[arg-type]
        robot = (
            ARM
            if kind == "continuum"
            else (td.share / "scenes/snake_travel/snake.toml").read_text().split("[controller]")[0]
        )
        model = load(name, robot=robot)
        data, scene = run(model, 2), mujoco.MjvScene(model, maxgeom=1000)
        before = state_of(model, data)
        mujoco.mjv_updateScene(
            model, data, mujoco.MjvOption(), None, mujoco.MjvCamera(), mujoco.mjtCatBit.mjCAT_ALL, scene
        )
        assert state_of(model, data) == before
        return int(scene.ngeom)

    line = np.linspace([0, 0, 0], [0.1, 0, 0.1], 500)
    without = drawn(None)
    assert drawn(lambda self, *arguments: line[:5]) == without + 4
    assert drawn(lambda self, *arguments: line) > without + 40
    assert drawn(lambda self, *arguments: line[:, :2]) == without  # told as a warning


def test_an_arm_of_motors_is_told_moments() -> None:
    seen: list[Any] = []

    def update(self, m, memory, next_memory, command, report):
        assert (command.q == m.q).all() and not command.moment.any() and command.tension.shape == (0,)
        command.moment[:] = told
        seen.append((self.context.springs, m.q.copy(), m.q_rate.copy(), m.moment.copy(), m.gravity_moment.copy()))

    told = np.array([0.2, -0.1, 0.05, 0.0, 0.1, 0.02])
    name = new_name()
    made = type(
        "Made",
        (),
        {"commands": "moments", "update": update, "__init__": lambda self, context: setattr(self, "context", context)},
    )
    td.controller(name, kind="continuum", target=None)(made)
    robot = ARM.replace("[[section]]", '[[section]]\nbend_command = "moment"')
    data = run(load(name, robot=robot), 6000)
    assert data.sensor("R_status").data[0] == 0
    springs, q, q_rate, moment, gravity_moment = seen[-1]
    assert moment == pytest.approx(told) and np.abs(q_rate).max() < 1e-4 and gravity_moment.any()
    held = [spring.stiffness * (u - spring.rest) for spring, u in zip(springs, q, strict=True)]
    assert held == pytest.approx(told + gravity_moment, abs=1e-4)


def commanding(commands: str, kind: str, update: Callable[..., None]) -> str:
    name = new_name()
    td.controller(name, kind=kind, target=None)(
        type(
            "Made",
            (),
            {
                "commands": commands,
                "update": update,
                "__init__": lambda self, context: setattr(self, "context", context),
            },
        )
    )
    return name


@pytest.mark.parametrize(
    ("drive", "tolerance"),
    [
        (
            "".join(
                f"[[tendon]]\nsection = {1 + t // 3}\nangle = [{2.0944 * t + 0.3 * (t // 3):.4f}, "
                f"{2.0944 * t + 1:.4f}]\ndistance = 0.006\n"
                'command = "tension"\nmax_tension = 300\n'
                for t in range(9)
            ),
            0.02,
        ),
        (
            "".join(
                f"[[chamber]]\nsection = {1 + t // 3}\nangle = {2.0944 * t:.4f}\ndistance = 0.005\nradius = "
                f"0.0025\nmax_pressure = 4e6\n"
                for t in range(9)
            ),
            1e-3,
        ),
    ],
    ids=["turning tendons", "chambers"],
)
def test_moments_are_those_of_virtual_work(drive: str, tolerance: float) -> None:
    """Compares the moments with those of the engine's actuators, by differences of the lengths that they act on."""
    told = np.array([0.02, -0.01, 0.01, 0.005, -0.01, 0.01])

    def update(self, m, memory, next_memory, command, report):
        command.moment[:] = told

    model = load(commanding("moments", "continuum", update), robot=ARM + "\n" + drive)
    model.opt.gravity[:] = 0
    data = run(model, 3000)
    assert data.sensor("R_status").data[0] == 0
    other = mujoco.MjData(model)

    def lengths(section: int, axis: str, change: float) -> Any:
        other.qpos[:] = data.qpos
        joints = [j for j in range(model.njnt) if re.fullmatch(rf"R_s{section}_l\d+_{axis}", model.joint(j).name)]
        other.qpos[model.jnt_qposadr[joints]] += change / len(joints)
        mujoco.mj_kinematics(model, other)
        mujoco.mj_comPos(model, other)
        mujoco.mj_tendon(model, other)
        return other.ten_length[model.actuator_trnid[:, 0]].copy()

    made = [
        sum(
            model.actuator_gear[:, 0]
            * data.actuator_force
            * (lengths(s, axis, sign * 1e-5) - lengths(s, axis, -sign * 1e-5))
        )
        / 2e-5
        for s in (1, 2, 3)
        for axis, sign in (("y", 1), ("x", -1))
    ]
    np.testing.assert_allclose(made, told, atol=tolerance * 0.02)


def test_joints_on_a_platform_are_told_torques() -> None:
    seen: list[Any] = []

    def update(self, m, memory, next_memory, command, report):
        assert (command.q == m.q).all() and not command.torque.any()
        command.torque[:] = np.array([0.3, 0, 0, 0, 0]) - m.gravity_torque
        seen.append(m.gravity_torque.copy())

    text = re.sub(
        r"(?m)^(gain|damping_time) .*$", "", (td.share / "models/youbot.toml").read_text().split("[controller]")[0]
    )
    name = commanding("torques", "mobile", update)
    model = load(name, robot=text.replace("[arm]", '[arm]\njoint_command = "torque"'))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_step(model, data)
    dofs = [model.joint(f"R_joint_{j}").dofadr[0] for j in range(1, 6)]
    np.testing.assert_allclose(seen[-1], -data.qfrc_bias[dofs], atol=1e-9)  # at rest
    np.testing.assert_allclose(data.qfrc_actuator[dofs], [0.3, 0, 0, 0, 0] + data.qfrc_bias[dofs], atol=1e-9)
    with pytest.raises(ValueError, match=r"\[arm\] joint_command = \"angle\": must be \"torque\""):
        load(name, robot=text)


def test_commands_that_no_robot_takes_are_refused() -> None:
    def refused(commands: str, robot: str = ARM) -> str:
        name = new_name()
        td.controller(name, kind="continuum")(
            type(
                "Made",
                (),
                {"commands": commands, "__init__": lambda self, context: None, "update": lambda self, *arguments: None},
            )
        )
        with pytest.raises(ValueError) as error:
            load(name, robot=robot)
        return str(error.value)

    assert 'commands = \'torques\': must be "setpoints", "moments" or "tensions"' in refused("torques")
    assert 'section 1: bend_command = "angle": must be "moment"' in refused("moments")
    assert "has no tendons or chambers" in refused("tensions")
