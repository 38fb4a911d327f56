"""Recordings as a data set of Minari."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tendril.export.files import atomic, in_child
from tendril.export.steps import Steps

Array = npt.NDArray[Any]


def write_minari(episodes: Iterator[Steps], out: Path, title: str) -> str:
    import minari
    from gymnasium.spaces import Box, Dict
    from minari.data_collector import EpisodeBuffer

    buffers, first, command_line = [], None, ""
    for number, steps in enumerate(episodes):
        if first is None:
            first, command_line = steps, steps.recording.texts.get("command_line", title)
        ends = np.zeros(len(steps.actions), bool)
        ends[-1] = True
        buffers.append(
            EpisodeBuffer(
                id=number,
                seed=steps.seed,
                observations=steps.observations,
                actions=steps.actions,
                rewards=steps.rewards.tolist(),
                terminations=(ends & steps.diverged).tolist(),
                truncations=(ends & (not steps.diverged)).tolist(),
            )
        )
    assert first is not None

    def space(values: Array) -> Any:
        return Box(-np.inf, np.inf, values.shape[1:], np.float64)

    name = f"tendril/{re.sub('[^A-Za-z0-9_-]+', '_', title) or 'recording'}-v0"

    def create() -> None:
        os.environ["MINARI_DATASETS_PATH"] = str(part)
        warnings.simplefilter("ignore")  # that there is no environment
        minari.create_dataset_from_buffers(
            name,
            buffers,
            action_space=space(first.actions),
            algorithm_name="tendril",
            author="tendril",
            author_email="none",
            code_permalink="none",
            description=command_line,
            observation_space=Dict({part_: space(values) for part_, values in first.observations.items()}),
        )

    with atomic(out.absolute()) as part:  # minari takes a relative folder for one of its folders
        part.mkdir()
        in_child(create)
    return f"MINARI_DATASETS_PATH={out} reads it as {name}"
