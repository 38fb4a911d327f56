"""7. Implausible units and frames are reported."""

from promises_rows.place import (
    TIP,
    NotTried,
    arm,
    check,
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

SNAKE = """kind = "snake"
name = "snake"
joints = 8
link_length = 0.06
radius = 0.025
link_mass = 0.15
[start]
yaw = {yaw}
pitch = {pitch}
position = [0, 0, 0.001]
[controller]
plugin = "tendril.snake"
goals = [1.2, 0.9]
"""
FLOOR = '<geom name="floor" type="plane" size="15 15 0.01"/>'


def snake_start(place, yaw="[0.5, 1.25, 0]", pitch="[0.25, 1.25, 1.5708]"):
    place.scene(
        arm_toml=SNAKE.format(yaw=yaw, pitch=pitch),
        scene_xml=scene(prefix="S_", before=FLOOR),
        e_toml=experiment(duration=0.05, head='keyframe = "S_start"\n'),
    )
    return place.run()


@row("U-snake-plain", 7, "a snake's start within its limits is taken as it is")
def snake_plain(place):
    return passed(snake_start(place))


@row("U-snake-yaw", 7, "a start of 34 rad (degrees) of a snake's joints is refused, not cut off")
def snake_yaw(place):
    return refused(snake_start(place, yaw="[34, 1.25, 0]"), "yaw|start", "34|limit|rad")


@row("U-snake-pitch", 7, "the same for the pitch")
def snake_pitch(place):
    return refused(snake_start(place, pitch="[15, 1.25, 90]"), "pitch|start", "15|limit|rad")


def notice_row(key, what, patterns, **parts):
    @row(f"U-{key}", 7, f"{what}: told or refused, with file, key and value")
    def show(place):
        place.scene(**parts)
        return told(place.run(), "notice|tendril:|must be", *patterns)


def arm_start(text):
    return arm(parts="", head="").replace("[controller]", f"[start]\n{text}\n[controller]")


def tendons(angle="0.0 2.0944 4.1888", distance=0.01, count=2):
    angles = angle.split()
    return "".join(
        f'[[tendon]]\nsection = {s}\nangle = {a}\ndistance = {distance}\ncommand = "tension"\n'
        for s in range(1, count + 1)
        for a in angles
    )


def motion(**keys):
    text = {"body": '"target"', **keys}
    return "[[motion]]\n" + "".join(f"{key} = {value}\n" for key, value in text.items())


WAYPOINTS = {"kind": '"waypoints"', "points": "[[0.05, 0.02, 0.16], [0.04, 0.03, 0.16], [0.05, 0, 0.16]]"}
SHORT = 0.2

notice_row(
    "tendon-degrees",
    "tendon angles of 90, -30, 210 (degrees)",
    ["angle", "90|210|30", "degree|deg|rad"],
    arm_toml=arm(controller="", parts=tendons("90 -30 210")),
    e_toml=experiment(duration=0.02),
)
notice_row(
    "tendon-mm",
    "a tendon 10 m (mm) from the axis",
    ["distance", "10"],
    arm_toml=arm(controller="", parts=tendons(distance=10)),
    e_toml=experiment(duration=0.02),
)
notice_row("bend-degrees", "a bend_limit of 90 (degrees)", ["bend_limit", "90"], arm_toml=arm(bend_limit=90))
notice_row(
    "start-bends",
    "start bends of 30 (degrees) of an arm",
    ["start|bends", "30"],
    arm_toml=arm_start("bends = [30, 0]"),
    e_toml=experiment(duration=0.02, head='keyframe = "A_start"\n'),
)
notice_row("length-mm", "a section of 100 m (mm)", ["constant_length|length", "100"], arm_toml=arm(constant_length=100))
notice_row("mass-g", "a section of 50 kg (g)", ["mass", "50"], arm_toml=arm(mass=50))
notice_row("density-g", "a density of 1.1 (g/cm^3)", ["density", "1.1"], arm_toml=arm(mass=None, density=1.1))
notice_row(
    "modulus-gpa",
    "a youngs_modulus of 54 (GPa)",
    ["youngs_modulus|modulus", "54"],
    arm_toml=arm(bending_stiffness=None, youngs_modulus=54, radius=0.008),
)
notice_row(
    "stiffness-nmm",
    "a bending_stiffness of 50000 (N mm^2)",
    ["bending_stiffness", "5e.?04|50000"],
    arm_toml=arm(bending_stiffness=50000),
)
notice_row("damping-ms", "a damping_time of 20 (ms)", ["damping_time", "20"], arm_toml=arm(damping_time=20))
notice_row("radius-mm", "a radius of 8 m (mm)", ["radius", "8"], arm_toml=arm(radius=8))
notice_row(
    "motion-ms",
    "a motion whose times are in ms",
    ["times", "1000|2000"],
    e_toml=experiment(motion(times="[0, 1000, 2000]", **WAYPOINTS), duration=2.0),
)
notice_row(
    "motion-late",
    "a motion that begins after the end of the run",
    ["start|times"],
    e_toml=experiment(motion(kind='"circle"', radius=0.01, speed=0.02, start_after=1000), duration=SHORT),
)
notice_row(
    "motion-mm",
    "waypoints in mm",
    ["target|points", "reach|mm"],
    e_toml=experiment(
        motion(kind='"waypoints"', times="[0, 1]", points="[[50, 20, 160], [40, 30, 160]]"), duration=SHORT
    ),
)
notice_row(
    "circle-mm",
    "a circle of 20 m (mm)",
    ["radius", "20"],
    e_toml=experiment(motion(kind='"circle"', radius=20, speed=0.05), duration=SHORT),
)
notice_row(
    "speed-degrees",
    "a circle at 90 m/s (deg/s)",
    ["speed", "90"],
    e_toml=experiment(motion(kind='"circle"', radius=0.02, speed=90), duration=SHORT),
)
notice_row(
    "speed-mm",
    "a circle at 50 m/s (mm/s)",
    ["speed", "50"],
    e_toml=experiment(motion(kind='"circle"', radius=0.02, speed=50), duration=SHORT),
)
notice_row(
    "amplitude-mm",
    "a Lissajous motion of 20 m (mm)",
    ["amplitude", "20"],
    e_toml=experiment(
        motion(kind='"lissajous"', amplitude="[20, 70, 30]", frequency="[0.3, 0.2, 0.3]"), duration=SHORT
    ),
)
notice_row(
    "angles-rad",
    "angles_deg of [0, 1.57, 0] (rad)",
    ["angles_deg", "1.57"],
    e_toml=experiment(
        motion(times="[0, 1, 2]", angles_deg="[[0, 0, 0], [0, 1.5708, 0], [0, 3.14159, 0]]", **WAYPOINTS),
        duration=SHORT,
    ),
)
notice_row(
    "noise-mm",
    "noise of 1 m (mm) of the tip",
    ["sigma", "1"],
    e_toml=experiment('[[fault]]\nkind = "noise"\nchannel = "tip"\nsigma = 1\n', duration=SHORT),
)
notice_row(
    "bias-mm",
    "a bias of 5 m (mm) of the tip",
    ["value|bias", "5"],
    e_toml=experiment('[[fault]]\nkind = "bias"\nchannel = "tip"\nvalue = [5, 0, 0]\n', duration=SHORT),
)
notice_row(
    "bias-degrees",
    "a bias of 10 rad (degrees) of q",
    ["value|bias", "10"],
    e_toml=experiment('[[fault]]\nkind = "bias"\nchannel = "q"\nvalue = 10\n', duration=SHORT),
)
notice_row(
    "fault-ms",
    "a fault that starts at 500 s (ms) in a run of 1 s",
    ["start", "500"],
    e_toml=experiment('[[fault]]\nkind = "freeze"\nchannel = "tip"\nstart = 500\n', duration=1.0),
)
notice_row(
    "kick-late",
    "a kick after the end of the run",
    ["start|kick", "500"],
    e_toml=experiment(
        '[[fault]]\nkind = "kick"\nbody = "A_s2_l5"\nforce = [1, 0, 0]\nduration = 0.1\nstart = 500\n', duration=1.0
    ),
)
notice_row(
    "payload",
    "a payload of 20 kg at an arm of 0.1 kg",
    ["payload|mass|load", "20"],
    e_toml=experiment('[[fault]]\nkind = "payload"\nbody = "A_s2_l5"\nmass = 20\n', duration=SHORT),
)
notice_row(
    "max-mm",
    "a check of the tip error with max = 5 (mm)",
    ["max", "5"],
    e_toml=experiment(check("tip_error_end", max=5), duration=SHORT),
)
notice_row(
    "timestep-ms",
    "a timestep of 2 s (ms)",
    ["timestep", "2"],
    e_toml=experiment(TIP, '[set]\n"option.timestep" = 2\n', duration=4.0),
)
notice_row(
    "gravity",
    "gravity of 981 (cm/s^2)",
    ["gravity", "981"],
    e_toml=experiment(TIP, '[set]\n"option.gravity" = [0, 0, -981]\n', duration=SHORT),
)
notice_row(
    "euler-rad",
    'euler of 90 in a scene with angle="radian"',
    ["euler|angle", "radian|rad|degree"],
    scene_xml=scene(head='<compiler angle="radian"/>').replace(
        '<attach model="robot" body="base" prefix="A_"/>',
        '<frame euler="0 90 0"><attach model="robot" body="base" prefix="A_"/></frame>',
    ),
)
notice_row(
    "pressure-bar",
    "a max_pressure of 1 (bar)",
    ["pressure", "1"],
    arm_toml=arm(
        controller="",
        parts="".join(
            f"[[chamber]]\nsection = 1\nangle = {a}\ndistance = 0.004\narea = 1e-5\nmax_pressure = 1\n"
            for a in (0, 2.09, 4.19)
        ),
    ),
    e_toml=experiment(duration=0.02),
)
notice_row(
    "base-freejoint",
    "an arm under a freejoint that nothing carries",
    ["base|free|fall"],
    scene_xml=scene().replace(
        '<attach model="robot" body="base" prefix="A_"/>',
        '<body name="hand"><freejoint/><geom size="0.02" mass="0.1"/><attach model="robot" '
        'body="base" prefix="A_"/></body>',
    ),
    e_toml=experiment(duration=0.5),
)


@row("U-octopus", 7, "an arm that tapers from 12 to 1.2 mm loads, or the reason is the true one")
def octopus(place):
    text = (
        'kind = "continuum"\nname = "octopus"\n'
        + "[[section]]\nconstant_length = 0.20\nbend_limit = 3.0\nlinks = 40\nradius = [0.012, 0.0012]\n"
        + "density = 1042\nyoungs_modulus = 1e4\nbend_gain = 0\ndamping_time = 0.1\n"
    )
    place.put("octopus.toml", text)
    answer = place.tendril("model", "octopus.toml", "--report")
    sound(answer)
    return require(answer.code == 0 or not says(answer, "shorter than 1e-06"), answer.seen())


@row("U-degrees-python", 7, "tip_pose of 90 rad, outside the section's limit, is refused or reported")
def degrees_python(place):
    answer = place.python(
        "import warnings\nwarnings.simplefilter('error')\n"
        "a = td.ContinuumRobot([td.Section(length=0.1, bend_limit=2.0)])\n"
        "try: print('taken', a.tip_pose([[90.0, 0.0, 0.0]])[0, 3])\nexcept Exception as e: print('refused', e)\n"
    )
    return require("refused" in answer.out, answer.seen())


def poses(place):
    """The poses of the documents, as rows of numbers by name."""
    source = place.options.root / "docs/guide/identification"
    if not (source / "poses.csv").exists():
        raise NotTried("docs/guide/identification/poses.csv is not there")
    place.put("arm.toml", (source / "arm.toml").read_bytes())
    lines = [s for s in (source / "poses.csv").read_text().splitlines() if not s.startswith("#")]
    head = lines[0].split(",")
    return head, [dict(zip(head, map(float, line.split(",")))) for line in lines[1:] if line]


def moved(place, change):
    head, rows = poses(place)
    names = sorted({h.rsplit("_", 2)[0] for h in head if "_x_" in h and "force" not in h})
    for n, one in enumerate(rows):
        for point in names:
            keys = [h for h in head if h.startswith(point + "_") and h.split("_")[-2] in "xyz"]
            for key, value in zip(keys, change(n, [one[k] for k in keys])):
                one[key] = value
    place.put("p.csv", ",".join(head) + "\n" + "".join(",".join(f"{one[h]:.6g}" for h in head) + "\n" for one in rows))
    return place.package("identify", "arm.toml", "p.csv", "--parameters", "section.1.bending_stiffness")


FRAMES = {
    "y-up": lambda n, p: [p[0], p[2], -p[1]],
    "z-down": lambda n, p: [p[0], -p[1], -p[2]],
    "mirrored": lambda n, p: [-p[0], p[1], p[2]],
    "turned": lambda n, p: [p[1], -p[0], p[2]],
    "offset": lambda n, p: [p[0] + 300, p[1], p[2]],
    "metres-as-mm": lambda n, p: [v / 1000 for v in p],
    "lost": lambda n, p: [0, 0, 0] if n % 5 == 2 else p,
    "frozen": lambda n, p: [5.0, 6.0, 200.0],
}


def frame_row(key, change):
    @row(f"U-poses-{key}", 7, f"identify of poses that are {key}: says that they do not fit, and what may help")
    def show(place):
        answer = moved(place, change)
        sound(answer)
        return require(
            says(
                answer,
                "fit|frame|align|mirror|unit|lost|marker|0, 0, 0|same|influence|1000 times",
                "notice|tendril:|may|does not",
            ),
            answer.seen(),
        )


for _key, _change in FRAMES.items():
    frame_row(_key, _change)


@row("U-poses-plain", 7, "identify of poses in the base frame fits without such a notice")
def poses_plain(place):
    answer = moved(place, lambda n, p: p)
    sound(answer)
    return require(answer.code == 0 and not says(answer, "do not fit|mirror"), answer.seen())


@row("U-no-false-alarm", 7, "the plain scene has no notice of units")
def no_alarm(place):
    place.scene()
    answer = place.run()
    sound(answer)
    return require(not says(answer, "notice"), answer.seen())


@row("U-all-scenes", 7, "the experiments of the tree have no new notice of units", slow=True)
def all_scenes(place):
    cases = {
        str(f.relative_to(place.options.root)): f
        for f in sorted(place.options.root.glob("scenes/*/*.toml"))
        if "scene =" in f.read_text()
    }

    def show(file):
        answer = place.run(str(file), "--duration", "0.01", "--out", "o")
        sound(answer)
        return require(not says(answer, "notice", "degree|is the unit|in mm|in ms"), answer.seen())

    return each(cases, show)
