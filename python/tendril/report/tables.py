"""Draws the tables of DIR/tables.json as PNG files in DIR: `python -m tendril.report.tables DIR`.

matrix_TABLE.png      success of every cell, an image for each method (tables 3.9, article)
curves_TABLE.png      success, mean time and iterations over the bend (article)
coverage_TABLE.png    the half-plane of each robot, its cells by who reached them (table 3.5)
time_TABLE.png        the time of a solve over these cells
success_TABLE.png     measured and published success of each row (the other tables)
histograms_TABLE.png  distributions of iterations and times of each row
spread_TABLE.png      least and largest time of each number of iterations
"""

import argparse
import pathlib
import re
import sys

from tendril._errors import ModelError
from tendril._reading import TEXT, Kind, ListOf, Table, read_json, require
from tendril._terminal import visible_streams
from tendril.report import STYLE
from tendril.report.distributions import draw_curves, draw_kinds, draw_time_map, unique

PUBLISHED = "#1f2933"
DARK = 45  # white numbers below this success, %

CELLS = ["#ffffff", "#0072b2", "#9ecae1", "#d55e00"]  # reached by none, both, inverse only, Monte-Carlo only


def save(figure, folder, name):
    figure.savefig(folder / name, dpi=110, bbox_inches="tight")
    print(folder / name)


def measured(table, method):
    return [row for row in table["rows"] if row["method"] == method and "success_percent" in row]


