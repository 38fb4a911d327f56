"""What rows are made of: a folder with small files, the program and the Python package in it, and judgments."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE = 60  # s until a command counts as hanging
SLOW = 2.0  # s of processor time that a damaged file may cost, the start of Python included

ITEMS = {
    1: "verdicts are measured",
    2: "nothing switched off counts as good",
    3: "robots are found by what they are",
    4: "a sweep's result belongs to its inputs",
    5: "outputs never destroy",
    6: "hostile files stay data",
    7: "implausible units and frames are reported",
    8: "the package along with others",
    9: "plain bugs",
    10: "the same bits",
    11: "fuzzing",
    12: "promises are documented",
}


class Broken(Exception):
    """A promise that is not kept; the text says what was seen."""


class NotTried(Exception):
    """What this machine, or this call, lacks."""


@dataclass
class Row:
    """A promise."""

    id: str
    item: int
    promise: str
    show: Callable[["Place"], object]  # returns the number or words that hold it
    slow: bool = False


ROWS: list[Row] = []


def row(id, item, promise, slow=False):
    """Makes a row of a function of a place: it raises Broken, or returns what was seen."""

    def add(function):
        if any(r.id == id for r in ROWS):
            raise ValueError(f"{id}: is there twice")
        ROWS.append(Row(id, item, promise, function, slow))
        return function

    return add


@dataclass
class Answer:
    """What a command did."""

    code: int  # minus the signal that ended it; 124: hanging
    out: str
    errors: str
    cost: float  # s of processor time, of its children too
    time: float  # s
    children: list[int] = field(default_factory=list)

    @property
    def text(self):
        return self.errors + self.out

    def lines(self):
        return [line for line in self.text.splitlines() if line.strip()]

    def seen(self):
        """The line that says most."""
        lines = [s for s in self.lines() if not s.startswith(("out/", " ")) and "notice: e.toml: vary" not in s]
        own = [s for s in lines if "notice" not in s]
        said = [s for s in own if re.search(r"FAIL|tendril:|rror|cannot", s)]
        chosen = next(iter(said), (own or lines or ["nothing said"])[-1])
        return f"exit {self.code}: {chosen}"


# ---- small files ------------------------------------------------------------------------------

OPTION = (
    '<option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10" '
    'iterations="100"{more}>{flag}</option>'
)


def section(**keys):
    text = {"constant_length": 0.1, "bend_limit": 2.0, "links": 5, "bending_stiffness": 0.05, "mass": 0.05, **keys}
    return "[[section]]\n" + "".join(f"{key} = {value}\n" for key, value in text.items() if value is not None)


REACH = '[controller]\nplugin = "tendril.reach"\ntarget = "target"\n'


def arm(sections=2, controller=REACH, head="", parts="", **keys):
    return 'kind = "continuum"\nname = "arm"\n' + head + sections * section(**keys) + parts + controller


def scene(
    target="0.05 0.02 0.16",
    prefix="A_",
    flag="",
    option="",
    assets="",
    head="",
    before="",
    bodies="",
    tail="",
    robot="arm.toml",
):
    flags = f"<flag {flag}/>" if flag else ""
    return f"""<mujoco model="scene">
{head}
{OPTION.format(more=" " + option if option else "", flag=flags)}
<asset><model name="robot" file="{robot}"/>{assets}</asset>
<worldbody>
<light pos="0 0 1"/>
{before}
<attach model="robot" body="base" prefix="{prefix}"/>
<body name="target" mocap="true" pos="{target}"><geom type="sphere" size="0.006" contype="0" conaffinity="0"/></body>
{bodies}
</worldbody>
{tail}
</mujoco>
"""


def check(metric, **limits):
    text = {"metric": f'"{metric}"', **limits}
    return "[[check]]\n" + "".join(f"{key} = {value}\n" for key, value in text.items())


def experiment(*tables, duration=1.0, scene="scene.xml", head=""):
    return f'scene = "{scene}"\nduration = {duration}\n{head}' + "".join(tables)


TIP = check("tip_error_end", max=0.001)
FAR = "0.5 0.02 0.16"  # out of reach
CONTROLLER = """import math
import numpy as np
import tendril as td

@td.controller("my.own", kind="{kind}")
class Own:
    memory_size = 1
    def __init__(self, context): self.context = context
    def update(self, m, memory, next_memory, command, report):
        next_memory[0] = memory[0] + 1
        {body}
