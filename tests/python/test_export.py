"""`tendril export`: what a library reads back is what was recorded. A library that is not installed: skipped, but with
TENDRIL_TEST_EXTRAS in the environment only LeRobot's, which needs PyTorch."""

import csv
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import tendril as td

PROGRAM = Path(sys.executable).with_name("tendril")
EVERY = 5  # rows a step at 50 Hz


def tendril(*words: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)


def library(name: str) -> Any:
    return importlib.import_module(name) if os.environ.get("TENDRIL_TEST_EXTRAS") else pytest.importorskip(name)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "out"
    scene = td.share / "scenes/tube_insertion/tube_insertion.toml"
    assert tendril("run", scene, "--duration", "1", "--out", out, "--no-report", "--quiet").returncode in (0, 1)
    return out / "rollout.h5"


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "e.toml").write_text(
        f'scene = "{td.share}/scenes/tube_insertion/tube_insertion.xml"\nduration = 0.2\n'
        '[vary]\n"option.viscosity" = { uniform = [0, 5] }\n[sweep]\nseeds = 2\nrecord = "all"\n'
    )
    done = tendril("sweep", folder / "e.toml", "--out", folder / "out", "--no-report", "--quiet")
    assert done.returncode in (0, 1), done.stderr
    return folder / "out"


def export(source: Path, kind: str, out: Path, *options: Any) -> Path:
    done = tendril("export", source, "--to", kind, "-o", out, *options)
    assert done.returncode == 0, done.stderr
    assert not out.with_name(out.name + ".part").exists()
    return out


def expected(file: Path) -> tuple[dict[str, Any], Any, Any, int]:
    """Observations (n + 1), actions (n) and rewards (n) of a recording at 50 Hz, by the definition."""
    with td.Recording(file) as recording:
        n = (recording.rows - 1) // EVERY
        rows = EVERY * np.arange(n + 1)
        observations = {name: getattr(recording, name)[rows] for name in ("qpos", "qvel", "sensordata")}
        known = ~np.isnan(recording.sensordata).all(axis=0)
        assert not known.all()  # tendril.follow along a path has no `waypoint_error`
        observations["sensordata"] = observations["sensordata"][:, known]
        return observations, recording.ctrl[rows[:-1] + 1], -recording.sensor("arm_tip_error")[rows[1:]], n


def test_csv_has_every_number(file: Path, tmp_path: Path) -> None:
    with open(export(file, "csv", tmp_path / "own.csv")) as stream:
        header, *rows = list(csv.reader(stream))
    values = dict(zip(header, np.array(rows, float).T, strict=True))
    with td.Recording(file) as recording:
        assert header[:4] == ["step", "time", "step_time_us", "contacts"]
        assert np.array_equal(values["step"], recording.step) and np.array_equal(values["time"], recording.time)
        assert np.array_equal(values["contacts"], recording.contact_count)
        assert np.array_equal(values["sensordata.arm_tip_error"], recording.sensor("arm_tip_error"))
        for part in ("qpos", "qvel", "ctrl", "sensordata", "plugin_state"):
            columns = [values[name] for name in header if name.startswith(part + ".")]
            assert np.array_equal(np.transpose(columns), getattr(recording, part), equal_nan=True)
    with open(export(file, "csv", tmp_path / "thin.csv", "--fps", 50)) as stream:
        assert list(csv.reader(stream))[1:] == rows[::EVERY]


def test_npz_has_arrays_their_names_and_contacts(file: Path, tmp_path: Path) -> None:
    with np.load(export(file, "npz", tmp_path / "r.npz")) as arrays, td.Recording(file) as recording:
        for part in ("step", "time", "qpos", "qvel", "ctrl", "sensordata", "plugin_state"):
            assert np.array_equal(arrays[part], getattr(recording, part), equal_nan=True), part
        place = list(arrays["sensordata_names"]).index("sensordata.arm_tip_error")
        assert np.array_equal(arrays["sensordata"][:, place], recording.sensor("arm_tip_error"))
        row = int(np.argmax(recording.contact_count))
        start, count = arrays["contact_start"][row], arrays["contact_count"][row]
        assert np.array_equal(arrays["contact_force"][start : start + count], recording.contacts(row).force)


def test_the_former_command_names_this_one(file: Path, tmp_path: Path) -> None:
    done = tendril("rollout", "export", file, tmp_path / "x.csv")
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "tendril export" in done.stderr


