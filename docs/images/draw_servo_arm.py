#!/usr/bin/env python3
"""Makes docs/images/servo_arm.webp, which moves: an arm driven to targets before and after its calibration.

usage: draw_servo_arm.py [RECORDING]

RECORDING is that of `bench/servo_arm --film` [out/servo_arm/film/rollout.h5]. Needs ffmpeg, and Pillow with WebP.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

ROOT = Path(__file__).resolve().parents[2]
IMAGE = Path(__file__).with_name("servo_arm.webp")
SIZE, FRAME_RATE, SPEED = (720, 380), 12, 3
WORDS = {"robot file as drawn": 0.27, "calibrated": 0.73}  # and where, as a part of the width


def main():
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return
    recording = sys.argv[1] if sys.argv[1:] else ROOT / "out/servo_arm/film/rollout.h5"
    font = ImageFont.load_default(size=18)
    with tempfile.TemporaryDirectory() as folder:
        film = Path(folder, "film.mp4")
        options = ["--size", f"{SIZE[0]}x{SIZE[1]}", "--fps", FRAME_RATE, "--speed", SPEED, "--no-forces"]
        words = [ROOT / "build/release/bin/tendril", "render", recording, "-o", film, *options]
        subprocess.run(list(map(str, words)), check=True)
        subprocess.run(["ffmpeg", "-loglevel", "error", "-i", film, Path(folder, "%03d.png")], check=True)
        frames = []
        for file in sorted(Path(folder).glob("*.png")):
            frame = Image.open(file).convert("RGB")
            for text, place in WORDS.items():
                ImageDraw.Draw(frame).text((place * SIZE[0], 20), text, fill="black", font=font, anchor="mm")
            frames.append(frame)
    duration = round(1000 / FRAME_RATE)
    frames[0].save(IMAGE, save_all=True, append_images=frames[1:], duration=duration, loop=0, quality=70, method=4)
    print(f"{IMAGE.name}: {IMAGE.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
