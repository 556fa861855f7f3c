#!/usr/bin/env python3
"""The peer of bench/network.c: the same derivative by PyTorch on one thread.

    build/bench-network build/network.bin && build/venv/bin/python bench/network_torch.py build/network.bin

F = sum over samples of a phi + b . grad phi; its derivative in all parameters, by reverse over reverse. The problem in
the file is also compared number by number. Times are the best of many runs, of the process's own
time as in bench/network.c; set ATEN_CPU_CAPABILITY and the like where the machine is not known to PyTorch. (Two threads
gain nothing at these sizes, and lose much on a busy machine.)"""
import sys
import time
import numpy
import torch

torch.set_default_dtype(torch.float64)
INPUTS = 4


def shapes(widths):
    sizes = [INPUTS, *widths]
    for a, b in zip(sizes, sizes[1:]):
        yield (b, a)
        yield (b,)
    yield (1, sizes[-1])


def split(theta, widths):
    at, parts = 0, []
    for shape in shapes(widths):
        size = int(numpy.prod(shape))
        parts.append(torch.tensor(theta[at:at + size].reshape(shape), requires_grad=True))
        at += size
    return parts


def field(parts, x):
    for W, b in zip(parts[:-1:2], parts[1::2]):
        x = torch.tanh(torch.nn.functional.linear(x, W, b))
    return torch.nn.functional.linear(x, parts[-1])[:, 0]


def value_and_gradient(parts, x):
    phi = field(parts, x)
    return phi, torch.autograd.grad(phi.sum(), x)[0]


def derivative(parts, x, a, b):
    phi = field(parts, x)
    slope = torch.autograd.grad(phi.sum(), x, create_graph=True)[0]
    return torch.autograd.grad((a * phi).sum() + (b * slope).sum(), parts)


def best(call, seconds=2.0):
    least, stop = 1e9, time.process_time() + seconds
    while time.process_time() < stop:
        begin = time.process_time()
        call()
        least = min(least, time.process_time() - begin)
    return least


def compare(path):
    data = numpy.fromfile(path)
    n, m = int(data[0]), int(data[1])
    theta, x, a, b, ours = numpy.split(data[2:], numpy.cumsum([m, INPUTS * n, n, INPUTS * n]))
    parts = split(theta, [128] * 4)
    x = torch.tensor(x.reshape(n, INPUTS), requires_grad=True)
    theirs = derivative(parts, x, torch.tensor(a), torch.tensor(b.reshape(n, INPUTS)))
    theirs = numpy.concatenate([t.numpy().ravel() for t in theirs])
    print(f"derivative: largest difference {numpy.abs(ours - theirs).max() / numpy.abs(theirs).max():.1e} of the largest,"
          f" norm {numpy.linalg.norm(ours - theirs) / numpy.linalg.norm(theirs):.1e} relative")


def main():
    print(f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}")
    if len(sys.argv) > 1:
        compare(sys.argv[1])
    torch.set_num_threads(1)
    generator = numpy.random.default_rng(1)
    for widths, n in (([128] * 4, 1000), ([32] * 2, 1000), ([32] * 2, 100)):
        count = sum(int(numpy.prod(s)) for s in shapes(widths))
        parts = split(generator.normal(size=count) * 0.1, widths)
        x = torch.tensor(generator.uniform(-1, 1, (n, INPUTS)), requires_grad=True)
        a, b = torch.tensor(generator.uniform(-1, 1, n)), torch.tensor(generator.uniform(-1, 1, (n, INPUTS)))
        for name, call in (("value + gradient", lambda: value_and_gradient(parts, x)),
                           ("derivative", lambda: derivative(parts, x, a, b))):
            print(f"{str(widths):22} {n:6} samples  {name:16}  {1e3 * best(call):9.4f} ms")


main()
