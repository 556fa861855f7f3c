#!/usr/bin/env python3
"""diffrax and JAX, jitted, as peers of bench/shoot.c: one request a line, one line of numbers back, seconds first.

    scan FILE             implicit midpoint written with lax.scan: Newton to convergence, then one more step whose derivative
                          is that of the implicit function theorem; the same numbers as ours. Seconds, loss difference,
                          gradient difference (relative)
    implicit-euler FILE   diffrax.ImplicitEuler with its own chord Newton, 200 steps of h: the nearest implicit method it has
    midpoint FILE         diffrax.Midpoint, explicit, 200 steps of h
    tsit5 FILE            diffrax.Tsit5, explicit, 200 steps of h
    version

All in double precision on one processor, loss and gradient in one jitted call (jax.value_and_grad), processor time, the best
of those that fit into a second. diffrax differentiates through its steps with its default RecursiveCheckpointAdjoint."""
import sys
import time
import diffrax
import jax
import jax.numpy as np
import numpy
import optimistix

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")


class Problem:
    def __init__(self, path):
        data = numpy.fromfile(path)
        width, count = int(data[0]), int(data[1])
        self.floor = data[2]
        parts = numpy.split(data[3:], numpy.cumsum([3, 3, 3, 4 * 201, count, 1]))
        self.center, self.half, self.weight, points, theta, loss, self.gradient = parts
        self.time, self.data = points.reshape(201, 4)[:, 0], points.reshape(201, 4)[:, 1:]
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

    def loss_of(self, path):
        return 0.5 * np.mean(((path - self.data[1:]) * self.weight) ** 2)


def scan(p):
    def step(z0, theta):
        residual = lambda z1: z1 - z0 - p.h * p.rate(0.5 * (z0 + z1), theta)
        z1 = jax.lax.stop_gradient(z0)
        for _ in range(4):
            z1 = jax.lax.stop_gradient(z1 - np.linalg.solve(jax.jacfwd(residual)(z1), residual(z1)))
        J = jax.lax.stop_gradient(jax.jacfwd(residual)(z1))
        return z1 - np.linalg.solve(J, residual(z1))

    def loss(theta):
        def body(z, _):
            z = step(z, theta)
            return z, z
        return p.loss_of(jax.lax.scan(body, np.array(p.data[0]), None, length=200)[1])
    return loss


def with_diffrax(p, solver):
    def loss(theta):
        found = diffrax.diffeqsolve(diffrax.ODETerm(lambda t, z, a: p.rate(z, a)), solver, 0.0, 200 * p.h, p.h,
                                    np.array(p.data[0]), args=theta, stepsize_controller=diffrax.ConstantStepSize(),
                                    saveat=diffrax.SaveAt(steps=True), max_steps=200)
        return p.loss_of(found.ys)
    return loss


METHODS = {
    "scan": scan,
    "implicit-euler": lambda p: with_diffrax(p, diffrax.ImplicitEuler(optimistix.Newton(rtol=1e-8, atol=1e-8))),
    "kvaerno3": lambda p: with_diffrax(p, diffrax.Kvaerno3(root_finder=optimistix.Newton(rtol=1e-8, atol=1e-8))),
    "midpoint": lambda p: with_diffrax(p, diffrax.Midpoint()),
    "tsit5": lambda p: with_diffrax(p, diffrax.Tsit5()),
}
ready = {}


def answer(method, path):
    if (method, path) not in ready:
        p = Problem(path)
        ready[method, path] = p, jax.jit(jax.value_and_grad(METHODS[method](p)))
    p, call = ready[method, path]
    loss, gradient = jax.block_until_ready(call(p.theta))
    best, begin = 1e9, time.perf_counter()
    while time.perf_counter() - begin < 1:
        before = time.process_time()
        jax.block_until_ready(call(p.theta))
        best = min(best, time.process_time() - before)
    theirs = numpy.concatenate([numpy.asarray(g).ravel() for g in gradient])
    return (best, abs(float(loss) - p.loss) / p.loss,
            numpy.linalg.norm(theirs - p.gradient) / numpy.linalg.norm(p.gradient))


for line in sys.stdin:
    words = line.split()
    if words == ["version"]:
        print(0, f"diffrax-{diffrax.__version__},jax-{jax.__version__}", flush=True)
    else:
        try:
            print(*answer(*words), flush=True)
        except Exception as e:  # a peer that fails is a row without a number
            print("error", str(e).splitlines()[0] if str(e) else type(e).__name__, flush=True)
