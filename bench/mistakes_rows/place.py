"""What mistakes are made of: small files, and a folder with the program and the Python package in it."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120  # s until a command counts as hanging
ASPECTS = ("file", "field", "value", "allowed")  # that a message names

SECTION = "[[section]]\nconstant_length = 0.1\nbend_limit = 1.5\nlinks = 4\n"
CONTROLLER = '[controller]\nplugin = "tendril.reach"\ntarget = "target"\n'
ARM = 'kind = "continuum"\n' + SECTION + SECTION
FED = (
    'kind = "continuum"\n[base]\nfeed = 0.05\n'
    + SECTION
    + '[controller]\nplugin = "tendril.follow"\ncorner_radius = 0.12\nwaypoints = [[0, 0, 0], [0, 0, 0.3], [0.2, 0, '
    "0.3]]\n"
)
SNAKE = 'kind = "snake"\njoints = 6\nlink_length = 0.06\n'
OPTION = '<option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10" iterations="100"/>'
SCENE = """<mujoco>
{option}
<asset>
<model name="arm" file="arm.toml"/>
</asset>
<worldbody>
<camera name="front" pos="0 -1 0.2" xyaxes="1 0 0 0 0 1"/>
<attach model="arm" body="base" prefix="A_"/>
<body name="target" mocap="true" pos="0.03 0 0.18"/>
</worldbody>
<keyframe><key name="home"/></keyframe>
</mujoco>
"""
EXPERIMENT = 'scene = "scene.xml"\nduration = 0.02\n'
CHECK = '[[check]]\nmetric = "tip_error_end"\nmax = 1\n'
CIRCLE = '[[motion]]\nbody = "target"\nkind = "circle"\nradius = 0.02\nspeed = 0.05\n'
PLAN = 'robot = "arm.toml"\nwaypoints = [[0.05, 0, 0.18]]\n'

OWN = """import numpy as np
import tendril as td

@td.controller("my.own", kind="continuum")
class Own:
    memory_size = 1
    def __init__(self, context): self.count = 0
    def update(self, m, memory, next_memory, command, report):
        {update}
"""

BASE = {
    "arm.toml": ARM + CONTROLLER,
    "scene.xml": SCENE.format(option=OPTION),
    "circle.toml": EXPERIMENT + CHECK + CIRCLE,
    "targets.csv": "x,y,z\n0.03,0,0.18\n0,0.02,0.19\n",
    "plan.toml": PLAN,
    "tube.toml": 'kind = "tube"\nradius = 0.03\ncenterline = [[0, 0, 0], [0, 0, 0.3]]\n',
    "out/summary.json": "of an earlier run",  # work that must not be lost
    "out/rollout.h5": "of an earlier run",
    "states.csv": "of an earlier run",
}


@dataclass
class Answer:
    code: int
    text: str  # stderr, then stdout
    lost: list[str] = field(default_factory=list)
    hangs: bool = False


@dataclass
class Mistake:
    """A line of the table."""

    row: str
    name: str
    code: int  # that is documented
    says: tuple[str, str, str, str]  # patterns of file, field, value, what is allowed or to be done; "": there is none
    arguments: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)  # of the environment
    act: Callable[["Place"], Answer] | None = None  # instead of one command
    accepted: str = ""  # why no answer can be better
    passes: bool = False  # silence lets the mistake pass its checks
    topic: str = ""

    def make(self, place):
        if self.act:
            return self.act(place)
        return place.run(*self.arguments, settings=self.settings)


class NotTried(Exception):
    """Lack of this machine."""


class Place:
    """The folder in which one mistake is made."""

    def __init__(self, folder, options):
        self.folder, self.options = folder, options
        self.program, self.library = options.tendril, options.library

    def write(self, files):
        for name, text in files.items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode("latin-1" if text.startswith("\xff") else "utf-8"))

    def contents(self):
        return {file: file.read_bytes() for file in self.folder.rglob("*") if file.is_file() and not file.is_symlink()}

    def start(self, *arguments, settings=None, before=None, folder=".", program=None):
        environment = {**os.environ, **(settings or {})}
        if program:  # the interpreter: the package must be its own, not that of the tree
            environment |= {"TENDRIL_PYTHON": str(program), "PYTHONDONTWRITEBYTECODE": "1"}
            environment["PYTHONPATH"] = self.options.pythonpath
            if self.options.pythonpath:
                environment["TENDRIL_PROGRAM"] = str(self.program)
        return subprocess.Popen(
            [program or self.program, *arguments],
            cwd=self.folder / folder,
            env=environment,
            preexec_fn=before,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def finish(self, process, patience=PATIENCE):
        try:
            out, errors = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return Answer(-1, f"no answer within {patience} s", hangs=True)
        return Answer(
            process.returncode, errors.decode(errors="replace").replace("\r", "\n") + out.decode(errors="replace")
        )

    def run(self, *arguments, **options):
        return self.finish(self.start(*arguments, **options))

    def package(self, *words, **options):
        """`tendril` of the package."""
        return self.finish(self.start_package(*words, **options))

    def start_package(self, *words, **options):
        return self.start("-m", "tendril", *words, program=self.interpreter(), **options)

    def python(self, text):
        """A program in Python, whose exception is its answer, in one line."""
        self.write({"program.py": "import mujoco\nimport numpy as np\nimport tendril as td\n" + text})
        answer = self.finish(self.start("program.py", program=self.interpreter()))
        (self.folder / "MUJOCO_LOG.TXT").unlink(missing_ok=True)  # the engine's, in a program of one's own
        head, trace, tail = answer.text.rpartition("Traceback (most recent call last):\n")
        if trace:
            lines = tail.splitlines()
            exception = next(i for i, line in enumerate(lines) if not line.startswith(" "))
            answer.text = head.partition(trace)[0] + " ".join(line.strip() for line in lines[exception:])
        return answer

    def own(self, update, *change):
        """A run with a controller in Python, `mine.py`, recorded in the folder `own`."""
        text = OWN.format(update=update)
        self.write({"mine.py": text.replace(*change) if change else text})
        words = ("--python", "mine.py", "--controller", "my.own", "--out", "own")
        return self.package("run", "circle.toml", "--no-report", *words)

    def interpreter(self):
        """The interpreter, if it has the package."""
        if os.environ.get("TENDRIL_SANITIZED"):
            raise NotTried("no Python that loads a library with sanitizers")
        if not self.options.has_package:
            raise NotTried(f"{self.options.python} has no package tendril")
        return self.options.python

    def needs(self, module):
        code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
        if subprocess.run([self.interpreter(), "-c", code], check=False).returncode != 0:
            raise NotTried(f"{module} is not installed")

    def own_library(self):
        if not self.library.exists():
            raise NotTried(f"{self.library} is not built")
        return str(self.library)

    def wait_for(self, process, sign):
        end = time.monotonic() + PATIENCE
        while not sign() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)


def run(file="circle.toml", *options, out="out"):
    """A short run into a folder that has results."""
    return ("run", file, "--no-report", "--no-record", "--out", out, *options)


def edited(file, old, new):
    assert old in BASE[file], (file, old)
    return {file: BASE[file].replace(old, new, 1)}
