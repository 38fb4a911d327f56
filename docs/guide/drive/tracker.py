#!/usr/bin/env python3
"""What tells `tendril drive` the readings of one sensor that the robot's own link does not have, such as a tip tracker.

    tracker = Tracker("arm.toml", "tracker", port=7401)
    while True:
        pose = ...  # of your tracker's library: (x, y, z, qw, qx, qy, qz) in the frame of the base
        tracker.tell(pose)

Then `tendril drive arm.toml --link dynamixel:bus.toml --link udp:127.0.0.1:7401` has both. With the package
tendril-mujoco the names come from the robot file; without it give them as `readings` and `actuators`.
"""

import math

from robot import Endpoint


def names_of(robot_file):
    """Readings with their numbers, and actuators, as `tendril drive` has them."""
    import tendril as td

    driver = td.Driver(robot_file, timestep=0.01)
    return dict(driver.readings), list(driver.actuators)


class Tracker(Endpoint):
    def __init__(self, robot_file, sensor, port=0, readings=None, actuators=None):
        """
        :param sensor: name of its table in the robot file
        """
        if readings is None:
            readings, actuators = names_of(robot_file)
        super().__init__(port, readings, actuators)
        self.socket.setblocking(False)
        self.widths, self.actuators = readings, len(actuators)
        self.own = [name for name in readings if name.startswith(sensor + "_")]
        self.count, self.peer = 0, None

    def hear(self):
        """Takes the orders that have come: they tell where to send."""
        while True:
            try:
                datagram, peer = self.socket.recvfrom(4096)
            except (BlockingIOError, ConnectionRefusedError):
                return
            if self.order(datagram) is not None:
                self.peer = peer

    def tell(self, numbers):
        """Sends a reading, if the driver has asked for messages.

        :param numbers: all of the sensor, one after the other
        """
        self.hear()
        self.count += 1
        left, readings, counts = list(numbers), [], []
        for name, width in self.widths.items():
            is_own = name in self.own
            readings += [left.pop(0) if is_own else math.nan for _ in range(width)]
            counts.append(float(self.count) if is_own else 0.0)
        if self.peer is not None:
            try:
                self.socket.sendto(self.pack(readings, counts, [math.nan] * self.actuators), self.peer)
            except OSError:
                self.peer = None  # the driver has gone
