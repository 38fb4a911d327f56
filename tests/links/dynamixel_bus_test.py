#!/usr/bin/env python3
"""The bus of links/dynamixel and the vendor's SDK drive the same emulated servos.

usage: dynamixel_bus_test.py PROBE
"""

import math
import random
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import dynamixel_sdk as sdk
from dynamixel_emulator import ACCESS, GOALS, RANGE, REGISTERS, Emulator, Servo

PROBE = ""
XL330, XM430, XM540 = 1200, 1020, 1130
STEP = 2 * math.pi / 4096  # rad
LONG, SHORT = 60000, 50  # ms: a wait that an answer ends, and one that nothing ends
BUS = Path(__file__).with_name("bus.toml").read_text().replace("/dev/ttyUSB0", "{port}").replace("= 0.1 ", "= 2.5 ")


class Probe:
    """The bus in C++: a line in, a line out."""

    def __init__(self, port, setup=LONG):
        self.process = subprocess.Popen(
            [PROBE, port, str(setup)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __call__(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n")

    def sync_read(self, milliseconds, *ids):
        """Number of answers, whether the wait ended early, and (is_new, alert, error, value) of each servo."""
        count, end, *rest = self("sync_read", milliseconds, *ids).split()
        rest = [int(word) for word in rest]
        return int(count), end == "early", [tuple(rest[i : i + 4]) for i in range(0, len(rest), 4)]

    def read_servos(self, milliseconds=LONG):
        """Number of answers, and (is_new, is_stopped, hardware_error, value, rate, force) of each servo."""
        count, *rest = self("read_servos", milliseconds).split()
        rest = [float(word) for word in rest]
        return int(count), [tuple(rest[i : i + 6]) for i in range(0, len(rest), 6)]

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class Sdk:
    """The vendor's SDK."""

    def __init__(self, port):
        self.port = sdk.PortHandler(port)
        assert self.port.openPort() and self.port.setBaudRate(1000000)
        self.packets = sdk.PacketHandler(2.0)

    def read(self, servo, name):
        address, size, _ = REGISTERS[name]
        # Its own waits of some milliseconds are too short for a busy machine.
        for _ in range(100):
            value, result, error = getattr(self.packets, f"read{size}ByteTxRx")(self.port, servo, address)
            if result == sdk.COMM_SUCCESS:
                return (value - 256**size if value >= 256**size // 2 and size > 1 else value), error
        raise AssertionError(self.packets.getTxRxResult(result))

    def write(self, servo, name, value):
        address, size, _ = REGISTERS[name]
        for _ in range(100):
            send = getattr(self.packets, f"write{size}ByteTxRx")
            result, error = send(self.port, servo, address, value % 256**size)
            if result == sdk.COMM_SUCCESS:
                return error
        raise AssertionError(self.packets.getTxRxResult(result))


class Case(unittest.TestCase):
    def setUp(self):
        self.servos = [Servo(1, XL330), Servo(2, XM430), Servo(7, XM540)]
        self.emulator = Emulator(*self.servos)
        self.addCleanup(self.emulator.close)

    def probe(self, setup=LONG):
        probe = Probe(self.emulator.port, setup)
        self.addCleanup(probe.close)
        return probe

    def sdk(self):
        vendor = Sdk(self.emulator.port)
        self.addCleanup(vendor.port.closePort)
        return vendor

    def set_up(self, text=BUS):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "bus.toml"
            file.write_text(text.format(port=self.emulator.port))
            probe = self.probe()
            self.assertEqual(probe("set_up", file), "ok")
        return probe


class Vendor(Case):
    """The emulator behaves as the vendor's SDK expects it of servos."""

    def test_ping(self):
        vendor = self.sdk()
        for servo, model in ((1, XL330), (2, XM430), (7, XM540)):
            for _ in range(100):
                answer = vendor.packets.ping(vendor.port, servo)
                if answer[1] == sdk.COMM_SUCCESS:
                    break
            self.assertEqual(answer, (model, sdk.COMM_SUCCESS, 0))
        while sorted(vendor.packets.broadcastPing(vendor.port)[0]) != [1, 2, 7]:
            pass

    def test_refusals(self):
        vendor = self.sdk()
        self.assertEqual(vendor.write(1, "model_number", 5), ACCESS)
        self.assertEqual(vendor.write(1, "goal_position", 1048576), RANGE)
        self.assertEqual(vendor.write(1, "torque_enable", 1), 0)
        self.assertEqual(vendor.write(1, "operating_mode", 4), ACCESS)

    def test_sync(self):
        vendor = self.sdk()
        address, size, _ = REGISTERS["goal_position"]
        write = sdk.GroupSyncWrite(vendor.port, vendor.packets, address, size)
        read = sdk.GroupSyncRead(vendor.port, vendor.packets, address, size)
        goals = {1: 646143, 2: 3, 7: 1048575}
        for servo, goal in goals.items():
            write.addParam(servo, list(goal.to_bytes(4, "little")))
            read.addParam(servo)
        self.assertEqual(write.txPacket(), sdk.COMM_SUCCESS)
        while read.txRxPacket() != sdk.COMM_SUCCESS:
            pass
        self.assertEqual({servo: read.getData(servo, address, size) for servo in goals}, goals)

    def test_stuffing(self):
        self.servos[0].position = 0x00FDFFFF  # FF FF FD 00
        self.assertEqual(self.sdk().read(1, "present_position"), (0x00FDFFFF, 0))


class Both(Case):
    """The bus and the SDK see the same registers."""

    def test_what_one_writes_the_other_reads(self):
        vendor, probe = self.sdk(), self.probe()
        draws = random.Random(5)
        for _ in range(30):
            servo, name = draws.choice((1, 2, 7)), draws.choice(GOALS)
            _, _, limits = REGISTERS[name]
            ours, theirs = draws.randint(*limits), draws.randint(*limits)
            self.assertEqual(probe("write", servo, name, ours), "ok")
            self.assertEqual(vendor.read(servo, name), (ours, 0))
            self.assertEqual(vendor.write(servo, name, theirs), 0)
            self.assertEqual(probe("read", servo, name), str(theirs))

    def test_models_and_positions(self):
        vendor, probe = self.sdk(), self.probe()
        for servo in self.servos:
            self.assertEqual(probe("ping", servo.number), f"{servo.get('model_number')} 45")
        for position in (0, -1, 2048, 0x00FDFFFF, 0x01FDFFFF, -(2**31), 2**31 - 1):
            for servo in self.servos:
                servo.position = position
            self.assertEqual(vendor.read(1, "present_position"), (position, 0))
            for _ in range(8):  # with 0 to 7 more bytes
                self.assertEqual(probe.sync_read(LONG, 7, 1), (2, True, [(1, 0, 0, position)] * 2))
        self.assertEqual(probe("dropped"), "0 0 1")

    def test_refusals_are_named(self):
        probe = self.probe()
        start = f"error: {self.emulator.port}: servo 1: "
        self.assertEqual(
            probe("write", 1, "goal_position", 2000000), start + "goal_position = 2000000: data range error"
        )
        self.assertEqual(probe("write", 1, "model_number", 3), start + "model_number = 3: access error")

    def test_missing_servo(self):
        probe = self.probe(SHORT)
        self.assertEqual(probe("ping", 9), "none")
        self.assertEqual(
            probe("write", 9, "goal_position", 5), f"error: {self.emulator.port}: servo 9: goal_position = 5: no answer"
        )


class Faults(Case):
    """A fault of one servo costs a bounded wait and its own value, never a wrong one."""

    def place(self, first):
        for i, servo in enumerate(self.servos):
            servo.position = first + i

    def test_silent(self):
        probe = self.probe()
        self.place(100)
        self.servos[1].lost = 1
        self.assertEqual(probe.sync_read(SHORT, 1, 2, 7)[1], False)
        self.servos[1].lost = 10**9
        count, is_early, answers = probe.sync_read(1000, 2, 1, 7)
        self.assertFalse(is_early)
        self.assertEqual(answers[0], (0, 0, 0, 0))
        self.servos[1].lost = 0
        self.assertEqual(probe.sync_read(LONG, 2, 1, 7)[:2], (3, True))

    def test_no_servo(self):
        probe = self.probe()
        start = time.monotonic()
        self.assertEqual(probe.sync_read(SHORT, 50, 51), (0, False, [(0, 0, 0, 0)] * 2))
        self.assertGreater(time.monotonic() - start, 1e-3 * SHORT)

    def test_damage_in_each_byte(self):
        probe = self.probe()
        for byte in range(17):
            self.place(1000 + 7 * byte)
            self.servos[1].damaged = byte
            self.servos[2].noise = b"\xff\xff\xfd\x00\x02\xff"  # the beginning of a long packet
            _, is_early, answers = probe.sync_read(SHORT, 1, 2, 7)
            self.assertFalse(is_early)
            self.assertEqual(answers[1], (0, 0, 0, 0))
            for at in (0, 2):
                self.assertIn(answers[at], ((1, 0, 0, 1000 + 7 * byte + at), (0, 0, 0, 0)))
            self.servos[1].damaged, self.servos[2].noise = None, b"\xff\xff\xfd\x00\x02"
            self.assertEqual(
                probe.sync_read(LONG, 1, 2, 7), (3, True, [(1, 0, 0, 1000 + 7 * byte + at) for at in range(3)])
            )
        self.assertGreater(int(probe("dropped").split()[0]), 17)

    def test_late_answers_are_not_taken_for_new_ones(self):
        for late in range(1, 8):
            probe = self.probe()
            self.emulator.requests.clear()
            self.servos[1].late = late
            for i in range(late + 10):
                self.place(10 * i)
                self.assertEqual(probe.sync_read(SHORT, 1, 2)[2][1], (0, 0, 0, 0))
                while len(self.emulator.requests) <= i:  # it is late by exactly so many requests
                    time.sleep(0.001)
            self.servos[1].late = 0
            self.place(500)
            self.assertEqual(probe.sync_read(LONG, 2, 1), (2, True, [(1, 0, 0, 501), (1, 0, 0, 500)]))

    def test_lost_answers_of_the_set_up_are_asked_for_again(self):
        probe = self.probe(2000)
        self.servos[0].lost = 2
        self.assertEqual(probe("write", 1, "goal_position", 77), "ok")
        self.servos[0].lost = 2
        self.assertEqual(probe("read", 1, "goal_position"), "77")

    def test_no_answer_in_three_times(self):
        self.servos[0].lost = 3
        self.assertTrue(self.probe(SHORT)("read", 1, "goal_position").endswith("servo 1: goal_position: no answer"))

    def test_pulled_cable(self):
        emulator = Emulator(Servo(1, XL330))
        probe = Probe(emulator.port)
        self.addCleanup(probe.close)
        self.assertEqual(probe.sync_read(LONG, 1)[0], 1)
        emulator.close()
        self.assertEqual(probe.sync_read(LONG, 1), (0, True, [(0, 0, 0, 0)]))
        self.assertEqual(probe("read", 1, "goal_position"), f"error: {emulator.port}: servo 1: the port is gone")
        self.assertEqual(probe("dropped")[-1], "0")


class InUnits(Case):
    """Servos of a bus file."""

    def setUp(self):
        super().setUp()
        for servo in self.servos:
            servo.patience = math.inf  # no test depends on the speed of the machine

    def settle(self, probe, *values):
        """Readings after the servos have come to these values."""
        while True:
            count, readings = probe.read_servos()
            self.assertEqual(count, 2)
            if all(abs(r[3] - value) < 0.01 * STEP and r[4] == 0 for r, value in zip(readings, values, strict=True)):
                return readings

    def test_set_up(self):
        self.set_up()
        tendon, joint, _ = self.servos
        self.assertEqual([s.get("operating_mode") for s in (tendon, joint)], [5, 4])
        self.assertEqual([s.get("return_delay") for s in (tendon, joint)], [0, 0])
        self.assertEqual([s.get("torque_enable") for s in (tendon, joint)], [0, 0])
        writes = [request for request in self.emulator.requests if request[1] == 3]
        self.emulator.requests.clear()
        self.set_up()  # again: memory that wears is not written
        self.assertEqual(len(writes), 6)
        self.assertEqual([request[2][0] for request in self.emulator.requests if request[1] == 3], [64, 64])

    def test_errors_of_the_set_up(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "bus.toml"
            text = BUS.format(port=self.emulator.port)
            start = f"error: {self.emulator.port}: servo "
            file.write_text(text.replace("id = 1", "id = 5"))
            no_answer = "no answer: must be connected, powered and set to this baud rate"
            self.assertEqual(self.probe(SHORT)("set_up", file), f"{start}5: {no_answer}")
            file.write_text(text.replace("id = 2", "id = 7"))
            model = "model_number = 1130: must be one of 1020, 1030 (xm430)"
            self.assertEqual(self.probe()("set_up", file), f"{start}7: {model}")

    def test_torque_on_holds_the_arm_where_it_is(self):
        probe = self.set_up()
        tendon, joint, _ = self.servos
        tendon.position, joint.position = 5000, -300
        tendon.set("goal_position", 0)
        self.assertEqual(probe("torque", "on"), "ok")
        self.assertEqual([s.get("goal_position") for s in (tendon, joint)], [5000, -300])
        self.assertEqual([s.get("torque_enable") for s in (tendon, joint)], [1, 1])
        self.assertEqual([s.get("bus_watchdog") for s in (tendon, joint)], [125, 125])
        self.assertEqual(tendon.get("goal_current"), 400)  # of 1 mA
        _, readings = probe.read_servos()
        self.assertAlmostEqual(readings[0][3], 0.01 * (5000 * STEP - 3), 12)
        self.assertAlmostEqual(readings[1][3], -(-300 * STEP - 1) / 3, 12)
        self.assertEqual(probe("torque", "off"), "ok")
        self.assertEqual([s.get("torque_enable") for s in (tendon, joint)], [0, 0])

    def test_commands_and_loads(self):
        probe = self.set_up()
        self.assertEqual(probe("torque", "on"), "ok")
        tendon, joint, _ = self.servos
        self.assertEqual(probe("command", -0.02, 0.5), "1 0")
        at = [round((3 - 0.02 / 0.01) / STEP), round((1 - 3 * 0.5) / STEP)]
        tendon.load, joint.load = -150, 40  # the motor winds the tendon up against its tension
        readings = self.settle(probe, 0.01 * (at[0] * STEP - 3), -(at[1] * STEP - 1) / 3)
        self.assertEqual([s.get("goal_position") for s in (tendon, joint)], at)
        self.assertAlmostEqual(readings[0][5], 0.35 * 0.150 / 0.01, 12)  # N, pulls
        self.assertAlmostEqual(readings[1][5], -3 * 1.78 * 40 * 2.69e-3, 12)  # N m on the joint

    def test_late_states_are_not_taken_for_new_ones_between_reads_of_watchdogs(self):
        probe = self.set_up()
        self.servos[0].late = 8  # answers: four states and four watchdogs
        self.servos[1].lost = 10**9  # a servo that is silent: watchdogs are read each time
        for i in range(20):
            self.servos[0].position = 10 * i
            self.assertEqual(probe.read_servos(2 * SHORT)[1][0][0], 0)
            self.assertEqual(probe("read", 7, "torque_enable"), "0")  # after it all has been answered

    def test_rate(self):
        probe = self.set_up()
        self.assertEqual(probe("torque", "on"), "ok")
        for servo in self.servos:
            servo.lag = 100.0  # s
        self.assertEqual(probe("command", 1, -100), "1 0")
        probe.read_servos()
        _, readings = probe.read_servos()  # one request; since then the servos have not moved
        speeds = [servo.get("present_velocity") * 0.229 * 2 * math.pi / 60 for servo in self.servos[:2]]
        self.assertGreater(min(speeds), 0.1)  # rad/s
        self.assertAlmostEqual(readings[0][4], 0.01 * speeds[0], 12)
        self.assertAlmostEqual(readings[1][4], -speeds[1] / 3, 12)

    def test_hardware_error(self):
        probe = self.set_up()
        self.servos[1].set("hardware_error", 0x20)
        count, readings = probe.read_servos()
        self.assertEqual((count, [r[2] for r in readings]), (2, [0, 0x20]))
        self.servos[1].set("hardware_error", 0)
        self.assertEqual([r[2] for r in probe.read_servos()[1]], [0, 0])

    def test_bytes_of_a_cycle(self):
        numbers = range(11, 17)
        emulator = Emulator(*(Servo(number, XL330) for number in numbers))
        self.addCleanup(emulator.close)
        self.emulator = emulator
        servo = '[[servo]]\nid = {0}\nmodel = "xl330"\nactuator = "t{0}"\nradius = 0.01\nzero = 3\n'
        probe = self.set_up('port = "{port}"\nwatchdog = 2.54\n' + "".join(map(servo.format, numbers)))
        with_watchdogs = True
        while with_watchdogs:  # which are read at first, and after a pause
            emulator.requests.clear()
            emulator.traffic = 0
            for _ in range(8):
                self.assertEqual(probe.read_servos()[0], 6)
                self.assertEqual(probe("command", *[0.0] * 6), "1 0")
            self.assertEqual(probe("read", 11, "torque_enable"), "0")  # after it the last goals have arrived
            with_watchdogs = any(parameters[0] == 98 for _, _, parameters in emulator.requests)
        self.assertEqual(emulator.traffic - 14 - 12, 8 * 211)

    def test_commands_out_of_range(self):
        probe = self.set_up()
        self.assertEqual(probe("torque", "on"), "ok")
        self.assertEqual(probe("command", 1e9, -1e9), "1 2")
        self.assertEqual(probe("ping", 1), "1200 45")  # after it the goals have arrived
        self.assertEqual([s.get("goal_position") for s in self.servos[:2]], [1048575, 1048575])
        self.assertEqual(probe("command", "nan", 0), "1 1")
        self.assertEqual(probe("ping", 1), "1200 45")
        self.assertEqual([s.get("goal_position") for s in self.servos[:2]], [1048575, round(1 / STEP)])

    def test_turns_beyond_the_counter(self):
        probe = self.set_up()
        tendon = self.servos[0]
        steps = 0
        while steps < 2**32:
            tendon.position = (steps + 2**31) % 2**32 - 2**31
            _, readings = probe.read_servos()
            self.assertAlmostEqual(readings[0][3], 0.01 * (steps * STEP - 3), 6)
            steps += 2**30 + 12345

    def test_a_stopped_servo_is_reported_and_started_again(self):
        probe = self.set_up(BUS.replace("watchdog = 2.5", "watchdog = 0.1"))
        self.assertEqual(probe("torque", "on"), "ok")
        self.assertEqual([r[1] for r in probe.read_servos()[1]], [0, 0])
        for servo in self.servos:
            servo.patience = 0.0
        time.sleep(0.06)  # the bus must notice its pause, of half the watchdog or more
        self.assertEqual([r[1] for r in probe.read_servos()[1]], [1, 1])
        self.assertEqual([s.get("bus_watchdog") for s in self.servos[:2]], [255, 255])
        at = [s.get("goal_position") for s in self.servos[:2]]
        self.assertEqual(probe("command", 0, 0), "1 0")
        self.assertEqual(probe("ping", 1), "1200 45")  # after it the goals have arrived
        self.assertEqual([s.get("goal_position") for s in self.servos[:2]], at)
        for servo in self.servos:
            servo.patience = math.inf
        self.assertEqual(probe("torque", "on"), "ok")
        self.assertEqual([r[1] for r in probe.read_servos()[1]], [0, 0])

    def test_a_servo_that_restarts_is_reported(self):
        probe = self.set_up()
        self.assertEqual(probe("torque", "on"), "ok")
        self.assertEqual([r[1] for r in probe.read_servos()[1]], [0, 0])
        joint = self.servos[1]
        joint.lost = 1
        for name in ("torque_enable", "bus_watchdog", "goal_position"):
            joint.set(name, 0)
        _, readings = probe.read_servos(SHORT)
        self.assertEqual(readings[1][0], 0)
        self.assertEqual([r[1] for r in probe.read_servos()[1]], [0, 1])
        joint.lost = 10**9  # its silence leaves time to read the other watchdog
        self.servos[0].set("bus_watchdog", 255)
        self.assertTrue(any(probe.read_servos(1000)[1][0][1] for _ in range(20)))
        joint.lost = 0
        self.assertEqual(probe("torque", "on"), "ok")
        self.assertEqual([r[1] for r in probe.read_servos()[1]], [0, 0])


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    PROBE = sys.argv.pop(1)
    unittest.main(verbosity=2)
