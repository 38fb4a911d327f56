"""Draws what a robot's tip reaches.

usage: tendril workspace ROBOT --json | python -m tendril.report.workspace --png FILE

Needs matplotlib. The first row has a cut along the base axis: dexterity, and the time of a solve. A row for
each kind of section follows: the curve or body of its end in the bend plane with a dot every 10 degrees, the body of
revolution cut open, and the ratio k and chord angle over the bend.
"""

import argparse
import pathlib
import sys

try:
    import matplotlib.style
    import numpy as np
    from matplotlib.colors import ListedColormap, LogNorm
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator
except ImportError as error:
    sys.exit(f"{error.name} is missing: install it with scripts/setup or pip install matplotlib")

from tendril._reading import parse_json
from tendril.report import STYLE
from tendril.report.drawing import INK, QUIET, save

MARKS = 10.0  # degrees of bend between the dots on a section's curve
MOST_SECTIONS = 4  # kinds of sections with a row
ROW = 3.4  # inches
WIDTH = 11.0  # inches
TURN = np.linspace(-np.pi / 2, np.pi, 73)  # of a body of revolution: the quarter towards the viewer is open
FILL, CURVE, LINE = "#9ecae1", "#0072b2", "#d55e00"
SHARED = ("constant_length", "variable_length", "bend_limit", "length_weights", "angle_weights")


def cell_map(study, value):
    """Values of the cells over rows and columns on both sides of the axis, NaN where the tip does not come."""
    values = np.full((study["rows"], study["columns"]), np.nan)
    for cell in study["cells"]:
        if (number := value(cell)) is not None:
            values[cell["row"], cell["column"]] = number
    return np.hstack([values[:, ::-1], values])


def draw_map(figure, axes, study, values, label, **style):
    edge, low = study["cell_edge"], study["lowest_z"]
    extent = (-study["columns"] * edge, study["columns"] * edge, low, low + study["rows"] * edge)
    reached = cell_map(study, lambda cell: 1.0)
    shared = {"origin": "lower", "extent": extent, "interpolation": "nearest", "aspect": "equal"}
    axes.imshow(reached, cmap=ListedColormap(["#d8dde3"]), **shared)
    if np.isfinite(values).any():
        image = axes.imshow(values, **shared, **style)
        figure.colorbar(image, ax=axes, label=label, fraction=0.05, pad=0.03)
    axes.set(xlabel="distance from the axis [m]", ylabel="z [m]")
    axes.axvline(0, color=QUIET, lw=0.8, linestyle="-.")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.grid(False)


def draw_whole(figure, study):
    feed = f", feed {study['feed']:g} m" if study["feed"] else ""
    figure.suptitle(
        f"{study['robot']}: {len(study['sections'])} section(s), {study['length']:g} m{feed}", parse_math=False
    )
    dexterity, time = figure.subplots(1, 2)
    shown = study["directions"] > 0
    values = cell_map(study, lambda cell: cell.get("dexterity"))
    most = (np.nanmax(values) if shown else 0.0) or 1.0
    draw_map(figure, dexterity, study, values, f"part of {study['directions']} tip directions", vmin=0, vmax=most)
    words = f"{len(study['cells'])} cells, {study['volume']:.3g} m³"
    dexterity.set_title(f"dexterity of {words}" if shown else words)
    values = cell_map(study, lambda cell: cell.get("time_us"))
    timed = np.isfinite(values).any()
    draw_map(figure, time, study, values, "time of a solve [µs]", cmap="magma", norm=LogNorm() if timed else None)
    time.set_title(f"{study['solver']}, gray: no target met" if timed else f"{study['solver']}: times not measured")


