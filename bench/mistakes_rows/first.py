"""The 56 mistakes of the first review."""

import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from mistakes_rows.place import (
    ARM,
    BASE,
    CHECK,
    CONTROLLER,
    EXPERIMENT,
    FED,
    OPTION,
    PATIENCE,
    PLAN,
    ROOT,
    SCENE,
    SNAKE,
    Answer,
    Mistake,
    NotTried,
    edited,
    run,
)

LONG = ("run", "circle.toml", "--no-report", "--quiet", "--duration", "1e5", "--out", "long")


def broken_off(signal_number):
    """Ends a long run by a signal; what was recorded must replay."""

    def act(place):
        process = place.start(*LONG)
        place.wait_for(process, lambda: (place.folder / "long/rollout.h5").exists())
        place.wait_for(process, lambda: (place.folder / "long/rollout.h5").stat().st_size > 400_000)
        process.send_signal(signal_number)
        answer = place.finish(process)
        info = place.run("rollout", "info", "long/rollout.h5")
        replay = place.run("rollout", "replay", "long/rollout.h5")
        answer.text += info.text + replay.text
        if replay.code != 0:
            answer.lost.append("the recording")
        return answer

    return act


def need_ffmpeg():
    if not shutil.which("ffmpeg"):
        raise NotTried("no ffmpeg")


def interrupted_video(place):
    need_ffmpeg()
    process = place.start("run", "circle.toml", "--video", "--duration", "20", "--out", "film")
    place.wait_for(process, lambda: any((place.folder / "film").glob("video.mp4*")))
    process.send_signal(signal.SIGINT)
    answer = place.finish(process)
    if not any((place.folder / "film").glob("rollout.h5")):
        answer.lost.append("the recording")
    if any((place.folder / "film").glob("video.mp4*")):
        answer.text = ""  # half a video
    return answer


def same_folder_twice(place):
    place.run("run", "circle.toml", "--no-report", "--seed", "1", "--out", "twice")
    answer = place.run("run", "circle.toml", "--no-report", "--no-record", "--seed", "2", "--out", "twice")
    if (place.folder / "twice/rollout.h5").exists():
        answer.lost.append("the truth: results of two runs are mixed")
    refused = edited("arm.toml", "bend_limit", "bend_limt")
    before = (place.folder / "twice/summary.json").read_bytes()
    place.write(refused)
    if (
        place.run(*run(out="twice")).code != 2
        or not (place.folder / "twice/summary.json").exists()
        or (place.folder / "twice/summary.json").read_bytes() != before
    ):
        answer.lost.append("the results of the earlier run, to a run that is refused")
    place.write({"arm.toml": BASE["arm.toml"]})
    return answer


def two_runs_at_once(place):
    first = place.start(*LONG)
    place.wait_for(first, lambda: (place.folder / "long/rollout.h5").exists())
    answer = place.run("run", "circle.toml", "--no-report", "--out", "long")
    first.send_signal(signal.SIGINT)
    place.finish(first)
    if place.run("rollout", "info", "long/rollout.h5").code != 0:
        answer.lost.append("the first run")
    return answer


def disk_full(place):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))

    answer = place.finish(
        place.start(
            "run",
            "circle.toml",
            "--no-report",
            "--quiet",
            "--duration",
            "60",
            "--out",
            "long",
            before=limit,
            settings={"ASAN_OPTIONS": "detect_leaks=0"},
        )
    )  # HDF5 loses names after a failed write
    if place.run("rollout", "replay", "long/rollout.h5").code != 0:
        answer.lost.append("the rows before")
    return answer


def without_h5py(place):
    place.write({"bare": "#!/bin/sh\nexec " + sys.executable + ' -S "$@"\n'})
    (place.folder / "bare").chmod(0o755)
    return place.run("run", "circle.toml", "--out", "new", settings={"TENDRIL_PYTHON": str(place.folder / "bare")})


def without_ffmpeg(place):
    return place.run(
        "run", "circle.toml", "--video", "--no-report", "--out", "new", settings={"PATH": str(place.folder)}
    )


