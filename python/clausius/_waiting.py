"""Loads the library with threads that sleep while they wait.

OpenMP's runtime reads its settings when it is loaded, and by default its threads spin for milliseconds before they sleep: on a machine that others use too
that made learning four times slower. What the user set stays; the environment is as it was afterwards.
"""
import os


def _load():
    if os.environ.keys() & {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}:
        from . import _core  # noqa: F401
        return
    os.environ["GOMP_SPINCOUNT"] = "1000"  # a few microseconds: as long as waking up takes
    try:
        from . import _core  # noqa: F401
    finally:
        del os.environ["GOMP_SPINCOUNT"]


_load()
