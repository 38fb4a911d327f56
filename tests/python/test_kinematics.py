"""Laws of forward kinematics in Python."""

import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tendril as td

ROUNDING = 1e-12
DIFFERENCES = 1e-6  # central differences with steps of 1e-6


def arms() -> list[td.ContinuumRobot]:
    return [
        td.ContinuumRobot([td.Section(length=0.1, bend_limit=2.0)]),
        td.ContinuumRobot([td.Section(length=0.1), td.Section(length=0.05, variable_length=0.05, bend_limit=1.5)]),
        td.ContinuumRobot(
            [
                td.Section(variable_length=0.1, bend_limit=1.2),
                td.Section(length=0.1, length_weights=[20, 40, 10], angle_weights=[1, 0.001, 3]),
                td.Section(length=0.07, bend_limit=5.0),
            ],
            feed_limit=0.2,
            spin=True,
        ),
        td.load_robot(td.share / "models/arm_mixed.toml", td.ContinuumRobot),
    ]


@pytest.fixture(params=range(4))
def arm(request: Any) -> td.ContinuumRobot:
    return arms()[request.param]


@pytest.fixture
def snake() -> td.Snake:
    return td.Snake([0.06, 0.05] * 4, joint_limit=1.2, rear_length=0.06)


@pytest.fixture
def youbot() -> td.MobileRobot:
    return td.load_robot(td.share / "models/youbot.toml", td.MobileRobot)


def random_mobile_states(robot: td.MobileRobot, n: int) -> Any:
    rng = np.random.default_rng(3)
    low, high = robot.joint_limits.T
    return np.hstack([rng.uniform(-2, 2, (n, 3)), rng.uniform(low, high, (n, len(robot)))])


def same_bits(function: Any, batch: Any) -> None:
    """`function` of a batch has the bits of single calls, whatever the threads and the leading axes."""
    single = np.array([function(item, threads=1) for item in batch[:300]])
    for threads in (0, 1, 2, 5):
        assert np.array_equal(function(batch, threads=threads)[:300], single)
    folded = batch[:300].reshape(3, 100, *batch.shape[1:])
    assert np.array_equal(function(folded), single.reshape(3, 100, *single.shape[1:]))
    assert function(batch[:0]).shape == (0, *single.shape[1:])


def test_a_section_is_an_arc() -> None:
    theta, phi, length = 1.3, 0.7, 0.2
    pose = td.ContinuumRobot([td.Section(length=length)]).tip_pose([[theta, phi, 0]])
    radius = length / theta
    assert np.allclose(
        pose[:3, 3],
        [
            radius * (1 - np.cos(theta)) * np.cos(phi),
            radius * (1 - np.cos(theta)) * np.sin(phi),
            radius * np.sin(theta),
        ],
        atol=ROUNDING,
    )
    assert np.allclose(pose[:3, 2], [np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])
    assert np.allclose(pose[:3, :3] @ pose[:3, :3].T, np.eye(3), atol=ROUNDING)
    assert np.array_equal(pose[3], [0, 0, 0, 1])


def test_batches_have_the_bits_of_single_calls(arm: td.ContinuumRobot) -> None:
    states = arm.random_states(6000, 1)
    for function in (
        arm.tip_pose,
        arm.section_poses,
        arm.tip_jacobian,
        lambda s, threads=0: arm.backbone(s, 7, threads=threads),
    ):
        same_bits(function, states)


def test_batches_of_snakes_and_mobile_robots_too(snake: td.Snake, youbot: td.MobileRobot) -> None:
    angles = np.random.default_rng(1).uniform(-1.2, 1.2, (6000, len(snake)))
    states = random_mobile_states(youbot, 6000)
    for function, batch in (
        (snake.points, angles),
        (snake.frames, angles),
        (youbot.tool_pose, states),
        (youbot.frames, states),
    ):
        same_bits(function, batch)


def test_the_last_section_ends_at_the_tip(arm: td.ContinuumRobot) -> None:
    states = arm.random_states(50, 2)
    assert np.array_equal(
        arm.section_poses(states, feed=0.1, spin=0.3)[:, -1], arm.tip_pose(states, feed=0.1, spin=0.3)
    )


def test_feed_and_spin_move_the_base(arm: td.ContinuumRobot) -> None:
    states = arm.random_states(20, 3)
    feeds, spins = np.linspace(0, 0.2, 20), np.linspace(-3, 3, 20)
    poses = arm.tip_pose(states, feed=feeds, spin=spins)
    for state, feed, spin, pose in zip(states, feeds, spins, poses):
        base = np.eye(4)
        base[:2, :2] = [[np.cos(spin), -np.sin(spin)], [np.sin(spin), np.cos(spin)]]
        base[2, 3] = feed
        assert np.allclose(pose, base @ arm.tip_pose(state), atol=ROUNDING)
        assert np.array_equal(pose, arm.tip_pose(state, feed=feed, spin=spin))


