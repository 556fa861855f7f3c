"""Measured trajectories: from files, data frames, dicts, arrays, runs; no copy where the columns are contiguous numbers."""
import glob
import html
import re
import warnings

import numpy as np

from . import _core
from ._errors import DataError, FileError, UsageError
from ._run import Run, Runs


class Data:
    """Trajectories to learn from. `tables` are the library's, `names` say where each comes from."""

    def __init__(self, tables, names):
        self.tables, self.names = tuple(tables), tuple(names)

    def __len__(self):
        return sum(t.rows for t in self.tables)

    @property
    def columns(self):
        """Names of the columns of the first table."""
        return self.tables[0].names

    def __getitem__(self, name):
        """A column of all tables together; no copy when there is one table."""
        if isinstance(name, int):
            return Data([self.tables[name]], [self.names[name]])
        parts = [np.asarray(t.column(name)) for t in self.tables]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def check(self):
        """What is in the data and what is odd about it, as an object that prints itself."""
        return Check(self)

    def to_pandas(self):
        """All rows as one DataFrame."""
        import pandas

        frames = [pandas.DataFrame({n: np.asarray(t.column(n)) for n in t.names}, copy=False) for t in self.tables]
        return frames[0] if len(frames) == 1 else pandas.concat(frames, keys=self.names, names=["file", None])

    def save(self, path):
        """A .csv file; only of one table."""
        if len(self.tables) != 1:
            raise UsageError(f"{len(self.tables)} tables do not fit into one file")
        self.tables[0].write(str(path))

    def __repr__(self):
        return f"<Data: {len(self)} rows in {len(self.tables)} table{'s' if len(self.tables) != 1 else ''}; {', '.join(self.columns)}>"

    def _repr_html_(self):
        return self.check()._repr_html_()


class Check:
    """What `clausius data inspect` says, of each table."""

    def __init__(self, data):
        self.tables = [_facts(t, name) for t, name in zip(data.tables, data.names)]

    @property
    def rows(self):
        """Of all tables."""
        return sum(f["rows"] for f in self.tables)

    def __repr__(self):
        return "\n\n".join(_text(f) for f in self.tables)

    def _repr_html_(self):
        return f"<pre>{html.escape(repr(self))}</pre>"


