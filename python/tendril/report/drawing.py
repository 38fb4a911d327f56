"""Draws a solution of `tendril plan`.

usage: tendril plan FILE --json | python -m tendril.report.drawing [--svg FILE] [--png FILE] [--refused none|near|all]

Needs matplotlib. A plan with contact is drawn in its plane: obstacles and contact points with their numbers, every
solution with the body's width, refused arcs with their reasons. A plan for a robot's tip is drawn with the body at
the start and at every waypoint: cut at y = 0 if it is planar, else in three views.
"""

import argparse
import math
import pathlib
import sys

try:
    import matplotlib.style
    import numpy as np
    from matplotlib import collections, patches, ticker
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.path import Path
    from matplotlib.transforms import Affine2D
except ImportError as error:
    sys.exit(f"{error.name} is missing: install it with scripts/setup or pip install matplotlib")

from tendril._files import atomic_file
from tendril._reading import parse_json
from tendril.report import STYLE

MAP = {
    "svg.hashsalt": "tendril",
    "axes.spines.right": True,
    "axes.spines.top": True,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.labelspacing": 0.35,
}
PLOT = 6.0  # inches, the longer side of the drawing
GAP = 0.6  # inches, around a view, for the labels of its axes
MARGIN = 0.04  # of the longer side, around the drawing
TICKS = 0.5  # inches, least distance
PIXELS = 200  # of a PNG, per inch
POINTS = 72  # per inch
INK, QUIET, GRAY = "#222222", "#707070", "#8a8a8a"
SOLID, HELD, EDGE = "#cfd4d9", "#f3d9a4", "#6b7278"
CONTACT, TARGET = "#b03060", "#c0392b"
DASHED = (0, (4, 3))
MOST_IN_LEGEND = 8  # solutions
MOST_LABELS = 40  # of refused arcs
TARGET_CONTACT, OBJECT_CONTACT, WRAP = -1, -2, -3
NEARLY = ("obstacle", "rule", "self_contact", "slack")  # reasons why an arc within all limits was refused
X, Y, Z = 0, 1, 2
FINE = Affine2D().scale(1e3)  # resolution at which curves are converted to polylines


class Bounds:
    """Bounds of the drawing, `low` to `high`."""

    def __init__(self, points, around=0.0):
        self.low, self.high = np.min(points, axis=0) - around, np.max(points, axis=0) + around

    def add(self, points, around=0.0):
        self.low = np.minimum(self.low, np.min(points, axis=0) - around)
        self.high = np.maximum(self.high, np.max(points, axis=0) + around)

    def size(self):
        return self.high - self.low

    def with_margin(self):
        by = MARGIN * self.size().max()
        self.low, self.high = self.low - by, self.high + by
        return self


class View:
    """An image of two coordinates [m] at one scale, `corner` (lower left) in inches."""

    def __init__(self, figure, low, high, names, scale, corner):
        self.scale = scale  # inches to a meter
        self.corner, self.size = np.array(corner), scale * (high - low)
        sheet = figure.get_size_inches()
        self.axes = figure.add_axes(
            (*(self.corner / sheet), *(self.size / sheet)),
            xlim=(low[0], high[0]),
            ylim=(low[1], high[1]),
            xlabel=f"{names[0]} [m]",
            ylabel=f"{names[1]} [m]",
        )
        for axis in (self.axes.xaxis, self.axes.yaxis):
            axis.set_major_locator(ticker.MultipleLocator(nice_step(TICKS / scale)))

    def line(self, points, **style):
        self.axes.add_line(Line2D(*np.transpose(points), **style))

    def dot(self, at, **style):
        self.axes.plot(*at, linestyle="none", **{"marker": "o", "markersize": 4, **style})

    def body(self, points, radius, color, alpha=0.3, linewidth=1.4):
        """A body of this radius along the points, and its backbone."""
        width = max(2.0 * radius * self.scale * POINTS, 1.0)
        self.line(points, color=color, alpha=alpha, linewidth=width, solid_capstyle="round", solid_joinstyle="round")
        self.line(points, color=color, linewidth=linewidth)

    def text(self, at, words, color=INK, offset=(0, 0), **style):
        """Text next to a point, at `offset` in typographic points."""
        self.axes.annotate(
            words, at, xytext=offset, textcoords="offset points", color=color, annotation_clip=True, **style
        )

    def is_crowded(self, at, others, width, height):
        """Tells whether one of the others is nearer than this, in inches."""
        return any((abs(self.scale * (at - p)) < (width, height)).all() for p in others)


