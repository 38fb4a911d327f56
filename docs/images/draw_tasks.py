#!/usr/bin/env python3
"""Makes docs/images/task_*.png: instants of an episode of an environment with the policy without learning.

usage: draw_tasks.py [TASK ...]

Run it with a Python that has the package `tendril-mujoco`, its extra `gym` and Pillow.
"""

import sys
from pathlib import Path

import gymnasium
import numpy as np
from PIL import Image

from tendril.envs import baselines

IMAGES = Path(__file__).resolve().parent
SIZE = (400, 300)  # pixels of an instant
PICTURES = {"TwoArmBox": (101, (0, 100, 499)), "GuidewireArch": (7, (0, 60, 90))}  # task: seed, steps that are shown


def draw(name):
    seed, shown = PICTURES[name]
    env = gymnasium.make(f"Tendril/{name}-v0", camera="report", size=SIZE)
    observation, _ = env.reset(seed=seed)
    policy, panels = baselines.make_policy(env, seed), []
    for step in range(shown[-1] + 1):
        if step in shown:
            panels.append(observation["image"])
        observation = env.step(policy(observation["state"]))[0]
    image = IMAGES / f"task_{name}.png"
    Image.fromarray(np.concatenate(panels, axis=1)).quantize(256).save(image, optimize=True)
    print(f"{image.name}: {image.stat().st_size // 1024} kB")


def main():
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return
    for name in sys.argv[1:] or PICTURES:
        draw(name)


if __name__ == "__main__":
    main()
