"""Faults in many worlds, beside the C engine with the plugin: of measurements, and of the body that begin and end."""

import numpy as np
import pytest

import tendril as td

pytest.importorskip("mujoco_warp", reason="needs warp-lang and mujoco-warp: docs/guide/worlds.md")

from worlds_scenes import FOLLOW, REACH, SCENE, SECTION, SIDEWAYS, tips_of, written  # noqa: E402

from tendril.worlds import Worlds  # noqa: E402
from tendril.worlds.physical_faults import LATE, step_at  # noqa: E402

ROBOT = "[base]\nfeed = 0.2\n" + 2 * SECTION
MOTION = """
[[motion]]
body = "target"
kind = "circle"
center = [0.05, 0, 0.2]
radius = 0.03
normal = [0, 0, 1]
speed = 0.2
"""
STEPS = 350
DIRECTION = REACH + 'task = "direction"\n'
MOMENTS = REACH.replace("tendril.reach", "tendril.computed_moment")
MOTORS = 2 * (SECTION + 'bend_command = "moment"\n')
NOISE = 'kind = "noise"\nsigma = [0.01, 0.02, 0.005]\n'
SEEN = {  # a fault of what a controller measures, and what of it is drawn
    "noise": (REACH, 'channel = "tip"\n' + NOISE, '"fault.f.sigma" = { uniform = [[0, 0, 0], [0.02, 0.02, 0.02]] }'),
    "noise that lasts": (REACH, 'channel = "target"\ncorrelation_time = 0.05\nstart = 0.1\n' + NOISE, ""),
    "bias": (DIRECTION, 'channel = "tip_direction"\nkind = "bias"\nvalue = [0.05, 0.02, 0.3]\n', ""),
    "scale": (MOMENTS, 'channel = "q"\nkind = "scale"\nfactor = 0.8\n', ""),
    "drift": (
        REACH,
        'channel = "target"\nkind = "drift"\nrate = 0.02\nstart = 0.2\nend = 0.8\n',
        '"fault.f.start" = { uniform = [0.1, 0.4] }',
    ),
    "backlash": (MOMENTS, 'channel = "q"\nkind = "backlash"\nwidth = 0.05\n', ""),
    "quantize": (REACH, 'channel = "tip"\nkind = "quantize"\nstep = 0.05\n', ""),
    "rate": (
        REACH,
        'channel = "target"\nkind = "rate"\nperiod = 0.05\n',
        '"fault.f.period" = { uniform = [0.01, 0.1] }',
    ),
    "dropout": (
        REACH,
        'channel = "tip"\nkind = "dropout"\nprobability = 0.02\nduration = 0.03\n',
        '"fault.f.probability" = { uniform = [0.01, 0.05] }',
    ),
    "dropout to zero": (
        MOMENTS,
        'channel = "q_rate"\nkind = "dropout"\nmode = "zero"\nprobability = 0.3\nduration = 0.1\n',
        "",
    ),
    "freeze": (REACH, 'channel = "tip"\nkind = "freeze"\nstart = 0.15\nend = 0.3\n', ""),
    "delay": (REACH, 'channel = "target"\nkind = "delay"\ntime = 0.1\n', '"fault.f.time" = { uniform = [0.02, 0.15] }'),
    "gravity": (MOMENTS, 'channel = "gravity_moment"\nkind = "scale"\nfactor = 0\n', ""),
}
PHYSICAL = {
    "kick": ('kind = "kick"\nbody = "arm_s2_l4"\nforce = [0.3, 0.2, 0]\nduration = 0.2\nstart = 0.1\n', "start"),
    "stuck": ('kind = "actuator_stuck"\nactuator = "arm_s1_*"\nstart = 0.2\nend = 0.5\n', "start"),
    "loss": ('kind = "actuator_loss"\nactuator = "arm_*"\nfactor = 0.3\nstart = 0.2\nend = 0.4\n', "factor"),
    "stiffness": ('kind = "stiffness"\nfactor = 2.0\ndamping_factor = 0.5\nstart = 0.2\n', "factor"),
    "payload": ('kind = "payload"\nbody = "arm_s2_l4"\nmass = 0.05\nstart = 0.2\nend = 0.45\n', "mass"),
    "gravity": ('kind = "gravity"\nvalue = [3, 0, -5]\nend = 0.3\n', "end"),
    "delay": ('kind = "actuator_delay"\nactuator = "arm_*"\ntime = 0.02\n', ""),
}
RANGES = {"start": (0.1, 0.3), "factor": (0.4, 0.9), "mass": (0.01, 0.08), "end": (0.2, 0.5)}


