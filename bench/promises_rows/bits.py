"""10. The same bits."""

import json

from promises_rows.place import NotTried, check, controller, each, experiment, require, row, scene, sound

NUMBERS = ("real_time_factor", "step_time_mean", "step_time_p999")
COLUMNS = """
import h5py, hashlib, sys
f = h5py.File(sys.argv[1])['rollout_0']
h = hashlib.sha256()
for name in ('time', 'qpos', 'qvel', 'ctrl', 'sensordata'):
    if name in f: h.update(f[name][:].tobytes())
print(h.hexdigest())
"""
DRIVE = """
def bits(file='e.toml', **k):
    import hashlib
    run = td.Experiment(file).start(0)
    h = hashlib.sha256()
    while not run.done:
        run.step(); h.update(run.data.qpos.tobytes()); h.update(run.data.sensordata.tobytes())
    return h.hexdigest()
"""


def plain(place):
    place.scene(
        scene_xml=scene(
            before='<geom name="wall" type="box" size="0.02 0.1 0.1" pos="0.05 0 0.15"/>', target="0.1 0 0.12"
        ),
        e_toml=experiment(check("wall_force_max", max=100), duration=0.3),
    )


def digest(place, out="d", **options):
    door = place.package if options.pop("package", False) else place.tendril
    words = options.pop("words", [])
    sound(door("run", "e.toml", "--no-report", "--out", out, *words, **options))
    answer = place.python(COLUMNS, f"{out}/rollout.h5")
    sound(answer)
    require(answer.code == 0, answer.seen())
    return answer.out.strip()


def same_row(key, promise, **options):
    @row(f"B-{key}", 10, promise)
    def show(place):
        plain(place)
        first, second = digest(place, "a"), digest(place, "b", **options)
        return require(first == second, f"{first[:8]} and {second[:8]}", first[:16])


same_row("twice", "a run twice")
same_row("wheel", "the program of the build and that of the package", package=True)
same_row(
    "locale",
    "another locale and time zone",
    environment={"LC_ALL": "de_DE.UTF-8", "LC_NUMERIC": "de_DE.UTF-8", "TZ": "Asia/Kolkata"},
)
same_row(
    "threads",
    "other numbers of threads of OpenMP and allocators that fill memory",
    environment={"OMP_NUM_THREADS": "7", "MALLOC_PERTURB_": "165", "MALLOC_ARENA_MAX": "1"},
)
same_row("window", "with --seed given or not", words=["--seed", "0"])


def python_row(key, promise, text):
    @row(f"B-{key}", 10, promise)
    def show(place):
        plain(place)
        answer = place.python(DRIVE + text)
        sound(answer)
        return require(
            answer.code == 0 and "ok" in answer.out,
            answer.errors.strip().splitlines()[-1] if answer.errors else answer.out,
        )


python_row(
    "session",
    "td.Experiment twice in a process, and with other work between",
    "a = bits(); np.random.rand(1000) @ np.random.rand(1000); assert a == bits(); print('ok')",
)
python_row(
    "fpu-round",
    "rounding towards zero in the calling thread does not move the bits, or is refused",
    "import ctypes\nm = ctypes.CDLL('libm.so.6'); a = bits(); m.fesetround(0xc00)\n"
    "try: b = bits()\nexcept Exception as e: b = a; print(e)\n"
    "m.fesetround(0); assert a == b, 'other bits'; print('ok')",
)
python_row(
    "in-threads",
    "in a thread along with two others",
    "import threading\na = bits(); r = []\n"
    "t = [threading.Thread(target=lambda: r.append(bits())) for _ in range(3)]\n"
    "[x.start() for x in t]; [x.join() for x in t]; assert set(r) == {a}; print('ok')",
)
python_row(
    "restored",
    "setState in the middle of a run",
    "m = td.load_scene('scene.xml').model\ns = mujoco.mjtState.mjSTATE_INTEGRATION\n"
    "n = mujoco.mj_stateSize(m, s)\nd = mujoco.MjData(m)\n"
    "for _ in range(50): mujoco.mj_step(m, d)\n"
    "x = np.zeros(n); mujoco.mj_getState(m, d, x, s)\n"
    "for _ in range(50): mujoco.mj_step(m, d)\n"
    "e = mujoco.MjData(m); mujoco.mj_setState(m, e, x, s)\n"
    "for _ in range(50): mujoco.mj_step(m, e)\n"
    "assert (d.qpos == e.qpos).all() and (d.sensordata == e.sensordata).all(); print('ok')",
)
python_row(
    "copied",
    "copies of mjData, one stepped after the other",
    "import copy\nm = td.load_scene('scene.xml').model\nd = mujoco.MjData(m)\n"
    "for _ in range(30): mujoco.mj_step(m, d)\ne = copy.copy(d)\n"
    "for _ in range(30): mujoco.mj_step(m, d)\nfor _ in range(30): mujoco.mj_step(m, e)\n"
    "assert (d.qpos == e.qpos).all(); print('ok')",
)
python_row(
    "batch",
    "kinematics of a batch and of single items",
    "a = td.load_robot('arm.toml', td.ContinuumRobot)\ns = a.random_states(300, rng=1)\n"
    "assert (a.tip_pose(s) == np.stack([a.tip_pose(x) for x in s])).all(); print('ok')",
)


