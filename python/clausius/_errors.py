"""Exceptions, one for each status of the library, with the sentence that the program prints."""
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


def fail(status, message, line, column):
    """The exception of a status."""
    error = CLASSES.get(status, Error)(message)
    error.status, error.line, error.column = status, line, column
    return error


def contiguous(array, dtype=numpy.float64):
    """Any array, also of other packages (DLPack), as C-contiguous numbers; a copy only where it must be."""
    if not isinstance(array, numpy.ndarray) and hasattr(array, "__dlpack__"):
        array = numpy.from_dlpack(array)
    if numpy.iscomplexobj(array):
        raise UsageError("numbers are real, got complex ones")
    return numpy.ascontiguousarray(array, dtype)
