"""Gymnasium environments: their API, their draws, and one implementation for one and for many."""

import copy
import pickle
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import tendril as td
import tendril.envs
from tendril.envs.tasks import TASKS

IDS = [f"Tendril/{name}-v0" for name in TASKS]
SHAPES = {
    "Reach": (6, 18, 200),
    "Insert": (7, 21, 600),
    "SnakeGoal": (16, 38, 1000),
    "YoubotReach": (8, 22, 400),
    "DisMechFollow": (10, 76, 500),
    "DisMech4D": (15, 86, 100),
    "DisMechObstacles2D": (5, 47, 50),
    "DisMechObstacles3D": (10, 121, 50),
    "ElasticaTrack": (12, 44, 7142),
    "ElasticaOrient": (18, 52, 1428),
    "ElasticaWall": (4, 160, 3571),
    "ElasticaNest": (4, 220, 3571),
    "PlanarReach": (4, 12, 200),
    "PlanarReachPost": (4, 14, 200),
    "PlanarPush": (4, 16, 400),
    "SnakeRun": (16, 38, 500),
    "AntipodalGrip": (5, 178, 1000),
    "InHand": (8, 258, 1000),
    "InHandInverted": (8, 257, 1000),
    "PenSpinner": (20, 230, 1000),
    "TwoArmBox": (12, 51, 500),
    "GuidewireArch": (2, 10, 300),
}


def name_of(id: str) -> str:
    return id.removeprefix("Tendril/").removesuffix("-v0")


def make(id: str, **options: Any) -> Any:
    return gymnasium.make("tendril.envs:" + id, **options)


