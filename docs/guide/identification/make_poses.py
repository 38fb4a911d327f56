"""Writes poses.csv: static poses of an arm that differs from arm.toml in ways that are known, simulated until they
rest.

usage: make_poses.py [FILE]   (Python with the package tendril-mujoco)
"""

import csv
import sys
from pathlib import Path

import mujoco
import numpy as np

FOLDER = Path(__file__).parent
#: What was built, beside what arm.toml says.
TRUTH = {
    "bending_stiffness = 0.050": "bending_stiffness = 0.061",
    "bending_stiffness = 0.030": "bending_stiffness = 0.027",
    "stiffness = 20000": "stiffness = 13500",
}
POSES, NOISE, SECONDS = 32, 0.0003, 1.5  # NOISE: standard deviation of every measured coordinate, m
SCENE = """<mujoco><option integrator="discrete" timestep="0.0005" cone="elliptic" impratio="10"/>
  <asset><model name="arm" file="arm.toml"/></asset><worldbody><attach model="arm" body="base" prefix="arm_"/>
</worldbody></mujoco>"""

robot = "timestep = 0.0005\n" + (FOLDER / "arm.toml").read_text()
for designed, built in TRUTH.items():
    assert designed in robot
    robot = robot.replace(designed, built)
model = mujoco.MjModel.from_xml_string(SCENE, {"arm.toml": robot.encode()})
data = mujoco.MjData(model)
tip = model.site("arm_tip")
random = np.random.default_rng(7)
with open(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER / "poses.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(
        [
            *(f"tendon_{k}_mm" for k in range(1, 7)),
            "force_x_N",
            "force_y_N",
            "force_z_N",
            *(f"{point}_{axis}_mm" for point in ("s1_end", "tip") for axis in "xyz"),
        ]
    )
    for pose in range(POSES):
        mujoco.mj_resetData(model, data)
        pulls = np.round(random.uniform(-6, 2, 6), 2)  # mm
        force = np.round(random.uniform(-0.5, 0.5, 3), 2) if pose % 2 else np.zeros(3)
        data.ctrl[:] = 1e-3 * pulls
        for _ in range(round(SECONDS / model.opt.timestep)):
            data.qfrc_applied[:] = 0
            mujoco.mj_applyFT(model, data, force, np.zeros(3), data.site_xpos[tip.id], tip.bodyid[0], data.qfrc_applied)
            mujoco.mj_step(model, data)
        assert np.abs(data.qvel).max() < 1e-4, "the arm does not rest"
        places = np.concatenate([data.site(f"arm_{point}").xpos for point in ("s1_end", "tip")])
        writer.writerow([*pulls, *force, *np.round(1000 * (places + random.normal(0, NOISE, 6)), 2)])
