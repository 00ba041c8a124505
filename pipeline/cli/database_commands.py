"""Defines commands about the database itself: verify, prune, vacuum, datasette. Each imports what it needs."""

from datetime import timedelta
from typing import Any, TextIO

import click

from pipeline.cli.console import json_option, say, show, verbose_option

database_option = click.option(
    "--db",
    "database",
    metavar="FILE",
    default="ocrbatch.db",
    show_default=True,
    help="SQLite database with the results.",
)


_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def parse_age(
    _ctx: click.Context | None, _option: click.Parameter | None, text: str | None
) -> timedelta | None:
    """Returns the duration of an age such as 90d, 12w or 36h. Raises: click.BadParameter."""
    if text is None:
        return None
    number, unit = text.strip()[:-1], _UNITS.get(text.strip()[-1:].lower())
    if unit is None or not (number.isascii() and number.isdigit()) or len(number) > 5:
        raise click.BadParameter(f"{text!r} is not an age; write it as 90d, 12w or 36h")
    return timedelta(**{unit: int(number)})


@click.command()
@database_option
@json_option
@click.option("--no-files", is_flag=True, help="Check only the database; open no files.")
@verbose_option
def verify(database: str, as_json: bool, no_files: bool) -> int:
    """Check that nothing was lost: files, pages, texts, search index and the database itself.

    Every listed file is hashed and its pages are counted again. Exit code 6 if anything is wrong. Files that changed or
    went since are listed apart. Nothing is written.
    """
    from pipeline.verify import verify as look

    found = look(database, with_files=not no_files)
    show(as_json, found.to_json(), found.lines)
    return found.exit_code


@click.command()
@database_option
@click.option(
    "--keep-runs",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Keep everything from the last N runs.",
)
@click.option(
    "--older-than",
    callback=parse_age,
    metavar="90d",
    help="Only from runs that began longer ago than this (36h, 90d, 12w).",
)
@click.option("--missing", is_flag=True, help="Also delete files that no longer exist, with their pages.")
@click.option("--superseded", is_flag=True, help="Also delete earlier content of files that have changed.")
@click.option("--dry-run", is_flag=True, help="Only print what would be deleted.")
@verbose_option
def prune(database: str, dry_run: bool, **chosen: Any) -> None:
    """Delete attempts that another one replaced, and runs left without any; never a current text.

    The database file keeps its size, and new pages fill the gaps; `ocrbatch vacuum` shrinks it.
    """
    from storage.upkeep import prune as pruning

    found = pruning.prune(database, dry_run=dry_run, **chosen)
    line = "{attempts} attempts, {runs} runs, {files} files, {documents} documents with {pages} pages"
    say([f"{'would delete' if dry_run else 'deleted'}: {line.format(**found)}"])


@click.command()
@database_option
@verbose_option
def vacuum(database: str) -> None:
    """Shrink the file to its content, and rebuild the search index.

    While it runs, it needs the database's size once more, both in its folder and in the temporary one.
    """
    from storage.upkeep import vacuum as vacuuming

    before, now, log_kept = vacuuming.vacuum(database)
    say([f"{database}: {before / 1e6:,.1f} MB before, {now / 1e6:,.1f} MB now"])
    if log_kept:
        say(["another program is still reading it; the log next to it shrinks when that program ends"])


@click.command()
@database_option
@click.option("-o", "output", type=click.File("w", encoding="utf-8"), default="-", help="Write to this file.")
def datasette(database: str, output: TextIO) -> None:
    """Print metadata for Datasette, which shows the database in a browser: datasette FILE --metadata METADATA."""
    from storage.database import check_exists
    from storage.datasette.metadata import metadata_yaml

    check_exists(database)
    output.write(metadata_yaml(database))