def beside(folder):
    """Another folder."""
    (folder / "healthy").mkdir()
    return folder / "healthy"


def fault(text):
    return '\n[[fault]]\nname = "f"\n' + text


@pytest.mark.parametrize("kind", SEEN)
def test_a_controller_sees_the_faults_of_the_c_engine(tmp_path, beside_c, kind):
    controller, text, vary = SEEN[kind]
    robot = MOTORS if controller is MOMENTS else ROBOT
    draws = f"[vary]\n{vary}\n" if vary else ""
    file = written(tmp_path, robot + controller, MOTION + fault(text) + draws, SIDEWAYS if kind == "gravity" else SCENE)
    healthy = written(beside(tmp_path), robot + controller, MOTION, SIDEWAYS if kind == "gravity" else SCENE)
    worlds, runs = Worlds(file, 2, "cpu", seed=3), [td.Experiment(file).start(seed) for seed in (3, 4)]
    without = Worlds(healthy, 1, "cpu")
    beside_c(worlds, runs, STEPS)
    without.step(STEPS)
    ours, meant = tips_of(worlds, runs)
    assert np.abs(ours - meant).max() < 2e-5  # m
    apart = np.linalg.norm(ours - tips_of(without, runs)[0], axis=1)
    assert apart.max() > 1e-4  # m: the fault matters
    if vary:
        assert np.ptp(ours, axis=0).max() > 1e-4  # m: so do the draws
    if controller is REACH:
        errors = [run.data.sensor("arm_tip_error").data[0] for run in runs]
        assert worlds.controllers[0].tip_error.numpy() == pytest.approx(errors, abs=2e-5)  # m: the true one
    positions = worlds.qpos.numpy().copy()
    worlds.reset(np.array([True, False]))
    worlds.step(STEPS)
    assert (worlds.qpos.numpy()[0] == positions[0]).all()


@pytest.mark.parametrize("kind", PHYSICAL)
def test_the_body_has_the_faults_of_the_c_engine(tmp_path, beside_c, kind):
    text, drawn = PHYSICAL[kind]
    draws = f'[vary]\n"fault.f.{drawn}" = {{ uniform = {list(RANGES[drawn])} }}\n' if drawn else ""
    file = written(tmp_path, ROBOT + REACH, MOTION + fault(text) + draws)
    healthy = written(beside(tmp_path), ROBOT + REACH, MOTION)
    worlds, runs = Worlds(file, 3, "cpu", seed=3), [td.Experiment(file).start(seed) for seed in (3, 4, 5)]
    without, farthest = Worlds(healthy, 1, "cpu"), 0.0
    for steps in (140, 70, 140):
        beside_c(worlds, runs, steps)
        without.step(steps)
        ours, meant = tips_of(worlds, runs)
        assert np.abs(ours - meant).max() < 2e-5  # m
        farthest = max(farthest, float(np.abs(ours - tips_of(without, runs)[0]).max()))
    assert farthest > 3e-4  # m: the fault matters
    positions = worlds.qpos.numpy().copy()
    worlds.reset(np.array([True, False, False]))
    worlds.step(350)
    assert (worlds.qpos.numpy()[0] == positions[0]).all()


def test_friction_changes_at_a_time_of_each_world(tmp_path, beside_c):
    """A box on a slope that begins to slide when the friction is lost."""
    (tmp_path / "scene.xml").write_text(
        '<mujoco><option timestep="0.002" integrator="discrete" cone="elliptic"/><worldbody>'
        '<geom name="slope" type="plane" size="2 2 1" euler="0 20 0"/><body name="box" pos="0 0 0.06" euler="0 20 0">'
        '<freejoint/><geom name="side" type="box" size="0.05 0.05 0.05" mass="1"/></body></worldbody></mujoco>'
    )
    file = tmp_path / "experiment.toml"
    file.write_text(
        'scene = "scene.xml"\nduration = 1\n'
        + fault('kind = "friction"\ngeom = "*"\nvalue = [0.05]\nstart = 0.4\n')
        + '[vary]\n"fault.f.start" = { uniform = [0.3, 0.7] }\n'
    )
    worlds, runs = Worlds(file, 2, "cpu", seed=1), [td.Experiment(file).start(seed) for seed in (1, 2)]
    ours, meant = (positions[:, :3] for positions in beside_c(worlds, runs, 450)[:2])
    assert np.abs(meant[:, 0]).min() > 0.02 and np.ptp(meant[:, 0]) > 0.02  # m
    assert np.abs(ours - meant).max() < 1e-3  # m


