#!/usr/bin/env python3
"""Makes docs/images/hands.webp, which moves: the tasks of hands with soft fingers, by the policies without learning.

usage: draw_hands.py

Run it with a Python that has the package `tendril-mujoco` with its extra `gym`, and Pillow with WebP.
"""

import sys
from pathlib import Path

import gymnasium
import numpy as np
from PIL import Image

from tendril.envs import baselines

IMAGE = Path(__file__).with_name("hands.webp")
TASKS = ["AntipodalGrip", "InHand", "InHandInverted", "PenSpinner"]
SIZE, FRAMES, FRAME_RATE = (320, 240), 60, 12  # of a panel, pixels; in real time
SEED = 1000


def panel(name):
    """Images of a task from its start."""
    env = gymnasium.make(f"Tendril/{name}-v0", camera="report", size=SIZE)
    observation, _ = env.reset(seed=SEED)
    policy, images, step = baselines.make_policy(env), [], 0
    for frame in range(FRAMES):
        images.append(observation["image"])
        while (step + 1) * env.unwrapped._simulations.task.period <= (frame + 1) / FRAME_RATE:
            observation, *_ = env.step(policy(observation["state"]))
            step += 1
    return np.array(images)


def main():
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return
    panels = [panel(name) for name in TASKS]
    rows = [np.concatenate(panels[i : i + 2], axis=2) for i in (0, 2)]
    frames = [Image.fromarray(image) for image in np.concatenate(rows, axis=1)]
    duration = round(1000 / FRAME_RATE)
    frames[0].save(IMAGE, save_all=True, append_images=frames[1:], duration=duration, loop=0, quality=70, method=4)
    print(f"{IMAGE.name}: {IMAGE.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
