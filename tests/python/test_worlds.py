"""Many worlds on Warp's CPU backend: the laws that hold there hold on a GPU up to rounding."""

import mujoco
import numpy as np
import pytest

import tendril as td

pytest.importorskip("mujoco_warp", reason="needs warp-lang and mujoco-warp: docs/guide/worlds.md")

from worlds_scenes import REACH, SCENE, SECTION, tips_of, written  # noqa: E402

from tendril import _command  # noqa: E402
from tendril.worlds import Worlds  # noqa: E402
from tendril.worlds.model import Room, differing  # noqa: E402

ROBOT = 2 * SECTION
CIRCLE = """
[[motion]]
body = "target"
kind = "circle"
center = [0.05, 0, 0.16]
radius = 0.03
normal = [0, 0, 1]
speed = 0.1
"""
VARY = """
[vary]
"robot.section.*.bending_stiffness" = { scale = [0.5, 2] }
"""
STEPS = 150


@pytest.fixture
def experiment(tmp_path):
    def made(more="", controller=REACH, robot=ROBOT, motion=CIRCLE, scene=SCENE):
        return written(tmp_path, robot + controller, motion + more, scene)

    return made


def test_worlds_with_their_own_draws_move_as_the_runs_of_their_seeds(experiment):
    file = experiment(VARY)
    worlds = Worlds(file, 3, "cpu", seed=5)
    runs = [td.Experiment(file).start(seed) for seed in (5, 6, 7)]
    worlds.step(STEPS)
    for run in runs:
        for _ in range(STEPS):
            run.step()
    meant = np.stack([run.data.qpos for run in runs])
    assert np.ptp(meant, axis=0).max() > 1e-4  # the draws matter
    assert worlds.qpos.numpy() == pytest.approx(meant, abs=2e-6)  # rad, of a motion of about 1 rad
    assert worlds.time.numpy() == pytest.approx(STEPS * 0.002, abs=1e-5)
    assert not worlds.overflow.numpy().any()
    errors = [run.data.sensor("arm_tip_error").data[0] for run in runs if run.model.nsensor > 0]
    for error, controller in zip(errors, worlds.controllers[0].tip_error.numpy(), strict=False):
        assert controller == pytest.approx(error, abs=1e-5)


WALLED = """
[[motion]]
body = "target"
kind = "waypoints"
times = [0, 0.8, 1.8]
points = [[0.05, 0.03, 0.16], [0.105, 0.03, 0.15], [0.105, -0.05, 0.15]]
"""


@pytest.mark.parametrize("lengths", ["constant_length = 0.1", "constant_length = 0.08\nvariable_length = 0.04"])
def test_a_tip_slides_along_a_wall_as_in_the_c_engine(experiment, lengths):
    wall = '<geom type="box" size="0.01 0.2 0.2" pos="0.108 0 0.1"/>'  # the target ends in it
    file = experiment(
        robot=ROBOT.replace("constant_length = 0.1", lengths),
        motion=WALLED,
        scene=SCENE.replace("<worldbody>", "<worldbody>" + wall),
    )
    worlds = Worlds(file, 1, "cpu")
    run = td.Experiment(file).start()
    steps, touched = 900, False
    for _ in range(steps):
        run.step()
        touched = touched or run.data.ncon > 0
    worlds.step(steps)
    ours, meant = tips_of(worlds, [run])
    assert touched
    assert np.abs(ours - meant).max() < 5e-4  # m
    assert worlds.controllers[0].status.numpy()[0] == run.data.sensor("arm_status").data[0]


def test_a_late_measurement_of_the_tip_is_as_late_as_in_the_c_engine(experiment, beside_c):
    file = experiment('[vary]\n"controller.sensor_delay" = { uniform = [0.004, 0.08] }\n')
    steps = 400
    worlds = Worlds(file, 2, "cpu", seed=3)
    runs = [td.Experiment(file).start(seed) for seed in (3, 4)]
    positions, meant, _, _ = beside_c(worlds, runs, steps)
    assert np.ptp(meant, axis=0).max() > 1e-4  # rad: the draws matter
    assert positions == pytest.approx(meant, abs=1e-5)  # rad, of a motion of about 1 rad
    worlds.reset(np.array([True, False]))
    worlds.step(steps)
    assert worlds.qpos.numpy()[0] == pytest.approx(meant[0], abs=1e-5)


