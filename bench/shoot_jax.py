#!/usr/bin/env python3
"""diffrax and JAX, jitted, as peers of bench/shoot.c: one request a line, one line of numbers back, seconds first.

    scan FILE             implicit midpoint written with lax.scan: Newton to convergence, then one more step whose derivative
                          is that of the implicit function theorem; the same numbers as ours. Seconds, loss difference,
                          gradient difference (relative)
    implicit-euler FILE   diffrax.ImplicitEuler with Newton, 200 steps of h: the nearest implicit method it has
    kvaerno3 FILE         diffrax.Kvaerno3 with Newton
    midpoint FILE         diffrax.Midpoint, explicit
    tsit5 FILE            diffrax.Tsit5, explicit
    backsolve FILE        diffrax.Midpoint with BacksolveAdjoint: the continuous adjoint; seconds, and its gradient's difference
                          from that through the steps
    version

All in double precision on one processor, loss and gradient in one jitted call (jax.value_and_grad), windows by vmap, processor
time, the best of those that fit into a second. diffrax keeps a checkpoint for each step (RecursiveCheckpointAdjoint(200)): twice
as fast here as its default, which keeps fewer and computes steps again; DirectAdjoint and VeryChord were slower or diverged."""
import sys
import time
import diffrax
import jax
import jax.numpy as np
import numpy
import optimistix

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")
STEPS = 200


class Problem:
    def __init__(self, path):
        data = numpy.fromfile(path)
        width, windows, count = map(int, data[:3])
        self.floor = data[3]
        parts = numpy.split(data[4:], numpy.cumsum([3, 3, 3, STEPS + 1, 3 * windows * (STEPS + 1), count, 1]))
        self.center, self.half, self.weight, self.time, states, theta, loss, self.gradient = parts
        self.data = states.reshape(windows, STEPS + 1, 3)
        self.loss, self.h = loss[0], 0.1
        shapes, at, self.theta = [(width, 3), (width,), (width, width), (width,), (1, width)], 0, []
        for shape in shapes:
            n = int(numpy.prod(shape))
            self.theta.append(np.array(theta[at:at + n].reshape(shape)))
            at += n

    def rate(self, z, theta):
        q, p, S = z
        W1, b1, W2, b2, W3 = theta
        x = (np.array([q, p * p, S]) - self.center) / self.half
        u = (W3 @ np.tanh(W2 @ np.tanh(W1 @ x + b1) + b2))[0]
        friction = 0.5 * (u + np.sqrt(u * u + self.floor ** 2))
        v, T = p / 2, np.exp(S)
        return np.array([v, -q - friction * v, friction * v * v / T])

    def loss_of(self, path_of, theta):
        """path_of: start, theta -> the 200 states after it."""
        paths = jax.vmap(path_of, in_axes=(0, None))(np.array(self.data[:, 0]), theta)
        return 0.5 * np.mean(((paths - self.data[:, 1:]) * self.weight) ** 2)


def scan(p):
    def step(z0, theta):
        residual = lambda z1: z1 - z0 - p.h * p.rate(0.5 * (z0 + z1), theta)
        z1 = jax.lax.stop_gradient(z0)
        for _ in range(4):
            z1 = jax.lax.stop_gradient(z1 - np.linalg.solve(jax.jacfwd(residual)(z1), residual(z1)))
        J = jax.lax.stop_gradient(jax.jacfwd(residual)(z1))
        return z1 - np.linalg.solve(J, residual(z1))

    def path(start, theta):
        def body(z, _):
            z = step(z, theta)
            return z, z
        return jax.lax.scan(body, start, None, length=STEPS)[1]
    return lambda theta: p.loss_of(path, theta)


def with_diffrax(p, solver, adjoint=None):
    keep = adjoint is None
    adjoint = diffrax.RecursiveCheckpointAdjoint(checkpoints=STEPS) if keep else adjoint
    save = diffrax.SaveAt(steps=True) if keep else diffrax.SaveAt(ts=np.array(p.time[1:]))

    def path(start, theta):
        return diffrax.diffeqsolve(diffrax.ODETerm(lambda t, z, a: p.rate(z, a)), solver, 0.0, STEPS * p.h, p.h, start, args=theta,
                                   stepsize_controller=diffrax.ConstantStepSize(), saveat=save, max_steps=STEPS, adjoint=adjoint).ys
    return lambda theta: p.loss_of(path, theta)


newton = lambda: optimistix.Newton(rtol=1e-8, atol=1e-8)
METHODS = {
    "scan": scan,
    "implicit-euler": lambda p: with_diffrax(p, diffrax.ImplicitEuler(newton())),
    "kvaerno3": lambda p: with_diffrax(p, diffrax.Kvaerno3(root_finder=newton())),
    "midpoint": lambda p: with_diffrax(p, diffrax.Midpoint()),
    "tsit5": lambda p: with_diffrax(p, diffrax.Tsit5()),
    "backsolve": lambda p: with_diffrax(p, diffrax.Midpoint(), diffrax.BacksolveAdjoint()),
}
ready = {}


def call_of(method, path):
    if (method, path) not in ready:
        p = Problem(path)
        ready[method, path] = p, jax.jit(jax.value_and_grad(METHODS[method](p)))
    return ready[method, path]


def flat(gradient):
    return numpy.concatenate([numpy.asarray(g).ravel() for g in gradient])


def relative(a, b):
    return numpy.linalg.norm(a - b) / numpy.linalg.norm(b)


def answer(method, path):
    p, call = call_of(method, path)
    loss, gradient = jax.block_until_ready(call(p.theta))
    best, begin = 1e9, time.perf_counter()
    while time.perf_counter() - begin < 1:
        before = time.process_time()
        jax.block_until_ready(call(p.theta))
        best = min(best, time.process_time() - before)
    if method == "backsolve":
        exact = call_of("midpoint", path)[1](p.theta)[1]
        return best, relative(flat(gradient), flat(exact))
    return best, abs(float(loss) - p.loss) / p.loss, relative(flat(gradient), p.gradient)


for line in sys.stdin:
    words = line.split()
    if words == ["version"]:
        print(0, f"diffrax-{diffrax.__version__},jax-{jax.__version__}", flush=True)
    else:
        try:
            print(*answer(*words), flush=True)
        except Exception as e:  # a peer that fails is a row without a number
            print("error", str(e).splitlines()[0] if str(e) else type(e).__name__, flush=True)
