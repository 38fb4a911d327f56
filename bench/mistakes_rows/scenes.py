"""Mistakes in scenes."""

from mistakes_rows.place import ARM, CHECK, CONTROLLER, OPTION, SCENE, Mistake, run

ATTACH = '<attach model="arm" body="base" prefix="A_"/>'
ARRIVES = '[[check]]\nmetric = "tip_error_end"\nmax = 0.001\n'
TUBE = """o tube
v 0.05 -0.05 -0.01
v 0.05 0.05 -0.01
v -0.05 0.05 -0.01
v -0.05 -0.05 -0.01
v 0.05 -0.05 0.3
v 0.05 0.05 0.3
v -0.05 0.05 0.3
v -0.05 -0.05 0.3
f 1 2 6 5
f 2 3 7 6
f 3 4 8 7
f 4 1 5 8
"""
ROCK = '<mesh name="rock" vertex="0 0 0 0.02 0 0 0 0.02 0 0 0 0.02"/>'
MAST = """<mujoco>
<compiler conflict="merge"/>
<asset><model name="arm" file="arm.toml"/></asset>
<worldbody><body name="mast"><geom size="0.01" pos="0 0 -0.2"/><attach model="arm" body="base" prefix="A_"/></body>
</worldbody>
</mujoco>
"""


def scene(old="", new="", after="", assets=""):
    """The plain scene with `old` replaced; bodies after the arm; more assets."""
    text = SCENE.format(option=OPTION)
    assert old in text, old
    text = text.replace(old, new) if old else text
    return text.replace("</worldbody>", after + "</worldbody>").replace("</asset>", assets + "</asset>")


def short(duration=0.5, tables=""):
    return f'scene = "scene.xml"\nduration = {duration}\n{tables}'


def scene_row(id, name, code, says, text, experiment=None, passes=False, **files):
    """A run of this scene; results go to another folder if the run is not refused."""
    named = {key.replace("_", "."): value for key, value in files.items()}
    files = {"scene.xml": text, **named, **({"circle.toml": experiment} if experiment else {})}
    return Mistake(id, name, code, says, run(out="out" if code == 2 else "new"), files, passes=passes)


def from_xml_path(place):
    return place.python("mujoco.MjModel.from_xml_path('arm.toml')")


TWO_ARMS = scene(
    "<attach model",
    '<attach model="other" body="base" prefix="B_"/></frame><attach model',
    assets='<model name="other" file="other.toml"/>',
    after='<body name="target_b" mocap="true" pos="-0.02 0 0.18"/>',
).replace('<attach model="other"', '<frame pos="0.06 0 0"><attach model="other"')

