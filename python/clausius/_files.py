"""Files of arrays: NPZ, HDF5 and MAT through the Python packages that know them, by the rules of docs/format.md (the wheel's own library
brings none of these formats; CSV and NPY it reads itself)."""
import itertools
import os
import re
import tempfile
import zipfile

import numpy as np

from ._errors import DataError, FileError, UsageError

KINDS = ((b"PK\x03\x04", "npz"), (b"\x89HDF\r\n\x1a\n", "hdf5"), (b"MATLAB 5.0", "mat"))


def kind_of(path):
    """Which of them a file is by its first bytes; None: the library reads it."""
    try:
        with open(path, "rb") as file:
            head = file.read(520)
    except OSError:
        return None  # the library says what is wrong
    if head[:10] == b"MATLAB 7.3" or head[512:520] == KINDS[1][0]:
        return "hdf5"
    return next((kind for magic, kind in KINDS if head.startswith(magic)), None)


def _need(module, what):
    try:
        return __import__(module, fromlist=["_"])
    except ImportError:
        raise UsageError(f"{what} needs the package {module.split('.')[0]}: pip install {module.split('.')[0]}; or give the columns to clausius.data") from None


def spans(names):
    """Columns that are one array: {"u": (their numbers, lowest indices, lengths)} for u[1], u[2], ... or S[1][1], S[1][2], ..., the last index
    running fastest; they need not stand together. Those of repeated components, cell[1]_q, cell[2]_q, ..., are called "cell_q".

    >>> spans(["time", "u[1]", "u[2]", "u[3]", "energy"])
    {'u': ([1, 2, 3], (1,), (3,))}
    >>> spans(["time", "a[1]_q", "b[1]_q", "a[2]_q", "b[2]_q"])
    {'a_q': ([1, 3], (1,), (2,)), 'b_q': ([2, 4], (1,), (2,))}
    """
    found, known = {}, set(names)
    indexed = [re.fullmatch(r"([^\[\]]+)((?:\[-?\d+\]){1,2})([^\[\],]*)", n) for n in names]
    place = [((m[1], m[3]), tuple(int(k) for k in re.findall(r"-?\d+", m[2]))) if m else None for m in indexed]
    column = {p: c for c, p in enumerate(place) if p}
    for c, p in enumerate(place):
        if p is None or any((p[0], (*p[1][:k], p[1][k] - 1, *p[1][k + 1:])) in column for k in range(len(p[1]))):
            continue
        name, low = p
        at = lambda *index: (name, index) in column
        n = next(n for n in itertools.count(1) if not at(*low[:-1], low[-1] + n))
        rows = next(r for r in itertools.count(1) if not all(at(low[0] + r, low[1] + j) for j in range(n))) if len(low) == 2 else 1
        shape = (n,) if len(low) == 1 else (rows, n)
        if min(shape) > 1 and "".join(name) not in known and "".join(name) not in found:
            every = itertools.product(*(range(a, a + k) for a, k in zip(low, shape)))
            found["".join(name)] = ([column[name, index] for index in every], low, shape)
    return dict(sorted(found.items(), key=lambda x: min(x[1][0])))


def _note(names, found):
    """What the note `arrays` of a file says: "u[1..20], S[0..3][1..5], cell[1..8]_q"."""
    return ", ".join(re.sub(r"(\[-?\d+\])+", "".join(f"[{a}..{a + n - 1}]" for a, n in zip(low, shape)), names[own[0]]) for own, low, shape in found.values())


def _elements(note, name, shape):
    """Names of the columns of an array of that shape, or None where the note says nothing of it."""
    for head, brackets, tail in re.findall(r"([^\[\],\s][^\[\],]*)((?:\[-?\d+\.\.-?\d+\])+)([^\[\],]*)", note or ""):
        ranges = [range(int(a), int(b) + 1) for a, b in re.findall(r"\[(-?\d+)\.\.(-?\d+)\]", brackets)]
        if head + tail == name and tuple(len(r) for r in ranges) == tuple(shape):
            return [head + "".join(f"[{i}]" for i in at) + tail for at in itertools.product(*ranges)]
    return None


def _numbers(x):
    return getattr(x, "dtype", None) is not None and x.dtype.kind in "fiub" and x.ndim


def _load(path, kind):
    """Arrays by name, and notes."""
    if kind == "npz":
        with np.load(path, allow_pickle=False) as file:
            found = {n: file[n] for n in file.files}
        text = found.pop("notes.txt", b"")
        lines = (line.partition(": ") for line in (text.decode(errors="replace") if isinstance(text, bytes) else "").splitlines())
        return found, {key: value for key, colon, value in lines if colon}
    if kind == "mat":
        found = _need("scipy.io", f"{path}: reading MAT")
        return {n: x for n, x in found.loadmat(path).items() if not n.startswith("__")}, {}
    out = {}
    with _need("h5py", f"{path}: reading HDF5").File(path, "r") as file:
        matlab = b"MATLAB" in open(path, "rb").read(512)
        file.visititems(lambda name, x: out.__setitem__(name, x[()].T if matlab else x[()]) if hasattr(x, "dtype") and x.dtype.kind in "fiub" else None)
        notes = {n: x.decode(errors="replace") if isinstance(x, bytes) else str(x) for n, x in file.attrs.items() if isinstance(x, (bytes, str, np.bytes_))}
    return out, notes


