"""6. Hostile files stay data."""

import json
import os
import shutil
import struct
import subprocess
import time

from promises_rows.place import (
    SLOW,
    TIP,
    Broken,
    NotTried,
    arm,
    check,
    each,
    experiment,
    file_limit,
    harmless,
    refused,
    require,
    row,
    says,
    scene,
    sound,
)

READERS = {
    "info": ("tendril", ["rollout", "info", "f.h5"]),
    "verify": ("tendril", ["rollout", "verify", "f.h5"]),
    "replay": ("tendril", ["rollout", "replay", "f.h5", "--quiet"]),
    "recover": ("tendril", ["rollout", "recover", "f.h5", "o.h5"]),
    "render": ("tendril", ["render", "f.h5", "-o", "o.png"]),
    "play": ("package", ["play", "f.h5", "-o", "o.html"]),
    "csv": ("package", ["export", "f.h5", "--to", "csv", "-o", "o.csv"]),
    "robomimic": ("package", ["export", "f.h5", "--to", "robomimic", "-o", "o.hdf5"]),
    "compare": ("package", ["compare", "f.h5", "r.h5", "-o", "o.html"]),
}
IN_PYTHON = ("play", "csv", "compare")


def read_by(place, name, patience=5):
    door, words = READERS[name]
    return getattr(place, door)(*words, patience=patience)


def graceful(answer, name):
    """As a damaged file may: it is read, or one line and exit code 2; in SLOW seconds."""
    sound(answer)
    if answer.cost > SLOW:
        raise Broken(f"{answer.cost:.1f} s of processor time")
    if answer.code not in (0, 1, 2):
        raise Broken(answer.seen())
    if answer.code == 2 and len([s for s in answer.lines() if "notice" not in s]) != 1:
        raise Broken(f"{len(answer.lines())} lines: {answer.lines()[0]}")
    return f"exit {answer.code}"


# ---- damaged recordings -----------------------------------------------------------------------


def superblock_row(name):
    @row(f"H-superblock-{name}", 6, f"a flipped bit in the superblock: {name} ends in one line")
    def show(place):
        place.recording()
        whole = place.read("r.h5")

        def flipped(place_of_bit):
            byte, bit = place_of_bit
            data = bytearray(whole)
            data[byte] ^= 1 << bit
            place.put("f.h5", bytes(data))
            return graceful(read_by(place, name), name)

        spots = [(0, 3), (9, 0), (12, 2), (28, 3), (44, 6)]
        return each({f"byte {byte}": (byte, bit) for byte, bit in spots}, flipped)


for _name in ("play", "csv", "compare", "info", "replay"):
    superblock_row(_name)


@row("H-superblock-python", 6, "a flipped bit in the superblock: td.Recording raises within 2 s")
def superblock_python(place):
    place.recording()
    data = bytearray(place.read("r.h5"))
    data[12] ^= 4
    place.put("f.h5", bytes(data))
    answer = place.python(
        "try: td.Recording('f.h5')\nexcept td.RecordingError as e: print('refused', e)\n", patience=20
    )
    sound(answer)
    return require("refused" in answer.out and answer.cost < SLOW, f"{answer.cost:.1f} s, {answer.seen()}")


