#!/usr/bin/env python3
"""An arm whose tendons emulated Dynamixel servos pull, on a pseudo-terminal.

usage: emulated_arm.py MODEL.xml BUS.toml TIMESTEP [GEAR_FRICTION]

MODEL.xml is a plain model of MuJoCo, from `tendril model --plain`: the true arm, which may differ from the robot file.
Prints the bus file with the port of the terminal, and at the end, after an interrupt, where the tip is.

Each reading of the servos' state makes TIMESTEP seconds of simulated time pass, whatever time it is: what the arm does
depends neither on the machine nor on its load. The servos follow their goals with a lag and a largest speed, have the
friction of their gears (a fraction of the torque [0.1]), and tell their state with a delay.
"""

import collections
import contextlib
import math
import re
import signal
import sys
import tempfile
import tomllib
from pathlib import Path

import mujoco
import numpy as np
from dynamixel_emulator import SYNC_READ, Emulator, Servo

MODELS = {"xl330": 1200, "xc330": 1220, "xm430": 1020, "xm540": 1130}
CURRENT_UNITS = {"xl330": 1e-3, "xc330": 1e-3, "xm430": 2.69e-3, "xm540": 2.69e-3}  # A
STEPS = 4096 / (2 * math.pi)  # of a radian
STATE_END = 136  # of the registers of current, velocity and position


class Winch(Servo):
    """A servo that pulls a tendon of the model. Its time is that of the model."""

    def __init__(self, table):
        super().__init__(table["id"], MODELS[table["model"]])
        self.table = table
        self.patience = math.inf
        self.position = STEPS * table["zero"]
        self.speed = 0.0  # steps/s
        self.told = collections.deque()
        self.tell(0.0)

    def move(self):
        """Time passes in `advance`."""

    @property
    def paid_out(self):
        """Length of the tendon on the body's side, more than with the arm straight, m."""
        turned = self.position / STEPS - self.table["zero"]
        return self.table.get("direction", 1) * self.table["radius"] * turned

    def advance(self, timestep, lag, top_speed):
        way = (self.get("goal_position") - self.position) * -math.expm1(-timestep / lag) if self.is_driven else 0.0
        most = top_speed * STEPS * timestep
        way = min(max(way, -most), most)
        self.position += way
        self.speed = way / timestep

    def tell(self, tension, delay=0, friction=0.0):
        """Keeps the state, and puts into the registers the one of some calls ago."""
        table = self.table
        torque = -table.get("direction", 1) * tension * table["radius"]
        if abs(self.speed) > 1.0:
            torque += friction * abs(torque) * math.copysign(1.0, self.speed)
        current = torque / table.get("torque_constant", 1.0) / CURRENT_UNITS[table["model"]]
        speed = self.speed / 4096 * 60 / 0.229
        self.told.append((round(self.position), round(speed), round(current) if self.is_driven else 0))
        while len(self.told) > delay + 1:
            self.told.popleft()
        position, velocity, current = self.told[0]
        self.set("present_position", position)
        self.set("present_velocity", velocity)
        self.set("present_current", current)


class EmulatedArm(Emulator):
    """
    :param timestep: simulated time between two readings of the state, s
    :param lag: time constant of the servos, s
    :param top_speed: of the servos, rad/s
    :param friction: of the gears, a fraction of the torque
    :param delay: age of what the servos tell, s
    """

    def __init__(self, model, bus, timestep, lag=0.02, top_speed=10.0, friction=0.1, delay=0.004):
        self.model = mujoco.MjModel.from_xml_path(str(model))
        self.data = mujoco.MjData(self.model)
        self.substeps = max(1, round(timestep / self.model.opt.timestep))
        self.lag, self.top_speed, self.friction = lag, top_speed, friction
        self.delay = round(delay / self.model.opt.timestep)
        self.winches = [Winch(table) for table in tomllib.loads(Path(bus).read_text())["servo"]]
        self.actuators = [self.model.actuator(winch.table["actuator"]).id for winch in self.winches]
        self.pull()
        mujoco.mj_forward(self.model, self.data)
        super().__init__(*self.winches)
        self.text = re.sub(r"(?m)^port = .*$", f'port = "{self.port}"', Path(bus).read_text())

    @property
    def tip(self):
        """Position in the frame of the base, m."""
        base = self.data.body("base")
        return base.xmat.reshape(3, 3).T @ (self.data.site("tip").xpos - base.xpos)

    def pull(self):
        for winch, actuator in zip(self.winches, self.actuators, strict=True):
            self.data.ctrl[actuator] = winch.paid_out

    def before(self, number, instruction, parameters):
        address, size = int.from_bytes(parameters[:2], "little"), int.from_bytes(parameters[2:4], "little")
        if instruction != SYNC_READ or address + size != STATE_END:
            return
        for _ in range(self.substeps):
            for winch in self.winches:
                winch.advance(self.model.opt.timestep, self.lag, self.top_speed)
            self.pull()
            mujoco.mj_step(self.model, self.data)
            for winch, actuator in zip(self.winches, self.actuators, strict=True):
                winch.tell(abs(self.data.actuator_force[actuator]), self.delay, self.friction)


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    model, bus, timestep, *friction = sys.argv[1:]
    options = {"friction": float(*friction)} if friction else {}
    with tempfile.TemporaryDirectory() as folder, EmulatedArm(model, bus, float(timestep), **options) as arm:
        file = Path(folder, "bus.toml")
        file.write_text(arm.text)
        print(file, flush=True)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with contextlib.suppress(KeyboardInterrupt):
            arm.thread.join()
        print(f"{arm.data.time:.2f} s; the tip is at", np.array2string(1e3 * arm.tip, precision=2), "mm", flush=True)


if __name__ == "__main__":
    main()
