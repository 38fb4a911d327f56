#!/usr/bin/env python3
"""The documents and the references to them agree.

usage: docs_test.py [--verbose]

Checks in the source tree that
- every docs/NAME.md that a file names exists;
- every section quoted behind such a name (docs/NAME.md, "Title") is a heading of that document;
- every relative link of a document leads to a file, and every #anchor of a link to a heading;
- every line of a table has as many columns as its header;
- every test that docs/results/promises.md names exists, and every row of bench/promises.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [
    "apps",
    "bench",
    "cmake",
    "controllers",
    "docs",
    "links",
    "models",
    "plugin",
    "python",
    "rendering",
    "scenes",
    "scripts",
    "simulation",
    "tendril",
    "tests",
]
ENDINGS = {".c", ".cmake", ".cpp", ".hpp", ".in", ".md", ".py", ".sh", ".toml", ".txt", ".xml", ""}
REFERENCE = re.compile(r'\bdocs/([\w./-]+\.md)((?:,? and|,)? "[^"]+"(?:,? and "[^"]+")*)?')
QUOTED = re.compile(r'"([^"]+)"')
LINK = re.compile(r"\]\(([^()\s]+)\)")
CODE_SPAN = re.compile(r"`[^`]*`")


def sources():
    """Files of the tree that may name documents."""
    files = [path for path in ROOT.iterdir() if path.is_file()]
    for folder in FOLDERS:
        files += (path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return sorted(path for path in files if path.suffix in ENDINGS and path != Path(__file__).resolve())


def text_of(path):
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def prose(text):
    """Lines of a document with their numbers, without code blocks."""
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*```", line):
            in_code = not in_code
        elif not in_code:
            yield number, line


def headings(path):
    """Titles of a document's sections, as written."""
    found = (re.match(r"#+\s+(.*?)\s*$", line) for _, line in prose(text_of(path)))
    return [match.group(1) for match in found if match]


def anchors(path):
    """Returns the headings as GitHub calls them in links."""
    names = []
    for title in headings(path):
        name = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        names.append(name if name not in names else f"{name}-{names.count(name)}")
    return names


def unwrapped(text):
    """Comments and paragraphs on one line each, so that a reference may be broken in two."""
    return re.sub(r"\s*\n\s*(?://[/!]?<?|#|\*)?\s*", " ", text)


def check_references(path, problems):
    for name, sections in REFERENCE.findall(unwrapped(text_of(path))):
        document = ROOT / "docs" / name
        if not document.exists():
            problems.append(f"{path.relative_to(ROOT)}: docs/{name} does not exist")
            continue
        for section in QUOTED.findall(sections):
            if section not in headings(document):
                problems.append(f'{path.relative_to(ROOT)}: docs/{name} has no section "{section}"')


def check_links(path, problems):
    for number, line in prose(text_of(path)):
        for target in LINK.findall(CODE_SPAN.sub("", line)):
            if re.match(r"\w+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = path.parent / name if name else path
            if not file.exists():
                problems.append(f"{path.relative_to(ROOT)}:{number}: {target} does not exist")
            elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                problems.append(f"{path.relative_to(ROOT)}:{number}: {target}: there is no such heading")


def columns(line):
    """Cells of a line of a table; a | in a code span or behind a backslash divides none."""
    line = CODE_SPAN.sub("", line.strip().replace(r"\|", ""))
    return line.strip("|").count("|") + 1 if line.startswith("|") and line.endswith("|") else 0


def check_tables(path, problems):
    header = None
    for number, line in prose(text_of(path)):
        if not line.strip().startswith("|"):
            header = None
            continue
        if header is None:
            header = columns(line)
        if columns(line) != header or header == 0:
            problems.append(f"{path.relative_to(ROOT)}:{number}: {columns(line)} columns, the header has {header}")


def check_promises(problems):
    """A cell of tests has files, each before the names of its tests; one of rows the beginnings of their ids."""
    page = ROOT / "docs/results/promises.md"
    listed = subprocess.run([sys.executable, ROOT / "bench/promises", "--list"], capture_output=True, text=True)
    ids = [line.split()[0] for line in listed.stdout.splitlines()]
    for number, line in prose(text_of(page)):
        cells = [re.findall("`([^`]*)`", cell) for cell in line.strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 3:
            continue
        test = ""
        for name in cells[1]:
            if name.startswith("tests/"):
                test = text_of(ROOT / name) if (ROOT / name).is_file() else ""
            if not test or not (name.startswith("tests/") or name in test):
                problems.append(f"{page.relative_to(ROOT)}:{number}: {name} does not exist")
        for name in cells[2]:
            if not any(one.startswith(name) for one in ids):
                problems.append(f"{page.relative_to(ROOT)}:{number}: bench/promises has no row {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verbose", action="store_true", help="print how much was checked")
    arguments = parser.parse_args()
    problems = []
    files = sources()
    documents = [path for path in files if path.suffix == ".md"]
    for path in files:
        check_references(path, problems)
    for path in documents:
        check_links(path, problems)
        check_tables(path, problems)
    check_promises(problems)
    if arguments.verbose:
        print(f"{len(files)} files, {len(documents)} documents")
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems or not documents else 0


if __name__ == "__main__":
    sys.exit(main())
