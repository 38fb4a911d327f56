"""9. Plain bugs of a newcomer's and an expert's day, and their kinds."""

import re
import signal
import time

from promises_rows.place import (
    TIP,
    arm,
    check,
    controller,
    each,
    experiment,
    passed,
    refused,
    require,
    row,
    says,
    scene,
    sound,
    told,
)
from promises_rows.verdicts import ROVER

MESH = '<mesh name="rock" vertex="0 0 0 0.02 0 0 0 0.02 0 0 0 0.02"/>'
ROCK = '<geom type="mesh" mesh="rock" pos="0.15 0.1 0.1"/>'
AVOIDING = '[controller]\nplugin = "tendril.reach"\ntarget = "target"\navoidance = true\n'


ARRIVES = check("tip_error_end", max=1)


def mesh_row(key, what, bodies=ROCK, before="", robot=None, assets=MESH, checks=ARRIVES):
    @row(f"X-mesh-{key}", 9, f"avoidance with a colliding mesh in the scene works: {what}")
    def show(place):
        place.put("rover.toml", ROVER)
        place.scene(
            arm_toml=robot or arm(controller=AVOIDING),
            scene_xml=scene(assets=assets, bodies=bodies, before=before, target="0.03 0.02 0.19"),
            e_toml=experiment(checks, duration=0.2),
        )
        return passed(place.run())


mesh_row("world", "in the world, after the arm")
mesh_row("before", "before the arm", bodies="", before=ROCK)
mesh_row(
    "body",
    "in a free body",
    bodies=f'<body name="b" pos="0 0 '
    f'0.5"><freejoint/>{ROCK.replace("/>", " mass=" + chr(34) + "0.1" + chr(34) + "/>")}</body>',
)
mesh_row("box", "a box in its place", bodies='<geom type="box" size="0.01 0.01 0.01" pos="0.15 0.1 0.1"/>')
mesh_row(
    "two",
    "two meshes and a visual one",
    bodies=ROCK + ROCK.replace("0.15", "-0.2") + ROCK.replace("/>", ' contype="0" conaffinity="0"/>'),
)
mesh_row(
    "cylinder",
    "a cylinder, an ellipsoid, a capsule",
    bodies="".join(
        f'<geom type="{t}" size="0.01 0.02 0.01" pos="0.2 0.{i} 0.1"/>'
        for i, t in enumerate(("cylinder", "ellipsoid", "capsule"), 1)
    ),
)
mesh_row(
    "snake",
    "a snake",
    robot='kind = "snake"\njoints = 6\nlink_length = 0.06\n[controller]\nplugin = "tendril.snake"\n'
    "goals = [1, 0]\navoidance = true\n",
    bodies=ROCK + '<geom type="plane" size="5 5 0.1"/>',
    checks="",  # a snake has no tip error
)


@row("X-mesh-hull", 9, "a mesh that surrounds the robot: told that its convex hull collides")
def hull(place):
    place.scene(
        scene_xml=scene(
            assets='<mesh name="rock" vertex="-1 -1 -1 1 -1 -1 -1 1 -1 1 1 -1 -1 -1 1 1 -1 1 -1 1 1 1 1 1"/>',
            bodies='<geom type="mesh" mesh="rock" pos="0 0 0"/>',
        )
    )
    return told(place.run("scene.xml", "--duration", "0.05"), "notice|tendril:", "hull|inside|in contact")


@row("X-start-inside", 9, "a robot that starts inside a geom is reported before the first step")
def start_inside(place):
    place.scene(scene_xml=scene(before='<geom name="table" type="box" size="0.1 0.1 0.05" pos="0 0 0.1"/>'))
    answer = place.run("scene.xml", "--duration", "0.05")
    return told(answer, "notice|tendril:", "table", "start|inside|in contact|deep")


@row("X-overlap-arms", 9, "two arms through each other without self_collision are reported")
def overlap(place):
    place.scene(scene_xml=scene(bodies='<attach model="robot" body="base" prefix="B_"/>'))
    return told(
        place.run("scene.xml", "--duration", "0.05"),
        "notice|tendril:",
        "A_|B_",
        "inside|overlap|collision|contact|same place",
    )


