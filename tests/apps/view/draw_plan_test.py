#!/usr/bin/env python3
"""Geometry and images of tendril.report.drawing. Exit code 77: there is no matplotlib.

usage: draw_plan_test.py PROGRAM
"""

import importlib.util
import json
import math
import os
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ""
SKIPPED = 77
X, Y, Z = 0, 1, 2
VIEWS = ([X, Z], [Y, Z], [X, Y])
FAR = 10.0
CUBE = [
    [(x, y, z) for x, y, z in face]
    for face in (
        ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)),
        ((0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)),
        ((0, 0, 0), (1, 0, 0), (1, 0, 1), (0, 0, 1)),
        ((0, 1, 0), (1, 1, 0), (1, 1, 1), (0, 1, 1)),
        ((0, 0, 0), (0, 1, 0), (0, 1, 1), (0, 0, 1)),
        ((1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 0, 1)),
    )
]


def block(low, high):
    """The faces of a box."""
    return [[[a + (b - a) * c for a, b, c in zip(low, high, corner)] for corner in face] for face in CUBE]


def covers(paths, point):
    """Tells whether an odd number of a path's polygons has the point inside, for any of the paths."""
    at = [drawing.FINE.transform(point)]
    polygons = [[drawing.Path(polygon) for polygon in path.to_polygons(drawing.FINE)] for path in paths]
    return any(sum(polygon.contains_points(at)[0] for polygon in one) % 2 for one in polygons)


def grid(low=-2.0, high=2.0, count=23):
    """Places that are no corners of the shapes here."""
    values = [low + (high - low) * (i + 0.377) / count for i in range(count)]
    return [(a, b) for a in values for b in values]


def distance_to_segment(p, a, b):
    length = sum((y - x) ** 2 for x, y in zip(a, b))
    t = sum((q - x) * (y - x) for q, x, y in zip(p, a, b)) / length if length else 0.0
    t = min(max(t, 0.0), 1.0)
    return math.dist(p, [x + t * (y - x) for x, y in zip(a, b)])


