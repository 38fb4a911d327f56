"""The controller that imitate.py has learned, from `imitated.npz` beside this file."""

from pathlib import Path

import numpy as np

import tendril as td

CLOSE = 3e-3  # m: of closer targets the error counts, of farther ones its direction


def features(target, velocity, tip, command):
    """What the network sees, (..., 3 + 3 + 3 + coordinates): base frame."""
    error = target - tip
    distance = np.linalg.norm(error, axis=-1, keepdims=True)
    return np.concatenate((error, error / (CLOSE + distance), velocity, command), axis=-1)


@td.controller("example.imitated", kind="continuum")
class Imitated:
    files = ["imitated.npz"]

    def __init__(self, context):
        with np.load(Path(__file__).with_name("imitated.npz")) as content:
            self.weights = [(content[f"w{i}"], content[f"b{i}"]) for i in range(3)]
            self.mean, self.deviation, self.scale = content["mean"], content["deviation"], float(content["scale"])
        self.coordinates = self.weights[-1][1].size
        self.memory_size = 1 + 3 + self.coordinates  # whether the target has been seen, the target, the command

    def update(self, m, memory, next_memory, command, report):
        target, tip, q = m.target[:3, 3], m.tip[:3, 3], memory[4:]
        velocity = memory[0] * (target - memory[1:4]) / m.timestep
        x = (features(target, velocity, tip, q) - self.mean) / self.deviation
        for w, b in self.weights[:-1]:
            x = np.tanh(x @ w + b)
        w, b = self.weights[-1]
        command.q_rate[:] = self.scale * (x @ w + b)
        command.q[:] = command.plan[:] = q + m.timestep * command.q_rate
        next_memory[:] = np.concatenate(([1.0], target, command.q))
        report.tip_error = np.linalg.norm(target - tip)