ENV = """
import gymnasium, tendril.envs
from tendril.envs.experiment import ExperimentEnv
try:
    e = ExperimentEnv('{file}', ['A_s*'], ['A_*'], lambda i: 0.0)
except td.ModelError as x:
    print('refused', x); raise SystemExit
def go(a):
    e.reset(seed=1)
    for _ in range(5): o = e.step(np.full(e.action_space.shape, a))[0]
    return o
print('same' if (go(-1.0) == go(1.0)).all() else 'acts')
"""


@row("X-env-controller", 9, "ExperimentEnv of a scene whose controller drives the actuators is refused")
def env_controller(place):
    place.needs("gymnasium")
    place.scene()
    answer = place.python(ENV.format(file="e.toml"))
    sound(answer)
    return require("refused" in answer.out, answer.out.strip() + answer.errors[-100:])


@row("X-env-plain", 9, "ExperimentEnv of a robot without a controller acts")
def env_plain(place):
    place.needs("gymnasium")
    place.scene(arm_toml=arm(controller=""), e_toml=experiment(duration=1.0))
    answer = place.python(ENV.format(file="e.toml").replace("['A_*']", "['qpos']"))
    sound(answer)
    return require("acts" in answer.out, answer.out.strip() + answer.errors[-100:])


@row("X-labels", 9, "a report of an arm with chambers does not label section coordinates with chamber names")
def labels(place):
    file = place.options.root / "scenes/soft_arm_pressure/soft_arm_pressure.toml"  # as many chambers as coordinates
    answer = place.tendril("run", file, "--duration", "0.1", "--out", "d")
    sound(answer)
    require((place.folder / "d/report.html").exists(), answer.seen())
    text = place.read("d/report.html").decode()
    wrong = re.findall(r"\bc\d\b[^<]{0,3}\[rad", text)
    return require(not wrong, f"chamber names label section coordinates: {wrong[:2]}", "none")


@row("X-endless", 9, "Ctrl-C ends a controller in Python that never returns")
def endless(place):
    place.scene(e_toml=experiment(TIP, duration=10))
    place.put("own.py", controller("\n        while m.time > 0.1: pass"))
    process = place.start(
        [
            place.interpreter,
            "-m",
            "tendril",
            "run",
            "e.toml",
            "--no-report",
            "--python",
            "own.py",
            "--controller",
            "my.own",
        ]
    )
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    answer = place.finish(process, 8)
    sound(answer)
    return require(answer.code != 0, answer.seen())


WRONG = {
    "update lacks report": (
        "update(self, m, memory, next_memory, command, report)",
        "update(self, m, memory, next_memory, command)",
    ),
    "update has no self": (
        "update(self, m, memory, next_memory, command, report)",
        "update(m, memory, next_memory, command, report)",
    ),
    "update has one more": (
        "update(self, m, memory, next_memory, command, report)",
        "update(self, m, memory, next_memory, command, report, more)",
    ),
    "__init__ lacks context": ("def __init__(self, context): self.context = context", "def __init__(self): pass"),
    "__init__ raises": ("self.context = context", "raise ValueError('my word')"),
    "reset lacks memory": ("    def update", "    def reset(self): pass\n    def update"),
}


@row("X-signature", 9, "a wrong signature is answered with file, line or class, and Python's own words")
def signature(place):
    def show(change):
        place.scene()
        text = controller("report.tip_error = 0.0")
        if change[0] not in text:
            raise ValueError(change[0])
        place.put("own.py", text.replace(*change))
        answer = place.package("run", "e.toml", "--no-report", "--python", "own.py", "--controller", "my.own")
        sound(answer)
        return require(says(answer, r"own\.py|Own", "TypeError|ValueError|argument|must be"), answer.seen())

    return each(WRONG, show)


@row("X-own-quiet", 9, "m.contacts without senses_contacts raises, it is not empty")
def contacts(place):
    place.scene()
    answer = place.own("report.tip_error = 0.5; n = len(m.contacts)")
    return require(says(answer, "senses_contacts"), answer.seen())


@row("X-command-degrees", 9, "a command of 90 rad is reported")
def command_degrees(place):
    place.scene()
    answer = place.own("command.q[:] = 90.0; report.tip_error = 0.5")
    return require(says(answer, "command|q", "limit|90"), answer.seen())


