"""A robot on the network; docs/reference/udp_link.md has its datagrams."""

from __future__ import annotations

import logging
import socket
import struct
import time
import zlib

import numpy as np
import numpy.typing as npt

import tendril as td
from lerobot_robot_tendril.config_tendril import TendrilConfig

Floats = npt.NDArray[np.float64]
_HELLO, _COMMAND, _HOLD = 0.0, 1.0, 2.0
_HEAD, _CHECKSUM = struct.Struct("<4sIQd"), struct.Struct("<I")
_PATIENCE, _PAUSE = 2.0, 0.02  # s, for the first messages, between hellos


class Networked:
    """Orders its robot what `send_action` says, or what the controller of the robot file makes of a target."""

    def __init__(self, config: TendrilConfig) -> None:
        host, _, port = config.address.rpartition(":")
        if not host or not port.isdigit():
            raise ValueError(f"address = {config.address}: must be HOST:PORT")
        self._config, self._peer = config, (host, int(port))
        self._driver = self._new_driver()
        self.readings = dict(zip(self._driver.readings, self._driver.widths, strict=True))
        self.actuators = list(self._driver.actuators)
        self.ranges = np.array(self._driver.ranges)
        self.tells_tip = config.action != "commands"
        self.images: dict[str, tuple[int, int, int]] = {}
        text = "".join(f"{name} {width}\n" for name, width in self.readings.items()) + "\n"
        self._signature = zlib.crc32((text + "".join(f"{name}\n" for name in self.actuators)).encode())

    def _new_driver(self) -> td.Driver:
        config = self._config
        return td.Driver(
            config.file,
            timestep=1.0 / config.fps,
            link_delay=config.link_delay,
            stale_after=config.stale_after,
            speed_limit=config.speed_limit,
        )

    def start(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.connect(self._peer)
            self._socket.setblocking(False)
            self._sent = self._newest = 0
            self._counts, self._commands = np.zeros(0), np.zeros(len(self.actuators))
            self._told = np.full(len(self.actuators), np.nan)
            self._read = {name: np.full(width, np.nan) for name, width in self.readings.items()}
            self._fresh: dict[str, Floats] | None = None
            self._await_readings()
            self._last, self._running = self._heard, True
            self._commands = np.array(self._told)
            if self.tells_tip:
                self._start_driver()
        except BaseException:
            self._socket.close()
            raise

    def _await_readings(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        while self._missing():
            if time.monotonic() > deadline:
                missing = ", ".join(self._missing())
                raise ConnectionError(
                    f"address = {self._config.address}: no {missing} of this robot in {_PATIENCE:g} s"
                )
            self._send(_HELLO, self._commands)
            time.sleep(_PAUSE)
            self._receive()

    def _missing(self) -> list[str]:
        """Readings that have not come, and the commands in force."""
        told = self._read | {"commands": self._told}
        return [name for name, values in told.items() if not np.isfinite(values).all()]

    def _start_driver(self) -> None:
        """Finds the tip by the first readings, in a step of the driver whose commands are not sent."""
        self._driver = self._new_driver()
        self._driver.step(self._last, self._scalars(self._read), np.eye(4))
        self._tip = np.array(self._driver.tip[:3, 3])
        self._driver.reset()
        self._driver.commands = self._commands

    def _scalars(self, readings: dict[str, Floats]) -> dict[str, float | Floats]:
        return {name: values if len(values) > 1 else float(values[0]) for name, values in readings.items()}

    def stop(self) -> None:
        self._send(_HOLD, self._commands)
        self._socket.close()

    @property
    def commands(self) -> Floats:
        return self._commands.copy()

    @property
    def tip(self) -> Floats:
        return self._tip.copy()

    def read(self) -> dict[str, Floats]:
        self._receive()
        return self._read

    def look(self, view: str) -> npt.NDArray[np.uint8]:
        raise NotImplementedError(view)

    def elapsed(self) -> float:
        return min(time.monotonic() - self._last, 1.0 / self._config.fps)

    def command(self, commands: Floats) -> None:
        self._receive()
        self._last = time.monotonic()
        is_running = self._last - self._heard <= self._config.stale_after
        if is_running:
            self._commands = commands
        self._order(is_running, "no message of the robot")

    def reach(self, target: Floats) -> None:
        self._receive()
        self._last = time.monotonic()
        pose = np.eye(4)
        pose[:3, 3] = target
        fresh = None if self._fresh is None else self._scalars(self._fresh)
        self._fresh = None
        self._commands = np.array(self._driver.step(self._last, fresh, pose))
        self._tip = np.array(self._driver.tip[:3, 3])
        self._order(self._driver.state == "running", self._driver.state.removeprefix("held: "))

    def _order(self, is_running: bool, reason: str) -> None:
        if self._running and not is_running:
            logging.warning("%s: commands are held: %s", self._config.address, reason)
        self._running = is_running
        self._send(_COMMAND if is_running else _HOLD, self._commands)

    def _send(self, order: float, commands: Floats) -> None:
        self._sent += 1
        head = _HEAD.pack(b"TDL1", self._signature, self._sent, time.monotonic())
        body = head + struct.pack(f"<{1 + len(commands)}d", order, *commands)
        try:
            self._socket.send(body + _CHECKSUM.pack(zlib.crc32(body)))
        except (ConnectionRefusedError, BlockingIOError):
            pass  # nobody listens at present: the robot is silent, as when messages are lost

    def _receive(self) -> None:
        while True:
            try:
                datagram = self._socket.recv(65536)
            except ConnectionRefusedError:
                continue
            except BlockingIOError:
                return
            self._take(datagram)

    def _take(self, datagram: bytes) -> None:
        if len(datagram) < _HEAD.size + _CHECKSUM.size or (len(datagram) - _HEAD.size - _CHECKSUM.size) % 8:
            return
        body, (checksum,) = datagram[: -_CHECKSUM.size], _CHECKSUM.unpack(datagram[-_CHECKSUM.size :])
        magic, signature, number, _ = _HEAD.unpack_from(body)
        numbers = np.frombuffer(body, "<f8", offset=_HEAD.size)
        width = sum(self.readings.values())
        sensors = len(numbers) - width - len(self.actuators) - 12
        if zlib.crc32(body) != checksum or magic != b"TDL1" or signature != self._signature:
            return
        if number <= self._newest or not 0 <= sensors <= len(self.readings):
            return
        self._newest, self._heard = number, time.monotonic()
        counts = numbers[width : width + sensors]
        grown = counts > self._counts if len(self._counts) else np.ones(sensors, dtype=bool)
        self._counts = counts
        self._fresh = {} if self._fresh is None else self._fresh
        first = 0
        for i, (name, count) in enumerate(self.readings.items()):
            values, first = numbers[first : first + count], first + count
            if np.isfinite(values).all():
                self._read[name] = values
                if i >= sensors or grown[i]:
                    self._fresh[name] = values
        self._told = numbers[width + sensors : width + sensors + len(self.actuators)]