def truncated(place):
    place.run("run", "circle.toml", "--no-report", "--quiet", "--duration", "3", "--out", "cut")
    recording = place.folder / "cut/rollout.h5"
    with open(recording, "r+b") as file:
        file.truncate(recording.stat().st_size * 2 // 3)
    return place.run("rollout", "info", "cut/rollout.h5")


def accents(place):
    need_ffmpeg()
    folder = "mein Arm – déjà vu"
    place.write({f"{folder}/{name}": BASE[name] for name in ("arm.toml", "scene.xml", "circle.toml")})
    answer = place.run(
        "run", f"{folder}/circle.toml", "--video", "--no-report", "--duration", "0.1", "--out", f"{folder}/été 1"
    )
    replay = place.run("rollout", "replay", f"{folder}/été 1/rollout.h5")
    return Answer(answer.code or replay.code, answer.text + replay.text)


def elsewhere(place):
    (place.folder / "below").mkdir()
    return place.run("run", "../circle.toml", "--no-report", "--no-record", "--out", "new", folder="below")


def own_controller(place):
    """A run with a custom controller, whose recording is then used without its library."""
    place.write({"arm.toml": ARM + '[controller]\nplugin = "test.failing"\n', "circle.toml": EXPERIMENT})
    place.run("run", "circle.toml", "--no-report", "--out", "own", "--plugin", place.own_library())
    if not (place.folder / "own/rollout.h5").exists():
        return Answer(-1, "no recording")


def forgotten_library(*command):
    def act(place):
        return own_controller(place) or place.run(*command)

    return act


def failing(failure):
    def act(place):
        place.write(
            {
                "arm.toml": ARM + f'[controller]\nplugin = "test.failing"\nfailure = "{failure}"\n',
                "circle.toml": 'scene = "scene.xml"\nduration = 0.3\n' + CHECK,
            }
        )
        return place.run("run", "circle.toml", "--no-report", "--out", "own", "--plugin", place.own_library())

    return act


def second_copy(place):
    python = ROOT / ".venv/bin/python"
    plugin = place.library.with_name("libtendril.so")
    if not python.exists() or not plugin.exists() or os.environ.get("TENDRIL_SANITIZED"):
        raise NotTried("no Python with MuJoCo that loads the plugin")
    shutil.copy(plugin, place.folder / "libtendril_copy.so")
    code = (
        "import mujoco, sys\nfor f in sys.argv[1:]: mujoco.mj_loadPluginLibrary(f)\n"
        "m = mujoco.MjModel.from_xml_path('scene.xml')\nmujoco.mj_step(m, mujoco.MjData(m))\nprint('works', m.nplugin)"
    )
    done = subprocess.run(
        [python, "-c", code, plugin, "./libtendril_copy.so"],
        cwd=place.folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return Answer(done.returncode, done.stderr + done.stdout)


def foreign_library(place):
    found = next(
        (
            p
            for p in map(
                Path,
                (
                    "/lib/x86_64-linux-gnu/libz.so.1",
                    "/lib/x86_64-linux-gnu/libm.so.6",
                    "/lib/aarch64-linux-gnu/libm.so.6",
                ),
            )
            if p.exists()
        ),
        None,
    )
    if not found:
        raise NotTried("no other library")
    shutil.copy(found, place.folder / "other.so")
    return place.run(*run("circle.toml", "--plugin", "other.so", out="new"))


# ---- the table -----------------------------------------------------------------------------------

NO_DISPLAY = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "XDG_RUNTIME_DIR": ""}
M = Mistake
MISTAKES = [
    M(
        "1",
        "typo in a key of a robot",
        2,
        (r"arm\.toml:4", "section 1", "bend_limt", "must be one of.*bend_limit"),
        run(),
        edited("arm.toml", "bend_limit", "bend_limt"),
    ),
    M(
        "2",
        "negative length",
        2,
        (r"arm\.toml:3", "constant_length", r"= -0\.1", r"must be in \[0|must be in \(0"),
        run(),
        edited("arm.toml", "= 0.1", "= -0.1"),
    ),
    M(
        "3",
        "100 (mm) for 0.1 m",
        0,
        (r"arm\.toml", "section 1|length", "100", "m"),
        run("arm.toml", out="new"),
        {"arm.toml": ARM.replace("= 0.1", "= 100")},
    ),
    M(
        "4",
        "degrees for rad",
        2,
        (r"arm\.toml:4", "bend_limit", "= 120", r"must be in \(0, 2 pi\]"),
        run(),
        edited("arm.toml", "= 1.5", "= 120"),
    ),
    M("5", "missing file", 2, (r"nothere\.toml", "", "", "No such file"), run("nothere.toml")),
    M(
        "6",
        "scene names a robot file that is missing",
        2,
        (r"scene\.xml:4", "model", r"arn\.toml", "No such file"),
        run(),
        edited("scene.xml", "arm.toml", "arn.toml"),
    ),
    M(
        "7",
        "typo in a metric",
        2,
        (r"circle\.toml:4", "metric", "tpi_error_end", "reports.*but.*tip_error"),
        run(),
        edited("circle.toml", "tip_error_end", "tpi_error_end"),
    ),
    M(
        "8",
        "typo in the body of a motion",
        2,
        (r"circle\.toml:\d", "body", "= traget", "it has target"),
        run(),
        edited("circle.toml", '"target"', '"traget"'),
    ),
    M(
        "9",
        "typo in a key of [vary]",
        2,
        (r"circle\.toml:12", "vary|section", "stifness", "must be one of|has:"),
        run(),
        {
            "circle.toml": BASE["circle.toml"]
            + '[vary]\n"robot.section.*.bending_stifness" = { uniform = [0.1, 0.2] }\n'
        },
    ),
    M(
        "10",
        "section 7 of 2",
        2,
        ("circle|--set|arm", "section", "7", r"\[1, 2\]"),
        run("circle.toml", "--set", "robot.section.7.bend_limit=1"),
    ),
    M(
        "11",
        "target out of reach",
        1,
        (r"scene\.xml|A_base", "target target", r"0\.6 m from", r"the arm reaches 0\.2 m"),
        run(out="new"),
        {"scene.xml": SCENE.format(option=OPTION).replace("0.03 0 0.18", "0.6 0 0"), "circle.toml": EXPERIMENT},
    ),
    M(
        "12",
        "`run` of a recording",
        2,
        (r"rollout\.h5: is a recording", "", "", "tendril run takes"),
        run("out/rollout.h5"),
    ),
    M(
        "13",
        "`view` of a table",
        2,
        (r"targets\.csv: is a table", "", "", "tendril view takes.*recording"),
        ("view", "targets.csv"),
    ),
    M(
        "14",
        "`model` of a scene",
        2,
        (r"scene\.xml: is a scene", "", "", "tendril model takes.*robot"),
        ("model", "scene.xml"),
    ),
    M(
        "15",
        "`plan` of a robot",
        2,
        (r"arm\.toml: is a robot file", "", "", "tendril plan takes.*plan"),
        ("plan", "arm.toml"),
    ),
    M(
        "16",
        "`run` of a plan",
        2,
        (r"plan\.toml: is a plan file", "", "", "tendril run takes.*experiment"),
        run("plan.toml"),
    ),
    M(
        "17",
        "`run` of a tube",
        2,
        (r"tube\.toml: is a tube", "", "", "tendril run takes.*experiment"),
        run("tube.toml"),
    ),
    M(
        "18",
        "results into a place that is not writable",
        4,
        ("/proc/none", "", "", "must be a writable folder"),
        run(out="/proc/none"),
    ),
    M(
        "18",
        "results into a file",
        2,  # one that the scene names
        (r"arm\.toml", "", "", "must be another file"),
        arguments=run(out="arm.toml"),
    ),
    M(
        "19",
        "typo in `--controller`",
        2,
        ("", "controller", r"tendril\.raech", r"must be.*tendril\.reach"),
        run("circle.toml", "--controller", "tendril.raech"),
    ),
    M(
        "20",
        "`--plugin` of a file that is missing",
        2,
        (r"none\.so", "--plugin", "", "must be a plugin library"),
        run("circle.toml", "--plugin", "none.so"),
    ),
    M(
        "20",
        "`--plugin` of a text",
        2,
        (r"text\.so", "", "", r"invalid ELF|too short|must be"),
        run("circle.toml", "--plugin", "text.so"),
        {"text.so": "x"},
    ),
    M(
        "20",
        "`--plugin` of a foreign library",
        0,
        (r"other\.so", "--plugin", "", "registers no plugin"),
        act=foreign_library,
    ),
    M(
        "21",
        "`--plugin` forgotten",
        2,
        (r"arm\.toml:\d+", "plugin", r"my\.own", r"--plugin FILE\.so"),
        run(),
        edited("arm.toml", "tendril.reach", "my.own"),
    ),
    M(
        "22",
        "two arms with one prefix",
        2,
        (r"scene\.xml|line \d+", "prefix", "A_", "already exists|repeated"),
        run(),
        edited(
            "scene.xml",
            '<attach model="arm" body="base" prefix="A_"/>',
            '<attach model="arm" body="base" prefix="A_"/><attach model="arm" body="base" prefix="A_"/>',
        ),
    ),
    M(
        "23",
        "NaN in a table of targets",
        2,
        (r"targets\.csv: row 3", "column x", '"nan"', "must be a finite number"),
        ("ik", "arm.toml", "targets.csv", "-o", "states.csv"),
        {"targets.csv": "x,y,z\n0.03,0,0.18\nnan,0,0.1\n"},
    ),
    M(
        "23",
        "empty cell",
        2,
        (r"targets\.csv: row 2", "column x", '""|empty', "must be a finite number"),
        ("ik", "arm.toml", "targets.csv", "-o", "states.csv"),
        {"targets.csv": "x,y,z\n,0,0.18\n"},
    ),
    M(
        "24",
        "wrong header",
        2,
        (r"targets\.csv", "column", '"u"', "must name the columns x,y,z"),
        ("ik", "arm.toml", "targets.csv"),
        {"targets.csv": "u,v,w\n0,0,0.18\n"},
    ),
    M(
        "24",
        "no header",
        2,
        (r"targets\.csv", "column", '"0.03"', "must name the columns x,y,z"),
        ("ik", "arm.toml", "targets.csv"),
        {"targets.csv": "0.03,0,0.18\n"},
    ),
    M(
        "24",
        "semicolons",
        2,
        (r"targets\.csv", "column", "x;y;z", "must name the columns x,y,z"),
        ("ik", "arm.toml", "targets.csv"),
        {"targets.csv": "x;y;z\n0;0;0.18\n"},
    ),
    M(
        "24",
        "decimal commas",
        2,
        (r"targets\.csv: row 2", "", "", "must have|columns|fields|values"),
        ("ik", "arm.toml", "targets.csv"),
        {"targets.csv": "x,y,z\n0,03,0,0,0,18\n"},
    ),
    M(
        "24d",
        "a table from a spreadsheet (byte order mark, CRLF)",
        0,
        ("", "", "", "1 of 1|x,y,z|theta_1"),
        ("ik", "arm.toml", "targets.csv"),
        {"targets.csv": "\ufeffx,y,z\r\n0.03,0,0.18\r\n"},
    ),
    M(
        "24e",
        "targets in mm",
        0,
        ("0 of 1 rows", "target", "182 m", r"the arm reaches 0\.2 m: are the targets in m\?"),
        ("ik", "arm.toml", "targets.csv", "-o", "new.csv"),
        {"targets.csv": "x,y,z\n30,0,180\n"},
    ),
    M(
        "25",
        "empty table",
        2,
        (r"targets\.csv", "", "is empty", "must begin with"),
        ("ik", "arm.toml", "targets.csv"),
        {"targets.csv": ""},
    ),
    M("25", "empty experiment", 2, (r"circle\.toml", "scene", "", "missing"), run(), {"circle.toml": ""}),
    M("25", "empty scene", 2, (r"scene\.xml", "", "", "empty|no root|XML"), run("scene.xml"), {"scene.xml": ""}),
    M(
        "25",
        "empty recording",
        2,
        (r"empty\.h5", "", "", "not a recording|no HDF5|empty|must be"),
        ("rollout", "info", "empty.h5"),
        {"empty.h5": ""},
    ),
    M(
        "25e",
        "recording that is cut off",
        2,
        (r"cut/rollout\.h5", "", "truncated|damaged", "tendril rollout recover"),
        act=truncated,
    ),
    M(
        "26",
        "duration of 1e9 s",
        2,
        (r"circle\.toml:2", "duration", "= 1e\\+?09|1e9|1000000000", r"\(0, 1e6\]"),
        run(),
        edited("circle.toml", "0.02", "1e9"),
    ),
    M(
        "26",
        "100000 links",
        2,
        (r"arm\.toml:5", "links", "= 100000", r"must be an integer in \[1, 200\]"),
        run(),
        edited("arm.toml", "links = 4", "links = 100000"),
    ),
    M(
        "27",
        "scene without <option>",
        3,
        (r"scene\.xml", "integrator = Euler", "", "needs discrete or implicitfast; add"),
        run(out="new"),
        {"scene.xml": SCENE.format(option="")},
    ),
    M("28", "spaces and accents in names, with a video", 0, ("déjà vu", "", "", r"video\.mp4|identical"), act=accents),
    M("29", "from another folder", 0, ("new/", "", "", r"summary\.json"), act=elsewhere),
    M(
        "30",
        "no display",
        4,
        ("", "DISPLAY|display", "", "ssh -X.*(tendril render|--video)|--video"),
        ("view", "scene.xml"),
        settings=NO_DISPLAY,
    ),
    M("31", "seed -1", 2, ("", "--seed", "-1", "integer in"), run("circle.toml", "--seed=-1")),
    M("31", "seed abc", 2, ("", "--seed", "abc", "integer in"), run("circle.toml", "--seed", "abc")),
    M("32", "typo in `--set`", 2, ("", "--set", "optoin", "option"), run("circle.toml", "--set", "optoin.timestep=1")),
    M(
        "32",
        "`--set` without a value",
        2,
        ("", "--set", r"option\.timestep", "key=value"),
        run("circle.toml", "--set", "option.timestep"),
    ),
    M(
        "32",
        "timestep 0",
        2,
        ("", r"option\.timestep", "0", "must be"),
        run("circle.toml", "--set", "option.timestep=0"),
    ),
    M(
        "32d",
        "timestep of 1 s",
        1,
        (r"scene\.xml", "timestep", "= 1 s", "needs at most .* s"),
        run("circle.toml", "--set", "option.timestep=1", "--duration", "5", out="new"),
    ),
    M(
        "33",
        "typo in [controller]",
        2,
        (r"arm\.toml:13", "controller", "gian", "tendril.reach has: .*gain"),
        run(),
        {"arm.toml": ARM + CONTROLLER + "gian = 1\n"},
    ),
    M(
        "33",
        "typo in `--set controller.`",
        2,
        ("--set", "controller", "gian", "tendril.reach has: .*gain"),
        run("circle.toml", "--set", "controller.gian=1"),
    ),
    M(
        "34",
        "stiffness of 1e6 N m^2",
        1,
        (r"arm\.toml", "section 1: bending_stiffness", r"= 1e\+06 N m", r"is the unit N m\^2"),
        run("circle.toml", "--set", "robot.section.*.bending_stiffness=1e6", "--duration", "0.5", out="new"),
        edited("circle.toml", "max = 1", "max = 0.001"),
    ),
    M(
        "34",
        "stiffness of 1e-9 N m^2",
        3,
        (r"arm\.toml", "section 1: bending_stiffness", "1e-09", r"is the unit N m\^2"),
        run("circle.toml", "--set", "robot.section.*.bending_stiffness=1e-9", "--duration", "1", out="new"),
    ),
    M(
        "34",
        "mass of 1000 kg",
        0,
        (r"arm\.toml", "section 1: mass", "= 1000 kg", "are the units kg and m"),
        run("circle.toml", "--set", "robot.section.*.mass=1000", out="new"),
    ),
    M(
        "35",
        "bad TOML",
        2,
        (r"arm\.toml:1:8", "", "", "text must be in quotes"),
        run(),
        {"arm.toml": "kind = continuum\n"},
    ),
    M(
        "35",
        "bad XML",
        2,
        (r"scene\.xml:2", "worldbody", "", "mismatched element"),
        run("scene.xml"),
        {"scene.xml": "<mujoco>\n<worldbody>\n</mujoco>\n"},
    ),
    M(
        "36",
        "body of the target is missing",
        2,
        (r"scene\.xml", "target", "target", "must be|no such"),
        run(),
        edited("scene.xml", '<body name="target" mocap="true" pos="0.03 0 0.18"/>', ""),
    ),
    M(
        "36",
        "mocap forgotten",
        2,
        (r"scene\.xml|circle\.toml", "target", "target", "mocap"),
        run(),
        edited("scene.xml", ' mocap="true"', ""),
    ),
    M(
        "37",
        "`follow` on an arm without feed",
        2,
        (r"arm\.toml", r"base\.feed", "= 0", "must be > 0"),
        run("arm.toml"),
        {"arm.toml": FED.replace("[base]\nfeed = 0.05\n", "")},
    ),
    M(
        "38",
        "typo in a keyframe",
        2,
        (r"circle\.toml:3", "keyframe", "= hmoe", "it has home"),
        run(),
        edited("circle.toml", "0.02\n", '0.02\nkeyframe = "hmoe"\n'),
    ),
    M(
        "38",
        "typo in a camera",
        2,
        ("", "--camera", "fornt", "it has front"),
        ("run", "circle.toml", "--camera", "fornt", "--out", "out"),
    ),
    M(
        "39",
        "window of a check after the end",
        2,
        (r"circle\.toml:\d+", "after", "= 20", "run ends at.*begins at 20 s"),
        run(),
        {"circle.toml": EXPERIMENT + CHECK + "after = 20\n"},
    ),
    M("40", "Ctrl-C in the run", 130, ("", "", "", "interrupted at step"), act=broken_off(signal.SIGINT)),
    M(
        "41",
        "Ctrl-C while the video is made",
        130,
        (r"video\.mp4", "", "", "interrupted after the run: its recording is whole"),
        act=interrupted_video,
    ),
    M("42", "kill -9", -9, ("", "", "", "not finished|killed"), act=broken_off(signal.SIGKILL)),
    M("43", "the same `--out` twice", 0, ("twice", "", "", "replace"), act=same_folder_twice),
    M(
        "44",
        "two runs into one folder",
        4,
        ("long", "", "", "another run writes its results here: choose another folder with --out"),
        act=two_runs_at_once,
    ),
    M("45", "disk full (a limit of the file's size)", 4, (r"rollout\.h5", "", "File too large", "writ"), act=disk_full),
    M("46", "no ffmpeg", 4, ("video", "ffmpeg", "", "install"), act=without_ffmpeg),
    M(
        "46",
        "no Python",
        4,
        ("report", "python", "", "install"),
        ("run", "circle.toml", "--out", "new"),
        settings={"TENDRIL_PYTHON": "/nonexistent/python"},
    ),
    M("46", "Python without h5py", 4, ("report", "h5py", "", "install"), act=without_h5py),
    M(
        "47",
        "screenshot into a folder that is missing",
        4,
        (r"nodir/x\.png", "--screenshot", "", "folder"),
        ("view", "scene.xml", "--screenshot", "nodir/x.png"),
        settings=NO_DISPLAY,
    ),
    M(
        "48",
        "`fk` of the targets of `ik`",
        2,
        (r"targets\.csv", "column", '"x"', "theta_1"),
        ("fk", "arm.toml", "targets.csv"),
    ),
    M(
        "48",
        "typo in `--solver`",
        2,
        ("", "solver", "fabrick", "must be one of.*fabrikx"),
        ("ik", "arm.toml", "targets.csv", "--solver", "fabrick"),
    ),
    M(
        "48",
        "`ik` of a snake",
        2,
        (r"arm\.toml", "", "is a snake", "take continuum and mobile robots"),
        ("ik", "arm.toml", "targets.csv"),
        {"arm.toml": SNAKE},
    ),
    M(
        "48",
        "typo in `kind`",
        2,
        (r"arm\.toml:1", "kind", "contnuum", "must be"),
        run(),
        edited("arm.toml", "continuum", "contnuum"),
    ),
    M(
        "48",
        "a text for a number",
        2,
        (r"arm\.toml:5", "links", '"?four', "must be|integer"),
        run(),
        edited("arm.toml", "links = 4", 'links = "four"'),
    ),
    M(
        "48",
        "nan in a robot file",
        2,
        (r"arm\.toml:3", "constant_length", "nan", "must be"),
        run(),
        edited("arm.toml", "= 0.1", "= nan"),
    ),
    M(
        "48",
        "low > high in [vary]",
        2,
        (r"circle\.toml:12", r"option\.timestep", "0.004|uniform", "low|<|at most|>= "),
        run(),
        {"circle.toml": BASE["circle.toml"] + '[vary]\n"option.timestep" = { uniform = [0.004, 0.002] }\n'},
    ),
    M(
        "48",
        "typo in `uniform`",
        2,
        (r"circle\.toml:12", r"option\.timestep", "unifrom", "uniform"),
        run(),
        {"circle.toml": BASE["circle.toml"] + '[vary]\n"option.timestep" = { unifrom = [0.002, 0.004] }\n'},
    ),
    M("48", "a folder for a file", 2, ("out", "", "is a folder", "must be"), run("out")),
    M(
        "48",
        "the ending .tml",
        2,
        (r"circle\.tml", "", r"\.tml", "must be an experiment"),
        run("circle.tml"),
        {"circle.tml": "x"},
    ),
    M(
        "49",
        "plan: goal inside an obstacle",
        0,
        ("obstacle 0", "waypoint 1", r"\(0\.05, 0, 0\.18\)", "target_in_obstacle"),
        ("plan", "plan.toml"),
        {"plan.toml": PLAN + "[[obstacle]]\nsphere = { center = [0.05, 0, 0.18], radius = 0.03 }\n"},
    ),
    M(
        "49",
        "plan: goal out of reach",
        0,
        ("", "waypoint 1", r"\(0\.5, 0, 0\.18\)", "out_of_reach|unreachable|not_reached"),
        ("plan", "plan.toml"),
        {"plan.toml": 'robot = "arm.toml"\nwaypoints = [[0.5, 0, 0.18]]\n'},
    ),
    M(
        "49",
        "ik: no row reached",
        0,
        (r"", "0 of 1", "", "reached|converged|no "),
        ("ik", "arm.toml", "targets.csv", "-o", "new.csv"),
        {"targets.csv": "x,y,z\n0.3,0,0.1\n"},
    ),
    M("50", "a second copy of the plugin in Python", 0, ("", "", "", "works"), act=second_copy),
    M(
        "51",
        "replay of a recording with a custom controller, `--plugin` forgotten",
        2,
        (r"rollout\.h5", "plugin", r"test\.failing", r"--plugin"),
        act=forgotten_library("rollout", "replay", "own/rollout.h5"),
    ),
    M(
        "51",
        "the same, `render`",
        2,
        (r"rollout\.h5", "plugin", r"test\.failing", r"--plugin"),
        act=forgotten_library("render", "own/rollout.h5", "-o", "x.png"),
    ),
    M(
        "52",
        "own controller throws",
        1,
        (r"scene\.xml: A", "", "controller fault", r"at t = 0\.1 s"),
        act=failing("exception"),
    ),
    M(
        "52",
        "own controller commands NaN",
        1,
        (r"scene\.xml: A", "", "controller fault", r"at t = 0\.1 s"),
        act=failing("nan"),
    ),
]