def test_the_backbone_goes_from_base_to_tip_in_equal_steps(arm: td.ContinuumRobot) -> None:
    states = arm.random_states(20, 4)
    points = arm.backbone(states, 2001, feed=0.05)
    assert np.allclose(points[:, 0], [0, 0, 0.05], atol=ROUNDING)
    assert np.allclose(points[:, -1], arm.tip_pose(states, feed=0.05)[:, :3, 3], atol=ROUNDING)
    lengths = sum(section.length for section in arm.sections) + states[:, :, 2].sum(axis=1)
    steps = np.linalg.norm(np.diff(points, axis=1), axis=-1)
    assert np.allclose(steps.sum(axis=1), lengths, rtol=1e-4)
    assert np.all(steps <= lengths[:, None] / 2000 * (1 + 1e-9))


def test_the_jacobian_is_that_of_central_differences(arm: td.ContinuumRobot) -> None:
    def tip(q: Any) -> Any:
        pose = arm.tip_pose(arm.states(q), feed=0.02, spin=0.5)
        return np.concatenate([pose[:3, 3], pose[:3, 2]])

    step = 1e-6
    for q in arm.coordinates(arm.random_states(20, 5)):
        jacobian = arm.tip_jacobian(arm.states(q), feed=0.02, spin=0.5)
        assert jacobian.shape == (6, arm.coordinate_count)
        for column, axis in enumerate(np.eye(len(q)) * step):
            assert np.allclose((tip(q + axis) - tip(q - axis)) / (2 * step), jacobian[:, column], atol=DIFFERENCES)


def test_coordinates_and_states_are_inverse(arm: td.ContinuumRobot) -> None:
    states = arm.random_states(100, 6)
    q = arm.coordinates(states)
    assert q.shape == (100, arm.coordinate_count)
    assert np.allclose(arm.states(q), states, atol=ROUNDING)


def test_limits(arm: td.ContinuumRobot) -> None:
    states = arm.random_states(500, 7)
    assert arm.within_limits(states).all() and arm.within_limits(arm.straight)
    assert np.array_equal(arm.clamp(states), states)
    wild = states * 5 + np.array([0, 0, 0.3])
    assert not arm.within_limits(wild).any()
    assert arm.within_limits(arm.clamp(wild)).all()
    assert not arm.within_limits(np.full_like(states[0], np.nan))


def test_random_states_follow_the_seed(arm: td.ContinuumRobot) -> None:
    assert np.array_equal(arm.random_states(10, 8), arm.random_states(20, 8)[:10])
    assert not np.array_equal(arm.random_states(10, 8), arm.random_states(10, 9))
    first, second = (arm.random_states(10, np.random.default_rng(8)) for _ in range(2))
    assert np.array_equal(first, second)
    rng = np.random.default_rng(8)
    assert not np.array_equal(arm.random_states(10, rng), arm.random_states(10, rng))


def test_the_links_of_a_snake_have_their_lengths_and_hinges(snake: td.Snake) -> None:
    angles = np.random.default_rng(2).uniform(-1.2, 1.2, (100, len(snake)))
    base = np.eye(4)
    base[:3, 3] = [1, 2, 3]
    points, frames = snake.points(angles, base=base), snake.frames(angles, base=base)
    assert np.allclose(np.linalg.norm(np.diff(points, axis=1), axis=-1), snake.link_lengths, atol=ROUNDING)
    assert np.allclose(frames[..., :3, 3], points, atol=ROUNDING)
    for j in range(1, len(snake) + 1):  # the hinge's axis is the same in both bodies
        axis = [0, 0, 1] if j % 2 == 1 else [0, -1, 0]
        assert np.allclose(frames[:, j - 1, :3, :3] @ axis, frames[:, j, :3, :3] @ axis, atol=ROUNDING)
    straight = snake.points(np.zeros(len(snake)))
    assert np.allclose(straight[-1], [snake.length, 0, 0], atol=ROUNDING)
    assert snake.within_limits(angles).all() and not snake.within_limits(angles * 3).any()


