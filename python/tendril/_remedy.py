"""How the engine is installed where another one is. Standard library alone."""

from pathlib import Path

from tendril._library import library_name

FOLDER = Path(__file__).parent.with_name("mujoco")  #: where the package's library looks for the engine


def remedy(version: str) -> str:
    """The command that installs this version of the engine where another one is.

    If a package has put its files over those of mujoco-core, as `mujoco` does, pip takes the engine for installed.
    """
    required = f"mujoco-core=={version}"
    if (FOLDER / library_name("mujoco", version)).exists():
        return f"pip uninstall -y mujoco && pip install --force-reinstall --no-deps {required}"
    return f"pip install {required}"
