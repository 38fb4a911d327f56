"""Arms in many worlds whose controllers see their sensors, beside the C engine with the plugin."""

import numpy as np
import pytest

import tendril as td

pytest.importorskip("mujoco_warp", reason="needs warp-lang and mujoco-warp: docs/guide/worlds.md")

from worlds_scenes import CHAMBERS, FOLLOW, IN_PLANE, REACH, SECTION, SOFT, tips_of, written  # noqa: E402

from tendril.worlds import Worlds  # noqa: E402

STEPS = 250
SEES = 'measured = "sensors"\n'
MOTION = """
[[motion]]
body = "target"
kind = "circle"
center = [0.05, 0, 0.2]
radius = 0.03
normal = [0, 0, 1]
speed = 0.2
"""
FIXED = SECTION.replace("bending_stiffness", 'bend = "tendons"\nbending_stiffness')
TENDONS = "".join(
    f'[[tendon]]\nname = "t{i}{k}"\nsection = {i}\nangle = {2.0944 * k + 0.5 * i}\ndistance = 0.008\n'
    "stiffness = 5000\npretension = 2\nmax_tension = 60\n"
    for i in (1, 2)
    for k in range(3)
)


def sensor(kind, name="sensor", **keys):
    return f'[[sensor]]\nkind = "{kind}"\nname = "{name}"\n' + "".join(f"{k} = {v}\n" for k, v in keys.items())


ENCODER = sensor("bend_encoder", "encoder", noise=1e-3)
TRACKER = sensor("tip_tracker", "tracker", noise=[5e-4, 5e-3], rate=50, delay=0.02)
MOMENTS = REACH.replace("tendril.reach", "tendril.computed_moment")
ARMS = {  # robot with controller
    "encoders and a late tracker": "[base]\nfeed = 0.2\n" + 2 * SECTION + ENCODER + TRACKER + REACH,
    "a spin of the base": "[base]\nspin = true\nfeed = 0.2\n" + 2 * SECTION + ENCODER + TRACKER + REACH,
    "backlash": 2 * SECTION + sensor("bend_encoder", "encoder", backlash=2e-3, resolution=1e-3) + TRACKER + REACH,
    "direction": 2 * SECTION + ENCODER + TRACKER + REACH + 'task = "direction"\n',
    "in a plane": 2 * IN_PLANE + ENCODER + TRACKER + REACH,
    "gratings": SECTION + SECTION + sensor("curvature", "fiber", places=[0.2, 0.7], noise=0.1) + REACH,
    "markers": 2 * SECTION + sensor("markers", "marks", places=[0.5, 1.0], noise=1e-3, rate=100) + REACH,
    "force on the base": 2 * SECTION + ENCODER + sensor("base_force", "scale", noise=[0.05, 0.005]) + REACH,
    "motors": 2 * (SECTION + 'bend_command = "moment"\n') + ENCODER + TRACKER + MOMENTS,
    "drums": 2 * SECTION + TENDONS + sensor("drum_encoder", "drum", noise=1e-5) + TRACKER + REACH,
    "drums and tensions": 2 * SECTION
    + TENDONS
    + sensor("drum_encoder", "drum", noise=1e-5)
    + sensor("tendon_force", "cell", noise=0.05)
    + REACH,
    "lengths of tendons": 2 * SECTION + TENDONS + sensor("tendon_encoder", "wire", noise=1e-4) + REACH,
    "chambers": 2 * SOFT + CHAMBERS + TRACKER + sensor("tendon_encoder", "wire", noise=1e-4) + REACH,
    "a path": "[base]\nfeed = 0.3\n" + 2 * SECTION + ENCODER + TRACKER + FOLLOW,
}


@pytest.mark.parametrize("kind", ARMS)
def test_a_controller_sees_the_sensors_of_the_c_engine(tmp_path, beside_c, kind):
    text = MOTION if "tendril.follow" not in ARMS[kind] else ""
    file = written(tmp_path, ARMS[kind] + SEES, text)
    worlds, runs = Worlds(file, 2, "cpu", seed=3), [td.Experiment(file).start(seed) for seed in (3, 4)]
    beside_c(worlds, runs, STEPS)
    ours, meant = tips_of(worlds, runs)
    assert np.abs(ours - meant).max() < 2e-5  # m
    if "noise" in ARMS[kind]:
        assert np.ptp(ours, axis=0).max() > 1e-6  # m: it is that of the seed
    bound = worlds.controllers[0]._bound
    apart = np.linalg.norm(bound.true.tip.numpy() - bound.step.tip.numpy(), axis=1)
    assert 1e-6 < apart.min() and apart.max() < 0.02  # m: it is not the truth
    errors = [run.data.sensor("arm_tip_error").data[0] for run in runs]
    assert worlds.controllers[0].tip_error.numpy() == pytest.approx(errors, abs=2e-5)  # m: the true one
    positions = worlds.qpos.numpy().copy()
    worlds.reset(np.array([True, False]))
    worlds.step(STEPS)
    assert (worlds.qpos.numpy()[0] == positions[0]).all()


@pytest.mark.parametrize(
    ("robot", "what"),
    [
        (
            'compliance = "link"\n[base]\nfeed = 0.1\nguide_length = 0.1\nguide_clearance = 0.002\n'
            + 2 * SECTION
            + ENCODER
            + TRACKER,
            "the arm has a guide",
        ),
        (2 * (SECTION + "torsional_stiffness = 0.05\n") + ENCODER + TRACKER, "its links twist"),
        (2 * SECTION + ENCODER + sensor("markers", "eye", places=[1.0], camera=[1, 0, 0]), "sensor eye_1: camera"),
    ],
)
def test_what_worlds_cannot_sense_is_refused(tmp_path, robot, what):
    with pytest.raises(td.ModelError, match=what):
        Worlds(written(tmp_path, robot + REACH + SEES, ""), 1, "cpu")


def test_a_snake_sees_its_sensors(beside_c):
    """The links meet and leave the ground, so the motions part slowly."""
    file = td.share / "scenes" / "snake_travel" / "sensed.toml"
    worlds, run = Worlds(file, 2, "cpu"), td.Experiment(file).start()
    positions, meant, _, _ = beside_c(worlds, [run], 60)
    assert np.abs(positions[0] - meant[0]).max() < 2e-3  # m, rad
    assert np.ptp(positions, axis=0).max() > 1e-6  # the noise is that of the seed
    head = worlds.controllers[0]._bound.tables[0]["tip_site"]
    sensed = worlds.controllers[0]._bound._sensed._seen.data.site_xpos.numpy()[:, head]
    apart = np.linalg.norm(sensed - worlds._data.site_xpos.numpy()[:, head], axis=1)
    assert 1e-6 < apart.min() and apart.max() < 5e-3  # m
