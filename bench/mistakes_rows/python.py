"""Mistakes in Python: controllers, the library, environments."""

import signal
import time

from mistakes_rows.place import ARM, EXPERIMENT, OWN, Mistake, run

UPDATE = "update(self, m, memory, next_memory, command, report)"
TRACKS = 'scene = "scene.xml"\nduration = 0.2\n[[check]]\nmetric = "tip_error_end"\nmax = 0.001\n'
INTERRUPTED_AFTER = 3  # s


def own(id, name, code, says, update="pass", change=(), files=None, passes=False):
    """A run with a controller in Python."""
    act = lambda place: place.own(update, *change)
    return Mistake(id, name, code, says, files={"circle.toml": TRACKS, **(files or {})}, act=act, passes=passes)


def program(id, name, says, text, files=None, code=1, module=""):
    """A program in Python, which an exception ends."""

    def act(place):
        if module:
            place.needs(module)
        return place.python(text)

    return Mistake(id, name, code, says, files=files or {"circle.toml": TRACKS}, act=act)


# ---- mistakes of more than one command -----------------------------------------------------------


def replayed(update):
    """The replay of a run, after what the run said."""

    def act(place):
        first = place.own(update)
        answer = place.package("rollout", "replay", "own/rollout.h5", "--python", "mine.py")
        answer.text = first.text + answer.text
        return answer

    return act


def endless(place):
    place.write({"mine.py": OWN.format(update="while m.time > 0.1: pass")})
    words = run("circle.toml", "--python", "mine.py", "--controller", "my.own", out="own")
    process = place.start_package(*words)
    time.sleep(INTERRUPTED_AFTER)
    process.send_signal(signal.SIGINT)
    return place.finish(process, 10)


def python_file(text, *words):
    """A run with `--python` of a file with this text."""

    def act(place):
        place.write({"my.py": text})
        return place.package(*run("circle.toml", "--python", "my.py", *words))

    return act


ARM_OF_TWO = "arm = td.ContinuumRobot([td.Section(length=0.1), td.Section(length=0.1)])\n"
GYM = "import gymnasium\nimport tendril.envs\n"
REACH = GYM + "env = gymnasium.make('Tendril/Reach-v0', disable_env_checker=True).unwrapped\nenv.reset(seed=0)\n"
OF_EXPERIMENT = (
    "import tendril.envs\n"
    "env = tendril.envs.ExperimentEnv('circle.toml', action=[{!r}], observation=['qpos'], reward=lambda info: 0.0)\n"
    "def end(a):\n"
    "    env.reset(seed=1)\n"
    "    return [env.step(np.full(env.action_space.shape, a))[0] for _ in range(5)][-1]\n"
    "print('equal' if (end(-1.0) == end(1.0)).all() else 'acts')\n"
)
STARTED = "with td.Experiment('circle.toml').start() as run:\n    while not run.done:\n        {}\n        run.step()\n"
RECORDED = "td.Experiment('circle.toml').run(record='r.h5')\n"
NO_ARM = "<mujoco><asset><model name='arm' file='armx.toml'/></asset></mujoco>"
SPEC = (
    "spec = mujoco.MjSpec()\n"
    "spec.worldbody.add_frame().attach_body(mujoco.MjSpec.from_file('arm.toml').body('base'), 'A_', '')\n"
    "spec.worldbody.add_body(name='target', mocap=True, pos=[0.03, 0, 0.18])\n"
    "data = mujoco.MjData(model := spec.compile())\n"
    "for _ in range(100): mujoco.mj_step(model, data)\n"
    "print('time', data.time, 'qpos', data.qpos[:2])\n"
)
GAIN = {"arm.toml": ARM + '[controller]\nplugin = "my.own"\ntarget = "target"\ngain = "high"\n'}
WITH_GAIN = ('kind="continuum")', 'kind="continuum", settings={"gain": (5.0, "1/s", "of it")})')

