"""Mistakes in experiments and sweeps."""

from mistakes_rows.place import ARM, CHECK, CIRCLE, CONTROLLER, EXPERIMENT, Mistake, run

ARRIVES = '[[check]]\nmetric = "tip_error_end"\nmax = 0.001\n'
SWEEP = EXPERIMENT + CHECK
SHORT_SWEEP = ("sweep", "circle.toml", "--no-report", "--out", "s")
VARY = '[vary]\n"body.target.offset" = {}\n'


def experiment(id, name, code, says, text, *options, **files):
    """A run of this experiment; results go to another folder if the run is not refused."""
    named = {key.replace("_", "."): value for key, value in files.items()}
    words = run("circle.toml", *options, out="out" if code == 2 else "new")
    return Mistake(id, name, code, says, words, {"circle.toml": text, **named})


def sweep(id, name, code, says, text, *options, words=SHORT_SWEEP, **files):
    """A sweep of this experiment, by the package."""
    named = {"circle.toml": text, **{key.replace("_", "."): value for key, value in files.items()}}
    act = lambda place: place.package(*words, *options)
    return Mistake(id, name, code, says, files=named, act=act)


# ---- mistakes of more than one command -----------------------------------------------------------


def swept(place, *options, name="circle.toml", out="s"):
    return place.package("sweep", name, "--no-report", "--out", out, *options)


def compared_with_itself(place):
    swept(place, "--seeds", "1")
    return place.package("compare", "s", "s", "-o", "page.html")


def folder_of_another(place):
    swept(place, "--seeds", "1")
    place.write({"other.toml": SWEEP})
    return swept(place, "--seeds", "1", name="other.toml")


def fewer_seeds(place):
    swept(place, "--seeds", "2")
    place.write({"arm.toml": ARM.replace("links = 4", "links = 5", 1) + CONTROLLER})
    return swept(place, "--seeds", "1")


def edited_meanwhile(place):
    place.write({"circle.toml": EXPERIMENT.replace("0.02", "30") + CHECK})
    process = place.start_package("sweep", "circle.toml", "--seeds", "1", "--out", "s", "--quiet")
    place.wait_for(process, lambda: any(place.folder.glob("s/runs/.part*")))
    place.write({"arm.toml": ARM.replace("links = 4", "links = 5", 1) + CONTROLLER})
    return place.finish(process)


def different_experiments(place):
    place.write({"other.toml": EXPERIMENT + CHECK + VARY.format("{ uniform = [[0, 0, 0], [0.001, 0, 0]] }")})
    swept(place, "--seeds", "3")
    swept(place, "--seeds", "3", name="other.toml", out="t")
    return place.package("compare", "s", "t", "-o", "page.html")


def arriving(text):
    return EXPERIMENT.replace("0.02", "1") + ARRIVES + text


WAYPOINTS = 'kind = "waypoints"\ntimes = [0, 0.5, 1]\n'
DRIVEN = '[[motion]]\nactuator = "A_s1_x"\nkind = "waypoints"\ntimes = [0, 1]\nvalues = [0, 1]\n'
NOISE = '[[fault]]\nkind = "noise"\nchannel = "tip"\nsigma = {}\n'
GRID = "[sweep]\nseeds = 1\n[sweep.grid]\n"
VARIANT = '[[sweep.variant]]\nname = "{}"\nset = {{ "controller.{}" = {} }}\n'

