"""Texts of strangers: bounded in size and depth, of the shape that is expected, in one line and soon."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from tendril._errors import ModelError
from tendril._reading import (
    DEEPEST,
    FLAG,
    MOST_TOML,
    NUMBER,
    TEXT,
    DictOf,
    ListOf,
    Table,
    integer,
    one_of,
    parse_json,
    parse_toml,
    read_json,
    read_toml,
    require,
)

SOON = 1.0  # s of processor time

JSON = {
    "deep lists": "[" * 200_000,
    "deep tables": '{"a":' * 100_000,
    "deep and closed": "[" * 500 + "]" * 500,
    "infinite": "[1e999]",
    "not a number": "[NaN]",
    "minus infinity": "[-Infinity]",
    "given twice": '{"a": 1, "b": 2, "a": 3}',
    "many digits": "[1" + "0" * 5000 + "]",
    "more than 64 bits": "[123456789012345678901234567890]",
    "half a character": '["\\ud800"]',
    "cut": '{"a": [1, 2',
    "empty": "",
    "quotes": '["' + '\\"' * 400_000,
}
TOML = {
    "deep lists": "a = " + "[" * 100_000,
    "deep tables": "a = " + "{a = " * 50_000,
    "dotted key": "a" + ".a" * 60_000 + " = 1\n",
    "dotted header": "[" + "a." * 60_000 + "a]\n",
    "quoted and dotted": '"a"' + '."a"' * 60_000 + " = 1\n",
    "given twice": "a = 1\na = 2\n",
    "many digits": "a = 1" + "0" * 5000,
    "more than 64 bits": "a = 123456789012345678901234567890",
    "no date": "a = 2020-13-45T00:00:00Z",
    "large": "#\n" * MOST_TOML,
    "quotes": 'a = """' + '\\"' * 400_000,
    "one quote": "'" * 400_001,
    "backslashes": '"\\' * 400_000,
}


@pytest.mark.parametrize("name", JSON)
def test_hostile_json_is_refused_in_one_line_and_soon(name: str) -> None:
    begin = time.process_time()
    with pytest.raises(ModelError, match="^file: ?|^file:1: ") as caught:
        parse_json(JSON[name], "file")
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300
    assert time.process_time() - begin < SOON


@pytest.mark.parametrize("name", TOML)
def test_hostile_toml_is_refused_in_one_line_and_soon(name: str) -> None:
    begin = time.process_time()
    with pytest.raises(ModelError, match="^file: ?|^file:1: ") as caught:
        parse_toml(TOML[name], "file")
    assert "\n" not in str(caught.value)
    assert time.process_time() - begin < SOON


def test_brackets_in_texts_and_comments_are_no_levels() -> None:
    assert parse_json('{"a": "' + "[" * 1000 + '", "b": "\\"[[["}', "f")["b"] == '"[[['
    lines = [
        'a = "' + "[" * 1000 + '"',
        "b = '" + "{" * 1000 + "'",
        "# " + "[" * 1000,
        'c = """\n' + '"[' * 500 + '"""',
    ]
    assert set(parse_toml("\n".join(lines), "f")) == {"a", "b", "c"}


def test_many_shallow_tables_are_read() -> None:
    assert len(parse_json("[" + ",".join(["[[]]"] * 1000) + "]", "f")) == 1000
    assert len(parse_toml("\n".join(f"[a.b.t{i}]\nx.y = [[1.5, 2.5]]" for i in range(1000)), "f")["a"]["b"]) == 1000
    assert parse_json("[" * DEEPEST + "]" * DEEPEST, "f")


def test_special_files_and_folders_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for file in (tmp_path / "fifo", tmp_path, Path("/dev/zero"), tmp_path / "none", Path("a\0b")):
        for read in (read_json, read_toml):
            with pytest.raises(ModelError):
                read(file)
    (tmp_path / "latin").write_bytes(b'"\xff"')
    with pytest.raises(ModelError, match="utf-8"):
        read_json(tmp_path / "latin")


SHAPE = Table(
    {"name": TEXT, "rows": ListOf(Table({"at": integer(0, 9), "on": FLAG}), 3)},
    {"kind": one_of("a", None), "values": DictOf(NUMBER)},
)
GOOD: dict[str, Any] = {"name": "n", "rows": [{"at": 9, "on": True}], "kind": None, "values": {"x": 1.5}, "more": []}


def test_a_shape_takes_what_has_it() -> None:
    require(GOOD, SHAPE, "f")
    require({"name": "", "rows": []}, SHAPE, "f")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": 5}, "f.name: 5: must be a text"),
        ({"rows": {}}, "f.rows: must be a list"),
        ({"rows": [GOOD["rows"][0]] * 4}, "f.rows: must be a list of at most 3"),
        ({"rows": [{"at": 10, "on": True}]}, r"f.rows\[0\].at: 10: must be an integer in \[0, 9\]"),
        ({"rows": [{"at": True, "on": True}]}, r"f.rows\[0\].at: True"),
        ({"rows": [{"at": 0.5, "on": True}]}, r"f.rows\[0\].at: 0.5"),
        ({"rows": [{"at": 1}]}, r"f.rows\[0\]: on: is missing"),
        ({"rows": [7]}, r"f.rows\[0\]: 7: must be a table"),
        ({"kind": []}, "f.kind: a list: must be one of a, None"),
        ({"values": {"x": float("inf")}}, "f.values.x: inf: must be a number"),
    ],
)
def test_a_shape_names_what_has_not(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        require(GOOD | change, SHAPE, "f")
