#!/usr/bin/env python3
"""What noisy rows of the adiabatic piston can tell at best. Usage: bench/piston_floor.py [FOLDER]

40 motions of 100 rows 0.02 apart, with jitter and a tenth of the rows missing, without and with noise of 1 % of each
column's spread. Frictions are learned as functions from both; the true form with its four numbers unknown from
the noisy ones. Printed are free runs of ten other motions against the truth, as a share of the spread, the mean of
x, v.x, T1 and T2, and what the standard errors of those four numbers make of such runs (simulate --bands): the bound
of Cramer and Rao for anybody who knows the form. Needs nothing but CLAUSIUS, the program (build/clausius).
"""
import csv
import math
import os
import random
import subprocess
import sys
import tempfile

CLAUSIUS = os.environ.get("CLAUSIUS", os.path.join(os.path.dirname(__file__), "..", "build", "clausius"))
NAMES = ("x", "v.x", "T1", "T2")
FORM = """system "the piston, four numbers unknown"
coordinate  x [m] in (-L, L)
temperature T1, T2 [K]
parameter   m = 1 [kg], A1 = 2 [m^2], A2 = 1 [m^2], L = 2
parameter   nu1 = unknown near 0.1 in (0, 10), nu2 = unknown near 0.1 in (0, 10)
parameter   kappa1 = unknown near 1 in (0, 10), kappa2 = unknown near 1 in (0, 10)
thermal lagrangian m*v.x^2/2 + T1*(log((A1*(L + x))^(2/3)*T1) - 1) + T2*(log((A2*(L - x))^(2/3)*T2) - 1)
friction F1 on T1: x <- -(nu1 + kappa1*v.x^2*(1 + 0.1*T1^2))*v.x
friction F2 on T2: x <- -(nu2 + kappa2*v.x^2*(1 + 0.1*T2^2))*v.x
start x = 0, v.x = -0.5, T1 = 1, T2 = 1
"""


def run(*words):
    subprocess.run([CLAUSIUS, *words, "--quiet"], check=True)


def read(path):
    rows = list(csv.reader(line for line in open(path) if line[0] != "#"))
    return {name: [float(r[i]) for r in rows[1:]] for i, name in enumerate(rows[0])}


def motion(number, chance, rows, step, spoiled):
    """Rows (number, time, x, v.x, T1, T2) of a motion from a start by chance."""
    times = [i * step + (chance.uniform(-0.2, 0.2) * step if spoiled and i else 0) for i in range(rows)]
    if spoiled:
        times = [t for i, t in enumerate(times) if i == 0 or chance.random() > 0.1]
    with open("at.csv", "w") as out:
        out.write("time\n" + "".join(f"{t:.12g}\n" for t in times))
    low, high = (-1, -1, 0.5, 0.5), (1, 1, 1.5, 1.5)
    start = ",".join(f"{n}={chance.uniform(a, b)}" for n, a, b in zip(NAMES, low, high))
    run("simulate", "adiabatic-piston", "--start", start, "--at", "at.csv", "--scheme", "bdf", "-o", "one.csv")
    c = read("one.csv")
    return [[number, *row] for row in zip(c["time"], *(c[n] for n in NAMES))]


def spreads(rows):
    means = [sum(r[c] for r in rows) / len(rows) for c in range(2, 6)]
    return [math.sqrt(sum((r[c + 2] - means[c]) ** 2 for r in rows) / len(rows)) for c in range(4)]


def write(path, rows):
    with open(path, "w") as out:
        out.write("trajectory,time,x,v.x,T1,T2\n" + "".join(",".join(f"{v:.12g}" for v in r) + "\n" for r in rows))


def score(model, test, step, bands):
    """Free runs against the truth, or the standard deviation that their bands say; a share of the spread."""
    spread, sums, n = spreads(test), [0.0] * 4, 0
    for k in sorted({r[0] for r in test}):
        rows = [r for r in test if r[0] == k]
        start = ",".join(f"{name}={v!r}" for name, v in zip(NAMES, rows[0][2:]))
        run("simulate", model, "--start", start, "--h", str(step / 10), "--every", "10", "--steps", str(10 * (len(rows) - 1)),
            "-o", "run.csv", *(["--bands"] if bands else []))
        c = read("run.csv")
        for i, row in enumerate(rows):
            for j, name in enumerate(NAMES):
                off = (c[name + ".high"][i] - c[name + ".low"][i]) / (2 * 1.6449) if bands else c[name][i] - row[2 + j]
                sums[j] += off * off
            n += 1
    return sum(math.sqrt(s / n) / spread[j] for j, s in enumerate(sums)) / 4


def main():
    step, chance = 0.02, random.Random(5)
    clean = [r for k in range(40) for r in motion(k, chance, 100, step, True)]
    test = [r for k in range(10) for r in motion(k, chance, 100, step, False)]
    spread = spreads(clean)
    write("clean.csv", clean)
    write("noisy.csv", [r[:2] + [v + chance.gauss(0, 0.01 * s) for v, s in zip(r[2:], spread)] for r in clean])
    with open("form.clausius", "w") as out:
        out.write(FORM)
    run("learn", "adiabatic-piston", "clean.csv", "--unknown", "F1, F2", "-o", "clean.safetensors")
    run("learn", "adiabatic-piston", "noisy.csv", "--unknown", "F1, F2", "-o", "noisy.safetensors")
    run("learn", "form.clausius", "noisy.csv", "-o", "form.safetensors")
    print(f"frictions as functions, rows without noise   {score('clean.safetensors', test, step, False):.2g}")
    print(f"frictions as functions, rows with 1 % noise  {score('noisy.safetensors', test, step, False):.2g}")
    print(f"four numbers of the true form, 1 % noise     {score('form.safetensors', test, step, False):.2g}")
    print(f"the bound for these four numbers             {score('form.safetensors', test, step, True):.2g}")


if __name__ == "__main__":
    CLAUSIUS = os.path.abspath(CLAUSIUS)
    if len(sys.argv) > 1:
        os.chdir(sys.argv[1])
        main()
    else:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            main()
