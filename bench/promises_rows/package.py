"""8. The package along with others."""

import shutil
import subprocess

from promises_rows.place import NotTried, check, controller, experiment, require, row, sound


def site_packages(place):
    code = "import tendril, pathlib; print(pathlib.Path(tendril.__path__[0]).parent)"
    done = subprocess.run([place.interpreter, "-c", code], capture_output=True, text=True, check=False)
    folder = place.folder.__class__(done.stdout.strip() or "/nowhere")
    if not (folder / "tendril/libtendril.so").exists() or not (folder / "mujoco").exists():
        raise NotTried("needs an interpreter with the wheel")
    return folder


def other_engine(place, change):
    """A copy of the package folder in which the engine's library is another one."""
    source, copy = site_packages(place), place.folder / "site"
    copy.mkdir()
    for entry in source.iterdir():
        if entry.name not in ("tendril", "mujoco"):
            (copy / entry.name).symlink_to(entry)
    for name in "tendril", "mujoco":
        shutil.copytree(source / name, copy / name)  # the program finds the engine next to itself
    change(copy / "mujoco")
    return {"PYTHONPATH": str(copy), "TENDRIL_PROGRAM": ""}


def older(folder):
    for file in folder.glob("libmujoco.so.*"):
        file.rename(folder / "libmujoco.so.4.0.0")


def gone(folder):
    shutil.rmtree(folder)


def engine_row(key, what, change, words):
    @row(f"P-engine-{key}", 8, f"{what}: one line says which engine is there and what to install")
    def show(place):
        settings = other_engine(place, change)
        settings["TENDRIL_PYTHON"] = str(place.interpreter)
        command = [place.interpreter, "-s", *words]
        if words[:1] == ["doctor"]:
            command = [place.folder / "site/tendril/bin/tendril", *words]
        answer = place.finish(place.start(command, settings))
        sound(answer)
        text = answer.text
        return require("pip install" in text and "4.0.1" in text and "shared object" not in text, answer.seen())


engine_row("doctor", "an engine of another version, `python -m tendril doctor`", older, ["-m", "tendril", "doctor"])
engine_row("program", "an engine of another version, `tendril doctor`", older, ["doctor"])
LOAD = "import tendril as td\ntry: td.load_scene('x.xml')\nexcept ImportError as e: print(e)"
engine_row("load", "an engine of another version, td.load_scene", older, ["-c", LOAD])
engine_row("none", "no engine, `python -m tendril doctor`", gone, ["-m", "tendril", "doctor"])
engine_row("none-load", "no engine, td.load_scene", gone, ["-c", LOAD])


@row("P-engine-pip", 8, "a fresh environment, then `pip install mujoco`: doctor and import still start", slow=True)
def engine_pip(place):
    wheels = sorted(place.options.root.glob("out/wheel/*.whl")) or sorted(
        (place.options.data or place.folder).glob("*.whl")
    )
    if not wheels:
        raise NotTried("out/wheel has no wheel")
    for words in (["-m", "venv", "v"],):
        sound(place.finish(place.start([place.interpreter, *words]), 300))
    for words in ([str(wheels[-1])], ["gymnasium[mujoco]"]):
        answer = place.finish(place.start([place.folder / "v/bin/pip", "install", "-q", *words]), 600)
        if answer.code != 0:
            raise NotTried(answer.seen())
    answer = place.finish(place.start([place.folder / "v/bin/tendril", "doctor"]))
    sound(answer)
    return require("mujoco-core==4.0.1" in answer.text, answer.seen())


def python_row(key, promise, text, needs=(), expected="ok", prepare=None, patience=30, slow=False):
    @row(f"P-{key}", 8, promise, slow=slow)
    def show(place):
        for module in needs:
            place.needs(module)
        place.scene(e_toml=experiment(check("tip_error_end", max=1), duration=0.1))
        if prepare:
            prepare(place)
        answer = place.python(text, patience=patience)
        if answer.code < 0 or answer.code == 124:
            sound(answer)
        return require(
            answer.code == 0 and expected in answer.out,
            answer.errors.strip().splitlines()[-1] if answer.errors.strip() else answer.seen(),
        )


