"""A scene with an arm in Python: 05_python.py LIBTENDRIL.so SCENE.xml"""

import sys

import mujoco

mujoco.mj_loadPluginLibrary(sys.argv[1])
model = mujoco.MjModel.from_xml_path(sys.argv[2])
data = mujoco.MjData(model)
while data.time < 2.0:
    mujoco.mj_step(model, data)
tip_error = data.sensor("arm_tip_error").data[0]
print(f"tip error after {data.time:.1f} s: {1e3 * tip_error:.3f} mm")
sys.exit(0 if tip_error < 0.01 else 1)