def episode(env: Any, seed: int, steps: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    seen: list[Any] = [env.reset(seed=seed)[0].tobytes()]
    for _ in range(steps):
        action = rng.uniform(-1, 1, env.action_space.shape).astype(np.float32)
        observation, reward, terminated, truncated, info = env.step(action)
        seen.append((observation.tobytes(), reward, terminated, truncated, info))
        if terminated or truncated:
            seen.append(env.reset()[0].tobytes())
    return seen


@pytest.mark.parametrize("id", IDS)
@pytest.mark.filterwarnings("ignore:.*Box observation space (min|max)imum value is:UserWarning")
def test_gymnasium_finds_no_fault(id: str) -> None:
    env = make(id)
    actions, observations, steps = SHAPES[name_of(id)]
    assert env.action_space.shape == (actions,) and env.observation_space.shape == (observations,)
    assert env.unwrapped._simulations.task.steps == steps
    check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("id", IDS)
def test_the_same_seed_and_actions_have_the_same_bits(id: str) -> None:
    first, second = episode(make(id), 3, 12), episode(make(id), 3, 12)
    assert first == second
    assert episode(make(id), 4, 2) != first[:3]


@pytest.mark.parametrize("id", IDS)
def test_a_vector_has_the_numbers_of_single_environments(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With episodes of different length, and any number of threads."""
    count, steps = 3, 14
    monkeypatch.setattr(TASKS[name_of(id)], "steps", 5)
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (steps, count, SHAPES[name_of(id)][0])).astype(np.float32)
    vectors = [
        gymnasium.make_vec(
            "tendril.envs:" + id, num_envs=count, vectorization_mode="vector_entry_point", threads=threads
        )
        for threads in (1, 2)
    ]
    singles = [make(id) for _ in range(count)]
    observations = np.stack([env.reset(seed=7 + i)[0] for i, env in enumerate(singles)])
    for vector in vectors:
        assert np.array_equal(vector.reset(seed=7)[0], observations)
    over = np.zeros(count, dtype=bool)
    for step in range(steps):
        stepped = [vector.step(actions[step]) for vector in vectors]
        for i, env in enumerate(singles):
            if over[i]:  # autoreset in the next step: the action counts for nothing
                expected: Any = (env.reset()[0], 0.0, False, False, {})
            else:
                expected = env.step(actions[step, i])
            for observation, reward, terminated, truncated, infos in stepped:
                assert np.array_equal(observation[i], expected[0])
                assert (reward[i], terminated[i], truncated[i]) == expected[1:4]
                for name, value in expected[4].items():
                    assert infos[name][i] == value and infos["_" + name][i]
                assert expected[4] or not infos or not infos["_is_success"][i]
            over[i] = expected[2] or expected[3]
    assert step == steps - 1


@pytest.mark.parametrize("id", IDS)
def test_a_non_finite_action_is_refused(id: str) -> None:
    env = make(id)
    env.reset(seed=0)
    action = np.zeros(env.action_space.shape, dtype=np.float32)
    action[-1] = np.nan
    with pytest.raises(ValueError, match="action: must be finite"):
        env.step(action)


@pytest.mark.parametrize("id", IDS)
def test_a_divergence_ends_the_episode(id: str) -> None:
    env = make(id)
    env.reset(seed=0)
    env.unwrapped._simulations.task.motion[:, -1] = np.nan
    observation, reward, terminated, truncated, info = env.step(np.zeros(env.action_space.shape, dtype=np.float32))
    assert reward == -10 and terminated and info["diverged"] and np.isfinite(observation).all()
    observation, _ = env.reset(seed=0)
    assert np.isfinite(observation).all()
    assert not env.step(np.zeros(env.action_space.shape, dtype=np.float32))[4]["diverged"]


def test_targets_of_reach_are_where_kinematics_says_and_rewards_as_documented() -> None:
    env = make("Tendril/Reach-v0")
    arm = td.ContinuumRobot([td.Section(length=0.1)] * 3)
    ik = td.Solver(arm, "auto", position_tolerance=1e-6)
    for seed in range(20):
        observation, _ = env.reset(seed=seed)
        result = ik.solve(observation[12:15].astype(float) + observation[15:18])
        assert result.converged
    action = np.full(6, 0.5, dtype=np.float32)
    observation, reward, _, _, info = env.step(action)
    assert observation[:6] == pytest.approx(np.full(6, 0.5 * 2 * 0.02))
    assert info["tip_error"] == pytest.approx(np.linalg.norm(observation[15:18]), abs=1e-7)
    assert reward == pytest.approx(-info["tip_error"] - 0.001 * 6 * 0.25)


def test_inverse_kinematics_with_integral_action_solves_reach(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(Path(__file__).resolve().parents[2] / "python/examples/08_gym_baseline.py"))
    said = re.fullmatch(r"mean reward (\S+), final error (\S+) mm \(worst (\S+) mm\)\n", capsys.readouterr().out)
    assert said is not None
    assert float(said[1]) > -0.03 and float(said[3]) < 1.0  # a policy that does nothing has -0.18


def test_coordinates_of_reach_are_those_of_the_arm() -> None:
    """The measured coordinates give the tip that is observed."""
    env = make("Tendril/Reach-v0")
    env.reset(seed=0)
    observation: Any = None
    for action in [np.array([1, 0.5, -1, 0.5, 0.2, -1], dtype=np.float32)] * 15 + [np.zeros(6, dtype=np.float32)] * 60:
        observation = env.step(action)[0]
    arm = td.ContinuumRobot([td.Section(length=0.1)] * 3)
    tip = arm.tip_pose(arm.states(observation[6:12].astype(float)))[:3, 3]
    assert observation[12:15] == pytest.approx(tip, abs=0.006)  # its weight bends a section unevenly


def test_the_tube_is_where_the_episode_puts_it() -> None:
    env = make("Tendril/Insert-v0")
    offsets = []
    for seed in range(30):
        env.reset(seed=seed)
        offsets.append(env.unwrapped._simulations.task.mocap_pos[0, 0].copy())
    assert (
        np.all(np.abs(offsets) <= 0.003)
        and np.ptp(offsets, axis=0)[1:].min() > 0.004
        and not np.any(np.array(offsets)[:, 0])
    )
    observation, reward, terminated, truncated, info = env.step(np.array([0, 0, 0, 0, 0, 0, 1], dtype=np.float32))
    for _ in range(50):
        observation, reward, terminated, truncated, info = env.step(np.array([0, 0, 0, 0, 0, 0, 1], dtype=np.float32))
    assert observation[18] == pytest.approx(0.1, abs=0.01)  # the feed
    assert 0.1 < info["progress"] < 0.5 and observation[19] == pytest.approx(info["progress"])


def test_pushing_against_the_tube_is_felt() -> None:
    env = make("Tendril/Insert-v0")
    env.reset(seed=1)
    largest = 0.0
    for k in range(200):
        action = np.array([0, -1 if k > 50 else 0, 0, 0, 0, 0, 1], dtype=np.float32)
        _, reward, terminated, _, info = env.step(action)
        largest = max(largest, info["wall_force"])
        if terminated:
            assert reward < -9 and not info["is_success"]
            break
    assert largest > 1


def test_the_pose_of_the_youbot_has_no_error_at_its_target() -> None:
    env = make("Tendril/YoubotReach-v0")
    env.reset(seed=0)
    task = env.unwrapped._simulations.task
    robot = td.load_robot(td.share / "models/youbot.toml", td.MobileRobot)
    hold = np.zeros(8, dtype=np.float32)
    for _ in range(50):
        observation = env.step(hold)[0]
    pose = robot.tool_pose(observation[:8].astype(float))  # below the start, by its weight
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, pose[:3, :3].flatten())
    task.mocap_pos[0, 0], task.mocap_quat[0, 0] = pose[:3, 3], quaternion
    ended = False
    steps = 0
    while not ended and steps < 40:
        *_, ended, _, info = env.step(hold)
        steps += 1
    assert ended and info["is_success"] and steps == 25  # half a second


@pytest.mark.parametrize("id", IDS)
def test_images_show_the_state(id: str) -> None:
    env = make(id, render_mode="rgb_array")
    env.reset(seed=0)
    try:
        first = env.render()
    except RuntimeError as error:
        pytest.skip(str(error))
    assert first.shape == (480, 640, 3) and first.dtype == np.uint8 and first.std() > 5
    for _ in range(15):
        env.step(np.ones(env.action_space.shape, dtype=np.float32))
    assert np.abs(env.render().astype(int) - first).max() > 50
    env.close()
    with pytest.raises(ValueError, match="render_mode: human: must be rgb_array or None"):
        tendril.envs.Environment(name_of(id), render_mode="human")


def seeing(make_one: Any, **options: Any) -> Any:
    """An environment with images, skipped where nothing can be drawn."""
    try:
        return make_one(camera="report", size=(48, 32), **options)
    except RuntimeError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("id", IDS)
def test_observations_have_the_images_of_a_camera(id: str) -> None:
    plain, env = make(id), seeing(lambda **options: make(id, **options))
    state, (first, _) = plain.reset(seed=2)[0], env.reset(seed=2)
    assert env.observation_space.contains(first) and env.observation_space["image"].shape == (32, 48, 3)
    assert (first["state"] == state).all() and first["image"].std() > 5
    action = np.ones(env.action_space.shape, dtype=np.float32)
    for _ in range(15):
        state, later = plain.step(action)[0], env.step(action)[0]
    assert (later["state"] == state).all()  # a camera changes nothing
    assert np.abs(later["image"].astype(int) - first["image"]).max() > 50
    assert (env.reset(seed=2)[0]["image"] == first["image"]).all()
    many = seeing(lambda **options: tendril.envs.VectorEnvironment(name_of(id), 2, **options))
    images = many.reset(seed=[2, 3])[0]["image"]
    assert (images[0] == first["image"]).all() and many.observation_space["image"].shape == (2, 32, 48, 3)
    assert (copy.deepcopy(env.unwrapped).reset(seed=2)[0]["image"] == first["image"]).all()


def test_an_experiment_has_images_alone_or_with_numbers(tmp_path: Path) -> None:
    file = experiment(tmp_path, VARIED)
    both = seeing(lambda **options: point_env(file, rate=2.0, **options))
    alone = seeing(
        lambda **options: tendril.envs.ExperimentEnv(
            file, action=["arm_s*"], observation=[], reward=lambda info: 0.0, rate=2.0, **options
        )
    )
    assert both.observation_space["state"].shape == (63,) and alone.observation_space.shape == (32, 48, 3)
    for seed in (0, 1):  # each episode has a model of its own
        with_numbers, image = both.reset(seed=seed)[0], alone.reset(seed=seed)[0]
        assert both.observation_space.contains(with_numbers) and alone.observation_space.contains(image)
        assert (with_numbers["image"] == image).all()
        action = np.ones(6, dtype=np.float32)
        assert (both.step(action)[0]["image"] == alone.step(action)[0]).all()
    both.close()
    alone.close()


# ---- any experiment
# ---- any experiment
# ---------------------------------------------------------------------------------------------------

ARM = Path(tendril.envs.__file__).with_name("scenes")


def experiment(folder: Path, more: str = "") -> Path:
    file = folder / "point.toml"
    file.write_text(f'scene = "{ARM / "reach.xml"}"\nduration = 0.3\n{more}')
    return file


VARIED = """
[[motion]]
body = "target"
kind = "circle"
center = [0.22, 0, 0]
radius = 0.06
normal = [1, 0, 0]
speed = 0.1
[[check]]
metric = "speed_max"
max = 100
[vary]
"motion.target.radius" = { uniform = [0.02, 0.06] }
"""


def point_env(file: Path, **options: Any) -> tendril.envs.ExperimentEnv:
    return tendril.envs.ExperimentEnv(
        file, action=["arm_s*"], observation=["qpos", "mocap_pos"], reward=lambda info: -info["time"], **options
    )


@pytest.mark.filterwarnings("ignore:.*Box observation space (min|max)imum value is:UserWarning")
def test_an_experiment_is_an_environment(tmp_path: Path) -> None:
    env = point_env(experiment(tmp_path, VARIED), rate=2.0)
    assert env.action_space.shape == (6,) and env.observation_space.shape == (63,)
    check_env(env, skip_render_check=True)
    env.reset(seed=1)
    radii = {tuple(np.round(env.reset()[0][-3:], 6)) for _ in range(4)}
    assert len(radii) == 4  # drawn again
    rewards, over, info = [], False, {}
    while not over:
        _, reward, terminated, over, info = env.step(np.ones(6, dtype=np.float32))
        rewards.append(reward)
        assert not terminated
    assert len(rewards) == 15 and rewards == pytest.approx([-0.02 * (i + 1) for i in range(15)])
    assert env.run.data.ctrl == pytest.approx(0.3 * 2.0)
    assert info["result"].verdict == "pass" and info["result"].outcome == "done"


def test_episodes_of_an_experiment_repeat(tmp_path: Path) -> None:
    file = experiment(tmp_path, VARIED)
    first, second = [
        [
            observation if isinstance(observation, bytes) else observation[:4]
            for observation in episode(point_env(file), 5, 20)
        ]
        for _ in range(2)
    ]
    assert first == second


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"action": ["no_*"]}, "action: no_*: must be an actuator of the scene: arm_s1_x, "),
        ({"observation": ["nothing"]}, "observation: nothing: must be a sensor, or one of time, "),
        ({"observation": []}, "observation: is empty: must name sensors, or camera must be given"),
        ({"camera": "none"}, "camera: none: must be a camera of the scene: report"),
        ({"set": {"option.timestep": 0}}, "set: option.timestep: 0: "),
        ({"file": "none.toml"}, "none.toml: "),
    ],
)
def test_wrong_names_are_one_line(options: dict[str, Any], line: str, tmp_path: Path) -> None:
    arguments: dict[str, Any] = {
        "file": experiment(tmp_path),
        "action": ["arm_s1_x"],
        "observation": ["qpos"],
        "reward": lambda info: 0.0,
        **options,
    }
    with pytest.raises(td.ModelError) as error:
        tendril.envs.ExperimentEnv(**arguments)
    assert str(error.value).startswith(line) and "\n" not in str(error.value)


def test_actuators_of_a_controller_are_not_an_agents(tmp_path: Path) -> None:
    file = td.share / "scenes/reach/reach.toml"
    driver = td.Experiment(file).start().drivers
    assert set(driver) == {"tendril.reach"} or all(one.startswith("tendril.reach of ") for one in driver)
    assert set(td.Experiment(experiment(tmp_path)).start().drivers) == {""}
    with pytest.raises(td.ModelError, match=r"action: .*: is driven by tendril\.reach.*take \[controller\] out"):
        tendril.envs.ExperimentEnv(file, ["*"], ["qpos"], lambda info: 0.0)


def test_specifications_are_text() -> None:
    """Data sets store them."""
    for id in IDS:
        specification = gymnasium.envs.registration.EnvSpec.from_json(make(id).spec.to_json())
        assert gymnasium.make(specification).reset(seed=0)[0].shape == make(id).observation_space.shape


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("count", [0, 3])
def test_a_copy_goes_on_with_the_same_numbers(id: str, count: int) -> None:
    env: Any = gymnasium.make_vec("tendril.envs:" + id, num_envs=count) if count else make(id)
    env.reset(seed=0)
    for _ in range(5):
        env.step(env.action_space.sample())
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env.unwrapped))]
    for _ in range(20):
        action = env.action_space.sample()
        expected = env.step(action)
        for other in copies:
            for one, two in zip(other.step(action)[:4], expected[:4], strict=True):
                assert np.array_equal(one, two)
    begun = env.reset()[0]
    assert all(np.array_equal(other.reset()[0], begun) for other in copies)


def test_of_a_vector_only_those_of_the_mask_begin_again() -> None:
    vector = tendril.envs.VectorEnvironment("Reach", num_envs=3)
    with pytest.raises(ValueError, match="before the first reset"):
        vector.reset(options={"reset_mask": np.array([True, False, False])})
    start = vector.reset(seed=0)[0]
    other = tendril.envs.VectorEnvironment("Reach", num_envs=3)
    other.reset(seed=0)
    actions = vector.action_space.sample()
    before = vector.step(actions)[0]
    other.step(actions)
    mixed = vector.reset(seed=0, options={"reset_mask": np.array([True, False, False])})[0]
    assert np.array_equal(mixed[0], start[0]) and np.array_equal(mixed[1:], before[1:])
    assert np.array_equal(vector.step(actions)[0][1:], other.step(actions)[0][1:])
    for mask in ([True, False, False], np.array([1, 0, 0])):
        with pytest.raises(TypeError, match="reset_mask"):
            vector.reset(options={"reset_mask": mask})
    for mask in (np.zeros(3, bool), np.ones(2, bool)):
        with pytest.raises(ValueError, match="reset_mask"):
            vector.reset(options={"reset_mask": mask})


def test_seeds_of_numpy_are_seeds() -> None:
    vector = tendril.envs.VectorEnvironment("Reach", num_envs=2)
    expected = vector.reset(seed=3)[0]
    assert np.array_equal(vector.reset(seed=np.int64(3))[0], expected)  # type: ignore[arg-type]
    assert np.array_equal(vector.reset(seed=np.array([3, 4]))[0], expected)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seed: has 3 numbers, must have 2"):
        vector.reset(seed=[1, 2, 3])


def test_masked_actions_are_refused() -> None:
    env = make("Tendril/Reach-v0").unwrapped
    env.reset(seed=0)
    with pytest.raises(ValueError, match="must not be masked"):
        env.step(np.ma.masked_array(np.zeros(6), mask=[1, 0, 0, 0, 0, 0]))


def test_a_run_under_way_is_not_copied(tmp_path: Path) -> None:
    env = point_env(experiment(tmp_path))
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="a run under way cannot be copied"):
            copied(env.run)  # type: ignore[operator]


def test_a_fork_of_a_process_that_has_drawn_says_so(tmp_path: Path) -> None:
    program = tmp_path / "fork.py"
    program.write_text(
        "import os, sys, gymnasium, tendril.envs\n"
        "make = lambda: gymnasium.make('Tendril/Reach-v0', render_mode='rgb_array')\n"
        "env = make(); env.reset(seed=0); env.render()\n"
        "if child := os.fork(): sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "found = 0\n"
        "for one in (env, make()):\n"
        "    one.reset(seed=0)\n"
        "    try: one.render()\n"
        "    except RuntimeError as error: found += 'start processes with forkserver or spawn' in str(error)\n"
        "env.close(); os._exit(found)\n"
    )
    assert subprocess.run([sys.executable, program], timeout=60).returncode == 2


@pytest.mark.parametrize(
    "make_one", [lambda: make("Tendril/Reach-v0"), lambda: td.envs.VectorEnvironment("Reach", 2, 1)]
)
def test_an_action_beyond_the_limits_is_clipped_and_told_once(make_one: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(gymnasium.logger, "warn", lambda text, *_: told.append(text))
    env = make_one()
    env.reset(seed=0)
    for action in (1.0, 10.0, -10.0):
        env.step(np.full(env.action_space.shape, action, dtype=np.float32))
    assert [text for text in told if "clipped" in text] == ["action = 10: is clipped to [-1, 1]; told once"]
