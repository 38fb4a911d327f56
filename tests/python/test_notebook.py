"""What notebooks show: the numbers of runs, recordings and sweeps, with the texts of strangers as texts."""

import html
import html.parser
import json
import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import tendril as td
from tendril.report import notebook

HOSTILE = '<script>alert(1)</script>"\u202e&' + "x" * 500


class Page(html.parser.HTMLParser):
    """Checks that the tags are closed in order, and collects them and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + "\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[td.Result, Path]:
    """A run with a check that holds and one that fails, and its recording."""
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "run.toml").write_text(
        f'scene = "{td.share / "scenes/reach/reach.xml"}"\nduration = 0.1\n'
        '[[check]]\nname = "far <b>"\nmetric = "tip_error_max"\nmin = 0.001\n'
        '[[check]]\nname = "never"\nmetric = "tip_error_max"\nmax = 1e-9\n'
        '[[fault]]\nkind = "gravity"\nvalue = [0, 0, -5]\nstart = 0.05\n'
    )
    return td.Experiment(folder / "run.toml").run(record=folder / "run.h5"), folder / "run.h5"


def test_a_result_shows_its_checks_and_metrics(run: tuple[td.Result, Path]) -> None:
    result = run[0]
    page = Page(result._repr_html_())
    assert "b" in page.tags and "far <b>" in page.text and "done, fail" in page.text
    assert page.text.split("\n").count("pass") == page.text.split("\n").count("fail") == 1
    assert "tip_error_max" in page.text and "script" not in page.tags


def test_a_recording_shows_what_it_contains(run: tuple[td.Result, Path]) -> None:
    with td.Recording(run[1]) as recording:
        page = Page(recording._repr_html_())
        for word in (
            str(run[1]),
            "done",
            str(recording.rows),
            "arm",
            "tendril.reach",
            "arm_tip_error",
            "gravity",
            "rad, m",
        ):
            assert word in page.text, word


def test_texts_of_strangers_are_escaped_and_bounded(run: tuple[td.Result, Path], tmp_path: Path) -> None:
    file = tmp_path / "hostile.h5"
    file.write_bytes(run[1].read_bytes())
    with h5py.File(file, "r+") as opened:
        texts = opened["rollout_0/texts"]
        rows = json.loads(texts["sensors"][0].decode())
        for row in rows:
            row["name"] = row["unit"] = row["quantity"] = HOSTILE
        changed = {"sensors": json.dumps(rows), "experiment_name": HOSTILE, "scene": HOSTILE, "plugins": HOSTILE}
        for name, text in changed.items():
            texts.pop(name, None)
            data = text.encode()
            texts.create_dataset(name, data=np.array([data], dtype=f"S{len(data)}"))
    with td.Recording(file) as recording:
        shown = recording._repr_html_()
    result = run[0]
    many = [{"name": HOSTILE, "metric": HOSTILE, "value": 1.0, "unit": HOSTILE, "holds": True}] * 1000
    summary = dict(result.summary) | {"checks": many, "notices": [HOSTILE] * 1000, "experiment": HOSTILE}
    for text in (shown, notebook.of_result(summary, {HOSTILE: 1.0})):
        page = Page(text)
        assert page.tags <= {
            "div",
            "b",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "p",
            "details",
            "summary",
            "ul",
            "li",
        }
        assert "<script>" in page.text and "\u202e" not in text and len(text) < 60_000
        assert max(map(len, page.text.split("\n"))) < 320
    assert "… and 970 more" in page.text


def test_a_damaged_recording_is_one_line(run: tuple[td.Result, Path], tmp_path: Path) -> None:
    file = tmp_path / "damaged.h5"
    file.write_bytes(run[1].read_bytes())
    with h5py.File(file, "r+") as opened:
        del opened["rollout_0/time"]
    with td.Recording(file) as recording, pytest.raises(td.RecordingError) as caught:
        recording._repr_html_()
    assert "\n" not in str(caught.value)


def test_a_frame_has_the_page_of_playback_and_cannot_reach_the_notebook(run: tuple[td.Result, Path]) -> None:
    with td.Recording(run[1]) as recording:
        shown = recording.show(height=300)._repr_html_()
        found = re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts" .* height="300" [^>]*></iframe>', shown)
        assert found and html.unescape(found[1]) == recording.to_html()
        for arguments, text in (({"largest": 1000}, "must be at most 0.001 MB"), ({"height": 1}, "must be in [100")):
            with pytest.raises(td.ModelError, match=re.escape(text)):
                recording.show(**arguments)


def test_a_sweep_shows_its_rates_and_differences(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(
        f'scene = "{td.share / "scenes/reach/reach.xml"}"\nduration = 0.05\n'
        '[vary]\n"controller.rate_limit" = { uniform = [0.5, 1.0] }\n'
        '[[check]]\nname = "far"\nmetric = "tip_error_max"\nmin = 0.001\n'
        "[sweep]\nseeds = 3\n"
        '[[sweep.variant]]\nname = "one"\n[[sweep.variant]]\nname = "two"\nset = { "option.timestep" = 0.001 }\n'
    )
    data = td.Sweep(tmp_path / "sweep.toml").run(tmp_path / "out", jobs=1)
    page = Page(data._repr_html_())
    assert "6 of 6 runs, 6 passed" in page.text and "100.0 %" in page.text
    for row in data.compare():
        assert row["metric"] in page.text and row["words"] in page.text
