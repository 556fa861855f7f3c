"""Systems and learned models: what both can do."""
import html
import json
import os
import warnings

import numpy as np

from . import _core
from ._audit import Audit
from ._data import Data, assigned, of_system
from ._errors import DataError, FileError, UsageError
from ._explain import Invariants
from ._options import checked, describe
from ._progress import Walking
from ._run import Run, Runs, compared

SUMMARY, EQUATIONS, PARTS, LATEX, SOURCE = 1, 2, 4, 8, 16
SCHEMES = {row[0]: dict(zip(("doc", "order", "implicit", "keeps", "source", "adaptive"), row[1:])) for row in _core.schemes()}


class Facts:
    """Attributes that come from the C object, read once."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        facts = self.__dict__.get("facts")
        if facts is None:
            facts = self.__dict__["facts"] = self._facts()
        try:
            return facts[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no attribute '{name}'") from None


class Shot(tuple):
    """loss, grad = shot: the mean square error and its gradient in theta; besides, shot.grad_starts, the gradient in shot.starts."""

    def __new__(cls, loss, grad, grad_starts, starts):
        self = super().__new__(cls, (loss, grad))
        self.grad_starts, self.starts = grad_starts, starts
        return self

    def __getnewargs__(self):
        return (*self, self.grad_starts, self.starts)

    loss = property(lambda self: self[0], doc="The mean square error.")
    grad = property(lambda self: self[1], doc="Its gradient in theta.")

    def __repr__(self):
        return f"Shot(loss={self.loss!r}, grad={self.grad!r})"


class Dynamics(Facts):
    """What System and Model share.

    Attributes: name, title, text, formalism, states (names), variables (the states without
    accounts such as work: what `rates`, `step` and `shoot` are about), columns (of a run), inputs, parameters, set, step_size, until, coordinates, momenta,
    entropies, has_entropy, scheme (the default).
    """

    # ---- motions ----

    def start(self, given=None, **more):
        """A complete start as an array: any of q, v.q or p.q, S or T by name; what is not given comes from the system's file."""
        return self._start({**(given or {}), **more})

    def _begin(self, start, row=None):
        """Time and state of whatever a start can be."""
        if isinstance(start, str):
            raise UsageError(f"a start is a dict, as {{\"{self.states[0]}\": 1.0}}, not the text '{start}'")
        if start is None or hasattr(start, "items"):  # a dict; a row of a DataFrame, whose time is that of the start
            given = {str(k): float(v) for k, v in start.items()} if start is not None else {}
            return given.pop("time", 0.0), self._start(given)
        if isinstance(start, (Run, Data)):
            table, name = (start.table(), "the run") if isinstance(start, Run) else (start.tables[0], start.names[0])
            if row is None:
                row = -1 if "scheme" in table.notes else 0
            if not -1 <= row < table.rows:
                raise UsageError(f"row {row}: {name} has rows 0 to {table.rows - 1}")
            return self._start_row(table, row, name)
        state = np.ascontiguousarray(start, float)
        if state.shape != (len(self.states),):
            raise UsageError(f"a start is a dict, a run, or the {len(self.states)} numbers {', '.join(self.states)}; got shape {state.shape}")
        return 0.0, state

    def _settings(self, options, h):
        if h is not None and not h > 0:
            raise UsageError(f"h is a step and above zero, got {h}")
        options = checked({**options, "h": h}, "simulate")
        scheme = options.get("scheme")
        if scheme is None:
            options["scheme"] = scheme = self.scheme
        self._applies(scheme)
        if not options.get("h"):
            options["h"] = self.step_size
        if scheme == "bdf" and "tolerance" in options:
            options["reference_tolerance"] = options.pop("tolerance")
        return options

    def _steps(self, time, h, steps, until):
        if steps is not None and until is not None:
            raise UsageError("steps and until both say how long; give one")
        if steps is not None:
            if int(steps) != steps or steps < 0:
                raise UsageError(f"steps is a whole number and not negative, got {steps}")
            return int(steps)
        until = time + self.until if until is None else float(until)
        exact = (until - time) / h
        if not exact >= 0:
            raise UsageError(f"until {until:g} is before the start at time {time:g}")
        n = round(exact)
        if abs(exact - n) > 1e-9 * max(1, n):
            warnings.warn(f"time {until:g} is not a whole number of steps of {h:g}: {n} steps, the last time is {time + n * h!r}", stacklevel=4)
        return n

    def _notes(self, options):
        notes = {"system": self.source}
        if self.set:
            notes["set"] = ", ".join(f"{k}={v if isinstance(v, str) else _shortest(v)}" for k, v in self.set.items())
        return {**notes, "scheme": options["scheme"], "h": _shortest(options["h"]), "version": _core.version}

    @describe("simulate")
    def simulate(self, start=None, until=None, *, steps=None, every=1, h=None, at=None, starts=None, threads=0, inputs=None, hold=None, bands=False, row=None, progress=None, **options):
        """Simulates one motion (a Run) or, with `starts`, many (Runs).

        `start` is a dict of any of q, v.q or p.q, S or T by name (the rest comes from the system's file), the numbers of a state, or a
        Run, whose last row it then is, or Data (measurements: the first row; `row` counts from 0, -1 is the last). `starts` is an array (members, state variables), a list of dicts or a dict of arrays; members
        are shared out to `threads` (0: all cores), the result does not depend on how many. A row is kept every `every` steps, and the
        last one; `at` are times of rows instead, reached in whole steps of at most h. `inputs` are {"u": (times, values)} of a driven
        system, held "zero" (the last value) or "linear" between. `bands` adds columns NAME.low and NAME.high to a learned model's motion, between which 90 % of
        the motions lie that its parameters' errors allow. `progress` is True, False or a function of (done, total) whose true answer stops; by default a bar on terminals.

        >>> import clausius as cl
        >>> run = cl.system("pendulum").simulate(start={"q": 1.0}, until=5, h=0.01)
        >>> float(abs(run.energy - run.energy[0]).max()) < 1e-14
        True
        """
        options = self._settings(options, h)
        if int(every) != every or every < 1:
            raise UsageError(f"every is a whole number from 1 on, got {every}")
        if starts is not None:
            if start is not None:
                raise UsageError("start is one start and starts are many; give one")
            if inputs:
                raise UsageError("inputs are for one motion; loop over the starts")
            return self._many(starts, until, steps, every, threads, progress, options)
        samples = self._samples(inputs, hold or ("auto" if self.is_model else "zero"))
        run = self._motion(start, row, until, steps, every, at, samples, progress, options)
        if bands:
            run = self._banded(run, lambda twin: twin._motion(start, row, until, steps, every, at, samples, False, options))
        self._warn_outside(run)
        return run

    def _motion(self, start, row, until, steps, every, at, samples, progress, options):
        time, state = self._begin(start, row)
        if at is not None:
            if steps is not None or until is not None:
                raise UsageError("at says when rows are; leave out steps and until")
            at = np.ascontiguousarray(at, float)
            if at.ndim != 1 or not len(at) or not (np.diff(at) > 0).all():
                raise UsageError("at are rising times")
            if not isinstance(start, (Run, Data)):
                time = float(at[0])
        n = len(at) if at is not None else self._steps(time, options["h"], steps, until)
        rows = n if at is not None else n // every + (n % every != 0) + 1
        values = np.empty((len(self.columns), rows))
        watch = Walking(progress)
        try:
            info, made, stopped = self._simulate(state, time, n, every, values, options, watch, samples, at)
        finally:
            watch.close()
        if made < rows:
            values = values[:, :made].copy()
            if stopped == 1:
                warnings.warn(f"interrupted: {made} of {rows} rows were made", stacklevel=3)
        return Run(self.columns, values, self, info, self._notes(options))

    def _banded(self, run, motion):
        raise UsageError("bands need a model whose parameters were learned with errors: learn `parameter k = unknown` from a recording")

    def _samples(self, inputs, hold):
        """Inputs on one grid of times, in the system's order."""
        if not inputs:
            return None
        for name, given in inputs.items():
            if name not in self.inputs:
                raise UsageError(f"there is no input '{name}'; there are {', '.join(self.inputs) or 'none'}")
            if not isinstance(given, (tuple, list)) or len(given) != 2:
                raise UsageError(f"inputs['{name}'] is a pair (times, values), got {type(given).__name__}; a formula of t belongs to the system: clausius.system(..., set={{'{name}': '0.3*sin(t)'}})")
        times = [np.asarray(t, float) for t, _ in inputs.values()]
        if any(len(t) != len(times[0]) or (t != times[0]).any() for t in times):
            raise UsageError("all inputs are sampled at the same times")
        values = np.full((len(self.inputs), len(times[0])), np.nan)
        for name, (_, value) in inputs.items():
            values[self.inputs.index(name)] = value
        return times[0], values, hold

    def _starts(self, starts):
        if hasattr(starts, "items"):  # a dict of arrays, a DataFrame
            n = max(np.size(v) for _, v in starts.items())
            columns = {k: np.broadcast_to(np.asarray(v, float), (n,)) for k, v in starts.items()}
            starts = [{k: float(v[i]) for k, v in columns.items()} for i in range(n)]
        if isinstance(starts, Run):
            return starts.states
        if isinstance(starts, (list, tuple)) and starts and hasattr(starts[0], "items"):
            return np.stack([self._start(s) for s in starts])
        starts = np.ascontiguousarray(starts, float)
        if starts.ndim != 2 or starts.shape[1] != len(self.states):
            raise UsageError(f"starts are (members, {len(self.states)}): {', '.join(self.states)}; got shape {starts.shape}")
        return starts

    def _many(self, starts, until, steps, every, threads, progress, options):
        states = self._starts(starts)
        n = self._steps(0.0, options["h"], steps, until)
        if n % every:
            raise UsageError(f"{n} steps are no multiple of every={every}")
        values = np.empty((len(states), n // every + 1, len(self.columns)))
        watch = Walking(progress, "motions")
        try:
            self._ensemble(states, n, every, threads, values, options, watch)
        finally:
            watch.close()
        return Runs(self.columns, values, self, self._notes(options))

    def _warn_outside(self, run):
        """Models only: where a motion leaves the range of the data."""

    # ---- derivatives ----

    def step(self, states, h=None, t=0.0, theta=None, scheme=None):
        """One step of h from each of the states (..., variables), with other parameters `theta` if given.

        The same bits as a first step of `simulate`; `step_vjp` is its exact derivative.
        """
        return self._step(states, h or self.step_size, t, theta, scheme, None)

    def step_vjp(self, states, seeds, h=None, t=0.0, theta=None, scheme=None):
        """What a change of the states and of theta does to seeds . step: (states_bar, theta_bar), by the implicit function theorem.

        >>> import clausius as cl, numpy as np
        >>> s = cl.system("pendulum")
        >>> z, a, d = np.array([1.0, 0.5]), np.array([1.0, 0.0]), np.array([0.0, 1e-6])
        >>> bar, _ = s.step_vjp(z, a, h=0.1)
        >>> bool(abs(bar[1] - (a @ s.step(z + d, 0.1) - a @ s.step(z - d, 0.1)) / 2e-6) < 1e-8)
        True
        """
        return self._step(states, h or self.step_size, t, theta, scheme, seeds)

    def shoot(self, data, theta=None, starts=None, *, substeps=1, scheme=None, scale=None):
        """Simulates along measured trajectories: the mean square error and its gradients, exact by the discrete adjoint.

        Returns a Shot: `loss, grad = model.shoot(data)`, with grad_starts and starts besides. Errors count in units of `scale`, by default the standard deviation of
        each variable in the data. `starts` (trajectories, variables) are the first rows unless given; numbers that are NaN, and variables
        that are no column, were not measured.
        """
        lengths, time, states = self._measured(data)
        if starts is None:
            first = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(int)
            starts = states[first]
            if np.isnan(starts).any():
                raise UsageError(f"a variable of {', '.join(self.variables)} is not in the first rows: give starts=")
        starts = np.ascontiguousarray(starts, float)
        if scale is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # columns that are not there
                scale = np.nanstd(states, axis=0)
            scale = np.where(scale > 0, scale, 1.0)
        loss, grad, grad_starts = self._shoot(lengths, time, states, np.ascontiguousarray(scale, float), starts, substeps, theta, scheme)
        return Shot(loss, grad, grad_starts, starts)

    def _measured(self, data):
        """Lengths, times and states (NaN: not measured) of all trajectories."""
        data = of_system(data, self)
        lengths, times, states = [], [], []
        for table in data.tables:
            if not any(n in table.names for n in self.variables):
                raise DataError(f"none of {', '.join(self.variables)} is a column; there are {', '.join(table.names)}")
            t = np.asarray(table.column("time"))
            z = np.stack([np.asarray(table.column(n)) if n in table.names else np.full(len(t), np.nan) for n in self.variables], axis=1)
            if "trajectory" in table.names:
                identity = np.asarray(table.column("trajectory"))
                order = np.argsort(identity, kind="stable")
                t, z, identity = t[order], z[order], identity[order]
                lengths += np.diff(np.concatenate([[0], np.flatnonzero(np.diff(identity)) + 1, [len(t)]])).tolist()
            else:
                lengths.append(len(t))
            times.append(t)
            states.append(z)
        return lengths, np.concatenate(times), np.ascontiguousarray(np.concatenate(states))

    # ---- beside measurements ----

    def follow(self, data):
        """Simulated beside measurements: from the first row of each trajectory, at its times, with its inputs; Data with the columns of a run.

        >>> import clausius as cl
        >>> s = cl.system("pendulum")
        >>> s.follow(s.simulate(steps=10)).columns[:2]
        ('time', 'q')
        """
        data = of_system(data, self)
        tables = []
        for table, name in zip(data.tables, data.names):
            if "time" not in table.names or not table.rows:
                raise DataError(f"{name} has no {'rows' if 'time' in table.names else 'column `time`'}")
            columns = {n: np.asarray(table.column(n)) for n in table.names}
            identity = columns.pop("trajectory", None)
            cuts = [np.arange(table.rows)] if identity is None else [np.flatnonzero(identity == k) for k in dict.fromkeys(identity.tolist())]
            values = self._beside([{n: np.ascontiguousarray(x[rows]) for n, x in columns.items()} for rows in cuts], name)
            names, parts = self.columns, list(values)
            if identity is not None:
                names, parts = ("trajectory", *names), [np.concatenate([identity[rows] for rows in cuts]), *parts]
            tables.append(_core.Table.borrow(names, parts))
            tables[-1].set_note("scheme", self.scheme)
        return Data(tables, data.names)

    def _beside(self, trajectories, name):
        """Rows (columns, all rows) of simulations from the first row of each trajectory, at its times."""
        kinds, begin, out = {}, 0, np.empty((len(self.columns), sum(len(c["time"]) for c in trajectories)))
        for columns in trajectories:
            table = _core.Table.borrow(tuple(columns), list(columns.values()))
            _, state = self._start_row(table, 0, name)
            if not (np.diff(columns["time"]) > 0).all():
                raise DataError(f"{name}: times rise within a trajectory; data.check() tells more")
            spacing = (table.inspect()[0] or {}).get("spacing", {}).get("median", 0.0)
            h = self.step_size if not spacing or abs(spacing - self.step_size) <= 1e-9 * self.step_size else spacing
            kinds.setdefault(h, []).append((columns, state, begin))
            begin += len(columns["time"])
        for h, members in kinds.items():  # one simulator each
            lengths, times = tuple(len(c["time"]) for c, _, _ in members), np.concatenate([c["time"] for c, _, _ in members])
            given = None
            if any(n in members[0][0] for n in self.inputs):
                given = np.stack([np.concatenate([c.get(n, np.full(len(c["time"]), np.nan)) for c, _, _ in members]) for n in self.inputs])
            values = np.empty((len(self.columns), len(times)))
            self._follow(np.stack([s for _, s, _ in members]), lengths, times, given, values, {"scheme": self.scheme, "h": h})
            at = 0
            for (_, _, first), n in zip(members, lengths):
                out[:, first:first + n] = values[:, at:at + n]
                at += n
        return out

    def compare(self, data, columns=()):
        """How far a simulation beside the data is from them: {column: {"mae", "max", "rmse", "time_of_max"}}, as `clausius compare`."""
        data = of_system(data, self)
        if len(data.tables) != 1:
            raise UsageError("compare takes one table; compare(data[0]), compare(data[1]), ...")
        return compared(self.follow(data).tables[0], data.tables[0], columns)

    def score(self, data):
        """1 - (mean square error of simulations beside the data) / (variance of the data), averaged over the measured variables: 1 is perfect."""
        data = of_system(data, self)
        beside, parts = self.follow(data), []
        for mine, theirs in zip(beside.tables, data.tables):
            order = np.argsort(np.asarray(theirs.column("trajectory")), kind="stable") if "trajectory" in theirs.names else slice(None)
            names = [n for n in theirs.names if n in self.variables] or [n for n in theirs.names if n in self.columns and n not in ("time", *self.inputs)]
            if not names:
                raise DataError(f"none of {', '.join(self.variables)} is a column; there are {', '.join(theirs.names)}")
            back = np.argsort(np.asarray(mine.column("trajectory")), kind="stable") if "trajectory" in mine.names else slice(None)
            for n in names:
                x = np.asarray(theirs.column(n))[order]
                parts.append((np.nanmean((np.asarray(mine.column(n))[back] - x) ** 2), np.nanvar(x)))
        error, spread = np.array(parts).T
        return float(1 - np.mean(error / np.where(spread > 0, spread, 1.0)))

    # ---- laws ----

    @describe("audit")
    def audit(self, start=None, *, against=None, h=None, steps=1000, scheme=None, **options):
        """Simulates a motion at h, h/2, h/4, ... and lets the judge recompute all laws and the order of the scheme. `against` are data or a run that
        are judged instead, as they are.

        >>> import clausius as cl
        >>> bool(cl.system("pendulum").audit(steps=100))
        True
        """
        limits = checked(options, "audit")
        if against is not None:
            if start is not None or h is not None or scheme is not None:
                raise UsageError("start, h and scheme are for audits that simulate; here the data are judged as they are")
            data = of_system(against, self)
            if len(data.tables) != 1:
                raise UsageError("audit takes one table: audit(against=data[0]), ...")
            return Audit(*self._audit(data.tables[0], limits, None), self.name)
        settings = self._settings({"scheme": scheme}, h)
        time, state = self._begin(start)
        info = SCHEMES[settings["scheme"]]
        limits.setdefault("order_expected", float(info["order"]))
        tables = []

        def motion(factor):
            run = np.empty((len(self.columns), steps + 1))
            self._simulate(state, time, factor * steps, factor, run, {**settings, "h": settings["h"] / factor}, None, None, None)
            return _core.Table.borrow(self.columns, list(run))

        tables = [motion(1)]
        if info["order"] <= 0 or info["adaptive"]:
            return Audit(*self._audit(tables[0], limits, None), self.name)
        tables.append(motion(2))
        for k in range(8):  # the order is what is seen when h is small
            tables.append(motion(4 << k))
            verdict = Audit(*self._audit(tables[0], limits, tuple(tables[k:k + 3])), self.name)
            if verdict.laws[-1].passed:
                break
        return verdict

    def invariants(self, states=None, *, seed=1, scheme=None, h=0.0):
        """Laws that nobody declared, found numerically: invariants, symmetries, Casimir functions, gauge directions; prints as `clausius show --invariants`.

        They are looked for at `states` (rows, state variables), by default around the default motion (inside the range of the data for a model).
        With `scheme` the laws are those of one of its steps, of length `h` (0: the system's): the discrete Noether theorem.

        >>> import clausius as cl
        >>> [law.formula for law in cl.system("two-body").invariants() if law.kind == "linear"]
        ['p.x1 + p.x2', 'p.y1 + p.y2']
        >>> [law.formula for law in cl.system("two-pistons").invariants(scheme="dtel", h=0.1) if law.kind == "linear"]
        ['0.1*x - 0.1*y + p.x - p.y']
        """
        if states is not None:
            states = np.ascontiguousarray(states, float)
            if states.ndim != 2 or states.shape[1] != len(self.states):
                raise UsageError(f"states are (rows, {len(self.states)}): {', '.join(self.states)}; got shape {states.shape}")
        return Invariants(*self._invariants(states, seed, scheme, h))

    # ---- leaving ----

    def _leave(self, target, path, scheme, h, prefix, parameters, start, fmi=0, platforms=None):
        join = lambda names: names if names is None or isinstance(names, str) else ", ".join(names) or "none"
        found = self._export(target, os.fspath(path), scheme, h or 0.0, prefix, self.source, join(parameters), fmi, join(platforms),
                             None if start is None else self._begin(start)[1])
        return dict(zip(("prefix", "scheme", "files", "bytes", "binaries"), found))

    def export_c(self, path, *, scheme=None, h=None, prefix=None, parameters=None, start=None):
        """The step of a scheme as plain C in a folder, the same bits as here; {"prefix", "scheme", "files", "bytes"}.
        parameters: names of those that can be set there ("none" for none, by default all that may change); start: the default one."""
        return self._leave("c", path, scheme, h, prefix, parameters, start)

    def export_js(self, path, *, scheme=None, h=None, parameters=None, start=None):
        """The same as one JavaScript module (.mjs)."""
        return self._leave("js", path, scheme, h, None, parameters, start)

    def export_fmu(self, path, *, fmi=2, scheme=None, h=None, prefix=None, parameters=None, platforms=None, start=None):
        """An FMU (FMI 2.0 or 3.0), model exchange and co-simulation in one file, with sources and binaries:
        for this machine by cc, and for `platforms` ("x86_64-windows", ..., or "all") where a compiler is found."""
        if fmi not in (2, 3):
            raise ValueError(f"fmi is 2 or 3, not {fmi!r}")
        return self._leave("fmu", path, scheme, h, prefix, parameters, start, fmi, platforms)

    def report(self, path=None, data=None, *, title=None, start=None, beside=()):
        """One self-contained HTML page: laws, pictures, and, with data, how well it follows them; `beside` are other systems and models to be shown
        with it. Without a path the numbers of the page are returned, as a dict."""
        data = Data((), ()) if data is None else of_system(data, self)
        subjects = tuple((d.source or d.name, d, None if start is None else d._begin(start)[1]) for d in (self, *beside))
        told = _core.report(subjects, None if path is None else os.fspath(path), data.tables, data.names, title)
        return json.loads(told) if told else None

    # ---- text ----

    def show(self, equations=False, parts=False, latex=False, source=False):
        """The system as text: what it has, its laws, its equations of motion."""
        what = EQUATIONS * equations + PARTS * parts + LATEX * latex + SOURCE * source
        return self._show(what or SUMMARY)

    def latex(self):
        """The equations of motion as LaTeX."""
        return self._show(LATEX)

    @property
    def equations(self):
        """The equations of motion as text."""
        return self._show(EQUATIONS)

    @property
    def parts(self):
        """Names that `unknown` can take."""
        return [line.split()[0] for line in self._show(PARTS).splitlines() if line.strip()]

    def __str__(self):
        return self._show(SUMMARY | EQUATIONS)

    def _repr_html_(self):
        try:
            lines = [line for line in self.latex().splitlines() if line.strip()]
        except Exception:  # a system without formulas still has a summary
            lines = []
        body = "".join(f"<div>$${html.escape(line)}$$</div>" for line in lines)
        return f"<h4>{html.escape(self.title or self.name)}</h4>{body}<pre>{html.escape(self._show(SUMMARY))}</pre>"


def _shortest(value):
    """As the program writes a number: the shortest that reads back, in the style of %g."""
    for digits in range(1, 18):
        text = f"{value:.{digits}g}"
        if float(text) == value:
            return text
    return repr(value)


class System(Dynamics, _core.Dynamics):
    """A physical system, from its text: see docs/language.md. Made by `clausius.system`."""

    source = ""

    def __repr__(self):
        return f"<System {self.name}: {self.formalism}, state {', '.join(self.states)}>"

    def __reduce__(self):
        return _system_again, (self.text, self.source, self.set)

    @describe("learn", "identify")
    def learn(self, data, unknown=None, **options):
        """`clausius.learn` with this system."""
        from ._model import learn

        return learn(self, data, unknown, **options)


def _system_again(text, source, set):
    out = System._parse(text, source, set)
    out.source = source
    return out


def exists(path):
    """A file that is not there is an OSError, as everywhere in Python."""
    if not os.path.exists(path):
        raise FileError(f"{path}: cannot open: No such file or directory")


def system(source, set=None):
    """A system: a built-in name (see `clausius.systems`), the path of a .clausius file, or the text itself.

    `set` gives parameters other values than the file does; inputs take a formula of t: {"m": 2, "u": "0.3*sin(t)"}.

    >>> import clausius as cl
    >>> cl.system("adiabatic-piston", set={"m": 2})
    <System adiabatic-piston: thermal lagrangian, state x, v.x, T1, T2>
    """
    source = os.fspath(source)
    if isinstance(set, str):  # "m=2, k=1", as on the command line
        set = assigned(set)
    if "\n" in source:
        out = System._parse(source, "text", set)
        out.source = "text"
        return out
    if source.endswith(".safetensors"):
        raise UsageError(f"{source} is a model: clausius.load reads it")
    if source.endswith(".clausius"):
        exists(source)
    out = System._load(source, set)
    out.source = source
    if out._facts()["is_model"]:
        from ._model import Model

        out.__class__ = Model
        out.info = {}
    return out


def systems():
    """{name: title} of the built-in systems."""
    return dict(_core.builtins())


def schemes():
    """{name: what it is} of the schemes: doc, order, implicit, keeps, source, adaptive."""
    return {name: dict(info) for name, info in SCHEMES.items()}
