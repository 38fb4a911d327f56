"""A scene with an arm in MuJoCo: `import mujoco` knows robot files and controllers."""

import mujoco

import tendril as td

model = mujoco.MjModel.from_xml_path(str(td.share / "scenes/reach/reach.xml"))
data = mujoco.MjData(model)
while data.time < 2.0:
    mujoco.mj_step(model, data)
tip_error = data.sensor("arm_tip_error").data[0]
print(f"tip error after {data.time:.1f} s: {1e3 * tip_error:.3f} mm")

assert tip_error < 0.01
