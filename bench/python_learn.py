#!/usr/bin/env python3
"""PySINDy, a Hamiltonian network (HNN, in PyTorch) and clausius on the same three problems, clean and with noise of 1 % of the spread: the error of a
free run from an unseen start, five times as long as what was learned from, the processor time to learn, and what the energy and the entropy do. Usage:
"$(tools/python-peers)" bench/python_learn.py [PROBLEM...]       (the first letters of a problem's name; all)

All three get the same rows (24 trajectories of 101 rows) and nothing is tuned to the test. What each is told differs, and is printed: PySINDy a polynomial
library of degree 3 with its default threshold (smoothed differences where there is noise), HNN the pairs (q, p) alone (it has no place for heat; a network of two
layers of 200, tanh, 2,000 steps of Adam at 1e-3 as published, each on 200 rows as in its two-body experiment, derivatives by central differences), clausius the structure of the system
with the named parts unknown. Their rates are integrated by the
classical method of order four at the spacing of the data, ours is simulated by discrete-gradient-adaptive. The error is the root mean square over the run in units of the spread, the mean over the coordinates and
velocities (which all three predict); `fails` is a run that leaves all bounds. Energy is the true one of the states that a run visits: its largest relative
change; entropy falls are steps where the true one falls by more than 1e-12 of it (none: never). Own laws: what the judge says of our run by the learned energy
and entropy."""
import sys
import time
import warnings

import numpy as np

import clausius as cl

warnings.simplefilter("ignore")
TRAIN, ROWS, LONG = 24, 101, 5
OSCILLATOR = """
coordinate  q
temperature T
thermal lagrangian G = v.q^2/2 - q^2/2 + 2*T*(log(T) - 1)
friction F on T: q <- -(0.1 + 0.1*v.q^2)*v.q
start q = 1, v.q = 0, T = 1
"""
PROBLEMS = [  # name, system, step, ranges of starts, of the test, unknown parts
    ("pendulum", cl.system("pendulum"), 0.05, ([-1.5, -1.0], [1.5, 1.0]), [1.2, 0.3], "V"),
    ("oscillator with heat", cl.system(OSCILLATOR), 0.05, ([-1.0, -1.0, 0.7], [1.0, 1.0, 1.3]), [0.8, 0.3, 1.0], "G, F"),
    ("piston between gases", cl.system("adiabatic-piston"), 0.02, ([-0.8, -0.8, 0.7, 0.7], [0.8, 0.8, 1.3, 1.3]), [0.4, 0.5, 1.1, 0.9], "F1, F2"),
]


def rk4(f, z, h, n):
    """A path by the classical method; NaN after it left all bounds."""
    out = np.full((n + 1, len(z)), np.nan)
    out[0] = z
    for k in range(n):
        a = f(z)
        b = f(z + h / 2 * a)
        c = f(z + h / 2 * b)
        z = z + h / 6 * (a + 2 * b + 2 * c + f(z + h * c))
        if not np.all(np.abs(z) < 1e3):
            break
        out[k + 1] = z
    return out


def by_pysindy(system, X, t, unknown, noisy):
    import pysindy as ps

    h = t[1] - t[0]
    differences = ps.SmoothedFiniteDifference() if noisy else ps.FiniteDifference(order=4)
    model = ps.SINDy(feature_library=ps.PolynomialLibrary(3), differentiation_method=differences)
    model.fit(list(X), t=h, feature_names=[f"z{k}" for k in range(X.shape[2])])
    return lambda z, n: rk4(lambda y: model.predict(y[None])[0], z, h, n)


