"""Arrays without copies, errors, signals, threads, processes, and objects that survive pickling."""
import copy
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import clausius as cl
from clausius import _core


def test_statuses_have_exceptions():
    from clausius._errors import CLASSES

    assert set(CLASSES) == {number for name, number in _core.statuses().items() if name != "OK"}


def test_columns_are_views(piston):
    run = piston.simulate(steps=50)
    assert np.shares_memory(run["x"], run.values) and run["x"].flags.c_contiguous
    assert run.energy is not None and (run.t == run["time"]).all() and len(run) == 51
    runs = piston.simulate(starts=run.states[:3], steps=5)
    assert np.shares_memory(runs["x"], runs.values) and runs["x"].shape == (3, 6)
    assert (runs[1]["x"] == runs["x"][1]).all()
    with pytest.raises(KeyError, match="there is no column 'y'"):
        run["y"]


def test_data_are_not_copied():
    t, q = np.linspace(0, 1, 11), np.cos(np.linspace(0, 1, 11))
    data = cl.data({"time": t, "q": q})
    assert np.shares_memory(data["q"], q) and (data["q"] == q).all()
    del q
    assert data["q"][-1] == np.cos(1)
    with pytest.raises(ValueError):
        data["q"][0] = 3  # read only: the library believes what it has seen


def test_columns_outlive_their_table(tmp_path):
    cl.data({"time": [0.0, 1.0], "q": [3.0, 4.0]}).save(tmp_path / "a.csv")
    column = cl.read(tmp_path / "a.csv")["q"]
    assert column.tolist() == [3.0, 4.0]


def test_lists_of_unequal_length(piston):
    runs = [piston.simulate(steps=n, start={"x": 0.1 * n}) for n in (5, 9, 3)]
    data = cl.data(runs)
    assert len(data) == 6 + 10 + 4
    assert data["trajectory"].tolist() == [0.0] * 6 + [1.0] * 10 + [2.0] * 4
    arrays = cl.data([r.values.T for r in runs], names=runs[0].names)
    assert (arrays["v.x"] == data["v.x"]).all()
    apart = cl.data([r.values[1:].T for r in runs], t=[r.t for r in runs], names=runs[0].names[1:])
    assert (apart["time"] == data["time"]).all()
    with pytest.raises(cl.DataError, match="different columns"):
        cl.data([{"time": [0.0], "a": [1.0]}, {"time": [0.0], "b": [1.0]}])


@pytest.mark.parametrize("wrong, says", [
    ({"time": [0.0, 1.0], "q": [1.0]}, "2|1"),
    ({"time": [0.0, 1.0], "q": [["a"], ["b"]]}, "expected numbers"),
    ({"time": [0.0, 1.0], "q": np.zeros((2, 2, 2, 2))}, "dimensions"),
    ({"time": [0.0, 1.0], "q": ["a", "b"]}, "expected numbers"),
    (3, "cannot be made"),
    (np.zeros((3, 2)), "names"),
])
def test_wrong_data(wrong, says):
    with pytest.raises(ValueError, match=says):
        cl.data(wrong)


def test_map_and_check(tmp_path):
    cl.data({"t": [0.0, 0.1, 0.2, 0.9], "pos": [1.0, 2.0, 4.0, 8.0], "c": [5.0] * 4}).save(tmp_path / "a.csv")
    data = cl.read(tmp_path / "*.csv", map="q=pos, time=t")
    assert data.columns == ("time", "q", "c")
    text = repr(data.check())
    assert "1 gap" in text and "constant" in text and "4 rows" in text
    with pytest.raises(cl.DataError, match="no column .position."):
        cl.read(tmp_path / "a.csv", map={"q": "position"})
    with pytest.raises(cl.FileError, match="no file matches"):
        cl.read(tmp_path / "*.nothing")


def test_time_called_t():
    """A column t is the time of all that a system does with data, as in files."""
    system = cl.system("pendulum")
    run = system.simulate(steps=20)
    named, short = ({name: run["time"], "q": run["q"], "p.q": run["p.q"]} for name in ("time", "t"))
    assert (system.follow(short)["q"] == system.follow(named)["q"]).all()
    frame = pytest.importorskip("pandas").DataFrame(short).set_index("t")
    assert (system.follow(frame)["q"] == system.follow(named)["q"]).all()


def test_wrong_options(piston):
    with pytest.raises(TypeError, match="did you mean 'tolerance'"):
        piston.simulate(steps=1, tolerence=1)
    with pytest.raises(cl.UsageError, match="both say how long"):
        piston.simulate(steps=1, until=2)
    with pytest.raises(cl.UsageError, match="no scheme 'rk5'"):
        piston.simulate(steps=1, scheme="rk5")
    with pytest.raises(TypeError, match="max_iterations"):
        piston.simulate(steps=1, max_iterations="many")
    with pytest.raises(cl.UsageError, match="qp"):
        cl.learn(piston, piston.simulate(steps=5), unknown="F1", sparse=0.1)
    with pytest.raises(cl.NumericError):
        piston.simulate(start={"x": 1.9, "v.x": 1e6}, steps=3, max_halvings=0)


