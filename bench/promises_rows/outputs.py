"""5. Outputs never destroy."""

import os

from promises_rows.place import (
    Broken,
    arm,
    each,
    experiment,
    passed,
    refused,
    require,
    row,
    scene,
    section,
    sound,
)

FORMATS = ("csv", "parquet", "mcap", "rrd", "robomimic", "lerobot", "minari")


def untouched(place, names, answer, code=2):
    """The files are what they were, and the command was refused in one line."""
    sound(answer)
    lost = [name for name, text in names.items() if not (place.folder / name).is_file() or place.read(name) != text]
    if lost:
        raise Broken(f"lost: {', '.join(lost)} ({answer.seen()})")
    if answer.code != code:
        raise Broken(f"exit {answer.code}, not {code}: {answer.seen()}")
    return answer.seen()


def kept(place, *names):
    return {name: place.read(name) for name in names}


def output_row(key, what, make, words, victims=("r.h5",), package=False):
    @row(f"O-{key}", 5, f"{what} is refused and the file is kept")
    def show(place):
        make(place)
        before = kept(place, *victims)
        run = place.package if package else place.tendril
        return untouched(place, before, run(*words))


def recorded(place):
    place.recording()


def scene_and_plan(place):
    place.scene()
    place.write(
        targets_csv="x,y,z\n0.03,0,0.18\n0,0.02,0.19\n",
        states_csv="t1,p1,t2,p2\n0.1,0,0.1,0\n",
        plan_toml='robot = "arm.toml"\nwaypoints = [[0.05, 0, 0.18]]\n',
        tube_toml='kind = "tube"\ncenterline = [[0, 0, 0], [0, 0, 0.3]]\ncorner_radius = 0.1\ninner_radius = 0.03\n',
    )


MODULE = {"parquet": "pyarrow", "mcap": "mcap", "rrd": "rerun", "lerobot": "pyarrow", "minari": "minari"}


def with_module(name):
    """A recording, if the format's module is there."""

    def make(place):
        if name:
            place.needs(name)
        recorded(place)

    return make


def page_named_recording(place):
    place.recording()
    (place.folder / "r.h5").rename(place.folder / "r.html")


for _format in FORMATS:
    output_row(
        f"export-{_format}",
        f"export --to {_format} onto the recording",
        with_module(MODULE.get(_format)),
        ["export", "r.h5", "--to", _format, "-o", "r.h5"],
        package=True,
    )
output_row(
    "play",
    "play onto a recording that is called r.html",
    page_named_recording,
    ["play", "r.html", "-o", "r.html"],
    ["r.html"],
    package=True,
)
output_row("rollout-export", "rollout export onto the recording", recorded, ["rollout", "export", "r.h5", "r.h5"])
output_row("recover", "rollout recover onto the recording", recorded, ["rollout", "recover", "r.h5", "r.h5"])
output_row(
    "model", "model -o onto the robot file", scene_and_plan, ["model", "arm.toml", "-o", "arm.toml"], ["arm.toml"]
)
output_row(
    "model-tube",
    "model -o onto the tube file",
    scene_and_plan,
    ["model", "tube.toml", "-o", "tube.toml"],
    ["tube.toml"],
)
output_row(
    "ik",
    "ik -o onto the table of targets",
    scene_and_plan,
    ["ik", "arm.toml", "targets.csv", "-o", "targets.csv"],
    ["targets.csv"],
)
output_row(
    "ik-robot",
    "ik -o onto the robot file",
    scene_and_plan,
    ["ik", "arm.toml", "targets.csv", "-o", "arm.toml"],
    ["arm.toml"],
)
output_row(
    "plan-path",
    "plan --path onto the robot file",
    scene_and_plan,
    ["plan", "scene.xml", "--path", "arm.toml"],
    ["arm.toml", "scene.xml"],
)
output_row(
    "plan-scene",
    "plan --path onto the scene",
    scene_and_plan,
    ["plan", "scene.xml", "--path", "scene.xml"],
    ["arm.toml", "scene.xml"],
)
output_row(
    "plan-plan",
    "plan --path onto the plan file",
    scene_and_plan,
    ["plan", "plan.toml", "--path", "plan.toml"],
    ["plan.toml"],
)
output_row(
    "plan-robot",
    "plan --path onto the plan's robot",
    scene_and_plan,
    ["plan", "plan.toml", "--path", "arm.toml"],
    ["plan.toml", "arm.toml"],
)
output_row(
    "plan-png",
    "plan --png onto the robot file",
    scene_and_plan,
    ["plan", "plan.toml", "--png", "arm.toml"],
    ["plan.toml", "arm.toml"],
)


