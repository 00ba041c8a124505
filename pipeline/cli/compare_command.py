"""Defines the command compare. It imports what it needs when it runs."""

import json
from contextlib import ExitStack, closing

import click

from pipeline.cli.console import say, start_logging, verbose_option
from pipeline.cli.database_commands import database_option


@click.command()
@click.argument("before")
@click.argument("after")
@database_option
@click.option(
    "--limit", type=click.IntRange(min=0), default=20, show_default=True, help="Most pages in each list."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@verbose_option
def compare(before: str, after: str, database: str, limit: int, as_json: bool, verbose: bool) -> None:
    """Compare two databases, or two runs of one by their numbers: texts, statuses, new and lost pages, times.

    Pages are matched by their document's content, else by its path. A run is all that it read; a database its current
    texts.
    """
    start_logging(verbose)
    from pipeline.reports.status import comparison_lines
    from storage.database import open_for_reading
    from storage.queries import comparison

    def side(name: str, stack: ExitStack) -> comparison.Side:
        is_run = name.isascii() and name.isdigit()
        db = stack.enter_context(closing(open_for_reading(database if is_run else name)))
        return comparison.Side(db=db, run_id=int(name) if is_run else None)

    with ExitStack() as stack:
        found = comparison.compare(side(before, stack), side(after, stack), limit=limit)
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=2))
    else:
        say(comparison_lines(found))
