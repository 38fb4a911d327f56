"""Learns an environment by proximal policy optimization (Schulman et al. 2017): pip install jax optax matplotlib.

python ppo.py Reach --steps 400000 [--clone 0] [--envs 64] [--hold 1] [--scale 1] [--discount 0.98] [--penalty 0]
    [--device cuda] [--seed 0] [--out ppo]

With --clone it begins with a clone of the policy without learning (DAgger, Ross et al. 2011): in the first steps the
network learns the actions of that policy, which takes ever fewer of them itself. Of what comes then it keeps the policy
whose episodes had the largest return.
"""

import argparse
import time
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
import optax

from tendril.envs import VectorEnvironment, baselines

LAMBDA, CLIP, EPOCHS, MINIBATCHES, RATE = 0.95, 0.2, 8, 8, 1e-3
DEVIATION = -0.5  # of the first actions, its logarithm
CLONED_DEVIATION, CLONED_RATE = -3.0, 5e-5  # of what improves a clone
CLONE_BATCH = 512  # actions in a batch of a clone, of all that were taught before


def layers(key, sizes, last):
    keys = jax.random.split(key, len(sizes) - 1)
    scales = [2**0.5] * (len(sizes) - 2) + [last]
    return [
        (jax.nn.initializers.orthogonal(scale)(k, (a, b)), jnp.zeros(b))
        for k, a, b, scale in zip(keys, sizes, sizes[1:], scales)
    ]


