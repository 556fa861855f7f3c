#!/usr/bin/env python3
"""JAX beside bench/many: ideal-gas pistons by the discrete gradient, written out by hand, vmapped and jitted, three iterations of Newton's method a
step with the exact 2 x 2 Jacobian. Usage: bench/many_jax.py MEMBERS STEPS; prints million member-steps a second of processor time (the best of five)
and the largest relative error of the energy."""
import os
import sys
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

jax.config.update("jax_enable_x64", True)
MEMBERS, STEPS = int(sys.argv[1]), int(sys.argv[2])
H, GAMMA, C = 0.01, 0.1, -2 / 3


def over(d):
    """(e^d - 1)/d"""
    small = jnp.abs(d) < 1e-300
    return jnp.where(small, 1.0, jnp.expm1(d) / jnp.where(small, 1.0, d))


def power(a, b):
    """x^C[a, b]"""
    l = jnp.log1p((b - a) / a)
    return a ** (C - 1) * C * over(C * l) * jnp.where(l == 0, 1.0, l / jnp.where(l == 0, 1.0, (b - a) / a))


def residual(u, z):
    v, S = u
    x0, p0, S0 = z
    x1 = x0 + H * v
    force = 0.5 * (jnp.exp(S0) + jnp.exp(S)) * power(x0, x1) + GAMMA * v
    T = 0.5 * (x0**C + x1**C) * jnp.exp(S0) * over(S - S0)
    return jnp.stack([2 * v - 2 * p0 + H * force, (S - S0) * T - H * GAMMA * v * v])


def step(z, _):
    def update(u, _):
        r, J = residual(u, z), jax.jacfwd(residual)(u, z)
        det = J[0, 0] * J[1, 1] - J[0, 1] * J[1, 0]
        return u - jnp.stack([J[1, 1] * r[0] - J[0, 1] * r[1], J[0, 0] * r[1] - J[1, 0] * r[0]]) / det, None

    u, _ = jax.lax.scan(update, jnp.stack([z[1], z[2]]), None, length=3)
    return jnp.stack([z[0] + H * u[0], 2 * u[0] - z[1], u[1]]), None


def energy(z):
    return z[:, 1] ** 2 / 2 + np.exp(z[:, 2]) * z[:, 0] ** C


march = jax.jit(jax.vmap(lambda z: jax.lax.scan(step, z, None, length=STEPS)[0]))
starts = np.stack([np.random.default_rng(1).uniform(0.9, 1.1, MEMBERS), np.zeros(MEMBERS), np.full(MEMBERS, 10.0)], 1)
end = np.asarray(march(starts))
times = []
for _ in range(5):
    begin = time.process_time()
    march(starts).block_until_ready()
    times.append(time.process_time() - begin)
print(MEMBERS * STEPS / min(times) / 1e6, abs(energy(end) / energy(starts) - 1).max())
