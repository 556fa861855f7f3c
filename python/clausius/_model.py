"""Learned models, and learning."""
import json
import logging
import os
import tempfile
import warnings

import numpy as np

from . import _core
from ._data import Data, _dropped, assigned, of_system
from ._dynamics import Dynamics, _system_again, exists, system as as_system
from ._errors import CheckError, DataError, Interrupted, LearnWarning, NumericError, OutsideWarning, UsageError
from ._explain import Formulas
from ._options import checked, describe
from ._progress import Learning
from ._run import Run

log = logging.getLogger("clausius")


class Coefficient(float):
    """A number that was learned, with its standard `error` (inf: the data cannot tell it, nan: not known)."""

    def __new__(cls, value, error=np.nan):
        self = super().__new__(cls, value)
        self.error = float(error)
        return self

    def __reduce__(self):
        return Coefficient, (float(self), self.error)

    def __repr__(self):
        return f"{float(self):.6g}" + (f" ± {self.error:.2g}" if self.error == self.error else "")


def _number(x):
    return np.inf if x is None or isinstance(x, str) else float(x)


def _quantile(rows, share):
    """Of sorted rows, as the program makes it."""
    place = share * (len(rows) - 1)
    k = int(place)
    return rows[k] + (place - k) * (rows[k + 1] - rows[k]) if k + 1 < len(rows) else rows[-1]


def _without(data, k, groups):
    """All but the k-th of so many shares of the trajectories, or of the rows of a single one."""
    tables, count = [], 0
    for t in data.tables:
        columns = {n: np.asarray(t.column(n)) for n in t.names}
        identity = columns.get("trajectory")
        numbers = np.unique(identity) if identity is not None else [0]
        if len(numbers) * len(data.tables) < groups:  # pieces of time
            edges = np.linspace(0, t.rows, groups + 1).astype(int)
            piece = np.arange(t.rows)
            keep = (piece < edges[k]) | (piece >= edges[k + 1])
            split = np.where(piece < edges[k], 0.0, 1.0) + 2 * (identity if identity is not None else 0)
        else:
            order = np.searchsorted(numbers, identity) if identity is not None else np.zeros(t.rows, int)
            keep, split = (order + count) % groups != k, identity
            count += len(numbers)
        if keep.any():
            columns = {n: x[keep] for n, x in columns.items()}
            if split is not None:
                columns["trajectory"] = split[keep]
            tables.append(_core.Table.borrow(tuple(columns), [np.ascontiguousarray(x) for x in columns.values()]))
    return Data(tables, data.names[:len(tables)])


def _scores(report):
    """The part of the program's summary that is about recordings."""
    lines = ["parameters with standard errors"] if report["parameters"] else []
    for p in report["parameters"]:
        lines.append(f"  {p['name']:<12} {Coefficient(p['value'], p['error'])}" + ("  (the data cannot tell it)" if p["error"] == np.inf else "") + ("  (at its bound)" if p["at_bound"] else ""))
    tested = [c for c in report["channels"] if c["run"] == c["run"]]
    if tested:
        lines.append("rows kept back, RMSE of a free run: model, last value, mean, linear AR")
        lines += [f"  {c['name']:<12} " + " ".join(f"{c[k]:11.3g}" for k in ("run", "run_persistence", "run_mean", "run_arx")) for c in tested]
    return "\n".join(lines + [f"note: {n}" for n in report["notes"].splitlines()]) + "\n"


