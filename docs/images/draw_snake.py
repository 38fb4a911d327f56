#!/usr/bin/env python3
"""Draws docs/images/snake_module.svg and snake_arcs.svg, the figures of docs/theory/snakes.md.

docs/images/draw_snake.py [FOLDER]      (default: the folder of this script)
"""

import math
import pathlib
import sys


def svg(width, height, body):
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif" font-size="13" fill="none">\n'
        f'<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def line(points, color, width=1.5, dash=""):
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" stroke="{color}" stroke-width="{width}" stroke-dasharray="{dash}"/>'


def dot(x, y, color, r=4):
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" fill="{color}"/>'


def text(x, y, words, color="#222", anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" text-anchor="{anchor}">{words}</text>'


def module():
    """Half-plane through the yaw axis: the torus, its hull K, a curve that leaves it."""
    ai = ao = 120.0
    x0, y0 = 70.0, 170.0

    def at(rho, h):
        return x0 + rho, y0 - h

    arc = [at(ai + ao * math.cos(t), ao * math.sin(t)) for t in [math.pi * (i / 60 - 0.5) for i in range(61)]]
    hull = [at(0, -ao)] + arc + [at(0, ao)]
    body = ['<polygon points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y in hull) + '" fill="#eef4fb"/>']
    body += [line([at(0, -150), at(0, 150)], "#888", 1, "6 4"), text(*at(6, 140), "u, yaw axis", "#666")]
    body += [line([at(0, ao), at(ai, ao)], "#c33", 2), line([at(0, -ao), at(ai, -ao)], "#c33", 2)]
    body += [line(arc, "#1f5fa8", 2.5)]
    curve = [at(r, 30 * math.sin(r / 80.0) + r * r / 1400.0) for r in range(0, 281, 4)]
    body += [line(curve, "#2a8a3c", 2)]
    # The exit, by bisection along the curve.
    low, high = 0.0, 280.0
    for _ in range(50):
        r = 0.5 * (low + high)
        h = 30 * math.sin(r / 80.0) + r * r / 1400.0
        if math.hypot(max(r - ai, 0.0), h) < ao:
            low = r
        else:
            high = r
    h = 30 * math.sin(low / 80.0) + low * low / 1400.0
    body += [line([at(0, 0), at(ai, 0), at(low, h)], "#222", 3)]
    body += [dot(*at(0, 0), "#222"), dot(*at(ai, 0), "#d98a00"), dot(*at(low, h), "#222")]
    body += [
        text(*at(-62, -16), "B_(2k-2)"),
        text(*at(ai - 14, -22), "B_(2k-1)"),
        text(*at(low + 8, h + 8), "B_(2k)"),
        text(*at(283, 36), "curve", "#2a8a3c"),
    ]
    body += [
        text(*at(175, -132), "outer half of the torus: G = 0", "#1f5fa8"),
        text(*at(14, ao - 18), "lid: |pitch| &gt; 90°", "#c33"),
        text(*at(30, -70), "K: G &lt; 0", "#1f5fa8"),
    ]
    return svg(450, 330, body)


def arcs():
    """A steady arc in either plane: even points on it, odd ones inside or outside."""
    r, a = 240.0, 62.0
    body = []
    for left, inside in ((0, True), (330, False)):
        cx, cy = left + 160, 270.0

        def at(radius, angle, cx=cx, cy=cy):
            return cx + radius * math.sin(angle), cy - radius * math.cos(angle)

        body.append(line([at(r, t / 100.0) for t in range(-62, 63, 2)], "#2a8a3c", 2))
        even_step = 2.0 * (math.asin(a / r) if inside else math.atan(a / r))
        chain = []
        for i in range(-2, 3):
            even = i % 2 == 0
            radius = r if even else (math.sqrt(r * r - a * a) if inside else math.hypot(r, a))
            chain.append((*at(radius, i * even_step / 2.0), even))
        body.append(line([c[:2] for c in chain], "#222", 3))
        for x, y, even in chain:
            body.append(dot(x, y, "#222" if even else "#d98a00"))
        body.append(
            text(cx, 115, "plane of the yaw joints" if inside else "plane of the pitch joints", anchor="middle")
        )
        body.append(
            text(
                cx,
                133,
                "joints turn at even points, odd ones inside" if inside else "joints turn at odd points, outside",
                "#666",
                "middle",
            )
        )
    return svg(650, 150, body)


def main():
    if "--help" in sys.argv or len(sys.argv) > 2:
        print(__doc__.strip())
        return 0 if "--help" in sys.argv else 2
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) == 2 else __file__ + "/..").resolve()
    (folder / "snake_module.svg").write_text(module())
    (folder / "snake_arcs.svg").write_text(arcs())
    return 0


if __name__ == "__main__":
    sys.exit(main())
