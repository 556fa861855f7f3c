"""Measured trajectories: from files, data frames, dicts, arrays, runs; no copy where the columns are contiguous numbers."""
import glob
import html
import logging
import os
import re
import warnings

import numpy as np

from . import _core, _files
from ._errors import DataError, DataWarning, FileError, UsageError
from ._run import Run, Runs


log = logging.getLogger("clausius")


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
        """A column of all tables together; no copy when there is one table. The columns u[1], u[2], ... of an array are `data["u"]`, (rows, N)."""
        if isinstance(name, int):
            return Data([self.tables[name]], [self.names[name]])
        if not isinstance(name, str):
            raise UsageError(f"data['NAME'] is a column and data[0] a table, got {type(name).__name__}; data.trajectories is a list that cross_val_score and GridSearchCV can split")
        parts = [self._column(t, name) for t in self.tables]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @staticmethod
    def _column(table, name):
        if name in table.names or name not in (found := _files.spans(list(table.names))):
            return np.asarray(table.column(name))
        own, _, shape = found[name]
        columns = [np.asarray(table.column(table.names[k])) for k in own]
        return np.stack(columns, axis=-1).reshape(-1, *shape)

    @property
    def trajectories(self):
        """One Data for each trajectory: a list, which scikit-learn can split and `data` joins again."""
        out = []
        for table, name in zip(self.tables, self.names):
            if "trajectory" not in table.names:
                out.append(Data([table], [name]))
                continue
            identity = np.asarray(table.column("trajectory"))
            for k in dict.fromkeys(identity.tolist()):
                columns = {n: np.asarray(table.column(n))[identity == k] for n in table.names if n != "trajectory"}
                out.append(Data([_core.Table.borrow(tuple(columns), list(columns.values()))], [name]))
        return out

    def check(self):
        """What is in the data and what is odd about it, as an object that prints itself."""
        return Check(self)

    def draft(self, name="draft"):
        """The text of a system drafted from the columns of the first table, as `clausius new NAME --from DATA` writes it: columns
        become coordinates, temperatures, velocities and inputs by their units and names. Look at every line; it can be learned as it is.

        >>> import clausius as cl
        >>> t = [0.0, 0.1, 0.2, 0.3]
        >>> text = cl.data({"time": t, "x": [1.0, 0.9, 0.7, 0.4]}).draft("cart")
        >>> cl.system(text).parts
        ['V', 'F_x']
        """
        return self.tables[0].draft(name, self.names[0])

    def to_pandas(self):
        """All rows as one DataFrame."""
        import pandas

        frames = [pandas.DataFrame({n: np.asarray(t.column(n)) for n in t.names}, copy=False) for t in self.tables]
        return frames[0] if len(frames) == 1 else pandas.concat(frames, keys=self.names, names=["file", None])

    @property
    def units(self):
        """{column: unit} where one is known, of the first table."""
        return self.tables[0].units

    @property
    def notes(self):
        """What the first file says of itself in its `# key: value` lines."""
        return self.tables[0].notes

    def audit(self, system=None, **options):
        """The judge's verdict on these rows as a motion of `system` (by default the one that the file names)."""
        if system is None:
            system = self._named_system()
        elif isinstance(system, (str, os.PathLike)):
            from ._dynamics import system as as_system

            system = as_system(system)
        return system.audit(against=self, **options)

    def _named_system(self):
        """Data come from anywhere: the system that they name is built in, or a file beside them."""
        from ._dynamics import system, systems
        from ._model import load

        note = self.notes.get("system")
        if not note:
            raise UsageError("the data do not say of which system they are: audit(system)")
        if note in systems():
            return system(note, assigned(self.notes.get("set", "")))
        path = os.path.join(os.path.dirname(self.names[0]), os.path.basename(note))
        if note.endswith((".clausius", ".safetensors")) and os.path.isfile(path):
            return (load if note.endswith(".safetensors") else system)(path, assigned(self.notes.get("set", "")))
        raise UsageError(f'{self.names[0]} says that it is of the system "{note}", which is not built in and not a file beside it: audit(system)')

    def save(self, path):
        """A .csv, .npz or .h5 file; only of one table."""
        if len(self.tables) != 1:
            raise UsageError(f"{len(self.tables)} tables do not fit into one file: save data[0], data[1], ...")
        _files.write(path, self.tables[0])

    def __repr__(self):
        return f"<Data: {len(self)} rows in {len(self.tables)} table{'s' if len(self.tables) != 1 else ''}; {', '.join(self.columns)}>"

    def _repr_html_(self):
        return self.check()._repr_html_()


