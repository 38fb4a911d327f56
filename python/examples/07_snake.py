"""The shape of a snake whose joints make a wave."""

import numpy as np

import tendril as td

snake = td.load_robot(td.share / "scenes/snake_travel/snake.toml", td.Snake)
phases = np.linspace(0, 2 * np.pi, 100)
yaw = np.arange(len(snake)) % 2 == 0
waves = np.where(yaw, 0.5 * np.sin(phases[:, None] - 0.6 * np.arange(len(snake))), 0.0)
points = snake.points(waves)
width = np.ptp(points[..., 1], axis=-1)
print(f"{len(snake)} joints, {snake.length:.2f} m; width of the wave {width.min():.3f} to {width.max():.3f} m")

assert snake.within_limits(waves).all() and np.allclose(points[..., 2], 0.0)
