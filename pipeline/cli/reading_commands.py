"""Defines the commands that read the database: export, status, search, eval, compare. Each imports what it needs."""

import io
import json
import sys
from contextlib import ExitStack
from dataclasses import asdict
from itertools import islice
from typing import Any

import click

from pipeline.cli.console import json_option, say, show, verbose_option
from pipeline.cli.database_commands import database_option
from storage.strings.printable import on_screen

_LINES_AT_ONCE = 1000

# Those of pipeline.export, whose import is heavy.
FORMAT_NAMES = (
    "jsonl",
    "md",
    "txt",
    "html",
    "csv",
    "parquet",
    "pdf",
    "hocr",
    "alto",
    "page",
    "doctags",
    "docling",
)


@click.command()
@database_option
@click.option("--format", "format_name", type=click.Choice(FORMAT_NAMES), default="jsonl", show_default=True)
@click.option(
    "-o",
    "output",
    metavar="PATH",
    help='Write to this file, "-" for standard output; for a format that is a file for each document, to this folder.',
)
@click.option("--out-dir", metavar="FOLDER", help="Write a file for each document, in folders like theirs.")
@click.option(
    "--since", metavar="RUN", help='Only pages read since: "last" run, a run\'s number, or 2026-01-31 (UTC).'
)
@click.option(
    "--status", "statuses", metavar="A,B", help="Only pages with one of these statuses: failed,truncated"
)
@click.option(
    "--path",
    metavar="GLOB",
    multiple=True,
    help='Only these files or folders: "*.pdf", "2026/*".',
)
@click.option(
    "--max-confidence",
    type=click.FloatRange(0, 1),
    metavar="0.8",
    help="Only pages with at most this confidence.",
)
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    metavar="0.8",
    help="No pages with less than this confidence; those whose own text was taken have none, and stay.",
)
@click.option(
    "--shard-pages",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --format parquet: add files of so many pages to --out-dir, a folder or URL, of what is not there yet.",
)
@click.option("--superseded", is_flag=True, help="Also earlier content of files that have changed.")
@click.option("--pdfa", "is_archival", is_flag=True, help="With --format pdf: PDF/A-2b, for archives.")
@click.option(
    "--no-figures", is_flag=True, help="In md and html, name figures only; open no document for them."
)
@verbose_option
def export(
    database: str,
    format_name: str,
    output: str | None,
    out_dir: str | None,
    statuses: str | None,
    shard_pages: int | None,
    is_archival: bool,
    no_figures: bool,
    **selecting: Any,
) -> None:
    """Write pages, ordered by path and page: all, or those that the options select.

    jsonl, md, txt, csv (the tables) and parquet are one file, or a file for each document with --out-dir. html, pdf
    (searchable), hocr, alto, doctags and docling are a file for each document, page (PAGE XML) one for each page.
    """
    output = None if output == "-" else output  # standard output, as everywhere
    if is_archival and format_name != "pdf":
        raise click.UsageError("--pdfa is of --format pdf only")
    from pipeline.api.stored_pages import selection
    from pipeline.cli.export_options import HOW_GLOBS_MATCH, folder_of, lines_of
    from pipeline.export.figure_drawer import FigureDrawer
    from pipeline.export.searchable_export import all_formats
    from storage.database import open_for_reading
    from storage.export import export_files, formats

    with (
        open_for_reading(database) as db,
        all_formats(is_archival=is_archival) as known,
        FigureDrawer() as drawer,
    ):
        status = () if statuses is None else [name.strip() for name in statuses.split(",")]
        chosen = selection(db, status=status, **selecting)
        form = known[format_name]
        folder = folder_of(format_name, form, output, out_dir, shard_pages)
        written = None
        if folder is not None and shard_pages is not None:
            if chosen.is_narrow or chosen.superseded:
                raise click.UsageError(
                    "--shard-pages adds all that is new; no option that selects pages goes with it"
                )
            from pipeline.export.parquet_shards import export_shards

            written = export_shards(db, folder, shard_pages)
        elif folder is not None:
            written = export_files.export_to_folder(db, form, folder, chosen, None if no_figures else drawer)
        elif output is not None:
            written = export_files.export_to_file(db, form, output, chosen)
        else:
            if isinstance(sys.stdout, io.TextIOWrapper):  # JSON and markdown are UTF-8 in every locale
                sys.stdout.reconfigure(encoding="utf-8")
            number = formats.export(db, form, on_screen(sys.stdout), chosen)
    if written is not None:
        number = written.pages
        say(lines_of(written, folder or output or ""), err=True)
    if not number and shard_pages is None and not (written and written.left_out):
        globs = f" ({HOW_GLOBS_MATCH})" if selecting["path"] else ""
        say(
            [f"no page to export: {'none matches' if chosen.is_narrow else 'there is none'}{globs}"], err=True
        )