def assigned(text):
    """{"m": 2.0} of "m=2, k=1"; a formula of an input stays a text."""
    out = {}
    for item in text.split(","):
        name, _, value = (part.strip() for part in item.partition("="))
        if name:
            try:
                out[name] = float(value)
            except ValueError:
                out[name] = value
    return out


class Check:
    """What `clausius data inspect` says, of each table: `tables` has its numbers."""

    def __init__(self, data):
        self.tables = []
        for table, name in zip(data.tables, data.names):
            time, columns = table.inspect()
            for n, c in columns.items():
                x = np.asarray(table.column(n))
                c["missing"] = int(np.isnan(x).sum())
                if 0 < c["missing"] < len(x):
                    c["mean"] = float(np.nanmean(x))
            self.tables.append(dict(name=name, rows=table.rows, columns=columns, time=time, remarks=table.remarks))

    @property
    def rows(self):
        """Of all tables."""
        return sum(f["rows"] for f in self.tables)

    def __repr__(self):
        return "\n\n".join((f["name"] + ": " if len(self.tables) > 1 else "") + _text(f) for f in self.tables)

    def _repr_html_(self):
        return f"<pre>{html.escape(repr(self))}</pre>"


def _many(n, one, more):
    return f"{n} {one if n == 1 else more}"


def _time_lines(f):
    time = f["time"]
    if not time:
        rising = next((n for n, c in f["columns"].items() if c["rises"]), None)
        if rising:
            return [f'no column `time`; "{rising}" rises from row to row: if it is the time, say map="time={rising}"']
        return ["no column `time`: give the spacing of the rows with dt=, or names with columns="]
    s = time["spacing"]
    rate = f"{1 / s['median']:.6g} rows per unit of time" if s["median"] else "no spacing"
    lines = [f"time from {time['first']:g} to {time['last']:g}, {_many(time['trajectories'], 'trajectory', 'trajectories')}",
             f"spacing {s['median']:g} everywhere ({rate})" if s["max"] - s["min"] <= 1e-9 * abs(s["median"])
             else f"spacing {s['min']:g} to {s['max']:g}, median {s['median']:g} ({rate}), jitter {time['jitter']:.3g}"]
    if time["gaps"]:
        lines.append(f"{_many(time['gaps'], 'gap', 'gaps')} (above 1.5 times the median), the widest {time['widest']:g} after time {time['widest_after']:g}; about {time['missing_rows']} rows missing")
    if time["not_increasing"]:
        lines.append(f"{time['not_increasing']} times are not above the time in the row before")
    if time["duplicates"]:
        lines.append(f"{time['duplicates']} duplicate {'time' if time['duplicates'] == 1 else 'times'}")
    return lines


def _odd(c):
    out = ["constant"] if c["constant"] else []
    if c["missing"]:
        out.append(f"{c['missing']} not measured")
    if c["quantum"] > 0:
        out.append(f"steps of {c['quantum']:.3g}")
    if c["outliers"]:
        out.append(_many(c["outliers"], "outlier", "outliers"))
    if c["wraps"]:
        out.append(f"{c['wraps']} jumps by {'360' if c['turn'] > 7 else '2 pi'}: a wrapped angle?")
    return ", ".join(out)


def _text(f):
    """The same words as `clausius data inspect` has."""
    lines = [f"{f['rows']} rows, {len(f['columns'])} columns", *f["remarks"], *_time_lines(f)]
    cells = [("column", "unit", "min", "max", "mean", "noise", "")]
    for n, c in f["columns"].items():
        key = n in ("time", "t", "trajectory")
        noise = f"{c['noise']:.2g}" if np.isfinite(c["noise"]) and not c["constant"] and not key else ""
        cells.append((n, c["unit"] or "", *(f"{c[k]:.6g}" for k in ("min", "max", "mean")), noise, "" if key else _odd(c)))
    width = [max(len(row[k]) for row in cells) for k in range(7)]
    for row in cells:
        lines.append("  ".join(x.ljust(w) if k in (0, 1, 6) else x.rjust(w) for k, (x, w) in enumerate(zip(row, width))).rstrip())
    return "\n".join(lines)


