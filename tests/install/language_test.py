#!/usr/bin/env python3
"""The sentences of the documents are short.

usage: language_test.py [--report] [PAGE ...]

Counts the words of each sentence of all pages (of these pages) without code, formulas, headings and targets of links.
A sentence ends with ". ", "! ", "? ", or with its paragraph, item or cell. In each page at most 40 words a sentence,
and at most 18 on average over sentences of running text (cells of tables are left out of the average, as is the
changelog). --report prints the numbers of each page.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST, AVERAGE = 40, 18.0
CODE_SPAN = re.compile(r"``.*?``|`[^`]*`")
END = re.compile(r"(?<=[.!?])\s+|(?<=[.!?]\))\s+")
SHORT_FORM = re.compile(r"\b(e\.g|i\.e|cf|vs|Fig|Eq|eq|et al|approx)\.")


def blocks(text):
    """Paragraphs, items and cells: number of their first line, whether they are running text, and the text."""
    lines, first, in_code, is_open = [], 0, False, True
    for number, line in enumerate([*text.splitlines(), ""], 1):
        stripped = line.strip()
        if re.match(r"(```|~~~)", stripped):
            in_code, stripped = not in_code, ""
        item = re.match(r"(?:[-*+]|\d+\.)\s+(.*)", stripped)
        is_code = in_code or (line.startswith("    ") and not lines and is_open)
        if not stripped or is_code or item or re.match(r"[#|]|<!--|\$\$", stripped):
            if lines:
                yield first, True, " ".join(lines)
            lines = []
        is_open = not stripped or (is_open and is_code)
        if not stripped or is_code or re.match(r"#|<!--|\$\$", stripped):
            continue
        if stripped.startswith("|"):
            cells = CODE_SPAN.sub("code", stripped.replace(r"\|", "/")).strip("|").split("|")
            yield from ((number, False, cell) for cell in cells)
            continue
        if not lines:
            first = number
        lines.append(item[1] if item else stripped)


def sentences(text):
    """Sentences with their numbers of words."""
    text = CODE_SPAN.sub("code", text)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\$[^$]*\$", "formula", text)
    for sentence in END.split(SHORT_FORM.sub(r"\1", text)):
        if count := sum(bool(re.search(r"\w", word)) for word in sentence.split()):
            yield sentence, count


def pages():
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", nargs="*", type=Path)
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    problems, words = [], 0
    for page in [page.resolve() for page in options.page] or pages():
        counts, name = [], page.relative_to(ROOT)
        for number, is_text, block in blocks(page.read_text(encoding="utf-8")):
            for sentence, count in sentences(block):
                words += count
                if count > LONGEST:
                    problems.append(f"{name}:{number}: {count} words, at most {LONGEST}: {sentence[:60]} ...")
                if is_text and count > 2:
                    counts.append(count)
        average = sum(counts) / max(1, len(counts))
        if average > AVERAGE:
            problems.append(f"{name}: {average:.1f} words a sentence, at most {AVERAGE:g}")
        if options.report:
            print(f"{name}: {average:.1f} words a sentence of {len(counts)}, longest {max(counts, default=0)}")
    print("\n".join(problems), end="\n" if problems else "")
    if options.report:
        print(f"{words} words")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