@row(
    "B-fpu-flush", 10, "flush-to-zero and denormals-are-zero set by another library do not move the bits, or are named"
)
def flush(place):
    place.needs("numpy")
    plain(place)
    source = place.put(
        "ftz.c",
        "#include <xmmintrin.h>\nvoid on(void) { _mm_setcsr(_mm_getcsr() | 0x8040); }\n"
        "void off(void) { _mm_setcsr(_mm_getcsr() & ~0x8040); }\n",
    )
    made = place.finish(place.start(["cc", "-shared", "-fPIC", "-O1", source, "-o", "ftz.so"]))
    if made.code != 0:
        raise NotTried("no C compiler")
    answer = place.python(
        DRIVE + "import ctypes\n"
        "f = ctypes.CDLL('./ftz.so'); a = bits(); f.on(); b = bits(); f.off(); assert a == b, "
        "'other bits'; print('ok')"
    )
    return require("ok" in answer.out, answer.seen())


@row("B-sweep", 10, "a run of a sweep has the numbers of `tendril run`, with one and with two jobs")
def sweep(place):
    plain(place)
    sound(place.run())
    alone = place.metric("wall_force_max")
    seen = {}
    for jobs in "1", "2":
        sound(place.package("sweep", "e.toml", "--seeds", "2", "--jobs", jobs, "--out", f"s{jobs}", "--no-report"))
        lines = [t for f in (place.folder / f"s{jobs}/journal").glob("*") for t in f.read_text().splitlines()]
        entries = sorted((json.loads(t.split(" ", 1)[1]) for t in lines), key=lambda e: e["seed"])
        seen[jobs] = str([e["checks"] for e in entries])
    require(repr(alone)[:12] in seen["1"], f"{alone} is not in {seen['1'][:100]}")
    return require(seen["1"] == seen["2"], "other numbers", f"{alone} N")


@row("B-replay", 10, "replay of a recording, also of a controller in Python")
def replay(place):
    plain(place)
    sound(place.run("e.toml", "--out", "a"))
    answer = place.tendril("rollout", "replay", "a/rollout.h5")
    sound(answer)
    require(answer.code == 0, answer.seen())
    place.put("own.py", controller("command.q[:] = math.sin(5 * m.time); report.tip_error = 0.5"))
    sound(place.package("run", "e.toml", "--no-report", "--python", "own.py", "--controller", "my.own", "--out", "b"))
    answer = place.package("rollout", "replay", "b/rollout.h5", "--python", "own.py")
    sound(answer)
    return require(answer.code == 0, answer.seen())


@row("B-record", 10, "with and without recording, report or checks the numbers are the same")
def record(place):
    plain(place)
    answer = place.python(
        "a = td.Experiment('e.toml').run().metrics\nb = td.Experiment('e.toml').run(record='x.h5').metrics\n"
        f"for k in {NUMBERS!r}: a.pop(k, 0); b.pop(k, 0)\n"
        "assert {k: repr(v) for k, v in a.items()} == {k: repr(v) for k, v in b.items()}; print('ok')\n"
    )
    return require("ok" in answer.out, answer.seen())


@row("B-folder", 10, "from another folder, by another path, with another name of the scene")
def folder(place):
    plain(place)
    first = digest(place, "a")
    cases = {"..": ".", "links": "l"}
    (place.folder / "l").symlink_to(".")

    def show(where):
        sound(place.tendril("run", f"{where}/e.toml", "--no-report", "--out", "z"))
        return require(place.python(COLUMNS, "z/rollout.h5").out.strip() == first, "other bits")

    return each(cases, show)
