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


__all__ = ["ModelError", "OutputError", "RecordingError"]
