#!/usr/bin/env python3
"""An arm whose tendons emulated Dynamixel servos pull, on a pseudo-terminal.

MODEL.xml is a plain model of MuJoCo, from `tendril model --plain`: the true arm, which may differ from the robot file.
Prints the bus file with the port of the terminal, with --tracker the address of a tip tracker too, and at the end,
after an interrupt, where the tip is.

Each reading of the servos' state makes TIMESTEP seconds of simulated time pass, whatever time it is: what the arm does
depends neither on the machine nor on its load. The servos follow their goals with a lag and a largest speed, have the
friction of their gears (a fraction of the torque [0.1]), and tell their state with a delay.
"""

import argparse
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

sys.path.append(str(Path(__file__).resolve().parents[2] / "docs/guide/drive"))
from tracker import Tracker

MODELS = {"xl330": 1200, "xc330": 1220, "xm430": 1020, "xm540": 1130}
CURRENT_UNITS = {"xl330": 1e-3, "xc330": 1e-3, "xm430": 2.69e-3, "xm540": 2.69e-3}  # A
STEPS = 4096 / (2 * math.pi)  # of a radian
STATE_END = 136  # of the registers of current, velocity and position


class Winch(Servo):
    """A servo that pulls a tendon of the model. Its time is that of the model."""

    def __init__(self, table, zero=None):
        super().__init__(table["id"], MODELS[table["model"]])
        self.table = table
        self.zero = table["zero"] if zero is None else zero
        self.patience = math.inf
        self.position = STEPS * self.zero
        self.speed = 0.0  # steps/s
        self.told = collections.deque()
        self.tell(0.0)

    def move(self):
        """Time passes in `advance`."""

    @property
    def paid_out(self):
        """Length of the tendon on the body's side, more than with the arm straight, m."""
        turned = self.position / STEPS - self.zero
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


class EmulatedTracker:
    """The tip tracker of a robot file: its `NAME_position` and `NAME_orientation`, with noise, rate and delay."""

    def __init__(self, robot, seed):
        table = tomllib.loads(Path(robot).read_text())
        readings = {}
        for sensor in table["sensor"]:
            if sensor["kind"] == "tip_tracker":
                self.table = sensor
                readings |= {sensor["name"] + "_position": 3, sensor["name"] + "_orientation": 4}
            else:  # of each tendon
                readings |= {f"{sensor['name']}_{tendon['name']}": 1 for tendon in table["tendon"]}
        actuators = [tendon["name"] for tendon in table["tendon"]]
        self.link = Tracker(robot, self.table["name"], readings=readings, actuators=actuators)
        self.random = np.random.default_rng(seed)
        self.samples, self.next = collections.deque(), 0.0

    def advance(self, time, position, orientation):
        if time >= self.next:
            self.next += 1 / self.table["rate"]
            place, turn = self.table["noise"]
            turned = np.empty(4)
            turn = self.random.normal(0, turn, 3)
            mujoco.mju_axisAngle2Quat(turned, turn / np.linalg.norm(turn), np.linalg.norm(turn))
            mujoco.mju_mulQuat(turned, turned.copy(), orientation)
            self.samples.append((time, [*(position + self.random.normal(0, place, 3)), *turned]))
        if self.samples and time >= self.samples[0][0] + self.table["delay"] - 1e-9:
            self.link.tell(self.samples.popleft()[1])


