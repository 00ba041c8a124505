"""How much a command says on standard error."""

import logging
import sys

import click

LOGGER = logging.getLogger("ocrbatch")

verbose_option = click.option("-v", "--verbose", is_flag=True, help="Say more; show tracebacks.")


def start_logging(verbose: bool, quiet: bool = False) -> None:
    """Logs to standard error: errors and warnings, everything when verbose, errors only when quiet."""
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr, force=True)
    LOGGER.setLevel(logging.DEBUG if verbose else logging.ERROR if quiet else logging.WARNING)
