"""2: a scene in MuJoCo, and a controller of one's own in it."""

# %% Importing the controller registers it; `plugin = "my.reach"` in a robot file selects it.
from pathlib import Path

import mujoco
import my_reach  # noqa: F401
import numpy as np

Path("arm.toml").write_text("""
kind = "continuum"
name = "arm"

[[section]]
constant_length = 0.12
bend_limit = 2.0
mass = 0.06

[[section]]
constant_length = 0.12
bend_limit = 2.0
mass = 0.04

[controller]
plugin = "my.reach"
gain = 4
""")
Path("scene.xml").write_text("""
<mujoco>
  <option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10" iterations="100"/>
  <asset><model name="arm" file="arm.toml"/></asset>
  <worldbody>
    <light pos="0 0 1"/>
    <attach model="arm" body="base" prefix="arm_"/>
    <body name="target" mocap="true" pos="0.08 0.03 0.19"><geom size="0.005" contype="0" conaffinity="0"/></body>
  </worldbody>
</mujoco>
""")
model = mujoco.MjModel.from_xml_path("scene.xml")
data = mujoco.MjData(model)

# %% What the controller reports are sensors of the scene.
for _ in range(4):
    mujoco.mj_step(model, data, 500)
    print(f"{data.time:.0f} s: tip error {1e3 * data.sensor('arm_tip_error').data[0]:.4f} mm")
assert data.sensor("arm_tip_error").data[0] < 1e-5

# %% A pushed target is followed. All memory is in the state: a saved state goes on bit for bit.
data.mocap_pos[0] += [0.01, 0.02, -0.01]
full = mujoco.mjtState.mjSTATE_INTEGRATION
saved = np.empty(mujoco.mj_stateSize(model, full))
mujoco.mj_getState(model, data, saved, full)
mujoco.mj_step(model, data, 300)
first = data.qpos.copy()
mujoco.mj_setState(model, data, saved, full)
mujoco.mj_step(model, data, 300)
assert np.array_equal(first, data.qpos)
print(f"tip error after the push: {1e3 * data.sensor('arm_tip_error').data[0]:.4f} mm")
