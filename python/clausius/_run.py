"""What a simulation gives: named columns, without a copy, and what can be done with them."""
import html
import re

import numpy as np

from . import _core, _files
from ._audit import Audit
from ._options import checked, describe


def compared(a, b, columns):
    """Differences of two tables at equal times."""
    if isinstance(columns, str):
        columns = (c.strip() for c in re.split(r",(?![^\[\]]*\])", columns))  # not those of T[1,*]
    found, _ = a.compare(b, tuple(columns))
    return {c: dict(mae=mae, max=most, rmse=rmse, time_of_max=at) for c, mae, most, rmse, at in found}


def whole_array(names, name):
    """The columns of an array, a slice where they stand together, and its shape."""
    found = _files.spans(names).get(name)
    if not found:
        raise KeyError(f"there is no column '{name}'; there are {', '.join(names)}")
    own, _, shape = found
    return (slice(own[0], own[-1] + 1) if own[-1] - own[0] + 1 == len(own) else own), shape


def column_or_refuse(runs, name):
    """Attributes that are columns; of the others it is said where they are."""
    if name in ("energy", "entropy", "time"):
        return runs[name]
    kind = type(runs).__name__
    where = ""
    if not name.startswith("_") and name in runs.names:
        where = f"; the column is run['{name}']"
    elif kind == "Runs" and hasattr(Run, name):
        where = f"; one motion has it: runs[0].{name}"
    raise AttributeError(f"{kind} has no attribute '{name}'{where}")


class Run:
    """One motion: `run["x"]` and `run.energy` are views of one array, `run.values` (columns, rows). The columns u[1], u[2], ... of an array are
    `run["u"]`, (rows, N); of a grid (rows, N, M).

    >>> import clausius as cl
    >>> run = cl.system("pendulum").simulate(steps=100)
    >>> run["q"].shape, run.names[:3]
    ((101,), ('time', 'q', 'p.q'))
    """

    def __init__(self, names, values, dynamics=None, info=None, notes=()):
        self.names, self.values, self.dynamics = tuple(names), values, dynamics
        self.info, self.notes = dict(info or {}), dict(notes)

    def __getitem__(self, name):
        if name in self.names:
            return self.values[self.names.index(name)]
        own, shape = whole_array(self.names, name)
        return np.moveaxis(self.values[own].reshape(*shape, -1), -1, 0)

    def __getattr__(self, name):
        return column_or_refuse(self, name)

    def __len__(self):
        return self.values.shape[-1]

    def __iter__(self):
        return iter(self.names)

    def __contains__(self, name):
        return name in self.names

    def keys(self):
        """The names of the columns."""
        return self.names

    @property
    def t(self):
        """The times."""
        return self["time"]

    @property
    def states(self):
        """The states, (rows, state variables), as `rates`, `energy` and `simulate(starts=)` take them."""
        return np.stack([self[name] for name in self.dynamics.states], axis=-1)

    def table(self):
        """For the library: a table over the same memory."""
        t = _core.Table.borrow(self.names, [np.ascontiguousarray(c) for c in self.values])
        for key, value in self.notes.items():
            t.set_note(key, value)
        return t

    def save(self, path):
        """A .csv file, the same to the byte as the program writes; or .npz, .h5."""
        _files.write(path, self.table())

    def to_pandas(self):
        """A DataFrame with time as its index."""
        import pandas

        frame = pandas.DataFrame({n: c for n, c in zip(self.names, self.values)}, copy=False)
        return frame.set_index("time")

    def to_xarray(self):
        """A Dataset with the coordinate time."""
        import xarray

        return xarray.Dataset({n: ("time", c) for n, c in zip(self.names, self.values) if n != "time"}, coords={"time": self["time"]}, attrs=dict(self.notes))

    @describe("audit")
    def audit(self, **options):
        """The judge's verdict on this motion: laws recomputed from the system's definition."""
        return Audit(*self.dynamics._audit(self.table(), checked(options, "audit"), None), self.dynamics.name)

    def compare(self, other, columns=()):
        """Differences to another run, or to Data, at the same times: {column: {"mae", "max", "rmse", "time_of_max"}}."""
        return compared(self.table(), other.table() if hasattr(other, "table") else other.tables[0], columns)

    def plot(self, columns=None, figure=None):
        """State, energy error and entropy against time, with matplotlib; the figure is returned."""
        from ._plot import plot

        return plot(self, columns, figure)

    def __repr__(self):
        i = self.info
        law = f", energy error {i['energy_relative']:.1e}, entropy falls {i['entropy_falls']} times" if i and "energy" in self.names else ""
        return f"<Run of {self.notes.get('system', '?')}: {len(self)} rows to time {self['time'][-1]:g}{law}; {', '.join(self.names)}>"

    def _repr_html_(self):
        head = "".join(f"<th>{html.escape(n)}</th>" for n in self.names)
        picks = [0, len(self) - 1] if len(self) > 1 else [0]
        body = "".join("<tr>" + "".join(f"<td>{v:.6g}</td>" for v in self.values[:, k]) + "</tr>" for k in picks)
        return f"<p>{html.escape(repr(self))}</p><table><tr>{head}</tr>{body}</table>"


class Runs:
    """Many motions of the same times: `runs["x"]` is (members, rows), `runs[i]` is a Run."""

    def __init__(self, names, values, dynamics=None, notes=()):
        self.names, self.values, self.dynamics, self.notes = tuple(names), values, dynamics, dict(notes)

    def __getitem__(self, key):
        if isinstance(key, str):
            if key in self.names:
                return self.values[:, :, self.names.index(key)]
            own, shape = whole_array(self.names, key)
            return self.values[:, :, own].reshape(*self.values.shape[:2], *shape)
        return Run(self.names, self.values[key].T, self.dynamics, notes=self.notes)

    def __getattr__(self, name):
        return column_or_refuse(self, name)

    def __len__(self):
        return self.values.shape[0]

    @property
    def t(self):
        """The times, the same for all."""
        return self.values[0, :, 0]

    def table(self):
        """For the library: one table with a column `trajectory`."""
        members, rows, columns = self.values.shape
        flat = np.ascontiguousarray(self.values.reshape(-1, columns).T)
        t = _core.Table.borrow(("trajectory",) + self.names, [np.repeat(np.arange(members, dtype=float), rows), *flat])
        for key, value in self.notes.items():
            t.set_note(key, value)
        return t

    def save(self, path):
        """A .csv, .npz or .h5 file with a column `trajectory`."""
        _files.write(path, self.table())

    def to_pandas(self):
        """A DataFrame indexed by trajectory and time."""
        import pandas

        members, rows, columns = self.values.shape
        frame = pandas.DataFrame(self.values.reshape(-1, columns), columns=list(self.names))
        frame.insert(0, "trajectory", np.repeat(np.arange(members), rows))
        return frame.set_index(["trajectory", "time"])

    def to_xarray(self):
        """A Dataset over trajectory and time."""
        import xarray

        return xarray.Dataset({n: (("trajectory", "time"), self[n]) for n in self.names if n != "time"}, coords={"time": self.t}, attrs=dict(self.notes))

    def __repr__(self):
        return f"<{len(self)} runs of {self.notes.get('system', '?')}, {self.values.shape[1]} rows each; {', '.join(self.names)}>"
