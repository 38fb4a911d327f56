"""11 and 12. Fuzzing grows up; promises are documented."""

import re

from promises_rows.place import require, row

KINDS = {
    "mjcf": "MJCF with plugin configurations",
    "journal": "journals",
    "sweep": "sweep.json",
    "model": "embedded models",
    "texts": "texts of recordings",
    "identify": "tables of identify",
    "python": "the readers in Python",
}


def target_row(key, what):
    @row(f"F-target-{key}", 11, f"scripts/fuzz has a target for {what}")
    def show(place):
        text = (place.options.root / "scripts/fuzz").read_text()
        table = text[text.index("TARGETS = {") : text.index("\n}\n", text.index("TARGETS = {"))]
        names = re.findall(r'^    "(\w+)":', table, re.M)
        return require(any(key in name for name in names), f"targets: {', '.join(names)}")


for _key, _what in KINDS.items():
    target_row(_key, _what)


@row("F-test", 11, "scripts/test --all runs a fixed share of fuzzing")
def in_tests(place):
    text = (place.options.root / "scripts/test").read_text()
    return require("scripts/fuzz" in text, "scripts/test does not run scripts/fuzz", "it does")


@row("F-corpus", 11, "the corpus of each target is in the tree")
def corpus(place):
    folder = place.options.root / "tests/corpus"
    kinds = {file.suffix for file in folder.rglob("*") if file.is_file()}
    missing = [kind for kind in (".xml", ".jsonl", ".json", ".csv", ".h5") if kind not in kinds]
    return require(not missing, f"tests/corpus has no {', '.join(missing)}", ", ".join(sorted(kinds)))


@row("D-table", 12, "a page has the table of promises and of the tests that hold them")
def documented(place):
    found = [
        f.name
        for f in (place.options.root / "docs").rglob("*.md")
        if re.search(r"^\| *promise", f.read_text(), re.M | re.I)
    ]
    return require(found, "no page of docs has a table of promises", ", ".join(found))
