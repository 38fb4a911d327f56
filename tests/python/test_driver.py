"""The controller of a robot file on its own, as a program of a robot runs it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tendril as td

ARM = (Path(__file__).parents[2] / "docs/guide/drive/arm.toml").read_text()
STEP = 0.004


@pytest.fixture
def arm(tmp_path):
    file = tmp_path / "arm.toml"
    file.write_text(ARM)
    return file


class Plant:
    """An arm whose sections go where they are commanded to be, with a lag of 20 ms."""

    def __init__(self, driver):
        self.bends = np.zeros(len(driver.readings))
        self.names = driver.readings
        self.signs = np.array([1.0, -1.0, 1.0, -1.0])  # encoders read angles about y and -x

    def follow(self, commands):
        self.bends += STEP / 0.02 * (self.signs * commands - self.bends)

    def message(self):
        return dict(zip(self.names, self.bends, strict=True))


def target_at(position):
    pose = np.eye(4)
    pose[:3, 3] = position
    return pose


def test_it_reaches_the_target_by_its_readings(arm):
    driver = td.Driver(arm, timestep=STEP, gravity=(0, 0, 0))
    assert driver.actuators == ["s1_y", "s1_x", "s2_y", "s2_x"]
    assert driver.readings == ["bend_s1_y", "bend_s1_x", "bend_s2_y", "bend_s2_x"]
    assert driver.widths == [1, 1, 1, 1]
    assert driver.ranges.shape == (4, 2)
    plant, target = Plant(driver), target_at([0.06, 0.03, 0.17])
    assert driver.state == "waiting for the robot"
    for k in range(2500):
        commands = driver.step(k * STEP, plant.message(), target)
        plant.follow(commands)
    assert driver.state == "running"
    states = [[np.hypot(u, v), np.arctan2(v, u), 0.0] for u, v in plant.bends.reshape(2, 2)]
    tip = td.load_robot(arm).tip_pose(states)
    assert np.linalg.norm(tip[:3, 3] - target[:3, 3]) < 1e-3
    assert np.allclose(driver.tip[:3, 3], tip[:3, 3], atol=1e-3)
    assert np.allclose(driver.q, plant.bends, atol=1e-3)


def test_it_holds_its_commands(arm):
    driver = td.Driver(arm, timestep=STEP, stale_after=0.05)
    driver.commands = [0.1, 0.0, 0.0, 0.0]
    assert driver.step(0.0).tolist() == [0.1, 0.0, 0.0, 0.0]  # no message has come
    plant, target = Plant(driver), target_at([0.06, 0.03, 0.17])
    for k in range(100):
        plant.follow(driver.step(k * STEP, plant.message(), target))
    for k in range(100, 200):
        held = driver.step(k * STEP)
    assert driver.state == "held: no message of the robot"
    assert np.array_equal(driver.step(201 * STEP), held)
    driver.step(202 * STEP, plant.message())
    assert driver.state == "running"
    driver.stop()
    held = driver.commands
    assert np.array_equal(driver.step(203 * STEP, plant.message()), held)
    assert driver.state == "stopped"
    driver.reset()
    driver.step(204 * STEP, plant.message(), target)
    assert driver.state == "running"


def test_a_speed_limit_holds(arm):
    driver = td.Driver(arm, timestep=STEP, speed_limit=0.1)
    plant, target = Plant(driver), target_at([0.08, 0.05, 0.15])
    most = 0.1 * STEP * np.diff(driver.ranges, axis=1)[:, 0]
    before = driver.commands
    for k in range(300):
        commands = driver.step(k * STEP, plant.message(), target)
        assert np.all(np.abs(commands - before) <= most * (1 + 1e-9))
        before = commands
        plant.follow(commands)


def test_bad_input_is_one_line(arm, tmp_path):
    driver = td.Driver(arm, timestep=STEP)
    for what, call in {
        "readings: bent: is no reading": lambda: driver.step(0.0, {"bent": 1.0}),
        "bend_s1_y: leading axes": lambda: driver.step(0.0, {"bend_s1_y": [1.0, 2.0]}),
        "target: ": lambda: driver.step(0.0, {}, np.eye(3)),
        "commands: ": lambda: setattr(driver, "commands", [1.0]),
        "time: must be finite": lambda: driver.step(float("nan")),
        "timestep = ": lambda: td.Driver(arm, timestep=0.0),
        "speed_limit = ": lambda: td.Driver(arm, timestep=STEP, speed_limit=-1.0),
        "orientation: must be a rotation": lambda: td.Driver(arm, timestep=STEP, orientation=2 * np.eye(3)),
    }.items():
        with pytest.raises(td.ModelError, match=what) as error:
            call()
        assert "\n" not in str(error.value)
    (tmp_path / "feed.toml").write_text(ARM + "[base]\nfeed = 0.1\n")
    feeding = td.Driver(tmp_path / "feed.toml", timestep=STEP)
    assert feeding.readings[-2:] == ["feed", "feed_rate"]
    with pytest.raises(td.ModelError, match="has no feed: the first message must have"):
        feeding.step(0.0, {"bend_s1_y": 0.0})


def test_its_log_is_a_recording_that_can_be_repeated(arm, tmp_path):
    log, program = tmp_path / "drive.h5", Path(sys.executable).with_name("tendril")
    turn = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
    driver = td.Driver(arm, timestep=STEP, speed_limit=0.5, gravity=(0, 0, -3), orientation=turn, log=log)
    driver.commands = [0.1, 0.0, 0.0, 0.0]
    plant, target, steps = Plant(driver), target_at([0.06, 0.03, 0.17]), 3000
    driver.step(-STEP)  # not in it: nothing has come
    for k in range(steps):  # as fast as it goes: more than the recorder holds
        message = plant.message()
        if k % 7 == 3:
            message = None
        elif k % 5 == 0:
            del message["bend_s1_y"]
        elif k % 11 == 0:
            message["bend_s2_x"] = float("nan")
        plant.follow(driver.step(k * STEP, message, target if k in (0, 900) else None))
    with pytest.raises(td.ModelError, match="commands: must be set before the first message"):
        driver.commands = [0.0] * 4
    with pytest.raises(td.ModelError, match="reset: a log is of one drive"):
        driver.reset()
    driver.close()
    driver.close()
    driver.reset()  # and goes on without a log
    recording = td.Recording(log)
    assert recording.rows == steps
    assert np.array_equal(np.sort(recording.ctrl[-1]), np.sort(driver.commands))  # of the model, in its order
    assert recording.is_log
    result = subprocess.run(
        [program, "rollout", "replay", log], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"}
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"{steps} steps" in result.stdout

    idle = td.Driver(arm, timestep=STEP, log=tmp_path / "idle.h5")
    idle.step(0.0)
    with pytest.raises(td.RecordingError, match="nothing has come from the robot: there is no log"):
        idle.close()
    assert not (tmp_path / "idle.h5").exists()


def test_a_snake_follows_its_path_by_its_encoders(tmp_path):
    file, log = tmp_path / "snake.toml", tmp_path / "log.h5"
    file.write_text(
        'kind = "snake"\njoints = 12\nlink_length = 0.05\n[base]\nkind = "fixed"\n'
        '[controller]\nplugin = "tendril.snake"\nmode = "path"\nspeed = 0.1\ncorner_radius = 0.2\n'
        "waypoints = [0.3, 0, 0, 0.5, 0.1, 0.1]\n"
        '[[sensor]]\nkind = "joint_encoder"\nname = "encoder"\n'
    )
    driver = td.Driver(file, timestep=STEP, gravity=(0, 0, 0), log=log)
    assert driver.actuators == [f"joint_{j}" for j in range(1, 13)]
    assert driver.readings == [f"encoder_joint_{j}" for j in range(1, 13)]
    angles = np.zeros(12)
    for k in range(2500):
        commands = driver.step(k * STEP, dict(zip(driver.readings, angles, strict=True)))
        angles += STEP / 0.02 * (commands - angles)
    assert (driver.state, driver.status) == ("running", "finished")
    assert np.allclose(driver.q, angles, atol=1e-3)
    assert np.linalg.norm(driver.tip[:3, 3] - [0.5, 0.1, 0.1]) < 0.02
    driver.close()
    program = Path(sys.executable).with_name("tendril")
    result = subprocess.run([program, "rollout", "replay", log], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_snake_starts_where_it_is_told(tmp_path):
    file = tmp_path / "snake.toml"
    file.write_text(
        'kind = "snake"\njoints = 4\nlink_length = 0.1\n[start]\nposition = [0.25, 0, 0]\n'
        '[controller]\nplugin = "tendril.snake"\n[[sensor]]\nkind = "joint_encoder"\nname = "encoder"\n'
    )
    still = dict.fromkeys([f"encoder_joint_{j}" for j in range(1, 5)], 0.0)
    by_file = td.Driver(file, timestep=STEP)
    by_file.step(0.0, still)
    assert np.allclose(by_file.tip[:3, 3], [0.5, 0.0, 0.025], atol=1e-9)  # five links, the middle at `position`
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    told = td.Driver(file, timestep=STEP, orientation=turn, position=[1.0, 2.0, 0.1])
    told.step(0.0, still)
    assert np.allclose(told.tip[:3, :3], turn) and np.allclose(told.tip[:3, 3], [1.0, 2.5, 0.1])
    with pytest.raises(td.ModelError, match=r"position: shape = \(2,\)"):
        td.Driver(file, timestep=STEP, position=[1.0, 2.0])


def test_a_mobile_robot_comes_to_its_target(tmp_path):
    file = tmp_path / "robot.toml"
    file.write_text(
        (Path(__file__).parents[2] / "models/youbot.toml").read_text()
        + '[controller]\nplugin = "tendril.mobile"\ntarget = "goal"\n'
        '[[sensor]]\nkind = "platform_pose"\nname = "laser"\n'
        '[[sensor]]\nkind = "joint_encoder"\nname = "encoder"\n'
    )
    driver = td.Driver(file, timestep=STEP, gravity=(0, 0, 0))
    assert driver.readings[:3] == ["laser_x", "laser_y", "laser_heading"]
    places = np.array([0, 0, 0, 0, 0.349, 1.047, 0.524, 0])
    target = target_at([0.9, 0.6, 0.3])
    for k in range(2500):
        commands = driver.step(k * STEP, dict(zip(driver.readings, places, strict=True)), target)
        places += STEP / 0.02 * (commands - places)
    assert (driver.state, driver.status) == ("running", "finished")
    assert np.linalg.norm(driver.tip[:3, 3] - target[:3, 3]) < 1e-3
    assert np.allclose(driver.q, places[3:], atol=1e-3)


def test_the_program_drives_a_simulated_robot(arm, tmp_path):
    """The plugin of the package takes commands from the program, which is another library."""
    (tmp_path / "scene.xml").write_text(
        """<mujoco><option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10" iterations="100"/>
<asset><model name="arm" file="arm.toml"/></asset><worldbody><body name="target" mocap="true" pos="0.06 0.03 0.17"/>
<attach model="arm" body="base" prefix="A_"/></worldbody></mujoco>"""
    )
    program = Path(sys.executable).with_name("tendril")
    result = subprocess.run(
        [program, "drive", arm, "--link", f"sim:{tmp_path / 'scene.xml'}", "--duration", "0.5"]
        + ["--out", tmp_path / "out", "--no-report", "--delay", "0.004"],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin"},
    )
    assert result.returncode == 0, result.stderr
    assert "driver: running at the end; 250 steps" in result.stdout
    recording = td.Recording(tmp_path / "out" / "rollout.h5")
    assert recording.texts["driven_by"] == str(arm)
