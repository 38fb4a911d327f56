#!/usr/bin/env python3
"""Writes reports of recorded, unrecorded and diverged runs and reads them.

usage: report_test.py PROGRAM
"""

import base64
import html
import html.parser
import importlib.machinery
import importlib.util
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "python"
REPORT = ["-B", "-m", "tendril.report"]
PROGRAM = ""
LARGEST_REPORT = 2_000_000  # bytes

SCENE = """<mujoco><option timestep="0.002"/><custom><tuple name="A_robot"><element objtype="body" objname="A_base"/>
</tuple></custom>
<worldbody><geom name="floor" type="plane" size="1 1 0.1"/>
<body name="A_base" pos="0 0 0.3"><joint name="swing" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.02"/>
</body><body pos="0 0.5 0.05"><freejoint/><geom type="box" size="0.05 0.05 0.05"/></body></worldbody>
<sensor><jointpos name="A_command" joint="swing"/><jointvel name="A_measured" joint="swing"/>
<jointpos name="A_tip_error" joint="swing"/></sensor></mujoco>"""
UNSTABLE = """<mujoco><option timestep="0.01"><flag eulerdamp="disable"/></option><worldbody><body name="b">
<joint name="runaway" type="slide"/><geom size="0.1" mass="1"/></body></worldbody><actuator>
<general joint="runaway" biastype="affine" biasprm="0.01 0 90"/></actuator></mujoco>"""
EXPERIMENT = """scene = "scene.xml"
duration = 2.0
[[check]]
name = "quiet <floor>"
metric = "wall_force_max"
max = 0.5
"""


def python():
    own = ROOT / ".venv/bin/python"
    return os.environ.get("TENDRIL_PYTHON") or (str(own) if own.exists() else sys.executable)


class Page(html.parser.HTMLParser):
    """Collects what a page refers to and checks that its tags are closed in order."""

    VOID = {"meta", "img", "br", "link", "input", "hr"}

    def __init__(self, text):
        super().__init__()
        self.open, self.links, self.headings, self.ids = [], [], [], []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attributes:
            if name in ("src", "href", "xlink:href"):
                self.links.append(value)
            if name == "id":
                self.ids.append(value)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


