"""4. A sweep's result belongs to its inputs."""

import json
import os
import re
import shutil
import signal
import struct
import time
import zlib

from promises_rows.place import (
    FAR,
    REACH,
    TIP,
    Broken,
    arm,
    box,
    check,
    controller,
    experiment,
    passed,
    require,
    row,
    says,
    scene,
    sound,
)


def sweep(place, *words, name="e.toml", seeds="1", out="s", **options):
    return place.package("sweep", name, "--seeds", seeds, "--out", out, "--no-report", "--quiet", *words, **options)


def plan(place, out="s"):
    return json.loads(place.read(f"{out}/sweep.json"))


def digested(place, *names, **options):
    """All these files are in the digest of a sweep of e.toml."""
    answer = sweep(place, **options)
    sound(answer)
    if answer.code == 2:
        raise Broken(answer.seen())
    known = {os.path.normpath(name) for name in plan(place)["files"]}
    missing = [name for name in names if name not in known]
    return require(not missing, f"not in the digest: {', '.join(missing)}", ", ".join(names))


def png(width=4, height=4):
    """A gray image."""

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    rows = b"".join(b"\0" + bytes([16 * y + x for x in range(width)]) for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


SHORT = experiment(TIP, duration=0.02)
MESH_GEOM = '<geom type="mesh" mesh="wall" pos="0.5 0.5 0.1"/>'


def digest_row(key, what, make):
    @row(f"W-digest-{key}", 4, f"{what} is in the digest of a sweep")
    def show(place):
        place.scene(e_toml=SHORT)
        return digested(place, *make(place))


def own_meshdir(place):
    place.put("m/wall.obj", box(0.02))
    place.put(
        "scene.xml",
        scene(head='<compiler meshdir="m"/>', assets='<mesh name="wall" file="wall.obj"/>', bodies=MESH_GEOM),
    )
    return ["m/wall.obj"]


def meshdir_of_including(place):
    place.put("m/wall.obj", box(0.02))
    place.put("parts.xml", '<mujoco><asset><mesh name="wall" file="wall.obj"/></asset></mujoco>')
    place.put("scene.xml", scene(head='<compiler meshdir="m"/><include file="parts.xml"/>', bodies=MESH_GEOM))
    return ["m/wall.obj", "parts.xml"]


def included_below(place):
    place.put("m/wall.obj", box(0.02))
    place.put("parts/inner.xml", '<mujoco><asset><mesh name="wall" file="wall.obj"/></asset></mujoco>')
    place.put("parts/outer.xml", '<mujoco><include file="inner.xml"/></mujoco>')
    place.put("parts.xml", '<mujoco><include file="parts/inner.xml"/></mujoco>')
    place.put("scene.xml", scene(head='<compiler meshdir="m"/><include file="parts.xml"/>', bodies=MESH_GEOM))
    return ["m/wall.obj", "parts/inner.xml"]


def texture(place):
    place.put("t/wood.png", png())
    place.put("parts.xml", '<mujoco><asset><texture name="wood" type="2d" file="wood.png"/></asset></mujoco>')
    place.put("scene.xml", scene(head='<compiler texturedir="t"/><include file="parts.xml"/>'))
    return ["t/wood.png"]


def assetdir(place):
    place.put("a/wall.obj", box(0.02))
    place.put("a/wood.png", png())
    place.put(
        "parts.xml",
        '<mujoco><asset><mesh name="wall" file="wall.obj"/><texture name="w" type="2d" '
        'file="wood.png"/></asset></mujoco>',
    )
    place.put("scene.xml", scene(head='<compiler assetdir="a"/><include file="parts.xml"/>', bodies=MESH_GEOM))
    return ["a/wall.obj", "a/wood.png"]


def height_field(place):
    place.put("a/hills.png", png())
    place.put(
        "scene.xml",
        scene(
            head='<compiler assetdir="a"/><include file="parts.xml"/>',
            bodies='<geom type="hfield" hfield="hills" pos="3 0 -1"/>',
        ),
    )
    place.put("parts.xml", '<mujoco><asset><hfield name="hills" file="hills.png" size="1 1 0.1 0.1"/></asset></mujoco>')
    return ["a/hills.png"]


def sub_model(place):
    place.put("things/m/cube.obj", box(0.02))
    place.put(
        "things/thing.xml",
        '<mujoco><compiler meshdir="m"/><include file="part.xml"/><worldbody><body name="thing">'
        '<geom type="mesh" mesh="cube"/></body></worldbody></mujoco>',
    )
    place.put("things/part.xml", '<mujoco><asset><mesh name="cube" file="cube.obj"/></asset></mujoco>')
    place.put(
        "scene.xml",
        scene(
            assets='<model name="thing" file="things/thing.xml"/>',
            bodies='<frame pos="1 0 0"><attach model="thing" body="thing" prefix="t_"/></frame>',
        ),
    )
    return ["things/thing.xml", "things/m/cube.obj"]


def cube_texture(place):
    for name in "up", "down":
        place.put(f"t/{name}.png", png())
    place.put(
        "parts.xml",
        '<mujoco><asset><texture name="sky" type="cube" fileup="up.png" filedown="down.png"/></asset></mujoco>',
    )
    place.put("scene.xml", scene(head='<compiler texturedir="t"/><include file="parts.xml"/>'))
    return ["t/up.png", "t/down.png"]


def entity(place):
    place.put("wall.obj", box(0.02))
    place.put("scene.xml", scene(assets='<mesh name="wall" file="&#119;all.obj"/>', bodies=MESH_GEOM))
    return ["wall.obj"]


def two_folders(place):
    place.put("m/wall.obj", box(0.02))
    place.put(
        "m/scene.xml",
        scene(assets='<mesh name="wall" file="wall.obj"/>', bodies=MESH_GEOM).replace("arm.toml", "../arm.toml"),
    )
    place.put("e.toml", experiment(TIP, duration=0.02, scene="m/scene.xml"))
    return ["m/wall.obj", "m/scene.xml"]


for _key, _what, _make in (
    ("mesh", "a mesh under the scene's meshdir", own_meshdir),
    ("include", "a mesh of an included file, under the meshdir of the including one,", meshdir_of_including),
    ("include-below", "a mesh of a file included from a folder below", included_below),
    ("texture", "a texture of an included file", texture),
    ("assetdir", "an asset under the assetdir of the including file", assetdir),
    ("hfield", "a height field of an included file", height_field),
    ("model", "a mesh of an attached model's included file", sub_model),
    ("cube", "a texture's fileup and filedown", cube_texture),
    ("entity", "a file whose name is written with an entity", entity),
    ("folder", "a mesh next to a scene in another folder", two_folders),
):
    digest_row(_key, _what, _make)


@row("W-stale", 4, "a sweep again after a mesh was changed does not keep the old verdict")
def stale(place):
    place.scene(e_toml=experiment(check("contact_count_max", max=0), duration=0.3))
    meshdir_of_including(place)
    text = place.read("scene.xml").decode().replace('pos="0.5 0.5 0.1"', 'pos="0.3 0 0.1"')
    place.put("scene.xml", text)
    sound(sweep(place))
    first = place.package("sweep", "e.toml", "--seeds", "1", "--out", "s", "--no-report").text
    require("1 of 1" in first, f"with a small mesh: {first.strip().splitlines()[-1]}")
    place.put("m/wall.obj", box(0.35))
    second = place.package("sweep", "e.toml", "--seeds", "1", "--out", "s", "--no-report").text
    return require("0 of 1" in second, f"after the mesh grew: {second.strip().splitlines()[-1]}")


@row("W-data-file", 4, "files that a controller in Python names in `files = […]` are in the digest")
def data_file(place):
    place.scene(e_toml=SHORT)
    place.put("weights.txt", "1 2 3\n")
    text = controller("report.tip_error = 0.0").replace(
        "    memory_size = 1", '    memory_size = 1\n    files = ["weights.txt"]'
    )
    place.put("own.py", text)
    return digested_with(place, "weights.txt", "--python", "own.py", "--controller", "my.own")


def digested_with(place, name, *words):
    answer = sweep(place, *words)
    sound(answer)
    if answer.code == 2:
        raise Broken(answer.seen())
    return require(name in plan(place)["files"], f"not in the digest: {name}", name)


@row("W-module", 4, "modules that a controller in Python imports are in the digest")
def module(place):
    place.scene(e_toml=SHORT)
    place.put("helper.py", "X = 1\n")
    place.put("own.py", "import helper\n" + controller("report.tip_error = 0.0"))
    return digested_with(place, "helper.py", "--python", "own.py", "--controller", "my.own")


def suite_swap(place, first, then):
    """Two experiments; the robot of the second one is another one while the first one runs."""
    for name, text in (
        ("a", experiment(check("tip_error_end", max=1), duration=60)),
        ("b", experiment(TIP, duration=3)),
    ):
        place.put(f"{name}/arm.toml", arm())
        place.put(f"{name}/scene.xml", scene(target="0.03 0.02 0.19"))
        place.put(f"{name}/{name}.toml", text)
    place.put("b/arm.toml", first)
    process = place.start(
        [place.interpreter, "-m", "tendril", "sweep", "a/a.toml", "b/b.toml", "--seeds", "1", "--out", "s", "--quiet"]
    )
    end = time.monotonic() + 20
    while not list(place.folder.glob("s/a/runs/.part*")) and time.monotonic() < end and process.poll() is None:
        time.sleep(0.02)
    place.put("b/arm.toml", then)
    answer = place.finish(process)
    place.put("b/arm.toml", first)
    again = place.package("sweep", "a/a.toml", "b/b.toml", "--seeds", "1", "--out", "s", "--no-report")
    lines = [
        json.loads(t.split(" ", 1)[1]) for f in place.folder.glob("s/b/journal/*") for t in f.read_text().splitlines()
    ]
    return answer, again, lines


WEAK = arm(bend_torque_limit=0.02)


@row("W-suite", 4, "a file that is changed while an earlier experiment of the suite runs: the result is not kept")
def suite(place):
    answer, again, lines = suite_swap(place, arm(), WEAK)
    sound(again)
    verdicts = [line["verdict"] for line in lines]
    return require(verdicts[-1:] == ["pass"], f"{verdicts}; first: {answer.seen()}; again: {again.seen()}")


@row("W-suite-back", 4, "the other direction: a good file meanwhile is no pass of the bad one")
def suite_back(place):
    answer, again, lines = suite_swap(place, WEAK, arm())
    sound(again)
    verdicts = [line["verdict"] for line in lines]
    return require(verdicts[-1:] == ["fail"], f"{verdicts}; first: {answer.seen()}; again: {again.seen()}")


@row("W-files", 4, "each file of `files/` has the digest that is its name")
def kept_files(place):
    import hashlib

    suite_swap(place, arm(), WEAK)
    wrong = [
        str(f)
        for f in place.folder.glob("s/*/files/*")
        if hashlib.sha256(f.read_bytes()).hexdigest() != f.name and b"scene" not in f.read_bytes()[:10]
    ]
    return require(not wrong, f"another digest: {len(wrong)} files", "all")


@row("W-changed", 4, "a file that is changed while its sweep runs is named, and its runs are not kept")
def changed(place):
    place.scene(e_toml=experiment(check("tip_error_end", max=1), duration=30))
    process = place.start([place.interpreter, "-m", "tendril", "sweep", "e.toml", "--seeds", "1", "--out", "s"])
    end = time.monotonic() + 20
    while not list(place.folder.glob("s/runs/.part*")) and time.monotonic() < end:
        time.sleep(0.02)
    place.put("arm.toml", WEAK)
    answer = place.finish(process)
    lines = [t for f in place.folder.glob("s/journal/*") for t in f.read_text().splitlines()]
    require(says(answer, "arm.toml", "changed"), answer.seen())
    return require(not lines, f"{len(lines)} runs kept")


def short_sweep(place, seeds="2"):
    place.scene(e_toml=experiment(check("tip_error_end", max=1), duration=0.02))
    return passed(sweep(place, seeds=seeds))


def goes_on(place, out="s", count=2):
    """The same command again ends with all runs."""
    answer = place.package("sweep", "e.toml", "--seeds", str(count), "--out", out, "--no-report")
    sound(answer)
    if f"{count} of {count}" in answer.text:
        return f"{count} of {count}"
    line = answer.seen()
    # One line may say what to do, if that does it.
    told = re.search(r"(?:remove|delete)\s+(\S+)", answer.text)
    if answer.code == 2 and told:
        victim = place.folder / told[1].rstrip(".,;:")
        if victim.exists():
            shutil.rmtree(victim) if victim.is_dir() else victim.unlink()
            again = place.package("sweep", "e.toml", "--seeds", str(count), "--out", out, "--no-report")
            return require(f"{count} of {count}" in again.text, f"{line}; after that: {again.seen()}")
    raise Broken(line)


DAMAGED = {
    "cut": lambda text: text[: len(text) // 2],
    "empty": lambda text: b"",
    "list": lambda text: b"[]",
    "format-only": lambda text: b'{"format": 1}',
    "types": lambda text: text.replace(b'"seeds": [', b'"seeds": {"a": [').replace(b'],\n "cells"', b']},\n "cells"'),
    "null": lambda text: b"null",
    "deep": lambda text: b"[" * 100000,
    "bytes": lambda text: b"\xff\xfe" + text,
}


def damaged_row(key, change):
    @row(f"W-plan-{key}", 4, f"a damaged sweep.json ({key}): the same command resumes, or one line that helps")
    def show(place):
        short_sweep(place)
        place.put("s/sweep.json", change(place.read("s/sweep.json")))
        return goes_on(place)


for _key, _change in DAMAGED.items():
    damaged_row(_key, _change)


@row("W-plan-missing", 4, "without sweep.json the same command resumes with the journal's runs")
def plan_missing(place):
    short_sweep(place)
    (place.folder / "s/sweep.json").unlink()
    return goes_on(place)


@row("W-plan-report", 4, "sweep status, report and compare of a damaged sweep.json: one line, exit code 2")
def plan_commands(place):
    short_sweep(place)
    place.put("s/sweep.json", b"[]")
    for words in (["compare", "s", "s", "-o", "c.html"], ["export", "s", "--to", "csv", "-o", "x.csv"]):
        answer = place.package(*words)
        sound(answer)
        require(answer.code == 2, answer.seen())
    return "exit 2"


def journal_file(place, out="s"):
    return next((place.folder / out / "journal").glob("*.jsonl"))


@row("W-journal-crlf", 4, "a journal with the line ends of another system is read")
def crlf(place):
    short_sweep(place)
    file = journal_file(place)
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    goes_on(place)
    lines = [f for f in (place.folder / "s/journal").glob("*.jsonl")]
    return require(len(lines) == 1, "all runs were run again", "one journal")


@row("W-journal-last", 4, "a journal whose last line has no end is read up to it")
def no_end(place):
    short_sweep(place)
    file = journal_file(place)
    file.write_bytes(file.read_bytes().rstrip(b"\n"))
    return goes_on(place)


def sealed(text):
    return b"%08x %s\n" % (zlib.crc32(text), text)


JOURNAL = {
    "missing-keys": sealed(b'{"id":"0123456789abcdef"}'),
    "types": sealed(b'{"id":5,"variant":[],"cell":3,"seed":"x","outcome":{},"verdict":1}'),
    "deep": sealed(b'{"id":' + b"[" * 100000 + b"]" * 100000 + b"}"),
    "no-number": b"zzzzzzzz {}\n",
    "long": b"0" * 10_000_000,
    "binary": bytes(range(256)),
}


def journal_row(key, line):
    @row(f"W-journal-{key}", 4, f"a line of the journal that no sweep wrote ({key}) is left out")
    def show(place):
        short_sweep(place)
        place.put("s/journal/z.jsonl", line)
        return goes_on(place)


for _key, _line in JOURNAL.items():
    journal_row(_key, _line)


@row("W-copied", 4, "a copied folder of a sweep resumes, nothing is run again")
def copied(place):
    short_sweep(place)
    shutil.copytree(place.folder / "s", place.folder / "copy")
    goes_on(place, "copy")
    return require(len(list((place.folder / "copy/journal").iterdir())) == 1, "all runs were run again", "one journal")


@row("W-moved", 4, "a sweep resumes after the whole project was moved to another folder")
def moved(place):
    place.put("p/arm.toml", arm())
    place.put("p/scene.xml", scene())
    place.put("p/e.toml", experiment(check("tip_error_end", max=1), duration=0.02))
    passed(place.package("sweep", "e.toml", "--seeds", "2", "--out", "s", "--no-report", folder="p"))
    (place.folder / "p").rename(place.folder / "q")
    answer = place.package("sweep", "e.toml", "--seeds", "2", "--out", "s", "--no-report", folder="q")
    sound(answer)
    count = len(list((place.folder / "q/s/journal").iterdir()))
    return require("2 of 2" in answer.text and count == 1, f"{count} journals: {answer.seen()}")


@row("W-killed-early", 4, "a sweep that was killed before sweep.json was there resumes")
def killed_early(place):
    place.scene(e_toml=experiment(check("tip_error_end", max=1), duration=0.02))
    for name in "files", "journal", "runs":
        (place.folder / "s" / name).mkdir(parents=True)
    place.put("s/lock", "")
    return goes_on(place)


@row("W-killed-times", 4, "a sweep killed at 12 early moments always resumes")
def killed_times(place):
    place.scene(e_toml=experiment(check("tip_error_end", max=1), duration=0.02))
    words = [place.interpreter, "-m", "tendril", "sweep", "e.toml", "--seeds", "2", "--no-report", "--quiet"]
    for n in range(12):
        process = place.start([*words, "--out", f"s{n}"])
        end = time.monotonic() + 20
        while not (place.folder / f"s{n}").exists() and time.monotonic() < end:
            time.sleep(0.0005)
        time.sleep(0.002 * n)
        os.killpg(process.pid, signal.SIGKILL)
        place.finish(process)
        goes_on(place, f"s{n}")
    return "12 of 12"


def special_row(key, what, make):
    @row(f"W-special-{key}", 4, f"{what}: does not block, one line")
    def show(place):
        short_sweep(place)
        make(place.folder / "s")
        answer = place.package("sweep", "e.toml", "--seeds", "2", "--out", "s", "--no-report", patience=20)
        sound(answer)
        return require("2 of 2" in answer.text or (answer.code in (2, 4) and "Errno" not in answer.text), answer.seen())


def fifo(folder):
    os.mkfifo(folder / "journal/z.jsonl")


def folder_for_file(name):
    def make(folder):
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
            path.write_text("")
        else:
            path.unlink(missing_ok=True)
            path.mkdir()

    return make


special_row("fifo", "a FIFO in the journal", fifo)
special_row("lock", "a `lock` that is a folder", folder_for_file("lock"))
special_row("journal", "a `journal` that is a file", folder_for_file("journal"))
special_row("runs", "a `runs` that is a file", folder_for_file("runs"))
special_row("plan", "a `sweep.json` that is a folder", folder_for_file("sweep.json"))


@row("W-settings-file", 4, "a robot file that only a setting of a variant names is in the digest")
def settings_file(place):
    place.scene(
        e_toml=SHORT + '[sweep]\nseeds = 1\n[[sweep.variant]]\nname = "p"\nset = { "controller.plan" = "way.csv" }\n',
        arm_toml=arm(controller=REACH),
    )
    place.put("way.csv", "x,y,z\n0,0,0.2\n0.01,0,0.2\n")
    answer = place.package("sweep", "e.toml", "--out", "s", "--no-report")
    sound(answer)
    names = plan(place)["files"] if (place.folder / "s/sweep.json").exists() else {"way.csv": "refused"}
    return require("way.csv" in names, str(list(names)))


@row("W-far", 4, "the sweep of a robot out of reach says so: 0 of 2")
def far(place):
    place.scene(scene_xml=scene(target=FAR))
    answer = place.package("sweep", "e.toml", "--seeds", "2", "--out", "s", "--no-report")
    return require("0 of 2" in answer.text, answer.seen())