MISTAKES = [
    program(
        "P1",
        "`ContinuumRobot` of lengths",
        ("", "incompatible function arguments", "", "Section"),
        "td.ContinuumRobot([0.1, 0.1])",
    ),
    program(
        "P2",
        "`Section` without keywords",
        ("", "incompatible function arguments", "", r"\*, .*length"),
        "td.Section(0.1, 2.0)",
    ),
    program(
        "P3",
        "bend in degrees",
        ("", "states|section 1", "90", "rad|turn|2 pi"),
        ARM_OF_TWO + "print(arm.tip_pose([[90, 0, 0], [0, 0, 0]]))",
    ),
    own(
        "P4",
        "`update` without the argument report",
        2,
        (r"mine\.py", "update", "", "argument|must (be|take)"),
        change=(UPDATE, UPDATE.replace(", report", "")),
    ),
    own(
        "P35",
        "`__init__` without the argument context",
        2,
        (r"mine\.py", "__init__", "", "argument|must (be|take)"),
        change=("__init__(self, context)", "__init__(self)"),
    ),
    own(
        "P36",
        "`step` for `update`",
        2,
        ("", r"my\.own|Own", "", "must be a class with the function update"),
        change=("def update", "def step"),
    ),
    own(
        "P5",
        "`command.q = array`",
        1,
        (r"mine\.py:9", "AttributeError", "'?q'?", r"command\.q\[:\]"),
        "command.q = np.zeros(4)",
    ),
    own(
        "P6",
        "command of the wrong size",
        1,
        (r"mine\.py:9", "ValueError", r"\(3,\)", r"\(4,\)"),
        "command.q[:] = np.zeros(3)",
    ),
    own(
        "P7",
        "command is returned and not written",
        1,
        (r"mine\.py|my\.own", "update", "return", r"command\.q\[:\]"),
        "return np.zeros(4)",
    ),
    Mistake(
        "P8",
        "state in `self`",
        1,
        (r"mine\.py|my\.own", "different", "", "memory|self"),
        files={"circle.toml": TRACKS},
        act=replayed("self.count += 1; command.q[:] = 0.001 * self.count"),
    ),
    own(
        "P37",
        "writing to `memory`",
        1,
        (r"mine\.py:9", "ValueError", "", "read-only"),
        "memory[0] = 1",
    ),
    own(
        "P38",
        "command in degrees by a controller that reports no error",
        1,
        ("", r"my\.own|command|A_s1_x", "90", "limit|range|rad"),
        "command.q[:] = 90.0; report.tip_error = 0.0",
        passes=True,
    ),
    Mistake(
        "P39",
        "random numbers in `update`",
        1,
        (r"mine\.py|my\.own", "different", "", "random|memory"),
        files={"circle.toml": TRACKS},
        act=replayed("command.q[:] = 0.01 * np.random.rand(4)"),
    ),
    program(
        "P40",
        "target that is not a number",
        ("", "target|status", "nan|not finite|4", "target|tip_error"),
        STARTED.format("run.data.mocap_pos[0, 0] = np.nan")
        + "print(run.result.statuses, run.result.metrics.get('tip_error_end'))",
        code=0,
    ),
    program(
        "P9",
        "`kind` of no robot",
        ("", "kind", "arm", "continuum, snake, mobile, platform"),
        "td.controller('my.arm', kind='arm')(type('Own', (), {'update': print}))",
    ),
    Mistake(
        "P10",
        "`@td.controller` without parentheses",
        2,
        (r"my\.py:2", "controller", "", "kind"),
        act=python_file("import tendril as td\n@td.controller\nclass Own: pass\n"),
    ),
    Mistake(
        "P11",
        "endless loop in `update`, Ctrl-C",
        130,
        ("", "", "", "interrupted"),
        files={"circle.toml": TRACKS},
        act=endless,
    ),
    own(
        "P12",
        "a text for a number in a setting",
        2,
        (r"arm\.toml|scene\.xml", "gain", "= high", "must be a finite number"),
        change=WITH_GAIN,
        files=GAIN,
    ),
    program(
        "P13",
        "`run(seeds=...)`",
        ("", "seeds", "", "unexpected keyword argument"),
        "td.Experiment('circle.toml').run(seeds=[1, 2])",
    ),
    program(
        "P14",
        "typo in a key of `set`",
        ("", r"controler\.gain", "", "must begin with robot., controller."),
        "td.Experiment('circle.toml').run(set={'controler.gain': 1})",
    ),
    program(
        "P15",
        "`data.sensor` without the prefix",
        ("", "tip_error", "", "A_tip_error"),
        "scene = td.load_scene('scene.xml')\nmujoco.MjData(scene.model).sensor('tip_error')",
    ),
    program(
        "P16",
        "`data.ctrl` beside a controller",
        ("", "ctrl|A_s1_x", "controller", "overwritten|driven|drives"),
        STARTED.format("run.data.ctrl[:] = 0.1") + "print(*run.result.notices)",
        code=0,
    ),
    program(
        "P17",
        "`from_xml_string` without the robot file",
        (r"armx\.toml", "", "", "cannot be read|No such file"),
        f"mujoco.MjModel.from_xml_string({NO_ARM!r})",
    ),
    program(
        "P18",
        "`MjSpec.from_file` of a robot file, alone",
        ("", "target", "target", "must be.*no such body"),
        "mujoco.MjData(mujoco.MjSpec.from_file('arm.toml').compile())",
    ),
    program(
        "P19",
        "MjSpec with the default options",
        ("", "integrator", "Euler|timestep", "needs? discrete or implicitfast|discrete"),
        SPEC,
        code=0,
    ),
    program(
        "P20",
        "environment without its module",
        ("", "", "", r"tendril\.envs"),
        "import gymnasium\ngymnasium.make('Tendril/Reach-v0')",
        module="gymnasium",
    ),
    program(
        "P21",
        "action of the wrong shape",
        ("", "action", r"\(5,\)", r"must be \(6,\)"),
        REACH + "env.step(np.zeros(5))",
        module="gymnasium",
    ),
    program(
        "P22",
        "action beyond the limits",
        ("", "action", "10", r"clipped|\[-1, 1\]"),
        REACH + "env.step(np.full(6, 10.0))",
        code=0,
        module="gymnasium",
    ),
    program(
        "P22",
        "the same in an environment of an experiment",
        ("", "action", "10", r"clipped|\[-1, 1\]"),
        OF_EXPERIMENT.format("A_s*").replace("-1.0", "-10.0"),
        files={"circle.toml": EXPERIMENT, "arm.toml": ARM},
        code=0,
        module="gymnasium",
    ),
    program(
        "P23",
        "pattern without a match",
        ("", "action", "arm_s", "must be an actuator of the scene: A_s1_x"),
        OF_EXPERIMENT.format("arm_s*"),
        module="gymnasium",
    ),
    program(
        "P24",
        "environment whose servos a controller drives",
        ("", "action", "A_s1_x", r"driven by .*tendril\.reach.*(no controller|\[controller\])"),
        OF_EXPERIMENT.format("A_s*"),
        module="gymnasium",
    ),
    Mistake(
        "P25",
        "syntax error in `--python`",
        2,
        (r"my\.py:1", "SyntaxError", "", r"expected ':'"),
        act=python_file("class Own\n"),
    ),
    Mistake(
        "P26",
        "`--python` of a file that registers nothing",
        2,
        (r"my\.py", "", "", "must register a controller"),
        act=python_file("x = 1\n"),
    ),
    own("P27", "typo in a field", 1, (r"mine\.py:9", "AttributeError", "targets", ""), "m.targets"),
    own(
        "P28",
        "`m.contacts` without `senses_contacts`",
        1,
        (r"mine\.py:9", "contacts", "", "senses_contacts"),
        "len(m.contacts)",
    ),
    own(
        "P30",
        "`next_memory[0]` with `memory_size` 0",
        1,
        (r"mine\.py:9", "IndexError", "", "size 0"),
        "next_memory[0] = 1",
        ("memory_size = 1", "memory_size = 0"),
    ),
    program("P31", "`Recording` of a folder", ("out", "", "", "is not a file|is a folder"), "td.Recording('out')"),
    program(
        "P32",
        "`recording.sensor` without the prefix",
        ("", "tip_error", "", "A_tip_error"),
        RECORDED + "td.Recording('r.h5').sensor('tip_error')",
    ),
    program(
        "P33",
        "solver that does not exist",
        ("", "solver|newton", "newton", "auto.*levenberg|must be one of"),
        ARM_OF_TWO + "td.Solver(arm, 'newton')",
    ),
]
