"""A controller: inverse kinematics of the target, and an integral action on the measured tip."""

import numpy as np
from numpy.typing import NDArray

import tendril as td

Array = NDArray[np.float64]


@td.controller(
    "my.reach",
    kind="continuum",
    settings={"gain": (5.0, "1/s", "of the integral", (0, 100)), "limit": (0.05, "m", "of the correction")},
)
class Reach:
    memory_size = 3  # the correction of the target, m: all that lasts from step to step

    def __init__(self, context: td.ArmContext) -> None:
        self.robot, self.settings = context.robot, context.settings
        self.solver = td.Solver(context.robot, max_iterations=50)

    def update(
        self,
        m: td.ArmMeasurement,
        memory: Array,
        next_memory: Array,
        command: td.ArmCommand,
        report: td.ControllerReport,
    ) -> None:
        error = m.target[:3, 3] - m.tip[:3, 3]
        limit = self.settings["limit"]
        next_memory[:] = np.clip(memory + self.settings["gain"] * m.timestep * error, -limit, limit)
        result = self.solver.solve(m.target[:3, 3] + memory)
        command.q[:] = self.robot.coordinates(result.states)
        report.tip_error = float(np.linalg.norm(error))
        report.iterations = int(result.iterations)
        if not result.converged:
            report.status = td.ControllerStatus.NOT_REACHED