def nice_step(least):
    """The smallest 1, 2 or 5 times a power of ten that is not below the argument."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))


def millimeters(value):
    return "no obstacles" if value is None else f"{round(1e3 * value, 2) + 0.0:.2f} mm"


def line_key(label, color, linewidth=3.0, **style):
    return Line2D([], [], color=color, linewidth=linewidth, label=label, **style)


def words_keys(*lines):
    return [patches.Patch(alpha=0.0, label=line) for line in lines]


def add_words(figure, view, title, handles, legend_corner):
    """Title above a view; legend with its upper left corner there, in inches."""
    sheet = figure.get_size_inches()
    figure.legend(handles=handles, loc="upper left", bbox_to_anchor=legend_corner / sheet, borderaxespad=0.0)
    figure.text(*((view.corner + (0.0, view.size[1] + 0.1)) / sheet), title, fontsize=12, parse_math=False)


# ---- with contact: poses are (x, z, heading)


def pose(at):
    return at["x"], at["z"], at["heading"]


def arc_points(start, arc):
    """Points of an arc of constant curvature, and the pose at its end."""
    x, z, heading = start
    count = min(max(math.ceil(abs(arc["curvature"] * arc["length"]) / 0.03), 1), 300)
    s = np.linspace(0.0, arc["length"], count + 1)
    u = arc["curvature"] * s
    across, along = s * np.sin(u / 2) * np.sinc(u / 2 / np.pi), s * np.sinc(u / np.pi)
    points = np.column_stack(
        [
            x + across * math.cos(heading) + along * math.sin(heading),
            z - across * math.sin(heading) + along * math.cos(heading),
        ]
    )
    return points, (*points[-1], heading + u[-1])


def chain_points(start, arcs):
    """Points of arcs in a row, and the poses at their ends."""
    points, ends = [np.array([start[:2]])], []
    for arc in arcs:
        more, start = arc_points(start, arc)
        points.append(more[1:])
        ends.append(start)
    return np.concatenate(points), ends


def step_name(arc):
    side = {1: " (+)", -1: " (-)"}.get(arc["side"], "")
    names = {TARGET_CONTACT: "target", OBJECT_CONTACT: f"object{side}", WRAP: "wrap"}
    return names.get(arc["contact"], f"contact {arc['contact']}{side}")


def is_near(arc, solutions):
    """Tells whether a refused arc continues the base or the first contacts of a solution."""

    def contacts(arcs):
        return [(a["contact"], a["side"]) for a in arcs]

    before = contacts(arc["after"])
    continues = not before or any(contacts(s["arcs"])[: len(before)] == before for s in solutions)
    return arc["reason"] in NEARLY and continues


def outline(obstacle):
    """Path and center of a disc or polygon."""
    if "disc" in obstacle:
        disc = obstacle["disc"]
        return Path.circle((disc["x"], disc["z"]), disc["radius"]), (disc["x"], disc["z"])
    corners = np.array(obstacle["polygon"])
    return Path(np.vstack([corners, corners[:1]]), closed=True), corners.mean(axis=0)


def draw_refused(view, plan, shown, obstacles):
    """Draws refused arcs, with their reasons where there is room. Returns their number."""
    low, high = np.transpose([view.axes.get_xlim(), view.axes.get_ylim()])
    labels, count = [], 0
    for arc, start in zip(plan["refused_arcs"], plan["drawing"]["refused_from"], strict=True):
        if shown == "none" or (shown == "near" and not is_near(arc, plan["solutions"])):
            continue
        points, _ = arc_points(pose(start), arc)
        is_inside = ((points >= low) & (points <= high)).all(axis=1)
        points = points[: len(points) if is_inside.all() else np.argmin(is_inside)]
        if len(points) < 2:
            continue
        count += 1
        color = "#777777" if arc["contact"] == TARGET_CONTACT else "#a5a5a5"
        view.line(points, color=color, linewidth=0.8, linestyle=DASHED, zorder=0.8)  # below the obstacles
        for fraction in (0.6, 0.4, 0.8, 0.2):
            at = points[int(fraction * len(points))]
            if (
                len(labels) < MOST_LABELS
                and not view.is_crowded(at, labels, 0.6, 0.12)
                and not any(path.contains_point(1e3 * at, FINE) for path, _ in obstacles)
            ):
                labels.append(at)
                view.text(at, f"{arc['reason']} {arc.get('obstacle', '')}".strip(), QUIET, (2, 2), fontsize=7)
                break
    return count


def draw_solution(view, drawing, arcs, color):
    points, ends = chain_points(pose(drawing["base"]), arcs)
    view.body(points, drawing["body_radius"], color)
    for arc, (x, z, heading) in zip(arcs, ends):
        if arc["side"] == 0:
            continue
        view.dot((x, z), color=color)
        if arc["contact"] != WRAP:  # to the point where the side of the body touches
            reach = arc["side"] * drawing["body_radius"]
            view.line(
                [(x, z), (x + reach * math.cos(heading), z - reach * math.sin(heading))], color=color, linewidth=1.4
            )


def draw_ends(view, drawing):
    x, z, heading = pose(drawing["base"])
    at, across = np.array([x, z]), np.array([math.cos(heading), -math.sin(heading)])
    along = np.array([math.sin(heading), math.cos(heading)])
    view.line([at - 0.14 / view.scale * across, at + 0.14 / view.scale * across], color=INK, linewidth=2.5)
    view.axes.annotate("", at + 0.3 / view.scale * along, at, arrowprops={"arrowstyle": "-|>", "color": INK})
    view.text(at, "base", offset=(8, -4), verticalalignment="top")
    if "target" in drawing:
        at = drawing["target"]["x"], drawing["target"]["z"]
        view.dot(at, marker="x", markersize=9, markeredgewidth=2, color=TARGET)
        view.text(at, "target", TARGET, (8, 4))


def solution_keys(number, solution):
    words = f"{number + 1}: length {solution['length']:.4f} m, clearance {millimeters(solution['min_clearance'])}"
    if "wrap_angle" in solution:
        words += f", {math.degrees(solution['wrap_angle']):.0f}\N{DEGREE SIGN} around the object"
    arcs = [
        f"    {step_name(arc)}: curvature {arc['curvature']:+.4f} 1/m, length {arc['length']:.4f} m"
        for arc in solution["arcs"]
    ]
    return [line_key(words, f"C{number}"), *words_keys(*arcs)]


def contact_legend(plan, refused):
    solutions, drawing = plan["solutions"], plan["drawing"]
    handles = [key for i, solution in enumerate(solutions[:MOST_IN_LEGEND]) for key in solution_keys(i, solution)]
    if len(solutions) > MOST_IN_LEGEND:
        handles += words_keys(f"and {len(solutions) - MOST_IN_LEGEND} more")
    if not solutions and drawing["deepest"]:
        handles.append(line_key("no solution: the chain with the most contacts", GRAY))
    if plan["contacts"]:
        handles.append(line_key("c: contact points", CONTACT, 0.0, marker="o", markersize=4))
    if "object" in drawing:
        handles.append(patches.Patch(facecolor=HELD, edgecolor=EDGE, label="object"))
    if refused:
        handles.append(line_key("refused arcs, with their reasons", "#909090", 0.8, linestyle=DASHED))
    counts = ", ".join(f"{reason} {count}" for reason, count in plan["refused"].items() if count)
    if counts:
        handles += words_keys(f"refused: {counts}")
    return handles + words_keys(f"body {2e3 * drawing['body_radius']:g} mm wide")


def draw_contact_plan(plan, shown):
    drawing, solutions = plan["drawing"], plan["solutions"]
    base, radius = pose(drawing["base"]), drawing["body_radius"]
    chains = [solution["arcs"] for solution in solutions] or [drawing["deepest"]]
    obstacles = [outline(obstacle) for obstacle in drawing["obstacles"]]

    bounds = Bounds([base[:2]], max(radius, 0.01))
    for path, _ in obstacles:
        bounds.add(path.get_extents().get_points())
    for contact in plan["contacts"]:
        bounds.add([(contact["x"], contact["z"])], contact["radius"])
    for arcs in chains:
        bounds.add(chain_points(base, arcs)[0], radius)
    if "target" in drawing:
        bounds.add([(drawing["target"]["x"], drawing["target"]["z"])], max(radius, 0.01))
    bounds.with_margin()

    figure = Figure(figsize=(3 * PLOT, 3 * PLOT))
    view = View(figure, bounds.low, bounds.high, "xz", PLOT / bounds.size().max(), (PLOT, PLOT))
    refused = draw_refused(view, plan, shown, obstacles)
    for number, (path, middle) in enumerate(obstacles):
        color = HELD if number == drawing.get("object") else SOLID
        view.axes.add_patch(patches.PathPatch(path, facecolor=color, edgecolor=EDGE, linewidth=0.8))
        view.text(middle, str(number), EDGE, ha="center", va="center", fontsize=11)
    for number in reversed(range(len(chains))):  # the best one on top
        draw_solution(view, drawing, chains[number], f"C{number}" if solutions else GRAY)
    for number, contact in enumerate(plan["contacts"]):
        at = contact["x"], contact["z"]
        if contact["radius"] > 0.0:
            view.axes.add_patch(patches.Circle(at, contact["radius"], fill=False, edgecolor=CONTACT, linewidth=1.5))
        else:
            view.dot(at, color=CONTACT)
        view.text(at, f"c{number}", CONTACT, (-6, -16) if contact["radius"] > 0.0 else (4, 3))
    draw_ends(view, drawing)
    add_words(
        figure, view, f"{plan['name']}: {plan['status']}", contact_legend(plan, refused), view.corner - (0.0, GAP)
    )
    return figure


# ---- among obstacles: a robot's tip through waypoints


def hull(points):
    """Convex hull of points of a plane, by Andrew's monotone chain."""

    def is_left_turn(a, b, c):
        return (b[0] - a[0]) * (c[1] - a[1]) > (b[1] - a[1]) * (c[0] - a[0])

    def half(ordered):
        chain = []
        for p in ordered:
            while len(chain) > 1 and not is_left_turn(*chain[-2:], p):
                chain.pop()
            chain.append(p)
        return chain[:-1]

    points = sorted(map(tuple, points))
    return half(points) + half(points[::-1])