"""


def controller(body, kind="continuum"):
    return CONTROLLER.format(body=body, kind=kind)


def box(size):
    """A cube as an OBJ file."""
    corners = [(x, y, z) for x in (-size, size) for y in (-size, size) for z in (-size, size)]
    faces = "1 2 4|1 4 3|5 7 8|5 8 6|1 5 6|1 6 2|3 4 8|3 8 7|1 3 7|1 7 5|2 6 8|2 8 4"
    return "".join(f"v {x} {y} {z}\n" for x, y, z in corners) + "".join(f"f {face}\n" for face in faces.split("|"))


# ---- the folder -------------------------------------------------------------------------------


class Place:
    """The folder of a row."""

    def __init__(self, folder, options):
        self.folder = folder
        self.options = options
        self.program, self.interpreter = options.program, options.python

    def write(self, **files):
        """Files by name; `a__b` is a/b, the last `_` before the ending a dot: `arm_toml`."""
        for key, text in files.items():
            name = key.replace("__", "/")
            stem, _, ending = name.rpartition("_")
            self.put(f"{stem}.{ending}", text)

    def put(self, name, text):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def read(self, name):
        return (self.folder / name).read_bytes()

    def scene(self, arm_toml=None, scene_xml=None, e_toml=None):
        """The plain scene and what differs in it."""
        self.write(arm_toml=arm_toml or arm(), scene_xml=scene_xml or scene(), e_toml=e_toml or experiment(TIP))

    def start(self, command, environment=None, before=None, folder="."):
        # The package must be that of the interpreter, not of the tree that the program was built from.
        settings = {**os.environ, "TENDRIL_PYTHON": str(self.interpreter), "PYTHONDONTWRITEBYTECODE": "1"}
        settings.pop("PYTHONPATH", None)
        if self.options.pythonpath:
            settings["PYTHONPATH"] = self.options.pythonpath
        return subprocess.Popen(
            [str(word) for word in command],
            cwd=self.folder / folder,
            env={**settings, **(environment or {})},
            preexec_fn=before,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def finish(self, process, patience=PATIENCE):
        begin = time.monotonic()
        texts = {}

        def drain(name, stream):
            texts[name] = stream.read()

        readers = [
            threading.Thread(target=drain, args=pair) for pair in (("out", process.stdout), ("errors", process.stderr))
        ]
        for reader in readers:
            reader.start()
        hanging = threading.Timer(patience, lambda: end_session(process.pid))
        hanging.start()
        _, status, usage = os.wait4(process.pid, 0)
        late = not hanging.is_alive()
        hanging.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        if late:
            end_session(process.pid)
        for reader in readers:
            reader.join()
        spent = time.monotonic() - begin
        out, errors = (texts[name].decode(errors="replace") for name in ("out", "errors"))
        cost = usage.ru_utime + usage.ru_stime
        return Answer(124 if late else process.returncode, out, errors, cost, spent)

    def tendril(self, *words, patience=PATIENCE, **options):
        return self.finish(self.start([self.program, *words], **options), patience)

    def package(self, *words, patience=PATIENCE, **options):
        """`tendril` of the package."""
        return self.finish(self.start([self.interpreter, "-m", "tendril", *words], **options), patience)

    def python(self, text, *words, patience=PATIENCE, **options):
        """A program in Python; it may use `td`, `np`, `mujoco`."""
        file = self.put("program.py", "import mujoco\nimport numpy as np\nimport tendril as td\n" + text)
        return self.finish(self.start([self.interpreter, file, *words], **options), patience)

    def run(self, name="e.toml", *words, **options):
        return self.tendril("run", name, "--no-report", *words, **options)

    def own(self, body, *words, name="e.toml", kind="continuum", **options):
        """A run with a controller in Python."""
        self.put("own.py", controller(body, kind))
        return self.package(
            "run", name, "--no-report", "--python", "own.py", "--controller", "my.own", *words, **options
        )

    def recording(self, duration=0.1):
        """A recording of the plain scene, `r.h5`."""
        self.scene()
        answer = self.run("e.toml", "--duration", str(duration), "--out", "recorded")
        (self.folder / "recorded/rollout.h5").rename(self.folder / "r.h5")
        return answer

    def summary(self):
        """The newest summary.json."""
        found = sorted(self.folder.glob("out/*/summary.json"), key=lambda file: file.stat().st_mtime_ns)
        if not found:
            raise Broken("no summary.json")
        return json.loads(found[-1].read_text())

    def metric(self, name):
        """A number of the newest run's summary."""
        data = self.summary()
        for entry in [*data.get("checks", []), *data.get("metrics", [])]:
            if isinstance(entry, dict) and entry.get("metric", entry.get("name")) == name:
                return entry.get("value")
        values = data.get("metrics")
        if isinstance(values, dict) and name in values:
            value = values[name]
            return value.get("value") if isinstance(value, dict) else value
        raise Broken(f"no {name} in summary.json")

    def needs(self, module):
        """The interpreter has this module."""
        code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
        if subprocess.run([self.interpreter, "-c", code], check=False).returncode != 0:
            raise NotTried(f"{module} is not installed")


