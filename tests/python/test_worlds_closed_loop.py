"""Sixteen worlds for two seconds beside the C engine with the plugin, in scenes of this package.

In free space the tips are at the same places, in contact the same checks hold. With TENDRIL_TEST_EXTRAS in the
environment only: 10 min.
"""

import os

import numpy as np
import pytest

import tendril as td

pytest.importorskip("mujoco_warp", reason="needs warp-lang and mujoco-warp: docs/guide/worlds.md")

from tendril.worlds import Worlds  # noqa: E402

pytestmark = pytest.mark.skipif(not os.environ.get("TENDRIL_TEST_EXTRAS"), reason="takes ten minutes")

COUNT, DURATION = 16, 2.0  # s
STIFFNESS = '[vary]\n"robot.section.*.bending_stiffness" = { scale = [0.7, 1.4] }\n'


def experiment(tmp_path, folder, file, more):
    """A copy of an experiment of the package with draws of its own."""
    text = (td.share / "scenes" / folder / file).read_text()
    text = text.replace('scene = "', f'scene = "{td.share}/scenes/{folder}/')
    copy = tmp_path / file
    copy.write_text(text + more)
    return copy


def in_both(file):
    """The results of all worlds, and of the runs of their seeds; with the largest distance of their tips."""
    worlds = Worlds(file, COUNT, "cpu", duration=DURATION)
    worlds.record(range(COUNT))
    worlds.step(worlds.steps)
    assert not worlds.overflow.numpy().any() and (worlds.diverged.numpy() < 0).all()
    site = next(i for i in range(worlds.model.nsite) if worlds.model.site(i).name in ("arm_tip", "S_tip"))
    tips, farthest, pairs = worlds._data.site_xpos.numpy()[:, site], 0.0, []
    for world in range(COUNT):
        with td.Experiment(file).start(world, duration=DURATION) as run:
            run.run()
        farthest = max(farthest, float(np.linalg.norm(tips[world] - run.data.site_xpos[site])))
        pairs.append((worlds.result(world), run.result))
    assert np.ptp(tips, axis=0).max() > 1e-3  # m: the draws matter
    return farthest, pairs


def held(result):
    return {check["name"]: check["holds"] for check in result.checks}


def test_reach(tmp_path):
    vary = STIFFNESS + '"motion.target.phase" = { uniform = [[0, 0, 0], [6.2832, 6.2832, 6.2832]] }\n'
    farthest, _ = in_both(experiment(tmp_path, "reach", "reach.toml", vary))
    assert farthest < 1e-4  # m


def test_follow_into_a_tube(tmp_path):
    vary = STIFFNESS + '"controller.speed" = { uniform = [0.02, 0.06] }\n'
    _, pairs = in_both(experiment(tmp_path, "tube_insertion", "tube_insertion.toml", vary))
    for ours, meant in pairs:
        assert held(ours) == held(meant)


def test_gaits_of_a_snake(tmp_path):
    vary = '[vary]\n"geom.floor.friction" = { uniform = [0.4, 0.9] }\n'
    _, pairs = in_both(experiment(tmp_path, "snake_travel", "gait_change.toml", vary))
    for ours, meant in pairs:
        assert held(ours) == held(meant)