def closed(*polygons):
    """One path of polygons, filled by the even-odd rule."""
    return Path.make_compound_path(*(Path(np.vstack([p, p[:1]]), closed=True) for p in polygons if len(p) > 2))


def round_hull(centers, radii):
    """Convex hull of discs."""
    if np.ptp(centers, axis=0).max() == 0.0:
        return Path.circle(centers[0], max(radii))
    angles = np.linspace(0.0, 2.0 * np.pi, 64, endpoint=False)
    rim = np.column_stack([np.cos(angles), np.sin(angles)])
    return closed(hull(np.concatenate([center + radius * rim for center, radius in zip(centers, radii)])))


def half_plane(normal, offset, reach):
    """Returns the polygon where normal . p <= offset, as far as `reach`."""
    length = np.linalg.norm(normal)
    normal, foot = normal / length, normal * offset / length**2
    along = reach * np.array([-normal[1], normal[0]])
    return closed([foot + along, foot - along, foot - along - reach * normal, foot + along - reach * normal])


def members(shape):
    """The outlines of each member of a row of shapes."""
    repeat = shape.get("repeat", {"count": 1, "step": [0.0, 0.0, 0.0]})
    for k in range(repeat["count"]):
        yield [np.array(points) + k * np.array(repeat["step"]) for points in shape["outlines"]]


