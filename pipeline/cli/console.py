"""Prints what commands tell people, and sets up logging to standard error.

Most of it contains file names or their content, so all of it passes storage.strings.printable.
"""

import json
import logging
import sys
from collections.abc import Callable, Iterable
from typing import Any

import click

from storage.strings.printable import one_line, shown

LOGGER = logging.getLogger("ocrbatch")


def _start_logging(_context: click.Context, _option: click.Parameter, verbose: bool) -> bool:
    start_logging(verbose)
    return verbose


# Sets up logging before its command begins.
verbose_option = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=_start_logging,
    help="Log details, and show tracebacks.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
device_option = click.option(
    "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True
)


def start_logging(verbose: bool, quiet: bool = False) -> None:
    """Sets up logging to standard error: errors and warnings, everything if verbose, errors only if quiet."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LineFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler], force=True)
    LOGGER.setLevel(logging.DEBUG if verbose else logging.ERROR if quiet else logging.WARNING)


def say(lines: Iterable[str], *, err: bool = False) -> None:
    """Prints each text as exactly one line, whatever it contains. err: on standard error."""
    click.echo("\n".join(map(one_line, lines)), err=err)


def show(as_json: bool, found: object, lines: Callable[[], Iterable[str]]) -> None:
    """Prints what a command has found: as one JSON object, or in lines for people."""
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        say(lines())


class LineFormatter(logging.Formatter):
    """Formats each log record as one line; only a traceback takes more."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (the name it overrides)
        return one_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802
        return shown(super().formatException(ei))
