#!/usr/bin/env python3
"""JAX, jitted, as a peer of bench/train.c: bench/train_jax.py THREADS. See bench/train_peer.py.

The number of threads is that of the processors the process may use: bench/run sets it with taskset."""
import sys
import jax
import jax.numpy as np
from train_peer import serve

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")


def field(parts, x):
    for W, b in zip(parts[:-1:2], parts[1::2]):
        x = np.tanh(x @ W.T + b)
    return (x @ parts[-1].T)[:, 0]


def make_step(p):
    theta = p.networks(np.array)
    x, factor, v, T1, T2, h, weight, first = map(np.array, (p.x, p.factor, p.v, p.T1, p.T2, p.h, p.weight, p.first))
    begin = (lambda a: a[0::2]) if p.apart else (lambda a: a[first])
    end = (lambda a: a[1::2]) if p.apart else (lambda a: a[first + 1])

    def friction(parts):
        u = field(parts, x)
        return 0.5 * (u + np.sqrt(u * u + p.floor ** 2))

    def loss_of(networks):
        G, F1, F2 = networks
        slopes = jax.grad(lambda y: field(G, y).sum())(x) * factor
        lam = friction(F1), friction(F2)
        rate = slopes[:, 0] - (lam[0] + lam[1]) * v
        r = [end(slopes[:, 1]) - begin(slopes[:, 1]) - h * end(rate)]
        for i, T in enumerate((T1, T2)):
            r.append(end(slopes[:, 2 + i]) - begin(slopes[:, 2 + i]) - h * begin(lam[i] * v * v / T))
        return 0.5 * np.mean((np.stack(r) * weight) ** 2)

    def adam(state):
        theta, m, s, k = state
        g = jax.grad(loss_of)(theta)
        each = jax.tree_util.tree_map
        m = each(lambda a, b: 0.9 * a + 0.1 * b, m, g)
        s = each(lambda a, b: 0.999 * a + 0.001 * b * b, s, g)
        along, across = 1e-6 / (1 - 0.9 ** (k + 1)), 1 / (1 - 0.999 ** (k + 1))
        theta = each(lambda a, b, c: a - along * b / (np.sqrt(across * c) + 1e-8), theta, m, s)
        return theta, m, s, k + 1

    zero = jax.tree_util.tree_map(np.zeros_like, theta)
    loss, gradient = jax.jit(jax.value_and_grad(loss_of))(theta)
    jitted = jax.jit(adam, donate_argnums=0)
    copy = lambda: jax.tree_util.tree_map(lambda a: a + 0, zero)
    state = [(jax.tree_util.tree_map(lambda a: a + 0, theta), copy(), copy(), np.array(0.0))]

    def step():
        state[0] = jax.block_until_ready(jitted(state[0]))

    return step, float(loss), jax.tree_util.tree_leaves(gradient)


serve(f"JAX-{jax.__version__}", int(sys.argv[1]), make_step)