def shadow(shape, outlines, axes, reach):
    """Paths that cover the projection of a shape along the third axis."""
    if shape["kind"] == "capsule":
        return [round_hull(outlines[0][:, axes], [shape["radius"]] * 2)]
    if shape["kind"] == "half_space":
        normal = np.array(shape["normal"])
        is_edge_on = abs(normal[({X, Y, Z} - set(axes)).pop()]) < 1e-9 * np.linalg.norm(normal)
        return [half_plane(normal[axes], normal @ outlines[0][0], reach)] if is_edge_on else []
    if shape["kind"] == "prism" and Y in axes:  # infinite along y
        return [closed(hull(np.concatenate([(outlines[0] + [0.0, end, 0.0])[:, axes] for end in (-reach, reach)])))]
    return [closed(face[:, axes]) for face in outlines]


def section(shape, outlines, reach):
    """Paths of the section of a shape with the plane y = 0."""
    if shape["kind"] == "capsule":
        centers = np.linspace(*outlines[0], 65)
        centers = centers[abs(centers[:, Y]) < shape["radius"]]
        return (
            [round_hull(centers[:, [X, Z]], np.sqrt(shape["radius"] ** 2 - centers[:, Y] ** 2))] if len(centers) else []
        )
    if shape["kind"] == "half_space":
        normal = np.array(shape["normal"])
        is_parallel = np.linalg.norm(normal[[X, Z]]) < 1e-9 * np.linalg.norm(normal)
        return [] if is_parallel else [half_plane(normal[[X, Z]], normal @ outlines[0][0], reach)]
    if shape["kind"] == "prism":
        return [closed(outlines[0][:, [X, Z]])]
    return [closed(*loops)] if (loops := cut_loops(outlines)) else []


