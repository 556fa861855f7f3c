"""Writes __init__.pyi from the tables of options and the signatures: python -m clausius._stubs > python/clausius/__init__.pyi"""
import inspect

import clausius
from clausius import _core

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


def _function(name, function, indent=""):
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return f"{indent}def {name}(self, *args: Any) -> Any: ..." if indent else f"def {name}(*args: Any) -> Any: ..."
    return f"{indent}def {name}({_parameters(signature)}) -> Any: ..."


def _class(cls):
    bases = [b.__name__ for b in cls.__mro__[1:] if b.__module__ == "builtins" and b is not object][:1]
    if any(b in OBJECTS for b in cls.__mro__[1:]):
        bases = [b.__name__ for b in cls.__bases__ if b in OBJECTS or b.__module__ == "builtins"]
    lines = [f"class {cls.__name__}" + (f"({', '.join(bases)})" if bases else "") + ":"]
    seen = {}
    for base in cls.__mro__:
        if base.__module__.startswith("clausius"):
            for name, member in vars(base).items():
                if not name.startswith("_") or name in ("__init__", "__getitem__", "__len__", "__iter__", "__bool__"):
                    seen.setdefault(name, member)
    for name, member in sorted(seen.items()):
        if isinstance(member, property):
            lines.append(f"    @property\n    def {name}(self) -> Any: ...")
        elif callable(member) and not isinstance(member, type):
            lines.append(_function(name, member, "    "))
    lines.append("    def __getattr__(self, name: str) -> Any: ...")
    return "\n".join(lines)


def text():
    """The stub file."""
    parts = ['"""Made by python -m clausius._stubs; do not edit."""', "from typing import Any", "", "__version__: str", ""]
    for name, thing in zip(clausius.__all__, OBJECTS):
        parts.append(_class(thing) if isinstance(thing, type) else _function(name, thing))
        parts.append("")
    return "\n".join(parts)


if __name__ == "__main__":
    print(text(), end="")
