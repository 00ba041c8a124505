"""The command line: parse, load, call, print, exit. Everything heavy is imported by the command it serves."""

import io
import json
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from sqlite_utils import Database

    from pipeline.summary import Progress

LOGGER = logging.getLogger("ocrbatch")
# tqdm's own, but never as seconds a page.
BAR_FORMAT = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}, {rate_noinv_fmt}{postfix}]"

verbose_option = click.option("-v", "--verbose", is_flag=True, help="Say more; show tracebacks.")


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
    _start_logging(verbose, quiet)
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
    _start_logging(verbose)
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
    _start_logging(verbose)
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
    _start_logging(verbose)
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
    _start_logging(verbose)
    from pathlib import Path

    from pipeline import evaluation
    from pipeline.report import evaluation_lines
    from storage.export.rows import export_rows

    with _reading(database) as db:
        result = evaluation.evaluate(Path(truth), export_rows(db))
    click.echo(json.dumps(result.as_dict(), indent=2) if as_json else "\n".join(evaluation_lines(result)))


@cli.group()
def bench() -> None:
    """Measure how fast parts of ocrbatch are on this machine."""


bench_model_option = click.option(
    "--model",
    metavar="M",
    default="small",
    show_default=True,
    help='"small", a directory, an id; "random": full size, random weights.',
)
bench_device_option = click.option(
    "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True
)
bench_dtype_option = click.option(
    "--dtype", type=click.Choice(["auto", "float32", "bfloat16"]), default="auto", show_default=True
)
output_json_option = click.option("--output-json", metavar="FILE", help="Write all figures there too.")


@bench.command("encoder")
@bench_model_option
@bench_device_option
@bench_dtype_option
@click.option(
    "--arms", metavar="A,B", default="reference,eager,graph", show_default=True, help="What is compared."
)
@click.option("--num-prompts", type=click.IntRange(1), default=32, show_default=True, help="Images or pages.")
@click.option(
    "--num-warmups",
    type=click.IntRange(0),
    default=3,
    show_default=True,
    help="Batches before the clock runs, in every arm.",
)
@click.option(
    "--batch-size", type=click.IntRange(1), default=1, show_default=True, help="Pages encoded at once."
)
@click.option(
    "--max-items", type=click.IntRange(1), default=32, show_default=True, help="Views in a batch at most."
)
@click.option(
    "--budgets",
    type=click.Choice(["default", "auto"]),
    default="default",
    show_default=True,
    help="Sizes of graphs: doubling, or chosen from what is measured here.",
)
@click.option(
    "--buckets",
    metavar="SIZES",
    default="{(1024, 1024): 1.0}",
    show_default=True,
    help="Random images: (height, width) and how often.",
)
@click.option("--pages", metavar="DIR", help="Pages of real documents instead.")
@click.option("--seed", type=int, default=0, show_default=True)
@output_json_option
@verbose_option
def bench_encoder(
    model: str,
    device: str,
    dtype: str,
    arms: str,
    num_prompts: int,
    num_warmups: int,
    batch_size: int,
    max_items: int,
    budgets: str,
    buckets: str,
    pages: str | None,
    seed: int,
    output_json: str | None,
    verbose: bool,
) -> None:
    """Time the vision encoder, ours with and without graphs and transformers' own, in vLLM's benchmark's table."""
    _start_logging(verbose)
    from pipeline.bench import report
    from pipeline.bench.requests import parse_buckets

    result = report.run(
        model=model,
        device=device,
        dtype=dtype,
        arms=arms,
        num_prompts=num_prompts,
        num_warmups=num_warmups,
        batch_size=batch_size,
        max_items=max_items,
        budgets=budgets,
        buckets=parse_buckets(buckets),
        pages=pages,
        seed=seed,
    )
    click.echo("\n".join(report.lines(result)))
    if output_json:
        report.write(result, output_json)


@bench.command("decode")
@bench_model_option
@bench_device_option
@bench_dtype_option
@click.option(
    "--arms",
    metavar="A,B",
    help="Of generate, engine, drafts (with --pages), paged (on a GPU).  [default: all that can be measured]",
)
@click.option("--pages", metavar="DIR", help="Pages of real documents instead of random prompts.")
@click.option("--num-pages", type=click.IntRange(1), default=8, show_default=True, help="Pages at most.")
@click.option(
    "--batch-size", type=click.IntRange(1), default=8, show_default=True, help="Pages decoded at once."
)
@click.option(
    "--prompt-tokens",
    type=click.IntRange(1),
    default=903,
    show_default=True,
    help="Of each random prompt, which no end of text cuts short.",
)
@click.option(
    "--max-new-tokens",
    type=click.IntRange(1),
    default=256,
    show_default=True,
    help="Tokens written on a page at most.",
)
@output_json_option
@verbose_option
def bench_decode(
    model: str,
    device: str,
    dtype: str,
    arms: str | None,
    pages: str | None,
    num_pages: int,
    batch_size: int,
    prompt_tokens: int,
    max_new_tokens: int,
    output_json: str | None,
    verbose: bool,
) -> None:
    """Time decoding, ours with and without drafts and transformers' generate, and compare what they write."""
    _start_logging(verbose)
    from pipeline.bench import decode_report

    result = decode_report.run(
        model=model,
        device=device,
        dtype=dtype,
        arms=arms,
        pages=pages,
        num_pages=num_pages,
        batch_size=batch_size,
        prompt_tokens=prompt_tokens,
        max_new_tokens=max_new_tokens,
    )
    click.echo("\n".join(decode_report.lines(result)))
    if output_json:
        decode_report.write(result, output_json)


@bench.command("pipeline")
@click.argument("paths", nargs=-1, metavar="PATH...", required=True)
@bench_model_option
@bench_device_option
@bench_dtype_option
@click.option(
    "--num-pages", type=click.IntRange(1), help="Make so many pages by copying.  [default: as they are]"
)
@click.option(
    "--output-tokens",
    type=click.IntRange(1),
    help="Write so many tokens on every page.  [default: what it takes; 1000 with random weights]",
)
@click.option("--batch-size", type=click.IntRange(1), help="Pages decoded at once.  [default: a run's]")
@click.option("--mode", type=click.Choice(["tiny", "small", "base", "large", "gundam"]), help="Of tiling.")
@click.option("--drafts/--no-drafts", default=None, help="Decode with free drafts.  [default: a run's]")
@click.option("--set", "sets", metavar="KEY=VALUE", multiple=True, help="Change one configuration key.")
@click.option(
    "--generate-pages",
    type=click.IntRange(0),
    default=0,
    help="Decode so many pages with transformers' generate too, for comparison.",
)
@output_json_option
@verbose_option
def bench_pipeline(
    paths: tuple[str, ...], model: str, output_json: str | None, verbose: bool, **options: Any
) -> None:
    """Time a whole run from files to rows, and say what bounds it.

    A directory with a config.json and no weights is a model of that shape with random ones.
    """
    _start_logging(verbose)
    from pipeline.bench import pipeline, pipeline_report

    result = pipeline.bench(pipeline.PipelineBenchSettings(paths=paths, model=model, **options))
    click.echo("\n".join(pipeline_report.lines(result)))
    if output_json:
        pipeline_report.write(result, output_json)


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


def _start_logging(verbose: bool, quiet: bool = False) -> None:
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr, force=True)
    LOGGER.setLevel(logging.DEBUG if verbose else logging.ERROR if quiet else logging.WARNING)


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