class Model(Dynamics, _core.Dynamics):
    """A system of which parts were learned. Made by `clausius.learn`, read by `clausius.load`."""

    source = "model"
    info: dict = {}

    @property
    def theta(self):
        """All learned parameters, one array."""
        return self._theta()

    @property
    def coefficients(self):
        """{part: {term: coefficient}}; what was learned of `parameter k = unknown` stands under "parameters".

        A Coefficient is a number with a standard `error`: of parameters learned from recordings always, of the others after
        `standard_errors(data)`, else NaN. The inputs of bases are scaled to the range of the data.
        """
        out, errors = {}, self.info.get("errors")
        found = self.provenance.get("parameters", ())
        for p in found:
            out.setdefault("parameters", {})[p["name"]] = Coefficient(p["value"], _number(p.get("error")))
        terms = self.info.get("terms") or [(part, term, value) for (part, term), value in zip(self._terms(), self.theta)]
        for k, (part, term, value) in enumerate(terms):
            out.setdefault(part, {})[term] = Coefficient(value, np.nan if errors is None or len(errors) != len(terms) else errors[k])
        return out

    @property
    def functions(self):
        """{part: {input: (at, value, error)}}: each learned function along each of its inputs, the others at the middle of the data, with standard errors;
        inf where the data cannot tell it. Empty where no errors were computed (networks, bases of very many terms)."""
        out = {}
        for f in self.provenance.get("functions", ()):
            name = f["part"] + (f"[{f['slot']}]" if f["slot"] else "")
            out.setdefault(name, {})[f["input"]] = tuple(np.array([_number(x) for x in f[k]]) for k in ("at", "value", "error"))
        return out

    def standard_errors(self, data, groups=10, **options):
        """Standard errors of the coefficients by the delete-a-group jackknife: learned again `groups` times, each time without a share of the
        trajectories (of one long trajectory: without a piece of it), with the options given to `learn`. Kept in `coefficients`."""
        data = of_system(data, self)
        values = []
        for k in range(groups):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LearnWarning)
                twin = learn(self._system(), _without(data, k, groups), self.info.get("unknown"), **{**self.info.get("options", {}), **options})
            values.append([float(c) for part in twin.coefficients.values() for c in part.values()])
        if len({len(v) for v in values}) != 1:
            raise UsageError("the fits have different terms: give field= so that all have the same")
        values = np.array(values)
        self.info["errors"] = np.sqrt((groups - 1) / groups * ((values - values.mean(0)) ** 2).sum(0))[-len(self.info.get("terms") or self.theta):]
        return self.info["errors"]

    @property
    def null_space(self):
        """How many combinations of parameters the data could not tell; `null_directions` are such combinations."""
        return self.info["null_space"] if "null_space" in self.info else self.provenance.get("null_space", 0)

    def null_directions(self, data, rtol=1e-10, rows=200):
        """Directions of `theta` (k, parameters) that no step along the data feels: orthonormal, from the exact derivatives of the steps at `rows` of the
        measured states. Singular values below `rtol` of the largest are none."""
        _, _, states = self._measured(of_system(data, self))
        states = states[~np.isnan(states).any(1)]
        if not len(states):
            raise DataError(f"no row has all of {', '.join(self.variables)}")
        pick = states[np.unique(np.linspace(0, len(states) - 1, min(rows, len(states))).astype(int))]
        unit = np.eye(len(self.variables))
        felt = np.array([self.step_vjp(z, seed)[1] for z in pick for seed in unit])
        _, size, directions = np.linalg.svd(felt / np.maximum(1e-300, np.abs(felt).max()), full_matrices=True)
        return directions[int((size > rtol * size[0]).sum()):]

    @property
    def provenance(self):
        """From which data and how it was learned: what the file keeps, as a dict."""
        content = self._content()
        size = int.from_bytes(content[:8], "little")
        return json.loads(json.loads(content[8:8 + size]).get("__metadata__", {}).get("provenance", "{}"))

    def _system(self):
        return _system_again(self.text, self.source, self.set)

    def with_parameters(self, given=None, **more):
        """The same model with other values of parameters that what was learned does not depend on (or formulas of inputs)."""
        twin = _model_again(self._content(), self.info, self.source)
        twin._assign({**self.set, **(given or {}), **more})
        return twin

    def members(self, n=50):
        """{parameter: value} that the data allow as well as those learned: the members of `learn(ensemble=N)`, else n draws from their covariance."""
        learned = self._members()
        if learned is None:
            raise UsageError("no parameter of this model was learned with an error: learn `parameter k = unknown` from a recording")
        return [self._member(k) for k in range(learned or n)]

    def _banded(self, run, motion):
        """Quantiles of 5 and 95 % over the members, as `clausius simulate --bands` has them."""
        if self._members() is None:
            return super()._banded(run, motion)
        members, many = self.members(), []
        for values in members:
            try:
                twin = motion(self.with_parameters({k: v for k, v in values.items() if k not in self.set}))
            except NumericError:
                continue
            if len(twin) == len(run):
                many.append(twin.values)
        if 2 * len(many) < len(members):
            raise NumericError(f"only {len(many)} of {len(members)} members of the ensemble can be simulated: the parameters are too unsure for bands")
        many = np.sort(np.array(many), axis=0)
        names, columns = list(run.names), list(run.values)
        for k, name in enumerate(run.names):
            if k and (many[:, k] != run.values[k]).any():
                names += [f"{name}.low", f"{name}.high"]
                columns += [_quantile(many[:, k], 0.05), _quantile(many[:, k], 0.95)]
        return Run(names, np.array(columns), self, run.info, run.notes)

    def formulas(self, data=None, *, terms=0, tolerance=0.0, seed=1):
        """Short formulas for what was learned, with the price of each term; prints as `clausius show --formulas`.

        With `data` the constants are fitted to the motions again, with standard errors. `terms` is how many a part may have (0: as many as pay); a shorter
        formula is taken when its error is below `tolerance` (0: 1e-3). `formulas().system()` is the system with the formulas in it, `save` writes its file.
        """
        data = Data((), ()) if data is None else of_system(data, self)
        if int(terms) != terms or terms < 0 or not tolerance >= 0:
            raise UsageError(f"terms is a whole number and tolerance a number, neither below zero; got {terms} and {tolerance}")
        return Formulas(*self._formulas(data.tables, data.names, int(terms), tolerance, seed))

    def save(self, path):
        """A .safetensors file, the same to the byte as the program writes."""
        self._write(os.fspath(path))

    @staticmethod
    def load(path, set=None):
        """`clausius.load`."""
        return load(path, set)

    def extract(self, component, path):
        """A learned component alone in a file, for `use "FILE" as NAME`."""
        self._extract(component, os.fspath(path))

    def _content(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.safetensors")
            self._write(path)
            with open(path, "rb") as file:
                return file.read()

    def __reduce__(self):
        return _model_again, (self._content(), self.info, self.source)

    def _warn_outside(self, run):
        found = self._outside(np.ascontiguousarray(run.states)) if len(run) else None
        if found:
            rows, first, part, name, value, low, high = found
            warnings.warn(OutsideWarning(f"from time {run['time'][first]:g} on the motion leaves the range that '{part}' was learned in: {name} = {value:.8g}, "
                                         f"seen from {low:.6g} to {high:.6g}; {rows} rows are outside"), stacklevel=3)

    def __repr__(self):
        i = self.info
        return f"<Model of {self.name}: {len(self.theta)} parameters" + (f", loss {i['loss']:.3g} by {i['optimizer']}" if i else "") + ">"

    def __str__(self):
        told = self.info.get("report")
        return self._model_text() + (_scores(told) if told else "")


def _model_again(content, info, source):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.safetensors")
        with open(path, "wb") as file:
            file.write(content)
        out = Model._read(path)
    out.info, out.source = info, source
    return out


def load(path, set=None):
    """Reads a model file, which `clausius learn` and `Model.save` write; `set` as in `clausius.system`."""
    exists(path)
    out = Model._read(os.fspath(path))
    out.info, out.source = {}, os.fspath(path)
    if set:
        out._assign(set)
    return out


def _words(names):
    if names is None:
        return ()
    if hasattr(names, "items"):
        raise UsageError("unknown names the parts; field= is the form of all of them, and a system's text says one for each: `part F1 = unknown chebyshev(2)`")
    return tuple(w.strip() for w in names.split(",")) if isinstance(names, str) else tuple(names)


def _made_otherwise(system, data, learned):
    """Parameters that the data were made with by their note `set`, where the system has other values and they were not learned."""
    out = {}
    for table in data.tables:
        if os.path.basename(table.notes.get("system", "")) == os.path.basename(system.source or ""):
            for name, value in assigned(table.notes.get("set", "")).items():
                if name in system.parameters and name not in learned and isinstance(value, float) and value != system.parameters[name]:
                    out[name] = value
    return out


@describe("learn", "identify")
def learn(system, data, unknown=None, *, test=-1.0, horizon=(), missing="refuse", require_better=False, start_from=None, progress=None, **options):
    """Learns parts of a system from trajectories; the model keeps the laws whatever was learned.

    `system` is a System, its name, path or text. `data` is what `clausius.data` takes, or what `clausius.read` gives. `unknown` names
    the parts (system.parts lists them); without it, those that the system's file calls unknown. Iterations begin at the parameters of
    `start_from`, a Model. Of recordings a share `test` of the rows is kept back (by default 0.2 where there are 200 rows), or `test` are other data;
    `model.info["report"]` has standard errors and scores, also `horizon` (times) ahead; require_better raises CheckError when a
    trivial model predicts as well. Rows with NaN are refused, or left out by missing="drop". Ctrl-C ends learning with the best so far; so does a true answer of `progress`, a function of a dict.

    >>> import clausius as cl
    >>> piston = cl.system("adiabatic-piston")
    >>> truth = piston.simulate(until=20, h=0.05, scheme="bdf")
    >>> model = cl.learn(piston, truth, unknown="F1", validate=0)
    >>> bool(model.audit(steps=100))
    True
    """
    if not isinstance(system, _core.Dynamics):
        system = as_system(system)
    data = of_system(data, system)
    kept = None if np.isscalar(test) else of_system(test, system)
    if kept is not None and len(kept.tables) != 1:
        raise UsageError("test is one table, or a share of the rows")
    if kept is None and not (test == -1 or 0 <= test <= 0.9):
        raise UsageError(f"test is a share of the rows from 0 to 0.9, or data, got {test}")
    horizon = tuple(float(x) for x in np.atleast_1d(horizon))
    if any(not x > 0 for x in horizon):
        raise UsageError("horizon: times are positive")
    data = Data([_dropped(t, missing, n) for t, n in zip(data.tables, data.names)], data.names)
    parts = _words(unknown)
    if len(set(parts)) != len(parts):
        raise UsageError(f"unknown: a name is given twice in {', '.join(parts)}")
    given = dict(options)
    options = checked(options, "learn", "identify")
    if kept is None:
        options["test"] = float(test)
    else:
        data = Data(data.tables + kept.tables, data.names + kept.names)
    if options.get("optimizer") != "qp":
        for name in ("dictionary", "symmetry", "rates", "sparse"):
            if options.get(name):
                raise UsageError(f"{name} belongs to optimizer='qp'")
    watch = Learning(progress)
    try:
        model, info, stopped = Model._learn(system, data.tables, data.names, parts, options, start_from, watch, (horizon, 0 if kept is None else 1))
    finally:
        watch.close()
    if model is None:
        raise Interrupted("interrupted before there was a model")
    info.update(unknown=parts, options=given)
    model.info, model.source = info, system.source
    if stopped == 1:
        warnings.warn(LearnWarning("interrupted: the model is the best so far"), stacklevel=2)
    if info["runs_stopped"]:
        warnings.warn(LearnWarning(f"bad: {info['runs_stopped']} of {info['runs']} free runs stop before the motion ends, the first after {info['runs_after']:.3g}: {info['runs_why']}"), stacklevel=2)
    elif info["rollout"] == float("inf"):
        warnings.warn(LearnWarning("the model cannot be simulated along the validation data; more data, another field, or anchors may help"), stacklevel=2)
    elif info["rollout_fine"] >= info["rollout_still"]:
        warnings.warn(LearnWarning(f"bad: simulated along the validation data the model is off by {info['rollout_fine']:.3g}, a motion that stays where it begins by {info['rollout_still']:.3g}"), stacklevel=2)
    if info["isothermal"]:
        warnings.warn(LearnWarning("no temperature changes along the data: they cannot tell the heat capacity at rest; a large one was taken"), stacklevel=2)
    other = _made_otherwise(system, data, [*parts, *(p["name"] for p in (info["report"] or {}).get("parameters", []))])
    if other:
        warnings.warn(LearnWarning(f"the data were made with {', '.join(f'{k}={v:.10g}' for k, v in other.items())}, the system has other values: learn clausius.system(NAME, values)"), stacklevel=2)
    if require_better and (info["runs_stopped"] or (info["report"] or {}).get("better") is False):
        raise CheckError("rows kept back are not predicted better than trivially; model.info['report'] has the scores")
    log.info("%s learned of %s: %d parameters by %s, loss %.3g, null space %d, %.2f s", ", ".join(parts) or "the unknown parts", system.name, info["parameters"],
             info["optimizer"], info["loss"], info["null_space"], info["seconds"])
    return model