@row("O-fk", 5, "fk -o onto the table of states is refused")
def fk(place):
    scene_and_plan(place)
    place.tendril("ik", "arm.toml", "targets.csv", "-o", "states.csv")
    before = kept(place, "states.csv")
    return untouched(place, before, place.tendril("fk", "arm.toml", "states.csv", "-o", "states.csv"))


@row("O-generate", 5, "generate into a folder with files of the user's keeps them")
def generate(place):
    for name in "arm.toml", "scene.xml", "e.toml", "maze.toml", "maze.xml":
        place.put(f"g/{name}", "mine")
    before = {name: text for name, text in ((f"g/{n.name}", n.read_bytes()) for n in (place.folder / "g").iterdir())}
    answer = place.tendril("generate", "maze", "--seed", "1", "--out", "g")
    sound(answer)
    lost = [name for name, text in before.items() if place.read(name) != text]
    return require(not lost, f"lost: {', '.join(lost)}", answer.seen())


@row("O-identify", 5, "identify -o onto the poses or the robot file is refused")
def identify(place):
    def show(victim):
        place.put("arm.toml", arm(controller=""))
        place.put("poses.csv", "time,x,y,z\n0,0.02,0,0.19\n1,0.03,0,0.18\n")
        before = kept(place, "arm.toml", "poses.csv")
        words = ["identify", "arm.toml", "poses.csv", "--parameters", "section.1.bending_stiffness", "-o", victim]
        return untouched(place, before, place.package(*words))

    return each({name: name for name in ("arm.toml", "poses.csv")}, show)


@row("O-compare", 5, "compare -o onto one of its recordings is refused")
def compare(place):
    place.recording()
    place.put("q.h5", place.read("r.h5"))
    before = kept(place, "r.h5", "q.h5")
    return untouched(place, before, place.package("compare", "r.h5", "q.h5", "-o", "q.h5"))


@row("O-render", 5, "render -o onto its input is refused, whatever its ending is")
def render(place):
    place.recording()
    (place.folder / "r.h5").rename(place.folder / "r.png")
    before = kept(place, "r.png")
    return untouched(place, before, place.tendril("render", "r.png", "-o", "r.png"))


def alias_row(key, make, output="link.h5"):
    @row(f"O-alias-{key}", 5, f"an output that is the input by another name ({key}) is refused")
    def show(place):
        place.recording()
        make(place)
        before = kept(place, "r.h5")
        return untouched(place, before, place.package("export", "r.h5", "--to", "csv", "-o", output))


alias_row("symbolic link", lambda place: (place.folder / "link.h5").symlink_to("r.h5"))
alias_row("hard link", lambda place: os.link(place.folder / "r.h5", place.folder / "link.h5"))
alias_row("dots", lambda place: (place.folder / "d").mkdir(), "d/../r.h5")
alias_row("link to the folder", lambda place: (place.folder / "d").symlink_to("."), "d/r.h5")


