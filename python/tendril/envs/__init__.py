"""Gymnasium environments of Tendril; docs/guide/environments.md. `import tendril.envs` registers them."""

import gymnasium

from tendril.envs.environments import Environment, VectorEnvironment
from tendril.envs.experiment import ExperimentEnv
from tendril.envs.tasks import TASKS

for _name in TASKS:
    gymnasium.register(
        id=f"Tendril/{_name}-v0",
        entry_point="tendril.envs:Environment",
        vector_entry_point="tendril.envs:VectorEnvironment",
        kwargs={"task": _name},
    )
del _name

__all__ = ["Environment", "ExperimentEnv", "VectorEnvironment"]
