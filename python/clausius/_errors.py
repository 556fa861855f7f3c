"""Exceptions, one for each status of the library, with the sentence that the program prints."""
import re

import numpy


class Error(Exception):
    """Something that the library refused or could not do. `status` is the exit code that the program has for it; `line` and
    `column` (from 1, 0: unknown) say where in the text of a system or a file."""

    status = 0
    line = 0
    column = 0


class CheckError(Error):
    """A check failed: a law does not hold."""


class UsageError(Error, ValueError):
    """An argument that means nothing here."""


class DataError(Error, ValueError):
    """Data that cannot be used."""


class SystemTextError(Error, ValueError):
    """The text of a system, or a model file, is wrong."""


class FileError(Error, OSError):
    """A file could not be read or written."""


class NumericError(Error, ArithmeticError):
    """A computation failed: no solution of a step, a number that is not finite."""


class NoMemoryError(Error, MemoryError):
    """Memory ran out."""


class Interrupted(Error, KeyboardInterrupt):
    """Stopped by a signal, with nothing to show."""


class OutsideWarning(UserWarning):
    """A motion leaves the range of the data that a model was learned from."""


class DataWarning(UserWarning):
    """Something of a file was left out."""


class LearnWarning(UserWarning):
    """A model was learned, but not as well as one would think."""


CLASSES = {1: CheckError, 2: UsageError, 3: DataError, 4: SystemTextError, 5: FileError, 6: NumericError, 7: NoMemoryError,
           130: Interrupted}


# What the library tells users of the program, in the words of the package.
WORDS = ((r"`clausius show \S+ --parts`", "`system.parts`"), (r"`clausius (systems|schemes)`", r"`clausius.\1()`"), (r"--inputs FILE", "inputs={NAME: (times, values)}"),
         (r'--set "(\w+)=([^"]*)"', r'set={"\1": "\2"}'), (r'--([a-z][a-z-]*) ("[^"]*"|[0-9][\w.]*)', r"\1=\2"), (r"--([a-z][a-z-]*)", r"\1="))


def in_our_words(message):
    """A sentence of the library with keywords where the program has options.

    >>> in_our_words('an input has no values: give a file with its column (--inputs FILE), or --set "u=0.3*sin(t)"; or --time-limit 60')
    'an input has no values: give a file with its column (inputs={NAME: (times, values)}), or set={"u": "0.3*sin(t)"}; or time_limit=60'
    """
    head, *rest = message.split("\n", 1)  # below the sentence stands the user's own line, with a caret
    for pattern, words in WORDS:
        head = re.sub(pattern, lambda m: re.sub(r"^[a-z-]+=", lambda n: n[0].replace("-", "_"), m.expand(words)), head)
    return "\n".join([head, *rest])


def fail(status, message, line, column):
    """The exception of a status."""
    error = CLASSES.get(status, Error)(in_our_words(message))
    error.status, error.line, error.column = status, line, column
    return error


def contiguous(array, dtype=numpy.float64):
    """Any array, also of other packages (DLPack), as C-contiguous numbers; a copy only where it must be."""
    if not isinstance(array, numpy.ndarray) and hasattr(array, "__dlpack__"):
        array = numpy.from_dlpack(array)
    if numpy.iscomplexobj(array):
        raise UsageError("numbers are real, got complex ones")
    return numpy.ascontiguousarray(array, dtype)
