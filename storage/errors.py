"""Errors of the database. Every message names the file and says what to do."""


class StorageError(Exception):
    """Base of all database errors that the user can act on."""


class DatabaseNotFoundError(StorageError):
    """A command that only reads was given a database that does not exist."""


class NotADatabaseError(StorageError):
    """The file is not a database of ocrbatch; it was left untouched."""


class DatabaseVersionError(StorageError):
    """The schema of the file is newer (or, for a reader, older) than this program's."""


class DatabaseBusyError(StorageError):
    """Another run, or another program, holds the database."""


class DatabaseAccessError(StorageError):
    """The file cannot be opened, read or written: permissions, a full disk, damage."""


class DatabaseGoneError(StorageError):
    """A database that a run writes to was deleted, renamed or replaced. is_side_file: it was one of its side files."""

    def __init__(self, message: str, *, is_side_file: bool = False) -> None:
        super().__init__(message)
        self.is_side_file = is_side_file


class SelectionError(StorageError):
    """The selection names no run, date or status."""


class ExportPathError(StorageError):
    """The export cannot be written to the path given."""


class NotExportedError(StorageError):
    """A document cannot be had in a format, while others can."""


class MissingExtraError(StorageError):
    """A format needs a package that is not installed."""


class CorrectionError(StorageError):
    """A correction is not of a page's current text."""
