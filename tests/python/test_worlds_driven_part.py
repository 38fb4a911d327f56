"""Arms whose drives do not move everything in many worlds, beside the C engine with the plugin."""

import numpy as np
import pytest

import tendril as td

pytest.importorskip("mujoco_warp", reason="needs warp-lang and mujoco-warp: docs/guide/worlds.md")

from worlds_scenes import FOLLOW, IN_PLANE, REACH, SECTION, SIDEWAYS, tips_of, written  # noqa: E402

from tendril.worlds import Worlds  # noqa: E402

PASSIVE = SECTION.replace("links = 4", "links = 4\nbend_servo = false")
LENGTHENING = SECTION.replace("constant_length = 0.1", "constant_length = 0.08\nvariable_length = 0.04")


def wires(angles):
    """Of sections, by the angles of each."""
    return "".join(
        f"[[tendon]]\nsection = {section}\nangle = {angle}\ndistance = 0.006\nmax_tension = 60\nstiffness = 20000\n"
        for section, own in angles.items()
        for angle in own
    )


BY_WIRES = PASSIVE + "damping_time = 0.1\n"
ROBOTS = {  # and their targets' distances, m: from the plane x-z, and along the axis
    "planar": ("planar = true\n" + 2 * SECTION, 0, 0.19),
    "one section in a plane": (SECTION + IN_PLANE, 0.01, 0.19),
    "passive base": (PASSIVE.replace("0.1", "0.03") + 2 * SECTION, 0.01, 0.22),
    "passive base and a tip that turns": (
        PASSIVE.replace("0.1", "0.03") + SECTION + SECTION + 'rotation = "turning"\n',
        0.01,
        0.22,
    ),
    "fed past a passive shaft": ("[base]\nfeed = 0.2\n" + PASSIVE + LENGTHENING, 0.01, 0.19),
    "five wires": (SECTION + PASSIVE + wires({1: (0.2, 2.3, 4.4), 2: (0.9, 4.0)}), 0.01, 0.19),
    "a catheter's spin": ("[base]\nfeed = 0.2\nspin = true\n" + BY_WIRES + wires({1: (0.3, 3.4416)}), 0.01, 0.19),
    "a shaft in a guide": (
        'compliance = "link"\n[base]\nfeed = 0.1\nguide_length = 0.05\n'
        + PASSIVE
        + BY_WIRES
        + wires({"[2, 2]": (0.5, 2.07, 3.64, 5.22)}),
        0.01,
        0.22,
    ),
}


def motion(y, z):
    points = [[0.02, y, z], [0.02, y, z], [0.05, -2 * y, z - 0.01], [-0.02, 3 * y, z]]
    return f"""
[[motion]]
body = "target"
kind = "waypoints"
times = [0, 0.2, 0.202, 2]
points = {points}
[vary]
"robot.section.*.bending_stiffness" = {{ scale = [0.7, 1.4] }}
"controller.rate_limit" = {{ uniform = [3, 6] }}
"""


@pytest.mark.parametrize("robot", ROBOTS)
def test_an_arm_that_is_driven_in_part_reaches_as_in_the_c_engine(tmp_path, beside_c, robot):
    tables, y, z = ROBOTS[robot]
    file = written(tmp_path, tables + REACH, motion(y, z))
    worlds = Worlds(file, 2, "cpu", seed=7)
    runs = [td.Experiment(file).start(seed) for seed in (7, 8)]
    spread = 0.0  # m
    for steps in (90, 60, 250):
        _, _, (status,), (expected,) = beside_c(worlds, runs, steps, "status")
        ours, meant = tips_of(worlds, runs)
        assert np.abs(ours - meant).max() < 1e-4  # m
        assert (status == expected).all()
        spread = max(spread, float(np.ptp(meant, axis=0).max()))
    assert spread > 1e-4  # m: the draws matter
    worlds.reset(np.array([True, False]))
    worlds.step(400)
    assert np.abs(tips_of(worlds, runs)[0][0] - meant[0]).max() < 1e-4