class EmulatedArm(Emulator):
    """
    :param timestep: simulated time between two readings of the state, s
    :param lag: time constant of the servos, s
    :param top_speed: of the servos, rad/s
    :param friction: of the gears, a fraction of the torque
    :param delay: age of what the servos tell, s
    :param zeros: angles of the servos with the arm straight, rad, if they are not those of the bus file
    :param slack: that each tendon has at the start, m
    :param is_held: the arm is held straight
    :param tracker: robot file with a tip tracker, whose readings come over UDP
    """

    def __init__(
        self,
        model,
        bus,
        timestep,
        lag=0.02,
        top_speed=10.0,
        friction=0.1,
        delay=0.004,
        zeros=None,
        slack=0.0,
        is_held=False,
        tracker=None,
        seed=0,
    ):
        self.model = mujoco.MjModel.from_xml_path(str(model))
        self.data = mujoco.MjData(self.model)
        self.substeps = max(1, round(timestep / self.model.opt.timestep))
        self.lag, self.top_speed, self.friction = lag, top_speed, friction
        self.delay = round(delay / self.model.opt.timestep)
        tables = tomllib.loads(Path(bus).read_text())["servo"]
        self.winches = [Winch(table, zero) for table, zero in zip(tables, zeros or [None] * len(tables), strict=True)]
        for winch in self.winches:
            winch.position += winch.table.get("direction", 1) * slack / winch.table["radius"] * STEPS
            winch.tell(0.0)
        self.is_held = is_held
        self.tracker = EmulatedTracker(tracker, seed) if tracker else None
        self.rows = []  # time, tip, and what the drums have paid out, at each reading
        self.actuators = [self.model.actuator(winch.table["actuator"]).id for winch in self.winches]
        self.pull()
        mujoco.mj_forward(self.model, self.data)
        super().__init__(*self.winches)
        self.text = re.sub(r"(?m)^port = .*$", f'port = "{self.port}"', Path(bus).read_text())

    def close(self):
        super().close()
        if self.tracker:
            self.tracker.link.socket.close()

    @property
    def tip(self):
        """Position in the frame of the base, m."""
        base = self.data.body("base")
        return base.xmat.reshape(3, 3).T @ (self.data.site("tip").xpos - base.xpos)

    @property
    def tip_orientation(self):
        """Unit quaternion in the frame of the base."""
        quat = np.empty(4)
        R_BT = self.data.body("base").xmat.reshape(3, 3).T @ self.data.site("tip").xmat.reshape(3, 3)
        mujoco.mju_mat2Quat(quat, R_BT.ravel())
        return quat

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
            if self.is_held:
                self.data.qpos[:] = self.model.qpos0
                self.data.qvel[:] = 0.0
            mujoco.mj_step(self.model, self.data)
            if self.tracker:
                self.tracker.advance(self.data.time, self.tip, self.tip_orientation)
            for winch, actuator in zip(self.winches, self.actuators, strict=True):
                winch.tell(abs(self.data.actuator_force[actuator]), self.delay, self.friction)
        self.rows.append((self.data.time, *self.tip, *(winch.paid_out for winch in self.winches)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL.xml")
    parser.add_argument("bus", metavar="BUS.toml")
    parser.add_argument("timestep", type=float, help="simulated time between two readings, s")
    parser.add_argument("--friction", type=float, default=0.1, help="of the gears, a fraction of the torque [0.1]")
    parser.add_argument("--held", action="store_true", help="the arm is held straight, its tendons are slack")
    parser.add_argument(
        "--zeros", type=float, nargs="*", help="true zero angles of the servos, rad [those of BUS.toml]"
    )
    parser.add_argument("--tracker", metavar="ROBOT.toml", help="tells the readings of its tip tracker over UDP")
    parser.add_argument("--seed", type=int, default=0, help="of the tracker's noise [0]")
    parser.add_argument("--truth", metavar="FILE.csv", help="where the tip and the drums were")
    args = parser.parse_args()
    options = {"friction": args.friction, "is_held": args.held, "zeros": args.zeros, "tracker": args.tracker}
    options |= {"slack": 0.004 if args.held else 0.0, "seed": args.seed}
    with (
        tempfile.TemporaryDirectory() as folder,
        EmulatedArm(args.model, args.bus, args.timestep, **options) as arm,
    ):
        file = Path(folder, "bus.toml")
        file.write_text(arm.text)
        print(file, f"127.0.0.1:{arm.tracker.link.port}" if arm.tracker else "", flush=True)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with contextlib.suppress(KeyboardInterrupt):
            arm.thread.join()
        print(f"{arm.data.time:.2f} s; the tip is at", np.array2string(1e3 * arm.tip, precision=2), "mm", flush=True)
        if args.truth:
            head = ",".join(["t", "x", "y", "z", *(winch.table["actuator"] for winch in arm.winches)])
            np.savetxt(args.truth, arm.rows, delimiter=",", header=head, comments="", fmt="%.6g")


if __name__ == "__main__":
    main()