class Report(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        (self.folder / "scene.xml").write_text(SCENE)
        (self.folder / "unstable.xml").write_text(UNSTABLE)
        (self.folder / "experiment.toml").write_text(EXPERIMENT)

    def tearDown(self):
        self.temporary.cleanup()

    def run_scene(self, file, *arguments):
        """Runs without a report, which a test then writes; what is printed is kept."""
        out = self.folder / "out"
        done = subprocess.run(
            [PROGRAM, "run", str(self.folder / file), "--out", str(out), "--quiet", "--no-report", *arguments],
            capture_output=True,
            text=True,
        )
        self.assertIn(done.returncode, (0, 1, 3), done.stderr)
        self.printed = done.stdout
        return out

    def report(self, out):
        done = subprocess.run([python(), *REPORT, str(out)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = (out / "report.html").read_text()
        self.assertLess(len(text), LARGEST_REPORT)
        return text, Page(text)

    def test_a_page_is_one_file_with_plots_and_verdicts(self):
        out = self.run_scene("experiment.toml")
        # One pixel instead of the images, which need OpenGL.
        pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        (out / "snapshot_01_0.500s.png").write_bytes(base64.b64decode(pixel))
        text, page = self.report(out)
        self.assertEqual(sum(link.startswith("data:image/png") for link in page.links), 1)
        for link in page.links:
            self.assertTrue(link.startswith(("data:", "#")) or link == "play.html", link[:80])
        self.assertEqual(len(page.ids), len(set(page.ids)), "two plots share a name")
        for heading in ("Checks", "Images", "Tip error", "Wall force", "Penetration", "Step time", "Run"):
            self.assertIn(heading, page.headings)
        self.assertIn("Coordinates of A: commanded and measured", page.headings)
        self.assertIn("quiet &lt;floor&gt;", text)
        self.assertIn("1 of 1 checks failed", text)

    def test_a_robot_that_failed_is_on_the_badge_although_all_checks_hold(self):
        out = self.run_scene("experiment.toml", "--no-record")
        summary = json.loads((out / "summary.json").read_text())
        failure = "A: controller fault at t = 0.1 s"
        span = {"status": "controller fault", "steps": 10, "first": 0.1, "last": 2.0}
        summary.update(
            checks=[],
            failures=[failure],
            verdict="fail",
            robots=[{"robot": "A", "end": "controller fault", "statuses": [span]}],
        )
        (out / "summary.json").write_text(json.dumps(summary))
        text, page = self.report(out)
        self.assertIn('badge bad">a robot did not do its task', text)
        self.assertIn("Robots", page.headings)
        self.assertIn(failure, text)

    def test_what_a_recording_lacks_is_said_in_a_sentence(self):
        text, page = self.report(self.run_scene("unstable.xml", "--duration", "0.05"))
        self.assertNotIn("Tip error", page.headings)
        self.assertIn("Not shown", page.headings)
        self.assertIn("No sensor of the scene shows the quantity “tip_error”", text)
        self.assertIn("The scene has no robot", text)

    def test_a_run_that_diverged_still_has_a_report(self):
        out = self.run_scene("unstable.xml", "--duration", "60")
        self.assertEqual(json.loads((out / "summary.json").read_text())["outcome"], "diverged")
        text, _ = self.report(out)
        self.assertRegex(text, r'class="badge bad">diverged')
        self.assertIn("runaway", text)

    def test_a_run_without_recording_and_a_recording_without_summary_have_reports(self):
        out = self.run_scene("experiment.toml", "--no-record")
        text, _ = self.report(out)
        self.assertIn("was not recorded", text)
        out = self.run_scene("experiment.toml")
        (out / "summary.json").unlink()
        _, page = self.report(out)
        self.assertIn("Tip error", page.headings)

    def test_a_damaged_recording_is_named_and_no_crash(self):
        out = self.run_scene("experiment.toml", "--no-record")
        (out / "rollout.h5").write_bytes(b"not HDF5")
        text, _ = self.report(out)
        self.assertIn("rollout.h5 could not be read", text)

    def run_python(self, program, *arguments):
        program = "import sys\n" + program
        done = subprocess.run([python(), "-B", "-c", program, *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_lines_and_metrics_of_the_summary_agree(self):
        out = self.run_scene("experiment.toml")
        # Row 0 is the state before the first step, which metrics do not see.
        found = json.loads(
            self.run_python(
                "import json, pathlib\nfrom tendril.recording import Recording\n"
                "r = Recording(pathlib.Path(sys.argv[1], 'rollout.h5'))\n"
                "json.dump({'tip_error_max': max(v[1:].max() for _, v in r.lines_of('tip_error')),\n"
                "           'wall_force_max': r.wall_force()[1:].max(), 'penetration_max': r.penetration()[1:].max(),\n"
                "           'contacts': len(r.contacts().row), 'counted': len(r.robot_contacts().row)}, sys.stdout)",
                out,
            )
        )
        metrics = json.loads((out / "summary.json").read_text())["metrics"]
        for name in ("tip_error_max", "wall_force_max", "penetration_max"):
            self.assertGreater(metrics[name], 0)
            self.assertEqual(found[name], metrics[name], name)
        self.assertGreater(found["counted"], 0)
        self.assertGreater(found["contacts"], found["counted"] + 1000)  # the box is on the floor throughout

    def test_runs_of_every_robot_have_their_plots_and_the_numbers_of_their_checks(self):
        for scene, headings in (
            ("reach/reach", ("Tip error", "IK iterations", "Sections of arm")),
            ("snake_path/snake_path", ("Path error", "Coordinates of S")),
            ("snake_unfold/snake_unfold", ("Path error", "Coordinates of S")),
            ("snake_universal/snake_universal", ("Coordinates of S",)),
            ("wrap_grasp/wrap_grasp", ("Wall force", "Penetration")),
            ("youbot_clutter/youbot_clutter", ("Tip error", "Angle error", "IK iterations", "Coordinates of Y")),
        ):
            out = self.run_scene(ROOT / f"scenes/{scene}.toml", "--duration", "0.5")
            text, page = self.report(out)
            for heading in headings:
                self.assertTrue(any(h.startswith(heading) for h in page.headings), (scene, page.headings))
            self.check_numbers(out)
            self.check_page_against_console(text)

    def check_numbers(self, out):
        """Metrics and checks of the summary follow from the lines of the plots."""
        lines = json.loads(
            self.run_python(
                "import json, pathlib\nfrom tendril.recording import Recording\n"
                "r = Recording(pathlib.Path(sys.argv[1], 'rollout.h5'))\n"
                "lines = {s['quantity']: [v.tolist() for _, v in r.lines_of(s['quantity'])] for s in "
                "r.tables['sensors']}\n"
                "lines |= {'wall_force': [r.wall_force().tolist()], 'penetration': [r.penetration().tolist()]}\n"
                "json.dump({'time': r.time.tolist(), 'lines': lines}, sys.stdout)",
                out,
            )
        )
        summary = json.loads((out / "summary.json").read_text())
        statistics = {
            "max": max,
            "end": lambda v: v[-1],
            "mean": lambda v: sum(v) / len(v),
            "rms": lambda v: math.sqrt(sum(x * x for x in v) / len(v)),
        }
        claims = [
            (check["metric"], check["value"], check["after"] or 0.0, check["before"]) for check in summary["checks"]
        ]
        claims += [(name, value, 0.0, None) for name, value in summary["metrics"].items()]
        compared = 0
        for metric, value, after, before in claims:
            quantity, _, statistic = metric.rpartition("_")
            found = lines["lines"].get(quantity)
            # The metric `speed` is that of the scene's joints, not the sensor of a snake.
            if not found or statistic not in statistics or value is None or quantity in ("joint_margin", "speed"):
                continue
            # Row i has the sensors of the state at the time of row i - 1.
            rows = [i for i, t in enumerate(lines["time"][:-1], 1) if t >= after and (before is None or t <= before)]
            worst = [max(line[i] for line in found) for i in rows]
            self.assertTrue(math.isclose(statistics[statistic](worst), value, rel_tol=1e-9), (metric, value))
            compared += 1
        self.assertGreaterEqual(compared, 4)

    def check_page_against_console(self, text):
        """The table of checks of the page has the values, limits and verdicts that the run printed."""

        def plain(cell):
            cell = html.unescape(re.sub(r"<[^>]*>", "", cell)).replace("\u00a0", " ")
            return cell.replace("µ", "u").replace("≥", ">=").replace("≤", "<=").replace("–", "no data")

        section = text[text.index("<h2>Checks</h2>") :]
        rows = re.findall(r"<tr>(<td.*?)</tr>", section[: section.index("</section>")])
        on_page = [[plain(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)] for row in rows]
        printed = [re.split(r"  +", line.strip()) for line in self.printed.splitlines()[1:]]
        self.assertEqual(len(on_page), len(printed))
        for (name, _, value, limit, verdict), line in zip(on_page, printed):
            one_limit = limit if ", " not in limit else limit.removeprefix(">= ").replace(", <= ", " .. ")
            self.assertEqual([name, value, one_limit, {"holds": "ok", "failed": "FAILED"}[verdict]], line)

    def test_axes_read_as_numbers_that_differ(self):
        self.run_python(
            "import random\nfrom tendril.report import plots\nfrom tendril.report.page import axis_unit\n"
            "random.seed(1)\n"
            "for _ in range(20000):\n"
            "    step = random.choice((1, 2, 2.5, 5)) * 10.0 ** random.randint(-9, 7)\n"
            "    first = random.randint(-6, 3)\n"
            "    ticks = [step * (first + i) for i in range(random.randint(2, 7))]\n"
            "    labels = plots.tick_labels(ticks)\n"
            "    assert len(set(labels)) == len(labels), (ticks, labels)\n"
            "    for tick, label in zip(ticks, labels):\n"
            "        assert abs(float(label) - tick) <= 0.01 * step, (ticks, labels)\n"
            "        assert not (label.startswith('-') and float(label) == 0), labels\n"
            "for _ in range(2000):\n"
            "    low = 10.0 ** random.uniform(-2, 4)\n"
            "    high = low * (1.5 + 10.0 ** random.uniform(-4, 5))\n"
            "    ticks = plots.log_ticks(low, high)\n"
            "    assert 4 <= len(set(f'{t:g}' for t in ticks)) == len(ticks) <= 9, (low, high, ticks)\n"
            "    assert 0.94 * low <= ticks[0] and ticks[-1] <= 1.06 * high, (low, high, ticks)\n"
            "for unit in ('m', 'rad', 'N', 's'):\n"
            "    for power in range(-8, 4):\n"
            "        factor, shown = axis_unit(unit, 1.5 * 10.0 ** power)\n"
            "        assert 0.09 <= 1.5 * 10.0 ** power * factor < 2e5, (unit, power, shown)\n"
        )

    def test_a_small_quantity_is_readable_on_its_axis(self):
        (self.folder / "small.xml").write_text(
            SCENE.replace('name="swing" axis="0 1 0"', 'name="swing" axis="0 1 0" range="-1e-5 1e-5" limited="true"')
        )
        text, _ = self.report(self.run_scene("small.xml", "--duration", "0.2"))
        labels = [re.findall(r"<text[^>]*>([^<]*)</text>", svg) for svg in re.findall(r"<svg.*?</svg>", text, re.S)]
        self.assertTrue(labels)
        for texts in labels:
            numbers = [label for label in texts if re.fullmatch(r"[-−]?[\d.]+", label)]
            self.assertGreater(len(set(numbers)), 3, texts)
            self.assertFalse([label for label in numbers if re.fullmatch(r"[-−]0[.0]*", label)], texts)

    def test_times_of_faults_are_shaded(self):
        text, _ = self.report(self.run_scene("experiment.toml"))
        self.assertEqual(text.count('class="span"'), 0)
        self.assertEqual(text.count("their times are shaded"), 0)
        (self.folder / "faulty.toml").write_text(
            EXPERIMENT
            + """[[fault]]
name = "push"
kind = "kick"
body = "A_base"
force = [0, 0, 1]
start = 0.5
duration = 0.25
"""
        )
        text, _ = self.report(self.run_scene("faulty.toml"))
        line = "push: kick, body = A_base, duration = 0.25, force = [0, 0, 1]; from 0.5\u00a0s to 0.75\u00a0s"
        self.assertEqual(text.count(line), 1)
        svgs = re.findall(r"<svg.*?</svg>", text, re.S)
        shaded = [svg for svg in svgs if 'class="span"' in svg]
        self.assertEqual(len(shaded), len([svg for svg in svgs if "wall time of a step" not in svg]))
        self.assertGreater(len(shaded), 0)

    def test_a_number_keeps_its_unit_on_its_line(self):
        text, _ = self.report(self.run_scene("experiment.toml"))
        visible = re.sub(r"<style>.*?</style>|<svg.*?</svg>|<[^>]*>", "|", text, flags=re.S)
        self.assertEqual(re.findall(r"\d (?:mm|m|s|ms|µs|N|deg|rad|%)\b", visible), [])

    def test_a_recording_without_tables_says_so_and_shows_the_rest(self):
        out = self.run_scene("experiment.toml")
        self.run_python(
            "import h5py\nwith h5py.File(sys.argv[1] + '/rollout.h5', 'r+') as f: del f['rollout_0/texts/sensors']", out
        )
        text, page = self.report(out)
        self.assertIn("no tables of names", text)
        self.assertNotIn("Wall force", page.headings)
        self.assertIn("Step time", page.headings)

    def test_the_gallery_has_every_experiment_with_what_it_shows(self):
        out = self.folder / "all"
        command = [
            str(ROOT / "scripts/gallery"),
            "--duration",
            "0.1",
            "--tendril",
            str(Path(PROGRAM).resolve()),
            "--out",
            str(out),
        ]
        done = subprocess.run([*command, "--only", "reach-[rz]*"], capture_output=True, text=True)
        if "no OpenGL" in done.stdout:
            self.skipTest("no OpenGL")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        index = (out / "index.html").read_text()
        links = Page(index).links
        for name in ("reach-random", "reach-reach", "reach-zero_g"):
            self.assertIn(f"{name}/report.html", links)
            self.assertIn(f"<code>tendril run scenes/reach/{name.removeprefix('reach-')}.toml</code>", index)
        self.assertIn("<p>The same curve without gravity.</p>", index)  # the comment of zero_g.toml
        self.assertEqual(len([link for link in links if link.endswith(".png")]), 3)
        for link in links:
            self.assertTrue((out / link).is_file(), link)
        done = subprocess.run([*command, "--only", "none"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"must match one of (\w+-\w+, )+tube_insertion-displaced, ")

    def test_the_gallery_tells_which_robot_failed_and_what_the_example_shows(self):
        loader = importlib.machinery.SourceFileLoader("gallery", str(ROOT / "scripts/gallery"))
        gallery = importlib.util.module_from_spec(importlib.util.spec_from_loader("gallery", loader))
        sys.dont_write_bytecode = True
        loader.exec_module(gallery)
        good = {"name": "a", "value": 1, "min": None, "max": 2, "unit": "", "holds": True}
        row = {
            "name": "one",
            "file": "scenes/one.toml",
            "text": "",
            "verdict": "fail",
            "checks": [good],
            "failures": ["arm: jammed"],
            "more": [],
            "simulated": 1.0,
            "factor": 1.0,
        }
        options = type("Options", (), {"out": self.folder})
        self.assertIn("<span class=fail>arm: jammed</span>", gallery.card(options, row))
        failed = {**row, "checks": [{**good, "holds": False}]}
        self.assertIn("<span class=fail>a check failed; arm: jammed</span>", gallery.card(options, failed))
        self.assertIn(
            "<span class=pass>all checks hold</span>", gallery.card(options, {**row, "verdict": "pass", "failures": []})
        )
        self.assertTrue(gallery.shown(ROOT / "apps/examples/circle.xml").startswith("The arm of circle.toml"))

    def test_bad_folders_give_one_line(self):
        for folder, code in ((self.folder / "none", 2), (self.folder, 4)):
            done = subprocess.run([python(), *REPORT, str(folder)], capture_output=True, text=True)
            self.assertEqual(done.returncode, code)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_a_thinned_line_keeps_every_peak(self):
        self.run_python(
            "import numpy as np\nfrom tendril.report import plots\n"
            "x = np.arange(100000.0); y = np.sin(x); y[12345] = 9; y[777] = -9; y[5] = np.nan\n"
            "u, v = plots.thinned(x, y)\n"
            "assert len(u) <= 1000 and np.all(np.diff(u) > 0), len(u)\n"
            "assert v.max() == 9 and v.min() == -9 and u[v.argmax()] == 12345\n"
        )


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = sys.argv.pop(1)
    os.environ["PYTHONPATH"] = str(PACKAGE)
    if subprocess.run([python(), "-c", "import numpy, h5py"], capture_output=True).returncode != 0:
        print("numpy and h5py are not all there: skipped")
        sys.exit(77)
    unittest.main()
