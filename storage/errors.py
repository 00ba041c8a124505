"""What can go wrong with the database. Every message names the file and says what to do."""


class StorageError(Exception):
    """Anything about the database that the user can act on."""


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


class SelectionError(StorageError):
    """What was asked for names no run, date or status."""


class ExportPathError(StorageError):
    """The export cannot be written where it was asked for."""