AHEAD = """
[[motion]]
body = "target"
kind = "waypoints"
times = [0, 0.1, 0.4]
points = [[0.03, 0.02, 0.18], [0.03, 0.02, 0.18], [0.06, -0.05, 0.24]]
[vary]
"controller.feed_speed" = { uniform = [0.05, 0.2] }
"""


def test_the_base_of_an_arm_is_fed_as_in_the_c_engine(experiment):
    file = experiment(robot="[base]\nfeed = 0.2\n" + ROBOT, motion=AHEAD)
    worlds = Worlds(file, 2, "cpu", seed=3)
    runs = [td.Experiment(file).start(seed) for seed in (3, 4)]
    worlds.step(250)
    for run in runs:
        for _ in range(250):
            run.step()
    meant = np.stack([run.data.qpos for run in runs])
    feeds = meant[:, worlds.model.joint("arm_feed").qposadr[0]]
    assert feeds.min() > 0.01 and np.ptp(feeds) > 0.002  # m: the draws matter
    assert worlds.qpos.numpy() == pytest.approx(meant, abs=5e-6)  # rad, m
    worlds.reset(np.array([True, False]))
    worlds.step(250)
    assert worlds.qpos.numpy()[0] == pytest.approx(meant[0], abs=5e-6)


SWINGING = "links = 4\ndamping_time = 0.01\nbend_damping_time = 0.01"
JUMPS = """
[[motion]]
body = "target"
kind = "waypoints"
times = [0, 0.3, 0.302, 0.55, 0.552, 2]
points = [
  [0.02, 0.01, 0.19], [0.02, 0.01, 0.19], [0.06, 0, 0.17], [0.06, 0, 0.17], [-0.02, 0.05, 0.18], [-0.02, 0.05, 0.18]
]
[vary]
"controller.rate_limit" = { uniform = [1, 6] }
"""


@pytest.mark.parametrize("move_time", ["", "move_time = 0.3\n"])
def test_moves_of_an_arm_that_swings_are_timed_as_in_the_c_engine(experiment, beside_c, move_time):
    # The payload makes it swing, and so takes two periods by default.
    robot = ROBOT.replace("links = 4", SWINGING) + "[tip]\npayload = 0.2\n"
    file = experiment(robot=robot, controller=REACH + move_time, motion=JUMPS)
    worlds, seeds = Worlds(file, 2, "cpu", seed=3), (3, 4)
    runs = [td.Experiment(file).start(seed) for seed in seeds]
    at_once = td.Experiment(file).start(3, set={"controller.move_time": 0})
    tip = worlds.model.site("arm_tip").id
    for steps in (230, 100, 450):  # within the move after each jump, and after the last one
        beside_c(worlds, runs, steps)
        ours, tips = tips_of(worlds, runs)
        assert np.abs(ours - tips).max() < 1e-4  # m
        for _ in range(steps):
            at_once.step()
        assert steps == 450 or np.abs(at_once.data.site_xpos[tip] - tips[0]).max() > 5e-3  # m: the time matters
    assert np.ptp(tips, axis=0).max() > 1e-4  # m: the draws matter
    worlds.reset(np.array([True, False]))
    worlds.step(780)
    assert np.abs(tips_of(worlds, runs)[0][0] - tips[0]).max() < 1e-4


def test_worlds_are_reset_one_by_one(experiment):
    worlds = Worlds(experiment(), 2, "cpu")
    worlds.step(20)
    moved = worlds.qpos.numpy().copy()
    worlds.reset(np.array([True, False]))
    assert not worlds.qpos.numpy()[0].any()
    assert (worlds.qpos.numpy()[1] == moved[1]).all()
    worlds.step(20)
    assert (worlds.qpos.numpy()[0] == moved[0]).all()  # the same bits on a CPU


def test_a_diverged_world_is_told_and_does_not_stop_the_others(experiment):
    worlds = Worlds(experiment(), 2, "cpu")
    alone = Worlds(experiment(), 1, "cpu")
    qvel = worlds.qvel.numpy()
    qvel[0, 0] = np.nan
    worlds.qvel.assign(qvel)
    worlds.step(5)
    alone.step(5)
    assert worlds.diverged.numpy().tolist() == [1, -1]
    assert (worlds.qpos.numpy()[1] == alone.qpos.numpy()[0]).all()


