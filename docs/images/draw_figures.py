#!/usr/bin/env python3
"""Makes docs/images/figure_*.png, for docs/results/figures.md, from repeated experiments and from workspaces.

usage: draw_figures.py [--samples N] [--tendril build/release/bin/tendril]

Needs Pillow, and the Python of the program needs matplotlib. Results stay in out/figures and are used again.
"""

import argparse
import subprocess
from pathlib import Path

from PIL import Image

IMAGES = Path(__file__).resolve().parent
ROOT = IMAGES.parents[1]
OUT = ROOT / "out/figures"
OF_TABLES = {  # figure: picture of `tendril tables --plot`
    "figure_3_1": "histograms_3.1",
    "figure_3_4": "histograms_3.3",
    "figure_3_5": "histograms_3.4",
    "figure_3_6": "spread_3.3",
    "figure_3_7": "spread_3.4",
    "figure_3_8": "coverage_3.5",
    "figure_3_9": "time_3.5",
    "figure_3_10": "curves_article",
}
OF_SECTIONS = {  # figure: name; bend limit, rad, of sections; their lengths and weights
    "figure_2_2": (
        "sections of table 2.1 and of figure 2.3",
        6.283185307,
        [([1, 2, 4], [3, 2, 1]), ([1, 2, 4], [1, 2, 3]), ([4, 2, 1], [3, 1, 1]), ([1, 2, 4], [1, 2, 10])],
    ),
    "figure_3_14": (
        "robot 1 of table 3.10",
        1.745329252,
        [([20, 40, 10], [1, 0.001, 3]), ([10, 20, 40], [3, 2, 1]), ([30, 10, 30], [1, 7, 1])],
    ),
}
EVERY_CELL = 50_000  # samples of table 3.5 that leave no cell out


def execute(*command):
    subprocess.run([str(part) for part in command], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def robot(file, name, limit, sections):
    text = f'kind = "continuum"\nname = "{name}"\n'
    for lengths, weights in sections:
        text += f"\n[[section]]\nconstant_length = 0.07\nbend_limit = {limit}\n"
        text += f"length_weights = {lengths}\nangle_weights = {weights}\n"
    file.write_text(text, encoding="utf-8")
    return file


def put(picture, name):
    image = Image.open(picture).convert("RGB")
    if image.width > 1600:
        image = image.reduce(2)
    image.quantize(128).save(IMAGES / f"{name}.png", optimize=True)
    print(f"docs/images/{name}.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=2000, help="targets a row [2000]")
    parser.add_argument("--tendril", type=Path, default=ROOT / "build/release/bin/tendril")
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    tables = ("3.1", "3.3", "3.4", "article")
    execute(options.tendril, "tables", *tables, "--samples", options.samples, "--plot", "--out", OUT)
    execute(options.tendril, "tables", "3.5", "--samples", EVERY_CELL, "--plot", "--out", OUT)
    for name, picture in OF_TABLES.items():
        put(OUT / f"{picture}.png", name)
    for name, described in OF_SECTIONS.items():
        file = robot(OUT / f"{name}.toml", *described)
        execute(options.tendril, "workspace", file, "--png", OUT / f"{name}.png")
        put(OUT / f"{name}.png", name)


if __name__ == "__main__":
    main()