def test_parquet(file: Path, tmp_path: Path) -> None:
    pq = library("pyarrow.parquet")
    table = pq.read_table(export(file, "parquet", tmp_path / "t.parquet"))
    with td.Recording(file) as recording:
        assert np.array_equal(table["time"].to_numpy(), recording.time)
        assert np.array_equal(table["sensordata.arm_tip_error"].to_numpy(), recording.sensor("arm_tip_error"))
        assert table.schema.metadata[b"outcome"] == b"done"


def test_a_sweep_is_a_file_a_run_or_one_data_set(sweep: Path, tmp_path: Path) -> None:
    out = export(sweep, "csv", tmp_path / "all")
    assert sorted(path.stem for path in out.iterdir()) == sorted(path.name for path in (sweep / "runs").iterdir())
    with h5py.File(export(sweep, "robomimic", tmp_path / "all.hdf5")) as data:
        assert sorted(data["data"]) == ["demo_0", "demo_1"] and data["data"].attrs["total"] == 200
        assert not np.array_equal(data["data/demo_0/states"], data["data/demo_1/states"])


def test_robomimic(file: Path, tmp_path: Path) -> None:
    observations, actions, rewards, n = expected(file)
    with h5py.File(export(file, "robomimic", tmp_path / "r.hdf5", "--fps", 50, "--reward=-arm_tip_error")) as data:
        demo = data["data/demo_0"]
        assert demo.attrs["num_samples"] == n == data["data"].attrs["total"]
        assert demo.attrs["model_file"].startswith("<mujoco") and json.loads(data["data"].attrs["env_args"])["env_name"]
        low, high = (data["data"].attrs[name] for name in ("action_low", "action_high"))
        assert np.abs(demo["actions"]).max() <= 1
        assert np.allclose(low + 0.5 * (demo["actions"][:] + 1) * (high - low), actions, atol=1e-12)
        assert np.array_equal(demo["rewards"], rewards)
        assert list(demo["dones"]) == [0] * (n - 1) + [1]
        for name, values in observations.items():
            assert np.array_equal(demo[f"obs/{name}"], values[:-1])
            assert np.array_equal(demo[f"next_obs/{name}"], values[1:])
        assert np.array_equal(demo["states"][:, 1 : 1 + observations["qpos"].shape[1]], observations["qpos"][:-1])


def test_minari(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minari = library("minari")
    out = export(file, "minari", tmp_path / "m", "--fps", 50, "--reward=-arm_tip_error")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(out))
    data = minari.load_dataset("tendril/tube_insertion-v0")
    observations, actions, rewards, n = expected(file)
    assert (data.total_episodes, data.total_steps) == (1, n)
    episode = next(data.iterate_episodes())
    assert np.array_equal(episode.actions, actions) and np.array_equal(episode.rewards, rewards)
    for name, values in observations.items():
        assert np.array_equal(episode.observations[name], values)
    assert not episode.terminations.any() and list(np.flatnonzero(episode.truncations)) == [n - 1]


def test_quantities_without_a_value_are_left_out_and_named(file: Path, tmp_path: Path) -> None:
    command = ("export", file, "--to", "robomimic", "--fps", 50)
    said = tendril(*command, "-o", tmp_path / "all.hdf5").stdout
    assert said.strip().endswith("left out, as they have no value: arm_waypoint_error")
    with h5py.File(tmp_path / "all.hdf5") as data:
        assert np.isfinite(data["data/demo_0/obs/sensordata"]).all()
    assert "left out" not in tendril(*command, "-o", tmp_path / "q.hdf5", "--observation", "qpos").stdout