def draw_matrix(plt, table, folder):
    methods = [m for m in unique(row["method"] for row in table["rows"]) if measured(table, m)]
    if not methods:
        return
    groups = unique(row["group"] for row in table["rows"])
    columns = unique(row["column"] for row in table["rows"])
    across = min(2, len(methods))
    down = -(-len(methods) // across)
    figure, axes = plt.subplots(
        down,
        across,
        squeeze=False,
        sharex=True,
        sharey=True,
        layout="constrained",
        figsize=((0.8 + 0.34 * len(columns)) * across, (0.7 + 0.21 * len(groups)) * down),
    )
    for axis in axes.flat[len(methods) :]:
        axis.axis("off")
    for axis, method in zip(axes.flat, methods):
        values = [[float("nan")] * len(columns) for _ in groups]
        for row in measured(table, method):
            values[groups.index(row["group"])][columns.index(row["column"])] = row["success_percent"]
        image = axis.imshow(values, vmin=0, vmax=100, cmap="Oranges_r", aspect="auto")
        for i, line in enumerate(values):
            for j, value in enumerate(line):
                if value < 100:
                    axis.text(
                        j,
                        i,
                        f"{min(value, 99.9):.3g}",
                        ha="center",
                        va="center",
                        fontsize=6.5,
                        color="white" if value < DARK else PUBLISHED,
                    )
        axis.set_title(method)
        axis.set_xticks(range(len(columns)), [c.split()[0] for c in columns], fontsize=8)
        axis.set_yticks(range(len(groups)), groups, fontsize=8)
        axis.set_xticks([j - 0.5 for j in range(1, len(columns))], minor=True)
        axis.set_yticks([i - 0.5 for i in range(1, len(groups))], minor=True)
        axis.grid(False)
        axis.grid(which="minor", color="#d8dde3", lw=0.4)
        axis.tick_params(which="minor", length=0)
    figure.supxlabel("bend limit, deg", fontsize=10)
    figure.colorbar(
        image, ax=axes.ravel().tolist(), label="success, % (cells without a number: 100)", fraction=0.03, pad=0.01
    )
    save(figure, folder, f"matrix_{table['name']}.png")
    plt.close(figure)


def draw_coverage(plt, table, folder):
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    rows = [row for row in table["rows"] if "map" in row]
    if not rows:
        return
    names = unique(row["row"] for row in rows)
    methods = unique(row["method"] for row in rows)
    figure, axes = plt.subplots(len(methods), len(names), squeeze=False, figsize=(3.2 * len(names), 3.8 * len(methods)))
    for row in rows:
        axis = axes[methods.index(row["method"])][names.index(row["row"])]
        columns = row["columns"]
        cells = [[int(c) for c in row["map"][i : i + columns]] for i in range(0, len(row["map"]), columns)]
        stride = row["stride"]
        axis.imshow(
            cells,
            origin="lower",
            cmap=ListedColormap(CELLS),
            vmin=0,
            vmax=3,
            interpolation="nearest",
            extent=(0, columns * stride, -3, -3 + len(cells) * stride),
        )
        axis.set_title(f"{row['row']}, {row['method']}\nMonte-Carlo only: {row['monte_carlo_only']}", fontsize=9)
        axis.set_xlabel("distance from the axis, mm")
        axis.set_ylabel("height, mm")
    figure.legend(
        handles=[
            Patch(color=CELLS[1], label="both"),
            Patch(color=CELLS[2], label="inverse kinematics only"),
            Patch(color=CELLS[3], label="Monte-Carlo only"),
        ],
        loc="lower center",
        ncols=3,
    )
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    save(figure, folder, f"coverage_{table['name']}.png")
    plt.close(figure)


def draw_success(plt, table, folder):
    names = unique(row["row"] for row in table["rows"])
    methods = [m for m in unique(row["method"] for row in table["rows"]) if measured(table, m)]
    if not methods:
        return
    height = 0.8 / len(methods)
    figure, axis = plt.subplots(figsize=(8, 0.8 + 0.22 * len(names) * len(methods)))
    for k, method in enumerate(methods):
        for row in measured(table, method):
            y = names.index(row["row"]) - 0.4 + (k + 0.5) * height
            axis.barh(
                y, row["success_percent"], height, color=f"C{k}", label=method if row["row"] == names[0] else None
            )
            for published in row["published"]:
                if published["success_percent"] is not None:
                    axis.plot(
                        [published["success_percent"]] * 2, [y - height / 2, y + height / 2], color=PUBLISHED, lw=2
                    )
    axis.plot([], [], color=PUBLISHED, lw=2, label="published")
    axis.set_yticks(range(len(names)), names)
    axis.invert_yaxis()
    axis.set_xlim(0, 100)
    axis.set_xlabel("success, %")
    axis.set_title(f"Table {table['name']}: {table['title']}", fontsize=10)
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    save(figure, folder, f"success_{table['name']}.png")
    plt.close(figure)


_TABLES = Table(
    {
        "tables": ListOf(
            Table(
                {
                    "name": Kind("a name", lambda value: re.fullmatch(r"[\w.-]+", str(value)) is not None),
                    "title": TEXT,
                    "rows": ListOf(Table({"row": TEXT, "method": TEXT, "group": TEXT, "column": TEXT})),
                }
            )
        )
    }
)


def draw(plt, tables, folder):
    for table in tables:
        if any("map" in row for row in table["rows"]):
            draw_coverage(plt, table, folder)
            draw_time_map(plt, table, folder, save)
        elif any(row["column"] for row in table["rows"]):
            draw_matrix(plt, table, folder)
            draw_curves(plt, table, folder, save)
        else:
            draw_success(plt, table, folder)
            draw_kinds(plt, table, folder, save)


def main(arguments=None):
    with visible_streams():
        return run(arguments)


def run(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example: python -m tendril.report.tables out/tables",
    )
    parser.add_argument("folder", metavar="DIR", type=pathlib.Path, help="folder of tables.json")
    folder = parser.parse_args(arguments).folder
    file = folder / "tables.json"
    try:
        content = read_json(file)
        require(content, _TABLES, f"{file}: tables")
    except ModelError as error:
        print(f"tables: {error}", file=sys.stderr)
        return 2
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        plt.style.use(STYLE)
    except ImportError as error:
        print(f"tables: Python module {error.name or error} is missing: pip install matplotlib", file=sys.stderr)
        return 4
    try:
        draw(plt, content["tables"], folder)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        print(f"tables: {file}: must be that of tendril tables: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
