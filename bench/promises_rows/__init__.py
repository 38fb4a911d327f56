"""Rows of bench/promises, a module for each item of the list of promises."""

from promises_rows import bits, experts, files, hostile, outputs, package, robots, sweeps, switches, units, verdicts

MODULES = (verdicts, switches, robots, sweeps, outputs, hostile, units, package, experts, bits, files)
