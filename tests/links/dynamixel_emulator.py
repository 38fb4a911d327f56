#!/usr/bin/env python3
"""Emulates Dynamixel servos of the X series, protocol 2.0, on a pseudo-terminal.

usage: dynamixel_emulator.py ID:MODEL_NUMBER ...

Prints the path of the terminal and runs until it is interrupted. The servos move to their goals with a lag of first
order and draw a current in proportion to the distance. They answer ping, read, write, sync read and sync write. Nothing
of links/dynamixel is read or imported.
"""

import contextlib
import math
import os
import pty
import select
import sys
import threading
import time
import tty

HEADER = b"\xff\xff\xfd\x00"
PING, READ, WRITE, STATUS, SYNC_READ, SYNC_WRITE = 0x01, 0x02, 0x03, 0x55, 0x82, 0x83
RESULT_FAIL, INSTRUCTION, CRC, RANGE, LENGTH, LIMIT, ACCESS = range(1, 8)
ALERT = 0x80
BROADCAST = 0xFE
WATCHDOG_STOP = 0xFF
EEPROM_END = 64
# name: address, size, lowest and highest value that may be written (None: read-only)
REGISTERS = {
    "model_number": (0, 2, None),
    "firmware": (6, 1, None),
    "id": (7, 1, (0, 252)),
    "return_delay": (9, 1, (0, 254)),
    "operating_mode": (11, 1, (0, 16)),
    "torque_enable": (64, 1, (0, 1)),
    "led": (65, 1, (0, 1)),
    "hardware_error": (70, 1, None),
    "bus_watchdog": (98, 1, (0, 127)),
    "goal_current": (102, 2, (-2047, 2047)),
    "goal_position": (116, 4, (-1048575, 1048575)),
    "present_current": (126, 2, None),
    "present_velocity": (128, 4, None),
    "present_position": (132, 4, None),
}
GOALS = ("goal_current", "goal_position")


def crc(data):
    """Remainder of the bytes, as one polynomial times x^16, by x^16 + x^15 + x^2 + 1."""
    rest = int.from_bytes(data, "big") << 16
    while rest.bit_length() > 16:
        rest ^= 0x18005 << (rest.bit_length() - 17)
    return rest.to_bytes(2, "little")


def packet(servo, instruction, parameters):
    body = (bytes([instruction]) + parameters).replace(b"\xff\xff\xfd", b"\xff\xff\xfd\xfd")
    start = HEADER + bytes([servo]) + (len(body) + 2).to_bytes(2, "little") + body
    return start + crc(start)


class Servo:
    """Registers of a servo and the motion of its horn."""

    def __init__(self, number, model, lag=0.02, stiffness=0.5):
        self.number, self.lag, self.stiffness = number, lag, stiffness
        self.memory = bytearray(256)
        self.position = 2048.0  # steps
        self.moved = self.heard = time.monotonic()
        self.set("model_number", model)
        self.set("firmware", 45)
        self.set("id", number)
        self.set("return_delay", 250)
        self.set("operating_mode", 3)
        self.patience = 1.0  # factor on the time of the watchdog
        self.load = 0  # current that holds an external load, in counts
        # Faults of the next answers, set by tests: how many are lost; how many requests each is late; the byte that is
        # damaged; what comes before them.
        self.lost, self.late, self.damaged, self.noise = 0, 0, None, b""
        self.held = []

    def get(self, name):
        address, size, _ = REGISTERS[name]
        return int.from_bytes(self.memory[address : address + size], "little", signed=size > 1)

    def set(self, name, value):
        address, size, _ = REGISTERS[name]
        self.memory[address : address + size] = (value % 256**size).to_bytes(size, "little")

    @property
    def is_driven(self):
        return self.get("torque_enable") and self.get("bus_watchdog") != WATCHDOG_STOP

    def move(self):
        """Moves the horn to the present time."""
        now = time.monotonic()
        passed, error = now - self.moved, self.get("goal_position") - self.position
        self.moved = now
        is_driven = self.is_driven
        new = self.get("goal_position") - error * math.exp(-passed / self.lag) if is_driven else self.position
        speed = (new - self.position) / passed if passed > 0 else 0.0
        self.position = new
        self.set("present_position", round(new))
        self.set("present_velocity", round(speed / 4096 * 60 / 0.229))
        self.set(
            "present_current", round(self.stiffness * (self.get("goal_position") - new)) + self.load if is_driven else 0
        )

    def hear(self):
        """Any packet on the bus: the watchdog counts the time since the last one."""
        self.move()
        now, watchdog = time.monotonic(), self.get("bus_watchdog")
        if self.get("torque_enable") and 0 < watchdog < 128 and now - self.heard > 0.02 * watchdog * self.patience:
            self.set("bus_watchdog", WATCHDOG_STOP)
        self.heard = now

    def read(self, address, size):
        return bytes(self.memory[address : address + size]), 0 if address + size <= 256 else ACCESS

    def write(self, address, data):
        """Error number."""
        done = 0
        while done < len(data):
            found = [name for name, (start, _, _) in REGISTERS.items() if start == address + done]
            if not found:
                return ACCESS
            name, (_, size, limits) = found[0], REGISTERS[found[0]]
            part = data[done : done + size]
            if len(part) < size:
                return LENGTH
            if limits is None or (address < EEPROM_END and self.get("torque_enable")):
                return ACCESS
            value = int.from_bytes(part, "little", signed=size > 1)
            if not limits[0] <= value <= limits[1]:
                return RANGE
            if name in GOALS and self.get("bus_watchdog") == WATCHDOG_STOP:
                return RANGE
            self.move()
            self.set(name, value)
            done += size
        return 0


