"""Writes motion.csv: a motion of an arm that differs from arm.toml in ways that are known, simulated.

usage: make_motion.py [FILE [SEED]]   (Python with the package tendril-mujoco)
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
    "damping_time = 0.020": "damping_time = 0.033",
    "damping_time = 0.001": "damping_time = 0.003",
}
STEP, SAMPLE, SAMPLES, HELD = 0.001, 0.01, 160, 20  # s, s, and a new command every HELD samples
NOISE = 0.0003  # standard deviation of every measured coordinate, m
SCENE = f"""<mujoco><option integrator="discrete" timestep="{STEP}" cone="elliptic" impratio="10"/>
  <asset><model name="arm" file="arm.toml"/></asset><worldbody><attach model="arm" body="base" prefix="arm_"/>
</worldbody></mujoco>"""

robot = f"timestep = {STEP}\n" + (FOLDER / "arm.toml").read_text()
for designed, built in TRUTH.items():
    assert designed in robot
    robot = robot.replace(designed, built)
model = mujoco.MjModel.from_xml_string(SCENE, {"arm.toml": robot.encode()})
data = mujoco.MjData(model)
random = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 7)
steps = round(SAMPLE / STEP)
pulls = np.round(random.uniform(-6, 2, (SAMPLES // HELD, 6)), 2)  # mm
data.ctrl[:] = 1e-3 * pulls[0]
mujoco.mj_step(model, data, 100 * steps)
assert np.abs(data.qvel).max() < 1e-4, "the arm does not rest"
with open(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER / "motion.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(
        [
            "t_s",
            *(f"tendon_{k}_mm" for k in range(1, 7)),
            *(f"{point}_{axis}_mm" for point in ("s1_end", "tip") for axis in "xyz"),
        ]
    )
    for sample in range(SAMPLES):
        mujoco.mj_kinematics(model, data)
        places = np.concatenate([data.site(f"arm_{point}").xpos for point in ("s1_end", "tip")])
        pull = pulls[sample // HELD]
        writer.writerow([round(sample * SAMPLE, 6), *pull, *np.round(1000 * (places + random.normal(0, NOISE, 6)), 2)])
        data.ctrl[:] = 1e-3 * pull
        mujoco.mj_step(model, data, steps)