ARM = "a = td.ContinuumRobot([td.Section(length=0.1), td.Section(length=0.1)])\n"
python_row(
    "numpy-states",
    "random_states(np.int64(3), …)",
    ARM + "assert a.random_states(np.int64(3), np.int64(1)).shape[0] == 3; print('ok')",
)
python_row("numpy-seeds", "Sweep(seeds=np.int64(2))", "td.Sweep('e.toml', seeds=np.int64(2)); print('ok')")
python_row(
    "numpy-seed-list",
    "Sweep(seeds=range(2)), a list or an array of seeds works, or TypeError/ModelError",
    "for s in (range(2), [0, 1], np.arange(2)):\n    try: td.Sweep('e.toml', seeds=s)\n"
    "    except td.ModelError as e: assert 'seeds' in str(e), e\nprint('ok')",
)
python_row(
    "numpy-default",
    "a setting whose default is np.float64, np.int32, np.bool_",
    "for i, v in enumerate((np.float64(5), np.int32(3), np.bool_(True), np.float32(.5))):\n"
    "    td.controller(f'n.c{i}', kind='continuum', "
    "settings={'gain': (v, '', 'g')})(type('A', (), "
    "{'__init__': lambda s, c: None, 'update': lambda s, *r: None}))\nprint('ok')",
)
python_row(
    "numpy-set",
    "Experiment.run(set={…: np.float64, array}, seed=np.int64, duration=np.float32)",
    "td.Experiment('e.toml').run(seed=np.int64(3), duration=np.float32(.02), "
    "set={'option.timestep': np.float64(.002), 'option.gravity': np.array([0, 0, -9.8])}); "
    "print('ok')",
)
python_row(
    "numpy-section",
    "Section(length=np.float32(0.1), bend_limit=np.int64(2))",
    "td.Section(length=np.float32(0.1), bend_limit=np.int64(2)); print('ok')",
)
python_row(
    "masked",
    "a masked array with a masked number is refused, not taken for its fill",
    ARM + "s = np.ma.masked_array(np.zeros((2, 3)), mask=[[1, 0, 0], [0, 0, 0]])\n"
    "try: a.tip_pose(s); print('taken')\n"
    "except (td.ModelError, ValueError, TypeError): print('ok')",
)
python_row(
    "masked-none",
    "a masked array without masked numbers is taken",
    ARM + "a.tip_pose(np.ma.masked_array(np.zeros((2, 3)))); print('ok')",
)
python_row(
    "float32",
    "float32, Fortran order, views, read-only arrays",
    ARM + "x = a.random_states(4, rng=1)\n"
    "for y in (x.astype('f4'), np.asfortranarray(x), x[::2], x[..., :]):\n"
    "    y = y.copy() if y.base is None else y; y.flags.writeable = False; a.tip_pose(y)\n"
    "print('ok')",
)
for _what, _make in {
    "scene": "td.load_scene('scene.xml')",
    "experiment": "td.Experiment('e.toml')",
    "robot": "td.load_robot('arm.toml', td.ContinuumRobot)",
    "section": "td.Section(length=0.1)",
    "result": "td.Experiment('e.toml').run()",
    "sweep": "td.Sweep('e.toml', seeds=1)",
    "solver": "td.Solver(td.load_robot('arm.toml', td.ContinuumRobot))",
}.items():
    python_row(
        f"copy-{_what}",
        f"a {_what} can be copied and pickled",
        f"import copy, pickle\nx = {_make}\ncopy.copy(x); copy.deepcopy(x); pickle.loads(pickle.dumps(x)); print('ok')",
    )
