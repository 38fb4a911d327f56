"""`avoidance` of `tendril.reach` in many worlds, beside the C engine with the plugin."""

import mujoco
import numpy as np
import pytest

import tendril as td

wp = pytest.importorskip("warp", reason="warp-lang is not installed")
pytest.importorskip("mujoco_warp", reason="needs warp-lang and mujoco-warp: docs/guide/worlds.md")

from tendril.worlds import Worlds  # noqa: E402
from tendril.worlds.arm import functions, mat33, vec3  # noqa: E402
from tendril.worlds.kinematics import chain_of  # noqa: E402
from tendril.worlds.obstacles import KINDS, Obstacles, body_distance, distance_to, search_below  # noqa: E402

SECTION = """
[[section]]
constant_length = 0.1
bend_limit = 1.7
links = 4
radius = 0.008
mass = 0.05
bending_stiffness = 0.05
"""
CONTROLLER = """
[controller]
plugin = "tendril.reach"
target = "target"
avoidance = true
obstacle_margin = 0.006
"""
# Numbers of places are sums of few powers of 2, which float32 has: a search may take another path where an obstacle or
# the target is 1e-9 m elsewhere.
SCENE = """
<mujoco>
  <option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10"/>
  <asset><model name="arm" file="robot.toml"/></asset>
  <worldbody>
    <geom type="plane" size="1 1 0.125" pos="0 0 -0.0625"/>
    <body name="posts">
      <geom type="cylinder" size="0.015625 0.03125" pos="0.0625 0 0.125"/>
      <geom type="box" size="0.03125 0.0078125 0.03125" pos="0.0625 0.0625 0.15625"/>
      <geom type="ellipsoid" size="0.015625 0.0078125 0.03125" pos="-0.0625 -0.0625 0.15625"/>
    </body>
    <body name="visitor" mocap="true" pos="0 -0.25 0.125"><geom type="capsule" size="0.015625 0.03125"/></body>
    <body name="target" mocap="true" pos="0 0 0.1875"/>
    <attach model="arm" body="base" prefix="arm_"/>
  </worldbody>
</mujoco>
"""
BEHIND = """
scene = "scene.xml"
duration = 2
[[motion]]
body = "target"
kind = "waypoints"
times = [0, 0.4, 0.402, 2]
points = [
  [0.03125, 0.03125, 0.1875], [0.03125, 0.03125, 0.1875], [0.125, 0.015625, 0.09375], [0.125, 0.015625, 0.09375]
]
[vary]
"controller.rate_limit" = { uniform = [2, 5] }
"""
VISITED = """
scene = "scene.xml"
duration = 2
[[motion]]
body = "visitor"
kind = "waypoints"
times = [0, 1, 2]
points = [[0, -0.125, 0.15625], [0, -0.015625, 0.15625], [0, -0.125, 0.15625]]
[vary]
"controller.rate_limit" = { uniform = [2, 5] }
"""
STEPS = 1000


@pytest.fixture
def experiment(tmp_path):
    def written(text, robot=2 * SECTION, controller=CONTROLLER, base=""):
        (tmp_path / "robot.toml").write_text('kind = "continuum"\nname = "arm"\n' + base + robot + controller)
        (tmp_path / "scene.xml").write_text(SCENE)
        file = tmp_path / "experiment.toml"
        file.write_text(text)
        return file

    return written


