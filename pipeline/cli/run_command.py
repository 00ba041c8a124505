"""Defines the `run` command: parse, load, run or plan, print. It imports the heavy modules it needs."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli.console import say, show, start_logging
from pipeline.errors import ConfigError

if TYPE_CHECKING:
    from pipeline.config.schema import Config
    from pipeline.reports.summary import Progress, RunSummary
    from pipeline.stop import Stop

# Options that set a key of the configuration.
_KEYS = {
    "--db": "store.database",
    "--model": "model",
    "--device": "device",
    "--include": "ingest.include",
    "--manifest": "ingest.manifest",
    "--exclude": "ingest.exclude",
    "--pages": "ingest.pages",
    "--text-layer": "text_layer",
    "--force": "run.force",
    "--retry-failed": "run.retry_failed",
    "--workers": "cluster.workers",
    "--cluster": "cluster.address",
    "--log-file": "run.log_file",
    "--pdf-to": "run.pdf_to",
    "--move-to": "run.move_to",
    "--summary-file": "run.summary_file",
}


@click.command()
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("--config", "config_path", metavar="FILE", help="YAML configuration file.")
@click.option("--set", "sets", metavar="KEY=VALUE", multiple=True, help="Change one configuration key.")
@click.option("--db", metavar="FILE", help="Write results to this database.  [default: ocrbatch.db]")
@click.option("--model", metavar="M", help='"small", a directory, or a Hugging Face id.')
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), help="Where the model runs.")
@click.option(
    "--include", metavar="GLOB", multiple=True, help='Only files that match, such as "*.pdf". Repeatable.'
)
@click.option(
    "--exclude", metavar="GLOB", multiple=True, help='Skip files and folders that match, such as "drafts".'
)
@click.option(
    "--manifest", metavar="FILE", help="Read what this Parquet, CSV, JSON lines or text file names, too."
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
@click.option(
    "--workers",
    metavar="N",
    help='So many processes, each with a model of its own; "auto": one for each GPU.',
)
@click.option("--cluster", metavar="ADDRESS", help='Workers of this Ray cluster; "auto": of this machine\'s.')
@click.option("--log-file", metavar="FILE", help="Append what happens to this file, one JSON object a line.")
@click.option("--pdf-to", metavar="FOLDER", help="Write a searchable PDF of each document there as it ends.")
@click.option("--move-to", metavar="FOLDER", help="Move files there that were read, once the run is over.")
@click.option("--summary-file", metavar="FILE", help="Write the run's outcome to this file, as JSON.")
@click.option(
    "--plan", "only_plan", is_flag=True, help="Only print what there is to read, and how long it may take."
)
@click.option(
    "--watch", "watches", is_flag=True, help="Go on: read files as they arrive in the folders, until Ctrl-C."
)
@click.option("--json", "as_json", is_flag=True, help="Print the plan as one JSON object.")
@click.option("--quiet", is_flag=True, help="No progress and no summary; errors only.")
@click.option("-v", "--verbose", is_flag=True, help="Log details, and show tracebacks.")
def run(
    paths: tuple[str, ...],
    config_path: str | None,
    sets: tuple[str, ...],
    only_plan: bool,
    watches: bool,
    as_json: bool,
    quiet: bool,
    verbose: bool,
    **options: Any,
) -> int:
    """Read all pages of files and folders.

    Pages that were read before with the same settings are skipped. With --watch it goes on until Ctrl-C: files that
    arrive, or change, are read once they have stayed as they are for some seconds, each batch as a run of its own.
    """
    if as_json and not only_plan:
        raise click.UsageError("--json goes with --plan; a run's own figures are in --summary-file")
    if watches and only_plan:
        raise click.UsageError("--plan and --watch: only one of them")
    start_logging(verbose, quiet)
    from pipeline.stop import Stop, parse_duration, stop_on_signals, time_limit

    if (workers := options["workers"]) is not None and workers.isdecimal():
        options["workers"] = int(workers)
    given: dict[str, tuple[str, Any]] = {"PATH": ("ingest.paths", list(paths) or None)}
    for name, key in _KEYS.items():
        value = options[name[2:].replace("-", "_")]
        if isinstance(value, tuple | bool):  # options that may be given several times, and flags
            value = (list(value) if isinstance(value, tuple) else value) or None
        given[name] = (key, value)
    stop = Stop()
    with stop_on_signals(stop):  # before the imports, which take a second
        from pipeline.config import sources

        try:
            if (limit := options["max_time"]) is not None:
                given["--max-time"] = ("run.time_limit_s", parse_duration(limit))
            config = sources.load(config_path, sets, sources.layers(given))
        except ConfigError as error:
            if options["summary_file"] is not None and not only_plan:
                from pipeline.run.reported_run import report_failure

                report_failure(options["summary_file"], error)
            raise
        with time_limit(stop, config.run.time_limit_s):
            if only_plan:
                from pipeline import plan

                found = plan.plan(config, stop)
                show(as_json, found.to_json(), found.lines)
                return 0
            read = partial(_read, stop=stop, roots=config.ingest.paths, quiet=quiet, verbose=verbose)
            if not watches:
                return read(config).exit_code
            from pipeline.run.watching import watch

            if not quiet:
                say([f"watching {', '.join(config.ingest.paths)}; Ctrl-C ends it"], err=True)
            return watch(config, stop, read)


def _read(
    config: "Config", *, stop: "Stop", roots: Sequence[str], quiet: bool, verbose: bool
) -> "RunSummary":
    from pipeline.cluster import choose
    from pipeline.run.reported_run import reported_run

    with _progress(quiet) as progress, _delivery(config, roots):
        summary = reported_run(config, progress, stop, choose.run)
    if not quiet:
        say(summary.lines(verbose=verbose))
    elif warnings := summary.warnings():
        say(warnings, err=True)
    return summary


def _delivery(config: "Config", roots: Sequence[str]) -> AbstractContextManager[object]:
    if config.run.pdf_to is None and config.run.move_to is None:
        return nullcontext()
    from pipeline.export.delivery import Delivery

    return Delivery(config.store.database, roots, config.run.pdf_to, config.run.move_to)


@contextmanager
def _progress(quiet: bool) -> Iterator["Progress"]:
    from pipeline.reports import progress

    if quiet:
        yield progress.Silent()
    elif (
        sys.stderr.isatty() and os.get_terminal_size(sys.stderr.fileno()).columns
    ):  # 0: nobody has set a size
        from tqdm import tqdm

        with tqdm(unit=" pages", total=0, dynamic_ncols=True) as bar:
            yield progress.Bar(bar)
    else:
        lines = progress.Lines()
        yield lines
        lines.show()
