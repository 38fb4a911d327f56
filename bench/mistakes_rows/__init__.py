"""Rows of bench/mistakes: `first` are those of the first review, the others those of the second one, by topic."""

from dataclasses import replace

from mistakes_rows import experiments, exports, first, python, robots, scenes

FIRST = "first"
TOPICS = {
    name: [replace(mistake, topic=name) for mistake in module.MISTAKES]
    for name, module in (
        (FIRST, first),
        ("scenes", scenes),
        ("robots", robots),
        ("experiments", experiments),
        ("exports", exports),
        ("python", python),
    )
}
MISTAKES = [mistake for rows in TOPICS.values() for mistake in rows]
