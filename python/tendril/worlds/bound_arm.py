"""One arm in all worlds, as its controllers have it."""

from __future__ import annotations

import math
import pickle
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

import tendril as td
from tendril.worlds.arm import (
    LENGTH_SCALE,
    Arm,
    ArmSettings,
    Integral,
    Step,
    mat33,
    measure,
    vec3,
    vec6,
    write_setpoints,
)
from tendril.worlds.controller import engine_of
from tendril.worlds.kinematics import directions
from tendril.worlds.measurement_faults import MeasurementFaults
from tendril.worlds.sensed_arm import SensedArm
from tendril.worlds.tables import BoundRobot, Table
from tendril.worlds.tendon_friction import (
    constraints_of,
    forget_friction,
    friction_for,
    keep_friction,
    limit_friction,
)
from tendril.worlds.tendons import tendons_for, write_tendons
from tendril.worlds.turns import forget_turns, measure_turns, turns_for, write_turns
from tendril.worlds.twists import forget_twists, measure_twists, twist_command, twists_for

_ALLOWED: Mapping[str, Sequence[str]] = {"measured": ("truth", "sensors")}
# Tables of a robot file that are not of its kinematics.
_OTHERS = re.compile(r"^\[(?:controller|skin)\].*?(?=^\[+[\w.]+\]+\s*(?:#.*)?$|\Z)", re.M | re.S)
_SERVO = {  # field of Arm: key of the table
    "gain": "gain",
    "servo_stiffness": "stiffness",
    "damping": "damping",
    "lag": "lag",
    "servo_offset": "offset",
    "min_force": "min_force",
    "max_force": "max_force",
}


