"""Continuum and snake robots: kinematics, inverse kinematics, planners, and the plugin for MuJoCo.

SI units, angles in rad; arrays are float64. A function that takes one item takes a batch with any leading axes, over
threads. What is wrong with an argument or a file raises `ModelError`, one line.

`import tendril` loads neither NumPy nor MuJoCo nor the compiled modules: `import mujoco` imports this package in every program.
"""
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tendril._core import (ContinuumRobot, IkResult, MobileArm, MobileRobot, ModelError, PathPlan, Plan,
                               PlanSolution, Section, Snake, Solver, load_robot, plan, plan_path, tool_orientation)
    from tendril._sim import Scene, load_scene
    from tendril._errors import RecordingError
    from tendril._version import __version__, mujoco_version
    from tendril.dataset import Dataset
    from tendril.experiment import Experiment, Result, Run
    from tendril.recording import Contacts, Recording, Replay
    from tendril.sweep import Sweep
else:
    _modules = {"__version__": "_version", "mujoco_version": "_version", "Dataset": "dataset", "Sweep": "sweep",
                "Scene": "_sim", "load_scene": "_sim", "Experiment": "experiment", "Result": "experiment",
                "Run": "experiment", "RecordingError": "_errors", "Contacts": "recording",
                "Recording": "recording", "Replay": "recording"}

    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module 'tendril' has no attribute {name!r}")
        from importlib import import_module
        module = import_module("tendril." + _modules.get(name, "_core"))
        globals()[name] = value = getattr(module, name)
        return value

    def __dir__():
        return __all__

#: Folder of the robot files (`models`) and scenes (`scenes`) that come with the package.
share = Path(__file__).with_name("share")

__all__ = ["Contacts", "ContinuumRobot", "Dataset", "Experiment", "IkResult", "MobileArm", "MobileRobot", "ModelError",
           "PathPlan", "Plan", "PlanSolution", "Recording", "RecordingError", "Replay", "Result", "Run", "Scene",
           "Section", "Snake", "Solver", "Sweep", "__version__", "load_robot", "load_scene", "mujoco_version", "plan",
           "plan_path", "share", "tool_orientation"]
