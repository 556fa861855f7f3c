"""python check_coupled.py MASS.fmu WHOLE.csv: two instances of a mass on a spring with a force as its
input, coupled by a spring between them at communication points, against the rows of the whole
system: first order in H, and in each FMU energy minus work is kept to round-off for any H."""
import csv
import shutil
import sys

import numpy as np
from fmpy import extract, instantiate_fmu, read_model_description

path, rows_path = sys.argv[1:]
lines = [l for l in open(rows_path) if not l.startswith("#")]
names, rows = lines[0].strip().split(","), np.array([[float(x) for x in r] for r in csv.reader(lines[1:])])
md = read_model_description(path)
three = md.fmiVersion.startswith("3")
vr = {v.name: v.valueReference for v in md.modelVariables}
folder = extract(path)
until, spring = float(rows[-1, 0]), 0.5


def run(steps):
    H, masses = until / steps, []
    for x in (1.0, -0.25):
        f = instantiate_fmu(folder, md, "CoSimulation")
        if not three:
            f.setupExperiment(startTime=0.0)
        f.enterInitializationMode(startTime=0.0) if three else f.enterInitializationMode()
        (f.setFloat64 if three else f.setReal)([vr["x"]], [x])
        f.exitInitializationMode()
        masses.append(f)
    get = lambda f, n: (f.getFloat64 if three else f.getReal)([vr[n]])[0]
    for k in range(steps):
        x1, x2 = (get(f, "x") for f in masses)
        for f, force in zip(masses, (spring * (x2 - x1), spring * (x1 - x2))):
            (f.setFloat64 if three else f.setReal)([vr["F"]], [force])
            f.doStep(k * H, H)
    for f in masses:
        assert abs(get(f, "energy_error")) <= 1e-13, get(f, "energy_error")
        assert abs(get(f, "work")) > 1e-3
    at = [get(f, "x") for f in masses]
    for f in masses:
        f.terminate()
        f.freeInstance()
    return max(abs(at[0] - rows[-1, names.index("x1")]), abs(at[1] - rows[-1, names.index("x2")]))


errors = [run(n) for n in (1000, 2000, 4000)]
orders = [np.log2(errors[k] / errors[k + 1]) for k in range(2)]
assert all(0.9 <= o <= 1.1 for o in orders), (errors, orders)
shutil.rmtree(folder)
print(f"FMI {md.fmiVersion}: two coupled, off by {errors[-1]:.1e} at the end, order {orders[-1]:.2f}")
