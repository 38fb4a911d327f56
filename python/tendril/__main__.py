"""The program: `tendril`, or `python -m tendril`."""
import os
import sys
from pathlib import Path

from tendril._plugin import library

program = Path(__file__).with_name("bin") / "tendril"


def main() -> None:
    """Replaces this process by the program of the package, which uses its plugin library and this interpreter."""
    os.environ.setdefault("TENDRIL_PLUGIN", str(library))
    os.environ.setdefault("TENDRIL_PYTHON", sys.executable)
    os.execv(program, ["tendril", *sys.argv[1:]])


if __name__ == "__main__":
    main()
