#!/usr/bin/env python3
"""Makes docs/images/guide_*.png from the examples of docs/guide, run as they are on their pages.

usage: draw_guide.py [PAGE ...]

Run it with a Python that has the package `tendril-mujoco` and Pillow.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

DOCS = Path(__file__).resolve().parents[1]
FILE = re.compile(r"^<!-- file: (.*?) -->\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PICTURES = {  # page: script before the run, experiment, options of run and render, instants, s, pixels
    "endoscope": (None, "insert.toml", [], "0,9", "400x440"),
    "tube": ("tube.py", "insert.toml", [], "0,3,6", "400x440"),
    "robot_arm": (None, "follow.toml", [], "0,2.5,5", "560x400"),
    "two_robots": (None, "two.toml", [], "0,2", "720x450"),
    "mesh_obstacles": ("lumen.py", "insert.toml", [], "0,2,4.2", "400x440"),
}


def execute(*command, folder):
    subprocess.run([str(word) for word in command], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def draw(page):
    script, experiment, options, times, size = PICTURES[page]
    program = Path(sys.executable).with_name("tendril")
    image = DOCS / f"images/guide_{page}.png"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in FILE.findall((DOCS / f"guide/{page}.md").read_text(encoding="utf-8")):
            (folder / file).write_text(text, encoding="utf-8")
        if script:
            path = f"PATH={program.parent}:/usr/bin:/bin"
            execute("env", path, sys.executable, script, folder=folder)
        execute(program, "run", experiment, *options, "--out", "out", "--no-report", folder=folder)
        view = ["--strobe", times, "--size", size, "--no-forces"]
        execute(program, "render", "out/rollout.h5", *options, *view, "-o", "image.png", folder=folder)
        Image.open(folder / "image.png").convert("RGB").quantize(128).save(image, optimize=True)
    print(f"{image.name}: {image.stat().st_size // 1024} kB")


def main():
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return
    for page in sys.argv[1:] or PICTURES:
        draw(page)


if __name__ == "__main__":
    main()
