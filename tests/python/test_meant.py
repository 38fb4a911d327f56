"""Names that may be meant: in messages of the commands in Python."""

import pytest

from tendril._command import make_parser
from tendril._errors import ModelError
from tendril._meant import meant


def test_the_nearest_name_is_suggested_and_nothing_that_is_far() -> None:
    known = ["seed", "seeds", "damping_time", "grid"]
    assert meant("sede", known) == " (did you mean seed?)"
    assert meant("damping", known) == " (did you mean damping_time?)"
    assert meant("gird", known) == " (did you mean grid?)"
    assert meant("xyzzy", known) == ""
    assert meant("s", known) == ""


def test_an_unknown_option_names_the_nearest_one() -> None:
    parser = make_parser("sweep", "")
    parser.add_argument("--seeds")
    with pytest.raises(ModelError, match=r"unrecognized arguments: --sedes 3 \(did you mean --seeds\?\)"):
        parser.parse_args(["--sedes", "3"])
    with pytest.raises(ModelError, match=r"unrecognized arguments: --xyzzy\Z"):
        parser.parse_args(["--xyzzy"])
