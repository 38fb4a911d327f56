"""The plugin library in Python: the same bits as in C++, and on two threads.

usage: plugin_from_python_test.py LIBTENDRIL.so SCENE.xml PRINT_QPOS
PRINT_QPOS is the program built from print_qpos.cpp.
"""

import subprocess
import sys

import mujoco
import mujoco.rollout
import numpy as np

STEPS = 200
INTEGRATION = mujoco.mjtState.mjSTATE_INTEGRATION


def state_of(model, data):
    state = np.empty(mujoco.mj_stateSize(model, INTEGRATION))
    mujoco.mj_getState(model, data, state, INTEGRATION)
    return state


def same_bits_as_cpp(model, arguments):
    data = mujoco.MjData(model)
    for _ in range(STEPS):
        mujoco.mj_step(model, data)
    bits = [f"{value:016x}" for value in data.qpos.view(np.uint64)]
    printed = subprocess.run([*arguments, str(STEPS)], check=True, capture_output=True, text=True)
    assert printed.stdout.split() == bits, "qpos differs from the C++ run"
    assert np.any(data.ctrl != 0.0), "the controller wrote nothing"


def restored_goes_on(model):
    data = mujoco.MjData(model)
    for _ in range(STEPS):
        mujoco.mj_step(model, data)
    other = mujoco.MjData(model)
    mujoco.mj_setState(model, other, state_of(model, data), INTEGRATION)
    for _ in range(50):
        mujoco.mj_step(model, data)
        mujoco.mj_step(model, other)
    assert np.array_equal(state_of(model, data), state_of(model, other)), "restored run differs"


def two_threads_are_serial(model):
    """mujoco.rollout from four states on two threads, against stepping one after the other."""
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    starts, ends = [], []
    data = mujoco.MjData(model)
    for k in range(4):
        mujoco.mj_resetData(model, data)
        for _ in range(20 * k):
            mujoco.mj_step(model, data)
        state = np.empty(mujoco.mj_stateSize(model, full))
        mujoco.mj_getState(model, data, state, full)
        starts.append(state)
        # rollout starts every run from reset data with no warm start and this state.
        mujoco.mj_resetData(model, data)
        mujoco.mj_setState(model, data, state, full)
        for _ in range(STEPS):
            mujoco.mj_step(model, data)
        end = np.empty_like(state)
        mujoco.mj_getState(model, data, end, full)
        ends.append(end)
    threads = [mujoco.MjData(model) for _ in range(2)]
    states, _ = mujoco.rollout.rollout(model, threads, np.array(starts), nstep=STEPS)
    for k, end in enumerate(ends):
        assert np.array_equal(states[k, -1], end), f"run {k} on two threads differs"


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    library, scene, print_qpos = sys.argv[1:]
    mujoco.mj_loadPluginLibrary(library)
    model = mujoco.MjModel.from_xml_path(scene)
    assert model.nplugin == 1
    same_bits_as_cpp(model, [print_qpos, library, scene])
    restored_goes_on(model)
    two_threads_are_serial(model)
    print("ok")


if __name__ == "__main__":
    main()
