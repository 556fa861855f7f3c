#!/usr/bin/env python3
"""diffrax and torchdiffeq beside bench/many: ideal-gas pistons in fixed steps of 0.01 by one of their schemes, all members at once, one thread. They
keep no law: what the energy is off by is printed.
Usage: bench/many_peers.py SCHEME MEMBERS STEPS; prints million member-steps a second of processor time (the best of three) and
the largest relative error of the energy. Schemes by the names of diffrax (Midpoint, ImplicitEuler, Kvaerno3), or of torchdiffeq, which has fixed
steps for explicit ones and multistep ones only (midpoint, rk4, implicit_adams)."""
import os
import sys
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numpy as np  # noqa: E402

SCHEME, MEMBERS, STEPS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
H, GAMMA, C = 0.01, 0.1, -2 / 3


def rates(x, v, S, exp):
    """E = v^2/2 + exp(S) x^C; friction heats."""
    T = exp(S) * x**C
    return v, -C * T / x - GAMMA * v, GAMMA * v * v / T


def with_diffrax(starts):
    import diffrax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    solver = getattr(diffrax, SCHEME)
    implicit = issubclass(solver, diffrax.AbstractImplicitSolver)
    if implicit:
        import optimistix
    solver = solver(root_finder=optimistix.Newton(rtol=1e-10, atol=1e-10)) if implicit else solver()
    term = diffrax.ODETerm(lambda t, z, _: jnp.stack(rates(z[0], z[1], z[2], jnp.exp)))

    def march(z):
        return diffrax.diffeqsolve(term, solver, 0.0, STEPS * H, H, z, stepsize_controller=diffrax.ConstantStepSize(), max_steps=STEPS + 8,
                                   adjoint=diffrax.ForwardMode()).ys[0]

    run = jax.jit(jax.vmap(march))
    z = jnp.asarray(starts)
    return lambda: np.asarray(run(z).block_until_ready())


def with_torchdiffeq(starts):
    import torch
    from torchdiffeq import odeint

    torch.set_num_threads(1)
    z, times = torch.tensor(starts), torch.tensor([0.0, STEPS * H], dtype=torch.float64)

    def march():
        with torch.no_grad():
            return odeint(lambda t, y: torch.stack(rates(y[:, 0], y[:, 1], y[:, 2], torch.exp), 1), z, times, method=SCHEME,
                          options={"step_size": H})[-1].numpy()

    return march


def energy(z):
    return z[:, 1] ** 2 / 2 + np.exp(z[:, 2]) * z[:, 0] ** C


starts = np.stack([np.random.default_rng(1).uniform(0.9, 1.1, MEMBERS), np.zeros(MEMBERS), np.full(MEMBERS, 10.0)], 1)
march = (with_torchdiffeq if SCHEME.islower() else with_diffrax)(starts)
end = march()
best = float("inf")
for _ in range(3):
    begin = time.process_time()
    march()
    best = min(best, time.process_time() - begin)
print(MEMBERS * STEPS / best / 1e6, abs(energy(end) / energy(starts) - 1).max())
