"""Runs all checks in order. Findings are yielded at once, and a check that breaks does not stop the others.

A finding is fine, wrong with a remedy, or worth knowing.
"""

import importlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

from pipeline.config.schema import Config
from pipeline.errors import is_explained

LOGGER = logging.getLogger("ocrbatch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of `ocrbatch doctor`. remedy: what to do; None where nothing needs to be done."""

    state: Literal["ok", "FAIL", "note"]
    what: str
    found: str
    remedy: str | None = None

    def line(self) -> str:
        """Returns the finding as a line of text."""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{self.state:<4} {self.what}: {self.found}{remedy}"


def ok(what: str, found: str) -> Finding:
    """Returns the finding that something is fine."""
    return Finding(state="ok", what=what, found=found)


def fail(what: str, found: str, remedy: str) -> Finding:
    """Returns the finding that a run would not work, or not as it should."""
    return Finding(state="FAIL", what=what, found=found, remedy=remedy)


def fail_of(what: str, error: Exception, otherwise: str) -> Finding:
    """Returns an error as a finding: the part of its message after the last semicolon is the remedy."""
    found, _, remedy = str(error).rpartition("; ")
    return fail(what, found or str(error), remedy if found else otherwise)


def note(what: str, found: str, remedy: str | None = None) -> Finding:
    """Returns a finding that does not stop a run but is worth knowing."""
    return Finding(state="note", what=what, found=found, remedy=remedy)


def size(num_bytes: float) -> str:
    """Returns a number of bytes in words: 512 MiB, 1.5 GiB."""
    return f"{num_bytes / (1 << 30):.1f} GiB" if num_bytes >= 1 << 30 else f"{num_bytes / (1 << 20):.0f} MiB"


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
