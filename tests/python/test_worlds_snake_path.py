"""Snakes along a path in many worlds, beside the C engine with the plugin."""

import numpy as np
import pytest

import tendril as td

pytest.importorskip("mujoco_warp", reason="needs warp-lang and mujoco-warp: docs/guide/worlds.md")

from tendril.worlds import Worlds  # noqa: E402

ROBOT = """
kind = "snake"
name = "snake"
{base}
joints = 8
link_length = 0.06
radius = 0.02
link_mass = 0.15
gain = 300
torque_limit = 12
[controller]
plugin = "tendril.snake"
mode = "path"
start_delay = 0.1
speed = 0.4
acceleration = 2
"""
CARRIAGE = "base = { kind = 'carriage', feed = 0.5 }"
CURVED = "waypoints = [0.5, 0, 0, 0.7, 0, 0.02, 0.85, 0.06, 0.06]\n"
UNFOLDED = "waypoints = [0, 0, 0, 0.3, 0, 0, 0.4, 0, 0]\nfold = 0.15\nhead_orientation = [0, 0.2, 0]\n"
# Under gravity, which the servos bear; the wall may be in the way of the head.
SCENE = """
<mujoco>
  <option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10"/>
  <asset><model name="snake" file="robot.toml"/></asset>
  <worldbody>
    <geom type="box" size="0.01 0.3 0.3" pos="{wall} 0 0"/>
    <attach model="snake" body="base" prefix="S_"/>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def experiment(tmp_path):
    def written(controller, base=CARRIAGE, wall=2.0, more=""):
        (tmp_path / "robot.toml").write_text(ROBOT.format(base=base) + controller)
        (tmp_path / "scene.xml").write_text(SCENE.format(wall=wall))
        file = tmp_path / "experiment.toml"
        file.write_text('scene = "scene.xml"\nduration = 3\n' + more)
        return file

    return written


REPORTS = ("status", "progress", "path_error")


@pytest.mark.parametrize(
    ("base", "controller", "speeds"),
    [(CARRIAGE, CURVED + "back = true\n", "[0.5, 0.8]"), ("base = 'fixed'", UNFOLDED, "[0.07, 0.14]")],
    ids=["fed", "unfolded"],
)
def test_the_motion_along_a_path_is_that_of_the_c_engine(experiment, beside_c, base, controller, speeds):
    file = experiment(controller, base, more=f'[vary]\n"controller.speed" = {{ uniform = {speeds} }}\n')
    worlds, runs = Worlds(file, 2, "cpu", seed=3), [td.Experiment(file).start(seed) for seed in (3, 4)]
    spread = 0.0
    for _ in range(6):
        positions, meant, ours, reported = beside_c(worlds, runs, 200, *REPORTS)
        assert positions == pytest.approx(meant, abs=1e-5)  # rad, m
        for own, c in zip(ours, reported, strict=True):
            assert own == pytest.approx(c, abs=1e-5)
        spread = max(spread, np.ptp(meant, axis=0).max())
    assert spread > 0.01  # rad: the draws matter
    assert ours[0].max() == td.ControllerStatus.FINISHED


def test_a_wall_in_the_way_jams_it_as_in_the_c_engine(experiment, beside_c):
    file = experiment(CURVED, wall=0.68)
    worlds, runs = Worlds(file, 1, "cpu"), [td.Experiment(file).start()]
    positions, meant, ours, reported = beside_c(worlds, runs, 800, *REPORTS)
    assert ours[0][0] == reported[0][0] == td.ControllerStatus.JAMMED
    assert positions == pytest.approx(meant, abs=0.02)
    worlds.reset()
    worlds.step(100)
    assert worlds.controllers[0].status.numpy()[0] == td.ControllerStatus.WORKING


def test_what_has_no_equal_on_a_device_is_refused_in_one_line(experiment):
    file = experiment('target = "target"\n')
    scene = file.with_name("scene.xml")
    scene.write_text(scene.read_text().replace("<worldbody>", '<worldbody><body name="target" mocap="true"/>'))
    with pytest.raises(td.ModelError, match="^S: target: must not be given in worlds$"):
        Worlds(file, 1, "cpu")