def test_without_controllers_the_controls_are_the_callers(experiment):
    worlds = Worlds(experiment(), 2, "cpu", controllers=False)
    model = worlds.model
    ctrl = np.array([[0.3] * model.nu, [-0.2] * model.nu], dtype=np.float32)
    worlds.ctrl.assign(ctrl)
    worlds.step(30)
    for row in range(2):
        data = mujoco.MjData(model)
        data.ctrl[:] = ctrl[row]
        mujoco.mj_step(model, data, 30)
        assert worlds.qpos.numpy()[row] == pytest.approx(data.qpos, abs=1e-6)


LONGEST = """
[[motion]]
body = "target"
kind = "waypoints"
times = [0, 0.5, 0.6]
points = [[0.02, 0, 0.2395], [0.02, 0, 0.2395], [0.04, 0, 0.21]]
[[fault]]
name = "load"
kind = "payload"
body = "arm_s2_l4"
mass = 0.5
"""


def test_lengths_at_their_end_store_no_correction_as_in_the_c_engine(experiment, beside_c):
    lengths = "constant_length = 0.08\nvariable_length = 0.04"
    file = experiment(robot=ROBOT.replace("constant_length = 0.1", lengths), motion=LONGEST)
    worlds, runs = Worlds(file, 1, "cpu"), [td.Experiment(file).start()]
    for steps in (250, 100):
        beside_c(worlds, runs, steps)
        ours, meant = tips_of(worlds, runs)
        assert np.abs(ours - meant).max() < 1e-6  # m


TETRAHEDRON = ((0.01, 0, 0), (-0.01, 0.01, 0), (-0.01, -0.01, 0), (0, 0, 0.2))


def test_an_arm_with_a_skin_is_in_worlds(experiment, tmp_path):
    file = experiment(controller='[skin]\nfile = "skin.stl"\n' + REACH)
    faces = [[TETRAHEDRON[i] for i in range(4) if i != left] for left in range(4)]
    triangles = "".join(
        "facet normal 0 0 1\nouter loop\n"
        + "".join(f"vertex {x} {y} {z}\n" for x, y, z in face)
        + "endloop\nendfacet\n"
        for face in faces
    )
    (tmp_path / "skin.stl").write_text(f"solid skin\n{triangles}endsolid skin\n")
    assert [controller.name for controller in Worlds(file, 1, "cpu").controllers] == ["arm"]


def test_models_with_other_elements_are_refused():
    one = mujoco.MjModel.from_xml_string("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    two = mujoco.MjModel.from_xml_string("<mujoco><worldbody><geom size='1'/><geom size='1'/></worldbody></mujoco>")
    with pytest.raises(td.ModelError, match="worlds must have the same elements"):
        differing([one, two], [])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": 0}, "count: 0: must be >= 1"),
        ({"count": 10**9}, "MB a world, but cpu has"),
        ({"device": "cuda:77"}, "device: cuda:77: must be one of "),
        ({"set": {"controller.plugin": "tendril.touch"}}, "must be tendril.reach"),
    ],
)
def test_what_has_no_equal_on_a_device_is_refused_in_one_line(experiment, change, message):
    arguments = {"count": 1, "device": "cpu"} | change
    with pytest.raises(td.ModelError) as caught:
        Worlds(experiment(), **arguments)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


FED = "[base]\nfeed = 0.1\nfeed_force_limit = 10\n"


@pytest.mark.parametrize(
    ("solver", "robot", "task"),
    [
        ("fabrikx", ROBOT, "position"),
        ("fabrikx", FED + ROBOT, "direction"),
        ("levenberg", FED + ROBOT, "position"),
    ],
)
def test_arms_reach_with_another_solver_as_in_the_c_engine(experiment, beside_c, solver, robot, task):
    file = experiment(VARY, REACH + f'solver = "{solver}"\ntask = "{task}"\n', robot)
    worlds, runs = Worlds(file, 2, "cpu", seed=5), [td.Experiment(file).start(seed) for seed in (5, 6)]
    ours, meant, (status,), (expected,) = beside_c(worlds, runs, STEPS, "status")
    assert np.abs(ours - meant).max() < 1e-6  # rad, m
    assert (status == expected).all()