def test_lerobot_has_the_files_of_version_3(file: Path, tmp_path: Path) -> None:
    pq = library("pyarrow.parquet")
    out = export(file, "lerobot", tmp_path / "l", "--fps", 50)
    observations, actions, _, n = expected(file)
    info = json.loads((out / "meta/info.json").read_text())
    assert (info["codebase_version"], info["fps"], info["total_episodes"], info["total_frames"]) == ("v3.0", 50, 1, n)
    data = pq.read_table(out / info["data_path"].format(chunk_index=0, file_index=0))
    assert set(data.column_names) == set(info["features"])
    state = np.concatenate(list(observations.values()), axis=1)[:-1]
    for name, values in (("observation.state", state), ("action", actions)):
        assert info["features"][name]["shape"] == [values.shape[1]] and info["features"][name]["dtype"] == "float32"
        assert np.array_equal(np.array(data[name].to_pylist(), np.float32), values.astype(np.float32))
        stats = json.loads((out / "meta/stats.json").read_text())[name]
        assert np.allclose(stats["mean"], values.astype(np.float32).astype(float).mean(axis=0)) and stats["count"] == [
            n
        ]
    assert len(info["features"]["observation.state"]["names"]) == state.shape[1]
    assert np.allclose(data["timestamp"].to_numpy(), np.arange(n) / 50)
    for name in ("frame_index", "index"):
        assert np.array_equal(data[name].to_numpy(), np.arange(n))
    episode = pq.read_table(out / "meta/episodes/chunk-000/file-000.parquet").to_pylist()[0]
    assert (episode["dataset_from_index"], episode["dataset_to_index"], episode["length"]) == (0, n, n)
    assert episode["tasks"] == ["tube_insertion"] and "stats/action/q50" in episode
    tasks = pq.read_table(out / "meta/tasks.parquet")
    assert tasks.to_pylist() == [{"task_index": 0, "__index_level_0__": "tube_insertion"}]
    assert json.loads(tasks.schema.metadata[b"pandas"])["index_columns"] == ["__index_level_0__"]