GYM = "import gymnasium, copy, pickle\nimport tendril.envs\n"
python_row(
    "copy-env",
    "an environment can be copied: the copy continues with the same numbers",
    GYM + "e = gymnasium.make('Tendril/Reach-v0'); e.reset(seed=0); a = e.action_space.sample(); c "
    "= copy.deepcopy(e)\nassert (e.step(a)[0] == c.step(a)[0]).all(); print('ok')",
    ["gymnasium"],
)
python_row(
    "pickle-env",
    "an environment can be pickled",
    GYM + "e = gymnasium.make('Tendril/Reach-v0'); e.reset(seed=0); c = "
    "pickle.loads(pickle.dumps(e.unwrapped)); print('ok')",
    ["gymnasium"],
)
python_row(
    "reset-mask",
    "make_vec: reset(options={'reset_mask': mask}) resets only those",
    GYM + "v = gymnasium.make_vec('Tendril/Reach-v0', num_envs=3); o, _ = v.reset(seed=0)\n"
    "for _ in range(3): o = v.step(v.action_space.sample())[0]\n"
    "n = v.reset(seed=0, options={'reset_mask': np.array([True, False, False])})[0]\n"
    "assert (n[1:] == o[1:]).all() and not (n[0] == o[0]).all(); print('ok')",
    ["gymnasium"],
)
python_row(
    "fork-render",
    "an image in the parent, then images in forked environments: drawn or refused, no hang",
    GYM + "m = lambda: gymnasium.make('Tendril/Reach-v0', render_mode='rgb_array')\n"
    "if __name__ == '__main__':\n    e = m(); e.reset(seed=0); e.render(); e.close()\n"
    "    v = gymnasium.vector.AsyncVectorEnv([m] * 2, context='fork'); v.reset(seed=0)\n"
    "    try: v.render()\n    except Exception as x: print('refused', x)\n"
    "    print('ok'); v.close(terminate=True)\n",
    ["gymnasium"],
)
python_row(
    "entry-point",
    "gymnasium.make('tendril.envs:Tendril/Reach-v0') without an import of ours",  # since 1.0 it has no entry points
    "import subprocess, sys\nr = subprocess.run([sys.executable, '-c', \"import gymnasium; "
    "gymnasium.make('tendril.envs:Tendril/Reach-v0')\"], capture_output=True, text=True)\n"
    "print('ok' if r.returncode == 0 else r.stderr.splitlines()[-1])",
    ["gymnasium"],
)
python_row(
    "action-inf",
    "an action of inf, -inf, NaN raises ValueError",
    GYM + "e = gymnasium.make('Tendril/Reach-v0').unwrapped; e.reset(seed=0)\n"
    "for bad in (np.inf, -np.inf, np.nan):\n"
    "    try: e.step(np.full(e.action_space.shape, bad)); raise SystemExit(f'{bad} was "
    "taken')\n    except ValueError: pass\nprint('ok')",
    ["gymnasium"],
)
python_row(
    "action-inf-vector",
    "the same of a vector of environments and of ExperimentEnv",
    GYM + "v = gymnasium.make_vec('Tendril/Reach-v0', num_envs=2); v.reset(seed=0)\n"
    "try: v.step(np.full(v.action_space.shape, np.inf)); raise SystemExit('inf was taken')\n"
    "except ValueError: pass\nprint('ok')",
    ["gymnasium"],
)
SESSION = (
    "@td.controller('session.hold', kind='continuum')\nclass Hold:\n"
    "    def __init__(self, context): pass\n"
    "    def update(self, m, memory, next_memory, command, report): report.tip_error = "
    "float(np.linalg.norm(m.target[:3, 3] - m.tip[:3, 3]))\n"
)
python_row(
    "replay-session",
    "a recording of a controller of this process replays in it",
    SESSION + "td.Experiment('scene.xml').run(controller='session.hold', duration=0.1, record='h.h5')\n"
    "r = td.Recording('h.h5'); print(r.replay()); print('ok')",
)
python_row(
    "replay-other",
    "without it the message names the class and how to register it",
    "import subprocess, sys\n"
    + SESSION
    + "td.Experiment('scene.xml').run(controller='session.hold', duration=0.1, record='h.h5')\n"
    "r = subprocess.run([sys.executable, '-c', \"import tendril as td; "
    "td.Recording('h.h5').replay()\"], capture_output=True, text=True)\n"
    "print('ok' if 'session.hold' in r.stderr and ('python' in r.stderr.lower() or 'import' "
    "in r.stderr) else r.stderr[-200:])",
)
python_row(
    "rollout-models",
    "mujoco.rollout over models of other settings is that of each alone",
    "from mujoco import rollout\n"
    "ms = [td.load_scene('scene.xml', set={'controller.integral_gain': g}).model for g in "
    "(0.5, 8.0)]\ndef start(m):\n"
    "    d = mujoco.MjData(m); mujoco.mj_forward(m, d); s = np.zeros(mujoco.mj_stateSize(m, "
    "mujoco.mjtState.mjSTATE_FULLPHYSICS)); mujoco.mj_getState(m, d, s, "
    "mujoco.mjtState.mjSTATE_FULLPHYSICS); return s\ns = np.stack([start(m) for m in ms])\n"
    "both = rollout.rollout(ms, [mujoco.MjData(ms[0])], s, nstep=100)[0]\n"
    "each = np.concatenate([rollout.rollout(m, mujoco.MjData(m), s[i:i + 1], nstep=100)[0] "
    "for i, m in enumerate(ms)])\n"
    "assert (both == each).all(), np.abs(both - each).max(); print('ok')",
)
python_row(
    "version",
    "import tendril, then another version of MuJoCo's Python: __version__ and mujoco_version are there",
    "print(td.__version__, td.mujoco_version, 'ok')",
)
python_row(
    "threads",
    "an experiment in a thread along with another one",
    "import threading\ne = []\ndef go():\n"
    "    try: e.append(td.Experiment('e.toml').run().metrics['tip_error_end'])\n"
    "    except Exception as x: e.append(x)\n"
    "t = [threading.Thread(target=go) for _ in range(3)]\n"
    "[x.start() for x in t]; [x.join() for x in t]\n"
    "assert len(set(map(str, e))) == 1, e; print('ok')",
)
python_row(
    "sb3-check",
    "check_env of gymnasium passes",
    GYM + "from gymnasium.utils.env_checker import check_env\n"
    "import warnings; warnings.simplefilter('ignore')\n"
    "check_env(gymnasium.make('Tendril/Reach-v0').unwrapped, skip_render_check=True); "
    "print('ok')",
    ["gymnasium"],
)