def cut_loops(faces):
    """Closed polylines of the section of a solid with the plane y = 0, shifted so that it contains no corner."""
    level = 1e-9 * max(np.abs(np.concatenate(faces)).max(), 1e-3)
    places, joined = {}, {}  # of every crossing edge: the point, and the edges joined to it by faces
    for face in faces:
        crossing = []
        for a, b in zip(face, np.roll(face, -1, axis=0)):
            if (a[Y] > level) == (b[Y] > level):
                continue
            low, high = sorted([tuple(a), tuple(b)])
            edge = (*np.round(low, 12), *np.round(high, 12))
            places[edge] = tuple(np.add(low, np.subtract(high, low) * (level - low[Y]) / (high[Y] - low[Y]))[[X, Z]])
            crossing.append(edge)
        crossing.sort(key=places.get)  # along the section line of the face
        for a, b in zip(crossing[::2], crossing[1::2]):
            joined.setdefault(a, []).append(b)
            joined.setdefault(b, []).append(a)
    loops = []
    while joined:
        loop, edge = [], next(iter(joined))
        while edge is not None:
            loop.append(places[edge])
            edge = next((other for other in joined.pop(edge) if other in joined), None)
        loops.append(loop)
    return loops


def draw_obstacles(view, drawing, axes, reach):
    paths = []
    for shape in drawing["obstacles"]:
        for outlines in members(shape):
            paths += section(shape, outlines, reach) if drawing["planar"] else shadow(shape, outlines, axes, reach)
    # The visible rest of the first layer is the common outline.
    view.axes.add_collection(collections.PathCollection(paths, facecolors=EDGE, edgecolors=EDGE, linewidths=1.2))
    view.axes.add_collection(collections.PathCollection(paths, facecolors=SOLID, edgecolors=SOLID, linewidths=0.1))