def test_lerobot_has_films(file: Path, tmp_path: Path) -> None:
    pq = library("pyarrow.parquet")
    out = export(file, "lerobot", tmp_path / "l", "--fps", 10, "--video")
    info = json.loads((out / "meta/info.json").read_text())
    key = "observation.images.scene"
    film = out / info["video_path"].format(video_key=key, chunk_index=0, file_index=0)
    said = subprocess.run(
        [
            "ffprobe",
            "-v",
            "error",
            "-count_frames",
            "-show_entries",
            "stream=codec_name,width,height,nb_read_frames",
            "-of",
            "json",
            film,
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    stream = json.loads(said.stdout)["streams"][0]
    height, width, _ = info["features"][key]["shape"]
    assert (stream["codec_name"], stream["width"], stream["height"]) == ("h264", width, height)
    assert int(stream["nb_read_frames"]) == info["total_frames"] == 10
    episode = pq.read_table(out / "meta/episodes/chunk-000/file-000.parquet").to_pylist()[0]
    assert episode[f"videos/{key}/to_timestamp"] == 1.0
    stats = json.loads((out / "meta/stats.json").read_text())[key]
    assert np.shape(stats["mean"]) == (3, 1, 1) and 0 < np.min(stats["std"]) < np.max(stats["max"]) <= 1
    done = tendril("export", file, "--to", "csv", "-o", tmp_path / "x.csv", "--video")
    assert done.returncode == 2 and done.stderr.startswith("tendril: --video: must be given with --to lerobot or robom")


WIDTH, HEIGHT = 160, 120


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of an arm with a camera at its tip."""
    folder = tmp_path_factory.mktemp("seen")
    section = "[[section]]\nconstant_length = 0.1\nbend_limit = 1.7\n"
    (folder / "arm.toml").write_text(
        'kind = "continuum"\nname = "arm"\n' + 2 * section + "[tip]\ncamera = true\n"
        '[controller]\nplugin = "tendril.reach"\n'
    )
    (folder / "scene.xml").write_text(
        '<mujoco><option timestep="0.002" integrator="discrete"/><asset><model name="arm" file="arm.toml"/></asset>'
        '<worldbody><attach model="arm" body="base" prefix="arm_"/>'
        '<camera name="side" pos="0.35 0 0.12" xyaxes="0 1 0 0 0 1"/>'
        '<light pos="0 0 1"/><geom type="box" size="0.05 0.05 0.02" pos="0.05 0 0.4" rgba="0.9 0.1 0.1 1"/>'
        '<body name="target" mocap="true" pos="0.09 0.05 0.12"/></worldbody></mujoco>'
    )
    done = tendril("run", folder / "scene.xml", "--duration", "0.4", "--out", folder / "out", "--no-report", "--quiet")
    assert done.returncode in (0, 1), done.stderr
    return folder / "out/rollout.h5"


def pictures(file: Path, camera: str, rows: range) -> Any:
    """What the camera sees of the bodies at these rows, at the states that the engine restores."""
    import mujoco

    from tendril import _sim

    with td.Recording(file) as recording:
        renderer = _sim.Renderer(recording.model, WIDTH, HEIGHT, camera)
        data, drawn = mujoco.MjData(recording.model), []  # no controller has drawn a plan into it
        for row in rows:
            state = recording.seek(row)
            data.qpos[:], data.mocap_pos[:] = state.qpos, state.mocap_pos
            mujoco.mj_fwdPosition(recording.model, data)
            drawn.append(renderer.render(data))
    return np.array(drawn)


CAMERAS = ("--camera", "arm_tip_camera", "--camera", "side", "--size", f"{WIDTH}x{HEIGHT}")


def test_lerobot_has_a_video_of_each_camera_with_a_frame_a_step(seen: Path, tmp_path: Path) -> None:
    pq = library("pyarrow.parquet")
    out = export(seen, "lerobot", tmp_path / "l", "--fps", 50, *CAMERAS)
    info = json.loads((out / "meta/info.json").read_text())
    data = pq.read_table(out / info["data_path"].format(chunk_index=0, file_index=0))
    episode = pq.read_table(out / "meta/episodes/chunk-000/file-000.parquet").to_pylist()[0]
    assert sorted(name for name in info["features"] if "images" in name) == [
        "observation.images.arm_tip_camera",
        "observation.images.side",
    ]
    for camera in ("arm_tip_camera", "side"):
        key = f"observation.images.{camera}"
        video = out / info["video_path"].format(video_key=key, chunk_index=0, file_index=0)
        assert info["features"][key]["shape"] == [HEIGHT, WIDTH, 3] and info["features"][key]["dtype"] == "video"
        asked = ["ffprobe", "-v", "error", "-show_entries", "frame=pts_time", "-of", "csv=p=0", video]
        times = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.replace(",", " ").split()
        assert np.allclose(np.array(times, float), data["timestamp"].to_numpy(), atol=1e-4)
        assert episode[f"videos/{key}/to_timestamp"] == pytest.approx(len(times) / 50)
        raw = ["ffmpeg", "-v", "error", "-i", video, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
        frames = np.frombuffer(subprocess.run(raw, capture_output=True, check=True).stdout, np.uint8)
        frames = frames.reshape(len(times), HEIGHT, WIDTH, 3).astype(float)
        wanted = pictures(seen, camera, range(0, 10 * len(times), 10)).astype(float)
        # Of 255: what the encoder loses; a frame too early or too late differs more.
        assert np.abs(frames - wanted).mean() < 3
        assert np.abs(frames - wanted)[:-1].mean() < np.abs(frames[:-1] - wanted[1:]).mean()
        assert np.abs(frames - wanted)[1:].mean() < np.abs(frames[1:] - wanted[:-1]).mean()


def test_robomimic_has_the_images_before_and_after_each_step(seen: Path, tmp_path: Path) -> None:
    with h5py.File(export(seen, "robomimic", tmp_path / "r.hdf5", "--fps", 50, *CAMERAS)) as data:
        demo = data["data/demo_0"]
        for camera in ("arm_tip_camera", "side"):
            now, after = demo[f"obs/{camera}_image"][:], demo[f"next_obs/{camera}_image"][:]
            assert now.shape == (demo.attrs["num_samples"], HEIGHT, WIDTH, 3) and now.dtype == np.uint8
            assert np.array_equal(now[1:], after[:-1])
            wanted = pictures(seen, camera, range(0, 10 * len(now) + 1, 10))
            assert np.array_equal(now, wanted[:-1]) and np.array_equal(after[-1], wanted[-1])


def test_without_opengl_images_are_refused_in_one_line(seen: Path, tmp_path: Path) -> None:
    words = ["export", seen, "--to", "robomimic", "-o", tmp_path / "r.hdf5", "--fps", "50", *CAMERAS]
    nothing = os.environ | {"__EGL_VENDOR_LIBRARY_FILENAMES": "/dev/null"}
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, env=nothing)
    assert done.returncode == 4 and "no OpenGL for images" in done.stderr and done.stderr.count("\n") == 1
    assert not os.listdir(tmp_path)


def test_lerobot_reads_it(file: Path, tmp_path: Path) -> None:
    lerobot = pytest.importorskip("lerobot.datasets.lerobot_dataset")
    data = lerobot.LeRobotDataset("tendril/test", root=export(file, "lerobot", tmp_path / "l", "--fps", 50))
    assert len(data) == expected(file)[3] and data[3]["task"] == "tube_insertion"


def test_mcap(file: Path, tmp_path: Path) -> None:
    reader = library("mcap.reader")
    frames, times = [], []
    with open(export(file, "mcap", tmp_path / "m.mcap"), "rb") as stream:
        for schema, channel, message in reader.make_reader(stream).iter_messages():
            content = json.loads(message.data)
            assert schema.encoding == "jsonschema" and set(content) <= set(json.loads(schema.data)["properties"])
            if channel.topic == "/tf":
                frames.append(content["transforms"])
                times.append(message.log_time)
            if channel.topic == "/scene":
                drawn = {
                    kind: sum(len(entity[kind]) for entity in content["entities"])
                    for kind in ("cylinders", "triangles")
                }
                assert drawn["cylinders"] >= 30 and drawn["triangles"] > 0  # the arm's links, the tube
    with td.Recording(file) as recording:
        assert np.allclose(np.array(times) * 1e-9, recording.time[::EVERY])
        data = recording.seek(EVERY * 7)
        import mujoco

        mujoco.mj_kinematics(recording.model, data)
        for transform in frames[7]:
            body = data.body(transform["child_frame_id"])
            assert np.allclose([transform["translation"][k] for k in "xyz"], body.xpos, atol=1e-12)
            assert abs(np.dot([transform["rotation"][k] for k in "wxyz"], body.xquat)) == pytest.approx(1, abs=1e-12)


def test_rrd(file: Path, tmp_path: Path) -> None:
    chunk = library("rerun.chunk")
    reader = chunk.RrdReader(export(file, "rrd", tmp_path / "r.rrd"))
    values: dict[str, list[float]] = {}
    shapes = set()
    for part in reader.stream():
        if part.is_static:
            shapes.add(part.entity_path)
        elif part.entity_path in ("/sensors/arm_tip_error", "/world/arm_s1_l1"):
            column = part.to_record_batch().columns[2]
            values.setdefault(part.entity_path, []).extend(np.array(column.flatten().to_pylist()).ravel().tolist())
    with td.Recording(file) as recording:
        assert values["/sensors/arm_tip_error"] == recording.sensor("arm_tip_error")[::EVERY].tolist()
        assert len(values["/world/arm_s1_l1"]) % len(recording.time[::EVERY]) == 0
    assert "/world/arm_s1_l1/arm_s1_l1" in shapes and len(shapes) > 30


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--to", "zip"], "--to: zip: must be one of parquet, csv, npz, mcap, rrd, rosbag, minari, lerobot, robomimic"),
        (["--to", "csv", "--fps", "0"], "--fps: 0: must be in (0, 250]"),
        (["--to", "csv", "--fps", "300"], "--fps: 300: must be in (0, 250]"),
        (["--to", "csv", "--fps", "60"], "--fps: 60: must be 250 divided by a whole number, such as 62.5"),
        (
            ["--to", "csv", "--reward", "-arm_tip_error"],
            "argument --reward: expected one argument: a value that begins ",
        ),
        (["--to", "csv", "--camera", "x"], "--camera: must be given with --to lerobot or robomimic"),
        (["--to", "robomimic", "--size", "64x48"], "--size: must be given with --camera or --video"),
        (["--to", "robomimic", "--video", "--size", "65x48"], "--size: 65x48: must be WIDTHxHEIGHT of even numbers"),
        (["--to", "robomimic", "--camera", "x"], "--camera: x: must be a camera of the scene; it has "),
        (["--to", "robomimic", "--action", "x"], "--action: x: must be ctrl or command"),
        (["--to", "robomimic", "--observation", "x"], "--observation: x: must be one of qpos, "),
        (["--to", "robomimic", "--reward", "x"], "--reward: x: must be one of wall_force, arm_status, "),
    ],
)
def test_bad_options_are_one_line_and_write_nothing(file: Path, options: list[str], line: str, tmp_path: Path) -> None:
    done = tendril("export", file, "-o", tmp_path / "out", *options)
    assert done.returncode == 2 and done.stderr.startswith(f"tendril: {line}") and done.stderr.count("\n") == 1
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("kind", ["csv", "npz", "robomimic", "parquet", "mcap", "rrd"])
def test_only_what_an_export_has_written_is_replaced(file: Path, kind: str, tmp_path: Path) -> None:
    if module := {"parquet": "pyarrow", "mcap": "mcap", "rrd": "rerun"}.get(kind):
        library(module)
    out = export(file, kind, tmp_path / "out", "--quiet")
    assert "(an earlier file is replaced)" in tendril("export", file, "--to", kind, "-o", out).stdout
    other = tmp_path / "other"
    for content in (b"mine", file.read_bytes(), b"PK\x03\x04 mine"):
        other.write_bytes(content)
        done = tendril("export", file, "--to", kind, "-o", other)
        told = f"tendril: {other}: exists, and no export to {kind} has written it: must be another file, or removed"
        assert (done.returncode, done.stderr) == (2, told + " [output-exists]\n")
        assert other.read_bytes() == content


def test_a_second_name_is_the_output(file: Path, tmp_path: Path) -> None:
    done = tendril("export", file, "x.csv")
    assert done.stderr == "tendril: x.csv: must be given with its format: --to FORMAT -o x.csv [missing-option]\n"
    done = tendril("export", file)
    assert done.stderr == "tendril: the following arguments are required: --to, -o/--output [missing-option]\n"


def test_the_folder_of_a_run_has_its_recording(file: Path, tmp_path: Path) -> None:
    done = tendril("export", file.parent, "--to", "csv", "-o", tmp_path / "x.csv")
    assert (
        done.stderr
        == f"tendril: {file.parent}: is the folder of one run: its recording is {file} [wrong-kind-of-file]\n"
    )


def test_a_run_without_actions_is_no_data_set(tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text(
        "<mujoco><worldbody><body><freejoint/><geom size='0.1'/></body></worldbody></mujoco>"
    )
    assert (
        tendril(
            "run", tmp_path / "s.xml", "--duration", "0.1", "--out", tmp_path / "o", "--no-report", "--quiet"
        ).returncode
        == 0
    )
    done = tendril("export", tmp_path / "o/rollout.h5", "--to", "robomimic", "-o", tmp_path / "out.hdf5")
    assert done.returncode == 2 and done.stderr.endswith("ctrl: has none: a data set needs actions [bad-input]\n")
    assert not (tmp_path / "out.hdf5").exists()


@pytest.mark.parametrize("blocks", [1, 20, 100])
def test_a_full_disk_is_one_line(file: Path, tmp_path: Path, blocks: int) -> None:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (blocks * 1024, blocks * 1024))

    command = [Path(sys.executable).with_name("tendril"), "export", file, "--to", "robomimic", "-o", tmp_path / "x.h5"]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)
    assert done.returncode == 4 and done.stderr.count("\n") == 1 and "could not be written" in done.stderr
    assert not list(tmp_path.iterdir())


def sweep_and_export(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "e.toml").write_text(
        f'scene = "{td.share}/scenes/reach/reach.xml"\nduration = 0.1\n'
        '[vary]\n"option.viscosity" = { uniform = [0, 5] }\n[[check]]\nmetric = "tip_error_max"\nmax = 1\n'
    )
    return tendril("sweep", folder / "e.toml", "--out", folder / "out", "--no-report", *options)


def test_a_sweep_exports_what_export_makes_of_its_folder(tmp_path: Path) -> None:
    done = sweep_and_export(tmp_path, "--seeds", "7-8", "--export", "robomimic --fps 50 --reward=-arm_tip_error")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith(str(tmp_path / "out/robomimic.hdf5"))
    again = export(tmp_path / "out", "robomimic", tmp_path / "again.hdf5", "--fps", 50, "--reward=-arm_tip_error")
    with h5py.File(tmp_path / "out/robomimic.hdf5") as own, h5py.File(again) as other:
        assert sorted(own["data"]) == ["demo_0", "demo_1"]
        for demo in own["data"]:
            for name in ("actions", "rewards", "states"):
                assert np.array_equal(own["data"][demo][name], other["data"][demo][name])
    with open(tmp_path / "out/runs.csv") as stream:
        assert sorted(row["seed"] for row in csv.DictReader(stream)) == ["7", "8"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--export", "lerobt"], "--to: lerobt: must be one of parquet"),
        (["--export", "csv --fps x"], "--fps: x: must be a number"),
        (["--export", "csv --video"], "--video: must be given with --to lerobot"),
        (["--export", "csv '"], "--export: csv ': No closing quotation"),
        (["--export", "csv", "--shard", "0/2"], "--export: must be of one whole sweep"),
        (["--export", "csv", "--seeds", "8-7"], "--seeds: 8-7: must be FIRST-LAST with FIRST <= LAST"),
    ],
)
def test_a_wrong_export_of_a_sweep_is_refused_before_the_first_run(
    tmp_path: Path, options: list[str], said: str
) -> None:
    done = sweep_and_export(tmp_path, "--seeds", "2", *options)
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
