"""A program that uses Tendril only through MuJoCo: eight simulations, each with its own target, on two threads."""

import mujoco
import mujoco.batch
import numpy as np

import tendril as td

model = mujoco.MjModel.from_xml_path(str(td.share / "scenes/reach/reach.xml"))
batch = mujoco.batch.Batch(model, nsim=8, nthread=2)
tip_error = batch.sensor("arm_tip_error").data
targets = batch.bind("mocap_pos")[:, model.body("target").mocapid[0]]
targets[:, 2] -= np.linspace(0, 0.03, 8)
batch.step(nstep=400)
print("tip errors, um:", np.round(1e6 * tip_error[:, 0], 3))

assert (tip_error < 0.01).all()
