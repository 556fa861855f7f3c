"""python check_large_fmu.py FMU ROWS.csv: an FMU of many states by FMPy against the rows of `clausius simulate`.

Validated without a message, the first steps have the bits of the rows, and a directional derivative of all rates
along all states agrees with differences."""
import csv
import ctypes
import sys

import numpy as np
from fmpy import extract, instantiate_fmu, read_model_description
from fmpy.validation import validate_fmu

path, rows_path = sys.argv[1:3]
lines = [l for l in open(rows_path) if not l.startswith("#")]
names = lines[0].strip().split(",")
rows = np.array([[float(x) for x in r] for r in csv.reader(lines[1:])])
h = rows[1, 0] - rows[0, 0]

problems = validate_fmu(path)
assert not problems, problems[:3]
md = read_model_description(path, validate=True)
three = md.fmiVersion.startswith("3")
vr = {v.name: v.valueReference for v in md.modelVariables}
states = [v.name for v in md.modelVariables if v.initial == "exact" and v.causality == "output"]
rates = [f"der({s})" for s in states]
assert max(len(u.dependencies) for u in md.derivatives) < 10, "rates of neighbours"
folder = extract(path)


def begin(kind):
    f = instantiate_fmu(folder, md, kind)
    if three:
        f.enterInitializationMode(startTime=0.0)
    else:
        f.setupExperiment(startTime=0.0)
        f.enterInitializationMode()
    f.exitInitializationMode()
    if kind == "ModelExchange":
        f.enterContinuousTimeMode()
    return f


get = lambda f, which: np.array((f.getFloat64 if three else f.getReal)([vr[n] for n in which]))

f = begin("CoSimulation")
for k in range(len(rows)):
    assert (get(f, names[1:]) == rows[k, 1:]).all(), k
    if k + 1 < len(rows):
        f.doStep(currentCommunicationPoint=rows[0, 0] + k * h, communicationStepSize=h)
f.freeInstance()

f = begin("ModelExchange")
x = get(f, states)
seed = np.cos(np.arange(len(states)))
take = lambda x: f.setContinuousStates((ctypes.c_double * len(x))(*x), len(x))
out = np.array(f.getDirectionalDerivative([vr[n] for n in rates], [vr[n] for n in states], list(seed)))
d = 1e-6
take(x + d * seed)
high = get(f, rates)
take(x - d * seed)
low = get(f, rates)
assert np.allclose(out, (high - low) / (2 * d), rtol=1e-6, atol=1e-7), np.abs(out - (high - low) / (2 * d)).max()
f.freeInstance()
print(f"FMI {md.fmiVersion}: {len(states)} states, {len(rows) - 1} steps, same bits")
