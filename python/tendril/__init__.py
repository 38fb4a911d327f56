"""Continuum and snake robots: kinematics, inverse kinematics, planners, and the plugin for MuJoCo.

SI units, angles in rad; arrays are float64. A function that takes one item takes a batch with any leading axes, over
threads. What is wrong with an argument or a file raises `ModelError`, one line.

`import tendril` loads neither NumPy nor MuJoCo nor the compiled modules: `import mujoco` imports this package in every program.
"""
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tendril._core import (ContinuumRobot, IkResult, MobileArm, MobileRobot, ModelError, PathPlan, Plan,
                               PlanSolution, Section, Snake, Solver, coordinates, load_robot, plan, plan_path,
                               tool_orientation)
    from tendril._sim import (ArmCommand, ArmContext, ArmMeasurement, ControllerReport, ControllerStatus,
                              MobileCommand, MobileContext, MobileMeasurement, PlatformContext, Scene, SnakeCommand,
                              SnakeContext, SnakeMeasurement, load_scene)
    from tendril._version import __version__, mujoco_version
    from tendril._errors import RecordingError
    from tendril.controllers import controller
    from tendril.dataset import Dataset
    from tendril.experiment import Experiment, Result, Run
    from tendril.sweep import Sweep
else:
    _modules = {"__version__": "_version", "mujoco_version": "_version", "Dataset": "dataset", "Sweep": "sweep",
                "Experiment": "experiment", "Result": "experiment", "Run": "experiment", "RecordingError": "_errors",
                "controller": "controllers", **dict.fromkeys(
                    ["ArmCommand", "ArmContext", "ArmMeasurement", "ControllerReport", "ControllerStatus",
                     "MobileCommand", "MobileContext", "MobileMeasurement", "PlatformContext", "Scene", "SnakeCommand",
                     "SnakeContext", "SnakeMeasurement", "load_scene"], "_sim")}

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

__all__ = ["ArmCommand", "ArmContext", "ArmMeasurement", "ContinuumRobot", "ControllerReport", "ControllerStatus",
           "Dataset", "Experiment", "IkResult", "MobileArm", "MobileCommand", "MobileContext", "MobileMeasurement",
           "MobileRobot", "ModelError", "PathPlan", "Plan", "PlanSolution", "PlatformContext", "RecordingError",
           "Result", "Run", "Scene", "Section", "Snake", "SnakeCommand", "SnakeContext", "SnakeMeasurement", "Solver",
           "Sweep", "__version__", "controller", "coordinates", "load_robot", "load_scene", "mujoco_version", "plan",
           "plan_path", "share", "tool_orientation"]
