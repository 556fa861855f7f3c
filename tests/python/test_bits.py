"""The package and the program are one library: the same options give the same bytes."""
import re

import numpy as np
import pytest

import clausius as cl

BAD = 'system "x"\ncoordinate q\nlagrangian v.q^2/2 - qq\n'


@pytest.mark.parametrize("name, flags, keywords", [
    ("adiabatic-piston", ["--until", "3"], dict(until=3)),
    ("adiabatic-piston", ["--steps", "100", "--h", "0.2", "--every", "7", "--scheme", "vnots"], dict(steps=100, h=0.2, every=7, scheme="vnots")),
    ("adiabatic-piston", ["--steps", "20", "--start", "x=0.3, T1=2", "--set", "m=2"], dict(steps=20, start={"x": 0.3, "T1": 2})),
    ("ideal-gas-piston", ["--steps", "50", "--scheme", "dtel", "--first-step", "paper"], dict(steps=50, scheme="dtel", first_step="paper")),
    ("pendulum", ["--steps", "30", "--scheme", "bdf", "--tolerance", "1e-9"], dict(steps=30, scheme="bdf", tolerance=1e-9)),
    ("van-der-waals-forced", ["--steps", "50"], dict(steps=50)),
])
def test_motions(program, name, flags, keywords):
    program("simulate", name, *flags, "-o", "program.csv")
    run = cl.system(name, set={"m": 2} if "--set" in flags else None).simulate(**keywords)
    run.save("package.csv")
    assert open("package.csv", "rb").read() == open("program.csv", "rb").read()


def test_going_on(program):
    program("simulate", "pendulum", "--steps", "50", "-o", "a.csv")
    program("simulate", "pendulum", "--steps", "50", "--from", "a.csv", "-o", "b.csv")
    first = cl.system("pendulum").simulate(steps=50)
    cl.system("pendulum").simulate(start=first, steps=50).save("c.csv")
    cl.system("pendulum").simulate(start=cl.read("a.csv"), steps=50).save("d.csv")
    assert open("b.csv", "rb").read() == open("c.csv", "rb").read() == open("d.csv", "rb").read()


def test_ensembles(program):
    program("simulate", "pendulum", "--samples", "5", "--sample", "q~U(-1,1), p.q~U(-1,1)", "--seed", "3", "--steps", "20", "-o", "many.csv")
    data = cl.read("many.csv")
    starts = np.column_stack([data["q"], data["p.q"]])[::21]
    runs = cl.system("pendulum").simulate(starts=starts, steps=20)
    for name in runs.names:
        assert (runs[name].ravel() == data[name]).all()


@pytest.mark.parametrize("flags, keywords", [
    ([], {}),
    (["--field", "chebyshev(2)", "--seed", "5", "--validate", "0.2"], dict(field="chebyshev(2)", seed=5, validate=0.2)),
    (["--field", "network(4)", "--epochs", "5", "--threads", "1"], dict(field="network(4)", epochs=5)),
])
def test_models(program, truth, flags, keywords):
    truth.save("train.csv")
    program("learn", "adiabatic-piston", "train.csv", "--unknown", "F1, F2", "-o", "program.safetensors", *flags)
    model = cl.learn("adiabatic-piston", cl.read("train.csv"), unknown=["F1", "F2"], **keywords)
    model.save("package.safetensors")
    assert open("package.safetensors", "rb").read() == open("program.safetensors", "rb").read()
    program("simulate", "program.safetensors", "--steps", "30", "--start", "x=0.2, T1=1.1", "-o", "program.csv")
    loaded = cl.load("program.safetensors")
    loaded.simulate(start={"x": 0.2, "T1": 1.1}, steps=30).save("package.csv")
    assert open("package.csv", "rb").read() == open("program.csv", "rb").read()
    assert (loaded.theta == model.theta).all()


def test_data_in_memory_give_the_same_numbers(program, truth):
    truth.save("train.csv")
    a = cl.learn("adiabatic-piston", cl.read("train.csv"), unknown="F1")
    b = cl.learn("adiabatic-piston", truth, unknown="F1")
    assert (a.theta == b.theta).all()


def test_convex_identification(program):
    program("simulate", "thermoelastic-double-pendulum", "--steps", "400", "--h", "0.01", "-o", "run.csv")
    program("learn", "thermoelastic-double-pendulum", "run.csv", "--unknown", "M", "--optimizer", "qp", "-o", "program.safetensors")
    model = cl.learn("thermoelastic-double-pendulum", cl.read("run.csv"), unknown="M", optimizer="qp")
    model.save("package.safetensors")
    assert open("package.safetensors", "rb").read() == open("program.safetensors", "rb").read()
    assert model.info["optimizer"] == "qp" and model.info["terms"]


def test_sentences(program):
    """Errors are those of the program, with file, line and caret."""
    open("bad.clausius", "w").write(BAD)
    said = program("show", "bad.clausius", code=4)
    with pytest.raises(cl.SystemTextError) as caught:
        cl.system("bad.clausius")
    assert str(caught.value).rstrip() == re.sub(r"^clausius show: ", "", said).rstrip()
    assert (caught.value.line, caught.value.status) == (3, 4) and "^" in str(caught.value)
    said = program("simulate", "pendulum", "--start", "x=1", code=2)
    with pytest.raises(cl.Error) as caught:
        cl.system("pendulum").simulate(start={"x": 1})
    assert str(caught.value) in said
