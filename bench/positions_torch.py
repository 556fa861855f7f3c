#!/usr/bin/env python3
"""PyTorch as the peer of bench/positions.c: bench/positions_torch.py FILE. See there.

The discrete gradient is the backward pass with quotients of tanh, tanh(D)/D (1 - tanh z tanh y), written out; the
points of a window are evaluated once, both pairs together. autograd makes the gradient, fused Adam the update."""
import sys
import time
import numpy
import torch

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


def load(path):
    data = numpy.fromfile(path)
    n, m = int(data[0]), int(data[1])
    x, theta, loss, gradient = numpy.split(data[4:], numpy.cumsum([3 * n, m, 1]))
    return n, data[2], data[3], torch.tensor(x.reshape(n, 3)), theta, loss[0], gradient


def split(theta):
    at, parts = 0, []
    for shape in ((200, 1), (200,), (200, 200), (200,), (1, 200)):
        size = int(numpy.prod(shape))
        parts.append(torch.tensor(theta[at:at + size].reshape(shape), requires_grad=True))
        at += size
    return parts


def quotient(z, y, a, b):
    D = z - y
    safe = torch.where(D == 0, 1.0, D)
    return torch.where(D == 0, 1.0, torch.tanh(safe) / safe) * (1 - a * b)


def main():
    n, half, center, x, theta, ours, gradient = load(sys.argv[1])
    W1, b1, W2, b2, w = parameters = split(theta)
    points = x.T.reshape(3 * n, 1)  # all first positions, all second, all third
    q = x * half + center
    h = 0.2
    second = (q[:, 2] - 2 * q[:, 1] + q[:, 0]) / h

    def loss_of():
        z1 = torch.nn.functional.linear(points, W1, b1)
        a1 = torch.tanh(z1)
        z2 = torch.nn.functional.linear(a1, W2, b2)
        a2 = torch.tanh(z2)
        phi1 = quotient(z1[n:], z1[:-n], a1[n:], a1[:-n])
        phi2 = quotient(z2[n:], z2[:-n], a2[n:], a2[:-n])
        gbar = (((w * phi2) @ W2) * phi1) @ W1 / half
        r = -(second + h / 2 * (gbar[:n, 0] + gbar[n:, 0])) / h
        return 0.5 * r.square().mean()

    adam = torch.optim.Adam(parameters, lr=1e-6, fused=True)

    def step():
        adam.zero_grad()
        loss_of().backward()
        adam.step()

    loss = loss_of()
    theirs = numpy.concatenate([g.numpy().ravel() for g in torch.autograd.grad(loss, parameters)])
    apart = numpy.abs(theirs - gradient).max() / numpy.abs(gradient).max()
    print(f"PyTorch-{torch.__version__} {abs(loss.item() / ours - 1):.1e} {apart:.1e}", flush=True)
    for _ in sys.stdin:
        best, stop = 1e9, time.process_time() + 0.3
        while time.process_time() < stop:
            begin = time.process_time()
            step()
            best = min(best, time.process_time() - begin)
        print(f"{best:.9g}", flush=True)


main()
