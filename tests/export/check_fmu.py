"""python check_fmu.py FMU ROWS.csv: an FMU by FMPy against the rows of `clausius simulate`.

Validated without a message; co-simulation has the bits of the rows, model exchange (CVODE) their
path by bdf (given as a third file); directional derivatives agree with differences; states are kept and restored bit for bit;
wrong calls answer with an error and a text."""
import csv
import ctypes
import shutil
import sys
import zipfile

import numpy as np
from fmpy import extract, instantiate_fmu, read_model_description, simulate_fmu
from fmpy.validation import validate_fmu

path, rows_path = sys.argv[1:3]
reference = sys.argv[3] if len(sys.argv) > 3 else None


def read(name):
    lines = [l for l in open(name) if not l.startswith("#")]
    return lines[0].strip().split(","), np.array([[float(x) for x in r] for r in csv.reader(lines[1:])])


names, rows = read(rows_path)
h = float(rows[1, 0] - rows[0, 0])

problems = validate_fmu(path)
assert not problems, problems
md = read_model_description(path, validate=True)
three = md.fmiVersion.startswith("3")
xml = zipfile.ZipFile(path).read("modelDescription.xml").decode()
for flag in ("canGetAndSetFMUstate", "canSerializeFMUstate", "providesDirectionalDerivative", "canHandleVariableCommunicationStepSize"):
    assert getattr(md.coSimulation, flag, None) or getattr(md.coSimulation, flag + "s", None) or (three and f'{flag}s="true"' in xml), flag
vr = {v.name: v.valueReference for v in md.modelVariables}
assert set(names) - {"time"} <= set(vr), set(names) - set(vr)
states = [v.name for v in md.modelVariables if v.initial == "exact" and v.causality == "output"]
outputs = names[1:] + ["energy_error"]
size = np.maximum(np.abs(rows).max(0), 1e-6)

folder = extract(path)


said = []  # what the FMU logs


def logger(*arguments):
    said.append(arguments[-1].decode() if isinstance(arguments[-1], bytes) else str(arguments[-1]))


def instance(kind):
    return instantiate_fmu(folder, md, kind, debug_logging=True, logger=logger)


def begin(f):
    if three:
        f.enterInitializationMode(startTime=0.0)
    else:
        f.setupExperiment(startTime=0.0)
        f.enterInitializationMode()
    f.exitInitializationMode()


get = lambda f, which: np.array((f.getFloat64 if three else f.getReal)([vr[n] for n in which]))
set_ = lambda f, which, x: (f.setFloat64 if three else f.setReal)([vr[n] for n in which], list(x))

# every InitialUnknown is one, with what it depends on: what a change at the start moves
unknown_at_start = {u.variable.name: {d.name for d in u.dependencies} for u in md.initialUnknowns}
assert set(unknown_at_start) == {v.name for v in md.modelVariables if v.initial in ("calculated", "approx")}
settable = [v.name for v in md.modelVariables if v.initial == "exact" or v.causality == "input"]
values = {v.name: float(v.start) for v in md.modelVariables if v.name in settable}


def started(changes):
    f = instance("CoSimulation")
    set_(f, changes, changes.values())
    begin(f)
    out = dict(zip(unknown_at_start, get(f, unknown_at_start)))
    f.freeInstance()
    return out


if len(settable) * len(unknown_at_start) < 4000:
    first = started({})
    for k in settable:
        try:
            moved = started({k: values[k] * 1.01 + 1e-3})
        except Exception:  # no possible start
            said.clear()
            continue
        for u in unknown_at_start:
            # another text runs with changed parameters: last bits are no dependence
            if u != "energy_error" and abs(moved[u] - first[u]) > 1e-11 * (1 + abs(first[u])):
                assert k in unknown_at_start[u], f"{u} depends on {k}"

# co-simulation: bits (time is added up by the caller here and multiplied there, so step by h)
cs = instance("CoSimulation")
begin(cs)
H = float(md.defaultExperiment.stepSize)
assert float(md.defaultExperiment.tolerance) <= 1e-8  # what a solver takes that is not told: 1e-5 is no motion of kdv
for k, row in enumerate(rows):
    if k:
        cs.doStep(currentCommunicationPoint=(k - 1) * H, communicationStepSize=H)
    mine = get(cs, names[1:])
    assert (mine == row[1:]).all(), (k, dict(zip(names[1:], mine - row[1:])))
n = len(rows) - 1

# kept and restored
kept = cs.getFMUState() if three else cs.getFMUstate()
cs.doStep(n * H, 0.7 * H)
first = get(cs, outputs)
(cs.setFMUState if three else cs.setFMUstate)(kept)
blob = cs.serializeFMUState(kept) if three else cs.serializeFMUstate(kept)
again = cs.deserializeFMUState(blob) if three else cs.deSerializeFMUstate(blob)
(cs.freeFMUState if three else cs.freeFMUstate)(kept)
cs.doStep(n * H, 0.7 * H)
assert (get(cs, outputs) == first).all()
(cs.setFMUState if three else cs.setFMUstate)(again)
(cs.freeFMUState if three else cs.freeFMUstate)(again)
cs.doStep(n * H, 0.7 * H)
assert (get(cs, outputs) == first).all()


