"""Bags: what `rosbags` reads of an export is what was recorded; what it writes is read; damaged bags are one line.

Without the library only what needs none is tested; TENDRIL_TEST_EXTRAS in the environment demands it.
"""

import importlib
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tendril as td
from tendril._command import require_module
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


def scene_of(recording: Path) -> Path:
    own = recording.parent.parent / "scene.xml"
    return own if own.exists() else ARM


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


def test_a_missing_library_is_one_line_with_its_command() -> None:
    with pytest.raises(td.ModelError) as error:
        require_module("no_such_module", "rosbag", "import")
    assert str(error.value) == (
        "import: Python module no_such_module is missing: pip install no_such_module, or with all others "
        '"tendril-mujoco[rosbag]"'
    )


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


@pytest.mark.parametrize("kind", ["arm", "snake"])
def test_out_and_in_gives_the_same_bits(
    kind: str, request: pytest.FixtureRequest, rosbags: Any, tmp_path: Path
) -> None:
    """At the times of its messages each number is the recorded one; between them it is held."""
    file = request.getfixturevalue(kind)
    assert tendril("export", file, "--to", "rosbag", "-o", tmp_path / "bag").returncode == 0
    done = tendril("import", tmp_path / "bag", scene_of(file), "--out", tmp_path / "log")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    with td.Recording(file) as recording, td.Recording(tmp_path / "log/rollout.h5") as log:
        assert log.is_log and not recording.is_log
        assert np.abs(log.time - recording.time).max() < 1e-9
        assert [s["name"] for s in log.tables["sensors"]] == [s["name"] for s in recording.tables["sensors"]]
        rows, slower = np.arange(log.rows), 0
        for channel in channels(recording).values():
            if channel.site:
                continue
            meant, found = channel.values(recording, rows), channel.values(log, rows)
            at = rows if channel.every_row else message_rows(meant)
            held = at[np.searchsorted(at, rows, "right") - 1]
            assert found[at].tobytes() == meant[at].tobytes(), channel.topic
            assert found.tobytes() == meant[held].tobytes(), channel.topic
            assert np.allclose(found, meant, rtol=0, atol=1e-14, equal_nan=True), channel.topic
            slower += 1 < len(at) < len(rows) // 2
        assert slower >= 2


def test_commands_read_the_recording_of_a_bag(arm: Path, bag: Path, tmp_path: Path) -> None:
    assert tendril("import", bag, ARM, "--out", tmp_path, "--quiet").stdout == ""
    log = tmp_path / "rollout.h5"
    assert tendril("play", log).returncode == 0
    assert tendril("rollout", "verify", log).returncode == 0
    assert tendril("export", log, "--to", "csv", "-o", tmp_path / "log.csv", "--fps", "50").returncode == 0
    done = tendril("compare", arm, log, "-o", tmp_path / "c.html")
    assert done.returncode == 0 and "sensordata arm_tracker_orientation" in done.stdout  # by rounding, between samples
    for words, line in (
        (["rollout", "replay", log], "was stepped by a robot (bag): replay needs steps of MuJoCo"),
        (["export", log, "--to", "robomimic", "-o", tmp_path / "r", "--reward", "wall_force"], "has no contacts"),
    ):
        done = tendril(*words)
        assert done.returncode == 2 and line in done.stderr and done.stderr.count("\n") == 1, done.stderr
    with td.Recording(log) as recording, pytest.raises(td.RecordingError, match="has no states of the engine"):
        recording.seek(3)


# ---- bags of others -------------------------------------------------------------------------------------------------

EPOCH = 1_790_000_000 * NS


