"""What the program can do with files can be done here with arrays, with the same numbers."""
import json
import os
import pickle
import subprocess
import sys
import threading
import zipfile

import numpy as np
import pytest

import clausius as cl

SWING = """coordinate q
entropy S
parameter k = unknown in (0.1, 10), c = unknown in (0, 5)
lagrangian v.q^2/2 - k*q^2/2 - S
friction F on S: q <- -c*v.q
start q = 1, v.q = 0, S = 0
"""


@pytest.fixture
def recording():
    """A noisy angle: k = 2, c = 0.1."""
    t = np.arange(240) * 0.05
    w = np.sqrt(2 - 0.0025)
    q = np.exp(-0.05 * t) * (np.cos(w * t) + 0.05 / w * np.sin(w * t))
    return cl.data({"time": t, "q": q + 0.005 * np.random.default_rng(1).normal(size=len(t))})


def test_recordings(recording, program, tmp_path):
    """Standard errors, test scores, horizons; bootstrap and bands; the bytes of the program."""
    (tmp_path / "swing.clausius").write_text(SWING)
    recording.save("o.csv")
    data = cl.read("o.csv")
    model = cl.learn("swing.clausius", data, ensemble=4, horizon=[1, 2])
    program("learn", "swing.clausius", "o.csv", "--ensemble", 4, "--horizon", "1, 2", "-o", "there.safetensors")
    model.save("here.safetensors")
    assert (tmp_path / "here.safetensors").read_bytes() == (tmp_path / "there.safetensors").read_bytes()
    found = model.coefficients["parameters"]
    assert abs(found["k"] - 2) < 4 * found["k"].error < 0.1 and abs(found["c"] - 0.1) < 4 * found["c"].error < 0.02
    twin = pickle.loads(pickle.dumps(model))
    assert twin.coefficients["parameters"]["k"].error == found["k"].error and cl.Model.load("here.safetensors").coefficients == model.coefficients
    report = model.info["report"]
    assert report["better"] is True and report["channels"][0]["run"] < 0.02 and len(report["channels"][0]["ahead"]) == 2
    assert "±" in str(model) and "rows kept back" in str(model) and report["horizons"] == (1.0, 2.0)
    run = model.simulate(steps=60, h=0.05, bands=True)
    program("simulate", "there.safetensors", "--steps", 60, "--h", 0.05, "--bands", "-o", "bands.csv", "--quiet")
    there = cl.read("bands.csv")
    assert there.columns == run.names and all((there[n] == run[n]).all() for n in run.names)
    assert (run["q.low"][1:] <= run["q.high"][1:]).all() and len(model.members()) == 4
    with pytest.raises(cl.UsageError, match="learned with errors"):
        cl.system("pendulum").simulate(steps=1, bands=True)
    apart = cl.learn("swing.clausius", data, test=recording)
    assert apart.info["report"]["channels"][0]["test_rows"] == 240


def test_parameters_of_models(model):
    slow = model.with_parameters(m=2)
    assert slow.parameters["m"] == 2 and model.parameters["m"] == 1 and (slow.simulate(steps=20)["x"] != model.simulate(steps=20)["x"]).any()
    with pytest.raises(cl.Error, match="nothing"):
        model.with_parameters(nothing=2)


def test_coefficients(piston, truth):
    """Terms of a basis have names, and errors once they were asked for."""
    model = cl.learn(piston, truth, unknown="F1", field="terms(1; v.x^2; v.x^2*T1^2)", validate=0)
    found = model.coefficients["F1"]
    assert list(found) == ["1", "v.x^2", "v.x^2*T1^2"] and np.isnan(found["1"].error)
    assert np.allclose(list(found.values()), [0.02, 2, 0.2], rtol=2e-2)
    errors = model.standard_errors(truth, groups=4)
    assert errors.shape == (3,) and (errors > 0).all() and (errors < 0.1).all() and model.coefficients["F1"]["1"].error == errors[0]
    names = cl.learn(piston, truth, unknown="F1", field="chebyshev(1)", validate=0).coefficients["F1"]
    assert "1" in names and "T1(v.x*v.x)" in names
    at, value, error = next(iter(model.functions["F1"].values()))
    assert at.shape == value.shape == error.shape and (np.diff(at) > 0).all() and (error[np.isfinite(error)] >= 0).all()


