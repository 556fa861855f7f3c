"""python check_set_fmu.py FMU ROWS.csv NAME=VALUE...: parameters of an FMU, set before it starts,
against the rows of `clausius simulate --set`: to round-off, and the energy is kept; set again while
it runs, the motion goes on from where it is."""
import csv
import shutil
import sys

import numpy as np
from fmpy import extract, instantiate_fmu, read_model_description

path, rows_path, *settings = sys.argv[1:]
lines = [l for l in open(rows_path) if not l.startswith("#")]
names, rows = lines[0].strip().split(","), np.array([[float(x) for x in r] for r in csv.reader(lines[1:])])
settings = {k: float(v) for k, v in (s.split("=") for s in settings)}
md = read_model_description(path)
three = md.fmiVersion.startswith("3")
variables = {v.name: v for v in md.modelVariables}
for k in settings:
    assert variables[k].causality == "parameter" and variables[k].variability == "tunable", k
folder = extract(path)
f = instantiate_fmu(folder, md, "CoSimulation")
get = lambda which: np.array((f.getFloat64 if three else f.getReal)([variables[n].valueReference for n in which]))
put = lambda values: (f.setFloat64 if three else f.setReal)([variables[n].valueReference for n in values], list(values.values()))
if not three:
    f.setupExperiment(startTime=0.0)
put(settings)
f.enterInitializationMode(startTime=0.0) if three else f.enterInitializationMode()
states = [v.name for v in md.modelVariables if v.initial == "exact" and v.causality == "output"]
put({n: rows[0, names.index(n)] for n in states})
f.exitInitializationMode()
H = float(md.defaultExperiment.stepSize)
size = np.maximum(np.abs(rows).max(0), 1e-2)
worst = 0
for k, row in enumerate(rows):
    if k:
        f.doStep((k - 1) * H, H)
    worst = max(worst, np.max(np.abs(get(names[1:]) - row[1:]) / size[1:]))
assert worst <= 1e-11, worst
scale = size[names.index("energy")]
assert abs(get(["energy_error"])[0]) <= 1e-13 * scale
before = get(states)
put({k: 1.01 * v for k, v in settings.items()})
assert (get(states) == before).all()
for k in range(len(rows) - 1, len(rows) + 50):
    f.doStep(k * H, H)
assert abs(get(["energy_error"])[0]) <= 1e-13 * scale
f.terminate()
f.freeInstance()
shutil.rmtree(folder)
print(f"{md.modelName}, FMI {md.fmiVersion}: {len(settings)} parameters set, {worst:.1e} from simulate --set")
