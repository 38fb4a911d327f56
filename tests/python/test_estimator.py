"""The estimator of a robot file alone: against the driver that has one, and against the truth of a recorded run."""

from pathlib import Path

import numpy as np
import pytest

import tendril as td

ROOT = Path(__file__).parents[2]
ARM = ROOT / "docs/guide/drive/arm.toml"
STEP = 0.004


def test_it_estimates_what_the_driver_does():
    driver = td.Driver(ARM, timestep=STEP, speed_limit=None)
    estimator = td.Estimator(ARM, timestep=STEP)
    for name in ("readings", "widths", "actuators"):
        assert getattr(estimator, name) == getattr(driver, name)
    assert np.array_equal(estimator.ranges, driver.ranges)
    target = np.eye(4)
    target[:3, 3] = [0.06, 0.03, 0.17]
    commands = None
    for k in range(300):
        readings = {name: 0.3 * np.sin(0.01 * k + i) for i, name in enumerate(driver.readings) if (k + i) % 3}
        estimator.step(readings, commands)
        commands = driver.step(k * STEP, readings, target)
    assert np.allclose(estimator.q, driver.q, rtol=0, atol=1e-12)
    assert np.allclose(estimator.tip, driver.tip, rtol=0, atol=1e-12)
    assert np.linalg.norm(commands) > 0.1
    estimator.reset()
    estimator.step(commands=[0.0] * 4)
    assert np.allclose(estimator.q, 0)


@pytest.mark.parametrize(("without", "backlash"), [("", 1e-4), ("", 0.0), ("encoder", 1e-4), ("tracker", 1e-4)])
def test_it_knows_the_tip_of_a_run_and_how_well(tmp_path, without, backlash):
    file = tmp_path / "rollout.h5"
    set = {"robot.sensor.2.backlash": backlash}  # of the encoders
    td.Experiment(ROOT / "scenes/sensors/sensors.toml").run(duration=4.0, seed=1, record=file, set=set)
    recording = td.Recording(file)
    timestep = recording.model.opt.timestep
    lies = [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]  # along x of the world
    estimator = td.Estimator(ROOT / "scenes/sensors/arm.toml", timestep=timestep, orientation=lies)
    controls = [recording.model.actuator(f"arm_{name}").id for name in estimator.actuators]
    readings = {name: recording.sensor(f"arm_{name}_reading") for name in estimator.readings if "gratings" not in name}
    if without:
        readings = {name: numbers for name, numbers in readings.items() if not name.startswith(without)}
    errors, deviations = [], []
    for row in range(1, recording.rows):
        # What is sampled comes with its noise: the number is another one.
        come = {
            name: numbers[row]
            for name, numbers in readings.items()
            if name.startswith("encoder") or np.any(numbers[row] != numbers[row - 1])
        }
        estimator.step(come, recording.ctrl[row - 1][controls])
        errors.append(estimator.tip[:3, 3] - recording.sensor("arm_tracker_position")[row])
        deviations.append(np.sqrt(np.diag(estimator.tip_covariance)[:3]))
    errors, deviations = np.array(errors)[500:], np.array(deviations)[500:]  # after a second
    rms, expected = (float(np.sqrt(np.mean(np.sum(a**2, axis=1)))) for a in (errors, deviations))
    print(f"backlash {backlash}, without {without or 'none'}: {rms:.3g} m off, by the covariance {expected:.3g} m")
    # Half of a backlash stays, at 10 mm from the axis of an arm of 200 mm.
    stays = 0.0 if without == "encoder" else backlash / 2 / 0.01 * 0.2
    assert rms < np.hypot(2.0 * expected, stays)
    assert np.all(np.linalg.eigvalsh(estimator.covariance) >= -1e-12)
    assert estimator.covariance.shape == (2 * 4 + 3 + 6,) * 2
    assert estimator.force.shape == (3,) and estimator.friction.shape == (6,) and estimator.q_rate.shape == (4,)


def test_what_it_refuses():
    estimator = td.Estimator(ARM, timestep=STEP)
    for match, call in {
        "timestep = ": lambda: td.Estimator(ARM, timestep=0.0),
        "orientation: must be a rotation": lambda: td.Estimator(ARM, timestep=STEP, orientation=2 * np.eye(3)),
        "no .*sensor.* tells the shape": lambda: td.Estimator(ROOT / "models/arm_3x10.toml", timestep=STEP),
        "readings: elbow: is no reading": lambda: estimator.step({"elbow": 1.0}),
        "commands: shape": lambda: estimator.step(commands=[0.0]),
    }.items():
        with pytest.raises(td.ModelError, match=match):
            call()