def test_null_directions(piston):
    """Where T1 never matters in the data its coefficient cannot be told; the direction says so."""
    still = piston.simulate(starts=[{"x": x, "v.x": v} for x in (-0.5, 0.5) for v in (-0.5, 0.5)], steps=20, h=0.02, scheme="bdf")
    model = cl.learn(piston, still, unknown="F1", field="terms(1; v.x^2; 2*v.x^2)", validate=0)
    assert model.null_space == 1
    direction = model.null_directions(still)
    assert direction.shape == (1, 3) and np.allclose(np.abs(direction[0]), [0, 2 / 5**0.5, 1 / 5**0.5], atol=1e-6)


def test_draft_is_that_of_the_program(tmp_path, program):
    open("log.csv", "w").write("time,pos [mm],temp [degC],heater [%]\n" + "".join(f"{i},{i * i},{20 + i},{i % 3}\n" for i in range(20)))
    subprocess.run([os.environ["CLAUSIUS"], "new", "rig", "--from", "log.csv"], check=True, capture_output=True)
    lines = open("rig.clausius").read().splitlines()
    assert cl.read("log.csv").draft("rig").splitlines()[2:] == lines[3:]
    with pytest.raises(cl.DataError, match="nothing to make a system of"):
        cl.data({"time": [0.0, 1.0], "a": [1.0, 1.0]}).draft()


RIG = """system "a block on a spring"
coordinate x [m]
temperature T [K]
parameter k = unknown near 5 in (0, 100)
thermal lagrangian v.x^2/2 - k*x^2/2 + 0.1*T*(log(T/300) - 1)
friction F on T: x <- -0.1*v.x
start x = 1, v.x = 0, T = 300
"""


def test_units_are_those_of_the_system(tmp_path, program):
    """Centimetres and degrees Celsius were taken for metres and kelvins when the data had been read without the system."""
    run = cl.system(RIG.replace("unknown near 5 in (0, 100)", "4")).simulate(until=20, h=0.05)
    with open("log.csv", "w") as f:
        f.write("clock [ms],x [cm],warm\n")
        f.writelines(f"{1000 * t!r},{100 * x!r},{T - 273.15!r}\n" for t, x, T in zip(*(run[n].tolist() for n in ("time", "x", "T"))))
    text = RIG + 'data time = "clock [ms]"\ndata T = "warm [degC]"\n'
    with open("rig.clausius", "w") as f:
        f.write(text)
    program("learn", "rig.clausius", "log.csv", "-o", "rig.safetensors", "--seed", "1")
    there = cl.load("rig.safetensors").coefficients["parameters"]["k"]
    for data in (cl.read("log.csv"), cl.read("log.csv", system="rig.clausius")):
        assert float(cl.learn("rig.clausius", data, seed=1).coefficients["parameters"]["k"]) == pytest.approx(float(there), rel=1e-9)
    wrong = text.replace("[degC]", "[kg]")
    with pytest.raises(cl.DataError, match='column "warm" is T of this system'):
        cl.learn(wrong, cl.read("log.csv"))


def test_check_is_that_of_the_program(tmp_path, program):
    rng = np.random.default_rng(0)
    t = np.delete(np.arange(60) * 0.1, [20, 21])
    cl.data({"time": t, "x": np.round(np.sin(t) + 0.01 * rng.normal(size=58), 2), "c": np.full(58, 3.0)}).save("a.csv")
    text = subprocess.run([os.environ["CLAUSIUS"], "data", "inspect", "a.csv"], capture_output=True, text=True, check=True).stdout
    assert repr(cl.read("a.csv").check()) + "\n" == text
    there = json.loads(subprocess.run([os.environ["CLAUSIUS"], "data", "inspect", "a.csv", "--json"], capture_output=True, text=True, check=True).stdout)
    facts = cl.read("a.csv").check().tables[0]
    assert facts["time"]["gaps"] == there["time"]["gaps"] == 1 and facts["columns"]["x"]["noise"] == there["columns"]["x"]["noise"]


def test_units(tmp_path):
    """A map converts, of files and of memory alike."""
    piston = cl.system("adiabatic-piston")
    columns = {"t": [0.0, 10.0, 20.0], "pos": [100.0, 200.0, 300.0]}
    cl.data(columns).save(tmp_path / "a.csv")
    for map in ("x=pos [mm], time=t [ms]", {"x": "pos [mm]", "time": "t [ms]"}):
        for data in (cl.read(tmp_path / "a.csv", map=map, system=piston), cl.data(columns, map=map, system=piston)):
            assert data["x"].tolist() == [0.1, 0.2, 0.3] and data["time"].tolist() == [0.0, 0.01, 0.02] and data.units["x"] == "m"
    with pytest.raises(cl.DataError, match="kg"):
        cl.data(columns, map="x=pos [kg]", system=piston)
    bare = tmp_path / "bare.csv"
    bare.write_text("1,2\n3,4\n")
    assert cl.read(bare, columns="x, y", dt=0.5)["time"].tolist() == [0.0, 0.5]


