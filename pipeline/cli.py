"""The command line: parse, load, call, print, exit. Everything heavy is imported by the command it serves."""

import io
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import click

from pipeline.bench.cli import bench
from pipeline.verbosity import LOGGER, start_logging, verbose_option

if TYPE_CHECKING:
    from sqlite_utils import Database

    from pipeline.summary import Progress

# tqdm's own, but never as seconds a page.
BAR_FORMAT = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}, {rate_noinv_fmt}{postfix}]"

database_option = click.option(
    "--db",
    "database",
    metavar="FILE",
    default="ocrbatch.db",
    show_default=True,
    help="SQLite database with the results.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ocrbatch")
def cli() -> None:
    """Reads every page of PDFs and images into one SQLite file, offline."""


cli.add_command(bench)


@cli.command()
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("--config", "config_path", metavar="FILE", help="YAML configuration file.")
@click.option("--set", "sets", metavar="KEY=VALUE", multiple=True, help="Change one configuration key.")
@click.option("--db", "database", metavar="FILE", help="Results go here.  [default: ocrbatch.db]")
@click.option("--model", metavar="M", help='"small", a directory, or a Hugging Face id.')
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), help="Where the model runs.")
@click.option("--pages", metavar="1-3,7", help="Only these pages of every document.")
@click.option("--force", is_flag=True, help="Read again what was read before.")
@click.option("--quiet", is_flag=True, help="No progress and no summary; errors only.")
@verbose_option
def run(
    paths: tuple[str, ...],
    config_path: str | None,
    sets: tuple[str, ...],
    database: str | None,
    model: str | None,
    device: str | None,
    pages: str | None,
    force: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """Read all pages of files and folders.

    Pages that were read before with the same settings are skipped.
    """
    start_logging(verbose, quiet)
    from pipeline import config_sources, runner
    from pipeline.stop import Stop, stop_on_signals

    options: dict[str, tuple[str, Any]] = {
        "PATH": ("ingest.paths", list(paths) or None),
        "--db": ("store.database", database),
        "--model": ("model", model),
        "--device": ("device", device),
        "--pages": ("ingest.pages", pages),
        "--force": ("run.force", force or None),
    }
    layers = [
        (name, config_sources.nest(key, value)) for name, (key, value) in options.items() if value is not None
    ]
    config = config_sources.load(config_path, sets, layers)
    stop = Stop()
    with stop_on_signals(stop, config.run.time_limit_s), _progress(quiet) as progress:
        summary = runner.run(config, progress, stop)
    if not quiet:
        click.echo("\n".join(summary.lines()))
    return summary.exit_code


@cli.command()
@database_option
@click.option(
    "--format", "format_name", type=click.Choice(["jsonl", "md", "txt"]), default="jsonl", show_default=True
)
@click.option("-o", "output", metavar="PATH", help="Write here instead of standard output.")
@verbose_option
def export(database: str, format_name: str, output: str | None, verbose: bool) -> None:
    """Write all pages as JSON lines, markdown or text, ordered by path, then page."""
    start_logging(verbose)
    from storage.export import formats

    with _reading(database) as db:
        if output is None:
            if isinstance(sys.stdout, io.TextIOWrapper):  # JSON and markdown are UTF-8 in every locale
                sys.stdout.reconfigure(encoding="utf-8")
            formats.export(db, format_name, sys.stdout)
        else:
            formats.export_to_file(db, format_name, output)


@cli.command()
@database_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@verbose_option
def status(database: str, as_json: bool, verbose: bool) -> None:
    """Show runs, pages by status, documents, and how long every stage takes."""
    start_logging(verbose)
    from pipeline.report import status_lines
    from storage import queries

    with _reading(database) as db:
        found = queries.status(db)
    click.echo(json.dumps(found.to_json(), indent=2) if as_json else "\n".join(status_lines(found)))


@cli.command()
@click.argument("query")
@database_option
@verbose_option
def search(query: str, database: str, verbose: bool) -> None:
    """Find pages that hold every word of QUERY; "two words" are a phrase, a final * any ending."""
    start_logging(verbose)
    from storage.search import search as find

    with _reading(database) as db:
        hits = list(find(db, query))
    for hit in hits:
        click.echo(f"{hit.path}, page {hit.page}: {hit.snippet}")
    if not hits:
        click.echo(f"no page holds {query}", err=True)  # not on stdout: scripts count lines there


@cli.command("eval")
@click.option("--truth", metavar="DIR", required=True, help="DIR/<path of the file>/<page>.txt")
@database_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@verbose_option
def evaluate(truth: str, database: str, as_json: bool, verbose: bool) -> None:
    """Compare stored pages with texts known to be right: character and word error rates."""
    start_logging(verbose)
    from pathlib import Path

    from pipeline import evaluation
    from pipeline.report import evaluation_lines
    from storage.export.rows import export_rows

    with _reading(database) as db:
        result = evaluation.evaluate(Path(truth), export_rows(db))
    click.echo(json.dumps(result.as_dict(), indent=2) if as_json else "\n".join(evaluation_lines(result)))


def main(args: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code; prints an error where a command raised one."""
    code = _run_command(args)
    model = sys.modules.get("pipeline.flow.model")
    if (
        model is not None and model.is_at_work()
    ):  # the interpreter's end would abort the process, with another code
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _run_command(args: Sequence[str] | None) -> int:
    try:
        result = cli.main(args, prog_name="ocrbatch", standalone_mode=False)
        sys.stdout.flush()  # here, where a broken pipe is caught
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except BrokenPipeError:  # the reader of our output, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (Exception, KeyboardInterrupt, click.Abort) as error:
        return _report(error)
    return result if isinstance(result, int) else 0


@contextmanager
def _reading(database: str) -> Iterator["Database"]:
    from storage.database import open_for_reading

    with closing(open_for_reading(database)) as db:
        yield db


def _report(error: BaseException) -> int:
    from pipeline.errors import exit_code, is_explained

    if is_explained(error):
        click.echo(f"ocrbatch: {error}", err=True)
    elif isinstance(error, KeyboardInterrupt | click.Abort):
        click.echo("ocrbatch: stopped", err=True)
    else:
        click.echo(f"ocrbatch: internal error: {error!r}; -v shows where, please report it", err=True)
    LOGGER.debug("traceback", exc_info=error)
    return exit_code(error)


@contextmanager
def _progress(quiet: bool) -> Iterator["Progress"]:
    from pipeline import progress

    if quiet:
        yield progress.Silent()
    elif sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(unit=" pages", total=0, dynamic_ncols=True, bar_format=BAR_FORMAT) as bar:
            yield progress.Bar(bar)
    else:
        lines = progress.Lines()
        yield lines
        lines.show()


if __name__ == "__main__":
    sys.exit(main())
