"""A controller: the tip follows the target by damped least squares on the tip's Jacobian."""

import numpy as np
from numpy.typing import NDArray

import tendril as td

Array = NDArray[np.float64]


@td.controller(
    "my.reach",
    kind="continuum",
    settings={
        "gain": (5.0, "1/s", "rate of the tip per error", (0, 100)),
        "damping": (0.005, "m/rad", "of the least squares", (0, None)),
        "rate_limit": (3.0, "rad/s", "largest rate of a bend", (0, None)),
    },
)
class Reach:
    def __init__(self, context: td.ArmContext) -> None:
        self.robot, self.settings = context.robot, context.settings
        self.size = context.robot.coordinate_count
        self.memory_size = self.size + 3  # the commanded coordinates and the last target

    def update(
        self,
        m: td.ArmMeasurement,
        memory: Array,
        next_memory: Array,
        command: td.ArmCommand,
        report: td.ControllerReport,
    ) -> None:
        target, tip = m.target[:3, 3], m.tip[:3, 3]
        q, last_target = memory[: self.size], memory[self.size :]
        target_velocity = (target - last_target) / m.timestep if last_target.any() else np.zeros(3)
        tip_velocity = target_velocity + self.settings["gain"] * (target - tip)

        J = m.tip_jacobian[:3, : self.size]
        inverse = J.T @ np.linalg.inv(J @ J.T + self.settings["damping"] ** 2 * np.eye(3))
        rate = inverse @ tip_velocity
        rate *= min(1.0, self.settings["rate_limit"] / max(np.abs(rate).max(), 1e-9))  # slower, same direction

        command.q[:] = self.robot.coordinates(self.robot.clamp(self.robot.states(q + rate * m.timestep)))
        command.q_rate[:] = rate
        next_memory[: self.size], next_memory[self.size :] = command.q, target
        report.tip_error = float(np.linalg.norm(target - tip))