def test_arrays_of_the_language_are_arrays(tmp_path):
    (tmp_path / "grid.clausius").write_text("""
parameter N = 3, M = 4
coordinate u[1..N]
entropy S[0..N, 2..M]
hamiltonian sum(i in 1..N: p.u[i]^2/2 + u[i]^4/4) + sum(i in 0..N, j in 2..M: exp(S[i][j]))
for i in 0..N-1, j in 2..M: heat exchange S[i][j] <-> S[i+1][j]: 0.3
for i in 1..N: friction on S[i][2]: u[i] <- -0.1*v.u[i]
for i in 1..N: start u[i] = i/10, v.u[i] = 0
for i in 0..N, j in 2..M: start S[i][j] = i/10 + j/7
step 0.1
""")
    system = cl.system(tmp_path / "grid.clausius")
    run = system.simulate(steps=5)
    assert run["u"].shape == (6, 3) and run["S"].shape == (6, 4, 3) and run["p.u"].shape == (6, 3)
    assert (run["u"][:, 1] == run["u[2]"]).all() and (run["S"][:, 3, 1] == run["S[3][3]"]).all()
    with pytest.raises(KeyError, match="there is no column 'w'"):
        run["w"]
    run.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as file:
        assert file["u"].shape == (6, 3) and (file["S"] == run["S"]).all() and b"arrays: u[1..3], p.u[1..3]" in file["notes.txt"]
    again = cl.read(tmp_path / "run.npz")
    assert tuple(again.columns) == run.names and (again["S"] == run["S"]).all() and (again["S[0][4]"] == run["S[0][4]"]).all()
    made = cl.data({"time": run.t, "u": run["u"]})
    assert tuple(made.columns) == ("time", "u[1]", "u[2]", "u[3]") and (made["u"] == run["u"]).all()


def test_files_of_arrays(tmp_path):
    data = cl.data({"time": [0.0, 1.0, 2.0], "v.x": [4.0, 5.0, 6.0]})
    data.save(tmp_path / "a.npz")
    assert (cl.read(tmp_path / "a.npz")["v.x"] == data["v.x"]).all() and [f.name for f in tmp_path.iterdir()] == ["a.npz"]
    np.savez(tmp_path / "b.npz", Z=np.arange(24.0).reshape(2, 3, 4), z=np.arange(8.0).reshape(4, 2), other=np.zeros(3))
    with pytest.warns(cl.DataWarning, match="left out"):
        flat = cl.read(tmp_path / "b.npz", dt=0.1, map="q=z1")
    assert flat.columns == ("time", "q", "z2") and flat["q"].tolist() == [0, 2, 4, 6]
    apart = cl.read(tmp_path / "b.npz", array="Z(trajectory, column, time)", columns="a, b, c", dt=0.5)
    assert apart["trajectory"].tolist() == [0] * 4 + [1] * 4 and apart["b"].tolist() == [4, 5, 6, 7, 16, 17, 18, 19] and apart["time"].tolist() == [0, 0.5, 1, 1.5] * 2
    with pytest.raises(cl.DataError, match="it has: Z, z, other"):
        cl.read(tmp_path / "b.npz", array="nothing")
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 and nothing else")
    with pytest.raises(cl.FileError, match="cannot be read as NPZ"):
        cl.read(tmp_path / "broken.npz")
    np.save(tmp_path / "c.npy", np.array([[0.0, 1.0], [1.0, 2.0]]))
    assert cl.read(tmp_path / "c.npy", columns="time, q")["q"].tolist() == [1, 2]


def test_hdf5(tmp_path):
    data = cl.data({"time": [0.0, 1.0, 2.0], "x": [4.0, 5.0, 6.0]})
    try:
        import h5py  # noqa: F401
    except ImportError:
        with pytest.raises(cl.UsageError, match="pip install h5py"):
            data.save(tmp_path / "a.h5")
        return
    data.save(tmp_path / "a.h5")
    assert (cl.read(tmp_path / "a.h5")["x"] == data["x"]).all()


def test_missing_numbers(piston, truth):
    frame = cl.data(truth)
    columns = {n: frame[n].copy() for n in frame.columns}
    columns["x"][7] = np.nan
    with pytest.raises(cl.DataError, match="column 'x', row 8: expected a number"):
        cl.learn(piston, cl.data(columns), unknown="F1")
    assert len(cl.learn(piston, cl.data(columns), unknown="F1", missing="drop", field="chebyshev(1)").theta)
    masked = np.ma.masked_array([1.0, 2.0], mask=[False, True])
    assert np.isnan(cl.data({"time": [0.0, 1.0], "x": masked})["x"]).tolist() == [False, True]