def draw_plane(axes, section):
    outline = np.array(section["outline"])
    theta, x, z = (np.array([bend[key] for bend in section["bends"]]) for key in ("theta", "x", "z"))
    marks = np.radians(np.arange(0.0, np.degrees(theta[-1]) + 1e-6, MARKS))
    for side in (1, -1):
        if section["variable_length"] > 0:
            axes.fill(side * outline[:, 0], outline[:, 1], color=FILL)
        axes.plot(side * outline[:, 0], outline[:, 1], color=CURVE)
        axes.plot(side * np.interp(marks, theta, x), np.interp(marks, theta, z), ".", color=CURVE, markersize=5)
    axes.axvline(0, color=QUIET, lw=0.8, linestyle="-.")
    axes.plot(0, 0, "s", color=INK, markersize=4)
    axes.set(aspect="equal", xlabel="x [m]", ylabel="z [m]")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    size = (
        f"body of {section['volume']:.3g} m³"
        if section["variable_length"] > 0
        else f"surface of {section['surface']:.3g} m²"
    )
    axes.set_title(f"end in the bend plane, {size}")


def draw_body(axes, section):
    outline = np.array(section["outline"])
    x = np.outer(np.abs(outline[:, 0]), np.cos(TURN))
    y = np.outer(np.abs(outline[:, 0]), np.sin(TURN))
    z = np.outer(outline[:, 1], np.ones_like(TURN))
    axes.plot_surface(x, y, z, color=FILL, alpha=0.75, linewidth=0, rcount=60, ccount=40)
    low = np.array([x.min(), y.min(), min(0.0, z.min())])
    high = np.array([x.max(), y.max(), z.max()])
    axes.set_box_aspect(np.maximum(high - low, 1e-3 * (high - low).max()))
    axes.set(xticks=[], yticks=[], zticks=[])
    axes.set_title("body of revolution")


def draw_bends(axes, section):
    theta = np.degrees([bend["theta"] for bend in section["bends"]])
    axes.plot(theta, np.degrees([bend["chord_angle"] for bend in section["bends"]]), color=CURVE)
    axes.set_xlabel("bend θ [deg]")
    axes.set_ylabel("chord angle α [deg]", color=CURVE)
    ratio = axes.twinx()
    ratio.plot(theta, [np.nan if bend["k"] is None else bend["k"] for bend in section["bends"]], color=LINE)
    ratio.set_ylabel("k = θ / α", color=LINE)
    ratio.grid(False)
    ratio.ticklabel_format(useOffset=False)
    axes.set_title("no critical bend")
    if section["critical_bend"] is not None:
        critical = np.degrees(section["critical_bend"])
        axes.axvline(critical, color=INK, lw=0.8, linestyle=":")
        axes.set_title(f"critical bend {critical:.2f}°, chord {np.degrees(section['critical_chord_angle']):.2f}°")


def kinds_of_sections(study):
    """Unlike sections with the numbers of those that are alike."""
    kinds = {}
    for number, section in enumerate(study["sections"], 1):
        kinds.setdefault(repr([section[key] for key in SHARED]), (section, []))[1].append(number)
    return list(kinds.values())


def draw(study):
    kinds = kinds_of_sections(study)
    shown = kinds[:MOST_SECTIONS]
    figure = Figure(figsize=(WIDTH, 1.45 * ROW + ROW * len(shown)), layout="constrained")
    parts = figure.subfigures(1 + len(shown), 1, height_ratios=[1.45] + [1.0] * len(shown), squeeze=False)[:, 0]
    draw_whole(parts[0], study)
    for part, (section, numbers) in zip(parts[1:], shown):
        words = ", ".join(map(str, numbers))
        if section is shown[-1][0] and len(kinds) > len(shown):
            words += f"; {len(kinds) - len(shown)} more kinds of sections are not drawn"
        part.suptitle(f"section {words}", fontsize="medium")
        draw_plane(part.add_subplot(1, 3, 1), section)
        draw_body(part.add_subplot(1, 3, 2, projection="3d"), section)
        draw_bends(part.add_subplot(1, 3, 3), section)
    return figure


def main():
    parser = argparse.ArgumentParser(description="Draws `tendril workspace ROBOT --json`, read from stdin.")
    parser.add_argument("--png", type=pathlib.Path, metavar="FILE", required=True)
    options = parser.parse_args()
    matplotlib.style.use(STYLE)
    try:
        figure = draw(parse_json(sys.stdin.read(), "stdin"))
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # ModelError is a ValueError
        sys.exit(f"workspace: stdin: must be that of tendril workspace ROBOT --json: {type(error).__name__}: {error}")
    save(figure, options.png, "png")


if __name__ == "__main__":
    main()
