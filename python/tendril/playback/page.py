"""A recording as one HTML page with its own renderer (`player.js`)."""

from __future__ import annotations

import base64
import hashlib
import html
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tendril._errors import ModelError, RecordingError
from tendril._files import write_page
from tendril._recorded import RecordedRun
from tendril._terminal import visible
from tendril.playback.blob import Blob, quantized, rounded
from tendril.playback.scene import RecordedScene

Array = npt.NDArray[Any]


def _frame_rows(recording: RecordedRun, fps: float, start: float | None, end: float | None) -> Array:
    """Rows of the frames: those nearest to multiples of 1 / fps."""
    recording.require_rows()
    time = recording.time
    highest = 1.0 / float(recording.attributes["timestep"])
    if not 0 < fps <= highest * (1 + 1e-9):
        raise ModelError(f"--fps: {fps:g}: must be in (0, {highest:g}]")
    first, last = float(time[0]), float(time[-1])
    begin, stop = first if start is None else start, last if end is None else end
    for name, value in (("--from", begin), ("--to", stop)):
        if not first - 1e-9 <= value <= last + 1e-9:
            raise ModelError(f"{name}: {value:g}: must be in [{first:g}, {last:g}] s")
    if begin > stop or (begin == stop and first < last):
        raise ModelError(f"--from: {begin:g}: must be before --to, {stop:g} s")
    if (stop - begin) * fps > 100 * len(time) + 1e6:
        raise RecordingError(f"{recording.file}: time: has gaps that no run leaves: choose --from, --to or --fps")
    moments = np.append(np.arange(begin, stop - 0.01 / fps, 1.0 / fps), stop)
    after = np.clip(np.searchsorted(time, moments), 1, max(1, len(time) - 1))
    if len(time) == 1:
        return np.zeros(1, int)
    return np.unique(np.where(time[after] - moments < moments - time[after - 1], after, after - 1))


def page(recording: RecordedRun, fps: float = 50.0, start: float | None = None, end: float | None = None) -> str:
    """The page. Throws ModelError for times out of range, RecordingError."""
    rows = _frame_rows(recording, fps, start, end)
    scene, blob = RecordedScene(recording, rows), Blob()
    content: dict[str, Any] = {
        "title": recording.texts.get("experiment_name") or recording.file.stem,
        "outcome": recording.attributes["outcome"],
        "timestep": float(recording.attributes["timestep"]),
        "start": float(recording.time[0]),
        "extent": float(scene.model.stat.extent),
        "center": rounded(scene.model.stat.center),
    }
    low, high = np.zeros(3), np.ones(3)
    ticks = np.rint((recording.time[rows] - recording.time[0]) / content["timestep"])
    blob.add("tick", ticks[None].astype(np.uint32), 2)
    if len(scene.moving):
        low, high = scene.positions.min(axis=(0, 1)), scene.positions.max(axis=(0, 1))
        blob.add_smaller("position", quantized(scene.positions, low, high).reshape(len(rows), -1).T)
        blob.add_smaller("rotation", quantized(scene.quaternions, -1.0, 1.0).reshape(len(rows), -1).T)
    content |= {"bodies": len(scene.moving), "low": rounded(low), "high": rounded(high)}
    margin = 0.5 * np.linalg.norm(high - low) + 0.1 * content["extent"]
    content |= {"contact_low": rounded(low - margin), "contact_high": rounded(high + margin)}
    content |= scene.geometry(blob)
    content |= scene.contacts(blob, low - margin, high + margin)
    content |= {"cameras": scene.cameras(), "plots": scene.plots(blob), "drawings": scene.drawings(blob)}
    content["faults"] = [
        {"name": fault["name"], "start": fault["start"], "end": fault["end"] if math.isfinite(fault["end"]) else None}
        for fault in recording.faults
    ]
    seed = recording.attributes.get("seed")
    subtitle = f"seed {seed}, " if seed is not None else ""
    return _html(
        str(content["title"]),
        f"{subtitle}{recording.time[rows[0]]:.4g} to {recording.time[rows[-1]]:.4g} s",
        blob.packed(content),
    )


def _digest(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def _html(title: str, subtitle: str, data: str) -> str:
    folder = Path(__file__).parent
    text = (folder / "page.html").read_text(encoding="utf-8")
    # Without comments, empty lines and indentation.
    script, style = (
        re.sub(r"(?m)^[ ]*//.*\n|^\n|^[ ]+|[ ]{2}//[ ][^'\"`\n]*$", "", (folder / name).read_text(encoding="utf-8"))
        for name in ("player.js", "style.css")
    )
    policy = f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}"
    parts = {
        "policy": policy,
        "title": html.escape(visible(title)),
        "subtitle": html.escape(subtitle),
        "style": style,
        "script": script,
        "data": data,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], text)


def write(out: Path, text: str) -> None:
    """The file appears when it is whole."""
    try:
        write_page(out, text)
    except OSError as error:
        raise OSError(f"{out}: {error.strerror}: could not be written") from None