def universal_points(angles: Any, lengths: Any) -> Any:
    """Ends of the links of a universal-joint chain at the origin: R Rot(z, yaw) Rot(-y, pitch), link along x."""
    frame, points = np.eye(3), [np.zeros(3)]
    for (yaw, pitch), length in zip(angles.reshape(-1, 2), lengths, strict=True):
        c, s, p, q = np.cos(yaw), np.sin(yaw), np.cos(pitch), np.sin(pitch)
        frame = frame @ [[c, -s, 0], [s, c, 0], [0, 0, 1]] @ [[p, 0, -q], [0, 1, 0], [q, 0, p]]
        points.append(points[-1] + length * frame[:, 0])
    return np.array(points)


@pytest.mark.parametrize("root", ["newton", "chord", "bisection"])
def test_a_snake_with_universal_joints_marches_along_a_path(root: str) -> None:
    snake = td.Snake([0, 0.09, 0, 0.11] * 4)
    bend = np.linspace(0, np.pi / 3, 30)
    path = np.vstack([np.zeros(3), [0.4, 0, 0], *([0.4 + 0.3 * np.sin(a), 0, 0.3 - 0.3 * np.cos(a)] for a in bend[1:])])
    march = snake.march(path, fold=0.15, root=root)
    assert march["angles"].shape == (len(march["s"]), 16) and len(march["s"]) > 4
    assert np.allclose(march["base"], np.eye(4))
    points = np.array([universal_points(q, snake.link_lengths[1::2]) for q in march["angles"]])
    assert np.allclose(points, snake.points(march["angles"])[:, ::2], atol=ROUNDING)
    on_arc = np.hypot(points[..., 0] - 0.4, points[..., 2] - 0.3) - 0.3
    assert np.abs(on_arc[:, -1]).max() < 5e-4  # the head follows the arc
    assert np.all(np.diff(march["s"]) > 0)
    assert snake.within_limits(march["angles"]).all()
    with pytest.raises(td.ModelError, match=r"path: point 1 \(1 0 0\): must be 0 0 0"):
        snake.march(path + [1, 0, 0])
    with pytest.raises(td.ModelError, match="root = 'secant': must be one of 'newton', 'chord', 'bisection'"):
        snake.march(path, root="secant")


def test_the_tool_of_a_mobile_robot(youbot: td.MobileRobot) -> None:
    states = random_mobile_states(youbot, 100)
    frames = youbot.frames(states)
    assert np.allclose(frames[:, -1], youbot.tool_pose(states), atol=ROUNDING)
    assert youbot.within_limits(states).all() and youbot.within_limits(youbot.start)
    moved = states.copy()
    moved[:, 0] += 1  # the platform carries everything with it
    assert np.allclose(youbot.frames(moved)[..., :3, 3] - frames[..., :3, 3], [1, 0, 0], atol=ROUNDING)
    turned = states.copy()
    turned[:, -1] += 0.1  # the last joint turns the tool about its own x axis
    assert np.allclose(youbot.tool_pose(turned)[:, :3, [0, 3]], youbot.tool_pose(states)[:, :3, [0, 3]], atol=ROUNDING)


def test_an_arm_on_a_platform_is_where_it_is_mounted() -> None:
    robot = td.load_robot(td.share / "scenes/mobile_arm/robot.toml", td.MobileArm)
    states = robot.arm.random_states(20, 1)
    platforms = np.random.default_rng(1).uniform(-1, 1, (20, 3))
    for platform, state, pose in zip(platforms, states, robot.tip_pose(platforms, states)):
        x, y, heading = platform
        world = np.eye(4)
        world[:2, :2] = [[np.cos(heading), -np.sin(heading)], [np.sin(heading), np.cos(heading)]]
        world[:2, 3] = x, y
        assert np.allclose(pose, world @ robot.mount @ robot.arm.tip_pose(state), atol=ROUNDING)


