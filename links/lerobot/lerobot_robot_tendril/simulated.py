"""A robot in a simulation of Tendril."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import tendril as td
from lerobot_robot_tendril.config_tendril import TendrilConfig
from tendril.envs.simulations import Eye

Floats = npt.NDArray[np.float64]
_LONGEST = 1e6  # s, of a run


class Simulated:
    """An action is in force for 1/fps of simulated time; between actions the time stands still."""

    def __init__(self, config: TendrilConfig) -> None:
        self._config = config
        self._controlled = config.action != "commands"
        self._experiment = td.Experiment(config.file)
        self._begin()
        model, prefix = self._run.model, config.prefix
        names = self._names("actuator")
        if not names:
            raise self._refused("prefix", f"must be that of a robot with actuators{self._prefixes()}")
        self._ids = np.array([model.actuator(name).id for name in names])
        self.actuators = [name.removeprefix(prefix) for name in names]
        limited = model.actuator_ctrllimited[self._ids].astype(bool)[:, None]
        self.ranges = np.where(limited, model.actuator_ctrlrange[self._ids], [-np.inf, np.inf])
        # With a controller the readings, which it makes; without one the ideal sensors are all there are.
        end = "_reading" if self._controlled else ""
        self._sensors = {
            name.removeprefix(prefix).removesuffix(end): name for name in self._names("sensor") if name.endswith(end)
        }
        self.readings = {name: int(model.sensor(sensor).dim[0]) for name, sensor in self._sensors.items()}
        self.tells_tip = config.sensed
        width, height = config.view_size
        self.images = {view: (height, width, 3) for view in config.views}
        self._eyes = {view: Eye(model, view, (width, height)) for view in config.views}
        if self._controlled:
            self._require_target()

    def _begin(self) -> None:
        settings = {"controller.measured": "sensors"} if self._config.sensed else {}
        controller = None if self._controlled else "none"
        self._run = self._experiment.start(self._config.seed, settings, controller, _LONGEST)
        self._due = self._run.time

    def _names(self, kind: str) -> list[str]:
        """Names of the robot's bodies, sensors, ... in the scene."""
        model = self._run.model
        names = [getattr(model, kind)(i).name for i in range(getattr(model, f"n{kind}"))]
        return [name for name in names if name and name.startswith(self._config.prefix)]

    def _refused(self, setting: str, allowed: str) -> ValueError:
        config = self._config
        return ValueError(f"{config.file}: {setting} = {getattr(config, setting)}: {allowed}")

    def _prefixes(self) -> str:
        model = self._run.model
        bases = [name for i in range(model.nbody) if (name := model.body(i).name).endswith("_base")]
        return f": the scene has {', '.join(name.removesuffix('base') for name in bases)}" if bases else ""

    def _require_target(self) -> None:
        model, config = self._run.model, self._config
        if not all(self._run.drivers[i] for i in self._ids):
            raise self._refused("action", "the robot must have a controller")
        for kind, name in (("body", "base"), ("site", "s1_end"), ("sensor", "measured_tip")):
            if config.prefix + name not in self._names(kind):
                raise self._refused("prefix", f"must be that of an arm of sections{self._prefixes()}")
        bodies = [model.body(i) for i in range(model.nbody) if model.body_mocapid[i] >= 0]
        if config.target not in (names := [body.name for body in bodies]):
            raise self._refused("target", f"must be a mocap body of the scene: {', '.join(names)}")
        self._mocap = int(model.body(config.target).mocapid[0])

    def start(self) -> None:
        self._begin()
        if self._controlled:
            base = self._run.data.body(self._config.prefix + "base")
            self._p_WB, self._R_WB = base.xpos.copy(), base.xmat.reshape(3, 3).copy()

    def stop(self) -> None:
        self._run.finish()

    @property
    def commands(self) -> Floats:
        return np.array(self._run.data.ctrl[self._ids])

    @property
    def tip(self) -> Floats:
        return np.array(self._run.data.sensor(self._config.prefix + "measured_tip").data)

    def read(self) -> dict[str, Floats]:
        return {name: np.array(self._run.data.sensor(sensor).data) for name, sensor in self._sensors.items()}

    def look(self, view: str) -> npt.NDArray[np.uint8]:
        return self._eyes[view].look(self._run.model, self._run.data)

    def elapsed(self) -> float:
        return 1.0 / self._config.fps

    def command(self, commands: Floats) -> None:
        self._run.data.ctrl[self._ids] = commands
        self._pass_time()

    def reach(self, target: Floats) -> None:
        place = self._p_WB + self._R_WB @ target
        self._run.data.mocap_pos[self._mocap] = place
        self._pass_time()
        if not np.array_equal(self._run.data.mocap_pos[self._mocap], place):
            raise ValueError(
                f"{self._config.file}: target = {self._config.target}: a motion of the experiment moves it"
            )

    def _pass_time(self) -> None:
        self._due += 1.0 / self._config.fps
        while not self._run.done and self._run.time < self._due - self._run.model.opt.timestep / 2:
            self._run.step()
        if self._run.done:
            raise RuntimeError(
                f"{self._config.file}: the simulation has ended: {self._run.result.reason or 'too long'}"
            )