def test_gravity_is_drawn_for_each_world(tmp_path, beside_c):
    draws = '[vary]\n"option.gravity" = { uniform = [[-3, 0, -9], [3, 0, -4]] }\n'
    file = written(tmp_path, ROBOT + REACH, MOTION + draws)
    worlds, runs = Worlds(file, 2, "cpu", seed=3), [td.Experiment(file).start(seed) for seed in (3, 4)]
    positions, meant, _, _ = beside_c(worlds, runs, 200)
    assert np.ptp(meant, axis=0).max() > 1e-4  # rad
    assert positions == pytest.approx(meant, abs=1e-5)


def test_overlapping_kicks(tmp_path, beside_c):
    """The later one in the file counts, also once the other has ended."""
    kick = 'kind = "kick"\nbody = "arm_s2_l4"\n'
    text = fault(kick + "force = [0.3, 0, 0]\nstart = 0.1\nduration = 0.1\n")
    text += fault(kick + "force = [0, 0.3, 0]\nstart = 0.15\nduration = 0.3\n").replace('"f"', '"g"')
    file = written(tmp_path, ROBOT + REACH, text)
    run = td.Experiment(file).start()
    worlds = Worlds(file, 1, "cpu")
    body = run.model.body("arm_s2_l4").id
    for steps, force in ((60, 0.0), (60, 0.3)):
        positions, meant, _, _ = beside_c(worlds, [run], steps)
        assert positions == pytest.approx(meant, abs=1e-5)
        assert run.data.xfrc_applied[body, 1] == force


def test_only_the_controller_sees_a_fault_of_the_feed(tmp_path):
    worlds = Worlds(
        written(tmp_path, ROBOT + REACH, fault('channel = "feed"\nkind = "bias"\nvalue = 0.02\n')), 1, "cpu"
    )
    worlds.step(20)
    arm = worlds.controllers[0]._bound
    assert arm.seen.feed.numpy() == pytest.approx(arm.step.feed.numpy() + 0.02, abs=1e-12)
    assert arm.step.feed.numpy() == arm.step.feed_position.numpy()
    assert arm.seen.q.ptr == arm.step.q.ptr


def test_a_channel_that_worlds_do_not_have_is_refused(tmp_path):
    file = written(tmp_path, ROBOT + FOLLOW, fault('channel = "force"\nkind = "bias"\nvalue = 1\n'))
    with pytest.raises(td.ModelError, match=r"fault f: channel = force: must be q or .* in worlds"):
        Worlds(file, 1, "cpu")


def test_a_plain_model_has_the_faults_that_act_at_the_start(tmp_path):
    text = 'kind = "payload"\nbody = "arm_s2_l4"\nmass = 0.05\n'
    run = td.Experiment(written(tmp_path, ROBOT + REACH, fault(text))).start()
    without = run.plain_model(faults=False).body("arm_s2_l4").mass
    assert run.plain_model().body("arm_s2_l4").mass == pytest.approx(without + 0.05)
    late = td.Experiment(written(tmp_path, ROBOT + REACH, fault(text + "start = 0.5\n"))).start()
    assert late.plain_model().body("arm_s2_l4").mass == without
    assert "start = 0.5" in late.faults


@pytest.mark.parametrize("timestep", [0.002, 0.005, 0.0014, 0.001])
def test_steps_are_those_of_the_time_that_the_engine_adds_up(timestep):
    time, begins = 0.0, []
    for _ in range(5000):
        begins.append(time)
        time += timestep
    for at in np.linspace(0, 5, 101):
        assert step_at(float(at), timestep) == next((k for k, begin in enumerate(begins) if begin >= at), 5000)
    assert step_at(float("inf"), timestep) == LATE