def columns_of(path, kind, array=None):
    """{name: numbers} of a file, and what should be told."""
    try:
        loaded, notes = _load(path, kind)
        found = {n: np.asarray(x, float).squeeze() for n, x in loaded.items() if _numbers(x)}
    except (OSError, ValueError, EOFError, KeyError, TypeError, zipfile.BadZipFile) as error:
        if isinstance(error, UsageError):
            raise
        raise FileError(f"{path}: cannot be read as {kind.upper()}: {error}") from None
    match = re.fullmatch(r"\s*([^(]+?)\s*(?:\(([^)]*)\))?\s*", array) if array else None
    name, axes = (match[1], match[2]) if match else (array, None)
    chosen = {n: x for n, x in found.items() if not name or n == name or n.startswith(name + "/")}
    if axes:
        return _apart(path, name, chosen.get(name), [a.strip() for a in axes.split(",")]), []
    rows = max((len(np.atleast_1d(x)) for x in chosen.values() if x.ndim <= 2), default=0)
    out, remarks = {}, []
    for n, x in chosen.items():
        short = n[len(name) + 1:] if name and n != name else n
        elements = _elements(notes.get("arrays"), short, x.shape[1:]) if x.ndim > 1 and len(x) == rows else None
        if elements:
            out.update(zip(elements, x.reshape(rows, -1).T))
            continue
        if x.ndim <= 1 and np.size(x) == rows:
            out[short] = np.atleast_1d(x)
        elif x.ndim == 2 and len(x) == rows:
            out.update({f"{short}{k + 1}": x[:, k] for k in range(x.shape[1])})
        else:
            remarks.append(f'the array "{n}" is left out: it has not the {rows} rows of the others' + ('; array="NAME(trajectory, column, time)" takes it apart' if x.ndim == 3 else ""))
    if not out:
        raise DataError(f"{path}: no array that could be columns{' under ' + name if name else ''}; it has: {', '.join(found) or 'none'}")
    return out, remarks


def _apart(path, name, x, axes):
    if x is None or x.ndim != 3 or sorted(axes) != ["column", "time", "trajectory"]:
        raise UsageError(f"{path}: array: expected {name}(trajectory, column, time), the axes in the order of the file, for an array of three axes")
    x = np.transpose(x, [axes.index(a) for a in ("trajectory", "column", "time")])
    out = {"trajectory": np.repeat(np.arange(len(x), dtype=float), x.shape[2])}
    return {**out, **{f"{name}{k + 1}": x[:, k].ravel() for k in range(x.shape[1])}}


def write(path, table):
    """A table as .csv (by the library), .npz or .h5; the file is complete or not there."""
    path = os.fspath(path)
    ending = os.path.splitext(path)[1].lower()
    if ending not in (".npz", ".h5", ".hdf5"):
        return table.write(path)
    names, notes = list(table.names), dict(table.notes)
    found = spans(names) if table.rows > 1 else {}
    begins = {min(own): (name, own, shape) for name, (own, _, shape) in found.items()}
    columns, taken = {}, set()
    for c in range(len(names)):
        if c in taken:
            continue
        name, own, shape = begins.get(c, (names[c], [c], ()))
        taken.update(own)
        columns[name] = np.stack([np.asarray(table.column(names[k])) for k in own], axis=-1).reshape(-1, *shape) if shape else np.asarray(table.column(name))
    if found:
        notes["arrays"] = _note(names, found)
    module = None if ending == ".npz" else _need("h5py", f"{path}: writing HDF5")
    try:
        handle, part = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=".clausius-", suffix=ending)
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror}") from None
    os.close(handle)
    try:
        if module:
            with module.File(part, "w") as file:
                for n, x in columns.items():
                    file[n] = x
                file.attrs.update(notes)
        else:
            with open(part, "wb") as file, zipfile.ZipFile(file, "w") as archive:  # np.savez, and a member for the notes
                for n, x in columns.items():
                    with archive.open(f"{n}.npy", "w", force_zip64=True) as member:
                        np.lib.format.write_array(member, x, allow_pickle=False)
                if notes:
                    archive.writestr("notes.txt", "".join(f"{key}: {value}\n" for key, value in notes.items()))
        with open(part, "rb") as file:
            os.fsync(file.fileno())
        os.chmod(part, 0o666 & ~_umask())
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise


def _umask():
    old = os.umask(0)
    os.umask(old)
    return old