class Writing:
    """A bag as a node of the robot would write it, with the library's own types."""

    def __init__(self, folder: Path, storage: str = "MCAP") -> None:
        rosbag2 = importlib.import_module("rosbags.rosbag2")
        typesys = importlib.import_module("rosbags.typesys")
        self.store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
        self.writer = rosbag2.Writer(folder, version=9, storage_plugin=getattr(rosbag2.StoragePlugin, storage))
        self.connections: dict[str, Any] = {}

    def __enter__(self) -> "Writing":
        self.writer.open()
        return self

    def __exit__(self, *_: Any) -> None:
        self.writer.close()

    def header(self, stamp: int, frame: str = "arm") -> Any:
        types = self.store.types
        return types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](stamp // NS, stamp % NS), frame)

    def write(self, topic: str, kind: str, log_time: int, *content: Any) -> None:
        if topic not in self.connections:
            self.connections[topic] = self.writer.add_connection(topic, kind, typestore=self.store)
        data = self.store.serialize_cdr(self.store.types[kind](*content), kind)
        self.writer.write(self.connections[topic], log_time, data)

    def pose(self, topic: str, stamp: int, place: Any, turn: Any = (0.0, 0.0, 0.0, 1.0), frame: str = "arm") -> None:
        types = self.store.types
        p, q = types["geometry_msgs/msg/Point"](*place), types["geometry_msgs/msg/Quaternion"](*turn)
        pose = types["geometry_msgs/msg/Pose"](p, q)
        self.write(topic, POSE, stamp + 3_000_000, self.header(stamp, frame), pose)

    def joints(self, topic: str, stamp: int, names: list[str], position: Any, later: int = 3_000_000) -> None:
        arrays = np.array(position, float), np.empty(0), np.empty(0)
        self.write(topic, JOINTS, stamp + later, self.header(stamp), names, *arrays)


@pytest.mark.parametrize("storage", ["MCAP", "SQLITE3"])
def test_a_log_of_a_robot_is_read(rosbags: Any, storage: str, tmp_path: Path) -> None:
    """A tracker at 40 Hz, encoders at 100 Hz in another order and not all, on a clock of its own."""
    with Writing(tmp_path / "bag", storage) as writing:
        for k in range(200):
            stamp = EPOCH + k * 10_000_000
            writing.joints("/arm/encoder", stamp, ["t3", "t1"], [0.3 + k, 0.1 + k])
        for k in range(80):
            stamp = EPOCH + 5_000_001 + k * 25_000_000
            writing.pose("/em/tip", stamp, (k, 2.0, 3.0), (0.1, 0.2, 0.3, 0.9))
    words = ["import", tmp_path / "bag", ARM, "--out", tmp_path / "log", "--remap", "/em/tip:=/arm/tracker"]
    done = tendril(*words)
    assert (done.returncode, done.stderr) == (0, "")
    log = tmp_path / "log/rollout.h5"
    assert done.stdout == f"{log}: 280 rows, 1.99 s, 4 sensors\n"
    names = ["arm_tracker_position", "arm_tracker_orientation", "arm_encoder_t1", "arm_encoder_t3"]
    with td.Recording(log) as recording:
        assert [s["name"] for s in recording.tables["sensors"] if s["name"]] == [f"{name}_reading" for name in names]
        one, three = recording.sensor("arm_encoder_t1_reading"), recording.sensor("arm_encoder_t3_reading")
        place, turn = (recording.sensor(f"{name}_reading") for name in names[:2])
        for i, time in enumerate(np.rint(recording.time * NS).astype(int)):
            k, j = time // 10_000_000, (time - 5_000_001) // 25_000_000
            assert (one[i], three[i]) == (0.1 + k, 0.3 + k)
            if j < 0:
                assert np.isnan(place[i]).all()  # no message yet
            else:
                assert place[i].tolist() == [j, 2, 3] and turn[i].tolist() == [0.9, 0.1, 0.2, 0.3]
        with pytest.raises(td.ModelError, match="arm_tip_error: must be one of arm_tracker_position_reading"):
            recording.sensor("arm_tip_error")
    assert tendril("export", log, "--to", "rosbag", "-o", tmp_path / "again").returncode == 0
    last = messages(tmp_path / "again", "/arm/encoder")[-1][1]
    assert (last.name, last.position.tolist(), stamp_of(last)) == (["t1", "t3"], [199.1, 199.3], 1_990_000_000)
    for words, line in (
        (["play", log], "joint arm_s1_l1_x: the log has no position at 0 s: showing it needs messages of all joints"),
        (["plot", log, "arm_tip_error", "-o", tmp_path / "x.png"], "arm_tip_error: must match one of arm_tracker_posi"),
        (["plot", log, "wall_force", "-o", tmp_path / "x.png"], "wall_force: must match one of arm_tracker_position"),
        (["export", log, "--to", "csv", "-o", tmp_path / "x.csv", "--fps", "50"], "its rows are not evenly spaced"),
    ):
        done = tendril(*words)
        assert done.returncode == 2 and line in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not (tmp_path / "x.png").exists()


def test_a_robot_file_alone_has_the_topics_of_the_model(bag: Path, tmp_path: Path) -> None:
    robot = td.share / "scenes/sensors/arm.toml"
    done = tendril("import", bag, robot, "--out", tmp_path / "log")
    assert (done.returncode, done.stderr) == (0, "")
    with td.Recording(tmp_path / "log/rollout.h5") as recording:
        assert "tracker_position_reading" in [sensor["name"] for sensor in recording.tables["sensors"]]


def test_rows_are_evenly_spaced_with_a_timestep(rosbags: Any, tmp_path: Path) -> None:
    with Writing(tmp_path / "bag") as writing:
        for k in range(50):
            writing.joints("/arm/encoder", EPOCH + k * 10_000_000 + (k % 3) * 1_000_000, ["t1"], [k])
    words = ["import", tmp_path / "bag", ARM, "--out", tmp_path / "log", "--timestep"]
    assert tendril(*words, "0.005").returncode == 0
    with td.Recording(tmp_path / "log/rollout.h5") as recording:
        assert np.allclose(recording.time, 0.005 * np.arange(99), atol=1e-12)
        times = np.array([10 * k + k % 3 for k in range(50)])
        expected = [np.flatnonzero(times <= 5 * i)[-1] for i in range(99)]
        assert recording.sensor("arm_encoder_t1_reading").tolist() == expected


def test_gaps_and_other_topics_are_notices(rosbags: Any, tmp_path: Path) -> None:
    with Writing(tmp_path / "bag") as writing:
        for k in [*range(20), *range(80, 100)]:
            writing.joints("/arm/encoder", EPOCH + k * 10_000_000, ["t1"], [k])
        writing.joints("/arm/encoders", EPOCH, ["t1"], [0])
    done = tendril("import", tmp_path / "bag", ARM, "--out", tmp_path / "log")
    left_out, gap = done.stderr.splitlines()
    assert left_out.endswith(
        "/arm/encoders: is left out: the scene has no such topic (did you mean /arm/encoder?) [topic-left-out]"
    )
    assert gap.endswith(
        "/arm/encoder: at 1790000000.19 s: no message for 0.61 s, usual are 0.01 s: the values before "
        "are held [topic-has-gap]"
    )
    assert done.returncode == 0


Damage = Callable[[Writing], Any]
AT = EPOCH + NS // 2


def go_back(w: Writing) -> None:
    w.joints("/arm/encoder", AT, ["t1"], [0])
    w.joints("/arm/encoder", AT - 20_000_000, ["t1"], [0], later=30_000_000)


DAMAGES: dict[str, tuple[Damage, str]] = {
    "clock": (
        go_back,
        "/arm/encoder: at 1790000000.48 s: stamp: must be after that of the message before, 1790000000.5",
    ),
    "frame": (
        lambda w: w.pose("/arm/tracker", AT, (0.0, 0.0, 0.0), frame="world"),
        '/arm/tracker: at 1790000000.5 s: frame_id: "world": must be "arm"',
    ),
    "type": (
        lambda w: w.joints("/arm/tracker", AT, ["t1"], [0]),
        f"/arm/tracker: has messages of {JOINTS}: must be {POSE}",
    ),
    "name": (
        lambda w: w.joints("/arm/encoder", AT, ["t1", "t9"], [0, 0]),
        "/arm/encoder: at 1790000000.5 s: name: t9: must be one of t1, t2, t3, t4, t5, t6, once",
    ),
    "twice": (
        lambda w: w.joints("/arm/encoder", AT, ["t1", "t1"], [0, 0]),
        "/arm/encoder: at 1790000000.5 s: name: t1: must be one of t1, t2, t3, t4, t5, t6, once",
    ),
    "numbers": (
        lambda w: w.joints("/arm/encoder", AT, ["t1", "t2"], [0]),
        "/arm/encoder: at 1790000000.5 s: position: has 1 numbers, must be 2, one a name, or none",
    ),
    "topics": (
        lambda w: w.joints("/joints", AT, ["t1"], [0]),
        "has no topic of the scene: must have one of /arm/joint_states, ",
    ),
    "no stamp": (
        lambda w: [w.joints("/arm/encoder", stamp, ["t1"], [0]) for stamp in (0, AT)],
        "/arm/encoder: at 0 s: stamp: must be at most 1e+08 s before the last, 1790000000.5 s",
    ),
    "times": (lambda w: w.joints("/arm/encoder", AT, ["t1"], [0]), "has messages of 1 times: must have two"),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_wrong_bags_are_one_line(rosbags: Any, kind: str, tmp_path: Path) -> None:
    damage, line = DAMAGES[kind]
    with Writing(tmp_path / "bag") as writing:
        damage(writing)
    done = tendril("import", tmp_path / "bag", ARM, "--out", tmp_path / "log")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"tendril: {tmp_path}/bag: {line}"), done.stderr
    assert not (tmp_path / "log").exists()


def test_what_is_no_bag_is_one_line(rosbags: Any, bag: Path, tmp_path: Path) -> None:
    (tmp_path / "text.mcap").write_text("no bag")
    (tmp_path / "empty").mkdir()
    shutil.copytree(bag, tmp_path / "without")
    (tmp_path / "without/bag.mcap").unlink()
    for name in ("text.mcap", "empty", "without", "missing"):
        done = tendril("import", tmp_path / name, ARM, "--out", tmp_path / "log")
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        assert done.stderr.startswith(f"tendril: {tmp_path / name}: "), done.stderr


@pytest.mark.parametrize("seed", range(30))
def test_a_damaged_file_is_read_or_refused(rosbags: Any, bag: Path, seed: int, tmp_path: Path) -> None:
    """Bytes are changed or the end is cut off: no other exception, no file left."""
    from tendril.rosbag.log import import_bag

    random = np.random.default_rng(seed)
    data = bytearray((bag / "bag.mcap").read_bytes())
    if seed % 3 == 0:
        del data[int(random.integers(len(data))) :]
    else:
        for place in random.integers(len(data) if seed % 3 == 1 else 4000, size=8):
            data[place] = int(random.integers(256))
    (tmp_path / "bag.mcap").write_bytes(data)
    try:
        import_bag(tmp_path / "bag.mcap", ARM, tmp_path / "log.h5")
    except td.ModelError as error:
        assert str(error).startswith(f"{tmp_path}/bag.mcap: ") and "\n" not in str(error)
        assert [file.name for file in tmp_path.iterdir()] == ["bag.mcap"]


def test_a_recording_of_a_run_is_not_replaced(bag: Path, arm: Path, tmp_path: Path) -> None:
    shutil.copy(arm, tmp_path / "rollout.h5")
    done = tendril("import", bag, ARM, "--out", tmp_path)
    line = f"tendril: {tmp_path}/rollout.h5: exists, and no import has written it: must be another folder ["
    assert done.returncode == 2 and done.stderr.startswith(line) and done.stderr.count("\n") == 1
    assert (tmp_path / "rollout.h5").read_bytes() == arm.read_bytes()
    for _ in range(2):
        assert tendril("import", bag, ARM, "--out", tmp_path / "log").returncode == 0


@pytest.mark.parametrize("blocks", [100, 200])
def test_a_full_disk_is_one_line(bag: Path, blocks: int, tmp_path: Path) -> None:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (blocks * 1024, blocks * 1024))

    words = [PROGRAM, "import", bag, ARM, "--out", tmp_path / "log"]
    done = subprocess.run(words, capture_output=True, text=True, preexec_fn=limit)
    assert done.returncode == 4 and done.stderr.count("\n") == 1 and "could not be written" in done.stderr, done.stderr
    assert not (tmp_path / "log").exists() or not list((tmp_path / "log").iterdir())


def test_bad_options_are_one_line(rosbags: Any, bag: Path, tmp_path: Path) -> None:
    for words, line in (
        (["--remap", "a=b"], "--remap: a=b: must be FROM:=TO, two topics such as /imu/data:=/arm/imu"),
        (["--remap", "/a:=/arm/imu"], "--remap: /a: must be a topic of the bag"),
        (["--timestep", "x"], "--timestep: x: must be a number in [1e-9, 1000] s"),
        (["--timestep", "0"], "--timestep: 0: must be a number in [1e-9, 1000] s"),
        (["--timestep", "1e-9"], "--timestep: 1e-09: makes 600000001 rows: must be at most 10000000"),
    ):
        done = tendril("import", bag, ARM, "--out", tmp_path / "log", *words)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        assert done.stderr.startswith(f"tendril: {line} ["), done.stderr
