"""Defines the command line: parse, load, call, print, exit. Each command imports the heavy modules it needs."""

import errno
import io
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli.bench_commands import bench
from pipeline.cli.console import LOGGER, say, start_logging, verbose_option
from pipeline.cli.database_commands import database_option, prune, vacuum, verify
from pipeline.cli.doctor_command import doctor
from pipeline.device.startup.imports import first_import, is_importing
from pipeline.errors import ConfigError, ExitCode, StopRequest
from storage.strings.printable import on_screen

if TYPE_CHECKING:
    from sqlite_utils import Database

    from pipeline.config.schema import Config
    from pipeline.reports.summary import Progress
    from pipeline.stop import Stop


# Errors that writing to a stream raises, and opening a file hardly ever.
_NOT_WRITTEN = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ocrbatch")
def cli() -> None:
    """Reads every page of PDFs and images into one SQLite file, offline."""


cli.add_command(bench)
cli.add_command(doctor)
for command in (verify, prune, vacuum):
    cli.add_command(command)


@cli.command()
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("--config", "config_path", metavar="FILE", help="YAML configuration file.")
@click.option("--set", "sets", metavar="KEY=VALUE", multiple=True, help="Change one configuration key.")
@click.option(
    "--db", "database", metavar="FILE", help="Write results to this database.  [default: ocrbatch.db]"
)
@click.option("--model", metavar="M", help='"small", a directory, or a Hugging Face id.')
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), help="Where the model runs.")
@click.option(
    "--include", metavar="GLOB", multiple=True, help='Only files that match, such as "*.pdf". Repeatable.'
)
@click.option(
    "--exclude", metavar="GLOB", multiple=True, help='Skip files and folders that match, such as "drafts".'
)
@click.option("--pages", metavar="1-3,7", help="Only these pages of every document.")
@click.option(
    "--text-layer",
    type=click.Choice(["auto", "ignore", "prefer", "fallback", "compare"]),
    help="How the text layers of PDFs are used.  [default: auto]",
)
@click.option("--force", is_flag=True, help="Read pages again that were read before.")
@click.option(
    "--retry-failed", is_flag=True, help="Read failed and doubtful pages again, however often they failed."
)
@click.option(
    "--max-time", metavar="6h", help="Stop after this long (6h, 30m, 90s, 1h30m); run again to go on."
)
@click.option("--log-file", metavar="FILE", help="Append what happens to this file, one JSON object a line.")
@click.option("--summary-file", metavar="FILE", help="Write the run's outcome to this file, as JSON.")
@click.option(
    "--plan", "only_plan", is_flag=True, help="Only print what there is to read, and how long it may take."
)
@click.option("--json", "as_json", is_flag=True, help="Print the plan as one JSON object.")
@click.option("--quiet", is_flag=True, help="No progress and no summary; errors only.")
@verbose_option
def run(
    paths: tuple[str, ...],
    config_path: str | None,
    sets: tuple[str, ...],
    database: str | None,
    model: str | None,
    device: str | None,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    pages: str | None,
    text_layer: str | None,
    force: bool,
    retry_failed: bool,
    max_time: str | None,
    log_file: str | None,
    summary_file: str | None,
    only_plan: bool,
    as_json: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """Read all pages of files and folders.

    Pages that were read before with the same settings are skipped.
    """
    if as_json and not only_plan:
        raise click.UsageError("--json goes with --plan; a run's own figures are in --summary-file")
    start_logging(verbose, quiet)
    from pipeline.stop import Stop, parse_duration, stop_on_signals, time_limit

    options: dict[str, tuple[str, Any]] = {
        "PATH": ("ingest.paths", list(paths) or None),
        "--db": ("store.database", database),
        "--model": ("model", model),
        "--device": ("device", device),
        "--include": ("ingest.include", list(include) or None),
        "--exclude": ("ingest.exclude", list(exclude) or None),
        "--pages": ("ingest.pages", pages),
        "--text-layer": ("text_layer", text_layer),
        "--force": ("run.force", force or None),
        "--retry-failed": ("run.retry_failed", retry_failed or None),
        "--log-file": ("run.log_file", log_file),
        "--summary-file": ("run.summary_file", summary_file),
    }
    stop = Stop()
    with stop_on_signals(stop):  # before the imports, which take a second
        with first_import("pipeline.config.sources"):
            from pipeline.config import sources

        try:
            options["--max-time"] = (
                "run.time_limit_s",
                None if max_time is None else parse_duration(max_time),
            )
            config = sources.load(config_path, sets, sources.layers(options))
        except ConfigError as error:
            if summary_file is not None and not only_plan:
                from pipeline.run.reported_run import report_failure

                report_failure(summary_file, error)
            raise
        with time_limit(stop, config.run.time_limit_s):
            return _plan(config, stop, as_json) if only_plan else _read(config, stop, quiet)


@cli.command()
@database_option
@click.option(
    "--format", "format_name", type=click.Choice(["jsonl", "md", "txt"]), default="jsonl", show_default=True
)
@click.option(
    "-o",
    "output",
    metavar="PATH",
    help="Write to this file, or to a folder (FOLDER/) with one file for each document.",
)
@click.option(
    "--since", metavar="RUN", help='Only pages read since: "last" run, a run\'s number, or 2026-01-31 (UTC).'
)
@click.option(
    "--status", "statuses", metavar="A,B", help="Only pages with one of these statuses: failed,truncated"
)
@click.option(
    "--path",
    "patterns",
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
@click.option("--superseded", is_flag=True, help="Also earlier content of files that have changed.")
@verbose_option
def export(
    database: str,
    format_name: str,
    output: str | None,
    since: str | None,
    statuses: str | None,
    patterns: tuple[str, ...],
    max_confidence: float | None,
    superseded: bool,
    verbose: bool,
) -> None:
    """Write pages as JSON lines, markdown or text, ordered by path and page: all, or those the options select."""
    start_logging(verbose)
    from pipeline.cli.export_options import HOW_GLOBS_MATCH, selection
    from storage.export import formats

    with _reading(database) as db:
        chosen = selection(
            db,
            since=since,
            statuses=statuses,
            patterns=patterns,
            superseded=superseded,
            max_confidence=max_confidence,
        )
        if output is None:
            if isinstance(sys.stdout, io.TextIOWrapper):  # JSON and markdown are UTF-8 in every locale
                sys.stdout.reconfigure(encoding="utf-8")
            number = formats.export(db, format_name, on_screen(sys.stdout), chosen)
        else:
            number = formats.export_to(db, format_name, output, chosen)
    if not number:
        globs = f" ({HOW_GLOBS_MATCH})" if patterns else ""
        say(
            [f"no page to export: {'none matches' if chosen.is_narrow else 'there is none'}{globs}"], err=True
        )


@cli.command()
@database_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--files", "with_files", is_flag=True, help="Show every file, with its pages and what went wrong."
)
@verbose_option
def status(database: str, as_json: bool, with_files: bool, verbose: bool) -> None:
    """Show runs, pages by status, documents, and the time of every stage; or every file."""
    start_logging(verbose)
    from pipeline.reports.status import file_lines, status_lines
    from storage.queries import listing, statistics

    with _reading(database) as db:
        found = statistics.status(db)
        files = list(listing.file_statuses(db)) if with_files else []
    if as_json:
        listed = {"file_list": [file.to_json() for file in files]} if with_files else {}
        click.echo(json.dumps({**found.to_json(), **listed}, indent=2))
    else:
        say(file_lines(files) if with_files else status_lines(found))


@cli.command()
@click.argument("query")
@database_option
@click.option("--doubtful", is_flag=True, help="Include pages whose text is in doubt.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Most hits to show.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@verbose_option
def search(query: str, database: str, doubtful: bool, limit: int, as_json: bool, verbose: bool) -> None:
    """Find pages that hold every word of QUERY; "two words" are a phrase, a final * any ending."""
    start_logging(verbose)
    from storage.queries import search as searching

    with _reading(database) as db:
        hits = list(searching.search(db, query, limit=limit, doubtful=doubtful))
        num_hits = searching.num_hits(db, query, doubtful=doubtful)
        num_left_out = 0 if doubtful else searching.num_doubtful(db, query)
    if as_json:
        found = {"query": query, "num_hits": num_hits, "num_doubtful_left_out": num_left_out}
        click.echo(json.dumps({**found, "hits": [asdict(hit) for hit in hits]}, indent=2))
        return
    for hit in hits:
        doubt = "" if hit.doubt is None else f" ({hit.status}: {hit.doubt})"
        say([f"{hit.path}, page {hit.page}{doubt}: {hit.snippet}"])
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


@cli.command("eval")
@click.option(
    "--truth", metavar="DIR", required=True, help="Folder of true texts: DIR/<path of the file>/<page>.txt"
)
@database_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@verbose_option
def evaluate(truth: str, database: str, as_json: bool, verbose: bool) -> None:
    """Score stored pages against true texts: character and word error rates."""
    start_logging(verbose)
    from pathlib import Path

    from pipeline import evaluate as evaluation
    from pipeline.reports.status import evaluation_lines
    from storage.export.rows import export_rows

    with _reading(database) as db:
        result = evaluation.evaluate(Path(truth), export_rows(db))
    if as_json:
        click.echo(json.dumps(result.as_dict(), indent=2))
    else:
        say(evaluation_lines(result))


def main(args: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code; prints the error if a command raised one."""
    code = _run_command(args)
    model = sys.modules.get("pipeline.device.threads.threaded_model")
    # With threads at work or a lost GPU, the interpreter's shutdown would abort the process with another exit code; and
    # shutting PyTorch down takes seconds on a busy machine, which a process that was told to end does not have.
    ends_early = args is None and (code in (ExitCode.STOPPED, ExitCode.FATAL) or is_importing())
    if (model is not None and model.is_at_work()) or ends_early:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _read(config: "Config", stop: "Stop", quiet: bool) -> int:
    from pipeline.device.startup.loading import is_sure_to_read, num_replicas
    from pipeline.device.threads.preload import import_ahead

    if is_sure_to_read(config) and num_replicas(config) == 1:
        import_ahead()
    with first_import("pipeline.run.runner"):
        from pipeline.run.reported_run import reported_run

    with _progress(quiet) as progress:
        summary = reported_run(config, progress, stop)
    if not quiet:
        say(summary.lines())
    elif warnings := summary.warnings():
        say(warnings, err=True)
    return summary.exit_code


def _plan(config: "Config", stop: "Stop", as_json: bool) -> int:
    from pipeline import plan

    found = plan.plan(config, stop)
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=2))
    else:
        say(found.lines())
    return 0


def _run_command(args: Sequence[str] | None) -> int:
    # A name that the locale cannot encode must not end a command.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        result = cli.main(args, prog_name="ocrbatch", standalone_mode=False)
        sys.stdout.flush()  # flushed here, where a broken pipe is caught
    except click.ClickException as error:
        error.show(on_screen(sys.stderr, always=True))
        return error.exit_code
    except BrokenPipeError:  # the reader of our output, such as `head`, has closed it
        _forget_stdout()
        return 1
    except OSError as error:
        if error.filename is not None or error.errno not in _NOT_WRITTEN:
            return _report(error)
        _forget_stdout()
        say([f"ocrbatch: standard output: cannot be written: {error.strerror}"], err=True)
        return ExitCode.FATAL
    except (Exception, KeyboardInterrupt, StopRequest, click.Abort) as error:
        return _report(error)
    return result if isinstance(result, int) else 0


def _forget_stdout() -> None:
    """Redirects standard output to nowhere: flushing its buffer at exit would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _reading(database: str) -> Iterator["Database"]:
    from storage.database import open_for_reading

    with closing(open_for_reading(database)) as db:
        yield db


def _report(error: BaseException) -> int:
    from pipeline.errors import exit_code, is_explained

    if is_explained(error):
        # A configuration may have several errors, a line each.
        say(f"ocrbatch: {error}".splitlines(), err=True)
    elif isinstance(error, KeyboardInterrupt | StopRequest | click.Abort):
        click.echo("ocrbatch: stopped", err=True)
    else:
        say([f"ocrbatch: internal error: {error!r}; -v shows where, please report it"], err=True)
    LOGGER.debug("traceback", exc_info=error)
    return exit_code(error)


@contextmanager
def _progress(quiet: bool) -> Iterator["Progress"]:
    from pipeline.reports import progress

    if quiet:
        yield progress.Silent()
    elif sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(unit=" pages", total=0, dynamic_ncols=True) as bar:
            yield progress.Bar(bar)
    else:
        lines = progress.Lines()
        yield lines
        lines.show()
