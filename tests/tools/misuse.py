"""Calls every public function with what a caller can get wrong: NULL for all pointers, then NULL and
indices beyond the end beside an object that is there, then one NULL after the other among arguments that
are there (objects, texts, room for numbers), then the address of an object that is not there (freed twice,
committed twice). Usage: misuse.py LIBRARY INCLUDE [MODEL [DATA]]. The functions
are read from the headers, so that a new one is tried too. Each call is made in a child: one that ends
by a signal is a finding. The last line is `N calls, K findings`; exit 1 with findings."""
import ctypes
import os
import pathlib
import re
import resource
import signal
import sys

LIBRARY, INCLUDE, *FILES = sys.argv[1:5]
MODEL, DATA = FILES[:1], FILES[1:2]
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


def there(p, made, room, odd):
    """An argument that is there, NULL where this program knows none."""
    kind = type_of(p).rstrip("*").strip()
    if not is_pointer(p):
        return (ctypes.c_double(0.01) if kind == "double" else
                argument(p, False) if "int" in kind or kind not in NUMBERS else NUMBERS[kind](1))
    if kind == "cls_error" or "(*" in p:
        return ctypes.c_void_p(0)
    if re.search(r"char \*\w+$", p):
        return ctypes.c_char_p(b"x")
    stars = p.count("*") + p.count("[")
    if kind.endswith("char") and stars > 1:
        return (ctypes.c_char_p * 64)(*[b"x"] * 64)
    if kind.removesuffix(" const *").removesuffix("*").strip() in made and stars == 2 and "const" in p:
        return (ctypes.c_void_p * 64)(*[made[kind.removesuffix(" const *").removesuffix("*").strip()].value] * 64)
    if stars == 1 and kind in made:
        return made[kind]
    if kind in ("cls_node", "cls_report_subject"):
        return beyond if kind == "cls_node" and odd else room
    if stars == 1 and (kind.startswith("cls_") and not kind.endswith(("info", "facts"))):
        return ctypes.c_void_p(0)
    return room


beyond = (ctypes.c_uint32 * 64)(*[2**32 - 2] * 64)  # nodes that no graph has


def one_by_one(name, parameters, made):
    """Everything there, then each pointer NULL in its turn; nothing where the first object is not there, and
    of what frees or takes over objects, which the next call needs."""
    if name.endswith(("_free", "_commit", "_discard")):
        return
    room = (ctypes.c_char * (1 << 20))()
    yield [there(p, made, room, True) for p in parameters]
    full = [there(p, made, room, False) for p in parameters]
    for skipped in range(len(parameters) + 1):
        if skipped == len(parameters) or is_pointer(parameters[skipped]):
            yield [ctypes.c_void_p(0) if i == skipped else a for i, a in enumerate(full)]


def survives(library, name, arguments):
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.chdir(os.environ.get("TMPDIR", "/tmp"))
        signal.alarm(20)
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
    for path in MODEL:
        out = ctypes.c_void_p()
        if library.cls_model_read(path.encode(), ctypes.byref(out), None) == 0:
            made["cls_model"] = out
    system, names = made["cls_system"], (ctypes.c_char_p * 2)(b"time", b"x")
    node = (ctypes.c_uint32 * 1)(library.cls_constant(made["cls_graph"], ctypes.c_double(1)))
    zero, one = ctypes.c_size_t(0), ctypes.c_size_t(1)
    folder = os.environ.get("TMPDIR", "/tmp").encode()
    more = [("cls_writer_open", "cls_writer", [folder + b"/misuse.csv", zero, None, None, ctypes.c_size_t(2), names]),
            ("cls_writer_open", "cls_writer.npz", [folder + b"/misuse.npz", zero, None, None, ctypes.c_size_t(2), names]),
            ("cls_program_create", "cls_program", [made["cls_graph"], zero, None, one, node]),
            ("cls_invariants_find", "cls_invariants", [system, None, None])]
    more += [("cls_reader_open", "cls_reader", [path.encode(), None]) for path in DATA]
    more += [("cls_formulas_find", "cls_formulas", [made["cls_model"], None]) for path in MODEL]
    for path in DATA:
        table = ctypes.c_void_p()
        if library.cls_table_read(path.encode(), ctypes.byref(table), None) == 0:
            more.append(("cls_audit_trajectory", "cls_audit", [system, table, None]))
    for name, kind, before in more:
        out = ctypes.c_void_p()
        if getattr(library, name)(*before, ctypes.byref(out), None) == 0:
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
        kinds = [{}] + [{k.split(".")[0]: made[k]} for k in made if "." in k]  # an object of the same type in another state
        named = [a for other in kinds for a in one_by_one(name, parameters, {**made, **other})
                 if not other or any(type_of(p).rstrip("*").strip() in other for p in parameters)]
        if any(re.match(r"(cls_\w+|char) \*\*\w+$", p) for p in parameters):
            tries.append([ctypes.byref(ctypes.c_void_p()) if re.match(r"(cls_\w+|char) \*\*\w+$", p) else argument(p, False)
                          for p in parameters])
        for k, arguments in enumerate([*tries, *named]):
            calls += 1
            if not survives(library, name, arguments):
                findings.append(f"{name}: ends the process (try {k})")
    print(*findings, sep="\n", end="\n" if findings else "")
    print(f"{calls} calls, {len(findings)} findings")
    return 1 if findings else 0


sys.exit(main())
