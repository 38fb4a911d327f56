"""Clones the controller of an arm from its runs: pip install jax optax pyarrow.

python imitate.py DATA [--epochs 20] [--seed 0] [--out imitated.npz]

DATA is a LeRobot data set with the observations `arm_target`, `arm_measured_tip` and `arm_command` and the commands as
its actions, of every step. A network of two hidden layers learns the rates of the commands; imitated.py is the
controller that runs it.
"""

import argparse
import json
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pyarrow.parquet as pq
from imitated import features

HIDDEN, BATCH, RATE = 128, 1024, 2e-3
SMALL_RATE = 0.3  # rad/s: errors of smaller rates count as absolute ones, of larger ones as relative


def read(folder: Path) -> tuple[np.ndarray, np.ndarray, float]:
    """Inputs (n, 15) and rates (n, m) of all steps but the first, and the timestep."""
    info = json.loads((folder / "meta/info.json").read_text())
    h, names = 1.0 / info["fps"], info["features"]["observation.state"]["names"]
    columns = {
        part: [i for i, name in enumerate(names) if name.startswith(part + ".")]
        for part in ("arm_target", "arm_measured_tip", "arm_command")
    }
    inputs, rates = [], []
    for file in sorted(folder.glob("data/*/*.parquet")):
        table = pq.read_table(file, columns=["observation.state", "action"])
        state, action = (
            column.combine_chunks().flatten().to_numpy().reshape(len(table), -1).astype(float)
            for column in table.columns
        )
        target, tip, command = (state[:, columns[part]] for part in columns)
        velocity = np.diff(target, axis=0) / h
        # Sensors of a row are those of the step that led to it, in which the command of that row was made.
        inputs.append(features(target[1:], velocity, tip[1:], command[:-1]))
        rates.append((action[:-1] - command[:-1]) / h)
    return np.concatenate(inputs), np.concatenate(rates), h


def predicted(weights, x):
    for w, b in weights[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = weights[-1]
    return x @ w + b


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the data set")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("imitated.npz"))
    options = parser.parse_args()
    inputs, rates, h = read(options.data)
    mean, deviation, scale = inputs.mean(axis=0), inputs.std(axis=0) + 1e-6, float(rates.std())
    x, y = ((inputs - mean) / deviation).astype(np.float32), (rates / scale).astype(np.float32)
    sizes = [x.shape[1], HIDDEN, HIDDEN, y.shape[1]]
    keys = jax.random.split(jax.random.key(options.seed), len(sizes) - 1)
    weights = [
        (jax.nn.initializers.orthogonal()(key, (a, b)), jnp.zeros(b)) for key, a, b in zip(keys, sizes, sizes[1:])
    ]
    steps = options.epochs * (len(x) // BATCH)
    optimizer = optax.adam(optax.cosine_decay_schedule(RATE, steps))

    def loss(weights, x, y):
        error = ((predicted(weights, x) - y) ** 2).sum(axis=1)
        return (error / ((SMALL_RATE / scale) ** 2 + (y**2).sum(axis=1))).mean()

    @jax.jit
    def improve(weights, memory, x, y):
        value, gradient = jax.value_and_grad(loss)(weights, x, y)
        change, memory = optimizer.update(gradient, memory)
        return optax.apply_updates(weights, change), memory, value

    rng, memory, start = np.random.default_rng(options.seed), optimizer.init(weights), time.perf_counter()
    for epoch in range(options.epochs):
        values = []
        for rows in np.split(rng.permutation(len(x))[: len(x) // BATCH * BATCH], len(x) // BATCH):
            weights, memory, value = improve(weights, memory, x[rows], y[rows])
            values.append(value)
        print(
            f"epoch {epoch + 1}, {time.perf_counter() - start:.0f} s: relative error of the rates "
            f"{float(np.sqrt(np.mean(values))):.3f}",
            flush=True,
        )
    parts = {f"{kind}{i}": np.asarray(p) for i, pair in enumerate(weights) for kind, p in zip("wb", pair)}
    np.savez(options.out, mean=mean, deviation=deviation, scale=scale, **parts)


if __name__ == "__main__":
    main()
