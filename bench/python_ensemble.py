#!/usr/bin/env python3
"""10,000 motions of the adiabatic piston, 100 implicit steps each, against JAX (jitted, vmapped, by hand and by diffrax), torchdiffeq and SciPy; rates,
Jacobians, energies and entropies of a million states against NumPy and JAX. Usage: "$(tools/python-peers)" bench/python_ensemble.py [MEMBERS] [--one]
(--one: one core for everybody). What is not installed is called absent. Processor and wall time, the best of several; other load on the machine counts
in the second. The piston's equations are written by hand for the others, in their shortest form, and once for us (`ode`): the same four equations and the
same rule, each solved to round-off by Newton's method. JAX makes three iterations for all, or iterates until the update is below 1e-14 as we do."""
import os
import sys
import time

ONE = "--one" in sys.argv
if ONE:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np

import clausius as cl

numbers = [int(a) for a in sys.argv[1:] if a.isdigit()]
MEMBERS, STEPS, H = numbers[0] if numbers else 10_000, 100, 0.01
piston = cl.system("adiabatic-piston")
random = np.random.default_rng(1)
LOW, HIGH = (-1, -1, 0.5, 0.5), (1, 1, 1.5, 1.5)
starts = random.uniform(LOW, HIGH, (MEMBERS, 4))


def rates(np, x, v, T1, T2):
    """The piston's equations by hand, for NumPy, PyTorch and JAX."""
    V1, V2 = 2 * (2 + x), 2 - x
    c1, c2 = 0.02 + 2 * v * v * (1 + 0.1 * T1 * T1), 0.04 + v * v * (1 + 0.1 * T2 * T2)
    return v, 2 / 3 * (2 * T1 / V1 - T2 / V2) - (c1 + c2) * v, c1 * v * v - T1 * 2 / 3 * 2 * v / V1, c2 * v * v + T2 * 2 / 3 * v / V2


def energy(np, x, v, T1, T2):
    return v * v / 2 + T1 + T2


def entropy(np, x, v, T1, T2):
    return np.log(T1 * (2 * (2 + x)) ** (2 / 3)) + np.log(T2 * (2 - x) ** (2 / 3))


def spent(work, rounds=5):
    """Least processor time, least wall time, the result."""
    result = work()
    times = []
    for _ in range(rounds):
        begin, wall = time.process_time(), time.perf_counter()
        result = work()
        times.append((time.process_time() - begin, time.perf_counter() - wall))
    return min(t[0] for t in times), min(t[1] for t in times), result


def table(title):
    print(f"\n| {title} | processor | wall | million a second of processor | time over the first row |\n|---|---|---|---|---|", flush=True)


def line(name, seconds, wall, count, own, share=1):
    ratio = "" if own == seconds else f"{seconds * share / own:.2g}"
    print(f"| {name} | {seconds * share * 1e3:.1f} ms | {wall * share * 1e3:.1f} ms | {count / seconds / share / 1e6:.3g} | {ratio} |", flush=True)
    return seconds


ODE = """system "the piston's equations, as the others have them"
let V1 = 2*(2 + x)
let V2 = 2 - x
let c1 = 0.02 + 2*v^2*(1 + 0.1*T1^2)
let c2 = 0.04 + v^2*(1 + 0.1*T2^2)
ode x' = v
ode v' = 2/3*(2*T1/V1 - T2/V2) - (c1 + c2)*v
ode T1' = c1*v^2 - T1*2/3*2*v/V1
ode T2' = c2*v^2 + T2*2/3*v/V2
start x = 0, v = 0, T1 = 1, T2 = 1
step 0.01
"""

print(f"{'one core' if ONE else f'{len(os.sched_getaffinity(0))} cores'}, load {os.getloadavg()[0]:.1f}, {MEMBERS} motions of {STEPS} steps")
assert np.allclose(np.stack(rates(np, *starts.T), 1), piston.rates(starts), rtol=1e-12)
table("ensemble, steps")
by_hand = cl.system(ODE)
assert np.allclose(by_hand.rates(starts), piston.rates(starts), rtol=1e-12)
*times, runs = spent(lambda: by_hand.simulate(starts=starts, steps=STEPS, every=STEPS, h=H, scheme="implicit-midpoint"))
own = line("clausius implicit-midpoint of the same equations", *times, MEMBERS * STEPS, times[0])
*times, _ = spent(lambda: piston.simulate(starts=starts, steps=STEPS, every=STEPS, h=H, scheme="implicit-midpoint"))
line("clausius implicit-midpoint of the piston (in entropies)", *times, MEMBERS * STEPS, own)
*times, _ = spent(lambda: piston.simulate(starts=starts, steps=STEPS, every=STEPS, h=H))
line("clausius discrete-gradient (laws by form)", *times, MEMBERS * STEPS, own)

try:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def f(z):
        return jnp.stack(rates(jnp, *z))

    def step(z, _):
        def update(y, _):
            r = y - z - H * f((y + z) / 2)
            J = jax.jacfwd(lambda w: w - z - H * f((w + z) / 2))(y)
            return y - jnp.linalg.solve(J, r), None

        return jax.lax.scan(update, z + H * f(z), None, length=3)[0], None

    march = jax.jit(jax.vmap(lambda z: jax.lax.scan(step, z, None, length=STEPS)[0]))
    *times, end = spent(lambda: march(starts).block_until_ready())
    line("JAX implicit midpoint, three iterations", *times, MEMBERS * STEPS, own)

    def eliminate(J, r):
        """Four equations written out, without exchanges: no call of a solver."""
        a = [[J[i, j] for j in range(4)] + [r[i]] for i in range(4)]
        for k in range(4):
            for i in range(k + 1, 4):
                m = a[i][k] / a[k][k]
                a[i] = [a[i][j] - m * a[k][j] for j in range(5)]
        x = [0.0] * 4
        for k in reversed(range(4)):
            x[k] = (a[k][4] - sum(a[k][j] * x[j] for j in range(k + 1, 4))) / a[k][k]
        return jnp.stack(x)

    def written_out(z, _):
        def update(y, _):
            r = y - z - H * f((y + z) / 2)
            return y - eliminate(jax.jacfwd(lambda w: w - z - H * f((w + z) / 2))(y), r), None

        return jax.lax.scan(update, z + H * f(z), None, length=3)[0], None

    plain = jax.jit(jax.vmap(lambda z: jax.lax.scan(written_out, z, None, length=STEPS)[0]))
    *times, _ = spent(lambda: plain(starts).block_until_ready())
    line("JAX implicit midpoint, three iterations, elimination by hand", *times, MEMBERS * STEPS, own)

    def solved(z, _):
        def update(s):
            y, _, n = s
            r = y - z - H * f((y + z) / 2)
            d = jnp.linalg.solve(jax.jacfwd(lambda w: w - z - H * f((w + z) / 2))(y), r)
            return y - d, jnp.max(jnp.abs(d)), n + 1

        return jax.lax.while_loop(lambda s: (s[1] > 1e-14) & (s[2] < 20), update, (z + H * f(z), jnp.inf, 0))[0], None

    exact = jax.jit(jax.vmap(lambda z: jax.lax.scan(solved, z, None, length=STEPS)[0]))
    *times, _ = spent(lambda: exact(starts).block_until_ready(), 2)
    line("JAX implicit midpoint, until 1e-14", *times, MEMBERS * STEPS, own)
    final = np.stack([runs[n][:, -1] for n in by_hand.states], 1)
    difference = abs(np.asarray(end) - final).max()
except ImportError:
    jax = None
    print("| JAX | absent |")
try:
    import diffrax

    control = diffrax.PIDController(rtol=1e-6, atol=1e-8)  # with constant steps its implicit solvers want tolerances of their own, and diverge
    solve = jax.jit(jax.vmap(lambda z: diffrax.diffeqsolve(diffrax.ODETerm(lambda t, y, a: f(y)), diffrax.Kvaerno3(), 0.0, STEPS * H, H, z,
                                                           stepsize_controller=control, saveat=diffrax.SaveAt(t1=True)).ys))
    few = starts[: max(1, MEMBERS // 20)]
    *times, _ = spent(lambda: solve(few).block_until_ready(), 1)
    line("diffrax Kvaerno3, rtol 1e-6 (of 1/20)", *times, MEMBERS * STEPS, own, MEMBERS / len(few))
except ImportError:
    print("| diffrax | absent |")
try:
    import torch
    from torchdiffeq import odeint

    torch.set_default_dtype(torch.float64)
    if ONE:
        torch.set_num_threads(1)
    many, span = torch.tensor(starts), torch.linspace(0, STEPS * H, STEPS + 1)
    with torch.no_grad():
        *times, _ = spent(lambda: odeint(lambda t, z: torch.stack(rates(torch, *z.T), 1), many, span, method="rk4"), 2)
    line("torchdiffeq rk4, explicit, batched", *times, MEMBERS * STEPS, own)
except ImportError:
    print("| torchdiffeq | absent |")
try:
    from scipy.integrate import solve_ivp

    few = starts[: max(1, MEMBERS // 500)]
    *times, _ = spent(lambda: [solve_ivp(lambda t, z: rates(np, *z), (0, STEPS * H), z, method="Radau", rtol=1e-6) for z in few], 1)
    line("SciPy Radau, rtol 1e-6 (of 1/500)", *times, MEMBERS * STEPS, own, MEMBERS / len(few))
except ImportError:
    print("| SciPy | absent |")

states = random.uniform(LOW, HIGH, (1_000_000, 4))
for name, formula in (("rates", rates), ("jacobian", None), ("energy", energy), ("entropy", entropy)):
    table(f"{name} of a million states")
    *times, _ = spent(lambda: getattr(piston, name)(states), 7)
    own = line("clausius", *times, len(states), times[0])
    if formula:
        *times, _ = spent(lambda: np.stack(formula(np, *states.T), 1) if name == "rates" else formula(np, *states.T), 7)
        line("NumPy, by hand", *times, len(states), own)
    if jax:
        one = jax.jacfwd(f) if not formula else f if name == "rates" else lambda z: formula(jnp, *z)
        compiled, given = jax.jit(jax.vmap(one)), jnp.asarray(states)
        *times, _ = spent(lambda: compiled(given).block_until_ready(), 7)
        line("JAX, by hand, arrays of its own", *times, len(states), own)
if jax:
    print(f"\nlargest difference of the two ensembles by implicit midpoint at the end: {difference:.1e}")