def test_lists_and_other_numbers_are_arrays(arm: td.ContinuumRobot) -> None:
    state = np.round(arm.random_states(1, 1)[0])
    expected = arm.tip_pose(state)
    for same in (
        state.tolist(),
        state.astype(int),
        state.astype(np.float32),
        np.asfortranarray(state),
        state[::-1][::-1],
    ):
        assert np.array_equal(arm.tip_pose(same), expected)
    state.flags.writeable = False
    assert np.array_equal(arm.tip_pose(state), expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: a.tip_pose(np.zeros((2, 3))), "states: shape = (2, 3), must be (..., 3, 3)"),
        (lambda a: a.tip_pose(np.zeros(3)), "states: shape = (3,), must be (..., 3, 3)"),
        (lambda a: a.tip_pose("bent"), "states: dtype = <U4, must be real numbers"),
        (lambda a: a.tip_pose(np.zeros((3, 3), complex)), "states: dtype = complex128, must be real numbers"),
        (lambda a: a.tip_pose([[1, 2], [3]]), "states: type = list, must be an array of numbers"),
        (
            lambda a: a.tip_pose(np.where(np.arange(18) == 13, np.nan, 0).reshape(2, 3, 3)),
            "states[1, 1, 1] = nan, must be finite",
        ),
        (lambda a: a.tip_pose(np.zeros((3, 3)), threads=-1), "threads = -1, must be >= 0"),
        (lambda a: a.tip_pose(np.zeros((3, 3)), feed=float("inf")), "feed: value = inf, must be finite"),
        (lambda a: a.tip_pose(np.zeros((4, 3, 3)), feed=[1, 2]), "feed: leading axes = (2,), must be () or (4,)"),
        (lambda a: a.backbone(np.zeros((3, 3)), points=1), "points = 1, must be >= 2"),
        (lambda a: a.random_states(-1, 1), "n = -1, must be >= 0"),
        (lambda a: a.random_states(1, -1), "rng = -1, must be a numpy.random.Generator or a seed in [0, 2^64)"),
        (lambda a: a.states(np.zeros(5)), "q: shape = (5,), must be (..., 7)"),
        (lambda a: td.Section(length=0.1, bend_limit=0), "section 1: bend_limit = 0 rad, must be in (0, 2 pi]"),
        (lambda a: td.ContinuumRobot([]), None),
        (lambda a: td.Snake([0.1, 0.1, 0.1]), None),
    ],
)
def test_what_is_wrong_is_told_in_one_line(call: Any, message: str | None) -> None:
    with pytest.raises(td.ModelError) as error:
        call(arms()[2])
    assert isinstance(error.value, ValueError) and "\n" not in str(error.value)
    assert message is None or str(error.value) == message


def test_robot_files(tmp_path: Path) -> None:
    assert repr(td.load_robot(td.share / "models/arm_3x10.toml")).startswith("<ContinuumRobot 'arm_3x10': 3 sections")
    assert isinstance(td.load_robot(str(td.share / "scenes/snake_travel/snake.toml")), td.Snake)
    with pytest.raises(td.ModelError, match="youbot.toml: kind: is a MobileRobot, must be a Snake"):
        td.load_robot(td.share / "models/youbot.toml", td.Snake)
    file = tmp_path / "arm.toml"
    file.write_text('kind = "continuum"\n[[section]]\nconstant_length = 0.1\nbend_limit = 0\n')
    with pytest.raises(td.ModelError) as error:
        td.load_robot(file)
    assert str(error.value) == f"{file}:4: section 1: bend_limit = 0: must be in (0, 2 pi]"
    with pytest.raises(td.ModelError, match="No such file"):
        td.load_robot(tmp_path / "none.toml")


def test_robots_are_pickled(arm: td.ContinuumRobot) -> None:
    copy = pickle.loads(pickle.dumps(arm))
    states = arm.random_states(10, 1)
    assert (copy.name, copy.sections, copy.feed_limit, copy.spin) == (arm.name, arm.sections, arm.feed_limit, arm.spin)
    assert np.array_equal(copy.tip_pose(states), arm.tip_pose(states))


ROBOT_FILES = [
    "models/arm_mixed.toml",
    "scenes/snake_travel/snake.toml",
    "models/youbot.toml",
    "scenes/mobile_arm/robot.toml",
]


def numbers_of(robot: Any) -> list[Any]:
    """Returns what a robot of any kind calculates, for random states."""
    rng = np.random.default_rng(3)
    if isinstance(robot, td.ContinuumRobot):
        return [robot.tip_pose(robot.random_states(10, 1))]
    if isinstance(robot, td.Snake):
        return [robot.frames(rng.normal(size=(10, len(robot)))), robot.joint_limits, robot.rear_length]
    if isinstance(robot, td.MobileRobot):
        return [robot.frames(rng.normal(size=(10, 3 + len(robot)))), robot.joint_limits, robot.start]
    return [robot.tip_pose(rng.normal(size=(10, 3)), robot.arm.random_states(10, 1)), robot.mount]


@pytest.mark.parametrize("file", ROBOT_FILES)
def test_robots_of_every_kind_are_pickled(file: str) -> None:
    robot = td.load_robot(td.share / file)
    copy = pickle.loads(pickle.dumps(robot))
    assert type(copy) is type(robot) and copy.name == robot.name
    assert all(map(np.array_equal, numbers_of(copy), numbers_of(robot)))


def test_robots_go_to_other_processes() -> None:
    robots = [td.load_robot(td.share / file) for file in ROBOT_FILES]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for mine, theirs in zip(map(numbers_of, robots), pool.map(numbers_of, robots), strict=True):
            assert all(map(np.array_equal, mine, theirs))
