"""Errors of the pipeline, and the one table that turns an exception into an exit code.

Leaf packages raise typed errors and know no exit codes.
"""

from enum import IntEnum

from ocr.errors import CheckpointError
from storage.errors import DatabaseBusyError, DatabaseNotFoundError, SelectionError, StorageError


class ExitCode(IntEnum):
    """What `ocrbatch` exits with."""

    OK = 0
    FATAL = 1
    USAGE = 2
    INCOMPLETE = 3
    BUSY = 4
    STOPPED = 5
    FAULTY = 6


class PipelineError(Exception):
    """Something the user can act on: the message says what is wrong and what to do."""


class ConfigError(PipelineError):
    """A key, value or option that is not valid."""


class EvaluationError(PipelineError):
    """Truth and results cannot be compared."""


class DeviceLostError(PipelineError):
    """The accelerator is in a state in which nothing can be computed any more."""


class DeviceUnusableError(DeviceLostError):
    """It was so before any page was computed on it."""


class ModelMemoryError(PipelineError):
    """The model does not fit into the memory of the device that it is to be on."""


class ModelProcessError(PipelineError):
    """A process in which the model was has ended by itself, or was ended."""


class WorkersError(PipelineError):
    """No process can be started that opens files; nothing is wrong with the files."""


class StopRequest(BaseException):
    """A signal or the time limit asks for an end; not an Exception, so no error boundary swallows it."""


EXIT_CODES: tuple[tuple[type[BaseException], ExitCode], ...] = (
    (ConfigError, ExitCode.USAGE),
    (EvaluationError, ExitCode.USAGE),
    (DatabaseNotFoundError, ExitCode.USAGE),
    (SelectionError, ExitCode.USAGE),
    (DatabaseBusyError, ExitCode.BUSY),
    (StopRequest, ExitCode.STOPPED),
    (KeyboardInterrupt, ExitCode.STOPPED),
    (CheckpointError, ExitCode.FATAL),
    (BaseException, ExitCode.FATAL),
)


def exit_code(error: BaseException) -> ExitCode:
    """Returns the exit code of the first row of the table that fits."""
    return next(code for kind, code in EXIT_CODES if isinstance(error, kind))


def is_explained(error: BaseException) -> bool:
    """Returns whether the message alone tells the user what is wrong and what to do."""
    return isinstance(error, (PipelineError, StorageError, CheckpointError))
