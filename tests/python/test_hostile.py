"""Every public function with arguments that make no sense: an exception, never a crash, never something else.

CLAUSIUS_CALLS=20000 CLAUSIUS_SEED=7 pytest tests/python/test_hostile.py tries more than `make check` does."""
import inspect
import os
import random
import warnings

import numpy as np
import pytest

import clausius

FINE = (clausius.Error, TypeError, ValueError, LookupError, AttributeError, OverflowError, ZeroDivisionError, OSError, ImportError, NotImplementedError,
        MemoryError)
# These write files or open windows, where a name by chance would end up anywhere.
LEFT_OUT = {"plot", "report", "export_c", "export_fmu", "export_js", "save"}


class Breaks:
    """A sequence that says it has five elements."""

    def __len__(self):
        return 5

    def __getitem__(self, i):
        raise ValueError("there are none")


class Shrinks(list):
    def __iter__(self):
        self.clear()
        return super().__iter__()


class Large:
    def __index__(self):
        return 2**70


VALUES = [
    None, 0, 1, -1, 2**31, 2**63, -(2**63), 2**70, 1e308, -1e-308, float("nan"), float("inf"), True, "", "x", "v.x", "a\0b", "\ud800", "é" * 1000, "x" * 100000,
    b"", b"abc", [], [1], [[]], [[1, 2], [3]], (1,), {}, {"x": 1}, {"x": [1, 2]}, {1: 2}, {"x": None}, np.zeros(0), np.zeros((0, 3)), np.zeros((3, 0)),
    np.zeros(5), np.zeros((4, 2)), np.full((4, 2), np.nan), np.zeros((2, 3, 4)), np.zeros(5, dtype=">f8"), np.zeros(5, dtype="f4"), np.zeros(10)[::2],
    np.zeros(10)[::-1], np.zeros(3, dtype=object), np.array(["a", "b"]), np.zeros(4, dtype=complex), np.zeros(4, dtype="M8[s]"),
    np.zeros(4, dtype=[("a", "f8")]), np.float64(3), np.array(3.0), np.zeros((4, 2), order="F"), np.broadcast_to(np.zeros(1), (5,)),
    np.lib.stride_tricks.as_strided(np.zeros(4), shape=(4, 4), strides=(0, 8)), memoryview(b"12345678"), range(5), range(10**12), Breaks(), Shrinks([1, 2, 3]),
    Large(), lambda *a, **k: 1 / 0, object(), {1}, slice(None), Ellipsis, "pendulum", "/dev/null", "/nonexistent", "discrete-gradient", "rk4", "bdf"]
WORDS = ["x", "steps", "h", "scheme", "start", "set", "seed", "until", "every", "samples", "sample", "inputs", "q"]


def arguments(function, chance):
    try:
        wanted = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of C without a signature
        return [chance.choice(VALUES) for _ in range(chance.randint(0, 4))], {}
    plain, named = [], {}
    for p in wanted:
        if p.kind == p.VAR_POSITIONAL:
            plain += [chance.choice(VALUES) for _ in range(chance.randint(0, 2))]
        elif p.kind == p.VAR_KEYWORD:
            named.update({chance.choice(WORDS): chance.choice(VALUES) for _ in range(chance.randint(0, 1))})
        elif p.default is p.empty or chance.random() < 0.3:
            named[p.name] = chance.choice(VALUES)
    if isinstance(named.get("steps"), (int, float)) and abs(named["steps"]) > 1e6:
        named["steps"] = 7  # legal, and long
    return plain, named


def things():
    oscillator = clausius.system("coordinate x\ninput u\nlagrangian v.x^2/2 - x^2/2\nexternal force: x <- u\nstart x = 1, v.x = 0\n")
    piston = clausius.system("adiabatic-piston")
    run = piston.simulate(steps=50)
    model = clausius.learn("adiabatic-piston", run, unknown="F1")
    return [clausius, clausius.system("pendulum"), oscillator, piston, run, clausius.data(run), model, run.audit()]


@pytest.mark.filterwarnings("ignore")
def test_hostile_arguments():
    chance = random.Random(int(os.environ.get("CLAUSIUS_SEED", "1")))
    all_things, tried = things(), 0
    while tried < int(os.environ.get("CLAUSIUS_CALLS", "400")):
        thing = chance.choice(all_things)
        name = chance.choice([n for n in dir(thing) if not n.startswith("_") and n not in LEFT_OUT])
        function = getattr(thing, name)
        if not callable(function):
            continue
        plain, named = arguments(function, chance)
        tried += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                function(*plain, **named)
            except FINE:
                pass
            except BaseException as e:
                raise AssertionError(f"{type(thing).__name__}.{name}(*{plain!r:.200}, **{named!r:.400}): {e!r}") from e
