"""Mistakes with exports, pictures and commands."""

from mistakes_rows.place import Mistake

RECORDED = "kept/rollout.h5"


def recorded(place):
    place.run("run", "circle.toml", "--no-report", "--quiet", "--out", "kept")


def of_recording(id, name, code, says, *words, files=None, program=False):
    """A command that is given a recording of 10 steps."""

    def act(place):
        recorded(place)
        place.write(files or {})
        return place.run(*words) if program else place.package(*words)

    return Mistake(id, name, code, says, act=act)


def export(id, name, code, says, *words, files=None):
    return of_recording(id, name, code, says, "export", RECORDED, *words, files=files)


def over_an_existing_file(place):
    recorded(place)
    place.write({"x.csv": "my own numbers"})
    answer = place.package("export", RECORDED, "--to", "csv", "-o", "x.csv")
    if answer.code == 2 and "my own" not in (place.folder / "x.csv").read_text():
        answer.lost.append("x.csv")
    return answer


def sweep_without_recordings(place):
    place.package("sweep", "circle.toml", "--seeds", "1", "--no-report", "--out", "s", "--quiet")
    return place.package("export", "s", "--to", "csv", "-o", "new")


def minari(place):
    place.needs("minari")
    recorded(place)
    return place.package("export", RECORDED, "--to", "minari", "-o", "data")


NO_PYARROW = {"pyarrow.py": "raise ModuleNotFoundError(\"No module named 'pyarrow'\", name='pyarrow')\n"}
SIGNALS = "A_tip_error.*wall_force|wall_force.*A_tip_error"

MISTAKES = [
    export(
        "E1",
        "a format that does not exist",
        2,
        ("", "--to", "hdf5", "csv.*robomimic|robomimic.*csv"),
        "--to",
        "hdf5",
        "-o",
        "x.h5",
    ),
    export(
        "E2",
        "frames a second that are no part of the steps'",
        2,
        ("", "--fps", "60", r"must be 500 divided by a whole number, such as 62\.5"),
        "--to",
        "csv",
        "--fps",
        "60",
        "-o",
        "x.csv",
    ),
    export(
        "E3",
        "reward of a sensor with several numbers",
        2,
        ("", "--reward", "A_target", SIGNALS),
        *("--to", "robomimic", "--reward", "A_target", "-o", "x.hdf5"),
    ),
    export(
        "E4",
        "a negative reward without `=`",
        2,
        ("", "--reward", "", "--reward=-"),
        *("--to", "robomimic", "--reward", "-A_tip_error", "-o", "x.hdf5"),
    ),
    export(
        "E5",
        "observation without the arm's prefix",
        2,
        ("", "--observation", "tip_error", "A_tip_error"),
        *("--to", "robomimic", "--observation", "tip_error", "-o", "x.hdf5"),
    ),
    of_recording(
        "E6",
        "export of the folder of a run",
        2,
        ("kept", r"recording|sweep\.json", "", r"rollout\.h5"),
        *("export", "kept", "--to", "csv", "-o", "x.csv"),
    ),
    Mistake(
        "E7",
        "export of a sweep without recordings",
        2,
        ("s", "record", "", r'record = "all".*\[sweep\]'),
        act=sweep_without_recordings,
    ),
    Mistake(
        "E8",
        "export over a file that exists",
        2,
        (r"x\.csv", "", "", "replace|exists|overw|written"),
        act=over_an_existing_file,
    ),
    export("E9", "no `-o`", 2, ("", "-o", "", "required|missing"), "--to", "csv"),
    export(
        "E10",
        "LeRobot into a folder with a file",
        2,
        ("full", "", "not empty", "another -o"),
        *("--to", "lerobot", "-o", "full"),
        files={"full/mine.txt": "mine"},
    ),
    export(
        "E11",
        "no pyarrow",
        2,
        ("", "pyarrow", "", r"pip install .*(pyarrow|\.whl)"),
        *("--to", "parquet", "-o", "x.parquet"),
        files=NO_PYARROW,
    ),
    of_recording(
        "E12",
        "picture of a time after the end",
        2,
        ("", "--time", "", r"0 to 0\.02 s"),
        *("render", RECORDED, "--time", "99", "-o", "x.png"),
        program=True,
    ),
    of_recording(
        "E13",
        "film as .gif",
        2,
        (r"x\.gif", "-o", "", r"\.mp4 or \.png"),
        *("render", RECORDED, "-o", "x.gif"),
        program=True,
    ),
    of_recording(
        "E14", "playback of a scene", 2, (r"scene\.xml", "", "", "not a recording|recording"), "play", "scene.xml"
    ),
    of_recording(
        "E15",
        "run of a controller's file",
        2,
        (r"my\.py", "", "", r"must be an experiment \(\.toml\).*scene"),
        *("run", "my.py"),
        files={"my.py": "import tendril"},
        program=True,
    ),
    export("E16", "the order of the old `rollout export`", 2, (r"x\.csv", "--to", "", "-o"), "x.csv"),
    Mistake("E17", "Minari into a relative folder", 0, ("data", "", "", "MINARI_DATASETS_PATH"), act=minari),
]
