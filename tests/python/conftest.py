"""What the tests share: the program beside the package, and data of a piston to learn from."""
import os
import subprocess

import pytest

import clausius as cl


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Runs the program in an empty folder; also the Python code runs there, so that names of files are the same."""
    path = os.environ.get("CLAUSIUS")
    if not path:
        pytest.skip("CLAUSIUS does not name the program")
    monkeypatch.chdir(tmp_path)

    def run(*words, code=0):
        done = subprocess.run([path, *map(str, words)], capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done.stderr

    return run


@pytest.fixture(scope="session")
def piston():
    return cl.system("adiabatic-piston")


@pytest.fixture(scope="session")
def truth(piston):
    """Short motions from several places."""
    starts = [{"x": 0.1 * k - 0.8, "v.x": 0.7 - 0.09 * k, "T1": 0.6 + 0.05 * k, "T2": 1.3 - 0.04 * k} for k in range(16)]
    return piston.simulate(starts=starts, steps=40, h=0.02, scheme="bdf")


@pytest.fixture(scope="session")
def model(piston, truth):
    return cl.learn(piston, truth, unknown="F1, F2", seed=7)


@pytest.fixture(scope="session")
def small(piston, truth):
    """A model of few parameters: pages and exports of it are soon made."""
    return cl.learn(piston, truth, unknown="F1", field="chebyshev(2)", validate=0)