def end_session(leader):
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        pass


def file_limit(blocks):
    """The largest file that a process may write, blocks of 1024 bytes."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (blocks * 1024, blocks * 1024))

    return limit


# ---- judgments --------------------------------------------------------------------------------


def sound(answer):
    """It ended by itself, without a stack trace."""
    if answer.code == 124:
        raise Broken(f"hangs ({answer.time:.0f} s)")
    if answer.code < 0 or answer.code in (134, 139):
        raise Broken(f"crash: {signal.Signals(-answer.code).name if answer.code < 0 else answer.code}")
    if "Traceback" in answer.text or "terminate called" in answer.text:
        raise Broken(f"stack trace: {answer.lines()[-1]}")
    return answer


def says(answer, *patterns):
    """The first line that has all patterns, case not mattering; none: empty."""
    return next((s for s in answer.lines() if all(re.search(p, s, re.I) for p in patterns)), "")


def refused(answer, *patterns, code=2):
    """Exit code 2 and a line with all patterns."""
    sound(answer)
    line = says(answer, *patterns)
    if answer.code != code or not line:
        raise Broken(answer.seen() + ("" if line else f" (no line with {', '.join(patterns)})"))
    return f"exit {answer.code}: {line}"


def told(answer, *patterns):
    """A line has all patterns, whatever the exit code is."""
    sound(answer)
    line = says(answer, *patterns)
    if not line:
        raise Broken(answer.seen() + f" (no line with {', '.join(patterns)})")
    return line


def not_passed(answer):
    """Neither exit code 0 nor a crash."""
    sound(answer)
    if answer.code == 0:
        raise Broken(f"passes: {answer.seen()}")
    return answer.seen()


def passed(answer):
    sound(answer)
    if answer.code != 0:
        raise Broken(answer.seen())
    return answer.seen()


def require(condition, seen, held=None):
    """`held`, or else `seen`, is what a row that passes shows."""
    if not condition:
        raise Broken(seen)
    return seen if held is None else held


def harmless(answer):
    """One line, exit code 2, no more than SLOW seconds."""
    sound(answer)
    if answer.code != 2:
        raise Broken(answer.seen())
    if answer.cost > SLOW:
        raise Broken(f"{answer.cost:.1f} s of processor time")
    if len(answer.lines()) != 1:
        raise Broken(f"{len(answer.lines())} lines, the first: {answer.lines()[0]}")
    return f"exit 2 after {answer.cost:.2f} s: {answer.lines()[0]}"


def each(cases, show):
    """All cases hold; of those that do not, the first three are reported."""
    wrong, held = [], 0
    for name, case in cases.items():
        try:
            show(case)
            held += 1
        except Broken as error:
            wrong.append(f"{name}: {error}")
    if wrong:
        raise Broken(f"{held} of {len(cases)}; " + "; ".join(wrong[:3]))
    return f"{held} of {len(cases)}"


def attempt(one, options):
    """The state of a row (`pass`, `FAIL`, `not tried`), what was seen, and seconds."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="promises-") as name:
        place = Place(Path(name), options)
        try:
            state, seen = "pass", one.show(place)
        except NotTried as lack:
            state, seen = "not tried", str(lack)
        except Broken as error:
            state, seen = "FAIL", str(error)
        except Exception as error:  # a row that could not look counts as not kept
            line = sys.exc_info()[2]
            while line.tb_next:
                line = line.tb_next
            state, seen = "FAIL", f"row: {type(error).__name__}: {error} (line {line.tb_lineno})"
    text = re.sub(r"\s+", " ", str(seen)).replace(name + "/", "").replace("|", "\\|")
    return state, text, time.monotonic() - begin
