#!/usr/bin/env python3
"""A robot on the network to start from: the arm of arm.toml, whose sections bend as commanded with a lag of 20 ms.

usage: robot.py [PORT]

Waits for orders of `tendril drive` on a UDP port [7400] and answers each with a message, until it is interrupted. In a
robot of your own `apply` gives the commands to the actuators, and `read` asks the sensors.
"""

import math
import socket
import struct
import sys
import time
import zlib

#: Names as those of td.Driver, and numbers of each.
READINGS = {"bend_s1_y": 1, "bend_s1_x": 1, "bend_s2_y": 1, "bend_s2_x": 1}
ACTUATORS = ("s1_y", "s1_x", "s2_y", "s2_x")
HELLO, COMMAND, HOLD = 0.0, 1.0, 2.0
LAG = 0.02  # s
SIGNS = (1.0, -1.0, 1.0, -1.0)  # encoders read angles about y and -x


def signature(readings, actuators):
    """Both sides have the same if they mean the same robot."""
    text = "".join(f"{name} {count}\n" for name, count in readings.items()) + "\n"
    return zlib.crc32((text + "".join(f"{name}\n" for name in actuators)).encode())


class Endpoint:
    """Datagrams of a robot, or of a program that measures some of it: docs/reference/udp_link.md."""

    def __init__(self, port, readings, actuators, target=None):
        """
        :param port: 0: a free one
        :param target: position in the frame of the base, m, if it is known here
        """
        self.signature = signature(readings, actuators)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", port))
        self.port = self.socket.getsockname()[1]
        self.target = target or (math.nan,) * 3
        self.number = 0  # of the last message
        self.newest = 0  # of the orders

    def order(self, datagram):
        """What an order says, and its commands; None for one that is damaged, old, or meant for another robot."""
        if len(datagram) < 36 or zlib.crc32(datagram[:-4]) != struct.unpack("<I", datagram[-4:])[0]:
            return None
        magic, of, number, _ = struct.unpack_from("<4sIQd", datagram)
        what, *commands = struct.unpack_from(f"<{(len(datagram) - 28) // 8}d", datagram, 24)
        is_new = number > self.newest or what == HELLO  # a driver that has started again counts from 1
        if magic != b"TDL1" or of != self.signature or not is_new:
            return None
        self.newest = number
        return what, commands

    def pack(self, readings, counts, commands):
        """A message.

        :param readings: NaN: not measured here
        :param counts: of each sensor, how many readings there have been
        """
        self.number += 1
        x, y, z = self.target
        pose = (1.0, 0.0, 0.0, x, 0.0, 1.0, 0.0, y, 0.0, 0.0, 1.0, z)
        numbers = (*readings, *counts, *commands, *pose)
        head = struct.pack("<4sIQd", b"TDL1", self.signature, self.number, time.monotonic())
        body = head + struct.pack(f"<{len(numbers)}d", *numbers)
        return body + struct.pack("<I", zlib.crc32(body))


class Robot(Endpoint):
    def __init__(self, port=0, readings=READINGS, target=None):
        super().__init__(port, readings, ACTUATORS, target)
        self.bends, self.commands = [0.0] * 4, [0.0] * 4

    def apply(self, commands):
        self.commands = commands

    def read(self, seconds):
        """The readings after some time."""
        for i, sign in enumerate(SIGNS):
            self.bends[i] += min(1.0, seconds / LAG) * (sign * self.commands[i] - self.bends[i])
        return self.bends

    def message(self, readings):
        """A datagram with new readings of all sensors."""
        return self.pack(readings, [float(self.number + 1)] * len(readings), self.commands)

    def serve(self):
        """Answers orders until the socket is closed. A real robot holds when none comes for a while."""
        last = None
        while True:
            datagram, peer = self.socket.recvfrom(4096)
            order = self.order(datagram)
            if order is None:
                continue
            now = time.monotonic()
            if order[0] == COMMAND:
                self.apply(order[1])
            readings = self.read(0.0 if last is None else now - last)
            last = now
            self.socket.sendto(self.message(readings), peer)


def main():
    if len(sys.argv) > 2 or not all(word.isdigit() for word in sys.argv[1:]):
        sys.exit(__doc__)
    robot = Robot(int(sys.argv[1]) if sys.argv[1:] else 7400)
    print(
        f"tendril drive docs/guide/drive/arm.toml --link udp:127.0.0.1:{robot.port} --target 0.06,0.03,0.17", flush=True
    )
    try:
        robot.serve()
    except KeyboardInterrupt:
        print("bends:", " ".join(f"{bend:.3f}" for bend in robot.bends))


if __name__ == "__main__":
    main()