def tips_beside_c(file, beside_c, steps=STEPS):
    """Two worlds, and distances of their tips from those of the C engine and from the target, every 50 steps."""
    worlds, seeds = Worlds(file, 2, "cpu", seed=3), (3, 4)
    runs = [td.Experiment(file).start(seed) for seed in seeds]
    tip, distances, errors = worlds.model.site("arm_tip").id, [], []
    for _ in range(steps // 50):
        _, _, (status,), (expected,) = beside_c(worlds, runs, 50, "status")
        assert (status == expected).all()
        tips = np.stack([run.data.site_xpos[tip] for run in runs])
        distances.append(np.linalg.norm(worlds._data.site_xpos.numpy()[:, tip] - tips, axis=1))
        errors.append([run.data.sensor("arm_tip_error").data[0] for run in runs])
    return worlds, np.array(distances), np.array(errors)


@wp.kernel(enable_backward=False)
def distances_to(
    kind: int, size: vec3, points: wp.array(dtype=vec3), found: wp.array(dtype=wp.float64), slopes: wp.array(dtype=vec3)
):
    i = wp.tid()
    distance, gradient = distance_to(kind, size, points[i])
    found[i] = distance
    slopes[i] = gradient


def device_distances(kind, size, points):
    given = wp.array(points, dtype=vec3, device="cpu")
    found, slopes = wp.zeros(len(points), dtype=wp.float64, device="cpu"), wp.zeros_like(given)
    wp.launch(distances_to, len(points), inputs=[int(kind), vec3(*size), given, found, slopes], device="cpu")
    return found.numpy(), slopes.numpy()


@pytest.mark.parametrize("kind", KINDS)
def test_distances_from_a_geom_are_those_of_the_engine(kind):
    size, name = (0.03, 0.05, 0.02), mujoco.mjtGeom(int(kind)).name.removeprefix("mjGEOM_").lower()
    ball = 1e-3  # m: radius of the point
    xml = f"""<mujoco><option ccd_iterations="200" ccd_tolerance="1e-9"/><worldbody>
        <geom type="{name}" size="0.03 0.05 0.02"/>
        <body mocap="true"><geom type="sphere" size="{ball}"/></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    points = np.random.default_rng(1).uniform(-0.12, 0.12, (200, 3))
    distances, gradients = device_distances(kind, size, points)
    for point, distance in zip(points, distances, strict=True):
        if distance < 2 * ball:
            continue
        data.mocap_pos[0] = point
        mujoco.mj_kinematics(model, data)
        assert mujoco.mj_geomDistance(model, data, 0, 1, 1.0, None) + ball == pytest.approx(distance, abs=1e-6)
    step = 1e-6
    for k in range(3):
        slope = (device_distances(kind, size, points + step * np.eye(3)[k])[0] - distances) / step
        assert np.median(np.abs(slope - gradients[:, k])) < 1e-5
        assert np.abs(slope - gradients[:, k])[np.abs(distances) > 2 * step].max() < 1e-3


@wp.kernel(enable_backward=False)
def body_distances(
    chain: functions.Chain, q: wp.array2d(dtype=wp.float64), obstacles: Obstacles, found: wp.array(dtype=wp.float64)
):
    i = wp.tid()
    search = search_below(wp.float64(1e10), wp.float64(1e-6), 100000)
    found[i] = body_distance(chain, 0, q[i], obstacles, 0, search)


def test_the_least_distance_of_the_body_is_that_of_its_points():
    weights = {"length_weights": [1, 2, 3], "angle_weights": [3, 0, 1]}
    robot = td.ContinuumRobot(
        [td.Section(length=0.1, bend_limit=4.0), td.Section(length=0.1, bend_limit=4.0, **weights)]
    )
    kinds = [int(kind) for kind in KINDS]
    rng = np.random.default_rng(2)
    places, sizes = rng.uniform(-0.15, 0.15, (len(kinds), 3)), np.full((len(kinds), 3), (0.01, 0.03, 0.02))
    turns, _ = np.linalg.qr(rng.normal(size=(len(kinds), 3, 3)))
    turns *= np.sign(np.linalg.det(turns))[:, None, None]
    states = robot.random_states(60, 3)
    q = wp.array(robot.coordinates(states), dtype=wp.float64, device="cpu")
    points = robot.backbone(states, 2001)
    for k, kind in enumerate(kinds):
        obstacles = Obstacles()
        obstacles.count = 1
        obstacles.geom, obstacles.kind = (wp.array([value], dtype=int, device="cpu") for value in (0, kind))
        obstacles.size = wp.array(sizes[None, k : k + 1], dtype=wp.vec3, device="cpu")
        obstacles.position = wp.array(places[None, k : k + 1], dtype=vec3, device="cpu")
        obstacles.rotation = wp.array(turns[None, k : k + 1], dtype=mat33, device="cpu")
        obstacles.growth = wp.zeros((1, 1), dtype=wp.float64, device="cpu")
        obstacles.spin = wp.zeros(1, dtype=wp.float64, device="cpu")
        obstacles.order = wp.zeros((1, 1), dtype=int, device="cpu")
        found = wp.zeros(len(states), dtype=wp.float64, device="cpu")
        inputs = [chain_of(robot, wp.float64, "cpu"), q, obstacles, found]
        wp.launch(body_distances, len(states), inputs=inputs, device="cpu")
        local = (points - places[k]) @ turns[k]
        size = np.float32(sizes[k]).astype(float)
        sampled = device_distances(kind, size, local.reshape(-1, 3))[0].reshape(local.shape[:2]).min(axis=1)
        assert (found.numpy() <= sampled + 2e-6).all()
        assert (found.numpy() >= sampled - 5.1e-5).all()  # m: half of the distance of two points


IN_PLANE = SECTION.replace("links = 4", 'links = 4\nbend_plane = "yz"')


@pytest.mark.parametrize("robot", [2 * SECTION, IN_PLANE + 2 * SECTION], ids=["in space", "one section in a plane"])
def test_the_arm_goes_around_a_post_as_in_the_c_engine(experiment, beside_c, robot):
    worlds, distances, errors = tips_beside_c(experiment(BEHIND, robot), beside_c)
    assert distances.max() < 1e-4  # m
    plan = worlds.controllers[0]._avoidance._plan
    assert plan.trees_begun.numpy().min() > 0  # no straight line led there
    assert errors[-1].max() < 1e-3  # m
    first = worlds.qpos.numpy()[0].copy()
    worlds.reset(np.array([True, False]))
    worlds.step(STEPS)
    assert np.abs(worlds.qpos.numpy()[0] - first).max() < 1e-9  # rad: it plans anew


def test_the_arm_evades_what_moves_as_in_the_c_engine(experiment, beside_c):
    _, distances, errors = tips_beside_c(experiment(VISITED), beside_c)
    assert distances.max() < 1e-4  # m
    assert errors.max() > 5e-3 and errors[-1].max() < 1e-3  # m: pushed away, and back


def test_a_base_is_fed_among_obstacles_as_in_the_c_engine(experiment, beside_c):
    file = experiment(BEHIND.replace("0.09375", "0.21875"), base="[base]\nfeed = 0.1\n")
    worlds, distances, _ = tips_beside_c(file, beside_c, 500)
    assert distances.max() < 1e-4  # m
    assert worlds.qpos.numpy()[:, worlds.model.joint("arm_feed").qposadr[0]].min() > 0.01  # m


TURNING = SECTION.replace("links = 4", 'links = 4\nrotation = "turning"')


@pytest.mark.parametrize(
    ("robot", "base"),
    [(2 * SECTION, "[base]\nspin = true\n"), (TURNING + SECTION, ""), (2 * TURNING, "[base]\nspin = true\n")],
    ids=["spin", "turn", "both"],
)
def test_arms_that_turn_go_around_a_post_as_in_the_c_engine(experiment, beside_c, robot, base):
    worlds, distances, errors = tips_beside_c(experiment(BEHIND, robot, base=base), beside_c, 600)
    assert distances.max() < 1e-4  # m
    assert worlds.controllers[0]._avoidance._plan.trees_begun.numpy().min() > 0  # no straight line led there
    assert errors[-1].max() < errors[0].min()


def test_moves_among_obstacles_are_timed_as_in_the_c_engine(experiment, beside_c):
    file = experiment(BEHIND, controller=CONTROLLER + "move_time = 0.4\n")
    _, distances, errors = tips_beside_c(file, beside_c, 500)
    assert distances.max() < 1e-4  # m
    at_once = td.Experiment(file).start(3, set={"controller.move_time": 0})
    early = []
    for _ in errors:
        for _ in range(50):
            at_once.step()
        early.append(at_once.data.sensor("arm_tip_error").data[0])
    assert (errors[:, 0] - early).max() > 5e-3  # m: the time matters


def test_obstacles_without_an_equal_on_a_device_are_refused(experiment, tmp_path):
    file = experiment(BEHIND)
    mesh = '<asset><mesh name="m" vertex="0.1 0 0 0.2 0 0 0.1 0.1 0 0.1 0 0.1"/></asset>'
    (tmp_path / "scene.xml").write_text(SCENE.replace("<worldbody>", mesh + '<worldbody><geom type="mesh" mesh="m"/>'))
    with pytest.raises(td.ModelError, match="^arm: obstacles: a mesh: must be other geoms in worlds$"):
        Worlds(file, 1, "cpu")
    (tmp_path / "scene.xml").write_text(SCENE.replace('pos="0 0 -0.0625"', ""))  # the arm stands on the floor
    with pytest.raises(
        td.ModelError, match="^arm: obstacles: one is hollowed at the arm's base: not supported in worlds"
    ):
        Worlds(file, 1, "cpu")