def network(weights, x):
    for w, b in weights[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = weights[-1]
    return x @ w + b


def log_density(parameters, observations, actions):
    mean, deviation = network(parameters["policy"], observations), parameters["deviation"]
    return jnp.sum(-0.5 * ((actions - mean) / jnp.exp(deviation)) ** 2 - deviation, axis=-1)


@jax.jit
def act(parameters, observations, key):
    mean = network(parameters["policy"], observations)
    actions = mean + jnp.exp(parameters["deviation"]) * jax.random.normal(key, mean.shape)
    return actions, log_density(parameters, observations, actions), network(parameters["value"], observations)[:, 0]


def loss(parameters, batch):
    observations, actions, old, advantages, returns = batch
    ratio = jnp.exp(log_density(parameters, observations, actions) - old)
    gain = jnp.minimum(ratio * advantages, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * advantages)
    return -gain.mean() + value_loss(parameters, batch)


def value_loss(parameters, batch):
    error = network(parameters["value"], batch[0])[:, 0] - batch[-1]
    return 0.5 * (error**2).mean()


def clone_loss(parameters, batch):
    observations, actions = batch
    return ((network(parameters["policy"], observations) - actions) ** 2).sum(axis=1).mean()


class Teachers:
    """Policies without learning, one for each simulation."""

    def __init__(self, envs, seed):
        self._envs, self._seed, self._all = envs, seed, [None] * envs.num_envs
        self.begin(np.ones(envs.num_envs, dtype=bool))

    def begin(self, over):
        for i in np.flatnonzero(over):
            self._all[i] = baselines.make_policy(self._envs, self._seed, i, remembers=False)

    def actions(self, observations, hold):
        """(simulations, actions): after as many steps of the policies as the action is held."""
        return np.array([[p(seen) for _ in range(hold)][-1] for p, seen in zip(self._all, observations, strict=True)])


def held_step(envs, actions, hold):
    """As envs.step, with `hold` steps of the same actions or less, until an episode is over; the sum of the rewards."""
    total = np.zeros(envs.num_envs)
    for _ in range(hold):
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        total += rewards
        if (terminated | truncated).any():
            break
    return observations, total, terminated, truncated, infos


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="?", default="Reach", help="as in Tendril/TASK-v0")
    parser.add_argument("--steps", type=int, default=400_000, help="of all simulations together")
    parser.add_argument("--clone", type=int, default=0, help="the first of the steps, with the policy without learning")
    parser.add_argument("--batches", type=int, default=2000, help="in the last update of the clone; at first fewer")
    parser.add_argument("--envs", type=int, default=64)
    parser.add_argument("--hidden", type=int, default=64, help="width of both hidden layers")
    parser.add_argument("--horizon", type=int, default=50, help="actions of each simulation between two updates")
    parser.add_argument("--hold", type=int, default=1, help="steps with the same action, for episodes of many steps")
    parser.add_argument("--scale", type=float, default=1.0, help="of the first actions, for strong actuators")
    parser.add_argument("--deviation", type=float, help="of the first actions; default: 0.61, of a clone 0.05")
    parser.add_argument("--discount", type=float, default=0.98, help="of rewards, for each action later")
    parser.add_argument("--penalty", type=float, default=0.0, help="of a step that diverges, while it learns")
    parser.add_argument("--device", help="of Warp, such as cuda; default: threads of the CPU")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("ppo"), help="name of the files .npz and .png")
    options = parser.parse_args()
    count, horizon, hold = options.envs, options.horizon, options.hold
    updates = max(options.steps // (count * horizon * hold), 1)
    cloning = options.clone // (count * horizon * hold)  # updates
    envs = VectorEnvironment(options.task, count, device=options.device)
    inputs, outputs = envs.single_observation_space.shape[0], envs.single_action_space.shape[0]
    first = CLONED_DEVIATION if cloning else DEVIATION
    key, *keys = jax.random.split(jax.random.key(options.seed), 3)
    parameters = {
        "policy": layers(keys[0], [inputs, options.hidden, options.hidden, outputs], 0.01),
        "value": layers(keys[1], [inputs, options.hidden, options.hidden, 1], 1.0),
        "deviation": jnp.full(outputs, np.log(options.deviation) if options.deviation else first),
    }
    each = EPOCHS * MINIBATCHES
    rate = optax.linear_schedule(CLONED_RATE if cloning else RATE, 0.0, (updates - cloning) * each)
    batches = [options.batches * (update + 1) // cloning for update in range(cloning)]  # the more, the more was taught
    to_clone = cloning * each + sum(batches)
    rate = optax.join_schedules([optax.linear_schedule(RATE, CLONED_RATE, max(to_clone, 1)), rate], [to_clone])
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(rate))
    memory = optimizer.init(parameters)

    @partial(jax.jit, static_argnames="measure")
    def improve(parameters, memory, batch, measure):
        gradient = jax.grad(measure)(parameters, batch)
        change, memory = optimizer.update(gradient, memory)
        return optax.apply_updates(parameters, change), memory

    rng = np.random.default_rng(options.seed)
    raw, _ = envs.reset(seed=options.seed)
    teachers, lessons = Teachers(envs, options.seed) if cloning else None, []
    mean, square, seen = np.zeros(inputs), np.ones(inputs), 1e-4  # of the observations so far
    discounted, spread = np.zeros(count), 1.0  # returns, whose deviation scales the rewards
    over = np.zeros(count, dtype=bool)
    totals, finished, curve, start = np.zeros(count), [], [], time.perf_counter()
    best = (-np.inf,)  # of what improved a clone: return of the episodes that ended in an update, and the policy then
    for update in range(updates):
        shown = []  # observation, action, log density, value, reward; whether it counts, goes on, is not the last
        for _ in range(horizon):
            total = seen + count
            mean, square = (mean * seen + raw.sum(axis=0)) / total, (square * seen + (raw**2).sum(axis=0)) / total
            seen = total
            deviation = np.sqrt(np.maximum(square - mean**2, 1e-8))
            observations = np.clip((raw - mean) / deviation, -10, 10).astype(np.float32)
            key, own = jax.random.split(key)
            actions, density, value = (np.asarray(part) for part in act(parameters, observations, own))
            steps = 1 if over.any() else hold  # a step that begins episodes holds nothing
            if update < cloning:
                taught = teachers.actions(raw, steps) / options.scale
                lessons.append((raw[~over], taught[~over]))
                led = rng.uniform(size=(count, 1)) < 1.0 - (update + 1) / cloning
                actions = np.where(led, taught, actions)
            raw, rewards, terminated, truncated, infos = held_step(envs, np.clip(options.scale * actions, -1, 1), steps)
            worth = rewards - options.penalty * infos.get("diverged", 0.0)
            discounted = options.discount * discounted * ~over + worth
            spread = 0.99 * spread + 0.01 * max(float(discounted.std()), 1e-3)
            goes_on = ~(terminated | truncated)
            shown.append((observations, actions, density, value, worth / spread, ~over, goes_on, ~terminated))
            totals += rewards
            ended = (terminated | truncated) & ~over
            finished += totals[ended].tolist()
            totals[ended] = 0.0
            if update < cloning:
                teachers.begin(over)
            over = terminated | truncated  # the next step only begins a new episode
        observations, actions, density, value, rewards, counts, goes_on, has_value = map(np.stack, zip(*shown))
        now = np.clip((raw - mean) / deviation, -10, 10).astype(np.float32)
        following = np.concatenate((value[1:], np.asarray(act(parameters, now, own)[2])[None]))
        advantages, last = np.zeros_like(value), np.zeros(count)
        for t in reversed(range(horizon)):
            error = rewards[t] + options.discount * has_value[t] * following[t] - value[t]
            last = error + options.discount * LAMBDA * goes_on[t] * last
            advantages[t] = last
        rows = [part.reshape(horizon * count, *part.shape[2:])[counts.ravel()] for part in (observations, actions)]
        rows += [part.ravel()[counts.ravel()] for part in (density, advantages, advantages + value)]
        rows[3] = (rows[3] - rows[3].mean()) / (rows[3].std() + 1e-8)
        if update < cloning:
            seen_then, taught_then = (np.concatenate(part) for part in zip(*lessons))
            for _ in range(batches[update]):
                chosen = rng.integers(0, len(seen_then), CLONE_BATCH)
                then = np.clip((seen_then[chosen] - mean) / deviation, -10, 10)
                batch = [then.astype(np.float32), taught_then[chosen].astype(np.float32)]
                parameters, memory = improve(parameters, memory, batch, clone_loss)
            print(f"clone: {float(clone_loss(parameters, batch)):.4f}", flush=True)
        measure = value_loss if update < cloning else loss
        size = horizon * count // MINIBATCHES * 9 // 10  # the same for each update: compiled once
        for _ in range(EPOCHS):
            order = rng.permutation(len(rows[0]))
            for part in range(MINIBATCHES):
                chosen = np.resize(order[part * size :], size)
                batch = [row[chosen].astype(np.float32) for row in rows]
                parameters, memory = improve(parameters, memory, batch, measure)
        if finished:
            curve.append(((update + 1) * count * horizon * hold, time.perf_counter() - start, float(np.mean(finished))))
            finished = []
            if update >= cloning > 0 and curve[-1][2] > best[0]:
                best = curve[-1][2], parameters, mean, deviation
            print(f"{curve[-1][0]} steps, {curve[-1][1]:.0f} s: return {curve[-1][2]:.2f}", flush=True)
    if len(best) > 1:
        _, parameters, mean, deviation = best
    parameters["policy"][-1] = [options.scale * part for part in parameters["policy"][-1]]
    policy = {f"{kind}{i}": np.asarray(p) for i, pair in enumerate(parameters["policy"]) for kind, p in zip("wb", pair)}
    np.savez(options.out.with_suffix(".npz"), mean=mean, deviation=deviation, hold=hold, **policy)
    draw(np.array(curve), options)
    tell(envs, policy, mean, deviation, hold)


def tell(envs, policy, mean, deviation, hold) -> None:
    """Prints returns of episodes that were not trained on, with the mean of the policy, and their last tip errors."""
    weights = [(policy[f"w{i}"], policy[f"b{i}"]) for i in range(len(policy) // 2)]
    raw, _ = envs.reset(seed=1_000_000)
    total, going = np.zeros(envs.num_envs), np.ones(envs.num_envs, dtype=bool)
    errors, successes = np.zeros(envs.num_envs), np.zeros(envs.num_envs, dtype=bool)
    while going.any():
        actions = np.asarray(network(weights, np.clip((raw - mean) / deviation, -10, 10).astype(np.float32)))
        raw, rewards, terminated, truncated, infos = held_step(envs, np.clip(actions, -1, 1), hold)
        total += rewards * going
        errors[going], successes[going] = infos["tip_error"][going], infos["is_success"][going]
        going &= ~(terminated | truncated)
    print(
        f"{envs.num_envs} new episodes: return {total.mean():.2f}, success {successes.mean():.2f}, tip error at the "
        f"end {1e3 * np.median(errors):.1f} mm (median), {1e3 * errors.max():.1f} mm (largest)"
    )


def draw(curve, options) -> None:
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3.5), layout="constrained")
    axes.plot(curve[:, 0], curve[:, 2])
    axes.set(xlabel="steps", ylabel="mean return of an episode", title=f"Tendril/{options.task}-v0, PPO")
    figure.savefig(options.out.with_suffix(".png"), dpi=150)


if __name__ == "__main__":
    main()
