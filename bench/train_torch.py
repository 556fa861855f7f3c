#!/usr/bin/env python3
"""PyTorch as a peer of bench/train.c: bench/train_torch.py THREADS. See bench/train_peer.py."""
import sys
import numpy
import torch
from train_peer import serve

torch.set_default_dtype(torch.float64)


def field(parts, x):
    for W, b in zip(parts[:-1:2], parts[1::2]):
        x = torch.tanh(torch.nn.functional.linear(x, W, b))
    return torch.nn.functional.linear(x, parts[-1])[:, 0]


def make_step(p):
    G, F1, F2 = networks = p.networks(lambda a: torch.tensor(a, requires_grad=True))
    parameters = [t for parts in networks for t in parts]
    x = torch.tensor(p.x, requires_grad=True)
    still = torch.tensor(p.x)
    factor, v, T1, T2 = (torch.tensor(a) for a in (p.factor, p.v, p.T1, p.T2))
    h, weight = torch.tensor(p.h), torch.tensor(p.weight)
    first = torch.tensor(p.first)
    floor2 = p.floor ** 2
    begin = (lambda a: a[0::2]) if p.apart else (lambda a: a[first])
    end = (lambda a: a[1::2]) if p.apart else (lambda a: a[first + 1])

    def friction(parts):
        u = field(parts, still)
        return 0.5 * (u + torch.sqrt(u * u + floor2))

    def loss_of():
        slopes = torch.autograd.grad(field(G, x).sum(), x, create_graph=True)[0] * factor
        rate = slopes[:, 0] - (friction1 := friction(F1)) * v - (friction2 := friction(F2)) * v
        r = [end(slopes[:, 1]) - begin(slopes[:, 1]) - h * end(rate)]
        for i, (lam, T) in enumerate(((friction1, T1), (friction2, T2))):
            r.append(end(slopes[:, 2 + i]) - begin(slopes[:, 2 + i]) - h * begin(lam * v * v / T))
        return 0.5 * (torch.stack(r) * weight).square().mean()

    adam = torch.optim.Adam(parameters, lr=1e-6, fused=True)

    def step():
        adam.zero_grad()
        loss_of().backward(inputs=parameters)
        adam.step()

    loss = loss_of()
    return step, loss.item(), [g.numpy() for g in torch.autograd.grad(loss, parameters)]


threads = int(sys.argv[1])
torch.set_num_threads(threads)
serve(f"PyTorch-{torch.__version__}({torch.backends.cpu.get_cpu_capability()})", threads, make_step)
