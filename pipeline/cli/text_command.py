"""Defines the `text` command: one file's text on standard output, without a database."""

import io
import sys

import click

from pipeline.cli.console import say, start_logging, verbose_option
from pipeline.errors import ExitCode
from storage.strings.printable import on_screen
from storage.types import FINE_STATUSES


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--format", "format_name", type=click.Choice(["txt", "md"]), default="txt", show_default=True)
@click.option("--pages", metavar="1-3,7", help="Only these pages.")
@click.option("--model", metavar="M", help='"small", a directory, or a Hugging Face id.')
@verbose_option
def text(file: str, format_name: str, pages: str | None, model: str | None, verbose: bool) -> ExitCode:
    """Print the text of one PDF or image; no database is kept.

    Between two pages stands a form feed. What could not be read, or is in doubt, is told on standard error.
    """
    start_logging(verbose)
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