@row("P-robomimic", 8, "an export for robomimic has actions in [-1, 1], or a notice")
def robomimic(place):
    place.recording(1.0)
    answer = place.package("export", "r.h5", "--to", "robomimic", "-o", "d.hdf5")
    sound(answer)
    look = place.python(
        "import h5py\nf = h5py.File('d.hdf5')\na = np.concatenate([d['actions'][:] for d in f['data'].values()])\n"
        "print('ok' if -1 <= a.min() <= a.max() <= 1 else f'actions from {a.min():.3g} to {a.max():.3g}')"
    )
    return require("ok" in look.out or "notice" in answer.text, look.out.strip())


@row("P-minari-relative", 8, "export --to minari to a relative path works")
def minari(place):
    place.needs("minari")
    place.recording(0.2)
    answer = place.package("export", "r.h5", "--to", "minari", "-o", "data")
    sound(answer)
    return require(answer.code == 0, answer.seen())


@row("P-own-in-sweep", 8, "a controller of a file that imports gymnasium or mujoco itself works")
def imports(place):
    place.scene()
    place.put("own.py", "import mujoco\n" + controller("report.tip_error = 0.5"))
    answer = place.package("run", "e.toml", "--no-report", "--python", "own.py", "--controller", "my.own")
    sound(answer)
    return require(answer.code in (0, 1), answer.seen())
