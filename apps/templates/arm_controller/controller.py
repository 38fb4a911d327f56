"""A controller in Python: inverse kinematics of the target in every step, and integral action on the tip's error.

tendril run {{name}}/{{name}}.toml --python {{name}}/controller.py --controller my.reach
"""

import numpy as np
from numpy.typing import NDArray

import tendril as td

Array = NDArray[np.float64]


@td.controller(
    "my.reach",
    kind="continuum",
    settings={"gain": (3.0, "1/s", "of the integral action", (0, 20))},
)
class Reach:
    memory_size = 3  # the sum of the tip's errors, m: saving and restoring a simulation takes it along

    def __init__(self, context: td.ArmContext) -> None:
        self.robot, self.settings = context.robot, context.settings
        self.solver = td.Solver(context.robot, max_restarts=0)  # remains near the start

    def update(
        self,
        measurement: td.ArmMeasurement,
        memory: Array,
        next_memory: Array,
        command: td.ArmCommand,
        report: td.ControllerReport,
    ) -> None:
        target, tip = measurement.target[:3, 3], measurement.tip[:3, 3]
        step = self.settings["gain"] * measurement.timestep * (target - tip)
        next_memory[:] = np.clip(memory + step, -0.05, 0.05)

        result = self.solver.solve(target + memory, self.robot.states(measurement.q))
        command.q[:] = command.plan[:] = self.robot.coordinates(result.states)
        report.target[:] = target
        report.tip_error = float(np.linalg.norm(tip - target))
        if not result.converged:
            report.status = td.ControllerStatus.NOT_REACHED
