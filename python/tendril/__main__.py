"""The console script `tendril`, and `python -m tendril`: the commands that run in Python, and the program for the others."""
import os
import sys


def main() -> int:
    """The exit code of `tendril sweep ...`; for other commands the program replaces this process."""
    words = sys.argv[1:]
    if words[:1] == ["sweep"]:
        from tendril._sweep_command import main as sweep  # loads NumPy
        return sweep(words[1:])
    from tendril._program import find_program
    try:
        os.execv(find_program(), ["tendril", *words])
    except (ValueError, OSError) as error:
        print(f"tendril: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
