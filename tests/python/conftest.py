"""What tests share. They send Ctrl-C to processes, which a shell without job control starts with it ignored."""

import signal

import numpy as np
import pytest

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def beside_c():
    """Steps worlds and the runs of the C engine that they stand for."""

    def step(worlds, runs, steps, *names):
        """Positions of all worlds and runs after as many steps, then what their first robots report by these names."""
        worlds.step(steps)
        for run in runs:
            for _ in range(steps):
                run.step()
        ours = [getattr(worlds.controllers[0], name).numpy() for name in names]
        robot = worlds.controllers[0].name if names else ""
        meant = [np.array([run.data.sensor(f"{robot}_{name}").data[0] for run in runs]) for name in names]
        return worlds.qpos.numpy(), np.stack([run.data.qpos for run in runs]), ours, meant

    return step