MISTAKES = [
    scene_row("M2", 'attached with `prefix=""`', 0, ("", "", "", "notice|working"), scene('prefix="A_"', 'prefix=""')),
    scene_row(
        "M2b",
        "attached without the attribute prefix",
        2,
        (r"scene\.xml:8|line 8", "prefix", "", "required|missing"),
        scene(' prefix="A_"'),
    ),
    scene_row(
        "M3",
        "attached by the robot's name",
        2,
        (r"scene\.xml", "body", "arm", "base"),
        scene('body="base"', 'body="arm"'),
    ),
    scene_row(
        "M4",
        "`<include>` of a robot file",
        2,
        (r"scene\.xml:2", "include", r"arm\.toml", "attach|<model"),
        scene("<mujoco>\n", '<mujoco>\n<include file="arm.toml"/>\n'),
    ),
    scene_row(
        "M5",
        "`scale` on the model of a robot",
        2,
        (r"scene\.xml:4|line 4", "scale", "", "unrecognized|must"),
        scene('file="arm.toml"/>', 'file="arm.toml" scale="2 2 2"/>'),
    ),
    scene_row(
        "M6",
        "robot on a free body that nothing carries",
        1,
        ("notice", "A_", "", "free.*(nothing|falls)|falls|nothing (carries|holds)"),
        scene(ATTACH, f'<body name="cart" pos="0 0 0.5"><freejoint/><geom size="0.02" mass="1"/>{ATTACH}</body>'),
        short(0.5, ARRIVES),
    ),
    scene_row(
        "M7",
        "two arms that go through each other",
        0,
        ("notice", "A_.*B_|B_.*A_|arm", "self_collision", "collide|touch|through"),
        TWO_ARMS,
        short(1),
        other_toml=ARM + CONTROLLER.replace('"target"', '"target_b"'),
    ),
    scene_row(
        "M8",
        "keyframe with 3 of 16 numbers",
        2,
        (r"circle\.toml:\d|scene\.xml:\d|scene\.xml", "home", r"\b3\b", r"\b16\b"),
        scene('<key name="home"/>', '<key name="home" qpos="0.1 0.1 0.1"/>'),
        short(0.02, 'keyframe = "home"\n'),
    ),
    scene_row(
        "M9",
        "arm in a mast in a scene",
        0,
        ("", "m_A", "", "working"),
        scene(ATTACH, '<attach model="arm" body="mast" prefix="m_"/>').replace("arm.toml", "mast.xml"),
        mast_xml=MAST,
    ),
    scene_row(
        "M10",
        'degrees with `angle="radian"`',
        1,
        (r"scene\.xml", "euler|angle", "90", "rad|degree"),
        scene(ATTACH, f'<body name="mount" euler="0 90 0">{ATTACH}</body>').replace(
            "<mujoco>", '<mujoco>\n<compiler angle="radian"/>'
        ),
        short(0.5, ARRIVES),
    ),
    scene_row(
        "M12",
        "target whose geom collides",
        1,
        ("touched", "target", r"at most [\d.e+]+ N", r"[\d.]+ % of the steps"),
        scene('pos="0.03 0 0.18"/>', 'pos="0.03 0 0.18"><geom size="0.02"/></body>'),
        short(2, '[[check]]\nmetric = "wall_force_max"\nmax = 0.1\n'),
    ),
    scene_row(
        "M13",
        "box over the base at the start",
        1,
        ("notice", "A_", "box|table", "start|inside|deep"),
        scene(ATTACH, ATTACH + '<geom name="table" type="box" size="0.1 0.1 0.05" pos="0 0 0.05"/>'),
        short(0.5, ARRIVES),
    ),
    scene_row(
        "M14",
        '`<flag contact="disable"/>` and a check of a wall force',
        2,
        (r"scene\.xml|circle\.toml", "wall_force_max", "contact", "disable|switched off|flag"),
        scene('iterations="100"/>', 'iterations="100"><flag contact="disable"/></option>'),
        short(0.5, '[[check]]\nmetric = "wall_force_max"\nmax = 0.1\n'),
        passes=True,
    ),
    scene_row(
        "M15",
        "integrator Euler",
        3,
        (r"scene\.xml", "integrator = Euler", "", "needs discrete or implicitfast"),
        scene("discrete", "Euler"),
    ),
    scene_row(
        "M17",
        "`<replicate>` around `<attach>`",
        2,
        (r"scene\.xml", "replicate", "", "attach|robot"),
        scene(ATTACH, f'<replicate count="3" offset="0.3 0 0">{ATTACH}</replicate>'),
    ),
    scene_row(
        "M18",
        "target with the prefix of another arm",
        2,
        ("", "target", "= target", "B_target"),
        scene('name="target"', 'name="B_target"'),
        'scene = "scene.xml"\nduration = 0.02\n' + CHECK,
    ),
    scene_row(
        "M21",
        "mesh of a tube as its wall",
        1,
        ("notice", "mesh|tube", "A_|robot", "convex hull"),
        scene(after='<geom name="lumen" type="mesh" mesh="tube"/>', assets='<mesh name="tube" file="tube.obj"/>'),
        short(0.5, '[[check]]\nmetric = "wall_force_max"\nmax = 0.1\n'),
        tube_obj=TUBE,
    ),
    scene_row(
        "M22",
        "avoidance beside a mesh",
        0,
        ("", "^A", "", "working"),
        scene(after='<geom type="mesh" mesh="rock" pos="0.15 0.1 0.1"/>', assets=ROCK),
        short(0.1),
        arm_toml=ARM + CONTROLLER + "avoidance = true\n",
    ),
    Mistake(
        "M23",
        "`MjModel.from_xml_path` of a robot file",
        1,
        (r"arm\.toml", "", "", "attach|load_scene|robot file"),
        act=from_xml_path,
        accepted="the engine asks no plugin",
    ),
]