def test_worlds_with_other_targets_are_refused(experiment):
    scene = SCENE.replace("<worldbody>", '<worldbody><body name="other" mocap="true"/>')
    file = experiment('[vary]\n"controller.target" = { choice = ["target", "other"] }\n', scene=scene)
    with pytest.raises(td.ModelError, match="arm: target_mocap differs between the worlds: must be the same"):
        Worlds(file, 6, "cpu", seed=4)


BODY_FAULTS = """
[[fault]]
name = "softer"
kind = "stiffness"
factor = 0.5
[[fault]]
name = "load"
kind = "payload"
body = "arm_s2_l4"
mass = 0.02
[[fault]]
name = "push"
kind = "kick"
body = "arm_s2_l2"
force = [0.1, 0.2, 0]
start = 0.1
duration = 0.1
[[fault]]
name = "stuck"
kind = "actuator_stuck"
actuator = "arm_s1_*"
start = 0.15
end = 0.25
[vary]
"fault.softer.factor" = { log_uniform = [0.5, 2] }
"""


def test_worlds_have_the_faults_of_their_bodies(experiment):
    worlds = Worlds(experiment(BODY_FAULTS), 2, "cpu")
    worlds.record([0, 1])
    worlds.step(STEPS)
    assert np.abs(worlds.qpos.numpy()[0] - worlds.qpos.numpy()[1]).max() > 1e-4
    for world in range(2):
        assert worlds.distance_from_c(world).max() < 3e-6


def test_a_mask_of_another_size_is_refused(experiment):
    worlds = Worlds(experiment(controller=""), 2, "cpu")
    with pytest.raises(td.ModelError, match="worlds: must be 2 truth values"):
        worlds.reset(np.array([True]))
    with pytest.raises(td.ModelError, match="sensor: none: must be a sensor of the scene"):
        worlds.sensor("none")


def test_a_world_is_recorded_and_judged_as_a_run(experiment, tmp_path):
    file = experiment(VARY)
    worlds = Worlds(file, 3, "cpu", seed=5)
    worlds.record([2])
    worlds.step(STEPS)
    recorded = tmp_path / "world.h5"
    result = worlds.result(2, record=recorded)
    run = td.Experiment(file).start(7)
    for _ in range(STEPS):
        run.step()
    c = run.finish()
    assert (result.outcome, result.summary["seed"]) == ("interrupted", 7)  # the experiment has more steps
    assert result.metrics["tip_error_end"] == pytest.approx(c.metrics["tip_error_end"], abs=1e-5)
    assert worlds.distance_from_c(2).shape == (STEPS,)
    assert worlds.distance_from_c(2).max() < 2e-6
    with td.Recording(recorded) as recording:
        assert recording.rows == STEPS + 1
        assert (recording.qpos[-1] == worlds.qpos.numpy()[2]).all()
        assert (recording.seek(100).qpos == recording.qpos[100]).all()
        assert "mujoco_warp" in recording.texts["stepped_by"]
        with pytest.raises(td.RecordingError, match="was stepped by mujoco_warp .* replay needs steps of MuJoCo"):
            recording.replay()
        assert "<html" in recording.to_html()
    for world, message in ((3, r"world: 3: must be in \[0, 3\)"), (1, "world: 1: was not recorded")):
        with pytest.raises(td.ModelError, match=message):
            worlds.result(world)


def test_what_a_caller_writes_is_in_the_recording_of_a_world(experiment, tmp_path):
    worlds = Worlds(experiment(), 2, "cpu", controllers=False)
    worlds.record([1, 0])
    worlds.step(5)
    worlds.reset(np.array([False, True]))  # begins its rows again
    ctrl = np.full((2, worlds.model.nu), 0.2, dtype=np.float32)
    worlds.ctrl.assign(ctrl)
    worlds.step(20)
    assert worlds.distance_from_c(1).max() < 1e-6
    worlds.result(1, record=tmp_path / "world.h5")
    with td.Recording(tmp_path / "world.h5") as recording:
        assert recording.rows == 21
        assert (recording.ctrl[1:] == ctrl[1]).all()
        assert np.abs(recording.qpos[-1]).max() > 1e-3