class Emulator:
    """Servos on a pseudo-terminal, served by a thread."""

    def __init__(self, *servos):
        self.servos = {servo.number: servo for servo in servos}
        self.master, self.slave = pty.openpty()
        tty.setraw(self.slave)
        self.port = os.ttyname(self.slave)
        self.requests = []  # id, instruction and parameters of all
        self.traffic = 0  # bytes of requests and answers
        self.waker, self.wake = os.pipe()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def close(self):
        """Ends the terminal, as when its cable is pulled."""
        os.write(self.wake, b"x")
        self.thread.join()
        for file in (self.master, self.slave, self.waker, self.wake):
            os.close(file)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.close()

    def run(self):
        received = b""
        while True:
            ready, _, _ = select.select([self.master, self.waker], [], [])
            if self.waker in ready:
                return
            received = self.take(received + os.read(self.master, 4096))

    def take(self, data):
        """Serves all whole packets; returns what is left."""
        while (at := data.find(HEADER)) >= 0 and len(data) >= at + 7:
            data = data[at:]
            end = 7 + int.from_bytes(data[5:7], "little")
            if len(data) < end:
                return data
            if crc(data[: end - 2]) == data[end - 2 : end]:
                self.traffic += end
                body = data[7 : end - 2].replace(b"\xff\xff\xfd\xfd", b"\xff\xff\xfd")
                self.serve(data[4], body[0], body[1:])
                data = data[end:]
            else:
                data = data[1:]
        return data

    def before(self, number, instruction, parameters):
        """Something that happens before a request is served; none here."""

    def serve(self, number, instruction, parameters):
        self.requests.append((number, instruction, parameters))
        self.before(number, instruction, parameters)
        for servo in self.servos.values():
            servo.hear()
        address, size = int.from_bytes(parameters[:2], "little"), int.from_bytes(parameters[2:4], "little")
        if instruction == SYNC_READ:
            for asked in parameters[4:]:
                if asked in self.servos:
                    self.answer(self.servos[asked], *self.servos[asked].read(address, size))
        elif instruction == SYNC_WRITE:
            for at in range(4, len(parameters), size + 1):
                if parameters[at] in self.servos:
                    self.servos[parameters[at]].write(address, parameters[at + 1 : at + 1 + size])
        elif instruction == PING:
            for servo in self.servos.values():
                if number in (BROADCAST, servo.number):
                    self.answer(servo, *servo.read(0, 2), servo.read(6, 1)[0])
        elif number in self.servos and instruction == READ:
            self.answer(self.servos[number], *self.servos[number].read(address, size))
        elif number in self.servos and instruction == WRITE:
            self.answer(self.servos[number], b"", self.servos[number].write(address, parameters[2:]))
        elif number in self.servos:
            self.answer(self.servos[number], b"", INSTRUCTION)

    def answer(self, servo, data, error, more=b""):
        if servo.lost:
            servo.lost -= 1
            return
        alert = ALERT if servo.get("hardware_error") else 0
        status = bytearray(packet(servo.number, STATUS, bytes([error | alert]) + (b"" if error else data + more)))
        if servo.damaged is not None:
            status[servo.damaged % len(status)] ^= 0x10
        servo.held.append(servo.noise + bytes(status))
        while len(servo.held) > servo.late:
            data = servo.held.pop(0)
            self.traffic += len(data)
            os.write(self.master, data)


def main():
    words = [word.split(":") for word in sys.argv[1:]]
    if not words or not all(len(word) == 2 and word[0].isdigit() and word[1].isdigit() for word in words):
        sys.exit(__doc__)
    with Emulator(*(Servo(int(number), int(model)) for number, model in words)) as emulator:
        print(emulator.port, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            emulator.thread.join()


if __name__ == "__main__":
    main()