@row("H-object-header", 6, "flipped bits in object headers and blocks: every command in Python ends in one line")
def object_headers(place):
    place.recording()
    whole = place.read("r.h5")

    def flipped(byte):
        data = bytearray(whole)
        data[byte] ^= 0x10
        place.put("f.h5", bytes(data))
        return graceful(read_by(place, "play"), "play")

    return each({f"byte {b}": b for b in (60, 100, 150, 200, 300, 400, 600, 900, len(whole) // 2)}, flipped)


@row("H-cut", 6, "a recording cut at ten places is read up to there or refused in one line")
def cut(place):
    place.recording()
    whole = place.read("r.h5")

    def cut_at(part):
        place.put("f.h5", whole[: len(whole) * part // 11])
        return graceful(read_by(place, "csv"), "csv")

    return each({f"{part}/11": part for part in range(0, 11, 2)}, cut_at)


# ---- models in recordings ---------------------------------------------------------------------

INDICES = """
import h5py, os, sys
sys.path.insert(0, '.')
model = td.Recording('r.h5').model
names = [n for n in dir(model) if not n.startswith('_') and isinstance(getattr(model, n), np.ndarray)
         and getattr(model, n).dtype == np.int32 and getattr(model, n).size]
import shutil
for name in names:
    array = getattr(model, name).reshape(-1)
    for label, value in (('big', 10**6), ('neg', -7)):
        keep = array[-1]
        array[-1] = value
        mujoco.mj_saveModel(model, 'x.mjb', None)
        array[-1] = keep
        data = open('x.mjb', 'rb').read()
        shutil.copy('r.h5', f'{name}.{label}.h5')
        with h5py.File(f'{name}.{label}.h5', 'r+') as f:
            g = f['rollout_0']
            del g['model_mjb']
            g.create_dataset('model_mjb', data=np.frombuffer(data, np.uint8), chunks=(len(data),), compression='gzip')
print(len(names))
"""


def indices_row(name, slow):
    @row(
        f"H-index-{name}",
        6,
        f"every array of integers of the model in a recording with one out of range: {name}",
        slow=slow,
    )
    def show(place):
        place.recording()
        made = place.python(INDICES)
        if made.code != 0:
            raise NotTried(made.seen())
        wrong, files = [], sorted(place.folder.glob("*.*.h5"))
        for file in files:
            shutil.copy(file, place.folder / "f.h5")
            answer = read_by(place, name)
            if answer.code < 0 or answer.code in (124, 134, 139) or "Traceback" in answer.text:
                wrong.append(file.name[:-3])
        return require(not wrong, f"{len(wrong)} of {len(files)}: {', '.join(wrong[:8])}", f"{len(files)} models")


indices_row("replay", False)
indices_row("play", True)
indices_row("render", True)


@row("H-index-python", 6, "td.Recording(…).model of a model out of range raises")
def index_python(place):
    place.recording()
    made = place.python(INDICES)
    if made.code != 0:
        raise NotTried(made.seen())
    code = (
        "import sys\ntry:\n    r = td.Recording(sys.argv[1]); r.seek(3); print('read')\n"
        "except Exception as e: print('refused', e)\n"
    )

    def show(name):
        answer = place.python(code, f"{name}.big.h5")
        sound(answer)
        return "ok"

    return each({n: n for n in ("dof_treeid", "body_treeid", "geom_bodyid", "jnt_bodyid", "sensor_objid")}, show)


# ---- hostile texts ----------------------------------------------------------------------------

MAKE = """
import h5py, json, shutil, sys
key, kind = sys.argv[1], sys.argv[2]
shutil.copy('r.h5', 'f.h5')
with h5py.File('f.h5', 'r+') as f:
    g = f['rollout_0']
    if kind == 'attribute':
        g.attrs[key] = eval(open('text').read())
    elif kind == 'rows':
        g[key][...] = eval(open('text').read())
    else:
        text = open('text', 'rb').read()
        if kind == 'sensor':
            table = json.loads(g['texts/sensors'][0])
            table[2].update(json.loads(text))
            text = json.dumps(table).encode()
        if f'texts/{key}' in g: del g[f'texts/{key}']
        g['texts'].create_dataset(key, data=np.array([text], dtype=f'S{max(len(text), 1)}'))
"""
TEXTS = {
    "dimension 1e9": ("sensors", "sensor", '{"dimension": 1000000000}'),
    "dimension -1": ("sensors", "sensor", '{"dimension": -1}'),
    "dimension 0.5": ("sensors", "sensor", '{"dimension": 0.5}'),
    "dimension true": ("sensors", "sensor", '{"dimension": true}'),
    "address 1e9": ("sensors", "sensor", '{"address": 1000000000}'),
    "address -5": ("sensors", "sensor", '{"address": -5}'),
    "address text": ("sensors", "sensor", '{"address": "x"}'),
    "name number": ("sensors", "sensor", '{"name": 5}'),
    "name path": ("sensors", "sensor", '{"name": "../../x"}'),
    "not JSON": ("sensors", "text", "{{{"),
    "null": ("sensors", "text", "null"),
    "list of numbers": ("sensors", "text", "[1, 2]"),
    "deep": ("sensors", "text", "[" * 200000),
    "no keys": ("sensors", "text", '[{"name": "a"}]'),
    "infinite": ("sensors", "text", '[{"name": "a", "address": 1e999, "dimension": 1}]'),
    "huge integer": ("sensors", "text", '[{"name": "a", "address": 1' + "0" * 5000 + ', "dimension": 1}]'),
    "bodies": ("bodies", "text", '[{"name":"a","parent":99999}]'),
    "geoms": ("geoms", "text", '[{"name":"a","body":-1,"robot":"x"}]'),
    "geoms deep": ("geoms", "text", '{"a":' * 100000),
    "joints": ("joints", "text", '[{"name":"a","type":"free","qpos_address":9999,"dof_address":-9}]'),
    "actuators": ("actuators", "text", '[{"name":"a","address":77777,"dimension":3}]'),
    "faults": ("faults", "text", "[[["),
    "faults deep": ("faults", "text", "a" + ".a" * 60000 + "=1"),
    "faults deep arrays": ("faults", "text", "a = " + "[" * 60000),
    "faults kind": ("faults", "text", 'fault = [{kind = "payload", name = "x", body = "*", mass = 1e300}]'),
    "settings": ("settings", "text", "{"),
    "settings deep": ("settings", "text", "[" * 100000),
    "plugins": ("plugins", "text", "a " * 10000),
    "name": ("experiment_name", "text", "../../x"),
    "experiment deep": ("experiment", "text", "a = " + "{a = " * 50000),
    "xml": ("model_xml", "text", "<mujoco>" * 100000),
    "not UTF-8": ("experiment_name", "text", b"\xff\xfe\x00abc"),
    "timestep 0": ("timestep", "attribute", "0.0"),
    "timestep nan": ("timestep", "attribute", "float('nan')"),
    "timestep tiny": ("timestep", "attribute", "1e-300"),
    "timestep text": ("timestep", "attribute", "'x'"),
    "seed": ("seed", "attribute", "-5"),
    "format": ("format_version", "attribute", "2**40"),
    "rows": ("rows", "rows", "2**62"),
    "rows negative": ("rows", "rows", "-3"),
}


def texts_row(name, slow=False):
    @row(
        f"H-text-{name}",
        6,
        f"{len(TEXTS)} hostile texts and numbers in a recording: {name} ends in 2 s, no stack trace",
        slow=slow,
    )
    def show(place):
        place.recording()

        def hostile(case):
            key, kind, text = case
            place.put("text", text)
            made = place.python(MAKE, key, kind)
            if made.code != 0:
                raise Broken(f"row: {made.seen()}")
            return graceful(read_by(place, name), name)

        return each(TEXTS, hostile)


texts_row("csv")
texts_row("play")
texts_row("info", True)
texts_row("replay", True)
texts_row("robomimic", True)
texts_row("compare", True)


# ---- terminal and pages -----------------------------------------------------------------------

TITLE = "\\u001b]0;owned\\u0007\\u001b[2Jx\\u009b31m\\u202e"
HTML = "<img src=x onerror=document.title='X'>"


def clean(answer):
    """No escape sequence reaches the terminal."""
    sound(answer)
    wrong = sorted(
        {
            f"U+{ord(c):04X}"
            for c in answer.text
            if (ord(c) < 32 and c not in "\n\t\r") or 127 <= ord(c) < 160 or c == "\u202e"
        }
    )
    return require(not wrong, f"{', '.join(wrong)} on the terminal", "clean")


def named_check(place):
    text = f'[[check]]\nname = "{TITLE}"\nmetric = "tip_error_end"\nmax = 1\n'
    place.scene(e_toml='name = "n"\n' * 0 + experiment(text, duration=0.05))


@row("H-escape-run", 6, "escape sequences in the name of a check do not reach the terminal: run")
def escape_run(place):
    named_check(place)
    return clean(place.run())


@row("H-escape-info", 6, "the same: rollout info of the recording")
def escape_info(place):
    named_check(place)
    sound(place.run("e.toml", "--out", "d"))
    return clean(place.tendril("rollout", "info", "d/rollout.h5"))


@row("H-escape-sweep", 6, "the same: sweep")
def escape_sweep(place):
    named_check(place)
    return clean(place.package("sweep", "e.toml", "--seeds", "2", "--out", "s", "--no-report"))


@row("H-escape-errors", 6, "the same: messages that repeat what a file says (wrong metric, body, key)")
def escape_errors(place):
    cases = {
        "metric": experiment(f'[[check]]\nmetric = "{TITLE}_end"\nmax = 1\n'),
        "body": experiment(f'[[motion]]\nbody = "{TITLE}"\nkind = "circle"\nradius = 1\nspeed = 1\n'),
        "keyframe": experiment(head=f'keyframe = "{TITLE}"\n'),
        "key": experiment(f'"{TITLE}" = 1\n' * 0 + TIP, head=f'"{TITLE}" = 1\n'),
        "setting": experiment(TIP, f'[set]\n"robot.{TITLE}" = 1\n'),
        "scene": experiment(TIP, scene=TITLE + ".xml"),
    }

    def show(text):
        place.scene(e_toml=text)
        return clean(place.run())

    return each(cases, show)


@row("H-escape-names", 6, "the same: names of bodies and robots in MJCF")
def escape_names(place):
    # XML has no ESC; C1 controls and the override of direction are allowed in it.
    place.scene(
        scene_xml=scene(
            before='<geom name="&#x9b;31m&#x202e;wall" type="box" size="0.02 0.1 0.1" pos="0.04 0 0.15"/>',
            target="0.1 0 0.12",
        )
    )
    return clean(place.run("scene.xml", "--duration", "0.5"))


@row("H-escape-file", 6, "the same: a file's name in a message")
def escape_file(place):
    name = "\x1b]0;x\x07.toml"
    place.put(name, "x = [")
    return clean(place.run(name))


@row("H-escape-python", 6, "the same: sweep compares and exports what a recording says")
def escape_python(place):
    named_check(place)
    sound(place.run("e.toml", "--out", "d"))
    shutil.copy(place.folder / "d/rollout.h5", place.folder / "q.h5")
    return clean(place.package("compare", "d/rollout.h5", "q.h5", "-o", "c.html"))


def pages(place):
    """All kinds of pages of an experiment whose texts are HTML."""
    text = f'[[check]]\nname = "{HTML}"\nmetric = "tip_error_end"\nmax = 1\n[sweep]\nseeds = 2\nrecord = "all"\n'
    place.scene(e_toml=experiment(text, duration=0.05))
    sound(place.tendril("run", "e.toml", "--out", "d"))
    sound(place.package("play", "d/rollout.h5", "-o", "play.html"))
    sound(place.package("sweep", "e.toml", "--out", "s"))
    shutil.copy(place.folder / "d/rollout.h5", place.folder / "q.h5")
    sound(place.package("compare", "d/rollout.h5", "q.h5", "-o", "compare.html"))
    if (place.folder / "d").exists():
        (place.folder / "d" / f"snapshot_{HTML}.png").write_bytes(b"")
        sound(place.finish(place.start([place.interpreter, "-m", "tendril.report", "d"])))
    return {name: (place.folder / name) for name in ("d/report.html", "play.html", "s/report.html", "compare.html")}


@row("H-html", 6, "HTML in names of checks and of files is text on every page")
def html(place):
    def show(file):
        return require("<img src=x" not in file.read_text(), "a tag of the name is in the page", "escaped")

    return each(pages(place), show)


@row("H-policy", 6, "every page has a content policy")
def policy(place):
    def show(file):
        return require("Content-Security-Policy" in file.read_text(), "no content policy", "there")

    return each(pages(place), show)


# ---- other doors ------------------------------------------------------------------------------


@row("H-full-robomimic", 6, "export --to robomimic on a full disk: one line, no crash")
def full_robomimic(place):
    place.recording(2.0)

    def show(blocks):
        answer = place.package("export", "r.h5", "--to", "robomimic", "-o", "x.hdf5", before=file_limit(blocks))
        sound(answer)
        return require(answer.code in (0, 4) and len(answer.lines()) <= 2, answer.seen())

    return each({f"{b} kB": b for b in (1, 20, 100)}, show)


@row("H-full-others", 6, "run, play, export csv and npz on a full disk: one line, exit code 4")
def full_others(place):
    place.recording(1.0)
    cases = {
        "run": ("tendril", ["run", "e.toml", "--no-report", "--out", "w"]),
        "play": ("package", ["play", "r.h5", "-o", "x.html"]),
        "csv": ("package", ["export", "r.h5", "--to", "csv", "-o", "x.csv"]),
        "render": ("tendril", ["render", "r.h5", "-o", "x.png"]),
    }

    def show(case):
        door, words = case
        answer = getattr(place, door)(*words, before=file_limit(8))
        sound(answer)
        return require(answer.code == 4, answer.seen())

    return each(cases, show)


@row("H-doctor", 6, "doctor does not give the interpreter's path to a shell")
def doctor(place):
    answer = place.tendril("doctor", environment={"TENDRIL_PYTHON": "/x'; touch PWN; '"})
    sound(answer)
    return require(not (place.folder / "PWN").exists(), "PWN was made", "not made")


@row("H-doctor-path", 6, "doctor works with an interpreter below a folder with an apostrophe and a blank")
def doctor_path(place):
    folder = place.folder / "it's here"
    folder.mkdir()
    (folder / "python").symlink_to(place.interpreter)
    answer = place.tendril("doctor", environment={"TENDRIL_PYTHON": str(folder / "python")})
    sound(answer)
    return (
        require(says(answer, "ok +numpy|numpy"), answer.seen(), "found") if "Python" in answer.text else answer.seen()
    )


def special(place, name, make):
    file = place.folder / name
    make(file)
    return file


@row("H-special", 6, "a FIFO, a device, a folder for a recording, an experiment, a table: refused at once")
def special_files(place):
    place.scene()
    os.mkfifo(place.folder / "fifo.h5")
    os.mkfifo(place.folder / "fifo.toml")
    os.mkfifo(place.folder / "fifo.csv")
    os.mkfifo(place.folder / "fifo.py")
    cases = {
        "info": ("tendril", ["rollout", "info", "fifo.h5"]),
        "play": ("package", ["play", "fifo.h5", "-o", "x.html"]),
        "run": ("tendril", ["run", "fifo.toml"]),
        "sweep": ("package", ["sweep", "fifo.toml", "--out", "s"]),
        "ik": ("tendril", ["ik", "arm.toml", "fifo.csv", "-o", "x.csv"]),
        "identify": ("package", ["identify", "arm.toml", "fifo.csv", "--parameters", "section.1.mass"]),
        "python": ("package", ["run", "e.toml", "--no-report", "--python", "fifo.py"]),
        "zero": ("package", ["play", "/dev/zero", "-o", "x.html"]),
        "sweep zero": ("package", ["sweep", "/dev/zero", "--out", "s"]),
    }

    def show(case):
        door, words = case
        answer = getattr(place, door)(*words, patience=10)
        sound(answer)
        return require(answer.code == 2, answer.seen())

    return each(cases, show)


DEEP = {
    "robot": ("arm.toml", "a = " + "[" * 100000, "run"),
    "robot tables": ("arm.toml", "[" + "a." * 60000 + "a]\n", "run"),
    "experiment": ("e.toml", "a = " + "[" * 100000, "run"),
    "experiment keys": ("e.toml", "a" + ".a" * 60000 + " = 1\n", "run"),
    "scene": ("scene.xml", "<mujoco><worldbody>" + "<body>" * 50000, "run"),
    "scene closed": (
        "scene.xml",
        "<mujoco><worldbody>" + "<body>" * 20000 + "</body>" * 20000 + "</worldbody></mujoco>",
        "run",
    ),
    "sweep": ("e.toml", "a = " + "[" * 100000, "sweep"),
    "sweep keys": ("e.toml", "a" + ".a" * 60000 + " = 1\n", "sweep"),
    "sweep robot": ("arm.toml", "a = " + "[" * 100000, "sweep"),
    "identify": ("arm.toml", "a = " + "[" * 100000, "identify"),
    "environment": ("e.toml", "a = " + "[" * 100000, "python"),
}


@row("H-deep", 6, "texts of 100 000 levels in robot, experiment, scene files: one line, exit code 2, 2 s")
def deep(place):
    def show(case):
        name, text, door = case
        place.scene()
        place.put(name, text)
        place.put("p.csv", "time,x,y,z\n0,0,0,0.2\n")
        if door == "run":
            answer = place.run(patience=20)
        elif door == "sweep":
            answer = place.package("sweep", "e.toml", "--seeds", "1", "--out", "s", patience=20)
        elif door == "identify":
            answer = place.package("identify", "arm.toml", "p.csv", "--parameters", "section.1.mass", patience=20)
        else:
            answer = place.python("td.Experiment('e.toml')", patience=20)
            return require(answer.code == 1 and "ModelError" in answer.errors, answer.seen())
        return harmless(answer)

    return each(DEEP, show)


@row("H-identify", 6, "hostile tables of identify: one line, exit code 2, 2 s")
def identify_tables(place):
    place.put("arm.toml", arm(controller=""))
    cases = {
        "empty": "",
        "binary": bytes(range(256)) * 100,
        "one line": b"1," * 2_000_000,
        "no numbers": "time,x,y,z\na,b,c,d\n",
        "nan": "time,x,y,z\n" + "nan,nan,nan,nan\n" * 5,
        "huge": "time,x,y,z\n0,1e308,1e308,1e308\n1,1e308,1e308,1e308\n",
        "ragged": "time,x,y,z\n0,1\n0,1,2,3,4,5\n",
        "quotes": 'time,x,y,z\n"0,1,2,3\n',
    }

    def show(text):
        place.put("p.csv", text)
        answer = place.package(
            "identify", "arm.toml", "p.csv", "--parameters", "section.1.bending_stiffness", patience=20
        )
        return harmless(answer)

    return each(cases, show)


@row("H-config", 6, "a plugin configuration whose robot has other links than the model is refused")
def config(place):
    place.put("arm.toml", arm())
    text = place.tendril("model", "arm.toml").out
    text = text.replace("<worldbody>", '<worldbody><body name="target" mocap="true"/>', 1)
    place.put("m.xml", text.replace("links = 5", "links = 4").replace("links=5", "links=4"))
    answer = place.python(
        "try:\n    m = mujoco.MjModel.from_xml_path('m.xml'); d = mujoco.MjData(m)\n"
        "    [mujoco.mj_step(m, d) for _ in range(5)]; print('loaded')\nexcept Exception as e: print('refused', e)\n"
    )
    require("links = 4" in place.read("m.xml").decode() or "links=4" in place.read("m.xml").decode(), "row: no links")
    sound(answer)
    return require("refused" in answer.out, answer.seen())


# ---- Ray --------------------------------------------------------------------------------------


def ray_sweep(place, look):
    """What `look` sees while a sweep runs on its own cluster."""
    place.needs("ray")
    place.scene(e_toml=experiment(check("tip_error_end", max=1), duration=300))
    process = place.start(
        [
            place.interpreter,
            "-m",
            "tendril",
            "sweep",
            "e.toml",
            "--seeds",
            "2",
            "--engine",
            "ray",
            "--out",
            "s",
            "--quiet",
        ]
    )
    seen = None
    end = time.monotonic() + 60
    while seen is None and process.poll() is None and time.monotonic() < end:
        time.sleep(0.5)
        seen = look()
    process.terminate()
    place.finish(process)
    if seen is None:
        raise Broken("no cluster was seen within 60 s")
    return seen


@row("H-ray-loopback", 6, "the sweep's own Ray cluster listens on the loopback only", slow=True)
def ray_loopback(place):
    def look():
        text = subprocess.run(["ss", "-Htlnp"], capture_output=True, text=True, check=False).stdout
        lines = [s for s in text.splitlines() if "raylet" in s or "gcs_server" in s]
        return [s.split()[3] for s in lines] or None

    where = ray_sweep(place, look)
    wrong = [s for s in where if not s.startswith(("127.", "[::1]", "[::ffff:127."))]
    return require(not wrong, f"listens on {', '.join(wrong[:3])}", f"{len(where)} on the loopback")


@row("H-ray-folder", 6, "the folder of a Ray sweep's inputs is private", slow=True)
def ray_folder(place):
    def look():
        found = [p for p in place.temporary.glob("tendril-ray-*") if any(p.rglob("scene.xml"))]
        return oct(min(found, key=lambda p: p.stat().st_mtime).stat().st_mode & 0o777) if found else None

    place.temporary = type(place.folder)("/tmp")
    mode = ray_sweep(place, look)
    return require(mode == "0o700", f"mode {mode}")


@row("H-journal-json", 6, "a summary.json of 100 000 levels: the report says one line")
def deep_summary(place):
    place.scene()
    sound(place.run("e.toml", "--duration", "0.05", "--out", "d"))
    place.put("d/summary.json", "[" * 100000)
    answer = place.finish(place.start([place.interpreter, "-m", "tendril.report", "d"]))
    return harmless(answer)


@row("H-binary-stl", 6, "an STL that says it has 2^32 - 1 faces: one line")
def stl(place):
    place.put("big.stl", b"\0" * 80 + struct.pack("<I", 2**32 - 1) + b"\0" * 50)
    place.scene(
        scene_xml=scene(assets='<mesh name="m" file="big.stl"/>', bodies='<geom type="mesh" mesh="m" pos="1 0 0"/>')
    )
    return harmless(place.run())


@row("H-info-json", 6, "the name of a check is JSON in summary.json, whatever it is")
def summary_json(place):
    named_check(place)
    sound(place.run())
    json.dumps(place.summary())
    return "read"


@row("H-refused", 6, "no recording: play of a text says so")
def no_recording(place):
    place.put("f.h5", "text")
    return refused(place.package("play", "f.h5", "-o", "x.html"), "f.h5", "HDF5|recording")