def test_a_section_that_bends_in_one_plane_follows_a_path_as_in_the_c_engine(tmp_path, beside_c):
    path = FOLLOW.replace("0.05, 0.08", "0.02, 0.08")  # the plane does not have it all
    file = written(tmp_path, "[base]\nfeed = 0.2\nfeed_force_limit = 10\n" + SECTION + IN_PLANE + path, "", SIDEWAYS)
    worlds, runs = Worlds(file, 1, "cpu"), [td.Experiment(file).start()]
    for steps in (300, 100, 600):
        _, _, (status,), (expected,) = beside_c(worlds, runs, steps, "status")
        ours, meant = tips_of(worlds, runs)
        assert np.abs(ours - meant).max() < 1e-4  # m
        assert status == expected
    assert status == td.ControllerStatus.FINISHED and meant[0, 1] > 0.07  # m
    again = Worlds(file, 1, "cpu")
    again.step(1000)
    assert (again.qpos.numpy() == worlds.qpos.numpy()).all()


TILTED = """
[[motion]]
body = "target"
kind = "waypoints"
times = [0, 0.1]
points = [[0.03, 0.01, 0.22], [0.03, 0.01, 0.22]]
angles_deg = [[0, -20, 0], [0, -20, 0]]
"""


@pytest.mark.parametrize(
    ("base", "last"),
    [("", td.ControllerStatus.NOT_REACHED), ("[base]\nspin = true\n", td.ControllerStatus.WORKING)],
    ids=("still", "spins"),
)
def test_a_direction_is_given_up_or_met_as_in_the_c_engine(tmp_path, beside_c, base, last):
    file = written(tmp_path, base + ROBOTS["passive base"][0] + REACH + 'task = "direction"\n', TILTED)
    worlds, runs = Worlds(file, 1, "cpu", duration=4), [td.Experiment(file).start(duration=4)]
    for steps, meant_status in ((600, td.ControllerStatus.WORKING), (700, last)):
        _, _, (status,), (expected,) = beside_c(worlds, runs, steps, "status")
        ours, meant = tips_of(worlds, runs)
        assert np.abs(ours - meant).max() < 1e-4  # m
        assert status == expected == meant_status


def test_an_arm_that_nothing_bends_is_refused_for_its_controller():
    with pytest.raises(td.ModelError, match="tendril.steer of .* must be tendril.reach"):
        Worlds(td.share / "scenes/guidewire/guidewire.toml", 1, "cpu")


def test_of_a_target_in_the_plane_of_symmetry_the_last_digit_decides(tmp_path, beside_c):
    # A descent in this plane ends at a saddle, beside which two poses meet the target, mirror images of each other.
    def file(y):
        folder = tmp_path / str(y)
        folder.mkdir()
        text = f'[[motion]]\nbody = "target"\nkind = "waypoints"\ntimes = [0, 1]\npoints = {2 * [[0.02, y, 0.15]]}\n'
        return written(folder, ROBOTS["passive base"][0] + REACH, text)

    files = [file(y) for y in (0.0, 1e-9, -1e-9, 1e-6)]
    runs = [td.Experiment(one).start() for one in files]
    exact, beside = (Worlds(one, 1, "cpu") for one in (files[0], files[3]))
    beside_c(exact, runs[:3], 150)
    beside_c(beside, runs[3:], 150)
    (ours,), (middle, left, right) = tips_of(exact, runs[:3])
    assert np.abs(left - right * [1, -1, 1]).max() < 1e-6 and np.abs(left - right).max() > 1e-3  # m
    assert np.abs(middle[1]) > 1e-3  # m: in C rounding leaves the plane
    assert np.abs(ours[1]) < 1e-6  # m: here nothing does
    (ours,), (meant,) = tips_of(beside, runs[3:])
    assert np.abs(ours - meant).max() < 1e-4  # m
