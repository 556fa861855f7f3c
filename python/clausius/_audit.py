"""The judge's verdict."""
import html
from typing import NamedTuple

from ._errors import CheckError


class Law(NamedTuple):
    """One law: what was measured, what it may be, and a sentence."""

    name: str
    passed: bool
    value: float
    limit: float
    text: str


class Audit:
    """All laws that were judged; true when they hold."""

    def __init__(self, laws, passed, name=""):
        self.laws, self.passed, self.name = [Law(*law) for law in laws], passed, name

    def __bool__(self):
        return self.passed

    def __len__(self):
        return len(self.laws)

    def __iter__(self):
        return iter(self.laws)

    def __getitem__(self, key):
        if isinstance(key, int):
            return self.laws[key]
        for law in self.laws:
            if law.name == key:
                return law
        raise KeyError(f"there is no law '{key}'; there are {', '.join(law.name for law in self.laws)}")

    def require(self):
        """Raises CheckError when a law does not hold; else returns the audit."""
        broken = [law for law in self.laws if not law.passed]
        if broken:
            raise CheckError("; ".join(f"{law.name}: {law.text}" for law in broken))
        return self

    def __repr__(self):
        verdict = f"all {len(self.laws)} laws hold" if self.passed else f"{sum(not law.passed for law in self.laws)} of {len(self.laws)} laws do not hold"
        return "\n".join([f"{'ok    ' if law.passed else 'BROKEN'} {law.name}: {law.text}" for law in self.laws] + [verdict])

    def _repr_html_(self):
        rows = "".join(f"<tr><td>{'✓' if law.passed else '✗'}</td><td>{html.escape(law.name)}</td><td>{law.value:.3g}</td><td>{html.escape(law.text)}</td></tr>" for law in self.laws)
        return f"<table><tr><th></th><th>law</th><th>measured</th><th></th></tr>{rows}</table>"