class BoundArm(BoundRobot):
    """One arm in all worlds: its tables on the device, and the memory of a step."""

    def __init__(
        self,
        tables: Sequence[Table],
        model: Any,
        count: int,
        device: Any,
        allowed: Mapping[str, Sequence[str]] = {},
    ) -> None:
        """
        :param tables: of the arm, from `tendril._sim.controlled_robots`: one, or one for each world
        :param allowed: values of settings that its controller knows
        :raises ModelError: what its controller, or none of arms, does on a device
        """
        super().__init__(tables, count, device)
        self.require({**_ALLOWED, **allowed})
        if not all(servo["works"] for one in tables for servo in one["servos"]):
            raise td.ModelError(
                f"{self.name}: has a servo without a gain or a range of forces: not supported in worlds"
            )
        robots = _robots_of(tables)
        self.robot = robots[0]
        if any(pickle.dumps(other) != pickle.dumps(self.robot) for other in robots):
            raise td.ModelError(f"{self.name}: lengths differ between the worlds: must be the same")
        self.arm = self._bind(model)
        self._tendons, self._turns, self._twists = tendons_for(self, model), turns_for(self), twists_for(self, model)
        self._friction = friction_for(self, model, self.robot)
        self.true = self.step = self._step()  #: the step of the body
        self._sensed: SensedArm | None = None
        if "sensed" in tables[0]:
            self._sensed = SensedArm(self, model, self.robot, self.arm, self._tendons)
            self.step = self._step()  #: what setpoints follow from: as the sensors tell
        self._faults = MeasurementFaults(self, self.step, model.opt.timestep)
        self.seen = self._faults.seen  #: the step as the controller sees it
        self.integral = self._integral(model.opt.timestep)

    def correct_from(self, first: int) -> None:
        """Leaves the coordinates before this one, of a passive shaft, without corrections; the rest hangs on it."""
        arm = self.arm
        driven = np.arange(arm.coordinates) >= first
        arm.is_driven_in_part, arm.projector = True, self.numbers([np.diag(driven)] * arm.rows)
        settings = [_settings_of(one, arm.timestep) for one in self.tables]
        for one in settings:
            one.stability = math.inf  # the wall supports the shaft
        arm.settings = wp.array(settings, dtype=ArmSettings, device=self.device)

    def reset(self, chosen: Any) -> None:
        """Forgets faults, turns, twist and friction of the chosen worlds, (count,) of bool."""
        self._faults.reset(chosen)
        if self._sensed is not None:
            self._sensed.reset(chosen)
        if self._turns is not None:
            self.launch(forget_turns, [chosen, self._turns])
        if self._twists is not None:
            self.launch(forget_twists, [chosen, self._twists])
        if self._friction is not None:
            self.launch(forget_friction, [chosen, self._friction])

    def measure(self, model: Any, data: Any) -> None:
        """Measures, from the positions of this step."""
        self._model, self.engine = model, engine_of(model, data)
        self.launch(measure, [self.arm, self.engine, self.true])
        if self._sensed is not None:
            self.engine = self._sensed.sense(model, data, self.engine, self.true)
            self.launch(measure, [self.arm, self.engine, self.step])
        if self._turns is not None:
            self.launch(measure_turns, [self._turns, self.engine, self.step])
        if self._twists is not None:
            self.launch(measure_twists, [self.arm, self._twists, self.engine, data.M, self.step])
        self._faults.apply()

    def write_setpoints(self, data: Any) -> None:
        """Writes `ctrl` from the command of the step, and the limits of its tendons' friction."""
        if self._friction is not None:
            self.launch(limit_friction, [self._friction, self.true, constraints_of(data)])
        if self._twists is not None:
            self.launch(twist_command, [self.arm, self._twists, self.step])
        if self._turns is not None:
            self.launch(write_turns, [self.arm, self._turns, self.engine, self.step, data.ctrl])
        if self._tendons is not None:
            self.launch(write_tendons, [self.arm, self._tendons, self.engine, self.step, data.ctrl])
        self.launch(write_setpoints, [self.arm, self.engine, self.step, data.ctrl])
        if self._sensed is not None:
            self._sensed.keep(self._model, data, self.engine)

    def read_forces(self, data: Any) -> None:
        """At the end of a step."""
        if self._sensed is not None:
            self._sensed.end_step(data)
        if self._friction is not None:
            self.launch(keep_friction, [self._friction, data.actuator_force, constraints_of(data)])

    def _bind(self, model: Any) -> Any:
        tables, table = self.tables, self.tables[0]
        coordinates, servos = table["coordinates"], table["servos"]
        joints = [joint for row in coordinates for joint in row["joints"]]
        arm = Arm()
        arm.rows, arm.coordinates = len(tables), len(coordinates)
        arm.base_body, arm.tip_site, arm.target_mocap = table["base_body"], table["tip_site"], self.same("target_mocap")
        arm.first_joint = self.integers(np.cumsum([0, *(len(row["joints"]) for row in coordinates)]))
        arm.joint, arm.joint_servo = self.integers([j[0] for j in joints]), self.integers([j[3] for j in joints])
        arm.fraction = self.numbers([j[1] for j in joints])
        arm.link_start, arm.link_length = self.numbers([j[4] for j in joints]), self.numbers([j[5] for j in joints])
        arm.mass = self.numbers([[j[2] for row in one["coordinates"] for j in row["joints"]] for one in tables])
        arm.sign = self.numbers([row["sign"] for row in coordinates])
        arm.offset = self.numbers([row["offset"] for row in coordinates])
        arm.stiffness = self.numbers([[row["stiffness"] for row in one["coordinates"]] for one in tables])
        arm.servo = self.integers([row["servo"] for row in coordinates])
        arm.shares = self.integers([row["servo"] >= 0 or row["has_tendons"] for row in coordinates])
        arm.is_passive = self.integers([row["is_passive"] for row in coordinates])
        arm.is_slide = self.integers([row["is_slide"] for row in coordinates])
        arm.scale = self.numbers(self._scales())
        arm.control = self.integers([model.actuator_ctrladr[servo["actuator"]] for servo in servos])
        for field, key in _SERVO.items():
            setattr(arm, field, self.numbers([[servo[key] for servo in one["servos"]] for one in tables]))
        none = {"joint": -1, "servo": -1, "mass": 0.0}
        for name in ("feed", "spin"):
            for key in ("joint", "servo"):
                setattr(arm, f"{name}_{key}", table.get(name, none)[key])
            setattr(arm, f"{name}_mass", self.numbers([one.get(name, none)["mass"] for one in tables]))
        arm.timestep = model.opt.timestep
        arm.settings = wp.array(
            [_settings_of(one, arm.timestep) for one in tables], dtype=ArmSettings, device=self.device
        )
        return arm

    def _scales(self) -> list[float]:
        """Of the coordinates."""
        scales: list[float] = []
        for section in self.robot.sections:
            u, v, _ = directions(section)
            scales += [u, v] + [LENGTH_SCALE] * (section.variable_length > 0.0)
        return scales

    def _integral(self, timestep: float) -> Any:
        integral = Integral()
        integral.correction, integral.oldest = self.zeros(self.arm.coordinates), self.zeros(kind=int)
        integral.late = self.zeros(max(_delay_of(one, timestep) for one in self.tables), kind=vec6)
        return integral

    def _step(self) -> Any:
        n, joints = self.arm.coordinates, self.arm.joint.shape[0]
        step = Step()
        for key in (
            "q",
            "measured_rate",
            "sum",
            "speed",
            "load",
            "moment",
            "pull",
            "q_rate",
            "moment_command",
            "command",
            "change",
            "unprojected",
        ):
            setattr(step, key, self.zeros(n))
        step.joint_load, step.jacobian = self.zeros(joints), self.zeros(6, n)
        step.normal, step.solved = self.zeros(6, 6), self.zeros(6)
        step.uneven, step.swing = self.zeros(n, kind=vec3), self.zeros(kind=vec6)
        step.deflection, step.tip, step.tip_frame = (self.zeros(kind=kind) for kind in (vec3, vec3, mat33))
        step.target, step.target_frame = self.zeros(kind=vec3), self.zeros(kind=mat33)
        for key in (
            "tip_error",
            "feed",
            "feed_position",
            "feed_speed",
            "feed_load",
            "feed_command",
            "feed_rate",
            "spin",
            "spin_command",
            "tip_twist",
        ):
            setattr(step, key, self.zeros())
        return step


def _delay_of(table: Table, timestep: float) -> int:
    return int(float(table["settings"]["sensor_delay"]) / timestep + 0.5)


def _settings_of(table: Table, timestep: float) -> Any:
    texts, settings = table["settings"], ArmSettings()
    settings.delay = _delay_of(table, timestep)
    settings.gravity = vec3(*table["gravity"])
    settings.feed_forward = float(table["velocity_feed_forward"])
    settings.guide_length = table["guide_length"]
    settings.stability = min(table["fundamental_mode_damping"], 1e30)
    settings.swing = LENGTH_SCALE * float(texts["following_tolerance"])
    for key in ("rate_limit", "integral_gain", "integral_damping", "integral_limit"):
        setattr(settings, key, float(texts[key]))
    settings.feed_speed = float(texts.get("feed_speed", "inf"))
    settings.compensates_deflection = texts["deflection_compensation"] == "true"
    return settings


def _robots_of(tables: Sequence[Table]) -> list[td.ContinuumRobot]:
    """The kinematics of the arms."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "robot.toml"

        def robot_of(table: Table) -> td.ContinuumRobot:
            file.write_text(_OTHERS.sub("", table["settings"]["robot"]) + '\n[controller]\nplugin = "elsewhere"\n')
            return td.load_robot(file, td.ContinuumRobot)

        return [robot_of(table) for table in tables]
