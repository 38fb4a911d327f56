#!/usr/bin/env python3
"""Draws an SVG picture of `tendril plan` as a PNG beside it.

usage: plan_picture.py FILE.svg     writes FILE.png

Reads the elements that the program writes (rect, circle, line, polygon, polyline, text), not SVG in general.
"""

import pathlib
import sys
import xml.etree.ElementTree

PIXELS_PER_INCH = 100
SCALE = 2  # pixels of the picture to one of the drawing
POINTS = 72 / PIXELS_PER_INCH  # of a pixel of the drawing
ANCHORS = {"start": "left", "middle": "center", "end": "right"}


def draw(axes, element):
    from matplotlib import patches
    from matplotlib.lines import Line2D

    def number(name, default=0.0):
        return float(element.get(name, default))

    kind = element.tag.rpartition("}")[2]
    stroke, fill = element.get("stroke", "none"), element.get("fill", "none")
    style = {"linewidth": number("stroke-width", 1) * POINTS if stroke != "none" else 0}
    face = {"edgecolor": stroke, "facecolor": fill, **style}
    if kind == "rect":
        return axes.add_patch(patches.Rectangle((number("x"), number("y")), number("width"), number("height"), **face))
    if kind == "circle":
        return axes.add_patch(patches.Circle((number("cx"), number("cy")), number("r"), **face))
    if kind == "line":
        return axes.add_line(Line2D([number("x1"), number("x2")], [number("y1"), number("y2")], color=stroke, **style))
    if kind in ("polygon", "polyline"):
        points = [[float(value) for value in pair.split(",")] for pair in element.get("points").split()]
        if kind == "polygon":
            return axes.add_patch(patches.Polygon(points, closed=True, **face))
        dashes = element.get("stroke-dasharray")
        dashed = (0, [float(value) for value in dashes.split(",")]) if dashes else "-"
        return axes.add_line(Line2D(*zip(*points), color=stroke, alpha=number("stroke-opacity", 1), linestyle=dashed,
                                    solid_capstyle="round", solid_joinstyle="round", **style))
    if kind == "text":
        return axes.text(number("x"), number("y"), element.text or "", fontsize=number("font-size") * POINTS, color=fill,
                         ha=ANCHORS[element.get("text-anchor", "start")], va="baseline", parse_math=False)
    raise ValueError(f"{kind}: is no element that this script draws")


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    file = pathlib.Path(sys.argv[1])
    root = xml.etree.ElementTree.parse(file).getroot()
    width, height = float(root.get("width")), float(root.get("height"))
    figure = pyplot.figure(figsize=(width / PIXELS_PER_INCH, height / PIXELS_PER_INCH))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    for order, element in enumerate(root):
        draw(axes, element).set_zorder(order)
    figure.savefig(file.with_suffix(".png"), dpi=SCALE * PIXELS_PER_INCH)
    return 0


if __name__ == "__main__":
    sys.exit(main())