def test_keywords_are_those_of_the_tables():
    import inspect

    names = inspect.signature(cl.learn).parameters
    for name, kind, default, doc, words in _core.options()["learn"]:
        assert names[name].default == default and doc in cl.learn.__doc__
    assert "field" in inspect.signature(cl.System.learn).parameters


def test_states_of_foreign_kinds(piston):
    """Integers, lists and arrays in Fortran's order are converted; results are the same."""
    a = piston.simulate(start=[0, 1, 1, 1], steps=3)
    b = piston.simulate(start=np.array([0.0, 1.0, 1.0, 1.0]), steps=3)
    assert (a.values == b.values).all()
    c = piston.simulate(starts=np.asfortranarray(np.tile([0.0, 1.0, 1.0, 1.0], (3, 1))), steps=3)
    assert (c.values[2].T == b.values).all()


def test_pickle_and_copy(piston, model, tmp_path):
    for thing in (piston, model):
        for twin in (pickle.loads(pickle.dumps(thing)), copy.deepcopy(thing)):
            assert type(twin) is type(thing) and (twin.simulate(steps=20).values == thing.simulate(steps=20).values).all()
    heavy = cl.system("adiabatic-piston", set={"m": 3})
    assert pickle.loads(pickle.dumps(heavy)).parameters["m"] == 3
    run = pickle.loads(pickle.dumps(piston.simulate(steps=5)))
    assert run.audit() and run.info["steps"] == 5


def test_laws(piston, model):
    verdict = model.simulate(steps=100).audit()
    assert verdict and verdict["energy"].passed and "all" in repr(verdict)
    bad = piston.simulate(steps=200, h=0.1, scheme="euler").audit()
    assert not bad and not bad["energy"].passed
    with pytest.raises(cl.CheckError, match="energy"):
        bad.require()
    assert piston.audit(steps=50)["order"].passed


def test_texts(piston, model):
    assert "G" in piston.parts and "F1" in piston.parts
    assert "frac" in piston.latex() and "<h4>" in piston._repr_html_()
    assert "F1" in str(model) and "parameters" in repr(model)
    assert "d/dt" in piston.equations and "d/dt" in str(piston)


def test_warning_outside_the_data(model):
    with pytest.warns(cl.OutsideWarning, match="leaves the range"):
        model.simulate(start={"v.x": 1.0}, steps=2, h=0.001)


def test_log(piston, truth, caplog):
    with caplog.at_level(logging.INFO, "clausius"):
        cl.learn(piston, truth, unknown="F1")
    assert "F1 learned of adiabatic-piston" in caplog.text


def test_progress_can_stop(piston, truth):
    seen = []

    def progress(report):
        seen.append(report["phase"])
        return report["phase"] == "iterate" and report["done"] > 3

    model = cl.learn(piston, truth, unknown="F1", field="network(8)", epochs=100000, progress=progress)
    assert "iterate" in seen and model.info["stopped"] == 1 and len(model.theta)
    with pytest.raises(ZeroDivisionError):
        cl.learn(piston, truth, unknown="F1", field="network(8)", epochs=100000, progress=lambda report: 1 / 0)


INTERRUPTED = """
import os, signal, sys, threading, time, warnings
import clausius as cl
piston = cl.system("adiabatic-piston")
data = piston.simulate(starts=[{"x": 0.1 * k} for k in range(8)], steps=40)
begin = []
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is begun without it
def alarm():
    time.sleep(1.5)
    begin.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=alarm, daemon=True).start()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model = cl.learn(piston, data, unknown="F1", field="network(16)", optimizer="adam", epochs=10**9, patience=0)
assert time.monotonic() - begin[0] < 5, "too late"
assert any("best so far" in str(w.message) for w in caught)
assert len(model.theta) and model.audit(steps=20)
print("fine")
"""


def test_interrupted_learning_leaves_the_best():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60)
    assert done.stdout == "fine\n", done.stderr


def test_threads(piston):
    """Several threads at once; the lock is released while the library works."""
    want = piston.simulate(steps=3000).values
    got = [None] * 4

    def work(k):
        got[k] = piston.simulate(steps=3000, progress=False).values

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert all((g == want).all() for g in got)


def test_fork_after_use(piston, truth):
    """GNU's OpenMP hangs in children of a process that used it; here it does not."""
    starts = np.tile([0.0, 0.5, 1.0, 1.0], (64, 1))
    want = piston.simulate(starts=starts, steps=5, threads=2).values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        same = (piston.simulate(starts=starts, steps=5, threads=2).values == want).all()
        same &= bool(np.isfinite(piston.rates(np.tile(starts, (40, 1)))).all() and piston.report()["subjects"])
        os._exit(0 if same and len(cl.learn(piston, truth, unknown="F1", threads=2).theta) else 1)
    for _ in range(300):
        gone, status = os.waitpid(child, os.WNOHANG)
        if gone:
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert gone and status == 0