def path_bounds(plan):
    drawing, radius = plan["drawing"], plan["drawing"]["body_radius"]
    bounds = Bounds(drawing["start"][:1], max(radius, 0.01))
    for points in (drawing["start"], *drawing["waypoints"], [waypoint["position"] for waypoint in plan["waypoints"]]):
        bounds.add(points, radius)
    # Obstacles may be far larger than the rest: they widen the drawing by at most one half.
    wide = Bounds([bounds.low, bounds.high])
    for shape in drawing["obstacles"]:
        for outlines in members(shape) if shape["kind"] != "half_space" else ():
            points = np.concatenate(outlines)
            wide.add(points, shape.get("radius", 0.0))
    most = 0.5 * bounds.size().max()
    bounds.low, bounds.high = np.maximum(wide.low, bounds.low - most), np.minimum(wide.high, bounds.high + most)
    return bounds.with_margin()


def waypoint_color(number, count):
    """Returns a color from light blue, the first, to dark red, the last."""
    first, last = np.array([0x3F, 0x8F, 0xD0]) / 255.0, np.array([0xC0, 0x39, 0x2B]) / 255.0
    return tuple(first + number / max(count - 1, 1) * (last - first))


def draw_bodies(view, plan, axes):
    drawing, waypoints = plan["drawing"], plan["waypoints"]
    bodies = [(drawing["start"], INK, 0.18)]
    for number, (waypoint, points) in enumerate(zip(waypoints, drawing["waypoints"], strict=True)):
        if waypoint["status"] == "reached":
            bodies.append((points, waypoint_color(number, len(waypoints)), 0.22))
        else:
            bodies.insert(0, (points, GRAY, 0.12))
    for points, color, alpha in bodies:
        points = np.array(points)[:, axes]
        view.body(points, drawing["body_radius"], color, alpha, 1.0)
        for joint in points[:: (len(points) - 1) // len(waypoints[0]["sections"])][1:-1]:
            view.dot(joint, markersize=3, color=color)
    if drawing["tip"]:
        view.line(np.array(drawing["tip"])[:, axes], color=INK, linewidth=0.9, linestyle=DASHED)


def draw_waypoints(view, plan, axes):
    labels = []
    for number, waypoint in enumerate(plan["waypoints"]):
        at, reached = np.array(waypoint["position"])[axes], waypoint["status"] == "reached"
        view.dot(at, markerfacecolor="white" if reached else GRAY, markeredgecolor=INK if reached else GRAY)
        if reached and view.is_crowded(at, labels, 0.2, 0.13):
            continue
        labels.append(at)
        view.text(
            at,
            str(number + 1) if reached else f"{number + 1} {waypoint['status']}",
            INK if reached else QUIET,
            (5, 2),
            fontsize=8,
        )


def path_legend(plan):
    drawing, count = plan["drawing"], len(plan["waypoints"])
    handles = [line_key("start", INK)]
    reached = [i for i, waypoint in enumerate(plan["waypoints"]) if waypoint["status"] == "reached"]
    handles += [line_key(f"waypoint {i + 1}", waypoint_color(i, count)) for i in sorted({*reached[:1], *reached[-1:]})]
    if plan["reached"] < count:
        handles.append(line_key("not reached", GRAY))
    handles.append(line_key("path of the tip", INK, 0.9, linestyle=DASHED))
    if drawing["obstacles"]:
        words = "obstacles, cut at y = 0" if drawing["planar"] else "obstacles"
        handles.append(patches.Patch(facecolor=SOLID, edgecolor=EDGE, label=words))
    return handles + words_keys(f"body {2e3 * drawing['body_radius']:g} mm wide", clearance_words(plan))


def clearance_words(plan):
    if "min_clearance" not in plan:  # with contact in space
        return f"contacts at the target: {len(plan['contacts'])}"
    margin = "" if plan["min_clearance"] is None else f", margin {1e3 * plan['drawing']['margin']:g} mm"
    return f"least clearance {millimeters(plan['min_clearance'])}{margin}"


def as_path_plan(plan):
    """A plan with contact in space as one through waypoints: its target is the only one."""
    last, status = plan["poses"][-1], plan["status"]
    target = {"position": last["tip"], "status": status, "sections": last["curvatures"]}
    return plan | {"waypoints": [target], "reached": int(status == "reached")}


def draw_path_plan(plan):
    drawing, bounds = plan["drawing"], path_bounds(plan)
    size, corner = bounds.size(), np.array([PLOT, PLOT])
    reach = 3.0 * max(np.abs(bounds.low).max(), np.abs(bounds.high).max())
    figure = Figure(figsize=(3 * PLOT, 3 * PLOT))
    if drawing["planar"]:
        scale = PLOT / size[[X, Z]].max()
        corners = {(X, Z): corner}
    else:  # x-y below and y-z next to x-z, in line with it
        scale = PLOT / (size[Y] + size[[X, Z]].max())
        corners = {
            (X, Z): corner,
            (Y, Z): corner + (scale * size[X] + GAP, 0.0),
            (X, Y): corner - (0.0, scale * size[Y] + GAP),
        }
    views = []
    for pair, at in corners.items():
        axes = list(pair)
        view = View(figure, bounds.low[axes], bounds.high[axes], ["xyz"[i] for i in axes], scale, at)
        draw_obstacles(view, drawing, axes, reach)
        draw_bodies(view, plan, axes)
        base = np.array(drawing["start"][0])[axes]
        view.line([base - (0.12 / scale, 0.0), base + (0.12 / scale, 0.0)], color=INK, linewidth=2.5)
        view.text(base, "base", offset=(8, -4), verticalalignment="top", fontsize=8)
        draw_waypoints(view, plan, axes)
        views.append(view)
    title = f"{plan['name']}: {plan['reached']} of {len(plan['waypoints'])} waypoints reached"
    last_view = views[:2][-1]  # x-z, or y-z, which leaves room below it
    add_words(figure, views[0], title, path_legend(plan), last_view.corner - (0.0, GAP))
    return figure


def save(figure, file, kind):
    try:
        with atomic_file(file) as out:
            figure.savefig(
                out,
                format=kind,
                dpi=PIXELS,
                bbox_inches="tight",
                pad_inches=0.1,
                metadata={"Date": None} if kind == "svg" else None,
            )  # identical output in every run
    except OSError as error:
        sys.exit(f"{file}: {error.strerror}")


def main():
    parser = argparse.ArgumentParser(description="Draws a solution of `tendril plan FILE --json`, read from stdin.")
    parser.add_argument("--svg", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--png", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--refused", choices=("none", "near", "all"), default="near", help="refused arcs [near]")
    options = parser.parse_args()
    matplotlib.style.use(STYLE)
    matplotlib.rcParams.update(MAP)
    try:
        plan = parse_json(sys.stdin.read(), "stdin")
        if "solutions" in plan:
            figure = draw_contact_plan(plan, options.refused)
        else:
            figure = draw_path_plan(plan if "waypoints" in plan else as_path_plan(plan))
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # ModelError is a ValueError
        sys.exit(f"drawing: stdin: must be a plan of tendril plan FILE --json: {type(error).__name__}: {error}")
    for kind in ("svg", "png"):
        if file := getattr(options, kind):
            save(figure, file, kind)


if __name__ == "__main__":
    main()