def _facts(table, name):
    columns = {n: np.asarray(table.column(n)) for n in table.names}
    facts = dict(name=name, rows=table.rows, columns={}, time=None)
    for n, x in columns.items():
        low, high = (float(np.nanmin(x)), float(np.nanmax(x))) if len(x) and not np.isnan(x).all() else (np.nan, np.nan)
        facts["columns"][n] = dict(min=low, max=high, mean=float(np.nanmean(x)) if low == low else np.nan, constant=low == high, missing=int(np.isnan(x).sum()))
    if "time" not in columns or not table.rows:
        return facts
    t = columns["time"]
    gap = np.diff(t)
    same = np.ones(len(gap), bool)
    trajectories = 1
    if "trajectory" in columns:
        order = np.argsort(columns["trajectory"], kind="stable")
        t, identity = t[order], columns["trajectory"][order]
        gap, same = np.diff(t), np.diff(identity) == 0
        trajectories = int((~same).sum()) + 1
    inside = gap[same]
    median = float(np.sort(inside)[len(inside) // 2]) if len(inside) else 0.0
    wide = inside > 1.5 * median
    facts["time"] = dict(first=float(t.min()), last=float(t.max()), trajectories=trajectories, spacing=dict(min=float(inside.min(initial=np.inf)) if len(inside) else 0.0, median=median, max=float(inside.max(initial=-np.inf)) if len(inside) else 0.0),
                         gaps=int(wide.sum()), widest=float(inside.max()) if wide.any() else 0.0, widest_after=float(t[:-1][same][inside.argmax()]) if wide.any() else 0.0, not_increasing=int((~(inside > 0)).sum()))
    return facts


def _text(f):
    lines = [f"{f['name']}: {f['rows']} rows, {len(f['columns'])} columns"]
    time = f["time"]
    if not time:
        lines.append("no column `time`: this is not a trajectory")
    else:
        s = time["spacing"]
        lines.append(f"time from {time['first']:g} to {time['last']:g}, {time['trajectories']} {'trajectory' if time['trajectories'] == 1 else 'trajectories'}")
        lines.append(f"spacing {s['median']:g} everywhere" if s["max"] - s["min"] <= 1e-9 * abs(s["median"]) else f"spacing {s['min']:g} to {s['max']:g}, median {s['median']:g}")
        if time["gaps"]:
            lines.append(f"{time['gaps']} gap{'s' if time['gaps'] > 1 else ''} (above 1.5 times the median), the widest {time['widest']:g} after time {time['widest_after']:g}")
        if time["not_increasing"]:
            lines.append(f"{time['not_increasing']} times are not above the time in the row before")
    width = max(len(n) for n in f["columns"])
    for n, c in f["columns"].items():
        odd = ("  constant" if c["constant"] else "") + (f"  {c['missing']} missing" if c["missing"] else "")
        lines.append(f"{n:<{width}}  {c['min']:>12.6g}  {c['max']:>12.6g}  {c['mean']:>12.6g}{odd}")
    return "\n".join(lines)


def _renaming(text):
    """{"x": "pos"} of "x=pos [mm], time=t"."""
    if text is None or isinstance(text, dict):
        return dict(text or {})
    out = {}
    for item in text.split(","):
        found = re.fullmatch(r"\s*([^=\s]+)\s*=\s*([^\[\]]+?)\s*(\[[^\]]*\])?\s*", item)
        if not found:
            raise UsageError(f"map: expected NAME=COLUMN or NAME=COLUMN [UNIT], got '{item.strip()}'")
        if found[3]:
            warnings.warn("units in a map are for the reader: nothing is converted", stacklevel=3)
        out[found[1]] = found[2]
    return out


def _renamed(table, map, name):
    if not map:
        return table
    for new, old in map.items():
        if old not in table.names:
            raise DataError(f"{name} has no column '{old}'; it has {', '.join(table.names)}")
    back = {old: new for new, old in map.items()}
    kept = [n for n in table.names if n in back or n not in map]
    return _core.Table.borrow([back.get(n, n) for n in kept], [np.asarray(table.column(n)) for n in kept])


def read(*paths, map=None):
    """Reads trajectories from files; wildcards are expanded.

    `map` says which column is which, the system's name first: "x=position, time=t", or a dict.
    """
    names = []
    for path in paths:
        text = str(path)
        found = sorted(glob.glob(text)) if glob.has_magic(text) else [text]
        if not found:
            raise FileError(f"no file matches {text}")
        names += found
    if not names:
        raise UsageError("read: which files?")
    map = _renaming(map)
    tables = [_renamed(_core.Table.read(n), map, n) for n in names]
    for t, n in zip(tables, names):
        if not t.rows:
            raise DataError(f"{n} has no rows: there is nothing to learn from")
    return Data(tables, names)


def _columns(source, t, names):
    """{name: numbers} of one trajectory, whatever it is."""
    if isinstance(source, Run):
        return {n: c for n, c in zip(source.names, source.values)}
    if hasattr(source, "to_pandas") and hasattr(source, "data_vars"):  # an xarray Dataset
        out = {str(c): source.coords[c].values for c in source.coords if source.coords[c].ndim == 1}
        return {**out, **{str(n): v.values for n, v in source.data_vars.items()}}
    if hasattr(source, "columns") and hasattr(source, "iloc"):  # a pandas DataFrame
        out = {str(c): source[c].to_numpy() for c in source.columns}
        for level in range(source.index.nlevels):
            name = source.index.names[level]
            if name in ("time", "trajectory") and name not in out:
                out = {name: source.index.get_level_values(level).to_numpy(), **out}
        return out
    if hasattr(source, "get_column") or (hasattr(source, "columns") and hasattr(source, "to_dict") and not hasattr(source, "dtype")):
        return {c: source[c].to_numpy() for c in source.columns}  # polars
    if getattr(getattr(source, "dtype", None), "names", None):  # a structured array
        return {n: source[n] for n in source.dtype.names}
    if hasattr(source, "items"):
        return {str(k): v for k, v in source.items()}
    if hasattr(source, "shape") or isinstance(source, (list, tuple)):
        array = np.asarray(source, float)
        if names is None or array.ndim != 2 or array.shape[1] != len(names):
            raise UsageError("an array of (rows, columns) needs names=[...], one for each column")
        return {n: array[:, k] for k, n in enumerate(names)}
    raise UsageError(f"data cannot be made of {type(source).__name__}: give a DataFrame, a dict of columns, an xarray Dataset, a Run, an array with names=, or a list of these")


def _table(source, t, names):
    columns = _columns(source, t, names)
    if t is not None:
        columns = {"time": t, **{k: v for k, v in columns.items() if k != "time"}}
    arrays = {}
    for name, values in columns.items():
        values = values if hasattr(values, "dtype") or hasattr(values, "__dlpack__") else np.asarray(values)
        if getattr(values, "ndim", 1) != 1:
            raise UsageError(f"column '{name}' has {values.ndim} dimensions; a column has one")
        if getattr(getattr(values, "dtype", None), "kind", "f") in "mM":
            base = values[0] if values.dtype.kind == "M" else np.timedelta64(0, "ns")
            values = (values - base) / np.timedelta64(1, "s")
        try:
            arrays[str(name)] = values if isinstance(values, np.ndarray) and values.dtype == float else np.asarray(values, float)
        except (TypeError, ValueError) as error:
            raise DataError(f"column '{name}': expected numbers: {error}") from None
    return _core.Table.borrow(tuple(arrays), [np.ascontiguousarray(a) for a in arrays.values()])


def data(source, t=None, names=None, map=None, name="memory"):
    """Trajectories in memory as the library takes them; columns of float64 that are contiguous are not copied.

    `source` is a DataFrame, a dict of columns, an xarray Dataset, a Run or Runs, an array (rows, columns) with `names`, or a list of
    these: trajectories of unequal length. `t` are the times where they stand apart (a list of them for a list).

    >>> import clausius as cl
    >>> cl.data({"time": [0, 1, 2], "q": [1.0, 0.9, 0.7]})
    <Data: 3 rows in 1 table; time, q>
    """
    if isinstance(source, Data):
        return source
    if isinstance(source, Runs):
        return Data([source.table()], [name])
    many = isinstance(source, (list, tuple)) and len(source) and not np.isscalar(source[0]) and not (names is not None and np.ndim(source[0]) == 1)
    if not many:
        table = _table(source, t, names)
        return Data([_renamed(table, _renaming(map), name)], [name])
    times = t if t is not None else [None] * len(source)
    if len(times) != len(source):
        raise UsageError(f"{len(source)} trajectories and {len(times)} arrays of times")
    parts = [_table(s, w, names) for s, w in zip(source, times)]
    for p in parts:
        if set(p.names) != set(parts[0].names):
            raise DataError(f"trajectories have different columns: {', '.join(parts[0].names)} and {', '.join(p.names)}")
    kept = [n for n in parts[0].names if n != "trajectory"]
    identity = np.repeat(np.arange(len(parts), dtype=float), [p.rows for p in parts])
    joined = [np.concatenate([np.asarray(p.column(n)) for p in parts]) for n in kept]
    table = _core.Table.borrow(("trajectory", *kept), [identity, *joined])
    return Data([_renamed(table, _renaming(map), name)], [name])
