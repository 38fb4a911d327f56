"""`ModelError` where the compiled module is not there: in a build tree of the program."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tendril._core import ModelError
else:
    try:
        from tendril._core import ModelError
    except ImportError:

        class ModelError(ValueError):
            """Wrong input, one line: `file: field: value: what is allowed`."""


class RecordingError(OSError):
    """A file that is no recording, or a damaged one; one line: `file: what is wrong`."""


class OutputError(OSError):
    """What could not be written; one line: `file: could not be written: why`."""


def refuse(where: object, what: str) -> ModelError:
    """Returns the error `where: what` in one line."""
    return ModelError("".join(c if c.isprintable() else " " for c in f"{where}: {what}"))


def not_compiled(what: str, error: ImportError) -> ModelError:
    """Returns the error of what needs `_core` or `_sim`, where they are not there."""
    return ModelError(f"{what}: needs the Python package tendril-mujoco, compiled (docs/guide/python.md): {error}")


__all__ = ["ModelError", "OutputError", "RecordingError", "not_compiled", "refuse"]
