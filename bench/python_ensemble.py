#!/usr/bin/env python3
"""10,000 motions of the adiabatic piston, 100 implicit steps each, against JAX (jitted, vmapped, by hand and by diffrax) and SciPy; rates of a
million states against NumPy and JAX. Usage: bench/python_ensemble.py [MEMBERS] in an environment with the wheel and the peers (tools/python-peers);
what is not installed is called absent. Processor times, so that other load on the machine counts little."""
import sys
import time

import numpy as np

import clausius as cl

MEMBERS, STEPS, H = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000, 100, 0.01
piston = cl.system("adiabatic-piston")
random = np.random.default_rng(1)
starts = random.uniform((-1, -1, 0.5, 0.5), (1, 1, 1.5, 1.5), (MEMBERS, 4))


def rates(np, x, v, T1, T2):
    """The piston's equations by hand, for NumPy and JAX."""
    V1, V2 = 2 * (2 + x), 2 - x
    c1, c2 = 0.02 + 2 * v * v * (1 + 0.1 * T1 * T1), 0.04 + v * v * (1 + 0.1 * T2 * T2)
    return v, 2 / 3 * (2 * T1 / V1 - T2 / V2) - (c1 + c2) * v, c1 * v * v - T1 * 2 / 3 * 2 * v / V1, c2 * v * v + T2 * 2 / 3 * v / V2


def spent(work, rounds=3):
    work()
    times = []
    for _ in range(rounds):
        begin, wall = time.process_time(), time.perf_counter()
        result = work()
        times.append((time.process_time() - begin, time.perf_counter() - wall))
    return min(times)[0], result


def line(name, seconds, count, own):
    print(f"{name:<44} {seconds:8.3f} s  {count / seconds / 1e6:8.2f} million a second  {seconds / own:6.1f}", flush=True)


assert np.allclose(np.stack(rates(np, *starts.T), 1), piston.rates(starts), rtol=1e-12)
print(f"{MEMBERS} motions of {STEPS} steps; processor time; the last column is the time in units of the first line")
own, runs = spent(lambda: piston.simulate(starts=starts, steps=STEPS, every=STEPS, h=H, scheme="implicit-midpoint"))
line("clausius implicit-midpoint", own, MEMBERS * STEPS, own)
seconds, _ = spent(lambda: piston.simulate(starts=starts, steps=STEPS, every=STEPS, h=H))
line("clausius discrete-gradient", seconds, MEMBERS * STEPS, own)

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
    seconds, end = spent(lambda: march(starts).block_until_ready())
    line("JAX implicit midpoint, three iterations", seconds, MEMBERS * STEPS, own)
    final = np.stack([runs[n][:, -1] for n in piston.states], 1)
    print(f"  largest difference of the two at the end: {abs(np.asarray(end) - final).max():.1e}")
except ImportError:
    print("JAX is absent")
try:
    import diffrax

    control = diffrax.PIDController(rtol=1e-6, atol=1e-8)  # with constant steps its implicit solvers want tolerances of their own, and diverge
    solve = jax.jit(jax.vmap(lambda z: diffrax.diffeqsolve(diffrax.ODETerm(lambda t, y, a: f(y)), diffrax.Kvaerno3(), 0.0, STEPS * H, H, z,
                                                           stepsize_controller=control, saveat=diffrax.SaveAt(t1=True)).ys))
    few = starts[: max(1, MEMBERS // 20)]
    seconds, _ = spent(lambda: solve(few).block_until_ready(), 1)
    line("diffrax Kvaerno3, rtol 1e-6 (of 1/20)", seconds * MEMBERS / len(few), MEMBERS * STEPS, own)
except ImportError:
    print("diffrax is absent")
try:
    from scipy.integrate import solve_ivp

    few = starts[: max(1, MEMBERS // 500)]
    seconds, _ = spent(lambda: [solve_ivp(lambda t, z: rates(np, *z), (0, STEPS * H), z, method="Radau", rtol=1e-6) for z in few], 1)
    line("SciPy Radau, rtol 1e-6 (of 1/500)", seconds * MEMBERS / len(few), MEMBERS * STEPS, own)
except ImportError:
    print("SciPy is absent")

states = np.repeat(starts, 1_000_000 // MEMBERS, 0)
print("rates of a million states")
own, _ = spent(lambda: piston.rates(states))
line("clausius", own, len(states), own)
seconds, _ = spent(lambda: np.stack(rates(np, *states.T), 1))
line("NumPy, by hand", seconds, len(states), own)
if "jax" in sys.modules:
    many = jax.jit(jax.vmap(f))
    seconds, _ = spent(lambda: many(states).block_until_ready())
    line("JAX, by hand", seconds, len(states), own)
