"""A CMake project outside finds headers and library in the package: `python -m tendril --cmake-dir`."""

import shutil
import subprocess
import sys
from pathlib import Path

import mujoco

import tendril as td

ROOT = Path(__file__).resolve().parents[2]


def run(*words: object, **options: object) -> str:
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_a_project_outside_builds_a_program_and_a_controller(tmp_path: Path) -> None:
    folder = run(sys.executable, "-m", "tendril", "--cmake-dir").strip()
    build = tmp_path / "build"
    run(
        "cmake",
        "-S",
        ROOT / "tests/install/consumer",
        "-B",
        build,
        f"-Dtendril_DIR={folder}",
        "-Dcomponents=core;model;plugin_host",
    )
    run("cmake", "--build", build, "-j", 2)
    run(build / "consumer", cwd="/")

    # The controller works in the program and in Python, along with the package's own.
    scene = shutil.copytree(ROOT / "apps/examples", tmp_path / "examples") / "circle.xml"
    library = build / "libmy_controller.so"
    program = Path(sys.executable).with_name("tendril")
    run(program, "run", "--plugin", library, scene, "--duration", "0.1", "--out", tmp_path / "out", "--no-report")
    code = (
        "import mujoco, sys; mujoco.mj_loadPluginLibrary(sys.argv[1])\n"
        "model = mujoco.MjModel.from_xml_path(sys.argv[2]); data = mujoco.MjData(model)\n"
        "mujoco.mj_step(model, data, 1000); print(data.sensor('arm_tip_error').data[0] < 0.01)"
    )
    assert run(sys.executable, "-c", code, library, scene) == "True\n"
    assert mujoco.mj_versionString() == td.mujoco_version