@row("X-report-runs", 9, "model --report does not call a robot unstable that runs")
def report_runs(place):
    place.put(
        "arm.toml", arm(1, controller="", constant_length=1.0, links=40, mass=0.5, bending_stiffness=0.02, radius=0.006)
    )
    answer = place.tendril("model", "arm.toml", "--report")
    sound(answer)
    place.put("s.xml", scene())
    ran = place.run("s.xml", "--duration", "3")
    if ran.code == 3:
        return "it diverges"
    return require(not says(answer, "unstable|no timestep"), says(answer, "unstable|no timestep"), "no such word")


@row("X-own-motion", 9, "an own motion of an actuator that the controller drives is refused")
def own_motion(place):
    for prefix in "A_", "arm/":
        place.scene(
            scene_xml=scene(prefix=prefix),
            e_toml=experiment(
                f'[[motion]]\nactuator = "{prefix}s1_x"\nkind = "waypoints"\ntimes = [0, 1]\nvalues = [0, 1]\n'
            ),
        )
        refused(place.run(), "driven|drives|controller")
    return "exit 2"


@row("X-own-motion-python", 9, "the same of a controller in Python and of a tendon that is driven")
def own_motion_python(place):
    place.scene(
        e_toml=experiment('[[motion]]\nactuator = "A_s1_x"\nkind = "waypoints"\ntimes = [0, 1]\nvalues = [0, 1]\n')
    )
    return refused(place.own("report.tip_error = 0.5"), "driven|drives|controller")


MESSAGES = {
    "body of the robot": (scene().replace('body="base"', 'body="arm"'), "base"),
    "include of a robot": (scene(head='<include file="arm.toml"/>'), "attach|model"),
}


@row("X-messages", 9, "attaching by the robot's name, including a robot file: the message says what to write")
def messages(place):
    def show(case):
        place.scene(scene_xml=case[0])
        return refused(place.run(), case[1])

    return each(MESSAGES, show)


@row("X-from-toml", 9, "MjModel.from_xml_path of a robot file says what to do")
def from_toml(place):
    place.scene()
    answer = place.python("mujoco.MjModel.from_xml_path('arm.toml')")
    return require(says(answer, "load_scene|attach|robot file"), answer.errors.strip().splitlines()[-1])


@row("X-sweep-scene", 9, "sweep of a scene says that it needs an experiment")
def sweep_scene(place):
    place.scene()
    answer = place.package("sweep", "scene.xml", "--seeds", "1", "--out", "s")
    sound(answer)
    return require(answer.code == 0 or says(answer, "experiment"), answer.seen())


@row("X-capital", 9, "E.TOML is an experiment, SCENE.XML a scene")
def capital(place):
    place.scene()
    for name in "e.toml", "scene.xml":
        (place.folder / name.upper()).write_bytes(place.read(name))
    for name in "E.TOML", "SCENE.XML":
        answer = place.run(name, "--duration", "0.02")
        sound(answer)
        require(answer.code in (0, 1), answer.seen())
    return "both run"


@row("X-pid", 9, "a scene with mujoco.pid: works, or the message says --plugin")
def pid(place):
    head = (
        '<extension><plugin plugin="mujoco.pid"><instance name="p"><config key="kp" '
        'value="1"/></instance></plugin></extension>'
    )
    tail = '<actuator><plugin joint="j" plugin="mujoco.pid" instance="p" ctrlrange="-1 1"/></actuator>'
    body = '<body pos="1 0 0"><joint name="j"/><geom size="0.01"/></body>'
    place.scene(scene_xml=scene(head=head, bodies=body, tail=tail))
    answer = place.run("scene.xml", "--duration", "0.02")
    sound(answer)
    return require(answer.code in (0, 1) or says(answer, "--plugin"), answer.seen())


@row("X-pgs", 9, "solver=PGS with the integrator discrete is reported")
def pgs(place):
    place.scene(scene_xml=scene(option='solver="PGS"'))
    return told(place.run("scene.xml", "--duration", "0.05"), "notice|tendril:", "solver|PGS")
