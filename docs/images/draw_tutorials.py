#!/usr/bin/env python3
"""Draws docs/images/start_*.png, the pictures of the tutorials in docs/start.

docs/images/draw_tutorials.py [--tendril TENDRIL] [--out FOLDER]      (default: tendril on the PATH, docs/images)

Runs the commands of the tutorials in a temporary folder, two minutes of processor time. Needs Pillow, matplotlib and
chromium-headless-shell (scripts/setup --extras).
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

from matplotlib import font_manager
from PIL import Image, ImageDraw, ImageFont

ROOT = pathlib.Path(__file__).resolve().parents[2]
BROWSER = shutil.which("chromium-headless-shell") or "/usr/lib/chromium/chromium-headless-shell"
INK, LINE = "#1a1a1a", "#b03060"
LARGEST = 120_000  # bytes


def font(size):
    return ImageFont.truetype(font_manager.findfont("DejaVu Sans"), size)


def write(image, file, colors=256):
    image.convert("RGB").quantize(colors, dither=Image.Dither.NONE).save(file, optimize=True)
    size = file.stat().st_size
    assert size <= LARGEST, f"{file}: {size} bytes"
    print(f"{file.name}: {image.width} x {image.height}, {size / 1000:.0f} kB")


def label(image, words, at, to=None, size=17):
    """Writes words on white at a point, with a line to what they name."""
    draw = ImageDraw.Draw(image)
    box = draw.textbbox(at, words, font=font(size), anchor="lm")
    if to:
        start = (box[0] - 4 if to[0] < at[0] else min(box[2] + 4, to[0]), at[1])
        draw.line([start, to], fill=LINE, width=2)
        draw.ellipse([to[0] - 4, to[1] - 4, to[0] + 4, to[1] + 4], fill=LINE)
    draw.rectangle([box[0] - 5, box[1] - 4, box[2] + 5, box[3] + 4], fill="white", outline="#999999")
    draw.text(at, words, font=font(size), fill=INK, anchor="lm")


class Studio:
    """Runs the commands of the tutorials in a copy of their folder."""

    def __init__(self, tendril, folder):
        self.program, self.folder = tendril, folder / "docs/start/scripts"
        shutil.copytree(ROOT / "docs/start/scripts", self.folder)

    def tendril(self, *words):
        """Exit code 1 says that checks failed, as the page of the sweep shows."""
        command = [self.program, *map(str, words)]
        done = subprocess.run(command, cwd=self.folder, stdout=subprocess.DEVNULL)
        if done.returncode > 1:
            sys.exit(f"draw_tutorials.py: {' '.join(command)}: exit code {done.returncode}")

    def rendered(self, run, size, *options):
        self.tendril("render", f"out/{run}/rollout.h5", "-o", "picture.png", "--size", size, "--no-forces", *options)
        return Image.open(self.folder / "picture.png").convert("RGB")

    def page(self, file, height):
        shot = self.folder / "page.png"
        options = ["--no-sandbox", "--hide-scrollbars", "--disable-gpu", f"--window-size=1000,{height}"]
        command = [BROWSER, *options, f"--screenshot={shot}", (self.folder / file).as_uri()]
        subprocess.run(command, check=True, capture_output=True)
        return Image.open(shot).convert("RGB")


def arm(studio):
    image = studio.rendered("circle", "960x720", "--time", "0.95").crop((300, 120, 820, 560))
    label(image, "base", (60, 370), (178, 350))
    label(image, "section 1", (20, 270), (182, 280))
    label(image, "section 2", (20, 130), (178, 135))
    label(image, "tip, at the target", (350, 150), (291, 82))
    return image


def scene(studio):
    image = studio.rendered("circle", "960x640", "--time", "0.12").crop((150, 60, 870, 500))
    label(image, "arm", (180, 200), (330, 190))
    label(image, "target", (375, 240), (425, 132))
    label(image, "post (geom)", (560, 180), (470, 180))
    label(image, "base of the arm", (60, 370), (320, 350))
    return image


def named(page, labels, margin=240, width=760):
    """A page with a margin that names its parts: (middle, words)."""
    image = Image.new("RGB", (page.width + margin, page.height), "white")
    image.paste(page)
    draw = ImageDraw.Draw(image)
    draw.line([(page.width, 0), (page.width, page.height)], fill="#cccccc", width=2)
    for x, y, words in labels:
        draw.line([(x, y), (page.width + 12, y)], fill=LINE, width=2)
        draw.text((page.width + 20, y), words, font=font(21), fill=LINE, anchor="lm")
    return image.resize((width, round(image.height * width / image.width)), Image.Resampling.LANCZOS)


def report(studio):
    labels = [
        (320, 48, "verdict"),
        (280, 88, "the run in 3D"),
        (960, 140, "key numbers"),
        (630, 300, "checks and limits"),
        (510, 470, "status over time"),
        (985, 690, "six images"),
        (480, 1260, "plots"),
    ]
    return named(studio.page("out/circle/report.html", 2400).crop((0, 0, 1000, 1400)), labels)


def compare(studio):
    labels = [
        (985, 90, "how often\neach passes"),
        (400, 250, "metrics, with\nintervals"),
        (790, 485, "differences,\nseed by seed"),
        (670, 740, "better or worse"),
        (860, 1050, "a point for\neach seed"),
    ]
    return named(studio.page("out/compare.html", 2400).crop((0, 0, 1000, 1160)), labels)


def plan(studio):
    drawn = Image.open(studio.folder / "plan.png").convert("RGB")
    drawn = drawn.crop((0, 0, drawn.width, round(0.755 * drawn.height)))
    drawn = drawn.resize((round(drawn.width * 640 / drawn.height), 640), Image.Resampling.LANCZOS)
    run = studio.rendered("contact", "560x640", "--time", "30")
    image = Image.new("RGB", (drawn.width + run.width, 640), "white")
    image.paste(drawn)
    label(run, "guide", (60, 480), (232, 480))
    label(run, "braced here", (40, 160), (245, 150))
    label(run, "target", (400, 130), (340, 76))
    image.paste(run, (drawn.width, 0))
    return image


def snake(studio):
    image = studio.rendered("snake", "840x480", "--strobe", "0,8,30")
    label(image, "start", (60, 120), (262, 148))
    label(image, "planned path", (560, 440), (450, 390))
    label(image, "goal", (680, 240), (545, 146))
    return image


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tendril", default=shutil.which("tendril"))
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs/images")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        studio = Studio(options.tendril, pathlib.Path(folder))
        for name, experiment in (("circle", "circle"), ("contact", "contact"), ("snake", "snake_travel")):
            studio.tendril("run", f"{experiment}.toml", "--out", f"out/{name}", "--quiet")
        studio.tendril("plan", "contact.xml", "--png", "plan.png")
        for name, change in (("feedback", ()), ("open_loop", ("--set", "controller.integral_gain=0"))):
            studio.tendril("sweep", "faults.toml", "--seeds", 20, *change, "--out", f"out/{name}", "--quiet")
        studio.tendril("compare", "out/feedback", "out/open_loop", "-o", "out/compare.html")
        for draw in (arm, scene, report, compare, plan, snake):
            write(draw(studio), options.out / f"start_{draw.__name__}.png")


if __name__ == "__main__":
    main()