def test_the_command_judges_and_records_worlds(experiment, tmp_path, capfd):
    file = experiment(VARY + '[[check]]\nmetric = "tip_error_max"\nmax = 1e-3\n')
    words = [str(file), "--count", "2", "--judge", "1", "--check-in-c", "--device", "cpu", "--seed", "4", "--quiet"]
    code = _command.run("worlds", [*words, "--duration", "0.02", "--out", str(tmp_path / "out")])
    said = capfd.readouterr().out.splitlines()[-1]
    assert code == 1  # the start is farther than a millimeter away
    assert said.startswith("world 1, seed 5: fail; tip_error_max = ")
    assert float(said.split("; ")[2].removesuffix(" from C")) < 1e-6
    with td.Recording(tmp_path / "out/world1.h5") as recording:
        assert recording.rows == 11
    assert _command.run("worlds", [str(file), "--out", str(tmp_path)]) == 2
    assert "--judge: must name worlds" in capfd.readouterr().err


def waypoints(times, poses):
    """A motion of the target through these poses, text of an experiment."""
    points, angles = [], []
    for X in poses:
        points.append(X[:3, 3].tolist())
        yaw, pitch = np.arctan2(X[1, 0], X[0, 0]), np.arcsin(X[2, 0])
        angles.append(np.degrees([np.arctan2(X[2, 1], X[2, 2]), pitch, yaw]).tolist())
    return f"""
[[motion]]
body = "target"
kind = "waypoints"
times = {times}
points = {points}
angles_deg = {angles}
"""


def test_a_pose_with_its_roll_is_reached_as_in_the_c_engine(experiment, beside_c):
    arm = td.ContinuumRobot([td.Section(length=0.1, bend_limit=1.5)] * 3)
    states = np.array([[[0.4, 0.5, 0], [0.6, 2.0, 0], [0.5, -1.0, 0]], [[0.6, 0.2, 0], [0.5, 1.4, 0], [0.7, -0.6, 0]]])
    there, after = arm.tip_pose(states)
    away = after.copy()
    away[:3, 3] *= 1.3  # out of reach
    motion = waypoints([0, 0.6, 1.2, 1.6, 2], [there, there, after, after, away])
    vary = VARY + '"controller.rate_limit" = { uniform = [3, 8] }\n'
    file = experiment(vary, REACH + 'task = "pose"\n', ROBOT + SECTION, motion)
    worlds = Worlds(file, 2, "cpu", seed=3)
    runs = [td.Experiment(file).start(seed) for seed in (3, 4)]
    for steps, reached in ((300, True), (500, True), (200, False)):
        positions, meant, (status,), (expected,) = beside_c(worlds, runs, steps, "status")
        assert positions == pytest.approx(meant, abs=1e-5)  # rad, of a motion of about 1 rad
        assert (status == expected).all() and (status == td.ControllerStatus.WORKING).all() == reached
        ours, tips = tips_of(worlds, runs)
        assert np.abs(ours - tips).max() < 1e-4  # m
        angles = [run.data.sensor("arm_angle_error").data[0] for run in runs]
        assert not reached or max(angles) < 0.02  # rad
    assert np.ptp(meant, axis=0).max() > 1e-4  # rad: the draws matter
    worlds.reset(np.array([True, False]))


@pytest.mark.parametrize("scene", ["snake_travel/box", "snake_travel/vertical_wave", "wrap_grasp/wrap_grasp"])
def test_there_is_room_for_the_contacts_of_robots_that_lie_or_wrap(scene):
    run = td.Experiment(td.share / "scenes" / f"{scene}.toml").start(duration=3)
    contacts, rows = 0, 0
    while not run.done:
        run.step()
        contacts, rows = max(contacts, run.data.ncon), max(rows, run.data.nefc)
    assert rows > 64  # the engine's own estimate
    room = Room().enough(run.plain_model())
    assert contacts <= room.contacts <= 8 * contacts and rows <= room.constraints <= 8 * rows
    assert Room(7).enough(run.plain_model()).contacts == 7
    assert Room(constraints=9).enough(run.plain_model()) == Room(room.contacts, 9)
