"""Calls every public function with what a caller can get wrong: NULL for all pointers, then NULL and
indices beyond the end beside an object that is there. Usage: misuse.py LIBRARY INCLUDE. The functions
are read from the headers, so that a new one is tried too. Each call is made in a child: one that ends
by a signal is a finding. The last line is `N calls, K findings`; exit 1 with findings."""
import ctypes
import os
import pathlib
import re
import sys

LIBRARY, INCLUDE = sys.argv[1:3]
# Called in every step, with arrays whose sizes C cannot check, or not of the library at all.
OMITTED = {"cls_allocation_hook"}
NUMBERS = {"double": ctypes.c_double, "int": ctypes.c_int, "unsigned": ctypes.c_uint, "size_t": ctypes.c_size_t,
           "uint64_t": ctypes.c_uint64, "cls_node": ctypes.c_uint32}
BEYOND = {"size_t": 2**64 - 1, "cls_node": 2**32 - 2}


def functions():
    for header in sorted(pathlib.Path(INCLUDE).glob("clausius/*.h")):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        for m in re.finditer(r"CLS_API\s+([^;(]+?)(\w+)\(([^;]*?)\)\s*(?:CLS_PRINTF\([^)]*\))?;", text, flags=re.S):
            parameters = [] if m[3].strip() == "void" else [" ".join(p.split()) for p in m[3].split(",")]
            yield m[1].strip(), m[2], parameters


def is_pointer(p):
    return "*" in p or "[" in p


def type_of(p):
    return p.replace("const ", "").rsplit(" ", 1)[0].strip()


def argument(p, index):
    if is_pointer(p):
        return ctypes.c_void_p(0)
    kind, name = type_of(p), p.rsplit(" ", 1)[1]
    is_index = name in ("i", "a", "b", "column", "row", "symbol")
    return NUMBERS.get(kind, ctypes.c_int)(BEYOND[kind] if index and is_index and kind in BEYOND else 0)


def survives(library, name, arguments):
    child = os.fork()
    if child == 0:
        function = getattr(library, name)
        function.restype = ctypes.c_void_p
        function(*arguments)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def objects(library):
    """One of each kind that is cheap to make, by the name of its type."""
    made = {}
    for name, kind, before in (("cls_system_load", "cls_system", [b"adiabatic-piston", None]),
                               ("cls_graph_create", "cls_graph", [None]),
                               ("cls_table_create", "cls_table", [ctypes.c_size_t(1), (ctypes.c_char_p * 1)(b"x")])):
        out = ctypes.c_void_p()
        if getattr(library, name)(*before, ctypes.byref(out), None) == 0:
            made[kind] = out
    for name, kind in (("cls_flow_create", "cls_flow"), ("cls_simulator_create", "cls_simulator"),
                       ("cls_starter_create", "cls_starter"), ("cls_steps_create", "cls_steps")):
        out = ctypes.c_void_p()
        middle = {"cls_flow": [], "cls_simulator": [None], "cls_starter": [None], "cls_steps": [None, None]}[kind]
        if getattr(library, name)(made["cls_system"], *middle, ctypes.byref(out), None) == 0:
            made[kind] = out
    return made


def main():
    library = ctypes.CDLL(LIBRARY)
    made, calls, findings = objects(library), 0, []
    for returned, name, parameters in functions():
        by_value = returned.startswith("cls_") and "*" not in returned and returned not in (
            "cls_status", "cls_node", "cls_op", "cls_function", "cls_formalism")
        if name in OMITTED or by_value:
            continue
        tries = [[argument(p, False) for p in parameters], [argument(p, True) for p in parameters]]
        first = re.match(r"(?:const )?(cls_\w+) \*\w+$", parameters[0]) if parameters else None
        if first and first[1] in made:
            tries += [[made[first[1]]] + [argument(p, index) for p in parameters[1:]] for index in (False, True)]
        for k, arguments in enumerate(tries):
            calls += 1
            if not survives(library, name, arguments):
                findings.append(f"{name}: ends the process (try {k})")
    print(*findings, sep="\n", end="\n" if findings else "")
    print(f"{calls} calls, {len(findings)} findings")
    return 1 if findings else 0


sys.exit(main())
