"""Runs all checks in order. Findings are yielded at once, and a check that breaks does not stop the others."""

import logging
from collections.abc import Callable, Iterator

from pipeline.config.schema import Config
from pipeline.doctor.finding import Finding, fail
from pipeline.errors import is_explained

LOGGER = logging.getLogger("ocrbatch")
Check = Callable[[Config], Iterator[Finding]]


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
    yield "software", _late("software", "check")
    yield "model", _late("model_files", "check")
    yield "device", _late("accelerator", "check")
    yield "worker", _late("worker_process", "check")
    yield "memory", _late("host", "check_memory")
    yield "database", _late("database", "check")
    yield "disk", _late("host", "check_disk")
    yield "inputs", _late("input_files", "check")
    yield "cluster", _late("cluster_machines", "check")
    if read:
        yield "reading", _late("reading", "check")


def _late(module: str, function: str) -> Check:
    def check(config: Config) -> Iterator[Finding]:
        import importlib

        found: Check = getattr(importlib.import_module(f"pipeline.doctor.checks.{module}"), function)
        yield from found(config)

    return check
