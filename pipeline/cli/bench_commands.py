"""Defines the `bench` commands: parse, load, call, print. Each command imports the heavy modules it needs."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

import click

from pipeline.cli.console import say, start_logging, verbose_option


@click.group()
def bench() -> None:
    """Measure how fast parts of ocrbatch are on this machine."""


model_option = click.option(
    "--model",
    metavar="M",
    default="small",
    show_default=True,
    help='"small", a directory, an id; "random": full size, random weights.',
)
device_option = click.option(
    "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True
)
dtype_option = click.option(
    "--dtype", type=click.Choice(["auto", "float32", "bfloat16"]), default="auto", show_default=True
)
output_json_option = click.option("--output-json", metavar="FILE", help="Write all figures there too.")


@bench.command("encoder")
@model_option
@device_option
@dtype_option
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
def bench_encoder(buckets: str, output_json: str | None, verbose: bool, **options: Any) -> None:
    """Time the vision encoder, ours with and without graphs and transformers' own, in vLLM's benchmark's table."""
    start_logging(verbose)
    from pipeline.bench.encoding import encoder_report
    from pipeline.bench.encoding.requests import parse_buckets

    result = encoder_report.run(buckets=parse_buckets(buckets), **options)
    _show(encoder_report.lines(result), result, output_json)


@bench.command("decode")
@model_option
@device_option
@dtype_option
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
def bench_decode(output_json: str | None, verbose: bool, **options: Any) -> None:
    """Time decoding, ours with and without drafts and transformers' generate, and compare what they write."""
    start_logging(verbose)
    from pipeline.bench.generation import decode_report

    result = decode_report.run(**options)
    _show(decode_report.lines(result), result, output_json)


@bench.command("pipeline")
@click.argument("paths", nargs=-1, metavar="PATH...", required=True)
@model_option
@device_option
@dtype_option
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
    start_logging(verbose)
    from pipeline.bench.whole_run import measured, run_bench, run_report

    result = run_bench.bench(measured.PipelineBenchSettings(paths=paths, model=model, **options))
    _show(run_report.lines(result), result, output_json)


class _Result(Protocol):
    def to_json(self) -> Any: ...


def _show(lines: Iterable[str], result: _Result, output_json: str | None) -> None:
    """Prints the report, and writes all figures as one JSON object if asked to. Raises: OSError."""
    say(lines)
    if output_json:
        Path(output_json).write_text(json.dumps(result.to_json(), indent=2) + "\n", encoding="utf-8")