@pytest.mark.parametrize("make", [
    lambda x: x.astype(np.float32), lambda x: np.asfortranarray(x), lambda x: np.repeat(x, 2, 0)[::2], lambda x: x.tolist(), lambda x: x.astype(">f8"),
    lambda x: np.ma.masked_array(x),
])
def test_odd_arrays(piston, make):
    states = np.array([[0.0, 0.5, 1.0, 1.0], [0.25, -0.5, 1.5, 1.0]])
    for name in ("rates", "energy", "entropy", "jacobian", "step"):
        assert (getattr(piston, name)(make(states)) == getattr(piston, name)(states)).all()
    assert (piston.simulate(starts=make(states), steps=3).values == piston.simulate(starts=states, steps=3).values).all()


def test_odd_states(piston):
    assert piston.rates(np.empty((0, 4))).shape == (0, 4) and piston.energy(np.empty((0, 4))).shape == (0,)
    assert piston.rates(np.ones((2, 3, 4))).shape == (2, 3, 4)
    for wrong in (np.ones(3), 1.0, [[1.0], [1.0, 2.0]], "text"):
        with pytest.raises((cl.UsageError, ValueError)):
            piston.rates(wrong)
    with pytest.raises(cl.Error):
        piston.simulate(start=[np.nan, 0, 1, 1], steps=1)
    for wrong in (dict(steps=-1), dict(steps=1.5), dict(until=-1), dict(h=-0.1), dict(h=float("nan")), dict(steps=2, every=0), dict(at=[1.0, 0.5]), dict(at=[])):
        with pytest.raises(ValueError):
            piston.simulate(**{"steps": None, **wrong})
    assert piston.simulate(starts=np.empty((0, 4)), steps=2)["x"].shape == (0, 3)


def test_times_of_rows(piston, program):
    at = np.array([0.0, 0.013, 0.5, 0.51])
    run = piston.simulate(at=at)
    assert (run.t == at).all()
    cl.data({"time": at}).save("times.csv")
    program("simulate", "adiabatic-piston", "--at", "times.csv", "-o", "at.csv", "--quiet")
    assert all((cl.read("at.csv")[n] == run[n]).all() for n in run.names)


def test_compare_is_that_of_the_program(model, program):
    truth = cl.system("adiabatic-piston").simulate(starts=[{"x": -0.3, "v.x": 0.2, "T1": 0.8, "T2": 1.1}, {"x": 0.1, "v.x": -0.1, "T1": 1, "T2": 1}],
                                                   steps=30, h=0.02, scheme="bdf")
    truth.save("truth.csv")
    model.save("m.safetensors")
    there = json.loads(subprocess.run([os.environ["CLAUSIUS"], "compare", "m.safetensors", "truth.csv", "--json"], capture_output=True, text=True, check=True).stdout)
    here = model.compare(cl.read("truth.csv"))
    assert {n: here[n]["max"] for n in here} == there["max"] and model.score(truth) > 0.999


def test_judging_data(piston, tmp_path):
    piston.simulate(steps=50).save(tmp_path / "a.csv")
    data = cl.read(tmp_path / "a.csv")
    assert data.audit() and piston.audit(against=data) and data.notes["system"] == "adiabatic-piston"
    lie = {n: data[n].copy() for n in data.columns}
    lie["v.x"] *= 1.1
    lie.pop("p.x", None)
    assert not piston.audit(against={n: lie[n] for n in ("time", *piston.states)})
    with pytest.raises(cl.UsageError, match="of which system"):
        cl.data(lie).audit()


def test_start_from_data(piston, tmp_path):
    """A run goes on where it ends; measurements begin at their first row."""
    run = piston.simulate(steps=20)
    more = piston.simulate(start=run, steps=5)
    assert more.t[0] == run.t[-1] and more["x"][0] == run["x"][-1]
    measured = cl.data({"time": run.t, "x": run["x"], "v.x": run["v.x"], "T1": run["T1"], "T2": run["T2"]})
    assert piston.simulate(start=measured, steps=1)["x"][0] == run["x"][0] and piston.simulate(start=measured, row=3, steps=1)["x"][0] == run["x"][3]


