"""Defines the commands that show results: view and report in a browser, text at once. Each imports what it needs."""

import io
import sys

import click

from pipeline.cli.console import say, verbose_option
from pipeline.cli.database_commands import database_option
from pipeline.errors import ExitCode
from storage.strings.printable import on_screen
from storage.types import FINE_STATUSES


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--format", "format_name", type=click.Choice(["txt", "md"]), default="txt", show_default=True)
@click.option("--pages", metavar="1-3,7", help="Only these pages.")
@click.option("--model", metavar="M", help='"small", a directory, or a Hugging Face id.')
@verbose_option
def text(file: str, format_name: str, pages: str | None, model: str | None) -> ExitCode:
    """Print the text of one PDF or image; no database is kept.

    Between two pages stands a form feed. What could not be read, or is in doubt, is told on standard error.
    """
    from pipeline.api.read_files import read

    chosen = {"ingest": {"pages": pages}, **({} if model is None else {"model": model})}
    document = read(file, config=chosen)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # as exports are, in every locale
    shown = document.markdown if format_name == "md" else "\n\f".join(page.text for page in document.pages)
    on_screen(sys.stdout).write(shown.rstrip("\n") + "\n")
    told = [] if document.status == "ok" else [f"{file}: {document.status}: {document.reason}"]
    left_out = [f"{file}: {document.reason}"] if document.status == "ok" and document.reason else []
    if not document.pages:
        told, left_out = [*left_out, *told], []
    told += [
        f"{file}, page {page.number}: {page.status}{f': {page.problem}' if page.problem else ''}"
        for page in document.pages
        if page.status not in FINE_STATUSES
    ]
    if told or left_out:
        say([*left_out, *told], err=True)
    return ExitCode.INCOMPLETE if told else ExitCode.OK


@click.command()
@database_option
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port; 0 takes any free one."
)
@click.option("--no-browser", is_flag=True, help="Only say which file opens it.")
@click.option("--read-only", is_flag=True, help="Let nobody correct texts.")
@click.option("--config", "config_path", metavar="FILE", help="Configuration, for passwords of PDFs.")
@verbose_option
def view(database: str, port: int, no_browser: bool, read_only: bool, config_path: str | None) -> None:
    """Read, search and correct the results in the browser, on this machine only.

    Ctrl-C ends it.
    """
    from pipeline.config import sources
    from pipeline.config.passwords import read_passwords
    from pipeline.stop import Stop, stop_on_signals
    from pipeline.viewer.app import Settings
    from pipeline.viewer.serving import serve

    given = () if config_path is None else read_passwords(sources.load(config_path, (), []).ingest)
    stop = Stop()
    # uvicorn sends itself again what ended it, before the file with the token is gone.
    with stop_on_signals(stop):
        serve(
            Settings(database=database, read_only=read_only, passwords=given),
            port=port,
            opens_browser=not no_browser,
            say=lambda path: say([f"reading {database}: open {path} in a browser (Ctrl-C ends it)"]),
        )
    stop.check()


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
def report(database: str, run_id: int | None, output: str, most: int, no_thumbnails: bool) -> None:
    """Write a run's report to one HTML file: statuses, speed, where the time went, pages that need a look.

    The file needs no network and runs no script. Thumbnails are drawn from the files as they are now.
    """
    from pipeline.html_report.report_page import write_report

    its = write_report(database, output, run_id=run_id, most=most, with_thumbnails=not no_thumbnails)
    say([f"{output}: run {its['run'].id}, {its['num_pages']} pages"], err=True)