MISTAKES = [
    sweep(
        "S1",
        "`seeds = 0`",
        2,
        (r"circle\.toml", "seeds", "= 0", "must be.*(list|count)"),
        SWEEP + "[sweep]\nseeds = 0\n",
    ),
    sweep("S2", "seeds where nothing varies", 0, ("", "seeds", "same", "nothing"), SWEEP, "--seeds", "3"),
    sweep(
        "S3",
        "value of a grid that is no list",
        2,
        (r"circle\.toml", r"option\.timestep", r"0\.002", "must be a list with at least one value"),
        SWEEP + GRID + '"option.timestep" = 0.002\n',
    ),
    sweep(
        "S4",
        "typo in a key of a grid",
        2,
        (r"circle\.toml", "section 1|grid", "bending_stifness", "must be one of|bending_stiffness"),
        SWEEP + GRID + '"robot.section.*.bending_stifness" = [0.04, 0.05]\n',
    ),
    sweep(
        "S5",
        "two variants of one name",
        2,
        (r"circle\.toml", "variant", "one", "twice"),
        SWEEP + "[sweep]\nseeds = 1\n" + 2 * VARIANT.format("one", "integral_gain", 1),
    ),
    sweep(
        "S6",
        "`--controller` of one's own without its file",
        2,
        ("", "my.c", "", "--plugin.*--python|--python.*--plugin"),
        SWEEP,
        "--seeds",
        "1",
        "--controller",
        "my.c",
    ),
    sweep(
        "S7",
        "`--variant` without a colon",
        2,
        ("--variant", "open loop", "", "NAME: key=value|colon|:"),
        SWEEP,
        "--seeds",
        "1",
        "--variant",
        "open loop controller.integral_gain=0",
    ),
    sweep(
        "S8",
        "sweep of a scene",
        2,
        (r"scene\.xml", "scene", "", "takes.*experiment|must be an experiment|experiment"),
        SWEEP,
        words=("sweep", "scene.xml", "--seeds", "1", "--out", "s"),
    ),
    sweep(
        "S9",
        "`compare` of names alone",
        2,
        (r"circle\.toml", "compare", "tip_error_rms", r"metric = |\{ ?metric|metric.*better"),
        SWEEP + '[sweep]\nseeds = 1\ncompare = ["tip_error_rms"]\n',
    ),
    Mistake(
        "S10", "compare of a folder with itself", 2, ("s", "", "", "compared with itself"), act=compared_with_itself
    ),
    sweep("S11", "`--jobs 0`", 2, ("", "jobs", "0", "must be|1 to|at least"), SWEEP, "--seeds", "1", "--jobs", "0"),
    experiment(
        "S12",
        "offset of one number",
        2,
        (r"circle\.toml:\d+", r"body\.target\.offset", r"0\.00", "must be three finite numbers in m"),
        SWEEP + VARY.format("{ uniform = [0.001, 0.005] }"),
    ),
    experiment(
        "S13",
        "an error of at most -1 m",
        1,
        ("", "tip_error_end", "-1 m", "FAILED|never"),
        EXPERIMENT + CHECK.replace("max = 1", "max = -1"),
    ),
    experiment(
        "S14",
        "`sensor:NAME` without a statistic",
        2,
        (r"circle\.toml:\d+", "metric", "sensor:A_tip", "end.*max|statistic|sensor:NAME:"),
        EXPERIMENT + '[[check]]\nmetric = "sensor:A_tip"\nmax = 1\n',
    ),
    experiment(
        "S15",
        "motion of the base of the arm",
        2,
        (r"circle\.toml:\d+", "body", "A_base", "mocap.*it has target"),
        SWEEP + CIRCLE.replace('"target"', '"A_base"'),
    ),
    experiment(
        "S16",
        "motion of a servo that the controller drives",
        2,
        (r"circle\.toml:\d+", "actuator", "A_s1_x", r"driven by the controller tendril\.reach"),
        SWEEP + DRIVEN,
    ),
    experiment(
        "S17",
        "three times and two points",
        2,
        (r"circle\.toml:\d+", "points|times", r"\b2\b", r"\b3\b"),
        SWEEP + '[[motion]]\nbody = "target"\n' + WAYPOINTS + "points = [[0, 0, 0.18], [0.03, 0, 0.18]]\n",
    ),
    experiment(
        "S18",
        "`speed` of a circle in degrees a second",
        1,
        (r"circle\.toml", "speed", r"= 90 m/s", "m/s|turns"),
        arriving(CIRCLE.replace("0.05", "90")),
    ),
    experiment(
        "S19",
        "fault of a robot by its name",
        2,
        (r"circle\.toml:\d+", "robot", '= "?arm', '"?A_"?'),
        SWEEP + NOISE.format(0.001) + 'robot = "arm"\n',
    ),
    experiment(
        "S20",
        "noise in mm",
        1,
        (r"circle\.toml", "sigma", "= 1 m", "reach|arm|unit"),
        arriving(NOISE.format(1)),
    ),
    experiment("S21", "`--set duration=14`", 2, ("--set", "duration", "", "--duration"), SWEEP, "--set", "duration=14"),
    experiment(
        "S22",
        "`--set` of a text with a comma",
        2,
        ("--set", r"controller\.obstacles", "post, rock", 'quot|"post, rock"'),
        SWEEP,
        "--set",
        "controller.obstacles=post, rock",
    ),
    Mistake(
        "S23",
        "sweep into the folder of another experiment",
        2,
        ("s", "", "circle|other", "choose another --out"),
        act=folder_of_another,
    ),
    Mistake(
        "S24",
        "fewer seeds than before, and another robot",
        0,
        ("", r"\d runs?", "earlier", "in no statistic"),
        act=fewer_seeds,
    ),
    sweep(
        "S25",
        '`timeout = "1h"`',
        2,
        (r"circle\.toml", "timeout", "1h", r"\(0, 1e6\] s"),
        SWEEP + '[sweep]\nseeds = 1\ntimeout = "1h"\n',
    ),
    Mistake(
        "S26",
        "a file is edited while the sweep runs",
        4,
        (r"arm\.toml", "", "was changed while", "start the sweep again"),
        act=edited_meanwhile,
    ),
    sweep(
        "S27",
        "grid of a key that `[vary]` draws",
        0,
        ("notice", r"option\.timestep", "vary", "grid"),
        SWEEP + '[vary]\n"option.timestep" = { uniform = [0.001, 0.002] }\n' + GRID + '"option.timestep" = [0.002]\n',
    ),
    sweep(
        "S28",
        "typo in a setting of a variant",
        2,
        (r"circle\.toml|arm\.toml", "controller", "integral_gian", r"tendril\.reach has: .*integral_gain"),
        SWEEP + "[sweep]\nseeds = 1\n" + VARIANT.format("one", "integral_gian", 0),
    ),
    Mistake(
        "S29",
        "compare of sweeps of different experiments",
        0,
        ("notice|different", "circle", "other", "experiment"),
        act=different_experiments,
    ),
]
