#!/usr/bin/env python3
"""Draws docs/images/theory_*.svg, the figures of the concepts: section, base, link, tendon, tube, chord FABRIK.

docs/images/draw_theory.py [FOLDER] [--png]      (default: the folder of this script)

Needs NumPy and matplotlib. With --png each figure is written as PNG too, to look at.
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Arc, Circle, FancyArrowPatch, Polygon, Rectangle

INK, GRAY, PALE = "#222222", "#8a8a8a", "#e3e8ee"
BODY, SECOND, GOAL, FREE = "#2a6fb0", "#d9702b", "#b3261e", "#3a8f4d"
AXES = {"x": "#b3261e", "y": "#3a8f4d", "z": "#2a5db0"}

plt.rcParams.update(
    {
        "svg.fonttype": "path",
        "svg.hashsalt": "tendril",
        "font.size": 11,
        "font.family": "DejaVu Sans",
        "mathtext.fontset": "dejavusans",
        "text.color": INK,
    }
)


def panels(count, width, height, ratios=None):
    figure, axes = plt.subplots(1, count, figsize=(width, height), width_ratios=ratios, facecolor="white")
    figure.subplots_adjust(left=0.01, right=0.99, bottom=0.01, top=0.92, wspace=0.03)
    axes = np.atleast_1d(axes)
    for one in axes:
        one.set_aspect("equal")
        one.axis("off")
    return figure, axes


def arrow(axis, start, end, color=INK, width=1.6, style="-|>", **more):
    axis.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle=style,
            mutation_scale=6 + 3 * width,
            color=color,
            lw=width,
            shrinkA=0,
            shrinkB=0,
            **more,
        )
    )


def label(axis, at, words, color=INK, **more):
    axis.text(*at, words, color=color, **{"ha": "center", "va": "center", **more})


def pointer(axis, at, place, words, color=INK, style="->", **more):
    """A label with an arrow or a line to what it names."""
    line = {"arrowstyle": style, "color": color, "lw": 0.9}
    axis.annotate(words, at, place, color=color, arrowprops=line, **{"ha": "center", "va": "center", **more})


def span(axis, start, end, words, offset):
    """A dimension: a line with two heads, and its label at an offset from the middle."""
    arrow(axis, start, end, GRAY, 1.1, "<|-|>")
    middle = (np.asarray(start) + end) / 2 + offset
    label(axis, middle, words)


def angle_arc(axis, center, radius, first, last, words, color=INK, out=1.28):
    """An angle from `first` to `last` [deg] with its label outside of the arc."""
    axis.add_patch(Arc(center, 2 * radius, 2 * radius, theta1=first, theta2=last, color=color, lw=1.3))
    middle = np.radians((first + last) / 2)
    label(axis, (center[0] + out * radius * np.cos(middle), center[1] + out * radius * np.sin(middle)), words, color)


def arc_points(theta, length, start=(0.0, 0.0), heading=0.0, count=60):
    """Points and headings of an arc in the plane; a heading of 0 points up, a bend is to the right."""
    fractions = np.linspace(0.0, 1.0, count)
    headings = heading + theta * fractions
    middles = (headings[1:] + headings[:-1]) / 2
    steps = length / (count - 1) * np.sinc(theta / (count - 1) / 2 / np.pi)
    points = np.vstack([[0.0, 0.0], np.cumsum(steps * np.column_stack([np.sin(middles), np.cos(middles)]), axis=0)])
    return points + start, headings


def offset_points(points, headings, distance):
    return points + np.reshape(distance, (-1, 1)) * np.column_stack([np.cos(headings), -np.sin(headings)])


# ---- a section in space ----


def project(point):
    """A view from above: x to the lower left, y to the right, z up."""
    x, y, z = np.moveaxis(np.asarray(point, float), -1, 0)
    return np.stack([-0.50 * x + 0.87 * y, -0.36 * x - 0.14 * y + 0.93 * z], axis=-1)


def spatial_frame(axis, origin, rotation, size, names):
    for column, name in enumerate("xyz"):
        tip = origin + size * rotation[:, column]
        arrow(axis, project(origin), project(tip), AXES[name], 1.8)
        if name in names:
            label(axis, project(origin + 1.17 * size * rotation[:, column]), names[name], AXES[name])


def section():
    theta, phi, length = 1.45, np.radians(62.0), 1.0
    figure, (space, plane) = panels(2, 8.2, 4.3, [1.5, 1.0])
    e, z = np.array([np.cos(phi), np.sin(phi), 0.0]), np.array([0.0, 0.0, 1.0])
    planar, _ = arc_points(theta, length)
    body = planar[:, :1] * e + planar[:, 1:] * z
    space.add_patch(Polygon(project([0.0 * e, 1.25 * e, 1.25 * e + 0.95 * z, 0.95 * z]), color=PALE, zorder=0))
    label(space, project(0.93 * e + 0.40 * z), "bend plane", GRAY, fontsize=9.5)
    vertex = length / theta * np.tan(theta / 2) * z
    space.plot(*project([0 * z, vertex, body[-1]]).T, color=GRAY, lw=1.2, ls="--")
    space.plot(*project([vertex, vertex + 0.25 * z]).T, color=GRAY, lw=0.8)
    space.plot(*project([0 * e, 1.25 * e]).T, color=GRAY, lw=0.9, ls=":")
    space.plot(*project(body[:41]).T, color=BODY, lw=7, solid_capstyle="butt")
    space.plot(*project(body[40:]).T, color=SECOND, lw=7, solid_capstyle="butt")
    spatial_frame(space, 0 * z, np.eye(3), 0.45, {"x": "$x$", "y": "$y$"})
    label(space, (project(0.42 * z) + [-0.06, 0.0]), "$z$", AXES["z"])
    tip_z = np.sin(theta) * e + np.cos(theta) * z
    tip_x = np.cos(phi) * (np.cos(theta) * e - np.sin(theta) * z) - np.sin(phi) * np.cross(z, e)
    spatial_frame(
        space,
        body[-1],
        np.column_stack([tip_x, np.cross(tip_z, tip_x), tip_z]),
        0.26,
        {"x": "$x$", "y": "$y$", "z": "$z$"},
    )
    label(space, (project(body[0]) + [-0.06, 0.02]), "base S", ha="right")
    label(space, (project(body[-1]) + [0.06, 0.07]), "tip E", ha="left")
    turn = np.linspace(0.0, theta, 30)[:, None]
    space.plot(*project(vertex + 0.16 * (np.sin(turn) * e + np.cos(turn) * z)).T, color=INK, lw=1.3)
    label(space, project(vertex + 0.24 * (np.sin(0.6) * e + np.cos(0.6) * z)), r"$\theta$")
    turn = np.linspace(0.0, phi, 20)[:, None]
    space.plot(*project(0.30 * (np.cos(turn) * [1, 0, 0] + np.sin(turn) * [0, 1, 0])).T, color=INK, lw=1.3)
    label(space, project(0.40 * np.array([np.cos(0.55), np.sin(0.55), 0])), r"$\varphi$")
    label(space, (project(body[9]) + [0.10, 0.02]), "$S_C$", BODY)
    label(space, (project(body[47]) + [0.0, 0.09]), "$s$", SECOND)
    space.set_title(r"length $S = S_C + s$, bend $\theta$, bend direction $\varphi$", fontsize=11)
    space.set_xlim(-0.42, 1.02)
    space.set_ylim(-0.42, 1.0)
    bend_vector(plane, theta, phi)
    return figure


def bend_vector(axis, theta, phi):
    u, v = theta * np.cos(phi), theta * np.sin(phi)
    axis.add_patch(Circle((0, 0), 2.0, fill=False, color=GRAY, lw=1.1, ls="--"))
    label(axis, (-1.75, -1.85), "bend limit", GRAY, fontsize=9.5)
    arrow(axis, (-2.3, 0), (2.5, 0), AXES["x"], 1.2)
    arrow(axis, (0, -2.3), (0, 2.5), AXES["y"], 1.2)
    label(axis, (2.42, -0.25), "$u$", AXES["x"])
    label(axis, (-0.25, 2.4), "$v$", AXES["y"])
    axis.plot([u, u], [0, v], color=GRAY, lw=1, ls=":")
    axis.plot([0, u], [v, v], color=GRAY, lw=1, ls=":")
    arrow(axis, (0, 0), (u, v), BODY, 2.4)
    label(axis, (0.55 * u - 0.22, 0.55 * v + 0.10), r"$\theta$", BODY)
    angle_arc(axis, (0, 0), 0.42, 0, np.degrees(phi), r"$\varphi$", out=1.35)
    label(axis, (u + 0.25, -0.30), r"$\theta\cos\varphi$", fontsize=10)
    label(axis, (-0.08, v), r"$\theta\sin\varphi$", ha="right", fontsize=10)
    axis.set_title("bend vector $(u, v)$", fontsize=11)
    axis.set_xlim(-2.6, 2.8)
    axis.set_ylim(-2.6, 2.8)


# ---- base, feed, spin, guide ----


def base():
    figure, (free, guided) = panels(2, 8.2, 3.5, [1.0, 1.55])
    base_block(free, 0.0)
    arm, headings = arc_points(1.1, 1.15, (0.0, 0.55))
    strip(free, arm, headings, 0.07, BODY)
    arrow(free, (0, 0), (0.42, 0), AXES["x"], 1.8)
    arrow(free, (0, 0), (0, 0.36), AXES["z"], 1.8, zorder=5)
    label(free, (0.47, 0.0), "$x$", AXES["x"], ha="left")
    label(free, (-0.10, 0.30), "$z$", AXES["z"])
    label(free, (0.08, -0.16), "B")
    free.plot([-0.62, 0.14], [0.55, 0.55], color=GRAY, lw=0.8)
    free.plot([-0.62, -0.2], [0.0, 0.0], color=GRAY, lw=0.8)
    span(free, (-0.55, 0.0), (-0.55, 0.55), "feed $h$", (-0.27, 0.0))
    free.add_patch(Arc((0, 0.45), 0.46, 0.17, theta1=200, theta2=500, color=SECOND, lw=1.6))
    arrow(free, (-0.17, 0.507), (-0.222, 0.472), SECOND, 1.6)
    label(free, (0.27, 0.42), r"spin $\omega_0$", SECOND, ha="left")
    label(free, (0.30, 1.05), "sections", BODY, ha="left")
    free.set_title("feed and spin", fontsize=11)
    free.set_xlim(-1.1, 1.0)
    free.set_ylim(-0.32, 1.6)

    exit_z, feed, clearance, radius = 1.0, 0.45, 0.05, 0.065
    guided.add_patch(Rectangle((0, radius + clearance), exit_z, 0.09, color=GRAY))
    guided.add_patch(Rectangle((0, -radius - clearance - 0.09), exit_z, 0.09, color=GRAY))
    straight = np.column_stack([np.linspace(feed, exit_z, 20), np.zeros(20)])
    strip(guided, straight, np.full(20, np.pi / 2), radius, BODY)
    arm, headings = arc_points(-1.0, 1.1, (exit_z, 0.0), np.pi / 2)
    strip(guided, arm, headings, radius, BODY)
    arrow(guided, (0, 0), (0.32, 0), AXES["z"], 1.8)
    arrow(guided, (0, 0), (0, 0.44), AXES["x"], 1.8)
    label(guided, (0.27, -0.09), "$z$", AXES["z"], fontsize=10)
    label(guided, (-0.07, 0.40), "$x$", AXES["x"])
    label(guided, (-0.09, -0.02), "B")
    guided.plot([feed, feed], [-0.08, -0.5], color=GRAY, lw=0.8)
    guided.plot([0, 0], [-0.05, -0.78], color=GRAY, lw=0.8)
    guided.plot([exit_z, exit_z], [-0.22, -0.78], color=GRAY, lw=0.8)
    span(guided, (0, -0.42), (feed, -0.42), "feed $h$", (0, -0.1))
    span(guided, (0, -0.70), (exit_z, -0.70), "guide length", (0, -0.1))
    label(guided, (0.10, 0.33), "guide: links inside are straight", ha="left", fontsize=9.5)
    pointer(guided, (0.97, 0.09), (1.28, -0.36), "clearance to\neach wall", fontsize=9.5)
    label(guided, (1.82, -0.02), "free length", BODY, fontsize=10)
    guided.set_title("feed through a guide", fontsize=11)
    guided.set_xlim(-0.25, 2.2)
    guided.set_ylim(-0.95, 0.9)
    return figure


def base_block(axis, z):
    axis.add_patch(Rectangle((-0.3, z - 0.1), 0.6, 0.1, facecolor=PALE, edgecolor=GRAY, hatch="///", lw=0.8))
    axis.plot([0, 0], [z, 0.55], color=GRAY, lw=5)


def strip(axis, points, headings, radius, color):
    """A body of a radius around a centerline."""
    sides = [offset_points(points, headings, one * radius) for one in (-1, 1)]
    axis.add_patch(Polygon(np.vstack([sides[0], sides[1][::-1]]), facecolor=color, alpha=0.28, lw=0))
    for side in sides:
        axis.plot(*side.T, color=color, lw=1.4)
    axis.plot(*points.T, color=color, lw=0.9, ls="-.")


# ---- one link, and the chain against the arc ----


def link():
    figure, (one, chain) = panels(2, 8.2, 4.0, [1.0, 1.15])
    one.add_patch(Rectangle((-0.22, -1.0), 0.44, 2.0, facecolor=PALE, edgecolor=INK, lw=1.3))
    one.plot([0, 0], [-1.25, -0.28], color=INK, lw=1.6)
    one.plot([0, 0], [0.36, 1.25], color=INK, lw=1.6)
    one.add_patch(Rectangle((-0.10, -0.52), 0.2, 0.26, facecolor="white", edgecolor=FREE, lw=1.8))
    arrow(one, (0, -0.50), (0, -0.28), FREE, 1.2, "<|-|>")
    one.add_patch(Rectangle((-0.17, -0.12), 0.34, 0.12, facecolor="white", edgecolor=AXES["x"], lw=1.8))
    one.plot([-0.30, 0.30], [-0.06, -0.06], color=AXES["x"], lw=1.0, ls="-.")
    one.add_patch(Circle((0, 0.19), 0.11, facecolor="white", edgecolor=AXES["y"], lw=1.8))
    one.plot(0, 0.19, ".", color=AXES["y"], ms=5)
    label(
        one, (0.38, -0.39), "slide, if the length varies\n(even links: after the hinges)", FREE, ha="left", fontsize=9.5
    )
    label(one, (0.38, -0.06), "hinge about $x$: $-v\\,b$", AXES["x"], ha="left", fontsize=10)
    label(one, (0.38, 0.19), "hinge about $y$: $u\\,b$", AXES["y"], ha="left", fontsize=10)
    label(one, (0.38, 0.46), "(order varies)", GRAY, ha="left", fontsize=9.5)
    one.plot([-0.62, -0.26], [1.0, 1.0], color=GRAY, lw=0.8)
    one.plot([-0.62, -0.26], [-1.0, -1.0], color=GRAY, lw=0.8)
    span(one, (-0.55, -1.0), (-0.55, 1.0), "$l = L/N$", (-0.3, 0.0))
    label(one, (0.3, 0.86), "start of the next link", GRAY, ha="left", fontsize=9.5)
    label(one, (0.3, -0.86), "end of the previous link", GRAY, ha="left", fontsize=9.5)
    one.set_title("one link: joints at its middle", fontsize=11)
    one.set_xlim(-1.15, 2.0)
    one.set_ylim(-1.4, 1.35)
    chain_and_arc(chain)
    return figure


def chain_and_arc(axis, links=4):
    theta = np.radians(100)
    arc, _ = arc_points(theta, 1.0)
    bends = theta / links * np.array([13, 11, 11, 13]) / 12
    point, heading, joints = np.zeros(2), 0.0, []
    corners, ends = [point], [point]
    for bend in bends:
        joints.append(point + np.array([np.sin(heading), np.cos(heading)]) / links / 2)
        heading += bend
        point = joints[-1] + np.array([np.sin(heading), np.cos(heading)]) / links / 2
        corners.append(joints[-1])
        ends.append(point)
    corners.append(point)
    axis.plot(*arc.T, color=SECOND, lw=6, alpha=0.55, solid_capstyle="butt")
    axis.plot(*np.array(corners).T, color=BODY, lw=2.2)
    axis.plot(*np.array(joints).T, "o", color=BODY, ms=7)
    axis.plot(*np.array(ends).T, "|", color=INK, ms=9, mew=1.4)
    axis.plot(0, 0, "s", color=GRAY, ms=9)
    label(axis, (0.06, -0.02), "base", GRAY, ha="left", fontsize=9.5)
    pointer(axis, arc[14], arc[14] + [0.16, -0.06], "arc", SECOND, style="-", ha="left", fontsize=10)
    label(axis, joints[0] + [-0.08, 0.0], "joint: $13/12$ of $\\theta/N$", ha="right", fontsize=9.5)
    label(axis, joints[1] + [-0.05, 0.05], "$11/12$", ha="right", fontsize=9.5)
    label(axis, joints[2] + [-0.01, 0.07], "$11/12$", fontsize=9.5)
    label(axis, joints[3] + [0.04, 0.06], "$13/12$", ha="left", fontsize=9.5)
    pointer(axis, ends[2], ends[2] + [0.12, -0.12], "ends of the links", ha="left", fontsize=9.5)
    axis.set_title("chain of $N = 4$ links and its arc", fontsize=11)
    axis.set_xlim(-0.42, 0.92)
    axis.set_ylim(-0.12, 0.84)


# ---- tendons ----


def tendon():
    figure, (cross, side) = panels(2, 8.2, 3.6, [1.0, 1.35])
    cross.add_patch(Circle((0, 0), 1.0, facecolor=PALE, edgecolor=INK, lw=1.4))
    arrow(cross, (0, 0), (1.45, 0), AXES["x"], 1.6)
    arrow(cross, (0, 0), (0, 1.45), AXES["y"], 1.6)
    label(cross, (1.52, 0.0), "$x$", AXES["x"], ha="left")
    label(cross, (0.0, 1.56), "$y$", AXES["y"])
    start, distance = 50.0, 0.72
    for number, color in enumerate((SECOND, BODY, BODY)):
        angle = np.radians(start + 120 * number)
        at = distance * np.array([np.cos(angle), np.sin(angle)])
        cross.add_patch(Circle(at, 0.09, facecolor=color, edgecolor="white", lw=1))
        if number == 0:
            arrow(cross, (0, 0), 0.88 * at, SECOND, 1.6)
            label(cross, (0.55 * at + [-0.14, 0.10]), "$r$", SECOND)
            label(cross, (at + [0.62, 0.30]), "tendon", SECOND)
    cross.plot(0, 0, "o", color=INK, ms=4)
    label(cross, (-0.08, -0.17), "backbone", fontsize=9.5)
    angle_arc(cross, (0, 0), 0.34, 0, start, "$a$", SECOND, 1.42)
    cross.set_title("angle $a$ and distance $r$", fontsize=11)
    cross.set_xlim(-1.3, 1.8)
    cross.set_ylim(-1.3, 1.75)
    tendon_paths(side)
    return figure


def tendon_paths(axis):
    first, headings = arc_points(0.75, 1.0)
    second, more = arc_points(-0.65, 0.9, first[-1], headings[-1])
    strip(axis, first, headings, 0.15, GRAY)
    strip(axis, second, more, 0.15, GRAY)
    for points, angles in ((first, headings), (second, more)):
        sides = [offset_points(points, angles, one) for one in (-0.15, 0.15)]
        for index in (0, 20, 40, 59):
            axis.plot(*np.array([side[index] for side in sides]).T, color=GRAY, lw=1.6)
    right = np.vstack([offset_points(first, headings, 0.1), offset_points(second, more, 0.1)])
    left = offset_points(first, headings, -0.1)
    axis.plot(*right.T, color=BODY, lw=2.2)
    axis.plot(*left.T, color=SECOND, lw=2.2)
    axis.plot(*left[-1], "o", color=SECOND, ms=6)
    axis.plot(*right[-1], "o", color=BODY, ms=6)
    for x, color in ((-0.1, SECOND), (0.1, BODY)):
        arrow(axis, (x, 0), (x, -0.22), color, 2.0)
    label(axis, (0.2, -0.15), "tension $T$", ha="left", fontsize=10)
    label(axis, (-0.2, 0.62), "tendon with\nsection = 1", SECOND, ha="right", fontsize=10)
    label(axis, (0.93, 1.25), "tendon with\nsection = 2", BODY, ha="left", fontsize=10)
    label(axis, (0.42, 0.46), "section 1", ha="left", fontsize=10)
    label(axis, (0.18, 1.62), "section 2", ha="right", fontsize=10)
    axis.set_title("path: parallel to the backbone, up to the end of its section", fontsize=11)
    axis.set_xlim(-0.95, 1.75)
    axis.set_ylim(-0.3, 1.95)


# ---- tube, clearance, path ----


def tube():
    figure, (axis,) = panels(1, 8.2, 3.2)
    inner, radius, bend = 0.25, 0.10, 0.9
    pieces = [arc_points(0.0, 1.3, (0.0, 0.0), np.pi / 2)]
    pieces.append(arc_points(bend, 1.0, pieces[-1][0][-1], pieces[-1][1][-1]))
    pieces.append(arc_points(0.0, 0.9, pieces[-1][0][-1], pieces[-1][1][-1]))
    line = np.vstack([one for one, _ in pieces])
    headings = np.hstack([one for _, one in pieces])
    for side in (-1, 1):
        near, far = (offset_points(line, headings, side * r) for r in (inner, inner + 0.06))
        axis.add_patch(Polygon(np.vstack([near, far[::-1]]), color=GRAY))
    axis.plot(*line.T, color=INK, lw=1.1, ls="--")
    shift = 0.065 * np.exp(-(((np.arange(180) - 88.0) / 26.0) ** 2)) - 0.03 * np.exp(
        -(((np.arange(180) - 40) / 25) ** 2)
    )
    body = offset_points(line, headings, shift)[:150]
    start, _ = arc_points(0.0, 0.55, (-0.55, 0.0), np.pi / 2, 20)
    body = np.vstack([start[:-1], body])
    along = np.gradient(body, axis=0)
    strip(axis, body, np.arctan2(along[:, 0], along[:, 1]), radius, BODY)
    axis.plot(*body[-1], "o", color=SECOND, ms=7)
    pointer(axis, body[-1], body[-1] + [0.55, 0.42], "tip, on the path", SECOND)
    pointer(axis, line[172], line[172] + [0.85, -0.02], "path: the centerline")
    at = 0.32
    arrow(axis, (at, radius), (at, inner), FREE, 1.6, "<|-|>")
    pointer(axis, (at, (inner + radius) / 2), (at + 0.15, 0.55), "clearance", FREE, style="-")
    span(axis, (0.08, 0.0), (0.08, inner), "", (0, 0))
    pointer(axis, (0.08, 0.17), (-0.30, 0.45), "inner radius", GRAY, style="-", fontsize=10)
    arrow(axis, (-0.42, 0.0), (-0.42, -radius), BODY, 1.4, "<|-|>")
    label(axis, (-0.06, -0.19), "radius of the body", BODY, ha="right", fontsize=10)
    arrow(axis, (-0.95, 0.0), (-0.62, 0.0), INK, 2.0)
    label(axis, (-0.8, 0.12), "feed")
    worst = 88
    pointer(
        axis,
        offset_points(line, headings, 0.03)[worst],
        (1.05, -0.72),
        "deviation of the body from the path",
        fontsize=10,
    )
    axis.set_xlim(-1.05, 3.9)
    axis.set_ylim(-1.4, 0.68)
    figure.subplots_adjust(top=0.99)
    return figure


# ---- chord FABRIK ----

LENGTHS, TARGET = np.array([0.45, 0.40, 0.35]), np.array([0.63, 0.96])


def unit(vector):
    return vector / np.linalg.norm(vector)


def heading_of(vector):
    return np.arctan2(vector[0], vector[1])


def wrapped(angle):
    return (angle + np.pi) % (2 * np.pi) - np.pi


def chord_forward(points, chords):
    """The last point is the goal; each chord keeps its length and reaches back."""
    points = points.copy()
    points[-1] = TARGET
    for i in range(len(points) - 2, -1, -1):
        points[i] = points[i + 1] + chords[i] * unit(points[i] - points[i + 1])
    return points


def chord_backward(points):
    """The first point is the base; each section is placed on the chord aimed at its point."""
    placed, heading, bends = [np.zeros(2)], 0.0, []
    for length, aim in zip(LENGTHS, points[1:]):
        chord = heading_of(aim - placed[-1])
        bend = 2 * wrapped(chord - heading)
        reach = length * np.sinc(bend / 2 / np.pi)
        placed.append(placed[-1] + reach * np.array([np.sin(chord), np.cos(chord)]))
        heading += bend
        bends.append(bend)
    return np.array(placed), bends


def chord_start(bends):
    points, heading = [np.zeros(2)], 0.0
    for length, bend in zip(LENGTHS, bends):
        chord = heading + bend / 2
        points.append(points[-1] + length * np.sinc(bend / 2 / np.pi) * np.array([np.sin(chord), np.cos(chord)]))
        heading += bend
    return np.array(points)


def draw_arm(axis, bends, points, alpha=1.0):
    heading = 0.0
    for i, (length, bend) in enumerate(zip(LENGTHS, bends)):
        arc, headings = arc_points(bend, length, points[i], heading)
        axis.plot(*arc.T, color=(BODY, SECOND, FREE)[i], lw=5, alpha=0.55 * alpha, solid_capstyle="butt")
        heading = headings[-1]


def draw_chords(axis, points, style="-o"):
    axis.plot(*points.T, style, color=INK, lw=1.4, ms=4)


def chord():
    figure, axes = panels(4, 8.4, 3.0)
    bends = [-1.04, 1.17, 1.14]
    start = chord_start(bends)
    chords = np.linalg.norm(np.diff(start, axis=0), axis=1)
    forward = chord_forward(start, chords)
    backward, new_bends = chord_backward(forward)
    points, last = backward, new_bends
    for _ in range(60):
        chords = np.linalg.norm(np.diff(points, axis=0), axis=1)
        points, last = chord_backward(chord_forward(points, chords))
    titles = ("1  start", "2  forward pass", "3  backward pass", "4  converged")
    for axis, title in zip(axes, titles):
        axis.set_title(title, fontsize=11)
        axis.plot(*TARGET, "x", color=GOAL, ms=9, mew=2.2)
        axis.plot(0, 0, "s", color=GRAY, ms=9)
        axis.set_xlim(-0.50, 1.02)
        axis.set_ylim(-0.30, 1.22)
    draw_arm(axes[0], bends, start)
    draw_chords(axes[0], start)
    for i, offset in enumerate(([0.16, 0.02], [-0.12, 0.0], [-0.12, 0.04], [0.05, 0.10])):
        axes[0].text(*(start[i] + offset), f"$P_{i}$", ha="center", va="center")
    axes[0].text(*(TARGET + [0.02, -0.13]), "goal", color=GOAL, ha="center", va="center")
    axes[1].plot(*start.T, "--", color=GRAY, lw=1)
    draw_chords(axes[1], forward)
    for i, offset in enumerate(([-0.13, 0.02], [-0.12, 0.03], [0.08, 0.10], [0.13, 0.04])):
        axes[1].text(*(forward[i] + offset), f"$P_{i}$", ha="center", va="center")
    axes[1].text(0.26, -0.22, "chords keep their lengths", ha="center", fontsize=9)
    axes[2].plot(*forward.T, "--", color=GRAY, lw=1)
    draw_arm(axes[2], new_bends, backward)
    draw_chords(axes[2], backward)
    axes[2].text(0.26, -0.22, "sections lie on new chords", ha="center", fontsize=9)
    draw_arm(axes[3], last, points)
    draw_chords(axes[3], points)
    return figure


TIGHT = {"bbox_inches": "tight", "pad_inches": 0.1}
FIGURES = {"section": section, "base": base, "link": link, "tendon": tendon, "tube": tube, "chord": chord}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).resolve().parent)
    parser.add_argument("--png", action="store_true", help="write PNG files too")
    options = parser.parse_args()
    for name, draw in FIGURES.items():
        figure = draw()
        figure.savefig(options.folder / f"theory_{name}.svg", metadata={"Date": None, "Creator": None}, **TIGHT)
        if options.png:
            figure.savefig(options.folder / f"theory_{name}.png", dpi=110, **TIGHT)
        plt.close(figure)


if __name__ == "__main__":
    main()