@click.command()
@database_option
@json_option
@click.option(
    "--files",
    "with_files",
    is_flag=True,
    help="Show the files that need a look, with what went wrong; the worst first.",
)
@click.option("--all", "with_all", is_flag=True, help="With --files: then all others, and every page.")
@verbose_option
def status(database: str, as_json: bool, with_files: bool, with_all: bool) -> None:
    """Show runs, pages by status, documents, and the time of every stage; or files."""
    from pipeline.reports.listing import LISTED
    from pipeline.reports.status import file_lines, status_lines, urgent_lines
    from storage.database import open_for_reading
    from storage.queries import listing, statistics

    if with_all and not with_files:
        raise click.UsageError("--all goes with --files")
    with open_for_reading(database) as db:
        if with_files and not (as_json or with_all):
            say(urgent_lines(*listing.most_urgent(db, LISTED)))
            return
        if with_files and not as_json:
            # There may be millions: a few are in memory at a time.
            lines = file_lines(listing.urgent_first(db))
            while some := list(islice(lines, _LINES_AT_ONCE)):
                say(some)
            return
        found = statistics.status(db)
        files = list(listing.file_statuses(db)) if with_files else []
    listed = {"file_list": list(map(asdict, files))} if with_files else {}
    show(as_json, {**asdict(found), **listed}, lambda: status_lines(found))


@click.command()
@click.argument("query")
@database_option
@click.option("--doubtful", is_flag=True, help="Include pages whose text is in doubt.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Most hits to show.")
@json_option
@verbose_option
def search(query: str, database: str, doubtful: bool, limit: int, as_json: bool) -> None:
    """Find pages that hold every word of QUERY; "two words" are a phrase, a final * any ending."""
    from storage.database import open_for_reading
    from storage.queries import search as searching

    with open_for_reading(database) as db:
        hits = searching.search(db, query, limit=limit, doubtful=doubtful)
        num_fine, num_doubtful = searching.num_hits(db, query)
    num_hits, num_left_out = (num_fine + num_doubtful, 0) if doubtful else (num_fine, num_doubtful)
    if as_json:
        found = {"query": query, "num_hits": num_hits, "num_doubtful_left_out": num_left_out}
        click.echo(json.dumps({**found, "hits": hits}, indent=2))
        return
    for hit in hits:
        doubt = "" if hit["doubt"] is None else f" ({hit['status']}: {hit['doubt']})"
        say([f"{hit['path']}, page {hit['page']}{doubt}: {hit['snippet']}"])
    # The rest goes to standard error: scripts count lines on standard output.
    if not hits:
        say([f"no page holds {query}"], err=True)
    if num_hits > len(hits):
        say([f"{len(hits)} of {num_hits} hits; --limit {num_hits} shows all"], err=True)
    if num_left_out:
        say(
            [f"pages left out because their text is in doubt: {num_left_out}; --doubtful shows them"],
            err=True,
        )


@click.command("eval")
@click.option(
    "--truth", metavar="DIR", required=True, help="Folder of true texts: DIR/<path of the file>/<page>.txt"
)
@database_option
@json_option
@verbose_option
def evaluate(truth: str, database: str, as_json: bool) -> None:
    """Score stored pages against true texts: character and word error rates."""
    from pathlib import Path

    from pipeline import evaluate as evaluation
    from pipeline.reports.status import evaluation_lines
    from storage.database import open_for_reading
    from storage.export.rows import export_rows

    with open_for_reading(database) as db:
        result = evaluation.evaluate(Path(truth), export_rows(db))
    show(as_json, result, lambda: evaluation_lines(result))


@click.command()
@click.argument("before")
@click.argument("after")
@database_option
@click.option(
    "--limit", type=click.IntRange(min=0), default=20, show_default=True, help="Most pages in each list."
)
@json_option
@verbose_option
def compare(before: str, after: str, database: str, limit: int, as_json: bool) -> None:
    """Compare two databases, or two runs of one by their numbers: texts, statuses, new and lost pages, times.

    Pages are matched by their document's content, else by its path. A run is all that it read; a database its current
    texts.
    """
    from pipeline.reports.status import comparison_lines
    from storage.database import open_for_reading
    from storage.queries import comparison

    def side(name: str, stack: ExitStack) -> comparison.Side:
        is_run = name.isascii() and name.isdigit()
        db = stack.enter_context(open_for_reading(database if is_run else name))
        return comparison.Side(db=db, run_id=int(name) if is_run else None)

    with ExitStack() as stack:
        found = comparison.compare(side(before, stack), side(after, stack), limit=limit)
    show(as_json, found, lambda: comparison_lines(found))