def by_hnn(system, X, t, unknown, noisy):
    import torch

    torch.manual_seed(1)
    torch.set_num_threads(1)  # of processor time nothing is gained by more
    torch.set_default_dtype(torch.float64)
    h = t[1] - t[0]
    D = np.gradient(X[..., :2], h, axis=1, edge_order=2)
    z, d = torch.tensor(X[..., :2].reshape(-1, 2)), torch.tensor(D.reshape(-1, 2))
    net = torch.nn.Sequential(torch.nn.Linear(2, 200), torch.nn.Tanh(), torch.nn.Linear(200, 200), torch.nn.Tanh(), torch.nn.Linear(200, 1))
    adam = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(2000):
        index = torch.randint(len(z), (200,))
        y, want = z[index].clone().requires_grad_(True), d[index]
        g = torch.autograd.grad(net(y).sum(), y, create_graph=True)[0]
        loss = ((g[:, 1] - want[:, 0]) ** 2 + (-g[:, 0] - want[:, 1]) ** 2).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()

    def f(y):
        y = torch.tensor(y).requires_grad_(True)
        g = torch.autograd.grad(net(y).sum(), y)[0].numpy()
        return np.array([g[1], -g[0]])

    return lambda z, n: rk4(f, z[:2], h, n)


def by_clausius(system, X, t, unknown, noisy):
    h = t[1] - t[0]
    model = cl.learn(system, cl.data(list(X), t=[t] * len(X), names=list(system.variables)), unknown=unknown)

    def run(z, n):
        try:
            found = model.simulate(start=dict(zip(system.variables, z)), steps=n, h=h, scheme="discrete-gradient-adaptive")
        except cl.NumericError:
            return np.full((n + 1, len(z)), np.nan)
        run.audit = found.audit()
        return found.states[:, :len(z)]

    return run


def laws(system, path):
    """What the true energy and entropy do along a path."""
    if path.shape[1] < len(system.variables):
        return "no heat", "no heat"
    good = path[~np.isnan(path).any(1)]
    energy = system.energy(good)
    change = np.abs(energy - energy[0]).max() / max(abs(energy[0]), 1e-300)
    if not system.has_entropy:
        return f"{change:.1e}", "-"
    with np.errstate(invalid="ignore"):
        entropy = system.entropy(good)
    falls = int((~(np.diff(entropy) >= -1e-12 * np.abs(entropy[:-1]))).sum())
    return f"{change:.1e}", str(falls) if falls else "none"


def main():
    methods = [("clausius", by_clausius)]
    for name, module, method in (("PySINDy", "pysindy", by_pysindy), ("HNN, PyTorch", "torch", by_hnn)):
        try:
            __import__(module)
            methods.append((name, method))
        except ImportError:
            print(f"{name} is absent", file=sys.stderr)
    print("| problem | noise | method | told | error | learned in | energy changes by | entropy falls | own laws |")
    print("|---|---|---|---|---|---|---|---|---|")
    wanted = sys.argv[1:] or [""]
    for name, system, h, (low, high), start, unknown in (p for p in PROBLEMS if p[0].startswith(tuple(wanted))):
        random = np.random.default_rng(5)
        starts = random.uniform(low, high, (TRAIN, len(low)))
        truth = system.simulate(starts=starts, steps=ROWS - 1, h=h, scheme="bdf")
        clean = np.stack([truth[n] for n in system.variables], 2)
        n = LONG * (ROWS - 1)
        test = system.simulate(start=start, steps=n, h=h, scheme="bdf")
        want = test.states[:, :len(start)]
        spread = clean.reshape(-1, len(low)).std(0)
        for noise in (0.0, 0.01):
            X = clean + noise * spread * random.normal(size=clean.shape)
            for label, method in methods:
                told = {"clausius": f"all but {unknown}", "PySINDy": "polynomials of degree 3", "HNN, PyTorch": "q, p alone"}[label]
                begin = time.process_time()
                run = method(system, X, truth.t, unknown, noise > 0)
                seconds = time.process_time() - begin
                path = run(np.array(start, float), n)
                error = np.sqrt(np.mean(((path[:, :2] - want[:, :2]) / spread[:2]) ** 2))
                energy, falls = laws(system, path)
                verdict = getattr(run, "audit", None)
                broken = [law.name for law in verdict.laws if not law.passed] if verdict is not None else []
                own = "-" if verdict is None else f"all but {', '.join(broken)}" if broken else "all hold"
                print(f"| {name} | {noise:.0%} | {label} | {told} | {error:.1e} | {seconds:.1f} s | {energy} | {falls} | {own} |".replace("nan", "fails"), flush=True)


if __name__ == "__main__":
    main()
