"""Runs all checks in order. Findings are yielded at once, and a check that breaks does not stop the others."""

import importlib
import logging
from collections.abc import Callable, Iterator
from functools import partial

from pipeline.config.schema import Config
from pipeline.doctor.finding import Finding, fail
from pipeline.errors import is_explained

LOGGER = logging.getLogger("ocrbatch")
Check = Callable[[Config], Iterator[Finding]]
# The checks in their order, each with the module that has it as check_NAME.
_MODULES = {
    "software": "machine_checks",
    "model": "file_checks",
    "device": "machine_checks",
    "worker": "run_checks",
    "memory": "machine_checks",
    "database": "file_checks",
    "disk": "machine_checks",
    "inputs": "file_checks",
    "cluster": "machine_checks",
    "reading": "run_checks",
}


def examine(config: Config, *, read: bool = False) -> Iterator[Finding]:
    """Yields the findings on this machine for this configuration. read: also reads a page with the model."""
    for name, check in _checks(read):
        try:
            yield from check(config)
        except Exception as error:  # whatever is broken here, the next check may tell why
            LOGGER.debug("check of %s", name, exc_info=error)
            found = str(error) if is_explained(error) else f"{type(error).__name__}: {error}"
            yield fail(name, f"could not be checked: {found}", "see the lines above; -v says more")


def _checks(read: bool) -> Iterator[tuple[str, Check]]:
    """Yields the checks by name; each imports what it needs when it runs, so that a failing import is a finding."""
    for name, module in _MODULES.items():
        if read or name != "reading":
            yield name, partial(_check, module, f"check_{name}")


def _check(module: str, function: str, config: Config) -> Iterator[Finding]:
    found: Check = getattr(importlib.import_module(f"pipeline.doctor.{module}"), function)
    yield from found(config)
