"""The chain of bench/large.c by SciPy (BDF and Radau with the sparsity of the Jacobian, DOP853) and by JAX (classical Runge-Kutta,
compiled), 1,000 masses up to t = 10: seconds of processor time (with BENCH_WALL set by the clock on the wall) and the largest error against FILE.

Usage: large_peer.py FILE
"""
import os
import sys
import time

import numpy
from scipy.integrate import solve_ivp
from scipy.sparse import bmat, diags

clock = time.perf_counter if os.environ.get("BENCH_WALL") else time.process_time
N, C, KAPPA = 1000, 0.1, float(os.environ.get("KAPPA", "0.2"))
STIFF = KAPPA > 10
EXACT = numpy.fromfile(sys.argv[1])
START = numpy.concatenate([numpy.sin(numpy.pi * numpy.arange(1, N + 1) / 8), numpy.zeros(2 * N)])


def rates(t, z, np=numpy):
    u, v, s = z[:N], z[N:2 * N], z[2 * N:]
    d = np.diff(np.concatenate([np.zeros(1), u, np.zeros(1)]))
    f, T = d + d * d * d, np.exp(s)
    q = KAPPA * np.concatenate([np.zeros(1), np.diff(T), np.zeros(1)])
    return np.concatenate([v, f[1:] - f[:-1] - C * v, (C * v * v + q[1:] - q[:-1]) / T])


def show(name, setting, seconds, z):
    print(f"{name:<27} {setting:>9} {seconds:10.6f} {numpy.abs(z - EXACT).max():10.3e}", flush=True)


ONE, THREE = diags([1.0], [0], shape=(N, N)), diags([1.0, 1.0, 1.0], [-1, 0, 1], shape=(N, N))
PATTERN = bmat([[None, ONE, None], [THREE, ONE, None], [None, ONE, THREE]]).tocsr()
for method, tolerances in (("BDF", (1e-5, 1e-7)), ("Radau", (1e-4,) if STIFF else (1e-4, 1e-6)), ("DOP853", (1e-4,) if STIFF else (1e-4, 1e-7, 1e-8))):
    for tolerance in tolerances:
        sparse = {} if method == "DOP853" else {"jac_sparsity": PATTERN}
        best = float("inf")
        for _ in range(9 if method == "DOP853" and not STIFF else 2):
            begin = clock()
            found = solve_ivp(rates, (0, 10), START, method=method, rtol=tolerance, atol=tolerance, **sparse)
            best = min(best, clock() - begin)
        show("SciPy " + method, f"{tolerance:g}", best, found.y[:, -1])

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    sys.exit(0)
jax.config.update("jax_enable_x64", True)


def runge_kutta(z, h, n):
    def step(z, _):
        a = rates(0, z, jnp)
        b = rates(0, z + h / 2 * a, jnp)
        c = rates(0, z + h / 2 * b, jnp)
        return z + h / 6 * (a + 2 * b + 2 * c + rates(0, z + h * c, jnp)), None
    return jax.lax.scan(step, z, None, length=n)[0]


compiled = jax.jit(runge_kutta, static_argnums=2)
for n in (3000, 6000) if STIFF else (30, 32, 160, 200):  # the limit of stability is at 2,900 steps where it is stiff
    compiled(START, 10 / n, n).block_until_ready()
    spent = []
    while len(spent) < 9 or sum(spent) < 0.3:  # as bench/large.c does
        begin = clock()
        found = compiled(START, 10 / n, n).block_until_ready()
        spent.append(clock() - begin)
    best = sorted(spent)[len(spent) // 20]
    show("JAX rk4", f"{10 / n:.4g}", best, numpy.asarray(found))
