"""Bags: what `rosbags` reads of an export is what was recorded.

Without the library only what needs none is tested; TENDRIL_TEST_EXTRAS in the environment demands it.
"""

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tendril as td
from tendril.export.rosbag import message_rows
from tendril.rosbag.channels import IMU, JOINTS, POINT, POSE, WRENCH, channels

PROGRAM = Path(sys.executable).with_name("tendril")
ARM = td.share / "scenes/sensors/sensors.toml"
NS = 10**9


def tendril(*words: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)


def run(scene: Path, out: Path, duration: float) -> Path:
    done = tendril("run", scene, "--duration", duration, "--out", out, "--no-report", "--quiet")
    assert (out / "rollout.h5").is_file(), done.stderr
    return out / "rollout.h5"


@pytest.fixture(scope="session")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tendon arm with a tracker, encoders, gratings and a load cell."""
    return run(ARM, tmp_path_factory.mktemp("arm") / "out", 0.6)


@pytest.fixture(scope="session")
def snake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snake with encoders and an inertial unit, and sensors of its scene; `scene.xml` is in the folder above."""
    folder = tmp_path_factory.mktemp("snake")
    (folder / "snake.toml").write_text(
        'kind = "snake"\nname = "snake"\njoints = 4\nlink_length = 0.06\ngain = 10\ntorque_limit = 6\n'
        '[controller]\nplugin = "tendril.snake"\ngait = "serpenoid"\nyaw_amplitude = 0.5\nwaves = -1\nfrequency = 0.5\n'
        '[[sensor]]\nkind = "joint_encoder"\nname = "encoder"\nresolution = 0.01\nrate = 125\n'
        '[[sensor]]\nkind = "imu"\nname = "head"\nnoise = [0.01, 0.1]\nrate = 50\ndropout = 0.2\n'
        '[[sensor]]\nkind = "motor_current"\nname = "current"\ntorque_constant = 0.5\n'
    )
    (folder / "scene.xml").write_text(
        '<mujoco><option timestep="0.002" integrator="discrete"/><asset><model name="snake" file="snake.toml"/></asset>'
        '<worldbody><geom type="plane" size="2 2 0.1"/><attach model="snake" body="base" prefix="S_"/>'
        '<body name="ball" pos="1 1 0.1"><freejoint/><geom size="0.1"/><site name="center"/></body></worldbody>'
        '<sensor><framepos name="ball_place" objtype="body" objname="ball"/><touch name="pad" site="center"/></sensor>'
        "</mujoco>"
    )
    return run(folder / "scene.xml", folder / "out", 0.5)


# ---- without the library --------------------------------------------------------------------------------------------


def test_sensors_of_an_arm_have_topics(arm: Path) -> None:
    with td.Recording(arm) as recording:
        found = {topic: (channel.kind, channel.frame) for topic, channel in channels(recording).items()}
    named = {"joint_states", "section_states", "section_commands", "actuator_commands", "length", "tension"}
    named |= {"controller", "encoder", "gratings", "ground_truth/encoder", "ground_truth/gratings"}
    assert found == {f"/arm/{name}": (JOINTS, "arm") for name in named} | {
        "/arm/tip": (POSE, "arm"),
        "/arm/tracker": (POSE, "arm"),
        "/arm/ground_truth/tracker": (POSE, "arm"),
        "/arm/cell": (WRENCH, "arm"),
        "/arm/ground_truth/cell": (WRENCH, "arm"),
        "/bodies/target": (POSE, "world"),
    }


def test_every_named_number_of_a_recording_is_in_one_topic(arm: Path, snake: Path) -> None:
    for file in (arm, snake):
        with td.Recording(file) as recording:
            columns = [column for channel in channels(recording).values() for column in channel.columns]
            assert len(columns) == len(set(columns))
            for part in ("qpos", "ctrl", "sensordata", "mocap_pos", "mocap_quat"):
                width = getattr(recording, part).reshape(recording.rows, -1).shape[1]
                assert {k for name, k in columns if name == part} == set(range(width)), part


def test_sensors_of_a_snake_and_of_its_scene_have_topics(snake: Path) -> None:
    with td.Recording(snake) as recording:
        found = channels(recording)
        assert (found["/S/head"].kind, found["/S/head"].frame) == (IMU, "S_tip")
        assert (found["/ball_place"].kind, found["/ball_place"].frame) == (POINT, "world")
        assert list(found["/sensors"].names) == ["pad"]
        assert list(found["/S/current"].fields) == ["effort"] and list(found["/S/encoder"].fields) == ["position"]
        assert len(found["/S/encoder"].names) == 4


