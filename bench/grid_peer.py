"""SciPy's implicit methods on the plate of bench/grid: seconds and the largest error of T/T0 at t = 1."""
import os
import sys
import time

import numpy as np
from scipy.integrate import solve_ivp
from scipy.sparse import diags

N, k = int(sys.argv[1]), float(os.environ.get("K", "0.05"))
C = 1 / N**2
exact = np.fromfile(sys.argv[2])
clock = time.perf_counter if os.environ.get("BENCH_WALL") else time.process_time


def inflow(T):
    T = T.reshape(N, N)
    sum_ = np.zeros((N, N))
    sum_[0] += 2
    sum_[1:] += T[:-1]
    sum_[:-1] += T[1:]
    sum_[:, 1:] += T[:, :-1]
    sum_[:, :-1] += T[:, 1:]
    return sum_.ravel()


ways = inflow(np.ones(N * N))


def rhs(t, S):
    T = np.exp(S / C)
    return k * (inflow(T) / T - ways)


def jacobian(t, S):
    T = np.exp(S / C)
    right = np.where(np.arange(1, N * N) % N != 0, 1.0, 0.0)  # i and i + 1 in one row
    return diags([-k * inflow(T) / (T * C), k / C * right * T[1:] / T[:-1], k / C * right * T[:-1] / T[1:],
                  k / C * T[N:] / T[:-N], k / C * T[:-N] / T[N:]], [0, 1, -1, N, -N], format="csc")


x = (np.arange(N) + 0.5) / N - 0.5
start = C * np.log(1 + 0.5 * np.exp(-(x[:, None]**2 + x[None, :]**2) * 36)).ravel()
for method in ("BDF", "Radau"):
    for rtol in (1e-3, 1e-4):
        begin = clock()
        answer = solve_ivp(rhs, (0, 1), start, method=method, rtol=rtol, atol=rtol * C, jac=jacobian, t_eval=[1])
        took = clock() - begin
        error = np.max(np.abs(np.exp(answer.y[:, -1] / C) - exact))
        print(f"{'SciPy ' + method:<27} {rtol:>9.0e} {took:>10.6f} {error:>10.3e}", flush=True)
