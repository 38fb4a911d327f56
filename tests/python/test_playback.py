"""The page of `tendril play`: its poses are those of the engine, and it loads nothing. The browser: play_test.py."""

import base64
import json
import re
import subprocess
import sys
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import mujoco
import numpy as np
import pytest

import tendril as td

PROGRAM = Path(sys.executable).with_name("tendril")
LARGEST = {"tube_insertion": 100_000, "youbot_clutter": 250_000}  # bytes


def unpacked(page: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns what the page decodes: content and arrays of shape (channels, n)."""
    found = re.search(r'id="data">([^<]*)<', page)
    assert found
    whole = zlib.decompress(base64.b64decode(found[1]))
    at = 4 + int.from_bytes(whole[:4], "little")
    content, arrays = json.loads(whole[4:at]), {}
    for name, (kind, channels, n, order) in content["arrays"].items():
        width, count = int(kind[1]), channels * n
        planes = np.frombuffer(whole, np.uint8, width * count, at).reshape(width, count).astype(np.int64)
        values = sum(plane << (8 * k) for k, plane in enumerate(planes))
        if order:
            values = np.where(values % 2, -(values + 1) // 2, values // 2)
        values = values.reshape(channels, n)
        for _ in range(order):
            values = np.cumsum(values, axis=1)
        values = (values % 2 ** (8 * width)).astype(f"<u{width}")
        arrays[name] = values.view("<f4") if kind[0] == "f" else values
        at += width * count
    assert at == len(whole)
    return content, arrays


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The recording of a scene of the package."""

    @cache
    def recorded(name: str) -> Path:
        out = tmp_path_factory.mktemp("run") / name
        options = ["--duration", "1"] if name == "snake_obstacles" else []
        subprocess.run(
            [PROGRAM, "run", td.share / f"scenes/{name}/{name}.toml", "--out", out, "--no-report", "--quiet", *options],
            capture_output=True,
        )
        return out / "rollout.h5"

    return recorded


@pytest.mark.parametrize("name", ["tube_insertion", "youbot_clutter", "snake_obstacles"])
def test_poses_are_those_of_the_engine_and_the_page_is_small(name: str, record: Callable[[str], Path]) -> None:
    with td.Recording(record(name)) as recording:
        page = recording.to_html()
        content, arrays = unpacked(page)
        assert len(page.encode()) <= LARGEST.get(name, 500_000)
        model, data = recording.model, mujoco.MjData(recording.model)
        ticks = arrays["tick"][0]
        assert len(ticks) == round(50 * recording.time[-1]) + 1
        low, high = np.array(content["low"]), np.array(content["high"])
        frames = np.random.default_rng(1).choice(len(ticks), 20)
        # Moving bodies in the order of the model, as far as something of them is seen.
        bodies = [
            body for body in range(1, model.nbody) if model.body_weldid[body] != 0 or model.body_mocapid[body] >= 0
        ]
        seen = set(model.geom_bodyid[(model.geom_group <= 2) & (model.geom_rgba[:, 3] > 0.01)]) | set(model.cam_bodyid)
        bodies = [body for body in bodies if body in seen]
        assert content["bodies"] == len(bodies)
        for frame in frames:
            row = int(ticks[frame])
            data.qpos[:] = recording.qpos[row]
            if model.nmocap:
                data.mocap_pos[:], data.mocap_quat[:] = recording.mocap_pos[row], recording.mocap_quat[row]
            mujoco.mj_kinematics(model, data)
            place = low + (high - low) * arrays["position"][:, frame].reshape(-1, 3) / 65535
            assert np.abs(place - data.xpos[bodies]).max() <= np.max(high - low) / 65535
            quat = arrays["rotation"][:, frame].reshape(-1, 4) / 65535 * 2 - 1
            quat /= np.linalg.norm(quat, axis=1, keepdims=True)
            side = np.sign(np.sum(quat * data.xquat[bodies], axis=1))[:, None]  # both are the same rotation
            apart = np.linalg.norm(side * quat - data.xquat[bodies], axis=1)
            assert (4 * np.arcsin(apart / 2)).max() <= 1e-4  # rad


def test_contacts_have_their_points_and_forces_in_the_world(record: Callable[[str], Path]) -> None:
    with td.Recording(record("snake_obstacles")) as recording:
        content, arrays = unpacked(recording.to_html(fps=50))
        counts, ticks = arrays["contact_count"][0], arrays["tick"][0]
        low, high = np.array(content["contact_low"]), np.array(content["contact_high"])
        frame = int(np.flatnonzero(counts)[-1])
        first = int(counts[:frame].sum())
        data, found = recording.seek(int(ticks[frame])), recording.contacts(int(ticks[frame]))
        n = int(counts[frame])
        assert n == len(found.row)
        point = low + (high - low) * arrays["contact_point"].T[first : first + n] / 4095
        assert np.abs(point - found.position).max() <= np.max(high - low) / 4095
        root = np.sqrt(content["force"])
        signed = (arrays["contact_force"].T[first : first + n] / 511 - 1) * root
        force = signed * np.abs(signed)
        for k in range(n):
            world = data.contact.frame[k].reshape(3, 3).T @ found.force[k]
            away = min(np.linalg.norm(force[k] - world), np.linalg.norm(force[k] + world))
            assert away <= 0.01 * content["force"] + 0.01


def test_the_page_loads_nothing_and_may_not(record: Callable[[str], Path]) -> None:
    with td.Recording(record("tube_insertion")) as recording:
        page = recording.to_html()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy and policy[1].startswith("default-src 'none'; script-src 'sha256-") and "unsafe" not in policy[1]
    assert not re.search(r"\b(src|href)=|https?:|@import|url\(", page)


def test_controllers_need_not_be_loaded_to_look_at_what_they_did(tmp_path: Path, record: Callable[[str], Path]) -> None:
    file = tmp_path / "other.h5"
    file.write_bytes(record("tube_insertion").read_bytes())
    with h5py.File(file, "r+") as changed:
        del changed["rollout_0/texts/plugins"]
        changed["rollout_0/texts"].create_dataset("plugins", data=np.array([b"nobody.knows"]))
    with td.Recording(file) as recording:
        assert unpacked(recording.to_html())[0]["bodies"] == 31
        with pytest.raises(
            td.ModelError, match="other.h5: recording: plugin = nobody.knows: not loaded: give its library"
        ):
            recording.model  # noqa: B018


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--fps", "0"], "--fps: 0: must be in (0, 250]"),
        (["--fps", "251"], "--fps: 251: must be in (0, 250]"),
        (["--fps", "x"], "--fps: x: must be a number"),
        (["--from", "9"], "--from: 9: must be in [0, 8.2] s"),
        (["--from", "5", "--to", "2"], "--from: 5: must be before --to, 2 s"),
        (["-o", "a.png"], 'a.png: extension: ".png": must be .html'),
    ],
)
def test_bad_options_are_one_line_and_write_nothing(
    options: list[str], line: str, tmp_path: Path, record: Callable[[str], Path]
) -> None:
    file = record("tube_insertion")
    result = subprocess.run([PROGRAM, "play", file, *options], capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 2
    assert re.fullmatch(re.escape(f"tendril: {line}") + r" \[[a-z-]+\]\n", result.stderr)
    assert not (file.parent / "play.html").exists() and not list(tmp_path.iterdir())


def test_a_part_of_a_recording(tmp_path: Path, record: Callable[[str], Path]) -> None:
    with td.Recording(record("tube_insertion")) as recording:
        page = recording.to_html(tmp_path / "part.html", fps=20, start=0.2, end=0.5)
        assert (tmp_path / "part.html").read_text() == page
        content, arrays = unpacked(page)
        times = content["start"] + arrays["tick"][0] * content["timestep"]
        assert np.allclose(times, np.arange(0.2, 0.51, 0.05), atol=content["timestep"])
