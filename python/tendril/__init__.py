"""Continuum and snake robots: kinematics, inverse kinematics, planners, and the plugin for MuJoCo.

SI units, angles in rad; arrays are float64. A function that takes one item takes a batch with any leading axes, over
threads. What is wrong with an argument or a file raises `ModelError`, one line.

`import tendril` loads neither NumPy nor MuJoCo nor the compiled modules: `import mujoco` imports this package in every
program.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from tendril._library import let_libraries_be_found as _let_libraries_be_found

_let_libraries_be_found()

if TYPE_CHECKING:
    from tendril._core import (
        ContinuumRobot,
        Driver,
        Drives,
        Estimator,
        IkResult,
        MobileArm,
        MobileRobot,
        ModelError,
        PathPlan,
        Plan,
        PlanSolution,
        Section,
        SectionMap,
        SectionWorkspace,
        Snake,
        Solver,
        Workspace,
        coordinates,
        load_robot,
        plan,
        plan_path,
        section_workspace,
        tool_orientation,
        workspace,
    )
    from tendril._errors import RecordingError
    from tendril._sim import (
        ArmCommand,
        ArmContext,
        ArmMeasurement,
        BodyCapsule,
        BodySpring,
        ControllerReport,
        ControllerStatus,
        MobileCommand,
        MobileContext,
        MobileMeasurement,
        Obstacles,
        PlatformContext,
        Scene,
        SnakeCommand,
        SnakeContext,
        SnakeMeasurement,
        load_scene,
    )
    from tendril._version import __version__, mujoco_version
    from tendril.controllers import Rollouts, controller, predictive_cost
    from tendril.experiment import Experiment, Result, Run
    from tendril.recording import Contacts, Recording, Replay
    from tendril.sweep import Sweep
    from tendril.sweep.dataset import Dataset
else:
    _names = {
        "_core": [
            "ContinuumRobot",
            "Driver",
            "Drives",
            "Estimator",
            "IkResult",
            "MobileArm",
            "MobileRobot",
            "ModelError",
            "PathPlan",
            "Plan",
            "PlanSolution",
            "Section",
            "SectionMap",
            "SectionWorkspace",
            "Snake",
            "Solver",
            "Workspace",
            "coordinates",
            "load_robot",
            "plan",
            "plan_path",
            "section_workspace",
            "tool_orientation",
            "workspace",
        ],
        "_errors": ["RecordingError"],
        "_sim": [
            "ArmCommand",
            "ArmContext",
            "ArmMeasurement",
            "BodyCapsule",
            "BodySpring",
            "ControllerReport",
            "ControllerStatus",
            "MobileCommand",
            "MobileContext",
            "MobileMeasurement",
            "Obstacles",
            "PlatformContext",
            "Scene",
            "SnakeCommand",
            "SnakeContext",
            "SnakeMeasurement",
            "load_scene",
        ],
        "_version": ["__version__", "mujoco_version"],
        "controllers": ["Rollouts", "controller", "predictive_cost"],
        "sweep.dataset": ["Dataset"],
        "experiment": ["Experiment", "Result", "Run"],
        "recording": ["Contacts", "Recording", "Replay"],
        "sweep": ["Sweep"],
    }
    _with_engine = {"_sim", "controllers", "experiment"}
    _modules = {name: module for module, names in _names.items() for name in names}

    def __getattr__(name):
        if name not in _modules:
            raise AttributeError(f"module 'tendril' has no attribute {name!r}")
        from importlib import import_module

        if _modules[name] in _with_engine:
            from tendril import _engine

            _engine.require()
        module = import_module("tendril." + _modules[name])
        globals()[name] = value = getattr(module, name)
        return value

    def __dir__():
        return __all__


#: Folder of the robot files (`models`) and scenes (`scenes`) that come with the package.
share = Path(__file__).with_name("share")

__all__ = [
    "ArmCommand",
    "ArmContext",
    "ArmMeasurement",
    "BodyCapsule",
    "BodySpring",
    "Contacts",
    "ContinuumRobot",
    "ControllerReport",
    "ControllerStatus",
    "Dataset",
    "Driver",
    "Drives",
    "Estimator",
    "Experiment",
    "IkResult",
    "MobileArm",
    "MobileCommand",
    "MobileContext",
    "MobileMeasurement",
    "MobileRobot",
    "ModelError",
    "Obstacles",
    "PathPlan",
    "Plan",
    "PlanSolution",
    "PlatformContext",
    "Recording",
    "RecordingError",
    "Replay",
    "Result",
    "Rollouts",
    "Run",
    "Scene",
    "Section",
    "SectionMap",
    "SectionWorkspace",
    "Snake",
    "SnakeCommand",
    "SnakeContext",
    "SnakeMeasurement",
    "Solver",
    "Sweep",
    "Workspace",
    "__version__",
    "controller",
    "coordinates",
    "load_robot",
    "load_scene",
    "mujoco_version",
    "plan",
    "plan_path",
    "predictive_cost",
    "section_workspace",
    "share",
    "tool_orientation",
    "workspace",
]