class Shapes(unittest.TestCase):
    def check_section(self, shape, is_inside):
        """Against a point's place, all over the plane y = 0. `is_inside`: of (x, z)."""
        members = [drawing.section(shape, outlines, FAR) for outlines in drawing.members(shape)]
        for x, z in grid():
            self.assertEqual(covers(sum(members, []), (x, z)), is_inside(x, z), (x, z))

    def test_a_sphere_is_cut_in_a_disc(self):
        shape = {"kind": "capsule", "outlines": [[[0.1, 0.3, 0.2]] * 2], "radius": 0.5}
        self.check_section(shape, lambda x, z: math.hypot(x - 0.1, z - 0.2) < 0.4)
        shape["outlines"] = [[[0.1, 0.6, 0.2]] * 2]
        self.check_section(shape, lambda x, z: False)

    def test_a_capsule_is_cut_where_its_surface_is(self):
        for a, b in (((-1, 0, -0.5), (1, 0, 0.7)), ((-1, -0.4, 0), (1, 0.6, 0.5)), ((0.2, -9, 0.3), (0.2, 9, 0.3))):
            shape = {"kind": "capsule", "outlines": [[a, b]], "radius": 0.5}
            near = lambda x, z, a=a, b=b: abs(distance_to_segment((x, 0, z), a, b) - 0.5) < 0.01  # the hull has corners
            members = [drawing.section(shape, o, FAR) for o in drawing.members(shape)]
            for x, z in grid():
                if not near(x, z):
                    self.assertEqual(
                        covers(sum(members, []), (x, z)), distance_to_segment((x, 0, z), a, b) < 0.5, (a, b, x, z)
                    )

    def test_a_solid_is_cut_in_as_many_pieces_as_it_has(self):
        box = block((-0.5, -1, -0.3), (0.5, 1, 0.9))
        self.check_section({"kind": "solid", "outlines": box}, lambda x, z: abs(x) < 0.5 and -0.3 < z < 0.9)
        self.check_section({"kind": "solid", "outlines": block((-0.5, 0.1, -0.3), (0.5, 1, 0.9))}, lambda x, z: False)
        # A face in the plane itself.
        self.check_section(
            {"kind": "solid", "outlines": block((-0.5, 0, -0.3), (0.5, 1, 0.9))},
            lambda x, z: abs(x) < 0.5 and -0.3 < z < 0.9,
        )
        two = box + block((1.0, -1, -1), (1.5, 1, 1))
        self.check_section(
            {"kind": "solid", "outlines": two},
            lambda x, z: abs(x) < 0.5 and -0.3 < z < 0.9 or 1 < x < 1.5 and abs(z) < 1,
        )
        hollow = block((-1, -1, -1), (1, 1, 1)) + block((-0.5, -0.5, -0.5), (0.5, 0.5, 0.5))
        self.check_section({"kind": "solid", "outlines": hollow}, lambda x, z: 0.5 < max(abs(x), abs(z)) < 1)
        # Over a polygon that is not convex: the plane cuts its caps in two pieces each.
        corners = [(-1, -1), (1, -1), (1, 1), (0, -0.5), (-1, 1)]  # x, y
        sides = [[(*a, -1), (*b, -1), (*b, 1), (*a, 1)] for a, b in zip(corners, corners[1:] + corners[:1])]
        notched = sides + [[(*c, end) for c in corners] for end in (-1, 1)]
        self.check_section({"kind": "solid", "outlines": notched}, lambda x, z: 1 / 3 < abs(x) < 1 and abs(z) < 1)

    def test_a_row_has_all_its_members(self):
        shape = {
            "kind": "prism",
            "outlines": [[[-1.9, 0, 0], [-1.5, 0, 0], [-1.5, 0, 1], [-1.9, 0, 1]]],
            "repeat": {"count": 3, "step": [1, 0, -0.5]},
        }
        self.check_section(
            shape, lambda x, z: any(-1.9 + k < x < -1.5 + k and -0.5 * k < z < 1 - 0.5 * k for k in range(3))
        )

    def test_a_half_space_ends_at_its_plane(self):
        for point, normal in (([3, 4, 0.3], [0, 0, 2]), ([0.2, 5, 0], [-3, 0, 0]), ([0.1, 0.2, 0.3], [1, 0.5, -2])):
            shape = {"kind": "half_space", "outlines": [[point]], "normal": normal}
            behind = lambda x, z, normal=normal, point=point: (
                sum(n * (q - p) for n, q, p in zip(normal, (x, 0, z), point)) < 0
            )
            self.check_section(shape, behind)
            for axes in VIEWS:
                hidden = drawing.shadow(shape, next(drawing.members(shape)), axes, FAR)
                third = ({X, Y, Z} - set(axes)).pop()
                if normal[third]:
                    self.assertEqual(hidden, [])
                    continue
                for p in grid():
                    side = sum(normal[axis] * (q - point[axis]) for axis, q in zip(axes, p))
                    self.assertEqual(covers(hidden, p), side < 0, (point, normal, axes, p))

    def test_shadows_are_what_a_shape_covers(self):
        a, b = (-1, 0.4, -0.5), (1, -0.2, 0.7)
        capsule = {"kind": "capsule", "outlines": [[a, b]], "radius": 0.5}
        box = {"kind": "solid", "outlines": block((-0.5, -1.2, -0.3), (0.5, 1, 0.9))}
        prism = {"kind": "prism", "outlines": [[[-1, 0, -1], [1, 0, -1], [1, 0, 1], [0, 0, -0.5], [-1, 0, 1]]]}
        for axes in VIEWS:
            for p in grid():
                reach = distance_to_segment(p, [a[i] for i in axes], [b[i] for i in axes])
                if abs(reach - 0.5) > 0.01:
                    self.assertEqual(
                        covers(drawing.shadow(capsule, next(drawing.members(capsule)), axes, FAR), p), reach < 0.5
                    )
                inside = all((-0.5, -1.2, -0.3)[i] < q < (0.5, 1, 0.9)[i] for i, q in zip(axes, p))
                self.assertEqual(covers(drawing.shadow(box, next(drawing.members(box)), axes, FAR), p), inside)
                hidden = covers(drawing.shadow(prism, next(drawing.members(prism)), axes, FAR), p)
                if axes == [X, Z]:
                    self.assertEqual(hidden, abs(p[0]) < 1 and -1 < p[1] < 1.5 * abs(p[0]) - 0.5)
                else:
                    self.assertEqual(hidden, abs(p[axes.index(X) if X in axes else 1]) < 1)