def test_pages_and_exports(tmp_path):
    pendulum = cl.system("pendulum")
    data = pendulum.simulate(start={"q": 0.5}, steps=20)
    pendulum.report(tmp_path / "page.html", data, beside=[cl.system("oscillator"), pendulum], title="two of them")
    assert "two of them" in (tmp_path / "page.html").read_text()
    numbers = pendulum.report(data=data)
    assert isinstance(numbers, dict) and "pendulum" in json.dumps(numbers)
    pendulum.export_fmu(tmp_path / "m.fmu", start={"q": 0.25})
    assert "0.25" in zipfile.ZipFile(tmp_path / "m.fmu").read("modelDescription.xml").decode()


def test_inputs_by_formula():
    swing = "input u\ncoordinate q\nlagrangian v.q^2/2 - q^2/2\nexternal force: q <- u\nstart q = 1, v.q = 0\n"
    driven = cl.system(swing, set={"u": "0.3*sin(t)"})
    run = pickle.loads(pickle.dumps(driven)).simulate(steps=20, h=0.1)
    assert np.allclose(run["u"], 0.3 * np.sin(run.t)) and driven.set == {"u": "0.3*sin(t)"}


STOPPED = """
import os, signal, threading, time
import clausius as cl
piston = cl.system("adiabatic-piston")
begin = []
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is begun without it
def alarm():
    time.sleep(1)
    begin.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=alarm, daemon=True).start()
try:
    piston.simulate(starts=[piston.start()] * 64, steps=10**9, every=10**9)
except KeyboardInterrupt:
    assert time.monotonic() - begin[0] < 1.5
    print("fine")
"""


def test_interrupted_ensemble():
    done = subprocess.run([sys.executable, "-c", STOPPED], capture_output=True, text=True, timeout=120)
    assert done.stdout == "fine\n", done.stderr


def test_threads_share_a_system(piston):
    """Ensembles, learning and rates of the same object at once."""
    starts = np.tile([0.0, 0.5, 1.0, 1.0], (32, 1))
    want, rates, wrong = piston.simulate(starts=starts, steps=50).values, piston.rates(starts), []

    def work(k):
        for _ in range(3):
            if not ((piston.simulate(starts=starts, steps=50).values == want).all() and (piston.rates(starts) == rates).all()):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def show(*words):
    return subprocess.run([os.environ["CLAUSIUS"], "show", *map(str, words)], capture_output=True, text=True, check=True).stdout


def test_laws_that_nobody_declared(program, small, tmp_path):
    """`show --invariants`: what it prints, and each law as an object."""
    found = cl.system("two-body").invariants()
    assert str(found) == show("two-body", "--invariants") and found.states > 100
    assert {law.formula for law in found if law.kind == "linear"} == {"p.x1 + p.x2", "p.y1 + p.y2"} and all(law.exact for law in found)
    states = np.random.default_rng(1).normal(size=(300, 8))
    assert any(law.formula == "p.x1 + p.x2" for law in cl.system("two-body").invariants(states))
    with pytest.raises(cl.UsageError, match="states are"):
        cl.system("two-body").invariants(np.zeros((3, 2)))
    small.save("m.safetensors")
    assert str(small.invariants()) == show("m.safetensors", "--invariants") and any(law.kind == "gauge" and not law.open for law in small.invariants())


def test_short_formulas(program, piston, truth, tmp_path):
    """`show --formulas`: the terms, the file, the constants from data; the numbers and bytes of the program."""
    model = cl.learn(piston, truth, unknown="F1", field="terms(1; v.x^2; v.x^2*T1^2; T2)", validate=0)
    model.save("m.safetensors")
    found = model.formulas()
    assert str(found) == show("m.safetensors", "--formulas", "-o", "there.clausius") and not found.refitted
    found.save("here.clausius")
    assert (tmp_path / "here.clausius").read_bytes() == (tmp_path / "there.clausius").read_bytes()
    assert found[0].part == "F1" and found[0].error < 0.05 and found[0].terms[0].value.error >= 0 and found[0].steps[-1].terms == 1
    assert found.system().simulate(steps=20).audit()
    truth.save("motions.csv")
    again = model.formulas(truth)
    assert again.refitted and str(again) == show("m.safetensors", "--formulas", "--data", "motions.csv")
    assert len(model.formulas(terms=1)[0].terms) == 1
    with pytest.raises(cl.UsageError, match="whole number"):
        model.formulas(terms=-1)


@pytest.mark.parametrize("name", ["membrane", "adiabatic-reactor", "isothermal-reactor", "viscoelastic-bar", "fuel-cell"])
def test_matter(name):
    """Amounts of substances are states like others."""
    system = cl.system(name)
    run = system.simulate(steps=200)
    assert run.audit() and np.isfinite(system.rates(run.states)).all()
    assert "reaction" in system.text or "diffusion" in system.text or "internal" in system.text