@row("O-inside", 5, "an output inside an input (a file in the sweep's folder that is exported) is refused")
def inside(place):
    place.scene(e_toml=experiment(duration=0.02) + '[sweep]\nseeds = 1\nrecord = "all"\n')
    sound(place.package("sweep", "e.toml", "--out", "s", "--no-report"))
    before = kept(place, "s/sweep.json")
    return untouched(place, before, place.package("export", "s", "--to", "csv", "-o", "s/sweep.json"))


@row("O-inside-folder", 5, "a data set inside the exported sweep's folder (s/runs) is refused")
def inside_folder(place):
    place.scene(e_toml=experiment(duration=0.02) + '[sweep]\nseeds = 1\nrecord = "all"\n')
    sound(place.package("sweep", "e.toml", "--out", "s", "--no-report"))
    names = [str(f.relative_to(place.folder)) for f in (place.folder / "s").rglob("*") if f.is_file()]
    before = kept(place, *names)
    return untouched(place, before, place.package("export", "s", "--to", "robomimic", "-o", "s/journal/d.hdf5"))


USERS = ("video.mp4", "report.html", "play.html", "snapshot_01.png", "rollout.h5", "summary.json", "steps.csv")


@row("O-run-folder", 5, "run --out into a folder of the user's: a file named as a result is kept and named")
def run_folder(place):
    def show(name):
        place.scene()
        place.put(f"d{name}/{name}", "mine")
        before = kept(place, f"d{name}/{name}")
        answer = place.run("e.toml", "--duration", "0.02", "--out", f"d{name}")
        sound(answer)
        require(place.read(f"d{name}/{name}") == b"mine", f"lost: {name}")
        if name in ("snapshot_01.png", "steps.csv"):  # no name of a result: nothing to refuse
            return "kept"
        return untouched(place, before, answer)

    return each({name: name for name in USERS}, show)


@row("O-run-beside", 5, "run --out again removes only what the earlier run wrote")
def run_beside(place):
    place.scene()
    sound(place.run("e.toml", "--duration", "0.02", "--out", "d"))
    for name in ("snapshot_of_mine.png", "video.mp4", "notes.txt", "snapshot_99_9.000s.png"):
        place.put(f"d/{name}", "mine")
    sound(place.run("e.toml", "--duration", "0.02", "--out", "d"))
    lost = [
        n
        for n in ("snapshot_of_mine.png", "video.mp4", "notes.txt", "snapshot_99_9.000s.png")
        if not (place.folder / "d" / n).exists()
    ]
    return require(not lost, f"lost: {', '.join(lost)}", "nothing lost")


@row("O-run-again", 5, "run --out into the folder of an earlier run replaces that run")
def run_again(place):
    place.scene()
    sound(place.run("e.toml", "--duration", "0.02", "--out", "d"))
    answer = place.run("e.toml", "--duration", "0.04", "--out", "d")
    sound(answer)
    return require(answer.code in (0, 1), answer.seen())


@row("O-run-here", 5, "run --out . (the folder of the scene) is refused or keeps all")
def run_here(place):
    place.scene()
    place.put("video.mp4", "mine")
    before = kept(place, "arm.toml", "scene.xml", "e.toml", "video.mp4")
    answer = place.run("e.toml", "--duration", "0.02", "--out", ".")
    sound(answer)
    lost = [name for name, text in before.items() if not (place.folder / name).exists() or place.read(name) != text]
    return require(not lost, f"lost: {', '.join(lost)}", answer.seen())


@row("O-run-input", 5, "run --out that is the experiment's own file is refused")
def run_input(place):
    place.scene()
    before = kept(place, "arm.toml", "scene.xml", "e.toml")
    return untouched(place, before, place.run("e.toml", "--duration", "0.02", "--out", "e.toml"))


@row("O-sweep-folder", 5, "sweep --out . and sweep --out of the user's folder are refused")
def sweep_folder(place):
    place.scene()
    place.put("d/mine.txt", "mine")
    for out in ".", "d":
        answer = place.package("sweep", "e.toml", "--seeds", "1", "--out", out, "--no-report")
        refused(answer, "not empty")
    return "exit 2"


