"""python check_drift.py FMU STEPS: the relative energy error of co-simulation over communication steps
of varying H (a tenth of the default step to three of it), and whether each point was hit."""
import shutil
import sys

from fmpy import extract, instantiate_fmu, read_model_description

path, steps = sys.argv[1], int(sys.argv[2])
md = read_model_description(path)
three = md.fmiVersion.startswith("3")
vr = {v.name: v.valueReference for v in md.modelVariables}
folder = extract(path)
f = instantiate_fmu(folder, md, "CoSimulation")
if not three:
    f.setupExperiment(startTime=0.0)
f.enterInitializationMode(startTime=0.0) if three else f.enterInitializationMode()
f.exitInitializationMode()
get = lambda n: (f.getFloat64 if three else f.getReal)([vr[n]])[0]
h, t, seed = float(md.defaultExperiment.stepSize), 0.0, 1
energy, worst, falls, entropy = abs(get("energy")), 0.0, 0, get("entropy")
for k in range(steps):
    seed = (seed * 1103515245 + 12345) % 2**31
    H = h * (0.1 + 2.9 * seed / 2**31)
    f.doStep(t, H)
    t += H
    if k % 100 == 0 or k + 1 == steps:
        assert get("time") == t, (get("time"), t)
        worst, now = max(worst, abs(get("energy_error"))), get("entropy")
        falls += now < entropy * (1 - 2e-15)
        entropy = now
f.terminate()
f.freeInstance()
shutil.rmtree(folder)
print(f"{md.modelName}, FMI {md.fmiVersion}: {steps} communication steps to time {t:.6g}, energy off by {worst / energy:.2e}, {falls} falls")
assert worst <= 1e-13 * energy and falls == 0
