"""Reads the passwords of encrypted PDFs from an environment variable or a file, never from a command line.

They reach the workers through a pipe and appear in no configuration, log, message or database.
"""

import logging
import os
import stat

from pipeline.config.schema import IngestConfig
from pipeline.errors import ConfigError

LOGGER = logging.getLogger("ocrbatch")


def read_passwords(ingest: IngestConfig) -> tuple[str, ...]:
    """Returns the passwords to try on an encrypted PDF, in order: the variable's, then each line of the file.

    A file that others can read is used with a warning: mounted secrets often are readable, in a protected folder.
    Raises: ConfigError, whose message contains neither name nor content, as either may be a password by mistake.
    """
    found = [*_from_variable(ingest.password_env), *_from_file(ingest.password_file)]
    return tuple(dict.fromkeys(found))


def passwords_there(ingest: IngestConfig) -> tuple[str, ...]:
    """Returns the passwords, none where they cannot be read: encrypted files are not looked into then."""
    try:
        return read_passwords(ingest)
    except ConfigError as error:
        LOGGER.debug("no passwords: %s", error)
        return ()


def _from_variable(name: str | None) -> list[str]:
    if name is None:
        return []
    password = os.environ.get(name)
    if not password:
        raise ConfigError(
            "ingest.password_env: no environment variable of that name is set, or it is empty; set it where "
            "ocrbatch is started (the key takes the variable's name, not the password)"
        )
    return [password]


def _from_file(path: str | None) -> list[str]:
    if path is None:
        return []
    try:
        with open(path, encoding="utf-8-sig") as file:
            mode = os.fstat(file.fileno()).st_mode
            lines = [line for line in file.read().split("\n") if line]
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(
            f"ingest.password_file: cannot be read: {reason}; check the key and the file"
        ) from None
    except UnicodeDecodeError:
        raise ConfigError("ingest.password_file: not UTF-8; write one password a line as UTF-8") from None
    if not lines:
        raise ConfigError("ingest.password_file: holds no password; write one a line")
    if os.name == "posix" and mode & stat.S_IROTH:
        LOGGER.warning("ingest.password_file: every user of this machine may read it; chmod o-r protects it")
    return lines
