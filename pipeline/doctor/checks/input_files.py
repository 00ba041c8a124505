"""Checks the files that the configuration names: readable inputs, passwords, and the other files a run writes."""

import os
from collections.abc import Iterator

from pipeline.config.passwords import read_passwords
from pipeline.config.schema import Config
from pipeline.doctor.finding import Finding, fail, note, ok
from pipeline.errors import ConfigError
from pipeline.ingest.objects.stores import is_folder, reason_of
from storage.strings.urls import is_url


def check(config: Config) -> Iterator[Finding]:
    """Checks that the files which the configuration names exist and can be read or written."""
    if not config.ingest.paths and config.ingest.manifest is None:
        yield note("inputs", "none in the configuration: name them on the command line, or set ingest.paths")
    for path in config.ingest.paths:
        yield _stored(path, config.ingest.object_timeout_s) if is_url(path) else _input(path)
    if (manifest := config.ingest.manifest) is not None:
        yield _stored(manifest, config.ingest.object_timeout_s) if is_url(manifest) else _input(manifest)
    if config.ingest.password_env is not None or config.ingest.password_file is not None:
        yield _passwords(config)
    for key, file in (("run.log_file", config.run.log_file), ("run.summary_file", config.run.summary_file)):
        if file is not None:
            yield _written(key, file)


def _stored(url: str, limit_s: float) -> Finding:
    try:
        kind = "folder" if is_folder(url, limit_s) else "object"
    except Exception as error:  # what a store's own library raises
        return fail(
            "input", f"{url}: {reason_of(error)}", "check the URL, and the credentials in the environment"
        )
    return ok("input", f"{url} is there, a{'n' * (kind == 'object')} {kind}")


def _input(path: str) -> Finding:
    try:
        if os.path.isdir(path):
            with os.scandir(path) as entries:
                is_empty = next(entries, None) is None
            return (
                note("input", f"{path} is an empty folder")
                if is_empty
                else ok("input", f"{path} can be read")
            )
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            file.read(1)
    except OSError as error:
        return fail("input", f"{path}: {error.strerror}", "check the path and its permissions")
    return ok("input", f"{path} can be read")


def _passwords(config: Config) -> Finding:
    """Checks that passwords can be read; only their number is shown."""
    try:
        number = len(read_passwords(config.ingest))
    except ConfigError as error:
        found, _, remedy = str(error).rpartition("; ")
        return fail("passwords", found, remedy)
    return ok("passwords", f"{number} to try on encrypted PDFs")


def _written(key: str, path: str) -> Finding:
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        return fail(key, f"{path} is a folder", "name a file")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        return fail(
            key, f"{path} cannot be written to", f"make the folder {folder}, or change its permissions"
        )
    return ok(key, f"{path} can be written to")
