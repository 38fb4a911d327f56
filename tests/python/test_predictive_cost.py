"""Costs in Python of `tendril.predictive`: the same numbers as in C++ command the same."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import tendril as td

_numbers = itertools.count()

SECTION = "[[section]]\nconstant_length = 0.1\nbend_limit = 1.745\nlinks = 6\nradius = 0.008\nmass = 0.07\n"
ARM = 'kind = "continuum"\nname = "arm"\n' + 3 * SECTION
SCENE = """
<mujoco>
  <option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10" iterations="100"/>
  <asset><model name="robot" file="robot.toml"/></asset>
  <worldbody>
    <attach model="robot" body="base" prefix="R_"/>
    <body name="target" mocap="true" pos="0 0.03 0.24"/>
    <body name="post" mocap="true" pos="-0.07 0 0.15">
      <geom type="capsule" size="0.012 0.06" euler="90 0 0"/>
    </body>
  </worldbody>
</mujoco>
"""
SMALL = "samples = 24\nhorizon_steps = 20\nobstacle_margin = 0.008\n"
WEIGHTS = {"length": 0.3, "margin": 0.008, "obstacle": 50.0, "rate": 0.02, "end": 1.0}  # defaults of the settings
Cost = Callable[[td.Rollouts, td.ArmMeasurement], Any]


def load(plugin: str, settings: str = SMALL) -> mujoco.MjModel:
    text = f'{ARM}[controller]\nplugin = "{plugin}"\n{settings}'
    return mujoco.MjModel.from_xml_string(SCENE, {"robot.toml": text.encode()})


def register(cost: Cost, **options: Any) -> str:
    name = f"test.cost_{next(_numbers)}"
    td.predictive_cost(name, **options)(cost)
    return name


def run(model: mujoco.MjModel, steps: int = 250) -> np.ndarray[Any, Any]:
    """The commands of an arm that a post crosses."""
    data, commands = mujoco.MjData(model), []
    for k in range(steps):
        data.mocap_pos[1] = [-0.07 * math.cos(0.006 * k), -0.04, 0.15]
        mujoco.mj_step(model, data)
        commands.append(data.ctrl.copy())
    assert data.sensor("R_status").data[0] != td.ControllerStatus.FAULT
    return np.array(commands)


def formula(r: td.Rollouts, m: td.ArmMeasurement) -> Any:
    """docs/theory/control.md (C.9b)."""
    w = WEIGHTS
    distance = np.linalg.norm(r.tips - r.targets, axis=2) / w["length"]
    missing = np.clip((w["margin"] - r.clearances) / w["margin"], 0, 2)
    steps = distance + w["obstacle"] * missing + w["rate"] * r.rates**2
    return steps.mean(axis=1) + w["end"] * distance[:, -1]


# ---- the same as in C++


def test_the_same_cost_in_python_commands_the_same() -> None:
    counts = []

    def counted(r: td.Rollouts, m: td.ArmMeasurement) -> Any:
        counts.append(len(r.costs))
        return formula(r, m)

    own = run(load(register(counted)))
    assert counts == [24, 1] * (len(counts) // 2) and len(counts) >= 2 * 25  # a plan every tenth step, or again
    in_cpp = run(load("tendril.predictive", SMALL + "straight_first = false\n"))
    assert np.abs(np.diff(in_cpp, axis=0)).max() > 1e-3
    assert np.abs(own - in_cpp).max() < 1e-9


def test_the_costs_of_the_settings_command_the_same_bits_and_a_seed_others() -> None:
    name = register(lambda r, m: r.costs)
    own = run(load(name))
    assert np.array_equal(own, run(load(name)))
    assert np.array_equal(own, run(load("tendril.predictive", SMALL + "straight_first = false\n")))
    assert not np.array_equal(own, run(load(name, SMALL + "seed = 1\n")))


# ---- what a cost is given


def test_rollouts_are_views_of_what_the_arm_would_do() -> None:
    seen: dict[str, Any] = {}

    def look(r: td.Rollouts, m: td.ArmMeasurement) -> Any:
        if len(r.costs) > 1 and m.time > 0.1:
            assert m.obstacles is not None
            seen.update({name: np.copy(getattr(r, name)) for name in ARRAYS})
            seen["measured"] = m.obstacles.poses.copy(), m.target.copy(), m.time
            seen["views"] = [getattr(r, name) for name in ARRAYS]
            seen["settings"] = r.settings, r.timestep
        return r.costs

    run(load(register(look, settings={"gain": (2.0, "", "")}), SMALL + "gain = 3\n"), 60)
    assert all(array.base is not None and not array.flags.writeable for array in seen["views"])
    assert seen["settings"] == ({"gain": 3.0}, pytest.approx(0.8 / 20))
    assert seen["q"].shape == (24, 20, 6) and seen["targets"].shape == (20, 3)
    arm = td.ContinuumRobot([td.Section(length=0.1, bend_limit=1.745)] * 3)
    poses = arm.tip_pose(arm.states(seen["q"]))
    assert np.allclose(seen["tips"], poses[..., :3, 3], atol=1e-12)
    assert np.allclose(seen["directions"], poses[..., :3, 2], atol=1e-12)
    assert np.allclose(seen["targets"], seen["measured"][1][:3, 3], atol=1e-12) and not seen["feed"].any()
    assert (seen["clearances"] <= 0.008).all() and (seen["rates"] <= 1 + 1e-12).all()
    # The plan of sample 2 is to stay.
    assert np.allclose(seen["q"][2, 0], seen["q"][2, -1], atol=0.05)


ARRAYS = ("q", "feed", "tips", "directions", "clearances", "rates", "costs", "targets", "target_directions")


def test_a_cost_does_what_no_setting_can() -> None:
    """The tip stays near its target and turns towards a point."""
    point = np.array([0.15, 0.1, 0.3])

    def look(r: td.Rollouts, m: td.ArmMeasurement) -> Any:
        sight = point - r.tips
        sight = sight / np.linalg.norm(sight, axis=2, keepdims=True)
        return r.costs + 0.5 * np.arccos(np.clip((sight * r.directions).sum(axis=2), -1, 1)).mean(axis=1)

    angles = []
    for name in ("tendril.predictive", register(look)):
        model = load(name)
        data = mujoco.MjData(model)
        data.mocap_pos[1] = [-0.3, 0, 0.15]
        mujoco.mj_step(model, data, 2000)
        tip = data.site("R_tip")
        sight = point - tip.xpos
        angles.append(math.acos(sight @ tip.xmat.reshape(3, 3)[:, 2] / np.linalg.norm(sight)))
        assert np.linalg.norm(tip.xpos - data.mocap_pos[0]) < 0.01
    assert angles[1] < 0.5 * angles[0], angles


# ---- errors


FAILING = f"""
import mujoco, numpy as np, tendril as td

