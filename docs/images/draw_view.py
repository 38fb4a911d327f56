#!/usr/bin/env python3
"""Draws docs/images/window.png, report.png and playback.png: what a run looks like, with the names of the parts.

docs/images/draw_view.py [FOLDER] [--tendril build/release/bin/tendril] [--no-runs]

Runs scenes/tube_insertion, opens the window in xvfb-run and the pages in chromium-headless-shell
(scripts/setup --extras), and writes names over the screenshots with Pillow. FOLDER is that of this script by default;
screenshots stay in out/view, from where --no-runs takes them.
"""

import argparse
import pathlib
import subprocess

from PIL import Image, ImageDraw, ImageFont

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "out/view"
EXPERIMENT = "scenes/tube_insertion/tube_insertion.toml"
INK, PAPER, FONT_SIZE, COLORS = "#b3261e", "white", 19, 200
# Names: text, its left top corner, the point that it names; pixels of the screenshot.
WINDOW = (
    ("state and errors (I)", (230, 88), (180, 98)),
    ("path of the controller", (60, 480), (75, 555)),
    ("arm: Ctrl + drag pulls it", (150, 430), (380, 525)),
    ("checks so far", (470, 725), (426, 735)),
    ("live plots (L)", (500, 570), (668, 580)),
    ("panel (F3)", (830, 60), (970, 70)),
    ("records this run (R)", (1050, 14), (1026, 24)),
    ("injects faults", (1070, 94), (1046, 104)),
    ("setpoints", (1110, 279), (1082, 289)),
    ("joints, while paused", (1054, 642), (1038, 652)),
)
REPORT = (
    ("verdict", (470, 36), (418, 48)),
    ("opens the playback", (600, 78), (548, 89)),
    ("main values of the run", (760, 186), (640, 130)),
    ("checks: metric, value, limit", (780, 300), (736, 312)),
    ("how long each robot had which status", (470, 555), (404, 560)),
    ("snapshots", (240, 630), (120, 645)),
    ("plots with the limits of the checks", (560, 1285), (508, 1300)),
)
PLAYBACK = (
    ("experiment, seed, times", (250, 24), (178, 32)),
    ("path of the controller", (110, 330), (150, 436)),
    ("tip error and wall force; click: go to that time", (400, 110), (868, 110)),
    ("adds a sensor", (690, 245), (880, 255)),
    ("time", (470, 650), (495, 725)),
    ("speed, camera, plots, keys", (800, 660), (985, 722)),
)


def execute(*command):
    subprocess.run([str(part) for part in command], cwd=ROOT, check=True, stderr=subprocess.DEVNULL)


def screenshots(tendril):
    OUT.mkdir(parents=True, exist_ok=True)
    execute(tendril, "run", EXPERIMENT, "--out", OUT / "run", "--quiet")
    shot = ["--show-panel", "--screenshot", OUT / "window.png", "--at", 3]
    execute("xvfb-run", "-a", "-s", "-screen 0 1600x1200x24", tendril, "view", EXPERIMENT, *shot)
    page = ["chromium-headless-shell", "--no-sandbox", "--hide-scrollbars"]
    execute(*page, "--window-size=1100,1560", f"--screenshot={OUT}/report.png", f"file://{OUT}/run/report.html")
    page += ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--virtual-time-budget=4000"]
    execute(*page, "--window-size=1200,760", f"--screenshot={OUT}/playback.png", f"file://{OUT}/run/play.html#t=4")


def label(draw, font, text, corner, point):
    """Writes a name in a box, with a line from its nearest side to the point."""
    x, y = corner
    left, top, right, bottom = draw.textbbox(corner, text, font=font)
    box = (left - 7, top - 5, right + 7, bottom + 5)
    start = (min(max(point[0], box[0]), box[2]), min(max(point[1], box[1]), box[3]))
    draw.line([start, point], fill=INK, width=2)
    draw.ellipse([point[0] - 4, point[1] - 4, point[0] + 4, point[1] + 4], fill=INK)
    draw.rounded_rectangle(box, 5, fill=PAPER, outline=INK, width=2)
    draw.text((x, y), text, fill=INK, font=font)


def annotate(name, labels, folder, width):
    image = Image.open(OUT / f"{name}.png").convert("RGB")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(FONT_SIZE)
    for text, corner, point in labels:
        label(draw, font, text, corner, point)
    image = image.resize((width, round(image.height * width / image.width)), Image.Resampling.LANCZOS)
    file = folder / f"{name}.png"
    image.quantize(COLORS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent)
    parser.add_argument("--tendril", type=pathlib.Path, default=ROOT / "build/release/bin/tendril")
    parser.add_argument("--no-runs", action="store_true", help="take the screenshots of the last time")
    options = parser.parse_args()
    if not options.no_runs:
        screenshots(options.tendril.resolve())
    annotate("window", WINDOW, options.folder, 1000)
    annotate("report", REPORT, options.folder, 800)
    annotate("playback", PLAYBACK, options.folder, 1000)


if __name__ == "__main__":
    main()