class Images(unittest.TestCase):
    def plan(self, file):
        done = subprocess.run(
            [PROGRAM, "plan", ROOT / "scenes" / file, "--json"], capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    def check_fit(self, view, points, around):
        """The view shows all of these, and leaves little room around them."""
        for axis, (low, high) in enumerate((view.get_xlim(), view.get_ylim())):
            values = [p[axis] for p in points]
            room = 0.1 * max(view.get_xlim()[1] - view.get_xlim()[0], view.get_ylim()[1] - view.get_ylim()[0])
            self.assertLess(low, min(values) - around)
            self.assertGreater(high, max(values) + around)
            self.assertLess(min(values) - around - low, room)
            self.assertLess(high - max(values) - around, room)

    def test_the_axes_fit_what_is_drawn(self):
        plan = self.plan("tube_narrow/plan.toml")
        figure = drawing.draw_path_plan(plan)
        points = [p for body in (plan["drawing"]["start"], *plan["drawing"]["waypoints"]) for p in body]
        ends = [(x, 0, 0.204 + 0.005 * 20) for x in (0.065, 0.095)]
        self.check_fit(figure.axes[0], [(p[X], p[Z]) for p in points + ends], plan["drawing"]["body_radius"] - 0.002)
        plan = self.plan("plans/case_1.toml")
        corners = [corner for obstacle in plan["drawing"]["obstacles"] for corner in obstacle["polygon"]]
        self.check_fit(drawing.draw_contact_plan(plan, "none").axes[0], corners + [(0, 0), (0.14, 0.69)], 0.0)

    def test_both_axes_have_one_scale(self):
        for name in ("case_1", "case_2", "grasp_post"):
            figure = drawing.draw_contact_plan(self.plan(f"plans/{name}.toml"), "near")
            (axes,), size = figure.axes, figure.get_size_inches()
            box = axes.get_position()
            (x0, x1), (z0, z1) = axes.get_xlim(), axes.get_ylim()
            self.assertAlmostEqual(
                box.width * size[0] / (x1 - x0), box.height * size[1] / (z1 - z0), delta=1e-9 * size[0]
            )

    def test_an_arc_ends_where_its_curvature_leads(self):
        for curvature, x, z, heading in (
            (0.0, 1.0, 2.5, math.pi / 6),
            (math.pi, None, None, math.pi / 6 + math.pi / 2),
        ):
            points, end = drawing.arc_points(
                (0.75, 2.5 - math.sqrt(3) / 4, math.pi / 6), {"curvature": curvature, "length": 0.5}
            )
            self.assertAlmostEqual(end[2], heading)
            self.assertAlmostEqual(math.dist(points[0], end[:2]), 0.5 if x else math.sqrt(2) / math.pi)
            if x:
                self.assertAlmostEqual(math.dist(end[:2], (x, z)), 0.0)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        sys.exit(2 if len(sys.argv) < 2 else 0)
    own = ROOT / ".venv/bin/python"
    if importlib.util.find_spec("matplotlib") is None:
        python = os.environ.get("TENDRIL_PYTHON") or str(own)
        if python == sys.executable or not Path(python).exists():
            sys.exit(SKIPPED)
        os.execv(python, [python, *sys.argv])
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(ROOT / "python"))
    from tendril.report import drawing

    unittest.main()
