"""What users of PySINDy, scikit-learn, pandas and xarray bring with them, and what they are told where it is called otherwise here."""
import numpy as np
import pytest

import clausius as cl
from clausius._errors import in_our_words


@pytest.fixture(scope="module")
def motions(piston):
    return piston.simulate(starts=[{"v.x": v, "T1": 1 + v / 4} for v in (-1, -0.5, 0.5, 1)], until=1, h=0.02, scheme="bdf")


def test_bare_arrays_have_the_variables_of_the_system(piston, motions):
    """fit(x, t) as in PySINDy: times or their spacing; a list of arrays of unequal length."""
    arrays = [motions[i].states[:51 - 5 * i] for i in range(4)]
    learner = cl.Learner(piston, unknown="F1", field="chebyshev(2)", validate=0)
    theta = learner.fit(arrays, t=0.02).model_.theta
    again = learner.fit(arrays, t=[motions.t[:len(a)] for a in arrays], names=["x", "v.x", "T1", "T2"]).model_.theta
    assert np.allclose(theta, again, rtol=1e-9) and learner.score(arrays, t=0.02) > 0.999
    assert (cl.data(arrays[0], t=0.5, names=piston.states)["time"] == 0.5 * np.arange(len(arrays[0]))).all()
    with pytest.raises(cl.UsageError, match="of which system"):
        cl.Learner().fit(arrays, t=0.02)


def test_trajectories_can_be_split(piston, motions):
    data = cl.data(motions)
    parts = data.trajectories
    assert [len(p) for p in parts] == [51] * 4 and (parts[2]["x"] == motions[2]["x"]).all()
    together = cl.data(parts)
    assert (together["x"] == data["x"]).all() and (together["trajectory"] == data["trajectory"]).all()
    with pytest.raises(cl.UsageError, match="data.trajectories"):
        data[np.int64(1)]
    selection = pytest.importorskip("sklearn.model_selection")
    learner = cl.Learner(piston, unknown="F1", field="chebyshev(1)", validate=0)
    assert selection.cross_val_score(learner, parts, cv=2).shape == (2,)


def test_frames_of_others(motions):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [1.0, 2.0, 4.0]}, index=pandas.date_range("2026-01-01", periods=3, freq="500ms"))
    assert cl.data(frame)["time"].tolist() == [0.0, 0.5, 1.0]
    named = pandas.DataFrame({"time": [0.0, 1.0, 0.0], "trajectory": ["b", "b", "a"], "x": [1.0, 2.0, 3.0]})
    assert cl.data(named)["trajectory"].tolist() == [1.0, 1.0, 0.0]
    pytest.importorskip("xarray")
    data = cl.data(motions.to_xarray())
    assert len(data) == 4 * 51 and (data["v.x"].reshape(4, -1) == motions["v.x"]).all()
    arrow = pytest.importorskip("pyarrow")
    assert (cl.data(arrow.table({"time": motions.t, "x": motions["x"][0]}))["x"] == motions["x"][0]).all()


def test_starts_of_others(piston, motions):
    pandas = pytest.importorskip("pandas")
    row = motions[1].to_pandas().reset_index()[["time", *piston.states]].iloc[10]
    run = piston.simulate(start=row, steps=3)
    assert run.t[0] == row["time"] and (run.states[0] == motions[1].states[10]).all()
    many = piston.simulate(starts=pandas.DataFrame(motions[0].states[:5], columns=list(piston.states)), steps=3)
    assert (many.values == piston.simulate(starts=motions[0].states[:5], steps=3).values).all()
    with pytest.raises(cl.UsageError, match="a start is a dict"):
        piston.simulate(start="x=1", steps=3)


def test_what_was_not_measured_is_counted():
    text = repr(cl.data({"time": [0.0, 1.0, 2.0], "x": [1.0, np.nan, 5.0]}).check())
    assert "1 not measured" in text and "nan" not in text


@pytest.mark.parametrize("name, says", [("dt", "h"), ("t_span", "until"), ("lr", "rate"), ("random_state", "seed"), ("n_jobs", "threads"), ("degree", "chebyshev")])
def test_names_of_others_are_answered_with_ours(piston, motions, name, says):
    call = piston.simulate if name in ("dt", "t_span") else lambda **o: cl.learn(piston, motions, unknown="F1", **o)
    with pytest.raises(TypeError, match=f"no option '{name}'; here it is .*{says}"):
        call(**{name: 1})


