"""`tendril-dds`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import tendril as td
from tendril_dds.bridge import Bridge


def main(words: list[str] | None = None) -> int:
    """Runs a bridge in real time; exit code 0: it ran to the end, 1: commands were held then, 2: bad input."""
    command = argparse.ArgumentParser("tendril-dds", description="Runs the controller of a robot file on DDS topics.")
    command.add_argument("robot", type=Path, help="robot file of a continuum arm with sensors and a controller")
    command.add_argument("--rate", type=float, default=100.0, help="steps per second [100]")
    command.add_argument("--namespace", help="of the topics [name of the robot]")
    command.add_argument(
        "--domain", type=int, default=int(os.environ.get("ROS_DOMAIN_ID", 0)), help="[ROS_DOMAIN_ID, or 0]"
    )
    command.add_argument("--stale", type=float, default=0.1, help="commands are held without a message, s [0.1]")
    command.add_argument("--speed-limit", type=float, default=1.0, help="ranges of an actuator per second [1]")
    command.add_argument("--duration", type=float, default=float("inf"), help="s [until Ctrl-C]")
    options = command.parse_args(words)
    if not 1.0 <= options.rate <= 10000.0:
        command.error(f"--rate: {options.rate:g}: must be in [1, 10000] Hz")
    try:
        bridge = Bridge(
            options.robot,
            timestep=1.0 / options.rate,
            namespace=options.namespace,
            domain=options.domain,
            stale_after=options.stale,
            speed_limit=options.speed_limit,
        )
    except (td.ModelError, OSError) as error:
        print(f"tendril-dds: {error}", file=sys.stderr)
        return 2
    try:
        run(bridge, 1.0 / options.rate, options.duration)
    except KeyboardInterrupt:
        pass
    print(f"{bridge.driver.state} at the end; {bridge.dropped} messages dropped", flush=True)
    return 0 if bridge.driver.state == "running" else 1


def run(bridge: Bridge, timestep: float, duration: float) -> None:
    """Prints each change of the driver's state."""
    start, state, due = time.monotonic(), "", 0.0
    while (now := time.monotonic() - start) < duration:
        if (new := bridge.step(now)) != state:
            print(f"{now:.1f} s: {new}", flush=True)
            state = new
        due = max(due + timestep, now)
        time.sleep(max(0.0, due - (time.monotonic() - start)))


if __name__ == "__main__":
    sys.exit(main())