@td.predictive_cost("my.failing")
def cost(r, m):
    if m.time >= 0.05:
        {{failure}}
    return r.costs

text = {ARM!r} + '[controller]\\nplugin = "my.failing"\\n'
model = mujoco.MjModel.from_xml_string({SCENE!r}, {{{{"robot.toml": text.encode()}}}})
data = mujoco.MjData(model)
mujoco.mj_step(model, data, 40)
held = data.ctrl.copy()
mujoco.mj_step(model, data, 50)
print(data.sensor("R_status").data[0], np.array_equal(data.ctrl, held))
"""


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        ("raise ValueError('no')", "my_cost.py:7: ValueError: no"),
        ("return r.costs[:-1]", "cost: shape = (63,), must be (..., 64)"),
        ("return np.nan * r.costs", "cost[0] = nan, must be finite"),
        ("r.q[:] = 0", "my_cost.py:7: ValueError: assignment destination is read-only"),
        ("return None", "cost: "),
    ],
)
def test_a_failing_cost_stops_its_controller_in_one_line(failure: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "my_cost.py").write_text(FAILING.format(failure=failure))
    done = subprocess.run([sys.executable, "my_cost.py"], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "5.0 True\n", done.stderr
    lines = [line for line in done.stderr.splitlines() if line]
    assert len(lines) == 1 and lines[0].startswith("WARNING: my.failing, instance 'R_controller': ")
    assert told in lines[0]


def test_what_is_no_cost_is_refused() -> None:
    with pytest.raises(td.ModelError, match=r"must be a function$"):
        td.predictive_cost("my.none")(3)  # type: ignore[type-var]
    with pytest.raises(
        td.ModelError, match=r"test_predictive_cost.py:\d+: my.none: .*must be .*\(rollouts, measurement\)"
    ):
        td.predictive_cost("my.none")(lambda r: r.costs)
    with pytest.raises(td.ModelError, match="my.none: settings: samples: must not be a setting of tendril.predictive"):
        td.predictive_cost("my.none", settings={"samples": (3, "", "")})(lambda r, m: r.costs)
    with pytest.raises(td.ModelError, match="must not be the name of another plugin"):
        td.predictive_cost("tendril.reach")(lambda r, m: r.costs)