@pytest.mark.parametrize("seed", range(20))
def test_messages_have_the_rate_of_the_samples(seed: int) -> None:
    """All changes are kept, the steps between are whole samples, and lost samples leave no gap."""
    random = np.random.default_rng(seed)
    period, offset, rows = int(random.integers(1, 12)), int(random.integers(1, 30)), 400
    samples = np.arange(offset, rows, period)
    samples = samples[(random.random(len(samples)) > 0.3) | (np.arange(len(samples)) < 2)]  # the first two are there
    values = np.zeros((rows, 3))
    for row in samples:
        values[row:] = random.normal(size=3)
    values += 1e-17 * random.normal(size=values.shape)  # rounding is no sample
    found = message_rows(values)
    assert found[0] == 0 and set(samples) <= set(found)
    assert set(np.diff(found[1:])) <= {period} and found[-1] > rows - 1 - period


def test_a_topic_that_never_changes_has_one_message() -> None:
    assert message_rows(np.full((9, 2), np.nan)).tolist() == [0]
    assert message_rows(np.ones((9, 2))).tolist() == [0]


# ---- with it --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def rosbags() -> Any:
    if os.environ.get("TENDRIL_TEST_EXTRAS"):
        return importlib.import_module("rosbags")
    return pytest.importorskip("rosbags")


@pytest.fixture(scope="session")
def bag(arm: Path, rosbags: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bag") / "bag"
    done = tendril("export", arm, "--to", "rosbag", "-o", out)
    assert done.returncode == 0 and done.stdout == f"{out}\n", done.stderr
    assert sorted(path.name for path in out.iterdir()) == ["bag.mcap", "metadata.yaml"]
    return out


def messages(bag: Path, topic: str) -> list[tuple[int, Any]]:
    """Times of the bag and messages, read by the library alone, with the types that are in the bag."""
    reader = importlib.import_module("rosbags.highlevel").AnyReader([bag])
    with reader:
        chosen = [one for one in reader.connections if one.topic == topic]
        return [(time, reader.deserialize(data, one.msgtype)) for one, time, data in reader.messages(chosen)]


def stamp_of(message: Any) -> int:
    return int(message.header.stamp.sec * NS + message.header.stamp.nanosec)


def test_the_library_reads_what_was_recorded(arm: Path, bag: Path) -> None:
    with td.Recording(arm) as recording:
        ticks = np.rint(recording.time * NS).astype(int).tolist()
        row = {tick: i for i, tick in enumerate(ticks)}
        joints = messages(bag, "/arm/joint_states")
        assert [stamp_of(message) for _, message in joints] == [time for time, _ in joints] == ticks
        for i, (_, message) in enumerate(joints):
            assert ["arm_" + name for name in message.name] == [joint["name"] for joint in recording.tables["joints"]]
            assert np.array_equal(message.position, recording.qpos[i])
            assert np.array_equal(message.velocity, recording.qvel[i]) and len(message.effort) == 0
        poses = messages(bag, "/arm/tracker")
        assert len(poses) == 25  # 40 a second in 0.6 s, and the first row
        place, turn = (recording.sensor(f"arm_tracker_{name}_reading") for name in ("position", "orientation"))
        for time, message in poses:
            p, q = message.pose.position, message.pose.orientation
            assert message.header.frame_id == "arm"
            assert [p.x, p.y, p.z] == place[row[time]].tolist()
            assert [q.w, q.x, q.y, q.z] == turn[row[time]].tolist()
        for time, message in messages(bag, "/arm/cell"):
            f, t = message.wrench.force, message.wrench.torque
            assert [f.x, f.y, f.z] == recording.sensor("arm_cell_force_reading")[row[time]].tolist()
            assert [t.x, t.y, t.z] == recording.sensor("arm_cell_torque_reading")[row[time]].tolist()
        for i, (_, message) in enumerate(messages(bag, "/arm/section_commands")):
            assert message.name == ["section_1_u", "section_1_v", "section_2_u", "section_2_v"]
            assert np.array_equal(message.position, recording.sensor("arm_command")[i])
        gratings = messages(bag, "/arm/gratings")
        assert len(gratings) == 61 and gratings[0][1].name[:3] == ["1_x", "1_y", "2_x"]
        assert gratings[9][1].position[4] == recording.sensor("arm_gratings_3_x_reading")[row[gratings[9][0]]]


def test_the_pose_of_the_tip_is_that_of_the_engine(arm: Path, bag: Path) -> None:
    import mujoco

    poses = messages(bag, "/arm/tip")
    with td.Recording(arm) as recording:
        for i in (0, 100, recording.rows - 1):
            data = recording.seek(i)
            mujoco.mj_kinematics(recording.model, data)
            base, tip = data.body("arm_base"), data.site("arm_tip")
            back, turn, away = np.empty(4), np.empty(4), np.empty(4)
            mujoco.mju_negQuat(back, base.xquat)
            mujoco.mju_mat2Quat(turn, tip.xmat)
            mujoco.mju_mulQuat(away, back, turn)
            place = np.empty(3)
            mujoco.mju_rotVecQuat(place, tip.xpos - base.xpos, back)
            p, q = poses[i][1].pose.position, poses[i][1].pose.orientation
            assert np.allclose([p.x, p.y, p.z], place, atol=1e-12)
            assert abs(np.dot([q.w, q.x, q.y, q.z], away)) == pytest.approx(1, abs=1e-12)
