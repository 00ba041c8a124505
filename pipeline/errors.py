"""Defines the pipeline's errors and the one table that maps exceptions to exit codes.

Leaf packages raise typed errors and know no exit codes.
"""

from enum import IntEnum

from ocr.errors import CheckpointError, NoPageModelError
from storage.errors import DatabaseBusyError, DatabaseNotFoundError, SelectionError, StorageError


class ExitCode(IntEnum):
    """The exit codes of `ocrbatch`."""

    OK = 0
    FATAL = 1
    USAGE = 2
    INCOMPLETE = 3
    BUSY = 4
    STOPPED = 5
    FAULTY = 6


class PipelineError(Exception):
    """An error that the user can act on: its message says what is wrong and what to do."""


class ConfigError(PipelineError):
    """A key, value or option is not valid."""


class EvaluationError(PipelineError):
    """The true text and the results cannot be compared."""


class DeviceLostError(PipelineError):
    """The accelerator is in a state in which it can compute nothing any more."""


class DeviceUnusableError(DeviceLostError):
    """The accelerator was lost or unusable before any page was computed on it."""


class ModelMemoryError(PipelineError):
    """The model does not fit into the memory of its device."""


class WorkersError(PipelineError):
    """No worker process can be started; nothing is wrong with the files."""


class StopRequest(BaseException):
    """A signal or the time limit asks the run to stop. Not an Exception, so that no error boundary swallows it."""


EXIT_CODES: tuple[tuple[type[BaseException], ExitCode], ...] = (
    (ConfigError, ExitCode.USAGE),
    (EvaluationError, ExitCode.USAGE),
    (DatabaseNotFoundError, ExitCode.USAGE),
    (SelectionError, ExitCode.USAGE),
    (DatabaseBusyError, ExitCode.BUSY),
    (StopRequest, ExitCode.STOPPED),
    (KeyboardInterrupt, ExitCode.STOPPED),
    (NoPageModelError, ExitCode.USAGE),
    (CheckpointError, ExitCode.FATAL),
    (BaseException, ExitCode.FATAL),
)


def exit_code(error: BaseException) -> ExitCode:
    """Returns the exit code of the first row of the table that matches the error."""
    return next(code for kind, code in EXIT_CODES if isinstance(error, kind))


def is_explained(error: BaseException) -> bool:
    """Returns whether the message alone tells the user what is wrong and what to do."""
    return isinstance(error, (PipelineError, StorageError, CheckpointError))
