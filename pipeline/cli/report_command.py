"""Defines the command report. It imports what it needs when it runs."""

import click

from pipeline.cli.console import say, start_logging, verbose_option
from pipeline.cli.database_commands import database_option


@click.command()
@database_option
@click.option(
    "--run",
    "run_id",
    type=click.IntRange(min=1),
    metavar="N",
    help="Report on this run; without it, on the last one that stored a page.",
)
@click.option("-o", "output", metavar="FILE.html", required=True, help="Write the report to this file.")
@click.option(
    "--top",
    "most",
    type=click.IntRange(min=1, max=1000),
    default=12,
    show_default=True,
    metavar="N",
    help="Most pages in each list.",
)
@click.option("--no-thumbnails", is_flag=True, help="Draw no page; open no file but the database.")
@verbose_option
def report(
    database: str, run_id: int | None, output: str, most: int, no_thumbnails: bool, verbose: bool
) -> None:
    """Write a run's report to one HTML file: statuses, speed, where the time went, pages that need a look.

    The file needs no network and runs no script. Thumbnails are drawn from the files as they are now.
    """
    start_logging(verbose)
    from pipeline.html_report.report_page import write_report

    its = write_report(database, output, run_id=run_id, most=most, with_thumbnails=not no_thumbnails)
    say([f"{output}: run {its.run.id}, {its.num_pages} pages"], err=True)