@row("O-python-export", 5, "to_html and friends in Python onto the recording are refused")
def python_export(place):
    place.recording()
    before = kept(place, "r.h5")
    answer = place.python(
        "r = td.Recording('r.h5')\ntry:\n    r.to_html('r.h5'); print('written')\n"
        "except Exception as e: print('refused', e)\n"
    )
    require(place.read("r.h5") == before["r.h5"], f"lost: r.h5 ({answer.seen()})")
    return require("refused" in answer.out, answer.seen())


@row("O-python-record", 5, "Experiment.run(record=…) onto an input is refused")
def python_record(place):
    place.scene()
    before = kept(place, "scene.xml", "arm.toml", "e.toml")
    answer = place.python(
        "for name in ('scene.xml', 'arm.toml', 'e.toml'):\n"
        "    try: td.Experiment('e.toml').run(duration=0.02, record=name); print('written')\n"
        "    except Exception as e: print('refused', e)\n"
    )
    lost = [name for name, text in before.items() if place.read(name) != text]
    return require(not lost, f"lost: {', '.join(lost)}", answer.seen())


@row("O-part-link", 5, "a link OUT.part is not followed: play")
def part_link(place):
    place.recording()
    place.put("victim", "mine")
    (place.folder / "p.html.part").symlink_to("victim")
    answer = place.package("play", "r.h5", "-o", "p.html")
    sound(answer)
    return require(place.read("victim") == b"mine", "victim was overwritten", answer.seen())


@row("O-part-links", 5, "a link OUT.part is not followed: rollout export, export, render, model, recover, run")
def part_links(place):
    cases = {
        "rollout export csv": ("x.csv", ["rollout", "export", "r.h5", "x.csv"]),
        "rollout export npz": ("x.npz", ["rollout", "export", "r.h5", "x.npz"]),
        "export csv": ("y.csv", ["export", "r.h5", "--to", "csv", "-o", "y.csv"]),
        "render": ("x.png", ["render", "r.h5", "-o", "x.png"]),
        "model": ("m.xml", ["model", "arm.toml", "-o", "m.xml"]),
        "recover": ("n.h5", ["rollout", "recover", "r.h5", "n.h5"]),
    }
    place.recording()

    def show(case):
        out, words = case
        place.put("victim", "mine")
        for name in (f"{out}.part", f".{out}.part", f"{out}.tmp"):
            (place.folder / name).unlink(missing_ok=True)
            (place.folder / name).symlink_to("victim")
        answer = place.package(*words)
        sound(answer)
        return require(place.read("victim") == b"mine", "victim was overwritten")

    return each(cases, show)


@row("O-existing", 5, "export over a file that is no recording's export is reported")
def existing(place):
    place.recording()
    place.put("thesis.csv", "my work")
    answer = place.package("export", "r.h5", "--to", "csv", "-o", "thesis.csv")
    sound(answer)
    return require(
        place.read("thesis.csv") == b"my work" or "replace" in answer.text, f"replaced without a word: {answer.seen()}"
    )


@row("O-plain", 5, "an output next to its input is written")
def plain(place):
    place.recording()
    passed(place.package("export", "r.h5", "--to", "csv", "-o", "x.csv"))
    passed(place.tendril("model", "arm.toml", "-o", "arm.xml"))
    scene_and_plan(place)
    return passed(place.tendril("ik", "arm.toml", "targets.csv", "-o", "o.csv"))


@row("O-model-mesh", 5, "model -o onto a scene that attaches the robot is reported")
def model_scene(place):
    place.scene(arm_toml=arm(controller="", parts=section()), scene_xml=scene())
    before = kept(place, "scene.xml")
    answer = place.tendril("model", "arm.toml", "-o", "scene.xml")
    sound(answer)
    return require(
        place.read("scene.xml") == before["scene.xml"] or "replace" in answer.text, "replaced without a word"
    )
