"""Laws of workspaces in Python."""

import numpy as np
import pytest

import tendril as td


def arm() -> td.ContinuumRobot:
    return td.ContinuumRobot(
        [
            td.Section(length=0.1, bend_limit=2 * np.pi, length_weights=[1, 2, 4], angle_weights=[1, 2, 10]),
            td.Section(variable_length=0.05, bend_limit=1.5),
        ],
        feed_limit=0.05,
    )


def test_every_cell_has_a_pose_with_the_tip_in_it() -> None:
    robot = arm()
    reach = td.workspace(robot, cells=16, samples=2000, directions=4)
    tips = robot.tip_pose(reach.states, feed=reach.feed)[:, :3, 3]
    assert np.allclose(tips, reach.tip, atol=1e-12)
    assert np.abs(np.hypot(tips[:, 0], tips[:, 1]) - reach.rho).max() <= reach.cell_edge / 2 * (1 + 1e-9)
    assert np.abs(tips[:, 2] - reach.z).max() <= reach.cell_edge / 2 * (1 + 1e-9)
    assert robot.within_limits(reach.states).all()
    assert (reach.feed >= 0).all() and (reach.feed <= robot.feed_limit).all()
    assert (reach.sampled | reach.solved).all() and not (reach.center & ~reach.converged).any()
    assert reach.row.max() + 1 == reach.rows and reach.column.max() + 1 == reach.columns
    assert len({*zip(reach.row.tolist(), reach.column.tolist(), strict=True)}) == len(reach.row)
    assert ((reach.dexterity >= 0) & (reach.dexterity <= 1)).all() and reach.dexterity.max() > 0
    assert (reach.time == 0).all() and (reach.iterations[reach.converged] > 0).any()
    assert np.isclose(reach.area, reach.center.sum() * reach.cell_edge**2)
    assert np.isclose(reach.volume, 2 * np.pi * reach.rho[reach.center].sum() * reach.cell_edge**2)
    assert "cells" in repr(reach)


def test_threads_change_nothing_but_times() -> None:
    one = td.workspace(arm(), cells=8, samples=500, directions=2, threads=1, measure_time=True)
    three = td.workspace(arm(), cells=8, samples=500, directions=2, threads=3)
    assert np.array_equal(one.states, three.states) and np.array_equal(one.dexterity, three.dexterity)
    assert (one.time[one.converged] > 0).all()


def test_a_section_alone() -> None:
    curved, telescopic = arm().sections
    alone = td.section_workspace(curved, bends=361)
    assert np.isclose(np.degrees(alone.critical_bend), 253.31, atol=0.005)
    assert np.isclose(alone.ratio[30], 2.4966, atol=5e-5)
    assert np.argmax(alone.chord_angle) == round(np.degrees(alone.critical_bend))
    ends = td.ContinuumRobot([curved]).tip_pose(np.stack([alone.theta, 0 * alone.theta, 0 * alone.theta], -1)[:, None])
    assert np.allclose(alone.end, ends[:, [0, 2], 3])
    assert alone.surface > 0 and alone.volume == 0 and len(alone.outline) == 361
    body = td.section_workspace(telescopic)
    assert alone.invertible_bend == alone.critical_bend and body.invertible_bend == telescopic.bend_limit
    assert body.critical_bend is None and body.surface == 0 and np.allclose(body.ratio, 2)
    # the region lies between a quarter and the whole of the ball's sector that the chord sweeps
    sector = 2 * np.pi / 3 * 0.05**3 * (1 - np.cos(0.75))
    assert 0.25 * sector < body.volume < sector
    x, z = body.outline.T
    shoelace = abs((x[:-1] * z[1:] - x[1:] * z[:-1]).sum()) / 2
    assert np.isclose(body.area, shoelace, rtol=1e-3)


def test_options_out_of_range_are_refused() -> None:
    with pytest.raises(td.ModelError, match=r"cells = 3, must be in \[4, 2000\]"):
        td.workspace(arm(), cells=3)
    with pytest.raises(td.ModelError, match="must be one of auto"):
        td.workspace(arm(), solver="newton")
    with pytest.raises(td.ModelError, match="max_iterations = 0"):
        td.workspace(arm(), max_iterations=0)
    with pytest.raises(td.ModelError, match="threads = -1"):
        td.workspace(arm(), threads=-1)
    with pytest.raises(td.ModelError, match="bends = 1, must be >= 2"):
        td.section_workspace(arm().sections[0], bends=1)
