"""What the tests of arms in many worlds share: an arm, a scene with its target, and their files."""

import numpy as np

SECTION = """
[[section]]
constant_length = 0.1
bend_limit = 1.5
links = 4
radius = 0.008
mass = 0.05
bending_stiffness = 0.05
"""
IN_PLANE = SECTION.replace("links = 4", 'links = 4\nbend_plane = "yz"')
SOFT = """
[[section]]
constant_length = 0.085
variable_length = 0.03
unloaded_length = 0.085
bend_limit = 1.2
links = 4
radius = 0.015
mass = 0.05
bending_stiffness = 0.0119
axial_stiffness = 2120
damping_time = 0.03
"""
CHAMBERS = "".join(
    f"[[chamber]]\nsection = {i}\nangle = {k * 2.0944}\ndistance = 0.009\narea = 1.2e-4\nmax_pressure = 2e5\n"
    for i in (1, 2)
    for k in range(3)
)
REACH = """
[controller]
plugin = "tendril.reach"
target = "target"
"""
FOLLOW = """
[controller]
plugin = "tendril.follow"
waypoints = [[0, 0, 0], [0, 0, 0.28], [0.05, 0.08, 0.3]]
corner_radius = 0.09
start_delay = 0.1
acceleration = 2
speed = 0.2
jam_tip_error = 0.02
"""
SCENE = """
<mujoco>
  <option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10"/>
  <asset><model name="arm" file="robot.toml"/></asset>
  <worldbody>
    <body name="target" mocap="true" pos="0.05 0.03 0.16"/>
    <frame><attach model="arm" body="base" prefix="arm_"/></frame>
  </worldbody>
</mujoco>
"""
SIDEWAYS = SCENE.replace("<frame>", '<frame euler="0 90 0">')  # along x of the world, under gravity


def written(folder, robot, text, scene=SCENE):
    """The file of an experiment with this robot, whose tables begin with those of an arm, and this scene."""
    (folder / "robot.toml").write_text('kind = "continuum"\nname = "arm"\n' + robot)
    (folder / "scene.xml").write_text(scene)
    file = folder / "experiment.toml"
    file.write_text('scene = "scene.xml"\nduration = 2\n' + text)
    return file


def tips_of(worlds, runs):
    """Of all worlds, and of their runs in the C engine."""
    tip = worlds.model.site("arm_tip").id
    return worlds._data.site_xpos.numpy()[:, tip], np.stack([run.data.site_xpos[tip] for run in runs])