def _renaming(text):
    """[(ours, theirs, unit or None)] of "x=pos [mm], time=t" or {"x": "pos [mm]"}."""
    if text is None:
        return []
    pairs = text.items() if isinstance(text, dict) else (item.partition("=")[::2] for item in text.split(","))
    out = []
    for ours, theirs in pairs:
        ours, theirs = ours.strip(), theirs.strip()
        if not isinstance(text, dict) and theirs[:1] == theirs[-1:] == '"' != "":
            theirs = theirs[1:-1].strip()
        found = re.fullmatch(r"([^\[\]]+?)\s*(?:\[([^\]]*)\])?", theirs)
        if not ours or not found:
            raise UsageError(f"map: expected NAME=COLUMN or NAME=COLUMN [UNIT], got '{ours}={theirs}'")
        out.append((ours, found[1], found[2]))
    return out


def _renamed(table, map, name, system=None):
    """Columns under other names, in the system's units (or SI) where a unit is said."""
    if not map:
        return table
    for _, old, _ in map:
        if old not in table.names:
            raise DataError(f"{name} has no column '{old}'; it has {', '.join(table.names)}")
    new, taken = [], {old for _, old, _ in map}
    for old in table.names:
        values = np.asarray(table.column(old))
        for ours, theirs, unit in map:
            if theirs == old:
                own = system._unit(ours) if system is not None else None
                new.append((ours, _converted(values, unit, own, name), (own or "") if unit else ""))
        if old not in taken and old not in [m[0] for m in map]:
            new.append((old, values, ""))
    out = _core.Table.borrow([n for n, _, _ in new], [v for _, v, _ in new])
    for n, _, unit in new:
        if unit:
            out.set_unit(n, unit)
    return out


def _converted(values, unit, own, name):
    if not unit:
        return values
    try:
        factor, divisor, offset = _core.convert(unit, own)
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    return values if (factor, divisor, offset) == (1, 1, 0) else values * factor / divisor + offset


def _lines_of(system):
    """{column of the file: (name in the system, unit or None)} of the system's `data` lines."""
    text = system.data_map or ""
    return {theirs: (ours, unit) for ours, theirs, unit in _renaming(dict(re.findall(r'([^\s=,]+)\s*=\s*"([^"]*)"', text)))}


def _in_system(table, system, name):
    """The table with the names and units of the system, as the program reads it: by the system's `data` lines, and by units that
    columns have. What has the system's name and unit already is left alone."""
    lines, have, new, changed = _lines_of(system), table.units, [], False
    known = {"time", "t", *system.columns, *system.inputs}
    timed = any(ours == "time" for theirs, (ours, _) in lines.items() if theirs in table.names)
    for old in table.names:
        ours, said = lines.get(old, ("time" if old == "t" and not timed else old, None))
        unit, own, values = have.get(old) or said, system._unit(ours), table.column(old)
        if unit and unit != own and (own or said or ours in known):
            try:
                factor, divisor, offset = _core.convert(unit, own)
            except DataError as error:
                if own:
                    raise DataError(f'{name}: column "{old}" is {ours} of this system: {error}') from None
                factor, divisor, offset = 1, 1, 0  # px: nothing to convert to
            if (factor, divisor, offset) != (1, 1, 0):
                log.info("%s: %s: %s [%s] read in [%s]", name, ours, old, unit, own or "SI")
                values, unit, changed = np.asarray(values) * factor / divisor + offset, own or "", True
        if ours != old and ours in table.names:
            ours = old  # there is a column of that name
        changed |= ours != old
        new.append((ours, values, unit or ""))
    if not changed:
        return table
    out = _core.Table.borrow([n for n, _, _ in new], [np.asarray(v) for _, v, _ in new])
    for n, _, unit in new:
        if unit:
            out.set_unit(n, unit)
    return out


def of_system(source, system):
    """What `clausius.data` takes, or Data, in the names and units of a system."""
    given = source if isinstance(source, Data) else data(source)
    tables = [_in_system(t, system, n) for t, n in zip(given.tables, given.names)]
    return given if all(a is b for a, b in zip(tables, given.tables)) else Data(tables, given.names)


MISSING = ("refuse", "drop")


def _dropped(table, missing, name):
    """Rows without a number in some cell, left out or refused."""
    if missing not in MISSING:
        raise UsageError(f"missing is one of {', '.join(MISSING)}, got '{missing}'")
    columns = {n: np.asarray(table.column(n)) for n in table.names}
    bad = np.zeros(table.rows, bool)
    for x in columns.values():
        bad |= np.isnan(x)
    if not bad.any():
        return table
    if missing == "refuse":
        n = next(n for n, x in columns.items() if np.isnan(x).any())
        raise DataError(f"{name}: column '{n}', row {int(np.flatnonzero(np.isnan(columns[n]))[0]) + 1}: expected a number, got nan; missing=\"drop\" leaves such rows out")
    return _core.Table.borrow(tuple(columns), [x[~bad] for x in columns.values()])


