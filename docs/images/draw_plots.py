#!/usr/bin/env python3
"""Draws docs/images/plot_soft_arm.png, the plot of docs/guide/plots.md, with the installed package.

docs/images/draw_plots.py [FOLDER]      (default: the folder of this script)
"""

import pathlib
import sys
import tempfile

import matplotlib
from PIL import Image

import tendril as td

SCENE = td.share / "scenes/soft_arm_pressure/soft_arm_pressure.toml"


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    out = (folder if folder.is_dir() else folder.parent) / "plot_soft_arm.png"
    matplotlib.use("Agg")
    with tempfile.TemporaryDirectory() as name:
        file = pathlib.Path(name) / "soft_arm.h5"
        td.Experiment(SCENE).run(duration=5, record=file)
        with td.Recording(file) as recording:
            recording.plot("arm_tip_error", "arm_c*_pressure", out=out)
    Image.open(out).convert("RGB").quantize(64).save(out, optimize=True)
    print(out)


if __name__ == "__main__":
    main()