def refused(call, *arguments, **named):
    before = len(said)
    try:
        call(*arguments, **named)
    except Exception as e:  # FMICallException
        return "error" in str(e).lower() and len(said) > before and len(said[-1]) > 10
    return False


assert not said, said
for at in (len(blob) // 3, len(blob) - 1):  # damaged bytes are no state
    damaged = bytearray(blob)
    damaged[at] ^= 4
    assert refused(cs.deserializeFMUState if three else cs.deSerializeFMUstate, bytes(damaged))
assert refused(cs.doStep, 0.0, H), "a step from an earlier time is taken"
assert refused(set_, cs, states[:1], [1.0]), "a state is set while running"
assert refused((cs.getFloat64 if three else cs.getReal), [99999])
assert refused(cs.doStep, n * H + 0.7 * H, float("nan"))
assert refused(set_, cs, ["energy"], [1.0]), "an output is set"
assert refused(cs.enterInitializationMode), "initialisation begins twice"
assert refused(cs.getInt32 if three else cs.getInteger, [1]), "a real is an integer"
for p in [v.name for v in md.modelVariables if v.causality == "parameter"]:
    assert refused(set_, cs, [p], [float("inf")])
cs.terminate()
assert refused(cs.doStep, n * H + 0.7 * H, H), "a step after the end"
cs.freeInstance()

# a start that is no state
born = instance("CoSimulation")
if not three:
    born.setupExperiment(startTime=0.0)
thermal = [v for v in states if v.startswith("T")]
if thermal:
    born.enterInitializationMode() if not three else born.enterInitializationMode(startTime=0.0)
    set_(born, thermal[:1], [-1.0])
    assert refused(born.exitInitializationMode), "a negative temperature"
born.freeInstance()

# a start from what can be measured: an observable in the place of a state
observables = {v.name: float(v.start) for v in md.modelVariables if v.initial == "approx"}
for name, start in observables.items():
    f = instance("CoSimulation")
    set_(f, states, [float(v.start) for v in md.modelVariables if v.name in states])
    set_(f, observables, observables.values())  # a tool that sets all start values
    begin(f)
    assert (get(f, states) == rows[0, [names.index(s) for s in states]]).all(), "start values are not the start"
    (f.reset)()
    wanted = start * 1.001 + (1e-3 if start == 0 else 0)
    set_(f, [name], [wanted])
    begin(f)
    assert abs(get(f, [name])[0] - wanted) <= 1e-10 * (1 + abs(wanted)), (name, wanted, get(f, [name]))
    assert get(f, ["energy_error"])[0] == 0
    f.doStep(0.0, H)
    assert refused(set_, f, [name], [wanted]), "an observable is set while running"
    f.freeInstance()
said.clear()

# directional derivatives against differences, in model exchange
me = instance("ModelExchange")
begin(me)
(me.updateDiscreteStates if three else me.newDiscreteStates)()
me.enterContinuousTimeMode()
unknown = [f"der({s})" for s in states] + [o for o in outputs if o not in states]


def at(x):
    me.setContinuousStates((ctypes.c_double * len(x))(*x), len(x))
    return get(me, unknown)


x0 = np.array([rows[min(5, n), names.index(s)] for s in states])
base = at(x0)
for j, s in enumerate(states):
    at(x0)
    exact = np.array(me.getDirectionalDerivative([vr[u] for u in unknown], [vr[s]], [1.0]))
    if three:
        for i in range(len(unknown)):
            adjoint = np.array(me.getAdjointDerivative([vr[unknown[i]]], [vr[s]], [1.0]))
            assert adjoint[0] == exact[i]
    step = 1e-5 * max(1e-2, abs(x0[j]))
    e = np.eye(len(x0))[j] * step
    difference = (8 * (at(x0 + e) - at(x0 - e)) - (at(x0 + 2 * e) - at(x0 - 2 * e))) / (12 * step)
    if "energy" in unknown:  # a difference of two energies
        base[unknown.index("energy_error")] = base[unknown.index("energy")]
    off = np.abs(exact - difference) / (1e-3 + np.abs(exact) + np.abs(base))
    assert (off <= 1e-6).all(), (s, dict(zip(unknown, off)))
me.terminate()
me.freeInstance()

if reference:
    true = read(reference)[1]
    until = float(true[-1, 0])
    # rates of waves that disperse multiply what CVODE leaves of its tolerance: it is tightened where it must be,
    # and a wrong rate is no nearer then
    for tolerance in (1e-10, 1e-12):
        result = simulate_fmu(path, fmi_type="ModelExchange", stop_time=until, output_interval=h, relative_tolerance=tolerance, output=names[1:])
        off = max(abs(result[c][-1] - true[-1, k]) / size[k] for k, c in enumerate(names) if k)
        if off <= 1e-5:
            break
    assert off <= 1e-5, off
    result = simulate_fmu(path, fmi_type="CoSimulation", stop_time=until, output_interval=h, output=["energy_error"] + names[1:])
    assert len(result) >= n
    print(f"{md.modelName}: model exchange (tolerance {tolerance:.0e}) {off:.1e} from bdf at the end", end="; ")
shutil.rmtree(folder)
print(f"FMI {md.fmiVersion}: {n} steps, same bits, 0 messages")
