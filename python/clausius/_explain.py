"""What is found in systems and models: laws that are not declared, short formulas for what was learned."""
import os
import tempfile
from collections.abc import Sequence
from typing import NamedTuple

from ._errors import UsageError


class Found(NamedTuple):
    """A law: kind ("linear", "quadratic", "symmetry", "casimir", "gauge"), the formula that is constant (of a gauge: what is changed), and how well it holds.

    `digits` is -log10 of its rate over the rates of its terms, `drift` its largest change along the default motion. A gauge is `open` where nothing fixes it.
    """

    kind: str
    formula: str
    name: str
    why: str
    fixed_by: str
    open: bool
    exact: bool
    digits: float
    rate: float
    drift: float


class _Told(Sequence):
    """A list that prints what the program prints."""

    def __init__(self, items, text):
        self._items, self.text = tuple(items), text

    def __getitem__(self, k):
        return self._items[k]

    def __len__(self):
        return len(self._items)

    def __str__(self):
        return self.text

    def __repr__(self):
        return self.text


class Invariants(_Told):
    """The laws that were found, each a Found; prints as `clausius show --invariants`. `states` is how many states were tried."""

    def __init__(self, items, states, text):
        super().__init__((Found(*i) for i in items), text)
        self.states = states


class Term(NamedTuple):
    """One term of a short formula: its text without the constant, the constant's name, unit and value (a Coefficient with its standard error), and the
    relative error of the part without this term."""

    text: str
    name: str
    unit: str
    value: float
    price: float


class Step(NamedTuple):
    """One length of a formula."""

    terms: int
    error: float
    formula: str


class Formula(NamedTuple):
    """A short formula for a learned part; `reason` says why there is none. `error` is relative to the learned function, at states that nothing was fitted to."""

    part: str
    what: str
    reason: str
    form: str
    constant: float
    error: float
    terms: tuple
    steps: tuple


class Formulas(_Told):
    """Short formulas of the learned parts, each a Formula; prints as `clausius show --formulas`. `refitted`: were the constants fitted to data?"""

    def __init__(self, items, text, refitted, source, why):
        super().__init__((Formula(*i[:6], tuple(map(_term, i[6])), tuple(Step(*x) for x in i[7])) for i in items), text)
        self.refitted, self._source, self._why = refitted, source, why

    @property
    def source(self):
        """The system file with the formulas in it."""
        if self._source is None:
            raise UsageError(self._why)
        return self._source

    def system(self):
        """The system with the formulas in the place of what was unknown."""
        from ._dynamics import system

        return system(self.source)

    def save(self, path):
        """A .clausius file, the same to the byte as `clausius show --formulas -o FILE` writes."""
        text, path = self.source, os.fspath(path)
        self.system()  # it runs
        with tempfile.NamedTemporaryFile("w", dir=os.path.dirname(path) or ".", delete=False, encoding="utf-8", newline="") as file:
            try:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
                mask = os.umask(0)
                os.umask(mask)
                os.chmod(file.name, 0o666 & ~mask)
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise


def _term(t):
    from ._model import Coefficient

    text, name, unit, value, error, price = t
    return Term(text, name, unit, Coefficient(value, error), price)
