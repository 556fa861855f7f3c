"""clausius: systems that keep the two laws.

Write a physical system down as formulas and simulate it, energy kept to round-off and entropy never falling; learn from measured
trajectories what you cannot write down.

>>> import clausius as cl
>>> piston = cl.system("adiabatic-piston")
>>> run = piston.simulate(until=10)
>>> bool(run.audit())
True
"""
import logging as _logging

from . import _waiting  # noqa: F401  (first: it loads the library)

from ._audit import Audit, Law
from ._core import template as new
from ._core import version as __version__
from ._data import Check, Data, data, read
from ._dynamics import System, schemes, system, systems
from ._errors import (CheckError, DataError, DataWarning, Error, FileError, Interrupted, LearnWarning, NoMemoryError, NumericError, OutsideWarning,
                      SystemTextError, UsageError)
from ._explain import Formula, Formulas, Found, Invariants
from ._learner import Learner
from ._model import Coefficient, Model, learn, load
from ._run import Run, Runs

_logging.getLogger("clausius").addHandler(_logging.NullHandler())

__all__ = ["Audit", "Check", "CheckError", "Coefficient", "Data", "DataError", "DataWarning", "Error", "FileError", "Formula", "Formulas", "Found", "Interrupted", "Invariants", "Law", "LearnWarning", "Learner", "Model", "NoMemoryError",
           "NumericError", "OutsideWarning", "Run", "Runs", "System", "SystemTextError", "UsageError", "data", "learn", "load", "new", "read",
           "schemes", "system", "systems"]