def test_ours_exist():
    """What others' names are answered with is a keyword."""
    import inspect

    from clausius._options import ELSEWHERE

    ours = {**inspect.signature(cl.learn).parameters, **inspect.signature(cl.System.simulate).parameters}
    assert {v.partition("=")[0] for v in ELSEWHERE.values()} <= set(ours)


def test_inputs_are_pairs():
    s = cl.system("coordinate q\ninput u\nlagrangian v.q^2/2\nexternal force d: q <- u\nstart q = 0, v.q = 0\n")
    for wrong in (np.sin, np.zeros(3), 2.0):
        with pytest.raises(cl.UsageError, match=r"inputs\['u'\] is a pair \(times, values\)"):
            s.simulate(inputs={"u": wrong}, until=1, h=0.1)
    with pytest.raises(cl.UsageError, match=r'set=\{"u": "0.3\*sin\(t\)"\}'):
        s.simulate(until=1, h=0.1)


def test_messages_speak_of_keywords(piston, motions, tmp_path):
    with pytest.raises(cl.UsageError, match="`system.parts` lists them"):
        cl.learn(piston, motions, unknown="F3")
    with pytest.raises(cl.SystemTextError, match=r"`clausius.systems\(\)`"):
        cl.system("adiabatic-pistn")
    with pytest.raises(OSError, match="No such file"):
        cl.system(tmp_path / "none.clausius")
    with pytest.raises(OSError, match="No such file"):
        cl.load(tmp_path / "none.safetensors")
    with pytest.raises(AttributeError, match=r"the column is run\['x'\]"):
        motions[0].x
    with pytest.raises(AttributeError, match=r"runs\[0\].plot"):
        motions.plot
    assert in_our_words("text:1:1: no\n    a --b c\n    ^") == "text:1:1: no\n    a --b c\n    ^"  # the user's own line stays


def test_stubs_tell_the_truth(piston, model, motions):
    """The types of the stub file, where they are said, are those that come."""
    from clausius._stubs import ARRAY, ATTRIBUTES, RETURNS

    kinds = {ARRAY: np.ndarray, "str": str, "int": int, "float": float, "tuple[str, ...]": tuple, "dict[str, Any]": dict, "dict[str, str]": dict, "list[str]": list,
             "list[Data]": list, "dict[str, dict[str, Coefficient]]": dict, "list[Law]": list, "Model": cl.Model}
    data, learner = cl.data(motions), cl.Learner(piston, unknown="F1", field="chebyshev(1)", validate=0).fit(motions)
    audit, coefficient = motions[0].audit(), next(iter(model.coefficients["F1"].values()))
    for thing in (piston, model, motions[0], motions, data, learner, audit, coefficient):
        for name, kind in ATTRIBUTES.get(type(thing).__name__, {}).items():
            assert isinstance(getattr(thing, name), kinds[kind]), (thing, name, kind)
        for name, kind in RETURNS.items():
            owner, _, short = name.rpartition(".")
            if isinstance(vars(type(thing)).get(short), property) and owner in ("", type(thing).__name__):
                assert isinstance(getattr(thing, short), kinds[kind]), (thing, name, kind)
    z = motions[0].states
    assert all(isinstance(x, np.ndarray) for x in (model.rates(z), model.jacobian(z), model.energy(z), model.step(z), *model.step_vjp(z, np.ones_like(z)), learner.predict(z), piston.start()))
    assert isinstance(model.score(data), float) and isinstance(model.follow(data), cl.Data) and isinstance(model.compare(data), dict)


def test_what_would_be_ignored_is_refused(piston, motions, tmp_path):
    with pytest.raises(cl.UsageError, match="unknown names the parts"):
        cl.learn(piston, motions, unknown={"F1": "chebyshev(2)"})
    with pytest.raises(cl.UsageError, match=r"fit\(X, t=0.02\)"):
        cl.Learner(piston, unknown="F1").fit(motions[0].states, 0.02)
    with pytest.raises(cl.UsageError, match="above zero"):
        piston.simulate(steps=2, h=0)
    assert cl.system("adiabatic-piston", set="m=2, A1=3").set == cl.system("adiabatic-piston", set={"m": 2, "A1": 3}).set
    for k in range(2):
        motions[k].save(tmp_path / f"{k}.csv")
    assert len(cl.read([tmp_path / "0.csv", tmp_path / "1.csv"])) == 102
