"""A custom controller: the tip moves on a circle around the base axis."""

import math

import mujoco
import numpy as np
from numpy.typing import NDArray

import tendril as td

Array = NDArray[np.float64]


@td.controller(
    "example.circle",
    kind="continuum",
    target=None,
    settings={
        "radius": (0.05, "m", "of the circle around the base axis", (0, None)),
        "height": (0.2, "m", "of the circle above the base", (0, None)),
        "period": (4.0, "s", "of one revolution", (0.1, None)),
    },
)
class Circle:
    memory_size = 1  # the phase: saving, restoring, copying the simulation takes it along

    def __init__(self, context: td.ArmContext) -> None:
        self.robot, self.settings = context.robot, context.settings
        self.solver = td.Solver(context.robot, "fabrikx")
        # Start from a small bend: the bending direction of a straight arm is undefined.
        self.start = np.array([[0.3, 0.0, 0.0]] * len(context.robot))

    def update(
        self,
        measurement: td.ArmMeasurement,
        memory: Array,
        next_memory: Array,
        command: td.ArmCommand,
        report: td.ControllerReport,
    ) -> None:
        phase = memory[0]
        next_memory[0] = math.fmod(phase + math.tau * measurement.timestep / self.settings["period"], math.tau)

        radius = self.settings["radius"]
        report.target[:] = radius * math.cos(phase), radius * math.sin(phase), self.settings["height"]
        self.start[:, 1] = phase
        result = self.solver.solve(report.target, self.start)
        command.q[:] = command.plan[:] = self.robot.coordinates(result.states)

        if not result.converged:
            report.status = td.ControllerStatus.NOT_REACHED
        report.iterations = int(result.iterations)
        report.tip_error = float(np.linalg.norm(measurement.tip[:3, 3] - report.target))


ARM = """
kind = "continuum"
name = "arm"

[[section]]
constant_length = 0.12
bend_limit = 2.0

[[section]]
constant_length = 0.12
bend_limit = 2.0

[controller]
plugin = "example.circle"
radius = 0.05
height = 0.2
"""
SCENE = """
<mujoco model="circle">
  <option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10" iterations="100"/>
  <asset><model name="arm" file="circle.toml"/></asset>
  <worldbody><attach model="arm" body="base" prefix="arm_"/></worldbody>
</mujoco>
"""

model = mujoco.MjModel.from_xml_string(SCENE, {"circle.toml": ARM.encode()})
data = mujoco.MjData(model)
while data.time < 2.0:
    mujoco.mj_step(model, data)
tip_error = data.sensor("arm_tip_error").data[0]
print(f"tip error after {data.time:.1f} s: {1e3 * tip_error:.3f} mm")

assert tip_error < 0.01