def _read_arrays(path, kind, array, columns, dt, map, missing, system):
    found, remarks = _files.columns_of(path, kind, array)
    if columns:
        wanted = [w.strip() for w in columns.split(",")] if isinstance(columns, str) else list(columns)
        have = [n for n in found if n != "trajectory" or "(" not in (array or "")]
        if len(wanted) != len(have):
            raise DataError(f"{path}: {len(wanted)} names in columns for {len(have)} columns: {', '.join(have)}")
        found = {dict(zip(have, wanted)).get(n, n): x for n, x in found.items()}
    if dt:
        identity = found.get("trajectory")
        count = np.arange(len(next(iter(found.values()))), dtype=float)
        if identity is not None:
            first = np.concatenate([[True], np.diff(identity) != 0])
            count -= np.maximum.accumulate(np.where(first, count, 0))
        found = {"time": count * dt, **found}
    for remark in remarks:
        warnings.warn(DataWarning(f"{path}: {remark}"), stacklevel=4)
    table = _renamed(_core.Table.borrow(tuple(found), [np.ascontiguousarray(x) for x in found.values()]), _renaming(map), path, system)
    return _dropped(table, missing, path)


def read(*paths, map=None, columns=None, dt=None, array=None, missing="refuse", system=None):
    """Reads trajectories from files; wildcards are expanded. CSV as instruments write it, NPY, NPZ, HDF5 (needs h5py), MAT (needs scipy).

    `map` says which column is which, the system's name first, and in which unit it is there: "x=position [mm], time=t [ms]", or a dict.
    Units are converted to those of `system`, without one to SI. `columns` names the columns of a file without a header, `dt` is
    the spacing of rows where there is no time, `array` the array or group of a file that has several. Rows without a number in some cell are refused, or
    left out with missing="drop".
    """
    names = []
    for path in [p for given in paths for p in (given if isinstance(given, (list, tuple)) else [given])]:
        text = os.fspath(path)
        found = sorted(glob.glob(text)) if glob.has_magic(text) and not os.path.exists(text) else [text]
        if not found:
            raise FileError(f"no file matches {text}")
        names += found
    if not names:
        raise UsageError("read: which files?")
    if missing not in MISSING:
        raise UsageError(f"missing is one of {', '.join(MISSING)}, got '{missing}'")
    if isinstance(system, (str, os.PathLike)):
        from ._dynamics import system as as_system

        system = as_system(system)
    text = ", ".join(f'{k}="{v}"' for k, v in map.items()) if isinstance(map, dict) else map
    heads = columns if columns is None or isinstance(columns, str) else ", ".join(columns)
    tables = []
    for n in names:
        kind = _files.kind_of(n)
        table = (_read_arrays(n, kind, array, columns, dt, map, missing, system) if kind
                 else _core.Table.read(n, heads, text, float(dt or 0), array, missing == "drop", system))
        for remark in table.remarks:
            log.info("%s: %s", n, remark)
        if not table.rows:
            raise DataError(f"{n} has no rows: there is nothing to learn from")
        tables.append(table)
    return Data(tables, names)


