"""Draws how times and iterations of published tables are distributed, for `tendril.report.tables`."""

import sys

try:
    import numpy as np
except ImportError as error:
    sys.exit(f"{error.name} is missing: install it with scripts/setup or pip install numpy")

ACROSS = 3  # panels in a row
BINS_PER_DECADE = 12  # of times
SHOWN = 0.99  # part of the solves, those with the fewest iterations or the shortest times
PANEL = (3.4, 2.1)  # inches
DASHES = ("-", "--", ":")


def unique(values):
    return list(dict.fromkeys(values))


def with_distributions(table):
    return [row for row in table["rows"] if "distributions" in row]


def panels(plt, count, across=ACROSS, size=PANEL):
    down = -(-count // across)
    figure, axes = plt.subplots(
        down, across, squeeze=False, layout="constrained", figsize=(size[0] * across, size[1] * down + 0.4)
    )
    for axis in axes.flat[count:]:
        axis.axis("off")
    return figure, axes


def add_legend(figure, methods, published):
    handles = [figure.axes[0].plot([], [], color=f"C{k}", label=method)[0] for k, method in enumerate(methods)]
    if published:
        handles.append(figure.axes[0].plot([], [], color="#1f2933", linestyle=":", label="published mean or median")[0])
    figure.legend(handles=handles, loc="outside lower center", ncols=min(6, len(handles)))


def draw_published(axis, row, color, mean, median):
    for published in row["published"]:
        for value in (published[mean], published[median]):
            if value is not None:
                axis.axvline(value, color=color, linestyle=":", lw=1)


def draw_iterations(axis, rows, methods):
    most = 1
    for row in rows:
        color = f"C{methods.index(row['method'])}"
        counts = np.array(row["distributions"]["iterations"])
        reached = np.cumsum(counts[:, 1]) / counts[:, 1].sum()
        most = max(most, counts[np.searchsorted(reached, SHOWN), 0])
        shares = np.zeros(counts[-1, 0] + 1)
        shares[counts[:, 0]] = 100 * counts[:, 1] / counts[:, 1].sum()
        axis.step(range(len(shares)), shares, where="mid", color=color)
        draw_published(axis, row, color, "mean_iterations", "median_iterations")
    axis.set_xlim(0, most + 1)
    axis.set(xlabel="iterations", ylabel="solves, %")


def draw_times(axis, rows, methods):
    for row in rows:
        color = f"C{methods.index(row['method'])}"
        times, counts = np.array(row["distributions"]["times_us"]).T
        shares = 100 * counts / counts.sum()
        shown = np.cumsum(counts) <= max(SHOWN * counts.sum(), counts[0])  # others were delayed by other programs
        bins = np.floor(BINS_PER_DECADE * np.log10(times[shown])).astype(int)
        shares = np.bincount(bins - bins.min(), weights=shares[shown])
        at = 10 ** ((bins.min() + np.arange(-1, len(shares) + 1) + 0.5) / BINS_PER_DECADE)
        axis.step(at, [0, *shares, 0], where="mid", color=color)
        draw_published(axis, row, color, "mean_time_us", "median_time_us")
    axis.set_xscale("log")
    axis.set(xlabel="time [µs]", ylabel="solves, %")


def draw_spread(axis, rows, methods):
    for row in rows:
        color = f"C{methods.index(row['method'])}"
        count, least, most = np.array(row["distributions"]["times_by_iterations_us"]).T
        axis.plot(count, most, ".", color=color, markersize=2)
        axis.plot(count, least, color=color, lw=1)
    axis.set_xscale("symlog", linthresh=1)
    axis.set(yscale="log", xlabel="iterations", ylabel="time [µs]")
    axis.set_xlim(left=0)


def draw_kinds(plt, table, folder, save):
    """histograms_TABLE.png and spread_TABLE.png."""
    rows = with_distributions(table)
    if not rows:
        return
    names, methods = unique(row["row"] for row in rows), unique(row["method"] for row in rows)
    figure, axes = panels(plt, 2 * len(names), across=4, size=(2.9, 1.9))
    for k, name in enumerate(names):
        of_row = [row for row in rows if row["row"] == name]
        for axis, draw in zip(axes.flat[2 * k : 2 * k + 2], (draw_iterations, draw_times)):
            draw(axis, of_row, methods)
            axis.set_title(name, fontsize=8)
    add_legend(figure, methods, any(row["published"] for row in rows))
    save(figure, folder, f"histograms_{table['name']}.png")
    plt.close(figure)
    figure, axes = panels(plt, len(names))
    for axis, name in zip(axes.flat, names):
        draw_spread(axis, [row for row in rows if row["row"] == name], methods)
        axis.set_title(f"{name}: least (line), largest", fontsize=8)
    add_legend(figure, methods, published=False)
    save(figure, folder, f"spread_{table['name']}.png")
    plt.close(figure)


def draw_time_map(plt, table, folder, save):
    """time_TABLE.png: solve time over the half-plane of each robot."""
    from matplotlib.colors import LogNorm

    rows = [row for row in table["rows"] if any(row.get("times_us", ()))]
    if not rows:
        return
    names, methods = unique(row["row"] for row in rows), unique(row["method"] for row in rows)
    figure, axes = plt.subplots(
        len(methods), len(names), squeeze=False, layout="constrained", figsize=(2.9 * len(names), 3.2 * len(methods))
    )
    for row in rows:
        axis = axes[methods.index(row["method"])][names.index(row["row"])]
        stride, columns = row["stride"], row["columns"]
        times = np.array(row["times_us"], dtype=float).reshape(-1, columns)
        extent = (0, columns * stride, -3, -3 + len(times) * stride)
        image = axis.imshow(times, origin="lower", norm=LogNorm(), cmap="magma", interpolation="nearest", extent=extent)
        figure.colorbar(image, ax=axis, fraction=0.05, label="µs")
        axis.set_title(f"{row['row']}, {row['method']}", fontsize=9)
        axis.set(xlabel="distance from the axis, mm", ylabel="height, mm")
        axis.grid(False)
    save(figure, folder, f"time_{table['name']}.png")
    plt.close(figure)


def draw_curves(plt, table, folder, save):
    """curves_TABLE.png: success, time and iterations over the numbers in the names of columns."""
    rows = [row for row in table["rows"] if row.get("successes")]
    kinds = unique(row["group"].rpartition(", ")[2] for row in table["rows"])
    if not rows or len(kinds) > 3:
        return  # a matrix of many groups: curves would hide each other
    methods = unique(row["method"] for row in rows)
    groups = unique(row["group"].rpartition(", ")[0] for row in table["rows"])
    quantities = (
        ("success, %", lambda row: row["success_percent"]),
        ("mean time, µs", lambda row: row["time_us"]["mean"]),
        ("mean iterations", lambda row: row["iterations"]["mean"]),
    )
    figure, axes = plt.subplots(
        len(kinds), 3, squeeze=False, layout="constrained", figsize=(3.6 * 3, 2.8 * len(kinds) + 0.5)
    )
    for kind, line in zip(kinds, axes):
        for axis, (words, number) in zip(line, quantities):
            for k, method in enumerate(methods):
                for dash, group in zip(DASHES, groups):
                    name = f"{group}, {kind}" if group else kind
                    found = [row for row in rows if (row["group"], row["method"]) == (name, method)]
                    at = [float(row["column"].split()[0]) for row in found]
                    axis.plot(at, [number(row) for row in found], dash, marker=".", color=f"C{k}")
            axis.set(xlabel="bend of the targets, deg", ylabel=words, title=kind)
            if not words.startswith("success"):
                axis.set_yscale("log")
    handles = [axes[0][0].plot([], [], color=f"C{k}", label=method)[0] for k, method in enumerate(methods)]
    handles += [axes[0][0].plot([], [], dash, color="#555555", label=group)[0] for dash, group in zip(DASHES, groups)]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    save(figure, folder, f"curves_{table['name']}.png")
    plt.close(figure)
