"""Writes __init__.pyi from the tables of options and the signatures: python -m clausius._stubs > python/clausius/__init__.pyi"""
import inspect

import clausius
from clausius import _core

ARRAY = "NDArray[np.float64]"
# What functions and properties give, where it is one thing; the others are Any.
RETURNS = {"system": "System", "systems": "dict[str, str]", "schemes": "dict[str, dict[str, Any]]", "learn": "Model", "load": "Model", "data": "Data", "read": "Data",
           "check": "Check", "audit": "Audit", "rates": ARRAY, "jacobian": ARRAY, "energy": ARRAY, "entropy": ARRAY, "step": ARRAY, "step_vjp": f"tuple[{ARRAY}, {ARRAY}]", "theta": ARRAY,
           "predict": ARRAY, "start": ARRAY, "standard_errors": ARRAY, "follow": "Data", "compare": "dict[str, dict[str, float]]", "score": "float", "fit": "Learner", "set_params": "Learner",
           "get_params": "dict[str, Any]", "equations": "str", "latex": "str", "show": "str", "parts": "list[str]", "save": "None", "print": "None", "invariants": "Invariants",
           "formulas": "Formulas", "coefficients": "dict[str, dict[str, Coefficient]]", "null_space": "int", "trajectories": "list[Data]", "units": "dict[str, str]", "notes": "dict[str, str]",
           "Run.t": ARRAY, "Runs.t": ARRAY, "Run.states": ARRAY, "Run.__getitem__": ARRAY, "Run.keys": "tuple[str, ...]", "Run.__iter__": "Iterator[str]", "Data.columns": "tuple[str, ...]",
           "Check.rows": "int", "Learner.equations": "str", "__len__": "int", "__bool__": "bool", "__init__": "None"}
NAMES = "tuple[str, ...]"
DYNAMICS = {"name": "str", "title": "str", "text": "str", "formalism": "str", "states": NAMES, "variables": NAMES, "columns": NAMES, "inputs": NAMES, "step_size": "float",
            "until": "float", "coordinates": "int", "entropies": "int", "scheme": "str"}
MOTIONS = {"names": NAMES, "values": ARRAY, "energy": ARRAY, "entropy": ARRAY, "time": ARRAY, "notes": "dict[str, str]"}
# What is set on objects, or read from the library when asked for.
ATTRIBUTES = {"System": DYNAMICS, "Model": {**DYNAMICS, "info": "dict[str, Any]"}, "Run": {**MOTIONS, "info": "dict[str, Any]"}, "Runs": MOTIONS,
              "Learner": {"model_": "Model", "info_": "dict[str, Any]"}, "Data": {"names": NAMES}, "Coefficient": {"error": "float"},
              "Error": {"status": "int", "line": "int", "column": "int"}, "Audit": {"laws": "list[Law]"}}

OBJECTS = [getattr(clausius, name) for name in clausius.__all__]


def _parameters(signature):
    kinds = {row[0]: "str" if row[1] == "choice" else row[1] for table in _core.options().values() for row in table}
    out, star = [], False
    for p in signature.parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            out.append(f"*{p.name}: Any")
            star = True
            continue
        if p.kind is p.VAR_KEYWORD:
            out.append(f"**{p.name}: Any")
            continue
        if p.kind is p.KEYWORD_ONLY and not star:
            out.append("*")
            star = True
        words = isinstance(p.default, str) and kinds.get(p.name) != "str"
        kind = "str" if words else kinds.get(p.name, "Any") if p.kind is p.KEYWORD_ONLY else "Any"
        kind += " | None" if p.default is None and kind != "Any" else ""
        default = "" if p.default is p.empty else f" = {p.default!r}"
        out.append(p.name if p.name in ("self", "cls") else f"{p.name}: {kind}{default}")
    return ", ".join(out)


def _returns(name, owner=""):
    return RETURNS.get(f"{owner}.{name}") or RETURNS.get(name, "Any")


def _simulate(signature, indent):
    """One start gives a Run, many give Runs."""
    text = _parameters(signature)
    return "\n".join((f"{indent}@overload", f"{indent}def simulate({text.replace('starts: Any = None', 'starts: None = None')}) -> Run: ...",
                      f"{indent}@overload", f"{indent}def simulate({text.replace('starts: Any = None', 'starts: Any')}) -> Runs: ..."))


def _function(name, function, indent="", owner=""):
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return f"{indent}def {name}({'self, ' if indent else ''}*args: Any) -> {_returns(name, owner)}: ..."
    if "starts" in signature.parameters and name == "simulate":
        return _simulate(signature, indent)
    return f"{indent}def {name}({_parameters(signature)}) -> {_returns(name, owner)}: ..."


def _class(cls):
    bases = [b.__name__ for b in cls.__mro__[1:] if b.__module__ == "builtins" and b is not object][:1]
    if any(b in OBJECTS for b in cls.__mro__[1:]):
        bases = [b.__name__ for b in cls.__bases__ if b in OBJECTS or b.__module__ == "builtins"]
    lines = [f"class {cls.__name__}" + (f"({', '.join(bases)})" if bases else "") + ":"]
    lines += [f"    {name}: {kind}" for name, kind in ATTRIBUTES.get(cls.__name__, {}).items()]
    seen = {}
    for base in cls.__mro__:
        if base.__module__.startswith("clausius"):
            for name, member in vars(base).items():
                if not name.startswith("_") or name in ("__init__", "__getitem__", "__len__", "__iter__", "__bool__"):
                    seen.setdefault(name, member)
    for name, member in sorted(seen.items()):
        if isinstance(member, property):
            lines.append(f"    @property\n    def {name}(self) -> {_returns(name, cls.__name__)}: ...")
        elif callable(member) and not isinstance(member, type):
            lines.append(_function(name, member, "    ", cls.__name__))
    lines.append("    def __getattr__(self, name: str) -> Any: ...")
    return "\n".join(lines)


def text():
    """The stub file."""
    parts = ['"""Made by python -m clausius._stubs; do not edit."""', "from collections.abc import Iterator", "from typing import Any, overload", "", "import numpy as np", "from numpy.typing import NDArray", "", "__version__: str", ""]
    for name, thing in zip(clausius.__all__, OBJECTS):
        parts.append(_class(thing) if isinstance(thing, type) else _function(name, thing))
        parts.append("")
    return "\n".join(parts)


if __name__ == "__main__":
    print(text(), end="")
