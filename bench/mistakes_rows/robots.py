"""Mistakes in robot files."""

from mistakes_rows.place import ARM, CONTROLLER, EXPERIMENT, FED, SECTION, Mistake, run

SOLID = "radius = 0.008\nmass = 0.07\n"


def tendons(section, angles, distance=0.006, more=""):
    return "".join(
        f"[[tendon]]\nsection = {section}\nangle = {angle}\ndistance = {distance}\n{more}" for angle in angles
    )


def chambers(section, **keys):
    text = "".join(f"{key} = {value}\n" for key, value in keys.items())
    return "".join(
        f"[[chamber]]\nsection = {section}\nangle = {angle}\ndistance = 0.004\nradius = 0.002\n{text}"
        for angle in (0, 2.0944, 4.1888)
    )


THIRDS = (0, 2.0944, 4.1888)
DEGREES = (0, 120, 240)


def robot(id, name, code, says, text, experiment=None):
    files = {"arm.toml": text, **({"circle.toml": experiment} if experiment else {})}
    return Mistake(id, name, code, says, run(out="out" if code == 2 else "new"), files)


LONG = 'scene = "scene.xml"\nduration = 1\n[[check]]\nmetric = "tip_error_end"\nmax = 0.001\n'

MISTAKES = [
    robot(
        "R0",
        "tendon named as a section's own actuator",
        2,
        (r"arm\.toml:\d+", "name", "s1_x", "section 1's own elements"),
        ARM + tendons(2, THIRDS).replace("[[tendon]]\n", '[[tendon]]\nname = "s1_x"\n', 1) + CONTROLLER,
    ),
    robot(
        "R1",
        "tendon that ends in section 3 of 2",
        2,
        (r"arm\.toml:\d+", "section", "= 3", r"must be an integer in \[1, 2\]"),
        ARM + tendons(3, THIRDS) + CONTROLLER,
    ),
    robot(
        "R2",
        "tendon 60 mm from the axis of a body of 8 mm",
        0,
        (r"arm\.toml", "distance", r"0\.06", "radius|body|unit"),
        ARM + tendons(1, THIRDS, 0.06) + tendons(2, THIRDS, 0.06) + CONTROLLER,
        EXPERIMENT,
    ),
    robot(
        "R3",
        "angles of tendons in degrees",
        2,
        (r"arm\.toml", "angle", "120", "rad|degree"),
        ARM + tendons(1, DEGREES) + tendons(2, DEGREES) + CONTROLLER,
    ),
    robot(
        "R4",
        "two tendons a section",
        2,
        (r"arm\.toml", "section [12]", "every direction", "at least three tendons"),
        ARM + tendons(1, THIRDS[:2]) + tendons(2, THIRDS[:2]) + CONTROLLER,
    ),
    robot(
        "R5",
        "tendons in section 2 only",
        2,
        (r"arm\.toml", "section 1", "tendon", "bend_servo"),
        ARM + tendons(2, THIRDS) + CONTROLLER,
    ),
    robot(
        "R6",
        "`youngs_modulus` in GPa",
        3,
        (r"arm\.toml", "youngs_modulus", "54 Pa", "is the unit Pa"),
        ARM.replace("links = 4\n", "links = 4\nyoungs_modulus = 54\n") + CONTROLLER,
        LONG,
    ),
    robot(
        "R7",
        "`max_pressure` in bar",
        0,
        (r"arm\.toml", "max_pressure", "1 Pa", "is the unit Pa"),
        ARM + chambers(1, max_pressure=1) + chambers(2, max_pressure=1),
        EXPERIMENT,
    ),
    robot(
        "R8",
        "payload of 2 kg on an arm of 0.14 kg",
        0,  # which holds it, once it moves smoothly
        (r"arm\.toml", "payload", "2 kg", "mass|carr|hold|sag"),
        ARM + "[tip]\npayload = 2\n" + CONTROLLER,
        LONG,
    ),
    robot(
        "R9",
        "`bending_stiffness` and `youngs_modulus`",
        2,
        (r"arm\.toml:\d+", "bending_stiffness|youngs_modulus", "", "must be one of the two|one of"),
        ARM.replace("links = 4\n", "links = 4\nyoungs_modulus = 1e9\nbending_stiffness = 0.05\n") + CONTROLLER,
    ),
    robot(
        "R10",
        "`tendril.reach` on an arm without servos",
        2,
        (r"arm\.toml|scene\.xml", "section", "bend_servo = false", "must have servos, tendons or chambers"),
        ARM.replace("links = 4\n", "links = 4\nbend_servo = false\n") + CONTROLLER,
    ),
    robot(
        "R11",
        "`tendril.follow`: path in the world frame",
        2,
        (r"arm\.toml|scene\.xml", "waypoints|path", "feed axis", "base frame|frame of the base"),
        FED.replace("[[0, 0, 0], [0, 0, 0.3], [0.2, 0, 0.3]]", "[[0, 0, 0], [0, 0, 0.02], [0.2, 0, 0.1]]").replace(
            "0.12", "0.01"
        ),
    ),
    robot(
        "R12",
        "`[[sections]]`",
        2,
        (r"arm\.toml", "sections", "", "must be one of: .*section"),
        ARM.replace("[[section]]", "[[sections]]") + CONTROLLER,
    ),
    robot(
        "R13",
        "`[section]`",
        2,
        (r"arm\.toml", "section", "", r"\[\[section\]\]"),
        'kind = "continuum"\n' + SECTION.replace("[[section]]", "[section]") + CONTROLLER,
    ),
    robot(
        "R14",
        "`compliance` below `[[section]]`",
        2,
        (r"arm\.toml:\d+", "section 1", "compliance", "above|top|before the first"),
        ARM.replace("links = 4\n", 'links = 4\ncompliance = "link"\n', 1) + CONTROLLER,
    ),
    robot(
        "R15",
        "a key in the other spelling",
        2,
        (
            r"arm\.toml:\d+",
            "section 1",
            "colour",
            r"(did you mean|meant|now|renamed|is called|instead|: ).{0,12}\bcolor\b",
        ),
        ARM.replace("links = 4\n", "links = 4\ncolour = [1, 0, 0]\n", 1) + CONTROLLER,
    ),
]
