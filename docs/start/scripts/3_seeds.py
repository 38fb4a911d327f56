"""3: an experiment with 50 seeds, the controller with and without its integral action, and a plot."""

# %% What a seed draws: how heavy and how stiff the sections are, which the controller is not told.
from pathlib import Path

import matplotlib
import my_reach  # noqa: F401
import numpy as np

import tendril as td

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

Path("reach.toml").write_text(f"""
scene = "{td.share}/scenes/reach/reach.xml"
duration = 1.0

[vary]
"robot.section.*.mass" = {{ uniform = [0.04, 0.12] }}
"robot.section.*.bending_stiffness" = {{ uniform = [0.03, 0.08] }}

[[check]]
name = "the tip arrives"
metric = "tip_error_end"
max = 0.001
""")
experiment = td.Experiment("reach.toml")

# %% The same seed draws the same for both: they are compared in pairs.
seeds = range(50)
errors = {}
for name, gain in (("with integral", 5.0), ("without", 0.0)):
    results = [experiment.run(seed=seed, controller="my.reach", set={"controller.gain": gain}) for seed in seeds]
    errors[name] = np.array([result.metrics["tip_error_end"] for result in results])
    print(
        f"{name}: {sum(result.passes for result in results)} of {len(seeds)} pass, "
        f"median {1e3 * np.median(errors[name]):.3f} mm, worst {1e3 * errors[name].max():.3f} mm"
    )
assert (errors["with integral"] < errors["without"]).all()

# %% A plot: every seed is a pair of points.
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for name, values in errors.items():
    axes.plot(seeds, 1e3 * values, "o", label=name)
axes.set(xlabel="seed", ylabel="tip error after 1 s, mm", yscale="log")
axes.legend()
figure.savefig("seeds.png")

# %% The same as a sweep on all cores, with statistics and a report, and any run again by its number:
#
#     [sweep]
#     seeds = 50
#     [[sweep.variant]]
#     name = "with integral"
#     controller = "my.reach"
#     python = "my_reach.py"
#     [[sweep.variant]]
#     name = "without"
#     controller = "my.reach"
#     python = "my_reach.py"
#     set = { "controller.gain" = 0 }
#
# at the end of reach.toml, then `tendril sweep reach.toml` (docs/guide/sweeps.md).