def _columns(source, t, names):
    """{name: numbers} of one trajectory, whatever it is."""
    if isinstance(source, Run):
        return {n: c for n, c in zip(source.names, source.values)}
    if isinstance(source, Data):
        if len(source.tables) != 1:
            raise UsageError(f"a trajectory is one table, got Data with {len(source.tables)}: data.trajectories has them one by one")
        return {n: np.asarray(source.tables[0].column(n)) for n in source.columns}
    if hasattr(source, "to_pandas") and hasattr(source, "data_vars"):  # an xarray Dataset
        if "trajectory" in source.dims:  # (trajectory, time): what is NaN in all of them is the end of a shorter one
            return _columns(source.to_dataframe().dropna(how="all").reset_index(), t, names)
        out = {str(c): source.coords[c].values for c in source.coords if source.coords[c].ndim == 1}
        return {**out, **{str(n): v.values for n, v in source.data_vars.items()}}
    if hasattr(source, "columns") and hasattr(source, "iloc"):  # a pandas DataFrame
        out = {str(c): source[c].to_numpy() for c in source.columns}
        for level in range(source.index.nlevels):
            name = source.index.names[level]
            index = source.index.get_level_values(level)
            name = "time" if name is None and index.dtype.kind in "mM" else name
            if name in ("time", "t", "trajectory") and name not in out:
                out = {name: index.to_numpy(), **out}
        return out
    if hasattr(source, "column_names") and hasattr(source, "column"):  # a pyarrow Table
        return {n: source.column(n).to_numpy() for n in source.column_names}
    if hasattr(source, "get_column") or (hasattr(source, "columns") and hasattr(source, "to_dict") and not hasattr(source, "dtype")):
        return {c: source[c].to_numpy() for c in source.columns}  # polars
    if getattr(getattr(source, "dtype", None), "names", None):  # a structured array
        return {n: source[n] for n in source.dtype.names}
    if hasattr(source, "items"):
        return {str(k): v for k, v in source.items()}
    if hasattr(source, "shape") or isinstance(source, (list, tuple)):
        array = np.asarray(source, float)
        if names is None or array.ndim != 2 or array.shape[1] != len(names):
            raise UsageError("an array of (rows, columns) needs names=[...], one for each column"
                             + (f"; it has {array.shape[1]}" if array.ndim == 2 else f"; this one has {array.ndim} dimensions") + ", and t= where time is none of them")
        return {n: array[:, k] for k, n in enumerate(names)}
    raise UsageError(f"data cannot be made of {type(source).__name__}: give a DataFrame, a dict of columns, an xarray Dataset, a Run, an array with names=, or a list of these")


def _numbers(name, values):
    try:
        return values if isinstance(values, np.ndarray) and values.dtype == float else np.asarray(values, float)
    except (TypeError, ValueError) as error:
        raise DataError(f"column '{name}': expected numbers: {error}") from None


def _table(source, t, names):
    columns = _columns(source, t, names)
    if t is not None:
        if np.ndim(t) == 0:  # their spacing
            t = np.arange(len(next(iter(columns.values())))) * float(t)
        columns = {"time": t, **{k: v for k, v in columns.items() if k != "time"}}
    arrays = {}
    for name, values in columns.items():
        values = values if hasattr(values, "dtype") or hasattr(values, "__dlpack__") else np.asarray(values)
        if getattr(values, "ndim", 1) in (2, 3):  # the elements of an array: u[1], u[2], ...
            values = _numbers(name, values)
            for at in np.ndindex(*values.shape[1:]):
                arrays[name + "".join(f"[{i + 1}]" for i in at)] = values[(slice(None), *at)]
            continue
        if getattr(values, "ndim", 1) != 1:
            raise UsageError(f"column '{name}' has {values.ndim} dimensions; a column has one, the elements of an array two or three")
        if getattr(getattr(values, "dtype", None), "kind", "f") in "mM":
            base = values[0] if values.dtype.kind == "M" else np.timedelta64(0, "ns")
            values = (values - base) / np.timedelta64(1, "s")
        if name == "trajectory" and getattr(getattr(values, "dtype", None), "kind", "f") in "OUST":  # names of runs
            values = np.unique(np.asarray(values, str), return_inverse=True)[1]
        if isinstance(values, np.ma.MaskedArray):
            values = values.astype(float).filled(np.nan)
        arrays[str(name)] = _numbers(name, values)
    lengths = {n: len(a) for n, a in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise UsageError("columns have different lengths: " + ", ".join(f"{n} {k}" for n, k in lengths.items()))
    return _core.Table.borrow(tuple(arrays), [np.ascontiguousarray(a) for a in arrays.values()])


def data(source, t=None, names=None, map=None, name="data", system=None):
    """Trajectories in memory as the library takes them; columns of float64 that are contiguous are not copied.

    `source` is a DataFrame (pandas, polars), a pyarrow Table, a dict of columns (one of (rows, N) is the array name[1..N]), an xarray Dataset (also over trajectory and time), a Run or Runs, an array (rows, columns) with `names`, or a list of
    these: trajectories of unequal length. `t` are the times where they stand apart (a list of them for a list), or their spacing. `map` renames columns, with
    units: "x=position [mm], time=t [ms]" (converted to those of `system`, without one to SI). NaN and masked cells are numbers that were not measured: `shoot`
    leaves them out, learning says what it cannot use (`drop_missing`).

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
        return Data([_renamed(table, _renaming(map), name, system)], [name])
    shared = t is None or np.isscalar(t) or (isinstance(t, np.ndarray) and t.ndim == 1)
    times = [t] * len(source) if shared else t
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
    return Data([_renamed(table, _renaming(map), name, system)], [name])