def test_import_is_quick_and_quiet():
    """Nothing heavy is imported: no pandas, no matplotlib, no torch."""
    code = "import numpy, sys; before = set(sys.modules); import clausius; print(sorted({m.split('.')[0] for m in set(sys.modules) - before}))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("pandas", "matplotlib", "torch", "jax", "xarray", "scipy", "sklearn", "tqdm"):
        assert f"'{heavy}'" not in said


def test_frames(piston):
    pandas = pytest.importorskip("pandas")
    run = piston.simulate(steps=10)
    frame = run.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and (frame["x"].to_numpy() == run["x"]).all()
    back = cl.data(frame)
    assert (back["time"] == run.t).all() and (back["x"] == run["x"]).all()
    many = piston.simulate(starts=run.states[:2], steps=3)
    assert (cl.data(many.to_pandas())["trajectory"] == [0] * 4 + [1] * 4).all()


def test_datasets(piston):
    pytest.importorskip("xarray")
    run = piston.simulate(steps=10)
    back = cl.data(run.to_xarray())
    assert (back["time"] == run.t).all() and (back["v.x"] == run["v.x"]).all()
    assert piston.simulate(starts=run.states[:2], steps=3).to_xarray()["x"].shape == (2, 4)


def test_pictures(piston):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    assert len(piston.simulate(steps=10).plot().axes) >= 6


def test_inputs():
    """A driven swing: the energy is that of the start plus the work of the force."""
    swing = cl.system("input u\ncoordinate q\nlagrangian v.q^2/2 - q^2/2\nexternal force: q <- u\nstart q = 1, v.q = 0\n")
    t = np.linspace(0, 10, 101)
    run = swing.simulate(steps=100, h=0.1, inputs={"u": (t, np.sin(t))})
    assert swing.inputs == ("u",) and np.allclose(run["u"], np.sin(t)) and abs(run["work"][-1]) > 0.1
    assert np.allclose(run.energy - run["work"], run.energy[0], rtol=0, atol=1e-13)
    few = {"u": (t[::50], np.array([0.0, 1.0, 0.0]))}
    assert np.allclose(swing.simulate(steps=100, h=0.1, inputs=few, hold="linear")["u"], np.interp(t, *few["u"]))
    assert (swing.simulate(steps=100, h=0.1, inputs=few)["u"][:50] == 0).all()
    assert np.allclose(swing.simulate(steps=100, h=0.1, inputs=few, hold="zero, u=linear")["u"], np.interp(t, *few["u"]))
    with pytest.raises(cl.UsageError, match="hold: there is no input 'w'"):
        swing.simulate(steps=1, inputs=few, hold="w=zero")
    with pytest.raises(cl.UsageError, match="there is no input 'w'"):
        swing.simulate(steps=1, inputs={"w": (t, t)})


def test_leaving(small, truth, tmp_path):
    found = small.export_c(tmp_path / "c")
    assert found["files"] == len(list((tmp_path / "c").iterdir())) and found["scheme"] == "discrete-gradient"
    small.export_js(tmp_path / "m.mjs")
    fmu = small.export_fmu(tmp_path / "m.fmu", fmi=3, parameters="none")
    import zipfile
    assert "sources/buildDescription.xml" in zipfile.ZipFile(tmp_path / "m.fmu").namelist() and fmu["files"] >= 6
    with pytest.raises(ValueError, match="fmi is 2 or 3"):
        small.export_fmu(tmp_path / "n.fmu", fmi=4)
    with pytest.raises(cl.UsageError, match="no platform"):
        small.export_fmu(tmp_path / "n.fmu", platforms=["amiga"])
    assert not (tmp_path / "n.fmu").exists()
    small.report(tmp_path / "page.html", truth)
    assert "<html" in (tmp_path / "page.html").read_text()[:500]


def test_stubs_are_those_of_the_tables():
    """The .pyi file is made from the tables of options; when one changed, `python -m clausius._stubs` makes it anew."""
    import ast
    import pathlib

    from clausius import _stubs

    kept = pathlib.Path(cl.__file__).with_name("__init__.pyi").read_text()
    ast.parse(kept)
    assert kept == _stubs.text() and "epochs: int = 0" in kept


def test_the_environment_is_left_as_it_was():
    import os
    import subprocess
    import sys

    code = "import os; before = dict(os.environ); import clausius; assert dict(os.environ) == before"
    clean = {k: v for k, v in os.environ.items() if k not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
    for more in ({}, {"OMP_WAIT_POLICY": "active"}):
        subprocess.run([sys.executable, "-c", code], env={**clean, **more}, check=True)


def test_data_made_with_other_parameters_are_told():
    piston = cl.system("adiabatic-piston", {"nu1": 0.5})
    starts = {"x": np.linspace(-0.5, 0.5, 12), "v.x": np.linspace(0.6, -0.4, 12)}
    rows = piston.simulate(starts=starts, steps=20)
    with pytest.warns(cl.LearnWarning, match="nu1=0.5"):
        cl.learn("adiabatic-piston", rows, unknown="F2")
    with warnings.catch_warnings():
        warnings.simplefilter("error", cl.LearnWarning)
        model = cl.learn(piston, rows, unknown="F2")
    assert model.info["rollout_fine"] < model.info["rollout_still"]
