"""Keywords of functions, made from the library's tables of options: same names, same defaults, same texts."""
import difflib
import inspect

from . import _core
from ._errors import UsageError

TABLES = _core.options()
CHOICES = {row[0]: tuple(row[4].split(", ")) for table in TABLES.values() for row in table if row[1] == "choice"}


def rows(*tables):
    """(name, type, default, doc, words) of the options in some tables."""
    return [row for table in tables for row in TABLES[table]]


# What other packages call it, and we.
ELSEWHERE = dict(dt="h", t="at", t_eval="at", t_span="until", t_end="until", tmax="until", x0="start", y0="start", init="start", u="inputs", method="scheme", integrator="scheme",
                 solver="scheme", lr="rate", learning_rate="rate", iterations="epochs", max_iter="epochs", n_iter="epochs", random_state="seed", n_jobs="threads", batch_size="batch",
                 weight_decay="decay", degree='field="chebyshev(DEGREE)"', hidden_layer_sizes='field="network(WIDTH, WIDTH)"', feature_library='field="terms(FORMULA; FORMULA)"',
                 threshold='field="terms(FORMULA; FORMULA)"', timeout="time_limit", bootstrap="ensemble")


def no_option(name, known):
    """The sentence that refuses a name: what others call so, or the nearest, or all."""
    ours = ELSEWHERE.get(name)
    if ours:
        return f"there is no option '{name}'; here it is {ours}"
    near = difflib.get_close_matches(name, known, 1)
    return f"there is no option '{name}'" + (f"; did you mean '{near[0]}'?" if near else "; there are " + ", ".join(known))


def checked(options, *tables):
    """The options with words made numbers; a name that is none is refused with the nearest one."""
    known = {row[0]: row for row in rows(*tables)}
    out = {}
    for name, value in options.items():
        if name not in known:
            raise TypeError(no_option(name, known))
        if name in CHOICES and isinstance(value, str):
            if value not in CHOICES[name]:
                raise UsageError(f"{name} is one of {', '.join(CHOICES[name])}, got '{value}'")
            value = CHOICES[name].index(value)
        if value is not None or known[name][1] == "str":
            out[name] = value
    return out


def default(row):
    """The default of an option as a keyword has it."""
    return CHOICES[row[0]][row[2]] if row[0] in CHOICES and row[2] is not None else row[2]


def describe(*tables):
    """Decorates a function that takes **options: its signature and docstring name them all."""

    def decorate(function):
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        names = {p.name for p in own}
        more = [inspect.Parameter(row[0], inspect.Parameter.KEYWORD_ONLY, default=default(row)) for row in rows(*tables) if row[0] not in names]
        function.__signature__ = signature.replace(parameters=own + more)
        lines = [f"    {row[0]} = {default(row)!r}: {row[3]}" for row in rows(*tables)]
        function.__doc__ = inspect.cleandoc(function.__doc__) + "\n\nOptions:\n" + "\n".join(lines) + "\n"
        return function

    return decorate
